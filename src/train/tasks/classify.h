/* classify: what the task of text classes has in files of its own; inside the tenant.
 *
 * What this is: its part of a run, how much classes count, and what several ranks change.
 * Who owns what: a run's own part is made by the plan and ended by the task's close.
 * Threads: constant while workers are at work. */
#ifndef SHOAL_TASK_CLASSIFY_H
#define SHOAL_TASK_CLASSIFY_H

#include "train/rows/rows.h"

enum { CLASSES_IN, CLASSES_OUT }; /* tables */

struct classes_run {
    const shoal_labelled *lines, *held_lines; /* what is held out may be a share of the lines */
    struct line_rows features;
    struct line_types types, held_types; /* the second of other lines alone */
    size_t most;                         /* rows of a line */
    struct classify model;
    float *weight; /* [classes] or NULL */
    const shoal_vectors *from; /* rows of words to begin with; or NULL */
    shoal_vectors *from_file;  /* the same, where they were read here */
};

/* ---- classify.c ---- */

void classes_settle(struct train_opts *o, const struct shoal_sources *data);
double classes_usual_lr(const shoal_labelled *l);

/* ---- classify_held.c ---- */

/* The loss and P@1 of what is held out, and its F1, of one label if --autotune-metric names it. */
shoal_status classes_evaluate(struct run *r);

/* How its likeliest labels are told apart, on the same lines. */
shoal_status classes_learned(struct run *r, struct learned *l);

/* ---- classify_tune.c ---- */

extern const struct tuning classes_tuning;

/* ---- classify_how.c ---- */

/* A label by its name, with or without the prefix; SHOAL_NO_ID: there is none. */
uint32_t classes_find_label(const shoal_labelled *l, const char *name, size_t len);
/* How much lines of each class count, as --class-weight says; their mean over all lines is 1.
 * *out stays NULL where all count alike. */
shoal_status classes_weights(float **out, const shoal_labelled *l, const char *how);
struct cadence classes_cadence(const struct train_opts *o, struct row_length length);

#endif
