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

static void every_column_has_a_name_that_no_other_has(void **state)
{
    (void)state;
    assert_columns(",a,,y\n1,2,x,0\n2,3,z,1\n3,3,x,0\n", NULL,
                   "column1 number, a number, column3 category, y label");
    assert_columns("a,a,a.1,y\n1,2,3,0\n2,3,4,1\n", NULL,
                   "a number, a.2 number, a.1 number, y label");
    assert_columns("column2,,y\n1,2,0\n2,3,1\n", NULL,
                   "column2 number, column2.1 number, y label");
}

static void years_behind_one_another_are_names(void **state)
{
    (void)state;
    assert_columns("city,2019,2020,2021\nrome,4.5,1,0\noslo,5.5,3,1\nrome,6.5,2,0\n", NULL,
                   "city category, 2019 number, 2020 number, 2021 label");
    assert_columns("rome,2019,2023,0\noslo,5.5,3,1\nrome,6.5,2,0\n", NULL,
                   "column1 category, column2 number, column3 number, column4 label");
}

static void lines_of_blanks_are_no_rows(void **state)
{
    struct shoal_columns *c = learn("a,b,y\n  \n1,x,0\n \t\n2,z,1\n   \n", NULL);

    (void)state;
    assert_int_equal(c->rows, 2);
    columns_free(c);
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
        {"sep=;\na;y\n1;0\n2;1\n", "t:1: found sep=;, a line for Excel; want the table alone: tail "
                                    "-n +2 leaves it out"},
        {"# made by hand\na,y\n1,0\n2,1\n3,1\n4,0\n",
         "t:1: found one field, and more in the lines below; want the names of the columns or a row "
         "in the first line"},
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

/* ---- what is asked for and cannot be ---- */

static void assert_refused(const char *text, const struct columns_ask *how, const char *want)
{
    struct columns_ask ask = *how;
    struct shoal_columns *c;
    char padded[512] = "";

    strcpy(padded, text);
    ask.path = "t";
    ask.opts = ask.opts ? ask.opts : &plain;
    assert_int_equal(columns_learn(&c, &ask, NULL, padded, strlen(text), true), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), want);
    assert_null(c);
}

static void columns_that_are_said_to_be_what_they_cannot_be_are_told(void **state)
{
    struct shoal_table_opts words = {.numeric = "b"}, both = {.label = "b", .ignore = "2"};

    (void)state;
    assert_refused("a,b,y\n1,x,0\n2,z,1\n", &(struct columns_ask){.opts = &words},
                   "t: found no number in column \"b\", want some for --numeric");
    assert_refused("a,b,y\n1,x,0\n2,z,1\n", &(struct columns_ask){.opts = &both},
                   "t: --label and --ignore both name \"b\", want one of them");
}

static void a_label_that_cannot_be_guessed_is_asked_for(void **state)
{
    static const char text[] = "no,alive,sex,port\n1,0,m,a\n2,1,f,b\n3,1,m,c\n4,0,f,a\n";
    struct shoal_table_opts ignore = {.ignore = "sex"};

    (void)state;
    assert_refused(text, &(struct columns_ask){.classes = 2},
                   "t: found no label of two values in the first column, \"no\", or the last, "
                   "\"port\"; want --label COLUMN, one of alive, sex");
    assert_refused(text, &(struct columns_ask){.classes = 2, .opts = &ignore},
                   "t: found no label of two values in the first column, \"no\", or the last, "
                   "\"port\"; want --label COLUMN, one of alive");
    assert_refused("a,b\n1,x\n2,z\n3,q\n", &(struct columns_ask){.classes = 2},
                   "t: found no label of two values in the first column, \"a\", or the last, \"b\"; "
                   "want --label COLUMN, or `shoal train multinomial` for more than two");
}

static void numbers_to_predict_are_not_passed_over_for_classes(void **state)
{
    char *text = repeated("rooms,size,price\n", "%1$u.5,%2$u,1%1$u.25\n", 60);
    struct shoal_columns *c =
        learn_as(text, &(struct columns_ask){.label = LABEL_LAST, .classes = 99});

    (void)state;
    assert_int_equal(c->label, 2);
    columns_free(c);
    free(text);
}

static void what_is_ignored_is_no_label(void **state)
{
    struct shoal_table_opts ignore = {.ignore = "class"};

    (void)state;
    assert_columns("a,class,b\n1,x,0\n2,z,1\n3,z,1\n", &ignore,
                   "a number, class ignored, b label");
    ignore.ignore = "b";
    assert_columns("a,class1,b\n1,x,0\n2,z,1\n3,z,1\n", &ignore,
                   "a number, class1 label, b ignored");
}

static void texts_for_no_value_are_no_labels_but_for_those_that_may_be_classes(void **state)
{
    struct shoal_columns *c = learn("a,y\n1,yes\n2,NA\n3,no\n4,-\n5,None\n", NULL);

    (void)state;
    assert_int_equal(c->at[1].different, 4);
    assert_int_equal(c->at[1].missing, 1);
    columns_free(c);
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

static double number_in(const char *text, bool comma)
{
    struct column c = {.comma = comma};
    char padded[128] = "";
    double x;

    strcpy(padded, text);
    return column_number(&c, (struct span){padded, (uint32_t)strlen(text)}, &x) ? x : NAN;
}

static void numbers_are_read_as_people_write_them(void **state)
{
    static const struct {
        const char *text;
        double point, comma; /* as it is read where that is the point */
    } cases[] = {{"1234.5", 1234.5, 1234.5}, {"1,234.5", 1234.5, NAN},
                 {"-1,234,567", -1234567, NAN}, {"1.234.567,25", NAN, 1234567.25},
                 {"1.234", 1.234, 1234},     {"0.234", 0.234, 0.234},
                 {"1,5", NAN, 1.5},          {"12,34", NAN, 12.34},
                 {"1,234", 1234, 1.234},     {"$5", 5, 5},
                 {"-$1,250.75", -1250.75, NAN}, {"12%", 12, 12},
                 {"12.5 %", 12.5, NAN},      {"3,50 \xe2\x82\xac", NAN, 3.5},
                 {"\xc2\xa3 7", 7, 7},       {"$", NAN, NAN},
                 {" ", NAN, NAN},            {"$ ", NAN, NAN},
                 {"-", NAN, NAN},            {"- %", NAN, NAN},
                 {"%5", NAN, NAN},           {"1,,234", NAN, NAN},
                 {"2024-01-05", NAN, NAN},   {"12:30", NAN, NAN},
                 {",5", NAN, 0.5},           {"inf", NAN, NAN},
                 {"1e400", NAN, NAN},        {"1,2345", NAN, 1.2345}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double point = number_in(cases[i].text, false), comma = number_in(cases[i].text, true);

        if (!(fabs(point - cases[i].point) < 1e-9) != isnan(cases[i].point) ||
            !(fabs(comma - cases[i].comma) < 1e-9) != isnan(cases[i].comma))
            fail_msg("%s: %g and %g", cases[i].text, point, comma);
    }
    assert_columns("a,b,y\n\"1,234\",5%,0\n\"2,345.5\",6%,1\n7,8%,0\n", NULL,
                   "a number, b number, y label");
}

static void a_comma_is_the_point_where_semicolons_stand_between_fields(void **state)
{
    struct shoal_columns *semicolons = learn("a;y\n1,234;0\n2,345;1\n", NULL);
    struct shoal_columns *tabs = learn("a\ty\n1,234\t0\n2,345\t1\n", NULL);

    (void)state;
    assert_true(semicolons->at[0].max < 3);
    assert_true(tabs->at[0].max > 2000);
    columns_free(semicolons);
    columns_free(tabs);
}

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

/* Its rows are longer than the places that are looked at elsewhere. */
static void a_wide_table_is_looked_at_by_whole_rows(void **state)
{
    enum { WIDE = 20000, ROWS = 60 };
    struct columns_ask ask = {.opts = &plain, .label = LABEL_LAST, .classes = 2, .path = "wide"};
    struct bytes b = {0};
    struct shoal_columns *c;

    (void)state;
    for (unsigned i = 0; i < WIDE; i++)
        assert_int_equal(bytes_print(&b, "f%u,", i), SHOAL_OK);
    text_add_str(&b, "y\n");
    for (unsigned r = 0; r < ROWS; r++) {
        for (unsigned i = 0; i < WIDE; i++)
            assert_int_equal(bytes_print(&b, "%u.%u,", i % 7 + r, r), SHOAL_OK);
        assert_int_equal(bytes_print(&b, "%u\n", r % 2), SHOAL_OK);
    }
    assert_int_equal(bytes_reserve(&b, FIELD_PAD), SHOAL_OK);
    assert_true(b.len > COLUMNS_PREVIEW);
    assert_int_equal(columns_learn(&c, &ask, NULL, b.at, b.len, true), SHOAL_OK);
    assert_int_equal(c->n, WIDE + 1);
    assert_int_equal(c->label, WIDE);
    assert_in_range(c->rows, 20, ROWS);
    assert_int_equal(c->at[WIDE - 1].kind, SHOAL_COLUMN_NUMBER);
    columns_free(c);
    bytes_fini(&b);
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

static void scales_come_back_to_their_last_digit(void **state)
{
    static const char text[] =
        "columns 1\ndialect 44 1 1\nrows 9 1\nraw 0\ncolumn number a\nseen 0 9 0 0\n"
        "number 1 437.8938903808594 81.98010444641113 121.86552686734251 -435.8938903808594 "
        "874.7877807617188\nlog 0 3.0409883108112328 1.8691017950421438\n";
    struct shoal_columns *c;
    struct bytes b = {0};

    (void)state;
    assert_int_equal(columns_read(&c, "file", text, strlen(text)), SHOAL_OK);
    assert_int_equal(columns_write(c, &b), SHOAL_OK);
    assert_int_equal(b.len, strlen(text));
    assert_memory_equal(b.at, text, b.len);
    bytes_fini(&b);
    columns_free(c);
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

static void names_match_whatever_their_capitals(void **state)
{
    struct shoal_columns *c = learn("Age,city,y\n1,x,0\n2,z,1\n3,x,0\n", NULL);

    (void)state;
    assert_matches(c, "CITY,age\n", NULL, true, "1 0");
    /* Of two that could be it, it is the one that is called so. */
    assert_matches(c, "city,AGE,Age,y\n", NULL, false, "1 - 0 2");
    columns_free(c);
}

static void names_that_stand_twice_or_nowhere_match_as_they_were_learned(void **state)
{
    struct shoal_columns *c = learn(",a,a,a.1,y\nq,1,2,x,0\nr,2,3,z,1\nq,3,4,x,0\n", NULL);

    (void)state;
    assert_matches(c, ",a,a,a.1,y\n", NULL, false, "0 1 2 3 4");
    assert_matches(c, "column1,a.1,a,a.2,y\n", NULL, false, "0 3 1 2 4");
    columns_free(c);
}

static void names_that_are_not_known_are_no_row(void **state)
{
    struct shoal_columns *c = learn("age,city,y\n1,x,0\n2,z,1\n3,x,0\n", NULL);
    char found[64];

    (void)state;
    assert_int_equal(match(c, "Alter,Stadt\n", NULL, true, found), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "u:1: found \"Alter\" where \"age\" has numbers, want the "
                                       "names that were learned, or a row");
    assert_matches(c, "unknown,x\n", NULL, true, "0 1"); /* it has a value that is known */
    assert_matches(c, "NA,Stadt\n", NULL, true, "0 1");
    assert_matches(c, "5,Stadt\n", NULL, true, "0 1");
    assert_int_equal(match(c, "\n\n", NULL, true, found), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "u: found no line, want rows");
    columns_free(c);
}

static void names_above_columns_that_have_none_are_passed_over(void **state)
{
    struct shoal_columns *c = learn("1,x,0\n2,z,1\n3,x,0\n", NULL);
    char text[128] = "Alter,Stadt\n5,x\n";
    struct matching m;

    (void)state;
    assert_int_equal(columns_match(&m, c, &(struct match_ask){.path = "u", .head = text,
                                                              .len = strlen(text), .whole = true,
                                                              .unlabelled = true}),
                     SHOAL_OK);
    assert_true(m.dialect.header && m.n == 2 && m.column[0] == 0 && m.column[1] == 1);
    assert_int_equal(m.header.len, strlen("Alter,Stadt"));
    matching_fini(&m);
    columns_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_stands_between_fields_is_found),
        cmocka_unit_test(the_first_line_has_names_where_it_differs_from_what_is_below),
        cmocka_unit_test(a_name_that_stands_twice_gets_a_number),
        cmocka_unit_test(every_column_has_a_name_that_no_other_has),
        cmocka_unit_test(years_behind_one_another_are_names),
        cmocka_unit_test(lines_of_blanks_are_no_rows),
        cmocka_unit_test(what_is_no_table_is_told),
        cmocka_unit_test(ids_are_left_out_and_numbers_are_not),
        cmocka_unit_test(codes_with_zeros_before_them_are_categories),
        cmocka_unit_test(a_column_that_tells_nothing_is_left_out),
        cmocka_unit_test(a_few_words_among_numbers_mean_that_there_is_none),
        cmocka_unit_test(what_stands_for_no_value_can_be_said),
        cmocka_unit_test(kinds_can_be_said),
        cmocka_unit_test(columns_that_are_said_to_be_what_they_cannot_be_are_told),
        cmocka_unit_test(a_label_that_cannot_be_guessed_is_asked_for),
        cmocka_unit_test(numbers_to_predict_are_not_passed_over_for_classes),
        cmocka_unit_test(what_is_ignored_is_no_label),
        cmocka_unit_test(texts_for_no_value_are_no_labels_but_for_those_that_may_be_classes),
        cmocka_unit_test(numbers_are_read_as_people_write_them),
        cmocka_unit_test(a_comma_is_the_point_where_semicolons_stand_between_fields),
        cmocka_unit_test(the_label_is_found_by_its_name_or_by_what_it_holds),
        cmocka_unit_test(numbers_are_scaled_to_mean_0_and_variance_1),
        cmocka_unit_test(numbers_far_beyond_all_others_are_cut),
        cmocka_unit_test(a_skewed_column_has_a_logarithm_too),
        cmocka_unit_test(bins_hold_as_many_numbers_each),
        cmocka_unit_test(a_large_table_is_looked_at_all_over),
        cmocka_unit_test(a_wide_table_is_looked_at_by_whole_rows),
        cmocka_unit_test(columns_come_back_as_they_were_kept),
        cmocka_unit_test(scales_come_back_to_their_last_digit),
        cmocka_unit_test(columns_of_a_stranger_are_checked),
        cmocka_unit_test(columns_are_found_by_name_wherever_they_stand),
        cmocka_unit_test(names_match_whatever_their_capitals),
        cmocka_unit_test(names_that_stand_twice_or_nowhere_match_as_they_were_learned),
        cmocka_unit_test(names_that_are_not_known_are_no_row),
        cmocka_unit_test(names_above_columns_that_have_none_are_passed_over),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
