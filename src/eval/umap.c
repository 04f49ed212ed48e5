/* UMAP (McInnes, Healy and Melville 2018): the graph of neighbours as a fuzzy set, and places that
 * make the same edges likely, by steps of SGD with negative samples.
 *
 *     w(j|i) = e^(-(d(i,j) - rho_i) / sigma_i), rho_i being the nearest's distance and sigma_i such
 *     that their sum is log2 k; an edge holds in one direction or the other: w + v - w v
 *     an edge is likely by 1 / (1 + a d^(2b)) at the distance d of its ends
 *
 * Each round a point walks along those of its edges whose turn it is, in proportion to their
 * weight, each time away from five others by chance; it sees all others where they were at the
 * round's beginning. So points are independent of each other within a round, random numbers are
 * keyed by (seed, round, point), and threads change no bit. */
#include "eval/eval.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 500, NEGATIVES = 5, POINTS = 64, SEARCH = 64 };

#define FAR_STEP 4.0 /* the longest that one pair moves, before the rate */
#define BEGIN_WIDTH 10.0

unsigned umap_rounds(const struct layout_how *how)
{
    return how->rounds > 0 ? how->rounds : ROUNDS;
}

/* ---- the fuzzy set ---- */

static double fuzzy_sum(const float *d, size_t k, double sigma)
{
    double sum = 0;

    for (size_t j = 0; j < k; j++)
        sum += exp(-(double)(d[j] - d[0]) / sigma);
    return sum;
}

static void fuzzy_weights(const float *d, size_t k, float *weights)
{
    double low = 0, high = INFINITY, sigma = 1, want = log2((double)k);

    for (int i = 0; i < SEARCH; i++) {
        if (fuzzy_sum(d, k, sigma) > want)
            high = sigma;
        else
            low = sigma;
        sigma = isinf(high) ? 2 * sigma : (low + high) / 2;
    }
    sigma = sigma > 1e-6 ? sigma : 1e-6;
    for (size_t j = 0; j < k; j++)
        weights[j] = (float)exp(-(double)(d[j] - d[0]) / sigma);
}

static shoal_status fuzzy_edges(struct edges *out, const struct neighbours *g)
{
    float *w = mem_array(g->n * g->k, sizeof *w), *d = mem_array(g->k, sizeof *d);
    shoal_status st = w && d ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = 0; i < g->n && st == SHOAL_OK; i++) {
        for (size_t j = 0; j < g->k; j++)
            d[j] = 1 - g->cosines[i * g->k + j];
        fuzzy_weights(d, g->k, w + i * g->k);
    }
    if (st == SHOAL_OK)
        st = edges_make(out, g, w, EDGES_EITHER);
    free(w);
    free(d);
    return st;
}

/* ---- the curve ---- */

/* Squares of what the curve misses: 1 up to min_distance, then e^-(d - min_distance). */
static double misfit(double a, double b, double min_distance)
{
    double sum = 0;

    for (int i = 1; i <= 300; i++) {
        double d = 0.01 * i, want = d < min_distance ? 1 : exp(-(d - min_distance));
        double off = 1 / (1 + a * pow(d, 2 * b)) - want;

        sum += off * off;
    }
    return sum;
}

/* Two numbers: a search in ever smaller steps along both finds the least squares. */
struct umap_curve umap_curve_fit(double min_distance)
{
    struct umap_curve c = {1, 1};
    double best = misfit(c.a, c.b, min_distance);

    for (double step = 0.5; step > 1e-7;) {
        struct umap_curve next[4] = {{c.a * (1 + step), c.b},
                                     {c.a / (1 + step), c.b},
                                     {c.a, c.b * (1 + step)},
                                     {c.a, c.b / (1 + step)}};
        struct umap_curve found = c;

        for (int i = 0; i < 4; i++) {
            double off = misfit(next[i].a, next[i].b, min_distance);

            if (off < best) {
                best = off;
                found = next[i];
            }
        }
        if (found.a == c.a && found.b == c.b)
            step /= 2;
        c = found;
    }
    return c;
}

/* The gradient is along (dx, dy): by how much of them. */
static double pair_slope(struct umap_curve c, bool together, double square)
{
    double power = pow(square, c.b);

    if (together)
        return square > 0 ? 2 * c.a * c.b * power / (square * (1 + c.a * power)) : 0;
    return square > 0 ? -2 * c.b / (square * (1 + c.a * power)) : 0;
}

double umap_pair(struct umap_curve c, bool together, double dx, double dy, double gradient[2])
{
    double square = dx * dx + dy * dy, far = c.a * pow(square, c.b);
    double slope = pair_slope(c, together, square);

    gradient[0] = slope * dx;
    gradient[1] = slope * dy;
    return together ? log1p(far) : log1p(far) - log(far);
}

/* ---- the way there ---- */

struct walk {
    const struct edges *e;
    struct umap_curve curve;
    uint64_t seed;
    unsigned round, rounds;
    double heaviest;
    const float *from; /* [n][2] where all were */
    float *to;         /* [n][2] */
};

static double clip(double x)
{
    return x > FAR_STEP ? FAR_STEP : x < -FAR_STEP ? -FAR_STEP : x;
}

/* Against a square of 0, where the gradient has none, points leave by a little. */
static void step_pair(const struct walk *w, bool together, const float *other, double rate,
                      double at[2])
{
    double dx = at[0] - (double)other[0], dy = at[1] - (double)other[1];
    double square = dx * dx + dy * dy;
    double slope = pair_slope(w->curve, together, together ? square : square + 1e-3);

    at[0] -= rate * clip(slope * dx);
    at[1] -= rate * clip(slope * dy);
}

/* An edge's turns come evenly, weight / heaviest of the rounds. */
static bool is_due(const struct walk *w, float weight)
{
    double share = weight / w->heaviest;

    return floor((w->round + 1) * share) > floor(w->round * share);
}

static void walk_points(void *ctx, size_t item, unsigned thread)
{
    const struct walk *w = ctx;
    size_t first = item * POINTS, end = first + POINTS < w->e->n ? first + POINTS : w->e->n;
    double rate = 1 - (double)w->round / w->rounds;

    (void)thread;
    for (size_t i = first; i < end; i++) {
        struct rng r = {w->seed, ((uint64_t)w->round << 32) + i, 0};
        double at[2] = {w->from[2 * i], w->from[2 * i + 1]};

        for (size_t e = w->e->start[i]; e < w->e->start[i + 1]; e++) {
            if (!is_due(w, w->e->weight[e]))
                continue;
            step_pair(w, true, w->from + 2 * (size_t)w->e->to[e], rate, at);
            for (int k = 0; k < NEGATIVES; k++) {
                size_t other = (size_t)rng_below(&r, w->e->n);

                if (other != i)
                    step_pair(w, false, w->from + 2 * other, rate, at);
            }
        }
        w->to[2 * i] = (float)at[0];
        w->to[2 * i + 1] = (float)at[1];
    }
}

/* Within BEGIN_WIDTH, and no two at the same place. */
static void begin_at(float *places, size_t n, uint64_t seed)
{
    struct rng r = {seed, 0x756d6170, 0};
    float most = 0;

    for (size_t i = 0; i < 2 * n; i++)
        most = fabsf(places[i]) > most ? fabsf(places[i]) : most;
    for (size_t i = 0; i < 2 * n; i++)
        places[i] = (float)(places[i] * (most > 0 ? BEGIN_WIDTH / (double)most : 0) +
                            1e-3 * (rng_unit(&r) - 0.5));
}

shoal_status umap_layout(const struct neighbours *g, const struct layout_how *how,
                         struct workers *w, struct pulse *pulse, float *places)
{
    struct edges e = {0};
    float *other = mem_array(2 * g->n, sizeof *other), *from = places;
    struct walk walk = {.e = &e, .seed = how->seed, .rounds = umap_rounds(how)};
    shoal_status st = other ? fuzzy_edges(&e, g) : SHOAL_ENOMEM;

    for (size_t i = 0; st == SHOAL_OK && i < e.start[e.n]; i++)
        walk.heaviest = e.weight[i] > walk.heaviest ? e.weight[i] : walk.heaviest;
    walk.curve = umap_curve_fit(how->min_distance);
    begin_at(places, g->n, how->seed);
    for (; walk.round < walk.rounds && st == SHOAL_OK; walk.round++) {
        walk.from = from;
        walk.to = from == places ? other : places;
        workers_do(w, (g->n + POINTS - 1) / POINTS, walk_points, &walk);
        from = walk.to;
        st = pulse_at(pulse, walk.round);
    }
    if (st == SHOAL_OK && from != places)
        memcpy(places, from, 2 * g->n * sizeof *places);
    free(other);
    edges_fini(&e);
    return st;
}
