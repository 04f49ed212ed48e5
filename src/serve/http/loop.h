/* loop: connections, waited for by epoll; not a door.
 *
 * What this is: threads that accept clients at one socket, each with an epoll and with
 * connections of its own, their deadlines, TLS underneath, and their end. What the
 * bytes mean is the business of a codec, a table of functions:
 *
 *     accept --> [TLS handshake] ----.
 *                                      |
 *               .----------------------+--------------------.
 *               |   ready      bytes may be read or written |  <-- epoll
 *               |   expired    its deadline has passed      |
 *               |   woken      of loop_wake                 |  <-- any thread
 *               |   drain      the server is to end         |  <-- loops_drain
 *               '----------------------+--------------------'
 *                                      |
 *        conn_linger: says that it is all, drops what still comes, for a while
 *                                      |
 *        conn_close --> closed
 *
 * Sockets are registered once, edge-triggered: `readable` and `writable` remember an edge,
 * and conn_recv and conn_send clear them when the socket says EAGAIN.
 *
 * Who owns what: loops own their connections and take over the listening socket. A
 * connection is freed at the end of its loop's round, so that a codec may close it
 * anywhere.
 * Threads: all functions of a codec are called on the thread of the connection's loop,
 * and call conn_* there. loop_wake may be called by any thread; loops_* by the one that
 * started them. */
#ifndef SHOAL_SERVE_LOOP_H
#define SHOAL_SERVE_LOOP_H

#include "serve/http/tls.h"

#include <netinet/in.h>
#include <sys/queue.h>
#include <sys/uio.h>

struct loop;
struct loops;
LIST_HEAD(conn_list, conn);

/* Which deadline runs: none, that of a step of the client's (a handshake, a head, a body,
 * reading an answer, idling), or that of lingering. */
enum conn_clock { CLOCK_NONE, CLOCK_CLIENT, CLOCK_LINGER, CLOCKS };

/* The beginning of what a codec keeps for a connection. */
struct conn {
    struct loop *loop;
    int fd; /* -1 after conn_hang_up */
    bool readable, writable;
    bool left; /* the client sends no more, or is gone */
    bool shaking, lingering, refused, counted, dead, queued;
    enum conn_clock clock;
    double until; /* clock_now() */
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } peer;
    uint64_t client; /* client_number */
    size_t dropped;  /* bytes, while it lingers */
    struct tls_session *tls;

    LIST_ENTRY(conn) of_loop;
    TAILQ_ENTRY(conn) of_clock;  /* those with the same clock, by deadline */
    LIST_ENTRY(conn) of_clients; /* while `counted`: those whose client has the same slot */
    struct conn *behind;         /* to be seen once more, or to be freed */
};

/* Something that waits for another thread. */
struct waiting {
    struct waiting *next;
};

struct codec {
    size_t size;      /* of a connection, which begins with struct conn */
    size_t loop_size; /* of what a loop keeps for it: loop_data */
    void (*ready)(struct conn *c);
    void (*expired)(struct conn *c);
    void (*woken)(struct waiting *w);
    void (*drain)(struct conn *c); /* once, when it is to end */
    void (*stop)(struct conn *c);  /* last of all: what can be said without waiting */
    void (*closed)(struct conn *c);
    void (*loop_fini)(void *data);
};

struct loop_settings {
    unsigned threads, max_connections, max_per_client; /* 0 per client: no limit */
    double timeout;                                    /* seconds of CLOCK_CLIENT */
    struct tls *tls;                                   /* borrowed; or NULL */
    const char *protocol; /* what it is called where TLS begins (ALPN) */
    const char *busy; /* what a client beyond the limit is told; nothing over TLS */
    const struct codec *codec;
    void *user;
};

enum { LOOP_BUFFER = 64 << 10 };
#define LINGER_SECONDS 2.0
#define LINGER_BYTES ((size_t)8 << 20)

/* fd listens and does not block; it is the loops' also upon failure. */
shoal_status loops_start(struct loops **out, int fd, const struct loop_settings *settings);
/* Clients that are connected already are accepted, then the kernel refuses others and another
 * process may listen; each connection is told to drain. This and those below accept NULL. */
void loops_drain(struct loops *ls);
/* All connections have been told. */
bool loops_drained(const struct loops *ls);
/* Ends what is left; nobody may call loop_wake any more. */
void loops_stop(struct loops *ls);

void *loop_user(const struct loop *l);
void *loop_data(const struct loop *l);
char *loop_buffer(const struct loop *l); /* [LOOP_BUFFER], until the next event */
/* The codec's `woken` of w on the loop's own thread, soon. */
void loop_wake(struct loop *l, struct waiting *w);

/* As recv and sendmsg. -1 with EAGAIN: `ready` comes when there is more. What was not
 * sent must be offered again, from the same byte on. */
ssize_t conn_recv(struct conn *c, void *at, size_t len);
ssize_t conn_send(struct conn *c, const struct iovec *parts, int n);
/* Starts the clock anew. */
void conn_clock(struct conn *c, enum conn_clock clock);
/* `ready` once more, after the other connections. */
void conn_requeue(struct conn *c);
/* Ends the socket, keeps the connection. */
void conn_hang_up(struct conn *c);
void conn_linger(struct conn *c);
void conn_close(struct conn *c);

#endif
