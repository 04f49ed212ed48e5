/* Rows of n-grams beside word vectors: kept in the container, and what words are made of them. */
#include "vectors.h"

enum { DIM = 5, BUCKETS = 37 };

static const struct subwords how = {.minn = 2, .maxn = 3, .buckets = BUCKETS};
static const char *const words[] = {"the", "käse", "</s>"};

static float own_of(size_t row, size_t j)
{
    return (float)row + 0.25f * (float)j - 1;
}

/* The row of bucket b. */
static float gram_of(uint32_t b, size_t j)
{
    return (float)b / 8 - (float)j;
}

/* What the n-grams of a word add up to, and how many there are. */
static size_t sum_of(const char *word, float *out)
{
    uint32_t list[64];
    size_t n = subwords_list(&how, word, strlen(word), list, 64);

    memset(out, 0, DIM * sizeof *out);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < DIM; j++)
            out[j] += gram_of(list[i], j);
    return n;
}

static shoal_vectors *make_grams(void)
{
    struct span spans[COUNT(words)];
    struct table rows;
    shoal_vocab *vocab;
    shoal_vectors *v;
    float sum[DIM];

    for (size_t i = 0; i < COUNT(words); i++)
        spans[i] = (struct span){words[i], (uint32_t)strlen(words[i])};
    ok(vocab_from_words(&vocab, "make", spans, COUNT(words)));
    ok(table_init(&rows, "rows", COUNT(words) + BUCKETS, DIM));
    for (size_t i = 0; i < COUNT(words); i++) {
        size_t n = sum_of(words[i], sum);

        for (size_t j = 0; j < DIM; j++)
            rows.at[i * rows.stride + j] = (own_of(i, j) + sum[j]) / (float)(n + 1);
    }
    for (uint32_t b = 0; b < BUCKETS; b++)
        for (size_t j = 0; j < DIM; j++)
            rows.at[(COUNT(words) + b) * rows.stride + j] = gram_of(b, j);
    ok(vectors_take(&v, vocab, &rows, NULL, &how));
    shoal_vocab_free(vocab);
    return v;
}

static void assert_composes(const shoal_vectors *v, double within)
{
    static const char *const unknown[] = {"theses", "日本", "a"};
    float sum[DIM], out[DIM];
    bool known;

    for (size_t i = 0; i < COUNT(unknown); i++) {
        size_t n = sum_of(unknown[i], sum);

        ok(shoal_vectors_compose(v, unknown[i], strlen(unknown[i]), out, &known));
        assert_false(known);
        for (size_t j = 0; j < DIM; j++)
            assert_true(fabs((double)out[j] - (double)sum[j] / (double)n) < within);
    }
}

static void a_word_never_seen_is_the_mean_of_its_n_grams(void **state)
{
    shoal_vectors *v = make_grams();
    struct shoal_subwords s = shoal_vectors_subwords(v);

    (void)state;
    assert_int_equal(s.minn, 2);
    assert_int_equal(s.maxn, 3);
    assert_int_equal(s.buckets, BUCKETS);
    assert_composes(v, 1e-5);
    shoal_vectors_close(v);
}

static void a_known_word_is_its_row_and_its_own_row_is_found_again(void **state)
{
    shoal_vectors *v = make_grams();
    float row[DIM], out[DIM];
    bool known;

    (void)state;
    for (uint32_t id = 0; id < COUNT(words); id++) {
        ok(shoal_vectors_row(v, id, row));
        ok(shoal_vectors_compose(v, words[id], strlen(words[id]), out, &known));
        assert_true(known);
        assert_memory_equal(row, out, sizeof row);
        ok(grams_own(v, id, out));
        for (size_t j = 0; j < DIM; j++)
            assert_true(fabs((double)out[j] - (double)own_of(id, j)) < 1e-4);
    }
    shoal_vectors_close(v);
}

static void vectors_with_n_grams_are_made_of_arrays_and_given_as_such(void **state)
{
    shoal_vectors *v = make_grams(), *again = NULL;
    struct shoal_subwords s = shoal_vectors_subwords(v);
    struct shoal_matrix rows, grams = shoal_vectors_grams(v);
    float copied[BUCKETS * DIM], row[DIM], out[DIM];

    (void)state;
    ok(shoal_vectors_matrix(v, &rows));
    assert_int_equal(grams.rows, BUCKETS);
    ok(shoal_vectors_gram_rows(v, 0, BUCKETS, copied));
    for (uint32_t b = 0; b < BUCKETS; b++)
        for (size_t j = 0; j < DIM; j++) {
            assert_true(grams.data[b * grams.stride + j] == gram_of(b, j));
            assert_true(copied[b * DIM + j] == gram_of(b, j));
        }
    ok(shoal_vectors_new_subwords(&again, &rows, &grams, &s, NULL));
    assert_composes(again, 1e-5);
    for (uint32_t id = 0; id < COUNT(words); id++) {
        ok(shoal_vectors_row(v, id, row));
        ok(shoal_vectors_row(again, id, out));
        assert_memory_equal(row, out, sizeof row);
    }
    shoal_vectors_close(again);
    shoal_vectors_close(v);
}

static void n_grams_of_another_shape_are_refused(void **state)
{
    shoal_vectors *v = make_grams(), *again = NULL, *plain = make_small();
    struct shoal_subwords s = shoal_vectors_subwords(v), none = {.minn = 4, .maxn = 3, .buckets = BUCKETS};
    struct shoal_matrix rows, grams = shoal_vectors_grams(v);
    float out[DIM];

    (void)state;
    ok(shoal_vectors_matrix(v, &rows));
    assert_int_equal(shoal_vectors_new_subwords(&again, &rows, &grams, &none, NULL), SHOAL_EINVAL);
    assert_error_has("found n-grams of 4 to 3 characters");
    grams.rows--;
    assert_int_equal(shoal_vectors_new_subwords(&again, &rows, &grams, &s, NULL), SHOAL_EINVAL);
    assert_error_has("found 36 rows of n-grams of 5 numbers, want 37 of 5");
    assert_null(again);
    assert_int_equal(shoal_vectors_gram_rows(v, BUCKETS, 1, out), SHOAL_EINVAL);
    assert_error_has("want some of 37");
    assert_null(shoal_vectors_grams(plain).data);
    assert_int_equal(shoal_vectors_gram_rows(plain, 0, 1, out), SHOAL_EINVAL);
    shoal_vectors_close(plain);
    shoal_vectors_close(v);
}

static void buckets_are_listed_as_training_has_them(void **state)
{
    struct shoal_subwords s = {.minn = how.minn, .maxn = how.maxn, .buckets = how.buckets};
    struct shoal_subwords off = {.buckets = BUCKETS};
    uint32_t want[64], list[64];
    size_t n = subwords_list(&how, "käse", strlen("käse"), want, 64);

    (void)state;
    assert_true(n > 2);
    assert_int_equal(shoal_subwords_list(&s, "käse", strlen("käse"), list, 64), n);
    assert_memory_equal(list, want, n * sizeof *want);
    assert_int_equal(shoal_subwords_list(&s, "käse", strlen("käse"), list, 1), n);
    assert_int_equal(shoal_subwords_list(&off, "käse", strlen("käse"), list, 64), 0);
}

static void a_word_without_n_grams_is_not_found(void **state)
{
    shoal_vectors *v = make_grams(), *plain = make_small();
    float out[DIM];
    bool known = true;

    (void)state;
    assert_int_equal(shoal_vectors_compose(v, "", 0, out, &known), SHOAL_OK); /* `<>` is one */
    assert_false(known);
    assert_int_equal(shoal_vectors_compose(plain, "theses", 6, out, NULL), SHOAL_ENOENT);
    assert_error_has("`theses` is not among the 3 words, and they have no subwords");
    assert_int_equal(shoal_vectors_subwords(plain).maxn, 0);
    shoal_vectors_close(plain);
    shoal_vectors_close(v);
}

static void a_very_long_word_is_composed_too(void **state)
{
    shoal_vectors *v = make_grams();
    char *word = malloc(SHOAL_WORD_MAX + 1);
    float out[DIM];
    bool known;

    (void)state;
    memset(word, 'x', SHOAL_WORD_MAX + 1);
    ok(shoal_vectors_compose(v, word, SHOAL_WORD_MAX, out, &known));
    assert_false(known);
    assert_int_equal(shoal_vectors_compose(v, word, SHOAL_WORD_MAX + 1, out, &known), SHOAL_ENOENT);
    assert_error_has("has no n-grams that were trained");
    free(word);
    shoal_vectors_close(v);
}

static void the_container_keeps_them_in_every_dtype(void **state)
{
    static const double within[] = {
        [SHOAL_F32] = 1e-5, [SHOAL_F16] = 1e-2, [SHOAL_BF16] = 0.1, [SHOAL_INT8] = 0.1};
    shoal_vectors *v = make_grams(), *back;

    (void)state;
    for (int d = SHOAL_F32; d <= SHOAL_INT8; d++) {
        back = through(v, "v.shoal", (struct shoal_save_opts){.dtype = (enum shoal_dtype)d});
        ok(shoal_vectors_verify(back));
        assert_int_equal(back->grams.how.buckets, BUCKETS);
        assert_composes(back, within[d]);
        shoal_vectors_close(back);
    }
    shoal_vectors_close(v);
}

static void words_that_top_leaves_out_are_composed(void **state)
{
    shoal_vectors *v = make_grams();
    shoal_vectors *back = through(v, "v.shoal", (struct shoal_save_opts){.top = 1, .normalize = true});
    float sum[DIM], out[DIM];
    size_t n = sum_of("käse", sum);
    bool known;

    (void)state;
    ok(shoal_vectors_compose(back, "käse", strlen("käse"), out, &known));
    assert_false(known);
    for (size_t j = 0; j < DIM; j++)
        assert_true(fabs((double)out[j] - (double)sum[j] / (double)n) < 1e-5);
    shoal_vectors_close(back);
    shoal_vectors_close(v);
}

/* A container of one word "a" whose meta says so, with so many bytes of n-grams. */
static void put_grams(const char *lines, size_t bytes)
{
    static const float row[1024];
    shoal_vectors *v = make((const char *[]){"a"}, 1, 1, (float[]){1});
    struct container_writer *w;
    char meta[256];

    ok(container_create(&w, "v.shoal"));
    snprintf(meta, sizeof meta, "kind vectors\nwords 1\ndim 1\ndtype f32\ntotal 0\n%s", lines);
    container_put(w, "meta", meta, strlen(meta));
    ok(vocab_save_mapped(v->vocab, 1, w));
    container_put(w, "vectors", row, 64);
    container_put(w, "grams", row, bytes);
    ok(container_end(w, SHOAL_OK));
    shoal_vectors_close(v);
}

static void n_grams_whose_sizes_disagree_are_refused(void **state)
{
    static const struct {
        const char *meta;
        size_t bytes;
        const char *sentence;
    } tries[] = {
        {"", 64, "no \"minn\""},
        {"minn 3\nmaxn 6\n", 64, "no \"buckets\""},
        {"minn 3\nmaxn 6\nbuckets 2\n", 64, "\"grams\" has 64 bytes, want 2 rows of 64"},
        {"minn 3\nmaxn 6\nbuckets 1\n", 128, "\"grams\" has 128 bytes, want 1 rows of 64"},
        {"minn 3\nmaxn 2\nbuckets 1\n", 64, "n-grams have 3 to 2 characters, want at most 32"},
        {"minn 3\nmaxn 33\nbuckets 1\n", 64, "n-grams have 3 to 33 characters, want at most 32"},
        {"minn 0\nmaxn 0\nbuckets 1\n", 64, "n-grams have 0 to 0 characters, want at most 32"},
        {"minn 3\nmaxn 6\nbuckets 0\n", 0, "it has 0 buckets, want 1 to"},
        {"minn 3\nmaxn 6\nbuckets 4294967297\n", 64, "it has 4294967297 buckets, want 1 to"},
    };
    shoal_vectors *v;

    (void)state;
    for (size_t i = 0; i < COUNT(tries); i++) {
        put_grams(tries[i].meta, tries[i].bytes);
        assert_refused("v.shoal", tries[i].sentence);
    }
    put_grams("minn 3\nmaxn 6\nbuckets 2\n", 128);
    v = reopen("v.shoal");
    assert_int_equal(v->grams.how.buckets, 2);
    shoal_vectors_close(v);
}

static void a_nan_among_them_is_told_by_verify_and_save(void **state)
{
    shoal_vectors *v = make_grams(), *back;
    char *row = v->own_rows + (COUNT(words) + 7) * v->stride;
    struct shoal_save_opts opts = shoal_save_default();

    (void)state;
    memcpy(row, &(float){(float)NAN}, sizeof(float));
    assert_int_equal(shoal_vectors_save(v, "v.shoal", &opts), SHOAL_EFORMAT);
    assert_error_has("the row of n-gram bucket 7 holds a NaN");
    memset(row, 0, sizeof(float));
    back = through(v, "v.shoal", opts);
    shoal_vectors_close(back);
    ok(shoal_vectors_map(&back, "v.shoal"));
    ok(shoal_vectors_verify(back));
    shoal_vectors_close(back);
    shoal_vectors_close(v);
}

/* ---- questions ---- */

static double cosine_of(const shoal_vectors *v, const char *a, const char *b)
{
    float x[DIM], y[DIM];
    double xy = 0, xx = 0, yy = 0;

    ok(shoal_vectors_compose(v, a, strlen(a), x, NULL));
    ok(shoal_vectors_compose(v, b, strlen(b), y, NULL));
    for (size_t j = 0; j < DIM; j++) {
        xy += (double)x[j] * (double)y[j];
        xx += (double)x[j] * (double)x[j];
        yy += (double)y[j] * (double)y[j];
    }
    return xy / sqrt(xx * yy);
}

static void words_never_seen_are_asked_with_like_others(void **state)
{
    shoal_vectors *v = make_grams();
    const char *three[] = {"the", "theses", "käse"};
    struct shoal_hit hits[3];
    bool known[3];
    double cosine;
    size_t found, odd;

    (void)state;
    ok(shoal_cosine_words(v, three, known, &cosine));
    assert_true(known[0] && !known[1]);
    assert_true(fabs(cosine - cosine_of(v, "the", "theses")) < 1e-6);
    ok(shoal_nearest_words(v, three + 1, 1, known, 1, hits, 3, &found));
    assert_int_equal(found, 3); /* it is no row, and leaves none out */
    assert_false(known[0]);
    for (size_t i = 0; i < found; i++)
        assert_true(fabs((double)hits[i].score - cosine_of(v, "theses", words[hits[i].id])) < 1e-5);
    ok(shoal_nearest_words(v, three, 2, known, 1, hits, 3, &found));
    assert_int_equal(found, 2);
    for (size_t i = 0; i < found; i++)
        assert_int_not_equal(hits[i].id, 0);
    ok(shoal_analogy_words(v, three, known, SHOAL_3COSADD, 1, hits, 3, &found));
    assert_int_equal(found, 1);
    assert_int_equal(hits[0].id, 2);
    ok(shoal_analogy_words(v, three, NULL, SHOAL_3COSMUL, 1, hits, 3, &found));
    assert_int_equal(found, 1);
    ok(shoal_odd_words(v, three, 3, known, &odd));
    assert_true(odd < 3);
    shoal_vectors_close(v);
}

static void known_words_are_asked_with_as_ids_are(void **state)
{
    shoal_vectors *v = make_small();
    const char *three[] = {"a", "c", "b"}, *none[] = {"a", "nothing"};
    struct shoal_hit hits[3], same[3];
    double cosine, by_id;
    size_t found, also;
    float row[2];

    (void)state;
    ok(shoal_cosine_words(v, three, NULL, &cosine));
    ok(shoal_cosine(v, 0, 2, &by_id));
    assert_true(cosine == by_id);
    ok(shoal_nearest_words(v, three, 1, NULL, 1, hits, 3, &found));
    ok(shoal_vectors_row(v, 0, row));
    ok(shoal_nearest(v, row, (uint32_t[]){0}, 1, 1, same, 3, &also));
    assert_int_equal(found, also);
    for (size_t i = 0; i < found; i++)
        assert_int_equal(hits[i].id, same[i].id);
    assert_int_equal(shoal_cosine_words(v, none, NULL, &cosine), SHOAL_ENOENT);
    assert_error_has("`nothing` is not among the 3 words");
    assert_int_equal(shoal_nearest_words(v, none, 2, NULL, 1, hits, 3, &found), SHOAL_ENOENT);
    assert_int_equal(found, 0);
    shoal_vectors_close(v);
}

static struct shoal_score score(const shoal_vectors *v, const char *suite, bool keep_case)
{
    struct shoal_eval_opts opts = shoal_eval_default();
    struct shoal_score *scores, last;
    shoal_eval *e;
    size_t n;

    opts.keep_case = keep_case;
    ok(shoal_eval_open_memory(&e, &(struct shoal_memory){"suite", suite, strlen(suite)}));
    ok(shoal_eval_run(e, v, &opts, &scores, &n));
    last = scores[n - 1];
    shoal_scores_free(scores);
    shoal_eval_close(e);
    return last;
}

/* The vocabulary has no capitals: so words are made small before they are composed. */
static void suites_ask_with_words_never_seen(void **state)
{
    static const char pairs[] = "the theses 3\nTHE thorn 2\nthesES käse 1\n";
    static const char small[] = "the theses 3\nthe thorn 2\ntheses käse 1\n";
    static const char questions[] = ": all\nthe theses thorn käse\nthe käse thorn theses\n"
                                    "the käse theses the\n";
    shoal_vectors *v = make_grams(), *plain = make_small();
    struct shoal_score s = score(v, pairs, false), t = score(v, small, true);

    (void)state;
    assert_int_equal(s.seen, 3);
    assert_int_equal(s.composed, 3);
    assert_true(fabs(s.pearson - t.pearson) < 1e-9);
    s = score(v, pairs, true); /* as they stand they are others */
    assert_int_equal(s.seen, 3);
    assert_true(fabs(s.pearson - t.pearson) > 1e-9);
    s = score(v, questions, false);
    assert_int_equal(s.total, 3);
    assert_int_equal(s.seen, 2); /* an answer must be among the words */
    assert_int_equal(s.composed, 2);
    s = score(plain, pairs, false);
    assert_int_equal(s.seen, 0);
    assert_int_equal(s.composed, 0);
    shoal_vectors_close(plain);
    shoal_vectors_close(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HERE(a_word_never_seen_is_the_mean_of_its_n_grams),
        HERE(a_known_word_is_its_row_and_its_own_row_is_found_again),
        HERE(vectors_with_n_grams_are_made_of_arrays_and_given_as_such),
        HERE(n_grams_of_another_shape_are_refused),
        HERE(buckets_are_listed_as_training_has_them),
        HERE(a_word_without_n_grams_is_not_found),
        HERE(a_very_long_word_is_composed_too),
        HERE(the_container_keeps_them_in_every_dtype),
        HERE(words_that_top_leaves_out_are_composed),
        HERE(n_grams_whose_sizes_disagree_are_refused),
        HERE(a_nan_among_them_is_told_by_verify_and_save),
        HERE(words_never_seen_are_asked_with_like_others),
        HERE(known_words_are_asked_with_as_ids_are),
        HERE(suites_ask_with_words_never_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
