/* sums: what was done and how well, summed over examples; a part of the door model.h. */
#ifndef SHOAL_SUMS_H
#define SHOAL_SUMS_H

#include <stdint.h>

/* What a model does not measure stays 0. */
struct sums {
    uint64_t examples;    /* words, rows, samples */
    uint64_t rows;        /* of tables that they needed, each once for each window or row */
    uint64_t predictions; /* that the loss is summed over: a sample of all when words train */
    double loss;          /* -log p of what was right; of targets the squared error */
    uint64_t right, right5; /* classes: the likeliest, one of the five likeliest */
    double squared, absolute, cosine; /* targets: the mean over outputs; the cosine with y */
};

void sums_add(struct sums *sum, const struct sums *more);

#endif
