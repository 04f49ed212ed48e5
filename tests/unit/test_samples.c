/* Samples: CSV, .npy and IDX become inputs with classes or targets, or are refused
 * with the place of what is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "samples/samples.h"
#include "scratch.h"

#include <math.h>

static shoal_samples *open_as(const char *path, struct shoal_samples_opts opts)
{
    shoal_samples *s = NULL;
    shoal_status st = shoal_samples_open(&s, path, &opts);

    if (st != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return s;
}

static shoal_samples *open_text(const char *text)
{
    return open_as(scratch_put("a.csv", text, strlen(text)), shoal_samples_default());
}

static void refused_as(const char *text, struct shoal_samples_opts opts, const char *because)
{
    shoal_samples *s = (shoal_samples *)1;
    const char *path = scratch_put("bad.csv", text, strlen(text));

    assert_int_not_equal(shoal_samples_open(&s, path, &opts), SHOAL_OK);
    assert_null(s);
    if (!strstr(shoal_error(), because) || !strstr(shoal_error(), "bad.csv"))
        fail_msg("'%s' does not say '%s'", shoal_error(), because);
}

static void refused(const char *text, const char *because)
{
    refused_as(text, shoal_samples_default(), because);
}

/* ---- CSV ---- */

static void the_last_column_is_the_class(void **state)
{
    shoal_samples *s = open_text("x,y,class\r\n1,2,0\r\n 3.5 ,\"-4e1\",2\n\n5,6,1");

    (void)state;
    assert_int_equal(s->n, 3);
    assert_int_equal(s->inputs, 2);
    assert_int_equal(s->classes, 3);
    assert_true(s->x[2] == 3.5f && s->x[3] == -40.0f && s->x[5] == 6.0f);
    assert_int_equal(s->label[1], 2);
    shoal_samples_close(s);
}

static void any_column_may_be_the_class_or_targets(void **state)
{
    struct shoal_samples_opts opts = shoal_samples_default();
    const char *path = scratch_put("a.csv", "1,20,30,4\n0,50,60,7\n", 20);
    shoal_samples *s;

    (void)state;
    opts.table.label = "1";
    s = open_as(path, opts);
    assert_int_equal(s->inputs, 3);
    assert_int_equal(s->label[0], 1);
    assert_true(s->x[3] == 50);
    shoal_samples_close(s);
    opts = (struct shoal_samples_opts){
        .task = SHOAL_REGRESS, .table = {.label = "2"}, .targets = 2};
    s = open_as(path, opts);
    assert_int_equal(s->inputs, 2);
    assert_int_equal(s->targets, 2);
    assert_true(s->y[2] == 50 && s->y[3] == 60 && s->x[2] == 0 && s->x[3] == 7);
    shoal_samples_close(s);
    opts = (struct shoal_samples_opts){.task = SHOAL_INPUTS, .numbers = true};
    s = open_as(path, opts);
    assert_int_equal(s->inputs, 4);
    shoal_samples_close(s);
}

static void what_is_wrong_with_text_is_named_by_line(void **state)
{
    struct shoal_samples_opts inputs = {.task = SHOAL_INPUTS, .numbers = true};
    struct shoal_samples_opts named = {.table = {.label = "z"}};

    (void)state;
    refused("x,y\n1,2,0\n", ":2: found 3 columns, want 2 as before");
    refused("1,2,0\n\n3,4\n", ":3: found 2 columns, want 3 as before");
    refused("1,2,0\n3,4,1\n5,6,\n", ":3: found no label in column \"column3\", want one, or --label "
                                     "COLUMN for another");
    refused("a,b,y\n1,2,x\n3,4,NA\n5,6,z\n", ":3: found no label in column \"y\", want one, or --label "
                                             "COLUMN for another");
    refused_as("a,y\n1,5\n2,1e40\n", (struct shoal_samples_opts){.task = SHOAL_REGRESS, .targets = 1},
               ":3: column \"y\": found \"1e40\", want a number to predict, below 1e38");
    refused("a,b\n", ": holds no row");
    refused("", ": found no line, want rows");
    refused("1\n2\n", ": found no column to learn from beside the label");
    refused_as("1,2\n", (struct shoal_samples_opts){.table = {.label = "8"}},
               ": found no column \"8\" for --label, want one of column1, column2");
    refused_as("x,y\n1,2\n", named, ": found no column \"z\" for --label, want one of x, y");
    refused_as("1,x\n", inputs, "line 1, column 2: found 'x'");
}

/* ---- arrays ---- */

static const char *put_ordered(const char *name, const char *descr, bool by_columns,
                               const char *shape, const void *data, size_t len)
{
    char head[128];
    struct bytes b = {0};
    const char *path;
    int n = snprintf(head + 10, sizeof head - 10,
                     "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr,
                     by_columns ? "True" : "False", shape);

    memcpy(head, "\x93NUMPY\x01\x00", 8);
    head[8] = (char)n;
    head[9] = 0;
    assert_int_equal(bytes_add(&b, head, 10 + (size_t)n), SHOAL_OK);
    assert_int_equal(bytes_add(&b, data, len), SHOAL_OK);
    path = scratch_put(name, b.at, b.len);
    bytes_fini(&b);
    return path;
}

static const char *put_npy(const char *name, const char *descr, const char *shape, const void *data,
                           size_t len)
{
    return put_ordered(name, descr, false, shape, data, len);
}

/* The numbers -3, 200 and 0.5, as far as a type has them, in both orders of bytes. */
static void numbers_of_numpy_are_read_in_either_order_of_bytes(void **state)
{
    static const struct {
        const char *type, *bits; /* big-endian, of each number */
        size_t size;
        double want[3];
    } all[] = {
        {"i1", "\xfd\x38\0", 1, {-3, 56, 0}},
        {"u1", "\xfd\xc8\0", 1, {253, 200, 0}},
        {"i2", "\xff\xfd\0\xc8\0\0", 2, {-3, 200, 0}},
        {"u2", "\xff\xfd\0\xc8\0\0", 2, {65533, 200, 0}},
        {"i4", "\xff\xff\xff\xfd\0\0\0\xc8\0\0\0\0", 4, {-3, 200, 0}},
        {"u4", "\xff\xff\xff\xfd\0\0\0\xc8\0\0\0\0", 4, {4294967293.0, 200, 0}},
        {"i8",
         "\xff\xff\xff\xff\xff\xff\xff\xfd\0\0\0\0\0\0\0\xc8\0\0\0\0\0\0\0\0",
         8,
         {-3, 200, 0}},
        {"u8", "\x40\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xc8\0\0\0\0\0\0\0\0", 8, {0x1p62, 200, 0}},
        {"f2", "\xc2\0\x5a\x40\0\1", 2, {-3, 200, 0x1p-24}},
        {"f4", "\xc0\x40\0\0\x43\x48\0\0\x3f\0\0\0", 4, {-3, 200, 0.5}},
        {"f8", "\xc0\x08\0\0\0\0\0\0\x40\x69\0\0\0\0\0\0\x3f\xe0\0\0\0\0\0\0", 8, {-3, 200, 0.5}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (unsigned big = 0; big < 2; big++) {
            size_t size = all[i].size, len;
            char data[24], descr[8], *file;
            struct array a;

            for (size_t k = 0; k < 3 * size; k++)
                data[k] = all[i].bits[big ? k : k / size * size + size - 1 - k % size];
            snprintf(descr, sizeof descr, "%c%s", size == 1 ? '|' : big ? '>' : '<', all[i].type);
            put_npy("a.npy", descr, "(1, 3)", data, 3 * size);
            assert_int_equal(stream_slurp(&file, &len, scratch_path("a.npy"), 1000), SHOAL_OK);
            assert_int_equal(npy_open(&a, "a.npy", file, len), SHOAL_OK);
            for (size_t k = 0; k < 3; k++)
                assert_true(array_number(&a, 0, k) == all[i].want[k]);
            free(file);
        }
}

/* Number (i, j, k, l) of 2 x 3 x 4 x 5 is 1000 i + 100 j + 10 k + l, wherever it lies. */
static void fortrans_order_is_read_in_every_dimension(void **state)
{
    int16_t data[120];
    char *file;
    size_t len;
    struct array a;

    (void)state;
    for (size_t at = 0; at < 120; at++)
        data[at] = (int16_t)(at % 2 * 1000 + at / 2 % 3 * 100 + at / 6 % 4 * 10 + at / 24);
    put_ordered("a.npy", "<i2", true, "(2, 3, 4, 5)", data, sizeof data);
    assert_int_equal(stream_slurp(&file, &len, scratch_path("a.npy"), 1000), SHOAL_OK);
    assert_int_equal(npy_open(&a, "a.npy", file, len), SHOAL_OK);
    assert_int_equal(a.width, 60);
    for (size_t row = 0; row < 2; row++)
        for (size_t i = 0; i < 60; i++)
            assert_true(array_number(&a, row, i) ==
                        (double)(row * 1000 + i / 20 * 100 + i / 5 % 4 * 10 + i % 5));
    free(file);
}

static void pictures_in_fortrans_order_are_the_same_samples(void **state)
{
    static const uint8_t by_rows[] = {1, 2, 3, 4, 5, 6}, by_columns[] = {1, 4, 2, 5, 3, 6};
    struct shoal_samples_opts opts = {.task = SHOAL_INPUTS};
    shoal_samples *a = open_as(put_npy("a.npy", "|u1", "(2, 3)", by_rows, 6), opts);
    shoal_samples *b = open_as(put_ordered("b.npy", "|u1", true, "(2, 3)", by_columns, 6), opts);

    (void)state;
    assert_memory_equal(a->bytes, by_rows, 6);
    assert_memory_equal(b->bytes, by_rows, 6);
    shoal_samples_close(a);
    shoal_samples_close(b);
}

static void arrays_of_numpy_are_read_in_every_type(void **state)
{
    const float f4[] = {1, 2, 0, 3, 4, 1};
    const double f8[] = {1, 2, 0, 3, 4, 1};
    const int64_t i8[] = {1, 2, 0, 3, 4, 1};
    const int32_t i4[] = {1, 2, 0, 3, 4, 1};
    const uint8_t u1[] = {1, 2, 0, 3, 4, 1};
    const struct {
        const char *descr;
        const void *data;
        size_t len;
    } all[] = {{"<f4", f4, sizeof f4}, {"<f8", f8, sizeof f8}, {"<i8", i8, sizeof i8},
               {"<i4", i4, sizeof i4}, {"|u1", u1, sizeof u1}};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *path = put_npy("a.npy", all[i].descr, "(2, 3)", all[i].data, all[i].len);
        shoal_samples *s = open_as(path, shoal_samples_default());

        assert_int_equal(s->n, 2);
        assert_true(s->x[2] == 3 && s->x[3] == 4);
        assert_int_equal(s->label[1], 1);
        shoal_samples_close(s);
    }
}

static void labels_may_stand_in_a_file_of_their_own(void **state)
{
    const float x[] = {1, 2, 3, 4};
    const int64_t y[] = {1, 0};
    struct shoal_samples_opts opts = shoal_samples_default();
    shoal_samples *s;

    (void)state;
    opts.labels = put_npy("y.npy", "<i8", "(2,)", y, sizeof y);
    s = open_as(put_npy("x.npy", "<f4", "(2, 2)", x, sizeof x), opts);
    assert_int_equal(s->inputs, 2);
    assert_int_equal(s->label[0], 1);
    assert_int_equal(s->classes, 2);
    shoal_samples_close(s);
    opts.labels = put_npy("y.npy", "<i8", "(1,)", y, 8);
    assert_int_equal(shoal_samples_open(&s, scratch_path("x.npy"), &opts), SHOAL_EFORMAT);
    assert_non_null(strstr(shoal_error(), "1 rows, want 2"));
}

static void broken_arrays_are_refused(void **state)
{
    const float x[] = {1, NAN};
    struct shoal_samples_opts opts = {.task = SHOAL_INPUTS};
    shoal_samples *s;

    (void)state;
    assert_int_equal(
        shoal_samples_open(&s, put_npy("x.npy", "<f4", "(1, 2)", x, sizeof x), &opts),
        SHOAL_EFORMAT);
    assert_non_null(strstr(shoal_error(), "row 0, column 1"));
    assert_int_not_equal(
        shoal_samples_open(&s, put_npy("x.npy", "<f4", "(3, 2)", x, sizeof x), &opts), SHOAL_OK);
    assert_int_not_equal(
        shoal_samples_open(&s, put_npy("x.npy", "<c8", "(1, 1)", x, sizeof x), &opts), SHOAL_OK);
    assert_int_not_equal(shoal_samples_open(&s,
                                            put_npy("x.npy", "<f4",
                                                    "(99999999999999999999, 2)", x, sizeof x),
                                            &opts),
                         SHOAL_OK);
}

static void a_pair_of_idx_files_is_found_by_its_name(void **state)
{
    static const char images[] = "\0\0\10\3\0\0\0\2\0\0\0\1\0\0\0\2\1\377\3\4";
    static const char labels[] = "\0\0\10\1\0\0\0\2\7\0";
    const char *path = scratch_put("t-images-idx3-ubyte", images, sizeof images - 1);
    shoal_samples *s;

    (void)state;
    scratch_put("t-labels-idx1-ubyte", labels, sizeof labels - 1);
    s = open_as(path, shoal_samples_default());
    assert_int_equal(s->n, 2);
    assert_int_equal(s->inputs, 2);
    assert_int_equal(s->bytes[1], 255);
    assert_int_equal(s->classes, 2);
    assert_string_equal(shoal_samples_class(s, 1), "7");
    assert_int_equal(s->label[0], 1);
    assert_int_equal(s->sides[1], 2);
    shoal_samples_close(s);
    scratch_put("t-labels-idx1-ubyte", labels, sizeof labels - 2);
    assert_int_equal(shoal_samples_open(&s, path, &(struct shoal_samples_opts){0}), SHOAL_EFORMAT);
}

/* ---- scaling ---- */

static void scaled_columns_have_mean_0_and_variance_1(void **state)
{
    struct shoal_samples_opts plain = {.table = {.label = "4"}, .numbers = true};
    shoal_samples *s = open_as(scratch_put("a.csv", "1,5,100,0\n3,5,200,0\n5,5,900,0\n", 30), plain);
    const uint32_t ids[] = {0, 1, 2};
    struct scaling scaling;
    float row[3], sum[3] = {0}, squares[3] = {0};

    (void)state;
    assert_int_equal(scaling_of(&scaling, s, ids, 3), SHOAL_OK);
    for (uint32_t i = 0; i < 3; i++) {
        samples_row(s, i, &scaling, row);
        for (size_t j = 0; j < 3; j++) {
            sum[j] += row[j];
            squares[j] += row[j] * row[j];
        }
    }
    assert_true(fabsf(sum[0]) < 1e-5f && fabsf(sum[2]) < 1e-5f);
    assert_true(fabsf(squares[0] - 3) < 1e-4f && fabsf(squares[2] - 3) < 1e-4f);
    assert_true(squares[1] == 0); /* it never varies */
    scaling_fini(&scaling);
    shoal_samples_close(s);
}

/* ---- shapes ---- */

static void shapes_have_all_classes_and_depend_on_the_seed_alone(void **state)
{
    struct shoal_shapes_opts opts = shoal_shapes_default(SHOAL_SPIRAL);
    const char *a = scratch_path("a.csv"), *b = scratch_path("b.csv");
    struct bytes one, two;
    shoal_samples *s;

    (void)state;
    opts.samples = 100;
    assert_int_equal(shoal_shapes_write(a, &opts), SHOAL_OK);
    assert_int_equal(shoal_shapes_write(b, &opts), SHOAL_OK);
    one = scratch_get(a);
    two = scratch_get(b);
    assert_int_equal(one.len, two.len);
    assert_memory_equal(one.at, two.at, one.len);
    bytes_fini(&two);
    opts.seed = 2;
    assert_int_equal(shoal_shapes_write(b, &opts), SHOAL_OK);
    two = scratch_get(b);
    assert_true(one.len != two.len || memcmp(one.at, two.at, one.len) != 0);
    bytes_fini(&one);
    bytes_fini(&two);
    s = open_as(a, shoal_samples_default());
    assert_int_equal(s->n, 100);
    assert_int_equal(s->classes, 4);
    shoal_samples_close(s);
    opts.shape = SHOAL_BLOBS;
    opts.classes = 1;
    assert_int_equal(shoal_shapes_write(b, &opts), SHOAL_EINVAL);
}

/* ---- memory ---- */

static void memory_is_read_as_files_are(void **state)
{
    struct shoal_samples_opts opts = shoal_samples_default();
    struct shoal_memory table = {"x", "x,y,class\n1,2,0\n3,4,2\n", 22},
                        rows = {"rows", "1,2\n3,4\n", 8}, labels = {"labels", "0\n2\n", 4},
                        bad = {"bad", "1,2\n3\n", 6};
    shoal_samples *file = open_text(table.data), *one, *two;

    (void)state;
    assert_int_equal(shoal_samples_open_memory(&one, &table, NULL, &opts), SHOAL_OK);
    assert_int_equal(shoal_samples_open_memory(&two, &rows, &labels, &opts), SHOAL_OK);
    assert_true(samples_fingerprint(one) == samples_fingerprint(file));
    assert_true(samples_fingerprint(two) == samples_fingerprint(file));
    shoal_samples_close(two);
    assert_int_equal(shoal_samples_open_memory(&two, &bad, NULL, &opts), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "bad:2: found 1 columns, want 2 as before");
    assert_int_equal(
        shoal_samples_open_memory(&two, &(struct shoal_memory){.name = "none"}, NULL, &opts),
        SHOAL_EFORMAT);
    assert_null(two);
    shoal_samples_close(one);
    shoal_samples_close(file);
}

static void arrays_become_samples(void **state)
{
    float x[] = {1, 2, 3, 4}, y[] = {5, 6, 7, 8}, nan[] = {1, NAN, 3, 4};
    uint32_t label[] = {0, 2}, high[] = {0, UINT32_MAX};
    shoal_samples *s;

    (void)state;
    assert_int_equal(shoal_samples_new(&s, x, 2, 2, label, NULL, 0), SHOAL_OK);
    assert_memory_equal(s->x, x, sizeof x);
    assert_int_equal(s->label[1], 2);
    assert_int_equal(s->classes, 3);
    shoal_samples_close(s);
    assert_int_equal(shoal_samples_new(&s, x, 1, 4, NULL, y, 4), SHOAL_OK);
    assert_memory_equal(s->y, y, sizeof y);
    shoal_samples_close(s);
    assert_int_equal(shoal_samples_new(&s, x, 2, 2, NULL, NULL, 0), SHOAL_OK);
    assert_int_equal(s->inputs, 2);
    shoal_samples_close(s);
    assert_int_equal(shoal_samples_new(&s, nan, 2, 2, label, NULL, 0), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "samples: row 0, column 1 (from 0): found nan, want a "
                                       "finite number");
    assert_int_equal(shoal_samples_new(&s, x, 2, 2, high, NULL, 0), SHOAL_EFORMAT);
    assert_int_equal(shoal_samples_new(&s, x, 2, 2, label, y, 2), SHOAL_EINVAL);
    assert_int_equal(shoal_samples_new(&s, x, 2, 2, NULL, y, 0), SHOAL_EINVAL);
    assert_int_equal(shoal_samples_new(&s, x, 0, 2, label, NULL, 0), SHOAL_EINVAL);
    assert_null(s);
}

static void classes_of_arrays_get_names_and_some_without_a_sample(void **state)
{
    static const char *const names[] = {"cat", "dog", "fish", "owl"};
    float x[] = {1, 2, 3, 4};
    uint32_t label[] = {0, 2};
    shoal_samples *s;

    (void)state;
    assert_int_equal(shoal_samples_new(&s, x, 2, 2, label, NULL, 0), SHOAL_OK);
    assert_int_equal(shoal_samples_name_classes(s, names, 4), SHOAL_OK);
    assert_int_equal(shoal_samples_classes(s), 4);
    assert_string_equal(shoal_samples_class(s, 3), "owl");
    assert_int_equal(shoal_samples_name_classes(s, NULL, 5), SHOAL_OK);
    assert_null(shoal_samples_class(s, 0));
    assert_int_equal(shoal_samples_classes(s), 5);
    assert_int_equal(shoal_samples_name_classes(s, names, 2), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "samples: found 2 names of classes, want 5 to 1048576");
    shoal_samples_close(s);
    assert_int_equal(shoal_samples_new(&s, x, 2, 2, NULL, NULL, 0), SHOAL_OK);
    assert_int_equal(shoal_samples_name_classes(s, names, 4), SHOAL_EINVAL);
    shoal_samples_close(s);
}

static void those_held_out_are_drawn_and_all_stay_in_order(void **state)
{
    uint32_t *a, *b, *c;

    (void)state;
    assert_int_equal(samples_split(&a, 100, 30, 1, 7), SHOAL_OK);
    assert_int_equal(samples_split(&b, 100, 30, 2, 7), SHOAL_OK);
    assert_int_equal(samples_split(&c, 100, 0, 1, 7), SHOAL_OK);
    assert_true(memcmp(a, b, 100 * sizeof *a) != 0);
    for (uint32_t i = 0; i < 100; i++) {
        size_t times = 0;

        for (size_t k = 0; k < 100; k++)
            times += a[k] == i;
        assert_int_equal(times, 1);
        assert_int_equal(c[i], i);
        assert_true(i == 0 || i == 70 || a[i] > a[i - 1]);
    }
    free(a);
    free(b);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_column_is_the_class),
        cmocka_unit_test(any_column_may_be_the_class_or_targets),
        cmocka_unit_test(what_is_wrong_with_text_is_named_by_line),
        cmocka_unit_test(arrays_of_numpy_are_read_in_every_type),
        cmocka_unit_test(numbers_of_numpy_are_read_in_either_order_of_bytes),
        cmocka_unit_test(fortrans_order_is_read_in_every_dimension),
        cmocka_unit_test(pictures_in_fortrans_order_are_the_same_samples),
        cmocka_unit_test(labels_may_stand_in_a_file_of_their_own),
        cmocka_unit_test(broken_arrays_are_refused),
        cmocka_unit_test(a_pair_of_idx_files_is_found_by_its_name),
        cmocka_unit_test(scaled_columns_have_mean_0_and_variance_1),
        cmocka_unit_test(memory_is_read_as_files_are),
        cmocka_unit_test(arrays_become_samples),
        cmocka_unit_test(classes_of_arrays_get_names_and_some_without_a_sample),
        cmocka_unit_test(those_held_out_are_drawn_and_all_stay_in_order),
        cmocka_unit_test(shapes_have_all_classes_and_depend_on_the_seed_alone),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
