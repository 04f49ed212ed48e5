/* A run from inside, for plan.c, begin.c, stretch.c, train.c and the tasks; not a
 * door.
 *
 * The loop knows positions of the data, tables of rows, workers with views of
 * them, and a rate. What a position is and what is done there, a task knows:
 *
 *     words.c    cbow, skipgram: positions are words of a corpus
 *     clicks.c   logreg: positions are rows of click data
 *
 * With blocks (blocks.c, store.h) tables have no rows here (at is NULL): workers'
 * views are of the block they are at.                                            */
#ifndef SHOAL_RUN_H
#define SHOAL_RUN_H

#include "train/profile.h"
#include "train/together.h"

#include <stdatomic.h>

enum { RUN_TABLES = 3 }; /* at most */

struct worker {
    struct view views[RUN_TABLES];
    void *own; /* the task's */
    uint64_t *bits[RUN_TABLES]; /* blocks: [rows] which rows it will need */
    struct done done;
};

struct run;

/* In how large pieces a task's data is worked through, in positions. */
struct grain {
    size_t chunk; /* that a thread takes at a time */
    size_t round; /* of a thread between rounds of ranks that wait for each other */
    size_t look, look_crowded; /* between looks at what other ranks sent; the same where
                                  ranks take turns on the cores */
    uint32_t hot; /* rows of which each thread has copies */
    size_t apart; /* of all threads until these meet; 0: a chunk of each */
};

/* Functions of a task. All may use r->opts, r->kernel and r->threads; `close` is
 * called even when `open` failed. */
struct task {
    shoal_status (*plan)(const struct run *r, struct shoal_train_plan *plan);
    /* Sets train, all, tables, ntables, grain, best_loss, and `whole` if it likes. */
    shoal_status (*open)(struct run *r);
    void (*close)(struct run *r);
    void (*start)(struct run *r); /* the rows' first values; NULL: zero */
    /* How often the rows of a table change, to deal them out by: into out [rows].
     * False: all alike. */
    bool (*traffic)(const struct run *r, size_t table, float *out);

    /* Its own part of a worker, whose views are there already. */
    shoal_status (*join)(struct run *r, struct worker *w);
    void (*leave)(struct worker *w);
    /* Sets the bits (w->bits) of the rows that train would look at there; NULL: cannot
     * tell, and there are no blocks. */
    void (*rows)(struct run *r, struct worker *w, size_t from, size_t to);
    /* Trains from <= position < to on the worker's views and adds to its done. */
    void (*train)(struct run *r, struct worker *w, size_t from, size_t to, float lr);
    /* The same with all threads at once on the tables themselves, for a run that is
     * `whole`; and which rows that changed, as touches of the store. */
    shoal_status (*train_whole)(struct run *r, size_t from, size_t to, float lr,
                                struct done *done);
    void (*touch)(struct run *r, size_t from, size_t to);

    /* What is held out, into r->valid_loss and whatever else the task reports. */
    shoal_status (*measure)(struct run *r);
    /* The model as it is now into a file. */
    shoal_status (*publish)(struct run *r, const char *path);
    /* Bytes of a row that a position needed, there and back. */
    size_t (*row_bytes)(const struct run *r);
};

struct run {
    const struct shoal_train_opts *opts;
    const struct task *task;
    void *own;          /* the task's */
    struct source from;
    const struct kernel *kernel;
    unsigned threads;

    size_t train, all; /* positions to learn from; the rest is held out */
    struct grain grain;
    bool whole;        /* all threads work on one batch; there are no workers */
    unsigned batch;    /* predictions of a step; 0: of one each, and the profile counts words */
    size_t chunk, chunks, step; /* positions of a chunk; chunks of an epoch; see chunk_at */

    struct table tables[RUN_TABLES];
    size_t ntables;
    bool blocks;                    /* no replicas */
    size_t needed[RUN_TABLES];      /* rows of a block at most, about; the task's */
    struct table owned[RUN_TABLES]; /* blocks: the tables, with the rows of this rank alone */
    struct worker *workers;
    size_t nworkers;

    struct together *with;   /* NULL: alone */
    unsigned worker, sharing; /* which of how many that share the chunks; 0 of 1 when alone */
    bool leads;              /* reports, measures and writes: rank 0 */
    struct position met;     /* when all ranks were last together */
    struct done since;       /* by this rank since then */
    double computed;         /* seconds, of this rank, in this call */
    uint64_t rows;           /* needed by windows, of this rank, in this call */
    uint64_t predictions;    /* made, of this rank, in this call */
    bool stopping;
    bool due;                /* a checkpoint, as rank 0 found when all came to meet */
    bool gathers;            /* the tables, at the end of every epoch; the task's */

    struct position at;
    atomic_uint_fast64_t next; /* chunk to be taken, during a stretch */
    uint64_t stop;             /* first chunk not of this stretch */
    uint64_t group;            /* chunks that are taken together */
    size_t part, parts;        /* of the chunks: in this round, and in all */
    atomic_uint next_lane;

    struct checkpoints *checkpoints;
    struct metrics *metrics;
    double began, reported, saved, published; /* clock */
    double stretch_began; /* the same; 0: between stretches */
    double interval_loss;
    uint64_t interval_predictions, reported_words, saved_chunks;
    double last_loss, valid_loss; /* of the last epoch, and of the last look at it */
    struct shoal_binary_score held; /* of the last look; examples is 0 when there was none */
    uint64_t look_every;          /* positions between looks within an epoch; 0: none */
    bool enough;                  /* looks say that more training is of no use */
    struct shoal_score *scores;   /* [nscores] likewise; the task's */
    size_t nscores;
    unsigned rising; /* intervals in a row far above the best loss */
    double startup;
    struct shoal_rank_stats stats;
    struct profile profile;
    uint64_t first_words; /* before this call */
    double first_seconds;
    uint64_t epoch_words; /* before this epoch, or this call if it began within */
    double epoch_seconds;
};

/* ---- plan.c: what the options mean ---- */

/* What a share of a run's positions a chunk is, from `least` to `most` of them. */
size_t chunk_between(size_t positions, size_t parts, size_t least, size_t most);
/* The rate at a point of the run, counted in epochs. */
float lr_at(const struct shoal_train_opts *o, double epochs_done);
unsigned threads_of(const struct shoal_train_opts *o);
/* Threads, or the lanes that are this rank's; 0 for a server. */
size_t workers_of(const struct shoal_train_opts *o);
/* Whether the options go together for so many ranks. */
shoal_status check_ranks(const struct shoal_train_opts *o);
/* What bringing replicas of n tables together takes; or, with blocks that need so many
 * rows of each, all there is of the tables. */
uint64_t ranks_bytes(const struct shoal_train_opts *o, const struct table *tables, size_t n,
                     const size_t *needed);
/* What is not the task's: held, checkpoint, the sum. */
void plan_sum(struct shoal_train_plan *plan, const struct shoal_train_opts *o);
/* Whether there are to be blocks, when with replicas a run is as planned. */
bool plan_blocks(const struct shoal_train_plan *plan, const struct shoal_train_opts *o);
/* Whether it fits into memory. */
shoal_status check_plan(const struct shoal_train_plan *p);

/* ---- begin.c ---- */

/* Collective when there are several ranks. */
shoal_status begin(struct run *r);
void end(struct run *r);

/* ---- train.c ---- */

/* Trains from where the run begins to its end. The tables are the result, until
 * `end`; rank 0's count. */
shoal_status run_all(struct run *r);
/* The last report; after it the tables may be taken away. */
shoal_status run_finish(struct run *r);
void fill_stats(const struct run *r, struct shoal_train_stats *stats);
double mean_of(double sum, uint64_t n);

/* ---- profile.c ---- */

/* Of several ranks: what this one did up to now, after a piece of work; on its first
 * thread. */
void run_timeline(struct run *r);
void run_mark(struct run *r);
/* Collective: where the time went, into r->profile.result. */
shoal_status run_profile(struct run *r);

/* ---- blocks.c ---- */

shoal_status blocks_begin(struct run *r);
void blocks_end(struct run *r);
/* Trains this rank's share of the chunks from at.chunk to stop, a block at a time. */
shoal_status run_blocks(struct run *r);
/* The workers' views are of the rows whose bits are set in the first one's, to be
 * read; of none after blocks_read_end. On one rank, while the others wait. */
shoal_status blocks_read(struct run *r);
shoal_status blocks_read_end(struct run *r);
/* Collective: rank 0's tables have all their rows, in files beside the output. */
shoal_status blocks_collect(struct run *r);

/* ---- stretch.c ---- */

/* Trains a piece of the i-th chunk; the other one looks in between at what other
 * ranks sent. */
void train_range(struct run *r, struct worker *w, uint64_t i, size_t from, size_t to);
shoal_status train_looking(struct run *r, struct worker *w, uint64_t i, size_t from, size_t to);
/* In a round each thread trains a part of its chunk. */
void part_range(const struct run *r, uint64_t i, size_t part, size_t *from, size_t *to);
void take_all_home(struct run *r);

/* The chunks that are taken together: at least one for each worker's turn. */
uint64_t group_of(const struct run *r);
/* As many chunks as about half a second takes, and no further than the epoch. */
uint64_t stretch_end(const struct run *r, uint64_t last, double took);
/* Positions before at.chunk, of all epochs. */
uint64_t passed(const struct run *r);
/* Trains this rank's share of the chunks from at.chunk to stop. */
shoal_status run_stretch(struct run *r);
/* The position is what was when all met, and what was done since. */
void count_up(struct run *r, const struct done *since);

#endif
