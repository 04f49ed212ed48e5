/* batcher: requests of one model, computed together; not a door.
 *
 * What this is: a bounded queue of jobs and the workers, threads that take from it.
 * A worker that is free takes whatever waits, so a lone request never waits for
 * others; while workers are busy requests gather, and the next batch takes them all:
 *
 *     submit -->  | job | job | job |  --> worker: up to batch_size inputs of one
 *                   bounded queue          generation of the model, in one call
 *
 * Who owns what: a job is its submitter's, and is the batcher's from submit until
 * `finished` is called. A batcher borrows its tally.
 * Threads: any may submit and scale; one closes. */
#ifndef SHOAL_SERVE_BATCHER_H
#define SHOAL_SERVE_BATCHER_H

#include "serve/metrics.h"
#include "serve/models/class_rules.h"
#include "serve/models/servable.h"

/* A model file as it was opened once. Replaced by the next when the file is; it
 * lives until the last request that began with it is answered. */
struct generation {
    const struct servable_kind *kind;
    shoal_model *saved;
    const void *model; /* of it, what the kind is asked with */
    atomic_uint refs;
};

/* With `map`, by mapping what can be; `rule` names its classes, NULL: as the model does. */
shoal_status generation_open(struct generation **out, const struct servable_kind *const *kinds,
                             const char *path, bool map, const struct class_rule *rule);
/* With the index beside the file, if there is one: servable.h, take_index. */
shoal_status generation_take_index(struct generation *g, const char *path);
void generation_keep(struct generation *g);
void generation_drop(struct generation *g); /* accepts NULL */

/* Of a JSON object: "shoal_vectors", and what programs are told of the model. */
void generation_put_platform(struct writer *w, const struct generation *g);
void generation_put_facts(struct writer *w, const struct generation *g);

struct job {
    struct generation *generation;
    char *samples; /* [n][generation->kind->sample_size] */
    size_t n;
    double deadline;       /* clock_now() at which nobody waits any more */
    atomic_bool abandoned; /* set by any thread: the client has gone, the answer is for nobody */
    void (*finished)(struct job *job);

    /* For the submitter, when finished. */
    shoal_status st; /* SHOAL_ESTOP: too late, abandoned, or no worker is left */
    char sentence[160];
    double submitted, started, ended;

    struct job *next;
};

static inline void *job_sample(const struct job *job, size_t i)
{
    return job->samples + i * job->generation->kind->sample_size;
}

struct model_settings {
    unsigned batch_size, max_batch_delay; /* inputs; milliseconds */
    unsigned queue_size;                  /* jobs */
    unsigned min_workers, max_workers;
    unsigned response_timeout; /* seconds */
    unsigned max_body;         /* bytes of a request; 0: what the server takes */
    unsigned rate;             /* requests a second; 0: any number */
    unsigned max_requests;     /* at once; 0: any number */
};

struct batcher;

/* Of the settings, the sizes and the delay; workers are batcher_scale's. */
shoal_status batcher_new(struct batcher **out, const struct model_settings *settings,
                         struct model_tally *tally);
/* So many workers from now on, between min and max as the queue asks for. Fails with
 * SHOAL_ESTOP once it is closed. */
shoal_status batcher_scale(struct batcher *b, unsigned min, unsigned max);
/* The sizes and the delay from now on. */
void batcher_limit(struct batcher *b, const struct model_settings *settings);
/* Returns when those who are too many have gone. */
void batcher_settle(struct batcher *b);
/* Fails with SHOAL_ELIMIT when the queue is full, with SHOAL_ESTOP when there is no
 * worker; then `finished` is not called. */
shoal_status batcher_submit(struct batcher *b, struct job *job);
/* Whether there may be a worker at all. */
bool batcher_open(const struct batcher *b);
/* Computes on the calling thread. Never calls `finished`. */
void batcher_run_here(struct batcher *b, struct job *job);

struct batcher_state {
    unsigned workers, min, max;
    size_t waiting, room;
};
struct batcher_state batcher_snapshot(struct batcher *b);
/* Answers what waits, then ends the workers; none is started any more. Accepts NULL. */
void batcher_close(struct batcher *b);
void batcher_free(struct batcher *b); /* after batcher_close, or before any worker */

#endif
