/* vectors: what the readers and writers of word vectors share; not a door.
 *
 * What this is: the object behind shoal_vectors, the bytes it is read from, and
 * one pair of functions for each format.
 * Who owns what: a reader borrows its source until it returns, but for the
 * container, which the vectors keep open.
 * Threads: a reader starts its own; the object is immutable once made. */
#ifndef SHOAL_SAVED_VECTORS_H
#define SHOAL_SAVED_VECTORS_H

#include "saved/dtype.h"
#include "saved/saved.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "every format here is little-endian");

struct shoal_vectors {
    shoal_vocab *vocab;
    size_t size, dim;
    enum shoal_format format;
    enum shoal_dtype dtype;
    size_t stride;       /* bytes from row to row, a multiple of 64 */
    const char *rows;    /* [size][stride] */
    const float *scales; /* [size] for int8, or NULL */
    const float *hidden; /* [hidden_rows][table_stride(dim)], or NULL */
    size_t hidden_rows;

    struct container *file; /* where all of these lie; NULL: ours, as follows */
    char *own_rows;         /* mem_map of size * stride */
    float *own_hidden;      /* mem_map of table_bytes(hidden_rows, dim) */
};

#define DIM_MAX ((size_t)1 << 20)

/* ---- vectors.c ---- */

/* A file's bytes, and those of FILE.vocab beside it. */
struct source {
    const char *path;
    const char *at;
    size_t len;
    const char *words; /* given with the bytes; NULL: look for the file */
    size_t words_len;
    void *ours;    /* at, when it is ours to unmap */
    bool spare;    /* memory of our own: what was used of it may go at once */
    char *slurped; /* ours to free */
};

/* Rows of zeros for size x dim, which must be checked against the source
 * before: this allocates. The vocabulary is still missing. */
shoal_status vectors_new(shoal_vectors **out, enum shoal_format format, size_t size, size_t dim,
                         enum shoal_dtype dtype);
/* "dim is 0, want 1 to ...": the limits that every format shares. */
shoal_status vectors_check_shape(const char *path, size_t size, size_t dim);
/* Copies row i from base + at[i], or from row to row when at is NULL, with all
 * threads; fails with the first row that holds a NaN or an infinity. The last that is
 * done with the source: what is spare is given back on the way. */
shoal_status vectors_fill(shoal_vectors *v, const struct source *src, const char *base,
                          const uint64_t *at);
/* The words of lines, as many as v has rows. */
shoal_status vectors_name(shoal_vectors *v, const char *path, const char *lines, size_t len);
/* The same from FILE.vocab. */
shoal_status vectors_name_beside(shoal_vectors *v, const struct source *src);

/* All threads for much work, one for little. */
unsigned vectors_threads(size_t bytes);

/* What to write. */
struct saving {
    const shoal_vectors *v;
    const char *path;
    size_t n; /* rows */
    enum shoal_dtype dtype;
    bool normalize;
    bool header; /* of lines: the first says how many there are */
};

/* Row id as it goes out: floats, of length 1 if asked for. Fails when one of
 * them is not finite. */
shoal_status saving_row(const struct saving *s, uint32_t id, float *out);

/* Rows of `stride` bytes in the dtype asked for, scales [n] beside them if it
 * is int8, to whatever takes bytes. */
typedef shoal_status (*put_fn)(void *to, const void *data, size_t len);
shoal_status saving_rows(const struct saving *s, size_t stride, float *scales, put_fn put,
                         void *to);
shoal_status saving_put_output(void *output, const void *data, size_t len);
/* FILE.vocab: a line for each word, none of which may hold a newline. */
shoal_status saving_words_beside(const struct saving *s);
/* Fails when a word holds one of these bytes, which `format` cannot carry. */
shoal_status saving_check_words(const struct saving *s, const char *bytes, const char *format);

/* ---- one pair for each format ----
 * What a reader that fails has made so far is in *out, or NULL: read_source ends it. */

/* text.c: also without the first line, as GloVe's */
bool vectors_text_header(const struct source *src, size_t *size, size_t *dim, size_t *len);
bool vectors_text_sniff(const struct source *src, size_t begin, size_t dim);
shoal_status vectors_text_read(shoal_vectors **out, const struct source *src, bool header);
shoal_status vectors_text_save(const struct saving *s);

/* word2vec.c */
bool word2vec_sniff(const struct source *src);
shoal_status word2vec_read(shoal_vectors **out, const struct source *src);
shoal_status word2vec_save(const struct saving *s);

/* shoal.c; takes c, also on failure */
shoal_status vectors_container_read(void **out, struct container *c);
shoal_status vectors_container_save(const struct saving *s);

/* numpy.c */
shoal_status numpy_read(shoal_vectors **out, const struct source *src);
shoal_status numpy_save(const struct saving *s);

/* safetensors.c */
shoal_status safetensors_read(shoal_vectors **out, const struct source *src);
shoal_status safetensors_save(const struct saving *s);

#endif
