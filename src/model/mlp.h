/* The kinds of nets, and what the files of the perceptron share; not a door.
 *
 * Layer l = 1 .. layers maps width[l - 1] units to width[l]: z = w a + b, then the
 * activation, but for the last layer. Weights are [out][in], as PyTorch's are.
 *
 *   narrow  every layer has at most MLP_NARROW units: samples stand side by side,
 *           MLP_TILE at a time, and kernels keep sums in registers (mlp_narrow.c)
 *   wide    a row for each sample, and products of matrices (mlp.c)               */
#ifndef SHOAL_MLP_H
#define SHOAL_MLP_H

#include "model/model.h"

enum { MLP_NARROW = 64, MLP_TILE = 64 };

extern const struct net_ops mlp_ops, lstm_ops;

struct mlp {
    size_t layers;
    size_t width[NET_MAX_LAYERS + 2];
    size_t w[NET_MAX_LAYERS + 2], b[NET_MAX_LAYERS + 2]; /* [l] where, in a block */
    enum shoal_activation activation;
    bool narrow;
};

struct mlp_worker {
    struct net_worker base;
    float *a[NET_MAX_LAYERS + 2]; /* [l]: wide [batch][width], narrow [width][MLP_TILE] */
    float *z[NET_MAX_LAYERS + 2]; /* before the activation, where its slope needs it; or NULL */
    float *d[2];                  /* gradients by z, of this layer and the one below */
};

/* ---- activations: n floats ---- */

/* a = f(z); a may be z. */
void activation_apply(const struct net *net, enum shoal_activation f, float *a, const float *z,
                      size_t n);
/* d *= f'(z), by a = f(z) where that is enough. */
void activation_gradient(enum shoal_activation f, float *d, const float *a, const float *z,
                         size_t n);
/* Whether f' needs z. */
bool activation_needs_z(enum shoal_activation f);

/* ---- rows of a batch ---- */

/* z [n][width] += bias [width] */
void net_add_bias(float *z, const float *bias, size_t n, size_t width);
/* out [width] += the sum of d [n][width] over its rows */
void net_sum_rows(const struct kernel *k, float *out, const float *d, size_t n, size_t width);

/* ---- mlp_narrow.c ---- */

shoal_status mlp_narrow_gradient(struct mlp_worker *w, const float *params,
                                 const struct net_batch *b, float scale, float *grads,
                                 struct sums *sums);
void mlp_narrow_measure(struct mlp_worker *w, const float *params, const struct net_batch *b,
                        struct sums *sums);
void mlp_narrow_predict(struct mlp_worker *w, const float *params, const float *x, size_t n,
                        float *y);

#endif
