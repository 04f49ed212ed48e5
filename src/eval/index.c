/* Rows made ready for many questions: first a look at bytes, then at the floats of a few.
 *
 * A row of direction u is kept as s q: bytes q of -127 .. 127 and their scale s. What rounding
 * left out, e = u - s q, is short, and its length is kept too. A question of direction v becomes
 * t p, 12 bits a number, and what is left out there is f = v - t p. So
 *
 *     u . v  =  s t (q . p)  +  s q . f  +  e . v,   |s q . f + e . v| <= (1 + |e|) |f| + |e|
 *
 * which says of every row at least and at most how near it is:
 *
 *      at least        at most
 *         |--- cosine ---|                 k rows are at least as near as `floor`:
 *     ----+------+-------+-------          who is at most below the floor is not among the best
 *              floor
 *
 * Each thread keeps a heap of the k highest lower bounds; its least is the floor. A row that may
 * reach above is a candidate, and in the end the cosines of the candidates are computed from
 * floats. Products are whole numbers, so that bits depend on no instruction set. */
#include "eval/eval.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    ROW_MOST = 127,    /* of a byte */
    QUERY_MOST = 2047, /* 127 * 2047 * KERNEL_MAX_DIM < 2^31 */
    BLOCK = 256,       /* rows at a time */
    PORTION = 16,      /* blocks that a thread takes */
};
#define ROUNDING 1e-6f            /* of the few sums of floats here */
#define THREAD_BYTES ((size_t)3 << 20) /* less is not worth another thread */

struct shoal_index {
    const float *floats; /* [n][float_stride], borrowed */
    size_t n, dim, float_stride, stride;
    int8_t *bytes; /* [n][stride] */
    float *scale;  /* [n] s, 0 of a row without direction */
    float *slack;  /* [n] |e| */
    const struct kernel *kernel;
    unsigned threads; /* that made it */
};

/* ---- making one ---- */

void shoal_index_free(shoal_index *x)
{
    if (!x)
        return;
    if (x->bytes)
        mem_unmap(x->bytes, x->n * x->stride);
    free(x->scale);
    free(x->slack);
    free(x);
}

/* Numbers [dim] of a length as whole ones up to `most`; gives the scale, and in *left the length
 * of what is left out. */
static double quantize(const float *from, size_t dim, double length, int most, int16_t *to,
                       float *left)
{
    double top = 0, scale, sum = 0;

    for (size_t j = 0; j < dim; j++)
        top = fmax(top, fabs(from[j] / length));
    scale = top / most;
    for (size_t j = 0; j < dim; j++) {
        double unit = from[j] / length, whole = nearbyint(unit / scale);

        to[j] = (int16_t)whole;
        sum += (unit - scale * whole) * (unit - scale * whole);
    }
    *left = (float)sqrt(sum) + ROUNDING;
    return scale;
}

static double length_of(const float *row, size_t dim)
{
    return sqrt(vector_dot(row, row, dim));
}

static shoal_status index_row(struct shoal_index *x, size_t i, int16_t *whole)
{
    const float *row = x->floats + i * x->float_stride;
    double length = length_of(row, x->dim);

    if (!isfinite(length))
        return shoal_fail(SHOAL_EINVAL, "index: row %zu holds a NaN or an infinity, want finite "
                          "numbers", i);
    if (length == 0)
        return SHOAL_OK;
    x->scale[i] = (float)quantize(row, x->dim, length, ROW_MOST, whole, &x->slack[i]);
    for (size_t j = 0; j < x->dim; j++)
        x->bytes[i * x->stride + j] = (int8_t)whole[j];
    return SHOAL_OK;
}

static shoal_status index_part(void *ctx, unsigned index)
{
    struct shoal_index *x = ctx;
    int16_t *whole = mem_array(x->dim, sizeof *whole);
    shoal_status st = whole ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = x->n * index / x->threads; i < x->n * (index + 1) / x->threads; i++)
        if (st == SHOAL_OK)
            st = index_row(x, i, whole);
    free(whole);
    return st;
}

shoal_status shoal_index_new(shoal_index **out, const struct shoal_matrix *rows, unsigned threads)
{
    struct shoal_index *x;
    shoal_status st;

    *out = NULL;
    if (!rows->data || rows->rows == 0 || rows->rows >= SHOAL_NO_ID || rows->dim == 0 ||
        rows->dim > KERNEL_MAX_DIM || rows->stride < rows->dim || threads > 1024)
        return shoal_fail(SHOAL_EINVAL, "index: found %zu rows of %zu numbers, want 1 to %u of 1 "
                          "to %d", rows->rows, rows->dim, SHOAL_NO_ID - 1, KERNEL_MAX_DIM);
    x = mem_array(1, sizeof *x);
    if (!x)
        return SHOAL_ENOMEM;
    *x = (struct shoal_index){.floats = rows->data, .n = rows->rows, .dim = rows->dim,
                              .float_stride = rows->stride, .threads = pool_threads(threads)};
    x->stride = (x->dim + KERNEL_BYTES - 1) / KERNEL_BYTES * KERNEL_BYTES;
    x->bytes = mem_map(x->n * x->stride);
    x->scale = mem_array(x->n, sizeof *x->scale);
    x->slack = mem_array(x->n, sizeof *x->slack);
    st = x->bytes && x->scale && x->slack ? kernel_choose(&x->kernel) : SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        st = pool_run(x->threads, index_part, x);
    if (st != SHOAL_OK) {
        shoal_index_free(x);
        return st;
    }
    *out = x;
    return SHOAL_OK;
}

/* ---- asking ---- */

struct candidates {
    struct shoal_hit *at; /* with the most that their cosine may be */
    size_t n, cap;
    float *floor; /* [k] a heap of the highest lower bounds, the least first */
    size_t nfloor;
};

struct question {
    const struct shoal_index *x;
    const uint32_t *skip;
    size_t nskip, from, to, k;
    int16_t *whole; /* [stride] p */
    float scale;    /* t */
    float slack;    /* |f| */
    struct candidates *found; /* [threads] */
    atomic_size_t next; /* row */
};

static bool is_skipped(const struct question *q, size_t id)
{
    for (size_t i = 0; i < q->nskip; i++)
        if (q->skip[i] == id)
            return true;
    return false;
}

/* The floor of a heap that is full; else there is none. */
static float floor_of(const struct question *q, const struct candidates *c)
{
    return c->nfloor == q->k ? c->floor[0] : -INFINITY;
}

static void floor_raise(const struct question *q, struct candidates *c, float least)
{
    size_t i, child;

    if (c->nfloor < q->k) {
        for (i = c->nfloor++; i > 0 && c->floor[(i - 1) / 2] > least; i = (i - 1) / 2)
            c->floor[i] = c->floor[(i - 1) / 2];
        c->floor[i] = least;
        return;
    }
    if (least <= c->floor[0])
        return;
    for (i = 0; (child = 2 * i + 1) < q->k; i = child) {
        if (child + 1 < q->k && c->floor[child + 1] < c->floor[child])
            child++;
        if (c->floor[child] >= least)
            break;
        c->floor[i] = c->floor[child];
    }
    c->floor[i] = least;
}

/* Rows from <= id < from + n of a block. */
static shoal_status look(const struct question *q, struct candidates *c, size_t from, size_t n)
{
    const struct shoal_index *x = q->x;
    const float *scale = x->scale + from, *slack = x->slack + from;
    float near[BLOCK], apart[BLOCK], floor = floor_of(q, c);
    int32_t sums[BLOCK];
    int better = 0;
    shoal_status st = SHOAL_OK;

    x->kernel->dots_bytes(sums, q->whole, x->bytes + from * x->stride, x->stride, n);
    for (size_t r = 0; r < n; r++) {
        near[r] = (float)sums[r] * (scale[r] * q->scale);
        apart[r] = slack[r] + (1 + slack[r]) * q->slack + ROUNDING;
        better |= near[r] + apart[r] >= floor;
    }
    for (size_t r = 0; better && r < n && st == SHOAL_OK; r++) {
        if (!(near[r] + apart[r] >= floor) || is_skipped(q, from + r))
            continue;
        floor_raise(q, c, near[r] - apart[r]);
        floor = floor_of(q, c);
        st = mem_grow(&c->at, &c->cap, c->n + 1, sizeof *c->at);
        if (st == SHOAL_OK)
            c->at[c->n++] = (struct shoal_hit){(uint32_t)(from + r), near[r] + apart[r]};
    }
    return st;
}

static shoal_status look_part(void *ctx, unsigned index)
{
    struct question *q = ctx;
    shoal_status st = SHOAL_OK;
    size_t at, end;

    while (st == SHOAL_OK && (at = atomic_fetch_add(&q->next, BLOCK * PORTION)) < q->to) {
        end = q->to - at < BLOCK * PORTION ? q->to : at + BLOCK * PORTION;
        for (; at < end && st == SHOAL_OK; at += BLOCK)
            st = look(q, &q->found[index], at, end - at < BLOCK ? end - at : BLOCK);
    }
    return st;
}

static int by_score(const void *a, const void *b)
{
    const struct shoal_hit *x = a, *y = b;

    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* The candidates of all threads that may still be among the best, with their cosines. */
static shoal_status settle(const struct question *q, const float *query, unsigned threads,
                           struct shoal_hit *hits, size_t *found)
{
    struct candidates all = {0};
    float floor = -INFINITY;
    double length = length_of(query, q->x->dim);
    shoal_status st = SHOAL_OK;

    for (unsigned t = 0; t < threads; t++)
        floor = fmaxf(floor, floor_of(q, &q->found[t]));
    for (unsigned t = 0; t < threads; t++)
        for (size_t i = 0; i < q->found[t].n && st == SHOAL_OK; i++) {
            struct shoal_hit hit = q->found[t].at[i];
            const float *row = q->x->floats + hit.id * q->x->float_stride;
            double other;

            if (hit.score < floor)
                continue;
            other = length_of(row, q->x->dim);
            hit.score = other > 0 ? (float)(vector_dot(row, query, q->x->dim) / length / other) : 0;
            st = mem_grow(&all.at, &all.cap, all.n + 1, sizeof *all.at);
            if (st == SHOAL_OK)
                all.at[all.n++] = hit;
        }
    if (st == SHOAL_OK && all.n > 0) {
        qsort(all.at, all.n, sizeof *all.at, by_score);
        *found = all.n < q->k ? all.n : q->k;
        memcpy(hits, all.at, *found * sizeof *hits);
    }
    free(all.at);
    return st;
}

static shoal_status ask(struct question *q, const float *query, unsigned threads,
                        struct shoal_hit *hits, size_t *found)
{
    shoal_status st = SHOAL_OK;

    q->found = mem_array(threads, sizeof *q->found);
    if (!q->found)
        return SHOAL_ENOMEM;
    for (unsigned t = 0; t < threads && st == SHOAL_OK; t++) {
        q->found[t].floor = mem_array(q->k, sizeof(float));
        st = q->found[t].floor ? SHOAL_OK : SHOAL_ENOMEM;
    }
    if (st == SHOAL_OK)
        st = pool_run(threads, look_part, q);
    if (st == SHOAL_OK)
        st = settle(q, query, threads, hits, found);
    for (unsigned t = 0; t < threads; t++) {
        free(q->found[t].floor);
        free(q->found[t].at);
    }
    free(q->found);
    return st;
}

static unsigned threads_for(const struct shoal_index *x, size_t rows, unsigned threads)
{
    size_t most = rows * x->stride / THREAD_BYTES + 1;

    threads = pool_threads(threads);
    return threads < most ? threads : (unsigned)most;
}

shoal_status shoal_index_nearest(const shoal_index *x, const float *query, const uint32_t *skip,
                                 size_t nskip, size_t from, size_t to, unsigned threads,
                                 struct shoal_hit *hits, size_t k, size_t *found)
{
    struct question q = {.x = x, .skip = skip, .nskip = nskip, .from = from, .k = k};
    double length = length_of(query, x->dim);
    shoal_status st;

    *found = 0;
    q.to = to < x->n ? to : x->n;
    if (threads > 1024)
        return shoal_fail(SHOAL_EINVAL, "index: threads is %u, want at most 1024", threads);
    if (!(length > 0) || !isfinite(length))
        return shoal_fail(SHOAL_EINVAL, "index: the query is zero or not finite, want a direction");
    if (from >= q.to || k == 0)
        return SHOAL_OK;
    q.k = k < q.to - from ? k : q.to - from;
    q.whole = mem_array(x->stride, sizeof *q.whole);
    if (!q.whole)
        return SHOAL_ENOMEM;
    atomic_init(&q.next, from);
    q.scale = (float)quantize(query, x->dim, length, QUERY_MOST, q.whole, &q.slack);
    st = ask(&q, query, threads_for(x, q.to - from, threads), hits, found);
    free(q.whole);
    return st;
}
