/* Who ranks above whom, for the AUC; not a door.
 *
 *     kept [n]                 each example, while there are at most `keep`
 *     bins [RANKING_BINS][2]   then their weights, by score and class
 *
 * A bin holds the scores, as logits in single precision, that have the same sign,
 * exponent and first eleven bits: scores of one bin differ by less than 1/2048 of
 * themselves, whatever the data. */
#ifndef SHOAL_RANKING_H
#define SHOAL_RANKING_H

#include "eval/eval.h"

enum { RANKING_BINS = 1 << 20 };

struct ranked {
    double score;
    double weight; /* of class 1; below 0: of class 0 */
};

struct ranking {
    enum binary_scale scale;
    struct ranked *kept;
    size_t n, cap, keep;
    double *bins; /* NULL while all are kept */
};

void ranking_init(struct ranking *r, enum binary_scale scale, size_t keep);
void ranking_fini(struct ranking *r);
/* score is a number, weight finite and above 0. */
shoal_status ranking_add(struct ranking *r, double score, bool label, double weight);
/* Sorts what is kept. Both are NaN when a class is missing. */
shoal_status ranking_auc(struct ranking *r, double *auc, double *within);

double binary_logit(double p);

#endif
