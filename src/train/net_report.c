/* What a run tells: figures, reports, and when it has gone astray. */
#include "train/net_run.h"

#include <math.h>

struct shoal_net_figures net_no_figures(void)
{
    return (struct shoal_net_figures){.loss = NAN, .accuracy = NAN, .top5 = NAN, .mse = NAN,
                                      .mae = NAN, .rmse = NAN, .cosine = NAN, .word1 = NAN,
                                      .word5 = NAN, .word10 = NAN};
}

struct shoal_net_figures net_figures(const struct net *net, const struct net_sums *s)
{
    struct shoal_net_figures f = net_no_figures();
    double n = (double)s->samples;

    if (s->samples == 0)
        return f;
    f.loss = s->loss / n;
    if (net->classes) {
        f.accuracy = (double)s->right / n;
        if (s->right5 > 0 && net->outputs > 5)
            f.top5 = (double)s->right5 / n;
    } else {
        f.mse = s->squared / n;
        f.rmse = sqrt(f.mse);
        f.mae = s->absolute / n;
        f.cosine = s->cosine / n;
    }
    return f;
}

double net_progress(const struct net_run *r)
{
    return (r->at.epoch + (double)r->at.step / (double)r->steps) / r->opts->epochs;
}

static struct shoal_net_report make_report(const struct net_run *r, enum shoal_event event,
                                           const struct shoal_net_figures *figures, double rate)
{
    double done = net_progress(r), seconds = r->at.seconds, step = 1 / (double)r->steps;
    bool epoch = event == SHOAL_EVENT_EPOCH, last = event == SHOAL_EVENT_DONE;
    bool begun = !epoch && r->at.epoch < r->opts->epochs;
    double past = done * r->opts->epochs - (epoch || last ? step : 0);
    struct shoal_net_report report = {
        .event = event, .epoch = r->at.epoch + begun, .epochs = r->opts->epochs, .progress = done,
        .samples = r->at.samples, .steps = r->at.epoch * r->steps + r->at.step,
        .seconds = seconds, .samples_per_second = rate, .train = *figures,
        .valid = epoch || last ? r->valid : net_no_figures(),
        .gradient = epoch || last ? r->last_norm : NAN,
        .lr = (double)net_lr(r->opts, past > 0 ? past : 0, step),
        .eta = done > 0 ? seconds * (1 - done) / done : NAN,
        .memory = mem_peak(),
    };
    struct net_times spent = net_times_since(&r->times, &r->told);

    report.compute = spent.compute;
    report.wait = spent.wait;
    report.communicate = spent.communicate;

    if (epoch) {
        report.part_least = r->source->train / r->workers;
        report.part_most = (r->source->train + r->workers - 1) / r->workers;
        report.shuffled = r->shuffled;
        report.epoch_seconds = seconds - r->epoch_seconds;
        report.step_seconds = report.epoch_seconds / (double)r->steps;
    }
    return report;
}

shoal_status net_send(struct net_run *r, enum shoal_event event,
                      const struct shoal_net_figures *figures, double rate)
{
    struct shoal_net_report report;
    shoal_status st = SHOAL_OK;

    if (!r->leads)
        return SHOAL_OK;
    report = make_report(r, event, figures, rate);
    r->told = r->times;
    if (event == SHOAL_EVENT_EPOCH && r->extra && r->extra->epoch)
        st = r->extra->epoch(r->extra->ctx, r->params, &report);
    if (event == SHOAL_EVENT_EPOCH) {
        r->last = report.train;
        r->valid = report.valid;
    }
    if (st == SHOAL_OK && r->metrics)
        st = metrics_net(r->metrics, &report);
    if (st == SHOAL_OK && r->opts->report && !r->opts->report(r->opts->user, &report))
        st = shoal_fail(SHOAL_ESTOP, "train: stopped on request at %.1f %%",
                        100 * report.progress);
    return st;
}

shoal_status net_check_sane(struct net_run *r, double loss)
{
    if (isnan(loss))
        return r->interval.samples == 0
                   ? SHOAL_OK
                   : shoal_fail(SHOAL_EINVAL, "train: diverged: the loss is no number after %llu "
                                "samples; lower --lr", (unsigned long long)r->at.samples);
    r->at.best_loss = fmin(r->at.best_loss, loss);
    r->rising = loss > 5 * r->at.best_loss + 10 ? r->rising + 1 : 0;
    if (isinf(loss) || r->rising >= 5)
        return shoal_fail(SHOAL_EINVAL, "train: diverged: the loss is %g, it was %g; lower --lr",
                          loss, r->at.best_loss);
    return SHOAL_OK;
}
