/* Views, and how what they learned apart comes together. */
#include "store/dense.h"
#include "store/store.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

enum { ROWS = 4, DIM = 20 };

static struct table table;

static int setup(void **state)
{
    (void)state;
    return table_init(&table, "t", ROWS, DIM) != SHOAL_OK;
}

static int teardown(void **state)
{
    (void)state;
    table_fini(&table);
    return 0;
}

/* Another worker, as it may come between the two times that fold reads a row. */
static void fold_disturbed(float *row, const float *mine, const float *base, size_t dim, float s)
{
    for (size_t i = 0; i < ROWS * table.stride; i++)
        table.at[i] += 0.5f;
    kernel_scalar.fold(row, mine, base, dim, s);
}

static void a_hot_row_is_folded_apart_from_the_table_where_others_write(void **state)
{
    struct kernel kernel = kernel_scalar;
    struct view v;

    (void)state;
    kernel.fold = fold_disturbed;
    assert_int_equal(view_init_shared(&v, &table, 1), SHOAL_OK);
    for (size_t j = 0; j < DIM; j++) {
        table.at[j] = 1e-9f;        /* what others did: nearly nothing */
        view_row(&v, 0)[j] = 0.01f; /* what we did */
    }
    view_sync(&v, &kernel);
    for (size_t j = 0; j < DIM; j++) {
        assert_true(table.at[j] > 0 && table.at[j] < 0.02f);
        assert_true(view_row(&v, 0)[j] == table.at[j]);
    }
    view_fini(&v);
}

static void a_row_that_nobody_else_moved_goes_home_as_it_is(void **state)
{
    struct view v;

    (void)state;
    assert_int_equal(view_init_shared(&v, &table, ROWS), SHOAL_OK);
    for (size_t j = 0; j < DIM; j++)
        view_row(&v, 3)[j] = (float)j;
    view_sync(&v, &kernel_scalar);
    for (size_t j = 0; j < DIM; j++)
        assert_true(table.at[3 * table.stride + j] == (float)j);
    view_fini(&v);
}

/* What the owner merged would be averaged with what this thread did in the same direction. */
static void what_other_ranks_did_to_a_hot_row_is_not_folded_again(void **state)
{
    float *news = mem_map(ROWS * table.stride * sizeof *news);
    struct view v;

    (void)state;
    assert_int_equal(view_init_shared(&v, &table, ROWS), SHOAL_OK);
    assert_int_equal(view_hear(&v, news), SHOAL_OK);
    for (unsigned round = 1; round <= 3; round++) {
        for (size_t j = 0; j < DIM; j++) {
            news[j] += 4; /* comes to the table from elsewhere */
            table.at[j] += 4;
            view_row(&v, 0)[j] += 2;
        }
        view_sync(&v, &kernel_scalar);
        for (size_t j = 0; j < DIM; j++)
            assert_true(table.at[j] == 6 * (float)round);
    }
    view_fini(&v);
    mem_unmap(news, ROWS * table.stride * sizeof *news);
}

static void hot_rows_count_as_touched_when_their_change_is_in_the_table(void **state)
{
    uint8_t touches[ROWS] = {0};
    struct view v;

    (void)state;
    assert_int_equal(view_init_shared(&v, &table, ROWS), SHOAL_OK);
    v.touches = touches;
    view_row(&v, 3)[0] = 1;
    view_sync(&v, &kernel_scalar);
    for (size_t row = 0; row < ROWS; row++)
        assert_int_equal(touches[row], row == 3 ? VIEW_HOT_TOUCHES : 0);
    view_fini(&v);
}

/* ---- optimizers ---- */

enum { FLOATS = 70 };

struct optimized {
    float p[FLOATS], state[DENSE_STATES][FLOATS];
};

/* As every x86-64 does. */
static bool flushes(void)
{
    unsigned mode = floats_flush();
    bool yes = floats_mode() != 0;

    floats_set(mode);
    return yes;
}

/* A gradient of every size at first, then none or nearly none, as of a unit that died. */
static void decay_long(const struct kernel *kernel, enum optim_kind kind, struct optimized *x)
{
    const struct dense_range whole = {0, FLOATS, DENSE_STEP};
    struct dense_opts o = {.optim = {.kind = kind, .momentum = 0.9f, .beta1 = 0.9f,
                                     .beta2 = 0.9f, .epsilon = 1e-8f}};
    struct table tables[1 + DENSE_STATES];
    float g[FLOATS];
    struct dense *d;

    memset(x, 0, sizeof *x);
    assert_int_equal(dense_open(&d, NULL, x->p, FLOATS, &whole, 1, kernel, &o), SHOAL_OK);
    for (uint64_t t = 1; t <= 1000; t++) {
        size_t n;

        for (int i = 0; i < FLOATS; i++)
            g[i] = t == 1 ? ldexpf(1, -i) : i % 3 ? 0 : ldexpf(1, -100 - i);
        dense_begin(d, g, 0.01f, false);
        assert_int_equal(dense_finish(d), SHOAL_OK);
        n = dense_tables(d, tables);
        for (size_t k = 1; k < n; k++)
            memcpy(x->state[k - 1], tables[k].at, sizeof x->state[k - 1]);
        for (int i = 0; i < FLOATS; i++)
            for (int k = 0; k < DENSE_STATES; k++)
                assert_true(fpclassify(x->state[k][i]) != FP_SUBNORMAL);
    }
    dense_close(d);
}

static void moments_that_fade_become_0_on_every_instruction_set(void **state)
{
    static const char *const names[] = {"scalar", "avx2", "avx512"};
    struct optimized found, vectors;

    (void)state;
    if (!flushes())
        skip();
    for (enum optim_kind kind = OPTIM_MOMENTUM; kind <= OPTIM_ADAM; kind++)
        for (unsigned i = 0; i < 3; i++) {
            const struct kernel *kernel;

            if (kernel_find(&kernel, names[i]) != SHOAL_OK)
                continue;
            decay_long(kernel, kind, &found);
            for (int j = 0; j < FLOATS; j++)
                if (j % 3 != 0)
                    assert_true(found.state[0][j] == 0 && found.state[1][j] == 0);
            if (i > 1) /* the scalar kernels round between product and sum */
                assert_memory_equal(&found, &vectors, sizeof found);
            vectors = found;
        }
}

/* ---- who keeps which row ---- */

/* Every row has one owner and one place, and is found there. */
static void assert_dealt(const struct deal *d, unsigned ranks)
{
    size_t all = 0;

    for (unsigned r = 0; r < ranks; r++) {
        all += deal_count(d, r);
        for (uint32_t i = 0; i < deal_count(d, r); i++) {
            uint32_t row = deal_row(d, r, i);

            assert_int_equal(deal_owner(d, row), r);
            assert_int_equal(deal_place(d, row), i);
        }
    }
    assert_int_equal(all, d->rows);
}

static void every_row_has_one_owner_and_a_place_among_its_rows(void **state)
{
    static const size_t rows[] = {1, 2, 7, 131071, 131072, 131073, 300001};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (unsigned first = 0; first < 3; first++)
            for (unsigned owners = 1; owners < 6; owners++) {
                struct deal d;

                assert_int_equal(deal_init(&d, rows[i], first, owners, NULL), SHOAL_OK);
                assert_dealt(&d, first + owners);
                assert_true(deal_count(&d, first) - deal_count(&d, first + owners - 1) <= 2);
                deal_fini(&d);
            }
}

static void owners_get_rows_of_the_same_traffic(void **state)
{
    enum { OWNERS = 3, MANY = 200000 };
    float *traffic = calloc(MANY, sizeof *traffic);
    double load[OWNERS] = {0}, all = 0;
    struct deal d;

    (void)state;
    for (int i = 0; i < MANY; i++)
        traffic[i] = 1 / ((float)i + 10);
    assert_int_equal(deal_init(&d, MANY, 0, OWNERS, traffic), SHOAL_OK);
    for (uint32_t i = 0; i < MANY; i++) {
        load[deal_owner(&d, i)] += (double)traffic[i];
        all += (double)traffic[i];
    }
    for (int r = 0; r < OWNERS; r++)
        assert_true(fabs(load[r] - all / OWNERS) < 1e-4 * all);
    deal_fini(&d);
    free(traffic);
}

/* Of 8 ranks of which all own rows; so many bytes a row beside the rank's replica. */
static double bytes_beside(size_t rows, size_t width, size_t stride, const struct store_opts *o)
{
    struct table t = {.name = "t", .rows = rows, .width = width, .stride = stride};

    return (double)store_bytes(&t, 1, 8, o) / (double)rows;
}

/* A touch, a flight, a count of pushes and of those that each worker knows; what workers have seen
 * of owned rows; and where rows are asked for a base, and when they were heard of. */
static void large_models_cost_what_their_rows_say(void **state)
{
    struct store_opts clicks = {.policy = SHOAL_ASYNC, .wire = SHOAL_WIRE_F32};
    struct store_opts words = {.policy = SHOAL_ASYNC, .wire = SHOAL_WIRE_INT4, .fresh = {4}};
    double feature = bytes_beside(1000000000, 2, 2, &clicks);
    double word = bytes_beside(3000000, 300, table_stride(300), &words);

    (void)state;
    assert_true(feature >= 2 + 4.5 + 8 && feature < 2 + 4.5 + 8 + 0.01);
    assert_true(word >= 2 * 304 * 4 + 4 + 4.5 && word < 2 * 304 * 4 + 4 + 4.5 + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_hot_row_is_folded_apart_from_the_table_where_others_write,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_other_ranks_did_to_a_hot_row_is_not_folded_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(hot_rows_count_as_touched_when_their_change_is_in_the_table,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_row_that_nobody_else_moved_goes_home_as_it_is, setup,
                                        teardown),
        cmocka_unit_test(moments_that_fade_become_0_on_every_instruction_set),
        cmocka_unit_test(every_row_has_one_owner_and_a_place_among_its_rows),
        cmocka_unit_test(owners_get_rows_of_the_same_traffic),
        cmocka_unit_test(large_models_cost_what_their_rows_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
