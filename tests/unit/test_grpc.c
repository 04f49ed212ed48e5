/* Messages of gRPC from the body to the answer without HTTP/2: what is read, what is answered, and
 * that nothing is held afterwards; and what gRPC writes into header fields. The messages are put
 * together by hand, byte by byte as the protocol has them. */
#include "serve/http/grpc_text.h"
#include "serve/server.h"

#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants some of the above first. */
#include <cmocka.h>

#include "scratch.h"

#define SERVICE "/inference.GRPCInferenceService/"

static struct shoal_server *server;

static void ok(shoal_status st)
{
    if (st != SHOAL_OK)
        fail_msg("%s", shoal_error());
}

static int setup(void **state)
{
    static const char words[] = "3 2\nking 1 0.5\nqueen 2 -1\nfish 0 3\n";
    struct model_settings settings = {.batch_size = 8,
                                      .max_batch_delay = 1,
                                      .queue_size = 20,
                                      .min_workers = 1,
                                      .max_workers = 1,
                                      .response_timeout = 60};
    char spec[200];

    if (scratch_setup(state) != 0)
        return -1;
    scratch_put("words.vec", words, sizeof words - 1);
    server = calloc(1, sizeof *server);
    server->http.max_held = 4 << 20;
    server->http.max_request = 2 << 20;
    server->local = true;
    limiter_init(&server->limiter, 0, 1);
    ok(registry_init(&server->registry, servable_kinds, NULL, NULL, &settings));
    snprintf(spec, sizeof spec, "words=%s", scratch_path("words.vec"));
    ok(registry_add_path(&server->registry, spec));
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

/* ---- messages ------------------------------------------------------------------------------- */

static void put(struct bytes *b, const void *at, size_t len)
{
    ok(bytes_add(b, at, len));
}

static void put_varint(struct bytes *b, uint64_t n)
{
    char byte;

    for (; n > 127; n >>= 7) {
        byte = (char)(n | 128);
        put(b, &byte, 1);
    }
    byte = (char)n;
    put(b, &byte, 1);
}

/* A field with a length: text, bytes, or a message. */
static void put_part(struct bytes *b, unsigned field, const void *at, size_t len)
{
    put_varint(b, field << 3 | 2);
    put_varint(b, len);
    put(b, at, len);
}

static void put_text_part(struct bytes *b, unsigned field, const char *text)
{
    put_part(b, field, text, strlen(text));
}

/* One input of BYTES: its elements with their lengths go to field 7. */
static struct bytes infer(const char *model, int64_t rows, const char *const *words, size_t n)
{
    struct bytes m = {0}, tensor = {0}, shape = {0}, raw = {0};

    put_varint(&shape, (uint64_t)rows);
    put_text_part(&tensor, 1, "words");
    put_text_part(&tensor, 2, "BYTES");
    put_part(&tensor, 3, shape.at, shape.len);
    for (size_t i = 0; i < n; i++) {
        uint32_t len = (uint32_t)strlen(words[i]);

        put(&raw, &len, sizeof len);
        put(&raw, words[i], len);
    }
    put_text_part(&m, 1, model);
    put_text_part(&m, 3, "seven");
    put_part(&m, 5, tensor.at, tensor.len);
    put_part(&m, 7, raw.at ? raw.at : "", raw.len);
    bytes_fini(&tensor);
    bytes_fini(&shape);
    bytes_fini(&raw);
    return m;
}

/* The last field of that number that has a length; NULL: there is none. */
static const char *find_part(const char *at, size_t size, unsigned field, size_t *len)
{
    const char *end = at + size, *found = NULL;

    *len = 0;
    while (at < end) {
        unsigned tag = (unsigned char)*at++;
        uint64_t n = 0;

        for (unsigned shift = 0; at < end; shift += 7) {
            n |= (uint64_t)(*at & 127) << shift;
            if (!(*at++ & 128))
                break;
        }
        if ((tag & 7) != 2)
            continue;
        assert_true(n <= (uint64_t)(end - at));
        if (tag >> 3 == field) {
            found = at;
            *len = (size_t)n;
        }
        at += n;
    }
    return found;
}

/* ---- asking -----------------------------------------------------------------------------------
 */

struct asked {
    struct request q;
    sem_t woken;
    char answer[4096];
    size_t len;
    int status;
};

static void on_wake(struct request *q)
{
    sem_post(&((struct asked *)q->http)->woken);
}

static void run(struct request *q, struct asked *a)
{
    if (!grpc_routes.admit(q))
        return;
    if (grpc_routes.begin(q) == ROUTE_WAITS) {
        grpc_routes.submit(q);
        sem_wait(&a->woken);
        grpc_routes.finish(q);
    }
}

/* Gives the status of HTTP that stands for gRPC's. */
static int ask(struct asked *a, const char *method, const void *body, size_t len, double expires)
{
    struct request *q = &a->q;

    *a = (struct asked){.q = {.server = server,
                              .roles = ROLE_INFERENCE,
                              .method = "POST",
                              .address = method,
                              .wake = on_wake,
                              .http = a,
                              .expires = expires,
                              .began = clock_now()}};
    sem_init(&a->woken, 0, 0);
    ok(request_charge(q, len));
    if (len > 0)
        put(&q->body, body, len);
    run(q, a);
    a->status = q->answer.status;
    a->len = q->answer.body.out.len < sizeof a->answer - 1 ? q->answer.body.out.len
                                                           : sizeof a->answer - 1;
    memcpy(a->answer, a->len ? q->answer.body.out.at : "", a->len);
    a->answer[a->len] = '\0';
    grpc_routes.end(q);
    bytes_fini(&q->body);
    bytes_fini(&q->answer.body.out);
    request_refund(q, SIZE_MAX);
    assert_int_equal(atomic_load(&server->held), 0);
    sem_destroy(&a->woken);
    return a->status;
}

static int ask_words(struct asked *a, const char *model, int64_t rows, const char *const *words,
                     size_t n)
{
    struct bytes m = infer(model, rows, words, n);
    int status = ask(a, SERVICE "ModelInfer", m.at, m.len, 0);

    bytes_fini(&m);
    return status;
}

/* ---- the servable ------------------------------------------------------------------------------
 */

static void words_become_vectors_as_raw_contents(void **state)
{
    static const char *const words[] = {"queen", "fish"};
    static const float want[] = {2, -1, 0, 3};
    struct asked a;
    const char *at;
    size_t len;

    (void)state;
    assert_int_equal(ask_words(&a, "words", 2, words, 2), 200);
    at = find_part(a.answer, a.len, 6, &len);
    assert_int_equal(len, sizeof want);
    assert_memory_equal(at, want, sizeof want);
    at = find_part(a.answer, a.len, 3, &len);
    assert_true(len == 5 && memcmp(at, "seven", 5) == 0);
    at = find_part(a.answer, a.len, 5, &len);
    assert_non_null(at);
    at = find_part(at, len, 1, &len);
    assert_true(len == 7 && memcmp(at, "vectors", 7) == 0);
}

static void what_is_wrong_is_said_in_a_sentence(void **state)
{
    static const char *const words[] = {"queen", "nobody"};
    struct asked a;

    (void)state;
    assert_int_equal(ask_words(&a, "words", 2, words, 2), 404);
    assert_string_equal(a.answer, "'nobody' is not among the 3 words");
    assert_int_equal(ask_words(&a, "none", 1, words, 1), 404);
    assert_int_equal(ask_words(&a, "words", 3, words, 1), 400);
    assert_int_equal(ask_words(&a, "words", -1, words, 1), 400);
    assert_int_equal(ask_words(&a, "words", 0, words, 0), 400);
    assert_int_equal(ask(&a, SERVICE "ModelInfer", "\xff\xff", 2, 0), 400);
    assert_int_equal(ask(&a, SERVICE "ModelInfer", NULL, 0, 0), 404);
    assert_int_equal(ask(&a, SERVICE "Nothing", NULL, 0, 0), 501);
    assert_int_equal(ask(&a, SERVICE "RepositoryIndex", NULL, 0, 0), 403);
    assert_int_equal(ask(&a, SERVICE "ModelReady", "\x0a\xff", 2, 0), 400);
}

/* Each cut of a message is refused or is one itself; nothing is read behind its end. */
static void no_half_message_is_taken_for_a_whole_one(void **state)
{
    static const char *const words[] = {"king"};
    struct bytes m = infer("words", 1, words, 1);
    struct asked a;

    (void)state;
    for (size_t len = 0; len < m.len; len++) {
        char *cut = malloc(len + 1);

        memcpy(cut, m.at, len);
        assert_int_not_equal(ask(&a, SERVICE "ModelInfer", cut, len, 0), 200);
        free(cut);
    }
    assert_int_equal(ask(&a, SERVICE "ModelInfer", m.at, m.len, 0), 200);
    bytes_fini(&m);
}

/* Two bytes each become a hundred: more than a request may hold. */
static void a_message_that_grows_in_memory_is_charged_for_it(void **state)
{
    static const char *const words[] = {"king"};
    struct bytes m = infer("words", 1, words, 1);
    struct asked a;

    (void)state;
    for (int i = 0; i < 100000; i++)
        put(&m, "\x22\x00", 2); /* an empty parameter */
    assert_int_equal(ask(&a, SERVICE "ModelInfer", m.at, m.len, 0), 413);
    bytes_fini(&m);
}

static void flags_and_names_are_answered(void **state)
{
    struct asked a;
    size_t len;

    (void)state;
    assert_int_equal(ask(&a, SERVICE "ServerLive", NULL, 0, 0), 200);
    assert_memory_equal(a.answer, "\x08\x01", 2);
    assert_int_equal(ask(&a, SERVICE "ModelReady", "\x0a\x05words", 7, 0), 200);
    assert_memory_equal(a.answer, "\x08\x01", 2);
    assert_int_equal(ask(&a, "/grpc.health.v1.Health/Check", NULL, 0, 0), 200);
    assert_memory_equal(a.answer, "\x08\x01", 2);
    atomic_store(&server->draining, true);
    assert_int_equal(ask(&a, "/grpc.health.v1.Health/Check", NULL, 0, 0), 200);
    assert_memory_equal(a.answer, "\x08\x02", 2);
    assert_int_equal(ask(&a, SERVICE "ServerReady", NULL, 0, 0), 200);
    assert_int_equal(a.len, 0); /* false is left out */
    atomic_store(&server->draining, false);
    assert_int_equal(ask(&a, SERVICE "ModelMetadata", "\x0a\x05words", 7, 0), 200);
    assert_non_null(find_part(a.answer, a.len, 4, &len));
    assert_int_equal(ask(&a, SERVICE "ModelStatistics", "\x12\x03" "1.0", 5, 0), 404); /* of nobody */
    assert_int_equal(ask(&a, SERVICE "ModelStatistics", "\x0a\x05words", 7, 0), 200);
    assert_non_null(find_part(a.answer, a.len, 1, &len));
}

/* ---- fields
 * -------------------------------------------------------------------------------------- */

static void a_timeout_has_digits_and_a_unit(void **state)
{
    static const struct {
        const char *text;
        double seconds;
    } cases[] = {
        {"250m", 0.25}, {"1S", 1},   {"2M", 120},       {"1H", 3600}, {"99999999n", 0.099999999},
        {"5u", 5e-6},   {"", -1},    {"S", -1},         {"1", -1},    {"1x", -1},
        {"-1S", -1},    {"1 S", -1}, {"123456789S", -1}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double found = grpc_timeout(cases[i].text, strlen(cases[i].text));

        if (found < cases[i].seconds - 1e-9 || found > cases[i].seconds + 1e-9)
            fail_msg("%s: %g", cases[i].text, found);
    }
}

static void a_message_for_a_field_is_plain_text(void **state)
{
    char out[GRPC_MESSAGE_MAX], long_text[4000];
    size_t n = grpc_message(out, "100% \xc3\xa9\n", 8);

    (void)state;
    assert_int_equal(n, 16);
    assert_memory_equal(out, "100%25 %C3%A9%0A", 16);
    memset(long_text, 1, sizeof long_text);
    assert_true(grpc_message(out, long_text, sizeof long_text) <= GRPC_MESSAGE_MAX);
}

static void a_prefix_says_how_long_a_message_is(void **state)
{
    char prefix[GRPC_PREFIX];
    int status;

    (void)state;
    grpc_prefix(prefix, 0x01020304);
    assert_memory_equal(prefix, "\0\1\2\3\4", 5);
    assert_null(grpc_check(prefix, 5, 0x01020304, &status));
    assert_non_null(grpc_check(prefix, 5, 0x01020303, &status));
    assert_int_equal(status, 400);
    assert_non_null(grpc_check(prefix, 4, 0, &status));
    prefix[0] = 1;
    assert_non_null(grpc_check(prefix, 5, 0x01020304, &status));
    assert_int_equal(status, 501);
}

static void each_status_of_http_has_one_of_grpc(void **state)
{
    static const int pairs[][2] = {{200, 0}, {400, 3},  {401, 16}, {404, 5},  {408, 4}, {413, 8},
                                   {429, 8}, {501, 12}, {503, 14}, {500, 13}, {999, 13}};

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_int_equal(grpc_status(pairs[i][0]), pairs[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_become_vectors_as_raw_contents),
        cmocka_unit_test(what_is_wrong_is_said_in_a_sentence),
        cmocka_unit_test(no_half_message_is_taken_for_a_whole_one),
        cmocka_unit_test(a_message_that_grows_in_memory_is_charged_for_it),
        cmocka_unit_test(flags_and_names_are_answered),
        cmocka_unit_test(a_timeout_has_digits_and_a_unit),
        cmocka_unit_test(a_message_for_a_field_is_plain_text),
        cmocka_unit_test(a_prefix_says_how_long_a_message_is),
        cmocka_unit_test(each_status_of_http_has_one_of_grpc),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
