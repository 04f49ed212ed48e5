/* What strangers send: addresses, bodies, tokens; and what is written back. */
#include "serve/limits.h"
#include "eval/eval.h"
#include "serve/models/registry.h"
#include "serve/parse.h"
#include "serve/serve.h"
#include "serve/server.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants some of the above first. */
#include <cmocka.h>

/* ---- addresses ------------------------------------------------------------------------------- */

static void an_address_is_split_and_decoded(void **state)
{
    struct query q;

    (void)state;
    assert_int_equal(query_init(&q, "//models/a%20b/?word=caf%C3%A9+au&k=5&&flag&x=1=2#end"),
                     SHOAL_OK);
    assert_int_equal(q.nsegments, 2);
    assert_string_equal(q.segments[0], "models");
    assert_string_equal(q.segments[1], "a b");
    assert_string_equal(query_get(&q, "word"), "café au");
    assert_string_equal(query_get(&q, "k"), "5");
    assert_string_equal(query_get(&q, "flag"), "");
    assert_string_equal(query_get(&q, "x"), "1=2");
    assert_null(query_get(&q, "end"));
    query_fini(&q);
}

static void a_bad_escape_a_nul_and_a_control_character_are_refused(void **state)
{
    static const char *const bad[] = {"/%", "/%4", "/%zz", "/a%00b", "/?a=%0a", "/?%7f=1", "/\x01"};
    struct query q;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(query_init(&q, bad[i]), SHOAL_EINVAL);
        query_fini(&q);
    }
}

static void an_address_of_many_parts_is_refused(void **state)
{
    char long_one[512] = "";
    struct query q;

    (void)state;
    assert_int_equal(query_init(&q, "/a/b/c/d/e/f/g/h/i"), SHOAL_EINVAL);
    query_fini(&q);
    strcat(long_one, "/?");
    for (int i = 0; i < QUERY_FIELDS + 1; i++)
        strcat(long_one, "a=1&");
    assert_int_equal(query_init(&q, long_one), SHOAL_EINVAL);
    query_fini(&q);
}

static void a_number_of_an_address_is_whole_and_within_its_range(void **state)
{
    struct query q;
    uint64_t n = 7;

    (void)state;
    assert_int_equal(query_init(&q, "/?a=12&b=-1&c=1e3&d=&e=99999999999999999999&f=0"), SHOAL_OK);
    assert_int_equal(query_u64(&q, "a", 1, 20, &n), SHOAL_OK);
    assert_int_equal(n, 12);
    assert_int_equal(query_u64(&q, "none", 1, 20, &n), SHOAL_OK);
    assert_int_equal(n, 12);
    for (const char *key = "bcdef"; *key; key++) {
        char name[2] = {*key, '\0'};

        assert_int_equal(query_u64(&q, name, 1, 20, &n), SHOAL_EINVAL);
    }
    assert_int_equal(n, 12);
    query_fini(&q);
}

/* ---- multipart -------------------------------------------------------------------------------- */

#define TYPE "multipart/form-data; boundary=XX"

static void a_multipart_body_is_its_parts(void **state)
{
    static const char body[] = "preamble\r\n--XX\r\nContent-Disposition: form-data; name=\"data\"; "
                               "filename=\"k.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n"
                               "\xff\xd8--XX\r\n\r\n--XX\r\ncontent-disposition: form-data; "
                               "name=b\r\n\r\nxyz\r\n--XX--\r\n";
    struct part parts[PARTS_MAX];
    size_t n;

    (void)state;
    assert_int_equal(multipart_parse(parts, &n, TYPE, body, sizeof body - 1), SHOAL_OK);
    assert_int_equal(n, 2);
    assert_string_equal(parts[0].name, "data");
    assert_string_equal(parts[0].type, "image/jpeg");
    assert_int_equal(parts[0].len, 8);
    assert_memory_equal(parts[0].at, "\xff\xd8--XX\r\n", 8);
    assert_string_equal(parts[1].name, "b");
    assert_int_equal(parts[1].len, 3);
}

static void a_multipart_body_cut_anywhere_is_refused(void **state)
{
    static const char body[] =
        "--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n--XX--";
    struct part parts[PARTS_MAX];
    size_t n;

    (void)state;
    assert_int_equal(multipart_parse(parts, &n, TYPE, body, sizeof body - 1), SHOAL_OK);
    for (size_t len = 0; len < sizeof body - 1; len++) {
        char *copy = malloc(len + 1); /* so that a sanitizer sees one byte too many */

        memcpy(copy, body, len);
        assert_int_equal(multipart_parse(parts, &n, TYPE, copy, len), SHOAL_EFORMAT);
        free(copy);
    }
    assert_int_equal(multipart_parse(parts, &n, "multipart/form-data", body, sizeof body - 1),
                     SHOAL_EFORMAT);
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void numbers_are_read_as_strtof_reads_them(void **state)
{
    static const char *const texts[] = {"0",      "-0.0",   "1",         "0.1",   "123456789.125",
                                        "1e10",   "1.5E-7", "3.4028e38", "1e-45", "0.30000001192",
                                        "16777217", "-12.5e+2", "2.2250738585072014e-308"};
    struct figures f = {0};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[64];

        snprintf(text, sizeof text, " [ %s ,1]\n", texts[i]);
        assert_true(figures_scan(&f, text, strlen(text)));
        assert_int_equal(f.len, 2);
        assert_true(f.at[0] == (float)strtod(texts[i], NULL));
    }
    figures_fini(&f);
}

static void arrays_of_numbers_keep_their_shape(void **state)
{
    static const char one[] = "[1,2,3]", two[] = "[[1,2],[3,4]]",
                      three[] = " {\"instances\" : [[1,2,3]]} ";
    struct figures f = {0};

    (void)state;
    assert_true(figures_scan(&f, one, sizeof one - 1));
    assert_true(f.rows == 1 && f.width == 3 && !f.nested && !f.instances);
    assert_true(figures_scan(&f, two, sizeof two - 1));
    assert_true(f.rows == 2 && f.width == 2 && f.nested && !f.instances);
    assert_true(f.at[3] == 4);
    assert_true(figures_scan(&f, three, sizeof three - 1));
    assert_true(f.rows == 1 && f.width == 3 && f.nested && f.instances);
    figures_fini(&f);
}

static void what_is_no_array_of_numbers_is_left_alone(void **state)
{
    static const char *const bad[] = {
        "",      "[",     "[]",     "[1",        "[1,]",   "[1 2]", "[01]",  "[+1]",
        "[.5]",  "[1.]",  "[1e]",   "[1e9999]",  "[1e39]", "[NaN]", "[\"a\"]", "[[1],[1,2]]",
        "[[1],2]", "{}",  "[1]]",   "{\"instances\":[1]}", "{\"instances\":[[1]],\"k\":1}",
        "[1]x",  "{\"instances\"",  "[-]",       "[1e+]"};
    struct figures f = {0};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t len = strlen(bad[i]);
        char *copy = malloc(len + 1);

        memcpy(copy, bad[i], len);
        assert_false(figures_scan(&f, copy, len));
        free(copy);
    }
    figures_fini(&f);
}

static void a_tree_gives_what_is_there_and_nothing_else(void **state)
{
    static const char text[] = "{\"a\":[1,\"x\",true],\"b\":{}}";
    struct tree *t;

    (void)state;
    assert_int_equal(tree_parse(&t, text, sizeof text - 1), SHOAL_OK);
    assert_int_equal(tree_kind(t), TREE_OBJECT);
    assert_int_equal(tree_len(tree_get(t, "a")), 3);
    assert_true(tree_number(tree_at(tree_get(t, "a"), 0)) == 1);
    assert_string_equal(tree_text(tree_at(tree_get(t, "a"), 1)), "x");
    assert_true(tree_true(tree_at(tree_get(t, "a"), 2)));
    assert_null(tree_get(t, "c"));
    assert_null(tree_at(tree_get(t, "a"), 3));
    assert_true(isnan(tree_number(tree_get(t, "b"))));
    assert_string_equal(tree_text(NULL), "");
    tree_free(t);
    assert_int_equal(tree_parse(&t, "{\"a\":", 5), SHOAL_EFORMAT);
    assert_null(t);
}

static void a_float_is_written_so_that_it_reads_back(void **state)
{
    struct rng rng = {7, 0, 0};

    (void)state;
    for (int i = 0; i < 20000; i++) {
        uint32_t bits = (uint32_t)rng_next(&rng);
        float x, back;
        struct writer w = {0};

        memcpy(&x, &bits, sizeof x);
        if (i % 2)
            x = (float)(rng_unit(&rng) * 2 - 1);
        put_float(&w, x);
        assert_int_equal(bytes_add(&w.out, "", 1), SHOAL_OK);
        back = strtof(w.out.at, NULL);
        assert_true(isfinite(x) ? back == x : strcmp(w.out.at, "null") == 0);
        bytes_fini(&w.out);
    }
}

static void text_is_escaped_and_commas_come_by_themselves(void **state)
{
    struct writer w = {0};

    (void)state;
    put_open(&w, '{');
    put_key(&w, "a\"b");
    put_open(&w, '[');
    put_text(&w, "x\\\n\x01");
    put_u64(&w, 10);
    put_flag(&w, false);
    put_float(&w, 0.5f);
    put_close(&w, "]");
    put_key(&w, "c");
    put_float(&w, -2);
    put_close(&w, "}");
    assert_int_equal(bytes_add(&w.out, "", 1), SHOAL_OK);
    assert_string_equal(w.out.at, "{\"a\\\"b\":[\"x\\\\\\u000a\\u0001\",10,false,0.5],\"c\":-2}");
    bytes_fini(&w.out);
}

/* ---- who may ask ----------------------------------------------------------------------------------- */

#define INFERENCE "inference-token-0123"
#define MANAGEMENT "management-token-456"

static void each_token_opens_its_own_door(void **state)
{
    struct tokens t;

    (void)state;
    assert_int_equal(tokens_parse(&t, "f", "# two\ninference " INFERENCE "\r\n\nmanagement\t" MANAGEMENT),
                     SHOAL_OK);
    assert_true(tokens_allow(&t, ROLE_INFERENCE, "Bearer " INFERENCE));
    assert_true(tokens_allow(&t, ROLE_MANAGEMENT, "bearer " MANAGEMENT));
    assert_true(tokens_allow(&t, ROLE_METRICS, "Bearer " INFERENCE));
    assert_true(tokens_allow(&t, ROLE_METRICS, "Bearer " MANAGEMENT));
    assert_false(tokens_allow(&t, ROLE_MANAGEMENT, "Bearer " INFERENCE));
    assert_false(tokens_allow(&t, ROLE_INFERENCE, "Bearer " MANAGEMENT));
    assert_false(tokens_allow(&t, ROLE_INFERENCE, "Bearer " INFERENCE "x"));
    assert_false(tokens_allow(&t, ROLE_INFERENCE, "Bearer inference-token-012"));
    assert_false(tokens_allow(&t, ROLE_INFERENCE, "Bearer "));
    assert_false(tokens_allow(&t, ROLE_INFERENCE, INFERENCE));
    assert_false(tokens_allow(&t, ROLE_INFERENCE, NULL));
}

static void a_token_file_needs_two_long_tokens(void **state)
{
    static const char *const bad[] = {
        "", "inference " INFERENCE, "inference short\nmanagement " MANAGEMENT,
        "inference " INFERENCE "\nmanagement " INFERENCE,
        "inference " INFERENCE "\nmanagement " MANAGEMENT "\nroot " MANAGEMENT,
        "inference a b" INFERENCE "\nmanagement " MANAGEMENT};
    struct tokens t;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(tokens_parse(&t, "f", bad[i]), SHOAL_EFORMAT);
        assert_false(t.on);
    }
}

static void clients_of_ipv4_are_told_apart_at_an_address_of_ipv6(void **state)
{
    struct sockaddr_in6 a = {.sin6_family = AF_INET6}, b = a;
    struct sockaddr_in plain = {.sin_family = AF_INET};

    (void)state;
    assert_int_equal(inet_pton(AF_INET6, "::ffff:127.0.0.1", &a.sin6_addr), 1);
    assert_int_equal(inet_pton(AF_INET6, "::ffff:127.0.0.2", &b.sin6_addr), 1);
    assert_int_equal(inet_pton(AF_INET, "127.0.0.1", &plain.sin_addr), 1);
    assert_int_not_equal(client_number((struct sockaddr *)&a),
                         client_number((struct sockaddr *)&b));
    assert_int_equal(client_number((struct sockaddr *)&a),
                     client_number((struct sockaddr *)&plain));
    assert_int_equal(inet_pton(AF_INET6, "2001:db8::1", &a.sin6_addr), 1);
    assert_int_equal(inet_pton(AF_INET6, "2001:db8::2", &b.sin6_addr), 1);
    assert_int_equal(client_number((struct sockaddr *)&a), client_number((struct sockaddr *)&b));
}

static void a_client_has_so_many_requests_a_second(void **state)
{
    struct sockaddr_in a = {.sin_family = AF_INET}, b = a;
    struct limiter *l = malloc(sizeof *l);

    (void)state;
    a.sin_addr.s_addr = htonl(0x7f000001);
    b.sin_addr.s_addr = htonl(0x0a000001);
    limiter_init(l, 10, 1);
    for (int i = 0; i < 10; i++)
        assert_true(limiter_take(l, (struct sockaddr *)&a, 100));
    assert_false(limiter_take(l, (struct sockaddr *)&a, 100));
    assert_true(limiter_take(l, (struct sockaddr *)&b, 100));
    assert_true(limiter_take(l, (struct sockaddr *)&a, 100.15));
    assert_false(limiter_take(l, (struct sockaddr *)&a, 100.15));
    limiter_fini(l);
    free(l);
}

static void a_browser_may_ask_only_for_the_host_of_its_page(void **state)
{
    (void)state;
    assert_true(origin_fits(NULL, "localhost:8080"));
    assert_true(origin_fits("http://localhost:8080", "localhost:8080"));
    assert_false(origin_fits("http://localhost:8081", "localhost:8080"));
    assert_false(origin_fits("https://evil.example", "localhost:8080"));
    assert_false(origin_fits("null", "localhost:8080"));
    assert_true(host_is_local("localhost:8081"));
    assert_true(host_is_local("127.0.0.1"));
    assert_true(host_is_local("[::1]:8080"));
    assert_false(host_is_local("evil.example:8081"));
    assert_false(host_is_local("127.0.0.1.evil.example"));
    assert_false(host_is_local(":80"));
}

static void an_address_to_listen_at_has_a_host_and_a_port(void **state)
{
    char host[64], port[8];

    (void)state;
    assert_true(address_parse("127.0.0.1:8080", host, port));
    assert_string_equal(host, "127.0.0.1");
    assert_string_equal(port, "8080");
    assert_true(address_parse("http://[::1]:0/", host, port));
    assert_string_equal(host, "::1");
    assert_string_equal(port, "0");
    assert_false(address_parse("127.0.0.1", host, port));
    assert_false(address_parse("::1:80", host, port));
    assert_false(address_parse("[::1]", host, port));
    assert_false(address_parse(":80", host, port));
    assert_false(address_parse("a:b", host, port));
    assert_false(address_parse("a:123456", host, port));
    assert_true(address_parse("a:65535", host, port));
    assert_false(address_parse("a:65536", host, port));
}

static void names_of_models_and_files_cannot_climb(void **state)
{
    (void)state;
    assert_true(model_name_fits("news-2.0_x"));
    assert_false(model_name_fits(".."));
    assert_false(model_name_fits("a/b"));
    assert_false(model_name_fits(""));
    assert_false(model_name_fits("a b"));
    assert_true(model_version_fits("1.0"));
    assert_false(model_version_fits("all"));
    assert_false(model_version_fits("similar"));
    assert_true(model_file_fits("my model.shoal"));
    assert_false(model_file_fits("../x"));
    assert_false(model_file_fits("a/b"));
    assert_false(model_file_fits("/etc/passwd"));
    assert_false(model_file_fits(".hidden"));
    assert_false(model_file_fits("a\nb"));
}

static void a_version_is_no_word_that_an_address_needs(void **state)
{
    static const char *const verbs[] = {"invoke", "similar",     "analogy", "vector", "map",
                                        "all",    "set-default", "ready",   "infer",  "versions"};

    (void)state;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        assert_false(model_version_fits(verbs[i]));
    assert_true(model_verb_known("invoke"));
    assert_false(model_verb_known("all"));
    assert_true(model_version_fits("invoked"));
}

/* ---- options ------------------------------------------------------------------------------------------ */

static void a_configuration_names_fields_as_torchserve_does(void **state)
{
    char text[] = "# a comment\n\ninference_address = http://0.0.0.0:80\r\nload_models=all\n"
                  "default_workers_per_model = 3\nmax_request_size=1000\ntimeout = 2.5\n";
    struct shoal_serve_opts o = shoal_serve_default();

    (void)state;
    assert_int_equal(serve_config_parse(&o, "f", text), SHOAL_OK);
    assert_string_equal(o.inference, "http://0.0.0.0:80");
    assert_true(o.load_all);
    assert_int_equal(o.workers, 3);
    assert_int_equal(o.max_body, 1000);
    assert_true(o.timeout == 2.5);
    assert_string_equal(o.management, "127.0.0.1:8081");
}

static void a_line_that_is_no_option_is_named(void **state)
{
    static const char *const bad[] = {"a = 1", "workers = x", "workers = -1", "workers",
                                      "sandbox = 7", "load_models = some"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct shoal_serve_opts o = shoal_serve_default();
        char text[64];

        snprintf(text, sizeof text, "\n%s\n", bad[i]);
        assert_int_equal(serve_config_parse(&o, "serve.conf", text), SHOAL_EFORMAT);
        assert_non_null(strstr(shoal_error(), "serve.conf: line 2"));
    }
}

static void options_out_of_range_are_named(void **state)
{
    struct shoal_serve_opts o = shoal_serve_default();

    (void)state;
    assert_int_equal(shoal_serve_check(&o), SHOAL_OK);
    o.batch_size = 0;
    assert_int_equal(shoal_serve_check(&o), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "--batch-size"));
    o = shoal_serve_default();
    o.tls_cert = "x";
    assert_int_equal(shoal_serve_check(&o), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "--tls-key"));
    o = shoal_serve_default();
    assert_false(o.no_tokens);
    o.no_tokens = true;
    assert_int_equal(shoal_serve_check(&o), SHOAL_OK);
    o.token_file = "x";
    assert_int_equal(shoal_serve_check(&o), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "--no-tokens"));
}

static void assert_text(const char *text, const char *want)
{
    struct writer w = {0};

    put_text(&w, text);
    assert_int_equal(bytes_add(&w.out, "", 1), SHOAL_OK);
    assert_string_equal(w.out.at, want);
    bytes_fini(&w.out);
}

#define GONE "\xef\xbf\xbd" /* U+FFFD */

/* The examples of the Unicode standard, chapter 3.9. */
static void what_is_not_utf8_becomes_replacement_characters(void **state)
{
    (void)state;
    assert_text("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x9f",
                "\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x9f\"");
    assert_text("\xff", "\"" GONE "\"");
    assert_text("a\xc3", "\"a" GONE "\"");
    assert_text("\xc3\"\n", "\"" GONE "\\\"\\u000a\"");
    assert_text("\xf0\x9f\x90", "\"" GONE "\"");
    assert_text("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41",
                "\"" GONE GONE GONE GONE GONE GONE GONE GONE "A\"");
    assert_text("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41",
                "\"" GONE GONE GONE GONE GONE GONE GONE GONE "A\"");
    assert_text("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42",
                "\"" GONE GONE GONE GONE GONE "A" GONE GONE "B\"");
    assert_text("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", "\"" GONE GONE GONE GONE "A\"");
}

/* ---- maps ------------------------------------------------------------------------------------------------ */

static void a_map_shows_the_two_directions_in_which_rows_differ(void **state)
{
    /* Four unit rows: 0 and 1 differ along one axis, 2 and 3 less along another. */
    float rows[4][3] = {{0.6f, 0.8f, 0}, {-0.6f, 0.8f, 0}, {0, 0.8f, 0.6f}, {0, 1, 0}}, at[4][2];

    (void)state;
    assert_int_equal(pca_places(rows[0], 4, 3, at[0]), SHOAL_OK);
    assert_true(fabsf(fabsf(at[0][0] - at[1][0]) - 1.2f) < 1e-3f);
    assert_true(fabsf(at[2][0] - at[3][0]) < 1e-3f);
    assert_true(fabsf(at[2][1] - at[3][1]) > 0.5f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_split_and_decoded),
        cmocka_unit_test(a_bad_escape_a_nul_and_a_control_character_are_refused),
        cmocka_unit_test(an_address_of_many_parts_is_refused),
        cmocka_unit_test(a_number_of_an_address_is_whole_and_within_its_range),
        cmocka_unit_test(a_multipart_body_is_its_parts),
        cmocka_unit_test(a_multipart_body_cut_anywhere_is_refused),
        cmocka_unit_test(numbers_are_read_as_strtof_reads_them),
        cmocka_unit_test(arrays_of_numbers_keep_their_shape),
        cmocka_unit_test(what_is_no_array_of_numbers_is_left_alone),
        cmocka_unit_test(a_tree_gives_what_is_there_and_nothing_else),
        cmocka_unit_test(a_float_is_written_so_that_it_reads_back),
        cmocka_unit_test(text_is_escaped_and_commas_come_by_themselves),
        cmocka_unit_test(what_is_not_utf8_becomes_replacement_characters),
        cmocka_unit_test(each_token_opens_its_own_door),
        cmocka_unit_test(a_token_file_needs_two_long_tokens),
        cmocka_unit_test(clients_of_ipv4_are_told_apart_at_an_address_of_ipv6),
        cmocka_unit_test(a_client_has_so_many_requests_a_second),
        cmocka_unit_test(a_browser_may_ask_only_for_the_host_of_its_page),
        cmocka_unit_test(an_address_to_listen_at_has_a_host_and_a_port),
        cmocka_unit_test(names_of_models_and_files_cannot_climb),
        cmocka_unit_test(a_version_is_no_word_that_an_address_needs),
        cmocka_unit_test(a_configuration_names_fields_as_torchserve_does),
        cmocka_unit_test(a_line_that_is_no_option_is_named),
        cmocka_unit_test(options_out_of_range_are_named),
        cmocka_unit_test(a_map_shows_the_two_directions_in_which_rows_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
