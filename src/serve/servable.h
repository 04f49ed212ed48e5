/* servable: a kind of model as the server sees it; not a door.
 *
 * What this is: one table of functions for each kind: open a file, read what a
 * request holds into a sample, compute many samples at once, write the answer of
 * one. A new kind is a new table in servable.c.
 * Who owns what: a model is its kind's; a sample's memory is the caller's, what it
 * points at its kind's, ended by `forget`.
 * Threads: a model is immutable once open. A sample belongs to one thread at a time. */
#ifndef SHOAL_SERVABLE_H
#define SHOAL_SERVABLE_H

#include "serve/budget.h"

/* One thing asked of a model, in the form that it came. */
struct instance {
    const char *verb;          /* "predict", or one of the kind's own: "similar" */
    const struct query *query; /* of the address */
    const struct tree *object; /* the JSON object that stands around, or NULL */
    bool tensor;               /* floats are wanted, if the kind has them */
    struct request *request;   /* whom memory and time are charged to: budget.h */

    /* One of these is not NULL, or none where the query says all. */
    const char *bytes; /* [len] text, a picture */
    size_t len;
    const struct tree *json;
    const float *numbers; /* [count] */
    size_t count;
};

/* "name FP32 [-1, 100]" of the Open Inference Protocol; -1: any. */
struct tensor_shape {
    const char *name, *datatype;
    int64_t shape[4];
    size_t dims;
};

struct description {
    const char *platform; /* "shoal_vectors" */
    struct tensor_shape input, output;
    struct {
        const char *key;
        char value[48];
    } facts[8];
    size_t nfacts;
};

#define SAMPLE_MAX 256 /* bytes, aligned as malloc does */

struct servable_kind {
    const char *name;         /* "vectors" */
    const char *list_key;     /* of a JSON object, whose elements are asked about; or NULL */
    const char *const *verbs; /* besides predict, for GET; ends with NULL */
    size_t sample_size;       /* at most SAMPLE_MAX; samples begin as zeros */

    /* Whether the file is one: `kind` is shoal_kind's, or "" where it is not ours. */
    bool (*matches)(const char *path, const char *kind);
    /* Reads the file: what happens to it afterwards does not matter. */
    shoal_status (*open)(void **model, const char *path);
    /* The same, but by mapping what is large; NULL: as `open`. */
    shoal_status (*map)(void **model, const char *path);
    void (*close)(void *model);
    void (*describe)(const void *model, struct description *out);

    /* SHOAL_ENOENT: what is asked about is not there; other failures: a bad request. Asks
     * before it takes memory or much time: budget.h. */
    shoal_status (*read)(const void *model, const struct instance *in, void *sample);
    /* Whether it takes less time than handing it to another thread. */
    bool (*cheap)(const void *model, const void *sample);
    shoal_status (*run)(const void *model, void *const *samples, size_t n);
    void (*write)(const void *model, const void *sample, struct writer *w);
    /* The answer as floats, *n of them; NULL when it is none. */
    const float *(*floats)(const void *model, const void *sample, size_t *n);
    void (*forget)(void *sample);
};

extern const struct servable_kind servable_logreg;
extern const struct servable_kind servable_net;
extern const struct servable_kind servable_nextword;
extern const struct servable_kind servable_vectors;

/* All of them; ends with NULL. */
extern const struct servable_kind *const servable_kinds[];

/* The kind of a file, or NULL after shoal_fail, which names no path. */
const struct servable_kind *servable_find(const struct servable_kind *const *kinds,
                                          const char *path);

/* ---- what an instance says besides ------------------------------------------------------ */

/* A whole number of the address, or of the object; *out stays when there is none. */
shoal_status instance_u64(const struct instance *in, const char *key, uint64_t min, uint64_t max,
                          uint64_t *out);
bool instance_true(const struct instance *in, const char *key);
/* Of the address, the JSON object itself or the one around; or NULL. */
const char *instance_text(const struct instance *in, const char *key);

#endif
