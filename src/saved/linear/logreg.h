/* The inside of a click model, for logreg.c and logreg_file.c; not a door.
 *
 * A model has one output (logreg), or one for each class. It is a bias and the weights that
 * are not 0, by slot; `at` is the same again as a table of all 2^bits slots, of which only
 * pages that hold a weight are there; with many outputs it says where the weights are. */
#ifndef SHOAL_SAVED_LOGREG_H
#define SHOAL_SAVED_LOGREG_H

#include "saved/saved.h"

struct shoal_logreg {
    unsigned bits;
    unsigned outputs; /* 1, or the classes */
    float *bias;     /* [outputs] */
    uint64_t n;
    uint32_t *slot;  /* [n] increasing */
    float *weight;   /* [n][outputs] */
    uint32_t *name;  /* [n] offsets into names; 0: not known */
    struct bytes names; /* strings, the first of them empty */
    union {
        float weight;   /* of one output */
        uint32_t place; /* of many: 1 + that in slot; 0: there is none */
    } *at; /* [2^bits] */
    struct clicks_reading reading; /* how its rows are read, and what its labels are */
    struct row_examples examples; /* rows of the data, where they were asked for */
    char **classes;  /* [outputs] other names for them; NULL: none */
};

static inline size_t logreg_slots(const struct shoal_logreg *m)
{
    return (size_t)1 << m->bits;
}

/* Adds what one feature says to z [outputs]. */
static inline void logreg_add_feature(const shoal_logreg *m, uint32_t slot, double value,
                                      double *z)
{
    uint32_t place;

    if (m->outputs == 1) {
        *z += (double)m->at[slot].weight * value;
        return;
    }
    place = m->at[slot].place;
    for (unsigned k = 0; place > 0 && k < m->outputs; k++)
        z[k] += (double)m->weight[(size_t)(place - 1) * m->outputs + k] * value;
}

/* z [outputs]: the bias and the weights of slots times their values; NULL: all 1. */
void logreg_scores(const shoal_logreg *m, const uint32_t *slots, const float *values, size_t n,
                   double *z);

/* How many example rows are kept, unless there are none. */
void logreg_describe_examples(const shoal_logreg *m, const struct shoal_reporter *to);
/* What its labels are. */
void logreg_describe_labels(const shoal_logreg *m, const struct shoal_reporter *to);
/* Its classes have no names any more. */
void logreg_unname(shoal_logreg *m);

/* z [n] becomes the probabilities of classes. */
void logreg_softmax(double *z, size_t n);

/* What is done with rows: their scores [n][outputs], labels, and weights or NULL. */
struct each {
    void *user;
    shoal_status (*rows)(struct each *e, double *z, const uint8_t *label, const float *weight,
                         size_t n);
    bool unlabelled; /* labels may lack */
    double *z;       /* [cap] the room for them */
    size_t cap;
};

/* Of text, or of one encoded file. */
shoal_status logreg_each(const shoal_logreg *m, const char *const *inputs, size_t ninputs,
                         const struct shoal_clicks_opts *opts, struct each *e,
                         struct shoal_clicks_stats *stats);

/* Scores on rows with labels. */
shoal_status logreg_eval(const shoal_logreg *m, const char *const *inputs, size_t ninputs,
                         const struct shoal_clicks_opts *opts, struct shoal_binary_score *score,
                         struct shoal_clicks_stats *stats);

/* ---- logreg_file.c ---- */

/* Makes `at` of the rest. */
shoal_status logreg_spread(struct shoal_logreg *m);
/* Takes c, whose bytes were checked, also on failure. */
shoal_status logreg_read(void **model, struct container *c);

#endif
