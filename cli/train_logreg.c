/* shoal train logreg: a click model. */
#include "train.h"

#include <stdlib.h>
#include <string.h>

bool job_clicks(const struct job *job)
{
    return job->train.model == SHOAL_LOGREG;
}

/* ---- Data ---------------------------------------------------------------------------- */

static void show_clicks(struct job *job, const struct shoal_clicks_stats *stats)
{
    struct console *c = &job->console;

    console_heading(c, "clicks");
    report_clicks(c, stats);
    if (job_first(job))
        warn_clicks(c, stats);
}

/* The first rank reads; the others wait. */
shoal_status job_encode_clicks(struct job *job, const char *path, const char *const *inputs,
                               size_t ninputs)
{
    struct shoal_clicks_stats stats = {0};
    shoal_status st = SHOAL_OK;

    job->read.watch = console_watch(&job->console);
    if (job_first(job))
        st = shoal_clicks_encode(path, inputs, ninputs, &job->read, &stats);
    st = job_agree(job, st);
    if (st == SHOAL_OK)
        show_clicks(job, &stats);
    return st;
}

/* Rows take about as much memory as their text, but some, and what is compressed, more. */
#define TEXT_GROWS 8

/* Whether rows are kept in memory: nobody else needs them, there is room, and each input can
 * be read again if they do not fit after all. */
static bool keeps_rows(const struct job *job, const char *const *inputs, size_t ninputs)
{
    struct shoal_clicks_plan plan;

    return shoal_ranks_size(job->ranks) <= 1 &&
           shoal_clicks_plan(&plan, job->output, inputs, ninputs, &job->read) == SHOAL_OK &&
           !plan.streamed && plan.input_bytes < plan.memory_free / TEXT_GROWS;
}

shoal_status job_keep_clicks(struct job *job, const char *const *inputs, size_t ninputs)
{
    struct shoal_clicks_stats stats = {0};
    shoal_status st = SHOAL_ELIMIT;

    job->read.watch = console_watch(&job->console);
    if (keeps_rows(job, inputs, ninputs))
        st = shoal_clicks_read(&job->clicks, inputs, ninputs, &job->read, &stats);
    if (st == SHOAL_OK)
        show_clicks(job, &stats);
    return st;
}

/* What is held out is read as the data was. */
static shoal_status open_valid(struct job *job)
{
    struct shoal_clicks_opts read = shoal_clicks_like(job->clicks);
    struct shoal_clicks_stats stats = {0};
    const char *path = job->train.logreg.valid_path;
    char kind[32];
    shoal_status st;

    if (!path)
        return SHOAL_OK;
    read.skip_bad = job->read.skip_bad;
    read.threads = job->train.threads;
    if (shoal_kind(path, kind))
        st = shoal_clicks_open(&job->valid, path);
    else
        st = shoal_clicks_read(&job->valid, &path, 1, &read, &stats);
    if (st == SHOAL_OK && job_first(job))
        warn_clicks(&job->console, &stats);
    job->train.logreg.valid = job->valid;
    return st;
}

/* ---- The job -------------------------------------------------------------------------- */

static shoal_status check_job(const struct job *job)
{
    if (job->train.local_input)
        return shoal_fail(SHOAL_EINVAL, "%s", NO_OWN_ROWS);
    return SHOAL_OK;
}

shoal_status job_run_logreg(struct job *job)
{
    struct shoal_train_plan plan = {0};
    struct shoal_train_stats stats = {0};
    shoal_logreg *model = NULL;
    shoal_status st = check_job(job);

    if (st == SHOAL_OK)
        st = open_valid(job);
    if (st == SHOAL_OK)
        st = shoal_logreg_plan(&plan, job->clicks, &job->train);
    st = job_agree(job, st);
    if (st == SHOAL_OK) {
        view_plan(job, &plan);
        job->training = true;
        st = job_agree(job, shoal_train_logreg(&model, job->clicks, &job->train, &stats));
    }
    if (st == SHOAL_OK)
        st = job_agree(job, job_first(job) ? shoal_logreg_save(model, job->output) : SHOAL_OK);
    if (st == SHOAL_OK)
        view_result(job, &plan, &stats);
    shoal_logreg_close(model);
    return st;
}

/* ---- The verb -------------------------------------------------------------------------- */

static void logreg_defaults(void *at)
{
    struct train_cmd *cmd = at;

    *cmd = (struct train_cmd){.train = shoal_train_default(SHOAL_LOGREG),
                              .encode = shoal_encode_default(),
                              .read = shoal_clicks_default(),
                              .save = shoal_save_default()};
    ranks_defaults(&cmd->ranks);
}

static const struct choice optimizer_choices[] = {
    [SHOAL_SGD] = {"sgd", "plain steps"},
    [SHOAL_ADAGRAD] = {"adagrad", "smaller ones where there were many (Duchi et al. 2011)"},
    [SHOAL_FTRL] = {"ftrl", "FTRL-Proximal (McMahan et al. 2013)"},
    {0},
};

#define ON(member) FIELD(struct train_cmd, member)

static const struct opt output_opts[] = {
    {"output", 'o', OPT_PATH, ON(output), .arg = "FILE", .required = true,
     .help = "write the model here"},
    {0},
};

static const struct opt model_opts[] = {
    {"optimizer", .kind = OPT_CHOICE, ON(train.logreg.optimizer), .arg = "NAME",
     .choices = optimizer_choices, .help = "how a weight moves"},
    {"l1", .kind = OPT_DOUBLE, ON(train.logreg.l1), .arg = "X", .d = {0, 1e9},
     .help = "pull the weights of each row's features to 0, which makes many of them 0"},
    {"l2", .kind = OPT_DOUBLE, ON(train.logreg.l2), .arg = "X", .d = {0, 1e9},
     .help = "the same in proportion to their size"},
    {"beta", .kind = OPT_DOUBLE, ON(train.logreg.beta), .arg = "X", .d = {0, 1e9},
     .help = "added to the root of summed squares (adagrad, ftrl): smooths the first steps"},
    {"class-weight", .kind = OPT_DOUBLE, ON(train.logreg.positive), .arg = "X", .d = {0, 1e9},
     .help = "how much a row of class 1 counts beside one of class 0"},
    {0},
};

static const struct opt training_opts[] = {
    {"epochs", .kind = OPT_U64, ON(train.epochs), .arg = "N", .u = {1, 100000},
     .help = "times through the rows"},
    {"batch", .kind = OPT_U64, ON(train.batch), .arg = "N", .u = {1, 65536},
     .help = "rows of a step, whose gradients are averaged"},
    {"lr", .kind = OPT_DOUBLE, ON(train.lr), .arg = "RATE", .d = {0, 10},
     .help = "the learning rate at the start",
     .zero = "0.05 for ftrl and adagrad, 0.01 for sgd"},
    {"schedule", .kind = OPT_CHOICE, ON(train.schedule), .arg = "NAME", .choices = schedule_choices,
     .help = "how the rate goes on; that of ftrl falls by itself"},
    {"decay", .kind = OPT_DOUBLE, ON(train.decay), .arg = "X", .d = {0, 1e6},
     .help = "how fast it falls (inverse-time)"},
    {0},
};

static const struct opt held_opts[] = {
    {"valid", .kind = OPT_PATH, ON(train.logreg.valid_path), .arg = "FILE",
     .help = "hold these rows out, and report how well they are predicted"},
    {"valid-share", .kind = OPT_CUSTOM, ON(train.valid), .arg = "SHARE", .custom = &train_share,
     .help = "the same for this share or percent of the rows, at their end"},
    {"eval-every", .kind = OPT_U64, ON(train.logreg.eval_every), .arg = "N", .u = {0, UINT64_MAX},
     .help = "look at them each time so many rows were learned", .zero = "after each epoch"},
    {"early-stop", .kind = OPT_U64, ON(train.logreg.early_stop), .arg = "N", .u = {0, 1000000},
     .help = "stop when so many looks brought no better log-loss", .zero = "never"},
    {0},
};

const struct verb train_logreg = {
    .name = "shoal train logreg",
    .summary = "logistic regression on click data: which rows are clicked?",
    .about = "A weight for each feature of sparse rows, features hashed into 2^bits slots. Rows are "
             "libsvm, Vowpal Wabbit, Criteo's TSV or CSV, and are encoded first; a file from `shoal "
             "encode --as clicks` starts at once. The loss that is reported is that of each row "
             "before it was learned, as Vowpal Wabbit's.\n"
             "With --checkpoint a run that was stopped, by Ctrl-C or by a crash, goes on with "
             "`shoal train --resume DIR`.",
    .operands =
        (const struct operand[]){
            {"INPUT",
             "rows: files, folders, quoted globs, or - for standard input; gzip and zstd are "
             "recognised by content; or one file from `shoal encode --as clicks`",
             .many = true},
            {0}},
    .groups =
        (const struct opt_group[]){
            {"Output", output_opts, .at = 0},
            {"Model", model_opts, .at = 0},
            {"Training", training_opts, .at = 0},
            {"Held out", held_opts, .at = 0},
            {"Machine", machine_opts, .at = 0},
            {"Checkpoints and metrics", run_opts, .at = 0},
            {"Several ranks", ranks_opts, .at = offsetof(struct train_cmd, ranks)},
            {"Reading rows", clicks_opts, .at = offsetof(struct train_cmd, read)},
            {"General", work_opts, .at = offsetof(struct train_cmd, work)},
            {0},
        },
    .examples =
        (const struct example[]){
            {"shoal train logreg clicks.tsv --valid test.tsv -o model.shoal",
             "one pass, and how well it predicts other rows"},
            {"shoal train logreg clicks.shoal --epochs 5 --l1 1 --early-stop 2 --valid test.tsv -o "
             "model.shoal",
             "several, until it gets no better, with few weights"},
            {"shoal train logreg clicks.shoal --ranks 4 --sync sync --batch 1000 -o model.shoal",
             "by four processes, in step"},
            {0},
        },
    .opts_size = sizeof(struct train_cmd),
    .defaults = logreg_defaults,
    .run = train_run,
    .elsewhere = train_elsewhere,
};
