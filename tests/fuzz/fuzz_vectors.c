/* Word vectors: any bytes are refused with a sentence, or make vectors that can
 * be walked through, whose rows are finite once they are verified, and which
 * come back the same through text. The first byte says how many of the next
 * bytes are the lines of FILE.vocab; sections of a container stand behind it as fuzz.h has
 * them. */
#include "fuzz.h"

#include "saved/vectors/vectors.h"

#include <math.h>
#include <stdlib.h>

static void walk(const shoal_vectors *v, bool verified)
{
    size_t dim = shoal_vectors_dim(v);
    float *row = malloc(dim * sizeof *row);

    require(row && shoal_vectors_size(v) > 0 && dim > 0);
    for (uint32_t id = 0; id < shoal_vectors_size(v); id++) {
        const char *word = shoal_vectors_word(v, id);
        uint32_t found = shoal_vectors_find(v, word, strlen(word));

        require(shoal_vectors_row(v, id, row) == SHOAL_OK);
        require(!verified || found == id);
        for (size_t i = 0; i < dim && verified; i++)
            require(isfinite(row[i]) || v->dtype == SHOAL_INT8);
    }
    free(row);
}

/* Each number through its shortest decimal. */
static void check_decimals(const shoal_vectors *v)
{
    float *row = malloc(shoal_vectors_dim(v) * sizeof *row);

    require(shoal_vectors_row(v, 0, row) == SHOAL_OK);
    for (size_t i = 0; i < shoal_vectors_dim(v) && isfinite(row[i]); i++) {
        char text[DECIMAL_MAX];
        size_t len = decimal_format(text, row[i]);
        float back;

        require(decimal_parse(text, text + len, &back) == text + len);
        require(memcmp(&back, &row[i], sizeof back) == 0);
    }
    free(row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t lines = size > 0 && data[0] < size ? data[0] : 0, skip = size > 0 ? 1 + lines : 0;
    shoal_vectors *v = NULL;
    size_t len = size - skip;
    char *words, *copy;

    fuzz_begin(size, 64 * MIB, 64);
    words = fuzz_copy(data + (size > 0), lines);
    copy = len >= 2 && memcmp(data + skip, "%%", 2) == 0 ? fuzz_container(data + skip, len, &len)
                                                         : fuzz_copy(data + skip, len);
    /* A zstd frame may ask for its window. */
    fuzz_begin(len, 160 * MIB, 64);
    if (vectors_open_memory(&v, "fuzz", copy, len, words, lines) == SHOAL_OK) {
        bool verified = shoal_vectors_verify(v) == SHOAL_OK;

        walk(v, verified);
        check_decimals(v);
    } else {
        require(v == NULL && strncmp(shoal_error(), "fuzz", 4) == 0);
    }
    shoal_vectors_close(v);
    fuzz_end();
    return 0;
}
