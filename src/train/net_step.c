/* One step: this worker's part of a batch, in slices, and what comes of them. */
#include "train/net_run.h"

#include <math.h>
#include <stdlib.h>

enum { ORDER_STREAM = 0x04de4, MEASURED = 8 }; /* every so many steps the norm is measured */

/* ---- the order of samples ---- */

/* How far samples were moved, of every 16th. */
static double moved(const struct net_run *r)
{
    double sum = 0, n = (double)r->source->train;
    size_t seen = 0;

    for (size_t i = 0; i < r->source->train; i += 16, seen++)
        sum += fabs((double)r->order[i] - (double)i);
    return seen > 0 ? sum / (double)seen / n : 0;
}

/* Fisher and Yates, keyed by (seed, epoch). */
static void shuffle(struct net_run *r, unsigned epoch)
{
    struct rng rng = {.seed = r->opts->seed, .stream = ORDER_STREAM + epoch};
    uint32_t *order = r->order;

    for (size_t i = 0; i < r->source->train; i++)
        order[i] = (uint32_t)i;
    for (size_t i = r->source->train; !r->opts->in_order && i > 1; i--) {
        size_t j = (size_t)(((rng_next(&rng) >> 32) * (uint64_t)i) >> 32);
        uint32_t swap = order[i - 1];

        order[i - 1] = order[j];
        order[j] = swap;
    }
    r->ordered = epoch + 1;
    r->shuffled = moved(r);
}

/* Which of the epoch's samples this worker takes in a step; *all is of all workers. */
static struct net_take take_of(const struct net_run *r, uint64_t step, size_t *all)
{
    size_t from = (size_t)step * r->batch, left = r->source->train - from;
    size_t some = left < r->batch ? left : r->batch;
    size_t a = some * r->worker / r->workers, b = some * (r->worker + 1) / r->workers;

    *all = some;
    return (struct net_take){.ids = r->order + from + a, .n = b - a, .epoch = r->at.epoch};
}

/* ---- slices ---- */

static struct net_take slice_take(const struct net_run *r, size_t i)
{
    size_t a = r->take.n * i / r->nslices, b = r->take.n * (i + 1) / r->nslices;
    struct net_take t = r->take;

    t.ids += a;
    t.n = b - a;
    return t;
}

static uint64_t batch_key(const struct net_run *r, size_t i)
{
    return rng_at(r->opts->seed, r->at.epoch,
                  (r->at.step * r->workers + r->worker) * r->nslices + i);
}

static shoal_status fill_slice(struct net_run *r, struct slice *s, const struct net_take *t,
                               struct net_batch *b)
{
    bool classes = r->net->classes;

    *b = (struct net_batch){.n = t->n, .x = s->x, .label = classes ? s->label : NULL,
                            .y = classes ? NULL : s->y};
    return t->n > 0 ? r->source->fill(r->source->ctx, t, s->x, s->label, s->y) : SHOAL_OK;
}

static shoal_status gradient_slice(void *ctx, size_t i, unsigned thread)
{
    struct net_run *r = ctx;
    struct slice *s = &r->slices[i];
    struct net_take t = slice_take(r, i);
    struct net_batch b;
    shoal_status st = fill_slice(r, s, &t, &b);

    b.key = batch_key(r, i);
    if (st == SHOAL_OK)
        st = r->net->ops->gradient(s->worker, r->params, &b, r->scale,
                                   s->grads ? s->grads : r->grads,
                                   r->nslices == 1 ? &r->hooks : NULL, &s->sums);
    return st;
}

/* Adds up a part of the block, in the order of the slices. */
static shoal_status add_part(void *ctx, size_t i, unsigned thread)
{
    struct net_run *r = ctx;
    size_t blocks = r->net->size / NET_ALIGN;
    size_t from = blocks * i / r->nslices * NET_ALIGN;
    size_t to = blocks * (i + 1) / r->nslices * NET_ALIGN;

    for (size_t k = 1; k < r->nslices; k++)
        r->kernel->axpy(r->grads + from, 1, r->slices[k].grads + from, to - from);
    return SHOAL_OK;
}

static shoal_status on_ready(void *ctx, size_t from, size_t to)
{
    struct net_run *r = ctx;
    struct net_clock clock;
    shoal_status st;

    net_clock_begin(r, &clock);
    st = dense_ready(r->dense, from, to);
    net_clock_meeting(r, &clock);
    return st;
}

static shoal_status on_sum(void *ctx, double *x, size_t n)
{
    struct net_run *r = ctx;
    struct net_clock clock;
    shoal_status st;

    net_clock_begin(r, &clock);
    st = comm_sum(r->comm, x, n);
    net_clock_meeting(r, &clock);
    return st;
}

static shoal_status finish(struct net_run *r)
{
    struct net_clock clock;
    shoal_status st;

    net_clock_begin(r, &clock);
    st = dense_finish(r->dense);
    net_clock_meeting(r, &clock);
    return st;
}

static void collect_sums(struct net_run *r)
{
    for (size_t i = 0; i < r->nslices; i++) {
        net_sums_add(&r->since, &r->slices[i].sums);
        r->slices[i].sums = (struct net_sums){0};
    }
}

static void tell_ahead(struct net_run *r)
{
    size_t all;
    struct net_take next;

    if (!r->source->ahead || r->at.step + 1 >= r->steps)
        return;
    next = take_of(r, r->at.step + 1, &all);
    r->source->ahead(r->source->ctx, &next);
}

/* Under async every worker's gradient is a mean of its own; under sync they are
 * parts of one. */
static float scale_of(const struct net_run *r, size_t all)
{
    bool apart = r->comm && r->opts->sync != SHOAL_SYNC;
    size_t n = apart ? r->take.n : all;

    return n > 0 ? 1 / (float)n : 0;
}

/* Gradients of samples that are sure, and through many layers, fade below FLT_MIN. */
shoal_status net_step(struct net_run *r)
{
    bool measure = r->at.step % MEASURED == 0;
    unsigned mode = floats_flush();
    double step = 1 / (double)r->steps, done = r->at.epoch + (double)r->at.step * step;
    struct net_times before = r->times;
    struct net_clock clock;
    size_t all;
    shoal_status st;

    net_clock_begin(r, &clock);
    if (r->ordered != r->at.epoch + 1)
        shuffle(r, r->at.epoch);
    r->take = take_of(r, r->at.step, &all);
    r->scale = scale_of(r, all);
    tell_ahead(r);
    if (r->comm)
        comm_charge(r->comm, (double)r->take.n);
    dense_measure(r->dense, measure);
    r->norms += measure;
    st = dense_begin(r->dense, r->grads, net_lr(r->opts, done, step));
    if (st == SHOAL_OK)
        st = workers_run(r->pool, r->nslices, gradient_slice, r);
    if (st == SHOAL_OK && r->nslices > 1) {
        st = workers_run(r->pool, r->nslices, add_part, r);
        if (st == SHOAL_OK)
            st = on_ready(r, 0, r->net->size);
    }
    if (st == SHOAL_OK)
        st = finish(r);
    collect_sums(r);
    net_clock_step(r, &clock, &before);
    net_mark(r);
    r->at.step++;
    floats_set(mode);
    return st;
}

/* ---- what is held out ---- */

struct valid {
    struct net_run *r;
    uint32_t *ids;
    size_t n, part; /* in all; of one slice */
};

static shoal_status measure_slice(void *ctx, size_t i, unsigned thread)
{
    struct valid *v = ctx;
    struct net_run *r = v->r;
    size_t from = v->part * i, left = v->n > from ? v->n - from : 0;
    struct net_take t = {.ids = v->ids + from, .n = left < v->part ? left : v->part, .valid = true,
                         .epoch = r->at.epoch};
    struct net_batch b;
    shoal_status st = fill_slice(r, &r->slices[i], &t, &b);

    if (st == SHOAL_OK && t.n > 0)
        st = r->net->ops->measure(r->slices[i].worker, r->params, &b, &r->slices[i].sums);
    return st;
}

/* As much as the slices hold at a time; messages move in between. */
shoal_status net_measure_valid(struct net_run *r, struct net_sums *sums)
{
    size_t from = r->source->valid * r->worker / r->workers;
    size_t to = r->source->valid * (r->worker + 1) / r->workers;
    size_t part = (r->share + r->nslices - 1) / r->nslices, most = part * r->nslices;
    uint32_t *ids = mem_array(most, sizeof *ids);
    unsigned mode = floats_flush();
    shoal_status st = ids ? SHOAL_OK : SHOAL_ENOMEM;

    while (st == SHOAL_OK && from < to && dense_works(r->dense)) {
        struct valid v = {.r = r, .ids = ids, .n = to - from < most ? to - from : most,
                          .part = part};

        for (size_t i = 0; i < v.n; i++)
            ids[i] = (uint32_t)(from + i);
        st = workers_run(r->pool, r->nslices, measure_slice, &v);
        from += v.n;
        if (st == SHOAL_OK)
            st = dense_poll(r->dense);
    }
    for (size_t i = 0; i < r->nslices; i++) {
        net_sums_add(sums, &r->slices[i].sums);
        r->slices[i].sums = (struct net_sums){0};
    }
    floats_set(mode);
    free(ids);
    return st;
}

/* ---- memory ---- */

static shoal_status slice_init(struct net_run *r, struct slice *s, size_t n, bool first)
{
    const struct net *net = r->net;

    s->x = mem_map(n * net->inputs * sizeof *s->x);
    s->y = net->classes ? NULL : mem_map(n * net->outputs * sizeof *s->y);
    s->label = mem_array(n, sizeof *s->label);
    s->grads = first ? NULL : mem_map(net->size * sizeof *s->grads);
    if (!s->x || (!net->classes && !s->y) || !s->label || (!first && !s->grads))
        return SHOAL_ENOMEM;
    return net->ops->worker_new(&s->worker, net, n, net->alone ? r->threads : 1);
}

shoal_status net_steps_init(struct net_run *r)
{
    size_t most = (r->batch + r->workers - 1) / r->workers;
    shoal_status st = SHOAL_OK;

    r->share = most < r->source->train ? most : r->source->train;
    r->nslices = net_slices(r->net, r->share);
    r->order = mem_array(r->source->train, sizeof *r->order);
    r->slices = mem_array(r->nslices, sizeof *r->slices);
    if (!r->order || !r->slices)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < r->nslices && st == SHOAL_OK; i++)
        st = slice_init(r, &r->slices[i], (r->share + r->nslices - 1) / r->nslices, i == 0);
    r->hooks = (struct net_hooks){.ready = on_ready, .ctx = r};
    if (r->comm && r->opts->sync == SHOAL_SYNC)
        r->hooks.sum = on_sum;
    return st == SHOAL_OK ? workers_new(&r->pool, r->net->alone ? 1 : r->threads) : st;
}

void net_steps_fini(struct net_run *r)
{
    size_t n = r->nslices ? (r->share + r->nslices - 1) / r->nslices : 0;

    workers_free(r->pool);
    for (size_t i = 0; r->slices && i < r->nslices; i++) {
        struct slice *s = &r->slices[i];

        r->net->ops->worker_free(s->worker);
        mem_unmap(s->x, n * r->net->inputs * sizeof *s->x);
        mem_unmap(s->y, n * r->net->outputs * sizeof *s->y);
        mem_unmap(s->grads, r->net->size * sizeof *s->grads);
        free(s->label);
    }
    free(r->slices);
    free(r->order);
}
