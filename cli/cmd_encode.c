/* shoal encode: turn text into an encoded corpus, or click data into a file of rows. */
#include "cmd.h"

#include <string.h>

enum { AS_TEXT, AS_CLICKS };

struct encode_cmd {
    unsigned as;
    struct shoal_encode_opts encode;
    const struct parsed *parsed;
    struct shoal_clicks_opts clicks;
    struct work_opts work;
    const char *output;
    const char *vocab_path;
};

static void encode_defaults(void *at)
{
    *(struct encode_cmd *)at =
        (struct encode_cmd){.encode = shoal_encode_default(), .clicks = shoal_clicks_default()};
}

static void report_plan(struct console *c, const struct shoal_encode_plan *plan)
{
    console_heading(c, "plan");
    console_row(c, "input", number_size(plan->input_bytes).text,
                plan->streamed ? "and streams, which are spooled to disk" : NULL);
    console_row(c, "buffers", number_size(plan->buffer_bytes).text, NULL);
    console_row(c, "vocabulary", number_size(plan->vocab_bytes).text, "at most");
    console_row(c, "memory", number_size(plan->memory_bytes).text, "of %s free",
                number_size(plan->memory_free).text);
    console_row(c, "disk", plan->disk_bytes ? number_size(plan->disk_bytes).text : "unknown",
                plan->disk_bytes ? "about, of %s free" : "%s free",
                number_size(plan->disk_free).text);
}

static void report_encoded(struct console *c, const struct encode_cmd *cmd,
                           const struct shoal_encode_stats *stats)
{
    double seconds = stats->count_seconds + stats->encode_seconds;
    double bytes = (double)stats->vocab.text.bytes;
    bool unk = cmd->encode.given ? shoal_vocab_unk(cmd->encode.given) != SHOAL_NO_ID
                                 : cmd->encode.vocab.unk;

    console_heading(c, "result");
    report_vocab(c, &stats->vocab, unk);
    console_row(c, "written", number_count(stats->ids).text, "words in %s sentences",
                number_count(stats->sentences).text);
    console_row(c, "file", number_size(stats->file_bytes).text, "%s", cmd->output);
    console_row(c, "took", number_seconds(seconds).text, "counting %s, encoding %s; %s",
                number_seconds(stats->count_seconds).text,
                number_seconds(stats->encode_seconds).text,
                number_rate(seconds > 0 ? bytes / seconds : 0, "bytes").text);
    warn_vocab(c, &stats->vocab, &cmd->encode.vocab);
}

static shoal_status encode(struct console *c, const struct encode_cmd *cmd,
                           const char *const *inputs, size_t ninputs)
{
    struct shoal_encode_plan plan;
    struct shoal_encode_stats stats = {0};
    shoal_status st;

    st = shoal_encode_plan(&plan, cmd->output, inputs, ninputs, &cmd->encode);
    if (st != SHOAL_OK)
        return st;
    report_plan(c, &plan);
    st = shoal_encode(cmd->output, inputs, ninputs, &cmd->encode, &stats);
    if (st == SHOAL_OK)
        report_encoded(c, cmd, &stats);
    return st;
}

static const struct shoal_option row_opts[];

/* What is said about text says nothing about clicks, and the other way round. */
static int check_kind(const struct encode_cmd *cmd)
{
    struct shoal_vocab_opts text = shoal_vocab_default();
    struct shoal_clicks_opts clicks = shoal_clicks_default();
    const struct shoal_option *changed = NULL;

    if (cmd->as == AS_TEXT) {
        changed = opts_changed(shoal_rows_options, &cmd->clicks, &clicks);
        if (!changed)
            changed = opts_changed(row_opts, &cmd->clicks, &clicks);
        if (!changed)
            changed = opts_changed(shoal_table_options, &cmd->clicks.table, &clicks.table);
    } else {
        changed = opts_changed(shoal_token_options, &cmd->encode.vocab, &text);
        if (!changed)
            changed = opts_changed(shoal_vocab_options, &cmd->encode.vocab, &text);
    }
    if (changed || (cmd->as == AS_CLICKS && cmd->vocab_path))
        return usage(&cmd_encode, "--%s does not go with --as %s",
                     changed ? changed->name : "vocab", cmd->as == AS_TEXT ? "text" : "clicks");
    return EXIT_DONE;
}

static shoal_status encode_text(struct console *c, struct encode_cmd *cmd,
                                const char *const *inputs, size_t ninputs)
{
    shoal_vocab *given = NULL;
    shoal_status st = SHOAL_OK;

    cmd->encode.vocab.watch = console_watch(c);
    if (cmd->vocab_path)
        st = shoal_vocab_read(&given, cmd->vocab_path);
    if (st == SHOAL_OK) {
        cmd->encode.given = given;
        st = encode(c, cmd, inputs, ninputs);
    }
    shoal_vocab_free(given);
    return st;
}

static int encode_run(const void *at, const char *const *args, size_t nargs)
{
    struct encode_cmd cmd = *(const struct encode_cmd *)at;
    struct console console;
    int code = check_kind(&cmd);

    if (code != EXIT_DONE)
        return code;
    vocab_imply(&cmd.encode.vocab, cmd.parsed);
    if (strcmp(cmd.output, "-") == 0)
        return usage(&cmd_encode,
                     "--output is '-', want a file name: %s mapped, which standard "
                     "output cannot be",
                     cmd.as == AS_TEXT ? "a corpus is" : "clicks are");
    console_init(&console, cmd.work.quiet, cmd.output);
    if (cmd.as == AS_TEXT)
        return console_finish(&console, encode_text(&console, &cmd, args, nargs));
    cmd.clicks.watch = console_watch(&console);
    cmd.clicks.threads = cmd.encode.vocab.threads;
    cmd.clicks.memory_limit = cmd.encode.memory_limit;
    return console_finish(&console, encode_clicks(&console, &cmd.clicks, cmd.output, args, nargs));
}

static const struct shoal_choice as_choices[] = {
    [AS_TEXT] = {"text", "a corpus of word ids"},
    [AS_CLICKS] = {"clicks", "rows of hashed features with labels"},
    {0},
};

static const struct shoal_option row_opts[] = {
    {"classes", .type = SHOAL_TYPE_FLAG, SHOAL_FIELD(struct shoal_clicks_opts, classes),
     .help = "there may be more than two different labels, up to 254"},
    {"row-memory", .type = SHOAL_TYPE_SIZE, SHOAL_FIELD(struct shoal_clicks_opts, memory),
     .arg = "SIZE", .u = {1 << 20, UINT64_MAX},
     .help = "memory for rows; beyond it they go through the disk"},
    {0},
};

static const struct shoal_option own_opts[] = {
    {"output", 'o', SHOAL_TYPE_PATH, SHOAL_FIELD(struct encode_cmd, output), .arg = "FILE",
     .required = true, .help = "write the corpus or the rows here"},
    {"as", .type = SHOAL_TYPE_CHOICE, SHOAL_FIELD(struct encode_cmd, as), .arg = "KIND",
     .choices = as_choices, .help = "what the inputs are"},
    {"vocab", .type = SHOAL_TYPE_PATH, SHOAL_FIELD(struct encode_cmd, vocab_path), .arg = "FILE",
     .help = "use this vocabulary, from `shoal vocab`, instead of counting one"},
    {"memory", .type = SHOAL_TYPE_SIZE, SHOAL_FIELD(struct encode_cmd, encode.memory_limit),
     .arg = "LIMIT", .u = {0, UINT64_MAX}, .help = "refuse to need more memory",
     .zero = "what the machine has free"},
    {0},
};

const struct verb cmd_encode = {
    .name = "shoal encode",
    .summary = "turn text or click data into a file to train on",
    .about = "Counts the words, then writes their ids with the sentence ends and the vocabulary "
             "into one file that training maps. Words outside the vocabulary become " SHOAL_UNK
             ", or are left out when it has none. The plan says before the start what memory and "
             "disk the work needs; what cannot fit is refused.\n"
             "With --as clicks the inputs are rows with labels of two values, or of many with "
             "--classes, in one of four formats; their features are hashed, and numbered with the commonest first.",
    .operands = (const struct operand[]){{"INPUT", INPUT_HELP, .many = true}, {0}},
    .groups =
        (const struct shoal_option_group[]){
            {"Output", own_opts, .at = 0},
            {"Reading text", shoal_text_options, .at = offsetof(struct encode_cmd, encode.vocab)},
            {"Vocabulary", shoal_vocab_options, .at = offsetof(struct encode_cmd, encode.vocab),
             .unless = "vocab"},
            {"Reading clicks", shoal_rows_options, .at = offsetof(struct encode_cmd, clicks)},
            {"Reading tables", shoal_table_options,
             .at = offsetof(struct encode_cmd, clicks.table)},
            {"Encoding clicks", row_opts, .at = offsetof(struct encode_cmd, clicks)},
            {"General", work_opts, .at = offsetof(struct encode_cmd, work)},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal encode text.txt -o text.shoal", "count and encode one file"},
            {"shoal encode 'news/*.zst' --vocab vocab.txt -o news.shoal",
             "encode with a vocabulary made before"},
            {"shoal encode --as clicks day_0.gz -o clicks.shoal", "click data, of any format"},
            {0},
        },
    .opts_size = sizeof(struct encode_cmd),
    .defaults = encode_defaults,
    .parsed_at = offsetof(struct encode_cmd, parsed),
    .run = encode_run,
};
