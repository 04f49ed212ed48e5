/* study: the runs of `shoal study` and `shoal classic`, and those of simulations.
 *
 * What this is: study_child.c starts a command and judges its end; study_simulate.c has
 * the trainer run under SimGrid.
 * Who owns what: everything is borrowed for the length of a call.
 * Threads: one. */
#ifndef CLI_STUDY_H
#define CLI_STUDY_H

#include "console.h"

#include <sys/types.h>

enum { CHILD_WHY = 256 };

/* A command that runs. */
struct child {
    pid_t pid;
    char log[4096];      /* what it said */
    char why[CHILD_WHY]; /* why it failed; "" when it did not */
    double next;         /* when a signal goes to it again */
    bool stopped;        /* by a signal that came to this program */
};

/* Starts it; why[0] != 0 says that it could not. Then child_poll until it says that it is over:
 * that passes signals on, to all that it started. child_end tells whether the study stops. */
shoal_status child_begin(struct child *c, const struct shoal_study_run *run, bool self);
bool child_poll(struct child *c);
shoal_status child_end(const struct child *c);
void child_nap(void); /* between two polls */

/* Runs a command until it ends; why[0] != 0 says how it failed. What it says goes to log.txt in
 * the run's folder. `self`: this very program with these words; otherwise the first of them names
 * it. A signal that comes meanwhile is passed on, to all that it started, and the study stops. */
shoal_status child_run(const struct shoal_study_run *run, bool self, char why[CHILD_WHY]);

/* The same, and `look` is called every half second meanwhile. */
struct child_watch {
    void (*look)(void *user);
    void *user;
};
shoal_status child_run_watched(const struct shoal_study_run *run, bool self,
                               const struct child_watch *watch, char why[CHILD_WHY]);

/* Runs what predictions for the cluster ask for, so many at a time: their time is simulated, so
 * none disturbs another. Where SimGrid is not installed it says so and runs nothing. */
shoal_status study_simulate(struct console *c, shoal_study *study,
                            const struct shoal_cluster *cluster, size_t jobs);

#endif
