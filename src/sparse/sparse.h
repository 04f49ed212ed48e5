/* sparse: rows of sparse features with labels; a part of the door data.h. The public side
 * is in shoal/clicks.h.
 *
 * Who owns what: a view lies in its clicks, rows of a stream in the stream.
 * Threads: clicks are immutable once opened; a stream belongs to one thread. */
#ifndef SHOAL_SPARSE_H
#define SHOAL_SPARSE_H

#include <shoal.h>

#include "base/base.h"
#include "columns/columns.h"
#include "file/file.h"

#include <string.h>

/* ---- clicks.c: rows of clicks, as training sees them --------------------------------------- */

/* Row r has the features id[start[r]] .. id[start[r + 1] - 1], in the order of the text; an
 * id may stand in a row twice, where two features fell into one slot. Ids are numbered
 * hottest first: by count, the largest first, and equal ones by slot. All pointers lie in
 * the mapping (or in memory: shoal_clicks_read), were checked, and live until
 * shoal_clicks_close. */
struct clicks_view {
    uint64_t rows, positives, values; /* values: start[rows] */
    uint64_t counted;                 /* the sum of count */
    uint32_t features;                /* ids are below */
    unsigned bits;
    unsigned classes;      /* 2 at least */
    const uint8_t *label;  /* [rows] below classes */
    const uint64_t *start; /* [rows + 1] */
    const uint32_t *id;    /* [values] */
    const float *value;    /* [values] finite; NULL: all are 1 */
    const float *weight;   /* [rows] finite, >= 0; NULL: all are 1 */
    const uint32_t *slot;  /* [features] of id, below 2^bits */
    const float *scale;    /* [features] what values were multiplied by; NULL: 1 */
    const uint64_t *count; /* [features] in the rows that were counted */
};

const struct clicks_view *clicks_view(const shoal_clicks *c);

/* ---- format.c: how rows are read, so that a model may read others alike ------------------------ */

#define CLICKS_NO_LABEL 255u

/* Different labels, each with its number. Those that are numbers have one spelling: 1.0, +1 and 1
 * are one label. */
struct click_labels {
    struct bytes text; /* each ended by a NUL */
    unsigned n;
    uint32_t at[SHOAL_CLICKS_CLASSES];    /* where each begins */
    uint64_t line[SHOAL_CLICKS_CLASSES];  /* of a block: where it stood first */
    uint64_t count[SHOAL_CLICKS_CLASSES]; /* rows of each */
};

/* Format, bits, labels and columns, with all that the options point to. It may not be moved. */
struct clicks_reading {
    struct shoal_clicks_opts opts;
    struct shoal_columns *columns; /* of a table; or NULL */
    struct click_labels labels;
    const char *label[SHOAL_CLICKS_CLASSES]; /* [labels.n] their names */
    char *strings; /* of opts.table, of files from before there were columns; or NULL */
};

/* Its number; CLICKS_NO_LABEL: it is none of them. Of 0 and 1, -1 is 0, and the other way round. */
unsigned click_labels_known(const struct click_labels *l, const char *name);
/* The class of that label in the data; CLICKS_NO_LABEL: none. */
unsigned clicks_find_label(const shoal_clicks *c, const char *name);
/* Whether some row has it. */
bool clicks_has_label(const shoal_clicks *c, unsigned k);

/* Into one of zeros, which clicks_reading_fini ends also after a failure. */
shoal_status clicks_reading_copy(struct clicks_reading *to, const struct shoal_clicks_opts *from);
shoal_status clicks_reading_load(struct clicks_reading *r, const struct container *c);
/* Lines of the section "meta", then sections of their own. */
shoal_status clicks_reading_put(const struct shoal_clicks_opts *opts, struct bytes *meta);
shoal_status clicks_reading_save(const struct shoal_clicks_opts *opts, struct container_writer *w);
/* After columns or labels were changed: opts point to them. */
void clicks_reading_point(struct clicks_reading *r);
void clicks_reading_fini(struct clicks_reading *r);

/* ---- examples.c: rows kept as text, for forms and documents ------------------------------------ */

#define EXAMPLES_BYTES (64u << 10) /* of all of them, with the 0 behind each */

/* By default there are none: whoever has a model reads what is kept in it. */
struct row_examples {
    struct bytes text; /* each ended by a NUL, EXAMPLES_BYTES at most */
    unsigned n;
    uint32_t at[SHOAL_CLICKS_EXAMPLES]; /* where each begins */
};

static inline const char *row_example(const struct row_examples *e, unsigned i)
{
    return e->text.at + e->at[i];
}

/* Into one without any, which row_examples_fini ends also after a failure; the first `most`. */
shoal_status row_examples_copy(struct row_examples *to, const struct row_examples *from,
                               unsigned most);
/* The section "examples", unless there are none. */
shoal_status row_examples_save(const struct row_examples *e, struct container_writer *w);
shoal_status row_examples_load(struct row_examples *e, const struct container *c);
void row_examples_fini(struct row_examples *e);

const struct row_examples *clicks_examples(const shoal_clicks *c);

/* ---- stream.c: the same rows from text, block by block --------------------------------------- */

/* Rows in the order of the input, by slots, not ids. Borrowed until the next call. */
struct click_rows {
    size_t rows, values;
    const uint8_t *label;  /* [rows] the class, or CLICKS_NO_LABEL */
    const float *weight;   /* [rows]; NULL: all are 1 */
    const uint32_t *start; /* [rows + 1] into slot and value */
    const uint32_t *slot;  /* [values] */
    const float *value;    /* [values]; NULL: all are 1 */
};

struct click_stream;

/* Holds one block of text, whatever the inputs' size; pipes are read as they come.
 * With `unlabelled` a row may lack its label. */
shoal_status click_stream_open(struct click_stream **out, const struct sources *from,
                               const struct shoal_clicks_opts *opts, bool unlabelled);
/* rows->rows is 0 at the end. */
shoal_status click_stream_next(struct click_stream *s, struct click_rows *rows);
/* What was read so far; features, file_bytes and the seconds are 0. */
void click_stream_stats(const struct click_stream *s, struct shoal_clicks_stats *stats);
void click_stream_close(struct click_stream *s);

/* ---- slot.c: features by name ------------------------------------------------------------- */

#define CLICKS_NO_SLOT UINT32_MAX /* of an index that is left out: see plain */

/* The slot of a feature of libsvm, or CLICKS_NO_SLOT. */
uint32_t click_index_slot(const struct shoal_clicks_opts *opts, uint64_t index);
/* The slot that the reader of a format gives a feature without a namespace: of libsvm by
 * its index, of Vowpal Wabbit by its name; CLICKS_NO_SLOT: it is left out. Fails for a name that could not stand in text
 * of that format, and for the other formats. */
shoal_status click_slot(uint32_t *slot, const struct shoal_clicks_opts *opts, const char *name,
                        size_t len);

/* ---- matrix.c: rows that lie in memory as numbers ------------------------------------------- */

/* Whether the places are those of a matrix, and its values finite floats: then the functions below
 * may be asked of them. */
shoal_status rows_check(const struct shoal_rows *x);

/* Row r has the places *from to *to - 1. */
static inline void rows_span(const struct shoal_rows *x, uint64_t r, uint64_t *from, uint64_t *to)
{
    if (!x->start) {
        *from = r * x->columns;
        *to = *from + x->columns;
    } else if (x->wide_places) {
        *from = (uint64_t)((const int64_t *)x->start)[r];
        *to = (uint64_t)((const int64_t *)x->start)[r + 1];
    } else {
        *from = (uint64_t)((const int32_t *)x->start)[r];
        *to = (uint64_t)((const int32_t *)x->start)[r + 1];
    }
}

static inline uint64_t rows_column(const struct shoal_rows *x, uint64_t i)
{
    if (!x->start)
        return i % x->columns;
    return x->wide_places ? (uint64_t)((const int64_t *)x->column)[i]
                          : (uint64_t)((const int32_t *)x->column)[i];
}

static inline float rows_value(const struct shoal_rows *x, uint64_t i)
{
    if (!x->value)
        return 1;
    return x->wide_values ? (float)((const double *)x->value)[i] : ((const float *)x->value)[i];
}

/* ---- csv.c: a row that is fields already ------------------------------------------------------ */

/* The features of a row whose fields are field [columns], of length 0 where there is no value, into
 * slot and value [2 columns] each; gives how many. Fields are cut at 256 bytes. */
size_t click_fields_features(const struct shoal_columns *columns, unsigned bits,
                             const struct span *field, uint32_t *slot, float *value);

#endif
