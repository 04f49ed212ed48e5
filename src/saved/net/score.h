/* score: how well a net does, added up; not a door.
 *
 * What this is: sums over samples or pictures, made once for both.
 * Who owns what: confusion and classes are the caller's.
 * Threads: a sum is one thread's. */
#ifndef SHOAL_SAVED_NET_SCORE_H
#define SHOAL_SAVED_NET_SCORE_H

#include "saved/saved.h"

struct net_score {
    double loss, right, right5, squared, absolute;
    uint64_t *confusion;     /* [outputs][outputs] counts (class, answer); or NULL */
    struct classes *classes; /* or NULL */
};

/* One sample's probabilities y [n]. */
shoal_status net_score_class(struct net_score *s, const float *y, size_t n, uint32_t label);
/* Of n samples. */
void net_score_sum(const struct net_score *s, size_t n, bool classes, struct shoal_net_figures *f);
shoal_status net_score_samples(struct net_score *score, const shoal_net *net,
                               const shoal_samples *s, struct shoal_net_figures *out);
shoal_status net_score_images(struct net_score *score, const shoal_net *net, shoal_images *set,
                              unsigned threads, struct shoal_net_figures *out);

#endif
