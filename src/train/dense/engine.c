/* The engine of nets: units are steps; gradients meet in the store's dense block. */
#include "train/dense/net.h"

#include "saved/saved.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 1000 };

/* ---- what options mean here ---- */

size_t net_batch_size(const struct train_opts *o)
{
    if (o->rank_batch > 0)
        return (size_t)o->rank_batch * opts_sharing(o);
    return o->global_batch ? o->global_batch : o->batch;
}

static double first_lr(struct shoal_train_plan *plan, const struct train_opts *o)
{
    static const double usual[] = {[OPTIMIZER_SGD] = 0.1, [OPTIMIZER_MOMENTUM] = 0.05,
                                   [OPTIMIZER_ADAM] = 0.002};

    return opts_lr(plan, o, usual[o->optimizer], 1);
}

/* Gradients of an asynchronous step. A larger quorum waits for gradients that are stale by then,
 * a smaller one follows the noise of each: measured in docs/notes/nets.md. */
static unsigned quorum_of(unsigned workers)
{
    unsigned quorum = (unsigned)sqrt(workers / 2.0);

    return quorum > 0 ? quorum : 1;
}

/* Workers that have a part of a batch: it may have fewer samples than there are workers. */
static unsigned gradients_of(const struct train_opts *o)
{
    size_t batch = net_batch_size(o), workers = opts_sharing(o);

    return (unsigned)(batch < workers ? batch : workers);
}

static struct dense_opts dense_opts_of(const struct train_opts *o)
{
    static const enum optim_kind kinds[] = {[OPTIMIZER_SGD] = OPTIM_SGD,
                                            [OPTIMIZER_MOMENTUM] = OPTIM_MOMENTUM,
                                            [OPTIMIZER_ADAM] = OPTIM_ADAM};

    return (struct dense_opts){
        .policy = o->sync.policy, .staleness = o->sync.staleness,
        .servers = shoal_ranks_size(o->ranks) > 1 ? o->servers : 0,
        .quorum = o->quorum ? o->quorum : quorum_of(gradients_of(o)),
        .gradients = gradients_of(o), .cautious = true,
        .optim = {.kind = kinds[o->optimizer], .momentum = (float)o->momentum, .beta1 = 0.9f,
                  .beta2 = 0.999f, .epsilon = 1e-8f, .decay = (float)o->weight_decay,
                  .nesterov = o->nesterov},
    };
}

/* ---- the plan ---- */

static uint64_t shards_bytes(const struct net *net, size_t share, unsigned threads)
{
    size_t shards = net_shards(net, share), some = (share + shards - 1) / shards;
    uint64_t batch = some * (net->inputs + net->outputs + 1) * sizeof(float);

    return shards * (batch + net->ops->worker_bytes(net, some, net->alone ? threads : 1)) +
           (shards - 1) * net->size * sizeof(float);
}

shoal_status net_plan(const struct run *r, struct shoal_train_plan *plan)
{
    const struct train_opts *o = r->opts;
    const struct net *net = r->dense->net;
    size_t train = r->dense->train;
    struct dense_opts dense = dense_opts_of(o);
    size_t workers = opts_sharing(o), share;
    unsigned ranks = shoal_ranks_size(o->ranks);
    shoal_status st = opts_check_ranks(o, r->task->is.name);

    if (st != SHOAL_OK)
        return st; /* there may be no worker at all */
    share = (net_batch_size(o) + workers - 1) / workers;
    plan->examples = train;
    plan->held_out = r->dense->valid;
    first_lr(plan, o);
    plan->advice = "--batch or the layers";
    for (size_t i = 0; i < net->ntensors; i++)
        plan->parameters += net->tensors[i].rule == TENSOR_STATE ? 0 : net->tensors[i].size;
    plan->model_bytes = plan->rank_bytes =
        2 * net->size * sizeof(float) + dense_bytes(net->size, ranks, &dense);
    if (o->early_stop > 0)
        plan->work_bytes += net->size * sizeof(float);
    plan->work_bytes +=
        shards_bytes(net, share < train ? share : train, ranks_threads(o->ranks, o->threads)) +
        train * sizeof(uint32_t);
    if (o->checkpoint)
        plan->checkpoint_bytes =
            net->size * sizeof(float) * (1 + optim_states(&dense.optim)) / ranks;
    snprintf(plan->model_note, sizeof plan->model_note,
             "parameters, gradients, the optimizer's state");
    plan_sum(plan, o);
    return SHOAL_OK;
}

shoal_status net_split(struct run *r, uint32_t **ids, size_t n, size_t others, uint64_t stream)
{
    size_t held = others > 0 ? 0 : (size_t)(r->opts->valid * (double)n);

    r->dense->train = n - held;
    r->dense->valid = others > 0 ? others : held;
    return samples_split(ids, n, held, r->opts->seed, stream);
}

/* ---- opening ---- */

static shoal_status open_block(struct run *r)
{
    struct dense_run *d = r->dense;
    struct dense_opts opts = dense_opts_of(r->opts);
    struct dense_range *ranges = mem_array(d->net->ntensors, sizeof *ranges);
    shoal_status st = ranges ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = 0; st == SHOAL_OK && i < d->net->ntensors; i++) {
        const struct tensor *t = &d->net->tensors[i];
        static const enum dense_rule rules[] = {[TENSOR_STEP] = DENSE_STEP,
                                                [TENSOR_BARE] = DENSE_BARE,
                                                [TENSOR_STATE] = DENSE_KEEP};

        ranges[i] = (struct dense_range){t->at, i + 1 < d->net->ntensors ? t[1].at : d->net->size,
                                         rules[t->rule]};
    }
    st = shoal_ranks_agree(r->opts->ranks, st);
    if (st == SHOAL_OK)
        st = dense_open(&d->dense, r->comm, d->params, d->net->size, ranges, d->net->ntensors,
                        r->kernel, &opts);
    free(ranges);
    return st;
}

static shoal_status share_params(struct run *r)
{
    enum { AT_ONCE = 1 << 22 }; /* floats */
    struct dense_run *d = r->dense;
    shoal_status st = SHOAL_OK;

    for (size_t at = 0; r->comm && st == SHOAL_OK && at < d->net->size; at += AT_ONCE) {
        size_t left = d->net->size - at, some = left < AT_ONCE ? left : AT_ONCE;

        st = comm_broadcast(r->comm, 0, d->params + at, some * sizeof(float));
    }
    return st;
}

static shoal_status open_memory(struct run *r)
{
    struct dense_run *d = r->dense;
    shoal_status st = SHOAL_OK;

    if (d->train == 0)
        return shoal_fail(SHOAL_EINVAL, "train: no samples are left to learn from");
    d->params = mem_map(d->net->size * sizeof *d->params);
    d->grads = mem_map(d->net->size * sizeof *d->grads);
    if (!d->params || !d->grads)
        return SHOAL_ENOMEM;
    if (r->opts->start)
        st = r->task->net->start(r, d->params);
    else
        d->net->ops->start(d->net, d->params, r->opts->seed);
    return st == SHOAL_OK ? net_steps_init(r) : st;
}

/* With another number of ranks the steps would be others. */
static shoal_status check_workers(const struct run *r)
{
    if (!r->opts->resume || r->opts->rank_batch == 0 || r->at.workers == r->sharing)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL,
                      "%s: %llu ranks trained there, %u here, and --rank-batch is of each: want as "
                      "many",
                      r->opts->checkpoint, (unsigned long long)r->at.workers, r->sharing);
}

static shoal_status net_open(struct run *r)
{
    struct dense_run *d = r->dense;
    bool average = r->comm && r->opts->sync.policy == SHOAL_AVERAGE;
    shoal_status st;

    d->batch = net_batch_size(r->opts);
    r->batch = (unsigned)d->batch;
    r->units = (d->train + d->batch - 1) / d->batch;
    r->unit_examples = (double)d->batch;
    r->group = average ? r->opts->sync.staleness : 1; /* a slice ends where a mean is made */
    r->gathers = true;
    r->lr = r->planned.lr;
    st = shoal_ranks_agree(r->opts->ranks, open_memory(r));
    if (st == SHOAL_OK)
        st = run_set_length(r, r->opts->steps);
    if (st == SHOAL_OK)
        st = share_params(r);
    if (st == SHOAL_OK)
        st = open_block(r);
    if (st == SHOAL_OK)
        st = run_values(r, NULL);
    if (st == SHOAL_OK)
        st = check_workers(r);
    if (st == SHOAL_OK && r->opts->resume)
        dense_set_steps(d->dense, r->at.steps);
    r->at.workers = r->sharing;
    return st;
}

static void net_close(struct run *r)
{
    struct dense_run *d = r->dense;

    if (!d)
        return;
    dense_close(d->dense);
    if (d->net) {
        net_steps_fini(r);
        mem_unmap(d->grads, d->net->size * sizeof *d->grads);
        mem_unmap(d->params, d->net->size * sizeof *d->params);
        net_free(d->net);
    }
    free(d);
    r->dense = NULL;
}

static void net_sections(struct run *r, struct sections *out)
{
    struct dense_run *d = r->dense;
    size_t n = dense_tables(d->dense, d->tables);

    *out = (struct sections){.n = n};
    for (size_t i = 0; i < n; i++)
        out->at[i] = (struct checkpoint_section){.table = &d->tables[i],
                                                 .deal = dense_deal(d->dense),
                                                 .owned = i > 0 && dense_shares(d->dense)};
}

/* ---- training ---- */

/* Collective: steps that were made, and the lengths of their gradients, summed over the pieces
 * of all ranks, and over their own of those that step by themselves. */
static shoal_status count_steps(struct run *r)
{
    struct dense_run *d = r->dense;
    unsigned apart = r->opts->sync.policy == SHOAL_AVERAGE ? r->sharing : 1;
    double x[] = {dense_norm2(d->dense) - d->norm0, r->leads ? (double)d->norms : 0};
    shoal_status st = r->comm ? comm_sum(r->comm, x, 2) : SHOAL_OK;

    r->at.norm += x[0] / apart;
    r->at.norms += (uint64_t)x[1];
    r->at.steps = dense_steps(d->dense);
    d->norm0 = dense_norm2(d->dense);
    d->norms = 0;
    return st;
}

static shoal_status net_advance(struct run *r)
{
    shoal_status st = SHOAL_OK;

    while (r->at.place < r->stop && st == SHOAL_OK)
        st = net_step(r);
    return st == SHOAL_OK && !r->comm ? count_steps(r) : st;
}

/* After a meeting every rank has the same parameters, to the last bit; one that has
 * not would train another model from here on. */
static shoal_status check_same(struct run *r)
{
    struct dense_run *d = r->dense;
    uint64_t mine = bytes_hash(1, d->params, d->net->size * sizeof *d->params), first = mine;
    shoal_status st = comm_broadcast(r->comm, 0, &first, sizeof first);

    if (st == SHOAL_OK && first != mine)
        st = shoal_fail(SHOAL_EIO,
                        "train: rank %u on %s holds other parameters than rank 0 (checksum "
                        "%016llx, want %016llx)",
                        comm_rank(r->comm), comm_host(r->comm, comm_rank(r->comm)),
                        (unsigned long long)mine, (unsigned long long)first);
    return comm_agree(r->comm, st);
}

static shoal_status net_gather(struct run *r, bool end)
{
    shoal_status st = dense_gather(r->dense->dense);

    if (st == SHOAL_OK)
        st = count_steps(r);
    return st == SHOAL_OK ? check_same(r) : st;
}

/* ---- evaluating ---- */

static double mean_step(double now, double then, uint64_t steps)
{
    return steps > 0 ? (now - then) / (double)steps : NAN;
}

/* What the epoch, or what there was of it, has cost. */
static void add_run_figures(struct run *r)
{
    struct dense_run *d = r->dense;
    const struct net_times *t = &d->times, *then = &d->before;
    double seconds = r->at.seconds - r->epoch_seconds;
    uint64_t steps = t->steps - then->steps;
    const struct {
        const char *name;
        double value;
    } all[] = {
        {"gradient", r->at.norms > 0 ? sqrt(r->at.norm / (double)r->at.norms) : NAN},
        {"epoch_seconds", seconds},
        {"step_seconds", r->at.place > 0 ? seconds / (double)r->at.place : NAN},
        {"compute_seconds", mean_step(t->compute, then->compute, steps)},
        {"wait_seconds", mean_step(t->wait, then->wait, steps)},
        {"communicate_seconds", mean_step(t->communicate, then->communicate, steps)},
        {"part_least", (double)(d->train / r->sharing)},
        {"part_most", (double)((d->train + r->sharing - 1) / r->sharing)},
        {"shuffled", d->shuffled},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        figures_add(&r->held, SHOAL_OF_RUN, all[i].name, false, all[i].value);
    d->before = *t;
}

/* Each worker its part of what is held out. */
static shoal_status net_evaluate(struct run *r)
{
    struct sums sums = {0};
    shoal_status st = SHOAL_OK;

    if (r->dense->valid > 0) {
        st = shoal_ranks_agree(r->opts->ranks, net_measure_valid(r, &sums));
        if (st == SHOAL_OK && r->with)
            st = rendezvous_sum(r->with, &sums);
        run_figures(r, &sums, SHOAL_OF_VALIDATION, &r->held);
    }
    add_run_figures(r);
    if (r->at.place == run_epoch_units(r)) {
        r->at.norm = 0;
        r->at.norms = 0;
    }
    return st == SHOAL_OK && r->leads && r->task->evaluate ? run_background(r, r->task->evaluate)
                                                           : st;
}

void net_task_figures(const struct run *r, const struct sums *s, enum shoal_figure_of of,
                      struct shoal_figures *out)
{
    double n = (double)s->predictions;

    if (r->dense->net->classes) {
        figures_add(out, of, "accuracy", true, (double)s->right / n);
        if (s->right5 > 0 && r->dense->net->outputs > 5)
            figures_add(out, of, "top5", true, (double)s->right5 / n);
    } else {
        figures_add(out, of, "mse", false, s->squared / n);
        figures_add(out, of, "rmse", false, sqrt(s->squared / n));
        figures_add(out, of, "mae", false, s->absolute / n);
        if (r->dense->net->outputs > 1) /* of one number it is but a sign */
            figures_add(out, of, "cosine", false, s->cosine / n);
    }
}

/* ---- the result ---- */

static float *copy_params(const struct dense_run *d)
{
    float *copy = mem_map(d->net->size * sizeof *copy);

    if (copy)
        memcpy(copy, d->params, d->net->size * sizeof *copy);
    return copy;
}

/* A net of its own for the model: without bf16, which is for training alone. */
static shoal_status trained_net(struct run *r, bool last, shoal_net **out)
{
    struct dense_run *d = r->dense;
    float *params = last ? d->params : copy_params(d);
    struct net *net = NULL;
    shoal_status st = params ? net_new(&net, d->net->spec) : SHOAL_ENOMEM;

    *out = NULL;
    if (last)
        d->params = NULL;
    if (st == SHOAL_OK)
        return saved_net_new(out, net, params);
    mem_unmap(params, d->net->size * sizeof *params);
    return st;
}

shoal_status net_task_result(struct run *r, bool last, shoal_model **out)
{
    shoal_net *t;
    shoal_status st = trained_net(r, last, &t);

    if (st == SHOAL_OK)
        st = r->task->net->give(r, t);
    if (st == SHOAL_OK)
        return model_take(out, r->task->kind, t);
    shoal_net_close(t);
    return st;
}

shoal_status net_task_facts(shoal_net *t, const struct run *r)
{
    const struct {
        const char *key;
        double value;
    } figures[] = {
        {"loss", shoal_figure(&r->last, SHOAL_OF_TRAINING, "loss")},
        {"valid_loss", shoal_figure(&r->last, SHOAL_OF_VALIDATION, "loss")},
        {"valid_accuracy", shoal_figure(&r->last, SHOAL_OF_VALIDATION, "accuracy")},
    };
    shoal_status st = saved_net_fact(t, "samples", "%zu", r->dense->train);

    if (st == SHOAL_OK)
        st = saved_net_fact(t, "held_out", "%zu", r->dense->valid);
    if (st == SHOAL_OK)
        st = saved_net_fact(t, "epochs", "%u", r->epochs);
    for (size_t i = 0; i < sizeof figures / sizeof *figures && st == SHOAL_OK; i++)
        if (!isnan(figures[i].value))
            st = saved_net_fact(t, figures[i].key, "%.6g", figures[i].value);
    return st;
}

/* ---- accounts ---- */

/* Of one rank alone, making the step is computing too. */
static void net_facts(const struct run *r, struct profile_facts *f)
{
    const struct net_times *t = &r->dense->times;

    f->slices = t->compute + t->wait + t->communicate;
    f->unit = "1,000 batches";
    f->units = (double)(run_units(r) - r->first_units) / BATCHES;
    f->steps = t->steps;
    if (r->comm)
        f->store = (struct store_times){.steps = t->wait + t->communicate, .waited = t->wait};
    if (r->comm && r->opts->sync.policy == SHOAL_SYNC)
        f->step = &r->dense->trace;
}

/* Naively every parameter is pulled and every gradient pushed at every step. */
static struct shoal_rank_stats net_stats(const struct run *r, uint64_t *merged)
{
    struct shoal_rank_stats s = {0};

    if (r->comm)
        s = dense_stats(r->dense->dense, merged);
    s.naive_bytes = 2 * r->dense->net->size * sizeof(float) * r->dense->times.steps;
    return s;
}

static size_t net_learned(struct run *r, struct table **out)
{
    dense_tables(r->dense->dense, r->dense->tables);
    out[0] = &r->dense->tables[0];
    return 1;
}

const struct engine dense_engine = {
    .bytes = sizeof(struct dense_run),
    .open = net_open,
    .close = net_close,
    .sections = net_sections,
    .learned = net_learned,
    .advance = net_advance,
    .gather = net_gather,
    .evaluate = net_evaluate,
    .facts = net_facts,
    .stats = net_stats,
};
