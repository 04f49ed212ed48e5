/* What the probabilities of a classifier are worth: loss, accuracy, calibration.
 * The AUC is in classify_auc.c. */
#include "eval/ranking.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sums {
    double examples; /* a whole number */
    double weight;
    double loss, right, brier;
    double bins[SHOAL_RELIABILITY_BINS][3]; /* weight, and of p and y */
};

struct binary {
    enum binary_scale scale;
    struct sums sums;
    struct ranking ranking;
};

shoal_status binary_new(struct binary **out, enum binary_scale scale, size_t keep)
{
    struct binary *b = mem_array(1, sizeof *b);

    *out = b;
    if (!b)
        return SHOAL_ENOMEM;
    b->scale = scale;
    ranking_init(&b->ranking, scale, keep);
    return SHOAL_OK;
}

void binary_free(struct binary *b)
{
    if (b)
        ranking_fini(&b->ranking);
    free(b);
}

void binary_clear(struct binary *b)
{
    b->sums = (struct sums){0};
    ranking_fini(&b->ranking);
}

/* ---- one example ---- */

double binary_logit(double p)
{
    return log(p) - log1p(-p);
}

struct judged {
    double p, loss;
};

/* The loss is of what the true class was given, not of 1 minus the other's, which
 * is 0 long before the logit is large. */
static struct judged judge_logit(double z, bool label)
{
    double e = exp(-fabs(z)), margin = label ? z : -z;

    return (struct judged){.p = (z < 0 ? e : 1) / (1 + e), .loss = log1p(e) + fmax(0, -margin)};
}

static struct judged judge(const struct binary *b, double score, bool label)
{
    double most = -log(SHOAL_LOG_LOSS_CLIP), least = -log1p(-SHOAL_LOG_LOSS_CLIP);
    struct judged j = {.p = score};

    if (b->scale == BINARY_LOGIT)
        j = judge_logit(score, label);
    else
        j.loss = label ? -log(score) : -log1p(-score);
    j.loss = fmin(fmax(j.loss, least), most);
    return j;
}

static void sums_add(struct sums *s, struct judged j, bool label, double weight)
{
    size_t bin = (size_t)(j.p * SHOAL_RELIABILITY_BINS);
    double p = j.p, y = label;

    bin = bin < SHOAL_RELIABILITY_BINS ? bin : SHOAL_RELIABILITY_BINS - 1;
    s->bins[bin][0] += weight;
    s->bins[bin][1] += weight * p;
    s->bins[bin][2] += weight * y;
    s->weight += weight;
    s->loss += weight * j.loss;
    s->brier += weight * (p - y) * (p - y);
    s->right += (p > 0.5) == label ? weight : 0;
}

shoal_status binary_add(struct binary *b, double score, bool label, double weight)
{
    if (isnan(score))
        return shoal_fail(SHOAL_EINVAL, "classify: found a score that is no number");
    if (b->scale == BINARY_PROBABILITY && !(score >= 0 && score <= 1))
        return shoal_fail(SHOAL_EINVAL, "classify: found a probability of %g, want 0 to 1", score);
    if (!(weight >= 0) || isinf(weight))
        return shoal_fail(SHOAL_EINVAL, "classify: found a weight of %g, want 0 or more", weight);
    b->sums.examples++;
    if (weight == 0)
        return SHOAL_OK;
    sums_add(&b->sums, judge(b, score, label), label, weight);
    return ranking_add(&b->ranking, score, label, weight);
}

/* ---- the score ---- */

static double entropy(double p)
{
    double q = fmin(fmax(p, SHOAL_LOG_LOSS_CLIP), 1 - SHOAL_LOG_LOSS_CLIP);

    return -p * log(q) - (1 - p) * log1p(-q);
}

static void score_bins(const struct sums *s, struct shoal_binary_score *out)
{
    double p = 0, y = 0;

    for (size_t i = 0; i < SHOAL_RELIABILITY_BINS; i++) {
        const double *bin = s->bins[i];

        p += bin[1];
        y += bin[2];
        out->bins[i] = (struct shoal_reliability){
            .weight = bin[0],
            .predicted = bin[0] > 0 ? bin[1] / bin[0] : NAN,
            .observed = bin[0] > 0 ? bin[2] / bin[0] : NAN,
        };
    }
    out->predicted = p / s->weight;
    out->base_rate = y / s->weight;
    out->calibration = y > 0 ? p / y : NAN;
    out->base_log_loss = entropy(out->base_rate);
}

/* 0 / 0 is NaN, as it shall be of nothing. */
shoal_status binary_score(struct binary *b, struct shoal_binary_score *out)
{
    const struct sums *s = &b->sums;

    *out = (struct shoal_binary_score){.examples = (uint64_t)s->examples, .weight = s->weight};
    out->log_loss = s->loss / s->weight;
    out->accuracy = s->right / s->weight;
    out->brier = s->brier / s->weight;
    score_bins(s, out);
    return ranking_auc(&b->ranking, &out->auc, &out->auc_within);
}
