/* sparse: rows that lie in memory as numbers, and models asked about them. */
#include <math.h>
#include <setjmp.h>

#include "scratch.h"

#include "clicks.h"

/* ---- the same rows in four shapes ---- */

#define TEXT "1 0:1 2:0.5\n0 1:-2\n1 0:1 1:4 2:1\n0\n"

static const uint32_t labels[] = {1, 0, 1, 0};
static const int32_t starts[] = {0, 2, 3, 6, 6};
static const int32_t columns[] = {0, 2, 1, 0, 1, 2};
static const float values[] = {1, 0.5F, -2, 1, 4, 1};
static const int64_t wide_starts[] = {0, 2, 3, 6, 6};
static const int64_t wide_columns[] = {0, 2, 1, 0, 1, 2};
static const double wide_values[] = {1, 0.5, -2, 1, 4, 1};
static const float dense[] = {1, 0, 0.5F, 0, -2, 0, 1, 4, 1, 0, 0, 0};
static const double wide_dense[] = {1, 0, 0.5, 0, -2, 0, 1, 4, 1, 0, 0, 0};

static const struct shoal_rows shapes[] = {
    {4, 3, starts, columns, values, false, false},
    {4, 3, wide_starts, wide_columns, wide_values, true, true},
    {4, 3, NULL, NULL, dense, false, false},
    {4, 3, NULL, NULL, wide_dense, false, true},
};

static shoal_clicks *make_rows(const struct shoal_rows *x, const float *weight,
                               const struct shoal_clicks_opts *opts)
{
    shoal_clicks *c = NULL;

    if (shoal_clicks_new(&c, x, labels, weight, opts) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return c;
}

static struct shoal_clicks_opts plain_opts(void)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_LIBSVM);

    opts.plain = true;
    opts.bits = 2;
    return opts;
}

static void rows_in_memory_are_those_of_text(void **state)
{
    struct shoal_clicks_opts opts = plain_opts();
    const char *path = scratch_put("rows", TEXT, strlen(TEXT));
    shoal_clicks *text = read_clicks(path, &opts, NULL);

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        shoal_clicks *c = make_rows(&shapes[i], NULL, &opts);
        struct bytes b = clicks_spelled(c);

        assert_string_equal(b.at, "1 0 2:0.5 | 0 1:-2 | 1 0 1:4 2 | 0");
        assert_true(shoal_clicks_fingerprint(c) == shoal_clicks_fingerprint(text));
        assert_true(shoal_clicks_like(c).plain);
        bytes_fini(&b);
        shoal_clicks_close(c);
    }
    shoal_clicks_close(text);
}

static void a_plain_index_without_a_slot_is_left_out(void **state)
{
    struct shoal_clicks_opts opts = plain_opts();

    (void)state;
    assert_reads("1 0:1 3:2 4:1 123456789:7\n0 5:1\n", &opts, "1 0 3:2 | 0");
}

static void columns_are_numbered_hottest_first(void **state)
{
    static const int32_t from[] = {0, 1, 3}, at[] = {9, 5, 9};
    static const struct shoal_rows x = {2, 10, from, at, NULL, false, false};
    struct shoal_clicks_opts opts = shoal_clicks_default();
    shoal_clicks *c = make_rows(&x, NULL, &opts);

    (void)state;
    assert_string_equal(shoal_clicks_name(c, 0), "9");
    assert_string_equal(shoal_clicks_name(c, 1), "5");
    assert_int_equal(shoal_clicks_count(c, 0, NULL), 2);
    assert_int_equal(shoal_clicks_counts(c).features, 2);
    assert_false(shoal_clicks_counts(c).valued);
    shoal_clicks_close(c);
}

static void rows_in_memory_have_weights_and_names_of_classes(void **state)
{
    static const float weight[] = {1, 2, 0.5F, 1};
    static const char *const names[] = {"no", "yes"};
    struct shoal_clicks_opts opts = shoal_clicks_default();
    shoal_clicks *c;
    struct bytes b;

    (void)state;
    opts.labels = names;
    opts.nlabels = 2;
    c = make_rows(&shapes[0], weight, &opts);
    b = clicks_spelled(c);
    assert_string_equal(b.at, "1 0 2:0.5 | 0*2 1:-2 | 1*0.5 0 1:4 2 | 0");
    assert_string_equal(shoal_clicks_label(c, 1), "yes");
    assert_int_equal(shoal_clicks_counts(c).positives, 2);
    bytes_fini(&b);
    shoal_clicks_close(c);
}

static void values_are_brought_to_one_size_when_asked(void **state)
{
    struct shoal_clicks_opts opts = shoal_clicks_default();
    const struct clicks_view *v;
    shoal_clicks *c;
    double sum = 0;

    (void)state;
    opts.scale = true;
    c = make_rows(&shapes[2], NULL, &opts);
    v = clicks_view(c);
    for (uint64_t i = 0; i < v->values; i++)
        sum += v->slot[v->id[i]] == 1 ? pow((double)v->value[i], 2) : 0;
    assert_float_equal(sum, 2, 1e-5); /* two values of column 1, whose mean square is 1 */
    shoal_clicks_close(c);
}

static void many_blocks_of_rows_are_one(void **state)
{
    enum { ROWS = 3000, WIDTH = 100 };
    float *x = mem_array((size_t)ROWS * WIDTH, sizeof *x);
    uint32_t *label = mem_array(ROWS, sizeof *label);
    struct shoal_rows rows = {ROWS, WIDTH, NULL, NULL, x, false, false};
    struct shoal_clicks_opts opts = shoal_clicks_default();
    shoal_clicks *c = NULL;
    const struct clicks_view *v;

    (void)state;
    assert_non_null(x);
    assert_non_null(label);
    for (size_t i = 0; i < (size_t)ROWS * WIDTH; i++)
        x[i] = (float)(i % 7);
    assert_int_equal(shoal_clicks_new(&c, &rows, label, NULL, &opts), SHOAL_OK);
    v = clicks_view(c);
    for (uint64_t r = 0; r < v->rows; r++)
        for (uint64_t i = v->start[r]; i < v->start[r + 1]; i++)
            assert_float_equal(v->value[i], x[r * WIDTH + v->slot[v->id[i]]], 0);
    assert_int_equal(v->values, v->start[ROWS]);
    shoal_clicks_close(c);
    free(label);
    free(x);
}

/* ---- what is refused ---- */

static void refuse(const struct shoal_rows *x, const uint32_t *label, const float *weight,
                   const struct shoal_clicks_opts *opts, const char *want)
{
    shoal_clicks *c = NULL;

    assert_int_equal(shoal_clicks_new(&c, x, label, weight, opts), SHOAL_EINVAL);
    assert_null(c);
    assert_string_equal(shoal_error(), want);
}

static void malformed_matrices_are_refused_with_the_row(void **state)
{
    static const int32_t back[] = {0, 2, 1, 6, 6}, late[] = {1, 2, 3, 6, 6};
    static const int32_t beyond[] = {0, 2, 1, 0, 3, 2}, below[] = {0, 2, 1, 0, -1, 2};
    static const double huge[] = {1, 0.5, 1e39, 1, 4, 1};
    static const float nan[] = {1, NAN, 3, 1, 4, 1};
    struct shoal_clicks_opts o = shoal_clicks_default();

    (void)state;
    refuse(&(struct shoal_rows){4, 3, back, columns, values, false, false}, labels, NULL, &o,
           "rows: row 1 ends at 1, before it begins at 2");
    refuse(&(struct shoal_rows){4, 3, late, columns, values, false, false}, labels, NULL, &o,
           "rows: the first begins at 1, want 0");
    refuse(&(struct shoal_rows){4, 3, starts, beyond, values, false, false}, labels, NULL, &o,
           "rows: row 2 has column 3, want 0 to 2");
    refuse(&(struct shoal_rows){4, 3, starts, below, values, false, false}, labels, NULL, &o,
           "rows: row 2 has column -1, want 0 to 2");
    refuse(&(struct shoal_rows){4, 3, starts, columns, huge, false, true}, labels, NULL, &o,
           "rows: row 1 has in column 1 no finite number of 32 bits");
    refuse(&(struct shoal_rows){4, 3, starts, columns, nan, false, false}, labels, NULL, &o,
           "rows: row 0 has in column 2 no finite number of 32 bits");
    refuse(&(struct shoal_rows){4, 3, starts, NULL, values, false, false}, labels, NULL, &o,
           "rows: found no columns of a sparse matrix, want them");
    refuse(&(struct shoal_rows){4, 3, NULL, NULL, NULL, false, false}, labels, NULL, &o,
           "rows: found no values of a dense matrix, want them");
    refuse(
        &(struct shoal_rows){UINT32_MAX / 2, (uint64_t)1 << 62, NULL, NULL, values, false, false},
        labels, NULL, &o,
        "rows: found 2147483647 rows of 4611686018427387904 columns, want fewer than 4294967295 "
        "of 1 to 1073741824");
    refuse(&(struct shoal_rows){0, 3, starts, columns, values, false, false}, labels, NULL, &o,
           "rows: found none, want one or more");
}

static void classes_and_weights_that_cannot_be_are_refused(void **state)
{
    static const uint32_t third[] = {1, 0, 2, 0};
    static const float weight[] = {1, 1, -1, 1};
    static const char *const same[] = {"a", "a"};
    struct shoal_clicks_opts o = shoal_clicks_default();
    struct shoal_clicks_opts named = o;
    shoal_clicks *c = NULL;

    (void)state;
    named.labels = same;
    named.nlabels = 2;
    refuse(&shapes[0], third, NULL, &o, "rows: row 2 is of class 2, want 0 to 1");
    refuse(&shapes[0], labels, weight, &o, "rows: row 2 has the weight -1, want 0 or more");
    refuse(&shapes[0], labels, NULL, &named,
           "rows: the class \"a\" has the name of another, or one of over 255 bytes");
    o.classes = true;
    assert_int_equal(shoal_clicks_new(&c, &shapes[0], third, NULL, &o), SHOAL_OK);
    assert_int_equal(shoal_clicks_counts(c).classes, 3);
    shoal_clicks_close(c);
}

static void too_little_memory_is_refused(void **state)
{
    struct shoal_clicks_opts o = shoal_clicks_default();
    shoal_clicks *c = NULL;

    (void)state;
    o.memory_limit = 1000;
    assert_int_equal(shoal_clicks_new(&c, &shapes[0], labels, NULL, &o), SHOAL_ELIMIT);
    assert_null(c);
}

/* ---- models ---- */

static bool keep_lines(void *user, const char *lines, size_t len)
{
    return bytes_add(user, lines, len) == SHOAL_OK;
}

static shoal_model *train_on(const char *task, const shoal_clicks *rows)
{
    shoal_options *o = NULL;
    shoal_data *data = NULL;
    shoal_model *model = NULL;

    if (shoal_options_new(&o, task) != SHOAL_OK ||
        shoal_options_set(o, "epochs", "300") != SHOAL_OK ||
        shoal_options_set(o, "valid-share", "0") != SHOAL_OK ||
        shoal_options_set(o, "early-stop", "0") != SHOAL_OK ||
        shoal_data_new(&data, &(struct shoal_sources){.rows = rows}) != SHOAL_OK ||
        shoal_train(&model, o, data, NULL, NULL) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    shoal_data_close(data);
    shoal_options_free(o);
    return model;
}

/* Through a file and back. */
static shoal_model *saved_again(shoal_model *model)
{
    shoal_model *again = NULL;

    assert_int_equal(shoal_model_save(model, scratch_path("model.shoal"), NULL), SHOAL_OK);
    if (shoal_model_open(&again, scratch_path("model.shoal")) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    shoal_model_close(model);
    return again;
}

static void a_model_of_a_matrix_scores_every_shape_as_it_does_text(void **state)
{
    struct shoal_clicks_opts opts = shoal_clicks_default();
    shoal_clicks *rows = make_rows(&shapes[0], NULL, &opts);
    shoal_model *model = saved_again(train_on("logreg", rows));
    struct shoal_ask_opts ask = shoal_ask_default();
    const char *text = scratch_put("rows", TEXT, strlen(TEXT));
    struct bytes said = {0};
    double z[4];
    float weight[4], bias;
    char *at;

    (void)state;
    assert_int_equal(shoal_model_predict(model, &text, 1, &ask, keep_lines, &said, NULL), SHOAL_OK);
    assert_int_equal(bytes_add(&said, "", 1), SHOAL_OK);
    assert_int_equal(shoal_linear_outputs(model), 1);
    assert_string_equal(shoal_linear_label(model, 1), "1");
    assert_null(shoal_linear_label(model, 2));
    assert_int_equal(shoal_linear_weights(model, 4, weight, &bias), SHOAL_OK);
    assert_true(weight[0] > 0 && weight[3] == 0);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        assert_int_equal(shoal_linear_scores(model, &shapes[i], 2, z), SHOAL_OK);
        at = said.at;
        for (size_t r = 0; r < 4; r++) {
            double by_hand = (double)bias;

            for (size_t k = 0; k < 3; k++)
                by_hand += (double)(weight[k] * dense[3 * r + k]);
            assert_float_equal(z[r], by_hand, 1e-6);
            assert_float_equal((float)(1 / (1 + exp(-z[r]))), strtof(at, &at), 1e-5);
        }
    }
    bytes_fini(&said);
    shoal_model_close(model);
    shoal_clicks_close(rows);
}

static void a_model_of_many_classes_scores_each(void **state)
{
    static const uint32_t third[] = {0, 1, 2, 0};
    struct shoal_clicks_opts opts = shoal_clicks_default();
    shoal_clicks *rows = NULL;
    shoal_model *model;
    double z[12];
    float weight[9], bias[3];

    (void)state;
    opts.classes = true;
    assert_int_equal(shoal_clicks_new(&rows, &shapes[3], third, NULL, &opts), SHOAL_OK);
    model = saved_again(train_on("multinomial", rows));
    assert_int_equal(shoal_linear_outputs(model), 3);
    assert_int_equal(shoal_linear_scores(model, &shapes[1], 0, z), SHOAL_OK);
    assert_int_equal(shoal_linear_weights(model, 3, weight, bias), SHOAL_OK);
    for (size_t k = 0; k < 3; k++)
        assert_float_equal(z[3 + k], (double)(bias[k] - 2 * weight[3 * k + 1]), 1e-6);
    assert_true(z[4] > z[3] && z[4] > z[5]);
    shoal_model_close(model);
    shoal_clicks_close(rows);
}

static void hashed_features_are_found_by_their_index(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_LIBSVM);
    shoal_clicks *text = read_clicks(scratch_put("rows", TEXT, strlen(TEXT)), &opts, NULL);
    shoal_clicks *plain = make_rows(&shapes[0], NULL, &opts);
    shoal_model *hashed = train_on("logreg", text);
    double z[4];
    float weight[3], bias;

    (void)state;
    assert_int_equal(shoal_linear_scores(hashed, &shapes[0], 1, z), SHOAL_OK);
    assert_int_equal(shoal_linear_weights(hashed, 3, weight, &bias), SHOAL_OK);
    assert_float_equal(z[1], (double)(bias - 2 * weight[1]), 1e-6);
    assert_true(weight[0] > 0);
    shoal_model_close(hashed);
    shoal_clicks_close(plain);
    shoal_clicks_close(text);
}

static void a_model_of_another_format_is_not_asked_about_columns(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_VW);
    const char *text = "1 |f a b\n-1 |f c\n";
    shoal_clicks *rows = read_clicks(scratch_put("rows", text, strlen(text)), &opts, NULL);
    shoal_model *model = train_on("logreg", rows);
    double z[4];

    (void)state;
    assert_int_equal(shoal_linear_scores(model, &shapes[0], 1, z), SHOAL_EINVAL);
    assert_string_equal(shoal_error(),
                        "rows: found a model of rows of vw, want one of numbered columns");
    shoal_model_close(model);
    shoal_clicks_close(rows);
}

/* ---- going on ---- */

/* Trains one step of no size, beginning with model.shoal. */
static shoal_status go_on(shoal_model **model, const char *task, const char *solver,
                          const shoal_clicks *rows, const char *epochs)
{
    const char *set[][2] = {{"epochs", epochs},
                            {"valid-share", "0"},
                            {"early-stop", "0"},
                            {"optimizer", solver},
                            {"l1", "0.5"},
                            {"l2", "0.25"},
                            {"start-from", scratch_path("model.shoal")}};
    shoal_options *o = NULL;
    shoal_data *data = NULL;
    shoal_status st = shoal_options_new(&o, task);

    for (size_t i = 0; i < sizeof set / sizeof *set && st == SHOAL_OK; i++)
        st = shoal_options_set(o, set[i][0], set[i][1]);
    if (st == SHOAL_OK && strcmp(epochs, "1") == 0)
        st = shoal_options_set(o, "lr", "1e-9"); /* nothing new is learned */
    if (st == SHOAL_OK)
        st = shoal_data_new(&data, &(struct shoal_sources){.rows = rows});
    if (st == SHOAL_OK)
        st = shoal_train(model, o, data, &(struct shoal_train_how){.lenient = true}, NULL);
    shoal_data_close(data);
    shoal_options_free(o);
    return st;
}

static void a_model_goes_on_where_it_was(void **state)
{
    static const char *const solvers[] = {"ftrl", "adagrad", "sgd"};
    /* Column 2 stands in no row, and 1 has another scale. */
    static const int32_t from[] = {0, 1, 2}, at[] = {0, 1};
    static const float some[] = {1, 8};
    static const struct shoal_rows x = {2, 3, from, at, some, false, false};
    struct shoal_clicks_opts opts = shoal_clicks_default();
    shoal_clicks *rows, *other;
    shoal_model *model, *then = NULL;
    float before[6], after[6], bias[3], bias_after[3];

    (void)state;
    for (unsigned many = 0; many < 2; many++) {
        const char *task = many ? "multinomial" : "logreg";
        size_t outputs = many ? 2 : 1;

        opts.scale = true;
        opts.classes = many;
        rows = make_rows(&shapes[0], NULL, &opts);
        other = make_rows(&x, NULL, &opts);
        model = saved_again(train_on(task, rows));
        assert_int_equal(shoal_linear_weights(model, 3, before, bias), SHOAL_OK);
        assert_true(before[2] != 0);
        for (size_t i = 0; i < 3; i++) {
            if (go_on(&then, task, solvers[i], other, "1") != SHOAL_OK)
                fail_msg("%s", shoal_error());
            assert_int_equal(shoal_linear_weights(then, 3, after, bias_after), SHOAL_OK);
            for (size_t k = 0; k < 3 * outputs; k++)
                assert_float_equal(after[k], before[k], 1e-4);
            for (size_t k = 0; k < outputs; k++)
                assert_float_equal(bias_after[k], bias[k], 1e-4);
            shoal_model_close(then);
        }
        assert_int_equal(go_on(&then, task, "adagrad", other, "50"), SHOAL_OK);
        assert_int_equal(shoal_linear_weights(then, 3, after, bias_after), SHOAL_OK);
        assert_float_equal(after[2], before[2], 1e-6); /* whose column stands in no row */
        assert_true(fabsf(after[0] - before[0]) > 1e-3F);
        shoal_model_close(then);
        shoal_model_close(model);
        shoal_clicks_close(other);
        shoal_clicks_close(rows);
    }
}

static void a_model_of_other_rows_is_not_gone_on_with(void **state)
{
    struct shoal_clicks_opts opts = shoal_clicks_default();
    struct shoal_clicks_opts text = clicks_opts(SHOAL_CLICKS_LIBSVM);
    static const char *const names[] = {"no", "yes"};
    shoal_clicks *rows = make_rows(&shapes[0], NULL, &opts), *hashed, *named;
    shoal_model *then = NULL;

    (void)state;
    shoal_model_close(saved_again(train_on("logreg", rows)));
    hashed = read_clicks(scratch_put("rows", TEXT, strlen(TEXT)), &text, NULL);
    assert_int_equal(go_on(&then, "logreg", "sgd", hashed, "1"), SHOAL_EINVAL);
    assert_non_null(
        strstr(shoal_error(), "is of rows of libsvm in 2^2 slots, want libsvm in 2^20"));
    opts.labels = names;
    opts.nlabels = 2;
    named = make_rows(&shapes[0], NULL, &opts);
    assert_int_equal(go_on(&then, "logreg", "sgd", named, "1"), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "has other labels than the rows, want the same"));
    assert_int_equal(go_on(&then, "multinomial", "sgd", rows, "1"), SHOAL_EINVAL);
    scratch_put("model.shoal", "cat 1 2\ndog 2 1\n", 16);
    assert_int_equal(go_on(&then, "logreg", "sgd", rows, "1"), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "is a model of kind vectors, want logreg"));
    assert_null(then);
    shoal_clicks_close(named);
    shoal_clicks_close(hashed);
    shoal_clicks_close(rows);
}

/* Of random labels nothing can be learned but the rows themselves. */
static void a_model_in_doubt_is_given_where_that_was_asked_for(void **state)
{
    enum { ROWS = 600, WIDTH = 400 };
    struct rng rng = {.seed = 1};
    float *x = mem_array((size_t)ROWS * WIDTH, sizeof *x);
    uint32_t *label = mem_array(ROWS, sizeof *label);
    struct shoal_rows rows = {ROWS, WIDTH, NULL, NULL, x, false, false};
    struct shoal_clicks_opts opts = shoal_clicks_default();
    struct shoal_train_stats *stats = mem_array(1, sizeof *stats);
    shoal_clicks *c = NULL;
    shoal_options *o = NULL;
    shoal_data *data = NULL;
    shoal_model *model = NULL;

    (void)state;
    assert_true(x && label && stats);
    for (size_t i = 0; i < (size_t)ROWS * WIDTH; i++)
        x[i] = (float)rng_below(&rng, 1000) / 500 - 1;
    for (size_t i = 0; i < ROWS; i++)
        label[i] = (uint32_t)rng_below(&rng, 2);
    assert_int_equal(shoal_clicks_new(&c, &rows, label, NULL, &opts), SHOAL_OK);
    assert_int_equal(shoal_data_new(&data, &(struct shoal_sources){.rows = c}), SHOAL_OK);
    assert_int_equal(shoal_options_new(&o, "logreg"), SHOAL_OK);
    assert_int_equal(shoal_options_set(o, "epochs", "50"), SHOAL_OK);
    assert_int_equal(shoal_options_set(o, "valid-share", "0.3"), SHOAL_OK);
    assert_int_equal(shoal_options_set(o, "threads", "1"), SHOAL_OK);
    assert_int_equal(shoal_train(&model, o, data, NULL, stats), SHOAL_EINVAL);
    assert_null(model);
    assert_non_null(strstr(shoal_error(), "learned its rows by heart"));
    assert_int_equal(
        shoal_train(&model, o, data, &(struct shoal_train_how){.lenient = true}, stats), SHOAL_OK);
    assert_non_null(model);
    assert_non_null(strstr(stats->doubt, "learned its rows by heart"));
    shoal_model_close(model);
    shoal_data_close(data);
    shoal_options_free(o);
    shoal_clicks_close(c);
    free(stats);
    free(label);
    free(x);
}

static void other_kinds_of_models_have_no_scores_of_rows(void **state)
{
    const char *text = "cat 1 2\ndog 2 1\n";
    shoal_model *model = NULL;
    double z[4];

    (void)state;
    assert_int_equal(shoal_model_open(&model, scratch_put("v.txt", text, strlen(text))), SHOAL_OK);
    assert_int_equal(shoal_linear_outputs(model), 0);
    assert_null(shoal_linear_label(model, 0));
    assert_int_equal(shoal_linear_scores(model, &shapes[0], 1, z), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "rows: found a model of kind vectors, want a linear one");
    shoal_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_in_memory_are_those_of_text),
        cmocka_unit_test(a_plain_index_without_a_slot_is_left_out),
        cmocka_unit_test(columns_are_numbered_hottest_first),
        cmocka_unit_test(rows_in_memory_have_weights_and_names_of_classes),
        cmocka_unit_test(values_are_brought_to_one_size_when_asked),
        cmocka_unit_test(many_blocks_of_rows_are_one),
        cmocka_unit_test(malformed_matrices_are_refused_with_the_row),
        cmocka_unit_test(classes_and_weights_that_cannot_be_are_refused),
        cmocka_unit_test(too_little_memory_is_refused),
        cmocka_unit_test(a_model_of_a_matrix_scores_every_shape_as_it_does_text),
        cmocka_unit_test(a_model_of_many_classes_scores_each),
        cmocka_unit_test(hashed_features_are_found_by_their_index),
        cmocka_unit_test(a_model_of_another_format_is_not_asked_about_columns),
        cmocka_unit_test(a_model_goes_on_where_it_was),
        cmocka_unit_test(a_model_of_other_rows_is_not_gone_on_with),
        cmocka_unit_test(a_model_in_doubt_is_given_where_that_was_asked_for),
        cmocka_unit_test(other_kinds_of_models_have_no_scores_of_rows),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
