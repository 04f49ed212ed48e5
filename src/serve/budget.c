/* One account of what all requests together hold: their bodies, what those become
 * (parsed JSON, decoded pictures, samples) and the answers that wait to be read.
 * A few kilobytes can become gigabytes; so what a request becomes is charged before
 * the memory is taken, and a request that would go beyond is refused. */
#include "serve/server.h"

shoal_status request_charge(struct request *q, size_t bytes)
{
    struct shoal_server *s = q->server;
    uint64_t all;

    if (bytes > s->http.max_request || q->held > s->http.max_request - bytes) {
        q->over = 413;
        return shoal_fail(SHOAL_ELIMIT,
                          "The request becomes more than the %llu bytes that one may hold.",
                          (unsigned long long)s->http.max_request);
    }
    all = atomic_fetch_add_explicit(&s->held, bytes, memory_order_relaxed) + bytes;
    if (all > s->http.max_held) {
        atomic_fetch_sub_explicit(&s->held, bytes, memory_order_relaxed);
        q->over = 503;
        return shoal_fail(SHOAL_ELIMIT, "Other requests fill the memory for them.");
    }
    q->held += bytes;
    return SHOAL_OK;
}

void request_refund(struct request *q, size_t bytes)
{
    bytes = bytes < q->held ? bytes : q->held;
    q->held -= bytes;
    atomic_fetch_sub_explicit(&q->server->held, bytes, memory_order_relaxed);
}
