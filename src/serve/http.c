/* HTTP by libmicrohttpd: threads with an epoll each, bodies gathered in memory up
 * to a limit, connections suspended while a model works, and a list of them from
 * which those are ended whose client takes too long: libmicrohttpd's own time-out
 * is reset by every byte, so a client that sends one now and then would stay. */
#include "serve/server.h"

#include <math.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OVER_TIMES = 8 }; /* a body that goes on so many times beyond its limit is cut off */

/* The least that libmicrohttpd can work with, and what it needs for an answer. */
#define POOL_EXTRA ((size_t)2048)

struct connection {
    int fd;
    _Atomic int64_t until; /* milliseconds of clock_now(); INT64_MAX: not the client's turn */
    struct connection *next, **link;
};

struct http {
    struct shoal_server *server;
    struct listener *listener;
    struct MHD_Daemon *daemon;
    int quiesced; /* the socket given back; -1: none */
    pthread_mutex_t lock;
    struct connection *connections;
};

struct exchange {
    struct request request;
    struct MHD_Connection *connection;
    struct connection *client;
    char *address;
    size_t received;
    bool crowded; /* the bodies of others leave no room for this one */
    enum { FRESH, READING, WAITING } stage;
};

/* ---- the clients' clocks -------------------------------------------------------------------- */

static void client_turn(const struct http *h, struct connection *c)
{
    double until = (clock_now() + h->server->http.timeout) * 1e3;

    atomic_store_explicit(&c->until, (int64_t)until, memory_order_relaxed);
}

static void our_turn(struct connection *c)
{
    atomic_store_explicit(&c->until, INT64_MAX, memory_order_relaxed);
}

static void connection_begin(struct http *h, struct MHD_Connection *connection, void **context)
{
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct connection *c = calloc(1, sizeof *c);

    *context = c;
    if (!c || !fd)
        return;
    c->fd = fd->connect_fd;
    client_turn(h, c);
    pthread_mutex_lock(&h->lock);
    c->next = h->connections;
    c->link = &h->connections;
    if (c->next)
        c->next->link = &c->next;
    h->connections = c;
    pthread_mutex_unlock(&h->lock);
}

static void connection_end(struct http *h, void **context)
{
    struct connection *c = *context;

    *context = NULL;
    if (!c)
        return;
    pthread_mutex_lock(&h->lock);
    if (c->link) {
        *c->link = c->next;
        if (c->next)
            c->next->link = c->link;
    }
    pthread_mutex_unlock(&h->lock);
    free(c);
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        connection_begin(cls, connection, context);
    else
        connection_end(cls, context);
}

/* A descriptor in the list is open: it is closed only after on_connection. */
void http_sweep(struct http *h, double now)
{
    int64_t at = (int64_t)(now * 1e3);

    pthread_mutex_lock(&h->lock);
    for (struct connection *c = h->connections; c; c = c->next)
        if (atomic_load_explicit(&c->until, memory_order_relaxed) < at)
            shutdown(c->fd, SHUT_RDWR);
    pthread_mutex_unlock(&h->lock);
}

/* ---- answers ----------------------------------------------------------------------------------
 */

static void add_headers(struct MHD_Response *r, const struct request *q)
{
    const struct answer *a = &q->answer;
    char text[16];

    MHD_add_response_header(r, "Content-Type", a->type ? a->type : "application/json");
    MHD_add_response_header(r, "x-request-id", q->id);
    MHD_add_response_header(r, "Cache-Control", "no-store");
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    if (a->retry_after > 0) {
        snprintf(text, sizeof text, "%u", a->retry_after);
        MHD_add_response_header(r, "Retry-After", text);
    }
    if (a->allow)
        MHD_add_response_header(r, "Allow", a->allow);
    if (a->challenge)
        MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
    if (a->page)
        MHD_add_response_header(r, "Content-Security-Policy",
                                "default-src 'none'; script-src 'self'; style-src 'self'; "
                                "connect-src 'self'; img-src 'self' data: blob:; "
                                "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    if (a->close || atomic_load_explicit(&q->server->draining, memory_order_relaxed))
        MHD_add_response_header(r, "Connection", "close");
}

/* The body becomes libmicrohttpd's. */
static struct MHD_Response *response_of(struct answer *a)
{
    struct bytes body = a->body.out;

    if (a->constant)
        return MHD_create_response_from_buffer(a->constant_len, (void *)(uintptr_t)a->constant,
                                               MHD_RESPMEM_PERSISTENT);
    a->body.out = (struct bytes){0};
    if (body.len > 0)
        return MHD_create_response_from_buffer(body.len, body.at, MHD_RESPMEM_MUST_FREE);
    bytes_fini(&body);
    return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result respond(struct http *h, struct exchange *e)
{
    struct request *q = &e->request;
    struct MHD_Response *r;
    enum MHD_Result sent;
    int status = q->answer.body.failed ? 507 : q->answer.status;

    if (q->answer.body.failed)
        bytes_fini(&q->answer.body.out);
    r = response_of(&q->answer);
    if (!r)
        return MHD_NO;
    add_headers(r, q);
    atomic_fetch_add_explicit(&q->server->tally.answers[status / 100 % 6], 1, memory_order_relaxed);
    if (e->client)
        client_turn(h, e->client);
    sent = MHD_queue_response(e->connection, (unsigned)status, r);
    MHD_destroy_response(r);
    return sent;
}

/* ---- requests -----------------------------------------------------------------------------------
 */

/* The address as it was sent; the first that is known of a request. */
static void *on_address(void *cls, const char *address, struct MHD_Connection *connection)
{
    struct http *h = cls;
    struct exchange *e = calloc(1, sizeof *e);
    const union MHD_ConnectionInfo *info;

    if (!e)
        return NULL;
    e->address = strdup(address);
    e->connection = connection;
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    e->client = info ? info->socket_context : NULL;
    atomic_fetch_add(&h->server->under_way, 1);
    return e;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static void on_wake(struct request *q)
{
    MHD_resume_connection(((struct exchange *)q->http)->connection);
}

/* A random UUID (RFC 9562, version 4), by hand: printf takes longer than a model. */
static void request_id(struct shoal_server *s, char id[37])
{
    static const char digits[] = "0123456789abcdef";
    uint64_t n = atomic_fetch_add_explicit(&s->ids, 1, memory_order_relaxed);
    uint64_t bits[2] = {rng_at(s->seed, 0, n), rng_at(s->seed, 1, n)};

    for (size_t i = 0, at = 0; i < 32; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            id[at++] = '-';
        id[at++] = digits[bits[i / 16] >> (4 * (i % 16)) & 15];
    }
    id[14] = '4';
    id[19] = digits[8 | (bits[1] & 3)];
    id[36] = '\0';
}

static void request_begin(struct http *h, struct exchange *e, const char *method)
{
    const union MHD_ConnectionInfo *peer =
        MHD_get_connection_info(e->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    struct request *q = &e->request;

    q->server = h->server;
    q->roles = h->listener->roles;
    q->method = strcmp(method, "HEAD") == 0 ? "GET" : method;
    q->address = e->address ? e->address : "/";
    q->content_type = header(e->connection, "Content-Type");
    q->authorization = header(e->connection, "Authorization");
    q->origin = header(e->connection, "Origin");
    q->host = header(e->connection, "Host");
    q->client = peer ? peer->client_addr : NULL;
    q->wake = on_wake;
    q->http = e;
    q->began = clock_now();
    request_id(h->server, q->id);
    if (e->client)
        client_turn(h, e->client);
}

static void too_large(struct request *q)
{
    answer_error(q, 413, "RequestEntityTooLargeException",
                 "The body is larger than this server takes.");
    q->answer.close = true;
}

/* What is known before the body is sent. */
static enum MHD_Result on_headers(struct http *h, struct exchange *e, const char *method)
{
    struct request *q = &e->request;
    const char *length;

    request_begin(h, e, method);
    e->stage = READING;
    length = header(e->connection, "Content-Length");
    if (!route_admit(q)) {
        q->answer.close = length && strcmp(length, "0") != 0;
        return respond(h, e);
    }
    if (length && strtoull(length, NULL, 10) > h->server->http.max_body) {
        too_large(q);
        return respond(h, e);
    }
    return MHD_YES;
}

/* What is not kept is not counted. */
static void let_go(struct exchange *e)
{
    bytes_fini(&e->request.body);
    request_refund(&e->request, SIZE_MAX);
}

static enum MHD_Result on_body(struct http *h, struct exchange *e, const char *data, size_t *size)
{
    uint64_t most = h->server->http.max_body;

    e->received += *size;
    e->crowded = e->crowded || request_charge(&e->request, *size) != SHOAL_OK;
    if (e->received > most || e->crowded) {
        let_go(e);
        *size = 0;
        return e->received / OVER_TIMES > most ? MHD_NO : MHD_YES;
    }
    if (bytes_add(&e->request.body, data, *size) != SHOAL_OK)
        return MHD_NO;
    *size = 0;
    return MHD_YES;
}

static enum MHD_Result on_whole(struct http *h, struct exchange *e)
{
    struct request *q = &e->request;

    if (e->client)
        our_turn(e->client);
    if (e->received > h->server->http.max_body) {
        too_large(q);
        return respond(h, e);
    }
    if (e->crowded) {
        answer_error(q, 503, "ServiceUnavailableException",
                     "Other requests' bodies fill the memory for them.");
        q->answer.retry_after = 1;
        return respond(h, e);
    }
    if (route_begin(q) == ROUTE_ANSWERED)
        return respond(h, e);
    e->stage = WAITING;
    MHD_suspend_connection(e->connection);
    route_submit(q); /* from here on a worker may wake it */
    return MHD_YES;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **context)
{
    struct exchange *e = *context;

    (void)connection;
    (void)url;
    (void)version;
    if (!e)
        return MHD_NO;
    if (e->stage == FRESH)
        return on_headers(cls, e, method);
    if (*size > 0)
        return on_body(cls, e, data, size);
    if (e->stage == READING)
        return on_whole(cls, e);
    route_finish(&e->request);
    return respond(cls, e);
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
    struct http *h = cls;
    struct exchange *e = *context;

    (void)connection;
    (void)code;
    *context = NULL;
    if (!e)
        return;
    if (e->client)
        client_turn(h, e->client);
    route_end(&e->request);
    if (e->request.server)
        let_go(e);
    bytes_fini(&e->request.answer.body.out);
    free(e->address);
    free(e);
    atomic_fetch_sub(&h->server->under_way, 1);
}

/* Addresses are decoded by query.c, which checks them. */
static size_t keep_escapes(void *cls, struct MHD_Connection *connection, char *text)
{
    (void)cls;
    (void)connection;
    return strlen(text);
}

/* ---- the daemon
 * ----------------------------------------------------------------------------------- */

static unsigned flags_of(const struct http_settings *s)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;

    return s->cert ? flags | MHD_USE_TLS : flags;
}

static struct MHD_Daemon *daemon_start(struct http *h)
{
    const struct http_settings *s = &h->server->http;
    bool many = h->listener->roles & ROLE_INFERENCE && s->threads > 1;
    struct MHD_OptionItem more[5] = {
        {MHD_OPTION_PER_IP_CONNECTION_LIMIT, s->max_per_client, NULL},
    };
    size_t n = 1;

    if (many)
        more[n++] = (struct MHD_OptionItem){MHD_OPTION_THREAD_POOL_SIZE, s->threads, NULL};
    if (s->cert) {
        more[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, s->cert};
        more[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, s->key};
    }
    more[n] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    return MHD_start_daemon(
        flags_of(s), 0, NULL, NULL, on_request, h, MHD_OPTION_LISTEN_SOCKET, h->listener->fd,
        MHD_OPTION_CONNECTION_LIMIT, s->max_connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)s->max_header + POOL_EXTRA, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)ceil(s->timeout), MHD_OPTION_URI_LOG_CALLBACK, on_address, h,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, h, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
        h, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_ARRAY, more, MHD_OPTION_END);
}

shoal_status http_start(struct http **out, struct shoal_server *s, struct listener *l)
{
    struct http *h = mem_array(1, sizeof *h);

    *out = NULL;
    if (!h)
        return SHOAL_ENOMEM;
    *h = (struct http){.server = s, .listener = l, .quiesced = -1};
    pthread_mutex_init(&h->lock, NULL);
    h->daemon = daemon_start(h);
    if (!h->daemon) {
        free(h);
        return shoal_fail(SHOAL_EIO, "serve: found no way to serve %s%s", l->address,
                          s->http.cert ? ", want a PEM certificate and its key" : "");
    }
    l->fd = -1; /* the daemon's */
    *out = h;
    return SHOAL_OK;
}

void http_quiesce(struct http *h)
{
    if (h && h->quiesced < 0)
        h->quiesced = MHD_quiesce_daemon(h->daemon);
}

void http_stop(struct http *h)
{
    if (!h)
        return;
    MHD_stop_daemon(h->daemon);
    if (h->quiesced >= 0)
        close(h->quiesced);
    pthread_mutex_destroy(&h->lock);
    free(h);
}
