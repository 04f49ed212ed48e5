/* Batching without a timer: a free worker takes what waits at once, so a lone request is
 * never delayed. Batches form by themselves, as requests gather while all workers compute;
 * the busier the model, the larger the batch.
 *
 *                      submit                take_batch            run_jobs
 *     request --> job ---------> FIFO queue ------------> batch ------------> finished(job)
 *                   full: ELIMIT     |  late, abandoned
 *                   no worker: ESTOP '------> refuse --------------------> finished(job)
 *
 * A batch is a prefix of the queue: jobs are taken in order until the next is of another
 * generation of the model or would make it too large. Every job that was accepted is
 * finished exactly once: computed, or refused by who finds it late, or by the last worker
 * that leaves, or by batcher_close.
 *
 * Workers are detached threads between `min` and `max`. submit starts one when all are busy
 * and more are allowed; one above `min` leaves when the queue is empty. `alive` changes only
 * under the lock, in the same critical section in which a worker last looks at the queue: so
 * a job is never accepted for a worker that is already on its way out. */
#include "serve/models/batcher.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES_MAX = 4096 }; /* of one batch */

struct batcher {
    struct model_settings settings;
    struct model_tally *tally;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t news;  /* a job, fewer workers wanted, the end */
    pthread_cond_t left;  /* a worker has gone */
    struct job *head, **tail;
    size_t waiting; /* jobs */
    unsigned min;
    _Atomic unsigned max; /* read without the lock too */
    unsigned alive, busy;
    bool closed;

    size_t last_n; /* jobs of the last batch, and what it took */
    double last_seconds;
};

/* ---- generations: hot reload ----
 *
 * A model file is opened once, as a generation, and counted by its users: the version that
 * serves it and every request that leased it. Replacing the file swaps the version's pointer:
 *
 *     before    version.now --> G1 <-- requests A, B       refs of G1: 3
 *     reload    version.now --> G2                          refs of G2: 1
 *               G1 <-- A, B                                 refs of G1: 2
 *     later     C leases G2; when B, the last, is answered, G1 is closed
 *
 * Nobody waits: new requests see G2 at once, old ones end with the model they began with,
 * and no batch mixes the two. Both are in memory for that while. */

/* A replaced file may be only half copied: all its checksums are verified first. */
static shoal_status generation_read(struct generation *g, const struct servable_kind *const *kinds,
                                    const char *path, bool map, const struct class_rule *rule)
{
    shoal_status st = (map ? shoal_model_map : shoal_model_open)(&g->saved, path);

    if (st == SHOAL_OK)
        st = shoal_model_verify(g->saved);
    if (st == SHOAL_OK && rule && (rule->model || model_classes(g->saved) > 0))
        st = model_name_classes(g->saved, rule->index);
    if (st != SHOAL_OK)
        return st;
    g->kind = servable_find(kinds, g->saved);
    return g->kind ? g->kind->open(&g->model, g->saved) : SHOAL_EFORMAT;
}

static void generation_free(struct generation *g)
{
    if (g->model && g->kind->close)
        g->kind->close(g->model);
    shoal_model_close(g->saved);
    free(g);
}

shoal_status generation_open(struct generation **out, const struct servable_kind *const *kinds,
                             const char *path, bool map, const struct class_rule *rule)
{
    struct generation *g = mem_array(1, sizeof *g);
    shoal_status st = g ? generation_read(g, kinds, path, map, rule) : SHOAL_ENOMEM;

    *out = st == SHOAL_OK ? g : NULL;
    if (g)
        atomic_init(&g->refs, 1);
    if (g && st != SHOAL_OK)
        generation_free(g);
    return st;
}

shoal_status generation_take_index(struct generation *g, const char *path)
{
    shoal_status st = g->kind->take_index ? g->kind->take_index(g->model, path) : SHOAL_OK;

    return st == SHOAL_ENOENT ? SHOAL_OK : st;
}

void generation_keep(struct generation *g)
{
    atomic_fetch_add_explicit(&g->refs, 1, memory_order_relaxed);
}

void generation_drop(struct generation *g)
{
    if (!g || atomic_fetch_sub_explicit(&g->refs, 1, memory_order_acq_rel) != 1)
        return;
    generation_free(g);
}

void generation_put_platform(struct writer *w, const struct generation *g)
{
    char text[64];

    snprintf(text, sizeof text, "shoal_%s", shoal_model_kind(g->saved));
    member_text(w, "platform", text);
}

static void put_fact(void *writer, const struct shoal_fact *f)
{
    char count[24];

    if (!f->key)
        return;
    snprintf(count, sizeof count, "%llu", (unsigned long long)f->value.count);
    member_text(writer, f->key, f->value.type == SHOAL_TEXT ? f->value.text : count);
}

void generation_put_facts(struct writer *w, const struct generation *g)
{
    struct shoal_reporter to = {.fact = put_fact, .user = w};

    w->failed |= shoal_model_describe(g->saved, 0, &to) != SHOAL_OK;
    if (g->kind->facts)
        g->kind->facts(g->model, w);
}

/* ---- a batch ---- */

static void tally_batch(struct batcher *b, size_t inputs, double seconds)
{
    atomic_fetch_add_explicit(&b->tally->batches, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&b->tally->inputs, inputs, memory_order_relaxed);
    atomic_store_explicit(&b->tally->last_run_ns, (uint64_t)(seconds * 1e9), memory_order_relaxed);
}

/* What never ran counts for the queue alone. */
static void tally_job(struct batcher *b, const struct job *job, bool ran_at_all)
{
    double queued = job->started - job->submitted, ran = job->ended - job->started;

    histogram_add(&b->tally->stages[STAGE_QUEUE], queued);
    atomic_fetch_add_explicit(&b->tally->queue_ns, (uint64_t)(queued * 1e9), memory_order_relaxed);
    if (!ran_at_all)
        return;
    histogram_add(&b->tally->stages[STAGE_RUN], ran);
    atomic_fetch_add_explicit(&b->tally->run_ns, (uint64_t)(ran * 1e9), memory_order_relaxed);
    atomic_store_explicit(&b->tally->last_queue_ns, (uint64_t)(queued * 1e9), memory_order_relaxed);
}

static void job_end(struct batcher *b, struct job *job, shoal_status st, double started,
                    double ended, bool ran)
{
    job->st = st;
    job->started = started;
    job->ended = ended;
    if (st != SHOAL_OK)
        snprintf(job->sentence, sizeof job->sentence, "%s", shoal_error());
    tally_job(b, job, ran);
}

/* All samples of the jobs in one call. */
static shoal_status run_jobs(struct job *jobs, size_t samples)
{
    const struct generation *g = jobs->generation;
    void *few[64], **all = few;
    size_t n = 0;
    shoal_status st;

    if (samples > sizeof few / sizeof *few && !(all = mem_array(samples, sizeof *all)))
        return SHOAL_ENOMEM;
    for (const struct job *j = jobs; j; j = j->next)
        for (size_t i = 0; i < j->n; i++)
            all[n++] = job_sample(j, i);
    st = g->kind->run(g->model, all, n);
    if (all != few)
        free(all);
    return st;
}

void batcher_run_here(struct batcher *b, struct job *job)
{
    double now = clock_now(), ended;
    shoal_status st;

    job->submitted = now;
    job->next = NULL;
    st = run_jobs(job, job->n);
    ended = clock_now();
    tally_batch(b, job->n, ended - now);
    job_end(b, job, st, now, ended, true);
}

static void run_batch(struct batcher *b, struct job *jobs, size_t samples)
{
    double started = clock_now(), ended;
    shoal_status st = run_jobs(jobs, samples);
    size_t n = 0;

    ended = clock_now();
    tally_batch(b, samples, ended - started);
    for (struct job *next; jobs; jobs = next, n++) {
        next = jobs->next; /* a finished job is no longer ours */
        job_end(b, jobs, st, started, ended, true);
        jobs->finished(jobs);
    }
    pthread_mutex_lock(&b->lock);
    b->last_n = n;
    b->last_seconds = ended - started;
    pthread_mutex_unlock(&b->lock);
}

/* ---- the queue: with the lock held ---- */

static struct job *pop(struct batcher *b)
{
    struct job *job = b->head;

    b->head = job->next;
    if (!b->head)
        b->tail = &b->head;
    b->waiting--;
    job->next = NULL;
    return job;
}

static bool is_abandoned(const struct job *job)
{
    return atomic_load_explicit(&job->abandoned, memory_order_relaxed);
}

/* Jobs from the head on: of one generation, batch_size samples at most but one job
 * at least. What came too late, or for nobody, goes to *late. */
static struct job *take_batch(struct batcher *b, size_t *samples, struct job **late)
{
    struct job *first = NULL, **end = &first;
    size_t most = b->settings.batch_size < SAMPLES_MAX ? b->settings.batch_size : SAMPLES_MAX;
    double now = clock_now();

    *samples = 0;
    while (b->head) {
        struct job *job = b->head;

        if (job->deadline < now || is_abandoned(job)) {
            job = pop(b);
            job->next = *late;
            *late = job;
            continue;
        }
        if (first && (job->generation != first->generation || *samples + job->n > most))
            break;
        *samples += job->n;
        *end = pop(b);
        end = &(*end)->next;
    }
    return first;
}

/* Seconds to wait for more jobs before a batch is taken; 0: none. With one worker, clients
 * that send their next request after each answer come in a burst behind a batch; taking the
 * first two of them alone would split the burst into two batches for ever. So if fewer wait
 * than the last batch had (but two at least), a quarter of what that batch took is waited,
 * max_batch_delay at most. */
static double gather_time(const struct batcher *b)
{
    double most = (double)b->settings.max_batch_delay * 1e-3;

    if (b->closed || b->waiting < 2 || b->waiting >= b->last_n ||
        b->waiting >= b->settings.batch_size || b->max > 1)
        return 0;
    return b->last_seconds / 4 < most ? b->last_seconds / 4 : most;
}

static struct timespec moment(double at)
{
    return (struct timespec){(time_t)at, (long)((at - floor(at)) * 1e9)};
}

static void wait_to_gather(struct batcher *b)
{
    double until = clock_now() + gather_time(b);
    struct timespec end = moment(until);

    while (gather_time(b) > 0 && clock_now() < until)
        if (pthread_cond_timedwait(&b->news, &b->lock, &end) != 0)
            break;
}

/* Answers jobs that nobody will compute. */
static void refuse(struct batcher *b, struct job *jobs)
{
    for (struct job *next; jobs; jobs = next) {
        double now = clock_now();

        next = jobs->next;
        if (is_abandoned(jobs)) {
            atomic_fetch_add_explicit(&b->tally->abandoned, 1, memory_order_relaxed);
            shoal_fail(SHOAL_ESTOP, "the client has gone");
        } else if (jobs->deadline < now) {
            shoal_fail(SHOAL_ESTOP, "the request waited longer than its time-out");
        } else {
            shoal_fail(SHOAL_ESTOP, "the model has no worker any more");
        }
        job_end(b, jobs, SHOAL_ESTOP, now, now, false);
        jobs->finished(jobs);
    }
}

/* ---- workers ---- */

/* Refuses all that waits, as nobody is left to compute it. Gives the lock away meanwhile:
 * the caller must look at everything anew. */
static void answer_rest(struct batcher *b)
{
    struct job *rest = b->head;

    b->head = NULL;
    b->tail = &b->head;
    b->waiting = 0;
    pthread_mutex_unlock(&b->lock);
    refuse(b, rest);
    pthread_mutex_lock(&b->lock);
}

/* Up to `min` workers stay for ever, further ones up to `max` while there is work. */
static bool may_stay(const struct batcher *b)
{
    if (b->closed)
        return b->head != NULL;
    return b->alive <= b->min || (b->alive <= b->max && b->head);
}

/* One batch, with the lock given away while it is computed. */
static void work(struct batcher *b)
{
    struct job *late = NULL, *jobs;
    size_t samples;

    wait_to_gather(b);
    jobs = take_batch(b, &samples, &late);
    if (b->head)
        pthread_cond_signal(&b->news); /* more than one batch: for another worker */
    b->busy++;
    pthread_mutex_unlock(&b->lock);
    refuse(b, late);
    if (jobs)
        run_batch(b, jobs, samples);
    pthread_mutex_lock(&b->lock);
    b->busy--;
}

/* From the last look at the queue to `alive--` the lock is held: who submits or scales sees
 * this worker either alive and looking again, or gone. */
static void *worker(void *arg)
{
    struct batcher *b = arg;

    pthread_mutex_lock(&b->lock);
    for (;;) {
        while (!b->head && may_stay(b))
            pthread_cond_wait(&b->news, &b->lock);
        if (may_stay(b))
            work(b);
        else if (b->alive == 1 && b->head) /* nobody else would */
            answer_rest(b);
        else
            break;
    }
    b->alive--;
    pthread_cond_signal(&b->news); /* the signal that woke this one may be needed by another */
    pthread_cond_broadcast(&b->left);
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

static shoal_status start_worker(struct batcher *b)
{
    pthread_attr_t attr;
    pthread_t thread;
    int failed;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    failed = pthread_create(&thread, &attr, worker, b);
    pthread_attr_destroy(&attr);
    if (failed)
        return shoal_fail(SHOAL_ELIMIT, "worker: the system gives no thread");
    b->alive++;
    return SHOAL_OK;
}

shoal_status batcher_new(struct batcher **out, const struct model_settings *settings,
                         struct model_tally *tally)
{
    struct batcher *b = mem_array(1, sizeof *b);
    pthread_condattr_t attr;

    *out = b;
    if (!b)
        return SHOAL_ENOMEM;
    b->settings = *settings;
    b->tally = tally;
    b->tail = &b->head;
    pthread_mutex_init(&b->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&b->news, &attr);
    pthread_cond_init(&b->left, &attr);
    pthread_condattr_destroy(&attr);
    return SHOAL_OK;
}

shoal_status batcher_scale(struct batcher *b, unsigned min, unsigned max)
{
    shoal_status st = SHOAL_OK;

    pthread_mutex_lock(&b->lock);
    if (b->closed) {
        st = shoal_fail(SHOAL_ESTOP, "the model is being ended");
    } else {
        b->min = min;
        b->max = max > min ? max : min;
    }
    while (st == SHOAL_OK && b->alive < min)
        st = start_worker(b);
    pthread_cond_broadcast(&b->news);
    pthread_cond_broadcast(&b->left); /* batcher_settle may have its wish by a larger `max` */
    pthread_mutex_unlock(&b->lock);
    return st;
}

void batcher_limit(struct batcher *b, const struct model_settings *settings)
{
    pthread_mutex_lock(&b->lock);
    b->settings = *settings;
    pthread_mutex_unlock(&b->lock);
}

void batcher_settle(struct batcher *b)
{
    pthread_mutex_lock(&b->lock);
    while (b->alive > b->max)
        pthread_cond_wait(&b->left, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

shoal_status batcher_submit(struct batcher *b, struct job *job)
{
    shoal_status st = SHOAL_OK;

    job->submitted = clock_now();
    job->next = NULL;
    pthread_mutex_lock(&b->lock);
    if (b->closed || b->max == 0) {
        st = shoal_fail(SHOAL_ESTOP, "the model has no worker");
    } else if (b->waiting >= b->settings.queue_size) {
        st = shoal_fail(SHOAL_ELIMIT, "the model's queue is full");
    } else if (b->alive < b->max && b->busy + b->waiting >= b->alive) {
        st = start_worker(b); /* all are busy and more are allowed */
        st = b->alive > 0 ? SHOAL_OK : st;
    }
    if (st == SHOAL_OK) {
        *b->tail = job;
        b->tail = &job->next;
        b->waiting++;
        pthread_cond_signal(&b->news);
    }
    pthread_mutex_unlock(&b->lock);
    return st;
}

bool batcher_open(const struct batcher *b)
{
    return atomic_load_explicit(&b->max, memory_order_relaxed) > 0;
}

struct batcher_state batcher_snapshot(struct batcher *b)
{
    struct batcher_state s;

    pthread_mutex_lock(&b->lock);
    s = (struct batcher_state){.workers = b->alive,
                               .min = b->min,
                               .max = b->max,
                               .waiting = b->waiting,
                               .room = b->settings.queue_size > b->waiting
                                           ? b->settings.queue_size - b->waiting
                                           : 0};
    pthread_mutex_unlock(&b->lock);
    return s;
}

void batcher_close(struct batcher *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    b->closed = true;
    pthread_cond_broadcast(&b->news);
    while (b->alive > 0)
        pthread_cond_wait(&b->left, &b->lock);
    answer_rest(b);
    pthread_mutex_unlock(&b->lock);
}

void batcher_free(struct batcher *b)
{
    if (!b)
        return;
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->news);
    pthread_cond_destroy(&b->left);
    free(b);
}
