/* learned: what a run learned, for people to look at; a part of the door train.h.
 *
 * What this is: exhibits, each a small table of words and numbers with a shape that says how it is
 * to be drawn. A task fills them once, at the end of a run that keeps metrics; they are one line of
 * the metrics; study/ draws them by their shape, and knows no model.
 *
 *     task --learned_exhibit, exhibit_*--> struct learned --learned_json--> metrics.jsonl
 *                                                                              |
 *     report <--study/learned.c-- struct learned <------learned_take-----------'
 *
 * Who owns what: a struct learned owns its exhibits, until learned_fini.
 * Threads: one at a time for each object. */
#ifndef SHOAL_TRAIN_LEARNED_H
#define SHOAL_TRAIN_LEARNED_H

#include "base/base.h"

enum {
    LEARNED_EXAMPLES = 10000, /* that a model is asked about, at most */
    LEARNED_EXHIBITS = 12,
    LEARNED_COLUMNS = 8,
    LEARNED_ROWS = 4096,  /* of an exhibit */
    LEARNED_WORD = 200,   /* bytes of a word, */
    LEARNED_FILE = 16384, /* and of a picture in base64 */
    LEARNED_LINE = 960 << 10, /* bytes of all texts together: readers take lines of 1 MiB */
};

enum exhibit_shape {
    EXHIBIT_FIGURES,  /* one row: numbers, each with its name */
    EXHIBIT_TABLE,
    EXHIBIT_ANSWERS,  /* asked, what is known of it, an answer, its score: rows of one question
                         follow each other */
    EXHIBIT_CURVES,   /* line, x, y, whether it is but a guide (0, 1): points of a line likewise */
    EXHIBIT_MATRIX,   /* true, said, count: all pairs, row by row */
    EXHIBIT_MAP,      /* word, x, y, cluster */
    EXHIBIT_PICTURES, /* file (PNG in base64), true, said, probability */
    EXHIBIT_POINTS,   /* as curves, but that only guides join their points */
    EXHIBIT_SHAPES,
};

enum column_as {
    COLUMN_WORD,
    COLUMN_COUNT,
    COLUMN_SHARE,  /* 0 to 1 */
    COLUMN_BAR,    /* the same, with a bar */
    COLUMN_REAL,
    COLUMN_SIGNED, /* the same, with a bar to the left or to the right */
    COLUMN_FILE,
    COLUMN_KINDS,
};

struct exhibit_cell {
    double x;    /* NaN: not known */
    size_t text; /* of words and files: where it begins in `texts` */
};

struct exhibit {
    char name[24], title[96], note[320];
    enum exhibit_shape shape;
    struct {
        char head[40];
        enum column_as as;
    } columns[LEARNED_COLUMNS];
    size_t ncolumns;
    struct exhibit_cell *cells; /* [nrows][ncolumns] */
    size_t nrows, cap;          /* cap in cells */
    struct bytes texts;         /* each ended by a NUL */
    size_t filled;              /* cells of the last row */
};

struct learned {
    bool held;              /* asked about examples that were held out; else those it learned from */
    uint64_t examples, all; /* so many, of so many; 0: it was asked about none */
    struct exhibit at[LEARNED_EXHIBITS + 1]; /* the last takes what is too much, and is not shown */
    size_t n;
    size_t bytes;        /* of all texts */
    shoal_status status; /* the first failure: what is added behind it is dropped */
};

void learned_fini(struct learned *l);
/* Which of `all` examples the i-th of `n` is: spread over all of them. */
size_t learned_pick(size_t i, size_t n, size_t all);

/* ---- filling ---- */

/* Never NULL. */
struct exhibit *learned_exhibit(struct learned *l, enum exhibit_shape shape, const char *name,
                                const char *title);
void exhibit_note(struct exhibit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void exhibit_column(struct exhibit *e, const char *head, enum column_as as);
/* A row, then its cells from left to right; those not given are not known. Rows beyond
 * LEARNED_ROWS, and cells of them, are dropped. */
void exhibit_row(struct learned *l, struct exhibit *e);
void exhibit_number(struct exhibit *e, double x);
/* What is no UTF-8 or obeyed by terminals becomes a question mark; long ones are cut. */
void exhibit_word(struct learned *l, struct exhibit *e, const char *word);
void exhibit_file(struct learned *l, struct exhibit *e, const void *bytes, size_t len);
const char *exhibit_text(const struct exhibit *e, size_t row, size_t column);
double exhibit_real(const struct exhibit *e, size_t row, size_t column);

/* ---- the line of the metrics ---- */

struct json_t;
/* NULL: no memory. */
struct json_t *learned_json(const struct learned *l);
/* Into zeros; NULL, or what is wrong with it: "a learned record whose ...". */
const char *learned_take(struct learned *l, const struct json_t *line);

/* ---- judged.c: exhibits of classifiers ---- */

struct predictions;
/* Figures, who is taken for whom, each class, ROC and precision-recall curves and calibration.
 * names [classes]. */
shoal_status learned_classes(struct learned *l, const struct predictions *p,
                             const char *const *names);

/* ---- fitted.c: exhibits of predicted numbers ---- */

/* R squared and errors of each target, and pictures of the first ones: predicted against true, and
 * residuals. said, truth [n][targets] in the units of the data; names [targets]. */
shoal_status learned_numbers(struct learned *l, const float *said, const float *truth, size_t n,
                             size_t targets, const char *const *names);

#endif
