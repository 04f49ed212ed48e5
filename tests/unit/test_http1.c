/* HTTP/1.1 as bytes: what is read, what is refused, however it is split. */
#include "serve/http/http1.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants some of the above first. */
#include <cmocka.h>

enum { MAX = 512 };

/* What became of bytes: events as letters, H head, W whole, R refused; and the body. */
struct outcome {
    char events[64];
    char body[1024];
    size_t body_len, used;
    int status;
    struct http1 reader;
};

static void note(struct outcome *o, char event)
{
    size_t n = strlen(o->events);

    assert_true(n + 1 < sizeof o->events);
    o->events[n] = event;
}

/* Fed in pieces of `step`; one request after the other. False: it goes no further. */
static bool feed(struct outcome *o, const char *at, size_t len)
{
    for (;;) {
        switch (http1_read(&o->reader, &at, &len)) {
        case HTTP1_MORE:
            assert_int_equal(len, 0);
            return true;
        case HTTP1_HEAD:
            note(o, 'H');
            break;
        case HTTP1_BODY:
            assert_true(o->body_len + o->reader.piece_len < sizeof o->body);
            memcpy(o->body + o->body_len, o->reader.piece, o->reader.piece_len);
            o->body_len += o->reader.piece_len;
            break;
        case HTTP1_WHOLE:
            note(o, 'W');
            http1_next(&o->reader);
            break;
        case HTTP1_REFUSED:
            note(o, 'R');
            o->status = o->reader.status;
            assert_non_null(o->reader.why);
            return false;
        }
    }
}

static void run(struct outcome *o, const char *text, size_t len, size_t step)
{
    memset(o, 0, sizeof *o);
    http1_init(&o->reader, MAX);
    for (size_t at = 0; at < len; at += step) {
        char *piece; /* of its own, so that a sanitizer sees every byte beyond */
        size_t n = step < len - at ? step : len - at;
        bool more;

        piece = malloc(n);
        assert_non_null(piece);
        memcpy(piece, text + at, n);
        more = feed(o, piece, n);
        free(piece);
        if (!more)
            return;
    }
}

/* The same whole, byte by byte, and in threes. */
static void expect(const char *text, size_t len, const char *events, int status, const char *body)
{
    static const size_t steps[] = {SIZE_MAX, 1, 3};

    for (size_t i = 0; i < 3; i++) {
        struct outcome o;

        run(&o, text, len, steps[i]);
        if (strcmp(o.events, events) != 0 || o.status != status)
            fail_msg("'%s' gives %s %d, want %s %d", text, o.events, o.status, events, status);
        assert_int_equal(o.body_len, strlen(body));
        assert_memory_equal(o.body, body, o.body_len);
        http1_fini(&o.reader);
    }
}

static void refused(const char *text, int status)
{
    expect(text, strlen(text), "R", status, "");
}

static void taken(const char *text, const char *events, const char *body)
{
    expect(text, strlen(text), events, 0, body);
}

/* The head of a request that has one. */
static struct http1 head_of(const char *text)
{
    struct http1 r;
    size_t len = strlen(text);

    http1_init(&r, MAX);
    assert_int_equal(http1_read(&r, &text, &len), HTTP1_HEAD);
    return r;
}

#define LINE "GET / HTTP/1.1\r\nHost: a\r\n"
#define POST "POST / HTTP/1.1\r\nHost: a\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

/* ---- heads ----------------------------------------------------------------------------------- */

static void a_request_is_read(void **state)
{
    struct http1 r = head_of("PUT /a?b=%20c HTTP/1.1\r\nhOsT:  b:80 \t\r\nX-Other: \x80 thing\r\n"
                             "Content-Type:text/plain\r\nContent-Length: 5\r\n"
                             "Authorization: Bearer x y\r\nOrigin:\r\n\r\n");

    (void)state;
    assert_string_equal(r.head.method, "PUT");
    assert_string_equal(r.head.target, "/a?b=%20c");
    assert_string_equal(r.head.field[HTTP1_HOST], "b:80");
    assert_string_equal(r.head.field[HTTP1_CONTENT_TYPE], "text/plain");
    assert_string_equal(r.head.field[HTTP1_AUTHORIZATION], "Bearer x y");
    assert_string_equal(r.head.field[HTTP1_ORIGIN], "");
    assert_null(r.head.field[HTTP1_EXPECT]);
    assert_int_equal(r.head.length, 5);
    assert_int_equal(r.head.minor, 1);
    assert_true(r.head.keep && !r.head.chunked && !r.head.expects && !r.head.encoded);
    http1_fini(&r);
}

static void requests_follow_each_other(void **state)
{
    (void)state;
    taken(LINE "\r\n" LINE "\r\n", "HWHW", "");
    taken(POST "Content-Length: 3\r\n\r\nabc" LINE "\r\n", "HWHW", "abc");
    taken(CHUNKED "3\r\nabc\r\n0\r\n\r\n" LINE "\r\n", "HWHW", "abc");
    taken("\r\n" LINE "\r\n\r\n" LINE "\r\n", "HWHW", "");
    expect("GET / HTTP/1.1\r\n\r\n" LINE "\r\n", 41, "R", 400, "");
}

static void one_empty_line_may_come_before_a_request(void **state)
{
    (void)state;
    taken("\r\n" LINE "\r\n", "HW", "");
    refused("\r\n\r\n" LINE "\r\n", 400);
}

static void request_lines_that_are_none_are_refused(void **state)
{
    static const char *const bad[] = {
        "GET\r\n",
        "GET /\r\n",
        "GET  / HTTP/1.1\r\n",
        "GET / HTTP/1.1 \r\n",
        " GET / HTTP/1.1\r\n",
        "GET / /b HTTP/1.1\r\n",
        "GET\t/ HTTP/1.1\r\n",
        "GET / http/1.1\r\n",
        "GET / HTTP/1.10\r\n",
        "GET / HTTP/1\r\n",
        "GET / HTTP/a.1\r\n",
        "GET / HTP/1.1\r\n",
        "G(T / HTTP/1.1\r\n",
        "G\xc3T / HTTP/1.1\r\n",
        "GET / \r\n",
        "GET /\tb HTTP/1.1\r\n",
        "\x16\x03\x01",
        "GET /\x01",
        "GET / HTTP/1.1\n",
        "GET / HTTP/1.1\rX",
        "GET /\x7f",
        ": / HTTP/1.1\r\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(bad[i], 400);
    refused("GET / HTTP/1.2\r\n", 505);
    refused("PRI * HTTP/2.0\r\n", 505);
    refused("GET / HTTP/0.9\r\n", 505);
    expect("GET /\0 HTTP/1.1\r\n", 18, "R", 400, "");
}

static void field_lines_that_are_none_are_refused(void **state)
{
    static const char *const bad[] = {
        "X : y\r\n",  "X\t: y\r\n", ": y\r\n",      " X: y\r\n",
        "\tX: y\r\n", "X y\r\n",    "X\r\n",        "X: y\n",
        "X: y\rz",    "X: \x01",    "X: \x7f",      "X: \x0b",
        "X(: y\r\n",  "X: y\r\r\n", "X\x80: y\r\n", "X: y\r\n folded\r\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[128];

        snprintf(text, sizeof text, LINE "%s", bad[i]);
        refused(text, 400);
    }
    expect(LINE "X: a\0b\r\n\r\n", strlen(LINE) + 10, "R", 400, "");
}

static void a_host_is_there_once(void **state)
{
    (void)state;
    refused("GET / HTTP/1.1\r\n\r\n", 400);
    refused(LINE "Host: a\r\n\r\n", 400);
    refused(LINE "host: b\r\n\r\n", 400);
    refused("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", 400);
    refused("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400);
    refused("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400);
    refused("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400);
    refused("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400);
    taken("GET / HTTP/1.0\r\n\r\n", "HW", "");
    taken("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "HW", "");
    taken("GET / HTTP/1.1\r\nHost:\r\n\r\n", "HW", "");
}

static void fields_that_decide_are_there_once(void **state)
{
    (void)state;
    refused(LINE "Authorization: a\r\nauthorization: b\r\n\r\n", 400);
    refused(LINE "Origin: a\r\nOrigin: a\r\n\r\n", 400);
    refused(LINE "Content-Type: a\r\nContent-Type: b\r\n\r\n", 400);
    refused(LINE "Expect: 100-continue\r\nExpect: 100-continue\r\n\r\n", 400);
    taken(LINE "Connection: a\r\nConnection: b\r\n\r\n", "HW", "");
}

static void a_head_has_a_limit_to_the_byte(void **state)
{
    char text[MAX + 64];
    size_t fixed = strlen(LINE "X: \r\n\r\n");

    (void)state;
    for (size_t over = 0; over < 2; over++) {
        size_t fill = MAX - fixed + over;

        snprintf(text, sizeof text, LINE "X: %*s\r\n\r\n", (int)fill, "y");
        assert_int_equal(strlen(text), MAX + over);
        if (over)
            refused(text, 431);
        else
            taken(text, "HW", "");
    }
    memset(text, 'a', sizeof text);
    memcpy(text, "GET /", 5);
    expect(text, MAX, "", 0, "");
    expect(text, MAX + 1, "R", 414, "");
}

static void fields_are_counted(void **state)
{
    struct http1 r;
    char text[16 + 8 * (HTTP1_FIELDS + 2)] = "GET / HTTP/1.0\r\n";
    const char *at = text;
    size_t len;

    (void)state;
    for (int i = 0; i < HTTP1_FIELDS; i++)
        strcat(text, "a:\r\n");
    len = strlen(text);
    http1_init(&r, sizeof text);
    assert_int_equal(http1_read(&r, &at, &len), HTTP1_MORE);
    at = "a:\r\n";
    len = 4;
    assert_int_equal(http1_read(&r, &at, &len), HTTP1_REFUSED);
    assert_int_equal(r.status, 431);
    assert_true(r.text.len < 64); /* what nobody asks for is not kept */
    http1_fini(&r);
}

static void targets_have_their_forms(void **state)
{
    static const struct {
        const char *line, *target, *host;
    } good[] = {
        {"GET http://h:81/p?q HTTP/1.1", "/p?q", "h:81"},
        {"GET HTTP://h HTTP/1.1", "/", "h"},
        {"GET http://h?q HTTP/1.1", "/?q", "h"},
        {"GET https://h/ HTTP/1.1", "/", "h"},
        {"OPTIONS * HTTP/1.1", "*", "a"},
        {"GET //x HTTP/1.1", "//x", "a"},
    };
    static const char *const bad[] = {
        "GET a HTTP/1.1",           "GET * HTTP/1.1",        "GET http:///p HTTP/1.1",
        "GET http://u@h/ HTTP/1.1", "GET ftp://h/ HTTP/1.1", "GET /a#b HTTP/1.1",
        "GET h:80 HTTP/1.1",        "GET ?a HTTP/1.1",       "GET http://h\\x/ HTTP/1.1",
    };
    char text[128];

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct http1 r;

        snprintf(text, sizeof text, "%s\r\nHost: a\r\n\r\n", good[i].line);
        r = head_of(text);
        assert_string_equal(r.head.target, good[i].target);
        assert_string_equal(r.head.field[HTTP1_HOST], good[i].host);
        http1_fini(&r);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, "%s\r\nHost: a\r\n\r\n", bad[i]);
        refused(text, 400);
    }
    refused("CONNECT h:80 HTTP/1.1\r\nHost: a\r\n\r\n", 501);
    refused("GET http://h/ HTTP/1.1\r\n\r\n", 400);
}

static bool keeps(const char *text)
{
    struct http1 r = head_of(text);
    bool keep = r.head.keep;

    http1_fini(&r);
    return keep;
}

static void connections_are_kept_as_the_client_says(void **state)
{
    (void)state;
    assert_true(keeps(LINE "\r\n"));
    assert_true(keeps(LINE "Connection: keep-alive, closed\r\n\r\n"));
    assert_false(keeps(LINE "Connection: Close\r\n\r\n"));
    assert_false(keeps(LINE "Connection: x ,close\r\n\r\n"));
    assert_false(keeps(LINE "Connection: close\r\nConnection: keep-alive\r\n\r\n"));
    assert_false(keeps("GET / HTTP/1.0\r\n\r\n"));
    assert_true(keeps("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"));
}

static void expectations_and_encodings_are_told(void **state)
{
    struct http1 r = head_of(POST "Expect: 100-Continue\r\nContent-Length: 1\r\n"
                                  "Content-Encoding: identity\r\n\r\n");

    (void)state;
    assert_true(r.head.expects && !r.head.encoded);
    http1_fini(&r);
    r = head_of(LINE "Expect: 100-continue\r\nContent-Encoding: gzip\r\n"
                     "Content-Encoding: identity\r\n\r\n");
    assert_true(!r.head.expects && r.head.encoded);
    http1_fini(&r);
    r = head_of("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n");
    assert_false(r.head.expects);
    http1_fini(&r);
    refused(LINE "Expect: bread\r\n\r\n", 417);
}

/* ---- bodies ------------------------------------------------------------------------------------
 */

static void a_length_is_one_plain_number(void **state)
{
    static const char *const bad[] = {
        "5\r\nContent-Length: 5",
        "5\r\nContent-Length: 6",
        "5, 5",
        "5,6",
        "+5",
        "-5",
        "5 5",
        "0x5",
        "5a",
        "",
        "99999999999999999999",
        "5\r\nTransfer-Encoding: chunked",
        "5;",
        "\"5\"",
        "5.0",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[256];

        snprintf(text, sizeof text, POST "Content-Length: %s\r\n\r\n", bad[i]);
        refused(text, 400);
    }
    taken(POST "Content-Length:  3 \t\r\n\r\nabc", "HW", "abc");
    taken(POST "Content-Length: 0003\r\n\r\nabc", "HW", "abc");
    taken(POST "Content-Length: 0\r\n\r\n", "HW", "");
    taken(POST "Content-Length: 9999999999999999999\r\n\r\nab", "H", "ab");
}

static void the_coding_is_chunked(void **state)
{
    static const char *const bad[] = {
        "gzip",
        "gzip, chunked",
        "chunked, chunked",
        "chunked, identity",
        "identity",
        "xchunked",
        "chunked\r\nTransfer-Encoding: chunked",
        "",
        "chunked\r\nContent-Length: 3",
        "chunked;q=1",
        "\vchunked",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[256];

        snprintf(text, sizeof text, POST "Transfer-Encoding: %s\r\n\r\n", bad[i]);
        refused(text, 400);
    }
    refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400);
    taken(POST "Transfer-Encoding: Chunked \r\n\r\n0\r\n\r\n", "HW", "");
}

static void chunks_are_put_together(void **state)
{
    (void)state;
    taken(CHUNKED "3\r\nabc\r\n00a\r\n0123456789\r\n0\r\n\r\n", "HW", "abc0123456789");
    taken(CHUNKED "3;x=\"y z\"\r\nabc\r\n0;last\r\n\r\n", "HW", "abc");
    taken(CHUNKED "1\r\na\r\n0\r\nX-Sum: 1\r\nY:\r\n\r\n", "HW", "a");
}

static void chunks_that_are_none_are_refused(void **state)
{
    static const char *const bad[] = {
        "\r\n",
        "x\r\n",
        "-1\r\n",
        "+1\r\n",
        " 1\r\n",
        "1 \r\n",
        "0x1\r\n",
        ";a\r\n",
        "1\n",
        "1\rx",
        "11111111111111111\r\n",
        "0\r\nX : y\r\n",
        "0\r\n: y\r\n",
        "0\r\n X: y\r\n",
        "0\r\nX\r\n",
        "0\r\nX: \x01",
        "0\r\n\rx",
        "0\r\nX: y\n",
        "1;\x01",
        "1;a\n",
        "0\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[256];

        snprintf(text, sizeof text, CHUNKED "%s", bad[i]);
        expect(text, strlen(text), "HR", 400, "");
    }
    expect(CHUNKED "1\r\nab", strlen(CHUNKED) + 5, "HR", 400, "a");
    expect(CHUNKED "1\r\na\rb", strlen(CHUNKED) + 6, "HR", 400, "a");
    expect(CHUNKED "1\r\na\n0\r\n\r\n", strlen(CHUNKED) + 10, "HR", 400, "a");
}

static void what_stands_around_chunks_is_bounded(void **state)
{
    char text[2048];
    size_t at = (size_t)snprintf(text, sizeof text, CHUNKED "1;");

    (void)state;
    memset(text + at, 'x', sizeof text - at);
    expect(text, at + HTTP1_CHUNK_LINE, "HR", 400, "");
    at = (size_t)snprintf(text, sizeof text, CHUNKED "0\r\nX: ");
    memset(text + at, 'x', sizeof text - at);
    expect(text, at + MAX - 3, "H", 0, "");
    expect(text, at + MAX - 2, "HR", 400, "");
}

static void extensions_are_bounded_all_together(void **state)
{
    struct outcome o;
    char text[8192], chunk[256];
    size_t at = (size_t)snprintf(text, sizeof text, CHUNKED), n;

    (void)state;
    n = (size_t)snprintf(chunk, sizeof chunk, "1;%0200d\r\na\r\n", 0);
    for (size_t i = 0; i < 20; i++, at += n)
        memcpy(text + at, chunk, n);
    run(&o, text, at, 7);
    assert_string_equal(o.events, "H");
    assert_int_equal(o.body_len, 20);
    memcpy(text + at, chunk, n);
    http1_fini(&o.reader);
    run(&o, text, at + n, 7);
    assert_string_equal(o.events, "HR");
    http1_fini(&o.reader);
}

static void nothing_behind_a_refusal_is_read(void **state)
{
    struct http1 r;
    const char *at = "GET / HTTP/1.1\r\nX : y\r\n\r\n" LINE "\r\n";
    size_t len = strlen(at);

    (void)state;
    http1_init(&r, MAX);
    for (int i = 0; i < 3; i++)
        assert_int_equal(http1_read(&r, &at, &len), HTTP1_REFUSED);
    assert_true(len > strlen(LINE));
    http1_fini(&r);
}

/* ---- answers
 * --------------------------------------------------------------------------------------- */

static void an_answer_has_its_head(void **state)
{
    char out[HTTP1_ANSWER_MAX + 1], date[HTTP1_DATE];
    size_t len;

    (void)state;
    http1_date(date, 784111777);
    assert_string_equal(date, "Sun, 06 Nov 1994 08:49:37 GMT");
    len = http1_answer(out, &(struct http1_answer){.status = 405,
                                                   .length = 1234567890123,
                                                   .type = "text/plain",
                                                   .id = "7",
                                                   .date = date,
                                                   .retry_after = 3,
                                                   .allow = "GET",
                                                   .challenge = true});
    out[len] = '\0';
    assert_string_equal(
        out,
        "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 1234567890123\r\n"
        "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: text/plain\r\nx-request-id: 7\r\n"
        "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nRetry-After: 3\r\n"
        "Allow: GET\r\nWWW-Authenticate: Bearer\r\nConnection: close\r\n\r\n");
    len = http1_answer(out, &(struct http1_answer){.status = 200, .keep = true, .minor_0 = true});
    out[len] = '\0';
    assert_non_null(strstr(out, "\r\nConnection: keep-alive\r\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_read),
        cmocka_unit_test(requests_follow_each_other),
        cmocka_unit_test(one_empty_line_may_come_before_a_request),
        cmocka_unit_test(request_lines_that_are_none_are_refused),
        cmocka_unit_test(field_lines_that_are_none_are_refused),
        cmocka_unit_test(a_host_is_there_once),
        cmocka_unit_test(fields_that_decide_are_there_once),
        cmocka_unit_test(a_head_has_a_limit_to_the_byte),
        cmocka_unit_test(fields_are_counted),
        cmocka_unit_test(targets_have_their_forms),
        cmocka_unit_test(connections_are_kept_as_the_client_says),
        cmocka_unit_test(expectations_and_encodings_are_told),
        cmocka_unit_test(a_length_is_one_plain_number),
        cmocka_unit_test(the_coding_is_chunked),
        cmocka_unit_test(chunks_are_put_together),
        cmocka_unit_test(chunks_that_are_none_are_refused),
        cmocka_unit_test(what_stands_around_chunks_is_bounded),
        cmocka_unit_test(extensions_are_bounded_all_together),
        cmocka_unit_test(nothing_behind_a_refusal_is_read),
        cmocka_unit_test(an_answer_has_its_head),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
