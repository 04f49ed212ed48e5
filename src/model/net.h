/* net: dense models over one flat block of parameters; a part of the door model.h.
 *
 * What this is: nets that write gradients. The parameters of a net are named
 * tensors in one block of floats; a worker computes, for a batch of samples, the
 * gradient of the loss into another block of the same shape. Whoever calls it
 * decides how gradients meet and how a step is made of them.
 *
 *     params, grads   | 0.weight | 0.bias .. | 1.weight | ... |   floats
 *                     '- each tensor begins at a multiple of NET_ALIGN floats;
 *                        what lies between is 0 in both -'
 *
 * Who owns what: a net owns the description; params and grads are the caller's,
 * 64-byte aligned; a worker owns its scratch.
 * Threads: a net is shared; a worker belongs to one thread at a time, but a net
 * that says `alone` brings threads of its own. */
#ifndef SHOAL_NET_H
#define SHOAL_NET_H

#include "base/base.h"
#include "kernel/kernel.h"
#include "model/sums.h"

enum {
    NET_ALIGN = 16,      /* floats */
    NET_NAME = 48,       /* bytes of a tensor's name */
    NET_SPEC = 512,      /* bytes of a net's description */
    NET_MAX_LAYERS = 32,
    NET_MAX_WIDTH = 1 << 20,
};

/* What becomes of a tensor when the gradients of all ranks have been added. */
enum tensor_rule {
    TENSOR_STEP,  /* the optimizer's step, with weight decay */
    TENSOR_BARE,  /* the same without weight decay */
    TENSOR_STATE, /* no parameter: grads hold its new value, of which the mean over ranks is
                     taken (running statistics) */
};

struct tensor {
    char name[NET_NAME]; /* "0.weight", as PyTorch would name it */
    size_t dims[4];      /* outermost first; 0 behind the last */
    size_t at, size;     /* floats, from the block's beginning */
    enum tensor_rule rule;
};

struct net_batch {
    size_t n;
    const float *x;        /* [n][inputs] */
    const uint32_t *label; /* [n] the class of each; NULL when there are targets */
    const float *y;        /* [n][outputs] targets; NULL when there are labels */
    uint64_t key;          /* of whatever is random in this batch */
};

/* What happens meanwhile; each may be NULL. */
struct net_hooks {
    /* The gradients [from, to) are final, and the parameters there are read no more
     * in this call: they may change from now on. Each float is given once; from the
     * block's end to its beginning, as far as a net can. */
    shoal_status (*ready)(void *ctx, size_t from, size_t to);
    /* x [n] becomes its sum over all who compute parts of this batch. */
    shoal_status (*sum)(void *ctx, double *x, size_t n);
    /* The forward pass is over, the backward pass begins. */
    void (*backward)(void *ctx);
    void *ctx;
};

struct net;

struct net_ops {
    const char *kind; /* the first word of a description: "mlp" */
    /* The rest of the description into net: its tensors by net_tensor, its sizes and
     * impl. */
    shoal_status (*init)(struct net *net, const char *spec);
    /* Fills params, zeroed before. */
    void (*start)(const struct net *net, float *params, uint64_t seed);

    /* Of workers that are a struct and its arrays alone, for net_worker_new: the struct's size,
     * and what carves its arrays and gives their bytes. */
    size_t worker_size;
    size_t (*worker_carve)(void *worker, char *base);

    /* Scratch for batches of up to `batch` samples; threads is 1 unless net->alone. */
    shoal_status (*worker_new)(void **out, const struct net *net, size_t batch, unsigned threads);
    void (*worker_free)(void *worker);
    size_t (*worker_bytes)(const struct net *net, size_t batch, unsigned threads);

    /* grads = scale * (sum over the samples of the gradient of their loss), every
     * float of the tensors written; *sums is added to. hooks may be NULL. b->n may
     * be 0: then grads are zeros, and ready is called all the same. */
    shoal_status (*gradient)(void *worker, const float *params, const struct net_batch *b,
                             float scale, float *grads, const struct net_hooks *hooks,
                             struct sums *sums);
    /* The same sums without a gradient, as the trained net would answer. */
    shoal_status (*measure)(void *worker, const float *params, const struct net_batch *b,
                            struct sums *sums);
    /* y [n][outputs]: probabilities of classes, or values. From one predict of a worker
     * to its next the numbers at params stay. */
    shoal_status (*predict)(void *worker, const float *params, const float *x, size_t n, float *y);
};

struct net {
    const struct net_ops *ops;
    char spec[NET_SPEC];
    size_t inputs, outputs;
    bool classes;  /* outputs are classes: batches have labels */
    bool alone;    /* one worker takes whole batches and brings threads of its own */
    bool bf16;     /* workers made from now on multiply in bfloat16 where they can */
    double flops;  /* of a sample's gradient, about */
    const float *units; /* [outputs] what 1 of a target is for the user: errors, but not the loss,
                           are measured so; NULL: 1 */
    struct tensor *tensors; /* [ntensors] */
    size_t ntensors;
    size_t size;   /* floats of a block */
    const struct kernel *kernel;
    void *impl;    /* of ops; free() ends it */
};

/* Makes the net that a description names, such as
 *
 *     mlp inputs=2 layers=64,64 outputs=4 activation=relu loss=softmax
 *
 * Same description, same tensors: it is what a model file holds. */
shoal_status net_new(struct net **out, const char *spec);
void net_free(struct net *net);

/* For net_ops.init: adds a tensor behind the others, and says where it begins. dims ends with
 * a 0. */
shoal_status net_tensor(struct net *net, size_t *at, const char *name, const size_t *dims,
                        enum tensor_rule rule);
/* For the same: the value of `key=` in a description into text; SHOAL_EINVAL when
 * it is missing or longer than cap - 1. */
shoal_status net_spec_text(const char *spec, const char *key, char *text, size_t cap);
/* The same as a whole number within [least, most]. */
shoal_status net_spec_size(const char *spec, const char *key, size_t least, size_t most,
                           size_t *value);
/* Whether the description has such a key. */
bool net_spec_has(const char *spec, const char *key);

const struct tensor *net_find(const struct net *net, const char *name); /* or NULL */

/* Tells whoever asked that the gradients [from, to) are final. */
static inline shoal_status net_ready(const struct net_hooks *hooks, size_t from, size_t to)
{
    return hooks && hooks->ready ? hooks->ready(hooks->ctx, from, to) : SHOAL_OK;
}

/* Tells whoever asked that the backward pass begins. */
static inline void net_backward(const struct net_hooks *hooks)
{
    if (hooks && hooks->backward)
        hooks->backward(hooks->ctx);
}

/* The arrays of a worker lie in one mapping: they are placed twice, first without a base, which
 * counts the bytes. */
struct carver {
    char *base;
    size_t at;
};

/* n elements of `size` bytes, 64-byte aligned; NULL while only counting. */
void *carver_take(struct carver *c, size_t n, size_t size);

/* What such a worker begins with. */
struct net_worker {
    const struct net *net;
    size_t batch;
    void *mapping; /* the arrays */
    size_t bytes;
};

shoal_status net_worker_new(void **out, const struct net *net, size_t batch, unsigned threads);
void net_worker_free(void *worker);

/* Evenly from -bound to bound; keyed by (seed, at). */
void net_fill_uniform(float *x, size_t n, float bound, uint64_t seed, uint64_t at);

/* ---- for every net with labels or targets: the loss and its gradient ------------------ */

/* z [n] becomes probabilities; gives -log of the label's. */
double net_softmax_row(float *z, size_t n, uint32_t label);
/* Row by row over z [n][outputs], the outputs before the softmax: z becomes
 * scale x the gradient of the loss by z, sums is added to. With `keep`, z becomes
 * the outputs themselves instead (probabilities, or unchanged values). */
void net_loss_rows(const struct net *net, const struct net_batch *b, float scale, bool keep,
                   float *z, struct sums *sums);

#endif
