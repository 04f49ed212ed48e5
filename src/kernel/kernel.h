/* kernel: the arithmetic of training, one table of functions per instruction set.
 *
 * What this is: steps over rows and vectors. They know rows, counts and a rate;
 * not words, models or workers. scalar.c is the reference, kept for ever; the
 * others are tested against it.
 * Who owns what: every pointer is borrowed for the length of the call.
 * Threads: any may call. Two threads that write one row race, as Hogwild does;
 * this room is the one place where that happens, and it alone is built without
 * the thread sanitizer.
 *
 * Rows are those of struct table (base.h): 64-byte aligned, padded with zeros to
 * a multiple of KERNEL_LANES floats. Every kernel leaves the padding zero. */
#ifndef SHOAL_KERNEL_H
#define SHOAL_KERNEL_H

#include "base/base.h"

enum {
    KERNEL_MAX_DIM = 4096,
    KERNEL_BYTES = 32,    /* rows of signed bytes are padded to a multiple of these */
    KERNEL_MAX_IN = 128,  /* context rows: a window of 50 on each side, and room */
    KERNEL_MAX_OUT = 72,  /* target and 64 negatives, or a Huffman path */
    KERNEL_LANES = 16,    /* rows and labels are padded to this many floats */
};

#define KERNEL_FAR 1e18f /* from any point: what is there is not felt */

/* One step of logistic regression between m input and k output rows.
 * label[q] is 1 when out[q] is to be predicted and 0 when not: negative
 * sampling is {1, 0, ..., 0}, a Huffman path is its bits inverted.
 *
 *   pairs:  x(i,q) = in[i] . out[q]             for every i and q
 *           g(i,q) = lr (label[q] - sigmoid(x(i,q)))
 *           in[i]  += sum over q of g(i,q) out[q]
 *           out[q] += sum over i of g(i,q) in[i]
 *
 *   bag:    h      = in_scale (sum over i of in[i])
 *           g(q)   = lr (label[q] - sigmoid(h . out[q]))
 *           in[i]  += sum over q of g(q) out[q]
 *           out[q] += g(q) h
 *
 * Right-hand sides are the values before the step. An input row that stands
 * in `in` twice gets both updates; of an output row that stands in `out` twice
 * only one update survives, so let the caller avoid that. */
struct kernel_step {
    float *const *in;   /* [m] */
    float *const *out;  /* [k] */
    const float *label; /* [k], readable to the next multiple of KERNEL_LANES */
    size_t m;           /* 0 .. KERNEL_MAX_IN; 0 does nothing */
    size_t k;           /* 0 .. KERNEL_MAX_OUT; 0 does nothing */
    size_t dim;         /* 1 .. KERNEL_MAX_DIM */
    float lr;
    float in_scale; /* bag only: 1/m for the mean, 1 for the sum */
    double *loss;   /* NULL, or += the step's negative log-likelihood */

    /* Rows that later steps will write. They are fetched into the cache between
     * this step's instructions, where the waiting costs least. */
    const float *const *next; /* [nexts] */
    size_t nexts;
};

/* A row of sparse features x over packed rows of parameters, one each for sgd and
 * two, side by side, for the others. Rows below `hot` stand in `mine`. */
struct kernel_sparse {
    float *at, *mine;
    uint32_t hot;
    const uint32_t *ids; /* [n] */
    const float *values; /* [n]; NULL: all 1 */
    size_t n;
};

/* How a weight changes by its part d = g x of the gradient, row by row:
 *
 *   sgd      w      w = shrink(w - lr (d + l2 w), lr l1)
 *   adagrad  w, n   n += d^2, rate = lr / (sqrt(n) + beta),
 *                   w = shrink(w - rate (d + l2 w), rate l1)    (Duchi et al. 2011)
 *   ftrl     z, n   z += d - (sqrt(n + d^2) - sqrt(n)) / lr * w, n += d^2, where
 *                   w = -shrink(z, l1) / ((beta + sqrt(n)) / lr + l2)
 *                                                              (McMahan et al. 2013)
 *
 * shrink(w, a) is w moved by a towards 0, at most to it. */
struct kernel_rule {
    enum { KERNEL_SGD, KERNEL_ADAGRAD, KERNEL_FTRL } kind;
    float lr, l1, l2, beta;
};

/* Rows of sparse features with labels, learned one after the other. */
struct kernel_rows {
    float *at, *mine; /* packed rows of parameters, as of kernel_sparse */
    uint32_t hot;
    float *bias;           /* such a row; rules leave it unshrunk */
    const uint64_t *start; /* [n + 1] row r has ids and values from start[r] to start[r + 1] */
    const uint32_t *ids;
    const float *values;   /* NULL: all 1 */
    const uint8_t *label;  /* [n] 0 or 1 */
    const float *weight;   /* [n] or NULL: all 1 */
    float scale, positive; /* of all weights, and of class 1 */
    float *margin;         /* [n] gets w . x + bias before the step */
    size_t n;
    size_t ahead; /* rows between the prefetch of a row's parameters and its use; 0: no prefetch */
};

/* ---- narrow layers, samples side by side -------------------------------------------
 *
 * A matrix [rows][ld] has a row for each unit and a column for each sample; ld and
 * cols are multiples of KERNEL_LANES, rows are 64-byte aligned. */

/* y(o) = bias(o) + sum over i of w[o wo + i wi] x(i); then what is below 0 becomes 0
 * when `relu`, and what has a gate not above 0. */
struct kernel_affine {
    float *y;          /* [outs][ld] */
    const float *x;    /* [ins][ld] */
    const float *w;
    size_t wo, wi;
    const float *bias; /* [outs] or NULL */
    const float *gate; /* [outs][ld] or NULL; may be y */
    size_t outs, ins, cols, ld;
    bool relu;
};

/* w[o pitch + i] += sum over columns of a(o) b(i) */
struct kernel_outer {
    float *w;
    size_t pitch;
    const float *a, *b; /* [outs][ld], [ins][ld] */
    size_t outs, ins, cols, ld;
};

/* z becomes softmax(z) by columns; with labels scale x (softmax(z) - 1 at the label),
 * and 0 in columns behind the n-th up to the next multiple of KERNEL_LANES. */
struct kernel_softmax {
    float *z;              /* [outs][ld] */
    const uint32_t *label; /* [n] or NULL */
    size_t outs, n, ld;
    float scale;
};

struct kernel_softmax_sums {
    double loss;   /* of the labels, -log softmax */
    int64_t right; /* no class is likelier than the label */
};

/* A step of an optimizer (store/dense.h has the formulas); fix1 is 1 / (1 - beta1^t),
 * fix2 1 / (1 - beta2^t). */
struct kernel_optim {
    float lr, decay, momentum, beta1, beta2, epsilon, fix1, fix2;
    bool nesterov;
};

/* How a row travels: as its difference to what the other side knows, in few bits (wire.h). */
enum { KERNEL_BF16, KERNEL_INT8, KERNEL_INT4, KERNEL_WIRES };

struct kernel_wire {
    /* Writes x - known; x becomes what unpack will make of it. What rounding left out is the
     * caller's to keep. */
    void (*pack)(void *wire, float *x, const float *known, size_t n);
    void (*unpack)(float *x, const void *wire, const float *known, size_t n);
};

struct kernel {
    const char *name; /* "scalar", "avx2", "avx512" */

    /* Vectors of n floats: any n, any alignment. */
    float (*dot)(const float *x, const float *y, size_t n);
    void (*axpy)(float *y, float a, const float *x, size_t n); /* y += a x */
    void (*scale)(float *x, float a, size_t n);                /* x *= a */
    double (*sumsq)(const float *x, size_t n);
    void (*sigmoid)(float *y, const float *x, size_t n);    /* y may be x */
    void (*logsigmoid)(float *y, const float *x, size_t n); /* y may be x */

    /* x = e^(x + bias - *max), where *max is the largest x + bias; gives the
     * sum of the new x. n > 0. */
    float (*exps)(float *x, const float *bias, float *max, size_t n);

    void (*copy)(float *to, const float *from, size_t n);
    /* x += fresh - base; base = fresh */
    void (*renew)(float *x, float *base, const float *fresh, size_t n);

    /* Joins two changes of a row: x, from base to *row, and y, from base to
     * mine. *row becomes base + (1 - s x.y / |x|^2) x + (1 - s x.y / |y|^2) y:
     * orthogonal changes are added; of parallel ones a share s of each is left
     * out, so that with 1/2 they are averaged. */
    void (*fold)(float *row, const float *mine, const float *base, size_t dim, float s);

    float (*apart)(const float *x, const float *y, size_t n); /* |x - y|^2 */
    /* The same of what x becomes, a copy of `from`, which is read once: others may change it. */
    float (*take)(float *x, const float *from, const float *y, size_t n);
    const struct kernel_wire *wires;                          /* [KERNEL_WIRES] */

    /* Rows of a table, n of them, dim rounded up to the padding. y, such a row, becomes their sum;
     * x is added to each, as often as it stands there. */
    void (*sum_rows)(float *y, const float *const *rows, size_t n, size_t dim);
    void (*add_rows)(float *const *rows, size_t n, const float *x, size_t dim);

    void (*pairs)(const struct kernel_step *step);
    void (*bag)(const struct kernel_step *step);

    /* w . x, and a step along g x. Of a feature that stands in the row twice both
     * changes count; but for sgd both begin at the value before the step. */
    float (*sparse_dot)(const struct kernel_sparse *s, const struct kernel_rule *r);
    void (*sparse_step)(const struct kernel_sparse *s, const struct kernel_rule *r, float g);
    /* z [n] += x w, of the weights of n packed parameters side by side. */
    void (*sparse_scores)(float *z, const float *row, size_t n, const struct kernel_rule *r,
                          float x);
    /* For one row after the other: dot, then a step along (sigmoid(margin) - label) times how
     * much the row counts. As the two above, but for rounding. */
    void (*sparse_learn)(const struct kernel_rows *rows, const struct kernel_rule *r);

    /* Searching. Rows are aligned and padded as those of a table, of any dim.
     * dots: x[i * pitch + r] = in[i] . row r, for m vectors, padded too, and n
     * rows; up to 7 floats behind the last of each i may be overwritten, so
     * pitch >= n + 7. squares: x[r] = row r . row r. A sum's bits depend on its
     * own two vectors alone, not on what else stands in the block. */
    void (*dots)(float *x, size_t pitch, const float *const *in, size_t m, const float *rows,
                 size_t stride, size_t n, size_t dim);
    void (*squares)(float *x, const float *rows, size_t stride, size_t n, size_t dim);

    /* x[r] = in . row r, of n rows of `stride` signed bytes, a multiple of KERNEL_BYTES. Exact: the
     * caller sees to it that no sum leaves an int32_t. Any alignment. */
    void (*dots_bytes)(int32_t *x, const int16_t *in, const int8_t *rows, size_t stride, size_t n);

    /* Points of a plane that push each other away by q = 1 / (1 + their squared distance): for each
     * of m places (at_x, at_y) the sums over all n points of q, q^2 dx and q^2 dy, into sums [m][3],
     * where (dx, dy) leads from the point to the place. n a multiple of KERNEL_LANES; a point at
     * KERNEL_FAR adds nothing. */
    void (*repel)(float *sums, const float *at_x, const float *at_y, size_t m, const float *x,
                  const float *y, size_t n);

    /* The greatest, over j < n, of (b[j] - a[j]) + c[j] and of
     * b[j] c[j] / (a[j] + slack); n a multiple of KERNEL_LANES above 0. What is
     * no number is left out; -infinity when nothing is left. */
    float (*peak_add)(const float *a, const float *b, const float *c, size_t n);
    float (*peak_mul)(const float *a, const float *b, const float *c, float slack, size_t n);

    /* Exact widening of binary16, bfloat16 and signed bytes; n a multiple of
     * KERNEL_LANES. */
    void (*from_half)(float *to, const uint16_t *from, size_t n);
    void (*from_bfloat)(float *to, const uint16_t *from, size_t n);
    void (*from_int8)(float *to, const int8_t *from, size_t n);

    /* Narrow layers. row_sums: out[r] += the sum of row r. */
    void (*affine)(const struct kernel_affine *a);
    void (*outer)(const struct kernel_outer *k);
    void (*row_sums)(float *out, const float *x, size_t rows, size_t cols, size_t ld);
    void (*softmax_columns)(const struct kernel_softmax *k, struct kernel_softmax_sums *done);

    /* Optimizers: any n, any alignment. */
    void (*step_sgd)(const struct kernel_optim *r, float *p, const float *g, size_t n);
    void (*step_momentum)(const struct kernel_optim *r, float *p, const float *g, float *m,
                          size_t n);
    void (*step_adam)(const struct kernel_optim *r, float *p, const float *g, float *m, float *v,
                      size_t n);
};

/* The table named by isa ("scalar", ...), or the fastest this CPU runs when isa
 * is NULL or empty. */
shoal_status kernel_find(const struct kernel **out, const char *isa);
/* kernel_find of the environment variable SHOAL_ISA. */
shoal_status kernel_choose(const struct kernel **out);

/* ---- gemm.c: products of matrices ------------------------------------------- */

/* c = alpha op(a) op(b) + beta c, row-major:
 *
 *     op(a) [m][k]   a is [m][lda], or [k][lda] when ta: then transposed
 *     op(b) [k][n]   b is [k][ldb], or [n][ldb] when tb: then transposed
 *     c     [m][n]   rows of ldc; not read when beta is 0
 *
 * On the calling thread alone, and the same bits for the same arguments: share
 * out blocks of c to use more threads. SHOAL_ISA caps it as it does the
 * kernels; "scalar" is a plain loop. Fails with SHOAL_EINVAL when a leading
 * dimension is too short, with SHOAL_ENOMEM when there is no room for packing. */
shoal_status gemm(bool ta, bool tb, size_t m, size_t n, size_t k, float alpha, const float *a,
                  size_t lda, const float *b, size_t ldb, float beta, float *c, size_t ldc);

/* ---- maps: feature maps of convolutional nets ---------------------------------------- */

/* One picture's features; channels a multiple of KERNEL_LANES. */
struct kernel_map {
    size_t height, width, channels;
    float *at; /* [height][width][channels] */
};

/* z = scale y + shift is what a unit's pixel y becomes before it is rectified;
 * the gradient by y of a loss whose gradient by z is g is
 *
 *     scale g + slope (y - mean) + base
 *
 * (batch norm; without it scale is 1, slope and base are 0). Each [channels]. */
struct kernel_norm {
    const float *scale, *shift, *mean, *slope, *base;
};

/* 3x3 convolutions by Winograd's F(4x4, 3x3) (Lavin and Gray 2015): a tile of 4x4
 * outputs depends on 6x6 inputs, and becomes 36 products of matrices, v x u, one
 * for each place of a transformed tile. `apart` is the distance of two places.
 * (y, x) is the tile's first output; what lies outside the map is 0. */
typedef void kernel_tile(const struct kernel_map *m, size_t y, size_t x, float *v, size_t apart);

struct kernel_maps {
    kernel_tile *tile_in;  /* from the map's inputs to v */
    kernel_tile *tile_out; /* from v to the map's outputs */
    /* Their transposes, for gradients. */
    kernel_tile *tile_back; /* from the map's outputs to v */
    kernel_tile *tile_add;  /* from v, added to the map's inputs */
    /* w [n][3][3] to u [36][apart], and the transpose; n a multiple of KERNEL_LANES. */
    void (*weights_in)(float *u, size_t apart, const float *w, size_t n);
    void (*weights_out)(float *w, const float *u, size_t apart, size_t n);

    /* Per channel the sum, and the sum of squares. */
    void (*moments)(float *sum, float *squares, const struct kernel_map *m);
    /* out = max(z, 0); and the greatest of each 2x2 of them, [height/2][width/2][channels]. */
    void (*rectify)(float *out, const struct kernel_map *m, const struct kernel_norm *n);
    void (*rectify_pool)(float *out, const struct kernel_map *m, const struct kernel_norm *n);
    /* From g, the gradient by `out`: per channel the sums of the gradient by z, and
     * of its product with y - mean; then in place of y the gradient by y. */
    void (*back_sums)(float *sum, float *dots, const struct kernel_map *m, const float *g,
                      const struct kernel_norm *n);
    void (*back_sums_pool)(float *sum, float *dots, const struct kernel_map *m, const float *g,
                           const struct kernel_norm *n);
    void (*back_apply)(const struct kernel_map *m, const float *g, const struct kernel_norm *n);
    void (*back_apply_pool)(const struct kernel_map *m, const float *g,
                            const struct kernel_norm *n);
};

/* Those of the same instruction set. */
const struct kernel_maps *kernel_maps_of(const struct kernel *kernel);

/* ---- tiles: products of bfloat16, summed in floats -------------------------------------- */

enum {
    TILE_ROWS = 16,
    TILE_DEEP = 32, /* numbers that one step multiplies and adds */
    TILE = TILE_ROWS * TILE_DEEP,
};

/* c [rows][columns] = or += the sum over i < n of a[i] b[i], whose numbers lie in tiles:
 *
 *     a[i]  [deep][2][16 rows][32 k]            the second tile holds rows 16 to 31
 *     b[i]  [deep][2][16 pairs of k][16 columns][2]  the second: columns 16 to 31
 *
 * c's rows are `apart` floats from each other. Up to 16 rows or columns, the second
 * tiles are not read. */
struct kernel_block {
    const uint16_t *const *a, *const *b; /* [n] */
    size_t n, deep;
    size_t rows;    /* 1 to 32 */
    size_t columns; /* 16 or 32 */
    bool add;
    float *c;
    size_t apart;
};

struct kernel_tiles {
    const char *name; /* "scalar", "amx" */

    /* Around a thread's products with so many rows. */
    void (*begin)(size_t rows);
    void (*end)(void);
    void (*multiply)(const struct kernel_block *b);

    /* Up to 32 rows of n floats, `apart` from each other; n a multiple of 16.
     *
     *     rows     [n / 32][32 rows][32]       a of a product along n; other rows are not
     *                                          written, numbers behind n are 0
     *     pairs    [n / 16][16 pairs of rows][16][2]   b of a product along the rows
     *     turned   [n / 16][16][32 rows]               a of one
     *
     * In the last two, missing rows are 0. */
    void (*pack_rows)(uint16_t *to, const float *from, size_t rows, size_t apart, size_t n);
    void (*pack_pairs)(uint16_t *to, const float *from, size_t rows, size_t apart, size_t n);
    void (*pack_turned)(uint16_t *to, const float *from, size_t rows, size_t apart, size_t n);
    /* One tile of b from w[k * down + column * across], k < deep <= 32; the rest is 0. */
    void (*pack_weights)(uint16_t *to, const float *w, size_t down, size_t across, size_t deep);
};

/* AMX, after asking the system for it and trying it; fails with SHOAL_EINVAL where
 * there is none. With SHOAL_ISA=scalar, plain loops. */
shoal_status kernel_tiles_choose(const struct kernel_tiles **out);

/* For kernel.c and the tests alone. */
extern const struct kernel kernel_scalar;
extern const struct kernel kernel_avx2;
extern const struct kernel kernel_avx512;
extern const struct kernel_maps kernel_maps_scalar;
extern const struct kernel_maps kernel_maps_avx2;
extern const struct kernel_maps kernel_maps_avx512;
extern const struct kernel_tiles kernel_tiles_scalar;
extern const struct kernel_tiles kernel_tiles_amx;

#endif
