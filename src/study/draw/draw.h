/* draw: charts as SVG and PNG, and the page around them.
 *
 * What this is: lines over axes (chart.c), several such charts in one figure (panels.c), stacked
 * bars (bars.c), what ranks did over time (tracks.c) and in one step (steps.c), words on a plane
 * (scatter.c), what they share (axis.c, figure.c), and one offline page (page.c). What they are
 * drawn on is in canvas.h.
 * Who owns what: text grows in a struct prose of the caller's; a chart owns its points.
 * Threads: one at a time for each object.
 *
 *     chart, panels, bars, tracks ... --figure_kind--> canvas --svg.c-----> NAME.svg, report.html
 *                                                         '--raster.c--> NAME.png */
#ifndef SHOAL_STUDY_DRAW_H
#define SHOAL_STUDY_DRAW_H

#include "study/draw/canvas.h"
#include "study/study.h"

/* ---- figure.c: a figure of any kind --------------------------------------------------- */

struct extent {
    double width, height;
};

/* How a kind of figure is drawn, on whatever there is. */
struct figure_kind {
    const char *(*title)(const void *figure);
    struct extent (*extent)(const void *figure);
    void (*draw)(struct canvas *c, const void *figure);
    void (*rows)(struct prose *t, const void *figure); /* its numbers, for figure_data */
};

/* As an element of a page; `alone` for a file of its own. */
void figure_svg(struct prose *t, const struct figure_kind *kind, const void *figure, bool alone);
/* Its numbers as JSON, for the script of the page: rows, of which the first names the columns. */
void figure_data(struct prose *t, const struct figure_kind *kind, const void *figure,
                 const char *name);
/* A row of them: at least one text, then numbers. */
void figure_row(struct prose *t, const char *const *texts, size_t ntexts, const double *numbers,
                size_t nnumbers);
/* Lets FOLDER/NAME.png appear, of `zoom` pixels for each unit. */
shoal_status figure_png(const struct figure_kind *kind, const void *figure, double zoom,
                        const char *folder, const char *name);

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
    bool dots;  /* points that nothing joins */
};

/* Zeroed but for what it says; ended by chart_fini. Its words are borrowed. */
struct chart {
    const char *name; /* of its file: "loss-time" */
    char title[96];
    const char *x_label, *y_label; /* without unit */
    enum axis x_axis, y_axis;
    bool x_log, y_log;
    bool from_zero;        /* the y axis begins there */
    bool to_one;           /* both axes go from 0 to 1 at least: of shares */
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
extern const struct figure_kind chart_figure; /* of a struct chart */
/* Its numbers as JSON, for the script of the page. */
void chart_data(struct prose *t, const struct chart *c);

/* ---- panels.c: charts in one figure -------------------------------------------------------- */

enum { PANELS = 6 };

/* Charts in rows of `columns`, with one legend: lines of the same name have the same colour and
 * sign in every panel, and are named once, below all of them. */
struct panels {
    char title[96];                 /* above them all; "": none */
    const struct chart *at[PANELS]; /* [n] borrowed */
    size_t n, columns;
};

extern const struct figure_kind panels_figure; /* of a struct panels */

/* ---- key: the lines that a legend names, for chart.c and panels.c ------------------------- */

/* The i-th line of one name in a chart is the i-th line of that name in every other. */
struct chart_key {
    struct {
        const struct line *line; /* one that has points, where there is one; borrowed */
        size_t colour;
    } at[PANELS * CHART_LINES];
    size_t n, ncolours;
};

/* Adds the lines of a chart that are not there yet. */
void key_add(struct chart_key *k, const struct chart *c);
/* The number of a line of a chart in it. */
size_t key_find(const struct chart_key *k, const struct chart *c, size_t line);
/* Its names from y = `top` on, in a figure so wide; gives where they end. c NULL: only that. */
double key_draw(const struct chart_key *k, struct canvas *c, double top, double width);
/* A chart without its legend, in a place of FIGURE_WIDTH x CHART_HEIGHT. */
enum { CHART_HEIGHT = 304 };
void chart_draw(struct canvas *c, const struct chart *chart, const struct chart_key *k);

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

extern const struct figure_kind bars_figure; /* of a struct bars */

/* ---- tracks.c: what ranks did over time ------------------------------------------------ */

struct tracks {
    char name[32], title[96];
    const struct run_track *at; /* [n] borrowed */
    struct name names[RUN_RANKS];
    size_t n;
};

extern const struct figure_kind tracks_figure; /* of a struct tracks */

/* ---- steps.c: one step of each rank ------------------------------------------------------ */

enum { STEPS_SHOWN = 8 };

struct steps {
    char name[32], title[96];
    const struct run_step *at; /* [n] borrowed */
    struct name names[STEPS_SHOWN];
    size_t n; /* STEPS_SHOWN at most */
};

extern const struct figure_kind steps_figure; /* of a struct steps */

/* ---- scatter.c: words on a plane -------------------------------------------------------- */

struct scatter_at {
    const char *name; /* borrowed */
    double x, y;
    size_t group; /* by which it has its colour */
};

/* What a name takes up. */
struct scatter_box {
    double x0, y0, x1, y1;
};

struct scatter {
    char title[96];
    struct scatter_at *at; /* [n] borrowed; names of the first come before those of others */
    struct scatter_box *taken; /* [n] borrowed, for drawing: a picture that runs out of memory would
                                * have fewer names */
    size_t n;
};

extern const struct figure_kind scatter_figure; /* of a struct scatter */

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

enum { FIGURE_WIDTH = 480, FIGURE_RIGHT = 18, TITLE_MOST = 512 };

void figure_title(struct canvas *c, const char *title, double width);

/* Lines at the ticks of an x axis from `left` on, its numbers and its name. */
void figure_x_axis(struct canvas *c, const struct scale *s, const char *name, double left,
                   double top, double bottom);
/* Where x is on it. */
double figure_x(const struct scale *s, double left, double x);

/* Names below a figure, as many in a row as fit: where the next one goes. */
enum { LEGEND_LEFT = 8, LEGEND_BELOW = 14 /* its last row, to the end of the figure */ };
struct legend {
    double x, y, width;
};

/* Draws the next name when c is not NULL; gives the x of the sign that goes before it. */
double legend_name(struct legend *l, struct canvas *c, const char *name);
/* The names of parts and their colours below `bottom`, or nothing of a single one; gives
 * where the figure ends. */
double legend_parts(struct canvas *c, const char *const *parts, size_t n, double bottom);

/* ---- page.c: the page ----------------------------------------------------------------- */

void page_begin(struct prose *t, const char *title, const char *under);
/* The same of a run that goes on: the page takes over what is new after so many seconds, and its tab
 * has a title of its own. */
void page_begin_live(struct prose *t, const char *title, const char *tab, const char *under,
                     double refresh);
void page_end(struct prose *t);
void page_section(struct prose *t, const char *title);
/* Begins what may be wider than the page, and is scrolled: "<div ...>". */
void page_wide(struct prose *t, const char *what);

/* Figures that follow one another, each into the page and, if asked for, into files NAME.svg and
 * NAME.png. */
struct album {
    struct prose *page;
    const char *plots; /* a folder, made if it is not there; or NULL */
    double zoom;       /* pixels of a PNG for each unit; 0: FIGURE_ZOOM */
    shoal_status status;
};
enum { FIGURE_ZOOM = 2 };

/* `title`: of a section that begins here; NULL: none does. */
void album_begin(struct album *a, const char *title);
/* One figure; `name` is that of its files. */
void album_figure(struct album *a, const char *name, const struct figure_kind *kind,
                  const void *figure);
void album_chart(struct album *a, struct chart *c, size_t least_points); /* ends c */
/* Up to PANELS charts in one figure, two in a row, with one legend; `title` goes above them, ""
 * for none. Those without points are left out; without any, nothing is drawn. Ends the charts:
 *
 *     struct chart charts[2] = {{.title = "Loss", .x_label = "time", .x_axis = AXIS_SECONDS, ...},
 *                               {.title = "Accuracy", ...}};
 *     chart_line_add(&charts[0], chart_line(&charts[0], "2 workers"), seconds, loss);
 *     album_panels(&album, "loss-accuracy", "", charts, 2); */
void album_panels(struct album *a, const char *name, const char *title, struct chart *charts,
                  size_t n);
void album_end(struct album *a);

#endif
