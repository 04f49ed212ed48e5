/* model: what is computed, one step at a time.
 *
 * What this is: the models' arithmetic over views of parameters. A model never
 * knows how many workers there are nor how their views meet.
 * Who owns what: a plan borrows the ids and the vocabulary; a worker borrows its
 * plan and its views.
 * Threads: a plan is shared by all; a worker belongs to one thread. */
#ifndef SHOAL_MODEL_H
#define SHOAL_MODEL_H

#include "base/base.h"
#include "sparse/sparse.h"
#include "kernel/kernel.h"
#include "model/net.h"
#include "model/opts.h"
#include "model/sums.h"

/* ---- word2vec.c: what all workers share -------------------------------------- */

enum {
    W2V_MAX_WINDOW = 50,
    W2V_MAX_NEGATIVES = 64,
    W2V_REUSE = 8, /* windows that share their noise */
};

/* Walker's alias table. Draw a cell evenly, then stay in it with probability
 * keep / 2^32, else take other. */
struct alias {
    uint32_t keep;
    uint32_t other;
};

/* With subwords: word w has, beside its own row of the input table, row[from[w]] ..
 * row[from[w + 1] - 1], which are those of its n-grams and stand behind the words'. */
struct w2v_grams {
    size_t *from;  /* [words + 1] */
    uint32_t *row; /* one may stand there twice */
    bool hashed;   /* words have no rows of their own: these are all */
};

/* How many rows of the input table a word has, and the i-th. */
static inline size_t w2v_rows(const struct w2v_grams *g, uint32_t word)
{
    return g ? g->from[word + 1] - g->from[word] + !g->hashed : 1;
}

static inline uint32_t w2v_row(const struct w2v_grams *g, uint32_t word, size_t i)
{
    if (!g || (i == 0 && !g->hashed))
        return word;
    return g->row[g->from[word] + i - !g->hashed];
}

struct w2v {
    const struct kernel *kernel;
    const uint32_t *ids; /* [count] words, and SHOAL_SENTENCE_END between sentences */
    size_t count;
    struct split split; /* which of them are held out; set by whoever holds some out */
    uint32_t words; /* commonest first: low ids are the hot rows */
    size_t dim;

    unsigned window;    /* 1 .. W2V_MAX_WINDOW, shrunk evenly at random */
    bool fixed;         /* never shrunk */
    bool across;        /* windows reach over sentence ends */
    unsigned negatives; /* 1 .. W2V_MAX_NEGATIVES; 0: Huffman paths */
    double exponent;    /* of the counts by which noise is drawn */
    bool bag;           /* CBOW: the window together predicts; else each of its words */
    bool sum;           /* of the window, not its mean */
    uint64_t seed;
    const struct w2v_grams *grams; /* NULL: a word has one row; set by whoever has them */
    bool noise_once; /* noise that several windows share counts as one touch of its row, not as so
                        many; set by whoever wants that */

    uint32_t *keep;      /* [words + 1] a word stays when a random number is <= this */
    struct alias *alias; /* [words] noise; NULL with Huffman paths */
    /* Word w has the nodes node[path[w]] .. node[path[w + 1] - 1], rows of the
     * output table, and as many labels (1 - bit). */
    uint32_t *path; /* [words + 1] */
    uint32_t *node;
    float *label;
};

/* `train` ids come from the front of the corpus; the samplers from the
 * vocabulary's counts. */
shoal_status w2v_init(struct w2v *w, const struct train_opts *opts, const shoal_vocab *vocab,
                      const uint32_t *ids, size_t count, const struct kernel *kernel);
void w2v_fini(struct w2v *w);
/* Rows of the output table: one a word, or one an inner node. */
size_t w2v_out_rows(const struct train_opts *opts, size_t words);
/* How often noise is a word that was counted so often, beside other words. */
double w2v_noise(uint64_t count, double exponent);
/* What w2v_init will take. */
size_t w2v_bytes(const struct train_opts *opts, const shoal_vocab *vocab);
/* How often a row of each table changes, for each word of the corpus; in and out are zero
 * before. */
void w2v_traffic_in(const struct w2v *w, const shoal_vocab *vocab, float *in);
void w2v_traffic_out(const struct w2v *w, const shoal_vocab *vocab, float *out);
/* Small random numbers in the first `n` input rows; what is behind, as rows of n-grams, and output
 * rows are zero: so n-grams that training never meets say nothing. Of rows that are dealt out,
 * ids [rows] says which they are; NULL: all, in order. */
void w2v_start(struct table *in, const uint32_t *ids, size_t n, uint64_t seed);

/* ---- windows.c: the windows of a span of the corpus ------------------------------- */

enum { SPAN = 512 }; /* positions whose windows are cut at once */

/* A centre and its neighbours: indices of `kept`, the window is [lo, hi). */
struct window {
    uint32_t centre, lo, hi;
};

/* Words subsampled and windows shrunk at random, keyed by (seed, epoch,
 * position), so that it is the same whoever asks. */
enum { WINDOWS_KEPT = SPAN + 2 * W2V_MAX_WINDOW + 1 };

struct windows {
    uint32_t kept[WINDOWS_KEPT];  /* ids and sentence ends */
    uint32_t place[WINDOWS_KEPT]; /* position - begin */
    uint32_t first, last, kept_count; /* centres are kept[first .. last) */
    struct window at[SPAN];
    size_t len;
    uint64_t words; /* of the span, sentence ends not counted */
};

/* The windows whose centre stands at begin <= position < end <= begin +
 * SPAN, all learned or all held out; words beyond, of the same sentence unless `across`, serve as neighbours. */
void windows_cut(struct windows *out, const struct w2v *w, unsigned epoch, size_t begin,
                 size_t end);
/* Widens [begin, end) to the positions that windows with a centre there may reach. */
void windows_reach(const struct w2v *w, unsigned epoch, size_t *begin, size_t *end);

/* ---- composed.c: words that are several rows ------------------------------------- */

/* Of one worker: the vectors of a span's words. */
struct composed;

shoal_status composed_new(struct composed **out, const struct w2v *w, struct view *in);
void composed_free(struct composed *c);
size_t composed_bytes(size_t dim);
/* Composes the words of a span; gives the vector of each word that is kept, [kept_count], to be
 * trained on. Sentence ends have none. */
float *const *composed_make(struct composed *c, const struct windows *ws);
/* Adds what was changed about them to each row of theirs. */
void composed_give(struct composed *c);
/* Rows of all of them; and counts these as touched. */
size_t composed_rows(const struct composed *c);
void composed_count(struct composed *c);
/* A word's vector, of the whole table, into out [stride], which may be its own row. */
void w2v_compose(const struct w2v *w, const struct table *in, uint32_t word, float *out);

/* ---- w2v_worker.c: one worker's way through a corpus --------------------------------- */

struct w2v_worker;

shoal_status w2v_worker_new(struct w2v_worker **out, const struct w2v *w, struct view *in,
                            struct view *out_rows);
void w2v_worker_free(struct w2v_worker *worker);
/* Trains the windows whose centre stands at begin <= position < end, and adds
 * to *done. Everything random is keyed by (seed, epoch, position), so a worker
 * keeps no state: it may stop anywhere and another go on. */
void w2v_worker_train(struct w2v_worker *worker, unsigned epoch, size_t begin, size_t end, float lr,
                      struct sums *done);
/* Sets the bits of the rows that w2v_worker_train would read there. */
void w2v_worker_list(struct w2v_worker *worker, unsigned epoch, size_t begin, size_t end,
                     uint64_t *in, uint64_t *out);
/* As which epoch w2v_worker_loss sees the text. */
#define W2V_LOSS_EPOCH UINT32_MAX
/* Adds the loss of every window, changing nothing. */
void w2v_worker_loss(struct w2v_worker *worker, size_t begin, size_t end, struct sums *done);

/* ---- softmax.c: the exact softmax, in mini-batches ------------------------------- */

enum { SOFTMAX_MAX_BATCH = 65536 };

struct softmax;

/* in [words][dim], out [words][dim], bias [1][words]; changed in place. All
 * threads work on one batch, so the result does not depend on their number. */
shoal_status softmax_new(struct softmax **out, const struct w2v *w, unsigned batch,
                         struct table *in, struct table *out_rows, struct table *bias,
                         unsigned threads);
void softmax_free(struct softmax *s);
/* Where predictions come from: gives the next positions, at most SPAN of them; false: there are
 * no more. Batches go on from one range to the next. */
struct softmax_text {
    bool (*next)(void *ctx, size_t *begin, size_t *end);
    void *ctx;
};

/* Trains on the windows of a text, in so many batches at most; 0: in all. Windows behind the
 * last batch are left, and are not counted. */
shoal_status softmax_batches(struct softmax *s, unsigned epoch, const struct softmax_text *text,
                             uint64_t batches, float lr, struct sums *done);
/* The loss of all of them, changing nothing. */
shoal_status softmax_measure(struct softmax *s, const struct softmax_text *text,
                             struct sums *done);
size_t softmax_bytes(unsigned batch, size_t words, size_t dim);

/* ---- linear.c: logistic regression on sparse rows --------------------------------- */

struct linear_model {
    const struct kernel *kernel;
    const struct clicks_view *rows;
    struct split split;      /* which rows are held out; set by whoever holds some out */
    struct kernel_rule rule; /* all but the rate */
    uint64_t batch;
    float positive; /* of class 1, beside 1 of class 0 */
    float scale;    /* of the rows' weights, which makes their mean 1 */
};

/* The tables are packed: weights [features + 1][width], the last row being that of
 * features nobody has seen, which stays zero; bias [1][width]. */
size_t linear_width(enum shoal_optimizer optimizer);
void linear_init(struct linear_model *l, const struct train_opts *opts,
                 const struct clicks_view *rows, const struct kernel *kernel);

/* Its rule at this rate; a bias is not shrunk. */
struct kernel_rule linear_rule(const struct linear_model *l, float lr, bool bias);

struct linear_worker;

shoal_status linear_join(struct linear_worker **out, const struct linear_model *l, struct view *weights,
                         struct view *bias);
void linear_leave(struct linear_worker *w);
size_t linear_worker_bytes(const struct train_opts *opts, size_t features);
/* Trains the rows from <= row < to of those that are learned, as `order` has them, in batches that
 * begin at `from`. */
void linear_train(struct linear_worker *w, uint64_t from, uint64_t to,
                  const struct shuffle *order, float lr, struct sums *done);

/* Parameters of a weight, which were zero, say `weight`. */
void linear_set(const struct linear_model *l, float *row, float lr, bool bias, float weight);

/* The weight of a row of parameters as it stands, and the margin of a row of clicks. */
float linear_weight(const struct linear_model *l, const struct table *t, uint32_t row, float lr,
                    bool bias);
float linear_margin(const struct linear_model *l, const struct table *weights, const struct table *bias,
                    float lr, const struct clicks_view *rows, uint64_t row);

/* ---- multinomial.c: the same with many classes --------------------------------------- */

/* Of the same tables, but a feature's row has a weight for each class, and each its state:
 * weights [features + 1][classes * width], bias [1][classes * width], width being
 * linear_width and classes those of l->rows. */
struct multinomial_worker;

shoal_status multinomial_join(struct multinomial_worker **out, const struct linear_model *l,
                              struct view *weights, struct view *bias);
void multinomial_leave(struct multinomial_worker *w);
size_t multinomial_worker_bytes(const struct train_opts *opts, size_t features, unsigned classes);
/* As linear_train. */
void multinomial_train(struct multinomial_worker *w, uint64_t from, uint64_t to,
                       const struct shuffle *order, float lr, struct sums *done);

/* out [classes]: the weights of a row of parameters; z [classes]: the scores of a row. */
void multinomial_weights(const struct linear_model *l, const struct table *t, uint32_t row,
                         float lr, bool bias, float *out);
void multinomial_scores(const struct linear_model *l, const struct table *weights,
                        const struct table *bias, float lr, const struct clicks_view *rows,
                        uint64_t row, float *z);

/* ---- classify.c: classes of bags of rows ----------------------------------------------- */

struct classify {
    const struct kernel *kernel;
    enum shoal_loss loss;
    uint32_t classes; /* commonest first */
    size_t dim;
    const float *weight; /* [classes] how much an example of each counts; NULL: all alike */
    uint64_t seed;
    struct w2v draw; /* how noise is drawn, or the tree: its words are the classes */
};

/* Labels and weights are borrowed. Two labels or more. */
shoal_status classify_init(struct classify *c, const struct train_opts *o,
                           const shoal_vocab *labels, const float *weight,
                           const struct kernel *kernel);
void classify_fini(struct classify *c);
/* Rows of the output table: one a class, or one an inner node of the tree. */
size_t classify_out_rows(enum shoal_loss loss, size_t classes);

/* Small random rows of words, as fastText has them; those of n-grams and output rows are zero. */
void classify_start(struct table *in, size_t words, uint64_t seed);

struct classify_line {
    const uint32_t *row; /* [n] of the input table; one may stand there twice */
    size_t n;
    const uint32_t *label; /* [labels] one or more */
    size_t labels;
    unsigned epoch;  /* by both what is drawn is known */
    uint64_t number;
};

struct classify_worker;

/* `most`: rows of a line. */
shoal_status classify_join(struct classify_worker **out, const struct classify *c, struct view *in,
                           struct view *out_rows, size_t most);
void classify_leave(struct classify_worker *w);
void classify_train(struct classify_worker *w, const struct classify_line *line, float lr,
                    struct sums *done);

/* Output rows as they stand. */
struct classify_answer {
    const struct classify *classes;
    const float *out; /* [out rows][stride] */
    size_t stride;
    void (*sigmoid)(float *z, size_t n); /* instead of the kernel's; or NULL */
};

/* p [classes] of the mean of a line's rows: of softmax and hs they sum to 1, of ova and ns each is
 * a probability by itself. None is above 1. */
void classify_answer(const struct classify_answer *a, const float *hidden, float *p);

#endif
