/* shoal/columns.h: columns of a table, a part of shoal.h, which includes it.
 *
 * What this is: how tables of text are read (CSV and its relatives), and what was found: of
 * each column its name, its kind, and what numbers or values it holds. A model that learned
 * from a table keeps its columns, so that other tables are read alike.
 * Who owns what: columns belong to the data or the model that gives them, those of
 * shoal_columns_open to the caller. Strings in options are borrowed for the call.
 * Threads: columns are immutable. */
#ifndef SHOAL_COLUMNS_PART_H
#define SHOAL_COLUMNS_PART_H

#include <shoal.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- How a table is read ---------------------------------------------------------
 * Fields between commas, semicolons, tabs or bars, with double quotes around them as RFC 4180
 * has it; which, is found out, and so are the line of names and the kind of each column.
 * Columns are named by their names, or by their numbers from 1; lists have commas between, and
 * names with a comma double quotes around them. */

enum shoal_header { SHOAL_HEADER_AUTO, SHOAL_HEADER_YES, SHOAL_HEADER_NO };

struct shoal_table_opts {
    enum shoal_header header;
    const char *label;    /* the column of labels, or of the first target; NULL: by its name
                           * (label, class, target, y, click, ...), else the last or the first */
    const char *numeric;  /* these columns are numbers; "-": none is; NULL: by what they hold */
    const char *category; /* these are categories; "*": all that are not named otherwise */
    const char *ignore;   /* these are left out */
    const char *missing;  /* texts that stand for no value, beside the empty field; NULL: NA,
                           * N/A, NaN, null, None, ? and the like */
    bool raw;             /* numbers as they are: neither scaled nor cut at the extremes */
};

/* ---- What a table holds --------------------------------------------------------------- */

enum shoal_column_kind {
    SHOAL_COLUMN_NUMBER,
    SHOAL_COLUMN_CATEGORY,
    SHOAL_COLUMN_LABEL,
    SHOAL_COLUMN_ID,      /* nearly all values differ: left out */
    SHOAL_COLUMN_IGNORED, /* left out by an option, or since it holds nothing */
};

struct shoal_column_facts {
    const char *name;
    enum shoal_column_kind kind;
    const char *why;    /* it is left out: "nearly all different"; or NULL */
    uint64_t missing;   /* fields without a value, of the rows that were looked at */
    uint64_t different; /* values among them */
    double min, max;    /* of numbers; NaN: there is none */
    double mean, sd;    /* by which they are scaled */
    size_t values;      /* kept, commonest first: shoal_columns_value */
};

typedef struct shoal_columns shoal_columns;

/* Those of a file of ours, of rows or a model, to be ended by shoal_columns_free; *out is NULL
 * where it has none. */
SHOAL_API shoal_status shoal_columns_open(shoal_columns **out, const char *path);
SHOAL_API void shoal_columns_free(shoal_columns *c);

SHOAL_API size_t shoal_columns_count(const shoal_columns *c);
/* i < shoal_columns_count */
SHOAL_API struct shoal_column_facts shoal_columns_facts(const shoal_columns *c, size_t i);
/* Value number k of column i, with how often it stood in the rows looked at; NULL: there is none.
 */
SHOAL_API const char *shoal_columns_value(const shoal_columns *c, size_t i, size_t k,
                                          uint64_t *count);
/* Rows that were looked at; *all: these are all there are. */
SHOAL_API uint64_t shoal_columns_rows(const shoal_columns *c, bool *all);
/* ',' ';' '\t' or '|'; *header: the first line has the names. */
SHOAL_API char shoal_columns_delimiter(const shoal_columns *c, bool *header);
/* "number", "category", "label", "id", "ignored" */
SHOAL_API const char *shoal_column_kind_name(enum shoal_column_kind kind);

/* ---- A table to try things on -----------------------------------------------------------
 * People: numbers, categories, missing fields, an id and a column that means nothing; who bought is
 * drawn by planted weights. Row i depends on the seed and i alone. */

struct shoal_gen_people_opts {
    uint64_t rows;
    uint64_t first; /* the number of the first one */
    uint64_t seed;
};

struct shoal_gen_people_stats {
    uint64_t rows, positives;
    double entropy; /* mean over rows of -p log p - (1-p) log(1-p): the best to be expected */
    double logloss; /* of the true probabilities on these very labels */
};

SHOAL_API struct shoal_gen_people_opts shoal_gen_people_default(void);
/* CSV with a line of names. Same options, same bytes. "-" is standard output. */
SHOAL_API shoal_status shoal_gen_people(const char *path, const struct shoal_gen_people_opts *opts,
                                        struct shoal_gen_people_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
