#include "serve/budget.h"
#include "serve/parse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Charges the payer before the buffer grows. The buffer grows by half each time, so half
 * more than is needed now is charged: the account is asked as seldom as malloc. */
static bool may_grow(struct writer *w, size_t len)
{
    size_t want = w->out.len + len, more;

    if (!w->payer || want <= w->paid)
        return true;
    more = want + want / 2 - w->paid;
    if (request_charge(w->payer, more) != SHOAL_OK)
        return false;
    w->paid += more;
    return true;
}

static void add(struct writer *w, const char *data, size_t len)
{
    if (w->failed || !may_grow(w, len) || bytes_add(&w->out, data, len) != SHOAL_OK)
        w->failed = true;
}

/* A comma, where one is due, then the value. */
static void value(struct writer *w, const char *data, size_t len)
{
    if (w->comma)
        add(w, ",", 1);
    add(w, data, len);
    w->comma = true;
}

void put_raw(struct writer *w, const char *text)
{
    add(w, text, strlen(text));
}

void put_bytes(struct writer *w, const void *at, size_t len)
{
    add(w, at, len);
}

void put_json(struct writer *w, const char *text)
{
    value(w, text, strlen(text));
}

void put_open(struct writer *w, char bracket)
{
    value(w, &bracket, 1);
    w->comma = false;
}

void put_close(struct writer *w, const char *brackets)
{
    put_raw(w, brackets);
    w->comma = true;
}

void put_key(struct writer *w, const char *key)
{
    put_text(w, key);
    add(w, ":", 1);
    w->comma = false;
}

/* The first byte that is no white space, or the end. */
static const char *past_space(const char *at, const char *end)
{
    while (at < end && strchr(" \t\r\n", *at) && *at)
        at++;
    return at;
}

static void new_line(struct writer *w, unsigned depth)
{
    add(w, "\n", 1);
    while (depth-- > 0)
        add(w, "    ", 4);
}

/* Behind a string, or behind a number or word. */
static const char *token_end(const char *at, const char *end)
{
    if (*at++ == '"') {
        while (at < end && *at != '"')
            at += *at == '\\' ? 2 : 1;
        return at < end ? at + 1 : end;
    }
    while (at < end && !strchr("{}[],:\" \t\r\n", *at))
        at++;
    return at;
}

void put_indented(struct writer *w, const char *json, size_t len)
{
    const char *at = json, *end = json + len;
    unsigned depth = 0;

    while ((at = past_space(at, end)) < end && !w->failed) {
        const char *next = token_end(at, end);

        if (*at == '{' || *at == '[') {
            const char *inside = past_space(at + 1, end);
            bool empty = inside < end && (*inside == '}' || *inside == ']');

            add(w, at, 1);
            next = empty ? inside + 1 : at + 1;
            if (empty)
                add(w, inside, 1);
            else
                new_line(w, ++depth);
        } else if (*at == '}' || *at == ']') {
            depth -= depth > 0;
            new_line(w, depth);
            add(w, at, 1);
            next = at + 1;
        } else if (*at == ',') {
            add(w, at, 1);
            new_line(w, depth);
            next = at + 1;
        } else if (*at == ':') {
            add(w, ": ", 2);
            next = at + 1;
        } else {
            add(w, at, (size_t)(next - at));
        }
        at = next;
    }
    add(w, "\n", 1);
}

/* ASCII that stands in a JSON string as it is. */
static bool plain(unsigned char c)
{
    return c >= 0x20 && c != '"' && c != '\\' && c < 0x80;
}

/* The length of the UTF-8 character at `at`, whose first byte is beyond ASCII. Where it is
 * malformed *whole is false, and the length is that of the longest beginning of a character,
 * which one U+FFFD replaces (Unicode's "maximal subpart", as browsers do it). The NUL at the
 * end of the text continues no character. */
static size_t sequence(const unsigned char *at, bool *whole)
{
    unsigned char c = at[0], low = 0x80, high = 0xbf;
    size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2, n = 1;

    *whole = false;
    if (c < 0xc2 || c > 0xf4)
        return 1;
    /* No overlong form, no surrogate, nothing beyond U+10FFFF. */
    low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : low;
    high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : high;
    for (; n < need && at[n] >= low && at[n] <= high; n++)
        low = 0x80, high = 0xbf;
    *whole = n == need;
    return n;
}

/* As many bytes as stand in a JSON string as they are. */
static size_t plain_run(const char *text)
{
    size_t n = 0;

    for (;;) {
        bool whole;
        size_t more;

        while (plain((unsigned char)text[n]))
            n++;
        if ((unsigned char)text[n] < 0x80)
            return n;
        more = sequence((const unsigned char *)text + n, &whole);
        if (!whole)
            return n;
        n += more;
    }
}

/* The first character, which cannot stand as it is; gives its bytes. */
static size_t put_escaped(struct writer *w, const char *text)
{
    unsigned char c = (unsigned char)*text;
    char escape[8];
    bool whole;

    if (c >= 0x80) {
        add(w, "\xef\xbf\xbd", 3);
        return sequence((const unsigned char *)text, &whole);
    }
    if (c == '"' || c == '\\')
        add(w, escape, (size_t)snprintf(escape, sizeof escape, "\\%c", c));
    else
        add(w, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", c));
    return 1;
}

void put_text(struct writer *w, const char *text)
{
    value(w, "\"", 1);
    while (*text) {
        size_t n = plain_run(text);

        add(w, text, n);
        text += n;
        if (*text)
            text += put_escaped(w, text);
    }
    add(w, "\"", 1);
}

void put_flag(struct writer *w, bool on)
{
    value(w, on ? "true" : "false", on ? 4 : 5);
}

void put_u64(struct writer *w, uint64_t n)
{
    char text[24], *from = text + sizeof text;

    do
        *--from = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    value(w, from, (size_t)(text + sizeof text - from));
}

void put_float(struct writer *w, float x)
{
    char text[DECIMAL_MAX];

    if (isfinite(x))
        value(w, text, decimal_format(text, x));
    else
        value(w, "null", 4);
}

void put_double(struct writer *w, double x)
{
    char text[40];

    if (isfinite(x))
        value(w, text, (size_t)number_print(text, sizeof text, "%.6g", x));
    else
        value(w, "null", 4);
}

void member_open(struct writer *w, const char *key, char bracket)
{
    put_key(w, key);
    put_open(w, bracket);
}

void member_text(struct writer *w, const char *key, const char *text)
{
    put_key(w, key);
    put_text(w, text);
}

void member_flag(struct writer *w, const char *key, bool on)
{
    put_key(w, key);
    put_flag(w, on);
}

void member_u64(struct writer *w, const char *key, uint64_t n)
{
    put_key(w, key);
    put_u64(w, n);
}

void member_float(struct writer *w, const char *key, float x)
{
    put_key(w, key);
    put_float(w, x);
}

void member_double(struct writer *w, const char *key, double x)
{
    put_key(w, key);
    put_double(w, x);
}
