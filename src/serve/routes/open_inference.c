/* The Open Inference Protocol: /v2 as KServe has it, and its predecessor, /v1. */
#include "serve/server.h"

#include <string.h>

/* Probes look at the status, people at the body. */
static void put_flag_answer(struct request *q, const char *name, const char *key, bool on)
{
    struct writer *w = &q->answer.body;

    q->answer.status = on ? 200 : 503;
    if (!on)
        q->answer.retry_after = 1;
    put_open(w, '{');
    if (name)
        member_text(w, "name", name);
    member_flag(w, key, on);
    put_close(w, "}\n");
}

const char *const oip_extensions[] = {"binary_tensor_data", "classification", "model_repository",
                                      "parameters", "statistics", NULL};

static void server_metadata(struct request *q)
{
    struct writer *w = &q->answer.body;

    q->answer.status = 200;
    put_open(w, '{');
    member_text(w, "name", "shoal");
    member_text(w, "version", shoal_version());
    member_open(w, "extensions", '[');
    for (const char *const *name = oip_extensions; *name; name++)
        put_text(w, *name);
    put_close(w, "]}\n");
}

static void put_tensor_shape(struct writer *w, const struct tensor_shape *t)
{
    put_open(w, '{');
    member_text(w, "name", t->name);
    member_text(w, "datatype", t->datatype);
    member_open(w, "shape", '[');
    for (size_t i = 0; i < t->dims; i++)
        put_double(w, (double)t->shape[i]);
    put_close(w, "]}");
}

static void put_versions(struct request *q, struct writer *w)
{
    struct lease other = {0};

    member_open(w, "versions", '[');
    while (registry_next(&q->server->registry, q->lease.version->name, &other))
        put_text(w, other.version->version);
    put_close(w, "]");
}

static void model_metadata(struct request *q)
{
    const struct generation *g = q->lease.generation;
    struct writer *w = &q->answer.body;
    struct tensor_shape input = {0}, outputs[OUTPUTS_MAX] = {0};

    g->kind->shapes(g->model, &input, outputs);
    q->answer.status = 200;
    put_open(w, '{');
    member_text(w, "name", q->lease.version->name);
    put_versions(q, w);
    generation_put_platform(w, g);
    member_open(w, "inputs", '[');
    put_tensor_shape(w, &input);
    put_close(w, "]");
    member_open(w, "outputs", '[');
    for (size_t i = 0; i < OUTPUTS_MAX && outputs[i].name; i++)
        put_tensor_shape(w, &outputs[i]);
    put_close(w, "]}\n");
}

bool lease_is_ready(const struct shoal_server *s, const struct lease *l)
{
    return l->generation && batcher_open(l->version->batcher) && !atomic_load(&s->draining);
}

/* ---- statistics ---- */

static void put_duration(struct writer *w, const char *name, uint64_t count, uint64_t ns)
{
    member_open(w, name, '{');
    member_u64(w, "count", count);
    member_u64(w, "ns", ns);
    put_close(w, "}");
}

struct model_stats model_stats_of(const struct version *v)
{
    const struct model_tally *t = &v->tally;
    uint64_t requests = t->requests, failures = t->failures;

    return (struct model_stats){
        .inferences = t->inputs,
        .executions = t->batches,
        .successes = requests > failures ? requests - failures : 0,
        .failures = failures,
        .all_ns = t->stages[STAGE_ALL].sum,
        .queue_ns = t->queue_ns,
        .input_ns = t->stages[STAGE_READ].sum,
        .infer_ns = t->run_ns,
        .output_ns = t->stages[STAGE_WRITE].sum,
    };
}

static void put_stats(struct writer *w, const struct version *v)
{
    struct model_stats s = model_stats_of(v);

    put_open(w, '{');
    member_text(w, "name", v->name);
    member_text(w, "version", v->version);
    member_u64(w, "inference_count", s.inferences);
    member_u64(w, "execution_count", s.executions);
    member_open(w, "inference_stats", '{');
    put_duration(w, "success", s.successes, s.all_ns);
    put_duration(w, "fail", s.failures, 0);
    put_duration(w, "queue", s.successes, s.queue_ns);
    put_duration(w, "compute_input", s.successes, s.input_ns);
    put_duration(w, "compute_infer", s.successes, s.infer_ns);
    put_duration(w, "compute_output", s.successes, s.output_ns);
    put_close(w, "}");
    member_open(w, "batch_stats", '[');
    put_close(w, "]}");
}

/* Of the version that is leased, else of all of one name, or of all. */
static void statistics(struct request *q, const char *name)
{
    struct writer *w = &q->answer.body;
    struct lease lease = {0};

    q->answer.status = 200;
    put_open(w, '{');
    member_open(w, "model_stats", '[');
    if (!name && q->lease.version)
        put_stats(w, q->lease.version);
    while ((name || !q->lease.version) && registry_next(&q->server->registry, name, &lease))
        put_stats(w, lease.version);
    put_close(w, "]}\n");
}

/* Of a model that is registered: whether a request would be computed now. */
static void model_ready(struct request *q, const char *name, const char *version)
{
    enum registry_error why = REGISTRY_NO_ERROR;
    shoal_status st = registry_lease(&q->server->registry, name, version, &q->lease, &why);

    if (st != SHOAL_OK)
        answer_registry_failure(q, st, why);
    else
        put_flag_answer(q, q->lease.version->name, "ready",
                        lease_is_ready(q->server, &q->lease));
}

/* /v2/models/NAME[/versions/VERSION][/ready|/infer|/stats] */
static enum route model(struct request *q)
{
    size_t n = q->query.nsegments, at = 3;
    const char *version = NULL, *verb;

    if (strcmp(request_segment(q, 3), "versions") == 0) {
        version = request_segment(q, 4);
        at = 5;
    }
    verb = request_segment(q, at);
    if (n < 3 || n > at + 1 || (version && !*version))
        return answer_not_found(q);
    if (strcmp(verb, "ready") == 0 && request_is(q, "GET")) {
        model_ready(q, request_segment(q, 2), version);
        return ROUTE_ANSWERED;
    }
    if (!request_lease(q, request_segment(q, 2), version))
        return ROUTE_ANSWERED;
    if (strcmp(verb, "stats") == 0 && request_is(q, "GET")) {
        statistics(q, version ? NULL : q->lease.version->name);
        return ROUTE_ANSWERED;
    }
    if (strcmp(verb, "infer") == 0)
        return request_is(q, "POST") ? predict_begin(q, "infer") : answer_not_allowed(q, "POST");
    if (!request_is(q, "GET"))
        return answer_not_allowed(q, "GET");
    if (*verb)
        return answer_not_found(q);
    model_metadata(q);
    return ROUTE_ANSWERED;
}

static enum route v2(struct request *q)
{
    size_t n = q->query.nsegments;

    if (n == 3 && strcmp(request_segment(q, 1), "models") == 0 &&
        strcmp(request_segment(q, 2), "stats") == 0 && !request_is(q, "GET"))
        answer_not_allowed(q, "GET");
    else if (n == 3 && strcmp(request_segment(q, 1), "models") == 0 &&
             strcmp(request_segment(q, 2), "stats") == 0)
        statistics(q, NULL);
    else if (n >= 3 && strcmp(request_segment(q, 1), "models") == 0)
        return model(q);
    else if (!request_is(q, "GET"))
        answer_not_allowed(q, "GET");
    else if (n == 1)
        server_metadata(q);
    else if (n == 3 && strcmp(request_segment(q, 1), "health") == 0 &&
             strcmp(request_segment(q, 2), "live") == 0)
        put_flag_answer(q, NULL, "live", true);
    else if (n == 3 && strcmp(request_segment(q, 1), "health") == 0 &&
             strcmp(request_segment(q, 2), "ready") == 0)
        put_flag_answer(q, NULL, "ready", server_is_ready(q->server));
    else
        answer_not_found(q);
    return ROUTE_ANSWERED;
}

/* /v1/models/NAME and /v1/models/NAME:predict */
static enum route v1(struct request *q)
{
    char name[NAME_MAX_LEN + 1];
    const char *at = request_segment(q, 2), *colon = strrchr(at, ':');
    size_t len = colon ? (size_t)(colon - at) : strlen(at);

    if (q->query.nsegments != 3 || strcmp(request_segment(q, 1), "models") != 0 ||
        len > NAME_MAX_LEN || (colon && strcmp(colon, ":predict") != 0))
        return answer_not_found(q);
    memcpy(name, at, len);
    name[len] = '\0';
    if (!request_is(q, colon ? "POST" : "GET"))
        return answer_not_allowed(q, colon ? "POST" : "GET");
    if (!colon)
        model_ready(q, name, NULL);
    else if (request_lease(q, name, NULL))
        return predict_begin(q, "predict");
    return ROUTE_ANSWERED;
}

enum route route_oip(struct request *q)
{
    return q->v2 ? v2(q) : v1(q);
}
