/* dense: the engine of nets over one block of parameters, for dense/ and the tasks that use
 * it; not a door.
 *
 * A net knows batches; a task makes them; the store's dense block brings gradients
 * together and steps; this is the only place where the three meet.
 *
 *     task --batch--> net (workers) --grads--> dense --params-->
 *
 * An epoch is a permutation of the samples, cut into steps of one batch of all ranks
 * together; worker w of n takes the w-th part of each. The part is cut into shards, each
 * computed by one thread into a block of its own and added in their order: the number of
 * shards depends on the net and the batch alone, so the result does not depend on the
 * threads. */
#ifndef SHOAL_TRAIN_NET_H
#define SHOAL_TRAIN_NET_H

#include "train/run.h"

/* Which samples a batch has. */
struct net_take {
    const uint32_t *ids; /* [n] */
    size_t n;
    bool valid;     /* of those held out, else of those to learn from */
    unsigned epoch; /* from 0: what is random about a sample is keyed by it */
};

/* What the engine asks of a task. */
struct net_task {
    /* Fills x [n][inputs] and label [n] or y [n][outputs]. Several threads at once. */
    shoal_status (*fill)(const struct run *r, const struct net_take *take, float *x,
                         uint32_t *label, float *y);
    /* Or NULL: this will be asked for soon. */
    void (*ahead)(const struct run *r, const struct net_take *take);
    /* Parameters to begin with, of the file opts->start, into params, zeroed before; NULL: it
     * has no such option. */
    shoal_status (*start)(struct run *r, float *params);
    /* What the result has beside its net, facts of the training (net_task_facts) included. */
    shoal_status (*give)(struct run *r, shoal_net *t);
};

/* What one thread computes of a batch. */
struct shard {
    void *worker;
    float *x, *y, *grads; /* grads: NULL for the first, which writes the run's */
    uint32_t *label;
    struct sums sums;
};

/* Seconds of this rank's steps: computing; waiting for others; sending, receiving, adding up
 * and making the step. */
struct net_times {
    uint64_t steps;
    double compute, wait, communicate;
};

struct dense_run {
    /* set by the task when it plans */
    struct net *net;
    size_t train, valid; /* samples to learn from; held out */

    struct dense *dense;
    struct table tables[1 + DENSE_STATES]; /* for checkpoints */
    struct workers *pool;  /* this rank's threads */
    float *params, *grads; /* [net->size] */
    uint32_t *order;       /* [train] the epoch's permutation */
    unsigned ordered;      /* 1 + the epoch of `order` */
    double shuffled;       /* how far the shuffle moved a sample, in the mean: 1/3 is even */
    size_t batch;          /* of all workers together */
    size_t share;          /* the most samples that this worker takes of a batch */
    struct shard *shards;
    size_t nshards;

    /* the step under way, for the threads */
    struct net_take take;
    float scale;
    struct net_hooks hooks;

    double norm0;          /* dense_norm2 at the last gathering */
    uint64_t norms;        /* steps measured since */
    struct net_times times, before; /* since the start; at the end of the last epoch */
    struct step_trace step, trace;  /* with others: the one under way; the last whole one */
};

/* ---- engine.c ---- */

size_t net_batch_size(const struct train_opts *o);
/* For struct task's plan, at its end: what it will take, added to what the task put there. */
shoal_status net_plan(const struct run *r, struct shoal_train_plan *plan);
/* Which of n samples are held out, drawn by the seed: none where there are others for it. Ids
 * of those to learn from, then of those held out, both in order, for free(). */
shoal_status net_split(struct run *r, uint32_t **ids, size_t n, size_t others, uint64_t stream);
/* For struct task: what sums of a net say. */
void net_task_figures(const struct run *r, const struct sums *s, enum shoal_figure_of of,
                      struct shoal_figures *out);
/* The same: the net with its parameters, taken out of the run when it is the last. */
shoal_status net_task_result(struct run *r, bool last, shoal_model **out);
/* What its file says of the training. */
shoal_status net_task_facts(shoal_net *t, const struct run *r);

/* ---- step.c ---- */

size_t net_shards(const struct net *net, size_t share);
shoal_status net_steps_init(struct run *r);
void net_steps_fini(struct run *r);
/* Step at.place of epoch at.epoch, by this worker. */
shoal_status net_step(struct run *r);
/* This worker's part of what is held out. */
shoal_status net_measure_valid(struct run *r, struct sums *sums);

/* ---- shown.c ---- */

struct predictions;
/* What a net of classes says of some samples, held out ones if there are such; says in *l of how
 * many. Sample i of them is number learned_pick(i, l->examples, l->all). predictions_free ends
 * *out, also after a failure. */
shoal_status net_predictions(struct run *r, struct learned *l, struct predictions **out);
/* The same of a net of numbers, as the task's fill has them; said, truth [l->examples][outputs],
 * for free(), also after a failure. */
shoal_status net_answers(struct run *r, struct learned *l, float **said, float **truth);

#endif
