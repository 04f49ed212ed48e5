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

static void server_metadata(struct request *q)
{
    struct writer *w = &q->answer.body;

    q->answer.status = 200;
    put_open(w, '{');
    member_text(w, "name", "shoal");
    member_text(w, "version", shoal_version());
    member_open(w, "extensions", '[');
    put_text(w, "binary_tensor_data"); /* infer.c */
    put_close(w, "]}\n");
}

static void put_tensor_shape(struct writer *w, const struct tensor_shape *t)
{
    put_open(w, '[');
    put_open(w, '{');
    member_text(w, "name", t->name);
    member_text(w, "datatype", t->datatype);
    member_open(w, "shape", '[');
    for (size_t i = 0; i < t->dims; i++)
        put_double(w, (double)t->shape[i]);
    put_close(w, "]}]");
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
    struct tensor_shape input, output;

    g->kind->shapes(g->model, &input, &output);
    q->answer.status = 200;
    put_open(w, '{');
    member_text(w, "name", q->lease.version->name);
    put_versions(q, w);
    generation_put_platform(w, g);
    put_key(w, "inputs");
    put_tensor_shape(w, &input);
    put_key(w, "outputs");
    put_tensor_shape(w, &output);
    put_close(w, "}\n");
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
                        q->lease.generation && batcher_open(q->lease.version->batcher) &&
                            !atomic_load(&q->server->draining));
}

/* /v2/models/NAME[/versions/VERSION][/ready|/infer] */
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

    if (n >= 3 && strcmp(request_segment(q, 1), "models") == 0)
        return model(q);
    if (!request_is(q, "GET"))
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
