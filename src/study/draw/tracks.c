/* What ranks did over time: a track for each, from the left to the right, whose
 * height is at every moment shared out among what the rank did then. */
#include "study/draw/draw.h"

#include <math.h>

enum {
    TOP = 52,
    TALL = 240, /* all tracks together, about */
    TRACK_LEAST = 12,
    TRACK_MOST = 40,
    CELLS = 64, /* of a track, at most, */
    CELLS_LEAST = 16,
    CELLS_OF_ALL = 512, /* and of many tracks together, about */
};

struct frame {
    struct scale scale;
    double left, bottom, row, seconds;
    size_t cells;
};

static struct frame frame_of(const struct tracks *l)
{
    struct frame f = {.row = TALL / (double)l->n};
    double widest = 0;
    size_t spans = 1;

    for (size_t i = 0; i < l->n; i++) {
        widest = fmax(widest, canvas_width(l->names[i].text));
        f.seconds = fmax(f.seconds, l->at[i].ends[l->at[i].n - 1]);
        spans = l->at[i].n > spans ? l->at[i].n : spans;
    }
    f.left = fmin(16 + widest, FIGURE_WIDTH / 2.0);
    f.row = fmin(TRACK_MOST, fmax(TRACK_LEAST, f.row));
    f.bottom = TOP + f.row * (double)l->n;
    f.seconds = f.seconds > 0 ? f.seconds : 1;
    f.scale = scale_of(0, f.seconds, AXIS_SECONDS, false, true);
    f.cells = CELLS_OF_ALL / l->n < CELLS ? CELLS_OF_ALL / l->n : CELLS;
    f.cells = f.cells > CELLS_LEAST ? f.cells : CELLS_LEAST;
    f.cells = f.cells < spans ? f.cells : spans; /* no finer than what is known */
    return f;
}

/* A sum up to a moment; within a span it grows evenly. */
static double sum_at(const struct run_track *track, const double *sums, double at)
{
    size_t i = 0;
    double from, before, part;

    while (i < track->n && track->ends[i] < at)
        i++;
    if (i == track->n)
        return sums[track->n - 1];
    from = i > 0 ? track->ends[i - 1] : 0;
    before = i > 0 ? sums[i - 1] : 0;
    part = track->ends[i] > from ? (at - from) / (track->ends[i] - from) : 1;
    return before + (sums[i] - before) * part;
}

/* Between two moments, each part's share of that time; clocks of different things may
 * come to a little more than all of it. */
static void shares_of(const struct run_track *track, double from, double to,
                      double share[TIME_PARTS])
{
    double sum = 0, whole = to - from;

    for (size_t k = 0; k < SPAN_PARTS; k++) {
        share[k] =
            fmax(0, sum_at(track, track->parts[k], to) - sum_at(track, track->parts[k], from));
        sum += share[k];
    }
    whole = fmax(whole, sum);
    for (size_t k = 0; k < SPAN_PARTS; k++)
        share[k] = whole > 0 ? share[k] / whole : 0;
    share[SPAN_PARTS] = whole > 0 ? 1 - sum / whole : 1;
}

/* A cell of the track, and where it is. */
struct cell_box {
    double from, to; /* seconds */
    double share[TIME_PARTS];
    double x, width;
};

static size_t cells_of(struct cell_box boxes[CELLS], const struct frame *f,
                       const struct run_track *track)
{
    double end = track->ends[track->n - 1];
    size_t n = 0;

    for (size_t i = 0; i < f->cells; i++) {
        double from = f->seconds * (double)i / (double)f->cells;
        double to = fmin(f->seconds * (double)(i + 1) / (double)f->cells, end);
        struct cell_box *b = &boxes[n];

        if (to <= from)
            break;
        b->from = from;
        b->to = to;
        b->x = figure_x(&f->scale, f->left, from);
        b->width = figure_x(&f->scale, f->left, to) - b->x;
        shares_of(track, from, to, b->share);
        n++;
    }
    return n;
}

static double below(const struct cell_box *b, size_t parts)
{
    double sum = 0;

    for (size_t k = 0; k < parts; k++)
        sum += b->share[k];
    return sum;
}

/* One part of the whole track, along its top and back along its bottom. */
static void draw_part(struct canvas *c, const struct cell_box *boxes, size_t n, size_t part,
                      double y, double height)
{
    struct path p = {.closed = true};
    bool any = false;

    for (size_t i = 0; i < n; i++)
        any = any || boxes[i].share[part] * height > 0.05;
    if (!any)
        return;
    for (size_t i = 0; i < n; i++) {
        double top = y - height * below(&boxes[i], part + 1);

        path_add(&p, boxes[i].x, top);
        path_add(&p, boxes[i].x + boxes[i].width, top);
    }
    for (size_t i = n; i-- > 0;) {
        double bottom = y - height * below(&boxes[i], part);

        path_add(&p, boxes[i].x + boxes[i].width, bottom);
        path_add(&p, boxes[i].x, bottom);
    }
    canvas_path(c, (struct ink){INK_AREA, part}, &p);
}

static void draw_values(struct canvas *c, const struct cell_box *b, const char *name, double y,
                        double height)
{
    char title[TITLE_MOST];
    size_t n = (size_t)number_print(title, sizeof title, "%s, %s to %s:", name,
                                    axis_value(AXIS_SECONDS, b->from).text,
                                    axis_value(AXIS_SECONDS, b->to).text);

    for (size_t k = 0; k < TIME_PARTS && n < sizeof title; k++)
        n += (size_t)number_print(title + n, sizeof title - n, "%s %s %s", k > 0 ? "," : "",
                                  time_parts[k], number_share(b->share[k]).text);
    canvas_rect(c, (struct ink){INK_HOVER, 0}, b->x, y - height, b->width, height, title);
}

static void draw_track(struct canvas *c, const struct tracks *l, const struct frame *f, size_t i)
{
    struct cell_box boxes[CELLS];
    double height = f->row - (f->row > 2 * TRACK_LEAST ? 6 : 2);
    double y = TOP + f->row * (double)(i + 1) - (f->row - height) / 2;
    size_t n = cells_of(boxes, f, &l->at[i]);

    canvas_label(c, ANCHOR_END, f->left - 6, y - height / 2 + 4, f->left - 10, l->names[i].text);
    for (size_t k = 0; k < TIME_PARTS && n > 0; k++)
        draw_part(c, boxes, n, k, y, height);
    for (size_t k = 0; k < n; k++)
        draw_values(c, &boxes[k], l->names[i].text, y, height);
}

static const char *tracks_title(const void *figure)
{
    return ((const struct tracks *)figure)->title;
}

static struct extent tracks_extent(const void *figure)
{
    return (struct extent){FIGURE_WIDTH,
                           legend_parts(NULL, time_parts, TIME_PARTS, frame_of(figure).bottom)};
}

static void tracks_draw(struct canvas *c, const void *figure)
{
    const struct tracks *l = figure;
    struct frame f = frame_of(l);

    figure_title(c, l->title, FIGURE_WIDTH);
    canvas_label(c, ANCHOR_START, f.left, TOP - 12, 0, "height of a lane: 100 % of the time");
    figure_x_axis(c, &f.scale, "time since the ranks began", f.left, TOP, f.bottom);
    for (size_t i = 0; i < l->n; i++)
        draw_track(c, l, &f, i);
    legend_parts(c, time_parts, TIME_PARTS, f.bottom);
}

/* What is drawn: the share that each part has of a moment. */
static void tracks_rows(struct prose *t, const void *figure)
{
    const struct tracks *l = figure;
    struct frame f = frame_of(l);
    struct cell_box boxes[CELLS];

    figure_row(t,
               (const char *[]){"rank", "from (s)", "to (s)", time_parts[0], time_parts[1],
                                time_parts[2], time_parts[3]},
               3 + TIME_PARTS, NULL, 0);
    for (size_t i = 0; i < l->n; i++) {
        size_t n = cells_of(boxes, &f, &l->at[i]);

        for (size_t k = 0; k < n; k++)
            figure_row(t, (const char *[]){l->names[i].text}, 1,
                       (double[]){boxes[k].from, boxes[k].to, boxes[k].share[0], boxes[k].share[1],
                                  boxes[k].share[2], boxes[k].share[3]},
                       2 + TIME_PARTS);
    }
}

const struct figure_kind tracks_figure = {tracks_title, tracks_extent, tracks_draw, tracks_rows};
