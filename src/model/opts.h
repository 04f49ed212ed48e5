/* opts: the options of a run, for every model; a part of the door model.h.
 *
 * What this is: one flat struct behind the options of `shoal train` (train/options.c has
 * the table: name, type, range, help and place in here). A model reads the fields that
 * are its own, and the table says which those are.
 * Who owns what: strings and data are borrowed for the length of a run.
 * Threads: constant during a run. */
#ifndef SHOAL_OPTS_H
#define SHOAL_OPTS_H

#include <shoal.h>

/* Linear models have the first three (kernel/kernel.h has the formulas), nets the last three
 * (store/dense.h). */
enum shoal_optimizer {
    OPTIMIZER_FTRL,
    OPTIMIZER_ADAGRAD,
    OPTIMIZER_SGD,
    OPTIMIZER_MOMENTUM,
    OPTIMIZER_ADAM,
};

/* Left to the task, which chooses by the number of examples before the plan is made: struct task's
 * `settle`. Of epochs and batch, 0 is. */
#define AUTO_REAL -1.0          /* a share, a weight decay */
#define AUTO_COUNT UINT32_MAX   /* early stopping */

/* Where the share that is held out stands. */
enum valid_place { VALID_SPREAD, VALID_END };

/* Whether the rate is multiplied for several ranks: AUTO where none was given. */
enum lr_scaling { LR_SCALING_AUTO, LR_SCALING_ON, LR_SCALING_OFF };

enum nextword_cell { CELL_DENSE, CELL_LSTM };

struct train_opts {
    /* ---- training ---- */
    unsigned epochs;
    uint64_t steps;    /* of each rank, instead; 0: epochs */
    double lr;         /* at the start; 0: the model's own */
    enum lr_scaling lr_scaling;
    enum shoal_schedule schedule;
    double min_lr;     /* at the end of SHOAL_LINEAR; 0: lr / 10,000 */
    double decay;      /* of SHOAL_INVERSE_TIME */
    double warmup;     /* epochs in which the rate rises evenly from 0 */
    unsigned batch;    /* examples of a step; of nets, of all ranks together */
    unsigned global_batch; /* the same by another name; 0: as batch says */
    unsigned rank_batch;   /* of each rank, instead; 0: as batch says */
    uint64_t seed;
    bool in_order;     /* samples as they stand, not shuffled */
    enum shoal_optimizer optimizer;
    double momentum;
    bool nesterov;
    double weight_decay;
    double l1, l2;     /* of the features of each row, as they are met */
    double beta;       /* adagrad, ftrl: what is added to the root of squared gradients */
    double positive;   /* how much a row of class 1 counts beside one of class 0 */

    /* ---- validation ---- */
    double valid;           /* the share of the data that is held out */
    enum valid_place valid_at;
    const char *valid_path; /* or a file */
    uint64_t eval_every;    /* examples between two evaluations; 0: an epoch */
    unsigned early_stop;    /* evaluations without a better loss until it is enough; 0: never */
    const char *evals;      /* files of questions, with commas between */

    /* ---- words ---- */
    bool bag;          /* CBOW: the window together predicts */
    enum shoal_loss loss;
    unsigned dim;
    unsigned window;   /* words on each side, shrunk evenly at random */
    bool window_fixed; /* never shrunk */
    bool across_lines; /* windows reach over line ends */
    unsigned negative; /* noise words of a prediction (ns) */
    double ns_exponent; /* they are drawn by count to this power */
    double sample;     /* the share of a word above which it is subsampled; 0: never */
    bool sum;          /* CBOW: the sum of the window, not its mean */
    unsigned minn, maxn; /* characters of n-grams; maxn 0: there are none */
    unsigned buckets;    /* rows of n-grams */
    unsigned hash_only;  /* of words too: so many rows each; 0: words have rows of their own */

    /* ---- classes of text ---- */
    unsigned word_ngrams;  /* of words, at most so many; 1: words alone */
    const char *class_weight; /* NULL, "balanced", or label=weight,... */
    const char *pretrained;   /* vectors of words to begin with */
    double autotune;          /* seconds to search options in; 0: none are */
    const char *autotune_metric; /* the figure of what is held out that is made large */

    /* ---- nets ---- */
    const char *layers; /* mlp: widths of the hidden ones, "64,64"; "" for none */
    enum shoal_activation activation;
    bool regression;
    bool raw;           /* numbers as they are, not scaled to mean 0 and variance 1 */
    const char *start;  /* a model file to begin with; NULL: at random */
    unsigned hidden;    /* units: of nextword, of the head of vgg */
    unsigned length;    /* nextword: words of a window */
    enum nextword_cell cell;
    const char *vectors; /* nextword: a file */
    uint64_t asked;      /* nextword: windows whose word accuracy is measured; 0: none */
    const char *statistics; /* nextword: a file for a line an epoch */
    unsigned depth;     /* vgg: 11, 13, 16 or 19 */
    bool batch_norm, sync_bn;
    unsigned base;      /* vgg: channels of the first stage */
    double dropout;
    enum shoal_dtype dtype;
    unsigned crop;      /* vgg: black pixels around, of which random crops are taken */
    bool flip;
    const char *test;   /* vgg: pictures that are measured */

    /* ---- reading: text, rows, samples, pictures ---- */
    struct shoal_encode_opts encode;
    const char *vocab;  /* a file */
    struct shoal_clicks_opts rows;
    struct shoal_labelled_opts labelled;
    struct shoal_samples_opts samples;
    struct shoal_images_opts images;

    /* ---- machine ---- */
    unsigned threads;   /* 0: one for each core */
    bool deterministic; /* the same bytes for any number of threads */
    unsigned lanes;     /* deterministic: workers whose changes are merged */
    uint64_t memory_limit; /* refuse to need more; 0: what the machine has free */

    /* ---- ranks ---- */
    shoal_ranks *ranks; /* NULL: alone; no option, but whom the caller joined */
    struct train_sync {
        enum shoal_sync policy;
        unsigned staleness; /* of SHOAL_BOUNDED and SHOAL_AVERAGE */
    } sync;
    enum shoal_wire wire;
    unsigned servers;   /* the last so many ranks keep rows and do not train; 0: all do both */
    unsigned quorum;    /* async, bounded: gradients of a step of a net; 0: sqrt(workers / 2) */
    enum shoal_replica replica;
    bool local_input;   /* each rank reads inputs of its own */
    double silence;     /* seconds until a silent rank is given up; 0: never */

    /* ---- checkpoints, results, metrics ---- */
    const char *checkpoint; /* a folder; NULL: none */
    struct train_every {
        enum shoal_every unit;
        double value;
    } every;
    bool resume;            /* go on from the folder's last checkpoint */
    const char *inputs;     /* where the data is, for whoever goes on; no option */
    const char *output;
    struct shoal_save_opts save; /* of vectors */
    const char *metrics;    /* JSON lines; NULL: none */
    const char *tensorboard, *mlflow; /* folders of theirs; NULL: none */
    unsigned report_steps;  /* report every so many steps; 0: every second */
    const char *publish;    /* what was learned so far, every so many seconds and at the end */
    double publish_every;
    const char *watch;      /* an address where the report is shown */
    bool profile;           /* is to be shown */

    const struct shoal_figures *known; /* of a run before, on what was held out then; no option */

    /* Called about once a second by the thread that trains. Returning false stops the run,
     * with a checkpoint if there is a folder, as SHOAL_ESTOP. No options. */
    bool (*report)(void *user, const struct shoal_report *report);
    void *user;
    /* Whether a poor model is given with a doubt: never; if it would not be tried again at a
     * lower rate; always. No option. */
    enum { LENIENT_NEVER, LENIENT_LAST, LENIENT_ALWAYS } lenient;
};

#endif
