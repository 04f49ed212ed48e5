/* The tables and pictures of a classic: as text, CSV and HTML, as SVG and PNG. */
#include "study/classic.h"
#include "study/draw/draw.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct value {
    double x;      /* of a number */
    char word[96]; /* of a column of words */
};

struct sheet {
    char name[32], title[160];
    struct {
        char head[40];
        enum sheet_as as;
    } columns[SHEET_COLUMNS];
    size_t ncolumns;
    struct value *values; /* [nrows][SHEET_COLUMNS] */
    size_t nrows, cap;
    size_t filled;      /* values of the last row */
    struct prose notes; /* lines */
    shoal_status status;
};

struct picture {
    char name[32], x_label[64], y_label[64];
    struct chart chart;
};

struct book {
    struct sheet sheets[SHEETS];
    size_t nsheets;
    struct picture pictures[CHARTS];
    size_t npictures;
    struct prose notes;  /* lines */
    struct prose blocks; /* title, text, title, text: each ended by a NUL */
    shoal_status status;
};

struct book *book_new(void)
{
    return mem_array(1, sizeof(struct book));
}

void book_free(struct book *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->nsheets; i++) {
        free(b->sheets[i].values);
        prose_fini(&b->sheets[i].notes);
    }
    for (size_t i = 0; i < b->npictures; i++)
        chart_fini(&b->pictures[i].chart);
    prose_fini(&b->notes);
    prose_fini(&b->blocks);
    free(b);
}

static void status_keep(shoal_status *at, shoal_status st)
{
    if (*at == SHOAL_OK)
        *at = st;
}

shoal_status book_status(const struct book *b)
{
    shoal_status st = b->status;

    for (size_t i = 0; i < b->nsheets; i++) {
        status_keep(&st, b->sheets[i].status);
        status_keep(&st, b->sheets[i].notes.status);
    }
    for (size_t i = 0; i < b->npictures; i++)
        status_keep(&st, b->pictures[i].chart.status);
    status_keep(&st, b->notes.status);
    status_keep(&st, b->blocks.status);
    return st;
}

/* ---- filling: tables ---- */

struct sheet *book_sheet(struct book *b, const char *name, const char *title, ...)
{
    struct sheet *s = &b->sheets[b->nsheets];
    va_list args;

    assert(b->nsheets < SHEETS);
    b->nsheets++;
    snprintf(s->name, sizeof s->name, "%s", name);
    va_start(args, title);
    number_vprint(s->title, sizeof s->title, title, args);
    va_end(args);
    return s;
}

void sheet_column(struct sheet *s, const char *head, enum sheet_as as)
{
    assert(s->ncolumns < SHEET_COLUMNS);
    snprintf(s->columns[s->ncolumns].head, sizeof s->columns[0].head, "%s", head);
    s->columns[s->ncolumns++].as = as;
}

/* What is not given of a row was not measured. */
void sheet_row(struct sheet *s)
{
    struct value *row;

    if (s->status == SHOAL_OK)
        s->status = mem_grow((void **)&s->values, &s->cap, (s->nrows + 1) * SHEET_COLUMNS,
                             sizeof *s->values);
    if (s->status != SHOAL_OK)
        return;
    row = s->values + s->nrows++ * SHEET_COLUMNS;
    for (size_t k = 0; k < SHEET_COLUMNS; k++)
        row[k] = (struct value){.x = (double)NAN};
    s->filled = 0;
}

static struct value *next_value(struct sheet *s)
{
    assert(s->filled < s->ncolumns);
    return &s->values[(s->nrows - 1) * SHEET_COLUMNS + s->filled++];
}

void sheet_number(struct sheet *s, double x)
{
    if (s->status == SHOAL_OK)
        next_value(s)->x = x;
}

void sheet_word(struct sheet *s, const char *fmt, ...)
{
    va_list args;

    if (s->status != SHOAL_OK)
        return;
    va_start(args, fmt);
    number_vprint(next_value(s)->word, sizeof s->values[0].word, fmt, args);
    va_end(args);
}

void sheet_note(struct sheet *s, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    prose_vadd(&s->notes, fmt, args);
    va_end(args);
    prose_add(&s->notes, "\n");
}

void book_note(struct book *b, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    prose_vadd(&b->notes, fmt, args);
    va_end(args);
    prose_add(&b->notes, "\n");
}

void book_block(struct book *b, const char *title, const char *text)
{
    status_keep(&b->status, bytes_add(&b->blocks.bytes, title, strlen(title) + 1));
    status_keep(&b->status, bytes_add(&b->blocks.bytes, text, strlen(text) + 1));
}

/* ---- filling: pictures ---- */

static enum axis axis_of(enum book_axis axis)
{
    return axis == BY_SECONDS ? AXIS_SECONDS : axis == BY_COUNT ? AXIS_COUNT : AXIS_PLAIN;
}

void book_chart(struct book *b, const char *name, const char *title, const char *x_label,
                enum book_axis x, const char *y_label, enum book_axis y)
{
    struct picture *p = &b->pictures[b->npictures];
    struct chart *c = &p->chart;

    assert(b->npictures < CHARTS);
    b->npictures++;
    snprintf(p->name, sizeof p->name, "%s", name);
    snprintf(p->x_label, sizeof p->x_label, "%s", x_label);
    snprintf(p->y_label, sizeof p->y_label, "%s", y_label);
    snprintf(c->title, sizeof c->title, "%s", title);
    c->name = p->name;
    c->x_label = p->x_label;
    c->y_label = p->y_label;
    c->x_axis = axis_of(x);
    c->y_axis = axis_of(y);
    c->x_log = x == BY_NODES || x == BY_LOG;
    c->y_log = y == BY_LOG;
    c->from_zero = y == BY_SECONDS || y == BY_COUNT;
}

static struct picture *last_picture(struct book *b)
{
    assert(b->npictures > 0);
    return &b->pictures[b->npictures - 1];
}

void book_line(struct book *b, const char *fmt, ...)
{
    char name[96];
    va_list args;

    va_start(args, fmt);
    number_vprint(name, sizeof name, fmt, args);
    va_end(args);
    chart_line(&last_picture(b)->chart, name);
}

void book_ideal(struct book *b, const char *name)
{
    struct line *line = chart_line(&last_picture(b)->chart, name);

    if (line)
        line->ideal = true;
}

/* Values of the x axis that charts over nodes or batches are marked at: those of the points. */
static void mark_tick(struct chart *c, double x)
{
    size_t i = 0;

    while (i < c->nx_ticks && c->x_ticks[i] < x)
        i++;
    if (c->nx_ticks == TICKS || (i < c->nx_ticks && c->x_ticks[i] == x))
        return;
    memmove(&c->x_ticks[i + 1], &c->x_ticks[i], (c->nx_ticks - i) * sizeof *c->x_ticks);
    c->x_ticks[i] = x;
    c->nx_ticks++;
}

void book_point(struct book *b, double x, double y)
{
    struct chart *c = &last_picture(b)->chart;

    assert(c->nlines > 0);
    if (!isfinite(x) || !isfinite(y))
        return;
    chart_line_add(c, &c->lines[c->nlines - 1], x, y);
    if (c->x_log)
        mark_tick(c, x);
}

/* ---- a value ---- */

/* 12,345 */
static struct short_number number_whole(double x)
{
    struct short_number n = number_as("-"), digits;
    size_t len, out = 0;

    if (!isfinite(x))
        return n;
    digits = number_as("%.0f", x);
    len = strlen(digits.text);
    for (size_t i = 0; i < len && out + 2 < sizeof n.text; i++) {
        n.text[out++] = digits.text[i];
        if ((len - i - 1) % 3 == 0 && i + 1 < len && digits.text[i] != '-')
            n.text[out++] = ',';
    }
    n.text[out] = '\0';
    return n;
}

static struct short_number number_points(double x)
{
    return isfinite(x) ? number_as("%.4f", x) : number_as("-");
}

static struct short_number (*const shows[])(double) = {
    [AS_WORD] = NULL,          [AS_COUNT] = number_whole,   [AS_SHORT] = number_short,
    [AS_PLAIN] = number_plain, [AS_TIME] = number_time,     [AS_BYTES] = number_bytes,
    [AS_SHARE] = number_share, [AS_POINTS] = number_points,
};

static struct name value_text(const struct sheet *s, size_t row, size_t column)
{
    const struct value *v = &s->values[row * SHEET_COLUMNS + column];
    enum sheet_as as = s->columns[column].as;
    struct name name;

    if (as == AS_WORD)
        snprintf(name.text, sizeof name.text, "%s", *v->word ? v->word : "-");
    else
        snprintf(name.text, sizeof name.text, "%s", shows[as](v->x).text);
    return name;
}

/* ---- as text ---- */

static size_t columns_of(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static size_t column_width(const struct sheet *s, size_t k)
{
    size_t width = columns_of(s->columns[k].head);

    for (size_t i = 0; i < s->nrows; i++) {
        size_t len = columns_of(value_text(s, i, k).text);

        width = len > width ? len : width;
    }
    return width;
}

/* A field and the two spaces before the next; words stand to the left. */
static void text_field(struct prose *t, const struct sheet *s, size_t k, const char *text)
{
    int pad = (int)(column_width(s, k) - columns_of(text));

    if (s->columns[k].as == AS_WORD)
        prose_add(t, "%s%*s", text, k + 1 < s->ncolumns ? pad : 0, "");
    else
        prose_add(t, "%*s%s", pad, "", text);
    prose_add(t, k + 1 < s->ncolumns ? "  " : "\n");
}

static void sheet_text(struct prose *t, const struct sheet *s)
{
    prose_add(t, "%s\n\n", s->title);
    for (size_t k = 0; k < s->ncolumns; k++)
        text_field(t, s, k, s->columns[k].head);
    for (size_t i = 0; i < s->nrows; i++)
        for (size_t k = 0; k < s->ncolumns; k++)
            text_field(t, s, k, value_text(s, i, k).text);
    if (s->notes.bytes.len > 0)
        prose_add(t, "\n%.*s", (int)s->notes.bytes.len, s->notes.bytes.at);
}

/* Each block: its title, then its text; false behind the last. */
static bool block_next(const struct book *b, size_t *at, const char **title, const char **text)
{
    if (*at >= b->blocks.bytes.len)
        return false;
    *title = b->blocks.bytes.at + *at;
    *text = *title + strlen(*title) + 1;
    *at += strlen(*title) + strlen(*text) + 2;
    return true;
}

void book_text(struct prose *t, const struct book *b)
{
    const char *title, *text;
    size_t at = 0;

    for (size_t i = 0; i < b->nsheets; i++) {
        prose_add(t, i > 0 ? "\n\n" : "");
        sheet_text(t, &b->sheets[i]);
    }
    while (block_next(b, &at, &title, &text))
        prose_add(t, "\n\n%s\n\n%s", title, text);
    if (b->notes.bytes.len > 0)
        prose_add(t, "\n\nNotes\n\n%.*s", (int)b->notes.bytes.len, b->notes.bytes.at);
}

/* ---- as CSV ---- */

static void csv_word(struct prose *t, const char *word)
{
    prose_add(t, "\"");
    for (; *word; word++)
        prose_add(t, *word == '"' ? "\"\"" : "%c", *word);
    prose_add(t, "\"");
}

static void csv_value(struct prose *t, const struct value *v, enum sheet_as as)
{
    if (as == AS_WORD)
        csv_word(t, v->word);
    else if (isinf(v->x))
        prose_add(t, "never");
    else if (!isnan(v->x))
        prose_add(t, "%.9g", v->x);
}

static void sheet_csv(struct prose *t, const struct sheet *s)
{
    for (size_t k = 0; k < s->ncolumns; k++) {
        csv_word(t, s->columns[k].head);
        prose_add(t, k + 1 < s->ncolumns ? "," : "\n");
    }
    for (size_t i = 0; i < s->nrows; i++)
        for (size_t k = 0; k < s->ncolumns; k++) {
            csv_value(t, &s->values[i * SHEET_COLUMNS + k], s->columns[k].as);
            prose_add(t, k + 1 < s->ncolumns ? "," : "\n");
        }
}

/* ---- as HTML ---- */

static void html_lines(struct prose *t, const struct prose *lines)
{
    const char *at = lines->bytes.at, *end;
    size_t len = lines->bytes.len;

    while (len > 0 && (end = memchr(at, '\n', len)) != NULL) {
        char line[1024];

        snprintf(line, sizeof line, "%.*s", (int)(end - at), at);
        prose_wrap(t, "<p>", line, "</p>\n");
        len -= (size_t)(end + 1 - at);
        at = end + 1;
    }
}

/* Lines stay lines, which prose_escape would make one of. */
static void html_block(struct prose *t, const char *text)
{
    prose_add(t, "<pre>");
    while (*text) {
        size_t len = strcspn(text, "\n");
        char line[1024];

        snprintf(line, sizeof line, "%.*s", (int)len, text);
        prose_wrap(t, "", line, "\n");
        text += len + (text[len] == '\n');
    }
    prose_add(t, "</pre>\n");
}

static void sheet_html(struct prose *t, const struct sheet *s)
{
    page_section(t, s->title);
    page_wide(t, s->title);
    prose_add(t, "<table>\n<tr>");
    for (size_t k = 0; k < s->ncolumns; k++)
        prose_wrap(t, s->columns[k].as == AS_WORD ? "<th class=\"w\">" : "<th>", s->columns[k].head,
                   "</th>");
    for (size_t i = 0; i < s->nrows; i++) {
        prose_add(t, "</tr>\n<tr>");
        for (size_t k = 0; k < s->ncolumns; k++)
            prose_wrap(t, s->columns[k].as == AS_WORD ? "<td class=\"w\">" : "<td>",
                       value_text(s, i, k).text, "</td>");
    }
    prose_add(t, "</tr>\n</table></div>\n");
    if (s->notes.bytes.len == 0)
        return;
    prose_add(t, "<div class=\"said\">");
    html_lines(t, &s->notes);
    prose_add(t, "</div>\n");
}

/* Charts that follow one another under one name are panels of one figure. */
static size_t panels_from(const struct book *b, size_t i)
{
    size_t n = 1;

    while (i + n < b->npictures && strcmp(b->pictures[i].name, b->pictures[i + n].name) == 0)
        n++;
    return n;
}

static void draw_panels(struct album *a, struct book *b, size_t from, size_t n)
{
    struct chart *charts = mem_array(n, sizeof *charts);

    if (!charts) {
        status_keep(&a->status, SHOAL_ENOMEM);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        charts[i] = b->pictures[from + i].chart;
        b->pictures[from + i].chart.nlines = 0; /* the album ends them */
    }
    album_panels(a, b->pictures[from].name, "", charts, n);
    free(charts);
}

static void draw_pictures(struct album *a, struct book *b)
{
    for (size_t i = 0, n; i < b->npictures; i += n) {
        n = panels_from(b, i);
        if (n > 1) {
            draw_panels(a, b, i, n);
        } else {
            album_chart(a, &b->pictures[i].chart, 1);
            b->pictures[i].chart.nlines = 0;
        }
    }
}

static shoal_status write_page(struct book *b, const char *folder, const char *figures,
                               const char *title, const char *under)
{
    struct prose t = {0};
    struct album a = {.page = &t, .plots = figures};
    const char *head, *text;
    size_t at = 0;
    shoal_status st;

    page_begin(&t, title, under);
    album_begin(&a, "Pictures");
    draw_pictures(&a, b);
    album_end(&a);
    for (size_t i = 0; i < b->nsheets; i++)
        sheet_html(&t, &b->sheets[i]);
    while (block_next(b, &at, &head, &text)) {
        page_section(&t, head);
        html_block(&t, text);
    }
    page_section(&t, "Notes");
    html_lines(&t, &b->notes);
    page_end(&t);
    st = a.status;
    if (st == SHOAL_OK)
        st = prose_write_in(&t, folder, "report.html");
    prose_fini(&t);
    return st;
}

/* ---- files ---- */

static shoal_status write_sheet(const struct sheet *s, const char *folder)
{
    struct prose text = {0}, csv = {0};
    char name[48];
    shoal_status st;

    sheet_text(&text, s);
    sheet_csv(&csv, s);
    snprintf(name, sizeof name, "%s.txt", s->name);
    st = prose_write_in(&text, folder, name);
    snprintf(name, sizeof name, "%s.csv", s->name);
    if (st == SHOAL_OK)
        st = prose_write_in(&csv, folder, name);
    prose_fini(&text);
    prose_fini(&csv);
    return st;
}

static shoal_status write_sheets(const struct book *b, const char *folder)
{
    shoal_status st = SHOAL_OK;

    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return shoal_fail_errno(SHOAL_EIO, "%s", folder);
    for (size_t i = 0; i < b->nsheets && st == SHOAL_OK; i++)
        st = write_sheet(&b->sheets[i], folder);
    return st;
}

shoal_status book_write(struct book *b, const char *folder, const char *title, const char *under)
{
    struct prose tables = {0}, figures = {0};
    shoal_status st;

    prose_add(&tables, "%s/tables", folder);
    prose_add(&figures, "%s/figures", folder);
    st = tables.status != SHOAL_OK ? tables.status : figures.status;
    if (st == SHOAL_OK)
        st = write_sheets(b, tables.bytes.at);
    if (st == SHOAL_OK)
        st = write_page(b, folder, figures.bytes.at, title, under);
    prose_fini(&tables);
    prose_fini(&figures);
    return st;
}
