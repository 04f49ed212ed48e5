/* What programs that test training share, those of several ranks among them: a run of each
 * task whose data is there already, and the figures that it told, by name. */
#ifndef SHOAL_TEST_TRAINING_H
#define SHOAL_TEST_TRAINING_H

#include "saved/saved.h"
#include "train/train.h"

#include "defaults.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- figures; NaN: not measured ---- */

static inline double training(const struct shoal_figures *f, const char *name)
{
    return shoal_figure(f, SHOAL_OF_TRAINING, name);
}

static inline double validation(const struct shoal_figures *f, const char *name)
{
    return shoal_figure(f, SHOAL_OF_VALIDATION, name);
}

/* ---- runs: what they gave is for its own close ---- */

/* As saved/saved.c has it, which gives nothing away. */
struct shoal_model {
    const struct kind *kind;
    void *is;
    char *path;
};

/* What is in the handle, which ends; NULL where there is none. */
static inline void *model_object(shoal_model *model)
{
    void *object = model ? model->is : NULL;

    if (!model)
        return NULL;
    if (object != shoal_model_vectors(model) && object != shoal_model_linear(model) &&
        object != shoal_model_net(model))
        abort(); /* the struct is another one now */
    free(model->path);
    free(model);
    return object;
}

static inline shoal_status train_task(const char *task, const struct train_opts *o,
                                      const struct shoal_sources *data, void **object,
                                      struct shoal_train_stats *stats)
{
    shoal_model *model = NULL;
    shoal_status st = run_task(task_find(task), o, data, &model, stats);

    *object = model_object(model);
    return st;
}

static inline shoal_status train_words(shoal_vectors **out, const shoal_corpus *corpus,
                                       const struct train_opts *o,
                                       struct shoal_train_stats *stats)
{
    struct shoal_sources data = {.corpus = corpus};
    void *object;
    shoal_status st = train_task(o->bag ? "cbow" : "skipgram", o, &data, &object, stats);

    *out = object;
    return st;
}

/* `held` is held out; NULL: a share of the rows, or of the samples below. */
static inline shoal_status train_logreg(shoal_logreg **out, const shoal_clicks *rows,
                                        const shoal_clicks *held, const struct train_opts *o,
                                        struct shoal_train_stats *stats)
{
    struct shoal_sources data = {.rows = rows, .valid_rows = held};
    void *object;
    shoal_status st = train_task("logreg", o, &data, &object, stats);

    *out = object;
    return st;
}

static inline shoal_status train_mlp(shoal_net **out, const shoal_samples *samples,
                                     const shoal_samples *held, const struct train_opts *o,
                                     struct shoal_train_stats *stats)
{
    struct shoal_sources data = {.samples = samples, .valid_samples = held};
    void *object;
    shoal_status st = train_task("mlp", o, &data, &object, stats);

    *out = object;
    return st;
}

static inline shoal_status train_vgg(shoal_net **out, const shoal_images *images,
                                     const shoal_images *test, const struct train_opts *o,
                                     struct shoal_train_stats *stats)
{
    struct shoal_sources data = {.images = images, .test_images = test};
    void *object;
    shoal_status st = train_task("vgg", o, &data, &object, stats);

    *out = object;
    return st;
}

static inline shoal_status train_nextword(shoal_net **out, const shoal_corpus *corpus,
                                          const shoal_vectors *vectors, const struct train_opts *o,
                                          struct shoal_train_stats *stats)
{
    struct shoal_sources data = {.corpus = corpus, .vectors = vectors};
    void *object;
    shoal_status st = train_task("nextword", o, &data, &object, stats);

    *out = object;
    return st;
}

static inline shoal_status plan_words(struct shoal_train_plan *plan, const shoal_corpus *corpus,
                                      const struct train_opts *o)
{
    struct shoal_sources data = {.corpus = corpus};

    return run_plan(task_find(o->bag ? "cbow" : "skipgram"), o, &data, plan);
}

/* ---- options ---- */

/* The sentence about a value that an option of the task cannot have, all others being as they
 * are by default; "" where it can. */
static inline const char *option_refused(const char *task, const char *name, const char *value)
{
    shoal_options *o = NULL;
    shoal_status st = shoal_options_new(&o, task);

    if (st == SHOAL_OK)
        st = shoal_options_set(o, name, value);
    if (st == SHOAL_OK)
        st = shoal_options_check(o);
    shoal_options_free(o);
    return st == SHOAL_EINVAL ? shoal_error() : "";
}

/* What the newest checkpoint of a folder remembers of an option; "" where it cannot tell. */
static inline const char *option_kept(const char *folder, const char *name)
{
    static char value[256];
    shoal_options *o = NULL;
    const char *found = NULL;

    if (shoal_options_resume(&o, folder) == SHOAL_OK)
        found = shoal_options_get(o, name);
    snprintf(value, sizeof value, "%s", found ? found : "");
    shoal_options_free(o);
    return value;
}

#endif
