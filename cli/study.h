/* study: the runs of `shoal study` and `shoal classic`, and those of simulations.
 *
 * What this is: study_child.c starts a command and judges its end; study_simulate.c has
 * the trainer run under SimGrid.
 * Who owns what: everything is borrowed for the length of a call.
 * Threads: one. */
#ifndef CLI_STUDY_H
#define CLI_STUDY_H

#include "console.h"

enum { CHILD_WHY = 256 };

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

/* Runs what predictions for the cluster ask for; where SimGrid is not installed it says so
 * and runs nothing. */
shoal_status study_simulate(struct console *c, shoal_study *study,
                            const struct shoal_cluster *cluster);

#endif
