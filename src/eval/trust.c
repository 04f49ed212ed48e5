/* How much of the rows' neighbourhoods a layout keeps: trustworthiness (Venna and Kaski 2001),
 *
 *     1 - 2 / (n k (2 n - 3 k - 1)) sum over i, and over j that are among the k nearest of i in the
 *     plane and not among the k nearest rows, of (rank of row j seen from i) - k
 *
 * and the share of the k nearest that are found again. */
#include "eval/eval.h"

#include <math.h>
#include <stdlib.h>

enum { PITCH = 16 };

struct judge {
    const struct table *units;
    const struct neighbours *g;
    const float *places;
    const struct kernel *kernel;
    size_t k, n, every;
    double *missed, *found; /* [items] */
    float *cosines;         /* [threads][n + PITCH] */
    uint32_t *plane;        /* [threads][k] */
};

/* The k nearest in the plane, nearest first: kept sorted, for k is small. */
static void nearest_in_plane(const struct judge *j, size_t i, uint32_t *ids)
{
    float far[64];
    size_t len = 0;

    for (size_t o = 0; o < j->n; o++) {
        float dx = j->places[2 * i] - j->places[2 * o];
        float dy = j->places[2 * i + 1] - j->places[2 * o + 1], d = dx * dx + dy * dy;
        size_t at = len < j->k ? len : j->k - 1;

        if (o == i || (len == j->k && !(d < far[at])))
            continue;
        for (; at > 0 && d < far[at - 1]; at--) {
            far[at] = far[at - 1];
            ids[at] = ids[at - 1];
        }
        far[at] = d;
        ids[at] = (uint32_t)o;
        len += len < j->k;
    }
}

static size_t rank_of(const struct judge *j, const float *cosines, size_t i, size_t other)
{
    size_t rank = 1;

    for (size_t o = 0; o < j->n; o++)
        rank +=
            o != i && (cosines[o] > cosines[other] || (cosines[o] == cosines[other] && o < other));
    return rank;
}

static void judge_point(void *ctx, size_t item, unsigned thread)
{
    const struct judge *j = ctx;
    const struct table *t = j->units;
    size_t i = item * j->every;
    float *cosines = j->cosines + thread * (j->n + PITCH);
    uint32_t *plane = j->plane + thread * j->k;
    const float *row = t->at + i * t->stride;

    j->kernel->dots(cosines, j->n + PITCH, &row, 1, t->at, t->stride, j->n, t->width);
    nearest_in_plane(j, i, plane);
    for (size_t a = 0; a < j->k; a++) {
        size_t rank = rank_of(j, cosines, i, plane[a]);

        if (rank > j->k)
            j->missed[item] += (double)(rank - j->k);
        else
            j->found[item] += 1;
    }
}

shoal_status layout_judge(const struct table *units, const struct neighbours *g,
                          const float *places, size_t k, size_t most, struct workers *w,
                          struct layout_score *out)
{
    size_t n = units->rows, every = n > most ? (n + most - 1) / most : 1;
    size_t items = (n + every - 1) / every;
    double missed = 0, found = 0, all;
    struct judge j = {.units = units, .g = g, .places = places, .n = n, .every = every};
    shoal_status st = kernel_choose(&j.kernel);

    j.k = k < n / 2 ? k : (n - 1) / 2;
    j.k = j.k > 64 ? 64 : j.k < 1 ? 1 : j.k;
    j.missed = mem_array(items, sizeof *j.missed);
    j.found = mem_array(items, sizeof *j.found);
    j.cosines = mem_array(workers_count(w) * (n + PITCH), sizeof *j.cosines);
    j.plane = mem_array(workers_count(w) * j.k, sizeof *j.plane);
    if (st == SHOAL_OK && (!j.missed || !j.found || !j.cosines || !j.plane))
        st = SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        workers_do(w, items, judge_point, &j);
    for (size_t i = 0; i < items && st == SHOAL_OK; i++) {
        missed += j.missed[i];
        found += j.found[i];
    }
    all = (double)items * (double)j.k;
    out->trust = 1 - 2 * missed / (all * (2 * (double)n - 3 * (double)j.k - 1));
    out->kept = found / all;
    free(j.missed);
    free(j.found);
    free(j.cosines);
    free(j.plane);
    return st;
}
