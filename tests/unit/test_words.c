/* Words in memory (shoal/words.h), and the options of word vectors that other programs have too:
 * noise by any power, where the rate ends, rows to go on from. */
#include <shoal.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include "scratch.h"
#include "training.h"

#define WORDS "cat\0dog\0cow\0hen\0pig\0"

static shoal_corpus *world;

static int setup(void **state)
{
    struct shoal_world_opts opts = shoal_world_default();
    struct shoal_encode_opts encode = shoal_encode_default();
    const char *text;

    if (scratch_setup(state) != 0)
        return -1;
    text = scratch_path("world.txt");
    opts.words = 40000;
    return shoal_world_write(text, NULL, &opts, NULL) != SHOAL_OK ||
           shoal_encode(scratch_path("world.shoal"), &text, 1, &encode, NULL) != SHOAL_OK ||
           shoal_corpus_open(&world, scratch_path("world.shoal")) != SHOAL_OK;
}

static int teardown(void **state)
{
    shoal_corpus_close(world);
    return scratch_teardown(state);
}

static shoal_vocab *vocab_of_five(const uint64_t *counts)
{
    struct shoal_words words = {WORDS, sizeof WORDS - 1, 5, counts};
    shoal_vocab *v;

    assert_int_equal(shoal_vocab_new(&v, &words), SHOAL_OK);
    return v;
}

/* ---- words, ids, rows ---- */

static void a_vocabulary_of_memory_is_as_it_was_given(void **state)
{
    static const uint64_t counts[] = {9, 7, 5, 3, 1};
    shoal_vocab *v = vocab_of_five(counts);
    struct shoal_words words = shoal_vocab_words(v);

    (void)state;
    assert_int_equal(words.n, 5);
    assert_int_equal(words.len, sizeof WORDS - 1);
    assert_memory_equal(words.text, WORDS, words.len);
    assert_memory_equal(words.counts, counts, sizeof counts);
    assert_int_equal(shoal_vocab_find(v, "hen", 3), 3);
    assert_int_equal(shoal_vocab_total(v), 25);
    shoal_vocab_free(v);
}

static void words_that_are_none_are_refused(void **state)
{
    static const struct {
        const char *text;
        size_t len, n;
        const char *sentence;
    } cases[] = {
        {"a\0b\0", 4, 0, "vocab: found 0 words, want 1 to 4294967294"},
        {"a\0b\0", 4, 3, "vocab: the text ends within word 3, want 3 words, each ended by a NUL"},
        {"a\0b", 3, 2, "vocab: the text ends within word 2, want 2 words, each ended by a NUL"},
        {"a\0b\0", 4, 1, "vocab: found text behind word 1, want no more"},
    };
    shoal_vocab *v;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct shoal_words words = {cases[i].text, cases[i].len, cases[i].n, NULL};

        assert_int_equal(shoal_vocab_new(&v, &words), SHOAL_EINVAL);
        assert_string_equal(shoal_error(), cases[i].sentence);
        assert_null(v);
    }
    assert_int_not_equal(shoal_vocab_new(&v, &(struct shoal_words){"a\0a\0", 4, 2, NULL}), SHOAL_OK);
    assert_int_not_equal(shoal_vocab_new(&v, &(struct shoal_words){"a\0\0", 3, 2, NULL}), SHOAL_OK);
}

static void ids_that_are_no_words_are_refused(void **state)
{
    static const uint32_t good[] = {0, 4, SHOAL_SENTENCE_END}, bad[] = {0, 5};
    static const uint32_t ends[] = {SHOAL_SENTENCE_END};
    shoal_vocab *v = vocab_of_five(NULL);
    shoal_corpus *c;

    (void)state;
    assert_int_equal(shoal_corpus_new(&c, v, good, 3), SHOAL_OK);
    assert_int_equal(shoal_corpus_words(c), 2);
    assert_int_equal(shoal_corpus_sentences(c), 1);
    shoal_corpus_close(c);
    assert_int_not_equal(shoal_corpus_new(&c, v, bad, 2), SHOAL_OK);
    assert_string_equal(shoal_error(), "corpus: id 5 at place 1, want less than 5");
    assert_int_equal(shoal_corpus_new(&c, v, ends, 1), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "corpus: found no word among 1 ids, want 1 or more");
    shoal_vocab_free(v);
}

static void rows_of_memory_are_copied_and_must_be_finite(void **state)
{
    float rows[5][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {1, 0, 0}, {0, 1, 0}}, out[3];
    shoal_vocab *words = vocab_of_five(NULL);
    struct shoal_matrix given = {rows[0], 5, 3, 3, words}, hidden = {rows[0], 4, 3, 3, NULL};
    shoal_vectors *v;

    (void)state;
    assert_int_equal(shoal_vectors_new(&v, &given, &hidden), SHOAL_OK);
    rows[1][2] = -1;
    assert_int_equal(shoal_vectors_row(v, 1, out), SHOAL_OK);
    assert_true(out[0] == 4 && out[2] == 6);
    assert_int_equal(shoal_vectors_hidden(v).rows, 4);
    assert_null(shoal_vectors_hidden(v).words);
    assert_string_equal(shoal_vocab_word(shoal_vectors_vocab(v), 2), "cow");
    shoal_vectors_close(v);
    rows[2][1] = NAN;
    assert_int_equal(shoal_vectors_new(&v, &given, NULL), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "vectors: of the rows number 3 holds a NaN or an infinity, "
                                       "want finite numbers");
    given.rows = 4;
    assert_int_equal(shoal_vectors_new(&v, &given, NULL), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "vectors: found 4 rows for 5 words, want a word each");
    shoal_vocab_free(words);
}

/* ---- noise ---- */

static void check_noise(double exponent)
{
    static const uint64_t counts[] = {81, 16, 4, 1, 1};
    static const uint32_t ids[] = {0, 1, 2, 3, 4, SHOAL_SENTENCE_END};
    struct train_opts o = task_defaults("skipgram");
    shoal_vocab *vocab = vocab_of_five(counts);
    const struct kernel *kernel;
    double share[5] = {0}, sum = 0;
    struct w2v w;

    o.ns_exponent = exponent;
    assert_int_equal(kernel_choose(&kernel), SHOAL_OK);
    assert_int_equal(w2v_init(&w, &o, vocab, ids, 6, kernel), SHOAL_OK);
    for (uint32_t i = 0; i < 5; i++) {
        double keep = ((double)w.alias[i].keep + 1) * 0x1p-32;

        share[i] += keep / 5;
        share[w.alias[i].other] += (1 - keep) / 5;
        sum += pow((double)counts[i], exponent);
    }
    for (uint32_t i = 0; i < 5; i++)
        assert_true(fabs(share[i] - pow((double)counts[i], exponent) / sum) < 1e-6);
    w2v_fini(&w);
    shoal_vocab_free(vocab);
}

static void noise_is_drawn_by_any_power_of_the_count(void **state)
{
    (void)state;
    check_noise(0.75);
    check_noise(1);
    check_noise(0);
    check_noise(-1);
}

/* ---- the rate ---- */

static void a_linear_rate_ends_where_it_is_told(void **state)
{
    (void)state;
    assert_true(schedule_at(SHOAL_LINEAR, 0.5, 0.1, 0, 0, 4) == 0.5f);
    assert_true(fabs(schedule_at(SHOAL_LINEAR, 0.5, 0.1, 0, 1, 4) - 0.4) < 1e-6);
    assert_true(fabs(schedule_at(SHOAL_LINEAR, 0.5, 0.1, 0, 4, 4) - 0.1) < 1e-6);
    assert_true(fabs(schedule_at(SHOAL_LINEAR, 0.1, 0.1, 0, 3, 4) - 0.1) < 1e-6);
    assert_true(fabs(schedule_at(SHOAL_LINEAR, 0.5, 0, 0, 4, 4) - 0.5e-4) < 1e-9);
}

static void shrink_windows_is_the_other_name_of_window_fixed(void **state)
{
    shoal_options *o;

    (void)state;
    assert_int_equal(shoal_options_new(&o, "cbow"), SHOAL_OK);
    assert_string_equal(shoal_options_get(o, "shrink-windows"), "true");
    assert_int_equal(shoal_options_set(o, "shrink-windows", "false"), SHOAL_OK);
    assert_string_equal(shoal_options_get(o, "window-fixed"), "true");
    shoal_options_free(o);
}

/* ---- training on memory, and from rows ---- */

static struct train_opts alone(const char *task, enum shoal_loss loss)
{
    struct train_opts o = task_defaults(task);

    o.loss = loss;
    o.dim = 20;
    o.epochs = 2;
    o.threads = 1;
    o.valid = 0;
    return o;
}

static shoal_vectors *train_from(const struct train_opts *o, const shoal_corpus *corpus,
                                 const shoal_vectors *from, struct shoal_train_stats *stats)
{
    struct shoal_sources data = {.corpus = corpus, .vectors = from};
    struct shoal_train_stats own;
    void *v;

    if (train_task(o->bag ? "cbow" : "skipgram", o, &data, &v, stats ? stats : &own) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return v;
}

static void assert_same_rows(const shoal_vectors *a, const shoal_vectors *b)
{
    struct shoal_matrix x, y;

    assert_int_equal(shoal_vectors_matrix(a, &x), SHOAL_OK);
    assert_int_equal(shoal_vectors_matrix(b, &y), SHOAL_OK);
    assert_int_equal(x.rows, y.rows);
    for (size_t i = 0; i < x.rows; i++)
        assert_memory_equal(x.data + i * x.stride, y.data + i * y.stride, x.dim * sizeof *x.data);
}

static void ids_in_memory_train_as_the_file_does(void **state)
{
    struct train_opts o = alone("cbow", SHOAL_NS);
    const uint32_t *ids;
    shoal_corpus *copy;
    shoal_vectors *a, *b;
    size_t n;

    (void)state;
    assert_int_equal(shoal_corpus_part(world, 0, 1, &ids, &n), SHOAL_OK);
    assert_int_equal(shoal_corpus_new(&copy, shoal_corpus_vocab(world), ids, n), SHOAL_OK);
    a = train_from(&o, world, NULL, NULL);
    b = train_from(&o, copy, NULL, NULL);
    assert_same_rows(a, b);
    shoal_vectors_close(a);
    shoal_vectors_close(b);
    shoal_corpus_close(copy);
}

/* At a rate near 0 nothing moves. */
static void rows_begin_as_those_that_were_given(void **state)
{
    static const enum shoal_loss losses[] = {SHOAL_NS, SHOAL_HS};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct train_opts o = alone("skipgram", losses[i]);
        shoal_vectors *a = train_from(&o, world, NULL, NULL), *b;
        struct shoal_matrix x, y;

        o.lr = 1e-30;
        o.epochs = 1;
        o.seed = 7;
        b = train_from(&o, world, a, NULL);
        assert_same_rows(a, b);
        x = shoal_vectors_hidden(a);
        y = shoal_vectors_hidden(b);
        assert_int_equal(x.rows, y.rows);
        assert_memory_equal(x.data, y.data, x.rows * x.stride * sizeof *x.data);
        shoal_vectors_close(a);
        shoal_vectors_close(b);
    }
}

/* Five words of which the vectors know two, by name and not by place. */
static void words_that_are_new_begin_at_random(void **state)
{
    static const uint64_t counts[] = {5, 4, 3, 2, 1};
    static const uint32_t ids[] = {0, 1, 2, 3, 4, SHOAL_SENTENCE_END};
    float rows[2][3] = {{1, 2, 3}, {4, 5, 6}}, row[3];
    struct shoal_words two = {"pig\0cat\0", 8, 2, NULL};
    struct train_opts o = alone("skipgram", SHOAL_NS);
    shoal_vocab *words = vocab_of_five(counts), *known;
    shoal_vectors *from, *v;
    shoal_corpus *c;

    (void)state;
    o.dim = 3;
    o.lr = 1e-30;
    assert_int_equal(shoal_vocab_new(&known, &two), SHOAL_OK);
    assert_int_equal(shoal_vectors_new(&from, &(struct shoal_matrix){rows[0], 2, 3, 3, known}, NULL),
                     SHOAL_OK);
    assert_int_equal(shoal_corpus_new(&c, words, ids, 6), SHOAL_OK);
    v = train_from(&o, c, from, NULL);
    assert_int_equal(shoal_vectors_row(v, 0, row), SHOAL_OK);
    assert_memory_equal(row, rows[1], sizeof row);
    assert_int_equal(shoal_vectors_row(v, 4, row), SHOAL_OK);
    assert_memory_equal(row, rows[0], sizeof row);
    assert_int_equal(shoal_vectors_row(v, 2, row), SHOAL_OK);
    assert_true(fabsf(row[0]) < 0.2f && row[0] != 0);
    o.dim = 4;
    assert_int_equal(train_task("skipgram", &o, &(struct shoal_sources){.corpus = c, .vectors = from},
                                &(void *){NULL}, &(struct shoal_train_stats){0}), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "the vectors to start from: a row has 3 numbers, want 4, as "
                                       "--dim says");
    shoal_vectors_close(v);
    shoal_vectors_close(from);
    shoal_corpus_close(c);
    shoal_vocab_free(words);
    shoal_vocab_free(known);
}

static void a_run_that_goes_on_is_further_than_one_that_begins(void **state)
{
    struct train_opts o = alone("skipgram", SHOAL_NS);
    struct shoal_train_stats first, second;
    shoal_vectors *a = train_from(&o, world, NULL, &first), *b;
    struct shoal_save_opts save = shoal_save_default();
    const char *path = scratch_path("rows.shoal");

    (void)state;
    assert_int_equal(shoal_vectors_save(a, path, &save), SHOAL_OK);
    o.start = path;
    b = train_from(&o, world, NULL, &second);
    assert_true(training(&second.figures, "loss") < training(&first.figures, "loss"));
    shoal_vectors_close(a);
    shoal_vectors_close(b);
}

static bool stop_at_first(void *user, const struct shoal_report *r)
{
    (void)user;
    return r->event != SHOAL_EVENT_EPOCH;
}

/* The rows are in the checkpoint: the file is not read again. */
static void a_run_from_rows_resumes_to_the_same_bytes(void **state)
{
    struct train_opts o = alone("cbow", SHOAL_NS);
    shoal_vectors *first = train_from(&o, world, NULL, NULL), *whole, *again;
    struct shoal_sources data = {.corpus = world, .vectors = first};
    void *none;

    (void)state;
    o.checkpoint = scratch_path("from");
    o.report = stop_at_first;
    assert_int_equal(train_task("cbow", &o, &data, &none, &(struct shoal_train_stats){0}),
                     SHOAL_ESTOP);
    o.report = NULL;
    o.resume = true;
    again = train_from(&o, world, NULL, NULL);
    o.resume = false;
    o.checkpoint = NULL;
    whole = train_from(&o, world, first, NULL);
    assert_same_rows(whole, again);
    shoal_vectors_close(first);
    shoal_vectors_close(whole);
    shoal_vectors_close(again);
}

static void two_words_are_enough_for_noise(void **state)
{
    static const uint64_t counts[] = {3, 2};
    static const uint32_t ids[] = {0, 1, 0, 1, 0, SHOAL_SENTENCE_END};
    struct shoal_words words = {"a\0b\0", 4, 2, counts};
    struct train_opts o = alone("cbow", SHOAL_NS);
    shoal_vocab *vocab;
    shoal_corpus *c;
    shoal_vectors *v;

    (void)state;
    assert_int_equal(shoal_vocab_new(&vocab, &words), SHOAL_OK);
    assert_int_equal(shoal_corpus_new(&c, vocab, ids, 6), SHOAL_OK);
    v = train_from(&o, c, NULL, NULL);
    assert_int_equal(shoal_vectors_size(v), 2);
    shoal_vectors_close(v);
    shoal_corpus_close(c);
    shoal_vocab_free(vocab);
}

/* ---- searching ---- */

enum { ROWS = 700, DIM_MOST = 70, ASKED = 15 };

static float some[ROWS][DIM_MOST];

/* Rows of all lengths, some of them equal and one of none. */
static shoal_vectors *make_rows(size_t dim)
{
    struct rng r = {dim, 3, 0};
    struct shoal_words words = {.n = ROWS};
    char text[8 * ROWS];
    shoal_vocab *vocab;
    shoal_vectors *v;

    for (size_t i = 0; i < ROWS; i++) {
        words.len += (size_t)sprintf(text + words.len, "w%zu", i) + 1;
        for (size_t j = 0; j < dim; j++)
            some[i][j] = i == 9 ? 0 : (float)((rng_unit(&r) - 0.5) * pow(2, (double)(i % 20) - 10));
        if (i % 50 == 49)
            memcpy(some[i], some[i - 1], sizeof some[i]);
    }
    words.text = text;
    assert_int_equal(shoal_vocab_new(&vocab, &words), SHOAL_OK);
    assert_int_equal(shoal_vectors_new(
                         &v, &(struct shoal_matrix){some[0], ROWS, dim, DIM_MOST, vocab}, NULL),
                     SHOAL_OK);
    shoal_vocab_free(vocab);
    return v;
}

static void assert_same_hits(const struct shoal_hit *a, const struct shoal_hit *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_true(fabsf(a[i].score - b[i].score) < 2e-6f);
        if (i > 0 && fabsf(a[i].score - a[i - 1].score) > 4e-6f &&
            (i + 1 == n || fabsf(a[i].score - a[i + 1].score) > 4e-6f))
            assert_int_equal(a[i].id, b[i].id);
    }
}

static void an_index_finds_what_a_search_of_all_rows_finds(void **state)
{
    static const size_t dims[] = {1, 2, 7, 32, 70};
    struct shoal_hit a[ASKED], b[ASKED];
    size_t m, n;

    (void)state;
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
        shoal_vectors *v = make_rows(dims[d]);
        struct shoal_matrix rows = {some[0], ROWS, dims[d], DIM_MOST, NULL};
        shoal_index *x;

        assert_int_equal(shoal_index_new(&x, &rows, 2), SHOAL_OK);
        for (uint32_t q = 0; q < ROWS; q += 37) {
            uint32_t skip[] = {q, 3};

            assert_int_equal(shoal_nearest(v, some[q], skip, 2, 1, a, ASKED, &m), SHOAL_OK);
            assert_int_equal(shoal_index_nearest(x, some[q], skip, 2, 0, ROWS, 1 + q % 3, b, ASKED,
                                                 &n), SHOAL_OK);
            assert_int_equal(m, n);
            assert_same_hits(a, b, n);
        }
        shoal_index_free(x);
        shoal_vectors_close(v);
    }
}

static void an_index_looks_at_a_range_alone(void **state)
{
    shoal_vectors *v = make_rows(32);
    struct shoal_matrix rows = {some[0], ROWS, 32, DIM_MOST, NULL};
    struct shoal_hit hits[ASKED];
    shoal_index *x;
    size_t n;

    (void)state;
    assert_int_equal(shoal_index_new(&x, &rows, 0), SHOAL_OK);
    assert_int_equal(shoal_index_nearest(x, some[0], NULL, 0, 100, 108, 0, hits, ASKED, &n),
                     SHOAL_OK);
    assert_int_equal(n, 8);
    for (size_t i = 0; i < n; i++)
        assert_in_range(hits[i].id, 100, 107);
    assert_int_equal(shoal_index_nearest(x, some[0], NULL, 0, 5, 5, 0, hits, ASKED, &n), SHOAL_OK);
    assert_int_equal(n, 0);
    assert_int_equal(shoal_index_nearest(x, some[9], NULL, 0, 0, ROWS, 0, hits, ASKED, &n),
                     SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "index: the query is zero or not finite, want a direction");
    shoal_index_free(x);
    some[4][2] = INFINITY;
    assert_int_equal(shoal_index_new(&x, &rows, 1), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "index: row 4 holds a NaN or an infinity, want finite "
                                       "numbers");
    shoal_vectors_close(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vocabulary_of_memory_is_as_it_was_given),
        cmocka_unit_test(words_that_are_none_are_refused),
        cmocka_unit_test(ids_that_are_no_words_are_refused),
        cmocka_unit_test(rows_of_memory_are_copied_and_must_be_finite),
        cmocka_unit_test(noise_is_drawn_by_any_power_of_the_count),
        cmocka_unit_test(a_linear_rate_ends_where_it_is_told),
        cmocka_unit_test(shrink_windows_is_the_other_name_of_window_fixed),
        cmocka_unit_test(ids_in_memory_train_as_the_file_does),
        cmocka_unit_test(rows_begin_as_those_that_were_given),
        cmocka_unit_test(words_that_are_new_begin_at_random),
        cmocka_unit_test(a_run_that_goes_on_is_further_than_one_that_begins),
        cmocka_unit_test(a_run_from_rows_resumes_to_the_same_bytes),
        cmocka_unit_test(two_words_are_enough_for_noise),
        cmocka_unit_test(an_index_finds_what_a_search_of_all_rows_finds),
        cmocka_unit_test(an_index_looks_at_a_range_alone),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
