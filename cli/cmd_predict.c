/* shoal predict: what does a model say of this? The model's file says which kind it
 * is, and so what the inputs are. */
#include "cmd.h"

#include <stdlib.h>
#include <unistd.h>

struct predict_cmd {
    struct shoal_ask_opts ask;
    struct work_opts work;
    const char *output; /* NULL: standard output */
    const char *classes;
};

static void predict_defaults(void *at)
{
    *(struct predict_cmd *)at = (struct predict_cmd){.ask = shoal_ask_default()};
}

/* Where the answers go. */
struct answers {
    shoal_output *to;
    char why[SHOAL_SENTENCE]; /* they cannot be written; "": they can */
};

/* A name among them may hold anything, which a terminal shall not obey. */
static bool put_lines(void *user, const char *text, size_t len)
{
    struct answers *a = user;
    char *safe = NULL;
    FILE *lines = open_memstream(&safe, &len);
    shoal_status st;

    if (lines)
        print_text(lines, text);
    if (lines && fclose(lines) == 0)
        st = shoal_output_write(a->to, safe, len);
    else
        st = shoal_fail(SHOAL_ENOMEM, "predict: no memory for the answers");
    if (st != SHOAL_OK)
        snprintf(a->why, sizeof a->why, "%s", shoal_error());
    free(safe);
    return st == SHOAL_OK && !signal_received();
}

static shoal_status predict(const struct predict_cmd *cmd, const char *const *args, size_t nargs,
                            struct shoal_clicks_stats *stats)
{
    struct answers answers = {.why = ""};
    struct shoal_ask_opts ask = cmd->ask;
    shoal_model *model = NULL;
    shoal_status st = shoal_model_open(&model, args[0]);

    ask.samples.task = SHOAL_INPUTS;
    ask.samples.table = ask.rows.table;
    if (st == SHOAL_OK && cmd->classes)
        st = shoal_model_name_classes(model, cmd->classes);
    if (st == SHOAL_OK)
        st = shoal_output_open(&answers.to, cmd->output ? cmd->output : "-");
    if (st == SHOAL_OK)
        st = shoal_model_predict(model, args + 1, nargs - 1, &ask, put_lines, &answers, stats);
    if (answers.why[0])
        st = shoal_fail(SHOAL_EIO, "%s", answers.why);
    st = shoal_output_end(answers.to, st);
    shoal_model_close(model);
    return st;
}

static int predict_run(const void *at, const char *const *args, size_t nargs)
{
    const struct predict_cmd *cmd = at;
    struct shoal_clicks_stats stats = {0};
    struct console console;
    shoal_status st;

    /* Why a file cannot be read is said where it is opened. */
    if (!shoal_model_predicts(args[0]) && access(args[0], R_OK) == 0)
        return console_fail("%s: is no model that predicts, want one from `shoal train logreg`, "
                            "`multinomial`, `classify`, `mlp`, `vgg` or `nextword`",
                            args[0]);
    console_init(&console, cmd->work.quiet, "-");
    st = predict(cmd, args, nargs, &stats);
    warn_clicks(&console, &stats);
    return console_finish(&console, st);
}

#define ON(member) SHOAL_FIELD(struct predict_cmd, member)

static const struct shoal_option continue_opts[] = {
    {"top", .type = SHOAL_TYPE_COUNT, ON(ask.top), .arg = "N", .u = {1, 1000},
     .help = "show so many of the likeliest next words"},
    {"vector", .type = SHOAL_TYPE_FLAG, ON(ask.vector),
     .help = "show the predicted vector instead, its numbers on one line"},
    {"nearest", 'k', SHOAL_TYPE_COUNT, ON(ask.nearest), .arg = "N", .u = {0, 1000},
     .help = "with --vector: and so many of the words nearest to it, by cosine; of text classes so "
             "many labels, default 1", .zero = "none"},
    {"threshold", .type = SHOAL_TYPE_REAL, ON(ask.threshold), .arg = "P", .d = {0, 1},
     .help = "of text classes: leave out labels that are less likely"},
    {"generate", .type = SHOAL_TYPE_COUNT, ON(ask.generate), .arg = "N", .u = {0, 100000},
     .help = "continue the text by so many words instead", .zero = "only show the next"},
    {"temperature", .type = SHOAL_TYPE_REAL, ON(ask.temperature), .arg = "X", .d = {0, 100},
     .help = "how daring: 1 draws words as likely as they are", .zero = "always the likeliest"},
    {"seed", .type = SHOAL_TYPE_COUNT, ON(ask.seed), .arg = "N", .u = {0, UINT64_MAX},
     .help = "of what is drawn"},
    {0},
};

static const struct shoal_option output_opts[] = {
    {"output", 'o', SHOAL_TYPE_PATH, ON(output), .arg = "FILE",
     .help = "write the answers here, not to standard output"},
    {"class-index", .type = SHOAL_TYPE_PATH, ON(classes), .arg = "FILE",
     .help = "call classes by these names: JSON as TorchServe's index_to_name.json, or a line "
             "each; indices: by their numbers"},
    {0},
};

const struct verb cmd_predict = {
    .name = "shoal predict",
    .summary = "answer with a trained model",
    .about = "Of a click model: the probability of each row, one a line, in the order of the "
             "input, as fast as it comes. Rows are read as those that were learned; they need no "
             "label.\n"
             "Of a net on samples: for each row its class and the probability of every class, with "
             "tabs between, or the numbers it predicts. Rows may hold the answers too, which are "
             "then left aside.\n"
             "Of a net on pictures: the five likeliest classes of each JPEG or PNG file, which is "
             "scaled and cut as those it learned from.\n"
             "Of a net on words: the likeliest next words of the text with their probabilities, the "
             "vector that it predicts (--vector), or the text continued.",
    .operands =
        (const struct operand[]){
            {.name = "MODEL", .help = "a model that `shoal train` wrote"},
            {"INPUT",
             "rows for a click model: files, folders, quoted globs, or - for standard input; "
             "samples for a net: CSV, .npy or IDX; pictures: JPEG, PNG; or a text to continue",
             .many = true},
            {0},
        },
    .groups =
        (const struct shoal_option_group[]){
            {"Output", output_opts, .at = 0},
            {"Reading rows, as the model does unless given", shoal_rows_again_options,
             .at = offsetof(struct predict_cmd, ask.rows)},
            {"Samples for nets", shoal_samples_options,
             .at = offsetof(struct predict_cmd, ask.samples)},
            {"Reading tables, as the model does unless given", shoal_table_again_options,
             .at = offsetof(struct predict_cmd, ask.rows.table)},
            {"Continuing text", continue_opts, .at = 0},
            {"General", work_opts, .at = offsetof(struct predict_cmd, work)},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal predict model.shoal new.tsv > probabilities.txt", "one line for each row"},
            {"tail -f clicks.tsv | shoal predict model.shoal -", "rows as they come"},
            {"shoal predict net.shoal new.csv > answers.tsv", "the classes of samples"},
            {"shoal predict vgg.shoal kitten.jpg", "the likeliest classes of a picture"},
            {"shoal predict next.shoal \"the king of\"", "the likeliest next words"},
            {"shoal predict next.shoal \"the king of\" --vector -k 5",
             "the predicted vector and the words nearest to it"},
            {0},
        },
    .opts_size = sizeof(struct predict_cmd),
    .defaults = predict_defaults,
    .run = predict_run,
};
