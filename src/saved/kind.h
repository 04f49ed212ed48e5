/* kind: a kind of trained model, as this room sees it; not a door.
 *
 * What this is: one table of functions for each kind. saved.c walks saved_kinds[], and
 * with it predict, eval, info, convert and serve. A new kind is such a table in a folder
 * or file of its own, and a line in saved.c; saved.h says how.
 * Who owns what: a model is its kind's, ended by `close`.
 * Threads: a model is immutable once open. */
#ifndef SHOAL_SAVED_KIND_H
#define SHOAL_SAVED_KIND_H

#include "saved/saved.h"

/* Where answers go, as lines. */
struct answers {
    bool (*lines)(void *user, const char *text, size_t len);
    void *user;
    struct bytes text; /* not given yet */
    shoal_status st;   /* the first failure: what is said behind it is dropped */
};

enum { ANSWER_PRINT = 256 };

struct asked_of {
    const char *const *inputs;
    size_t n;
    const struct shoal_ask_opts *opts;
    struct shoal_clicks_stats *stats; /* never NULL */
};

struct kind {
    const char *name;    /* "nextword" */
    const char *word;    /* the file is our container whose meta says `kind WORD` */
    const char *section; /* and which has such a section; NULL: whatever it has */
    bool maps;           /* the container may be mapped, and stays open */
    bool linear;         /* a model is a shoal_logreg, of one output or many */
    const char *what;    /* "a net", in sentences */
    unsigned formats;    /* that it is written in, a bit 1 << FORMAT each; 0: those of vectors */

    /* Takes c, whose bytes were checked unless it is mapped, also on failure. */
    shoal_status (*read)(void **model, struct container *c);
    shoal_status (*verify)(const void *model); /* NULL: opening has */
    shoal_status (*save)(const void *model, const char *path, const struct shoal_save_opts *opts);
    shoal_status (*compress)(void **out, const void *model,
                             const struct shoal_compress_opts *opts); /* or NULL */
    /* How many classes it tells apart, 0 for none; and they get these names, of which there are
     * as many. NULL: no model of the kind has classes. */
    size_t (*classes)(const void *model);
    shoal_status (*name_classes)(void *model, const struct class_index *index);
    shoal_status (*describe)(const void *model, uint64_t bytes, uint64_t top,
                             const struct shoal_reporter *to);
    shoal_status (*ask)(const void *model, const struct asked_of *q,
                        struct answers *a); /* or NULL */
    shoal_status (*score)(const void *model, const char *path, const struct asked_of *q,
                          const struct shoal_reporter *to);
    void (*close)(void *model);
};

/* ---- saved.c ---- */

/* Text of the answer, ANSWER_PRINT bytes at most, by printf, with a point in numbers whatever the
 * locale. */
void answer_print(struct answers *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A name or word: what would end a field or a line in it becomes a question mark. */
void answer_name(struct answers *a, const char *name);
/* Gives what there is; fails when anything did since the beginning. */
shoal_status answer_flush(struct answers *a);

/* What describe and score say. */
#define VALUE_TEXT(x) ((struct shoal_value){.type = SHOAL_TEXT, .text = (x)})
#define VALUE_COUNT(n) ((struct shoal_value){.type = SHOAL_COUNT, .count = (n)})
#define VALUE_REAL(x) ((struct shoal_value){.type = SHOAL_REAL, .real = (x)})
#define VALUE_SHARE(x) ((struct shoal_value){.type = SHOAL_SHARE, .real = (x)})
#define NO_VALUE VALUE_TEXT(NULL)

void report_begin(const struct shoal_reporter *to, const char *title);
void report_value(const struct shoal_reporter *to, const char *key, const char *label,
                  struct shoal_value value);
void report_noted(const struct shoal_reporter *to, const char *key, const char *label,
                  struct shoal_value value, const char *note, struct shoal_value first,
                  struct shoal_value second);
void report_row(const struct shoal_reporter *to, const struct shoal_grid *grid,
                const struct shoal_value *cells, unsigned marks);
void report_warn(const struct shoal_reporter *to, const char *note, struct shoal_value first,
                 struct shoal_value second);

/* ---- vectors/save.c ---- */

/* The format of `what` at the path, one of the bits 1 << FORMAT of `can`. */
shoal_status saved_format(enum shoal_format *out, const char *what, unsigned can, const char *path,
                          const struct shoal_save_opts *opts);

/* ---- columns.c: the columns that a model learned from; NULL: there are none ---- */

void report_model_columns(const struct shoal_reporter *to, const struct shoal_columns *c);

/* ---- classes.c: the report of a classifier of n classes ---- */

/* Writes the name of class i. */
typedef void class_namer(const void *ctx, size_t i, char *name, size_t cap);

/* Of class i, said to be of class j. */
shoal_status report_confusion(const struct shoal_reporter *to, const struct classes *c, size_t n,
                              class_namer *name, const void *ctx);
/* Precision, recall and F1 of each. */
void report_classes(const struct shoal_reporter *to, const struct classes *c, size_t n,
                    class_namer *name, const void *ctx);

#endif
