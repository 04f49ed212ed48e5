/* shoal train: learn a model. Each model is a verb of its own below; without
 * one, a run that was stopped goes on. */
#include "train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct train_cmd {
    struct shoal_train_opts train;
    struct shoal_encode_opts encode;
    struct shoal_save_opts save;
    struct work_opts work;
    const char *output;
    const char *vocab_path;
    const char *resume;
    const char *evals;
};

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

static const struct opt_custom share = {read_share, show_share,
                                        "a share from 0 to 0.5, or a percent such as 0.1%"};

/* What one of a unit is in seconds, or in shares; 0 when there is no such. */
static double unit_of(const char *name)
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

static const struct opt_custom every = {read_every, show_every,
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
static int job_run(struct job *job)
{
    struct shoal_train_plan plan;
    struct shoal_train_stats stats = {0};
    shoal_vectors *vectors = NULL;
    shoal_status st = shoal_train_plan(&plan, job->corpus, &job->train);

    job->train.report = view_report;
    job->train.user = job;
    if (st == SHOAL_OK) {
        view_plan(job, &plan);
        st = shoal_train(&vectors, job->corpus, &job->train, &stats);
    }
    if (st == SHOAL_ESTOP && signal_came())
        return view_stopped(job);
    if (st == SHOAL_OK)
        st = save(job, vectors, &plan, &stats);
    shoal_vectors_close(vectors);
    return st == SHOAL_OK ? console_finish(&job->console, st) : view_failed(job, st);
}

/* What a checkpoint remembers must be true in any working folder. */
static void remember(struct job *job)
{
    job->train.output = job_absolute(job, job->output);
    if (job->train.checkpoint)
        job->train.metrics = job_absolute(job, job->train.metrics);
}

/* The suites of a list with commas between them; gives an exit code. */
static int open_evals(struct job *job, const char *list)
{
    char *names = list ? strdup(list) : NULL, *rest = names, *name;
    shoal_status st = SHOAL_OK;

    job->train.evals = (const shoal_eval *const *)job->evals;
    while (st == SHOAL_OK && (name = strsep(&rest, ",")) != NULL) {
        if (job->train.nevals == JOB_EVALS) {
            free(names);
            return console_fail("--eval has too many files, want at most %d", JOB_EVALS);
        }
        st = shoal_eval_open(&job->evals[job->train.nevals], name);
        job->train.nevals += st == SHOAL_OK;
    }
    free(names);
    return console_finish(&job->console, st);
}

/* ---- A model from its beginning, or with all its options repeated ------------------------ */

static void train_defaults(struct train_cmd *cmd, enum shoal_model model)
{
    *cmd = (struct train_cmd){.train = shoal_train_default(model),
                              .encode = shoal_encode_default(),
                              .save = shoal_save_default()};
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
    return cmd->train.model == SHOAL_CBOW ? &train_cbow : &train_skipgram;
}

/* How text is read says nothing about a corpus. */
static int check_text_opts(const struct train_cmd *cmd, const char *const *args, size_t nargs)
{
    struct shoal_vocab_opts defaults = shoal_vocab_default();
    const struct opt *changed = opts_changed(token_opts, &cmd->encode.vocab, &defaults);
    char kind[32];

    if (!changed)
        changed = opts_changed(vocab_opts, &cmd->encode.vocab, &defaults);
    if ((changed || cmd->vocab_path) && nargs == 1 && shoal_kind(args[0], kind))
        return usage(verb_of(cmd), "--%s does not go with '%s', which is encoded",
                     changed ? changed->name : "vocab", args[0]);
    return EXIT_DONE;
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
    return EXIT_DONE;
}

static struct job job_of(const struct train_cmd *cmd)
{
    struct job job = {.train = cmd->train,
                      .encode = cmd->encode,
                      .save = cmd->save,
                      .vocab_path = cmd->vocab_path,
                      .output = cmd->output};

    console_init(&job.console, cmd->work.quiet, cmd->output);
    job.encode.vocab.threads = cmd->train.threads;
    job.encode.memory_limit = cmd->train.memory_limit;
    if (cmd->resume) {
        job.train.checkpoint = cmd->resume;
        job.train.resume = true;
    }
    return job;
}

static int train_run(const void *at, const char *const *args, size_t nargs)
{
    const struct train_cmd *cmd = at;
    struct job job;
    int code = check_words(cmd);

    if (code == EXIT_DONE)
        code = check_text_opts(cmd, args, nargs);
    if (code != EXIT_DONE)
        return code;
    job = job_of(cmd);
    remember(&job);
    code = job_check_output(&job);
    if (code == EXIT_DONE)
        code = console_finish(&job.console, shoal_train_check(&job.train));
    if (code == EXIT_DONE)
        code = open_evals(&job, cmd->evals);
    if (code == EXIT_DONE)
        code = job_open_inputs(&job, args, nargs);
    if (code == EXIT_DONE)
        code = job_run(&job);
    job_fini(&job);
    return code;
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
    {"valid", .kind = OPT_CUSTOM, ON(train.valid), .arg = "SHARE", .custom = &share,
     .help = "hold out this share or percent of the text, at its end, and report its loss"},
    {0},
};

static const struct opt machine_opts[] = {
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

static const struct opt run_opts[] = {
    {"checkpoint", .kind = OPT_PATH, ON(train.checkpoint), .arg = "DIR",
     .help = "save the whole state in this folder now and then, and when stopped"},
    {"checkpoint-every", .kind = OPT_CUSTOM, ON(train), .arg = "TIME", .custom = &every,
     .help = "how often: after a time (60s, 5m, 2h), a percent of the run, or each epoch"},
    {"resume", .kind = OPT_PATH, ON(resume), .arg = "DIR",
     .help = "go on from the last checkpoint of this folder, which must be of this very run"},
    {"eval", .kind = OPT_PATH, ON(evals), .arg = "FILE,...",
     .help = "after each epoch score the vectors on these questions, as `shoal eval` does"},
    {"metrics", .kind = OPT_PATH, ON(train.metrics), .arg = "FILE",
     .help = "write what is reported as JSON, one object a line"},
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
            {0},
        },
    .opts_size = sizeof(struct train_cmd),
    .defaults = cbow_defaults,
    .run = train_run,
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
};

/* ---- Going on ---------------------------------------------------------------------------- */

struct resume_cmd {
    const char *resume, *output, *metrics, *evals;
    struct shoal_save_opts save;
    unsigned threads;
    uint64_t memory;
    struct work_opts work;
};

static void resume_defaults(void *at)
{
    *(struct resume_cmd *)at = (struct resume_cmd){.save = shoal_save_default()};
}

static struct job job_resumed(const struct resume_cmd *cmd, const struct shoal_train_opts *old)
{
    struct job job = {.train = *old, .save = cmd->save};

    job.output = cmd->output ? cmd->output : old->output;
    console_init(&job.console, cmd->work.quiet, job.output);
    if (cmd->threads > 0)
        job.train.threads = cmd->threads;
    if (cmd->metrics)
        job.train.metrics = cmd->metrics;
    job.train.memory_limit = cmd->memory;
    return job;
}

static int resume(const struct resume_cmd *cmd, const struct shoal_resume *last)
{
    struct job job = job_resumed(cmd, &last->opts);
    int code;

    if (!job.output)
        return usage(&cmd_train, "%s remembers no output, want --output FILE", cmd->resume);
    remember(&job);
    code = job_check_output(&job);
    if (code == EXIT_DONE)
        code = open_evals(&job, cmd->evals);
    if (code == EXIT_DONE)
        code = job_open_remembered(&job);
    if (code == EXIT_DONE) {
        console_log(&job.console, STYLE_PLAIN, "going on at %.1f %%", 100 * last->progress);
        code = job_run(&job);
    }
    job_fini(&job);
    return code;
}

static int resume_run(const void *at, const char *const *args, size_t nargs)
{
    const struct resume_cmd *cmd = at;
    struct shoal_resume last;
    int code;

    (void)args;
    (void)nargs;
    if (!cmd->resume)
        return usage(&cmd_train, "found no MODEL and no --resume, want 'shoal train MODEL "
                                 "INPUT...' or 'shoal train --resume DIR'");
    if (shoal_resume_read(&last, cmd->resume) != SHOAL_OK)
        return console_fail("%s", shoal_error());
    code = resume(cmd, &last);
    shoal_resume_free(&last);
    return code;
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
    {0},
};

const struct verb cmd_train = {
    .name = "shoal train",
    .summary = "learn a model",
    .about = "Trains a model, with all cores and in memory that is known before the start. Without "
             "a MODEL a run that was stopped goes on from its last checkpoint, with the options, "
             "the corpus and the output that it had.",
    .operands =
        (const struct operand[]){{.name = "MODEL", .help = "a model, below", .optional = true},
                                 {0}},
    .groups =
        (const struct opt_group[]){
            {"Going on", resume_opts, .at = 0},
            {"General", work_opts, .at = offsetof(struct resume_cmd, work)},
            {0},
        },
    .kind_word = "model",
    .kinds = (const struct verb *const[]){&train_cbow, &train_skipgram, NULL},
    .opts_size = sizeof(struct resume_cmd),
    .defaults = resume_defaults,
    .run = resume_run,
};
