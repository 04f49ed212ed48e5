/* The rows nearest to a question, and what else is asked of a few words. One
 * pass over all rows: at a few operations for each byte read, it is memory that
 * sets the pace, so the rows' lengths are computed on the way, not kept. */
#include "eval/eval.h"
#include "eval/rows.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Levy and Goldberg (2014), equation 4. */
#define COSMUL_SLACK 0.001f

/* A block's floats are widened, measured and multiplied in the first cache. */
#define BLOCK_FLOATS ((size_t)6 << 10)
/* Blocks that a thread takes at a time: about a megabyte of floats. */
#define TURN 48u
#define MAX_IN 3

/* ---- the best k ------------------------------------------------------------------ */

/* A heap whose root is the worst, so that most rows cost one comparison. */
struct top {
    struct shoal_hit *at; /* [k] */
    size_t n, k;
};

/* Total: equal scores are ordered by id, so that the result does not depend on
 * who met them first. */
static bool better(struct shoal_hit x, struct shoal_hit y)
{
    return x.score > y.score || (x.score == y.score && x.id < y.id);
}

static int by_rank(const void *a, const void *b)
{
    const struct shoal_hit *x = a, *y = b;

    return better(*x, *y) ? -1 : better(*y, *x);
}

static void sift_up(struct top *t, size_t i)
{
    while (i > 0 && better(t->at[(i - 1) / 2], t->at[i])) {
        struct shoal_hit hit = t->at[i];

        t->at[i] = t->at[(i - 1) / 2];
        t->at[(i - 1) / 2] = hit;
        i = (i - 1) / 2;
    }
}

static void sift_down(struct top *t)
{
    struct shoal_hit hit = t->at[0];
    size_t i = 0, child;

    while ((child = 2 * i + 1) < t->n) {
        if (child + 1 < t->n && better(t->at[child], t->at[child + 1]))
            child++;
        if (better(t->at[child], hit))
            break;
        t->at[i] = t->at[child];
        i = child;
    }
    t->at[i] = hit;
}

static bool top_wants(const struct top *t, struct shoal_hit hit)
{
    return t->n < t->k ? !isnan(hit.score) : better(hit, t->at[0]);
}

static void top_add(struct top *t, struct shoal_hit hit)
{
    if (t->n < t->k) {
        t->at[t->n++] = hit;
        sift_up(t, t->n - 1);
    } else {
        t->at[0] = hit;
        sift_down(t);
    }
}

/* ---- the pass -------------------------------------------------------------------- */

struct search {
    const struct rows *rows;
    const float *in[MAX_IN]; /* one: the cosine; three: 3CosMul of a, b and c */
    size_t m;
    const uint32_t *skip;
    size_t nskip;
    struct top *tops; /* [threads] */
    size_t most, blocks; /* rows of a block; blocks */
    atomic_size_t next;
};

static bool skipped(const struct search *s, uint32_t id)
{
    for (size_t i = 0; i < s->nskip; i++)
        if (s->skip[i] == id)
            return true;
    return false;
}

static float cosmul(float a, float b, float c)
{
    return (1 + b) / 2 * ((1 + c) / 2) / ((1 + a) / 2 + COSMUL_SLACK);
}

static void search_block(const struct search *s, const struct block_reader *b, struct top *top)
{
    enum { PITCH = ROWS_BLOCK + 8 };
    float x[MAX_IN][PITCH];

    s->rows->kernel->dots(x[0], PITCH, s->in, s->m, b->at, b->stride, b->n, s->rows->dim);
    for (size_t r = 0; r < b->n; r++) {
        float by = b->inverse[r];
        struct shoal_hit hit = {(uint32_t)(b->first + r), x[0][r] * by};

        if (s->m == 3)
            hit.score = cosmul(x[0][r] * by, x[1][r] * by, x[2][r] * by);
        if (top_wants(top, hit) && !skipped(s, hit.id))
            top_add(top, hit);
    }
}

static shoal_status search_part(void *ctx, unsigned index)
{
    struct search *s = ctx;
    struct block_reader b;
    shoal_status st = block_reader_init(&b, s->rows, s->most);
    size_t i, end;

    if (st != SHOAL_OK)
        return st;
    while ((i = atomic_fetch_add(&s->next, TURN)) < s->blocks) {
        end = s->blocks - i < TURN ? s->blocks : i + TURN;
        for (; i < end; i++) {
            block_read(&b, i);
            search_block(s, &b, &s->tops[index]);
        }
    }
    block_reader_fini(&b);
    return SHOAL_OK;
}

/* Gathers the threads' bests and orders them. `all` has room for them. */
static void search_merge(const struct search *s, unsigned threads, struct shoal_hit *hits,
                         size_t k, size_t *found)
{
    struct shoal_hit *all = s->tops[0].at;
    size_t n = 0;

    for (unsigned t = 0; t < threads; t++) {
        memmove(all + n, s->tops[t].at, s->tops[t].n * sizeof *all);
        n += s->tops[t].n;
    }
    qsort(all, n, sizeof *all, by_rank);
    *found = n < k ? n : k;
    memcpy(hits, all, *found * sizeof *all);
}

static shoal_status search_run(struct search *s, unsigned threads, struct shoal_hit *hits,
                               size_t k, size_t *found)
{
    size_t room = k < s->rows->n ? k : s->rows->n, turns;
    struct shoal_hit *all;
    shoal_status st = SHOAL_ENOMEM;

    s->most = rows_fit(s->rows, BLOCK_FLOATS);
    s->blocks = rows_blocks(s->rows, s->most);
    turns = (s->blocks + TURN - 1) / TURN;
    threads = pool_threads(threads);
    threads = threads < turns ? threads : (unsigned)turns;
    all = mem_array(room * threads + 1, sizeof *all);
    s->tops = mem_array(threads, sizeof *s->tops);
    if (all && s->tops) {
        for (unsigned t = 0; t < threads; t++)
            s->tops[t] = (struct top){.at = all + t * room, .k = room};
        st = pool_run(threads, search_part, s);
        if (st == SHOAL_OK)
            search_merge(s, threads, hits, k, found);
    }
    free(s->tops);
    free(all);
    return st;
}

/* ---- questions ------------------------------------------------------------------- */

static float *units_new(const struct rows *r, size_t n)
{
    return mem_map(table_bytes(n, r->dim));
}

static void units_free(float *units, const struct rows *r, size_t n)
{
    mem_unmap(units, table_bytes(n, r->dim));
}

static shoal_status check_threads(const char *who, unsigned threads)
{
    if (threads > 1024)
        return shoal_fail(SHOAL_EINVAL, "%s: threads is %u, want at most 1024", who, threads);
    return SHOAL_OK;
}

static shoal_status check_ids(const char *who, const struct rows *r, const uint32_t *ids,
                              size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] >= r->n)
            return shoal_fail(SHOAL_EINVAL, "%s: id is %u, want less than %zu", who,
                              (unsigned)ids[i], r->n);
    return SHOAL_OK;
}

shoal_status shoal_nearest(const shoal_vectors *v, const float *query, const uint32_t *skip,
                           size_t nskip, unsigned threads, struct shoal_hit *hits, size_t k,
                           size_t *found)
{
    struct rows rows;
    struct search s = {.rows = &rows, .m = 1, .skip = skip, .nskip = nskip};
    shoal_status st = check_threads("nearest", threads);
    float *x;

    *found = 0;
    if (st == SHOAL_OK)
        st = rows_of_vectors(&rows, v);
    if (st != SHOAL_OK || k == 0 || rows.n == 0)
        return st;
    s.in[0] = x = units_new(&rows, 1);
    if (!x)
        return SHOAL_ENOMEM;
    memcpy(x, query, rows.dim * sizeof *x);
    if (unit(x, rows.dim))
        st = search_run(&s, threads, hits, k, found);
    else
        st = shoal_fail(SHOAL_EINVAL, "nearest: the query is zero or not finite, "
                                      "want a direction");
    units_free(x, &rows, 1);
    return st;
}

/* One direction for all three: (b - a) + c, of length 1. */
static bool cosadd_query(float *a, const float *b, const float *c, size_t dim)
{
    for (size_t j = 0; j < dim; j++)
        a[j] = (b[j] - a[j]) + c[j];
    return unit(a, dim);
}

/* units [3][stride]: the rows of abc. */
static shoal_status analogy(const struct rows *rows, const uint32_t *abc, float *units,
                            enum shoal_analogy how, unsigned threads, struct shoal_hit *hits,
                            size_t k, size_t *found)
{
    struct search s = {.rows = rows, .m = how == SHOAL_3COSADD ? 1 : 3, .skip = abc, .nskip = 3};
    size_t stride = table_stride(rows->dim);

    for (size_t i = 0; i < 3; i++) {
        s.in[i] = units + i * stride;
        if (!rows_unit(rows, abc[i], units + i * stride))
            return shoal_fail(SHOAL_EINVAL, "analogy: the row of id %u is zero, want a direction",
                              (unsigned)abc[i]);
    }
    /* a - a + a is a, but b = -c and a = 0 are not for us to answer. */
    if (how == SHOAL_3COSADD &&
        !cosadd_query(units, units + stride, units + 2 * stride, rows->dim))
        return shoal_fail(SHOAL_EINVAL, "analogy: the words cancel out, want a direction");
    return search_run(&s, threads, hits, k, found);
}

shoal_status shoal_analogy(const shoal_vectors *v, uint32_t a, uint32_t b, uint32_t c,
                           enum shoal_analogy how, unsigned threads, struct shoal_hit *hits,
                           size_t k, size_t *found)
{
    uint32_t abc[3] = {a, b, c};
    shoal_status st = check_threads("analogy", threads);
    struct rows rows;
    float *units;

    *found = 0;
    if (how != SHOAL_3COSADD && how != SHOAL_3COSMUL)
        return shoal_fail(SHOAL_EINVAL, "analogy: how is %d, want 0 or 1", (int)how);
    if (st == SHOAL_OK)
        st = rows_of_vectors(&rows, v);
    if (st == SHOAL_OK)
        st = check_ids("analogy", &rows, abc, 3);
    if (st != SHOAL_OK || k == 0)
        return st;
    units = units_new(&rows, 3);
    if (!units)
        return SHOAL_ENOMEM;
    st = analogy(&rows, abc, units, how, threads, hits, k, found);
    units_free(units, &rows, 3);
    return st;
}

shoal_status shoal_cosine(const shoal_vectors *v, uint32_t a, uint32_t b, double *out)
{
    struct rows rows;
    shoal_status st = rows_of_vectors(&rows, v);
    float *units;

    *out = 0;
    if (st == SHOAL_OK)
        st = check_ids("cosine", &rows, (uint32_t[]){a, b}, 2);
    if (st != SHOAL_OK)
        return st;
    units = units_new(&rows, 2);
    if (!units)
        return SHOAL_ENOMEM;
    *out = rows_cosine(&rows, a, b, units);
    units_free(units, &rows, 2);
    return SHOAL_OK;
}

/* units [2][stride]: the mean, of whatever length, and a row. */
static size_t odd_one(const struct rows *r, const uint32_t *ids, size_t n, float *units)
{
    float *mean = units, *row = units + table_stride(r->dim);
    double least = INFINITY;
    size_t odd = 0;

    for (size_t i = 0; i < n; i++) {
        rows_unit(r, ids[i], row);
        r->kernel->axpy(mean, 1, row, r->dim);
    }
    for (size_t i = 0; i < n; i++) {
        double fit;

        rows_unit(r, ids[i], row);
        fit = unit_dot(mean, row, r->dim);
        if (fit < least) {
            least = fit;
            odd = i;
        }
    }
    return odd;
}

shoal_status shoal_odd(const shoal_vectors *v, const uint32_t *ids, size_t n, size_t *odd)
{
    struct rows rows;
    shoal_status st = rows_of_vectors(&rows, v);
    float *units;

    *odd = 0;
    if (st == SHOAL_OK && n == 0)
        return shoal_fail(SHOAL_EINVAL, "odd: found no word, want at least one");
    if (st == SHOAL_OK)
        st = check_ids("odd", &rows, ids, n);
    if (st != SHOAL_OK)
        return st;
    units = units_new(&rows, 2);
    if (!units)
        return SHOAL_ENOMEM;
    *odd = odd_one(&rows, ids, n, units);
    units_free(units, &rows, 2);
    return SHOAL_OK;
}
