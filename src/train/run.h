/* A run from inside, for plan.c, begin.c, stretch.c and train.c; not a door. */
#ifndef SHOAL_RUN_H
#define SHOAL_RUN_H

#include "train/together.h"

#include <stdatomic.h>

enum { IN, OUT, BIAS, TABLES };

enum {
    HOT_ROWS = 128,   /* of which each thread has copies */
    ROUND_IDS = 4096, /* of a thread between rounds of ranks that wait for each other */
};

struct worker {
    struct view in, out;
    struct lane *lane;
    struct done done;
};

struct run {
    const struct shoal_train_opts *opts;
    const shoal_corpus *corpus;
    const struct kernel *kernel;
    unsigned threads;

    const uint32_t *ids;
    size_t train, all; /* ids to learn from; the rest is held out */
    size_t chunk, chunks, step; /* ids of a chunk; chunks of an epoch; see chunk_at */

    struct table tables[TABLES];
    size_t ntables;
    struct w2v model;
    struct softmax *softmax;
    struct worker *workers;
    size_t nworkers;

    struct together *with;   /* NULL: alone */
    unsigned worker, sharing; /* which of how many that share the chunks; 0 of 1 when alone */
    bool leads;              /* reports, measures and writes: rank 0 */
    struct position met;     /* when all ranks were last together */
    struct done since;       /* by this rank since then */
    double computed;         /* seconds, of this rank, in this call */
    uint64_t rows;           /* needed by windows, of this rank, in this call */
    bool stopping;

    struct position at;
    atomic_uint_fast64_t next; /* chunk to be taken, during a stretch */
    uint64_t stop;             /* first chunk not of this stretch */
    uint64_t group;            /* chunks that are taken together */
    size_t part, parts;        /* of the chunks: in this round, and in all */
    atomic_uint next_lane;

    struct checkpoints *checkpoints;
    struct metrics *metrics;
    double began, stretch_began, reported, saved; /* clock */
    double interval_loss;
    uint64_t interval_predictions, reported_words, saved_chunks;
    double last_loss, valid_loss; /* of the last epoch */
    struct shoal_score *scores;   /* [nevals] likewise */
    unsigned rising; /* intervals in a row far above the best loss */
    double startup;
    struct shoal_rank_stats stats;
    uint64_t first_words; /* before this call */
    double first_seconds;
    uint64_t epoch_words; /* before this epoch, or this call if it began within */
    double epoch_seconds;
};

/* ---- plan.c: what the options mean ---- */

/* The rate at a point of the run, counted in epochs. */
float lr_at(const struct shoal_train_opts *o, double epochs_done);
unsigned threads_of(const struct shoal_train_opts *o);
/* Threads, or the lanes that are this rank's. */
size_t workers_of(const struct shoal_train_opts *o);
/* Ids of a chunk. */
size_t chunk_of(const struct shoal_train_opts *o, size_t ids);
/* Whether it fits into memory. */
shoal_status check_plan(const struct shoal_train_plan *p);

/* ---- begin.c ---- */

/* Collective when there are several ranks. */
shoal_status begin(struct run *r);
void end(struct run *r);

/* ---- stretch.c ---- */

/* The chunks that are taken together: at least one for each worker's turn. */
uint64_t group_of(const struct run *r);
/* As many chunks as about half a second takes, and no further than the epoch. */
uint64_t stretch_end(const struct run *r, uint64_t last, double took);
/* Trains this rank's share of the chunks from at.chunk to stop. */
shoal_status run_stretch(struct run *r);
/* The position is what was when all met, and what was done since. */
void count_up(struct run *r, const struct done *since);

#endif
