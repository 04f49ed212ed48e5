/* The lines of a vocabulary: any bytes are refused with a sentence, or make a
 * vocabulary in order, whose words are found and whose lines read back. */
#include "fuzz.h"

#include "text/text.h"

#include <stdio.h>
#include <stdlib.h>

static void check_order(const shoal_vocab *v)
{
    uint64_t total = 0;

    for (uint32_t id = 0; id < shoal_vocab_size(v); id++) {
        const char *word = shoal_vocab_word(v, id);
        uint64_t count = shoal_vocab_count(v, id);

        require(word[0] != '\0');
        require(shoal_vocab_find(v, word, strlen(word)) == id);
        require((strcmp(word, SHOAL_UNK) == 0) == (shoal_vocab_unk(v) == id));
        if (id > 0) {
            uint64_t before = shoal_vocab_count(v, id - 1);

            require(before > count ||
                    (before == count && strcmp(shoal_vocab_word(v, id - 1), word) < 0));
        }
        require(!__builtin_add_overflow(total, count, &total));
    }
    require(total == shoal_vocab_total(v));
}

/* The lines that shoal_vocab_write would write, in memory. */
static struct bytes lines_of(const shoal_vocab *v)
{
    struct bytes b = {0};
    char count[32];

    snprintf(count, sizeof count, " %llu\n", (unsigned long long)shoal_vocab_sentences(v));
    bytes_add(&b, SHOAL_EOS, strlen(SHOAL_EOS));
    bytes_add(&b, count, strlen(count));
    for (uint32_t id = 0; id < shoal_vocab_size(v); id++) {
        snprintf(count, sizeof count, " %llu\n", (unsigned long long)shoal_vocab_count(v, id));
        bytes_add(&b, shoal_vocab_word(v, id), strlen(shoal_vocab_word(v, id)));
        bytes_add(&b, count, strlen(count));
    }
    return b;
}

static void check_reads_back(const shoal_vocab *v)
{
    struct bytes lines = lines_of(v);
    shoal_vocab *back = NULL;

    require(shoal_vocab_read_memory(&back, &(struct shoal_memory){"back", lines.at, lines.len}) ==
            SHOAL_OK);
    require(shoal_vocab_size(back) == shoal_vocab_size(v));
    require(shoal_vocab_sentences(back) == shoal_vocab_sentences(v));
    for (uint32_t id = 0; id < shoal_vocab_size(v); id++)
        require(strcmp(shoal_vocab_word(v, id), shoal_vocab_word(back, id)) == 0 &&
                shoal_vocab_count(v, id) == shoal_vocab_count(back, id));
    shoal_vocab_free(back);
    bytes_fini(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *copy;
    shoal_vocab *v = NULL;

    fuzz_begin(size, MIB, 256);
    copy = fuzz_copy(data, size);
    if (shoal_vocab_read_memory(&v, &(struct shoal_memory){"fuzz", copy, size}) == SHOAL_OK) {
        check_order(v);
        check_reads_back(v);
    } else {
        require(v == NULL && strncmp(shoal_error(), "fuzz: ", 6) == 0);
    }
    shoal_vocab_free(v);
    fuzz_end();
    return 0;
}
