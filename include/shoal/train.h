/* shoal/train.h: training, a part of shoal.h, which includes it.
 *
 * What this is: the options, reports and results of a run, and the training of
 * word vectors.
 * Who owns what: a run borrows its data and options for the length of the call.
 * Threads: one call is driven by one thread, which starts and joins the others. */
#ifndef SHOAL_TRAIN_PART_H
#define SHOAL_TRAIN_PART_H

#include <shoal.h>
#include <shoal/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Training ------------------------------------------------------------------ */

enum shoal_train_model { SHOAL_CBOW, SHOAL_SKIPGRAM, SHOAL_LOGREG };
enum shoal_loss {
    SHOAL_NS,      /* negative sampling (Mikolov et al. 2013) */
    SHOAL_HS,      /* hierarchical softmax over a Huffman tree */
    SHOAL_SOFTMAX, /* exact softmax with bias, in mini-batches: for small V */
};
enum shoal_schedule {
    SHOAL_LINEAR,       /* lr falls evenly to lr/10,000 */
    SHOAL_CONSTANT,
    SHOAL_INVERSE_TIME, /* lr / (1 + decay * epochs done) */
    SHOAL_COSINE,       /* to 0, slowly at both ends */
};

/* How often: every so many seconds, every share of the run, or after each epoch. */
enum shoal_every { SHOAL_EVERY_SECONDS, SHOAL_EVERY_SHARE, SHOAL_EVERY_EPOCH };

enum shoal_event {
    SHOAL_EVENT_INTERVAL,   /* some time has passed */
    SHOAL_EVENT_EPOCH,      /* an epoch is through: loss is the epoch's */
    SHOAL_EVENT_CHECKPOINT, /* one was started; loss is the last interval's */
    SHOAL_EVENT_DONE,       /* the last report; loss is the last epoch's */
    SHOAL_EVENT_LOOK,       /* what is held out was looked at within an epoch; loss is its own
                             * so far */
};

/* What a rank holds of the tables. */
enum shoal_replica {
    SHOAL_REPLICA_AUTO,   /* all of them if that fits into memory, else blocks */
    SHOAL_REPLICA_FULL,   /* all of them, what others know of them, and its own */
    SHOAL_REPLICA_BLOCKS, /* the rows it owns, and those that a block of work needs */
};

struct shoal_report {
    enum shoal_event event;
    unsigned epoch, epochs;  /* begun, or through (SHOAL_EVENT_EPOCH), from 1; in all */
    double progress;         /* 0 .. 1 */
    uint64_t words;          /* or rows, trained so far, every epoch's counted */
    double seconds;          /* of training, those before a resume included */
    double words_per_second; /* over the interval, the epoch or the run */
    double loss;             /* mean over predictions; NaN: not measured */
    double valid_loss;       /* on what is held out; NaN: not measured */
    double lr;
    double eta;              /* seconds */
    uint64_t memory;         /* peak, bytes */
    /* SHOAL_EVENT_EPOCH: of each suite of `evals` the last score, under the
     * suite's name; borrowed for the call. Otherwise NULL and 0. */
    const struct shoal_score *scores;
    size_t nscores;
    const struct shoal_binary_score *held; /* logreg, on what is held out; NULL: not measured */
};

enum shoal_linear { SHOAL_SGD, SHOAL_ADAGRAD, SHOAL_FTRL }; /* kernel/kernel.h has the formulas */

struct shoal_logreg_opts {
    enum shoal_linear optimizer;
    double l1, l2;         /* of the features of each row, as they are met */
    double beta;           /* adagrad, ftrl: what is added to the root of squared gradients */
    double positive;       /* how much a row of class 1 counts beside one of class 0 */
    uint64_t eval_every;   /* rows between two looks at what is held out; 0: an epoch */
    unsigned early_stop;   /* looks without a better log-loss until it is enough; 0: never */
    const shoal_clicks *valid; /* what is held out; NULL: the share `valid` of the data */
    const char *valid_path;    /* remembered in the checkpoint for whoever resumes */
};

struct shoal_train_opts {
    enum shoal_train_model model;
    enum shoal_loss loss;
    unsigned dim;
    unsigned window;   /* words on each side, shrunk evenly at random */
    unsigned negative; /* noise words of a prediction (ns) */
    double sample;     /* the share of a word above which it is thinned out; 0: never */
    unsigned epochs;
    double lr;         /* 0: 0.05 for CBOW, 0.025 for skip-gram, for logreg see docs/logreg.md */
    enum shoal_schedule schedule;
    double decay;      /* of SHOAL_INVERSE_TIME */
    bool sum;          /* CBOW: the sum of the window, not its mean */
    unsigned batch;    /* predictions of a step (softmax), rows of one (logreg) */
    uint64_t seed;
    double valid;      /* the share of the data, at its end, that is held out */
    struct shoal_logreg_opts logreg;

    unsigned threads;  /* 0: one for each core */
    bool deterministic; /* the same bytes for any number of threads */
    unsigned lanes;    /* deterministic: workers whose changes are merged */
    uint64_t memory_limit; /* refuse to need more; 0: what the machine has free */

    shoal_ranks *ranks;    /* NULL: alone */
    enum shoal_sync sync;
    unsigned staleness;    /* of SHOAL_BOUNDED and SHOAL_AVERAGE */
    enum shoal_wire wire;
    unsigned servers;      /* the last so many ranks keep rows and do not train; 0: all do both */
    enum shoal_replica replica;
    bool local_input;      /* the corpus is this rank's own part */
    double patience;       /* seconds until a silent rank is given up */

    const char *checkpoint; /* a folder; NULL: none */
    enum shoal_every every;
    double every_value;     /* seconds, or a share of the run */
    bool resume;            /* go on from the folder's last checkpoint */
    const char *corpus;     /* remembered in the checkpoint for whoever resumes */
    const char *output;

    const shoal_eval *const *evals; /* [nevals] asked after each epoch, as by default; borrowed */
    size_t nevals;

    const char *metrics; /* a file for JSON lines, one a report; NULL: none */
    /* What was learned so far is written here every so many seconds, and at the end, for
     * a server to pick up; the file appears whole. NULL: not before the end. */
    const char *publish;
    double publish_every;
    /* Called about once a second from the calling thread. Returning false stops
     * the run, with a checkpoint if there is a folder, as SHOAL_ESTOP. */
    bool (*report)(void *user, const struct shoal_report *report);
    void *user;
};

struct shoal_train_plan {
    uint64_t words, vocab;     /* or rows, features */
    uint64_t model_bytes;      /* the tables */
    uint64_t rank_bytes;       /* of them, what this rank holds: all, or with blocks its own rows */
    bool blocks;               /* no replicas: see SHOAL_REPLICA_BLOCKS */
    uint64_t replica_bytes;    /* what a rank would need with replicas, all in all */
    uint64_t work_bytes;       /* private copies, samplers, buffers */
    uint64_t held_bytes;       /* before training: program, vocabulary, the mapped corpus */
    uint64_t checkpoint_bytes; /* the copy that is written in the background */
    uint64_t memory_bytes;     /* the sum */
    uint64_t memory_free;
};

struct shoal_train_stats {
    uint64_t words;       /* or rows, trained in this call */
    double seconds;       /* of this call's training */
    double startup;       /* seconds to the first update */
    double loss, valid_loss;
    uint64_t memory;      /* peak, bytes */
    const char *kernel;   /* "avx2" */
    unsigned checkpoints; /* written */
    bool resumed;
    bool enough;          /* stopped early: what is held out got no better */
    struct shoal_binary_score held; /* logreg; examples is 0 when not measured */
    struct shoal_rank_stats ranks;
    struct shoal_profile profile; /* where the time went; ranks is 0 when it did not end well */
};

SHOAL_API struct shoal_train_opts shoal_train_default(enum shoal_train_model model);
SHOAL_API shoal_status shoal_train_check(const struct shoal_train_opts *opts);
SHOAL_API shoal_status shoal_train_plan(struct shoal_train_plan *plan, const shoal_corpus *corpus,
                                        const struct shoal_train_opts *opts);
/* As shoal_encode, the words counted by all ranks, each its part of the inputs.
 * Rank 0 writes `path`, which the others must be able to open; or each rank its
 * own inputs to its own path, over the words of all, when `local`. */
SHOAL_API shoal_status shoal_ranks_encode(shoal_ranks *r, const char *path,
                                          const char *const *inputs, size_t n,
                                          const struct shoal_encode_opts *opts, bool local,
                                          struct shoal_encode_stats *stats);
/* *out is NULL on ranks other than 0. */
SHOAL_API shoal_status shoal_train(shoal_vectors **out, const shoal_corpus *corpus,
                                   const struct shoal_train_opts *opts,
                                   struct shoal_train_stats *stats);

/* What a checkpoint was made with: the last of a folder, or a file. shoal_resume_free
 * ends the strings of opts; opts.checkpoint is borrowed. */
struct shoal_resume {
    struct shoal_train_opts opts;
    const char *path;  /* of the checkpoint */
    unsigned epoch;    /* epochs done */
    double progress;   /* 0 .. 1 */
    uint64_t words;    /* trained so far, every epoch's counted */
    double seconds;    /* of training so far */
    char *strings;
};

/* A folder that is not there or holds no checkpoint is SHOAL_ENOENT. */
SHOAL_API shoal_status shoal_resume_read(struct shoal_resume *out, const char *path);
SHOAL_API void shoal_resume_free(struct shoal_resume *r);

#ifdef __cplusplus
}
#endif
#endif
