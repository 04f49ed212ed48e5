/* access: a line for each answer; not a door.
 *
 * What this is: the access log. Whoever has answered puts a record into a ring of fixed size;
 * a thread of its own makes lines of them and writes. So no request waits for a disk or a pipe:
 * what does not fit is counted, and the log says how many lines are missing.
 *
 *     loops --> | record | record | ... |  --> thread --> lines --> file, or a callback
 *                bounded; full: lost++
 *
 * A line holds what is checked or made here: the route as the interface describes it and not the
 * address, names of models that are served, ids that fit. So nothing in it is obeyed by a terminal.
 * Who owns what: a log owns its file.
 * Threads: any may add; one opens, reopens and closes. */
#ifndef SHOAL_SERVE_ACCESS_H
#define SHOAL_SERVE_ACCESS_H

#include "serve/trace.h"

#include <shoal.h>

struct access_log;
struct request;

/* *out is NULL when the options want none. */
shoal_status access_open(struct access_log **out, const struct shoal_serve_opts *o, uint64_t seed);
/* Of a request that was answered, or whose client has gone; its lease is still there. Bytes of the
 * body that came, and of the answer with its head. These accept NULL. */
void access_add(struct access_log *l, const struct request *q, uint64_t in, uint64_t out);
/* Soon: the file by its name anew, as it was renamed. */
void access_reopen(struct access_log *l);
/* Writes what is left. */
void access_close(struct access_log *l);

#endif
