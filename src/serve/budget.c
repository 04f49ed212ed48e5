/* One account of what all requests together hold: their bodies, what those become
 * (parsed JSON, decoded pictures, samples) and the answers that wait to be read.
 * A few kilobytes can become gigabytes; so what a request becomes is charged before
 * the memory is taken, and a request that would go beyond is refused.
 *
 *     max_held     |------------------- all requests ---------------|---- small only ----|
 *                  0                                                3/4                   1
 *     max_request  |--- one request ---|   half of max_held
 *
 * The invariant: server.held is the sum of q->held of all requests, and never stays above
 * max_held. Charging adds first and takes back if that was too much: two threads at the
 * limit may then both be refused, but both can never be let through, and no lock is needed.
 * q->held itself belongs to whoever has the request. What is charged is an upper bound that
 * is known beforehand (tree_cost, picture_cost, reading_cost), never what malloc then gave. */
#include "serve/server.h"

/* A request that holds no more than this may use the last quarter too: a few large requests
 * do not turn the many small ones away. */
enum { SMALL = 64 << 10 };

static shoal_status over(struct request *q, int status, const char *fmt, uint64_t most)
{
    q->over = status;
    return shoal_fail(SHOAL_ELIMIT, fmt, (unsigned long long)most);
}

shoal_status request_charge(struct request *q, size_t bytes)
{
    struct shoal_server *s = q ? q->server : NULL;
    uint64_t all, most;

    if (!q || bytes == 0)
        return SHOAL_OK;
    if (bytes > s->http.max_request || q->held > s->http.max_request - bytes)
        return over(q, 413, "The request becomes more than the %llu bytes that one may hold.",
                    s->http.max_request);
    most = s->http.max_held - (q->held + bytes > SMALL ? s->http.max_held / 4 : 0);
    all = atomic_fetch_add_explicit(&s->held, bytes, memory_order_relaxed) + bytes;
    if (all > most) {
        atomic_fetch_sub_explicit(&s->held, bytes, memory_order_relaxed);
        return over(q, 503, "Other requests fill the %llu bytes of memory for them.", most);
    }
    q->held += bytes;
    return SHOAL_OK;
}

void request_refund(struct request *q, size_t bytes)
{
    if (!q || q->held == 0)
        return;
    bytes = bytes < q->held ? bytes : q->held;
    q->held -= bytes;
    atomic_fetch_sub_explicit(&q->server->held, bytes, memory_order_relaxed);
}

shoal_status request_charge_sample(struct request *q, size_t bytes, size_t answer)
{
    shoal_status st = request_charge(q, bytes + answer);

    if (q && st == SHOAL_OK)
        q->expected += answer;
    return st;
}

shoal_status request_charge_pixels(struct request *q, uint64_t pixels)
{
    if (!q)
        return SHOAL_OK;
    q->pixels += pixels;
    if (q->pixels <= REQUEST_PIXELS)
        return SHOAL_OK;
    return over(q, 413, "The request has pictures of more than %llu pixels together.",
                REQUEST_PIXELS);
}

shoal_status request_leave_loop(struct request *q)
{
    if (!q || !q->on_loop)
        return SHOAL_OK;
    q->heavy = true;
    return shoal_fail(SHOAL_ESTOP, "The request is read by a worker.");
}

shoal_status request_awaited(const struct request *q)
{
    if (!q || (clock_now() < q->job.deadline &&
               !atomic_load_explicit(&q->job.abandoned, memory_order_relaxed)))
        return SHOAL_OK;
    return shoal_fail(SHOAL_ESTOP, "The request waited too long.");
}

shoal_status request_parse(struct request *q, struct tree **out, const char *at, size_t len,
                           size_t *cost)
{
    shoal_status st;

    *out = NULL;
    *cost = tree_cost(at, len);
    st = request_charge(q, *cost);
    if (st != SHOAL_OK)
        *cost = 0;
    return st == SHOAL_OK ? tree_parse(out, at, len) : st;
}

void request_parsed(struct request *q, struct tree *t, size_t cost)
{
    tree_free(t);
    request_refund(q, cost);
}
