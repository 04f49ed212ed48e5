/* The options of a task as they are by default, for tests that set fields and not names. */
#ifndef SHOAL_TEST_DEFAULTS_H
#define SHOAL_TEST_DEFAULTS_H

#include "train/task.h"

static inline struct train_opts task_defaults(const char *name)
{
    struct train_opts o = {0};

    task_find(name)->defaults(&o);
    return o;
}

#endif
