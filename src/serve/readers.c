/* A FIFO of requests and a fixed number of threads. Two kinds of work come here: bodies that
 * would take the event loop too long to read (at the end of the queue, which is bounded), and
 * answers that would take it too long to write (at its head, and however many there are: they
 * are bounded by the models' queues, hold memory, and their client has waited longest).
 * Threads are fewer than cores, so that reading cannot starve the loops. */
#include "serve/readers.h"

#include <stdlib.h>

enum { WAITING_MAX = 1024 };

struct readers {
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t news;
    STAILQ_HEAD(, request) queue;
    size_t waiting;
    bool closed;

    unsigned n;
    pthread_t threads[];
};

static struct request *pop(struct readers *r)
{
    struct request *q = STAILQ_FIRST(&r->queue);

    STAILQ_REMOVE_HEAD(&r->queue, next);
    r->waiting--;
    return q;
}

static void *reader(void *arg)
{
    struct readers *r = arg;

    pthread_mutex_lock(&r->lock);
    for (;;) {
        struct request *q;

        while (STAILQ_EMPTY(&r->queue) && !r->closed)
            pthread_cond_wait(&r->news, &r->lock);
        if (r->closed)
            break;
        q = pop(r);
        pthread_mutex_unlock(&r->lock);
        q->work(q);
        pthread_mutex_lock(&r->lock);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

shoal_status readers_new(struct readers **out, unsigned threads)
{
    struct readers *r = calloc(1, sizeof *r + threads * sizeof *r->threads);

    *out = r;
    if (!r)
        return shoal_fail(SHOAL_ENOMEM, "memory: no room for %u threads", threads);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->news, NULL);
    STAILQ_INIT(&r->queue);
    while (r->n < threads && pthread_create(&r->threads[r->n], NULL, reader, r) == 0)
        r->n++;
    if (r->n == threads)
        return SHOAL_OK;
    readers_close(r);
    readers_free(r);
    *out = NULL;
    return shoal_fail(SHOAL_ELIMIT, "serve: the system gives no thread");
}

static shoal_status refuse(const struct readers *r)
{
    if (r->closed)
        return shoal_fail(SHOAL_ESTOP, "The server is going.");
    return shoal_fail(SHOAL_ELIMIT, "%zu requests wait to be read, and no more may.", r->waiting);
}

shoal_status readers_add(struct readers *r, struct request *q, bool first)
{
    shoal_status st = SHOAL_OK;

    pthread_mutex_lock(&r->lock);
    if (r->closed || (!first && r->waiting >= WAITING_MAX)) {
        st = refuse(r);
    } else {
        if (first)
            STAILQ_INSERT_HEAD(&r->queue, q, next);
        else
            STAILQ_INSERT_TAIL(&r->queue, q, next);
        r->waiting++;
        pthread_cond_signal(&r->news);
    }
    pthread_mutex_unlock(&r->lock);
    return st;
}

void readers_close(struct readers *r)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->closed = true;
    pthread_cond_broadcast(&r->news);
    pthread_mutex_unlock(&r->lock);
    for (; r->n > 0; r->n--)
        pthread_join(r->threads[r->n - 1], NULL);
    while (!STAILQ_EMPTY(&r->queue)) {
        struct request *q = pop(r);

        if (q->job.ended == 0) { /* else it is computed: route_finish writes its answer */
            refuse(r);
            answer_failure(q, SHOAL_ESTOP);
        }
        q->wake(q);
    }
}

void readers_free(struct readers *r)
{
    if (!r)
        return;
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->news);
    free(r);
}
