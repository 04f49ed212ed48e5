/* What the options of a net's training mean: defaults, limits, the rate, the plan. */
#include "train/net_run.h"

#include <math.h>

enum {
    SLICE_LEAST = 32,   /* samples of a slice */
    SLICE_LARGE = 128,  /* the same where adding up gradients takes a while */
    LARGE = 1 << 15,    /* parameters from which it does */
    SLICES_MOST = 8,
};

#define SLICE_FLOPS 3e6 /* what is quicker than that is not worth a second thread */

struct shoal_net_opts shoal_net_default(void)
{
    return (struct shoal_net_opts){
        .epochs = 20, .batch = 64, .optimizer = SHOAL_NET_ADAM, .schedule = SHOAL_CONSTANT,
        .decay = 0.01, .momentum = 0.9, .seed = 1, .valid = 0.1, .sync = SHOAL_SYNC,
        .patience = 10, .every_value = 60,
    };
}

static shoal_status want(bool ok, const char *name, double found, const char *wanted)
{
    return ok ? SHOAL_OK
              : shoal_fail(SHOAL_EINVAL, "train: %s is %g, want %s", name, found, wanted);
}

static shoal_status check_numbers(const struct shoal_net_opts *o)
{
    const struct {
        bool ok;
        const char *name;
        double found;
        const char *wanted;
    } all[] = {
        {o->epochs >= 1 && o->epochs <= 1000000, "epochs", o->epochs, "1 to 1000000"},
        {o->batch >= 1 && o->batch <= 1 << 20, "batch", o->batch, "1 to 1048576"},
        {o->global_batch <= 1 << 24, "global-batch", o->global_batch, "0 to 16777216"},
        {o->optimizer <= SHOAL_NET_ADAM, "optimizer", o->optimizer, "one of enum shoal_net_optimizer"},
        {o->lr >= 0 && o->lr <= 1000, "lr", o->lr, "above 0 to 1000"},
        {o->schedule <= SHOAL_COSINE, "schedule", o->schedule, "one of enum shoal_schedule"},
        {o->decay >= 0 && isfinite(o->decay), "decay", o->decay, "0 or more"},
        {o->warmup >= 0 && isfinite(o->warmup), "warmup", o->warmup, "0 or more epochs"},
        {o->momentum >= 0 && o->momentum < 1, "momentum", o->momentum, "0 to below 1"},
        {o->weight_decay >= 0 && o->weight_decay < 1, "weight-decay", o->weight_decay,
         "0 to below 1"},
        {o->valid >= 0 && o->valid <= 0.5, "valid", o->valid, "0 to 0.5"},
        {o->threads <= 1024, "threads", o->threads, "0 to 1024"},
        {o->sync <= SHOAL_AVERAGE, "sync", o->sync, "one of enum shoal_sync"},
        {o->patience >= 0 && isfinite(o->patience), "patience", o->patience, "0 or more"},
        {o->every <= SHOAL_EVERY_EPOCH, "every", o->every, "one of enum shoal_every"},
        {o->every == SHOAL_EVERY_EPOCH || o->every_value > 0, "checkpoint-every", o->every_value,
         "above 0"},
    };
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < sizeof all / sizeof *all && st == SHOAL_OK; i++)
        st = want(all[i].ok, all[i].name, all[i].found, all[i].wanted);
    return st;
}

shoal_status shoal_net_check(const struct shoal_net_opts *o)
{
    shoal_status st = check_numbers(o);
    unsigned ranks = shoal_ranks_size(o->ranks);

    if (st == SHOAL_OK && o->servers >= ranks && o->servers > 0 && o->ranks)
        st = shoal_fail(SHOAL_EINVAL, "train: --servers is %u of %u rank%s, want at least one "
                        "that trains", o->servers, ranks, ranks == 1 ? "" : "s");
    return st;
}

/* ---- the rate ---- */

double net_first_lr(const struct shoal_net_opts *o)
{
    static const double usual[] = {[SHOAL_NET_SGD] = 0.1, [SHOAL_NET_MOMENTUM] = 0.05,
                                   [SHOAL_NET_ADAM] = 0.002};

    return o->lr > 0 ? o->lr : usual[o->optimizer];
}

float net_lr(const struct shoal_net_opts *o, double done, double step)
{
    double lr = net_first_lr(o);

    if (done + step < o->warmup)
        lr *= (done + step) / o->warmup;
    return schedule_at(o->schedule, lr, o->decay, done, o->epochs);
}

/* ---- how the work is shared ---- */

unsigned net_workers(const struct shoal_net_opts *o)
{
    return shoal_ranks_size(o->ranks) - (o->ranks ? o->servers : 0);
}

size_t net_batch_of(const struct shoal_net_opts *o)
{
    return o->global_batch ? o->global_batch : (size_t)o->batch * net_workers(o);
}

/* Ranks on one machine share its cores. */
unsigned net_threads(const struct shoal_net_opts *o)
{
    unsigned cores = pool_threads(0), here = ranks_here(o->ranks);

    if (o->threads > 0)
        return o->threads;
    return cores > here ? cores / here : 1;
}

/* By the net and the batch alone, so that the result does not depend on threads. */
size_t net_slices(const struct net *net, size_t share)
{
    size_t by_samples = share / (net->size > LARGE ? SLICE_LARGE : SLICE_LEAST);
    double by_flops = net->flops * (double)share / SLICE_FLOPS;
    size_t slices = (double)by_samples < by_flops ? by_samples : (size_t)by_flops;

    if (net->alone || slices < 1)
        return 1;
    return slices > SLICES_MOST ? SLICES_MOST : slices;
}

/* Larger ones wait for too many stale gradients, smaller ones follow each: measured in
 * docs/nets.md. */
static unsigned quorum_of(unsigned workers)
{
    unsigned quorum = (unsigned)sqrt(workers / 2.0);

    return quorum > 0 ? quorum : 1;
}

struct dense_opts net_dense_opts(const struct shoal_net_opts *o)
{
    static const enum optim_kind kinds[] = {[SHOAL_NET_SGD] = OPTIM_SGD,
                                            [SHOAL_NET_MOMENTUM] = OPTIM_MOMENTUM,
                                            [SHOAL_NET_ADAM] = OPTIM_ADAM};

    return (struct dense_opts){
        .policy = o->sync, .staleness = o->staleness, .servers = o->ranks ? o->servers : 0,
        .quorum = o->quorum ? o->quorum : quorum_of(net_workers(o)), .cautious = true,
        .optim = {.kind = kinds[o->optimizer], .momentum = (float)o->momentum, .beta1 = 0.9f,
                  .beta2 = 0.999f, .epsilon = 1e-8f, .decay = (float)o->weight_decay,
                  .nesterov = o->nesterov},
    };
}

/* ---- the plan ---- */

static uint64_t slices_bytes(const struct net *net, size_t share, unsigned threads)
{
    size_t slices = net_slices(net, share), some = (share + slices - 1) / slices;
    uint64_t batch = some * (net->inputs + net->outputs + 1) * sizeof(float);

    return slices * (batch + net->ops->worker_bytes(net, some, net->alone ? threads : 1)) +
           (slices - 1) * net->size * sizeof(float);
}

void net_plan(struct shoal_net_plan *plan, const struct net *net, const struct net_source *source,
              const struct shoal_net_opts *o)
{
    struct dense_opts dense = net_dense_opts(o);
    size_t workers = net_workers(o), share = (net_batch_of(o) + workers - 1) / workers;

    *plan = (struct shoal_net_plan){.samples = source->train, .valid = source->valid,
                                    .held_bytes = mem_held()};
    for (size_t i = 0; i < net->ntensors; i++)
        plan->parameters += net->tensors[i].rule == TENSOR_STATE ? 0 : net->tensors[i].size;
    plan->model_bytes = 2 * net->size * sizeof(float) +
                        dense_bytes(net->size, shoal_ranks_size(o->ranks), &dense);
    plan->work_bytes = slices_bytes(net, share < source->train ? share : source->train,
                                    net_threads(o)) +
                       source->train * sizeof(uint32_t);
    plan->checkpoint_bytes = net_checkpoint_bytes(net, o);
    plan->memory_bytes =
        plan->model_bytes + plan->work_bytes + plan->held_bytes + plan->checkpoint_bytes;
    plan->memory_free = o->memory_limit ? o->memory_limit : mem_available();
}

shoal_status net_check_plan(const struct shoal_net_plan *p)
{
    uint64_t need = p->memory_bytes - p->held_bytes;

    if (need <= p->memory_free)
        return SHOAL_OK;
    return shoal_fail(SHOAL_ELIMIT,
                      "train: needs %llu bytes of memory (%llu of them parameters and their "
                      "gradients), %llu are free; lower --batch or the layers",
                      (unsigned long long)need, (unsigned long long)p->model_bytes,
                      (unsigned long long)p->memory_free);
}
