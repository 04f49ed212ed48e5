/* gate: what one model may take; not a door.
 *
 * What this is: limits of a model beside those of the server, and who is let in. They come from a
 * list, "words:rate=50,words:queue_size=10", or from management; the names of both are in one table.
 * Who owns what: a gate lies in its version.
 * Threads: any. Limits may change while requests are let in. */
#ifndef SHOAL_SERVE_GATE_H
#define SHOAL_SERVE_GATE_H

#include "serve/models/batcher.h"

#include <pthread.h>
#include <stdatomic.h>

/* A member of struct model_settings that can be set by its name. */
struct model_limit {
    const char *name;
    size_t at;
    unsigned min, max;
};

extern const struct model_limit model_limits[]; /* up to a name of NULL */

/* Of a list, what is said of `model`, on top of *settings; NULL: nothing is. */
void limit_rules_apply(const char *list, const char *model, struct model_settings *settings);
/* Whether the list can be read; *settings is for trying. */
shoal_status limit_rules_check(const char *list, const struct model_settings *settings);

struct gate {
    _Atomic unsigned response_timeout, max_body, rate, max_requests; /* of model_settings */
    _Atomic unsigned inside;                                         /* requests */
    pthread_mutex_t lock;                                            /* of the bucket */
    double at, left;
};

enum gate_answer { GATE_OPEN, GATE_BODY, GATE_RATE, GATE_FULL };

void gate_init(struct gate *g, const struct model_settings *settings);
void gate_fini(struct gate *g);
void gate_set(struct gate *g, const struct model_settings *settings);
/* A request with a body of so many bytes, at clock_now(). GATE_OPEN: until gate_leave. */
enum gate_answer gate_enter(struct gate *g, size_t body, double now);
void gate_leave(struct gate *g);

#endif
