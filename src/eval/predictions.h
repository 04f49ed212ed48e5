/* predictions: what a classifier said of some examples; a part of the door eval.h.
 *
 * What this is: up to so many answers, kept, and what can be read off them: who is taken for whom,
 * ROC and precision-recall curves, and whether probabilities mean what they say.
 * Who owns what: predictions own their numbers; a curve is its caller's, ended by curve_fini.
 * Threads: one at a time for each object. */
#ifndef SHOAL_EVAL_PREDICTIONS_H
#define SHOAL_EVAL_PREDICTIONS_H

#include "base/base.h"

struct classes;

enum {
    PREDICTIONS_CURVES = 1024, /* classes, up to which all probabilities are kept */
    RELIABILITY_BINS = 10,
};

struct predictions {
    unsigned classes;
    size_t n, most;
    uint32_t *label, *best; /* [most] the class; the likeliest, the first of equals */
    float *sure;            /* [most] the probability of the likeliest */
    float *p;               /* [most][classes]; NULL: beyond PREDICTIONS_CURVES */
    double loss;            /* sum of -log of the label's probability */
    struct classes *counts;
};

shoal_status predictions_new(struct predictions **out, unsigned classes, size_t most);
void predictions_free(struct predictions *s);
/* p [classes] from 0 to 1; s->n < s->most. */
shoal_status predictions_add(struct predictions *s, const float *p, uint32_t label);

/* ---- curves ---- */

struct rank_curve {
    size_t n;
    double *x, *y; /* [n] */
    double area;   /* NaN: there are not both, examples of the class and others */
};

/* True against false positive rate from (0, 0) to (1, 1); the area is by trapezoids: AUC. */
shoal_status curve_roc(struct rank_curve *out, const struct predictions *s, uint32_t class);
/* Precision against recall; the area is the average precision, sum (R[i] - R[i-1]) P[i]. */
shoal_status curve_pr(struct rank_curve *out, const struct predictions *s, uint32_t class);
/* Leaves out points that are less than `step` from the one before, but for the ends. */
void curve_thin(struct rank_curve *c, double step);
/* y where it first reaches x, between two points by a line. */
double curve_at(const struct rank_curve *c, double x);
void curve_fini(struct rank_curve *c);

/* ---- reliability (Guo et al. 2017) ---- */

struct reliability {
    struct {
        uint64_t n;
        double said, right; /* means: what was promised, and the share that came true */
    } bin[RELIABILITY_BINS];
    double error; /* expected calibration error: sum n / N |said - right| */
};

/* Of two classes of the second's probability; of more of the likeliest's. */
void reliability_of(struct reliability *out, const struct predictions *s);

#endif
