/* What `--autotune` tries of text classes: epochs, rate, dimensions, n-grams of words and of
 * characters, buckets. First what helps most often, then steps around the best, shorter as time
 * goes by. */
#include "train/autotune.h"
#include "train/tasks/classify.h"

#include <math.h>
#include <stdio.h>

#define TURN 6.283185307179586

static double normal(struct rng *r)
{
    double radius = sqrt(-2 * log(1 - rng_unit(r)));

    return radius * cos(TURN * rng_unit(r));
}

/* x times a factor of about 2^spread, within limits. */
static double step(double x, double spread, double least, double most, struct rng *r)
{
    return fmin(fmax(x * exp2(spread * normal(r)), least), most);
}

static void tune_settle(struct train_opts *o, const struct shoal_sources *data)
{
    classes_settle(o, data);
    if (!(o->lr > 0))
        o->lr = classes_usual_lr(data->labelled);
}

/* The first trials, each a change of the best. */
static const struct first {
    unsigned word_ngrams, minn, maxn;
    double lr, epochs; /* times */
} firsts[] = {
    {2, 0, 0, 1, 1}, {1, 3, 6, 1, 1}, {2, 0, 0, 2, 1}, {2, 0, 0, 0.5, 1}, {2, 2, 5, 1, 1}, {3, 0, 0, 1, 2},
};

static const struct grams {
    unsigned minn, maxn;
} grams[] = {{0, 0}, {2, 5}, {3, 6}, {2, 4}};

static void first_trial(struct train_opts *o, const struct first *f)
{
    o->word_ngrams = f->word_ngrams;
    o->minn = f->minn;
    o->maxn = f->maxn;
    o->lr *= f->lr;
    o->epochs = (unsigned)(o->epochs * f->epochs);
}

/* One thing or several at once. */
static void wander(struct train_opts *o, double done, struct rng *r)
{
    double spread = 1.5 * (1 - fmin(done, 1)) + 0.3;

    if (rng_unit(r) < 0.6)
        o->lr = step(o->lr, spread, 0.01, 5, r);
    if (rng_unit(r) < 0.6)
        o->epochs = (unsigned)step(o->epochs, spread, 1, 200, r);
    if (rng_unit(r) < 0.3)
        o->dim = (unsigned)step(o->dim, spread / 2, 8, 1000, r);
    if (rng_unit(r) < 0.25)
        o->word_ngrams = 1 + (unsigned)rng_below(r, 4);
    if (rng_unit(r) < 0.2) {
        const struct grams *g = &grams[rng_below(r, sizeof grams / sizeof *grams)];

        o->minn = g->minn;
        o->maxn = g->maxn;
    }
    if (rng_unit(r) < 0.1)
        o->buckets = (unsigned)step(o->buckets, spread, 1e4, 1e7, r);
}

static void tune_next(struct train_opts *o, const shoal_options *given, unsigned trials,
                      double done, struct rng *random)
{
    const struct train_opts was = *o, *asked = options_values(given);

    if (trials - 1 < sizeof firsts / sizeof *firsts)
        first_trial(o, &firsts[trials - 1]);
    else
        wander(o, done, random);
    if (shoal_options_given(given, "lr"))
        o->lr = was.lr;
    if (shoal_options_given(given, "epochs"))
        o->epochs = was.epochs;
    if (shoal_options_given(given, "dim") || asked->pretrained)
        o->dim = was.dim;
    if (shoal_options_given(given, "word-ngrams"))
        o->word_ngrams = was.word_ngrams;
    if (shoal_options_given(given, "minn") || shoal_options_given(given, "maxn")) {
        o->minn = was.minn;
        o->maxn = was.maxn;
    }
    if (shoal_options_given(given, "buckets"))
        o->buckets = was.buckets;
}

static void tune_note(const struct train_opts *o, char *text, size_t cap)
{
    int len = number_print(text, cap, "--epochs %u --lr %.3g --dim %u --word-ngrams %u", o->epochs,
                           o->lr, o->dim, o->word_ngrams);

    if (o->maxn > 0 && len > 0 && (size_t)len < cap)
        len += snprintf(text + len, cap - (size_t)len, " --minn %u --maxn %u", o->minn, o->maxn);
    if ((o->maxn > 0 || o->word_ngrams > 1) && len > 0 && (size_t)len < cap)
        snprintf(text + len, cap - (size_t)len, " --buckets %u", o->buckets);
}

const struct tuning classes_tuning = {tune_settle, tune_next, tune_note};
