/* The page of a study: its curves against workers and batches, its runs against time. */
#include "study/draw/draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- curves ---- */

_Static_assert((int)TICKS >= SHOAL_STUDY_AXIS, "each worker count has a tick");

struct curve {
    const char *name, *title, *label;
    enum axis axis;
    size_t of; /* which number of a cell */
    bool from_zero;
    enum { ANY, STRONG_ONLY, WEAK_ONLY } which;
    enum { NO_IDEAL, IDEAL_SPEEDUP, IDEAL_ONE } ideal;
    size_t per;    /* divided by this one; 0: by none */
    bool by_batch; /* against batches, not workers */
};

static bool wanted(const struct curve *curve, const struct cell *cell)
{
    return curve->which == ANY || (curve->which == WEAK_ONLY) == cell->weak;
}

/* A line holds the cells that differ in workers only, or in the batch only. */
static bool same_line(const struct cell *a, const struct cell *b, bool by_batch)
{
    return a->sync == b->sync && a->weak == b->weak && a->servers == b->servers &&
           (by_batch ? a->workers == b->workers : a->batch == b->batch);
}

static bool first_of_line(const shoal_study *s, size_t cell, bool by_batch)
{
    for (size_t i = 0; i < cell; i++)
        if (same_line(&s->cells[i], &s->cells[cell], by_batch))
            return false;
    return true;
}

static void trace(struct chart *c, const shoal_study *s, const struct curve *curve, size_t first)
{
    bool by_batch = curve->by_batch;
    struct shoal_study_cell cell;
    struct name name = study_line_name(s, first, by_batch);
    struct line *line = chart_line(c, *name.text ? name.text : "measured");

    for (size_t i = first; shoal_study_cell(s, i, &cell); i++)
        if (same_line(&s->cells[i], &s->cells[first], by_batch) && cell.done > 0)
            chart_line_add(c, line, by_batch ? (double)cell.batch : cell.workers,
                           study_cell_number(&cell, curve->of, curve->per));
}

static void trace_ideal(struct chart *c, const struct curve *curve,
                        const struct shoal_axis *workers)
{
    struct line *line = curve->ideal == NO_IDEAL ? NULL : chart_line(c, "ideal");

    if (!line)
        return;
    line->ideal = true;
    for (size_t i = 0; i < workers->n; i++) {
        double n = (double)workers->at[i];

        chart_line_add(c, line, n, curve->ideal == IDEAL_ONE ? 1 : n / (double)workers->at[0]);
    }
}

static void draw(struct album *a, const shoal_study *s, const struct curve *curve)
{
    bool by_batch = curve->by_batch;
    char workers[16];
    const struct shoal_study_opts *o = &s->opts;
    const struct shoal_axis *along = by_batch ? &o->batch : &o->workers;
    struct chart c = {.name = curve->name,
                      .x_label = by_batch ? "batch" : workers,
                      .y_label = curve->label,
                      .y_axis = curve->axis,
                      .from_zero = curve->from_zero,
                      .x_log = by_batch || o->workers.at[o->workers.n - 1] >= 16 * o->workers.at[0],
                      .nx_ticks = along->n};

    snprintf(workers, sizeof workers, "%ss", study_worker_name(s));
    snprintf(c.title, sizeof c.title, "%s", curve->title);
    for (size_t i = 0; i < along->n; i++)
        c.x_ticks[i] = (double)along->at[i];
    c.y_log = curve->ideal == IDEAL_SPEEDUP && c.x_log;
    if (!by_batch)
        trace_ideal(&c, curve, &o->workers);
    for (size_t i = 0; i < s->ncells; i++)
        if (wanted(curve, &s->cells[i]) && first_of_line(s, i, by_batch))
            trace(&c, s, curve, i);
    album_chart(a, &c, o->workers.n > 1 || by_batch ? 2 : 1);
}

static void draw_lines(struct album *a, const shoal_study *s, const char *unit, const char *good)
{
    const struct curve curves[] = {
        {"speedup", "Speedup, strong scaling", "speedup", AXIS_PLAIN, CELL(speedup),
         .from_zero = true, .which = STRONG_ONLY, .ideal = IDEAL_SPEEDUP},
        {"efficiency", "Efficiency, strong scaling", "efficiency", AXIS_SHARE, CELL(efficiency),
         .from_zero = true, .which = STRONG_ONLY, .ideal = IDEAL_ONE},
        {"weak-speedup", "Speedup, weak scaling (the work grows)", "speedup", AXIS_PLAIN,
         CELL(speedup), .from_zero = true, .which = WEAK_ONLY, .ideal = IDEAL_SPEEDUP},
        {"weak-efficiency", "Efficiency, weak scaling (the work grows)", "efficiency", AXIS_SHARE,
         CELL(efficiency), .from_zero = true, .which = WEAK_ONLY, .ideal = IDEAL_ONE},
        {"updates", "Updates a second", "updates per second", AXIS_COUNT, CELL(best.updates),
         .from_zero = true, .per = CELL(best.seconds)},
        {"rate", "Speed", unit, AXIS_COUNT, CELL(best.rate), .from_zero = true},
        {"target", "Time to the target loss", "time", AXIS_SECONDS, CELL(best.target),
         .from_zero = true},
        {"loss", "Training loss at the end", "loss", AXIS_PLAIN, .of = CELL(best.loss)},
        {"held", "Validation loss at the end", "loss", AXIS_PLAIN, .of = CELL(best.held)},
        {"accuracy", "Training accuracy at the end", "accuracy", AXIS_PLAIN,
         .of = CELL(best.accuracy)},
        {"held-accuracy", "Held-out accuracy at the end", "accuracy", AXIS_PLAIN,
         .of = CELL(best.held_accuracy)},
        {"quality", "Quality at the end", good, AXIS_PLAIN, .of = CELL(best.quality)},
        {"bytes-each", "Sent between ranks, for each example", "bytes", AXIS_BYTES,
         CELL(best.bytes), .from_zero = true, .per = CELL(best.units)},
        {"bytes-rate", "Sent between ranks, each second", "bytes per second", AXIS_BYTES,
         CELL(best.bytes), .from_zero = true, .per = CELL(best.seconds)},
        {"waiting", "Time that ranks waited", "share of the time", AXIS_SHARE, CELL(best.waiting),
         .from_zero = true},
        {"stale", "Staleness", "rounds late", AXIS_PLAIN, CELL(best.stale), .from_zero = true},
        {"memory-workers", "Memory of all workers", "memory", AXIS_BYTES, CELL(best.memory),
         .from_zero = true},
        {"time-batch", "Time of training against the batch", "time", AXIS_SECONDS,
         CELL(best.seconds), .from_zero = true, .by_batch = true},
        {"held-accuracy-batch", "Held-out accuracy against the batch", "accuracy", AXIS_PLAIN,
         .of = CELL(best.held_accuracy), .by_batch = true},
        {"rate-batch", "Speed against the batch", unit, AXIS_COUNT, CELL(best.rate),
         .from_zero = true, .by_batch = true},
        {"loss-batch", "Training loss against the batch", "loss", AXIS_PLAIN, .of = CELL(best.loss),
         .by_batch = true},
        {"held-batch", "Validation loss against the batch", "loss", AXIS_PLAIN, .of = CELL(best.held),
         .by_batch = true},
        {"quality-batch", "Quality against the batch", good, AXIS_PLAIN, .of = CELL(best.quality),
         .by_batch = true},
        {"waiting-batch", "Waiting against the batch", "share of the time", AXIS_SHARE,
         CELL(best.waiting), .from_zero = true, .by_batch = true},
    };

    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++)
        if (!curves[i].by_batch || s->opts.batch.n > 1)
            draw(a, s, &curves[i]);
}

/* Where the time went, a bar for each cell. */
static void draw_shares(struct album *a, const shoal_study *s)
{
    struct bars b = {.name = "shares",
                     .title = "Where the time went",
                     .x_label = "share of the workers' time",
                     .axis = AXIS_SHARE,
                     .parts = time_parts,
                     .nparts = TIME_PARTS};
    struct shoal_study_cell cell;

    for (size_t i = 0; shoal_study_cell(s, i, &cell) && b.n < BARS; i++) {
        double parts[TIME_PARTS] = {cell.best.computing, cell.best.communicating, cell.best.waiting,
                                    cell.best.other};

        if (cell.done == 0 || isnan(cell.best.computing) || cell.twin != i)
            continue;
        b.at[b.n].name = study_cell_name(s, i);
        for (size_t k = 0; k < TIME_PARTS; k++)
            b.at[b.n].parts[k] = parts[k] > 0 ? parts[k] : 0;
        b.n++;
    }
    if (b.n > 0)
        album_figure(a, b.name, &bars_figure, &b);
}

static void draw_curves(struct album *a, const shoal_study *s)
{
    const struct shoal_measures *m = study_example(s);
    char unit[64];

    if (!m)
        return;
    snprintf(unit, sizeof unit, "%s per second", m->unit);
    draw_lines(a, s, unit, *m->quality_name ? m->quality_name : "quality");
    draw_shares(a, s);
}

/* ---- runs against time ---- */

struct best_runs {
    shoal_run *runs[SHOAL_REPORT_RUNS];
    struct name names[SHOAL_REPORT_RUNS];
    const char *named[SHOAL_REPORT_RUNS];
    size_t n;
};

/* A file that is gone by now leaves out its curve, not the page. */
static void read_best(struct best_runs *all, const shoal_study *s, size_t cell)
{
    const struct study_run *best = study_cell_best(s, cell);
    char *folder = best ? study_run_folder(s, (size_t)(best - s->runs)) : NULL;
    char *path = folder ? mem_text("%s/metrics.jsonl", folder) : NULL;

    if (path && s->cells[cell].twin == cell && all->n < SHOAL_REPORT_RUNS &&
        shoal_run_read(&all->runs[all->n], path) == SHOAL_OK) {
        all->names[all->n] = study_cell_name(s, cell);
        all->named[all->n] = all->names[all->n].text;
        all->n++;
    }
    free(path);
    free(folder);
}

static void draw_ranks(struct album *a, const struct best_runs *all)
{
    bool any = false;

    for (size_t i = 0; i < all->n; i++)
        any = any || all->runs[i]->end.ranks > 1;
    if (!any)
        return;
    album_begin(a, "Their ranks");
    for (size_t i = 0; i < all->n; i++)
        if (all->runs[i]->end.ranks > 1)
            report_ranks(a, all->runs[i], all->named[i], i + 1);
    album_end(a);
}

static void draw_runs(struct album *a, const shoal_study *s)
{
    struct best_runs *all = mem_array(1, sizeof *all);

    if (!all) {
        a->status = SHOAL_ENOMEM;
        return;
    }
    for (size_t i = 0; i < s->ncells; i++)
        read_best(all, s, i);
    if (all->n > 0) {
        album_begin(a, "The quickest run of each cell");
        report_runs(a, (const shoal_run *const *)all->runs, all->named, all->n);
        album_end(a);
        draw_ranks(a, all);
        report_learned(a, (const shoal_run *const *)all->runs, all->named, all->n);
    }
    for (size_t i = 0; i < all->n; i++)
        shoal_run_free(all->runs[i]);
    free(all);
}

/* ---- the page ---- */

static void say_failures(struct prose *t, const shoal_study *s)
{
    struct shoal_study_cell cell;

    for (size_t i = 0; shoal_study_cell(s, i, &cell); i++) {
        if (cell.failed == 0 || cell.twin != i)
            continue;
        prose_wrap(t, "<p>Failed: ", study_cell_name(s, i).text, "");
        prose_add(t, ", %u of %u", cell.failed, s->opts.repeat);
        prose_wrap(t, ": ", cell.failure, "</p>\n");
    }
}

static void say_command(struct prose *t, const struct shoal_study_opts *o)
{
    prose_add(t, "<p class=\"under\">shoal train ");
    prose_escape(t, o->model);
    for (size_t i = 0; i < o->ndata; i++)
        prose_wrap(t, " ", o->data[i], "");
    for (size_t i = 0; i < o->nmore; i++)
        prose_wrap(t, " ", o->more[i], "");
    prose_add(t, "; the quickest of %u run%s of each cell</p>\n", o->repeat,
              o->repeat == 1 ? "" : "s");
}

static void say_verdicts(struct prose *t, const shoal_study *s)
{
    struct shoal_study_cell cell;

    for (size_t i = 0; shoal_study_cell(s, i, &cell); i++) {
        if (cell.done == 0 || !*cell.best.verdict || cell.twin != i)
            continue;
        prose_wrap(t, "<tr><td class=\"w\">", study_cell_name(s, i).text, "</td>");
        prose_wrap(t, "<td class=\"v\">", cell.best.verdict, "</td></tr>\n");
    }
}

static shoal_status compose(struct prose *t, const shoal_study *s, const char *plots,
                            const struct shoal_cluster *cluster)
{
    struct album a = {.page = t, .plots = plots};
    char title[96];

    snprintf(title, sizeof title, "Study of %s", s->opts.model);
    page_begin(t, title, s->machine);
    say_command(t, &s->opts);
    prose_add(t, "<div class=\"said\">\n");
    findings_html(t, s);
    say_failures(t, s);
    prose_add(t, "</div>\n");
    page_section(t, "Results");
    table_html(t, s);
    if (table_has_resources(s)) {
        page_section(t, "Resources");
        table_html_resources(t, s);
    }
    album_begin(&a, "Workers");
    draw_curves(&a, s);
    album_end(&a);
    if (cluster)
        prediction_draw(&a, s, cluster);
    draw_runs(&a, s);
    page_section(t, "What limits each cell");
    page_wide(t, "What limits each cell");
    prose_add(t, "<table>\n");
    say_verdicts(t, s);
    prose_add(t, "</table></div>\n");
    page_end(t);
    return a.status;
}

shoal_status shoal_study_report(const shoal_study *s, const char *plots,
                                const struct shoal_cluster *cluster)
{
    struct prose page = {0}, csv = {0}, predicted = {0};
    shoal_status st = compose(&page, s, plots, cluster);

    if (st == SHOAL_OK)
        st = prose_write_in(&page, s->folder, "report.html");
    if (st == SHOAL_OK) {
        table_csv(&csv, s);
        st = prose_write_in(&csv, s->folder, "study.csv");
    }
    if (st == SHOAL_OK && cluster) {
        prediction_csv(&predicted, s, cluster);
        st = prose_write_in(&predicted, s->folder, "predicted.csv");
    }
    prose_fini(&predicted);
    prose_fini(&page);
    prose_fini(&csv);
    return st;
}
