/* data: count.c and vocab.c, from words to a vocabulary. */
#include "text/text.h"

#include <setjmp.h>

#include "scratch.h"

static struct shoal_vocab_opts small_opts(void)
{
    struct shoal_vocab_opts opts = shoal_vocab_default();

    opts.min_count = 1;
    opts.memory = (uint64_t)1 << 24;
    opts.threads = 2;
    opts.tmp_dir = scratch_dir;
    return opts;
}

static shoal_vocab *build(const char *path, const struct shoal_vocab_opts *opts,
                          struct shoal_vocab_stats *stats)
{
    shoal_vocab *v = NULL;

    if (shoal_vocab_build(&v, &path, 1, opts, stats) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return v;
}

/* "word count, word count, " */
static struct bytes spelled(const shoal_vocab *v)
{
    struct bytes b = {0};
    char line[64];

    for (uint32_t id = 0; id < shoal_vocab_size(v); id++) {
        text_add_str(&b, shoal_vocab_word(v, id));
        snprintf(line, sizeof line, " %llu, ", (unsigned long long)shoal_vocab_count(v, id));
        text_add_str(&b, line);
    }
    bytes_add(&b, "", 1);
    return b;
}

static void assert_spelled(const shoal_vocab *v, const char *want)
{
    struct bytes b = spelled(v);

    assert_string_equal(b.at, want);
    bytes_fini(&b);
}

static void assert_builds(const char *text, const struct shoal_vocab_opts *opts, const char *want)
{
    shoal_vocab *v = build(scratch_put("text", text, strlen(text)), opts, NULL);

    assert_spelled(v, want);
    shoal_vocab_free(v);
}

static void memory_is_counted_as_files_are(void **state)
{
    struct shoal_memory blocks[] = {{"one", "a b\n", 4}, {"two", "a c a", 5}, {.name = "none"}};
    struct shoal_vocab_opts opts = small_opts();
    struct shoal_vocab_stats stats;
    shoal_vocab *v;

    (void)state;
    assert_int_equal(shoal_vocab_build_memory(&v, blocks, 3, &opts, &stats), SHOAL_OK);
    assert_spelled(v, "a 3, b 1, c 1, ");
    assert_int_equal(stats.text.files, 3);
    assert_int_equal(stats.text.bytes, 9);
    shoal_vocab_free(v);
}

static void assert_same_vocab(const shoal_vocab *a, const shoal_vocab *b)
{
    assert_int_equal(shoal_vocab_size(a), shoal_vocab_size(b));
    assert_int_equal(shoal_vocab_total(a), shoal_vocab_total(b));
    assert_int_equal(shoal_vocab_unk(a), shoal_vocab_unk(b));
    assert_int_equal(shoal_vocab_sentences(a), shoal_vocab_sentences(b));
    for (uint32_t id = 0; id < shoal_vocab_size(a); id++) {
        assert_string_equal(shoal_vocab_word(a, id), shoal_vocab_word(b, id));
        assert_int_equal(shoal_vocab_count(a, id), shoal_vocab_count(b, id));
    }
}

/* Word i of `types` is seen 1 + i % 7 times; every third has over 8 bytes. */
static const char *put_many_types(size_t types)
{
    struct bytes b = {0};
    const char *path;
    char word[48];

    for (size_t round = 0; round < 7; round++)
        for (size_t i = 0; i < types; i++)
            if (i % 7 >= round) {
                snprintf(word, sizeof word, i % 3 ? "w%zx%c" : "longer-word-%zu%c", i,
                         i % 10 ? ' ' : '\n');
                text_add_str(&b, word);
            }
    path = scratch_put("many", b.at, b.len);
    bytes_fini(&b);
    return path;
}

/* ---- order and limits ------------------------------------------------------------- */

static void words_are_ordered_by_count_then_bytes(void **state)
{
    struct shoal_vocab_opts opts = small_opts();

    (void)state;
    assert_builds("b a c\nb a\nb zz é aa ab z", &opts,
                  "b 3, a 2, aa 1, ab 1, c 1, z 1, zz 1, é 1, ");
    assert_builds("abcdefgh abcdefghi abcdefg abcdefghij", &opts,
                  "abcdefg 1, abcdefgh 1, abcdefghi 1, abcdefghij 1, ");
}

static void every_word_is_found_and_no_other(void **state)
{
    struct shoal_vocab_opts opts = small_opts();
    shoal_vocab *v = build(put_many_types(5000), &opts, NULL);

    (void)state;
    for (uint32_t id = 0; id < shoal_vocab_size(v); id++) {
        const char *word = shoal_vocab_word(v, id);

        assert_int_equal(shoal_vocab_find(v, word, strlen(word)), id);
        assert_int_equal(shoal_vocab_find(v, word, strlen(word) + 1), SHOAL_NO_ID);
    }
    assert_int_equal(shoal_vocab_find(v, "", 0), SHOAL_NO_ID);
    assert_int_equal(shoal_vocab_find(v, "absent", 6), SHOAL_NO_ID);
    assert_int_equal(shoal_vocab_find(v, "longer-word-", 12), SHOAL_NO_ID);
    assert_null(shoal_vocab_word(v, (uint32_t)shoal_vocab_size(v)));
    assert_null(shoal_vocab_word(v, SHOAL_NO_ID));
    assert_int_equal(shoal_vocab_unk(v), SHOAL_NO_ID);
    shoal_vocab_free(v);
    shoal_vocab_free(NULL);
}

static void the_longest_words_are_words_like_any_other(void **state)
{
    struct shoal_vocab_opts opts = small_opts();
    char *text = malloc(2 * 65536);
    shoal_vocab *v;

    (void)state;
    memset(text, 'w', 2 * 65536);
    text[65535] = text[2 * 65536 - 1] = '\n';
    text[65534] = 'x'; /* they differ in the last byte only */
    v = build(scratch_put("text", text, 2 * 65536), &opts, NULL);
    assert_int_equal(shoal_vocab_size(v), 2);
    assert_int_equal(shoal_vocab_find(v, text + 65536, 65535), 0);
    assert_int_equal(shoal_vocab_find(v, text, 65535), 1);
    assert_int_equal(shoal_vocab_find(v, text, 65536), SHOAL_NO_ID);
    shoal_vocab_free(v);
    free(text);
}

static void rare_words_are_left_out(void **state)
{
    struct shoal_vocab_opts opts = small_opts();
    struct shoal_vocab_stats stats;
    shoal_vocab *v;

    (void)state;
    opts.min_count = 2;
    v = build(scratch_put("text", "a b a c\na b", 11), &opts, &stats);
    assert_spelled(v, "a 3, b 2, ");
    assert_int_equal(shoal_vocab_total(v), 5);
    assert_int_equal(shoal_vocab_sentences(v), 2);
    assert_int_equal(stats.types, 3);
    assert_int_equal(stats.kept_words, 5);
    assert_int_equal(stats.floor, 2);
    assert_int_equal(stats.text.words, 6);
    shoal_vocab_free(v);
    opts.min_count = 1;
    opts.max_vocab = 2;
    assert_builds("a b a c\na b", &opts, "a 3, b 2, ");
    opts.max_vocab = 1000;
    assert_builds("a b a c\na b", &opts, "a 3, b 2, c 1, ");
}

static void what_is_left_out_counts_as_unk_at_its_place(void **state)
{
    struct shoal_vocab_opts opts = small_opts();
    struct shoal_vocab_stats stats;
    shoal_vocab *v;

    (void)state;
    opts.unk = true;
    assert_builds("a b a c\na b", &opts, "a 3, b 2, c 1, <UNK> 0, ");
    opts.min_count = 2;
    v = build(scratch_put("text", "a b a c\na b", 11), &opts, &stats);
    assert_spelled(v, "a 3, b 2, <UNK> 1, ");
    assert_int_equal(shoal_vocab_unk(v), 2);
    assert_int_equal(stats.kept_words, 5);
    assert_int_equal(shoal_vocab_total(v), 6);
    shoal_vocab_free(v);
    assert_builds("a b c d e a", &opts, "<UNK> 4, a 2, ");
    assert_builds("a a b c ~ ~", &opts, "<UNK> 2, a 2, ~ 2, ");
    assert_builds("! ! b c", &opts, "! 2, <UNK> 2, ");
    opts.min_count = 1;
    opts.max_vocab = 2;
    assert_builds("a b a c\na b", &opts, "<UNK> 3, a 3, ");
    opts.max_vocab = 3;
    assert_builds("a b a c\na b", &opts, "a 3, b 2, <UNK> 1, ");
    opts.max_vocab = 4;
    assert_builds("a b a c\na b", &opts, "a 3, b 2, c 1, <UNK> 0, ");
}

static void a_text_that_says_unk_means_it(void **state)
{
    struct shoal_vocab_opts opts = small_opts();
    shoal_vocab *v;

    (void)state;
    v = build(scratch_put("text", "<UNK> a <UNK> b b b", 19), &opts, NULL);
    assert_spelled(v, "b 3, <UNK> 2, a 1, ");
    assert_int_equal(shoal_vocab_unk(v), 1);
    shoal_vocab_free(v);
    opts.unk = true;
    opts.min_count = 2;
    assert_builds("<UNK> a <UNK> b b b", &opts, "<UNK> 3, b 3, ");
    assert_builds("<UNK> a b b b", &opts, "b 3, <UNK> 2, ");
    opts.min_count = 1;
    opts.max_vocab = 2;
    assert_builds("<UNK> a a b b b", &opts, "<UNK> 3, b 3, ");
    assert_builds("<UNK> <UNK> a a b b b", &opts, "<UNK> 4, b 3, ");
    opts.max_vocab = 3;
    assert_builds("<UNK> <UNK> a a b b b c", &opts, "<UNK> 3, b 3, a 2, ");
}

static void a_text_without_a_word_is_refused(void **state)
{
    static const char *const texts[] = {"", "\n\n", " \t\r\n", "\xef\xbb\xbf"};
    struct shoal_vocab_opts opts = small_opts();
    shoal_vocab *v;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const char *path = scratch_put("text", texts[i], strlen(texts[i]));

        assert_int_equal(shoal_vocab_build(&v, &path, 1, &opts, NULL), SHOAL_EINVAL);
        assert_non_null(strstr(shoal_error(), "no word"));
        assert_null(v);
    }
    opts.min_count = 3;
    for (opts.memory = 1 << 20; opts.memory <= 1 << 24; opts.memory <<= 4) {
        const char *path = scratch_put("text", "a b", 3);

        assert_int_equal(shoal_vocab_build(&v, &path, 1, &opts, NULL), SHOAL_EINVAL);
        assert_string_equal(shoal_error(),
                            "vocab: none of 2 words was seen 3 times; lower --min-count");
        assert_null(v);
    }
    opts.unk = true;
    assert_builds("a b", &opts, "<UNK> 2, ");
}

static void an_option_out_of_range_is_named(void **state)
{
    static const char *const names[] = {"--min-count", "--memory",    "--tokens",   "--bad-bytes",
                                        "--threads",   "--max-vocab", "--max-vocab", "--encoding"};

    (void)state;
    for (int i = 0; i < 8; i++) {
        struct shoal_vocab_opts opts = small_opts();

        assert_int_equal(shoal_vocab_check(&opts), SHOAL_OK);
        if (i == 0)
            opts.min_count = 0;
        else if (i == 1)
            opts.memory = 1000;
        else if (i == 2)
            opts.tokens = (enum shoal_tokens)4;
        else if (i == 3)
            opts.bad_bytes = (enum shoal_bad_bytes)4;
        else if (i == 4)
            opts.threads = 1025;
        else if (i == 5)
            opts.max_vocab = UINT32_MAX;
        else if (i == 6)
            opts.max_vocab = 1, opts.unk = true;
        else
            opts.encoding = (enum shoal_encoding)5;
        assert_int_equal(shoal_vocab_check(&opts), SHOAL_EINVAL);
        assert_non_null(strstr(shoal_error(), names[i]));
    }
}

static void a_missing_input_is_told_by_name(void **state)
{
    struct shoal_vocab_opts opts = small_opts();
    const char *path = scratch_path("not-there");
    shoal_vocab *v;

    (void)state;
    assert_int_equal(shoal_vocab_build(&v, &path, 1, &opts, NULL), SHOAL_ENOENT);
    assert_non_null(strstr(shoal_error(), path));
    assert_null(v);
}

/* ---- threads and memory ------------------------------------------------------------- */

static const unsigned THREADS[] = {1, 2, 5, 16};

static void the_vocabulary_is_the_same_for_any_threads_and_memory(void **state)
{
    struct shoal_vocab_opts opts = small_opts();
    struct shoal_vocab_stats stats, whole;
    const char *path = put_many_types(28000);
    shoal_vocab *want, *v;

    (void)state;
    opts.threads = 1;
    want = build(path, &opts, &whole);
    assert_int_equal(shoal_vocab_size(want), 28000);
    assert_int_equal(whole.spilled, 0);
    for (size_t i = 0; i < 4; i++)
        for (opts.memory = 1 << 20; opts.memory <= 1 << 24; opts.memory <<= 4) {
            opts.threads = THREADS[i];
            v = build(path, &opts, &stats);
            assert_same_vocab(v, want);
            assert_int_equal(stats.types, 28000);
            assert_int_equal(stats.floor, 1);
            assert_memory_equal(&stats.text, &whole.text, sizeof stats.text);
            if (opts.memory == 1 << 20)
                assert_true(stats.spilled > 0);
            shoal_vocab_free(v);
        }
    shoal_vocab_free(want);
}

static void counts_that_go_to_disk_take_no_more_memory_than_given(void **state)
{
    struct shoal_vocab_opts opts = small_opts();
    const char *path = put_many_types(28000);
    uint64_t before = mem_peak();

    (void)state;
    opts.memory = 1 << 20;
    opts.threads = 16;
    shoal_vocab_free(build(path, &opts, NULL));
    assert_in_range(mem_peak() - before, 0, 128 << 20); /* 16 threads' blocks among it */
}

static void the_rarest_words_go_when_not_all_fit(void **state)
{
    struct shoal_vocab_opts opts = small_opts();
    struct shoal_vocab_stats stats;
    const char *path = put_many_types(70000);
    shoal_vocab *all = build(path, &opts, NULL), *first = NULL;
    uint64_t floor = 0;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        shoal_vocab *v;
        size_t kept = 0;

        opts.memory = 1 << 20;
        opts.threads = THREADS[i];
        v = build(path, &opts, &stats);
        assert_in_range(stats.floor, 2, 7);
        assert_int_equal(stats.types, 70000);
        /* Exactly the words of the floor, with exact counts, in the same order. */
        while (shoal_vocab_count(all, (uint32_t)kept) >= stats.floor)
            kept++;
        assert_int_equal(shoal_vocab_size(v), kept);
        for (uint32_t id = 0; id < kept; id++) {
            assert_string_equal(shoal_vocab_word(v, id), shoal_vocab_word(all, id));
            assert_int_equal(shoal_vocab_count(v, id), shoal_vocab_count(all, id));
        }
        if (first)
            assert_same_vocab(v, first);
        assert_true(floor == 0 || floor == stats.floor);
        floor = stats.floor;
        shoal_vocab_free(first);
        first = v;
    }
    shoal_vocab_free(first);
    shoal_vocab_free(all);
}

static void a_spool_that_cannot_be_written_fails(void **state)
{
    struct shoal_vocab_opts opts = small_opts();
    const char *path = put_many_types(28000);
    shoal_vocab *v;

    (void)state;
    opts.memory = 1 << 20;
    opts.tmp_dir = "/nonexistent/folder";
    assert_int_not_equal(shoal_vocab_build(&v, &path, 1, &opts, NULL), SHOAL_OK);
    assert_non_null(strstr(shoal_error(), "/nonexistent/folder"));
    assert_null(v);
}

/* ---- `word count` lines ---------------------------------------------------------------- */

static shoal_vocab *parse(const char *text)
{
    shoal_vocab *v = NULL;

    if (shoal_vocab_read_memory(&v, &(struct shoal_memory){"f", text, strlen(text)}) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return v;
}

static void assert_malformed(const char *text, size_t len, const char *want)
{
    shoal_vocab *v = (shoal_vocab *)&len;

    assert_int_equal(shoal_vocab_read_memory(&v, &(struct shoal_memory){"f", text, len}),
                     SHOAL_EFORMAT);
    assert_null(v);
    if (!strstr(shoal_error(), want))
        fail_msg("found %s, want %s", shoal_error(), want);
}

static void a_vocabulary_written_and_read_is_the_same(void **state)
{
    struct shoal_vocab_opts opts = small_opts();
    const char *path = scratch_path("vocab.txt");

    (void)state;
    opts.unk = true;
    opts.min_count = 3;
    for (int eos = 0; eos < 2; eos++) {
        shoal_vocab *v = build(put_many_types(3000), &opts, NULL), *back;

        assert_int_equal(shoal_vocab_write(v, path, eos), SHOAL_OK);
        assert_int_equal(shoal_vocab_read(&back, path), SHOAL_OK);
        if (eos)
            assert_same_vocab(v, back);
        else
            assert_int_equal(shoal_vocab_sentences(back), 0);
        assert_int_equal(shoal_vocab_size(v), shoal_vocab_size(back));
        shoal_vocab_free(v);
        shoal_vocab_free(back);
    }
}

static void the_lines_are_those_of_word2vec(void **state)
{
    shoal_vocab *v = parse("the 5\ncat 7\n");
    struct bytes file;

    (void)state;
    assert_int_equal(shoal_vocab_write(v, scratch_path("v"), true), SHOAL_OK);
    file = scratch_get(scratch_path("v"));
    assert_int_equal(file.len, strlen("</s> 0\ncat 7\nthe 5\n"));
    assert_memory_equal(file.at, "</s> 0\ncat 7\nthe 5\n", file.len);
    bytes_fini(&file);
    shoal_vocab_free(v);
}

static void a_first_line_of_eos_is_the_sentences(void **state)
{
    shoal_vocab *v = parse("</s> 12\nthe 50\n");

    (void)state;
    assert_spelled(v, "the 50, ");
    assert_int_equal(shoal_vocab_sentences(v), 12);
    shoal_vocab_free(v);
    v = parse("</s> 0\n</s> 60\nthe 50\n");
    assert_spelled(v, "</s> 60, the 50, ");
    assert_int_equal(shoal_vocab_sentences(v), 0);
    shoal_vocab_free(v);
    v = parse("the 50\n</s> 3\n");
    assert_spelled(v, "the 50, </s> 3, ");
    shoal_vocab_free(v);
}

static void a_text_that_says_eos_keeps_its_word_through_a_file(void **state)
{
    struct shoal_vocab_opts opts = small_opts();

    (void)state;
    for (int eos = 0; eos < 2; eos++) {
        shoal_vocab *v = build(scratch_put("text", "a </s>\nb </s>\n", 14), &opts, NULL), *back;

        assert_spelled(v, "</s> 2, a 1, b 1, ");
        assert_int_equal(shoal_vocab_write(v, scratch_path("v"), eos), SHOAL_OK);
        assert_int_equal(shoal_vocab_read(&back, scratch_path("v")), SHOAL_OK);
        assert_spelled(back, "</s> 2, a 1, b 1, ");
        shoal_vocab_free(v);
        shoal_vocab_free(back);
    }
}

static void lines_in_any_order_with_crlf_tabs_and_blanks_are_read(void **state)
{
    shoal_vocab *v = parse("\r\nb 1\r\na\t1\r\n\nc 3");

    (void)state;
    assert_spelled(v, "c 3, a 1, b 1, ");
    shoal_vocab_free(v);
    v = parse("<UNK> 4\n\xff 2\nx 1234567890123456789\n");
    assert_spelled(v, "x 1234567890123456789, <UNK> 4, \xff 2, ");
    assert_int_equal(shoal_vocab_unk(v), 1);
    shoal_vocab_free(v);
}

static void a_malformed_line_is_told_by_its_number(void **state)
{
    static const char *const lines[] = {"word",
                                        "word ",
                                        " 5",
                                        "5",
                                        "word five",
                                        "word -5",
                                        "a b 5",
                                        "a  5",
                                        "word 5 ",
                                        "word 5x",
                                        "word 1.5",
                                        "a\tb 5",
                                        "a\rb 5",
                                        "\x01 5",
                                        "word 99999999999999999999",
                                        "word 18446744073709551616"};
    char text[128];

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snprintf(text, sizeof text, "fine 5\n\n%s\nfine2 3\n", lines[i]);
        assert_malformed(text, strlen(text), "f: line 3");
        snprintf(text, sizeof text, "fine 5\r\n%s", lines[i]);
        assert_malformed(text, strlen(text), "f: line 2");
    }
    assert_malformed("a\0b 5\n", 6, "f: line 1");
    assert_malformed("", 0, "no `word count` line");
    assert_malformed("\n\n", 2, "no `word count` line");
    assert_malformed("</s> 5\n", 7, "no `word count` line");
}

static void a_word_that_stands_there_twice_is_told_by_its_line(void **state)
{
    (void)state;
    assert_malformed("a 5\nb 9\n\na 5\nc 1", 16, "f: line 4");
    assert_malformed("a 5\nb 9\na 70\n", 13, "f: line 3");
    assert_malformed("</s> 5\nb 9\n</s> 1\n</s> 2\n", 25, "f: line 4");
    assert_malformed("a 5\nb 9\na 70\n", 13, "`a`");
}

static void counts_whose_sum_is_no_number_are_refused(void **state)
{
    static const char text[] = "a 9999999999999999999\nb 9999999999999999999\n";

    (void)state;
    assert_malformed(text, sizeof text - 1, "f: line 2");
}

static void a_word_too_long_is_told_by_its_line(void **state)
{
    char *text = malloc(65536 + 3);
    shoal_vocab *v;

    (void)state;
    memset(text, 'w', 65536);
    memcpy(text + 65536, " 5\n", 3);
    assert_malformed(text, 65536 + 3, "f: line 1");
    assert_int_equal(shoal_vocab_read_memory(&v, &(struct shoal_memory){"f", text + 1, 65535 + 3}),
                     SHOAL_OK);
    assert_int_equal(shoal_vocab_find(v, text + 1, 65535), 0);
    shoal_vocab_free(v);
    free(text);
}

static void a_vocabulary_that_is_not_there_is_told_by_name(void **state)
{
    shoal_vocab *v;

    (void)state;
    assert_int_equal(shoal_vocab_read(&v, scratch_path("nowhere")), SHOAL_ENOENT);
    assert_non_null(strstr(shoal_error(), "nowhere"));
    assert_null(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_counted_as_files_are),
        cmocka_unit_test(words_are_ordered_by_count_then_bytes),
        cmocka_unit_test(every_word_is_found_and_no_other),
        cmocka_unit_test(the_longest_words_are_words_like_any_other),
        cmocka_unit_test(rare_words_are_left_out),
        cmocka_unit_test(what_is_left_out_counts_as_unk_at_its_place),
        cmocka_unit_test(a_text_that_says_unk_means_it),
        cmocka_unit_test(a_text_without_a_word_is_refused),
        cmocka_unit_test(an_option_out_of_range_is_named),
        cmocka_unit_test(a_missing_input_is_told_by_name),
        cmocka_unit_test(counts_that_go_to_disk_take_no_more_memory_than_given),
        cmocka_unit_test(the_vocabulary_is_the_same_for_any_threads_and_memory),
        cmocka_unit_test(the_rarest_words_go_when_not_all_fit),
        cmocka_unit_test(a_spool_that_cannot_be_written_fails),
        cmocka_unit_test(a_vocabulary_written_and_read_is_the_same),
        cmocka_unit_test(the_lines_are_those_of_word2vec),
        cmocka_unit_test(a_first_line_of_eos_is_the_sentences),
        cmocka_unit_test(a_text_that_says_eos_keeps_its_word_through_a_file),
        cmocka_unit_test(lines_in_any_order_with_crlf_tabs_and_blanks_are_read),
        cmocka_unit_test(a_malformed_line_is_told_by_its_number),
        cmocka_unit_test(a_word_that_stands_there_twice_is_told_by_its_line),
        cmocka_unit_test(counts_whose_sum_is_no_number_are_refused),
        cmocka_unit_test(a_word_too_long_is_told_by_its_line),
        cmocka_unit_test(a_vocabulary_that_is_not_there_is_told_by_name),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
