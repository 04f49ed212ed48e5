/* Questions that name words: those that are known, and with subwords any others. */
#include "saved/vectors/vectors.h"

#include <stdlib.h>

/* The words of a question as rows: of those that are not known, rows that are made. */
struct named {
    struct rows rows;
    uint32_t *ids; /* [n] */
    struct table made;
};

static void named_fini(struct named *q)
{
    free(q->ids);
    table_fini(&q->made);
}

/* Finds those that are known; gives how many are not. */
static size_t find_known(struct named *q, const shoal_vectors *v, const char *const *words,
                         size_t n, bool *known)
{
    size_t unknown = 0;

    for (size_t i = 0; i < n; i++) {
        q->ids[i] = shoal_vectors_find(v, words[i], strlen(words[i]));
        unknown += q->ids[i] == SHOAL_NO_ID;
        if (known)
            known[i] = q->ids[i] != SHOAL_NO_ID;
    }
    return unknown;
}

static shoal_status compose_others(struct named *q, const shoal_vectors *v,
                                   const char *const *words, size_t n)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        if (q->ids[i] != SHOAL_NO_ID)
            continue;
        st = shoal_vectors_compose(v, words[i], strlen(words[i]),
                                   q->made.at + q->rows.nmade * q->made.stride, NULL);
        q->ids[i] = (uint32_t)(q->rows.n + q->rows.nmade++);
    }
    q->rows.made = q->made.at;
    return st;
}

/* named_fini may follow a failure too. */
static shoal_status named_make(struct named *q, const shoal_vectors *v, const char *const *words,
                               size_t n, bool *known)
{
    size_t unknown;
    shoal_status st;

    *q = (struct named){.ids = mem_array(n, sizeof *q->ids)};
    st = q->ids ? vectors_rows(&q->rows, v) : SHOAL_ENOMEM;
    if (st != SHOAL_OK)
        return st;
    unknown = find_known(q, v, words, n, known);
    if (unknown > 0)
        st = table_init(&q->made, "words", unknown, v->dim);
    return st == SHOAL_OK ? compose_others(q, v, words, n) : st;
}

/* ---- questions ---- */

/* query [stride] = the sum of the rows, each of length 1. */
static void sum_units(const struct named *q, size_t n, float *query, float *unit)
{
    for (size_t i = 0; i < n; i++) {
        rows_unit(&q->rows, q->ids[i], unit);
        for (size_t j = 0; j < q->rows.dim; j++)
            query[j] += unit[j];
    }
}

shoal_status shoal_nearest_words(const shoal_vectors *v, const char *const *words, size_t n,
                                 bool *known, unsigned threads, struct shoal_hit *hits, size_t k,
                                 size_t *found)
{
    struct table room = {0};
    struct named q;
    shoal_status st = named_make(&q, v, words, n, known);

    *found = 0;
    if (st == SHOAL_OK)
        st = table_init(&room, "query", 2, v->dim);
    if (st == SHOAL_OK) {
        sum_units(&q, n, room.at, room.at + room.stride);
        st = nearest_to(&q.rows, room.at, q.ids, n, threads, hits, k, found);
    }
    table_fini(&room);
    named_fini(&q);
    return st;
}

shoal_status shoal_analogy_words(const shoal_vectors *v, const char *const *abc, bool *known,
                                 enum shoal_analogy how, unsigned threads, struct shoal_hit *hits,
                                 size_t k, size_t *found)
{
    struct named q;
    shoal_status st = named_make(&q, v, abc, 3, known);

    *found = 0;
    if (st == SHOAL_OK)
        st = nearest_analogy(&q.rows, q.ids, how, threads, hits, k, found);
    named_fini(&q);
    return st;
}

/* ---- the same by an index ---- */

static shoal_status check_index(const shoal_hnsw *x, const shoal_vectors *v)
{
    if (x->view.n != v->size || x->view.dim != v->dim)
        return shoal_fail(SHOAL_EINVAL, "index: is of %zu words and %zu numbers, found vectors of "
                          "%zu and %zu, want its own", x->view.n, x->view.dim, v->size, v->dim);
    return SHOAL_OK;
}

/* What is searched for into room [3][stride]: the first becomes a unit row. */
typedef shoal_status (*direction_fn)(const struct named *q, size_t n, float *room);

static shoal_status ask_index(const shoal_hnsw *x, const shoal_vectors *v, direction_fn direction,
                              const char *const *words, size_t n, bool *known, size_t ef,
                              struct shoal_hit *hits, size_t k, size_t *found)
{
    float *room = aligned_alloc(64, table_bytes(3, v->dim));
    struct named q = {0};
    shoal_status st = room ? check_index(x, v) : shoal_fail(SHOAL_ENOMEM, "memory: no room for rows");

    *found = 0;
    if (st == SHOAL_OK)
        st = named_make(&q, v, words, n, known);
    if (st == SHOAL_OK)
        st = direction(&q, n, room);
    if (st == SHOAL_OK)
        st = graph_nearest(x, room, q.ids, n, NULL, ef, hits, k, found);
    named_fini(&q);
    free(room);
    return st;
}

static shoal_status mean_direction(const struct named *q, size_t n, float *room)
{
    size_t stride = table_stride(q->rows.dim);

    memset(room, 0, stride * sizeof *room);
    sum_units(q, n, room, room + stride);
    if (!vector_normalize(room, q->rows.dim))
        return shoal_fail(SHOAL_EINVAL, "nearest: the query is zero or not finite, "
                                        "want a direction");
    return SHOAL_OK;
}

static shoal_status analogy_direction(const struct named *q, size_t n, float *room)
{
    return nearest_direction(&q->rows, q->ids, n, room);
}

shoal_status shoal_hnsw_nearest_words(const shoal_hnsw *x, const shoal_vectors *v,
                                      const char *const *words, size_t n, bool *known, size_t ef,
                                      struct shoal_hit *hits, size_t k, size_t *found)
{
    return ask_index(x, v, mean_direction, words, n, known, ef, hits, k, found);
}

shoal_status shoal_hnsw_analogy_words(const shoal_hnsw *x, const shoal_vectors *v,
                                      const char *const *abc, bool *known, size_t ef,
                                      struct shoal_hit *hits, size_t k, size_t *found)
{
    return ask_index(x, v, analogy_direction, abc, 3, known, ef, hits, k, found);
}

/* ---- few words ---- */

shoal_status shoal_cosine_words(const shoal_vectors *v, const char *const *ab, bool *known,
                                double *out)
{
    struct named q;
    shoal_status st = named_make(&q, v, ab, 2, known);

    *out = 0;
    if (st == SHOAL_OK)
        st = nearest_cosine(&q.rows, q.ids[0], q.ids[1], out);
    named_fini(&q);
    return st;
}

shoal_status shoal_odd_words(const shoal_vectors *v, const char *const *words, size_t n,
                             bool *known, size_t *odd)
{
    struct named q;
    shoal_status st = named_make(&q, v, words, n, known);

    *odd = 0;
    if (st == SHOAL_OK)
        st = nearest_odd(&q.rows, q.ids, n, odd);
    named_fini(&q);
    return st;
}
