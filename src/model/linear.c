/* Logistic regression on sparse rows, row by row or in batches. */
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE = 64,        /* bytes of a cache line */
    AHEAD = 4,        /* rows between the prefetch of a row's weights and its use */
    MARGINS = 128,    /* whose losses are computed together */
    NEAR = 1 << 20,   /* bytes of weights that the nearest caches hold anyway */
};

/* One worker. Of a batch it holds the gradient of each feature that its rows have:
 *
 *     sum [features]   as far as stamp [features] says this batch
 *     list [listed]    which those are                                             */
struct linear_worker {
    const struct linear_model *l;
    struct view *weights, *bias;
    float *sum;
    uint32_t *stamp, *list, batch, listed;
    float *values;    /* [features] of the list */
    uint32_t *places; /* [room] of a row's features in a private view */
    size_t room;
    float margin[MARGINS], weight[MARGINS];
    size_t margins;
};

/* ---- opening ---- */

void linear_init(struct linear_model *l, const struct train_opts *o,
                 const struct clicks_view *rows, const struct kernel *kernel)
{
    double weight = 0;

    *l = (struct linear_model){.kernel = kernel, .rows = rows, .batch = o->batch,
                         .positive = (float)o->positive, .scale = 1};
    l->rule = (struct kernel_rule){.l1 = (float)o->l1, .l2 = (float)o->l2,
                                   .beta = (float)o->beta};
    l->rule.kind = o->optimizer == OPTIMIZER_SGD       ? KERNEL_SGD
                   : o->optimizer == OPTIMIZER_ADAGRAD ? KERNEL_ADAGRAD
                                                       : KERNEL_FTRL;
    for (uint64_t r = 0; rows->weight && r < rows->rows; r++)
        weight += (double)rows->weight[r];
    if (weight > 0)
        l->scale = (float)((double)rows->rows / weight);
}

struct kernel_rule linear_rule(const struct linear_model *l, float lr, bool bias)
{
    struct kernel_rule rule = l->rule;

    rule.lr = lr;
    if (bias)
        rule.l1 = rule.l2 = 0;
    return rule;
}

size_t linear_width(enum shoal_optimizer optimizer)
{
    return optimizer == OPTIMIZER_SGD ? 1 : 2;
}

size_t linear_worker_bytes(const struct train_opts *o, size_t features)
{
    return o->batch > 1 ? features * (2 * sizeof(float) + 2 * sizeof(uint32_t)) : 0;
}

static size_t longest_row(const struct clicks_view *rows)
{
    uint64_t most = 1;

    for (uint64_t r = 0; r < rows->rows; r++)
        most = rows->start[r + 1] - rows->start[r] > most ? rows->start[r + 1] - rows->start[r]
                                                          : most;
    return (size_t)most;
}

shoal_status linear_join(struct linear_worker **out, const struct linear_model *l, struct view *weights,
                         struct view *bias)
{
    struct linear_worker *w = mem_array(1, sizeof *w);
    size_t features = (size_t)l->rows->features + 1;
    bool ok = w != NULL;

    *out = w;
    if (!ok)
        return SHOAL_ENOMEM;
    w->l = l;
    w->weights = weights;
    w->bias = bias;
    if (weights->slot) {
        w->room = longest_row(l->rows);
        if (l->batch > 1)
            w->room = w->room > features ? w->room : features;
        ok = (w->places = mem_array(w->room, sizeof *w->places)) != NULL;
    }
    if (ok && l->batch > 1) {
        w->sum = mem_array(features, sizeof *w->sum);
        w->values = mem_array(features, sizeof *w->values);
        w->stamp = mem_array(features, sizeof *w->stamp);
        w->list = mem_array(features, sizeof *w->list);
        ok = w->sum && w->values && w->stamp && w->list;
    }
    return ok ? SHOAL_OK : SHOAL_ENOMEM;
}

void linear_leave(struct linear_worker *w)
{
    if (!w)
        return;
    free(w->sum);
    free(w->values);
    free(w->stamp);
    free(w->list);
    free(w->places);
    free(w);
}

/* ---- rows of parameters ---- */

/* A private view's rows stand in the order of their touch. */
static struct kernel_sparse sparse_of(struct view *v, uint32_t *places, const uint32_t *ids,
                                      const float *values, size_t n)
{
    if (!v->slot)
        return (struct kernel_sparse){.at = v->at, .mine = v->mine, .hot = v->hot, .ids = ids,
                                      .values = values, .n = n};
    for (size_t i = 0; i < n; i++) {
        view_row(v, ids[i]);
        places[i] = v->slot[ids[i]] - 1;
    }
    return (struct kernel_sparse){.at = v->mine, .ids = places, .values = values, .n = n};
}

static struct kernel_sparse row_of(struct linear_worker *w, uint64_t row)
{
    const struct clicks_view *v = w->l->rows;
    uint64_t at = v->start[row];

    return sparse_of(w->weights, w->places, v->id + at, v->value ? v->value + at : NULL,
                     (size_t)(v->start[row + 1] - at));
}

static struct kernel_sparse bias_of(struct linear_worker *w, uint32_t *place)
{
    static const uint32_t first = 0;

    return sparse_of(w->bias, place, &first, NULL, 1);
}

static void count_touches(struct view *v, const uint32_t *ids, size_t n)
{
    for (size_t i = 0; v->touches && i < n; i++)
        view_count(v, ids[i]);
}

static void fetch_row(const struct linear_worker *w, uint64_t row)
{
    const struct clicks_view *v = w->l->rows;
    const struct view *t = w->weights;

    for (uint64_t i = v->start[row]; i < v->start[row + 1]; i++)
        __builtin_prefetch(t->at + v->id[i] * t->stride, 1);
}

/* Rows of another place in memory, soon to be learned: nothing follows them there by itself. */
static void fetch_run(const struct linear_worker *w, uint64_t from, uint64_t to)
{
    const struct clicks_view *v = w->l->rows;
    uint64_t at = v->start[from], end = v->start[to];

    for (uint64_t i = at; i < end; i += LINE / sizeof *v->id)
        __builtin_prefetch(v->id + i, 0, 2);
    for (uint64_t i = at; v->value && i < end; i += LINE / sizeof *v->value)
        __builtin_prefetch(v->value + i, 0, 2);
    __builtin_prefetch(v->label + from, 0, 2);
}

/* ---- the loss ---- */

static void add_losses(struct linear_worker *w, struct sums *done)
{
    w->l->kernel->logsigmoid(w->margin, w->margin, w->margins);
    for (size_t i = 0; i < w->margins; i++)
        done->loss -= (double)w->margin[i] * (double)w->weight[i];
    done->predictions += w->margins;
    w->margins = 0;
}

/* Of class `label` with this margin; before the step, so that it is what a row that
 * was never seen costs. */
static void note_loss(struct linear_worker *w, float margin, bool label, float weight,
                      struct sums *done)
{
    w->margin[w->margins] = label ? margin : -margin;
    w->weight[w->margins++] = weight;
    if (w->margins == MARGINS)
        add_losses(w, done);
}

/* ---- training ---- */

/* d loss / d margin of a row, times how much the row counts. */
static float slope(struct linear_worker *w, uint64_t row, float margin, struct sums *done)
{
    const struct clicks_view *v = w->l->rows;
    bool label = v->label[row];
    float weight = v->weight ? v->weight[row] * w->l->scale : 1;
    float p = 1.0f / (1.0f + expf(-margin));

    note_loss(w, margin, label, weight, done);
    return (p - (float)label) * weight * (label ? w->l->positive : 1);
}

/* In a private view, whose rows stand where their first touch put them. */
static void train_private(struct linear_worker *w, uint64_t from, uint64_t to,
                          const struct kernel_rule *rule, struct sums *done)
{
    const struct kernel *k = w->l->kernel;
    struct kernel_rule plain = linear_rule(w->l, rule->lr, true);
    uint32_t place;

    for (uint64_t row = from; row < to; row++) {
        struct kernel_sparse x = row_of(w, row), b = bias_of(w, &place);
        float g = slope(w, row, k->sparse_dot(&x, rule) + k->sparse_dot(&b, &plain), done);

        k->sparse_step(&x, rule, g);
        k->sparse_step(&b, &plain, g);
        done->rows += x.n + 1;
    }
}

static void note_losses(struct linear_worker *w, uint64_t from, size_t n, struct sums *done)
{
    const struct clicks_view *v = w->l->rows;

    for (size_t i = 0; i < n; i++) {
        w->margin[i] = v->label[from + i] ? w->margin[i] : -w->margin[i];
        w->weight[i] = v->weight ? v->weight[from + i] * w->l->scale : 1;
    }
    w->margins = n;
    add_losses(w, done);
}

static void train_rows(struct linear_worker *w, uint64_t from, uint64_t to,
                       const struct kernel_rule *rule, struct sums *done)
{
    const struct linear_model *l = w->l;
    const struct clicks_view *v = l->rows;
    const struct view *t = w->weights;
    struct kernel_rows rows = {.at = t->at, .mine = t->mine, .hot = t->hot, .ids = v->id,
                               .bias = w->bias->hot ? w->bias->mine : w->bias->at,
                               .values = v->value, .scale = l->scale, .positive = l->positive,
                               .margin = w->margin};

    rows.ahead = t->table->rows * t->stride * sizeof(float) > NEAR ? AHEAD : 0;
    for (uint64_t row = from; row < to; row += rows.n) {
        rows.n = to - row < MARGINS ? (size_t)(to - row) : MARGINS;
        rows.start = v->start + row;
        rows.label = v->label + row;
        rows.weight = v->weight ? v->weight + row : NULL;
        l->kernel->sparse_learn(&rows, rule);
        note_losses(w, row, rows.n, done);
    }
    count_touches(w->weights, v->id + v->start[from], (size_t)(v->start[to] - v->start[from]));
    for (uint64_t row = from; row < to && w->bias->touches; row++)
        view_count(w->bias, 0);
    done->rows += v->start[to] - v->start[from] + to - from;
}

static void gather(struct linear_worker *w, const struct clicks_view *v, uint64_t row, float g)
{
    for (uint64_t i = v->start[row]; i < v->start[row + 1]; i++) {
        uint32_t id = v->id[i];

        if (w->stamp[id] != w->batch) {
            w->stamp[id] = w->batch;
            w->sum[id] = 0;
            w->list[w->listed++] = id;
        }
        w->sum[id] += v->value ? g * v->value[i] : g;
    }
}

/* The mean gradient of the rows at the weights before, then one step. */
static void train_batch(struct linear_worker *w, uint64_t from, uint64_t to,
                        const struct shuffle *order, const struct kernel_rule *rule,
                        struct sums *done)
{
    const struct kernel *k = w->l->kernel;
    struct kernel_rule plain = linear_rule(w->l, rule->lr, true);
    struct kernel_sparse x, b;
    float each = 1.0f / (float)(to - from), total = 0;
    struct shuffle_walk rows = {.split = &w->l->split, .order = order, .i = from, .end = to};
    size_t row, stop;
    uint32_t place;

    w->batch++;
    w->listed = 0;
    while (shuffle_next(&rows, &row, &stop))
        for (; row < stop; row++) {
            float g;

            x = row_of(w, row);
            b = bias_of(w, &place);
            g = slope(w, row, k->sparse_dot(&x, rule) + k->sparse_dot(&b, &plain), done);
            if (row + AHEAD < stop && !w->weights->slot)
                fetch_row(w, row + AHEAD);
            gather(w, w->l->rows, row, g);
            total += g;
        }
    for (uint32_t at = 0; at < w->listed; at++)
        w->values[at] = w->sum[w->list[at]];
    x = sparse_of(w->weights, w->places, w->list, w->values, w->listed);
    b = bias_of(w, &place);
    k->sparse_step(&x, rule, each);
    k->sparse_step(&b, &plain, each * total);
    count_touches(w->weights, w->list, w->listed);
    count_touches(w->bias, b.ids, 1);
    done->rows += w->listed + 1;
}

void linear_train(struct linear_worker *w, uint64_t from, uint64_t to,
                  const struct shuffle *order, float lr, struct sums *done)
{
    struct kernel_rule rule = linear_rule(w->l, lr, false);
    struct sums here = {.examples = to - from}; /* no cache line is shared with other workers */
    struct shuffle_walk rows = {.split = &w->l->split, .order = order, .i = from, .end = to};
    uint64_t batch = w->l->batch;
    size_t first, stop, next, next_stop;
    bool more = batch == 1 && shuffle_next(&rows, &next, &next_stop);

    while (more) {
        first = next;
        stop = next_stop;
        more = shuffle_next(&rows, &next, &next_stop);
        if (more)
            fetch_run(w, next, next_stop);
        (w->weights->slot ? train_private : train_rows)(w, first, stop, &rule, &here);
    }
    for (uint64_t row = from; batch > 1 && row < to; row += batch)
        train_batch(w, row, to - row < batch ? to : row + batch, order, &rule, &here);
    add_losses(w, &here);
    sums_add(done, &here);
}

void linear_set(const struct linear_model *l, float *row, float lr, bool bias, float weight)
{
    struct kernel_rule rule = linear_rule(l, lr, bias);

    row[0] = weight;
    if (rule.kind == KERNEL_FTRL && weight != 0) /* z, by which the weight is that at n = 0 */
        row[0] = -copysignf(fabsf(weight) * rule.beta / lr + fabsf(weight) * rule.l2 + rule.l1, weight);
}

/* ---- asking ---- */

float linear_weight(const struct linear_model *l, const struct table *t, uint32_t row, float lr,
                    bool bias)
{
    struct kernel_sparse s = {.at = t->at, .ids = &row, .n = 1};
    struct kernel_rule rule = linear_rule(l, lr, bias);

    return l->kernel->sparse_dot(&s, &rule);
}

float linear_margin(const struct linear_model *l, const struct table *weights, const struct table *bias,
                    float lr, const struct clicks_view *rows, uint64_t row)
{
    uint64_t at = rows->start[row];
    struct kernel_sparse x = {.at = weights->at, .ids = rows->id + at,
                              .values = rows->value ? rows->value + at : NULL,
                              .n = (size_t)(rows->start[row + 1] - at)};
    struct kernel_rule rule = linear_rule(l, lr, false);

    return l->kernel->sparse_dot(&x, &rule) + linear_weight(l, bias, 0, lr, true);
}
