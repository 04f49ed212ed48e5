/* shoal/nets.h: dense nets, a part of shoal.h, which includes it.
 *
 * What this is: samples (rows of numbers with a class or with targets), and what a
 * trained net answers.
 * Who owns what: as in shoal.h.
 * Threads: samples and nets are immutable once made. */
#ifndef SHOAL_NETS_PART_H
#define SHOAL_NETS_PART_H

#include <shoal.h>
#include <shoal/columns.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Samples ---------------------------------------------------------------------
 * Rows with a class or with targets: a table of text (shoal/columns.h), NumPy's .npy, or IDX (the
 * files of MNIST); gzip, zstd, bzip2 and xz are recognised by content. Of a table a number is an
 * input, and so is each value of a category. */

typedef struct shoal_samples shoal_samples;

enum shoal_samples_task {
    SHOAL_CLASSIFY, /* each sample has a class */
    SHOAL_REGRESS,  /* each sample has targets: numbers */
    SHOAL_INPUTS,   /* neither: samples to predict for */
};

struct shoal_samples_opts {
    enum shoal_samples_task task;
    struct shoal_table_opts table; /* `label` is of arrays too: its number from 1, by default the
                                      last column */
    uint32_t targets;       /* columns of targets, from the label's on (SHOAL_REGRESS) */
    const char *labels;     /* a second file with the classes or targets; NULL: see above */
    uint32_t expect;        /* SHOAL_INPUTS, of arrays: so many inputs; further columns, from the
                               label's on, are left aside; 0: all columns are inputs */
    const shoal_columns *columns;  /* of a table, as a net learned them; NULL: found, */
    bool numbers;                  /* or all of a table are numbers, as of an array */
    const char *const *classes;    /* [nclasses] names of the classes there may be; NULL: found, */
    size_t nclasses;               /* or the numbers below this, unless it is 0 */
    uint64_t memory_limit;  /* refuse to need more; 0: what the machine has free */
};

SHOAL_API struct shoal_samples_opts shoal_samples_default(void);
/* NaN and infinities in arrays, rows of another length and labels that are no class fail, with
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
/* Of such samples, before anybody else has them: there are n classes, though some have no sample,
 * and these are their names [n], or numbers where that is NULL. */
SHOAL_API shoal_status shoal_samples_name_classes(shoal_samples *s, const char *const *names,
                                                  size_t n);
SHOAL_API void shoal_samples_close(shoal_samples *s);
SHOAL_API size_t shoal_samples_count(const shoal_samples *s);
SHOAL_API size_t shoal_samples_classes(const shoal_samples *s);
/* The name of class k; NULL: it is its number. */
SHOAL_API const char *shoal_samples_class(const shoal_samples *s, size_t k);
/* What the columns of the table are; NULL: it was none. */
SHOAL_API const shoal_columns *shoal_samples_columns(const shoal_samples *s);

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

/* ---- Nets ---------------------------------------------------------------------------
 * A trained net with all that it needs to answer. Immutable. */

typedef struct shoal_net shoal_net;

SHOAL_API shoal_status shoal_net_open(shoal_net **out, const char *path);
/* Appears whole or not at all. */
SHOAL_API shoal_status shoal_net_save(const shoal_net *net, const char *path);
SHOAL_API void shoal_net_close(shoal_net *net);
/* What was remembered of its training: "epochs", "samples", "loss", ...; or NULL. */
SHOAL_API const char *shoal_net_fact(const shoal_net *net, const char *key);
/* What it is, in a line: "mlp inputs=2 layers=64,64 outputs=4 activation=tanh loss=softmax". */
SHOAL_API const char *shoal_net_spec(const shoal_net *net);
SHOAL_API size_t shoal_net_inputs(const shoal_net *net);
SHOAL_API size_t shoal_net_outputs(const shoal_net *net);
SHOAL_API bool shoal_net_classes(const shoal_net *net); /* outputs are probabilities of classes */
SHOAL_API uint64_t shoal_net_parameters(const shoal_net *net);
/* y [n][outputs] for x [n][inputs], both in the units of the data. */
SHOAL_API shoal_status shoal_net_predict(const shoal_net *net, const float *x, size_t n, float *y);
SHOAL_API shoal_status shoal_net_predict_samples(const shoal_net *net, const shoal_samples *s,
                                                 size_t from, size_t n, float *y);

/* ---- The next word ----------------------------------------------------------------------
 * A window of words, as vectors, predicts the vector of the word behind it. */

/* The k likeliest words behind the text, best first; score is the probability, *found <= k.
 * Words that the net does not know are passed over. */
SHOAL_API shoal_status shoal_nextword_predict(const shoal_net *net, const char *text,
                                              struct shoal_hit *hits, size_t k, size_t *found);
/* The vector that the net predicts behind the text, vector [shoal_net_outputs], in the net's
 * units: vectors of words have the length sqrt(outputs). And the k words nearest to it, best
 * first; score is the cosine, *found <= k, which may be 0 with hits NULL. */
SHOAL_API shoal_status shoal_nextword_vector(const shoal_net *net, const char *text, float *vector,
                                             struct shoal_hit *hits, size_t k, size_t *found);
SHOAL_API const char *shoal_nextword_word(const shoal_net *net, uint32_t id); /* or NULL */

#ifdef __cplusplus
}
#endif
#endif
