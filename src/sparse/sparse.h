/* sparse: rows of sparse features with labels; a part of the door data.h. The public side
 * is in shoal/clicks.h.
 *
 * Who owns what: a view lies in its clicks, rows of a stream in the stream.
 * Threads: clicks are immutable once opened; a stream belongs to one thread. */
#ifndef SHOAL_SPARSE_H
#define SHOAL_SPARSE_H

#include <shoal.h>

#include "base/base.h"
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
    const uint64_t *count; /* [features] in the rows that were counted */
};

const struct clicks_view *clicks_view(const shoal_clicks *c);

/* How rows are read, so that a model may read others alike: lines of "meta". Strings
 * of *opts are then owned by *strings, for free(). */
shoal_status clicks_opts_save(struct bytes *meta, const struct shoal_clicks_opts *opts);
shoal_status clicks_opts_load(struct shoal_clicks_opts *opts, char **strings,
                              const struct container *c);

/* ---- clicks_stream.c: the same rows from text, block by block -------------------------------- */

#define CLICKS_NO_LABEL 255u

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

/* ---- clicks_slot.c: features by name -----------------------------------------------------------
 */

/* The slot that the reader of a format gives a feature without a namespace: of libsvm by
 * its index, of Vowpal Wabbit by its name. Fails for a name that could not stand in text
 * of that format, and for the other formats. */
shoal_status click_slot(uint32_t *slot, const struct shoal_clicks_opts *opts, const char *name,
                        size_t len);

#endif
