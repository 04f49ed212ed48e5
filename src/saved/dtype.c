/* Numbers of one row, from and to float. The loops have no branch that depends
 * on a value, so the compiler may use whatever vectors the machine has. */
#include "saved/dtype.h"

#include <math.h>
#include <string.h>

size_t dtype_size(enum shoal_dtype dtype)
{
    static const size_t sizes[] = {
        [SHOAL_F32] = 4, [SHOAL_F16] = 2, [SHOAL_BF16] = 2, [SHOAL_INT8] = 1};

    return sizes[dtype];
}

const char *dtype_name(enum shoal_dtype dtype)
{
    static const char *const names[] = {
        [SHOAL_F32] = "f32", [SHOAL_F16] = "f16", [SHOAL_BF16] = "bf16", [SHOAL_INT8] = "int8"};

    return names[dtype];
}

size_t dtype_stride(enum shoal_dtype dtype, size_t dim)
{
    return (dim * dtype_size(dtype) + 63) / 64 * 64;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* binary16 has 5 bits of exponent and 10 of fraction. Moved into a float's
 * place it is 2^112 times too small, denormals too; all are exact in a float. */
static float from_half(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    float x = float_of((uint32_t)(h & 0x7fff) << 13) * 0x1p112f;
    uint32_t special = (h & 0x7c00) == 0x7c00 ? 0x7f800000u : 0;

    return float_of(bits_of(x) | special | sign);
}

/* A denormal half is a multiple of 2^-24: adding 0.5, whose last bit is worth
 * that, rounds to it. Else the lower 13 bits are rounded away, the carry going
 * into the exponent as it should; the exponent's bias falls by 112. */
static uint16_t to_half(float x)
{
    uint32_t bits = bits_of(x) & 0x7fffffffu;
    uint32_t sign = bits_of(x) >> 16 & 0x8000u;
    uint32_t small = bits_of(float_of(bits) + 0.5f) - bits_of(0.5f);
    uint32_t large = (bits + 0xfffu + (bits >> 13 & 1) - (112u << 23)) >> 13;

    return (uint16_t)((bits < 113u << 23 ? small : large) | sign);
}

static void encode_half(const float *in, size_t n, uint16_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = to_half(in[i]);
}

static void decode_half(const uint16_t *in, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = from_half(in[i]);
}

/* bfloat16 is the upper half of a float. */
static void encode_bfloat(const float *in, size_t n, uint16_t *out)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = bits_of(in[i]);

        out[i] = (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
    }
}

static void decode_bfloat(const uint16_t *in, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = float_of((uint32_t)in[i] << 16);
}

static float largest(const float *in, size_t n)
{
    float max = 0;

    for (size_t i = 0; i < n; i++) {
        float x = fabsf(in[i]);

        max = x > max ? x : max;
    }
    return max;
}

/* The largest becomes 127. In double, for 127 / max may be over a float. */
static void encode_int8(const float *in, size_t n, int8_t *out, float *scale)
{
    double max = (double)largest(in, n);
    double by = max > 0 ? 127.0 / max : 0;

    *scale = (float)(max / 127.0);
    for (size_t i = 0; i < n; i++)
        out[i] = (int8_t)rint((double)in[i] * by);
}

static void decode_int8(const int8_t *in, float scale, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)in[i] * scale;
}

void dtype_decode(enum shoal_dtype dtype, const void *in, float scale, size_t n, float *out)
{
    switch (dtype) {
    case SHOAL_F32:
        memcpy(out, in, n * sizeof *out);
        break;
    case SHOAL_F16:
        decode_half(in, n, out);
        break;
    case SHOAL_BF16:
        decode_bfloat(in, n, out);
        break;
    case SHOAL_INT8:
        decode_int8(in, scale, n, out);
        break;
    }
}

bool dtype_encode(enum shoal_dtype dtype, const float *in, size_t n, void *out, float *scale)
{
    /* From the midpoint between the largest number and the next one on, what
     * is rounded to nearest is infinite. */
    switch (dtype) {
    case SHOAL_F32:
        memcpy(out, in, n * sizeof *in);
        return true;
    case SHOAL_F16:
        encode_half(in, n, out);
        return largest(in, n) < 65520.0f;
    case SHOAL_BF16:
        encode_bfloat(in, n, out);
        return largest(in, n) < 0x1.ffp127f;
    case SHOAL_INT8:
        encode_int8(in, n, out, scale);
        return true;
    }
    return false;
}

static bool all_finite(const void *in, size_t n, uint32_t mask)
{
    const uint16_t *at = in;
    unsigned bad = 0;

    for (size_t i = 0; i < n; i++)
        bad |= (at[i] & mask) == mask;
    return bad == 0;
}

static bool all_finite_f32(const void *in, size_t n)
{
    const uint32_t *at = in;
    unsigned bad = 0;

    for (size_t i = 0; i < n; i++)
        bad |= (at[i] & 0x7f800000u) == 0x7f800000u;
    return bad == 0;
}

bool dtype_all_finite(enum shoal_dtype dtype, const void *in, size_t n)
{
    if (dtype == SHOAL_F32)
        return all_finite_f32(in, n);
    if (dtype == SHOAL_INT8)
        return true;
    return all_finite(in, n, dtype == SHOAL_F16 ? 0x7c00u : 0x7f80u);
}
