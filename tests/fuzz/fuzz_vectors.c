/* Word vectors: any bytes are refused with a sentence, or make vectors that can
 * be walked through, whose rows are finite once they are verified, and which
 * come back the same through text. The first byte says how many of the next
 * bytes are the lines of FILE.vocab; sections of a container stand behind it as fuzz.h has
 * them, and so do members of a zip archive, ##NAME or ##+NAME when it is deflated: their sums are
 * right whatever is in them. */
#include "fuzz.h"

#include "saved/vectors/vectors.h"

#include "../unit/zip.h"

#include <math.h>
#include <stdlib.h>

/* Without subwords only known words have vectors; with them a word may have none all the same. */
static void check_unseen(const shoal_vectors *v, const char *word, float *row)
{
    bool known = true;
    shoal_status st = shoal_vectors_compose(v, word, strlen(word), row, &known);

    require(st == SHOAL_OK || st == SHOAL_ENOENT || v->late);
    require(st != SHOAL_OK || known || shoal_vectors_subwords(v).maxn > 0);
}

static void walk(const shoal_vectors *v, bool verified)
{
    size_t dim = shoal_vectors_dim(v);
    float *row = malloc(dim * sizeof *row);

    require(row && shoal_vectors_size(v) > 0 && dim > 0);
    for (uint32_t id = 0; id < shoal_vectors_size(v); id++) {
        const char *word = shoal_vectors_word(v, id);
        uint32_t found = shoal_vectors_find(v, word, strlen(word));

        if (shoal_vectors_row(v, id, row) != SHOAL_OK) {
            require(v->late && strstr(shoal_error(), "a NaN or an infinity"));
            continue;
        }
        require(!verified || found == id);
        for (size_t i = 0; i < dim && verified; i++)
            require(isfinite(row[i]) || v->dtype == SHOAL_INT8);
    }
    check_unseen(v, "n\xc3\xa9ver seen", row);
    free(row);
}

/* Each number through its shortest decimal. */
static void check_decimals(const shoal_vectors *v)
{
    float *row = malloc(shoal_vectors_dim(v) * sizeof *row);

    if (shoal_vectors_row(v, 0, row) != SHOAL_OK)
        *row = NAN;
    for (size_t i = 0; i < shoal_vectors_dim(v) && isfinite(row[i]); i++) {
        char text[DECIMAL_MAX];
        size_t len = decimal_format(text, row[i]);
        float back;

        require(decimal_parse(text, text + len, &back) == text + len);
        require(memcmp(&back, &row[i], sizeof back) == 0);
    }
    free(row);
}

static char *archive(const uint8_t *data, size_t size, size_t *len)
{
    struct fuzz_cut cut = fuzz_cut("##", data, size);
    struct fuzz_piece piece;
    struct zip_made z = {0};
    char *copy;

    while (fuzz_next(&cut, &piece)) {
        const char *name = piece.name;

        if (*name)
            zip_add(&z, name + (*name == '+'), piece.at, piece.size, *name == '+');
    }
    zip_end(&z);
    *len = z.file.len;
    copy = fuzz_copy(z.file.at, z.file.len);
    zip_made_fini(&z);
    return copy;
}

/* A file of these bytes, or of what they stand for. */
static char *made_of(const uint8_t *data, size_t *len)
{
    if (*len >= 2 && memcmp(data, "%%", 2) == 0)
        return fuzz_container(data, *len, len);
    if (*len >= 2 && memcmp(data, "##", 2) == 0)
        return archive(data, *len, len);
    return fuzz_copy(data, *len);
}

static void check_left(const shoal_vectors *v)
{
    struct shoal_left_out left = shoal_vectors_left_out(v);

    require((shoal_vectors_strict(v) == SHOAL_OK) == (left.twice + left.empty == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t lines = size > 0 && data[0] < size ? data[0] : 0, skip = size > 0 ? 1 + lines : 0;
    shoal_vectors *v = NULL;
    size_t len = size - skip;
    char *words, *copy;

    fuzz_begin(size, 64 * MIB, 64);
    words = fuzz_copy(data + (size > 0), lines);
    copy = made_of(data + skip, &len);
    /* A zstd frame may ask for its window. */
    fuzz_begin(len, 160 * MIB, 64);
    if (vectors_open_memory(&v, "fuzz", copy, len, words, lines) == SHOAL_OK) {
        bool verified = shoal_vectors_verify(v) == SHOAL_OK;

        walk(v, verified);
        check_left(v);
        check_decimals(v);
    } else {
        require(v == NULL && strncmp(shoal_error(), "fuzz", 4) == 0);
    }
    shoal_vectors_close(v);
    fuzz_end();
    return 0;
}
