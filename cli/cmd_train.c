/* shoal train: learn a model.
 *
 * The library's tasks become verbs, made at the start: `shoal train cbow` has the options of the
 * task cbow and, behind them, those of the program itself (launching, resuming). The parser reads
 * an option into a struct of its own (train_cmd.fields) only to check it; the library is then told
 * it by name, as text. `shoal train --resume DIR` names no task, so it offers the options of all
 * tasks at once: one that two tasks define differently is taken as any text, and the task of the
 * checkpoint judges it. */
#include "train.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TASKS_MOST = 16, GROUPS_MOST = 24, OPTIONS_MOST = 128 };

/* ---- What the command line has beside the task's options -------------------------------- */

#define ON(member) SHOAL_FIELD(struct train_cmd, member)

static const struct shoal_option launch_opts[] = {
    {"ranks", .type = SHOAL_TYPE_COUNT, ON(launch.ranks), .arg = "N", .u = {0, 1024},
     .help = "start so many processes that train together",
     .zero = "one, or one for each of --hosts, or as mpirun or srun say"},
    {"hosts", .type = SHOAL_TYPE_TEXT, ON(launch.hosts), .arg = "LIST",
     .help = "on these machines: a,b or a:2,b:6 with how many on each, or a host file by its "
             "path, such as ./hosts; every machine has shoal in the same place"},
    {"restarts", .type = SHOAL_TYPE_COUNT, ON(launch.restarts), .arg = "N", .u = {0, 1000},
     .help = "when a rank is lost, start again from the last checkpoint, so many times at most"},
    {0},
};

static const struct shoal_option again_opts[] = {
    {"resume", .type = SHOAL_TYPE_PATH, ON(resume), .arg = "DIR",
     .help = "go on from the last checkpoint of this folder"},
    {"trust", .type = SHOAL_TYPE_FLAG, ON(trust),
     .help = "write the files that the checkpoint names wherever they are, not only below this "
             "folder"},
    {"config", .type = SHOAL_TYPE_PATH, ON(config), .arg = "FILE",
     .help = "read options from this file, JSON or lines `name value`; those given here go before"},
    {0},
};

#define OWN_GROUPS                                                                                 \
    {"Starting ranks", launch_opts, .at = 0}, {"Going on", again_opts, .at = 0},                   \
    {                                                                                              \
        "General", work_opts, .at = offsetof(struct train_cmd, work)                               \
    }

static bool is_among(const struct shoal_option *list, const struct shoal_option *option)
{
    while (list->name && list != option)
        list++;
    return list->name;
}

/* Whether it is an option of the task, not of the program. */
static bool is_task_option(const struct shoal_option *option)
{
    return !is_among(launch_opts, option) && !is_among(again_opts, option) &&
           !is_among(work_opts, option);
}

/* ---- Options by name -------------------------------------------------------------------- */

const char *job_value(const struct job *job, const char *name)
{
    return shoal_options_get(job->options, name);
}

static char *copy_of(const char *text)
{
    char *copy = text ? strdup(text) : NULL;

    if (text && !copy)
        exit(console_fail("out of memory"));
    return copy;
}

/* First the file of --config, then the command line, which overrides it. A run that goes on keeps
 * its checkpoint folder. */
static shoal_status tell_options(struct job *job)
{
    const struct train_cmd *cmd = job->cmd;
    shoal_status st = cmd->config ? shoal_options_read(job->options, cmd->config) : SHOAL_OK;

    for (size_t i = 0; i < job->cmd->parsed->ngiven && st == SHOAL_OK; i++) {
        const struct given *given = &job->cmd->parsed->given[i];

        if (!is_task_option(given->opt))
            continue;
        st = shoal_options_set(job->options, given->opt->name,
                               given->value ? given->value
                               : given->on  ? "true"
                                            : "false");
    }
    if (st == SHOAL_OK && cmd->resume)
        st = shoal_options_set(job->options, "checkpoint", cmd->resume);
    return st == SHOAL_OK ? shoal_options_check(job->options) : st;
}

/* Checks of a new run what needs neither files nor other ranks. */
static shoal_status new_options(struct job *job)
{
    shoal_status st = shoal_options_new(&job->options, job->cmd->task->name);

    job->task = job->cmd->task;
    if (st == SHOAL_OK)
        st = tell_options(job);
    if (st == SHOAL_OK)
        st = shoal_data_check(job->options, job->cmd->parsed->args, job->cmd->parsed->nargs);
    return st;
}

/* The options of the checkpoint, changed by those that are given now. */
static shoal_status old_options(struct job *job)
{
    const struct train_cmd *cmd = job->cmd;
    struct writes w = {.n = 0};
    shoal_status st = shoal_options_resume(&job->options, cmd->resume);

    if (st != SHOAL_OK)
        return st;
    job->task = shoal_options_task(job->options);
    if (cmd->task && cmd->task != job->task)
        return shoal_fail(SHOAL_EINVAL, "%s: holds a run of %s, want one of %s", cmd->resume,
                          job->task->name, cmd->task->name);
    writes_note(&w, job);
    st = tell_options(job);
    writes_again(&w, job);
    if (st == SHOAL_OK && !job_value(job, "output"))
        st = shoal_fail(SHOAL_EINVAL, "%s remembers no output, want --output FILE", cmd->resume);
    if (st == SHOAL_OK && job_first(job))
        st = writes_allow(&w, job);
    writes_fini(&w);
    return st;
}

/* ---- Is it a job? ----------------------------------------------------------------------- */

/* Gives EXIT_DONE, or prints what is wrong and gives the exit code. */
static int check_ranks(const struct job *job)
{
    const struct launch_opts *opts = &job->cmd->launch;
    const struct verb *verb = job->cmd->verb;
    unsigned launched = launched_size();
    const char *name = opts->hosts ? "hosts" : opts->restarts ? "restarts" : NULL;
    char why[SHOAL_SENTENCE];

    if (opts->restarts > 0 && !job->folder)
        return usage(verb, "--restarts does not go without --checkpoint");
    if (launched > 0 && name)
        return usage(verb, "--%s does not go with ranks that are launched already", name);
    if (launched > 0 && opts->ranks > 0 && opts->ranks != launched)
        return usage(verb, "--ranks is %u, found %u launched", opts->ranks, launched);
    if (opts->hosts && !hosts_check(opts, why))
        return usage(verb, "%s", why);
    return EXIT_DONE;
}

static int check_required(const struct job *job)
{
    struct option_walk w = {0};
    char want[SHOAL_SENTENCE];

    while (option_next(job->task->groups, &w)) {
        if (!w.opt->required || job_value(job, w.opt->name))
            continue;
        shoal_option_want(want, w.opt);
        return usage(job->cmd->verb, "no --%s given, want %s", w.opt->name, want);
    }
    return EXIT_DONE;
}

/* A failure that names an option is a mistake of the command line: exit code 2. */
static int refused(const struct job *job)
{
    if (strncmp(shoal_error(), "--", 2) == 0)
        return usage(job->cmd->verb, "%s", shoal_error());
    return console_fail("%s", shoal_error());
}

static int check_new(struct job *job)
{
    int code;

    if (!opts_operands_complete(job->cmd->verb, job->cmd->parsed))
        return EXIT_USAGE;
    if (new_options(job) != SHOAL_OK)
        return refused(job);
    code = check_required(job);
    job->folder = copy_of(job_value(job, "checkpoint"));
    return code == EXIT_DONE ? check_ranks(job) : code;
}

static int check_again(struct job *job)
{
    const struct train_cmd *cmd = job->cmd;
    const struct given *folder = opts_given(cmd->parsed, "checkpoint");

    if (folder && strcmp(folder->value, cmd->resume) != 0)
        return usage(cmd->verb, "--checkpoint is '%s', want '%s' as --resume says", folder->value,
                     cmd->resume);
    job->folder = copy_of(cmd->resume);
    return check_ranks(job);
}

static int check(struct job *job)
{
    if (job->cmd->resume)
        return check_again(job);
    if (!job->cmd->task)
        return usage(job->cmd->verb, "found no MODEL and no --resume, want 'shoal train MODEL "
                                     "INPUT...' or 'shoal train --resume DIR'");
    return check_new(job);
}

/* ---- The job ---------------------------------------------------------------------------- */

/* Refuses, before training, an output that could not be written after it. */
static shoal_status check_output(const struct job *job)
{
    const char *slash = strrchr(job->output, '/');
    char *folder = slash ? strndup(job->output, (size_t)(slash - job->output) + 1) : copy_of(".");
    shoal_status st = SHOAL_OK;
    struct stat info;

    if (stat(job->output, &info) == 0 && S_ISDIR(info.st_mode))
        st = shoal_fail(SHOAL_EINVAL, "%s: is a folder, want a file name", job->output);
    else if (strcmp(job->output, "-") != 0 && (!folder || access(folder, W_OK | X_OK) != 0))
        st = shoal_fail(SHOAL_EIO, "%s: cannot be written: %.*s: %s", job->output,
                        slash && slash > job->output ? (int)(slash - job->output) : 1,
                        folder ? folder : "?", strerror(errno));
    free(folder);
    return st;
}

/* All ranks agree on the result: what one finds wrong ends all. */
static shoal_status prepare(struct job *job)
{
    shoal_status st = SHOAL_OK;

    if (job->cmd->resume)
        st = shoal_ranks_agree(job->ranks, old_options(job));
    if (st != SHOAL_OK)
        return st;
    job->output = copy_of(job_value(job, "output"));
    console_init(&job->console, job->console.quiet, job->output);
    if (job_first(job))
        st = check_output(job);
    if (st == SHOAL_OK)
        st = job_watch(job);
    return shoal_ranks_agree(job->ranks, st);
}

static shoal_status open_data(struct job *job)
{
    struct shoal_watch watch = console_watch(&job->console);
    struct shoal_checkpoint last;
    shoal_status st = shoal_data_open(&job->data, job->options, job->cmd->parsed->args,
                                      job->cmd->parsed->nargs, job->ranks, &watch);

    if (st == SHOAL_OK)
        job_show_data(job);
    if (st == SHOAL_OK && job->cmd->resume && job_first(job) &&
        shoal_checkpoint_read(&last, job->folder) == SHOAL_OK)
        console_log(&job->console, STYLE_PLAIN, "going on at %.1f %%", 100 * last.progress);
    return st;
}

static shoal_status train(struct job *job)
{
    shoal_ranks *ranks = shoal_ranks_size(job->ranks) > 1 ? job->ranks : NULL;
    struct shoal_train_how how = {.ranks = ranks, .report = job_show_report, .user = job};
    struct shoal_train_plan plan = {0};
    struct shoal_train_stats *stats = console_alloc(sizeof *stats);
    shoal_status st = shoal_train_plan(&plan, job->options, job->data, ranks);

    st = shoal_ranks_agree(ranks, st);
    if (st == SHOAL_OK) {
        job_show_plan(job, &plan);
        job->training = true;
        st = shoal_train(NULL, job->options, job->data, &how, stats);
    }
    if (st == SHOAL_OK && job_first(job))
        job_show_result(job, &plan, stats);
    free(stats);
    return st;
}

static shoal_status job_run(struct job *job)
{
    shoal_status st = job_join(job);

    if (st == SHOAL_OK)
        st = prepare(job);
    if (st == SHOAL_OK)
        st = open_data(job);
    return st == SHOAL_OK ? train(job) : st;
}

/* Whether a file to be read is "-". */
static bool reads_stdin(const struct parsed *p)
{
    bool reads = false;

    for (size_t i = 0; i < p->nargs; i++)
        reads |= strcmp(p->args[i], "-") == 0;
    for (size_t i = 0; i < p->ngiven; i++)
        reads |= p->given[i].opt->type == SHOAL_TYPE_PATH && !p->given[i].opt->written &&
                 strcmp(p->given[i].value, "-") == 0;
    return reads;
}

static int job_launch(const struct job *job)
{
    const struct given *output = opts_given(job->cmd->parsed, "output");

    return launch(&(struct launch){.verb = job->cmd->verb,
                                   .parsed = job->cmd->parsed,
                                   .resumed = &cmd_train,
                                   .opts = &job->cmd->launch,
                                   .folder = job->folder,
                                   .data_in = reads_stdin(job->cmd->parsed),
                                   .data_out = output && strcmp(output->value, "-") == 0});
}

static int train_run(const void *at, const char *const *args, size_t nargs)
{
    struct job job = {.cmd = at};
    int code = check(&job);

    (void)args;
    (void)nargs;
    if (code == EXIT_DONE && !launch_needed(&job.cmd->launch))
        return job_leave(&job, job_run(&job));
    if (code == EXIT_DONE && job.cmd->config && strcmp(job.cmd->config, "-") == 0)
        code = usage(job.cmd->verb, "--config is '-', want a file, which every rank can read");
    if (code == EXIT_DONE)
        code = job_launch(&job);
    job_fini(&job);
    return code;
}

/* ---- The verbs -------------------------------------------------------------------------- */

/* One for each task, made at the start. */
static struct made {
    char name[64];
    struct verb verb;
    struct operand operands[2];
    struct shoal_option_group groups[GROUPS_MOST];
    struct train_cmd initial;
    char *values[OPTIONS_MOST]; /* by default; initial.fields points to some */
} made[TASKS_MOST];

static const struct verb *kinds[TASKS_MOST + 1];

/* The options of all tasks, for `shoal train --resume`: those that every task has and that may
 * change; and the rest, which help does not show. Of these the ones that decide the result are
 * refused by the library, by name. */
static struct shoal_option anew[OPTIONS_MOST], rest[OPTIONS_MOST];

/* The task's options as they are by default. */
static void init_fields(struct made *m, const struct shoal_task *task)
{
    struct option_walk w = {0};
    shoal_options *o;

    if (shoal_options_new(&o, task->name) != SHOAL_OK)
        exit(console_fail("%s", shoal_error()));
    while (option_next(task->groups, &w)) {
        char **value = m->values + w.place;

        assert(w.place < OPTIONS_MOST);
        assert(w.group->at + w.opt->at + w.opt->size <= sizeof m->initial.fields);
        *value = copy_of(shoal_options_get(o, w.opt->name));
        if (*value)
            shoal_option_read(w.opt, m->initial.fields.at + w.group->at, *value);
    }
    shoal_options_free(o);
}

static void resume_defaults(void *at)
{
    struct train_cmd *cmd = at;

    *cmd = (struct train_cmd){.verb = &cmd_train, .fields = made[0].initial.fields};
}

static void make_groups(struct made *m, const struct shoal_task *task)
{
    static const struct shoal_option_group own[] = {OWN_GROUPS, {0}};
    size_t n = 0;

    for (const struct shoal_option_group *g = task->groups; g->options; g++) {
        assert(n < GROUPS_MOST);
        m->groups[n] = *g;
        m->groups[n++].at += offsetof(struct train_cmd, fields);
    }
    assert(n + sizeof own / sizeof *own <= GROUPS_MOST);
    memcpy(m->groups + n, own, sizeof own);
}

static void make_verb(struct made *m, const struct shoal_task *task)
{
    snprintf(m->name, sizeof m->name, "shoal train %s", task->name);
    m->operands[0] = (struct operand){task->operand, task->operand_help, .many = task->many};
    make_groups(m, task);
    m->initial = (struct train_cmd){.verb = &m->verb, .task = task};
    init_fields(m, task);
    m->verb = (struct verb){.name = m->name,
                            .summary = task->summary,
                            .about = task->about,
                            .operands = m->operands,
                            .groups = m->groups,
                            .examples = task->examples,
                            .opts_size = sizeof m->initial,
                            .parsed_at = offsetof(struct train_cmd, parsed),
                            .initial = &m->initial,
                            .completes = true,
                            .run = train_run};
}

static bool are_alike(const struct shoal_option *a, const struct shoal_option *b)
{
    return a->type == b->type && memcmp(&a->u, &b->u, sizeof a->u) == 0 &&
           memcmp(&a->d, &b->d, sizeof a->d) == 0 && a->choices == b->choices && a->own == b->own;
}

/* The one of that name, or the end of the list. */
static struct shoal_option *find_in(struct shoal_option *list, const char *name)
{
    while (list->name && strcmp(list->name, name) != 0)
        list++;
    return list;
}

static bool is_everywhere(const char *name)
{
    const struct shoal_task *task;

    for (size_t i = 0; (task = shoal_task_at(i)); i++) {
        struct option_walk w = {0};

        while (option_next(task->groups, &w) && strcmp(w.opt->name, name) != 0)
            ;
        if (!w.opt)
            return false;
    }
    return true;
}

/* An option that two tasks define differently is read as text: the task will judge it. */
static void add_option(const struct shoal_option *option, size_t at)
{
    struct shoal_option *list = !option->decides && is_everywhere(option->name) ? anew : rest;
    struct shoal_option *same = find_in(list, option->name);

    assert(same - list < OPTIONS_MOST - 1);
    if (!same->name) {
        *same = *option;
        same->at += at;
        same->required = false;
        return;
    }
    if (same->written && strcmp(same->help, option->help) != 0)
        same->help = "write the model here";
    if (!are_alike(same, option)) {
        same->type = SHOAL_TYPE_TEXT;
        same->at = offsetof(struct train_cmd, any);
        same->size = sizeof(((struct train_cmd *)0)->any);
        same->choices = NULL;
    }
}

void train_make_verbs(void)
{
    const struct shoal_task *task;

    for (size_t i = 0; (task = shoal_task_at(i)); i++) {
        struct option_walk w = {0};

        assert(i < TASKS_MOST);
        make_verb(&made[i], task);
        kinds[i] = &made[i].verb;
        while (option_next(task->groups, &w))
            add_option(w.opt, offsetof(struct train_cmd, fields) + w.group->at);
    }
}

const struct verb cmd_train = {
    .name = "shoal train",
    .summary = "learn a model",
    .about = "Trains a model, with all cores and in memory that is known before the start. Without "
             "a MODEL a run that was stopped goes on from its last checkpoint, with the options, "
             "the data and the output that it had; options of its model that do not decide the "
             "result may be given anew. It says which files it will write; those outside of the "
             "folder it is started in must be named again, or be trusted.",
    .operands =
        (const struct operand[]){{.name = "MODEL", .help = "a model, below", .optional = true},
                                 {0}},
    .groups =
        (const struct shoal_option_group[]){
            {"As before unless given", anew, .at = 0},
            {NULL, rest, .at = 0}, /* which help passes over */
            OWN_GROUPS,
            {0},
        },
    .kind_word = "model",
    .kinds = kinds,
    .opts_size = sizeof(struct train_cmd),
    .parsed_at = offsetof(struct train_cmd, parsed),
    .defaults = resume_defaults,
    .completes = true,
    .run = train_run,
};
