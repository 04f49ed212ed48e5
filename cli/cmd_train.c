/* shoal train: learn a model. Each model is a verb of its own below; without
 * one, a run that was stopped goes on. */
#include "nets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct verb train_cbow, train_skipgram;

/* ---- Values of its own ------------------------------------------------------------- */

/* "0.001" or "0.1%" */
static bool read_share(void *field, const char *text)
{
    char *end;
    double x = strtod(text, &end);

    if (end != text && *end == '%') {
        x /= 100;
        end++;
    }
    if (end == text || *end || !(x >= 0 && x <= 0.5))
        return false;
    *(double *)field = x;
    return true;
}

static void show_share(char text[OPT_VALUE], const void *field)
{
    snprintf(text, OPT_VALUE, "%g%%", 100 * *(const double *)field);
}

const struct opt_custom train_share = {read_share, show_share,
                                        "a share from 0 to 0.5, or a percent such as 0.1%"};

double unit_of(const char *name)
{
    static const struct {
        const char *name;
        double value;
    } units[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"%", 0.01}};

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, name) == 0)
            return units[i].value;
    return 0;
}

/* "60s", "5m", "2h", "5%" or "epoch"; the field is the whole struct */
static bool read_every(void *field, const char *text)
{
    struct shoal_train_opts *opts = field;
    char *end;
    double x = strtod(text, &end);
    double value = end == text ? 0 : x * unit_of(end);
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
    const struct shoal_train_opts *opts = field;

    if (opts->every == SHOAL_EVERY_EPOCH)
        snprintf(text, OPT_VALUE, "epoch");
    else if (opts->every == SHOAL_EVERY_SHARE)
        snprintf(text, OPT_VALUE, "%g%%", 100 * opts->every_value);
    else
        snprintf(text, OPT_VALUE, "%gs", opts->every_value);
}

/* "60s", "5m", "2h" */
static bool read_time(void *field, const char *text)
{
    char *end;
    double x = strtod(text, &end);
    double value = end == text || *end == '%' ? 0 : x * unit_of(end);

    if (value > 0 && value <= 1e9)
        *(double *)field = value;
    return value > 0 && value <= 1e9;
}

static void show_time(char text[OPT_VALUE], const void *field)
{
    snprintf(text, OPT_VALUE, "%gs", *(const double *)field);
}

static const struct opt_custom train_time = {read_time, show_time, "a time such as 60s, 5m or 2h"};

const struct opt_custom train_every = {read_every, show_every,
                                        "a time such as 60s, 5m or 2h, a percent such as 5%, or "
                                        "epoch"};

/* ---- One job -------------------------------------------------------------------------- */

static shoal_status save(struct job *job, const shoal_vectors *vectors,
                         const struct shoal_train_plan *plan, const struct shoal_train_stats *stats)
{
    shoal_status st = shoal_vectors_save(vectors, job->output, &job->save);

    if (st == SHOAL_OK)
        view_result(job, plan, stats);
    return st;
}

/* Plans, trains, saves. */
static shoal_status job_run_words(struct job *job)
{
    struct shoal_train_plan plan;
    struct shoal_train_stats stats = {0};
    shoal_vectors *vectors = NULL;
    shoal_status st = job_agree(job, shoal_train_plan(&plan, job->corpus, &job->train));

    if (st == SHOAL_OK) {
        view_plan(job, &plan);
        job->training = true;
        st = job_agree(job, shoal_train(&vectors, job->corpus, &job->train, &stats));
    }
    if (st == SHOAL_OK)
        st = job_agree(job, job_first(job) ? save(job, vectors, &plan, &stats) : SHOAL_OK);
    shoal_vectors_close(vectors);
    return st;
}

static shoal_status job_run(struct job *job)
{
    job->train.report = view_report;
    job->train.user = job;
    return job_clicks(job) ? job_run_logreg(job) : job_run_words(job);
}

/* What a checkpoint remembers must be true in any working folder. */
static void remember(struct job *job)
{
    job->train.output = job_absolute(job, job->output);
    job->train.logreg.valid_path = job_absolute(job, job->train.logreg.valid_path);
    if (job->train.checkpoint) {
        job->train.metrics = job_absolute(job, job->train.metrics);
        job->train.publish = job_absolute(job, job->train.publish);
    }
}

/* The suites of a list with commas between them. */
static shoal_status open_evals(struct job *job, const char *list)
{
    char *names = list ? strdup(list) : NULL, *rest = names, *name;
    shoal_status st = SHOAL_OK;

    job->train.evals = (const shoal_eval *const *)job->evals;
    while (st == SHOAL_OK && (name = strsep(&rest, ",")) != NULL) {
        if (job->train.nevals == JOB_EVALS)
            st = shoal_fail(SHOAL_EINVAL, "--eval has too many files, want at most %d", JOB_EVALS);
        else
            st = shoal_eval_open(&job->evals[job->train.nevals], name);
        job->train.nevals += st == SHOAL_OK;
    }
    free(names);
    return st;
}

/* What one rank can find wrong, all hear of. */
static shoal_status prepare(struct job *job, const char *evals)
{
    shoal_status st = SHOAL_OK;

    remember(job);
    job_begin(job);
    if (job_first(job))
        st = job_check_output(job);
    if (st == SHOAL_OK)
        st = job_watch(job, &job->train.metrics);
    if (st == SHOAL_OK)
        st = open_evals(job, evals);
    return job_agree(job, st);
}

/* ---- A model from its beginning, or with all its options repeated ------------------------ */

static void train_defaults(struct train_cmd *cmd, enum shoal_train_model model)
{
    *cmd = (struct train_cmd){.train = shoal_train_default(model),
                              .encode = shoal_encode_default(),
                              .save = shoal_save_default()};
    ranks_defaults(&cmd->ranks);
}

static void cbow_defaults(void *at)
{
    train_defaults(at, SHOAL_CBOW);
}

static void skipgram_defaults(void *at)
{
    train_defaults(at, SHOAL_SKIPGRAM);
}

static const struct verb *verb_of(const struct train_cmd *cmd)
{
    if (cmd->train.model == SHOAL_LOGREG)
        return &train_logreg;
    return cmd->train.model == SHOAL_CBOW ? &train_cbow : &train_skipgram;
}

static const struct opt *reading_changed(const struct train_cmd *cmd)
{
    struct shoal_vocab_opts words = shoal_vocab_default();
    struct shoal_clicks_opts rows = shoal_clicks_default();
    const struct opt *changed;

    if (cmd->train.logreg.valid_path) /* whose lines may be bad */
        rows.skip_bad = cmd->read.skip_bad;
    if (cmd->train.model == SHOAL_LOGREG)
        return opts_changed(clicks_opts, &cmd->read, &rows);
    changed = opts_changed(token_opts, &cmd->encode.vocab, &words);
    return changed ? changed : opts_changed(vocab_opts, &cmd->encode.vocab, &words);
}

/* How text is read says nothing about what is encoded. */
static int check_text_opts(const struct train_cmd *cmd, const char *const *args, size_t nargs)
{
    const struct opt *changed = reading_changed(cmd);
    char kind[32];

    if ((changed || cmd->vocab_path) && nargs == 1 && shoal_kind(args[0], kind))
        return usage(verb_of(cmd), "--%s does not go with '%s', which is encoded",
                     changed ? changed->name : "vocab", args[0]);
    return EXIT_DONE;
}

/* Where the checkpoints of the run are; or NULL. */
static const char *folder_of(const struct train_cmd *cmd)
{
    return cmd->resume ? cmd->resume : cmd->train.checkpoint;
}

static int check_words(const struct train_cmd *cmd)
{
    struct shoal_train_opts defaults = shoal_train_default(cmd->train.model);
    const char *folder = cmd->train.checkpoint;
    bool changed = cmd->train.every != defaults.every ||
                   memcmp(&cmd->train.every_value, &defaults.every_value, sizeof(double)) != 0;

    if (folder && cmd->resume && strcmp(folder, cmd->resume) != 0)
        return usage(verb_of(cmd), "--checkpoint is '%s', want '%s' as --resume says", folder,
                     cmd->resume);
    if (changed && !folder && !cmd->resume)
        return usage(verb_of(cmd), "--checkpoint-every does not go without --checkpoint");
    if (cmd->train.model == SHOAL_LOGREG && cmd->ranks.local_input)
        return usage(verb_of(cmd), "%s", NO_OWN_ROWS);
    return ranks_check(verb_of(cmd), &cmd->ranks, folder_of(cmd));
}

/* What needs neither files nor other ranks. */
static int check(const struct train_cmd *cmd, const char *const *args, size_t nargs)
{
    struct shoal_train_opts train = cmd->train;
    int code = check_words(cmd);

    if (code == EXIT_DONE)
        code = check_text_opts(cmd, args, nargs);
    ranks_apply(&train, &cmd->ranks);
    if (code == EXIT_DONE && shoal_train_check(&train) != SHOAL_OK)
        code = console_fail("%s", shoal_error());
    return code;
}

static struct job job_of(const struct train_cmd *cmd)
{
    struct job job = {.train = cmd->train,
                      .encode = cmd->encode,
                      .read = cmd->read,
                      .save = cmd->save,
                      .vocab_path = cmd->vocab_path,
                      .output = cmd->output,
                      .watch = cmd->watch,
                      .profile = cmd->profile};

    ranks_apply(&job.train, &cmd->ranks);
    job.encode.vocab.threads = cmd->train.threads;
    job.encode.memory_limit = cmd->train.memory_limit;
    job.read.threads = cmd->train.threads;
    job.read.memory_limit = cmd->train.memory_limit;
    job.train.checkpoint = folder_of(cmd);
    job.train.resume = cmd->resume != NULL;
    return job;
}

int train_run(const void *at, const char *const *args, size_t nargs)
{
    const struct train_cmd *cmd = at;
    struct job job;
    shoal_status st;
    int code = check(cmd, args, nargs);

    if (code != EXIT_DONE)
        return code;
    job = job_of(cmd);
    st = job_join(&job, cmd->work.quiet);
    if (st == SHOAL_OK)
        st = prepare(&job, cmd->evals);
    if (st == SHOAL_OK)
        st = job_open_inputs(&job, args, nargs);
    if (st == SHOAL_OK)
        st = job_run(&job);
    return job_leave(&job, st);
}

bool train_elsewhere(const void *at, const struct parsed *parsed, int *code)
{
    const struct train_cmd *cmd = at;
    struct launch l = {.verb = verb_of(cmd),
                       .parsed = parsed,
                       .resumed = &cmd_train,
                       .opts = &cmd->ranks.launch,
                       .folder = folder_of(cmd),
                       .data_out = strcmp(cmd->output, "-") == 0};

    if (!launch_wanted(l.opts))
        return false;
    *code = check(cmd, parsed->args, parsed->nargs);
    if (*code == EXIT_DONE)
        *code = launch(&l);
    return true;
}

#define ON(member) FIELD(struct train_cmd, member)

static const struct opt output_opts[] = {
    {"output", 'o', OPT_PATH, ON(output), .arg = "FILE", .required = true,
     .help = "write the vectors here"},
    {"format", .kind = OPT_CHOICE, ON(save.format), .arg = "NAME", .choices = format_choices,
     .help = "how to write them"},
    {0},
};

static const struct opt model_opts[] = {
    {"dim", .kind = OPT_U64, ON(train.dim), .arg = "N", .u = {1, 4096},
     .help = "numbers of a vector"},
    {"window", .kind = OPT_U64, ON(train.window), .arg = "N", .u = {1, 50},
     .help = "words on each side at most, shrunk evenly at random"},
    {"loss", .kind = OPT_CHOICE, ON(train.loss), .arg = "NAME", .choices = loss_choices,
     .help = "what is made small"},
    {"negative", .kind = OPT_U64, ON(train.negative), .arg = "N", .u = {1, 64},
     .help = "noise words of a prediction (ns)"},
    {"sample", .kind = OPT_DOUBLE, ON(train.sample), .arg = "SHARE", .d = {0, 1},
     .help = "thin out words that make up more than this of the text", .zero = "none"},
    {0},
};

static const struct opt cbow_opts[] = {
    {"cbow-mean", .kind = OPT_FLAG, ON(train.sum), .inverse = true,
     .help = "predict from the mean of the window"},
    {"cbow-sum", .kind = OPT_FLAG, ON(train.sum), .help = "predict from its sum"},
    {0},
};

static const struct opt training_opts[] = {
    {"epochs", .kind = OPT_U64, ON(train.epochs), .arg = "N", .u = {1, 100000},
     .help = "times through the text"},
    {"lr", .kind = OPT_DOUBLE, ON(train.lr), .arg = "RATE", .d = {0, 10},
     .help = "the learning rate at the start", .zero = "0.05 for CBOW, 0.025 for skip-gram"},
    {"schedule", .kind = OPT_CHOICE, ON(train.schedule), .arg = "NAME", .choices = schedule_choices,
     .help = "how the rate goes on"},
    {"decay", .kind = OPT_DOUBLE, ON(train.decay), .arg = "X", .d = {0, 1e6},
     .help = "how fast it falls (inverse-time)"},
    {"batch", .kind = OPT_U64, ON(train.batch), .arg = "N", .u = {1, 65536},
     .help = "predictions of a step (softmax)"},
    {"seed", .kind = OPT_U64, ON(train.seed), .arg = "N", .u = {0, UINT64_MAX},
     .help = "of everything random"},
    {"valid", .kind = OPT_CUSTOM, ON(train.valid), .arg = "SHARE", .custom = &train_share,
     .help = "hold out this share or percent of the text, at its end, and report its loss"},
    {0},
};

const struct opt machine_opts[] = {
    {"threads", .kind = OPT_U64, ON(train.threads), .arg = "N", .u = {0, 1024},
     .help = "threads to work with", .zero = "one for each core"},
    {"deterministic", .kind = OPT_FLAG, ON(train.deterministic),
     .help = "the same bytes each time, for any number of threads; slower"},
    {"lanes", .kind = OPT_U64, ON(train.lanes), .arg = "N", .u = {1, 64},
     .help = "workers whose changes are merged (--deterministic)"},
    {"memory", .kind = OPT_SIZE, ON(train.memory_limit), .arg = "LIMIT", .u = {0, UINT64_MAX},
     .help = "refuse to need more memory", .zero = "what the machine has free"},
    {0},
};

const struct opt run_opts[] = {
    {"checkpoint", .kind = OPT_PATH, ON(train.checkpoint), .arg = "DIR",
     .help = "save the whole state in this folder now and then, and when stopped"},
    {"checkpoint-every", .kind = OPT_CUSTOM, ON(train), .arg = "TIME", .custom = &train_every,
     .help = "how often: after a time (60s, 5m, 2h), a percent of the run, or each epoch"},
    {"resume", .kind = OPT_PATH, ON(resume), .arg = "DIR",
     .help = "go on from the last checkpoint of this folder, which must be of this very run"},
    {"eval", .kind = OPT_PATH, ON(evals), .arg = "FILE,...",
     .help = "after each epoch score the vectors on these questions, as `shoal eval` does"},
    {"metrics", .kind = OPT_PATH, ON(train.metrics), .arg = "FILE",
     .help = "write what is reported as JSON, one object a line"},
    {"watch", .kind = OPT_STRING, ON(watch), .arg = "HOST:PORT",
     .help = "show the report of the run, as `shoal report` draws it, in a browser while it "
             "runs; :PORT is for this machine alone"},
    {"profile", .kind = OPT_FLAG, ON(profile),
     .help = "say where the time went, rank by rank, and what limits the run"},
    {"publish", .kind = OPT_PATH, ON(train.publish), .arg = "FILE",
     .help = "write what was learned so far to this file now and then, for `shoal serve`"},
    {"publish-every", .kind = OPT_CUSTOM, ON(train.publish_every), .arg = "TIME",
     .custom = &train_time, .help = "how often"},
    {0},
};

static const struct opt given_opts[] = {
    {"vocab", .kind = OPT_PATH, ON(vocab_path), .arg = "FILE",
     .help = "use this vocabulary, from `shoal vocab`, instead of counting one"},
    {0},
};

#define ENCODED_HELP INPUT_HELP "; or one corpus from `shoal encode`"

static const struct operand train_operands[] = {{"INPUT", ENCODED_HELP, .many = true}, {0}};

/* After what a model has of its own. */
#define SHARED_GROUPS                                                                              \
    {"Training", training_opts, .at = 0}, {"Machine", machine_opts, .at = 0},                      \
        {"Checkpoints and metrics", run_opts, .at = 0},                                            \
        {"Several ranks", ranks_opts, .at = offsetof(struct train_cmd, ranks)},                    \
        {"Reading text", token_opts, .at = offsetof(struct train_cmd, encode.vocab)},              \
        {"A vocabulary made before", given_opts, .at = 0},                                         \
        {"Vocabulary", vocab_opts, .at = offsetof(struct train_cmd, encode.vocab),                 \
         .unless = "vocab"},                                                                       \
        {"General", work_opts, .at = offsetof(struct train_cmd, work)}, {0},

#define ABOUT_TRAINING                                                                             \
    "The options mean what they mean to word2vec. Text is encoded first; a corpus from `shoal "    \
    "encode` starts at once. The plan says before the start what memory the work needs; what "     \
    "cannot fit is refused. The file appears when all is done.\n"                                  \
    "With --checkpoint a run that was stopped, by Ctrl-C or by a crash, goes on with `shoal "      \
    "train --resume DIR`."

static const struct verb train_cbow = {
    .name = "shoal train cbow",
    .summary = "word vectors: a window of words predicts the one in its middle",
    .about = "Continuous bag of words (Mikolov et al. 2013): fast, and good for common "
             "words.\n" ABOUT_TRAINING,
    .operands = train_operands,
    .groups = (const struct opt_group[]){{"Output", output_opts, .at = 0},
                                         {"Model", model_opts, .at = 0},
                                         {"CBOW", cbow_opts, .at = 0},
                                         SHARED_GROUPS},
    .examples =
        (const struct example[]){
            {"shoal train cbow text.txt -o vectors.bin", "vectors of one file of text"},
            {"shoal train cbow text.shoal --dim 300 --epochs 10 --checkpoint run -o vectors.bin",
             "larger ones, of an encoded corpus, that may be interrupted"},
            {"shoal train --resume run", "go on after an interrupt"},
            {"shoal train cbow text.shoal --ranks 4 --hosts a,b --checkpoint run --restarts 3 -o "
             "vectors.bin",
             "by four processes on two machines, started again when one is lost"},
            {0},
        },
    .opts_size = sizeof(struct train_cmd),
    .defaults = cbow_defaults,
    .run = train_run,
    .elsewhere = train_elsewhere,
};

static const struct verb train_skipgram = {
    .name = "shoal train skipgram",
    .summary = "word vectors: a word predicts each of its neighbours",
    .about = "Skip-gram (Mikolov et al. 2013): slower than CBOW, and better for rare "
             "words.\n" ABOUT_TRAINING,
    .operands = train_operands,
    .groups = (const struct opt_group[]){{"Output", output_opts, .at = 0},
                                         {"Model", model_opts, .at = 0},
                                         SHARED_GROUPS},
    .examples =
        (const struct example[]){
            {"shoal train skipgram text.txt --window 10 --negative 10 -o vectors.bin",
             "vectors of one file of text"},
            {"shoal train skipgram text.txt --deterministic --threads 4 -o vectors.bin",
             "the same bytes each time"},
            {0},
        },
    .opts_size = sizeof(struct train_cmd),
    .defaults = skipgram_defaults,
    .run = train_run,
    .elsewhere = train_elsewhere,
};

/* ---- Going on ---------------------------------------------------------------------------- */

struct resume_cmd {
    const char *resume, *output, *metrics, *evals, *watch;
    struct shoal_save_opts save;
    unsigned threads;
    uint64_t memory;
    bool profile, trust;
    struct ranks_opts ranks;
    struct work_opts work;
};

static void resume_defaults(void *at)
{
    struct resume_cmd *cmd = at;

    *cmd = (struct resume_cmd){.save = shoal_save_default()};
    ranks_defaults(&cmd->ranks);
}

static int resume_check(const struct resume_cmd *cmd)
{
    if (!cmd->resume)
        return usage(&cmd_train, "found no MODEL and no --resume, want 'shoal train MODEL "
                                 "INPUT...' or 'shoal train --resume DIR'");
    return ranks_check(&cmd_train, &cmd->ranks, cmd->resume);
}

/* By the one rank that writes them. */
static shoal_status allow_old(struct job *job, const struct resume_cmd *cmd)
{
    struct writes w = {.n = 0};

    writes_add(&w, "output", job->output, cmd->output);
    writes_add(&w, "metrics", job->train.metrics, cmd->metrics);
    writes_add(&w, NULL, job->train.publish, false);
    return job_first(job) ? writes_allow(&w, &job->console, cmd->resume, cmd->trust) : SHOAL_OK;
}

static shoal_status read_old(struct job *job, const struct resume_cmd *cmd,
                             struct shoal_resume *last)
{
    shoal_status st = shoal_resume_read(last, cmd->resume);

    if (st != SHOAL_OK)
        return st;
    job->train = last->opts;
    job->save = cmd->save;
    job->output = cmd->output ? cmd->output : last->opts.output;
    if (cmd->threads > 0)
        job->train.threads = cmd->threads;
    if (cmd->metrics)
        job->train.metrics = cmd->metrics;
    job->train.memory_limit = cmd->memory;
    ranks_apply(&job->train, &cmd->ranks);
    if (!job->output)
        st = shoal_fail(SHOAL_EINVAL, "%s remembers no output, want --output FILE", cmd->resume);
    return st == SHOAL_OK ? allow_old(job, cmd) : st;
}

static shoal_status resume(struct job *job, const struct resume_cmd *cmd, struct shoal_resume *last)
{
    shoal_status st = job_agree(job, read_old(job, cmd, last));

    if (st == SHOAL_OK)
        st = prepare(job, cmd->evals);
    if (st == SHOAL_OK)
        st = job_open_remembered(job);
    if (st != SHOAL_OK)
        return st;
    console_log(&job->console, STYLE_PLAIN, "going on at %.1f %%", 100 * last->progress);
    return job_run(job);
}

/* A run of a net is its own command again, with what was said anew. */
static bool resume_net(const struct resume_cmd *cmd, int *code)
{
    return net_resume(&(struct net_again){.folder = cmd->resume,
                                          .output = cmd->output,
                                          .metrics = cmd->metrics,
                                          .watch = cmd->watch,
                                          .threads = cmd->threads,
                                          .quiet = cmd->work.quiet,
                                          .trust = cmd->trust},
                      code);
}

static int resume_run(const void *at, const char *const *args, size_t nargs)
{
    const struct resume_cmd *cmd = at;
    struct shoal_resume last = {0};
    struct job job = {.profile = cmd->profile, .watch = cmd->watch};
    shoal_status st;
    int code = resume_check(cmd);

    (void)args;
    (void)nargs;
    if (code != EXIT_DONE || resume_net(cmd, &code))
        return code;
    st = job_join(&job, cmd->work.quiet);
    if (st == SHOAL_OK)
        st = resume(&job, cmd, &last);
    code = job_leave(&job, st);
    shoal_resume_free(&last);
    return code;
}

static bool resume_elsewhere(const void *at, const struct parsed *parsed, int *code)
{
    const struct resume_cmd *cmd = at;
    struct launch l = {.verb = &cmd_train,
                       .parsed = parsed,
                       .resumed = &cmd_train,
                       .opts = &cmd->ranks.launch,
                       .folder = cmd->resume,
                       .data_out = cmd->output && strcmp(cmd->output, "-") == 0};

    if (!launch_wanted(l.opts))
        return false;
    *code = resume_check(cmd);
    if (*code == EXIT_DONE)
        *code = launch(&l);
    return true;
}

#undef ON
#define ON(member) FIELD(struct resume_cmd, member)

static const struct opt resume_opts[] = {
    {"resume", .kind = OPT_PATH, ON(resume), .arg = "DIR",
     .help = "go on from the last checkpoint of this folder"},
    {"output", 'o', OPT_PATH, ON(output), .arg = "FILE",
     .help = "write the vectors here, not where they were to go"},
    {"format", .kind = OPT_CHOICE, ON(save.format), .arg = "NAME", .choices = format_choices,
     .help = "how to write them"},
    {"threads", .kind = OPT_U64, ON(threads), .arg = "N", .u = {0, 1024},
     .help = "threads to work with", .zero = "as before"},
    {"memory", .kind = OPT_SIZE, ON(memory), .arg = "LIMIT", .u = {0, UINT64_MAX},
     .help = "refuse to need more memory", .zero = "what the machine has free"},
    {"eval", .kind = OPT_PATH, ON(evals), .arg = "FILE,...",
     .help = "after each epoch score the vectors on these questions"},
    {"metrics", .kind = OPT_PATH, ON(metrics), .arg = "FILE",
     .help = "append what is reported to this file, not to the one before"},
    {"trust", .kind = OPT_FLAG, ON(trust),
     .help = "write the files that the checkpoint names wherever they are, not only below this "
             "folder"},
    {"watch", .kind = OPT_STRING, ON(watch), .arg = "HOST:PORT",
     .help = "show the report of the run, as `shoal report` draws it, in a browser while it "
             "runs; :PORT is for this machine alone"},
    {"profile", .kind = OPT_FLAG, ON(profile),
     .help = "say where the time went, rank by rank, and what limits the run"},
    {0},
};

const struct verb cmd_train = {
    .name = "shoal train",
    .summary = "learn a model",
    .about = "Trains a model, with all cores and in memory that is known before the start. Without "
             "a MODEL a run that was stopped goes on from its last checkpoint, with the options, "
             "the corpus and the output that it had. It says which files it will write; those "
             "outside of the folder it is started in must be named again, or be trusted.",
    .operands =
        (const struct operand[]){{.name = "MODEL", .help = "a model, below", .optional = true},
                                 {0}},
    .groups =
        (const struct opt_group[]){
            {"Going on", resume_opts, .at = 0},
            {"Several ranks, as before unless given", ranks_opts,
             .at = offsetof(struct resume_cmd, ranks)},
            {"General", work_opts, .at = offsetof(struct resume_cmd, work)},
            {0},
        },
    .kind_word = "model",
    .kinds = (const struct verb *const[]){&train_cbow, &train_skipgram, &train_logreg, &train_mlp,
                                          &train_nextword, &train_vgg, NULL},
    .opts_size = sizeof(struct resume_cmd),
    .defaults = resume_defaults,
    .run = resume_run,
    .elsewhere = resume_elsewhere,
};
