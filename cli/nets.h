/* nets: what the verbs of nets share.
 *
 * What this is: the options that every net is trained with, what the user sees of it,
 * and how a run that was stopped goes on (train_net.c); the options by which samples
 * are read (samples.c).
 * Who owns what: a net_job is a job (train.h); the rest is borrowed from the command
 * line. */
#ifndef CLI_NETS_H
#define CLI_NETS_H

#include "train.h"

/* ---- train_net.c: training ------------------------------------------------------------ */

struct net_cmd {
    struct shoal_net_opts train;
    struct ranks_opts ranks;
    struct work_opts work;
    const char *output, *resume, *watch;
    bool profile;
};

extern const struct opt net_training_opts[], net_machine_opts[], net_run_opts[]; /* on net_cmd */
extern const struct opt net_output_opts[];

/* Groups of every verb that trains a net; `at` is where struct net_cmd lies in its own. */
#define NET_GROUPS(where)                                                                          \
    {"Training", net_training_opts, .at = where}, {"Machine", net_machine_opts, .at = where},      \
        {"Checkpoints and metrics", net_run_opts, .at = where},                                    \
        {"Several ranks", ranks_opts, .at = (where) + offsetof(struct net_cmd, ranks)},            \
        {"General", work_opts, .at = (where) + offsetof(struct net_cmd, work)}

struct net_job {
    struct job job;
    struct shoal_net_opts train;
    const char *unit; /* of samples: "samples", "windows" */
    char *command;    /* remembered */
    size_t command_len;
};

void net_defaults(struct net_cmd *cmd, const struct shoal_net_opts *train);
/* Gives EXIT_DONE, or EXIT_USAGE after its sentence. */
int net_check(const struct verb *verb, const struct net_cmd *cmd);
/* Joins the ranks and fills job->train from the command line. */
shoal_status net_job_begin(struct net_job *job, const struct net_cmd *cmd, const char *unit);
int net_job_leave(struct net_job *job, shoal_status st);
/* For the verb's `elsewhere`. */
bool net_elsewhere(const struct verb *verb, const struct net_cmd *cmd, const struct parsed *parsed,
                   int *code);

void net_view_plan(struct net_job *job, const struct shoal_net_plan *plan);
/* For shoal_net_opts.report; `user` is the job. */
bool net_view_report(void *user, const struct shoal_net_report *report);
void net_view_result(struct net_job *job, const struct shoal_net_plan *plan,
                     const struct shoal_net_stats *stats);

/* What is said anew of a run that goes on; NULL and 0: as its checkpoint remembers. */
struct net_again {
    const char *folder; /* of the checkpoint */
    const char *output, *metrics, *watch;
    unsigned threads;
    bool quiet, trust;
};

/* Whether the folder holds a run of a net; it then went on, and *code is its exit code. */
bool net_resume(const struct net_again *again, int *code);
/* The words of this very command, for net_job_begin. */
void command_note(int argc, char **argv);

extern const struct verb train_mlp, train_nextword, train_vgg;

/* ---- samples.c: how they are read --------------------------------------------------- */

struct samples_cmd {
    enum shoal_header header;
    uint32_t label, targets; /* label: from 1; 0: the last */
    const char *labels;
};

extern const struct opt samples_opts[]; /* on struct samples_cmd */

void samples_defaults(struct samples_cmd *cmd);
struct shoal_samples_opts samples_reading(const struct samples_cmd *cmd, enum shoal_task task);

#endif
