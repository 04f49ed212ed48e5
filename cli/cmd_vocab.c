/* shoal vocab: count the words of text. */
#include "cmd.h"

struct vocab_cmd {
    struct shoal_vocab_opts vocab;
    const struct parsed *parsed;
    struct work_opts work;
    const char *output;
    bool eos;
};

static void vocab_defaults(void *at)
{
    *(struct vocab_cmd *)at = (struct vocab_cmd){.vocab = shoal_vocab_default(), .output = "-"};
}

void report_vocab(struct console *c, const struct shoal_vocab_stats *stats, bool unk)
{
    const struct shoal_text_stats *text = &stats->text;

    console_row(c, "words", number_count(text->words).text, "in %s of text",
                number_size(text->bytes).text);
    console_row(c, "sentences", number_count(text->sentences).text, NULL);
    if (stats->types > 0)
        console_row(c, "types", number_count(stats->types).text, NULL);
    console_row(c, "kept", number_count(stats->size).text, "covering %s of the words%s",
                number_percent((double)stats->kept_words, (double)text->words).text,
                unk ? ", the others are " SHOAL_UNK : "");
}

static const char *bad_bytes_became(enum shoal_bad_bytes how)
{
    return how == SHOAL_BAD_REPLACE ? "replaced by U+FFFD"
           : how == SHOAL_BAD_KEEP  ? "kept"
                                    : "read as spaces";
}

void warn_vocab(struct console *c, const struct shoal_vocab_stats *stats,
                const struct shoal_vocab_opts *opts)
{
    const struct shoal_text_stats *text = &stats->text;

    if (text->bad_bytes > 0)
        console_warn(c, "bytes that are not UTF-8, %s: %s", bad_bytes_became(opts->bad_bytes),
                     number_count(text->bad_bytes).text);
    if (text->unspaced > 0)
        console_warn(c,
                     "words of %s characters in a script without spaces: is this text segmented? "
                     "--tokens chars or --tokens bigrams cuts it",
                     number_count(text->unspaced).text);
    if (text->long_words > 0)
        console_warn(c, "words longer than %u bytes, left out: %s", SHOAL_WORD_MAX,
                     number_count(text->long_words).text);
    if (stats->spilled > 0)
        console_warn(c, "counts that went through the disk: %s; more --vocab-memory is faster",
                     number_size(stats->spilled).text);
    if (stats->floor > opts->min_count)
        console_warn(c,
                     "--vocab-memory was too small for all words: those seen less often than %s "
                     "times were left out",
                     number_count(stats->floor).text);
}

void vocab_imply(struct shoal_vocab_opts *opts, const struct parsed *parsed)
{
    if (opts->unk && opts->max_vocab > 0 && !opts_given(parsed, "min-count"))
        opts->min_count = 1;
}

static int vocab_run(const void *at, const char *const *args, size_t nargs)
{
    struct vocab_cmd cmd = *(const struct vocab_cmd *)at;
    struct shoal_vocab_stats stats = {0};
    struct console console;
    shoal_vocab *vocab;
    shoal_status st;

    vocab_imply(&cmd.vocab, cmd.parsed);
    console_init(&console, cmd.work.quiet, cmd.output);
    cmd.vocab.watch = console_watch(&console);
    st = shoal_vocab_build(&vocab, args, nargs, &cmd.vocab, &stats);
    if (st != SHOAL_OK)
        return console_finish(&console, st);

    st = shoal_vocab_write(vocab, cmd.output, cmd.eos);
    if (st == SHOAL_OK) {
        report_vocab(&console, &stats, shoal_vocab_unk(vocab) != SHOAL_NO_ID);
        console_row(&console, "took", number_seconds(console_seconds(&console)).text, NULL);
        warn_vocab(&console, &stats, &cmd.vocab);
    }
    shoal_vocab_free(vocab);
    return console_finish(&console, st);
}

static const struct shoal_option own_opts[] = {
    {"output", 'o', SHOAL_TYPE_PATH, SHOAL_FIELD(struct vocab_cmd, output), .arg = "FILE",
     .help = "write the vocabulary here, - for standard output"},
    {"eos", .type = SHOAL_TYPE_FLAG, SHOAL_FIELD(struct vocab_cmd, eos),
     .help = "begin with a line `" SHOAL_EOS " SENTENCES`, which word2vec.c's -read-vocab wants"},
    {0},
};

const struct verb cmd_vocab = {
    .name = "shoal vocab",
    .summary = "count the words of text",
    .about = "Writes one line `WORD COUNT` for each word, commonest first and equal counts by "
             "bytes, as word2vec.c's -save-vocab does. The result does not depend on the number "
             "of threads.",
    .operands = (const struct operand[]){{"INPUT", INPUT_HELP, .many = true}, {0}},
    .groups =
        (const struct shoal_option_group[]){
            {"Output", own_opts, .at = 0},
            {"Reading text", shoal_text_options, .at = offsetof(struct vocab_cmd, vocab)},
            {"Vocabulary", shoal_vocab_options, .at = offsetof(struct vocab_cmd, vocab)},
            {"General", work_opts, .at = offsetof(struct vocab_cmd, work)},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal vocab text.txt -o vocab.txt", "count one file"},
            {"shoal vocab --tokens words --max-vocab 50000 news/ > vocab.txt",
             "count all files below a folder, keep the commonest words"},
            {"zcat dump.gz | shoal vocab - | head", "see the commonest words of a stream"},
            {0},
        },
    .opts_size = sizeof(struct vocab_cmd),
    .defaults = vocab_defaults,
    .parsed_at = offsetof(struct vocab_cmd, parsed),
    .run = vocab_run,
};
