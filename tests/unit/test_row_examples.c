/* Rows that are kept as text: which, how many, and what becomes of a section that is damaged. */
#include <shoal.h>

#include <setjmp.h>
#include <stdarg.h>

#include "scratch.h"
#include "clicks.h"

/* Numbered rows of libsvm, `n` of them. */
static struct bytes numbered(unsigned n)
{
    struct bytes b = {0};
    char line[32];

    for (unsigned i = 0; i < n; i++) {
        snprintf(line, sizeof line, "%u 1:%u\n", i % 2, i + 1);
        text_add_str(&b, line);
    }
    return b;
}

static shoal_clicks *read_kept(const struct bytes *text, unsigned examples, unsigned threads)
{
    struct shoal_clicks_opts opts = shoal_clicks_default();
    const char *path = scratch_put("rows.txt", text->at, text->len);
    shoal_clicks *rows = NULL;

    opts.bits = 10;
    opts.examples = examples;
    opts.threads = threads;
    if (shoal_clicks_read(&rows, &path, 1, &opts, NULL) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return rows;
}

static void none_are_kept_unless_asked_for(void **state)
{
    struct bytes text = numbered(50);
    shoal_clicks *rows = read_kept(&text, 0, 1);

    (void)state;
    assert_int_equal(clicks_examples(rows)->n, 0);
    shoal_clicks_close(rows);
    bytes_fini(&text);
}

static void as_many_are_kept_as_there_are(void **state)
{
    struct bytes text = numbered(5);
    shoal_clicks *rows = read_kept(&text, 7, 1);

    (void)state;
    assert_int_equal(clicks_examples(rows)->n, 5);
    assert_string_equal(row_example(clicks_examples(rows), 4), "0 1:5");
    shoal_clicks_close(rows);
    bytes_fini(&text);
}

/* From the whole file, which has several blocks, and whoever reads them. */
static void they_are_drawn_from_all_rows_whatever_the_threads(void **state)
{
    enum { ROWS = 100000, KEPT = 100 };
    struct bytes text = numbered(ROWS);
    shoal_clicks *rows = read_kept(&text, KEPT, 1), *others = read_kept(&text, KEPT, 4);
    const struct row_examples *e = clicks_examples(rows), *f = clicks_examples(others);
    double mean = 0;

    (void)state;
    assert_int_equal(e->n, KEPT);
    assert_int_equal(e->text.len, f->text.len);
    assert_memory_equal(e->text.at, f->text.at, e->text.len);
    for (unsigned i = 0; i < KEPT; i++)
        mean += (double)strtoul(row_example(e, i) + 4, NULL, 10) / KEPT;
    assert_true(mean > 0.4 * ROWS && mean < 0.6 * ROWS); /* 3.5 standard errors */
    shoal_clicks_close(rows);
    shoal_clicks_close(others);
    bytes_fini(&text);
}

static void more_than_a_hundred_are_refused(void **state)
{
    struct shoal_clicks_opts opts = shoal_clicks_default();

    (void)state;
    opts.examples = SHOAL_CLICKS_EXAMPLES + 1;
    assert_int_equal(shoal_clicks_check(&opts), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "clicks: examples is 101, want at most 100");
}

static void encoded_rows_keep_them(void **state)
{
    struct shoal_clicks_opts opts = shoal_clicks_default();
    struct bytes text = numbered(20);
    const char *path = scratch_put("rows.txt", text.at, text.len), *out = scratch_path("rows.shoal");
    shoal_clicks *rows = NULL;

    (void)state;
    opts.bits = 10;
    opts.examples = 3;
    assert_int_equal(shoal_clicks_encode(out, &path, 1, &opts, NULL), SHOAL_OK);
    assert_int_equal(shoal_clicks_open(&rows, out), SHOAL_OK);
    assert_int_equal(clicks_examples(rows)->n, 3);
    shoal_clicks_close(rows);
    bytes_fini(&text);
}

/* ---- sections ---- */

static shoal_status load_section(const void *data, size_t len, unsigned *n)
{
    const char *path = scratch_path("section.shoal");
    struct container_writer *w = NULL;
    struct container *c = NULL;
    struct row_examples e = {.n = 0};
    shoal_status st;

    assert_int_equal(container_create(&w, path), SHOAL_OK);
    assert_int_equal(container_end(w, container_put(w, "examples", data, len)), SHOAL_OK);
    assert_int_equal(container_open(&c, path), SHOAL_OK);
    st = row_examples_load(&e, c);
    *n = e.n;
    row_examples_fini(&e);
    container_close(c);
    return st;
}

static void a_section_that_is_damaged_is_refused(void **state)
{
    static char many[2 * (SHOAL_CLICKS_EXAMPLES + 1)], large[EXAMPLES_BYTES + 1];
    unsigned n;

    (void)state;
    memset(large, 'a', sizeof large - 1);
    for (size_t i = 0; i < sizeof many; i += 2)
        many[i] = 'a';
    assert_int_equal(load_section("a\0bc", 5, &n), SHOAL_OK);
    assert_int_equal(n, 2);
    assert_int_equal(load_section(many, sizeof many - 2, &n), SHOAL_OK);
    assert_int_equal(n, SHOAL_CLICKS_EXAMPLES);
    assert_int_equal(load_section(large + 1, sizeof large - 1, &n), SHOAL_OK);
    assert_int_equal(load_section("", 0, &n), SHOAL_EFORMAT);
    assert_int_equal(load_section("a\0bc", 4, &n), SHOAL_EFORMAT);
    assert_int_equal(load_section("a\0\0b", 5, &n), SHOAL_EFORMAT);
    assert_int_equal(load_section(many, sizeof many, &n), SHOAL_EFORMAT);
    assert_int_equal(load_section(large, sizeof large, &n), SHOAL_EFORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_are_kept_unless_asked_for),
        cmocka_unit_test(as_many_are_kept_as_there_are),
        cmocka_unit_test(they_are_drawn_from_all_rows_whatever_the_threads),
        cmocka_unit_test(more_than_a_hundred_are_refused),
        cmocka_unit_test(encoded_rows_keep_them),
        cmocka_unit_test(a_section_that_is_damaged_is_refused),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
