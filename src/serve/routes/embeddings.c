/* /v1/embeddings and /v1/models in OpenAI's shape: vectors of texts for clients that exist.
 *
 *     {"model": "words", "input": ["a text", "another"], "encoding_format": "base64"}
 *     {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": ...}, ...],
 *      "model": "words", "usage": {"prompt_tokens": 3, "total_tokens": 3}}
 *
 * The model's name stands in the body, so that is read before there is a lease: a small one here, a
 * large one by a reader's thread, which then goes on with it. */
#include "serve/routes/predict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS_MOST = 2048, SMALL_BODY = 4096 };

/* ---- errors ---- */

void openai_error(struct writer *w, int status, const char *type, const char *message)
{
    bool missing = strncmp(type, "Model", 5) == 0;

    member_open(w, "error", '{');
    member_text(w, "message", message);
    member_text(w, "type",
                status >= 500   ? "server_error"
                : status == 429 ? "rate_limit_error"
                                : "invalid_request_error");
    put_key(w, "param");
    put_json(w, "null");
    put_key(w, "code");
    if (missing || status == 401)
        put_text(w, missing ? "model_not_found" : "invalid_api_key");
    else
        put_json(w, "null");
    put_close(w, "}");
}

bool openai_path(const struct request *q)
{
    const char *what = request_segment(q, 1);

    return q->query.nsegments == 2 && strcmp(request_segment(q, 0), "v1") == 0 &&
           (strcmp(what, "embeddings") == 0 || strcmp(what, "models") == 0);
}

/* ---- the models ---- */

/* OpenAI's list, and the names as KServe's first protocol has them. */
static void list_models(struct request *q)
{
    struct writer *w = &q->answer.body;
    struct lease lease = {0};

    q->answer.status = 200;
    put_open(w, '{');
    member_text(w, "object", "list");
    member_open(w, "data", '[');
    while (registry_next(&q->server->registry, NULL, &lease)) {
        if (!lease.version->is_default)
            continue;
        put_open(w, '{');
        member_text(w, "id", lease.version->name);
        member_text(w, "object", "model");
        member_u64(w, "created", (uint64_t)lease.version->began);
        member_text(w, "owned_by", "shoal");
        put_close(w, "}");
    }
    put_close(w, "]");
    member_open(w, "models", '[');
    while (registry_next(&q->server->registry, NULL, &lease))
        if (lease.version->is_default)
            put_text(w, lease.version->name);
    put_close(w, "]}\n");
}

/* ---- reading ---- */

/* The lease of the model that the body names; else the answer says why there is none. */
static bool lease_named(struct request *q)
{
    char name[NAME_MAX_LEN + 1] = "";
    struct tree *t;
    size_t cost;
    shoal_status st = request_parse(q, &t, q->body.at ? q->body.at : "", q->body.len, &cost);
    const struct tree *model = st == SHOAL_OK ? tree_get(t, "model") : NULL;

    if (st == SHOAL_OK && tree_kind(model) != TREE_TEXT)
        st = shoal_fail(SHOAL_EINVAL, "model: found no name, want that of a model");
    else if (st == SHOAL_OK)
        snprintf(name, sizeof name, "%s", tree_text(model));
    request_parsed(q, t, cost);
    if (st != SHOAL_OK) {
        answer_failure(q, st);
        return false;
    }
    if (!request_lease(q, name, NULL))
        return false;
    if (q->lease.generation->kind->embedding)
        return true;
    shoal_fail(SHOAL_EINVAL, "model: %s has no vectors of texts, want word vectors or a classifier "
               "of texts", name);
    answer_failure(q, SHOAL_EINVAL);
    return false;
}

static void read_large(struct request *q)
{
    if (!lease_named(q)) {
        q->wake(q);
        return;
    }
    if (predict_begin(q, "embed") == ROUTE_ANSWERED)
        q->wake(q);
    else
        q->work(q); /* as a reader's thread does: this one is */
}

static shoal_status add_input(struct request *q, const struct tree *input)
{
    struct instance in = {.verb = "embed"};

    if (tree_kind(input) == TREE_TEXT) {
        in.bytes = tree_text(input);
        in.len = strlen(in.bytes);
    } else if (tree_kind(input) == TREE_LIST) {
        in.json = input;
    } else {
        return shoal_fail(SHOAL_EINVAL, "input: found neither text nor token ids, want one of both");
    }
    if (in.bytes && in.len == 0)
        return shoal_fail(SHOAL_EINVAL, "input: found an empty text, want words");
    return predict_add(q, &in);
}

/* A list of numbers is one input; any other list is one for each element. */
static shoal_status add_inputs(struct request *q, const struct tree *input)
{
    size_t n = tree_len(input);
    shoal_status st = SHOAL_OK;

    if (tree_kind(input) != TREE_LIST || (n > 0 && tree_kind(tree_at(input, 0)) == TREE_NUMBER))
        return add_input(q, input);
    if (n == 0 || n > INPUTS_MOST)
        return shoal_fail(SHOAL_EINVAL, "input: found a list of %zu, want 1 to %d", n, INPUTS_MOST);
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = add_input(q, tree_at(input, i));
    return st;
}

static shoal_status read_format(struct request *q, const struct tree *t)
{
    const struct tree *format = tree_get(t, "encoding_format");
    const char *text = tree_text(format);

    q->binary = strcmp(text, "base64") == 0;
    if (format && tree_kind(format) != TREE_NULL && !q->binary && strcmp(text, "float") != 0)
        return shoal_fail(SHOAL_EINVAL, "encoding_format: found '%.40s', want float or base64",
                          text);
    return SHOAL_OK;
}

/* Word vectors cannot be cut: any other number than the model's is refused. */
static shoal_status check_dimensions(const struct request *q, const struct tree *t)
{
    const struct generation *g = q->lease.generation;
    const struct tree *d = tree_get(t, "dimensions");
    size_t n = 0, tokens;

    if (!d || tree_kind(d) == TREE_NULL)
        return SHOAL_OK;
    g->kind->embedding(g->model, job_sample(&q->job, 0), &n, &tokens);
    if (tree_number(d) != (double)n)
        return shoal_fail(SHOAL_EINVAL, "dimensions: found %g, want none or %zu, which the model has",
                          tree_number(d), n);
    return SHOAL_OK;
}

shoal_status embeddings_read(struct request *q)
{
    struct tree *t;
    size_t cost;
    shoal_status st = request_parse(q, &t, q->body.at ? q->body.at : "", q->body.len, &cost);
    const struct tree *input = st == SHOAL_OK ? tree_get(t, "input") : NULL;

    q->shape = SHAPE_EMBEDDINGS;
    if (st == SHOAL_OK && !input)
        st = shoal_fail(SHOAL_EINVAL, "input: found none, want a text, texts or token ids");
    if (st == SHOAL_OK)
        st = read_format(q, t);
    if (st == SHOAL_OK)
        st = add_inputs(q, input);
    if (st == SHOAL_OK)
        st = check_dimensions(q, t);
    request_parsed(q, t, cost);
    return st;
}

enum route route_openai(struct request *q)
{
    bool models = strcmp(request_segment(q, 1), "models") == 0;

    if (!request_is(q, models ? "GET" : "POST"))
        return answer_not_allowed(q, models ? "GET" : "POST");
    if (models) {
        list_models(q);
        return ROUTE_ANSWERED;
    }
    if (q->trial)
        return ROUTE_WAITS;
    if (q->body.len > SMALL_BODY) {
        q->work = read_large;
        return ROUTE_WAITS;
    }
    return lease_named(q) ? predict_begin(q, "embed") : ROUTE_ANSWERED;
}

/* ---- writing ---- */

/* Three bytes become four letters. */
static void put_base64(struct writer *w, const unsigned char *at, size_t len)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[4 * 64];
    size_t n = 0;

    put_raw(w, "\"");
    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        unsigned bits = (unsigned)at[i] << 16 | (unsigned)(left > 1 ? at[i + 1] : 0) << 8 |
                        (left > 2 ? at[i + 2] : 0);

        text[n++] = letters[bits >> 18];
        text[n++] = letters[bits >> 12 & 63];
        text[n++] = left > 1 ? letters[bits >> 6 & 63] : '=';
        text[n++] = left > 2 ? letters[bits & 63] : '=';
        if (n == sizeof text || left <= 3) {
            put_bytes(w, text, n);
            n = 0;
        }
    }
    put_raw(w, "\"");
    w->comma = true;
}

static void put_embedding(struct request *q, struct writer *w, size_t i, const float *x, size_t n)
{
    put_open(w, '{');
    member_text(w, "object", "embedding");
    member_u64(w, "index", i);
    put_key(w, "embedding");
    if (q->binary) {
        put_base64(w, (const unsigned char *)x, n * sizeof *x);
    } else {
        put_open(w, '[');
        for (size_t j = 0; j < n; j++)
            put_float(w, x[j]);
        put_close(w, "]");
    }
    put_close(w, "}");
}

static void unknown_input(struct request *q, size_t i)
{
    char text[128];

    snprintf(text, sizeof text, "input: text %zu has no word that the model knows, want one", i);
    answer_error(q, 400, "BadRequestException", text);
}

void embeddings_write(struct request *q, struct writer *w)
{
    const struct generation *g = q->job.generation;
    size_t all = 0, n, tokens;

    put_open(w, '{');
    member_text(w, "object", "list");
    member_open(w, "data", '[');
    for (size_t i = 0; i < q->job.n; i++) {
        const float *x = g->kind->embedding(g->model, job_sample(&q->job, i), &n, &tokens);

        if (!x) {
            unknown_input(q, i);
            return;
        }
        put_embedding(q, w, i, x, n);
        all += tokens;
    }
    put_close(w, "]");
    member_text(w, "model", q->lease.version->name);
    member_open(w, "usage", '{');
    member_u64(w, "prompt_tokens", all);
    member_u64(w, "total_tokens", all);
    put_close(w, "}}\n");
}
