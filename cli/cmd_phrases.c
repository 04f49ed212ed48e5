/* shoal phrases: join the pairs of words that belong together. */
#include "cmd.h"

struct phrases_cmd {
    struct shoal_phrases_opts phrases;
    struct work_opts work;
    const char *output;
};

static void phrases_defaults(void *at)
{
    *(struct phrases_cmd *)at = (struct phrases_cmd){.phrases = shoal_phrases_default()};
}

static void report_phrases(struct console *c, const struct shoal_phrases_stats *stats,
                           const struct phrases_cmd *cmd)
{
    struct shoal_vocab_stats counts = {
        .text = stats->text, .spilled = stats->spilled, .floor = stats->floor};
    double seconds = console_seconds(c);

    console_row(c, "words", number_count(stats->text.words).text, "in %s of text",
                number_size(stats->text.bytes).text);
    console_row(c, "sentences", number_count(stats->text.sentences).text, NULL);
    console_row(c, "types", number_count(stats->types).text, "words and pairs");
    console_row(c, "phrases", number_count(stats->phrases).text, "joined in %s places",
                number_count(stats->joined).text);
    console_row(c, "written", number_count(stats->words).text, "words, %s",
                number_size(stats->bytes).text);
    console_row(c, "took", number_seconds(seconds).text, "%s",
                number_rate(seconds > 0 ? (double)stats->text.bytes / seconds : 0, "bytes").text);
    warn_vocab(c, &counts, &cmd->phrases.vocab);
}

static int phrases_run(const void *at, const char *const *args, size_t nargs)
{
    struct phrases_cmd cmd = *(const struct phrases_cmd *)at;
    struct shoal_phrases_stats stats = {0};
    struct console console;
    shoal_status st;

    console_init(&console, cmd.work.quiet, cmd.output);
    cmd.phrases.vocab.watch = console_watch(&console);
    st = shoal_phrases(cmd.output, args, nargs, &cmd.phrases, &stats);
    if (st == SHOAL_OK)
        report_phrases(&console, &stats, &cmd);
    return console_finish(&console, st);
}

#define ON(member) SHOAL_FIELD(struct phrases_cmd, member)

static const struct shoal_option output_opts[] = {
    {"output", 'o', SHOAL_TYPE_PATH, ON(output), .arg = "FILE", .required = true,
     .help = "write the text here, - for standard output"},
    {0},
};

static const struct shoal_option phrases_opts[] = {
    {"threshold", .type = SHOAL_TYPE_REAL, ON(phrases.threshold), .arg = "X", .d = {0, 1e12},
     .help = "join pairs that score more; higher means fewer phrases"},
    {"min-count", .type = SHOAL_TYPE_COUNT, ON(phrases.vocab.min_count), .arg = "N",
     .u = {1, UINT64_MAX},
     .help = "leave apart words and pairs seen less often; the score is lowered by it too"},
    {"passes", .type = SHOAL_TYPE_COUNT, ON(phrases.passes), .arg = "N", .u = {1, 100},
     .help = "go over the text so often; phrases of N passes have up to 2^N words"},
    {"joiner", .type = SHOAL_TYPE_TEXT, ON(phrases.joiner), .arg = "TEXT",
     .help = "what stands between the words of a phrase"},
    {"vocab-memory", .type = SHOAL_TYPE_SIZE, ON(phrases.vocab.memory), .arg = "SIZE",
     .u = {1 << 20, UINT64_MAX},
     .help = "memory for counting; beyond it counts go through the disk"},
    {0},
};

const struct verb cmd_phrases = {
    .name = "shoal phrases",
    .summary = "join pairs of words that belong together",
    .about = "Writes the text anew, one sentence a line, with `new york` as `new_york` where the "
             "pair is more frequent than its words by themselves explain:\n"
             "(count(a b) - MIN) / (count(a) * count(b)) * words > X, of --min-count MIN, --threshold X\n"
             "Pairs are joined from left to right within a sentence; a word just joined to the "
             "one before waits for the next pass. The output is word2phrase's, without the space "
             "that begins its lines and without its limit of 59 bytes a word. It does not depend "
             "on the number of threads. Counts that do not fit, and the text between passes, go "
             "to temporary files in TMPDIR.",
    .operands = (const struct operand[]){{"INPUT", INPUT_HELP, .many = true}, {0}},
    .groups =
        (const struct shoal_option_group[]){
            {"Output", output_opts, .at = 0},
            {"Phrases", phrases_opts, .at = 0},
            {"Reading text", shoal_text_options, .at = offsetof(struct phrases_cmd, phrases.vocab)},
            {"General", work_opts, .at = offsetof(struct phrases_cmd, work)},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal phrases text.txt -o phrases.txt", "join pairs"},
            {"shoal phrases text.txt --passes 2 --threshold 200 -o phrases.txt",
             "join up to four words"},
            {"shoal phrases --tokens words news/ -o - | shoal vocab - -o vocab.txt",
             "count words and phrases"},
            {0},
        },
    .opts_size = sizeof(struct phrases_cmd),
    .defaults = phrases_defaults,
    .run = phrases_run,
};
