/* What a run tells: figures by name, reports, and when it has gone astray. */
#include "train/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Divergence: the loss of an interval is far above the best one if it is more than RISEN times
 * that and STUMBLE, which lets a loss near 0 grow; after RISING_MOST such intervals in a row the
 * run is given up. */
#define RISEN 5
#define STUMBLE 5
enum { RISING_MOST = 5 };

/* ---- figures ---- */

double figures_mean(double sum, uint64_t n)
{
    return n ? sum / (double)n : NAN;
}

void figures_add(struct shoal_figures *f, enum shoal_figure_of of, const char *name, bool share,
                 double value)
{
    struct shoal_figure *to = f->n < SHOAL_FIGURES ? &f->at[f->n] : NULL;

    if (!to)
        return;
    *to = (struct shoal_figure){.of = of, .share = share, .value = value};
    snprintf(to->name, sizeof to->name, "%s", name);
    f->n++;
}

double shoal_figure(const struct shoal_figures *f, enum shoal_figure_of of, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->at[i].of == of && strcmp(f->at[i].name, name) == 0)
            return f->at[i].value;
    return NAN;
}

void run_figures(const struct run *r, const struct sums *s, enum shoal_figure_of of,
                 struct shoal_figures *out)
{
    if (s->predictions == 0)
        return;
    figures_add(out, of, "loss", false, figures_mean(s->loss, s->predictions));
    if (r->task->figures)
        r->task->figures(r, s, of, out);
}

/* ---- reports ---- */

/* Between two epochs that of the last unit: behind the end there is no rate. */
static double rate_now(const struct run *r)
{
    bool between = r->at.place == 0 && r->at.epoch > 0;
    struct run then = {.opts = r->opts, .lr = r->lr, .schedule = r->schedule, .units = r->units,
                       .epochs = r->epochs, .last_units = r->last_units,
                       .at = {.epoch = r->at.epoch - between}};

    return (double)run_lr(&then, between ? run_epoch_units(&then) - 1 : r->at.place);
}

/* Of an optimizer; chunks of rows are none, but a part of --steps. */
static uint64_t steps_done(const struct run *r)
{
    if (r->dense)
        return run_units(r);
    return (uint64_t)llround(run_progress(r) * (double)r->opts->steps);
}

void report_each(const struct shoal_report *report,
                 void (*fn)(void *ctx, const char *name, double value), void *ctx)
{
    static const char *const of[] = {
        [SHOAL_OF_TRAINING] = "train", [SHOAL_OF_VALIDATION] = "valid", [SHOAL_OF_RUN] = "run"};
    const struct shoal_figures *f = &report->figures;

    for (size_t i = 0; i < f->n; i++) {
        char name[96];

        snprintf(name, sizeof name, "%s/%s", of[f->at[i].of], f->at[i].name);
        if (isfinite(f->at[i].value))
            fn(ctx, name, f->at[i].value);
    }
    fn(ctx, "lr", report->lr);
    fn(ctx, "epoch", (double)report->epoch);
    if (isfinite(report->rate))
        fn(ctx, "rate", report->rate);
    fn(ctx, "memory", (double)report->memory);
}

shoal_status run_report(struct run *r, enum shoal_event event, const struct shoal_figures *figures,
                        double rate)
{
    double progress = run_progress(r), seconds = r->at.seconds;
    bool begun = event != SHOAL_EVENT_EPOCH && r->at.epoch < r->epochs;
    struct shoal_report report = {
        .event = event, .unit = r->task->is.unit, .epoch = r->at.epoch + begun,
        .epochs = r->epochs, .progress = progress, .examples = r->at.examples,
        .steps = steps_done(r), .seconds = seconds, .rate = rate,
        .lr = rate_now(r), .eta = progress > 0 ? seconds * (1 - progress) / progress : NAN,
        .memory = mem_peak(), .figures = *figures,
    };
    shoal_status st;

    if (!r->leads)
        return SHOAL_OK;
    st = r->metrics ? metrics_write(r->metrics, &report) : SHOAL_OK;
    if (st == SHOAL_OK && r->events)
        st = events_write(r->events, &report);
    if (st == SHOAL_OK && r->mlflow)
        st = mlflow_write(r->mlflow, &report);
    if (st == SHOAL_OK && r->opts->report && !r->opts->report(r->opts->user, &report))
        st = shoal_fail(SHOAL_ESTOP, "train: stopped on request at %.1f %%", 100 * progress);
    return st;
}

/* "; lower --lr (0.05), to 0.005 say" and what the task has to say of the data. */
struct run_advice run_advice(const struct run *r)
{
    struct run_advice out;
    size_t len = (size_t)snprintf(out.text, sizeof out.text, "; lower --lr (%.3g), to %.3g say",
                                  r->planned.lr, r->planned.lr / RETRY_PART);

    if (r->task->advise && len < sizeof out.text)
        r->task->advise(r, out.text + len, sizeof out.text - len);
    return out;
}

shoal_status run_check_loss(struct run *r)
{
    double loss = figures_mean(r->interval.loss, r->interval.predictions);

    if (r->interval.predictions == 0)
        return SHOAL_OK;
    if (isnan(loss) || isnan(r->at.sums.loss)) /* that of all ranks, as far as rank 0 knows */
        return shoal_fail(SHOAL_EDIVERGE, "train: diverged: the loss is no number after %llu %s%s",
                          (unsigned long long)r->at.examples, r->task->is.unit,
                          run_advice(r).text);
    r->at.best_loss = fmin(r->at.best_loss, loss);
    r->rising = loss > RISEN * r->at.best_loss + STUMBLE ? r->rising + 1 : 0;
    if (isinf(loss) || r->rising >= RISING_MOST)
        return shoal_fail(SHOAL_EDIVERGE, "train: diverged: the loss is %g, it was %g%s", loss,
                          r->at.best_loss, run_advice(r).text);
    return SHOAL_OK;
}
