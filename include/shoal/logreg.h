/* shoal/logreg.h: logistic regression on click data, a part of shoal.h, which
 * includes it.
 *
 * What this is: a weight for each feature and a bias; the probability of a click is
 * 1 / (1 + e^-(bias + sum of weights times values)).
 * Who owns what: shoal_logreg_open gives a model that shoal_logreg_close ends; click data is
 * borrowed for the length of the call.
 * Threads: a model is immutable, and any number may use it. */
#ifndef SHOAL_LOGREG_PART_H
#define SHOAL_LOGREG_PART_H

#include <shoal.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shoal_logreg shoal_logreg;

/* On failure nothing is left at `path`. */
SHOAL_API shoal_status shoal_logreg_save(const shoal_logreg *model, const char *path);
/* Maps the file and checks every byte of it. */
SHOAL_API shoal_status shoal_logreg_open(shoal_logreg **out, const char *path);
SHOAL_API void shoal_logreg_close(shoal_logreg *model);

SHOAL_API unsigned shoal_logreg_bits(const shoal_logreg *model);
SHOAL_API double shoal_logreg_bias(const shoal_logreg *model);
SHOAL_API uint64_t shoal_logreg_weights(const shoal_logreg *model); /* that are not 0 */
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
/* Reads rows as the model's were read (opts: skip_bad, and format where it is not
 * SHOAL_CLICKS_AUTO) and gives the probability of each, in order, block by block;
 * a row needs no label. One file from shoal_clicks_encode will do too. Returning false
 * stops with SHOAL_ESTOP. Pipes are answered as they come. */
SHOAL_API shoal_status shoal_logreg_predict(const shoal_logreg *model, const char *const *inputs,
                                            size_t ninputs, const struct shoal_clicks_opts *opts,
                                            bool (*row)(void *user, const double *p, size_t n),
                                            void *user, struct shoal_clicks_stats *stats);
/* Scores on rows with labels. */
SHOAL_API shoal_status shoal_logreg_eval(const shoal_logreg *model, const char *const *inputs,
                                         size_t ninputs, const struct shoal_clicks_opts *opts,
                                         struct shoal_binary_score *score,
                                         struct shoal_clicks_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
