/* fields: a row of a table as a request has it; not a door.
 *
 * What this is: {"age": 39, "city": "Rome"}, [39, "Rome"], numbers or a line of text, each by the
 * columns of the model that learned from a table.
 * Who owns what: fields own their numbers' text, and point into the request otherwise.
 * Threads: one. */
#ifndef SHOAL_SERVE_FIELDS_H
#define SHOAL_SERVE_FIELDS_H

#include "columns/columns.h"
#include "serve/budget.h"

struct fields {
    struct span *at;   /* [columns] of length 0 where there is no value */
    char *text;        /* of numbers */
    char *line;        /* that the fields point into, of whoever read it; or NULL */
    struct bytes room; /* of fields with doubled quotes */
    size_t cost;       /* what was charged */
};

/* Whether the columns that are used are numbers, each of which is one input. */
bool fields_are_numbers(const struct shoal_columns *c);

/* Room for a row, charged to q. */
shoal_status fields_init(struct fields *f, const struct shoal_columns *c, struct request *q);
void fields_fini(struct fields *f, struct request *q);

/* An object by names, of which none may be unknown; a list by the order of the columns, with those
 * that are left out and the label, without the label, or of those that are used alone. */
shoal_status fields_json(struct fields *f, const struct shoal_columns *c, const struct tree *t);
/* The same of n values that have names. */
struct instance_field;
shoal_status fields_named(struct fields *f, const struct shoal_columns *c,
                          const struct instance_field *in, size_t n);
/* The same of n numbers. */
shoal_status fields_numbers(struct fields *f, const struct shoal_columns *c, const float *x,
                            size_t n);
/* Whether columns of numbers have numbers, or nothing: a file may have a stray word here and there,
 * but who asks for one row wants to know. */
shoal_status fields_check(const struct fields *f, const struct shoal_columns *c);
/* A line, or two of which the first has the names. FIELD_PAD bytes behind it may be read. */
shoal_status fields_line(struct fields *f, const struct shoal_columns *c, const char *at,
                         size_t len);

#endif
