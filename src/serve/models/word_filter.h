/* word_filter: which words may answer a question; not a door.
 *
 * What this is: of a request the lists `allow` and `deny`, a prefix and the least count.
 * Who owns what: a filter has its own copies, and borrows the vectors.
 * Threads: immutable once made. */
#ifndef SHOAL_WORD_FILTER_H
#define SHOAL_WORD_FILTER_H

#include "serve/models/servable.h"

struct word_filter {
    struct near_filter as; /* for searching */
    const shoal_vectors *v;
    bool only; /* those of `allow` alone */
    uint32_t *allow, *deny; /* ids, sorted */
    size_t nallow, ndeny;
    char *prefix; /* or NULL */
    uint64_t min_count;
};

/* *out is NULL where the request says nothing of it. What its lists take is charged. */
shoal_status word_filter_read(struct word_filter **out, const shoal_vectors *v,
                              const struct instance *in);
void word_filter_free(struct word_filter *f);

#endif
