/* Training a net: the options all of them have, what the user sees, and going on. */
#include "nets.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Options ---------------------------------------------------------------------- */

#define ON(member) FIELD(struct net_cmd, member)

static const struct choice optimizer_choices[] = {
    [SHOAL_NET_SGD] = {"sgd", "plain steps"},
    [SHOAL_NET_MOMENTUM] = {"momentum", "steps with a memory (Polyak 1964)"},
    [SHOAL_NET_ADAM] = {"adam", "each parameter at its own pace (Kingma and Ba 2015)"},
    {0},
};

/* "60s", "5m", "2h", "5%" or "epoch"; the field is the whole struct */
static bool read_every(void *field, const char *text)
{
    struct shoal_net_opts *opts = field;
    char *end;
    double x = strtod(text, &end), value = end == text ? 0 : x * unit_of(end);
    bool percent = *end == '%';

    if (strcmp(text, "epoch") == 0) {
        opts->every = SHOAL_EVERY_EPOCH;
        return true;
    }
    if (!(value > 0 && value <= (percent ? 1 : 1e9)))
        return false;
    opts->every = percent ? SHOAL_EVERY_SHARE : SHOAL_EVERY_SECONDS;
    opts->every_value = value;
    return true;
}

static void show_every(char text[OPT_VALUE], const void *field)
{
    const struct shoal_net_opts *opts = field;

    if (opts->every == SHOAL_EVERY_EPOCH)
        snprintf(text, OPT_VALUE, "epoch");
    else if (opts->every == SHOAL_EVERY_SHARE)
        snprintf(text, OPT_VALUE, "%g%%", 100 * opts->every_value);
    else
        snprintf(text, OPT_VALUE, "%gs", opts->every_value);
}

static const struct opt_custom every = {read_every, show_every,
                                        "a time such as 60s, 5m or 2h, a percent such as 5%, or "
                                        "epoch"};

const struct opt net_output_opts[] = {
    {"output", 'o', OPT_PATH, ON(output), .arg = "FILE", .required = true,
     .help = "write the model here"},
    {0},
};

const struct opt net_training_opts[] = {
    {"epochs", .kind = OPT_U64, ON(train.epochs), .arg = "N", .u = {1, 1000000},
     .help = "times through the data"},
    {"batch", .kind = OPT_U64, ON(train.batch), .arg = "N", .u = {1, 1 << 20},
     .help = "samples of a step, of each rank"},
    {"global-batch", .kind = OPT_U64, ON(train.global_batch), .arg = "N", .u = {0, 1 << 24},
     .help = "samples of a step, of all ranks together", .zero = "as --batch says"},
    {"optimizer", .kind = OPT_CHOICE, ON(train.optimizer), .arg = "NAME",
     .choices = optimizer_choices, .help = "how gradients become steps"},
    {"lr", .kind = OPT_DOUBLE, ON(train.lr), .arg = "RATE", .d = {0, 1000},
     .help = "the learning rate", .zero = "0.1 for sgd, 0.05 for momentum, 0.002 for adam"},
    {"schedule", .kind = OPT_CHOICE, ON(train.schedule), .arg = "NAME",
     .choices = schedule_choices, .help = "how the rate goes on"},
    {"decay", .kind = OPT_DOUBLE, ON(train.decay), .arg = "X", .d = {0, 1e6},
     .help = "how fast it falls (inverse-time)"},
    {"warmup", .kind = OPT_DOUBLE, ON(train.warmup), .arg = "EPOCHS", .d = {0, 1e6},
     .help = "let it rise evenly for so many epochs first"},
    {"momentum", .kind = OPT_DOUBLE, ON(train.momentum), .arg = "X", .d = {0, 0.999999},
     .help = "how much of the last step goes on (momentum)"},
    {"nesterov", .kind = OPT_FLAG, ON(train.nesterov), .help = "look ahead (momentum)"},
    {"weight-decay", .kind = OPT_DOUBLE, ON(train.weight_decay), .arg = "X", .d = {0, 0.999999},
     .help = "pull parameters to 0; with adam apart from the gradient"},
    {"seed", .kind = OPT_U64, ON(train.seed), .arg = "N", .u = {0, UINT64_MAX},
     .help = "of everything random"},
    {"shuffle", .kind = OPT_FLAG, ON(train.in_order), .inverse = true,
     .help = "take the samples in another order each epoch"},
    {0},
};

const struct opt net_machine_opts[] = {
    {"threads", .kind = OPT_U64, ON(train.threads), .arg = "N", .u = {0, 1024},
     .help = "threads to work with; the result does not depend on them",
     .zero = "one for each core"},
    {"memory", .kind = OPT_SIZE, ON(train.memory_limit), .arg = "LIMIT", .u = {0, UINT64_MAX},
     .help = "refuse to need more memory", .zero = "what the machine has free"},
    {"quorum", .kind = OPT_U64, ON(train.quorum), .arg = "N", .u = {0, 1024},
     .help = "gradients whose mean makes a step (async, bounded)", .zero = "the root of half the ranks"},
    {0},
};

const struct opt net_run_opts[] = {
    {"checkpoint", .kind = OPT_PATH, ON(train.checkpoint), .arg = "DIR",
     .help = "save the whole state in this folder now and then, and when stopped"},
    {"checkpoint-every", .kind = OPT_CUSTOM, ON(train), .arg = "TIME", .custom = &every,
     .help = "how often: after a time (60s, 5m, 2h), a percent of the run, or each epoch"},
    {"resume", .kind = OPT_PATH, ON(resume), .arg = "DIR",
     .help = "go on from the last checkpoint of this folder, which must be of this very run"},
    {"metrics", .kind = OPT_PATH, ON(train.metrics), .arg = "FILE",
     .help = "write what is reported as JSON, one object a line"},
    {"watch", .kind = OPT_STRING, ON(watch), .arg = "HOST:PORT",
     .help = "show the report of the run, as `shoal report` draws it, in a browser while it "
             "runs; :PORT is for this machine alone"},
    {"profile", .kind = OPT_FLAG, ON(profile),
     .help = "say where the time went, rank by rank, and what limits the run"},
    {"report-steps", .kind = OPT_U64, ON(train.report_steps), .arg = "N", .u = {0, UINT32_MAX},
     .help = "report after each so many steps", .zero = "every second"},
    {0},
};

void net_defaults(struct net_cmd *cmd, const struct shoal_net_opts *train)
{
    *cmd = (struct net_cmd){.train = *train};
    ranks_defaults(&cmd->ranks);
    cmd->ranks.how.sync = train->sync;
    cmd->ranks.how.staleness = train->staleness;
}

static const char *folder_of(const struct net_cmd *cmd)
{
    return cmd->resume ? cmd->resume : cmd->train.checkpoint;
}

static void apply_ranks(struct shoal_net_opts *train, const struct ranks_opts *ranks)
{
    train->sync = ranks->how.sync;
    train->staleness = ranks->how.staleness;
    train->servers = ranks->servers;
    train->patience = ranks->patience;
}

int net_check(const struct verb *verb, const struct net_cmd *cmd)
{
    struct shoal_net_opts train = cmd->train;
    const char *folder = cmd->train.checkpoint;
    int code;

    if (folder && cmd->resume && strcmp(folder, cmd->resume) != 0)
        return usage(verb, "--checkpoint is '%s', want '%s' as --resume says", folder,
                     cmd->resume);
    if (cmd->ranks.given.wire && cmd->ranks.wire != SHOAL_WIRE_F32)
        return usage(verb, "--wire bf16 does not go with nets, whose gradients travel as they are");
    if (cmd->ranks.given.replica && cmd->ranks.replica == SHOAL_REPLICA_BLOCKS)
        return usage(verb, "--replica blocks does not go with nets, which every rank holds whole");
    if (cmd->ranks.given.local_input)
        return usage(verb, "--local-input does not go with nets: every rank reads all samples");
    code = ranks_check(verb, &cmd->ranks, folder_of(cmd));
    apply_ranks(&train, &cmd->ranks);
    train.servers = 0; /* how many ranks there are is not known yet */
    if (code == EXIT_DONE && shoal_net_check(&train) != SHOAL_OK)
        code = console_fail("%s", shoal_error());
    return code;
}

/* ---- The command, remembered ----------------------------------------------------------- */

static struct {
    int argc;
    char **argv;
} the_command;

void command_note(int argc, char **argv)
{
    the_command.argc = argc;
    the_command.argv = argv;
}

static void add_word(struct net_job *job, const char *word)
{
    size_t len = strlen(word) + 1;
    char *more = realloc(job->command, job->command_len + len);

    if (!more)
        exit(console_fail("out of memory"));
    memcpy(more + job->command_len, word, len);
    job->command = more;
    job->command_len += len;
}

/* What is the business of whoever launches, or says how to go on. */
static bool is_passing(const char *word, bool *takes_next)
{
    static const char *const names[] = {"--ranks", "--hosts", "--restarts", "--resume",
                                        "--checkpoint"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t len = strlen(names[i]);

        if (strncmp(word, names[i], len) == 0 && (word[len] == '=' || word[len] == '\0')) {
            *takes_next = word[len] == '\0';
            return true;
        }
    }
    return false;
}

/* The folder it was given in, then its words. */
static void remember(struct net_job *job)
{
    char *folder = getcwd(NULL, 0);
    bool skip = false, plain = false;

    add_word(job, folder ? folder : ".");
    free(folder);
    for (int i = 1; i < the_command.argc; i++) {
        const char *word = the_command.argv[i];

        if (skip || (!plain && is_passing(word, &skip))) {
            skip = skip && is_passing(word, &skip);
            continue;
        }
        plain = plain || strcmp(word, "--") == 0;
        add_word(job, word);
    }
    job->train.command = job->command;
    job->train.command_len = job->command_len;
}

/* ---- The command, again --------------------------------------------------------------- */

static const struct verb *net_verb(const char *word)
{
    static const struct verb *const nets[] = {&train_mlp, &train_nextword, &train_vgg};

    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        if (strcmp(verb_word(nets[i]), word) == 0)
            return nets[i];
    return NULL;
}

/* Words that are made one by one. */
struct words {
    char **at; /* [n] */
    size_t n, cap;
};

static char *words_add(struct words *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static char *words_add(struct words *w, const char *fmt, ...)
{
    va_list args;

    if (w->n == w->cap) {
        w->cap = 2 * w->cap + 16;
        w->at = realloc(w->at, w->cap * sizeof *w->at);
    }
    va_start(args, fmt);
    if (!w->at || vasprintf(&w->at[w->n], fmt, args) < 0)
        exit(console_fail("out of memory"));
    va_end(args);
    return w->at[w->n++];
}

static void words_fini(struct words *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->at[i]);
    free(w->at);
}

static struct words split_words(const struct shoal_net_resume *r)
{
    struct words w = {0};

    for (char *at = r->command; at < r->command + r->command_len; at += strlen(at) + 1)
        words_add(&w, "%s", at);
    return w;
}

/* `from` is the folder that the words were given in: no other is ever changed to. */
static bool is_elsewhere(const char *path, const char *from)
{
    char *here = getcwd(NULL, 0);
    bool other = path[0] != '/' && strcmp(path, "-") != 0 && (!here || strcmp(here, from) != 0);

    free(here);
    return other;
}

static char *add_path(struct words *w, const char *option, const char *path, const char *from)
{
    bool other = is_elsewhere(path, from);
    char *word = words_add(w, "%s%s%s%s", option, other ? from : "", other ? "/" : "", path);

    return word + strlen(option);
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* What a checkpoint may not decide: who is launched, and who may look. */
static const char *const ours[] = {"ranks",      "hosts", "restarts", "resume",
                                   "checkpoint", "watch", NULL};
static const char *const written[] = {"output", "metrics", "statistics", NULL};

static void add_given(struct words *w, const struct given *g, const char *from,
                      const struct net_again *again, struct writes *files)
{
    const char *name = g->opt->name;
    bool anew = (again->output && strcmp(name, "output") == 0) ||
                (again->metrics && strcmp(name, "metrics") == 0);
    char option[OPT_VALUE], *path;

    if (anew || is_one_of(name, ours))
        return;
    snprintf(option, sizeof option, "--%s=", name);
    if (!g->value) {
        words_add(w, "--%s%s", g->on ? "" : "no-", name);
    } else if (g->opt->kind != OPT_PATH) {
        words_add(w, "%s%s", option, g->value);
    } else {
        path = add_path(w, option, g->value, from);
        if (is_one_of(name, written))
            writes_add(files, strcmp(name, "statistics") ? name : NULL, path, false);
    }
}

static void add_again(struct words *w, const struct net_again *again, struct writes *files)
{
    writes_add(files, "output", again->output, true);
    writes_add(files, "metrics", again->metrics, true);
    if (again->output)
        words_add(w, "--output=%s", again->output);
    if (again->metrics)
        words_add(w, "--metrics=%s", again->metrics);
    if (again->watch)
        words_add(w, "--watch=%s", again->watch);
    if (again->threads > 0)
        words_add(w, "--threads=%u", again->threads);
    if (again->quiet)
        words_add(w, "--quiet");
}

/* Of an option that was given several times the last counts. */
static bool is_last(const struct parsed *p, size_t i)
{
    for (size_t k = i + 1; k < p->ngiven; k++)
        if (p->given[k].opt == p->given[i].opt)
            return false;
    return true;
}

/* The command of old, whose words are options and operands of `verb` and nothing else. */
static void compose(struct words *w, const struct verb *verb, const struct parsed *old,
                    const char *from, const struct net_again *again, struct writes *files)
{
    words_add(w, "shoal");
    words_add(w, "train");
    words_add(w, "%s", verb_word(verb));
    words_add(w, "--resume=%s", again->folder);
    for (size_t i = 0; i < old->ngiven; i++)
        if (is_last(old, i))
            add_given(w, &old->given[i], from, again, files);
    add_again(w, again, files);
    words_add(w, "--");
    for (size_t i = 0; i < old->nargs; i++)
        add_path(w, "", old->args[i], from);
}

static int run_again(const struct words *old, const struct verb *verb,
                     const struct net_again *again)
{
    void *opts = verb_defaults(verb);
    struct console console;
    struct parsed parsed;
    struct words w = {0};
    struct writes files = {.n = 0};
    int code = EXIT_FAILED;

    console_init(&console, again->quiet, NULL);
    if (opts_parse(verb, old->at + 3, old->n - 3, opts, &parsed)) {
        compose(&w, verb, &parsed, old->at[0], again, &files);
        command_note((int)w.n, w.at);
        if (launched_rank() > 0 ||
            writes_allow(&files, &console, again->folder, again->trust) == SHOAL_OK)
            code = shoal_words(w.at + 1, w.n - 1);
        else
            code = console_fail("%s", shoal_error());
    }
    parsed_fini(&parsed);
    words_fini(&w);
    free(opts);
    return code;
}

bool net_resume(const struct net_again *again, int *code)
{
    const struct verb *verb = NULL;
    struct shoal_net_resume r;
    struct words old = {0};

    if (shoal_net_resume_read(&r, again->folder) != SHOAL_OK)
        return false;
    if (r.command)
        old = split_words(&r);
    if (old.n > 2 && strcmp(old.at[1], "train") == 0)
        verb = net_verb(old.at[2]);
    if (verb)
        *code = run_again(&old, verb, again);
    else
        *code = console_fail("%s: does not say how it was started; give the whole command with "
                             "--resume %s",
                             again->folder, again->folder);
    words_fini(&old);
    shoal_net_resume_free(&r);
    return true;
}

/* ---- The job --------------------------------------------------------------------------------- */

static shoal_status check_new(const char *folder)
{
    struct shoal_net_resume old;
    shoal_status st = shoal_net_resume_read(&old, folder);

    if (st == SHOAL_OK)
        st = shoal_fail(SHOAL_EINVAL,
                        "%s: holds a run at %s; go on with --resume, or name another folder",
                        folder, number_percent(old.progress, 1).text);
    else
        st = SHOAL_OK;
    shoal_net_resume_free(&old);
    return st;
}

shoal_status net_job_begin(struct net_job *job, const struct net_cmd *cmd, const char *unit)
{
    shoal_status st;

    *job = (struct net_job){.train = cmd->train, .unit = unit};
    job->job.output = cmd->output;
    job->job.profile = cmd->profile;
    job->job.watch = cmd->watch;
    job->job.save = shoal_save_default();
    apply_ranks(&job->train, &cmd->ranks);
    job->train.checkpoint = job->job.train.checkpoint = folder_of(cmd);
    job->job.train.metrics = cmd->train.metrics;
    job->train.resume = cmd->resume != NULL;
    job->train.report = net_view_report;
    job->train.user = job;
    st = job_join(&job->job, cmd->work.quiet);
    if (st != SHOAL_OK)
        return st;
    job_begin(&job->job);
    remember(job);
    if (shoal_ranks_size(job->job.ranks) > 1)
        job->train.ranks = job->job.ranks;
    else
        job->train.servers = 0;
    if (!job_first(&job->job))
        job->train.metrics = NULL;
    if (job_first(&job->job))
        st = job_check_output(&job->job);
    if (st == SHOAL_OK)
        st = job_watch(&job->job, &job->train.metrics);
    if (st == SHOAL_OK && job_first(&job->job) && job->train.checkpoint && !job->train.resume)
        st = check_new(job->train.checkpoint);
    return job_agree(&job->job, st);
}

int net_job_leave(struct net_job *job, shoal_status st)
{
    int code = job_leave(&job->job, st);

    free(job->command);
    return code;
}

bool net_elsewhere(const struct verb *verb, const struct net_cmd *cmd, const struct parsed *parsed,
                   int *code)
{
    struct launch l = {.verb = verb, .parsed = parsed, .resumed = &cmd_train,
                       .opts = &cmd->ranks.launch, .folder = folder_of(cmd)};

    if (!launch_wanted(l.opts))
        return false;
    *code = net_check(verb, cmd);
    if (*code == EXIT_DONE)
        *code = launch(&l);
    return true;
}

/* ---- What the user sees ------------------------------------------------------------------------ */

static struct number number_plain(const char *fmt, double x) __attribute__((format(printf, 1, 0)));

static struct number number_plain(const char *fmt, double x)
{
    struct number out;

    snprintf(out.text, sizeof out.text, fmt, x);
    return out;
}

void net_view_plan(struct net_job *job, const struct shoal_net_plan *plan)
{
    struct console *c = &job->job.console;

    console_heading(c, "plan");
    console_row(c, job->unit, number_count(plan->samples).text, "to learn from, %s held out",
                number_count(plan->valid).text);
    console_row(c, "parameters", number_count(plan->parameters).text, "for %u epoch%s",
                job->train.epochs, job->train.epochs == 1 ? "" : "s");
    console_row(c, "model", number_size(plan->model_bytes).text,
                "parameters, gradients, the optimizer's state");
    console_row(c, "work", number_size(plan->work_bytes).text, "batches and what they become");
    console_row(c, "held", number_size(plan->held_bytes).text, "program and data");
    if (plan->checkpoint_bytes > 0)
        console_row(c, "checkpoint", number_size(plan->checkpoint_bytes).text,
                    "the copy that is being written");
    console_row(c, "memory", number_size(plan->memory_bytes).text, "of %s free",
                number_size(plan->memory_free).text);
}

/* "  loss 0.1234  accuracy 95.2%", with `who` before each */
static void figures_text(char *text, size_t size, const char *who,
                         const struct shoal_net_figures *f)
{
    const struct {
        const char *name;
        double value;
        bool share;
    } all[] = {{"loss", f->loss, false},     {"accuracy", f->accuracy, true},
               {"cosine", f->cosine, false}, {"word", f->word1, true},
               {"word-10", f->word10, true}};
    size_t len = 0;

    text[0] = '\0';
    for (size_t i = 0; i < sizeof all / sizeof *all && len < size; i++)
        if (isfinite(all[i].value))
            len += (size_t)snprintf(text + len, size - len, "  %s%s %s", who, all[i].name,
                                    all[i].share ? number_percent(all[i].value, 1).text
                                                 : number_plain("%.4f", all[i].value).text);
}

static void draw(struct net_job *job, const struct shoal_net_report *r)
{
    char text[240], figures[120];

    figures_text(figures, sizeof figures, "", &r->train);
    int len = snprintf(text, sizeof text, "%4.1f%%  epoch %u/%u  %s%s  lr %.3g", 100 * r->progress,
                       r->epoch, r->epochs, number_rate(r->samples_per_second, job->unit).text,
                       figures, r->lr);

    if (isfinite(r->eta) && len > 0 && (size_t)len < sizeof text)
        snprintf(text + len, sizeof text - (size_t)len, "  %s left", number_clock(r->eta).text);
    console_progress(&job->job.console, "train", text);
}

static void log_epoch(struct net_job *job, const struct shoal_net_report *r)
{
    char train[240], valid[240];

    figures_text(train, sizeof train, "", &r->train);
    figures_text(valid, sizeof valid, "valid ", &r->valid);
    console_log(&job->job.console, STYLE_PLAIN, "epoch %u/%u%s%s  %s", r->epoch, r->epochs, train,
                valid, number_rate(r->samples_per_second, job->unit).text);
}

bool net_view_report(void *user, const struct shoal_net_report *report)
{
    struct net_job *job = user;

    job->job.last.progress = report->progress;
    job->job.last.epochs = report->epochs;
    switch (report->event) {
    case SHOAL_EVENT_INTERVAL:
        draw(job, report);
        break;
    case SHOAL_EVENT_EPOCH:
        log_epoch(job, report);
        break;
    case SHOAL_EVENT_CHECKPOINT:
        console_log(&job->job.console, STYLE_DIM, "checkpoint at %s",
                    number_percent(report->progress, 1).text);
        break;
    case SHOAL_EVENT_LOOK: /* of click models alone */
        break;
    case SHOAL_EVENT_DONE:
        return true; /* too late to stop */
    }
    return !signal_came();
}

static void rows_of(struct console *c, const char *who, const struct shoal_net_figures *f)
{
    const struct {
        const char *name;
        double value;
        bool share;
    } all[] = {{"loss", f->loss, false},        {"accuracy", f->accuracy, true},
               {"top-5", f->top5, true},        {"MAE", f->mae, false},
               {"RMSE", f->rmse, false},        {"cosine", f->cosine, false},
               {"next word", f->word1, true},   {"among 5", f->word5, true},
               {"among 10", f->word10, true}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (isfinite(all[i].value))
            console_row(c, all[i].name,
                        all[i].share ? number_percent(all[i].value, 1).text
                                     : number_plain("%.4f", all[i].value).text,
                        "%s", who);
}

static void view_ranks(struct console *c, const struct shoal_rank_stats *r, uint64_t samples)
{
    double each = samples > 0 ? (double)samples : 1;
    uint64_t all = 0;

    console_row(c, "ranks", number_count(r->ranks).text,
                r->servers ? "%u of them only keep parameters" : "all keep parameters and train",
                r->servers);
    console_row(c, "traffic", number_plain("%.1f B", (double)r->bytes_out / each).text,
                "sent and %.1f B received a sample", (double)r->bytes_in / each);
    console_row(c, "waited", number_percent(r->waited, r->waited + r->computed).text,
                "of the time of all ranks");
    for (unsigned i = 0; i < SHOAL_STALE_BINS; i++)
        all += r->stale[i];
    if (all > 0)
        console_row(c, "fresh", number_percent((double)r->stale[0], (double)all).text,
                    "of gradients: no other came since their parameters were sent");
}

void net_view_result(struct net_job *job, const struct shoal_net_plan *plan,
                     const struct shoal_net_stats *s)
{
    struct console *c = &job->job.console;
    double rate = s->seconds > 0 ? (double)s->samples / s->seconds : 0;
    struct stat file;

    console_heading(c, "result");
    console_row(c, "trained", number_count(s->samples).text, "%s%s", job->unit,
                s->resumed ? " since the checkpoint" : "");
    rows_of(c, "in the last epoch", &s->train);
    rows_of(c, "on what was held out", &s->valid);
    console_row(c, "took", number_seconds(s->seconds).text, "%s; %s to the first step",
                number_rate(rate, job->unit).text, number_seconds(s->startup).text);
    console_row(c, "peak", number_size(s->memory).text, "of memory, the plan said %s",
                number_size(plan->memory_bytes).text);
    console_row(c, "kernel", s->kernel, NULL);
    if (s->ranks.ranks > 1)
        view_ranks(c, &s->ranks, s->samples);
    if (s->checkpoints > 0)
        console_row(c, "checkpoint", number_count(s->checkpoints).text,
                    "written, the last two kept in %s", job->train.checkpoint);
    if (stat(job->job.output, &file) == 0)
        console_row(c, "file", number_size((uint64_t)file.st_size).text, "%s", job->job.output);
    if (job->job.profile)
        view_profile(c, &s->profile);
}
