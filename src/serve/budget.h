/* budget: what a request may become; not a door.
 *
 * What this is: one account of the memory that requests hold, and the questions that
 * whoever reads a request asks before it takes memory or time.
 * Who owns what: what was charged is given back by request_refund, all of it by route_end.
 * Threads: whoever has the request. A request that is NULL has no limits: tests.
 *
 * Of the whole account a quarter is kept for requests that hold little, so that a few
 * large ones do not turn the others away. */
#ifndef SHOAL_SERVE_BUDGET_H
#define SHOAL_SERVE_BUDGET_H

#include "serve/parse.h"

struct request;

/* Pixels of all pictures of a request. */
#define REQUEST_PIXELS ((uint64_t)100000000)

/* Before q takes so much memory. Fails with SHOAL_ELIMIT, and q->over says whose
 * limit it was: this request's own (413) or that of all together (503). */
shoal_status request_charge(struct request *q, size_t bytes);
/* Gives back some of it; SIZE_MAX: all. */
void request_refund(struct request *q, size_t bytes);
/* A sample's memory, and about so many bytes that will be answered: what could not be
 * answered is not computed. */
shoal_status request_charge_sample(struct request *q, size_t bytes, size_t answer);
/* Before so many pixels are decoded. */
shoal_status request_charge_pixels(struct request *q, uint64_t pixels);
/* Before work that may take long. On the event loop it fails, and the request is then
 * read anew by a worker. */
shoal_status request_leave_loop(struct request *q);
/* Fails with SHOAL_ESTOP when nobody waits any more: the response is late, or the
 * client has gone. */
shoal_status request_awaited(const struct request *q);

/* tree_parse and tree_free, with what the tree takes charged to q meanwhile; *cost is
 * for the second. */
shoal_status request_parse(struct request *q, struct tree **out, const char *at, size_t len,
                           size_t *cost);
void request_parsed(struct request *q, struct tree *t, size_t cost);

#endif
