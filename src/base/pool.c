#include "base/base.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* Fork and join. Failures come out as if the indices had run one after the other: that of the
 * lowest index, sentence included, whichever thread was quicker. */
struct worker {
    pthread_t thread;
    shoal_status (*fn)(void *ctx, unsigned index);
    void *ctx;
    unsigned index;
    shoal_status status;
    char sentence[1024];
};

unsigned pool_threads(unsigned n)
{
    cpu_set_t cores;

    if (n > 0)
        return n;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0)
        return 1;
    return (unsigned)CPU_COUNT(&cores);
}

/* The sentence belongs to the thread that failed, so it is copied out before
 * that thread ends. */
static void *worker_main(void *arg)
{
    struct worker *w = arg;

    w->status = w->fn(w->ctx, w->index);
    if (w->status != SHOAL_OK)
        snprintf(w->sentence, sizeof w->sentence, "%s", shoal_error());
    return NULL;
}

shoal_status pool_run(unsigned n, shoal_status (*fn)(void *ctx, unsigned index), void *ctx)
{
    struct worker *workers;
    unsigned started = 1;
    shoal_status st = SHOAL_OK;

    if (n <= 1)
        return fn(ctx, 0);
    workers = mem_array(n, sizeof *workers);
    if (!workers)
        return SHOAL_ENOMEM;
    for (unsigned i = 0; i < n; i++)
        workers[i] = (struct worker){.fn = fn, .ctx = ctx, .index = i};
    while (started < n && pthread_create(&workers[started].thread, NULL, worker_main,
                                         &workers[started]) == 0)
        started++;
    /* Work is shared out by index, so what could not be started runs here. */
    worker_main(&workers[0]);
    for (unsigned i = started; i < n; i++)
        worker_main(&workers[i]);
    for (unsigned i = 1; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    for (unsigned i = 0; i < n && st == SHOAL_OK; i++)
        if (workers[i].status != SHOAL_OK)
            st = shoal_fail(workers[i].status, "%s", workers[i].sentence);
    free(workers);
    return st;
}
