/* Steps of a linear model: the kernels against the formulas in double, and the model
 * against finite differences. */
#include "model/model.h"
#include "store/store.h"
#include "train/train.h"

#include "defaults.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

enum { FEATURES = 97, LONGEST = 70 };

static const struct kernel *tables[3];
static size_t ntables;

static int find_tables(void **state)
{
    static const char *const names[] = {"scalar", "avx2", "avx512"};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        if (kernel_find(&tables[ntables], names[i]) == SHOAL_OK)
            ntables++;
    return 0;
}

/* ---- the formulas again, in double, one feature at a time ---- */

static double shrink(double w, double by)
{
    double size = fabs(w) - by;

    return size > 0 ? copysign(size, w) : 0;
}

static double weight_of(const struct kernel_rule *r, const float *row)
{
    if (r->kind != KERNEL_FTRL)
        return (double)row[0];
    return -shrink((double)row[0], (double)r->l1) /
           (((double)r->beta + sqrt((double)row[1])) / (double)r->lr + (double)r->l2);
}

static void step_of(const struct kernel_rule *r, float *row, double d)
{
    double w = weight_of(r, row), lr = (double)r->lr, l1 = (double)r->l1, l2 = (double)r->l2;
    double n = r->kind == KERNEL_SGD ? 0 : (double)row[1] + d * d, rate;

    switch (r->kind) {
    case KERNEL_SGD:
        row[0] = (float)shrink(w - lr * (d + l2 * w), lr * l1);
        return;
    case KERNEL_ADAGRAD:
        rate = lr / (sqrt(n) + (double)r->beta);
        row[0] = (float)shrink(w - rate * (d + l2 * w), rate * l1);
        break;
    case KERNEL_FTRL:
        row[0] = (float)((double)row[0] + d - (sqrt(n) - sqrt((double)row[1])) / lr * w);
        break;
    }
    row[1] = (float)n;
}

/* ---- one case: a row of different features over rows, some of them hot ---- */

struct trial {
    struct kernel_rule rule;
    struct kernel_sparse x;
    float at[FEATURES * 2], mine[FEATURES * 2], want[FEATURES * 2], values[LONGEST];
    uint32_t ids[LONGEST];
    size_t width;
};

static float unit(struct rng *r)
{
    return (float)(rng_unit(r) * 2 - 1);
}

static void trial_make(struct trial *t, unsigned kind, size_t n, uint64_t seed)
{
    struct rng r = {seed, 5, 0};

    *t = (struct trial){.width = kind == KERNEL_SGD ? 1 : 2};
    t->rule = (struct kernel_rule){.lr = 0.1f, .beta = 1, .l1 = seed % 2 ? 0.02f : 0,
                                   .l2 = seed % 3 ? 0.1f : 0};
    t->rule.kind = kind;
    for (size_t i = 0; i < FEATURES * t->width; i++)
        t->at[i] = i % t->width == 1 ? fabsf(unit(&r)) : unit(&r);
    memcpy(t->mine, t->at, sizeof t->at);
    memcpy(t->want, t->at, sizeof t->at);
    for (size_t i = 0; i < n; i++) {
        t->ids[i] = (uint32_t)((i * 31 + seed) % FEATURES); /* 31 and 97 have no common part */
        t->values[i] = unit(&r);
    }
    t->x = (struct kernel_sparse){.at = t->at, .mine = t->mine, .hot = (uint32_t)(seed % 40),
                                  .ids = t->ids, .values = seed % 5 ? t->values : NULL, .n = n};
}

static double trial_dot(const struct trial *t)
{
    double sum = 0;

    for (size_t i = 0; i < t->x.n; i++)
        sum += weight_of(&t->rule, t->want + t->ids[i] * t->width) *
               (t->x.values ? (double)t->x.values[i] : 1);
    return sum;
}

static void trial_check(const struct trial *t, const char *name)
{
    for (size_t i = 0; i < FEATURES * t->width; i++) {
        uint32_t id = (uint32_t)(i / t->width);
        float found = id < t->x.hot ? t->mine[i] : t->at[i];

        if (fabsf(found - t->want[i]) > 3e-6f) {
            print_error("%s, rule %d, %zu features: number %zu is %.9g, want %.9g\n", name,
                        (int)t->rule.kind, t->x.n, i, (double)found, (double)t->want[i]);
            fail();
        }
    }
}

static void steps_follow_their_formulas_for_every_length(void **state)
{
    (void)state;
    for (size_t k = 0; k < ntables; k++)
        for (unsigned kind = KERNEL_SGD; kind <= KERNEL_FTRL; kind++)
            for (size_t n = 0; n <= LONGEST; n++) {
                struct trial t;
                float dot;

                trial_make(&t, kind, n, n * 3 + (size_t)kind);
                dot = tables[k]->sparse_dot(&t.x, &t.rule);
                assert_true(fabs((double)dot - trial_dot(&t)) < 2e-5);
                tables[k]->sparse_step(&t.x, &t.rule, -0.7f);
                for (size_t i = 0; i < n; i++)
                    step_of(&t.rule, t.want + t.ids[i] * t.width,
                            -0.7 * (t.x.values ? (double)t.x.values[i] : 1));
                trial_check(&t, tables[k]->name);
            }
}

static void scores_add_the_weights_of_parameters_side_by_side(void **state)
{
    (void)state;
    for (size_t k = 0; k < ntables; k++)
        for (unsigned kind = KERNEL_SGD; kind <= KERNEL_FTRL; kind++)
            for (size_t n = 0; n <= LONGEST; n++) {
                float z[LONGEST + 1];
                struct trial t;

                trial_make(&t, kind, 0, n * 5 + (size_t)kind);
                for (size_t i = 0; i <= LONGEST; i++)
                    z[i] = 0.5f;
                tables[k]->sparse_scores(z, t.at, n, &t.rule, -0.7f);
                for (size_t i = 0; i < n; i++)
                    assert_true(fabs((double)z[i] - 0.5 +
                                     0.7 * weight_of(&t.rule, t.at + i * t.width)) < 1e-5);
                assert_true(z[n] == 0.5f);
            }
}

/* One row after the other by the formulas, on t->want; the bias is never pulled to 0. */
static void learn_slowly(struct trial *t, struct kernel_rows *rows, float *bias, double *margin)
{
    struct kernel_rule plain = t->rule;

    plain.l1 = plain.l2 = 0;
    for (size_t r = 0; r < rows->n; r++) {
        double g, label = rows->label[r];

        margin[r] = weight_of(&plain, bias);
        for (uint64_t i = rows->start[r]; i < rows->start[r + 1]; i++)
            margin[r] += weight_of(&t->rule, t->want + t->ids[i] * t->width) *
                         (rows->values ? (double)rows->values[i] : 1);
        g = (1 / (1 + exp(-margin[r])) - label) * (label > 0 ? (double)rows->positive : 1);
        if (rows->weight)
            g *= (double)rows->weight[r] * (double)rows->scale;
        for (uint64_t i = rows->start[r]; i < rows->start[r + 1]; i++)
            step_of(&t->rule, t->want + t->ids[i] * t->width,
                    g * (rows->values ? (double)rows->values[i] : 1));
        step_of(&plain, bias, g);
    }
}

static void rows_are_learned_each_by_a_dot_and_a_step(void **state)
{
    static const uint8_t label[] = {1, 0, 1};
    static const float weight[] = {1, 0.5f, 2};

    (void)state;
    for (size_t k = 0; k < ntables; k++)
        for (unsigned kind = KERNEL_SGD; kind <= KERNEL_FTRL; kind++)
            for (size_t n = 0; n <= LONGEST; n++) {
                uint64_t start[] = {0, n / 5, n / 5, n};
                float bias[2] = {0.3f, 0.2f}, want[2] = {0.3f, 0.2f}, margin[3];
                double sums[3];
                struct kernel_rows rows = {.bias = bias, .start = start, .label = label,
                                           .weight = n % 2 ? weight : NULL, .scale = 0.9f,
                                           .positive = 1.5f, .margin = margin, .n = 3,
                                           .ahead = n % 4};
                struct trial t;

                trial_make(&t, kind, n, n * 7 + (size_t)kind);
                rows.at = t.at;
                rows.mine = t.mine;
                rows.hot = t.x.hot;
                rows.ids = t.ids;
                rows.values = t.x.values;
                learn_slowly(&t, &rows, want, sums);
                tables[k]->sparse_learn(&rows, &t.rule);
                trial_check(&t, tables[k]->name);
                for (size_t r = 0; r < 3; r++)
                    assert_true(fabs((double)margin[r] - sums[r]) < 2e-5);
                for (size_t i = 0; i < t.width; i++)
                    assert_true(fabsf(bias[i] - want[i]) < 3e-6f);
            }
}

static void a_feature_that_stands_twice_moves_twice(void **state)
{
    static const uint32_t ids[] = {3, 3};

    (void)state;
    for (size_t k = 0; k < ntables; k++)
        for (unsigned kind = KERNEL_SGD; kind <= KERNEL_FTRL; kind++) {
            float once[8] = {0}, twice[8] = {0};
            struct kernel_rule rule = {.lr = 0.1f, .beta = 1};
            struct kernel_sparse x = {.at = once, .ids = ids, .n = 1};

            rule.kind = kind;
            tables[k]->sparse_step(&x, &rule, 0.5f);
            x = (struct kernel_sparse){.at = twice, .ids = ids, .n = 2};
            tables[k]->sparse_step(&x, &rule, 0.5f);
            assert_true(once[kind == KERNEL_SGD ? 3 : 6] != 0);
            for (size_t i = 0; i < 8; i++)
                assert_true(fabsf(twice[i] - 2 * once[i]) < 1e-6f);
        }
}

/* ---- the model: a step of sgd is the gradient of the loss ---- */

enum { ROWS = 4 };

static const uint8_t labels[ROWS] = {1, 0, 0, 1};
static const uint64_t starts[ROWS + 1] = {0, 3, 5, 9, 10};
static const uint32_t row_ids[] = {0, 1, 2, 0, 3, 1, 2, 3, 4, 2};
static const float row_values[] = {1, 0.5f, -2, 1, 1, 0.3f, 0.7f, 1, 1, -1};
static const float row_weights[ROWS] = {1, 2, 0.5f, 0.5f};

struct model {
    struct linear_model linear;
    struct clicks_view rows;
    struct table weights, bias;
    struct view wview, bview;
    struct linear_worker *worker;
};

static void model_open(struct model *m, unsigned batch, bool private)
{
    struct train_opts o = task_defaults("logreg");

    o.optimizer = OPTIMIZER_SGD;
    o.positive = 3;
    o.batch = batch;
    m->rows = (struct clicks_view){.rows = ROWS, .positives = 2, .values = 10, .features = 5,
                                   .bits = 4, .label = labels, .start = starts, .id = row_ids,
                                   .value = row_values, .weight = row_weights};
    linear_init(&m->linear, &o, &m->rows, tables[0]);
    assert_int_equal(table_init_packed(&m->weights, "weights", 6, 1), SHOAL_OK);
    assert_int_equal(table_init_packed(&m->bias, "bias", 1, 1), SHOAL_OK);
    for (size_t i = 0; i < 5; i++)
        m->weights.at[i] = 0.2f * (float)i - 0.3f;
    m->bias.at[0] = 0.1f;
    if (private) {
        assert_int_equal(view_init_private(&m->wview, &m->weights), SHOAL_OK);
        assert_int_equal(view_init_private(&m->bview, &m->bias), SHOAL_OK);
    } else {
        assert_int_equal(view_init_shared(&m->wview, &m->weights, 2), SHOAL_OK);
        assert_int_equal(view_init_shared(&m->bview, &m->bias, 1), SHOAL_OK);
    }
    assert_int_equal(linear_join(&m->worker, &m->linear, &m->wview, &m->bview), SHOAL_OK);
}

/* What the worker did comes to the tables. */
static void model_home(struct model *m, bool private)
{
    if (private) {
        views_merge(&m->wview, 1, tables[0], NULL);
        views_merge(&m->bview, 1, tables[0], NULL);
    } else {
        view_sync(&m->wview, tables[0]);
        view_sync(&m->bview, tables[0]);
    }
}

static void model_close(struct model *m)
{
    linear_leave(m->worker);
    view_fini(&m->wview);
    view_fini(&m->bview);
    table_fini(&m->weights);
    table_fini(&m->bias);
}

/* The mean loss of all rows with w [5] and a bias, weighted by row and class. */
static double loss_at(const double *w, double bias)
{
    double sum = 0;

    for (size_t r = 0; r < ROWS; r++) {
        double x = bias;

        for (uint64_t i = starts[r]; i < starts[r + 1]; i++)
            x += w[row_ids[i]] * (double)row_values[i];
        sum += (labels[r] ? 3 : 1) * (double)row_weights[r] * log1p(exp(labels[r] ? -x : x));
    }
    return sum / ROWS;
}

static void a_batch_moves_along_the_gradient(void **state)
{
    (void)state;
    for (int private = 0; private < 2; private++) {
        struct model m = {0};
        struct sums done = {0};
        double before[6], h = 1e-5;

        model_open(&m, ROWS, private);
        for (size_t i = 0; i < 5; i++)
            before[i] = (double)m.weights.at[i];
        before[5] = (double)m.bias.at[0];
        linear_train(m.worker, 0, ROWS, &(struct shuffle){0}, 0.01f, &done);
        model_home(&m, private);
        for (size_t i = 0; i <= 5; i++) {
            double up[6], down[6], slope, found;

            memcpy(up, before, sizeof up);
            memcpy(down, before, sizeof down);
            up[i] += h;
            down[i] -= h;
            slope = (loss_at(up, up[5]) - loss_at(down, down[5])) / (2 * h);
            found = (double)(i < 5 ? m.weights.at[i] : m.bias.at[0]) - before[i];
            assert_true(fabs(found + 0.01 * slope) < 1e-7);
        }
        assert_int_equal(done.examples, ROWS);
        assert_int_equal(done.predictions, ROWS);
        model_close(&m);
    }
}

/* The rows' weights have a mean of 1 here, so the loss is not scaled; the class's
 * weight is no part of it. */
static void the_loss_is_that_before_the_step(void **state)
{
    struct model m = {0};
    struct sums done = {0};
    double w[5], want = 0;

    (void)state;
    model_open(&m, ROWS, false);
    for (size_t i = 0; i < 5; i++)
        w[i] = (double)m.weights.at[i];
    for (size_t r = 0; r < ROWS; r++) {
        double x = (double)m.bias.at[0];

        for (uint64_t i = starts[r]; i < starts[r + 1]; i++)
            x += w[row_ids[i]] * (double)row_values[i];
        want += (double)row_weights[r] * log1p(exp(labels[r] ? -x : x));
        assert_true(fabs((double)linear_margin(&m.linear, &m.weights, &m.bias, 1, &m.rows, r) -
                         x) < 1e-6);
    }
    linear_train(m.worker, 0, ROWS, &(struct shuffle){0}, 0.5f, &done);
    assert_true(fabs(done.loss - want) < 1e-5);
    model_close(&m);
}

/* Row by row, later rows see what earlier ones did; as a batch of one does. */
static void rows_one_by_one_are_batches_of_one(void **state)
{
    struct model one = {0}, some = {0};
    struct sums done = {0};

    (void)state;
    model_open(&one, 1, false);
    model_open(&some, 2, false); /* its batches are made to hold one row each */
    linear_train(one.worker, 0, ROWS, &(struct shuffle){0}, 0.3f, &done);
    for (uint64_t r = 0; r < ROWS; r++)
        linear_train(some.worker, r, r + 1, &(struct shuffle){0}, 0.3f, &done);
    model_home(&one, false);
    model_home(&some, false);
    for (size_t i = 0; i < 5; i++)
        assert_true(fabsf(one.weights.at[i] - some.weights.at[i]) < 1e-6f);
    assert_true(fabsf(one.bias.at[0] - some.bias.at[0]) < 1e-6f);
    model_close(&one);
    model_close(&some);
}

static void hot_rows_of_two_workers_add_up(void **state)
{
    struct model m = {0};
    struct view other;
    struct table *t = &m.weights;

    (void)state;
    model_open(&m, 1, false);
    assert_int_equal(view_init_shared(&other, t, 2), SHOAL_OK);
    *view_row(&m.wview, 0) += 1;
    *view_row(&other, 0) += 2;
    view_sync(&m.wview, tables[0]);
    view_sync(&other, tables[0]);
    assert_true(fabsf(t->at[0] - (-0.3f + 3)) < 1e-6f);
    view_sync(&m.wview, tables[0]);
    assert_true(fabsf(*view_row(&m.wview, 0) - t->at[0]) < 1e-6f);
    view_fini(&other);
    model_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_follow_their_formulas_for_every_length),
        cmocka_unit_test(scores_add_the_weights_of_parameters_side_by_side),
        cmocka_unit_test(rows_are_learned_each_by_a_dot_and_a_step),
        cmocka_unit_test(a_feature_that_stands_twice_moves_twice),
        cmocka_unit_test(a_batch_moves_along_the_gradient),
        cmocka_unit_test(the_loss_is_that_before_the_step),
        cmocka_unit_test(rows_one_by_one_are_batches_of_one),
        cmocka_unit_test(hot_rows_of_two_workers_add_up),
    };

    return cmocka_run_group_tests(tests, find_tables, NULL);
}
