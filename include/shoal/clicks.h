/* shoal/clicks.h: click data, a part of shoal.h, which includes it.
 *
 * What this is: rows of sparse features with a label, of two values or many, read from
 * text in four formats (docs/clicks.md), hashed into 2^bits slots and kept in a
 * mapped file, whose ids are numbered hottest first; and made-up clicks, of which
 * the best reachable log-loss is known.
 * Who owns what: shoal_clicks_open and shoal_clicks_read give an object that
 * shoal_clicks_close ends. Strings in options are borrowed for the call.
 * Threads: one call is driven by one thread, which starts and joins the others.
 * What was opened is immutable, and may be read by all. */
#ifndef SHOAL_CLICKS_PART_H
#define SHOAL_CLICKS_PART_H

#include <shoal.h>
#include <shoal/columns.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Clicks in -------------------------------------------------------------
 * Inputs are as for text: files, folders, globs, "-"; gzip, zstd, bzip2 and xz by
 * content. */

enum shoal_clicks_format {
    SHOAL_CLICKS_AUTO,   /* by the first line */
    SHOAL_CLICKS_LIBSVM, /* label index:value ... */
    SHOAL_CLICKS_VW,     /* Vowpal Wabbit: label importance 'tag|space feature:value ... */
    SHOAL_CLICKS_CRITEO, /* label, 13 integers and 26 categories, between tabs */
    SHOAL_CLICKS_CSV,    /* a table: fields between commas, semicolons, tabs or bars */
};

#define SHOAL_CLICKS_CLASSES 254 /* at most: so many different labels */
#define SHOAL_CLICKS_LINE_MAX ((size_t)4 << 20) /* bytes; a longer line is a bad one */
#define SHOAL_CLICKS_SHOWN 5                    /* of the bad lines that were skipped */
#define SHOAL_CLICKS_SENTENCE 256

#define SHOAL_CLICKS_EXAMPLES 100

struct shoal_clicks_opts {
    enum shoal_clicks_format format;
    unsigned bits;         /* 1 .. 30: features are hashed into 2^bits slots */
    bool classes;          /* there may be many different labels; else two */
    const char *positive;  /* of two labels the one that is class 1; NULL: the greater one, of
                            * numbers by their size, of texts by their bytes */
    bool scale;            /* divide each feature of libsvm and Vowpal Wabbit's by the root mean
                            * square of its values */
    struct shoal_table_opts table; /* CSV */
    unsigned bins;         /* CSV: numbers become categories, cut by quantiles into so many; 0:
                            * they are scaled to mean 0 and variance 1 */
    const shoal_columns *columns;  /* CSV: as other data or a model has them; NULL: found */
    const char *const *labels;     /* [nlabels] those there may be, by class; NULL: found */
    unsigned nlabels;
    bool plain;            /* libsvm: index i is slot i and not hashed; one that is not below 2^bits
                            * has no slot, and is left out */
    unsigned examples;     /* keep the text of so many rows, drawn from all of them, at most
                            * SHOAL_CLICKS_EXAMPLES: whoever has the rows or a model of them can
                            * read it; 0: none */
    uint64_t skip_bad;     /* so many malformed lines are left out; one more fails */
    uint64_t memory;       /* bytes for rows on their way to the file; beyond, to disk */
    uint64_t memory_limit; /* refuse to need more; 0: what the machine has free */
    unsigned threads;      /* 0: one for each core */
    const char *tmp_dir;   /* for what does not fit; NULL: beside the output */
    struct shoal_watch watch;
};

struct shoal_clicks_plan { /* what encoding will need, known before it starts */
    uint64_t input_bytes;  /* on disk; of pipes nothing is known */
    bool streamed;         /* some input can be read only once */
    uint64_t buffer_bytes; /* reading, all threads */
    uint64_t table_bytes;  /* counting and numbering 2^bits slots, and names */
    uint64_t row_bytes;    /* rows on their way, at most */
    uint64_t memory_bytes; /* the sum */
    uint64_t memory_free;  /* what may be used */
    uint64_t disk_bytes;   /* about what the output takes; 0: unknown */
    uint64_t disk_free;    /* where the output goes */
};

struct shoal_clicks_stats {
    enum shoal_clicks_format format;
    uint64_t bytes; /* after decompression */
    uint64_t files, lines;
    uint64_t rows, positives;                            /* positives: of class 1 */
    unsigned classes;                                    /* different labels, at least 2 */
    uint64_t values;                                     /* features of all rows */
    uint64_t features;                                   /* different ones: slots that occur */
    uint64_t bad_lines;                                  /* left out (skip_bad) */
    char bad[SHOAL_CLICKS_SHOWN][SHOAL_CLICKS_SENTENCE]; /* the first of them, "file:line: why" */
    char large[64];   /* a feature whose values are far larger than the others'; "": none is */
    double largest, usual; /* its greatest value; and the middle one of all */
    uint64_t spilled; /* bytes of rows that went through the disk */
    uint64_t file_bytes;
    double read_seconds, write_seconds;
};

SHOAL_API struct shoal_clicks_opts shoal_clicks_default(void);
SHOAL_API shoal_status shoal_clicks_check(const struct shoal_clicks_opts *opts);
/* "libsvm" for SHOAL_CLICKS_LIBSVM; "?" for a number that is no format. */
SHOAL_API const char *shoal_clicks_format_name(enum shoal_clicks_format format);
SHOAL_API shoal_status shoal_clicks_plan(struct shoal_clicks_plan *plan, const char *path,
                                         const char *const *inputs, size_t ninputs,
                                         const struct shoal_clicks_opts *opts);
/* Makes the plan, refuses what cannot fit, reads every input once and renames the
 * finished file to `path`; on failure nothing is left there. The bytes do not depend
 * on the threads. A malformed line fails with SHOAL_EFORMAT, file and line number. */
SHOAL_API shoal_status shoal_clicks_encode(const char *path, const char *const *inputs,
                                           size_t ninputs, const struct shoal_clicks_opts *opts,
                                           struct shoal_clicks_stats *stats);

/* ---- Encoded clicks ---------------------------------------------------------- */

typedef struct shoal_clicks shoal_clicks;

/* Maps the file and checks every byte of it. */
SHOAL_API shoal_status shoal_clicks_open(shoal_clicks **out, const char *path);
/* The same of a copy of the file's bytes. */
SHOAL_API shoal_status shoal_clicks_open_memory(shoal_clicks **out,
                                                const struct shoal_memory *file);
/* The same rows, ids and names as through a file, in memory; rows that take more
 * than memory_limit are refused. */
SHOAL_API shoal_status shoal_clicks_read(shoal_clicks **out, const char *const *inputs,
                                         size_t ninputs, const struct shoal_clicks_opts *opts,
                                         struct shoal_clicks_stats *stats);
SHOAL_API shoal_status shoal_clicks_read_memory(shoal_clicks **out,
                                                const struct shoal_memory *inputs, size_t ninputs,
                                                const struct shoal_clicks_opts *opts,
                                                struct shoal_clicks_stats *stats);

/* Rows of numbers in memory, borrowed for a call and read where they lie: a sparse matrix in rows
 * (SciPy's CSR), or a dense one. Sizes and columns are checked before they are used. */
struct shoal_rows {
    uint64_t rows, columns;
    const void *start;  /* [rows + 1] where each row begins in `column` and `value`, from 0 on;
                         * NULL: dense, value [rows][columns] */
    const void *column; /* [start[rows]] below `columns` */
    const void *value;  /* the same; NULL of a sparse one: all are 1 */
    bool wide_places;   /* start and column are int64_t, else int32_t */
    bool wide_values;   /* values are double, else float */
};

/* Clicks of such rows: column i is feature i, as of libsvm's text, but it has a slot of its own.
 * label [rows] has classes; weight [rows] may be NULL: all are 1. Of opts count `classes`, `scale`,
 * `labels` (the names of the classes, all of them; NULL: numbers from 0 to the largest there is)
 * and `memory_limit`. A value that is no finite float and a column that is not there fail, with
 * the row. */
SHOAL_API shoal_status shoal_clicks_new(shoal_clicks **out, const struct shoal_rows *x,
                                        const uint32_t *label, const float *weight,
                                        const struct shoal_clicks_opts *opts);
SHOAL_API void shoal_clicks_close(shoal_clicks *clicks);

struct shoal_clicks_counts {
    uint64_t rows, positives;   /* positives: of class 1 */
    uint64_t values, bad_lines; /* features of all rows; lines left out */
    unsigned classes;           /* different labels, at least 2 */
    uint32_t features;          /* different ones */
    bool weighted, valued;      /* some weight, some value is not 1 */
};

SHOAL_API struct shoal_clicks_counts shoal_clicks_counts(const shoal_clicks *clicks);
/* A number that stands for all of it: equal for equal rows and ids, read by the same way. */
SHOAL_API uint64_t shoal_clicks_fingerprint(const shoal_clicks *clicks);
/* How often feature id stood in the rows that were counted, which are all unless
 * there are many (docs/clicks.md); *values, unless NULL, is the sum over all ids.
 * No id has a larger count than the one before. */
SHOAL_API uint64_t shoal_clicks_count(const shoal_clicks *clicks, uint32_t id, uint64_t *values);
/* The name that the slot had when it was first seen: "C14=68fd1e64", "I3=5..6",
 * "space^feature", "17", "column=value"; NULL when it is not known. */
SHOAL_API const char *shoal_clicks_name(const shoal_clicks *clicks, uint32_t id);
/* The label of class k as it stands in the text; NULL: not known. */
SHOAL_API const char *shoal_clicks_label(const shoal_clicks *clicks, unsigned k);
/* What its columns are; NULL: it was no table. */
SHOAL_API const shoal_columns *shoal_clicks_columns(const shoal_clicks *clicks);
/* Options that read other rows by the same rules: format, bits, classes, columns and labels,
 * which live as long as `clicks`. */
SHOAL_API struct shoal_clicks_opts shoal_clicks_like(const shoal_clicks *clicks);

/* ---- Clicks to learn ---------------------------------------------------------
 * Rows like Criteo's, whose labels are drawn by a logistic model over planted
 * weights of the features that shoal reads from them. Row i depends on the seed and i
 * alone, so rows behind those of a training file are a test of the same weights. */

struct shoal_gen_clicks_opts {
    uint64_t rows;
    uint64_t first; /* the number of the first one */
    uint64_t seed;
    enum shoal_clicks_format format; /* SHOAL_CLICKS_AUTO: Criteo's */
    unsigned threads;
    struct shoal_watch watch;
};

struct shoal_gen_clicks_stats {
    uint64_t rows, positives, values, bytes;
    uint64_t weights; /* planted */
    double entropy;   /* mean over rows of -p log p - (1-p) log(1-p): the best to be expected */
    double logloss;   /* of the true probabilities on these very labels */
};

SHOAL_API struct shoal_gen_clicks_opts shoal_gen_clicks_default(void);
/* Same options, same bytes, on any number of threads. "-" is standard output. */
SHOAL_API shoal_status shoal_gen_clicks(const char *path, const struct shoal_gen_clicks_opts *opts,
                                        struct shoal_gen_clicks_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
