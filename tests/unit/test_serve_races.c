/* Orders of events in the registry and the batcher that a busy server meets now and then:
 * many threads do what is allowed at the same time, a bounded number of times. Under the
 * address and thread sanitizers (make asan tsan) what goes wrong is reported. */
#include "serve/models/registry.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
/* cmocka wants some of the above first. */
#include <cmocka.h>

#include "scratch.h"

enum { ROUNDS = 100, MEMBERS = 4, WAIT = 120 /* seconds for anything that must happen */ };

/* ---- a model that answers at once ------------------------------------------------------ */

static shoal_status echo_open(const void **out, const shoal_model *model)
{
    *out = shoal_model_vectors(model);
    return SHOAL_OK;
}

static shoal_status echo_run(const void *model, void *const *samples, size_t n)
{
    (void)model;
    for (size_t i = 0; i < n; i++)
        *(int *)samples[i] += 1;
    return SHOAL_OK;
}

static const struct servable_kind echo = {
    .name = "vectors",
    .sample_size = sizeof(int),
    .open = echo_open,
    .run = echo_run,
};
static const struct servable_kind *const kinds[] = {&echo, NULL};

static const struct model_settings settings = {.batch_size = 4,
                                               .max_batch_delay = 0,
                                               .queue_size = 1000,
                                               .min_workers = 1,
                                               .max_workers = 1,
                                               .response_timeout = 60};

static void ok(shoal_status st)
{
    if (st != SHOAL_OK)
        fail_msg("%s", shoal_error());
}

/* ---- asking ----------------------------------------------------------------------------- */

struct asked {
    struct job job;
    int number;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool done;
};

static void on_finished(struct job *job)
{
    struct asked *a = (struct asked *)(void *)job;

    pthread_mutex_lock(&a->lock);
    a->done = true;
    pthread_cond_signal(&a->ended);
    pthread_mutex_unlock(&a->lock);
}

/* Whether it was answered, well or not. */
static bool await(struct asked *a)
{
    struct timespec end;
    int late = 0;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += WAIT;
    pthread_mutex_lock(&a->lock);
    while (!a->done && !late)
        late = pthread_cond_timedwait(&a->ended, &a->lock, &end);
    pthread_mutex_unlock(&a->lock);
    return a->done;
}

/* SHOAL_OK: it was taken, and must be answered. */
static shoal_status submit(struct asked *a, struct batcher *b, struct generation *g)
{
    memset(a, 0, sizeof *a);
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->ended, NULL);
    a->job = (struct job){.generation = g,
                          .samples = (char *)&a->number,
                          .n = 1,
                          .deadline = clock_now() + WAIT,
                          .finished = on_finished};
    return batcher_submit(b, &a->job);
}

/* ---- one batcher ------------------------------------------------------------------------ */

struct batch_fixture {
    struct model_tally tally;
    struct batcher *b;
    struct generation g;
};

static void fixture_init(struct batch_fixture *f)
{
    struct model_settings batch = {.batch_size = 4, .queue_size = 1000};

    memset(f, 0, sizeof *f);
    f->g.kind = &echo;
    atomic_init(&f->g.refs, 1);
    ok(batcher_new(&f->b, &batch, &f->tally));
}

static void a_closed_batcher_starts_no_worker(void **state)
{
    struct batch_fixture f;

    (void)state;
    fixture_init(&f);
    ok(batcher_scale(f.b, 1, 1));
    batcher_close(f.b);
    assert_int_equal(batcher_scale(f.b, 2, 2), SHOAL_ESTOP);
    assert_int_equal(batcher_snapshot(f.b).workers, 0);
    batcher_free(f.b);
}

/* A worker that nothing keeps (min 0) is on its way out whenever a job comes: the job is
 * either refused or answered. */
static void *ask_in_turn(void *arg)
{
    struct batch_fixture *f = arg;
    struct asked a;

    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(submit(&a, f->b, &f->g), SHOAL_OK);
        if (!await(&a))
            return "a job was taken and never answered";
        if (a.job.st != SHOAL_OK)
            return "a job was refused although a worker is allowed";
    }
    return NULL;
}

static void a_job_that_comes_while_the_last_worker_leaves_is_computed(void **state)
{
    struct batch_fixture f;
    pthread_t members[MEMBERS];
    void *said;

    (void)state;
    fixture_init(&f);
    ok(batcher_scale(f.b, 0, 1));
    for (int i = 0; i < MEMBERS; i++)
        assert_int_equal(pthread_create(&members[i], NULL, ask_in_turn, &f), 0);
    for (int i = 0; i < MEMBERS; i++) {
        assert_int_equal(pthread_join(members[i], &said), 0);
        if (said)
            fail_msg("%s", (char *)said);
    }
    batcher_close(f.b);
    batcher_free(f.b);
}

/* `finished` is called by the worker that leaves, while it has given the lock away: whoever
 * asks for workers right then must get them. */
struct regret {
    struct job job;
    struct batch_fixture *f;
    int number;
    shoal_status scaled, taken;
    struct asked next;
    atomic_bool over;
};

static void on_refused(struct job *job)
{
    struct regret *r = (struct regret *)(void *)job;

    r->scaled = batcher_scale(r->f->b, 1, 1);
    r->taken = submit(&r->next, r->f->b, &r->f->g);
    atomic_store(&r->over, true);
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool within;

static shoal_status gated_run(const void *model, void *const *samples, size_t n)
{
    atomic_store(&within, true);
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return echo_run(model, samples, n);
}

static void workers_that_are_wanted_again_while_the_last_one_leaves_are_there(void **state)
{
    struct servable_kind gated = echo;
    struct timespec nap = {0, 100000};
    struct batch_fixture f;
    struct asked first;
    struct regret second = {.f = &f};

    (void)state;
    fixture_init(&f);
    gated.run = gated_run;
    f.g.kind = &gated;
    pthread_mutex_lock(&gate);
    atomic_store(&within, false);
    ok(batcher_scale(f.b, 1, 1));
    ok(submit(&first, f.b, &f.g));
    while (!atomic_load(&within))
        nanosleep(&nap, NULL);
    second.job = (struct job){.generation = &f.g,
                              .samples = (char *)&second.number,
                              .n = 1,
                              .deadline = clock_now() + WAIT,
                              .finished = on_refused};
    ok(batcher_submit(f.b, &second.job));
    ok(batcher_scale(f.b, 0, 0)); /* it will leave, and refuse the second */
    pthread_mutex_unlock(&gate);
    assert_true(await(&first));
    batcher_settle(f.b);
    while (!atomic_load(&second.over)) /* until it was refused */
        nanosleep(&nap, NULL);
    batcher_close(f.b); /* answers what waits */
    assert_int_equal(second.job.st, SHOAL_ESTOP);
    ok(second.scaled);
    ok(second.taken);
    assert_true(await(&second.next));
    ok(second.next.job.st);
    batcher_free(f.b);
}

static void *settle(void *arg)
{
    batcher_settle(((struct batch_fixture *)arg)->b);
    return NULL;
}

static void who_waits_for_fewer_workers_is_woken_when_more_are_wanted(void **state)
{
    struct servable_kind gated = echo;
    struct timespec nap = {0, 20000000};
    struct batch_fixture f;
    struct asked first;
    pthread_t waits;

    (void)state;
    fixture_init(&f);
    gated.run = gated_run;
    f.g.kind = &gated;
    pthread_mutex_lock(&gate);
    atomic_store(&within, false);
    ok(batcher_scale(f.b, 1, 1));
    ok(submit(&first, f.b, &f.g));
    while (!atomic_load(&within))
        nanosleep(&nap, NULL);
    ok(batcher_scale(f.b, 0, 0));
    assert_int_equal(pthread_create(&waits, NULL, settle, &f), 0);
    nanosleep(&nap, NULL); /* so that it waits, most likely */
    ok(batcher_scale(f.b, 1, 1));
    assert_int_equal(pthread_join(waits, NULL), 0); /* although the worker is still there */
    pthread_mutex_unlock(&gate);
    assert_true(await(&first));
    batcher_close(f.b);
    batcher_free(f.b);
}

static void a_job_of_a_client_that_left_is_not_computed(void **state)
{
    struct batch_fixture f;
    struct asked a;

    (void)state;
    fixture_init(&f);
    ok(batcher_scale(f.b, 0, 1));
    pthread_mutex_lock(&gate);
    memset(&a, 0, sizeof a);
    pthread_mutex_init(&a.lock, NULL);
    pthread_cond_init(&a.ended, NULL);
    a.job = (struct job){.generation = &f.g,
                         .samples = (char *)&a.number,
                         .n = 1,
                         .deadline = clock_now() + WAIT,
                         .finished = on_finished};
    atomic_store(&a.job.abandoned, true);
    ok(batcher_submit(f.b, &a.job));
    assert_true(await(&a));
    pthread_mutex_unlock(&gate);
    assert_int_equal(a.job.st, SHOAL_ESTOP);
    assert_string_equal(a.job.sentence, "the client has gone");
    assert_int_equal(a.number, 0);
    batcher_close(f.b);
    assert_int_equal(f.tally.abandoned, 1);
    assert_int_equal(f.tally.inputs, 0);
    assert_true(histogram_quantile(&f.tally.stages[STAGE_RUN], 0.5, NULL) == 0); /* it never ran */
    batcher_free(f.b);
}

/* ---- a registry that changes --------------------------------------------------------------- */

struct crowd {
    struct registry r;
    atomic_uint lost;
    atomic_bool stop;
};

/* Lets the others have the locks: those who only ever take them starve the rest. */
static bool goes_on(struct crowd *c)
{
    struct timespec nap = {0, 50000};

    nanosleep(&nap, NULL);
    return !atomic_load(&c->stop);
}

static void *scale_in_turn(void *arg)
{
    struct crowd *c = arg;
    enum registry_error why;

    for (unsigned i = 0; goes_on(c); i++)
        registry_scale(&c->r, "m", NULL, i % 3, i % 3 + i % 2, i % 5 == 0, &why);
    return NULL;
}

static void *default_in_turn(void *arg)
{
    struct crowd *c = arg;
    enum registry_error why;

    for (unsigned i = 0; goes_on(c); i++)
        registry_set_default(&c->r, "m", i % 2 ? "1.0" : "2.0", &why);
    return NULL;
}

static void *reload_in_turn(void *arg)
{
    struct crowd *c = arg;

    while (goes_on(c)) {
        registry_reload(&c->r);
        registry_update_rates(&c->r, 1);
        registry_healthy(&c->r);
    }
    return NULL;
}

static void *ask_models_in_turn(void *arg)
{
    struct crowd *c = arg;
    enum registry_error why;
    struct lease lease;
    struct asked a;

    while (goes_on(c)) {
        if (registry_lease(&c->r, "m", NULL, &lease, &why) != SHOAL_OK)
            continue;
        if (submit(&a, lease.version->batcher, lease.generation) == SHOAL_OK && !await(&a))
            atomic_fetch_add(&c->lost, 1);
        lease_end(&lease);
    }
    return NULL;
}

static void scaling_against_deleting_leaves_no_worker_behind(void **state)
{
    static void *(*const doing[])(void *) = {scale_in_turn,  scale_in_turn,      default_in_turn,
                                             reload_in_turn, ask_models_in_turn, ask_models_in_turn};
    enum { N = sizeof doing / sizeof *doing };
    struct crowd c = {0};
    pthread_t members[N];
    struct version *v;
    enum registry_error why;

    (void)state;
    scratch_put("m", "1 1\nx 1\n", 8);
    ok(registry_init(&c.r, kinds, scratch_dir, NULL, &settings));
    for (int i = 0; i < N; i++)
        assert_int_equal(pthread_create(&members[i], NULL, doing[i], &c), 0);
    for (int i = 0; i < ROUNDS; i++) {
        char text[16];

        scratch_put("m", text, (size_t)snprintf(text, sizeof text, "1 1\nx %d\n", i));
        for (int k = 0; k < 2; k++) {
            ok(registry_add(&c.r, "m", "m", k ? "2.0" : "1.0", &settings, &v, &why));
            lease_end(&(struct lease){.version = v});
        }
        while (registry_remove(&c.r, "m", i % 2 ? "1.0" : "2.0", &why) != SHOAL_OK)
            assert_int_equal(why, REGISTRY_IS_DEFAULT); /* for a moment */
        ok(registry_remove(&c.r, "m", NULL, &why));
    }
    atomic_store(&c.stop, true);
    for (int i = 0; i < N; i++)
        pthread_join(members[i], NULL);
    assert_int_equal(c.lost, 0);
    assert_int_equal(c.r.len, 0);
    registry_fini(&c.r);
}

/* Those that stay are met by every walk, whatever comes and goes before them. */
static void *walk_in_turn(void *arg)
{
    struct crowd *c = arg;

    while (goes_on(c)) {
        unsigned met = 0;

        for (struct lease l = {0}; registry_next(&c->r, NULL, &l);)
            met += l.version->name[0] == 's';
        if (met != 3)
            atomic_fetch_add(&c->lost, 1);
    }
    return NULL;
}

static void a_walk_meets_every_model_that_stays_once(void **state)
{
    static const char *const stay[] = {"s1", "s2", "s3"};
    struct crowd c = {0};
    pthread_t members[2];
    struct version *v;
    enum registry_error why;

    (void)state;
    scratch_put("m", "1 1\nx 1\n", 8);
    ok(registry_init(&c.r, kinds, scratch_dir, NULL, &settings));
    for (size_t i = 0; i < 3; i++) {
        ok(registry_add(&c.r, "m", stay[i], "1.0", &settings, &v, &why));
        lease_end(&(struct lease){.version = v});
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&members[i], NULL, walk_in_turn, &c), 0);
    for (int i = 0; i < ROUNDS; i++) {
        ok(registry_add(&c.r, "m", "a", "1.0", &settings, &v, &why));
        lease_end(&(struct lease){.version = v});
        ok(registry_remove(&c.r, "a", NULL, &why));
    }
    atomic_store(&c.stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(members[i], NULL);
    assert_int_equal(c.lost, 0);
    registry_fini(&c.r);
}

static void a_registry_that_was_closed_takes_no_model(void **state)
{
    struct registry r;
    struct version *v;
    enum registry_error why;

    (void)state;
    scratch_put("m", "1 1\nx 1\n", 8);
    ok(registry_init(&r, kinds, scratch_dir, NULL, &settings));
    ok(registry_add(&r, "m", "m", "1.0", &settings, &v, &why));
    lease_end(&(struct lease){.version = v});
    registry_close(&r);
    assert_int_equal(registry_add(&r, "m", "n", "1.0", &settings, &v, &why), SHOAL_ESTOP);
    assert_int_equal(registry_scale(&r, "m", NULL, 2, 2, true, &why), SHOAL_ESTOP);
    registry_fini(&r);
}

struct removal {
    struct registry *r;
    shoal_status st;
    atomic_bool closed;
};

static void *remove_model(void *arg)
{
    struct removal *x = arg;
    enum registry_error why;

    x->st = registry_remove(x->r, "m", NULL, &why);
    return NULL;
}

static void *close_registry(void *arg)
{
    struct removal *x = arg;

    registry_close(x->r);
    atomic_store(&x->closed, true);
    return NULL;
}

/* What the workers of a model compute is in their clients' memory, which ends with the
 * server: nobody may go before them. */
static void closing_waits_for_a_model_that_is_being_removed(void **state)
{
    static const struct servable_kind gated = {.name = "vectors",
                                               .sample_size = sizeof(int),
                                               .open = echo_open,
                                               .run = gated_run};
    static const struct servable_kind *const only[] = {&gated, NULL};
    struct timespec nap = {0, 20000000};
    struct registry r;
    struct removal x = {.r = &r};
    struct lease lease;
    struct asked first;
    enum registry_error why;
    pthread_t removes, closes;
    struct version *v;

    (void)state;
    scratch_put("m", "1 1\nx 1\n", 8);
    ok(registry_init(&r, only, scratch_dir, NULL, &settings));
    ok(registry_add(&r, "m", "m", "1.0", &settings, &v, &why));
    lease_end(&(struct lease){.version = v});
    pthread_mutex_lock(&gate);
    atomic_store(&within, false);
    ok(registry_lease(&r, "m", NULL, &lease, &why));
    ok(submit(&first, lease.version->batcher, lease.generation));
    while (!atomic_load(&within))
        nanosleep(&nap, NULL);
    assert_int_equal(pthread_create(&removes, NULL, remove_model, &x), 0);
    for (size_t n = 1; n > 0; nanosleep(&nap, NULL)) { /* until it is off the list */
        pthread_rwlock_rdlock(&r.lock);
        n = r.len;
        pthread_rwlock_unlock(&r.lock);
    }
    assert_int_equal(pthread_create(&closes, NULL, close_registry, &x), 0);
    for (int i = 0; i < 5; i++)
        nanosleep(&nap, NULL);
    assert_false(atomic_load(&x.closed));
    pthread_mutex_unlock(&gate);
    assert_true(await(&first));
    assert_int_equal(pthread_join(removes, NULL), 0);
    assert_int_equal(pthread_join(closes, NULL), 0);
    ok(x.st);
    lease_end(&lease);
    registry_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_closed_batcher_starts_no_worker),
        cmocka_unit_test(a_job_that_comes_while_the_last_worker_leaves_is_computed),
        cmocka_unit_test(workers_that_are_wanted_again_while_the_last_one_leaves_are_there),
        cmocka_unit_test(who_waits_for_fewer_workers_is_woken_when_more_are_wanted),
        cmocka_unit_test(a_job_of_a_client_that_left_is_not_computed),
        cmocka_unit_test(scaling_against_deleting_leaves_no_worker_behind),
        cmocka_unit_test(a_walk_meets_every_model_that_stays_once),
        cmocka_unit_test(a_registry_that_was_closed_takes_no_model),
        cmocka_unit_test(closing_waits_for_a_model_that_is_being_removed),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
