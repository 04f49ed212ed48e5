/* NumPy's .npy, whose head samples_arrays.c reads. The words are lines of FILE.vocab. */
#include "saved/vectors/vectors.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- reading ---- */

static shoal_status check_head(const struct npy *h, const struct source *src,
                               enum shoal_dtype *dtype)
{
    size_t want;
    shoal_status st;

    *dtype = strcmp(h->type, "'<f2'") == 0 ? SHOAL_F16 : SHOAL_F32;
    if (*dtype == SHOAL_F32 && strcmp(h->type, "'<f4'") != 0)
        return shoal_fail(SHOAL_EFORMAT, "%s: its numbers are %s, want '<f4' or '<f2'", src->path,
                          h->type);
    if (!h->by_rows)
        return shoal_fail(SHOAL_EFORMAT, "%s: its order is not C's, row by row", src->path);
    if (h->ndims != 2)
        return shoal_fail(SHOAL_EFORMAT, "%s: its shape is not that of a matrix", src->path);
    st = vectors_check_shape(src->path, h->dims[0], h->dims[1]);
    want = st == SHOAL_OK ? h->dims[0] * h->dims[1] * dtype_size(*dtype) : h->bytes;
    if (want != h->bytes)
        st = shoal_fail(SHOAL_EFORMAT, "%s: %zu bytes of numbers, want %zu for %zu x %zu",
                        src->path, h->bytes, want, h->dims[0], h->dims[1]);
    return st;
}

shoal_status numpy_read(shoal_vectors **out, const struct source *src)
{
    enum shoal_dtype dtype;
    struct npy h;
    shoal_status st = npy_head(&h, src->path, src->at, src->len);

    if (st == SHOAL_OK)
        st = check_head(&h, src, &dtype);
    if (st == SHOAL_OK)
        st = vectors_new(out, SHOAL_FORMAT_NPY, h.dims[0], h.dims[1], dtype);
    if (st == SHOAL_OK)
        st = vectors_name_beside(*out, src);
    return st == SHOAL_OK ? vectors_fill(*out, src, h.at, NULL) : st;
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
