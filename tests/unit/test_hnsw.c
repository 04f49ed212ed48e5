/* The index of links (shoal/hnsw.h): what it finds, its file, and what is wrong with others. */
#include <shoal.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include "eval/eval.h"
#include "scratch.h"

enum { ROWS = 6000, DIM = 20, GROUPS = 150, K = 10, ASKED = 100 };

static float rows[ROWS][DIM];
static shoal_vectors *vectors;
static bool there;

/* Words around the middles of groups. */
static void make_rows(void)
{
    struct rng r = {7, 1, 0};
    static float middle[GROUPS][DIM];

    for (size_t i = 0; i < GROUPS * DIM; i++)
        (&middle[0][0])[i] = (float)(rng_unit(&r) - 0.5) * 2;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < DIM; j++)
            rows[i][j] = middle[i % GROUPS][j] + (float)(rng_unit(&r) - 0.5);
}

static struct shoal_matrix matrix(void)
{
    return (struct shoal_matrix){.data = &rows[0][0], .rows = ROWS, .dim = DIM, .stride = DIM};
}

static int setup(void **state)
{
    struct bytes text = {0};
    struct shoal_words words = {.n = ROWS};
    struct shoal_matrix m = matrix();
    shoal_vocab *vocab = NULL;
    char word[16];
    shoal_status st = SHOAL_OK;

    if (scratch_setup(state) != 0)
        return -1;
    there = shoal_hnsw_there() == SHOAL_OK;
    make_rows();
    for (unsigned i = 0; i < ROWS && st == SHOAL_OK; i++)
        st = bytes_add(&text, word, (size_t)snprintf(word, sizeof word, "w%u", i) + 1);
    words.text = text.at;
    words.len = text.len;
    if (st == SHOAL_OK)
        st = shoal_vocab_new(&vocab, &words);
    m.words = vocab;
    if (st == SHOAL_OK)
        st = shoal_vectors_new(&vectors, &m, NULL);
    shoal_vocab_free(vocab);
    bytes_fini(&text);
    return st == SHOAL_OK ? 0 : -1;
}

static int teardown(void **state)
{
    shoal_vectors_close(vectors);
    return scratch_teardown(state);
}

static struct shoal_hnsw_opts quick(void)
{
    struct shoal_hnsw_opts o = shoal_hnsw_default();

    o.m = 8;
    o.ef_construction = 60;
    o.ef = 40;
    o.threads = 2;
    return o;
}

static shoal_hnsw *make(const struct shoal_hnsw_opts *o)
{
    shoal_hnsw *x;

    if (!there)
        skip();
    assert_int_equal(shoal_hnsw_new(&x, vectors, o), SHOAL_OK);
    return x;
}

static double recall_of(const shoal_hnsw *x, size_t ef)
{
    struct shoal_hnsw_recall r;

    assert_int_equal(shoal_hnsw_measure(x, vectors, ef, 400, 2, &r), SHOAL_OK);
    assert_int_equal(r.questions, 400);
    return r.recall;
}

static void same_answers(const shoal_hnsw *x, const shoal_hnsw *y)
{
    struct shoal_hit a[K], b[K];
    size_t n, m;

    for (uint32_t i = 0; i < ASKED; i++) {
        assert_int_equal(shoal_hnsw_nearest(x, rows[i], &i, 1, 0, a, K, &n), SHOAL_OK);
        assert_int_equal(shoal_hnsw_nearest(y, rows[i], &i, 1, 0, b, K, &m), SHOAL_OK);
        assert_int_equal(n, K);
        assert_int_equal(m, n);
        assert_memory_equal(a, b, n * sizeof *a);
    }
}

/* ---- what it finds ---- */

static void an_index_made_by_two_threads_finds_nearly_all_of_the_nearest(void **state)
{
    struct shoal_hnsw_opts o = quick();
    shoal_hnsw *x = make(&o);
    struct shoal_hnsw_facts f = shoal_hnsw_facts(x);

    (void)state;
    assert_true(recall_of(x, 0) > 0.95);
    assert_true(recall_of(x, 10) < recall_of(x, 120));
    assert_int_equal(f.size, ROWS);
    assert_int_equal(f.dim, DIM);
    assert_true(f.levels > 1 && f.links > 4 * (uint64_t)ROWS);
    shoal_hnsw_free(x);
}

/* That the bound above says something: the same walk along links that lead anywhere. */
static void links_by_chance_find_next_to_nothing(void **state)
{
    struct shoal_hnsw_opts o = quick();
    shoal_hnsw *x = make(&o);
    struct rng r = {3, 3, 3};

    (void)state;
    for (uint32_t i = 0; i < ROWS; i++) {
        uint32_t *list = graph_list(x, i, 0);

        for (uint32_t j = 1; j <= list[0]; j++)
            list[j] = (uint32_t)rng_below(&r, ROWS);
    }
    assert_true(recall_of(x, 0) < 0.5);
    shoal_hnsw_free(x);
}

static void hits_are_sorted_have_their_cosines_and_leave_out_what_is_skipped(void **state)
{
    struct shoal_hnsw_opts o = quick();
    shoal_hnsw *x = make(&o);
    struct shoal_hit hits[K], exact[K];
    uint32_t skip[3] = {5};
    size_t n;

    (void)state;
    assert_int_equal(shoal_nearest(vectors, rows[5], skip, 1, 1, exact, K, &n), SHOAL_OK);
    skip[1] = exact[0].id;
    skip[2] = exact[1].id;
    assert_int_equal(shoal_hnsw_nearest(x, rows[5], skip, 3, 200, hits, K, &n), SHOAL_OK);
    assert_int_equal(n, K);
    assert_int_equal(hits[0].id, exact[2].id);
    assert_true(fabsf(hits[0].score - exact[2].score) < 1e-5f);
    for (size_t i = 0; i < n; i++) {
        assert_true(hits[i].id != skip[0] && hits[i].id != skip[1] && hits[i].id != skip[2]);
        assert_true(i == 0 || hits[i - 1].score >= hits[i].score);
    }
    shoal_hnsw_free(x);
}

static void who_asks_for_all_rows_gets_them_exactly(void **state)
{
    struct shoal_hnsw_opts o = quick();
    shoal_hnsw *x = make(&o);
    struct shoal_hit *hits = calloc(2 * ROWS, sizeof *hits);
    size_t n, m;

    (void)state;
    assert_int_equal(shoal_hnsw_nearest(x, rows[0], NULL, 0, 0, hits, ROWS, &n), SHOAL_OK);
    assert_int_equal(n, ROWS);
    assert_int_equal(shoal_nearest(vectors, rows[0], NULL, 0, 1, hits + ROWS, ROWS, &m), SHOAL_OK);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(hits[i].id, hits[ROWS + i].id);
    free(hits);
    shoal_hnsw_free(x);
}

static void few_candidates_are_kept_where_little_recall_is_asked_for(void **state)
{
    struct shoal_hnsw_opts o = quick();
    shoal_hnsw *little, *much;

    (void)state;
    o.m = 4;
    o.ef_construction = 8;
    o.ef = 0;
    o.recall = 0.7;
    little = make(&o);
    o.recall = 0.97;
    much = make(&o);
    assert_true(shoal_hnsw_facts(little).ef < shoal_hnsw_facts(much).ef);
    assert_true(recall_of(little, 0) > 0.65);
    assert_true(recall_of(much, 0) > 0.95);
    shoal_hnsw_free(little);
    shoal_hnsw_free(much);
}

static void words_and_analogies_are_asked_by_the_index_as_by_exact_search(void **state)
{
    static const char *const words[] = {"w3", "w9", "w11"};
    struct shoal_hnsw_opts o = quick();
    shoal_hnsw *x = make(&o);
    struct shoal_hit a[K], b[K];
    bool known[3];
    size_t n, m;

    (void)state;
    assert_int_equal(shoal_hnsw_nearest_words(x, vectors, words, 2, known, 300, a, K, &n), SHOAL_OK);
    assert_int_equal(shoal_nearest_words(vectors, words, 2, known, 1, b, K, &m), SHOAL_OK);
    assert_int_equal(n, m);
    assert_int_equal(a[0].id, b[0].id);
    assert_int_equal(shoal_hnsw_analogy_words(x, vectors, words, known, 300, a, K, &n), SHOAL_OK);
    assert_int_equal(shoal_analogy_words(vectors, words, known, SHOAL_3COSADD, 1, b, K, &m),
                     SHOAL_OK);
    assert_int_equal(a[0].id, b[0].id);
    assert_true(known[0] && known[1] && known[2]);
    shoal_hnsw_free(x);
}

static void rows_without_direction_and_twins_do_no_harm(void **state)
{
    static float some[300][4];
    struct shoal_matrix m = {.data = &some[0][0], .rows = 300, .dim = 4, .stride = 4};
    struct shoal_hnsw_opts o = quick();
    struct shoal_hit hits[K];
    shoal_hnsw *x;
    size_t n;

    (void)state;
    if (!there)
        skip();
    for (size_t i = 0; i < 300; i++)
        some[i][i % 4] = i % 3 ? 1 : 0;
    assert_int_equal(shoal_hnsw_new_rows(&x, &m, &o), SHOAL_OK);
    assert_int_equal(shoal_hnsw_nearest(x, some[1], NULL, 0, 0, hits, K, &n), SHOAL_OK);
    assert_int_equal(n, K);
    assert_true(hits[K - 1].score > 0.999f);
    assert_int_equal(shoal_hnsw_nearest(x, some[0], NULL, 0, 0, hits, K, &n), SHOAL_EINVAL);
    shoal_hnsw_free(x);
    m.rows = 1;
    some[0][0] = 1;
    o.ef = 0;
    assert_int_equal(shoal_hnsw_new_rows(&x, &m, &o), SHOAL_OK);
    assert_int_equal(shoal_hnsw_nearest(x, some[0], NULL, 0, 0, hits, K, &n), SHOAL_OK);
    assert_int_equal(n, 1);
    shoal_hnsw_free(x);
}

/* ---- its file ---- */

static void one_thread_and_a_seed_give_the_same_bytes(void **state)
{
    struct shoal_hnsw_opts o = quick();
    struct bytes a, b;
    shoal_hnsw *x, *y;

    (void)state;
    o.threads = 1;
    x = make(&o);
    y = make(&o);
    assert_int_equal(shoal_hnsw_save(x, scratch_path("a.hnsw")), SHOAL_OK);
    assert_int_equal(shoal_hnsw_save(y, scratch_path("b.hnsw")), SHOAL_OK);
    a = scratch_get(scratch_path("a.hnsw"));
    b = scratch_get(scratch_path("b.hnsw"));
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.at, b.at, a.len);
    bytes_fini(&a);
    bytes_fini(&b);
    shoal_hnsw_free(x);
    shoal_hnsw_free(y);
}

static void an_index_that_was_saved_answers_as_before(void **state)
{
    struct shoal_hnsw_opts o = quick();
    struct shoal_matrix m = matrix();
    shoal_hnsw *x = make(&o), *y, *z;

    (void)state;
    assert_int_equal(shoal_hnsw_save(x, scratch_path("x.hnsw")), SHOAL_OK);
    assert_int_equal(shoal_hnsw_open(&y, vectors, scratch_path("x.hnsw")), SHOAL_OK);
    same_answers(x, y);
    assert_int_equal(shoal_hnsw_facts(x).links, shoal_hnsw_facts(y).links);
    assert_int_equal(shoal_hnsw_open_rows(&z, &m, scratch_path("x.hnsw")), SHOAL_OK);
    same_answers(x, z);
    shoal_hnsw_free(x);
    shoal_hnsw_free(y);
    shoal_hnsw_free(z);
}

static void an_index_of_other_vectors_is_refused(void **state)
{
    struct shoal_hnsw_opts o = quick();
    struct shoal_matrix m = matrix();
    shoal_hnsw *x = make(&o), *y;

    (void)state;
    assert_int_equal(shoal_hnsw_save(x, scratch_path("mine.hnsw")), SHOAL_OK);
    shoal_hnsw_free(x);
    rows[17][3] += 0.5f;
    assert_int_equal(shoal_hnsw_open_rows(&y, &m, scratch_path("mine.hnsw")), SHOAL_EFORMAT);
    assert_non_null(strstr(shoal_error(), "is an index of other vectors"));
    assert_null(y);
    rows[17][3] -= 0.5f;
    m.rows--;
    assert_int_equal(shoal_hnsw_open_rows(&y, &m, scratch_path("mine.hnsw")), SHOAL_EFORMAT);
    assert_non_null(strstr(shoal_error(), "found vectors of 5999"));
}

static void a_file_with_a_bit_changed_or_its_end_cut_off_is_refused(void **state)
{
    struct shoal_hnsw_opts o = quick();
    shoal_hnsw *x = make(&o), *y;
    struct bytes file;

    (void)state;
    assert_int_equal(shoal_hnsw_save(x, scratch_path("whole.hnsw")), SHOAL_OK);
    shoal_hnsw_free(x);
    file = scratch_get(scratch_path("whole.hnsw"));
    for (size_t i = 0; i < 60; i++) {
        size_t at = (file.len - 1) * i / 59;

        file.at[at] ^= 0x10;
        scratch_put("bad.hnsw", file.at, file.len);
        file.at[at] ^= 0x10;
        assert_int_not_equal(shoal_hnsw_open(&y, vectors, scratch_path("bad.hnsw")), SHOAL_OK);
        assert_non_null(strstr(shoal_error(), "bad.hnsw"));
        assert_null(y);
        scratch_put("bad.hnsw", file.at, at);
        assert_int_not_equal(shoal_hnsw_open(&y, vectors, scratch_path("bad.hnsw")), SHOAL_OK);
        assert_null(y);
    }
    bytes_fini(&file);
}

/* With sums that are right: whoever wrote them may still lie. */
static void lie(const char *path, shoal_hnsw *x, uint32_t *at, uint32_t value)
{
    uint32_t was = *at;
    shoal_hnsw *y;

    *at = value;
    assert_int_equal(shoal_hnsw_save(x, path), SHOAL_OK);
    *at = was;
    assert_int_equal(shoal_hnsw_open(&y, vectors, path), SHOAL_EFORMAT);
    assert_null(y);
}

static void links_that_lead_nowhere_are_refused_though_their_sums_are_right(void **state)
{
    struct shoal_hnsw_opts o = quick();
    shoal_hnsw *x = make(&o);
    const char *path = scratch_path("lies.hnsw");
    uint32_t high = x->view.entry, low = 0;

    (void)state;
    while (x->levels[low] > 0)
        low++;
    lie(path, x, &graph_list(x, 4, 0)[1], ROWS);
    assert_non_null(strstr(shoal_error(), "row 4 is linked to 6000 in level 0"));
    lie(path, x, &graph_list(x, 4, 0)[1], 4);
    lie(path, x, &graph_list(x, high, 1)[1], low); /* it has no list there */
    lie(path, x, &x->view.entry, low);             /* not of the highest level */
    lie(path, x, &x->view.entry, ROWS);
    lie(path, x, &graph_list(x, 4, 0)[0], 2 * x->view.m + 1);
    lie(path, x, &x->ef, 0);
    shoal_hnsw_free(x);
}

/* ---- what is wrong ---- */

static bool stop(void *user, const struct shoal_progress *p)
{
    (void)user;
    return p->done == 0;
}

static void options_out_of_range_are_named(void **state)
{
    struct shoal_hnsw_opts o = quick();
    shoal_hnsw *x;

    (void)state;
    o.m = 1;
    assert_int_equal(shoal_hnsw_new(&x, vectors, &o), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "index: m is 1, want 2 to 256");
    o = quick();
    o.ef = 0;
    o.recall = 1.5;
    assert_int_equal(shoal_hnsw_new(&x, vectors, &o), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "index: recall is 1.5, want above 0 and at most 1");
    o = quick();
    o.watch.fn = stop;
    if (there)
        assert_int_equal(shoal_hnsw_new(&x, vectors, &o), SHOAL_ESTOP);
    assert_null(x);
}

static void a_library_without_hnswlib_says_how_it_is_built(void **state)
{
    struct shoal_hnsw_opts o = quick();
    shoal_hnsw *x;

    (void)state;
    if (there)
        skip();
    assert_int_equal(shoal_hnsw_new(&x, vectors, &o), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "-Dhnsw=enabled"));
    assert_int_not_equal(shoal_hnsw_open(&x, vectors, scratch_path("none")), SHOAL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_made_by_two_threads_finds_nearly_all_of_the_nearest),
        cmocka_unit_test(links_by_chance_find_next_to_nothing),
        cmocka_unit_test(hits_are_sorted_have_their_cosines_and_leave_out_what_is_skipped),
        cmocka_unit_test(who_asks_for_all_rows_gets_them_exactly),
        cmocka_unit_test(few_candidates_are_kept_where_little_recall_is_asked_for),
        cmocka_unit_test(words_and_analogies_are_asked_by_the_index_as_by_exact_search),
        cmocka_unit_test(rows_without_direction_and_twins_do_no_harm),
        cmocka_unit_test(one_thread_and_a_seed_give_the_same_bytes),
        cmocka_unit_test(an_index_that_was_saved_answers_as_before),
        cmocka_unit_test(an_index_of_other_vectors_is_refused),
        cmocka_unit_test(a_file_with_a_bit_changed_or_its_end_cut_off_is_refused),
        cmocka_unit_test(links_that_lead_nowhere_are_refused_though_their_sums_are_right),
        cmocka_unit_test(options_out_of_range_are_named),
        cmocka_unit_test(a_library_without_hnswlib_says_how_it_is_built),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
