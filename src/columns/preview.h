/* preview: a sample of a table, cut into fields; inside the room.
 *
 * What this is: text of some places all over the inputs, of all of it where there is little, and
 * its records as spans of their fields.
 * Who owns what: a preview owns its text; fields point into it.
 * Threads: one. */
#ifndef SHOAL_COLUMNS_PREVIEW_H
#define SHOAL_COLUMNS_PREVIEW_H

#include "columns/columns.h"

enum { PREVIEW_PLACES = 32 }; /* where text is taken from, if it is not all of it */

/* Text that follows one another in an input. */
struct preview_block {
    size_t at, len;
    bool begins, ends; /* the input does here */
};

struct preview {
    struct bytes text; /* FIELD_PAD bytes behind it may be read */
    struct preview_block *block;
    size_t blocks, cap;
    size_t most; /* bytes of text, and as many places all over as there are PREVIEW_PLACES */
    bool all;    /* of all there is */

    /* by preview_fields */
    struct bytes room;  /* of fields with doubled quotes */
    struct span *field; /* [rows][n], the line of names not among them */
    struct span *name;  /* [n] the first record, be it of names or not */
    size_t rows, n, fields_cap;
};

/* From places all over the inputs; of those that can be read only once nothing. */
shoal_status preview_inputs(struct preview *l, const struct inputs *in);
/* From a text in memory: its beginning, which is all of it when `whole`. */
shoal_status preview_head(struct preview *l, const char *head, size_t len, bool whole);
/* Cuts it. The first record is among the rows when the dialect has no header. */
shoal_status preview_fields(struct preview *l, const struct dialect *d, const char *path);
/* Whether a record f [n] is the first one again, as other inputs' lines of names are. */
bool preview_is_first(const struct preview *l, const struct span *f);
void preview_fini(struct preview *l);

/* ---- dialect.c ---- */

/* What stands between fields, and whether quotes enclose them: what cuts the first records into
 * equal numbers of fields, and into most of them. */
shoal_status dialect_find(struct dialect *out, const struct preview *l, const char *path);
/* Whether the first record has names; the preview was cut with it among the rows. */
bool dialect_has_header(const struct preview *l);

/* ---- kinds.c ---- */

/* Kinds, scales and values, of columns that have their names. */
shoal_status columns_judge(struct shoal_columns *c, const struct preview *l,
                           const struct columns_ask *ask);

#endif
