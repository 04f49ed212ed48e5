/* t-SNE (van der Maaten and Hinton 2008): places whose neighbourhoods are those of the rows.
 *
 *     p(j|i) ~ e^(-beta_i d(i,j)^2), beta_i so that 2^entropy is the perplexity; P = (p + p') / 2n
 *     q(i,j) ~ 1 / (1 + |y_i - y_j|^2)
 *     loss = sum of P log(P / Q);  gradient_i = 4 sum over j of (P - Q) q~ (y_i - y_j)
 *
 * P has entries for the nearest alone, so the first half of the gradient is a walk over edges. The
 * second is over all pairs and exact: a kernel does sixteen at once, which takes a few seconds for
 * ten thousand points and needs no tree (Barnes-Hut). Each point's sums are one worker's; sums over
 * points are added in their order: threads change no bit.
 *
 * Rates, gains and exaggeration are those of Belkina et al. (2019) and Kobak and Berens (2019). */
#include "eval/eval.h"

#include <math.h>
#include <stdlib.h>

enum {
    EARLY = 250,  /* rounds in which clusters find each other */
    ROUNDS = 750, /* all of them */
    POINTS = 48,  /* of a worker at a time */
    SEARCH = 64,  /* steps to a beta */
};

#define EXAGGERATION 12
#define BEGIN_SPREAD 1e-4 /* standard deviation of the first places */

/* ---- who is whose neighbour ---- */

/* p [k] of squared distances d [k]; gives the entropy. */
static double neighbour_shares(const float *d, size_t k, double beta, float *p)
{
    double sum = 0, along = 0;

    for (size_t j = 0; j < k; j++) {
        double e = exp(-beta * (double)(d[j] - d[0]));

        p[j] = (float)e;
        sum += e;
        along += e * beta * (double)(d[j] - d[0]);
    }
    for (size_t j = 0; j < k; j++)
        p[j] = (float)(p[j] / sum);
    return log(sum) + along / sum;
}

/* By halving: more beta, less entropy. */
static void choose_beta(const float *d, size_t k, double perplexity, float *p)
{
    double low = 0, high = INFINITY, beta = 1, want = log(perplexity);

    for (int i = 0; i < SEARCH; i++) {
        double off = neighbour_shares(d, k, beta, p) - want;

        if (fabs(off) < 1e-6)
            break;
        if (off > 0)
            low = beta;
        else
            high = beta;
        beta = isinf(high) ? 2 * beta : (low + high) / 2;
    }
}

shoal_status tsne_edges(struct edges *out, const struct neighbours *g, double perplexity)
{
    float *p = mem_array(g->n * g->k, sizeof *p), *d = mem_array(g->k, sizeof *d);
    double all = 0;
    shoal_status st = p && d ? SHOAL_OK : SHOAL_ENOMEM;

    *out = (struct edges){0};
    for (size_t i = 0; i < g->n && st == SHOAL_OK; i++) {
        for (size_t j = 0; j < g->k; j++)
            d[j] = 2 - 2 * g->cosines[i * g->k + j];
        choose_beta(d, g->k, perplexity, p + i * g->k);
    }
    if (st == SHOAL_OK)
        st = edges_make(out, g, p, EDGES_MEAN);
    for (size_t e = 0; st == SHOAL_OK && e < out->start[g->n]; e++)
        all += out->weight[e];
    for (size_t e = 0; st == SHOAL_OK && e < out->start[g->n]; e++)
        out->weight[e] = (float)(out->weight[e] / all);
    free(p);
    free(d);
    return st;
}

/* ---- the gradient ---- */

struct field {
    const struct edges *p;
    size_t n, padded;
    const struct kernel *kernel;
    float *x, *y; /* [padded] behind n: KERNEL_FAR */
    float *push;  /* [n][3] sums of kernel->repel */
    float *pull;  /* [n][2] sum of P q~ (y_i - y_j) */
    double *told; /* [n] sum of P log(P / q~), when `loss` */
    bool loss;
};

static shoal_status field_init(struct field *f, const struct edges *p)
{
    size_t n = p->n, padded = table_stride(n);

    *f = (struct field){.p = p, .n = n, .padded = padded};
    f->x = mem_array(padded, sizeof *f->x);
    f->y = mem_array(padded, sizeof *f->y);
    f->push = mem_array(3 * n, sizeof *f->push);
    f->pull = mem_array(2 * n, sizeof *f->pull);
    f->told = mem_array(n, sizeof *f->told);
    if (!f->x || !f->y || !f->push || !f->pull || !f->told)
        return SHOAL_ENOMEM;
    for (size_t i = n; i < padded; i++)
        f->x[i] = f->y[i] = KERNEL_FAR;
    return kernel_choose(&f->kernel);
}

static void field_fini(struct field *f)
{
    free(f->x);
    free(f->y);
    free(f->push);
    free(f->pull);
    free(f->told);
}

static void pull_point(struct field *f, size_t i)
{
    const struct edges *p = f->p;
    float fx = 0, fy = 0;
    double told = 0;

    for (size_t e = p->start[i]; e < p->start[i + 1]; e++) {
        float dx = f->x[i] - f->x[p->to[e]], dy = f->y[i] - f->y[p->to[e]];
        float d = 1 + dx * dx + dy * dy, q = p->weight[e] / d;

        fx += q * dx;
        fy += q * dy;
        if (f->loss && p->weight[e] > 0)
            told += (double)p->weight[e] * log((double)p->weight[e] * (double)d);
    }
    f->pull[2 * i] = fx;
    f->pull[2 * i + 1] = fy;
    f->told[i] = told;
}

static void field_points(void *ctx, size_t item, unsigned thread)
{
    struct field *f = ctx;
    size_t first = item * POINTS, n = f->n - first < POINTS ? f->n - first : POINTS;

    (void)thread;
    f->kernel->repel(f->push + 3 * first, f->x + first, f->y + first, n, f->x, f->y, f->padded);
    for (size_t i = first; i < first + n; i++)
        pull_point(f, i);
}

/* Gives sum of q~ over all pairs. A point's own q~ is 1, and does not count. */
static double field_compute(struct field *f, struct workers *w)
{
    double z = 0;

    workers_do(w, (f->n + POINTS - 1) / POINTS, field_points, f);
    for (size_t i = 0; i < f->n; i++)
        z += (double)f->push[3 * i] - 1;
    return z > 1e-30 ? z : 1e-30;
}

static double field_loss(const struct field *f, double z)
{
    double sum = 0;

    for (size_t i = 0; i < f->n; i++)
        sum += f->told[i];
    return sum + log(z);
}

static float slope(const struct field *f, size_t i, size_t axis, double exaggeration, double z)
{
    return (float)(4 * (exaggeration * (double)f->pull[2 * i + axis] -
                        (double)f->push[3 * i + 1 + axis] / z));
}

shoal_status tsne_gradient(const struct edges *p, double exaggeration, struct workers *w,
                           const float *places, float *gradient, double *loss)
{
    struct field f;
    shoal_status st = field_init(&f, p);

    if (st == SHOAL_OK) {
        double z;

        for (size_t i = 0; i < p->n; i++) {
            f.x[i] = places[2 * i];
            f.y[i] = places[2 * i + 1];
        }
        f.loss = true;
        z = field_compute(&f, w);
        for (size_t i = 0; i < 2 * p->n; i++)
            gradient[i] = slope(&f, i / 2, i % 2, exaggeration, z);
        *loss = field_loss(&f, z);
    }
    field_fini(&f);
    return st;
}

/* ---- the way there ---- */

struct descent {
    float *speed, *gain; /* [n][2] */
    double rate;
};

/* One axis: momentum, and a gain that grows while the direction stays (Jacobs 1988). */
static void descend(struct descent *d, struct field *f, float *at, size_t axis, double exaggeration,
                    double z)
{
    float momentum = exaggeration > 1 ? 0.5f : 0.8f;
    double mean = 0;

    for (size_t i = 0; i < f->n; i++) {
        float g = slope(f, i, axis, exaggeration, z);
        float *speed = &d->speed[2 * i + axis], *gain = &d->gain[2 * i + axis];

        *gain = (g > 0) != (*speed > 0) ? *gain + 0.2f : *gain * 0.8f;
        *gain = *gain < 0.01f ? 0.01f : *gain;
        *speed = momentum * *speed - (float)d->rate * *gain * g;
        at[i] += *speed;
        mean += at[i];
    }
    for (size_t i = 0; i < f->n; i++)
        at[i] -= (float)(mean / (double)f->n);
}

static void begin_at(struct field *f, const float *places)
{
    double sum = 0, squares = 0, mean, spread;

    for (size_t i = 0; i < f->n; i++) {
        sum += places[2 * i];
        squares += (double)places[2 * i] * places[2 * i];
    }
    mean = sum / (double)f->n;
    spread = sqrt(squares / (double)f->n - mean * mean);
    spread = spread > 0 ? BEGIN_SPREAD / spread : 1;
    for (size_t i = 0; i < f->n; i++) {
        f->x[i] = (float)(places[2 * i] * spread);
        f->y[i] = (float)(places[2 * i + 1] * spread);
    }
}

static shoal_status descend_all(struct field *f, const struct layout_how *how, struct workers *w,
                                struct pulse *pulse, double *loss)
{
    unsigned rounds = how->rounds > 0 ? how->rounds : ROUNDS;
    unsigned early = rounds > 3 * EARLY / 2 ? EARLY : rounds / 3;
    struct descent d = {.rate = (double)f->n / EXAGGERATION / 4};
    shoal_status st = SHOAL_OK;

    d.rate = d.rate > 50 ? d.rate : 50;
    d.speed = mem_array(2 * f->n, sizeof *d.speed);
    d.gain = mem_array(2 * f->n, sizeof *d.gain);
    if (!d.speed || !d.gain)
        st = SHOAL_ENOMEM;
    for (size_t i = 0; i < 2 * f->n && st == SHOAL_OK; i++)
        d.gain[i] = 1;
    for (unsigned r = 0; r < rounds && st == SHOAL_OK; r++) {
        double exaggeration = r < early ? EXAGGERATION : 1, z = field_compute(f, w);

        descend(&d, f, f->x, 0, exaggeration, z);
        descend(&d, f, f->y, 1, exaggeration, z);
        st = pulse_at(pulse, r);
    }
    if (st == SHOAL_OK) {
        f->loss = true;
        *loss = field_loss(f, field_compute(f, w));
    }
    free(d.speed);
    free(d.gain);
    return st;
}

shoal_status tsne_layout(const struct neighbours *g, const struct layout_how *how,
                         struct workers *w, struct pulse *pulse, float *places, double *loss)
{
    struct edges p = {0};
    struct field f = {0};
    shoal_status st = tsne_edges(&p, g, how->perplexity);

    if (st == SHOAL_OK)
        st = field_init(&f, &p);
    if (st == SHOAL_OK) {
        begin_at(&f, places);
        st = descend_all(&f, how, w, pulse, loss);
    }
    for (size_t i = 0; i < g->n && st == SHOAL_OK; i++) {
        places[2 * i] = f.x[i];
        places[2 * i + 1] = f.y[i];
    }
    field_fini(&f);
    edges_fini(&p);
    return st;
}

unsigned tsne_rounds(const struct layout_how *how)
{
    return how->rounds > 0 ? how->rounds : ROUNDS;
}
