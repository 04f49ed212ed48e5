/* What the verbs say about the columns of a table. */
#include "cmd.h"

#include <math.h>

enum {
    SHOWN = 40, /* columns that are shown one by one */
    VALUES = 4, /* values of a category that are named */
};

/* A value may hold newlines; here it is a part of a line. */
static void make_line(char *text)
{
    for (; *text; text++)
        if (*text == '\n' || *text == '\t')
            *text = ' ';
}

/* Digits by which a number is shown: all of its whole part, for codes and large counts. */
static int digits_of(double x, int least)
{
    int whole = fabs(x) >= 1 && fabs(x) < 1e15 ? (int)log10(fabs(x)) + 1 : 0;

    return whole > least ? whole : least;
}

/* "14102100 to 14102123, mean 14102111", "0.5 to 2.25, mean 1.125" */
static void range_text(char text[SHOAL_SENTENCE], const struct shoal_column_facts *f)
{
    snprintf(text, SHOAL_SENTENCE, "%.*g to %.*g, mean %.*g", digits_of(f->min, 6), f->min,
             digits_of(f->max, 6), f->max, digits_of(f->mean, 4), f->mean);
}

/* "Rome 40.0%, Oslo 30.0%, ..." */
static void values_text(char text[SHOAL_SENTENCE], const shoal_columns *columns, size_t i,
                        const struct shoal_column_facts *f, uint64_t rows)
{
    size_t len = 0;

    text[0] = '\0';
    for (size_t k = 0; k < VALUES && k < f->values && len < SHOAL_SENTENCE; k++) {
        uint64_t count;
        const char *value = shoal_columns_value(columns, i, k, &count);

        len += (size_t)snprintf(text + len, SHOAL_SENTENCE - len, "%s%.40s %s", k > 0 ? ", " : "",
                                value, number_percent((double)count, (double)rows).text);
    }
    if (f->different > VALUES && len < SHOAL_SENTENCE)
        snprintf(text + len, SHOAL_SENTENCE - len, ", ... of %s values",
                 number_count(f->different).text);
    make_line(text);
}

static void column_text(char text[SHOAL_SENTENCE], const shoal_columns *columns, size_t i,
                        const struct shoal_column_facts *f, uint64_t rows)
{
    if (f->why)
        snprintf(text, SHOAL_SENTENCE, "left out: %s", f->why);
    else if (f->values > 0 && (f->kind == SHOAL_COLUMN_CATEGORY ||
                               (f->kind == SHOAL_COLUMN_LABEL && f->different <= 2 * VALUES)))
        values_text(text, columns, i, f, rows);
    else if (isfinite(f->min))
        range_text(text, f);
    else
        snprintf(text, SHOAL_SENTENCE, "%s values", number_count(f->different).text);
}

static void show_column(struct console *c, const shoal_columns *columns, size_t i, uint64_t rows)
{
    struct shoal_column_facts f = shoal_columns_facts(columns, i);
    char text[SHOAL_SENTENCE];

    column_text(text, columns, i, &f, rows);
    if (f.missing > 0)
        console_row(c, f.name, shoal_column_kind_name(f.kind), "%s, missing %s", text,
                    number_percent((double)f.missing, (double)rows).text);
    else
        console_row(c, f.name, shoal_column_kind_name(f.kind), "%s", text);
}

/* How many of each kind are not shown; labels always are. */
static void show_rest(struct console *c, const shoal_columns *columns, size_t from)
{
    size_t kinds[SHOAL_COLUMN_IGNORED + 1] = {0}, n = shoal_columns_count(columns), len = 0, all;
    char text[SHOAL_SENTENCE] = "";

    for (size_t i = from; i < n; i++)
        kinds[shoal_columns_facts(columns, i).kind]++;
    all = n - from - kinds[SHOAL_COLUMN_LABEL];
    kinds[SHOAL_COLUMN_LABEL] = 0;
    for (size_t k = 0; k <= SHOAL_COLUMN_IGNORED; k++)
        if (kinds[k] > 0)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%s %s", len > 0 ? ", " : "",
                                    shoal_column_kind_name((enum shoal_column_kind)k),
                                    number_count(kinds[k]).text);
    console_row(c, "more", number_count(all).text, "%s", text);
}

void report_columns(struct console *c, const shoal_columns *columns)
{
    size_t n = shoal_columns_count(columns), shown = n > SHOWN ? SHOWN / 2 : n;
    bool all;
    uint64_t rows = shoal_columns_rows(columns, &all);

    console_heading(c, "columns");
    for (size_t i = 0; i < n; i++)
        if (i < shown || shoal_columns_facts(columns, i).kind == SHOAL_COLUMN_LABEL)
            show_column(c, columns, i, rows);
    if (shown < n)
        show_rest(c, columns, shown);
    if (!all)
        console_row(c, "looked at", number_count(rows).text, "rows, from all over the input");
}
