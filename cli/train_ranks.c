/* A training job of several ranks: how they join, agree, speak and leave. Alone it is a job
 * like any other. */
#include "train.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
    HEAR_OUT_S = 15, /* for the rank that speaks to print its failure, on a busy machine too */
    SILENT_S = 10,   /* what --silent-after is by default */
    SLOWER = 6       /* so much longer than for a sign of life is waited where there is none */
};

/* ---- Where MPI waits for all --------------------------------------------------------------- */

/* While ranks join and leave, MPI waits without end for one that stands still, and no message
 * can ask for it. So an alarm ends those that wait: the launcher then ends all. */

static char waited[SHOAL_SENTENCE];

static void give_up(int number)
{
    (void)number;
    if (write(STDERR_FILENO, waited, strlen(waited)) < 0)
        _exit(EXIT_FAILED);
    _exit(EXIT_PEER);
}

/* How long for a sign of life, as --silent-after has it; 0: for ever. */
static double silent_after(const struct job *job)
{
    const struct given *given = opts_given(job->cmd->parsed, "silent-after");
    const char *text = job->options ? job_value(job, "silent-after") : given ? given->value : NULL;
    double number = 0;
    char unit = 's';

    if (!text)
        return SILENT_S;
    sscanf(text, "%lf%c", &number, &unit);
    return number * (unit == 'h' ? 3600 : unit == 'm' ? 60 : 1);
}

/* From here on this rank waits until all the others `what`. */
static void wait_begin(const struct job *job, const char *what)
{
    unsigned seconds = (unsigned)(SLOWER * silent_after(job) + 0.5);
    struct utsname host;

    if (launched_size() < 2 || seconds == 0 || uname(&host) != 0)
        return;
    snprintf(waited, sizeof waited, "shoal: rank %u on %s waited %u s for others to %s\n",
             launched_rank(), host.nodename, seconds, what);
    signal(SIGALRM, give_up);
    alarm(seconds);
}

static void wait_end(void)
{
    alarm(0);
}

/* ---- Joining, speaking, leaving ---------------------------------------------------------- */

bool job_first(const struct job *job)
{
    return shoal_ranks_rank(job->ranks) == 0;
}

shoal_status job_join(struct job *job)
{
    shoal_status st;

    wait_begin(job, "start");
    st = shoal_ranks_join(&job->ranks);
    wait_end();
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
    wait_begin(job, "end");
    job_fini(job);
    /* All ranks agreed on any other end, so all come here. */
    if (st != SHOAL_EPEER)
        shoal_ranks_leave(ranks, SHOAL_OK);
    wait_end();
    return code;
}
