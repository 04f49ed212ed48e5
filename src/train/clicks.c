/* The task of click models: positions are rows of click data. Tables: a packed row
 * of weight and optimizer state for each feature, hottest first, and one for the
 * bias. */
#include "train/run.h"

#include "saved/saved.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WEIGHTS, OFFSET };

enum {
    HOT_FLOATS = 16384,  /* of features of which each thread has copies: the first that fit */
    LOOK_ROWS = 1024,    /* between looks at other ranks, or one batch */
    LOOK_CROWDED = 256,
    CHUNK_LEAST = 64,
    CHUNK_MOST = 4096,
    CHUNKS_PER_EPOCH = 256,
    APART = 2048,        /* of all threads until their copies meet */
    APART_LANES = 512,   /* the same of lanes */
};

/* What workers did apart is added up. Of a weight that all of them moved the sum
 * overshoots, the further, the more steps each made: adagrad's and ftrl's rates fall
 * and forgive, those of sgd must leave time to meet. Measured: docs/logreg.md. */
#define APART_SGD 1.28   /* steps of all lanes times the rate */

struct clicks {
    const shoal_clicks *data;
    const struct clicks_view *rows;
    struct linear_model linear;
    struct clicks_view held; /* rows that are not learned from, by the ids of `data` */
    uint64_t held_from;      /* the first of them */
    uint32_t *held_ids;      /* [held.values]; NULL: those of `data` itself */
    struct binary *scores;
};

/* ---- the plan ---- */

/* Batches begin where a chunk does. */
static size_t whole_batches(size_t rows, uint64_t batch)
{
    return (size_t)((rows + batch - 1) / batch * batch);
}

static size_t held_share(const struct shoal_train_opts *o, uint64_t rows)
{
    return o->logreg.valid ? 0 : (size_t)(o->valid * (double)rows);
}

/* Whoever asks for looks expects them to be taken. */
static shoal_status check_looks(const struct shoal_train_opts *o, uint64_t rows)
{
    static const char but[] = "but nothing is held out; want rows, or a share of them, that are";

    if ((o->logreg.valid && clicks_view(o->logreg.valid)->rows > 0) || held_share(o, rows) > 0)
        return SHOAL_OK;
    if (o->logreg.early_stop > 0)
        return shoal_fail(SHOAL_EINVAL, "train: early_stop is %u, %s", o->logreg.early_stop, but);
    if (o->logreg.eval_every > 0)
        return shoal_fail(SHOAL_EINVAL, "train: eval_every is %llu, %s",
                          (unsigned long long)o->logreg.eval_every, but);
    return SHOAL_OK;
}

static shoal_status check_data(const shoal_clicks *data, const struct shoal_train_opts *o)
{
    const struct clicks_view *v = clicks_view(data);

    if (o->model != SHOAL_LOGREG)
        return shoal_fail(SHOAL_EINVAL, "train: model is %d, want SHOAL_LOGREG for click data",
                          (int)o->model);
    if (v->rows - held_share(o, v->rows) == 0)
        return shoal_fail(SHOAL_EINVAL, "train: found no rows to learn from, want at least one");
    if (o->logreg.valid && clicks_view(o->logreg.valid)->bits != v->bits)
        return shoal_fail(SHOAL_EINVAL, "train: what is held out has 2^%u slots, the data 2^%u",
                          clicks_view(o->logreg.valid)->bits, v->bits);
    return check_looks(o, v->rows);
}

shoal_status shoal_logreg_plan(struct shoal_train_plan *plan, const shoal_clicks *data,
                               const struct shoal_train_opts *o)
{
    const struct clicks_view *v = clicks_view(data);
    size_t features = (size_t)v->features + 1, width = linear_width(o->logreg.optimizer);
    struct table tables[] = {{.rows = features, .width = width, .stride = width},
                             {.rows = 1, .width = width, .stride = width}};
    shoal_status st = shoal_train_check(o);

    if (st == SHOAL_OK)
        st = check_ranks(o);
    if (st == SHOAL_OK)
        st = check_data(data, o);
    if (st != SHOAL_OK)
        return st;
    *plan = (struct shoal_train_plan){.words = v->rows, .vocab = v->features};
    plan->model_bytes = table_size(&tables[WEIGHTS]) + table_size(&tables[OFFSET]);
    plan->work_bytes = workers_of(o) * linear_worker_bytes(o, features) +
                       ranks_bytes(o, tables, 2, NULL) + features * sizeof(float);
    if (o->deterministic)
        plan->work_bytes += workers_of(o) * view_bytes(&tables[WEIGHTS], features);
    else
        plan->work_bytes += workers_of(o) * 2 * HOT_FLOATS * sizeof(float);
    if (o->logreg.valid)
        plan->work_bytes += clicks_view(o->logreg.valid)->values * sizeof(uint32_t) +
                            (sizeof(uint32_t) << v->bits);
    plan->rank_bytes = plan->model_bytes;
    plan_sum(plan, o);
    return SHOAL_OK;
}

static shoal_status clicks_plan(const struct run *r, struct shoal_train_plan *plan)
{
    const struct clicks *c = r->own;

    return shoal_logreg_plan(plan, c->data, r->opts);
}

/* ---- what is held out ---- */

/* Other data has ids of its own: by their slots they become ours, or that of
 * features nobody has seen. */
static shoal_status map_held(struct clicks *c, const struct clicks_view *other)
{
    uint32_t unseen = c->rows->features;
    uint32_t *id_of = mem_array((size_t)1 << other->bits, sizeof *id_of);

    c->held_ids = mem_array((size_t)other->values + 1, sizeof *c->held_ids);
    if (!id_of || !c->held_ids) {
        free(id_of);
        return SHOAL_ENOMEM;
    }
    for (size_t i = 0; i < (size_t)1 << other->bits; i++)
        id_of[i] = unseen;
    for (uint32_t i = 0; i < c->rows->features; i++)
        id_of[c->rows->slot[i]] = i;
    for (uint64_t i = 0; i < other->values; i++)
        c->held_ids[i] = id_of[other->slot[other->id[i]]];
    free(id_of);
    c->held = *other;
    c->held.id = c->held_ids;
    return SHOAL_OK;
}

static shoal_status hold_out(struct run *r)
{
    const struct shoal_train_opts *o = r->opts;
    struct clicks *c = r->own;

    r->all = (size_t)c->rows->rows;
    r->train = r->all - held_share(o, c->rows->rows);
    c->held = *c->rows;
    c->held_from = r->train;
    if (!o->logreg.valid)
        return SHOAL_OK;
    c->held_from = 0;
    return map_held(c, clicks_view(o->logreg.valid));
}

/* ---- opening ---- */

/* Rows of a lane between two meetings: it may not depend on the threads. */
static size_t lane_rows(const struct shoal_train_opts *o)
{
    double steps = APART_LANES;

    if (o->logreg.optimizer == SHOAL_SGD)
        steps = fmin(steps, APART_SGD / (double)lr_at(o, 0));
    return (size_t)fmax(steps / o->lanes, 1) * o->batch;
}

static void lay_out(struct run *r)
{
    const struct shoal_train_opts *o = r->opts;
    size_t chunk = chunk_between(r->train, CHUNKS_PER_EPOCH, CHUNK_LEAST, CHUNK_MOST);

    r->grain = (struct grain){.chunk = o->deterministic ? lane_rows(o)
                                                        : whole_batches(chunk, o->batch),
                              .round = o->batch, .apart = APART,
                              .look = whole_batches(LOOK_ROWS, o->batch),
                              .look_crowded = whole_batches(LOOK_CROWDED, o->batch),
                              .hot = HOT_FLOATS / (uint32_t)linear_width(o->logreg.optimizer)};
    r->look_every = o->logreg.eval_every;
    r->gathers = true; /* what adds up may not be apart for long */
    r->batch = o->batch;
}

static shoal_status clicks_open(struct run *r)
{
    struct clicks *c = r->own;
    size_t width = linear_width(r->opts->logreg.optimizer);
    shoal_status st = hold_out(r);

    r->at.best_loss = log(2);
    lay_out(r);
    linear_init(&c->linear, r->opts, c->rows, r->kernel);
    if (st == SHOAL_OK)
        st = table_init_packed(&r->tables[WEIGHTS], "weights", (size_t)c->rows->features + 1,
                               width);
    if (st == SHOAL_OK)
        st = table_init_packed(&r->tables[OFFSET], "bias", 1, width);
    r->ntables = 2;
    return st == SHOAL_OK ? binary_new(&c->scores, BINARY_LOGIT, BINARY_KEEP) : st;
}

static void clicks_close(struct run *r)
{
    struct clicks *c = r->own;

    free(c->held_ids);
    binary_free(c->scores);
}

static bool clicks_traffic(const struct run *r, size_t table, float *out)
{
    const struct clicks *c = r->own;

    for (uint32_t i = 0; table == WEIGHTS && i < c->rows->features; i++)
        out[i] = (float)((double)c->rows->count[i] / (double)c->rows->counted);
    return table == WEIGHTS;
}

/* ---- training ---- */

static shoal_status clicks_join(struct run *r, struct worker *w)
{
    struct clicks *c = r->own;
    struct linear_worker *own = NULL;
    shoal_status st = linear_join(&own, &c->linear, &w->views[WEIGHTS], &w->views[OFFSET]);

    w->own = own;
    return st;
}

static void clicks_leave(struct worker *w)
{
    linear_leave(w->own);
}

static void clicks_train(struct run *r, struct worker *w, size_t from, size_t to, float lr)
{
    (void)r;
    linear_train(w->own, from, to, lr, &w->done);
}

/* ---- measuring ---- */

static float lr_now(const struct run *r)
{
    return lr_at(r->opts, r->at.epoch + (double)r->at.chunk / (double)r->chunks);
}

static void judge(struct run *r)
{
    struct position *at = &r->at;

    if (at->looks == 0 || r->held.log_loss < at->held_best) {
        at->held_best = r->held.log_loss;
        at->looks_since = 0;
    } else {
        at->looks_since++;
    }
    at->looks++;
    r->enough = r->opts->logreg.early_stop > 0 && at->looks_since >= r->opts->logreg.early_stop;
}

static shoal_status clicks_measure(struct run *r)
{
    struct clicks *c = r->own;
    float lr = lr_now(r);
    shoal_status st = SHOAL_OK;

    if (c->held_from == c->held.rows)
        return SHOAL_OK;
    binary_clear(c->scores);
    for (uint64_t i = c->held_from; i < c->held.rows && st == SHOAL_OK; i++)
        st = binary_add(c->scores,
                        (double)linear_margin(&c->linear, &r->tables[WEIGHTS],
                                              &r->tables[OFFSET], lr, &c->held, i),
                        c->held.label[i], c->held.weight ? (double)c->held.weight[i] : 1);
    if (st == SHOAL_OK)
        st = binary_score(c->scores, &r->held);
    if (st != SHOAL_OK)
        return st;
    r->valid_loss = r->held.log_loss;
    judge(r);
    return SHOAL_OK;
}

static size_t clicks_row_bytes(const struct run *r)
{
    return r->tables[WEIGHTS].width * sizeof(float) * 2;
}

/* ---- the result ---- */

/* Losses show what diverges, but not the steps behind the last of them. */
static shoal_status check_weight(float weight)
{
    return isfinite(weight) ? SHOAL_OK
                            : shoal_fail(SHOAL_EINVAL, "train: diverged: a weight is no number "
                                         "any more; lower --lr");
}

static shoal_status make_model(shoal_logreg **out, const struct run *r)
{
    const struct clicks *c = r->own;
    float lr = lr_now(r), *weights = mem_array((size_t)c->rows->features + 1, sizeof *weights);
    float bias = linear_weight(&c->linear, &r->tables[OFFSET], 0, lr, true);
    shoal_status st = weights ? check_weight(bias) : SHOAL_ENOMEM;

    for (uint32_t i = 0; i < c->rows->features && st == SHOAL_OK; i++) {
        weights[i] = linear_weight(&c->linear, &r->tables[WEIGHTS], i, lr, false);
        st = check_weight(weights[i]);
    }
    if (st == SHOAL_OK)
        st = logreg_new(out, c->data, weights, bias);
    free(weights);
    return st;
}

static shoal_status clicks_publish(struct run *r, const char *path)
{
    shoal_logreg *model = NULL;
    shoal_status st = make_model(&model, r);

    if (st == SHOAL_OK)
        st = shoal_logreg_save(model, path);
    shoal_logreg_close(model);
    return st;
}

static const struct task clicks_task = {
    .plan = clicks_plan,
    .open = clicks_open,
    .close = clicks_close,
    .traffic = clicks_traffic,
    .join = clicks_join,
    .leave = clicks_leave,
    .train = clicks_train,
    .measure = clicks_measure,
    .publish = clicks_publish,
    .row_bytes = clicks_row_bytes,
};

shoal_status shoal_train_logreg(shoal_logreg **out, const shoal_clicks *data,
                                const struct shoal_train_opts *opts,
                                struct shoal_train_stats *stats)
{
    struct clicks clicks = {.data = data, .rows = clicks_view(data)};
    struct run r = {.opts = opts, .task = &clicks_task, .own = &clicks,
                    .from = {.units = shoal_clicks_rows(data)}};
    shoal_status st;

    /* Only checkpoints ask for it, and it takes a look at every byte. */
    if (opts->checkpoint)
        r.from.fingerprint = shoal_clicks_fingerprint(data);
    st = begin(&r);
    *out = NULL;
    if (st == SHOAL_OK)
        st = run_all(&r);
    if (st == SHOAL_OK)
        st = run_finish(&r);
    if (st == SHOAL_OK && r.leads)
        st = make_model(out, &r);
    if (stats)
        fill_stats(&r, stats);
    end(&r);
    return st;
}
