/* shoal/eval.h: what classifiers are worth, a part of shoal.h, which includes it.
 *
 * What this is: the scores of models that choose between two classes, or among
 * many, on examples whose class is known.
 * Who owns what: scores are plain values.
 * Threads: nothing is shared. */
#ifndef SHOAL_EVAL_PART_H
#define SHOAL_EVAL_PART_H

#include <shoal.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Two classes -------------------------------------------------------------
 * An example has a probability p of being of class 1, is of class y (0 or 1), and
 * counts as often as its weight says; means are over weights. What has no value,
 * as the AUC of one class alone, is NaN. */

#define SHOAL_RELIABILITY_BINS 10
#define SHOAL_LOG_LOSS_CLIP 1e-15 /* p is taken to lie in [clip, 1 - clip], for log_loss alone */

struct shoal_reliability { /* of the examples with bin/10 <= p < (bin + 1)/10; the last has p = 1 */
    double weight;
    double predicted; /* mean p */
    double observed;  /* mean y */
};

struct shoal_binary_score {
    uint64_t examples;
    double weight;
    double log_loss;      /* mean of -log of what the true class was given, in nats */
    double base_log_loss; /* had p been base_rate for every example */
    double accuracy;      /* p > 1/2 says class 1 */
    /* How likely an example of class 1 ranks above one of class 0, equal ones
     * counting a half; right to auc_within on either side, 0 being exact. */
    double auc, auc_within;
    double brier;         /* mean of (p - y)^2 */
    double base_rate;     /* mean y */
    double predicted;     /* mean p */
    double calibration;   /* predicted / base_rate: 1 is right, 2 promises twice too much */
    struct shoal_reliability bins[SHOAL_RELIABILITY_BINS];
};

/* ---- Many classes ------------------------------------------------------------ */

struct shoal_classes_score {
    uint64_t examples;
    unsigned classes;
    double top1, top5; /* shares of examples whose class has the highest score, one of five */
    /* Means of the classes' F1 = 2 right / (there + predicted): of all classes that
     * are there or were predicted, evenly; and by how many examples are there. */
    double macro_f1, weighted_f1;
};

#ifdef __cplusplus
}
#endif
#endif
