/* What all nets share: descriptions, tensors in a block, and losses. */
#include "model/mlp.h"
#include "model/vgg.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct net_ops *const kinds[] = {&mlp_ops, &lstm_ops, &vgg_ops};

/* ---- descriptions ---- */

static const char *find_value(const char *spec, const char *key)
{
    size_t len = strlen(key);

    for (const char *at = spec; (at = strstr(at, key)) != NULL; at += len)
        if (at > spec && at[-1] == ' ' && at[len] == '=')
            return at + len + 1;
    return NULL;
}

bool net_spec_has(const char *spec, const char *key)
{
    return find_value(spec, key) != NULL;
}

shoal_status net_spec_text(const char *spec, const char *key, char *text, size_t cap)
{
    const char *at = find_value(spec, key);
    size_t len = at ? strcspn(at, " ") : 0;

    if (!at || len >= cap)
        return shoal_fail(SHOAL_EINVAL, "net: found %s of %s in '%s', want one of 0 to %zu bytes",
                          at ? "too much" : "no value", key, spec, cap - 1);
    memcpy(text, at, len);
    text[len] = '\0';
    return SHOAL_OK;
}

static bool read_size(const char *text, size_t least, size_t most, size_t *value)
{
    const char *end = number_digits(text, text + strlen(text), value);

    return end && *end == '\0' && *value >= least && *value <= most;
}

shoal_status net_spec_size(const char *spec, const char *key, size_t least, size_t most,
                           size_t *value)
{
    char text[24];
    shoal_status st = net_spec_text(spec, key, text, sizeof text);

    if (st == SHOAL_OK && !read_size(text, least, most, value))
        st = shoal_fail(SHOAL_EINVAL, "net: %s is '%s', want a whole number from %zu to %zu", key,
                        text, least, most);
    return st;
}

static const struct net_ops *find_kind(const char *spec)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t len = strlen(kinds[i]->kind);

        if (strncmp(spec, kinds[i]->kind, len) == 0 && spec[len] == ' ')
            return kinds[i];
    }
    return NULL;
}

/* ---- nets ---- */

static shoal_status init(struct net *net, const char *spec)
{
    shoal_status st;

    net->ops = find_kind(spec);
    if (!net->ops || strlen(spec) >= NET_SPEC)
        return shoal_fail(SHOAL_EINVAL, "net: found '%.40s', want a kind of net that is known here",
                          spec);
    snprintf(net->spec, sizeof net->spec, "%s", spec);
    st = kernel_choose(&net->kernel);
    return st == SHOAL_OK ? net->ops->init(net, spec) : st;
}

shoal_status net_new(struct net **out, const char *spec)
{
    struct net *net = mem_array(1, sizeof *net);
    shoal_status st = net ? init(net, spec) : SHOAL_ENOMEM;

    *out = NULL;
    if (st != SHOAL_OK) {
        net_free(net);
        return st;
    }
    *out = net;
    return SHOAL_OK;
}

void net_free(struct net *net)
{
    if (!net)
        return;
    free(net->impl);
    free(net->tensors);
    free(net);
}

shoal_status net_tensor(struct net *net, size_t *at, const char *name, const size_t *dims,
                        enum tensor_rule rule)
{
    struct tensor t = {.at = net->size, .size = 1, .rule = rule};
    size_t cap = net->ntensors;
    void *tensors = net->tensors;
    shoal_status st;

    snprintf(t.name, sizeof t.name, "%s", name);
    for (size_t i = 0; i < 4 && dims[i] > 0; i++) {
        t.dims[i] = dims[i];
        if (__builtin_mul_overflow(t.size, dims[i], &t.size) || t.size > (size_t)1 << 40)
            return shoal_fail(SHOAL_ELIMIT, "net: %s is too large", name);
    }
    st = mem_grow(&tensors, &cap, net->ntensors + 1, sizeof t);
    net->tensors = tensors;
    if (st != SHOAL_OK)
        return st;
    *at = t.at;
    net->tensors[net->ntensors++] = t;
    net->size += (t.size + NET_ALIGN - 1) / NET_ALIGN * NET_ALIGN;
    return SHOAL_OK;
}

const struct tensor *net_find(const struct net *net, const char *name)
{
    for (size_t i = 0; i < net->ntensors; i++)
        if (strcmp(net->tensors[i].name, name) == 0)
            return &net->tensors[i];
    return NULL;
}

void *carver_take(struct carver *c, size_t n, size_t size)
{
    void *part = c->base ? c->base + c->at : NULL;

    c->at += (n * size + 63) / 64 * 64;
    return part;
}

shoal_status net_worker_new(void **out, const struct net *net, size_t batch, unsigned threads)
{
    struct net_worker *w = mem_array(1, net->ops->worker_size);

    *out = NULL;
    if (!w)
        return SHOAL_ENOMEM;
    w->net = net;
    w->batch = batch;
    w->bytes = net->ops->worker_carve(w, NULL);
    w->mapping = mem_map(w->bytes);
    if (!w->mapping) {
        free(w);
        return SHOAL_ENOMEM;
    }
    net->ops->worker_carve(w, w->mapping);
    *out = w;
    return SHOAL_OK;
}

void net_worker_free(void *worker)
{
    struct net_worker *w = worker;

    if (!w)
        return;
    mem_unmap(w->mapping, w->bytes);
    free(w);
}

void net_fill_uniform(float *x, size_t n, float bound, uint64_t seed, uint64_t at)
{
    struct rng r = {.seed = seed, .stream = 0xde45e + at};

    for (size_t i = 0; i < n; i++)
        x[i] = bound * (float)(2 * rng_unit(&r) - 1);
}

/* ---- sums and losses ---- */

void sums_add(struct sums *sum, const struct sums *more)
{
    sum->examples += more->examples;
    sum->rows += more->rows;
    sum->predictions += more->predictions;
    sum->right += more->right;
    sum->right5 += more->right5;
    sum->loss += more->loss;
    sum->squared += more->squared;
    sum->absolute += more->absolute;
    sum->cosine += more->cosine;
}

static float largest(const float *z, size_t n)
{
    float top = z[0];

    for (size_t o = 1; o < n; o++)
        top = z[o] > top ? z[o] : top;
    return top;
}

double net_softmax_row(float *z, size_t n, uint32_t label)
{
    float top = largest(z, n), own = label < n ? z[label] - top : 0, total = 0;

    for (size_t o = 0; o < n; o++)
        total += z[o] = expf(z[o] - top);
    for (size_t o = 0; o < n; o++)
        z[o] /= total;
    return (double)(logf(total) - own);
}

static void classes_row(float *z, size_t n, uint32_t label, float scale, bool keep,
                        struct sums *sums)
{
    size_t above = 0;

    for (size_t o = 0; o < n; o++)
        above += z[o] > z[label];
    sums->right += above == 0;
    sums->right5 += above < 5;
    sums->loss += net_softmax_row(z, n, label);
    if (keep)
        return;
    z[label] -= 1;
    for (size_t o = 0; o < n; o++)
        z[o] *= scale;
}

/* The loss of a sample is |z - y|^2 / n. */
static void targets_row(const struct net *net, float *z, const float *y, float scale, bool keep,
                        struct sums *sums)
{
    double loss = 0, squared = 0, absolute = 0, zz = 0, yy = 0, zy = 0;
    size_t n = net->outputs;
    float by = 2 * scale / (float)n;

    for (size_t o = 0; o < n; o++) {
        float d = z[o] - y[o];
        double error = (double)d * (net->units ? (double)net->units[o] : 1);

        loss += (double)d * (double)d;
        squared += error * error;
        absolute += fabs(error);
        zz += (double)z[o] * (double)z[o];
        yy += (double)y[o] * (double)y[o];
        zy += (double)z[o] * (double)y[o];
        if (!keep)
            z[o] = by * d;
    }
    sums->squared += squared / (double)n;
    sums->loss += loss / (double)n;
    sums->absolute += absolute / (double)n;
    sums->cosine += zz > 0 && yy > 0 ? zy / sqrt(zz * yy) : 0;
}

void net_loss_rows(const struct net *net, const struct net_batch *b, float scale, bool keep,
                   float *z, struct sums *sums)
{
    for (size_t i = 0; i < b->n; i++) {
        float *row = z + i * net->outputs;

        if (b->label)
            classes_row(row, net->outputs, b->label[i], scale, keep, sums);
        else if (b->y)
            targets_row(net, row, b->y + i * net->outputs, scale, keep, sums);
        else if (net->classes)
            net_softmax_row(row, net->outputs, UINT32_MAX);
    }
    sums->examples += b->n;
    sums->predictions += b->n;
}
