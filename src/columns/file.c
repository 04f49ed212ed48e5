/* Columns as a section of a model's file: lines, each a word and what belongs to it.
 *
 *     columns 1
 *     dialect 44 1 1         the delimiter's code; quotes; a line of names
 *     rows 150 1             looked at; these are all
 *     raw 0
 *     missing TEXT           each that stands for no value
 *     column KIND NAME       a column begins
 *     seen 0 35 1 0          missing; different; whole numbers; with a comma for their point
 *     why TEXT               it is left out
 *     number 4.3 7.9 5.8 0.8 -3.1 12    min, max, mean, sd, lo, hi
 *     log 1 0.7 0.5          shift, mean and sd of the logarithm of a skewed column
 *     edge 5.1
 *     value 50 setosa        how often, and the text
 *
 * In names and texts a backslash is written \\, a newline \n and a carriage return \r. */
#include "columns/columns.h"

#include <math.h>
#include <stdlib.h>

/* Texts that are said of columns are these, so that no column need own one. */
static const char *const whys[] = {"no values", "always the same", "an id: all are different",
                                   "an id or text: nearly all are different", "as --ignore says"};

enum { NUMBER = 40 }; /* bytes of a number's text */

static const char special[] = "\\\n\r", marks[] = "\\nr";

/* ---- writing ---- */

static shoal_status put_text(struct bytes *out, const char *text)
{
    shoal_status st = SHOAL_OK;

    for (; *text && st == SHOAL_OK; text++) {
        const char *found = strchr(special, *text);

        if (found)
            st = bytes_print(out, "\\%c", marks[found - special]);
        else
            st = bytes_add(out, text, 1);
    }
    return st == SHOAL_OK ? bytes_add(out, "\n", 1) : st;
}

static shoal_status put_numbers(struct bytes *out, const char *key, const double *x, size_t n)
{
    char text[NUMBER];
    shoal_status st = bytes_print(out, "%s", key);

    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        number_exact(text, sizeof text, isfinite(x[i]) ? x[i] : 0);
        st = bytes_print(out, " %s", text);
    }
    return st == SHOAL_OK ? bytes_add(out, "\n", 1) : st;
}

static shoal_status put_values(struct bytes *out, const struct column *c)
{
    shoal_status st = SHOAL_OK;

    for (size_t k = 0; k < c->values && st == SHOAL_OK; k++) {
        st = bytes_print(out, "value %llu ", (unsigned long long)c->value[k].count);
        if (st == SHOAL_OK)
            st = put_text(out, c->value[k].text);
    }
    return st;
}

static shoal_status put_column(struct bytes *out, const struct column *c)
{
    double numbers[] = {c->min, c->max, c->mean, c->sd, c->lo, c->hi};
    shoal_status st = bytes_print(out, "column %s ", shoal_column_kind_name(c->kind));

    if (st == SHOAL_OK)
        st = put_text(out, c->name);
    if (st == SHOAL_OK)
        st = bytes_print(out, "seen %llu %llu %d %d\n", (unsigned long long)c->missing,
                         (unsigned long long)c->different, c->whole, c->comma);
    if (st == SHOAL_OK && c->why)
        st = bytes_print(out, "why %s\n", c->why);
    if (st == SHOAL_OK && isfinite(c->min))
        st = put_numbers(out, "number", numbers, sizeof numbers / sizeof *numbers);
    if (st == SHOAL_OK && c->skewed)
        st = put_numbers(out, "log", (double[]){c->shift, c->log_mean, c->log_sd}, 3);
    for (size_t k = 0; k < c->edges && st == SHOAL_OK; k++)
        st = put_numbers(out, "edge", &c->edge[k], 1);
    return st == SHOAL_OK ? put_values(out, c) : st;
}

shoal_status columns_write(const struct shoal_columns *c, struct bytes *out)
{
    const struct dialect *d = &c->dialect;
    const char *at = c->missing.at, *end = at + c->missing.len;
    shoal_status st = bytes_print(out, "columns 1\ndialect %d %d %d\nrows %llu %d\nraw %d\n",
                                  (unsigned char)d->delimiter, d->quotes, d->header,
                                  (unsigned long long)c->rows, c->all, c->raw);

    for (; at < end && st == SHOAL_OK; at += strlen(at) + 1) {
        st = bytes_print(out, "missing ");
        if (st == SHOAL_OK)
            st = put_text(out, at);
    }
    for (size_t i = 0; i < c->n && st == SHOAL_OK; i++)
        st = put_column(out, &c->at[i]);
    return st;
}

shoal_status columns_save(const struct shoal_columns *c, struct container_writer *w)
{
    struct bytes text = {0};
    shoal_status st = columns_write(c, &text);

    if (st == SHOAL_OK)
        st = container_put(w, "columns", text.at, text.len);
    bytes_fini(&text);
    return st;
}

/* ---- reading ---- */

struct reader {
    struct shoal_columns *c;
    const char *who;
    const char *at, *end; /* of the line, behind its first word */
    size_t line;
    size_t value_cap, edge_cap; /* of the column being read */
};

static shoal_status bad_line(const struct reader *r, const char *want)
{
    return shoal_fail(SHOAL_EFORMAT, "%s: line %zu of its columns is no %s", r->who, r->line, want);
}

static bool take_u64(struct reader *r, uint64_t *out)
{
    const char *at = r->at < r->end && *r->at == ' ' ? r->at + 1 : r->at;

    at = number_digits(at, r->end, out);
    r->at = at ? at : r->at;
    return at && (at == r->end || *at == ' ');
}

static bool take_flag(struct reader *r, bool *out)
{
    uint64_t x;
    bool good = take_u64(r, &x) && x <= 1;

    *out = good && x == 1;
    return good;
}

/* Exactly as it was written, which what is read from tables need not be. */
static bool take_number(struct reader *r, double *out)
{
    const char *at = r->at < r->end && *r->at == ' ' ? r->at + 1 : r->at;
    char text[NUMBER], *stop;
    size_t len = 0;

    while (at + len < r->end && at[len] != ' ')
        len++;
    if (len == 0 || len >= sizeof text || !strchr("-0123456789", *at))
        return false;
    memcpy(text, at, len);
    text[len] = '\0';
    *out = number_read(text, &stop);
    r->at = at + len;
    return *stop == '\0' && isfinite(*out);
}

/* The rest of the line, for free(); NULL after shoal_fail. */
static char *take_text(struct reader *r)
{
    const char *at = r->at < r->end && *r->at == ' ' ? r->at + 1 : r->at;
    char *text = mem_array((size_t)(r->end - at) + 1, 1), *to = text;

    for (; text && at < r->end; at++) {
        const char *mark = *at == '\\' && at + 1 < r->end ? strchr(marks, at[1]) : NULL;

        at += mark && *mark;
        *to++ = mark && *mark ? special[mark - marks] : *at;
    }
    return text;
}

static shoal_status read_dialect(struct reader *r)
{
    struct dialect *d = &r->c->dialect;
    uint64_t code;
    bool good = take_u64(r, &code) && code > 0 && code < 128 && strchr(",;\t|", (int)code) &&
                take_flag(r, &d->quotes) && take_flag(r, &d->header);

    d->delimiter = good ? (char)code : ',';
    return good ? SHOAL_OK : bad_line(r, "dialect");
}

static shoal_status read_rows(struct reader *r)
{
    return take_u64(r, &r->c->rows) && take_flag(r, &r->c->all) ? SHOAL_OK : bad_line(r, "count");
}

static shoal_status read_raw(struct reader *r)
{
    return take_flag(r, &r->c->raw) ? SHOAL_OK : bad_line(r, "flag");
}

static shoal_status read_missing(struct reader *r)
{
    char *text = take_text(r);
    shoal_status st = text ? columns_add_missing(r->c, text, strlen(text)) : SHOAL_ENOMEM;

    free(text);
    return st;
}

static struct column *last(struct reader *r)
{
    return r->c->n > 0 ? &r->c->at[r->c->n - 1] : NULL;
}

static shoal_status read_column(struct reader *r)
{
    struct shoal_columns *c = r->c;
    enum shoal_column_kind kind = SHOAL_COLUMN_NUMBER;
    const char *word = r->at + 1;
    size_t len;
    char *name;
    shoal_status st;

    for (len = 0; word + len < r->end && word[len] != ' '; len++)
        ;
    while (kind <= SHOAL_COLUMN_IGNORED && (strlen(shoal_column_kind_name(kind)) != len ||
                                            memcmp(shoal_column_kind_name(kind), word, len) != 0))
        kind++;
    if (kind > SHOAL_COLUMN_IGNORED)
        return bad_line(r, "kind of a column");
    if (c->n == COLUMNS_MAX)
        return shoal_fail(SHOAL_ELIMIT, "%s: has over %zu columns, want fewer", r->who,
                          COLUMNS_MAX);
    r->at = word + len;
    st = mem_grow(&c->at, &c->cap, c->n + 1, sizeof *c->at);
    name = st == SHOAL_OK ? take_text(r) : NULL;
    if (!name)
        return SHOAL_ENOMEM;
    if (kind == SHOAL_COLUMN_LABEL && c->label > c->n)
        c->label = c->n;
    c->at[c->n++] =
        (struct column){.name = name, .len = strlen(name), .kind = kind, .min = NAN, .max = NAN};
    r->value_cap = r->edge_cap = 0;
    return SHOAL_OK;
}

static shoal_status read_seen(struct reader *r)
{
    struct column *c = last(r);

    return c && take_u64(r, &c->missing) && take_u64(r, &c->different) && take_flag(r, &c->whole) &&
                   take_flag(r, &c->comma)
               ? SHOAL_OK
               : bad_line(r, "count of a column");
}

static shoal_status read_why(struct reader *r)
{
    struct column *c = last(r);
    char *text = take_text(r);

    for (size_t i = 0; c && text && i < sizeof whys / sizeof *whys; i++)
        if (strcmp(whys[i], text) == 0)
            c->why = whys[i];
    free(text);
    return c ? SHOAL_OK : bad_line(r, "word about a column");
}

static shoal_status read_number(struct reader *r)
{
    struct column *c = last(r);
    bool good = c && take_number(r, &c->min) && take_number(r, &c->max) &&
                take_number(r, &c->mean) && take_number(r, &c->sd) && take_number(r, &c->lo) &&
                take_number(r, &c->hi);

    return good && c->min <= c->max && c->lo <= c->hi && c->sd >= 0 ? SHOAL_OK
                                                                    : bad_line(r, "scale");
}

static shoal_status read_log(struct reader *r)
{
    struct column *c = last(r);

    c = c && isfinite(c->min) ? c : NULL;
    if (!c || !take_number(r, &c->shift) || !take_number(r, &c->log_mean) ||
        !take_number(r, &c->log_sd) || !(c->log_sd > 0) || !(c->min + c->shift > 0))
        return bad_line(r, "scale of a logarithm");
    c->skewed = true;
    return SHOAL_OK;
}

static shoal_status read_edge(struct reader *r)
{
    struct column *c = last(r);
    double x;
    shoal_status st;

    if (!c || c->edges == COLUMN_BINS || !take_number(r, &x) ||
        (c->edges > 0 && x <= c->edge[c->edges - 1]))
        return bad_line(r, "edge of a bin");
    st = mem_grow(&c->edge, &r->edge_cap, c->edges + 1, sizeof *c->edge);
    if (st == SHOAL_OK)
        c->edge[c->edges++] = x;
    return st;
}

static shoal_status read_value(struct reader *r)
{
    struct column *c = last(r);
    uint64_t count;
    char *text;
    shoal_status st;

    if (!c || c->values == COLUMN_VALUES || !take_u64(r, &count) ||
        r->end - r->at > 2 * COLUMN_TEXT)
        return bad_line(r, "value of a column");
    st = mem_grow(&c->value, &r->value_cap, c->values + 1, sizeof *c->value);
    text = st == SHOAL_OK ? take_text(r) : NULL;
    if (text)
        c->value[c->values++] = (struct column_value){text, count};
    return text ? SHOAL_OK : SHOAL_ENOMEM;
}

static shoal_status read_version(struct reader *r)
{
    uint64_t version;

    return take_u64(r, &version) && version == 1 && r->line == 1 ? SHOAL_OK
                                                                 : bad_line(r, "known version");
}

static shoal_status read_line(struct reader *r, const char *line, size_t len)
{
    static const struct {
        const char *word;
        shoal_status (*read)(struct reader *r);
    } words[] = {{"columns", read_version}, {"dialect", read_dialect}, {"rows", read_rows},
                 {"raw", read_raw},         {"missing", read_missing}, {"column", read_column},
                 {"seen", read_seen},       {"why", read_why},         {"number", read_number},
                 {"edge", read_edge},       {"value", read_value},     {"log", read_log}};
    size_t word = 0;

    while (word < len && line[word] != ' ')
        word++;
    r->line++;
    r->at = line + word;
    r->end = line + len;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == word && memcmp(words[i].word, line, word) == 0)
            return r->line > 1 || i == 0 ? words[i].read(r) : bad_line(r, "known version");
    return bad_line(r, "word that is known");
}

shoal_status columns_read(struct shoal_columns **out, const char *who, const char *text, size_t len)
{
    struct reader r = {.who = who, .c = mem_array(1, sizeof *r.c)};
    const char *at = text, *end = text + len, *line;
    shoal_status st = r.c ? SHOAL_OK : SHOAL_ENOMEM;
    size_t n;

    *out = NULL;
    if (st == SHOAL_OK)
        r.c->label = SIZE_MAX;
    if (st == SHOAL_OK && memchr(text, '\0', len))
        st = shoal_fail(SHOAL_EFORMAT, "%s: its columns hold a NUL, want lines of text", who);
    while (st == SHOAL_OK && line_next(&at, end, &line, &n))
        st = read_line(&r, line, n);
    if (st == SHOAL_OK && r.c->n == 0)
        st = shoal_fail(SHOAL_EFORMAT, "%s: its columns are none, want one or more", who);
    if (st == SHOAL_OK)
        st = columns_finish(r.c);
    if (st == SHOAL_OK)
        *out = r.c;
    else
        columns_free(r.c);
    return st;
}

shoal_status columns_load(struct shoal_columns **out, const struct container *c)
{
    struct section s;
    shoal_status st;

    *out = NULL;
    if (!container_has(c, "columns"))
        return SHOAL_OK;
    st = container_find(c, "columns", 1, &s);
    return st == SHOAL_OK ? columns_read(out, container_path(c), s.data, s.size) : st;
}
