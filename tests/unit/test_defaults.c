/* What a run decides by itself: the order of rows, how long it learns, which epoch it keeps, and
 * when it has learned nothing. */
#include <shoal.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include "scratch.h"
#include "training.h"
#include "logreg.h"

/* ---- shuffled positions ---- */

static void check_order(size_t n, size_t run, size_t held)
{
    struct split split = split_make(n + held, held, 1, 3);
    struct shuffle order = shuffle_make(n, run, 1, 0), next = shuffle_make(n, run, 1, 1);
    struct shuffle_walk walk = {.split = &split, .order = &order, .end = n};
    uint8_t *seen = calloc(n + held, 1);
    size_t from, to, total = 0, moved = 0, differ = 0;

    assert_non_null(seen);
    while (shuffle_next(&walk, &from, &to))
        for (; from < to; from++, total++) {
            moved += from != split_learned(&split, total);
            assert_int_equal(seen[from]++, 0);
        }
    for (size_t i = 0; i < held; i++)
        assert_int_equal(seen[split_held(&split, i)], 0);
    for (size_t i = 0; i < order.runs; i++)
        differ += shuffle_run(&order, i) != shuffle_run(&next, i);
    assert_int_equal(total, n);
    assert_true(n / run < 16 || (moved > n / 2 && differ > order.runs / 2));
    free(seen);
}

static void every_epoch_has_each_row_once_in_another_order(void **state)
{
    static const size_t sizes[] = {1, 2, 7, 64, 1000, 4097};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t run = 1; run <= 100; run = 3 * run + 1)
            for (size_t held = 0; held <= sizes[i] / 3; held += 1 + sizes[i] / 7)
                check_order(sizes[i], run, held);
}

/* Parts of the epoch that threads take are those of the whole. */
static void a_part_of_the_order_is_that_of_the_whole(void **state)
{
    struct split split = split_make(1000, 100, 1, 3);
    struct shuffle order = shuffle_make(900, 7, 5, 2);
    size_t all[900], n = 0, from, to;

    (void)state;
    for (struct shuffle_walk w = {.split = &split, .order = &order, .end = 900};
         shuffle_next(&w, &from, &to);)
        for (; from < to; from++)
            all[n++] = from;
    assert_int_equal(n, 900);
    for (size_t begin = 0; begin < 900; begin += 11) {
        struct shuffle_walk w = {.split = &split, .order = &order, .i = begin,
                                 .end = begin + 11 < 900 ? begin + 11 : 900};

        for (size_t i = begin; shuffle_next(&w, &from, &to);)
            for (; from < to; from++, i++)
                assert_int_equal(from, all[i]);
    }
}

/* ---- rows ---- */

/* Rows of two labels that 20 features tell apart, some of them wrongly; one label after the other
 * where they are sorted. */
static shoal_clicks *make_rows(size_t n, bool sorted, double right, uint64_t seed)
{
    struct bytes text = {0};
    struct rng r = {.seed = seed};
    shoal_clicks *rows;

    for (size_t i = 0; i < n; i++) {
        unsigned label = (unsigned)(sorted ? i >= n / 2 : i % 2);

        assert_int_equal(bytes_print(&text, "%u", label), SHOAL_OK);
        for (unsigned k = 0; k < 20; k++)
            if (rng_unit(&r) < 0.3) {
                unsigned side = rng_unit(&r) < right ? label : 1 - label;

                assert_int_equal(bytes_print(&text, " %u:1", 2 * k + side + 1), SHOAL_OK);
            }
        assert_int_equal(bytes_print(&text, "\n"), SHOAL_OK);
    }
    assert_int_equal(bytes_add(&text, "", 1), SHOAL_OK);
    rows = read_rows(text.at, 16);
    bytes_fini(&text);
    return rows;
}

static double accuracy_of(const shoal_clicks *rows, const shoal_clicks *held, bool in_order,
                          enum shoal_optimizer optimizer)
{
    struct train_opts o = logreg_opts(optimizer);
    struct shoal_train_stats stats;

    o.in_order = in_order;
    logreg_close(train_rows(rows, held, &o, &stats));
    return validation(&stats.figures, "accuracy");
}

static void rows_in_the_order_of_their_labels_are_learned_as_well(void **state)
{
    shoal_clicks *mixed = make_rows(20000, false, 0.6, 1), *sorted = make_rows(20000, true, 0.6, 1);
    shoal_clicks *held = make_rows(5000, false, 0.6, 2);

    (void)state;
    for (int o = OPTIMIZER_SGD; o <= OPTIMIZER_FTRL; o++) {
        double best = accuracy_of(mixed, held, false, o), shuffled = accuracy_of(sorted, held, false, o);
        double as_it_stands = accuracy_of(sorted, held, true, o);

        print_message("optimizer %d: %.4f, sorted %.4f, not shuffled %.4f\n", o, best, shuffled,
                      as_it_stands);
        assert_near(shuffled, best, 0.01);
        assert_true(as_it_stands < best - 0.01 || o != OPTIMIZER_SGD);
    }
    shoal_clicks_close(mixed);
    shoal_clicks_close(sorted);
    shoal_clicks_close(held);
}

static struct shoal_train_plan plan_of(const shoal_clicks *rows)
{
    struct train_opts o = task_defaults("logreg");
    struct shoal_sources data = {.rows = rows};
    struct shoal_train_plan plan;

    assert_int_equal(run_plan(task_find("logreg"), &o, &data, &plan), SHOAL_OK);
    return plan;
}

static void few_rows_are_learned_in_more_epochs(void **state)
{
    shoal_clicks *few = make_rows(100, false, 0.8, 1), *some = make_rows(20000, false, 0.8, 1);
    struct shoal_train_plan a = plan_of(few), b = plan_of(some);

    (void)state;
    assert_true(a.chosen && b.chosen);
    assert_int_equal(a.epochs, 500);
    assert_int_equal(b.epochs, 125);
    assert_int_equal(a.held_out, 10);
    assert_int_equal(a.early_stop, 50);
    assert_int_equal(b.early_stop, 12);
    shoal_clicks_close(few);
    shoal_clicks_close(some);
}

static void the_best_epoch_is_kept_and_then_all_rows_are_learned(void **state)
{
    shoal_clicks *rows = make_rows(1000, false, 0.6, 1);
    struct train_opts o = task_defaults("logreg");
    struct shoal_train_stats stats = {0};
    shoal_logreg *model = NULL;

    (void)state;
    o.lr = 0.5; /* learns by heart soon */
    o.threads = 1;
    assert_int_equal(train_logreg(&model, rows, NULL, &o, &stats), SHOAL_OK);
    assert_true(stats.enough && stats.best_epoch > 0 && stats.best_epoch < stats.epochs);
    assert_int_equal(stats.again, 1000);
    assert_int_equal(stats.again_epochs, stats.best_epoch);
    logreg_close(model);
    shoal_clicks_close(rows);
}

static void what_is_worse_than_the_shares_of_the_labels_is_no_model(void **state)
{
    shoal_clicks *rows = make_rows(1000, false, 0.5, 1);
    struct train_opts o = logreg_opts(OPTIMIZER_SGD);
    shoal_logreg *model = NULL;

    (void)state;
    o.lr = 3;
    o.schedule = SHOAL_CONSTANT;
    o.epochs = 3;
    assert_sentence(train_logreg(&model, rows, NULL, &o, NULL), SHOAL_EDIVERGE,
                    "lower --lr (3), to 0.3 say");
    assert_null(model);
    shoal_clicks_close(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_epoch_has_each_row_once_in_another_order),
        cmocka_unit_test(a_part_of_the_order_is_that_of_the_whole),
        cmocka_unit_test(rows_in_the_order_of_their_labels_are_learned_as_well),
        cmocka_unit_test(few_rows_are_learned_in_more_epochs),
        cmocka_unit_test(the_best_epoch_is_kept_and_then_all_rows_are_learned),
        cmocka_unit_test(what_is_worse_than_the_shares_of_the_labels_is_no_model),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
