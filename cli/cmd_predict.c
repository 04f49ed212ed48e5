/* shoal predict: what does a model say of this? The model's file says which kind it
 * is, and so what the inputs are. */
#include "model.h"
#include "nets.h"

#include <string.h>

struct predict_any {
    struct predict_cmd rows;    /* of click models */
    struct samples_cmd samples; /* of nets */
    struct continue_cmd text;   /* of nets on words */
};

static void predict_defaults(void *at)
{
    struct predict_any *cmd = at;

    *cmd = (struct predict_any){.rows = {.read = shoal_clicks_default()}};
    samples_defaults(&cmd->samples);
    continue_defaults(&cmd->text);
}

static int predict_run(const void *at, const char *const *args, size_t nargs)
{
    const struct predict_any *cmd = at;
    char kind[32];

    if (shoal_kind(args[0], kind) && strcmp(kind, "logreg") == 0)
        return predict_logreg(&cmd->rows, args[0], args + 1, nargs - 1);
    if (shoal_kind(args[0], kind) && strcmp(kind, "net") == 0)
        return predict_net(&cmd->samples, &cmd->text, args[0], args + 1, nargs - 1);
    return console_fail("%s: is no model that predicts, want one from `shoal train logreg`, `mlp`, "
                        "`vgg` or `nextword`",
                        args[0]);
}

#define ON(member) FIELD(struct predict_any, member)

static const struct opt output_opts[] = {
    {"output", 'o', OPT_PATH, ON(rows.output), .arg = "FILE",
     .help = "write the answers of a click model here, not to standard output"},
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
             "Of a net on words: the likeliest next words of the text with their probabilities, or "
             "the text continued.",
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
        (const struct opt_group[]){
            {"Output", output_opts, .at = 0},
            {"Reading rows, as the model does unless given", clicks_again_opts,
             .at = offsetof(struct predict_any, rows.read)},
            {"Samples for nets", samples_opts, .at = offsetof(struct predict_any, samples)},
            {"Continuing text", continue_opts, .at = offsetof(struct predict_any, text)},
            {"General", work_opts, .at = offsetof(struct predict_any, rows.work)},
            {0},
        },
    .examples =
        (const struct example[]){
            {"shoal predict model.shoal new.tsv > probabilities.txt", "one line for each row"},
            {"tail -f clicks.tsv | shoal predict model.shoal -", "rows as they come"},
            {"shoal predict net.shoal new.csv > answers.tsv", "the classes of samples"},
            {"shoal predict vgg.shoal kitten.jpg", "the likeliest classes of a picture"},
            {"shoal predict next.shoal \"the king of\"", "the likeliest next words"},
            {0},
        },
    .opts_size = sizeof(struct predict_any),
    .defaults = predict_defaults,
    .run = predict_run,
};
