/* The head of a VGG: linear layers with rectifiers between, and dropout of their
 * inputs (Srivastava et al. 2014). */
#include "model/vgg.h"

#include <string.h>

enum { STREAM_DROP = 0x6472 };

/* ---- between maps and rows ---- */

/* The last a, [height][width][channels], as rows with the channels first; or
 * back. */
static void turn_plain(struct vgg_worker *w, size_t n, bool back)
{
    const struct unit *u = &w->vgg->unit[w->vgg->units - 1];
    size_t area = u->height * u->width, channels = u->conv.out, each = area * channels;

    for (size_t i = 0; i < n; i++)
        for (size_t p = 0; p < area; p++)
            for (size_t c = 0; c < channels; c++) {
                float *map = &w->a[w->vgg->units - 1][i * each + p * channels + c];
                float *row = &w->h[0][i * each + c * area + p];

                *(back ? map : row) = *(back ? row : map);
            }
}

/* The pixels of a map that pixel i of `to` is the mean of, as PyTorch's AdaptiveAvgPool2d has them:
 * they overlap where `from` is no multiple of `to`, and are the same where it is less. */
struct pooled {
    size_t first, end;
};

static struct pooled pooled_of(size_t i, size_t from, size_t to)
{
    return (struct pooled){i * from / to, ((i + 1) * from + to - 1) / to};
}

/* One mean of all channels of picture i; or its gradient, added to all that it is made of. */
static void turn_mean(struct vgg_worker *w, size_t i, size_t y, size_t x, bool back)
{
    const struct unit *u = &w->vgg->unit[w->vgg->units - 1];
    size_t pool = w->vgg->pool, channels = u->conv.out;
    struct pooled down = pooled_of(y, u->height, pool), across = pooled_of(x, u->width, pool);
    float share = 1 / (float)((down.end - down.first) * (across.end - across.first));
    float *row = &w->h[0][i * w->vgg->features + y * pool + x];

    for (size_t py = down.first; py < down.end; py++)
        for (size_t px = across.first; px < across.end; px++) {
            float *map = &w->a[w->vgg->units - 1][((i * u->height + py) * u->width + px) * channels];

            for (size_t c = 0; c < channels; c++) {
                float *mean = &row[c * pool * pool];

                if (back)
                    map[c] += share * *mean;
                else
                    *mean += share * map[c];
            }
        }
}

/* The same of maps that are averaged. */
static void turn_means(struct vgg_worker *w, size_t n, bool back)
{
    const struct unit *u = &w->vgg->unit[w->vgg->units - 1];
    size_t pool = w->vgg->pool;

    if (back)
        memset(w->a[w->vgg->units - 1], 0,
               n * u->height * u->width * u->conv.out * sizeof(float));
    else
        memset(w->h[0], 0, n * w->vgg->features * sizeof(float));
    for (size_t i = 0; i < n; i++)
        for (size_t at = 0; at < pool * pool; at++)
            turn_mean(w, i, at / pool, at % pool, back);
}

static void turn_rows(struct vgg_worker *w, size_t n, bool back)
{
    (w->vgg->pool ? turn_means : turn_plain)(w, n, back);
}

/* ---- dropout ---- */

/* What input `at` of a layer is multiplied by; four of them share a random number. */
static float dropout_factor(const struct vgg *v, uint64_t key, size_t layer, uint64_t at)
{
    uint64_t draw = rng_at(key, STREAM_DROP + layer, at / 4) >> (16 * (at % 4)) & 0xffff;

    return (float)draw < v->dropout * 65536 ? 0 : 1 / (1 - v->dropout);
}

static void drop(struct vgg_worker *w, const struct net_batch *b, size_t layer)
{
    size_t in = w->vgg->linear[layer].in;

    if (w->vgg->dropout > 0)
        for (size_t i = 0; i < b->n * in; i++)
            w->h[layer][i] *= dropout_factor(w->vgg, b->key, layer, i);
}

/* ---- one layer ---- */

enum { BLOCK = 256 }; /* columns of one product */

struct product {
    struct vgg_worker *w;
    const struct linear *l;
    const float *params;
    float *grads;
    size_t layer, n;
};

static size_t some(size_t begin, size_t end)
{
    return end - begin < BLOCK ? end - begin : BLOCK;
}

static void note(struct product *p, shoal_status st)
{
    if (st != SHOAL_OK)
        p->w->work.failed = true;
}

static void share(struct product *p, size_t columns,
                  void (*fn)(void *ctx, size_t item, unsigned thread))
{
    workers_do(p->w->work.workers, (columns + BLOCK - 1) / BLOCK, fn, p);
}

static shoal_status product_end(const struct product *p)
{
    if (!p->w->work.failed)
        return SHOAL_OK;
    return shoal_fail(SHOAL_ENOMEM, "vgg: no memory to multiply matrices");
}

static void outputs(void *ctx, size_t item, unsigned thread)
{
    struct product *p = ctx;
    const struct linear *l = p->l;
    size_t o = item * BLOCK, columns = some(o, l->out);
    float *to = p->w->h[p->layer + 1] + o;

    for (size_t i = 0; i < p->n; i++)
        memcpy(to + i * l->out, p->params + l->bias + o, columns * sizeof *to);
    note(p, gemm(false, true, p->n, columns, l->in, 1, p->w->h[p->layer], l->in,
                 p->params + l->weight + o * l->in, l->in, 1, to, l->out));
    for (size_t i = 0; i < p->n && p->layer + 1 < p->w->vgg->linears; i++)
        for (size_t j = 0; j < columns; j++)
            to[i * l->out + j] = to[i * l->out + j] > 0 ? to[i * l->out + j] : 0;
}

static void weights(void *ctx, size_t item, unsigned thread)
{
    struct product *p = ctx;
    const struct linear *l = p->l;
    size_t o = item * BLOCK, columns = some(o, l->out);
    const float *d = p->w->h[p->layer + 1] + o;
    float *bias = p->grads + l->bias + o;

    memset(bias, 0, columns * sizeof *bias);
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j < columns; j++)
            bias[j] += d[i * l->out + j];
    note(p, gemm(true, false, columns, l->in, p->n, 1, d, l->out, p->w->h[p->layer], l->in, 0,
                 p->grads + l->weight + o * l->in, l->in));
}

/* An input of 0 was rectified or dropped, and its gradient goes nowhere; that holds
 * for the maps' features too, whose unit would stop it as well. */
static void inputs(void *ctx, size_t item, unsigned thread)
{
    struct product *p = ctx;
    const struct linear *l = p->l;
    size_t from = item * BLOCK, columns = some(from, l->in);
    float *back = p->w->back + from, *x = p->w->h[p->layer] + from;
    float live = 1 / (1 - p->w->vgg->dropout);

    note(p, gemm(false, false, p->n, columns, l->out, 1, p->w->h[p->layer + 1], l->out,
                 p->params + l->weight + from, l->in, 0, back, l->in));
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j < columns; j++)
            x[i * l->in + j] = x[i * l->in + j] > 0 ? live * back[i * l->in + j] : 0;
}

/* ---- the head ---- */

static struct product product_of(struct vgg_worker *w, const float *params, size_t layer, size_t n)
{
    return (struct product){
        .w = w, .l = &w->vgg->linear[layer], .params = params, .layer = layer, .n = n};
}

shoal_status vgg_head_forward(struct vgg_worker *w, const float *params, const struct net_batch *b,
                              bool training)
{
    shoal_status st = SHOAL_OK;

    turn_rows(w, b->n, false);
    for (size_t i = 0; i < w->vgg->linears && st == SHOAL_OK; i++) {
        struct product p = product_of(w, params, i, b->n);

        if (training)
            drop(w, b, i);
        share(&p, p.l->out, outputs);
        st = product_end(&p);
    }
    return st;
}

shoal_status vgg_head_backward(struct vgg_worker *w, const float *params, const struct net_batch *b,
                               float *grads, const struct net_hooks *hooks)
{
    size_t end = w->net->size;
    shoal_status st = SHOAL_OK;

    for (size_t i = w->vgg->linears; i-- > 0 && st == SHOAL_OK;) {
        struct product p = product_of(w, params, i, b->n);

        p.grads = grads;
        share(&p, p.l->out, weights);
        share(&p, p.l->in, inputs);
        st = product_end(&p);
        if (st == SHOAL_OK)
            st = net_ready(hooks, p.l->weight, end);
        end = p.l->weight;
    }
    if (st == SHOAL_OK)
        turn_rows(w, b->n, true);
    return st;
}
