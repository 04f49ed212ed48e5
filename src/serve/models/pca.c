/* Principal components of n rows X [n][dim] about their mean. There are fewer rows than
 * dimensions, so instead of the covariance X'X [dim][dim] the Gram matrix XX' [n][n] is taken,
 * which has the same eigenvalues. Its two largest eigenvectors are found by power iteration
 * from a fixed start, the second kept orthogonal to the first. The coordinate of row i along
 * an axis is sqrt(eigenvalue) * the i-th entry of the eigenvector. */
#include "serve/models/pca.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 200 };

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

static double dot(const double *x, const double *y, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Makes x orthogonal to `before` and of length 1; gives the length it had. */
static double orthonormalize(double *x, const double *before, size_t n)
{
    double along = before ? dot(x, before, n) : 0, length;

    for (size_t i = 0; before && i < n; i++)
        x[i] -= along * before[i];
    length = sqrt(dot(x, x, n));
    for (size_t i = 0; i < n && length > 0; i++)
        x[i] /= length;
    return length;
}

/* The eigenvector of the largest eigenvalue, `before` excepted, and that; next is scratch. */
static double direction(const double *gram, size_t n, const double *before, double *x, double *next)
{
    double value = 0;

    for (size_t i = 0; i < n; i++)
        x[i] = 1 + 0.1 * (double)(i * 7 % 13) - 0.3 * (double)(i % 3);
    orthonormalize(x, before, n);
    for (int k = 0; k < ITERATIONS; k++) {
        for (size_t i = 0; i < n; i++)
            next[i] = dot(gram + i * n, x, n);
        value = orthonormalize(next, before, n);
        memcpy(x, next, n * sizeof *x);
    }
    return value;
}

static void make_largest_positive(double *x, size_t n)
{
    size_t most = 0;

    for (size_t i = 1; i < n; i++)
        if (fabs(x[i]) > fabs(x[most]))
            most = i;
    for (size_t i = 0, down = x[most] < 0; down && i < n; i++)
        x[i] = -x[i];
}

shoal_status pca_places(float *rows, size_t n, size_t dim, float *places)
{
    double *gram = mem_array(n * (n + 3), sizeof *gram);
    double *axis[2], *room;

    if (!gram)
        return SHOAL_ENOMEM;
    axis[0] = gram + n * n;
    axis[1] = axis[0] + n;
    room = axis[1] + n;
    units_about_mean(rows, n, dim);
    products(rows, n, dim, gram);
    for (int a = 0; a < 2; a++) {
        double value = direction(gram, n, a ? axis[0] : NULL, axis[a], room);

        make_largest_positive(axis[a], n);
        for (size_t i = 0; i < n; i++)
            places[2 * i + (size_t)a] = (float)(sqrt(value > 0 ? value : 0) * axis[a][i]);
    }
    free(gram);
    return SHOAL_OK;
}
