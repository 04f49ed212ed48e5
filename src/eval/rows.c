#include "eval/rows.h"

#include <math.h>
#include <stdlib.h>

shoal_status rows_of_table(struct rows *out, const struct table *t)
{
    *out = (struct rows){0};
    out->at = (const char *)t->at;
    out->dtype = SHOAL_F32;
    out->stride = t->stride * sizeof(float);
    out->n = t->rows;
    out->dim = t->width;
    return kernel_choose(&out->kernel);
}

/* A stored row is padded at least as far as one of floats. */
static void widen(const struct rows *r, size_t id, float *out)
{
    size_t n = table_stride(r->dim);
    const void *row = id < r->n ? r->at + id * r->stride : (const void *)(r->made + (id - r->n) * n);

    switch (id < r->n ? r->dtype : SHOAL_F32) {
    case SHOAL_F32:
        memcpy(out, row, n * sizeof *out);
        break;
    case SHOAL_F16:
        r->kernel->from_half(out, row, n);
        break;
    case SHOAL_BF16:
        r->kernel->from_bfloat(out, row, n);
        break;
    case SHOAL_INT8: /* without its scale, which no direction needs */
        r->kernel->from_int8(out, row, n);
        break;
    }
}

bool vector_normalize(float *x, size_t dim)
{
    double length = 0;

    for (size_t j = 0; j < dim; j++)
        length += (double)x[j] * x[j];
    length = sqrt(length);
    for (size_t j = 0; j < dim; j++)
        x[j] = length > 0 && isfinite(length) ? (float)(x[j] / length) : 0;
    for (size_t j = dim; j < table_stride(dim); j++)
        x[j] = 0;
    return length > 0 && isfinite(length);
}

bool rows_unit(const struct rows *r, uint32_t id, float *out)
{
    widen(r, id, out);
    return vector_normalize(out, r->dim);
}

double vector_dot(const float *x, const float *y, size_t n)
{
    double sum = 0;

    for (size_t j = 0; j < n; j++)
        sum += (double)x[j] * y[j];
    return sum;
}

double rows_cosine(const struct rows *r, uint32_t a, uint32_t b, float *units)
{
    float *other = units + table_stride(r->dim);
    bool both = rows_unit(r, a, units) && rows_unit(r, b, other);

    return both ? vector_dot(units, other, r->dim) : 0;
}

size_t rows_fit(const struct rows *r, size_t floats)
{
    size_t fit = floats / table_stride(r->dim);

    if (fit > ROWS_BLOCK)
        return ROWS_BLOCK;
    return fit > 0 ? fit : 1;
}

size_t rows_blocks(const struct rows *r, size_t most)
{
    return (r->n + most - 1) / most;
}

shoal_status block_reader_init(struct block_reader *b, const struct rows *r, size_t most)
{
    size_t bytes = table_bytes(most, r->dim);

    *b = (struct block_reader){.rows = r, .most = most, .stride = r->stride / sizeof(float)};
    if (r->dtype == SHOAL_F32)
        return SHOAL_OK;
    b->stride = table_stride(r->dim);
    b->wide = aligned_alloc(64, bytes);
    if (!b->wide)
        return shoal_fail(SHOAL_ENOMEM, "memory: no room for %zu bytes", bytes);
    return SHOAL_OK;
}

void block_reader_fini(struct block_reader *b)
{
    free(b->wide);
    b->wide = NULL;
}

void block_reader_read(struct block_reader *b, size_t i)
{
    const struct rows *r = b->rows;

    b->first = i * b->most;
    b->n = r->n - b->first < b->most ? r->n - b->first : b->most;
    if (b->wide) {
        for (size_t j = 0; j < b->n; j++)
            widen(r, b->first + j, b->wide + j * b->stride);
        b->at = b->wide;
    } else {
        b->at = (const float *)(const void *)(r->at + b->first * r->stride);
    }
    r->kernel->squares(b->inverse, b->at, b->stride, b->n, r->dim);
    for (size_t j = 0; j < b->n; j++)
        b->inverse[j] = b->inverse[j] > 0 ? 1 / sqrtf(b->inverse[j]) : 0;
}
