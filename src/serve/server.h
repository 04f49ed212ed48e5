/* server: all that one server holds; not a door. */
#ifndef SHOAL_SERVE_SERVER_H
#define SHOAL_SERVE_SERVER_H

#include "serve/access.h"
#include "serve/readers.h"

enum { LISTENERS = 4 };

struct http_handler;
struct loops; /* loop.h */
struct tls;   /* tls.h */

struct listener {
    unsigned roles;
    char address[80]; /* as bound */
    bool loopback;
    bool grpc; /* it speaks that, over HTTP/2, and else HTTP/1.1 */
    int fd; /* -1 from http_start on */
    struct shoal_server *server;
    const struct http_handler *handler;
    struct loops *loops; /* at work; or NULL */
};

struct shoal_server {
    struct registry registry;
    struct server_tally tally;
    struct tokens tokens;
    struct limiter limiter;
    struct readers *readers;
    struct access_log *access; /* or NULL */
    char hostname[65];
    bool local;    /* nobody but this machine can reach it */
    uint64_t seed; /* of request ids */
    _Atomic uint64_t ids;
    _Atomic uint64_t under_way; /* requests whose head is here */
    _Atomic uint64_t running;   /* those that are here whole, and not answered yet */
    _Atomic uint64_t held;      /* bytes that requests hold: budget.c */
    atomic_bool draining; /* it is to end, and not ready for more */
    atomic_bool starting; /* its models are being opened */

    struct http_settings {
        unsigned threads;
        uint64_t max_body, max_header;
        uint64_t max_held, max_request; /* bytes of all requests together, and of one */
        unsigned max_connections, max_per_client;
        double timeout;
        struct tls *tls; /* or NULL */
    } http;

    struct listener listeners[LISTENERS];
    size_t nlisteners;
    size_t which[LISTENERS]; /* by enum shoal_listener; LISTENERS: none */

    pthread_t ticker;
    bool ticking;
    int ending; /* an event that ends the ticker, while it runs */
    double drain_delay, drain, reload_every;
};

/* It wants requests: it neither starts nor ends, and its models are there. */
bool server_is_ready(struct shoal_server *s);

/* ---- http.c ---- */

/* Who answers: the routes of request.h, or one that shows a page. */
struct http_handler {
    bool (*admit)(struct request *q);
    enum route (*begin)(struct request *q);
    void (*submit)(struct request *q); /* the rest: of what waits */
    void (*finish)(struct request *q);
    void (*end)(struct request *q);
    const char *policy; /* what a page may load: Content-Security-Policy */
};

/* Answers clients from now on, by l->loops. Takes the listener's socket, also upon failure. */
shoal_status http_start(struct listener *l, struct shoal_server *s,
                        const struct http_handler *handler);

/* ---- h2.c ---- */

/* The same for gRPC, by grpc_routes. */
shoal_status h2_start(struct listener *l, struct shoal_server *s);
extern const struct http_handler grpc_routes; /* grpc.c */

/* ---- listen.c ---- */

/* "127.0.0.1:8080", "[::1]:0", "http://localhost:8080/"; false: no such. */
bool address_parse(const char *text, char host[64], char port[8]);
/* Binds and listens; the address as bound and whether it is loopback go to *l. `option` is what
 * another address is given by, for sentences. */
shoal_status listener_open(struct listener *l, const char *text, const char *option);
/* Gives up being root. */
shoal_status privileges_drop(const char *user);

#endif
