/* file: journal.c. */
#include "file/file.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"

static struct journal *open_journal(const char *path, bool more)
{
    struct journal *j;

    if (journal_open(&j, path, more) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return j;
}

static void add(struct journal *j, const char *text)
{
    assert_int_equal(journal_add(j, text, strlen(text)), SHOAL_OK);
}

static void a_line_is_there_as_soon_as_it_was_added(void **state)
{
    struct journal *j;

    (void)state;
    put_text("log", "of another run\n");
    j = open_journal("log", false);
    assert_file_is("log", "");
    add(j, "one\n");
    assert_file_is("log", "one\n");
    add(j, "two\n");
    assert_file_is("log", "one\ntwo\n");
    assert_int_equal(journal_size(j), 8);
    journal_close(j);
}

static void who_goes_on_drops_a_line_that_was_not_ended(void **state)
{
    static const char *const left[] = {"one\ntw", "one\n", "tw", ""};
    static const char *const want[] = {"one\nnew\n", "one\nnew\n", "new\n", "new\n"};

    (void)state;
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        struct journal *j;

        put_text("log", left[i]);
        j = open_journal("log", true);
        add(j, "new\n");
        journal_close(j);
        assert_file_is("log", want[i]);
    }
    journal_close(open_journal("new", true));
    assert_file_is("new", "");
}

/* Longer than what is looked at in one go. */
static void a_long_line_that_was_not_ended_is_dropped_whole(void **state)
{
    static char text[20000];
    struct journal *j;

    (void)state;
    memset(text, 'x', sizeof text - 1);
    memcpy(text, "one\n", 4);
    put_text("log", text);
    j = open_journal("log", true);
    journal_close(j);
    assert_file_is("log", "one\n");
}

/* A file may have 10 bytes: as a disk that is full, it takes the beginning of a line. */
static void a_line_without_room_is_taken_back_and_told(void **state)
{
    struct rlimit before, small;
    struct journal *j = open_journal("log", false);
    void (*old)(int) = signal(SIGXFSZ, SIG_IGN);
    shoal_status st;

    (void)state;
    add(j, "one\n");
    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){10, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    st = journal_add(j, "two and three\n", 14);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, old);
    assert_int_equal(st, SHOAL_EIO);
    assert_string_equal(shoal_error(), "log: cannot be written: File too large");
    assert_file_is("log", "one\n");
    add(j, "four\n");
    assert_file_is("log", "one\nfour\n");
    journal_close(j);
}

static void what_cannot_be_written_is_one_sentence(void **state)
{
    struct journal *j = open_journal("/dev/full", true);

    (void)state;
    assert_int_equal(journal_add(j, "x\n", 2), SHOAL_EIO);
    assert_string_equal(shoal_error(), "/dev/full: cannot be written: No space left on device");
    journal_close(j);
    j = (struct journal *)1;
    assert_int_equal(journal_open(&j, "no/such/x", false), SHOAL_EIO);
    assert_null(j);
    assert_string_equal(shoal_error(), "no/such/x: cannot be written: No such file or directory");
}

static void what_is_cut_is_gone(void **state)
{
    struct journal *j = open_journal("log", false);

    (void)state;
    add(j, "one\ntwo\nthree\n");
    assert_int_equal(journal_cut(j, 4), SHOAL_OK);
    add(j, "four\n");
    assert_file_is("log", "one\nfour\n");
    journal_close(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HERE(a_line_is_there_as_soon_as_it_was_added),
        HERE(who_goes_on_drops_a_line_that_was_not_ended),
        HERE(a_long_line_that_was_not_ended_is_dropped_whole),
        HERE(a_line_without_room_is_taken_back_and_told),
        HERE(what_cannot_be_written_is_one_sentence),
        HERE(what_is_cut_is_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
