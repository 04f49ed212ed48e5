/* Vectors in our container, used where they lie. Only sizes are checked at
 * opening; words, ids and offsets when they are used (vocab_file.c). */
#include "saved/kind.h"
#include "saved/vectors/vectors.h"

#include <stdio.h>
#include <stdlib.h>

static shoal_status put_section(void *to, const void *data, size_t len)
{
    return container_write(to, data, len);
}

/* ---- reading ---- */

static shoal_status read_dtype(const struct container *c, enum shoal_dtype *out)
{
    char name[16];
    shoal_status st = container_meta(c, "dtype", name, sizeof name);

    if (st != SHOAL_OK)
        return st;
    for (int d = SHOAL_F32; d <= SHOAL_INT8; d++)
        if (strcmp(name, dtype_name((enum shoal_dtype)d)) == 0) {
            *out = (enum shoal_dtype)d;
            return SHOAL_OK;
        }
    return shoal_fail(SHOAL_EFORMAT, "%s: its numbers are \"%s\", want f32, f16, bf16 or int8",
                      container_path(c), name);
}

/* A section of n rows of `stride` bytes. */
static shoal_status find_rows(const struct container *c, const char *name, size_t n, size_t stride,
                              const void **out)
{
    struct section s;
    shoal_status st = container_find(c, name, 1, &s);

    if (st == SHOAL_OK && (s.size % stride != 0 || s.size / stride != n))
        st = shoal_fail(SHOAL_EFORMAT, "%s: section \"%s\" has %zu bytes, want %zu rows of %zu",
                        container_path(c), name, s.size, n, stride);
    *out = s.data;
    return st;
}

static shoal_status find_hidden(shoal_vectors *v, const struct container *c)
{
    struct section s;
    shoal_status st;

    if (!container_has(c, "hidden"))
        return SHOAL_OK;
    st = container_find(c, "hidden", table_stride(v->dim) * sizeof(float), &s);
    v->hidden = s.data;
    v->hidden_rows = s.size / (table_stride(v->dim) * sizeof(float));
    return st;
}

static shoal_status read_how(struct subwords *out, const struct container *c)
{
    uint64_t minn = 0, maxn = 0, buckets = 0, hashes = 0;
    char text[32];
    shoal_status st = container_meta_u64(c, "minn", &minn);

    if (st == SHOAL_OK)
        st = container_meta_u64(c, "maxn", &maxn);
    if (st == SHOAL_OK)
        st = container_meta_u64(c, "buckets", &buckets);
    if (st == SHOAL_OK && container_meta(c, "hashes", text, sizeof text) == SHOAL_OK)
        st = container_meta_u64(c, "hashes", &hashes); /* fastText's have no such line */
    if (st == SHOAL_OK && hashes > SUBWORDS_HASHES)
        st = shoal_fail(SHOAL_EFORMAT, "%s: its n-grams have %llu rows each, want 0 to %d",
                        container_path(c), (unsigned long long)hashes, SUBWORDS_HASHES);
    if (st == SHOAL_OK && (maxn < 1 || minn > maxn || maxn > SUBWORDS_MAXN))
        st = shoal_fail(SHOAL_EFORMAT, "%s: its n-grams have %llu to %llu characters, want at most %d",
                        container_path(c), (unsigned long long)minn, (unsigned long long)maxn,
                        SUBWORDS_MAXN);
    if (st == SHOAL_OK && (buckets < 1 || buckets > SUBWORDS_BUCKETS))
        st = shoal_fail(SHOAL_EFORMAT, "%s: it has %llu buckets, want 1 to %u", container_path(c),
                        (unsigned long long)buckets, SUBWORDS_BUCKETS);
    *out = (struct subwords){(unsigned)minn, (unsigned)maxn, (uint32_t)buckets, (unsigned)hashes};
    return st;
}

/* Of the dtype that the words' rows have. */
static shoal_status find_grams(shoal_vectors *v, const struct container *c)
{
    struct grams *g = &v->grams;
    const void *at = NULL;
    shoal_status st;

    if (!container_has(c, "grams"))
        return SHOAL_OK;
    g->dtype = v->dtype;
    g->stride = v->stride;
    st = read_how(&g->how, c);
    if (st == SHOAL_OK)
        st = find_rows(c, "grams", g->how.buckets, g->stride, &at);
    g->rows = at;
    if (st == SHOAL_OK && g->dtype == SHOAL_INT8) {
        st = find_rows(c, "grams.scales", g->how.buckets, sizeof(float), &at);
        g->scales = at;
    }
    return st;
}

static shoal_status read_all(shoal_vectors *v, const struct container *c)
{
    const void *at = NULL;
    uint64_t dim = 0;
    char kind[32];
    shoal_status st = container_meta(c, "kind", kind, sizeof kind);

    if (st == SHOAL_OK && strcmp(kind, kind_vectors.word) != 0)
        st = vectors_fail_kind(container_path(c), kind);
    if (st == SHOAL_OK && container_has(c, PACKED_CODES))
        return vectors_packed_read(v, c);
    if (st == SHOAL_OK)
        st = read_dtype(c, &v->dtype);
    if (st == SHOAL_OK)
        st = container_meta_u64(c, "dim", &dim);
    if (st == SHOAL_OK)
        st = vocab_map(&v->vocab, c);
    if (st != SHOAL_OK)
        return st;
    v->size = shoal_vocab_size(v->vocab);
    v->dim = (size_t)dim;
    st = vectors_check_shape(container_path(c), v->size, v->dim);
    if (st != SHOAL_OK)
        return st;
    v->stride = dtype_stride(v->dtype, v->dim);
    st = find_rows(c, "vectors", v->size, v->stride, &at);
    v->rows = at;
    if (st == SHOAL_OK && v->dtype == SHOAL_INT8) {
        st = find_rows(c, "scales", v->size, sizeof(float), &at);
        v->scales = at;
    }
    if (st == SHOAL_OK)
        st = find_hidden(v, c);
    return st == SHOAL_OK ? find_grams(v, c) : st;
}

shoal_status vectors_container_read(void **out, struct container *c)
{
    shoal_vectors *v = mem_array(1, sizeof *v);
    shoal_status st;

    *out = NULL;
    if (!v) {
        container_close(c);
        return SHOAL_ENOMEM;
    }
    v->file = c;
    v->format = SHOAL_FORMAT_SHOAL;
    st = read_all(v, c);
    if (st != SHOAL_OK) {
        shoal_vectors_close(v);
        return st;
    }
    *out = v;
    return SHOAL_OK;
}

/* ---- writing ---- */

static void write_meta(const struct saving *s, struct container_writer *w)
{
    const struct subwords *how = &s->v->grams.how;
    char meta[256];
    int n = snprintf(meta, sizeof meta, "kind vectors\nwords %zu\ndim %zu\ndtype %s\ntotal %llu\n",
                     s->n, s->v->dim, dtype_name(s->dtype), (unsigned long long)saving_total(s));

    if (how->maxn > 0)
        n += snprintf(meta + n, sizeof meta - (size_t)n, "minn %u\nmaxn %u\nbuckets %u\n",
                      how->minn, how->maxn, how->buckets);
    if (how->hashes > 0)
        n += snprintf(meta + n, sizeof meta - (size_t)n, "hashes %u\n", how->hashes);
    container_put(w, "meta", meta, (size_t)n);
}

static shoal_status write_rows(const struct saving *s, struct container_writer *w,
                               const char *name, const char *scales_name)
{
    float *scales = mem_array(s->n, sizeof *scales);
    shoal_status st = scales ? container_begin(w, name) : SHOAL_ENOMEM;

    if (st == SHOAL_OK)
        st = saving_rows(s, dtype_stride(s->dtype, s->v->dim), scales, put_section, w);
    if (st == SHOAL_OK && s->dtype == SHOAL_INT8)
        st = container_put(w, scales_name, scales, s->n * sizeof *scales);
    free(scales);
    return st;
}

/* What training may go on from: only beside the rows as they were trained. */
static shoal_status write_hidden(const struct saving *s, struct container_writer *w)
{
    const shoal_vectors *v = s->v;
    const float *hidden;
    shoal_status st;

    if (s->n < v->size || s->normalize || s->dtype != SHOAL_F32)
        return SHOAL_OK;
    st = vectors_hidden(v, &hidden);
    if (st != SHOAL_OK || !hidden)
        return st;
    return container_put(w, "hidden", hidden, table_bytes(v->hidden_rows, v->dim));
}

/* Whatever becomes of the words' rows, those of n-grams keep their lengths: an unknown word is
 * the mean of several. Words that --top leaves out are unknown then. */
static shoal_status write_grams(const struct saving *s, struct container_writer *w)
{
    shoal_vectors rows = grams_as_vectors(s->v);
    struct saving grams = {.v = &rows, .path = s->path, .n = rows.size, .dtype = s->dtype};

    return rows.size > 0 ? write_rows(&grams, w, "grams", "grams.scales") : SHOAL_OK;
}

shoal_status vectors_container_save(const struct saving *s)
{
    struct container_writer *w;
    shoal_status st;

    if (vectors_packed(s->v))
        return vectors_packed_save(s);
    st = container_create(&w, s->path);

    if (st != SHOAL_OK)
        return st;
    write_meta(s, w);
    st = vocab_save_mapped(s->v->vocab, s->n, w);
    if (st == SHOAL_OK)
        st = write_rows(s, w, "vectors", "scales");
    if (st == SHOAL_OK)
        st = write_hidden(s, w);
    if (st == SHOAL_OK)
        st = write_grams(s, w);
    return container_end(w, st);
}
