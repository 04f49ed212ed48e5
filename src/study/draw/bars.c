/* Stacked bars, one below the other, as SVG. */
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
        widest = fmax(widest, figure_width(b->at[i].name.text));
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

static void draw_bar(struct prose *t, const struct bars *b, const struct frame *f, size_t i)
{
    double y = TOP + ROW * (double)i + (ROW - BAR) / 2.0, from = 0;

    figure_text(t, "end", f->left - 6, y + BAR - 4, b->at[i].name.text);
    for (size_t k = 0; k < b->nparts; k++) {
        double part = b->at[i].parts[k];

        if (!(part > 0))
            continue;
        prose_add(
            t, "<rect class=\"b f%zu\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"><title>",
            k % FIGURE_COLOURS, at(f, from), y, fmax(at(f, from + part) - at(f, from), 0.5), BAR);
        prose_wrap(t, "", b->at[i].name.text, ": ");
        prose_escape(t, b->parts[k]);
        prose_add(t, " %s</title></rect>\n", axis_value(b->axis, part).text);
        from += part;
    }
}

void bars_svg(struct prose *t, const void *figure, bool alone)
{
    const struct bars *b = figure;
    struct frame f = frame_of(b);

    figure_begin(t, b->title, legend_parts(NULL, b->parts, b->nparts, f.bottom), alone);
    figure_x_axis(t, &f.scale, b->x_label, f.left, TOP, f.bottom);
    for (size_t i = 0; i < b->n; i++)
        draw_bar(t, b, &f, i);
    legend_parts(t, b->parts, b->nparts, f.bottom);
    figure_end(t);
}
