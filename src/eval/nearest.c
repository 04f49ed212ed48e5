/* The rows nearest to a question, and what else is asked of a few words: exact search, in one pass
 * over all rows.
 *
 *     rows [n][dim] --blocks--> widened to floats, lengths --dots--> x [inputs][rows]
 *                               '------ in the first-level cache ------'
 *     x --> 3CosMul, or the cosine as it is --> a heap of the best k, for each thread and question
 *
 * At a few operations for each byte read, it is memory that sets the pace: so up to MAX_IN inputs
 * of several questions share a pass (nearest_many), and the rows' lengths are computed on the way
 * rather than kept. Threads take portions of blocks from one counter; their heaps are merged and
 * sorted by (score, id). That order is total, and a sum's bits depend on its own two vectors alone,
 * so the answer does not depend on which thread took what. */
#include "eval/eval.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Levy and Goldberg (2014), equation 4. */
#define COSMUL_SLACK 0.001f

/* A block's floats are widened, measured and multiplied in the first cache. */
#define BLOCK_FLOATS ((size_t)6 << 10)
/* Blocks that a thread takes at a time, a portion: about a megabyte of floats. */
#define BLOCKS_AT_ONCE 48u

enum {
    MAX_IN = 48,     /* inputs that share a pass */
    IN_AT_ONCE = 16, /* of them beside the block in the first cache */
    PITCH = ROWS_BLOCK + 8,
};

/* ---- the best k ------------------------------------------------------------------ */

/* A heap whose root is the worst, so that most rows cost one comparison. */
struct top {
    struct shoal_hit *at; /* [k] */
    size_t n, k;
};

/* Total: equal scores are ordered by id, so that the result does not depend on
 * which thread saw them first. */
static bool better(struct shoal_hit x, struct shoal_hit y)
{
    return x.score > y.score || (x.score == y.score && x.id < y.id);
}

static int by_rank(const void *a, const void *b)
{
    const struct shoal_hit *x = a, *y = b;

    return better(*x, *y) ? -1 : better(*y, *x);
}

void hits_sort(struct shoal_hit *hits, size_t n)
{
    if (n > 1)
        qsort(hits, n, sizeof *hits, by_rank);
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

/* One of the questions that share a pass. */
struct quest {
    size_t first, m; /* of the inputs: one for the cosine, three for 3CosMul of a, b and c */
    const uint32_t *skip;
    size_t nskip;
    struct near_ask *ask; /* k, who may answer, and where the hits go */
};

struct search {
    const struct rows *rows;
    const float *in[MAX_IN];
    size_t m;
    struct quest quests[MAX_IN];
    size_t n;
    struct top *tops; /* [threads][n] */
    size_t most, blocks; /* rows of a block; blocks */
    atomic_size_t next;
};

static bool skipped(const struct quest *q, uint32_t id)
{
    const struct near_filter *filter = q->ask->filter;

    for (size_t i = 0; i < q->nskip; i++)
        if (q->skip[i] == id)
            return true;
    return filter && !filter->takes(filter->of, id);
}

static float cosmul(float a, float b, float c)
{
    return (1 + b) / 2 * ((1 + c) / 2) / ((1 + a) / 2 + COSMUL_SLACK);
}

/* x [m][PITCH]: the products of one question's inputs, which become its scores. */
static void score(const struct quest *q, const struct block_reader *b, float x[][PITCH])
{
    for (size_t r = 0; r < b->n; r++)
        for (size_t i = 0; i < q->m; i++)
            x[i][r] *= b->inverse[r];
    for (size_t r = 0; q->m == 3 && r < b->n; r++)
        x[0][r] = cosmul(x[0][r], x[1][r], x[2][r]);
}

/* Most blocks hold nothing for a heap that is full: one comparison with its worst for all rows,
 * without a branch for each. */
static bool nothing_better(const struct top *top, const float *x, size_t n)
{
    int better_ones = 0;

    if (top->n < top->k)
        return false;
    for (size_t r = 0; r < n; r++)
        better_ones |= x[r] >= top->at[0].score;
    return !better_ones;
}

static void search_block(const struct search *s, const struct block_reader *b, struct top *tops)
{
    float x[MAX_IN][PITCH];

    for (size_t i = 0; i < s->m; i += IN_AT_ONCE)
        s->rows->kernel->dots(x[i], PITCH, s->in + i, s->m - i < IN_AT_ONCE ? s->m - i : IN_AT_ONCE,
                              b->at, b->stride, b->n, s->rows->dim);
    for (size_t i = 0; i < s->n; i++) {
        const struct quest *q = &s->quests[i];
        struct top *top = &tops[i];

        score(q, b, x + q->first);
        if (nothing_better(top, x[q->first], b->n))
            continue;
        for (size_t r = 0; r < b->n; r++) {
            struct shoal_hit hit = {(uint32_t)(b->first + r), x[q->first][r]};

            if (top_wants(top, hit) && !skipped(q, hit.id))
                top_add(top, hit);
        }
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
    while ((i = atomic_fetch_add(&s->next, BLOCKS_AT_ONCE)) < s->blocks) {
        end = s->blocks - i < BLOCKS_AT_ONCE ? s->blocks : i + BLOCKS_AT_ONCE;
        for (; i < end; i++) {
            block_reader_read(&b, i);
            search_block(s, &b, s->tops + index * s->n);
        }
    }
    block_reader_fini(&b);
    return SHOAL_OK;
}

/* Gathers the threads' bests of question i and orders them. `all` has room. */
static void search_merge(const struct search *s, unsigned threads, size_t i, struct shoal_hit *all)
{
    struct near_ask *ask = s->quests[i].ask;
    size_t n = 0;

    for (unsigned t = 0; t < threads; t++) {
        const struct top *top = &s->tops[t * s->n + i];

        memcpy(all + n, top->at, top->n * sizeof *all);
        n += top->n;
    }
    hits_sort(all, n);
    ask->found = n < ask->k ? n : ask->k;
    memcpy(ask->hits, all, ask->found * sizeof *all);
}

static unsigned search_threads(const struct search *s, unsigned threads)
{
    size_t portions = (s->blocks + BLOCKS_AT_ONCE - 1) / BLOCKS_AT_ONCE;

    threads = pool_threads(threads);
    return threads < portions ? threads : (unsigned)portions;
}

static shoal_status search_run(struct search *s, unsigned threads)
{
    size_t most = 0, tops;
    struct shoal_hit *all, *at;
    shoal_status st = SHOAL_ENOMEM;

    s->most = rows_fit(s->rows, BLOCK_FLOATS);
    s->blocks = rows_blocks(s->rows, s->most);
    threads = search_threads(s, threads);
    for (size_t i = 0; i < s->n; i++)
        most = s->quests[i].ask->k > most ? s->quests[i].ask->k : most;
    most = most < s->rows->n ? most : s->rows->n;
    tops = threads * s->n;
    all = mem_array((tops + threads) * most + 1, sizeof *all);
    s->tops = mem_array(tops, sizeof *s->tops);
    if (all && s->tops) {
        at = all + threads * most; /* before it: room for merging */
        for (size_t i = 0; i < tops; i++, at += most) {
            size_t k = s->quests[i % s->n].ask->k;

            s->tops[i] = (struct top){.at = at, .k = k < most ? k : most};
        }
        st = pool_run(threads, search_part, s);
        for (size_t i = 0; st == SHOAL_OK && i < s->n; i++)
            search_merge(s, threads, i, all);
    }
    free(s->tops);
    free(all);
    return st;
}

/* ---- questions ------------------------------------------------------------------- */

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
        if (ids[i] >= r->n + r->nmade)
            return shoal_fail(SHOAL_EINVAL, "%s: id is %u, want less than %zu", who,
                              (unsigned)ids[i], r->n);
    return SHOAL_OK;
}

shoal_status nearest_to(const struct rows *rows, const float *query, const uint32_t *skip,
                        size_t nskip, unsigned threads, struct shoal_hit *hits, size_t k,
                        size_t *found)
{
    return nearest_filtered(rows, query, skip, nskip, NULL, threads, hits, k, found);
}

shoal_status nearest_filtered(const struct rows *rows, const float *query, const uint32_t *skip,
                              size_t nskip, const struct near_filter *filter, unsigned threads,
                              struct shoal_hit *hits, size_t k, size_t *found)
{
    struct near_ask one = {.hits = hits, .k = k, .filter = filter};
    struct search s = {.rows = rows, .quests = {{0, 1, skip, nskip, &one}}, .n = 1, .m = 1};
    shoal_status st = check_threads("nearest", threads);
    struct table x;

    *found = 0;
    if (st != SHOAL_OK || k == 0 || rows->n == 0)
        return st;
    st = table_init(&x, "query", 1, rows->dim);
    if (st != SHOAL_OK)
        return st;
    s.in[0] = memcpy(x.at, query, rows->dim * sizeof *query);
    if (vector_normalize(x.at, rows->dim))
        st = search_run(&s, threads);
    else
        st = shoal_fail(SHOAL_EINVAL, "nearest: the query is zero or not finite, "
                                      "want a direction");
    table_fini(&x);
    *found = one.found;
    return st;
}

/* One direction for all three: (b - a) + c, of length 1. */
static bool cosadd_query(float *a, const float *b, const float *c, size_t dim)
{
    for (size_t j = 0; j < dim; j++)
        a[j] = (b[j] - a[j]) + c[j];
    return vector_normalize(a, dim);
}

/* The inputs of a question about n = 1 or 3 words into units [n][stride]; *m of
 * them are for the pass. */
static shoal_status question_inputs(const struct rows *rows, const uint32_t *ids, size_t n,
                                    enum shoal_analogy how, float *units, size_t *m)
{
    size_t stride = table_stride(rows->dim);

    for (size_t i = 0; i < n; i++)
        if (!rows_unit(rows, ids[i], units + i * stride))
            return shoal_fail(SHOAL_EINVAL, "%s: the row of id %u is zero, want a direction",
                              n == 3 ? "analogy" : "nearest", (unsigned)ids[i]);
    /* The three may cancel out, as b = -c and a = 0 do: then there is no direction to search in. */
    if (n == 3 && how == SHOAL_3COSADD &&
        !cosadd_query(units, units + stride, units + 2 * stride, rows->dim))
        return shoal_fail(SHOAL_EINVAL, "analogy: the words cancel out, want a direction");
    *m = n == 3 && how == SHOAL_3COSMUL ? 3 : 1;
    return SHOAL_OK;
}

shoal_status nearest_analogy(const struct rows *rows, const uint32_t *abc, enum shoal_analogy how,
                             unsigned threads, struct shoal_hit *hits, size_t k, size_t *found)
{
    struct near_ask ask = {.ids = {abc[0], abc[1], abc[2]}, .n = 3, .how = how, .hits = hits, .k = k};
    shoal_status st = check_threads("analogy", threads);

    *found = 0;
    if (how != SHOAL_3COSADD && how != SHOAL_3COSMUL)
        return shoal_fail(SHOAL_EINVAL, "analogy: how is %d, want 0 or 1", (int)how);
    if (st == SHOAL_OK)
        st = check_ids("analogy", rows, abc, 3);
    if (st != SHOAL_OK || k == 0)
        return st;
    st = nearest_many(rows, &ask, 1, threads);
    *found = ask.found;
    return st == SHOAL_OK ? ask.st : st;
}

shoal_status nearest_cosine(const struct rows *rows, uint32_t a, uint32_t b, double *out)
{
    shoal_status st = check_ids("cosine", rows, (uint32_t[]){a, b}, 2);
    struct table units;

    *out = 0;
    if (st == SHOAL_OK)
        st = table_init(&units, "units", 2, rows->dim);
    if (st != SHOAL_OK)
        return st;
    *out = rows_cosine(rows, a, b, units.at);
    table_fini(&units);
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
        fit = vector_dot(mean, row, r->dim);
        if (fit < least) {
            least = fit;
            odd = i;
        }
    }
    return odd;
}

shoal_status nearest_odd(const struct rows *rows, const uint32_t *ids, size_t n, size_t *odd)
{
    shoal_status st = check_ids("odd", rows, ids, n);
    struct table units;

    *odd = 0;
    if (n == 0)
        return shoal_fail(SHOAL_EINVAL, "odd: found no word, want at least one");
    if (st == SHOAL_OK)
        st = table_init(&units, "units", 2, rows->dim);
    if (st != SHOAL_OK)
        return st;
    *odd = odd_one(rows, ids, n, units.at);
    table_fini(&units);
    return SHOAL_OK;
}

/* ---- several at once ---------------------------------------------------------------- */

/* Questions from *next on, as many as a pass takes; those that cannot be asked have
 * their status and are left out. */
static void many_take(struct search *s, struct near_ask *asks, size_t n, size_t *next, float *units)
{
    size_t stride = table_stride(s->rows->dim);

    s->m = s->n = 0;
    for (; *next < n && s->m + 3 <= MAX_IN; ++*next) {
        struct near_ask *a = &asks[*next];
        float *at = units + s->m * stride;
        size_t m = 0;

        a->found = 0;
        a->st = check_ids("nearest", s->rows, a->ids, a->n);
        if (a->st == SHOAL_OK)
            a->st = question_inputs(s->rows, a->ids, a->n, a->how, at, &m);
        if (a->st != SHOAL_OK || a->k == 0)
            continue;
        for (size_t i = 0; i < m; i++)
            s->in[s->m + i] = at + i * stride;
        s->quests[s->n++] = (struct quest){s->m, m, a->ids, a->n, a};
        s->m += m;
    }
}

shoal_status nearest_direction(const struct rows *rows, const uint32_t *ids, size_t n, float *room)
{
    size_t m;
    shoal_status st = check_ids("nearest", rows, ids, n);

    return st == SHOAL_OK ? question_inputs(rows, ids, n, SHOAL_3COSADD, room, &m) : st;
}

shoal_status nearest_many(const struct rows *rows, struct near_ask *asks, size_t n,
                          unsigned threads)
{
    size_t next = 0;
    /* Not from mem_map: a question over few rows takes less time than a mapping. */
    float *units = aligned_alloc(64, table_bytes(MAX_IN, rows->dim));
    shoal_status st = SHOAL_OK;

    if (!units)
        return shoal_fail(SHOAL_ENOMEM, "memory: no room for %d rows", MAX_IN);
    while (next < n && st == SHOAL_OK) {
        struct search s = {.rows = rows};

        many_take(&s, asks, n, &next, units);
        if (s.n > 0)
            st = search_run(&s, threads);
    }
    free(units);
    return st;
}
