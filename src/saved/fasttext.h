/* fasttext: the files of fastText's models, .bin and .ftz; not a door.
 *
 * What this is: a file of version 11 or 12 as its parts, checked before use, and the same parts
 * written as a file. Little-endian, without padding:
 *
 *     i32 793712314, i32 version
 *     args     12 x i32 (dim ws epoch minCount neg wordNgrams loss model bucket minn maxn
 *              lrUpdateRate), f64 t
 *     words    i32 size nwords nlabels, i64 ntokens, i64 kept
 *              size x (text 0, i64 count, i8 type): the words, then the labels
 *              kept x (i32 bucket, i32 row), when kept > 0
 *     input    u8 quantised, matrix [nwords + buckets][dim]; pruned: [nwords + kept][dim]
 *     output   u8 quantised, matrix [nwords or nlabels][dim]
 *
 *     matrix   i64 rows, i64 cols, f32 [rows][cols]
 *     or       u8 norms, i64 rows, i64 cols, i32 bytes, codes [rows][parts], quantiser;
 *              with norms: codes [rows], quantiser of one number
 *     quantiser i32 dim parts dsub last, f32 [dim * 256]
 *
 * A model is supervised (a classifier of texts) or not (word vectors). The vector of a word is the
 * mean of its row and of those of its n-grams; of an unknown word, of its n-grams alone. Of the
 * n-grams of a pruned model those remain that are `kept`.
 * Who owns what: a fasttext borrows the bytes of its file, and its path, until fasttext_fini.
 * Threads: immutable once read. */
#ifndef SHOAL_SAVED_FASTTEXT_H
#define SHOAL_SAVED_FASTTEXT_H

#include "saved/pq.h"
#include "saved/source.h"
#include "text/text.h"

enum fasttext_loss { FASTTEXT_HS = 1, FASTTEXT_NS, FASTTEXT_SOFTMAX, FASTTEXT_OVA };
enum fasttext_model { FASTTEXT_CBOW = 1, FASTTEXT_SKIPGRAM, FASTTEXT_SUPERVISED };

/* As they stand in the file. */
struct fasttext_args {
    int32_t dim, ws, epoch, min_count, neg, word_ngrams;
    int32_t loss, model; /* enum fasttext_loss, enum fasttext_model */
    int32_t bucket, minn, maxn, lr_update_rate;
    double t;
};

/* Dense, or quantised where dense is NULL. The numbers of a file are not aligned. */
struct fasttext_matrix {
    size_t rows, cols;
    const char *dense; /* f32 [rows][stride], of which cols count */
    size_t stride;     /* bytes from row to row */
    struct pq pq;
};

/* out [cols] += row; out = row; the row times x [cols]. row < rows. */
void fasttext_add(const struct fasttext_matrix *m, size_t row, float *out);
void fasttext_row(const struct fasttext_matrix *m, size_t row, float *out);
float fasttext_dot(const struct fasttext_matrix *m, size_t row, const float *x);

/* A bucket that is kept, and its row behind those of the words. */
struct fasttext_kept {
    uint32_t bucket, row;
};

struct fasttext {
    const char *path;
    int32_t version;
    struct fasttext_args args; /* maxn is 0 in supervised models of version 11 */
    size_t nwords, nlabels;
    int64_t ntokens;
    struct span *words; /* [nwords + nlabels], the labels behind; NUL-terminated, none empty */
    uint64_t *counts;   /* [nwords + nlabels] */
    bool pruned;
    struct fasttext_kept *kept; /* [nkept], when pruned: in any order, each bucket once */
    size_t nkept;
    struct fasttext_matrix input, output;

    struct fasttext_kept *slots; /* [nslots], a power of two: `kept` by the hash of its bucket; */
    size_t nslots;               /* row NO_ROW: free */
};

#define FASTTEXT_NO_ROW UINT32_MAX

/* Whether bytes begin so. */
bool fasttext_sniff(const char *at, size_t len);
/* Reads the dictionary and finds the matrices, whose rows are not touched. fasttext_fini may follow
 * a failure too. */
shoal_status fasttext_read(struct fasttext *f, const char *path, const char *at, size_t len);
void fasttext_fini(struct fasttext *f);

/* Makes `kept` [nkept], which is the model's then, findable; fails when a bucket is none or stands
 * there twice. For models that are not read from fastText's files. */
shoal_status fasttext_index(struct fasttext *f);
/* The row of `input` that a bucket has; FASTTEXT_NO_ROW: it was pruned. bucket < args.bucket. */
uint32_t fasttext_bucket_row(const struct fasttext *f, uint32_t bucket);
/* The n-grams of words, as subwords_list makes them; maxn 0: there are none. */
struct subwords fasttext_subwords(const struct fasttext *f);
/* The rows of `input` that the n-grams of a word have; gives how many it put there. Of n-grams, as
 * subwords_list counts them, those behind the first cap are left out. `</s>` has none. */
size_t fasttext_ngrams(const struct fasttext *f, const char *word, size_t len, uint32_t *out,
                       size_t cap);

/* ---- writing ---- */

/* A matrix to write: quantised, or row by row. */
struct fasttext_rows {
    size_t rows, cols;
    const struct pq *pq; /* NULL: `row` writes row i to out [cols], in their order */
    shoal_status (*row)(void *from, size_t i, float *out);
    void *from;
};

struct fasttext_model_out {
    struct fasttext_args args;
    size_t nwords, nlabels;
    int64_t ntokens; /* of the text, rare words included; 0: the sum of all counts */
    /* Text and count of entry i: the words, then the labels. */
    struct span (*entry)(const void *from, size_t i, uint64_t *count);
    const void *from;
    bool pruned;
    const struct fasttext_kept *kept; /* [nkept] */
    size_t nkept;
    struct fasttext_rows input, output;
};

/* Version 12. An entry that holds a NUL cannot be written, nor more than 2^31 - 1 of anything. */
shoal_status fasttext_save(const char *path, const struct fasttext_model_out *m);

#endif
