/* sparse: what tasks on rows of sparse features share; not a door.
 *
 * What this is: such a task's positions are rows of features, and its tables a packed row of
 * weights and optimizer state for each feature, hottest first, and one for the bias. What
 * differs is the step, what is measured and what comes of it.
 * Who owns what: a task's own part of a run (r->own) is a struct sparse, which sparse_open
 * makes and sparse_close ends.
 * Threads: constant while workers are at work. */
#ifndef SHOAL_TRAIN_SPARSE_H
#define SHOAL_TRAIN_SPARSE_H

#include "train/rows/rows.h"

enum { SPARSE_WEIGHTS, SPARSE_BIAS }; /* tables */

struct sparse {
    const shoal_clicks *data;
    const struct clicks_view *rows;
    bool mixed;              /* there are many, and their labels stand in no order */
    struct linear_model linear;
    shoal_model *start;         /* what the weights begin with; or NULL, */
    const shoal_logreg *before; /* and what is in it */
    struct clicks_view held; /* rows that are not learned from, by the ids of `data`: others, */
    uint32_t *held_ids;      /* [held.values]; NULL: some of `data` itself */
    float *held_values;      /* [held.values] scaled as those of `data`; or NULL */
    uint8_t *held_labels;    /* [held.rows] by the classes of `data`; or NULL */
    uint64_t nheld;          /* how many of them: sparse_held_row */
    struct binary *binary;   /* how well they are predicted, */
    struct classes *classes; /* or this, of many classes */
};

/* What differs between such tasks. */
struct sparse_model {
    struct row_task rows;    /* the first, so that struct task can point to it */
    bool classes;            /* a feature has a weight for each class, else one */
    const char *note;        /* of the plan: "a weight of each feature" */
    size_t (*worker_bytes)(const struct train_opts *o, size_t features, unsigned classes);
    /* The loss of a row, by the parameters as they are. */
    double (*loss)(const struct run *r, const struct clicks_view *rows, uint64_t row);
    /* Likewise what it says of each class: out [classes], 2 at least. */
    void (*probabilities)(const struct run *r, const struct clicks_view *rows, uint64_t row,
                          float *out);
    /* What a row of parameters says: out [weights of a feature]. */
    void (*weights)(const struct linear_model *l, const struct table *t, uint32_t row, float lr,
                    bool bias, float *out);
};

/* For a struct task. */
shoal_status sparse_plan(struct run *r, struct shoal_train_plan *plan);
shoal_status sparse_open(struct run *r);
void sparse_close(struct run *r);
shoal_status sparse_verdict(struct run *r);
void sparse_advise(const struct run *r, char *out, size_t cap);
shoal_status sparse_result(struct run *r, bool last, shoal_model **out);
shoal_status sparse_learned(struct run *r, struct learned *l); /* sparse_learned.c */

/* For a struct row_task, beside join, leave and train. */
shoal_status sparse_start(struct run *r);
struct cadence sparse_cadence(const struct train_opts *o, struct row_length length);
bool sparse_traffic(const struct run *r, size_t table, float *out);
size_t sparse_row_bytes(const struct run *r);

/* The i-th of nheld rows that are held out, in `held`. */
uint64_t sparse_held_row(const struct sparse *s, uint64_t i);

/* The order of the rows in this epoch. */
struct shuffle sparse_order(const struct run *r);

/* The rate by which parameters are to be understood now. */
float sparse_lr(const struct run *r);

/* ---- options ---- */

void sparse_defaults(struct train_opts *o);
void sparse_settle(struct train_opts *o, const struct shoal_sources *data);
shoal_status sparse_check(const shoal_options *o);

extern const struct shoal_choice sparse_optimizers[];
extern const struct shoal_option sparse_training_options[], sparse_held_options[];

/* clang-format off */
#define SPARSE_MODEL_OPTIONS                                                                       \
    OPTIMIZER_OPTION(sparse_optimizers, OPTIMIZER_FTRL, "how a weight moves"),                     \
    {"l1", .type = SHOAL_TYPE_REAL, ON(l1), .decides = true, .arg = "X", .d = {0, 1e9},            \
     .help = "pull the weights of each row's features to 0, which makes many of them 0"},          \
    {"l2", .type = SHOAL_TYPE_REAL, ON(l2), .decides = true, .arg = "X", .d = {0, 1e9},            \
     .help = "the same in proportion to their size"},                                              \
    {"beta", .type = SHOAL_TYPE_REAL, ON(beta), .decides = true, .arg = "X", .d = {0, 1e9},        \
     .help = "added to the root of summed squares (adagrad, ftrl): smooths the first steps"},      \
    START_OPTION("begin with the weights of this model, of rows read the same way"),               \
    {"examples", .type = SHOAL_TYPE_COUNT, ON(rows.examples), .arg = "N",                          \
     .u = {0, SHOAL_CLICKS_EXAMPLES},                                                              \
     .help = "keep so many training rows in the model, as examples for its page: whoever has the " \
             "model, or is served by it, can read them",                                           \
     .zero = "none"}

#define SPARSE_GROUPS(model)                                                                       \
    {"Output", task_output_options, .at = 0}, {"Model", model, .at = 0},                          \
    {"Training", sparse_training_options, .at = 0}, {"Held out", sparse_held_options, .at = 0},    \
    {"Machine", rows_machine_options, .at = 0},                                                    \
    {"Checkpoints and metrics", rows_run_options, .at = 0},                                        \
    {"Several ranks", rows_ranks_options, .at = 0},                                                     \
    {"Reading rows", shoal_rows_options, .at = offsetof(struct train_opts, rows)},                 \
    {"Reading tables", shoal_table_options, .at = offsetof(struct train_opts, rows.table)}, {0}

/* What is read, and `with` what else a file that was encoded before was made. */
#define SPARSE_OPERAND(with)                                                                       \
    .operand = "INPUT",                                                                            \
    .operand_help =                                                                                \
        "rows: files, folders, quoted globs, or - for standard input; gzip, zstd, bzip2 "          \
        "and xz are recognised by content; or one file from `shoal encode --as clicks" with "`",   \
    .many = true, .unit = "rows"
/* clang-format on */

#endif
