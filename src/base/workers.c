/* Threads that stay and wait, so that work of some ten microseconds is worth
 * sharing out.
 *
 * The items of a round are cut into as many shares as there are threads. A thread
 * begins with its own share, whose data is likely in its cache from the round
 * before, and then takes from the others':
 *
 *     thread 0          thread 1          thread 2
 *     | 0 1 2 3 .. |    | 8 9 .. |        | 16 17 .. |      next: taken up to here
 *
 * `round` is odd while there is work. A helper that saw it goes in by raising `inside`, and
 * checks `round` again before it takes an item; the caller ends a round when its items are done,
 * and waits only for helpers that are inside: one that the system holds back delays nobody
 * unless it holds an item.
 *
 *     caller   fn, shares  round odd   items ...  done == items   round even   inside == 0
 *     helper                    sees it, inside++, round the same?  items ...   inside--
 *
 * Why fn and the shares may be plain memory: they are written before `round` becomes odd, and
 * not again before `inside` was seen to be 0 behind the round's end. A helper that comes late
 * raises `inside` first and checks `round` then, while the caller changes `round` first and reads
 * `inside` then; in sequentially consistent order one of them sees the other. So no helper works
 * on what the next round overwrites.
 *
 * Waiting: a sleep and a wake take longer than most pauses between rounds, so a helper spins
 * SPINS times first (some microseconds) and sleeps on the condition after that. Who waits for a
 * helper yields its core after as long a while: with more threads than cores, the helper may
 * need it. */
#include "base/base.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { SPINS = 4000, LINE = 64, SENTENCE = 1024 };

struct share {
    _Alignas(LINE) atomic_size_t next;
    size_t end;
};

struct workers {
    unsigned threads, started, spins;
    pthread_t *thread; /* [threads], the first `started` are there */

    void (*fn)(void *ctx, size_t item, unsigned thread);
    void *ctx;
    size_t items;
    unsigned floats;     /* the caller's mode */
    struct share *share; /* [threads] */
    atomic_size_t done;
    atomic_uint inside, indices; /* helpers in this round; numbers given out to them */
    _Atomic uint64_t round;
    atomic_bool over;
    pthread_mutex_t lock;
    pthread_cond_t news;
};

static void take_items(struct workers *w, unsigned thread)
{
    size_t did = 0;

    for (unsigned k = 0; k < w->threads; k++) {
        struct share *s = &w->share[(thread + k) % w->threads];
        size_t item;

        while ((item = atomic_fetch_add(&s->next, 1)) < s->end) {
            w->fn(w->ctx, item, thread);
            did++;
        }
    }
    atomic_fetch_add(&w->done, did);
}

static inline void rest(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* The first round after `seen`; most waits are shorter than a sleep. */
static uint64_t await(struct workers *w, uint64_t seen)
{
    uint64_t now = atomic_load(&w->round);

    for (unsigned i = 0; i < w->spins && now == seen; i++) {
        rest();
        now = atomic_load_explicit(&w->round, memory_order_acquire);
    }
    if (now != seen)
        return now;
    pthread_mutex_lock(&w->lock);
    while ((now = atomic_load(&w->round)) == seen && !atomic_load(&w->over))
        pthread_cond_wait(&w->news, &w->lock);
    pthread_mutex_unlock(&w->lock);
    return now;
}

static void *helper(void *arg)
{
    struct workers *w = arg;
    unsigned thread = 1 + atomic_fetch_add(&w->indices, 1);
    uint64_t seen = 0;

    while (!atomic_load(&w->over)) {
        seen = await(w, seen);
        atomic_fetch_add(&w->inside, 1);
        if (atomic_load(&w->round) == seen && seen % 2 == 1) {
            floats_set(w->floats);
            take_items(w, thread);
        }
        atomic_fetch_sub(&w->inside, 1);
    }
    return NULL;
}

static void round_begin(struct workers *w)
{
    pthread_mutex_lock(&w->lock);
    atomic_fetch_add(&w->round, 1);
    pthread_cond_broadcast(&w->news);
    pthread_mutex_unlock(&w->lock);
}

/* Nobody needs to be woken for it. A helper inside may have lost its core: after a
 * while it is given ours. */
static void round_end(struct workers *w)
{
    atomic_fetch_add(&w->round, 1);
    for (unsigned i = 0; atomic_load(&w->inside) > 0; i++)
        i < w->spins ? rest() : (void)sched_yield();
}

void workers_do(struct workers *w, size_t items,
                void (*fn)(void *ctx, size_t item, unsigned thread), void *ctx)
{
    if (w->started == 0 || items < 2) {
        for (size_t i = 0; i < items; i++)
            fn(ctx, i, 0);
        return;
    }
    w->fn = fn;
    w->ctx = ctx;
    w->items = items;
    w->floats = floats_mode();
    atomic_store(&w->done, 0);
    for (unsigned t = 0; t < w->threads; t++) {
        atomic_store_explicit(&w->share[t].next, items * t / w->threads, memory_order_relaxed);
        w->share[t].end = items * (t + 1) / w->threads;
    }
    round_begin(w);
    take_items(w, 0);
    for (unsigned i = 0; atomic_load(&w->done) < items; i++)
        i < w->spins ? rest() : (void)sched_yield();
    round_end(w);
}

/* ---- items that may fail ---- */

struct attempt {
    shoal_status (*fn)(void *ctx, size_t item, unsigned thread);
    void *ctx;
    pthread_mutex_t lock;
    size_t failed; /* the lowest item that did */
    shoal_status status;
    char sentence[SENTENCE];
};

static void attempt_item(void *ctx, size_t item, unsigned thread)
{
    struct attempt *a = ctx;
    shoal_status st = a->fn(a->ctx, item, thread);

    if (st == SHOAL_OK)
        return;
    pthread_mutex_lock(&a->lock);
    if (a->status == SHOAL_OK || item < a->failed) {
        a->failed = item;
        a->status = st;
        snprintf(a->sentence, sizeof a->sentence, "%s", shoal_error());
    }
    pthread_mutex_unlock(&a->lock);
}

shoal_status workers_run(struct workers *w, size_t items,
                         shoal_status (*fn)(void *ctx, size_t item, unsigned thread), void *ctx)
{
    struct attempt a = {.fn = fn, .ctx = ctx, .lock = PTHREAD_MUTEX_INITIALIZER};

    workers_do(w, items, attempt_item, &a);
    pthread_mutex_destroy(&a.lock);
    return a.status == SHOAL_OK ? SHOAL_OK : shoal_fail(a.status, "%s", a.sentence);
}

/* ---- beginning and end ---- */

shoal_status workers_new(struct workers **out, unsigned threads)
{
    struct workers *w = mem_array(1, sizeof *w);

    *out = NULL;
    if (!w)
        return SHOAL_ENOMEM;
    w->threads = pool_threads(threads);
    w->spins = w->threads <= pool_threads(0) ? SPINS : 0;
    w->thread = mem_array(w->threads, sizeof *w->thread);
    w->share = aligned_alloc(LINE, w->threads * sizeof *w->share);
    if (!w->thread || !w->share) {
        free(w->thread);
        free(w->share);
        free(w);
        return shoal_fail(SHOAL_ENOMEM, "memory: no room for %u threads", pool_threads(threads));
    }
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->news, NULL);
    /* Whoever could not be started is not missed: the others take its share. */
    while (w->started + 1 < w->threads &&
           pthread_create(&w->thread[w->started], NULL, helper, w) == 0)
        w->started++;
    *out = w;
    return SHOAL_OK;
}

void workers_free(struct workers *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    atomic_store(&w->over, true);
    pthread_cond_broadcast(&w->news);
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; i < w->started; i++)
        pthread_join(w->thread[i], NULL);
    pthread_cond_destroy(&w->news);
    pthread_mutex_destroy(&w->lock);
    free(w->thread);
    free(w->share);
    free(w);
}

unsigned workers_count(const struct workers *w)
{
    return w->threads;
}
