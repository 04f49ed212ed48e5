/* suite: the inside of a shoal_eval; not a door.
 *
 *     names     every different word of the file, as it stands and upper-cased
 *     questions four numbers of names each, section by section
 *     pairs     two numbers of names and what people said
 *
 * Immutable once read. */
#ifndef SHOAL_SUITE_H
#define SHOAL_SUITE_H

#include "eval/eval.h"

/* Different strings, numbered from 0 as they came. */
struct names {
    struct bytes arena; /* each with a NUL behind it */
    size_t *offsets;    /* [n + 1] */
    uint32_t *index;    /* [index_size] numbers, SHOAL_NO_ID where empty */
    size_t n, offsets_cap, index_size;
};

/* KEY_PAD bytes behind the string may be read. */
uint32_t names_find(const struct names *t, const char *at, size_t len);
shoal_status names_add(struct names *t, const char *at, size_t len, uint32_t *number);
struct span names_at(const struct names *t, uint32_t number);
void names_fini(struct names *t);

enum { A, B, C, D };

struct question {
    uint32_t word[4]; /* a is to b as c is to d */
};

struct topic {
    char name[64];
    size_t end; /* of its questions */
};

struct pair {
    uint32_t word[2];
    double said;
};

struct shoal_eval {
    enum shoal_suite kind;
    char name[64]; /* of the file, without folder and ending */
    struct names plain, upper;
    uint32_t *upper_of; /* [plain.n] numbers in upper */
    struct question *questions;
    struct topic *topics;
    struct pair *pairs;
    size_t nquestions, ntopics, npairs;
    size_t questions_cap, topics_cap, pairs_cap, upper_cap;
};

/* What a run asks of. ids[w] is the row of word w of the suite, the first that
 * is spelt so, or SHOAL_NO_ID. Words that are not in the vocabulary may be composed: those are
 * rows.made. */
struct asked {
    const shoal_eval *suite;
    const shoal_vocab *vocab;
    struct rows rows; /* those that may answer */
    struct shoal_eval_opts opts;
    uint32_t *ids; /* [plain.n] */
    struct table made;
};

/* Whether word w is composed. */
static inline bool asked_made(const struct asked *a, uint32_t w)
{
    return a->ids[w] != SHOAL_NO_ID && a->ids[w] >= a->rows.n;
}

/* ---- unseen.c ---- */

/* Composes the words of the suite that are not in the vocabulary. */
shoal_status asked_compose(struct asked *a, const struct composer *others);

/* Whether row id's word is word w, as far as opts look at case. */
shoal_status asked_is(const struct asked *a, uint32_t id, uint32_t w, struct bytes *room,
                      bool *is);

/* Whether all four words are there, the last among those that may answer. */
bool asked_sees(const struct asked *a, const struct question *q);

/* ---- analogies.c ---- */

/* best[i] becomes the row that answers question i, or SHOAL_NO_ID when one of
 * its four words is missing or no row has a score above 0. */
shoal_status analogies_answer(const struct asked *a, uint32_t *best);

/* ---- pairs.c ---- */

shoal_status pairs_score(const struct asked *a, struct shoal_score *score);
/* Both NaN when there are fewer than two or one side is always the same. */
double pairs_pearson(const double *x, const double *y, size_t n);
shoal_status pairs_spearman(const double *x, const double *y, size_t n, double *out);

/* ---- questions.c ---- */

shoal_status questions_read(shoal_eval *e, const char *path, const char *at, size_t len);

#endif
