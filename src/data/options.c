/* How inputs are read: the tables of their options. */
#include "data/data.h"

#include <stdio.h>

/* ---- text ---- */

#define ON(member) SHOAL_FIELD(struct shoal_vocab_opts, member)

static const struct shoal_choice token_choices[] = {
    [SHOAL_TOKENS_SPACE] = {"space", "at white space, as word2vec.c and fastText do"},
    [SHOAL_TOKENS_WORDS] = {"words", "Unicode letters and digits, lower-cased"},
    {0},
};

static const struct shoal_choice bad_bytes_choices[] = {
    [SHOAL_BAD_REFUSE] = {"refuse", "fail and name the first such byte"},
    [SHOAL_BAD_SPACE] = {"space", "read each as a space and count them"},
    {0},
};

/* clang-format off */
#define TOKENS                                                                                     \
    {"tokens", .type = SHOAL_TYPE_CHOICE, ON(tokens), .arg = "HOW", .choices = token_choices,      \
     .help = "how text becomes words"},                                                            \
    {"bad-bytes", .type = SHOAL_TYPE_CHOICE, ON(bad_bytes), .arg = "HOW",                          \
     .choices = bad_bytes_choices, .help = "what to do with bytes that are no UTF-8 text"}
/* clang-format on */

const struct shoal_option shoal_token_options[] = {TOKENS, {0}};

const struct shoal_option shoal_text_options[] = {
    TOKENS,
    {"threads", .type = SHOAL_TYPE_COUNT, ON(threads), .arg = "N", .u = {0, 1024},
     .help = "threads to work with", .zero = "one for each core"},
    {0},
};

const struct shoal_option shoal_vocab_options[] = {
    {"min-count", .type = SHOAL_TYPE_COUNT, ON(min_count), .arg = "N", .u = {1, UINT64_MAX},
     .help = "leave out words seen less often"},
    {"max-vocab", .type = SHOAL_TYPE_COUNT, ON(max_vocab), .arg = "N", .u = {0, UINT32_MAX - 1},
     .help = "keep at most so many words, the commonest, " SHOAL_UNK " among them", .zero = "all"},
    {"unk", .type = SHOAL_TYPE_FLAG, ON(unk), .help = "count what is left out as " SHOAL_UNK},
    {"vocab-memory", .type = SHOAL_TYPE_SIZE, ON(memory), .arg = "SIZE", .u = {1 << 20, UINT64_MAX},
     .help = "memory for counting; beyond it counts go through the disk"},
    {0},
};

/* ---- vectors ---- */

const struct shoal_choice shoal_format_choices[] = {
    [SHOAL_FORMAT_AUTO] = {"auto", "by the ending of the file's name"},
    [SHOAL_FORMAT_WORD2VEC] = {"word2vec", "word2vec's binary (.bin)"},
    [SHOAL_FORMAT_TEXT] = {"text", "word2vec's text, also fastText's (.vec, .txt)"},
    [SHOAL_FORMAT_GLOVE] = {"glove", "the same without a first line (.glove)"},
    [SHOAL_FORMAT_SHOAL] = {"shoal", "opens at once, whatever its size (.shoal)"},
    [SHOAL_FORMAT_NPY] = {"npy", "NumPy's, with the words in FILE.vocab (.npy)"},
    [SHOAL_FORMAT_SAFETENSORS] = {"safetensors", "Hugging Face's (.safetensors)"},
    {0},
};

/* ---- rows ---- */

const struct shoal_choice shoal_rows_choices[] = {
    [SHOAL_CLICKS_AUTO] = {"auto", "by the first line"},
    [SHOAL_CLICKS_LIBSVM] = {"libsvm", "label index:value ..."},
    [SHOAL_CLICKS_VW] = {"vw", "Vowpal Wabbit's: label importance 'tag|space feature:value ..."},
    [SHOAL_CLICKS_CRITEO] = {"criteo", "label, 13 integers and 26 categories between tabs"},
    [SHOAL_CLICKS_CSV] = {"csv", "fields between commas below a line of names"},
    {0},
};

#define ROWS(member) SHOAL_FIELD(struct shoal_clicks_opts, member)

/* clang-format off */
#define ROWS_AGAIN                                                                                 \
    {"format", .type = SHOAL_TYPE_CHOICE, ROWS(format), .arg = "FORMAT",                           \
     .choices = shoal_rows_choices, .help = "how rows are written"},                               \
    {"skip-bad", .type = SHOAL_TYPE_COUNT, ROWS(skip_bad), .arg = "N", .u = {0, UINT64_MAX},       \
     .help = "leave out up to N malformed lines; one more fails"}
/* clang-format on */

const struct shoal_option shoal_rows_again_options[] = {ROWS_AGAIN, {0}};

const struct shoal_option shoal_rows_options[] = {
    ROWS_AGAIN,
    {"label", .type = SHOAL_TYPE_TEXT, ROWS(label), .arg = "COLUMN",
     .help = "CSV: the column of labels, else label, click, target, y or the first"},
    {"bits", .type = SHOAL_TYPE_COUNT, ROWS(bits), .arg = "N", .u = {1, 30},
     .help = "hash features into 2^N slots"},
    {"numeric", .type = SHOAL_TYPE_TEXT, ROWS(numeric), .arg = "COLUMN,...",
     .help = "CSV: the columns that are numbers, not categories, - for none, else by the first "
             "rows"},
    {0},
};

/* ---- samples ---- */

static const struct shoal_choice header_choices[] = {
    [SHOAL_HEADER_AUTO] = {"auto", "the first line is one when it holds no number"},
    [SHOAL_HEADER_YES] = {"yes", "the first line is skipped"},
    [SHOAL_HEADER_NO] = {"no", "the first line is a sample"},
    {0},
};

/* A column from 1, or 0 for the last; kept from 0. */
static bool read_column(void *field, const char *text)
{
    static const struct shoal_option column = {
        .type = SHOAL_TYPE_COUNT, .size = sizeof(uint32_t), .u = {0, 1 << 24}};
    bool good = shoal_option_read(&column, field, text);

    *(uint32_t *)field = *(uint32_t *)field == 0 ? SHOAL_LAST_COLUMN : *(uint32_t *)field - 1;
    return good;
}

static void show_column(char text[SHOAL_VALUE], const void *field)
{
    uint32_t column = *(const uint32_t *)field;

    snprintf(text, SHOAL_VALUE, "%u", column == SHOAL_LAST_COLUMN ? 0 : column + 1);
}

static const struct shoal_own_type column_type = {read_column, show_column,
                                                  "a whole number from 0 to 16777216"};

#define SAMPLES(member) SHOAL_FIELD(struct shoal_samples_opts, member)

const struct shoal_option shoal_samples_options[] = {
    {"label", .type = SHOAL_TYPE_OWN, SAMPLES(label), .arg = "COLUMN", .own = &column_type,
     .u = {0, 1 << 24}, .help = "the column of the class, or of the first target, from 1",
     .zero = "the last"},
    {"targets", .type = SHOAL_TYPE_COUNT, SAMPLES(targets), .arg = "N", .u = {1, 1 << 20},
     .help = "so many columns are targets (regression)"},
    {"labels", .type = SHOAL_TYPE_PATH, SAMPLES(labels), .arg = "FILE",
     .help = "read classes or targets from a file of their own"},
    {"header", .type = SHOAL_TYPE_CHOICE, SAMPLES(header), .arg = "HOW", .choices = header_choices,
     .help = "whether CSV has a line of names"},
    {0},
};
