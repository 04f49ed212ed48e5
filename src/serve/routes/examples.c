/* Rows that a model keeps as examples, for the form and for the OpenAPI document. */
#include "columns/columns.h"
#include "serve/server.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE_MOST 9007199254740992.0 /* 2^53: beyond, readers of JSON lose digits */

enum { MODELS_TOLD = 20, COLUMNS_TOLD = 100, NUMBER_TEXT = 64 };

/* ---- a row as an object, by the names of its columns ---- */

static bool is_used(const struct column *c)
{
    return c->kind == SHOAL_COLUMN_NUMBER || c->kind == SHOAL_COLUMN_CATEGORY;
}

static shoal_status put_value(struct writer *w, const struct shoal_columns *c, size_t k,
                              struct span f)
{
    struct bytes text = {0};
    char number[NUMBER_TEXT];
    double x;
    shoal_status st = SHOAL_OK;

    put_key(w, c->at[k].name);
    if (column_is_missing(c, f)) {
        put_json(w, "null");
    } else if (c->at[k].kind == SHOAL_COLUMN_NUMBER && column_number(&c->at[k], f, &x) &&
               fabs(x) <= WHOLE_MOST) {
        number_exact(number, sizeof number, x);
        put_json(w, number);
    } else {
        st = bytes_add(&text, f.at, f.len);
        if (st == SHOAL_OK)
            st = bytes_add(&text, "", 1);
        put_text(w, st == SHOAL_OK ? text.at : "");
        bytes_fini(&text);
    }
    return st;
}

/* The fields of a row [c->n]; false: it is none of that table. `room` is where quoted ones lie. */
static bool cut_row(const struct shoal_columns *c, const char *at, size_t len, struct bytes *room,
                    struct span *out)
{
    const char *end = at + len;
    size_t k = 0;

    for (; k < c->n && at <= end; k++, at++) {
        at = field_next(&c->dialect, room, at, end, &out[k]);
        if (!at)
            return false;
    }
    return k == c->n && at > end;
}

static void put_row(struct writer *w, const struct shoal_columns *c, const char *row)
{
    struct bytes text = {0}, room = {0};
    struct span *field = mem_array(c->n, sizeof *field);
    size_t len = strlen(row);
    shoal_status st = field ? bytes_reserve(&text, len + FIELD_PAD) : SHOAL_ENOMEM;

    if (st == SHOAL_OK)
        st = bytes_reserve(&room, len + FIELD_PAD);
    put_open(w, '{');
    if (st == SHOAL_OK) {
        memset(text.at, 0, len + FIELD_PAD);
        memcpy(text.at, row, len);
        if (cut_row(c, text.at, len, &room, field))
            for (size_t k = 0; k < c->n && st == SHOAL_OK; k++)
                if (is_used(&c->at[k]))
                    st = put_value(w, c, k, field[k]);
    }
    put_close(w, "}");
    free(field);
    bytes_fini(&text);
    bytes_fini(&room);
}

/* ---- who asks for them ---- */

void put_examples(struct writer *w, const shoal_logreg *m)
{
    const struct shoal_columns *c = shoal_logreg_reading(m).columns;
    const struct row_examples *e = logreg_examples(m);

    if (e->n == 0)
        return;
    member_open(w, "examples", '[');
    for (unsigned i = 0; i < e->n; i++) {
        put_open(w, '{');
        member_text(w, "text", row_example(e, i));
        if (c && c->n <= COLUMNS_TOLD) {
            put_key(w, "row");
            put_row(w, c, row_example(e, i));
        }
        put_close(w, "}");
    }
    put_close(w, "]");
}

static void put_example_of(struct writer *w, const struct version *v, const shoal_logreg *m,
                           bool json)
{
    const struct shoal_columns *c = shoal_logreg_reading(m).columns;
    const char *row = row_example(logreg_examples(m), 0);

    put_key(w, v->name);
    put_open(w, '{');
    member_text(w, "summary", "a row that this model was trained on");
    put_key(w, "value");
    if (json && c && c->n <= COLUMNS_TOLD)
        put_row(w, c, row);
    else
        put_text(w, row);
    put_close(w, "}");
}

void put_api_examples(struct writer *w, struct registry *r, bool json)
{
    struct lease lease = {0};
    unsigned told = 0;

    while (registry_next(r, NULL, &lease)) {
        const shoal_logreg *m = lease.generation ? model_linear(lease.generation->saved) : NULL;

        if (!m || !lease.version->is_default || logreg_examples(m)->n == 0 || told == MODELS_TOLD)
            continue;
        if (told++ == 0)
            member_open(w, "examples", '{');
        put_example_of(w, lease.version, m, json);
    }
    if (told > 0)
        put_close(w, "}");
}
