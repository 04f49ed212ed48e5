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
#include "saved/fasttext.h"
#include "saved/saved.h"
#include "saved/source.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "every format here is little-endian");

/* The rows of n-grams, of which words that were never seen have vectors. A known word's row among
 * the vectors is composed already: the mean of a row of its own and of its n-grams'. Its own is
 * not kept, grams_own computes it. */
struct grams {
    struct subwords how; /* maxn 0: there are none */
    enum shoal_dtype dtype;
    const char *rows;    /* [how.buckets][stride]; of f32 they need not be aligned */
    size_t stride;       /* bytes from row to row */
    const float *scales; /* [how.buckets] for int8, or NULL */
    const struct fasttext *of; /* they are among its rows, and `rows` is NULL; or NULL */
};

/* Rows that are composed when they are asked for, of what lies in a file: the object stays
 * immutable as seen from outside. */
struct late {
    struct fasttext model; /* without its dictionary, which the vocabulary is */
    struct source src;     /* where it lies; ours to close */
    char *path;
    uint32_t *from; /* [size]: the row that each word has in the model; NULL: the same */
    pthread_mutex_t lock;
    _Atomic(char *) rows;   /* [size][stride], once all were wanted; mem_map */
    _Atomic(float *) hidden; /* [size][table_stride(dim)], likewise */
};

struct shoal_vectors {
    shoal_vocab *vocab;
    size_t size, dim;
    enum shoal_format format;
    enum shoal_dtype dtype;
    size_t stride;       /* bytes from row to row, a multiple of 64 */
    const char *rows;    /* [size][stride]; NULL: late. vectors_all has them */
    const float *scales; /* [size] for int8, or NULL */
    const float *hidden; /* [hidden_rows][table_stride(dim)], or NULL; vectors_hidden has them */
    size_t hidden_rows;
    struct grams grams;
    struct late *late; /* or NULL */
    struct shoal_left_out left;
    char *left_first; /* the sentence about the first that was left out, or NULL */

    uint32_t *from; /* [size]: while it is read, the row of the file that each is; NULL: the same */
    struct container *file; /* where all of these lie; NULL: ours, as follows */
    char *own_rows;         /* mem_map of own_bytes: all rows, and behind them those of n-grams */
    size_t own_bytes;
    float *own_hidden;      /* mem_map of table_bytes(hidden_rows, dim) */
};

#define DIM_MAX ((size_t)1 << 20)

/* ---- vectors.c ---- */

/* Rows of zeros for size x dim, which must be checked against the source
 * before: this allocates. The vocabulary is still missing. */
shoal_status vectors_new(shoal_vectors **out, enum shoal_format format, size_t size, size_t dim,
                         enum shoal_dtype dtype);
/* "dim is 0, want 1 to ...": the limits that every format shares. */
shoal_status vectors_check_shape(const char *path, size_t size, size_t dim);
/* Copies row i from base + at[i], or from row to row when at is NULL, with all
 * threads; fails with the first row that holds a NaN or an infinity. Rows are the file's: where
 * some were left out, `from` says which. The last that is done with the source: what is spare is
 * given back on the way. */
shoal_status vectors_fill(shoal_vectors *v, const struct source *src, const char *base,
                          const uint64_t *at);
/* So, with numbers that are computed: `put` writes row `row` of the file to `to`, and says whether
 * all of it is finite. */
typedef bool (*row_fn)(const void *from, size_t row, char *to);
shoal_status vectors_compute(shoal_vectors *v, const char *path, row_fn put, const void *from);

/* ---- grams.c ---- */

/* Adds the row of a bucket to sum [dim]: the only way to the rows of n-grams. False: it has none,
 * having been pruned. */
bool grams_add(const struct grams *g, size_t dim, uint32_t bucket, float *sum);
/* Adds the rows of a word's n-grams to sum [dim], and says how many they are. */
shoal_status grams_add_all(const shoal_vectors *v, const char *word, size_t len, float *sum,
                           size_t *n);
/* The sum of the rows of a word's n-grams into out [dim], and how many they are: 0 of none. */
shoal_status grams_sum(const shoal_vectors *v, const char *word, size_t len, float *out,
                       size_t *n);
/* Word id's own row, as training has it: what its vector is beside its n-grams. */
shoal_status grams_own(const shoal_vectors *v, uint32_t id, float *out);
bool row_is_zero(const float *x, size_t n);
/* The rows of n-grams as vectors without words, borrowed, for what reads and writes rows. */
shoal_vectors grams_as_vectors(const shoal_vectors *v);

/* ---- names.c ---- */

/* The words of a file's rows, in their order. */
struct word_list {
    const char *path;         /* of the file that they stand in, for sentences */
    const char *text;         /* they lie in lines of it; NULL: they have numbers, no lines */
    const struct span *words; /* [n]; len 0: the row has none */
    const uint64_t *counts;   /* [n], or NULL: not known */
    size_t n;
};

/* Those that are kept: each once, none empty. */
struct naming {
    shoal_vocab *vocab;
    uint32_t *rows; /* [its size]: the row of each; NULL: all, in their order */
    struct shoal_left_out left;
    char *first;
};

/* naming_fini may follow a failure too. */
shoal_status naming_make(struct naming *out, const struct word_list *list);
void naming_fini(struct naming *n);
/* The words of lines, as many as there are rows; NAMING_ALL: whatever their number. */
#define NAMING_ALL SIZE_MAX
shoal_status naming_of_lines(struct naming *out, const char *path, const char *lines, size_t len,
                             size_t rows);
/* The same from FILE.vocab. */
shoal_status naming_beside(struct naming *out, const struct source *src, size_t rows);
/* Vectors of these words, with rows of zeros for vectors_fill; takes what n has. */
shoal_status vectors_new_named(shoal_vectors **out, enum shoal_format format, size_t dim,
                               enum shoal_dtype dtype, struct naming *n);
/* Gives v the vocabulary, and what was left out. */
void names_take(shoal_vectors *v, struct naming *n);
/* Keeps the named ones of rows that were all read; takes what n has. */
shoal_status vectors_keep(shoal_vectors *v, struct naming *n);

/* ---- late.c ---- */

/* One whose model is still missing; late_free ends it. */
shoal_status late_new(struct late **out, const char *path);
/* Vectors of its model, which they take, and of the names, also taken; after a failure `late` is
 * still the caller's. */
shoal_status vectors_new_late(shoal_vectors **out, enum shoal_format format, struct late *late,
                              struct naming *n);
/* The same of vectors that have their vocabulary and are to have nothing else. */
void vectors_take_late(shoal_vectors *v, struct late *late);
/* Of vectors of this shape, or of none: zeros. */
void late_free(struct late *late, size_t size, size_t stride, size_t dim);
/* Row id of late vectors. */
shoal_status late_row(const shoal_vectors *v, uint32_t id, float *out);
/* The row that a word has for itself. */
void late_own(const shoal_vectors *v, uint32_t id, float *out);
shoal_status late_verify(const shoal_vectors *v);
/* All rows [size][stride], composed by all threads where they were not. */
shoal_status vectors_all(const shoal_vectors *v, const char **rows);
/* The output rows, or NULL: there are none. */
shoal_status vectors_hidden(const shoal_vectors *v, const float **rows);

/* ---- other.c: files that hold no vectors ---- */

/* Fails: "x: is a vocabulary, want vectors: ...", or says what else it is not. */
shoal_status vectors_fail_other(const struct source *src);
/* The same by the kind of a container; one that is unknown too. */
shoal_status vectors_fail_kind(const char *path, const char *kind);

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
/* Of the counts of its words. */
uint64_t saving_total(const struct saving *s);
/* FILE.vocab: a line for each word, none of which may hold a newline. */
shoal_status saving_words_beside(const struct saving *s);
/* Fails when a word holds one of these bytes, which `format` cannot carry. */
shoal_status saving_check_words(const struct saving *s, const char *bytes, const char *format);

/* ---- one pair for each format ----
 * What a reader that fails has made so far is in *out, or NULL: vectors_read ends it. */

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
/* "its shape is not that of a matrix": an array that can be vectors, and of which type. */
shoal_status numpy_check(const struct npy *h, const char *path, enum shoal_dtype *dtype);
/* Vectors of the array and the names, which are taken; `spare` as of a source. */
shoal_status numpy_take(shoal_vectors **out, const struct source *src, const struct npy *h,
                        enum shoal_format format, struct naming *n);
shoal_status numpy_save(const struct saving *s);

/* fasttext.c; keeps the source, which is empty then */
shoal_status vectors_fasttext_read(shoal_vectors **out, struct source *src);
shoal_status vectors_fasttext_save(const struct saving *s);
/* What fastText would have been asked for to make such vectors: its defaults, where nobody knows. */
struct fasttext_args vectors_fasttext_args(size_t dim, const struct subwords *how);

/* floret.c */
bool vectors_floret_sniff(const struct source *src);
shoal_status vectors_floret_read(shoal_vectors **out, const struct source *src);
shoal_status vectors_floret_save(const struct saving *s);

/* packed.c: product-quantised, in our container. `late` is the vectors' after a success. */
#define PACKED_CODES "pq.codes" /* a section that no others have */
bool vectors_packed(const shoal_vectors *v);
shoal_status vectors_packed_read(shoal_vectors *v, const struct container *c);
shoal_status vectors_packed_save(const struct saving *s);

/* npz.c */
shoal_status npz_read(shoal_vectors **out, const struct source *src);

/* safetensors.c */
shoal_status safetensors_read(shoal_vectors **out, const struct source *src);
shoal_status safetensors_save(const struct saving *s);

#endif
