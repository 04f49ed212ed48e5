/* vgg: the nets of Simonyan and Zisserman (2015), for vgg*.c; not a door.
 *
 * What this is: a stack of units, each a 3x3 convolution, batch norm or bias, a
 * rectifier and perhaps a 2x2 pool, then a head of one to three linear layers.
 *
 *     x --conv--> y --norm, relu, pool--> a --conv--> ...  a --head--> z, the classes
 *
 * Maps lie as [height][width][channels]; x and the head's inputs have the channels
 * first, as PyTorch has them. In the backward pass the gradient by y takes the
 * place of y, and that by a the place of a: there are no other maps.
 * Who owns what: a worker owns one mapping that holds all of its arrays.
 * Threads: a worker brings workers of its own; it belongs to the thread that calls it. */
#ifndef SHOAL_VGG_H
#define SHOAL_VGG_H

#include "model/conv.h"
#include "model/net.h"

extern const struct net_ops vgg_ops;

enum {
    VGG_MAX_UNITS = 16,
    VGG_MAX_LINEAR = 3,
    VGG_MAX_SIDE = 1024,
    VGG_MAX_BASE = 512,
    VGG_MAX_HIDDEN = 16384,
    VGG_MAX_POOL = 32,
};

#define VGG_EPSILON 1e-5
#define VGG_MOMENTUM 0.1 /* of the running statistics */

struct unit {
    struct conv conv;
    bool pool;
    size_t height, width; /* of a: behind the pool */
    /* Tensors, as places in a block. Without batch norm only weight and bias. */
    size_t weight, bias, gamma, beta, mean, variance;
    size_t begin; /* the first of them */
};

struct linear {
    size_t in, out;
    size_t weight, bias;
};

struct vgg {
    struct unit unit[VGG_MAX_UNITS];
    size_t units;
    struct linear linear[VGG_MAX_LINEAR];
    size_t linears;
    size_t pool;     /* the last a is averaged to so many rows and columns; 0: stays as it is */
    size_t features; /* channels x height x width of it then */
    bool norm;       /* batch norm */
    bool synced;   /* with statistics over all ranks */
    float dropout;   /* of the head's inputs, each */
    const struct kernel_maps *maps;
};

/* A unit's numbers for each channel; kernel_norm points here. */
struct unit_norm {
    float *scale, *shift, *mean, *slope, *base;
    double *inverse; /* 1 / standard deviation of the batch */
    double count;    /* pixels behind each statistic */
};

struct vgg_worker {
    const struct net *net;
    const struct vgg *vgg;
    struct conv_work work;
    size_t batch;
    const float *prepared; /* the parameters whose weights u holds; NULL: they may have changed */
    float *y[VGG_MAX_UNITS], *a[VGG_MAX_UNITS], *u[VGG_MAX_UNITS];
    struct unit_norm norm[VGG_MAX_UNITS];
    float *parts;                 /* [batch][2][channels] of the widest unit */
    double *sums;                 /* [2 * channels + 1] */
    float *h[VGG_MAX_LINEAR + 1]; /* inputs of the linear layers; the last: their outputs */
    float *back;                  /* gradients of the widest linear layer's inputs */
    void *mapping;
    size_t bytes;
};

/* ---- vgg_units.c: the maps ---- */

/* With hooks NULL or training false, by the running statistics. New ones go to
 * grads when training. */
shoal_status vgg_units_forward(struct vgg_worker *w, const float *params, const struct net_batch *b,
                               bool training, float *grads, const struct net_hooks *hooks);
shoal_status vgg_units_backward(struct vgg_worker *w, const float *params,
                                const struct net_batch *b, float *grads,
                                const struct net_hooks *hooks);

/* ---- vgg_head.c: the linear layers ---- */

/* From the last a to z = h[linears] [n][outputs]; training drops some inputs. */
shoal_status vgg_head_forward(struct vgg_worker *w, const float *params, const struct net_batch *b,
                              bool training);
/* From the gradient in z to that of the last a. */
shoal_status vgg_head_backward(struct vgg_worker *w, const float *params, const struct net_batch *b,
                               float *grads, const struct net_hooks *hooks);

#endif
