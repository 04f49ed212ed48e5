/* columns: tables of text, and what their columns are.
 *
 * What this is: the dialect of a table (what stands between fields, whether the first line has
 * names), its records and fields, and its columns: names, kinds, scales and values, found from
 * a sample of the text, kept in the files of models, and matched with the names of other tables.
 *
 *     inputs, text --columns_learn--> struct shoal_columns --columns_match--> who stands where
 *                   a sample                                               in another table
 *     record_end -> field_next -> column_number, column_value
 *
 * Rows of features (sparse) and tables of numbers (samples) are both made of fields by these
 * rules; each makes of a field what it needs.
 *
 * Who owns what: columns own all they point to; a matching and fields borrow.
 * Threads: columns are immutable once learned or loaded. */
#ifndef SHOAL_COLUMNS_H
#define SHOAL_COLUMNS_H

#include <shoal.h>

#include "base/base.h"
#include "file/file.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* ---- record.c: records and fields ------------------------------------------------------ */

#define FIELD_PAD 64u /* bytes that may be read behind a text */

/* How the text is cut. */
struct dialect {
    char delimiter; /* ',' ';' '\t' or '|' */
    bool quotes;    /* double quotes enclose fields; else they are bytes like others */
    bool header;    /* the first record has the names */
};

/* Bit i: byte i of 16 is c. */
static inline unsigned bytes16_equal(const char *at, char c)
{
#if defined(__SSE2__)
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)at);

    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8(c)));
#else
    unsigned mask = 0;

    for (unsigned i = 0; i < 16; i++)
        mask |= (unsigned)(at[i] == c) << i;
    return mask;
#endif
}

/* A record ends at the first newline outside of quotes: there, or at `end` when there is none.
 * *inside says whether `at` is within quotes, and then whether the result is. */
const char *record_end(const struct dialect *d, const char *at, const char *end, bool *inside);
/* Behind the last record's end, or `at` when none ends here. */
const char *record_last_end(const struct dialect *d, const char *at, const char *end, bool *inside);
/* The end of a record without the carriage return before its newline. */
static inline const char *record_text_end(const char *at, const char *end)
{
    return end > at && end[-1] == '\r' ? end - 1 : end;
}

/* The field between quotes that begins at `at`, without them and with doubled ones as one, for
 * which `room` has space for all of the record; NULL when something else follows it than a
 * delimiter. */
const char *field_quoted(const struct dialect *d, struct bytes *room, const char *at,
                         const char *end, struct span *out);

/* The field at `at`, without blanks around it, and where it ends: at a delimiter or `end`. NULL
 * when its quotes are wrong. */
static inline const char *field_next(const struct dialect *d, struct bytes *room, const char *at,
                                     const char *end, struct span *out)
{
    char delimiter = d->delimiter, quote = d->quotes ? '"' : delimiter;
    const char *begin;
    unsigned mask = 0;

    while (at < end && is_blank(*at) && *at != delimiter)
        at++;
    if (at < end && *at == '"' && d->quotes)
        return field_quoted(d, room, at, end, out);
    begin = at;
    while (at < end && (mask = bytes16_equal(at, delimiter) | bytes16_equal(at, quote)) == 0)
        at += 16;
    at = at < end ? at + __builtin_ctz(mask) : end;
    at = at < end ? at : end;
    if (at < end && *at != delimiter)
        return NULL;
    *out = (struct span){begin, (uint32_t)(at - begin)};
    while (out->len > 0 && is_blank(out->at[out->len - 1]))
        out->len--;
    return at;
}

/* Whether a record holds nothing but blanks, as an empty line does. */
static inline bool record_is_blank(const struct dialect *d, const char *at, const char *end)
{
    while (at < end && is_blank(*at) && *at != d->delimiter)
        at++;
    return at == end;
}

/* ---- names.c -------------------------------------------------------------------------------- */

/* Names of n columns from the fields of a line: one that is empty becomes column3, of two that are
 * the same the second a.1, as pandas has it. To be ended by names_free. */
shoal_status names_make(char ***out, const struct span *f, size_t n);
void names_free(char **name, size_t n);

/* ---- columns.c ------------------------------------------------------------------------------ */

#define COLUMNS_MAX ((size_t)1 << 20)
enum {
    COLUMN_VALUES = 256, /* of a category that are kept, at most */
    COLUMN_PLACES = 1024,
    COLUMN_BINS = 255, /* that numbers are cut into, at most */
    COLUMN_TEXT = 256, /* bytes of a value that is kept, at most */
};

struct column_value {
    char *text;
    uint64_t count;
};

struct column {
    char *name;
    size_t len;
    enum shoal_column_kind kind;
    const char *why; /* it is left out; or NULL. Constant */
    bool whole;      /* its numbers are whole numbers */
    bool comma;      /* their point is a comma */
    uint64_t missing, different;
    double min, max;
    double mean, sd;            /* of numbers cut at lo and hi; sd 0: they do not vary */
    double lo, hi;              /* numbers beyond are taken for these */
    bool skewed;                /* most are small and a few large: their logarithm tells more, */
    double shift;               /* that of x + shift, */
    double log_mean, log_sd;    /* scaled by these */
    struct column_value *value; /* [values] of a category or label, commonest first */
    size_t values;
    uint16_t *place; /* [COLUMN_PLACES] 1 + the number of a value, by its hash; or 0 */
    double *edge;    /* [edges] increasing: number x is in bin k when k of them are <= x */
    size_t edges;
};

struct shoal_columns {
    struct dialect dialect;
    struct column *at; /* [n] */
    size_t n, cap;
    size_t label;         /* the first whose kind it is; SIZE_MAX: there is none */
    uint64_t rows;        /* looked at */
    bool all;             /* of all there are */
    bool raw;             /* numbers are neither scaled nor cut */
    struct bytes missing; /* what stands for no value, each ended by a NUL */
    bool may_miss[256];   /* one of these begins so */
    uint32_t *named;      /* [names] 1 + a column, by the hash of its name; or 0 */
    size_t names;         /* a power of 2 */
};

/* Another text that stands for no value. */
shoal_status columns_add_missing(struct shoal_columns *c, const char *text, size_t len);
/* At the end of making them: what is needed to ask fast. */
shoal_status columns_finish(struct shoal_columns *c);
void columns_free(struct shoal_columns *c);
shoal_status columns_copy(struct shoal_columns **out, const struct shoal_columns *c);

bool column_is_listed_missing(const struct shoal_columns *c, struct span f);
/* Whether the field is one of those that stand for no value. */
static inline bool column_is_missing(const struct shoal_columns *c, struct span f)
{
    return f.len == 0 || (c->may_miss[(unsigned char)*f.at] && column_is_listed_missing(c, f));
}
/* Whether it stands for no label. Of the texts that stand for no value those that may be classes
 * do not: - ? . and None. */
bool column_is_unlabelled(const struct shoal_columns *c, struct span f);
/* As a linear model sees it: cut, centred and divided by the standard deviation. */
static inline float column_scaled(const struct shoal_columns *of, const struct column *c, double x)
{
    if (of->raw)
        return (float)x;
    x = x < c->lo ? c->lo : x > c->hi ? c->hi : x;
    return c->sd > 0 ? (float)((x - c->mean) / c->sd) : 0;
}

/* Of a skewed column, the same of the logarithm. */
float column_scaled_log(const struct column *c, double x);

static inline double column_cut(const struct shoal_columns *of, const struct column *c, double x)
{
    return of->raw ? x : x < c->lo ? c->lo : x > c->hi ? c->hi : x;
}
/* Which bin it is in, 0 to edges. */
size_t column_bin(const struct column *c, double x);
/* Which of the values it is; SIZE_MAX: none of those that are kept. */
size_t column_value_of(const struct column *c, struct span f);
/* The column of that name or, where no column has it, of that number from 1; SIZE_MAX: none. */
size_t columns_find(const struct shoal_columns *c, const char *name, size_t len);
size_t columns_find_exactly(const struct shoal_columns *c, const char *name, size_t len);
/* Small and capital letters (of ASCII) alike, if that is one column. */
size_t columns_find_loosely(const struct shoal_columns *c, const char *name, size_t len);
/* After the names are there, before others ask for them. */
shoal_status columns_index(struct shoal_columns *c);

/* What of numbers is kept: the range, where they are cut, mean and standard deviation. x [n] is
 * sorted afterwards. */
void column_measure(struct column *c, double *x, size_t n);

/* ---- numbers.c ------------------------------------------------------------------------------ */

/* The number that a field says, be it 1,234.50 or $5 or 12 %: false when it says none, or one that
 * is not finite. */
bool column_number(const struct column *c, struct span f, double *x);

/* ---- label.c: labels as texts ------------------------------------------------------------ */

enum { LABEL_TEXT = 256 }; /* bytes of one, with its NUL */

/* The one spelling of a label, as far as it fits: numbers have but one, so that 1.0, +1 and 1 are
 * one label. Gives the number, or NaN when it is none. */
double label_spell(char out[LABEL_TEXT], const char *at, size_t len);
/* By strcmp's rules: numbers by their size, before texts by their bytes. */
int label_order(const char *a, const char *b);

/* ---- preview.c, dialect.c, kinds.c: from text ---------------------------------------------- */

/* Bytes of text that are looked at, at most; of a wide table enough for some hundred rows, up to
 * the other. */
#define COLUMNS_PREVIEW ((size_t)2 << 20)
#define COLUMNS_LOOK_WIDE ((size_t)64 << 20)

/* What is asked beside the options. */
struct columns_ask {
    const struct shoal_table_opts *opts;
    enum { LABEL_FIRST, LABEL_LAST } label; /* where it is when no name tells, nor what it holds */
    unsigned classes; /* that it tells apart: 2, or at most so many; 0: it is a number */
    size_t targets;   /* columns from the label's on that are labels too; 0: as 1 */
    bool unlabelled;  /* there may be no label */
    unsigned bins;    /* numbers are cut into so many; 0: they are not */
    const char *path; /* of the text, for sentences */
};

/* What a sample of the inputs says; or of the text `head` [len], FIELD_PAD bytes behind which may
 * be read, when `in` is NULL or can be read only once; `whole` when that is all of it. */
shoal_status columns_learn(struct shoal_columns **out, const struct columns_ask *ask,
                           const struct inputs *in, const char *head, size_t len, bool whole);

/* ---- match.c: another table --------------------------------------------------------------- */

/* Which column stands where in another table. */
struct matching {
    struct dialect dialect;
    uint32_t *column;    /* [n] of the columns; MATCH_NONE: one that is not known, or not needed */
    size_t n;            /* fields of a record */
    bool labelled;       /* the label is among them */
    struct bytes header; /* the line of names; empty: there is none */
};
enum { MATCH_NONE = UINT32_MAX };

/* A table, and how it may differ. */
struct match_ask {
    const char *path;
    const char *head; /* [len] its beginning, FIELD_PAD bytes behind which may be read */
    size_t len;
    bool whole; /* that is all of it */
    enum shoal_header header;
    const char *label; /* its name or number in this table; NULL: as it was learned */
    bool unlabelled;   /* it may lack */
};

/* By the names of the first record; or, where these are no names, by the order of the columns. */
shoal_status columns_match(struct matching *out, const struct shoal_columns *c,
                           const struct match_ask *ask);
void matching_fini(struct matching *m);

/* ---- file.c: kept with a model -------------------------------------------------------------- */

/* The section "columns" of a container. */
shoal_status columns_save(const struct shoal_columns *c, struct container_writer *w);
/* NULL: the container has none. */
shoal_status columns_load(struct shoal_columns **out, const struct container *c);
/* The same of the section's bytes. */
shoal_status columns_write(const struct shoal_columns *c, struct bytes *out);
shoal_status columns_read(struct shoal_columns **out, const char *who, const char *text,
                          size_t len);

#endif
