/* Words on a plane: a sign for each, and the names of those that have room. */
#include "study/draw/draw.h"

#include <math.h>

enum { TOP = 34, BOTTOM = 560, LEFT = 12, WIDTH = 840, LINE = 14, SIGN = 3 };

static double spread(double x, double least, double most)
{
    return most > least ? (x - least) / (most - least) : 0.5;
}

static struct scatter_box bounds_of(const struct scatter *s)
{
    struct scatter_box b = {INFINITY, INFINITY, -INFINITY, -INFINITY};

    for (size_t i = 0; i < s->n; i++) {
        b.x0 = fmin(b.x0, s->at[i].x);
        b.x1 = fmax(b.x1, s->at[i].x);
        b.y0 = fmin(b.y0, s->at[i].y);
        b.y1 = fmax(b.y1, s->at[i].y);
    }
    return b;
}

static bool touches(const struct scatter_box *a, const struct scatter_box *b)
{
    return a->x0 < b->x1 && b->x0 < a->x1 && a->y0 < b->y1 && b->y0 < a->y1;
}

/* A name stands above its sign, unless one that came before, and is commoner, is there. */
static void draw_name(struct canvas *c, const char *name, double x, double y,
                      struct scatter_box *taken, size_t *n)
{
    double half = canvas_width(name) / 2 + 2;
    struct scatter_box own = {x - half, y - LINE - SIGN, x + half, y - SIGN};

    if (own.x0 < 2 || own.x1 > WIDTH - 2 || own.y0 < TOP - 8)
        return;
    for (size_t i = 0; i < *n; i++)
        if (touches(&own, &taken[i]))
            return;
    canvas_label(c, ANCHOR_MIDDLE, x, y - SIGN - 3, 0, name);
    taken[(*n)++] = own;
}

static const char *scatter_title(const void *figure)
{
    return ((const struct scatter *)figure)->title;
}

static struct extent scatter_extent(const void *figure)
{
    (void)figure;
    return (struct extent){WIDTH, BOTTOM + 12};
}

static void scatter_draw(struct canvas *c, const void *figure)
{
    const struct scatter *s = figure;
    struct scatter_box all = bounds_of(s);
    size_t n = 0;

    figure_title(c, s->title, WIDTH);
    for (size_t i = 0; i < s->n; i++) {
        double x = LEFT + 40 + spread(s->at[i].x, all.x0, all.x1) * (WIDTH - 2 * LEFT - 80);
        double y = BOTTOM - 6 - spread(s->at[i].y, all.y0, all.y1) * (BOTTOM - TOP - 30);

        canvas_circle(c, (struct ink){INK_SIGN, s->at[i].group}, x, y, SIGN, NULL);
        canvas_circle(c, (struct ink){INK_HOVER, 0}, x, y, 2.0 * SIGN, s->at[i].name);
        draw_name(c, s->at[i].name, x, y, s->taken, &n);
    }
}

static void scatter_rows(struct prose *t, const void *figure)
{
    const struct scatter *s = figure;

    figure_row(t, (const char *[]){"word", "x", "y", "cluster"}, 4, NULL, 0);
    for (size_t i = 0; i < s->n; i++)
        figure_row(t, &s->at[i].name, 1, (double[]){s->at[i].x, s->at[i].y, (double)s->at[i].group},
                   3);
}

const struct figure_kind scatter_figure = {scatter_title, scatter_extent, scatter_draw,
                                           scatter_rows};
