/* A VGG as a net: its description, its tensors, its memory, its passes. */
#include "model/vgg.h"

#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Convolutions of each of the five stages, table 1 of the paper (A, B, D, E); a
 * pool follows each stage. */
static const struct {
    size_t depth;
    unsigned char stage[5];
} depths[] = {
    {11, {1, 1, 2, 2, 2}},
    {13, {2, 2, 2, 2, 2}},
    {16, {2, 2, 3, 3, 3}},
    {19, {2, 2, 4, 4, 4}},
};

/* ---- the description ---- */

struct shape {
    size_t depth, channels, height, width, base, hidden, outputs, norm, synced, pool;
    double dropout;
};

static shoal_status read_dropout(const char *spec, double *out)
{
    char text[32], *end;
    shoal_status st = net_spec_text(spec, "dropout", text, sizeof text);

    if (st != SHOAL_OK)
        return st;
    *out = number_read(text, &end);
    if (*end || !(*out >= 0 && *out < 1))
        return shoal_fail(SHOAL_EINVAL, "vgg: dropout is %s, want 0 to below 1", text);
    return SHOAL_OK;
}

static shoal_status read_shape(struct shape *s, const char *spec)
{
    const struct {
        const char *key;
        size_t least, most, *to;
    } fields[] = {
        {"depth", 11, 19, &s->depth},
        {"channels", 1, 3, &s->channels},
        {"height", 1, VGG_MAX_SIDE, &s->height},
        {"width", 1, VGG_MAX_SIDE, &s->width},
        {"base", KERNEL_LANES, VGG_MAX_BASE, &s->base},
        {"hidden", 0, VGG_MAX_HIDDEN, &s->hidden},
        {"outputs", 2, NET_MAX_WIDTH, &s->outputs},
        {"bn", 0, 1, &s->norm},
        {"sync", 0, 1, &s->synced},
    };
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < sizeof fields / sizeof *fields && st == SHOAL_OK; i++)
        st = net_spec_size(spec, fields[i].key, fields[i].least, fields[i].most, fields[i].to);
    if (st == SHOAL_OK && net_spec_has(spec, "pool"))
        st = net_spec_size(spec, "pool", 1, VGG_MAX_POOL, &s->pool);
    if (st == SHOAL_OK && s->base % KERNEL_LANES != 0)
        st = shoal_fail(SHOAL_EINVAL, "vgg: base is %zu channels, want a multiple of %d", s->base,
                        KERNEL_LANES);
    if (st == SHOAL_OK && s->channels == 2)
        st = shoal_fail(SHOAL_EINVAL, "vgg: channels is 2, want 1 (grey) or 3 (colours)");
    return st == SHOAL_OK ? read_dropout(spec, &s->dropout) : st;
}

/* ---- tensors ---- */

/* Named as PyTorch's `features` number their layers, from `index` on. */
static shoal_status add_unit(struct net *net, struct unit *u, bool norm, size_t *index)
{
    const struct {
        size_t *at, layer;
        const char *what;
        enum tensor_rule rule;
    } tensors[] = {
        {&u->weight, 0, "weight", TENSOR_STEP},      {&u->bias, 0, "bias", TENSOR_STEP},
        {&u->gamma, 1, "weight", TENSOR_STEP},       {&u->beta, 1, "bias", TENSOR_STEP},
        {&u->mean, 1, "running_mean", TENSOR_STATE}, {&u->variance, 1, "running_var", TENSOR_STATE},
    };
    const size_t weight[] = {u->conv.out, u->conv.in, 3, 3, 0}, each[] = {u->conv.out, 0};
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < (norm ? 6 : 2) && st == SHOAL_OK; i++) {
        char name[NET_NAME];

        snprintf(name, sizeof name, "features.%zu.%s", *index + tensors[i].layer, tensors[i].what);
        st = net_tensor(net, tensors[i].at, name, i == 0 ? weight : each, tensors[i].rule);
    }
    u->begin = u->weight;
    *index += norm ? 3 : 2; /* the rectifier has a number too */
    return st;
}

/* A pool that would leave nothing of the map is left out; its number stays. */
static shoal_status add_units(struct net *net, struct vgg *v, const struct shape *s)
{
    size_t height = s->height, width = s->width, in = s->channels, index = 0, which = 0;
    shoal_status st = SHOAL_OK;

    while (which < 3 && depths[which].depth != s->depth)
        which++;
    if (depths[which].depth != s->depth)
        return shoal_fail(SHOAL_EINVAL, "vgg: depth is %zu, want 11, 13, 16 or 19", s->depth);
    for (size_t stage = 0; stage < 5; stage++, index++)
        for (size_t i = depths[which].stage[stage]; i > 0 && st == SHOAL_OK; i--) {
            struct unit *u = &v->unit[v->units++];
            size_t out = s->base << (stage < 3 ? stage : 3);

            conv_init(&u->conv, in, out, height, width);
            u->pool = i == 1 && height >= 2 && width >= 2;
            height = u->height = u->pool ? height / 2 : height;
            width = u->width = u->pool ? width / 2 : width;
            in = out;
            st = add_unit(net, u, v->norm, &index);
        }
    v->pool = s->pool;
    v->features = in * (v->pool ? v->pool * v->pool : height * width);
    return st;
}

/* `classifier` alone, or as torchvision numbers them with rectifiers and dropout
 * between. */
static shoal_status add_head(struct net *net, struct vgg *v, const struct shape *s)
{
    size_t in = v->features;
    shoal_status st = SHOAL_OK;

    v->linears = s->hidden > 0 ? VGG_MAX_LINEAR : 1;
    for (size_t i = 0; i < v->linears && st == SHOAL_OK; i++) {
        struct linear *l = &v->linear[i];
        char name[NET_NAME], number[24] = "";

        *l = (struct linear){.in = in, .out = i + 1 < v->linears ? s->hidden : s->outputs};
        if (v->linears > 1)
            snprintf(number, sizeof number, ".%zu", 3 * i);
        snprintf(name, sizeof name, "classifier%s.weight", number);
        st = net_tensor(net, &l->weight, name, (const size_t[]){l->out, l->in, 0}, TENSOR_STEP);
        snprintf(name, sizeof name, "classifier%s.bias", number);
        if (st == SHOAL_OK)
            st = net_tensor(net, &l->bias, name, (const size_t[]){l->out, 0}, TENSOR_STEP);
        in = l->out;
    }
    return st;
}

static double count_flops(const struct vgg *v)
{
    double sum = 0;

    for (size_t i = 0; i < v->units; i++) {
        const struct conv *c = &v->unit[i].conv;

        sum += 54.0 * (double)(c->in * c->out) * (double)(c->height * c->width);
    }
    for (size_t i = 0; i < v->linears; i++)
        sum += 6.0 * (double)v->linear[i].in * (double)v->linear[i].out;
    return sum;
}

static shoal_status vgg_init(struct net *net, const char *spec)
{
    struct vgg *v = mem_array(1, sizeof *v);
    struct shape s = {0};
    shoal_status st = v ? read_shape(&s, spec) : SHOAL_ENOMEM;

    net->impl = v;
    if (st == SHOAL_OK) {
        v->norm = s.norm;
        v->synced = s.synced && s.norm;
        v->dropout = (float)s.dropout;
        v->maps = kernel_maps_of(net->kernel);
        st = add_units(net, v, &s);
    }
    if (st == SHOAL_OK)
        st = add_head(net, v, &s);
    if (st == SHOAL_OK) {
        net->inputs = s.channels * s.height * s.width;
        net->outputs = s.outputs;
        net->classes = net->alone = true;
        net->flops = count_flops(v);
    }
    return st;
}

/* ---- initial weights ---- */

/* Normal numbers keyed by (seed, place), by Box and Muller. */
static void fill_normal(float *x, size_t n, double deviation, uint64_t seed, uint64_t at)
{
    for (size_t i = 0; i < n; i++) {
        struct rng r = {.seed = seed, .stream = at, .index = 2 * i};
        double far = sqrt(-2 * log(1 - rng_unit(&r))), angle = 2 * acos(-1) * rng_unit(&r);

        x[i] = (float)(deviation * far * cos(angle));
    }
}

static void fill(float *x, size_t n, float value)
{
    for (size_t i = 0; i < n; i++)
        x[i] = value;
}

/* As torchvision begins: convolutions by He et al. 2015 (fan out), the head's
 * weights with deviation 0.01, or 1 / sqrt(in) where that is less. */
static void vgg_start(const struct net *net, float *params, uint64_t seed)
{
    const struct vgg *v = net->impl;

    for (size_t i = 0; i < v->units; i++) {
        const struct unit *u = &v->unit[i];
        size_t out = u->conv.out;

        fill_normal(params + u->weight, out * u->conv.in * 9, sqrt(2.0 / (9.0 * (double)out)), seed,
                    u->weight);
        if (!v->norm)
            continue;
        fill(params + u->gamma, out, 1);
        fill(params + u->variance, out, 1);
    }
    for (size_t i = 0; i < v->linears; i++) {
        const struct linear *l = &v->linear[i];

        fill_normal(params + l->weight, l->in * l->out, fmin(0.01, 1 / sqrt((double)l->in)), seed,
                    l->weight);
    }
}

/* ---- memory ---- */

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void carve_unit(struct carver *c, struct vgg_worker *w, size_t i)
{
    const struct unit *u = &w->vgg->unit[i];
    size_t out = u->conv.out;
    struct unit_norm *n = &w->norm[i];

    w->y[i] = carver_take(c, w->batch * u->conv.height * u->conv.width * out, sizeof(float));
    w->a[i] = carver_take(c, w->batch * u->height * u->width * out, sizeof(float));
    w->u[i] = carver_take(c, conv_sizes(&u->conv, w->batch, w->net->bf16).u, sizeof(float));
    n->scale = carver_take(c, out, sizeof(float));
    n->shift = carver_take(c, out, sizeof(float));
    n->mean = carver_take(c, out, sizeof(float));
    n->slope = carver_take(c, out, sizeof(float));
    n->base = carver_take(c, out, sizeof(float));
    n->inverse = carver_take(c, out, sizeof(double));
}

static size_t carve_worker(struct vgg_worker *w, char *base, unsigned threads)
{
    struct carver c = {.base = base};
    struct conv_sizes s = {0};
    size_t wide = 0;

    for (size_t i = 0; i < w->vgg->units; i++) {
        struct conv_sizes one = conv_sizes(&w->vgg->unit[i].conv, w->batch, w->net->bf16);

        carve_unit(&c, w, i);
        s.v = most(s.v, one.v);
        s.m = most(s.m, one.m);
        s.du = most(s.du, one.du);
        s.columns = most(s.columns, one.columns);
        wide = most(wide, w->vgg->unit[i].conv.out);
    }
    w->work.v = carver_take(&c, s.v, sizeof(float));
    w->work.m = carver_take(&c, s.m, sizeof(float));
    w->work.du = carver_take(&c, s.du, sizeof(float));
    w->work.columns_size = s.columns;
    w->work.columns = carver_take(&c, s.columns * threads, sizeof(float));
    w->parts = carver_take(&c, w->batch * 2 * wide, sizeof(float));
    w->sums = carver_take(&c, 2 * wide + 1, sizeof(double));
    wide = 0;
    for (size_t i = 0; i < w->vgg->linears; i++) {
        w->h[i] = carver_take(&c, w->batch * w->vgg->linear[i].in, sizeof(float));
        wide = most(wide, w->vgg->linear[i].in);
    }
    w->back = carver_take(&c, w->batch * wide, sizeof(float));
    w->h[w->vgg->linears] = carver_take(&c, w->batch * w->net->outputs, sizeof(float));
    return c.at;
}

static size_t vgg_worker_bytes(const struct net *net, size_t batch, unsigned threads)
{
    struct vgg_worker w = {.net = net, .vgg = net->impl, .batch = batch};

    return carve_worker(&w, NULL, pool_threads(threads));
}

static void vgg_worker_free(void *worker)
{
    struct vgg_worker *w = worker;

    if (!w)
        return;
    workers_free(w->work.workers);
    mem_unmap(w->mapping, w->bytes);
    free(w);
}

static shoal_status vgg_worker_new(void **out, const struct net *net, size_t batch,
                                   unsigned threads)
{
    struct vgg_worker *w = mem_array(1, sizeof *w);
    shoal_status st = w ? workers_new(&w->work.workers, threads) : SHOAL_ENOMEM;

    *out = NULL;
    if (st == SHOAL_OK && net->bf16)
        st = kernel_tiles_choose(&w->work.tiles);
    if (st == SHOAL_OK) {
        w->net = net;
        w->vgg = net->impl;
        w->batch = batch;
        w->work.maps = w->vgg->maps;
        w->bytes = carve_worker(w, NULL, workers_count(w->work.workers));
        w->mapping = mem_map(w->bytes);
        st = w->mapping ? SHOAL_OK : SHOAL_ENOMEM;
    }
    if (st != SHOAL_OK) {
        vgg_worker_free(w);
        return st;
    }
    carve_worker(w, w->mapping, workers_count(w->work.workers));
    *out = w;
    return SHOAL_OK;
}

/* ---- passes ---- */

static shoal_status forward(struct vgg_worker *w, const float *params, const struct net_batch *b,
                            bool training, float *grads, const struct net_hooks *hooks)
{
    shoal_status st = vgg_units_forward(w, params, b, training, grads, hooks);

    return st == SHOAL_OK ? vgg_head_forward(w, params, b, training) : st;
}

static shoal_status vgg_gradient(void *worker, const float *params, const struct net_batch *b,
                                 float scale, float *grads, const struct net_hooks *hooks,
                                 struct sums *sums)
{
    struct vgg_worker *w = worker;
    shoal_status st;

    w->prepared = NULL;
    st = forward(w, params, b, true, grads, hooks);
    if (st != SHOAL_OK)
        return st;
    net_loss_rows(w->net, b, scale, false, w->h[w->vgg->linears], sums);
    net_backward(hooks);
    st = vgg_head_backward(w, params, b, grads, hooks);
    return st == SHOAL_OK ? vgg_units_backward(w, params, b, grads, hooks) : st;
}

static shoal_status vgg_measure(void *worker, const float *params, const struct net_batch *b,
                                struct sums *sums)
{
    struct vgg_worker *w = worker;
    shoal_status st;

    w->prepared = NULL;
    st = forward(w, params, b, false, NULL, NULL);

    if (st == SHOAL_OK)
        net_loss_rows(w->net, b, 1, true, w->h[w->vgg->linears], sums);
    return st;
}

/* In parts of the worker's batch. */
static shoal_status vgg_predict(void *worker, const float *params, const float *x, size_t n,
                                float *y)
{
    struct vgg_worker *w = worker;
    const struct net *net = w->net;
    shoal_status st = SHOAL_OK;

    if (w->prepared != params)
        w->prepared = NULL;
    for (size_t i = 0; i < n && st == SHOAL_OK; i += w->batch) {
        struct net_batch b = {.n = n - i < w->batch ? n - i : w->batch, .x = x + i * net->inputs};
        float *z = w->h[w->vgg->linears];

        st = forward(w, params, &b, false, NULL, NULL);
        if (st != SHOAL_OK)
            break;
        w->prepared = params;
        net_loss_rows(net, &b, 1, true, z, &(struct sums){0});
        memcpy(y + i * net->outputs, z, b.n * net->outputs * sizeof *y);
    }
    return st;
}

const struct net_ops vgg_ops = {
    .kind = "vgg",
    .init = vgg_init,
    .start = vgg_start,
    .worker_new = vgg_worker_new,
    .worker_free = vgg_worker_free,
    .worker_bytes = vgg_worker_bytes,
    .gradient = vgg_gradient,
    .measure = vgg_measure,
    .predict = vgg_predict,
};
