/* A training job of several ranks: how they join, agree, speak and leave. Alone it is a job
 * like any other. */
#include "train.h"

#include <stdlib.h>
#include <unistd.h>

enum { HEAR_OUT_S = 15 }; /* for the rank that speaks to print its failure, on a busy machine too */

bool job_first(const struct job *job)
{
    return shoal_ranks_rank(job->ranks) == 0;
}

shoal_status job_join(struct job *job)
{
    shoal_status st = shoal_ranks_join(&job->ranks);

    if (st == SHOAL_OK)
        console_mute(!job_first(job));
    console_init(&job->console, job->cmd->work.quiet, NULL);
    if (launched_separately() > 0)
        console_warn(&job->console,
                     "srun started %u of these and each trains alone; together: srun --mpi=pmix",
                     launched_separately());
    return st;
}

/* Rank 0 speaks for all; when it is itself the one that is gone, rank 1. The
 * others wait, for a launcher ends all as soon as one fails. */
static void let_speak(const struct job *job)
{
    unsigned gone, speaker = sscanf(shoal_error(), "rank %u on ", &gone) == 1 && gone == 0;
    bool silent = shoal_ranks_rank(job->ranks) != speaker;

    console_mute(silent);
    if (silent)
        sleep(HEAR_OUT_S);
}

static int say(struct job *job, shoal_status st)
{
    if (st == SHOAL_EPEER)
        let_speak(job);
    if (st == SHOAL_OK)
        return console_finish(&job->console, st);
    return st == SHOAL_ESTOP ? job_show_stopped(job) : job_show_failed(job, st);
}

void job_fini(struct job *job)
{
    job_unwatch(job);
    shoal_data_close(job->data);
    shoal_options_free(job->options);
    free(job->output);
    free(job->folder);
}

int job_leave(struct job *job, shoal_status st)
{
    shoal_ranks *ranks = job->ranks;
    int code = say(job, st);

    /* A rank may stand still at the very end: who leaves without asking could only end all, and
     * name nobody. */
    if (st == SHOAL_OK && shoal_ranks_agree(ranks, SHOAL_OK) == SHOAL_EPEER) {
        st = SHOAL_EPEER;
        code = say(job, st);
    }
    fflush(stdout);
    job_fini(job);
    /* All ranks agreed on any other end, so all come here. */
    if (st != SHOAL_EPEER)
        shoal_ranks_leave(ranks, SHOAL_OK);
    return code;
}
