/* servable: a kind of model as the server asks it; not a door.
 *
 * What this is: one table of functions for each kind of the room saved, which opens,
 * recognises and describes: read what a request holds into a sample, compute many samples
 * at once, write the answer of one. A new kind is a new table in servable.c.
 * Who owns what: what is open is its kind's, and borrows the model; a sample's memory is
 * the caller's, what it points at its kind's, ended by `forget`.
 * Threads: what is open is immutable. A sample belongs to one thread at a time. */
#ifndef SHOAL_SERVABLE_H
#define SHOAL_SERVABLE_H

#include "saved/saved.h"
#include "serve/budget.h"

#include <pthread.h>

/* A value of a table's column: JSON, or text, or a number. */
struct instance_field {
    const char *name;
    const struct tree *json; /* or NULL, */
    const char *text;        /* [len]; or NULL */
    size_t len;
    double number;
};

/* One thing asked of a model, in the form that it came. */
struct instance {
    const char *verb;          /* "predict", or one of the kind's own: "similar" */
    const struct query *query; /* of the address */
    const struct tree *object; /* the JSON object that stands around, or NULL */
    bool tensor;               /* floats are wanted, if the kind has them */
    bool third;                /* and the third of its tensors, if it has three */
    struct request *request;   /* whom memory and time are charged to: budget.h */

    /* One of these is not NULL, or none where the query says all. */
    const char *bytes; /* [len] text, a picture */
    size_t len;
    const struct tree *json;
    const float *numbers; /* [count] */
    size_t count;
    const struct instance_field *fields; /* [nfields], of a kind that has columns */
    size_t nfields;
};

/* "name FP32 [-1, 100]" of the Open Inference Protocol; -1: any. */
enum { OUTPUTS_MAX = 3 };
struct tensor_shape {
    const char *name, *datatype;
    int64_t shape[4];
    size_t dims;
};

#define SAMPLE_MAX 256 /* bytes, aligned as malloc does */

struct servable_kind {
    const char *name;         /* as shoal_model_kind has it: "vectors" */
    bool linear;              /* and every other kind that is a linear model */
    const char *list_key;     /* of a JSON object, whose elements are asked about; or NULL */
    const char *const *verbs; /* besides predict, for GET; ends with NULL */
    size_t sample_size;       /* at most SAMPLE_MAX; samples begin as zeros */

    /* What all below is asked with: the model's typed self, or more. */
    shoal_status (*open)(const void **out, const shoal_model *model);
    void (*close)(const void *open); /* NULL: nothing to end */
    /* What it takes as a tensor, and gives: outputs [OUTPUTS_MAX], of which those that it has not
     * keep the name NULL. A kind with `ranked` gives names, scores, and perhaps `floats`; another
     * gives `floats` alone. */
    void (*shapes)(const void *open, struct tensor_shape *input, struct tensor_shape *outputs);

    /* Whether it learned from a table, whose columns a request may name; NULL: never. */
    bool (*has_columns)(const void *open);
    /* SHOAL_ENOENT: what is asked about is not there; other failures: a bad request. Asks
     * before it takes memory or much time: budget.h. */
    shoal_status (*read)(const void *open, const struct instance *in, void *sample);
    /* Whether it takes less time than handing it to another thread; NULL: never. */
    bool (*cheap)(const void *open, const void *sample);
    shoal_status (*run)(const void *open, void *const *samples, size_t n);
    void (*write)(const void *open, const void *sample, struct writer *w);
    /* The answer as floats, *n of them; NULL when it is none, or never is. */
    const float *(*floats)(const void *open, const void *sample, size_t *n);
    /* Name and score of the i-th best of the answer; gives how many there are. Or NULL. */
    size_t (*ranked)(const void *open, const void *sample, size_t i, const char **name,
                     float *score);
    /* What number i of `floats` is called; false: it has no name. Or NULL. */
    bool (*class_name)(const void *open, size_t i, char *name, size_t cap);
    void (*forget)(void *sample);

    /* Of a sample of the verb "embed", a text or, as in->json, a list of token ids: the vector,
     * [*n] floats, or NULL where nothing of it is known; *tokens is how many there were. NULL: the
     * kind has no vectors. */
    const float *(*embedding)(const void *open, const void *sample, size_t *n, size_t *tokens);
    /* Takes an index that lies beside the model's file; SHOAL_ENOENT: there is none. NULL: the kind
     * has no use for one. Before anybody asks. */
    shoal_status (*take_index)(const void *open, const char *path);
    /* What is to be said of it besides what the model says; NULL: nothing. */
    void (*facts)(const void *open, struct writer *w);
};

extern const struct servable_kind servable_classify;
extern const struct servable_kind servable_logreg;
extern const struct servable_kind servable_net;
extern const struct servable_kind servable_nextword;
extern const struct servable_kind servable_vectors;

/* All of them; ends with NULL. */
extern const struct servable_kind *const servable_kinds[];

/* The one that asks such a model, or NULL after shoal_fail. */
const struct servable_kind *servable_find(const struct servable_kind *const *kinds,
                                          const shoal_model *model);

/* ---- scratch ---- */

/* What computing needs, `most` of it kept for the next while nobody uses it. */
enum { SPARES = 64 };
struct spares {
    pthread_mutex_t lock;
    void *at[SPARES];
    size_t n, most;
};

void *spares_take(struct spares *s); /* NULL: there is none */
/* Gives back what is too much, or NULL. */
void *spares_give(struct spares *s, void *one);

/* ---- what an instance says besides ---- */

/* A whole number of the address, or of the object; *out stays when there is none. */
shoal_status instance_u64(const struct instance *in, const char *key, uint64_t min, uint64_t max,
                          uint64_t *out);
bool instance_true(const struct instance *in, const char *key);
/* Of the address, the JSON object itself or the one around; or NULL. */
const char *instance_text(const struct instance *in, const char *key);

#endif
