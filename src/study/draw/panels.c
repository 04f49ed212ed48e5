/* Charts in rows, in one figure, with one legend below all of them. */
#include "study/draw/draw.h"

enum { HEAD = 26 /* of the title above all */ };

static struct chart_key key_of(const struct panels *p)
{
    struct chart_key key = {0};

    for (size_t i = 0; i < p->n; i++)
        key_add(&key, p->at[i]);
    return key;
}

static size_t columns_of(const struct panels *p)
{
    size_t most = p->columns > 0 ? p->columns : 1;

    return p->n < most ? p->n : most;
}

static double head_of(const struct panels *p)
{
    return *p->title ? HEAD : 0;
}

/* Where the panels end and the legend begins. */
static double bottom_of(const struct panels *p)
{
    size_t rows = (p->n + columns_of(p) - 1) / columns_of(p);

    return head_of(p) + CHART_HEIGHT * (double)rows;
}

static const char *panels_title(const void *figure)
{
    const struct panels *p = figure;

    return *p->title ? p->title : p->at[0]->title;
}

static struct extent panels_extent(const void *figure)
{
    const struct panels *p = figure;
    struct chart_key key = key_of(p);
    double width = FIGURE_WIDTH * (double)columns_of(p);

    return (struct extent){width, key_draw(&key, NULL, bottom_of(p), width)};
}

static void panels_draw(struct canvas *c, const void *figure)
{
    const struct panels *p = figure;
    struct chart_key key = key_of(p);
    size_t columns = columns_of(p);
    struct canvas all = *c;

    if (*p->title)
        figure_title(c, p->title, FIGURE_WIDTH * (double)columns);
    for (size_t i = 0; i < p->n; i++) {
        struct canvas panel = all;

        panel.dx += FIGURE_WIDTH * (double)(i % columns);
        panel.dy += head_of(p) + CHART_HEIGHT * (double)(i / columns);
        chart_draw(&panel, p->at[i], &key);
    }
    key_draw(&key, c, bottom_of(p), FIGURE_WIDTH * (double)columns);
}

static void panels_rows(struct prose *t, const void *figure)
{
    const struct panels *p = figure;

    figure_row(t, (const char *[]){"chart", "line", "x", "y"}, 4, NULL, 0);
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < p->at[i]->nlines; k++)
            for (size_t j = 0; j < p->at[i]->lines[k].n; j++)
                figure_row(t, (const char *[]){p->at[i]->title, p->at[i]->lines[k].name.text}, 2,
                           (double[]){p->at[i]->lines[k].at[j].x, p->at[i]->lines[k].at[j].y}, 2);
}

const struct figure_kind panels_figure = {panels_title, panels_extent, panels_draw, panels_rows};
