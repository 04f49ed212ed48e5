/* sparse: what tasks on rows of sparse features share; not a door.
 *
 * What this is: such a task's positions are rows of features, and its tables a packed row of
 * weights and optimizer state for each feature, hottest first, and one for the bias. What
 * differs is the step, what is measured and what comes of it.
 * Who owns what: a task's own part of a run (r->own) begins with a struct sparse, which
 * sparse_open fills and sparse_close ends.
 * Threads: constant while workers are at work. */
#ifndef SHOAL_TRAIN_SPARSE_H
#define SHOAL_TRAIN_SPARSE_H

#include "train/rows/rows.h"

enum { SPARSE_WEIGHTS, SPARSE_BIAS }; /* tables */

struct sparse {
    const shoal_clicks *data;
    const struct clicks_view *rows;
    struct linear_model linear;
    struct clicks_view held; /* rows that are not learned from, by the ids of `data` */
    uint64_t held_from;      /* the first of them */
    uint32_t *held_ids;      /* [held.values]; NULL: those of `data` itself */
};

/* What a plan has to know of a model. */
struct sparse_shape {
    size_t outputs;      /* weights of a feature */
    size_t width;        /* of the tables: floats of these, and of their optimizer */
    size_t worker_bytes; /* of a worker's own part */
    const char *note;    /* "a weight of each feature" */
};

shoal_status sparse_plan(struct run *r, const struct sparse_shape *shape,
                         struct shoal_train_plan *plan);
shoal_status sparse_open(struct run *r, size_t width);
void sparse_close(struct sparse *s);

/* For a struct row_task. */
struct cadence sparse_cadence(const struct train_opts *o);
bool sparse_traffic(const struct run *r, size_t table, float *out);
size_t sparse_row_bytes(const struct run *r);

/* The rate by which parameters are to be understood now. */
float sparse_lr(const struct run *r);
/* Fails when one of n weights is no number. */
shoal_status sparse_check_weights(const float *weights, size_t n);

/* ---- options ---- */

void sparse_defaults(struct train_opts *o);
shoal_status sparse_check(const shoal_options *o, const char *task);

extern const struct shoal_choice sparse_optimizers[];
extern const struct shoal_option sparse_output_options[], sparse_training_options[];
extern const struct shoal_option sparse_held_options[];

/* clang-format off */
#define SPARSE_MODEL_OPTIONS                                                                       \
    OPTIMIZER_OPTION(sparse_optimizers, OPTIMIZER_FTRL, "how a weight moves"),                     \
    {"l1", .type = SHOAL_TYPE_REAL, ON(l1), .decides = true, .arg = "X", .d = {0, 1e9},            \
     .help = "pull the weights of each row's features to 0, which makes many of them 0"},          \
    {"l2", .type = SHOAL_TYPE_REAL, ON(l2), .decides = true, .arg = "X", .d = {0, 1e9},            \
     .help = "the same in proportion to their size"},                                              \
    {"beta", .type = SHOAL_TYPE_REAL, ON(beta), .decides = true, .arg = "X", .d = {0, 1e9},        \
     .help = "added to the root of summed squares (adagrad, ftrl): smooths the first steps"}
/* clang-format on */

#endif
