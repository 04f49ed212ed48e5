/* Stacked bars, one below the other. */
#include "study/draw/draw.h"

#include <math.h>

enum { TOP = 34, ROW = 22, BAR = 16 };

struct frame {
    struct scale scale;
    double left, bottom;
};

static double bar_sum(const struct bars *b, size_t i)
{
    double sum = 0;

    for (size_t k = 0; k < b->nparts; k++)
        sum += b->at[i].parts[k];
    return sum;
}

static struct frame frame_of(const struct bars *b)
{
    struct frame f = {.bottom = TOP + ROW * (double)b->n};
    double widest = 0, most = 0;

    for (size_t i = 0; i < b->n; i++) {
        widest = fmax(widest, canvas_width(b->at[i].name.text));
        most = fmax(most, bar_sum(b, i));
    }
    f.left = fmin(16 + widest, FIGURE_WIDTH / 2.0);
    f.scale = scale_of(0, most > 0 ? most : 1, b->axis, false, true);
    if (b->axis == AXIS_SHARE && most > 0.99 && most < 1.01)
        f.scale = scale_of(0, 1, b->axis, false, true); /* not beyond by a rounding */
    return f;
}

static double at(const struct frame *f, double x)
{
    return figure_x(&f->scale, f->left, x);
}

static void draw_bar(struct canvas *c, const struct bars *b, const struct frame *f, size_t i)
{
    double y = TOP + ROW * (double)i + (ROW - BAR) / 2.0, from = 0;

    canvas_label(c, ANCHOR_END, f->left - 6, y + BAR - 4, f->left - 10, b->at[i].name.text);
    for (size_t k = 0; k < b->nparts; k++) {
        double part = b->at[i].parts[k];
        char title[TITLE_MOST];

        if (!(part > 0))
            continue;
        number_print(title, sizeof title, "%s: %s %s", b->at[i].name.text, b->parts[k],
                     axis_value(b->axis, part).text);
        canvas_rect(c, (struct ink){INK_BAR, k}, at(f, from), y,
                    fmax(at(f, from + part) - at(f, from), 0.5), BAR, title);
        from += part;
    }
}

static const char *bars_title(const void *figure)
{
    return ((const struct bars *)figure)->title;
}

static struct extent bars_extent(const void *figure)
{
    const struct bars *b = figure;

    return (struct extent){FIGURE_WIDTH,
                           legend_parts(NULL, b->parts, b->nparts, frame_of(b).bottom)};
}

static void bars_draw(struct canvas *c, const void *figure)
{
    const struct bars *b = figure;
    struct frame f = frame_of(b);

    figure_title(c, b->title, FIGURE_WIDTH);
    figure_x_axis(c, &f.scale, b->x_label, f.left, TOP, f.bottom);
    for (size_t i = 0; i < b->n; i++)
        draw_bar(c, b, &f, i);
    legend_parts(c, b->parts, b->nparts, f.bottom);
}

static void bars_rows(struct prose *t, const void *figure)
{
    const struct bars *b = figure;
    const char *head[1 + BAR_PARTS] = {""};

    for (size_t k = 0; k < b->nparts; k++)
        head[1 + k] = b->parts[k];
    figure_row(t, head, 1 + b->nparts, NULL, 0);
    for (size_t i = 0; i < b->n; i++)
        figure_row(t, (const char *[]){b->at[i].name.text}, 1, b->at[i].parts, b->nparts);
}

const struct figure_kind bars_figure = {bars_title, bars_extent, bars_draw, bars_rows};
