/* train: batches, views and the store, brought together.
 *
 * What this is: the training loop, its checkpoints and its metrics. The public
 * side is in shoal.h.
 * Who owns what: a run owns its tables and workers; the corpus is borrowed.
 * Threads: one run is driven by one thread, which starts and joins the others. */
#ifndef SHOAL_TRAIN_H
#define SHOAL_TRAIN_H

#include "base/base.h"
#include "comm/comm.h"
#include "data/data.h"
#include "file/file.h"

#include <pthread.h>
#include <stdatomic.h>

/* Where a run is: everything but the tables that a checkpoint must hold. */
struct position {
    unsigned epoch;       /* from 0 */
    uint64_t chunk;       /* next one of the epoch's sequence */
    uint64_t words;       /* trained so far */
    double seconds;       /* of training so far */
    double epoch_loss;    /* summed over the epoch so far */
    uint64_t epoch_predictions;
    double best_loss;     /* the lowest interval loss, for noticing divergence */
    double progress;      /* 0 .. 1, for people */
    /* Looks at what is held out: how many, since how many without a better one, the
     * best, and the positions passed before the last. */
    uint64_t looks, looks_since, looked;
    double held_best;
};

/* ---- schedule.c ------------------------------------------------------------------- */

/* The rate after `done` of so many epochs, when it began with lr; decay is
 * SHOAL_INVERSE_TIME's. */
float schedule_at(enum shoal_schedule schedule, double lr, double decay, double done,
                  double epochs);

/* ---- ranks.c --------------------------------------------------------------------- */

/* Borrowed; NULL for NULL. */
struct comm *ranks_comm(shoal_ranks *r);
/* Ranks on this host, this one among them; 1 for NULL. */
unsigned ranks_here(const shoal_ranks *r);
/* Collective: fails for all where a rank's `mark`, which stands for `what`, is not rank 0's. */
shoal_status ranks_same(shoal_ranks *r, uint64_t mark, const char *what);

/* ---- errand.c: work on a thread of its own ------------------------------------------ */

/* In place; zero before its first errand, and to stay where it is during one. */
struct errand {
    shoal_status (*fn)(void *ctx);
    void *ctx;
    pthread_t thread;
    bool threaded;
    atomic_bool over;
    atomic_bool stop; /* the work may look at it: nobody needs it any more */
    shoal_status status;
    char sentence[1024];
};

/* Runs fn at once, here, when there is no thread to be had. */
void errand_begin(struct errand *e, shoal_status (*fn)(void *ctx), void *ctx);
/* Waits for fn and gives its status; meanwhile comm is polled, unless NULL. When
 * that fails, its failure is given, after a word to the work to stop. */
shoal_status errand_end(struct errand *e, struct comm *comm);

/* ---- what a run learns from, as checkpoints and metrics know it ------------------------ */

struct source {
    uint64_t fingerprint;
    const shoal_vocab *vocab; /* kept in the checkpoint; NULL: there is none */
    uint64_t units;           /* words, rows */
};

static inline struct source source_of(const shoal_corpus *corpus)
{
    return (struct source){.fingerprint = shoal_corpus_fingerprint(corpus),
                           .vocab = shoal_corpus_vocab(corpus),
                           .units = shoal_corpus_words(corpus)};
}

/* ---- checkpoint.c, checkpoint_*.c ---------------------------------------------------- */

/* Who writes which rows, when several ranks write a checkpoint together. */
struct checkpoint_share {
    struct comm *comm;            /* NULL: nobody to agree with */
    unsigned rank, size;
    const uint16_t *const *owner; /* [tables][rows] the rank that writes the row; unused when
                                     loading whole tables, and borrowed while opening */
    const uint32_t *const *place; /* [tables][rows] tables hold only the rows that this rank owns,
                                     each at its place, in their order; NULL: all rows */
};

/* A folder of checkpoint-NNNNNN.shoal, the last two kept. Writing happens on a
 * thread of its own, from a copy of the rows. */
struct checkpoints;

/* Not collective: rank 0 makes the folder and looks what is there. share NULL:
 * one rank. */
shoal_status checkpoints_open(struct checkpoints **out, const struct shoal_train_opts *opts,
                              struct source from, const struct table *tables, size_t n,
                              const struct checkpoint_share *share);
/* Collective. Copies this rank's rows and starts writing, after finishing the one
 * before. Rank 0's position counts. */
shoal_status checkpoints_write(struct checkpoints *c, const struct position *at);
/* Collective. Waits for the writers and gives their status; of several ranks the
 * checkpoint is one only now, as rank 0 writes its head. */
shoal_status checkpoints_finish(struct checkpoints *c);
unsigned checkpoints_written(const struct checkpoints *c);
/* Not collective. A checkpoint of several ranks that was not finished is none. */
void checkpoints_close(struct checkpoints *c);

/* Collective. Reads the newest checkpoint that is whole for all ranks, however
 * many wrote it, into tables and *at, after checking that it belongs to these
 * options and this data. All ranks succeed or none. */
shoal_status checkpoint_load(const struct shoal_train_opts *opts, struct source from,
                             struct table *tables, size_t n, struct position *at,
                             const struct checkpoint_share *share);

/* ---- metrics.c ---------------------------------------------------------------------- */

struct metrics;

/* Appends when `more`, else begins anew. */
shoal_status metrics_open(struct metrics **out, const struct shoal_train_opts *opts,
                          struct source from, const char *kernel, bool more);
shoal_status metrics_write(struct metrics *m, const struct shoal_report *report);
/* What several ranks cost, once, before the last report. */
shoal_status metrics_ranks(struct metrics *m, const struct shoal_rank_stats *stats);
/* The same of nets: `spec` describes the net. Appends when it is resumed. */
shoal_status metrics_open_net(struct metrics **out, const struct shoal_net_opts *opts,
                              const char *spec, const struct shoal_net_plan *plan,
                              const char *kernel);
shoal_status metrics_net(struct metrics *m, const struct shoal_net_report *report);
struct profile;
/* Where the time went, likewise, and of several ranks when. */
shoal_status metrics_profile(struct metrics *m, const struct profile *profile);
void metrics_close(struct metrics *m);

#endif
