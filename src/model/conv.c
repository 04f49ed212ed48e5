/* Convolutions as products of matrices. */
#include "model/conv.h"

#include <stdatomic.h>
#include <string.h>

enum {
    CHUNK_TILES = 1024, /* at least a map's; enough rows for a product to be quick */
    ROWS = 512,         /* of one product */
    BLOCK = 256,        /* channels of one product (TAPS) */
    COLUMN_ROWS = 1024, /* outputs that are columns at once */
    GROUPS = 16,        /* parts of a batch whose weights' gradients are summed apart */
};

void conv_init(struct conv *c, size_t in, size_t out, size_t height, size_t width)
{
    *c = (struct conv){.in = in, .out = out, .height = height, .width = width};
    c->how = in <= CONV_FEW ? CONV_COLUMNS : height < 4 || width < 4 ? CONV_TAPS : CONV_TILES;
    c->tiles = up(height, 4) * up(width, 4);
    c->chunk = CHUNK_TILES / c->tiles;
    c->chunk += c->chunk == 0;
}

/* Rows of the map that become columns at once. */
static size_t column_rows(const struct conv *c)
{
    size_t rows = COLUMN_ROWS / c->width;

    return rows == 0 ? 1 : least(rows, c->height);
}

struct conv_sizes conv_sizes(const struct conv *c, size_t batch, bool bf16)
{
    size_t weights = c->in * c->out, tiles = least(c->chunk, batch) * c->tiles;

    if (bf16 && c->how != CONV_COLUMNS)
        return conv_bf16_sizes(c, batch);
    switch (c->how) {
    case CONV_TILES:
        return (struct conv_sizes){.u = 36 * weights,
                                   .du = 36 * weights,
                                   .v = 36 * tiles * c->in,
                                   .m = 36 * tiles * c->out};
    case CONV_TAPS:
        return (struct conv_sizes){.u = 9 * weights, .du = 9 * weights};
    case CONV_COLUMNS:
        break;
    }
    return (struct conv_sizes){.du = GROUPS * 9 * weights,
                               .columns = column_rows(c) * c->width * 9 * c->in};
}

/* ---- one pass, as the workers see it ---- */

struct pass {
    struct conv_work *k;
    const struct conv *c;
    const float *u, *w;
    float *to; /* u, or dw */
    float *x;
    const float *in; /* x of a forward pass */
    float *y;
    const float *dy;
    float *moments;
    size_t n;            /* maps of this chunk, or of all */
    size_t first;        /* whether this chunk is the first: its gradients are not added */
    size_t rows, blocks; /* tiles of this chunk; blocks of ROWS of them */
};

static void multiply(struct pass *p, bool ta, bool tb, size_t m, size_t n, size_t k, const float *a,
                     size_t lda, const float *b, size_t ldb, bool add, float *to, size_t ldto)
{
    if (gemm(ta, tb, m, n, k, 1, a, lda, b, ldb, add ? 1 : 0, to, ldto) != SHOAL_OK)
        atomic_store(&p->k->failed, true);
}

/* The sentence was another thread's. */
static shoal_status pass_end(struct conv_work *k)
{
    if (!atomic_load(&k->failed))
        return SHOAL_OK;
    return shoal_fail(SHOAL_ENOMEM, "conv: no memory to multiply matrices");
}

static void run(struct pass *p, size_t items, void (*fn)(void *ctx, size_t item, unsigned thread))
{
    workers_do(p->k->workers, items, fn, p);
}

static struct kernel_map map_of(const struct conv *c, const float *maps, size_t i, size_t channels)
{
    return (struct kernel_map){c->height, c->width, channels,
                               (float *)maps + i * c->height * c->width * channels};
}

static void take_moments(const struct pass *p, size_t i)
{
    struct kernel_map m = map_of(p->c, p->y, i, p->c->out);
    float *to = p->moments ? p->moments + i * 2 * p->c->out : NULL;

    if (to)
        p->k->maps->moments(to, to + p->c->out, &m);
}

static void moments_item(void *ctx, size_t i, unsigned thread)
{
    take_moments(ctx, i);
}

void conv_moments(struct conv_work *k, const struct conv *c, float *y, size_t n, float *moments)
{
    struct pass p = {.k = k, .c = c, .y = y, .moments = moments};

    if (moments)
        run(&p, n, moments_item);
}

/* ---- TILES: Winograd's way (kernel/maps.h has the algebra) ----
 *
 * A chunk of maps at a time, so that what is between the passes fits the caches:
 *
 *     x [n][height][width][in] --tile_in--> v [36][rows][in]      rows: the tiles of the chunk
 *                                           x u [36][out][in]     36 products, cut into ROWS rows
 *     y [n][height][width][out] <-tile_out- m [36][rows][out]
 *
 * A worker takes a map, or a block of one product: no two write the same numbers, so the result
 * does not depend on how many workers there are. Backwards m holds the transformed gradient by y;
 * du [36][out][in] is added up over the chunks, in their order. */

static void tiles_weights(void *ctx, size_t o, unsigned thread)
{
    struct pass *p = ctx;
    size_t in = p->c->in;

    p->k->maps->weights_in(p->to + o * in, p->c->out * in, p->w + o * in * 9, in);
}

/* Between map i and its tiles in v. */
static void each_tile(const struct pass *p, const float *maps, float *v, size_t i, size_t channels,
                      kernel_tile *fn)
{
    struct kernel_map m = map_of(p->c, maps, i, channels);

    v += i * p->c->tiles * channels;
    for (size_t y = 0; y < m.height; y += 4)
        for (size_t x = 0; x < m.width; x += 4, v += channels)
            fn(&m, y, x, v, p->rows * channels);
}

static void tiles_in(void *ctx, size_t i, unsigned thread)
{
    struct pass *p = ctx;

    each_tile(p, p->in, p->k->v, i, p->c->in, p->k->maps->tile_in);
}

static void tiles_multiply(void *ctx, size_t item, unsigned thread)
{
    struct pass *p = ctx;
    size_t place = item / p->blocks, row = item % p->blocks * ROWS, in = p->c->in, out = p->c->out;

    multiply(p, false, true, least(ROWS, p->rows - row), out, in,
             p->k->v + (place * p->rows + row) * in, in, p->u + place * out * in, in, false,
             p->k->m + (place * p->rows + row) * out, out);
}

static void tiles_out(void *ctx, size_t i, unsigned thread)
{
    struct pass *p = ctx;

    each_tile(p, p->y, p->k->m, i, p->c->out, p->k->maps->tile_out);
    take_moments(p, i);
}

static void tiles_forward(struct pass *p)
{
    run(p, p->n, tiles_in);
    run(p, 36 * p->blocks, tiles_multiply);
    run(p, p->n, tiles_out);
}

static void tiles_back(void *ctx, size_t i, unsigned thread)
{
    struct pass *p = ctx;

    tiles_in(ctx, i, thread);
    each_tile(p, p->dy, p->k->m, i, p->c->out, p->k->maps->tile_back);
}

/* First what needs v, then v becomes its own gradient. */
static void tiles_learn(void *ctx, size_t place, unsigned thread)
{
    struct pass *p = ctx;
    size_t in = p->c->in, out = p->c->out;
    float *v = p->k->v + place * p->rows * in, *m = p->k->m + place * p->rows * out;

    multiply(p, true, false, out, in, p->rows, m, out, v, in, !p->first,
             p->k->du + place * out * in, in);
    multiply(p, false, false, p->rows, in, out, m, out, p->u + place * out * in, in, false, v, in);
}

static void tiles_add(void *ctx, size_t i, unsigned thread)
{
    struct pass *p = ctx;
    struct kernel_map m = map_of(p->c, p->x, i, p->c->in);

    memset(m.at, 0, m.height * m.width * m.channels * sizeof *m.at);
    each_tile(p, p->x, p->k->v, i, p->c->in, p->k->maps->tile_add);
}

static void tiles_gradient(void *ctx, size_t o, unsigned thread)
{
    struct pass *p = ctx;
    size_t in = p->c->in;

    p->k->maps->weights_out(p->to + o * in * 9, p->k->du + o * in, p->c->out * in, in);
}

static void tiles_backward(struct pass *p)
{
    run(p, p->n, tiles_back);
    run(p, 36, tiles_learn);
    run(p, p->n, tiles_add);
}

/* Chunk after chunk. */
static void tiles_run(const struct pass *all, void (*pass)(struct pass *p))
{
    const struct conv *c = all->c;
    size_t in = c->height * c->width * c->in, out = c->height * c->width * c->out;

    for (size_t i = 0; i < all->n; i += c->chunk) {
        struct pass p = *all;

        p.n = least(c->chunk, all->n - i);
        p.first = i == 0;
        p.rows = p.n * c->tiles;
        p.blocks = up(p.rows, ROWS);
        p.in = all->in + i * in;
        p.x = all->x ? all->x + i * in : NULL;
        p.y = all->y ? all->y + i * out : NULL;
        p.dy = all->dy ? all->dy + i * out : NULL;
        p.moments = all->moments ? all->moments + i * 2 * c->out : NULL;
        pass(&p);
    }
}

/* ---- TAPS: one product for each pixel and each neighbour that exists ----
 *
 * A tap is one of the nine neighbours, itself included. On a 2x2 map a pixel has 4 of them, where a
 * padded way would multiply all 9; n maps are the rows of each product. */

/* w[o][i][tap] to u[tap][o][i], and back. */
static void taps_weights(void *ctx, size_t o, unsigned thread)
{
    struct pass *p = ctx;
    size_t in = p->c->in, apart = in * p->c->out;

    for (size_t tap = 0; tap < 9; tap++)
        for (size_t i = 0; i < in; i++)
            p->to[tap * apart + o * in + i] = p->w[(o * in + i) * 9 + tap];
}

static void taps_gradient(void *ctx, size_t o, unsigned thread)
{
    struct pass *p = ctx;
    size_t in = p->c->in, apart = in * p->c->out;

    for (size_t i = 0; i < in; i++)
        for (size_t tap = 0; tap < 9; tap++)
            p->to[(o * in + i) * 9 + tap] = p->k->du[tap * apart + o * in + i];
}

/* A pixel's sum over its neighbours that exist, from [n][pixels][deep] to [n][pixels][columns]:
 * outputs of inputs, or against the taps inputs' gradients of outputs'. */
static void taps_sum(struct pass *p, size_t item, bool against, const float *from, size_t deep,
                     float *to, size_t columns)
{
    const struct conv *c = p->c;
    size_t blocks = up(columns, BLOCK), pixel = item / blocks, o = item % blocks * BLOCK;
    size_t pixels = c->height * c->width, near;
    bool add = false;

    for (size_t tap = 0; tap < 9; tap++)
        if (beside(c, pixel, tap, against, &near)) {
            const float *u = p->u + tap * c->out * c->in + (against ? o : o * c->in);

            multiply(p, false, !against, p->n, least(BLOCK, columns - o), deep, from + near * deep,
                     pixels * deep, u, c->in, add, to + pixel * columns + o, pixels * columns);
            add = true;
        }
}

static void taps_out(void *ctx, size_t item, unsigned thread)
{
    struct pass *p = ctx;

    taps_sum(p, item, false, p->in, p->c->in, p->y, p->c->out);
}

static void taps_back(void *ctx, size_t item, unsigned thread)
{
    struct pass *p = ctx;

    taps_sum(p, item, true, p->dy, p->c->out, p->x, p->c->in);
}

static void taps_learn(void *ctx, size_t item, unsigned thread)
{
    struct pass *p = ctx;
    const struct conv *c = p->c;
    size_t blocks = up(c->out, BLOCK), tap = item / blocks, o = item % blocks * BLOCK;
    size_t pixels = c->height * c->width, some = least(BLOCK, c->out - o), from;
    float *to = p->k->du + (tap * c->out + o) * c->in;
    bool add = false;

    for (size_t pixel = 0; pixel < pixels; pixel++)
        if (beside(c, pixel, tap, false, &from)) {
            multiply(p, true, false, some, c->in, p->n, p->dy + pixel * c->out + o, pixels * c->out,
                     p->x + from * c->in, pixels * c->in, add, to, c->in);
            add = true;
        }
    if (!add)
        memset(to, 0, some * c->in * sizeof *to);
}

static void taps_forward(struct pass *p)
{
    const struct conv *c = p->c;

    run(p, c->height * c->width * up(c->out, BLOCK), taps_out);
    conv_moments(p->k, c, p->y, p->n, p->moments);
}

static void taps_backward(struct pass *p)
{
    const struct conv *c = p->c;

    run(p, 9 * up(c->out, BLOCK), taps_learn);
    run(p, c->height * c->width * up(c->in, BLOCK), taps_back);
    run(p, c->out, taps_gradient);
}

/* ---- COLUMNS ---- */

/* Rows [from, to) of a map's outputs: columns [in * 9][(to - from) * width], each
 * a part of the picture, shifted. */
static void make_columns(const struct conv *c, const float *x, size_t from, size_t to, float *out)
{
    for (size_t i = 0; i < c->in; i++)
        for (size_t tap = 0; tap < 9; tap++)
            for (size_t y = from; y < to; y++, out += c->width) {
                size_t row = y + tap / 3 - 1, left = tap % 3 == 0, right = tap % 3 == 2;
                const float *in;

                if (row >= c->height) { /* above the first it is SIZE_MAX */
                    memset(out, 0, c->width * sizeof *out);
                    continue;
                }
                in = x + (i * c->height + row) * c->width;
                out[0] = out[c->width - 1] = 0;
                memcpy(out + left, in + right, (c->width - left - right) * sizeof *out);
            }
}

static void columns_out(void *ctx, size_t i, unsigned thread)
{
    struct pass *p = ctx;
    const struct conv *c = p->c;
    size_t step = column_rows(c), pixels = c->height * c->width;
    float *columns = p->k->columns + thread * p->k->columns_size;

    for (size_t y = 0; y < c->height; y += step) {
        size_t rows = least(step, c->height - y), n = rows * c->width;

        make_columns(c, p->in + i * pixels * c->in, y, y + rows, columns);
        multiply(p, true, true, n, c->out, c->in * 9, columns, n, p->u, c->in * 9, false,
                 p->y + (i * pixels + y * c->width) * c->out, c->out);
    }
    take_moments(p, i);
}

static void columns_learn(void *ctx, size_t group, unsigned thread)
{
    struct pass *p = ctx;
    const struct conv *c = p->c;
    size_t step = column_rows(c), pixels = c->height * c->width, wide = c->in * 9;
    float *columns = p->k->columns + thread * p->k->columns_size;
    float *to = p->k->du + group * c->out * wide;

    memset(to, 0, c->out * wide * sizeof *to);
    for (size_t i = p->n * group / GROUPS; i < p->n * (group + 1) / GROUPS; i++)
        for (size_t y = 0; y < c->height; y += step) {
            size_t rows = least(step, c->height - y), n = rows * c->width;

            make_columns(c, p->x + i * pixels * c->in, y, y + rows, columns);
            multiply(p, true, true, c->out, wide, n, p->dy + (i * pixels + y * c->width) * c->out,
                     c->out, columns, n, true, to, wide);
        }
}

static void columns_backward(struct pass *p)
{
    size_t weights = p->c->out * p->c->in * 9;

    run(p, GROUPS, columns_learn);
    memset(p->to, 0, weights * sizeof *p->to);
    for (size_t g = 0; g < GROUPS; g++)
        for (size_t i = 0; i < weights; i++)
            p->to[i] += p->k->du[g * weights + i];
}

/* ---- any ---- */

void conv_prepare(struct conv_work *k, const struct conv *c, const float *w, float *u)
{
    struct pass p = {.k = k, .c = c, .w = w, .to = u};

    if (k->tiles && c->how != CONV_COLUMNS)
        conv_bf16_prepare(k, c, w, u);
    else if (c->how != CONV_COLUMNS)
        run(&p, c->out, c->how == CONV_TILES ? tiles_weights : taps_weights);
}

shoal_status conv_forward(struct conv_work *k, const struct conv *c, const float *u, const float *x,
                          size_t n, float *y, float *moments)
{
    struct pass p = {.k = k, .c = c, .u = u, .in = x, .n = n, .y = y, .moments = moments};

    if (k->tiles && c->how != CONV_COLUMNS)
        conv_bf16_forward(k, c, u, x, n, y, moments);
    else if (c->how == CONV_TILES)
        tiles_run(&p, tiles_forward);
    else if (c->how == CONV_TAPS)
        taps_forward(&p);
    else
        run(&p, n, columns_out);
    return pass_end(k);
}

shoal_status conv_backward(struct conv_work *k, const struct conv *c, const float *u, float *x,
                           size_t n, const float *dy, float *dw)
{
    struct pass p = {.k = k, .c = c, .u = u, .in = x, .x = x, .n = n, .dy = dy, .to = dw};

    if (n == 0) {
        memset(dw, 0, c->out * c->in * 9 * sizeof *dw);
    } else if (k->tiles && c->how != CONV_COLUMNS) {
        conv_bf16_backward(k, c, u, x, n, dy, dw);
    } else if (c->how == CONV_TILES) {
        tiles_run(&p, tiles_backward);
        run(&p, c->out, tiles_gradient);
    } else if (c->how == CONV_TAPS) {
        taps_backward(&p);
    } else {
        columns_backward(&p);
    }
    return pass_end(k);
}
