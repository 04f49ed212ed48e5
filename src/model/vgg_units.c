/* The maps of a VGG, forward and backward. */
#include "model/vgg.h"

#include <math.h>
#include <string.h>

/* One unit's phase, as the workers see it. */
struct phase {
    struct vgg_worker *w;
    size_t unit;
    struct kernel_norm norm;
};

static struct phase phase_of(struct vgg_worker *w, size_t i)
{
    const struct unit_norm *n = &w->norm[i];

    return (struct phase){
        .w = w, .unit = i, .norm = {n->scale, n->shift, n->mean, n->slope, n->base}};
}

static struct kernel_map map_of(const struct phase *p, size_t i)
{
    const struct conv *c = &p->w->vgg->unit[p->unit].conv;

    return (struct kernel_map){c->height, c->width, c->out,
                               p->w->y[p->unit] + i * c->height * c->width * c->out};
}

/* Map i of a, or of its gradient. */
static float *behind(const struct phase *p, size_t i)
{
    const struct unit *u = &p->w->vgg->unit[p->unit];

    return p->w->a[p->unit] + i * u->height * u->width * u->conv.out;
}

/* ---- forward ---- */

static void rectify(void *ctx, size_t i, unsigned thread)
{
    const struct phase *p = ctx;
    const struct kernel_maps *maps = p->w->vgg->maps;
    struct kernel_map m = map_of(p, i);

    (p->w->vgg->unit[p->unit].pool ? maps->rectify_pool : maps->rectify)(behind(p, i), &m,
                                                                         &p->norm);
}

/* parts [n][2][channels] into sums [2][channels], and behind them the pixels. */
static void add_parts(struct vgg_worker *w, size_t n, const struct conv *c)
{
    size_t wide = 2 * c->out;

    memset(w->sums, 0, (wide + 1) * sizeof *w->sums);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < wide; j++)
            w->sums[j] += (double)w->parts[i * wide + j];
    w->sums[wide] = (double)(n * c->height * c->width);
}

static shoal_status add_ranks(const struct vgg_worker *w, const struct net_hooks *hooks, size_t n)
{
    if (!w->vgg->synced || !hooks || !hooks->sum)
        return SHOAL_OK;
    return hooks->sum(hooks->ctx, w->sums, n);
}

/* The statistics of a batch: mean, variance, and what comes of them (Ioffe and
 * Szegedy 2015). The bias moves the mean alone, so the batch is taken without it. */
static void norm_by_batch(struct vgg_worker *w, const float *params, size_t i, float *grads)
{
    const struct unit *u = &w->vgg->unit[i];
    struct unit_norm *n = &w->norm[i];
    size_t out = u->conv.out;
    double count = w->sums[2 * out], some = count > 0 ? count : 1;

    n->count = some;
    for (size_t c = 0; c < out; c++) {
        double mean = w->sums[c] / some, variance = w->sums[out + c] / some - mean * mean;
        double old_mean = (double)params[u->mean + c], old = (double)params[u->variance + c];

        variance = variance > 0 ? variance : 0;
        n->inverse[c] = 1 / sqrt(variance + VGG_EPSILON);
        n->mean[c] = (float)mean;
        n->scale[c] = (float)((double)params[u->gamma + c] * n->inverse[c]);
        n->shift[c] = (float)((double)params[u->beta + c] - mean * (double)n->scale[c]);
        if (count > 1)
            variance *= count / (count - 1);
        mean += (double)params[u->bias + c];
        grads[u->mean + c] =
            (float)(count > 0 ? old_mean + VGG_MOMENTUM * (mean - old_mean) : old_mean);
        grads[u->variance + c] = (float)(count > 0 ? old + VGG_MOMENTUM * (variance - old) : old);
    }
}

static void norm_by_running(struct vgg_worker *w, const float *params, size_t i)
{
    const struct unit *u = &w->vgg->unit[i];
    struct unit_norm *n = &w->norm[i];

    for (size_t c = 0; c < u->conv.out; c++) {
        double inverse = 1 / sqrt((double)params[u->variance + c] + VGG_EPSILON);
        double mean = (double)params[u->mean + c] - (double)params[u->bias + c];

        n->scale[c] = (float)((double)params[u->gamma + c] * inverse);
        n->shift[c] = (float)((double)params[u->beta + c] - mean * (double)n->scale[c]);
    }
}

static void norm_by_bias(struct vgg_worker *w, const float *params, size_t i)
{
    const struct unit *u = &w->vgg->unit[i];

    for (size_t c = 0; c < u->conv.out; c++) {
        w->norm[i].scale[c] = 1;
        w->norm[i].shift[c] = params[u->bias + c];
    }
}

static shoal_status unit_forward(struct vgg_worker *w, const float *params, size_t i,
                                 const struct net_batch *b, bool training, float *grads,
                                 const struct net_hooks *hooks)
{
    const struct vgg *v = w->vgg;
    const struct conv *c = &v->unit[i].conv;
    const float *weight = params + v->unit[i].weight;
    bool measure = training && v->norm;
    struct phase p = phase_of(w, i);
    shoal_status st;

    if (w->prepared != params)
        conv_prepare(&w->work, c, weight, w->u[i]);
    st = conv_forward(&w->work, c, c->how == CONV_COLUMNS ? weight : w->u[i],
                      i == 0 ? b->x : w->a[i - 1], b->n, w->y[i], measure ? w->parts : NULL);
    if (st == SHOAL_OK && measure) {
        add_parts(w, b->n, c);
        st = add_ranks(w, hooks, 2 * c->out + 1);
    }
    if (st != SHOAL_OK)
        return st;
    if (measure)
        norm_by_batch(w, params, i, grads);
    else if (v->norm)
        norm_by_running(w, params, i);
    else
        norm_by_bias(w, params, i);
    workers_do(w->work.workers, b->n, rectify, &p);
    return SHOAL_OK;
}

shoal_status vgg_units_forward(struct vgg_worker *w, const float *params, const struct net_batch *b,
                               bool training, float *grads, const struct net_hooks *hooks)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < w->vgg->units && st == SHOAL_OK; i++)
        st = unit_forward(w, params, i, b, training, grads, hooks);
    return st;
}

/* ---- backward ---- */

static void sum_back(void *ctx, size_t i, unsigned thread)
{
    const struct phase *p = ctx;
    const struct kernel_maps *maps = p->w->vgg->maps;
    struct kernel_map m = map_of(p, i);
    float *to = p->w->parts + i * 2 * m.channels;

    (p->w->vgg->unit[p->unit].pool ? maps->back_sums_pool : maps->back_sums)(
        to, to + m.channels, &m, behind(p, i), &p->norm);
}

static void apply_back(void *ctx, size_t i, unsigned thread)
{
    const struct phase *p = ctx;
    const struct kernel_maps *maps = p->w->vgg->maps;
    struct kernel_map m = map_of(p, i);

    (p->w->vgg->unit[p->unit].pool ? maps->back_apply_pool : maps->back_apply)(&m, behind(p, i),
                                                                               &p->norm);
}

/* Gradients of what stands between y and a, from this rank's sums; a bias before
 * batch norm changes nothing, so its gradient is 0. */
static void learn_norm(struct vgg_worker *w, size_t i, float *grads)
{
    const struct unit *u = &w->vgg->unit[i];
    size_t out = u->conv.out;

    for (size_t c = 0; c < out; c++) {
        if (!w->vgg->norm) {
            grads[u->bias + c] = (float)w->sums[c];
            continue;
        }
        grads[u->bias + c] = 0;
        grads[u->beta + c] = (float)w->sums[c];
        grads[u->gamma + c] = (float)(w->sums[out + c] * w->norm[i].inverse[c]);
    }
}

/* With batch norm the gradient by z has its mean taken away, and its part along
 * y - mean; over all ranks' pixels where the statistics were. */
static void slope_norm(struct vgg_worker *w, size_t i)
{
    const struct unit *u = &w->vgg->unit[i];
    struct unit_norm *n = &w->norm[i];

    for (size_t c = 0; c < u->conv.out; c++) {
        double scale = w->vgg->norm ? (double)n->scale[c] / n->count : 0;
        double dots = w->vgg->norm ? w->sums[u->conv.out + c] * n->inverse[c] * n->inverse[c] : 0;

        n->slope[c] = (float)(-scale * dots);
        n->base[c] = (float)(-scale * w->sums[c]);
    }
}

static shoal_status unit_backward(struct vgg_worker *w, const float *params, size_t i,
                                  const struct net_batch *b, float *grads,
                                  const struct net_hooks *hooks)
{
    const struct unit *u = &w->vgg->unit[i];
    bool first = u->conv.how == CONV_COLUMNS;
    struct phase p = phase_of(w, i);
    shoal_status st;

    workers_do(w->work.workers, b->n, sum_back, &p);
    add_parts(w, b->n, &u->conv);
    learn_norm(w, i, grads);
    st = add_ranks(w, hooks, 2 * u->conv.out);
    if (st != SHOAL_OK)
        return st;
    slope_norm(w, i);
    workers_do(w->work.workers, b->n, apply_back, &p);
    return conv_backward(&w->work, &u->conv, first ? params + u->weight : w->u[i],
                         i == 0 ? (float *)b->x : w->a[i - 1], b->n, w->y[i], grads + u->weight);
}

shoal_status vgg_units_backward(struct vgg_worker *w, const float *params,
                                const struct net_batch *b, float *grads,
                                const struct net_hooks *hooks)
{
    size_t end = w->vgg->linear[0].weight;
    shoal_status st = SHOAL_OK;

    for (size_t i = w->vgg->units; i-- > 0 && st == SHOAL_OK;) {
        size_t begin = w->vgg->unit[i].begin;

        st = unit_backward(w, params, i, b, grads, hooks);
        if (st == SHOAL_OK)
            st = net_ready(hooks, begin, end);
        end = begin;
    }
    return st;
}
