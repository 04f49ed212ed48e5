/* VGGs: their tensors, and their gradients against differences. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL                                                                                      \
    "vgg depth=11 bn=%d base=16 channels=%d height=%d width=%d hidden=%d dropout=%s "              \
    "outputs=3 sync=%d"

/* A net with a batch of random pictures. */
struct trial {
    struct net *net;
    void *worker;
    size_t n;
    float *params, *grads, *x;
    uint32_t label[64];
};

static float *floats(size_t n)
{
    float *x = aligned_alloc(64, (n * sizeof *x + 63) / 64 * 64);

    assert_non_null(x);
    memset(x, 0, n * sizeof *x);
    return x;
}

static void trial_spec(struct trial *t, const char *spec, size_t n, unsigned threads)
{
    *t = (struct trial){.n = n};
    if (net_new(&t->net, spec) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    assert_int_equal(t->net->ops->worker_new(&t->worker, t->net, n ? n : 1, threads), SHOAL_OK);
    t->params = floats(t->net->size);
    t->grads = floats(t->net->size);
    t->x = floats(64 * t->net->inputs);
    t->net->ops->start(t->net, t->params, 3);
    for (size_t i = 0; i < 64 * t->net->inputs; i++) {
        struct rng r = {.seed = 4, .index = i};

        t->x[i] = (float)(rng_unit(&r) * 4 - 2);
    }
    for (size_t i = 0; i < 64; i++)
        t->label[i] = (uint32_t)(rng_at(5, 0, i) % 3);
}

static void trial_init(struct trial *t, bool bn, int channels, int height, int width, int hidden,
                       const char *dropout, size_t n)
{
    char spec[256];

    snprintf(spec, sizeof spec, SMALL, bn, channels, height, width, hidden, dropout, 0);
    trial_spec(t, spec, n, 2);
}

static void trial_fini(struct trial *t)
{
    t->net->ops->worker_free(t->worker);
    net_free(t->net);
    free(t->params);
    free(t->grads);
    free(t->x);
}

static double loss_at(struct trial *t, const float *params, float *grads)
{
    struct net_batch b = {.n = t->n, .x = t->x, .label = t->label, .key = 9};
    struct sums sums = {0};

    assert_int_equal(
        t->net->ops->gradient(t->worker, params, &b, 1.0f / (float)t->n, grads, NULL, &sums),
        SHOAL_OK);
    assert_int_equal(sums.examples, t->n);
    return sums.loss / (double)t->n;
}

/* ---- gradients ---- */

/* Along one tensor's own gradient the loss must change by its length: over a short
 * way, and less well over corners of rectifiers, of which there are many. */
static bool check_tensor(struct trial *t, const struct tensor *tensor, float *moved, float *spare)
{
    const float *g = t->grads + tensor->at;
    double length = 0, found, step;

    for (size_t i = 0; i < tensor->size; i++)
        length += (double)g[i] * (double)g[i];
    length = sqrt(length);
    if (length < 5e-3) /* the loss itself is known to 1e-7 or so */
        return false;
    step = 1e-3 / length;
    found = 0;
    for (int side = -1; side <= 1; side += 2) {
        memcpy(moved, t->params, t->net->size * sizeof *moved);
        for (size_t i = 0; i < tensor->size; i++)
            moved[tensor->at + i] += (float)(side * step * (double)g[i]);
        found += side * loss_at(t, moved, spare);
    }
    found /= 2 * step * length;
    if (fabs(found - length) > 0.03 * length)
        fail_msg("%s: the loss changes by %g, want %g", tensor->name, found, length);
    return true;
}

static void check_gradient(struct trial *t)
{
    float *moved = floats(t->net->size), *spare = floats(t->net->size);
    struct rng r = {.seed = 8};
    size_t checked = 0;

    /* Away from the start, where biases are 0 and gammas 1. */
    for (size_t i = 0; i < t->net->ntensors; i++)
        for (size_t k = 0; k < t->net->tensors[i].size; k++)
            if (t->net->tensors[i].dims[1] == 0 && t->net->tensors[i].rule != TENSOR_STATE)
                t->params[t->net->tensors[i].at + k] += (float)(0.2 * rng_unit(&r) - 0.1);
            else if (strncmp(t->net->tensors[i].name, "classifier", 10) == 0)
                t->params[t->net->tensors[i].at + k] *= 20;
    loss_at(t, t->params, t->grads);
    for (size_t i = 0; i < t->net->ntensors; i++)
        if (t->net->tensors[i].rule != TENSOR_STATE)
            checked += check_tensor(t, &t->net->tensors[i], moved, spare);
    assert_true(checked >= 12);
    free(moved);
    free(spare);
    trial_fini(t);
}

static void gradients_are_right_without_batch_norm(void **state)
{
    struct trial t;

    (void)state;
    trial_init(&t, false, 3, 8, 8, 0, "0", 6);
    check_gradient(&t);
}

static void gradients_are_right_with_batch_norm(void **state)
{
    struct trial t;

    (void)state;
    trial_init(&t, true, 3, 12, 12, 0, "0", 16);
    check_gradient(&t);
}

static void gradients_are_right_for_odd_sizes_and_one_channel(void **state)
{
    struct trial t;

    (void)state;
    trial_init(&t, true, 1, 7, 9, 0, "0", 16);
    check_gradient(&t);
}

/* 5 x 5 pixels are left, or 1 x 1: PyTorch's adaptive pool overlaps, or repeats. */
static void gradients_are_right_through_means_of_the_last_maps(void **state)
{
    struct trial t;

    (void)state;
    trial_spec(&t,
               "vgg depth=11 bn=0 base=16 channels=1 height=160 width=64 hidden=0 dropout=0 "
               "outputs=3 sync=0 pool=3",
               1, 2);
    assert_int_equal(net_find(t.net, "classifier.weight")->dims[1], 128 * 9);
    check_gradient(&t);
}

static void gradients_are_right_with_hidden_layers_and_dropout(void **state)
{
    struct trial t;

    (void)state;
    trial_init(&t, false, 3, 8, 8, 20, "0.25", 8);
    check_gradient(&t);
}

/* ---- other truths ---- */

static void every_depth_has_the_tensors_of_torchvision(void **state)
{
    const struct {
        int depth;
        size_t parameters; /* of torchvision's vggN_bn(num_classes=1000) */
        const char *last;
    } want[] = {{11, 132868840, "features.26.running_var"},
                {13, 133053736, "features.32.running_var"},
                {16, 138365992, "features.41.running_var"},
                {19, 143678248, "features.50.running_var"}};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char spec[256];
        struct net *net;
        size_t sum = 0;

        snprintf(spec, sizeof spec,
                 "vgg depth=%d bn=1 base=64 channels=3 height=224 width=224 hidden=4096 "
                 "dropout=0.5 outputs=1000 sync=0",
                 want[i].depth);
        assert_int_equal(net_new(&net, spec), SHOAL_OK);
        for (size_t k = 0; k < net->ntensors; k++)
            sum += net->tensors[k].rule == TENSOR_STATE ? 0 : net->tensors[k].size;
        assert_int_equal(sum, want[i].parameters);
        assert_non_null(net_find(net, want[i].last));
        assert_non_null(net_find(net, "classifier.6.weight"));
        net_free(net);
    }
}

static void a_pool_that_would_leave_nothing_is_left_out(void **state)
{
    struct trial t;

    (void)state;
    trial_init(&t, true, 1, 28, 28, 0, "0", 2); /* 28, 14, 7, 3, 1 and no more */
    assert_int_equal(net_find(t.net, "classifier.weight")->dims[1], 128);
    trial_fini(&t);
}

static void bad_descriptions_are_refused(void **state)
{
    const char *const specs[] = {
        "vgg depth=12 bn=1 base=16 channels=3 height=8 width=8 hidden=0 dropout=0 outputs=3 sync=0",
        "vgg depth=11 bn=1 base=20 channels=3 height=8 width=8 hidden=0 dropout=0 outputs=3 sync=0",
        "vgg depth=11 bn=1 base=16 channels=3 height=8 width=8 hidden=0 dropout=1 outputs=3 sync=0",
        "vgg depth=11 bn=1 base=16 channels=3 height=9999 width=8 hidden=0 dropout=0 outputs=3 sync=0",
        "vgg depth=11 bn=1 base=16 channels=2 height=8 width=8 hidden=0 dropout=0 outputs=3 sync=0",
        "vgg depth=11 bn=1 base=16 channels=4 height=8 width=8 hidden=0 dropout=0 outputs=3 sync=0",
        "vgg depth=11",
    };

    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct net *net;

        assert_int_equal(net_new(&net, specs[i]), SHOAL_EINVAL);
        assert_null(net);
    }
}

static void gradients_do_not_depend_on_the_threads(void **state)
{
    struct trial t[3];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char spec[256];

        snprintf(spec, sizeof spec, SMALL, 1, 3, 16, 16, 20, "0.5", 0);
        trial_spec(&t[i], spec, 9, (unsigned)i + 1);
        loss_at(&t[i], t[i].params, t[i].grads);
        assert_memory_equal(t[i].grads, t[0].grads, t[0].net->size * sizeof(float));
    }
    for (size_t i = 0; i < 3; i++)
        trial_fini(&t[i]);
}

static void a_smaller_batch_fits_the_same_worker(void **state)
{
    struct trial t, own;
    char spec[256];

    (void)state;
    snprintf(spec, sizeof spec, SMALL, 1, 3, 8, 8, 0, "0", 0);
    trial_spec(&t, spec, 20, 2);
    trial_spec(&own, spec, 5, 2);
    loss_at(&t, t.params, t.grads);
    t.n = 5;
    assert_true(loss_at(&t, t.params, t.grads) == loss_at(&own, own.params, own.grads));
    assert_memory_equal(t.grads, own.grads, t.net->size * sizeof(float));
    trial_fini(&t);
    trial_fini(&own);
}

static void running_statistics_move_by_a_tenth_and_serve_the_answer(void **state)
{
    struct trial t;
    const struct tensor *mean, *variance;
    struct sums sums = {0};
    struct net_batch b;

    (void)state;
    trial_init(&t, true, 3, 8, 8, 0, "0", 32);
    mean = net_find(t.net, "features.1.running_mean");
    variance = net_find(t.net, "features.1.running_var");
    loss_at(&t, t.params, t.grads);
    assert_true(t.grads[variance->at] < 1 && t.grads[variance->at] > 0.9f);
    assert_true(fabsf(t.grads[mean->at]) < 0.1f);
    /* After many such steps they are the batch's, and the net answers as it trains. */
    for (int step = 0; step < 200; step++) {
        for (size_t i = 0; i < t.net->ntensors; i++)
            if (t.net->tensors[i].rule == TENSOR_STATE)
                memcpy(t.params + t.net->tensors[i].at, t.grads + t.net->tensors[i].at,
                       t.net->tensors[i].size * sizeof(float));
        loss_at(&t, t.params, t.grads);
    }
    b = (struct net_batch){.n = t.n, .x = t.x, .label = t.label};
    assert_int_equal(t.net->ops->measure(t.worker, t.params, &b, &sums), SHOAL_OK);
    assert_true(fabs(sums.loss / 32 - loss_at(&t, t.params, t.grads)) < 0.02);
    trial_fini(&t);
}

static void a_bias_before_batch_norm_only_moves_the_running_mean(void **state)
{
    struct trial t;
    const struct tensor *bias, *mean;
    float before;
    double loss;

    (void)state;
    trial_init(&t, true, 3, 8, 8, 0, "0", 8);
    bias = net_find(t.net, "features.0.bias");
    mean = net_find(t.net, "features.1.running_mean");
    loss = loss_at(&t, t.params, t.grads);
    before = t.grads[mean->at + 2];
    t.params[bias->at + 2] = 5;
    assert_true(loss_at(&t, t.params, t.grads) == loss);
    assert_true(fabsf(t.grads[mean->at + 2] - before - 0.5f) < 1e-6f);
    assert_true(t.grads[bias->at + 2] == 0);
    trial_fini(&t);
}

static void predictions_are_probabilities_whatever_the_batch(void **state)
{
    struct trial t;
    float y[7 * 3], one[3];

    (void)state;
    trial_init(&t, true, 3, 8, 8, 0, "0.5", 3);
    assert_int_equal(t.net->ops->predict(t.worker, t.params, t.x, 7, y), SHOAL_OK);
    for (size_t i = 0; i < 7; i++)
        assert_true(fabsf(y[3 * i] + y[3 * i + 1] + y[3 * i + 2] - 1) < 1e-5f);
    assert_int_equal(t.net->ops->predict(t.worker, t.params, t.x + 6 * t.net->inputs, 1, one),
                     SHOAL_OK);
    assert_memory_equal(one, y + 18, sizeof one);
    trial_fini(&t);
}

/* Predictions keep weights as they prepared them; training in between is seen. */
static void predictions_follow_the_weights(void **state)
{
    struct trial t;
    const struct tensor *weight;
    float before[3], after[3], fresh[3];
    void *other;

    (void)state;
    trial_init(&t, true, 3, 8, 8, 0, "0", 8);
    weight = net_find(t.net, "features.4.weight");
    assert_int_equal(t.net->ops->predict(t.worker, t.params, t.x, 1, before), SHOAL_OK);
    assert_int_equal(t.net->ops->predict(t.worker, t.params, t.x, 1, after), SHOAL_OK);
    assert_memory_equal(before, after, sizeof before);
    loss_at(&t, t.params, t.grads);
    for (size_t i = 0; i < weight->size; i++)
        t.params[weight->at + i] *= i % 2 ? 2 : -1;
    assert_int_equal(t.net->ops->predict(t.worker, t.params, t.x, 1, after), SHOAL_OK);
    assert_int_equal(t.net->ops->worker_new(&other, t.net, 8, 1), SHOAL_OK);
    assert_int_equal(t.net->ops->predict(other, t.params, t.x, 1, fresh), SHOAL_OK);
    t.net->ops->worker_free(other);
    assert_memory_equal(after, fresh, sizeof fresh);
    assert_memory_not_equal(after, before, sizeof before);
    trial_fini(&t);
}

/* ---- hooks ---- */

struct heard {
    size_t next; /* where the last range began */
    unsigned ranges, sums;
};

static shoal_status hear_ready(void *ctx, size_t from, size_t to)
{
    struct heard *h = ctx;

    assert_int_equal(to, h->next);
    assert_true(from < to);
    h->next = from;
    h->ranges++;
    return SHOAL_OK;
}

/* As if another rank had the same pictures. */
static shoal_status double_sums(void *ctx, double *x, size_t n)
{
    struct heard *h = ctx;

    for (size_t i = 0; i < n; i++)
        x[i] *= 2;
    h->sums++;
    return SHOAL_OK;
}

static void gradients_are_ready_from_the_end_to_the_beginning(void **state)
{
    struct trial t;
    struct heard h = {0};
    struct net_hooks hooks = {.ready = hear_ready, .ctx = &h};
    struct net_batch b;

    (void)state;
    trial_init(&t, true, 3, 8, 8, 20, "0", 4);
    b = (struct net_batch){.n = 4, .x = t.x, .label = t.label};
    h.next = t.net->size;
    assert_int_equal(
        t.net->ops->gradient(t.worker, t.params, &b, 1, t.grads, &hooks, &(struct sums){0}),
        SHOAL_OK);
    assert_int_equal(h.next, 0);
    assert_int_equal(h.ranges, 8 + 3);
    trial_fini(&t);
}

/* Statistics over two ranks with the same pictures are those of one, and a rank's
 * gradient is then the same. */
static void statistics_are_shared_when_wished(void **state)
{
    struct trial t;
    struct heard h = {0};
    struct net_hooks hooks = {.sum = double_sums, .ctx = &h};
    struct net_batch b;
    char spec[256];
    float *shared;

    (void)state;
    snprintf(spec, sizeof spec, SMALL, 1, 3, 8, 8, 0, "0", 1);
    trial_spec(&t, spec, 8, 2);
    shared = floats(t.net->size);
    loss_at(&t, t.params, t.grads);
    b = (struct net_batch){.n = 8, .x = t.x, .label = t.label, .key = 9};
    assert_int_equal(
        t.net->ops->gradient(t.worker, t.params, &b, 0.125f, shared, &hooks, &(struct sums){0}),
        SHOAL_OK);
    assert_int_equal(h.sums, 16);
    for (size_t i = 0; i < t.net->ntensors; i++) {
        const struct tensor *e = &t.net->tensors[i];

        for (size_t k = e->at; k < e->at + e->size; k++)
            if (e->rule != TENSOR_STATE)
                assert_true(fabsf(shared[k] - t.grads[k]) <= 1e-4f * (1 + fabsf(t.grads[k])));
    }
    free(shared);
    trial_fini(&t);
}

static void an_empty_batch_has_no_gradient(void **state)
{
    struct trial t;
    struct net_batch b = {0};
    struct sums sums = {0};

    (void)state;
    trial_init(&t, true, 3, 8, 8, 0, "0", 4);
    b.x = t.x;
    b.label = t.label;
    memset(t.grads, 1, t.net->size * sizeof(float));
    assert_int_equal(t.net->ops->gradient(t.worker, t.params, &b, 1, t.grads, NULL, &sums),
                     SHOAL_OK);
    for (size_t i = 0; i < t.net->ntensors; i++) {
        const struct tensor *e = &t.net->tensors[i];

        for (size_t k = e->at; k < e->at + e->size; k++)
            assert_true(t.grads[k] == (e->rule == TENSOR_STATE ? t.params[k] : 0));
    }
    assert_int_equal(sums.examples, 0);
    trial_fini(&t);
}

static void a_net_learns_its_pictures_by_heart(void **state)
{
    struct trial t;
    double first, last = 0;

    (void)state;
    trial_init(&t, true, 3, 8, 8, 0, "0", 16);
    first = loss_at(&t, t.params, t.grads);
    for (int step = 0; step < 40; step++) {
        for (size_t i = 0; i < t.net->ntensors; i++) {
            const struct tensor *e = &t.net->tensors[i];

            for (size_t k = e->at; k < e->at + e->size; k++)
                t.params[k] =
                    e->rule == TENSOR_STATE ? t.grads[k] : t.params[k] - 0.1f * t.grads[k];
        }
        last = loss_at(&t, t.params, t.grads);
    }
    assert_true(first > 0.9 && last < 0.1);
    trial_fini(&t);
}

static void the_memory_of_a_worker_is_what_was_planned(void **state)
{
    struct trial t;
    char spec[256];
    uint64_t before, held, plan;

    (void)state;
    snprintf(spec, sizeof spec,
             "vgg depth=11 bn=1 base=32 channels=3 height=32 width=32 hidden=0 dropout=0 outputs=3 "
             "sync=0");
    before = mem_held();
    trial_spec(&t, spec, 48, 2);
    loss_at(&t, t.params, t.grads);
    held = mem_held() - before;
    plan = t.net->ops->worker_bytes(t.net, 48, 2) + 2 * t.net->size * sizeof(float);
    assert_true(held > plan / 2);
#ifndef __SANITIZE_THREAD__ /* which keeps notes of all that is touched */
    assert_true(held < plan + plan / 10 + (24 << 20));
#endif
    trial_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_right_without_batch_norm),
        cmocka_unit_test(gradients_are_right_with_batch_norm),
        cmocka_unit_test(gradients_are_right_for_odd_sizes_and_one_channel),
        cmocka_unit_test(gradients_are_right_through_means_of_the_last_maps),
        cmocka_unit_test(gradients_are_right_with_hidden_layers_and_dropout),
        cmocka_unit_test(every_depth_has_the_tensors_of_torchvision),
        cmocka_unit_test(a_pool_that_would_leave_nothing_is_left_out),
        cmocka_unit_test(bad_descriptions_are_refused),
        cmocka_unit_test(gradients_do_not_depend_on_the_threads),
        cmocka_unit_test(a_smaller_batch_fits_the_same_worker),
        cmocka_unit_test(running_statistics_move_by_a_tenth_and_serve_the_answer),
        cmocka_unit_test(a_bias_before_batch_norm_only_moves_the_running_mean),
        cmocka_unit_test(predictions_are_probabilities_whatever_the_batch),
        cmocka_unit_test(predictions_follow_the_weights),
        cmocka_unit_test(gradients_are_ready_from_the_end_to_the_beginning),
        cmocka_unit_test(statistics_are_shared_when_wished),
        cmocka_unit_test(an_empty_batch_has_no_gradient),
        cmocka_unit_test(a_net_learns_its_pictures_by_heart),
        cmocka_unit_test(the_memory_of_a_worker_is_what_was_planned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
