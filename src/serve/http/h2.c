/* gRPC over HTTP/2, by nghttp2, between the connections of loop.c and the routes. A stream is a
 * request:
 *
 *                  fields         message             a worker
 *     stream --> HEAD ------> BODY ----------> (route) ----------> WAITING
 *                  | refused    | refused         |                   | wake
 *                  '------------+-------------> SENDING <-------------'
 *                                                 |
 *                         fields, message, trailer: grpc-status; the stream is closed
 *
 * Many streams share a connection. While one is WAITING it belongs to a worker: the loop touches
 * nothing of it but `job.abandoned` until the worker wakes it, also when the client has reset it
 * (`closed`) or is gone. So a stream that nghttp2 has forgotten may still live here, and counts
 * towards the limit: who opens and resets streams in a row (rapid reset) is refused more of them.
 *
 * Frames cost time even where they ask for nothing. A connection has a credit: requests and bytes
 * of messages earn some, frames that are neither (PING, SETTINGS, PRIORITY, resets, empty DATA)
 * spend it, and who has none left is told to calm down. What nghttp2 bounds itself: fields that
 * go on and on (CONTINUATION), acknowledgements that are not read, HPACK's tables. */
#include "serve/access.h"
#include "serve/trace.h"
#include "serve/http/grpc_text.h"
#include "serve/http/loop.h"
#include "serve/server.h"

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STREAMS = 128,       /* of a connection at once */
    READS = 8,           /* of a connection in one round of the loop */
    GATHERED = 32 << 10, /* bytes that are sent at once */
    PROGRESS = 64 << 10, /* bytes of an answer that a client must read in each timeout */
    SPARE_STREAMS = 128, /* of a loop */
    STREAM_WINDOW = 1 << 20,
    CONN_WINDOW = 4 << 20,
    CREDIT = 1000, /* frames */
    CREDIT_MAX = 20000,
    CREDIT_REQUEST = 16,    /* for a request that came whole */
    CREDIT_BYTES = 1 << 10, /* bytes of a message, and of an answer, for one more */
    RESETS = 100,           /* streams that may be reset before their answer, */
    RESETS_SHARE = 4,       /* and one for so many that were answered */
};

struct stream {
    struct waiting waiting; /* first */
    struct h2_conn *conn;
    TAILQ_ENTRY(stream) of_conn;
    int32_t id;
    enum { HEAD, BODY, WAITING, SENDING } stage;
    bool begun;   /* the routes know of it */
    bool running; /* whole, and not answered yet */
    bool closed;  /* nghttp2 does not know it any more */
    bool whole;   /* all has come */
    bool grpc, post, encoded;
    size_t fields;   /* bytes of header fields, as HPACK counts them */
    size_t stored;   /* bytes charged for the request's body */
    size_t prefixed; /* bytes of the prefix that have come */
    size_t received; /* bytes of its message, prefix and all */
    size_t sent, checked;
    double began, timeout;
    struct request request;
    char path[96], authorization[TOKEN_MAX + 16];
    char named[65], trace[64]; /* x-request-id, traceparent; "" when not given */
    char prefix[GRPC_PREFIX];
};

struct h2_conn {
    struct conn conn; /* first */
    nghttp2_session *session;
    TAILQ_HEAD(, stream) streams;
    size_t live, waiting; /* streams; of them WAITING */
    struct bytes rest;    /* gathered, and not sent yet */
    size_t rest_at;
    size_t sent, checked; /* bytes: all, and at the last look of when_expired */
    long credit;
    size_t earned; /* bytes that have not made a whole credit */
    size_t answered, resets;
    bool heard;  /* the client has spoken; before that nothing is said to it */
    bool broken; /* nothing more of it is to be read */
};

/* Of a loop. */
struct h2_loop {
    struct stream *spare;
    size_t spares;
    char gathered[GATHERED];
};

static struct listener *listener_of(const struct h2_conn *c)
{
    return loop_user(c->conn.loop);
}

/* ---- streams ---- */

static struct stream *stream_new(struct h2_conn *c, int32_t id)
{
    struct h2_loop *l = loop_data(c->conn.loop);
    struct stream *s = l->spare;

    if (s) {
        l->spare = (struct stream *)s->waiting.next;
        l->spares--;
    } else if (!(s = malloc(sizeof *s))) {
        return NULL;
    }
    memset(s, 0, offsetof(struct stream, path));
    s->path[0] = s->authorization[0] = s->named[0] = s->trace[0] = '\0';
    s->conn = c;
    s->id = id;
    s->began = clock_now();
    s->request.server = listener_of(c)->server;
    TAILQ_INSERT_TAIL(&c->streams, s, of_conn);
    if (c->live++ == 0)
        conn_clock(&c->conn, CLOCK_CLIENT);
    return s;
}

static void drop_body(struct stream *s)
{
    bytes_fini(&s->request.body);
    request_refund(&s->request, s->stored);
    s->stored = 0;
}

/* Nobody else has it. */
static void stream_end(struct stream *s)
{
    struct h2_conn *c = s->conn;
    struct h2_loop *l = loop_data(c->conn.loop);
    const struct listener *at = listener_of(c);

    if (!s->closed && c->session)
        nghttp2_session_set_stream_user_data(c->session, s->id, NULL);
    if (s->request.id[0])
        access_add(at->server->access, &s->request, s->received, s->sent);
    if (s->begun) {
        at->handler->end(&s->request);
        atomic_fetch_sub_explicit(&at->server->under_way, 1, memory_order_relaxed);
    }
    drop_body(s);
    request_refund(&s->request, SIZE_MAX);
    bytes_fini(&s->request.answer.body.out);
    if (s->running)
        atomic_fetch_sub(&at->server->running, 1);
    TAILQ_REMOVE(&c->streams, s, of_conn);
    if (--c->live == 0 && !c->conn.dead && c->conn.fd >= 0)
        conn_clock(&c->conn, CLOCK_CLIENT); /* it idles from now on */
    if (l->spares >= SPARE_STREAMS) {
        free(s);
        return;
    }
    s->waiting.next = (struct waiting *)l->spare;
    l->spare = s;
    l->spares++;
}

static void h2_loop_fini(void *data)
{
    struct h2_loop *l = data;

    while (l->spare) {
        struct stream *s = l->spare;

        l->spare = (struct stream *)s->waiting.next;
        free(s);
    }
}

/* ---- answers ---- */

static const char *body_of(const struct answer *a, size_t *len)
{
    *len = a->constant ? a->constant_len : a->body.out.len;
    return a->constant ? a->constant : a->body.out.at;
}

static nghttp2_nv field(const char *name, const char *value, size_t len)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), len,
                        NGHTTP2_NV_FLAG_NO_COPY_NAME};
}

static void earn(struct h2_conn *c, size_t bytes)
{
    c->earned += bytes;
    c->credit += (long)(c->earned / CREDIT_BYTES);
    c->earned %= CREDIT_BYTES;
    c->credit = c->credit < CREDIT_MAX ? c->credit : CREDIT_MAX;
}

/* Bytes of the answer for nghttp2: the prefix, the message; then the trailer. */
static ssize_t give_data(nghttp2_session *session, int32_t id, uint8_t *out, size_t cap,
                         uint32_t *flags, nghttp2_data_source *source, void *user)
{
    struct stream *s = source->ptr;
    size_t len, n = 0;
    const char *body = body_of(&s->request.answer, &len);

    while (n < cap && s->sent < GRPC_PREFIX)
        out[n++] = (uint8_t)s->prefix[s->sent++];
    if (n < cap && s->sent >= GRPC_PREFIX && len > s->sent - GRPC_PREFIX) {
        size_t from = s->sent - GRPC_PREFIX, some = len - from < cap - n ? len - from : cap - n;

        memcpy(out + n, body + from, some);
        s->sent += some;
        n += some;
    }
    earn(user, n);
    if (s->sent == GRPC_PREFIX + len) {
        nghttp2_nv trailer = field("grpc-status", "0", 1);

        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        if (nghttp2_submit_trailer(session, id, &trailer, 1) != 0)
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    return (ssize_t)n;
}

/* Fields and trailer in one: there is no message. */
static int submit_failure(struct stream *s)
{
    const struct answer *a = &s->request.answer;
    char code[12], text[GRPC_MESSAGE_MAX];
    size_t len;
    const char *body = body_of(a, &len);
    int n = snprintf(code, sizeof code, "%d", grpc_status(a->status));
    size_t said = grpc_message(text, body ? body : "", len);
    nghttp2_nv fields[] = {
        field(":status", s->grpc ? "200" : "415", 3), field("content-type", "application/grpc", 16),
        field("grpc-status", code, (size_t)n),        field("grpc-message", text, said),
        field("grpc-accept-encoding", "identity", 8),
    };

    return nghttp2_submit_response(s->conn->session, s->id, fields, 5, NULL);
}

static int submit_message(struct stream *s)
{
    nghttp2_nv fields[] = {field(":status", "200", 3),
                           field("content-type", "application/grpc", 16)};
    nghttp2_data_provider source = {.source.ptr = s, .read_callback = give_data};
    size_t len;

    body_of(&s->request.answer, &len);
    grpc_prefix(s->prefix, len);
    return nghttp2_submit_response(s->conn->session, s->id, fields, 2, &source);
}

/* Last of all for a stream that nghttp2 cannot take: it may be gone then. */
static void respond(struct stream *s)
{
    struct h2_conn *c = s->conn;
    struct request *q = &s->request;

    drop_body(s);
    answer_charge(q);
    s->stage = SENDING;
    s->began = clock_now();
    c->answered++;
    atomic_fetch_add_explicit(&q->server->tally.answers[q->answer.status / 100 % 6], 1,
                              memory_order_relaxed);
    if ((q->answer.status == 200 ? submit_message : submit_failure)(s) != 0)
        nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_INTERNAL_ERROR);
}

static void refuse(struct stream *s, int status, const char *why)
{
    static const struct wire plain = {0};

    if (!s->request.wire)
        s->request.wire = &plain; /* its errors are text */
    answer_error(&s->request, status, "", why);
    respond(s);
}

/* ---- requests ---- */

static void on_wake(struct request *q)
{
    struct stream *s = q->http;

    loop_wake(s->conn->conn.loop, &s->waiting);
}

static void request_begin(struct stream *s)
{
    const struct listener *at = listener_of(s->conn);
    struct request *q = &s->request;

    s->begun = true;
    q->roles = at->roles;
    q->method = "POST";
    q->address = s->path;
    q->authorization = *s->authorization ? s->authorization : NULL;
    request_name(q, *s->named ? s->named : NULL, *s->trace ? s->trace : NULL);
    q->client = &s->conn->conn.peer.any;
    q->wake = on_wake;
    q->http = s;
    q->began = clock_now();
    q->expires = s->timeout > 0 ? q->began + s->timeout : 0;
    atomic_fetch_add_explicit(&at->server->under_way, 1, memory_order_relaxed);
}

static void on_head(struct stream *s)
{
    const struct listener *at = listener_of(s->conn);

    s->stage = BODY;
    request_begin(s);
    if (!s->grpc || !s->post)
        refuse(s, 400, "found another request, want POST of application/grpc");
    else if (s->fields > at->server->http.max_header)
        refuse(s, 431, "the fields are larger than this server takes");
    else if (s->timeout < 0)
        refuse(s, 400, "grpc-timeout: found no time, want digits and a unit");
    else if (s->encoded)
        refuse(s, 501, "grpc-encoding: found a compression, want identity");
    else if (!at->handler->admit(&s->request))
        respond(s);
}

static void on_body(struct stream *s, const uint8_t *at, size_t len)
{
    struct request *q = &s->request;
    shoal_status st;

    s->received += len;
    for (; len > 0 && s->prefixed < GRPC_PREFIX; at++, len--)
        s->prefix[s->prefixed++] = (char)*at;
    if (len > q->server->http.max_body - q->body.len) {
        refuse(s, 413, "the message is larger than this server takes");
        return;
    }
    st = request_charge(q, len);
    if (st == SHOAL_OK) {
        s->stored += len;
        st = bytes_add(&q->body, at, len);
    }
    if (st != SHOAL_OK) {
        answer_failure(q, st);
        respond(s);
    }
}

static void on_whole(struct stream *s)
{
    const struct listener *at = listener_of(s->conn);
    struct request *q = &s->request;
    int status;
    const char *wrong = grpc_check(s->prefix, s->prefixed, q->body.len, &status);

    if (wrong) {
        refuse(s, status, wrong);
        return;
    }
    if (q->expires > 0 && clock_now() >= q->expires) {
        refuse(s, 408, "the time that the client gives is over");
        return;
    }
    s->running = true;
    atomic_fetch_add(&at->server->running, 1);
    if (at->handler->begin(q) == ROUTE_ANSWERED) {
        respond(s);
        return;
    }
    s->stage = WAITING;
    s->conn->waiting++;
    at->handler->submit(q); /* from here on it is a worker's */
}

/* ---- what nghttp2 says ---- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct h2_conn *c = user;
    struct stream *s;

    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    s = c->live < STREAMS ? stream_new(c, frame->hd.stream_id) : NULL;
    if (!s)
        return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                         NGHTTP2_REFUSED_STREAM);
    return nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, s);
}

static bool name_is(const char *want, const uint8_t *name, size_t len)
{
    return strlen(want) == len && memcmp(want, name, len) == 0;
}

/* Cut, it would be another: then it is "?". */
static void keep_text(char *out, size_t cap, const uint8_t *value, size_t len)
{
    snprintf(out, cap, "%.*s", len < cap ? (int)len : 1, len < cap ? (const char *)value : "?");
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t len, uint8_t flags, void *user)
{
    static const char grpc[] = "application/grpc";
    struct stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

    (void)flags;
    (void)user;
    if (!s || s->stage != HEAD)
        return 0;
    s->fields += name_len + len + 32;
    if (name_is(":path", name, name_len))
        keep_text(s->path, sizeof s->path, value, len);
    else if (name_is(":method", name, name_len))
        s->post = name_is("POST", value, len);
    else if (name_is("x-request-id", name, name_len))
        keep_text(s->named, sizeof s->named, value, len);
    else if (name_is("traceparent", name, name_len))
        keep_text(s->trace, sizeof s->trace, value, len);
    else if (name_is("authorization", name, name_len))
        keep_text(s->authorization, sizeof s->authorization, value, len);
    else if (name_is("content-type", name, name_len))
        s->grpc = len >= sizeof grpc - 1 && memcmp(value, grpc, sizeof grpc - 1) == 0 &&
                  (len == sizeof grpc - 1 || strchr("+;", value[sizeof grpc - 1]));
    else if (name_is("grpc-timeout", name, name_len))
        s->timeout = grpc_timeout((const char *)value, len);
    else if (name_is("grpc-encoding", name, name_len))
        s->encoded = !name_is("identity", value, len);
    return 0;
}

static int on_chunk(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *at,
                    size_t len, void *user)
{
    struct stream *s = nghttp2_session_get_stream_user_data(session, id);

    (void)flags;
    earn(user, len);
    if (s && s->stage == BODY)
        on_body(s, at, len);
    return 0;
}

/* Frames that ask for something: their fields, or bytes of a message. */
static bool is_useful(const nghttp2_frame *f)
{
    return f->hd.type == NGHTTP2_HEADERS ||
           (f->hd.type == NGHTTP2_DATA &&
            (f->hd.length > 0 || f->hd.flags & NGHTTP2_FLAG_END_STREAM));
}

/* Fails when it asks for too much that leads nowhere. */
static int spend(struct h2_conn *c)
{
    if (--c->credit >= 0)
        return 0;
    c->broken = true;
    return nghttp2_session_terminate_session(c->session, NGHTTP2_ENHANCE_YOUR_CALM);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *f, void *user)
{
    struct h2_conn *c = user;
    struct stream *s =
        f->hd.stream_id ? nghttp2_session_get_stream_user_data(session, f->hd.stream_id) : NULL;

    if (!is_useful(f) && spend(c) != 0)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (!s || (f->hd.type != NGHTTP2_HEADERS && f->hd.type != NGHTTP2_DATA))
        return 0;
    if (s->stage == HEAD && f->hd.type == NGHTTP2_HEADERS)
        on_head(s);
    if (!(f->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    s->whole = true;
    c->credit += CREDIT_REQUEST;
    earn(c, 0);
    if (s->stage == BODY)
        on_whole(s);
    return 0;
}

/* An answer that came before the whole request: the rest of it is not wanted. */
static int on_sent(nghttp2_session *session, const nghttp2_frame *f, void *user)
{
    struct stream *s = nghttp2_session_get_stream_user_data(session, f->hd.stream_id);

    (void)user;
    if (s && !s->whole && f->hd.type == NGHTTP2_HEADERS && f->hd.flags & NGHTTP2_FLAG_END_STREAM)
        return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, f->hd.stream_id,
                                         NGHTTP2_NO_ERROR);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
    struct h2_conn *c = user;
    struct stream *s = nghttp2_session_get_stream_user_data(session, id);

    if (!s)
        return 0;
    s->closed = true;
    if (code != NGHTTP2_NO_ERROR && s->stage != SENDING &&
        ++c->resets > RESETS + c->answered / RESETS_SHARE && !c->broken) {
        c->broken = true;
        nghttp2_session_terminate_session(session, NGHTTP2_ENHANCE_YOUR_CALM);
    }
    if (s->stage == WAITING)
        atomic_store(&s->request.job.abandoned, true);
    else
        stream_end(s);
    return 0;
}

static int on_invalid(nghttp2_session *session, const nghttp2_frame *f, int code, void *user)
{
    (void)session;
    (void)f;
    (void)code;
    return spend(user) == 0 ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* ---- sessions ---- */

static nghttp2_session_callbacks *callbacks_new(void)
{
    nghttp2_session_callbacks *k = NULL;

    if (nghttp2_session_callbacks_new(&k) != 0)
        return NULL;
    nghttp2_session_callbacks_set_on_begin_headers_callback(k, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(k, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(k, on_chunk);
    nghttp2_session_callbacks_set_on_frame_recv_callback(k, on_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(k, on_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(k, on_close);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(k, on_invalid);
    return k;
}

static bool session_begin(struct h2_conn *c)
{
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)listener_of(c)->server->http.max_header},
    };
    nghttp2_session_callbacks *callbacks = callbacks_new();
    nghttp2_option *option = NULL;
    bool begun = callbacks && nghttp2_option_new(&option) == 0;

    TAILQ_INIT(&c->streams);
    c->credit = CREDIT;
    if (begun) {
        nghttp2_option_set_no_closed_streams(option, 1);
        begun = nghttp2_session_server_new2(&c->session, callbacks, c, option) == 0 &&
                nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings,
                                        sizeof settings / sizeof *settings) == 0 &&
                nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0,
                                                      CONN_WINDOW) == 0;
    }
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    return begun;
}

/* The client is gone, or is to be: what workers have is abandoned, and freed when they wake it. */
static void hang_up(struct h2_conn *c)
{
    if (c->waiting == 0) {
        conn_close(&c->conn);
        return;
    }
    for (struct stream *s = TAILQ_FIRST(&c->streams), *next; s; s = next) {
        next = TAILQ_NEXT(s, of_conn);
        if (s->stage == WAITING)
            atomic_store(&s->request.job.abandoned, true);
        else
            stream_end(s);
    }
    conn_clock(&c->conn, CLOCK_NONE);
    conn_hang_up(&c->conn);
}

/* ---- bytes ---- */

/* What the socket does not take is kept: nothing more is gathered, and nothing read, until it is
 * sent. False: the connection is gone. */
static bool send_some(struct h2_conn *c, const char *at, size_t len)
{
    struct iovec part = {(char *)(uintptr_t)at, len};
    ssize_t sent = conn_send(&c->conn, &part, 1);
    bool kept = c->rest.len > 0; /* it comes from there */

    if (sent < 0 && errno != EAGAIN) {
        hang_up(c);
        return false;
    }
    sent = sent > 0 ? sent : 0;
    c->sent += (size_t)sent;
    if (kept) {
        c->rest_at += (size_t)sent;
        if (c->rest_at == c->rest.len) {
            bytes_fini(&c->rest);
            c->rest_at = 0;
        }
    } else if ((size_t)sent < len &&
               bytes_add(&c->rest, at + sent, len - (size_t)sent) != SHOAL_OK) {
        hang_up(c);
        return false;
    }
    return true;
}

/* Frames of nghttp2, until there are enough for one send; negative: it failed. */
static ssize_t gather(struct h2_conn *c, char *out)
{
    size_t len = 0;

    /* A frame of 16 KiB and its head still fit behind what is less than half of it. */
    while (len < GATHERED / 2 - 64) {
        const uint8_t *at;
        ssize_t n = nghttp2_session_mem_send(c->session, &at);

        if (n <= 0)
            return n < 0 ? n : (ssize_t)len;
        if ((size_t)n > GATHERED - len)
            return -1;
        memcpy(out + len, at, (size_t)n);
        len += (size_t)n;
    }
    return (ssize_t)len;
}

/* As much as the socket takes; false: the connection is gone or lingers. */
static bool flush(struct h2_conn *c)
{
    struct h2_loop *l = loop_data(c->conn.loop);
    ssize_t n = 1;

    if (!c->heard)
        return true;
    if (c->rest.len > 0 && !send_some(c, c->rest.at + c->rest_at, c->rest.len - c->rest_at))
        return false;
    while (c->rest.len == 0 && n > 0) {
        n = gather(c, l->gathered);
        if (n < 0) {
            hang_up(c);
            return false;
        }
        if (n > 0 && !send_some(c, l->gathered, (size_t)n))
            return false;
    }
    if (c->rest.len > 0 || c->live > 0 || nghttp2_session_want_read(c->session) ||
        nghttp2_session_want_write(c->session))
        return true;
    conn_linger(&c->conn);
    return false;
}

/* To a client of HTTP/1.1, which has sent no preface of HTTP/2. */
static void say_wrong_protocol(struct h2_conn *c)
{
    static const char text[] = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
                               "Content-Length: 45\r\nConnection: close\r\n\r\n"
                               "This address speaks gRPC, and HTTP/2 alone.\r\n";
    struct iovec part = {(char *)(uintptr_t)text, sizeof text - 1};

    conn_send(&c->conn, &part, 1);
    conn_linger(&c->conn);
}

/* False: nothing more is to be read. */
static bool take_bytes(struct h2_conn *c, const char *at, size_t len)
{
    ssize_t n = nghttp2_session_mem_recv(c->session, (const uint8_t *)at, len);

    if (n == NGHTTP2_ERR_BAD_CLIENT_MAGIC && !c->heard) {
        say_wrong_protocol(c);
        return false;
    }
    c->heard = true;
    if (n < 0) {
        nghttp2_session_terminate_session(c->session, NGHTTP2_INTERNAL_ERROR);
        c->broken = true;
    }
    return !c->broken;
}

static void read_on(struct h2_conn *c)
{
    char *buffer = loop_buffer(c->conn.loop);

    if (!c->session && !session_begin(c)) {
        hang_up(c);
        return;
    }
    for (int i = 0; i < READS && c->rest.len == 0 && !c->broken; i++) {
        ssize_t n = conn_recv(&c->conn, buffer, LOOP_BUFFER);

        if (n < 0 && errno == EAGAIN) {
            flush(c);
            return;
        }
        if (n <= 0) {
            hang_up(c);
            return;
        }
        if (!take_bytes(c, buffer, (size_t)n) && (c->conn.dead || c->conn.lingering))
            return;
        if (!flush(c))
            return;
    }
    if (c->rest.len == 0 && !c->broken)
        conn_requeue(&c->conn);
    else
        flush(c);
}

/* ---- what the loop says ---- */

static void when_ready(struct conn *conn)
{
    struct h2_conn *c = (struct h2_conn *)conn;

    if (c->session && conn->writable && !flush(c))
        return;
    if (c->broken) {
        if (c->rest.len == 0)
            hang_up(c);
        return;
    }
    read_on(c);
    if (!conn->dead && !conn->lingering && c->broken && c->rest.len == 0)
        hang_up(c);
}

static void when_woken(struct waiting *w)
{
    struct stream *s = (struct stream *)w;
    struct h2_conn *c = s->conn;

    c->waiting--;
    if (c->conn.fd < 0 || s->closed || c->conn.dead || c->conn.lingering) {
        stream_end(s);
        if (c->conn.fd < 0 && c->live == 0)
            conn_close(&c->conn);
        else if (c->conn.fd >= 0)
            conn_requeue(&c->conn); /* it may end now */
        return;
    }
    listener_of(c)->handler->finish(&s->request);
    respond(s);
    conn_requeue(&c->conn); /* it is flushed with the other answers of this round */
}

/* Whether the client has been too slow with this stream since the last look. */
static bool is_late(struct stream *s, double timeout, double now)
{
    bool late = s->stage != WAITING && now - s->began >= timeout && s->sent - s->checked < PROGRESS;

    s->checked = s->sent;
    return late;
}

static void when_expired(struct conn *conn)
{
    struct h2_conn *c = (struct h2_conn *)conn;
    double now = clock_now(), timeout = listener_of(c)->server->http.timeout;

    if (conn->fd < 0)
        return;
    if (c->rest.len > 0 && c->sent == c->checked) { /* it reads nothing */
        hang_up(c);
        return;
    }
    c->checked = c->sent;
    if (!c->session || c->live == 0 || c->broken) {
        if (c->session) {
            nghttp2_session_terminate_session(c->session, NGHTTP2_NO_ERROR);
            c->broken = true;
            if (!flush(c))
                return;
        }
        if (!conn->dead && !conn->lingering)
            hang_up(c);
        return;
    }
    for (struct stream *s = TAILQ_FIRST(&c->streams), *next; s; s = next) {
        next = TAILQ_NEXT(s, of_conn);
        if (!is_late(s, timeout, now))
            continue;
        if (s->stage == SENDING || s->stage == HEAD)
            nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_CANCEL);
        else
            refuse(s, 408, "the request did not come in time");
    }
    conn_clock(conn, CLOCK_CLIENT);
    flush(c);
}

static void when_drain(struct conn *conn)
{
    struct h2_conn *c = (struct h2_conn *)conn;

    if (conn->fd < 0)
        return;
    conn->readable = true;
    read_on(c); /* what has already come */
    if (conn->dead || conn->lingering || conn->fd < 0)
        return;
    /* The client is to open no more streams; those on their way are still answered. */
    nghttp2_submit_shutdown_notice(c->session);
    flush(c);
}

static void when_stop(struct conn *conn)
{
    struct h2_conn *c = (struct h2_conn *)conn;

    if (!c->session || conn->fd < 0)
        return;
    for (struct stream *s = TAILQ_FIRST(&c->streams), *next; s; s = next) {
        next = TAILQ_NEXT(s, of_conn);
        if (s->stage < WAITING)
            refuse(s, 503, "the server is ending");
    }
    /* Streams that come later are not looked at: the client may ask elsewhere. */
    nghttp2_submit_goaway(c->session, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(c->session), NGHTTP2_NO_ERROR,
                          NULL, 0);
    flush(c);
}

static void when_closed(struct conn *conn)
{
    struct h2_conn *c = (struct h2_conn *)conn;

    while (c->session && !TAILQ_EMPTY(&c->streams))
        stream_end(TAILQ_FIRST(&c->streams));
    nghttp2_session_del(c->session);
    c->session = NULL;
    bytes_fini(&c->rest);
}

static const struct codec codec = {
    .size = sizeof(struct h2_conn),
    .loop_size = sizeof(struct h2_loop),
    .ready = when_ready,
    .expired = when_expired,
    .woken = when_woken,
    .drain = when_drain,
    .stop = when_stop,
    .closed = when_closed,
    .loop_fini = h2_loop_fini,
};

/* ---- a listener at work ---- */

shoal_status h2_start(struct listener *l, struct shoal_server *s)
{
    int fd = l->fd;

    l->server = s;
    l->handler = &grpc_routes;
    l->fd = -1; /* the loops' */
    return loops_start(&l->loops, fd,
                       &(struct loop_settings){
                           .threads = s->http.threads,
                           .max_connections = s->http.max_connections,
                           .max_per_client = s->http.max_per_client,
                           .timeout = s->http.timeout,
                           .tls = s->http.tls,
                           .protocol = "h2",
                           .codec = &codec,
                           .user = l,
                       });
}
