#include "train/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { SPINS = 4000, SENTENCE = 1024 };

struct crew {
    pthread_t *threads; /* [helpers] */
    unsigned helpers, spins;

    /* A round of work. `round` is odd while there is one; helpers that saw it go in
     * by raising `inside`, and the caller ends a round only when none is. */
    shoal_status (*fn)(void *ctx, size_t item);
    void *ctx;
    size_t n;
    unsigned floats; /* the caller's mode */
    atomic_size_t next, done;
    atomic_uint inside;
    _Atomic uint64_t round;
    atomic_bool over;
    pthread_mutex_t lock;
    pthread_cond_t news;

    size_t failed; /* the lowest item that did; under the lock */
    shoal_status status;
    char sentence[SENTENCE];
};

static void note_failure(struct crew *c, size_t item, shoal_status st)
{
    pthread_mutex_lock(&c->lock);
    if (c->status == SHOAL_OK || item < c->failed) {
        c->failed = item;
        c->status = st;
        snprintf(c->sentence, SENTENCE, "%s", shoal_error());
    }
    pthread_mutex_unlock(&c->lock);
}

static void do_items(struct crew *c)
{
    size_t item;

    while ((item = atomic_fetch_add(&c->next, 1)) < c->n) {
        shoal_status st = c->fn(c->ctx, item);

        if (st != SHOAL_OK)
            note_failure(c, item, st);
        atomic_fetch_add(&c->done, 1);
    }
}

static inline void rest(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* The first round after `seen`; most waits are shorter than a sleep. */
static uint64_t await(struct crew *c, uint64_t seen)
{
    uint64_t now = atomic_load(&c->round);

    for (unsigned i = 0; i < c->spins && now == seen; i++) {
        rest();
        now = atomic_load_explicit(&c->round, memory_order_acquire);
    }
    if (now != seen)
        return now;
    pthread_mutex_lock(&c->lock);
    while ((now = atomic_load(&c->round)) == seen && !atomic_load(&c->over))
        pthread_cond_wait(&c->news, &c->lock);
    pthread_mutex_unlock(&c->lock);
    return now;
}

static void *helper(void *arg)
{
    struct crew *c = arg;
    uint64_t seen = 0;

    while (!atomic_load(&c->over)) {
        seen = await(c, seen);
        atomic_fetch_add(&c->inside, 1);
        if (atomic_load(&c->round) == seen && seen % 2 == 1) {
            floats_set(c->floats);
            do_items(c);
        }
        atomic_fetch_sub(&c->inside, 1);
    }
    return NULL;
}

static void set_round(struct crew *c, bool news)
{
    if (!news) { /* its end needs nobody to wake */
        atomic_fetch_add(&c->round, 1);
        return;
    }
    pthread_mutex_lock(&c->lock);
    atomic_fetch_add(&c->round, 1);
    pthread_cond_broadcast(&c->news);
    pthread_mutex_unlock(&c->lock);
}

shoal_status crew_run(struct crew *c, size_t n, shoal_status (*fn)(void *ctx, size_t item),
                      void *ctx)
{
    c->fn = fn;
    c->ctx = ctx;
    c->n = n;
    c->floats = floats_mode();
    c->status = SHOAL_OK;
    atomic_store(&c->next, 0);
    atomic_store(&c->done, 0);
    if (c->helpers > 0 && n > 1)
        set_round(c, true);
    do_items(c);
    while (atomic_load(&c->done) < n)
        rest();
    if (c->helpers > 0 && n > 1) {
        set_round(c, false);
        while (atomic_load(&c->inside) > 0)
            rest();
    }
    return c->status == SHOAL_OK ? SHOAL_OK : shoal_fail(c->status, "%s", c->sentence);
}

shoal_status crew_new(struct crew **out, unsigned threads)
{
    struct crew *c = mem_array(1, sizeof *c);

    *out = NULL;
    if (!c)
        return SHOAL_ENOMEM;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->news, NULL);
    c->spins = threads <= pool_threads(0) ? SPINS : 0;
    c->threads = mem_array(threads, sizeof *c->threads);
    /* Fewer threads than asked for do the same work. */
    while (c->threads && c->helpers + 1 < threads &&
           pthread_create(&c->threads[c->helpers], NULL, helper, c) == 0)
        c->helpers++;
    *out = c;
    return SHOAL_OK;
}

void crew_free(struct crew *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    atomic_store(&c->over, true);
    pthread_cond_broadcast(&c->news);
    pthread_mutex_unlock(&c->lock);
    for (unsigned i = 0; i < c->helpers; i++)
        pthread_join(c->threads[i], NULL);
    pthread_cond_destroy(&c->news);
    pthread_mutex_destroy(&c->lock);
    free(c->threads);
    free(c);
}
