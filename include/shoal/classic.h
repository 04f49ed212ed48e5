/* shoal/classic.h: five well-known small experiments, a part of shoal.h, which includes it.
 *
 * What this is: each classic is a list of commands of the program, and what is told of their
 * metrics: tables, pictures, a README (docs/classics.md). The library plans and judges; whoever
 * calls runs the commands that it names, in their order.
 * Who owns what: shoal_classic_open gives an object that shoal_classic_close ends; what it
 * keeps of the options is copied.
 * Threads: an object belongs to one thread at a time. */
#ifndef SHOAL_CLASSIC_PART_H
#define SHOAL_CLASSIC_PART_H

#include <shoal.h>
#include <shoal/study.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shoal_classic shoal_classic;

struct shoal_classic_about {
    const char *name;    /* "cbow" */
    const char *summary; /* one line without a full stop */
    const char *takes;   /* what --data may name */
};

/* False behind the last; strings live for ever. */
SHOAL_API bool shoal_classic_at(size_t i, struct shoal_classic_about *about);

struct shoal_classic_opts {
    const char *name;
    const char *data; /* NULL: generated */
    bool quick;       /* small data and few runs: half a minute */
    bool vector;      /* the program's `predict` has --vector */
};

/* Makes the folder, or goes on with the same classic there. Any other folder that is not empty
 * is refused. */
SHOAL_API shoal_status shoal_classic_open(shoal_classic **out, const char *folder,
                                          const struct shoal_classic_opts *opts);
SHOAL_API void shoal_classic_close(shoal_classic *c);
SHOAL_API size_t shoal_classic_runs(const shoal_classic *c);     /* commands, in all */
SHOAL_API size_t shoal_classic_finished(const shoal_classic *c); /* of them, well or not */

/* The next command; false when there is none, or after a failure, which *st is. One that ended
 * well before, and all before it, is not named again. A command that only prepares is told by a
 * repeat of 0. */
SHOAL_API bool shoal_classic_next(shoal_classic *c, struct shoal_study_run *run, shoal_status *st);
/* It ended: failure is NULL when it did so well, and its metrics are then read. When one that
 * prepares fails, nothing can follow: that is a failure of this call. */
SHOAL_API shoal_status shoal_classic_ended(shoal_classic *c, size_t number, double whole_seconds,
                                           const char *failure);
/* What the metrics of a run that is under way say now: "epoch 2 of 5, loss 4.31"; "" when they
 * say nothing yet. */
SHOAL_API void shoal_classic_progress(char text[128], const shoal_classic *c, size_t number);
/* The line of the live table of a run that ended; SIZE_MAX: its head. "": it has none. */
SHOAL_API void shoal_classic_line(char text[256], const shoal_classic *c, size_t number);

/* All tables and notes, for a terminal; for free(). */
SHOAL_API shoal_status shoal_classic_text(char **text, const shoal_classic *c);
/* Writes README.md, report.html, tables/ (text and CSV) and figures/ (SVG and PNG). */
SHOAL_API shoal_status shoal_classic_report(const shoal_classic *c);
/* Fails with the names of the runs that failed, if any did. */
SHOAL_API shoal_status shoal_classic_check(const shoal_classic *c);

#ifdef __cplusplus
}
#endif
#endif
