/* draw: charts as SVG, and the page around them.
 *
 * What this is: lines over axes (chart.c), stacked bars (bars.c), what ranks did over time
 * (tracks.c), what they share (axis.c, figure.c), and one offline page (page.c).
 * Who owns what: text grows in a struct prose of the caller's; a chart owns its points.
 * Threads: one at a time for each object. */
#ifndef SHOAL_STUDY_DRAW_H
#define SHOAL_STUDY_DRAW_H

#include "study/study.h"

/* ---- chart.c: lines ---------------------------------------------------------------- */

enum { CHART_LINES = 48, TICKS = 32 };

/* What an axis counts, which says how its numbers are written. */
enum axis { AXIS_PLAIN, AXIS_SECONDS, AXIS_COUNT, AXIS_BYTES, AXIS_SHARE };

struct line {
    struct name name;
    struct {
        double x, y;
    } * at; /* [n]; the chart's own */
    size_t n, cap;
    bool ideal; /* dashed and grey: what would be best */
};

/* Zeroed but for what it says; ended by chart_fini. Its words are borrowed. */
struct chart {
    const char *name; /* of its file: "loss-time" */
    char title[96];
    const char *x_label, *y_label; /* without unit */
    enum axis x_axis, y_axis;
    bool x_log, y_log;
    bool from_zero;        /* the y axis begins there */
    double x_ticks[TICKS]; /* [nx_ticks] the only numbers of the x axis, rising; or none */
    size_t nx_ticks;
    struct line lines[CHART_LINES];
    size_t nlines;
    shoal_status status; /* of adding points */
};

void chart_fini(struct chart *c);
/* A new line, or NULL when there are too many. */
struct line *chart_line(struct chart *c, const char *name);
void chart_line_add(struct chart *c, struct line *line, double x, double y);
/* Whether some line has two points to be seen, or one. */
bool chart_seen(const struct chart *c, size_t least);
/* Draws a figure as an element; `alone` for a file of its own. */
typedef void figure_svg(struct prose *t, const void *figure, bool alone);
figure_svg chart_svg; /* of a struct chart */

/* ---- bars.c: stacked bars ---------------------------------------------------------- */

enum { BARS = 64, BAR_PARTS = 6 };

struct bars {
    char name[32], title[96];
    const char *x_label;
    enum axis axis;
    const char *const *parts; /* [nparts] names, for the legend */
    size_t nparts;
    struct {
        struct name name;
        double parts[BAR_PARTS];
    } at[BARS];
    size_t n;
};

figure_svg bars_svg; /* of a struct bars */

/* ---- tracks.c: what ranks did over time ------------------------------------------------ */

struct tracks {
    char name[32], title[96];
    const struct run_track *at; /* [n] borrowed */
    struct name names[RUN_RANKS];
    size_t n;
};

figure_svg tracks_svg; /* of a struct tracks */

/* ---- axis.c: numbers along an axis -------------------------------------------------- */

struct scale {
    double from, to; /* what the axis shows */
    bool log;
    double ticks[TICKS];
    size_t nticks;
    double by;        /* numbers are divided by this, */
    const char *unit; /* and then have this unit; "" for none */
    unsigned digits;  /* behind the point, at a tick */
};

/* Round ticks over [least, most]; both finite. */
struct scale scale_of(double least, double most, enum axis axis, bool log, bool from_zero);
/* Where x lies: 0 at from, 1 at to. */
double scale_at(const struct scale *s, double x);
struct short_number scale_tick(const struct scale *s, double x);
/* "time (s)" */
void scale_label(char label[96], const char *name, const struct scale *s);
/* A value with its unit, for hovering. */
struct short_number axis_value(enum axis axis, double x);

/* ---- figure.c: what charts and bars share --------------------------------------------- */

enum { FIGURE_WIDTH = 480, FIGURE_RIGHT = 18, FIGURE_COLOURS = 8 };

/* The style of figures: in the page once, or in each file of its own. */
void figure_style(struct prose *t);
/* <svg ...> and the title; `height` in its own units. */
void figure_begin(struct prose *t, const char *title, double height, bool alone);
void figure_end(struct prose *t);
/* Words at a place, which is their "middle" or "end". */
void figure_text(struct prose *t, const char *anchor, double x, double y, const char *words);
/* About the columns that it takes, at the size of labels. */
double figure_width(const char *words);

/* Lines at the ticks of an x axis from `left` on, its numbers and its name. */
void figure_x_axis(struct prose *t, const struct scale *s, const char *name, double left,
                   double top, double bottom);
/* Where x is on it. */
double figure_x(const struct scale *s, double left, double x);

/* Names below a figure, as many in a row as fit: where the next one goes. */
enum { LEGEND_LEFT = 8, LEGEND_BELOW = 14 /* its last row, to the end of the figure */ };
struct legend {
    double x, y;
};

/* Prints the next name when t is not NULL; gives the x of the sign that goes before it. */
double legend_name(struct legend *l, struct prose *t, const char *name);
/* The names of parts and their colours below `bottom`, or nothing of a single one; gives
 * where the figure ends. */
double legend_parts(struct prose *t, const char *const *parts, size_t n, double bottom);

/* ---- page.c: the page ----------------------------------------------------------------- */

void page_begin(struct prose *t, const char *title, const char *under);
void page_end(struct prose *t);
void page_section(struct prose *t, const char *title);

/* Charts that follow one another, each into the page and, if asked for, a file. */
struct album {
    struct prose *page;
    const char *plots; /* or NULL */
    shoal_status status;
};

/* `title`: of a section that begins here; NULL: none does. */
void album_begin(struct album *a, const char *title);
/* One figure; `name` is that of its file. */
void album_figure(struct album *a, const char *name, figure_svg *svg, const void *figure);
void album_chart(struct album *a, struct chart *c, size_t least_points); /* ends c */
void album_end(struct album *a);

#endif
