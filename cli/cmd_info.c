/* shoal info: say what a file holds. */
#include "cmd.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

struct info_cmd {
    uint64_t top;
};

static void info_defaults(void *at)
{
    *(struct info_cmd *)at = (struct info_cmd){.top = 10};
}

/* Words come from anybody's text: control characters, of one byte or of two
 * (U+0080 to U+009F), must not reach the terminal. */
static void print_safely(FILE *to, const char *word)
{
    const unsigned char *at = (const unsigned char *)word;

    for (; *at; at++) {
        if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) {
            fputc('?', to);
            at++;
        } else {
            fputc(iscntrl(*at) ? '?' : *at, to);
        }
    }
}

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
        print_safely(stdout, shoal_vocab_word(vocab, id));
        putchar('\n');
    }
}

static void report_vocabulary(struct console *c, const shoal_vocab *vocab, uint64_t top)
{
    bool unk = shoal_vocab_unk(vocab) != SHOAL_NO_ID;

    console_row(c, "vocabulary", number_count(shoal_vocab_size(vocab)).text,
                unk ? "with " SHOAL_UNK : "without " SHOAL_UNK);
    report_top(vocab, top);
}

static void report_head(struct console *c, const char *path, const char *holds)
{
    struct stat file;

    printf("%s: %s\n", path, holds);
    if (stat(path, &file) == 0)
        console_row(c, "size", number_size((uint64_t)file.st_size).text, NULL);
}

static void report_corpus(struct console *c, const char *path, const shoal_corpus *corpus,
                          uint64_t top)
{
    double words = (double)shoal_corpus_words(corpus);
    double sentences = (double)shoal_corpus_sentences(corpus);

    report_head(c, path, "an encoded corpus");
    console_row(c, "words", number_count(shoal_corpus_words(corpus)).text, NULL);
    console_row(c, "sentences", number_count(shoal_corpus_sentences(corpus)).text, "of %.1f words",
                sentences > 0 ? words / sentences : 0);
    report_vocabulary(c, shoal_corpus_vocab(corpus), top);
}

static void report_counts(struct console *c, const char *path, const shoal_vocab *vocab,
                          uint64_t top)
{
    report_head(c, path, "a vocabulary");
    console_row(c, "words", number_count(shoal_vocab_total(vocab)).text, "counted");
    if (shoal_vocab_sentences(vocab) > 0)
        console_row(c, "sentences", number_count(shoal_vocab_sentences(vocab)).text, NULL);
    report_vocabulary(c, vocab, top);
}

static shoal_status info_corpus(struct console *c, const char *path, uint64_t top)
{
    shoal_corpus *corpus;
    shoal_status st = shoal_corpus_open(&corpus, path);

    if (st == SHOAL_OK)
        report_corpus(c, path, corpus, top);
    shoal_corpus_close(corpus);
    return st;
}

static shoal_status info_vocab(struct console *c, const char *path, uint64_t top)
{
    shoal_vocab *vocab;
    shoal_status st = shoal_vocab_read(&vocab, path);

    if (st == SHOAL_OK)
        report_counts(c, path, vocab, top);
    shoal_vocab_free(vocab);
    return st;
}

/* A vocabulary is the one text among our files. What cannot be read is none:
 * the reader of our own formats will say why. */
static bool is_text(const char *path)
{
    struct stat file;
    char head[512];
    FILE *f = stat(path, &file) == 0 && S_ISREG(file.st_mode) ? fopen(path, "rb") : NULL;
    size_t n;

    if (!f)
        return false;
    n = fread(head, 1, sizeof head, f);
    fclose(f);
    return !memchr(head, '\0', n);
}

static int info_run(const void *at, const char *const *args, size_t nargs)
{
    const struct info_cmd *cmd = at;
    struct console console;
    shoal_status st;

    (void)nargs;
    console_init(&console, false, NULL);
    if (is_text(args[0]))
        st = info_vocab(&console, args[0], cmd->top);
    else
        st = info_corpus(&console, args[0], cmd->top);
    return console_finish(&console, st);
}

static const struct opt own_opts[] = {
    {"top", .kind = OPT_U64, FIELD(struct info_cmd, top), .arg = "N", .u = {0, UINT32_MAX - 1},
     .help = "show so many of the commonest words"},
    {0},
};

const struct verb cmd_info = {
    .name = "shoal info",
    .summary = "say what a file holds",
    .about = "Reads an encoded corpus or a vocabulary, checks every byte of it, and says what is "
             "in it.",
    .operands =
        (const struct operand[]){{.name = "FILE", .help = "an encoded corpus or a vocabulary"},
                                 {0}},
    .groups =
        (const struct opt_group[]){
            {"Output", own_opts, .at = 0},
            {"General", help_opts, .at = 0},
            {0},
        },
    .examples =
        (const struct example[]){
            {"shoal info text.shoal", "words, sentences and the commonest words"},
            {0},
        },
    .opts_size = sizeof(struct info_cmd),
    .defaults = info_defaults,
    .run = info_run,
};
