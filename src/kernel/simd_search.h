/* Part of simd.h: many products, to be searched. */
/* ---- searching ---- */

/* The rows of a block stay in the first cache while all of in passes by, so let
 * the caller bring no more of them than fit the first cache too. */
static void dots(float *x, size_t pitch, const float *const *in, size_t m, const float *rows,
                 size_t stride, size_t n, size_t dim)
{
    size_t k;

    for (size_t r = 0; r < n; r += k) {
        float *tile[SCORE_K];

        k = n - r < SCORE_K ? n - r : SCORE_K;
        for (size_t q = 0; q < k; q++)
            tile[q] = (float *)(rows + (r + q) * stride); /* read only */
#define DO(N) score_block(x + r, pitch, (float *const *)in, m, tile, N, dim)
        WITH_CONSTANT(k, DO)
#undef DO
    }
}

static void squares(float *x, const float *rows, size_t stride, size_t n, size_t dim)
{
    for (size_t r = 0; r < n; r++, rows += stride) {
        vf even = {0}, odd = {0};
        size_t j = 0;

        for (; j + VL < dim; j += 2 * VL) {
            vf a = load(rows + j), b = load(rows + j + VL);
            even = madd(a, a, even);
            odd = madd(b, b, odd);
        }
        if (j < dim)
            even = madd(load(rows + j), load(rows + j), even);
        x[r] = sum(even + odd);
    }
}

/* Bytes become 16 bits, of which pairs of products are added: vpmaddwd. */
static void dots_bytes(int32_t *x, const int16_t *in, const int8_t *rows, size_t stride, size_t n)
{
    for (size_t r = 0; r < n; r++, rows += stride) {
#if defined(__AVX512BW__)
        __m512i sum = _mm512_setzero_si512();

        for (size_t j = 0; j < stride; j += 32) {
            __m256i row = _mm256_loadu_si256((const __m256i *)(const void *)(rows + j));
            __m512i other = _mm512_loadu_si512(in + j);

            sum = _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_cvtepi8_epi16(row), other));
        }
        x[r] = _mm512_reduce_add_epi32(sum);
#else
        __m256i sum = _mm256_setzero_si256();
        __m128i half;

        for (size_t j = 0; j < stride; j += 16) {
            __m128i row = _mm_loadu_si128((const __m128i *)(const void *)(rows + j));
            __m256i other = _mm256_loadu_si256((const __m256i *)(const void *)(in + j));

            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_cvtepi8_epi16(row), other));
        }
        half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
        half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
        half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1));
        x[r] = _mm_cvtsi128_si32(half);
#endif
    }
}

/* 1 / x within two units of the last place: an estimate of 12 bits or more, and a step of
 * Newton's. Division would take as long as all the rest of a pair. */
INLINE vf reciprocal(vf x)
{
#if VBYTES == 32
    vf r = (vf)_mm256_rcp_ps((__m256)x);
#elif defined(__AVX512F__)
    vf r = (vf)_mm512_rcp14_ps((__m512)x);
#else
    vf r = 1 / x;
#endif
    return madd(r, madd(-x, r, all(1)), r);
}

/* Places that are done together, so that a point is loaded once for all of them. */
enum { REPELLED = VBYTES == 64 ? 6 : 3 };

INLINE void repel_some(float *sums, const float *at_x, const float *at_y, size_t m, const float *x,
                       const float *y, size_t n)
{
    vf z[REPELLED] = {0}, fx[REPELLED] = {0}, fy[REPELLED] = {0};

    for (size_t j = 0; j < n; j += VL) {
        vf xs = load_any(x + j), ys = load_any(y + j);

        EACH_ROW(i, 0, m, {
            vf dx = all(at_x[i]) - xs;
            vf dy = all(at_y[i]) - ys;
            vf q = reciprocal(madd(dx, dx, madd(dy, dy, all(1))));
            vf qq = q * q;
            z[i] += q;
            fx[i] = madd(qq, dx, fx[i]);
            fy[i] = madd(qq, dy, fy[i]);
        })
    }
    for (size_t i = 0; i < m; i++) {
        sums[3 * i] = sum(z[i]);
        sums[3 * i + 1] = sum(fx[i]);
        sums[3 * i + 2] = sum(fy[i]);
    }
}

static void repel(float *sums, const float *at_x, const float *at_y, size_t m, const float *x,
                  const float *y, size_t n)
{
    size_t i = 0;

    for (; i + REPELLED <= m; i += REPELLED)
        repel_some(sums + 3 * i, at_x + i, at_y + i, REPELLED, x, y, n);
    for (; i < m; i++)
        repel_some(sums + 3 * i, at_x + i, at_y + i, 1, x, y, n);
}

/* max gives its second argument when the first is no number. */
INLINE float peak_of(vf x)
{
    float part[VL], peak = -__builtin_inff();

    store_any(part, x);
    for (int i = 0; i < VL; i++)
        peak = part[i] > peak ? part[i] : peak;
    return peak;
}

static float peak_add(const float *a, const float *b, const float *c, size_t n)
{
    vf even = all(-__builtin_inff()), odd = even;

    for (size_t j = 0; j < n; j += KERNEL_LANES) {
        size_t i = j + KERNEL_LANES - VL; /* j itself when a vector is that wide */

        even = max((load_any(b + j) - load_any(a + j)) + load_any(c + j), even);
        if (VL < KERNEL_LANES)
            odd = max((load_any(b + i) - load_any(a + i)) + load_any(c + i), odd);
    }
    return peak_of(max(even, odd));
}

static float peak_mul(const float *a, const float *b, const float *c, float slack, size_t n)
{
    vf peak = all(-__builtin_inff());

    for (size_t j = 0; j < n; j += VL)
        peak = max(load_any(b + j) * load_any(c + j) / (load_any(a + j) + slack), peak);
    return peak_of(peak);
}

/* The compiler's own conversion goes through memory, a number at a time. */
INLINE vi widen_half(const uint16_t *from)
{
#if VBYTES == 32
    return (vi)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)from));
#elif defined(__AVX512F__)
    return (vi)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)from));
#else
    typedef uint16_t part __attribute__((vector_size(VBYTES / 2), may_alias, aligned(2)));

    return __builtin_convertvector(*(const part *)from, vi);
#endif
}

INLINE vf float_of_bytes(const int8_t *from)
{
#if VBYTES == 32
    __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)from);

    return (vf)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
#elif defined(__AVX512F__)
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)from);

    return (vf)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
#else
    typedef int8_t part __attribute__((vector_size(VBYTES / 4), may_alias, aligned(1)));

    return __builtin_convertvector(*(const part *)from, vf);
#endif
}

/* As scalar.c does it, an exponent of all ones put back by a mask. */
static void from_half(float *to, const uint16_t *from, size_t n)
{
    for (size_t j = 0; j < n; j += VL) {
        vi bits = widen_half(from + j), size = bits & 0x7fff;
        vi x = (vi)((vf)(size << 13) * 0x1p112f);

        x |= (size > all_int(0x7bff)) & 0x7f800000;
        store_any(to + j, (vf)(x | (bits & 0x8000) << 16));
    }
}

static void from_bfloat(float *to, const uint16_t *from, size_t n)
{
    for (size_t j = 0; j < n; j += VL)
        store_any(to + j, (vf)(widen_half(from + j) << 16));
}

static void from_int8(float *to, const int8_t *from, size_t n)
{
    for (size_t j = 0; j < n; j += VL)
        store_any(to + j, float_of_bytes(from + j));
}
