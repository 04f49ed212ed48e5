/* A worker's way through a corpus: which rows it says it will need, and which it counts
 * as changed, against those it looks at. */
#include "model/model.h"
#include "store/store.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include "folder.h"
#include "train/train.h"

#include "defaults.h"

enum { DIM = 12, BEGIN = 300, END = 5000 };

struct bench {
    shoal_corpus *corpus;
    struct w2v model;
    struct table tables[2];
    struct view views[2];
    struct w2v_worker *worker;
    struct w2v_grams grams;
};

enum { BUCKETS = 400 };

static bool hashed; /* words have no rows of their own */

/* Words have none to four rows beside their own, all in BUCKETS behind the words'. */
static void bench_grams(struct bench *b)
{
    uint32_t words = b->model.words;

    b->grams.from = calloc(words + 1, sizeof *b->grams.from);
    b->grams.row = calloc((size_t)words * 4, sizeof *b->grams.row);
    for (uint32_t w = 0; w < words; w++) {
        b->grams.from[w + 1] = b->grams.from[w] + w % 5;
        for (uint32_t i = 0; i < w % 5; i++)
            b->grams.row[b->grams.from[w] + i] = words + (w * 31 + i * 7) % BUCKETS;
    }
    b->grams.hashed = hashed;
    b->model.grams = &b->grams;
}

static void bench_open_with(struct bench *b, enum shoal_loss loss, bool wide, bool grams)
{
    struct shoal_world_opts world = shoal_world_default();
    struct shoal_encode_opts encode = shoal_encode_default();
    struct train_opts o = task_defaults("skipgram");
    const char *inputs[] = {"text"};
    const uint32_t *ids;
    size_t count, words;

    o.dim = DIM;
    o.loss = loss;
    o.window_fixed = o.across_lines = wide;
    world.words = 20000;
    assert_int_equal(shoal_world_write("text", NULL, &world, NULL), SHOAL_OK);
    assert_int_equal(shoal_encode("corpus", inputs, 1, &encode, NULL), SHOAL_OK);
    assert_int_equal(shoal_corpus_open(&b->corpus, "corpus"), SHOAL_OK);
    words = shoal_vocab_size(shoal_corpus_vocab(b->corpus));
    assert_int_equal(shoal_corpus_part(b->corpus, 0, 1, &ids, &count), SHOAL_OK);
    assert_int_equal(w2v_init(&b->model, &o, shoal_corpus_vocab(b->corpus), ids, count,
                              &kernel_scalar), SHOAL_OK);
    if (grams)
        bench_grams(b);
    assert_int_equal(table_init(&b->tables[0], "in", words + (grams ? BUCKETS : 0), DIM), SHOAL_OK);
    assert_int_equal(table_init(&b->tables[1], "out", w2v_out_rows(&o, words), DIM), SHOAL_OK);
    w2v_start(&b->tables[0], NULL, b->tables[0].rows, 1);
}

static void bench_open(struct bench *b, enum shoal_loss loss, bool wide)
{
    bench_open_with(b, loss, wide, false);
}

static void bench_lane(struct bench *b)
{
    assert_int_equal(w2v_worker_new(&b->worker, &b->model, &b->views[0], &b->views[1]), SHOAL_OK);
}

static void bench_close(struct bench *b)
{
    w2v_worker_free(b->worker);
    for (size_t t = 0; t < 2; t++) {
        view_fini(&b->views[t]);
        table_fini(&b->tables[t]);
    }
    w2v_fini(&b->model);
    free(b->grams.from);
    free(b->grams.row);
    shoal_corpus_close(b->corpus);
}

static uint64_t *bits_of(const struct table *t)
{
    return calloc((t->rows + 63) / 64, sizeof(uint64_t));
}

/* Private views tell which rows were looked at. */
static void check_listed(enum shoal_loss loss, bool wide, bool grams)
{
    struct bench b = {0};
    struct sums done = {0};
    uint64_t *in, *out;
    size_t missing = 0, idle = 0, listed = 0;

    bench_open_with(&b, loss, wide, grams);
    for (size_t t = 0; t < 2; t++)
        assert_int_equal(view_init_private(&b.views[t], &b.tables[t]), SHOAL_OK);
    bench_lane(&b);
    in = bits_of(&b.tables[0]);
    out = bits_of(&b.tables[1]);
    w2v_worker_list(b.worker, 3, BEGIN, END, in, out);
    assert_int_equal(b.views[0].used + b.views[1].used, 0);
    w2v_worker_train(b.worker, 3, BEGIN, END, 0.05f, &done);
    for (size_t t = 0; t < 2; t++)
        for (size_t w = 0; w < (b.tables[t].rows + 63) / 64; w++) {
            uint64_t said = (t ? out : in)[w], seen = b.views[t].touched[w];

            missing += (size_t)__builtin_popcountll(seen & ~said);
            idle += (size_t)__builtin_popcountll(said & ~seen);
            listed += (size_t)__builtin_popcountll(said);
        }
    assert_int_equal(missing, 0);
    assert_true(listed > 100 && idle <= listed / 20);
    free(in);
    free(out);
    bench_close(&b);
}

static void a_lane_lists_the_rows_that_it_will_look_at(void **state)
{
    (void)state;
    check_listed(SHOAL_NS, false, false);
    check_listed(SHOAL_HS, false, false);
}

/* Hot rows are counted often, and none that changed is left out. How often output rows were. */
static size_t check_counted(enum shoal_loss loss, bool wide, bool grams, bool noise_once)
{
    struct bench b = {0};
    struct sums done = {0};
    struct table before;
    size_t lost = 0, changed = 0, touches = 0;

    bench_open_with(&b, loss, wide, grams);
    b.model.noise_once = noise_once;
    for (size_t t = 0; t < 2; t++) {
        assert_int_equal(view_init_shared(&b.views[t], &b.tables[t], 0), SHOAL_OK);
        b.views[t].touches = calloc(b.tables[t].rows, 1);
    }
    bench_lane(&b);
    w2v_worker_train(b.worker, 0, 0, BEGIN, 0.05f, &done); /* outputs are not zero any more */
    for (size_t t = 0; t < 2; t++)
        memset(b.views[t].touches, 0, b.tables[t].rows);
    for (size_t t = 0; t < 2; t++) {
        assert_int_equal(table_init_like(&before, &b.tables[t], b.tables[t].rows), SHOAL_OK);
        memcpy(before.at, b.tables[t].at, table_size(&before));
        w2v_worker_train(b.worker, 1, BEGIN, END, 0.05f, &done);
        for (size_t i = 0; i < before.rows; i++) {
            bool same = memcmp(before.at + i * before.stride, b.tables[t].at + i * before.stride,
                               DIM * sizeof(float)) == 0;

            changed += !same;
            lost += !same && b.views[t].touches[i] == 0;
        }
        table_fini(&before);
        assert_true(b.views[t].touches[0] > 20 || (hashed && t == 0));
    }
    assert_true(changed > 100);
    assert_int_equal(lost, 0);
    for (size_t i = 0; i < b.tables[1].rows; i++)
        touches += b.views[1].touches[i];
    free(b.views[0].touches);
    free(b.views[1].touches);
    bench_close(&b);
    return touches;
}

static void every_row_that_changes_is_counted(void **state)
{
    (void)state;
    check_counted(SHOAL_NS, false, false, false);
    check_counted(SHOAL_HS, false, false, false);
}

static void noise_may_count_once_for_all_its_windows(void **state)
{
    (void)state;
    assert_true(check_counted(SHOAL_NS, false, false, true) * 2 <
                check_counted(SHOAL_NS, false, false, false));
}

/* Rows are sent, and their counts cleared, while threads train: one that is counted before its
 * change would be sent without it and not again. The steps of a kernel that clears all counts, as a
 * push between counting and changing would, must leave every changed row counted. */
static struct bench *pushed;

static void clear_and_step(const struct kernel_step *step)
{
    for (size_t t = 0; t < 2; t++)
        memset(pushed->views[t].touches, 0, pushed->tables[t].rows);
    kernel_scalar.pairs(step);
}

static void rows_are_counted_after_they_changed(void **state)
{
    struct kernel clearing = kernel_scalar;
    struct bench b = {0};
    struct sums done = {0};
    size_t lost = 0, changed = 0;

    (void)state;
    clearing.pairs = clear_and_step;
    bench_open(&b, SHOAL_NS, false);
    b.model.kernel = &clearing;
    pushed = &b;
    for (size_t t = 0; t < 2; t++) {
        assert_int_equal(view_init_shared(&b.views[t], &b.tables[t], 0), SHOAL_OK);
        b.views[t].touches = calloc(b.tables[t].rows, 1);
    }
    bench_lane(&b);
    w2v_worker_train(b.worker, 0, 0, 200, 0.05f, &done); /* a span */
    for (size_t i = 0; i < b.tables[1].rows; i++) { /* outputs begin at zero */
        bool moved = b.tables[1].at[i * b.tables[1].stride] != 0;

        changed += moved;
        lost += moved && b.views[1].touches[i] == 0;
    }
    assert_true(changed > 20);
    assert_int_equal(lost, 0);
    free(b.views[0].touches);
    free(b.views[1].touches);
    bench_close(&b);
}

static void it_does_so_with_fixed_windows_over_line_ends(void **state)
{
    (void)state;
    check_listed(SHOAL_NS, true, false);
    check_listed(SHOAL_HS, true, false);
    check_counted(SHOAL_NS, true, false, false);
    check_counted(SHOAL_HS, true, false, false);
}

static void it_does_so_where_words_have_several_rows(void **state)
{
    (void)state;
    check_listed(SHOAL_NS, false, true);
    check_listed(SHOAL_HS, true, true);
    check_counted(SHOAL_NS, false, true, false);
    check_counted(SHOAL_HS, true, true, false);
    hashed = true;
    check_listed(SHOAL_NS, false, true);
    check_counted(SHOAL_NS, false, true, false);
    hashed = false;
}

/* A word that has its own row alone is trained as ever, in the same order: but for what rounding
 * does to the difference that its row gets. */
static void one_row_a_word_is_as_no_subwords(void **state)
{
    struct bench a = {0}, b = {0};
    struct sums done = {0};

    (void)state;
    bench_open(&a, SHOAL_NS, false);
    bench_open_with(&b, SHOAL_NS, false, true);
    memset(b.grams.from, 0, (b.model.words + 1) * sizeof *b.grams.from);
    for (size_t t = 0; t < 2; t++) {
        assert_int_equal(view_init_shared(&a.views[t], &a.tables[t], 0), SHOAL_OK);
        assert_int_equal(view_init_shared(&b.views[t], &b.tables[t], 0), SHOAL_OK);
    }
    bench_lane(&a);
    bench_lane(&b);
    w2v_worker_train(a.worker, 0, 0, END, 0.05f, &done);
    w2v_worker_train(b.worker, 0, 0, END, 0.05f, &done);
    for (size_t i = 0; i < a.tables[0].rows * a.tables[0].stride; i++)
        assert_true(fabsf(a.tables[0].at[i] - b.tables[0].at[i]) < 1e-4f);
    bench_close(&a);
    bench_close(&b);
}

/* All rows of a word move alike, and by as much as its vector. */
static void each_row_of_a_word_gets_the_whole_change(void **state)
{
    struct bench b = {0};
    struct sums done = {0};
    struct table before;
    size_t stride, moved = 0;

    (void)state;
    bench_open_with(&b, SHOAL_NS, false, true);
    for (uint32_t w = 0; w < b.model.words; w++) { /* buckets of its own */
        b.grams.from[w + 1] = b.grams.from[w] + (w < BUCKETS / 2 ? 2 : 0);
        for (uint32_t i = 0; i < 2 && w < BUCKETS / 2; i++)
            b.grams.row[b.grams.from[w] + i] = b.model.words + 2 * w + i;
    }
    for (size_t t = 0; t < 2; t++)
        assert_int_equal(view_init_shared(&b.views[t], &b.tables[t], 0), SHOAL_OK);
    bench_lane(&b);
    assert_int_equal(table_init_like(&before, &b.tables[0], b.tables[0].rows), SHOAL_OK);
    memcpy(before.at, b.tables[0].at, table_size(&before));
    stride = before.stride;
    w2v_worker_train(b.worker, 0, 0, END, 0.05f, &done);
    for (uint32_t w = 0; w < BUCKETS / 2; w++)
        for (size_t j = 0; j < DIM; j++) {
            float own = b.tables[0].at[w * stride + j] - before.at[w * stride + j];

            moved += fabsf(own) > 1e-3f;
            for (uint32_t i = 0; i < 2; i++) {
                size_t gram = (b.model.words + 2 * w + i) * stride + j;

                assert_true(fabsf(b.tables[0].at[gram] - before.at[gram] - own) < 1e-5f);
            }
        }
    assert_true(moved > 100);
    table_fini(&before);
    bench_close(&b);
}

/* ---- windows against a plain search ---- */

/* The n-th kept word to the left (-1) or right (+1) of a position; count: none. */
static size_t plain_neighbour(const struct w2v *w, const bool *kept, size_t p, int way, unsigned n)
{
    while (n > 0) {
        if (way < 0 ? p == 0 : p + 1 >= w->count)
            return w->count;
        p = way < 0 ? p - 1 : p + 1;
        if (w->ids[p] == SHOAL_SENTENCE_END && !w->across)
            return w->count;
        n -= kept[p];
    }
    return p;
}

/* Which words are kept, by windows of whole spans. */
static void plain_kept(const struct w2v *w, bool *kept)
{
    static struct windows x;

    for (size_t at = 0; at < w->count; at += SPAN) {
        windows_cut(&x, w, 3, at, at + SPAN < w->count ? at + SPAN : w->count);
        for (uint32_t i = x.first; i < x.last; i++)
            kept[at + x.place[i]] = x.kept[i] != SHOAL_SENTENCE_END;
    }
}

/* Nothing is missing where windows do not shrink, and what there is is right. */
static void check_side(const struct bench *b, const bool *kept, size_t p, const uint32_t *centre,
                       int way, unsigned reach)
{
    for (unsigned i = 1; i <= b->model.window; i++) {
        size_t at = plain_neighbour(&b->model, kept, p, way, i);

        if (i <= reach)
            assert_true(at < b->model.count && b->model.ids[at] == centre[way * (int)i]);
        else if (b->model.fixed)
            assert_int_equal(at, b->model.count);
    }
}

static void check_windows(bool fixed, bool across, size_t begin, size_t end)
{
    static struct windows x;
    struct bench b = {0};
    bool *kept;

    bench_open(&b, SHOAL_NS, false);
    b.model.fixed = fixed;
    b.model.across = across;
    kept = calloc(b.model.count, sizeof *kept);
    assert_non_null(kept);
    plain_kept(&b.model, kept);
    windows_cut(&x, &b.model, 3, begin, end);
    assert_true(x.len > 20);
    for (size_t t = 0; t < x.len; t++) {
        const struct window *at = &x.at[t];
        size_t p = begin + x.place[at->centre];

        assert_true(at->centre - at->lo <= b.model.window);
        assert_true(at->hi - at->centre - 1 <= b.model.window);
        check_side(&b, kept, p, &x.kept[at->centre], -1, at->centre - at->lo);
        check_side(&b, kept, p, &x.kept[at->centre], 1, at->hi - at->centre - 1);
    }
    free(kept);
    bench_close(&b);
}

static void windows_are_the_kept_words_around_each_one(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        check_windows(i & 1, i & 2, 0, 300);
        check_windows(i & 1, i & 2, 1000, 1000 + SPAN);
    }
}

/* Which positions a window's words stand at, from its centre outwards. */
static size_t reach_of(const struct windows *x, size_t begin, uint32_t i)
{
    return (size_t)((int64_t)begin + (int32_t)x->place[i]);
}

static void windows_that_are_learned_hold_no_word_that_is_held_out(void **state)
{
    static struct windows x;
    struct bench b = {0};
    size_t i = 0, from, to, edges = 0;

    (void)state;
    bench_open(&b, SHOAL_NS, true); /* only what is held out ends a window */
    b.model.split = split_make(b.model.count, b.model.count / 5, 100, 1);
    while (split_next(&b.model.split, &i, b.model.count - b.model.split.held, &from, &to)) {
        size_t begin = to - from > SPAN ? to - SPAN : from;

        windows_cut(&x, &b.model, 3, begin, to);
        for (size_t t = 0; t < x.len; t++) {
            assert_true(reach_of(&x, begin, x.at[t].lo) >= from);
            assert_true(reach_of(&x, begin, x.at[t].hi - 1) < to);
        }
        edges++;
    }
    assert_true(edges > 20);
    bench_close(&b);
}

static void what_is_held_out_is_predicted_from_all_around_it(void **state)
{
    static struct windows x, y;
    struct bench b = {0};
    size_t from, to;

    (void)state;
    bench_open(&b, SHOAL_NS, true);
    b.model.split = split_make(b.model.count, b.model.count / 5, 100, 1);
    split_block(&b.model.split, 3, &from, &to);
    to = to - from > SPAN ? from + SPAN : to;
    windows_cut(&x, &b.model, 3, from, to);
    b.model.split = (struct split){0};
    windows_cut(&y, &b.model, 3, from, to);
    assert_int_equal(x.kept_count, y.kept_count);
    assert_memory_equal(x.at, y.at, x.len * sizeof *x.at);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_lane_lists_the_rows_that_it_will_look_at, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(every_row_that_changes_is_counted, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(noise_may_count_once_for_all_its_windows, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(rows_are_counted_after_they_changed, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(it_does_so_with_fixed_windows_over_line_ends, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(it_does_so_where_words_have_several_rows, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(one_row_a_word_is_as_no_subwords, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(each_row_of_a_word_gets_the_whole_change, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(windows_are_the_kept_words_around_each_one, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(windows_that_are_learned_hold_no_word_that_is_held_out,
                                        folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(what_is_held_out_is_predicted_from_all_around_it,
                                        folder_setup, folder_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
