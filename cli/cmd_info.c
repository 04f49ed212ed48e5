/* shoal info: say what a file holds. */
#include "model.h"
#include "train.h"

#include <string.h>
#include <sys/stat.h>

struct info_cmd {
    uint64_t top;
    bool strict;
};

static void report_top(const shoal_vocab *vocab, uint64_t top)
{
    double total = (double)shoal_vocab_total(vocab);

    if (top > shoal_vocab_size(vocab))
        top = shoal_vocab_size(vocab);
    if (top > 0)
        printf("\n%15s  %7s  word\n", "count", "share");
    for (uint32_t id = 0; id < top; id++) {
        uint64_t count = shoal_vocab_count(vocab, id);

        printf("%15s  %7s  ", number_count(count).text, number_percent((double)count, total).text);
        print_word(stdout, shoal_vocab_word(vocab, id));
        putchar('\n');
    }
}

static void report_vocabulary(struct console *c, const shoal_vocab *vocab, uint64_t top)
{
    const struct shoal_choice *tokens = shoal_token_options[0].choices;
    enum shoal_tokens how = shoal_vocab_tokens(vocab);
    bool unk = shoal_vocab_unk(vocab) != SHOAL_NO_ID;

    if (how != SHOAL_TOKENS_SPACE)
        console_row(c, "tokens", tokens[how].name, NULL);
    console_row(c, "vocabulary", number_count(shoal_vocab_size(vocab)).text,
                unk ? "with " SHOAL_UNK : "without " SHOAL_UNK);
    report_top(vocab, top);
}

static void report_head(struct console *c, const char *path, const char *holds)
{
    struct stat file;

    print_line(stdout, "%s: %s\n", path, holds);
    if (stat(path, &file) == 0)
        console_row(c, "size", number_size((uint64_t)file.st_size).text, NULL);
}

static shoal_status info_corpus(struct console *c, const char *path, uint64_t top)
{
    shoal_corpus *corpus;
    shoal_status st = shoal_corpus_open(&corpus, path);

    if (st == SHOAL_OK) {
        double words = (double)shoal_corpus_words(corpus);
        double sentences = (double)shoal_corpus_sentences(corpus);

        report_head(c, path, "an encoded corpus");
        console_row(c, "words", number_count(shoal_corpus_words(corpus)).text, NULL);
        console_row(c, "sentences", number_count(shoal_corpus_sentences(corpus)).text,
                    "of %.1f words", sentences > 0 ? words / sentences : 0);
        report_vocabulary(c, shoal_corpus_vocab(corpus), top);
    }
    shoal_corpus_close(corpus);
    return st;
}

static shoal_status info_vocab(struct console *c, const char *path, uint64_t top)
{
    shoal_vocab *vocab;
    shoal_status st = shoal_vocab_read(&vocab, path);

    if (st == SHOAL_OK) {
        report_head(c, path, "a vocabulary");
        console_row(c, "words", number_count(shoal_vocab_total(vocab)).text, "counted");
        if (shoal_vocab_sentences(vocab) > 0)
            console_row(c, "sentences", number_count(shoal_vocab_sentences(vocab)).text, NULL);
        report_vocabulary(c, vocab, top);
    }
    shoal_vocab_free(vocab);
    return st;
}

/* ---- Models ---------------------------------------------------------------------- */

/* Weights of a net from elsewhere say what they are whatever the size of pictures. */
static shoal_status info_model(struct console *c, const char *path, const struct info_cmd *cmd)
{
    struct model_view view = {.console = c, .path = path};
    struct shoal_reporter to = model_reporter(&view);
    shoal_model *model = NULL;
    shoal_status st = shoal_model_import(&model, path, 0);
    const shoal_vectors *v = st == SHOAL_OK ? shoal_model_vectors(model) : NULL;

    if (v && cmd->strict)
        st = shoal_vectors_strict(v);
    if (st == SHOAL_OK)
        st = shoal_model_verify(model);
    if (st == SHOAL_OK)
        st = shoal_model_describe(model, cmd->top, &to);
    shoal_model_close(model);
    return st;
}

/* ---- Checkpoints ------------------------------------------------------------------- */

static void row_option(struct console *c, shoal_options *o, const struct shoal_option *option)
{
    const char *value = shoal_options_get(o, option->name);
    bool text = option->type == SHOAL_TYPE_PATH || option->type == SHOAL_TYPE_TEXT;
    const char *note = text ? value : value && strcmp(value, "0") == 0 ? option->zero : NULL;

    if (value && (option->decides || shoal_options_given(o, option->name)))
        console_row(c, option->name, text ? "" : value, note ? "%s" : NULL, note);
}

static void report_options(struct console *c, shoal_options *o)
{
    struct option_walk w = {0};

    while (option_next(shoal_options_task(o)->groups, &w))
        row_option(c, o, w.opt);
}

/* Of a folder or a file. */
static shoal_status info_checkpoint(struct console *c, const char *path, uint64_t top)
{
    struct shoal_checkpoint last;
    shoal_options *o = NULL;
    shoal_status st = shoal_checkpoint_read(&last, path);

    (void)top;
    if (st == SHOAL_OK)
        st = shoal_options_resume(&o, path);
    if (st == SHOAL_OK) {
        report_head(c, last.path, "a checkpoint");
        if (strcmp(shoal_options_get(o, "steps"), "0") != 0)
            console_row(c, "progress", number_percent(last.progress, 1).text, "of %s steps done",
                        shoal_options_get(o, "steps"));
        else
            console_row(c, "progress", number_percent(last.progress, 1).text,
                        "%u of %s epochs done", last.epoch, shoal_options_get(o, "epochs"));
        console_row(c, shoal_options_task(o)->unit, number_count(last.examples).text, "trained");
        console_row(c, "took", number_seconds(last.seconds).text, NULL);
        console_row(c, "model", last.task, NULL);
        report_options(c, o);
    }
    shoal_options_free(o);
    return st;
}

/* ---- Which it is --------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat file;

    return stat(path, &file) == 0 && S_ISDIR(file.st_mode);
}

static const struct {
    const char *kind; /* of our files that hold no model */
    shoal_status (*info)(struct console *c, const char *path, uint64_t top);
} others[] = {
    {"corpus", info_corpus}, {"clicks", info_clicks}, {"checkpoint", info_checkpoint}};

static shoal_status info(struct console *c, const char *path, const struct info_cmd *cmd)
{
    char kind[32];

    if (is_folder(path))
        return info_checkpoint(c, path, cmd->top);
    if (shoal_vocab_recognise(path))
        return info_vocab(c, path, cmd->top);
    for (size_t i = 0; shoal_kind(path, kind) && i < sizeof others / sizeof *others; i++)
        if (strcmp(kind, others[i].kind) == 0)
            return others[i].info(c, path, cmd->top);
    return info_model(c, path, cmd);
}

static int info_run(const void *at, const char *const *args, size_t nargs)
{
    const struct info_cmd *cmd = at;
    struct console console;

    (void)nargs;
    console_init(&console, false, NULL);
    return console_finish(&console, info(&console, args[0], cmd));
}

static const struct shoal_option own_opts[] = {
    {"top", .type = SHOAL_TYPE_COUNT, SHOAL_FIELD(struct info_cmd, top), .arg = "N",
     .u = {0, UINT32_MAX - 1},
     .help = "show so many of the commonest words or features, or of the largest weights"},
    {"strict", .type = SHOAL_TYPE_FLAG, SHOAL_FIELD(struct info_cmd, strict), .help = STRICT_HELP},
    {0},
};

const struct verb cmd_info = {
    .name = "shoal info",
    .summary = "say what a file holds",
    .about = "Reads an encoded corpus, encoded clicks, a vocabulary, word vectors in any format, a "
             "click model, a net (also its weights in safetensors) or a checkpoint, checks every "
             "byte of it, and says what is in it. Models and vocabularies may be compressed.",
    .operands =
        (const struct operand[]){{.name = "FILE", .help = "such a file, or a checkpoint folder"},
                                 {0}},
    .groups =
        (const struct shoal_option_group[]){
            {"Output", own_opts, .at = 0},
            {"General", help_opts, .at = 0},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal info text.shoal", "words, sentences and the commonest words"},
            {"shoal info run", "how far a run is, and with what options"},
            {0},
        },
    .opts_size = sizeof(struct info_cmd),
    .initial = &(const struct info_cmd){.top = 10},
    .run = info_run,
};
