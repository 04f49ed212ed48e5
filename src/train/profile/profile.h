/* Where the time goes; not a door.
 *
 * All of it is measured always: clocks around calls of the store, what the system
 * counts anyway, and at the end some messages of all ranks. docs/profile.md says
 * what each figure means and what the verdict is drawn from. */
#ifndef SHOAL_TRAIN_PROFILE_H
#define SHOAL_TRAIN_PROFILE_H

#include "comm/comm.h"
#include "store/store.h"

/* What the system counts of this process and this thread, at one moment. */
struct meter {
    double clock, user, system;
    double queued; /* NaN: unknown */
    uint64_t disk_read, disk_written, faults;
    struct comm_stats comm;
};

enum { TIMELINE_MARKS = 128 };

/* Seconds of this rank in sum, up to a moment since the timeline began. */
struct mark {
    double at, computing, communicating, waiting;
};

/* Marks at their moments, of which every second one goes when there is room for no
 * more: whatever the run's length, there are TIMELINE_MARKS / 2 at least once there
 * were so many. */
struct timeline {
    double began;       /* clock; 0: not yet */
    double apart, next; /* seconds between marks, at least; clock of the next */
    struct mark marks[TIMELINE_MARKS];
    size_t n;
};

enum { STEP_LAYERS = 64, STEP_TRIPS = 128 };

/* One step of a net whose gradients are summed over all ranks, moment by moment, by this rank's
 * clock:
 *
 *     began    backward                     computed        ended
 *     | forward | backward: ready[0], ready[1], ... | waits |
 *                    sent[0] -----------> fresh[0]
 *                              sent[1] -------------> fresh[1]
 *
 * ready: the gradients of one more layer are final, the last layer's first. sent, fresh: of each
 * piece of the block; of more than STEP_TRIPS neighbours are one trip, from the first that went to
 * the last that came. */
struct step_trace {
    uint32_t epoch, layers, trips, pieces; /* trips 0: nothing is known */
    uint64_t step;                         /* of the epoch, from 0 */
    double began, backward, computed, ended;
    double ready[STEP_LAYERS];          /* [layers] */
    struct dense_trip trip[STEP_TRIPS]; /* [trips] */
};

struct profile {
    struct comm *comm; /* NULL: alone */
    struct meter from;
    struct comm_peer_stats *peers; /* [ranks] then */
    struct timeline timeline;      /* this rank's, */
    struct mark *tracks;           /* and at the end those of the first ranks, [track_ends[r]] */
    size_t track_ends[SHOAL_PROFILE_ROWS];
    struct step_trace *steps; /* at the end: [nsteps] the same step of the first ranks, or none */
    size_t nsteps;
    struct shoal_profile result;
};

/* In place. On the thread that calls the rest. `ranks` may be NULL. */
shoal_status profile_init(struct profile *p, shoal_ranks *ranks);
void profile_fini(struct profile *p);

/* What only the run knows of itself, on this rank. */
struct profile_facts {
    enum shoal_sync sync;
    bool wide; /* see shoal_profile */
    bool works;
    unsigned threads;
    double slices; /* seconds of training, the store's steps among them */
    uint64_t steps; /* of the optimizer, by this rank; 0: nobody counts them */
    const char *unit;
    double units; /* by all ranks */
    struct store_times store;
    const struct step_trace *step; /* NULL on all ranks: steps are not of that kind */
};

/* Collective. Sets p->result, the same on every rank, the tracks and the steps. */
shoal_status profile_end(struct profile *p, const struct profile_facts *facts);

/* Where this rank's time went since profile_init: the parts of a row, but seconds. */
void profile_share(const struct profile *p, const struct profile_facts *facts,
                   const struct comm_stats *now, struct shoal_profile_rank *row);

/* ---- timeline.c: what each rank did over time, of several ranks ---- */

/* Where ranks have just met, so that their clocks begin together. */
void timeline_begin(struct profile *p, const struct profile_facts *facts);
/* Whether it is time for a mark; cheap, since it is asked after every step. */
bool timeline_due(const struct profile *p);
void timeline_mark(struct profile *p, const struct profile_facts *facts);
/* Collective: p->tracks. */
shoal_status timeline_end(struct profile *p, const struct profile_facts *facts);
/* The marks of a rank, of which there are *n; none of those that tell nothing. */
const struct mark *timeline_of(const struct profile *p, unsigned rank, size_t *n);

/* ---- step.c ---- */

/* Collective: p->steps, with moments in seconds since the first rank began. */
shoal_status steps_gather(struct profile *p, const struct step_trace *mine);

/* ---- profile_sum.c ---- */

/* 0 of nothing. */
static inline double profile_part(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* The share of the time of those who train in which they wait. */
double profile_waiting(const struct shoal_profile *p);
/* Adds a rank to a sum. */
void profile_add(struct shoal_profile_rank *sum, const struct shoal_profile_rank *r);
/* Keeps the row, and adds it to all and work, slowest and busiest. */
void profile_take(struct shoal_profile *p, const struct shoal_profile_rank *r);

/* ---- profile_link.c ---- */

/* Collective, for several hosts. *rate becomes the bytes a second that come to this
 * rank's host from the one before it; 0 on all ranks of a host but its first. */
shoal_status profile_link_rate(struct comm *c, double *rate);

/* ---- profile_verdict.c ---- */

/* Sets limit and verdict from all the rest. */
void profile_set_verdict(struct shoal_profile *p);

#endif
