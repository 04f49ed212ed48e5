/* shoal/nets.h: dense nets, a part of shoal.h, which includes it.
 *
 * What this is: samples (rows of numbers with a class or with targets), nets that
 * learn from them, and what a trained net answers.
 * Who owns what: as in shoal.h. A run borrows its data and options for the length
 * of the call.
 * Threads: samples and nets are immutable once made; one training is driven by one
 * thread, which starts and joins the others. */
#ifndef SHOAL_NETS_PART_H
#define SHOAL_NETS_PART_H

#include <shoal.h>
#include <shoal/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Samples ---------------------------------------------------------------------
 * A table of numbers: CSV (RFC 4180, numbers only), NumPy's .npy, or IDX (the files
 * of MNIST); gzip and zstd are recognised by content. */

typedef struct shoal_samples shoal_samples;

enum shoal_task {
    SHOAL_CLASSIFY, /* each sample has a class, 0, 1, ... */
    SHOAL_REGRESS,  /* each sample has targets: numbers */
    SHOAL_INPUTS,   /* neither: samples to predict for */
};

enum shoal_header { SHOAL_HEADER_AUTO, SHOAL_HEADER_YES, SHOAL_HEADER_NO };

#define SHOAL_LAST_COLUMN UINT32_MAX

struct shoal_samples_opts {
    enum shoal_task task;
    enum shoal_header header; /* of CSV: AUTO when the first line holds no number */
    uint32_t label;           /* the column of the class or of the first target, from 0 */
    uint32_t targets;         /* columns of targets, from `label` on (SHOAL_REGRESS) */
    const char *labels;       /* a second file with the classes or targets; NULL: see above */
    uint32_t expect;          /* SHOAL_INPUTS: so many inputs; further columns, from `label` on, are
                                 left aside; 0: all columns are inputs */
    uint64_t memory_limit;    /* refuse to need more; 0: what the machine has free */
};

SHOAL_API struct shoal_samples_opts shoal_samples_default(void);
/* NaN, infinities, rows of another length and labels that are no class fail, with
 * file and row. */
SHOAL_API shoal_status shoal_samples_open(shoal_samples **out, const char *path,
                                          const struct shoal_samples_opts *opts);
/* The same of bytes of those formats; `labels` instead of opts->labels, NULL: columns of
 * the table. */
SHOAL_API shoal_status shoal_samples_open_memory(shoal_samples **out,
                                                 const struct shoal_memory *table,
                                                 const struct shoal_memory *labels,
                                                 const struct shoal_samples_opts *opts);
/* Of arrays, which are copied and checked: x [n][inputs], and label [n] or
 * y [n][targets], both NULL for samples to predict for. */
SHOAL_API shoal_status shoal_samples_new(shoal_samples **out, const float *x, size_t n,
                                         size_t inputs, const uint32_t *label, const float *y,
                                         size_t targets);
SHOAL_API void shoal_samples_close(shoal_samples *s);
SHOAL_API size_t shoal_samples_size(const shoal_samples *s);
SHOAL_API size_t shoal_samples_inputs(const shoal_samples *s);
SHOAL_API size_t shoal_samples_classes(const shoal_samples *s); /* 1 + the highest; or 0 */
SHOAL_API size_t shoal_samples_targets(const shoal_samples *s); /* or 0 */

/* ---- Samples to try things on ------------------------------------------------------- */

enum shoal_shape { SHOAL_SPIRAL, SHOAL_BLOBS };

struct shoal_shapes_opts {
    enum shoal_shape shape;
    uint64_t samples;
    unsigned classes; /* arms of the spiral, or blobs */
    double noise;     /* of the angle, in radians; or the radius of a blob */
    uint64_t seed;
};

SHOAL_API struct shoal_shapes_opts shoal_shapes_default(enum shoal_shape shape);
/* Lines "x,y,class" with a header. "-" is standard output. Same options, same bytes. */
SHOAL_API shoal_status shoal_shapes_write(const char *path, const struct shoal_shapes_opts *opts);

/* ---- Training nets ---------------------------------------------------------------- */

enum shoal_activation { SHOAL_RELU, SHOAL_TANH, SHOAL_SIGMOID, SHOAL_GELU };
enum shoal_net_optimizer { SHOAL_NET_SGD, SHOAL_NET_MOMENTUM, SHOAL_NET_ADAM };

/* Numbers of an epoch, or of what was seen since the last report; NaN: not measured. */
struct shoal_net_figures {
    double loss;
    double accuracy, top5;            /* classes */
    double mse, mae, rmse, cosine;    /* targets */
    double word1, word5, word10;      /* next words: see docs/nets.md */
};

struct shoal_net_report {
    enum shoal_event event;
    unsigned epoch, epochs;
    double progress;           /* 0 .. 1 */
    uint64_t samples, steps;   /* trained so far */
    double seconds, samples_per_second;
    struct shoal_net_figures train, valid;
    double gradient;           /* L2 norm, mean over the steps; NaN: not measured */
    double lr, eta;
    double epoch_seconds, step_seconds; /* SHOAL_EVENT_EPOCH */
    uint64_t memory;           /* peak, bytes */
    double compute, wait, communicate; /* of a step of rank 0 since the last report, seconds */

    /* How an epoch was dealt out: samples of the rank with the fewest and the most, and
     * how far the shuffle moved a sample, in the mean, as a share of all: 1/3 is even. */
    uint64_t part_least, part_most;
    double shuffled;
};

struct shoal_net_opts {
    unsigned epochs;
    unsigned batch;            /* samples of a step, of one rank */
    unsigned global_batch;     /* of all ranks together, instead; 0: batch * ranks */
    enum shoal_net_optimizer optimizer;
    double lr;                 /* 0: by the optimizer */
    enum shoal_schedule schedule;
    double decay;              /* of SHOAL_NET_INVERSE_TIME */
    double warmup;             /* epochs in which the rate rises evenly from 0 */
    double momentum;           /* of SHOAL_NET_MOMENTUM, and Adam's beta1 is 0.9 */
    bool nesterov;
    double weight_decay;
    uint64_t seed;
    double valid;              /* the share of samples, chosen by the seed, held out */
    bool in_order;             /* samples as they stand, not shuffled */
    unsigned report_steps;     /* report every so many steps; 0: every second */

    unsigned threads;          /* 0: one for each core */
    uint64_t memory_limit;

    shoal_ranks *ranks;        /* NULL: alone */
    enum shoal_sync sync;
    unsigned staleness;        /* of SHOAL_BOUNDED and SHOAL_AVERAGE */
    unsigned servers;
    unsigned quorum;           /* async, bounded: gradients of a step; 0: sqrt(workers / 2) */
    double patience;

    const char *checkpoint;    /* a folder; NULL: none */
    enum shoal_every every;
    double every_value;
    bool resume;
    const char *command;       /* remembered in the checkpoint for whoever resumes: words, each */
    size_t command_len;        /* ended by a NUL, in all so many bytes */

    const char *metrics;       /* JSON lines; NULL: none */
    bool (*report)(void *user, const struct shoal_net_report *report);
    void *user;
};

struct shoal_net_plan {
    uint64_t samples, valid;   /* to learn from; held out */
    uint64_t parameters;
    uint64_t model_bytes, work_bytes, held_bytes, checkpoint_bytes;
    uint64_t memory_bytes, memory_free;
};

#define SHOAL_NODES 64
/* What a rank spent on a step, in seconds and on average: computing; waiting for
 * others; sending, receiving, adding up and making the step. */
struct shoal_net_node {
    unsigned rank;
    char host[48];
    uint64_t steps;
    double compute, wait, communicate;
};

struct shoal_net_stats {
    uint64_t samples, steps;   /* trained in this call */
    double seconds, startup;
    struct shoal_net_figures train, valid; /* of the last epoch */
    uint64_t memory;
    const char *kernel;
    unsigned checkpoints;
    bool resumed;
    struct shoal_rank_stats ranks;
    struct shoal_net_node nodes[SHOAL_NODES]; /* [nnodes] the first ranks */
    unsigned nnodes;
    struct shoal_profile profile; /* where the time went; ranks is 0 when it did not end well */
};

SHOAL_API struct shoal_net_opts shoal_net_default(void);
SHOAL_API shoal_status shoal_net_check(const struct shoal_net_opts *opts);

/* What the last checkpoint of a folder says; end it with shoal_net_resume_free. A
 * folder without one, or with those of another kind of model, is SHOAL_ENOENT. */
struct shoal_net_resume {
    char *path;       /* of the checkpoint */
    char *command;    /* as it was given */
    size_t command_len;
    char spec[512];   /* of the net */
    unsigned epoch, epochs;
    double progress, seconds;
    uint64_t samples;
};

SHOAL_API shoal_status shoal_net_resume_read(struct shoal_net_resume *out, const char *folder);
SHOAL_API void shoal_net_resume_free(struct shoal_net_resume *r);

/* ---- Nets ---------------------------------------------------------------------------
 * A trained net with all that it needs to answer. Immutable. */

typedef struct shoal_net shoal_net;

SHOAL_API shoal_status shoal_net_open(shoal_net **out, const char *path);
/* Appears whole or not at all. */
SHOAL_API shoal_status shoal_net_save(const shoal_net *net, const char *path);
SHOAL_API void shoal_net_close(shoal_net *net);
/* "mlp inputs=2 layers=64 outputs=4 activation=relu loss=softmax" */
SHOAL_API const char *shoal_net_spec(const shoal_net *net);
/* What was remembered of its training: "epochs", "samples", "loss", ...; or NULL. */
SHOAL_API const char *shoal_net_fact(const shoal_net *net, const char *key);
SHOAL_API size_t shoal_net_inputs(const shoal_net *net);
SHOAL_API size_t shoal_net_outputs(const shoal_net *net);
SHOAL_API bool shoal_net_classes(const shoal_net *net); /* outputs are probabilities of classes */
SHOAL_API uint64_t shoal_net_parameters(const shoal_net *net);
/* Tensor i, or NULL behind the last: its name, dimensions (0 behind the last) and floats. */
SHOAL_API const float *shoal_net_tensor(const shoal_net *net, size_t i, const char **name,
                                        size_t dims[4]);
/* y [n][outputs] for x [n][inputs], both in the units of the data. */
SHOAL_API shoal_status shoal_net_predict(const shoal_net *net, const float *x, size_t n, float *y);
SHOAL_API shoal_status shoal_net_predict_samples(const shoal_net *net, const shoal_samples *s,
                                                 size_t from, size_t n, float *y);
/* On samples with classes or targets; errors of targets are in the units of the data.
 * confusion [outputs][outputs] counts (class, answer), or is NULL. */
SHOAL_API shoal_status shoal_net_eval(const shoal_net *net, const shoal_samples *s,
                                      struct shoal_net_figures *out, uint64_t *confusion);

/* ---- Perceptrons: `shoal train mlp` ---------------------------------------------------- */

struct shoal_mlp_opts {
    struct shoal_net_opts train;
    const char *layers; /* widths of the hidden ones, "64,64"; "" for none */
    enum shoal_activation activation;
    bool raw;           /* numbers as they are, not scaled to mean 0 and variance 1 */
    const char *start;  /* a model file to begin with; NULL: at random */
};

SHOAL_API struct shoal_mlp_opts shoal_mlp_default(void);
SHOAL_API shoal_status shoal_mlp_plan(struct shoal_net_plan *plan, const shoal_samples *data,
                                      const shoal_samples *valid,
                                      const struct shoal_mlp_opts *opts);
/* Learns from `data`; what is held out is a share of it, or `valid` unless NULL. *out
 * is NULL on ranks other than 0. */
SHOAL_API shoal_status shoal_mlp_train(shoal_net **out, const shoal_samples *data,
                                       const shoal_samples *valid,
                                       const struct shoal_mlp_opts *opts,
                                       struct shoal_net_stats *stats);

/* ---- The next word: `shoal train nextword` ----------------------------------------------
 * A window of `length` words, as vectors, predicts the vector of the word behind it. The
 * words are those of the corpus that have a vector; each vector is scaled to the length
 * sqrt(dim), so that its numbers have mean square 1. */

struct shoal_nextword_opts {
    struct shoal_net_opts train;
    unsigned length;
    unsigned hidden;         /* units */
    bool lstm;               /* a recurrent cell, not one layer over all words of the window */
    uint64_t asked;          /* windows whose word accuracy is measured after an epoch; 0: none */
    const char *statistics;  /* a file for a line an epoch, CSV if it ends so; NULL: none */
};

SHOAL_API struct shoal_nextword_opts shoal_nextword_default(void);
SHOAL_API shoal_status shoal_nextword_plan(struct shoal_net_plan *plan, const shoal_corpus *corpus,
                                           const shoal_vectors *vectors,
                                           const struct shoal_nextword_opts *opts);
SHOAL_API shoal_status shoal_nextword_train(shoal_net **out, const shoal_corpus *corpus,
                                            const shoal_vectors *vectors,
                                            const struct shoal_nextword_opts *opts,
                                            struct shoal_net_stats *stats);
/* Whether the net continues text. */
SHOAL_API bool shoal_net_continues(const shoal_net *net);
/* The k likeliest words behind the text, best first; score is the probability, *found <= k.
 * Words that the net does not know are passed over. */
SHOAL_API shoal_status shoal_nextword_predict(const shoal_net *net, const char *text,
                                              struct shoal_hit *hits, size_t k, size_t *found);
SHOAL_API const char *shoal_nextword_word(const shoal_net *net, uint32_t id); /* or NULL */

#ifdef __cplusplus
}
#endif
#endif
