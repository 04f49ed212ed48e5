/* The heartbeat: a thread tells the others that this rank lives, whatever its other threads do.
 *
 * A rank polls between pieces of work, but some pieces are long: it verifies a checkpoint, copies
 * tables, writes a result. Signs of life that leave only where it polls would make it silent
 * meanwhile. So a thread sends them, and sleeps in between. It does nothing else: who is silent is
 * judged by the thread that polls.
 *
 * MPI lets several threads call it if only one does so at a time (MPI_THREAD_SERIALIZED), which
 * costs no more than one thread alone, unlike MPI_THREAD_MULTIPLE. Its lock is held around
 * every call into the world of others. A world that does not allow it has no heartbeat; its
 * signs of life leave where it polls (comm.c).
 *
 * What the heartbeat cannot tell is a rank whose threads wait for each other for ever. */
#include "comm/inner.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct comm_heartbeat {
    struct comm *c;
    pthread_t thread;
    pthread_mutex_t world; /* who calls into the world of others */
    pthread_mutex_t lock;  /* of what follows */
    pthread_cond_t wake;
    double seconds; /* between two beats */
    bool stop;
};

void heartbeat_enter(const struct comm *c)
{
    if (c->heartbeat)
        pthread_mutex_lock(&c->heartbeat->world);
}

void heartbeat_leave(const struct comm *c)
{
    if (c->heartbeat)
        pthread_mutex_unlock(&c->heartbeat->world);
}

/* The time so many seconds from now, by the clock of the condition. */
static struct timespec deadline(double seconds)
{
    struct timespec t;
    double nanos;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)seconds;
    nanos = (seconds - (double)(time_t)seconds) * 1e9 + (double)t.tv_nsec;
    t.tv_sec += nanos >= 1e9;
    t.tv_nsec = (long)(nanos >= 1e9 ? nanos - 1e9 : nanos);
    return t;
}

/* What fails here fails where the rank polls too, and is said there. */
static void *heartbeat_main(void *arg)
{
    struct comm_heartbeat *p = arg;

    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        struct timespec until = deadline(p->seconds);

        pthread_mutex_unlock(&p->lock);
        comm_beat(p->c);
        pthread_mutex_lock(&p->lock);
        if (!p->stop)
            pthread_cond_timedwait(&p->wake, &p->lock, &until);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static struct comm_heartbeat *heartbeat_new(struct comm *c, double seconds)
{
    struct comm_heartbeat *p = mem_array(1, sizeof *p);
    pthread_condattr_t attr;

    if (!p)
        return NULL;
    p->c = c;
    p->seconds = seconds;
    pthread_mutex_init(&p->world, NULL);
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->wake, &attr);
    pthread_condattr_destroy(&attr);
    return p;
}

static void heartbeat_free(struct comm_heartbeat *p)
{
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    pthread_mutex_destroy(&p->world);
    free(p);
}

void heartbeat_start(struct comm *c, double seconds)
{
    const struct side *others = &c->others;

    if (c->heartbeat || c->size < 2 || !others->kind->threads || !others->kind->threads(others->at))
        return;
    c->heartbeat = heartbeat_new(c, seconds);
    if (!c->heartbeat)
        return;
    if (pthread_create(&c->heartbeat->thread, NULL, heartbeat_main, c->heartbeat) == 0)
        return;
    heartbeat_free(c->heartbeat);
    c->heartbeat = NULL;
}

void heartbeat_set(struct comm *c, double seconds)
{
    struct comm_heartbeat *p = c->heartbeat;

    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->seconds = seconds;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

void heartbeat_stop(struct comm *c)
{
    struct comm_heartbeat *p = c->heartbeat;

    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    c->heartbeat = NULL;
    heartbeat_free(p);
}
