/* Lines of text with labels: what is a token, what is a label, what tables say, that threads change
 * nothing, and which rows a line has. */
#include <shoal.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"

#include "scratch.h"

static shoal_labelled *read_with(const char *text, size_t len, const struct shoal_labelled_opts *o,
                                 struct shoal_labelled_stats *stats)
{
    struct shoal_memory block = {"lines", text, len};
    shoal_labelled *l = NULL;

    if (shoal_labelled_read_memory(&l, &block, 1, o, stats) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return l;
}

static shoal_labelled *read_text(const char *text)
{
    struct shoal_labelled_opts o = shoal_labelled_default();

    return read_with(text, strlen(text), &o, NULL);
}

/* The sentence that a text is refused with. */
static const char *refused(const char *text, const struct shoal_labelled_opts *o)
{
    struct shoal_memory block = {"lines", text, strlen(text)};
    shoal_labelled *l = NULL;

    assert_int_not_equal(shoal_labelled_read_memory(&l, &block, 1, o, NULL), SHOAL_OK);
    assert_null(l);
    return shoal_error();
}

/* "cat sat </s>" */
static const char *line_words(const shoal_labelled *l, size_t line)
{
    static char text[512];

    text[0] = '\0';
    for (uint64_t i = l->start[line]; i < l->start[line + 1]; i++) {
        if (text[0])
            strcat(text, " ");
        strcat(text, shoal_vocab_word(l->types, l->type[i]));
    }
    return text;
}

static const char *line_label(const shoal_labelled *l, size_t line, size_t i)
{
    assert_true(l->label_start[line] + i < l->label_start[line + 1]);
    return shoal_vocab_word(l->labels, l->label[l->label_start[line] + i]);
}

/* ---- lines ---- */

static void labels_are_the_words_that_begin_with_the_prefix(void **state)
{
    shoal_labelled *l = read_text("__label__a the cat\nlong __label__b __label__a dog\n");

    (void)state;
    assert_int_equal(l->lines, 2);
    assert_string_equal(line_words(l, 0), "the cat </s>");
    assert_string_equal(line_words(l, 1), "long dog </s>");
    assert_string_equal(line_label(l, 0, 0), "__label__a");
    assert_string_equal(line_label(l, 1, 0), "__label__b");
    assert_string_equal(line_label(l, 1, 1), "__label__a");
    assert_int_equal(shoal_vocab_count(l->labels, 0), 2);
    shoal_labelled_close(l);
}

static void tokens_are_cut_where_fasttext_cuts_them(void **state)
{
    static const char text[] = "__label__a one\ttwo\vthree\ffour\rfive\0six \x01seven  eight\n";
    struct shoal_labelled_opts o = shoal_labelled_default();
    shoal_labelled *l = read_with(text, sizeof text - 1, &o, NULL);

    (void)state;
    assert_string_equal(line_words(l, 0), "one two three four five six \x01seven eight </s>");
    shoal_labelled_close(l);
}

static void nothing_counts_behind_the_word_that_ends_lines(void **state)
{
    shoal_labelled *l = read_text("__label__a one </s> two __label__b\n__label__b three\n");

    (void)state;
    assert_string_equal(line_words(l, 0), "one </s>");
    assert_int_equal(l->label_start[1], 1);
    shoal_labelled_close(l);
}

static void lines_without_labels_are_left_out_and_counted(void **state)
{
    struct shoal_labelled_opts o = shoal_labelled_default();
    struct shoal_labelled_stats stats;
    static const char text[] = "no label\n__label__a yes\n\n__label__b also";
    shoal_labelled *l = read_with(text, sizeof text - 1, &o, &stats);

    (void)state;
    assert_int_equal(stats.lines, 4);
    assert_int_equal(stats.unlabelled, 2);
    assert_int_equal(l->lines, 2);
    assert_string_equal(line_words(l, 1), "also </s>"); /* whose newline lacks */
    shoal_labelled_close(l);
}

static void rare_words_are_types_but_no_words(void **state)
{
    struct shoal_labelled_opts o = shoal_labelled_default();
    static const char text[] = "__label__a cat cat dog\n__label__b cat\n";
    shoal_labelled *l;

    (void)state;
    o.min_count = 2;
    l = read_with(text, sizeof text - 1, &o, NULL);
    assert_int_equal(shoal_vocab_size(l->types), 3);
    assert_int_equal(l->words, 2);
    assert_string_equal(shoal_vocab_word(l->types, 0), "cat");
    assert_string_equal(shoal_vocab_word(l->types, 1), "</s>");
    assert_string_equal(shoal_vocab_word(l->types, 2), "dog");
    shoal_labelled_close(l);
}

static void rare_labels_are_left_out(void **state)
{
    struct shoal_labelled_opts o = shoal_labelled_default();
    static const char text[] = "__label__a x\n__label__b __label__a y\n__label__b z\n__label__c u\n";
    shoal_labelled *l;

    (void)state;
    o.min_count_label = 2;
    l = read_with(text, sizeof text - 1, &o, NULL);
    assert_int_equal(shoal_vocab_size(l->labels), 2);
    assert_int_equal(l->lines, 3);
    shoal_labelled_close(l);
}

static void cleaned_words_are_lower_case_letters_and_digits(void **state)
{
    struct shoal_labelled_opts o = shoal_labelled_default();
    static const char text[] = "__label__A-b The CAT's 2nd\xc3\x89tude!\n__label__c x\n";
    shoal_labelled *l;

    (void)state;
    o.clean = true;
    l = read_with(text, sizeof text - 1, &o, NULL);
    assert_string_equal(line_words(l, 0), "the cat s 2nd\xc3\xa9tude </s>");
    assert_string_equal(line_label(l, 0, 0), "__label__A-b");
    shoal_labelled_close(l);
}

/* ---- threads ---- */

static struct bytes many_lines(void)
{
    struct bytes b = {0};
    struct rng r = {5, 1, 0};
    char word[48];

    for (unsigned i = 0; i < 60000; i++) {
        snprintf(word, sizeof word, "__label__%u", (unsigned)rng_below(&r, 7));
        bytes_add(&b, word, strlen(word));
        for (unsigned k = 0; k < 8; k++) {
            snprintf(word, sizeof word, " word%u", (unsigned)(rng_next(&r) % (1 + rng_below(&r, 3000))));
            bytes_add(&b, word, strlen(word));
        }
        bytes_add(&b, "\n", 1);
    }
    return b;
}

static void any_number_of_threads_reads_the_same(void **state)
{
    struct shoal_labelled_opts o = shoal_labelled_default();
    struct bytes text = many_lines();
    shoal_labelled *one, *five;

    (void)state;
    assert_true(text.len > 3 * LINES_BLOCK);
    o.threads = 1;
    one = read_with(text.at, text.len, &o, NULL);
    o.threads = 5;
    five = read_with(text.at, text.len, &o, NULL);
    assert_int_equal(one->lines, 60000);
    assert_int_equal(labelled_fingerprint(one), labelled_fingerprint(five));
    shoal_labelled_close(one);
    shoal_labelled_close(five);
    bytes_fini(&text);
}

/* ---- tables ---- */

static struct shoal_labelled_opts table_opts(void)
{
    struct shoal_labelled_opts o = shoal_labelled_default();

    o.text_column = "text";
    o.label_column = "topic";
    return o;
}

static void a_table_has_its_text_and_label_in_columns(void **state)
{
    static const char text[] = "id,topic,text\r\n1,Sci Tech,\"one, \"\"two\"\"\nthree\"\r\n\r\n2,World,four\r\n"
                               "3,,nobody\r\n";
    struct shoal_labelled_opts o = table_opts();
    struct shoal_labelled_stats stats;
    shoal_labelled *l = read_with(text, sizeof text - 1, &o, &stats);

    (void)state;
    assert_int_equal(l->lines, 2);
    assert_int_equal(stats.unlabelled, 1);
    assert_string_equal(line_words(l, 0), "one, \"two\" three </s>");
    assert_string_equal(line_label(l, 0, 0), "Sci Tech");
    assert_string_equal(line_label(l, 1, 0), "World");
    shoal_labelled_close(l);
}

static void tabs_separate_and_quotes_are_then_letters(void **state)
{
    static const char text[] = "text\ttopic\nsay \"hi\" __label__x\ta\nother\tb\n";
    struct shoal_labelled_opts o = table_opts();
    shoal_labelled *l = read_with(text, sizeof text - 1, &o, NULL);

    (void)state;
    assert_string_equal(line_words(l, 0), "say \"hi\" __label__x </s>");
    shoal_labelled_close(l);
}

static void what_is_wrong_with_a_table_is_said_with_its_line(void **state)
{
    struct shoal_labelled_opts o = table_opts();

    (void)state;
    assert_non_null(strstr(refused("a,b\n1,2\n", &o), "lines:1: found no columns text and topic"));
    assert_non_null(strstr(refused("text,topic\nx,a\n\ny\n", &o), "lines:4: found fewer fields"));
    assert_non_null(strstr(refused("text,topic\nx\"y\"z,a\n", &o), "lines:2: found quotes within"));
    assert_non_null(strstr(refused("text,topic\n\"xy,a\n", &o), "lines:2: found a quote that never"));
    assert_non_null(strstr(refused("text,topic\nx,\n", &o), "found no label in column topic"));
}

static void what_has_no_labels_is_refused(void **state)
{
    struct shoal_labelled_opts o = shoal_labelled_default();

    (void)state;
    assert_non_null(strstr(refused("one two\nthree\n", &o),
                           "lines: found no label in 2 lines, want a word that begins with __label__"));
    assert_non_null(strstr(refused("", &o), "lines: found no line"));
    o.label_prefix = "";
    assert_non_null(strstr(refused("x", &o), "--label-prefix is ''"));
    o = table_opts();
    o.label_column = NULL;
    assert_non_null(strstr(refused("x", &o), "--label-column is missing"));
}

/* ---- files ---- */

static void what_was_encoded_opens_the_same(void **state)
{
    struct shoal_labelled_opts o = shoal_labelled_default();
    static const char text[] = "__label__a one two two\n__label__b __label__c three\n";
    const char *path = scratch_path("labelled.shoal");
    shoal_labelled *l, *back = NULL;

    (void)state;
    o.min_count = 2;
    l = read_with(text, sizeof text - 1, &o, NULL);
    assert_int_equal(labelled_save(l, path), SHOAL_OK);
    assert_int_equal(shoal_labelled_open(&back, path), SHOAL_OK);
    assert_int_equal(labelled_fingerprint(l), labelled_fingerprint(back));
    assert_int_equal(l->words, back->words);
    assert_string_equal(back->reading.prefix, "__label__");
    shoal_labelled_close(back);
    shoal_labelled_close(l);
}

/* ---- rows ---- */

/* The hashes of n-grams are fastText's: of pairs, h(a) * 116049371 + h(b), both signed. */
static void pairs_of_words_have_the_buckets_of_fasttext(void **state)
{
    shoal_labelled *l = read_text("__label__a one zwei\n__label__b x\n");
    struct line_rows f;
    struct line_types t;
    uint32_t rows[16], all = 1000, one = subwords_hash("one", 3), two = subwords_hash("zwei", 4);
    uint64_t h = (uint64_t)(int64_t)(int32_t)one * 116049371u + (uint64_t)(int64_t)(int32_t)two;
    size_t n;

    (void)state;
    assert_int_equal(line_rows_init(&f, l->words, 2, &(struct subwords){.buckets = all}), SHOAL_OK);
    assert_int_equal(line_types_make(&t, &f, l->types, NULL), SHOAL_OK);
    assert_int_equal(line_rows_use(&f, &t, l, 2), SHOAL_OK);
    assert_int_equal(f.used, 3); /* one zwei, zwei </s>, x </s> */
    assert_true(f.bits[h % all / 64] >> (h % all % 64) & 1);
    n = line_rows_line(&f, &t, l->type + l->start[0], 3, rows);
    assert_int_equal(n, 5);
    for (size_t i = 0; i < n; i++)
        assert_true(rows[i] < line_rows_all(&f));
    line_types_fini(&t);
    line_rows_fini(&f);
    shoal_labelled_close(l);
}

/* A line that is asked about has the rows that it has in training. */
static void a_text_has_the_rows_of_the_line_that_it_was(void **state)
{
    static const char padded[64] = "one zwei one";
    shoal_labelled *l = read_text("__label__a one zwei one\n__label__b x\n");
    struct line_reading reading = {.prefix = (char *)(uintptr_t) "__label__"};
    struct line_walk walk = {.reading = &reading};
    struct line_features asked = {0};
    struct token_sink sink = {line_features_word, NULL, &asked};
    struct line_rows f;
    struct line_types t;
    uint32_t rows[128], sum = 0, other = 0;
    size_t n;

    (void)state;
    assert_int_equal(line_rows_init(&f, l->words, 3, &(struct subwords){.minn = 2, .maxn = 3, .buckets = 500}), SHOAL_OK);
    assert_int_equal(line_types_make(&t, &f, l->types, NULL), SHOAL_OK);
    assert_int_equal(line_rows_use(&f, &t, l, 1), SHOAL_OK);
    n = line_rows_line(&f, &t, l->type + l->start[0], l->start[1], rows);
    assert_true(n < line_rows_most(&f, &t, l));
    asked.f = &f;
    asked.words = l->types;
    line_features_begin(&asked);
    assert_int_equal(line_walk_text(&walk, (struct span){padded, 12}, &sink), SHOAL_OK);
    assert_int_equal(line_features_end(&asked), SHOAL_OK);
    assert_int_equal(asked.n, n);
    for (size_t i = 0; i < n; i++) {
        sum += rows[i];
        other += asked.row[i];
    }
    assert_int_equal(sum, other);
    line_features_fini(&asked);
    line_walk_fini(&walk);
    line_types_fini(&t);
    line_rows_fini(&f);
    shoal_labelled_close(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_the_words_that_begin_with_the_prefix),
        cmocka_unit_test(tokens_are_cut_where_fasttext_cuts_them),
        cmocka_unit_test(nothing_counts_behind_the_word_that_ends_lines),
        cmocka_unit_test(lines_without_labels_are_left_out_and_counted),
        cmocka_unit_test(rare_words_are_types_but_no_words),
        cmocka_unit_test(rare_labels_are_left_out),
        cmocka_unit_test(cleaned_words_are_lower_case_letters_and_digits),
        cmocka_unit_test(any_number_of_threads_reads_the_same),
        cmocka_unit_test(a_table_has_its_text_and_label_in_columns),
        cmocka_unit_test(tabs_separate_and_quotes_are_then_letters),
        cmocka_unit_test(what_is_wrong_with_a_table_is_said_with_its_line),
        cmocka_unit_test(what_has_no_labels_is_refused),
        cmocka_unit_test(what_was_encoded_opens_the_same),
        cmocka_unit_test(pairs_of_words_have_the_buckets_of_fasttext),
        cmocka_unit_test(a_text_has_the_rows_of_the_line_that_it_was),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
