/* Perceptrons on samples: what is held out, how numbers are scaled, and the net that
 * fits the data. */
#include "saved/saved.h"
#include "train/net_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPLIT_STREAM = 0x5b117 };

struct mlp_run {
    const shoal_samples *data, *other; /* other: what is held out, or NULL */
    const struct shoal_mlp_opts *opts;
    uint32_t *ids; /* [data->n] those to learn from, then those held out */
    struct scaling in, out;
    struct net *net;
    struct net_source source;
};

struct shoal_mlp_opts shoal_mlp_default(void)
{
    return (struct shoal_mlp_opts){.train = shoal_net_default(), .layers = "64"};
}

/* ---- the source ---- */

static void fill_targets(const struct mlp_run *m, const shoal_samples *s, uint32_t id, float *y)
{
    memcpy(y, s->y + id * s->targets, s->targets * sizeof *y);
    if (m->out.n)
        scaling_apply(&m->out, y);
}

static shoal_status fill(void *ctx, const struct net_take *take, float *x, uint32_t *label,
                         float *y)
{
    const struct mlp_run *m = ctx;
    const shoal_samples *s = take->valid && m->other ? m->other : m->data;
    const uint32_t *ids = take->valid ? m->ids + m->source.train : m->ids;

    for (size_t i = 0; i < take->n; i++) {
        uint32_t id = s == m->data ? ids[take->ids[i]] : take->ids[i];

        samples_row(s, id, &m->in, x + i * s->inputs);
        if (s->label)
            label[i] = s->label[id];
        else
            fill_targets(m, s, id, y + i * s->targets);
    }
    return SHOAL_OK;
}

/* ---- opening ---- */

/* The held-out ones are drawn, both parts keep the order of the file. */
static shoal_status split(struct mlp_run *m)
{
    const struct shoal_net_opts *o = &m->opts->train;
    size_t n = m->data->n, held = m->other ? 0 : (size_t)(o->valid * (double)n);

    m->source.train = n - held;
    m->source.valid = m->other ? m->other->n : held;
    return samples_split(&m->ids, n, held, o->seed, SPLIT_STREAM);
}

static shoal_status scale(struct mlp_run *m)
{
    shoal_status st;

    if (m->opts->raw) {
        st = scaling_init(&m->in, m->data->inputs);
        for (size_t j = 0; st == SHOAL_OK && j < m->in.n; j++)
            m->in.inverse[j] = 1;
        return st;
    }
    st = scaling_of(&m->in, m->data, m->ids, m->source.train);
    if (st == SHOAL_OK && m->data->targets)
        st = scaling_of_targets(&m->out, m->data, m->ids, m->source.train);
    return st;
}

static shoal_status check_data(const struct mlp_run *m)
{
    const shoal_samples *d = m->data, *o = m->other;

    if (!d->label && !d->y)
        return shoal_fail(SHOAL_EINVAL, "mlp: samples have neither classes nor targets");
    if (d->label && d->classes < 2)
        return shoal_fail(SHOAL_EINVAL, "mlp: all samples are of class 0, want two classes or more");
    if (o && (o->inputs != d->inputs || o->targets != d->targets))
        return shoal_fail(SHOAL_EINVAL, "mlp: what is held out has %zu inputs and %zu targets, want "
                          "%zu and %zu", o->inputs, o->targets, d->inputs, d->targets);
    for (size_t i = 0; o && o->label && i < o->n; i++)
        if (o->label[i] >= d->classes)
            return shoal_fail(SHOAL_EINVAL, "mlp: held-out sample %zu (from 0) has class %u, found "
                              "0 to %zu in the data to learn from", i, o->label[i],
                              d->classes - 1);
    return SHOAL_OK;
}

static shoal_status make_net(struct mlp_run *m)
{
    static const char *const names[] = {"relu", "tanh", "sigmoid", "gelu"};
    const shoal_samples *d = m->data;
    char spec[NET_SPEC];
    int len = snprintf(spec, sizeof spec, "mlp inputs=%zu layers=%s outputs=%zu activation=%s "
                       "loss=%s", d->inputs, m->opts->layers, d->label ? d->classes : d->targets,
                       names[m->opts->activation], d->label ? "softmax" : "mse");

    if (len >= NET_SPEC)
        return shoal_fail(SHOAL_EINVAL, "mlp: layers are too many, want at most %d",
                          NET_MAX_LAYERS);
    return net_new(&m->net, spec);
}

static shoal_status open_run(struct mlp_run *m, const shoal_samples *data,
                             const shoal_samples *other, const struct shoal_mlp_opts *opts)
{
    shoal_status st = SHOAL_OK;

    *m = (struct mlp_run){.data = data, .other = other, .opts = opts};
    m->source = (struct net_source){.fill = fill, .ctx = m};
    if (opts->activation > SHOAL_GELU)
        st = shoal_fail(SHOAL_EINVAL, "mlp: activation is %d, want one of enum shoal_activation",
                        (int)opts->activation);
    if (st == SHOAL_OK)
        st = shoal_net_check(&opts->train);
    if (st == SHOAL_OK)
        st = check_data(m);
    if (st == SHOAL_OK)
        st = make_net(m);
    return st == SHOAL_OK ? split(m) : st;
}

static void close_run(struct mlp_run *m)
{
    net_free(m->net);
    free(m->ids);
    scaling_fini(&m->in);
    scaling_fini(&m->out);
}

shoal_status shoal_mlp_plan(struct shoal_net_plan *plan, const shoal_samples *data,
                            const shoal_samples *valid, const struct shoal_mlp_opts *opts)
{
    struct mlp_run m;
    shoal_status st = open_run(&m, data, valid, opts);

    *plan = (struct shoal_net_plan){0};
    if (st == SHOAL_OK)
        net_plan(plan, m.net, &m.source, &opts->train);
    close_run(&m);
    return st;
}

/* ---- training ---- */

/* A model that goes on brings its scaling along: its weights mean nothing without. */
static shoal_status start_from(struct mlp_run *m, float *params)
{
    shoal_net *old;
    shoal_status st = shoal_net_open(&old, m->opts->start);

    if (st != SHOAL_OK)
        return st;
    if (strcmp(old->net->spec, m->net->spec) != 0)
        st = shoal_fail(SHOAL_EINVAL, "%s: is '%s', want '%s'", m->opts->start, old->net->spec,
                        m->net->spec);
    else
        memcpy(params, old->params, m->net->size * sizeof *params);
    if (st == SHOAL_OK && old->in.n == m->in.n) {
        memcpy(m->in.mean, old->in.mean, m->in.n * sizeof(float));
        memcpy(m->in.inverse, old->in.inverse, m->in.n * sizeof(float));
    }
    shoal_net_close(old);
    return st;
}

/* Grey pictures as they lie in IDX files: so that others can be shown to the net. */
static shoal_status add_shape(shoal_net *t, const shoal_samples *s)
{
    shoal_status st;

    if (!s->bytes || s->sides[1] == 0 || s->sides[2] != 0)
        return SHOAL_OK;
    st = trained_fact(t, "channels", "1");
    if (st == SHOAL_OK)
        st = trained_fact(t, "height", "%zu", s->sides[0]);
    return st == SHOAL_OK ? trained_fact(t, "width", "%zu", s->sides[1]) : st;
}

static shoal_status add_facts(shoal_net *t, const struct mlp_run *m,
                              const struct shoal_net_stats *s)
{
    shoal_status st = trained_fact(t, "samples", "%zu", m->source.train);

    if (st == SHOAL_OK)
        st = trained_fact(t, "held_out", "%zu", m->source.valid);
    if (st == SHOAL_OK)
        st = trained_fact(t, "epochs", "%u", m->opts->train.epochs);
    if (st == SHOAL_OK)
        st = trained_fact(t, "loss", "%.6g", s->train.loss);
    if (st == SHOAL_OK && isfinite(s->valid.loss))
        st = trained_fact(t, "valid_loss", "%.6g", s->valid.loss);
    if (st == SHOAL_OK && isfinite(s->valid.accuracy))
        st = trained_fact(t, "valid_accuracy", "%.6g", s->valid.accuracy);
    return st == SHOAL_OK ? add_shape(t, m->data) : st;
}

/* Takes net and params out of the run. */
static shoal_status give(shoal_net **out, struct mlp_run *m, float *params,
                         const struct shoal_net_stats *stats)
{
    shoal_net *t;
    shoal_status st = trained_new(&t, m->net, params);

    m->net = NULL;
    if (st != SHOAL_OK)
        return st;
    t->in = m->in;
    t->out = m->out;
    m->in = m->out = (struct scaling){0};
    st = add_facts(t, m, stats);
    if (st != SHOAL_OK) {
        shoal_net_close(t);
        return st;
    }
    *out = t;
    return SHOAL_OK;
}

static shoal_status agree(const struct shoal_mlp_opts *o, shoal_status st)
{
    return shoal_ranks_agree(o->train.ranks, st);
}

shoal_status shoal_mlp_train(shoal_net **out, const shoal_samples *data, const shoal_samples *valid,
                             const struct shoal_mlp_opts *opts, struct shoal_net_stats *stats)
{
    struct shoal_net_stats own;
    struct mlp_run m;
    float *params = NULL;
    shoal_status st = open_run(&m, data, valid, opts);

    *out = NULL;
    if (st == SHOAL_OK)
        st = scale(&m);
    if (st == SHOAL_OK) {
        m.source.fingerprint = samples_fingerprint(data);
        params = mem_map(m.net->size * sizeof *params);
        st = params ? SHOAL_OK : SHOAL_ENOMEM;
    }
    if (st == SHOAL_OK && opts->start)
        st = start_from(&m, params);
    st = agree(opts, st);
    stats = stats ? stats : &own;
    if (st == SHOAL_OK)
        st = net_train(m.net, &m.source, &opts->train, NULL, params, opts->start != NULL, stats);
    if (st == SHOAL_OK && shoal_ranks_rank(opts->train.ranks) == 0) {
        st = give(out, &m, params, stats);
        params = NULL;
    }
    if (m.net)
        mem_unmap(params, m.net->size * sizeof *params);
    close_run(&m);
    return st;
}
