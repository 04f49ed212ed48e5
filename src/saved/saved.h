/* saved: trained models, from their files and back.
 *
 * What this is: word vectors (vectors/), click models (linear/) and nets (net/), each
 * opened, saved, described, asked and scored, and one handle for any of them. The public
 * functions are described in shoal.h and its parts; here is what training, serving and the
 * tests need besides.
 *
 * A new kind of model is
 *   1. a file kind.c in a folder here, or beside its relatives: a struct kind (kind.h) with
 *      its name, the word that its container's meta says, and what it can do;
 *   2. a line in saved_kinds[] (saved.c): predict, eval, info and convert then know it;
 *   3. to be served, a servable of the same name (serve/models/servable.h), and a line there;
 *   4. a fuzz target for its reader (tests/fuzz/README.md).
 *
 * Who owns what: what makes a model of trained tables takes their memory where it says
 * so; all else is copied.
 * Threads: a model is immutable once made, and any number may use it. */
#ifndef SHOAL_SAVED_H
#define SHOAL_SAVED_H

#include <shoal.h>

#include "eval/eval.h"
#include "saved/class_index.h"
#include "saved/net/net.h"

/* ---- saved.c ------------------------------------------------------------------------- */

struct kind;
struct source;
extern const struct kind kind_classify;
extern const struct kind kind_logreg, kind_multinomial, kind_net, kind_nextword, kind_vectors;

/* Makes a handle of what was trained, which it owns then, also on failure. */
shoal_status model_take(shoal_model **out, const struct kind *kind, void *is);

/* Gives its classes other names; before anybody else has the model. */
size_t model_classes(const shoal_model *m); /* 0: it has none */
shoal_status model_name_classes(shoal_model *m, const struct class_index *index);

/* Whether such a model can be written there, before there is one; *format is what
 * SHOAL_FORMAT_AUTO stands for. A name whose ending is no format's is ours; one that others would
 * take for their format is refused unless the model is written in it. */
shoal_status saved_check(const struct kind *kind, const char *path,
                         const struct shoal_save_opts *opts, enum shoal_format *format);

/* ---- vectors/: word vectors ------------------------------------------------------------ */

/* Makes vectors of a copy of the vocabulary and of tables, whose memory it
 * takes: they are empty afterwards. `hidden`, the output rows that training
 * used, may be NULL; our container keeps it. With `how`, which may be NULL, the rows behind those
 * of the words are those of n-grams, how->buckets of them, and the words' are composed. */
shoal_status vectors_take(shoal_vectors **out, const shoal_vocab *vocab, struct table *rows,
                          struct table *hidden, const struct subwords *how);
/* Of vectors with subwords the rows that training has: a word's own, and a bucket's; out [dim]. */
shoal_status vectors_own_row(const shoal_vectors *v, uint32_t id, float *out);
void vectors_gram_row(const shoal_vectors *v, uint32_t bucket, float *out);
/* A map as the page's module reads it (page/map.js): one JSON object, added to `out`. */
shoal_status map_json(const shoal_map *m, const char *title, struct bytes *out);
/* For eval; v is borrowed. */
shoal_status vectors_rows(struct rows *out, const shoal_vectors *v);

/* Reads what other programs write, from bytes that were opened; the vectors may keep these, and
 * the source is empty then. */
shoal_status vectors_read(shoal_vectors **out, struct source *src);
/* Reads any format from memory that is 64-byte aligned and stays there until
 * shoal_vectors_close. `words` are the lines of what would be FILE.vocab, or
 * NULL; `path` is for sentences. */
shoal_status vectors_open_memory(shoal_vectors **out, const char *path, const void *data,
                                 size_t size, const char *words, size_t words_len);

/* ---- net/: weights of a net of another program (net/outside.c) ----------------------------- */

struct tensors;
bool net_weights_in(const struct tensors *file);
bool net_weights_sniff(const char *at, size_t len);
bool mar_sniff(const char *at, size_t len);
/* The net of a file's bytes; with `beside` FILE.json may describe it. */
shoal_status net_import_source(shoal_net **out, const struct source *src, bool beside,
                               const struct shoal_import_opts *opts);

/* ---- classify/: classes of text --------------------------------------------------------- */

/* What was trained: lines and features are copied, the tables taken, and empty afterwards. */
struct classifier_parts {
    const shoal_labelled *lines;
    const struct line_rows *features;
    enum shoal_loss loss;
    struct table *in, *out;
};

/* Whether a file of fastText's begins so that is a classifier; such a one, whose bytes it takes. */
bool classifier_sniff(const char *at, size_t len);
shoal_status classifier_read_fasttext(shoal_classifier **out, struct source *src);

shoal_status classifier_take(shoal_classifier **out, const struct classifier_parts *p);

/* ---- linear/: click models ------------------------------------------------------------- */

/* weights [features][outputs] by the ids of `data`; those that are 0 are left out.
 * bias [outputs]; one output, or one for each class. Features that `data` has not have the weights
 * that they have in `before`, a model of the same shape, unless that is NULL. */
shoal_status logreg_new(shoal_logreg **out, const shoal_clicks *data, unsigned outputs,
                        const float *weights, const float *bias, const shoal_logreg *before);
/* Rows of the data that stay in the model, the first `most`; before anybody else has it. */
shoal_status logreg_keep_examples(shoal_logreg *m, const struct row_examples *from, unsigned most);
const struct row_examples *logreg_examples(const shoal_logreg *m);
/* Whether a model is of rows like these, so that training may begin with it; `path` is for
 * sentences. */
shoal_status logreg_fits(const shoal_logreg *m, const char *path, const shoal_clicks *data,
                         unsigned outputs);
/* out [outputs]: the weights of a slot, 0 where there are none; and the bias. */
void logreg_slot_weights(const shoal_logreg *m, uint32_t slot, float *out);
const float *logreg_bias(const shoal_logreg *m);
/* On failure nothing is left at `path`; opts NULL: shoal_save_default. */
shoal_status logreg_save(const void *model, const char *path, const struct shoal_save_opts *opts);
void logreg_close(void *model);
unsigned logreg_outputs(const shoal_logreg *m);
/* The label of class k as it stood in the text; NULL: not known. */
const char *logreg_label(const shoal_logreg *m, unsigned k);
/* The same, or another name that it was given. */
const char *logreg_class(const shoal_logreg *m, size_t i);
/* p [outputs] of one row: of class 1, or of each class. */
void logreg_answer(const shoal_logreg *m, const uint32_t *slots, const float *values, size_t n,
                   float *p);
/* The linear model within, of one output or many (struct kind's `linear`); or NULL. */
const shoal_logreg *model_linear(const shoal_model *m);

#endif
