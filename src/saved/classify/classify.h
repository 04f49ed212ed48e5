/* The inside of a classifier of text, for the files of this folder; not a door.
 *
 * What this is: words, labels and how lines become rows; input rows, of words and n-grams, and
 * output rows, of classes or nodes. The input rows are a table of ours, or those of a fastText
 * file where they lie, quantised or not; output rows are always a table.
 * Who owns what: a classifier owns all of it; the rows lie in its file, or in tables of its own.
 * Threads: immutable once made. An asker belongs to one thread. */
#ifndef SHOAL_SAVED_CLASSIFY_H
#define SHOAL_SAVED_CLASSIFY_H

#include "model/model.h"
#include "saved/kind.h"
#include "saved/saved.h"

struct shoal_classifier {
    struct line_reading reading;
    shoal_vocab *words, *labels;
    struct line_rows features;
    struct classify classes; /* loss, dim, tree */
    size_t stride;
    const float *in;  /* [line_rows_all][stride]; NULL: fastText's */
    const float *out; /* [out rows][stride] */
    struct table in_table, out_table; /* what they point to, where it is ours */
    struct container *file;           /* or what they lie in */
    struct fasttext_model_in *fasttext; /* or the model of fastText's that they are of */
    char **names; /* [labels] other names for the classes; NULL: none */
};

/* Classes, by loss and labels, whose tables have `dim` columns. */
shoal_status classifier_make_classes(shoal_classifier *m, enum shoal_loss loss, size_t dim);
/* A file of fastText's does not say how its labels begin: where one begins otherwise than labels do,
 * a token is a label if the model has it. */
void classifier_know_labels(shoal_classifier *m);
/* How class k is called: by another name, or by its label without the prefix. */
const char *classifier_name(const shoal_classifier *m, size_t k);
void classifier_close(void *model);

/* ---- answer.c ---- */

struct class_asker {
    const shoal_classifier *model;
    struct line_features line;
    struct line_walk walk;
    const float **at; /* [cap] of the line's rows */
    size_t cap;
    float *room;       /* in which `hidden` is aligned as rows are */
    float *hidden, *p; /* [stride], [labels] */
    struct shoal_guess *guess; /* [labels] */
};

shoal_status class_asker_init(struct class_asker *a, const shoal_classifier *m);
void class_asker_fini(struct class_asker *a);
/* p [labels] of n rows. */
shoal_status class_asker_rows(struct class_asker *a, const uint32_t *row, size_t n);
/* The next line of the walk; of no rows there are no answers, and *n is 0. */
shoal_status class_asker_line(struct class_asker *a, bool *more, size_t *n);
/* The k likeliest of p, of at least `threshold`, best first; of equals the later, as fastText has
 * it. Gives how many. */
size_t class_asker_best(struct class_asker *a, size_t k, double threshold);

/* ---- file.c ---- */

const char *classifier_loss(const shoal_classifier *m); /* "softmax" */
shoal_status classifier_read(void **model, struct container *c);
shoal_status classifier_save(const void *model, const char *path,
                             const struct shoal_save_opts *opts);
shoal_status classifier_verify(const void *model);

/* ---- fasttext.c ---- */

shoal_status classifier_verify_fasttext(const shoal_classifier *m);
void classifier_close_fasttext(struct fasttext_model_in *in);
/* sum [dim] += the n rows. */
void classifier_add_fasttext(const shoal_classifier *m, const uint32_t *row, size_t n, float *sum);
/* z becomes what fastText takes for sigmoid(z). */
void classifier_rough_sigmoid(float *z, size_t n);
shoal_status classifier_compress(void **out, const void *model,
                                 const struct shoal_compress_opts *opts);
/* The rows of a model that lies in a file of fastText's, and which buckets have one, all of them, as
 * our file has them; the caller's also after a failure. Quantised ones are refused. */
shoal_status classifier_rows_fasttext(const shoal_classifier *m, const char *path, struct table *in,
                                      uint64_t **bits);
shoal_status classifier_save_fasttext(const shoal_classifier *m, const char *path);

/* ---- score.c ---- */

shoal_status classifier_score(const void *model, const char *path, const struct asked_of *q,
                              const struct shoal_reporter *to);

#endif
