/* What the programs that test click models share: rows, options, runs. Included
 * after scratch.h and training.h. */
#ifndef SHOAL_TEST_LOGREG_H
#define SHOAL_TEST_LOGREG_H

#include "saved/linear/logreg.h"

static inline void assert_error_has(const char *part)
{
    if (!strstr(shoal_error(), part))
        fail_msg("\"%s\" does not contain \"%s\"", shoal_error(), part);
}

/* A failure is one sentence: one line, that ends without a stop. */
static inline void assert_sentence(shoal_status st, shoal_status want, const char *part)
{
    if (st != want)
        fail_msg("the status is %d (%s), want %d", st, st == SHOAL_OK ? "" : shoal_error(), want);
    assert_error_has(part);
    assert_null(strchr(shoal_error(), '\n'));
}

static inline shoal_clicks *read_rows(const char *text, unsigned bits)
{
    struct shoal_clicks_opts o = shoal_clicks_default();
    const char *path = scratch_put("rows.txt", text, strlen(text));
    shoal_clicks *rows = NULL;

    o.bits = bits;
    o.threads = 1;
    if (shoal_clicks_read(&rows, &path, 1, &o, NULL) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return rows;
}

static inline struct train_opts logreg_opts(enum shoal_optimizer optimizer)
{
    struct train_opts o = task_defaults("logreg");

    o.optimizer = optimizer;
    o.threads = 1;
    /* Nothing is left to the number of rows. */
    o.epochs = 1;
    o.valid = 0;
    o.early_stop = 0;
    o.in_order = true;
    return o;
}

static inline shoal_logreg *train_rows(const shoal_clicks *rows, const shoal_clicks *held,
                                       const struct train_opts *o,
                                       struct shoal_train_stats *stats)
{
    shoal_logreg *model = NULL;

    if (train_logreg(&model, rows, held, o, stats) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return model;
}

static inline void assert_near(double found, double want, double within)
{
    if (!(fabs(found - want) <= within))
        fail_msg("found %.9g, want %.9g", found, want);
}

static inline double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

#endif
