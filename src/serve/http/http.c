/* HTTP between the connections of loop.c and the routes: what http1.c reads becomes
 * requests, one at a time for each connection, and their answers are sent.
 *
 *                    head            body              a worker
 *     idle --> HEAD ------> BODY ----------> (route) ----------> WAITING
 *      ^        |             |                 |                   | wake
 *      |        | refused     | refused         v                   v
 *      |        '-------------+------------> SENDING <--------------'
 *      |                                        |
 *      '------ the client may ask again --------+-------> linger, closed
 *
 * A connection without a request holds no more than its struct: the bytes go through
 * the loop's buffer, and a request (an exchange) comes from the loop's list of spare ones.
 *
 * While a request is WAITING it belongs to a worker: the loop touches nothing of it but
 * `job.abandoned` until the worker wakes it. Bytes that the client sends meanwhile
 * (pipelining) are kept in `rest`.
 *
 * A client that closes its sending half while a worker has its request is taken to have
 * left. It might still read an answer, but it cannot be told from one that is gone, whose
 * work is to be given up. */
#include "serve/http/http1.h"
#include "serve/http/loop.h"
#include "serve/server.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SPARE_EXCHANGES = 128, /* of a loop */
    SPARE_TEXT = 4 << 10,  /* bytes of a head that a spare one keeps */
    READS = 8,             /* of a connection in one round of the loop */
    PROGRESS = 64 << 10,   /* bytes of an answer that a client must read in each timeout */
};

struct exchange {
    struct waiting waiting; /* first */
    struct http_conn *conn;
    enum { FRESH, HEAD, BODY, WAITING, SENDING } stage;
    int timed; /* the stage whose clock runs */
    struct http1 reader;
    bool begun;     /* the routes know of it */
    bool running;   /* whole, and not answered yet */
    bool body_less; /* HEAD: the answer has no body */
    bool last;      /* the connection ends with it */
    size_t stored;  /* bytes charged for the request's body */
    uint64_t received; /* bytes of the body that came */
    size_t head_len, sent, checked;
    struct request request;
    char head[HTTP1_ANSWER_MAX];
};

struct http_conn {
    struct conn conn; /* first */
    struct exchange *exchange;
    struct bytes rest; /* what came behind the request that is being answered */
    size_t rest_at;
};

/* Of a loop. */
struct http_loop {
    struct exchange *spare;
    size_t spares;
    int64_t second;
    char date[HTTP1_DATE];
};

static struct listener *listener_of(const struct http_conn *c)
{
    return loop_user(c->conn.loop);
}

/* ---- exchanges ---- */

static struct exchange *exchange_new(struct http_conn *c)
{
    const struct listener *at = listener_of(c);
    struct http_loop *l = loop_data(c->conn.loop);
    struct exchange *e = l->spare;
    struct http1 reader;

    if (e) {
        l->spare = (struct exchange *)e->waiting.next;
        l->spares--;
        reader = e->reader;
        http1_next(&reader);
    } else {
        e = malloc(sizeof *e);
        http1_init(&reader, at->server->http.max_header);
    }
    if (!e)
        return NULL;
    memset(e, 0, offsetof(struct exchange, head)); /* the head is written before it is read */
    e->reader = reader;
    e->conn = c;
    e->stage = HEAD;
    e->request.server = at->server;
    return e;
}

static void exchange_free(struct http_loop *l, struct exchange *e)
{
    if (e->reader.text.cap > SPARE_TEXT || l->spares >= SPARE_EXCHANGES) {
        http1_fini(&e->reader);
        free(e);
        return;
    }
    e->waiting.next = (struct waiting *)l->spare;
    l->spare = e;
    l->spares++;
}

static void http_loop_fini(void *data)
{
    struct http_loop *l = data;

    while (l->spare) {
        struct exchange *e = l->spare;

        l->spare = (struct exchange *)e->waiting.next;
        http1_fini(&e->reader);
        free(e);
    }
}

static void drop_body(struct exchange *e)
{
    bytes_fini(&e->request.body);
    request_refund(&e->request, e->stored);
    e->stored = 0;
}

static void exchange_end(struct http_conn *c)
{
    struct exchange *e = c->exchange;
    const struct listener *at = listener_of(c);

    c->exchange = NULL;
    if (e->request.id[0]) /* not of a connection that ends without a request */
        access_add(at->server->access, &e->request, e->received, e->sent);
    if (e->begun) {
        at->handler->end(&e->request);
        atomic_fetch_sub_explicit(&at->server->under_way, 1, memory_order_relaxed);
    }
    drop_body(e);
    request_refund(&e->request, SIZE_MAX);
    bytes_fini(&e->request.answer.body.out);
    if (e->running)
        atomic_fetch_sub(&at->server->running, 1);
    exchange_free(loop_data(c->conn.loop), e);
}

/* ---- answers ---- */

static const char *date_now(struct http_loop *l)
{
    int64_t now = (int64_t)time(NULL);

    if (now != l->second) {
        http1_date(l->date, now);
        l->second = now;
    }
    return l->date;
}

static size_t body_len(const struct answer *a)
{
    return a->constant ? a->constant_len : a->body.out.len;
}

/* All of it is sent: the end, or the next request. */
static void answered(struct http_conn *c)
{
    bool last = c->exchange->last;

    exchange_end(c);
    if (last)
        conn_linger(&c->conn);
    else
        conn_clock(&c->conn, CLOCK_CLIENT);
}

/* As much as the socket takes. */
static void send_on(struct http_conn *c)
{
    struct exchange *e = c->exchange;
    const struct answer *a = &e->request.answer;
    size_t len = e->body_less ? 0 : body_len(a), all = e->head_len + len;
    const char *body = a->constant ? a->constant : a->body.out.at;
    struct iovec parts[2];
    size_t from = e->sent < e->head_len ? 0 : e->sent - e->head_len;
    int n = 0;
    ssize_t sent;

    if (e->sent < e->head_len)
        parts[n++] = (struct iovec){e->head + e->sent, e->head_len - e->sent};
    if (len > from)
        parts[n++] = (struct iovec){(char *)(uintptr_t)body + from, len - from};
    sent = conn_send(&c->conn, parts, n);
    if (sent < 0 && errno != EAGAIN) {
        conn_close(&c->conn);
        return;
    }
    e->sent += sent > 0 ? (size_t)sent : 0;
    if (e->sent == all) {
        answered(c);
    } else if (e->stage != SENDING) {
        e->stage = SENDING;
        conn_clock(&c->conn, CLOCK_CLIENT);
    }
}

enum { INDENTED_MAX = 1 << 20 }; /* bytes: this is done on the loop, which has other clients */

static bool by_curl(const struct http1_head *head)
{
    const char *agent = head->field[HTTP1_USER_AGENT], *accept = head->field[HTTP1_ACCEPT];

    return agent && strncmp(agent, "curl/", 5) == 0 && accept && strcmp(accept, "*/*") == 0;
}

static bool wants_indented(const struct request *q)
{
    const char *said = query_get(&q->query, "pretty");

    return said ? strcmp(said, "0") != 0 && strcasecmp(said, "false") != 0 : q->at_terminal;
}

/* JSON for people, on every route alike. What the account has no room for stays as it is. */
static void indent_answer(struct request *q)
{
    struct answer *a = &q->answer;
    struct writer indented = {.payer = q};
    int over = q->over;

    if (a->type || a->constant || a->body.failed || a->body.out.len == 0 ||
        a->body.out.len > INDENTED_MAX || !wants_indented(q))
        return;
    put_indented(&indented, a->body.out.at, a->body.out.len);
    indented.payer = NULL;
    if (indented.failed) {
        bytes_fini(&indented.out);
        q->over = over;
        return;
    }
    bytes_fini(&a->body.out);
    a->body = indented;
}

static void respond(struct http_conn *c)
{
    const struct listener *at = listener_of(c);
    struct exchange *e = c->exchange;
    struct request *q = &e->request;
    const struct answer *a = &q->answer;

    drop_body(e);
    indent_answer(q);
    answer_charge(q);
    e->last |= a->close || !e->reader.head.keep ||
               atomic_load_explicit(&at->server->draining, memory_order_relaxed);
    e->head_len = http1_answer(e->head, &(struct http1_answer){
                                            .status = a->status,
                                            .length = body_len(a),
                                            .type = a->type ? a->type : "application/json",
                                            .id = q->id,
                                            .trace = q->trace.said[0] ? q->trace.said : NULL,
                                            .json_length = a->json_length,
                                            .date = date_now(loop_data(c->conn.loop)),
                                            .retry_after = a->retry_after,
                                            .allow = a->allow,
                                            .policy = a->page ? at->handler->policy : NULL,
                                            .challenge = a->challenge,
                                            .keep = !e->last,
                                            .minor_0 = e->reader.head.minor == 0,
                                        });
    atomic_fetch_add_explicit(&at->server->tally.answers[a->status / 100 % 6], 1,
                              memory_order_relaxed);
    send_on(c);
}

/* ---- requests ---- */

static void on_wake(struct request *q)
{
    struct exchange *e = q->http;

    loop_wake(e->conn->conn.loop, &e->waiting);
}

static void request_begin(struct http_conn *c)
{
    const struct listener *at = listener_of(c);
    struct exchange *e = c->exchange;
    const struct http1_head *head = &e->reader.head;
    struct request *q = &e->request;

    e->begun = true;
    e->body_less = strcmp(head->method, "HEAD") == 0;
    q->roles = at->roles;
    q->head_only = e->body_less;
    q->method = e->body_less ? "GET" : head->method;
    q->address = *head->target == '*' ? "/" : head->target;
    q->content_type = head->field[HTTP1_CONTENT_TYPE];
    q->authorization = head->field[HTTP1_AUTHORIZATION];
    q->origin = head->field[HTTP1_ORIGIN];
    q->host = head->field[HTTP1_HOST];
    q->json_length = head->field[HTTP1_INFERENCE_HEADER];
    q->at_terminal = by_curl(head);
    q->client = &c->conn.peer.any;
    q->asks_first = head->expects;
    q->wake = on_wake;
    q->http = e;
    q->began = clock_now();
    request_name(q, head->field[HTTP1_REQUEST_ID], head->field[HTTP1_TRACEPARENT]);
    atomic_fetch_add_explicit(&at->server->under_way, 1, memory_order_relaxed);
}

/* Before the request is whole: the connection ends, as what still comes of it is unread. */
static void refuse(struct http_conn *c, int status, const char *type, const char *why)
{
    struct exchange *e = c->exchange;

    if (!e->request.id[0])
        request_name(&e->request, NULL, NULL);
    answer_error(&e->request, status, type, why);
    e->last = true;
    respond(c);
}

static void refuse_large(struct http_conn *c)
{
    refuse(c, 413, "RequestEntityTooLargeException", "The body is larger than this server takes.");
}

static void on_refused(struct http_conn *c)
{
    const struct http1 *r = &c->exchange->reader;

    refuse(c, r->status, r->status >= 500 ? "NotImplementedException" : "BadRequestException",
           r->why);
}

static void go_on(struct http_conn *c)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct iovec part = {(char *)(uintptr_t)text, sizeof text - 1};

    /* The answer before has been sent, so the socket has room for a line. */
    if (conn_send(&c->conn, &part, 1) != (ssize_t)part.iov_len)
        conn_close(&c->conn);
}

/* Refuses, before the body is sent, what can be refused by the head alone. */
static void on_head(struct http_conn *c, bool body_is_here)
{
    const struct listener *at = listener_of(c);
    struct exchange *e = c->exchange;
    const struct http1_head *head = &e->reader.head;

    e->stage = BODY;
    request_begin(c);
    if (!at->handler->admit(&e->request)) {
        e->last |= head->chunked || head->length > 0;
        respond(c);
    } else if (head->encoded) {
        refuse(c, 415, "UnsupportedMediaTypeException",
               "The body has a Content-Encoding, want it as it is.");
    } else if (head->length > at->server->http.max_body) {
        refuse_large(c);
    } else if (head->expects && !body_is_here) {
        go_on(c);
    }
}

static void on_body(struct http_conn *c)
{
    struct exchange *e = c->exchange;
    struct request *q = &e->request;
    size_t len = e->reader.piece_len;
    shoal_status st;

    e->received += len;
    if (len > listener_of(c)->server->http.max_body - q->body.len) {
        refuse_large(c);
        return;
    }
    st = request_charge(q, len);
    if (st == SHOAL_OK) {
        e->stored += len;
        st = bytes_add(&q->body, e->reader.piece, len);
    }
    if (st != SHOAL_OK) {
        answer_failure(q, st);
        e->last = true;
        respond(c);
    }
}

/* The client of a request that waits has gone. A worker has it, or will have it, and wakes
 * it as any other; only then is it freed. */
static void abandon(struct http_conn *c)
{
    atomic_store(&c->exchange->request.job.abandoned, true);
    conn_hang_up(&c->conn);
}

static void on_whole(struct http_conn *c)
{
    const struct listener *at = listener_of(c);
    struct exchange *e = c->exchange;
    struct request *q = &e->request;

    e->running = true;
    atomic_fetch_add(&at->server->running, 1);
    if (at->handler->begin(q) == ROUTE_ANSWERED) {
        respond(c);
        return;
    }
    e->stage = WAITING;
    conn_clock(&c->conn, CLOCK_NONE);
}

/* Last of all: from here on the request, with its account, is a worker's. */
static void hand_on(struct http_conn *c)
{
    listener_of(c)->handler->submit(&c->exchange->request);
    if (c->conn.left)
        abandon(c);
}

/* ---- bytes ---- */

/* What a client sent ahead (pipelining) waits until the request before is answered. */
static void keep_rest(struct http_conn *c, const char *at, size_t len)
{
    struct exchange *e = c->exchange;
    bool kept = c->rest.len > 0; /* it comes from there */

    if (kept)
        c->rest_at = c->rest.len - len;
    if (len > 0 && request_charge(&e->request, len) == SHOAL_OK &&
        (kept || bytes_add(&c->rest, at, len) == SHOAL_OK)) {
        e->request.held_before += len; /* held until the answer is sent */
        return;
    }
    e->last |= len > 0;
    bytes_fini(&c->rest);
    c->rest_at = 0;
}

/* The head and the body have one timeout each. It is not started anew by every byte, so a
 * client that sends a byte now and then (slowloris) is cut off. */
static void set_clock(struct http_conn *c)
{
    struct exchange *e = c->exchange;

    if (http1_idle(&e->reader) || e->timed == (int)e->stage)
        return;
    conn_clock(&c->conn, CLOCK_CLIENT);
    e->timed = (int)e->stage;
}

static void on_event(struct http_conn *c, enum http1_event event, bool more)
{
    if (event == HTTP1_HEAD)
        on_head(c, more);
    else if (event == HTTP1_BODY)
        on_body(c);
    else if (event == HTTP1_WHOLE)
        on_whole(c);
    else if (event == HTTP1_REFUSED)
        on_refused(c);
}

/* Whether more bytes may be read now. */
static bool take_bytes(struct http_conn *c, const char *at, size_t len)
{
    for (;;) {
        enum http1_event event;

        if (!c->exchange && len == 0)
            return true;
        if (!c->exchange && !(c->exchange = exchange_new(c))) {
            conn_close(&c->conn);
            return false;
        }
        event = http1_read(&c->exchange->reader, &at, &len);
        if (event == HTTP1_MORE) {
            set_clock(c);
            return true;
        }
        on_event(c, event, len > 0);
        if (c->conn.dead || c->conn.lingering)
            return false;
        if (c->exchange && c->exchange->stage >= WAITING) {
            keep_rest(c, at, len);
            if (c->exchange->stage == WAITING)
                hand_on(c);
            return false;
        }
    }
}

/* What was sent ahead, before anything new. */
static bool take_rest(struct http_conn *c)
{
    size_t len = c->rest.len - c->rest_at;
    bool more;

    if (c->rest.len == 0)
        return true;
    more = take_bytes(c, c->rest.at + c->rest_at, len);
    if (more && !c->conn.dead) { /* all used up */
        bytes_fini(&c->rest);
        c->rest_at = 0;
    }
    return more;
}

static void read_on(struct http_conn *c)
{
    char *buffer = loop_buffer(c->conn.loop);

    if (!take_rest(c))
        return;
    for (int i = 0; i < READS; i++) {
        ssize_t n = conn_recv(&c->conn, buffer, LOOP_BUFFER);

        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            conn_close(&c->conn);
            return;
        }
        if (!take_bytes(c, buffer, (size_t)n))
            return;
    }
    conn_requeue(&c->conn);
}

/* ---- what the loop says ---- */

static void when_ready(struct conn *conn)
{
    struct http_conn *c = (struct http_conn *)conn;

    if (c->exchange && c->exchange->stage == WAITING) {
        if (conn->left)
            abandon(c);
        return;
    }
    if (c->exchange && c->exchange->stage == SENDING) {
        if (conn->writable)
            send_on(c);
        if (conn->dead || conn->lingering || c->exchange)
            return;
    }
    read_on(c);
}

static void when_woken(struct waiting *w)
{
    struct exchange *e = (struct exchange *)w;
    struct http_conn *c = e->conn;

    if (c->conn.fd < 0) {
        conn_close(&c->conn);
        return;
    }
    listener_of(c)->handler->finish(&e->request);
    e->stage = BODY;
    respond(c);
    if (!c->conn.dead && !c->conn.lingering && !c->exchange &&
        (c->conn.readable || c->rest.len > 0))
        conn_requeue(&c->conn);
}

/* An idle client is sent away silently, one that was sending is told. One that reads slowly
 * may go on as long as it takes PROGRESS bytes each time. */
static void when_expired(struct conn *conn)
{
    struct http_conn *c = (struct http_conn *)conn;
    struct exchange *e = c->exchange;

    if (!e || http1_idle(&e->reader)) {
        conn_close(conn);
    } else if (e->stage < WAITING) {
        refuse(c, 408, "RequestTimeoutException", "The request did not come in time.");
    } else if (e->sent - e->checked >= PROGRESS) {
        e->checked = e->sent;
        conn_clock(conn, CLOCK_CLIENT);
    } else {
        conn_close(conn);
    }
}

/* A request that has already come is still read and answered. */
static void when_drain(struct conn *conn)
{
    struct http_conn *c = (struct http_conn *)conn;

    if (!c->exchange || c->exchange->stage < WAITING) {
        conn->readable = true;
        read_on(c);
    }
    if (!conn->dead && !conn->lingering && !c->exchange)
        conn_close(conn);
}

static void when_stop(struct conn *conn)
{
    struct http_conn *c = (struct http_conn *)conn;

    if (c->exchange && c->exchange->stage < WAITING)
        refuse(c, 503, "ServiceUnavailableException", "The server is ending.");
}

static void when_closed(struct conn *conn)
{
    struct http_conn *c = (struct http_conn *)conn;

    if (c->exchange)
        exchange_end(c);
    bytes_fini(&c->rest);
}

static const struct codec codec = {
    .size = sizeof(struct http_conn),
    .loop_size = sizeof(struct http_loop),
    .ready = when_ready,
    .expired = when_expired,
    .woken = when_woken,
    .drain = when_drain,
    .stop = when_stop,
    .closed = when_closed,
    .loop_fini = http_loop_fini,
};

/* ---- a listener at work ---- */

static const char busy[] =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 94\r\n"
    "Retry-After: 1\r\nConnection: close\r\n\r\n"
    "{\"code\":503,\"type\":\"ServiceUnavailableException\",\"message\":\"There are too many "
    "connections.\"}\n";

shoal_status http_start(struct listener *l, struct shoal_server *s,
                        const struct http_handler *handler)
{
    int fd = l->fd;

    l->server = s;
    l->handler = handler;
    l->fd = -1; /* the loops' */
    return loops_start(&l->loops, fd,
                       &(struct loop_settings){
                           .threads = l->roles & ROLE_INFERENCE ? s->http.threads : 1,
                           .max_connections = s->http.max_connections,
                           .max_per_client = s->http.max_per_client,
                           .timeout = s->http.timeout,
                           .tls = s->http.tls,
                           .protocol = "http/1.1",
                           .busy = busy,
                           .codec = &codec,
                           .user = l,
                       });
}
