/* A recurrent cell with a memory (Hochreiter and Schmidhuber 1997; the forget gate of
 * Gers et al. 2000) over a window of `length` vectors, and a layer on its last state.
 *
 *     z(t) = wx x(t) + wh h(t-1) + b       [4 hidden]: i, f, g, o as PyTorch has them
 *     c(t) = s(f) c(t-1) + s(i) tanh(g)    s is the sigmoid
 *     h(t) = s(o) tanh(c(t))
 *     y    = wo h(length) + bo                                                     */
#include "model/mlp.h"

#include <math.h>
#include <stdlib.h>

struct lstm {
    size_t length, width, hidden;
    size_t wx, wh, b, wo, bo; /* where, in a block */
};

struct lstm_worker {
    struct net_worker base;
    float *gates; /* [length][batch][4 hidden]; backwards the gradient by z */
    float *c, *h; /* [length + 1][batch][hidden], the first 0 */
    float *tanhc; /* [length][batch][hidden] */
    float *y, *dh, *dc;
};

/* ---- the net ---- */

static shoal_status add_tensors(struct net *net, struct lstm *m)
{
    size_t gates = 4 * m->hidden;
    const struct {
        size_t *at;
        const char *name;
        size_t dims[3];
    } tensors[] = {
        {&m->wx, "cell.weight_ih", {gates, m->width}},
        {&m->wh, "cell.weight_hh", {gates, m->hidden}},
        {&m->b, "cell.bias", {gates}},
        {&m->wo, "out.weight", {net->outputs, m->hidden}},
        {&m->bo, "out.bias", {net->outputs}},
    };
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < sizeof tensors / sizeof *tensors && st == SHOAL_OK; i++)
        st = net_tensor(net, tensors[i].at, tensors[i].name, tensors[i].dims, TENSOR_STEP);
    return st;
}

static shoal_status lstm_init(struct net *net, const char *spec)
{
    struct lstm *m = net->impl = mem_array(1, sizeof *m);
    shoal_status st = m ? net_spec_size(spec, "length", 1, 1000, &m->length) : SHOAL_ENOMEM;

    if (st == SHOAL_OK)
        st = net_spec_size(spec, "width", 1, 1 << 16, &m->width);
    if (st == SHOAL_OK)
        st = net_spec_size(spec, "hidden", 1, 1 << 16, &m->hidden);
    if (st == SHOAL_OK)
        st = net_spec_size(spec, "outputs", 1, NET_MAX_WIDTH, &net->outputs);
    if (st != SHOAL_OK)
        return st;
    net->inputs = m->length * m->width;
    net->flops = 6.0 * ((double)(m->length * 4 * m->hidden * (m->width + m->hidden)) +
                        (double)(net->outputs * m->hidden));
    return add_tensors(net, m);
}

/* At first nothing is forgotten. */
static void lstm_start(const struct net *net, float *params, uint64_t seed)
{
    const struct lstm *m = net->impl;
    size_t gates = 4 * m->hidden;
    float bound = (float)(1 / sqrt((double)m->hidden));

    net_fill_uniform(params + m->wx, gates * m->width, bound, seed, 1);
    net_fill_uniform(params + m->wh, gates * m->hidden, bound, seed, 2);
    net_fill_uniform(params + m->wo, net->outputs * m->hidden, bound, seed, 3);
    for (size_t i = m->hidden; i < 2 * m->hidden; i++)
        params[m->b + i] = 1;
}

/* ---- workers ---- */

static size_t carve_worker(void *worker, char *base)
{
    struct lstm_worker *w = worker;
    const struct lstm *m = w->base.net->impl;
    struct carver c = {.base = base};
    size_t state = w->base.batch * m->hidden;

    w->gates = carver_take(&c, 4 * m->length * state, sizeof(float));
    w->c = carver_take(&c, (m->length + 1) * state, sizeof(float));
    w->h = carver_take(&c, (m->length + 1) * state, sizeof(float));
    w->tanhc = carver_take(&c, m->length * state, sizeof(float));
    w->dh = carver_take(&c, state, sizeof(float));
    w->dc = carver_take(&c, state, sizeof(float));
    w->y = carver_take(&c, w->base.batch * w->base.net->outputs, sizeof(float));
    return c.at;
}

static size_t lstm_worker_bytes(const struct net *net, size_t batch, unsigned threads)
{
    struct lstm_worker w = {.base = {.net = net, .batch = batch}};

    return carve_worker(&w, NULL);
}

/* ---- forward ---- */

/* z [n][4 hidden] becomes the gates, and they the next state. */
static void cell(const struct lstm_worker *w, size_t t, size_t n)
{
    const struct lstm *m = w->base.net->impl;
    size_t hidden = m->hidden, state = w->base.batch * hidden;

    for (size_t i = 0; i < n; i++) {
        float *z = w->gates + 4 * (t * state + i * hidden);
        const float *before = w->c + t * state + i * hidden;
        float *c = w->c + (t + 1) * state + i * hidden, *h = w->h + (t + 1) * state + i * hidden;
        float *tanhc = w->tanhc + t * state + i * hidden;

        w->base.net->kernel->sigmoid(z, z, 2 * hidden);
        activation_apply(w->base.net, SHOAL_TANH, z + 2 * hidden, z + 2 * hidden, hidden);
        w->base.net->kernel->sigmoid(z + 3 * hidden, z + 3 * hidden, hidden);
        for (size_t j = 0; j < hidden; j++)
            c[j] = z[hidden + j] * before[j] + z[j] * z[2 * hidden + j];
        activation_apply(w->base.net, SHOAL_TANH, tanhc, c, hidden);
        for (size_t j = 0; j < hidden; j++)
            h[j] = z[3 * hidden + j] * tanhc[j];
    }
}

static shoal_status forward(struct lstm_worker *w, const float *params, const float *x, size_t n)
{
    const struct lstm *m = w->base.net->impl;
    size_t hidden = m->hidden, gates = 4 * hidden, state = w->base.batch * hidden;
    shoal_status st = SHOAL_OK;

    for (size_t t = 0; t < m->length && st == SHOAL_OK; t++) {
        float *z = w->gates + 4 * t * state;

        st = gemm(false, true, n, gates, m->width, 1, x + t * m->width, m->length * m->width,
                  params + m->wx, m->width, 0, z, gates);
        if (st == SHOAL_OK && t > 0)
            st = gemm(false, true, n, gates, hidden, 1, w->h + t * state, hidden, params + m->wh,
                      hidden, 1, z, gates);
        net_add_bias(z, params + m->b, n, gates);
        cell(w, t, n);
    }
    if (st == SHOAL_OK)
        st = gemm(false, true, n, w->base.net->outputs, hidden, 1, w->h + m->length * state, hidden,
                  params + m->wo, hidden, 0, w->y, w->base.net->outputs);
    net_add_bias(w->y, params + m->bo, n, w->base.net->outputs);
    return st;
}

/* ---- backward ---- */

/* dh and dc are those of step t; the gates become the gradient by z, dc that of t - 1. */
static void cell_back(const struct lstm_worker *w, size_t t, size_t n)
{
    const struct lstm *m = w->base.net->impl;
    size_t hidden = m->hidden, state = w->base.batch * hidden;

    for (size_t i = 0; i < n; i++) {
        float *z = w->gates + 4 * (t * state + i * hidden);
        const float *before = w->c + t * state + i * hidden;
        const float *tanhc = w->tanhc + t * state + i * hidden;
        const float *dh = w->dh + i * hidden;
        float *dc = w->dc + i * hidden;

        for (size_t j = 0; j < hidden; j++) {
            float in = z[j], forget = z[hidden + j], g = z[2 * hidden + j], out = z[3 * hidden + j];
            float d = dc[j] + dh[j] * out * (1 - tanhc[j] * tanhc[j]);

            z[j] = d * g * in * (1 - in);
            z[hidden + j] = d * before[j] * forget * (1 - forget);
            z[2 * hidden + j] = d * in * (1 - g * g);
            z[3 * hidden + j] = dh[j] * tanhc[j] * out * (1 - out);
            dc[j] = d * forget;
        }
    }
}

static shoal_status step_back(struct lstm_worker *w, const float *params, const float *x, size_t n,
                              size_t t, float *grads)
{
    const struct lstm *m = w->base.net->impl;
    size_t hidden = m->hidden, gates = 4 * hidden, state = w->base.batch * hidden;
    float *z = w->gates + 4 * t * state;
    shoal_status st;

    cell_back(w, t, n);
    st = gemm(true, false, gates, m->width, n, 1, z, gates, x + t * m->width, m->length * m->width,
              1, grads + m->wx, m->width);
    if (st == SHOAL_OK && t > 0)
        st = gemm(true, false, gates, hidden, n, 1, z, gates, w->h + t * state, hidden, 1,
                  grads + m->wh, hidden);
    net_sum_rows(w->base.net->kernel, grads + m->b, z, n, gates);
    if (st == SHOAL_OK && t > 0)
        st = gemm(false, false, n, hidden, gates, 1, z, gates, params + m->wh, hidden, 0, w->dh,
                  hidden);
    return st;
}

static shoal_status top_back(struct lstm_worker *w, const float *params, size_t n, float *grads)
{
    const struct lstm *m = w->base.net->impl;
    size_t hidden = m->hidden, outputs = w->base.net->outputs, state = w->base.batch * hidden;
    shoal_status st = gemm(true, false, outputs, hidden, n, 1, w->y, outputs,
                           w->h + m->length * state, hidden, 0, grads + m->wo, hidden);

    net_sum_rows(w->base.net->kernel, grads + m->bo, w->y, n, outputs);
    if (st == SHOAL_OK)
        st = gemm(false, false, n, hidden, outputs, 1, w->y, outputs, params + m->wo, hidden, 0,
                  w->dh, hidden);
    memset(w->dc, 0, n * hidden * sizeof *w->dc);
    return st;
}

static shoal_status lstm_gradient(void *worker, const float *params, const struct net_batch *b,
                                  float scale, float *grads, const struct net_hooks *hooks,
                                  struct sums *sums)
{
    struct lstm_worker *w = worker;
    const struct lstm *m = w->base.net->impl;
    shoal_status st = SHOAL_OK;

    memset(grads, 0, w->base.net->size * sizeof *grads);
    if (b->n > 0) {
        st = forward(w, params, b->x, b->n);
        net_loss_rows(w->base.net, b, scale, false, w->y, sums);
        net_backward(hooks);
        if (st == SHOAL_OK)
            st = top_back(w, params, b->n, grads);
    }
    if (st == SHOAL_OK)
        st = net_ready(hooks, m->wo, w->base.net->size);
    for (size_t t = b->n > 0 ? m->length : 0; t > 0 && st == SHOAL_OK; t--)
        st = step_back(w, params, b->x, b->n, t - 1, grads);
    return st == SHOAL_OK ? net_ready(hooks, 0, m->wo) : st;
}

static shoal_status lstm_measure(void *worker, const float *params, const struct net_batch *b,
                                 struct sums *sums)
{
    struct lstm_worker *w = worker;
    shoal_status st = forward(w, params, b->x, b->n);

    if (st == SHOAL_OK)
        net_loss_rows(w->base.net, b, 1, true, w->y, sums);
    return st;
}

static shoal_status lstm_predict(void *worker, const float *params, const float *x, size_t n,
                                 float *y)
{
    struct lstm_worker *w = worker;
    shoal_status st = forward(w, params, x, n);

    memcpy(y, w->y, n * w->base.net->outputs * sizeof *y);
    return st;
}

const struct net_ops lstm_ops = {
    .kind = "lstm",
    .init = lstm_init,
    .start = lstm_start,
    .worker_size = sizeof(struct lstm_worker),
    .worker_carve = carve_worker,
    .worker_new = net_worker_new,
    .worker_free = net_worker_free,
    .worker_bytes = lstm_worker_bytes,
    .gradient = lstm_gradient,
    .measure = lstm_measure,
    .predict = lstm_predict,
};
