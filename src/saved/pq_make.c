/* Product quantisation of a matrix: Lloyd's k-means for each part of the rows.
 *
 * A part is one thread's from beginning to end, and so is a block of rows when they are coded: the
 * result is the same for any number of threads. While they are made, centroids lie across, number
 * by number, so that one row meets many of them at once:
 *
 *     centroids of a part   [width][256]        in the file   [256][width]
 *
 * The lengths of rows are quantised as a last part, of one number. */
#include "saved/pq.h"

#include <math.h>
#include <stdlib.h>

enum { K = PQ_CENTROIDS, ROUNDS = 25, SAMPLE = 65536, LANES = 16, BLOCK = 512 };

struct making {
    const struct pq_opts *opts;
    pq_row_fn row;
    const void *from;
    struct pq shape; /* without data */
    size_t n;        /* of the sample */
    float *sample;   /* [n][cols] */
    float *lengths;  /* [n] of the sample, with norms */
    float *across;   /* [cols + 1][256]: all parts, then the lengths */
    uint8_t *codes, *norm_codes;
    float *scratch; /* [threads][cols] */
};

/* ---- rows ---- */

/* Makes the row one of length 1, unless it is 0; gives its length. */
static float take_length(float *row, size_t n)
{
    double sum = 0;
    float length;

    for (size_t k = 0; k < n; k++)
        sum += (double)row[k] * (double)row[k];
    length = (float)sqrt(sum);
    for (size_t k = 0; k < n && length > 0; k++)
        row[k] /= length;
    return length;
}

static size_t part_width(const struct pq *p, size_t part)
{
    return part + 1 < p->parts ? p->dsub : p->cols - part * p->dsub;
}

/* ---- the nearest centroid ---- */

/* The first of those at the least distance from x [width]. */
static uint8_t nearest(const float *across, const float *x, size_t width)
{
    float best[LANES];
    int which[LANES] = {0}, lane = 0;

    for (int l = 0; l < LANES; l++)
        best[l] = INFINITY;
    for (int k = 0; k < K; k += LANES) {
        float far[LANES] = {0};

        for (size_t j = 0; j < width; j++) {
            const float *c = across + j * K + k;

            for (int l = 0; l < LANES; l++)
                far[l] += (x[j] - c[l]) * (x[j] - c[l]);
        }
        for (int l = 0; l < LANES; l++) {
            which[l] = far[l] < best[l] ? k : which[l];
            best[l] = far[l] < best[l] ? far[l] : best[l];
        }
    }
    for (int l = 1; l < LANES; l++)
        if (best[l] < best[lane] ||
            (best[l] == best[lane] && which[l] + l < which[lane] + lane))
            lane = l;
    return (uint8_t)(which[lane] + lane);
}

/* ---- k-means of one part ---- */

struct part {
    size_t n, width;
    const float *x; /* [n][width] */
    uint8_t *codes; /* [n] */
    float *across;  /* [width][256] */
    double *sums;   /* [width][256] */
    size_t members[K];
};

/* Gives how many went to another. */
static size_t assign(struct part *p)
{
    size_t moved = 0;

    for (size_t i = 0; i < p->n; i++) {
        uint8_t code = nearest(p->across, p->x + i * p->width, p->width);

        moved += code != p->codes[i];
        p->codes[i] = code;
    }
    return moved;
}

/* A centroid without members takes half of the largest, a little beside it. */
static void split_largest(struct part *p, size_t empty)
{
    size_t from = 0;

    for (size_t k = 1; k < K; k++)
        if (p->members[k] > p->members[from])
            from = k;
    for (size_t j = 0; j < p->width; j++) {
        float c = p->across[j * K + from];
        float step = (j % 2 ? 1.0f : -1.0f) * (1e-7f + 1e-4f * fabsf(c));

        p->across[j * K + empty] = c + step;
        p->across[j * K + from] = c - step;
    }
    p->members[empty] = p->members[from] / 2;
    p->members[from] -= p->members[empty];
}

static void move_centroids(struct part *p)
{
    memset(p->sums, 0, p->width * K * sizeof *p->sums);
    memset(p->members, 0, sizeof p->members);
    for (size_t i = 0; i < p->n; i++) {
        p->members[p->codes[i]]++;
        for (size_t j = 0; j < p->width; j++)
            p->sums[j * K + p->codes[i]] += (double)p->x[i * p->width + j];
    }
    for (size_t j = 0; j < p->width; j++)
        for (size_t k = 0; k < K; k++)
            if (p->members[k] > 0)
                p->across[j * K + k] = (float)(p->sums[j * K + k] / (double)p->members[k]);
    for (size_t k = 0; k < K; k++)
        if (p->members[k] == 0)
            split_largest(p, k);
}

/* Begins with 256 rows of the sample, which is in random order. */
static void learn_part(struct part *p)
{
    for (size_t k = 0; k < K; k++)
        for (size_t j = 0; j < p->width; j++)
            p->across[j * K + k] = p->x[k * p->width + j];
    for (int round = 0; round < ROUNDS; round++) {
        if (assign(p) == 0 && round > 0)
            break;
        move_centroids(p);
    }
}

/* Part `part` of the sample, or its lengths behind the last. */
static shoal_status learn(void *ctx, size_t part, unsigned thread)
{
    struct making *m = ctx;
    const struct pq *s = &m->shape;
    bool lengths = part == s->parts;
    size_t width = lengths ? 1 : part_width(s, part), at = lengths ? s->cols : part * s->dsub;
    float *x = mem_array(m->n, width * sizeof *x);
    struct part p = {.n = m->n,
                     .width = width,
                     .x = x,
                     .codes = mem_array(m->n, 1),
                     .across = m->across + at * K,
                     .sums = mem_array(width * K, sizeof *p.sums)};
    shoal_status st = x && p.codes && p.sums ? SHOAL_OK : SHOAL_ENOMEM;

    (void)thread;
    for (size_t i = 0; st == SHOAL_OK && i < m->n; i++)
        memcpy(x + i * width, lengths ? m->lengths + i : m->sample + i * s->cols + at,
               width * sizeof *x);
    if (st == SHOAL_OK)
        learn_part(&p);
    free(x);
    free(p.codes);
    free(p.sums);
    return st;
}

/* ---- the sample ---- */

static shoal_status draw_sample(struct making *m)
{
    const struct pq *s = &m->shape;
    struct shuffle order = shuffle_make(s->rows, 1, m->opts->seed, 0);

    m->n = s->rows < SAMPLE ? s->rows : SAMPLE;
    m->sample = mem_array(m->n, s->cols * sizeof *m->sample);
    m->lengths = mem_array(m->n, sizeof *m->lengths);
    if (!m->sample || !m->lengths)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < m->n; i++) {
        float *row = m->sample + i * s->cols;

        m->row(m->from, shuffle_run(&order, i), row);
        if (m->opts->norms)
            m->lengths[i] = take_length(row, s->cols);
    }
    return SHOAL_OK;
}

/* ---- codes ---- */

static void encode_row(struct making *m, size_t row, float *x)
{
    const struct pq *s = &m->shape;

    m->row(m->from, row, x);
    if (m->opts->norms) {
        float length = take_length(x, s->cols);

        m->norm_codes[row] = nearest(m->across + s->cols * K, &length, 1);
    }
    for (size_t part = 0; part < s->parts; part++)
        m->codes[row * s->parts + part] = nearest(m->across + part * s->dsub * K,
                                                  x + part * s->dsub, part_width(s, part));
}

static void encode_block(void *ctx, size_t block, unsigned thread)
{
    struct making *m = ctx;
    size_t end = (block + 1) * BLOCK < m->shape.rows ? (block + 1) * BLOCK : m->shape.rows;

    for (size_t row = block * BLOCK; row < end; row++)
        encode_row(m, row, m->scratch + thread * m->shape.cols);
}

/* From across to the file's order. */
static void turn_centroids(const struct making *m, float *to)
{
    const struct pq *s = &m->shape;

    for (size_t part = 0; part < s->parts; part++) {
        size_t width = part_width(s, part);

        for (size_t k = 0; k < K; k++)
            for (size_t j = 0; j < width; j++)
                to[part * s->dsub * K + k * width + j] = m->across[(part * s->dsub + j) * K + k];
    }
    memcpy(to + s->cols * K, m->across + s->cols * K, K * sizeof *to);
}

static void take_result(struct making *m, struct pq *out, float *centroids)
{
    *out = m->shape;
    turn_centroids(m, centroids);
    out->codes = out->own_codes = m->codes;
    out->centroids = out->own_centroids = centroids;
    if (m->opts->norms) {
        out->norm_codes = m->norm_codes;
        out->norms = centroids + out->cols * K;
    }
    m->codes = NULL;
}

static shoal_status make(struct making *m, struct pq *out, struct workers *w)
{
    const struct pq *s = &m->shape;
    float *centroids = mem_array((s->cols + 1) * K, sizeof *centroids);
    shoal_status st = centroids ? draw_sample(m) : SHOAL_ENOMEM;

    m->across = mem_array((s->cols + 1) * K, sizeof *m->across);
    m->codes = mem_array(s->rows, s->parts + m->opts->norms);
    m->scratch = mem_array(workers_count(w), s->cols * sizeof *m->scratch);
    if (st == SHOAL_OK && (!m->across || !m->codes || !m->scratch))
        st = SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        st = workers_run(w, s->parts + m->opts->norms, learn, m);
    if (st == SHOAL_OK) {
        m->norm_codes = m->codes + s->rows * s->parts;
        workers_do(w, (s->rows + BLOCK - 1) / BLOCK, encode_block, m);
        take_result(m, out, centroids);
        centroids = NULL;
    }
    free(centroids);
    free(m->sample);
    free(m->lengths);
    free(m->across);
    free(m->codes);
    free(m->scratch);
    return st;
}

shoal_status pq_make(struct pq *out, size_t rows, size_t cols, pq_row_fn row, const void *from,
                     const struct pq_opts *opts)
{
    struct making m = {.opts = opts, .row = row, .from = from};
    struct workers *w = NULL;
    shoal_status st;

    *out = (struct pq){0};
    if (rows < K)
        return shoal_fail(SHOAL_EINVAL, "quantise: found %zu rows, want %d or more", rows, K);
    if (opts->dsub == 0 || opts->dsub > cols)
        return shoal_fail(SHOAL_EINVAL, "quantise: dsub is %u, want 1 to %zu", opts->dsub, cols);
    m.shape = (struct pq){
        .rows = rows, .cols = cols, .dsub = opts->dsub, .parts = pq_parts(cols, opts->dsub)};
    st = workers_new(&w, opts->threads);
    if (st == SHOAL_OK)
        st = make(&m, out, w);
    workers_free(w);
    return st;
}
