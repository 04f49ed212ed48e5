/* What figures are made of: how it looks, and where it goes. The colours are those of Okabe and
 * Ito, darkened to stand out from the paper: they can be told apart by the colour-blind too, and
 * on grey paper lines differ by their signs. */
#include "study/draw/canvas.h"

#include <assert.h>

const uint32_t canvas_colours[CANVAS_COLOURS] = {0x0067a5, 0xc94f00, 0x00805d, 0xa8437f,
                                                 0x8a6d00, 0x2a93c9, 0x5d4bb3, 0x5c5c5c};

const struct ink_look ink_looks[INKS] = {
    [INK_GRID] = {"g", .stroke = 0xe2e2e2, .width = 1},
    [INK_AXIS] = {"a", .stroke = 0x8a8a8a, .width = 1},
    [INK_IDEAL] = {"i", .stroke = 0x8a8a8a, .width = 1.5, .dash = {6, 4}},
    [INK_LINE] = {"l", .coloured = true, .width = 2},
    [INK_SIGN] = {"m", .coloured = true, .filled = true},
    [INK_BAR] = {"b", .coloured = true, .filled = true, .stroke = 0xffffff, .width = 1},
    [INK_AREA] = {"p", .coloured = true, .filled = true},
    [INK_HOVER] = {"h", .coloured = false},
};

const double line_dashes[3][2] = {{0, 0}, {7, 3}, {2, 3}};

const struct font_look font_looks[FONTS] = {
    [FONT_LABEL] = {NULL, 12, false, 0x3a3a3a},
    [FONT_TITLE] = {"t", 14, true, 0x111111},
};

void path_add(struct path *p, double x, double y)
{
    assert(p->n < PATH_MOST);
    p->at[p->n].x = x;
    p->at[p->n++].y = y;
}

void canvas_path(const struct canvas *c, struct ink ink, struct path *p)
{
    for (size_t i = 0; i < p->n; i++) {
        p->at[i].x += c->dx;
        p->at[i].y += c->dy;
    }
    c->kind->path(c->on, ink, p);
}

void canvas_line(const struct canvas *c, struct ink ink, double x0, double y0, double x1, double y1)
{
    struct path p;

    p.n = 0;
    p.closed = false;
    path_add(&p, x0, y0);
    path_add(&p, x1, y1);
    canvas_path(c, ink, &p);
}

void canvas_rect(const struct canvas *c, struct ink ink, double x, double y, double width,
                 double height, const char *title)
{
    c->kind->rect(c->on, ink, x + c->dx, y + c->dy, width, height, title);
}

void canvas_circle(const struct canvas *c, struct ink ink, double x, double y, double r,
                   const char *title)
{
    c->kind->circle(c->on, ink, x + c->dx, y + c->dy, r, title);
}

void canvas_words(const struct canvas *c, struct words w)
{
    w.x += c->dx;
    w.y += c->dy;
    c->kind->words(c->on, &w);
}

void canvas_label(const struct canvas *c, enum anchor anchor, double x, double y, double most,
                  const char *text)
{
    canvas_words(c, (struct words){.anchor = anchor, .x = x, .y = y, .most = most, .text = text});
}

double canvas_width(const char *text)
{
    double columns = 0;

    for (; *text; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80; /* once for each character */
    return 6.9 * columns;
}
