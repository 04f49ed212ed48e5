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
    MANY = 500000,     /* rows: they are learned once */
    RUN_SHIFT = 12,    /* rows are shuffled in runs of a 2^12th of them, */
    RUN_MOST = 256,     /* at most so many rows */
};

/* Changes that workers make apart are added up (table->adds). The sum of a weight that all of them
 * moved overshoots, the further, the more steps each made alone. The rates of adagrad and ftrl fall
 * with the steps, which makes up for it, but slower where a step is the mean of a batch, whose
 * gradient is smaller by its square root; with sgd the number of steps apart is bounded by the rate.
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

/* A part of all rows, which a model goes on with, may be of one label. */
static bool is_part(const struct train_opts *o)
{
    return o->start || o->lenient;
}

static bool has_two_labels(const struct clicks_view *v)
{
    uint64_t i = 1;

    while (i < v->rows && v->label[i] == v->label[0])
        i++;
    return i < v->rows;
}

static shoal_status check_data(const struct run *r)
{
    const struct clicks_view *v = clicks_view(r->data->rows), *held = valid_of(r);

    if (v->rows > 1 && !is_part(r->opts) && !has_two_labels(v))
        return shoal_fail(SHOAL_EINVAL, "train: all %llu rows have the label %s, want two labels or "
                          "more", (unsigned long long)v->rows,
                          shoal_clicks_label(r->data->rows, v->label[0])
                              ? shoal_clicks_label(r->data->rows, v->label[0])
                              : v->label[0] ? "1" : "0");
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
    struct cadence cadence;
    shoal_status st;

    if (!m->classes && v->classes > 2)
        return shoal_fail(SHOAL_EINVAL, "train: found rows of %u classes, want two", v->classes);
    st = opts_check_ranks(o, r->task->is.name);
    if (st == SHOAL_OK)
        st = check_data(r);
    if (st != SHOAL_OK)
        return st;
    cadence = sparse_cadence(o, (struct row_length){0});
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
                       rows_bytes(o, &cadence, tables, 2, NULL) + features * outputs * sizeof(float);
    if (o->deterministic)
        plan->work_bytes += rows_workers(o) * view_bytes(&tables[SPARSE_WEIGHTS], features);
    else
        plan->work_bytes += rows_workers(o) * 2 * HOT_FLOATS * sizeof(float);
    if (valid_of(r))
        plan->work_bytes += valid_of(r)->values * sizeof(uint32_t) + (sizeof(uint32_t) << v->bits);
    if (o->early_stop > 0)
        plan->work_bytes += plan->model_bytes;
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
struct cadence sparse_cadence(const struct train_opts *o, struct row_length length)
{
    unsigned due = DUE_LINEAR, sharing = opts_sharing(o);
    unsigned sweep = SWEEP_LINEAR / sharing / sharing;

    (void)length;
    while (due > 1 && (o->sync.policy == SHOAL_SYNC || due * o->batch > DUE_LINEAR))
        due /= 2;
    sweep = sweep > SWEEP_LINEAR_LEAST ? sweep : SWEEP_LINEAR_LEAST;
    return (struct cadence){.due = due, .sweep = {sweep, sweep, sweep}};
}

/* ---- what is held out ---- */

/* Values are scaled as those that are learned from, whatever they were scaled by. */
static shoal_status scale_held(struct sparse *c, const struct clicks_view *other)
{
    const struct clicks_view *rows = c->rows, *held = &c->held;

    if (!rows->scale && !held->scale)
        return SHOAL_OK;
    c->held_values = mem_array((size_t)held->values + 1, sizeof *c->held_values);
    if (!c->held_values)
        return SHOAL_ENOMEM;
    for (uint64_t i = 0; i < held->values; i++) {
        uint32_t id = c->held_ids[i];
        float x = other->value ? other->value[i] : 1;

        x = held->scale ? x / held->scale[other->id[i]] : x;
        c->held_values[i] = rows->scale && id < rows->features ? x * rows->scale[id] : x;
    }
    c->held.value = c->held_values;
    return SHOAL_OK;
}

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
    return scale_held(c, other);
}

/* And labels by their names. */
static shoal_status map_held_labels(struct sparse *c, const shoal_clicks *other)
{
    uint8_t class[SHOAL_CLICKS_CLASSES];
    bool same = true;

    for (unsigned k = 0; k < c->held.classes; k++) {
        const char *name = shoal_clicks_label(other, k);
        unsigned found = name && shoal_clicks_label(c->data, 0) ? clicks_find_label(c->data, name)
                                                                : k;

        if (found == CLICKS_NO_LABEL && clicks_has_label(other, k))
            return shoal_fail(SHOAL_EINVAL, "train: what is held out has the label \"%.40s\", the "
                              "data has not", name);
        class[k] = (uint8_t)found;
        same &= found == k;
    }
    if (same)
        return SHOAL_OK;
    c->held_labels = mem_array((size_t)c->held.rows + 1, 1);
    for (uint64_t i = 0; c->held_labels && i < c->held.rows; i++)
        c->held_labels[i] = class[c->held.label[i]];
    c->held.label = c->held_labels;
    return c->held_labels ? SHOAL_OK : SHOAL_ENOMEM;
}

static shoal_status hold_out(struct run *r)
{
    struct sparse *c = r->own;
    shoal_status st;

    rows_hold_out(r, (size_t)c->rows->rows, held_share(r), 1);
    c->held = *c->rows;
    c->nheld = r->rows->split.held;
    if (!valid_of(r))
        return SHOAL_OK;
    c->nheld = valid_of(r)->rows;
    st = map_held(c, valid_of(r));
    return st == SHOAL_OK ? map_held_labels(c, r->data->valid_rows) : st;
}

uint64_t sparse_held_row(const struct sparse *s, uint64_t i)
{
    return s->held_ids ? i : split_held(&s->linear.split, (size_t)i);
}

/* ---- opening ---- */

/* Whether labels follow one another as if they had been shuffled: at least half as often as then
 * a row has another label than the one before. */
static bool are_mixed(const struct clicks_view *v)
{
    double share[SHOAL_CLICKS_CLASSES] = {0}, same = 0;
    uint64_t changes = 0;

    for (uint64_t i = 0; i < v->rows; i++)
        share[v->label[i]] += 1.0 / (double)v->rows;
    for (uint64_t i = 1; i < v->rows; i++)
        changes += v->label[i] != v->label[i - 1];
    for (unsigned k = 0; k < SHOAL_CLICKS_CLASSES; k++)
        same += share[k] * share[k];
    return (double)changes >= 0.5 * (1 - same) * (double)v->rows;
}

/* Rows that stay together are few where there are few, and else enough for memory to be read in
 * order. Many rows that are learned once need no other order, unless they stand in that of their
 * labels. */
struct shuffle sparse_order(const struct run *r)
{
    const struct sparse *s = r->own;
    size_t n = r->rows->train, run = n >> RUN_SHIFT;

    if (r->opts->in_order || (s->mixed && r->opts->epochs == 1))
        return (struct shuffle){0};
    return shuffle_make(n, run < 1 ? 1 : run > RUN_MOST ? RUN_MOST : run, r->opts->seed,
                        r->at.epoch);
}

/* Rows of a lane between two meetings: it may not depend on the threads. */
static size_t lane_rows(const struct run *r)
{
    const struct train_opts *o = r->opts;
    double steps = APART_LANES;

    if (o->optimizer == OPTIMIZER_SGD)
        steps = fmin(steps, APART_SGD / (double)(float)r->lr);
    return (size_t)fmax(steps / o->lanes / sqrt((double)o->batch), 1) * o->batch;
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

/* The model to begin with, by --start-from. A run that goes on needs it for features that its rows
 * have not. */
static shoal_status open_start(struct run *r, struct sparse *s)
{
    const char *path = r->opts->start;
    shoal_status st = path ? shoal_model_open(&s->start, path) : SHOAL_OK;

    if (!path || st != SHOAL_OK)
        return st;
    s->before = model_linear(s->start);
    if (!s->before)
        return shoal_fail(SHOAL_EINVAL, "%s: is a model of kind %s, want %s", path,
                          shoal_model_kind(s->start), r->task->is.name);
    return logreg_fits(s->before, path, s->data, (unsigned)outputs_of(r));
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
    s->mixed = s->rows->rows >= MANY && are_mixed(s->rows);
    set_run(r, s);
    st = open_start(r, s);
    if (st == SHOAL_OK)
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
    free(s->held_values);
    free(s->held_labels);
    binary_free(s->binary);
    classes_free(s->classes);
    shoal_model_close(s->start);
    free(s);
}

/* ---- what the engine asks of all of them ---- */

/* How much a row counts. */
static double row_weight(const struct run *r, const struct clicks_view *v, uint64_t row)
{
    double positive = v->label[row] == 1 && !model_of(r)->classes ? r->opts->positive : 1;

    return (v->weight ? (double)v->weight[row] : 1) * positive;
}


/* A model begins with the base rate: its bias says the labels' shares. Otherwise it would take many
 * rows to learn what the labels alone tell, the more, the rarer one of them is. */
/* Weights are of values as they stand in the text; those of rows may be scaled. */
static void start_from_before(struct run *r)
{
    const struct sparse *s = r->own;
    const struct clicks_view *v = s->rows;
    size_t outputs = outputs_of(r), width = linear_width(r->opts->optimizer);
    const struct table *weights = &r->rows->tables[SPARSE_WEIGHTS];
    float lr = (float)r->lr, w[SHOAL_CLICKS_CLASSES], *bias = r->rows->tables[SPARSE_BIAS].at;

    for (uint32_t id = 0; id < v->features; id++) {
        float *row = weights->at + (size_t)id * weights->stride;

        logreg_slot_weights(s->before, v->slot[id], w);
        for (size_t k = 0; k < outputs; k++)
            linear_set(&s->linear, row + k * width, lr, false, v->scale ? w[k] / v->scale[id] : w[k]);
    }
    for (size_t k = 0; k < outputs; k++)
        linear_set(&s->linear, bias + k * width, lr, true, logreg_bias(s->before)[k]);
}

shoal_status sparse_start(struct run *r)
{
    const struct sparse *s = r->own;
    const struct clicks_view *v = s->rows;
    unsigned classes = outputs_of(r) > 1 ? v->classes : 2;
    double share[SHOAL_CLICKS_CLASSES], all = 0;
    size_t width = linear_width(r->opts->optimizer), i = 0, row, stop;
    float *bias = r->rows->tables[SPARSE_BIAS].at;

    if (s->before) {
        start_from_before(r);
        return SHOAL_OK;
    }
    for (unsigned k = 0; k < classes; k++)
        share[k] = 0.5; /* so that none is 0 */
    while (split_next(&s->linear.split, &i, r->rows->train, &row, &stop))
        for (; row < stop; row++)
            share[v->label[row]] += row_weight(r, v, row);
    for (unsigned k = 0; k < classes; k++)
        all += share[k];
    for (unsigned k = 0; outputs_of(r) > 1 && k < classes; k++)
        linear_set(&s->linear, bias + k * width, (float)r->lr, true, (float)log(share[k] / all));
    if (outputs_of(r) == 1)
        linear_set(&s->linear, bias, (float)r->lr, true, (float)log(share[1] / share[0]));
    return SHOAL_OK;
}

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
static bool are_numbers(const float *weights, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(weights[i]))
            return false;
    return true;
}

/* ---- is it any good? ---- */

enum {
    JUDGED = 10000,    /* rows, at most, */
    JUDGED_LEAST = 50, /* and at least: fewer say little */
};
#define WORSE 1.02      /* times the loss of the labels' shares alone; of rows held out, which may be */
#define WORSE_HELD 1.1  /* a little harder than those learned from, so much; and */
#define SURE 3.0        /* so many standard errors above it */

/* The loss of rows, and that of answering all of them with the labels' shares. */
struct judged {
    double share[SHOAL_CLICKS_CLASSES]; /* sums of weights */
    double weight, loss, base, more, squares;
    uint64_t n;
};

/* Row i of `n` that are judged of `all`, of those held out or those learned. */
static uint64_t judged_row(const struct sparse *s, bool held, uint64_t i, uint64_t n, uint64_t all)
{
    uint64_t at = (uint64_t)((unsigned __int128)i * all / n);

    return held ? sparse_held_row(s, at) : split_learned(&s->linear.split, (size_t)at);
}

static struct judged judge_rows(const struct run *r, bool held)
{
    const struct sparse *s = r->own;
    const struct clicks_view *v = held ? &s->held : s->rows;
    uint64_t all = held ? s->nheld : r->rows->train;
    struct judged j = {.n = all < JUDGED ? all : JUDGED};

    for (uint64_t i = 0; i < j.n; i++) {
        uint64_t row = judged_row(s, held, i, j.n, all);
        double w = row_weight(r, v, row);

        j.share[v->label[row]] += w;
        j.weight += w;
    }
    for (uint64_t i = 0; i < j.n && j.weight > 0; i++) {
        uint64_t row = judged_row(s, held, i, j.n, all);
        double w = row_weight(r, v, row), loss = model_of(r)->loss(r, v, row);
        double base = -log(j.share[v->label[row]] / j.weight), more = w * (loss - base);

        j.loss += w * loss / j.weight;
        j.base += w * base / j.weight;
        j.more += more / (double)j.n;
        j.squares += more * more / (double)j.n;
    }
    return j;
}

/* Where all rows have one label, the base rate knows everything. */
static bool is_worse(const struct judged *j, double than)
{
    double spread = sqrt(fmax(j->squares - j->more * j->more, 0) / (double)j->n);

    return j->n >= JUDGED_LEAST && j->base > 0 && !(j->loss <= than * j->base) &&
           !(j->more <= SURE * spread);
}

/* Rows learned from tell whether it learned, others whether it learned them by heart. */
shoal_status sparse_verdict(struct run *r)
{
    const struct sparse *s = r->own;
    struct judged learned = judge_rows(r, false), held = {.n = 0};

    if (is_worse(&learned, WORSE))
        return shoal_fail(SHOAL_EDIVERGE, "train: what was learned is worse than nothing: the "
                          "log-loss is %.4g, that of the labels' shares alone %.4g%s", learned.loss,
                          learned.base, run_advice(r).text);
    if (s->nheld > 0)
        held = judge_rows(r, true);
    if (s->nheld == 0 || !is_worse(&held, WORSE_HELD))
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL, "train: learned its rows by heart: the log-loss of those it "
                      "learned from is %.4g, of those held out %.4g, and that of the labels' shares "
                      "alone %.4g; more rows, --l2 1 or fewer --epochs help", learned.loss, held.loss,
                      held.base);
}

/* A feature that is far larger than the others. */
void sparse_advise(const struct run *r, char *out, size_t cap)
{
    const struct clicks_view *v = clicks_view(r->data->rows);
    double largest = 0, sum = 0;
    uint64_t at = 0, n = v->values < JUDGED * 100 ? v->values : JUDGED * 100;
    const char *name;

    for (uint64_t i = 0; v->value && i < n; i++) {
        double x = fabs((double)v->value[i]);

        sum += x / (double)n;
        at = x > largest ? i : at;
        largest = fmax(largest, x);
    }
    if (!(largest > 100 * sum) && !(sum > 100))
        return;
    name = shoal_clicks_name(r->data->rows, v->id[at]);
    snprintf(out, cap, "; feature %.40s goes up to %.4g: %s brings it to the size of the others",
             name ? name : "?", largest,
             shoal_clicks_columns(r->data->rows) ? "leaving --raw away" : "--scale");
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
        st = are_numbers(all, (features + 1) * n)
                 ? SHOAL_OK
                 : shoal_fail(SHOAL_EDIVERGE, "train: diverged: a weight is no number any more%s",
                              run_advice(r).text);
    }
    if (st == SHOAL_OK)
        st = logreg_new(&model, s->data, (unsigned)n, all, all + features * n,
                        s->before);
    if (st == SHOAL_OK)
        st = logreg_keep_examples(model, clicks_examples(s->data), r->opts->rows.examples);
    free(all);
    if (st != SHOAL_OK)
        logreg_close(model);
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
    EPOCHS_AUTO_OPTION,
    STEPS_OPTION("so many steps of each rank, of --batch rows"),
    BATCH_OPTION(65536, "rows of a step, whose gradients are averaged"),
    LR_OPTION("0.05 for ftrl and adagrad, 0.01 for sgd"),
    LR_SCALING_OPTION,
    SCHEDULE_OPTION("how the rate goes on; that of ftrl falls by itself"),
    DECAY_OPTION,
    SEED_OPTION,
    SHUFFLE_OPTION("take the rows in another order each epoch"),
    {0},
};

const struct shoal_option sparse_held_options[] = {
    VALID_FILE_OPTION("hold these rows out, and report the validation loss, AUC and accuracy"),
    VALID_AUTO_SHARE_OPTION("the same for this share or percent of the rows; auto: a tenth where "
                            "there is early stopping"),
    VALID_AT_OPTION,
    {"eval-every", .type = SHOAL_TYPE_COUNT, ON(eval_every), .decides = true, .arg = "N",
     .u = {0, UINT64_MAX}, .help = "rows learned between two evaluations of what is held out",
     .zero = "after each epoch"},
    EARLY_STOP_OPTION,
    {0},
};

void sparse_defaults(struct train_opts *o)
{
    task_common_defaults(o);
    o->batch = 1;
    o->epochs = 0;
    o->valid = AUTO_REAL;
    o->early_stop = AUTO_COUNT;
}

enum {
    VISITS = 2500000, /* rows of all epochs together, but one epoch of MANY rows: more rows say */
    EPOCHS_MOST = 500, /* more than the same again */
};

/* Measured in docs/notes/logreg.md. */
void sparse_settle(struct train_opts *o, const struct shoal_sources *data)
{
    uint64_t rows = data->rows ? clicks_view(data->rows)->rows : 0;
    bool chosen = o->epochs == 0 && o->steps == 0;

    if (chosen)
        o->epochs = rows < MANY ? settle_epochs(rows, VISITS, EPOCHS_MOST) : 1;
    settle_early_stop(o, data, rows, chosen);
}

shoal_status sparse_check(const shoal_options *o)
{
    const struct train_opts *at = options_values(o);

    if (!(at->beta > 0) && at->optimizer != OPTIMIZER_SGD)
        return shoal_fail(SHOAL_EINVAL, "--beta is 0, want more, or --optimizer sgd");
    return task_file_check(o);
}
