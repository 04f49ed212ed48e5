/* One step of each rank: what it computed, and which gradients were on their way meanwhile.
 *
 *     rank 0  | forward |  backward  |  |    | |wait|
 *                 -------               each line is a piece: from its gradient being sent
 *                    ---------          to its fresh parameters being here, the first above
 *                         ---------- */
#include "study/draw/draw.h"

#include <math.h>
#include <stdlib.h>

enum {
    TOP = 40,
    BAR = 14,
    GAP = 12,      /* between ranks */
    TRIPS = 56,    /* all lines of a rank together, at most; */
    TRIP_MOST = 4, /* one of them */
};

enum part { FORWARD, BACKWARD, WAITING, TRAVELLING, PARTS };
static const char *const part_names[PARTS] = {"forward pass", "backward pass",
                                              "waiting for the last pieces",
                                              "a piece of gradients on its way"};

struct frame {
    struct scale scale;
    double left, bottom;
};

static double trips_height(const struct run_step *s)
{
    return fmin(TRIPS, TRIP_MOST * (double)s->ntrips);
}

static double step_height(const struct run_step *s)
{
    return BAR + 2 + trips_height(s) + GAP;
}

static struct frame frame_of(const struct steps *l)
{
    struct frame f = {.bottom = TOP};
    double widest = 0, seconds = 0;

    for (size_t i = 0; i < l->n; i++) {
        widest = fmax(widest, canvas_width(l->names[i].text));
        seconds = fmax(seconds, l->at[i].ended);
        f.bottom += step_height(&l->at[i]);
    }
    f.left = fmin(16 + widest, FIGURE_WIDTH / 2.0);
    f.scale = scale_of(0, seconds > 0 ? seconds : 1, AXIS_SECONDS, false, true);
    return f;
}

static void draw_span(struct canvas *c, const struct frame *f, enum part part, double from,
                      double to, double y, double height, const char *name)
{
    double a = figure_x(&f->scale, f->left, from), b = figure_x(&f->scale, f->left, to);
    char title[TITLE_MOST];

    if (to <= from)
        return;
    number_print(title, sizeof title, "%s: %s, %s to %s", name, part_names[part],
                 axis_value(AXIS_SECONDS, from).text, axis_value(AXIS_SECONDS, to).text);
    canvas_rect(c, (struct ink){height < BAR ? INK_SIGN : INK_BAR, part}, a, y, fmax(b - a, 0.4),
                height, title);
}

/* The backward pass in as many spans as layers; what is behind the last belongs to it. */
static void draw_backward(struct canvas *c, const struct frame *f, const struct run_step *s,
                          double y, const char *name)
{
    double from = s->backward;

    for (size_t i = 0; i < s->nready && s->ready[i] <= s->computed; i++) {
        draw_span(c, f, BACKWARD, from, s->ready[i], y, BAR, name);
        from = s->ready[i];
    }
    draw_span(c, f, BACKWARD, from, s->computed, y, BAR, name);
}

struct trip {
    double sent, fresh;
};

static int sooner(const void *a, const void *b)
{
    const struct trip *x = a, *y = b;

    if (x->sent < y->sent || x->sent > y->sent)
        return x->sent < y->sent ? -1 : 1;
    return (x->fresh > y->fresh) - (x->fresh < y->fresh);
}

static void draw_trips(struct canvas *c, const struct frame *f, const struct run_step *s, double y,
                       const char *name)
{
    struct trip trips[RUN_SPANS];
    double height = trips_height(s) / (double)s->ntrips;

    for (size_t i = 0; i < s->ntrips; i++)
        trips[i] = (struct trip){s->sent[i], s->fresh[i]};
    qsort(trips, s->ntrips, sizeof *trips, sooner);
    for (size_t i = 0; i < s->ntrips; i++)
        draw_span(c, f, TRAVELLING, trips[i].sent, trips[i].fresh, y + height * (double)i,
                  fmax(0.6 * height, 0.3), name);
}

static double draw_step(struct canvas *c, const struct steps *l, const struct frame *f, size_t i,
                        double y)
{
    const struct run_step *s = &l->at[i];
    const char *name = l->names[i].text;

    canvas_label(c, ANCHOR_END, f->left - 6, y + BAR - 3, f->left - 10, name);
    draw_span(c, f, FORWARD, s->began, s->backward, y, BAR, name);
    draw_backward(c, f, s, y, name);
    draw_span(c, f, WAITING, s->computed, s->ended, y, BAR, name);
    draw_trips(c, f, s, y + BAR + 2, name);
    return y + step_height(s);
}

static const char *steps_title(const void *figure)
{
    return ((const struct steps *)figure)->title;
}

static struct extent steps_extent(const void *figure)
{
    return (struct extent){FIGURE_WIDTH,
                           legend_parts(NULL, part_names, PARTS, frame_of(figure).bottom)};
}

static void steps_draw(struct canvas *c, const void *figure)
{
    const struct steps *l = figure;
    struct frame f = frame_of(l);
    double y = TOP;

    figure_title(c, l->title, FIGURE_WIDTH);
    figure_x_axis(c, &f.scale, "time since the first rank began the step", f.left, TOP - 6,
                  f.bottom);
    for (size_t i = 0; i < l->n; i++)
        y = draw_step(c, l, &f, i, y);
    legend_parts(c, part_names, PARTS, f.bottom);
}

static void step_row(struct prose *t, const char *name, enum part part, double from, double to)
{
    figure_row(t, (const char *[]){name, part_names[part]}, 2, (double[]){from, to}, 2);
}

static void steps_rows(struct prose *t, const void *figure)
{
    const struct steps *l = figure;

    figure_row(t, (const char *[]){"rank", "what", "from (s)", "to (s)"}, 4, NULL, 0);
    for (size_t i = 0; i < l->n; i++) {
        const struct run_step *s = &l->at[i];
        const char *name = l->names[i].text;

        step_row(t, name, FORWARD, s->began, s->backward);
        step_row(t, name, BACKWARD, s->backward, s->computed);
        for (size_t k = 0; k < s->ntrips; k++)
            step_row(t, name, TRAVELLING, s->sent[k], s->fresh[k]);
        step_row(t, name, WAITING, s->computed, s->ended);
    }
}

const struct figure_kind steps_figure = {steps_title, steps_extent, steps_draw, steps_rows};
