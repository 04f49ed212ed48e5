/* request: what HTTP and the routes say to each other; not a door.
 *
 * What this is: a request as http.c received it, the answer as the routes made it.
 *
 *     http.c                       routes
 *     headers are there     -->    route_admit    may refuse before a body is sent
 *     the body is there     -->    route_begin    answers, or says ROUTE_WAITS
 *     ... suspends          -->    route_submit   gives it to who reads or to the model
 *     `wake` from a worker  <--
 *     ... resumes           -->    route_finish   answers
 *     the answer is sent    -->    route_end
 *
 * Who owns what: http.c owns a request and sends off the answer's body.
 * Threads: a request belongs to one thread at a time. */
#ifndef SHOAL_SERVE_REQUEST_H
#define SHOAL_SERVE_REQUEST_H

#include "serve/budget.h"
#include "serve/limits.h"
#include "serve/models/registry.h"
#include "serve/trace.h"

#include <sys/queue.h>

struct shoal_server;

struct answer {
    int status;
    const char *type; /* of the content; NULL: JSON */
    struct writer body;
    size_t json_length;   /* of the body, where bytes of a tensor follow; 0: all of it */
    const char *constant; /* a body that stays, instead; [constant_len] */
    size_t constant_len;
    unsigned retry_after; /* seconds; 0: unsaid */
    const char *allow;    /* the methods, with a 405; or NULL */
    bool challenge;       /* how to say who one is */
    bool close;           /* the connection is not to be used again */
    bool page;            /* HTML: what it may load is said */
};

/* How the answer of a model is wrapped. */
enum shape { SHAPE_ONE, SHAPE_LIST, SHAPE_PREDICTIONS, SHAPE_TENSOR, SHAPE_EMBEDDINGS };

/* One of the tensors that are answered. */
struct wanted {
    bool named;       /* it is asked for by name */
    bool binary;      /* as bytes behind the JSON */
    unsigned classes; /* so many of the largest instead of all, as "0.9:3:cat"; 0: all */
};

/* How tensors come and go where that is not JSON. */
struct wire {
    shoal_status (*read)(struct request *q);
    void (*write)(struct request *q, struct writer *w);
};

struct request {
    struct shoal_server *server;
    unsigned roles; /* of the listener */
    const char *method, *address;
    const char *content_type, *authorization, *origin, *host; /* or NULL */
    const char *json_length; /* Inference-Header-Content-Length: infer.c; or NULL */
    bool at_terminal; /* curl asks, for whatever there is: a person reads the answer */
    const struct sockaddr *client;
    bool asks_first; /* Expect: 100-continue: the body is sent when it would be taken */
    bool trial;      /* the routes only say whether it would be: route_admit */
    struct bytes body;
    char id[REQUEST_ID_MAX + 1];
    struct trace trace;
    uint64_t number;   /* of the server's requests */
    bool head_only;    /* HEAD, which is answered as GET */
    const char *route; /* "/models/{model_name}", as the interface has it; NULL: none of it */
    void (*wake)(struct request *q); /* set by http.c */
    void *http;

    struct query query;
    struct answer answer;
    double began;
    size_t held;        /* bytes charged to the server's account: budget.c */
    int over;           /* 413 or 503: which of the limits of that account was met; 0: none */
    size_t held_before; /* it was read: its body */
    size_t expected;    /* bytes of the answer that were charged before it is written */
    uint64_t pixels;    /* of its pictures so far */

    /* Of what the event loop hands on: readers.h. */
    void (*work)(struct request *q); /* on a reading worker, who then has the request */
    STAILQ_ENTRY(request) next;
    bool on_loop; /* it is being read by the event loop */
    bool heavy;   /* which is not to: request_leave_loop */

    /* Of a model's request. */
    struct lease lease;
    bool inside;      /* the model's gate has let it in */
    bool versioned;   /* the address names the version */
    bool v2;          /* errors are the Open Inference Protocol's */
    bool openai;      /* or OpenAI's: embeddings.c */
    const char *verb; /* "predict", one of the kind's own, or "infer" */
    enum shape shape;
    char *tensor_id; /* to be given back; or NULL */
    bool binary;     /* embeddings of the answer are base64 */
    struct wanted wanted[OUTPUTS_MAX];
    bool some_wanted;         /* those that are named, not all */
    const struct wire *wire;  /* NULL: JSON; else errors are plain text too */
    double expires;           /* clock_now() from which on the client waits no more; 0: unsaid */
    struct job job;
    _Alignas(max_align_t) char sample[SAMPLE_MAX]; /* of a job with one */
};

enum route { ROUTE_ANSWERED, ROUTE_WAITS };

bool route_admit(struct request *q); /* false: the answer says why */
enum route route_begin(struct request *q);
void route_submit(struct request *q);
void route_finish(struct request *q);
void route_end(struct request *q);

/* Of the address, from 0; "" behind the last. */
const char *request_segment(const struct request *q, size_t i);
/* Whether that is its method. */
bool request_is(const struct request *q, const char *method);

/* ---- answers ---- */

/* {"code":404,"type":"ModelNotFoundException","message":"..."}; or, for the Open
 * Inference Protocol, {"error":"..."}. */
void answer_error(struct request *q, int status, const char *type, const char *message);
/* That of shoal_error(), by its status. */
void answer_failure(struct request *q, shoal_status st);
/* Instead of a body that could not be put together; takes no memory itself. */
void answer_no_memory(struct request *q);
/* Both give ROUTE_ANSWERED. */
enum route answer_not_found(struct request *q);
enum route answer_not_allowed(struct request *q, const char *allow);
/* {"status":"..."} */
void answer_status(struct request *q, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Of an answer that is done: charged while it waits to be read, or one that says that it cannot
 * be. */
void answer_charge(struct request *q);
void answer_registry_failure(struct request *q, shoal_status st, enum registry_error why);

/* ---- predict.c: asking models ---- */

/* Of a lease that has a generation: reads the body ("predict"; "infer" for
 * {"inputs":[{"name":...,"shape":[...],"datatype":"FP32","data":[...]}]}) or, for a verb of
 * the kind's own, the address into the job; what is small at once. */
enum route predict_begin(struct request *q, const char *verb);

/* ---- manage.c, open_inference.c, describe.c: the other routes ---- */

/* /v2/repository: which models there are, loading and unloading them. */
enum route route_repository(struct request *q);
/* May this client ask so often, and has it said who it is? False: the answer says why. */
bool request_admit_client(struct request *q);
bool request_admit_token(struct request *q, unsigned role);
/* Whether all that should be served is, and the server is not about to end; the same of one. */
bool lease_is_ready(const struct shoal_server *s, const struct lease *l);
/* What Triton's clients are told that this server does besides; ends with NULL. */
extern const char *const oip_extensions[];
/* What a version has done so far. */
struct model_stats {
    uint64_t inferences, executions, successes, failures;
    uint64_t all_ns, queue_ns, input_ns, infer_ns, output_ns;
};
struct model_stats model_stats_of(const struct version *v);
enum route route_manage(struct request *q);           /* /models... */
enum route route_oip(struct request *q);              /* /v1, /v2 */
enum route route_openai(struct request *q);           /* /v1/embeddings, /v1/models */
bool openai_path(const struct request *q);
/* Members of an error of OpenAI's. */
void openai_error(struct writer *w, int status, const char *type, const char *message);
void route_api(struct request *q, unsigned roles);    /* OPTIONS / */
/* That of the interface which the address fits best, "/models/{model_name}"; NULL: none. */
const char *route_find(const struct request *q);
void route_metrics(struct request *q);                /* /metrics */
void route_stats(struct request *q);                  /* /stats, for the page */
/* Rows that models keep (examples.c): a member "examples", unless none keeps any; of the form a list of
 * one model's, of the OpenAPI document one for each model. */
void put_examples(struct writer *w, const shoal_logreg *m);
void put_api_examples(struct writer *w, struct registry *r, bool json);
void route_form(struct request *q);                   /* /models/NAME/form, for the page */
bool request_lease(struct request *q, const char *name, const char *version);

#endif
