/* A search for good options, within a time: a task says what may be tried next, each trial is a run
 * of its own, and the model that does best on what is held out is kept. The first trial is the
 * options as they were given, and is not cut short: so there is always an answer. */
#include "saved/saved.h"
#include "train/autotune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_TUNE = 31, FAILURES_MOST = 20 /* in a row */ };

struct search {
    const struct task *task;
    const struct shoal_sources *data;
    const struct train_opts *asked;
    double began, ends; /* clock */
    unsigned trial;
    bool late, stopped; /* the time is over; somebody asked to stop */
};

/* That time passes, so that it can be stopped; a trial's epochs are not those of the run. */
static bool report_trial(void *user, const struct shoal_report *report)
{
    struct search *s = user;
    struct shoal_report again = *report;

    if (report->event != SHOAL_EVENT_INTERVAL)
        return true;
    again.event = SHOAL_EVENT_AGAIN;
    s->late |= s->trial > 1 && clock_now() > s->ends;
    s->stopped |= s->asked->report && !s->asked->report(s->asked->user, &again);
    return !s->late && !s->stopped;
}

/* What was tried, and how well it did: NaN where it failed. */
static void tell(struct search *s, const struct train_opts *tried, double score)
{
    struct shoal_report report = {.event = SHOAL_EVENT_TRIAL, .unit = s->task->is.unit,
                                  .epoch = s->trial, .seconds = clock_now() - s->began,
                                  .lr = tried->lr};

    s->task->tuning->note(tried, report.note, sizeof report.note);
    report.progress = fmin(1, report.seconds / s->asked->autotune);
    report.figures.n = 1;
    report.figures.at[0] = (struct shoal_figure){.of = SHOAL_OF_VALIDATION, .share = true,
                                                 .value = score};
    snprintf(report.figures.at[0].name, sizeof report.figures.at[0].name, "%.47s",
             s->asked->autotune_metric);
    if (s->asked->report && !s->asked->report(s->asked->user, &report))
        s->stopped = true;
}

/* What cannot be trained is no answer, but no failure of the search. */
static bool is_no_answer(shoal_status st)
{
    return st == SHOAL_EDIVERGE || st == SHOAL_ELIMIT || st == SHOAL_ENOMEM;
}

static shoal_status run_trial(struct search *s, const struct train_opts *tried, shoal_model **model,
                              struct shoal_train_stats *stats, double *score)
{
    struct train_opts own = *tried;
    shoal_status st;

    own.report = report_trial;
    own.user = s;
    own.metrics = own.publish = own.tensorboard = own.mlflow = NULL;
    s->trial++;
    *score = NAN;
    st = run_task(s->task, &own, s->data, model, stats);
    if (st == SHOAL_OK)
        *score = shoal_figure(&stats->figures, SHOAL_OF_VALIDATION, s->asked->autotune_metric);
    if (st == SHOAL_ESTOP && s->late)
        return SHOAL_OK;
    if (st == SHOAL_OK || (is_no_answer(st) && s->trial > 1))
        tell(s, tried, *score);
    return is_no_answer(st) && s->trial > 1 ? SHOAL_OK : st;
}

static shoal_status check_metric(const struct search *s, const struct shoal_train_stats *stats)
{
    if (!isnan(shoal_figure(&stats->figures, SHOAL_OF_VALIDATION, s->asked->autotune_metric)))
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL, "--autotune-metric is '%s', which is not measured; want p@1, f1 "
                      "or f1:LABEL", s->asked->autotune_metric);
}

/* Trials until the time is over. */
static shoal_status search_on(struct search *s, const shoal_options *o, struct train_opts *best,
                              double top, shoal_model **model, struct shoal_train_stats *stats)
{
    struct shoal_train_stats *here = mem_array(1, sizeof *here);
    struct rng random = {s->asked->seed, STREAM_TUNE, 0};
    unsigned failed = 0;
    shoal_status st = here ? SHOAL_OK : SHOAL_ENOMEM;

    while (st == SHOAL_OK && !s->stopped && clock_now() < s->ends && failed < FAILURES_MOST) {
        struct train_opts next = *best;
        shoal_model *found = NULL;
        double score, done = (clock_now() - s->began) / s->asked->autotune;

        s->task->tuning->next(&next, o, s->trial, done, &random);
        st = run_trial(s, &next, &found, here, &score);
        failed = isnan(score) ? failed + 1 : 0;
        if (st == SHOAL_OK && score > top) {
            shoal_model *old = *model;

            top = score;
            *best = next;
            *stats = *here;
            *model = found;
            found = old;
        }
        shoal_model_close(found);
    }
    free(here);
    return st == SHOAL_ESTOP && s->stopped ? SHOAL_OK : st;
}

shoal_status autotune(const shoal_options *o, const struct train_opts *opts,
                      const struct shoal_sources *data, shoal_model **model,
                      struct shoal_train_stats *stats)
{
    struct search s = {.task = options_run(o), .data = data, .asked = opts, .began = clock_now()};
    struct train_opts best = *opts;
    double score;
    shoal_status st;

    s.ends = s.began + opts->autotune;
    if (shoal_ranks_size(opts->ranks) > 1 || opts->checkpoint)
        return shoal_fail(SHOAL_EINVAL, "--autotune does not go with %s",
                          opts->checkpoint ? "--checkpoint" : "several ranks");
    s.task->tuning->settle(&best, data);
    st = run_trial(&s, &best, model, stats, &score);
    if (st == SHOAL_OK)
        st = check_metric(&s, stats);
    return st == SHOAL_OK ? search_on(&s, o, &best, score, model, stats) : st;
}
