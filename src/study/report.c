/* Runs become charts and words. */
#include "study/draw/draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- charts of what runs did ---- */

/* Which number of a point a chart is about: POINT(loss). */
#define POINT(member) offsetof(struct point, member)

static void trace(struct chart *c, const shoal_run *run, size_t what, bool by_time,
                  const char *name)
{
    struct line *line = chart_line(c, name);

    for (size_t i = 0; i < run->npoints && line; i++) {
        const struct point *p = &run->points[i];

        chart_line_add(c, line, by_time ? p->seconds : p->units,
                       *(const double *)(const void *)((const char *)p + what));
    }
}

struct runs {
    const shoal_run *const *at;
    const char *const *names;
    size_t n;
};

/* What all of them count; words, rows and samples together are examples. */
static const char *unit_of(struct runs runs)
{
    for (size_t i = 1; i < runs.n; i++)
        if (strcmp(runs.at[i]->end.unit, runs.at[0]->end.unit) != 0)
            return "examples";
    return runs.at[0]->end.unit;
}

/* A chart without its lines, "TITLE against time" or against what the runs count. */
static struct chart begin_chart(struct runs runs, const char *name, const char *title,
                                const char *label, bool by_time)
{
    const char *against = by_time ? "time" : unit_of(runs);
    struct chart c = {.name = name,
                      .x_label = against,
                      .y_label = label,
                      .x_axis = by_time ? AXIS_SECONDS : AXIS_COUNT};

    snprintf(c.title, sizeof c.title, "%s against %s", title, against);
    return c;
}

/* A line of a single run needs no name. */
static const char *name_of(struct runs runs, size_t i)
{
    return runs.n > 1 ? runs.names[i] : "";
}

/* One number of every run. */
static void draw(struct album *a, struct runs runs, const char *name, const char *title,
                 const char *label, size_t what, bool by_time)
{
    struct chart c = begin_chart(runs, name, title, label, by_time);

    c.from_zero = what == POINT(memory) || what == POINT(lr);
    if (what == POINT(memory))
        c.y_axis = AXIS_BYTES;
    for (size_t i = 0; i < runs.n; i++)
        trace(&c, runs.at[i], what, by_time, name_of(runs, i));
    /* a single one of these says nothing that the settings do not */
    album_chart(a, &c,
                what == POINT(memory) || what == POINT(lr) || what == POINT(gradient) ? 2 : 1);
}

/* Both losses of one run are in one chart. */
static void draw_loss(struct album *a, struct runs runs, bool by_time)
{
    const char *name = by_time ? "loss-time" : "loss-units";
    struct chart c = begin_chart(runs, name, "Loss", "loss", by_time);

    if (runs.n == 1) {
        trace(&c, runs.at[0], POINT(loss), by_time, "training");
        trace(&c, runs.at[0], POINT(held), by_time, "held out");
        album_chart(a, &c, 1);
    } else {
        draw(a, runs, name, "Training loss", "loss", POINT(loss), by_time);
        draw(a, runs, by_time ? "held-time" : "held-units", "Validation loss", "loss", POINT(held),
             by_time);
    }
}

/* Of runs that measure different qualities, all names. */
static const char *quality_name(char name[96], struct runs runs)
{
    size_t len = 0;

    name[0] = '\0';
    for (size_t i = 0; i < runs.n; i++) {
        const char *one = runs.at[i]->end.quality_name;

        if (!*one || strstr(name, one))
            continue;
        len += (size_t)snprintf(name + len, 96 - len, "%s%s", len ? ", " : "", one);
        if (len >= 96)
            break;
    }
    return *name ? name : "quality";
}

static void draw_quality(struct album *a, struct runs runs)
{
    char names[96], title[128];
    const char *name = quality_name(names, runs);

    if (strcmp(name, "accuracy") == 0)
        return; /* it has charts of its own */
    snprintf(title, sizeof title, "Quality (%s)", name);
    draw(a, runs, "quality-time", title, name, POINT(quality), true);
    draw(a, runs, "quality-units", title, name, POINT(quality), false);
}

/* Both accuracies, as draw_loss has both losses. */
static void draw_accuracy(struct album *a, struct runs runs, bool by_time)
{
    const char *name = by_time ? "accuracy-time" : "accuracy-units";
    struct chart c = begin_chart(runs, name, "Accuracy", "accuracy", by_time);

    if (runs.n == 1) {
        trace(&c, runs.at[0], POINT(accuracy), by_time, "training");
        trace(&c, runs.at[0], POINT(held_accuracy), by_time, "held out");
        album_chart(a, &c, 1);
    } else {
        chart_fini(&c);
        draw(a, runs, name, "Training accuracy", "accuracy", POINT(accuracy), by_time);
        draw(a, runs, by_time ? "held-accuracy-time" : "held-accuracy-units", "Held-out accuracy",
             "accuracy", POINT(held_accuracy), by_time);
    }
}

/* What is wrong on held-out data, after so many updates: steps of the optimizer, or batches, which
 * a run makes as steadily as it takes its examples. */
static void draw_error(struct album *a, struct runs runs)
{
    struct chart c = {.name = "error-steps",
                      .title = "Test error against steps",
                      .x_label = "steps",
                      .y_label = "test error",
                      .x_axis = AXIS_COUNT,
                      .y_axis = AXIS_SHARE};

    for (size_t i = 0; i < runs.n; i++) {
        const shoal_run *run = runs.at[i];
        double each = run->end.updates / run->end.units;
        struct line *line = chart_line(&c, name_of(runs, i)); /* its colour, even without points */

        for (size_t k = 0; k < run->npoints && line && isfinite(each); k++)
            chart_line_add(&c, line, run->points[k].units * each, 1 - run->points[k].held_accuracy);
    }
    album_chart(a, &c, 1);
}

/* From report to report, over a hundredth of the run at least: what is shorter is
 * noise. The units are those of all ranks. */
static void trace_rate(struct chart *c, const shoal_run *run, const char *name)
{
    double least = run->points[run->npoints - 1].seconds / 100;
    double seconds = 0, units = 0;
    struct line *line = chart_line(c, name);

    for (size_t i = 0; i < run->npoints && line; i++) {
        const struct point *p = &run->points[i];

        if (p->seconds - seconds < least || !(p->units > units))
            continue;
        chart_line_add(c, line, p->seconds, (p->units - units) / (p->seconds - seconds));
        seconds = p->seconds;
        units = p->units;
    }
}

static void draw_rate(struct album *a, struct runs runs)
{
    char label[64] = "";
    struct chart c = begin_chart(runs, "rate-time", "Speed", label, true);

    snprintf(label, sizeof label, "%s per second", unit_of(runs));
    c.y_axis = AXIS_COUNT;
    c.from_zero = true;
    for (size_t i = 0; i < runs.n; i++)
        trace_rate(&c, runs.at[i], name_of(runs, i));
    album_chart(a, &c, 1);
}

void report_runs(struct album *a, const shoal_run *const *runs, const char *const *names, size_t n)
{
    struct runs all = {runs, names, n};

    draw_loss(a, all, true);
    draw_loss(a, all, false);
    draw_accuracy(a, all, true);
    draw_accuracy(a, all, false);
    draw_error(a, all);
    draw_quality(a, all);
    draw_rate(a, all);
    draw(a, all, "lr", "Learning rate", "learning rate", POINT(lr), false);
    draw(a, all, "gradient", "Norm of the gradient", "norm", POINT(gradient), false);
    draw(a, all, "memory", "Memory", "memory", POINT(memory), true);
}

/* ---- charts of ranks ---- */

static double known(double x)
{
    return x > 0 ? x : 0;
}

/* With its host, where there are several. */
static struct name rank_name(unsigned rank, const char *host, bool hosts)
{
    struct name name;

    snprintf(name.text, sizeof name.text, hosts ? "rank %u, %.24s" : "rank %u", rank, host);
    return name;
}

static struct name name_rank(const shoal_run *run, size_t i)
{
    return rank_name(run->ranks[i].rank, run->ranks[i].host,
                     strcmp(run->ranks[0].host, run->ranks[run->nranks - 1].host) != 0);
}

/* What a run's figure and its file are called; of several runs each has files of its own. */
static void name_figure(char file[32], char title[96], const char *what, const char *says,
                        const char *run, size_t number)
{
    if (number > 0)
        snprintf(file, 32, "%.20s-%zu", what, number % 1000);
    else
        snprintf(file, 32, "%s", what);
    snprintf(title, 96, "%s%s%.40s", says, *run ? ": " : "", run);
}

static void draw_shares(struct album *a, const shoal_run *run, const char *name, size_t number)
{
    struct bars b = {.axis = AXIS_SHARE,
                     .x_label = "share of the time",
                     .parts = time_parts,
                     .nparts = TIME_PARTS,
                     .n = run->nranks};

    name_figure(b.name, b.title, "rank-shares", "Where the time of each rank went", name, number);
    for (size_t i = 0; i < run->nranks; i++) {
        const double *parts = run->ranks[i].parts;
        double sum = 0;

        b.at[i].name = name_rank(run, i);
        for (size_t k = 0; k < TIME_PARTS; k++)
            sum += known(parts[k]);
        for (size_t k = 0; k < TIME_PARTS; k++)
            b.at[i].parts[k] = sum > 0 ? known(parts[k]) / sum : 0;
    }
    album_figure(a, b.name, &bars_figure, &b);
}

static void draw_traffic(struct album *a, const shoal_run *run, const char *name, size_t number)
{
    static const char *const ways[] = {"sent", "received"};
    struct bars b = {
        .axis = AXIS_BYTES, .x_label = "bytes", .parts = ways, .nparts = 2, .n = run->nranks};

    name_figure(b.name, b.title, "rank-bytes", "What each rank sent and received", name, number);
    for (size_t i = 0; i < run->nranks; i++) {
        b.at[i].name = name_rank(run, i);
        b.at[i].parts[0] = known(run->ranks[i].bytes_out);
        b.at[i].parts[1] = known(run->ranks[i].bytes_in);
    }
    album_figure(a, b.name, &bars_figure, &b);
}

static void draw_stale(struct album *a, const shoal_run *run, const char *name, size_t number)
{
    static const char *const changes[] = {"changes"};
    struct bars b = {
        .axis = AXIS_SHARE, .x_label = "share of the changes", .parts = changes, .nparts = 1};
    double sum = 0;

    name_figure(b.name, b.title, "staleness", "Rounds that changes were late", name, number);
    for (size_t i = 0; i < RUN_STALE; i++) {
        sum += run->stale[i];
        if (run->stale[i] > 0)
            b.n = i + 1;
    }
    for (size_t i = 0; i < b.n; i++) {
        snprintf(b.at[i].name.text, sizeof b.at[i].name.text, "%zu%s%s", i,
                 i == RUN_STALE - 1 ? " or more" : "", i == 1 ? " round" : " rounds");
        b.at[i].parts[0] = run->stale[i] / sum;
    }
    album_figure(a, b.name, &bars_figure, &b);
}

static void draw_tracks(struct album *a, const shoal_run *run, const char *name, size_t number)
{
    struct tracks l = {.at = run->tracks, .n = run->ntracks};
    bool hosts = strcmp(run->tracks[0].host, run->tracks[run->ntracks - 1].host) != 0;

    name_figure(l.name, l.title, "timeline", "What each rank did over time", name, number);
    for (size_t i = 0; i < run->ntracks; i++)
        l.names[i] = rank_name(run->tracks[i].rank, run->tracks[i].host, hosts);
    album_figure(a, l.name, &tracks_figure, &l);
}

/* ---- one step ---- */

/* Of the time in which anything was on its way how much the backward pass took: at each moment any
 * number of pieces may be. */
static double hidden_of(const struct run_step *s, double *all)
{
    double first = INFINITY, last = 0;

    for (size_t i = 0; i < s->ntrips; i++) {
        first = fmin(first, s->sent[i]);
        last = fmax(last, s->fresh[i]);
    }
    *all = last - first;
    return fmax(0, fmin(last, s->computed) - first);
}

static void step_row(struct prose *t, const struct run_step *s, const char *name)
{
    double all, hidden = hidden_of(s, &all);

    prose_wrap(t, "<tr><th scope=\"row\" class=\"w\">", name, "</th>");
    prose_add(t, "<td>%s</td><td>%s</td><td>%s</td>", number_time(s->backward - s->began).text,
              number_time(s->computed - s->backward).text, number_time(all).text);
    prose_add(t, "<td>%s</td><td>%s</td></tr>\n", number_share(all > 0 ? hidden / all : 0).text,
              number_time(s->ended - s->computed).text);
}

static void step_table(struct prose *t, const struct steps *l)
{
    prose_wrap(t, "<section class=\"panels\"><h3>", "What the backward pass hides", "</h3>\n");
    page_wide(t, "What the backward pass hides");
    prose_add(t, "<table><thead><tr><th scope=\"col\" class=\"w\">rank</th>"
                 "<th scope=\"col\">forward</th><th scope=\"col\">backward</th>"
                 "<th scope=\"col\">gradients on their way</th>"
                 "<th scope=\"col\">of it behind the backward pass</th>"
                 "<th scope=\"col\">waited at the end</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < l->n; i++)
        step_row(t, &l->at[i], l->names[i].text);
    prose_add(t, "</tbody></table></div></section>\n");
}

/* The first ranks alone: they are alike. */
static void draw_steps(struct album *a, const shoal_run *run, const char *name, size_t number)
{
    struct steps l = {.at = run->steps, .n = run->nsteps};
    bool hosts = strcmp(run->steps[0].host, run->steps[run->nsteps - 1].host) != 0;
    char title[48];

    l.n = l.n < STEPS_SHOWN ? l.n : STEPS_SHOWN;
    snprintf(title, sizeof title, "Step %u of epoch %u", run->steps[0].step, run->steps[0].epoch);
    name_figure(l.name, l.title, "step", title, name, number);
    for (size_t i = 0; i < l.n; i++)
        l.names[i] = rank_name(run->steps[i].rank, run->steps[i].host, hosts);
    album_figure(a, l.name, &steps_figure, &l);
    step_table(a->page, &l);
}

static void waits_row(struct prose *t, const shoal_run *run, size_t i)
{
    const struct run_rank *r = &run->ranks[i];
    double waiting = known(r->parts[2]);

    prose_wrap(t, "<tr><th scope=\"row\" class=\"w\">", name_rank(run, i).text, "</th>");
    prose_add(t, "<td>%s</td><td>%s</td>", number_plain(r->waits).text,
              number_time(waiting).text);
    if (r->awaited_seconds > 0 && r->awaited != r->rank)
        prose_add(t, "<td class=\"w\">rank %u</td><td>%s</td></tr>\n", r->awaited,
                  number_time(r->awaited_seconds).text);
    else
        prose_add(t, "<td class=\"w\">nobody</td><td>-</td></tr>\n");
}

/* Who waited for whom: within the album, as wide as it is. */
static void waits_table(struct prose *t, const shoal_run *run, const char *name)
{
    char title[96], unused[32];

    name_figure(unused, title, "waits", "Who waited for whom", name, 0);
    prose_wrap(t, "<section class=\"panels\"><h3>", title, "</h3>\n");
    page_wide(t, title);
    prose_add(t, "<table><thead><tr><th scope=\"col\" class=\"w\">rank</th>"
                 "<th scope=\"col\">waits</th><th scope=\"col\">waited</th>"
                 "<th scope=\"col\" class=\"w\">most for</th><th scope=\"col\">so long</th>"
                 "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < run->nranks; i++)
        waits_row(t, run, i);
    prose_add(t, "</tbody></table></div></section>\n");
}

static bool knows_waits(const shoal_run *run)
{
    return run->nranks > 1 && isfinite(run->ranks[0].waits);
}

void report_ranks(struct album *a, const shoal_run *run, const char *name, size_t number)
{
    if (run->ntracks > 0)
        draw_tracks(a, run, name, number);
    if (run->nsteps > 0)
        draw_steps(a, run, name, number);
    if (run->nranks > 0)
        draw_shares(a, run, name, number);
    if (run->nranks > 1)
        draw_traffic(a, run, name, number);
    if (run->has_stale)
        draw_stale(a, run, name, number);
    if (knows_waits(run))
        waits_table(a->page, run, name);
}

/* ---- words ---- */

static void say_loss(struct prose *t, const shoal_run *run)
{
    const struct point *first = &run->points[0];
    const struct shoal_measures *m = &run->end;

    if (isfinite(m->loss) && run->npoints == 1)
        prose_add(t, " The training loss came to %s", number_plain(m->loss).text);
    else if (isfinite(m->loss))
        prose_add(t, " The training loss went from %s to %s", number_plain(first->loss).text,
                  number_plain(m->loss).text);
    if (isfinite(m->held))
        prose_add(t, "%s on what was held out it is %s", isfinite(m->loss) ? ";" : " The loss",
                  number_plain(m->held).text);
    if (isfinite(m->loss) || isfinite(m->held))
        prose_add(t, ".");
    if (isfinite(m->quality)) {
        prose_wrap(t, " The quality (", m->quality_name, ")");
        prose_add(t, " came to %s.", number_plain(m->quality).text);
    }
}

static void say_ranks(struct prose *t, const struct shoal_measures *m)
{
    if (m->ranks < 2)
        return;
    prose_add(t, "<p>The %u ranks sent %s to each other", m->ranks, number_bytes(m->bytes).text);
    if (m->seconds > 0 && m->units > 0) {
        prose_add(t, ", %s a second and %s for each of the ",
                  number_bytes(m->bytes / m->seconds).text, number_bytes(m->bytes / m->units).text);
        prose_escape(t, m->unit);
    }
    if (isfinite(m->waiting))
        prose_add(t, ", and waited %s of their time", number_share(m->waiting).text);
    if (isfinite(m->stale))
        prose_add(t, "; a change was %s rounds late on average", number_plain(m->stale).text);
    prose_add(t, ".</p>\n");
}

/* What limits a run that is too short to tell is no finding. */
static void say_limit(struct prose *t, const struct shoal_measures *m)
{
    if (strcmp(m->limit, "short") == 0)
        prose_add(t, "<p>%s are too short to tell what limits it.</p>\n",
                  number_time(m->seconds).text);
    else if (*m->verdict)
        prose_wrap(t, "<p><b>What limits it:</b> ", m->verdict, "</p>\n");
}

/* "12 s: failed: train: diverged": the last that it said. */
static void say_why(struct prose *t, const shoal_run *run)
{
    if (*run->ended)
        prose_wrap(t, "<p class=\"why\">", run->log.at[(run->log.n - 1) % RUN_LOG], "</p>\n");
}

static void say_run(struct prose *t, const shoal_run *run, bool live)
{
    const struct shoal_measures *m = &run->end;

    prose_wrap(t, "<div class=\"said\"><p>", run->model, "");
    if (!(m->units > 0)) {
        prose_add(t, live && !*run->ended ? " has not reported yet.</p>\n"
                                          : " ended before its first report.</p>\n");
        say_why(t, run);
        prose_add(t, "</div>\n");
        return;
    }
    prose_add(t, "%s learned from %s ",
              m->done ? "" : live ? " has" : ", which did not come to its end,",
              number_short(m->units).text);
    prose_escape(t, m->unit);
    prose_add(t, "%s in %s, %s a second, on %u %s.",
              live && !m->done ? " so far," : "", number_time(m->seconds).text,
              number_short(m->rate).text, m->ranks, m->ranks == 1 ? "rank" : "ranks");
    say_loss(t, run);
    prose_add(t, "</p>\n");
    say_why(t, run);
    say_ranks(t, m);
    say_limit(t, m);
    prose_add(t, "</div>\n");
}

/* ---- settings ---- */

/* NULL: it has none of that name. */
static const char *setting_of(const shoal_run *run, const char *key)
{
    for (size_t i = 0; i < run->nsettings; i++)
        if (strcmp(run->settings[i].key, key) == 0)
            return run->settings[i].value;
    return NULL;
}

/* The first run that has it; it is there. */
static size_t first_with(struct runs runs, const char *key)
{
    size_t first = 0;

    while (!setting_of(runs.at[first], key))
        first++;
    return first;
}

/* Whether a setting is the option of that name; metrics have _ where options have -. */
static bool is_option(const struct shoal_option *o, const char *key)
{
    const char *name = o->name;

    for (; *name && *key && (*name == '-' ? '_' : *name) == *key; name++)
        key++;
    return *name == *key;
}

/* What 0 means of an option of its task; NULL: 0. */
static const char *zero_of(const shoal_run *run, const char *key)
{
    const struct shoal_task *task = shoal_task_find(run->model);

    for (const struct shoal_option_group *g = task ? task->groups : NULL; g && g->options; g++)
        for (const struct shoal_option *o = g->options; o->name; o++)
            if (is_option(o, key))
                return o->zero;
    return NULL;
}

/* A rate of 0 is one that was chosen: `first_lr` says which. */
static void settings_cell(struct prose *t, const shoal_run *run, const char *key)
{
    const char *value = setting_of(run, key), *first = setting_of(run, "first_lr");
    const char *zero = value && strcmp(value, "0") == 0 ? zero_of(run, key) : NULL;

    if (value && first && strcmp(key, "lr") == 0 && strcmp(value, "0") == 0)
        prose_wrap(t, "<td>", first, " <small>chosen</small></td>");
    else if (zero)
        prose_wrap(t, "<td>0 <small>", zero, "</small></td>");
    else
        prose_wrap(t, "<td>", value ? value : "-", "</td>");
}

/* A row of the table: what each run has. */
static void settings_row(struct prose *t, struct runs runs, const char *key)
{
    prose_wrap(t, "<tr><th scope=\"row\" class=\"w\">", key, "</th>");
    for (size_t i = 0; i < runs.n; i++)
        settings_cell(t, runs.at[i], key);
    prose_add(t, "</tr>\n");
}

/* Those of one run stand in columns, and need no head. */
static void settings_table(struct prose *t, struct runs runs)
{
    page_wide(t, "Settings");
    prose_add(t, runs.n == 1
                     ? "<div class=\"columns\"><table class=\"settings\">\n"
                     : "<table class=\"settings\">\n<thead><tr><th class=\"w\">setting</th>");
    for (size_t i = 0; i < runs.n && runs.n > 1; i++)
        prose_wrap(t, "<th>", runs.names[i], "</th>");
    prose_add(t, runs.n == 1 ? "<tbody>\n" : "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < runs.n; i++)
        for (size_t k = 0; k < runs.at[i]->nsettings; k++) {
            const char *key = runs.at[i]->settings[k].key;

            if (first_with(runs, key) == i)
                settings_row(t, runs, key);
        }
    prose_add(t, runs.n == 1 ? "</tbody></table></div></div>\n" : "</tbody></table></div>\n");
}

/* ---- runs beside each other ---- */

static bool differs(struct runs runs, const char *key)
{
    const char *first = setting_of(runs.at[0], key);

    for (size_t i = 1; i < runs.n; i++) {
        const char *value = setting_of(runs.at[i], key);

        if (!first != !value || (first && strcmp(first, value) != 0))
            return true;
    }
    return false;
}

/* Where a run was kept says nothing of how it was made, and `first_lr` says what `lr` became. */
static bool is_place(const char *key)
{
    static const char *const places[] = {"output", "metrics", "checkpoint", "inputs", "watch", "lr"};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strcmp(key, places[i]) == 0)
            return true;
    return false;
}

enum { DIFFERENCES = 8 }; /* settings that have a column */

static size_t find_differences(const char **keys, struct runs runs)
{
    size_t n = 0;

    for (size_t i = 0; i < runs.n; i++)
        for (size_t k = 0; k < runs.at[i]->nsettings && n < DIFFERENCES; k++) {
            const char *key = runs.at[i]->settings[k].key;

            if (first_with(runs, key) == i && differs(runs, key) && !is_place(key))
                keys[n++] = key;
        }
    return n;
}

/* A column of the table: a number of each run, of which the best is marked. */
static const struct measure {
    const char *head;
    size_t at; /* in struct shoal_measures */
    struct short_number (*show)(double x);
    bool more; /* is better */
} measures[] = {
    {"time", offsetof(struct shoal_measures, seconds), number_time, false},
    {"examples/s", offsetof(struct shoal_measures, rate), number_short, true},
    {"training loss", offsetof(struct shoal_measures, loss), number_plain, false},
    {"validation loss", offsetof(struct shoal_measures, held), number_plain, false},
    {"quality", offsetof(struct shoal_measures, quality), number_plain, true},
};

enum { MEASURES = sizeof measures / sizeof *measures };

static bool is_quality(const struct measure *m)
{
    return m->at == offsetof(struct shoal_measures, quality);
}

/* What runs must have in common for it to be compared. */
static const char *basis_of(const shoal_run *run, const struct measure *m)
{
    if (is_quality(m))
        return run->end.quality_name;
    return m->at == offsetof(struct shoal_measures, rate) ? run->end.unit : run->model;
}

/* What all runs have in common of those that have any of it; NULL: they differ, "": none has. */
static const char *common_basis(struct runs runs, const struct measure *m)
{
    const char *common = "";

    for (size_t i = 0; i < runs.n; i++) {
        const char *own = basis_of(runs.at[i], m);

        if (*common && *own && strcmp(common, own) != 0)
            return NULL;
        common = *own ? own : common;
    }
    return common;
}

static bool is_comparable(struct runs runs, const struct measure *m)
{
    return common_basis(runs, m) != NULL;
}

/* A quality is called what it is: "accuracy". */
static const char *measure_head(struct runs runs, const struct measure *m)
{
    const char *name = is_quality(m) ? common_basis(runs, m) : NULL;

    return name && *name ? name : m->head;
}

static double measured(const shoal_run *run, const struct measure *m)
{
    return *(const double *)(const void *)((const char *)&run->end + m->at);
}

/* The run that has the best of it; runs.n: none has any. */
static size_t best_of(struct runs runs, const struct measure *m)
{
    size_t best = runs.n;

    for (size_t i = 0; i < runs.n; i++) {
        double x = measured(runs.at[i], m), than = best < runs.n ? measured(runs.at[best], m) : x;

        if (isfinite(x) && (best == runs.n || (m->more ? x > than : x < than)))
            best = i;
    }
    return best;
}

/* Of qualities that cannot be compared each says what it is. */
static void measure_cell(struct prose *t, struct runs runs, size_t i, const struct measure *m)
{
    double x = measured(runs.at[i], m);
    bool same = is_comparable(runs, m), best = same && best_of(runs, m) == i;

    prose_add(t, "<td data-n=\"%.9g\"%s>%s%s",
              isfinite(x) ? x
              : m->more   ? -1e300
                          : 1e300,
              best ? " class=\"best\"" : "", m->show(x).text, best ? " <small>best</small>" : "");
    if (is_quality(m) && !same && isfinite(x))
        prose_wrap(t, " <small>", runs.at[i]->end.quality_name, "</small>");
    prose_add(t, "</td>");
}

static void runs_row(struct prose *t, struct runs runs, size_t i, const char *const *keys, size_t n)
{
    prose_wrap(t, "<tr><td class=\"w\">", runs.names[i], "</td>");
    for (size_t k = MEASURES; k-- > 0;)
        if (best_of(runs, &measures[k]) < runs.n)
            measure_cell(t, runs, i, &measures[k]);
    for (size_t k = 0; k < n; k++)
        settings_cell(t, runs.at[i], keys[k]);
    prose_add(t, "</tr>\n");
}

/* Of several runs: what came of each, and what differs between them. */
static void runs_table(struct prose *t, struct runs runs)
{
    const char *keys[DIFFERENCES];
    size_t n = find_differences(keys, runs);

    page_section(t, "Runs");
    page_wide(t, "Runs");
    prose_add(t, "<table class=\"sortable\">\n<thead><tr><th class=\"w\">run</th>");
    for (size_t k = MEASURES; k-- > 0;)
        if (best_of(runs, &measures[k]) < runs.n)
            prose_wrap(t, "<th>", measure_head(runs, &measures[k]), "</th>");
    for (size_t k = 0; k < n; k++)
        prose_wrap(t, "<th>", keys[k], "</th>");
    prose_add(t, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < runs.n; i++)
        runs_row(t, runs, i, keys, n);
    prose_add(t, "</tbody></table></div>\n");
}

/* Of a single run the same, large, the quality first. */
static void run_figures(struct prose *t, struct runs run)
{
    prose_add(t, "<dl class=\"figures\">\n");
    for (size_t k = MEASURES; k-- > 0;) {
        double x = measured(run.at[0], &measures[k]);

        if (!isfinite(x))
            continue;
        prose_wrap(t, "<div><dt>", measure_head(run, &measures[k]), "</dt>");
        prose_wrap(t, "<dd>", measures[k].show(x).text, "</dd></div>\n");
    }
    prose_add(t, "</dl>\n");
}

/* ---- a run that goes on ---- */

#define STALLED 60.0 /* seconds in which a run that works has written something */

static const char *state_of(const shoal_run *run)
{
    if (*run->ended)
        return run->ended; /* stopped or failed */
    if (run->end.done)
        return "ended";
    return run->silent > STALLED ? "stalled" : run->progress > 0 ? "running" : "starting";
}

/* "running, 43 %, 2.1 min left", with a bar of that colour. */
static void live_state(struct prose *t, const shoal_run *run, const char *name)
{
    const struct shoal_measures *m = &run->end;
    const char *state = state_of(run);
    double p = run->progress, left = p > 0 ? m->seconds * (1 - p) / p : NAN;

    prose_wrap(t, "<p class=\"live-run ", state, "\">");
    if (*name)
        prose_wrap(t, "<b>", name, "</b> ");
    prose_add(t, "<progress max=\"1\" value=\"%.4f\" aria-label=\"progress", p);
    prose_wrap(t, " of ", *name ? name : run->model, "\"></progress> <span>");
    prose_wrap(t, "<strong>", state, "</strong>");
    if (m->done || *run->ended) {
        if (!m->done)
            prose_add(t, " at %.0f %%,", 100 * p);
        prose_add(t, " after %s", number_time(m->seconds).text);
    } else {
        prose_add(t, ", %.0f %%", floor(100 * p));
        if (isfinite(left))
            prose_add(t, ", %s left", number_time(fmax(ceil(left), 1)).text);
        if (run->silent > STALLED)
            prose_add(t, ", nothing was written for %s", number_time(run->silent).text);
    }
    prose_add(t, "</span></p>\n");
}

/* Of several runs the log of the one that was written to last is open. */
static bool is_new(struct runs runs, size_t i)
{
    for (size_t k = 0; k < runs.n; k++)
        if (runs.at[k]->silent < runs.at[i]->silent || (runs.at[k]->silent <= runs.at[i]->silent && k < i))
            return false;
    return true;
}

static void live_states(struct prose *t, struct runs runs)
{
    prose_add(t, "<div class=\"live-state\" aria-live=\"off\">\n");
    prose_add(t, "<div class=\"%s\">\n", runs.n > 1 ? "live-runs" : "live-one");
    for (size_t i = 0; i < runs.n; i++)
        live_state(t, runs.at[i], runs.n > 1 ? runs.names[i] : "");
    prose_add(t, "</div>\n");
    for (size_t i = 0; i < runs.n; i++)
        log_show(t, runs.at[i], runs.n > 1 ? runs.names[i] : "", runs.n == 1 || is_new(runs, i));
    prose_add(t, "</div>\n");
}

static bool all_over(struct runs runs)
{
    for (size_t i = 0; i < runs.n; i++)
        if (!runs.at[i]->end.done && !*runs.at[i]->ended)
            return false;
    return true;
}

/* Of the runs that go on, how far all of them are. */
static double mean_progress(struct runs runs)
{
    double sum = 0;

    for (size_t i = 0; i < runs.n; i++)
        sum += runs.at[i]->end.done ? 1 : runs.at[i]->progress;
    return sum / (double)runs.n;
}

/* ---- the page ---- */

struct shoal_report_opts shoal_report_default(void)
{
    return (struct shoal_report_opts){.title = NULL, .plots = NULL};
}

/* Of several runs the table says most of it. */
static void say_runs(struct prose *t, struct runs runs, bool live)
{
    if (runs.n == 1) {
        if (runs.at[0]->end.units > 0)
            run_figures(t, runs);
        say_run(t, runs.at[0], live);
        return;
    }
    prose_add(
        t, "<details class=\"words\"><summary>Each run in words, and what limits it</summary>\n");
    for (size_t i = 0; i < runs.n; i++) {
        prose_wrap(t, "<h3>", runs.names[i], "</h3>\n");
        say_run(t, runs.at[i], live);
    }
    prose_add(t, "</details>\n");
}

/* Whether some run came so far that it reported. */
static bool any_report(struct runs runs)
{
    for (size_t i = 0; i < runs.n; i++)
        if (runs.at[i]->progress > 0 || runs.at[i]->end.done)
            return true;
    return false;
}

/* Whether there is something to say of ranks: 1, or 2 where some run has several. */
static int any_ranks(struct runs runs)
{
    int any = 0;

    for (size_t i = 0; i < runs.n; i++) {
        const shoal_run *run = runs.at[i];

        if (run->nranks > 1 || run->has_stale || run->ntracks > 1)
            return 2;
        any |= run->nranks > 0 || run->ntracks > 0;
    }
    return any;
}

/* The title says how far it is, where tabs show it. The page asks again also when all is over: a
 * folder may get more runs. */
static void begin_page(struct prose *t, struct runs runs, const struct shoal_report_opts *opts)
{
    const char *title = opts->title ? opts->title : "Training report";
    char machine[256], under[320], tab[32];
    bool live = opts->refresh > 0 && !all_over(runs);

    machine_describe(machine);
    snprintf(under, sizeof under, "written on: %s", machine);
    if (live)
        snprintf(tab, sizeof tab, "%.0f %% - shoal", floor(100 * mean_progress(runs)));
    page_begin_live(t, title, live ? tab : title, under, opts->refresh);
    if (opts->refresh > 0)
        live_states(t, runs);
}

static shoal_status compose(struct prose *t, struct runs runs, const struct shoal_report_opts *opts)
{
    struct album a = {.page = t, .plots = opts->plots};
    int ranks = any_ranks(runs);

    begin_page(t, runs, opts);
    if (runs.n > 1)
        runs_table(t, runs);
    say_runs(t, runs, opts->refresh > 0);
    if (any_report(runs)) {
        album_begin(&a, "How it went");
        report_runs(&a, runs.at, runs.names, runs.n);
        album_end(&a);
    }
    report_learned(&a, runs.at, runs.names, runs.n);
    if (ranks > 0) {
        album_begin(&a, ranks > 1 ? "Ranks" : "Where the time went");
        for (size_t i = 0; i < runs.n; i++)
            report_ranks(&a, runs.at[i], runs.n > 1 ? runs.names[i] : "", runs.n > 1 ? i + 1 : 0);
        album_end(&a);
    }
    page_section(t, "Settings");
    settings_table(t, runs);
    page_end(t);
    return a.status;
}

/* Runs are told apart by their paths, less what all paths begin with. */
static void name_runs(const char **names, const shoal_run *const *runs, size_t n)
{
    size_t same = strlen(runs[0]->path);

    for (size_t i = 1; i < n; i++) {
        size_t k = 0;

        while (k < same && runs[i]->path[k] == runs[0]->path[k])
            k++;
        same = k;
    }
    while (same > 0 && runs[0]->path[same - 1] != '/')
        same--;
    for (size_t i = 0; i < n; i++)
        names[i] = runs[i]->path + (n > 1 ? same : 0);
}

static shoal_status make_page(struct prose *t, const shoal_run *const *runs, size_t n,
                              const struct shoal_report_opts *opts)
{
    const char *names[SHOAL_REPORT_RUNS];

    if (n == 0 || n > SHOAL_REPORT_RUNS)
        return shoal_fail(SHOAL_EINVAL, "report: found %zu runs, want 1 to %d", n,
                          SHOAL_REPORT_RUNS);
    name_runs(names, runs, n);
    return compose(t, (struct runs){runs, names, n}, opts);
}

shoal_status shoal_report_write(const char *path, const shoal_run *const *runs, size_t n,
                                const struct shoal_report_opts *opts)
{
    struct prose t = {0};
    shoal_status st = make_page(&t, runs, n, opts);

    if (st == SHOAL_OK)
        st = prose_write(&t, path);
    prose_fini(&t);
    return st;
}

shoal_status shoal_report_text(char **text, size_t *len, const shoal_run *const *runs, size_t n,
                               const struct shoal_report_opts *opts)
{
    struct prose t = {0};
    shoal_status st = make_page(&t, runs, n, opts);

    if (st != SHOAL_OK)
        t.status = st;
    st = prose_take(&t, text);
    *len = t.bytes.len;
    return st;
}
