/* Columns: what a table is, whatever its dialect, is found from its text, kept, and found again in
 * tables whose columns stand elsewhere. */
#include "scratch.h"

#include "columns/columns.h"

#include <math.h>

/* ---- helpers ---- */

static const struct shoal_table_opts plain = {0};

static struct shoal_columns *learn_as(const char *text, const struct columns_ask *how)
{
    struct columns_ask ask = *how;
    struct shoal_columns *c = NULL;
    size_t len = strlen(text);
    char *padded = calloc(len + FIELD_PAD, 1);

    memcpy(padded, text, len);
    ask.path = "t";
    ask.opts = ask.opts ? ask.opts : &plain;
    if (columns_learn(&c, &ask, NULL, padded, len, true) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    free(padded);
    return c;
}

static struct shoal_columns *learn(const char *text, const struct shoal_table_opts *opts)
{
    return learn_as(text, &(struct columns_ask){.opts = opts, .label = LABEL_LAST, .classes = 99});
}

/* "a number, b category, y label" and what is left out. */
static struct bytes spelled(const struct shoal_columns *c)
{
    struct bytes b = {0};

    for (size_t i = 0; i < c->n; i++) {
        text_add_str(&b, i > 0 ? ", " : "");
        text_add_str(&b, c->at[i].name);
        text_add_str(&b, " ");
        text_add_str(&b, shoal_column_kind_name(c->at[i].kind));
    }
    assert_int_equal(bytes_add(&b, "", 1), SHOAL_OK);
    return b;
}

static void assert_columns(const char *text, const struct shoal_table_opts *opts, const char *want)
{
    struct shoal_columns *c = learn(text, opts);
    struct bytes b = spelled(c);

    assert_string_equal(b.at, want);
    bytes_fini(&b);
    columns_free(c);
}

/* `rows` times the text, with the number of the row where %u stands. */
static char *repeated(const char *head, const char *row, unsigned rows)
{
    struct bytes b = {0};
    char line[256];

    text_add_str(&b, head);
    for (unsigned i = 0; i < rows; i++) {
        snprintf(line, sizeof line, row, i, i % 7, i % 2);
        text_add_str(&b, line);
    }
    assert_int_equal(bytes_add(&b, "", 1), SHOAL_OK);
    return b.at;
}

static void assert_repeated(const char *head, const char *row, unsigned rows, const char *want)
{
    char *text = repeated(head, row, rows);

    assert_columns(text, NULL, want);
    free(text);
}

/* ---- dialects ---- */

static void whatever_stands_between_fields_is_found(void **state)
{
    static const char want[] = "a number, b category, y label";

    (void)state;
    assert_columns("a,b,y\n1,x,0\n2,z,1\n3,x,0\n", NULL, want);
    assert_columns("a;b;y\n1;x;0\n2;z;1\n3;x;0\n", NULL, want);
    assert_columns("a\tb\ty\n1\tx\t0\n2\tz\t1\n3\tx\t0\n", NULL, want);
    assert_columns("a|b|y\n1|x|0\n2|z|1\n3|x|0\n", NULL, want);
    assert_columns("\xef\xbb\xbf"
                   "a,b,y\r\n1,x,0\r\n2,z,1\r\n3,x,0",
                   NULL, want);
    assert_columns("\"a\",\"b\",\"y\"\n\"1\",\"x\",\"0\"\n\"2\",\"z\",\"1\"\n3,x,0\n", NULL, want);
    /* More commas than semicolons, but not as regularly. */
    assert_columns("a;b;y\n1;x, y, z;0\n2;z;1\n3;x, q;0\n", NULL, want);
    assert_columns("a;b;y\n1,5;x;0\n2,25;z;1\n-3,0;x;0\n", NULL, want);
}

static void the_first_line_has_names_where_it_differs_from_what_is_below(void **state)
{
    struct shoal_table_opts no = {.header = SHOAL_HEADER_NO}, yes = {.header = SHOAL_HEADER_YES};

    (void)state;
    assert_columns("1,x,0\n2,z,1\n3,x,0\n", NULL,
                   "column1 number, column2 category, column3 label");
    assert_columns("red,big,yes\nred,small,no\nblue,big,yes\nblue,small,no\nred,big,no\n", NULL,
                   "column1 category, column2 category, column3 label");
    assert_columns("colour,size,label\nred,small,no\nblue,big,yes\nblue,small,no\n", NULL,
                   "colour category, size category, label label");
    assert_columns("colour,2020,label\nred,4,no\nblue,5,yes\nblue,6,no\n", NULL,
                   "colour category, 2020 number, label label");
    assert_columns("0,1,2\n4.5,x,0\n5.5,z,1\n6.5,x,0\n", NULL, "0 number, 1 category, 2 label");
    assert_columns(",a,y\n0,4.5,no\n1,5.5,yes\n2,6,no\n", NULL,
                   "column1 number, a number, y label");
    assert_columns("a,b,y\n1,x,0\n2,z,1\n", &no, "column1 number, column2 category, column3 label");
    assert_columns("1,2,0\n2,3,1\n3,5,0\n", &yes, "1 number, 2 number, 0 label");
}

static void a_name_that_stands_twice_gets_a_number(void **state)
{
    (void)state;
    assert_columns("a,a,b,a,y\n1,2,3,4,0\n2,3,4,5,1\n", NULL,
                   "a number, a.1 number, b number, a.2 number, y label");
}

static void what_is_no_table_is_told(void **state)
{
    static const char *const cases[][2] = {
        {"", "t: found no line, want rows"},
        {"\xff\xfe"
         "a\x01",
         "t: is UTF-16 text, want UTF-8: iconv -f utf-16 -t utf-8 makes it"},
        {"a,b\r1,2\r3,4\r", "t: its lines end in carriage returns alone, want newlines: tr '\\r' "
                            "'\\n' makes them"},
    };
    struct shoal_columns *c;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256] = "";
        struct columns_ask ask = {.opts = &plain, .path = "t"};

        strcpy(text, cases[i][0]);
        assert_int_equal(columns_learn(&c, &ask, NULL, text, strlen(cases[i][0]), true),
                         SHOAL_EFORMAT);
        assert_string_equal(shoal_error(), cases[i][1]);
        assert_null(c);
    }
}

/* ---- kinds ---- */

static void ids_are_left_out_and_numbers_are_not(void **state)
{
    (void)state;
    /* Counted from anywhere; all different under a name of ids; all different words. */
    assert_repeated("n,x,y\n", "%u,%u.5,%u\n", 40, "n id, x number, y label");
    assert_repeated("user_id,x,y\n", "9%u3,%u,%u\n", 40, "user_id id, x number, y label");
    assert_repeated("name,x,y\n", "name-%u,%u,%u\n", 40, "name id, x number, y label");
    /* All different, but neither counted nor called so; too few to tell. */
    assert_repeated("income,x,y\n", "9%u3,%u,%u\n", 40, "income number, x number, y label");
    assert_repeated("name,x,y\n", "name-%u,%u,%u\n", 10, "name category, x number, y label");
}

static void codes_with_zeros_before_them_are_categories(void **state)
{
    (void)state;
    assert_columns("zip,y\n01234,0\n99999,1\n01234,0\n00501,1\n", NULL, "zip category, y label");
    assert_columns("zip,y\n0.5,0\n0,1\n0.25,0\n0,1\n", NULL, "zip number, y label");
}

static void a_column_that_tells_nothing_is_left_out(void **state)
{
    (void)state;
    assert_columns("a,b,c,y\n1,,5,0\n2,NA,5,1\n3,,5,0\n", NULL,
                   "a number, b ignored, c ignored, y label");
}

static void a_few_words_among_numbers_mean_that_there_is_none(void **state)
{
    char *text = repeated("a,b,y\n", "%u.5,%u,%u\n", 30), more[1200];
    struct shoal_columns *c;

    (void)state;
    snprintf(more, sizeof more, "%sunknown,3,0\n?,4,1\n,5,0\n", text);
    c = learn(more, NULL);
    assert_int_equal(c->at[0].kind, SHOAL_COLUMN_NUMBER);
    assert_int_equal(c->at[0].missing, 2);
    assert_int_equal(c->rows, 33);
    assert_true(c->all);
    assert_true(c->at[0].min == 0.5 && c->at[0].max == 29.5);
    columns_free(c);
    free(text);
}

static void what_stands_for_no_value_can_be_said(void **state)
{
    struct shoal_table_opts opts = {.missing = "-999,\"a,b\""};
    struct shoal_columns *c = learn("a,b,y\n1,x,0\n-999,\"a,b\",1\n3,NA,0\n", &opts);

    (void)state;
    assert_int_equal(c->at[0].missing, 1);
    assert_true(c->at[0].min == 1);
    assert_int_equal(c->at[1].missing, 1);
    assert_int_equal(c->at[1].different, 2); /* NA is a value now */
    columns_free(c);
}

static void kinds_can_be_said(void **state)
{
    struct shoal_table_opts opts = {.category = "a", .ignore = "\"b,c\"", .numeric = "3"};

    (void)state;
    assert_columns("a,\"b,c\",d,y\n1,1,x,0\n2,2,2,1\n", &opts,
                   "a category, b,c ignored, d number, y label");
}

static void the_label_is_found_by_its_name_or_by_what_it_holds(void **state)
{
    struct columns_ask first = {.label = LABEL_FIRST, .classes = 2}, last = {.label = LABEL_LAST};
    struct shoal_table_opts named = {.label = "B"};
    struct shoal_columns *c;

    (void)state;
    /* y is the other coordinate here. */
    assert_columns("x,y,class\n0.5,1.5,0\n1.5,2.5,1\n", NULL, "x number, y number, class label");
    assert_columns("x,Target,z\n0.5,1,0\n1.5,0,7\n", NULL, "x number, Target label, z number");
    assert_columns("a,b,c\n0.5,1,3\n1.5,0,4\n", &named, "a number, b label, c number");
    /* Two values where two are wanted. */
    c = learn_as("a,b,c\n5,1,no\n6,2,yes\n7,3,no\n", &first);
    assert_int_equal(c->label, 2);
    columns_free(c);
    c = learn_as("a,b,c\n1,1,no\n0,2,yes\n1,3,no\n", &first);
    assert_int_equal(c->label, 0);
    columns_free(c);
    /* Targets are the last ones. */
    last.targets = 2;
    c = learn_as("a,b,c\n1,1,3\n0,2,4\n", &last);
    assert_int_equal(c->label, 1);
    assert_int_equal(c->at[2].kind, SHOAL_COLUMN_LABEL);
    columns_free(c);
}

/* ---- numbers ---- */

static void numbers_are_scaled_to_mean_0_and_variance_1(void **state)
{
    struct shoal_columns *c = learn("a,y\n1,0\n3,1\n5,0\n", NULL);
    const struct column *a = &c->at[0];

    (void)state;
    assert_true(fabs(a->mean - 3) < 1e-12 && fabs(a->sd - sqrt(8.0 / 3)) < 1e-12);
    assert_true(fabsf(column_scaled(c, a, 5) - (float)(2 / sqrt(8.0 / 3))) < 1e-6f);
    assert_true(column_scaled(c, a, 3) == 0);
    columns_free(c);
}

/* One number of 1e19 would make all others alike. */
static void numbers_far_beyond_all_others_are_cut(void **state)
{
    char *text = repeated("a,b,y\n", "1%u,%u,%u\n", 60), more[1200];
    struct shoal_columns *c;

    (void)state;
    snprintf(more, sizeof more, "%s1e19,3,0\n", text);
    c = learn(more, NULL);
    assert_true(c->at[0].max == 1e19 && c->at[0].hi < 5000);
    assert_true(c->at[0].sd < 500);
    assert_true(column_scaled(c, &c->at[0], 1e19) < 50);
    columns_free(c);
    free(text);
}

static void a_skewed_column_has_a_logarithm_too(void **state)
{
    struct bytes b = {0};
    struct shoal_columns *c;
    char line[64];

    (void)state;
    text_add_str(&b, "income,age,y\n");
    for (int i = 0; i < 200; i++) {
        snprintf(line, sizeof line, "%.2f,%d,%d\n", exp(8 + i % 50 / 10.0), 20 + i % 60, i % 2);
        text_add_str(&b, line);
    }
    assert_int_equal(bytes_add(&b, "", 1), SHOAL_OK);
    c = learn(b.at, NULL);
    assert_true(c->at[0].skewed && !c->at[1].skewed);
    assert_true(fabsf(column_scaled_log(&c->at[0], exp(c->at[0].log_mean))) < 1e-6f);
    columns_free(c);
    bytes_fini(&b);
}

static void bins_hold_as_many_numbers_each(void **state)
{
    char *text = repeated("a,b,y\n", "%u.5,%u,%u\n", 100);
    struct columns_ask ask = {.label = LABEL_LAST, .classes = 2, .bins = 4};
    struct shoal_columns *c = learn_as(text, &ask);
    const struct column *a = &c->at[0];
    size_t count[4] = {0};

    (void)state;
    assert_int_equal(a->edges, 3);
    for (int i = 0; i < 100; i++)
        count[column_bin(a, i + 0.5)]++;
    for (int k = 0; k < 4; k++)
        assert_in_range(count[k], 24, 26);
    assert_int_equal(column_bin(a, -1e9), 0);
    assert_int_equal(column_bin(a, 1e9), 3);
    columns_free(c);
    free(text);
}

/* ---- large tables ---- */

/* Sorted by its label, so that the beginning alone would tell of one. */
static void a_large_table_is_looked_at_all_over(void **state)
{
    const char *path = scratch_path("large.csv");
    FILE *f = fopen(path, "w");
    struct columns_ask ask = {.opts = &plain, .label = LABEL_LAST, .classes = 2, .path = path};
    struct inputs in;
    struct shoal_columns *c;

    (void)state;
    fprintf(f, "id,x,city,y\n");
    for (int i = 0; i < 400000; i++)
        fprintf(f, "%d,%d,%s,%s\n", i, i / 1000, i < 200000 ? "rome" : "\"oslo, no\"",
                i < 390000 ? "no" : "yes");
    fclose(f);
    assert_int_equal(inputs_expand(&in, &path, 1), SHOAL_OK);
    assert_int_equal(columns_learn(&c, &ask, &in, NULL, 0, false), SHOAL_OK);
    assert_false(c->all);
    assert_in_range(c->rows, 50000, 150000);
    assert_int_equal(c->at[0].kind, SHOAL_COLUMN_ID);
    assert_true(c->at[1].max > 380 && fabs(c->at[1].mean - 200) < 15);
    assert_int_equal(c->at[2].different, 2);
    assert_int_equal(c->at[3].different, 2);
    columns_free(c);
    inputs_fini(&in);
}

/* ---- kept ---- */

static void columns_come_back_as_they_were_kept(void **state)
{
    static const char text[] = "income;city;zip;name\n1,5;\"a\nb\\c\";01234;x\n2,5;;99999;z\n"
                               "900,5;rome;01234;x\n";
    struct columns_ask ask = {.label = LABEL_LAST, .classes = 2, .bins = 2};
    struct shoal_columns *c = learn_as(text, &ask), *again;
    struct bytes one = {0}, two = {0};

    (void)state;
    assert_int_equal(columns_write(c, &one), SHOAL_OK);
    assert_int_equal(columns_read(&again, "file", one.at, one.len), SHOAL_OK);
    assert_int_equal(columns_write(again, &two), SHOAL_OK);
    assert_int_equal(one.len, two.len);
    assert_memory_equal(one.at, two.at, one.len);
    assert_int_equal(again->label, 3);
    assert_true(again->at[0].comma && again->dialect.delimiter == ';');
    assert_int_equal(column_value_of(&again->at[1], (struct span){"a\nb\\c", 5}), 0);
    assert_int_equal(column_value_of(&again->at[1], (struct span){"oslo", 4}), SIZE_MAX);
    bytes_fini(&one);
    bytes_fini(&two);
    columns_free(c);
    columns_free(again);
}

static void columns_of_a_stranger_are_checked(void **state)
{
    static const char *const cases[][2] = {
        {"", "file: its columns are none, want one or more"},
        {"columns 2\n", "file: line 1 of its columns is no known version"},
        {"rows 1 1\n", "file: line 1 of its columns is no known version"},
        {"columns 1\ndialect 65 1 1\n", "file: line 2 of its columns is no dialect"},
        {"columns 1\ncolumn thing a\n", "file: line 2 of its columns is no kind of a column"},
        {"columns 1\nnumber 1 2 3 4 5 6\n", "file: line 2 of its columns is no scale"},
        {"columns 1\ncolumn number a\nnumber 1 2 3 -4 5 6\n",
         "file: line 3 of its columns is no scale"},
        {"columns 1\ncolumn number a\nnumber 1 2 3 4 5 1e999\n",
         "file: line 3 of its columns is no scale"},
        {"columns 1\ncolumn number a\nedge 2\nedge 1\n",
         "file: line 4 of its columns is no edge of a bin"},
        {"columns 1\ncolumn number a\nlog 0 1 1\n",
         "file: line 3 of its columns is no scale of a logarithm"},
        {"columns 1\ncolumn category a\nvalue x y\n",
         "file: line 3 of its columns is no value of a column"},
        {"columns 1\nwhat 3\n", "file: line 2 of its columns is no word that is known"},
    };
    struct shoal_columns *c;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(columns_read(&c, "file", cases[i][0], strlen(cases[i][0])), SHOAL_EFORMAT);
        assert_string_equal(shoal_error(), cases[i][1]);
        assert_null(c);
    }
}

/* ---- other tables ---- */

/* Which column each field of the first record is: "1 0 -". */
static shoal_status match(const struct shoal_columns *c, const char *text, const char *label,
                          bool unlabelled, char out[64])
{
    char head[256] = "";
    struct matching m;
    shoal_status st;

    strcpy(head, text);
    st = columns_match(&m, c,
                       &(struct match_ask){.path = "u",
                                           .head = head,
                                           .len = strlen(text),
                                           .whole = true,
                                           .label = label,
                                           .unlabelled = unlabelled});
    out[0] = '\0';
    for (size_t i = 0; i < m.n && st == SHOAL_OK; i++)
        snprintf(out + strlen(out), 64 - strlen(out), m.column[i] == MATCH_NONE ? "%s-" : "%s%u",
                 i > 0 ? " " : "", m.column[i]);
    matching_fini(&m);
    return st;
}

static void assert_matches(const struct shoal_columns *c, const char *text, const char *label,
                           bool unlabelled, const char *want)
{
    char found[64];

    if (match(c, text, label, unlabelled, found) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    assert_string_equal(found, want);
}

static void columns_are_found_by_name_wherever_they_stand(void **state)
{
    struct shoal_columns *c = learn("a,b,id,y\n1,x,1,0\n2,z,2,1\n3,x,3,0\n", NULL);
    char found[64];

    (void)state;
    c->at[2].kind = SHOAL_COLUMN_ID;
    assert_matches(c, "y,more,b,a\n", NULL, false, "3 - 1 0");
    assert_matches(c, "b;a;id\n", NULL, true, "1 0 -");
    assert_matches(c, "a\tb\tclass\n", "class", false, "0 1 3");
    /* Without names by their order, with the label or without. */
    assert_matches(c, "1,x,7,0\n", NULL, false, "0 1 - 3");
    assert_matches(c, "1,x,7\n", NULL, true, "0 1 -");
    assert_matches(c, "1,x\n", NULL, true, "0 1");
    assert_matches(c, "0,1,x,7\n", "1", false, "3 0 1 -");
    assert_int_equal(match(c, "a,y\n", NULL, false, found), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "u:1: found no column \"b\", want it");
    assert_int_equal(match(c, "a,b\n", NULL, false, found), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "u:1: found no column \"y\", want it for the label");
    assert_int_equal(match(c, "1,2\n", NULL, false, found), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "u:1: found 2 columns, want 4, or a line of their names");
    columns_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_stands_between_fields_is_found),
        cmocka_unit_test(the_first_line_has_names_where_it_differs_from_what_is_below),
        cmocka_unit_test(a_name_that_stands_twice_gets_a_number),
        cmocka_unit_test(what_is_no_table_is_told),
        cmocka_unit_test(ids_are_left_out_and_numbers_are_not),
        cmocka_unit_test(codes_with_zeros_before_them_are_categories),
        cmocka_unit_test(a_column_that_tells_nothing_is_left_out),
        cmocka_unit_test(a_few_words_among_numbers_mean_that_there_is_none),
        cmocka_unit_test(what_stands_for_no_value_can_be_said),
        cmocka_unit_test(kinds_can_be_said),
        cmocka_unit_test(the_label_is_found_by_its_name_or_by_what_it_holds),
        cmocka_unit_test(numbers_are_scaled_to_mean_0_and_variance_1),
        cmocka_unit_test(numbers_far_beyond_all_others_are_cut),
        cmocka_unit_test(a_skewed_column_has_a_logarithm_too),
        cmocka_unit_test(bins_hold_as_many_numbers_each),
        cmocka_unit_test(a_large_table_is_looked_at_all_over),
        cmocka_unit_test(columns_come_back_as_they_were_kept),
        cmocka_unit_test(columns_of_a_stranger_are_checked),
        cmocka_unit_test(columns_are_found_by_name_wherever_they_stand),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
