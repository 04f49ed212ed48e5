/* A figure of any kind, as SVG and as PNG, and what figures share: axis and legend. */
#include "study/draw/draw.h"

#include <math.h>
#include <stdlib.h>

void figure_svg(struct prose *t, const struct figure_kind *kind, const void *figure, bool alone)
{
    struct extent extent = kind->extent(figure);
    struct canvas c = {.kind = &svg_canvas, .on = t};

    svg_begin(t, kind->title(figure), extent.width, extent.height, alone);
    kind->draw(&c, figure);
    svg_end(t);
}

void figure_row(struct prose *t, const char *const *texts, size_t ntexts, const double *numbers,
                size_t nnumbers)
{
    prose_add(t, t->bytes.len > 0 && t->bytes.at[t->bytes.len - 1] == ']' ? ",[" : "[");
    for (size_t i = 0; i < ntexts; i++) {
        prose_add(t, i > 0 ? "," : "");
        prose_json(t, texts[i]);
    }
    for (size_t i = 0; i < nnumbers; i++)
        if (isfinite(numbers[i]))
            prose_add(t, ",%.9g", numbers[i]);
        else
            prose_add(t, ",\"\"");
    prose_add(t, "]");
}

void figure_data(struct prose *t, const struct figure_kind *kind, const void *figure,
                 const char *name)
{
    prose_add(t, "<script type=\"application/json\" class=\"data\">{\"name\":");
    prose_json(t, name);
    prose_add(t, ",\"title\":");
    prose_json(t, kind->title(figure));
    prose_add(t, ",\"rows\":[");
    kind->rows(t, figure);
    prose_add(t, "]}</script>\n");
}

shoal_status figure_png(const struct figure_kind *kind, const void *figure, double zoom,
                        const char *folder, const char *name)
{
    struct extent extent = kind->extent(figure);
    struct canvas c = {.kind = &raster_canvas};
    struct raster *r = NULL;
    char *path = mem_text("%s/%s.png", folder, name);
    shoal_status st = path ? SHOAL_OK : SHOAL_ENOMEM;

    if (st == SHOAL_OK)
        st = raster_open(&r, extent.width, extent.height, zoom);
    if (st == SHOAL_OK) {
        c.on = r;
        kind->draw(&c, figure);
        st = raster_write(r, path);
    }
    raster_close(r);
    free(path);
    return st;
}

void figure_title(struct canvas *c, const char *title, double width)
{
    canvas_words(
        c, (struct words){.font = FONT_TITLE, .x = 8, .y = 20, .most = width - 16, .text = title});
}

/* ---- axis ---- */

double figure_x(const struct scale *s, double left, double x)
{
    return left + scale_at(s, x) * (FIGURE_WIDTH - FIGURE_RIGHT - left);
}

void figure_x_axis(struct canvas *c, const struct scale *s, const char *name, double left,
                   double top, double bottom)
{
    char label[96];

    for (size_t i = 0; i < s->nticks; i++) {
        double x = figure_x(s, left, s->ticks[i]);

        canvas_line(c, (struct ink){INK_GRID, 0}, x, top, x, bottom);
        canvas_label(c, ANCHOR_MIDDLE, x, bottom + 16, 0, scale_tick(s, s->ticks[i]).text);
    }
    scale_label(label, name, s);
    canvas_label(c, ANCHOR_MIDDLE, (left + FIGURE_WIDTH - FIGURE_RIGHT) / 2, bottom + 36,
                 FIGURE_WIDTH - FIGURE_RIGHT - left, label);
}

/* ---- legend ---- */

double legend_name(struct legend *l, struct canvas *c, const char *name)
{
    double width = 28 + canvas_width(name) + 12, sign;

    if (l->x > LEGEND_LEFT && l->x + width > l->width) {
        l->x = LEGEND_LEFT;
        l->y += 18;
    }
    sign = l->x;
    if (c)
        canvas_label(c, ANCHOR_START, sign + 28, l->y + 4,
                     fmin(canvas_width(name) + 8, l->width - sign - 36), name);
    l->x += width;
    return sign;
}

double legend_parts(struct canvas *c, const char *const *parts, size_t n, double bottom)
{
    struct legend l = {LEGEND_LEFT, bottom + 58, FIGURE_WIDTH};

    for (size_t k = 0; k < n && n > 1; k++) {
        double x = legend_name(&l, c, parts[k]);

        if (c)
            canvas_rect(c, (struct ink){INK_BAR, k}, x, l.y - 6, 20, 12, NULL);
    }
    return n > 1 ? l.y + LEGEND_BELOW : bottom + 48;
}
