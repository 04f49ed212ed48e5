/* Tables of text become samples. Which inputs a column gives follows from the column alone, so
 * that a net asks for the same of any other table:
 *
 *     number     its value; and, where values lacked when it was learned, whether this one does
 *     category   one for each value that was kept, one for all others where there are any, one for
 *                no value where that was seen; the one that is it is 1, the rest are 0           */
#include "samples/samples.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- which inputs ---- */

/* Values of a category that are inputs; the rarest of more are as the others. */
enum { VALUES_MOST = 128 };

static size_t kept_values(const struct column *c)
{
    return c->values < VALUES_MOST ? c->values : VALUES_MOST;
}

static bool has_others(const struct shoal_columns *of, const struct column *c)
{
    return c->different > kept_values(c) || !of->all;
}

static size_t column_inputs(const struct shoal_columns *of, const struct column *c)
{
    switch (c->kind) {
    case SHOAL_COLUMN_NUMBER:
        return 1 + (c->missing > 0);
    case SHOAL_COLUMN_CATEGORY:
        return kept_values(c) + has_others(of, c) + (c->missing > 0);
    default:
        return 0;
    }
}

size_t table_inputs(const struct shoal_columns *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++)
        n += column_inputs(c, &c->at[i]);
    return n;
}

bool table_input(const struct shoal_columns *c, size_t i, char name[TABLE_INPUT])
{
    const struct column *at = c->at;
    size_t kept;

    for (; i >= column_inputs(c, at); at++)
        i -= column_inputs(c, at);
    if (at->kind == SHOAL_COLUMN_NUMBER) {
        snprintf(name, TABLE_INPUT, i == 0 ? "%.200s" : "%.200s=", at->name);
        return i == 0;
    }
    kept = kept_values(at);
    snprintf(name, TABLE_INPUT, "%.100s=%.100s", at->name,
             i < kept                         ? at->value[i].text
             : i == kept && has_others(c, at) ? "(others)"
                                              : "");
    return false;
}

/* ---- a row ---- */

static void fill_number(const struct shoal_columns *of, const struct column *c, struct span f,
                        float *x)
{
    double value;
    bool there = !column_is_missing(of, f) && column_number(c, f, &value);

    x[0] = (float)fmax(fmin(there ? column_cut(of, c, value) : c->mean, FLT_MAX), -FLT_MAX);
    if (c->missing > 0)
        x[1] = there ? 0 : 1;
}

static void fill_category(const struct shoal_columns *of, const struct column *c, struct span f,
                          float *x)
{
    size_t kept = kept_values(c), others = has_others(of, c), k;

    memset(x, 0, column_inputs(of, c) * sizeof *x);
    if (column_is_missing(of, f)) {
        if (c->missing > 0)
            x[kept + others] = 1;
        return;
    }
    k = column_value_of(c, f);
    if (k < kept)
        x[k] = 1;
    else if (others)
        x[kept] = 1;
}

void table_row(const struct shoal_columns *c, const struct span *field, float *x)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct column *at = &c->at[i];

        if (at->kind == SHOAL_COLUMN_NUMBER)
            fill_number(c, at, field[i], x);
        else if (at->kind == SHOAL_COLUMN_CATEGORY)
            fill_category(c, at, field[i], x);
        x += column_inputs(c, at);
    }
}

/* ---- reading ---- */

struct table_reader {
    const char *path;
    const struct shoal_columns *columns;
    struct matching match;
    const char *at, *end;
    size_t line;         /* of the record being read, from 1 */
    struct bytes room;   /* of its quoted fields */
    struct span *field;  /* [columns->n] those of the record */
    struct span *labels; /* [rows][targets] in the order of the columns */
    size_t targets, labels_cap;
    size_t *lines; /* [rows] for sentences about labels */
    size_t lines_cap;
    struct bytes kept; /* labels of which the text had doubled quotes */
};

static shoal_status bad_record(const struct table_reader *r, const char *what)
{
    return shoal_fail(SHOAL_EFORMAT, "%s:%zu: %s", r->path, r->line, what);
}

/* Fields of a record, by the columns; those that it has not are empty. */
static shoal_status cut_record(struct table_reader *r, const char *at, const char *stop)
{
    const struct matching *m = &r->match;
    size_t n = 0;
    char why[96];

    r->room.len = 0;
    for (; at <= stop; at++, n++) {
        struct span f;

        at = field_next(&m->dialect, &r->room, at, stop, &f);
        if (!at)
            return bad_record(r, "found a quote at a wrong place, want quotes around whole fields");
        if (n < m->n && m->column[n] != MATCH_NONE)
            r->field[m->column[n]] = f;
    }
    if (n == m->n)
        return SHOAL_OK;
    snprintf(why, sizeof why, "found %zu columns, want %zu as before", n, m->n);
    return bad_record(r, why);
}

/* The next record that is not empty; *stop is its end. False at the end of the text. */
static bool next_record(struct table_reader *r, const char **begin, const char **stop,
                        size_t *lines)
{
    while (r->at < r->end) {
        bool inside = false;
        const char *line = record_end(&r->match.dialect, r->at, r->end, &inside);
        const char *at = r->at;

        *begin = at;
        *stop = record_text_end(at, line);
        r->at = line + 1;
        *lines = 1;
        for (; (at = memchr(at, '\n', (size_t)(line - at))) != NULL; at++)
            ++*lines;
        if (!record_is_blank(&r->match.dialect, *begin, *stop))
            return true;
        r->line += *lines;
    }
    return false;
}

/* Labels are judged when all were seen. Text that lies in `room` is copied. */
static shoal_status keep_labels(struct table_reader *r, size_t row)
{
    shoal_status st =
        mem_grow(&r->labels, &r->labels_cap, (row + 1) * r->targets, sizeof *r->labels);

    if (st == SHOAL_OK)
        st = mem_grow(&r->lines, &r->lines_cap, row + 1, sizeof *r->lines);
    for (size_t k = 0; k < r->targets && st == SHOAL_OK; k++) {
        struct span f = r->field[r->columns->label + k];

        if (f.at >= r->room.at && f.at < r->room.at + r->room.cap && f.len > 0) {
            char *copy = r->kept.at + r->kept.len; /* there is room for all of the text */

            memcpy(copy, f.at, f.len);
            r->kept.len += f.len;
            f.at = copy;
        }
        r->labels[row * r->targets + k] = f;
    }
    if (st == SHOAL_OK)
        r->lines[row] = r->line;
    return st;
}

static shoal_status check_size(const struct table_reader *r, size_t rows, size_t inputs,
                               uint64_t limit)
{
    uint64_t need = (uint64_t)rows * inputs * sizeof(float);

    if (inputs > SAMPLES_MAX_INPUTS)
        return shoal_fail(SHOAL_ELIMIT, "%s: its columns give %zu inputs, want at most %d", r->path,
                          inputs, SAMPLES_MAX_INPUTS);
    if (need > limit)
        return shoal_fail(SHOAL_ELIMIT,
                          "%s: %zu rows of %zu inputs take %llu bytes, %llu are free; --ignore "
                          "leaves columns of many categories out",
                          r->path, rows, inputs, (unsigned long long)need,
                          (unsigned long long)limit);
    return SHOAL_OK;
}

static size_t count_records(struct table_reader *r)
{
    const char *at = r->at, *begin, *stop;
    size_t line = r->line, lines, n = 0;

    while (next_record(r, &begin, &stop, &lines))
        n++;
    r->at = at;
    r->line = line;
    return n;
}

static shoal_status read_records(struct table_reader *r, shoal_samples *s)
{
    const char *begin, *stop;
    size_t lines;
    shoal_status st = SHOAL_OK;

    if (r->match.header.len > 0 && next_record(r, &begin, &stop, &lines))
        r->line += lines;
    s->n = 0;
    while (st == SHOAL_OK && next_record(r, &begin, &stop, &lines)) {
        memset(r->field, 0, r->columns->n * sizeof *r->field);
        st = cut_record(r, begin, stop);
        if (st == SHOAL_OK && s->inputs > 0)
            table_row(r->columns, r->field, s->x + s->n * s->inputs);
        if (st == SHOAL_OK && r->targets > 0)
            st = keep_labels(r, s->n);
        s->n += st == SHOAL_OK;
        r->line += lines;
    }
    if (st == SHOAL_OK && s->n == 0)
        st = shoal_fail(SHOAL_EFORMAT, "%s: holds no row", r->path);
    return st;
}

/* ---- labels ---- */

/* Texts that stand for no label are none. */
static void class_labels(struct label_list *list, const struct table_reader *r, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (column_is_unlabelled(r->columns, r->labels[i]))
            r->labels[i].len = 0;
    *list = (struct label_list){.path = r->path,
                                .text = r->labels,
                                .lines = r->lines,
                                .n = n,
                                .column = r->columns->at[r->columns->label].name};
}

static shoal_status number_labels(shoal_samples *s, const struct table_reader *r)
{
    const struct shoal_columns *c = r->columns;

    s->targets = r->targets;
    s->y = mem_array(s->n * r->targets, sizeof *s->y);
    if (!s->y)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < s->n * r->targets; i++) {
        const struct column *col = &c->at[c->label + i % r->targets];
        struct span f = r->labels[i];
        double x;

        if (!column_number(col, f, &x) || !isfinite((float)x))
            return shoal_fail(SHOAL_EFORMAT,
                              "%s:%zu: column \"%.40s\": found \"%.*s\", want a "
                              "number to predict, below 1e38",
                              r->path, r->lines[i / r->targets], col->name,
                              f.len < 40 ? (int)f.len : 40, f.at);
        s->y[i] = (float)x;
    }
    return SHOAL_OK;
}

static shoal_status take_labels(shoal_samples *s, const struct table_reader *r,
                                const struct shoal_samples_opts *o)
{
    struct label_list list;

    if (r->targets == 0)
        return SHOAL_OK;
    if (o->task == SHOAL_REGRESS)
        return number_labels(s, r);
    class_labels(&list, r, s->n);
    return samples_take_classes(s, &list, o);
}

/* ---- all of it ---- */

static shoal_status find_columns(shoal_samples *s, const struct table_reader *r,
                                 const struct shoal_samples_opts *o, const char *text, size_t len)
{
    bool elsewhere = o->labels != NULL; /* are the labels */
    struct columns_ask ask = {.opts = &o->table,
                              .label = LABEL_LAST,
                              .path = r->path,
                              .classes = o->task == SHOAL_CLASSIFY ? SAMPLES_MAX_CLASSES : 0,
                              .targets = o->task == SHOAL_REGRESS ? o->targets : 1,
                              .unlabelled = o->task == SHOAL_INPUTS || elsewhere};

    return o->columns ? columns_copy(&s->columns, o->columns)
                      : columns_learn(&s->columns, &ask, NULL, text, len, true);
}

static size_t count_targets(const struct shoal_columns *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++)
        n += c->at[i].kind == SHOAL_COLUMN_LABEL;
    return n;
}

static shoal_status make_room(shoal_samples *s, struct table_reader *r, size_t len, uint64_t limit)
{
    size_t rows = count_records(r);
    shoal_status st;

    s->inputs = table_inputs(r->columns);
    st = check_size(r, rows, s->inputs, limit);
    if (st == SHOAL_OK)
        st = bytes_reserve(&r->room, len + FIELD_PAD);
    if (st == SHOAL_OK)
        st = bytes_reserve(&r->kept, len + FIELD_PAD);
    r->field = mem_array(r->columns->n, sizeof *r->field);
    if (st == SHOAL_OK)
        s->x = mem_array(rows * s->inputs, sizeof *s->x);
    return st == SHOAL_OK && (!r->field || !s->x) ? SHOAL_ENOMEM : st;
}

static enum shoal_header header_of(const shoal_samples *s, const struct shoal_samples_opts *o)
{
    if (o->columns)
        return o->table.header;
    return s->columns->dialect.header ? SHOAL_HEADER_YES : SHOAL_HEADER_NO;
}

static void reader_fini(struct table_reader *r)
{
    matching_fini(&r->match);
    bytes_fini(&r->room);
    bytes_fini(&r->kept);
    free(r->field);
    free(r->labels);
    free(r->lines);
}

shoal_status table_read(shoal_samples *s, const char *path, const char *text, size_t len,
                        const struct shoal_samples_opts *o, uint64_t limit)
{
    struct table_reader r = {.path = path, .end = text + len, .line = 1};
    bool elsewhere = o->labels != NULL, inputs = o->task == SHOAL_INPUTS;
    size_t mark = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    shoal_status st = find_columns(s, &r, o, text, len);

    r.at = text + mark;
    r.columns = s->columns;
    if (st == SHOAL_OK)
        st = columns_match(&r.match, s->columns,
                           &(struct match_ask){.path = path,
                                               .head = r.at,
                                               .len = len - mark,
                                               .whole = true,
                                               .header = header_of(s, o),
                                               .label = o->columns ? o->table.label : NULL,
                                               .unlabelled = inputs || elsewhere});
    if (st == SHOAL_OK && !inputs && !elsewhere)
        r.targets = count_targets(s->columns);
    if (st == SHOAL_OK)
        st = make_room(s, &r, len, limit);
    if (st == SHOAL_OK)
        st = read_records(&r, s);
    if (st == SHOAL_OK && s->inputs == 0)
        st = shoal_fail(SHOAL_EFORMAT, "%s: found no column to learn from beside the label", path);
    if (st == SHOAL_OK)
        st = take_labels(s, &r, o);
    reader_fini(&r);
    return st;
}

/* ---- a table of labels alone ---- */

shoal_status table_read_labels(shoal_samples *s, const char *path, const char *text, size_t len,
                               const struct shoal_samples_opts *o)
{
    struct shoal_table_opts plain = {.header = SHOAL_HEADER_AUTO};
    struct columns_ask ask = {.opts = &plain, .label = LABEL_FIRST, .path = path};
    struct table_reader r = {.path = path, .at = text, .end = text + len, .line = 1};
    shoal_samples rows = {0}; /* for their number */
    struct shoal_columns *c = NULL;
    shoal_status st = columns_learn(&c, &ask, NULL, text, len, true);

    for (size_t i = 0; st == SHOAL_OK && i < c->n; i++) /* all are targets */
        c->at[i].kind = SHOAL_COLUMN_LABEL;
    if (st == SHOAL_OK) {
        c->label = 0;
        r.columns = c;
        r.targets = c->n;
        st = columns_match(
            &r.match, c,
            &(struct match_ask){.path = path,
                                .head = text,
                                .len = len,
                                .whole = true,
                                .header = c->dialect.header ? SHOAL_HEADER_YES : SHOAL_HEADER_NO});
    }
    if (st == SHOAL_OK && o->task == SHOAL_CLASSIFY && c->n != 1)
        st = shoal_fail(SHOAL_EFORMAT, "%s: %zu columns, want 1, the class", path, c->n);
    if (st == SHOAL_OK)
        st = bytes_reserve(&r.room, len + FIELD_PAD);
    if (st == SHOAL_OK)
        st = bytes_reserve(&r.kept, len + FIELD_PAD);
    if (st == SHOAL_OK && !(r.field = mem_array(c->n, sizeof *r.field)))
        st = SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        st = read_records(&r, &rows);
    if (st == SHOAL_OK && rows.n != s->n)
        st = shoal_fail(SHOAL_EFORMAT, "%s: %zu rows, want %zu as there are samples", path, rows.n,
                        s->n);
    if (st == SHOAL_OK)
        st = take_labels(s, &r, o);
    reader_fini(&r);
    columns_free(c);
    return st;
}
