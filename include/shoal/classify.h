/* shoal/classify.h: classes of text, a part of shoal.h, which includes it.
 *
 * What this is: lines of text with labels, as `shoal train classify` learns from them, and the
 * classifier that comes of it: the mean of the rows of a text's words and n-grams says which class
 * it is of (Joulin et al. 2016). Its files are ours, or fastText's supervised models.
 * Who owns what: shoal_labelled_close ends lines; a classifier is its model's
 * (shoal_model_classifier).
 * Threads: both are immutable, and any number may use them. */
#ifndef SHOAL_CLASSIFY_PART_H
#define SHOAL_CLASSIFY_PART_H

#include <shoal.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Lines with labels ------------------------------------------------------------- */

struct shoal_labelled_opts {
    const char *label_prefix; /* of tokens that are labels: "__label__" */
    const char *text_column;  /* of a table with a header (CSV, TSV): the text, */
    const char *label_column; /* and the label; NULL: lines as fastText has them */
    bool clean;               /* letters and digits alone, lower-cased */
    uint64_t min_count;       /* of a word that gets a row */
    uint64_t min_count_label; /* of a label */
    unsigned threads;         /* 0: one for each core */
    struct shoal_watch watch;
};

struct shoal_labelled_stats {
    uint64_t bytes, lines;     /* read */
    uint64_t unlabelled;       /* of them without a label, or without one that counts: left out */
    uint64_t tokens;           /* of those that are kept, ends of lines among them */
    uint64_t types, words;     /* different ones; those that get a row */
    uint64_t labels;           /* different ones that count */
    uint64_t long_words;       /* over SHOAL_WORD_MAX bytes, left out */
};

typedef struct shoal_labelled shoal_labelled;

SHOAL_API struct shoal_labelled_opts shoal_labelled_default(void);
/* Files, folders, globs, "-"; what is compressed too. stats may be NULL. */
SHOAL_API shoal_status shoal_labelled_read(shoal_labelled **out, const char *const *paths, size_t n,
                                           const struct shoal_labelled_opts *opts,
                                           struct shoal_labelled_stats *stats);
SHOAL_API shoal_status shoal_labelled_read_memory(shoal_labelled **out,
                                                  const struct shoal_memory *blocks, size_t n,
                                                  const struct shoal_labelled_opts *opts,
                                                  struct shoal_labelled_stats *stats);
/* One that was encoded for a run with checkpoints. */
SHOAL_API shoal_status shoal_labelled_open(shoal_labelled **out, const char *path);
SHOAL_API void shoal_labelled_close(shoal_labelled *l);
SHOAL_API size_t shoal_labelled_lines(const shoal_labelled *l);

/* ---- Classifiers --------------------------------------------------------------------- */

typedef struct shoal_classifier shoal_classifier;

SHOAL_API size_t shoal_classifier_labels(const shoal_classifier *m);
/* Without the prefix; NULL when k is none. */
SHOAL_API const char *shoal_classifier_label(const shoal_classifier *m, size_t k);

/* The vector of a text into out [dim], of length 1: the mean of the rows of its words and n-grams,
 * from which the labels are told. *features of them the model knows; of none, out is zeros. */
SHOAL_API size_t shoal_classifier_dim(const shoal_classifier *m);
SHOAL_API shoal_status shoal_classifier_text(const shoal_classifier *m, const char *text,
                                             size_t len, float *out, size_t *features);

struct shoal_guess {
    uint32_t label;
    float p;
};

struct shoal_classify_opts {
    size_t k;         /* answers of a text, at most */
    double threshold; /* what is less likely is left out */
    unsigned threads; /* 0: one for each core */
};

/* The likeliest labels of n texts: out [n][k], best first, found [n] how many. Each text is one
 * line, whatever ends of lines it holds. A text without a word that the model knows has none. */
SHOAL_API shoal_status shoal_classify(const shoal_classifier *m, const struct shoal_memory *texts,
                                      size_t n, const struct shoal_classify_opts *opts,
                                      struct shoal_guess *out, size_t *found);

/* ---- Generated lines -------------------------------------------------------------------- */

struct shoal_gen_news_opts {
    uint64_t lines;
    uint64_t first; /* the number of the first one */
    bool csv;       /* a table with the columns label and text; else lines of fastText's */
    uint64_t seed;
};

struct shoal_gen_news_stats {
    uint64_t lines;
    uint64_t wrong; /* have another label than their topic */
};

SHOAL_API struct shoal_gen_news_opts shoal_gen_news_default(void);
/* Same options, same bytes. "-" is standard output. */
SHOAL_API shoal_status shoal_gen_news(const char *path, const struct shoal_gen_news_opts *opts,
                                      struct shoal_gen_news_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
