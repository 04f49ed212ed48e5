/* Principal components of a few rows: the n x n matrix of their products has the
 * same eigenvalues as the covariance and n is small, so two vectors are found by
 * repeated multiplication, each from a fixed start and kept apart from the one
 * before. A place is then sqrt(eigenvalue) * its entry. */
#include "serve/map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 200 };

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

/* x of length 1 at right angles to `before`; its old length. */
static double straighten(double *x, const double *before, size_t n)
{
    double along = before ? dot(x, before, n) : 0, length;

    for (size_t i = 0; before && i < n; i++)
        x[i] -= along * before[i];
    length = sqrt(dot(x, x, n));
    for (size_t i = 0; i < n && length > 0; i++)
        x[i] /= length;
    return length;
}

/* The eigenvector of the largest eigenvalue, but for `before`; next is room. */
static double direction(const double *gram, size_t n, const double *before, double *x, double *next)
{
    double value = 0;

    for (size_t i = 0; i < n; i++)
        x[i] = 1 + 0.1 * (double)(i * 7 % 13) - 0.3 * (double)(i % 3);
    straighten(x, before, n);
    for (int turn = 0; turn < TURNS; turn++) {
        for (size_t i = 0; i < n; i++)
            next[i] = dot(gram + i * n, x, n);
        value = straighten(next, before, n);
        memcpy(x, next, n * sizeof *x);
    }
    return value;
}

static void turn_up(double *x, size_t n)
{
    size_t most = 0;

    for (size_t i = 1; i < n; i++)
        if (fabs(x[i]) > fabs(x[most]))
            most = i;
    for (size_t i = 0, down = x[most] < 0; down && i < n; i++)
        x[i] = -x[i];
}

shoal_status map_places(float *rows, size_t n, size_t dim, float *places)
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

        turn_up(axis[a], n);
        for (size_t i = 0; i < n; i++)
            places[2 * i + (size_t)a] = (float)(sqrt(value > 0 ? value : 0) * axis[a][i]);
    }
    free(gram);
    return SHOAL_OK;
}
