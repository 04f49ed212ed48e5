/* Convolutions in bfloat16, summed in floats.
 *
 * Pictures are taken 32 at a time, and for each pixel they are the rows of a matrix:
 * a pixel's outputs are the sum, over the neighbours that exist, of the neighbour's
 * matrix times the weights of its tap. No pixel is padded, and what lies outside of
 * the map is never multiplied. */
#include "model/conv.h"

enum {
    GROUP = TILE_DEEP,     /* pictures */
    BLOCK = 2 * TILE_ROWS, /* channels of one product */
    STEPS = 256,           /* matrices of one product by which weights learn: both fit a cache */
};

static size_t up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

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
        .du = 9 * c->in * c->out,
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

    (void)thread;
    for (size_t x = 0; x < width; x++)
        p->fn(to + x * pixel_size(p->channels), from + x * p->channels, rows, apart, p->channels);
}

static void pack(struct conv_work *k, const struct conv *c, packer fn, const float *from, size_t n,
                 size_t channels, float *to)
{
    struct pack p = {c, fn, from, (uint16_t *)to, n, channels};

    hands_do(k->hands, up(n, GROUP) * c->height, pack_item, &p);
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

    (void)thread;
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

    hands_do(k->hands, up(c->out, BLOCK), weights_item, &forward);
    hands_do(k->hands, up(c->in, BLOCK), weights_item, &back);
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

/* The pixels of a map's row, for a group of pictures and a block of columns. */
static void apply_item(void *ctx, size_t item, unsigned thread)
{
    const struct apply *p = ctx;
    size_t height = p->c->height, width = p->c->width, pixels = height * width;
    size_t blocks = up(p->columns, BLOCK), block = item / height % blocks;
    size_t group = item / height / blocks, deeps = up(p->deep, TILE_DEEP);
    const uint16_t *a[9], *b[9];
    struct kernel_block product = {.a = a,
                                   .b = b,
                                   .deep = deeps,
                                   .rows = least(GROUP, p->n - group * GROUP),
                                   .columns = least(BLOCK, p->columns - block * BLOCK),
                                   .apart = pixels * p->columns};

    (void)thread;
    p->k->tiles->begin(product.rows);
    for (size_t x = 0; x < width; x++) {
        size_t pixel = item % height * width + x, from;

        product.n = 0;
        product.c = p->to + (group * GROUP * pixels + pixel) * p->columns + block * BLOCK;
        for (size_t tap = 0; tap < 9; tap++)
            if (conv_beside(p->c, pixel, tap, p->against, &from)) {
                a[product.n] = p->from + (group * pixels + from) * pixel_size(p->deep);
                b[product.n++] = p->u + (tap * blocks + block) * deeps * 2 * TILE;
            }
        p->k->tiles->multiply(&product);
    }
    p->k->tiles->end();
}

static void apply(const struct conv_work *k, struct apply *p)
{
    hands_do(k->hands, up(p->n, GROUP) * up(p->columns, BLOCK) * p->c->height, apply_item, p);
}

struct moments {
    const struct conv_work *k;
    struct kernel_map map;
    float *to;
};

static void moments_item(void *ctx, size_t i, unsigned thread)
{
    const struct moments *p = ctx;
    struct kernel_map m = p->map;
    float *to = p->to + i * 2 * m.channels;

    (void)thread;
    m.at += i * m.height * m.width * m.channels;
    p->k->maps->moments(to, to + m.channels, &m);
}

void conv_bf16_forward(struct conv_work *k, const struct conv *c, const float *u, const float *x,
                       size_t n, float *y, float *moments)
{
    struct apply p = {k, c, (uint16_t *)k->v, (const uint16_t *)u, y, n, c->in, c->out, false};
    struct moments m = {k, {c->height, c->width, c->out, y}, moments};

    pack(k, c, k->tiles->pack_rows, x, n, c->in, k->v);
    apply(k, &p);
    if (moments)
        hands_do(k->hands, n, moments_item, &m);
}

/* ---- weights' gradients ---- */

struct learn {
    const struct conv_work *k;
    const struct conv *c;
    const uint16_t *x, *dy; /* pairs; turned */
    size_t groups;
};

/* The matrices of steps [from, to) that a tap joins: outputs' pixels, and the inputs'
 * beside them. */
static size_t list_steps(const struct learn *p, size_t tap, size_t from, size_t to, size_t o,
                         size_t i, const uint16_t **a, const uint16_t **b)
{
    const struct conv *c = p->c;
    size_t pixels = c->height * c->width, n = 0, pixel;

    for (size_t s = from; s < to; s++)
        if (conv_beside(c, s % pixels, tap, false, &pixel)) {
            a[n] = p->dy + s * pixel_size(c->out) + o * TILE_DEEP;
            b[n++] = p->x + (s / pixels * pixels + pixel) * pixel_size(c->in) + i * TILE_DEEP;
        }
    return n;
}

/* Three taps for 32 outputs and 32 inputs. */
static void learn_item(void *ctx, size_t item, unsigned thread)
{
    const struct learn *p = ctx;
    const struct conv *c = p->c;
    size_t blocks = up(c->in, BLOCK), i = item / 3 % blocks * BLOCK, o = item / 3 / blocks * BLOCK;
    size_t first = item % 3 * 3, steps = p->groups * c->height * c->width;
    const uint16_t *a[STEPS], *b[STEPS];
    struct kernel_block product = {.a = a,
                                   .b = b,
                                   .deep = 1,
                                   .rows = least(BLOCK, c->out - o),
                                   .columns = least(BLOCK, c->in - i),
                                   .apart = c->in};

    (void)thread;
    p->k->tiles->begin(product.rows);
    for (size_t from = 0; from < steps; from += STEPS)
        for (size_t tap = first; tap < first + 3; tap++) {
            product.c = p->k->du + (tap * c->out + o) * c->in + i;
            product.n = list_steps(p, tap, from, least(from + STEPS, steps), o, i, a, b);
            product.add = from > 0;
            p->k->tiles->multiply(&product);
        }
    p->k->tiles->end();
}

static void learn(struct conv_work *k, const struct conv *c, const float *x, size_t n,
                  const float *dy)
{
    struct learn p = {k, c, (uint16_t *)k->v, (uint16_t *)k->m, up(n, GROUP)};

    pack(k, c, k->tiles->pack_pairs, x, n, c->in, k->v);
    pack(k, c, k->tiles->pack_turned, dy, n, c->out, k->m);
    hands_do(k->hands, 3 * up(c->out, BLOCK) * up(c->in, BLOCK), learn_item, &p);
}

/* x is read before it becomes its gradient. */
void conv_bf16_backward(struct conv_work *k, const struct conv *c, const float *u, float *x,
                        size_t n, const float *dy)
{
    struct apply p = {k,   c, (uint16_t *)k->m, (const uint16_t *)u + weights_size(c->in, c->out),
                      x,   n, c->out,           c->in,
                      true};

    learn(k, c, x, n, dy);
    pack(k, c, k->tiles->pack_rows, dy, n, c->out, k->m);
    apply(k, &p);
}
