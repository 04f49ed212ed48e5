/* Which command starts the ranks, and how often.
 *
 * A job whose rank was lost is started again, `restarts` times at most, from the last checkpoint
 * or, if there is none yet, from the beginning. Lost means: the process died by a signal, its host
 * is out of reach, or the launcher failed without a word of ours. A failure that the ranks agreed
 * on (a bad option, a full disk) would only come again, so it ends the job; so does the user's
 * signal. A try that ended within QUICK_S is followed by a pause that doubles each time. */
#include "launch.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef SHOAL_LAUNCHER
#define SHOAL_LAUNCHER "" /* this build has no MPI */
#endif

#define FLAGS_MOST 64        /* words that are the launcher's own */
#define EAGER_LIMIT "270336" /* bytes: 264 KiB */

enum {
    QUICK_S = 10,      /* a try that ended sooner never came to work */
    PAUSE_MOST_S = 60, /* between two tries */
};

extern char **environ;

/* ---- Were we launched? ---------------------------------------------------------------- */

/* Of the first of these variables that holds a number. */
static bool first_number(const char *const *names, unsigned *n)
{
    for (; *names; names++) {
        const char *text = getenv(*names);

        if (text && sscanf(text, "%u", n) == 1)
            return true;
    }
    return false;
}

unsigned launched_rank(void)
{
    unsigned n = 0;

    first_number((const char *const[]){"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", NULL}, &n);
    return n;
}

unsigned launched_size(void)
{
    unsigned n;

    if (first_number((const char *const[]){"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL}, &n))
        return n;
    /* srun --mpi=pmix sets the rank in PMIX_RANK, and the number of ranks in its own variables. */
    if (getenv("PMIX_RANK") &&
        first_number((const char *const[]){"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", NULL}, &n))
        return n;
    return getenv("PMIX_RANK") || getenv("PMI_RANK");
}

/* Only in a step of srun, which the shell of a batch script is not. */
unsigned launched_separately(void)
{
    unsigned n;

    if (launched_size() > 0 || !getenv("SLURM_STEP_ID") ||
        !first_number((const char *const[]){"SLURM_STEP_NUM_TASKS", NULL}, &n))
        return 0;
    return n > 1 ? n : 0;
}

bool launch_needed(const struct launch_opts *opts)
{
    return launched_size() == 0 && (opts->ranks > 1 || opts->hosts || opts->restarts > 0);
}

/* ---- Words of a command ------------------------------------------------------------------ */

struct command {
    char **at; /* [n], then a NULL */
    size_t n, cap;
};

__attribute__((format(printf, 2, 3))) static void add(struct command *c, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    if (c->n + 1 >= c->cap || vasprintf(&c->at[c->n], fmt, args) < 0)
        exit(console_fail("out of memory for a command"));
    va_end(args);
    c->n++;
}

static void add_words(struct command *c, const char *const *words)
{
    for (; *words; words++)
        add(c, "%s", *words);
}

static void command_fini(struct command *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->at[i]);
    free(c->at);
}

/* ---- The launcher ------------------------------------------------------------------------- */

static const char *launcher(void)
{
    const char *given = getenv(MPIRUN_VARIABLE);

    return given && *given ? given : SHOAL_LAUNCHER;
}

/* By its name, or else as the build found it. */
static bool is_mpich(const char *path)
{
    const char *name = basename(path);

    if (strstr(name, "openmpi"))
        return false;
    return strstr(name, "mpich") || strstr(name, "hydra") || strcmp(SHOAL_MPI_NAME, "mpich") == 0;
}

static unsigned ranks_of(const struct launch_opts *opts)
{
    if (opts->ranks > 0)
        return opts->ranks;
    return opts->hosts ? hosts_slots(opts->hosts) : 1;
}

static void add_hosts(struct command *c, const struct launch_opts *opts, const char *list_flag,
                      const char *file_flag)
{
    char *list;

    if (hosts_in_file(opts->hosts)) {
        add_words(c, (const char *const[]){file_flag, opts->hosts, NULL});
        return;
    }
    list = hosts_with_slots(opts->hosts, ranks_of(opts));
    add_words(c, (const char *const[]){list_flag, list, NULL});
    free(list);
}

/* Ranks on other hosts get our variables too. */
static void add_environment(struct command *c)
{
    for (char **at = environ; *at && c->n + 3 < FLAGS_MOST; at++) {
        size_t len = strcspn(*at, "=");

        if (strncmp(*at, "SHOAL_", 6) != 0 || strncmp(*at, MPIRUN_VARIABLE "=", len + 1) == 0)
            continue;
        add(c, "-x");
        add(c, "%.*s", (int)len, *at);
    }
}

/* Over TCP, Open MPI sends messages of up to 64 KiB eagerly; for larger ones it asks the receiver
 * first (rendezvous protocol), and the answer queues behind what flows the other way. Our messages
 * have 256 KiB and a header at most, but for rare ones, so we raise the limit to that. Also without
 * --hosts, since a batch system may give us several. A limit that the user set stays. */
static void add_eager_limit(struct command *c)
{
    if (!getenv("OMPI_MCA_btl_tcp_eager_limit"))
        add_words(c, (const char *const[]){"--mca", "btl_tcp_eager_limit", EAGER_LIMIT, NULL});
}

/* Ranks that wait yield their core; TCP keepalive notices within seconds that the link to a host
 * is cut; and root may run it, which Open MPI refuses otherwise. */
static void add_openmpi(struct command *c, const struct launch_opts *opts)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    add_words(
        c, (const char *const[]){"--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", NULL});
    add_eager_limit(c);
    if (opts->hosts) {
        add_hosts(c, opts, "--host", "--hostfile");
        add_words(c, (const char *const[]){"--mca", "oob_tcp_keepalive_time", "2", "--mca",
                                           "oob_tcp_keepalive_intvl", "1", "--mca",
                                           "oob_tcp_keepalive_probes", "3", NULL});
    }
    if (opts->hosts ? ranks_of(opts) > hosts_slots(opts->hosts) && hosts_in_file(opts->hosts)
                    : (long)ranks_of(opts) > cores)
        add(c, "--oversubscribe");
    if (geteuid() == 0) {
        setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
        setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
    }
    add_environment(c);
}

static void add_launcher(struct command *c, const struct launch_opts *opts)
{
    const char *path = launcher();

    add(c, "%s", path);
    add(c, "-n");
    add(c, "%u", ranks_of(opts));
    if (!is_mpich(path))
        add_openmpi(c, opts);
    else if (opts->hosts)
        add_hosts(c, opts, "-hosts", "-f");
}

/* ---- The ranks ------------------------------------------------------------------------------ */

/* By the path of this very program: PATH may lead to another one. */
static void add_program(struct command *c, const struct verb *verb)
{
    char *path = realpath("/proc/self/exe", NULL);
    char *words = strdup(verb->name), *rest = words, *word;

    add(c, "%s", path ? path : "shoal");
    strsep(&rest, " ");
    while ((word = strsep(&rest, " ")) != NULL)
        add(c, "%s", word);
    free(words);
    free(path);
}

/* Options for the launching program alone. */
static bool is_ours(const struct given *given)
{
    static const char *const names[] = {"ranks", "hosts", "restarts"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(given->opt->name, names[i]) == 0)
            return true;
    return false;
}

static void add_given(struct command *c, const struct given *given)
{
    if (given->value)
        add(c, "--%s=%s", given->opt->name, given->value);
    else
        add(c, "--%s%s", given->on ? "" : "no-", given->opt->name);
}

/* The checkpoint knows what decides the result, and the data; the rest is said again. */
static bool in_checkpoint(const struct given *given)
{
    return given->opt->decides || strcmp(given->opt->name, "resume") == 0 ||
           strcmp(given->opt->name, "checkpoint") == 0;
}

static void add_ranks(struct command *c, const struct launch *l, bool resume)
{
    const struct parsed *p = l->parsed;

    add_program(c, resume ? l->resumed : l->verb);
    if (resume) {
        add(c, "--resume=%s", l->folder);
        add(c, "--trust"); /* the checkpoint is this run's own */
    }
    for (size_t i = 0; i < p->ngiven; i++)
        if (!is_ours(&p->given[i]) && !(resume && in_checkpoint(&p->given[i])))
            add_given(c, &p->given[i]);
    if (p->nargs > 0 && !resume)
        add(c, "--");
    for (size_t i = 0; i < p->nargs && !resume; i++)
        add(c, "%s", p->args[i]);
}

static struct command command_of(const struct launch *l, bool resume)
{
    struct command c = {.cap = FLAGS_MOST + 16 + l->parsed->ngiven + l->parsed->nargs};

    c.at = console_alloc(c.cap * sizeof *c.at);
    add_launcher(&c, l->opts);
    add_ranks(&c, l, resume);
    return c;
}

/* ---- Tries ----------------------------------------------------------------------------------- */

/* What the ranks said goes before what the launcher gives: the code of whichever rank it saw
 * end first, the signal by which it ended the rest, or that by which we ended it. MPICH gives
 * the bare number of a signal; Open MPI has numbers beyond all signals for hosts out of reach. */
static int code_of(int code, const struct launch_output *out)
{
    int own = launch_output_code(out);

    if (code != EXIT_DONE && own != EXIT_DONE)
        return own;
    if (is_mpich(launcher()) && code > EXIT_PEER && code < 32)
        return code + EXIT_SIGNAL;
    return code > EXIT_SIGNAL + SIGRTMAX ? EXIT_PEER : code;
}

/* A failure that the ranks agreed on would only come again. */
static bool was_lost(const struct launch_end *end, const struct launch_output *out)
{
    if (end->stopped || end->code == EXIT_DONE || end->code == EXIT_USAGE)
        return false;
    return end->code == EXIT_PEER || end->code > EXIT_SIGNAL || out->failures.len == 0;
}

static bool has_checkpoint(const char *folder)
{
    struct shoal_checkpoint last;

    return folder && shoal_checkpoint_read(&last, folder) == SHOAL_OK;
}

static struct launch_end try_once(const struct launch *l, struct launch_output *out, bool resume)
{
    struct command c = command_of(l, resume);
    struct launch_end end;

    memset(out, 0, sizeof *out);
    out->launcher = basename(launcher());
    end = launch_watch(c.at, out, l);
    end.code = end.stopped ? EXIT_SIGNAL + end.stopped : code_of(end.code, out);
    command_fini(&c);
    return end;
}

/* Exponential backoff: a try that ended at once is followed by a pause that doubles each time, in
 * which a host may come back. */
static void wait_longer(unsigned *pause, double lasted)
{
    *pause = lasted > QUICK_S ? 0 : *pause == 0 ? 1 : 2 * *pause;
    if (*pause > PAUSE_MOST_S)
        *pause = PAUSE_MOST_S;
    sleep(*pause);
}

/* A new run refuses a folder with the checkpoint of another run: then no restart may resume it. */
static unsigned restarts_of(const struct launch *l)
{
    bool other = !opts_given(l->parsed, "resume") && has_checkpoint(l->folder);

    return other ? 0 : l->opts->restarts;
}

/* Tries until one does not lose a rank, or there were enough. */
static struct launch_end tries(const struct launch *l, struct launch_output *out)
{
    unsigned restarts = restarts_of(l), pause = 0;
    struct console console;
    struct launch_end end;
    bool resume = false;

    for (unsigned i = 1;; i++) {
        char reason[SHOAL_SENTENCE];

        console_init(&console, false, NULL);
        end = try_once(l, out, resume);
        if (i > restarts || !was_lost(&end, out))
            return end;
        resume = has_checkpoint(l->folder);
        launch_output_reason(reason, out, end.code);
        console_warn(&console, "%s; restart %u of %u from %s", reason, i, restarts,
                     resume ? l->folder : "the beginning");
        wait_longer(&pause, console_seconds(&console));
        if (signal_received())
            break;
    }
    out->failures.len = 0; /* it was told already */
    return (struct launch_end){EXIT_SIGNAL + signal_received(), signal_received()};
}

/* Ranks draw their progress line through our pipe: tell them how wide the terminal is. */
static void tell_screen(void)
{
    char columns[24];

    snprintf(columns, sizeof columns, "%zu", screen_columns());
    if (strcmp(columns, "0") != 0)
        setenv(SCREEN_VARIABLE, columns, 1);
}

int launch(const struct launch *l)
{
    struct launch_end end;
    struct launch_output *out;

    if (!*launcher())
        return console_fail("several ranks need MPI, which this build does not have: install "
                            "libopenmpi-dev and openmpi-bin, and build anew");
    tell_screen();
    out = console_alloc(sizeof *out);
    end = tries(l, out);
    if (end.stopped && out->failures.len == 0)
        console_fail("stopped by a signal (%s)", strsignal(end.stopped));
    else
        launch_output_print(out, end.code);
    free(out);
    return end.code;
}
