/* canvas: the few things that figures are made of, as SVG or as pixels.
 *
 * What this is: paths, rectangles, circles and words, in units of 1/480 of a chart's width.
 * A figure is drawn by one code; what it draws on is a table of functions: svg.c writes text,
 * raster.c has cairo fill pixels. The look of each thing is in one table (canvas.c), of which
 * the style sheet is made too.
 * Who owns what: nothing; a canvas borrows what it draws on.
 * Threads: one at a time for each canvas. */
#ifndef SHOAL_STUDY_CANVAS_H
#define SHOAL_STUDY_CANVAS_H

#include "study/study.h"

/* ---- canvas.c: what is drawn ------------------------------------------------------- */

enum { CANVAS_COLOURS = 8, PATH_MOST = 512 };

enum ink_kind {
    INK_GRID,  /* thin lines behind */
    INK_AXIS,  /* thin lines around */
    INK_IDEAL, /* dashed and grey */
    INK_LINE,  /* of a colour; dashed when colours are used up */
    INK_SIGN,  /* filled with a colour: signs at points, */
    INK_BAR,   /* bars, which have an edge, */
    INK_AREA,  /* and areas, which have none */
    INK_HOVER, /* seen only under a pointer: nothing on paper */
    INKS,
};

struct ink {
    enum ink_kind kind;
    size_t colour; /* any number */
};

/* How an ink looks on white. */
struct ink_look {
    const char *class; /* in the style sheet */
    bool coloured;     /* the fill, or else the stroke, is that of its colour */
    bool filled;
    uint32_t stroke; /* 0xRRGGBB, where width > 0 */
    double width;
    double dash[2]; /* on and off; 0: none */
};

extern const uint32_t canvas_colours[CANVAS_COLOURS]; /* 0xRRGGBB */
extern const struct ink_look ink_looks[INKS];
/* Dashes by how often the colours were used up: none, then two kinds. */
extern const double line_dashes[3][2];

enum font { FONT_LABEL, FONT_TITLE, FONTS };
struct font_look {
    const char *class; /* or NULL */
    double size;
    bool bold;
    uint32_t fill;
};
extern const struct font_look font_looks[FONTS];

enum anchor { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END };

/* Words at a place, which is their beginning, middle or end, on the line they stand on. */
struct words {
    enum font font;
    enum anchor anchor;
    double x, y;
    bool upwards; /* turned to be read from below */
    double most;  /* columns that they may take; 0: about canvas_width */
    const char *text;
};

struct path {
    struct {
        double x, y;
    } at[PATH_MOST];
    size_t n;
    bool closed;
};

void path_add(struct path *p, double x, double y);

struct canvas {
    const struct canvas_kind *kind;
    void *on;      /* struct prose, struct raster */
    double dx, dy; /* where the next things go: added to every place */
};

/* Something to draw on. A `title` is shown while a pointer is over the thing, or is NULL. */
struct canvas_kind {
    void (*path)(void *on, struct ink ink, const struct path *p);
    void (*rect)(void *on, struct ink ink, double x, double y, double width, double height,
                 const char *title);
    void (*circle)(void *on, struct ink ink, double x, double y, double r, const char *title);
    void (*words)(void *on, const struct words *w);
};

/* Moves p by dx and dy. */
void canvas_path(const struct canvas *c, struct ink ink, struct path *p);
void canvas_line(const struct canvas *c, struct ink ink, double x0, double y0, double x1,
                 double y1);
void canvas_rect(const struct canvas *c, struct ink ink, double x, double y, double width,
                 double height, const char *title);
void canvas_circle(const struct canvas *c, struct ink ink, double x, double y, double r,
                   const char *title);
void canvas_words(const struct canvas *c, struct words w);
/* The common words: a label. */
void canvas_label(const struct canvas *c, enum anchor anchor, double x, double y, double most,
                  const char *text);
/* About the columns that words take, at the size of labels: fonts differ. */
double canvas_width(const char *text);

/* ---- svg.c: as text ------------------------------------------------------------------- */

extern const struct canvas_kind svg_canvas; /* on a struct prose */

/* The rules of the looks above, on white, and those for dark screens. */
void svg_style(struct prose *t);
/* <svg ...>; `alone` for a file of its own. */
void svg_begin(struct prose *t, const char *title, double width, double height, bool alone);
void svg_end(struct prose *t);

/* ---- raster.c: as pixels ------------------------------------------------------------------ */

struct raster;
extern const struct canvas_kind raster_canvas; /* on a struct raster */

/* White; `zoom` pixels for each unit. */
shoal_status raster_open(struct raster **out, double width, double height, double zoom);
/* Lets it appear at path as PNG, or gives the failure that drawing met. */
shoal_status raster_write(struct raster *r, const char *path);
void raster_close(struct raster *r);

#endif
