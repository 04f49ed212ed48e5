/* Layers that fit the registers: samples side by side, a tile of them at a time, so
 * that all that a tile needs stays in the first cache. */
#include "model/mlp.h"

#include <math.h>

static size_t columns(size_t n)
{
    return (n + KERNEL_LANES - 1) / KERNEL_LANES * KERNEL_LANES;
}

/* Rows [n][width] to columns; behind the n-th zeros. */
static void to_columns(float *out, const float *x, size_t n, size_t width)
{
    size_t cols = columns(n);

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < width; j++)
            out[j * MLP_TILE + i] = x[i * width + j];
    for (size_t i = n; i < cols; i++)
        for (size_t j = 0; j < width; j++)
            out[j * MLP_TILE + i] = 0;
}

static void forward(struct mlp_worker *w, const float *params, const float *x, size_t n)
{
    const struct mlp *m = w->base.net->impl;
    bool relu = m->activation == SHOAL_RELU;

    to_columns(w->a[0], x, n, m->width[0]);
    for (size_t l = 1; l <= m->layers; l++) {
        bool last = l == m->layers;
        float *z = w->z[l] && !last ? w->z[l] : w->a[l];

        w->base.net->kernel->affine(&(struct kernel_affine){
            .y = z, .x = w->a[l - 1], .w = params + m->w[l], .wo = m->width[l - 1], .wi = 1,
            .bias = params + m->b[l], .outs = m->width[l], .ins = m->width[l - 1],
            .cols = columns(n), .ld = MLP_TILE, .relu = relu && !last});
        if (!last && !relu)
            activation_apply(w->base.net, m->activation, w->a[l], z, m->width[l] * MLP_TILE);
    }
}

/* The loss of a tile; d becomes its gradient by the outputs. */
static void classes_tile(const struct net *net, float *z, const struct net_batch *b, float scale,
                         struct sums *sums)
{
    struct kernel_softmax_sums done = {0};

    net->kernel->softmax_columns(&(struct kernel_softmax){.z = z, .label = b->label,
                                                          .outs = net->outputs, .n = b->n,
                                                          .ld = MLP_TILE, .scale = scale},
                                 &done);
    sums->loss += done.loss;
    sums->right += (uint64_t)done.right;
    sums->examples += b->n;
    sums->predictions += b->n;
}

/* Row by row, slower than the softmax above: narrow nets with targets are small anyway. */
static void targets_tile(const struct net *net, float *z, const struct net_batch *b, float scale,
                         struct sums *sums)
{
    float row[MLP_NARROW];

    for (size_t i = 0; i < b->n; i++) {
        struct net_batch one = {.n = 1, .y = b->y + i * net->outputs};

        for (size_t o = 0; o < net->outputs; o++)
            row[o] = z[o * MLP_TILE + i];
        net_loss_rows(net, &one, scale, false, row, sums);
        for (size_t o = 0; o < net->outputs; o++)
            z[o * MLP_TILE + i] = row[o];
    }
    for (size_t i = b->n; i < columns(b->n); i++)
        for (size_t o = 0; o < net->outputs; o++)
            z[o * MLP_TILE + i] = 0;
}

static void loss_tile(const struct net *net, float *z, const struct net_batch *b, float scale,
                      struct sums *sums)
{
    (b->label ? classes_tile : targets_tile)(net, z, b, scale, sums);
}

/* d of layer l is in *d; afterwards that of the layer below. */
static float *back(struct mlp_worker *w, const float *params, size_t l, float *d, size_t n,
                   float *grads)
{
    const struct mlp *m = w->base.net->impl;
    const struct kernel *k = w->base.net->kernel;
    float *below = w->d[l % 2];
    bool relu = m->activation == SHOAL_RELU;

    k->outer(&(struct kernel_outer){.w = grads + m->w[l], .pitch = m->width[l - 1], .a = d,
                                    .b = w->a[l - 1], .outs = m->width[l], .ins = m->width[l - 1],
                                    .cols = columns(n), .ld = MLP_TILE});
    k->row_sums(grads + m->b[l], d, m->width[l], columns(n), MLP_TILE);
    if (l == 1)
        return NULL;
    k->affine(&(struct kernel_affine){
        .y = below, .x = d, .w = params + m->w[l], .wo = 1, .wi = m->width[l - 1],
        .gate = relu ? w->a[l - 1] : NULL, .outs = m->width[l - 1], .ins = m->width[l],
        .cols = columns(n), .ld = MLP_TILE});
    if (!relu)
        activation_gradient(m->activation, below, w->a[l - 1], w->z[l - 1],
                            m->width[l - 1] * MLP_TILE);
    return below;
}

static struct net_batch tile_of(const struct net *net, const struct net_batch *b, size_t from)
{
    size_t left = b->n - from;

    return (struct net_batch){
        .n = left < MLP_TILE ? left : MLP_TILE,
        .x = b->x + from * net->inputs,
        .label = b->label ? b->label + from : NULL,
        .y = b->y ? b->y + from * net->outputs : NULL,
    };
}

shoal_status mlp_narrow_gradient(struct mlp_worker *w, const float *params,
                                 const struct net_batch *b, float scale, float *grads,
                                 struct sums *sums)
{
    const struct mlp *m = w->base.net->impl;

    memset(grads, 0, w->base.net->size * sizeof *grads);
    for (size_t from = 0; from < b->n; from += MLP_TILE) {
        struct net_batch tile = tile_of(w->base.net, b, from);
        float *d = w->a[m->layers];

        forward(w, params, tile.x, tile.n);
        loss_tile(w->base.net, d, &tile, scale, sums);
        for (size_t l = m->layers; l >= 1; l--)
            d = back(w, params, l, d, tile.n, grads);
    }
    return SHOAL_OK;
}

void mlp_narrow_measure(struct mlp_worker *w, const float *params, const struct net_batch *b,
                        struct sums *sums)
{
    const struct mlp *m = w->base.net->impl;

    for (size_t from = 0; from < b->n; from += MLP_TILE) {
        struct net_batch tile = tile_of(w->base.net, b, from);

        forward(w, params, tile.x, tile.n);
        loss_tile(w->base.net, w->a[m->layers], &tile, 1, sums);
    }
}

void mlp_narrow_predict(struct mlp_worker *w, const float *params, const float *x, size_t n,
                        float *y)
{
    const struct net *net = w->base.net;
    const struct mlp *m = net->impl;
    float *z = w->a[m->layers];

    for (size_t from = 0; from < n; from += MLP_TILE) {
        size_t some = n - from < MLP_TILE ? n - from : MLP_TILE;
        struct kernel_softmax_sums unused = {0};

        forward(w, params, x + from * net->inputs, some);
        if (net->classes)
            net->kernel->softmax_columns(&(struct kernel_softmax){.z = z, .outs = net->outputs,
                                                                  .n = some, .ld = MLP_TILE},
                                         &unused);
        for (size_t i = 0; i < some; i++)
            for (size_t o = 0; o < net->outputs; o++)
                y[(from + i) * net->outputs + o] = z[o * MLP_TILE + i];
    }
}
