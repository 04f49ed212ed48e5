/* shoal/study.h: runs measured, compared and drawn, a part of shoal.h, which includes it.
 *
 * What this is: what a run wrote with --metrics, read again; a report of runs as one
 * page (docs/studies.md).
 * Who owns what: _read gives an object that _free ends. Options are borrowed for the
 * length of a call.
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
SHOAL_API void shoal_run_free(shoal_run *run);

/* What a run came to. NaN: not measured. */
struct shoal_measures {
    double seconds;  /* of training, without start and end */
    double whole;    /* of the command, from its start to its end; of a study only */
    double units;    /* words, rows or samples learned from, by all workers */
    double rate;     /* of them a second */
    double loss;     /* of training, at the end */
    double held;     /* of what was held out */
    double quality;  /* see quality_name */
    double target;   /* seconds to the loss that was asked for; infinite: never reached */
    double bytes;    /* sent to other ranks, by all */
    double stale;    /* rounds that a change was late, on average */
    double computing, communicating, waiting, other; /* shares of the ranks' time */
    double cpu;      /* the share of the threads' time that they had a core */
    double read;     /* bytes that came from the disk */
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

/* target_loss: NaN for none. It is that of what was held out, where that is measured. */
SHOAL_API struct shoal_measures shoal_run_measures(const shoal_run *run, double target_loss);

/* ---- A report of some runs ---------------------------------------------------- */

struct shoal_report_opts {
    const char *title; /* NULL: "Training report" */
    const char *plots; /* a folder for each chart as a file of its own; NULL: none */
};

#define SHOAL_REPORT_RUNS 24 /* at most, in one report */

SHOAL_API struct shoal_report_opts shoal_report_default(void);
/* One HTML file that asks for no other. */
SHOAL_API shoal_status shoal_report_write(const char *path, const shoal_run *const *runs, size_t n,
                                          const struct shoal_report_opts *opts);

#ifdef __cplusplus
}
#endif
#endif
