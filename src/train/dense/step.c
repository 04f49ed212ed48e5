/* One step: this worker's part of a batch, in shards, and what comes of them. */
#include "train/dense/net.h"

#include <math.h>
#include <stdlib.h>

enum { ORDER_STREAM = 0x04de4, MEASURED = 8 }; /* every so many steps the norm is measured */

/* ---- the order of samples ---- */

/* How far samples were moved, of every 16th. */
static double moved(const struct run *r)
{
    double sum = 0, n = (double)r->dense->train;
    size_t seen = 0;

    for (size_t i = 0; i < r->dense->train; i += 16, seen++)
        sum += fabs((double)r->dense->order[i] - (double)i);
    return seen > 0 ? sum / (double)seen / n : 0;
}

/* Fisher and Yates, keyed by (seed, epoch). */
static void shuffle(struct run *r, unsigned epoch)
{
    struct rng rng = {.seed = r->opts->seed, .stream = ORDER_STREAM + epoch};
    uint32_t *order = r->dense->order;

    for (size_t i = 0; i < r->dense->train; i++)
        order[i] = (uint32_t)i;
    for (size_t i = r->dense->train; !r->opts->in_order && i > 1; i--) {
        size_t j = (size_t)(((rng_next(&rng) >> 32) * (uint64_t)i) >> 32);
        uint32_t swap = order[i - 1];

        order[i - 1] = order[j];
        order[j] = swap;
    }
    r->dense->ordered = epoch + 1;
    r->dense->shuffled = moved(r);
}

/* Which of the epoch's samples this worker takes in a step; *all is of all workers. */
static struct net_take take_of(const struct run *r, uint64_t step, size_t *all)
{
    size_t from = (size_t)step * r->dense->batch, left = r->dense->train - from;
    size_t some = left < r->dense->batch ? left : r->dense->batch;
    size_t a = some * r->worker / r->sharing, b = some * (r->worker + 1) / r->sharing;

    *all = some;
    return (struct net_take){.ids = r->dense->order + from + a, .n = b - a, .epoch = r->at.epoch};
}

/* ---- where the time of a step goes ---- */

/* What began there was a meeting with others: its time is waiting or communicating. */
static void clock_exchange(struct run *r, const struct comm_timer *timer)
{
    double all = 0, wait = 0;

    comm_timer_end(r->comm, timer, &all, &wait);
    r->dense->times.wait += wait;
    r->dense->times.communicate += all - wait;
}

/* What began there was a step; `before` are the times when it did. */
static void clock_step(struct run *r, double began, const struct net_times *before)
{
    struct net_times *t = &r->dense->times;

    t->compute +=
        clock_now() - began - (t->wait + t->communicate - before->wait - before->communicate);
    t->steps++;
}

/* ---- one step, moment by moment ---- */

static void trace_begin(struct run *r, double began)
{
    r->dense->step = (struct step_trace){
        .epoch = r->at.epoch, .step = r->at.place, .began = began, .backward = began};
}

static void on_backward(void *ctx)
{
    struct run *r = ctx;

    r->dense->step.backward = clock_now();
}

static void trace_ready(struct step_trace *t)
{
    if (t->layers < STEP_LAYERS)
        t->ready[t->layers++] = clock_now();
}

/* Neighbours become one where there are too many. */
static void trace_trips(struct step_trace *t, const struct dense *d)
{
    size_t n = dense_pieces(d), each = (n + STEP_TRIPS - 1) / STEP_TRIPS;

    t->pieces = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        struct dense_trip one = dense_trip(d, i), *all = &t->trip[i / each];

        if (i % each == 0)
            *all = one;
        all->sent = fmin(all->sent, one.sent);
        all->fresh = fmax(all->fresh, one.fresh);
        t->trips = (uint32_t)(i / each + 1);
    }
}

/* The last batch of an epoch may be a short one: what a step is like, others say. */
static void trace_end(struct run *r, size_t samples)
{
    struct dense_run *d = r->dense;

    d->step.ended = clock_now();
    if (samples < d->batch && d->trace.trips > 0)
        return;
    trace_trips(&d->step, d->dense);
    d->trace = d->step;
}

/* ---- shards ---- */

/* Samples of one, at most. */
static size_t shard_most(const struct dense_run *d)
{
    return (d->share + d->nshards - 1) / d->nshards;
}

static struct net_take shard_take(const struct run *r, size_t i)
{
    const struct dense_run *d = r->dense;
    size_t a = d->take.n * i / d->nshards, b = d->take.n * (i + 1) / d->nshards;
    struct net_take t = d->take;

    t.ids += a;
    t.n = b - a;
    return t;
}

static uint64_t batch_key(const struct run *r, size_t i)
{
    return rng_at(r->opts->seed, r->at.epoch,
                  (r->at.place * r->sharing + r->worker) * r->dense->nshards + i);
}

static shoal_status fill_shard(struct run *r, struct shard *s, const struct net_take *t,
                               struct net_batch *b)
{
    bool classes = r->dense->net->classes;

    *b = (struct net_batch){.n = t->n, .x = s->x, .label = classes ? s->label : NULL,
                            .y = classes ? NULL : s->y};
    return t->n > 0 ? r->task->net->fill(r, t, s->x, s->label, s->y) : SHOAL_OK;
}

static shoal_status gradient_shard(void *ctx, size_t i, unsigned thread)
{
    struct run *r = ctx;
    struct shard *s = &r->dense->shards[i];
    struct net_take t = shard_take(r, i);
    struct net_batch b;
    shoal_status st = fill_shard(r, s, &t, &b);

    b.key = batch_key(r, i);
    if (st == SHOAL_OK)
        st = r->dense->net->ops->gradient(s->worker, r->dense->params, &b, r->dense->scale,
                                   s->grads ? s->grads : r->dense->grads,
                                   r->dense->nshards == 1 ? &r->dense->hooks : NULL, &s->sums);
    return st;
}

/* Adds up a part of the block, in the order of the shards: floats do not add up the same in
 * another order, and which thread does which part changes nothing. */
static shoal_status add_part(void *ctx, size_t i, unsigned thread)
{
    struct run *r = ctx;
    size_t blocks = r->dense->net->size / NET_ALIGN;
    size_t from = blocks * i / r->dense->nshards * NET_ALIGN;
    size_t to = blocks * (i + 1) / r->dense->nshards * NET_ALIGN;

    for (size_t k = 1; k < r->dense->nshards; k++)
        r->kernel->axpy(r->dense->grads + from, 1, r->dense->shards[k].grads + from, to - from);
    return SHOAL_OK;
}

static shoal_status on_ready(void *ctx, size_t from, size_t to)
{
    struct run *r = ctx;
    struct comm_timer timer = comm_timer_begin(r->comm);
    shoal_status st;

    trace_ready(&r->dense->step);
    st = dense_ready(r->dense->dense, from, to);

    clock_exchange(r, &timer);
    return st;
}

static shoal_status on_sum(void *ctx, double *x, size_t n)
{
    struct run *r = ctx;
    struct comm_timer timer = comm_timer_begin(r->comm);
    shoal_status st = comm_sum_first(r->comm, opts_sharing(r->opts), x, n); /* servers have none */

    clock_exchange(r, &timer);
    return st;
}

static shoal_status finish(struct run *r, shoal_status (*how)(struct dense *))
{
    struct comm_timer timer = comm_timer_begin(r->comm);
    shoal_status st = how(r->dense->dense);

    clock_exchange(r, &timer);
    return st;
}

static void collect_sums(struct run *r)
{
    for (size_t i = 0; i < r->dense->nshards; i++) {
        run_count(r, &r->dense->shards[i].sums);
        r->dense->shards[i].sums = (struct sums){0};
    }
}

static void tell_ahead(struct run *r)
{
    size_t all;
    struct net_take next;

    if (!r->task->net->ahead || r->at.place + 1 >= run_epoch_units(r))
        return;
    next = take_of(r, r->at.place + 1, &all);
    r->task->net->ahead(r, &next);
}

/* Under async every worker's gradient is a mean of its own; under sync they are
 * parts of one. */
static bool apart(const struct run *r)
{
    return r->comm && r->opts->sync.policy != SHOAL_SYNC;
}

static float scale_of(const struct run *r, size_t all)
{
    size_t n = apart(r) ? r->dense->take.n : all;

    return n > 0 ? 1 / (float)n : 0;
}

static shoal_status step_on_take(struct run *r, bool measure)
{
    shoal_status st;

    dense_begin(r->dense->dense, r->dense->grads, run_lr(r, r->at.place), measure);
    st = workers_run(r->dense->pool, r->dense->nshards, gradient_shard, r);
    if (st == SHOAL_OK && r->dense->nshards > 1) {
        st = workers_run(r->dense->pool, r->dense->nshards, add_part, r);
        if (st == SHOAL_OK)
            st = on_ready(r, 0, r->dense->net->size);
    }
    r->dense->step.computed = clock_now();
    return st == SHOAL_OK ? finish(r, dense_finish) : st;
}

/* Denormals are flushed to 0: gradients of samples that are predicted surely fade below FLT_MIN on
 * their way through the layers, and such numbers are slow. */
shoal_status net_step(struct run *r)
{
    bool measure = r->at.place % MEASURED == 0;
    unsigned mode = floats_flush();
    struct net_times before = r->dense->times;
    double began = clock_now();
    size_t all;
    shoal_status st;

    if (r->dense->ordered != r->at.epoch + 1)
        shuffle(r, r->at.epoch);
    r->dense->take = take_of(r, r->at.place, &all);
    r->dense->scale = scale_of(r, all);
    tell_ahead(r);
    trace_begin(r, began);
    if (r->comm)
        comm_charge(r->comm, (double)r->dense->take.n);
    r->dense->norms += measure;
    if (apart(r) && r->dense->take.n == 0)
        st = finish(r, dense_skip);
    else
        st = step_on_take(r, measure);
    collect_sums(r);
    if (st == SHOAL_OK && r->comm && dense_pieces(r->dense->dense) > 0)
        trace_end(r, all);
    clock_step(r, began, &before);
    run_timeline_mark(r);
    r->at.place++;
    floats_set(mode);
    return st;
}

/* ---- what is held out ---- */

struct valid {
    struct run *r;
    uint32_t *ids;
    size_t n, part; /* in all; of one shard */
};

static shoal_status measure_shard(void *ctx, size_t i, unsigned thread)
{
    struct valid *v = ctx;
    struct run *r = v->r;
    size_t from = v->part * i, left = v->n > from ? v->n - from : 0;
    struct net_take t = {.ids = v->ids + from, .n = left < v->part ? left : v->part, .valid = true,
                         .epoch = r->at.epoch};
    struct net_batch b;
    shoal_status st = fill_shard(r, &r->dense->shards[i], &t, &b);

    if (st == SHOAL_OK && t.n > 0)
        st = r->dense->net->ops->measure(r->dense->shards[i].worker, r->dense->params, &b,
                                         &r->dense->shards[i].sums);
    return st;
}

/* As much as the shards hold at a time; messages move in between. */
shoal_status net_measure_valid(struct run *r, struct sums *sums)
{
    size_t from = r->dense->valid * r->worker / r->sharing;
    size_t to = r->dense->valid * (r->worker + 1) / r->sharing;
    size_t part = shard_most(r->dense), most = part * r->dense->nshards;
    uint32_t *ids = mem_array(most, sizeof *ids);
    unsigned mode = floats_flush();
    shoal_status st = ids ? SHOAL_OK : SHOAL_ENOMEM;

    while (st == SHOAL_OK && from < to && r->works) {
        struct valid v = {.r = r, .ids = ids, .n = to - from < most ? to - from : most,
                          .part = part};

        for (size_t i = 0; i < v.n; i++)
            ids[i] = (uint32_t)(from + i);
        st = workers_run(r->dense->pool, r->dense->nshards, measure_shard, &v);
        from += v.n;
        if (st == SHOAL_OK)
            st = dense_poll(r->dense->dense);
    }
    for (size_t i = 0; i < r->dense->nshards; i++) {
        sums_add(sums, &r->dense->shards[i].sums);
        r->dense->shards[i].sums = (struct sums){0};
    }
    floats_set(mode);
    free(ids);
    return st;
}

/* ---- memory ---- */

enum {
    SHARD_LEAST = 32,  /* samples of a shard */
    SHARD_LARGE = 128, /* the same where adding up gradients takes a while */
    LARGE = 1 << 15,   /* parameters from which it does */
    SHARDS_MOST = 8,
};

#define SHARD_FLOPS 3e6 /* what is quicker than that is not worth a second thread */

/* By the net and the batch alone, so that the result does not depend on threads. */
size_t net_shards(const struct net *net, size_t share)
{
    size_t by_samples = share / (net->size > LARGE ? SHARD_LARGE : SHARD_LEAST);
    double by_flops = net->flops * (double)share / SHARD_FLOPS;
    size_t shards = (double)by_samples < by_flops ? by_samples : (size_t)by_flops;

    if (net->alone || shards < 1)
        return 1;
    return shards > SHARDS_MOST ? SHARDS_MOST : shards;
}

static shoal_status shard_init(struct run *r, struct shard *s, size_t n, bool first)
{
    const struct net *net = r->dense->net;

    s->x = mem_map(n * net->inputs * sizeof *s->x);
    s->y = net->classes ? NULL : mem_map(n * net->outputs * sizeof *s->y);
    s->label = mem_array(n, sizeof *s->label);
    s->grads = first ? NULL : mem_map(net->size * sizeof *s->grads);
    if (!s->x || (!net->classes && !s->y) || !s->label || (!first && !s->grads))
        return SHOAL_ENOMEM;
    return net->ops->worker_new(&s->worker, net, n, net->alone ? r->threads : 1);
}

shoal_status net_steps_init(struct run *r)
{
    size_t most = (r->dense->batch + r->sharing - 1) / r->sharing;
    shoal_status st = SHOAL_OK;

    r->dense->share = most < r->dense->train ? most : r->dense->train;
    r->dense->nshards = net_shards(r->dense->net, r->dense->share);
    r->dense->order = mem_array(r->dense->train, sizeof *r->dense->order);
    r->dense->shards = mem_array(r->dense->nshards, sizeof *r->dense->shards);
    if (!r->dense->order || !r->dense->shards)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < r->dense->nshards && st == SHOAL_OK; i++)
        st = shard_init(r, &r->dense->shards[i], shard_most(r->dense), i == 0);
    r->dense->hooks = (struct net_hooks){.ready = on_ready, .backward = on_backward, .ctx = r};
    if (r->comm && r->opts->sync.policy == SHOAL_SYNC)
        r->dense->hooks.sum = on_sum;
    return st == SHOAL_OK ? workers_new(&r->dense->pool, r->dense->net->alone ? 1 : r->threads) : st;
}

void net_steps_fini(struct run *r)
{
    size_t n = r->dense->nshards ? shard_most(r->dense) : 0;

    workers_free(r->dense->pool);
    for (size_t i = 0; r->dense->shards && i < r->dense->nshards; i++) {
        struct shard *s = &r->dense->shards[i];

        r->dense->net->ops->worker_free(s->worker);
        mem_unmap(s->x, n * r->dense->net->inputs * sizeof *s->x);
        mem_unmap(s->y, n * r->dense->net->outputs * sizeof *s->y);
        mem_unmap(s->grads, r->dense->net->size * sizeof *s->grads);
        free(s->label);
    }
    free(r->dense->shards);
    free(r->dense->order);
}
