/* Part of scalar.c and simd.h: a row of sparse features. Written once in plain C
 * and compiled for each instruction set; blocks of SPARSE_BLOCK numbers stand in
 * arrays so that the compiler can use its vectors. */

enum { SPARSE_BLOCK = 16 };

static inline float *sparse_row(const struct kernel_sparse *s, size_t i, size_t width)
{
    uint32_t id = s->ids[i];

    return (id < s->hot ? s->mine : s->at) + (size_t)id * width;
}

/* w of FTRL-Proximal, from what it keeps (McMahan et al. 2013, algorithm 1). */
static inline float ftrl_weight(float z, float n, const struct kernel_rule *r)
{
    float size = fabsf(z) - r->l1;
    float w = size / ((r->beta + sqrtf(n)) / r->lr + r->l2);

    return size > 0 ? copysignf(w, -z) : 0;
}

static float sparse_dot_sgd(const struct kernel_sparse *s)
{
    float sum[4] = {0};
    size_t i = 0;

    if (s->values) {
        for (; i < s->n; i++)
            sum[i % 4] += s->values[i] * *sparse_row(s, i, 1);
    } else {
        for (; i + 4 <= s->n; i += 4)
            for (size_t j = 0; j < 4; j++)
                sum[j] += *sparse_row(s, i + j, 1);
        for (; i < s->n; i++)
            sum[0] += *sparse_row(s, i, 1);
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Rows of two numbers, SPARSE_BLOCK of them, apart; zeros behind the last. */
struct sparse_block {
    float a[SPARSE_BLOCK], b[SPARSE_BLOCK], x[SPARSE_BLOCK];
    size_t n;
} __attribute__((aligned(64)));

#if defined(__AVX512F__) && defined(VBYTES)

/* Where the rows of 8 ids are, in bytes from s->at. */
INLINE __m512i sparse_places(const struct kernel_sparse *s, __m256i ids)
{
    __m512i wide = _mm512_cvtepu32_epi64(ids);
    __mmask8 hot = _mm512_cmplt_epu64_mask(wide, _mm512_set1_epi64((long long)s->hot));
    __m512i away = _mm512_set1_epi64((long long)((intptr_t)s->mine - (intptr_t)s->at));

    wide = _mm512_slli_epi64(wide, 3);
    return _mm512_mask_add_epi64(wide, hot, wide, away);
}

INLINE void sparse_load(const struct kernel_sparse *s, size_t i, struct sparse_block *k)
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28,
                                           30);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    __mmask16 there;
    __m512i ids;
    __m512 low, high;

    k->n = s->n - i < SPARSE_BLOCK ? s->n - i : SPARSE_BLOCK;
    there = (__mmask16)((1u << k->n) - 1);
    ids = _mm512_maskz_loadu_epi32(there, s->ids + i);
    low = _mm512_castpd_ps(_mm512_mask_i64gather_pd(
        _mm512_setzero_pd(), (__mmask8)there,
        sparse_places(s, _mm512_castsi512_si256(ids)), s->at, 1));
    high = _mm512_castpd_ps(_mm512_mask_i64gather_pd(
        _mm512_setzero_pd(), (__mmask8)(there >> 8),
        sparse_places(s, _mm512_extracti64x4_epi64(ids, 1)), s->at, 1));
    _mm512_store_ps(k->a, _mm512_permutex2var_ps(low, even, high));
    _mm512_store_ps(k->b, _mm512_permutex2var_ps(low, odd, high));
    _mm512_store_ps(k->x, s->values ? _mm512_maskz_loadu_ps(there, s->values + i)
                                    : _mm512_maskz_mov_ps(there, _mm512_set1_ps(1)));
}

INLINE float sparse_sum(const float *x)
{
    return sum(load(x));
}

#else

static inline void sparse_load(const struct kernel_sparse *s, size_t i, struct sparse_block *k)
{
    k->n = s->n - i < SPARSE_BLOCK ? s->n - i : SPARSE_BLOCK;
    for (size_t j = 0; j < k->n; j++) {
        const float *row = sparse_row(s, i + j, 2);

        k->a[j] = row[0];
        k->b[j] = row[1];
        k->x[j] = s->values ? s->values[i + j] : 1;
    }
    for (size_t j = k->n; j < SPARSE_BLOCK; j++)
        k->a[j] = k->b[j] = k->x[j] = 0;
}

static inline float sparse_sum(const float *x)
{
    float part[4];

    for (size_t j = 0; j < 4; j++)
        part[j] = (x[j] + x[j + 8]) + (x[j + 4] + x[j + 12]);
    return (part[0] + part[2]) + (part[1] + part[3]);
}

#endif

static float sparse_dot(const struct kernel_sparse *s, const struct kernel_rule *r)
{
    struct sparse_block k;
    _Alignas(64) float total[SPARSE_BLOCK] = {0};

    if (r->kind == KERNEL_SGD)
        return sparse_dot_sgd(s);
    for (size_t i = 0; i < s->n; i += SPARSE_BLOCK) {
        sparse_load(s, i, &k);
        if (r->kind == KERNEL_FTRL)
            for (size_t j = 0; j < SPARSE_BLOCK; j++)
                k.a[j] = ftrl_weight(k.a[j], k.b[j], r);
        for (size_t j = 0; j < SPARSE_BLOCK; j++)
            total[j] += k.a[j] * k.x[j];
    }
    return sparse_sum(total);
}

static void sparse_scores(float *z, const float *row, size_t n, const struct kernel_rule *r, float x)
{
    if (r->kind == KERNEL_SGD)
        for (size_t k = 0; k < n; k++)
            z[k] += x * row[k];
    else if (r->kind == KERNEL_ADAGRAD)
        for (size_t k = 0; k < n; k++)
            z[k] += x * row[2 * k];
    else
        for (size_t k = 0; k < n; k++)
            z[k] += x * ftrl_weight(row[2 * k], row[2 * k + 1], r);
}

/* Takes `by` off the size of w, down to nothing. */
static inline float shrink(float w, float by)
{
    float size = fabsf(w) - by;

    return size > 0 ? copysignf(size, w) : 0;
}

static void sparse_step_sgd(const struct kernel_sparse *s, const struct kernel_rule *r, float g)
{
    float step = r->lr * g, keep = 1 - r->lr * r->l2;

    if (r->l1 > 0 || r->l2 > 0) {
        for (size_t i = 0; i < s->n; i++) {
            float *w = sparse_row(s, i, 1), x = s->values ? s->values[i] : 1;

            *w = shrink(keep * *w - step * x, r->lr * r->l1);
        }
    } else if (s->values) {
        for (size_t i = 0; i < s->n; i++)
            *sparse_row(s, i, 1) -= step * s->values[i];
    } else {
        for (size_t i = 0; i < s->n; i++)
            *sparse_row(s, i, 1) -= step;
    }
}

/* w and n, the sum of squared gradients, become how much they change. */
static inline void adagrad_block(struct sparse_block *k, const struct kernel_rule *r, float g)
{
    for (size_t j = 0; j < SPARSE_BLOCK; j++) {
        float d = g * k->x[j], square = d * d, w = k->a[j];
        float rate = r->lr / (sqrtf(k->b[j] + square) + r->beta);

        k->a[j] = shrink(w - rate * (d + r->l2 * w), rate * r->l1) - w;
        k->b[j] = square;
    }
}

/* The same for z and n. */
static inline void ftrl_block(struct sparse_block *k, const struct kernel_rule *r, float g)
{
    for (size_t j = 0; j < SPARSE_BLOCK; j++) {
        float d = g * k->x[j], square = d * d, n = k->b[j];
        float sigma = (sqrtf(n + square) - sqrtf(n)) / r->lr;

        k->a[j] = d - sigma * ftrl_weight(k->a[j], n, r);
        k->b[j] = square;
    }
}

/* One after the other: a feature may stand in the row twice. */
static inline void sparse_add(const struct kernel_sparse *s, size_t i, const struct sparse_block *k)
{
    for (size_t j = 0; j < k->n; j++) {
        float *row = sparse_row(s, i + j, 2);

        row[0] += k->a[j];
        row[1] += k->b[j];
    }
}

static void sparse_step(const struct kernel_sparse *s, const struct kernel_rule *r, float g)
{
    struct sparse_block k;

    if (r->kind == KERNEL_SGD) {
        sparse_step_sgd(s, r, g);
        return;
    }
    for (size_t i = 0; i < s->n; i += SPARSE_BLOCK) {
        sparse_load(s, i, &k);
        if (r->kind == KERNEL_ADAGRAD)
            adagrad_block(&k, r, g);
        else
            ftrl_block(&k, r, g);
        sparse_add(s, i, &k);
    }
}
