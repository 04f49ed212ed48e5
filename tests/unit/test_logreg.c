/* Training click models: what is learned, by which rules, and what a run promises of
 * equal bytes, of stopping and of going on. */
#include <shoal.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include "scratch.h"
#include "training.h"
#include "logreg.h"

enum { ROWS = 60000, HELD = 15000, BITS = 18 };

static shoal_clicks *data, *held, *other;
static struct shoal_gen_clicks_stats truth; /* of the rows in held */

static const enum shoal_optimizer optimizers[] = {OPTIMIZER_SGD, OPTIMIZER_ADAGRAD, OPTIMIZER_FTRL};

static shoal_clicks *make_rows(const char *name, uint64_t seed, uint64_t first, uint64_t rows,
                               struct shoal_gen_clicks_stats *stats)
{
    struct shoal_gen_clicks_opts gen = shoal_gen_clicks_default();
    struct shoal_clicks_opts read = shoal_clicks_default();
    struct shoal_gen_clicks_stats own;
    const char *path = scratch_path(name);
    shoal_clicks *out = NULL;

    gen.seed = seed, gen.first = first, gen.rows = rows;
    read.bits = BITS;
    if (shoal_gen_clicks(path, &gen, stats ? stats : &own) != SHOAL_OK ||
        shoal_clicks_read(&out, &path, 1, &read, NULL) != SHOAL_OK)
        print_message("%s\n", shoal_error());
    return out;
}

static int setup(void **state)
{
    if (scratch_setup(state) != 0)
        return -1;
    data = make_rows("data.tsv", 7, 0, ROWS, NULL);
    held = make_rows("held.tsv", 7, ROWS, HELD, &truth);
    other = make_rows("other.tsv", 8, 0, ROWS, NULL);
    return data && held && other ? 0 : -1;
}

static int teardown(void **state)
{
    shoal_clicks_close(data);
    shoal_clicks_close(held);
    shoal_clicks_close(other);
    return scratch_teardown(state);
}

/* Two epochs over the made-up rows. */
static struct train_opts usual(enum shoal_optimizer optimizer)
{
    struct train_opts o = logreg_opts(optimizer);

    o.epochs = 2;
    return o;
}

/* What was told of the rows that are held out; no examples: nothing. */
static struct shoal_binary_score held_in(const struct shoal_figures *f)
{
    struct shoal_binary_score s = {.log_loss = validation(f, "loss"),
                                   .auc = validation(f, "auc"),
                                   .base_rate = validation(f, "base_rate"),
                                   .calibration = validation(f, "calibration")};
    double examples = validation(f, "examples"), p = s.base_rate;

    s.examples = isnan(examples) ? 0 : (uint64_t)examples;
    s.predicted = s.calibration * p;
    s.base_log_loss = -p * log(p) - (1 - p) * log(1 - p);
    return s;
}

static struct shoal_binary_score score_of(const struct train_opts *o, uint64_t *weights)
{
    struct shoal_train_stats stats;
    shoal_logreg *model = train_rows(data, held, o, &stats);

    if (weights)
        *weights = model->n;
    logreg_close(model);
    return held_in(&stats.figures);
}

/* ---- what is learned ---- */

/* Of the way from the base rate to the planted weights. */
static double way(const struct shoal_binary_score *s)
{
    return (s->base_log_loss - s->log_loss) / (s->base_log_loss - truth.logloss);
}

static void planted_weights_are_recovered_by_every_optimizer(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct train_opts o = usual(optimizers[i]);
        struct shoal_binary_score s = score_of(&o, NULL);

        print_message("optimizer %zu: log-loss %.4f, best %.4f, base %.4f, auc %.4f\n", i,
                      s.log_loss, truth.logloss, s.base_log_loss, s.auc);
        assert_int_equal(s.examples, HELD);
        assert_true(s.log_loss > truth.logloss * 0.995);
        assert_true(s.log_loss < truth.logloss * 1.05);
        assert_true(way(&s) > 0.65);
        assert_near(s.calibration, 1, 0.1);
    }
}

static void deterministic_lanes_learn_as_well(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct train_opts o = usual(optimizers[i]);
        struct shoal_binary_score alone = score_of(&o, NULL), lanes;

        o.deterministic = true;
        lanes = score_of(&o, NULL);
        print_message("optimizer %zu: log-loss %.4f, in lanes %.4f\n", i, alone.log_loss,
                      lanes.log_loss);
        assert_near(lanes.log_loss, alone.log_loss, 0.004);
    }
}

static void two_threads_learn_nearly_as_well_as_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct train_opts o = usual(optimizers[i]);
        struct shoal_binary_score one = score_of(&o, NULL), two;

        o.threads = 2;
        two = score_of(&o, NULL);
        print_message("optimizer %zu: log-loss %.4f, of two threads %.4f\n", i, one.log_loss,
                      two.log_loss);
        /* Threads that share a busy core look at weights of long ago. */
        assert_true(way(&two) > 0.5);
    }
}

static void batches_learn_too(void **state)
{
    struct train_opts o = usual(OPTIMIZER_FTRL);

    (void)state;
    o.batch = 100;
    o.lr = 0.5;
    for (o.threads = 1; o.threads <= 2; o.threads++) {
        struct shoal_binary_score s = score_of(&o, NULL);

        assert_true(way(&s) > 0.6);
    }
}

static void l1_makes_weights_0_and_keeps_the_model_good(void **state)
{
    struct train_opts o = usual(OPTIMIZER_FTRL);
    uint64_t all, few;
    struct shoal_binary_score plain = score_of(&o, &all), sparse;

    (void)state;
    o.l1 = 2;
    sparse = score_of(&o, &few);
    print_message("%llu weights, %.4f; with l1 %llu, %.4f\n", (unsigned long long)all,
                  plain.log_loss, (unsigned long long)few, sparse.log_loss);
    assert_true(few > 0 && few < all / 2);
    assert_true(sparse.log_loss < plain.log_loss + 0.003);
}

static double size_of(const struct train_opts *o)
{
    shoal_logreg *model = train_rows(data, held, o, NULL);
    struct shoal_weight top[100];
    size_t found;
    double sum = 0;

    assert_int_equal(shoal_logreg_largest(model, top, 100, &found), SHOAL_OK);
    for (size_t i = 0; i < found; i++)
        sum += fabs((double)top[i].weight);
    logreg_close(model);
    return sum;
}

static void l1_and_l2_make_weights_smaller(void **state)
{
    static const double l1[] = {0.3, 0.3, 50}, l2[] = {0.3, 0.3, 300};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct train_opts o = usual(optimizers[i]);
        double plain = size_of(&o);

        o.l2 = l2[i];
        assert_true(size_of(&o) < 0.8 * plain);
        o.l2 = 0, o.l1 = l1[i];
        assert_true(size_of(&o) < 0.8 * plain);
    }
}

static void a_class_weight_shifts_what_is_promised(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct train_opts o = usual(optimizers[i]);
        struct shoal_binary_score plain = score_of(&o, NULL), more, less;

        o.positive = 4;
        more = score_of(&o, NULL);
        o.positive = 0.25;
        less = score_of(&o, NULL);
        assert_true(more.predicted > 1.5 * plain.predicted);
        assert_true(less.predicted < 0.7 * plain.predicted);
        assert_near(more.auc, plain.auc, 0.02);
    }
}

/* ---- by which rules: numbers from a sheet of paper ---- */

/* The model of a row of one feature, seen once. */
static void check_one_row(const struct train_opts *o, const char *line, double first_loss,
                          double weight, double bias)
{
    shoal_clicks *rows = read_rows(line, 10);
    struct shoal_train_stats stats;
    shoal_logreg *model = train_rows(rows, NULL, o, &stats);
    struct shoal_weight top;
    size_t found;

    assert_near(training(&stats.figures, "loss"), first_loss, 1e-6); /* before the step */
    assert_int_equal(stats.examples, 1);
    assert_int_equal(shoal_logreg_largest(model, &top, 1, &found), SHOAL_OK);
    assert_int_equal(found, weight != 0);
    if (found)
        assert_near((double)top.weight, weight, 1e-6);
    assert_near((double)model->bias[0], bias, 1e-6);
    logreg_close(model);
    shoal_clicks_close(rows);
}

/* The bias that a model of one row begins with: log odds of labels counted from one half on. */
static double first_bias(bool label, double positive)
{
    return label ? log((positive + 0.5) / 0.5) : log(0.5 / 1.5);
}

static double shrunk(double w, double by)
{
    return fabs(w) > by ? w - copysign(by, w) : 0;
}

/* One step from there, by the formulas of kernel.h: x is the value of the only feature. */
static void check_one_step(const struct train_opts *o, bool label, double x)
{
    double lr = o->lr, b = first_bias(label, o->positive), loss = log(1 + exp(label ? -b : b));
    double g = (sigmoid(b) - label) * (label ? o->positive : 1), d = g * x, w, rate;
    char text[32];

    snprintf(text, sizeof text, "%d 3:%g\n", label, x);
    switch (o->optimizer) {
    case OPTIMIZER_SGD:
        check_one_row(o, text, loss, shrunk(-lr * d, lr * o->l1), b - lr * g);
        break;
    case OPTIMIZER_ADAGRAD:
        rate = lr / (fabs(d) + o->beta);
        check_one_row(o, text, loss, shrunk(-rate * d, rate * o->l1),
                      b - lr / (fabs(g) + o->beta) * g);
        break;
    default: /* the bias has z = -b beta / lr, and n = g^2 */
        w = -shrunk(d, o->l1) / ((o->beta + fabs(d)) / lr + o->l2);
        check_one_row(o, text, loss, w,
                      -(-b * o->beta / lr + g - fabs(g) / lr * b) / ((o->beta + fabs(g)) / lr));
    }
}

static void one_step_is_what_the_formulas_say(void **state)
{
    static const enum shoal_optimizer all[] = {OPTIMIZER_SGD, OPTIMIZER_ADAGRAD, OPTIMIZER_FTRL};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct train_opts o = logreg_opts(all[i]);

        o.schedule = SHOAL_CONSTANT;
        o.lr = 0.5;
        check_one_step(&o, true, 1);
        check_one_step(&o, false, 1);
        check_one_step(&o, true, 2);
        o.l1 = 0.1; /* of the features, not of the bias */
        check_one_step(&o, true, 1);
        o.l1 = 1;
        check_one_step(&o, true, 1);
        o.l1 = 0;
        o.positive = 3;
        check_one_step(&o, true, 1);
        check_one_step(&o, false, 1);
        o.l2 = 5;
        check_one_step(&o, true, 1);
    }
}

static void a_model_begins_with_the_base_rate(void **state)
{
    shoal_clicks *rows = read_rows("1 3:1\n0 4:1\n0 5:1\n0 6:1\n", 10);
    struct train_opts o = logreg_opts(OPTIMIZER_FTRL);
    shoal_logreg *m;

    (void)state;
    o.lr = 1e-9;
    m = train_rows(rows, NULL, &o, NULL);
    assert_near((double)m->bias[0], log(1.5 / 3.5), 1e-5);
    logreg_close(m);
    shoal_clicks_close(rows);
}

static void the_loss_of_an_epoch_is_that_before_each_step(void **state)
{
    shoal_clicks *rows = read_rows("1 3:1\n", 10);
    struct train_opts o = logreg_opts(OPTIMIZER_SGD);
    struct shoal_train_stats stats;
    double b = first_bias(true, 1), g = sigmoid(b) - 1;

    (void)state;
    o.schedule = SHOAL_CONSTANT;
    o.lr = 0.5;
    o.epochs = 2;
    logreg_close(train_rows(rows, NULL, &o, &stats));
    assert_near(training(&stats.figures, "loss"), log(1 + exp(-(b - g))), 1e-6);
    assert_true(isnan(validation(&stats.figures, "loss")));
    assert_int_equal(held_in(&stats.figures).examples, 0);
    shoal_clicks_close(rows);
}

/* The weights of a, b and c after a few steps over all rows at once. */
static void weights_of(const char *lines, double w[3])
{
    shoal_clicks *rows = read_rows(lines, 12);
    struct train_opts o = logreg_opts(OPTIMIZER_SGD);
    struct shoal_weight top[3];
    shoal_logreg *model;
    size_t found;

    o.batch = 65536;
    o.epochs = 5;
    o.lr = 1;
    model = train_rows(rows, NULL, &o, NULL);
    assert_int_equal(shoal_logreg_largest(model, top, 3, &found), SHOAL_OK);
    assert_int_equal(found, 3);
    for (size_t i = 0; i < 3; i++)
        w[top[i].name[strlen(top[i].name) - 1] - 'a'] = (double)top[i].weight;
    logreg_close(model);
    shoal_clicks_close(rows);
}

static void a_row_of_weight_2_is_two_rows(void **state)
{
    double one[3], two[3], none[3];

    (void)state;
    weights_of("1 2 | a b\n-1 1 | b c\n1 0.5 | c\n1 0.5 | c\n", one);
    weights_of("1 | a b\n1 | a b\n-1 | b c\n1 | c\n", two);
    weights_of("1 | a b\n-1 | b c\n1 | c\n", none);
    for (size_t i = 0; i < 3; i++)
        assert_near(one[i], two[i], 1e-6);
    assert_true(fabs(one[0] - none[0]) > 0.01);
}

/* ---- the same bytes ---- */

static void assert_same_files(const char *a, const char *b)
{
    struct bytes x = scratch_get(a), y = scratch_get(b);

    assert_int_equal(x.len, y.len);
    assert_memory_equal(x.at, y.at, x.len);
    bytes_fini(&x);
    bytes_fini(&y);
}

static void train_to(const char *path, const struct train_opts *o)
{
    shoal_logreg *model = train_rows(data, held, o, NULL);

    assert_int_equal(logreg_save(model, path, NULL), SHOAL_OK);
    logreg_close(model);
}

static void any_number_of_threads_gives_the_same_bytes_when_deterministic(void **state)
{
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        struct train_opts o = usual(optimizers[i % 3]);

        o.deterministic = true;
        o.batch = i < 3 ? 1 : 100;
        train_to(scratch_path("one"), &o);
        for (o.threads = 2; o.threads <= 3; o.threads++) {
            train_to(scratch_path("more"), &o);
            assert_same_files(scratch_path("one"), scratch_path("more"));
        }
    }
}

/* ---- stopping and going on ---- */

/* Counts events and stops the run at the one of that number, from 1; 0: never. */
struct seen {
    unsigned events, stop_at;
    unsigned looks, epochs;
    double best;
    unsigned since; /* looks after the best */
    uint64_t words[64];
    double loss[64]; /* held out, at each look, ends of epochs among them */
    unsigned n;
};

static bool see(void *user, const struct shoal_report *r)
{
    struct seen *seen = user;
    bool look = r->event == SHOAL_EVENT_EVALUATION || r->event == SHOAL_EVENT_EPOCH;
    double loss = validation(&r->figures, "loss");

    seen->looks += r->event == SHOAL_EVENT_EVALUATION;
    seen->epochs += r->event == SHOAL_EVENT_EPOCH;
    if (r->event == SHOAL_EVENT_INTERVAL || r->event == SHOAL_EVENT_CHECKPOINT)
        assert_true(isnan(loss));
    if (look && !isnan(loss)) {
        if (seen->n == 0 || loss < seen->best) {
            seen->best = loss;
            seen->since = 0;
        } else {
            seen->since++;
        }
        if (seen->n < 64) {
            seen->words[seen->n] = r->examples;
            seen->loss[seen->n] = loss;
        }
        seen->n++;
    }
    seen->events += look;
    return !(look && seen->stop_at > 0 && seen->events == seen->stop_at);
}

static void a_stopped_run_goes_on_to_the_same_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct train_opts o = usual(optimizers[i]);
        struct seen seen = {.stop_at = 1};
        struct shoal_train_stats stats;
        const char *folder = scratch_path(i == 0 ? "run0" : i == 1 ? "run1" : "run2");
        shoal_logreg *model = NULL;
        unsigned stops = 0;
        uint64_t rows = 0;
        shoal_status st;

        o.deterministic = true;
        o.eval_every = 23000;
        train_to(scratch_path("whole"), &o);
        o.checkpoint = folder;
        o.report = see, o.user = &seen;
        /* Each time to the next look. */
        while ((st = train_logreg(&model, data, held, &o, &stats)) == SHOAL_ESTOP) {
            assert_null(model);
            assert_error_has("stopped on request");
            rows += stats.examples;
            stops++;
            o.resume = true;
            o.threads = 1 + stops % 3;
            seen = (struct seen){.stop_at = 1};
        }
        assert_int_equal(st, SHOAL_OK);
        rows += stats.examples;
        assert_true(stats.resumed);
        assert_int_equal(stops, 6); /* two looks within each epoch, and its end */
        assert_int_equal(rows, 2 * ROWS);
        assert_int_equal(logreg_save(model, scratch_path("again"), NULL), SHOAL_OK);
        logreg_close(model);
        assert_same_files(scratch_path("whole"), scratch_path("again"));
    }
}

static void refuse_to_resume(const shoal_clicks *rows, const struct train_opts *o, const char *name)
{
    shoal_logreg *model = NULL;
    shoal_status st = train_logreg(&model, rows, held, o, NULL);

    assert_null(model);
    assert_sentence(st, SHOAL_EINVAL, name);
}

static void only_the_same_run_goes_on(void **state)
{
    struct train_opts o = usual(OPTIMIZER_FTRL), x;
    struct seen seen = {.stop_at = 1};
    shoal_logreg *model = NULL;

    (void)state;
    o.checkpoint = scratch_path("kept");
    o.report = see, o.user = &seen;
    assert_int_equal(train_logreg(&model, data, held, &o, NULL), SHOAL_ESTOP);
    o.report = NULL;
    refuse_to_resume(data, &o, "another run"); /* without resume */
    o.resume = true;
    refuse_to_resume(other, &o, "made with other data");
    x = o, x.optimizer = OPTIMIZER_SGD;
    refuse_to_resume(data, &x, "optimizer");
    x = o, x.l1 = 2;
    refuse_to_resume(data, &x, "l1 is 0 there, 2 here");
    x = o, x.l2 = 2;
    refuse_to_resume(data, &x, "l2");
    x = o, x.beta = 2;
    refuse_to_resume(data, &x, "beta");
    x = o, x.positive = 2;
    refuse_to_resume(data, &x, "class-weight");
    x = o, x.eval_every = 100;
    refuse_to_resume(data, &x, "eval-every");
    x = o, x.early_stop = 1;
    refuse_to_resume(data, &x, "early-stop");
    x = o, x.batch = 7;
    refuse_to_resume(data, &x, "batch");
    x = o, x.lr = 0.7;
    refuse_to_resume(data, &x, "lr");
    x = o, x.deterministic = true;
    refuse_to_resume(data, &x, "deterministic");
    x = o, x.epochs = 7;
    refuse_to_resume(data, &x, "epochs");
    logreg_close(train_rows(data, held, &o, NULL));
}

static void what_was_asked_for_is_found_in_the_checkpoint(void **state)
{
    struct train_opts o = usual(OPTIMIZER_ADAGRAD);
    struct seen seen = {.stop_at = 2};
    struct shoal_checkpoint c;
    shoal_logreg *model = NULL;

    (void)state;
    o.checkpoint = scratch_path("told");
    o.eval_every = 23000;
    o.l1 = 0.125;
    o.positive = 2;
    o.valid_path = "/some where/held.tsv";
    o.output = "/model.shoal";
    o.report = see, o.user = &seen;
    assert_int_equal(train_logreg(&model, data, held, &o, NULL), SHOAL_ESTOP);
    assert_int_equal(shoal_checkpoint_read(&c, o.checkpoint), SHOAL_OK);
    assert_string_equal(c.task, "logreg");
    assert_string_equal(option_kept(o.checkpoint, "optimizer"), "adagrad");
    assert_string_equal(option_kept(o.checkpoint, "eval-every"), "23000");
    assert_string_equal(option_kept(o.checkpoint, "l1"), "0.125");
    assert_string_equal(option_kept(o.checkpoint, "class-weight"), "2");
    assert_string_equal(option_kept(o.checkpoint, "valid"), "/some where/held.tsv");
    assert_string_equal(option_kept(o.checkpoint, "output"), "/model.shoal");
    assert_int_equal(c.epoch, 0);
    assert_true(c.examples >= 45700 && c.examples < ROWS && c.progress > 0.3 && c.progress < 0.5);
}

/* ---- what is held out ---- */

static void looks_come_as_often_as_asked(void **state)
{
    struct train_opts o = usual(OPTIMIZER_FTRL);
    struct seen seen = {0};
    struct shoal_train_stats stats;

    (void)state;
    o.eval_every = 10000;
    o.report = see, o.user = &seen;
    logreg_close(train_rows(data, held, &o, &stats));
    assert_int_equal(seen.epochs, 2);
    assert_int_equal(seen.n, seen.looks + 2);
    assert_in_range(seen.looks, 8, 10);
    for (unsigned i = 1; i < seen.n; i++) {
        uint64_t rows = seen.words[i] - seen.words[i - 1];

        /* A look waits for the end of a chunk, of which one is shorter; that at the end of an
         * epoch does not. */
        assert_true(rows < 13000);
        assert_true(rows >= 9700 || seen.words[i] % ROWS == 0);
    }
    assert_true(seen.loss[0] > seen.loss[seen.n - 1]);
    assert_true(validation(&stats.figures, "loss") == seen.loss[seen.n - 1] && !stats.enough);
}

static void a_run_that_gets_no_better_stops(void **state)
{
    struct train_opts o = usual(OPTIMIZER_SGD);
    struct seen seen = {0};
    struct shoal_train_stats stats;

    (void)state;
    o.epochs = 60; /* learns by heart long before */
    o.schedule = SHOAL_CONSTANT;
    o.lr = 0.03;
    o.early_stop = 3;
    o.report = see, o.user = &seen;
    logreg_close(train_rows(data, held, &o, &stats));
    assert_true(stats.enough);
    assert_int_equal(seen.since, 3);
    assert_int_equal(seen.looks, 0);
    assert_int_equal(stats.examples, (uint64_t)seen.epochs * ROWS);
    assert_true(seen.epochs < 60);

    o.eval_every = 20000;
    seen = (struct seen){0};
    logreg_close(train_rows(data, held, &o, &stats));
    assert_true(stats.enough && seen.looks > 0);
    assert_int_equal(seen.since, 3);

    o.early_stop = 0;
    o.epochs = 3;
    o.lr = 0.01; /* at ten times that what is held out is worse than the base rate by then */
    seen = (struct seen){0};
    logreg_close(train_rows(data, held, &o, &stats));
    assert_true(!stats.enough);
    assert_int_equal(seen.epochs, 3);
}

static void what_is_held_out_is_a_share_at_the_end_or_other_rows(void **state)
{
    struct train_opts o = logreg_opts(OPTIMIZER_FTRL);
    struct shoal_train_stats stats;

    (void)state;
    logreg_close(train_rows(data, NULL, &o, &stats));
    assert_int_equal(held_in(&stats.figures).examples, 0);
    assert_int_equal(stats.examples, ROWS);
    o.valid = 0.25;
    logreg_close(train_rows(data, NULL, &o, &stats));
    assert_int_equal(held_in(&stats.figures).examples, ROWS / 4);
    assert_int_equal(stats.examples, ROWS - ROWS / 4);
    assert_near(held_in(&stats.figures).base_rate, (double)truth.positives / HELD, 0.02);
    /* then nothing is taken away */
    logreg_close(train_rows(data, held, &o, &stats));
    assert_int_equal(held_in(&stats.figures).examples, HELD);
    assert_int_equal(stats.examples, ROWS);
    assert_near(held_in(&stats.figures).base_rate, (double)truth.positives / HELD, 1e-12);
}

static void what_is_held_out_is_not_learned(void **state)
{
    shoal_clicks *rows = read_rows("1 1:1\n0 2:1\n1 1:1\n1 3:1\n", 10);
    struct train_opts o = logreg_opts(OPTIMIZER_SGD);
    struct shoal_train_stats stats;
    struct shoal_binary_score one;
    shoal_logreg *model;
    struct shoal_weight top[4];
    size_t found;

    (void)state;
    o.valid = 0.25;
    o.valid_at = VALID_END;
    model = train_rows(rows, NULL, &o, &stats);
    one = held_in(&stats.figures);
    assert_int_equal(one.examples, 1);
    assert_near(one.predicted, sigmoid((double)model->bias[0]), 1e-6);
    assert_near(one.log_loss, -log(one.predicted), 1e-6);
    assert_int_equal(shoal_logreg_largest(model, top, 4, &found), SHOAL_OK);
    assert_int_equal(found, 2);
    for (size_t i = 0; i < found; i++)
        assert_string_not_equal(top[i].name, "3");
    logreg_close(model);
    shoal_clicks_close(rows);
}

/* Each row has a feature of its own, so weights tell which rows were learned. */
static void the_seed_says_which_row_is_held_out(void **state)
{
    shoal_clicks *rows = read_rows("1 1:1\n0 2:1\n1 3:1\n0 4:1\n", 10);
    struct train_opts o = logreg_opts(OPTIMIZER_SGD);
    bool learned[5], out[5] = {false};
    struct shoal_train_stats stats;
    struct shoal_weight top[4];
    size_t found;

    (void)state;
    o.valid = 0.25;
    for (o.seed = 1; o.seed <= 16; o.seed++) {
        shoal_logreg *model;

        o.batch = 1 + (unsigned)o.seed % 3; /* batches reach over what is held out */
        model = train_rows(rows, NULL, &o, &stats);
        memset(learned, 0, sizeof learned);
        assert_int_equal(held_in(&stats.figures).examples, 1);
        assert_int_equal(shoal_logreg_largest(model, top, 4, &found), SHOAL_OK);
        assert_int_equal(found, 3);
        for (size_t i = 0; i < found; i++)
            learned[top[i].name[0] - '0'] = true;
        for (size_t i = 1; i <= 4; i++)
            out[i] |= !learned[i];
        logreg_close(model);
    }
    assert_true(out[1] && out[2] && out[3] && out[4]);
    shoal_clicks_close(rows);
}

/* The ids of other data are its own: slots say which feature is which. */
static void features_of_other_rows_are_found_by_their_slots(void **state)
{
    shoal_clicks *rows = read_rows("1 1:1\n0 2:1\n1 1:1\n0 2:1\n1 1:1\n", 10);
    shoal_clicks *ask = read_rows("0 2:1\n0 2:1\n0 2:1\n1 1:1\n1 9:1\n", 10);
    struct train_opts o = logreg_opts(OPTIMIZER_SGD);
    struct shoal_train_stats stats;
    double w1 = 0, w2 = 0, b, want;
    struct shoal_weight top[2];
    shoal_logreg *model;
    size_t found;

    (void)state;
    o.lr = 1;
    model = train_rows(rows, ask, &o, &stats);
    b = (double)model->bias[0];
    assert_int_equal(shoal_logreg_largest(model, top, 2, &found), SHOAL_OK);
    for (size_t i = 0; i < found; i++)
        *(strcmp(top[i].name, "1") == 0 ? &w1 : &w2) = (double)top[i].weight;
    want = -(3 * log(1 - sigmoid(b + w2)) + log(sigmoid(b + w1)) + log(sigmoid(b))) / 5;
    assert_near(held_in(&stats.figures).log_loss, want, 1e-5);
    logreg_close(model);
    shoal_clicks_close(rows);
    shoal_clicks_close(ask);
}

/* ---- what is refused ---- */

static void refused(const shoal_clicks *ask, struct train_opts o, const char *sentence)
{
    struct shoal_sources of = {.rows = data, .valid_rows = ask};
    struct shoal_train_plan plan;
    shoal_logreg *model = NULL;

    assert_sentence(train_logreg(&model, data, ask, &o, NULL), SHOAL_EINVAL, sentence);
    assert_null(model);
    assert_sentence(run_plan(task_find("logreg"), &o, &of, &plan), SHOAL_EINVAL, sentence);
}

static void options_out_of_range_are_named(void **state)
{
    static const struct {
        const char *name, *value;
    } wrong[] = {
        {"optimizer", "adam"}, {"l1", "-1"},          {"l1", "nan"},
        {"l2", "-0.5"},        {"l2", "inf"},         {"beta", "0"},
        {"beta", "-1"},        {"class-weight", "0"}, {"class-weight", "inf"},
        {"batch", "0"},        {"batch", "65537"},    {"epochs", "-1"},
        {"lr", "-1"},          {"lr", "nan"},         {"valid-share", "0.6"},
        {"schedule", "9"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *told = option_refused("logreg", wrong[i].name, wrong[i].value);
        char want[64], plain[64];

        snprintf(want, sizeof want, "--%s is '%s', want ", wrong[i].name, wrong[i].value);
        snprintf(plain, sizeof plain, "--%s is %s, want ", wrong[i].name, wrong[i].value);
        if (strncmp(told, want, strlen(want)) != 0 && strncmp(told, plain, strlen(plain)) != 0)
            fail_msg("found \"%s\", want \"%s...\"", told, want);
    }
}

static void looks_at_nothing_are_refused(void **state)
{
    struct train_opts o = logreg_opts(OPTIMIZER_FTRL);

    (void)state;
    o.early_stop = 2;
    refused(NULL, o, "--early-stop is 2, but nothing is held out");
    o.early_stop = 0;
    o.eval_every = 1000;
    refused(NULL, o, "--eval-every is 1000, but nothing is held out");
    o.valid = 0.1;
    logreg_close(train_rows(data, NULL, &o, NULL));
}

static void rows_of_other_bits_are_refused(void **state)
{
    shoal_clicks *ask = read_rows("1 1:1\n", BITS - 1);
    struct train_opts o = logreg_opts(OPTIMIZER_FTRL);

    (void)state;
    refused(ask, o, "what is held out has 2^17 slots, the data 2^18");
    shoal_clicks_close(ask);
}

static void what_takes_too_much_memory_is_refused_beforehand(void **state)
{
    struct train_opts o = usual(OPTIMIZER_FTRL);
    struct shoal_sources of = {.rows = data, .valid_rows = held};
    struct shoal_train_plan plan;
    shoal_logreg *model = NULL;

    (void)state;
    assert_int_equal(run_plan(task_find("logreg"), &o, &of, &plan), SHOAL_OK);
    assert_int_equal(plan.examples, ROWS);
    assert_int_equal(plan.types, shoal_clicks_counts(data).features);
    assert_true(plan.model_bytes >= 8 * plan.types);
    o.memory_limit = 1000;
    assert_int_equal(train_logreg(&model, data, held, &o, NULL), SHOAL_ELIMIT);
    assert_error_has("memory");
}

/* A step so large that the sum is no number any more, on the very last row. */
static void a_model_that_is_no_number_is_none(void **state)
{
    shoal_clicks *rows = read_rows("1 1:3e38\n", 10);
    struct train_opts o = logreg_opts(OPTIMIZER_SGD);
    shoal_logreg *model = NULL;

    (void)state;
    o.lr = 10;
    assert_sentence(train_logreg(&model, rows, NULL, &o, NULL), SHOAL_EDIVERGE, "diverged");
    assert_null(model);
    shoal_clicks_close(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_weights_are_recovered_by_every_optimizer),
        cmocka_unit_test(deterministic_lanes_learn_as_well),
        cmocka_unit_test(two_threads_learn_nearly_as_well_as_one),
        cmocka_unit_test(batches_learn_too),
        cmocka_unit_test(l1_makes_weights_0_and_keeps_the_model_good),
        cmocka_unit_test(l1_and_l2_make_weights_smaller),
        cmocka_unit_test(a_class_weight_shifts_what_is_promised),
        cmocka_unit_test(one_step_is_what_the_formulas_say),
        cmocka_unit_test(a_model_begins_with_the_base_rate),
        cmocka_unit_test(the_loss_of_an_epoch_is_that_before_each_step),
        cmocka_unit_test(a_row_of_weight_2_is_two_rows),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes_when_deterministic),
        cmocka_unit_test(a_stopped_run_goes_on_to_the_same_bytes),
        cmocka_unit_test(only_the_same_run_goes_on),
        cmocka_unit_test(what_was_asked_for_is_found_in_the_checkpoint),
        cmocka_unit_test(looks_come_as_often_as_asked),
        cmocka_unit_test(a_run_that_gets_no_better_stops),
        cmocka_unit_test(what_is_held_out_is_a_share_at_the_end_or_other_rows),
        cmocka_unit_test(what_is_held_out_is_not_learned),
        cmocka_unit_test(the_seed_says_which_row_is_held_out),
        cmocka_unit_test(features_of_other_rows_are_found_by_their_slots),
        cmocka_unit_test(options_out_of_range_are_named),
        cmocka_unit_test(looks_at_nothing_are_refused),
        cmocka_unit_test(rows_of_other_bits_are_refused),
        cmocka_unit_test(what_takes_too_much_memory_is_refused_beforehand),
        cmocka_unit_test(a_model_that_is_no_number_is_none),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
