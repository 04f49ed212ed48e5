/* Threads that stay and wait, so that work of some ten microseconds is worth
 * sharing out. */
#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SPINS = 4000 };

struct hands {
    unsigned threads, started, spins;
    pthread_t *thread;
    pthread_mutex_t lock;
    pthread_cond_t news;
    _Atomic uint64_t job; /* which work is under way; the low bit: over */
    void (*fn)(void *ctx, size_t item, unsigned thread);
    void *ctx;
    size_t items;
    unsigned floats; /* the caller's mode */
    _Atomic size_t next;
    _Atomic unsigned away; /* helpers that have not come home from this work */
};

struct helper {
    struct hands *hands;
    unsigned index;
};

static void take_items(struct hands *c, unsigned thread)
{
    size_t item;

    while ((item = atomic_fetch_add(&c->next, 1)) < c->items)
        c->fn(c->ctx, item, thread);
}

static inline void rest(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static uint64_t await(struct hands *c, uint64_t seen)
{
    uint64_t job = atomic_load(&c->job);

    for (unsigned i = 0; i < c->spins && job == seen; i++) {
        rest();
        job = atomic_load_explicit(&c->job, memory_order_acquire);
    }
    if (job != seen)
        return job;
    pthread_mutex_lock(&c->lock);
    while ((job = atomic_load(&c->job)) == seen)
        pthread_cond_wait(&c->news, &c->lock);
    pthread_mutex_unlock(&c->lock);
    return job;
}

static void *helper_main(void *arg)
{
    struct helper me = *(struct helper *)arg;
    uint64_t job = 0;

    free(arg);
    while (!((job = await(me.hands, job)) & 1)) {
        floats_set(me.hands->floats);
        take_items(me.hands, me.index);
        if (atomic_fetch_sub(&me.hands->away, 1) == 1) {
            pthread_mutex_lock(&me.hands->lock);
            pthread_cond_broadcast(&me.hands->news);
            pthread_mutex_unlock(&me.hands->lock);
        }
    }
    return NULL;
}

static void announce(struct hands *c, uint64_t job)
{
    pthread_mutex_lock(&c->lock);
    atomic_store(&c->job, job);
    pthread_cond_broadcast(&c->news);
    pthread_mutex_unlock(&c->lock);
}

void hands_do(struct hands *c, size_t items, void (*fn)(void *ctx, size_t item, unsigned thread),
             void *ctx)
{
    c->fn = fn;
    c->ctx = ctx;
    c->items = items;
    c->floats = floats_mode();
    atomic_store(&c->next, 0);
    atomic_store(&c->away, c->started);
    if (c->started > 0 && items > 1)
        announce(c, atomic_load(&c->job) + 2);
    else
        atomic_store(&c->away, 0);
    take_items(c, 0);
    for (unsigned i = 0; i < c->spins && atomic_load(&c->away) > 0; i++)
        rest();
    if (atomic_load(&c->away) == 0)
        return;
    pthread_mutex_lock(&c->lock);
    while (atomic_load(&c->away) > 0)
        pthread_cond_wait(&c->news, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

static bool start_helper(struct hands *c)
{
    struct helper *h = malloc(sizeof *h);

    if (!h)
        return false;
    *h = (struct helper){c, c->started + 1};
    if (pthread_create(&c->thread[c->started], NULL, helper_main, h) == 0) {
        c->started++;
        return true;
    }
    free(h);
    return false;
}

shoal_status hands_new(struct hands **out, unsigned threads)
{
    struct hands *c = mem_array(1, sizeof *c);

    *out = NULL;
    if (!c)
        return SHOAL_ENOMEM;
    c->threads = pool_threads(threads);
    c->spins = c->threads <= pool_threads(0) ? SPINS : 0;
    c->thread = mem_array(c->threads, sizeof *c->thread);
    if (!c->thread) {
        free(c);
        return SHOAL_ENOMEM;
    }
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->news, NULL);
    /* Whoever could not be started is not missed: the others take its items. */
    while (c->started + 1 < c->threads && start_helper(c))
        continue;
    *out = c;
    return SHOAL_OK;
}

void hands_free(struct hands *c)
{
    if (!c)
        return;
    announce(c, atomic_load(&c->job) + 1);
    for (unsigned i = 0; i < c->started; i++)
        pthread_join(c->thread[i], NULL);
    pthread_cond_destroy(&c->news);
    pthread_mutex_destroy(&c->lock);
    free(c->thread);
    free(c);
}

unsigned hands_count(const struct hands *c)
{
    return c->threads;
}
