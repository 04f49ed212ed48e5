/* Training as callers see it: options by name, data, a callback, a model. */
#include "saved/saved.h"
#include "train/options.h"
#include "train/run.h"

/* What the options say, for these ranks and this data. */
static struct train_opts opts_for(const shoal_options *o, const shoal_data *data,
                                  const struct shoal_train_how *how)
{
    struct train_opts opts = *options_values(o);

    opts.ranks = shoal_ranks_size(how->ranks) > 1 ? how->ranks : NULL;
    opts.report = how->report;
    opts.user = how->user;
    opts.inputs = data->inputs;
    return opts;
}

shoal_status shoal_train_plan(struct shoal_train_plan *plan, const shoal_options *o,
                              const shoal_data *data, shoal_ranks *ranks)
{
    struct train_opts opts = opts_for(o, data, &(struct shoal_train_how){.ranks = ranks});

    return run_plan(options_run(o), &opts, &data->at, plan);
}

shoal_status shoal_train(shoal_model **out, const shoal_options *o, const shoal_data *data,
                         const struct shoal_train_how *how, struct shoal_train_stats *stats)
{
    static const struct shoal_train_how alone = {0};
    struct train_opts opts = opts_for(o, data, how ? how : &alone);
    bool leads = shoal_ranks_rank(opts.ranks) == 0;
    shoal_model *model = NULL;
    shoal_status st = shoal_options_check(o);

    if (st == SHOAL_OK)
        st = run_task(options_run(o), &opts, &data->at, &model, stats);
    if (st == SHOAL_OK && leads && opts.output)
        st = shoal_model_save(model, opts.output, &opts.save);
    st = shoal_ranks_agree(opts.ranks, st);
    if (out)
        *out = st == SHOAL_OK ? model : NULL;
    if (!out || st != SHOAL_OK)
        shoal_model_close(model);
    return st;
}
