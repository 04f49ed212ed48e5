/* Logistic regression of many classes: its gradient, what it learns, and what a run promises
 * of equal bytes and of going on. */
#include <shoal.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include "saved/saved.h"
#include "store/store.h"

#include "scratch.h"
#include "training.h"
#include "logreg.h"

enum { CLASSES = 10, FEATURES = 60, OF_A_ROW = 6, ROWS = 40000, HELD = 10000 };

static shoal_clicks *data, *held;
static double truth; /* log-loss of the planted probabilities on the labels of `held` */

static const enum shoal_optimizer optimizers[] = {OPTIMIZER_SGD, OPTIMIZER_ADAGRAD, OPTIMIZER_FTRL};

/* ---- planted weights ---- */

static double planted(uint64_t feature, uint64_t class)
{
    struct rng r = {11, 1, feature * CLASSES + class};

    return 3 * (rng_unit(&r) - 0.5);
}

/* A line whose label is drawn from softmax(W x); gives -log of its probability. */
static double add_line(struct bytes *b, uint64_t row)
{
    struct rng r = {11, 2, row << 20};
    double z[CLASSES] = {0}, total = 0, drawn;
    char text[256], features[200];
    size_t len = 0;
    unsigned label = 0;

    for (unsigned i = 0; i < OF_A_ROW; i++) {
        unsigned f = i * (FEATURES / OF_A_ROW) + (unsigned)rng_below(&r, FEATURES / OF_A_ROW);

        len += (size_t)snprintf(features + len, sizeof features - len, " %u:1", f);
        for (unsigned k = 0; k < CLASSES; k++)
            z[k] += planted(f, k);
    }
    for (unsigned k = 0; k < CLASSES; k++)
        total += z[k] = exp(z[k]);
    drawn = rng_unit(&r) * total;
    for (double up = z[0]; label + 1 < CLASSES && up <= drawn; up += z[++label])
        ;
    snprintf(text, sizeof text, "%u%s\n", label, features);
    text_add_str(b, text);
    return -log(z[label] / total);
}

static shoal_clicks *read_many(const char *text, size_t len)
{
    struct shoal_clicks_opts o = shoal_clicks_default();
    const char *path = scratch_put("rows.txt", text, len);
    shoal_clicks *rows = NULL;

    o.bits = 14, o.threads = 1, o.classes = true;
    if (shoal_clicks_read(&rows, &path, 1, &o, NULL) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return rows;
}

static shoal_clicks *make_rows(uint64_t first, uint64_t n, double *loss)
{
    struct bytes b = {0};
    shoal_clicks *rows;

    *loss = 0;
    for (uint64_t i = 0; i < n; i++)
        *loss += add_line(&b, first + i) / (double)n;
    rows = read_many(b.at, b.len);
    bytes_fini(&b);
    return rows;
}

static int setup(void **state)
{
    double ignored;

    if (scratch_setup(state) != 0)
        return -1;
    data = make_rows(0, ROWS, &ignored);
    held = make_rows(ROWS, HELD, &truth);
    return 0;
}

static int teardown(void **state)
{
    shoal_clicks_close(data);
    shoal_clicks_close(held);
    return scratch_teardown(state);
}

static struct train_opts usual(enum shoal_optimizer optimizer)
{
    struct train_opts o = task_defaults("multinomial");

    o.optimizer = optimizer;
    o.valid = o.early_stop = 0;
    o.in_order = true;
    o.threads = 1;
    o.epochs = 3;
    o.lr = optimizer == OPTIMIZER_SGD ? 0.05 : 0.2;
    return o;
}

static shoal_model *train(const shoal_clicks *rows, const shoal_clicks *ask,
                          const struct train_opts *o, struct shoal_train_stats *stats)
{
    struct shoal_sources from = {.rows = rows, .valid_rows = ask};
    shoal_model *model = NULL;

    if (run_task(task_find("multinomial"), o, &from, &model, stats) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return model;
}

static double loss_of(const struct train_opts *o)
{
    struct shoal_train_stats stats;

    shoal_model_close(train(data, held, o, &stats));
    return validation(&stats.figures, "loss");
}

/* ---- the step ---- */

enum { SMALL = 3, KINDS = 4 };

static const uint8_t labels[SMALL] = {2, 0, 3};
static const uint64_t starts[SMALL + 1] = {0, 2, 4, 5};
static const uint32_t ids[] = {0, 1, 1, 2, 0};
static const float values[] = {1, 0.5f, -2, 1, 0.3f};

static double loss_at(const struct linear_model *l, const struct table *w, const struct table *b)
{
    double sum = 0;

    for (uint64_t r = 0; r < SMALL; r++) {
        float z[KINDS];
        double total = 0;

        multinomial_scores(l, w, b, 1, l->rows, r, z);
        for (unsigned k = 0; k < KINDS; k++)
            total += exp((double)z[k]);
        sum += log(total) - (double)z[labels[r]];
    }
    return sum / SMALL;
}

/* A step of sgd of rate 1 over one batch is the gradient of the mean loss. */
static void a_batch_moves_along_the_gradient(void **state)
{
    struct clicks_view v = {.rows = SMALL, .values = 5, .features = 3, .bits = 4,
                            .classes = KINDS, .label = labels, .start = starts, .id = ids,
                            .value = values};
    struct train_opts o = usual(OPTIMIZER_SGD);
    struct multinomial_worker *worker;
    struct table w, b;
    struct view wv, bv;
    struct linear_model l;
    struct sums done = {0};
    const struct kernel *kernel;
    double want[4 * KINDS], h = 1e-2, before;
    float old[4 * KINDS];

    (void)state;
    o.batch = SMALL;
    assert_int_equal(kernel_find(&kernel, "scalar"), SHOAL_OK);
    assert_int_equal(table_init_packed(&w, "weights", 4, KINDS), SHOAL_OK);
    assert_int_equal(table_init_packed(&b, "bias", 1, KINDS), SHOAL_OK);
    linear_init(&l, &o, &v, kernel);
    for (unsigned i = 0; i < 3 * KINDS; i++)
        w.at[i] = 0.1f * (float)(i % 5) - 0.2f;
    for (unsigned i = 0; i < 4 * KINDS; i++) { /* the last are those of the bias */
        float *at = i < 3 * KINDS ? w.at + i : b.at + i - 3 * KINDS, x = *at;
        double up;

        *at = x + (float)h;
        up = loss_at(&l, &w, &b);
        *at = x - (float)h;
        want[i] = (up - loss_at(&l, &w, &b)) / (2 * h);
        *at = old[i] = x;
    }
    before = loss_at(&l, &w, &b);
    assert_int_equal(view_init_shared(&wv, &w, 0), SHOAL_OK);
    assert_int_equal(view_init_shared(&bv, &b, 0), SHOAL_OK);
    assert_int_equal(multinomial_join(&worker, &l, &wv, &bv), SHOAL_OK);
    multinomial_train(worker, 0, SMALL, &(struct shuffle){0}, 1, &done);
    for (unsigned i = 0; i < 4 * KINDS; i++)
        assert_near((double)(old[i] - (i < 3 * KINDS ? w.at[i] : b.at[i - 3 * KINDS])), want[i],
                    1e-4);
    assert_near(done.loss / SMALL, before, 1e-5);
    multinomial_leave(worker);
    view_fini(&wv);
    view_fini(&bv);
    table_fini(&w);
    table_fini(&b);
}

/* The margin is then z_1 - z_0, whose two weights each move by what that of logreg moves:
 * at half the rate it is logreg's. */
static void two_classes_at_half_the_rate_are_logreg(void **state)
{
    static const char text[] = "1 1:1 2:0.5\n0 2:1\n1 1:2\n0 2:1 7:-3\n1 1:1\n0 7:1\n1 7:2\n";
    shoal_clicks *rows = read_many(text, sizeof text - 1);
    struct train_opts o = logreg_opts(OPTIMIZER_SGD), half;
    shoal_logreg *two;
    shoal_model *many;
    struct shoal_weight top[3];
    size_t found;

    (void)state;
    o.epochs = 3, o.lr = 0.4;
    half = usual(OPTIMIZER_SGD);
    half.lr = 0.2;
    two = train_rows(rows, NULL, &o, NULL);
    many = train(rows, NULL, &half, NULL);
    assert_int_equal(shoal_logreg_largest(two, top, 3, &found), SHOAL_OK);
    assert_int_equal(found, 3);
    for (size_t i = 0; i < found; i++) {
        float p[2];

        logreg_answer(model_linear(many), &top[i].slot, NULL, 1, p);
        assert_near((double)p[1], shoal_logreg_one(two, &top[i].slot, NULL, 1), 1e-5);
        assert_near((double)(p[0] + p[1]), 1, 1e-6);
    }
    logreg_close(two);
    shoal_model_close(many);
    shoal_clicks_close(rows);
}

/* ---- what is learned ---- */

static void planted_weights_are_recovered_by_every_optimizer(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct train_opts o = usual(optimizers[i]);
        double loss = loss_of(&o);

        print_message("optimizer %zu: log-loss %.4f, best %.4f\n", i, loss, truth);
        assert_true(loss > truth * 0.995 && loss < truth * 1.02);
    }
}

static void check_loss(const char *name, const struct train_opts *o)
{
    double loss = loss_of(o);

    print_message("%s: log-loss %.4f, best %.4f\n", name, loss, truth);
    assert_true(loss < truth * 1.05);
}

static void lanes_threads_and_batches_learn_too(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct train_opts o = usual(optimizers[i]);

        o.threads = 2;
        check_loss("two threads", &o);
        o.deterministic = true;
        check_loss("lanes", &o);
        o.deterministic = false;
        o.threads = 1;
        o.batch = 10;
        o.lr *= 3;
        check_loss("batches", &o);
    }
}

/* ---- the same bytes ---- */

static void train_to(const char *path, const struct train_opts *o)
{
    shoal_model *model = train(data, held, o, NULL);

    assert_int_equal(shoal_model_save(model, path, NULL), SHOAL_OK);
    shoal_model_close(model);
}

static void assert_same_files(const char *a, const char *b)
{
    struct bytes x = scratch_get(a), y = scratch_get(b);

    assert_int_equal(x.len, y.len);
    assert_memory_equal(x.at, y.at, x.len);
    bytes_fini(&x);
    bytes_fini(&y);
}

static bool stop_at_epoch(void *user, const struct shoal_report *r)
{
    (void)user;
    return r->event != SHOAL_EVENT_EPOCH;
}

static void a_stopped_run_goes_on_to_the_same_bytes_on_any_threads(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct train_opts o = usual(optimizers[i]);
        struct shoal_sources from = {.rows = data, .valid_rows = held};
        const char *folder = scratch_path(i == 0 ? "run0" : i == 1 ? "run1" : "run2");
        shoal_model *model = NULL;
        unsigned stops = 0;
        shoal_status st;

        o.deterministic = true;
        o.batch = i == 1 ? 8 : 1;
        train_to(scratch_path("whole"), &o);
        o.checkpoint = folder;
        o.report = stop_at_epoch;
        while ((st = run_task(task_find("multinomial"), &o, &from, &model, NULL)) == SHOAL_ESTOP) {
            assert_null(model);
            o.resume = true;
            o.threads = 1 + ++stops % 3;
        }
        assert_int_equal(st, SHOAL_OK);
        assert_int_equal(stops, 3);
        assert_int_equal(shoal_model_save(model, scratch_path("again"), NULL), SHOAL_OK);
        shoal_model_close(model);
        assert_same_files(scratch_path("whole"), scratch_path("again"));
    }
}

static void a_saved_model_opens_to_the_same_bytes(void **state)
{
    struct train_opts o = usual(OPTIMIZER_FTRL);
    shoal_model *m;

    (void)state;
    o.epochs = 1;
    train_to(scratch_path("first"), &o);
    assert_int_equal(shoal_model_open(&m, scratch_path("first")), SHOAL_OK);
    assert_string_equal(shoal_model_kind(m), "multinomial");
    assert_null(shoal_model_linear(m));
    assert_int_equal(logreg_outputs(model_linear(m)), CLASSES);
    assert_int_equal(shoal_model_save(m, scratch_path("second"), NULL), SHOAL_OK);
    shoal_model_close(m);
    assert_same_files(scratch_path("first"), scratch_path("second"));
}

static void more_classes_held_out_than_learned_are_refused(void **state)
{
    shoal_clicks *few = read_many("0 1:1\n2 2:1\n", 12);
    struct shoal_sources from = {.rows = few, .valid_rows = held};
    struct train_opts o = usual(OPTIMIZER_FTRL);
    shoal_model *model = NULL;

    (void)state;
    assert_sentence(run_task(task_find("multinomial"), &o, &from, &model, NULL), SHOAL_EINVAL,
                    "what is held out has 10 classes, the data 2");
    shoal_clicks_close(few);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_moves_along_the_gradient),
        cmocka_unit_test(two_classes_at_half_the_rate_are_logreg),
        cmocka_unit_test(planted_weights_are_recovered_by_every_optimizer),
        cmocka_unit_test(lanes_threads_and_batches_learn_too),
        cmocka_unit_test(a_stopped_run_goes_on_to_the_same_bytes_on_any_threads),
        cmocka_unit_test(a_saved_model_opens_to_the_same_bytes),
        cmocka_unit_test(more_classes_held_out_than_learned_are_refused),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
