/* study: the runs of `shoal study`, and those of its simulations.
 *
 * What this is: study_child.c starts a command and judges its end; study_simulate.c has
 * the trainer run under SimGrid.
 * Who owns what: everything is borrowed for the length of a call.
 * Threads: one. */
#ifndef CLI_STUDY_H
#define CLI_STUDY_H

#include "console.h"

#include <sys/types.h>

struct child {
    pid_t pid;
    char log[4096]; /* what it said */
    char why[256];  /* why it failed; "" when it did not */
    bool stopped;   /* by a signal that came to this program */
};

/* What it says goes to c->log. `self`: this very program with these words; otherwise the
 * first of them names it. */
bool child_start(struct child *c, const struct shoal_study_run *run, bool self);
/* A signal that comes meanwhile is passed on, to all that it started. */
void child_wait(struct child *c);
double study_now(void); /* seconds */

/* Runs what predictions for the cluster ask for; where SimGrid is not installed it says so
 * and runs nothing. */
shoal_status study_simulate(struct console *c, shoal_study *study,
                            const struct shoal_cluster *cluster);

#endif
