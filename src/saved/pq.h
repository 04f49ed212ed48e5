/* pq: a matrix whose rows are product-quantised (Jégou et al. 2011, as fastText does it); not a
 * door.
 *
 * What this is: a row of `cols` numbers is cut into parts of `dsub` (the last may be shorter), and
 * each part is one of 256 centroids of its place, known by a byte. With norms the parts are those
 * of the row at length 1, and its length is one of 256 too.
 *
 *     row         x0 x1 | x2 x3 | x4        cols 5, dsub 2, parts 3
 *     codes [i]     17      203     4
 *     centroids   [256][2] [256][2] [256][1]
 *
 * Who owns what: pq_fini ends what is `own`; all else is borrowed.
 * Threads: immutable once made; pq_make starts its own. */
#ifndef SHOAL_SAVED_PQ_H
#define SHOAL_SAVED_PQ_H

#include "base/base.h"

enum { PQ_CENTROIDS = 256 };

struct pq {
    size_t rows, cols, dsub, parts;
    const uint8_t *codes;      /* [rows][parts] */
    const float *centroids;    /* [cols * 256]: of each part [256][its width] */
    const uint8_t *norm_codes; /* [rows], or NULL: the rows have their own lengths */
    const float *norms;        /* [256], or NULL */
    uint8_t *own_codes;        /* what of these is ours to free, or NULL: */
    float *own_centroids;      /* the norms lie behind their like */
};

/* Parts of a row. */
static inline size_t pq_parts(size_t cols, size_t dsub)
{
    return (cols + dsub - 1) / dsub;
}

/* out [cols] += by * row. */
void pq_add(const struct pq *p, size_t row, float by, float *out);
/* The row times x [cols]. */
float pq_dot(const struct pq *p, size_t row, const float *x);
void pq_fini(struct pq *p);

/* ---- making one ---- */

/* Writes row `row`, finite numbers, to out [cols]; called by any thread. */
typedef shoal_status (*pq_row_fn)(const void *from, size_t row, float *out);

/* fastText's rule of which rows are kept: `most` of them, the longest, and row `always` whatever
 * its length (SIZE_MAX: none). chosen [rows] gets their numbers in order, *n of them; all, when
 * most is 0 or there are no more. */
shoal_status pq_choose(uint32_t *chosen, size_t *n, size_t rows, size_t cols, pq_row_fn row,
                       const void *from, size_t most, size_t always, unsigned threads);

struct pq_opts {
    unsigned dsub; /* numbers a part, 1 or more */
    bool norms;    /* lengths apart */
    uint64_t seed;
    unsigned threads; /* 0: one for each core; the result is the same for any number */
};

/* k-means of each part over 65,536 rows at most, 25 rounds; then the nearest centroid of each part
 * of each row. Fails with fewer than 256 rows: they would not become smaller. */
shoal_status pq_make(struct pq *out, size_t rows, size_t cols, pq_row_fn row, const void *from,
                     const struct pq_opts *opts);

#endif
