/* Training as callers see it: options by name, data, a callback, a model. */
#include "saved/saved.h"
#include "train/autotune.h"
#include "train/options.h"
#include "train/run.h"

#include <stdlib.h>
#include <string.h>

/* What the options say, for these ranks and this data. */
static struct train_opts opts_for(const shoal_options *o, const shoal_data *data,
                                  const struct shoal_train_how *how)
{
    struct train_opts opts = *options_values(o);

    opts.ranks = shoal_ranks_size(how->ranks) > 1 ? how->ranks : NULL;
    opts.report = how->report;
    opts.user = how->user;
    if (how->lenient)
        opts.lenient = opts.lr > 0 || opts.resume ? LENIENT_ALWAYS : LENIENT_LAST;
    opts.inputs = data->inputs;
    return opts;
}

shoal_status shoal_train_plan(struct shoal_train_plan *plan, const shoal_options *o,
                              const shoal_data *data, shoal_ranks *ranks)
{
    struct train_opts opts = opts_for(o, data, &(struct shoal_train_how){.ranks = ranks});

    return run_plan(options_run(o), &opts, &data->at, plan);
}

/* Where nobody chose the rate, a tenth of it may do. */
static shoal_status train_again(const shoal_options *o, struct train_opts *opts,
                                const shoal_data *data, shoal_model **model,
                                struct shoal_train_stats *stats)
{
    struct shoal_report report = {.event = SHOAL_EVENT_RETRY, .unit = options_run(o)->is.unit};
    shoal_status st = checkpoints_drop(opts);

    opts->lr = report.lr = stats->lr / RETRY_PART;
    if (opts->lenient)
        opts->lenient = LENIENT_ALWAYS;
    if (st == SHOAL_OK && opts->report && shoal_ranks_rank(opts->ranks) == 0 &&
        !opts->report(opts->user, &report))
        st = shoal_fail(SHOAL_ESTOP, "train: stopped on request before it began again");
    st = shoal_ranks_agree(opts->ranks, st);
    return st == SHOAL_OK ? run_task(options_run(o), opts, &data->at, model, stats) : st;
}

/* Who is told of a second run. */
struct listener {
    bool (*report)(void *user, const struct shoal_report *report);
    void *user;
};

/* That time passes, so that it can be stopped; its epochs are not those of the run. */
static bool report_again(void *user, const struct shoal_report *report)
{
    const struct listener *to = user;
    struct shoal_report again = *report;

    again.event = SHOAL_EVENT_AGAIN;
    return report->event != SHOAL_EVENT_INTERVAL || !to->report || to->report(to->user, &again);
}

/* The held-out examples have said how many epochs are best: now all are learned from. */
static shoal_status train_on_all(const shoal_options *o, struct train_opts *opts,
                                 const shoal_data *data, shoal_model **model,
                                 struct shoal_train_stats *stats)
{
    struct train_opts all = *opts;
    struct listener to = {opts->report, opts->user};
    struct shoal_train_stats *then = mem_array(1, sizeof *then);
    shoal_status st = shoal_ranks_agree(opts->ranks, then ? SHOAL_OK : SHOAL_ENOMEM);

    all.epochs = stats->again_epochs;
    all.valid = all.early_stop = 0;
    all.metrics = all.tensorboard = all.mlflow = NULL;
    all.report = report_again;
    all.user = &to;
    all.known = &stats->figures;
    shoal_model_close(*model);
    *model = NULL;
    if (st == SHOAL_OK)
        st = run_task(options_run(o), &all, &data->at, model, then);
    if (st == SHOAL_OK) {
        stats->examples += then->examples;
        stats->steps += then->steps;
        stats->seconds += then->seconds;
        if (then->doubt[0])
            memcpy(stats->doubt, then->doubt, sizeof stats->doubt);
    }
    free(then);
    return st;
}

shoal_status shoal_train(shoal_model **out, const shoal_options *o, const shoal_data *data,
                         const struct shoal_train_how *how, struct shoal_train_stats *stats)
{
    static const struct shoal_train_how alone = {0};
    struct train_opts opts = opts_for(o, data, how ? how : &alone);
    bool leads = shoal_ranks_rank(opts.ranks) == 0;
    struct shoal_train_stats *all = stats ? stats : mem_array(1, sizeof *all);
    shoal_model *model = NULL;
    shoal_status st = all ? shoal_options_check(o) : SHOAL_ENOMEM;

    if (st == SHOAL_OK && opts.autotune > 0 && options_run(o)->tuning)
        st = autotune(o, &opts, &data->at, &model, all);
    else if (st == SHOAL_OK)
        st = run_task(options_run(o), &opts, &data->at, &model, all);
    if (st == SHOAL_EDIVERGE && !(opts.lr > 0) && !opts.resume && all->lr > 0)
        st = train_again(o, &opts, data, &model, all);
    if (st == SHOAL_OK && all->again > 0)
        st = train_on_all(o, &opts, data, &model, all);
    if (all != stats)
        free(all);
    if (st == SHOAL_OK && leads && opts.output)
        st = shoal_model_save(model, opts.output, &opts.save);
    st = shoal_ranks_agree(opts.ranks, st);
    if (out)
        *out = st == SHOAL_OK ? model : NULL;
    if (!out || st != SHOAL_OK)
        shoal_model_close(model);
    return st;
}
