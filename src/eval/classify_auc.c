/* The area under the curve is the share of pairs, one example of each class, that
 * are ranked rightly (Hanley and McNeil 1982), so it takes a sort, not a curve. */
#include "eval/ranking.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BINS_BYTES ((size_t)RANKING_BINS * 2 * sizeof(double))

enum {
    RADIX_BITS = 8,
    RADIX = 1 << RADIX_BITS,
};

void ranking_init(struct ranking *r, enum binary_scale scale, size_t keep)
{
    *r = (struct ranking){.scale = scale, .keep = keep};
}

void ranking_fini(struct ranking *r)
{
    free(r->kept);
    mem_unmap(r->bins, BINS_BYTES);
    ranking_init(r, r->scale, r->keep);
}

/* ---- bins ---- */

/* Unsigned numbers in the order of the floats: of those below 0 all bits are inverted, of the
 * others the sign is set. -0 is 0. */
static uint32_t bin_of(const struct ranking *r, double score)
{
    float logit = (float)(r->scale == BINARY_LOGIT ? score : binary_logit(score)) + 0.0F;
    uint32_t bits;

    memcpy(&bits, &logit, sizeof bits);
    bits = bits >> 31 ? ~bits : bits | 1U << 31;
    return bits >> 12;
}

static_assert(RANKING_BINS == 1 << (32 - 12), "a bin is the first bits of a float");

static void bin_add(struct ranking *r, uint32_t bin, bool label, double weight)
{
    r->bins[2 * (size_t)bin + label] += weight;
}

/* From now on by bins. */
static shoal_status fold(struct ranking *r)
{
    r->bins = mem_map(BINS_BYTES);
    if (!r->bins)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < r->n; i++)
        bin_add(r, bin_of(r, r->kept[i].score), r->kept[i].weight > 0, fabs(r->kept[i].weight));
    free(r->kept);
    r->kept = NULL;
    r->n = r->cap = 0;
    return SHOAL_OK;
}

/* ---- adding ---- */

shoal_status ranking_add(struct ranking *r, double score, bool label, double weight)
{
    void *kept = r->kept;
    shoal_status st = SHOAL_OK;

    if (!r->bins && r->n == r->keep)
        st = fold(r);
    if (st == SHOAL_OK && r->bins) {
        bin_add(r, bin_of(r, score), label, weight);
        return SHOAL_OK;
    }
    if (st == SHOAL_OK)
        st = mem_grow(&kept, &r->cap, r->n + 1, sizeof *r->kept);
    if (st != SHOAL_OK)
        return st;
    r->kept = kept;
    r->kept[r->n++] = (struct ranked){score, label ? weight : -weight};
    return SHOAL_OK;
}

/* ---- the area ---- */

/* As bin_of, all bits. */
static uint64_t order_of(double score)
{
    uint64_t bits;

    score += 0.0;
    memcpy(&bits, &score, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static size_t digit(const struct ranked *one, unsigned shift)
{
    return order_of(one->score) >> shift & (RADIX - 1);
}

/* One pass of a radix sort, by one digit; false when all have the same, and nothing moved. */
static bool spread(const struct ranked *from, struct ranked *to, size_t n, unsigned shift)
{
    size_t begin[RADIX] = {0}, at = 0;

    for (size_t i = 0; i < n; i++)
        begin[digit(&from[i], shift)]++;
    if (n == 0 || begin[digit(&from[0], shift)] == n)
        return false;
    for (size_t d = 0; d < RADIX; d++) {
        size_t count = begin[d];

        begin[d] = at;
        at += count;
    }
    for (size_t i = 0; i < n; i++)
        to[begin[digit(&from[i], shift)]++] = from[i];
    return true;
}

static shoal_status sort(struct ranking *r)
{
    struct ranked *other = mem_array(r->n, sizeof *other);

    if (!other)
        return SHOAL_ENOMEM;
    for (unsigned shift = 0; shift < 64; shift += RADIX_BITS)
        if (spread(r->kept, other, r->n, shift)) {
            struct ranked *sorted = other;

            other = r->kept;
            r->kept = sorted;
            r->cap = r->n;
        }
    free(other);
    return SHOAL_OK;
}

/* Weights of pairs so far, going up through the scores. */
struct area {
    double below[2]; /* of each class */
    double right, tied;
};

static void area_group(struct area *a, const double weight[2])
{
    a->right += weight[1] * a->below[0];
    a->tied += weight[1] * weight[0];
    a->below[0] += weight[0];
    a->below[1] += weight[1];
}

static void area_kept(struct area *a, const struct ranking *r)
{
    for (size_t i = 0, end; i < r->n; i = end) {
        double weight[2] = {0, 0};

        for (end = i; end < r->n && r->kept[end].score == r->kept[i].score; end++)
            weight[r->kept[end].weight > 0] += fabs(r->kept[end].weight);
        area_group(a, weight);
    }
}

shoal_status ranking_auc(struct ranking *r, double *auc, double *within)
{
    struct area a = {0};
    shoal_status st = SHOAL_OK;
    double pairs;

    if (!r->bins) {
        st = sort(r);
        if (st == SHOAL_OK)
            area_kept(&a, r);
    }
    for (size_t i = 0; r->bins && i < RANKING_BINS; i++)
        area_group(&a, &r->bins[2 * i]);
    pairs = a.below[0] * a.below[1];
    *auc = pairs > 0 ? (a.right + a.tied / 2) / pairs : NAN;
    *within = pairs > 0 ? (r->bins ? a.tied / 2 / pairs : 0) : NAN;
    return st;
}
