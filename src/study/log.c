/* The last lines of a run's log, made of its metrics: what a terminal would have shown of it. */
#include "study/study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LOG_EVERY 10.0 /* seconds between lines that only say how far it is, as in a terminal */

/* The oldest line makes room. */
static char *next_line(struct run_log *log, double seconds)
{
    log->said = seconds;
    return log->at[log->n++ % RUN_LOG];
}

static void add(char *line, const char *name, struct short_number value)
{
    size_t len = strlen(line);

    if (strcmp(value.text, "-") != 0 && len < RUN_LOG_TEXT)
        snprintf(line + len, RUN_LOG_TEXT - len, ", %s %s", name, value.text);
}

static void add_figures(char *line, const shoal_run *run, const struct point *p)
{
    add(line, "loss", number_plain(p->loss));
    add(line, "validation loss", number_plain(p->held));
    if (isfinite(p->held_accuracy))
        add(line, "validation accuracy", number_plain(p->held_accuracy));
    else if (isfinite(p->accuracy))
        add(line, "accuracy", number_plain(p->accuracy));
    else if (isfinite(p->quality))
        add(line, run->end.quality_name, number_plain(p->quality));
}

void log_report(shoal_run *run, const char *event, struct run_place at, const struct point *p)
{
    struct run_log *log = &run->log;
    bool interval = strcmp(event, "interval") == 0;
    char *line;

    if (interval && log->n > 0 && p->seconds - log->said < LOG_EVERY)
        return;
    line = next_line(log, p->seconds);
    if (strcmp(event, "epoch") == 0)
        snprintf(line, RUN_LOG_TEXT, "%s: epoch %u of %u", number_time(p->seconds).text, at.epoch,
                 at.epochs);
    else
        snprintf(line, RUN_LOG_TEXT, "%s: %s%s%s", number_time(p->seconds).text,
                 interval ? "" : event, interval ? "" : " at ", number_share(at.progress).text);
    if (strcmp(event, "checkpoint") != 0)
        add_figures(line, run, p);
}

void log_begin(shoal_run *run, bool again)
{
    run->ended[0] = '\0';
    snprintf(next_line(&run->log, -LOG_EVERY), RUN_LOG_TEXT, "%s %s",
             again ? "going on:" : "training", run->model);
}

void log_ended(shoal_run *run, const char *event, double seconds, const char *why)
{
    snprintf(run->ended, sizeof run->ended, "%s", event);
    snprintf(next_line(&run->log, seconds), RUN_LOG_TEXT, "%s: %s: %s", number_time(seconds).text,
             event, why);
}

void log_show(struct prose *t, const shoal_run *run, const char *name, bool open)
{
    const struct run_log *log = &run->log;
    size_t first = log->n > RUN_LOG ? log->n - RUN_LOG : 0;

    prose_wrap(t, "<details class=\"log\" data-run=\"", name, open ? "\" open>" : "\">");
    prose_wrap(t, "<summary>Last lines of the log", *name ? ": " : "", "");
    prose_wrap(t, "", name, "</summary>\n");
    prose_wrap(t, "<pre tabindex=\"0\" role=\"region\" aria-label=\"log of ",
               *name ? name : run->model, "\">");
    for (size_t i = first; i < log->n; i++)
        prose_wrap(t, "", log->at[i % RUN_LOG], "\n");
    prose_add(t, "</pre></details>\n");
}
