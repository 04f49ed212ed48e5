/* autotune: a search for good options; inside the room.
 *
 * What this is: what a task that can be searched says of itself, and the search.
 * Who owns what: a model that is found is the caller's.
 * Threads: one call at a time. */
#ifndef SHOAL_TRAIN_AUTOTUNE_H
#define SHOAL_TRAIN_AUTOTUNE_H

#include "train/run.h"

struct tuning {
    /* Numbers for all that was left to the task. */
    void (*settle)(struct train_opts *o, const struct shoal_sources *data);
    /* From the best so far to what is tried next, after so many trials and this share of the time;
     * what was given stays. */
    void (*next)(struct train_opts *o, const shoal_options *given, unsigned trials, double done,
                 struct rng *random);
    /* "lr 0.5, epochs 10": what is searched. */
    void (*note)(const struct train_opts *o, char *text, size_t cap);
};

/* Trains within opts->autotune seconds, about; *model is the best there was. */
shoal_status autotune(const shoal_options *o, const struct train_opts *opts,
                      const struct shoal_sources *data, shoal_model **model,
                      struct shoal_train_stats *stats);

#endif
