/* Vectors that are asked by an index of links: eval answers, over the index's own rows. */
#include "saved/vectors/vectors.h"

#include <math.h>
#include <stdlib.h>

shoal_status shoal_hnsw_there(void)
{
    return hnsw_there();
}

void shoal_hnsw_free(shoal_hnsw *x)
{
    graph_free(x);
}

shoal_status shoal_hnsw_new(shoal_hnsw **out, const shoal_vectors *v,
                            const struct shoal_hnsw_opts *opts)
{
    struct rows rows;
    shoal_status st = vectors_rows(&rows, v);

    *out = NULL;
    return st == SHOAL_OK ? graph_new(out, &rows, opts) : st;
}

shoal_status shoal_hnsw_open(shoal_hnsw **out, const shoal_vectors *v, const char *path)
{
    struct rows rows;
    shoal_status st = vectors_rows(&rows, v);

    *out = NULL;
    return st == SHOAL_OK ? graph_open(out, &rows, path) : st;
}

shoal_status shoal_hnsw_save(const shoal_hnsw *x, const char *path)
{
    return graph_save(x, path);
}

/* ---- rows in memory ---- */

/* A padded copy: `rows` are such everywhere else. */
static shoal_status rows_copy(struct table *t, struct rows *out, const struct shoal_matrix *m)
{
    shoal_status st = SHOAL_OK;

    *t = (struct table){0};
    if (!m->data || m->rows == 0 || m->dim == 0 || m->dim > KERNEL_MAX_DIM || m->stride < m->dim)
        return shoal_fail(SHOAL_EINVAL, "index: found %zu rows of %zu numbers, want 1 to %d of 1 "
                          "to %d", m->rows, m->dim, INT32_MAX, KERNEL_MAX_DIM);
    st = table_init(t, "rows", m->rows, m->dim);
    for (size_t i = 0; i < m->rows && st == SHOAL_OK; i++) {
        const float *row = m->data + i * m->stride;

        memcpy(t->at + i * t->stride, row, m->dim * sizeof *row);
        if (!isfinite(vector_dot(row, row, m->dim)))
            st = shoal_fail(SHOAL_EINVAL, "index: row %zu holds a NaN or an infinity, want finite "
                            "numbers", i);
    }
    return st == SHOAL_OK ? rows_of_table(out, t) : st;
}

shoal_status shoal_hnsw_new_rows(shoal_hnsw **out, const struct shoal_matrix *rows,
                                 const struct shoal_hnsw_opts *opts)
{
    struct table copy;
    struct rows r;
    shoal_status st = rows_copy(&copy, &r, rows);

    *out = NULL;
    if (st == SHOAL_OK)
        st = graph_new(out, &r, opts);
    table_fini(&copy);
    return st;
}

shoal_status shoal_hnsw_open_rows(shoal_hnsw **out, const struct shoal_matrix *rows,
                                  const char *path)
{
    struct table copy;
    struct rows r;
    shoal_status st = rows_copy(&copy, &r, rows);

    *out = NULL;
    if (st == SHOAL_OK)
        st = graph_open(out, &r, path);
    table_fini(&copy);
    return st;
}

/* ---- what it is ---- */

struct shoal_hnsw_facts shoal_hnsw_facts(const shoal_hnsw *x)
{
    const struct hnsw_view *v = &x->view;
    struct shoal_hnsw_facts f = {.size = v->n, .dim = v->dim, .m = v->m,
                                 .ef_construction = x->ef_construction, .ef = x->ef,
                                 .seed = x->seed, .levels = x->top + 1,
                                 .bytes = v->n * (v->element + sizeof *v->lists + 1) +
                                          x->upper_bytes};

    for (uint32_t i = 0; i < v->n; i++)
        for (unsigned l = 0; l <= x->levels[i]; l++)
            f.links += graph_list(x, i, l)[0];
    return f;
}

shoal_status shoal_hnsw_measure(const shoal_hnsw *x, const shoal_vectors *v, size_t ef,
                                size_t questions, unsigned threads, struct shoal_hnsw_recall *out)
{
    struct rows rows;
    shoal_status st = vectors_rows(&rows, v);

    *out = (struct shoal_hnsw_recall){0};
    return st == SHOAL_OK ? graph_measure(x, &rows, ef, questions, threads, out) : st;
}

/* ---- asking ---- */

shoal_status shoal_hnsw_nearest(const shoal_hnsw *x, const float *query, const uint32_t *skip,
                                size_t nskip, size_t ef, struct shoal_hit *hits, size_t k,
                                size_t *found)
{
    /* Not a table: its mapping would take as long as the answer. */
    float *unit = aligned_alloc(64, table_bytes(1, x->view.dim));
    shoal_status st;

    *found = 0;
    if (!unit)
        return shoal_fail(SHOAL_ENOMEM, "memory: no room for a row");
    memcpy(unit, query, x->view.dim * sizeof *query);
    if (vector_normalize(unit, x->view.dim))
        st = graph_nearest(x, unit, skip, nskip, NULL, ef, hits, k, found);
    else
        st = shoal_fail(SHOAL_EINVAL,
                        "index: the query is zero or not finite, want a direction");
    free(unit);
    return st;
}
