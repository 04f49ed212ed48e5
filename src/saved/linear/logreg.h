/* The inside of a click model, for logreg.c and logreg_file.c; not a door.
 *
 * A model is a bias and the weights that are not 0, by slot; `at` is the same again
 * as a table of all 2^bits slots, of which only pages that hold a weight are there. */
#ifndef SHOAL_SAVED_LOGREG_H
#define SHOAL_SAVED_LOGREG_H

#include "saved/saved.h"

struct shoal_logreg {
    unsigned bits;
    float bias;
    uint64_t n;
    uint32_t *slot;  /* [n] increasing */
    float *weight;   /* [n] */
    uint32_t *name;  /* [n] offsets into names; 0: not known */
    struct bytes names; /* strings, the first of them empty */
    float *at;       /* [2^bits] */
    struct shoal_clicks_opts way;
    char *strings;   /* those of way */
};

static inline size_t logreg_slots(const struct shoal_logreg *m)
{
    return (size_t)1 << m->bits;
}

/* Makes `at` of the rest. */
shoal_status logreg_spread(struct shoal_logreg *m);
/* Takes c, whose bytes were checked, also on failure. */
shoal_status logreg_read(shoal_logreg **out, struct container *c);

#endif
