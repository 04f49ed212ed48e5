/* trace: the names by which others know a request; not a door.
 *
 * What this is: a request's id (X-Request-Id) and its place in a trace (W3C Trace Context,
 * level 1). What a client sends is taken only if it is well formed, so that it can stand in a
 * header and in a line of the log as it is.
 *
 *     traceparent  00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
 *                  version  trace                      parent           flags
 *
 * Who owns what: all of it lies in the request.
 * Threads: a request belongs to one at a time. */
#ifndef SHOAL_SERVE_TRACE_H
#define SHOAL_SERVE_TRACE_H

#include "base/base.h"

enum { REQUEST_ID_MAX = 100, TRACEPARENT = 55, SPAN_ID = 16 };

struct trace {
    char said[TRACEPARENT + 1]; /* what is passed on, this request being the parent; "": none */
    char parent[SPAN_ID + 1];   /* whose child this request is */
};

struct request;

/* 1 to 100 letters, digits and - _ . : / + = @ */
bool request_id_fits(const char *id);
/* span: any number but 0, this request's own. False, and *t is empty: it is not well formed. */
bool trace_begin(struct trace *t, const char *traceparent, uint64_t span);
/* Its id and trace, of what the client said of them (NULL: nothing), or made. */
void request_name(struct request *q, const char *id, const char *traceparent);

#endif
