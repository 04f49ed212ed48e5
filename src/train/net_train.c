/* The loop of nets. An epoch is a sequence of steps; after a stretch of them, half a
 * second or so and at the end of an epoch at the latest, all ranks meet: then, and
 * only then, are losses added, checkpoints begun, reports made, and rank 0 says how
 * it goes on.
 *
 *     start or checkpoint -> [ stretch of steps, meeting ]* -> parameters            */
#include "train/net_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STRETCH_SECONDS 0.5
#define REPORT_SECONDS 1.0

/* What rank 0 decides for all. */
struct decision {
    uint64_t steps; /* of the next stretch */
    double seconds;
    bool save, stop;
};

/* ---- meeting ---- */

/* What is added up beside the sums: rank 0's counts are everybody's, since servers make no
 * step. */
struct beside {
    double norm2;
    uint64_t steps, norms;
};

/* In one go, since a rank that waits is idle. Counts below 2^53 are exact as doubles. */
static shoal_status sum_all(struct net_run *r, struct net_sums *s, struct beside *b)
{
    double x[] = {(double)s->samples, (double)s->right, (double)s->right5, s->loss, s->squared,
                  s->absolute, s->cosine, b->norm2, r->leads ? (double)b->steps : 0,
                  r->leads ? (double)b->norms : 0};
    shoal_status st = r->comm ? comm_sum(r->comm, x, sizeof x / sizeof *x) : SHOAL_OK;

    *s = (struct net_sums){.samples = (uint64_t)x[0], .right = (uint64_t)x[1],
                           .right5 = (uint64_t)x[2], .loss = x[3], .squared = x[4],
                           .absolute = x[5], .cosine = x[6]};
    *b = (struct beside){.norm2 = x[7], .steps = (uint64_t)x[8], .norms = (uint64_t)x[9]};
    return st;
}

static shoal_status meet(struct net_run *r)
{
    unsigned apart = r->opts->sync == SHOAL_AVERAGE ? r->workers : 1;
    struct beside beside = {.steps = r->at.step, .norms = r->norms};
    shoal_status st = dense_meet(r->dense);

    beside.norm2 = dense_norm2(r->dense) - r->norm0; /* a flush may have added some */
    if (st == SHOAL_OK)
        st = sum_all(r, &r->since, &beside);
    r->at.step = beside.steps;
    r->at.samples += r->since.samples;
    r->at.norm += beside.norm2 / apart;
    r->at.norms += beside.norms;
    net_sums_add(&r->at.sums, &r->since);
    net_sums_add(&r->interval, &r->since);
    r->since = (struct net_sums){0};
    r->norm0 = dense_norm2(r->dense);
    r->norms = 0;
    return st;
}

/* ---- what is due ---- */

static shoal_status report_interval(struct net_run *r)
{
    struct shoal_net_figures f = net_figures(r->net, &r->interval);
    double now = clock_now(), took = now - r->reported;
    bool due = r->opts->report_steps > 0 || took >= REPORT_SECONDS;
    shoal_status st = net_check_sane(r, f.loss);

    if (st != SHOAL_OK || !due)
        return st;
    st = net_send(r, SHOAL_EVENT_INTERVAL, &f,
                  (double)(r->at.samples - r->reported_samples) / took);
    r->reported = now;
    r->reported_samples = r->at.samples;
    r->interval = (struct net_sums){0};
    return st;
}

static shoal_status measure_valid(struct net_run *r)
{
    struct net_sums sums = {0};
    struct beside unused = {0};
    shoal_status st = SHOAL_OK;

    r->valid = net_no_figures();
    if (r->source->valid == 0)
        return SHOAL_OK;
    st = net_measure_valid(r, &sums);
    if (st == SHOAL_OK)
        st = sum_all(r, &sums, &unused);
    r->valid = net_figures(r->net, &sums);
    return st;
}

struct told {
    struct net_run *r;
    double rate;
};

static shoal_status tell_epoch(void *ctx)
{
    struct told *t = ctx;
    struct shoal_net_figures f = t->r->last;

    return net_send(t->r, SHOAL_EVENT_EPOCH, &f, t->rate);
}

/* While rank 0 measures more, others wait and want to hear that it lives. */
static shoal_status aside(struct net_run *r, struct told *told)
{
    struct errand errand = {0};

    if (!r->comm || !r->extra || !r->extra->epoch)
        return tell_epoch(told);
    errand_begin(&errand, tell_epoch, told);
    return errand_end(&errand, r->comm);
}

static shoal_status end_epoch(struct net_run *r)
{
    struct told told = {.r = r, .rate = (double)r->at.sums.samples /
                                        (r->at.seconds - r->epoch_seconds)};
    shoal_status st = net_check_same(r);

    if (st == SHOAL_OK)
        st = measure_valid(r);
    r->last = net_figures(r->net, &r->at.sums);
    r->last_norm = r->at.norms ? sqrt(r->at.norm / (double)r->at.norms) : NAN;
    r->at.epoch++;
    r->at.step = 0;
    r->at.sums = (struct net_sums){0};
    r->at.norm = 0;
    r->at.norms = 0;
    if (st == SHOAL_OK && r->leads)
        st = aside(r, &told);
    r->epoch_seconds = r->at.seconds;
    r->reported = clock_now(); /* the next interval's rate is of training */
    r->reported_samples = r->at.samples;
    return st;
}

static bool checkpoint_due(const struct net_run *r)
{
    uint64_t steps = r->at.epoch * r->steps + r->at.step;

    if (!r->checkpoints)
        return false;
    switch (r->opts->every) {
    case SHOAL_EVERY_SECONDS:
        return clock_now() - r->saved >= r->opts->every_value;
    case SHOAL_EVERY_SHARE:
        return (double)(steps - r->saved_steps) >=
               r->opts->every_value * (double)r->steps * r->opts->epochs;
    case SHOAL_EVERY_EPOCH:
        return r->at.step == 0 && steps > r->saved_steps;
    }
    return false;
}

static shoal_status save(struct net_run *r)
{
    struct shoal_net_figures f = net_figures(r->net, &r->interval);
    shoal_status st = net_checkpoints_write(r->checkpoints, r);

    r->saved = clock_now();
    r->saved_steps = r->at.epoch * r->steps + r->at.step;
    return st == SHOAL_OK ? net_send(r, SHOAL_EVENT_CHECKPOINT, &f, NAN) : st;
}

/* ---- the loop ---- */

/* As many steps as take half a second; where models are averaged, up to a mean. */
static uint64_t next_steps(const struct net_run *r, uint64_t last, double took)
{
    uint64_t left = r->steps - r->at.step, steps = last > 0 ? last : 1;
    uint64_t k = r->comm && r->opts->sync == SHOAL_AVERAGE ? r->opts->staleness : 1;

    if (last > 0)
        steps = (uint64_t)fmin(1e12, (double)last * STRETCH_SECONDS / fmax(took, 1e-6));
    if (r->opts->report_steps > 0)
        steps = r->opts->report_steps;
    steps = steps > 0 ? steps : 1;
    steps = (steps + k - 1) / k * k; /* the last meeting was a mean too */
    return steps < left ? steps : left;
}

static shoal_status decide(struct net_run *r, struct decision *d, uint64_t last, double took)
{
    *d = (struct decision){.seconds = r->at.seconds};
    if (r->leads) {
        d->stop = r->stopping;
        d->save = checkpoint_due(r);
        d->steps = r->at.epoch < r->opts->epochs ? next_steps(r, last, took) : 0;
    }
    return r->comm ? comm_broadcast(r->comm, 0, d, sizeof *d) : SHOAL_OK;
}

/* Rank 0's report may ask to stop: all shall, after the next meeting. */
static shoal_status note_stop(struct net_run *r, shoal_status st)
{
    if (st != SHOAL_ESTOP || !r->comm)
        return st;
    r->stopping = true;
    return SHOAL_OK;
}

static shoal_status stretch(struct net_run *r, uint64_t steps, double *took)
{
    double began = clock_now();
    shoal_status st = SHOAL_OK;

    if (r->startup == 0)
        r->startup = began - r->began;
    for (uint64_t i = 0; i < steps && st == SHOAL_OK && dense_works(r->dense); i++)
        st = net_step(r);
    if (st == SHOAL_OK)
        st = meet(r);
    *took = clock_now() - began;
    r->at.seconds += *took;
    r->computed += *took;
    return st;
}

static shoal_status agree(struct net_run *r, shoal_status st)
{
    return r->comm && st != SHOAL_EPEER ? comm_agree(r->comm, st) : st;
}

/* One stretch and what is due after it; all ranks come to the same end. */
static shoal_status go_on(struct net_run *r, struct decision *d)
{
    uint64_t last = d->steps;
    double took;
    shoal_status st = stretch(r, d->steps, &took);

    net_mark(r);
    if (st == SHOAL_OK)
        st = note_stop(r, report_interval(r));
    if (st == SHOAL_OK && r->at.step == r->steps)
        st = note_stop(r, end_epoch(r));
    st = agree(r, st);
    if (st == SHOAL_OK)
        st = decide(r, d, last, took);
    net_mark(r);
    r->at.seconds = d->seconds;
    if (st == SHOAL_OK && d->save)
        st = agree(r, note_stop(r, save(r)));
    if (st == SHOAL_OK && d->stop)
        st = shoal_fail(SHOAL_ESTOP, "train: stopped on request at %.1f %%",
                        100 * net_progress(r));
    return st;
}

static shoal_status loop(struct net_run *r)
{
    struct decision d;
    shoal_status st;

    r->reported = r->saved = clock_now();
    r->reported_samples = r->first_samples = r->at.samples;
    r->first_steps = r->saved_steps = r->at.epoch * r->steps + r->at.step;
    r->first_seconds = r->epoch_seconds = r->at.seconds;
    st = decide(r, &d, 0, 0);
    net_timeline(r);
    while (st == SHOAL_OK && r->at.epoch < r->opts->epochs)
        st = go_on(r, &d);
    if (r->with && st != SHOAL_OK && st != SHOAL_ESTOP)
        net_ranks_fail(r->with, st);
    return st;
}

/* On request the run stops after a last checkpoint; its sentence is kept. */
static shoal_status stop_cleanly(struct net_run *r, shoal_status st)
{
    shoal_status saved = SHOAL_OK;

    if (r->opts->checkpoint && st == SHOAL_ESTOP)
        saved = net_checkpoints_write(r->checkpoints, r);
    if (saved == SHOAL_OK)
        saved = net_checkpoints_finish(r->checkpoints, NULL);
    if (r->comm && (st == SHOAL_OK || st == SHOAL_ESTOP))
        saved = comm_agree(r->comm, saved);
    if (saved != SHOAL_OK)
        return saved;
    return st == SHOAL_ESTOP ? shoal_fail(st, "train: stopped on request at %.1f %%",
                                          100 * net_progress(r)) : st;
}

/* ---- beginning and end ---- */

static shoal_status open_dense(struct net_run *r)
{
    struct dense_opts opts = net_dense_opts(r->opts);
    struct dense_range *ranges = mem_array(r->net->ntensors, sizeof *ranges);
    shoal_status st = ranges ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = 0; st == SHOAL_OK && i < r->net->ntensors; i++) {
        const struct tensor *t = &r->net->tensors[i];
        static const enum dense_rule rules[] = {[TENSOR_STEP] = DENSE_STEP,
                                                [TENSOR_BARE] = DENSE_BARE,
                                                [TENSOR_STATE] = DENSE_KEEP};

        ranges[i] = (struct dense_range){t->at, i + 1 < r->net->ntensors ? t[1].at : r->net->size,
                                         rules[t->rule]};
    }
    st = agree(r, st);
    if (st == SHOAL_OK)
        st = dense_open(&r->dense, r->comm, r->params, r->net->size, ranges, r->net->ntensors,
                        r->kernel, &opts);
    free(ranges);
    return st;
}

static shoal_status share_params(struct net_run *r)
{
    enum { AT_ONCE = 1 << 22 }; /* floats */
    shoal_status st = SHOAL_OK;

    for (size_t at = 0; r->comm && st == SHOAL_OK && at < r->net->size; at += AT_ONCE) {
        size_t left = r->net->size - at, some = left < AT_ONCE ? left : AT_ONCE;

        st = comm_broadcast(r->comm, 0, r->params + at, some * sizeof(float));
    }
    return st;
}

/* What one rank can find wrong by itself. */
static shoal_status prepare(struct net_run *r)
{
    struct shoal_net_plan plan;
    shoal_status st = shoal_net_check(r->opts);

    if (st == SHOAL_OK)
        st = profile_init(&r->profile, r->opts->ranks);
    if (st == SHOAL_OK && r->source->train == 0)
        st = shoal_fail(SHOAL_EINVAL, "train: no samples are left to learn from");
    net_plan(&plan, r->net, r->source, r->opts);
    if (st == SHOAL_OK)
        st = net_check_plan(&plan);
    if (st == SHOAL_OK)
        st = kernel_choose(&r->kernel);
    if (st == SHOAL_OK && r->leads && r->opts->checkpoint)
        st = net_checkpoints_open(&r->checkpoints, r);
    if (st == SHOAL_OK)
        st = net_steps_init(r);
    r->grads = mem_map(r->net->size * sizeof *r->grads);
    if (st == SHOAL_OK && !r->grads)
        st = SHOAL_ENOMEM;
    if (st == SHOAL_OK && r->leads && r->opts->metrics)
        st = metrics_open_net(&r->metrics, r->opts, r->net->spec, &plan, r->kernel->name);
    return st;
}

static shoal_status begin(struct net_run *r, bool started)
{
    const struct shoal_net_opts *o = r->opts;
    shoal_status st = SHOAL_OK;

    r->began = clock_now();
    r->comm = shoal_ranks_size(o->ranks) > 1 ? ranks_comm(o->ranks) : NULL;
    r->leads = shoal_ranks_rank(o->ranks) == 0;
    r->threads = net_threads(o);
    r->workers = net_workers(o);
    r->worker = shoal_ranks_rank(o->ranks);
    r->batch = net_batch_of(o);
    r->steps = (r->source->train + r->batch - 1) / r->batch;
    r->at.best_loss = INFINITY;
    r->last = r->valid = net_no_figures();
    st = agree(r, prepare(r));
    if (st == SHOAL_OK)
        st = ranks_same(o->ranks, r->source->fingerprint, "data");
    if (st == SHOAL_OK && r->comm)
        st = net_ranks_open(&r->with, r->comm, o->patience);
    if (st != SHOAL_OK)
        return st;
    if (!started)
        r->net->ops->start(r->net, r->params, o->seed);
    st = open_dense(r);
    if (st == SHOAL_OK && o->resume)
        st = net_checkpoint_load(r);
    return st == SHOAL_OK ? share_params(r) : st;
}

static void end(struct net_run *r)
{
    dense_close(r->dense);
    net_ranks_close(r->with);
    net_checkpoints_close(r->checkpoints);
    metrics_close(r->metrics);
    profile_fini(&r->profile);
    net_steps_fini(r);
    mem_unmap(r->grads, r->net->size * sizeof *r->grads);
}

static shoal_status count_ranks(struct net_run *r)
{
    shoal_status st = net_nodes(r);

    if (!r->comm || st != SHOAL_OK)
        return st;
    st = net_ranks_stats(r->comm, r->opts->servers, r->dense, r->computed, &r->stats);
    /* naively: every parameter pulled and every gradient pushed at every step */
    r->stats.naive_bytes = 2 * r->net->size * sizeof(float) * r->workers *
                           (r->at.epoch * r->steps - r->first_steps);
    if (st == SHOAL_OK && r->metrics)
        st = metrics_ranks(r->metrics, &r->stats);
    return st;
}

static void fill_stats(const struct net_run *r, struct shoal_net_stats *stats)
{
    *stats = (struct shoal_net_stats){
        .samples = r->at.samples - r->first_samples,
        .steps = r->at.epoch * r->steps + r->at.step - r->first_steps,
        .seconds = r->at.seconds - r->first_seconds, .startup = r->startup,
        .train = r->last, .valid = r->valid, .memory = mem_peak(),
        .kernel = r->kernel ? r->kernel->name : NULL,
        .checkpoints = net_checkpoints_written(r->checkpoints), .resumed = r->opts->resume,
        .ranks = r->stats, .nnodes = r->nnodes, .profile = r->profile.result,
    };
    memcpy(stats->nodes, r->nodes, sizeof stats->nodes);
}

shoal_status net_train(const struct net *net, const struct net_source *source,
                       const struct shoal_net_opts *opts, const struct net_extra *extra,
                       float *params, bool started, struct shoal_net_stats *stats)
{
    struct net_run r = {.net = net, .source = source, .opts = opts, .extra = extra,
                        .params = params};
    shoal_status st = begin(&r, started);

    if (st == SHOAL_OK)
        st = stop_cleanly(&r, loop(&r));
    if (st == SHOAL_OK)
        st = count_ranks(&r);
    if (st == SHOAL_OK)
        st = net_profile(&r);
    if (st == SHOAL_OK && r.metrics)
        st = metrics_profile(r.metrics, &r.profile);
    if (st == SHOAL_OK)
        st = net_send(&r, SHOAL_EVENT_DONE, &r.last,
                      (double)(r.at.samples - r.first_samples) / (r.at.seconds - r.first_seconds));
    if (stats)
        fill_stats(&r, stats);
    end(&r);
    return st;
}
