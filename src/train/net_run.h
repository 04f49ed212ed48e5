/* A run of a net from inside, for net*.c; not a door. */
#ifndef SHOAL_NET_RUN_H
#define SHOAL_NET_RUN_H

#include "train/net.h"
#include "train/profile.h"

/* Where a run is: all that a checkpoint must hold beside parameters and state. */
struct net_position {
    unsigned epoch;  /* from 0 */
    uint64_t step;   /* next one of the epoch */
    uint64_t samples;
    double seconds;  /* of training so far */
    struct net_sums sums; /* of the epoch so far */
    double norm;     /* of gradients, summed over the `norms` steps where it was measured */
    uint64_t norms;
    double best_loss;
    double progress;
};

/* Seconds of this rank's steps: shoal_net_node says what they are. */
struct net_times {
    uint64_t steps;
    double compute, wait, communicate;
};

/* What one thread computes of a batch. */
struct slice {
    void *worker;
    float *x, *y, *grads; /* grads: NULL for the first, which writes the run's */
    uint32_t *label;
    struct net_sums sums;
};

struct net_run {
    const struct net *net;
    const struct net_source *source;
    const struct shoal_net_opts *opts;
    const struct net_extra *extra;
    const struct kernel *kernel;

    struct comm *comm; /* NULL: alone */
    struct net_ranks *with;
    struct dense *dense;
    struct workers *pool; /* this rank's threads */
    unsigned threads;
    unsigned worker, workers;
    bool leads;

    float *params, *grads; /* [net->size] */
    uint32_t *order;       /* [train] the epoch's permutation */
    unsigned ordered;      /* 1 + the epoch of `order` */
    double shuffled;       /* see shoal_net_report */
    size_t batch;          /* of all workers together */
    uint64_t steps;        /* of an epoch */
    size_t share;          /* the most samples that this worker takes of a batch */
    struct slice *slices;
    size_t nslices;

    /* the step under way, for the threads */
    struct net_take take;
    float scale;
    struct net_hooks hooks;

    struct net_position at;
    struct net_sums since; /* by this rank, since all met */
    double norm0;          /* dense_norm2 when all met */
    uint64_t norms;        /* steps measured since */
    struct net_checkpoints *checkpoints;
    struct metrics *metrics;
    double began, reported, saved, computed, startup; /* clock; seconds */
    struct net_sums interval;
    uint64_t reported_samples, saved_steps, first_samples, first_steps;
    double first_seconds, epoch_seconds;
    struct shoal_net_figures last, valid;
    double last_norm;
    unsigned rising;
    bool stopping;
    struct shoal_rank_stats stats;
    struct net_times times, told; /* since the start; when last reported */
    struct shoal_net_node nodes[SHOAL_NODES];
    unsigned nnodes;
    struct profile profile;
};

/* ---- net_opts.c ---- */

/* The rate of a step that begins `done` epochs into the run and is `step` of one. */
float net_lr(const struct shoal_net_opts *o, double done, double step);
double net_first_lr(const struct shoal_net_opts *o);
unsigned net_threads(const struct shoal_net_opts *o);
unsigned net_workers(const struct shoal_net_opts *o);
size_t net_batch_of(const struct shoal_net_opts *o);
size_t net_slices(const struct net *net, size_t share);
struct dense_opts net_dense_opts(const struct shoal_net_opts *o);
shoal_status net_check_plan(const struct shoal_net_plan *p);

/* ---- net_step.c ---- */

shoal_status net_steps_init(struct net_run *r);
void net_steps_fini(struct net_run *r);
/* Step at.step of epoch at.epoch, by this worker. */
shoal_status net_step(struct net_run *r);
/* This worker's part of what is held out. */
shoal_status net_measure_valid(struct net_run *r, struct net_sums *sums);

/* ---- net_ranks.c: when a rank fails, all hear why ---- */

struct net_ranks;

shoal_status net_ranks_open(struct net_ranks **out, struct comm *comm, double patience);
void net_ranks_close(struct net_ranks *w);
/* Tells all others; the sentence stays this thread's. */
void net_ranks_fail(struct net_ranks *w, shoal_status st);
/* Collective: counts and times of all ranks. */
shoal_status net_ranks_stats(struct comm *comm, unsigned servers, const struct dense *d,
                             double computed, struct shoal_rank_stats *stats);

/* ---- net_checkpoint.c ---- */

struct net_checkpoints;

shoal_status net_checkpoints_open(struct net_checkpoints **out, const struct net_run *r);
/* Collective: copies everything, and rank 0 writes it on a thread of its own after it
 * finished the one before. */
shoal_status net_checkpoints_write(struct net_checkpoints *c, struct net_run *r);
/* Rank 0: waits for the writer. */
shoal_status net_checkpoints_finish(struct net_checkpoints *c, struct comm *comm);
unsigned net_checkpoints_written(const struct net_checkpoints *c);
void net_checkpoints_close(struct net_checkpoints *c);
/* Collective: the last checkpoint of the folder into params, state and position. */
shoal_status net_checkpoint_load(struct net_run *r);
uint64_t net_checkpoint_bytes(const struct net *net, const struct shoal_net_opts *o);

/* ---- net_report.c ---- */

struct shoal_net_figures net_figures(const struct net *net, const struct net_sums *s);
struct shoal_net_figures net_no_figures(void);
double net_progress(const struct net_run *r);
shoal_status net_send(struct net_run *r, enum shoal_event event,
                      const struct shoal_net_figures *figures, double rate);
/* Fails when the loss is no number or stays far above the best. */
shoal_status net_check_sane(struct net_run *r, double loss);

/* ---- net_nodes.c: what the ranks spend their time on; one model on all ---- */

struct net_clock {
    double at, waited;
};

void net_clock_begin(struct net_run *r, struct net_clock *c);
/* What began there was a meeting with others: its time is waiting or communicating. */
void net_clock_meeting(struct net_run *r, const struct net_clock *c);
/* What began there was a step; `before` are the times when it did. */
void net_clock_step(struct net_run *r, const struct net_clock *c, const struct net_times *before);
/* The mean of a step between two times. */
struct net_times net_times_since(const struct net_times *now, const struct net_times *then);
/* Collective: r->nodes. */
shoal_status net_nodes(struct net_run *r);
/* Collective: where the time went, into r->profile.result. */
shoal_status net_profile(struct net_run *r);
/* Of several ranks: what this one did up to now, after a step or a meeting. */
void net_timeline(struct net_run *r);
void net_mark(struct net_run *r);
/* Collective, after a meeting: every rank's parameters are rank 0's. */
shoal_status net_check_same(struct net_run *r);

#endif
