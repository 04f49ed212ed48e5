/* The server about itself: its interface, its metrics, and what the page shows. */
#include "serve/server.h"

#include <stdio.h>
#include <string.h>

/* ---- OpenAPI -----------------------------------------------------------------------------------
 */

struct operation {
    unsigned role;
    const char *path, *method, *id, *what;
    const char *parameters; /* "in:name ..." */
};

static const struct operation operations[] = {
    {ROLE_INFERENCE, "/ping", "get", "ping", "Whether the server is healthy", ""},
    {ROLE_INFERENCE, "/predictions/{model_name}", "post", "predictions",
     "Ask the default version of a model", "path:model_name"},
    {ROLE_INFERENCE, "/predictions/{model_name}/{model_version}", "post", "version_predictions",
     "Ask a version of a model", "path:model_name path:model_version"},
    {ROLE_INFERENCE, "/models/{model_name}/similar", "get", "similar",
     "The words nearest to a word", "path:model_name query:word query:k"},
    {ROLE_INFERENCE, "/models/{model_name}/analogy", "get", "analogy", "a is to b as c is to whom",
     "path:model_name query:a query:b query:c query:k"},
    {ROLE_INFERENCE, "/models/{model_name}/vector", "get", "vector", "The vector of a word",
     "path:model_name query:word"},
    {ROLE_INFERENCE, "/models/{model_name}/map", "get", "map",
     "The nearest words and their places on a map", "path:model_name query:word query:k"},
    {ROLE_INFERENCE, "/v1/models/{model_name}:predict", "post", "v1_predict",
     "KServe's first protocol", "path:model_name"},
    {ROLE_INFERENCE, "/v2", "get", "v2", "Open Inference Protocol: the server", ""},
    {ROLE_INFERENCE, "/v2/health/live", "get", "v2_live", "Whether the server runs", ""},
    {ROLE_INFERENCE, "/v2/health/ready", "get", "v2_ready", "Whether all models are ready", ""},
    {ROLE_INFERENCE, "/v2/models/{model_name}", "get", "v2_model", "What a model takes and gives",
     "path:model_name"},
    {ROLE_INFERENCE, "/v2/models/{model_name}/ready", "get", "v2_model_ready",
     "Whether a model is ready", "path:model_name"},
    {ROLE_INFERENCE, "/v2/models/{model_name}/infer", "post", "v2_infer", "Tensors in and out",
     "path:model_name"},
    {ROLE_MANAGEMENT, "/models", "get", "listModels", "The models, page by page",
     "query:limit query:next_page_token"},
    {ROLE_MANAGEMENT, "/models", "post", "registerModel", "Serve a file of the model store",
     "query:url query:model_name query:model_version query:batch_size query:max_batch_delay "
     "query:initial_workers query:synchronous query:response_timeout"},
    {ROLE_MANAGEMENT, "/models/{model_name}", "get", "describeModel", "The state of a model",
     "path:model_name query:customized"},
    {ROLE_MANAGEMENT, "/models/{model_name}", "put", "setAutoScale", "Set the number of workers",
     "path:model_name query:min_worker query:max_worker query:synchronous"},
    {ROLE_MANAGEMENT, "/models/{model_name}", "delete", "unregisterModel", "End a model",
     "path:model_name"},
    {ROLE_MANAGEMENT, "/models/{model_name}/{model_version}", "get", "describeVersion",
     "The state of a version, or of all", "path:model_name path:model_version"},
    {ROLE_MANAGEMENT, "/models/{model_name}/{model_version}", "put", "version_setAutoScale",
     "Set the number of workers of a version",
     "path:model_name path:model_version query:min_worker query:max_worker query:synchronous"},
    {ROLE_MANAGEMENT, "/models/{model_name}/{model_version}", "delete", "unregisterVersion",
     "End a version", "path:model_name path:model_version"},
    {ROLE_MANAGEMENT, "/models/{model_name}/{model_version}/set-default", "put", "setDefault",
     "Make a version the default", "path:model_name path:model_version"},
    {ROLE_METRICS, "/metrics", "get", "metrics", "Prometheus' metrics", "query:name[]"},
};

static void put_parameters(struct writer *w, const char *at)
{
    put_key(w, "parameters");
    put_open(w, '[');
    while (*at) {
        size_t len = strcspn(at, " ");
        bool path = *at == 'p';
        char name[48];

        snprintf(name, sizeof name, "%.*s", (int)len - (path ? 5 : 6), at + (path ? 5 : 6));
        put_open(w, '{');
        put_key(w, "name");
        put_text(w, name);
        put_key(w, "in");
        put_text(w, path ? "path" : "query");
        put_key(w, "required");
        put_flag(w, path);
        put_key(w, "schema");
        put_raw(w, "{\"type\":\"string\"}");
        w->comma = true;
        put_close(w, '}');
        at += len + (at[len] == ' ');
    }
    put_close(w, ']');
}

static void put_operation(struct writer *w, const struct operation *o)
{
    put_key(w, o->method);
    put_open(w, '{');
    put_key(w, "operationId");
    put_text(w, o->id);
    put_key(w, "description");
    put_text(w, o->what);
    put_parameters(w, o->parameters);
    put_key(w, "responses");
    put_raw(w, "{\"200\":{\"description\":\"Done\"},\"default\":{\"description\":\"An error\","
               "\"content\":{\"application/json\":{\"schema\":{\"type\":\"object\",\"properties\":"
               "{\"code\":{\"type\":\"integer\"},\"type\":{\"type\":\"string\"},\"message\":"
               "{\"type\":\"string\"}}}}}}}");
    w->comma = true;
    put_close(w, '}');
}

void describe_api(struct request *q, unsigned roles)
{
    struct writer *w = &q->answer.body;
    const struct operation *open = NULL;

    q->answer.status = 200;
    put_open(w, '{');
    put_key(w, "openapi");
    put_text(w, "3.0.1");
    put_key(w, "info");
    put_open(w, '{');
    put_key(w, "title");
    put_text(w, "shoal APIs");
    put_key(w, "description");
    put_text(w, "shoal serves models with TorchServe's REST interface");
    put_key(w, "version");
    put_text(w, shoal_version());
    put_close(w, '}');
    put_key(w, "paths");
    put_open(w, '{');
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        const struct operation *o = &operations[i];

        if (!(o->role & roles))
            continue;
        if (!open || strcmp(open->path, o->path) != 0) {
            if (open)
                put_close(w, '}');
            put_key(w, o->path);
            put_open(w, '{');
        }
        put_operation(w, o);
        open = o;
    }
    if (open)
        put_close(w, '}');
    put_close(w, '}');
    put_close(w, '}');
    put_raw(w, "\n");
}

/* ---- metrics
 * -------------------------------------------------------------------------------------- */

/* A number of every version, under one name. */
struct per_model {
    const char *name, *type, *unit;
    double (*value)(const struct version *v);
    bool camel; /* labels as TorchServe's backend writes them */
};

static double requests(const struct version *v)
{
    return (double)atomic_load(&v->tally.requests);
}

static double run_us(const struct version *v)
{
    return (double)atomic_load(&v->tally.run_ns) * 1e-3;
}

static double queue_us(const struct version *v)
{
    return (double)atomic_load(&v->tally.queue_ns) * 1e-3;
}

static double last_run_ms(const struct version *v)
{
    return (double)atomic_load(&v->tally.last_run_ns) * 1e-6;
}

static double failures(const struct version *v)
{
    return (double)atomic_load(&v->tally.failures);
}

static double refused(const struct version *v)
{
    return (double)atomic_load(&v->tally.refused);
}

static double inputs(const struct version *v)
{
    return (double)atomic_load(&v->tally.inputs);
}

static double batches(const struct version *v)
{
    return (double)atomic_load(&v->tally.batches);
}

static double abandoned(const struct version *v)
{
    return (double)atomic_load(&v->tally.abandoned);
}

static double reloads(const struct version *v)
{
    return (double)atomic_load(&v->tally.reloads);
}

static double waiting(const struct version *v)
{
    return (double)batcher_look(v->batcher).waiting;
}

static double workers(const struct version *v)
{
    return (double)batcher_look(v->batcher).workers;
}

static const struct per_model per_model[] = {
    {"ts_inference_requests_total", "counter", "Count", requests, false},
    {"ts_inference_latency_microseconds", "counter", "Microseconds", run_us, false},
    {"ts_queue_latency_microseconds", "counter", "Microseconds", queue_us, false},
    {"HandlerTime", "gauge", "ms", last_run_ms, true},
    {"PredictionTime", "gauge", "ms", last_run_ms, true},
    {"shoal_failed_requests_total", "counter", "Count", failures, false},
    {"shoal_refused_requests_total", "counter", "Count", refused, false},
    {"shoal_abandoned_requests_total", "counter", "Count", abandoned, false},
    {"shoal_inputs_total", "counter", "Count", inputs, false},
    {"shoal_batches_total", "counter", "Count", batches, false},
    {"shoal_reloads_total", "counter", "Count", reloads, false},
    {"shoal_queue_length", "gauge", "Count", waiting, false},
    {"shoal_workers", "gauge", "Count", workers, false},
};

static void model_labels(char labels[320], const struct version *v, const char *host, bool camel)
{
    if (camel)
        snprintf(labels, 320, "ModelName=\"%s\",Level=\"Model\",Hostname=\"%s\",", v->name, host);
    else
        snprintf(labels, 320, "model_name=\"%s\",model_version=\"%s\",hostname=\"%s\",", v->name,
                 v->is_default ? "default" : v->version, host);
}

static void put_per_model(struct request *q, const struct per_model *m)
{
    struct writer *w = &q->answer.body;
    char labels[320];
    struct lease lease = {0};

    if (!metric_begin(w, &q->query, m->name, m->type, m->unit))
        return;
    while (registry_next(&q->server->registry, NULL, &lease)) {
        model_labels(labels, lease.version, q->server->hostname, m->camel);
        metric_line(w, m->name, labels, m->value(lease.version));
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

static void put_load_times(struct request *q)
{
    char labels[400];
    struct lease lease = {0};

    if (!metric_begin(&q->answer.body, &q->query, "WorkerLoadTime", "gauge", "Milliseconds"))
        return;
    while (registry_next(&q->server->registry, NULL, &lease)) {
        snprintf(labels, sizeof labels,
                 "WorkerName=\"W-9000-%s_%s\",Level=\"Host\",Hostname=\"%s\",", lease.version->name,
                 lease.version->version, q->server->hostname);
        metric_line(&q->answer.body, "WorkerLoadTime", labels,
                    (double)atomic_load(&lease.version->tally.load_ns) * 1e-6);
    }
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
    };
    char labels[128];

    snprintf(labels, sizeof labels, "Level=\"Host\",Hostname=\"%s\",", s->hostname);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (metric_begin(w, &q->query, lines[i].name, lines[i].type, lines[i].unit))
            metric_line(w, lines[i].name, labels, lines[i].value);
}

/* TorchServe gives the last request's, of whichever model. */
static void put_last_times(struct request *q)
{
    double queue = 0, run = 0;
    char labels[128];
    struct lease lease = {0};

    while (registry_next(&q->server->registry, NULL, &lease)) {
        queue = (double)atomic_load(&lease.version->tally.last_queue_ns) * 1e-6;
        run = (double)atomic_load(&lease.version->tally.last_run_ns) * 1e-6;
    }
    snprintf(labels, sizeof labels, "Level=\"Host\",Hostname=\"%s\",", q->server->hostname);
    if (metric_begin(&q->answer.body, &q->query, "QueueTime", "gauge", "Milliseconds"))
        metric_line(&q->answer.body, "QueueTime", labels, queue);
    if (metric_begin(&q->answer.body, &q->query, "WorkerThreadTime", "gauge", "Milliseconds"))
        metric_line(&q->answer.body, "WorkerThreadTime", labels, run);
}

void describe_metrics(struct request *q)
{
    q->answer.status = 200;
    q->answer.type = "text/plain; version=0.0.4; charset=utf-8";
    put_host_wide(q);
    put_last_times(q);
    metrics_host(&q->answer.body, &q->query, q->server->hostname);
    for (size_t i = 0; i < sizeof per_model / sizeof *per_model; i++)
        put_per_model(q, &per_model[i]);
    put_load_times(q);
    put_stages(q);
}

/* ---- for the page
 * ----------------------------------------------------------------------------------- */

void put_platform(struct writer *w, const struct generation *g)
{
    char text[64];

    snprintf(text, sizeof text, "shoal_%s", g->kind->name);
    put_key(w, "platform");
    put_text(w, text);
}

static void put_fact(void *writer, const struct shoal_fact *f)
{
    char count[24];

    if (!f->key)
        return;
    snprintf(count, sizeof count, "%llu", (unsigned long long)f->value.count);
    put_key(writer, f->key);
    put_text(writer, f->value.type == SHOAL_TEXT ? f->value.text : count);
}

void put_facts(struct writer *w, const struct generation *g)
{
    struct shoal_reporter to = {.fact = put_fact, .user = w};

    w->failed |= shoal_model_describe(g->saved, 0, &to) != SHOAL_OK;
}

static void put_model_stats(struct registry *r, struct writer *w, const struct lease *lease)
{
    const struct version *v = lease->version;
    struct batcher_state state = batcher_look(v->batcher);
    char trouble[TROUBLE_MAX];

    registry_trouble(r, v, trouble);
    put_open(w, '{');
    put_key(w, "name");
    put_text(w, v->name);
    put_key(w, "version");
    put_text(w, v->version);
    put_key(w, "default");
    put_flag(w, v->is_default);
    put_key(w, "kind");
    put_text(w, lease->generation ? lease->generation->kind->name : "");
    put_key(w, "ready");
    put_flag(w, lease->generation && state.workers > 0);
    put_key(w, "trouble");
    put_text(w, trouble);
    put_key(w, "workers");
    put_u64(w, state.workers);
    put_key(w, "waiting");
    put_u64(w, state.waiting);
    put_key(w, "requests");
    put_u64(w, atomic_load(&v->tally.requests));
    put_key(w, "failures");
    put_u64(w, atomic_load(&v->tally.failures) + atomic_load(&v->tally.refused));
    put_key(w, "reloads");
    put_u64(w, atomic_load(&v->tally.reloads));
    put_key(w, "rate");
    put_double(w, v->rate);
    put_key(w, "p50");
    put_double(w, v->p50);
    put_key(w, "p99");
    put_double(w, v->p99);
    put_key(w, "facts");
    put_open(w, '{');
    if (lease->generation)
        put_facts(w, lease->generation);
    put_close(w, '}');
    put_close(w, '}');
}

void describe_stats(struct request *q)
{
    struct writer *w = &q->answer.body;
    struct lease lease = {0};

    q->answer.status = 200;
    put_open(w, '{');
    put_key(w, "version");
    put_text(w, shoal_version());
    put_key(w, "uptime");
    put_double(w, clock_now() - q->server->tally.began);
    put_key(w, "healthy");
    put_flag(w, registry_healthy(&q->server->registry));
    put_key(w, "models");
    put_open(w, '[');
    while (registry_next(&q->server->registry, NULL, &lease)) {
        put_model_stats(&q->server->registry, w, &lease);
    }
    put_close(w, ']');
    put_close(w, '}');
    put_raw(w, "\n");
}
