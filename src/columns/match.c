/* Another table is read by the columns of one that was learned: by its names, in whatever order
 * they stand, or by the order of the columns. */
#include "columns/columns.h"

#include <stdlib.h>

/* The first record, being matched. */
struct first {
    const struct shoal_columns *c;
    const struct match_ask *ask;
    const char *path;
    const char *at, *stop; /* its text */
    size_t label;          /* the field that --label names; SIZE_MAX: none */
    struct bytes room;
    struct span *field; /* [n] */
    size_t n, cap;
};

static shoal_status cut(struct first *f, const struct dialect *d, bool *right)
{
    const char *at = f->at;
    shoal_status st = SHOAL_OK;
    struct span one;

    f->n = f->room.len = 0;
    *right = true;
    for (; at <= f->stop && st == SHOAL_OK; at++) {
        at = field_next(d, &f->room, at, f->stop, &one);
        *right = at != NULL;
        if (!at)
            break;
        st = mem_grow(&f->field, &f->cap, f->n + 1, sizeof *f->field);
        if (st == SHOAL_OK)
            f->field[f->n++] = one;
    }
    return st;
}

static bool is_label(const struct column *c)
{
    return c->kind == SHOAL_COLUMN_LABEL;
}

static bool is_used(const struct column *c)
{
    return c->kind == SHOAL_COLUMN_NUMBER || c->kind == SHOAL_COLUMN_CATEGORY;
}

static size_t count_used(const struct shoal_columns *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++)
        n += is_used(&c->at[i]);
    return n;
}

static size_t count_labels(const struct shoal_columns *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++)
        n += is_label(&c->at[i]);
    return n;
}

/* How many of the fields are names of columns. */
static size_t count_names(const struct first *f)
{
    size_t n = 0;

    for (size_t i = 0; i < f->n; i++)
        n += columns_find_exactly(f->c, f->field[i].at, f->field[i].len) != SIZE_MAX ||
             columns_find_loosely(f->c, f->field[i].at, f->field[i].len) != SIZE_MAX;
    return n;
}

/* ---- by names ---- */

static shoal_status find_lacking(const struct matching *m, const struct first *f)
{
    const struct shoal_columns *c = f->c;
    bool *there = mem_array(c->n, sizeof *there);
    shoal_status st = there ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = 0; i < m->n && there; i++)
        if (m->column[i] != MATCH_NONE)
            there[m->column[i]] = true;
    for (size_t i = 0; i < c->n && st == SHOAL_OK; i++)
        if (!there[i] && (is_used(&c->at[i]) || (is_label(&c->at[i]) && !f->ask->unlabelled)))
            st = shoal_fail(SHOAL_EFORMAT, "%s:1: found no column \"%.40s\", want it%s", f->path,
                            c->at[i].name, is_label(&c->at[i]) ? " for the label" : "");
    free(there);
    return st;
}

/* What the label is called in this table is it, and nothing else is. */
static size_t move_label(const struct first *f, size_t field, size_t k)
{
    if (f->label == SIZE_MAX)
        return k;
    if (field == f->label)
        return f->c->label;
    return k != SIZE_MAX && is_label(&f->c->at[k]) ? SIZE_MAX : k;
}

/* Which column each name is, into at [n]: SIZE_MAX for none. Where no field is called exactly so,
 * small and capital letters are alike. */
static void find_names(const struct shoal_columns *c, char *const *name, size_t n, size_t *at,
                       bool *taken)
{
    for (size_t i = 0; i < n; i++) {
        at[i] = columns_find_exactly(c, name[i], strlen(name[i]));
        if (at[i] != SIZE_MAX)
            taken[at[i]] = true;
    }
    for (size_t i = 0; i < n; i++) {
        size_t k = at[i] == SIZE_MAX ? columns_find_loosely(c, name[i], strlen(name[i])) : SIZE_MAX;

        if (k == SIZE_MAX || taken[k])
            continue;
        at[i] = k;
        taken[k] = true;
    }
}

static void match_found(struct matching *m, const struct first *f, const size_t *at)
{
    const struct shoal_columns *c = f->c;
    size_t labels = 0;

    for (size_t i = 0; i < m->n; i++) {
        size_t k = move_label(f, i, at[i]);
        bool label = k != SIZE_MAX && is_label(&c->at[k]);

        m->column[i] = label || (k != SIZE_MAX && is_used(&c->at[k])) ? (uint32_t)k : MATCH_NONE;
        labels += label;
    }
    m->labelled = labels > 0 && labels == count_labels(c);
}

/* Names are given to columns as when they were learned. */
static shoal_status match_names(struct matching *m, const struct first *f)
{
    bool *taken = mem_array(f->c->n, sizeof *taken);
    size_t *at = mem_array(m->n, sizeof *at);
    char **name = NULL;
    shoal_status st = taken && at ? names_make(&name, f->field, m->n) : SHOAL_ENOMEM;

    if (st == SHOAL_OK) {
        find_names(f->c, name, m->n, at, taken);
        match_found(m, f, at);
        st = find_lacking(m, f);
    }
    names_free(name, m->n);
    free(taken);
    free(at);
    return st;
}

/* ---- by their order ---- */

/* Whether a record has as many fields as there are columns that are used, and no others. */
static bool fits_used(const struct first *f)
{
    const struct shoal_columns *c = f->c;

    return f->ask->unlabelled && f->n + count_labels(c) != c->n && f->n != c->n &&
           f->n == count_used(c);
}

/* Places of a record go to the columns in their order, but those of labels stand together at the
 * place that --label says, if it does. */
static shoal_status match_order(struct matching *m, const struct first *f)
{
    const struct shoal_columns *c = f->c;
    size_t labels = count_labels(c), begin, k = 0;
    bool used = fits_used(f); /* those alone, without what is left out */

    if (m->n != c->n && !used && !(f->ask->unlabelled && m->n + labels == c->n))
        return shoal_fail(SHOAL_EFORMAT, "%s:1: found %zu columns, want %zu%s", f->path, m->n, c->n,
                          c->dialect.header ? ", or a line of their names" : "");
    m->labelled = labels > 0 && m->n == c->n;
    begin = f->label != SIZE_MAX ? f->label : c->label;
    for (size_t i = 0; i < m->n; i++) {
        if (m->labelled && i >= begin && i < begin + labels) {
            m->column[i] = (uint32_t)(c->label + i - begin);
            continue;
        }
        while (is_label(&c->at[k]) || (used && !is_used(&c->at[k])))
            k++;
        m->column[i] = is_used(&c->at[k]) ? (uint32_t)k : MATCH_NONE;
        k++;
    }
    return SHOAL_OK;
}

/* The field that --label names, by its name or its number. */
static shoal_status find_label(struct first *f, bool named)
{
    const char *label = f->ask->label, *end = label ? label + strlen(label) : NULL;
    size_t labels = count_labels(f->c);
    uint64_t number;

    f->label = SIZE_MAX;
    if (!label || labels == 0)
        return SHOAL_OK;
    for (size_t i = 0; named && i < f->n && f->label == SIZE_MAX; i++)
        if (f->field[i].len == strlen(label) && memcmp(f->field[i].at, label, strlen(label)) == 0)
            f->label = i;
    if (f->label == SIZE_MAX && number_digits(label, end, &number) == end && number <= f->n)
        f->label = number > 0 ? (size_t)number - 1 : f->n - labels;
    if (f->label != SIZE_MAX && f->label + labels <= f->n)
        return SHOAL_OK;
    f->label = SIZE_MAX;
    return f->ask->unlabelled ? SHOAL_OK
                              : shoal_fail(SHOAL_EFORMAT,
                                           "%s:1: found no column \"%.40s\" for "
                                           "--label",
                                           f->path, label);
}

/* ---- names that are not known ---- */

/* Words where all numbers should be, and no value that is known: the record has names, be they of
 * another table. Gives one of these places; SIZE_MAX: it is a row. */
static size_t find_words(const struct matching *m, const struct first *f)
{
    size_t words = SIZE_MAX;

    for (size_t i = 0; i < m->n; i++) {
        const struct column *c = m->column[i] == MATCH_NONE ? NULL : &f->c->at[m->column[i]];
        double x;

        if (!c || column_is_missing(f->c, f->field[i]))
            continue;
        if (c->kind == SHOAL_COLUMN_NUMBER ? column_number(c, f->field[i], &x)
                                           : column_value_of(c, f->field[i]) != SIZE_MAX)
            return SIZE_MAX;
        words = c->kind == SHOAL_COLUMN_NUMBER && words == SIZE_MAX ? i : words;
    }
    return words;
}

/* Of columns that have no names any will do. */
static shoal_status match_first(struct matching *m, const struct first *f)
{
    shoal_status st = match_order(m, f);
    size_t at = st == SHOAL_OK && f->ask->header == SHOAL_HEADER_AUTO ? find_words(m, f) : SIZE_MAX;

    if (at == SIZE_MAX)
        return st;
    if (f->c->dialect.header)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s:1: found \"%.*s\" where \"%.40s\" has numbers, want the "
                          "names that were learned, or a row",
                          f->path, f->field[at].len < 40 ? (int)f->field[at].len : 40,
                          f->field[at].at, f->c->at[m->column[at]].name);
    m->dialect.header = true;
    return bytes_add(&m->header, f->at, (size_t)(f->stop - f->at));
}

/* ---- all of it ---- */

/* The dialect that was learned if it fits, else the first of others that does. */
static shoal_status find_dialect(struct matching *m, struct first *f, bool *named)
{
    static const char delimiters[] = ",;\t|";
    struct dialect d = f->c->dialect;
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i <= strlen(delimiters) && st == SHOAL_OK; i++) {
        bool right;

        st = cut(f, &d, &right);
        *named = right && 2 * count_names(f) > f->n;
        if (right &&
            (*named || f->n == f->c->n ||
             (f->ask->unlabelled && f->n + count_labels(f->c) == f->c->n) || fits_used(f))) {
            m->dialect = d;
            return st;
        }
        d.delimiter = delimiters[i];
    }
    m->dialect = f->c->dialect;
    if (st == SHOAL_OK)
        st = cut(f, &m->dialect, named);
    if (st == SHOAL_OK && !*named)
        st = shoal_fail(SHOAL_EFORMAT,
                        "%s:1: found a quote at a wrong place, want quotes around "
                        "whole fields",
                        f->path);
    *named = false;
    return st;
}

static shoal_status match(struct matching *m, struct first *f)
{
    enum shoal_header header = f->ask->header;
    bool named = false;
    shoal_status st = find_dialect(m, f, &named);

    named = header == SHOAL_HEADER_AUTO ? named : header == SHOAL_HEADER_YES;
    if (st == SHOAL_OK)
        st = find_label(f, named);
    if (st != SHOAL_OK)
        return st;
    m->dialect.header = named;
    m->n = f->n;
    m->column = mem_array(f->n + 1, sizeof *m->column);
    if (!m->column)
        return SHOAL_ENOMEM;
    if (named)
        st = bytes_add(&m->header, f->at, (size_t)(f->stop - f->at));
    if (st == SHOAL_OK)
        st = named && f->c->dialect.header ? match_names(m, f) : match_first(m, f);
    return st;
}

shoal_status columns_match(struct matching *out, const struct shoal_columns *c,
                           const struct match_ask *ask)
{
    struct first f = {.c = c, .ask = ask, .path = ask->path, .at = ask->head};
    const char *end = ask->head + ask->len, *line;
    bool inside = false;
    shoal_status st;

    *out = (struct matching){.dialect = c->dialect};
    while (f.at < end && (*f.at == '\n' || *f.at == '\r'))
        f.at++;
    line = record_end(&c->dialect, f.at, end, &inside);
    f.stop = record_text_end(f.at, line);
    if (f.at == end && ask->whole)
        return shoal_fail(SHOAL_EFORMAT, "%s: found no line, want rows", ask->path);
    if (line == end && !ask->whole)
        return shoal_fail(SHOAL_EFORMAT, "%s:1: its first line has over %zu bytes, want fewer",
                          ask->path, ask->len);
    st = bytes_reserve(&f.room, (size_t)(f.stop - f.at) + FIELD_PAD);
    if (st == SHOAL_OK)
        st = match(out, &f);
    bytes_fini(&f.room);
    free(f.field);
    if (st != SHOAL_OK)
        matching_fini(out);
    return st;
}

void matching_fini(struct matching *m)
{
    free(m->column);
    bytes_fini(&m->header);
    *m = (struct matching){0};
}
