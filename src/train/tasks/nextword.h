/* The next word from inside, for nextword*.c; not a door. */
#ifndef SHOAL_NEXTWORD_H
#define SHOAL_NEXTWORD_H

#include "train/dense/net.h"

struct sentence {
    size_t window, word; /* the first of each */
};

enum { WORD_TOPS = 3 }; /* a word is among the first 1, 5 and 10 */

struct nextword {
    const struct train_opts *opts;
    unsigned length;
    shoal_vocab *words;   /* those that have a vector, commonest first */
    struct table vectors; /* [words][dim] each of length sqrt(dim) */
    float *prior;
    uint32_t *map;        /* [corpus vocabulary] */
    uint32_t *ids;        /* [count] */
    size_t count, room;
    struct sentence *sentences;
    size_t nsentences, cap, windows;
    struct split split; /* which windows are held out */
    struct dense_run *dense;
    float weight;                 /* of predicted vectors beside counts: word_ranks_fit */
    double base[WORD_TOPS];       /* the share that the commonest words as answers get right */
    struct journal *statistics;
    bool resumed; /* what the statistics hold may be of epochs that are to come */
};

/* ---- statistics.c ---- */

shoal_status statistics_open(struct nextword *n, bool more);
/* After an epoch: r->last and r->held hold its figures. */
shoal_status statistics_write(struct nextword *n, const struct run *r);

#endif
