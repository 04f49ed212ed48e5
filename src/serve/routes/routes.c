/* Which address is answered by whom, who may ask, and what an error looks like. */
#include "serve/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- answers ---- */

void answer_error(struct request *q, int status, const char *type, const char *message)
{
    struct writer *w = &q->answer.body;

    q->answer.status = status;
    q->answer.type = NULL;
    q->answer.json_length = 0;
    w->out.len = 0;
    w->comma = false;
    if (q->wire) {
        put_raw(w, message);
        return;
    }
    put_open(w, '{');
    if (q->v2) {
        member_text(w, "error", message);
    } else if (q->openai) {
        openai_error(w, status, type, message);
    } else {
        member_u64(w, "code", (uint64_t)status);
        member_text(w, "type", type);
        member_text(w, "message", message);
    }
    put_close(w, "}\n");
}

void answer_no_memory(struct request *q)
{
    static const char text[] = "{\"code\":507,\"type\":\"OutOfMemoryError\","
                               "\"message\":\"Out of memory\"}\n";
    static const char v2[] = "{\"error\":\"Out of memory\"}\n";
    static const char plain[] = "Out of memory";

    bytes_fini(&q->answer.body.out);
    q->answer.status = 507;
    q->answer.type = NULL;
    q->answer.constant = q->wire ? plain : q->v2 ? v2 : text;
    q->answer.constant_len = strlen(q->answer.constant);
}

void answer_charge(struct request *q)
{
    if (q->answer.body.failed)
        answer_no_memory(q);
    if (q->answer.constant || q->answer.body.paid > 0 || /* charged as it was written */
        request_charge(q, q->answer.body.out.len) == SHOAL_OK)
        return;
    bytes_fini(&q->answer.body.out);
    answer_error(q, 503, "ServiceUnavailableException",
                 "The answer is larger than the memory that is left for answers.");
    q->answer.retry_after = 1;
}

enum route answer_not_found(struct request *q)
{
    answer_error(q, 404, "ResourceNotFoundException",
                 "Requested resource is not found, please refer to API document.");
    return ROUTE_ANSWERED;
}

enum route answer_not_allowed(struct request *q, const char *allow)
{
    answer_error(q, 405, "MethodNotAllowedException",
                 "Requested method is not allowed, please refer to API document.");
    q->answer.allow = allow;
    return ROUTE_ANSWERED;
}

void answer_failure(struct request *q, shoal_status st)
{
    switch (st) {
    case SHOAL_ENOENT:
        answer_error(q, 404, "ResourceNotFoundException", shoal_error());
        break;
    case SHOAL_EINVAL:
    case SHOAL_EFORMAT:
        answer_error(q, 400, "BadRequestException", shoal_error());
        break;
    case SHOAL_ELIMIT:
        if (q->over == 413) {
            answer_error(q, 413, "RequestEntityTooLargeException", shoal_error());
            break;
        }
        /* fall through */
    case SHOAL_ESTOP:
        answer_error(q, 503, "ServiceUnavailableException", shoal_error());
        q->answer.retry_after = 1;
        break;
    case SHOAL_ENOMEM:
        answer_error(q, 507, "OutOfMemoryError", "Out of memory");
        break;
    default: /* its sentence may name files of the host */
        answer_error(q, 500, "InternalServerException", "The model failed.");
    }
}

void answer_registry_failure(struct request *q, shoal_status st, enum registry_error why)
{
    static const struct {
        int status;
        const char *type;
    } as[] = {
        [REGISTRY_BAD] = {400, "BadRequestException"},
        [REGISTRY_NO_MODEL] = {404, "ModelNotFoundException"},
        [REGISTRY_NO_VERSION] = {404, "ModelVersionNotFoundException"},
        [REGISTRY_TAKEN] = {409, "ConflictStatusException"},
        [REGISTRY_IS_DEFAULT] = {403, "InvalidModelVersionException"},
    };

    if (why == REGISTRY_NO_ERROR)
        answer_failure(q, st);
    else if (why == REGISTRY_BAD && st == SHOAL_ENOENT)
        answer_error(q, 404, "ModelNotFoundException", shoal_error());
    else
        answer_error(q, as[why].status, as[why].type, shoal_error());
}

void answer_status(struct request *q, int status, const char *fmt, ...)
{
    struct writer *w = &q->answer.body;
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    q->answer.status = status;
    put_raw(w, "{\n  \"status\": ");
    put_text(w, text);
    put_raw(w, "\n}\n");
}

/* ---- who may ask ---- */

bool request_is(const struct request *q, const char *method)
{
    return strcmp(q->method, method) == 0;
}

const char *request_segment(const struct request *q, size_t i)
{
    return i < q->query.nsegments ? q->query.segments[i] : "";
}

/* Made from src/serve/page and src/saved/page by scripts/embed.sh when the library is built. */
#include "page.inc"

static const struct page_file {
    const char *name; /* "" is the page itself */
    const char *type;
    const char *at;
    size_t len;
} page_files[] = {
    {"", "text/html; charset=utf-8", page_html, sizeof page_html - 1},
    {"page.css", "text/css; charset=utf-8", page_css, sizeof page_css - 1},
    {"page.js", "text/javascript; charset=utf-8", page_js, sizeof page_js - 1},
    {"ask.js", "text/javascript; charset=utf-8", ask_js, sizeof ask_js - 1},
    {"words.js", "text/javascript; charset=utf-8", words_js, sizeof words_js - 1},
    {"tables.js", "text/javascript; charset=utf-8", tables_js, sizeof tables_js - 1},
    {"pictures.js", "text/javascript; charset=utf-8", pictures_js, sizeof pictures_js - 1},
    {"texts.js", "text/javascript; charset=utf-8", texts_js, sizeof texts_js - 1},
    {"interface", "text/html; charset=utf-8", interface_html, sizeof interface_html - 1},
    {"interface.js", "text/javascript; charset=utf-8", interface_js, sizeof interface_js - 1},
    {"map.css", "text/css; charset=utf-8", map_css, sizeof map_css - 1},
    {"map.js", "text/javascript; charset=utf-8", map_js, sizeof map_js - 1},
};

/* What a browser is shown; NULL when there is no such file. */
static const struct page_file *page_find(const char *name)
{
    for (size_t i = 0; i < sizeof page_files / sizeof *page_files; i++)
        if (strcmp(page_files[i].name, name) == 0)
            return &page_files[i];
    return NULL;
}

/* Which token's scope an address belongs to; 0: to all, as each listener describes itself
 * there. tests/serve/scopes.py has the table. */
static unsigned role_of(const struct request *q)
{
    const char *first = request_segment(q, 0);
    size_t n = q->query.nsegments;

    if (n == 0 || strcmp(first, "api-description") == 0 || strcmp(first, "openapi.json") == 0)
        return 0;
    if (strcmp(first, "metrics") == 0)
        return ROLE_METRICS;
    if (strcmp(first, "v2") == 0 && strcmp(request_segment(q, 1), "repository") == 0)
        return ROLE_MANAGEMENT;
    if (strcmp(first, "models") == 0)
        return n == 3 && model_verb_known(request_segment(q, 2)) ? ROLE_INFERENCE : ROLE_MANAGEMENT;
    return ROLE_INFERENCE;
}

/* The page and the health checks need no token: they tell nothing about a model. */
static bool is_open(const struct request *q)
{
    const char *first = request_segment(q, 0);
    size_t n = q->query.nsegments;

    if (!request_is(q, "GET") || !(q->roles & ROLE_INFERENCE))
        return false;
    return (n <= 1 && (page_find(first) || strcmp(first, "ping") == 0)) ||
           (n == 2 && strcmp(first, "health") == 0) ||
           (n == 3 && strcmp(first, "v2") == 0 && strcmp(request_segment(q, 1), "health") == 0);
}

bool request_admit_client(struct request *q)
{
    if (limiter_take(&q->server->limiter, q->client, q->began))
        return true;
    atomic_fetch_add(&q->server->tally.limited, 1);
    answer_error(q, 429, "TooManyRequestsException", "This client asks too often.");
    q->answer.retry_after = 1;
    return false;
}

static bool admit_browser(struct request *q)
{
    const struct shoal_server *s = q->server;

    if (origin_fits(q->origin, q->host) && (s->tokens.on || !s->local || host_is_local(q->host)))
        return true;
    answer_error(q, 403, "ForbiddenException",
                 "A page of another site, or another name of this host, may not ask here.");
    return false;
}

bool request_admit_token(struct request *q, unsigned role)
{
    if (tokens_allow(&q->server->tokens, role ? role : q->roles, q->authorization))
        return true;
    atomic_fetch_add(&q->server->tally.unauthorized, 1);
    /* TorchServe says 400; clients of other protocols are told as HTTP would have it. */
    answer_error(q, q->v2 || q->openai ? 401 : 400, "InvalidKeyException",
                 "Token Authorization failed. Token either incorrect, expired, or not provided "
                 "correctly");
    q->answer.challenge = true;
    return false;
}

/* Before its models are open a server tells nothing but that. */
static bool admit_early(struct request *q)
{
    if (!atomic_load_explicit(&q->server->starting, memory_order_relaxed) || is_open(q))
        return true;
    answer_error(q, 503, "ServiceUnavailableException", "The server is starting.");
    q->answer.retry_after = 1;
    return false;
}

/* Expect: 100-continue. A trial: the request is routed as it will be, up to where its body
 * would be read, and refused if the address, the method or the model is wrong. Any other
 * answer is thrown away; it is given again when the body has come. */
static bool admit_body(struct request *q)
{
    enum route route;

    if (!q->asks_first)
        return true;
    q->trial = true;
    route = route_begin(q);
    q->trial = false;
    if (route == ROUTE_ANSWERED && q->answer.status >= 400)
        return false;
    lease_end(&q->lease);
    bytes_fini(&q->answer.body.out);
    q->answer = (struct answer){0};
    return true;
}

bool route_admit(struct request *q)
{
    shoal_status st = query_init(&q->query, q->address);
    unsigned role;

    if (st != SHOAL_OK) {
        answer_failure(q, st);
        return false;
    }
    q->v2 = strcmp(request_segment(q, 0), "v2") == 0;
    q->openai = openai_path(q);
    q->route = route_find(q);
    role = role_of(q);
    if (!request_admit_client(q) || !admit_browser(q))
        return false;
    if (role && !(q->roles & role)) {
        answer_not_found(q);
        return false;
    }
    return (is_open(q) || request_admit_token(q, role)) && admit_early(q) && admit_body(q);
}

/* ---- inference ---- */

bool request_lease(struct request *q, const char *name, const char *version)
{
    enum registry_error why = REGISTRY_NO_ERROR;
    shoal_status st = registry_lease(&q->server->registry, name, version, &q->lease, &why);

    q->versioned = version != NULL;
    if (st != SHOAL_OK) {
        answer_registry_failure(q, st, why);
        return false;
    }
    if (q->lease.generation)
        return true;
    answer_error(q, 503, "ServiceUnavailableException", "The model's file is not there.");
    q->answer.retry_after = 1;
    return false;
}

static void answer_page(struct request *q, const struct page_file *file)
{
    q->answer.status = 200;
    q->answer.type = file->type;
    q->answer.constant = file->at;
    q->answer.constant_len = file->len;
    q->answer.page = true;
}

bool server_is_ready(struct shoal_server *s)
{
    return !atomic_load(&s->draining) && !atomic_load(&s->starting) &&
           registry_healthy(&s->registry);
}

static void ping(struct request *q)
{
    bool healthy = server_is_ready(q->server);

    answer_status(q, healthy ? 200 : 500, healthy ? "Healthy" : "Unhealthy");
}

/* /health/live, /health/ready, /health/startup: for probes, which look at the status. */
static void health(struct request *q)
{
    struct shoal_server *s = q->server;
    const char *which = request_segment(q, 1);
    bool starting = atomic_load(&s->starting);

    if (strcmp(which, "live") == 0) {
        answer_status(q, 200, "Live");
    } else if (strcmp(which, "startup") == 0) {
        answer_status(q, starting ? 503 : 200, starting ? "Starting" : "Started");
    } else if (server_is_ready(s)) {
        answer_status(q, 200, "Ready");
    } else {
        answer_status(q, 503, starting                    ? "Starting"
                              : atomic_load(&s->draining) ? "Draining"
                                                          : "Unhealthy");
    }
    if (q->answer.status == 503)
        q->answer.retry_after = 1;
}

static enum route predictions(struct request *q)
{
    size_t n = q->query.nsegments;

    if (n < 2 || n > 3)
        return answer_not_found(q);
    if (!request_lease(q, request_segment(q, 1), n == 3 ? request_segment(q, 2) : NULL))
        return ROUTE_ANSWERED;
    if (request_is(q, "OPTIONS")) {
        route_api(q, ROLE_INFERENCE);
        return ROUTE_ANSWERED;
    }
    if (!request_is(q, "POST") && !request_is(q, "PUT"))
        return answer_not_allowed(q, "POST, PUT, OPTIONS");
    return predict_begin(q, "predict");
}

/* GET /models/NAME/similar?word=..., GET /models/NAME/form, POST /models/NAME/invoke */
static enum route model_verb(struct request *q)
{
    const char *verb = request_segment(q, 2);
    bool invoke = strcmp(verb, "invoke") == 0;

    if (invoke ? !request_is(q, "POST") && !request_is(q, "PUT") : !request_is(q, "GET"))
        return answer_not_allowed(q, invoke ? "POST, PUT" : "GET");
    if (strcmp(verb, "form") == 0) {
        route_form(q);
        return ROUTE_ANSWERED;
    }
    if (!request_lease(q, request_segment(q, 1), invoke ? NULL : query_get(&q->query, "version")))
        return ROUTE_ANSWERED;
    return predict_begin(q, invoke ? "predict" : verb);
}

static void root(struct request *q)
{
    if (request_is(q, "OPTIONS"))
        route_api(q, q->roles);
    else if (!request_is(q, "GET"))
        answer_not_allowed(q, "GET, OPTIONS");
    else if (q->roles & ROLE_INFERENCE)
        answer_page(q, page_find(""));
    else
        route_api(q, q->roles);
}

static void api_description(struct request *q)
{
    route_api(q, q->roles);
}

enum route route_begin(struct request *q)
{
    static const struct {
        const char *name;
        void (*get)(struct request *q);
    } simple[] = {
        {"ping", ping},
        {"metrics", route_metrics},
        {"stats", route_stats},
        {"api-description", api_description},
        {"openapi.json", api_description},
    };
    const char *first = request_segment(q, 0);
    size_t n = q->query.nsegments;

    if (n == 0) {
        root(q);
        return ROUTE_ANSWERED;
    }
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++) {
        if (n == 1 && strcmp(first, simple[i].name) == 0) {
            if (!request_is(q, "GET"))
                return answer_not_allowed(q, "GET");
            simple[i].get(q);
            return ROUTE_ANSWERED;
        }
    }
    /* What the interface does not describe is not there: but for the page. */
    if (!q->route && !(n == 1 && request_is(q, "GET") && page_find(first)))
        return answer_not_found(q);
    if (strcmp(first, "health") == 0) {
        if (!request_is(q, "GET"))
            return answer_not_allowed(q, "GET");
        health(q);
        return ROUTE_ANSWERED;
    }
    if (strcmp(first, "predictions") == 0)
        return predictions(q);
    if (q->openai)
        return route_openai(q);
    if (q->v2 && strcmp(request_segment(q, 1), "repository") == 0)
        return q->trial ? ROUTE_WAITS : route_repository(q);
    if (strcmp(first, "v1") == 0 || strcmp(first, "v2") == 0)
        return route_oip(q);
    if (strcmp(first, "models") == 0 && role_of(q) == ROLE_INFERENCE)
        return model_verb(q);
    if (strcmp(first, "models") == 0)
        return q->trial ? ROUTE_WAITS : route_manage(q);
    if (n != 1 || !request_is(q, "GET") || !page_find(first))
        return answer_not_found(q);
    answer_page(q, page_find(first));
    return ROUTE_ANSWERED;
}
