/* From a request's body to a job of the model, and from there to its answer.
 *
 *     event loop                      a reader                a worker of the model
 *
 *     small body: read_request --------------------------------.
 *     large, or found heavy ------> read_by_worker ------------+--> run with others, as a
 *                                                                   batch: job_finished
 *     small answer: route_finish <------------ wake ----------------------------+
 *     send it <------------ wake -- write_by_worker <-------- large answer -----'
 *
 * The loop serves many clients, so nothing on it may take long. It reads small bodies
 * itself, as handing them on would take longer; while it does (`on_loop`), whoever is about
 * to do much work calls request_leave_loop, which fails: what was read is then undone, and a
 * reader's thread begins anew. A request belongs to one thread at a time all the while. */
#include "serve/routes/predict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INSTANCES_MAX = 4096,
    /* Bodies of so many bytes and inputs are read by the event loop itself: that takes less
     * time than to wake another thread. */
    LIGHT_BYTES = 4096,
    LIGHT_INPUTS = 64,
    LIGHT_ANSWER = 16384, /* and bytes of an answer that it writes */
    ANSWER_FREE = 4096,   /* bytes of an answer that are not charged */
    COST_FIGURE_BYTE = 3, /* for a byte of text: "1," becomes a float in memory that grows by
                           * half, 4 * 1.5 / 2 */
};

/* ---- samples ---- */

/* Room for one more sample, zeroed. The first lies in the request itself; with a second they
 * move to an array, which doubles whenever their number is a power of two. */
static shoal_status sample_new(struct request *q, void **out)
{
    size_t size = q->lease.generation->kind->sample_size;
    struct job *job = &q->job;
    char *at = job->samples;

    *out = job->n == 0 ? q->sample : NULL;
    if (job->n == 0) {
        job->samples = q->sample;
        memset(q->sample, 0, size);
        return SHOAL_OK;
    }
    if (!(job->n & (job->n - 1))) {
        if (request_charge(q, (job->n == 1 ? 2 : job->n) * size) != SHOAL_OK)
            return SHOAL_ELIMIT;
        at = realloc(at == q->sample ? NULL : at, 2 * job->n * size);
        if (!at)
            return shoal_fail(SHOAL_ENOMEM, "memory: no room for %zu samples", 2 * job->n);
    }
    if (job->samples == q->sample)
        memcpy(at, q->sample, size);
    job->samples = at;
    *out = at + job->n * size;
    memset(*out, 0, size);
    return SHOAL_OK;
}

/* Asked before each input: a client may have left, or its time be over. */
static shoal_status may_go_on(struct request *q)
{
    if (q->job.n == INSTANCES_MAX)
        return shoal_fail(SHOAL_EINVAL, "found more than %d inputs in one request", INSTANCES_MAX);
    if (q->on_loop)
        return q->job.n < LIGHT_INPUTS ? SHOAL_OK : request_leave_loop(q);
    return request_awaited(q);
}

shoal_status predict_add(struct request *q, struct instance *in)
{
    const struct generation *g = q->lease.generation;
    void *sample = NULL;
    shoal_status st = may_go_on(q);

    if (st == SHOAL_OK)
        st = sample_new(q, &sample);
    if (st != SHOAL_OK)
        return st;
    q->job.n++; /* before it is read: what it holds is freed also upon failure */
    in->query = &q->query;
    in->request = q;
    return g->kind->read(g->model, in, sample);
}

/* ---- bodies ---- */

shoal_status predict_add_list(struct request *q, const struct tree *list,
                              const struct tree *object)
{
    shoal_status st = SHOAL_OK;

    if (tree_len(list) == 0)
        return shoal_fail(SHOAL_EINVAL, "found an empty list, want an input");
    for (size_t i = 0; i < tree_len(list) && st == SHOAL_OK; i++) {
        struct instance in = {
            .verb = "predict", .json = tree_at(list, i), .object = object};

        st = predict_add(q, &in);
    }
    return st;
}

shoal_status predict_add_rows(struct request *q, const float *numbers, size_t rows, size_t width,
                              const struct tree *object, bool tensor)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < rows && st == SHOAL_OK; i++) {
        struct instance in = {.verb = "predict",
                              .numbers = numbers + i * width,
                              .count = width,
                              .object = object,
                              .tensor = tensor};

        st = predict_add(q, &in);
    }
    return st;
}

/* A list of numbers is one input; any other list one for each element. */
static bool is_one(const struct tree *t)
{
    return tree_kind(t) != TREE_LIST ||
           (tree_len(t) > 0 && tree_kind(tree_at(t, 0)) == TREE_NUMBER);
}

static const struct tree *list_of(const struct tree *t, const char *key)
{
    const struct tree *list = tree_get(t, key);

    return tree_kind(list) == TREE_LIST ? list : NULL;
}

static shoal_status read_tree(struct request *q, const struct tree *t)
{
    struct instance in = {.verb = "predict", .json = t};
    const struct tree *list = list_of(t, "instances");

    if (list) {
        q->shape = SHAPE_PREDICTIONS;
        return predict_add_list(q, list, t);
    }
    list = list_of(t, q->lease.generation->kind->list_key);
    if (!list && is_one(t)) {
        q->shape = SHAPE_ONE;
        return predict_add(q, &in);
    }
    q->shape = SHAPE_LIST;
    return predict_add_list(q, list ? list : t, list ? t : NULL);
}

static shoal_status read_numbers(struct request *q, const struct figures *n)
{
    q->shape = n->instances ? SHAPE_PREDICTIONS : n->nested ? SHAPE_LIST : SHAPE_ONE;
    return predict_add_rows(q, n->at, n->rows, n->width, NULL, false);
}

/* JSON of any shape, by a function that reads its tree. */
static shoal_status read_by_tree(struct request *q, const char *at, size_t len,
                                 shoal_status (*of_tree)(struct request *q, const struct tree *t))
{
    struct tree *t;
    size_t cost;
    shoal_status st = request_parse(q, &t, at, len, &cost);

    if (st == SHOAL_OK)
        st = of_tree(q, t);
    request_parsed(q, t, cost);
    return st;
}

static shoal_status read_json(struct request *q, const char *at, size_t len)
{
    size_t cost = len > LIGHT_BYTES ? COST_FIGURE_BYTE * len : 0;
    struct figures numbers = {0};
    shoal_status st = request_charge(q, cost);
    bool found;

    if (st != SHOAL_OK)
        return st;
    found = figures_scan(&numbers, at, len);
    if (found)
        st = read_numbers(q, &numbers);
    figures_fini(&numbers);
    request_refund(q, cost);
    return found ? st : read_by_tree(q, at, len, read_tree);
}

static bool looks_json(const char *at, size_t len)
{
    while (len > 0 && *at && strchr(" \t\r\n", *at))
        at++, len--;
    return len > 0 && *at && strchr("[{\"", *at);
}

static bool type_is(const char *type, const char *want)
{
    size_t len = strlen(want);

    return type && strncasecmp(type, want, len) == 0 &&
           (type[len] == '\0' || type[len] == ';' || type[len] == ' ');
}

/* Such bytes are never taken for JSON, whatever they begin with. */
static bool is_binary(const char *type)
{
    return type_is(type, "application/octet-stream") ||
           (type && strncasecmp(type, "image/", strlen("image/")) == 0);
}

static shoal_status read_bytes(struct request *q, const char *type, const char *at, size_t len)
{
    struct instance in = {.verb = "predict", .bytes = at, .len = len};

    if (len == 0)
        return shoal_fail(SHOAL_EINVAL, "found an empty body, want an input");
    if (type_is(type, "application/json") || (!is_binary(type) && looks_json(at, len)))
        return read_json(q, at, len);
    return predict_add(q, &in);
}

/* Every part is an input; several make a list. */
static shoal_status read_multipart(struct request *q)
{
    struct part parts[PARTS_MAX];
    size_t n;
    shoal_status st =
        multipart_parse(parts, &n, q->content_type, q->body.at ? q->body.at : "", q->body.len);

    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = read_bytes(q, parts[i].type, parts[i].at, parts[i].len);
    if (n > 1)
        q->shape = SHAPE_LIST;
    return st;
}

/* curl -d says that it sends a form, whatever it sends: JSON and plain text are taken too. */
static shoal_status read_form(struct request *q)
{
    struct query form = {0};
    const char *data;
    shoal_status st;

    if (looks_json(q->body.at, q->body.len) || !memchr(q->body.at, '=', q->body.len))
        return read_bytes(q, NULL, q->body.at, q->body.len);
    st = request_charge(q, q->body.len);
    if (st != SHOAL_OK)
        return st;
    st = query_init_form(&form, q->body.at, q->body.len);
    data = st == SHOAL_OK ? query_get(&form, "data") : NULL;
    if (st == SHOAL_OK && !data)
        st = shoal_fail(SHOAL_EINVAL, "found a form without the field data, want it");
    if (st == SHOAL_OK)
        st = read_bytes(q, NULL, data, strlen(data));
    query_fini(&form);
    request_refund(q, q->body.len);
    return st;
}

static shoal_status read_body(struct request *q)
{
    if (type_is(q->content_type, "multipart/form-data"))
        return read_multipart(q);
    if (q->body.len > 0 && type_is(q->content_type, "application/x-www-form-urlencoded"))
        return read_form(q);
    return read_bytes(q, q->content_type, q->body.at, q->body.len);
}

/* ---- the job ---- */

static void forget_samples(struct request *q)
{
    const struct servable_kind *kind = q->lease.generation ? q->lease.generation->kind : NULL;

    for (size_t i = 0; i < q->job.n; i++)
        kind->forget(job_sample(&q->job, i));
    if (q->job.samples != q->sample)
        free(q->job.samples);
    q->job.samples = NULL;
    q->job.n = 0;
}

static void no_worker(struct request *q)
{
    const struct version *v = q->lease.version;
    char text[400];

    snprintf(text, sizeof text,
             "Model \"%s\"%s%s has no worker to serve inference request. Please use scale workers "
             "API to add workers.",
             v->name, q->versioned ? " Version " : "", q->versioned ? v->version : "");
    answer_error(q, 503, "ServiceUnavailableException", text);
    q->answer.retry_after = 1;
}

static bool all_cheap(const struct request *q)
{
    const struct generation *g = q->lease.generation;

    for (size_t i = 0; i < q->job.n; i++)
        if (!g->kind->cheap || !g->kind->cheap(g->model, job_sample(&q->job, i)))
            return false;
    return q->job.n <= 16;
}

/* With the samples read: computed here when that is quicker than to hand them on. */
static enum route job_begin(struct request *q)
{
    struct version *v = q->lease.version;

    atomic_fetch_add_explicit(&v->tally.requests, 1, memory_order_relaxed);
    if (!batcher_open(v->batcher)) {
        no_worker(q);
        return ROUTE_ANSWERED;
    }
    histogram_add(&v->tally.stages[STAGE_READ], clock_now() - q->began);
    q->work = NULL; /* route_submit then gives it to the batcher */
    if (!all_cheap(q))
        return ROUTE_WAITS;
    batcher_run_here(v->batcher, &q->job);
    route_finish(q);
    return ROUTE_ANSWERED;
}

static void write_by_worker(struct request *q)
{
    route_finish(q);
    q->wake(q);
}

/* On the thread of a model's worker, which is to compute, not to write: small answers are
 * written by the loop, large ones by a reader's thread. */
static void job_finished(struct job *job)
{
    struct request *q = (struct request *)(void *)((char *)job - offsetof(struct request, job));

    q->work = write_by_worker;
    if (job->st != SHOAL_OK || q->expected <= LIGHT_ANSWER ||
        readers_add(q->server->readers, q, true) != SHOAL_OK)
        q->wake(q);
}

static enum route read_done(struct request *q, shoal_status st)
{
    if (st == SHOAL_OK)
        return job_begin(q);
    atomic_fetch_add_explicit(&q->lease.version->tally.failures, 1, memory_order_relaxed);
    if (st == SHOAL_ESTOP)
        answer_error(q, 408, "RequestTimeoutException", shoal_error());
    else
        answer_failure(q, st);
    return ROUTE_ANSWERED;
}

static shoal_status read_request(struct request *q)
{
    struct instance in = {.verb = q->verb};
    shoal_status st;

    if (q->wire)
        st = q->wire->read(q);
    else if (strcmp(q->verb, "predict") == 0)
        st = read_body(q);
    else if (strcmp(q->verb, "infer") == 0)
        st = infer_read(q);
    else if (strcmp(q->verb, "embed") == 0)
        st = embeddings_read(q);
    else
        st = predict_add(q, &in);
    if (st == SHOAL_ELIMIT && q->over == 0)
        q->over = 413; /* a limit of whoever read it, not of the account */
    return st;
}

static void submit_job(struct request *q)
{
    struct version *v = q->lease.version;
    shoal_status st = batcher_submit(v->batcher, &q->job);

    if (st == SHOAL_OK)
        return;
    atomic_fetch_add_explicit(&v->tally.refused, 1, memory_order_relaxed);
    if (st == SHOAL_ESTOP)
        no_worker(q);
    else
        answer_failure(q, st);
    q->wake(q);
}

static void read_by_worker(struct request *q)
{
    if (read_done(q, read_request(q)) == ROUTE_ANSWERED)
        q->wake(q);
    else
        submit_job(q);
}

/* Back to the state before it was read: a reader's thread begins anew. */
static void read_undo(struct request *q)
{
    forget_samples(q);
    free(q->tensor_id);
    q->tensor_id = NULL;
    q->some_wanted = false;
    memset(q->wanted, 0, sizeof q->wanted);
    request_refund(q, q->held - q->held_before);
    q->expected = 0;
    q->pixels = 0;
    q->over = 0;
}

/* What the model's own limits say. */
static bool gate_admit(struct request *q)
{
    struct version *v = q->lease.version;

    switch (gate_enter(&v->gate, q->body.len, q->began)) {
    case GATE_OPEN:
        q->inside = true;
        return true;
    case GATE_BODY:
        answer_error(q, 413, "RequestEntityTooLargeException",
                     "The body is larger than this model takes.");
        break;
    case GATE_RATE:
        answer_error(q, 429, "TooManyRequestsException", "This model is asked too often.");
        q->answer.retry_after = 1;
        break;
    case GATE_FULL:
        answer_error(q, 503, "ServiceUnavailableException",
                     "As many requests of this model as may be are under way.");
        q->answer.retry_after = 1;
        break;
    }
    atomic_fetch_add_explicit(&v->tally.refused, 1, memory_order_relaxed);
    return false;
}

static enum route read_begin(struct request *q, const char *verb)
{
    shoal_status st;

    if (q->trial)
        return ROUTE_WAITS;
    if (!gate_admit(q))
        return ROUTE_ANSWERED;
    q->verb = verb;
    q->held_before = q->held;
    q->job.generation = q->lease.generation;
    q->job.deadline = q->began + atomic_load_explicit(&q->lease.version->gate.response_timeout, memory_order_relaxed);
    if (q->expires > 0 && q->expires < q->job.deadline)
        q->job.deadline = q->expires;
    q->job.finished = job_finished;
    if (q->body.len <= LIGHT_BYTES) {
        q->on_loop = true;
        st = read_request(q);
        q->on_loop = false;
        if (!q->heavy)
            return read_done(q, st);
        read_undo(q);
    }
    q->work = read_by_worker;
    return ROUTE_WAITS;
}

enum route predict_begin(struct request *q, const char *verb)
{
    if (strcmp(verb, "predict") == 0 || strcmp(verb, "infer") == 0 || strcmp(verb, "embed") == 0)
        return read_begin(q, verb);
    for (const char *const *own = q->lease.generation->kind->verbs; own && *own; own++)
        if (strcmp(verb, *own) == 0)
            return read_begin(q, verb);
    return answer_not_found(q); /* the verb of another kind of model */
}

void route_submit(struct request *q)
{
    shoal_status st;

    if (!q->work) {
        submit_job(q);
        return;
    }
    st = readers_add(q->server->readers, q, false);
    if (st == SHOAL_OK)
        return;
    if (q->lease.version)
        atomic_fetch_add_explicit(&q->lease.version->tally.refused, 1, memory_order_relaxed);
    answer_failure(q, st);
    q->wake(q);
}

/* ---- the answer ---- */

static void write_samples(struct request *q, struct writer *w)
{
    const struct generation *g = q->job.generation;

    for (size_t i = 0; i < q->job.n; i++)
        g->kind->write(g->model, job_sample(&q->job, i), w);
}

static void write_answer(struct request *q)
{
    static const char *const around[][2] = {
        [SHAPE_ONE] = {"", "\n"},
        [SHAPE_LIST] = {"[", "]\n"},
        [SHAPE_PREDICTIONS] = {"{\"predictions\":[", "]}\n"},
        [SHAPE_TENSOR] = {"", ""},
        [SHAPE_EMBEDDINGS] = {"", ""},
    };
    struct writer *w = &q->answer.body;

    q->answer.status = 200;
    w->payer = q;
    w->paid = ANSWER_FREE + q->expected;
    put_raw(w, around[q->shape][0]);
    (q->wire                        ? q->wire->write
     : q->shape == SHAPE_TENSOR     ? infer_write
     : q->shape == SHAPE_EMBEDDINGS ? embeddings_write
                                    : write_samples)(q, w);
    put_raw(w, around[q->shape][1]);
    w->payer = NULL;
    if (w->failed && q->over) {
        bytes_fini(&w->out);
        *w = (struct writer){0};
        answer_failure(q, SHOAL_ELIMIT);
    }
}

/* While the client reads its answer, only that stays charged: samples are freed. */
static void hold_answer_only(struct request *q)
{
    size_t keep = q->held_before + q->answer.body.out.cap;

    forget_samples(q);
    if (q->held > keep)
        request_refund(q, q->held - keep);
}

static void answer_job_failure(struct request *q)
{
    if (q->job.st == SHOAL_ESTOP && q->job.deadline <= q->job.ended)
        answer_error(q, 408, "RequestTimeoutException", "The request waited too long.");
    else if (q->job.st == SHOAL_ESTOP)
        no_worker(q);
    else {
        shoal_fail(q->job.st, "%s", q->job.sentence);
        answer_failure(q, q->job.st);
    }
}

void route_finish(struct request *q)
{
    struct model_tally *tally;
    double now;

    if (q->answer.status != 0) /* answered where it was read, submitted or written */
        return;
    tally = &q->lease.version->tally;
    if (q->job.st == SHOAL_OK) {
        write_answer(q);
    } else if (atomic_load(&q->job.abandoned)) { /* counted by the batcher; read by nobody */
        answer_error(q, 499, "ClientClosedRequest", "The client has gone.");
    } else {
        atomic_fetch_add_explicit(&tally->failures, 1, memory_order_relaxed);
        answer_job_failure(q);
    }
    hold_answer_only(q);
    now = clock_now();
    histogram_add(&tally->stages[STAGE_WRITE], now - q->job.ended);
    histogram_add(&tally->stages[STAGE_ALL], now - q->began);
}

void route_end(struct request *q)
{
    forget_samples(q);
    if (q->inside)
        gate_leave(&q->lease.version->gate);
    q->inside = false;
    lease_end(&q->lease);
    query_fini(&q->query);
    free(q->tensor_id);
    request_refund(q, SIZE_MAX);
}
