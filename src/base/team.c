/* The threads of a team live through all phases, so that a phase may be as
 * short as some microseconds. */
#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>

/* `now` holds the phase's number, from 1, and below it the number of its items:
 * one word, so that a thread that comes late never mixes two phases. */
enum { ITEM_BITS = 16, SPINS = 2000 };

struct team {
    const struct team_work *work;
    unsigned threads, spins;
    _Atomic uint64_t now;
    _Atomic uint64_t claimed[TEAM_MOST_ITEMS]; /* the phase an item was last taken in */
    _Atomic size_t done;                       /* items of this phase */
    pthread_mutex_t lock;
    pthread_cond_t news;
};

static size_t items_of(uint64_t now)
{
    return now & ((1u << ITEM_BITS) - 1);
}

static void publish(struct team *t, uint64_t phase, size_t items)
{
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->now, phase << ITEM_BITS | items);
    pthread_cond_broadcast(&t->news);
    pthread_mutex_unlock(&t->lock);
}

static inline void rest(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* The phase after `seen`. Most waits are shorter than a sleep. */
static uint64_t await(struct team *t, uint64_t seen)
{
    uint64_t now = atomic_load(&t->now);

    for (unsigned i = 0; i < t->spins && now == seen; i++) {
        rest();
        now = atomic_load_explicit(&t->now, memory_order_acquire);
    }
    if (now != seen)
        return now;
    pthread_mutex_lock(&t->lock);
    while ((now = atomic_load(&t->now)) == seen)
        pthread_cond_wait(&t->news, &t->lock);
    pthread_mutex_unlock(&t->lock);
    return now;
}

/* Every item of a phase that is over was taken in it or later, so whoever
 * lags behind takes nothing. */
static bool claim(struct team *t, size_t item, uint64_t phase)
{
    uint64_t last = atomic_load_explicit(&t->claimed[item], memory_order_relaxed);

    return last < phase && atomic_compare_exchange_strong(&t->claimed[item], &last, phase);
}

/* Each thread begins with its own share, whose rows are in its cache, and then
 * helps the others. */
static shoal_status do_items(struct team *t, uint64_t now, unsigned index)
{
    size_t items = items_of(now), first = items * index / t->threads;
    uint64_t phase = now >> ITEM_BITS;

    for (size_t i = 0; i < items; i++) {
        size_t item = first + i < items ? first + i : first + i - items;
        shoal_status st;

        if (!claim(t, item, phase))
            continue;
        st = t->work->item(t->work->ctx, item);
        if (st != SHOAL_OK)
            return st;
        if (atomic_fetch_add(&t->done, 1) + 1 == items) {
            atomic_store(&t->done, 0);
            publish(t, phase + 1, t->work->turn(t->work->ctx));
        }
    }
    return SHOAL_OK;
}

/* The item of a failure is never counted as done, so nobody else publishes. */
static shoal_status team_thread(void *ctx, unsigned index)
{
    struct team *t = ctx;
    uint64_t now = atomic_load(&t->now);
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && items_of(now) > 0) {
        st = do_items(t, now, index);
        if (st != SHOAL_OK)
            publish(t, (now >> ITEM_BITS) + 1, 0);
        else
            now = await(t, now);
    }
    return st;
}

shoal_status team_run(unsigned threads, const struct team_work *work)
{
    struct team t = {.work = work, .threads = threads ? threads : 1};
    shoal_status st;

    t.spins = t.threads <= pool_threads(0) ? SPINS : 0;
    atomic_init(&t.now, (uint64_t)1 << ITEM_BITS | work->turn(work->ctx));
    pthread_mutex_init(&t.lock, NULL);
    pthread_cond_init(&t.news, NULL);
    st = pool_run(t.threads, team_thread, &t);
    pthread_cond_destroy(&t.news);
    pthread_mutex_destroy(&t.lock);
    return st;
}
