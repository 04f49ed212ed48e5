/* The head of an answer, put together by hand: printf takes longer than a small model. */
#include "serve/http/http1.h"

#include <string.h>
#include <time.h>

static const char *http1_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } known[] = {
        {200, "OK"},
        {202, "Accepted"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
        {507, "Insufficient Storage"},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].status == status)
            return known[i].reason;
    return "Unknown";
}

struct head {
    char *out;
    size_t len;
};

static void add(struct head *h, const char *text)
{
    size_t len = strlen(text), room = HTTP1_ANSWER_MAX - 4 - h->len; /* the empty line fits */

    len = len < room ? len : room;
    memcpy(h->out + h->len, text, len);
    h->len += len;
}

static void add_number(struct head *h, uint64_t n)
{
    char digits[24];
    size_t at = sizeof digits - 1;

    digits[at] = '\0';
    do
        digits[--at] = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    add(h, digits + at);
}

static void add_field(struct head *h, const char *name, const char *value)
{
    if (!value)
        return;
    add(h, name);
    add(h, value);
    add(h, "\r\n");
}

size_t http1_answer(char out[HTTP1_ANSWER_MAX], const struct http1_answer *a)
{
    struct head h = {.out = out};

    add(&h, "HTTP/1.1 ");
    add_number(&h, (uint64_t)a->status);
    add(&h, " ");
    add(&h, http1_reason(a->status));
    add(&h, "\r\nContent-Length: ");
    add_number(&h, a->length);
    add(&h, "\r\n");
    add_field(&h, "Date: ", a->date);
    add_field(&h, "Content-Type: ", a->type);
    add_field(&h, "x-request-id: ", a->id);
    add_field(&h, "traceparent: ", a->trace);
    if (a->json_length > 0) {
        add(&h, "Inference-Header-Content-Length: ");
        add_number(&h, a->json_length);
        add(&h, "\r\n");
    }
    add(&h, "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n");
    if (a->retry_after > 0) {
        add(&h, "Retry-After: ");
        add_number(&h, a->retry_after);
        add(&h, "\r\n");
    }
    add_field(&h, "Allow: ", a->allow);
    add_field(&h, "WWW-Authenticate: ", a->challenge ? "Bearer" : NULL);
    add_field(&h, "Content-Security-Policy: ", a->policy);
    if (!a->keep)
        add(&h, "Connection: close\r\n");
    else if (a->minor_0)
        add(&h, "Connection: keep-alive\r\n");
    memcpy(h.out + h.len, "\r\n", 2);
    return h.len + 2;
}

/* strftime's names of days depend on the locale. */
void http1_date(char out[HTTP1_DATE], int64_t seconds)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t at = (time_t)seconds;
    struct tm tm = {0};

    gmtime_r(&at, &tm);
    strftime(out, HTTP1_DATE, "---, %d --- %Y %H:%M:%S GMT", &tm);
    memcpy(out, days + (size_t)3 * (size_t)tm.tm_wday, 3);
    memcpy(out + 8, months + (size_t)3 * (size_t)tm.tm_mon, 3);
}
