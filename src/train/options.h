/* options: what a run of a task is told; not a door.
 *
 * What this is: the inside of shoal_options, for checkpoints, metrics and tasks. A value
 * lies in struct train_opts at the place that its option has in the task's tables.
 *
 *     shoal_options { task --> groups --> {"dim", ..., offset of dim}
 *                     at: struct train_opts { ... dim ... }
 *                     text[place]: the strings that `at` points to
 *                     given[place] }
 *
 * Who owns what: the handle owns its strings; options_values borrows all.
 * Threads: as in shoal.h: a run only reads. */
#ifndef SHOAL_OPTIONS_H
#define SHOAL_OPTIONS_H

#include "file/file.h"
#include "model/model.h"

enum {
    OPTIONS_MOST = 128,      /* of one task */
    OPTION_BYTES = 1 << 16,  /* of one value */
    OPTIONS_FILE = 1 << 20,  /* of a file of them */
};

struct task;

const struct train_opts *options_values(const shoal_options *o);
const struct task *options_run(const shoal_options *o);

/* fn(ctx, option, value) for each option of the task in the order of the tables; value is NULL
 * where there is none. Stops at the first failure and gives it. */
shoal_status options_each(const struct task *task, const struct train_opts *values,
                          shoal_status (*fn)(void *ctx, const struct shoal_option *option,
                                             const char *value),
                          void *ctx);

/* ---- What a checkpoint remembers: lines `task NAME` and `opt.NAME VALUE` ----------------- */

shoal_status options_write(const struct task *task, const struct train_opts *values,
                           struct bytes *meta);
/* From such lines among others; whoever wrote them, every value is checked as if it were set.
 * The options are then those of a run that goes on. `who` begins sentences. */
shoal_status options_read(shoal_options **out, const char *who, const char *meta, size_t len);
/* Whether these are one run: names the first option that decides the result and differs. */
shoal_status options_same(const char *who, const shoal_options *there, const shoal_options *here);

/* What the head of a checkpoint says, */
shoal_status options_of_head(shoal_options **out, const struct container *head);
/* and whether that is this run. */
shoal_status options_check_same(const struct task *task, const struct container *head,
                                const struct train_opts *here);

/* ---- config.c -------------------------------------------------------------------------- */

/* What shoal_options_read does with a file's text, of `len` bytes and a NUL; it is changed. */
shoal_status options_config_read(shoal_options *o, const char *who, char *text, size_t len);

#endif
