/* Click models asked about rows that lie in memory as numbers, and what their weights are. */
#include "saved/linear/logreg.h"

#include <string.h>

size_t shoal_linear_outputs(const shoal_model *model)
{
    const shoal_logreg *m = model_linear(model);

    return m ? m->outputs : 0;
}

const char *shoal_linear_label(const shoal_model *model, size_t k)
{
    const shoal_logreg *m = model_linear(model);

    return m && k < SHOAL_CLICKS_CLASSES ? logreg_label(m, (unsigned)k) : NULL;
}

/* Columns have numbers, as features of libsvm alone do. */
static shoal_status numbered(const shoal_logreg **out, const shoal_model *model)
{
    const shoal_logreg *m = *out = model_linear(model);

    if (!m)
        return shoal_fail(SHOAL_EINVAL, "rows: found a model of kind %s, want a linear one",
                          shoal_model_kind(model));
    if (m->reading.opts.format != SHOAL_CLICKS_LIBSVM)
        return shoal_fail(SHOAL_EINVAL,
                          "rows: found a model of rows of %s, want one of numbered columns",
                          shoal_clicks_format_name(m->reading.opts.format));
    return SHOAL_OK;
}

static void add_column(const shoal_logreg *m, uint64_t column, double value, double *z)
{
    uint32_t slot = click_index_slot(&m->reading.opts, column);

    if (slot != CLICKS_NO_SLOT)
        logreg_add_feature(m, slot, value, z);
}

struct asking {
    const shoal_logreg *model;
    const struct shoal_rows *x;
    unsigned threads;
    double *z;
};

static void score_row(const struct asking *a, uint64_t r)
{
    double *z = a->z + r * a->model->outputs;
    uint64_t from, to;

    logreg_scores(a->model, NULL, NULL, 0, z);
    rows_span(a->x, r, &from, &to);
    for (uint64_t i = from; i < to; i++)
        add_column(a->model, a->x->start ? rows_column(a->x, i) : i - from,
                   (double)rows_value(a->x, i), z);
}

static shoal_status score_part(void *ctx, unsigned index)
{
    const struct asking *a = ctx;
    uint64_t from = a->x->rows * index / a->threads, to = a->x->rows * (index + 1) / a->threads;

    for (uint64_t r = from; r < to; r++)
        score_row(a, r);
    return SHOAL_OK;
}

enum { ROWS_OF_A_THREAD = 256 }; /* below, another thread costs more than it does */

shoal_status shoal_linear_scores(const shoal_model *model, const struct shoal_rows *x,
                                 unsigned threads, double *z)
{
    struct asking a = {.x = x, .threads = pool_threads(threads), .z = z};
    shoal_status st = numbered(&a.model, model);

    if (st == SHOAL_OK)
        st = rows_check(x);
    if (st != SHOAL_OK || x->rows == 0)
        return st;
    while (a.threads > 1 && x->rows / a.threads < ROWS_OF_A_THREAD)
        a.threads--;
    return pool_run(a.threads, score_part, &a);
}

shoal_status shoal_linear_weights(const shoal_model *model, size_t columns, float *weight,
                                  float *bias)
{
    double z[SHOAL_CLICKS_CLASSES];
    const shoal_logreg *m;
    shoal_status st = numbered(&m, model);

    if (st != SHOAL_OK)
        return st;
    memcpy(bias, m->bias, m->outputs * sizeof *bias);
    for (size_t i = 0; i < columns; i++) {
        for (unsigned k = 0; k < m->outputs; k++)
            z[k] = 0;
        add_column(m, i, 1, z);
        for (unsigned k = 0; k < m->outputs; k++)
            weight[k * columns + i] = (float)z[k];
    }
    return SHOAL_OK;
}
