/* What may come from another rank: bytes drawn at random, in shapes that messages
 * have or nearly have. tests/fuzz/fuzz_messages.c looks for them with more patience. */
#include "../fuzz/messages.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

enum { TRIES = 4000, LENGTH = 300 };

static void any_bytes_are_taken_or_refused(void **state)
{
    unsigned refused = 0;

    (void)state;
    for (uint64_t i = 0; i < TRIES; i++) {
        uint8_t data[LENGTH];
        size_t size = rng_at(1, i, 0) % LENGTH;

        for (size_t j = 0; j < size; j++)
            data[j] = (uint8_t)rng_at(1, i, j + 1);
        refused += messages_try(data, size);
    }
    assert_in_range(refused, TRIES / 10, TRIES - TRIES / 10);
}

/* ---- messages that are wrong in one way only ---- */

struct pull {
    struct head head;
    uint32_t places[2];
};

static shoal_status give_pull(struct store *s, struct pull p)
{
    return store_pull_handle(s, 0, &p, sizeof p);
}

static void a_pull_names_rows_that_are_there_in_their_order(void **state)
{
    struct store_opts o = messages_way(16);
    struct messages m;

    (void)state;
    assert_int_equal(messages_open(&m, &o), SHOAL_OK);
    assert_int_equal(give_pull(m.store, (struct pull){{.count = 2}, {1, 8}}), SHOAL_OK);
    assert_int_equal(give_pull(m.store, (struct pull){{.count = 2}, {8, 1}}), SHOAL_EFORMAT);
    assert_int_equal(give_pull(m.store, (struct pull){{.count = 2}, {1, 1}}), SHOAL_EFORMAT);
    assert_int_equal(give_pull(m.store, (struct pull){{.count = 2}, {1, 9}}), SHOAL_EFORMAT);
    assert_int_equal(give_pull(m.store, (struct pull){{.count = 1}, {1, 2}}), SHOAL_EFORMAT);
    assert_int_equal(give_pull(m.store, (struct pull){{.table = 2, .count = 2}, {1, 2}}),
                     SHOAL_EFORMAT);
    messages_close(&m);
}

struct back {
    struct head head;
    float rows[2][MESSAGES_LONG];
};

static void only_what_was_lent_comes_back_and_once(void **state)
{
    struct store_opts o = messages_way(16);
    struct messages m;
    struct back b = {.head.count = 2}, other = {.head.count = 1};

    (void)state;
    assert_int_equal(messages_open(&m, &o), SHOAL_OK);
    assert_int_equal(store_back_handle(m.store, 0, &b, sizeof b), SHOAL_EFORMAT);
    assert_int_equal(give_pull(m.store, (struct pull){{.count = 2}, {1, 8}}), SHOAL_OK);
    assert_int_equal(store_back_handle(m.store, 0, &other, sizeof other - sizeof other.rows[0]),
                     SHOAL_EFORMAT);
    assert_int_equal(store_back_handle(m.store, 0, &b, sizeof b - 4), SHOAL_EFORMAT);
    assert_int_equal(store_back_handle(m.store, 0, &b, sizeof b), SHOAL_OK);
    assert_int_equal(store_back_handle(m.store, 0, &b, sizeof b), SHOAL_EFORMAT);
    messages_close(&m);
}

struct push {
    struct head head;
    float row[MESSAGES_LONG];
    uint32_t place;
};

struct push_short {
    struct head head;
    float row[MESSAGES_SHORT];
    uint32_t place;
};

/* Rows are read into one place, and folded with all that stands up to the next
 * multiple of a vector's length. */
static void a_long_row_leaves_nothing_to_a_short_one(void **state)
{
    struct store_opts o = messages_way(0);
    struct messages m;
    struct push l = {.head.count = 1};
    struct push_short s = {.head = {.table = 1, .count = 1}, .row = {0, 1, 0}};
    float *row;

    (void)state;
    assert_int_equal(messages_open(&m, &o), SHOAL_OK);
    m.store->kernel = &kernel_scalar;
    if (kernel_find(&m.store->kernel, NULL) != SHOAL_OK)
        fail();
    row = home_row(&m.store->shards[1], 0);
    row[0] = 1; /* another rank's: what it moved is not in what this one knows */
    m.store->shards[1].pushes[0] = 1;
    for (size_t j = 0; j < MESSAGES_LONG; j++)
        l.row[j] = 100;
    assert_int_equal(store_push_handle(m.store, 0, &l, sizeof l), SHOAL_OK);
    assert_int_equal(store_push_handle(m.store, 0, &s, sizeof s), SHOAL_OK);
    assert_float_equal(row[0], 1, 1e-6); /* at right angles: both remain */
    assert_float_equal(row[1], 1, 1e-6);
    for (size_t j = MESSAGES_SHORT; j < m.tables[1].stride; j++)
        assert_float_equal(row[j], 0, 0);
    messages_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_bytes_are_taken_or_refused),
        cmocka_unit_test(a_pull_names_rows_that_are_there_in_their_order),
        cmocka_unit_test(only_what_was_lent_comes_back_and_once),
        cmocka_unit_test(a_long_row_leaves_nothing_to_a_short_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
