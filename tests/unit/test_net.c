/* Nets: every gradient against finite differences, narrow layers against wide ones,
 * and descriptions that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 70 }; /* samples */

struct trial {
    struct net *net;
    void *worker;
    float *params, *grads;
    float *x, *y;
    uint32_t label[MOST];
    struct net_batch batch;
};

static float *block(size_t n)
{
    float *at = mem_map((n ? n : 1) * sizeof *at);

    assert_non_null(at);
    return at;
}

static void trial_begin(struct trial *t, const char *spec, size_t n)
{
    struct rng r = {.seed = 5, .stream = 7};
    shoal_status st = net_new(&t->net, spec);

    if (st != SHOAL_OK)
        fail_msg("%s", shoal_error());
    assert_int_equal(t->net->ops->worker_new(&t->worker, t->net, MOST, 1), SHOAL_OK);
    t->params = block(t->net->size);
    t->grads = block(t->net->size);
    t->x = block(MOST * t->net->inputs);
    t->y = block(MOST * t->net->outputs);
    t->net->ops->start(t->net, t->params, 3);
    for (size_t i = 0; i < t->net->size; i++) /* biases too */
        if (t->params[i] == 0)
            t->params[i] = 0.1f * (float)(rng_unit(&r) - 0.5);
    for (size_t i = 0; i < MOST * t->net->inputs; i++)
        t->x[i] = (float)(2 * rng_unit(&r) - 1);
    for (size_t i = 0; i < MOST * t->net->outputs; i++)
        t->y[i] = (float)(2 * rng_unit(&r) - 1);
    for (size_t i = 0; i < MOST; i++)
        t->label[i] = (uint32_t)rng_below(&r, t->net->outputs);
    t->batch = (struct net_batch){.n = n, .x = t->x};
    if (t->net->classes)
        t->batch.label = t->label;
    else
        t->batch.y = t->y;
}

static void trial_end(struct trial *t)
{
    t->net->ops->worker_free(t->worker);
    mem_unmap(t->params, t->net->size * sizeof *t->params);
    mem_unmap(t->grads, t->net->size * sizeof *t->grads);
    mem_unmap(t->x, MOST * t->net->inputs * sizeof *t->x);
    mem_unmap(t->y, MOST * t->net->outputs * sizeof *t->y);
    net_free(t->net);
}

static double loss_of(struct trial *t)
{
    struct sums sums = {0};

    assert_int_equal(t->net->ops->measure(t->worker, t->params, &t->batch, &sums), SHOAL_OK);
    assert_int_equal(sums.examples, t->batch.n);
    return sums.loss;
}

static double slope_of(struct trial *t, size_t at, float step)
{
    float old = t->params[at];
    double up, down;

    t->params[at] = old + step;
    up = loss_of(t);
    t->params[at] = old - step;
    down = loss_of(t);
    t->params[at] = old;
    return (up - down) / (2 * (double)step);
}

/* Around a kink of ReLU the two differ; a second, smaller step tells. */
static bool agrees(struct trial *t, size_t at, double found)
{
    for (float step = 1e-2f; step > 1e-4f; step /= 4)
        if (fabs(slope_of(t, at, step) - found) <= 2e-2 * fabs(found) + 5e-3)
            return true;
    return false;
}

static void check_gradient(const char *spec, size_t n)
{
    struct trial t;
    struct sums sums = {0};
    size_t stride;

    trial_begin(&t, spec, n);
    assert_int_equal(
        t.net->ops->gradient(t.worker, t.params, &t.batch, 1, t.grads, NULL, &sums), SHOAL_OK);
    assert_true(fabs(sums.loss - loss_of(&t)) <= 1e-5 * fabs(sums.loss));
    stride = t.net->size / 400 + 1;
    for (size_t k = 0; k < t.net->ntensors; k++) {
        const struct tensor *tensor = &t.net->tensors[k];

        for (size_t i = 0; i < tensor->size; i += stride)
            if (!agrees(&t, tensor->at + i, (double)t.grads[tensor->at + i]))
                fail_msg("%s: %s[%zu]: found %g, want %g", spec, tensor->name, i,
                         (double)t.grads[tensor->at + i], slope_of(&t, tensor->at + i, 1e-3f));
    }
    trial_end(&t);
}

static void gradients_are_slopes_of_the_loss(void **state)
{
    static const char *const layers[] = {"", "5", "7,6", "17,3,9", "80", "6,70"};
    static const char *const activations[] = {"relu", "tanh", "sigmoid", "gelu"};
    static const char *const losses[] = {"softmax", "mse"};

    (void)state;
    for (size_t l = 0; l < 6; l++)
        for (size_t a = 0; a < 4; a++)
            for (size_t e = 0; e < 2; e++) {
                char spec[256];

                snprintf(spec, sizeof spec, "mlp inputs=3 layers=%s outputs=4 activation=%s loss=%s",
                         layers[l], activations[a], losses[e]);
                check_gradient(spec, l % 2 ? 5 : 19);
            }
}

static void gradients_of_the_recurrent_cell_are_slopes_too(void **state)
{
    (void)state;
    check_gradient("lstm length=1 width=3 hidden=4 outputs=2", 5);
    check_gradient("lstm length=5 width=3 hidden=6 outputs=4", 19);
}

/* The same numbers, whichever way they were computed: the wide net has the narrow
 * one's weights, and one more unit for 80 that nothing leads to. */
static void narrow_layers_compute_what_wide_ones_do(void **state)
{
    static const char *const losses[] = {"softmax", "mse"};

    (void)state;
    for (size_t e = 0; e < 2; e++)
        for (size_t n = 1; n <= MOST; n += 23) {
            struct trial a, b;
            struct sums one = {0}, two = {0};
            char spec[256];

            snprintf(spec, sizeof spec, "mlp inputs=6 layers=20 outputs=5 activation=relu loss=%s",
                     losses[e]);
            trial_begin(&a, spec, n);
            snprintf(spec, sizeof spec, "mlp inputs=6 layers=80 outputs=5 activation=relu loss=%s",
                     losses[e]);
            trial_begin(&b, spec, n);
            memset(b.params, 0, b.net->size * sizeof *b.params);
            memcpy(b.params + b.net->tensors[0].at, a.params + a.net->tensors[0].at,
                   120 * sizeof(float));
            memcpy(b.params + b.net->tensors[1].at, a.params + a.net->tensors[1].at,
                   20 * sizeof(float));
            for (size_t o = 0; o < 5; o++)
                memcpy(b.params + b.net->tensors[2].at + o * 80,
                       a.params + a.net->tensors[2].at + o * 20, 20 * sizeof(float));
            memcpy(b.params + b.net->tensors[3].at, a.params + a.net->tensors[3].at,
                   5 * sizeof(float));
            memcpy(b.x, a.x, MOST * 6 * sizeof(float));
            memcpy(b.y, a.y, MOST * 5 * sizeof(float));
            memcpy(b.label, a.label, sizeof a.label);
            assert_int_equal(a.net->ops->gradient(a.worker, a.params, &a.batch, 0.5f, a.grads,
                                                  NULL, &one),
                             SHOAL_OK);
            assert_int_equal(b.net->ops->gradient(b.worker, b.params, &b.batch, 0.5f, b.grads,
                                                  NULL, &two),
                             SHOAL_OK);
            assert_true(fabs(one.loss - two.loss) < 1e-4 * (1 + fabs(two.loss)));
            assert_int_equal(one.right, two.right);
            for (size_t i = 0; i < 120; i++)
                assert_true(fabsf(a.grads[i] - b.grads[i]) < 1e-4f);
            trial_end(&a);
            trial_end(&b);
        }
}

static void probabilities_add_up_to_1(void **state)
{
    static const char *const layers[] = {"20", "80"};

    (void)state;
    for (size_t l = 0; l < 2; l++) {
        struct trial t;
        char spec[256];
        float y[MOST * 9];

        snprintf(spec, sizeof spec, "mlp inputs=2 layers=%s outputs=9 activation=tanh loss=softmax",
                 layers[l]);
        trial_begin(&t, spec, MOST);
        assert_int_equal(t.net->ops->predict(t.worker, t.params, t.x, MOST, y), SHOAL_OK);
        for (size_t i = 0; i < MOST; i++) {
            float sum = 0;

            for (size_t o = 0; o < 9; o++)
                sum += y[i * 9 + o];
            assert_true(fabsf(sum - 1) < 1e-5f);
        }
        trial_end(&t);
    }
}

static shoal_status note_ready(void *ctx, size_t from, size_t to)
{
    uint8_t *seen = ctx;

    for (size_t i = from; i < to; i++)
        seen[i]++;
    return SHOAL_OK;
}

static void every_gradient_is_ready_once_even_of_no_samples(void **state)
{
    static const char *const layers[] = {"20", "80,7"};

    (void)state;
    for (size_t l = 0; l < 2; l++)
        for (size_t n = 0; n < 2; n++) {
            struct trial t;
            char spec[256];
            uint8_t seen[4096] = {0};
            struct net_hooks hooks = {.ready = note_ready, .ctx = seen};
            struct sums sums = {0};

            snprintf(spec, sizeof spec,
                     "mlp inputs=2 layers=%s outputs=3 activation=relu loss=softmax", layers[l]);
            trial_begin(&t, spec, n);
            t.grads[0] = 7;
            assert_int_equal(
                t.net->ops->gradient(t.worker, t.params, &t.batch, 1, t.grads, &hooks, &sums),
                SHOAL_OK);
            for (size_t i = 0; i < t.net->size; i++)
                assert_int_equal(seen[i], 1);
            if (n == 0)
                assert_true(t.grads[0] == 0);
            trial_end(&t);
        }
}

static void descriptions_that_make_no_net_are_refused(void **state)
{
    static const char *const bad[] = {
        "", "mlp", "cnn inputs=3",
        "mlp inputs=0 layers=5 outputs=4 activation=relu loss=softmax",
        "mlp inputs=3 layers=5,x outputs=4 activation=relu loss=softmax",
        "mlp inputs=3 layers=5 outputs=99999999 activation=relu loss=softmax",
        "mlp inputs=3 layers=5 outputs=4 activation=step loss=softmax",
        "mlp inputs=3 layers=5 outputs=4 activation=relu loss=hinge",
        "mlp layers=5 outputs=4 activation=relu loss=mse",
        "lstm length=0 width=3 hidden=4 outputs=2",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct net *net = (struct net *)1;

        assert_int_not_equal(net_new(&net, bad[i]), SHOAL_OK);
        assert_null(net);
    }
}

static void tensors_are_aligned_and_found_by_name(void **state)
{
    struct net *net;

    (void)state;
    assert_int_equal(
        net_new(&net, "mlp inputs=3 layers=5 outputs=4 activation=relu loss=mse"), SHOAL_OK);
    assert_int_equal(net->ntensors, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(net->tensors[i].at % NET_ALIGN, 0);
    assert_ptr_equal(net_find(net, "1.weight"), &net->tensors[2]);
    assert_int_equal(net_find(net, "1.weight")->dims[1], 5);
    assert_null(net_find(net, "2.weight"));
    net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_slopes_of_the_loss),
        cmocka_unit_test(gradients_of_the_recurrent_cell_are_slopes_too),
        cmocka_unit_test(narrow_layers_compute_what_wide_ones_do),
        cmocka_unit_test(probabilities_add_up_to_1),
        cmocka_unit_test(every_gradient_is_ready_once_even_of_no_samples),
        cmocka_unit_test(descriptions_that_make_no_net_are_refused),
        cmocka_unit_test(tensors_are_aligned_and_found_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
