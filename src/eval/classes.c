/* Which of many classes? */
#include "eval/eval.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOP = 5 };

/* One array:
 *
 *     examples, top1, top5 | there, said, right of each class | the matrix, if any */
struct classes {
    unsigned n;
    bool matrix;
    size_t len;
    uint64_t *counts; /* [len] */
};

enum { EXAMPLES, TOP1, TOP5, HEAD };

static_assert(sizeof(struct class_counts) == 3 * sizeof(uint64_t), "counts lie in the array");

shoal_status classes_new(struct classes **out, unsigned n)
{
    struct classes *c;

    *out = NULL;
    if (n < 2 || n > CLASSES_MOST)
        return shoal_fail(SHOAL_EINVAL, "classes: found %u, want 2 to %u", n, CLASSES_MOST);
    c = mem_array(1, sizeof *c);
    if (!c)
        return SHOAL_ENOMEM;
    c->n = n;
    c->matrix = n <= CLASSES_MATRIX;
    c->len = HEAD + 3 * (size_t)n + (c->matrix ? (size_t)n * n : 0);
    c->counts = mem_array(c->len, sizeof *c->counts);
    if (!c->counts) {
        free(c);
        return SHOAL_ENOMEM;
    }
    *out = c;
    return SHOAL_OK;
}

void classes_free(struct classes *c)
{
    if (c)
        free(c->counts);
    free(c);
}

void classes_clear(struct classes *c)
{
    memset(c->counts, 0, c->len * sizeof *c->counts);
}

const struct class_counts *classes_counts(const struct classes *c)
{
    return (const struct class_counts *)(c->counts + HEAD);
}

const uint64_t *classes_matrix(const struct classes *c)
{
    return c->matrix ? c->counts + HEAD + 3 * (size_t)c->n : NULL;
}

/* ---- adding ---- */

/* Counts those before the label, and finds the first of all. */
static shoal_status rank_label(const struct classes *c, const float *scores, uint32_t label,
                               unsigned *before, uint32_t *best)
{
    float own = scores[label];

    *before = 0;
    *best = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        if (isnan(scores[i]))
            return shoal_fail(SHOAL_EINVAL, "classes: found a score of class %u that is no number",
                              i);
        *before += scores[i] > own || (scores[i] == own && i < label);
        if (scores[i] > scores[*best])
            *best = i;
    }
    return SHOAL_OK;
}

void classes_add_labels(struct classes *c, uint32_t best, const uint32_t *label, size_t n)
{
    struct class_counts *counts = (struct class_counts *)(c->counts + HEAD);
    uint32_t own = label[0];

    for (size_t i = 0; i < n; i++) {
        counts[label[i]].there++;
        own = label[i] == best ? best : own;
    }
    c->counts[EXAMPLES]++;
    if (best == SHOAL_NO_ID)
        return;
    counts[best].said++;
    counts[best].right += own == best;
    c->counts[TOP1] += own == best;
    if (c->matrix)
        c->counts[HEAD + 3 * (size_t)c->n + (size_t)own * c->n + best]++;
}

shoal_status classes_add(struct classes *c, const float *scores, uint32_t label)
{
    struct class_counts *counts = (struct class_counts *)(c->counts + HEAD);
    unsigned before;
    uint32_t best;
    shoal_status st;

    if (label >= c->n)
        return shoal_fail(SHOAL_EINVAL, "classes: found a label of %u, want less than %u", label,
                          c->n);
    st = rank_label(c, scores, label, &before, &best);
    if (st != SHOAL_OK)
        return st;
    c->counts[EXAMPLES]++;
    c->counts[TOP1] += before == 0;
    c->counts[TOP5] += before < TOP;
    counts[label].there++;
    counts[best].said++;
    counts[label].right += best == label;
    if (c->matrix)
        c->counts[HEAD + 3 * (size_t)c->n + (size_t)label * c->n + best]++;
    return SHOAL_OK;
}

/* ---- the score ---- */

/* NaN for 0 / 0. */
static double share(uint64_t some, uint64_t all)
{
    return (double)some / (double)all;
}

double class_precision(const struct class_counts *k)
{
    return share(k->right, k->said);
}

double class_recall(const struct class_counts *k)
{
    return share(k->right, k->there);
}

double class_f1(const struct class_counts *k)
{
    return share(2 * k->right, k->there + k->said);
}

void classes_score(const struct classes *c, struct shoal_classes_score *out)
{
    const struct class_counts *counts = classes_counts(c);
    uint64_t examples = c->counts[EXAMPLES];
    double even = 0, weighted = 0;
    unsigned met = 0;

    for (unsigned i = 0; i < c->n; i++) {
        if (counts[i].there + counts[i].said == 0)
            continue;
        met++;
        even += class_f1(&counts[i]);
        weighted += class_f1(&counts[i]) * (double)counts[i].there;
    }
    *out = (struct shoal_classes_score){
        .examples = examples,
        .classes = c->n,
        .top1 = share(c->counts[TOP1], examples),
        .top5 = share(c->counts[TOP5], examples),
        .macro_f1 = even / met,
        .weighted_f1 = weighted / (double)examples,
    };
}
