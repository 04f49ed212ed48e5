#include "serve/models/gate.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct model_settings, member)

const struct model_limit model_limits[] = {
    {"batch_size", AT(batch_size), 1, 4096},
    {"max_batch_delay", AT(max_batch_delay), 0, 10000},
    {"queue_size", AT(queue_size), 1, 1000000},
    {"response_timeout", AT(response_timeout), 1, 86400},
    {"max_body", AT(max_body), 0, UINT32_MAX},
    {"rate", AT(rate), 0, 1000000000},
    {"max_requests", AT(max_requests), 0, 1000000},
    {0},
};

/* ---- lists ---- */

enum { WORKERS_MOST = 64 };

static bool read_count(const char *text, size_t len, unsigned min, unsigned max, unsigned *out)
{
    uint64_t n = 0;

    if (len == 0 || len > 10)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        n = 10 * n + (unsigned)(text[i] - '0');
    }
    *out = (unsigned)n;
    return n >= min && n <= max;
}

/* KEY=VALUE of len bytes; false: it is none. */
static bool rule_apply(const char *rule, size_t len, struct model_settings *s)
{
    const char *equals = memchr(rule, '=', len);
    size_t key = equals ? (size_t)(equals - rule) : len;

    if (!equals)
        return false;
    for (const struct model_limit *l = model_limits; l->name; l++)
        if (strlen(l->name) == key && strncmp(l->name, rule, key) == 0)
            return read_count(equals + 1, len - key - 1, l->min, l->max,
                              (unsigned *)(void *)((char *)s + l->at));
    if (key != 7 || strncmp(rule, "workers", key) != 0 ||
        !read_count(equals + 1, len - key - 1, 0, WORKERS_MOST, &s->min_workers))
        return false;
    s->max_workers = s->min_workers;
    return true;
}

void limit_rules_apply(const char *list, const char *model, struct model_settings *settings)
{
    size_t name = strlen(model);

    for (size_t len; list && *list; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        if (len > name && list[name] == ':' && strncmp(list, model, name) == 0)
            rule_apply(list + name + 1, len - name - 1, settings);
    }
}

shoal_status limit_rules_check(const char *list, const struct model_settings *settings)
{
    struct model_settings s = *settings;

    for (size_t len; list && *list; list += len + (list[len] == ',')) {
        const char *colon;

        len = strcspn(list, ",");
        colon = memchr(list, ':', len);
        if (!colon || colon == list ||
            !rule_apply(colon + 1, len - (size_t)(colon + 1 - list), &s))
            return shoal_fail(SHOAL_EINVAL,
                              "serve: --limits has '%.*s', want NAME:KEY=NUMBER with one of the "
                              "keys that docs/operations.md lists",
                              len < 80 ? (int)len : 80, list);
    }
    return SHOAL_OK;
}

/* ---- who is let in ---- */

void gate_init(struct gate *g, const struct model_settings *settings)
{
    *g = (struct gate){0};
    pthread_mutex_init(&g->lock, NULL);
    gate_set(g, settings);
}

void gate_fini(struct gate *g)
{
    pthread_mutex_destroy(&g->lock);
}

void gate_set(struct gate *g, const struct model_settings *settings)
{
    atomic_store(&g->response_timeout, settings->response_timeout);
    atomic_store(&g->max_body, settings->max_body);
    atomic_store(&g->rate, settings->rate);
    atomic_store(&g->max_requests, settings->max_requests);
}

/* A bucket holds up to a second's requests, as the server's for a client does (limits.h). */
static bool take_token(struct gate *g, double rate, double now)
{
    bool allowed;

    pthread_mutex_lock(&g->lock);
    g->left = g->at > 0 ? g->left + (now - g->at) * rate : rate;
    g->left = g->left < rate ? g->left : rate;
    g->at = now;
    allowed = g->left >= 1;
    g->left -= allowed;
    pthread_mutex_unlock(&g->lock);
    return allowed;
}

enum gate_answer gate_enter(struct gate *g, size_t body, double now)
{
    unsigned max_body = atomic_load_explicit(&g->max_body, memory_order_relaxed);
    unsigned rate = atomic_load_explicit(&g->rate, memory_order_relaxed);
    unsigned most = atomic_load_explicit(&g->max_requests, memory_order_relaxed);

    if (max_body > 0 && body > max_body)
        return GATE_BODY;
    if (rate > 0 && !take_token(g, rate, now))
        return GATE_RATE;
    if (atomic_fetch_add(&g->inside, 1) >= most && most > 0) {
        atomic_fetch_sub(&g->inside, 1);
        return GATE_FULL;
    }
    return GATE_OPEN;
}

void gate_leave(struct gate *g)
{
    atomic_fetch_sub(&g->inside, 1);
}
