/* Part of scalar.c and simd.h: differences of rows in few bits. Plain loops, which the compiler
 * makes vectors of, but for those of four bits with AVX-512 (simd_wire.h). Not a door.
 *
 *     bf16   n x 16 bits: the upper half of each float
 *     int8   scale | n x 8 bits          the scale is a bf16, rounded up
 *     int4   scale | n/2 x (low, high)   the low halves are the first n/2 numbers
 *
 * A number is scale x q, |q| <= 127 or 7. Scale and q have 8 bits each, so that their product is
 * exact: both sides come to the same bits, whether their processors fuse it with the sum or not. */

static uint16_t bf16_near(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((bits >> 16) | 0x40); /* a NaN stays one */
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

static float bf16_float(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static void pack_bf16(void *wire, float *x, const float *known, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        uint16_t half = bf16_near(x[j] - known[j]);

        memcpy((char *)wire + 2 * j, &half, sizeof half);
        x[j] = known[j] + bf16_float(half);
    }
}

static void unpack_bf16(float *x, const void *wire, const float *known, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        uint16_t half;

        memcpy(&half, (const char *)wire + 2 * j, sizeof half);
        x[j] = known[j] + bf16_float(half);
    }
}

/* The least bf16 of which `top` times reach every difference; 0 where all are as good as 0, NaN
 * where one is infinite or none. Without their signs floats have the order of their bits, and
 * those above FLT_MAX's are infinite or none: a maximum of whole numbers becomes vectors. */
static float scale_of(const float *x, const float *known, size_t n, float top)
{
    const uint32_t largest = 0x7f7fffffu; /* FLT_MAX */
    uint32_t most = 0, bits;
    float scale;

    for (size_t j = 0; j < n; j++) {
        float d = x[j] - known[j];

        memcpy(&bits, &d, sizeof bits);
        bits &= 0x7fffffffu;
        most = bits > most ? bits : most;
    }
    if (most > largest)
        return NAN;
    memcpy(&scale, &most, sizeof scale);
    scale /= top;
    if (scale < FLT_MIN * 0x1p16f)
        return 0;
    memcpy(&bits, &scale, sizeof bits);
    bits = (bits + 0xffffu) & 0xffff0000u;
    memcpy(&scale, &bits, sizeof scale);
    return scale;
}

static void scale_write(void *wire, float scale)
{
    uint32_t bits;
    uint16_t half;

    memcpy(&bits, &scale, sizeof bits);
    half = (uint16_t)(bits >> 16);
    memcpy(wire, &half, sizeof half);
}

static float scale_read(const void *wire)
{
    uint16_t half;

    memcpy(&half, wire, sizeof half);
    return bf16_float(half);
}

/* Halves away from 0. No difference is beyond `top` scales. */
static int8_t nearest_of(float d, float times)
{
    float q = d * times;

    return (int8_t)(int32_t)(q + copysignf(0.5f, q));
}

/* Where there is no scale all are 0, and a scale that is none makes none of them. */
static float times_of(float scale)
{
    return scale > 0 ? 1 / scale : 0;
}

static void pack_int8(void *wire, float *restrict x, const float *restrict known, size_t n)
{
    float scale = scale_of(x, known, n, 127), times = times_of(scale);
    int8_t *restrict out = (int8_t *)wire + 2;

    scale_write(wire, scale);
    for (size_t j = 0; j < n; j++) {
        int8_t q = times > 0 ? nearest_of(x[j] - known[j], times) : 0;

        out[j] = q;
        x[j] = known[j] + scale * (float)q;
    }
}

static void unpack_int8(float *restrict x, const void *wire, const float *restrict known, size_t n)
{
    float scale = scale_read(wire);
    const int8_t *in = (const int8_t *)wire + 2;

    for (size_t j = 0; j < n; j++)
        x[j] = known[j] + scale * (float)in[j];
}

#if defined(WIRE_VECTORS) && VBYTES == 64 && defined(__AVX512VL__) && defined(__AVX512BW__)
#include "kernel/simd_wire.h"
#else
/* Both halves of a byte; where n is odd the last has no upper one. */
static void pack_int4(void *wire, float *restrict x, const float *restrict known, size_t n)
{
    float scale = scale_of(x, known, n, 7), times = times_of(scale);
    uint8_t *restrict out = (uint8_t *)wire + 2;
    size_t low = (n + 1) / 2, high = n - low;

    scale_write(wire, scale);
    for (size_t j = 0; j < low; j++) {
        int8_t q = times > 0 ? nearest_of(x[j] - known[j], times) : 0;

        out[j] = (uint8_t)q & 15;
        x[j] = known[j] + scale * (float)q;
    }
    for (size_t j = 0; j < high; j++) {
        int8_t q = times > 0 ? nearest_of(x[low + j] - known[low + j], times) : 0;

        out[j] |= (uint8_t)((uint8_t)q << 4);
        x[low + j] = known[low + j] + scale * (float)q;
    }
}

static void unpack_int4(float *restrict x, const void *wire, const float *restrict known, size_t n)
{
    float scale = scale_read(wire);
    const uint8_t *in = (const uint8_t *)wire + 2;
    size_t low = (n + 1) / 2, high = n - low;

    for (size_t j = 0; j < low; j++)
        x[j] = known[j] + scale * (float)((int8_t)(uint8_t)(in[j] << 4) >> 4);
    for (size_t j = 0; j < high; j++)
        x[low + j] = known[low + j] + scale * (float)((int8_t)in[j] >> 4);
}
#endif

static const struct kernel_wire wires[] = {
    [KERNEL_BF16] = {pack_bf16, unpack_bf16},
    [KERNEL_INT8] = {pack_int8, unpack_int8},
    [KERNEL_INT4] = {pack_int4, unpack_int4},
};
