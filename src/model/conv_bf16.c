/* Convolutions in bfloat16, summed in floats.
 *
 * AMX multiplies tiles of 16 rows by 32 numbers. To fill them, 32 pictures (GROUP) are taken
 * together, and each pixel of theirs is a matrix [32 pictures][channels]. A pixel's outputs are
 * the sum, over its neighbours that exist, of the neighbour's matrix times the weights of the tap:
 *
 *     out(y, x) [32][columns] = sum over taps t of  in(y + dy(t), x + dx(t)) [32][deep] x w(t)
 *
 * No pixel is padded, and what lies outside of the map is never multiplied: its tap is left out of
 * the list that the product is summed over (list_taps). The gradient by the inputs is the same with
 * the taps mirrored (`against`) and the weights transposed; so `struct apply` serves both.
 *
 * The gradient by the weights joins, for each tap, the outputs' gradients with the inputs beside
 * them, summed over all pixels and pictures: [out][32 pictures] x [32 pictures][in]. It is taken
 * STEPS pixels at a time for a panel of outputs, so that both sides stay in the second cache. */
#include "model/conv.h"

enum {
    GROUP = TILE_DEEP,     /* pictures */
    BLOCK = 2 * TILE_ROWS, /* channels of one product */
    SUMS = BLOCK * BLOCK,
    STEPS = 64, /* pixels by which weights learn at once */
    PANEL = 4,  /* blocks of outputs of an item: with STEPS pixels they fit L2 */
};

#define NEAR (1 << 19) /* numbers that stay in L2 while others pass */

/* Numbers of a pixel's rows: [channels / 32][32 pictures][32]. */
static size_t pixel_size(size_t channels)
{
    return up(channels, TILE_DEEP) * GROUP * TILE_DEEP;
}

/* Numbers of all weights: [9][columns / 32][deep / 32] pairs of tiles. */
static size_t weights_size(size_t deep, size_t columns)
{
    return 9 * up(columns, BLOCK) * up(deep, TILE_DEEP) * 2 * TILE;
}

struct conv_sizes conv_bf16_sizes(const struct conv *c, size_t batch)
{
    size_t pixels = up(batch, GROUP) * c->height * c->width;

    return (struct conv_sizes){
        .u = (weights_size(c->in, c->out) + weights_size(c->out, c->in)) / 2,
        .v = pixels * pixel_size(c->in) / 2,
        .m = pixels * pixel_size(c->out) / 2,
        .du = 9 * up(c->in, BLOCK) * up(c->out, BLOCK) * SUMS,
    };
}

/* ---- packing ---- */

typedef void (*packer)(uint16_t *to, const float *from, size_t rows, size_t apart, size_t n);

struct pack {
    const struct conv *c;
    packer fn;
    const float *from; /* [n][height][width][channels] */
    uint16_t *to;      /* [n / 32][height][width][pixel_size] */
    size_t n, channels;
};

/* One row of the maps of a group. */
static void pack_item(void *ctx, size_t item, unsigned thread)
{
    const struct pack *p = ctx;
    size_t height = p->c->height, width = p->c->width, apart = height * width * p->channels;
    size_t group = item / height, rows = least(GROUP, p->n - group * GROUP);
    const float *from = p->from + group * GROUP * apart + item % height * width * p->channels;
    uint16_t *to = p->to + item * width * pixel_size(p->channels);

    for (size_t x = 0; x < width; x++)
        p->fn(to + x * pixel_size(p->channels), from + x * p->channels, rows, apart, p->channels);
}

static void pack(struct conv_work *k, const struct conv *c, packer fn, const float *from, size_t n,
                 size_t channels, float *to)
{
    struct pack p = {c, fn, from, (uint16_t *)to, n, channels};

    workers_do(k->workers, up(n, GROUP) * c->height, pack_item, &p);
}

/* ---- weights ---- */

struct weights {
    const struct conv_work *k;
    const float *w;
    uint16_t *to;
    size_t deep, columns; /* channels */
    size_t down, across;  /* floats from one to the next in w */
};

/* A block of columns of all taps. */
static void weights_item(void *ctx, size_t block, unsigned thread)
{
    const struct weights *p = ctx;
    size_t blocks = up(p->columns, BLOCK), deeps = up(p->deep, TILE_DEEP);

    for (size_t d = 0; d < deeps; d++)
        for (size_t half = 0; half < 2 && block * BLOCK + half * TILE_ROWS < p->columns; half++)
            for (size_t tap = 0; tap < 9; tap++)
                p->k->tiles->pack_weights(
                    p->to + (((tap * blocks + block) * deeps + d) * 2 + half) * TILE,
                    p->w + d * TILE_DEEP * p->down +
                        (block * BLOCK + half * TILE_ROWS) * p->across + tap,
                    p->down, p->across, least(TILE_DEEP, p->deep - d * TILE_DEEP));
}

void conv_bf16_prepare(struct conv_work *k, const struct conv *c, const float *w, float *u)
{
    uint16_t *to = (uint16_t *)u;
    struct weights forward = {k, w, to, c->in, c->out, 9, 9 * c->in};
    struct weights back = {k, w, to + weights_size(c->in, c->out), c->out, c->in, 9 * c->in, 9};

    workers_do(k->workers, up(c->out, BLOCK), weights_item, &forward);
    workers_do(k->workers, up(c->in, BLOCK), weights_item, &back);
}

/* ---- outputs of inputs, and inputs' gradients of outputs' ---- */

struct apply {
    const struct conv_work *k;
    const struct conv *c;
    const uint16_t *from, *u;
    float *to; /* [n][height][width][columns] */
    size_t n, deep, columns;
    bool against; /* the taps */
};

/* What a pixel is summed of: matrices, and the weights for them. */
static size_t list_taps(const struct apply *p, size_t group, size_t block, size_t y, size_t x,
                        const uint16_t **a, const uint16_t **b)
{
    const struct conv *c = p->c;
    size_t deeps = up(p->deep, TILE_DEEP), blocks = up(p->columns, BLOCK), n = 0;

    for (size_t tap = 0; tap < 9; tap++) {
        size_t near;

        if (!beside(c, y * c->width + x, tap, p->against, &near))
            continue;
        a[n] = p->from + (group * c->height * c->width + near) * pixel_size(p->deep);
        b[n++] = p->u + (tap * blocks + block) * deeps * 2 * TILE;
    }
    return n;
}

static void apply_row(const struct apply *p, size_t group, size_t block, size_t y)
{
    size_t area = p->c->height * p->c->width, width = p->c->width;
    const uint16_t *a[9], *b[9];
    struct kernel_block product = {.a = a,
                                   .b = b,
                                   .deep = up(p->deep, TILE_DEEP),
                                   .rows = least(GROUP, p->n - group * GROUP),
                                   .columns = least(BLOCK, p->columns - block * BLOCK),
                                   .apart = area * p->columns};

    p->k->tiles->begin(product.rows);
    for (size_t x = 0; x < width; x++) {
        product.n = list_taps(p, group, block, y, x, a, b);
        product.c = p->to + (group * GROUP * area + y * width + x) * p->columns + block * BLOCK;
        p->k->tiles->multiply(&product);
    }
    p->k->tiles->end();
}

/* One row of a group's maps, and one block of columns. The order of the items decides what stays in
 * the second cache: small maps do, of all groups, while blocks of weights pass; else one group does
 * while all weights pass. */
static void apply_item(void *ctx, size_t item, unsigned thread)
{
    const struct apply *p = ctx;
    size_t height = p->c->height, blocks = up(p->columns, BLOCK), groups = up(p->n, GROUP);
    size_t pair = item / height;

    if (groups * height * p->c->width * pixel_size(p->deep) <= NEAR)
        apply_row(p, pair % groups, pair / groups, item % height);
    else
        apply_row(p, pair / blocks, pair % blocks, item % height);
}

static void apply(const struct conv_work *k, struct apply *p)
{
    workers_do(k->workers, up(p->n, GROUP) * up(p->columns, BLOCK) * p->c->height, apply_item, p);
}

void conv_bf16_forward(struct conv_work *k, const struct conv *c, const float *u, const float *x,
                       size_t n, float *y, float *moments)
{
    struct apply p = {k, c, (uint16_t *)k->v, (const uint16_t *)u, y, n, c->in, c->out, false};

    pack(k, c, k->tiles->pack_rows, x, n, c->in, k->v);
    apply(k, &p);
    conv_moments(k, c, y, n, moments);
}

/* ---- weights' gradients ---- */

struct learn {
    const struct conv_work *k;
    const struct conv *c;
    const uint16_t *x, *dy; /* pairs; turned */
    size_t groups, panel;   /* blocks of outputs of an item */
    float *dw;
};

/* A block's sums: of du [out / 32][in / 32][9][32][32]. */
static float *sums_at(const struct learn *p, size_t o, size_t i, size_t tap)
{
    return p->k->du + ((o * up(p->c->in, BLOCK) + i) * 9 + tap) * SUMS;
}

/* The matrices that a tap joins, of pixels from `from` on of all groups: outputs', and
 * inputs' beside them. */
static size_t list_steps(const struct learn *p, size_t tap, size_t from, size_t to, size_t o,
                         size_t i, const uint16_t **a, const uint16_t **b)
{
    const struct conv *c = p->c;
    size_t y = from / c->width % c->height, x = from % c->width, n = 0;

    for (size_t at = from; at < to; at++) {
        size_t row = y + tap / 3 - 1, column = x + tap % 3 - 1;

        if (row < c->height && column < c->width) {
            a[n] = p->dy + at * pixel_size(c->out) + o * BLOCK * GROUP;
            b[n++] = p->x + (at + row * c->width + column - y * c->width - x) * pixel_size(c->in) +
                     i * BLOCK * GROUP;
        }
        x = x + 1 < c->width ? x + 1 : 0;
        y = x > 0 ? y : y + 1 < c->height ? y + 1 : 0;
    }
    return n;
}

/* What some pixels add to a panel of outputs by 32 inputs. */
static void learn_steps(const struct learn *p, size_t from, size_t to, size_t panel, size_t i)
{
    const struct conv *c = p->c;
    size_t blocks = up(c->out, BLOCK), last = least((panel + 1) * p->panel, blocks);
    const uint16_t *a[STEPS], *b[STEPS];
    struct kernel_block product = {.a = a,
                                   .b = b,
                                   .deep = 1,
                                   .columns = least(BLOCK, c->in - i * BLOCK),
                                   .add = from > 0,
                                   .apart = BLOCK};

    for (size_t o = panel * p->panel; o < last; o++) {
        product.rows = least(BLOCK, c->out - o * BLOCK);
        p->k->tiles->begin(product.rows);
        for (size_t tap = 0; tap < 9; tap++) {
            product.n = list_steps(p, tap, from, to, o, i, a, b);
            product.c = sums_at(p, o, i, tap);
            p->k->tiles->multiply(&product);
        }
        p->k->tiles->end();
    }
}

static void learn_item(void *ctx, size_t item, unsigned thread)
{
    const struct learn *p = ctx;
    size_t blocks = up(p->c->in, BLOCK), steps = p->groups * p->c->height * p->c->width;

    for (size_t from = 0; from < steps; from += STEPS)
        learn_steps(p, from, least(from + STEPS, steps), item / blocks, item % blocks);
}

/* From du to dw [out][in][3][3]. */
static void give_item(void *ctx, size_t o, unsigned thread)
{
    const struct learn *p = ctx;
    size_t in = p->c->in;

    for (size_t i = 0; i < in; i++) {
        const float *sums = sums_at(p, o / BLOCK, i / BLOCK, 0) + o % BLOCK * BLOCK + i % BLOCK;

        for (size_t tap = 0; tap < 9; tap++)
            p->dw[(o * in + i) * 9 + tap] = sums[tap * SUMS];
    }
}

static void learn(struct conv_work *k, const struct conv *c, const float *x, size_t n,
                  const float *dy, float *dw)
{
    struct learn p = {k, c, (uint16_t *)k->v, (uint16_t *)k->m, up(n, GROUP), PANEL, dw};
    size_t outs = up(c->out, BLOCK), ins = up(c->in, BLOCK);

    while (p.panel > 1 && up(outs, p.panel) * ins < 2 * workers_count(k->workers))
        p.panel /= 2;
    pack(k, c, k->tiles->pack_pairs, x, n, c->in, k->v);
    pack(k, c, k->tiles->pack_turned, dy, n, c->out, k->m);
    workers_do(k->workers, up(outs, p.panel) * ins, learn_item, &p);
    workers_do(k->workers, c->out, give_item, &p);
}

/* x is read before it becomes its gradient. */
void conv_bf16_backward(struct conv_work *k, const struct conv *c, const float *u, float *x,
                        size_t n, const float *dy, float *dw)
{
    struct apply p = {k,   c, (uint16_t *)k->m, (const uint16_t *)u + weights_size(c->in, c->out),
                      x,   n, c->out,           c->in,
                      true};

    learn(k, c, x, n, dy, dw);
    pack(k, c, k->tiles->pack_rows, dy, n, c->out, k->m);
    apply(k, &p);
}
