/* conv: 3x3 convolutions for vgg*.c; not a door.
 *
 * What this is: the forward and backward pass of a convolution, padded by 1, over
 * a batch of maps, by the way that suits its size. The products of matrices are
 * the kernel room's gemm.
 * Who owns what: all memory is the caller's; conv_sizes says how much.
 * Threads: a pass uses all workers; its result does not depend on how many
 * they are. */
#ifndef SHOAL_CONV_H
#define SHOAL_CONV_H

#include "base/base.h"
#include "kernel/kernel.h"

/* COLUMNS  few input channels: each output's 3x3 inputs become a column (im2col)
 * TILES    Winograd's F(4x4, 3x3): a quarter of the multiplications
 * TAPS     maps below 4x4: one product for each pixel and each of its neighbours
 *          that exists; at 2x2 that is 16 of 36                                  */
enum conv_how { CONV_COLUMNS, CONV_TILES, CONV_TAPS };

enum { CONV_FEW = 15 }; /* input channels of COLUMNS, at most */

struct conv {
    enum conv_how how;
    size_t in, out, height, width; /* out, and in above CONV_FEW: multiples of KERNEL_LANES */
    size_t tiles;                  /* of a map */
    size_t chunk;                  /* maps worked on together */
};

/* Floats to provide. */
struct conv_sizes {
    size_t u;       /* the weights as the passes use them */
    size_t v, m;    /* transformed inputs and outputs of a chunk */
    size_t du;      /* gradients of u */
    size_t columns; /* for each thread */
};

struct conv_work {
    struct workers *workers;
    const struct kernel_maps *maps;
    const struct kernel_tiles *tiles; /* NULL, or: products are of bfloat16, but not COLUMNS' */
    float *v, *m, *du, *columns; /* the most that any convolution wants */
    size_t columns_size;
    _Atomic bool failed; /* a product of matrices found no memory */
};

void conv_init(struct conv *c, size_t in, size_t out, size_t height, size_t width);
/* bf16: with conv_work.tiles. */
struct conv_sizes conv_sizes(const struct conv *c, size_t batch, bool bf16);

/* w [out][in][3][3] to u. */
void conv_prepare(struct conv_work *k, const struct conv *c, const float *w, float *u);
/* x [n][height][width][in] ([n][in][height][width] for COLUMNS, whose weights are w
 * itself) to y [n][height][width][out]; of each map's channels the sum and the sum
 * of squares into moments [n][2][out], unless that is NULL. */
shoal_status conv_forward(struct conv_work *k, const struct conv *c, const float *u, const float *x,
                          size_t n, float *y, float *moments);
/* dy is the gradient by y; dw [out][in][3][3] that by the weights, and x becomes
 * that by x, but not with COLUMNS, which stand first in a net. */
shoal_status conv_backward(struct conv_work *k, const struct conv *c, const float *u, float *x,
                           size_t n, const float *dy, float *dw);

/* ---- for conv*.c ---- */

static inline size_t up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The pixel beside `pixel` in the direction of a tap, or against it; false where
 * the map ends. */
static inline bool beside(const struct conv *c, size_t pixel, size_t tap, bool against, size_t *out)
{
    size_t down = against ? 2 - tap / 3 : tap / 3, right = against ? 2 - tap % 3 : tap % 3;
    size_t y = pixel / c->width + down - 1, x = pixel % c->width + right - 1;

    *out = y * c->width + x;
    return y < c->height && x < c->width;
}

/* conv_forward's moments of y [n][height][width][out], unless they are NULL. */
void conv_moments(struct conv_work *k, const struct conv *c, float *y, size_t n, float *moments);

/* conv_bf16.c: the same passes in bfloat16. */
struct conv_sizes conv_bf16_sizes(const struct conv *c, size_t batch);
void conv_bf16_prepare(struct conv_work *k, const struct conv *c, const float *w, float *u);
void conv_bf16_forward(struct conv_work *k, const struct conv *c, const float *u, const float *x,
                       size_t n, float *y, float *moments);
void conv_bf16_backward(struct conv_work *k, const struct conv *c, const float *u, float *x,
                        size_t n, const float *dy, float *dw);

#endif
