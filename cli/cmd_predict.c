/* shoal predict: what does a model say of this? The model's file says which kind it
 * is, and so what the inputs are. */
#include "model.h"

#include <string.h>

static void predict_defaults(void *at)
{
    *(struct predict_cmd *)at = (struct predict_cmd){.read = shoal_clicks_default()};
}

static int predict_run(const void *at, const char *const *args, size_t nargs)
{
    char kind[32];

    if (shoal_kind(args[0], kind) && strcmp(kind, "logreg") == 0)
        return predict_logreg(at, args[0], args + 1, nargs - 1);
    return console_fail("%s: is no model that predicts, want one from `shoal train logreg`",
                        args[0]);
}

#define ON(member) FIELD(struct predict_cmd, member)

static const struct opt output_opts[] = {
    {"output", 'o', OPT_PATH, ON(output), .arg = "FILE",
     .help = "write the answers here, not to standard output"},
    {0},
};

const struct verb cmd_predict = {
    .name = "shoal predict",
    .summary = "answer with a trained model",
    .about = "Of a click model: the probability of each row, one a line, in the order of the "
             "input, as fast as it comes. Rows are read as those that were learned; they need no "
             "label.",
    .operands =
        (const struct operand[]){
            {.name = "MODEL", .help = "a model that `shoal train` wrote"},
            {"INPUT", "rows: files, folders, quoted globs, or - for standard input", .many = true},
            {0},
        },
    .groups =
        (const struct opt_group[]){
            {"Output", output_opts, .at = 0},
            {"Reading rows, as the model does unless given", clicks_again_opts,
             .at = offsetof(struct predict_cmd, read)},
            {"General", work_opts, .at = offsetof(struct predict_cmd, work)},
            {0},
        },
    .examples =
        (const struct example[]){
            {"shoal predict model.shoal new.tsv > probabilities.txt", "one line for each row"},
            {"tail -f clicks.tsv | shoal predict model.shoal -", "rows as they come"},
            {0},
        },
    .opts_size = sizeof(struct predict_cmd),
    .defaults = predict_defaults,
    .run = predict_run,
};
