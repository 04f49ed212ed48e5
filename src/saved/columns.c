/* The report of the columns that a model learned from. */
#include "saved/kind.h"

#include <math.h>
#include <stdio.h>

enum { SHOWN = 6 }; /* values of a category */

/* All of the whole part, for codes and large counts. */
static int digits_of(double x)
{
    int whole = fabs(x) >= 1 && fabs(x) < 1e15 ? (int)log10(fabs(x)) + 1 : 0;

    return whole > 6 ? whole : 6;
}

/* "4.3 to 7.9", "Rome, Oslo, ... of 12" */
static void describe_values(const struct column *c, char *text, size_t cap)
{
    size_t len = 0;

    text[0] = '\0';
    if (c->kind == SHOAL_COLUMN_ID || c->kind == SHOAL_COLUMN_IGNORED) {
        snprintf(text, cap, "left out%s%s", c->why ? ": " : "", c->why ? c->why : "");
        return;
    }
    if (c->kind == SHOAL_COLUMN_NUMBER || (c->values == 0 && isfinite(c->min))) {
        number_print(text, cap, "%.*g to %.*g", digits_of(c->min), c->min, digits_of(c->max),
                     c->max);
        return;
    }
    for (size_t k = 0; k < SHOWN && k < c->values && len < cap; k++)
        len +=
            (size_t)snprintf(text + len, cap - len, "%s%.40s", k > 0 ? ", " : "", c->value[k].text);
    if (c->different > SHOWN && len < cap)
        snprintf(text + len, cap - len, ", ... of %llu", (unsigned long long)c->different);
    for (char *at = text; *at; at++) /* a value may hold newlines */
        *at = *at == '\n' || *at == '\t' ? ' ' : *at;
}

void report_model_columns(const struct shoal_reporter *to, const struct shoal_columns *c)
{
    static const struct shoal_column columns[] = {{"name", "column", -20},
                                                  {"kind", "kind", 9},
                                                  {"missing", "missing", 10},
                                                  {"range", "range or values", 0}};
    static const struct shoal_grid grid = {"columns", columns, 4};
    char text[512];

    for (size_t i = 0; c && i < c->n; i++) {
        const struct column *at = &c->at[i];

        describe_values(at, text, sizeof text);
        report_row(to, &grid,
                   (struct shoal_value[]){VALUE_TEXT(at->name),
                                          VALUE_TEXT(shoal_column_kind_name(at->kind)),
                                          VALUE_COUNT(at->missing), VALUE_TEXT(text)},
                   0);
    }
}
