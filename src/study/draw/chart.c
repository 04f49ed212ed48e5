/* Lines over axes, as SVG. */
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

void chart_line_add(struct chart *c, struct line *line, double x, double y)
{
    if (!line || c->status != SHOAL_OK || !isfinite(x) || !isfinite(y))
        return;
    if ((c->x_log && x <= 0) || (c->y_log && y <= 0))
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
    if (least > most)
        least = 0, most = 1;
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
        widest = fmax(widest, figure_width(scale_tick(&f.y, f.y.ticks[i]).text));
    f.left = 32 + widest;
    return f;
}

static void draw_axes(struct prose *t, const struct frame *f)
{
    double right = FIGURE_WIDTH - FIGURE_RIGHT, bottom = TOP + HEIGHT, next = -INFINITY;

    for (size_t i = 0; i < f->y.nticks; i++) {
        double y = py(f, f->y.ticks[i]);

        prose_add(t, "<path class=\"g\" d=\"M%.1f %.1fH%.1f\"/>", f->left, y, right);
        figure_text(t, "end", f->left - 6, y + 4, scale_tick(&f->y, f->y.ticks[i]).text);
    }
    for (size_t i = 0; i < f->x.nticks; i++) {
        double x = px(f, f->x.ticks[i]);
        struct short_number tick = scale_tick(&f->x, f->x.ticks[i]);
        double half = figure_width(tick.text) / 2;

        prose_add(t, "<path class=\"a\" d=\"M%.1f %.1fv5\"/>", x, bottom);
        if (x - half < next)
            continue; /* it would touch the one before */
        figure_text(t, "middle", fmin(x, FIGURE_WIDTH - 4 - half), bottom + 18, tick.text);
        next = x + half + 6;
    }
    prose_add(t, "<path class=\"a\" d=\"M%.1f %dV%.1fH%.1f\" fill=\"none\"/>\n", f->left, TOP,
              bottom, right);
}

static void draw_labels(struct prose *t, const struct frame *f)
{
    char label[96];

    scale_label(label, f->chart->x_label, &f->x);
    prose_add(t, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
              (f->left + FIGURE_WIDTH - FIGURE_RIGHT) / 2, TOP + HEIGHT + 38);
    prose_escape(t, label);
    scale_label(label, f->chart->y_label, &f->y);
    prose_add(t,
              "</text>\n<text transform=\"translate(16 %d) rotate(-90)\" text-anchor=\"middle\">",
              TOP + HEIGHT / 2);
    prose_escape(t, label);
    prose_add(t, "</text>\n");
}

/* A circle, square, triangle or diamond of the line's colour. */
static void draw_sign(struct prose *t, size_t colour, double x, double y)
{
    static const struct {
        double left, up;    /* where its pen begins, from the middle, */
        const char *around; /* and goes */
    } signs[] = {{0, 0, NULL},
                 {3.2, 3.2, "h6.4v6.4h-6.4z"},
                 {0, 4.4, "l4.2 7.2h-8.4z"},
                 {0, 4.4, "l4.4 4.4-4.4 4.4-4.4-4.4z"}};
    size_t c = colour % FIGURE_COLOURS, k = colour % 4;

    if (k == 0)
        prose_add(t, "<circle class=\"m f%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>", c, x, y);
    else
        prose_add(t, "<path class=\"m f%zu\" d=\"M%.1f %.1f%s\"/>", c, x - signs[k].left,
                  y - signs[k].up, signs[k].around);
}

/* The class of a line: its colour, and dashes when colours are used up. */
static void line_class(char class[32], const struct line *line, size_t colour)
{
    static const char *const dashes[] = {"", " d1", " d2"};

    if (line->ideal)
        snprintf(class, 32, "i");
    else
        snprintf(class, 32, "l c%zu%s", colour % FIGURE_COLOURS,
                 dashes[colour / FIGURE_COLOURS % 3]);
}

/* Thins out n points to about `most`: every so many of them, and the last. */
static bool is_drawn(size_t i, size_t n, size_t most)
{
    size_t stride = (n + most - 1) / most;

    return i % stride == 0 || i == n - 1;
}

static void draw_line(struct prose *t, const struct frame *f, const struct line *line,
                      size_t colour)
{
    char class[32], pen = 'M';

    line_class(class, line, colour);
    prose_add(t, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0; i < line->n; i++) {
        if (!is_drawn(i, line->n, SHOWN))
            continue;
        prose_add(t, "%c%.1f %.1f", pen, px(f, line->at[i].x), py(f, line->at[i].y));
        pen = 'L';
    }
    prose_add(t, "\"/>\n");
    for (size_t i = 0; i < line->n && line->n <= SIGNS && !line->ideal; i++)
        draw_sign(t, colour, px(f, line->at[i].x), py(f, line->at[i].y));
    prose_add(t, "\n");
}

/* The values of points, shown while the pointer is over them. */
static void draw_answers(struct prose *t, const struct frame *f, const struct line *line)
{
    const struct chart *c = f->chart;

    for (size_t i = 0; i < line->n && !line->ideal; i++) {
        if (!is_drawn(i, line->n, HOVERED))
            continue;
        prose_add(t, "<circle class=\"h\" cx=\"%.1f\" cy=\"%.1f\" r=\"7\"><title>",
                  px(f, line->at[i].x), py(f, line->at[i].y));
        prose_wrap(t, "", line->name.text, *line->name.text ? ": " : "");
        prose_escape(t, c->x_label);
        prose_add(t, " %s, ", axis_value(c->x_axis, line->at[i].x).text);
        prose_escape(t, c->y_label);
        prose_add(t, " %s</title></circle>\n", axis_value(c->y_axis, line->at[i].y).text);
    }
}

/* The number of a line among those that have a colour; ideal lines have none. */
static size_t colour_of(const struct chart *c, size_t line)
{
    size_t n = 0;

    for (size_t i = 0; i <= line; i++)
        n += !c->lines[i].ideal;
    return n > 0 ? n - 1 : 0;
}

/* t NULL: only how far down it goes. */
static double draw_legend(struct prose *t, const struct chart *c)
{
    struct legend l = {LEGEND_LEFT, TOP + HEIGHT + 60};
    bool named = c->nlines > 1 || (c->nlines == 1 && *c->lines[0].name.text);

    for (size_t i = 0; i < c->nlines && named; i++) {
        char class[32];
        double x;

        if (c->lines[i].n == 0)
            continue;
        x = legend_name(&l, t, c->lines[i].name.text);
        if (!t)
            continue;
        line_class(class, &c->lines[i], colour_of(c, i));
        prose_add(t, "<path class=\"%s\" d=\"M%.0f %.0fh22\"/>", class, x, l.y);
        if (!c->lines[i].ideal && c->lines[i].n <= SIGNS)
            draw_sign(t, colour_of(c, i), x + 11, l.y);
        prose_add(t, "\n");
    }
    return named ? l.y + LEGEND_BELOW : TOP + HEIGHT + 50;
}

void chart_svg(struct prose *t, const void *figure, bool alone)
{
    const struct chart *c = figure;
    struct frame f = frame_of(c);

    if (t->status == SHOAL_OK)
        t->status = c->status;
    figure_begin(t, c->title, draw_legend(NULL, c), alone);
    draw_axes(t, &f);
    draw_labels(t, &f);
    for (size_t i = 0; i < c->nlines; i++)
        if (c->lines[i].n > 0)
            draw_line(t, &f, &c->lines[i], colour_of(c, i));
    for (size_t i = 0; i < c->nlines; i++)
        draw_answers(t, &f, &c->lines[i]);
    draw_legend(t, c);
    figure_end(t);
}
