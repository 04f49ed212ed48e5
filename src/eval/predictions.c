/* What a classifier said of some examples, and what can be read off it. */
#include "eval/eval.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

shoal_status predictions_new(struct predictions **out, unsigned classes, size_t most)
{
    struct predictions *s = *out = mem_array(1, sizeof *s);
    bool all = classes <= PREDICTIONS_CURVES;
    shoal_status st = SHOAL_ENOMEM;

    if (!s)
        return st;
    *s = (struct predictions){.classes = classes, .most = most};
    s->label = mem_array(most, sizeof *s->label);
    s->best = mem_array(most, sizeof *s->best);
    s->sure = mem_array(most, sizeof *s->sure);
    s->p = all ? mem_array(most * classes, sizeof *s->p) : NULL;
    if (s->label && s->best && s->sure && (s->p || !all))
        st = classes_new(&s->counts, classes);
    if (st != SHOAL_OK) {
        predictions_free(s);
        *out = NULL;
    }
    return st;
}

void predictions_free(struct predictions *s)
{
    if (!s)
        return;
    free(s->label);
    free(s->best);
    free(s->sure);
    free(s->p);
    classes_free(s->counts);
    free(s);
}

shoal_status predictions_add(struct predictions *s, const float *p, uint32_t label)
{
    shoal_status st = classes_add(s->counts, p, label);
    uint32_t best = 0;

    assert(s->n < s->most && label < s->classes);
    if (st != SHOAL_OK)
        return st;
    for (uint32_t k = 1; k < s->classes; k++)
        best = p[k] > p[best] ? k : best;
    s->label[s->n] = label;
    s->best[s->n] = best;
    s->sure[s->n] = p[best];
    s->loss -= log(fmax((double)p[label], SHOAL_LOG_LOSS_CLIP));
    if (s->p)
        memcpy(s->p + s->n * s->classes, p, s->classes * sizeof *p);
    s->n++;
    return SHOAL_OK;
}

/* ---- curves ---- */

struct scored {
    float p;
    bool is;
};

static int likelier_first(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;

    return (x->p < y->p) - (x->p > y->p);
}

/* The examples by the probability of a class, the likeliest first; for free(). */
static struct scored *ranked(const struct predictions *s, uint32_t class, size_t *there)
{
    struct scored *all = s->p ? mem_array(s->n + 1, sizeof *all) : NULL;

    *there = 0;
    for (size_t i = 0; all && i < s->n; i++) {
        all[i] = (struct scored){s->p[i * s->classes + class], s->label[i] == class};
        *there += all[i].is;
    }
    if (all)
        qsort(all, s->n, sizeof *all, likelier_first);
    return all;
}

static shoal_status curve_init(struct rank_curve *c, size_t most)
{
    *c = (struct rank_curve){.x = mem_array(most, sizeof *c->x),
                        .y = mem_array(most, sizeof *c->y),
                        .area = (double)NAN};
    return c->x && c->y ? SHOAL_OK : SHOAL_ENOMEM;
}

void curve_fini(struct rank_curve *c)
{
    free(c->x);
    free(c->y);
    *c = (struct rank_curve){0};
}

static void curve_add(struct rank_curve *c, double x, double y)
{
    c->x[c->n] = x;
    c->y[c->n++] = y;
}

/* A point of a curve after the first `taken`, of which `right` are of the class. */
typedef void curve_point(struct rank_curve *c, double right, double taken, double there, double all);

/* Examples that are equally likely are taken together: no order of theirs is right. */
static shoal_status curve_walk(struct rank_curve *c, const struct predictions *s, uint32_t class,
                               curve_point *add)
{
    size_t there, right = 0;
    struct scored *all = ranked(s, class, &there);
    shoal_status st = curve_init(c, s->n + 1);

    if (!all)
        st = SHOAL_ENOMEM;
    if (st == SHOAL_OK && there > 0 && there < s->n) {
        c->area = 0;
        for (size_t i = 0; i < s->n; i++) {
            right += all[i].is;
            if (i + 1 == s->n || all[i + 1].p < all[i].p)
                add(c, (double)right, (double)i + 1, (double)there, (double)s->n);
        }
    }
    free(all);
    return st;
}

static void roc_point(struct rank_curve *c, double right, double taken, double there, double all)
{
    double x = (taken - right) / (all - there), y = right / there;

    if (c->n == 0)
        curve_add(c, 0, 0);
    c->area += (x - c->x[c->n - 1]) * (y + c->y[c->n - 1]) / 2;
    curve_add(c, x, y);
}

static void pr_point(struct rank_curve *c, double right, double taken, double there, double all)
{
    double x = right / there, y = right / taken;

    (void)all;
    c->area += (x - (c->n > 0 ? c->x[c->n - 1] : 0)) * y;
    curve_add(c, x, y);
}

/* A curve has one point more than there are examples: (0, 0). */
shoal_status curve_roc(struct rank_curve *out, const struct predictions *s, uint32_t class)
{
    return curve_walk(out, s, class, roc_point);
}

shoal_status curve_pr(struct rank_curve *out, const struct predictions *s, uint32_t class)
{
    return curve_walk(out, s, class, pr_point);
}

void curve_thin(struct rank_curve *c, double step)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->n; i++) {
        bool far = kept == 0 || fabs(c->x[i] - c->x[kept - 1]) >= step ||
                   fabs(c->y[i] - c->y[kept - 1]) >= step;

        if (!far && i + 1 < c->n)
            continue;
        c->x[kept] = c->x[i];
        c->y[kept++] = c->y[i];
    }
    c->n = kept;
}

double curve_at(const struct rank_curve *c, double x)
{
    size_t i = 0;

    while (i + 1 < c->n && c->x[i] < x)
        i++;
    if (i == 0 || c->x[i] <= c->x[i - 1] || c->x[i] < x)
        return c->n > 0 ? c->y[i] : (double)NAN;
    return c->y[i - 1] +
           (c->y[i] - c->y[i - 1]) * (x - c->x[i - 1]) / (c->x[i] - c->x[i - 1]);
}

/* ---- reliability ---- */

void reliability_of(struct reliability *out, const struct predictions *s)
{
    bool two = s->classes == 2 && s->p;

    *out = (struct reliability){.error = 0};
    for (size_t i = 0; i < s->n; i++) {
        double p = two ? (double)s->p[2 * i + 1] : (double)s->sure[i];
        bool right = two ? s->label[i] == 1 : s->label[i] == s->best[i];
        size_t bin = p > 0 ? (size_t)(p * RELIABILITY_BINS) : 0;

        bin = bin < RELIABILITY_BINS ? bin : RELIABILITY_BINS - 1;
        out->bin[bin].n++;
        out->bin[bin].said += p;
        out->bin[bin].right += right;
    }
    for (size_t b = 0; b < RELIABILITY_BINS; b++) {
        double n = (double)out->bin[b].n;

        if (n == 0)
            continue;
        out->error += fabs(out->bin[b].said - out->bin[b].right) / (double)s->n;
        out->bin[b].said /= n;
        out->bin[b].right /= n;
    }
}
