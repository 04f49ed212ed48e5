/* shoal encode: turn text into an encoded corpus. */
#include "cmd.h"

#include <string.h>

struct encode_cmd {
    struct shoal_encode_opts encode;
    struct work_opts work;
    const char *output;
    const char *vocab_path;
};

static void encode_defaults(void *at)
{
    *(struct encode_cmd *)at = (struct encode_cmd){.encode = shoal_encode_default()};
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

static int encode_run(const void *at, const char *const *args, size_t nargs)
{
    struct encode_cmd cmd = *(const struct encode_cmd *)at;
    struct console console;
    shoal_vocab *given = NULL;
    shoal_status st = SHOAL_OK;

    if (strcmp(cmd.output, "-") == 0)
        return usage(&cmd_encode, "--output is '-', want a file name: a corpus is mapped, which "
                                  "standard output cannot be");
    console_init(&console, cmd.work.quiet, cmd.output);
    cmd.encode.vocab.watch = console_watch(&console);
    if (cmd.vocab_path)
        st = shoal_vocab_read(&given, cmd.vocab_path);
    if (st == SHOAL_OK) {
        cmd.encode.given = given;
        st = encode(&console, &cmd, args, nargs);
    }
    shoal_vocab_free(given);
    return console_finish(&console, st);
}

static const struct opt own_opts[] = {
    {"output", 'o', OPT_PATH, FIELD(struct encode_cmd, output), .arg = "FILE", .required = true,
     .help = "write the corpus here"},
    {"vocab", .kind = OPT_PATH, FIELD(struct encode_cmd, vocab_path), .arg = "FILE",
     .help = "use this vocabulary, from `shoal vocab`, instead of counting one"},
    {"memory", .kind = OPT_SIZE, FIELD(struct encode_cmd, encode.memory_limit), .arg = "LIMIT",
     .u = {0, UINT64_MAX}, .help = "refuse to need more memory",
     .zero = "what the machine has free"},
    {0},
};

const struct verb cmd_encode = {
    .name = "shoal encode",
    .summary = "turn text into an encoded corpus",
    .about = "Counts the words, then writes their ids with the sentence ends and the vocabulary "
             "into one file that training maps. Words outside the vocabulary become " SHOAL_UNK
             ", or are left out when it has none. The plan says before the start what memory and "
             "disk the work needs; what cannot fit is refused.",
    .operands = (const struct operand[]){{"INPUT", INPUT_HELP, .many = true}, {0}},
    .groups =
        (const struct opt_group[]){
            {"Output", own_opts, .at = 0},
            {"Reading text", text_opts, .at = offsetof(struct encode_cmd, encode.vocab)},
            {"Vocabulary", vocab_opts, .at = offsetof(struct encode_cmd, encode.vocab),
             .unless = "vocab"},
            {"General", work_opts, .at = offsetof(struct encode_cmd, work)},
            {0},
        },
    .examples =
        (const struct example[]){
            {"shoal encode text.txt -o text.shoal", "count and encode one file"},
            {"shoal encode 'news/*.zst' --vocab vocab.txt -o news.shoal",
             "encode with a vocabulary made before"},
            {0},
        },
    .opts_size = sizeof(struct encode_cmd),
    .defaults = encode_defaults,
    .run = encode_run,
};
