/* Part of simd.h: one step between input and output rows; kernel.h has the formulas.
 *
 * The problem: in skip-gram each of the m words of a window (in) is to predict the same k rows
 * (out): the centre and the noise that the window shares. Taken pair by pair that is m k dot
 * products and as many updates, each of which loads two rows and does little with them. Because
 * the noise is shared, it is a product of small matrices instead (Ji et al. 2016, "Parallelizing
 * Word2Vec in Shared and Distributed Memory"), and a loaded vector is used several times:
 *
 *   score     x[i][q] = in[i] . out[q]           tiles of SCORE_M x SCORE_K sums in registers
 *
 *                       out 0  out 1  ..  out 5
 *               in 0  |  x      x          x   |   each vector of `in` is used SCORE_K times,
 *               in 1  |  x      x          x   |   each of `out` SCORE_M times
 *
 *   gradient  x = lr (label - sigmoid(x))        whole vectors, several scores each
 *   update    column by column, a vector's width at a time: the k output rows stay in registers,
 *             old and new, while every input row passes through once:
 *
 *               in[i] += sum over q of x[i][q] old[q]      new[q] += x[i][q] in[i] (as it was)
 *
 * Why it is right: all right-hand sides are to be the values before the step. An input row is
 * loaded before it is stored, and the output rows are read as `old`, never as `new`. When k rows
 * are more than the registers hold, an input row meets several blocks of them and must not change
 * in between: update_many adds up its changes in `delta` first.
 *
 * Loops over registers must be unrolled, or the registers become memory; so the counts are made
 * constants by WITH_CONSTANT, and the usual step (6 outputs, up to 10 inputs) has both constant. */
/* ---- sums of many vectors at once ---- */

/* Halves of 8 lanes: what remains of a vector when the score of one input row
 * is to stand in 8 neighbouring floats, whatever the vector's width. */
typedef float v8 __attribute__((vector_size(32), may_alias));
typedef float v8_any __attribute__((vector_size(32), may_alias, aligned(4)));

INLINE v8 half_of(vf x)
{
#if VBYTES == 32
    return x;
#else
    return __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
           __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
#endif
}

/* The sums of neighbouring lanes of x, then of y, in each half: one step of a
 * transpose whose outputs are added at once. */
INLINE v8 add_pairs(v8 x, v8 y)
{
    return __builtin_shufflevector(x, y, 0, 2, 8, 10, 4, 6, 12, 14) +
           __builtin_shufflevector(x, y, 1, 3, 9, 11, 5, 7, 13, 15);
}

INLINE v8 add_halves(v8 x, v8 y)
{
    return __builtin_shufflevector(x, y, 0, 1, 2, 3, 8, 9, 10, 11) +
           __builtin_shufflevector(x, y, 4, 5, 6, 7, 12, 13, 14, 15);
}

/* Lane q of the result is the sum of x[q], for q < k <= 8. */
INLINE v8 sums(const vf *x, const int k)
{
    v8 part[8] = {{0}};

    UNROLL for (int q = 0; q < 8; q++)
        if (q < k)
            part[q] = half_of(x[q]);
    UNROLL for (int q = 0; q < 8; q += 2)
        if (q < k)
            part[q] = add_pairs(part[q], part[q + 1]);
    part[0] = add_pairs(part[0], part[2]);
    if (k > 4)
        part[4] = add_pairs(part[4], part[6]);
    return add_halves(part[0], part[4]);
}

/* ---- the step ---- */

enum { MAX_PITCH = KERNEL_MAX_OUT + 24 };

/* Floats between the scores of one input row and the next. Blocks of scores
 * are written 8 floats at a time, so a row has room for a block's overhang. */
INLINE size_t pitch_of(size_t k)
{
    return k <= SCORE_K ? 8 : (k + 8 + 15) / 16 * 16;
}

/* Calls DO(n) with n a constant from 1 to 6, so that loops over n unroll. */
#define WITH_CONSTANT(n, DO) \
    switch (n) {             \
    case 1: DO(1); break;    \
    case 2: DO(2); break;    \
    case 3: DO(3); break;    \
    case 4: DO(4); break;    \
    case 5: DO(5); break;    \
    case 6: DO(6); break;    \
    default: break;          \
    }

/* The same from 1 to 10, the windows of the usual five words on each side. */
#define WITH_CONSTANT_10(n, DO) \
    switch (n) {                \
    case 1: DO(1); break;       \
    case 2: DO(2); break;       \
    case 3: DO(3); break;       \
    case 4: DO(4); break;       \
    case 5: DO(5); break;       \
    case 6: DO(6); break;       \
    case 7: DO(7); break;       \
    case 8: DO(8); break;       \
    case 9: DO(9); break;       \
    case 10: DO(10); break;     \
    default: break;             \
    }

/* How many of the n rows left the next block takes: as few blocks as fit, all
 * of about one size. */
INLINE size_t block_of(size_t n, size_t most)
{
    size_t blocks = (n + most - 1) / most;

    return n <= most ? n : (n + blocks - 1) / blocks;
}

/* x[i][q] = in[i] . out[q] for a tile of m by k rows, both constants. */
INLINE void score_tile(float *x, size_t pitch, float *const *in, const int m,
                       float *const *out, const int k, size_t dim)
{
    const float *a[SCORE_M], *b[SCORE_K];
    vf acc[SCORE_M][8];

    UNROLL for (int i = 0; i < m; i++)
        a[i] = in[i];
    UNROLL for (int q = 0; q < k; q++)
        b[q] = out[q];
    UNROLL for (int i = 0; i < m; i++)
        UNROLL for (int q = 0; q < k; q++)
            acc[i][q] = (vf){0};
    for (size_t j = 0; j < dim; j += VL) {
        vf r[SCORE_M];

        UNROLL for (int i = 0; i < m; i++)
            r[i] = load(a[i] + j);
        UNROLL for (int q = 0; q < k; q++) {
            vf o = in_register(load(b[q] + j));
            UNROLL for (int i = 0; i < m; i++)
                acc[i][q] = madd(r[i], o, acc[i][q]);
        }
    }
    UNROLL for (int i = 0; i < m; i++)
        *(v8_any *)(x + (size_t)i * pitch) = sums(acc[i], k);
}

INLINE void score_block(float *x, size_t pitch, float *const *in, size_t m, float *const *out,
                        const int k, size_t dim)
{
    size_t i = 0;

    for (; i + SCORE_M <= m; i += SCORE_M)
        score_tile(x + i * pitch, pitch, in + i, SCORE_M, out, k, dim);
#if VBYTES == 64
    if (i + 2 <= m) {
        score_tile(x + i * pitch, pitch, in + i, 2, out, k, dim);
        i += 2;
    }
#endif
    if (i < m)
        score_tile(x + i * pitch, pitch, in + i, 1, out, k, dim);
}

static void score(float *x, size_t pitch, const struct kernel_step *s)
{
    size_t n;

    for (size_t q = 0; q < s->k; q += n) {
        n = block_of(s->k - q, SCORE_K);
#define DO(N) score_block(x + q, pitch, s->in, s->m, s->out + q, N, s->dim)
        WITH_CONSTANT(n, DO)
#undef DO
    }
}

static double loss_of(const float *x, size_t pitch, const struct kernel_step *s, size_t m)
{
    double total = 0;

    for (size_t i = 0; i < m; i++) {
        float row[MAX_PITCH] = {0};

        for (size_t q = 0; q < s->k; q++)
            row[q] = s->label[q] > 0.5f ? x[i * pitch + q] : -x[i * pitch + q];
        logsigmoid(row, row, s->k);
        for (size_t q = 0; q < s->k; q++)
            total -= (double)row[q];
    }
    return total;
}

/* The labels of a vector of scores when a row has 8: a vector of 16 holds two
 * rows' scores. */
INLINE vf label_few(const float *label)
{
#if VBYTES == 32
    return load_any(label);
#else
    v8 x = *(const v8_any *)label;
    return __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
#endif
}

INLINE vf step_of(vf x, vf label, vf lr)
{
    return lr * (label - sigmoid_of(x));
}

/* Scores become steps: x = lr (label - sigmoid(x)). Lanes that stand for no
 * output row compute something finite that nobody reads. */
static void gradient(float *x, size_t pitch, const struct kernel_step *s, size_t m)
{
    float label[MAX_PITCH];
    vf lr = all(s->lr);

    if (pitch == 8) {
        vf few = label_few(s->label);
        for (size_t j = 0; j < m * pitch; j += VL)
            store_any(x + j, step_of(load_any(x + j), few, lr));
        return;
    }
    memcpy(label, s->label, s->k * sizeof *label);
    memset(label + s->k, 0, (pitch - s->k) * sizeof *label);
    for (size_t i = 0; i < m; i++, x += pitch)
        for (size_t j = 0; j < pitch; j += VL)
            store_any(x + j, step_of(load_any(x + j), load_any(label + j), lr));
}

/* The cache line that holds float j of each row a later step will write: as
 * ours at once, so that writing need not ask the other cores again. */
INLINE void fetch_next(const struct kernel_step *s, size_t j)
{
    for (size_t r = 0; r < s->nexts; r++)
        __asm__ volatile("prefetchw %0" : : "m"(s->next[r][j]));
}

/* One vector's width of one input row, with k output rows. */
INLINE void update_row(float *row, const vf *old, vf *new, const int k, const float *g)
{
    vf c = load(row), d = c;

    UNROLL for (int q = 0; q < k; q++) {
        vf step = all(g[q]);
        new[q] = madd(step, c, new[q]);
        d = madd(step, old[q], d);
    }
    store(row, d);
}

/* Both updates of one vector's width of every row: the k output rows stay in
 * registers, old and new, while each input row passes through once. */
INLINE void update_tile(float *const *in, const size_t m, float *const *out, const int k,
                        const float *g, size_t pitch, size_t j)
{
    vf old[UPDATE_K], new[UPDATE_K];

    /* Steps are cheapest broadcast from memory; hoisted, they would spill. */
    __asm__ volatile("" : : : "memory");
    UNROLL for (int q = 0; q < k; q++)
        old[q] = new[q] = load(out[q] + j);
    EACH_ROW(i, 0, m, update_row(in[i] + j, old, new, k, g + i * pitch))
    UNROLL for (int q = 0; q < k; q++)
        store(out[q] + j, new[q]);
}

/* As update_tile, but the input rows' changes gather in delta, because more
 * output rows follow that must still see the old input. */
INLINE void update_part(float *const *in, size_t m, float *const *out, const int k,
                        const float *g, size_t pitch, size_t j, vf *delta)
{
    vf old[UPDATE_K], new[UPDATE_K];

    UNROLL for (int q = 0; q < k; q++)
        old[q] = new[q] = load(out[q] + j);
    for (size_t i = 0; i < m; i++, g += pitch) {
        vf c = load(in[i] + j), d = delta[i];

        UNROLL for (int q = 0; q < k; q++) {
            vf step = all(g[q]);
            new[q] = madd(step, c, new[q]);
            d = madd(step, old[q], d);
        }
        delta[i] = d;
    }
    UNROLL for (int q = 0; q < k; q++)
        store(out[q] + j, new[q]);
}

/* The usual step, five negatives and at most ten inputs: with both counts
 * constant nothing is left for the branch predictor to get wrong. */
static void update_usual(const struct kernel_step *s, const float *g)
{
    float *const *in = s->in, *const *out = s->out;
    size_t dim = s->dim;

#define DO(M)                                \
    for (size_t j = 0; j < dim; j += VL) {   \
        if (j % 16 == 0)                     \
            fetch_next(s, j);                \
        update_tile(in, M, out, 6, g, 8, j); \
    }
    WITH_CONSTANT_10(s->m, DO)
#undef DO
}

static void update_few(const struct kernel_step *s, const float *g, size_t pitch)
{
#define DO(N)                                             \
    for (size_t j = 0; j < s->dim; j += VL) {             \
        if (j % 16 == 0)                                  \
            fetch_next(s, j);                             \
        update_tile(s->in, s->m, s->out, N, g, pitch, j); \
    }
    WITH_CONSTANT(s->k, DO)
#undef DO
}

static void update_many(const struct kernel_step *s, const float *g, size_t pitch)
{
    vf delta[KERNEL_MAX_IN];
    size_t n;

    for (size_t j = 0; j < s->dim; j += VL) {
        if (j % 16 == 0)
            fetch_next(s, j);
        for (size_t i = 0; i < s->m; i++)
            delta[i] = (vf){0};
        for (size_t q = 0; q < s->k; q += n) {
            n = block_of(s->k - q, 6);
#define DO(N) update_part(s->in, s->m, s->out + q, N, g + q, pitch, j, delta)
            WITH_CONSTANT(n, DO)
#undef DO
        }
        for (size_t i = 0; i < s->m; i++)
            store(s->in[i] + j, load(s->in[i] + j) + delta[i]);
    }
}

static void pairs(const struct kernel_step *s)
{
    _Alignas(64) float x[KERNEL_MAX_IN * MAX_PITCH];
    size_t pitch = pitch_of(s->k);

    if (s->m == 0 || s->k == 0)
        return;
    if (VL == 16 && pitch == 8 && s->m % 2 == 1)
        memset(x + s->m * pitch, 0, 8 * sizeof *x);
    score(x, pitch, s);
    if (s->loss)
        *s->loss += loss_of(x, pitch, s, s->m);
    gradient(x, pitch, s, s->m);
    if (!KERNEL_SMALL && s->k == 6 && s->m <= 10)
        update_usual(s, x);
    else if (s->k <= 6)
        update_few(s, x, pitch);
    else
        update_many(s, x, pitch);
}

/* ---- the step over the sum of the input rows ---- */

/* The rows' sums are taken BAG_W vectors at a time: enough independent adds to
 * hide their latency, and each row's address is computed once for all of them. */
enum { BAG_W = 4 };

INLINE void bag_add(vf *t, const float *row, const int w)
{
    UNROLL for (int v = 0; v < w; v++)
        t[v] += load(row + v * VL);
}

/* h = in_scale * sum of in over w vectors from j, and acc[q] += h * out[q]. */
INLINE void bag_gather_tile(float *h, vf *acc, const struct kernel_step *s, const size_t m,
                            const int k, const int w, size_t j)
{
    vf t[BAG_W] = {{0}};

    for (size_t v = j; v < j + (size_t)w * VL; v += 16)
        if (v % 16 == 0)
            fetch_next(s, v);
    bag_add(t, s->in[0] + j, w);
    EACH_ROW(i, 1, m, bag_add(t, s->in[i] + j, w))
    UNROLL for (int v = 0; v < w; v++) {
        t[v] *= all(s->in_scale);
        store(h + j + v * VL, t[v]);
    }
    UNROLL for (int q = 0; q < k; q++) {
        const float *row = s->out[q] + j;
        UNROLL for (int v = 0; v < w; v++)
            acc[q] = madd(t[v], load(row + v * VL), acc[q]);
    }
}

/* h, and x[q] = h . out[q] for the first k rows. */
INLINE void bag_gather(float *h, float *x, const struct kernel_step *s, const size_t m,
                       const int k)
{
    size_t j = 0;
    vf acc[8];

    UNROLL for (int q = 0; q < k; q++)
        acc[q] = (vf){0};
    for (; j + (BAG_W - 1) * VL < s->dim; j += BAG_W * VL)
        bag_gather_tile(h, acc, s, m, k, BAG_W, j);
    for (; j < s->dim; j += VL)
        bag_gather_tile(h, acc, s, m, k, 1, j);
    *(v8_any *)x = sums(acc, k);
}

/* d += sum of g[q] out[q], and out[q] += g[q] h, over w vectors from j. */
INLINE void bag_update_tile(vf *d, const float *h, float *const *out, const int k,
                            const vf *step, const int w, size_t j)
{
    vf t[BAG_W];

    UNROLL for (int v = 0; v < w; v++)
        t[v] = load(h + j + v * VL);
    UNROLL for (int q = 0; q < k; q++) {
        float *row = out[q] + j;
        UNROLL for (int v = 0; v < w; v++) {
            vf o = load(row + v * VL);
            d[v] = madd(step[q], o, d[v]);
            store(row + v * VL, madd(step[q], t[v], o));
        }
    }
}

INLINE void bag_spread(float *row, const vf *d, const int w)
{
    UNROLL for (int v = 0; v < w; v++)
        store(row + v * VL, load(row + v * VL) + d[v]);
}

INLINE void bag_finish_tile(const struct kernel_step *s, const float *h, const size_t m,
                            const int k, const vf *step, const int w, size_t j)
{
    vf d[BAG_W] = {{0}};

    bag_update_tile(d, h, s->out, k, step, w, j);
    EACH_ROW(i, 0, m, bag_spread(s->in[i] + j, d, w))
}

/* When k rows are all there are, the change of the input rows need not be
 * kept: it goes to them at once. */
INLINE void bag_finish(const struct kernel_step *s, const float *h, const size_t m, const int k,
                       const float *g)
{
    size_t j = 0;
    vf step[8];

    UNROLL for (int q = 0; q < k; q++)
        step[q] = all(g[q]);
    for (; j + (BAG_W - 1) * VL < s->dim; j += BAG_W * VL)
        bag_finish_tile(s, h, m, k, step, BAG_W, j);
    for (; j < s->dim; j += VL)
        bag_finish_tile(s, h, m, k, step, 1, j);
}

/* e += sum of g[q] out[q], and out[q] += g[q] h. */
INLINE void bag_update(float *e, const float *h, float *const *out, const int k, const float *g,
                       size_t dim)
{
    vf step[8], d;

    UNROLL for (int q = 0; q < k; q++)
        step[q] = all(g[q]);
    for (size_t j = 0; j < dim; j += VL) {
        d = load(e + j);
        bag_update_tile(&d, h, out, k, step, 1, j);
        store(e + j, d);
    }
}

static void bag_many(const struct kernel_step *s, float *h, float *x, size_t pitch)
{
    _Alignas(64) float e[KERNEL_MAX_DIM];
    struct kernel_step one = *s;
    size_t n;

    bag_gather(h, x, s, s->m, 1);
    one.in = (float *const[]){h};
    one.m = 1;
    score(x, pitch, &one);
    if (s->loss)
        *s->loss += loss_of(x, pitch, s, 1);
    gradient(x, pitch, s, 1);
    memset(e, 0, table_stride(s->dim) * sizeof *e);
    for (size_t q = 0; q < s->k; q += n) {
        n = block_of(s->k - q, 6);
#define DO(N) bag_update(e, h, s->out + q, N, x + q, s->dim)
        WITH_CONSTANT(n, DO)
#undef DO
    }
    for (size_t i = 0; i < s->m; i++)
        axpy(s->in[i], 1.0f, e, s->dim);
}

static void bag_few(const struct kernel_step *s, float *h, float *x)
{
#define DO(K) bag_gather(h, x, s, s->m, K)
    WITH_CONSTANT(s->k, DO)
#undef DO
    if (s->loss)
        *s->loss += loss_of(x, 8, s, 1);
    gradient(x, 8, s, 1);
#define DO(K) bag_finish(s, h, s->m, K, x)
    WITH_CONSTANT(s->k, DO)
#undef DO
}

/* As update_usual: one jump by m instead of a loop's end to guess per tile. */
static void bag_usual(const struct kernel_step *s, float *h, float *x)
{
#define DO(M) bag_gather(h, x, s, M, 6)
    WITH_CONSTANT_10(s->m, DO)
#undef DO
    if (s->loss)
        *s->loss += loss_of(x, 8, s, 1);
    gradient(x, 8, s, 1);
#define DO(M) bag_finish(s, h, M, 6, x)
    WITH_CONSTANT_10(s->m, DO)
#undef DO
}

static void bag(const struct kernel_step *s)
{
    _Alignas(64) float h[KERNEL_MAX_DIM], x[MAX_PITCH];

    if (s->m == 0 || s->k == 0)
        return;
    memset(x, 0, 16 * sizeof *x); /* the second half of a wide vector's scores */
    if (!KERNEL_SMALL && s->k == 6 && s->m <= 10)
        bag_usual(s, h, x);
    else if (s->k <= 6)
        bag_few(s, h, x);
    else
        bag_many(s, h, x, pitch_of(s->k));
}
