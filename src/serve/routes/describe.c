/* The server about itself: its interface, its metrics, and what the page shows. */
#include "serve/server.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- OpenAPI ---- */

/* The paths of each role and what they refer to, and the table of all routes: made from
 * src/serve/api.txt and api.json by scripts/api.py when the library is built. */
#include "api.inc"

void route_api(struct request *q, unsigned roles)
{
    static const struct {
        unsigned role;
        const char *paths;
    } parts[] = {
        {UINT_MAX, api_paths_any},
        {ROLE_INFERENCE, api_paths_inference},
        {ROLE_MANAGEMENT, api_paths_management},
        {ROLE_METRICS, api_paths_metrics},
    };
    struct writer *w = &q->answer.body;

    q->answer.status = 200;
    put_open(w, '{');
    member_text(w, "openapi", "3.0.1");
    member_open(w, "info", '{');
    member_text(w, "title", "shoal APIs");
    member_text(w, "description", "shoal serves models with TorchServe's REST interface");
    member_text(w, "version", shoal_version());
    put_key(w, "license");
    put_json(w, "{\"name\":\"MIT\",\"url\":\"https://opensource.org/license/mit\"}");
    put_close(w, "}");
    put_key(w, "servers"); /* clients that are generated of the document ask where it came from */
    put_json(w, "[{\"url\":\"/\"}]");
    member_open(w, "paths", '{');
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].role & roles)
            put_json(w, parts[i].paths);
    put_close(w, "}");
    put_key(w, "components");
    put_json(w, api_components_head);
    put_api_examples(w, &q->server->registry, true);
    put_raw(w, api_components_middle);
    put_api_examples(w, &q->server->registry, false);
    put_raw(w, api_components_tail);
    put_key(w, "security"); /* none, or a token */
    put_json(w, "[{},{\"token\":[]}]");
    put_close(w, "}\n");
}

/* How well a part of a route fits one of the address: 0 not at all, 1 as a parameter, 2 with what is
 * behind it ("{model_name}:predict"), 3 as it stands. */
static unsigned part_fits(const char *part, size_t len, const char *said)
{
    const char *brace = memchr(part, '}', len);
    size_t behind, n = strlen(said);

    if (*part != '{' || !brace)
        return n == len && memcmp(part, said, n) == 0 ? 3 : 0;
    behind = len - (size_t)(brace + 1 - part);
    if (behind == 0)
        return 1;
    return n > behind && memcmp(said + n - behind, brace + 1, behind) == 0 ? 2 : 0;
}

/* 0: it does not fit; else the better, the more of it stands there as such. Each part counts more
 * than all behind it. */
static unsigned route_fits(const char *path, const struct request *q)
{
    unsigned fit = 1;
    size_t i = 0;

    for (; *path == '/' && path[1]; i++) {
        size_t len = strcspn(path + 1, "/");
        unsigned part = i < q->query.nsegments ? part_fits(path + 1, len, q->query.segments[i]) : 0;

        if (part == 0)
            return 0;
        fit = 4 * fit + part;
        path += 1 + len;
    }
    return i == q->query.nsegments ? fit : 0;
}

const char *route_find(const struct request *q)
{
    const char *best = NULL, *first = request_segment(q, 0);
    unsigned most = 0;

    for (size_t i = 0; i < sizeof api_routes / sizeof *api_routes; i++) {
        /* No address begins with a parameter: a look at one character leaves few. */
        unsigned fit = api_routes[i][1] == *first ? route_fits(api_routes[i], q) : 0;

        if (fit > most) {
            most = fit;
            best = api_routes[i];
        }
    }
    return best;
}

/* ---- metrics ---- */

struct model_figures {
    double requests, failures, refused, abandoned, inputs, batches, reloads, waiting, workers;
    double run_us, queue_us, last_run_ms, last_queue_ms, load_ms;
};

#define FIGURE(member) offsetof(struct model_figures, member)

static double figure_of(const struct version *v, size_t figure)
{
    const struct model_tally *t = &v->tally;
    struct batcher_state state = batcher_snapshot(v->batcher);
    struct model_figures all = {
        .requests = (double)t->requests,
        .failures = (double)t->failures,
        .refused = (double)t->refused,
        .abandoned = (double)t->abandoned,
        .inputs = (double)t->inputs,
        .batches = (double)t->batches,
        .reloads = (double)t->reloads,
        .waiting = (double)state.waiting,
        .workers = (double)state.workers,
        .run_us = (double)t->run_ns * 1e-3,
        .queue_us = (double)t->queue_ns * 1e-3,
        .last_run_ms = (double)t->last_run_ns * 1e-6,
        .last_queue_ms = (double)t->last_queue_ns * 1e-6,
        .load_ms = (double)t->load_ns * 1e-6,
    };

    return *(const double *)(const void *)((const char *)&all + figure);
}

/* A number of every version, under one name. */
struct per_model {
    const char *name, *type, *unit;
    size_t figure;
    enum { OF_VERSION, OF_MODEL, OF_WORKER } labels; /* as TorchServe writes them */
};

static const struct per_model per_model[] = {
    {"ts_inference_requests_total", "counter", "Count", FIGURE(requests), OF_VERSION},
    {"ts_inference_latency_microseconds", "counter", "Microseconds", FIGURE(run_us), OF_VERSION},
    {"ts_queue_latency_microseconds", "counter", "Microseconds", FIGURE(queue_us), OF_VERSION},
    {"HandlerTime", "gauge", "ms", FIGURE(last_run_ms), OF_MODEL},
    {"PredictionTime", "gauge", "ms", FIGURE(last_run_ms), OF_MODEL},
    {"shoal_failed_requests_total", "counter", "Count", FIGURE(failures), OF_VERSION},
    {"shoal_refused_requests_total", "counter", "Count", FIGURE(refused), OF_VERSION},
    {"shoal_abandoned_requests_total", "counter", "Count", FIGURE(abandoned), OF_VERSION},
    {"shoal_inputs_total", "counter", "Count", FIGURE(inputs), OF_VERSION},
    {"shoal_batches_total", "counter", "Count", FIGURE(batches), OF_VERSION},
    {"shoal_reloads_total", "counter", "Count", FIGURE(reloads), OF_VERSION},
    {"shoal_queue_length", "gauge", "Count", FIGURE(waiting), OF_VERSION},
    {"shoal_workers", "gauge", "Count", FIGURE(workers), OF_VERSION},
    {"WorkerLoadTime", "gauge", "Milliseconds", FIGURE(load_ms), OF_WORKER},
};

static void put_per_model(struct request *q, const struct per_model *m)
{
    struct writer *w = &q->answer.body;
    const char *host = q->server->hostname;
    char labels[400];
    struct lease lease = {0};

    if (!metric_begin(w, &q->query, m->name, m->type, m->unit))
        return;
    while (registry_next(&q->server->registry, NULL, &lease)) {
        const struct version *v = lease.version;

        if (m->labels == OF_MODEL)
            snprintf(labels, sizeof labels, "ModelName=\"%s\",Level=\"Model\",Hostname=\"%s\",",
                     v->name, host);
        else if (m->labels == OF_WORKER)
            snprintf(labels, sizeof labels,
                     "WorkerName=\"W-9000-%s_%s\",Level=\"Host\",Hostname=\"%s\",", v->name,
                     v->version, host);
        else
            snprintf(labels, sizeof labels,
                     "model_name=\"%s\",model_version=\"%s\",hostname=\"%s\",", v->name,
                     v->is_default ? "default" : v->version, host);
        metric_line(w, m->name, labels, figure_of(v, m->figure));
    }
}

static void put_stages(struct request *q)
{
    static const char *const stages[STAGES] = {"read", "queue", "run", "write", "all"};
    struct writer *w = &q->answer.body;
    char labels[400];
    struct lease lease = {0};

    if (!metric_begin(w, &q->query, "shoal_stage_seconds", "histogram", "Seconds"))
        return;
    while (registry_next(&q->server->registry, NULL, &lease)) {
        for (int stage = 0; stage < STAGES; stage++) {
            snprintf(labels, sizeof labels, "model_name=\"%s\",model_version=\"%s\",stage=\"%s\"",
                     lease.version->name, lease.version->version, stages[stage]);
            metric_histogram(w, "shoal_stage_seconds", labels, &lease.version->tally.stages[stage]);
        }
    }
}

/* Without a model's name TorchServe gives the last request's, of whichever model. */
static double last_figure(struct registry *r, size_t which)
{
    struct lease lease = {0};
    double last = 0;

    while (registry_next(r, NULL, &lease))
        last = figure_of(lease.version, which);
    return last;
}

static void put_host_wide(struct request *q)
{
    struct shoal_server *s = q->server;
    struct writer *w = &q->answer.body;
    const struct {
        const char *name, *type, *unit;
        double value;
    } lines[] = {
        {"Requests2XX", "counter", "Count", (double)atomic_load(&s->tally.answers[2])},
        {"Requests4XX", "counter", "Count", (double)atomic_load(&s->tally.answers[4])},
        {"Requests5XX", "counter", "Count", (double)atomic_load(&s->tally.answers[5])},
        {"shoal_rate_limited_total", "counter", "Count", (double)atomic_load(&s->tally.limited)},
        {"shoal_unauthorized_total", "counter", "Count",
         (double)atomic_load(&s->tally.unauthorized)},
        {"shoal_state_failures_total", "counter", "Count",
         (double)atomic_load(&s->registry.state_failures)},
        {"shoal_requests_under_way", "gauge", "Count", (double)atomic_load(&s->under_way)},
        {"shoal_uptime_seconds", "gauge", "Seconds", clock_now() - s->tally.began},
        {"QueueTime", "gauge", "Milliseconds", last_figure(&s->registry, FIGURE(last_queue_ms))},
        {"WorkerThreadTime", "gauge", "Milliseconds",
         last_figure(&s->registry, FIGURE(last_run_ms))},
    };
    char labels[128];

    snprintf(labels, sizeof labels, "Level=\"Host\",Hostname=\"%s\",", s->hostname);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (metric_begin(w, &q->query, lines[i].name, lines[i].type, lines[i].unit))
            metric_line(w, lines[i].name, labels, lines[i].value);
}

void route_metrics(struct request *q)
{
    q->answer.status = 200;
    q->answer.type = "text/plain; version=0.0.4; charset=utf-8";
    put_host_wide(q);
    metrics_host(&q->answer.body, &q->query, q->server->hostname);
    for (size_t i = 0; i < sizeof per_model / sizeof *per_model; i++)
        put_per_model(q, &per_model[i]);
    put_stages(q);
}

/* ---- for the page ---- */

static void put_model_stats(struct registry *r, struct writer *w, const struct lease *lease)
{
    const struct version *v = lease->version;
    struct batcher_state state = batcher_snapshot(v->batcher);
    char trouble[TROUBLE_MAX];

    registry_trouble(r, v, trouble);
    put_open(w, '{');
    member_text(w, "name", v->name);
    member_text(w, "version", v->version);
    member_flag(w, "default", v->is_default);
    member_text(w, "kind", lease->generation ? shoal_model_kind(lease->generation->saved) : "");
    member_flag(w, "ready", lease->generation && state.workers > 0);
    member_text(w, "trouble", trouble);
    member_u64(w, "workers", state.workers);
    member_u64(w, "waiting", state.waiting);
    member_u64(w, "requests", atomic_load(&v->tally.requests));
    member_u64(w, "failures", atomic_load(&v->tally.failures) + atomic_load(&v->tally.refused));
    member_u64(w, "reloads", atomic_load(&v->tally.reloads));
    member_double(w, "rate", v->rate);
    member_double(w, "p50", v->p50);
    member_double(w, "p99", v->p99);
    member_open(w, "facts", '{');
    if (lease->generation)
        generation_put_facts(w, lease->generation);
    put_close(w, "}}");
}

void route_stats(struct request *q)
{
    struct writer *w = &q->answer.body;
    struct lease lease = {0};

    q->answer.status = 200;
    put_open(w, '{');
    member_text(w, "version", shoal_version());
    member_double(w, "uptime", clock_now() - q->server->tally.began);
    member_flag(w, "healthy", registry_healthy(&q->server->registry));
    member_open(w, "models", '[');
    while (registry_next(&q->server->registry, NULL, &lease))
        put_model_stats(&q->server->registry, w, &lease);
    put_close(w, "]}\n");
}
