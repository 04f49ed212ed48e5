/* train: what the files behind `shoal train` share.
 *
 * What this is: one training job from the command line to the file: where its
 * corpus comes from (train_corpus.c), what the user sees of it (train_view.c),
 * and the verbs (cmd_train.c).
 * Who owns what: a job owns its corpus, suites and copies of paths; job_fini ends
 * them. The rest is borrowed from the command line. */
#ifndef CLI_TRAIN_H
#define CLI_TRAIN_H

#include "cmd.h"

enum { JOB_PATHS = 8, JOB_EVALS = 16 };

struct job {
    struct console console;
    struct shoal_train_opts train;
    struct shoal_encode_opts encode; /* for text */
    struct shoal_save_opts save;
    const char *vocab_path; /* or NULL */
    const char *output;
    shoal_corpus *corpus;
    struct shoal_report last; /* epochs is 0 before the first */
    shoal_eval *evals[JOB_EVALS]; /* [train.nevals] */
    char *paths[JOB_PATHS];
    size_t npaths;
};

/* ---- train_corpus.c: each gives an exit code, after its sentence if not 0 ------- */

/* Text is encoded into a temporary corpus beside the output, or into the
 * checkpoint folder of a new run, where it stays for whoever resumes. */
int job_open_inputs(struct job *job, const char *const *inputs, size_t ninputs);
/* The corpus that the checkpoint remembers. */
int job_open_remembered(struct job *job);
/* Can the output be written when all is done? */
int job_check_output(const struct job *job);
/* The path as it is for any working folder; lives as long as the job. */
const char *job_absolute(struct job *job, const char *path);
void job_fini(struct job *job);

/* ---- train_view.c ------------------------------------------------------------------ */

void view_plan(struct job *job, const struct shoal_train_plan *plan);
/* For shoal_train_opts.report; `user` is the job. */
bool view_report(void *user, const struct shoal_report *report);
void view_result(struct job *job, const struct shoal_train_plan *plan,
                 const struct shoal_train_stats *stats);
/* A run that did not end: what happened, and what is left of it. Both give the
 * exit code. */
int view_stopped(struct job *job);
int view_failed(struct job *job, shoal_status status);

#endif
