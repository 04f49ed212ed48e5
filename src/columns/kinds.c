/* What each column is: a number, a category, the label, or something to leave out; and what of
 * its numbers or values is kept. */
#include "columns/preview.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum {
    ID_LEAST = 20,    /* rows by which values may be called all different */
    CUT_LEAST = 50,   /* numbers: the quartiles of fewer say little */
    STRAY_VALUES = 3, /* different words among numbers, which mean that there is none */
    MANY_CLASSES = 1 << 20,
    LABEL_VALUES = 20, /* different values of a label, whatever the number of rows */
};
#define STRAY_SHARE 0.05 /* of the fields of a column of numbers that are none */
#define ID_SHARE 0.95    /* of values that are different, where all were seen */
#define ID_SHARE_SAMPLE 0.999
#define ZEROS_SHARE 0.1  /* of numbers that begin as codes do: 007 */
#define CUT_IQR 10.0     /* numbers are cut so many interquartile ranges beyond the quartiles, */
#define COUNT_JUMP 100.0 /* the step of numbers that are counted is no larger, */
#define COUNT_STEP 8.0   /* and on average below this */
#define SKEWED 1.5       /* the skewness from which on a logarithm is a feature too */
#define CUT_RANGE 2.0    /* or where that is 0 so many times the range of 99 % */

static const char usual_missing[] = "NA\0N/A\0n/a\0NaN\0nan\0null\0NULL\0None\0?\0-\0.\0#N/A\0"
                                    "#NA\0<NA>\0";

/* ---- lists of columns ---- */

/* The next name of a list, with its quotes taken away; false at the end. *name is in `room`. */
static bool list_next(const char **at, struct bytes *room, struct span *name)
{
    bool inside = false;

    if (!**at)
        return false;
    room->len = 0;
    for (; **at && (inside || **at != ','); ++*at) {
        if (**at == '"' && !(inside && (*at)[1] == '"')) {
            inside = !inside;
            continue;
        }
        *at += **at == '"';
        room->at[room->len++] = **at;
    }
    *at += **at == ',';
    *name = (struct span){room->at, (uint32_t)room->len};
    return true;
}

/* The names there are, as far as a sentence goes. */
struct names_text {
    char text[160];
};

static struct names_text names_of(const struct shoal_columns *c)
{
    struct names_text out = {""};
    size_t len = 0;

    for (size_t i = 0; i < c->n; i++) {
        int more = snprintf(out.text + len, sizeof out.text - len, "%s%.32s", i ? ", " : "",
                            c->at[i].name);

        if (len + (size_t)more + 8 >= sizeof out.text) {
            snprintf(out.text + len, sizeof out.text - len, ", ...");
            break;
        }
        len += (size_t)more;
    }
    return out;
}

static shoal_status no_column(const struct shoal_columns *c, const char *path, const char *option,
                              struct span name)
{
    return shoal_fail(SHOAL_EFORMAT, "%s: found no column \"%.*s\" for --%s, want one of %s", path,
                      name.len < 40 ? (int)name.len : 40, name.at, option, names_of(c).text);
}

/* The kind of the columns that a list names. */
static shoal_status give_kind(struct shoal_columns *c, const char *list, const char *option,
                              enum shoal_column_kind kind, bool *given, const char *path)
{
    struct bytes room = {0};
    struct span name;
    shoal_status st = list ? bytes_reserve(&room, strlen(list) + 1) : SHOAL_OK;

    while (list && st == SHOAL_OK && list_next(&list, &room, &name)) {
        size_t i = columns_find(c, name.at, name.len);

        if (i == SIZE_MAX) {
            st = no_column(c, path, option, name);
        } else if (c->at[i].kind != SHOAL_COLUMN_LABEL) {
            c->at[i].kind = kind;
            given[i] = true;
        }
    }
    bytes_fini(&room);
    return st;
}

static bool is_text(const char *option, const char *text)
{
    return option && strcmp(option, text) == 0;
}

static shoal_status give_kinds(struct shoal_columns *c, const struct shoal_table_opts *o,
                               bool *given, const char *path)
{
    shoal_status st = SHOAL_OK;

    if (!is_text(o->numeric, "-"))
        st = give_kind(c, o->numeric, "numeric", SHOAL_COLUMN_NUMBER, given, path);
    if (st == SHOAL_OK && !is_text(o->category, "*"))
        st = give_kind(c, o->category, "category", SHOAL_COLUMN_CATEGORY, given, path);
    if (st == SHOAL_OK)
        st = give_kind(c, o->ignore, "ignore", SHOAL_COLUMN_IGNORED, given, path);
    for (size_t i = 0; i < c->n && is_text(o->category, "*"); i++)
        if (!given[i] && c->at[i].kind != SHOAL_COLUMN_LABEL) {
            c->at[i].kind = SHOAL_COLUMN_CATEGORY;
            given[i] = true;
        }
    return st;
}

/* ---- what a column holds ---- */

/* The fields of one column that have a value, and their different texts. */
struct held {
    struct span *f; /* [n] */
    size_t n;
    struct column_count {
        struct span text;
        uint64_t n;
    } * value; /* [values] */
    size_t values;
    uint32_t *place; /* [places] 1 + the index of a value, or 0 */
    size_t places;
};

static void held_fini(struct held *h)
{
    free(h->f);
    free(h->value);
    free(h->place);
}

static shoal_status held_init(struct held *h, size_t rows)
{
    *h = (struct held){.places = 16};
    while (h->places < 2 * rows)
        h->places *= 2;
    h->f = mem_array(rows + 1, sizeof *h->f);
    h->value = mem_array(rows + 1, sizeof *h->value);
    h->place = mem_array(h->places, sizeof *h->place);
    return h->f && h->value && h->place ? SHOAL_OK : SHOAL_ENOMEM;
}

static void held_count(struct held *h, struct span f)
{
    size_t at = (size_t)bytes_hash(1, f.at, f.len) & (h->places - 1);

    for (; h->place[at]; at = (at + 1) & (h->places - 1)) {
        struct column_count *v = &h->value[h->place[at] - 1];

        if (v->text.len == f.len && memcmp(v->text.at, f.at, f.len) == 0) {
            v->n++;
            return;
        }
    }
    h->value[h->values] = (struct column_count){f, 1};
    h->place[at] = (uint32_t)++h->values;
}

static void held_fill(struct held *h, const struct shoal_columns *c, const struct preview *l,
                      size_t column, bool label)
{
    h->n = h->values = 0;
    memset(h->place, 0, h->places * sizeof *h->place);
    for (size_t r = 0; r < l->rows; r++) {
        struct span f = l->field[r * l->n + column];

        if (label ? column_is_unlabelled(c, f) : column_is_missing(c, f))
            continue;
        h->f[h->n++] = f;
        held_count(h, f);
    }
}

static int by_count(const void *a, const void *b)
{
    const struct column_count *x = a, *y = b;
    uint32_t len = x->text.len < y->text.len ? x->text.len : y->text.len;
    int order = x->n < y->n ? 1 : x->n > y->n ? -1 : memcmp(x->text.at, y->text.at, len);

    return order != 0 ? order : (x->text.len > y->text.len) - (x->text.len < y->text.len);
}

/* The commonest, for those who ask later; a text that is too long is none of them. */
static shoal_status keep_values(struct column *c, struct held *h)
{
    qsort(h->value, h->values, sizeof *h->value, by_count);
    c->value =
        mem_array(h->values < COLUMN_VALUES ? h->values + 1 : COLUMN_VALUES, sizeof *c->value);
    if (!c->value)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < h->values && c->values < COLUMN_VALUES; i++) {
        struct span text = h->value[i].text;

        if (text.len > COLUMN_TEXT || memchr(text.at, '\0', text.len))
            continue;
        c->value[c->values] = (struct column_value){strndup(text.at, text.len), h->value[i].n};
        if (!c->value[c->values++].text)
            return shoal_fail(SHOAL_ENOMEM, "columns: no memory for a value");
    }
    return SHOAL_OK;
}

/* ---- numbers ---- */

/* What numbers there are, into x [h->n]; the words among them are counted. */
struct numbers {
    size_t n, stray, stray_values, zeros;
    bool whole;
};

static struct numbers count_numbers(const struct column *c, const struct held *h, double *x)
{
    struct numbers out = {.whole = true};

    for (size_t i = 0; i < h->n; i++) {
        struct span f = h->f[i];
        size_t sign = f.len > 0 && (*f.at == '-' || *f.at == '+');

        if (!column_number(c, f, &x[out.n])) {
            out.stray++;
            continue;
        }
        out.whole &= x[out.n] == floor(x[out.n]);
        out.zeros +=
            f.len > sign + 1 && f.at[sign] == '0' && f.at[sign + 1] >= '0' && f.at[sign + 1] <= '9';
        out.n++;
    }
    for (size_t i = 0; i < h->values && out.stray > 0; i++) {
        double ignored;

        out.stray_values += !column_number(c, h->value[i].text, &ignored);
    }
    return out;
}

static bool are_numbers(const struct numbers *m, const struct held *h)
{
    bool few = (double)m->stray <= STRAY_SHARE * (double)h->n ||
               (m->stray_values <= STRAY_VALUES && 2 * m->n > h->n);

    return m->n > 0 && few && (double)m->zeros < ZEROS_SHARE * (double)m->n;
}

static bool have_commas(const struct held *h)
{
    for (size_t i = 0; i < h->values; i++)
        if (memchr(h->value[i].text.at, ',', h->value[i].text.len))
            return true;
    return false;
}

/* With a comma for their point, where commas do not stand between fields. 1,234 could be either;
 * semicolons stand between fields where the comma is a point. */
static struct numbers find_numbers(struct column *c, const struct dialect *d, const struct held *h,
                                   double *x)
{
    struct numbers plain = count_numbers(c, h, x), comma;

    if (d->delimiter == ',' || !have_commas(h))
        return plain;
    c->comma = true;
    comma = count_numbers(c, h, x);
    if (comma.n > plain.n || (comma.n == plain.n && d->delimiter == ';'))
        return comma;
    c->comma = false;
    return count_numbers(c, h, x);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double quantile(const double *x, size_t n, double share)
{
    return x[(size_t)(share * (double)(n - 1) + 0.5)];
}

/* A few numbers far beyond all others would make all others alike: they are cut. Numbers that come
 * later may be a little beyond those that were seen. */
static void find_cut(struct column *c, const double *x, size_t n)
{
    double low = quantile(x, n, 0.25), high = quantile(x, n, 0.75), beyond = CUT_IQR * (high - low);
    double range = x[n - 1] - x[0];

    if (!(beyond > 0)) {
        low = quantile(x, n, 0.005);
        high = quantile(x, n, 0.995);
        beyond = CUT_RANGE * (high - low);
    }
    c->lo = x[0] - range;
    c->hi = x[n - 1] + range;
    if (beyond > 0 && n >= CUT_LEAST && low - beyond > x[0])
        c->lo = low - beyond;
    if (beyond > 0 && n >= CUT_LEAST && high + beyond < x[n - 1])
        c->hi = high + beyond;
}

/* Whether a few numbers are far larger than most, by the skewness of those that were cut, and of
 * which the logarithm is defined. Counts may be 0. */
static void find_skew(struct column *c, const double *x, size_t n)
{
    double cubes = 0, sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++) {
        double d = (fmin(x[i], c->hi) - c->mean) / c->sd;

        cubes += d * d * d / (double)n;
    }
    c->shift = c->min > 0 ? 0 : c->whole ? 1 : c->mean / 100;
    if (c->min < 0 || !(cubes > SKEWED) || !(c->shift + c->min > 0))
        return;
    for (size_t i = 0; i < n; i++) {
        double d = log(fmin(x[i], c->hi) + c->shift);

        sum += d / (double)n;
        squares += d * d / (double)n;
    }
    c->log_mean = sum;
    c->log_sd = sqrt(fmax(squares - sum * sum, 0));
    c->skewed = c->log_sd > 0 && isfinite(c->log_sd);
}

void column_measure(struct column *c, double *x, size_t n)
{
    double sum = 0, squares = 0;

    if (n == 0)
        return;
    qsort(x, n, sizeof *x, by_size);
    c->min = x[0];
    c->max = x[n - 1];
    find_cut(c, x, n);
    for (size_t i = 0; i < n; i++)
        sum += fmin(fmax(x[i], c->lo), c->hi) / (double)n;
    for (size_t i = 0; i < n; i++) {
        double d = fmin(fmax(x[i], c->lo), c->hi) - sum;

        squares += d * d / (double)n;
    }
    c->mean = sum;
    c->sd = sqrt(squares);
    if (!isfinite(c->sd) || c->sd <= 1e-9 * fabs(c->mean))
        c->sd = 0;
    c->skewed = false;
    if (c->sd > 0)
        find_skew(c, x, n);
}

/* Edges that put as many numbers into each bin, as far as equal ones allow. */
static shoal_status find_bins(struct column *c, const double *x, size_t n, unsigned bins)
{
    if (bins < 2 || n == 0)
        return SHOAL_OK;
    c->edge = mem_array(bins, sizeof *c->edge);
    if (!c->edge)
        return SHOAL_ENOMEM;
    for (unsigned k = 1; k < bins; k++) {
        double edge = quantile(x, n, (double)k / bins);

        if (edge > x[0] && (c->edges == 0 || edge > c->edge[c->edges - 1]))
            c->edge[c->edges++] = edge;
    }
    return SHOAL_OK;
}

/* ---- kinds ---- */

static bool is_named_id(const struct column *c)
{
    static const char *const whole[] = {"id", "uuid", "guid", "index", "rowid", "row_id", "key"};
    size_t len = c->len;

    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (strcasecmp(c->name, whole[i]) == 0)
            return true;
    return len > 3 && strcasecmp(c->name + len - 2, "id") == 0 &&
           (strchr("_- .", c->name[len - 3]) || c->name[len - 2] == 'I');
}

/* 5, 6, 8, ...: in the order of the rows, each a little more than the last; between places of a
 * sample it may jump. */
static bool are_counted(const double *x, size_t n, bool all)
{
    double counted = 0; /* what the steps add up to, the jumps aside */
    size_t jumps = 0;

    for (size_t i = 1; i < n; i++) {
        double step = x[i] - x[i - 1];
        bool jump = step > COUNT_JUMP;

        if (step < 1)
            return false;
        jumps += jump;
        counted += jump ? 0 : step;
    }
    return jumps <= (all ? 0 : PREVIEW_PLACES) && counted < COUNT_STEP * (double)n;
}

static bool are_all_different(const struct held *h, bool all)
{
    double share = (double)h->values / (double)h->n;

    return h->n >= ID_LEAST && share >= (all ? ID_SHARE : ID_SHARE_SAMPLE);
}

/* `numbers` are in the order of the rows. */
static void judge_kind(struct shoal_columns *c, struct column *col, const struct held *h,
                       const struct numbers *m, const double *numbers)
{
    bool different = h->n >= ID_LEAST && h->values == h->n;

    col->kind = are_numbers(m, h) ? SHOAL_COLUMN_NUMBER : SHOAL_COLUMN_CATEGORY;
    if (h->n == 0) {
        col->kind = SHOAL_COLUMN_IGNORED;
        col->why = "no values";
    } else if (h->values == 1 && col->missing == 0 && c->all && c->rows > 1) {
        col->kind = SHOAL_COLUMN_IGNORED;
        col->why = "always the same";
    } else if (col->kind == SHOAL_COLUMN_NUMBER && different && m->whole && m->stray == 0 &&
               (are_counted(numbers, m->n, c->all) || is_named_id(col))) {
        col->kind = SHOAL_COLUMN_ID;
        col->why = "an id: all are different";
    } else if (col->kind == SHOAL_COLUMN_CATEGORY && are_all_different(h, c->all)) {
        col->kind = SHOAL_COLUMN_ID;
        col->why = "an id or text: nearly all are different";
    } else if (h->values == 1 && !c->all) {
        col->kind = SHOAL_COLUMN_CATEGORY; /* other values may come, of no known size */
    }
}

static shoal_status judge_column(struct shoal_columns *c, size_t i, const struct preview *l,
                                 struct held *h, double *x, bool given,
                                 const struct columns_ask *ask)
{
    struct column *col = &c->at[i];
    bool label = col->kind == SHOAL_COLUMN_LABEL;
    struct numbers m;

    held_fill(h, c, l, i, label);
    m = find_numbers(col, &c->dialect, h, x);
    col->missing = l->rows - h->n;
    col->different = h->values;
    col->whole = m.whole && m.n > 0;
    col->min = col->max = NAN;
    if (!given && !label)
        judge_kind(c, col, h, &m, x);
    if (!given && !label && col->kind == SHOAL_COLUMN_NUMBER && is_text(ask->opts->numeric, "-"))
        col->kind = SHOAL_COLUMN_CATEGORY;
    if (col->kind == SHOAL_COLUMN_IGNORED && !col->why)
        col->why = "as --ignore says";
    if (given && col->kind == SHOAL_COLUMN_NUMBER && m.n == 0 && h->n > 0)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: found no number in column \"%.40s\", want some for "
                          "--numeric",
                          ask->path, col->name);
    if (col->kind == SHOAL_COLUMN_NUMBER || (col->kind == SHOAL_COLUMN_LABEL && m.stray == 0))
        column_measure(col, x, m.n);
    if (col->kind == SHOAL_COLUMN_NUMBER)
        return find_bins(col, x, m.n, ask->bins);
    return col->kind == SHOAL_COLUMN_CATEGORY || col->kind == SHOAL_COLUMN_LABEL
               ? keep_values(col, h)
               : SHOAL_OK;
}

/* ---- the label ---- */

/* Whether there are few enough different values to be classes: two where two are wanted. */
static bool looks_like_label(const struct shoal_columns *c, const struct preview *l, struct held *h,
                             size_t column, unsigned classes)
{
    held_fill(h, c, l, column, true);
    if (classes == 2)
        return h->values == 2;
    return h->values >= 2 && (h->values <= LABEL_VALUES || h->values * 10 <= h->n);
}

/* The first of the usual names that a column has, which must look like a label where classes are
 * wanted: y may be the other coordinate. */
static size_t find_usual(const struct shoal_columns *c, const struct preview *l, struct held *h,
                         unsigned classes)
{
    static const char *const usual[] = {"label",   "class",   "target", "click",
                                        "clicked", "outcome", "y"};

    for (size_t k = 0; k < sizeof usual / sizeof *usual; k++)
        for (size_t i = 0; i < c->n; i++)
            if (c->at[i].kind != SHOAL_COLUMN_IGNORED && strcasecmp(c->at[i].name, usual[k]) == 0 &&
                (classes == 0 || k == 0 || looks_like_label(c, l, h, i, MANY_CLASSES)))
                return i;
    return SIZE_MAX;
}

/* The label's column, and those of further targets behind it; without a name these are the last
 * ones. */
static shoal_status mark_labels(struct shoal_columns *c, const struct columns_ask *ask)
{
    size_t n = ask->targets > 1 ? ask->targets : 1;

    if (!ask->opts->label && n > 1 && c->label == c->n - 1 && n <= c->n)
        c->label = c->n - n;
    if (n > c->n - c->label)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: --targets is %zu from column %zu on, found %zu "
                          "columns",
                          ask->path, n, c->label + 1, c->n);
    for (size_t i = 0; i < n; i++)
        c->at[c->label + i].kind = SHOAL_COLUMN_LABEL;
    return SHOAL_OK;
}

/* Whether the last column of a table with names has many different numbers: whoever wants classes
 * of it has forgotten something, which other columns would only hide. */
static bool is_target(const struct shoal_columns *c, const struct preview *l, struct held *h,
                      size_t column, const struct columns_ask *ask)
{
    struct column point = {.comma = false}, comma = {.comma = true};
    size_t numbers = 0;

    if (ask->label != LABEL_LAST || !c->dialect.header)
        return false;
    held_fill(h, c, l, column, true);
    for (size_t i = 0; i < h->values; i++) {
        double x;

        numbers += column_number(&point, h->value[i].text, &x) ||
                   column_number(&comma, h->value[i].text, &x);
    }
    return h->values > LABEL_VALUES && (double)numbers >= (1 - STRAY_SHARE) * (double)h->values;
}

/* "Survived, Sex": those that have two values, as far as a sentence goes. */
static struct names_text two_valued(const struct shoal_columns *c, const struct preview *l,
                                    struct held *h)
{
    struct names_text out = {""};
    size_t len = 0;

    for (size_t i = 0; i < c->n && len + 48 < sizeof out.text; i++)
        if (c->at[i].kind != SHOAL_COLUMN_IGNORED && looks_like_label(c, l, h, i, 2))
            len += (size_t)snprintf(out.text + len, sizeof out.text - len, "%s%.32s",
                                    len > 0 ? ", " : "", c->at[i].name);
    return out;
}

/* Whether there are more than two labels among the values. What is spelled in two ways is one, and
 * one input may say 0 where another says -1. */
static bool has_third(const struct shoal_columns *c, const struct preview *l, struct held *h,
                      size_t column)
{
    char first[2][LABEL_TEXT], name[LABEL_TEXT];
    size_t n = 0;

    held_fill(h, c, l, column, true);
    for (size_t i = 0; i < h->values; i++) {
        bool known = false;

        label_spell(name, h->value[i].text.at, h->value[i].text.len);
        if (strcmp(name, "-1") == 0)
            strcpy(name, "0");
        for (size_t k = 0; k < n; k++)
            known |= strcmp(first[k], name) == 0;
        if (!known && n == 2)
            return true;
        if (!known)
            memcpy(first[n++], name, sizeof name);
    }
    return false;
}

/* The first and the last column that are not to be ignored. */
struct ends {
    size_t first, last;
};

static struct ends find_ends(const struct shoal_columns *c)
{
    struct ends e = {0, c->n - 1};

    while (e.first < e.last && c->at[e.first].kind == SHOAL_COLUMN_IGNORED)
        e.first++;
    while (e.last > e.first && c->at[e.last].kind == SHOAL_COLUMN_IGNORED)
        e.last--;
    return e;
}

/* Two labels are wanted, and neither end of the table has as few. */
static shoal_status no_ends(const struct shoal_columns *c, const struct preview *l, struct held *h,
                            const struct columns_ask *ask, struct ends e)
{
    struct names_text two = two_valued(c, l, h);

    return shoal_fail(SHOAL_EFORMAT,
                      "%s: found no label of two values in the first column, "
                      "\"%.32s\", or the last, \"%.32s\"; want --label COLUMN%s%s",
                      ask->path, c->at[e.first].name, c->at[e.last].name,
                      *two.text ? ", one of " : "",
                      *two.text ? two.text : ", or `shoal train multinomial` for more than two");
}

/* By what the first and the last column hold. */
static shoal_status guess_label(struct shoal_columns *c, const struct preview *l, struct held *h,
                                const struct columns_ask *ask)
{
    struct ends e = find_ends(c);
    size_t usual = ask->label == LABEL_FIRST ? e.first : e.last, other = e.first + e.last - usual;

    c->label = usual;
    if (ask->classes == 0 || looks_like_label(c, l, h, usual, ask->classes) ||
        is_target(c, l, h, usual, ask))
        return SHOAL_OK;
    if (looks_like_label(c, l, h, other, ask->classes))
        c->label = other;
    else if (ask->classes == 2 && has_third(c, l, h, e.first) && has_third(c, l, h, e.last))
        return no_ends(c, l, h, ask, e);
    return SHOAL_OK;
}

static shoal_status choose_label(struct shoal_columns *c, const struct preview *l, struct held *h,
                                 const struct columns_ask *ask)
{
    const char *given = ask->opts->label;
    shoal_status st = SHOAL_OK;

    c->label = given ? columns_find(c, given, strlen(given)) : SIZE_MAX;
    if (given && c->label == SIZE_MAX && !ask->unlabelled)
        return no_column(c, ask->path, "label", (struct span){given, (uint32_t)strlen(given)});
    if (c->label != SIZE_MAX && c->at[c->label].kind == SHOAL_COLUMN_IGNORED)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: --label and --ignore both name \"%.40s\", want one of "
                          "them",
                          ask->path, c->at[c->label].name);
    if (!given && c->dialect.header)
        c->label = find_usual(c, l, h, ask->classes);
    if (c->label == SIZE_MAX && !ask->unlabelled)
        st = guess_label(c, l, h, ask);
    return st != SHOAL_OK || c->label == SIZE_MAX ? st : mark_labels(c, ask);
}

/* ---- all of it ---- */

static shoal_status set_missing(struct shoal_columns *c, const char *list)
{
    struct bytes room = {0};
    struct span text;
    shoal_status st = bytes_reserve(&room, list ? strlen(list) + 1 : 1);

    for (const char *at = usual_missing; !list && *at && st == SHOAL_OK; at += strlen(at) + 1)
        st = columns_add_missing(c, at, strlen(at));
    while (list && st == SHOAL_OK && list_next(&list, &room, &text))
        st = columns_add_missing(c, text.at, text.len);
    bytes_fini(&room);
    return st;
}

shoal_status columns_judge(struct shoal_columns *c, const struct preview *l,
                           const struct columns_ask *ask)
{
    double *x = mem_array(l->rows + 1, sizeof *x);
    bool *given = mem_array(c->n, sizeof *given);
    struct held h = {0};
    shoal_status st = x && given ? held_init(&h, l->rows) : SHOAL_ENOMEM;

    c->rows = l->rows;
    c->all = l->all;
    c->raw = ask->opts->raw;
    if (st == SHOAL_OK)
        st = set_missing(c, ask->opts->missing);
    if (st == SHOAL_OK) /* what is ignored is no label */
        st = give_kind(c, ask->opts->ignore, "ignore", SHOAL_COLUMN_IGNORED, given, ask->path);
    if (st == SHOAL_OK)
        st = choose_label(c, l, &h, ask);
    if (st == SHOAL_OK)
        st = give_kinds(c, ask->opts, given, ask->path);
    for (size_t i = 0; i < c->n && st == SHOAL_OK; i++)
        st = judge_column(c, i, l, &h, x, given[i], ask);
    held_fini(&h);
    free(given);
    free(x);
    return st;
}
