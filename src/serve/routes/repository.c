/* The repository extension of the Open Inference Protocol: which models there are, loading and
 * unloading them. Who may is who may manage models. */
#include "serve/server.h"

#include <string.h>

static void put_entry(void *ctx, const struct repository_entry *e)
{
    struct writer *w = ctx;

    put_open(w, '{');
    member_text(w, "name", e->name);
    member_text(w, "version", e->version);
    member_text(w, "state", e->ready ? "READY" : "UNAVAILABLE");
    member_text(w, "reason", e->reason);
    put_close(w, "}");
}

/* {"ready": true} in the body leaves out what is not. */
static void list(struct request *q)
{
    struct writer *w = &q->answer.body;
    struct tree *t = NULL;
    size_t cost = 0;
    shoal_status st = SHOAL_OK;

    if (q->body.len > 0)
        st = request_parse(q, &t, q->body.at, q->body.len, &cost);
    if (st == SHOAL_OK) {
        q->answer.status = 200;
        put_open(w, '[');
        st = repository_each(&q->server->registry, tree_true(tree_get(t, "ready")), put_entry, w);
        put_close(w, "]\n");
    }
    if (st != SHOAL_OK)
        answer_failure(q, st);
    request_parsed(q, t, cost);
}

static void change(struct request *q, bool load)
{
    enum registry_error why = REGISTRY_NO_ERROR;
    shoal_status st = (load ? repository_load : repository_unload)(&q->server->registry,
                                                                   request_segment(q, 3), &why);

    if (st != SHOAL_OK) {
        answer_registry_failure(q, st, why);
        return;
    }
    q->answer.status = 200;
    put_raw(&q->answer.body, "{}\n");
}

/* What could be a repository's name is none: there is one, the model store. */
static void work(struct request *q)
{
    size_t n = q->query.nsegments;
    const char *verb = request_segment(q, 4);
    bool load = strcmp(verb, "load") == 0;

    if (n == 3 && strcmp(request_segment(q, 2), "index") == 0)
        list(q);
    else if (n == 5 && strcmp(request_segment(q, 2), "models") == 0 &&
             (load || strcmp(verb, "unload") == 0))
        change(q, load);
    else
        answer_not_found(q);
}

static void by_worker(struct request *q)
{
    work(q);
    q->wake(q);
}

/* Files are opened and folders read: predictions by the same listener do not wait for that. */
enum route route_repository(struct request *q)
{
    if (!request_is(q, "POST"))
        return answer_not_allowed(q, "POST");
    q->work = by_worker;
    return ROUTE_WAITS;
}
