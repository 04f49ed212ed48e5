#include "serve/server.h"

#include <string.h>

static const char digits[] = "0123456789abcdef";

bool request_id_fits(const char *id)
{
    size_t len = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/+=@");

    return len > 0 && len <= REQUEST_ID_MAX && !id[len];
}

/* n hex digits in lower case, not all of them 0 unless they may be. */
static bool is_hex(const char *at, size_t n, bool zero)
{
    for (size_t i = 0; i < n; i++) {
        if (!at[i] || !strchr(digits, at[i]))
            return false;
        zero |= at[i] != '0';
    }
    return zero;
}

/* Level 1, 3.2: what a later version has behind these fields begins with a dash. */
static bool traceparent_fits(const char *at)
{
    size_t len = strnlen(at, TRACEPARENT + 1);

    return len >= TRACEPARENT && is_hex(at, 2, true) && strncmp(at, "ff", 2) != 0 &&
           at[2] == '-' && is_hex(at + 3, 32, false) && at[35] == '-' &&
           is_hex(at + 36, SPAN_ID, false) && at[52] == '-' && is_hex(at + 53, 2, true) &&
           (len == TRACEPARENT || (strncmp(at, "00", 2) != 0 && at[TRACEPARENT] == '-'));
}

bool trace_begin(struct trace *t, const char *traceparent, uint64_t span)
{
    *t = (struct trace){0};
    if (!traceparent || !traceparent_fits(traceparent))
        return false;
    memcpy(t->said, traceparent, TRACEPARENT);
    memcpy(t->said, "00", 2); /* the version that is spoken here */
    memcpy(t->parent, traceparent + 36, SPAN_ID);
    for (size_t i = 0; i < SPAN_ID; i++)
        t->said[36 + i] = digits[span >> (60 - 4 * i) & 15];
    /* Of the flags only `sampled` has a meaning in version 00. */
    t->said[53] = '0';
    t->said[54] = digits[(size_t)(strchr(digits, traceparent[54]) - digits) & 1];
    return true;
}

/* A random UUID (RFC 9562, version 4), by hand: printf takes longer than a small model. */
static void uuid(char id[37], const uint64_t bits[2])
{
    for (size_t i = 0, at = 0; i < 32; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            id[at++] = '-';
        id[at++] = digits[bits[i / 16] >> (4 * (i % 16)) & 15];
    }
    id[14] = '4';
    id[19] = digits[8 | (bits[1] & 3)];
    id[36] = '\0';
}

void request_name(struct request *q, const char *id, const char *traceparent)
{
    struct shoal_server *s = q->server;
    uint64_t n = atomic_fetch_add_explicit(&s->ids, 1, memory_order_relaxed);
    uint64_t bits[2] = {rng_at(s->seed, 0, n), rng_at(s->seed, 1, n)};

    q->number = n;
    if (id && request_id_fits(id))
        memcpy(q->id, id, strlen(id) + 1);
    else
        uuid(q->id, bits);
    if (traceparent)
        trace_begin(&q->trace, traceparent, bits[0] ? bits[0] : 1);
}
