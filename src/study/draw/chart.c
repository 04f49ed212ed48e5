/* Lines over axes. */
#include "study/draw/draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TOP = 34,      /* of the plot, below the title */
    HEIGHT = 210,  /* of the plot */
    SIGNS = 24,    /* lines of so many points have a sign at each */
    SHOWN = 400,   /* points of a line that are drawn */
    HOVERED = 120, /* and of those that show their values */
};

/* ---- building ---- */

void chart_fini(struct chart *c)
{
    for (size_t i = 0; i < c->nlines; i++)
        free(c->lines[i].at);
}

struct line *chart_line(struct chart *c, const char *name)
{
    struct line *line = &c->lines[c->nlines];

    if (c->nlines == CHART_LINES)
        return NULL;
    c->nlines++;
    snprintf(line->name.text, sizeof line->name.text, "%s", name);
    return line;
}

/* Sums and differences of what is drawn stay finite, and logarithms too. */
static bool shows(double x, bool log)
{
    return fabs(x) <= 1e300 && (!log || x >= 1e-300);
}

void chart_line_add(struct chart *c, struct line *line, double x, double y)
{
    if (!line || c->status != SHOAL_OK || !shows(x, c->x_log) || !shows(y, c->y_log))
        return;
    c->status = mem_grow((void **)&line->at, &line->cap, line->n + 1, sizeof *line->at);
    if (c->status != SHOAL_OK)
        return;
    line->at[line->n].x = x;
    line->at[line->n++].y = y;
}

bool chart_seen(const struct chart *c, size_t least)
{
    for (size_t i = 0; i < c->nlines; i++)
        if (c->lines[i].n >= least && !c->lines[i].ideal)
            return true;
    return false;
}

/* ---- drawing ---- */

struct frame {
    const struct chart *chart;
    struct scale x, y;
    double left; /* of the plot; its right is FIGURE_WIDTH - FIGURE_RIGHT */
};

static struct scale scale_over(const struct chart *c, bool y)
{
    double least = INFINITY, most = -INFINITY;

    for (size_t i = 0; i < c->nlines; i++)
        for (size_t k = 0; k < c->lines[i].n; k++) {
            double v = y ? c->lines[i].at[k].y : c->lines[i].at[k].x;

            least = fmin(least, v);
            most = fmax(most, v);
        }
    if (c->to_one || least > most)
        least = fmin(least, 0), most = fmax(most, 1);
    return y ? scale_of(least, most, c->y_axis, c->y_log, c->from_zero)
             : scale_of(least, most, c->x_axis, c->x_log,
                        c->x_axis == AXIS_SECONDS || c->x_axis == AXIS_COUNT);
}

static double px(const struct frame *f, double x)
{
    return figure_x(&f->x, f->left, x);
}

static double py(const struct frame *f, double y)
{
    return TOP + (1 - scale_at(&f->y, y)) * HEIGHT;
}

/* An x axis of given values, such as workers or batches: ticks there and nowhere else. */
static struct scale scale_at_ticks(const struct chart *c)
{
    double from = c->x_ticks[0], to = c->x_ticks[c->nx_ticks - 1];
    struct scale s = {.from = from, .to = to, .log = c->x_log, .by = 1, .unit = ""};

    if (!(to > from)) {
        s.from = from / 2;
        s.to = from * 3 / 2;
    }
    memcpy(s.ticks, c->x_ticks, sizeof s.ticks);
    s.nticks = c->nx_ticks;
    return s;
}

static struct frame frame_of(const struct chart *c)
{
    struct frame f = {.chart = c, .y = scale_over(c, true)};
    double widest = 0;

    f.x = c->nx_ticks > 0 ? scale_at_ticks(c) : scale_over(c, false);

    for (size_t i = 0; i < f.y.nticks; i++)
        widest = fmax(widest, canvas_width(scale_tick(&f.y, f.y.ticks[i]).text));
    f.left = 32 + widest;
    return f;
}

static void draw_axes(struct canvas *c, const struct frame *f)
{
    double right = FIGURE_WIDTH - FIGURE_RIGHT, bottom = TOP + HEIGHT, next = -INFINITY;
    struct path around = {0};

    for (size_t i = 0; i < f->y.nticks; i++) {
        double y = py(f, f->y.ticks[i]);

        canvas_line(c, (struct ink){INK_GRID, 0}, f->left, y, right, y);
        canvas_label(c, ANCHOR_END, f->left - 6, y + 4, 0, scale_tick(&f->y, f->y.ticks[i]).text);
    }
    for (size_t i = 0; i < f->x.nticks; i++) {
        double x = px(f, f->x.ticks[i]);
        struct short_number tick = scale_tick(&f->x, f->x.ticks[i]);
        double half = canvas_width(tick.text) / 2;

        canvas_line(c, (struct ink){INK_AXIS, 0}, x, bottom, x, bottom + 5);
        if (x - half < next)
            continue; /* it would touch the one before */
        canvas_label(c, ANCHOR_MIDDLE, fmin(x, FIGURE_WIDTH - 4 - half), bottom + 18, 0, tick.text);
        next = x + half + 6;
    }
    path_add(&around, f->left, TOP);
    path_add(&around, f->left, bottom);
    path_add(&around, right, bottom);
    canvas_path(c, (struct ink){INK_AXIS, 0}, &around);
}

static void draw_labels(struct canvas *c, const struct frame *f)
{
    char label[96];

    scale_label(label, f->chart->x_label, &f->x);
    canvas_label(c, ANCHOR_MIDDLE, (f->left + FIGURE_WIDTH - FIGURE_RIGHT) / 2, TOP + HEIGHT + 38,
                 FIGURE_WIDTH - FIGURE_RIGHT - f->left, label);
    scale_label(label, f->chart->y_label, &f->y);
    canvas_words(c, (struct words){.anchor = ANCHOR_MIDDLE,
                                   .x = 16,
                                   .y = TOP + HEIGHT / 2,
                                   .upwards = true,
                                   .most = TOP + HEIGHT,
                                   .text = label});
}

/* A circle, square, triangle or diamond of the line's colour. */
static void draw_sign(struct canvas *c, size_t colour, double x, double y)
{
    static const struct {
        size_t n;
        double at[4][2]; /* from the middle */
    } signs[] = {{0, {{0}}},
                 {4, {{-3.2, -3.2}, {3.2, -3.2}, {3.2, 3.2}, {-3.2, 3.2}}},
                 {3, {{0, -4.4}, {4.2, 2.8}, {-4.2, 2.8}}},
                 {4, {{0, -4.4}, {4.4, 0}, {0, 4.4}, {-4.4, 0}}}};
    struct ink ink = {INK_SIGN, colour};
    struct path p = {.closed = true};
    size_t k = colour % 4;

    for (size_t i = 0; i < signs[k].n; i++)
        path_add(&p, x + signs[k].at[i][0], y + signs[k].at[i][1]);
    if (p.n > 0)
        canvas_path(c, ink, &p);
    else
        canvas_circle(c, ink, x, y, 3.5, NULL);
}

static struct ink ink_of(const struct line *line, size_t colour)
{
    return (struct ink){line->ideal ? INK_IDEAL : INK_LINE, colour};
}

static bool has_signs(const struct line *line)
{
    return !line->ideal && line->n <= SIGNS;
}

/* Thins out n points to about `most`: every so many of them, and the last. */
static bool is_drawn(size_t i, size_t n, size_t most)
{
    size_t stride = (n + most - 1) / most;

    return i % stride == 0 || i == n - 1;
}

static void draw_line(struct canvas *c, const struct frame *f, const struct line *line,
                      size_t colour)
{
    struct path p = {0};

    for (size_t i = 0; i < line->n; i++)
        if (is_drawn(i, line->n, SHOWN))
            path_add(&p, px(f, line->at[i].x), py(f, line->at[i].y));
    for (size_t i = 0; i < p.n && line->dots; i++)
        canvas_circle(c, (struct ink){INK_SIGN, colour}, p.at[i].x, p.at[i].y, 2, NULL);
    if (!line->dots)
        canvas_path(c, ink_of(line, colour), &p);
    for (size_t i = 0; i < line->n && has_signs(line) && !line->dots; i++)
        draw_sign(c, colour, px(f, line->at[i].x), py(f, line->at[i].y));
}

/* The values of points, shown while the pointer is over them. */
static void draw_answers(struct canvas *c, const struct frame *f, const struct line *line)
{
    const struct chart *chart = f->chart;

    for (size_t i = 0; i < line->n && !line->ideal; i++) {
        char title[TITLE_MOST];

        if (!is_drawn(i, line->n, HOVERED))
            continue;
        number_print(title, sizeof title, "%s%s%.96s %s, %.96s %s", line->name.text,
                     *line->name.text ? ": " : "", chart->x_label,
                     axis_value(chart->x_axis, line->at[i].x).text, chart->y_label,
                     axis_value(chart->y_axis, line->at[i].y).text);
        canvas_circle(c, (struct ink){INK_HOVER, 0}, px(f, line->at[i].x), py(f, line->at[i].y), 7,
                      title);
    }
}

void chart_draw(struct canvas *c, const struct chart *chart, const struct chart_key *k)
{
    struct frame f = frame_of(chart);

    figure_title(c, chart->title, FIGURE_WIDTH);
    draw_axes(c, &f);
    draw_labels(c, &f);
    for (size_t i = 0; i < chart->nlines; i++)
        if (chart->lines[i].n > 0)
            draw_line(c, &f, &chart->lines[i], k->at[key_find(k, chart, i)].colour);
    for (size_t i = 0; i < chart->nlines; i++)
        draw_answers(c, &f, &chart->lines[i]);
}

/* ---- its numbers ---- */

static void put_axis(struct prose *t, const char *name, const char *label, enum axis axis)
{
    static const char *const kinds[] = {[AXIS_PLAIN] = "plain", [AXIS_SECONDS] = "seconds",
                                        [AXIS_COUNT] = "count", [AXIS_BYTES] = "bytes",
                                        [AXIS_SHARE] = "share"};

    prose_add(t, "\"%s\":{\"label\":", name);
    prose_json(t, label);
    prose_add(t, ",\"kind\":\"%s\"},", kinds[axis]);
}

/* `colour` is that of the drawing: a line without points has one too, so that a run has the same in
 * every chart. */
static void put_line(struct prose *t, const struct line *line, size_t colour, const char *before)
{
    const char *comma = "";

    prose_add(t, "%s{\"name\":", before);
    prose_json(t, line->name.text);
    prose_add(t, ",\"colour\":%zu,\"ideal\":%s,%s\"at\":[", colour, line->ideal ? "true" : "false",
              line->dots ? "\"dots\":true," : "");
    for (size_t i = 0; i < line->n; i++) {
        if (!is_drawn(i, line->n, SHOWN) || !isfinite(line->at[i].x) || !isfinite(line->at[i].y))
            continue;
        prose_add(t, "%s[%.7g,%.6g]", comma, line->at[i].x, line->at[i].y);
        comma = ",";
    }
    prose_add(t, "]}");
}

void chart_data(struct prose *t, const struct chart *c)
{
    const char *before = "";
    size_t colour = 0;

    prose_add(t, "<script type=\"application/json\" class=\"data\">{\"name\":");
    prose_json(t, c->name);
    prose_add(t, ",\"title\":");
    prose_json(t, c->title);
    prose_add(t, ",");
    put_axis(t, "x", c->x_label, c->x_axis);
    put_axis(t, "y", c->y_label, c->y_axis);
    prose_add(t, "\"zero\":%s,\"one\":%s,\"lines\":[", c->from_zero ? "true" : "false",
              c->to_one ? "true" : "false");
    for (size_t i = 0; i < c->nlines; colour += !c->lines[i].ideal, i++) {
        if (c->lines[i].n == 0)
            continue;
        put_line(t, &c->lines[i], colour, before);
        before = ",";
    }
    prose_add(t, "]}</script>\n");
}

/* ---- key ---- */

static bool same_name(const struct line *a, const struct line *b)
{
    return strcmp(a->name.text, b->name.text) == 0;
}

size_t key_find(const struct chart_key *k, const struct chart *c, size_t line)
{
    size_t before = 0, i = 0;

    for (size_t j = 0; j < line; j++)
        before += same_name(&c->lines[j], &c->lines[line]);
    for (; i < k->n; i++)
        if (same_name(k->at[i].line, &c->lines[line]) && before-- == 0)
            break;
    return i;
}

void key_add(struct chart_key *k, const struct chart *c)
{
    for (size_t j = 0; j < c->nlines; j++) {
        const struct line *line = &c->lines[j];
        size_t i = key_find(k, c, j);

        if (i == k->n) {
            k->at[k->n].line = line;
            k->at[k->n++].colour = k->ncolours;
            k->ncolours += !line->ideal;
        } else if (k->at[i].line->n == 0) {
            k->at[i].line = line;
        }
    }
}

static bool key_named(const struct chart_key *k)
{
    return k->n > 1 || (k->n == 1 && *k->at[0].line->name.text);
}

double key_draw(const struct chart_key *k, struct canvas *c, double top, double width)
{
    struct legend l = {LEGEND_LEFT, top, width};

    for (size_t i = 0; i < k->n && key_named(k); i++) {
        const struct line *line = k->at[i].line;
        double x;

        if (line->n == 0)
            continue;
        x = legend_name(&l, c, line->name.text);
        if (!c)
            continue;
        canvas_line(c, ink_of(line, k->at[i].colour), x, l.y, x + 22, l.y);
        if (has_signs(line))
            draw_sign(c, k->at[i].colour, x + 11, l.y);
    }
    return key_named(k) ? l.y + LEGEND_BELOW : top - 10;
}

/* ---- a chart alone ---- */

static const char *chart_title(const void *figure)
{
    return ((const struct chart *)figure)->title;
}

static struct extent chart_extent(const void *figure)
{
    struct chart_key key = {0};

    key_add(&key, figure);
    return (struct extent){FIGURE_WIDTH, key_draw(&key, NULL, CHART_HEIGHT, FIGURE_WIDTH)};
}

static void draw_alone(struct canvas *c, const void *figure)
{
    struct chart_key key = {0};

    key_add(&key, figure);
    chart_draw(c, figure, &key);
    key_draw(&key, c, CHART_HEIGHT, FIGURE_WIDTH);
}

const struct figure_kind chart_figure = {chart_title, chart_extent, draw_alone, NULL};
