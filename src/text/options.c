/* How text is read: the tables of its options; and the formats of vectors. */
#include "text/text.h"

/* ---- text ---- */

#define ON(member) SHOAL_FIELD(struct shoal_vocab_opts, member)

static const struct shoal_choice token_choices[] = {
    [SHOAL_TOKENS_SPACE] = {"space", "at white space, as word2vec.c and fastText do"},
    [SHOAL_TOKENS_WORDS] = {"words", "Unicode letters and digits, lower-cased"},
    [SHOAL_TOKENS_CHARS] = {"chars", "words, but each character of Chinese, Japanese, Korean, "
                                     "Thai, Lao, Khmer and Burmese is one"},
    [SHOAL_TOKENS_BIGRAMS] = {"bigrams",
                              "words, but each two such characters side by side are one"},
    {0},
};

static const struct shoal_choice bad_bytes_choices[] = {
    [SHOAL_BAD_REFUSE] = {"refuse", "fail and name the first such byte"},
    [SHOAL_BAD_SPACE] = {"space", "read each as a space"},
    [SHOAL_BAD_REPLACE] = {"replace", "put U+FFFD for each broken character"},
    [SHOAL_BAD_KEEP] = {"keep", "leave them in their words as they are"},
    {0},
};

static const struct shoal_choice encoding_choices[] = {
    [SHOAL_ENCODING_UTF8] = {"utf-8", "what looks like another one is refused and named"},
    [SHOAL_ENCODING_AUTO] = {"auto", "UTF-16, UTF-8 or Windows-1252, as each input looks"},
    [SHOAL_ENCODING_LATIN1] = {"latin-1", "ISO 8859-1"},
    [SHOAL_ENCODING_WINDOWS_1252] = {"windows-1252", "Latin-1 with quotes, dashes and the euro"},
    [SHOAL_ENCODING_UTF16] = {"utf-16", "by its byte-order mark, else by its zero bytes"},
    {0},
};

/* clang-format off */
#define TOKENS                                                                                     \
    {"tokens", .type = SHOAL_TYPE_CHOICE, ON(tokens), .arg = "HOW", .choices = token_choices,      \
     .help = "how text becomes words"},                                                            \
    {"bad-bytes", .type = SHOAL_TYPE_CHOICE, ON(bad_bytes), .arg = "HOW",                          \
     .choices = bad_bytes_choices, .help = "what to do with bytes that are not UTF-8"},            \
    {"encoding", .type = SHOAL_TYPE_CHOICE, ON(encoding), .arg = "NAME",                           \
     .choices = encoding_choices, .help = "how the text is encoded"},                              \
    {"emoji", .type = SHOAL_TYPE_FLAG, ON(emoji),                                                  \
     .help = "keep emoji, each a word; --tokens space always does"}
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
     .help = "leave out words seen less often; 1 unless given with --max-vocab and --unk"},
    {"max-vocab", .type = SHOAL_TYPE_COUNT, ON(max_vocab), .arg = "N", .u = {0, UINT32_MAX - 1},
     .help = "keep at most so many words, the commonest, " SHOAL_UNK " among them", .zero = "all"},
    {"unk", .type = SHOAL_TYPE_FLAG, ON(unk), .help = "count what is left out as " SHOAL_UNK},
    {"vocab-memory", .type = SHOAL_TYPE_SIZE, ON(memory), .arg = "SIZE", .u = {1 << 20, UINT64_MAX},
     .help = "memory for counting; beyond it counts go through the disk"},
    {0},
};
