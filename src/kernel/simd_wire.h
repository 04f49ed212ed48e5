/* Part of wire.h, for AVX-512: rows in four bits by vectors, with masks for what is left of each
 * half of a row. The same bits as of the loops there, which are as fast with AVX2. */

/* The first n <= VL bytes at p, with their signs. */
INLINE vi bytes_load(const uint8_t *p, size_t n)
{
    return (vi)_mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8((__mmask16)((1u << n) - 1), p));
}

/* The lowest bytes of q. */
INLINE void bytes_store(uint8_t *p, vi q, size_t n)
{
    _mm_mask_storeu_epi8(p, (__mmask16)((1u << n) - 1), _mm512_cvtepi32_epi8((__m512i)q));
}

/* The first n <= VL numbers, and to them. */
INLINE vf some_load(const float *p, size_t n)
{
    return n == VL ? load_any(p) : load_part(p, n);
}

INLINE void some_store(float *p, vf x, size_t n)
{
    if (n == VL)
        store_any(p, x);
    else
        store_part(p, x, n);
}

/* Halves away from 0. */
INLINE vi nearest_all(vf d)
{
    vi sign = (vi)d & (vi)all(-0.0f);

    return __builtin_convertvector(d + (vf)(sign | (vi)all(0.5f)), vi);
}

/* n <= VL numbers are rounded, and become what they stand for. */
INLINE vi round_some(float *x, const float *known, size_t n, float scale, float times)
{
    vf from = some_load(known, n), d = (some_load(x, n) - from) * times;
    vi q = nearest_all(d);

    some_store(x, from + scale * __builtin_convertvector(q, vf), n);
    return q;
}

INLINE void value_some(float *x, vi q, const float *known, size_t n, float scale)
{
    some_store(x, some_load(known, n) + scale * __builtin_convertvector(q, vf), n);
}

INLINE size_t some_of(size_t n)
{
    return n < VL ? n : VL;
}

static void pack_int4(void *wire, float *restrict x, const float *restrict known, size_t n)
{
    float scale = scale_of(x, known, n, 7), times = times_of(scale);
    uint8_t *out = (uint8_t *)wire + 2;
    size_t low = (n + 1) / 2, high = n - low;

    scale_write(wire, scale);
    if (!(times > 0)) { /* all are 0, or the scale is none and makes none of them */
        memset(out, 0, low);
        for (size_t j = 0; j < n; j++)
            x[j] = known[j] + scale * 0.0f;
        return;
    }
    for (size_t j = 0; j < low; j += VL) {
        size_t a = some_of(low - j), b = some_of(high - j);
        vi first = round_some(x + j, known + j, a, scale, times);
        vi second = round_some(x + low + j, known + low + j, b, scale, times);

        bytes_store(out + j, (first & 15) | (second << 4), a);
    }
}

static void unpack_int4(float *restrict x, const void *wire, const float *restrict known, size_t n)
{
    float scale = scale_read(wire);
    const uint8_t *in = (const uint8_t *)wire + 2;
    size_t low = (n + 1) / 2, high = n - low;

    for (size_t j = 0; j < low; j += VL) {
        size_t a = some_of(low - j), b = some_of(high - j);
        vi q = bytes_load(in + j, a);

        value_some(x + j, (q << 28) >> 28, known + j, a, scale);
        value_some(x + low + j, q >> 4, known + low + j, b, scale);
    }
}
