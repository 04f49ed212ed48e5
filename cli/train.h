/* train: what the files behind `shoal train` share.
 *
 * What this is: one training job from the command line to the file: where its
 * corpus comes from (train_corpus.c), what the user sees of it (train_view.c),
 * how several ranks do it together (train_ranks.c), and the verbs (cmd_train.c).
 * Who owns what: a job owns its corpus, suites and copies of paths; job_fini ends
 * them. The rest is borrowed from the command line. */
#ifndef CLI_TRAIN_H
#define CLI_TRAIN_H

#include "cmd.h"
#include "launch.h"

enum { JOB_PATHS = 8, JOB_EVALS = 16 };

struct job {
    struct console console;
    shoal_ranks *ranks; /* whom this process joined; train.ranks is NULL when alone */
    struct shoal_train_opts train;
    struct shoal_encode_opts encode; /* for text */
    struct shoal_clicks_opts read;   /* for clicks */
    struct shoal_save_opts save;
    const char *vocab_path; /* or NULL */
    const char *output;
    const char *statistics;       /* of nextword, or NULL */
    shoal_corpus *corpus;         /* or, of click models, */
    shoal_clicks *clicks, *valid; /* what to learn from, what is held out */
    bool profile;                 /* is to be shown */
    const char *watch;            /* an address, or NULL */
    struct watching *watching;    /* train_watch.c */
    bool training;                /* has begun */
    struct shoal_report last;     /* epochs is 0 before the first */
    shoal_eval *evals[JOB_EVALS]; /* [train.nevals] */
    char *paths[JOB_PATHS];
    size_t npaths;
};

/* ---- train_ranks.c ----------------------------------------------------------------- */

struct ranks_opts {
    struct launch_opts launch;
    struct sync_how {
        enum shoal_sync sync;
        unsigned staleness;
    } how;
    enum shoal_wire wire;
    unsigned servers;
    enum shoal_replica replica;
    bool local_input;
    double patience; /* seconds */
    struct {
        bool how, wire, servers, replica, local_input, patience;
    } given; /* the others stay as they are by default, or in a checkpoint */
};

extern const struct opt ranks_opts[]; /* on struct ranks_opts */

/* What the command line says, of any model. */
struct train_cmd {
    struct shoal_train_opts train;
    struct shoal_encode_opts encode;
    struct shoal_clicks_opts read;
    struct shoal_save_opts save;
    struct ranks_opts ranks;
    struct work_opts work;
    const char *output;
    const char *vocab_path;
    const char *resume;
    const char *evals;
    const char *watch;
    bool profile;
};

void ranks_defaults(struct ranks_opts *opts);
/* What was given. */
void ranks_apply(struct shoal_train_opts *train, const struct ranks_opts *opts);
/* Gives EXIT_DONE, or EXIT_USAGE after its sentence. `folder` is that of the
 * checkpoints, or NULL. */
int ranks_check(const struct verb *verb, const struct ranks_opts *opts, const char *folder);

/* Joins whoever was launched with this process, before anything is printed: only
 * the first of them will be heard. */
shoal_status job_join(struct job *job, bool quiet);
/* When the options and the output are known. */
void job_begin(struct job *job);
bool job_first(const struct job *job);
/* Before whatever all ranks do together: SHOAL_OK, or the same failure on all. */
shoal_status job_agree(struct job *job, shoal_status st);
/* Ends the job, with what all agreed on: prints it and gives the exit code. */
int job_leave(struct job *job, shoal_status st);

/* ---- train_corpus.c: the status is agreed on ---------------------------------------- */

/* Text is encoded into a temporary corpus beside the output, or into the
 * checkpoint folder of a new run, where it stays for whoever resumes. */
shoal_status job_open_inputs(struct job *job, const char *const *inputs, size_t ninputs);
/* The corpus that the checkpoint remembers. */
shoal_status job_open_remembered(struct job *job);
/* Can the output be written when all is done? Not agreed on. */
shoal_status job_check_output(const struct job *job);
/* The path as it is for any working folder; lives as long as the job. */
const char *job_absolute(struct job *job, const char *path);
/* The same for free(); NULL for NULL. */
char *job_absolute_copy(const char *path);
void job_fini(struct job *job);

/* ---- train_resume.c: where a run that goes on may write ------------------------------- */

enum { WRITES_MOST = 8 };

/* The files that a checkpoint remembers, or that were named again. */
struct writes {
    struct write {
        const char *option; /* by which `shoal train --resume` takes it; or NULL */
        const char *path;
        bool again; /* on this command line */
    } at[WRITES_MOST];
    size_t n;
    bool over; /* there were more */
};

/* A path that is NULL or "" is none. */
void writes_add(struct writes *w, const char *option, const char *path, bool again);
/* Whether any that was not named again may not be written without a word: it is outside
 * of the current folder, hidden, or leads elsewhere. */
bool writes_elsewhere(const struct writes *w);
/* Says what will be written, or fails with what to type. */
shoal_status writes_allow(const struct writes *w, struct console *c, const char *folder,
                          bool trust);
/* The same of what this job would leave behind in its checkpoint. */
bool job_writes_elsewhere(const struct job *job);

/* ---- train_watch.c -------------------------------------------------------------------- */

/* Shows the report of the run at job->watch, if there is one, by rank 0. *metrics is the
 * file that the run writes; it becomes one beside the output where there is none, and lives
 * until job_unwatch. Not agreed on. */
shoal_status job_watch(struct job *job, const char **metrics);
void job_unwatch(struct job *job);

/* ---- cmd_train.c -------------------------------------------------------------------- */

extern const struct opt machine_opts[], run_opts[]; /* on struct train_cmd */
extern const struct opt_custom train_share, train_every;

int train_run(const void *cmd, const char *const *args, size_t nargs);
bool train_elsewhere(const void *cmd, const struct parsed *parsed, int *code);

/* What one of a unit (s, m, h, %) is in seconds, or in shares; 0: no such. */
double unit_of(const char *name);

/* ---- train_logreg.c ------------------------------------------------------------------ */

extern const struct verb train_logreg;

bool job_clicks(const struct job *job); /* whether it trains a click model */
/* Plans, trains, saves. */
shoal_status job_run_logreg(struct job *job);
#define NO_OWN_ROWS                                                                               \
    "--local-input does not go with logreg, whose features are numbered over all rows; want "     \
    "inputs that every rank can read"
/* Text becomes rows in memory; SHOAL_ELIMIT when that is no place for them. */
shoal_status job_keep_clicks(struct job *job, const char *const *inputs, size_t ninputs);
/* Text becomes a file of clicks. */
shoal_status job_encode_clicks(struct job *job, const char *path, const char *const *inputs,
                               size_t ninputs);

/* ---- train_view.c ------------------------------------------------------------------ */

void view_plan(struct job *job, const struct shoal_train_plan *plan);
/* For shoal_train_opts.report; `user` is the job. */
bool view_report(void *user, const struct shoal_report *report);
void view_result(struct job *job, const struct shoal_train_plan *plan,
                 const struct shoal_train_stats *stats);
/* A word as a shell would take it, for free(). */
char *shell_word(const char *word);
/* A job that did not end: what happened, and what is left of it. Both give the
 * exit code. */
int view_stopped(struct job *job);
int view_failed(struct job *job, shoal_status status);

/* ---- train_profile.c ---------------------------------------------------------------- */

/* Where the time went. */
void view_profile(struct console *c, const struct shoal_profile *p);

#endif
