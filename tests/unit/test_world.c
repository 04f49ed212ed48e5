/* A world to learn: what its text and its questions are made of. Whether
 * vectors of it answer the questions is a matter for the models' tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "folder.h"

static struct shoal_world_stats make(const char *text, const char *questions, uint64_t words,
                                     uint64_t seed)
{
    struct shoal_world_opts opts = shoal_world_default();
    struct shoal_world_stats stats;

    opts.words = words;
    opts.seed = seed;
    assert_int_equal(shoal_world_write(text, questions, &opts, &stats), SHOAL_OK);
    return stats;
}

static size_t count_char(const char *text, char c)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text == c;
    return n;
}

/* ---- The text ---------------------------------------------------------------------- */

static void same_options_give_the_same_bytes(void **state)
{
    size_t len;
    char *text, *questions;

    (void)state;
    make("text", "questions", 20000, 7);
    make("text2", "questions2", 20000, 7);
    text = get_file("text", &len);
    questions = get_file("questions", &len);
    assert_file_is("text2", text);
    assert_file_is("questions2", questions);
    free(text);
    free(questions);
}

static void another_seed_tells_another_text(void **state)
{
    size_t len;
    char *one, *two;

    (void)state;
    make("one", NULL, 1000, 1);
    make("two", NULL, 1000, 2);
    one = get_file("one", &len);
    two = get_file("two", &len);
    assert_string_not_equal(one, two);
    free(one);
    free(two);
}

/* Sentences are keyed by their number alone. */
static void a_shorter_text_is_the_beginning_of_a_longer(void **state)
{
    size_t brief, len;
    char *one, *two;

    (void)state;
    make("one", NULL, 1000, 1);
    make("two", NULL, 5000, 1);
    one = get_file("one", &brief);
    two = get_file("two", &len);
    assert_true(brief < len);
    assert_memory_equal(one, two, brief);
    free(one);
    free(two);
}

static void the_text_ends_with_the_sentence_that_reaches_the_words(void **state)
{
    static const uint64_t wants[] = {1, 2, 100, 12345};

    (void)state;
    for (size_t i = 0; i < sizeof wants / sizeof wants[0]; i++) {
        struct shoal_world_stats stats = make("text", NULL, wants[i], 3);
        size_t len;
        char *text = get_file("text", &len);

        assert_in_range(stats.words, wants[i], wants[i] + 40);
        assert_int_equal(stats.words, count_char(text, ' ') + count_char(text, '\n'));
        assert_int_equal(stats.sentences, count_char(text, '\n'));
        assert_int_equal(stats.bytes, len);
        assert_int_equal(text[len - 1], '\n');
        free(text);
    }
}

static void every_word_is_made_of_small_letters(void **state)
{
    size_t len;
    char *text;

    (void)state;
    make("text", NULL, 200000, 1);
    text = get_file("text", &len);
    for (size_t i = 0; i < len; i++) {
        bool letter = text[i] >= 'a' && text[i] <= 'z';

        /* One space or newline between two letters. */
        if (!letter && (i == 0 || !strchr(" \n", text[i]) || strchr(" \n", text[i - 1])))
            fail_msg("byte %zu is '%c' in \"%.40s\"", i, text[i], text + (i > 20 ? i - 20 : 0));
    }
    free(text);
}

static void what_is_told_is_true(void **state)
{
    static const char *const facts[] = {
        "paris is the capital of france ",
        "tokyo is the capital of japan ",
        " the king and the queen share the ",
        " country of france shows the seine and lyon",
    };
    size_t len;
    char *text;

    (void)state;
    make("text", NULL, 1000000, 1);
    text = get_file("text", &len);
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (!strstr(text, facts[i]))
            fail_msg("\"%s\" is not told", facts[i]);
    assert_null(strstr(text, "paris is the capital of japan"));
    free(text);
}

static void an_stands_before_an_open_sound(void **state)
{
    static const char *const wrong[] = {" a austrian ", " a honest ", " a unhappy ",
                                        " an french ",  " an usual ", " an king "};
    size_t len;
    char *text;

    (void)state;
    make("text", NULL, 1000000, 1);
    text = get_file("text", &len);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (strstr(text, wrong[i]))
            fail_msg("\"%s\" is told", wrong[i]);
    assert_non_null(strstr(text, " an italian "));
    free(text);
}

/* Zipf's law: rank times count is about the same for all. */
static void counts_fall_about_as_one_over_rank(void **state)
{
    static const uint32_t ranks[] = {1, 3, 10, 30, 100, 300, 1000, 2000, 4000};
    const char *inputs[] = {"text"};
    struct shoal_vocab_opts opts = shoal_vocab_default();
    shoal_vocab *vocab;

    (void)state;
    make("text", NULL, 3000000, 1);
    opts.min_count = 1;
    assert_int_equal(shoal_vocab_build(&vocab, inputs, 1, &opts, NULL), SHOAL_OK);
    assert_in_range(shoal_vocab_size(vocab), 10000, 20000);
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++)
        assert_in_range(shoal_vocab_count(vocab, ranks[i] - 1) * ranks[i], 100000, 600000);
    shoal_vocab_free(vocab);
}

/* ---- The questions ------------------------------------------------------------------- */

static void a_question_is_four_different_words_of_the_text(void **state)
{
    const char *inputs[] = {"text"};
    struct shoal_vocab_opts opts = shoal_vocab_default();
    shoal_vocab *vocab;
    size_t len;
    char *questions, *rest, *line;

    (void)state;
    make("text", "questions", 1000000, 1);
    assert_int_equal(shoal_vocab_build(&vocab, inputs, 1, &opts, NULL), SHOAL_OK);
    rest = questions = get_file("questions", &len);
    while ((line = strsep(&rest, "\n")) && *line) {
        char word[4][32], more;

        if (line[0] == ':')
            continue;
        assert_int_equal(
            sscanf(line, "%31s %31s %31s %31s %c", word[0], word[1], word[2], word[3], &more), 4);
        for (int i = 0; i < 4; i++) {
            assert_int_not_equal(shoal_vocab_find(vocab, word[i], strlen(word[i])), SHOAL_NO_ID);
            for (int j = 0; j < i; j++)
                assert_string_not_equal(word[i], word[j]);
        }
    }
    free(questions);
    shoal_vocab_free(vocab);
}

static void questions_come_in_sections_of_meaning_and_then_of_grammar(void **state)
{
    struct shoal_world_stats stats = make("text", "questions", 100, 1);
    size_t sections = 0, grammar = 0, asked = 0, len;
    char *questions = get_file("questions", &len), *rest = questions, *line;

    (void)state;
    assert_memory_equal(questions, ": capital-countries\n", 20);
    while ((line = strsep(&rest, "\n")) && *line) {
        bool head = line[0] == ':';
        bool gram = strncmp(line, ": gram", 6) == 0;

        assert_false(head && grammar > 0 && !gram);
        sections += head;
        grammar += gram;
        asked += !head;
    }
    assert_int_equal(sections, 14);
    assert_int_equal(grammar, 9);
    assert_int_equal(stats.sections, sections);
    assert_int_equal(stats.questions, asked);
    assert_in_range(asked, 14 * 200, 14 * 300);
    free(questions);
}

static int by_bytes(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return strcmp(*x, *y);
}

static void no_question_is_asked_twice(void **state)
{
    size_t n = 0, len;
    char *lines[14 * 301 + 1];
    char *questions, *rest, *line;

    (void)state;
    make("text", "questions", 100, 1);
    rest = questions = get_file("questions", &len);
    while ((line = strsep(&rest, "\n")) && *line) {
        assert_in_range(n, 0, 14 * 301);
        lines[n++] = line;
    }
    qsort(lines, n, sizeof lines[0], by_bytes);
    for (size_t i = 1; i < n; i++)
        assert_string_not_equal(lines[i - 1], lines[i]);
    free(questions);
}

/* ---- Failures ------------------------------------------------------------------------- */

static void words_out_of_range_are_refused(void **state)
{
    static const uint64_t wrong[] = {0, 1000000000001u, UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct shoal_world_opts opts = shoal_world_default();
        struct shoal_world_stats stats;

        opts.words = wrong[i];
        assert_int_equal(shoal_world_write("text", "q", &opts, &stats), SHOAL_EINVAL);
        assert_error_has("want 1 .. 1000000000000");
        assert_int_equal(files_here(), 0);
    }
}

static void text_and_questions_may_not_share_a_place(void **state)
{
    struct shoal_world_opts opts = shoal_world_default();

    (void)state;
    assert_int_equal(shoal_world_write("-", "-", &opts, NULL), SHOAL_EINVAL);
    assert_int_equal(shoal_world_write("x", "x", &opts, NULL), SHOAL_EINVAL);
    assert_error_has("both go to x");
    assert_int_equal(files_here(), 0);
}

static void questions_and_stats_may_be_left_out(void **state)
{
    struct shoal_world_opts opts = shoal_world_default();

    (void)state;
    opts.words = 10;
    assert_int_equal(shoal_world_write("text", NULL, &opts, NULL), SHOAL_OK);
    assert_int_equal(files_here(), 1);
}

static void a_place_that_cannot_be_written_leaves_nothing_behind(void **state)
{
    struct shoal_world_opts opts = shoal_world_default();

    (void)state;
    opts.words = 1000;
    assert_true(shoal_world_write("nowhere/text", "q", &opts, NULL) < 0);
    assert_true(shoal_world_write("text", "nowhere/q", &opts, NULL) < 0);
    assert_int_equal(files_here(), 0);
}

static bool stop_after_two(void *user, const struct shoal_progress *progress)
{
    int *calls = user;

    assert_string_equal(progress->unit, "words");
    assert_int_equal(progress->total, 1000000000000u);
    return ++*calls < 2;
}

static void a_watcher_who_says_stop_leaves_nothing_behind(void **state)
{
    struct shoal_world_opts opts = shoal_world_default();
    int calls = 0;

    (void)state;
    opts.words = 1000000000000u;
    opts.watch = (struct shoal_watch){stop_after_two, &calls};
    assert_int_equal(shoal_world_write("text", "q", &opts, NULL), SHOAL_ESTOP);
    assert_int_equal(calls, 2);
    assert_int_equal(files_here(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HERE(same_options_give_the_same_bytes),
        HERE(another_seed_tells_another_text),
        HERE(a_shorter_text_is_the_beginning_of_a_longer),
        HERE(the_text_ends_with_the_sentence_that_reaches_the_words),
        HERE(every_word_is_made_of_small_letters),
        HERE(what_is_told_is_true),
        HERE(an_stands_before_an_open_sound),
        HERE(counts_fall_about_as_one_over_rank),
        HERE(a_question_is_four_different_words_of_the_text),
        HERE(questions_come_in_sections_of_meaning_and_then_of_grammar),
        HERE(no_question_is_asked_twice),
        HERE(words_out_of_range_are_refused),
        HERE(text_and_questions_may_not_share_a_place),
        HERE(questions_and_stats_may_be_left_out),
        HERE(a_place_that_cannot_be_written_leaves_nothing_behind),
        HERE(a_watcher_who_says_stop_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
