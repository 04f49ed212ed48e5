/* A training from inside: the driver, and the two tables that it walks; not a door.
 *
 *     plan -> open -> [ slice of work, report, evaluate, checkpoint, stop? ]* -> result
 *
 * What differs between models stands in a task (tasks/: what the data is, what a step
 * does, what is measured), what differs between the two ways to train in an engine:
 *
 *     rows/    tables of rows that many workers change at once (Hogwild, lanes), each
 *              through its view; units of an epoch are chunks of the data
 *     dense/   one block of parameters, gradients of batches, an optimizer; units are steps
 *
 * The driver knows epochs, units of them, sums of what was done, and other ranks. */
#ifndef SHOAL_RUN_H
#define SHOAL_RUN_H

#include "samples/samples.h"
#include "sparse/sparse.h"
#include "text/text.h"
#include "model/model.h"
#include "store/store.h"
#include "train/checkpoint.h"
#include "train/profile/profile.h"
#include "train/rendezvous.h"
#include "train/task.h"
#include "train/train.h"

struct run;
struct row_run;
struct dense_run;

/* What a run needs to learn from, as checkpoints know it. */
struct identity {
    uint64_t fingerprint;     /* of the data: a checkpoint goes on with no other */
    const shoal_vocab *vocab; /* kept in the checkpoint; NULL: there is none */
};

/* ---- the table of an engine: rows/rows.c, dense/engine.c ---- */

struct engine {
    /* Of its part of the run, which is empty at first, for the task to say what it trains
     * (struct row_run, struct dense_run). */
    size_t bytes;
    /* Collective, after the task was opened: what is trained, with its first values
     * (run_values), workers and, with others, who owns what. */
    shoal_status (*open)(struct run *r);
    void (*close)(struct run *r);
    /* What a checkpoint holds, after `open`: tables, and whose each row is. */
    void (*sections)(struct run *r, struct sections *out);
    /* The tables that are what was learned, of which the best may be kept: into out
     * [LEARNED_MOST]; gives how many. */
    size_t (*learned)(struct run *r, struct table **out);
    /* Trains this rank's share of the units from at.place to r->stop, and counts it
     * (run_count). */
    shoal_status (*advance)(struct run *r);
    /* Whether whoever goes on needs no whole meeting now, where rows travel meanwhile; NULL:
     * it never does. */
    bool (*swept)(const struct run *r);
    /* Collective: what is trained becomes the same on every rank; with `end`, where nobody goes
     * on, rank 0 has it, and the others at least what they own. */
    shoal_status (*gather)(struct run *r, bool end);
    /* Collective, after a gathering: what is held out, into r->held. */
    shoal_status (*evaluate)(struct run *r);
    /* Where this rank's time went, and what it cost to train with others. */
    void (*facts)(const struct run *r, struct profile_facts *facts);
    /* *merged: rows or pieces, as their owner; left as it is by a rank alone. */
    struct shoal_rank_stats (*stats)(const struct run *r, uint64_t *merged);
    /* Collective, at the end: rank 0 holds all of it. NULL: it does anyway. */
    shoal_status (*collect)(struct run *r);
};

extern const struct engine rows_engine, dense_engine;

/* ---- a run ---- */

struct run {
    const struct task *task;
    const struct engine *engine;
    const struct train_opts *opts;
    const struct shoal_sources *data;
    struct shoal_train_plan planned;
    void *own;               /* the task's */
    struct row_run *rows;       /* of one engine, */
    struct dense_run *dense; /* or the other */

    struct identity identity;
    const struct kernel *kernel;
    unsigned threads;
    struct comm *comm;         /* NULL: alone */
    struct rendezvous *with;   /* NULL: alone */
    unsigned worker, sharing;  /* which of how many that share the units; 0 of 1 when alone */
    bool leads;                /* reports, evaluates and writes: rank 0 */
    bool works;                /* trains; else it is a server, which only keeps values */

    /* set by the task or the engine when it opens */
    uint64_t units;       /* of an epoch */
    bool chosen;          /* epochs were, by the number of examples */
    unsigned epochs;      /* of the run (run_set_length), the last of which is shorter where */
    uint64_t last_units;  /* --steps says so */
    uint64_t group;       /* that are taken together */
    double unit_examples; /* about */
    double lr;            /* the first */
    enum shoal_schedule schedule;
    unsigned batch;       /* examples of a step; 0: the profile counts words */
    bool gathers;         /* at the end of every epoch, for whoever evaluates */

    struct position at, met; /* now, and when all ranks were last together */
    struct sums since;       /* by this rank since then */
    struct sums interval;    /* by this rank since the last report */
    struct sums done;        /* by this rank in this call */
    uint64_t stop;           /* the first unit not of this slice */
    bool stopping, enough;   /* somebody asked to; by early stopping */
    bool diverged;           /* with others: this rank found so, and says it where all meet */
    char divergence[512];    /* what it found, in a sentence */
    bool due;                /* a checkpoint, as rank 0 found when all came to meet */
    bool apart;              /* the last meeting did not gather what is trained */

    struct table best[LEARNED_MOST]; /* what had the best validation loss (--early-stop) */
    size_t nbest;
    char doubt[512];         /* see shoal_train_stats */
    bool better, taken;      /* the last evaluation was the best; the best is the result */
    struct checkpoints *checkpoints;
    struct journal *metrics;
    struct events *events;
    struct mlflow *mlflow;
    struct profile profile;
    struct shoal_figures held; /* of the last evaluation */
    struct shoal_figures last; /* of the last epoch, what is held out among them */
    struct shoal_rank_stats stats;
    unsigned rising;           /* intervals in a row far above the best loss */

    double began, reported, saved, published; /* clock */
    double slice_began;   /* the same; 0: between slices */
    double worked, startup; /* seconds in slices; to the first */
    uint64_t reported_examples, saved_units, first_examples, first_units, epoch_examples;
    double first_seconds, epoch_seconds;
};

/* ---- run.c ---- */

/* Collective: the first values of what is trained, or those of the checkpoint: called by an
 * engine when its tables are there. */
shoal_status run_values(struct run *r, shoal_status (*start)(struct run *r));
/* What a worker did. */
void run_count(struct run *r, const struct sums *s);
/* Does fn while other ranks, which wait, hear that this one lives. */
shoal_status run_background(struct run *r, shoal_status (*fn)(struct run *r));
/* The rate of a unit of the epoch that is under way. */
float run_lr(const struct run *r, uint64_t place);
double run_progress(const struct run *r);
/* Units before at.place, of all epochs. */
uint64_t run_units(const struct run *r);
/* Keeps what is trained as the best there was, where --early-stop wants it. */
void run_keep_best(struct run *r);
/* What is trained becomes the best there was; false: it is already, or none was kept. */
bool run_take_best(struct run *r);
/* What may help a run that diverged: names options and values. */
struct run_advice {
    char text[256];
};
struct run_advice run_advice(const struct run *r);
#define RETRY_PART 10 /* of the rate, that a run which diverged is tried again with */
/* How long the run is, by an engine that knows r->units: --epochs, or with --steps so many
 * units in all. */
shoal_status run_set_length(struct run *r, uint64_t units);
/* Of the epoch under way: fewer in the last of --steps. */
uint64_t run_epoch_units(const struct run *r);

/* ---- begin.c ---- */

/* The engine's part of the run, empty, and what the run will take, into r->planned. */
shoal_status run_make_plan(struct run *r);
/* Collective. run_end is for a run that failed to begin too. */
shoal_status run_begin(struct run *r);
void run_end(struct run *r);

/* ---- account.c ---- */

/* What each rank does over time: from here on, */
void run_timeline_begin(struct run *r);
/* and up to now, after a piece of work; cheap. */
void run_timeline_mark(struct run *r);
/* Collective: r->stats and the profile, into the metrics too. */
shoal_status run_account(struct run *r);
void run_stats(const struct run *r, struct shoal_train_stats *stats);

/* ---- report.c ---- */

double figures_mean(double sum, uint64_t n);
void figures_add(struct shoal_figures *f, enum shoal_figure_of of, const char *name, bool share,
                 double value);
/* The loss, and what the task adds. */
void run_figures(const struct run *r, const struct sums *s, enum shoal_figure_of of,
                 struct shoal_figures *out);
shoal_status run_report(struct run *r, enum shoal_event event, const struct shoal_figures *figures,
                        double rate);
/* Fails when the loss is no number or stays far above the best. */
shoal_status run_check_loss(struct run *r);

/* ---- plan.c: what options mean for every task ---- */

unsigned opts_sharing(const struct train_opts *o); /* ranks that train */
/* Of n positions `held` are held out where --valid-at says: see split_make. */
struct split opts_split(const struct train_opts *o, size_t n, size_t held, size_t least);
/* The rate at the start: that of --lr or the usual one, and what several ranks make of it:
 * `factor` times as much, if it is to be scaled. Into the plan. */
double opts_lr(struct shoal_train_plan *plan, const struct train_opts *o, double usual,
               double factor);
shoal_status opts_check_data(const struct task *task, const struct shoal_sources *data);
/* Whether the options go together for so many ranks. */
shoal_status opts_check_ranks(const struct train_opts *o, const char *needs_whole);
/* What is not the task's: held, checkpoint, the sum. */
void plan_sum(struct shoal_train_plan *plan, const struct train_opts *o);
uint64_t plan_needs(const struct shoal_train_plan *p);
shoal_status plan_check(const struct shoal_train_plan *p);

#endif
