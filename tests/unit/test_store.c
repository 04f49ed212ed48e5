/* Views, and how what they learned apart comes together. */
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_hot_row_is_folded_apart_from_the_table_where_others_write,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_row_that_nobody_else_moved_goes_home_as_it_is, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
