/* Where ranks meet while they train; not a door.
 *
 * Between two meetings every worker goes through its own part of the epoch at its own pace, as
 * far as the policy (store/policy.h) lets it. All meet at the end of an epoch, and
 * wherever rank 0 calls them to: it asks each how far it may already go without
 * looking up (its limit), and tells them the furthest of these as the place.
 *
 *     rank 0                       others
 *     call ----------------------> (seen while they train)
 *          <---------------------- limit
 *     place (the furthest) ------> train up to it
 *     ............ all meet: sums are added up, the model may be gathered ......
 *
 * Why the furthest limit: a worker in the middle of a slice cannot stop before the slice's end,
 * which is its limit. The furthest one is the first place that every worker can still stop at
 * exactly. A worker that was called waits for the place before it begins another slice, so no
 * limit grows meanwhile. Units are dealt out by number, not by time; so all of them up to the
 * place are trained when all have come, each once, and the place is one that a checkpoint can go
 * on from with any number of ranks.
 *
 * A rank that fails tells all others why. */
#ifndef SHOAL_RENDEZVOUS_H
#define SHOAL_RENDEZVOUS_H

#include "comm/comm.h"
#include "model/model.h"

struct rendezvous;

/* Collective. The first `workers` ranks train, the others only keep values. */
shoal_status rendezvous_open(struct rendezvous **out, struct comm *comm, unsigned workers,
                             double silence);
void rendezvous_close(struct rendezvous *w);

/* How far this rank may go without looking up; a call is answered with it. */
void rendezvous_limit(struct rendezvous *w, uint64_t place);
/* Rank 0: all shall meet soon. */
shoal_status rendezvous_call(struct rendezvous *w);
/* Where all meet: UINT64_MAX when nobody called. Waits for the place when
 * somebody did and it is not known yet. */
shoal_status rendezvous_place(struct rendezvous *w, uint64_t *place);

/* What this rank did since the last meeting; rank 0 hears of it now and then. */
shoal_status rendezvous_report(struct rendezvous *w, const struct sums *since);
/* Rank 0: what the others did, as far as is known. */
struct sums rendezvous_others(const struct rendezvous *w);
/* Collective, the end of a meeting: *place (rank 0's) is the same on every rank, *sums is
 * the sum over all. */
shoal_status rendezvous_end(struct rendezvous *w, uint64_t *place, struct sums *sums);
/* Collective. */
shoal_status rendezvous_sum(struct rendezvous *w, struct sums *sums);

/* This rank gives up: the others learn why, and give up too. */
void rendezvous_fail(struct rendezvous *w, shoal_status st);

#endif
