/* The inside of a dense block, for dense.c, dense_push.c and dense_gather.c; not a door. */
#ifndef SHOAL_PIECE_H
#define SHOAL_PIECE_H

#include "store/policy.h"
#include "store/store.h"

#include <string.h>

enum {
    TAG_GRADIENT = 1, /* struct piece_head, floats */
    TAG_PIECE,        /* the same: fresh parameters */
};

struct piece_head {
    uint32_t piece, count; /* count: floats */
    float lr;
    uint32_t sums;    /* gradients that are summed here; of fresh parameters 0 */
    uint64_t version; /* gradients that the piece had got: as the worker knew, or now */
    float at[];       /* [count] */
};

struct piece {
    size_t from, len;
    unsigned owner;
    size_t home; /* where its sum and state begin, among those of its owner */
    /* on a worker */
    struct dense_trip trip; /* sync: of this step */
    size_t unready;   /* floats of this step */
    unsigned out;     /* messages without an answer */
    uint32_t backlog; /* gradients that wait, summed, for an answer */
    uint64_t version; /* as of the last answer */
    /* on the owner */
    unsigned got;      /* gradients in the sum */
    uint64_t behind;   /* gradients that theirs did not know of, summed */
    uint64_t steps;    /* made so far */
    uint64_t gradients;
    float lr;               /* sync: of the first worker's gradient */
    struct deferrals early; /* sync: gradients before those of lower workers */
};

struct dense {
    struct comm *comm; /* NULL: alone */
    const struct kernel *kernel;
    struct dense_opts opts;
    unsigned quorum;
    float *params; /* [n] */
    size_t n;
    struct dense_range *ranges;
    size_t nranges;
    struct piece *pieces;
    size_t npieces, piece_len;
    size_t width;               /* of a row: no piece ends within one */
    struct deal deal;           /* of the n / width rows */
    size_t held;                /* floats of state that this rank has: its pieces', or n */
    float *sum;                 /* [held] of what came */
    float *state[DENSE_STATES]; /* [held] */
    float *backlog;             /* [n] of pieces whose owners are slow to answer, or NULL */
    float *packed;              /* parameters and state on their way to a mean, or NULL */
    bool shares;                /* gradients travel to owners: not alone, not averaging */

    float *grads;
    float lr;
    float last_lr; /* of the last gradient that came: for a flush */
    double wait_until; /* by the clock: for answers, in this step */
    size_t waiting; /* pieces of this step whose fresh parameters are not here (sync) */
    uint64_t applied;
    uint64_t steps; /* made so far; of pieces, as the last meeting knew */
    bool measure;
    double norm2;
    struct outbox outbox;
    struct policy policy;
    struct shoal_rank_stats stats;
};

static inline bool owns(const struct dense *d, const struct piece *p)
{
    return p->owner == d->policy.rank;
}

/* ---- dense.c ---- */

/* Steps on [from, to), whose state begins at home, with the gradients g of that range. */
void dense_step(struct dense *d, const struct optim *o, const float *g, size_t from, size_t to,
                size_t home, float lr, uint64_t t);

/* ---- dense_push.c ---- */

shoal_status piece_push(struct dense *d, struct piece *p);
/* Sends what its owner had not answered for. */
shoal_status piece_push_backlog(struct dense *d, struct piece *p);
shoal_status piece_gradient_handle(void *ctx, unsigned from, const void *data, size_t len);
shoal_status piece_handle(void *ctx, unsigned from, const void *data, size_t len);
/* Steps on what came, though it be less than a quorum. */
void piece_flush(struct dense *d, struct piece *p);

/* ---- dense_gather.c ---- */

/* SHOAL_AVERAGE: parameters and state become their means. */
shoal_status dense_average(struct dense *d);

#endif
