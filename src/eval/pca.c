/* Principal components of n rows X [n][dim] about their mean: the directions of the largest
 * eigenvalues of the covariance X'X [dim][dim]. Where there are fewer rows than dimensions, the
 * Gram matrix XX' [n][n] is taken instead, which has the same eigenvalues: the coordinate of row i
 * along an axis is then sqrt(eigenvalue) * the i-th entry of the eigenvector.
 *
 * The eigenvectors are found by orthogonal iteration from a fixed start: a block of a few more
 * vectors than are wanted is multiplied and made orthonormal again, and within the space of the
 * block they are exact (Rayleigh-Ritz). */
#include "eval/eval.h"

#include <math.h>
#include <stdlib.h>

enum {
    ROUNDS = 500,  /* of the iteration, at most */
    SPARE = 6,     /* vectors beyond those that are wanted: so it goes faster */
    SWEEPS = 30,   /* of Jacobi's method, at most */
    BLOCK = 256,   /* rows whose products are added as floats */
    FEW_ROUNDS = 8 /* when the space matters and not its axes */
};

#define ENOUGH 1e-13 /* change of the eigenvalues' sum, against it */

static void units_about_mean(float *rows, size_t n, size_t dim)
{
    for (size_t i = 0; i < n; i++) {
        float *row = rows + i * dim;
        double length = 0;

        for (size_t j = 0; j < dim; j++)
            length += (double)row[j] * row[j];
        for (size_t j = 0; j < dim && length > 0; j++)
            row[j] = (float)(row[j] / sqrt(length));
    }
    for (size_t j = 0; j < dim; j++) {
        double mean = 0;

        for (size_t i = 0; i < n; i++)
            mean += rows[i * dim + j];
        for (size_t i = 0; i < n; i++)
            rows[i * dim + j] -= (float)(mean / (double)n);
    }
}

/* ---- eigenvectors ---- */

static double dot(const double *x, const double *y, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* A block of b vectors of n numbers, and what one round needs. */
struct subspace {
    size_t n, b;
    double *q, *y;  /* [b][n] */
    double *small;  /* [b][b] q' a q */
    double *turned; /* [b][b] its eigenvectors, as columns */
};

static shoal_status subspace_init(struct subspace *k, size_t n, size_t b)
{
    *k = (struct subspace){.n = n, .b = b};
    k->q = mem_array(n * b, sizeof *k->q);
    k->y = mem_array(n * b, sizeof *k->y);
    k->small = mem_array(b * b, sizeof *k->small);
    k->turned = mem_array(b * b, sizeof *k->turned);
    return k->q && k->y && k->small && k->turned ? SHOAL_OK : SHOAL_ENOMEM;
}

static void subspace_fini(struct subspace *k)
{
    free(k->q);
    free(k->y);
    free(k->small);
    free(k->turned);
}

/* Gram and Schmidt, twice, for once leaves rounding. What has no direction of its own is 0. */
static void orthonormalize(double *q, size_t b, size_t n)
{
    for (size_t i = 0; i < b; i++) {
        double *x = q + i * n, before = dot(x, x, n), length;

        for (int twice = 0; twice < 2; twice++)
            for (size_t k = 0; k < i; k++) {
                double along = dot(x, q + k * n, n);

                for (size_t j = 0; j < n; j++)
                    x[j] -= along * q[k * n + j];
            }
        length = sqrt(dot(x, x, n));
        for (size_t j = 0; j < n; j++)
            x[j] = length > 1e-14 * sqrt(before) ? x[j] / length : 0;
    }
}

/* One rotation that makes a[p][q] 0, and the same of the vectors. */
static void rotate(double *a, double *v, size_t n, size_t p, size_t q)
{
    double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
    double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;

    for (size_t k = 0; k < n; k++) {
        double kp = a[k * n + p], kq = a[k * n + q];

        a[k * n + p] = c * kp - s * kq;
        a[k * n + q] = s * kp + c * kq;
    }
    for (size_t k = 0; k < n; k++) {
        double pk = a[p * n + k], qk = a[q * n + k];

        a[p * n + k] = c * pk - s * qk;
        a[q * n + k] = s * pk + c * qk;
    }
    for (size_t k = 0; k < n; k++) {
        double kp = v[k * n + p], kq = v[k * n + q];

        v[k * n + p] = c * kp - s * kq;
        v[k * n + q] = s * kp + c * kq;
    }
}

/* Jacobi's method: a [n][n] becomes diagonal, v its eigenvectors, as columns. */
static void diagonalize(double *a, double *v, size_t n)
{
    for (size_t i = 0; i < n * n; i++)
        v[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double off = 0, all = 0;

        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < n; k++) {
                all += a[i * n + k] * a[i * n + k];
                off += i != k ? a[i * n + k] * a[i * n + k] : 0;
            }
        if (off <= 1e-28 * all)
            return;
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++)
                if (fabs(a[p * n + q]) > 1e-300)
                    rotate(a, v, n, p, q);
    }
}

struct product {
    const double *a; /* [n][n] */
    struct subspace *block;
};

static void multiply_row(void *ctx, size_t i, unsigned thread)
{
    const struct product *p = ctx;
    struct subspace *k = p->block;

    (void)thread;
    for (size_t v = 0; v < k->b; v++)
        k->y[v * k->n + i] = dot(p->a + i * k->n, k->q + v * k->n, k->n);
}

/* y = a q; the eigenvalues within the space of q, and q = y along its eigenvectors. */
static double turn(const double *a, struct subspace *k, struct workers *w, double *values)
{
    size_t b = k->b, n = k->n;
    double sum = 0;

    workers_do(w, n, multiply_row, &(struct product){a, k});
    for (size_t i = 0; i < b; i++)
        for (size_t j = 0; j < b; j++)
            k->small[i * b + j] = dot(k->q + i * n, k->y + j * n, n);
    for (size_t i = 0; i < b; i++)
        for (size_t j = 0; j < i; j++)
            k->small[i * b + j] = k->small[j * b + i];
    diagonalize(k->small, k->turned, b);
    for (size_t i = 0; i < b; i++)
        values[i] = k->small[i * (b + 1)];
    for (size_t i = 0; i < b; i++)
        sum += values[i];
    return sum;
}

/* q = from turned by the eigenvectors, the largest eigenvalue first. */
static void reorder(struct subspace *k, const double *from, double *to, double *values)
{
    size_t b = k->b, n = k->n;

    for (size_t i = 0; i < b; i++) {
        size_t best = i;
        double value;

        for (size_t j = i + 1; j < b; j++)
            if (values[j] > values[best])
                best = j;
        value = values[i], values[i] = values[best], values[best] = value;
        for (size_t j = 0; j < b; j++) {
            value = k->turned[j * b + i];
            k->turned[j * b + i] = k->turned[j * b + best];
            k->turned[j * b + best] = value;
        }
    }
    for (size_t i = 0; i < b; i++)
        for (size_t r = 0; r < n; r++)
            to[i * n + r] = 0;
    for (size_t i = 0; i < b; i++)
        for (size_t j = 0; j < b; j++)
            for (size_t r = 0; r < n; r++)
                to[i * n + r] += k->turned[j * b + i] * from[j * n + r];
}

/* The b = block->b largest eigenvalues and, in block->y, their vectors. */
static void iterate(const double *a, struct subspace *k, struct workers *w, unsigned rounds,
                    double *values)
{
    struct rng r = {.seed = 1, .stream = 0x706361};
    double before = 0, *swap;

    for (size_t i = 0; i < k->b * k->n; i++)
        k->q[i] = rng_unit(&r) - 0.5;
    orthonormalize(k->q, k->b, k->n);
    for (unsigned i = 0; i < rounds; i++) {
        double sum = turn(a, k, w, values);

        if (i + 1 == rounds || fabs(sum - before) <= ENOUGH * fabs(sum))
            break;
        before = sum;
        swap = k->q, k->q = k->y, k->y = swap;
        orthonormalize(k->q, k->b, k->n);
    }
    reorder(k, k->q, k->y, values);
}

/* The largest part of an axis is positive. */
static void choose_sign(double *x, size_t n)
{
    size_t most = 0;
    double sign;

    for (size_t i = 1; i < n; i++)
        if (fabs(x[i]) > fabs(x[most]))
            most = i;
    sign = x[most] < 0 ? -1 : 1;
    for (size_t i = 0; i < n; i++)
        x[i] *= sign;
}

/* values [k], vectors [k][n] of a symmetric a [n][n]; k <= n. */
static shoal_status eigenvectors(const double *a, size_t n, size_t k, unsigned rounds,
                                 struct workers *w, double *values, double *vectors)
{
    struct subspace block;
    size_t b = k + SPARE < n ? k + SPARE : n;
    double *all = mem_array(b, sizeof *all);
    shoal_status st = subspace_init(&block, n, b);

    if (st == SHOAL_OK && !all)
        st = SHOAL_ENOMEM;
    if (st == SHOAL_OK) {
        iterate(a, &block, w, rounds, all);
        for (size_t i = 0; i < k; i++) {
            choose_sign(block.y + i * n, n);
            values[i] = all[i] > 0 ? all[i] : 0;
        }
        memcpy(vectors, block.y, k * n * sizeof *vectors);
    }
    subspace_fini(&block);
    free(all);
    return st;
}

/* ---- few rows ---- */

static void products(const float *rows, size_t n, size_t dim, double *gram)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= i; k++) {
            double sum = 0;

            for (size_t j = 0; j < dim; j++)
                sum += (double)rows[i * dim + j] * rows[k * dim + j];
            gram[i * n + k] = gram[k * n + i] = sum;
        }
}

static void put_axis(const double *vector, double value, size_t n, size_t axis, float *places)
{
    double most = 0, least = 0, sign;

    for (size_t i = 0; i < n; i++) {
        most = vector[i] > most ? vector[i] : most;
        least = vector[i] < least ? vector[i] : least;
    }
    sign = -least > most ? -1 : 1;
    for (size_t i = 0; i < n; i++)
        places[2 * i + axis] = (float)(sign * sqrt(value) * vector[i]);
}

shoal_status pca_places(float *rows, size_t n, size_t dim, float *places)
{
    size_t k = n < 2 ? n : 2;
    double *gram = mem_array(n * n, sizeof *gram), *vectors = mem_array(2 * n, sizeof *vectors);
    double values[2] = {0};
    struct workers *w = NULL;
    shoal_status st = gram && vectors ? workers_new(&w, 1) : SHOAL_ENOMEM;

    if (st == SHOAL_OK) {
        units_about_mean(rows, n, dim);
        products(rows, n, dim, gram);
        st = eigenvectors(gram, n, k, ROUNDS, w, values, vectors);
    }
    for (size_t axis = 0; axis < 2 && st == SHOAL_OK; axis++)
        put_axis(vectors + (axis < k ? axis * n : 0), values[axis], n, axis, places);
    workers_free(w);
    free(gram);
    free(vectors);
    return st;
}

/* ---- many rows ---- */

/* x' x of a table's rows less `mean`, row i of it by one worker: floats within a block of rows,
 * whose sums are added as doubles. */
struct moments {
    const struct table *t;
    const double *mean;
    float *block; /* [blocks][dim][BLOCK] across */
    double *out;  /* [dim][dim] */
    const struct kernel *kernel;
};

static void moment_row(void *ctx, size_t i, unsigned thread)
{
    const struct moments *m = ctx;
    size_t dim = m->t->width, blocks = (m->t->rows + BLOCK - 1) / BLOCK;

    (void)thread;
    for (size_t k = 0; k <= i; k++) {
        double sum = 0;

        for (size_t b = 0; b < blocks; b++) {
            const float *at = m->block + b * dim * BLOCK;

            sum += (double)m->kernel->dot(at + i * BLOCK, at + k * BLOCK, BLOCK);
        }
        m->out[i * dim + k] = sum;
    }
}

static void means(const struct table *t, double *mean)
{
    for (size_t i = 0; i < t->rows; i++)
        for (size_t j = 0; j < t->width; j++)
            mean[j] += (double)t->at[i * t->stride + j] / (double)t->rows;
}

/* mean [dim] is taken off: zeros take nothing off. */
static shoal_status covariance(const struct table *t, const double *mean, struct workers *w,
                               double *out)
{
    size_t dim = t->width, blocks = (t->rows + BLOCK - 1) / BLOCK;
    struct moments m = {.t = t, .mean = mean, .out = out};
    shoal_status st = kernel_choose(&m.kernel);

    if (st == SHOAL_OK && !(m.block = mem_array(blocks * dim * BLOCK, sizeof *m.block)))
        st = SHOAL_ENOMEM;
    if (st != SHOAL_OK)
        return st;
    for (size_t i = 0; i < t->rows; i++)
        for (size_t j = 0; j < dim; j++)
            m.block[(i / BLOCK * dim + j) * BLOCK + i % BLOCK] =
                (float)((double)t->at[i * t->stride + j] - mean[j]);
    workers_do(w, dim, moment_row, &m);
    for (size_t i = 0; i < dim; i++)
        for (size_t k = 0; k < i; k++)
            out[k * dim + i] = out[i * dim + k];
    free(m.block);
    return SHOAL_OK;
}

/* out [rows][k]: the rows less `mean` along k axes [k][dim]. */
static void project(const struct table *t, const double *mean, const double *axes, size_t k,
                    float *out)
{
    for (size_t i = 0; i < t->rows; i++)
        for (size_t a = 0; a < k; a++) {
            double sum = 0;

            for (size_t j = 0; j < t->width; j++)
                sum += ((double)t->at[i * t->stride + j] - mean[j]) * axes[a * t->width + j];
            out[i * k + a] = (float)sum;
        }
}

/* Along the k first axes; *share [k], unless NULL, of what there is along all. */
static shoal_status along_axes(const struct table *t, size_t k, bool centred, unsigned rounds,
                               struct workers *w, float *out, double *share)
{
    size_t dim = t->width;
    double *a = mem_array(dim * dim, sizeof *a), *mean = mem_array(dim, sizeof *mean);
    double *axes = mem_array(k * dim, sizeof *axes), *values = mem_array(k, sizeof *values);
    double trace = 0;
    shoal_status st = a && mean && axes && values ? SHOAL_OK : SHOAL_ENOMEM;

    if (st == SHOAL_OK && centred)
        means(t, mean);
    if (st == SHOAL_OK)
        st = covariance(t, mean, w, a);
    if (st == SHOAL_OK)
        st = eigenvectors(a, dim, k, rounds, w, values, axes);
    if (st == SHOAL_OK)
        project(t, mean, axes, k, out);
    for (size_t j = 0; j < dim && st == SHOAL_OK; j++)
        trace += a[j * (dim + 1)];
    for (size_t i = 0; i < k && share && st == SHOAL_OK; i++)
        share[i] = trace > 0 ? values[i] / trace : 0;
    free(a);
    free(mean);
    free(axes);
    free(values);
    return st;
}

shoal_status pca_table(const struct table *t, struct workers *w, float *places, double shares[2])
{
    shares[0] = shares[1] = 0;
    if (t->width >= 2)
        return along_axes(t, 2, true, ROUNDS, w, places, shares);
    for (size_t i = 0; i < t->rows; i++) {
        places[2 * i] = t->at[i * t->stride];
        places[2 * i + 1] = 0;
    }
    shares[0] = 1;
    return SHOAL_OK;
}

shoal_status pca_shorten(const struct table *t, size_t k, struct workers *w, float *out)
{
    return along_axes(t, k, false, FEW_ROUNDS, w, out, NULL);
}
