/* rows: the engine of tables of rows, for rows/ and the tasks that use it; not a door.
 *
 * An epoch is a sequence of chunks of the data's positions (words, rows of features).
 * Two ways to share them:
 *   Hogwild        each thread has a worker; views are the tables themselves, but for
 *                  private copies of the hottest rows
 *   deterministic  a fixed number of lanes; views are private and merged after each round
 *                  in a fixed order, whatever thread ran which lane
 *
 * With several ranks each has a replica of the tables, and a share of the chunks: worker w
 * of n takes those at w, w + n, ... from where all last met. The store brings the replicas
 * together meanwhile. With blocks (blocks.c, store.h) tables have no rows here (at is NULL):
 * workers' views are of the block they are at. */
#ifndef SHOAL_TRAIN_ROWS_H
#define SHOAL_TRAIN_ROWS_H

#include "train/run.h"

#include <stdatomic.h>

enum { ROWS_TABLES = 3 }; /* at most */

struct worker {
    struct view views[ROWS_TABLES];
    void *own;                   /* the task's */
    uint64_t *bits[ROWS_TABLES]; /* blocks: [rows] which rows it will need */
    size_t apart;                /* positions since its hot rows were synchronised */
    struct sums done;
};

/* In how large pieces a task's data is worked through, in positions. */
struct grain {
    size_t chunk; /* that a thread takes at a time */
    size_t round; /* of a thread between rounds of ranks that wait for each other */
    size_t poll, poll_busy; /* between polls for what other ranks sent; the same where
                               ranks take turns on the cores */
    uint32_t hot; /* rows of which each thread has copies */
    size_t apart; /* of all threads until these meet; 0: a chunk of each */
};

/* How often rows travel between ranks: after so many touches, and all that were touched at
 * all in so many rounds; or all of them at the end of each round. Rows of which nothing was heard
 * for `fresh` rounds are asked for before they are needed. What has moved by less than `least`
 * times the learning rate, the unit of all movement, stays. A message waits a step for more
 * rows, and `fill` steps more. `early` as in store_opts. */
struct cadence {
    unsigned due, sweep[ROWS_TABLES], fresh[ROWS_TABLES], early, fill;
    float least;
    float share, share_rare; /* see store_opts; share_rare 0: none are rare */
    bool whole;
    bool folds; /* average:K folds what ranks learned apart; else their rows become means */
};

/* How long a run is: what is old for a short one is young for a long one. All 0: not known yet. */
struct row_length {
    double positions; /* of all epochs, or of --steps */
    double rounds;    /* of an epoch, of all ranks together */
};

/* What the engine asks of a task. */
struct row_task {
    shoal_status (*start)(struct run *r); /* the rows' first values; NULL: zero */
    struct cadence (*cadence)(const struct train_opts *o, struct row_length length);
    /* How often the rows of a table change, to deal them out by: into out [rows].
     * False: all alike. */
    bool (*traffic)(const struct run *r, size_t table, float *out);
    /* Its own part of a worker, whose views are there already. */
    shoal_status (*join)(struct run *r, struct worker *w);
    void (*leave)(struct worker *w);
    /* Sets the bits (w->bits) of the rows that train would look at there; NULL: cannot
     * tell, and there are no blocks. */
    void (*list)(struct run *r, struct worker *w, size_t from, size_t to);
    /* Tells the store which rows will be needed there (store_expect); NULL: none are asked for. */
    shoal_status (*expect)(struct run *r, size_t from, size_t to);
    /* Trains from <= position < to on the worker's views and adds to its done. */
    void (*train)(struct run *r, struct worker *w, size_t from, size_t to, float lr);
    /* The same with all threads at once on the tables themselves, for a run that is
     * `whole`; and which rows that changed, as touches of the store. */
    shoal_status (*train_whole)(struct run *r, size_t from, size_t to, float lr,
                                struct sums *done);
    void (*touch)(struct run *r, size_t from, size_t to);
    /* Bytes of a row that a position needed, there and back. */
    size_t (*row_bytes)(const struct run *r);
};

struct row_run {
    /* set by the task when it opens */
    size_t train, all; /* positions to learn from, and with those that are held out */
    struct split split; /* which are which: chunks count those to learn from alone */
    struct grain grain;
    bool whole;        /* all threads work on one batch; there are no workers */
    /* Of --steps with whole batches: a unit is so many, from where its chunk begins on, as far
     * as they reach; chunk is how far that is on average. 0: a unit is a chunk. */
    uint64_t unit_batches;
    struct table tables[ROWS_TABLES];
    size_t ntables;
    size_t needed[ROWS_TABLES]; /* blocks: rows of a block at most, about */

    uint32_t rare;     /* the first row that is rare; 0: none is */
    bool blocks;       /* no replicas */
    size_t chunk;      /* positions of one */
    size_t stride;     /* see rows_chunk_range */
    size_t spare;      /* positions of the last chunk of the run that are beyond --steps */
    uint64_t batches;  /* of the unit that is trained, where units have unit_batches */
    struct table owned[ROWS_TABLES]; /* blocks: the tables, with the rows of this rank alone */
    struct worker *workers;
    size_t nworkers;
    struct workers *pool;  /* deterministic: the threads that run lanes; rounds are short */
    struct store *store;   /* NULL: alone */
    unsigned most_threads; /* of any rank: a round has a chunk for each, if need be */
    bool busy;             /* there are more threads on this host than cores */
    float least;           /* see struct cadence */

    atomic_uint_fast64_t next; /* chunk to be taken, during a slice */
    size_t part, parts;        /* of the chunks: in this round, and in all */
};

/* ---- rows.c ---- */

/* What a share of a run's positions a chunk is, from `least` to `most` of them. */
size_t rows_chunk(size_t positions, size_t parts, size_t least, size_t most);
/* Threads, or the lanes that are this rank's; 0 for a server. */
size_t rows_workers(const struct train_opts *o);
/* What bringing replicas of n tables together takes; or, with blocks that need so many
 * rows of each, all there is of the tables. */
uint64_t rows_bytes(const struct train_opts *o, const struct cadence *c, const struct table *tables,
                    size_t n, const size_t *needed);

/* Known once the run is laid out. */
struct row_length rows_length(const struct run *r);

/* Of so many positions so many are held out, where --valid-at says, in blocks of at least so
 * many (split_make). */
void rows_hold_out(struct run *r, size_t all, size_t held, size_t least);

/* The positions of the i-th chunk of an epoch, of those to learn from. */
void rows_chunk_range(const struct run *r, uint64_t i, size_t *from, size_t *to);

/* ---- blocks.c ---- */

shoal_status blocks_begin(struct run *r);
void blocks_end(struct run *r);
/* Trains this rank's share of the chunks from at.place to stop, a block at a time. */
shoal_status blocks_advance(struct run *r);
/* The workers' views are of the rows whose bits are set in the first one's, to be
 * read; of none after blocks_read_end. On one rank, while the others wait. */
shoal_status blocks_read(struct run *r);
shoal_status blocks_read_end(struct run *r);
/* Collective: rank 0's tables have all their rows, in files beside the output. */
shoal_status blocks_collect(struct run *r);

/* ---- advance.c ---- */

/* fn trains positions of the i-th chunk, or lists their rows. */
typedef shoal_status rows_part_fn(struct run *r, unsigned index, uint64_t i, size_t from,
                                  size_t to);
/* The part of each chunk of a round that is this thread's: one chunk, or more where other ranks
 * have more threads. The round's chunks begin at `place`. */
shoal_status rows_parts_each(struct run *r, unsigned index, uint64_t place, size_t part,
                             rows_part_fn *fn);
rows_part_fn rows_part_train;
void rows_count(struct run *r); /* what the workers did */
shoal_status rows_advance(struct run *r);
/* The chunks that are taken together: at least one for each worker's turn. */
uint64_t rows_group(const struct run *r);

#endif
