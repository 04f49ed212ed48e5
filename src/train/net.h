/* The training of nets from inside, for net*.c; not a door.
 *
 * What this is: one loop for every net (model/net.h) over samples of any kind. A
 * net knows batches; a source makes them; the store's dense block brings
 * gradients together; this is the only place where the three meet.
 *
 *     source --batch--> net (workers) --grads--> dense --params-->
 *
 * An epoch is a permutation of the samples, cut into steps of one batch of all
 * ranks together; worker w of n takes the w-th part of each. The part is cut into
 * slices, each computed by one thread into a block of its own and added in their
 * order: the number of slices depends on the net and the batch alone, so the
 * result does not depend on the threads. */
#ifndef SHOAL_TRAIN_NET_H
#define SHOAL_TRAIN_NET_H

#include "data/data.h"
#include "model/model.h"
#include "store/store.h"
#include "train/train.h"

/* Which samples a batch has. */
struct net_take {
    const uint32_t *ids; /* [n] */
    size_t n;
    bool valid;     /* of those held out, else of those to learn from */
    unsigned epoch; /* from 0: what is random about a sample is keyed by it */
};

struct net_source {
    size_t train, valid; /* samples of each kind */
    uint64_t fingerprint; /* stands for the data: a checkpoint goes on with no other */
    /* Fills x [n][inputs] and label [n] or y [n][outputs]. Several threads at once. */
    shoal_status (*fill)(void *ctx, const struct net_take *take, float *x, uint32_t *label,
                         float *y);
    /* Or NULL: this will be asked for soon. */
    void (*ahead)(void *ctx, const struct net_take *take);
    void *ctx;
};

/* What a kind of model adds to the loop. */
struct net_extra {
    /* After each epoch, on rank 0, parameters in hand: more to report. Or NULL. */
    shoal_status (*epoch)(void *ctx, const float *params, struct shoal_net_report *report);
    void *ctx;
};

/* Trains `net` and leaves the parameters in params [net->size], which on rank 0
 * hold the start already when `started`. */
shoal_status net_train(const struct net *net, const struct net_source *source,
                       const struct shoal_net_opts *opts, const struct net_extra *extra,
                       float *params, bool started, struct shoal_net_stats *stats);

/* What it will take, the parameters included. */
void net_plan(struct shoal_net_plan *plan, const struct net *net, const struct net_source *source,
              const struct shoal_net_opts *opts);

#endif
