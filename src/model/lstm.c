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
    const struct net *net;
    const struct lstm *lstm;
    size_t batch, floats;
    float *memory;
    float *gates; /* [length][batch][4 hidden]; backwards the gradient by z */
    float *c, *h; /* [length + 1][batch][hidden], the first 0 */
    float *tanhc; /* [length][batch][hidden] */
    float *y, *dh, *dc;
};

/* ---- the net ---- */

static shoal_status add_tensors(struct net *net, struct lstm *m)
{
    size_t gates = 4 * m->hidden;
    shoal_status st;

    m->wx = net->size;
    st = net_tensor(net, "cell.weight_ih", (size_t[4]){gates, m->width}, TENSOR_STEP);
    m->wh = net->size;
    if (st == SHOAL_OK)
        st = net_tensor(net, "cell.weight_hh", (size_t[4]){gates, m->hidden}, TENSOR_STEP);
    m->b = net->size;
    if (st == SHOAL_OK)
        st = net_tensor(net, "cell.bias", (size_t[4]){gates}, TENSOR_STEP);
    m->wo = net->size;
    if (st == SHOAL_OK)
        st = net_tensor(net, "out.weight", (size_t[4]){net->outputs, m->hidden}, TENSOR_STEP);
    m->bo = net->size;
    return st == SHOAL_OK ? net_tensor(net, "out.bias", (size_t[4]){net->outputs}, TENSOR_STEP)
                          : st;
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

static void lstm_fini(struct net *net)
{
    free(net->impl);
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

static size_t worker_floats(const struct net *net, size_t batch)
{
    const struct lstm *m = net->impl;
    size_t state = batch * m->hidden;

    return (state * (4 * m->length + 2 * (m->length + 1) + m->length + 2) +
            batch * net->outputs + 256);
}

static size_t lstm_worker_bytes(const struct net *net, size_t batch, unsigned threads)
{
    (void)threads;
    return worker_floats(net, batch) * sizeof(float);
}

static void lstm_worker_free(void *worker)
{
    struct lstm_worker *w = worker;

    if (!w)
        return;
    mem_unmap(w->memory, w->floats * sizeof(float));
    free(w);
}

static void place(struct lstm_worker *w)
{
    const struct lstm *m = w->lstm;
    size_t state = w->batch * m->hidden;
    float *at = w->memory;

    w->gates = at;
    w->c = at += 4 * m->length * state;
    w->h = at += (m->length + 1) * state;
    w->tanhc = at += (m->length + 1) * state;
    w->dh = at += m->length * state;
    w->dc = at += state;
    w->y = at + state;
}

static shoal_status lstm_worker_new(void **out, const struct net *net, size_t batch,
                                    unsigned threads)
{
    struct lstm_worker *w = mem_array(1, sizeof *w);

    (void)threads;
    *out = NULL;
    if (!w)
        return SHOAL_ENOMEM;
    *w = (struct lstm_worker){.net = net, .lstm = net->impl, .batch = batch,
                              .floats = worker_floats(net, batch)};
    w->memory = mem_map(w->floats * sizeof(float));
    if (!w->memory) {
        free(w);
        return SHOAL_ENOMEM;
    }
    place(w);
    *out = w;
    return SHOAL_OK;
}

/* ---- forward ---- */

static void add_bias(float *z, const float *bias, size_t n, size_t width)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < width; j++)
            z[i * width + j] += bias[j];
}

/* z [n][4 hidden] becomes the gates, and they the next state. */
static void cell(const struct lstm_worker *w, size_t t, size_t n)
{
    const struct lstm *m = w->lstm;
    size_t hidden = m->hidden, state = w->batch * hidden;

    for (size_t i = 0; i < n; i++) {
        float *z = w->gates + 4 * (t * state + i * hidden);
        const float *before = w->c + t * state + i * hidden;
        float *c = w->c + (t + 1) * state + i * hidden, *h = w->h + (t + 1) * state + i * hidden;
        float *tanhc = w->tanhc + t * state + i * hidden;

        w->net->kernel->sigmoid(z, z, 2 * hidden);
        activate(w->net, SHOAL_TANH, z + 2 * hidden, z + 2 * hidden, hidden);
        w->net->kernel->sigmoid(z + 3 * hidden, z + 3 * hidden, hidden);
        for (size_t j = 0; j < hidden; j++)
            c[j] = z[hidden + j] * before[j] + z[j] * z[2 * hidden + j];
        activate(w->net, SHOAL_TANH, tanhc, c, hidden);
        for (size_t j = 0; j < hidden; j++)
            h[j] = z[3 * hidden + j] * tanhc[j];
    }
}

static shoal_status forward(struct lstm_worker *w, const float *params, const float *x, size_t n)
{
    const struct lstm *m = w->lstm;
    size_t hidden = m->hidden, gates = 4 * hidden, state = w->batch * hidden;
    shoal_status st = SHOAL_OK;

    for (size_t t = 0; t < m->length && st == SHOAL_OK; t++) {
        float *z = w->gates + 4 * t * state;

        st = gemm(false, true, n, gates, m->width, 1, x + t * m->width, m->length * m->width,
                  params + m->wx, m->width, 0, z, gates);
        if (st == SHOAL_OK && t > 0)
            st = gemm(false, true, n, gates, hidden, 1, w->h + t * state, hidden, params + m->wh,
                      hidden, 1, z, gates);
        add_bias(z, params + m->b, n, gates);
        cell(w, t, n);
    }
    if (st == SHOAL_OK)
        st = gemm(false, true, n, w->net->outputs, hidden, 1, w->h + m->length * state, hidden,
                  params + m->wo, hidden, 0, w->y, w->net->outputs);
    add_bias(w->y, params + m->bo, n, w->net->outputs);
    return st;
}

/* ---- backward ---- */

/* dh and dc are those of step t; the gates become the gradient by z, dc that of t - 1. */
static void cell_back(const struct lstm_worker *w, size_t t, size_t n)
{
    size_t hidden = w->lstm->hidden, state = w->batch * hidden;

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

static void sum_rows(const struct kernel *k, float *out, const float *d, size_t n, size_t width)
{
    for (size_t i = 0; i < n; i++)
        k->axpy(out, 1, d + i * width, width);
}

static shoal_status step_back(struct lstm_worker *w, const float *params, const float *x, size_t n,
                              size_t t, float *grads)
{
    const struct lstm *m = w->lstm;
    size_t hidden = m->hidden, gates = 4 * hidden, state = w->batch * hidden;
    float *z = w->gates + 4 * t * state;
    shoal_status st;

    cell_back(w, t, n);
    st = gemm(true, false, gates, m->width, n, 1, z, gates, x + t * m->width, m->length * m->width,
              1, grads + m->wx, m->width);
    if (st == SHOAL_OK && t > 0)
        st = gemm(true, false, gates, hidden, n, 1, z, gates, w->h + t * state, hidden, 1,
                  grads + m->wh, hidden);
    sum_rows(w->net->kernel, grads + m->b, z, n, gates);
    if (st == SHOAL_OK && t > 0)
        st = gemm(false, false, n, hidden, gates, 1, z, gates, params + m->wh, hidden, 0, w->dh,
                  hidden);
    return st;
}

static shoal_status top_back(struct lstm_worker *w, const float *params, size_t n, float *grads)
{
    const struct lstm *m = w->lstm;
    size_t hidden = m->hidden, outputs = w->net->outputs, state = w->batch * hidden;
    shoal_status st = gemm(true, false, outputs, hidden, n, 1, w->y, outputs,
                           w->h + m->length * state, hidden, 0, grads + m->wo, hidden);

    sum_rows(w->net->kernel, grads + m->bo, w->y, n, outputs);
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
    const struct lstm *m = w->lstm;
    bool told = hooks && hooks->ready;
    shoal_status st = SHOAL_OK;

    memset(grads, 0, w->net->size * sizeof *grads);
    if (b->n > 0) {
        st = forward(w, params, b->x, b->n);
        net_loss_rows(w->net, b, scale, false, w->y, sums);
        if (st == SHOAL_OK)
            st = top_back(w, params, b->n, grads);
    }
    if (st == SHOAL_OK && told)
        st = hooks->ready(hooks->ctx, m->wo, w->net->size);
    for (size_t t = b->n > 0 ? m->length : 0; t > 0 && st == SHOAL_OK; t--)
        st = step_back(w, params, b->x, b->n, t - 1, grads);
    return st == SHOAL_OK && told ? hooks->ready(hooks->ctx, 0, m->wo) : st;
}

static shoal_status lstm_measure(void *worker, const float *params, const struct net_batch *b,
                                 struct sums *sums)
{
    struct lstm_worker *w = worker;
    shoal_status st = forward(w, params, b->x, b->n);

    if (st == SHOAL_OK)
        net_loss_rows(w->net, b, 1, true, w->y, sums);
    return st;
}

static shoal_status lstm_predict(void *worker, const float *params, const float *x, size_t n,
                                 float *y)
{
    struct lstm_worker *w = worker;
    shoal_status st = forward(w, params, x, n);

    memcpy(y, w->y, n * w->net->outputs * sizeof *y);
    return st;
}

const struct net_ops lstm_ops = {
    .kind = "lstm",
    .init = lstm_init,
    .fini = lstm_fini,
    .start = lstm_start,
    .worker_new = lstm_worker_new,
    .worker_free = lstm_worker_free,
    .worker_bytes = lstm_worker_bytes,
    .gradient = lstm_gradient,
    .measure = lstm_measure,
    .predict = lstm_predict,
};
