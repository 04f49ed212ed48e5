/* Predictions as tables, charts and sentences. */
#include "study/draw/draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EFFICIENT 0.9 /* what is called efficient */
#define LINK_FULL 0.7 /* the share of the time from which on a link is the limit */

/* ---- one after the other ---- */

/* Of each link and each series, for each number of workers. */
struct walk {
    const shoal_study *study;
    const struct shoal_cluster *cluster;
    size_t link, cell, next; /* the place of the next workers */
    unsigned workers;
    struct name name; /* of the series, with its link if there are several */
    struct shoal_prediction p;
};

static struct name name_of(const struct walk *w)
{
    struct name series = study_line_name(w->study, w->cell, false), name = series;
    double gigabits = cluster_link(w->cluster, w->link).bandwidth * 8e-9;

    if (cluster_links(w->cluster) > 1)
        snprintf(name.text, sizeof name.text, "%.40s%s%s Gbit/s", series.text,
                 *series.text ? ", " : "", number_plain(gigabits).text);
    return name;
}

static bool walk_cells(struct walk *w)
{
    struct shoal_cluster c = cluster_link(w->cluster, w->link);

    for (; w->cell < w->study->ncells; w->cell++, w->next = 0)
        while (study_cell_base(w->study, w->cell) == w->cell && w->next < c.workers.n) {
            w->workers = (unsigned)c.workers.at[w->next++];
            w->name = name_of(w);
            if (shoal_study_predict(w->study, w->cell, &c, w->workers, &w->p))
                return true;
        }
    return false;
}

static bool walk_on(struct walk *w)
{
    for (; w->link < cluster_links(w->cluster); w->link++, w->cell = 0)
        if (walk_cells(w))
            return true;
    return false;
}

/* ---- tables ---- */

/* What the table says of a prediction, between its series and its largest part. */
#define PREDICTED(member) offsetof(struct shoal_prediction, member)
static const struct {
    const char *head;
    int width; /* in text */
    struct short_number (*show)(double x);
    size_t of;
} columns[] = {
    {"time", 9, number_time, PREDICTED(seconds)},
    {"%s/s", 9, number_short, PREDICTED(rate)},
    {"speedup", 7, number_plain, PREDICTED(speedup)},
    {"efficiency", 10, number_share, PREDICTED(efficiency)},
    {"held out", 8, number_plain, PREDICTED(held)},
    {"quality", 8, number_plain, PREDICTED(quality)},
    {"sent each", 9, number_bytes, PREDICTED(sent)},
    {"wait", 6, number_share, PREDICTED(waiting)},
    {"link", 6, number_share, PREDICTED(carried)},
    {"stale", 6, number_plain, PREDICTED(stale)},
    {"computing", 9, number_time, PREDICTED(computing)},
    {"exchanging", 10, number_time, PREDICTED(exchanging)},
    {"wire", 9, number_time, PREDICTED(wire)},
    {"latency", 9, number_time, PREDICTED(latency)},
};

enum { COLUMNS = sizeof columns / sizeof *columns };

static struct short_number column_of(const struct shoal_prediction *p, size_t i)
{
    return columns[i].show(*(const double *)(const void *)((const char *)p + columns[i].of));
}

static const char *quality_of(const shoal_study *s)
{
    for (size_t i = 0; i < s->ncells; i++)
        if (study_cell_best(s, i) && study_cell_best(s, i)->m.quality_name[0])
            return study_cell_best(s, i)->m.quality_name;
    return "quality";
}

static const char *unit_of(const shoal_study *s)
{
    const struct shoal_measures *m = study_example(s);

    return m && *m->unit ? m->unit : "units";
}

/* Some are called as the study has it. */
static struct short_number head_of(const shoal_study *s, size_t i)
{
    if (columns[i].of == PREDICTED(rate))
        return number_as("%.15s/s", unit_of(s));
    if (columns[i].of == PREDICTED(quality))
        return number_as("%.24s", quality_of(s));
    return number_as("%s", columns[i].of == PREDICTED(wire) && s->nsimulated > 0 ? "waiting"
                                                                                 : columns[i].head);
}

static void text_head(struct prose *t, const shoal_study *s)
{
    prose_add(t, "%7s  %-24s", "workers", "");
    for (size_t i = 0; i < COLUMNS; i++)
        prose_add(t, "  %*.*s", columns[i].width, columns[i].width, head_of(s, i).text);
    prose_add(t, "  %-10s  %s\n", "largest", "by");
}

static void text_row(struct prose *t, const struct walk *w)
{
    prose_add(t, "%7u  %-24.24s", w->workers, w->name.text);
    if (w->p.failure) {
        prose_add(t, "  failed: %s\n", w->p.failure);
        return;
    }
    for (size_t i = 0; i < COLUMNS; i++)
        prose_add(t, "  %*s", columns[i].width, column_of(&w->p, i).text);
    prose_add(t, "  %-10s  %s\n", w->p.limit, w->p.by);
}

/* ---- charts ---- */

/* A line for each series, of what lies at `of` in its predictions. */
static void trace(struct chart *chart, const shoal_study *s, const struct shoal_cluster *c,
                  size_t of)
{
    struct walk w = {.study = s, .cluster = c};
    size_t series = s->ncells, link = 0;
    struct line *line = NULL;

    while (walk_on(&w)) {
        double y = *(const double *)(const void *)((const char *)&w.p + of);

        if (w.p.failure || !isfinite(y))
            continue;
        if (w.cell != series || w.link != link)
            line = chart_line(chart, *w.name.text ? w.name.text : "predicted");
        series = w.cell;
        link = w.link;
        if (line)
            chart_line_add(chart, line, w.workers, y);
    }
}

static struct chart chart_by_workers(const char *name, const char *y_label,
                                     const struct shoal_cluster *c)
{
    struct chart chart = {.name = name,
                          .x_label = "ranks",
                          .y_label = y_label,
                          .x_log = c->workers.at[c->workers.n - 1] >= 16,
                          .nx_ticks = c->workers.n};

    for (size_t i = 0; i < c->workers.n; i++)
        chart.x_ticks[i] = (double)c->workers.at[i];
    return chart;
}

static void draw_speedup(struct album *a, const shoal_study *s, const struct shoal_cluster *c)
{
    struct chart chart = chart_by_workers("predicted", "speedup", c);
    struct line *ideal = chart_line(&chart, "ideal");

    snprintf(chart.title, sizeof chart.title, "Speedup, predicted");
    chart.y_log = chart.x_log;
    chart.from_zero = true;
    ideal->ideal = true;
    for (size_t i = 0; i < c->workers.n; i++)
        chart_line_add(&chart, ideal, (double)c->workers.at[i], (double)c->workers.at[i]);
    trace(&chart, s, c, PREDICTED(speedup));
    album_chart(a, &chart, 2);
}

/* What so many workers came to, trained for real. */
static void draw_quality(struct album *a, const shoal_study *s, const struct shoal_cluster *c)
{
    struct chart chart = chart_by_workers("predicted-quality", quality_of(s), c);

    snprintf(chart.title, sizeof chart.title, "Quality (%.40s), predicted", quality_of(s));
    trace(&chart, s, c, PREDICTED(quality));
    album_chart(a, &chart, 2);
}

/* Efficiency and quality in one picture: a speedup that costs quality is none. */
static void draw_curve(struct album *a, const shoal_study *s, const struct shoal_cluster *c)
{
    struct chart charts[2] = {chart_by_workers("", "efficiency", c),
                              chart_by_workers("", quality_of(s), c)};

    snprintf(charts[0].title, sizeof charts[0].title, "Efficiency");
    snprintf(charts[1].title, sizeof charts[1].title, "Quality (%.40s)", quality_of(s));
    charts[0].y_axis = AXIS_SHARE;
    charts[0].from_zero = charts[1].from_zero = true;
    trace(&charts[0], s, c, PREDICTED(efficiency));
    trace(&charts[1], s, c, PREDICTED(quality));
    album_panels(a, "predicted-curve", c->name, charts, 2);
}

/* ---- sentences ---- */

/* Of the time that ranks take beyond their share of one alone: where it goes. */
static void say_lost(struct prose *t, const struct walk *w, double alone)
{
    const struct shoal_prediction *p = &w->p;
    double ideal = alone / w->workers, lost = p->seconds - ideal;
    double rest = lost - p->exchanging - p->wire;
    const char *cause = "unequal work and the ends of epochs";

    if (p->exchanging >= p->wire && p->exchanging >= rest)
        cause = "the processor time of messages";
    else if (p->wire >= rest)
        cause = p->carried > LINK_FULL ? "the link" : "waiting for other ranks, not the link";
    prose_add(t,
              " At %u it is %s, and what limits is %s: of %s a rank exchanges for %s and waits for "
              "%s, and its link carries bytes %s of the time.",
              w->workers, number_share(p->efficiency).text, cause, number_time(p->seconds).text,
              number_time(p->exchanging).text, number_time(p->wire).text,
              number_share(p->carried).text);
}

/* One series on one link: how far it is efficient, what breaks then and in the end, and what
 * becomes of its quality. */
struct finding {
    unsigned efficient; /* the most workers up to which all are */
    bool broke;
    double alone, quality;
    struct walk last; /* workers == 0: none was simulated */
};

static void say_end(struct prose *t, const struct finding *f)
{
    if (f->last.workers == 0)
        return;
    if (!f->broke)
        prose_add(t, "%s: efficiency is %s at %u ranks.", f->last.name.text,
                  number_share(f->last.p.efficiency).text, f->last.workers);
    else
        say_lost(t, &f->last, f->alone);
    if (isfinite(f->quality) && isfinite(f->last.p.quality))
        prose_add(t, " The quality goes from %s to %s.", number_plain(f->quality).text,
                  number_plain(f->last.p.quality).text);
    prose_add(t, "\n");
}

static void say_break(struct prose *t, const struct walk *w, struct finding *f)
{
    if (w->p.efficiency >= EFFICIENT)
        f->efficient = w->workers;
    if (w->p.efficiency >= EFFICIENT || f->broke)
        return;
    f->broke = true;
    if (f->efficient > 1)
        prose_add(t, "%s: efficiency is %s or more up to %u ranks.", w->name.text,
                  number_share(EFFICIENT).text, f->efficient);
    else
        prose_add(t, "%s: efficiency is below %s from the first ranks on.", w->name.text,
                  number_share(EFFICIENT).text);
    say_lost(t, w, f->alone);
}

static void say_limits(struct prose *t, const shoal_study *s, const struct shoal_cluster *c)
{
    struct walk w = {.study = s, .cluster = c};
    struct finding f = {.quality = (double)NAN};
    size_t cell = s->ncells, link = 0;

    while (s->nsimulated > 0 && walk_on(&w)) {
        if (w.cell != cell || w.link != link) {
            say_end(t, &f);
            f = (struct finding){.alone = w.p.seconds * w.p.speedup, .quality = (double)NAN};
        }
        cell = w.cell;
        link = w.link;
        if (w.workers == 1)
            f.quality = w.p.quality;
        if (w.p.failure || strcmp(w.p.by, "simulated") != 0)
            continue;
        if (f.broke || w.p.efficiency >= EFFICIENT)
            f.last = w;
        say_break(t, &w, &f);
    }
    say_end(t, &f);
}

shoal_status shoal_study_predictions(char **text, const shoal_study *s,
                                     const struct shoal_cluster *c)
{
    struct walk w = {.study = s, .cluster = c};
    struct prose t = {0};

    prose_add(&t, "%s", ""); /* "", not NULL, when there is none */
    while (walk_on(&w)) {
        if (t.bytes.len == 0)
            text_head(&t, s);
        text_row(&t, &w);
    }
    if (s->nsimulated > 0)
        prose_add(&t, "\n");
    say_limits(&t, s, c);
    return prose_take(&t, text);
}

/* ---- for programs ---- */

static void csv_number(struct prose *t, double x)
{
    if (isfinite(x))
        prose_add(t, ",%.6g", x);
    else
        prose_add(t, ",");
}

/* Names have commas in them. */
static void csv_word(struct prose *t, const char *word)
{
    prose_add(t, ",\"");
    for (; word && *word; word++)
        prose_add(t, *word == '"' ? "\"\"" : "%c", *word == '\n' ? ' ' : *word);
    prose_add(t, "\"");
}

void prediction_csv(struct prose *t, const shoal_study *s, const struct shoal_cluster *c)
{
    struct walk w = {.study = s, .cluster = c};

    prose_add(t,
              "gigabits,workers,series,by,seconds,rate,speedup,efficiency,held,quality,sent_each,"
              "waiting,link,stale,computing_seconds,exchanging_seconds,waiting_seconds,failure\n");
    while (walk_on(&w)) {
        const struct shoal_prediction *p = &w.p;
        const double numbers[] = {p->seconds,   p->rate,       p->speedup, p->efficiency, p->held,
                                  p->quality,   p->sent,       p->waiting, p->carried,    p->stale,
                                  p->computing, p->exchanging, p->wire};

        prose_add(t, "%.6g,%u", cluster_link(c, w.link).bandwidth * 8e-9, w.workers);
        csv_word(t, study_line_name(s, w.cell, false).text);
        csv_word(t, p->by);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            csv_number(t, p->failure ? (double)NAN : numbers[i]);
        csv_word(t, p->failure);
        prose_add(t, "\n");
    }
}

/* ---- the page ---- */

static void html_row(struct prose *t, const struct walk *w)
{
    const struct shoal_prediction *p = &w->p;

    prose_add(t, "<tr%s><td>%u</td>", p->failure ? " class=\"bad\"" : "", w->workers);
    prose_wrap(t, "<td class=\"w\">", w->name.text, "</td>");
    if (p->failure) {
        prose_wrap(t, "<td class=\"v\" colspan=\"16\">failed: ", p->failure, "</td></tr>\n");
        return;
    }
    for (size_t i = 0; i < COLUMNS; i++)
        prose_add(t, "<td>%s</td>", column_of(p, i).text);
    prose_wrap(t, "<td class=\"w\">", p->limit, "</td>");
    prose_wrap(t, "<td class=\"w\">", p->by, "</td></tr>\n");
}

static void draw_table(struct prose *t, const shoal_study *s, const struct shoal_cluster *c)
{
    struct walk w = {.study = s, .cluster = c};

    page_wide(t, "Predictions");
    prose_add(t, "<table>\n<thead><tr><th>ranks</th><th class=\"w\">policy</th>");
    for (size_t i = 0; i < COLUMNS; i++)
        prose_wrap(t, "<th>", head_of(s, i).text, "</th>");
    prose_add(t, "<th class=\"w\">largest</th><th class=\"w\">by</th></tr></thead>\n<tbody>\n");
    while (walk_on(&w))
        html_row(t, &w);
    prose_add(t, "</tbody></table></div>\n");
}

/* "1, 10 and 25" */
static void say_links(struct prose *t, const struct shoal_cluster *c)
{
    size_t n = cluster_links(c);

    for (size_t i = 0; i < n; i++)
        prose_add(t, "%s%s",
                  i == 0      ? ""
                  : i + 1 < n ? ", "
                              : " and ",
                  number_plain(cluster_link(c, i).bandwidth * 8e-9).text);
}

static void html_limits(struct prose *page, const shoal_study *s, const struct shoal_cluster *c)
{
    struct prose t = {0};
    char *text = NULL, *rest, *line;
    shoal_status st;

    prose_add(&t, "%s", "");
    say_limits(&t, s, c);
    st = prose_take(&t, &text);
    for (rest = text; rest && (line = strsep(&rest, "\n")) != NULL;)
        if (*line)
            prose_wrap(page, "<p>", line, "</p>\n");
    if (page->status == SHOAL_OK)
        page->status = st;
    free(text);
}

void prediction_draw(struct album *a, const shoal_study *s, const struct shoal_cluster *c)
{
    const char *how = s->nsimulated > 0
                          ? "Ranks trained for real in one process; only the time is simulated, "
                            "of links by SimGrid and of computing from the runs above."
                          : "These are the results of a formula that the runs above calibrate, "
                            "not of runs.";
    char title[128];

    snprintf(title, sizeof title, "Predicted for %s", c->name);
    page_section(a->page, title);
    prose_add(a->page, "<p>%u nodes of %u core%s, links of ", c->nodes, c->cores,
              c->cores == 1 ? "" : "s");
    say_links(a->page, c);
    prose_add(
        a->page,
        " Gbit/s and %s microseconds, computing that varies by %s from step to step. %s</p>\n",
        number_plain(c->latency * 1e6).text, number_share(c->jitter).text, how);
    html_limits(a->page, s, c);
    album_begin(a, NULL);
    draw_speedup(a, s, c);
    if (s->nsimulated > 0) {
        draw_quality(a, s, c);
        draw_curve(a, s, c);
    }
    album_end(a);
    draw_table(a->page, s, c);
}
