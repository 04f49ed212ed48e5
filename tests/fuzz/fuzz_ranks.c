/* What another rank sends besides rows: counts of words, and what it settles for. Any bytes
 * behind the first are refused with a sentence, or are added. */
#include "fuzz.h"

#include "text/text.h"

#include <stdio.h>

static struct vocab_part *part_open(const struct shoal_vocab_opts *opts, struct inputs *inputs,
                                    struct text **text)
{
    const char *path = fuzz_file("one two\n", 8);
    struct vocab_part *part = NULL;

    require(inputs_expand(inputs, &path, 1) == SHOAL_OK);
    require(text_open(text, inputs, opts, false, "count") == SHOAL_OK);
    require(vocab_part_open(&part, opts, 0, 2) == SHOAL_OK);
    require(vocab_part_count(part, *text) == SHOAL_OK);
    return part;
}

static void unpack(struct vocab_part *part, struct fuzz_piece batch)
{
    struct bytes own = {0};

    batch.padded = batch.size + KEY_PAD;
    if (vocab_part_unpack(part, fuzz_whole(&batch), batch.size) == SHOAL_OK)
        require(vocab_part_settle(part, &own) == SHOAL_OK);
    else
        require(*shoal_error() != '\0');
    bytes_fini(&own);
}

/* Counts, and behind lines `##` what two ranks settled for. */
static void join(const uint8_t *data, size_t size)
{
    struct shoal_vocab_opts opts = shoal_vocab_default();
    struct fuzz_cut cut = fuzz_cut("##", data, size);
    struct fuzz_piece batch, settled[2], all = {.at = NULL};
    struct shoal_vocab_stats stats;
    struct inputs inputs = {0};
    struct text *text = NULL;
    struct vocab_part *part;
    shoal_vocab *v = NULL;
    size_t lens[2];
    char *both;

    opts.min_count = opts.threads = 1;
    opts.memory = MIB;
    part = part_open(&opts, &inputs, &text);
    fuzz_next(&cut, &batch);
    unpack(part, batch);
    for (size_t i = 0; i < 2; i++) {
        fuzz_next(&cut, &settled[i]);
        lens[i] = settled[i].size;
    }
    all.padded = lens[0] + lens[1] + KEY_PAD;
    both = fuzz_whole(&all);
    for (size_t i = 0; i < 2; i++)
        if (lens[i] > 0)
            memcpy(both + (i ? lens[0] : 0), settled[i].at, lens[i]);
    if (vocab_part_join(&v, part, both, lens, &stats) == SHOAL_OK)
        require(shoal_vocab_size(v) > 0);
    shoal_vocab_free(v);
    vocab_part_close(part);
    text_close(text);
    inputs_fini(&inputs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    fuzz_begin(size, 64 * MIB, 64);
    join(data + 1, size - 1);
    fuzz_end();
    return 0;
}
