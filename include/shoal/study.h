/* shoal/study.h: runs measured, compared and drawn, a part of shoal.h, which includes it.
 *
 * What this is: what a run wrote with --metrics, read again; a report of runs as one
 * page; a study: a grid of runs, what of it was done, and its table (docs/studies.md).
 * The library plans and judges; whoever calls runs the commands that it names.
 * Who owns what: _read and _open give an object that _free and _close end. Options are
 * borrowed for the length of a call, but shoal_study_open copies what it keeps.
 * Threads: an object belongs to one thread at a time. */
#ifndef SHOAL_STUDY_PART_H
#define SHOAL_STUDY_PART_H

#include <shoal.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- One run ---------------------------------------------------------------- */

typedef struct shoal_run shoal_run;

/* Reads a file of metrics. A line that is no report is refused, by its number; a last
 * line without its end, as a run that was killed leaves it, is left out. */
SHOAL_API shoal_status shoal_run_read(shoal_run **out, const char *path);
/* Reads what its file has got since then; one that was made anew is read from its beginning. Where
 * that fails the run is good for shoal_run_free only. */
SHOAL_API shoal_status shoal_run_update(shoal_run *run);
SHOAL_API void shoal_run_free(shoal_run *run);

/* What a run came to. NaN: not measured. */
struct shoal_measures {
    double seconds; /* of training, without start and end */
    double whole;   /* of the command, from its start to its end; of a study only */
    double units;   /* words, rows or samples learned from, by all workers */
    double rate;    /* of them a second */
    double steps;   /* of the optimizer, where a model counts them */
    double updates; /* such steps or else batches, of all workers; where there are some */
    double loss;    /* of training, at the end */
    double held;    /* of what was held out */
    double accuracy, held_accuracy; /* likewise, where a model has it */
    double quality;                 /* see quality_name */
    double target;   /* seconds to the loss that was asked for; infinite: never reached */
    double reached;  /* the least such loss; NaN: it was not measured */
    double bytes;    /* sent to other ranks, by all */
    double received; /* by all, from others */
    double messages; /* that they were */
    double stale;    /* rounds that a change was late, on average */
    double computing, communicating, waiting, other; /* shares of the time of ranks that train */
    double cpu;      /* the share of their threads' time that they had a core */
    double read;     /* bytes that came from the disk, of all ranks, */
    double written;  /* and that went there */
    double memory;   /* peak of all ranks, bytes */
    double gradient; /* its norm, at the end */
    double lr;       /* at the end */
    bool done;       /* the run came to its end */
    unsigned ranks;
    char unit[16];         /* "words" */
    char quality_name[32]; /* "accuracy", "AUC", "analogies"; "" when there is none */
    char limit[16];        /* what limited it: "processor"; "" when nobody said */
    char verdict[512];     /* the same as a sentence */
};

/* Which loss a target is about; SHOAL_TARGET_ANY: what was held out where that is measured, else
 * what was trained on. */
enum shoal_target { SHOAL_TARGET_ANY, SHOAL_TARGET_VALID, SHOAL_TARGET_TRAIN };

/* target_loss: SHOAL_TARGET_ANY; NaN for none. */
SHOAL_API struct shoal_measures shoal_run_measures(const shoal_run *run, double target_loss);

/* ---- A report of some runs ---------------------------------------------------- */

struct shoal_report_opts {
    const char *title; /* NULL: "Training report" */
    const char *plots; /* a folder for each chart as a file of its own; NULL: none */
    double refresh;    /* seconds after which the page asks for a newer one, while a run is not
                          over; 0: never */
};

#define SHOAL_REPORT_RUNS 24 /* at most, in one report */

SHOAL_API struct shoal_report_opts shoal_report_default(void);
/* One HTML file that asks for no other. */
SHOAL_API shoal_status shoal_report_write(const char *path, const shoal_run *const *runs, size_t n,
                                          const struct shoal_report_opts *opts);
/* The same in memory, for free(). */
SHOAL_API shoal_status shoal_report_text(char **text, size_t *len, const shoal_run *const *runs,
                                         size_t n, const struct shoal_report_opts *opts);

/* ---- A study -------------------------------------------------------------------
 * Cells are all of scaling x batch x sync x servers x workers. Strong scaling gives any number
 * of workers the same work; weak scaling gives n workers n times of it. Servers are ranks that
 * only keep parameters; they are not counted among the workers. */

typedef struct shoal_study shoal_study;

enum shoal_worker { SHOAL_WORKER_RANK, SHOAL_WORKER_THREAD };
enum shoal_scaling { SHOAL_STRONG, SHOAL_WEAK, SHOAL_STRONG_AND_WEAK };

#define SHOAL_STUDY_AXIS 32    /* values of an axis, at most */
#define SHOAL_STUDY_CELLS 1024 /* and cells */
#define SHOAL_STUDY_REPEATS 100

/* The values of an axis. */
struct shoal_axis {
    uint64_t at[SHOAL_STUDY_AXIS]; /* [n] rising, from 1 on; of servers from 0 on */
    size_t n;
};

struct shoal_study_opts {
    const char *model;       /* "cbow": the word behind `shoal train` */
    const char *const *data; /* [ndata] its inputs */
    size_t ndata;
    const char *const *more; /* [nmore] further words for `shoal train` */
    size_t nmore;
    enum shoal_worker worker; /* what a worker is */
    enum shoal_scaling scaling;
    struct shoal_axis workers;
    struct shoal_axis servers;          /* none: 0 */
    const char *sync[SHOAL_STUDY_AXIS]; /* none: the model's own */
    size_t nsync;
    struct shoal_axis batch; /* none: the model's own */
    unsigned epochs;         /* 0: the model's own, which weak scaling cannot multiply */
    uint64_t steps;          /* instead of epochs, of one worker; 0: none. Strong scaling divides
                                them among the workers */
    unsigned repeat;
    double target_loss; /* NaN: none */
    enum shoal_target target_of;
};

SHOAL_API struct shoal_study_opts shoal_study_default(void);
SHOAL_API shoal_status shoal_study_check(const struct shoal_study_opts *opts);

/* Makes the folder, or goes on with the study that lies there, which must be of the
 * same grid; what failed there is tried again. Fails when another has it open. */
SHOAL_API shoal_status shoal_study_open(shoal_study **out, const char *folder,
                                        const struct shoal_study_opts *opts);
SHOAL_API void shoal_study_close(shoal_study *study);
SHOAL_API size_t
shoal_study_runs(const shoal_study *study); /* in all: cells x repeats, without twins */
SHOAL_API size_t shoal_study_finished(const shoal_study *study); /* of them, well or not */

struct shoal_study_run {
    size_t number;
    unsigned repeat;    /* from 1 */
    char name[96];      /* "4 ranks, async, batch 100" */
    char *const *words; /* [nwords] and a NULL: "train", "cbow", ...; the study's, until the
                           next call */
    size_t nwords;
    const char *folder; /* of its files, which is there */
    double memory;      /* of a simulation: bytes that it needs, about, 0: unknown, */
    double memory_free; /* and those that are free now */
};

/* The next run that is not finished, repeats of a cell apart from each other; false
 * when there is none, or after a failure, which *st is. */
SHOAL_API bool shoal_study_next(shoal_study *study, struct shoal_study_run *run, shoal_status *st);
/* It ended: failure is NULL when it did so well, and its metrics are then read. A run
 * whose metrics say nothing is a failed one. Writes study.json. */
SHOAL_API shoal_status shoal_study_ended(shoal_study *study, size_t number, double whole_seconds,
                                         const char *failure);

struct shoal_study_cell {
    unsigned workers, servers;
    const char *sync; /* NULL: the model's own */
    uint64_t batch;   /* 0: likewise */
    bool weak;
    /* One worker without servers does the same under any policy and in either scaling. Such cells
     * are run once, and all show that run: twin is the first of them, which may be this one. */
    size_t twin;
    unsigned done, failed;      /* runs */
    const char *failure;        /* of the last that failed, or NULL */
    struct shoal_measures best; /* of the quickest run */
    double spread;              /* (slowest - quickest) / quickest */
    /* Against the cell of fewest workers that is otherwise alike; NaN without it. Weak
     * speedup is that of the work done in a second. */
    double speedup, efficiency;
};

/* "4 ranks, async, batch 100"; "" when there is no such cell. */
SHOAL_API void shoal_study_name(const shoal_study *study, size_t i, char name[96]);
/* False when there is no such cell; strings live as long as the study. */
SHOAL_API bool shoal_study_cell(const shoal_study *study, size_t i, struct shoal_study_cell *cell);
/* The table for a terminal, for free(); one of `width` characters gets it in several
 * parts where a row is longer. 0: whole. */
SHOAL_API shoal_status shoal_study_table(char **text, const shoal_study *study, size_t width);

/* ---- Beyond this machine ----------------------------------------------------------
 * What a study measured on one worker and on several, carried over to more of them on
 * other links: by the real trainer under SimGrid, where that is installed, and else by a
 * formula (docs/studies.md). */

struct shoal_cluster {
    char name[64];
    unsigned nodes;
    unsigned cores;   /* of a node: ranks that it holds */
    double bandwidth; /* bytes a second of a node's link, each way */
    double latency;   /* seconds until a message is there */
    double speed;     /* of a core, as a multiple of one where it was measured */
    double jitter;    /* standard deviation of a rank's time for a step, as a share of it */
    struct shoal_axis workers; /* to be predicted */
    double socket; /* processor seconds that sockets take for a byte, both ends together */
    double links[SHOAL_STUDY_AXIS]; /* [nlinks] bandwidths to be predicted, of which `bandwidth` is
                                       the first; 0: that one */
    size_t nlinks;
    struct shoal_axis simulate; /* the most ranks that are simulated, of each link or of all; beside
                                 * such, nothing is predicted of more. n is 0: there is no limit */
};

/* A JSON object: name, nodes, cores, gigabits (one or a list), microseconds, speed, jitter,
 * socket_ns, workers, simulate (one number, or one for each link). */
SHOAL_API shoal_status shoal_cluster_read(struct shoal_cluster *out, const char *path);

/* The runs of the real trainer that predictions ask for: for each link and each strong series with
 * a run of one rank, one with each number of workers above 1. */
SHOAL_API size_t shoal_study_simulations(const shoal_study *study,
                                         const struct shoal_cluster *cluster);
/* The command of the `number`-th, in run->words with its program first; none when it ran
 * before, in the same folder and with the same settings, and nothing is left to do.
 * `module` is the program as smpirun takes it. */
SHOAL_API shoal_status shoal_study_simulate(shoal_study *study, const struct shoal_cluster *cluster,
                                            size_t number, const char *module,
                                            struct shoal_study_run *run);
/* It ended; failure is NULL when it did so well. */
SHOAL_API shoal_status shoal_study_simulated(shoal_study *study,
                                             const struct shoal_cluster *cluster, size_t number,
                                             const char *failure);

struct shoal_prediction {
    double seconds;                              /* of training */
    double computing, exchanging, wire, latency; /* seconds of a rank; those of a rank that does
                                                    not wait go on at the same time. Simulated:
                                                    wire is all waiting, latency NaN */
    double speedup, efficiency;                  /* against one worker there */
    double held, quality; /* trained for real; NaN where a formula has no training */
    double rate;          /* words, rows, ... a second */
    double sent;          /* bytes for each of them; NaN: nobody counted, as of the next three */
    double carried;       /* the share of the time in which a node's link carries bytes */
    double waiting;       /* the share of a rank's time */
    double stale;         /* mean, in rounds */
    const char *limit;    /* the largest of the four: "computing", ... */
    const char *by;       /* "simulated", "formula"; "measured": one worker, as it ran here */
    const char *failure;  /* of a simulation; NULL: none */
};

/* Of the strong series that begins at `cell`, on links of cluster->bandwidth. False when it lacks a
 * run of one worker, or of several and was not simulated; of servers there is no formula. False,
 * too, beyond what is simulated (cluster->simulate), where anything is. */
SHOAL_API bool shoal_study_predict(const shoal_study *study, size_t cell,
                                   const struct shoal_cluster *cluster, unsigned workers,
                                   struct shoal_prediction *out);
/* The table of all predictions, for free(); "" when there is none. */
SHOAL_API shoal_status shoal_study_predictions(char **text, const shoal_study *study,
                                               const struct shoal_cluster *cluster);

/* Writes study.csv and report.html, and with `plots` each chart as a file. `cluster` may
 * be NULL: nothing is predicted, else predicted.csv has it. */
SHOAL_API shoal_status shoal_study_report(const shoal_study *study, const char *plots,
                                          const struct shoal_cluster *cluster);

#ifdef __cplusplus
}
#endif
#endif
