/* A training job of several ranks: its options, and how ranks join, agree, speak
 * and leave. Alone it is a job like any other. */
#include "train.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STALE_MOST = 1000000,
    HEAR_OUT_S = 15, /* for the rank that speaks to say its sentence, on a busy machine too */
};

/* ---- Values of its own ------------------------------------------------------------- */

static const struct {
    const char *name;
    bool counted; /* by a number behind a colon */
} syncs[] = {
    [SHOAL_ASYNC] = {"async", false},
    [SHOAL_BOUNDED] = {"bounded", true},
    [SHOAL_SYNC] = {"sync", false},
    [SHOAL_AVERAGE] = {"average", true},
};

/* ":16" of "bounded:16" */
static bool read_rounds(unsigned *n, const char *text)
{
    char *end;
    unsigned long value;

    if (text[0] != ':' || !isdigit((unsigned char)text[1]))
        return false;
    value = strtoul(text + 1, &end, 10);
    *n = (unsigned)value;
    return *end == '\0' && value >= 1 && value <= STALE_MOST;
}

static bool read_sync(void *field, const char *text)
{
    struct sync_how *how = field;

    for (unsigned i = 0; i < sizeof syncs / sizeof *syncs; i++) {
        size_t len = strlen(syncs[i].name);

        if (strncmp(text, syncs[i].name, len) != 0)
            continue;
        how->sync = i;
        if (i == SHOAL_BOUNDED && strcmp(text + len, ":0") == 0) {
            how->sync = SHOAL_SYNC; /* nobody is ahead */
            return true;
        }
        return syncs[i].counted ? read_rounds(&how->staleness, text + len) : text[len] == '\0';
    }
    return false;
}

static void show_sync(char text[OPT_VALUE], const void *field)
{
    const struct sync_how *how = field;

    if (syncs[how->sync].counted)
        snprintf(text, OPT_VALUE, "%s:%u", syncs[how->sync].name, how->staleness);
    else
        snprintf(text, OPT_VALUE, "%s", syncs[how->sync].name);
}

static const struct opt_custom sync_custom = {
    read_sync, show_sync,
    "async, bounded:ROUNDS, sync or average:ROUNDS, with 1 to 1000000 rounds"};

/* "10s", "2m" or "never", which is 0 */
static bool read_time(void *field, const char *text)
{
    char *end;
    double x = strtod(text, &end), value = *end == '%' ? 0 : x * unit_of(end);

    if (strcmp(text, "never") == 0) {
        *(double *)field = 0;
        return true;
    }
    if (end == text || !(value > 0 && value <= 1e6))
        return false;
    *(double *)field = value;
    return true;
}

static void show_time(char text[OPT_VALUE], const void *field)
{
    double seconds = *(const double *)field;

    if (seconds > 0)
        snprintf(text, OPT_VALUE, "%gs", seconds);
    else
        snprintf(text, OPT_VALUE, "never");
}

static const struct opt_custom time_custom = {read_time, show_time,
                                              "a time such as 10s or 2m, or never"};

/* ---- Options ---------------------------------------------------------------------------- */

#define ON(member) FIELD(struct ranks_opts, member)
#define NOTED(member) ON(member), .noted = offsetof(struct ranks_opts, given.member)

static const struct choice wire_choices[] = {
    [SHOAL_WIRE_F32] = {"f32", "as they are"},
    [SHOAL_WIRE_BF16] = {"bf16", "in half the bytes; what is lost travels next time"},
    {0},
};

static const struct choice replica_choices[] = {
    [SHOAL_REPLICA_AUTO] = {"auto", "all rows if they fit into memory"},
    [SHOAL_REPLICA_FULL] = {"full", "all rows"},
    [SHOAL_REPLICA_BLOCKS] = {"blocks", "its own rows, and of the others what a block of text "
                                        "needs"},
    {0},
};

const struct opt ranks_opts[] = {
    {"ranks", .kind = OPT_U64, ON(launch.ranks), .arg = "N", .u = {0, 1024},
     .help = "start so many processes that train together",
     .zero = "one, or one for each of --hosts, or as mpirun or srun say"},
    {"hosts", .kind = OPT_STRING, ON(launch.hosts), .arg = "LIST",
     .help = "on these machines: a,b or a:2,b:6 with how many on each, or a host file by its "
             "path, such as ./hosts; every machine has shoal in the same place"},
    {"restarts", .kind = OPT_U64, ON(launch.restarts), .arg = "N", .u = {0, 1000},
     .help = "when a rank is lost, start again from the last checkpoint, so many times at most"},
    {"sync", .kind = OPT_CUSTOM, NOTED(how), .arg = "HOW", .custom = &sync_custom,
     .help = "who waits for whom: async nobody, bounded:S who is more than S rounds ahead, sync "
             "all after each round; average:K averages whole models every K rounds"},
    {"wire", .kind = OPT_CHOICE, NOTED(wire), .arg = "TYPE", .choices = wire_choices,
     .help = "how rows travel"},
    {"servers", .kind = OPT_U64, NOTED(servers), .arg = "N", .u = {0, 1023},
     .help = "the last so many ranks only keep rows", .zero = "all keep rows and train"},
    {"replica", .kind = OPT_CHOICE, NOTED(replica), .arg = "HOW", .choices = replica_choices,
     .help = "what each rank holds of the model"},
    {"local-input", .kind = OPT_FLAG, NOTED(local_input),
     .help = "each rank reads inputs of its own, its part of the whole; {rank} in their names is "
             "its number"},
    {"silent-after", .kind = OPT_CUSTOM, NOTED(patience), .arg = "TIME", .custom = &time_custom,
     .help = "give up a rank of which nothing was heard for so long"},
    {0},
};

void ranks_defaults(struct ranks_opts *opts)
{
    struct shoal_train_opts train = shoal_train_default(SHOAL_CBOW);

    *opts = (struct ranks_opts){.how = {train.sync, train.staleness},
                                .wire = train.wire,
                                .servers = train.servers,
                                .replica = train.replica,
                                .local_input = train.local_input,
                                .patience = train.patience};
}

void ranks_apply(struct shoal_train_opts *train, const struct ranks_opts *opts)
{
    if (opts->given.how) {
        train->sync = opts->how.sync;
        train->staleness = opts->how.staleness;
    }
    if (opts->given.wire)
        train->wire = opts->wire;
    if (opts->given.servers)
        train->servers = opts->servers;
    if (opts->given.replica)
        train->replica = opts->replica;
    if (opts->given.local_input)
        train->local_input = opts->local_input;
    if (opts->given.patience)
        train->patience = opts->patience;
}

int ranks_check(const struct verb *verb, const struct ranks_opts *opts, const char *folder)
{
    unsigned launched = launched_size();
    const char *name = opts->launch.hosts ? "hosts" : opts->launch.restarts ? "restarts" : NULL;
    char why[OPT_TEXT];

    if (opts->launch.restarts > 0 && !folder)
        return usage(verb, "--restarts does not go without --checkpoint");
    if (launched > 0 && name)
        return usage(verb, "--%s does not go with ranks that are launched already", name);
    if (launched > 0 && opts->launch.ranks > 0 && opts->launch.ranks != launched)
        return usage(verb, "--ranks is %u, found %u launched", opts->launch.ranks, launched);
    if (opts->launch.hosts && !hosts_check(&opts->launch, why))
        return usage(verb, "%s", why);
    return EXIT_DONE;
}

/* ---- Joining and leaving ------------------------------------------------------------------- */

bool job_first(const struct job *job)
{
    return shoal_ranks_rank(job->ranks) == 0;
}

shoal_status job_join(struct job *job, bool quiet)
{
    shoal_status st = shoal_ranks_join(&job->ranks);

    if (st == SHOAL_OK)
        console_mute(!job_first(job));
    console_init(&job->console, quiet, NULL);
    if (launched_apart() > 0)
        console_warn(&job->console,
                     "srun started %u of these and each trains alone; together: srun --mpi=pmix",
                     launched_apart());
    return st;
}

void job_begin(struct job *job)
{
    console_init(&job->console, job->console.quiet, job->output);
    if (shoal_ranks_size(job->ranks) > 1)
        job->train.ranks = job->ranks;
    if (!job_first(job))
        job->train.metrics = NULL; /* one file, one writer */
}

shoal_status job_agree(struct job *job, shoal_status st)
{
    /* Who lost a rank can ask nobody. */
    return st == SHOAL_EPEER ? st : shoal_ranks_agree(job->ranks, st);
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
    return st == SHOAL_ESTOP ? view_stopped(job) : view_failed(job, st);
}

int job_leave(struct job *job, shoal_status st)
{
    shoal_ranks *ranks = job->ranks;
    int code = say(job, st);

    fflush(stdout);
    job_fini(job);
    /* All ranks agreed on any other end, so all come here. */
    if (st != SHOAL_EPEER)
        shoal_ranks_leave(ranks, SHOAL_OK);
    return code;
}
