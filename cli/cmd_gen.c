/* shoal gen: make data to learn from. Each kind is a verb of its own below. */
#include "cmd.h"

#include <string.h>

/* ---- world --------------------------------------------------------------------- */

struct world_cmd {
    struct shoal_world_opts world;
    struct work_opts work;
    const char *output;
    const char *questions;
};

static const struct verb gen_world;

static void world_defaults(void *at)
{
    *(struct world_cmd *)at = (struct world_cmd){.world = shoal_world_default(), .output = "-"};
}

static void report_world(struct console *c, const struct world_cmd *cmd,
                         const struct shoal_world_stats *stats)
{
    console_row(c, "words", number_count(stats->words).text, "in %s of text",
                number_size(stats->bytes).text);
    console_row(c, "sentences", number_count(stats->sentences).text, NULL);
    if (cmd->questions)
        console_row(c, "questions", number_count(stats->questions).text, "in %s sections",
                    number_count(stats->sections).text);
    console_row(c, "took", number_seconds(console_seconds(c)).text, NULL);
}

static int world_run(const void *at, const char *const *args, size_t nargs)
{
    struct world_cmd cmd = *(const struct world_cmd *)at;
    struct shoal_world_stats stats = {0};
    struct console console;
    bool questions_out = cmd.questions && strcmp(cmd.questions, "-") == 0;
    shoal_status st;

    (void)args;
    (void)nargs;
    if (questions_out && strcmp(cmd.output, "-") == 0)
        return usage(&gen_world, "--output and --questions are both '-', want a file name for one");
    console_init(&console, cmd.work.quiet, questions_out ? "-" : cmd.output);
    cmd.world.watch = console_watch(&console);
    st = shoal_world_write(cmd.output, cmd.questions, &cmd.world, &stats);
    if (st == SHOAL_OK)
        report_world(&console, &cmd, &stats);
    return console_finish(&console, st);
}

static const struct shoal_option world_opts[] = {
    {"words", .type = SHOAL_TYPE_COUNT, SHOAL_FIELD(struct world_cmd, world.words), .arg = "N",
     .u = {1, UINT64_MAX}, .help = "write about so many words"},
    {"seed", .type = SHOAL_TYPE_COUNT, SHOAL_FIELD(struct world_cmd, world.seed), .arg = "N",
     .u = {0, UINT64_MAX}, .help = "the same seed gives the same bytes"},
    {"output", 'o', SHOAL_TYPE_PATH, SHOAL_FIELD(struct world_cmd, output), .arg = "FILE",
     .help = "write the text here, - for standard output"},
    {"questions", .type = SHOAL_TYPE_PATH, SHOAL_FIELD(struct world_cmd, questions), .arg = "FILE",
     .help = "write analogy questions about it here"},
    {0},
};

static const struct verb gen_world = {
    .name = "shoal gen world",
    .summary = "English-like sentences over planted facts",
    .about = "Writes text about a made-up world, one sentence a line, and the analogy questions "
             "that good word vectors of it answer.",
    .operands = (const struct operand[]){{0}},
    .groups =
        (const struct shoal_option_group[]){
            {"The world", world_opts, .at = 0},
            {"General", work_opts, .at = offsetof(struct world_cmd, work)},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal gen world --words 3000000 --seed 1 -o text.txt --questions analogies.txt",
             "text and questions"},
            {"shoal gen world --words 50 -q", "look at a few sentences"},
            {0},
        },
    .opts_size = sizeof(struct world_cmd),
    .defaults = world_defaults,
    .run = world_run,
};

/* ---- clicks ---------------------------------------------------------------------- */

struct clicks_cmd {
    struct shoal_gen_clicks_opts clicks;
    struct work_opts work;
    const char *output;
};

static void clicks_defaults(void *at)
{
    *(struct clicks_cmd *)at =
        (struct clicks_cmd){.clicks = shoal_gen_clicks_default(), .output = "-"};
}

static void row_loss(struct console *c, const char *label, double loss, const char *note)
{
    char text[32];

    snprintf(text, sizeof text, "%.5f", loss);
    console_row(c, label, text, "%s", note);
}

static void report_made(struct console *c, const struct shoal_gen_clicks_stats *stats)
{
    console_row(c, "rows", number_count(stats->rows).text, "in %s of text",
                number_size(stats->bytes).text);
    console_row(c, "positive", number_count(stats->positives).text, "%s",
                number_percent((double)stats->positives, (double)stats->rows).text);
    console_row(c, "weights", number_count(stats->weights).text, "planted");
    row_loss(c, "best", stats->entropy, "log-loss to be expected of the planted weights");
    row_loss(c, "here", stats->logloss, "their log-loss on these labels");
    console_row(c, "took", number_seconds(console_seconds(c)).text, NULL);
}

static int clicks_run(const void *at, const char *const *args, size_t nargs)
{
    struct clicks_cmd cmd = *(const struct clicks_cmd *)at;
    struct shoal_gen_clicks_stats stats = {0};
    struct console console;
    shoal_status st;

    (void)args;
    (void)nargs;
    console_init(&console, cmd.work.quiet, cmd.output);
    cmd.clicks.watch = console_watch(&console);
    st = shoal_gen_clicks(cmd.output, &cmd.clicks, &stats);
    if (st == SHOAL_OK)
        report_made(&console, &stats);
    return console_finish(&console, st);
}

#define CLICKS(member) SHOAL_FIELD(struct clicks_cmd, clicks.member)

static const struct shoal_choice clicks_formats[] = {
    [SHOAL_CLICKS_AUTO] = {"auto", "Criteo's"},
    [SHOAL_CLICKS_LIBSVM] = {"libsvm", "label index:value ..."},
    [SHOAL_CLICKS_VW] = {"vw", "Vowpal Wabbit's"},
    [SHOAL_CLICKS_CRITEO] = {"criteo", "label, 13 integers and 26 categories between tabs"},
    [SHOAL_CLICKS_CSV] = {"csv", "fields between commas below a line of names"},
    {0},
};

static const struct shoal_option gen_clicks_opts[] = {
    {"rows", .type = SHOAL_TYPE_COUNT, CLICKS(rows), .arg = "N", .u = {1, UINT64_MAX},
     .help = "write so many rows"},
    {"first", .type = SHOAL_TYPE_COUNT, CLICKS(first), .arg = "N", .u = {0, UINT64_MAX},
     .help = "begin with row N of the world: rows behind those of a training file test what was "
             "learnt from it"},
    {"seed", .type = SHOAL_TYPE_COUNT, CLICKS(seed), .arg = "N", .u = {0, UINT64_MAX},
     .help = "the same seed gives the same weights and rows"},
    {"format", .type = SHOAL_TYPE_CHOICE, CLICKS(format), .arg = "FORMAT",
     .choices = clicks_formats, .help = "how to write them"},
    {"threads", .type = SHOAL_TYPE_COUNT, CLICKS(threads), .arg = "N", .u = {0, 1024},
     .help = "threads to work with", .zero = "one for each core"},
    {"output", 'o', SHOAL_TYPE_PATH, SHOAL_FIELD(struct clicks_cmd, output), .arg = "FILE",
     .help = "write the rows here, - for standard output"},
    {0},
};

static const struct verb gen_clicks = {
    .name = "shoal gen clicks",
    .summary = "click data drawn from planted weights",
    .about = "Writes rows like Criteo's, 13 integers and 26 categories of Zipf's law, some of them "
             "missing. The labels are drawn by a logistic model with planted weights, about one in "
             "four being 1, and so the best log-loss that can be reached is known: it is printed.",
    .operands = (const struct operand[]){{0}},
    .groups =
        (const struct shoal_option_group[]){
            {"Clicks", gen_clicks_opts, .at = 0},
            {"General", work_opts, .at = offsetof(struct clicks_cmd, work)},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal gen clicks --rows 1000000 -o train.tsv", "rows to learn from"},
            {"shoal gen clicks --first 1000000 --rows 100000 -o test.tsv",
             "and others of the same world"},
            {0},
        },
    .opts_size = sizeof(struct clicks_cmd),
    .defaults = clicks_defaults,
    .run = clicks_run,
};

/* ---- gen ----------------------------------------------------------------------- */

const struct verb cmd_gen = {
    .name = "shoal gen",
    .summary = "make data to learn from",
    .about = "Data whose right answers are known, the same for the same seed.",
    .operands = (const struct operand[]){{.name = "KIND", .help = "a kind of data, below"}, {0}},
    .groups = (const struct shoal_option_group[]){{"General", help_opts, .at = 0}, {0}},
    .kind_word = "kind",
    .kinds = (const struct verb *const[]){&gen_world, &gen_clicks, &gen_people, &gen_news,
                                          &gen_spiral, &gen_blobs, &gen_pictures, NULL},
};
