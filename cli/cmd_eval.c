/* shoal eval: what do vectors, or models, know? */
#include "model.h"
#include "cmd.h"

#include <stdlib.h>

struct eval_cmd {
    struct shoal_ask_opts ask;
    bool cosmul, json;
    struct work_opts work;
};

static void eval_defaults(void *at)
{
    *(struct eval_cmd *)at = (struct eval_cmd){.ask = shoal_ask_default()};
}

static shoal_status eval(const struct eval_cmd *cmd, const char *const *args, size_t nargs,
                         const struct shoal_reporter *to, struct shoal_clicks_stats *stats)
{
    struct shoal_ask_opts ask = cmd->ask;
    shoal_model *model = NULL;
    shoal_status st = shoal_model_open(&model, args[0]);

    ask.words.how = cmd->cosmul ? SHOAL_3COSMUL : SHOAL_3COSADD;
    ask.samples.task = SHOAL_CLASSIFY;
    ask.samples.table = ask.rows.table;
    if (st == SHOAL_OK)
        st = shoal_model_eval(model, args + 1, nargs - 1, &ask, to, stats);
    shoal_model_close(model);
    return st;
}

/* The list is printed when it is complete: half of one would be no JSON. */
static shoal_status eval_json(const struct eval_cmd *cmd, const char *const *args, size_t nargs,
                              struct model_view *view, struct shoal_clicks_stats *stats)
{
    struct shoal_reporter to = model_json_reporter(view);
    char *text = NULL;
    size_t len;
    shoal_status st;

    view->path = args[0];
    view->json.to = open_memstream(&text, &len);
    if (!view->json.to)
        return shoal_fail(SHOAL_ENOMEM, "eval: no memory for what it found");
    st = eval(cmd, args, nargs, &to, stats);
    model_json_end(view);
    if (fclose(view->json.to) != 0)
        st = shoal_fail(SHOAL_ENOMEM, "eval: no memory for what it found");
    else if (st == SHOAL_OK || !view->list)
        fputs(text, stdout);
    free(text);
    return st;
}

static int eval_run(const void *at, const char *const *args, size_t nargs)
{
    const struct eval_cmd *cmd = at;
    struct shoal_clicks_stats stats = {0};
    struct console console;
    struct model_view view = {.console = &console, .bars = true};
    struct shoal_reporter to = model_reporter(&view);
    shoal_status st;

    signals_release();
    console_init(&console, cmd->work.quiet, NULL);
    st = cmd->json ? eval_json(cmd, args, nargs, &view, &stats)
                   : eval(cmd, args, nargs, &to, &stats);
    warn_clicks(&console, &stats);
    return console_finish(&console, st);
}

#define ON(member) SHOAL_FIELD(struct eval_cmd, member)

static const struct shoal_option eval_opts[] = {
    {"top-words", .type = SHOAL_TYPE_COUNT, ON(ask.words.top_words), .arg = "N", .u = {0, UINT32_MAX - 1},
     .help = "ask and answer with the first so many words, by custom the commonest", .zero = "all"},
    {"cosmul", .type = SHOAL_TYPE_FLAG, ON(cosmul),
     .help = "multiply the three cosines of an analogy (3CosMul) instead of adding"},
    {"keep-case", .type = SHOAL_TYPE_FLAG, ON(ask.words.keep_case),
     .help = "take words as they stand; otherwise Paris and paris are the same"},
    {"threads", .type = SHOAL_TYPE_COUNT, ON(ask.words.threads), .arg = "N", .u = {0, 1024},
     .help = "threads to work with", .zero = "one for each core"},
    {0},
};

static const struct shoal_option label_opts[] = {
    {"labels", 'k', SHOAL_TYPE_COUNT, ON(ask.nearest), .arg = "K", .u = {0, 1000000},
     .help = "precision and recall of the K likeliest labels too (P@K, R@K)", .zero = "of one"},
    {"threshold", .type = SHOAL_TYPE_REAL, ON(ask.threshold), .arg = "P", .d = {0, 1},
     .help = "labels that are less likely are not said"},
    {0},
};

static const struct shoal_option output_opts[] = {
    {"json", .type = SHOAL_TYPE_FLAG, ON(json), .help = "print one JSON object"},
    {0},
};

const struct verb cmd_eval = {
    .name = "shoal eval",
    .summary = "score word vectors on questions, models on rows or samples",
    .about = "Of a click model: log-loss, AUC, accuracy and calibration on rows with labels, which "
             "are read as those that were learned.\n"
             "Of a net: its loss, accuracy and confusion of classes, or its errors, on samples or "
             "pictures; nets on words are not scored on files.\n"
             "Of word vectors: analogies are lines of four words, in sections that a line `: name` "
             "begins, as in "
             "word2vec's questions-words.txt: an answer is right when of all words but these "
             "three the fourth lies nearest to b - a + c. Pairs are lines of two words and what "
             "people said of "
             "their likeness, as in WordSim-353: the ranks (Spearman) and the numbers (Pearson) "
             "are compared with the cosines. What a file holds is seen from its lines.\n"
             "A question counts as seen when all its words are there; accuracy is right of seen.",
    .operands =
        (const struct operand[]){
            {.name = "MODEL",
             .help = "word vectors in any format, a click model or a net; recognised by content"},
            {"TEST", "files of questions for vectors, of rows for a click model, of samples for a net",
             .many = true},
            {0},
        },
    .groups =
        (const struct shoal_option_group[]){
            {"Asking vectors", eval_opts, .at = 0},
            {"Classes of text", label_opts, .at = 0},
            {"Samples for nets", shoal_samples_options, .at = offsetof(struct eval_cmd, ask.samples)},
            {"Reading tables, as the model does unless given", shoal_table_again_options,
             .at = offsetof(struct eval_cmd, ask.rows.table)},
            {"Output", output_opts, .at = 0},
            {"Reading rows, as the model does unless given", shoal_rows_again_options,
             .at = offsetof(struct eval_cmd, ask.rows)},
            {"General", work_opts, .at = offsetof(struct eval_cmd, work)},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal eval vectors.bin questions-words.txt ws353.txt", "one table for each file"},
            {"shoal eval vectors.bin questions-words.txt --top-words 0 --json",
             "of all words, for a program"},
            {"shoal eval model.shoal test.tsv", "how well a click model, or a net, predicts"},
            {0},
        },
    .opts_size = sizeof(struct eval_cmd),
    .defaults = eval_defaults,
    .run = eval_run,
};
