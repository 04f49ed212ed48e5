/* NumPy's .npy, whose head samples/arrays.c reads: floats of 2, 4 or 8 bytes, of either order of
 * bytes, by rows or by columns. The words are lines of FILE.vocab. */
#include "saved/vectors/vectors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- reading ---- */

shoal_status numpy_check(const struct npy *h, const char *path, enum shoal_dtype *dtype)
{
    shoal_status st;

    *dtype = h->size == 2 ? SHOAL_F16 : SHOAL_F32;
    if (h->kind != 'f' || (h->size != 2 && h->size != 4 && h->size != 8))
        return shoal_fail(SHOAL_EFORMAT, "%s: its numbers are %s, want floats: f2, f4 or f8", path,
                          h->type);
    if (h->ndims != 2)
        return shoal_fail(SHOAL_EFORMAT, "%s: its shape is not that of a matrix", path);
    st = vectors_check_shape(path, h->dims[0], h->dims[1]);
    if (st == SHOAL_OK && h->dims[0] * h->dims[1] * h->size != h->bytes)
        st = shoal_fail(SHOAL_EFORMAT, "%s: %zu bytes of numbers, want %zu for %zu x %zu", path,
                        h->bytes, h->dims[0] * h->dims[1] * h->size, h->dims[0], h->dims[1]);
    return st;
}

/* Bit by bit, but for doubles, which are rounded to nearest. */
static bool put_row(const void *from, size_t row, char *to)
{
    const struct array *a = from;
    uint16_t *half = (uint16_t *)(void *)to;
    float *single = (float *)(void *)to;

    for (size_t i = 0; i < a->width; i++)
        if (a->type == ARRAY_F16)
            half[i] = (uint16_t)array_bits(a, row, i);
        else
            single[i] = (float)array_number(a, row, i);
    return dtype_all_finite(a->type == ARRAY_F16 ? SHOAL_F16 : SHOAL_F32, to, a->width);
}

shoal_status numpy_take(shoal_vectors **out, const struct source *src, const struct npy *h,
                        enum shoal_format format, struct naming *n)
{
    struct array a = {.path = src->path,
                      .n = h->dims[0],
                      .width = h->dims[1],
                      .sides = {h->dims[1]},
                      .type = h->size == 2   ? ARRAY_F16
                              : h->size == 4 ? ARRAY_F32
                                             : ARRAY_F64,
                      .big = h->big,
                      .by_columns = h->by_columns,
                      .at = h->at};
    enum shoal_dtype dtype = h->size == 2 ? SHOAL_F16 : SHOAL_F32;
    shoal_status st = vectors_new_named(out, format, h->dims[1], dtype, n);

    if (st != SHOAL_OK)
        return st;
    if (h->size != 8 && !h->big && !h->by_columns)
        return vectors_fill(*out, src, h->at, NULL);
    return vectors_compute(*out, src->path, put_row, &a);
}

shoal_status numpy_read(shoal_vectors **out, const struct source *src)
{
    enum shoal_dtype dtype;
    struct naming names = {0};
    struct npy h;
    shoal_status st = npy_head(&h, src->path, src->at, src->len);

    if (st == SHOAL_OK)
        st = numpy_check(&h, src->path, &dtype);
    if (st == SHOAL_OK)
        st = naming_beside(&names, src, h.dims[0]);
    if (st == SHOAL_OK)
        st = numpy_take(out, src, &h, SHOAL_FORMAT_NPY, &names);
    naming_fini(&names);
    return st;
}

/* ---- writing ---- */

/* Version 1, as numpy.save writes it: the header ends with spaces and a newline
 * at a multiple of 64. */
static shoal_status write_all(const struct saving *s, struct output *o)
{
    char head[256];
    int n = snprintf(head + 10, sizeof head - 10,
                     "{'descr': '%s', 'fortran_order': False, 'shape': (%zu, %zu), }",
                     s->dtype == SHOAL_F16 ? "<f2" : "<f4", s->n, s->v->dim);
    size_t used = 10 + (size_t)n, len = (used + 1 + 63) / 64 * 64;
    shoal_status st;

    memcpy(head, "\x93NUMPY\1", 8);
    head[8] = (char)((len - 10) & 0xff);
    head[9] = (char)((len - 10) >> 8);
    memset(head + used, ' ', len - used);
    head[len - 1] = '\n';
    st = output_write(o, head, len);
    if (st == SHOAL_OK)
        st = saving_rows(s, s->v->dim * dtype_size(s->dtype), NULL, saving_put_output, o);
    return st;
}

shoal_status numpy_save(const struct saving *s)
{
    struct output *o;
    shoal_status st = saving_words_beside(s);

    if (st == SHOAL_OK)
        st = output_open(&o, s->path);
    return st == SHOAL_OK ? output_end(o, write_all(s, o)) : st;
}
