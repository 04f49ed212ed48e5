/* Models that are registered, replaced and asked, of a kind of our own: vectors of one word,
 * whose first number is added to what is asked. */
#include "serve/server.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
/* cmocka wants some of the above first. */
#include <cmocka.h>

#include "scratch.h"

struct adder {
    int plus;
};

struct sum {
    int in, out;
};

static atomic_int opened, batches, largest;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* held: models stand still */

static shoal_status adder_open(const void **out, const shoal_model *model)
{
    struct adder *a = calloc(1, sizeof *a);
    float numbers[2] = {0};

    assert_in_range(shoal_vectors_dim(shoal_model_vectors(model)), 1, 2);
    assert_int_equal(shoal_vectors_row(shoal_model_vectors(model), 0, numbers), SHOAL_OK);
    a->plus = (int)numbers[0];
    atomic_fetch_add(&opened, 1);
    *out = a;
    return SHOAL_OK;
}

static void adder_close(const void *model)
{
    atomic_fetch_sub(&opened, 1);
    free((void *)(uintptr_t)model);
}

static shoal_status adder_run(const void *model, void *const *samples, size_t n)
{
    const struct adder *a = model;

    pthread_mutex_lock(&gate);
    for (size_t i = 0; i < n; i++)
        ((struct sum *)samples[i])->out = ((struct sum *)samples[i])->in + a->plus;
    atomic_fetch_add(&batches, 1);
    if ((int)n > atomic_load(&largest))
        atomic_store(&largest, (int)n);
    pthread_mutex_unlock(&gate);
    return SHOAL_OK;
}

static const struct servable_kind adder = {
    .name = "vectors",
    .sample_size = sizeof(struct sum),
    .open = adder_open,
    .close = adder_close,
    .run = adder_run,
};
static const struct servable_kind *const kinds[] = {&adder, NULL};

static const struct model_settings settings = {.batch_size = 8, .max_batch_delay = 1,
                                               .queue_size = 20, .min_workers = 1,
                                               .max_workers = 1, .response_timeout = 60};

static void ok(shoal_status st)
{
    if (st != SHOAL_OK)
        fail_msg("%s", shoal_error());
}

/* Numbers become vectors; other text is no model. */
static void put_in_place(const char *name, const char *text)
{
    char vectors[64];

    assert_non_null(text);
    snprintf(vectors, sizeof vectors, "1 %d\nx %.32s\n", strchr(text, ' ') ? 2 : 1, text ? text : "");
    if (strspn(text, "0123456789 ") == strlen(text))
        text = vectors;
    scratch_put(name, text, strlen(text));
}

static void put(const char *name, const char *text)
{
    char fresh[64];

    snprintf(fresh, sizeof fresh, "%s.new", name);
    put_in_place(fresh, text);
    assert_int_equal(rename(scratch_path(fresh), scratch_path(name)), 0);
}

static void registry_of_scratch(struct registry *r)
{
    ok(registry_init(r, kinds, scratch_dir, NULL, &settings));
}

/* ---- asking -------------------------------------------------------------------------------------- */

struct asked {
    struct job job;
    struct sum sums[4];
    struct lease lease;
    atomic_bool done;
};

static void on_finished(struct job *job)
{
    atomic_store(&((struct asked *)(void *)job)->done, true);
}

static shoal_status ask(struct registry *r, struct asked *a, const char *name, int in, double patience)
{
    enum registry_error why;

    memset(a, 0, sizeof *a);
    ok(registry_lease(r, name, NULL, &a->lease, &why));
    a->sums[0].in = in;
    a->job = (struct job){.generation = a->lease.generation, .samples = (char *)a->sums, .n = 1,
                          .deadline = clock_now() + patience, .finished = on_finished};
    return batcher_submit(a->lease.version->batcher, &a->job);
}

static void await(struct asked *a)
{
    struct timespec nap = {0, 100000};

    while (!atomic_load(&a->done))
        nanosleep(&nap, NULL);
}

static int answer_of(struct registry *r, const char *name, int in)
{
    struct asked a;

    ok(ask(r, &a, name, in, 60));
    await(&a);
    assert_int_equal(a.job.st, SHOAL_OK);
    lease_end(&a.lease);
    return a.sums[0].out;
}

static void add(struct registry *r, const char *file, const char *name, const char *version)
{
    enum registry_error why;
    struct lease lease = {0};

    ok(registry_add(r, file, name, version, &settings, &lease.version, &why));
    lease_end(&lease);
}

static void a_registered_model_answers(void **state)
{
    struct registry r;

    (void)state;
    put("ten", "10");
    registry_of_scratch(&r);
    add(&r, "ten", NULL, "1.0");
    assert_int_equal(answer_of(&r, "ten", 5), 15);
    registry_fini(&r);
    assert_int_equal(atomic_load(&opened), 0);
}

static void only_files_of_the_store_itself_are_opened(void **state)
{
    static const char *const bad[] = {"../ten", "/etc/hostname", "sub/ten", ".hidden", ""};
    struct registry r;
    struct version *v;
    enum registry_error why;

    (void)state;
    put("ten", "10");
    put(".hidden", "1");
    mkdir(scratch_path("sub"), 0700);
    put("sub/ten", "1");
    unlink(scratch_path("link"));
    assert_int_equal(symlink("ten", scratch_path("link")), 0);
    registry_of_scratch(&r);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_not_equal(registry_add(&r, bad[i], "m", "1.0", &settings, &v, &why), SHOAL_OK);
        assert_int_equal(why, REGISTRY_BAD);
    }
    assert_int_not_equal(registry_add(&r, "link", "m", "1.0", &settings, &v, &why), SHOAL_OK);
    assert_int_not_equal(registry_add(&r, "sub", "m", "1.0", &settings, &v, &why), SHOAL_OK);
    assert_int_equal(registry_add(&r, "none", "m", "1.0", &settings, &v, &why), SHOAL_ENOENT);
    assert_int_equal(r.len, 0);
    registry_fini(&r);
}

static void a_failure_names_the_file_and_no_path(void **state)
{
    struct registry r;
    struct version *v;
    enum registry_error why;

    (void)state;
    put("bad", "no number");
    registry_of_scratch(&r);
    assert_int_not_equal(registry_add(&r, "bad", NULL, "1.0", &settings, &v, &why), SHOAL_OK);
    assert_string_equal(shoal_error(), "bad: 9 bytes that are no vectors, want word2vec, "
                                       "fastText, GloVe, NumPy, safetensors or our own");
    registry_fini(&r);
}

static void the_first_version_is_the_default_until_another_is_set(void **state)
{
    struct registry r;
    enum registry_error why;
    struct version *v;

    (void)state;
    put("one", "1");
    put("two", "2");
    registry_of_scratch(&r);
    add(&r, "one", "m", "1.0");
    add(&r, "two", "m", "2.0");
    assert_int_equal(answer_of(&r, "m", 0), 1);
    ok(registry_set_default(&r, "m", "2.0", &why));
    assert_int_equal(answer_of(&r, "m", 0), 2);
    assert_int_not_equal(registry_add(&r, "two", "m", "2.0", &settings, &v, &why), SHOAL_OK);
    assert_int_equal(why, REGISTRY_TAKEN);
    assert_int_not_equal(registry_remove(&r, "m", "2.0", &why), SHOAL_OK);
    assert_int_equal(why, REGISTRY_IS_DEFAULT);
    ok(registry_remove(&r, "m", "1.0", &why));
    ok(registry_remove(&r, "m", NULL, &why));
    assert_int_not_equal(registry_remove(&r, "m", NULL, &why), SHOAL_OK);
    assert_int_equal(why, REGISTRY_NO_MODEL);
    registry_fini(&r);
    assert_int_equal(atomic_load(&opened), 0);
}

static void a_registry_survives_a_restart(void **state)
{
    struct registry r;
    enum registry_error why;

    (void)state;
    put("one", "1");
    put("two", "2");
    registry_of_scratch(&r);
    add(&r, "one", "m", "1.0");
    add(&r, "two", "m", "2.0");
    ok(registry_set_default(&r, "m", "2.0", &why));
    ok(registry_scale(&r, "m", "2.0", 2, 3, true, &why));
    registry_fini(&r);

    registry_of_scratch(&r);
    ok(state_load(&r));
    assert_int_equal(r.len, 2);
    assert_int_equal(answer_of(&r, "m", 0), 2);
    assert_int_equal(r.at[1]->settings.max_workers, 3);
    registry_fini(&r);
    unlink(scratch_path(".shoal-serve.state"));
}

static void a_model_whose_file_is_missing_is_served_once_it_is_there(void **state)
{
    struct registry r;
    struct lease lease;
    enum registry_error why;

    (void)state;
    put("late", "4");
    registry_of_scratch(&r);
    add(&r, "late", "m", "1.0");
    registry_fini(&r);
    unlink(scratch_path("late"));

    registry_of_scratch(&r);
    ok(state_load(&r));
    ok(registry_lease(&r, "m", NULL, &lease, &why));
    assert_null(lease.generation);
    lease_end(&lease);
    assert_false(registry_healthy(&r));
    put("late", "5");
    registry_reload(&r);
    assert_int_equal(answer_of(&r, "m", 0), 5);
    assert_true(registry_healthy(&r));
    registry_fini(&r);
    unlink(scratch_path(".shoal-serve.state"));
}

static void a_state_that_was_tampered_with_is_refused(void **state)
{
    static const char *const bad[] = {
        "nonsense\n", "shoal-serve 1\nmodel m 1.0 8 1 20 1 1 60 1 ../one\n",
        "shoal-serve 1\nmodel m\n", "shoal-serve 1\nmodel ../m 1.0 8 1 20 1 1 60 1 one\n",
        "shoal-serve 1\nmodel m 1.0 8 1 20 1 9999 60 1 one\n"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct registry r;

        put(".shoal-serve.state", bad[i]);
        registry_of_scratch(&r);
        assert_int_equal(state_load(&r), SHOAL_EFORMAT);
        assert_int_equal(r.len, 0);
        registry_fini(&r);
    }
    unlink(scratch_path(".shoal-serve.state"));
}

static void a_replaced_file_is_served_and_the_old_one_ends_with_its_last_request(void **state)
{
    struct registry r;
    struct lease old;
    enum registry_error why;

    (void)state;
    put("m", "1");
    registry_of_scratch(&r);
    add(&r, "m", NULL, "1.0");
    ok(registry_lease(&r, "m", NULL, &old, &why));
    put("m", "1000");
    registry_reload(&r);
    assert_int_equal(answer_of(&r, "m", 0), 1000);
    assert_int_equal(atomic_load(&opened), 2);
    assert_int_equal(((const struct adder *)old.generation->model)->plus, 1);
    lease_end(&old);
    assert_int_equal(atomic_load(&opened), 1);
    put("m", "broken");
    registry_reload(&r);
    assert_int_equal(answer_of(&r, "m", 0), 1000);
    put("m", "70");
    registry_reload(&r);
    assert_int_equal(answer_of(&r, "m", 0), 70);
    registry_fini(&r);
}

static void count_sentence(void *user, const char *sentence)
{
    (void)sentence;
    ++*(int *)user;
}

/* Root may open anything: it is somebody else who looks. */
static void look_as_somebody(struct registry *r, int times)
{
    bool root = geteuid() == 0;

    assert_int_equal(chmod(scratch_dir, 0755), 0);
    if (root)
        assert_int_equal(seteuid(65534), 0);
    while (times-- > 0)
        registry_reload(r);
    if (root)
        assert_int_equal(seteuid(0), 0);
}

static void a_file_that_cannot_be_opened_is_tried_again_once_it_changed(void **state)
{
    struct registry r;
    int said = 0;

    (void)state;
    put("m", "1");
    registry_of_scratch(&r);
    add(&r, "m", NULL, "1.0");
    r.log = count_sentence;
    r.user = &said;
    put_in_place("shut", "20");
    assert_int_equal(chmod(scratch_path("shut"), 0), 0);
    assert_int_equal(rename(scratch_path("shut"), scratch_path("m")), 0);
    look_as_somebody(&r, 5);
    assert_int_equal(said, 1);
    assert_int_equal(answer_of(&r, "m", 0), 1);
    assert_int_equal(chmod(scratch_path("m"), 0644), 0);
    look_as_somebody(&r, 5);
    assert_int_equal(said, 2);
    assert_int_equal(answer_of(&r, "m", 0), 20);
    registry_fini(&r);
    unlink(scratch_path(".shoal-serve.state"));
}

/* ---- batches ------------------------------------------------------------------------------------------ */

static void requests_that_wait_are_computed_together(void **state)
{
    struct asked asked[9];
    struct registry r;

    (void)state;
    put("m", "1");
    registry_of_scratch(&r);
    add(&r, "m", NULL, "1.0");
    atomic_store(&batches, 0);
    atomic_store(&largest, 0);
    pthread_mutex_lock(&gate);
    ok(ask(&r, &asked[0], "m", 0, 60));
    while (batcher_snapshot(asked[0].lease.version->batcher).waiting > 0)
        usleep(100); /* the worker has it, and stands at the gate */
    for (int i = 1; i < 9; i++)
        ok(ask(&r, &asked[i], "m", i, 60));
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < 9; i++) {
        await(&asked[i]);
        assert_int_equal(asked[i].sums[0].out, i + 1);
        lease_end(&asked[i].lease);
    }
    assert_int_equal(atomic_load(&batches), 2);
    assert_int_equal(atomic_load(&largest), 8);
    registry_fini(&r);
}

static void a_full_queue_refuses_and_loses_nothing(void **state)
{
    struct asked asked[22];
    struct registry r;
    int accepted = 0;

    (void)state;
    put("m", "1");
    registry_of_scratch(&r);
    add(&r, "m", NULL, "1.0");
    pthread_mutex_lock(&gate);
    ok(ask(&r, &asked[0], "m", 0, 60));
    while (batcher_snapshot(asked[0].lease.version->batcher).waiting > 0)
        usleep(100);
    for (int i = 1; i < 22; i++) {
        shoal_status st = ask(&r, &asked[i], "m", i, 60);

        accepted += st == SHOAL_OK;
        assert_true(i <= 20 ? st == SHOAL_OK : st == SHOAL_ELIMIT);
    }
    pthread_mutex_unlock(&gate);
    assert_int_equal(accepted, 20);
    for (int i = 0; i < 22; i++) {
        if (i <= 20)
            await(&asked[i]);
        lease_end(&asked[i].lease);
    }
    registry_fini(&r);
}

static void a_request_that_waited_too_long_is_not_computed(void **state)
{
    struct asked first, late;
    struct registry r;

    (void)state;
    put("m", "1");
    registry_of_scratch(&r);
    add(&r, "m", NULL, "1.0");
    pthread_mutex_lock(&gate);
    ok(ask(&r, &first, "m", 0, 60));
    while (batcher_snapshot(first.lease.version->batcher).waiting > 0)
        usleep(100);
    ok(ask(&r, &late, "m", 7, -1));
    pthread_mutex_unlock(&gate);
    await(&first);
    await(&late);
    assert_int_equal(late.job.st, SHOAL_ESTOP);
    assert_int_equal(late.sums[0].out, 0);
    lease_end(&first.lease);
    lease_end(&late.lease);
    registry_fini(&r);
}

static void workers_come_and_go_and_none_means_refusal(void **state)
{
    struct registry r;
    struct asked a;
    enum registry_error why;

    (void)state;
    put("m", "1");
    registry_of_scratch(&r);
    add(&r, "m", NULL, "1.0");
    ok(registry_scale(&r, "m", NULL, 3, 3, true, &why));
    assert_int_equal(batcher_snapshot(r.at[0]->batcher).workers, 3);
    assert_int_equal(answer_of(&r, "m", 0), 1);
    ok(registry_scale(&r, "m", NULL, 0, 0, true, &why));
    assert_int_equal(batcher_snapshot(r.at[0]->batcher).workers, 0);
    assert_int_equal(ask(&r, &a, "m", 0, 60), SHOAL_ESTOP);
    lease_end(&a.lease);
    ok(registry_scale(&r, "m", NULL, 0, 2, true, &why));
    assert_int_equal(answer_of(&r, "m", 0), 1);
    registry_fini(&r);
}

struct crowd {
    struct registry *r;
    atomic_bool stop;
    atomic_int asked;
};

static void *crowd_member(void *arg)
{
    struct crowd *c = arg;

    while (!atomic_load(&c->stop)) {
        int plus = answer_of(c->r, "m", 0);

        if (plus < 1 || plus > 100)
            abort();
        atomic_fetch_add(&c->asked, 1);
    }
    return NULL;
}

static void a_hundred_replacements_under_load_lose_no_request(void **state)
{
    struct registry r;
    struct crowd crowd = {.r = &r};
    pthread_t members[3];

    (void)state;
    put("m", "1");
    registry_of_scratch(&r);
    add(&r, "m", NULL, "1.0");
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&members[i], NULL, crowd_member, &crowd), 0);
    for (int i = 1; i <= 100; i++) {
        char text[24];
        int before = atomic_load(&crowd.asked);

        snprintf(text, sizeof text, "%d %0*d", i, i % 7 + 1, 0);
        put("m", text);
        registry_reload(&r);
        while (atomic_load(&crowd.asked) < before + 3)
            usleep(50);
    }
    atomic_store(&crowd.stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(members[i], NULL);
    assert_int_equal(atomic_load(&r.at[0]->tally.reloads), 100);
    assert_int_equal(answer_of(&r, "m", 0), 100);
    registry_fini(&r);
    assert_int_equal(atomic_load(&opened), 0);
}

/* ---- readiness ---------------------------------------------------------------------------------- */

/* The status of a GET; the answer must hold `want`. */
static int get(struct shoal_server *s, const char *address, const char *want)
{
    struct request q = {.server = s, .method = "GET", .address = address};
    int status;

    ok(query_init(&q.query, address));
    q.v2 = strncmp(address, "/v2", 3) == 0;
    assert_int_equal(route_oip(&q), ROUTE_ANSWERED);
    ok(bytes_add(&q.answer.body.out, "", 1));
    if (!strstr(q.answer.body.out.at, want))
        fail_msg("%s says %s, want %s", address, q.answer.body.out.at, want);
    status = q.answer.status;
    bytes_fini(&q.answer.body.out);
    lease_end(&q.lease);
    query_fini(&q.query);
    return status;
}

static void readiness_is_said_by_the_status(void **state)
{
    static const char *const of_model[] = {"/v2/models/m/ready", "/v2/models/m/versions/1.0/ready",
                                           "/v1/models/m"};
    struct shoal_server *s = calloc(1, sizeof *s);
    enum registry_error why;

    (void)state;
    put("one", "1");
    registry_of_scratch(&s->registry);
    add(&s->registry, "one", "m", "1.0");
    assert_int_equal(get(s, "/v2/health/ready", "\"ready\":true"), 200);
    for (int i = 0; i < 3; i++)
        assert_int_equal(get(s, of_model[i], "\"name\":\"m\",\"ready\":true"), 200);
    ok(registry_scale(&s->registry, "m", NULL, 0, 0, true, &why));
    for (int i = 0; i < 3; i++)
        assert_int_equal(get(s, of_model[i], "\"name\":\"m\",\"ready\":false"), 503);
    ok(registry_scale(&s->registry, "m", NULL, 1, 1, true, &why));
    atomic_store(&s->draining, true);
    assert_int_equal(get(s, "/v2/health/ready", "\"ready\":false"), 503);
    assert_int_equal(get(s, "/v2/health/live", "\"live\":true"), 200);
    for (int i = 0; i < 3; i++)
        assert_int_equal(get(s, of_model[i], "\"ready\":false"), 503);
    atomic_store(&s->draining, false);
    assert_int_equal(get(s, "/v2/models/none/ready", "Model not found: none"), 404);
    assert_int_equal(get(s, "/v2/models/m/versions/7/ready", "does not exist"), 404);
    assert_int_equal(get(s, "/v1/models/none", "Model not found: none"), 404);
    registry_fini(&s->registry);
    unlink(scratch_path(".shoal-serve.state"));
    free(s);
}

static void a_model_whose_file_is_missing_is_not_ready(void **state)
{
    struct shoal_server *s = calloc(1, sizeof *s);

    (void)state;
    registry_of_scratch(&s->registry);
    ok(registry_restore(&s->registry, "missing", "m", "1.0", &settings, true));
    assert_int_equal(get(s, "/v2/models/m/ready", "\"name\":\"m\",\"ready\":false"), 503);
    assert_int_equal(get(s, "/v2/health/ready", "\"ready\":false"), 503);
    registry_fini(&s->registry);
    free(s);
}

static void a_file_written_in_place_is_served_once_two_looks_find_it_the_same(void **state)
{
    struct registry r;

    (void)state;
    put("one", "1");
    registry_of_scratch(&r);
    add(&r, "one", "m", "1.0");
    put_in_place("one", "20"); /* the same file */
    registry_reload(&r);
    assert_int_equal(answer_of(&r, "m", 0), 1);
    put_in_place("one", "300"); /* still being written to */
    registry_reload(&r);
    assert_int_equal(answer_of(&r, "m", 0), 1);
    registry_reload(&r);
    assert_int_equal(answer_of(&r, "m", 0), 300);
    registry_fini(&r);
    unlink(scratch_path(".shoal-serve.state"));
}

static void histograms_count_what_they_are_given(void **state)
{
    struct histogram h = {0};

    (void)state;
    for (int i = 0; i < 99; i++)
        histogram_add(&h, 100e-6);
    histogram_add(&h, 1.0);
    assert_true(histogram_quantile(&h, 0.5, NULL) > 50e-6);
    assert_true(histogram_quantile(&h, 0.5, NULL) < 200e-6);
    assert_true(histogram_quantile(&h, 0.999, NULL) > 0.5);
    histogram_add(&h, -1);
    histogram_add(&h, 1e9);
    assert_int_equal(atomic_load(&h.buckets[0]), 1);
    assert_int_equal(atomic_load(&h.buckets[BUCKETS - 1]), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_registered_model_answers),
        cmocka_unit_test(only_files_of_the_store_itself_are_opened),
        cmocka_unit_test(a_failure_names_the_file_and_no_path),
        cmocka_unit_test(the_first_version_is_the_default_until_another_is_set),
        cmocka_unit_test(a_registry_survives_a_restart),
        cmocka_unit_test(a_model_whose_file_is_missing_is_served_once_it_is_there),
        cmocka_unit_test(a_state_that_was_tampered_with_is_refused),
        cmocka_unit_test(a_replaced_file_is_served_and_the_old_one_ends_with_its_last_request),
        cmocka_unit_test(a_file_that_cannot_be_opened_is_tried_again_once_it_changed),
        cmocka_unit_test(requests_that_wait_are_computed_together),
        cmocka_unit_test(a_full_queue_refuses_and_loses_nothing),
        cmocka_unit_test(a_request_that_waited_too_long_is_not_computed),
        cmocka_unit_test(workers_come_and_go_and_none_means_refusal),
        cmocka_unit_test(a_hundred_replacements_under_load_lose_no_request),
        cmocka_unit_test(readiness_is_said_by_the_status),
        cmocka_unit_test(a_model_whose_file_is_missing_is_not_ready),
        cmocka_unit_test(a_file_written_in_place_is_served_once_two_looks_find_it_the_same),
        cmocka_unit_test(histograms_count_what_they_are_given),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
