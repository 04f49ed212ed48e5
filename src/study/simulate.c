/* What a cluster would make of a study: as simgrid.c simulated it, or by a formula.
 *
 * Calibrated by the cell of one worker (what an example costs to compute) and by the
 * next one of its series (what ranks send each other, and what packing and merging it
 * costs). Then, for n ranks, with `share(n) = (n - 1) / n` of what a rank owns or learns
 * being elsewhere:
 *
 *     computing   C / n                         C: processor time of the one worker
 *     exchanging  bytes of the busiest rank x their cost
 *     wire        bytes that leave its node / bandwidth
 *     latency     rounds x latency              of a dense net: 2 log2 n for each step in step,
 *                                               else 2 / DENSE_CREDITS
 *     sync        T = computing x (1 + jitter x sqrt(2 ln n)) + exchanging + wire + latency
 *     async       T = max(computing + exchanging, wire, latency)
 *
 * The busiest rank of a dense net is an owner. A block of few parameters has few pieces, so m < n
 * ranks own all of it: half of what is sent goes through those m, the other half through all n,
 * and an owner has n (1 / m + 1 / n) / 2 times the mean.
 *
 * docs/studies.md states what this leaves out. */
#include "file/file.h"
#include "store/store.h"
#include "study/draw/draw.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLUSTER_MOST = 1 << 20 };

/* ---- the cluster ---- */

/* The numbers of a cluster in its file. */
enum { NODES, CORES, GIGABITS, MICROSECONDS, SPEED, JITTER, NUMBERS };
static const struct {
    const char *key;
    double least, most, usual; /* usual below least: it must be given */
} numbers[NUMBERS] = {
    [NODES] = {"nodes", 1, 1e6, 0},          [CORES] = {"cores", 1, 1e5, 1},
    [GIGABITS] = {"gigabits", 1e-6, 1e6, 0}, [MICROSECONDS] = {"microseconds", 0, 1e7, 50},
    [SPEED] = {"speed", 1e-3, 1e3, 1},       [JITTER] = {"jitter", 0, 1, 0.2},
};

static bool read_workers(const json_t *list, struct shoal_cluster *c)
{
    struct shoal_axis *axis = &c->workers;

    if (!json_is_array(list) || json_array_size(list) == 0 ||
        json_array_size(list) > SHOAL_STUDY_AXIS)
        return false;
    for (; axis->n < json_array_size(list); axis->n++) {
        json_int_t n = json_integer_value(json_array_get(list, axis->n));

        if (n < 1 || n > 1000000 || (axis->n > 0 && (uint64_t)n <= axis->at[axis->n - 1]) ||
            (double)n > (double)c->nodes * c->cores)
            return false;
        axis->at[axis->n] = (uint64_t)n;
    }
    return true;
}

/* The key of what is wrong with it; NULL: nothing. */
static const char *read_cluster(const json_t *from, struct shoal_cluster *c)
{
    const char *name = json_string_value(json_object_get(from, "name"));
    double x[NUMBERS];

    for (size_t i = 0; i < NUMBERS; i++) {
        const json_t *given = json_object_get(from, numbers[i].key);

        x[i] = given ? json_number_value(given) : numbers[i].usual;
        if ((given && !json_is_number(given)) || !(x[i] >= numbers[i].least) ||
            x[i] > numbers[i].most)
            return numbers[i].key;
    }
    snprintf(c->name, sizeof c->name, "%s", name ? name : "a cluster");
    c->nodes = (unsigned)x[NODES];
    c->cores = (unsigned)x[CORES];
    c->bandwidth = x[GIGABITS] * 1e9 / 8;
    c->latency = x[MICROSECONDS] * 1e-6;
    c->speed = x[SPEED];
    c->jitter = x[JITTER];
    return read_workers(json_object_get(from, "workers"), c) ? NULL : "workers";
}

shoal_status cluster_parse(struct shoal_cluster *out, const char *path, const char *text,
                           size_t len)
{
    json_error_t error;
    json_t *all = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    const char *bad;

    *out = (struct shoal_cluster){.nodes = 0};
    bad = json_is_object(all) ? read_cluster(all, out) : "JSON object";
    json_decref(all);
    if (bad)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: found no good %s, want nodes, cores, gigabits, microseconds and "
                          "workers that rise to nodes x cores at most",
                          path, bad);
    return SHOAL_OK;
}

shoal_status shoal_cluster_read(struct shoal_cluster *out, const char *path)
{
    char *text = NULL;
    size_t len = 0;
    shoal_status st = stream_slurp(&text, &len, path, CLUSTER_MOST);

    if (st == SHOAL_OK)
        st = cluster_parse(out, path, text, len);
    free(text);
    return st;
}

/* ---- calibration ---- */

/* Processor seconds for a byte, at most: more was waiting, not work. */
#define BYTE_MOST 5e-9

/* The share of its time that a rank had a core: what counts is processor time, since other
 * programs may have had the cores meanwhile. */
static double busy(double cpu)
{
    return cpu > 0 ? fmin(cpu, 1) : 1;
}

bool calibration_find(struct calibration *k, const shoal_study *s, size_t cell)
{
    const struct cell *c = &s->cells[cell];
    const char *sync = s->opts.nsync > 0 ? s->opts.sync[c->sync] : "";

    *k = (struct calibration){
        .every = strncmp(sync, "average:", 8) == 0 ? fmax(1, number_read(sync + 8, NULL)) : 1};
    k->servers = c->servers;
    if (c->weak || c->workers != 1 || s->opts.worker != SHOAL_WORKER_RANK ||
        !study_cell_best(s, cell))
        return false;
    k->one = &study_cell_best(s, cell)->m;
    for (size_t i = 0; i < s->ncells && !k->some; i++)
        if (i != cell && study_cell_base(s, i) == cell && study_cell_best(s, i) &&
            study_cell_best(s, i)->m.bytes > 0) {
            k->some = &study_cell_best(s, i)->m;
            k->ranks = s->cells[i].workers;
        }
    /* Dense nets are in step by default, rows are not. */
    k->waits = strncmp(sync, "async", 5) != 0 && strncmp(sync, "bounded", 7) != 0 &&
               (*sync || isfinite(k->one->gradient));
    return true;
}

/* Of one worker with servers, without what it sends them: calibration_byte counts that. */
double calibration_alone(const struct calibration *k)
{
    double trains = k->servers > 0 && k->one->computing > 0 ? k->one->computing : 1;

    return k->one->seconds * trains * busy(k->one->cpu);
}

static double share(double n)
{
    return (n - 1) / n;
}

/* Where every rank has a batch of its own, n ranks take n times fewer steps; where they share one
 * batch, as many. Which of both it is shows in the steps that several ranks took. */
static double steps_of(const struct calibration *k, double n)
{
    bool same = fabs(k->some->steps - k->one->steps) < 0.1 * k->one->steps;

    return same ? k->one->steps : k->one->steps / n;
}

static bool is_dense(const struct calibration *k)
{
    return isfinite(k->one->steps) && isfinite(k->some->steps);
}

/* Ranks that own something of a dense block. In a step a rank sends what it does not own of the
 * gradient, and as many bytes of parameters: so the block's size shows in what was sent. */
static double owners_of(const struct calibration *k, double n)
{
    double block = k->some->bytes / k->ranks / k->some->steps / (2 * share(k->ranks));
    double pieces = ceil(block / sizeof(float) / DENSE_PIECE_LEAST);

    return is_dense(k) && k->every <= 1 ? fmin(n, fmax(pieces, 1)) : n;
}

/* What the busiest rank has to exchange, as a multiple of the mean. */
static double busiest(const struct calibration *k, double n)
{
    return n * (1 / owners_of(k, n) + 1 / n) / 2;
}

static double bytes_of_rank(const struct calibration *k, double n)
{
    double more = share(n) / share(k->ranks);

    if (is_dense(k))
        return k->some->bytes / k->ranks / k->some->steps * more * steps_of(k, n);
    return k->some->bytes / k->some->units * more * k->one->units / n;
}

static double rounds_of_rank(const struct calibration *k, double n)
{
    double each;

    if (is_dense(k) && !k->waits)
        return steps_of(k, n) * 2 / DENSE_CREDITS; /* so many gradients without an answer */
    if (is_dense(k))
        return steps_of(k, n) / k->every * 2 * ceil(log2(n));
    each = k->some->messages / k->ranks / (k->ranks - 1.0);
    return isfinite(each) ? 2 * each * k->ranks / n : 0;
}

/* Processor time of several ranks beyond that of the one, divided by the bytes they sent: what it
 * costs to pack a byte here and to merge it there. Waiting is not work, but ranks that poll are
 * seen as busy: so both the core's share and the waiting bound it. */
double calibration_byte(const struct calibration *k)
{
    double waiting = k->some->waiting > 0 ? fmin(k->some->waiting, 0.99) : 0;
    double worked = k->some->seconds * k->ranks * fmin(busy(k->some->cpu), 1 - waiting);
    double spent = worked - calibration_alone(k);

    return spent > 0 && k->some->bytes > 0 ? fmin(spent / k->some->bytes, BYTE_MOST) : 0;
}

/* ---- prediction ---- */

static double wire_of(const struct calibration *k, const struct shoal_cluster *c, double n)
{
    double here = fmin(c->cores, n);

    return here >= n ? 0 : bytes_of_rank(k, n) * here * (n - here) / (n - 1) / c->bandwidth;
}

static const char *largest(const struct shoal_prediction *p, bool simulated)
{
    const double parts[] = {p->computing, p->exchanging, p->wire, p->latency};
    const char *const names[] = {"computing", "exchanging", simulated ? "waiting" : "wire",
                                 "latency"};
    size_t most = 0;

    for (size_t i = 1; i < 4; i++)
        if (parts[i] > parts[most])
            most = i;
    return names[most];
}

static void by_formula(struct shoal_prediction *p, const struct calibration *k,
                       const struct shoal_cluster *c, double n)
{
    double jitter = c->jitter / sqrt(k->every); /* the mean of several steps has less */

    p->by = "formula";
    p->exchanging = bytes_of_rank(k, n) * busiest(k, n) * calibration_byte(k) / c->speed;
    p->wire = wire_of(k, c, n) * busiest(k, n);
    p->latency = (k->waits || is_dense(k)) && n > c->cores ? rounds_of_rank(k, n) * c->latency : 0;
    if (k->waits)
        p->seconds =
            p->computing * (1 + jitter * sqrt(2 * log(n))) + p->exchanging + p->wire + p->latency;
    else
        p->seconds = fmax(fmax(p->computing + p->exchanging, p->wire), p->latency);
}

static void by_simulation(struct shoal_prediction *p, const struct study_run *run)
{
    const struct shoal_measures *m = &run->m;

    p->by = "simulated";
    if (run->state == RUN_FAILED) {
        p->failure = run->failure;
        return;
    }
    p->seconds = m->seconds;
    p->computing = m->computing * m->seconds;
    p->exchanging = m->communicating * m->seconds;
    p->wire = m->waiting * m->seconds;
    p->latency = (double)NAN; /* passes while a rank waits */
    p->held = m->held;
    p->quality = m->quality;
}

bool shoal_study_predict(const shoal_study *s, size_t cell, const struct shoal_cluster *c,
                         unsigned workers, struct shoal_prediction *out)
{
    const struct study_run *run;
    struct calibration k;
    struct shoal_prediction p = {.held = (double)NAN, .quality = (double)NAN, .by = "formula"};
    double alone;

    if (cell >= s->ncells || workers == 0 || !calibration_find(&k, s, cell))
        return false;
    run = study_simulated_run(s, cell, workers);
    if (workers > 1 && !run && (!k.some || k.servers > 0))
        return false;
    alone = k.one->seconds * busy(k.one->cpu) / c->speed;
    p.computing = calibration_alone(&k) / c->speed / workers;
    if (workers == 1) {
        p.by = c->speed == 1 && busy(k.one->cpu) > 0.95 ? "measured" : "formula";
        p.seconds = alone;
        p.held = k.one->held;
        p.quality = k.one->quality;
    } else if (run) {
        by_simulation(&p, run);
    } else {
        by_formula(&p, &k, c, workers);
    }
    p.speedup = alone / p.seconds;
    p.efficiency = p.speedup / workers;
    p.limit = largest(&p, run != NULL);
    *out = p;
    return true;
}

/* ---- shown ---- */

/* Predictions one after the other: of each series, for each number of workers. */
struct walk {
    const shoal_study *study;
    const struct shoal_cluster *cluster;
    size_t cell, next; /* the place of the next workers */
    unsigned workers;
    struct name name; /* of the series */
    struct shoal_prediction p;
};

static bool walk_on(struct walk *w)
{
    const struct shoal_cluster *c = w->cluster;

    for (; w->cell < w->study->ncells; w->cell++, w->next = 0)
        while (study_cell_base(w->study, w->cell) == w->cell && w->next < c->workers.n) {
            w->workers = (unsigned)c->workers.at[w->next++];
            w->name = study_line_name(w->study, w->cell, false);
            if (shoal_study_predict(w->study, w->cell, c, w->workers, &w->p))
                return true;
        }
    return false;
}

/* What the table says of a prediction, between its series and its largest part. */
#define PREDICTED(member) offsetof(struct shoal_prediction, member)
static const struct {
    const char *head;
    int width; /* in text */
    struct short_number (*show)(double x);
    size_t of;
} columns[] = {
    {"time", 9, number_time, PREDICTED(seconds)},
    {"speedup", 7, number_plain, PREDICTED(speedup)},
    {"efficiency", 10, number_share, PREDICTED(efficiency)},
    {"held out", 8, number_plain, PREDICTED(held)},
    {"quality", 8, number_plain, PREDICTED(quality)},
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

/* Two are called as the study has it. */
static const char *head_of(const shoal_study *s, size_t i)
{
    if (columns[i].of == PREDICTED(quality))
        return quality_of(s);
    return columns[i].of == PREDICTED(wire) && s->nsimulated > 0 ? "waiting" : columns[i].head;
}

static void text_head(struct prose *t, const shoal_study *s)
{
    prose_add(t, "%7s  %-24s", "workers", "");
    for (size_t i = 0; i < COLUMNS; i++)
        prose_add(t, "  %*.*s", columns[i].width, columns[i].width, head_of(s, i));
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
    return prose_take(&t, text);
}

/* A line for each series, of one of its predictions: of its speedup, or else its quality. */
static void trace(struct chart *chart, const shoal_study *s, const struct shoal_cluster *c,
                  bool speedup)
{
    struct walk w = {.study = s, .cluster = c};
    size_t series = s->ncells;
    struct line *line = NULL;

    while (walk_on(&w)) {
        double y = speedup ? w.p.speedup : w.p.quality;

        if (!isfinite(y))
            continue;
        if (w.cell != series)
            line = chart_line(chart, *w.name.text ? w.name.text : "predicted");
        series = w.cell;
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
    trace(&chart, s, c, true);
    album_chart(a, &chart, 2);
}

/* What so many workers came to, trained for real. */
static void draw_quality(struct album *a, const shoal_study *s, const struct shoal_cluster *c)
{
    struct chart chart = chart_by_workers("predicted-quality", quality_of(s), c);

    snprintf(chart.title, sizeof chart.title, "Quality (%.40s), predicted", quality_of(s));
    trace(&chart, s, c, false);
    album_chart(a, &chart, 2);
}

static void html_row(struct prose *t, const struct walk *w)
{
    const struct shoal_prediction *p = &w->p;

    prose_add(t, "<tr%s><td>%u</td>", p->failure ? " class=\"bad\"" : "", w->workers);
    prose_wrap(t, "<td class=\"w\">", w->name.text, "</td>");
    if (p->failure) {
        prose_wrap(t, "<td class=\"v\" colspan=\"11\">failed: ", p->failure, "</td></tr>\n");
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

    prose_add(t, "<div class=\"wide\"><table>\n<tr><th>ranks</th><th class=\"w\"></th>");
    for (size_t i = 0; i < COLUMNS; i++)
        prose_wrap(t, "<th>", head_of(s, i), "</th>");
    prose_add(t, "<th class=\"w\">largest</th><th class=\"w\">by</th></tr>\n");
    while (walk_on(&w))
        html_row(t, &w);
    prose_add(t, "</table></div>\n");
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
    prose_add(a->page,
              "<p>%u nodes of %u core%s, links of %s Gbit/s and %s microseconds, computing that "
              "varies by %s from step to step. %s</p>\n",
              c->nodes, c->cores, c->cores == 1 ? "" : "s", number_plain(c->bandwidth * 8e-9).text,
              number_plain(c->latency * 1e6).text, number_share(c->jitter).text, how);
    album_begin(a, NULL);
    draw_speedup(a, s, c);
    if (s->nsimulated > 0)
        draw_quality(a, s, c);
    album_end(a);
    draw_table(a->page, s, c);
}
