/* train: data, models and the store, brought together.
 *
 * What this is: the driver, its tasks and engines, checkpoints and metrics. The public
 * side is in shoal.h.
 * Who owns what: a run owns its tables and workers; data and options are borrowed.
 * Threads: one run is driven by one thread, which starts and joins the others. */
#ifndef SHOAL_TRAIN_H
#define SHOAL_TRAIN_H

#include "base/base.h"
#include "comm/comm.h"
#include "samples/samples.h"
#include "sparse/sparse.h"
#include "text/text.h"
#include "file/file.h"
#include "model/model.h"
#include "train/learned.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- run.c: every training --------------------------------------------------------- */

struct task;

/* NULL: there is no such. */
const struct task *task_find(const char *name);
/* shoal_train and shoal_train_plan of options that are here already. */
shoal_status run_task(const struct task *task, const struct train_opts *opts,
                      const struct shoal_sources *data, shoal_model **out,
                      struct shoal_train_stats *stats);
shoal_status run_plan(const struct task *task, const struct train_opts *opts,
                      const struct shoal_sources *data, struct shoal_train_plan *plan);

/* ---- schedule.c ------------------------------------------------------------------- */

/* The rate after `done` of so many epochs, when it began with lr; `end` is where SHOAL_LINEAR
 * ends, 0: at lr / 10,000; decay is SHOAL_INVERSE_TIME's. */
float schedule_at(enum shoal_schedule schedule, double lr, double end, double decay, double done,
                  double epochs);

/* ---- ranks.c --------------------------------------------------------------------- */

/* Borrowed; NULL for NULL. */
struct comm *ranks_comm(shoal_ranks *r);
/* From here on to the end ranks that are silent for so many seconds are given up; 0: none is. */
void ranks_watch(shoal_ranks *r, double silence);
/* Ranks on this host, this one among them; 1 for NULL. */
unsigned ranks_here(const shoal_ranks *r);
/* Of this rank, 0 asking for its share of the cores: ranks on one machine have them together. */
unsigned ranks_threads(const shoal_ranks *r, unsigned asked);
/* Collective: fails for all where a rank's `mark`, which stands for `what`, is not rank 0's. */
shoal_status ranks_same(shoal_ranks *r, uint64_t mark, const char *what);

/* ---- background.c: work on a thread of its own -------------------------------------- */

/* In place; zero before its first work, and to stay where it is during one. */
struct background {
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
void background_begin(struct background *b, shoal_status (*fn)(void *ctx), void *ctx);
/* Waits for fn and gives its status; meanwhile comm is polled, unless NULL. When
 * that fails, its failure is given, after a word to the work to stop. */
shoal_status background_end(struct background *b, struct comm *comm);
/* The same until `reached` is set or fn is over, which is not waited for; gives the failure of
 * comm alone. */
shoal_status background_until(const struct background *b, const atomic_bool *reached,
                              struct comm *comm);

/* ---- metrics.c ---------------------------------------------------------------------- */

struct profile;

/* Begins with the task, its options and its plan; appends when the run goes on. journal_close
 * ends *out, also when this failed. */
shoal_status metrics_open(struct journal **out, const struct train_opts *opts,
                          const struct task *task, const struct shoal_train_plan *plan,
                          const char *kernel);
shoal_status metrics_write(struct journal *m, const struct shoal_report *report);
/* Of a run that was stopped or failed: why, by the failure's own sentence. */
void metrics_ended(struct journal *m, shoal_status st, double progress, double seconds);
/* What several ranks cost, once, before the last report. */
shoal_status metrics_ranks(struct journal *m, const struct shoal_rank_stats *stats);
/* Where the time went, likewise, and of several ranks when. */
shoal_status metrics_profile(struct journal *m, const struct profile *profile);
/* What was learned, likewise. */
shoal_status metrics_learned(struct journal *m, const struct learned *learned);

/* ---- tensorboard.c, mlflow.c: for programs that people have already -------------------- */

/* Each number of a report by its name: "train/loss", "lr". What was not measured is left out. */
void report_each(const struct shoal_report *report,
                 void (*fn)(void *ctx, const char *name, double value), void *ctx);
/* Makes it, unless it is there. */
shoal_status tracker_folder(const char *path);

/* _close ends *out, also when _open failed. */
struct events;
shoal_status events_open(struct events **out, const struct train_opts *opts,
                         const struct task *task);
shoal_status events_write(struct events *e, const struct shoal_report *report);
shoal_status events_finish(struct events *e); /* the run went well */
void events_close(struct events *e);
uint32_t events_checksum(const void *data, size_t len); /* the masked CRC-32C of a record */

struct mlflow;
shoal_status mlflow_open(struct mlflow **out, const struct train_opts *opts,
                         const struct task *task);
shoal_status mlflow_write(struct mlflow *m, const struct shoal_report *report);
/* The run did not come to its end: it failed, or was stopped (SHOAL_ESTOP). */
void mlflow_ended(struct mlflow *m, shoal_status why);
void mlflow_close(struct mlflow *m);

#endif
