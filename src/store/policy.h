/* policy: who waits for whom, for rows and for dense blocks alike; not a door.
 *
 * What this is: rounds. A worker ends them one by one, a round of rows or a step on a
 * dense block; what is known of the others' rounds says when it may begin the next:
 *
 *   async      at once
 *   bounded:S  when the slowest worker has ended all but S of as many. Who ends a round
 *              tells the other workers (TAG_CLOCK)
 *   sync       when the round is merged. Behind what it sent in it a worker tells all ranks
 *              that this was all (TAG_END); an owner merges when every worker has
 *   average:K  at once, but K rounds after the last meeting all meet for a mean
 *
 * At a meeting everybody tells everybody (TAG_BARRIER), behind all that it sent before.
 *
 * Who owns what: it borrows the outbox.
 * Threads: the one that opened the comm. */
#ifndef SHOAL_POLICY_H
#define SHOAL_POLICY_H

#include "store/outbox.h"

/* Messages without content. */
enum {
    TAG_CLOCK = 3,
    TAG_END = 4,
    TAG_BARRIER = 19,
};

/* How often a rank has said what the tags say. */
struct policy_peer {
    uint64_t clock, ends, met;
};

struct policy {
    enum shoal_sync kind;
    unsigned staleness, rank, ranks;
    unsigned workers; /* the first so many ranks; the others are servers */
    unsigned owner;   /* the first rank that owns anything; all behind it do */
    struct outbox *outbox;
    struct policy_peer *peers; /* [ranks] */

    uint64_t clock;    /* rounds that this worker has ended */
    uint64_t met;      /* of them, when all last met */
    uint64_t lead;     /* rounds that it was ahead of the slowest at most, as it knew */
    uint64_t rounds;   /* whose end this rank awaits: of SHOAL_SYNC, or merges of lanes */
    uint64_t meetings; /* begun */

    shoal_status (*merge)(void *ctx, uint64_t round); /* the round is whole; or NULL */
    void *ctx;
};

/* The outbox has no comm where a rank is alone. */
shoal_status policy_init(struct policy *p, struct outbox *outbox, enum shoal_sync kind,
                         unsigned staleness, unsigned servers);
void policy_fini(struct policy *p);
void policy_listen(struct policy *p);

static inline bool policy_works(const struct policy *p)
{
    return p->rank < p->workers;
}

/* This worker has ended a round. */
void policy_tick(struct policy *p);
/* SHOAL_BOUNDED: waits until it may begin another. */
shoal_status policy_pace(struct policy *p);
/* SHOAL_AVERAGE: it begins with a mean. */
bool policy_mean_due(const struct policy *p);

/* Of a worker: all of a round was sent. */
shoal_status policy_end(struct policy *p);
/* Rounds that are here from every worker. */
uint64_t policy_ends(const struct policy *p);
/* The one that this rank awaits is. */
bool policy_whole(void *policy);

/* Collective: all that any rank sent before is here. Workers count as equally far from now
 * on, however many rounds each has ended; that holds if nobody goes on before all are here. */
shoal_status policy_barrier(struct policy *p);

/* So many changes did not know of the last `missed` ones: bins of 0, 1, 2, 3 to 4, 5 to 8, ... */
void policy_count_stale(struct shoal_rank_stats *stats, uint64_t missed, uint64_t changes);

shoal_status policy_clock_handle(void *ctx, unsigned from, const void *data, size_t len);
shoal_status policy_end_handle(void *ctx, unsigned from, const void *data, size_t len);
shoal_status policy_barrier_handle(void *ctx, unsigned from, const void *data, size_t len);

#endif
