/* launch: several ranks from one command.
 *
 * What this is: `shoal train --ranks 4` starts the launcher of its MPI library
 * with the same verb and options, watches over it, and starts it again from the
 * last checkpoint when a rank was lost.
 *
 *     shoal train --ranks 4       launch.c        which command, how often
 *        |  pipes, signals        launch_watch.c  one try, and what it left behind
 *     mpirun -n 4                 launch_output.c   what it prints, less its chatter
 *        |                        launch_hosts.c  where
 *     shoal shoal shoal shoal
 *
 * Who owns what: everything is borrowed for the length of a call.
 * Threads: one. */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include "console.h"
#include "opts.h"

#include <sys/types.h>

#define MPIRUN_VARIABLE "SHOAL_MPIRUN" /* names another launcher than the build's */

struct launch_opts {
    unsigned ranks;    /* 0: one, or one for each host */
    const char *hosts; /* or NULL: this one */
    unsigned restarts;
};

/* ---- launch.c ---------------------------------------------------------------------- */

/* By the environment alone: how many were started together, 0 when this one was
 * started by no launcher, and which of them this is. */
unsigned launched_size(void);
unsigned launched_rank(void);

/* How many tasks srun started without telling them of each other; else 0. */
unsigned launched_separately(void);

/* Whether a launcher is to be started for these. */
bool launch_needed(const struct launch_opts *opts);

struct launch {
    const struct verb *verb;
    const struct parsed *parsed; /* what `verb` was given */
    const struct verb *resumed;  /* takes --resume and goes on alone from that */
    const struct launch_opts *opts;
    const char *folder; /* of checkpoints; NULL: none */
    bool data_in;       /* standard input carries data: otherwise it is left alone */
    bool data_out;      /* standard output carries the data */
};

/* Gives the exit code. */
int launch(const struct launch *l);

/* ---- launch_hosts.c ----------------------------------------------------------------- */

/* Whether they are named by a file, not by a list. */
bool hosts_in_file(const char *hosts);
/* Ranks that they take together: one each, or as many as stands with them. */
unsigned hosts_slots(const char *hosts);
/* Of a list: "a,b" as "a:3,b:2", so that the hosts share the ranks evenly; where one says
 * itself how many it takes, so do all. For free(). */
char *hosts_with_slots(const char *hosts, unsigned ranks);
/* False: `why` says what is wrong with them. */
bool hosts_check(const struct launch_opts *opts, char why[SHOAL_SENTENCE]);

/* ---- launch_output.c ------------------------------------------------------------------ */

enum { LAUNCH_LINE = 4096, LAUNCH_KEPT = 1 << 16 };

/* Whole lines as they came; what is beyond the end is lost. */
struct launch_text {
    char at[LAUNCH_KEPT];
    size_t len;
};

/* What is kept until it is known how the job ended. */
struct launch_output {
    struct launch_text failures; /* of the ranks */
    struct launch_text chatter;  /* of the launcher */
    const char *launcher;        /* its name, as it begins its own lines */
};

/* One stream of the job. What is kept in neither goes on to `to` at once. */
struct launch_stream {
    struct launch_output *out;
    int from; /* the end of a pipe; -1: ended */
    int to;
    char line[LAUNCH_LINE]; /* begun and not yet gone on */
    size_t len;
    bool passed; /* its beginning went on already */
    bool block;  /* within a block that the launcher put between rules */
};

/* Reads what there is; closes the pipe at its end. */
void launch_stream_read(struct launch_stream *s);
/* Lets an unfinished line go on, such as one that is redrawn. */
void launch_stream_flush(struct launch_stream *s);
/* Closes the pipe and leaves no line unfinished. */
void launch_stream_close(struct launch_stream *s);
/* The exit code that goes with the ranks' failures; EXIT_DONE: there is none. A rank's own failure
 * goes before EXIT_PEER, which others give because they lost that rank. */
int launch_output_code(const struct launch_output *out);
/* What became of the job, in half a sentence without a full stop. */
void launch_output_reason(char reason[SHOAL_SENTENCE], const struct launch_output *out, int code);
/* Prints what was kept: the failures, or else what the launcher said. */
void launch_output_print(const struct launch_output *out, int code);

/* ---- launch_watch.c ----------------------------------------------------------------- */

struct launch_end {
    int code;    /* as a shell gives it */
    int stopped; /* the signal by which the user ended it; or 0 */
};

/* Runs a command until it ends, and everything it started; signals ask it to
 * stop, a second one ends it. */
struct launch_end launch_watch(char *const *command, struct launch_output *out,
                               const struct launch *l);

#endif
