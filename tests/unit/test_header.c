/* The opening example of shoal.h does what it shows. Its text is taken from the
 * header itself (tests/header_example.sh), so that it cannot grow stale. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <shoal.h>

static int example(void)
{
#include "header_example.inc"
    return 0;
}

static int in_folder(void **state)
{
    static char folder[] = "/tmp/shoal-header-XXXXXX";

    *state = folder;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    unlink("text.txt");
    unlink("text.shoal");
    unlink("printed");
    return chdir("/") == 0 && rmdir(*state) == 0 ? 0 : -1;
}

static void write_text(const char *text)
{
    FILE *f = fopen("text.txt", "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* Runs the example with standard output and error going to a file. */
static int run_example(char *printed, size_t cap)
{
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    FILE *f = fopen("printed", "w+");
    int result;
    size_t n;

    assert_non_null(f);
    assert_true(out >= 0 && err >= 0);
    fflush(NULL);
    dup2(fileno(f), STDOUT_FILENO);
    dup2(fileno(f), STDERR_FILENO);
    result = example();
    fflush(NULL);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    rewind(f);
    n = fread(printed, 1, cap - 1, f);
    printed[n] = '\0';
    fclose(f);
    return result;
}

static void the_example_prints_the_commonest_word(void **state)
{
    char printed[256];
    size_t size = 0;
    char word[64] = "";

    write_text("the cat and the dog\nthe end\n");
    assert_int_equal(run_example(printed, sizeof printed), 0);
    assert_int_equal(sscanf(printed, "%zu words, commonest: %63s", &size, word), 2);
    assert_string_equal(word, "the");
    assert_true(size >= 5);
}

static void the_example_says_what_is_wrong(void **state)
{
    char printed[256];

    unlink("text.txt");
    assert_int_equal(run_example(printed, sizeof printed), 1);
    assert_non_null(strstr(printed, "text.txt"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_prints_the_commonest_word),
        cmocka_unit_test(the_example_says_what_is_wrong),
    };

    return cmocka_run_group_tests(tests, in_folder, leave_folder);
}
