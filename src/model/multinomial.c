/* Logistic regression of many classes on sparse rows. A feature has a packed row of K
 * parameters, its weights for each class and what their optimizer keeps:
 *
 *     z_k = b_k + sum over features j of x_j W_jk      p = softmax(z)
 *     d loss / d W_jk = (p_k - [k = y]) x_j            of class y
 *
 * and each of them moves by the rule of kernel.h, as those of two classes do. */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/* Of a batch it holds the gradients of each feature that its rows have:
 *
 *     place [features]   1 + where among those of the batch; 0: not there
 *     list  [listed]     which those are
 *     sum   [listed][K]  their gradients                                      */
struct multinomial_worker {
    const struct linear_model *l;
    struct view *weights, *bias;
    unsigned classes;
    uint32_t each[SHOAL_CLICKS_CLASSES]; /* 0, 1, ...: a row's parameters, for the kernels */
    uint32_t *place, *list, listed;
    float *sum;
};

static size_t sum_bytes(size_t features, unsigned classes)
{
    return features * classes * sizeof(float);
}

size_t multinomial_worker_bytes(const struct train_opts *o, size_t features, unsigned classes)
{
    return o->batch > 1 ? sum_bytes(features, classes) + features * 2 * sizeof(uint32_t) : 0;
}

shoal_status multinomial_join(struct multinomial_worker **out, const struct linear_model *l,
                              struct view *weights, struct view *bias)
{
    struct multinomial_worker *w = mem_array(1, sizeof *w);
    size_t features = (size_t)l->rows->features + 1;

    *out = w;
    if (!w)
        return SHOAL_ENOMEM;
    w->l = l;
    w->weights = weights;
    w->bias = bias;
    w->classes = l->rows->classes;
    for (uint32_t k = 0; k < w->classes; k++)
        w->each[k] = k;
    if (l->batch == 1)
        return SHOAL_OK;
    w->place = mem_array(features, sizeof *w->place);
    w->list = mem_array(features, sizeof *w->list);
    w->sum = mem_map(sum_bytes(features, w->classes));
    return w->place && w->list && w->sum ? SHOAL_OK : SHOAL_ENOMEM;
}

void multinomial_leave(struct multinomial_worker *w)
{
    if (!w)
        return;
    mem_unmap(w->sum, sum_bytes((size_t)w->l->rows->features + 1, w->classes));
    free(w->place);
    free(w->list);
    free(w);
}

/* ---- rows of parameters ---- */

static float value_of(const struct clicks_view *v, uint64_t i)
{
    return v->value ? v->value[i] : 1;
}

/* One step of a row of parameters along x g, g [K]. */
static void step(struct multinomial_worker *w, struct view *v, uint32_t row,
                 const struct kernel_rule *rule, const float *g, float x)
{
    struct kernel_sparse s = {.at = view_row(v, row), .ids = w->each, .values = g,
                              .n = w->classes};

    w->l->kernel->sparse_step(&s, rule, x);
    if (v->touches)
        view_count(v, row);
}

/* ---- training ---- */

/* Both rules, for features and for the bias. */
struct rules {
    struct kernel_rule rule, plain;
};

/* g [K] becomes the gradient of the row's loss by its scores, times how much it counts; the
 * loss is that before the step. */
static void slopes(struct multinomial_worker *w, uint64_t row, const struct rules *r, float *g,
                   struct sums *done)
{
    const struct clicks_view *v = w->l->rows;
    const struct kernel *k = w->l->kernel;
    float weight = v->weight ? v->weight[row] * w->l->scale : 1;

    memset(g, 0, w->classes * sizeof *g);
    k->sparse_scores(g, view_row(w->bias, 0), w->classes, &r->plain, 1);
    for (uint64_t i = v->start[row]; i < v->start[row + 1]; i++)
        k->sparse_scores(g, view_row(w->weights, v->id[i]), w->classes, &r->rule, value_of(v, i));
    done->loss += net_softmax_row(g, w->classes, v->label[row]) * (double)weight;
    done->predictions++;
    g[v->label[row]] -= 1;
    for (unsigned c = 0; weight != 1 && c < w->classes; c++)
        g[c] *= weight;
}

static void train_row(struct multinomial_worker *w, uint64_t row, const struct rules *r,
                      struct sums *done)
{
    const struct clicks_view *v = w->l->rows;
    float g[SHOAL_CLICKS_CLASSES];

    slopes(w, row, r, g, done);
    for (uint64_t i = v->start[row]; i < v->start[row + 1]; i++)
        step(w, w->weights, v->id[i], &r->rule, g, value_of(v, i));
    step(w, w->bias, 0, &r->plain, g, 1);
    done->rows += v->start[row + 1] - v->start[row] + 1;
}

/* Adds x g to the gradient of a feature. */
static void gather(struct multinomial_worker *w, uint32_t id, const float *g, float x)
{
    float *sum;

    if (w->place[id] == 0) {
        w->list[w->listed++] = id;
        w->place[id] = w->listed;
        memset(w->sum + (size_t)(w->listed - 1) * w->classes, 0, w->classes * sizeof *w->sum);
    }
    sum = w->sum + (size_t)(w->place[id] - 1) * w->classes;
    for (unsigned c = 0; c < w->classes; c++)
        sum[c] += x * g[c];
}

/* The mean gradient of the rows at the weights before, then one step. */
static void train_batch(struct multinomial_worker *w, uint64_t from, uint64_t to,
                        const struct shuffle *order, const struct rules *r, struct sums *done)
{
    const struct clicks_view *v = w->l->rows;
    float g[SHOAL_CLICKS_CLASSES], total[SHOAL_CLICKS_CLASSES] = {0};
    float part = 1.0f / (float)(to - from);
    struct shuffle_walk rows = {.split = &w->l->split, .order = order, .i = from, .end = to};
    size_t row, stop;

    while (shuffle_next(&rows, &row, &stop))
        for (; row < stop; row++) {
            slopes(w, row, r, g, done);
            for (uint64_t i = v->start[row]; i < v->start[row + 1]; i++)
                gather(w, v->id[i], g, value_of(v, i));
            for (unsigned c = 0; c < w->classes; c++)
                total[c] += g[c];
        }
    for (uint32_t i = 0; i < w->listed; i++) {
        step(w, w->weights, w->list[i], &r->rule, w->sum + (size_t)i * w->classes, part);
        w->place[w->list[i]] = 0;
    }
    step(w, w->bias, 0, &r->plain, total, part);
    done->rows += w->listed + 1;
    w->listed = 0;
}

void multinomial_train(struct multinomial_worker *w, uint64_t from, uint64_t to,
                       const struct shuffle *order, float lr, struct sums *done)
{
    struct rules r = {linear_rule(w->l, lr, false), linear_rule(w->l, lr, true)};
    struct sums here = {.examples = to - from};
    struct shuffle_walk rows = {.split = &w->l->split, .order = order, .i = from, .end = to};
    uint64_t batch = w->l->batch;
    size_t one, stop;

    while (batch == 1 && shuffle_next(&rows, &one, &stop))
        for (; one < stop; one++)
            train_row(w, one, &r, &here);
    for (uint64_t row = from; batch > 1 && row < to; row += batch)
        train_batch(w, row, to - row < batch ? to : row + batch, order, &r, &here);
    sums_add(done, &here);
}

/* ---- asking ---- */

void multinomial_weights(const struct linear_model *l, const struct table *t, uint32_t row,
                         float lr, bool bias, float *out)
{
    struct kernel_rule rule = linear_rule(l, lr, bias);

    memset(out, 0, l->rows->classes * sizeof *out);
    l->kernel->sparse_scores(out, t->at + row * t->stride, l->rows->classes, &rule, 1);
}

void multinomial_scores(const struct linear_model *l, const struct table *weights,
                        const struct table *bias, float lr, const struct clicks_view *rows,
                        uint64_t row, float *z)
{
    struct kernel_rule rule = linear_rule(l, lr, false);

    multinomial_weights(l, bias, 0, lr, true, z);
    for (uint64_t i = rows->start[row]; i < rows->start[row + 1]; i++)
        l->kernel->sparse_scores(z, weights->at + rows->id[i] * weights->stride,
                                 l->rows->classes, &rule, value_of(rows, i));
}
