/* What ranks do together while they train; not a door.
 *
 * Between two meetings every worker goes through its own part of the epoch at
 * its own pace, as the policy lets it. All meet at the end of an epoch, and
 * wherever rank 0 calls them to: it asks each how far it may already go without
 * looking up (its limit), and tells them the furthest of these as the place.
 *
 *     rank 0                       others
 *     call ----------------------> (seen while they train)
 *          <---------------------- limit
 *     place (the furthest) ------> train up to it
 *     ............ all meet: counts are summed up, tables may be gathered ......   */
#ifndef SHOAL_TOGETHER_H
#define SHOAL_TOGETHER_H

#include "comm/comm.h"
#include "model/model.h"
#include "store/store.h"
#include "train/train.h"

struct together;

struct together_plan {
    const struct kernel *kernel;
    struct table *tables;
    size_t n;
    const float *const *traffic;
    unsigned threads; /* of this rank */
    const size_t *needed; /* blocks: [n] rows that one needs at most, about; NULL: replicas */
};

struct store_opts together_store_opts(const struct shoal_train_opts *o, const size_t *needed,
                                      size_t n);
shoal_status together_open(struct together **out, const struct shoal_train_opts *opts,
                           const struct together_plan *plan);
void together_close(struct together *w);

struct store *together_store(struct together *w);
struct comm *together_comm(struct together *w);
/* Whether there are more threads on this host than cores. */
bool together_crowded(const struct together *w);
/* The most threads of any rank: a round has a chunk for each, if need be. */
unsigned together_threads(const struct together *w);

/* How far this rank may go without looking up; a call is answered with it. */
void together_limit(struct together *w, uint64_t chunk);
/* Rank 0: all shall meet soon. */
shoal_status together_call(struct together *w);
/* Where all meet: UINT64_MAX when nobody called. Waits for the place when
 * somebody did and it is not known yet. */
shoal_status together_place(struct together *w, uint64_t *chunk);

/* What this rank did since the last meeting; rank 0 hears of it now and then. */
shoal_status together_tell(struct together *w, const struct done *done);
/* Rank 0: what the others did, as far as is known. */
struct done together_others(const struct together *w);
/* Collective: *chunk (rank 0's) is the same on every rank, *done is the sum over all;
 * and if rank 0 wants them whole, the tables are the same. */
shoal_status together_meet(struct together *w, bool whole, uint64_t *chunk, struct done *done);
/* Collective, after a meeting: the tables are the same, if it left them apart. */
shoal_status together_gather(struct together *w);
/* Collective: rank 0's yes or no. */
shoal_status together_decide(struct together *w, bool *yes);

/* This rank gives up: the others learn why, and give up too. */
void together_fail(struct together *w, shoal_status st);
/* Collective: sums over all ranks, the same on each. */
shoal_status together_stats(struct together *w, const struct shoal_train_opts *opts,
                            struct shoal_rank_stats *stats);

#endif
