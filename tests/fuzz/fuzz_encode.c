/* The way of text: any bytes, plain or compressed, are refused with a sentence or become a
 * vocabulary, phrases and a corpus that can be opened. The first two bytes choose how. */
#include "fuzz.h"

#include "text/text.h"

#include <stdio.h>
#include <unistd.h>

/* Few bytes may decompress to very many; so many are read. */
static bool is_plain(const uint8_t *data, size_t size)
{
    return size < 4 || (memcmp(data, "\x1f\x8b", 2) != 0 && memcmp(data + 1, "\xb5\x2f\xfd", 3));
}

static void check_corpus(const char *path, uint64_t words)
{
    shoal_corpus *c = NULL;

    require(shoal_corpus_open(&c, path) == SHOAL_OK);
    require(shoal_corpus_words(c) <= words);
    shoal_corpus_close(c);
}

/* Where three readers would part the text: one behind the other. */
static void cut(const char *input, const struct shoal_vocab_opts *opts)
{
    struct inputs inputs = {0};
    struct cut at, before = {0};

    require(inputs_expand(&inputs, &input, 1) == SHOAL_OK);
    for (unsigned i = 0; i <= 3; i++) {
        if (text_cut(&at, &inputs, opts, i, 3) != SHOAL_OK)
            break;
        require(at.input > before.input || at.offset >= before.offset);
        before = at;
    }
    inputs_fini(&inputs);
}

static void encode(const char *input, const struct shoal_vocab_opts *vocab, const char *folder)
{
    struct shoal_encode_opts opts = shoal_encode_default();
    struct shoal_encode_stats stats;
    char path[256];

    snprintf(path, sizeof path, "%s/corpus.shoal", folder);
    opts.vocab = *vocab;
    if (shoal_encode(path, &input, 1, &opts, &stats) == SHOAL_OK)
        check_corpus(path, UINT64_MAX);
    else
        require(*shoal_error() != '\0' && access(path, F_OK) != 0);
}

static void join(const char *input, const struct shoal_vocab_opts *vocab, const char *folder,
                 unsigned passes, size_t size)
{
    struct shoal_phrases_opts opts = shoal_phrases_default();
    struct shoal_phrases_stats stats;
    char path[256];

    snprintf(path, sizeof path, "%s/joined.txt", folder);
    opts.vocab = *vocab;
    opts.vocab.max_vocab = 0;
    opts.vocab.unk = false;
    opts.threshold = passes;
    opts.passes = 1 + passes % 3;
    if (shoal_phrases(path, &input, 1, &opts, &stats) == SHOAL_OK)
        fuzz_output(stats.bytes, size, 16, 4);
    else
        require(*shoal_error() != '\0' && access(path, F_OK) != 0);
}

/* The words are the same for any number of threads. */
static void agree(const char *input, const struct shoal_vocab_opts *opts)
{
    struct shoal_vocab_opts now = *opts;
    struct shoal_vocab_stats stats[3];
    uint64_t marks[3] = {0};

    for (unsigned i = 0; i < 3; i++) {
        shoal_vocab *v = NULL;

        now.threads = 1 + i;
        if (shoal_vocab_build(&v, &input, 1, &now, &stats[i]) == SHOAL_OK)
            marks[i] = vocab_fingerprint(v);
        shoal_vocab_free(v);
        require(marks[i] == marks[0]);
        require(marks[i] == 0 || memcmp(&stats[i].text, &stats[0].text, sizeof stats[0].text) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct shoal_vocab_opts opts = shoal_vocab_default();
    const char *folder, *input;

    if (size < 2 || !is_plain(data + 2, size - 2))
        return 0;
    folder = fuzz_folder();
    opts.tokens = (enum shoal_tokens)((data[0] & 1) + (data[0] >> 4 & 2));
    opts.bad_bytes = (enum shoal_bad_bytes)((data[0] >> 1 & 1) + (data[0] >> 5 & 2));
    opts.unk = data[0] & 4;
    opts.emoji = data[0] & 16;
    opts.min_count = 1 + data[1] % 4;
    opts.max_vocab = data[1] / 4 % 8;
    opts.encoding = (enum shoal_encoding)(data[1] / 32 % 5);
    opts.threads = 1;
    opts.memory = MIB;
    input = fuzz_put("text", data + 2, size - 2);
    fuzz_begin(size, 64 * MIB, 256);
    cut(input, &opts);
    if (data[0] & 8 && opts.unk)
        agree(input, &opts);
    else if (data[0] & 8)
        join(input, &opts, folder, data[1], size);
    else
        encode(input, &opts, folder);
    fuzz_end();
    return 0;
}
