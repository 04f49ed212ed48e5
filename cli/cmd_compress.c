/* shoal compress: a model made small by product quantisation. */
#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct compress_cmd {
    struct shoal_compress_opts how;
    struct shoal_save_opts save;
    const char *eval;
    struct work_opts work;
};

static void compress_defaults(void *at)
{
    *(struct compress_cmd *)at =
        (struct compress_cmd){.how = shoal_compress_default(), .save = shoal_save_default()};
}

/* ---- what is lost ---- */

static double cosine(const float *a, const float *b, size_t n)
{
    double ab = 0, aa = 0, bb = 0;

    for (size_t i = 0; i < n; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

enum { ASKED = 100000 }; /* words: the commonest tell enough */

/* The mean cosine of a word's vector before and after; of words that have none any more it is 0. */
static shoal_status report_cosine(struct console *c, const shoal_vectors *before,
                                  const shoal_vectors *after)
{
    size_t dim = shoal_vectors_dim(before), size = shoal_vectors_size(before);
    size_t n = size < ASKED ? size : ASKED;
    float *was = calloc(dim, sizeof *was), *is = calloc(dim, sizeof *is);
    double sum = 0;
    shoal_status st = was && is ? SHOAL_OK : shoal_fail(SHOAL_ENOMEM, "compress: no memory");

    for (uint32_t id = 0; id < n && st == SHOAL_OK; id++) {
        const char *word = shoal_vectors_word(before, id);
        shoal_status there = shoal_vectors_compose(after, word, strlen(word), is, NULL);

        st = shoal_vectors_row(before, id, was);
        if (there == SHOAL_OK)
            sum += cosine(was, is, dim);
        else if (there != SHOAL_ENOENT)
            st = there;
    }
    if (st == SHOAL_OK)
        console_row(c, "cosine", number_text("%.4f", sum / (double)n).text,
                    "of a word's vector before and after, the mean of %s words",
                    number_count(n).text);
    free(was);
    free(is);
    return st;
}

static shoal_status eval_one(const struct compress_cmd *cmd, struct console *c, const char *title,
                             const shoal_model *model)
{
    struct shoal_ask_opts ask = shoal_ask_default();
    struct shoal_clicks_stats stats = {0};
    struct model_view view = {.console = c};
    struct shoal_reporter to = model_reporter(&view);

    console_heading(c, title);
    ask.words.threads = cmd->how.threads;
    return shoal_model_eval(model, &cmd->eval, 1, &ask, &to, &stats);
}

static shoal_status report_loss(const struct compress_cmd *cmd, struct console *c,
                                const shoal_model *before, const shoal_model *after)
{
    shoal_status st = SHOAL_OK;

    if (!cmd->eval)
        return shoal_model_vectors(before)
                   ? report_cosine(c, shoal_model_vectors(before), shoal_model_vectors(after))
                   : SHOAL_OK;
    st = eval_one(cmd, c, "before", before);
    return st == SHOAL_OK ? eval_one(cmd, c, "after", after) : st;
}

/* ---- the command ---- */

static uint64_t size_of(const char *path)
{
    struct stat file;

    return stat(path, &file) == 0 ? (uint64_t)file.st_size : 0;
}

static void report_sizes(struct console *c, const char *from, const char *to)
{
    uint64_t before = size_of(from), after = size_of(to);

    console_row(c, "before", number_size(before).text, "%s", from);
    console_row(c, "after", number_size(after).text, "%s", to);
    if (after > 0 && before > after)
        console_row(c, "smaller", number_text("%.1f", (double)before / (double)after).text, "times");
}

static int compress_run(const void *at, const char *const *args, size_t nargs)
{
    const struct compress_cmd *cmd = at;
    struct console console;
    shoal_model *model = NULL, *small = NULL;
    shoal_status st = shoal_model_map(&model, args[0]);

    (void)nargs;
    console_init(&console, cmd->work.quiet, args[1]);
    if (st == SHOAL_OK)
        st = shoal_model_compress(&small, model, &cmd->how);
    if (st == SHOAL_OK)
        st = shoal_model_save(small, args[1], &cmd->save);
    if (st == SHOAL_OK)
        report_sizes(&console, args[0], args[1]);
    if (st == SHOAL_OK && !cmd->work.quiet)
        st = report_loss(cmd, &console, model, small);
    if (st == SHOAL_OK)
        console_row(&console, "took", number_seconds(console_seconds(&console)).text, NULL);
    shoal_model_close(small);
    shoal_model_close(model);
    return console_finish(&console, st);
}

#define ON(member) SHOAL_FIELD(struct compress_cmd, member)

static const struct shoal_option how_opts[] = {
    {"dsub", .type = SHOAL_TYPE_COUNT, ON(how.dsub), .arg = "N", .u = {1, 1024},
     .help = "numbers of a row that become one byte together"},
    {"qnorm", .type = SHOAL_TYPE_FLAG, ON(how.qnorm),
     .help = "the length of a row apart, in a byte of its own"},
    {"cutoff", .type = SHOAL_TYPE_COUNT, ON(how.cutoff), .arg = "N", .u = {0, UINT32_MAX - 1},
     .help = "keep so many rows of words and n-grams, the longest", .zero = "all"},
    {"seed", .type = SHOAL_TYPE_COUNT, ON(how.seed), .arg = "N", .u = {0, UINT64_MAX},
     .help = "where the centroids begin"},
    {"threads", .type = SHOAL_TYPE_COUNT, ON(how.threads), .arg = "N", .u = {0, 1024},
     .help = "threads to work with; the result is the same for any number",
     .zero = "one for each core"},
    {0},
};

static const struct shoal_option output_opts[] = {
    {"format", 'f', SHOAL_TYPE_CHOICE, ON(save.format), .arg = "HOW",
     .choices = shoal_format_choices, .help = "what to write: shoal or fasttext"},
    {"eval", .type = SHOAL_TYPE_PATH, ON(eval), .arg = "FILE",
     .help = "score the model on it before and after, as `shoal eval` does"},
    {0},
};

const struct verb cmd_compress = {
    .name = "shoal compress",
    .summary = "make a model small by product quantisation",
    .about =
        "Every row of the model, of words and of n-grams, becomes a few bytes: so many numbers "
        "together are the number of one of 256 centroids, which k-means finds (Jegou et al. 2011), "
        "as `fasttext quantize` does. Nothing is trained again. The sizes are printed, and how "
        "well the model does before and after on a file; without one, how far the vectors of words "
        "have turned.",
    .operands =
        (const struct operand[]){
            {.name = "IN",
             .help = "word vectors, or a classifier of text; ours or fastText's .bin"},
            {.name = "OUT",
             .help = "where it goes: fastText's when it ends in .ftz, as a classifier must, or ours"},
            {0},
        },
    .groups =
        (const struct shoal_option_group[]){
            {"Quantisation", how_opts, .at = 0},
            {"Output", output_opts, .at = 0},
            {"General", work_opts, .at = offsetof(struct compress_cmd, work)},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal compress cc.en.300.bin small.shoal --qnorm --cutoff 400000",
             "a model of gigabytes for a phone"},
            {"shoal compress vectors.shoal small.shoal --eval ws353.txt",
             "with its scores before and after"},
            {0},
        },
    .opts_size = sizeof(struct compress_cmd),
    .defaults = compress_defaults,
    .run = compress_run,
};
