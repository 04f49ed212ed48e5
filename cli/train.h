/* train: what the files behind `shoal train` share.
 *
 * What this is: one training job from the command line to the file, of whatever task the
 * library has: the verbs and what they do (cmd_train.c), where a run that goes on may write
 * (train_resume.c), what the user sees (train_show.c, train_profile.c, train_watch.c), and how
 * several ranks do it together (train_ranks.c).
 * Who owns what: a job owns its options, its data and what it copied of them; job_fini ends
 * them. The rest is borrowed from the command line. */
#ifndef CLI_TRAIN_H
#define CLI_TRAIN_H

#include "cmd.h"
#include "launch.h"

/* What the command line says, of any task. */
struct train_cmd {
    const struct verb *verb;
    const struct shoal_task *task; /* NULL: that of the checkpoint */
    const struct parsed *parsed;
    const char *resume, *config;
    bool trust;
    struct launch_opts launch;
    struct work_opts work;
    const char *any; /* what the task alone can read */
    /* What the task's own options are read into: whether they make sense is known before
     * anything is done. The library is told them by name. */
    union {
        max_align_t align;
        char at[4096];
    } fields;
};

enum { LOSS_HISTORY = 16 };

struct loss_history {
    double at[LOSS_HISTORY];
    size_t n;
    size_t every, seen; /* reports in a value; since the last change of that */
};

struct job {
    const struct train_cmd *cmd;
    struct console console;
    shoal_ranks *ranks; /* whom this process joined */
    shoal_options *options;
    const struct shoal_task *task;
    shoal_data *data;
    char *output, *folder;     /* of checkpoints, or NULL */
    struct watching *watching; /* train_watch.c */
    bool training;             /* has begun */
    struct shoal_report last;  /* epochs is 0 before the first */
    struct loss_history losses; /* train_show.c */
};

/* ---- cmd_train.c ---------------------------------------------------------------------- */

/* Makes the verbs of the library's tasks: once, at the start. */
void train_make_verbs(void);
/* The value of an option, valid until the next is asked for; or NULL. */
const char *job_value(const struct job *job, const char *name);

/* ---- train_ranks.c -------------------------------------------------------------------- */

/* Joins whoever was launched with this process, before anything is printed: only
 * the first of them will be heard. */
shoal_status job_join(struct job *job);
bool job_first(const struct job *job);
/* Ends the job, with what all agreed on: prints it and gives the exit code. */
int job_leave(struct job *job, shoal_status st);
void job_fini(struct job *job);

/* ---- train_resume.c: where a run that goes on may write --------------------------------- */

enum { WRITES_MOST = 8 };

/* The files that a run writes to. */
struct writes {
    struct write {
        const char *option;
        char *path; /* or NULL */
        bool again; /* named on this command line */
    } at[WRITES_MOST];
    size_t n;
};

/* What the checkpoint remembers; end it with writes_fini. */
void writes_note(struct writes *w, const struct job *job);
/* What was named since, on the command line or in its file. */
void writes_again(struct writes *w, const struct job *job);
/* Whether any that was not named again may not be written without a word: it is outside
 * of the current folder, hidden, or leads elsewhere. */
bool writes_refused(const struct writes *w);
/* Says what will be written, or fails with what to type. */
shoal_status writes_allow(const struct writes *w, struct job *job);
void writes_fini(struct writes *w);

/* ---- train_watch.c -------------------------------------------------------------------- */

/* Shows the report of the run where --watch says, if it does, by rank 0; the run then has
 * metrics, beside the output if nobody named a file. The caller agrees on the result. */
shoal_status job_watch(struct job *job);
void job_unwatch(struct job *job);

/* ---- train_show.c --------------------------------------------------------------------- */

void job_show_data(struct job *job);
void job_show_plan(struct job *job, const struct shoal_train_plan *plan);
/* For shoal_train_how.report; `user` is the job. */
bool job_show_report(void *user, const struct shoal_report *report);
void job_show_result(struct job *job, const struct shoal_train_plan *plan,
                     const struct shoal_train_stats *stats);
/* A word as a shell would take it, for free(). */
char *shell_word(const char *word);
/* A job that did not end: what happened, and what is left of it. Both give the
 * exit code. */
int job_show_stopped(struct job *job);
int job_show_failed(struct job *job, shoal_status status);

/* ---- train_profile.c ------------------------------------------------------------------ */

/* Where the time went. */
void profile_show(struct console *c, const struct shoal_profile *p);
/* What each rank spent on a step. */
void profile_show_steps(struct console *c, const struct shoal_profile *p, uint64_t steps);

#endif
