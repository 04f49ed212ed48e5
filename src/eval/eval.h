/* eval: how good vectors and classifiers are.
 *
 * What this is: nearest rows, analogies, odd ones out and spellings, suites of
 * questions with their scores, and the scores of classifiers: over rows, words and
 * answers, wherever they come from. The room knows no model and no file of one. The
 * public functions that ask vectors are saved's, and described in shoal.h.
 * Who owns what: a suite owns its words; vocabulary and rows are borrowed for
 * the length of a call.
 * Threads: a suite is immutable once open, and any number may run it. A sum of
 * examples (binary, classes) is one thread's at a time. */
#ifndef SHOAL_EVAL_H
#define SHOAL_EVAL_H

#include <shoal.h>

#include "base/base.h"
#include "file/file.h"
#include "text/text.h"
#include "eval/graph.h"
#include "eval/rows.h"
#include "eval/map.h"
#include "eval/predictions.h"

/* Who has vectors of words that are not in the vocabulary: out [dim]; SHOAL_ENOENT: not of this
 * one. */
struct composer {
    shoal_status (*compose)(const void *from, const char *word, size_t len, float *out);
    const void *from;
};

/* shoal_eval_run: row i of `rows`, which has as many as the vocabulary, is word i's.
 * Nothing of them is copied but the rows of the words that questions name. `others` may be
 * NULL. */
shoal_status eval_run(const shoal_eval *e, const shoal_vocab *vocab, const struct rows *rows,
                      const struct composer *others, const struct shoal_eval_opts *opts,
                      struct shoal_score **scores, size_t *n);
/* The same of rows that are being trained. */
shoal_status eval_run_table(const shoal_eval *e, const shoal_vocab *vocab,
                            const struct table *table, const struct composer *others,
                            const struct shoal_eval_opts *opts, struct shoal_score **scores,
                            size_t *n);

/* ---- nearest.c, spelling.c: as shoal_nearest, shoal_analogy and so on ------------- */

shoal_status nearest_to(const struct rows *rows, const float *query, const uint32_t *skip,
                        size_t nskip, unsigned threads, struct shoal_hit *hits, size_t k,
                        size_t *found);
/* The same of those that the filter takes; NULL: all. */
shoal_status nearest_filtered(const struct rows *rows, const float *query, const uint32_t *skip,
                              size_t nskip, const struct near_filter *filter, unsigned threads,
                              struct shoal_hit *hits, size_t k, size_t *found);
/* What a question about n = 1 or 3 words searches for, 3CosAdd of three: a unit row into room
 * [n][table_stride(dim)]. */
shoal_status nearest_direction(const struct rows *rows, const uint32_t *ids, size_t n, float *room);
void hits_sort(struct shoal_hit *hits, size_t n); /* best first, equals by id */
shoal_status nearest_analogy(const struct rows *rows, const uint32_t *abc, enum shoal_analogy how,
                             unsigned threads, struct shoal_hit *hits, size_t k, size_t *found);
shoal_status nearest_cosine(const struct rows *rows, uint32_t a, uint32_t b, double *out);
shoal_status nearest_odd(const struct rows *rows, const uint32_t *ids, size_t n, size_t *odd);
shoal_status spelling_near(const shoal_vocab *vocab, const char *word, uint32_t *ids, size_t k,
                           size_t *found);

/* One of several questions that share passes over the rows. */
struct near_ask {
    uint32_t ids[3];
    size_t n;               /* 1: who is near to that word? 3: a is to b as c is to whom? */
    enum shoal_analogy how; /* of an analogy */
    struct shoal_hit *hits; /* [k] best first */
    size_t k, found;
    const struct near_filter *filter; /* who may answer; NULL: all */
    shoal_status st; /* a question that cannot be asked fails alone */
};

/* Each as shoal_nearest of the word's own row, which does not answer, or as
 * shoal_analogy. The rows are read once for dozens of questions, which take about as long as one.
 */
shoal_status nearest_many(const struct rows *rows, struct near_ask *asks, size_t n,
                          unsigned threads);

/* ---- classify.c, classify_auc.c: two classes ------------------------------------- */

/* Examples added up to a shoal_binary_score. For an exact AUC each is kept, 16
 * bytes, until there are more than `keep`; then they are counted in 2^20 bins, 16
 * MiB, and the AUC is known within a small bound. All else is the same either way. */
struct binary;

enum binary_scale {
    BINARY_PROBABILITY, /* scores are p: 0 .. 1 */
    BINARY_LOGIT,       /* or log(p / (1 - p)), which tells more near 0 and 1 */
};

enum { BINARY_KEEP = 1 << 22 }; /* a good choice */

shoal_status binary_new(struct binary **out, enum binary_scale scale, size_t keep);
void binary_free(struct binary *b);
/* As it was when new. */
void binary_clear(struct binary *b);
/* weight 1: an example as any other; 0: it is but counted. A score that is no
 * number, and a weight that is none or less than 0, are refused. */
shoal_status binary_add(struct binary *b, double score, bool label, double weight);
/* Of all so far; more may be added after it. */
shoal_status binary_score(struct binary *b, struct shoal_binary_score *out);

/* ---- classes.c: many classes ------------------------------------------------------- */

/* Examples of n classes added up to a shoal_classes_score. */
struct classes;

enum {
    CLASSES_MOST = 1 << 20,
    CLASSES_MATRIX = 1024, /* up to so many there is a confusion matrix */
};

shoal_status classes_new(struct classes **out, unsigned n);
void classes_free(struct classes *c);
void classes_clear(struct classes *c); /* as it was when new */
/* scores [n], higher is likelier, the first of equals. */
shoal_status classes_add(struct classes *c, const float *scores, uint32_t label);
/* The same of an example of n > 0 labels that was said to be of class `best`; SHOAL_NO_ID: of none.
 * In the matrix it counts as the one that was found, or as its first. */
void classes_add_labels(struct classes *c, uint32_t best, const uint32_t *label, size_t n);
void classes_score(const struct classes *c, struct shoal_classes_score *out);

/* One class: examples of it, those said to be of it, and those both. */
struct class_counts {
    uint64_t there, said, right;
};

const struct class_counts *classes_counts(const struct classes *c); /* [n] */
/* [n][n]: of class i, said to be of class j. NULL beyond CLASSES_MATRIX. */
const uint64_t *classes_matrix(const struct classes *c);
double class_precision(const struct class_counts *k); /* right / said; NaN when nothing was */
double class_recall(const struct class_counts *k);    /* right / there, likewise */
double class_f1(const struct class_counts *k);

#endif
