/* The kernels in plain C: the reference that every other table is tested
 * against, and what runs on a CPU we know nothing of. */
#include "kernel/kernel.h"

#include <float.h>
#include <math.h>
#include <string.h>

static float dot(const float *x, const float *y, size_t n)
{
    float sum = 0;

    for (size_t j = 0; j < n; j++)
        sum += x[j] * y[j];
    return sum;
}

static void axpy(float *y, float a, const float *x, size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] += a * x[j];
}

static void scale(float *x, float a, size_t n)
{
    for (size_t j = 0; j < n; j++)
        x[j] *= a;
}

static double sumsq(const float *x, size_t n)
{
    double sum = 0;

    for (size_t j = 0; j < n; j++)
        sum += (double)x[j] * x[j];
    return sum;
}

static float sigmoid1(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

static float logsigmoid1(float x)
{
    return fminf(x, 0.0f) - log1pf(expf(-fabsf(x)));
}

static void sigmoid(float *y, const float *x, size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] = sigmoid1(x[j]);
}

static void logsigmoid(float *y, const float *x, size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] = logsigmoid1(x[j]);
}

static float exps(float *x, const float *bias, float *max, size_t n)
{
    float sum = 0;

    *max = x[0] + bias[0];
    for (size_t j = 0; j < n; j++) {
        x[j] += bias[j];
        *max = fmaxf(*max, x[j]);
    }
    for (size_t j = 0; j < n; j++) {
        x[j] = expf(x[j] - *max);
        sum += x[j];
    }
    return sum;
}

static void copy(float *to, const float *from, size_t n)
{
    for (size_t j = 0; j < n; j++)
        to[j] = from[j];
}

static void renew(float *x, float *base, const float *fresh, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        x[j] += fresh[j] - base[j];
        base[j] = fresh[j];
    }
}

static void fold(float *row, const float *mine, const float *base, size_t dim, float s)
{
    float xx = 0, yy = 0, xy = 0, a = 1, b = 1;

    for (size_t j = 0; j < dim; j++) {
        float x = row[j] - base[j], y = mine[j] - base[j];
        xx += x * x;
        yy += y * y;
        xy += x * y;
    }
    /* Only opposed or parallel parts are shared; a zero change has none. */
    if (xx > 0 && yy > 0) {
        a = 1 - s * xy / xx;
        b = 1 - s * xy / yy;
    }
    for (size_t j = 0; j < dim; j++) {
        float x = row[j] - base[j], y = mine[j] - base[j];
        row[j] = base[j] + a * x + b * y;
    }
}

static void sum_rows(float *y, const float *const *rows, size_t n, size_t dim)
{
    memset(y, 0, table_stride(dim) * sizeof *y);
    for (size_t i = 0; i < n; i++)
        axpy(y, 1, rows[i], dim);
}

static void add_rows(float *const *rows, size_t n, const float *x, size_t dim)
{
    for (size_t i = 0; i < n; i++)
        axpy(rows[i], 1, x, dim);
}

static double loss_of(float x, float label)
{
    return -(double)logsigmoid1(label > 0.5f ? x : -x);
}

static void pairs(const struct kernel_step *s)
{
    float g[KERNEL_MAX_IN][KERNEL_MAX_OUT];
    float old[KERNEL_MAX_IN];

    for (size_t i = 0; i < s->m; i++) {
        for (size_t q = 0; q < s->k; q++) {
            float x = dot(s->in[i], s->out[q], s->dim);
            g[i][q] = s->lr * (s->label[q] - sigmoid1(x));
            if (s->loss)
                *s->loss += loss_of(x, s->label[q]);
        }
    }
    for (size_t j = 0; j < s->dim; j++) {
        for (size_t i = 0; i < s->m; i++)
            old[i] = s->in[i][j];
        for (size_t i = 0; i < s->m; i++)
            for (size_t q = 0; q < s->k; q++)
                s->in[i][j] += g[i][q] * s->out[q][j];
        for (size_t q = 0; q < s->k; q++)
            for (size_t i = 0; i < s->m; i++)
                s->out[q][j] += g[i][q] * old[i];
    }
}

static void bag(const struct kernel_step *s)
{
    float h[KERNEL_MAX_DIM], e[KERNEL_MAX_DIM];

    if (s->m == 0)
        return;
    for (size_t j = 0; j < s->dim; j++) {
        h[j] = e[j] = 0;
        for (size_t i = 0; i < s->m; i++)
            h[j] += s->in[i][j];
        h[j] *= s->in_scale;
    }
    for (size_t q = 0; q < s->k; q++) {
        float x = dot(h, s->out[q], s->dim);
        float g = s->lr * (s->label[q] - sigmoid1(x));

        if (s->loss)
            *s->loss += loss_of(x, s->label[q]);
        axpy(e, g, s->out[q], s->dim);
        axpy(s->out[q], g, h, s->dim);
    }
    for (size_t i = 0; i < s->m; i++)
        axpy(s->in[i], 1.0f, e, s->dim);
}

#include "kernel/sparse.h"
#include "kernel/sparse_learn.h"

static void dots(float *x, size_t pitch, const float *const *in, size_t m, const float *rows,
                 size_t stride, size_t n, size_t dim)
{
    for (size_t i = 0; i < m; i++)
        for (size_t r = 0; r < n; r++)
            x[i * pitch + r] = dot(in[i], rows + r * stride, dim);
}

static void squares(float *x, const float *rows, size_t stride, size_t n, size_t dim)
{
    for (size_t r = 0; r < n; r++)
        x[r] = dot(rows + r * stride, rows + r * stride, dim);
}

static void dots_bytes(int32_t *x, const int16_t *in, const int8_t *rows, size_t stride, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        int32_t sum = 0;

        for (size_t j = 0; j < stride; j++)
            sum += in[j] * rows[r * stride + j];
        x[r] = sum;
    }
}

static void repel(float *sums, const float *at_x, const float *at_y, size_t m, const float *x,
                  const float *y, size_t n)
{
    for (size_t i = 0; i < m; i++, sums += 3) {
        double z = 0, fx = 0, fy = 0;

        for (size_t j = 0; j < n; j++) {
            float dx = at_x[i] - x[j], dy = at_y[i] - y[j];
            float q = 1 / (1 + dx * dx + dy * dy);

            z += q;
            fx += q * q * dx;
            fy += q * q * dy;
        }
        sums[0] = (float)z;
        sums[1] = (float)fx;
        sums[2] = (float)fy;
    }
}

static float peak_add(const float *a, const float *b, const float *c, size_t n)
{
    float peak = -INFINITY;

    for (size_t j = 0; j < n; j++)
        peak = fmaxf(peak, (b[j] - a[j]) + c[j]);
    return peak;
}

static float peak_mul(const float *a, const float *b, const float *c, float slack, size_t n)
{
    float peak = -INFINITY;

    for (size_t j = 0; j < n; j++)
        peak = fmaxf(peak, b[j] * c[j] / (a[j] + slack));
    return peak;
}

static float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 5 bits of exponent and 10 of fraction, put in a float's place, are 2^112
 * times too small; the exponent of all ones stays one. */
static void from_half(float *to, const uint16_t *from, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        uint32_t size = from[j] & 0x7fffu, sign = (uint32_t)(from[j] & 0x8000) << 16;
        float x = float_of(size << 13) * 0x1p112f;

        if (size >= 0x7c00)
            x = float_of(0x7f800000u | size << 13);
        to[j] = sign ? -x : x;
    }
}

static void from_bfloat(float *to, const uint16_t *from, size_t n)
{
    for (size_t j = 0; j < n; j++)
        to[j] = float_of((uint32_t)from[j] << 16);
}

static void from_int8(float *to, const int8_t *from, size_t n)
{
    for (size_t j = 0; j < n; j++)
        to[j] = from[j];
}

static float apart(const float *x, const float *y, size_t n)
{
    float sum = 0;

    for (size_t j = 0; j < n; j++)
        sum += (x[j] - y[j]) * (x[j] - y[j]);
    return sum;
}

static float take(float *x, const float *from, const float *y, size_t n)
{
    copy(x, from, n);
    return apart(x, y, n);
}

#include "kernel/scalar_net.h"
#include "kernel/wire.h"

#define KERNEL_TABLE kernel_scalar
#define KERNEL_NAME "scalar"
#include "kernel/table.h"
