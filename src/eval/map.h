/* map: many dimensions on a sheet of paper; a part of the door eval.h.
 *
 * What this is: rows as points of a plane, so that rows that are near to each other are near there
 * too: principal components, t-SNE and UMAP, with how much of the neighbourhood they keep; and the
 * clusters of rows. Everything is a function of the rows and the seed: threads change no bit.
 * Who owns what: rows are borrowed, what is made is the caller's.
 * Threads: a call brings its own workers; calls share nothing. */
#ifndef SHOAL_EVAL_MAP_H
#define SHOAL_EVAL_MAP_H

#include "base/base.h"

/* ---- pca.c ----------------------------------------------------------------------------- */

/* The places [n][2] of rows [n][dim], made of length 1, along the two directions
 * in which they differ most (principal components); the larger half of each axis
 * is positive, so that equal rows give equal maps. The rows are changed. */
shoal_status pca_places(float *rows, size_t n, size_t dim, float *places);
/* The same of a table's rows as they are, by `workers`: *shares [2] of their variance is along each
 * axis. */
shoal_status pca_table(const struct table *t, struct workers *w, float *places, double shares[2]);
/* Rows with k of their dim numbers, turned so that as much of their length as can be is kept:
 * out [rows][k]; k <= dim. */
shoal_status pca_shorten(const struct table *t, size_t k, struct workers *w, float *out);

/* ---- neighbours.c --------------------------------------------------------------------------- */

/* The k nearest of each row, by cosine, best first. */
struct neighbours {
    size_t n, k;
    uint32_t *ids;  /* [n][k] */
    float *cosines; /* [n][k] */
};

/* Rows of length 1; k < rows. `pulse` is told how many rows are done. */
shoal_status neighbours_make(struct neighbours *out, const struct table *units, size_t k,
                             unsigned threads, struct pulse *pulse);
void neighbours_fini(struct neighbours *g);

/* A symmetric matrix of few entries: those of row i stand from start[i] to start[i + 1]. */
struct edges {
    size_t n;
    size_t *start; /* [n + 1] */
    uint32_t *to;
    float *weight;
};

/* Of weights [n][k] along a graph, w in one direction and v in the other, 0 where there is none. */
enum edges_join {
    EDGES_MEAN,   /* (w + v) / 2 */
    EDGES_EITHER, /* w + v - w v: that one of two holds */
};
shoal_status edges_make(struct edges *out, const struct neighbours *g, const float *weights,
                        enum edges_join how);
void edges_fini(struct edges *e);

/* ---- tsne.c, umap.c -------------------------------------------------------------------- */

struct layout_how {
    double perplexity;   /* t-SNE: neighbours that a point feels; 1 to g->k */
    double min_distance; /* UMAP: of points that belong together */
    unsigned rounds;     /* 0: as many as are good */
    uint64_t seed;
};

unsigned tsne_rounds(const struct layout_how *how); /* that pulse is told of */
unsigned umap_rounds(const struct layout_how *how);

/* places [n][2]: first where points begin, at last where they are. *loss: see tsne_gradient. */
shoal_status tsne_layout(const struct neighbours *g, const struct layout_how *how,
                         struct workers *w, struct pulse *pulse, float *places, double *loss);
shoal_status umap_layout(const struct neighbours *g, const struct layout_how *how,
                         struct workers *w, struct pulse *pulse, float *places);

/* The Kullback-Leibler divergence of the places, and its gradient [n][2] where `exaggeration`
 * is 1: what tsne_layout goes along. More of it and points attract each other so many times more.
 */
shoal_status tsne_edges(struct edges *out, const struct neighbours *g, double perplexity);
shoal_status tsne_gradient(const struct edges *p, double exaggeration, struct workers *w,
                           const float *places, float *gradient, double *loss);

/* UMAP's curve 1 / (1 + a d^(2b)), and the gradient by (dx, dy) of -log of it, or of -log(1 - it):
 * what one pair of points does to each other. */
struct umap_curve {
    double a, b;
};

struct umap_curve umap_curve_fit(double min_distance);
double umap_pair(struct umap_curve c, bool together, double dx, double dy, double gradient[2]);

/* ---- trust.c --------------------------------------------------------------------------- */

struct layout_score {
    /* Venna and Kaski 2001: 1 when the k nearest in the plane are among the k nearest; a half by
     * chance. */
    double trust;
    double kept; /* share of the k nearest that are among the k nearest in the plane */
};

/* Of up to `most` points that are spread over all; k <= g->k. */
shoal_status layout_judge(const struct table *units, const struct neighbours *g,
                          const float *places, size_t k, size_t most, struct workers *w,
                          struct layout_score *out);

/* ---- kmeans.c -------------------------------------------------------------------------- */

/* k clusters of the rows: of [n] is each row's, centres [k][table_stride(dim)]. Clusters are
 * numbered by their size, the largest first; k <= n and k <= 256. */
shoal_status kmeans(const struct table *t, size_t k, uint64_t seed, struct workers *w, uint8_t *of,
                    float *centres);

#endif
