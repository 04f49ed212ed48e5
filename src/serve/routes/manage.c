/* Management: registering, scaling, describing and ending models, as TorchServe does. */
#include "serve/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PAGE_MAX = 100, FIRST_WORKER = 9000 };

/* ---- registering ---- */

static shoal_status amount(const struct instance *in, const char *key, uint64_t min, uint64_t max,
                           unsigned *out)
{
    uint64_t n = *out;
    shoal_status st = instance_u64(in, key, min, max, &n);

    *out = (unsigned)n;
    return st;
}

static shoal_status limits_of(const struct instance *in, struct model_settings *s)
{
    shoal_status st = SHOAL_OK;

    for (const struct model_limit *l = model_limits; l->name && st == SHOAL_OK; l++)
        st = amount(in, l->name, l->min, l->max, (unsigned *)(void *)((char *)s + l->at));
    return st;
}

static shoal_status settings_of(const struct instance *in, struct model_settings *s)
{
    unsigned workers = 0;
    shoal_status st = limits_of(in, s);

    if (st == SHOAL_OK)
        st = amount(in, "initial_workers", 0, WORKERS_MAX, &workers);
    s->min_workers = s->max_workers = workers;
    return st;
}

static void answer_registered(struct request *q, const struct version *v, unsigned workers,
                              bool synchronous)
{
    if (workers == 0)
        answer_status(q, 200,
                      "Model \"%s\" Version: %s registered with 0 initial workers. Use scale "
                      "workers API to add workers for the model.",
                      v->name, v->version);
    else if (synchronous)
        answer_status(q, 200, "Model \"%s\" Version: %s registered with %u initial workers",
                      v->name, v->version, workers);
    else
        answer_status(q, 202, "Processing worker updates...");
}

/* Parameters of the address, or of a JSON body. */
static shoal_status register_model(struct registry *r, const struct instance *in,
                                   struct lease *lease, unsigned *workers, enum registry_error *why)
{
    const char *url = instance_text(in, "url"), *version = instance_text(in, "model_version");
    const char *name = instance_text(in, "model_name");
    struct model_settings settings;
    char own[NAME_MAX_LEN + 1] = "";
    shoal_status st;

    if (!name && url)
        model_name_of_file(own, url);
    settings = registry_settings(r, name ? name : own);
    st = settings_of(in, &settings);
    *workers = settings.min_workers;
    *why = REGISTRY_BAD;
    if (!url)
        return shoal_fail(SHOAL_EINVAL, "Parameter url is required.");
    if (strstr(url, "://"))
        return shoal_fail(SHOAL_EINVAL, "the url is that of another place, want the name of a "
                                        "file in the model store");
    if (st != SHOAL_OK)
        return st;
    return registry_add(r, url, name, version ? version : "1.0", &settings, &lease->version, why);
}

static void add(struct request *q)
{
    struct lease lease = {0};
    struct tree *t = NULL;
    enum registry_error why = REGISTRY_BAD;
    shoal_status st = SHOAL_OK;
    unsigned workers = 0;
    bool json = q->content_type && strncasecmp(q->content_type, "application/json", 16) == 0;
    size_t cost = 0;

    if (json && q->body.len > 0)
        st = request_parse(q, &t, q->body.at, q->body.len, &cost);
    if (q->over)
        why = REGISTRY_NO_ERROR;
    if (st == SHOAL_OK)
        st = register_model(&q->server->registry, &(struct instance){.query = &q->query, .json = t},
                            &lease, &workers, &why);
    if (st == SHOAL_OK)
        answer_registered(q, lease.version, workers,
                          query_true(&q->query, "synchronous") ||
                              tree_true(tree_get(t, "synchronous")));
    else
        answer_registry_failure(q, st, why);
    lease_end(&lease);
    request_parsed(q, t, cost);
}

/* ---- listing ---- */

static void list(struct request *q)
{
    struct writer *w = &q->answer.body;
    uint64_t limit = PAGE_MAX, from = 0, at = 0;
    struct lease lease = {0};
    shoal_status st = query_u64(&q->query, "limit", 0, UINT32_MAX, &limit);

    if (st == SHOAL_OK)
        st = query_u64(&q->query, "next_page_token", 0, UINT32_MAX, &from);
    if (st != SHOAL_OK) {
        answer_failure(q, st);
        return;
    }
    limit = limit < PAGE_MAX ? limit : PAGE_MAX;
    q->answer.status = 200;
    put_open(w, '{');
    member_open(w, "models", '[');
    while (registry_next(&q->server->registry, NULL, &lease)) {
        if (lease.version->is_default && at++ >= from && at <= from + limit) {
            put_open(w, '{');
            member_text(w, "modelName", lease.version->name);
            member_text(w, "modelUrl", lease.version->file);
            put_close(w, "}");
        }
    }
    put_close(w, "]");
    if (from + limit <= at && at > 0 && limit > 0) {
        char token[24];

        snprintf(token, sizeof token, "%llu", (unsigned long long)(from + limit));
        member_text(w, "nextPageToken", token);
    }
    put_close(w, "}\n");
}

/* ---- describing ---- */

static void put_workers(struct writer *w, const struct lease *lease,
                        const struct batcher_state *state)
{
    char when[32], id[16];
    struct tm tm;

    gmtime_r(&lease->version->began, &tm);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S.000Z", &tm);
    member_open(w, "workers", '[');
    for (unsigned i = 0; i < state->workers; i++) {
        snprintf(id, sizeof id, "%u", FIRST_WORKER + i);
        put_open(w, '{');
        member_text(w, "id", id);
        member_text(w, "startTime", when);
        member_text(w, "status", lease->generation ? "READY" : "UNLOADING");
        member_u64(w, "memoryUsage", mem_held());
        member_u64(w, "pid", (uint64_t)getpid());
        member_flag(w, "gpu", false);
        member_text(w, "gpuUsage", "N/A");
        put_close(w, "}");
    }
    put_close(w, "]");
    member_open(w, "jobQueueStatus", '{');
    member_u64(w, "remainingCapacity", state->room);
    member_u64(w, "pendingRequests", state->waiting);
    put_close(w, "}");
}

/* As TorchServe has it: an object, written as a string. */
static void put_metadata(struct writer *w, const struct generation *g)
{
    struct writer text = {0};

    put_open(&text, '{');
    generation_put_platform(&text, g);
    generation_put_facts(&text, g);
    put_close(&text, "}");
    if (!text.failed && bytes_add(&text.out, "", 1) == SHOAL_OK) {
        member_text(w, "customizedMetadata", text.out.at);
    }
    bytes_fini(&text.out);
}

static void put_version(struct request *q, const struct lease *lease, bool metadata)
{
    const struct version *v = lease->version;
    struct batcher_state state = batcher_snapshot(v->batcher);
    struct model_settings settings = version_settings(&q->server->registry, v);
    struct writer *w = &q->answer.body;

    put_open(w, '{');
    member_text(w, "modelName", v->name);
    member_text(w, "modelVersion", v->version);
    member_text(w, "modelUrl", v->file);
    member_text(w, "engine", "shoal");
    member_text(w, "runtime", "native");
    member_u64(w, "minWorkers", state.min);
    member_u64(w, "maxWorkers", state.max);
    member_u64(w, "batchSize", settings.batch_size);
    member_u64(w, "maxBatchDelay", settings.max_batch_delay);
    member_u64(w, "responseTimeout", settings.response_timeout);
    member_u64(w, "queueSize", settings.queue_size);
    member_u64(w, "maxBody", settings.max_body);
    member_u64(w, "rate", settings.rate);
    member_u64(w, "maxRequests", settings.max_requests);
    member_flag(w, "loadedAtStartup", v->path != NULL);
    put_workers(w, lease, &state);
    if (metadata && lease->generation)
        put_metadata(w, lease->generation);
    put_close(w, "}");
}

static void describe(struct request *q, const char *name, const char *version)
{
    bool all = version && strcmp(version, "all") == 0;
    bool metadata = query_true(&q->query, "customized");
    struct lease lease;
    enum registry_error why = REGISTRY_NO_ERROR;
    shoal_status st =
        registry_lease(&q->server->registry, name, all ? NULL : version, &lease, &why);

    if (st != SHOAL_OK) {
        answer_registry_failure(q, st, why);
        return;
    }
    q->answer.status = 200;
    put_open(&q->answer.body, '[');
    if (!all)
        put_version(q, &lease, metadata);
    lease_end(&lease);
    while (all && registry_next(&q->server->registry, name, &lease))
        put_version(q, &lease, metadata);
    put_close(&q->answer.body, "]\n");
}

/* ---- changing ---- */

static bool names_limit(const struct query *query)
{
    for (const struct model_limit *l = model_limits; l->name; l++)
        if (query_get(query, l->name))
            return true;
    return false;
}

/* True: the limits that the address names are changed, or nothing is to be. */
static bool change_limits(struct request *q, const char *name, const char *version)
{
    struct registry *r = &q->server->registry;
    const struct instance in = {.query = &q->query};
    enum registry_error why = REGISTRY_NO_ERROR;
    struct model_settings settings;
    struct lease lease = {0};
    shoal_status st;

    if (!names_limit(&q->query))
        return true;
    st = registry_lease(r, name, version, &lease, &why);
    if (st == SHOAL_OK) {
        settings = version_settings(r, lease.version);
        st = limits_of(&in, &settings);
        why = st == SHOAL_OK ? why : REGISTRY_BAD;
    }
    if (st == SHOAL_OK)
        st = registry_limit(r, name, version, &settings, &why);
    lease_end(&lease);
    if (st != SHOAL_OK)
        answer_registry_failure(q, st, why);
    return st == SHOAL_OK;
}

static void scale(struct request *q, const char *name, const char *version)
{
    uint64_t min = 1, max;
    bool wait = query_true(&q->query, "synchronous");
    enum registry_error why = REGISTRY_BAD;
    shoal_status st = query_u64(&q->query, "min_worker", 0, WORKERS_MAX, &min);

    max = min;
    if (st == SHOAL_OK)
        st = query_u64(&q->query, "max_worker", 0, WORKERS_MAX, &max);
    if (st == SHOAL_OK && max < min)
        st = shoal_fail(SHOAL_EINVAL, "max_worker cannot be less than min_worker.");
    if (st == SHOAL_OK)
        st = registry_scale(&q->server->registry, name, version, (unsigned)min, (unsigned)max, wait,
                            &why);
    if (st != SHOAL_OK)
        answer_registry_failure(q, st, why);
    else if (!wait)
        answer_status(q, 202, "Processing worker updates...");
    else if (version)
        answer_status(q, 200, "Workers scaled to %u for model: %s, version: %s", (unsigned)min,
                      name, version);
    else
        answer_status(q, 200, "Workers scaled to %u for model: %s", (unsigned)min, name);
}

/* PUT /models/NAME: limits, and workers unless only limits are named. */
static void change(struct request *q, const char *name, const char *version)
{
    if (!change_limits(q, name, version))
        return;
    if (!names_limit(&q->query) || query_get(&q->query, "min_worker") ||
        query_get(&q->query, "max_worker"))
        scale(q, name, version);
    else
        answer_status(q, 200, "Limits updated for model: %s", name);
}

static void set_default(struct request *q, const char *name, const char *version)
{
    enum registry_error why = REGISTRY_NO_ERROR;
    shoal_status st = registry_set_default(&q->server->registry, name, version, &why);

    if (st != SHOAL_OK)
        answer_registry_failure(q, st, why);
    else
        answer_status(q, 200, "Default version successfully updated for model \"%s\" to \"%s\"",
                      name, version);
}

static void end(struct request *q, const char *name, const char *version)
{
    enum registry_error why = REGISTRY_NO_ERROR;
    shoal_status st = registry_remove(&q->server->registry, name, version, &why);

    if (st != SHOAL_OK)
        answer_registry_failure(q, st, why);
    else
        answer_status(q, 200, "Model \"%s\" unregistered", name);
}

static void manage_now(struct request *q)
{
    size_t n = q->query.nsegments;
    const char *name = request_segment(q, 1), *version = n > 2 ? request_segment(q, 2) : NULL;

    if (n > 4 || (n == 4 && strcmp(request_segment(q, 3), "set-default") != 0))
        answer_not_found(q);
    else if (n == 1 && request_is(q, "GET"))
        list(q);
    else if (n == 1 && request_is(q, "POST"))
        add(q);
    else if (n == 1)
        answer_not_allowed(q, "GET, POST");
    else if (n == 4 && request_is(q, "PUT"))
        set_default(q, name, version);
    else if (n == 4)
        answer_not_allowed(q, "PUT");
    else if (request_is(q, "GET"))
        describe(q, name, version);
    else if (request_is(q, "PUT"))
        change(q, name, version ? version : query_get(&q->query, "model_version"));
    else if (request_is(q, "DELETE"))
        end(q, name, version);
    else if (request_is(q, "OPTIONS"))
        route_api(q, ROLE_MANAGEMENT);
    else
        answer_not_allowed(q, "GET, PUT, DELETE, OPTIONS");
}

static void manage_by_worker(struct request *q)
{
    manage_now(q);
    q->wake(q);
}

/* Registering opens files and scaling waits for workers: predictions that come by the
 * same listener do not wait for that. */
enum route route_manage(struct request *q)
{
    if (q->roles & ROLE_INFERENCE && !request_is(q, "GET")) {
        q->work = manage_by_worker;
        return ROUTE_WAITS;
    }
    manage_now(q);
    return ROUTE_ANSWERED;
}
