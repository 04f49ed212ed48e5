/* data: vectors_*.c and vocab_file.c, word vectors to files and back. */
#include "vectors.h"

/* ---- there and back ------------------------------------------------------------------- */

static void every_pair_of_formats_keeps_words_and_floats_exactly(void **state)
{
    shoal_vectors *v = make_many();

    (void)state;
    for (size_t i = 0; i < COUNT(all); i++) {
        shoal_vectors *first = through(v, all[i].file, shoal_save_default());

        assert_int_equal(shoal_vectors_format(first), all[i].format);
        assert_same(v, first);
        for (size_t k = 0; k < COUNT(all); k++) {
            struct shoal_save_opts opts = shoal_save_default();
            shoal_vectors *second;

            opts.format = all[k].format;
            second = through(first, "second", opts);
            assert_int_equal(shoal_vectors_format(second), all[k].format);
            assert_same(v, second);
            shoal_vectors_close(second);
        }
        shoal_vectors_close(first);
    }
    shoal_vectors_close(v);
}

static void vectors_stay_as_they_were_when_their_file_is_cut(void **state)
{
    shoal_vectors *v = make_many(), *back;

    (void)state;
    for (size_t i = 0; i < COUNT(all); i++) {
        ok(shoal_vectors_save(v, all[i].file, &(struct shoal_save_opts){.format = all[i].format}));
        ok(shoal_vectors_map(&back, all[i].file));
        assert_same(v, back);
        shoal_vectors_close(back);
        ok(shoal_vectors_open(&back, all[i].file));
        assert_int_equal(truncate(all[i].file, 0), 0); /* a mapping would now fault */
        assert_same(v, back);
        ok(shoal_vectors_verify(back));
        shoal_vectors_close(back);
    }
    shoal_vectors_close(v);
}

static void one_word_and_one_number_pass_every_format(void **state)
{
    shoal_vectors *v = make((const char *[]){"x"}, 1, 1, (float[]){7.5f});

    (void)state;
    for (size_t i = 0; i < COUNT(all); i++) {
        shoal_vectors *back = through(v, all[i].file, shoal_save_default());

        assert_int_equal(shoal_vectors_format(back), all[i].format);
        assert_same(v, back);
        shoal_vectors_close(back);
    }
    shoal_vectors_close(v);
}

static void large_files_are_the_same_for_all_threads(void **state)
{
    enum { N = 6000, D = 64 };
    char(*text)[16] = calloc(N, sizeof *text);
    const char **words = calloc(N, sizeof *words);
    float *values = calloc((size_t)N * D, sizeof *values);
    struct rng r = {.seed = 8};
    shoal_vectors *v;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        snprintf(text[i], sizeof text[i], "w%zu", i);
        words[i] = text[i];
    }
    for (size_t i = 0; i < (size_t)N * D; i++)
        values[i] = (float)(rng_unit(&r) - 0.5);
    v = make(words, N, D, values);
    for (size_t i = 0; i < COUNT(all); i++) {
        shoal_vectors *back = through(v, all[i].file, shoal_save_default());

        assert_same(v, back);
        shoal_vectors_close(back);
    }
    shoal_vectors_close(v);
    free(values);
    free(words);
    free(text);
}

static void a_word_with_a_space_goes_where_it_can(void **state)
{
    shoal_vectors *v = make((const char *[]){"the", ". . .", "at name@domain.com"}, 3, 2,
                            (float[]){1, 2, 3, 4, 5, 6});
    struct shoal_save_opts opts = shoal_save_default();

    (void)state;
    for (size_t i = 0; i < COUNT(all); i++) {
        if (i < 2) {
            assert_int_equal(shoal_vectors_save(v, all[i].file, &opts), SHOAL_EINVAL);
            assert_error_has("word 2, `. . .`, holds a space");
        } else {
            shoal_vectors *back = through(v, all[i].file, opts);

            assert_same(v, back);
            shoal_vectors_close(back);
        }
    }
    assert_int_equal(files_here(), 5);
    shoal_vectors_close(v);
}

static void glove_refuses_words_that_would_read_otherwise(void **state)
{
    static const char *const words[] = {" a", "a ", "a 7", "a\tb", "a\nb", "a\rb"};
    struct shoal_save_opts opts = shoal_save_default();

    (void)state;
    for (size_t i = 0; i < COUNT(words); i++) {
        shoal_vectors *v = make((const char *[]){"x", words[i]}, 2, 1, (float[]){1, 2});

        assert_int_equal(shoal_vectors_save(v, "v.glove", &opts), SHOAL_EINVAL);
        assert_error_has("word 2");
        shoal_vectors_close(v);
    }
    shoal_vectors *v = make((const char *[]){"5", "b"}, 2, 1, (float[]){1, 2});

    assert_int_equal(shoal_vectors_save(v, "v.glove", &opts), SHOAL_EINVAL);
    assert_error_has("first line of word2vec text");
    shoal_vectors_close(v);
    assert_int_equal(files_here(), 0);
}

static void a_newline_is_carried_by_our_container_alone(void **state)
{
    shoal_vectors *v = make((const char *[]){"x", "a\nb"}, 2, 1, (float[]){1, 2});
    struct shoal_save_opts opts = shoal_save_default();

    (void)state;
    for (size_t i = 0; i < COUNT(all); i++)
        if (all[i].format == SHOAL_FORMAT_SHOAL) {
            shoal_vectors *back = through(v, all[i].file, opts);

            assert_same(v, back);
            shoal_vectors_close(back);
        } else {
            assert_int_equal(shoal_vectors_save(v, all[i].file, &opts), SHOAL_EINVAL);
            assert_error_has("word 2");
        }
    assert_int_equal(files_here(), 1);
    shoal_vectors_close(v);
}

static void words_that_are_no_utf8_are_kept(void **state)
{
    shoal_vectors *v = make((const char *[]){"\xff\xfe", "a\x01z"}, 2, 1, (float[]){1.5f, 2});

    (void)state;
    for (size_t i = 0; i < COUNT(all); i++) {
        shoal_vectors *back = through(v, all[i].file, shoal_save_default());

        assert_same(v, back);
        shoal_vectors_close(back);
    }
    assert_int_equal(access("v.safetensors.vocab", F_OK), 0);
    shoal_vectors_close(v);
}

/* ---- dtypes --------------------------------------------------------------------------- */

static void each_format_has_its_dtypes(void **state)
{
    static const enum shoal_dtype most[] = {
        [SHOAL_FORMAT_WORD2VEC] = SHOAL_F32, [SHOAL_FORMAT_TEXT] = SHOAL_F32,
        [SHOAL_FORMAT_GLOVE] = SHOAL_F32,    [SHOAL_FORMAT_SHOAL] = SHOAL_INT8,
        [SHOAL_FORMAT_NPY] = SHOAL_F16,      [SHOAL_FORMAT_SAFETENSORS] = SHOAL_BF16};
    shoal_vectors *v = make_small();

    (void)state;
    for (size_t i = 0; i < COUNT(all); i++)
        for (int d = SHOAL_F32; d <= SHOAL_INT8; d++) {
            struct shoal_save_opts opts = {.dtype = (enum shoal_dtype)d};
            float row[2];

            if (opts.dtype > most[all[i].format]) {
                assert_int_equal(shoal_vectors_save(v, all[i].file, &opts), SHOAL_EINVAL);
                assert_error_has(dtype_name(opts.dtype));
                continue;
            }
            shoal_vectors *back = through(v, all[i].file, opts);

            assert_int_equal(shoal_vectors_dtype(back), d);
            ok(shoal_vectors_row(back, 0, row));
            assert_true(fabsf(row[0] - 3) < 0.02f && fabsf(row[1] - 4) < 1e-6f);
            shoal_vectors_close(back);
        }
    shoal_vectors_close(v);
}

static void quantised_rows_are_copied_as_they_are(void **state)
{
    shoal_vectors *v = make_small(), *once, *twice;
    struct shoal_save_opts opts = {.dtype = SHOAL_INT8};

    (void)state;
    once = through(v, "once.shoal", opts);
    twice = through(once, "twice.shoal", opts);
    assert_same(once, twice);
    assert_non_null(twice->scales);
    shoal_vectors_close(twice);
    shoal_vectors_close(once);
    shoal_vectors_close(v);
}

static void a_number_too_large_for_the_dtype_is_refused(void **state)
{
    shoal_vectors *v = make((const char *[]){"a", "b"}, 2, 1, (float[]){1, 70000});
    struct shoal_save_opts opts = {.dtype = SHOAL_F16};

    (void)state;
    assert_int_equal(shoal_vectors_save(v, "v.npy", &opts), SHOAL_EFORMAT);
    assert_error_has("vector 2, of `b`, holds a number over 65504");
    shoal_vectors_close(v);
}

/* ---- options -------------------------------------------------------------------------- */

static void normalized_rows_have_length_one_and_zeros_stay(void **state)
{
    shoal_vectors *v = make_small(), *back;
    float row[2];

    (void)state;
    back = through(v, "v.bin", (struct shoal_save_opts){.normalize = true});
    ok(shoal_vectors_row(back, 0, row));
    assert_true(row[0] == 0.6f && row[1] == 0.8f);
    ok(shoal_vectors_row(back, 1, row));
    assert_true(row[0] == 0 && row[1] == 0);
    shoal_vectors_close(back);
    shoal_vectors_close(v);
}

static void top_keeps_the_first_words(void **state)
{
    shoal_vectors *v = make_small();

    (void)state;
    for (size_t i = 0; i < COUNT(all); i++) {
        shoal_vectors *back = through(v, all[i].file, (struct shoal_save_opts){.top = 2});

        assert_int_equal(shoal_vectors_size(back), 2);
        assert_string_equal(shoal_vectors_word(back, 1), "b");
        assert_null(shoal_vectors_word(back, 2));
        assert_int_equal(shoal_vectors_find(back, "c", 1), SHOAL_NO_ID);
        ok(shoal_vectors_verify(back));
        shoal_vectors_close(back);
        back = through(v, all[i].file, (struct shoal_save_opts){.top = 9});
        assert_same(v, back);
        shoal_vectors_close(back);
    }
    shoal_vectors_close(v);
}

static void the_ending_names_the_format_or_a_sentence_does(void **state)
{
    shoal_vectors *v = make_small();
    struct shoal_save_opts opts = shoal_save_default();

    (void)state;
    for (const char *const *path =
             (const char *const[]){"v.onnx", "v.npz", "v.PT", "a.bin/v.json", "v.txt.gz", NULL};
         *path; path++) {
        assert_int_equal(shoal_vectors_save(v, *path, &opts), SHOAL_EINVAL);
        assert_error_has("vectors cannot be written as ");
    }
    for (const char *const *path =
             (const char *const[]){"v", "v.zip", "a.bin/v", ".", "v.", ".npy", NULL};
         *path; path++) {
        enum shoal_format format;

        assert_int_equal(shoal_save_check(*path, &opts, &format), SHOAL_OK);
        assert_int_equal(format, SHOAL_FORMAT_SHOAL);
    }
    opts.format = (enum shoal_format)99;
    assert_int_equal(shoal_vectors_save(v, "v", &opts), SHOAL_EINVAL);
    opts = (struct shoal_save_opts){.dtype = (enum shoal_dtype)99};
    assert_int_equal(shoal_vectors_save(v, "v.bin", &opts), SHOAL_EINVAL);
    assert_int_equal(shoal_vectors_row(v, 3, &(float){0}), SHOAL_EINVAL);
    assert_int_equal(files_here(), 0);
    shoal_vectors_close(v);
}

/* ---- our container -------------------------------------------------------------------- */

static void counts_and_hidden_rows_are_kept(void **state)
{
    shoal_vocab *vocab;
    struct table rows, hidden;
    shoal_vectors *v, *back;

    (void)state;
    ok(shoal_vocab_read_memory(&vocab,
                               &(struct shoal_memory){"f", "</s> 9\nthe 5\n<UNK> 3\ncat 2\n", 27}));
    ok(table_init(&rows, "rows", 3, 2));
    ok(table_init(&hidden, "hidden", 2, 2));
    hidden.at[hidden.stride] = 7;
    ok(vectors_take(&v, vocab, &rows, &hidden, NULL));
    shoal_vocab_free(vocab);
    back = through(v, "v.shoal", shoal_save_default());
    assert_same(v, back);
    assert_int_equal(shoal_vectors_count(back, 2), 2);
    assert_int_equal(shoal_vocab_total(back->vocab), 10);
    assert_int_equal(shoal_vocab_sentences(back->vocab), 9);
    assert_int_equal(shoal_vocab_unk(back->vocab), 1);
    assert_int_equal(back->hidden_rows, 2);
    assert_true(back->hidden[table_stride(2)] == 7);
    ok(shoal_vectors_verify(back));
    shoal_vectors_close(back);
    back = through(v, "v.shoal", (struct shoal_save_opts){.top = 2});
    assert_null(back->hidden);
    assert_int_equal(shoal_vocab_total(back->vocab), 8);
    shoal_vectors_close(back);
    shoal_vectors_close(v);
}

static void a_copy_of_a_mapped_vocabulary_lives_on(void **state)
{
    shoal_vectors *v = make_many(), *back = through(v, "v.shoal", shoal_save_default());
    shoal_vocab *copy;
    struct span words[] = {{"the     ", 3}, {"nothing ", 7}, {"        ", 0}};
    uint32_t ids[3], again[3];

    (void)state;
    vocab_find_all(back->vocab, words, 3, ids);
    ok(vocab_copy(&copy, back->vocab));
    shoal_vectors_close(back);
    for (uint32_t id = 0; id < MANY; id++)
        assert_int_equal(
            shoal_vocab_find(copy, shoal_vectors_word(v, id), strlen(shoal_vectors_word(v, id))),
            id);
    vocab_find_all(copy, words, 3, again);
    assert_memory_equal(ids, again, sizeof ids);
    assert_int_equal(ids[0], 0);
    assert_int_equal(ids[1], SHOAL_NO_ID);
    shoal_vocab_free(copy);
    shoal_vectors_close(v);
}

struct crafted {
    const char *meta, *words;
    size_t words_len;
    uint64_t offsets[3], counts[2];
    uint32_t slots[16];
    size_t nslots;
    size_t row_bytes;
};

/* Two words of two numbers, wrong where the caller says. Sums are right. */
static void put_crafted(const struct crafted *c)
{
    static const float rows[2][16] = {{1, 2}, {3, 4}};
    struct container_writer *w;

    ok(container_create(&w, "v.shoal"));
    ok(container_put(w, "meta", c->meta, strlen(c->meta)));
    ok(container_put(w, "vocab.words", c->words, c->words_len));
    ok(container_put(w, "vocab.offsets", c->offsets, sizeof c->offsets));
    ok(container_put(w, "vocab.counts", c->counts, sizeof c->counts));
    ok(container_put(w, "vocab.sentences", &(uint64_t){0}, 8));
    ok(container_put(w, "vocab.index", c->slots, c->nslots * 4));
    ok(container_put(w, "vectors", rows, c->row_bytes));
    ok(container_commit(w));
}

#define META "kind vectors\nwords 2\ndim 2\ndtype f32\ntotal 0\n"

static struct crafted sound(void)
{
    struct crafted c = {.meta = META,
                        .words = "a\0b",
                        .words_len = 4,
                        .offsets = {0, 2, 4},
                        .nslots = 16,
                        .row_bytes = 128};

    memset(c.slots, 0xff, sizeof c.slots);
    return c;
}

static void a_container_whose_sizes_disagree_is_refused(void **state)
{
    static const struct {
        const char *meta, *sentence;
    } metas[] = {
        {"kind corpus\n", "is an encoded text, want vectors: "},
        {"words 2\n", "no \"kind\""},
        {"kind vectors\ndim 2\ndtype f64\ntotal 0\n", "its numbers are \"f64\""},
        {"kind vectors\ndim 0\ndtype f32\ntotal 0\n", "have 0 numbers"},
        {"kind vectors\ndim 18446744073709551615\ndtype f32\ntotal 0\n", "numbers, want 1 to"},
        {"kind vectors\ndim 17\ndtype f32\ntotal 0\n", "want 2 rows of 128"},
        {"kind vectors\ndim 64\ndtype int8\ntotal 0\n", "no section \"scales\""},
        {"kind vectors\ndim 2\ndtype f32\n", "no \"total\""},
    };
    struct crafted c;

    (void)state;
    for (size_t i = 0; i < COUNT(metas); i++) {
        c = sound();
        c.meta = metas[i].meta;
        put_crafted(&c);
        assert_refused("v.shoal", metas[i].sentence);
    }
    c = sound();
    c.row_bytes = 127;
    put_crafted(&c);
    assert_refused("v.shoal", "has 127 bytes");
    c = sound();
    c.nslots = 8;
    put_crafted(&c);
    assert_refused("v.shoal", "its index has 8 slots, want 16");
    c = sound();
    c.offsets[2] = 5;
    put_crafted(&c);
    assert_refused("v.shoal", "word offsets span 0 to 5, want 0 to 4");
}

static void words_of_a_crafted_container_are_checked_when_used(void **state)
{
    struct shoal_save_opts opts = shoal_save_default();

    (void)state;
    for (uint64_t middle = 0; middle < 7; middle++) {
        struct crafted c = sound();
        shoal_vectors *v;

        c.offsets[1] = middle == 6 ? UINT64_MAX : middle;
        for (size_t i = 0; i < 16; i++) /* full, and mostly out of range */
            c.slots[i] = (uint32_t)(i % 5);
        put_crafted(&c);
        v = reopen("v.shoal");
        for (uint32_t id = 0; id < 2; id++)
            assert_true(strlen(shoal_vectors_word(v, id)) <= 1);
        assert_int_equal(shoal_vectors_find(v, "nothing", 7), SHOAL_NO_ID);
        if (middle == 2)
            assert_int_equal(shoal_vectors_find(v, "b", 1), 1);
        assert_int_not_equal(shoal_vectors_verify(v), SHOAL_OK);
        if (middle != 2) {
            for (size_t i = 0; i < COUNT(all); i++)
                assert_int_not_equal(shoal_vectors_save(v, all[i].file, &opts), SHOAL_OK);
            assert_int_equal(files_here(), 1);
        }
        shoal_vectors_close(v);
    }
}

static void a_changed_byte_of_a_container_is_found_by_verify(void **state)
{
    shoal_vectors *v = make_small();
    size_t len, found = 0;
    char *data;

    (void)state;
    ok(shoal_vectors_save(v, "v.shoal", &(struct shoal_save_opts){0}));
    shoal_vectors_close(v);
    data = get_file("v.shoal", &len);
    for (size_t i = 0; i < len; i++, found++) {
        shoal_vectors *changed = NULL;

        data[i] ^= 0x10;
        put_file("v.shoal", data, len);
        if (shoal_vectors_open(&changed, "v.shoal") == SHOAL_OK)
            found -= shoal_vectors_verify(changed) == SHOAL_OK;
        shoal_vectors_close(changed);
        data[i] ^= 0x10;
    }
    assert_int_equal(found, len);
    free(data);
}

static void a_nan_in_a_container_is_told_by_verify_and_save(void **state)
{
    struct table rows;
    shoal_vocab *vocab;
    shoal_vectors *v;
    struct shoal_save_opts opts = shoal_save_default();

    (void)state;
    ok(vocab_from_words(&vocab, "f", &(struct span){"a", 1}, 1));
    ok(table_init(&rows, "rows", 1, 1));
    rows.at[0] = NAN;
    ok(vectors_take(&v, vocab, &rows, NULL, NULL));
    shoal_vocab_free(vocab);
    for (size_t i = 0; i < COUNT(all); i++) {
        assert_int_equal(shoal_vectors_save(v, all[i].file, &opts), SHOAL_EFORMAT);
        assert_error_has("vector 1, of `a`, holds a NaN");
    }
    shoal_vectors_close(v);
}

/* ---- damage --------------------------------------------------------------------------- */

/* Opens bytes of their own size, 64-byte aligned, and walks through all. */
static void try_bytes(const char *data, size_t len)
{
    char *copy = aligned_alloc(64, (len + 127) / 64 * 64);
    shoal_vectors *v = NULL;

    memcpy(copy, data, len);
    if (vectors_open_memory(&v, "f", copy, len, "a\nb\nc\n", 6) == SHOAL_OK) {
        float *row = calloc(shoal_vectors_dim(v), sizeof *row);

        for (uint32_t id = 0; id < shoal_vectors_size(v); id++) {
            const char *word = shoal_vectors_word(v, id);

            shoal_vectors_find(v, word, strlen(word));
            ok(shoal_vectors_row(v, id, row));
        }
        free(row);
    } else {
        assert_null(v);
        assert_error_has("f");
    }
    shoal_vectors_close(v);
    free(copy);
}

static void files_cut_or_changed_anywhere_are_read_or_refused(void **state)
{
    shoal_vectors *v = make_small();

    (void)state;
    for (size_t i = 0; i < COUNT(all); i++) {
        size_t len;
        char *data;

        ok(shoal_vectors_save(v, all[i].file, &(struct shoal_save_opts){0}));
        data = get_file(all[i].file, &len);
        for (size_t n = 0; n < len; n++)
            try_bytes(data, n);
        for (size_t n = 0; n < len; n++)
            for (int bit = 0; bit < 8; bit++) {
                data[n] ^= (char)(1 << bit);
                try_bytes(data, len);
                data[n] ^= (char)(1 << bit);
            }
        free(data);
    }
    shoal_vectors_close(v);
}

static void a_failed_save_leaves_nothing_behind(void **state)
{
    shoal_vectors *v = make_small();
    struct shoal_save_opts opts = shoal_save_default();

    (void)state;
    for (size_t i = 0; i < COUNT(all); i++) {
        char path[64];

        snprintf(path, sizeof path, "nowhere/%s", all[i].file);
        assert_int_not_equal(shoal_vectors_save(v, path, &opts), SHOAL_OK);
    }
    assert_int_equal(files_here(), 0);
    assert_refused("nothing", "No such file");
    shoal_vectors_close(v);
    shoal_vectors_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HERE(every_pair_of_formats_keeps_words_and_floats_exactly),
        HERE(vectors_stay_as_they_were_when_their_file_is_cut),
        HERE(one_word_and_one_number_pass_every_format),
        HERE(large_files_are_the_same_for_all_threads),
        HERE(a_word_with_a_space_goes_where_it_can),
        HERE(glove_refuses_words_that_would_read_otherwise),
        HERE(a_newline_is_carried_by_our_container_alone),
        HERE(words_that_are_no_utf8_are_kept),
        HERE(each_format_has_its_dtypes),
        HERE(quantised_rows_are_copied_as_they_are),
        HERE(a_number_too_large_for_the_dtype_is_refused),
        HERE(normalized_rows_have_length_one_and_zeros_stay),
        HERE(top_keeps_the_first_words),
        HERE(the_ending_names_the_format_or_a_sentence_does),
        HERE(counts_and_hidden_rows_are_kept),
        HERE(a_copy_of_a_mapped_vocabulary_lives_on),
        HERE(a_container_whose_sizes_disagree_is_refused),
        HERE(words_of_a_crafted_container_are_checked_when_used),
        HERE(a_changed_byte_of_a_container_is_found_by_verify),
        HERE(a_nan_in_a_container_is_told_by_verify_and_save),
        HERE(files_cut_or_changed_anywhere_are_read_or_refused),
        HERE(a_failed_save_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
