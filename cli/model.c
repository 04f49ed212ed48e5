/* What a model says of itself, printed. */
#include "model.h"

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
        *room = number_text("%.4f", v->real);
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
    print_word(to, text);
    fprintf(to, "%*s", width < 0 && pad > 0 ? pad : 0, "");
}

enum { BAR = 10 }; /* columns of a bar behind a row */

/* The last share of a row, which it stands beside, as a bar. */
static void print_bar(FILE *to, const struct shoal_grid *g, const struct shoal_value *cells)
{
    for (size_t i = g->n; i-- > 0;) {
        if (!g->columns[i].label || cells[i].type != SHOAL_SHARE)
            continue;
        if (!isfinite(cells[i].real))
            return;
        fprintf(to, "  %s%s%s", style_on(to, STYLE_CYAN), bar_of(cells[i].real, BAR).text,
                style_on(to, STYLE_PLAIN));
        return;
    }
}

/* Cells, or the head. */
static void print_cells(FILE *to, const struct shoal_grid *g, const struct shoal_value *cells,
                        enum style style, bool bar)
{
    bool first = true;

    fputs(style_on(to, style), to);
    for (size_t i = 0; i < g->n; i++) {
        const struct shoal_column *col = &g->columns[i];
        struct number room;

        if (!col->label)
            continue;
        print_cell(to, cells ? value_text(&cells[i], &room) : col->label, col->width, first);
        first = false;
    }
    fputs(style_on(to, STYLE_PLAIN), to);
    if (bar && cells)
        print_bar(to, g, cells);
    fputc('\n', to);
}

static bool is_shown(const struct shoal_grid *g)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->columns[i].label)
            return true;
    return false;
}

static void view_begin(void *user, const char *title)
{
    struct model_view *v = user;

    if (v->reports++ > 0 && v->console->reports)
        fputc('\n', v->console->reports);
    v->facts = v->rows = 0;
    if (v->path)
        print_line(stdout, "%s: %s\n", v->path, title);
    else if (title)
        console_heading(v->console, title);
}

static void view_fact(void *user, const struct shoal_fact *f)
{
    struct model_view *v = user;

    if (f->label)
        print_fact(v->console, f);
    v->facts += f->label != NULL;
}

/* Counts the row; whether it is the first of its table. */
static bool begins_grid(struct model_view *v, const struct shoal_grid *g)
{
    const char *key = g->key ? g->key : "";
    bool begins = v->rows++ == 0 || strcmp(v->grid, key) != 0;

    if (begins)
        snprintf(v->grid, sizeof v->grid, "%s", key);
    return begins;
}

static void view_row(void *user, const struct shoal_grid *g, const struct shoal_value *cells,
                     unsigned marks)
{
    struct model_view *v = user;
    FILE *to = v->console->reports;

    if (!to || marks & SHOAL_ROW_HIDDEN || !is_shown(g))
        return;
    if (begins_grid(v, g)) {
        fputs(v->facts > 0 || v->rows > 1 ? "\n" : "", to);
        print_cells(to, g, NULL, STYLE_DIM, false);
    }
    print_cells(to, g, cells, marks & SHOAL_ROW_SUM ? STYLE_BOLD : STYLE_PLAIN,
                v->bars && is_screen(to));
}

static void view_warn(void *user, const struct shoal_fact *f)
{
    struct model_view *v = user;
    char *text = note_text(f->note, f->with);

    console_warn(v->console, "%s", text);
    free(text);
}

struct shoal_reporter model_reporter(struct model_view *view)
{
    return (struct shoal_reporter){
        .begin = view_begin, .fact = view_fact, .row = view_row, .warn = view_warn, .user = view};
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

static void json_list(void *user, const char *model, const char *list)
{
    struct model_view *v = user;

    v->list = true;
    out_open(&v->json, '{');
    out_put_string(&v->json, model, v->path);
    out_key(&v->json, list);
    out_open(&v->json, '[');
}

static void end_report(struct model_view *v)
{
    if (v->rows > 0)
        out_close(&v->json, ']');
    if (v->reports > 0)
        out_close(&v->json, '}');
    if (v->reports > 0 && !v->list)
        out_line(&v->json);
    v->rows = 0;
}

static void json_begin(void *user, const char *title)
{
    struct model_view *v = user;

    (void)title;
    end_report(v);
    v->reports++;
    out_open(&v->json, '{');
}

static void json_fact(void *user, const struct shoal_fact *f)
{
    struct model_view *v = user;

    if (!f->key)
        return;
    out_key(&v->json, f->key);
    put_value(&v->json, &f->value);
}

/* An object, or a list where the columns have no names. */
static void put_row(struct json *j, const struct shoal_grid *g, const struct shoal_value *cells)
{
    bool list = false;

    for (size_t i = 0; i < g->n; i++)
        list = list || (g->columns[i].key && !*g->columns[i].key);
    out_open(j, list ? '[' : '{');
    for (size_t i = 0; i < g->n; i++) {
        if (!g->columns[i].key)
            continue;
        if (!list)
            out_key(j, g->columns[i].key);
        put_value(j, &cells[i]);
    }
    out_close(j, list ? ']' : '}');
}

static void json_row(void *user, const struct shoal_grid *g, const struct shoal_value *cells,
                     unsigned marks)
{
    struct model_view *v = user;

    (void)marks;
    if (!g->key)
        return;
    if (begins_grid(v, g)) {
        if (v->rows > 1)
            out_close(&v->json, ']');
        out_key(&v->json, g->key);
        out_open(&v->json, '[');
    }
    put_row(&v->json, g, cells);
}

struct shoal_reporter model_json_reporter(struct model_view *view)
{
    return (struct shoal_reporter){.list = json_list,
                                   .begin = json_begin,
                                   .fact = json_fact,
                                   .row = json_row,
                                   .warn = view_warn,
                                   .user = view};
}

void model_json_end(struct model_view *v)
{
    end_report(v);
    if (v->list) {
        out_close(&v->json, ']');
        out_close(&v->json, '}');
        out_line(&v->json);
    }
}

/* ---- Vectors ---------------------------------------------------------------------------- */

/* "1 vector without a word" */
static void add_left(FILE *to, uint64_t n, const char *what, const char *before)
{
    if (n > 0)
        fprintf(to, "%s%s vector%s %s", before, number_count(n).text, n == 1 ? "" : "s", what);
}

shoal_status vectors_accept(struct console *c, const char *path, const shoal_vectors *v,
                            bool strict)
{
    struct shoal_left_out left = v ? shoal_vectors_left_out(v) : (struct shoal_left_out){0};
    char *text = NULL;
    size_t len;
    FILE *to;

    if (v && strict)
        return shoal_vectors_strict(v);
    if (left.twice + left.empty == 0 || !(to = open_memstream(&text, &len)))
        return SHOAL_OK;
    add_left(to, left.twice, "of words that stood there before", "");
    add_left(to, left.empty, "without a word", left.twice > 0 ? " and " : "");
    fclose(to);
    console_warn(c, "%s: left out %s", path, text);
    free(text);
    return SHOAL_OK;
}
