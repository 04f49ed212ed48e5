/* What tasks on rows of sparse features share: the plan, how an epoch is cut and how ranks
 * meet, what is held out, and options. */
#include "train/tasks/sparse.h"

#include "saved/saved.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    HOT_FLOATS = 16384, /* of features of which each thread has copies: the first that fit */
    POLL_ROWS = 1024,   /* between polls of other ranks, or one batch */
    POLL_BUSY = 256,
    CHUNK_LEAST = 64,
    CHUNK_MOST = 4096,
    CHUNKS_PER_EPOCH = 256,
    APART = 2048,      /* of all threads until their copies meet */
    APART_LANES = 512, /* the same of lanes */
};

/* Changes that workers make apart are added up (table->adds). The sum of a weight that all of them
 * moved overshoots, the further, the more steps each made alone. The rates of adagrad and ftrl fall
 * with the steps, which makes up for it; with sgd the number of steps apart is bounded by the rate.
 * Measured: docs/notes/logreg.md. */
#define APART_SGD 1.28   /* steps of all lanes times the rate */

/* ---- the plan ---- */

/* Batches begin where a chunk does. */
static size_t whole_batches(size_t rows, uint64_t batch)
{
    return (size_t)((rows + batch - 1) / batch * batch);
}

/* Rows that are held out by name; NULL: none. */
static const struct clicks_view *valid_of(const struct run *r)
{
    return r->data->valid_rows ? clicks_view(r->data->valid_rows) : NULL;
}

static size_t held_share(const struct run *r)
{
    return valid_of(r) ? 0 : (size_t)(r->opts->valid * (double)clicks_view(r->data->rows)->rows);
}

/* Whoever asks for evaluations expects them to be made. */
static shoal_status check_held(const struct run *r)
{
    static const char but[] = "but nothing is held out; want rows, or a share of them, that are";
    const struct train_opts *o = r->opts;

    if ((valid_of(r) && valid_of(r)->rows > 0) || held_share(r) > 0)
        return SHOAL_OK;
    if (o->early_stop > 0)
        return shoal_fail(SHOAL_EINVAL, "train: --early-stop is %u, %s", o->early_stop, but);
    if (o->eval_every > 0)
        return shoal_fail(SHOAL_EINVAL, "train: --eval-every is %llu, %s",
                          (unsigned long long)o->eval_every, but);
    return SHOAL_OK;
}

static shoal_status check_data(const struct run *r)
{
    const struct clicks_view *v = clicks_view(r->data->rows), *held = valid_of(r);

    if (v->rows - held_share(r) == 0)
        return shoal_fail(SHOAL_EINVAL, "train: found no rows to learn from, want at least one");
    if (held && held->classes > v->classes)
        return shoal_fail(SHOAL_EINVAL, "train: what is held out has %u classes, the data %u",
                          held->classes, v->classes);
    if (held && held->bits != v->bits)
        return shoal_fail(SHOAL_EINVAL, "train: what is held out has 2^%u slots, the data 2^%u",
                          held->bits, v->bits);
    return check_held(r);
}

static const struct sparse_model *model_of(const struct run *r)
{
    return (const struct sparse_model *)r->task->rows;
}

/* Weights of a feature. */
static size_t outputs_of(const struct run *r)
{
    return model_of(r)->classes ? clicks_view(r->data->rows)->classes : 1;
}

/* The mean of n replicas moves a weight by an n-th of what they found apart. Ftrl's sums
 * are of one rate, which may not change with the ranks. */
static double first_lr(struct shoal_train_plan *plan, const struct train_opts *o)
{
    bool apart = o->sync.policy == SHOAL_AVERAGE && !o->deterministic &&
                 o->optimizer != OPTIMIZER_FTRL;
    double usual = o->optimizer == OPTIMIZER_SGD ? 0.01 : 0.05;

    return opts_lr(plan, o, usual, apart ? opts_sharing(o) : 1);
}

shoal_status sparse_plan(struct run *r, struct shoal_train_plan *plan)
{
    const struct sparse_model *m = model_of(r);
    const struct train_opts *o = r->opts;
    const struct clicks_view *v = clicks_view(r->data->rows);
    size_t features = (size_t)v->features + 1, outputs = outputs_of(r);
    size_t width = outputs * linear_width(o->optimizer);
    struct table tables[] = {{.rows = features, .width = width, .stride = width},
                             {.rows = 1, .width = width, .stride = width}};
    shoal_status st;

    if (!m->classes && v->classes > 2)
        return shoal_fail(SHOAL_EINVAL, "train: found rows of %u classes, want two", v->classes);
    st = opts_check_ranks(o, r->task->is.name);
    if (st == SHOAL_OK)
        st = check_data(r);
    if (st != SHOAL_OK)
        return st;
    *plan = (struct shoal_train_plan){.examples = v->rows - held_share(r),
                                      .held_out = valid_of(r) ? valid_of(r)->rows : held_share(r),
                                      .types = v->features,
                                      .types_note = "features",
                                      .parameters = features * outputs,
                                      .advice = "--bits or the features"};
    first_lr(plan, o);
    snprintf(plan->model_note, sizeof plan->model_note, "%s%s", m->note,
             o->optimizer == OPTIMIZER_SGD ? "" : ", and its optimizer's state");
    plan->model_bytes = table_size(&tables[SPARSE_WEIGHTS]) + table_size(&tables[SPARSE_BIAS]);
    plan->work_bytes = rows_workers(o) * m->worker_bytes(o, features, v->classes) +
                       rows_bytes(o, tables, 2, NULL) + features * outputs * sizeof(float);
    if (o->deterministic)
        plan->work_bytes += rows_workers(o) * view_bytes(&tables[SPARSE_WEIGHTS], features);
    else
        plan->work_bytes += rows_workers(o) * 2 * HOT_FLOATS * sizeof(float);
    if (valid_of(r))
        plan->work_bytes += valid_of(r)->values * sizeof(uint32_t) + (sizeof(uint32_t) << v->bits);
    plan->rank_bytes = plan->model_bytes;
    plan->checkpoint_bytes = o->checkpoint ? plan->model_bytes / shoal_ranks_size(o->ranks) : 0;
    plan_sum(plan, o);
    return SHOAL_OK;
}

/* ---- what ranks change ---- */

enum {
    DUE_LINEAR = 32,     /* touches, over the rows of a batch */
    SWEEP_LINEAR = 2048, /* rounds in which all travels, over the square of the workers */
    SWEEP_LINEAR_LEAST = 8,
};

/* What linear models do to a weight adds up, so a row may be behind for longer;
 * in step, all that a batch touched travels after it. */
struct cadence sparse_cadence(const struct train_opts *o)
{
    unsigned due = DUE_LINEAR, sharing = opts_sharing(o);
    unsigned sweep = SWEEP_LINEAR / sharing / sharing;

    while (due > 1 && (o->sync.policy == SHOAL_SYNC || due * o->batch > DUE_LINEAR))
        due /= 2;
    return (struct cadence){.due = due,
                            .sweep = sweep > SWEEP_LINEAR_LEAST ? sweep : SWEEP_LINEAR_LEAST};
}

/* ---- what is held out ---- */

/* Other data has ids of its own: by their slots they become ours, or that of
 * features nobody has seen. */
static shoal_status map_held(struct sparse *c, const struct clicks_view *other)
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
    struct sparse *c = r->own;

    rows_hold_out(r, (size_t)c->rows->rows, held_share(r), 1);
    c->held = *c->rows;
    c->nheld = r->rows->split.held;
    if (!valid_of(r))
        return SHOAL_OK;
    c->nheld = valid_of(r)->rows;
    return map_held(c, valid_of(r));
}

uint64_t sparse_held_row(const struct sparse *s, uint64_t i)
{
    return s->held_ids ? i : split_held(&s->linear.split, (size_t)i);
}

/* ---- opening ---- */

/* Rows of a lane between two meetings: it may not depend on the threads. */
static size_t lane_rows(const struct run *r)
{
    const struct train_opts *o = r->opts;
    double steps = APART_LANES;

    if (o->optimizer == OPTIMIZER_SGD)
        steps = fmin(steps, APART_SGD / (double)(float)r->lr);
    return (size_t)fmax(steps / o->lanes, 1) * o->batch;
}

static void cut(struct run *r, size_t width)
{
    const struct train_opts *o = r->opts;
    uint64_t steps = o->steps * o->batch * opts_sharing(o);
    size_t rows = steps > 0 && steps < r->rows->train ? (size_t)steps : r->rows->train;
    size_t chunk = rows_chunk(rows, CHUNKS_PER_EPOCH, CHUNK_LEAST, CHUNK_MOST);

    r->rows->grain =
        (struct grain){.chunk = o->deterministic ? lane_rows(r) : whole_batches(chunk, o->batch),
                       .round = o->batch,
                       .apart = APART,
                       .poll = whole_batches(POLL_ROWS, o->batch),
                       .poll_busy = whole_batches(POLL_BUSY, o->batch),
                       .hot = HOT_FLOATS / (uint32_t)width};
}

/* What ftrl sums up is of one rate, and falls by itself. */
static void set_run(struct run *r, const struct sparse *s)
{
    const struct train_opts *o = r->opts;

    r->lr = r->planned.lr;
    if (o->optimizer == OPTIMIZER_FTRL)
        r->schedule = SHOAL_CONSTANT;
    r->batch = o->batch;
    r->gathers = true; /* what adds up may not be apart for long */
    r->at.best_loss = log(s->rows->classes);
    if (o->checkpoint) /* nobody else asks for it, and it takes a look at every byte */
        r->identity.fingerprint = shoal_clicks_fingerprint(s->data);
}

static shoal_status make_scores(struct sparse *s, bool classes)
{
    if (classes)
        return classes_new(&s->classes, s->rows->classes);
    return binary_new(&s->binary, BINARY_LOGIT, BINARY_KEEP);
}

shoal_status sparse_open(struct run *r)
{
    size_t width = outputs_of(r) * linear_width(r->opts->optimizer);
    struct sparse *s = r->own = mem_array(1, sizeof *s);
    shoal_status st;

    if (!s)
        return SHOAL_ENOMEM;
    s->data = r->data->rows;
    s->rows = clicks_view(s->data);
    set_run(r, s);
    st = hold_out(r);
    cut(r, width);
    linear_init(&s->linear, r->opts, s->rows, r->kernel);
    s->linear.split = r->rows->split;
    if (st == SHOAL_OK)
        st = table_init_packed(&r->rows->tables[SPARSE_WEIGHTS], "weights",
                               (size_t)s->rows->features + 1, width);
    if (st == SHOAL_OK)
        st = table_init_packed(&r->rows->tables[SPARSE_BIAS], "bias", 1, width);
    r->rows->ntables = 2;
    return st == SHOAL_OK ? make_scores(s, model_of(r)->classes) : st;
}

void sparse_close(struct run *r)
{
    struct sparse *s = r->own;

    if (!s)
        return;
    free(s->held_ids);
    binary_free(s->binary);
    classes_free(s->classes);
    free(s);
}

/* ---- what the engine asks of all of them ---- */

bool sparse_traffic(const struct run *r, size_t table, float *out)
{
    const struct sparse *s = r->own;

    for (uint32_t i = 0; table == SPARSE_WEIGHTS && i < s->rows->features; i++)
        out[i] = (float)((double)s->rows->count[i] / (double)s->rows->counted);
    return table == SPARSE_WEIGHTS;
}

size_t sparse_row_bytes(const struct run *r)
{
    return r->rows->tables[SPARSE_WEIGHTS].width * sizeof(float) * 2;
}

/* ---- what was learned ---- */

float sparse_lr(const struct run *r)
{
    return run_lr(r, r->at.place);
}

/* Losses show what diverges, but not the steps behind the last of them. */
static shoal_status check_weights(const float *weights, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(weights[i]))
            return shoal_fail(SHOAL_EINVAL, "train: diverged: a weight is no number any more; "
                              "lower --lr");
    return SHOAL_OK;
}

shoal_status sparse_result(struct run *r, bool last, shoal_model **out)
{
    const struct sparse *s = r->own;
    const struct sparse_model *m = model_of(r);
    size_t n = outputs_of(r), features = s->rows->features;
    float *all = mem_array((features + 1) * n, sizeof *all), lr = sparse_lr(r);
    shoal_logreg *model = NULL;
    shoal_status st = SHOAL_ENOMEM;

    (void)last;
    for (uint32_t i = 0; all && i < features; i++)
        m->weights(&s->linear, &r->rows->tables[SPARSE_WEIGHTS], i, lr, false, all + i * n);
    if (all) {
        m->weights(&s->linear, &r->rows->tables[SPARSE_BIAS], 0, lr, true, all + features * n);
        st = check_weights(all, (features + 1) * n);
    }
    if (st == SHOAL_OK)
        st = logreg_new(&model, s->data, (unsigned)n, all, all + features * n);
    free(all);
    return st == SHOAL_OK ? model_take(out, r->task->kind, model) : st;
}

/* ---- options ---- */

/* From OPTIMIZER_FTRL on. */
const struct shoal_choice sparse_optimizers[] = {
    {"ftrl", "FTRL-Proximal (McMahan et al. 2013)"},
    {"adagrad", "smaller ones where there were many (Duchi et al. 2011)"},
    {"sgd", "plain steps"},
    {0},
};

const struct shoal_option sparse_training_options[] = {
    EPOCHS_OPTION,
    STEPS_OPTION("so many steps of each rank, of --batch rows"),
    BATCH_OPTION(65536, "rows of a step, whose gradients are averaged"),
    LR_OPTION("0.05 for ftrl and adagrad, 0.01 for sgd"),
    LR_SCALING_OPTION,
    SCHEDULE_OPTION("how the rate goes on; that of ftrl falls by itself"),
    DECAY_OPTION,
    {0},
};

const struct shoal_option sparse_held_options[] = {
    VALID_FILE_OPTION("hold these rows out, and report the validation loss, AUC and accuracy"),
    VALID_SHARE_OPTION("the same for this share or percent of the rows"),
    VALID_AT_OPTION,
    {"eval-every", .type = SHOAL_TYPE_COUNT, ON(eval_every), .decides = true, .arg = "N",
     .u = {0, UINT64_MAX}, .help = "rows learned between two evaluations of what is held out",
     .zero = "after each epoch"},
    {"early-stop", .type = SHOAL_TYPE_COUNT, ON(early_stop), .decides = true, .arg = "N",
     .u = {0, 1000000}, .help = "early stopping: after so many evaluations without a better validation loss",
     .zero = "never"},
    {0},
};

void sparse_defaults(struct train_opts *o)
{
    task_common_defaults(o);
    o->batch = o->epochs = 1;
}

shoal_status sparse_check(const shoal_options *o)
{
    const struct train_opts *at = options_values(o);

    if (!(at->beta > 0) && at->optimizer != OPTIMIZER_SGD)
        return shoal_fail(SHOAL_EINVAL, "--beta is 0, want more, or --optimizer sgd");
    return task_file_check(o);
}
