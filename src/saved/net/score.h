/* score: how well a net does, added up; not a door.
 *
 * What this is: sums over samples or pictures, made once for both.
 * Who owns what: classes are the caller's.
 * Threads: a sum is one thread's. */
#ifndef SHOAL_SAVED_NET_SCORE_H
#define SHOAL_SAVED_NET_SCORE_H

#include "saved/saved.h"

struct net_score {
    size_t n;    /* samples */
    double loss; /* -log p of the class; of targets the squared error */
    double right, right5, absolute;
    struct classes *classes; /* or NULL */
};

/* Of the greatest, the first. */
size_t net_likeliest(const float *y, size_t n);
/* One sample's probabilities y [n]. */
shoal_status net_score_class(struct net_score *s, const float *y, size_t n, uint32_t label);
shoal_status net_score_samples(struct net_score *score, const shoal_net *net,
                               const shoal_samples *s);
/* Their classes are those of the net, by name. */
shoal_status net_score_images(struct net_score *score, const shoal_net *net, shoal_images *set);

#endif
