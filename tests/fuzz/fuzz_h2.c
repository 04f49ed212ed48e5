/* Bytes of a client into a connection of HTTP/2, without sockets: this file stands in for loop.c.
 * The first byte says whether the client's preface goes before the input, into pieces of which size
 * it is cut, and how much of an answer the socket takes at once. Whatever comes, the connection
 * ends, and nothing of its requests is left. */
#include "serve/http/loop.h"
#include "serving.h"

#include <errno.h>
#include <pthread.h>

/* ---- a loop of one connection, which waits for nobody ------------------------------------- */

struct loops {
    struct loop_settings settings;
    void *data;
};

struct loop {
    struct loops *all;
    char buffer[LOOP_BUFFER];
    const uint8_t *at; /* what the client sends, */
    size_t left, piece;
    bool ended;  /* and then nothing more */
    size_t room; /* bytes that the socket takes at once; 0: all */
    bool again;
    uint64_t put;
};

static struct loops *found; /* that of gRPC */
static struct loop *now;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static struct waiting *woken;

shoal_status loops_start(struct loops **out, int fd, const struct loop_settings *settings)
{
    struct loops *ls = calloc(1, sizeof *ls);

    require(ls != NULL);
    ls->settings = *settings;
    ls->data = calloc(1, settings->codec->loop_size + 1);
    close(fd);
    if (settings->protocol && strcmp(settings->protocol, "h2") == 0)
        found = ls;
    *out = ls;
    return SHOAL_OK;
}

void loops_drain(struct loops *ls)
{
    (void)ls;
}

bool loops_drained(const struct loops *ls)
{
    (void)ls;
    return true;
}

void loops_stop(struct loops *ls)
{
    if (!ls)
        return;
    if (ls->settings.codec->loop_fini)
        ls->settings.codec->loop_fini(ls->data);
    free(ls->data);
    free(ls);
}

void *loop_user(const struct loop *l)
{
    return l->all->settings.user;
}

void *loop_data(const struct loop *l)
{
    return l->all->data;
}

char *loop_buffer(const struct loop *l)
{
    return (char *)(uintptr_t)l->buffer;
}

void loop_wake(struct loop *l, struct waiting *w)
{
    (void)l;
    pthread_mutex_lock(&lock);
    w->next = woken;
    woken = w;
    pthread_cond_signal(&news);
    pthread_mutex_unlock(&lock);
}

ssize_t conn_recv(struct conn *c, void *at, size_t len)
{
    struct loop *l = c->loop;
    size_t n = l->left < len ? l->left : len;

    n = l->piece && n > l->piece ? l->piece : n;
    if (n == 0 && l->ended)
        return 0;
    if (n == 0) {
        errno = EAGAIN;
        return -1;
    }
    memcpy(at, l->at, n);
    l->at += n;
    l->left -= n;
    return (ssize_t)n;
}

ssize_t conn_send(struct conn *c, const struct iovec *parts, int n)
{
    struct loop *l = c->loop;
    size_t all = 0;

    require(c->fd >= 0);
    for (int i = 0; i < n; i++)
        all += parts[i].iov_len;
    all = l->room && all > l->room ? l->room : all;
    l->put += all;
    return (ssize_t)all;
}

void conn_clock(struct conn *c, enum conn_clock clock)
{
    c->clock = clock;
}

void conn_requeue(struct conn *c)
{
    c->loop->again = true;
}

void conn_hang_up(struct conn *c)
{
    c->fd = -1;
}

void conn_close(struct conn *c)
{
    require(!c->dead);
    c->dead = true;
    c->loop->all->settings.codec->closed(c);
    c->fd = -1;
}

void conn_linger(struct conn *c)
{
    require(!c->lingering);
    c->lingering = true;
}

/* ---- an input -------------------------------------------------------------------------------- */

static bool is_over(const struct conn *c)
{
    return c->dead || c->lingering;
}

static void take_woken(const struct codec *codec)
{
    struct waiting *w;

    pthread_mutex_lock(&lock);
    w = woken;
    woken = NULL;
    pthread_mutex_unlock(&lock);
    while (w) {
        struct waiting *next = w->next;

        codec->woken(w);
        w = next;
    }
}

static void ready(struct conn *c, const struct codec *codec)
{
    do {
        now->again = false;
        if (!is_over(c) && c->fd >= 0)
            codec->ready(c);
        take_woken(codec);
    } while (now->again && !is_over(c));
}

/* What workers still have is waited for. */
static void finish(struct conn *c, const struct codec *codec)
{
    now->ended = true;
    for (int i = 0; i < 10000 && !is_over(c) && c->fd >= 0; i++)
        ready(c, codec);
    while (!is_over(c)) {
        pthread_mutex_lock(&lock);
        while (!woken)
            pthread_cond_wait(&news, &lock);
        pthread_mutex_unlock(&lock);
        take_woken(codec);
    }
    if (!c->dead)
        conn_close(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
    static const size_t pieces[] = {0, 1, 7, 100};
    const struct codec *codec;
    struct conn *c;

    if (size == 0)
        return 0;
    serving_begin();
    codec = found->settings.codec;
    fuzz_begin(size, 64 * MIB, 512);
    c = calloc(1, codec->size);
    now = calloc(1, sizeof *now);
    require(c && now);
    now->all = found;
    now->piece = pieces[data[0] >> 1 & 3];
    now->room = pieces[data[0] >> 3 & 3];
    c->loop = now;
    c->readable = c->writable = true;
    c->peer.any.sa_family = AF_INET;
    if (data[0] & 1) {
        now->at = preface;
        now->left = sizeof preface - 1;
        ready(c, codec);
    }
    now->at = (const uint8_t *)fuzz_copy(data + 1, size - 1);
    now->left = size - 1;
    ready(c, codec);
    if (data[0] & 64 && !is_over(c) && c->fd >= 0)
        codec->expired(c);
    if (data[0] & 128 && !is_over(c) && c->fd >= 0)
        codec->drain(c);
    if (!is_over(c))
        finish(c, codec);
    else if (!c->dead)
        conn_close(c);
    require(atomic_load(&server->held) == 0 && atomic_load(&server->running) == 0);
    require(atomic_load(&server->under_way) == 0);
    fuzz_output(now->put, size, 1 << 20, 512);
    free(c);
    free(now);
    /* Streams that are kept for the next connection are not this one's. */
    if (data[0] & 32)
        serving_stop();
    fuzz_end();
    return 0;
}
