/* words: what the task of word vectors has in files of its own; inside the tenant.
 *
 * What this is: the rows of vectors that were trained before, as first values of a run, and what
 * several ranks change.
 * Who owns what: all is borrowed for the length of the call.
 * Threads: one. */
#ifndef SHOAL_TASK_WORDS_H
#define SHOAL_TASK_WORDS_H

#include "train/rows/rows.h"

enum { IN, OUT, BIAS }; /* tables: BIAS with the exact softmax alone */

/* ---- words_grams.c ---- */

/* Of --maxn 0, none: no buckets. */
struct subwords words_subwords(const struct train_opts *o);
/* Rows of the input table: of words, and behind them of n-grams. */
size_t words_in_rows(const struct train_opts *o, size_t words);

/* What subwords take beside the rows, and how many rows a word of the text has on average. */
struct grams_plan {
    uint64_t bytes;
    double each;
};

struct grams_plan words_grams_plan(const struct train_opts *o, const shoal_vocab *vocab);
/* words_grams_free may follow a failure too. */
shoal_status words_grams_make(struct w2v_grams *out, const struct train_opts *o,
                              const shoal_vocab *vocab);
void words_grams_free(struct w2v_grams *g);
/* The composed vectors of all words into the first rows of `out`, which may be `in`. */
shoal_status words_compose(const struct w2v *w, const struct table *in, struct table *out,
                           unsigned threads);
/* The vector of a word that is not in the vocabulary, as a composer has it: `from` is a struct
 * words_unseen. */
struct words_unseen {
    struct subwords how;
    const struct table *in;
    size_t words;
};

shoal_status words_compose_unseen(const void *from, const char *word, size_t len, float *out);
/* These words will be needed: store_expect of all rows of theirs. */
shoal_status words_expect_rows(struct store *s, const struct w2v *w, const uint32_t *ids, size_t n);

/* ---- words_start.c ---- */

/* Rows of a table that are dealt out: row i is the word or node ids[i]; ids NULL: i. */
struct dealt {
    struct table rows;
    const uint32_t *ids;
};

/* Words that `from` knows get its rows, and its output rows if there are such. With `tree` these
 * are nodes of a Huffman tree, and are taken only where the tree is the same. Where both have the
 * same subwords, all n-grams get their rows too; else a word's own row is such that the word is
 * what it was, with n-grams that begin at zero. Words without rows of their own begin with what
 * their n-grams have. */
shoal_status words_start_from(const shoal_vectors *from, const shoal_vocab *vocab,
                              const struct subwords *how, bool tree, const struct dealt *in,
                              const struct dealt *out);

/* ---- words_learned.c ---- */

struct composer;

struct learned_words {
    const shoal_vocab *vocab;
    const struct table *rows; /* of all its words, composed */
    const struct composer *others; /* NULL: words that were never seen have no vectors */
    shoal_eval *const *suites; /* [nsuites] */
    size_t nsuites;
    unsigned threads;
};

shoal_status words_show(struct learned *l, const struct learned_words *w);

/* ---- words_ranks.c ---- */

enum {
    WORDS_POLL_LEAST = 1024, /* words between polls of other ranks */
    WORDS_APART = 8192,      /* of a thread until its copies of hot rows meet the others' */
};

struct cadence words_cadence(const struct train_opts *o, struct row_length length);
/* Whether noise that windows share is one touch of its row. */
bool words_noise_once(const struct train_opts *o, struct row_length length);
/* Whether a round's rows all travel, and are waited for. */
bool words_whole(const struct train_opts *o);
/* The first word that is rare among ranks (struct cadence, share_rare). */
uint32_t words_rare(const struct train_opts *o, const shoal_vocab *vocab);
/* Words of a chunk at most, and between polls of other ranks. */
size_t words_chunk(const struct train_opts *o);
size_t words_poll(const struct train_opts *o);
/* Rows of each table of which threads have copies. */
uint32_t words_hot(const struct train_opts *o);
/* The factor of the learning rate that one rank would have. */
double words_boost(const struct train_opts *o, double usual);

#endif
