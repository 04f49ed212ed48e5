/* VGGs on pictures: the net that fits them, what it is given, and what it gives. */
#include "saved/saved.h"
#include "train/net_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPLIT_STREAM = 0x51177 };

struct vgg_run {
    const shoal_images *data, *test; /* test: NULL, or what is measured */
    const struct shoal_vgg_opts *opts;
    uint32_t *ids; /* [data->count] those to learn from, then those held out */
    float mean[3], std[3];
    struct feed *feed, *plain; /* augmented pictures to learn from; others to measure */
    uint32_t *next;            /* [batch] ids of the take that comes next */
    size_t batch;              /* pictures that this rank takes at once, at most */
    struct net *net;
    struct net_source source;
};

struct shoal_vgg_opts shoal_vgg_default(void)
{
    struct shoal_vgg_opts o = {.train = shoal_net_default(),
                               .depth = 11,
                               .batch_norm = true,
                               .base = 64,
                               .crop = 4,
                               .flip = true};

    o.train.batch = 128;
    o.train.optimizer = SHOAL_NET_MOMENTUM;
    o.train.lr = 0.1;
    o.train.schedule = SHOAL_COSINE;
    o.train.weight_decay = 5e-4;
    o.train.warmup = 1;
    o.train.sync = SHOAL_SYNC;
    return o;
}

shoal_status shoal_vgg_check(const struct shoal_vgg_opts *o)
{
    const struct kernel_tiles *tiles;
    shoal_status st = SHOAL_OK;

    if (o->depth != 11 && o->depth != 13 && o->depth != 16 && o->depth != 19)
        return shoal_fail(SHOAL_EINVAL, "vgg: depth is %u, want 11, 13, 16 or 19", o->depth);
    if (o->base < 16 || o->base > 512 || o->base % 16 != 0)
        return shoal_fail(SHOAL_EINVAL, "vgg: base is %u channels, want a multiple of 16 to 512",
                          o->base);
    if (o->hidden > 16384)
        return shoal_fail(SHOAL_EINVAL, "vgg: hidden is %u, want 0 to 16384", o->hidden);
    if (!(o->dropout >= 0 && o->dropout < 1))
        return shoal_fail(SHOAL_EINVAL, "vgg: dropout is %g, want 0 to below 1", o->dropout);
    if (o->crop > 64)
        return shoal_fail(SHOAL_EINVAL, "vgg: crop is %u pixels, want 0 to 64", o->crop);
    if (o->dtype != SHOAL_F32 && o->dtype != SHOAL_BF16)
        return shoal_fail(SHOAL_EINVAL, "vgg: dtype is %d, want SHOAL_F32 or SHOAL_BF16",
                          (int)o->dtype);
    if (o->dtype == SHOAL_BF16)
        st = kernel_tiles_choose(&tiles);
    return st == SHOAL_OK ? shoal_net_check(&o->train) : st;
}

/* ---- the source ---- */

/* Ids of the samples to learn from, or held out, as the data has them. */
static void map_ids(const struct vgg_run *v, const struct net_take *take, uint32_t *ids)
{
    const uint32_t *from = take->valid ? v->ids + v->source.train : v->ids;

    for (size_t i = 0; i < take->n; i++)
        ids[i] = take->valid && v->test ? take->ids[i] : from[take->ids[i]];
}

static struct feed *feed_of(const struct vgg_run *v, const struct net_take *take)
{
    return take->valid ? v->plain : v->feed;
}

static shoal_status fill(void *ctx, const struct net_take *take, float *x, uint32_t *label,
                         float *y)
{
    const struct vgg_run *v = ctx;

    (void)y;
    map_ids(v, take, label);
    return feed_fill(feed_of(v, take), label, take->n, take->epoch, x, label);
}

static void ahead(void *ctx, const struct net_take *take)
{
    const struct vgg_run *v = ctx;

    if (take->n > v->batch)
        return;
    map_ids(v, take, v->next);
    feed_ahead(feed_of(v, take), v->next, take->n, take->epoch);
}

/* ---- opening ---- */

/* Those held out, if there is no set for testing, are drawn by the seed. */
static shoal_status split(struct vgg_run *v)
{
    const struct shoal_net_opts *o = &v->opts->train;
    size_t n = v->data->count, held = v->test ? 0 : (size_t)(o->valid * (double)n);

    v->source.train = n - held;
    v->source.valid = v->test ? v->test->count : held;
    return samples_split(&v->ids, n, held, o->seed, SPLIT_STREAM);
}

static shoal_status check_test(const struct vgg_run *v)
{
    const shoal_images *d = v->data, *t = v->test;

    if (d->classes < 2)
        return shoal_fail(SHOAL_EINVAL, "vgg: all pictures are of one class, want two or more");
    if (!t)
        return SHOAL_OK;
    if (t->channels != d->channels || t->height != d->height || t->width != d->width)
        return shoal_fail(
            SHOAL_EINVAL,
            "vgg: pictures for testing are %u x %u in %u channels, want %u x %u in %u", t->width,
            t->height, t->channels, d->width, d->height, d->channels);
    for (size_t i = 0; i < t->count; i++)
        if (t->labels[i] >= d->classes)
            return shoal_fail(SHOAL_EINVAL,
                              "vgg: a picture for testing is of class %u, want less than %zu",
                              t->labels[i], d->classes);
    return SHOAL_OK;
}

static shoal_status make_net(struct vgg_run *v)
{
    const struct shoal_vgg_opts *o = v->opts;
    const shoal_images *d = v->data;
    char spec[NET_SPEC];
    shoal_status st;

    number_print(spec, sizeof spec,
                 "vgg depth=%u bn=%d base=%u channels=%u height=%u width=%u hidden=%u dropout=%g "
                 "outputs=%zu sync=%d",
                 o->depth, o->batch_norm, o->base, d->channels, d->height, d->width, o->hidden,
                 o->dropout, d->classes, o->sync_bn);
    st = net_new(&v->net, spec);
    if (st == SHOAL_OK)
        v->net->bf16 = o->dtype == SHOAL_BF16;
    return st;
}

static struct feed_opts feed_opts_of(const struct vgg_run *v, bool training)
{
    struct feed_opts f = {.batch = v->batch,
                          .seed = v->opts->train.seed,
                          .pad = training ? v->opts->crop : 0,
                          .flip = training && v->opts->flip,
                          .threads = 1};

    memcpy(f.mean, v->mean, sizeof f.mean);
    memcpy(f.std, v->std, sizeof f.std);
    if (!v->data->pixels) /* decoding takes longer than a net of this size computes */
        f.threads = net_threads(&v->opts->train);
    f.threads = f.threads < FEED_MAX_THREADS ? f.threads : FEED_MAX_THREADS;
    return f;
}

static shoal_status open_run(struct vgg_run *v, const shoal_images *data, const shoal_images *test,
                             const struct shoal_vgg_opts *opts)
{
    size_t workers = net_workers(&opts->train);
    shoal_status st = shoal_vgg_check(opts);

    *v = (struct vgg_run){.data = data, .test = test, .opts = opts};
    v->source = (struct net_source){.fill = fill, .ahead = ahead, .ctx = v};
    v->batch = workers > 0 ? (net_batch_of(&opts->train) + workers - 1) / workers : 1;
    if (st == SHOAL_OK)
        st = check_test(v);
    if (st == SHOAL_OK)
        st = make_net(v);
    if (st == SHOAL_OK)
        st = split(v);
    if (st == SHOAL_OK && v->batch > v->source.train)
        v->batch = v->source.train;
    return st;
}

/* The threads that prepare start here. */
static shoal_status open_feeds(struct vgg_run *v)
{
    struct feed_opts training, plain;
    shoal_status st = images_moments(v->data, v->opts->train.threads, v->mean, v->std);

    if (st != SHOAL_OK)
        return st;
    training = feed_opts_of(v, true);
    plain = feed_opts_of(v, false);
    v->next = mem_array(v->batch, sizeof *v->next);
    st = v->next ? feed_new(&v->feed, v->data, &training) : SHOAL_ENOMEM;
    return st == SHOAL_OK ? feed_new(&v->plain, v->test ? v->test : v->data, &plain) : st;
}

static void close_run(struct vgg_run *v)
{
    feed_free(v->feed);
    feed_free(v->plain);
    net_free(v->net);
    free(v->next);
    free(v->ids);
}

shoal_status shoal_vgg_plan(struct shoal_net_plan *plan, const shoal_images *data,
                            const shoal_images *test, const struct shoal_vgg_opts *opts)
{
    struct vgg_run v;
    shoal_status st = open_run(&v, data, test, opts);

    *plan = (struct shoal_net_plan){0};
    if (st == SHOAL_OK) {
        struct feed_opts f = feed_opts_of(&v, true);
        uint64_t feeds = 2 * feed_bytes(data, &f);

        net_plan(plan, v.net, &v.source, &opts->train);
        plan->work_bytes += feeds;
        plan->memory_bytes += feeds;
    }
    close_run(&v);
    return st;
}

/* ---- training ---- */

static shoal_status start_from(const struct vgg_run *v, float *params)
{
    shoal_net *old;
    shoal_status st;

    if (!container_sniff(v->opts->start))
        return net_load_tensors(v->net, params, v->opts->start);
    st = shoal_net_open(&old, v->opts->start);
    if (st != SHOAL_OK)
        return st;
    st = net_copy_tensors(v->net, params, old, v->opts->start);
    shoal_net_close(old);
    return st;
}

/* What a pixel of 0 to 255 becomes, for each of the net's inputs. */
static shoal_status give_scaling(shoal_net *t, const struct vgg_run *v)
{
    size_t area = (size_t)v->data->height * v->data->width;
    shoal_status st = scaling_init(&t->in, v->net ? v->net->inputs : t->net->inputs);

    for (size_t i = 0; st == SHOAL_OK && i < t->in.n; i++) {
        t->in.mean[i] = 255 * v->mean[i / area];
        t->in.inverse[i] = 1 / (255 * v->std[i / area]);
    }
    return st;
}

static shoal_status add_facts(shoal_net *t, const struct vgg_run *v,
                              const struct shoal_net_stats *s)
{
    const struct shoal_vgg_opts *o = v->opts;
    char key[32];
    shoal_status st = trained_fact(t, "pictures", "%zu", v->source.train);

    if (st == SHOAL_OK)
        st = trained_fact(t, "epochs", "%u", o->train.epochs);
    if (st == SHOAL_OK)
        st = trained_fact(t, "augmented", "crop %u, flip %s", o->crop, o->flip ? "yes" : "no");
    if (st == SHOAL_OK && o->dtype == SHOAL_BF16)
        st = trained_fact(t, "multiplied", "bf16");
    if (st == SHOAL_OK)
        st = trained_fact(t, "loss", "%.6g", s->train.loss);
    if (st == SHOAL_OK && isfinite(s->valid.accuracy))
        st = trained_fact(t, "test_accuracy", "%.6g", s->valid.accuracy);
    for (size_t i = 0; i < v->data->classes && st == SHOAL_OK; i++) {
        snprintf(key, sizeof key, "class.%zu", i);
        st = trained_fact(t, key, "%s", v->data->names[i]);
    }
    return st;
}

/* Takes net and params out of the run. What was learnt is f32, and answers so. */
static shoal_status give(shoal_net **out, struct vgg_run *v, float *params,
                         const struct shoal_net_stats *stats)
{
    shoal_net *t;
    shoal_status st;

    v->net->bf16 = false;
    st = trained_new(&t, v->net, params);
    v->net = NULL;
    if (st != SHOAL_OK)
        return st;
    st = give_scaling(t, v);
    if (st == SHOAL_OK)
        st = add_facts(t, v, stats);
    if (st != SHOAL_OK) {
        shoal_net_close(t);
        return st;
    }
    *out = t;
    return SHOAL_OK;
}

/* A checkpoint goes on with the same pictures, seen in the same way. */
static uint64_t fingerprint_of(const struct vgg_run *v)
{
    uint64_t seen = (uint64_t)v->opts->dtype << 32 | (uint64_t)v->opts->crop << 1 | v->opts->flip;

    return rng_mix(images_fingerprint(v->data) + seen * RNG_STEP);
}

static shoal_status run(struct vgg_run *v, float *params, struct shoal_net_stats *stats)
{
    const struct shoal_vgg_opts *o = v->opts;
    shoal_status st = params ? open_feeds(v) : SHOAL_ENOMEM;

    if (st == SHOAL_OK) {
        v->source.fingerprint = fingerprint_of(v);
        st = o->start ? start_from(v, params) : SHOAL_OK;
    }
    st = shoal_ranks_agree(o->train.ranks, st);
    if (st == SHOAL_OK)
        st = net_train(v->net, &v->source, &o->train, NULL, params, o->start != NULL, stats);
    return st;
}

shoal_status shoal_vgg_train(shoal_net **out, const shoal_images *data, const shoal_images *test,
                             const struct shoal_vgg_opts *opts, struct shoal_net_stats *stats)
{
    struct shoal_net_stats own;
    struct vgg_run v;
    float *params = NULL;
    shoal_status st = open_run(&v, data, test, opts);

    *out = NULL;
    stats = stats ? stats : &own;
    if (st == SHOAL_OK)
        params = mem_map(v.net->size * sizeof *params);
    st = shoal_ranks_agree(opts->train.ranks, st);
    if (st == SHOAL_OK)
        st = run(&v, params, stats);
    if (st == SHOAL_OK && shoal_ranks_rank(opts->train.ranks) == 0) {
        st = give(out, &v, params, stats);
        params = NULL;
    }
    if (v.net)
        mem_unmap(params, v.net->size * sizeof *params);
    close_run(&v);
    return st;
}
