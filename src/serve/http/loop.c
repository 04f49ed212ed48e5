/* One loop is one thread around one epoll. Each round does, in this order:
 *
 *     loop_wait     sleep until a socket, the event or the next deadline
 *     take_events   sockets that became readable or writable; a new client
 *     take_woken    answers that workers have finished
 *     take_again    connections that stopped halfway to let others have their turn
 *     take_expired  connections whose deadline has passed
 *     bury          free what was closed meanwhile
 *
 * Sockets are edge-triggered: epoll reports each change once, and nobody is told again of
 * bytes that were left in the socket. So `readable` and `writable` remember the edge until
 * recv or send has said EAGAIN. The invariant: a connection with unread bytes either has
 * `readable` set and is in the list `again`, or waits for something else (an answer, a
 * deadline) after which it is read on; else it would hang.
 *
 * Any function may close any connection, also one that a later event of the same round
 * names. conn_close therefore only marks it `dead` and takes it off its lists; the memory
 * is freed by `bury`, when no event can name it any more.
 *
 * All connections of one clock are allowed the same time. The order in which clocks were
 * started is then the order in which they end, so a plain queue replaces a heap or a timer
 * wheel: starting and stopping a clock is O(1), and only its head can have expired. */
#include "serve/http/loop.h"
#include "serve/limits.h"

#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    EVENTS = 256,        /* of one epoll_wait */
    CLIENT_SLOTS = 1024, /* lists of connections by client */
    REFUSED_MAX = 64,    /* of a loop: clients beyond the limit that are being told so */
    WAIT_MAX = 1000,     /* milliseconds */
};

#define ACCEPT_PAUSE 0.1 /* seconds, when there are no descriptors */

struct deadlines {
    TAILQ_HEAD(, conn) conns; /* the soonest first */
    double seconds;
};

struct loop {
    struct loops *all;
    pthread_t thread;
    bool running;
    int epoll, event; /* an eventfd that wakes it */
    char *buffer;
    void *data;
    double now, accept_at; /* 0: it accepts; infinite: never again */
    unsigned refused;
    struct conn_list conns;
    struct deadlines clocks[CLOCKS];
    struct conn *again, *dead;

    _Atomic(struct waiting *) woken; /* a stack: the last first */
    atomic_bool asleep;              /* it may wait in epoll: the event must wake it */
    atomic_bool drain, drained, stop;
};

struct loops {
    struct loop_settings settings;
    int fd;
    unsigned n;
    atomic_uint connections;
    pthread_mutex_t lock;      /* of clients */
    struct conn_list *clients; /* [CLIENT_SLOTS], or NULL when nobody counts them */
    struct loop at[];
};

void *loop_user(const struct loop *l)
{
    return l->all->settings.user;
}

void *loop_data(const struct loop *l)
{
    return l->data;
}

char *loop_buffer(const struct loop *l)
{
    return l->buffer;
}

/* ---- being woken ---- */

static void loop_poke(struct loop *l)
{
    uint64_t one = 1;
    ssize_t done;

    do
        done = write(l->event, &one, sizeof one);
    while (done < 0 && errno == EINTR);
}

/* A lock-free stack: any thread pushes, the loop takes all of it at once (so there is no ABA
 * problem). No wake-up is lost, because each side first writes and then reads:
 *
 *     worker: push to woken, then read asleep      loop: set asleep, then read woken
 *
 * With sequentially consistent atomics at least one of the two sees what the other wrote:
 * either the worker sends the event, or the loop does not sleep. Only who pushes to an
 * empty stack needs to send it: many answers cost one event. */
void loop_wake(struct loop *l, struct waiting *w)
{
    struct waiting *first = atomic_load_explicit(&l->woken, memory_order_relaxed);

    do
        w->next = first;
    while (!atomic_compare_exchange_weak(&l->woken, &first, w));
    if (!first && atomic_load(&l->asleep))
        loop_poke(l);
}

static void take_woken(struct loop *l)
{
    struct waiting *w = atomic_exchange(&l->woken, NULL), *first = NULL;

    while (w) { /* reversed: the first that was pushed comes first */
        struct waiting *next = w->next;

        w->next = first;
        first = w;
        w = next;
    }
    while (first) {
        w = first;
        first = first->next;
        l->all->settings.codec->woken(w);
    }
}

/* ---- deadlines ---- */

static void clock_leave(struct conn *c)
{
    if (c->clock == CLOCK_NONE)
        return;
    TAILQ_REMOVE(&c->loop->clocks[c->clock].conns, c, of_clock);
    c->clock = CLOCK_NONE;
}

void conn_clock(struct conn *c, enum conn_clock clock)
{
    struct deadlines *d = &c->loop->clocks[clock];

    clock_leave(c);
    if (clock == CLOCK_NONE)
        return;
    c->clock = clock;
    c->until = c->loop->now + d->seconds;
    TAILQ_INSERT_TAIL(&d->conns, c, of_clock);
}

static void take_expired(struct loop *l)
{
    for (enum conn_clock k = CLOCK_CLIENT; k < CLOCKS; k++) {
        struct conn *c;

        while ((c = TAILQ_FIRST(&l->clocks[k].conns)) && c->until <= l->now) {
            clock_leave(c);
            if (c->lingering || c->shaking)
                conn_close(c);
            else
                l->all->settings.codec->expired(c);
        }
    }
}

/* Milliseconds until there is something to do; at most a second: should an event ever be
 * lost, the answer is late and no more. */
static int next_deadline(const struct loop *l)
{
    double until = l->accept_at > 0 ? l->accept_at : INFINITY;

    for (enum conn_clock k = CLOCK_CLIENT; k < CLOCKS; k++)
        if (!TAILQ_EMPTY(&l->clocks[k].conns))
            until = fmin(until, TAILQ_FIRST(&l->clocks[k].conns)->until);
    until = ceil(fmax(until - l->now, 0) * 1e3);
    return until < WAIT_MAX ? (int)until : WAIT_MAX;
}

/* ---- clients ---- */

/* False: this client has as many connections as it may. */
static bool client_join(struct loops *ls, struct conn *c)
{
    struct conn_list *slot = &ls->clients[rng_mix(c->client) % CLIENT_SLOTS];
    unsigned n = 0;

    pthread_mutex_lock(&ls->lock);
    for (const struct conn *k = LIST_FIRST(slot); k; k = LIST_NEXT(k, of_clients))
        n += k->client == c->client;
    c->counted = n < ls->settings.max_per_client;
    if (c->counted)
        LIST_INSERT_HEAD(slot, c, of_clients);
    pthread_mutex_unlock(&ls->lock);
    return c->counted;
}

static void client_leave(struct loops *ls, struct conn *c)
{
    if (!c->counted)
        return;
    pthread_mutex_lock(&ls->lock);
    LIST_REMOVE(c, of_clients);
    pthread_mutex_unlock(&ls->lock);
    c->counted = false;
}

/* ---- connections ---- */

void conn_hang_up(struct conn *c)
{
    tls_end(c->tls);
    c->tls = NULL;
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    c->readable = c->writable = false;
}

void conn_close(struct conn *c)
{
    struct loop *l = c->loop;

    if (c->dead)
        return;
    c->dead = true;
    if (!c->shaking && !c->refused)
        l->all->settings.codec->closed(c);
    conn_hang_up(c);
    clock_leave(c);
    client_leave(l->all, c);
    LIST_REMOVE(c, of_loop);
    if (c->refused) /* conn_refuse has taken it off the count */
        l->refused--;
    else
        atomic_fetch_sub_explicit(&l->all->connections, 1, memory_order_relaxed);
    if (c->queued) /* freed from there */
        return;
    c->behind = l->dead;
    l->dead = c;
}

void conn_requeue(struct conn *c)
{
    if (c->queued || c->dead)
        return;
    c->queued = true;
    c->behind = c->loop->again;
    c->loop->again = c;
}

static void bury(struct loop *l)
{
    while (l->dead) {
        struct conn *c = l->dead;

        l->dead = c->behind;
        free(c);
    }
}

static ssize_t recv_plain(struct conn *c, void *at, size_t len)
{
    ssize_t n;

    do
        n = recv(c->fd, at, len, 0);
    while (n < 0 && errno == EINTR);
    /* A short read has emptied the socket; what comes next is a new edge. After the client's
     * end (`left`) no edge would come for it any more, so one must go on reading. */
    if (n > 0 && (size_t)n < len && !c->left)
        c->readable = false;
    return n;
}

/* GnuTLS also says EAGAIN after a record without data (a key update), while further records
 * are in the socket already; no edge would come for those. */
static bool holds_more(const struct conn *c)
{
    char byte;

    return c->tls && recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

ssize_t conn_recv(struct conn *c, void *at, size_t len)
{
    ssize_t n;

    if (!c->readable) {
        errno = EAGAIN;
        return -1;
    }
    n = c->tls ? tls_recv(c->tls, at, len) : recv_plain(c, at, len);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        c->readable = holds_more(c);
        if (c->readable)
            conn_requeue(c);
        errno = EAGAIN;
    }
    return n;
}

/* Small parts (a head and a short body) go as one TLS record. If it did not fit, the caller
 * offers the same bytes again, as GnuTLS requires. */
static ssize_t send_tls(struct conn *c, const struct iovec *parts, int n)
{
    char joined[4096];
    size_t len = 0;
    ssize_t sent = 0, done = 0;

    for (int i = 0; i < n; i++) {
        if (parts[i].iov_len > sizeof joined - len)
            break;
        memcpy(joined + len, parts[i].iov_base, parts[i].iov_len);
        len += parts[i].iov_len;
        if (i + 1 == n)
            return tls_send(c->tls, joined, len);
    }
    for (int i = 0; i < n; i++) {
        for (size_t at = 0; at < parts[i].iov_len; at += (size_t)done) {
            done = tls_send(c->tls, (const char *)parts[i].iov_base + at, parts[i].iov_len - at);
            if (done <= 0)
                return sent > 0 ? sent : -1;
            sent += done;
        }
    }
    return sent;
}

static ssize_t send_plain(const struct conn *c, const struct iovec *parts, int n)
{
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = (size_t)n};
    ssize_t sent;

    do
        sent = sendmsg(c->fd, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent;
}

ssize_t conn_send(struct conn *c, const struct iovec *parts, int n)
{
    size_t all = 0;
    ssize_t sent;

    for (int i = 0; i < n; i++)
        all += parts[i].iov_len;
    if (c->fd < 0) {
        errno = EPIPE;
        return -1;
    }
    sent = c->tls ? send_tls(c, parts, n) : send_plain(c, parts, n);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        errno = EAGAIN;
    c->writable = sent >= 0 && (size_t)sent == all;
    return sent;
}

/* ---- lingering ----
 *
 * A socket that is closed with bytes unread is reset by the kernel, and the reset may
 * overtake the answer on its way to the client. So the server closes its sending half only,
 * and drops what still comes until the client closes too (RFC 9112, 9.6), for LINGER_SECONDS
 * and LINGER_BYTES at most. */

static void linger_on(struct conn *c)
{
    ssize_t n = 1;

    for (int i = 0; i < 16 && n > 0; i++) {
        n = recv_plain(c, c->loop->buffer, LOOP_BUFFER);
        c->dropped += n > 0 ? (size_t)n : 0;
    }
    if (n > 0 && c->dropped < LINGER_BYTES)
        conn_requeue(c);
    else if (n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
        conn_close(c);
}

void conn_linger(struct conn *c)
{
    if (c->fd < 0 || atomic_load_explicit(&c->loop->stop, memory_order_relaxed)) {
        conn_close(c);
        return;
    }
    c->lingering = true;
    conn_clock(c, CLOCK_LINGER);
    tls_end(c->tls);
    c->tls = NULL;
    shutdown(c->fd, SHUT_WR);
    conn_requeue(c);
}

/* ---- accepting ---- */

static bool watch_fd(const struct loop *l, int fd, uint32_t events, void *what)
{
    struct epoll_event e = {.events = events, .data.ptr = what};

    return epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e) == 0;
}

/* EPOLLEXCLUSIVE: of the loops that wait for clients the kernel wakes one, not all. */
static bool accept_begin(struct loop *l)
{
    l->accept_at = 0;
    return watch_fd(l, l->all->fd, EPOLLIN | (l->all->n > 1 ? EPOLLEXCLUSIVE : 0), &l->all->fd);
}

static void accept_end(struct loop *l, double until)
{
    if (l->accept_at == 0)
        epoll_ctl(l->epoll, EPOLL_CTL_DEL, l->all->fd, NULL);
    l->accept_at = until;
}

/* The client is beyond the limit. It is told so and lingers, unless many others do. */
static void conn_refuse(struct conn *c)
{
    const char *busy = c->loop->all->settings.busy;

    c->refused = true;
    c->loop->refused++;
    atomic_fetch_sub_explicit(&c->loop->all->connections, 1, memory_order_relaxed);
    if (c->loop->refused > REFUSED_MAX || c->loop->all->settings.tls || !busy ||
        send(c->fd, busy, strlen(busy), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        conn_close(c);
    else
        conn_linger(c);
}

static void conn_begin(struct conn *c)
{
    struct loops *ls = c->loop->all;
    unsigned n = atomic_fetch_add_explicit(&ls->connections, 1, memory_order_relaxed);

    LIST_INSERT_HEAD(&c->loop->conns, c, of_loop);
    if (n >= ls->settings.max_connections || (ls->clients && !client_join(ls, c))) {
        conn_refuse(c);
        return;
    }
    if (ls->settings.tls) {
        c->shaking = true;
        c->tls = tls_begin(ls->settings.tls, c->fd, ls->settings.protocol);
        if (!c->tls) {
            conn_close(c);
            return;
        }
    }
    conn_clock(c, CLOCK_CLIENT);
}

static void take_client(struct loop *l, int fd, const struct conn *peer)
{
    struct conn *c = calloc(1, l->all->settings.codec->size);
    int on = 1;

    if (!c || !watch_fd(l, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, c)) {
        close(fd);
        free(c);
        return;
    }
    c->loop = l;
    c->fd = fd;
    c->peer = peer->peer;
    c->client = client_number(&c->peer.any);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    conn_begin(c);
}

/* One a round: the next client may go to a loop that has less to do. False: there is none. Without
 * descriptors or memory it stops for a moment, else the same event would come at once, again and again. */
static bool accept_one(struct loop *l)
{
    struct conn peer = {0};
    socklen_t len = sizeof peer.peer;
    int fd = accept4(l->all->fd, &peer.peer.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd >= 0)
        take_client(l, fd, &peer);
    else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
        accept_end(l, l->now + ACCEPT_PAUSE);
    else if (errno == EINVAL || errno == EBADF || errno == ENOTSOCK)
        accept_end(l, INFINITY); /* it listens no more */
    return fd >= 0;
}

/* ---- a loop ---- */

static void conn_shake(struct conn *c)
{
    int done = tls_handshake(c->tls);

    if (done < 0 && errno == EAGAIN)
        return;
    if (done <= 0) {
        conn_close(c);
        return;
    }
    c->shaking = false;
    conn_clock(c, CLOCK_CLIENT);
    c->loop->all->settings.codec->ready(c);
}

static void conn_ready(struct conn *c)
{
    if (c->dead || c->fd < 0)
        return;
    if (c->lingering)
        linger_on(c);
    else if (c->shaking)
        conn_shake(c);
    else
        c->loop->all->settings.codec->ready(c);
}

static void conn_event(struct conn *c, uint32_t events)
{
    c->readable |= (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    c->writable |= (events & EPOLLOUT) != 0;
    c->left |= (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    conn_ready(c);
}

static void take_events(struct loop *l, const struct epoll_event *events, int n)
{
    uint64_t count;

    for (int i = 0; i < n; i++) {
        if (events[i].data.ptr == l) {
            ssize_t done = read(l->event, &count, sizeof count);

            (void)done; /* the count says nothing: take_woken and the flags do */
        } else if (events[i].data.ptr == &l->all->fd) {
            accept_one(l);
        } else {
            conn_event(events[i].data.ptr, events[i].events);
        }
    }
}

static void take_again(struct loop *l)
{
    struct conn *c = l->again;

    l->again = NULL;
    while (c) {
        struct conn *next = c->behind;

        c->queued = false;
        if (c->dead) {
            c->behind = l->dead;
            l->dead = c;
        } else {
            conn_ready(c);
        }
        c = next;
    }
}

static void for_each(struct loop *l, void (*fn)(struct conn *c))
{
    for (struct conn *c = LIST_FIRST(&l->conns), *next; c; c = next) {
        next = LIST_NEXT(c, of_loop);
        if (!c->dead && !c->shaking && !c->lingering)
            fn(c);
    }
}

/* Who waits in the backlog has been told that it is connected, and may have sent its request: it is
 * accepted first. Then the kernel refuses clients and another process may listen. */
static void take_backlog(struct loop *l)
{
    while (l->accept_at == 0 && accept_one(l))
        ;
    accept_end(l, INFINITY);
    shutdown(l->all->fd, SHUT_RDWR);
}

static void take_drain(struct loop *l)
{
    take_backlog(l);
    for_each(l, l->all->settings.codec->drain);
    for (struct conn *c = LIST_FIRST(&l->conns), *next; c; c = next) {
        next = LIST_NEXT(c, of_loop);
        if (c->shaking)
            conn_close(c);
    }
    atomic_store(&l->drained, true);
}

/* What is left is told so if that does not block. Workers wake nobody any more. */
static void loop_finish(struct loop *l)
{
    take_woken(l);
    for_each(l, l->all->settings.codec->stop);
    while (!LIST_EMPTY(&l->conns))
        conn_close(LIST_FIRST(&l->conns));
    take_again(l);
    bury(l);
}

static int loop_wait(struct loop *l, struct epoll_event *events)
{
    int timeout = l->again ? 0 : next_deadline(l), n;

    atomic_store(&l->asleep, true);
    if (atomic_load(&l->woken))
        timeout = 0;
    n = epoll_wait(l->epoll, events, EVENTS, timeout);
    atomic_store(&l->asleep, false);
    l->now = clock_now();
    return n;
}

static void *loop_run(void *arg)
{
    struct loop *l = arg;
    struct epoll_event events[EVENTS];

    l->now = clock_now();
    while (!atomic_load(&l->stop)) {
        int n = loop_wait(l, events);

        take_events(l, events, n);
        take_woken(l);
        take_again(l);
        take_expired(l);
        if (l->accept_at > 0 && l->accept_at <= l->now && !accept_begin(l))
            l->accept_at = l->now + ACCEPT_PAUSE;
        if (atomic_load(&l->drain) && !atomic_load(&l->drained))
            take_drain(l);
        bury(l);
    }
    loop_finish(l);
    return NULL;
}

/* ---- all loops of a socket ---- */

static shoal_status loop_start(struct loop *l, struct loops *ls)
{
    const struct codec *codec = ls->settings.codec;

    l->all = ls;
    for (enum conn_clock k = CLOCK_NONE; k < CLOCKS; k++)
        TAILQ_INIT(&l->clocks[k].conns);
    l->clocks[CLOCK_CLIENT].seconds = ls->settings.timeout;
    l->clocks[CLOCK_LINGER].seconds = LINGER_SECONDS;
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    l->buffer = malloc(LOOP_BUFFER);
    l->data = calloc(1, codec->loop_size ? codec->loop_size : 1);
    if (!l->buffer || !l->data)
        return shoal_fail(SHOAL_ENOMEM, "serve: no memory for a loop");
    if (l->epoll < 0 || l->event < 0 || !watch_fd(l, l->event, EPOLLIN, l) || !accept_begin(l))
        return shoal_fail_errno(SHOAL_EIO, "serve: a loop");
    if (pthread_create(&l->thread, NULL, loop_run, l) != 0)
        return shoal_fail(SHOAL_ELIMIT, "serve: the system gives no thread");
    l->running = true;
    return SHOAL_OK;
}

static void loop_fini(struct loop *l)
{
    if (l->data && l->all->settings.codec->loop_fini)
        l->all->settings.codec->loop_fini(l->data);
    free(l->data);
    free(l->buffer);
    if (l->epoll >= 0)
        close(l->epoll);
    if (l->event >= 0)
        close(l->event);
}

static struct loops *loops_new(int fd, const struct loop_settings *settings)
{
    struct loops *ls = mem_array(1, sizeof *ls + settings->threads * sizeof *ls->at);

    if (!ls)
        return NULL;
    ls->settings = *settings;
    ls->fd = fd;
    ls->n = settings->threads;
    for (unsigned i = 0; i < ls->n; i++)
        ls->at[i].epoll = ls->at[i].event = -1;
    pthread_mutex_init(&ls->lock, NULL);
    return ls;
}

shoal_status loops_start(struct loops **out, int fd, const struct loop_settings *settings)
{
    struct loops *ls = loops_new(fd, settings);
    shoal_status st = SHOAL_OK;

    *out = NULL;
    if (!ls) {
        close(fd);
        return SHOAL_ENOMEM;
    }
    if (settings->max_per_client > 0) {
        ls->clients = mem_array(CLIENT_SLOTS, sizeof *ls->clients);
        st = ls->clients ? SHOAL_OK : SHOAL_ENOMEM;
    }
    for (unsigned i = 0; i < ls->n && st == SHOAL_OK; i++)
        st = loop_start(&ls->at[i], ls);
    if (st != SHOAL_OK) {
        loops_stop(ls);
        return st;
    }
    *out = ls;
    return SHOAL_OK;
}

void loops_drain(struct loops *ls)
{
    if (!ls)
        return;
    for (unsigned i = 0; i < ls->n; i++) {
        atomic_store(&ls->at[i].drain, true);
        loop_poke(&ls->at[i]);
    }
}

bool loops_drained(const struct loops *ls)
{
    for (unsigned i = 0; ls && i < ls->n; i++)
        if (!atomic_load(&ls->at[i].drained))
            return false;
    return true;
}

void loops_stop(struct loops *ls)
{
    if (!ls)
        return;
    for (unsigned i = 0; i < ls->n; i++) {
        atomic_store(&ls->at[i].stop, true);
        if (ls->at[i].running)
            loop_poke(&ls->at[i]);
    }
    for (unsigned i = 0; i < ls->n; i++)
        if (ls->at[i].running)
            pthread_join(ls->at[i].thread, NULL);
    close(ls->fd);
    for (unsigned i = 0; i < ls->n; i++)
        if (ls->at[i].all)
            loop_fini(&ls->at[i]);
    pthread_mutex_destroy(&ls->lock);
    free(ls->clients);
    free(ls);
}
