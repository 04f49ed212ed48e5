/* A row of a table as a request has it. */
#include "serve/models/fields.h"

#include "serve/models/servable.h"

#include <stdlib.h>

enum { NUMBER = 40 }; /* bytes of a number's text */

static bool is_used(const struct column *c)
{
    return c->kind == SHOAL_COLUMN_NUMBER || c->kind == SHOAL_COLUMN_CATEGORY;
}

bool fields_are_numbers(const struct shoal_columns *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->at[i].kind == SHOAL_COLUMN_CATEGORY ||
            (c->at[i].kind == SHOAL_COLUMN_NUMBER && c->at[i].missing > 0))
            return false;
    return true;
}

shoal_status fields_init(struct fields *f, const struct shoal_columns *c, struct request *q)
{
    size_t cost = c->n * (sizeof *f->at + NUMBER);
    shoal_status st = request_charge(q, cost);

    *f = (struct fields){0};
    if (st != SHOAL_OK)
        return st;
    f->cost = cost;
    f->at = mem_array(c->n, sizeof *f->at);
    f->text = mem_array(c->n, NUMBER);
    if (f->at && f->text)
        return SHOAL_OK;
    fields_fini(f, q);
    return SHOAL_ENOMEM;
}

void fields_fini(struct fields *f, struct request *q)
{
    free(f->at);
    free(f->text);
    free(f->line);
    bytes_fini(&f->room);
    request_refund(q, f->cost);
    *f = (struct fields){0};
}

shoal_status fields_check(const struct fields *f, const struct shoal_columns *c)
{
    double x;

    for (size_t i = 0; i < c->n; i++)
        if (c->at[i].kind == SHOAL_COLUMN_NUMBER && !column_is_missing(c, f->at[i]) &&
            !column_number(&c->at[i], f->at[i], &x))
            return shoal_fail(SHOAL_EINVAL, "found \"%.*s\" for column '%.40s', want a number",
                              f->at[i].len < 24 ? (int)f->at[i].len : 24, f->at[i].at,
                              c->at[i].name);
    return SHOAL_OK;
}

/* ---- JSON ---- */

static void set_number(struct fields *f, size_t column, double x)
{
    char *text = f->text + column * NUMBER;

    number_exact(text, NUMBER, x);
    f->at[column] = (struct span){text, (uint32_t)strlen(text)};
}

static shoal_status set_value(struct fields *f, const struct shoal_columns *c, size_t column,
                              const struct tree *value)
{
    switch (tree_kind(value)) {
    case TREE_NULL:
        f->at[column] = (struct span){"", 0};
        return SHOAL_OK;
    case TREE_NUMBER:
        set_number(f, column, tree_number(value));
        return SHOAL_OK;
    case TREE_TEXT:
        f->at[column] = (struct span){tree_text(value), (uint32_t)tree_len(value)};
        return SHOAL_OK;
    case TREE_FLAG:
        f->at[column] = tree_true(value) ? (struct span){"true", 4} : (struct span){"false", 5};
        return SHOAL_OK;
    default:
        return shoal_fail(SHOAL_EINVAL,
                          "found a list or an object for column '%.40s', want a "
                          "number or text",
                          c->at[column].name);
    }
}

struct naming {
    struct fields *f;
    const struct shoal_columns *c;
};

static shoal_status find_column(const struct shoal_columns *c, const char *name, size_t *column)
{
    *column = columns_find(c, name, strlen(name));
    if (*column != SIZE_MAX)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL,
                      "found no column '%.40s', want one of the %zu that the model learned from",
                      name, c->n);
}

static shoal_status take_member(void *ctx, const char *key, const struct tree *value)
{
    struct naming *n = ctx;
    size_t column;
    shoal_status st = find_column(n->c, key, &column);

    return st == SHOAL_OK ? set_value(n->f, n->c, column, value) : st;
}

shoal_status fields_named(struct fields *f, const struct shoal_columns *c,
                          const struct instance_field *in, size_t n)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        size_t column;

        st = find_column(c, in[i].name, &column);
        if (st == SHOAL_OK && in[i].json)
            st = set_value(f, c, column, in[i].json);
        else if (st == SHOAL_OK && in[i].text && in[i].len > UINT32_MAX / 2)
            st = shoal_fail(SHOAL_EINVAL, "found %zu bytes for a column, want fewer", in[i].len);
        else if (st == SHOAL_OK && in[i].text)
            f->at[column] = (struct span){in[i].text, (uint32_t)in[i].len};
        else if (st == SHOAL_OK)
            set_number(f, column, in[i].number);
    }
    return st;
}

/* Which columns a list of n values is of: all, all but labels, or those that are used. */
enum listed { LISTED_ALL, LISTED_UNLABELLED, LISTED_USED, LISTED_NONE };

static enum listed listed_of(const struct shoal_columns *c, size_t n, size_t *used)
{
    size_t unlabelled = 0;

    *used = 0;
    for (size_t i = 0; i < c->n; i++) {
        *used += is_used(&c->at[i]);
        unlabelled += c->at[i].kind != SHOAL_COLUMN_LABEL;
    }
    return n == *used        ? LISTED_USED
           : n == unlabelled ? LISTED_UNLABELLED
           : n == c->n       ? LISTED_ALL
                             : LISTED_NONE;
}

/* The next such column, from *next on. */
static size_t next_column(const struct shoal_columns *c, enum listed how, size_t *next)
{
    while ((how == LISTED_USED && !is_used(&c->at[*next])) ||
           (how == LISTED_UNLABELLED && c->at[*next].kind == SHOAL_COLUMN_LABEL))
        ++*next;
    return (*next)++;
}

static shoal_status find_listed(const struct shoal_columns *c, size_t n, enum listed *how)
{
    size_t used;

    *how = listed_of(c, n, &used);
    return *how != LISTED_NONE
               ? SHOAL_OK
               : shoal_fail(SHOAL_EINVAL, "found %zu values, want %zu, one of each column", n,
                            used);
}

shoal_status fields_json(struct fields *f, const struct shoal_columns *c, const struct tree *t)
{
    struct naming naming = {f, c};
    size_t n = tree_len(t), next = 0;
    enum listed how;
    shoal_status st;

    if (tree_kind(t) == TREE_OBJECT && n == 0)
        return shoal_fail(SHOAL_EINVAL, "found an object without columns, want a row");
    if (tree_kind(t) == TREE_OBJECT)
        return tree_each(t, take_member, &naming);
    if (tree_kind(t) != TREE_LIST)
        return shoal_fail(SHOAL_EINVAL,
                          "found neither an object of columns nor a list, want a row");
    st = find_listed(c, n, &how);
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = set_value(f, c, next_column(c, how, &next), tree_at(t, i));
    return st;
}

shoal_status fields_numbers(struct fields *f, const struct shoal_columns *c, const float *x,
                            size_t n)
{
    size_t next = 0;
    enum listed how;
    shoal_status st = find_listed(c, n, &how);

    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        set_number(f, next_column(c, how, &next), (double)x[i]);
    return st;
}

/* ---- text ---- */

/* The fields of the row at `at`, where they belong. */
static shoal_status take_fields(struct fields *f, const struct matching *m, const char *at,
                                const char *end)
{
    size_t i = 0;

    for (; i < m->n && at <= end; i++, at++) {
        struct span one;

        at = field_next(&m->dialect, &f->room, at, end, &one);
        if (!at)
            return shoal_fail(SHOAL_EINVAL, "found a quote at a wrong place, want quotes around "
                                            "whole fields");
        if (m->column[i] != MATCH_NONE)
            f->at[m->column[i]] = one;
    }
    return i == m->n && at > end ? SHOAL_OK
                                 : shoal_fail(SHOAL_EINVAL,
                                              "found %s than %zu columns, want that "
                                              "many",
                                              i < m->n ? "fewer" : "more", m->n);
}

/* The next record that is not blank, from *at on; false: there is none. */
static bool next_row(const struct dialect *d, const char **at, const char *end, const char **stop)
{
    const char *line = NULL, *from = *at;
    bool blank = true;

    for (; from < end && blank; from = line + 1) {
        bool inside = false;

        *at = from;
        line = record_end(d, from, end, &inside);
        *stop = record_text_end(from, line);
        blank = record_is_blank(d, from, *stop);
    }
    return !blank;
}

/* A row, below a line of names or not. */
static shoal_status take_row(struct fields *f, const struct matching *m, const char *at,
                             const char *end)
{
    const char *stop = at, *next;

    if (m->header.len > 0 && next_row(&m->dialect, &at, end, &stop))
        at = stop < end ? stop + 1 : end;
    if (!next_row(&m->dialect, &at, end, &stop))
        return shoal_fail(SHOAL_EINVAL, "found names of columns alone, want a row below them");
    next = stop;
    if (next < end && next_row(&m->dialect, &next, end, &(const char *){NULL}))
        return shoal_fail(SHOAL_EINVAL, "found several rows, want one, or a list of them in JSON");
    return take_fields(f, m, at, stop);
}

shoal_status fields_line(struct fields *f, const struct shoal_columns *c, const char *at,
                         size_t len)
{
    size_t mark = len >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* of byte order */
    struct match_ask ask = {
        .path = "body", .head = at + mark, .len = len - mark, .whole = true, .unlabelled = true};
    struct matching m;
    shoal_status st = columns_match(&m, c, &ask);

    if (st != SHOAL_OK)
        return st;
    st = bytes_reserve(&f->room, len + FIELD_PAD);
    if (st == SHOAL_OK)
        st = take_row(f, &m, at + mark, at + len);
    matching_fini(&m);
    return st;
}
