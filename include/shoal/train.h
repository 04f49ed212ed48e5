/* shoal/train.h: training, a part of shoal.h, which includes it.
 *
 * What this is: one way to train every task: options by name, data, a callback, a model.
 * Who owns what: shoal_data_open gives data that shoal_data_close ends, shoal_train a model
 * for shoal_model_close; options and data are borrowed for the length of the call.
 * Threads: one call is driven by one thread, which starts and joins the others.
 *
 * Vectors that are never written, an example (compiled and run by the tests):
 *
 *     const char *inputs[] = {"text.txt"};
 *     shoal_options *options = NULL;
 *     shoal_data *data = NULL;
 *     shoal_model *model = NULL;
 *     bool trained = shoal_options_new(&options, "skipgram") == SHOAL_OK &&
 *                    shoal_options_set(options, "dim", "16") == SHOAL_OK &&
 *                    shoal_options_set(options, "min-count", "1") == SHOAL_OK &&
 *                    shoal_data_open(&data, options, inputs, 1, NULL, NULL) == SHOAL_OK &&
 *                    shoal_train(&model, options, data, NULL, NULL) == SHOAL_OK;
 *
 *     if (trained) {
 *         const shoal_vectors *vectors = shoal_model_vectors(model);
 *         uint32_t cat = shoal_vectors_find(vectors, "cat", 3);
 *         struct shoal_hit nearest;
 *         size_t found = 0;
 *         float row[16];
 *
 *         if (shoal_vectors_row(vectors, cat, row) == SHOAL_OK &&
 *             shoal_nearest(vectors, row, &cat, 1, 0, &nearest, 1, &found) == SHOAL_OK && found)
 *             printf("nearest to cat: %s\n", shoal_vectors_word(vectors, nearest.id));
 *     } else {
 *         fprintf(stderr, "%s\n", shoal_error());
 *     }
 *     shoal_model_close(model);
 *     shoal_data_close(data);
 *     shoal_options_free(options);
 */
#ifndef SHOAL_TRAIN_PART_H
#define SHOAL_TRAIN_PART_H

#include <shoal.h>
#include <shoal/classify.h>
#include <shoal/clicks.h>
#include <shoal/images.h>
#include <shoal/model.h>
#include <shoal/options.h>
#include <shoal/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Words of the options ------------------------------------------------------- */

enum shoal_loss {
    SHOAL_NS,      /* negative sampling (Mikolov et al. 2013) */
    SHOAL_HS,      /* hierarchical softmax over a Huffman tree */
    SHOAL_SOFTMAX, /* exact softmax with bias, in mini-batches: for small V */
    SHOAL_OVA,     /* of classes: one against all others, each by itself */
};
enum shoal_schedule {
    SHOAL_LINEAR,       /* lr falls evenly to lr/10,000, or to where it is told */
    SHOAL_CONSTANT,
    SHOAL_INVERSE_TIME, /* lr / (1 + decay * epochs done) */
    SHOAL_COSINE,       /* to 0, slowly at both ends */
};
/* How often: every so many seconds, every share of the run, or after each epoch. */
enum shoal_every { SHOAL_EVERY_SECONDS, SHOAL_EVERY_SHARE, SHOAL_EVERY_EPOCH };
/* What a rank holds of the tables. */
enum shoal_replica {
    SHOAL_REPLICA_AUTO,   /* all of them if that fits into memory, else blocks */
    SHOAL_REPLICA_FULL,   /* all of them, what others know of them, and its own */
    SHOAL_REPLICA_BLOCKS, /* the rows it owns, and those that a block of work needs */
};
enum shoal_activation { SHOAL_RELU, SHOAL_TANH, SHOAL_SIGMOID, SHOAL_GELU, SHOAL_AUTO_ACTIVATION };

/* ---- What a run tells ------------------------------------------------------------- */

/* A number by its name. */
enum shoal_figure_of {
    SHOAL_OF_TRAINING,   /* the examples learned from: "loss", "accuracy", ... */
    SHOAL_OF_VALIDATION, /* what is held out: "loss", "auc", "questions-words", ... */
    SHOAL_OF_RUN,        /* the run itself: "gradient", "compute_seconds", ... */
};

struct shoal_figure {
    char name[48];
    enum shoal_figure_of of;
    bool share; /* of 1: people see a percentage */
    double value;
};

#define SHOAL_FIGURES 48
struct shoal_figures {
    struct shoal_figure at[SHOAL_FIGURES];
    size_t n;
};

/* NaN: not measured. */
SHOAL_API double shoal_figure(const struct shoal_figures *f, enum shoal_figure_of of,
                              const char *name);

enum shoal_event {
    SHOAL_EVENT_INTERVAL,   /* some time has passed */
    SHOAL_EVENT_EPOCH,      /* an epoch is through: figures are the epoch's */
    SHOAL_EVENT_CHECKPOINT, /* one was started; figures are the last interval's */
    SHOAL_EVENT_DONE,       /* the last report; figures are the last epoch's */
    SHOAL_EVENT_EVALUATION, /* what is held out was evaluated within an epoch */
    SHOAL_EVENT_RETRY,      /* it diverged, and begins again at this learning rate */
    SHOAL_EVENT_AGAIN,      /* some time of a second run, which learns from all examples, those held
                             * out too: progress and figures are of that one */
    SHOAL_EVENT_TRIAL,      /* one of --autotune: `epoch` is its number, `note` what was tried, and
                             * the figure how well it did, NaN where it failed */
};

struct shoal_report {
    enum shoal_event event;
    const char *unit;        /* of examples: "words" */
    unsigned epoch, epochs;  /* begun, or through (SHOAL_EVENT_EPOCH), from 1; in all */
    double progress;         /* 0 .. 1 */
    uint64_t examples;       /* trained so far, every epoch's counted */
    uint64_t steps;          /* of the optimizer, where a task counts them; else 0 */
    double seconds;          /* of training, those before a resume included */
    double rate;             /* examples a second, over the interval, the epoch or the run */
    double lr;
    double eta;              /* seconds; NaN: not known */
    uint64_t memory;         /* peak, bytes */
    struct shoal_figures figures;
    char note[160];          /* SHOAL_EVENT_TRIAL: the options; else "" */
};

/* ---- What to learn from --------------------------------------------------------------- */

typedef struct shoal_data shoal_data;

/* Opens, and encodes where need be, what the task of the options learns from. Inputs are
 * files, folders, globs, "-"; none: those that the options remember (shoal_options_resume).
 * ranks may be NULL; watch may be NULL. Collective. */
SHOAL_API shoal_status shoal_data_open(shoal_data **out, const shoal_options *o,
                                       const char *const *inputs, size_t ninputs,
                                       shoal_ranks *ranks, const struct shoal_watch *watch);
/* Of objects that are there already and outlive it; those that a task does not take are NULL. */
struct shoal_sources {
    const shoal_corpus *corpus;   /* cbow, skipgram, nextword */
    const shoal_vectors *vectors; /* nextword; cbow, skipgram: rows to begin with, or NULL */
    const shoal_clicks *rows, *valid_rows;
    const shoal_samples *samples, *valid_samples;
    const shoal_images *images, *test_images;
    const shoal_labelled *labelled, *valid_labelled; /* classify */
};
SHOAL_API shoal_status shoal_data_new(shoal_data **out, const struct shoal_sources *sources);
SHOAL_API void shoal_data_close(shoal_data *data);

/* Do the options go with these inputs? How text is read says nothing about what is encoded. */
SHOAL_API shoal_status shoal_data_check(const shoal_options *o, const char *const *inputs,
                                        size_t ninputs);
/* What was found on the way, for people; NULL where nothing was read. Lives as long as `data`. */
struct shoal_found {
    const struct shoal_vocab_stats *text; /* that was encoded, */
    bool unk;                             /* with a word for what was left out */
    const struct shoal_clicks_stats *rows, *valid_rows;
    const shoal_columns *columns; /* of a table; NULL: it was none */
    const shoal_samples *samples;
    const shoal_images *images;
    const struct shoal_labelled_stats *labelled; /* of classify */
};
SHOAL_API struct shoal_found shoal_data_found(const shoal_data *data);

/* As shoal_encode, the words counted by all ranks, each its part of the inputs.
 * Rank 0 writes `path`, which the others must be able to open; or each rank its
 * own inputs to its own path, over the words of all, when `local`. */
SHOAL_API shoal_status shoal_ranks_encode(shoal_ranks *r, const char *path,
                                          const char *const *inputs, size_t n,
                                          const struct shoal_encode_opts *opts, bool local,
                                          struct shoal_encode_stats *stats);

/* ---- The plan ---------------------------------------------------------------------- */

struct shoal_train_plan {
    uint64_t examples, held_out; /* to learn from; held out */
    unsigned epochs;             /* times through them; with --steps as --epochs says */
    unsigned early_stop;         /* evaluations without a better loss that end it; 0: none do */
    bool chosen;                 /* epochs were chosen by the number of examples */
    uint64_t parameters;         /* numbers that are learned */
    uint64_t types;              /* different words, features; 0: there is no such thing */
    char types_note[16];         /* what they are: "different", "features" */
    double lr;                   /* the first learning rate, which is */
    double lr_scale;             /* so many times that of one rank (--lr-scaling) */
    uint64_t shape[2];           /* of an example made on the fly: words, dimensions; or 0 */
    uint64_t model_bytes;        /* what is trained */
    uint64_t rank_bytes;         /* of it, what this rank holds: all, or with blocks its own rows */
    bool blocks;                 /* no replicas: see SHOAL_REPLICA_BLOCKS */
    uint64_t replica_bytes;      /* what a rank would need with replicas, all in all */
    uint64_t work_bytes;         /* private copies, samplers, batches, buffers */
    uint64_t held_bytes;         /* before training: the program and the data */
    uint64_t checkpoint_bytes;   /* the copy that is written in the background */
    uint64_t memory_bytes;       /* the sum of what this rank holds */
    uint64_t memory_free;        /* or what --memory allows, beside what is held */
    bool memory_limited;         /* by --memory */
    char model_note[96];         /* "100 dimensions of each word" */
    const char *advice;          /* what to lower where it does not fit: "--dim" */
};

struct shoal_train_stats {
    const char *unit;             /* of examples: "words" */
    uint64_t examples, steps;     /* trained in this call */
    double seconds;               /* of this call's training */
    double startup;               /* seconds to the first update */
    struct shoal_figures figures; /* of the last epoch */
    uint64_t memory;              /* peak, bytes */
    const char *kernel;           /* "avx2" */
    unsigned checkpoints;         /* written */
    bool resumed;
    bool enough;                  /* stopped early: what is held out got no better */
    unsigned best_epoch;          /* whose parameters were kept, from 1; 0: the last ones */
    unsigned epochs;              /* done */
    uint64_t again;               /* examples, those held out among them, that a second run */
    unsigned again_epochs;        /* of so many epochs learned from; 0: there was none */
    double lr;                    /* the learning rate it began with */
    char doubt[512];              /* why what was learned may be worth nothing (lenient); or "" */
    struct shoal_rank_stats ranks;
    struct shoal_profile profile; /* its rows have each rank's seconds of a step */
};

SHOAL_API shoal_status shoal_train_plan(struct shoal_train_plan *plan, const shoal_options *o,
                                        const shoal_data *data, shoal_ranks *ranks);

struct shoal_train_how {
    shoal_ranks *ranks; /* NULL: alone */
    /* Called about once a second from the calling thread. Returning false stops the run,
     * with a checkpoint if there is a folder, as SHOAL_ESTOP. NULL: nobody is told. */
    bool (*report)(void *user, const struct shoal_report *report);
    void *user;
    /* A model that came to its end but is worse than knowing the labels' shares alone, or that
     * learned its rows by heart, is given and not refused: shoal_train_stats.doubt says why. */
    bool lenient;
};

/* Trains, and saves the model where the option `output` says, if it does. *out is NULL on
 * ranks other than 0; out may be NULL. how and stats may be NULL. Collective. */
SHOAL_API shoal_status shoal_train(shoal_model **out, const shoal_options *o,
                                   const shoal_data *data, const struct shoal_train_how *how,
                                   struct shoal_train_stats *stats);

/* What the last checkpoint of a folder says, or a file. */
struct shoal_checkpoint {
    char path[4096];
    char task[32];
    unsigned epoch;   /* epochs done */
    double progress;  /* 0 .. 1 */
    uint64_t examples;
    double seconds;
};
SHOAL_API shoal_status shoal_checkpoint_read(struct shoal_checkpoint *out, const char *path);

#ifdef __cplusplus
}
#endif
#endif
