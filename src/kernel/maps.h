/* The kernels over feature maps, written once and compiled per instruction set
 * by the files that include this; MAPS_TABLE is the table to define. Vectors are
 * those of the compiler, which splits them where the machine's are shorter, and
 * are handed on by pointer: by value they would be an ABI of their own. */
#include "kernel/kernel.h"

#include <string.h>

#define ML KERNEL_LANES

typedef float mv __attribute__((vector_size(4 * ML), may_alias, aligned(4)));
typedef int mi __attribute__((vector_size(4 * ML), may_alias, aligned(4)));

#define MAPS_INLINE static inline __attribute__((always_inline))
#define AT(p) (*(mv *)(p))
#define GET(p) (*(const mv *)(p))

/* ---- Winograd, along one axis: elements of `in` and `out` are so far apart ----
 *
 * The problem: 16 outputs of a 3x3 convolution take 16 x 9 = 144 multiplications for each pair of
 * an input and an output channel. Winograd's F(4x4, 3x3) takes 36 (Lavin and Gray 2015):
 *
 *     Y = A' [ (G w G') . (B' d B) ] A        "." is element by element
 *
 *     d  6x6 inputs     B' d B  6x6 = v     +-----------+     tiles of 4x4 outputs stand side
 *     w  3x3 weights    G w G'  6x6 = u     | +-------+ |     by side; their 6x6 inputs overlap
 *     Y  4x4 outputs    v . u   6x6 = m     | |  4x4  | |     by two rows and columns
 *                                           | +-------+ |
 *                                           +-----------+ 6x6
 *
 * Why it is right: along one axis, 3 weights and 4 outputs are two polynomials whose product has
 * 6 coefficients, so it is known by its values at 6 points (Toom and Cook). G evaluates the weights
 * at the points, and A' and B' are what is left of evaluation and interpolation when the
 * convolution is written as the transpose of that product. Two axes are the same done twice
 * (both_axes). The sum over input channels may be taken before A', for A' is linear: so each of
 * the 36 places is one product of matrices, [tiles][in] x [in][out], which is where the time goes.
 *
 * Gradients use the transposes, for each step is linear in d and in w:
 *
 *     by d:  B [ u . (A dY A') ] B'    added up, as tiles overlap        (tile_back, tile_add)
 *     by w:  G' [ sum over tiles of v . (A dY A') ] G                    (weights_out)
 *
 * The points are 0, +-NEAR, +-FAR and infinity. Where 1 and 2 would need fewer multiplications in
 * the transforms, these points lose half as much to rounding; they and their powers are exact. */
#define NEAR 0.625f
#define FAR 1.5f
#define NEAR2 (NEAR * NEAR)
#define FAR2 (FAR * FAR)
#define BOTH (NEAR2 + FAR2)
#define TIMES (NEAR2 * FAR2)
/* 1 / the product of a point's distances from the other points. */
#define AT_0 (1 / TIMES)
#define AT_NEAR (1 / (2 * NEAR2 * (NEAR2 - FAR2)))
#define AT_FAR (1 / (2 * FAR2 * (FAR2 - NEAR2)))

/* B': 6 pixels. */
MAPS_INLINE void lift(mv *o, size_t os, const mv *d, size_t ds)
{
    mv d1 = d[ds], d2 = d[2 * ds], d3 = d[3 * ds], d4 = d[4 * ds];
    mv even = d4 - FAR2 * d2, odd = NEAR * (d3 - FAR2 * d1);
    mv far = d4 - NEAR2 * d2, skew = FAR * (d3 - NEAR2 * d1);

    o[0] = TIMES * d[0] - BOTH * d2 + d4;
    o[os] = even + odd;
    o[2 * os] = even - odd;
    o[3 * os] = far + skew;
    o[4 * os] = far - skew;
    o[5 * os] = TIMES * d1 - BOTH * d3 + d[5 * ds];
}

/* B: the same transposed. */
MAPS_INLINE void unlift(mv *o, size_t os, const mv *v, size_t vs)
{
    mv v0 = v[0], v1 = v[vs], v2 = v[2 * vs], v3 = v[3 * vs], v4 = v[4 * vs], v5 = v[5 * vs];
    mv near = v1 + v2, far = v3 + v4, apart = NEAR * (v1 - v2), wide = FAR * (v3 - v4);

    o[0] = TIMES * v0;
    o[os] = TIMES * v5 - FAR2 * apart - NEAR2 * wide;
    o[2 * os] = -BOTH * v0 - FAR2 * near - NEAR2 * far;
    o[3 * os] = apart + wide - BOTH * v5;
    o[4 * os] = v0 + near + far;
    o[5 * os] = v5;
}

/* A': 4 pixels of 6 products. */
MAPS_INLINE void lower(mv *o, size_t os, const mv *m, size_t ms)
{
    mv m1 = m[ms], m2 = m[2 * ms], m3 = m[3 * ms], m4 = m[4 * ms];
    mv near = m1 + m2, far = m3 + m4, apart = NEAR * (m1 - m2), wide = FAR * (m3 - m4);

    o[0] = m[0] + near + far;
    o[os] = apart + wide;
    o[2 * os] = NEAR2 * near + FAR2 * far;
    o[3 * os] = NEAR2 * apart + FAR2 * wide + m[5 * ms];
}

/* A: the same transposed. */
MAPS_INLINE void unlower(mv *o, size_t os, const mv *y, size_t ys)
{
    mv y0 = y[0], y1 = y[ys], y2 = y[2 * ys], y3 = y[3 * ys];
    mv even = y0 + NEAR2 * y2, odd = NEAR * (y1 + NEAR2 * y3);
    mv far = y0 + FAR2 * y2, wide = FAR * (y1 + FAR2 * y3);

    o[0] = y0;
    o[os] = even + odd;
    o[2 * os] = even - odd;
    o[3 * os] = far + wide;
    o[4 * os] = far - wide;
    o[5 * os] = y3;
}

/* G: 3 weights. */
MAPS_INLINE void spread(mv *o, size_t os, const mv *w, size_t ws)
{
    mv w0 = w[0], w1 = w[ws], w2 = w[2 * ws];
    mv even = AT_NEAR * (w0 + NEAR2 * w2), odd = AT_NEAR * NEAR * w1;
    mv far = AT_FAR * (w0 + FAR2 * w2), wide = AT_FAR * FAR * w1;

    o[0] = AT_0 * w0;
    o[os] = even + odd;
    o[2 * os] = even - odd;
    o[3 * os] = far + wide;
    o[4 * os] = far - wide;
    o[5 * os] = w2;
}

/* G': the same transposed. */
MAPS_INLINE void unspread(mv *o, size_t os, const mv *u, size_t us)
{
    mv near = AT_NEAR * (u[us] + u[2 * us]), far = AT_FAR * (u[3 * us] + u[4 * us]);
    mv apart = u[us] - u[2 * us], wide = u[3 * us] - u[4 * us];

    o[0] = AT_0 * u[0] + near + far;
    o[os] = AT_NEAR * NEAR * apart + AT_FAR * FAR * wide;
    o[2 * os] = NEAR2 * near + FAR2 * far + u[5 * us];
}

/* ---- tiles ---- */

/* n x n pixels from (y, x) on, which may lie outside: there all is 0. */
MAPS_INLINE void take_tile(mv *d, size_t n, const struct kernel_map *m, size_t y, size_t x,
                           const float *at)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            d[i * n + j] = y + i < m->height && x + j < m->width
                               ? GET(at + ((y + i) * m->width + x + j) * m->channels)
                               : (mv){0};
}

/* A transform of columns, then of rows: d [from][from] to o [to][to], which may be d. */
MAPS_INLINE void both_axes(mv *o, size_t to, const mv *d, size_t from,
                           void (*axis)(mv *o, size_t os, const mv *d, size_t ds))
{
    mv t[36];

    for (size_t j = 0; j < from; j++)
        axis(t + j, from, d + j, from);
    for (size_t i = 0; i < to; i++)
        axis(o + to * i, 1, t + from * i, 1);
}

/* The 36 places of a transformed tile. */
MAPS_INLINE void get_places(mv *d, const float *v, size_t apart)
{
    for (size_t i = 0; i < 36; i++)
        d[i] = GET(v + i * apart);
}

MAPS_INLINE void put_places(float *v, size_t apart, const mv *d)
{
    for (size_t i = 0; i < 36; i++)
        AT(v + i * apart) = d[i];
}

static void tile_in(const struct kernel_map *m, size_t y, size_t x, float *v, size_t apart)
{
    for (size_t c = 0; c < m->channels; c += ML) {
        mv d[36];

        take_tile(d, 6, m, y - 1, x - 1, m->at + c);
        both_axes(d, 6, d, 6, lift);
        put_places(v + c, apart, d);
    }
}

static void tile_out(const struct kernel_map *m, size_t y, size_t x, float *v, size_t apart)
{
    for (size_t c = 0; c < m->channels; c += ML) {
        mv d[36];

        get_places(d, v + c, apart);
        both_axes(d, 4, d, 6, lower);
        for (size_t i = 0; i < 4; i++)
            for (size_t j = 0; j < 4; j++)
                if (y + i < m->height && x + j < m->width)
                    AT(m->at + ((y + i) * m->width + x + j) * m->channels + c) = d[4 * i + j];
    }
}

static void tile_back(const struct kernel_map *m, size_t y, size_t x, float *v, size_t apart)
{
    for (size_t c = 0; c < m->channels; c += ML) {
        mv d[36];

        take_tile(d, 4, m, y, x, m->at + c);
        both_axes(d, 6, d, 4, unlower);
        put_places(v + c, apart, d);
    }
}

static void tile_add(const struct kernel_map *m, size_t y, size_t x, float *v, size_t apart)
{
    for (size_t c = 0; c < m->channels; c += ML) {
        mv d[36];

        get_places(d, v + c, apart);
        both_axes(d, 6, d, 6, unlift);
        for (size_t i = 0; i < 6; i++)
            for (size_t j = 0; j < 6; j++)
                if (y - 1 + i < m->height && x - 1 + j < m->width)
                    AT(m->at + ((y - 1 + i) * m->width + x - 1 + j) * m->channels + c) +=
                        d[6 * i + j];
    }
}

/* ---- weights ---- */

static void weights_in(float *u, size_t apart, const float *w, size_t n)
{
    for (size_t c = 0; c < n; c += ML) {
        mv d[36];

        for (size_t k = 0; k < 9; k++)
            for (size_t j = 0; j < ML; j++)
                d[k][j] = w[(c + j) * 9 + k];
        both_axes(d, 6, d, 3, spread);
        put_places(u + c, apart, d);
    }
}

static void weights_out(float *w, const float *u, size_t apart, size_t n)
{
    for (size_t c = 0; c < n; c += ML) {
        mv d[36];

        get_places(d, u + c, apart);
        both_axes(d, 3, d, 6, unspread);
        for (size_t k = 0; k < 9; k++)
            for (size_t j = 0; j < ML; j++)
                w[(c + j) * 9 + k] = d[k][j];
    }
}

/* ---- normalising ---- */

static void moments(float *sum, float *squares, const struct kernel_map *m)
{
    size_t rows = m->height * m->width;

    for (size_t c = 0; c < m->channels; c += ML) {
        mv s0 = {0}, s1 = {0}, q0 = {0}, q1 = {0};
        const float *x = m->at + c;
        size_t r = 0;

        for (; r + 2 <= rows; r += 2, x += 2 * m->channels) {
            mv a = GET(x), b = GET(x + m->channels);

            s0 += a;
            s1 += b;
            q0 += a * a;
            q1 += b * b;
        }
        if (r < rows) {
            s0 += GET(x);
            q0 += GET(x) * GET(x);
        }
        AT(sum + c) = s0 + s1;
        AT(squares + c) = q0 + q1;
    }
}

#define MAX0(z) ((mv)((mi)(z) & ((z) > 0)))

static void rectify(float *out, const struct kernel_map *m, const struct kernel_norm *n)
{
    size_t rows = m->height * m->width;

    for (size_t r = 0; r < rows; r++) {
        const float *y = m->at + r * m->channels;

        for (size_t c = 0; c < m->channels; c += ML) {
            mv z = GET(n->scale + c) * GET(y + c) + GET(n->shift + c);

            AT(out + r * m->channels + c) = MAX0(z);
        }
    }
}

static void rectify_pool(float *out, const struct kernel_map *m, const struct kernel_norm *n)
{
    size_t across = m->width * m->channels;

    for (size_t i = 0; i < m->height / 2; i++)
        for (size_t j = 0; j < m->width / 2; j++, out += m->channels) {
            const float *y = m->at + 2 * i * across + 2 * j * m->channels;

            for (size_t c = 0; c < m->channels; c += ML) {
                mv a = GET(n->scale + c), b = GET(n->shift + c), most = {0};
                const float *four[4] = {y + c, y + c + m->channels, y + c + across,
                                        y + c + across + m->channels};

                for (size_t k = 0; k < 4; k++) {
                    mv z = a * GET(four[k]) + b;

                    most = (mv)(((mi)z & (z > most)) | ((mi)most & ~(z > most)));
                }
                AT(out + c) = most;
            }
        }
}

static void back_sums(float *sum, float *dots, const struct kernel_map *m, const float *g,
                      const struct kernel_norm *n)
{
    size_t rows = m->height * m->width;

    for (size_t c = 0; c < m->channels; c += ML) {
        mv a = GET(n->scale + c), b = GET(n->shift + c), mean = GET(n->mean + c);
        mv s = {0}, q = {0};

        for (size_t r = 0; r < rows; r++) {
            mv y = GET(m->at + r * m->channels + c), z = a * y + b;
            mv d = (mv)((mi)GET(g + r * m->channels + c) & (z > 0));

            s += d;
            q += d * (y - mean);
        }
        AT(sum + c) = s;
        AT(dots + c) = q;
    }
}

static void back_apply(const struct kernel_map *m, const float *g, const struct kernel_norm *n)
{
    size_t rows = m->height * m->width;

    for (size_t r = 0; r < rows; r++, g += m->channels) {
        float *at = m->at + r * m->channels;

        for (size_t c = 0; c < m->channels; c += ML) {
            mv y = GET(at + c), a = GET(n->scale + c), z = a * y + GET(n->shift + c);
            mv d = (mv)((mi)GET(g + c) & (z > 0));

            AT(at + c) = a * d + (GET(n->slope + c) * (y - GET(n->mean + c)) + GET(n->base + c));
        }
    }
}

/* The four pixels of a window and which of them gets the gradient: the first of
 * the greatest, if it is above 0. */
struct window4 {
    mv y[4], d[4];
};

MAPS_INLINE void choose(struct window4 *w, const float *y, size_t across, size_t channels,
                        const float *g, const mv *a, const mv *b)
{
    const float *four[4] = {y, y + channels, y + across, y + across + channels};
    mv z[4], most = {0};
    mi left;

    for (size_t k = 0; k < 4; k++) {
        w->y[k] = GET(four[k]);
        z[k] = *a * w->y[k] + *b;
        most = (mv)(((mi)z[k] & (z[k] > most)) | ((mi)most & ~(z[k] > most)));
    }
    left = most > 0;
    for (size_t k = 0; k < 4; k++) {
        mi mine = left & (z[k] == most);

        w->d[k] = (mv)((mi)GET(g) & mine);
        left &= ~mine;
    }
}

static void back_sums_pool(float *sum, float *dots, const struct kernel_map *m, const float *g,
                           const struct kernel_norm *n)
{
    size_t across = m->width * m->channels;

    memset(sum, 0, m->channels * sizeof *sum);
    memset(dots, 0, m->channels * sizeof *dots);
    for (size_t i = 0; i < m->height / 2; i++)
        for (size_t j = 0; j < m->width / 2; j++, g += m->channels) {
            const float *y = m->at + 2 * i * across + 2 * j * m->channels;

            for (size_t c = 0; c < m->channels; c += ML) {
                mv a = GET(n->scale + c), b = GET(n->shift + c), mean = GET(n->mean + c);
                struct window4 w;

                choose(&w, y + c, across, m->channels, g + c, &a, &b);
                AT(sum + c) += w.d[0] + w.d[1] + w.d[2] + w.d[3];
                AT(dots + c) += w.d[0] * (w.y[0] - mean) + w.d[1] * (w.y[1] - mean) +
                                w.d[2] * (w.y[2] - mean) + w.d[3] * (w.y[3] - mean);
            }
        }
}

/* A pixel that no window has, in an odd row or column. */
static void back_alone(float *at, size_t channels, const struct kernel_norm *n)
{
    for (size_t c = 0; c < channels; c += ML)
        AT(at + c) = GET(n->slope + c) * (GET(at + c) - GET(n->mean + c)) + GET(n->base + c);
}

static void back_edges(const struct kernel_map *m, const struct kernel_norm *n)
{
    for (size_t i = 0; i < m->height; i++)
        for (size_t j = 0; j < m->width; j++)
            if (i >= m->height / 2 * 2 || j >= m->width / 2 * 2)
                back_alone(m->at + (i * m->width + j) * m->channels, m->channels, n);
}

static void back_apply_pool(const struct kernel_map *m, const float *g, const struct kernel_norm *n)
{
    size_t across = m->width * m->channels;

    for (size_t i = 0; i < m->height / 2; i++)
        for (size_t j = 0; j < m->width / 2; j++, g += m->channels) {
            float *y = m->at + 2 * i * across + 2 * j * m->channels;

            for (size_t c = 0; c < m->channels; c += ML) {
                mv a = GET(n->scale + c), b = GET(n->shift + c), mean = GET(n->mean + c);
                mv slope = GET(n->slope + c), base = GET(n->base + c);
                float *four[4] = {y + c, y + c + m->channels, y + c + across,
                                  y + c + across + m->channels};
                struct window4 w;

                choose(&w, y + c, across, m->channels, g + c, &a, &b);
                for (size_t k = 0; k < 4; k++)
                    AT(four[k]) = a * w.d[k] + (slope * (w.y[k] - mean) + base);
            }
        }
    if (m->height % 2 != 0 || m->width % 2 != 0)
        back_edges(m, n);
}

const struct kernel_maps MAPS_TABLE = {
    .tile_in = tile_in,
    .tile_out = tile_out,
    .tile_back = tile_back,
    .tile_add = tile_add,
    .weights_in = weights_in,
    .weights_out = weights_out,
    .moments = moments,
    .rectify = rectify,
    .rectify_pool = rectify_pool,
    .back_sums = back_sums,
    .back_sums_pool = back_sums_pool,
    .back_apply = back_apply,
    .back_apply_pool = back_apply_pool,
};
