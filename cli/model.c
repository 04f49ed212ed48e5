/* What a model says of itself, printed. */
#include "model.h"
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- For people ------------------------------------------------------------------- */

static const char *value_text(const struct shoal_value *v, struct number *room)
{
    const char *unknown = v->type == SHOAL_SHARE ? "-" : "unknown";

    if (v->type == SHOAL_TEXT)
        return v->text;
    if (v->type == SHOAL_COUNT)
        *room = number_count(v->count);
    else if (v->type == SHOAL_BYTES)
        *room = number_size(v->count);
    else if (!isfinite(v->real))
        return unknown;
    else if (v->type == SHOAL_SHARE)
        *room = number_percent(v->real, 1);
    else
        snprintf(room->text, sizeof room->text, "%.4f", v->real);
    return room->text;
}

/* The note, in which each % is one of two values; for free(). */
static char *note_text(const char *note, const struct shoal_value with[2])
{
    struct number room[2];
    const char *value[2] = {value_text(&with[0], &room[0]), value_text(&with[1], &room[1])};
    size_t cap = strlen(note) + 1, len = 0, next = 0;
    char *text;

    for (size_t i = 0; i < 2; i++)
        cap += value[i] ? strlen(value[i]) : 0;
    text = console_alloc(cap);
    for (; *note; note++) {
        if (*note == '%' && next < 2 && value[next])
            len += (size_t)snprintf(text + len, cap - len, "%s", value[next++]);
        else
            text[len++] = *note;
    }
    return text;
}

static void print_fact(struct console *c, const struct shoal_fact *f)
{
    char *note = f->note ? note_text(f->note, f->with) : NULL;
    struct number room;

    if (*f->label)
        console_row(c, f->label, value_text(&f->value, &room), note ? "%s" : NULL, note);
    else if (c->reports)
        print_line(c->reports, "%s\n", value_text(&f->value, &room));
    free(note);
}

static void print_cell(FILE *to, const char *text, int width, bool first)
{
    int pad = abs(width) - (int)text_columns(text);

    fprintf(to, "%s%*s", first ? "" : "  ", width > 0 && pad > 0 ? pad : 0, "");
    print_safely(to, text);
    fprintf(to, "%*s", width < 0 && pad > 0 ? pad : 0, "");
}

/* Row i, or the head. */
static void print_row(FILE *to, const struct shoal_model_report *r, const struct shoal_value *cells,
                      enum style style)
{
    bool first = true;

    fputs(style_on(to, style), to);
    for (size_t i = 0; i < r->ncolumns; i++) {
        struct number room;

        if (!r->columns[i].label)
            continue;
        print_cell(to, cells ? value_text(&cells[i], &room) : r->columns[i].label,
                   r->columns[i].width, first);
        first = false;
    }
    fprintf(to, "%s\n", style_on(to, STYLE_PLAIN));
}

static bool has_table(const struct shoal_model_report *r)
{
    for (size_t i = 0; i < r->ncolumns && r->nrows > 0; i++)
        if (r->columns[i].label)
            return true;
    return false;
}

static void print_table(FILE *to, const struct shoal_model_report *r, bool apart)
{
    fputs(apart ? "\n" : "", to);
    print_row(to, r, NULL, STYLE_DIM);
    for (size_t i = 0; i < r->nrows; i++)
        if (!(r->marks[i] & SHOAL_ROW_HIDDEN))
            print_row(to, r, r->cells + i * r->ncolumns,
                      r->marks[i] & SHOAL_ROW_SUM ? STYLE_BOLD : STYLE_PLAIN);
}

void model_print(struct console *c, const struct shoal_model_report *r)
{
    bool facts = false;

    for (size_t i = 0; i < r->nfacts; i++)
        if (r->facts[i].label) {
            print_fact(c, &r->facts[i]);
            facts = true;
        }
    if (c->reports && has_table(r))
        print_table(c->reports, r, facts);
}

void model_warn(struct console *c, const struct shoal_model_report *r)
{
    char *text = r->warning ? note_text(r->warning, r->warning_with) : NULL;

    if (text)
        console_warn(c, "%s", text);
    free(text);
}

/* ---- For programs -------------------------------------------------------------------- */

static void put_value(struct json *j, const struct shoal_value *v)
{
    if (v->type == SHOAL_TEXT)
        out_string(j, v->text);
    else if (v->type == SHOAL_COUNT || v->type == SHOAL_BYTES)
        out_count(j, v->count);
    else
        out_real(j, v->real);
}

/* An object, or a list where the columns have no names. */
static void put_row(struct json *j, const struct shoal_model_report *r,
                    const struct shoal_value *cells)
{
    bool list = false;

    for (size_t i = 0; i < r->ncolumns; i++)
        list = list || (r->columns[i].key && !*r->columns[i].key);
    out_open(j, list ? '[' : '{');
    for (size_t i = 0; i < r->ncolumns; i++) {
        if (!r->columns[i].key)
            continue;
        if (!list)
            out_key(j, r->columns[i].key);
        put_value(j, &cells[i]);
    }
    out_close(j, list ? ']' : '}');
}

static void put_report(struct json *j, const struct shoal_model_report *r)
{
    out_open(j, '{');
    for (size_t i = 0; i < r->nfacts; i++)
        if (r->facts[i].key) {
            out_key(j, r->facts[i].key);
            put_value(j, &r->facts[i].value);
        }
    if (r->grid) {
        out_key(j, r->grid);
        out_open(j, '[');
        for (size_t i = 0; i < r->nrows; i++)
            put_row(j, r, r->cells + i * r->ncolumns);
        out_close(j, ']');
    }
    out_close(j, '}');
}

void model_print_json(const char *path, const shoal_model_reports *all)
{
    struct json j = {.to = stdout};
    const char *model, *list;
    bool one = shoal_model_reports_list(all, &model, &list);

    if (one) {
        out_open(&j, '{');
        out_put_string(&j, model, path);
        out_key(&j, list);
        out_open(&j, '[');
    }
    for (size_t i = 0; i < shoal_model_reports_size(all); i++) {
        put_report(&j, shoal_model_reports_at(all, i));
        if (!one)
            out_line(&j);
    }
    if (one) {
        out_close(&j, ']');
        out_close(&j, '}');
        out_line(&j);
    }
}
