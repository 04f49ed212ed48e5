/* The examples of shoal.h and its parts do what they show. Their text is taken from the
 * headers themselves (tests/header_example.sh), so that it cannot grow stale. */
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

static int opening_example(void)
{
#include "header_example.inc"
    return 0;
}

static int train_example(void)
{
#include "train_example.inc"
    return trained ? 0 : 1;
}

#include "model_example.inc"

static int model_example(void)
{
    return predict("model.shoal", "x.csv") == SHOAL_OK ? 0 : 1;
}

static int in_folder(void **state)
{
    static char folder[] = "/tmp/shoal-header-XXXXXX";

    *state = folder;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    static const char *const made[] = {"text.txt", "text.shoal", "x.csv", "model.shoal", "printed"};

    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        unlink(made[i]);
    return chdir("/") == 0 && rmdir(*state) == 0 ? 0 : -1;
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* Runs an example with standard output and error going to a file. */
static int run_example(int (*example)(void), char *printed, size_t cap)
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

    write_text("text.txt", "the cat and the dog\nthe end\n");
    assert_int_equal(run_example(opening_example, printed, sizeof printed), 0);
    assert_int_equal(sscanf(printed, "%zu words, commonest: %63s", &size, word), 2);
    assert_string_equal(word, "the");
    assert_true(size >= 5);
}

static void the_example_says_what_is_wrong(void **state)
{
    char printed[256];

    unlink("text.txt");
    assert_int_equal(run_example(opening_example, printed, sizeof printed), 1);
    assert_non_null(strstr(printed, "text.txt"));
}

static void the_example_of_training_asks_what_it_trained(void **state)
{
    char printed[256], word[64] = "";

    write_text("text.txt", "the cat and the dog saw a small fish swim\nthe end\n");
    assert_int_equal(run_example(train_example, printed, sizeof printed), 0);
    assert_int_equal(sscanf(printed, "nearest to cat: %63s", word), 1);
    assert_string_not_equal(word, "cat");
    unlink("text.txt");
    assert_int_equal(run_example(train_example, printed, sizeof printed), 1);
    assert_non_null(strstr(printed, "text.txt"));
}

/* A net of two inputs and two classes, in the folder. */
static void train_net(void)
{
    static const float x[8] = {0, 0, 0, 1, 1, 0, 1, 1};
    static const uint32_t label[4] = {0, 1, 0, 1};
    struct shoal_sources from = {0};
    shoal_samples *samples = NULL;
    shoal_options *options = NULL;
    shoal_data *data = NULL;

    assert_int_equal(shoal_samples_new(&samples, x, 4, 2, label, NULL, 0), SHOAL_OK);
    from.samples = samples;
    assert_int_equal(shoal_data_new(&data, &from), SHOAL_OK);
    assert_int_equal(shoal_options_new(&options, "mlp"), SHOAL_OK);
    assert_int_equal(shoal_options_set(options, "valid-share", "0"), SHOAL_OK);
    assert_int_equal(shoal_options_set(options, "output", "model.shoal"), SHOAL_OK);
    assert_int_equal(shoal_train(NULL, options, data, NULL, NULL), SHOAL_OK);
    shoal_data_close(data);
    shoal_samples_close(samples);
    shoal_options_free(options);
}

static void the_example_of_models_prints_a_line_for_each_sample(void **state)
{
    char printed[256], *line;

    train_net();
    write_text("x.csv", "0,1\n1,0\n1,1\n");
    assert_int_equal(run_example(model_example, printed, sizeof printed), 0);
    line = strchr(printed, '\n');
    assert_non_null(line);
    line = strchr(line + 1, '\n');
    assert_non_null(line);
    line = strchr(line + 1, '\n');
    assert_non_null(line);
    assert_string_equal(line, "\n");
}

static void the_number_of_the_version_is_its_text(void **state)
{
    unsigned major = 0, minor = 0, patch = 0;

    assert_int_equal(sscanf(shoal_version(), "%u.%u.%u", &major, &minor, &patch), 3);
    assert_int_equal(shoal_version_num(), 10000 * major + 100 * minor + patch);
    assert_int_equal(SHOAL_VERSION_NUM, shoal_version_num());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_prints_the_commonest_word),
        cmocka_unit_test(the_example_says_what_is_wrong),
        cmocka_unit_test(the_example_of_training_asks_what_it_trained),
        cmocka_unit_test(the_example_of_models_prints_a_line_for_each_sample),
        cmocka_unit_test(the_number_of_the_version_is_its_text),
    };

    return cmocka_run_group_tests(tests, in_folder, leave_folder);
}
