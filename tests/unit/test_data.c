/* train: data.c, from inputs to what a task learns from. */
#include "samples/samples.h"
#include "train/data.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "folder.h"

#define TEXT "the cat sat on the mat\nthe dog sat on the log\n"
#define ROWS "1 1:1\n0 2:1\n1 1:1 2:2\n0 3:1\n"

static struct train_opts some_opts(void)
{
    struct train_opts o = {.encode = shoal_encode_default(),
                           .rows = shoal_clicks_default(),
                           .samples = shoal_samples_default(),
                           .images = shoal_images_default(),
                           .threads = 1,
                           .output = "model"};

    o.encode.vocab.min_count = 1;
    o.encode.vocab.memory = (uint64_t)1 << 22;
    return o;
}

static shoal_status open_all(struct shoal_data **out, enum data_kind kind,
                             const struct train_opts *o, const char *const *inputs, size_t n)
{
    struct data_how how = {.kind = kind, .opts = o};

    return data_open(out, &how, inputs, n);
}

static struct shoal_data *opened(enum data_kind kind, const struct train_opts *o, const char *input)
{
    struct shoal_data *d = NULL;

    if (open_all(&d, kind, o, &input, input ? 1 : 0) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return d;
}

static void assert_fails(shoal_status code, enum data_kind kind, const struct train_opts *o,
                         const char *input, const char *sentence)
{
    struct shoal_data *d;

    assert_int_equal(open_all(&d, kind, o, &input, input ? 1 : 0), code);
    assert_null(d);
    assert_error_has(sentence);
}

static void encode(const char *path)
{
    struct shoal_encode_opts opts = some_opts().encode;
    const char *in = "text";

    put_text("text", TEXT);
    assert_int_equal(shoal_encode(path, &in, 1, &opts, NULL), SHOAL_OK);
}

/* The one path that is remembered is this one, below the current folder. */
static void assert_remembers(const struct shoal_data *d, const char *name)
{
    char *here = getcwd(NULL, 0), want[4096];

    assert_non_null(d->inputs);
    snprintf(want, sizeof want, "%s/%s", here, name);
    assert_string_equal(d->inputs, want);
    free(here);
}

/* ---- Text ---- */

static void text_is_encoded_and_leaves_no_file(void **state)
{
    struct train_opts o = some_opts();
    struct shoal_data *d;

    (void)state;
    put_text("text", TEXT);
    d = opened(DATA_TEXT, &o, "text");
    assert_int_equal(shoal_corpus_words(d->at.corpus), 12);
    assert_non_null(shoal_data_found(d).text);
    assert_int_equal(shoal_data_found(d).text->text.words, 12);
    assert_null(d->inputs);
    assert_int_equal(files_here(), 1);
    shoal_data_close(d);
}

static void text_stays_in_the_folder_of_checkpoints(void **state)
{
    struct train_opts o = some_opts();
    struct shoal_data *d;

    (void)state;
    put_text("text", TEXT);
    o.checkpoint = "run";
    d = opened(DATA_TEXT, &o, "text");
    assert_remembers(d, "run/corpus.shoal");
    assert_int_equal(access("run/corpus.shoal", F_OK), 0);
    shoal_data_close(d);
}

static void a_folder_that_was_made_in_vain_is_gone(void **state)
{
    struct train_opts o = some_opts();

    (void)state;
    o.checkpoint = "run";
    assert_fails(SHOAL_ENOENT, DATA_TEXT, &o, "nowhere", "nowhere");
    assert_int_not_equal(access("run", F_OK), 0);
}

static void a_corpus_is_opened_where_it_is(void **state)
{
    struct train_opts o = some_opts();
    struct shoal_data *d;

    (void)state;
    encode("c.shoal");
    d = opened(DATA_TEXT, &o, "c.shoal");
    assert_int_equal(shoal_corpus_words(d->at.corpus), 12);
    assert_null(shoal_data_found(d).text);
    assert_remembers(d, "c.shoal");
    shoal_data_close(d);
}

static void a_corpus_among_others_is_refused(void **state)
{
    struct train_opts o = some_opts();
    const char *const inputs[] = {"text", "c.shoal"};
    struct shoal_data *d;

    (void)state;
    encode("c.shoal");
    assert_int_equal(open_all(&d, DATA_TEXT, &o, inputs, 2), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "c.shoal: is encoded, want it to be the only input");
}

/* ---- Going on ---- */

static void a_run_that_goes_on_finds_its_data(void **state)
{
    struct train_opts o = some_opts();
    struct shoal_data *d, *again;

    (void)state;
    put_text("text", TEXT);
    o.checkpoint = "run";
    d = opened(DATA_TEXT, &o, "text");
    o.inputs = d->inputs;
    o.resume = true;
    again = opened(DATA_TEXT, &o, NULL);
    assert_int_equal(shoal_corpus_words(again->at.corpus), 12);
    assert_string_equal(again->inputs, d->inputs);
    shoal_data_close(again);

    assert_int_equal(rename("run", "moved"), 0);
    o.checkpoint = "moved";
    again = opened(DATA_TEXT, &o, NULL);
    assert_remembers(again, "moved/corpus.shoal");
    shoal_data_close(again);

    assert_int_equal(unlink("moved/corpus.shoal"), 0);
    assert_fails(SHOAL_ENOENT, DATA_TEXT, &o, NULL, "the corpus of this run is gone");
    shoal_data_close(d);
}

static void text_that_is_named_again_is_not_remembered(void **state)
{
    struct train_opts o = some_opts();
    struct shoal_data *d;

    (void)state;
    put_text("text", TEXT);
    o.checkpoint = "run";
    o.resume = true;
    o.inputs = "/where/it/was";
    d = opened(DATA_TEXT, &o, "text");
    assert_string_equal(d->inputs, "/where/it/was");
    assert_int_not_equal(access("run", F_OK), 0);
    shoal_data_close(d);
}

static void a_run_that_remembers_nothing_wants_inputs(void **state)
{
    struct train_opts o = some_opts();

    (void)state;
    o.checkpoint = "run";
    o.resume = true;
    assert_fails(SHOAL_EINVAL, DATA_TEXT, &o, NULL, "run: does not say what it was trained on");
}

static void any_path_is_remembered_as_it_is(void **state)
{
    static const char *const paths[][2] = {
        {"/a\nb", "/a\\nb"}, {"/c\\n", "/c\\\\n"}, {"/", "/"}, {"/d\\", "/d\\\\"},
        {"/e:f::", "/e\\:f\\:\\:"}, {"/:\n\\\n", "/\\:\\n\\\\\\n"}};
    char back[PATH_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char *text = path_escape(paths[i][0]);

        assert_string_equal(text, paths[i][1]);
        assert_null(strchr(text, '\n'));
        assert_true(path_unescape(back, text));
        assert_string_equal(back, paths[i][0]);
        free(text);
    }
    assert_true(path_unescape(back, "/cut\\"));
    assert_string_equal(back, "/cut\\");
    assert_false(path_unescape(back, "/one:/another"));
}

/* ---- Ranks ---- */

static void each_rank_has_files_of_its_own(void **state)
{
    struct train_opts o = some_opts();
    struct shoal_data *d;

    (void)state;
    put_text("part0", TEXT);
    o.local_input = true;
    o.checkpoint = "run";
    d = opened(DATA_TEXT, &o, "part{rank}");
    assert_remembers(d, "run/corpus-{rank}.shoal");
    assert_int_equal(access("run/corpus-0.shoal", F_OK), 0);
    shoal_data_close(d);
}

/* ---- Rows, samples ---- */

static void rows_are_read_into_memory_or_kept(void **state)
{
    struct train_opts o = some_opts();
    struct shoal_data *d;

    (void)state;
    put_text("rows", ROWS);
    put_text("valid", ROWS ROWS);
    o.valid_path = "valid";
    d = opened(DATA_ROWS, &o, "rows");
    assert_int_equal(shoal_clicks_counts(d->at.rows).rows, 4);
    assert_int_equal(shoal_clicks_counts(d->at.valid_rows).rows, 8);
    assert_int_equal(shoal_data_found(d).rows->positives, 2);
    assert_int_equal(shoal_data_found(d).valid_rows->rows, 8);
    assert_int_equal(files_here(), 2);
    shoal_data_close(d);

    o.checkpoint = "run";
    d = opened(DATA_ROWS, &o, "rows");
    assert_remembers(d, "run/clicks.shoal");
    shoal_data_close(d);
}

static void samples_are_opened_with_what_is_held_out(void **state)
{
    struct train_opts o = some_opts();
    struct shoal_data *d, *again;

    (void)state;
    put_text("s.csv", "1,2,0\n3,4,1\n5,6,1\n");
    put_text("v.csv", "1,2,0\n");
    o.valid_path = "v.csv";
    d = opened(DATA_SAMPLES, &o, "s.csv");
    assert_int_equal(d->at.samples->n, 3);
    assert_int_equal(d->at.valid_samples->n, 1);
    assert_remembers(d, "s.csv");

    o.inputs = d->inputs;
    again = opened(DATA_SAMPLES, &o, NULL);
    assert_int_equal(again->at.samples->n, 3);
    shoal_data_close(again);
    shoal_data_close(d);
}

static void samples_are_one_input(void **state)
{
    struct train_opts o = some_opts();
    const char *const inputs[] = {"a", "b"};
    struct shoal_data *d;

    (void)state;
    assert_int_equal(open_all(&d, DATA_SAMPLES, &o, inputs, 2), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "data: found 2 inputs, want one");
}

/* ---- Objects that are there ---- */

static void what_is_there_is_borrowed(void **state)
{
    struct shoal_sources sources = {0};
    shoal_corpus *corpus;
    shoal_data *d;

    (void)state;
    encode("c.shoal");
    assert_int_equal(shoal_corpus_open(&corpus, "c.shoal"), SHOAL_OK);
    sources.corpus = corpus;
    assert_int_equal(shoal_data_new(&d, &sources), SHOAL_OK);
    assert_ptr_equal(d->at.corpus, corpus);
    assert_null(d->inputs);
    shoal_data_close(d);
    assert_int_equal(shoal_corpus_words(corpus), 12);
    shoal_corpus_close(corpus);
    shoal_data_close(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(text_is_encoded_and_leaves_no_file),
        TEST(text_stays_in_the_folder_of_checkpoints),
        TEST(a_folder_that_was_made_in_vain_is_gone),
        TEST(a_corpus_is_opened_where_it_is),
        TEST(a_corpus_among_others_is_refused),
        TEST(a_run_that_goes_on_finds_its_data),
        TEST(text_that_is_named_again_is_not_remembered),
        TEST(a_run_that_remembers_nothing_wants_inputs),
        TEST(any_path_is_remembered_as_it_is),
        TEST(each_rank_has_files_of_its_own),
        TEST(rows_are_read_into_memory_or_kept),
        TEST(samples_are_opened_with_what_is_held_out),
        TEST(samples_are_one_input),
        TEST(what_is_there_is_borrowed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
