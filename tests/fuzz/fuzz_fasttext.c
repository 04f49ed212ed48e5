/* fastText's models: any bytes are refused with a sentence, or make a model whose rows can be added
 * and multiplied, and whose n-grams have rows; word vectors of it are composed and written again. */
#include "fuzz.h"

#include "saved/vectors/vectors.h"

enum { ASKED = 64, COLS = 1 << 12 };

static void walk_matrix(const struct fasttext_matrix *m)
{
    float *row = calloc(m->cols, sizeof *row);

    require(row != NULL);
    for (size_t i = 0; i < m->rows && i < ASKED; i++) {
        fasttext_row(m, i, row);
        fasttext_add(m, m->rows - 1 - i, row);
        (void)fasttext_dot(m, i, row);
    }
    free(row);
}

static void walk_ngrams(const struct fasttext *f, const char *word, size_t len)
{
    uint32_t rows[256];
    size_t n = fasttext_ngrams(f, word, len, rows, 256);

    require(n <= 256);
    for (size_t i = 0; i < n; i++)
        require(rows[i] >= f->nwords && rows[i] < f->input.rows);
}

static bool walk_model(const char *bytes, size_t len)
{
    struct fasttext f;
    shoal_status st = fasttext_read(&f, "fuzz", bytes, len);
    bool vectors = st == SHOAL_OK && f.args.model != FASTTEXT_SUPERVISED && f.nwords > 0;

    if (st == SHOAL_OK) {
        for (size_t i = 0; i < f.nwords + f.nlabels; i++)
            require(f.words[i].len == strlen(f.words[i].at));
        for (size_t i = 0; i < f.nwords && i < ASKED; i++)
            walk_ngrams(&f, f.words[i].at, f.words[i].len);
        walk_ngrams(&f, "n\xc3\xa9ver seen", 11);
        if (f.input.cols <= COLS) {
            walk_matrix(&f.input);
            walk_matrix(&f.output);
        }
    } else {
        require(strncmp(shoal_error(), "fuzz", 4) == 0);
    }
    fasttext_fini(&f);
    return vectors;
}

static void write_again(const shoal_vectors *v)
{
    struct shoal_save_opts opts = {.format = SHOAL_FORMAT_FASTTEXT};

    if (shoal_vectors_save(v, "/dev/null", &opts) != SHOAL_OK)
        require(*shoal_error() != '\0');
}

static void walk_vectors(const char *bytes, size_t len)
{
    shoal_vectors *v = NULL;
    float *row;

    require(vectors_open_memory(&v, "fuzz", bytes, len, NULL, 0) == SHOAL_OK);
    row = calloc(shoal_vectors_dim(v), sizeof *row);
    require(row && shoal_vectors_size(v) > 0);
    for (uint32_t id = 0; id < shoal_vectors_size(v) && id < ASKED; id++) {
        const char *word = shoal_vectors_word(v, id);

        require(shoal_vectors_find(v, word, strlen(word)) == id);
        if (shoal_vectors_row(v, id, row) != SHOAL_OK)
            require(strstr(shoal_error(), "a NaN or an infinity") != NULL);
    }
    (void)shoal_vectors_compose(v, "n\xc3\xa9ver seen", 11, row, NULL);
    if (shoal_vectors_dim(v) <= COLS)
        write_again(v);
    free(row);
    shoal_vectors_close(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy;

    fuzz_begin(size, 16 * MIB, 64);
    copy = fuzz_copy(data, size);
    if (walk_model(copy, size))
        walk_vectors(copy, size);
    fuzz_end();
    return 0;
}
