/* NumPy's .npy: "\x93NUMPY", version, the length of a header, the header as a
 * Python dict, then the numbers. The words are lines of FILE.vocab. */
#include "saved/vectors/vectors.h"

#include <stdio.h>
#include <stdlib.h>

#define MAGIC "\x93NUMPY"
#define MAGIC_LEN 6

bool numpy_sniff(const struct source *src)
{
    return src->len >= MAGIC_LEN && memcmp(src->at, MAGIC, MAGIC_LEN) == 0;
}

/* ---- reading ---- */

struct header {
    const char *at, *end; /* the dict */
    size_t size, dim;
    enum shoal_dtype dtype;
};

/* Where the dict lies: its length has 2 bytes in version 1, 4 in 2 and 3. */
static shoal_status find_dict(struct header *h, const struct source *src)
{
    const unsigned char *at = (const unsigned char *)src->at;
    unsigned version = src->len > MAGIC_LEN ? at[MAGIC_LEN] : 0;
    size_t begin = version == 1 ? 10 : 12, len;

    if (version < 1 || version > 3)
        return shoal_fail(SHOAL_EFORMAT, "%s: NumPy's version %u, want 1 to 3", src->path, version);
    if (src->len < begin)
        return shoal_fail(SHOAL_EFORMAT, "%s: ends after %zu bytes, within its header", src->path,
                          src->len);
    len = at[8] | (size_t)at[9] << 8;
    if (version > 1)
        len |= (size_t)at[10] << 16 | (size_t)at[11] << 24;
    if (len > src->len - begin)
        return shoal_fail(SHOAL_EFORMAT, "%s: its header of %zu bytes is cut off after %zu",
                          src->path, len, src->len - begin);
    h->at = src->at + begin;
    h->end = h->at + len;
    return SHOAL_OK;
}

/* What stands behind 'key': in the dict, or NULL. */
static const char *dict_value(const struct header *h, const char *key)
{
    char quoted[32];
    size_t len = (size_t)snprintf(quoted, sizeof quoted, "'%s':", key);
    const char *at = memmem(h->at, (size_t)(h->end - h->at), quoted, len);

    if (!at)
        return NULL;
    for (at += len; at < h->end && *at == ' ';)
        at++;
    return at;
}

static bool starts(const struct header *h, const char *at, const char *with)
{
    return at && (size_t)(h->end - at) >= strlen(with) && memcmp(at, with, strlen(with)) == 0;
}

static const char *read_size(const char *at, const char *end, size_t *out)
{
    const char *begin = at;

    for (*out = 0; at < end && *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(*out, (size_t)10, out) ||
            __builtin_add_overflow(*out, (size_t)(*at - '0'), out))
            return NULL;
    return at > begin ? at : NULL;
}

/* "(3, 4)" and nothing else. */
static bool read_shape(struct header *h)
{
    const char *at = dict_value(h, "shape");

    if (!starts(h, at, "("))
        return false;
    at = read_size(at + 1, h->end, &h->size);
    if (!starts(h, at, ","))
        return false;
    for (at++; at < h->end && *at == ' ';)
        at++;
    at = read_size(at, h->end, &h->dim);
    return starts(h, at, ")") || starts(h, at, ",)");
}

static shoal_status read_header(struct header *h, const struct source *src)
{
    const char *descr;
    size_t data, want;
    shoal_status st = find_dict(h, src);

    if (st != SHOAL_OK)
        return st;
    descr = dict_value(h, "descr");
    h->dtype = starts(h, descr, "'<f2'") ? SHOAL_F16 : SHOAL_F32;
    if (!starts(h, descr, "'<f2'") && !starts(h, descr, "'<f4'"))
        return shoal_fail(SHOAL_EFORMAT, "%s: its numbers are %.*s, want '<f4' or '<f2'", src->path,
                          descr ? (int)(h->end - descr < 5 ? h->end - descr : 5) : 7,
                          descr ? descr : "unknown");
    if (!starts(h, dict_value(h, "fortran_order"), "False"))
        return shoal_fail(SHOAL_EFORMAT, "%s: its order is not C's, row by row", src->path);
    if (!read_shape(h))
        return shoal_fail(SHOAL_EFORMAT, "%s: its shape is not that of a matrix", src->path);
    st = vectors_check_shape(src->path, h->size, h->dim);
    data = (size_t)(src->at + src->len - h->end);
    want = st == SHOAL_OK ? h->size * h->dim * dtype_size(h->dtype) : data;
    if (want != data)
        st = shoal_fail(SHOAL_EFORMAT, "%s: %zu bytes of numbers, want %zu for %zu x %zu",
                        src->path, data, want, h->size, h->dim);
    return st;
}

shoal_status numpy_read(shoal_vectors **out, const struct source *src)
{
    struct header h = {0};
    shoal_status st = read_header(&h, src);

    *out = NULL;
    if (st == SHOAL_OK)
        st = vectors_new(out, h.size, h.dim, h.dtype);
    if (st == SHOAL_OK)
        st = vectors_name_beside(*out, src);
    if (st == SHOAL_OK)
        st = vectors_fill(*out, src, h.end, NULL);
    if (st == SHOAL_OK) {
        (*out)->format = SHOAL_FORMAT_NPY;
        return SHOAL_OK;
    }
    shoal_vectors_close(*out);
    *out = NULL;
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

    memcpy(head, MAGIC "\1", MAGIC_LEN + 2);
    head[8] = (char)((len - 10) & 0xff);
    head[9] = (char)((len - 10) >> 8);
    memset(head + used, ' ', len - used);
    head[len - 1] = '\n';
    st = output_write(o, head, len);
    if (st == SHOAL_OK)
        st = saving_rows(s, s->v->dim * dtype_size(s->dtype), NULL, put_output, o);
    return st;
}

shoal_status numpy_save(const struct saving *s)
{
    struct output *o;
    shoal_status st = saving_words_beside(s);

    if (st == SHOAL_OK)
        st = output_open(&o, s->path);
    return st == SHOAL_OK ? saving_end(o, write_all(s, o)) : st;
}
