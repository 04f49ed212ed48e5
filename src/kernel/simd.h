/* The kernels over vectors of VBYTES, written once and compiled per
 * instruction set. The including file defines
 *
 *   VBYTES       32 or 64
 *   KERNEL_TABLE the table to define     KERNEL_NAME  its name
 *
 * Everything here is in units of vectors of VL floats except where a name or
 * comment says otherwise. Without AVX-512 the 64-byte template still compiles
 * (the compiler splits each vector), so that its logic is tested anywhere. */
#include "kernel/kernel.h"

#include <float.h>
#include <immintrin.h>
#include <math.h>
#include <string.h>

#define VL (VBYTES / 4)

/* With a sanitizer, the steps unrolled for each size take a compiler minutes;
 * then the general ones do all the work. */
#ifndef KERNEL_SMALL
#define KERNEL_SMALL 0
#endif

typedef float vf __attribute__((vector_size(VBYTES), may_alias));
typedef float vf_any __attribute__((vector_size(VBYTES), may_alias, aligned(4)));
typedef int vi __attribute__((vector_size(VBYTES), may_alias));
typedef double vd __attribute__((vector_size(VBYTES), may_alias));

#define INLINE static inline __attribute__((always_inline))

/* Loops over registers must vanish entirely or the registers become memory.
 * Where the count turns out not constant the request is in vain, and may be. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Rows are a count that is constant in the usual steps only, and unrolling is
 * for those alone. */
#define EACH_ROW(i, from, m, DO)                   \
    if (__builtin_constant_p(m)) {                 \
        UNROLL for (size_t i = from; i < (m); i++) \
            DO;                                    \
    } else {                                       \
        for (size_t i = from; i < (m); i++)        \
            DO;                                    \
    }

/* Register budget. pairs holds SCORE_M x SCORE_K sums while it scores, and
 * UPDATE_K rows old and new while it updates; three more are in passing. */
#if VBYTES == 64
enum { SCORE_M = 4, SCORE_K = 6, UPDATE_K = 12 };
#else
enum { SCORE_M = 2, SCORE_K = 6, UPDATE_K = 6 };
#endif

INLINE vf load(const float *p)
{
    return *(const vf *)p;
}

INLINE void store(float *p, vf x)
{
    *(vf *)p = x;
}

INLINE vf load_any(const float *p)
{
    return *(const vf_any *)p;
}

INLINE void store_any(float *p, vf x)
{
    *(vf_any *)p = x;
}

INLINE vf all(float x)
{
    return x - (vf){0}; /* not 0 + x, which would turn -0 into 0 */
}

INLINE vi all_int(int x)
{
    return x - (vi){0};
}

/* Keeps the compiler from loading x again for each of its uses. */
INLINE vf in_register(vf x)
{
#if VBYTES == 32 || defined(__AVX512F__)
    __asm__("" : "+v"(x));
#endif
    return x;
}

/* x y + z in one rounding. */
INLINE vf madd(vf x, vf y, vf z)
{
#if VBYTES == 32
    return (vf)_mm256_fmadd_ps((__m256)x, (__m256)y, (__m256)z);
#elif defined(__AVX512F__)
    return (vf)_mm512_fmadd_ps((__m512)x, (__m512)y, (__m512)z);
#else
    return x * y + z;
#endif
}

INLINE vf pick(vi mask, vf x, vf y)
{
    return (vf)((mask & (vi)x) | (~mask & (vi)y));
}

INLINE vf max(vf x, vf y)
{
#if VBYTES == 32
    return (vf)_mm256_max_ps((__m256)x, (__m256)y);
#elif defined(__AVX512F__)
    return (vf)_mm512_max_ps((__m512)x, (__m512)y);
#else
    return pick(x > y, x, y);
#endif
}

INLINE vf min(vf x, vf y)
{
#if VBYTES == 32
    return (vf)_mm256_min_ps((__m256)x, (__m256)y);
#elif defined(__AVX512F__)
    return (vf)_mm512_min_ps((__m512)x, (__m512)y);
#else
    return pick(x < y, x, y);
#endif
}

INLINE float sum(vf x)
{
    float part[VL], total = 0;

    store_any(part, x);
    for (int n = VL / 2; n > 0; n /= 2)
        for (int i = 0; i < n; i++)
            part[i] += part[i + n];
    total = part[0];
    return total;
}

/* e^x, relative error below 2e-7, for |x| <= 87: x = n ln 2 + r, then Cephes's
 * polynomial for e^r on |r| <= ln 2 / 2. Adding `magic` rounds to an integer
 * and leaves it in the low bits, ready to be moved into the exponent. */
INLINE vf exp_of(vf x)
{
    const vf magic = all(12582912.0f);
    vf t = madd(x, all(1.44269504f), magic);
    vf n = t - magic;
    vf r = madd(n, all(-1.42860677e-6f), madd(n, all(-0.693145752f), x));
    vf p = madd(r, all(1.9875691500e-4f), all(1.3981999507e-3f));

    p = madd(p, r, all(8.3334519073e-3f));
    p = madd(p, r, all(4.1665795894e-2f));
    p = madd(p, r, all(1.6666665459e-1f));
    p = madd(p, r, all(5.0000001201e-1f));
    p = madd(p, r * r, r + 1.0f);
    return (vf)((vi)p + ((vi)t << 23));
}

/* Beyond 40 the true value is 0 or 1 to a float's precision. */
INLINE vf sigmoid_of(vf x)
{
    vf e = exp_of(-max(min(x, all(40.0f)), all(-40.0f)));

    return 1.0f / (1.0f + e);
}

INLINE float madd1(float a, float b, float c)
{
#ifdef __FMA__
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

/* The same of one number, where a whole vector would take longer. */
INLINE float sigmoid1(float x)
{
    const float magic = 12582912.0f;
    float y = x > 40.0f ? -40.0f : x < -40.0f ? 40.0f : -x;
    float t = madd1(y, 1.44269504f, magic), n = t - magic;
    float r = madd1(n, -1.42860677e-6f, madd1(n, -0.693145752f, y));
    float p = madd1(r, 1.9875691500e-4f, 1.3981999507e-3f);
    uint32_t power, bits;

    p = madd1(p, r, 8.3334519073e-3f);
    p = madd1(p, r, 4.1665795894e-2f);
    p = madd1(p, r, 1.6666665459e-1f);
    p = madd1(p, r, 5.0000001201e-1f);
    p = madd1(p, r * r, r + 1.0f);
    memcpy(&power, &t, sizeof power);
    memcpy(&bits, &p, sizeof bits);
    bits += power << 23;
    memcpy(&p, &bits, sizeof p);
    return 1.0f / (1.0f + p);
}

/* log sigmoid(x) = min(x, 0) - log(1 + e^-|x|); the logarithm by its series in
 * s = e / (2 + e), where s <= 1/3 and seven terms are enough. What is no number
 * stays none, min giving its second argument then, or nobody would notice. */
INLINE vf logsigmoid_of(vf x)
{
    vf size = max(x, -x);
    vf e = exp_of(-min(size, all(80.0f)));
    vf s = e / (2.0f + e), z = s * s;
    vf p = madd(z, all(2.0f / 13), all(2.0f / 11));

    p = madd(p, z, all(2.0f / 9));
    p = madd(p, z, all(2.0f / 7));
    p = madd(p, z, all(2.0f / 5));
    p = madd(p, z, all(2.0f / 3));
    p = madd(p, z, all(2.0f));
    return madd(-p, s, min(all(0.0f), x));
}

/* The first n < VL floats at p; zeros after them. */
INLINE vf load_part(const float *p, size_t n)
{
#if VBYTES == 64 && defined(__AVX512F__)
    return (vf)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
#else
    float part[VL] = {0};

    memcpy(part, p, n * sizeof *p);
    return load_any(part);
#endif
}

INLINE void store_part(float *p, vf x, size_t n)
{
#if VBYTES == 64 && defined(__AVX512F__)
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)x);
#else
    memcpy(p, &x, n * sizeof *p);
#endif
}

#include "kernel/simd_vector.h"
#include "kernel/simd_step.h"
#include "kernel/simd_search.h"
#include "kernel/sparse.h"
#include "kernel/sparse_learn.h"
#include "kernel/simd_net.h"
#define WIRE_VECTORS
#include "kernel/wire.h"
#include "kernel/table.h"
