/* The perceptron of several layers: softmax or squared error on top. */
#include "model/mlp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- activations ---- */

bool activation_needs_z(enum shoal_activation f)
{
    return f == SHOAL_GELU;
}

/* z times the share of the normal distribution below it (Hendrycks and Gimpel 2016). */
static float gelu(float z)
{
    return 0.5f * z * (1 + erff(z * 0.707106781f));
}

static float gelu_slope(float z)
{
    float below = 0.5f * (1 + erff(z * 0.707106781f));

    return below + z * 0.398942280f * expf(-0.5f * z * z);
}

void activation_apply(const struct net *net, enum shoal_activation f, float *a, const float *z,
                      size_t n)
{
    switch (f) {
    case SHOAL_AUTO_ACTIVATION: /* chosen before */
    case SHOAL_RELU:
        for (size_t i = 0; i < n; i++)
            a[i] = z[i] > 0 ? z[i] : 0;
        break;
    case SHOAL_TANH: /* 2 sigmoid(2 z) - 1 */
        for (size_t i = 0; i < n; i++)
            a[i] = 2 * z[i];
        net->kernel->sigmoid(a, a, n);
        for (size_t i = 0; i < n; i++)
            a[i] = 2 * a[i] - 1;
        break;
    case SHOAL_SIGMOID:
        net->kernel->sigmoid(a, z, n);
        break;
    case SHOAL_GELU:
        for (size_t i = 0; i < n; i++)
            a[i] = gelu(z[i]);
        break;
    }
}

void activation_gradient(enum shoal_activation f, float *d, const float *a, const float *z,
                         size_t n)
{
    switch (f) {
    case SHOAL_AUTO_ACTIVATION: /* chosen before */
    case SHOAL_RELU:
        for (size_t i = 0; i < n; i++)
            d[i] = a[i] > 0 ? d[i] : 0;
        break;
    case SHOAL_TANH:
        for (size_t i = 0; i < n; i++)
            d[i] *= 1 - a[i] * a[i];
        break;
    case SHOAL_SIGMOID:
        for (size_t i = 0; i < n; i++)
            d[i] *= a[i] * (1 - a[i]);
        break;
    case SHOAL_GELU:
        for (size_t i = 0; i < n; i++)
            d[i] *= gelu_slope(z[i]);
        break;
    }
}

/* ---- the net ---- */

static shoal_status read_activation(struct mlp *m, const char *spec)
{
    static const char *const names[] = {"relu", "tanh", "sigmoid", "gelu"};
    char text[16];
    shoal_status st = net_spec_text(spec, "activation", text, sizeof text);

    if (st != SHOAL_OK)
        return st;
    for (unsigned i = 0; i < 4; i++)
        if (strcmp(text, names[i]) == 0) {
            m->activation = i;
            return SHOAL_OK;
        }
    return shoal_fail(SHOAL_EINVAL, "net: activation is %s, want relu, tanh, sigmoid or gelu",
                      text);
}

/* "64,64", or nothing for no hidden layer. */
static shoal_status read_layers(struct mlp *m, const char *spec)
{
    char text[256], *at = text;
    shoal_status st = net_spec_text(spec, "layers", text, sizeof text);

    while (st == SHOAL_OK && *at) {
        char *end;
        unsigned long x = strtoul(at, &end, 10);

        if (end == at || (*end && *end != ',') || x < 1 || x > NET_MAX_WIDTH ||
            m->layers == NET_MAX_LAYERS)
            return shoal_fail(SHOAL_EINVAL,
                              "net: layers are '%s', want up to %d widths from 1 to %d", text,
                              NET_MAX_LAYERS, NET_MAX_WIDTH);
        m->width[++m->layers] = x;
        at = *end ? end + 1 : end;
    }
    return st;
}

static shoal_status read_loss(struct net *net, const char *spec)
{
    char text[16];
    shoal_status st = net_spec_text(spec, "loss", text, sizeof text);

    net->classes = strcmp(text, "softmax") == 0;
    if (st == SHOAL_OK && !net->classes && strcmp(text, "mse") != 0)
        st = shoal_fail(SHOAL_EINVAL, "net: loss is %s, want softmax or mse", text);
    return st;
}

static shoal_status add_layers(struct net *net, struct mlp *m)
{
    shoal_status st = SHOAL_OK;

    m->narrow = m->width[0] <= MLP_NARROW;
    for (size_t l = 1; l <= m->layers && st == SHOAL_OK; l++) {
        char name[NET_NAME];

        snprintf(name, sizeof name, "%zu.weight", l - 1);
        st = net_tensor(net, &m->w[l], name, (size_t[4]){m->width[l], m->width[l - 1]},
                        TENSOR_STEP);
        snprintf(name, sizeof name, "%zu.bias", l - 1);
        if (st == SHOAL_OK)
            st = net_tensor(net, &m->b[l], name, (size_t[4]){m->width[l]}, TENSOR_STEP);
        m->narrow = m->narrow && m->width[l] <= MLP_NARROW;
        net->flops += 6.0 * (double)m->width[l] * (double)m->width[l - 1];
    }
    return st;
}

static shoal_status mlp_init(struct net *net, const char *spec)
{
    struct mlp *m = net->impl = mem_array(1, sizeof *m);
    shoal_status st = m ? SHOAL_OK : SHOAL_ENOMEM;

    if (st == SHOAL_OK)
        st = net_spec_size(spec, "inputs", 1, NET_MAX_WIDTH, &net->inputs);
    if (st == SHOAL_OK)
        st = net_spec_size(spec, "outputs", 1, NET_MAX_WIDTH, &net->outputs);
    if (st == SHOAL_OK)
        st = read_layers(m, spec);
    if (st == SHOAL_OK)
        st = read_activation(m, spec);
    if (st == SHOAL_OK)
        st = read_loss(net, spec);
    if (st != SHOAL_OK)
        return st;
    m->width[0] = net->inputs;
    m->width[++m->layers] = net->outputs;
    return add_layers(net, m);
}

/* He et al. 2015 for rectifiers, of whose units half are 0; Glorot and Bengio 2010 else. */
static void mlp_start(const struct net *net, float *params, uint64_t seed)
{
    const struct mlp *m = net->impl;

    for (size_t l = 1; l <= m->layers; l++) {
        size_t in = m->width[l - 1], out = m->width[l];
        bool rectified = m->activation == SHOAL_RELU || m->activation == SHOAL_GELU;
        double fan = l < m->layers && rectified ? (double)in : (double)(in + out);

        net_fill_uniform(params + m->w[l], in * out, (float)sqrt(6 / fan), seed, l);
    }
}

/* ---- workers ---- */

static size_t carve_worker(void *worker, char *base)
{
    struct mlp_worker *w = worker;
    const struct mlp *m = w->base.net->impl;
    struct carver c = {.base = base};
    size_t samples = m->narrow ? MLP_TILE : w->base.batch, most = 0;

    /* Wide nets read their inputs where they are. */
    for (size_t l = m->narrow ? 0 : 1; l <= m->layers; l++) {
        w->a[l] = carver_take(&c, samples * m->width[l], sizeof(float));
        if (activation_needs_z(m->activation))
            w->z[l] = carver_take(&c, samples * m->width[l], sizeof(float));
        most = m->width[l] > most ? m->width[l] : most;
    }
    w->d[0] = carver_take(&c, samples * most, sizeof(float));
    w->d[1] = carver_take(&c, samples * most, sizeof(float));
    return c.at;
}

static size_t mlp_worker_bytes(const struct net *net, size_t batch, unsigned threads)
{
    struct mlp_worker w = {.base = {.net = net, .batch = batch}};

    return carve_worker(&w, NULL);
}

/* ---- wide: rows are samples ---- */

void net_add_bias(float *z, const float *bias, size_t n, size_t width)
{
    for (size_t i = 0; i < n; i++)
        for (size_t o = 0; o < width; o++)
            z[i * width + o] += bias[o];
}

/* a[layers] is the outputs before softmax. */
static shoal_status wide_forward(struct mlp_worker *w, const float *params, const float *x,
                                 size_t n)
{
    const struct mlp *m = w->base.net->impl;
    shoal_status st = SHOAL_OK;

    for (size_t l = 1; l <= m->layers && st == SHOAL_OK; l++) {
        size_t in = m->width[l - 1], out = m->width[l];
        float *z = w->z[l] ? w->z[l] : w->a[l];
        bool last = l == m->layers;

        if (last)
            z = w->a[l];
        st = gemm(false, true, n, out, in, 1, l == 1 ? x : w->a[l - 1], in, params + m->w[l], in, 0,
                  z, out);
        net_add_bias(z, params + m->b[l], n, out);
        if (!last)
            activation_apply(w->base.net, m->activation, w->a[l], z, n * out);
    }
    return st;
}

void net_sum_rows(const struct kernel *k, float *out, const float *d, size_t n, size_t width)
{
    for (size_t i = 0; i < n; i++)
        k->axpy(out, 1, d + i * width, width);
}

/* d holds the gradient by z of layer l; afterwards the other d that of l - 1. */
static shoal_status wide_back(struct mlp_worker *w, const float *params, const float *x, size_t n,
                              size_t l, float *grads)
{
    const struct mlp *m = w->base.net->impl;
    size_t in = m->width[l - 1], out = m->width[l];
    float *d = w->d[l % 2], *below = w->d[(l - 1) % 2];
    shoal_status st;

    if (n == 0) {
        memset(grads + m->w[l], 0, in * out * sizeof *grads);
        memset(grads + m->b[l], 0, out * sizeof *grads);
        return SHOAL_OK;
    }
    st = gemm(true, false, out, in, n, 1, d, out, l == 1 ? x : w->a[l - 1], in, 0, grads + m->w[l],
              in);
    memset(grads + m->b[l], 0, out * sizeof *grads);
    net_sum_rows(w->base.net->kernel, grads + m->b[l], d, n, out);
    if (st != SHOAL_OK || l == 1)
        return st;
    st = gemm(false, false, n, in, out, 1, d, out, params + m->w[l], in, 0, below, in);
    activation_gradient(m->activation, below, w->a[l - 1], w->z[l - 1], n * in);
    return st;
}

static shoal_status wide_gradient(struct mlp_worker *w, const float *params,
                                  const struct net_batch *b, float scale, float *grads,
                                  const struct net_hooks *hooks, struct sums *sums)
{
    const struct mlp *m = w->base.net->impl;
    float *d = w->d[m->layers % 2];
    shoal_status st = b->n > 0 ? wide_forward(w, params, b->x, b->n) : SHOAL_OK;

    if (st != SHOAL_OK)
        return st;
    memcpy(d, w->a[m->layers], b->n * w->base.net->outputs * sizeof *d);
    net_loss_rows(w->base.net, b, scale, false, d, sums);
    net_backward(hooks);
    for (size_t l = m->layers; l >= 1 && st == SHOAL_OK; l--) {
        st = wide_back(w, params, b->x, b->n, l, grads);
        if (st == SHOAL_OK)
            st = net_ready(hooks, m->w[l], l < m->layers ? m->w[l + 1] : w->base.net->size);
    }
    return st;
}

/* ---- both ---- */

static shoal_status mlp_gradient(void *worker, const float *params, const struct net_batch *b,
                                 float scale, float *grads, const struct net_hooks *hooks,
                                 struct sums *sums)
{
    struct mlp_worker *w = worker;
    const struct mlp *m = w->base.net->impl;
    shoal_status st;

    if (!m->narrow)
        return wide_gradient(w, params, b, scale, grads, hooks, sums);
    st = mlp_narrow_gradient(w, params, b, scale, grads, sums);
    return st == SHOAL_OK ? net_ready(hooks, 0, w->base.net->size) : st;
}

static shoal_status mlp_measure(void *worker, const float *params, const struct net_batch *b,
                                struct sums *sums)
{
    struct mlp_worker *w = worker;
    const struct mlp *m = w->base.net->impl;
    shoal_status st;

    if (m->narrow) {
        mlp_narrow_measure(w, params, b, sums);
        return SHOAL_OK;
    }
    st = wide_forward(w, params, b->x, b->n);
    if (st == SHOAL_OK)
        net_loss_rows(w->base.net, b, 1, true, w->a[m->layers], sums);
    return st;
}

static shoal_status mlp_predict(void *worker, const float *params, const float *x, size_t n,
                                float *y)
{
    struct mlp_worker *w = worker;
    const struct mlp *m = w->base.net->impl;
    struct net_batch b = {.n = n, .x = x};
    struct sums sums = {0};
    shoal_status st;

    if (m->narrow) {
        mlp_narrow_predict(w, params, x, n, y);
        return SHOAL_OK;
    }
    st = wide_forward(w, params, x, n);
    if (st != SHOAL_OK)
        return st;
    memcpy(y, w->a[m->layers], n * w->base.net->outputs * sizeof *y);
    net_loss_rows(w->base.net, &b, 1, true, y, &sums);
    return SHOAL_OK;
}

const struct net_ops mlp_ops = {
    .kind = "mlp",
    .init = mlp_init,
    .start = mlp_start,
    .worker_size = sizeof(struct mlp_worker),
    .worker_carve = carve_worker,
    .worker_new = net_worker_new,
    .worker_free = net_worker_free,
    .worker_bytes = mlp_worker_bytes,
    .gradient = mlp_gradient,
    .measure = mlp_measure,
    .predict = mlp_predict,
};
