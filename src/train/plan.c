/* What the options mean: defaults, limits, the rate, and what a run will take. */
#include "train/run.h"

#include <math.h>

#define BOOST 0.5            /* see boost_of */
#define BOOST_CBOW (1.0 / 3) /* its first rate is twice as high */
#define BOOST_CBOW_MOST 1.5  /* but with the exact softmax, whose rows all travel */

/* ---- options ---- */

struct shoal_train_opts shoal_train_default(enum shoal_train_model model)
{
    struct shoal_train_opts o = {
        .model = model, .dim = 100, .window = 5, .negative = 5, .sample = 1e-3, .epochs = 5,
        .decay = 0.01, .batch = 64, .seed = 1, .valid = 0.001, .lanes = 8, .every_value = 60,
        .publish_every = 60,
        .patience = 10,
        .logreg = {.optimizer = SHOAL_FTRL, .beta = 1, .positive = 1},
    };

    if (model == SHOAL_LOGREG) {
        o.batch = o.epochs = 1;
        o.valid = 0;
    }
    return o;
}

static shoal_status want(bool ok, const char *name, double found, const char *wanted)
{
    return ok ? SHOAL_OK
              : shoal_fail(SHOAL_EINVAL, "train: %s is %g, want %s", name, found, wanted);
}

static shoal_status check_logreg(const struct shoal_train_opts *o)
{
    const struct shoal_logreg_opts *l = &o->logreg;
    shoal_status st = want(l->optimizer <= SHOAL_FTRL, "optimizer", l->optimizer,
                           "one of enum shoal_linear");

    if (st == SHOAL_OK)
        st = want(l->l1 >= 0 && isfinite(l->l1), "l1", l->l1, "0 or more");
    if (st == SHOAL_OK)
        st = want(l->l2 >= 0 && isfinite(l->l2), "l2", l->l2, "0 or more");
    if (st == SHOAL_OK)
        st = want(l->beta >= 0 && isfinite(l->beta) && (l->beta > 0 || l->optimizer == SHOAL_SGD),
                  "beta", l->beta, "above 0");
    if (st == SHOAL_OK)
        st = want(l->positive > 0 && isfinite(l->positive), "positive", l->positive, "above 0");
    return st;
}

shoal_status shoal_train_check(const struct shoal_train_opts *o)
{
    shoal_status st = want(o->dim >= 1 && o->dim <= KERNEL_MAX_DIM, "dim", o->dim, "1 to 4096");

    if (st == SHOAL_OK)
        st = want(o->model <= SHOAL_LOGREG, "model", o->model, "one of enum shoal_train_model");
    if (st == SHOAL_OK)
        st = want(o->loss <= SHOAL_SOFTMAX, "loss", o->loss, "one of enum shoal_loss");
    if (st == SHOAL_OK)
        st = want(o->schedule <= SHOAL_COSINE, "schedule", o->schedule,
                  "one of enum shoal_schedule");
    if (st == SHOAL_OK)
        st = want(o->window >= 1 && o->window <= W2V_MAX_WINDOW, "window", o->window, "1 to 50");
    if (st == SHOAL_OK && o->loss == SHOAL_NS)
        st = want(o->negative >= 1 && o->negative <= W2V_MAX_NEGATIVES, "negative", o->negative,
                  "1 to 64");
    if (st == SHOAL_OK)
        st = want(o->sample >= 0 && o->sample < 1, "sample", o->sample, "0 to below 1");
    if (st == SHOAL_OK)
        st = want(o->epochs >= 1 && o->epochs <= 100000, "epochs", o->epochs, "1 to 100000");
    if (st == SHOAL_OK)
        st = want(o->lr >= 0 && o->lr <= 10, "lr", o->lr, "above 0 to 10");
    if (st == SHOAL_OK)
        st = want(o->decay >= 0 && isfinite(o->decay), "decay", o->decay, "0 or more");
    if (st == SHOAL_OK)
        st = want(o->batch >= 1 && o->batch <= 65536, "batch", o->batch, "1 to 65536");
    if (st == SHOAL_OK)
        st = want(o->valid >= 0 && o->valid <= 0.5, "valid", o->valid, "0 to 0.5");
    if (st == SHOAL_OK)
        st = want(o->lanes >= 1 && o->lanes <= 64, "lanes", o->lanes, "1 to 64");
    if (st == SHOAL_OK)
        st = want(o->threads <= 1024, "threads", o->threads, "0 to 1024");
    if (st == SHOAL_OK)
        st = want(o->sync <= SHOAL_AVERAGE, "sync", o->sync, "one of enum shoal_sync");
    if (st == SHOAL_OK)
        st = want(o->wire <= SHOAL_WIRE_BF16, "wire", o->wire, "one of enum shoal_wire");
    if (st == SHOAL_OK)
        st = want(o->replica <= SHOAL_REPLICA_BLOCKS, "replica", o->replica,
                  "one of enum shoal_replica");
    if (st == SHOAL_OK)
        st = want(o->patience >= 0 && isfinite(o->patience), "patience", o->patience, "0 or more");
    if (st == SHOAL_OK)
        st = want(o->every == SHOAL_EVERY_EPOCH || o->every_value > 0, "checkpoint-every",
                  o->every_value, "above 0");
    if (st == SHOAL_OK)
        st = want(!o->publish || o->publish_every > 0, "publish-every", o->publish_every,
                  "above 0");
    if (st == SHOAL_OK)
        st = want(o->every <= SHOAL_EVERY_EPOCH, "every", o->every, "one of enum shoal_every");
    return st == SHOAL_OK && o->model == SHOAL_LOGREG ? check_logreg(o) : st;
}

/* Changes in which ranks agree are averaged, not added, so n ranks together move
 * hot rows little further than one does in its n-th part of the corpus. A higher
 * rate makes up for it; which, was measured (docs/consistency.md). */
static double boost_of(const struct shoal_train_opts *o)
{
    unsigned sharing = shoal_ranks_size(o->ranks) - o->servers;

    /* The mean of n replicas moves a weight by an n-th of what they found apart. Ftrl's sums
     * are of one rate, which may not change with the ranks. */
    if (o->model == SHOAL_LOGREG && o->sync == SHOAL_AVERAGE && !o->deterministic &&
        o->logreg.optimizer != SHOAL_FTRL)
        return sharing;
    if (o->deterministic || o->sync == SHOAL_AVERAGE || o->model == SHOAL_LOGREG)
        return 1;
    if (o->model != SHOAL_CBOW)
        return pow(sharing, BOOST);
    return fmin(pow(sharing, BOOST_CBOW), o->loss == SHOAL_SOFTMAX ? sharing : BOOST_CBOW_MOST);
}

static double usual_lr(const struct shoal_train_opts *o)
{
    static const double linear[] = {0.01, 0.05, 0.05}; /* sgd, adagrad, ftrl */

    if (o->model == SHOAL_LOGREG)
        return linear[o->logreg.optimizer];
    return o->model == SHOAL_CBOW ? 0.05 : 0.025;
}

static double first_lr(const struct shoal_train_opts *o)
{
    return boost_of(o) * (o->lr > 0 ? o->lr : usual_lr(o));
}

/* The rate at a point of the run, counted in epochs. */
float lr_at(const struct shoal_train_opts *o, double epochs_done)
{
    double lr = first_lr(o);

    /* What ftrl sums up is of one rate, and falls by itself. */
    if (o->model == SHOAL_LOGREG && o->logreg.optimizer == SHOAL_FTRL)
        return (float)lr;
    return schedule_at(o->schedule, lr, o->decay, epochs_done, o->epochs);
}

/* ---- the plan ---- */

/* Ranks on one machine share its cores. */
unsigned threads_of(const struct shoal_train_opts *o)
{
    unsigned cores = pool_threads(0), here = ranks_here(o->ranks);

    if (o->threads > 0)
        return o->threads;
    return cores > here ? cores / here : 1;
}

/* Threads, or the lanes that are this rank's; 0 for a server. */
size_t workers_of(const struct shoal_train_opts *o)
{
    unsigned rank = shoal_ranks_rank(o->ranks), sharing = shoal_ranks_size(o->ranks) - o->servers;

    if (rank >= sharing)
        return 0;
    if (!o->deterministic)
        return threads_of(o);
    return rank < o->lanes ? (o->lanes - rank + sharing - 1) / sharing : 0;
}

size_t chunk_between(size_t positions, size_t parts, size_t least, size_t most)
{
    size_t chunk = positions / parts;

    return chunk < least ? least : chunk > most ? most : chunk;
}

uint64_t ranks_bytes(const struct shoal_train_opts *o, const struct table *tables, size_t n,
                     const size_t *needed)
{
    struct store_opts so = together_store_opts(o, needed, n);
    unsigned ranks = shoal_ranks_size(o->ranks);

    return ranks > 1 ? store_bytes(tables, n, ranks, &so) : 0;
}

/* What needs whole tables at once, so that there cannot be blocks; NULL: nothing. */
static const char *needs_whole(const struct shoal_train_opts *o)
{
    if (o->model == SHOAL_LOGREG)
        return "logreg";
    if (o->deterministic)
        return "--deterministic";
    if (o->sync == SHOAL_AVERAGE)
        return "--sync average";
    if (o->loss == SHOAL_SOFTMAX)
        return "--loss softmax";
    return o->nevals > 0 ? "--eval" : o->publish ? "--publish" : NULL;
}

static bool may_block(const struct shoal_train_opts *o)
{
    return shoal_ranks_size(o->ranks) > 1 && !needs_whole(o);
}

static shoal_status check_deterministic(const struct shoal_train_opts *o, unsigned ranks)
{
    if (o->sync != SHOAL_SYNC)
        return shoal_fail(SHOAL_EINVAL, "train: --deterministic with %u ranks, want --sync sync",
                          ranks);
    if (o->loss == SHOAL_SOFTMAX)
        return shoal_fail(SHOAL_EINVAL, "train: --deterministic with %u ranks and --loss softmax, "
                          "want ns or hs", ranks);
    if (o->servers > 0)
        return shoal_fail(SHOAL_EINVAL, "train: --deterministic with --servers %u, whose ranks have "
                          "no lanes to bring together; want 0", o->servers);
    if (o->local_input)
        return shoal_fail(SHOAL_EINVAL, "train: --deterministic with --local-input: parts of the "
                          "input depend on the ranks");
    return SHOAL_OK;
}

static shoal_status check_blocks(const struct shoal_train_opts *o, unsigned ranks)
{
    if (ranks == 1)
        return shoal_fail(SHOAL_EINVAL, "train: --replica blocks with 1 rank, want several");
    if (needs_whole(o))
        return shoal_fail(SHOAL_EINVAL, "train: --replica blocks with %s, which needs whole tables",
                          needs_whole(o));
    return SHOAL_OK;
}

shoal_status check_ranks(const struct shoal_train_opts *o)
{
    unsigned ranks = shoal_ranks_size(o->ranks);
    shoal_status st = SHOAL_OK;

    if (o->servers >= ranks && o->servers > 0)
        return shoal_fail(SHOAL_EINVAL, "train: --servers is %u of %u rank%s, want at least one "
                          "that trains", o->servers, ranks, ranks == 1 ? "" : "s");
    if (ranks > 1 && o->deterministic)
        st = check_deterministic(o, ranks);
    if (st == SHOAL_OK && o->replica == SHOAL_REPLICA_BLOCKS)
        st = check_blocks(o, ranks);
    if (st != SHOAL_OK || ranks == 1)
        return st;
    if (o->servers > 0 && o->sync == SHOAL_AVERAGE)
        return shoal_fail(SHOAL_EINVAL, "train: --sync average with --servers %u, which would have "
                          "no rows to keep; want 0", o->servers);
    if (o->wire != SHOAL_WIRE_F32 && (o->deterministic || o->sync == SHOAL_AVERAGE))
        return shoal_fail(SHOAL_EINVAL, "train: --wire bf16 with --deterministic or --sync average, "
                          "where rows travel as they are; want f32");
    return SHOAL_OK;
}

void plan_sum(struct shoal_train_plan *plan, const struct shoal_train_opts *o)
{
    plan->held_bytes = mem_held();
    plan->checkpoint_bytes = o->checkpoint ? plan->model_bytes / shoal_ranks_size(o->ranks) : 0;
    plan->memory_bytes =
        plan->rank_bytes + plan->work_bytes + plan->held_bytes + plan->checkpoint_bytes;
    plan->memory_free = o->memory_limit ? o->memory_limit : mem_available();
}

/* What is held already has found its place; the rest must. */
static uint64_t needs(const struct shoal_train_plan *p)
{
    return p->memory_bytes - p->held_bytes;
}

bool plan_blocks(const struct shoal_train_plan *p, const struct shoal_train_opts *o)
{
    if (o->replica != SHOAL_REPLICA_AUTO || !may_block(o))
        return o->replica == SHOAL_REPLICA_BLOCKS;
    return needs(p) > p->memory_free;
}

shoal_status check_plan(const struct shoal_train_plan *p)
{
    uint64_t need = needs(p);

    if (need <= p->memory_free)
        return SHOAL_OK;
    return shoal_fail(SHOAL_ELIMIT,
                      "train: needs %llu bytes of memory (%llu of them parameters), %llu are free; "
                      "lower --dim or the vocabulary",
                      (unsigned long long)need, (unsigned long long)p->rank_bytes,
                      (unsigned long long)p->memory_free);
}
