/* A program whose locale writes a comma for the point: files are the same. The locale
 * is made here, by localedef and the sources of Debian's package `locales`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/net.h"
#include "folder.h"
#include "study/study.h"

#include <locale.h>

/* False where there is none to be had. */
static bool comma(void)
{
    char text[8];

    if (system("localedef -i de_DE -f UTF-8 ./de_DE.UTF-8 >made 2>&1") == -1 ||
        setenv("LOCPATH", ".", 1) != 0 || !setlocale(LC_ALL, "de_DE.UTF-8"))
        return false;
    snprintf(text, sizeof text, "%.1f", 1.5);
    return strcmp(text, "1,5") == 0;
}

static int teardown(void **state)
{
    setlocale(LC_ALL, "C");
    return folder_teardown(state);
}

#define NEED_COMMA()                                                                               \
    do {                                                                                           \
        (void)state;                                                                               \
        if (!comma())                                                                              \
            skip();                                                                                \
    } while (0)

static void numbers_are_read_and_written_with_a_point(void **state)
{
    char text[32], *end;

    NEED_COMMA();
    assert_int_equal(number_print(text, sizeof text, "%.3f %a", 0.5, 1.5), 14);
    assert_string_equal(text, "0.500 0x1.8p+0");
    assert_true(number_read("2.5x", &end) == 2.5 && *end == 'x');
    assert_true(number_read_float("2,5", &end) == 2 && *end == ',');
    shoal_fail(SHOAL_EINVAL, "found %g", 0.5);
    assert_string_equal(shoal_error(), "found 0.5");
    snprintf(text, sizeof text, "%.1f", 1.5);
    assert_string_equal(text, "1,5"); /* the program's is as it was */
}

/* Options of a small net whose run is kept in the folder. */
static shoal_options *net_options(const char *folder)
{
    static const char *const values[][2] = {
        {"layers", "4"}, {"epochs", "2"}, {"checkpoint-every", "epoch"}, {"momentum", "0.75"}};
    shoal_options *o = NULL;

    assert_int_equal(shoal_options_new(&o, "mlp"), SHOAL_OK);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        assert_int_equal(shoal_options_set(o, values[i][0], values[i][1]), SHOAL_OK);
    assert_int_equal(shoal_options_set(o, "checkpoint", folder), SHOAL_OK);
    return o;
}

static shoal_model *train(shoal_options *o, const shoal_samples *samples)
{
    struct shoal_sources sources = {.samples = samples};
    shoal_model *model = NULL;
    shoal_data *data = NULL;

    assert_int_equal(shoal_data_new(&data, &sources), SHOAL_OK);
    if (shoal_train(&model, o, data, NULL, NULL) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    shoal_data_close(data);
    shoal_options_free(o);
    return model;
}

/* Text files of all kinds, and a net that is trained from them; with `name` before. */
static void make_files(const char *name)
{
    struct shoal_shapes_opts shapes = shoal_shapes_default(SHOAL_SPIRAL);
    struct shoal_samples_opts read = shoal_samples_default();
    shoal_samples *s = NULL;
    shoal_options *o = NULL;
    shoal_model *model;
    char path[64];

    snprintf(path, sizeof path, "%s.csv", name);
    shapes.samples = 300;
    assert_int_equal(shoal_shapes_write(path, &shapes), SHOAL_OK);
    assert_int_equal(shoal_samples_open(&s, path, &read), SHOAL_OK);
    model = train(net_options(name), s);
    snprintf(path, sizeof path, "%s.shoal", name);
    assert_int_equal(shoal_net_save(shoal_model_net(model), path), SHOAL_OK);
    snprintf(path, sizeof path, "%s.safetensors", name);
    assert_int_equal(shoal_net_export(shoal_model_net(model), path), SHOAL_OK);
    shoal_model_close(model);
    /* made in the other locale, if this is one */
    assert_int_equal(shoal_options_resume(&o, "plain"), SHOAL_OK);
    shoal_model_close(train(o, s));
    shoal_samples_close(s);
}

static void assert_same_file(const char *a, const char *b)
{
    size_t na, nb;
    char *x = get_file(a, &na), *y = get_file(b, &nb);

    if (na != nb || memcmp(x, y, na) != 0)
        fail_msg("%s and %s differ", a, b);
    free(x);
    free(y);
}

static void files_are_the_same_in_any_locale(void **state)
{
    shoal_net *net;

    make_files("plain");
    NEED_COMMA();
    make_files("comma");
    assert_same_file("plain.csv", "comma.csv");
    assert_same_file("plain.shoal", "comma.shoal");
    assert_same_file("plain.safetensors", "comma.safetensors");
    assert_int_equal(shoal_net_import(&net, "plain.safetensors", 32), SHOAL_OK);
    shoal_net_close(net);
}

static void descriptions_have_a_point(void **state)
{
    struct net *net;

    NEED_COMMA();
    assert_int_equal(net_new(&net, "vgg depth=11 bn=1 base=16 channels=3 height=8 width=8 "
                                   "hidden=32 dropout=0.5 outputs=3 sync=0"),
                     SHOAL_OK);
    net_free(net);
}

static void reports_are_the_same_in_any_locale(void **state)
{
    static const char metrics[] =
        "{\"event\":\"settings\",\"task\":\"cbow\",\"lr\":0.025}\n"
        "{\"event\":\"epoch\",\"progress\":0.5,\"unit\":\"words\",\"examples\":1000,"
        "\"seconds\":1.25,\"train\":{\"loss\":2.5}}\n"
        "{\"event\":\"done\",\"progress\":1,\"unit\":\"words\",\"examples\":2000,"
        "\"seconds\":2.5,\"train\":{\"loss\":1.5}}\n";
    struct shoal_report_opts opts = shoal_report_default();
    char *pages[2];
    size_t len[2];

    for (size_t i = 0; i < 2; i++) {
        shoal_run *run = NULL;

        if (i == 1)
            NEED_COMMA();
        assert_int_equal(study_run_parse(&run, "m.jsonl", metrics, strlen(metrics)), SHOAL_OK);
        assert_int_equal(
            shoal_report_text(&pages[i], &len[i], (const shoal_run *const *)&run, 1, &opts),
            SHOAL_OK);
        shoal_run_free(run);
    }
    pages[0][len[0] - 1] = pages[1][len[1] - 1] = '\0';
    *strstr(pages[0], "<footer>") = *strstr(pages[1], "<footer>") = '\0'; /* the time of day */
    assert_string_equal(pages[0], pages[1]);
    free(pages[0]);
    free(pages[1]);
}

#define LOCAL(test) cmocka_unit_test_setup_teardown(test, folder_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCAL(numbers_are_read_and_written_with_a_point),
        LOCAL(files_are_the_same_in_any_locale),
        LOCAL(descriptions_have_a_point),
        LOCAL(reports_are_the_same_in_any_locale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
