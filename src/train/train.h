/* train: batches, views and the store, brought together.
 *
 * What this is: the training loop, its checkpoints and its metrics. The public
 * side is in shoal.h.
 * Who owns what: a run owns its tables and workers; the corpus is borrowed.
 * Threads: one run is driven by one thread, which starts and joins the others. */
#ifndef SHOAL_TRAIN_H
#define SHOAL_TRAIN_H

#include "base/base.h"
#include "data/data.h"
#include "file/file.h"

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
};

/* ---- checkpoint.c ---------------------------------------------------------------- */

/* A folder of checkpoint-NNNNNN.shoal, the last two kept. Writing happens on a
 * thread of its own, from a copy of the tables. */
struct checkpoints;

shoal_status checkpoints_open(struct checkpoints **out, const struct shoal_train_opts *opts,
                              const shoal_corpus *corpus, const struct table *tables, size_t n);
/* Copies the tables and starts writing; waits for the one before. */
shoal_status checkpoints_write(struct checkpoints *c, const struct position *at);
/* Waits for the writer, and gives its status. */
shoal_status checkpoints_finish(struct checkpoints *c);
unsigned checkpoints_written(const struct checkpoints *c);
void checkpoints_close(struct checkpoints *c);

/* Reads the newest checkpoint that is whole into tables and *at, after checking
 * that it belongs to these options and this corpus. */
shoal_status checkpoint_load(const struct shoal_train_opts *opts, const shoal_corpus *corpus,
                             struct table *tables, size_t n, struct position *at);

/* ---- metrics.c ---------------------------------------------------------------------- */

struct metrics;

/* Appends when `more`, else begins anew. */
shoal_status metrics_open(struct metrics **out, const struct shoal_train_opts *opts,
                          const shoal_corpus *corpus, const char *kernel, bool more);
shoal_status metrics_write(struct metrics *m, const struct shoal_report *report);
void metrics_close(struct metrics *m);

#endif
