#include "cmd.h"

#define ON(member) FIELD(struct shoal_vocab_opts, member)

static const struct choice token_choices[] = {
    [SHOAL_TOKENS_SPACE] = {"space", "at white space, as word2vec.c and fastText do"},
    [SHOAL_TOKENS_WORDS] = {"words", "Unicode letters and digits, lower-cased"},
    {0},
};

static const struct choice bad_bytes_choices[] = {
    [SHOAL_BAD_REFUSE] = {"refuse", "fail and name the first such byte"},
    [SHOAL_BAD_SPACE] = {"space", "read each as a space and count them"},
    {0},
};

/* clang-format off */
#define TOKEN_OPTS                                                                                 \
    {"tokens", .kind = OPT_CHOICE, ON(tokens), .arg = "HOW", .choices = token_choices,             \
     .help = "how text becomes words"},                                                            \
    {"bad-bytes", .kind = OPT_CHOICE, ON(bad_bytes), .arg = "HOW", .choices = bad_bytes_choices,   \
     .help = "what to do with bytes that are no UTF-8 text"}
/* clang-format on */

const struct opt token_opts[] = {TOKEN_OPTS, {0}};

const struct opt text_opts[] = {
    TOKEN_OPTS,
    {"threads", .kind = OPT_U64, ON(threads), .arg = "N", .u = {0, 1024},
     .help = "threads to work with", .zero = "one for each core"},
    {0},
};

const struct opt vocab_opts[] = {
    {"min-count", .kind = OPT_U64, ON(min_count), .arg = "N", .u = {1, UINT64_MAX},
     .help = "leave out words seen less often"},
    {"max-vocab", .kind = OPT_U64, ON(max_vocab), .arg = "N", .u = {0, UINT32_MAX - 1},
     .help = "keep at most so many words, the commonest, " SHOAL_UNK " among them", .zero = "all"},
    {"unk", .kind = OPT_FLAG, ON(unk), .help = "count what is left out as " SHOAL_UNK},
    {"vocab-memory", .kind = OPT_SIZE, ON(memory), .arg = "SIZE", .u = {1 << 20, UINT64_MAX},
     .help = "memory for counting; beyond it counts go through the disk"},
    {0},
};

const struct choice format_choices[] = {
    [SHOAL_FORMAT_AUTO] = {"auto", "by the ending of the file's name"},
    [SHOAL_FORMAT_WORD2VEC] = {"word2vec", "word2vec's binary (.bin)"},
    [SHOAL_FORMAT_TEXT] = {"text", "word2vec's text, also fastText's (.vec, .txt)"},
    [SHOAL_FORMAT_GLOVE] = {"glove", "the same without a first line (.glove)"},
    [SHOAL_FORMAT_SHOAL] = {"shoal", "opens at once, whatever its size (.shoal)"},
    [SHOAL_FORMAT_NPY] = {"npy", "NumPy's, with the words in FILE.vocab (.npy)"},
    [SHOAL_FORMAT_SAFETENSORS] = {"safetensors", "Hugging Face's (.safetensors)"},
    {0},
};

const struct choice clicks_choices[] = {
    [SHOAL_CLICKS_AUTO] = {"auto", "by the first line"},
    [SHOAL_CLICKS_LIBSVM] = {"libsvm", "label index:value ..."},
    [SHOAL_CLICKS_VW] = {"vw", "Vowpal Wabbit's: label importance 'tag|space feature:value ..."},
    [SHOAL_CLICKS_CRITEO] = {"criteo", "label, 13 integers and 26 categories between tabs"},
    [SHOAL_CLICKS_CSV] = {"csv", "fields between commas below a line of names"},
    {0},
};

#define CLICKS(member) FIELD(struct shoal_clicks_opts, member)

/* clang-format off */
#define CLICKS_AGAIN_OPTS                                                                          \
    {"format", .kind = OPT_CHOICE, CLICKS(format), .arg = "FORMAT", .choices = clicks_choices,     \
     .help = "how rows are written"},                                                              \
    {"skip-bad", .kind = OPT_U64, CLICKS(skip_bad), .arg = "N", .u = {0, UINT64_MAX},              \
     .help = "leave out up to N malformed lines; one more fails"}
/* clang-format on */

const struct opt clicks_again_opts[] = {CLICKS_AGAIN_OPTS, {0}};

const struct opt clicks_opts[] = {
    CLICKS_AGAIN_OPTS,
    {"label", .kind = OPT_STRING, CLICKS(label), .arg = "COLUMN",
     .help = "CSV: the column of labels, else label, click, target, y or the first"},
    {"bits", .kind = OPT_U64, CLICKS(bits), .arg = "N", .u = {1, 30},
     .help = "hash features into 2^N slots"},
    {"numeric", .kind = OPT_STRING, CLICKS(numeric), .arg = "COLUMN,...",
     .help = "CSV: the columns that are numbers, not categories, - for none, else by the first "
             "rows"},
    {0},
};

const struct choice loss_choices[] = {
    [SHOAL_NS] = {"ns", "negative sampling"},
    [SHOAL_HS] = {"hs", "hierarchical softmax over a Huffman tree"},
    [SHOAL_SOFTMAX] = {"softmax", "exact softmax, for small vocabularies"},
    {0},
};

const struct choice schedule_choices[] = {
    [SHOAL_LINEAR] = {"linear", "falls evenly to a 10,000th"},
    [SHOAL_CONSTANT] = {"constant", "stays"},
    [SHOAL_INVERSE_TIME] = {"inverse-time", "lr / (1 + decay * epochs done)"},
    [SHOAL_COSINE] = {"cosine", "falls to 0, slowly at both ends"},
    {0},
};

const struct opt work_opts[] = {
    {"quiet", 'q', OPT_FLAG, FIELD(struct work_opts, quiet),
     .help = "print only warnings and failures"},
    {"help", 'h', OPT_HELP, .help = "explain this verb"},
    {0},
};

const struct opt help_opts[] = {
    {"help", 'h', OPT_HELP, .help = "explain this verb"},
    {0},
};
