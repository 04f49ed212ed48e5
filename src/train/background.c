/* Work on a thread of its own, while the thread that may call MPI polls: other ranks hear that this
 * one lives, and their messages are handled. */
#include "train/train.h"

#include <stdio.h>
#include <time.h>

#define NAP_LEAST 1e-4 /* seconds */
#define NAP_MOST 0.02

static void *background_main(void *arg)
{
    struct background *e = arg;

    e->status = e->fn(e->ctx);
    if (e->status != SHOAL_OK)
        snprintf(e->sentence, sizeof e->sentence, "%s", shoal_error());
    atomic_store(&e->over, true);
    return NULL;
}

void background_begin(struct background *e, shoal_status (*fn)(void *ctx), void *ctx)
{
    e->fn = fn;
    e->ctx = ctx;
    e->status = SHOAL_OK;
    atomic_store(&e->over, false);
    atomic_store(&e->stop, false);
#ifdef SHOAL_SMPI /* ranks are coroutines of one thread there, and nobody is given up */
    e->threaded = false;
#else
    e->threaded = pthread_create(&e->thread, NULL, background_main, e) == 0;
#endif
    if (!e->threaded)
        background_main(e);
}

/* Longer and longer, so that what is short ends soon and what is long has its core. */
static void nap(double *seconds)
{
    struct timespec ts = {.tv_nsec = (long)(*seconds * 1e9)};

    nanosleep(&ts, NULL);
    *seconds = 2 * *seconds < NAP_MOST ? 2 * *seconds : NAP_MOST;
}

shoal_status background_until(const struct background *e, const atomic_bool *reached,
                              struct comm *comm)
{
    double seconds = NAP_LEAST;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && !atomic_load(reached) && !atomic_load(&e->over)) {
        if (comm)
            st = comm_poll(comm, NULL);
        if (st == SHOAL_OK)
            nap(&seconds);
    }
    return st;
}

shoal_status background_end(struct background *e, struct comm *comm)
{
    shoal_status st = comm ? background_until(e, &e->over, comm) : SHOAL_OK;

    if (st != SHOAL_OK)
        atomic_store(&e->stop, true);
    if (e->threaded)
        pthread_join(e->thread, NULL);
    e->threaded = false;
    if (st != SHOAL_OK || e->status == SHOAL_OK)
        return st;
    return shoal_fail(e->status, "%s", e->sentence);
}
