/* Vectors to write, and what must hold of what is read back. */
#ifndef SHOAL_TEST_VECTORS_H
#define SHOAL_TEST_VECTORS_H

#include "saved/vectors/vectors.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "folder.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct {
    enum shoal_format format;
    const char *file;
} all[] = {
    {SHOAL_FORMAT_WORD2VEC, "v.bin"}, {SHOAL_FORMAT_TEXT, "v.vec"},
    {SHOAL_FORMAT_GLOVE, "v.glove"},  {SHOAL_FORMAT_SHOAL, "v.shoal"},
    {SHOAL_FORMAT_NPY, "v.npy"},      {SHOAL_FORMAT_SAFETENSORS, "v.safetensors"},
};

static inline void ok(shoal_status st)
{
    if (st != SHOAL_OK)
        fail_msg("%s", shoal_error());
}

static inline shoal_vectors *make(const char *const *words, size_t n, size_t dim,
                                  const float *values)
{
    struct span *spans = calloc(n, sizeof *spans);
    struct table rows;
    shoal_vocab *vocab;
    shoal_vectors *v;

    for (size_t i = 0; i < n; i++)
        spans[i] = (struct span){words[i], (uint32_t)strlen(words[i])};
    ok(vocab_from_words(&vocab, "make", spans, n));
    ok(table_init(&rows, "rows", n, dim));
    for (size_t i = 0; i < n; i++)
        memcpy(rows.at + i * rows.stride, values + i * dim, dim * sizeof *values);
    ok(vectors_take(&v, vocab, &rows, NULL, NULL));
    assert_null(rows.at);
    shoal_vocab_free(vocab);
    free(spans);
    return v;
}

/* Every kind of finite float, in rows of 7. */
#define MANY 300
static inline shoal_vectors *make_many(void)
{
    static const float edges[] = {0.0f,      -0.0f, FLT_MAX,       -FLT_MAX, FLT_MIN,
                                  1e-45f,    0.1f,  1.0f / 3,      16777216, 1e9f,
                                  123456792, 1e-5f, 9.9999994e-5f, 1};
    char text[MANY][16];
    const char *words[MANY] = {"the", "é", "日本語", "1", "</s>", "-0.5", "<UNK>", "\"\\/"};
    float values[MANY * 7];
    struct rng r = {.seed = 5};

    for (size_t i = 8; i < MANY; i++) {
        snprintf(text[i], sizeof text[i], "word%zu", i);
        words[i] = text[i];
    }
    for (size_t i = 0; i < MANY * 7; i++) {
        uint32_t bits = (uint32_t)rng_next(&r);

        memcpy(&values[i], &bits, sizeof bits);
        if (!isfinite(values[i]))
            values[i] = (float)rng_unit(&r) - 0.5f;
        if (i < COUNT(edges))
            values[i] = edges[i];
    }
    return make(words, MANY, 7, values);
}

static inline shoal_vectors *make_small(void)
{
    return make((const char *[]){"a", "b", "c"}, 3, 2, (float[]){3, 4, 0, 0, -0.25f, 1});
}

static inline shoal_vectors *reopen(const char *path)
{
    shoal_vectors *v;

    ok(shoal_vectors_open(&v, path));
    return v;
}

static inline shoal_vectors *through(const shoal_vectors *v, const char *path,
                                     struct shoal_save_opts opts)
{
    ok(shoal_vectors_save(v, path, &opts));
    return reopen(path);
}

static inline void assert_same(const shoal_vectors *a, const shoal_vectors *b)
{
    float *x = calloc(shoal_vectors_dim(a), sizeof *x);
    float *y = calloc(shoal_vectors_dim(a), sizeof *y);

    assert_int_equal(shoal_vectors_size(a), shoal_vectors_size(b));
    assert_int_equal(shoal_vectors_dim(a), shoal_vectors_dim(b));
    for (uint32_t id = 0; id < shoal_vectors_size(a); id++) {
        const char *word = shoal_vectors_word(a, id);

        assert_string_equal(word, shoal_vectors_word(b, id));
        assert_int_equal(shoal_vectors_find(b, word, strlen(word)), id);
        ok(shoal_vectors_row(a, id, x));
        ok(shoal_vectors_row(b, id, y));
        assert_memory_equal(x, y, shoal_vectors_dim(a) * sizeof *x);
    }
    free(x);
    free(y);
}

static inline void assert_refused(const char *path, const char *sentence)
{
    shoal_vectors *v = (shoal_vectors *)1;

    if (shoal_vectors_open(&v, path) == SHOAL_OK)
        fail_msg("%s was read", path);
    assert_null(v);
    assert_error_has(path);
    assert_error_has(sentence);
}

static inline void assert_text_refused(const char *text, const char *sentence)
{
    put_text("bad", text);
    assert_refused("bad", sentence);
}

#endif
