/* What requests become: from the body to the answer without HTTP, one request after the
 * other, and after each of them nothing is held any more. */
#include "samples/samples.h"
#include "serve/server.h"

#include <malloc.h>
#include <math.h>
#include <png.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
/* cmocka wants some of the above first. */
#include <cmocka.h>

#include "scratch.h"

#include "training.h"
#include "logreg.h"

#define MIB ((uint64_t)1 << 20)

static struct shoal_server *server;

static void ok(shoal_status st)
{
    if (st != SHOAL_OK)
        fail_msg("%s", shoal_error());
}

/* ---- models ------------------------------------------------------------------------------- */

static void put_words(void)
{
    struct bytes b = {0};
    char line[64];

    text_add_str(&b, "2000 3\n\xff\xc3\xa9\xed\xa0\x80 1 0 0\n");
    for (int i = 1; i < 2000; i++) {
        snprintf(line, sizeof line, "w%d %d %d 1\n", i, i % 7, i % 11);
        text_add_str(&b, line);
    }
    scratch_put("words.vec", b.at, b.len);
    bytes_fini(&b);
}

static void put_clicks(const char *name, const char *rows)
{
    struct train_opts o = logreg_opts(OPTIMIZER_FTRL);
    shoal_clicks *read = read_rows(rows, 12);
    shoal_logreg *model = train_rows(read, NULL, &o, NULL);

    ok(logreg_save(model, scratch_path(name), NULL));
    logreg_close(model);
    shoal_clicks_close(read);
}

static void put_mlp(void)
{
    static const char rows[] = "0.5,1,0\n-0.5,1,1\n0.25,2,0\n-1,2,1\n0.5,3,0\n-0.5,3,1\n";
    struct shoal_samples_opts read = shoal_samples_default();
    struct train_opts o = task_defaults("mlp");
    shoal_samples *samples;
    shoal_net *net;

    scratch_put("rows.csv", rows, sizeof rows - 1);
    ok(shoal_samples_open(&samples, scratch_path("rows.csv"), &read));
    o.layers = "4";
    o.epochs = 1;
    o.threads = 1;
    ok(train_mlp(&net, samples, NULL, &o, NULL));
    ok(shoal_net_save(net, scratch_path("mlp.shoal")));
    shoal_net_close(net);
    shoal_samples_close(samples);
}

/* A flat PNG, for free(). */
static char *png_of(size_t *len, unsigned width, unsigned height)
{
    png_image image = {.version = PNG_IMAGE_VERSION, .width = width, .height = height};
    uint8_t *at = calloc((size_t)width * height, 1);
    char *data;

    image.format = PNG_FORMAT_GRAY;
    *len = PNG_IMAGE_PNG_SIZE_MAX(image);
    data = malloc(*len);
    assert_true(png_image_write_to_memory(&image, data, len, 0, at, 0, NULL));
    free(at);
    return data;
}

static void put_vgg(void)
{
    struct shoal_images_opts read = shoal_images_default();
    struct train_opts o = task_defaults("vgg");
    shoal_images *images;
    shoal_net *net;

    mkdir(scratch_path("set"), 0700);
    for (int i = 0; i < 8; i++) {
        char name[32];
        size_t len;
        char *png = png_of(&len, 9, 10);

        snprintf(name, sizeof name, "set/%c", 'a' + i % 2);
        mkdir(scratch_path(name), 0700);
        snprintf(name, sizeof name, "set/%c/%d.png", 'a' + i % 2, i);
        scratch_put(name, png, len);
        free(png);
    }
    read.size = 8;
    ok(shoal_images_open(&images, scratch_path("set"), &read));
    o.base = 16;
    o.epochs = 1;
    o.threads = 1;
    ok(train_vgg(&net, images, NULL, &o, NULL));
    ok(shoal_net_save(net, scratch_path("vgg.shoal")));
    shoal_net_close(net);
    shoal_images_close(images);
}

static void limits_usual(void)
{
    server->http.max_held = 256 * MIB;
    server->http.max_request = 128 * MIB;
}

static int setup(void **state)
{
    static const char *const specs[] = {"words=words.vec", "svm=svm.shoal", "vw=vw.shoal",
                                        "mlp=mlp.shoal", "vgg=vgg.shoal"};
    struct model_settings settings = {.batch_size = 8,
                                      .max_batch_delay = 1,
                                      .queue_size = 20,
                                      .min_workers = 1,
                                      .max_workers = 1,
                                      .response_timeout = 60};

    if (scratch_setup(state) != 0)
        return -1;
    put_words();
    put_clicks("svm.shoal", "1 3:1 17:0.5\n0 3:2 5:1\n1 17:1\n0 5:1\n");
    put_clicks("vw.shoal", "1 |a x y\n-1 | red:2 blue\n1 | red\n-1 |a y\n");
    put_mlp();
    put_vgg();
    server = calloc(1, sizeof *server);
    limits_usual();
    server->local = true;
    limiter_init(&server->limiter, 0, 1);
    ok(registry_init(&server->registry, servable_kinds, NULL, NULL, &settings));
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        const char *equals = strchr(specs[i], '=');
        char spec[200];

        snprintf(spec, sizeof spec, "%.*s=%s", (int)(equals - specs[i]), specs[i],
                 scratch_path(equals + 1));
        ok(registry_add_path(&server->registry, spec));
    }
    ok(readers_new(&server->readers, 1));
    return 0;
}

static int teardown(void **state)
{
    readers_close(server->readers);
    registry_close(&server->registry);
    readers_free(server->readers);
    registry_fini(&server->registry);
    limiter_fini(&server->limiter);
    free(server);
    return scratch_teardown(state);
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct asked {
    struct request q;
    sem_t woken;
    bool waited;  /* the event loop handed it on */
    bool written; /* and got it back with its answer */
    char text[600];
};

static void on_wake(struct request *q)
{
    sem_post(&((struct asked *)q->http)->woken);
}

static void asked_init(struct asked *a, const char *method, const char *address, const char *type,
                       const char *body, size_t len)
{
    *a = (struct asked){.q = {.server = server,
                              .roles = ROLE_INFERENCE,
                              .method = method,
                              .address = address,
                              .content_type = type,
                              .wake = on_wake,
                              .http = a,
                              .began = clock_now()}};
    sem_init(&a->woken, 0, 0);
    ok(request_charge(&a->q, len));
    ok(bytes_add(&a->q.body, body, len));
}

/* As HTTP goes through a request; gives the status. */
static int asked_run(struct asked *a)
{
    struct request *q = &a->q;

    if (!route_admit(q))
        return q->answer.status;
    a->waited = route_begin(q) == ROUTE_WAITS;
    if (a->waited) {
        route_submit(q);
        sem_wait(&a->woken);
        a->written = q->answer.status != 0;
        route_finish(q);
    }
    assert_false(q->answer.body.failed);
    if (q->answer.status == 200) /* what waits to be sent, and no more */
        assert_true(q->held <= q->body.len + q->answer.body.out.cap);
    return q->answer.status;
}

static void asked_fini(struct asked *a)
{
    const struct bytes *out = &a->q.answer.body.out;
    size_t n = out->len < sizeof a->text - 1 ? out->len : sizeof a->text - 1;

    memcpy(a->text, out->len ? out->at : "", n);
    a->text[n] = '\0';
    route_end(&a->q);
    bytes_fini(&a->q.body);
    bytes_fini(&a->q.answer.body.out);
    assert_int_equal(a->q.held, 0);
    assert_int_equal(atomic_load(&server->held), 0);
    sem_destroy(&a->woken);
}

static int ask(struct asked *a, const char *method, const char *address, const char *type,
               const char *body, size_t len)
{
    int status;

    asked_init(a, method, address, type, body, len);
    status = asked_run(a);
    asked_fini(a);
    return status;
}

static int post(struct asked *a, const char *address, const char *body)
{
    return ask(a, "POST", address, "application/json", body, strlen(body));
}

static int get(struct asked *a, const char *address)
{
    return ask(a, "GET", address, NULL, "", 0);
}

static void assert_says(const struct asked *a, const char *part)
{
    if (!strstr(a->text, part))
        fail_msg("\"%s\" does not say \"%s\"", a->text, part);
}

/* ---- what is given back ------------------------------------------------------------------------
 */

static void what_a_request_held_is_given_back_whatever_became_of_it(void **state)
{
    static const struct {
        const char *address, *body;
        int status;
    } cases[] = {
        {"/predictions/words", "{\"word\": \"w5\", \"k\": 3}", 200},
        {"/predictions/words", "{\"words\": [\"w1\", \"w2\", \"nobody\"]}", 404},
        {"/predictions/words", "{\"words\": [\"w1\", \"w2\"], \"vectors\": true}", 200},
        {"/predictions/words", "{\"word\": \"w5\", \"k\": 1000}", 200},
        {"/predictions/words", "{\"a\": \"w1\", \"b\": \"w2\", \"c\": \"w3\"}", 200},
        {"/predictions/words", "[", 400},
        {"/predictions/words", "", 400},
        {"/predictions/svm", "{\"3\": 1, \"17\": 0.5}", 200},
        {"/predictions/svm", "{\"rows\": [\"3:1 17:1\", \"5:1\"]}", 200},
        {"/predictions/svm", "{\"rows\": [\"3:1\", \"x\"]}", 400},
        {"/predictions/svm", "{\"x\": 1}", 400},
        {"/predictions/mlp", "[0.5, 1]", 200},
        {"/predictions/mlp", "{\"instances\": [[0.5, 1], [1, 2]]}", 200},
        {"/predictions/mlp", "[[0.5, 1], [1, 2, 3]]", 400},
        {"/predictions/mlp", "[1, 2, 3]", 400},
        {"/predictions/vgg", "{\"instances\": [{\"b64\": \"AAAA\"}]}", 400},
        {"/predictions/none", "[1]", 404},
        {"/v2/models/mlp/infer",
         "{\"id\": \"x\", \"inputs\": [{\"name\": \"i\", \"shape\": [2, 2], \"datatype\": "
         "\"FP32\", "
         "\"data\": [1, 2, 3, 4]}]}",
         200},
        {"/v2/models/mlp/infer",
         "{\"inputs\": [{\"shape\": [2, 2], \"datatype\": \"FP32\", \"data\": [1, 2, 3, 4, 5]}]}",
         400},
        {"/v2/models/mlp/infer",
         "{\"inputs\": [{\"shape\": [50000000, 2], \"datatype\": \"FP32\", \"data\": [1]}]}", 400},
        {"/v2/models/words/infer",
         "{\"inputs\": [{\"shape\": [2], \"datatype\": \"BYTES\", \"data\": [\"w1\", \"w2\"]}]}",
         200},
        {"/v2/models/words/infer",
         "{\"inputs\": [{\"shape\": [1], \"datatype\": \"BYTES\", \"data\": [\"nobody\"]}]}", 404},
    };
    struct asked a;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = post(&a, cases[i].address, cases[i].body);

        if (status != cases[i].status)
            fail_msg("%s %s: %d, want %d: %s", cases[i].address, cases[i].body, status,
                     cases[i].status, a.text);
    }
    assert_int_equal(get(&a, "/models/words/similar?word=w7&k=1000"), 200);
    assert_int_equal(get(&a, "/models/words/map?word=w7"), 200);
    assert_int_equal(get(&a, "/models/words/vector?word=nobody"), 404);
    assert_int_equal(get(&a, "/models/mlp/similar?word=w7"), 404);
    assert_int_equal(get(&a, "/ping"), 200);
    assert_int_equal(
        ask(&a, "POST", "/predictions/mlp", "application/x-www-form-urlencoded", "data=1,2", 8),
        200);
}

/* A multipart body of n parts alike. */
static struct bytes parts_of(const char *part, size_t len, size_t n)
{
    struct bytes b = {0};

    for (size_t i = 0; i < n; i++) {
        text_add_str(&b, "--B\r\nContent-Type: image/png\r\n\r\n");
        ok(bytes_add(&b, part, len));
        text_add_str(&b, "\r\n");
    }
    text_add_str(&b, "--B--\r\n");
    return b;
}

static int post_pictures(struct asked *a, unsigned side, size_t n)
{
    size_t len;
    char *png = png_of(&len, side, side);
    struct bytes body = parts_of(png, len, n);
    int status =
        ask(a, "POST", "/predictions/vgg", "multipart/form-data; boundary=B", body.at, body.len);

    bytes_fini(&body);
    free(png);
    return status;
}

/* ---- budgets -----------------------------------------------------------------------------------
 */

static void samples_beyond_the_budget_are_refused(void **state)
{
    struct asked a;

    (void)state;
    assert_int_equal(post_pictures(&a, 1, 60), 200);
    server->http.max_request = 30000; /* a sample of 3 x 8 x 8 floats takes a good 768 bytes */
    assert_int_equal(post_pictures(&a, 1, 60), 413);
    assert_says(&a, "The request becomes more than the 30000 bytes");
    limits_usual();
}

static void a_picture_is_charged_before_it_is_decoded(void **state)
{
    struct asked a;

    (void)state;
    server->http.max_request = 2 * MIB;
    assert_int_equal(post_pictures(&a, 200, 1), 200);
    assert_int_equal(post_pictures(&a, 2000, 1), 413); /* 12 MB of pixels in a few kilobytes */
    assert_true(a.waited);
    limits_usual();
}

static void pixels_of_all_pictures_together_have_a_limit(void **state)
{
    struct request q = {.server = server};

    (void)state;
    assert_int_equal(request_charge_pixels(&q, REQUEST_PIXELS - 1), SHOAL_OK);
    assert_int_equal(request_charge_pixels(&q, 1), SHOAL_OK);
    assert_int_equal(request_charge_pixels(&q, 1), SHOAL_ELIMIT);
    assert_int_equal(q.over, 413);
}

static void a_picture_beyond_all_limits_is_too_large(void **state)
{
    struct asked a;
    size_t len;
    char *png = png_of(&len, 1, PICTURE_MAX_SIDE + 1);

    (void)state;
    assert_int_equal(ask(&a, "POST", "/predictions/vgg", "image/png", png, len), 413);
    free(png);
}

static void json_that_would_become_much_more_is_refused_unread(void **state)
{
    struct bytes b = {0};
    struct asked a;

    (void)state;
    text_add_str(&b, "[");
    text_add_many(&b, "{},", 500000);
    text_add_str(&b, "{}]");
    assert_int_equal(ask(&a, "POST", "/predictions/mlp", "application/json", b.at, b.len), 413);
    assert_int_equal(ask(&a, "POST", "/v2/models/mlp/infer", "application/json", b.at, b.len), 413);
    bytes_fini(&b);
}

static void sensible_json_of_a_whole_body_is_within_the_budget(void **state)
{
    struct shoal_serve_opts o = shoal_serve_default();
    struct bytes b = {0};

    (void)state;
    text_add_many(&b, "128,", o.max_body / 4); /* pixels */
    assert_true(tree_cost(b.at, b.len) + 4 * b.len < 128 * MIB);
    b.len = 0;
    text_add_many(&b, "\"some words of text\",", o.max_body / 21);
    assert_true(tree_cost(b.at, b.len) + 4 * b.len < 128 * MIB);
    bytes_fini(&b);
}

/* What malloc has given out, where it is glibc's own. */
static size_t given_out(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

static void no_json_takes_more_than_it_is_charged_for(void **state)
{
    static const char *const units[] = {
        "{},",        "[],",
        "1,",         "1.5,",
        "\"\",",      "\"a\",",
        "{\"a\":1},", "[[]],",
        "null,",      "\"\\u00e9\\n0123456789012345678901234567890123456789\","};

    (void)state;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        for (size_t n = 1; n < 70000; n = n * 3 + 1) {
            struct bytes b = {0};
            struct tree *t;
            size_t before, taken;

            text_add_str(&b, "[");
            text_add_many(&b, units[i], n);
            text_add_str(&b, "0]");
            before = given_out();
            ok(tree_parse(&t, b.at, b.len));
            taken = given_out() - before;
            if (taken > tree_cost(b.at, b.len))
                fail_msg("%zu times %s takes %zu, charged %zu", n, units[i], taken,
                         tree_cost(b.at, b.len));
            tree_free(t);
            bytes_fini(&b);
        }
    }
}

static void an_object_of_many_members_is_charged_for_them(void **state)
{
    struct bytes b = {0};
    struct tree *t;
    size_t before;
    char member[32];

    (void)state;
    text_add_str(&b, "{");
    for (int i = 0; i < 40000; i++) {
        snprintf(member, sizeof member, "%s\"%x\":1", i ? "," : "", i);
        text_add_str(&b, member);
    }
    text_add_str(&b, "}");
    before = given_out();
    ok(tree_parse(&t, b.at, b.len));
    assert_true(given_out() - before <= tree_cost(b.at, b.len));
    tree_free(t);
    bytes_fini(&b);
}

/* [{"word": "w1", "k": 1000}, ...] */
static struct bytes words_of(size_t n)
{
    struct bytes b = {0};

    text_add_str(&b, "[");
    text_add_many(&b, "{\"word\":\"w1\",\"k\":1000},", n - 1);
    text_add_str(&b, "{\"word\":\"w1\",\"k\":1000}]");
    return b;
}

static void an_answer_beyond_the_budget_is_not_computed(void **state)
{
    struct lease lease;
    enum registry_error why;
    struct bytes b = words_of(4096);
    uint64_t inputs;
    struct asked a;

    (void)state;
    ok(registry_lease(&server->registry, "words", NULL, &lease, &why));
    inputs = atomic_load(&lease.version->tally.inputs);
    assert_int_equal(ask(&a, "POST", "/predictions/words", "application/json", b.at, b.len), 413);
    assert_int_equal(atomic_load(&lease.version->tally.inputs), inputs);
    lease_end(&lease);
    bytes_fini(&b);
}

static void a_writer_stops_where_its_account_does(void **state)
{
    struct request q = {.server = server};
    struct writer w = {.payer = &q, .paid = 10};

    (void)state;
    server->http.max_request = 1000;
    put_text(&w, "12345678");
    assert_int_equal(q.held, 0);
    for (int i = 0; i < 100; i++)
        put_text(&w, "0123456789");
    assert_true(w.failed);
    assert_int_equal(q.over, 413);
    assert_true(w.out.len <= 1010 && q.held <= 1000);
    request_refund(&q, SIZE_MAX);
    bytes_fini(&w.out);
    limits_usual();
}

static void a_large_answer_is_written_by_a_worker(void **state)
{
    struct bytes b = words_of(50);
    struct asked a;

    (void)state;
    assert_int_equal(ask(&a, "POST", "/predictions/words", "application/json", b.at, b.len), 200);
    assert_true(a.waited && a.written);
    bytes_fini(&b);
}

static void large_requests_leave_room_for_small_ones(void **state)
{
    struct request first = {.server = server}, second = {.server = server},
                   small = {.server = server};

    (void)state;
    ok(request_charge(&first, 120 * MIB));
    assert_int_equal(request_charge(&second, 73 * MIB), SHOAL_ELIMIT);
    assert_int_equal(second.over, 503);
    ok(request_charge(&second, 72 * MIB));
    ok(request_charge(&small, 60000));
    assert_int_equal(request_charge(&small, 60000), SHOAL_ELIMIT);
    assert_int_equal(small.over, 503);
    assert_int_equal(request_charge(&first, 9 * MIB), SHOAL_ELIMIT);
    assert_int_equal(first.over, 413);
    request_refund(&first, SIZE_MAX);
    request_refund(&second, SIZE_MAX);
    request_refund(&small, SIZE_MAX);
    assert_int_equal(atomic_load(&server->held), 0);
}

/* ---- who reads
 * ------------------------------------------------------------------------------------ */

static void small_requests_are_read_at_once_and_heavy_ones_by_workers(void **state)
{
    struct bytes b = {0};
    struct asked a;

    (void)state;
    assert_int_equal(post(&a, "/predictions/mlp", "[0.5, 1]"), 200);
    assert_false(a.waited);
    assert_int_equal(post(&a, "/predictions/svm", "{\"3\": 1}"), 200);
    assert_false(a.waited);
    assert_int_equal(get(&a, "/models/words/vector?word=w3"), 200);
    assert_false(a.waited);
    assert_int_equal(get(&a, "/models/words/vector?word=w1234x"), 404); /* spellings */
    assert_true(a.waited && a.written);
    assert_says(&a, "did you mean");
    assert_int_equal(post_pictures(&a, 1, 1), 200);
    assert_true(a.waited);
    text_add_str(&b, "[0.5, 1"); /* of one input, but large */
    text_add_many(&b, " ", 10000);
    text_add_str(&b, "]");
    assert_int_equal(ask(&a, "POST", "/predictions/mlp", "application/json", b.at, b.len), 200);
    assert_true(a.waited);
    b.len = 0;
    text_add_str(&b, "[[1,1]"); /* small, but of many inputs */
    text_add_many(&b, ",[1,1]", 100);
    text_add_str(&b, "]");
    assert_int_equal(ask(&a, "POST", "/predictions/mlp", "application/json", b.at, b.len), 200);
    assert_true(a.waited);
    bytes_fini(&b);
}

static void nobody_reads_for_a_client_that_left_or_waited_too_long(void **state)
{
    struct bytes body = words_of(200); /* over what is read at once */
    struct asked a;

    (void)state;
    asked_init(&a, "POST", "/predictions/words", "application/json", body.at, body.len);
    atomic_store(&a.q.job.abandoned, true);
    assert_int_equal(asked_run(&a), 408);
    asked_fini(&a);
    asked_init(&a, "POST", "/predictions/words", "application/json", body.at, body.len);
    a.q.began -= 100;
    assert_int_equal(asked_run(&a), 408);
    asked_fini(&a);
    bytes_fini(&body);
}

static void managing_does_not_hold_up_predictions_of_the_same_listener(void **state)
{
    struct asked a;

    (void)state;
    asked_init(&a, "PUT", "/models/mlp?min_worker=2", NULL, "", 0);
    a.q.roles = ROLE_INFERENCE | ROLE_MANAGEMENT;
    assert_int_equal(asked_run(&a), 202);
    assert_true(a.waited);
    asked_fini(&a);
    asked_init(&a, "PUT", "/models/mlp?min_worker=1", NULL, "", 0);
    a.q.roles = ROLE_MANAGEMENT;
    assert_int_equal(asked_run(&a), 202);
    assert_false(a.waited);
    asked_fini(&a);
}

/* ---- the readers' queue
 * ------------------------------------------------------------------------------ */

static sem_t gate, begun;

static void stand_at_gate(struct request *q)
{
    sem_post(&begun);
    sem_wait(&gate);
    q->wake(q);
}

static void wake_only(struct request *q)
{
    q->wake(q);
}

static void *close_readers(void *r)
{
    readers_close(r);
    return NULL;
}

static void a_full_queue_refuses_and_its_end_wakes_all(void **state)
{
    enum { MANY = 1500 };
    struct asked *all = calloc(MANY, sizeof *all);
    struct readers *r;
    pthread_t closing;
    size_t taken = 0;

    (void)state;
    sem_init(&gate, 0, 0);
    sem_init(&begun, 0, 0);
    ok(readers_new(&r, 1));
    for (size_t i = 0; i < MANY; i++) {
        asked_init(&all[i], "GET", "/", NULL, "", 0);
        all[i].q.work = i == 0 ? stand_at_gate : wake_only;
    }
    ok(readers_add(r, &all[taken++].q, false));
    sem_wait(&begun);
    while (taken < MANY && readers_add(r, &all[taken].q, false) == SHOAL_OK)
        taken++;
    assert_int_equal(taken, 1 + 1024);
    assert_int_equal(readers_add(r, &all[taken].q, false), SHOAL_ELIMIT);
    ok(readers_add(r, &all[taken++].q, true)); /* what was computed is not lost */
    assert_int_equal(pthread_create(&closing, NULL, close_readers, r), 0);
    while (readers_add(r, &all[taken].q, false) != SHOAL_ESTOP)
        sched_yield(); /* until it is closed, with the reader at the gate */
    sem_post(&gate);
    pthread_join(closing, NULL);
    assert_int_equal(readers_add(r, &all[taken].q, true), SHOAL_ESTOP);
    for (size_t i = 0; i < taken; i++) {
        assert_int_equal(sem_trywait(&all[i].woken), 0);
        assert_int_not_equal(sem_trywait(&all[i].woken), 0);
        assert_int_equal(all[i].q.answer.status, i == 0 ? 0 : 503);
    }
    for (size_t i = 0; i < MANY; i++)
        asked_fini(&all[i]);
    readers_free(r);
    sem_destroy(&gate);
    sem_destroy(&begun);
    free(all);
}

/* ---- bytes that mean something else
 * --------------------------------------------------------------------- */

static void a_body_is_never_decompressed(void **state)
{
    /* 1 MB of newlines by zstd, and "3:1" by gzip. */
    static const char zstd[] =
        "\x28\xb5\x2f\xfd\x04\x58\x54\x00\x00\x10\x0a\x0a\x01\x00\xfb\xff\x39\xc0"
        "\x02\x02\x00\x10\x0a\x02\x00\x10\x0a\x02\x00\x10\x0a\x02\x00\x10\x0a\x02"
        "\x00\x10\x0a\x02\x00\x10\x0a\x03\x12\x0a\x0a\x86\x4a\x11\x17";
    static const char gzip[] =
        "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x33\xb6\x32\x04\x00\x98\x5c\x1b"
        "\xad\x03\x00\x00\x00";
    struct asked a;

    (void)state;
    assert_int_equal(ask(&a, "POST", "/predictions/svm", NULL, zstd, sizeof zstd - 1), 400);
    assert_says(&a, "body:1: ");
    assert_int_equal(ask(&a, "POST", "/predictions/svm", NULL, gzip, sizeof gzip - 1), 400);
    assert_says(&a, "body:1: ");
}

static void features_as_json_are_those_of_text(void **state)
{
    struct asked text, json;

    (void)state;
    assert_int_equal(ask(&text, "POST", "/predictions/svm", NULL, "3:1.5 17:0.25", 13), 200);
    assert_int_equal(post(&json, "/predictions/svm", "{\"3\": 1.5, \"17\": 0.25, \"5\": 0}"), 200);
    assert_string_equal(json.text, text.text);
    assert_int_equal(post(&json, "/predictions/svm", "{\"features\": {\"17\": 0.25, \"3\": 1.5}}"),
                     200);
    assert_string_equal(json.text, text.text);
    assert_int_equal(ask(&text, "POST", "/predictions/vw", NULL, "| red:2 blue", 12), 200);
    assert_int_equal(post(&json, "/predictions/vw", "{\"red\": 2, \"blue\": 1}"), 200);
    assert_string_equal(json.text, text.text);
    assert_int_equal(post(&json, "/predictions/svm", "{\"red\": 2}"), 400);
    assert_says(&json, "found \\\"red\\\", want the index of a feature");
    assert_int_equal(post(&json, "/predictions/vw", "{\"a b\": 2}"), 400);
    assert_int_equal(post(&json, "/predictions/vw", "{\"a\": 1e300}"), 400);
    assert_int_equal(post(&json, "/predictions/vw", "{\"a\": \"1\"}"), 400);
}

static void answers_are_utf8_whatever_words_and_addresses_hold(void **state)
{
    struct asked a;

    (void)state;
    assert_int_equal(get(&a, "/models/words/similar?word=%ffnobody"), 404);
    assert_says(&a, "'\xef\xbf\xbdnobody' is not among");
    assert_int_equal(get(&a, "/models/words/vector?word=%ff%c3%a9%ed%a0%80"), 200);
    assert_says(&a, "\"word\":\"\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_request_held_is_given_back_whatever_became_of_it),
        cmocka_unit_test(samples_beyond_the_budget_are_refused),
        cmocka_unit_test(a_picture_is_charged_before_it_is_decoded),
        cmocka_unit_test(pixels_of_all_pictures_together_have_a_limit),
        cmocka_unit_test(a_picture_beyond_all_limits_is_too_large),
        cmocka_unit_test(json_that_would_become_much_more_is_refused_unread),
        cmocka_unit_test(sensible_json_of_a_whole_body_is_within_the_budget),
        cmocka_unit_test(no_json_takes_more_than_it_is_charged_for),
        cmocka_unit_test(an_object_of_many_members_is_charged_for_them),
        cmocka_unit_test(an_answer_beyond_the_budget_is_not_computed),
        cmocka_unit_test(a_writer_stops_where_its_account_does),
        cmocka_unit_test(a_large_answer_is_written_by_a_worker),
        cmocka_unit_test(large_requests_leave_room_for_small_ones),
        cmocka_unit_test(small_requests_are_read_at_once_and_heavy_ones_by_workers),
        cmocka_unit_test(nobody_reads_for_a_client_that_left_or_waited_too_long),
        cmocka_unit_test(managing_does_not_hold_up_predictions_of_the_same_listener),
        cmocka_unit_test(a_full_queue_refuses_and_its_end_wakes_all),
        cmocka_unit_test(a_body_is_never_decompressed),
        cmocka_unit_test(features_as_json_are_those_of_text),
        cmocka_unit_test(answers_are_utf8_whatever_words_and_addresses_hold),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
