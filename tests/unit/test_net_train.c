/* Training nets: they learn, whatever the number of threads, stop and go on bit for
 * bit, and notice when it goes wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "saved/net/score.h"
#include "scratch.h"
#include "training.h"

#include <math.h>

static shoal_samples *make_spiral(uint64_t n)
{
    struct shoal_shapes_opts shapes = shoal_shapes_default(SHOAL_SPIRAL);
    struct shoal_samples_opts read = shoal_samples_default();
    shoal_samples *s;

    shapes.samples = n;
    assert_int_equal(shoal_shapes_write(scratch_path("spiral.csv"), &shapes), SHOAL_OK);
    assert_int_equal(shoal_samples_open(&s, scratch_path("spiral.csv"), &read), SHOAL_OK);
    return s;
}

static shoal_net *train_as(const shoal_samples *s, const struct train_opts *opts,
                           struct shoal_train_stats *stats)
{
    shoal_net *net = NULL;
    shoal_status st = train_mlp(&net, s, NULL, opts, stats);

    if (st != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return net;
}

static void assert_same_params(const shoal_net *a, const shoal_net *b)
{
    assert_int_equal(a->net->size, b->net->size);
    assert_memory_equal(a->params, b->params, a->net->size * sizeof(float));
}

/* ---- learning ---- */

static void the_spiral_is_learned_by_every_optimizer(void **state)
{
    static const struct {
        enum shoal_optimizer optimizer;
        double lr;
    } by[] = {{OPTIMIZER_SGD, 0.5}, {OPTIMIZER_MOMENTUM, 0.05}, {OPTIMIZER_ADAM, 0.01}};
    shoal_samples *s = make_spiral(4000);

    (void)state;
    for (unsigned o = 0; o < 3; o++) {
        struct train_opts opts = task_defaults("mlp");
        struct shoal_train_stats stats;
        double accuracy;

        opts.layers = "32,32";
        opts.optimizer = by[o].optimizer;
        opts.lr = by[o].lr;
        opts.epochs = 60;
        opts.schedule = SHOAL_COSINE;
        shoal_net_close(train_as(s, &opts, &stats));
        accuracy = validation(&stats.figures, "accuracy");
        if (!(accuracy > 0.95))
            fail_msg("optimizer %u: held-out accuracy %g", o, accuracy);
    }
    shoal_samples_close(s);
}

static void training_leaves_its_caller_the_mode_of_floats(void **state)
{
    shoal_samples *s = make_spiral(1000);
    struct train_opts opts = task_defaults("mlp");
    struct shoal_train_stats stats;
    unsigned before = floats_mode();

    (void)state;
    opts.epochs = 2;
    opts.threads = 2;
    for (unsigned i = 0; i < 2; i++) {
        shoal_net_close(train_as(s, &opts, &stats));
        assert_int_equal(floats_mode(), i ? floats_flush() : before);
        floats_flush();
    }
    floats_set(before);
    shoal_samples_close(s);
}

static void numbers_are_learned_and_answered_in_their_units(void **state)
{
    struct shoal_samples_opts read = {.task = SHOAL_REGRESS, .targets = 1};
    struct train_opts opts = task_defaults("mlp");
    struct net_score score = {0};
    struct bytes text = {0};
    double rmse;
    struct rng r = {.seed = 3};
    shoal_samples *s;
    shoal_net *net;

    (void)state;
    for (int i = 0; i < 2000; i++) {
        double a = rng_unit(&r), b = rng_unit(&r);
        char line[96];

        snprintf(line, sizeof line, "%g,%g,%g\n", a, b, 1000 + 300 * a * b);
        text_add_str(&text, line);
    }
    scratch_put("numbers.csv", text.at, text.len);
    bytes_fini(&text);
    assert_int_equal(shoal_samples_open(&s, scratch_path("numbers.csv"), &read), SHOAL_OK);
    opts.epochs = 60;
    opts.lr = 0.01;
    opts.schedule = SHOAL_COSINE;
    opts.activation = SHOAL_TANH;
    net = train_as(s, &opts, NULL);
    assert_int_equal(net_score_samples(&score, net, s), SHOAL_OK);
    rmse = sqrt(score.loss / (double)score.n);
    if (!(rmse < 10)) /* of numbers that vary by 66 */
        fail_msg("RMSE %g", rmse);
    shoal_net_close(net);
    shoal_samples_close(s);
}

static void the_result_does_not_depend_on_threads(void **state)
{
    shoal_samples *s = make_spiral(3000);
    struct train_opts opts = task_defaults("mlp");
    shoal_net *one, *three;

    (void)state;
    opts.layers = "300,100"; /* wide enough for several slices */
    opts.epochs = 2;
    opts.batch = 512;
    opts.threads = 1;
    one = train_as(s, &opts, NULL);
    opts.threads = 3;
    three = train_as(s, &opts, NULL);
    assert_same_params(one, three);
    shoal_net_close(one);
    shoal_net_close(three);
    shoal_samples_close(s);
}

/* ---- stopping and going on ---- */

struct stopper {
    unsigned reports, after;
};

static bool stop_after(void *user, const struct shoal_report *r)
{
    struct stopper *s = user;

    (void)r;
    return ++s->reports < s->after;
}

static void a_stopped_run_goes_on_bit_for_bit(void **state)
{
    shoal_samples *s = make_spiral(2000);

    (void)state;
    for (unsigned after = 1; after < 40; after += 13) {
        struct train_opts opts = task_defaults("mlp");
        struct stopper stopper = {.after = after};
        struct shoal_train_stats whole, rest;
        char folder[32];
        shoal_net *straight, *resumed, *none = NULL;

        snprintf(folder, sizeof folder, "run-%u", after);
        opts.epochs = 6;
        opts.report_steps = 4;
        straight = train_as(s, &opts, &whole);
        opts.checkpoint = scratch_path(folder);
        opts.report = stop_after;
        opts.user = &stopper;
        assert_int_equal(train_mlp(&none, s, NULL, &opts, NULL), SHOAL_ESTOP);
        assert_null(none);
        opts.resume = true;
        opts.report = NULL;
        resumed = train_as(s, &opts, &rest);
        assert_true(rest.resumed && rest.examples < whole.examples);
        assert_true(training(&whole.figures, "loss") == training(&rest.figures, "loss"));
        assert_true(validation(&whole.figures, "loss") == validation(&rest.figures, "loss"));
        assert_same_params(straight, resumed);
        shoal_net_close(straight);
        shoal_net_close(resumed);
    }
    shoal_samples_close(s);
}

static void a_run_goes_on_only_as_it_was(void **state)
{
    shoal_samples *s = make_spiral(500), *other = make_spiral(501);
    struct train_opts opts = task_defaults("mlp");
    struct stopper stopper = {.after = 1};
    shoal_net *net = NULL;

    (void)state;
    opts.report_steps = 1;
    opts.checkpoint = scratch_path("once");
    opts.report = stop_after;
    opts.user = &stopper;
    assert_int_equal(train_mlp(&net, s, NULL, &opts, NULL), SHOAL_ESTOP);
    opts.report = NULL;
    assert_int_equal(train_mlp(&net, s, NULL, &opts, NULL), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "holds checkpoints"));
    opts.resume = true;
    opts.seed = 7;
    assert_int_equal(train_mlp(&net, s, NULL, &opts, NULL), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "seed is 1 there, 7 here"));
    opts.seed = 1;
    opts.layers = "65";
    assert_int_equal(train_mlp(&net, s, NULL, &opts, NULL), SHOAL_EINVAL);
    opts.layers = "auto";
    assert_int_equal(train_mlp(&net, other, NULL, &opts, NULL), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "made with other data"));
    shoal_samples_close(s);
    shoal_samples_close(other);
}

static void a_loss_that_is_no_number_stops_the_run(void **state)
{
    shoal_samples *s = make_spiral(1000);
    struct train_opts opts = task_defaults("mlp");
    shoal_net *net = NULL;

    (void)state;
    opts.optimizer = OPTIMIZER_SGD;
    opts.lr = 1000;
    opts.epochs = 50;
    opts.layers = "64,64,64";
    assert_int_equal(train_mlp(&net, s, NULL, &opts, NULL), SHOAL_EDIVERGE);
    assert_null(net);
    assert_non_null(strstr(shoal_error(), "diverged"));
    shoal_samples_close(s);
}

static void options_out_of_range_are_named(void **state)
{
    (void)state;
    assert_string_equal(option_refused("mlp", "batch", "64"), "");
    assert_non_null(strstr(option_refused("mlp", "batch", "-1"), "--batch is '-1', want"));
    assert_non_null(strstr(option_refused("mlp", "momentum", "1"), "--momentum is '1', want"));
    assert_non_null(strstr(option_refused("mlp", "lr", "nan"), "--lr is 'nan', want"));
}

static void what_needs_too_much_memory_is_refused(void **state)
{
    shoal_samples *s = make_spiral(100);
    struct train_opts opts = task_defaults("mlp");
    shoal_net *net;

    (void)state;
    opts.memory_limit = 1000;
    assert_int_equal(train_mlp(&net, s, NULL, &opts, NULL), SHOAL_ELIMIT);
    shoal_samples_close(s);
}

/* ---- files ---- */

static void a_net_comes_back_from_its_file(void **state)
{
    shoal_samples *s = make_spiral(1000);
    struct train_opts opts = task_defaults("mlp");
    const char *path = scratch_path("net.shoal");
    float x[] = {0.3f, -0.2f}, a[4], b[4];
    char kind[32];
    shoal_net *net, *back;

    (void)state;
    opts.epochs = 2;
    opts.layers = "64";
    net = train_as(s, &opts, NULL);
    assert_int_equal(shoal_net_save(net, path), SHOAL_OK);
    assert_true(shoal_kind(path, kind));
    assert_string_equal(kind, "net");
    assert_int_equal(shoal_net_open(&back, path), SHOAL_OK);
    assert_same_params(net, back);
    assert_int_equal(shoal_net_predict(net, x, 1, a), SHOAL_OK);
    assert_int_equal(shoal_net_predict(back, x, 1, b), SHOAL_OK);
    assert_memory_equal(a, b, sizeof a);
    assert_string_equal(shoal_net_fact(back, "epochs"), "2");
    assert_string_equal(shoal_net_spec(back),
                        "mlp inputs=2 layers=64 outputs=4 activation=relu loss=softmax");
    assert_int_equal(shoal_net_parameters(back), 64 * 3 + 4 * 65);
    opts.start = path; /* and goes on */
    shoal_net_close(net);
    net = train_as(s, &opts, NULL);
    assert_true(memcmp(net->params, back->params, 100) != 0);
    shoal_net_close(net);
    shoal_net_close(back);
    shoal_samples_close(s);
}

static void a_regression_goes_on_in_the_units_it_learned(void **state)
{
    enum { N = 200 };
    struct train_opts opts = task_defaults("mlp");
    const char *path = scratch_path("regression.shoal");
    float x[N], y[N], one = 0.5F, before, after;
    shoal_samples *s;
    shoal_net *net;

    (void)state;
    opts.regression = true;
    opts.epochs = 20;
    opts.layers = "8";
    for (size_t i = 0; i < N; i++) {
        x[i] = (float)i / N;
        y[i] = 1000 + 10 * x[i];
    }
    assert_int_equal(shoal_samples_new(&s, x, N, 1, NULL, y, 1), SHOAL_OK);
    net = train_as(s, &opts, NULL);
    assert_int_equal(shoal_net_save(net, path), SHOAL_OK);
    assert_int_equal(shoal_net_predict(net, &one, 1, &before), SHOAL_OK);
    shoal_net_close(net);
    shoal_samples_close(s);
    for (size_t i = 0; i < N; i++)
        y[i] = x[i];
    assert_int_equal(shoal_samples_new(&s, x, N, 1, NULL, y, 1), SHOAL_OK);
    opts.start = path;
    opts.steps = 1;
    opts.lr = 1e-9; /* nothing new is learned */
    net = train_as(s, &opts, NULL);
    assert_int_equal(shoal_net_predict(net, &one, 1, &after), SHOAL_OK);
    assert_true(fabsf(before - 1005) < 2 && fabsf(after - before) < 0.01F);
    shoal_net_close(net);
    shoal_samples_close(s);
}

static void a_damaged_file_is_no_net(void **state)
{
    struct bytes b = scratch_get(scratch_path("net.shoal"));
    shoal_net *net = (shoal_net *)1;

    (void)state;
    for (size_t at = 0; at < b.len; at += 97) {
        b.at[at] ^= 4;
        scratch_put("bad.shoal", b.at, b.len);
        b.at[at] ^= 4;
        assert_int_not_equal(shoal_net_open(&net, scratch_path("bad.shoal")), SHOAL_OK);
        assert_null(net);
    }
    bytes_fini(&b);
}

static void samples_that_do_not_fit_the_net_are_refused(void **state)
{
    struct shoal_samples_opts read = shoal_samples_default();
    struct net_score score = {0};
    shoal_samples *s;
    shoal_net *net;

    (void)state;
    assert_int_equal(shoal_net_open(&net, scratch_path("net.shoal")), SHOAL_OK);
    read.numbers = true;
    scratch_put("three.csv", "1,2,3,0\n", 8);
    assert_int_equal(shoal_samples_open(&s, scratch_path("three.csv"), &read), SHOAL_OK);
    assert_int_equal(net_score_samples(&score, net, s), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "3 numbers, want 2"));
    shoal_samples_close(s);
    scratch_put("nine.csv", "1,2,0\n1,2,9\n", 12);
    read.nclasses = shoal_net_outputs(net);
    assert_int_equal(shoal_samples_open(&s, scratch_path("nine.csv"), &read), SHOAL_EFORMAT);
    assert_non_null(strstr(shoal_error(), "row 1 (from 0): its label is \"9\", want a class from 0"));
    shoal_net_close(net);
}

/* Four terabytes are promised; memory for them would be refused, or taken in vain. */
static void a_file_that_promises_more_than_it_holds_is_refused_by_its_sizes(void **state)
{
    static const char meta[] = "kind net\nspec mlp inputs=1000000 layers=1000000 outputs=2 "
                               "activation=relu loss=softmax\n";
    struct container_writer *w;
    float one = 1;
    shoal_net *net;

    (void)state;
    assert_int_equal(container_create(&w, scratch_path("promise.shoal")), SHOAL_OK);
    assert_int_equal(container_put(w, "meta", meta, sizeof meta - 1), SHOAL_OK);
    assert_int_equal(container_put(w, "params", &one, sizeof one), SHOAL_OK);
    assert_int_equal(container_commit(w), SHOAL_OK);
    assert_int_equal(shoal_net_open(&net, scratch_path("promise.shoal")), SHOAL_EFORMAT);
    assert_non_null(strstr(shoal_error(), "params has 1 numbers, want 1000003"));
    assert_null(net);
}

static void weights_that_promise_more_than_they_hold_are_refused_by_their_sizes(void **state)
{
    static const char header[] = "{\"__metadata__\":{\"spec\":\"mlp inputs=1000000 layers=1000000 "
                                 "outputs=2 activation=relu loss=softmax\"}}";
    char file[512];
    uint64_t len = sizeof header - 1;
    shoal_net *net;

    (void)state;
    memcpy(file, &len, sizeof len);
    memcpy(file + sizeof len, header, len);
    scratch_put("promise.safetensors", file, sizeof len + len);
    assert_int_equal(shoal_net_import(&net, scratch_path("promise.safetensors"), 32),
                     SHOAL_EFORMAT);
    assert_non_null(strstr(shoal_error(), "no tensor"));
    assert_null(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_spiral_is_learned_by_every_optimizer),
        cmocka_unit_test(training_leaves_its_caller_the_mode_of_floats),
        cmocka_unit_test(numbers_are_learned_and_answered_in_their_units),
        cmocka_unit_test(the_result_does_not_depend_on_threads),
        cmocka_unit_test(a_stopped_run_goes_on_bit_for_bit),
        cmocka_unit_test(a_run_goes_on_only_as_it_was),
        cmocka_unit_test(a_loss_that_is_no_number_stops_the_run),
        cmocka_unit_test(options_out_of_range_are_named),
        cmocka_unit_test(what_needs_too_much_memory_is_refused),
        cmocka_unit_test(a_net_comes_back_from_its_file),
        cmocka_unit_test(a_regression_goes_on_in_the_units_it_learned),
        cmocka_unit_test(a_damaged_file_is_no_net),
        cmocka_unit_test(a_file_that_promises_more_than_it_holds_is_refused_by_its_sizes),
        cmocka_unit_test(weights_that_promise_more_than_they_hold_are_refused_by_their_sizes),
        cmocka_unit_test(samples_that_do_not_fit_the_net_are_refused),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
