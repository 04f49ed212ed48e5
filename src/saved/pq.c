#include "saved/pq.h"

#include <stdlib.h>

static size_t width_of(const struct pq *p, size_t part)
{
    return part + 1 < p->parts ? p->dsub : p->cols - part * p->dsub;
}

/* Its first centroid. */
static const float *centroids_of(const struct pq *p, size_t part)
{
    return p->centroids + part * PQ_CENTROIDS * p->dsub;
}

static float length_of(const struct pq *p, size_t row)
{
    return p->norm_codes ? p->norms[p->norm_codes[row]] : 1;
}

void pq_add(const struct pq *p, size_t row, float by, float *out)
{
    const uint8_t *code = p->codes + row * p->parts;

    by *= length_of(p, row);
    for (size_t m = 0; m < p->parts; m++) {
        size_t width = width_of(p, m);
        const float *c = centroids_of(p, m) + code[m] * width;

        for (size_t k = 0; k < width; k++)
            out[m * p->dsub + k] += by * c[k];
    }
}

float pq_dot(const struct pq *p, size_t row, const float *x)
{
    const uint8_t *code = p->codes + row * p->parts;
    float sum = 0;

    for (size_t m = 0; m < p->parts; m++) {
        size_t width = width_of(p, m);
        const float *c = centroids_of(p, m) + code[m] * width;

        for (size_t k = 0; k < width; k++)
            sum += x[m * p->dsub + k] * c[k];
    }
    return sum * length_of(p, row);
}

void pq_fini(struct pq *p)
{
    free(p->own_codes);
    free(p->own_centroids);
    *p = (struct pq){0};
}
