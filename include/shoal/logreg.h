/* shoal/logreg.h: logistic regression on click data, a part of shoal.h, which
 * includes it.
 *
 * What this is: a weight for each feature and a bias; the probability of a click is
 * 1 / (1 + e^-(bias + sum of weights times values)).
 * Who owns what: shoal_model_linear gives it, of a model that owns it. Files of rows are for
 * shoal_model_predict and shoal_model_eval.
 * Threads: a model is immutable, and any number may use it. */
#ifndef SHOAL_LOGREG_PART_H
#define SHOAL_LOGREG_PART_H

#include <shoal.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shoal_logreg shoal_logreg;

/* How other rows are to be read for this model; strings live as long as it. */
SHOAL_API struct shoal_clicks_opts shoal_logreg_reading(const shoal_logreg *model);

struct shoal_weight {
    uint32_t slot;
    float weight;
    const char *name; /* NULL: not known */
};
/* The k weights of the largest size, largest first; *found <= k. */
SHOAL_API shoal_status shoal_logreg_largest(const shoal_logreg *model, struct shoal_weight *out,
                                            size_t k, size_t *found);

/* The probability of one row: slots below 2^bits; values NULL: all 1. */
SHOAL_API double shoal_logreg_one(const shoal_logreg *model, const uint32_t *slots,
                                  const float *values, size_t n);

#ifdef __cplusplus
}
#endif
#endif
