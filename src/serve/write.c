#include "serve/parse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void add(struct writer *w, const char *data, size_t len)
{
    if (w->failed || bytes_add(&w->out, data, len) != SHOAL_OK)
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

void put_open(struct writer *w, char bracket)
{
    value(w, &bracket, 1);
    w->comma = false;
}

void put_close(struct writer *w, char bracket)
{
    add(w, &bracket, 1);
    w->comma = true;
}

void put_key(struct writer *w, const char *key)
{
    put_text(w, key);
    add(w, ":", 1);
    w->comma = false;
}

/* Bytes that must not stand in a JSON string as they are; not UTF-8 is the
 * caller's affair, for words were checked when they were read. */
static bool plain(unsigned char c)
{
    return c >= 0x20 && c != '"' && c != '\\';
}

void put_text(struct writer *w, const char *text)
{
    value(w, "\"", 1);
    while (*text) {
        size_t n = 0;
        char escape[8];

        while (text[n] && plain((unsigned char)text[n]))
            n++;
        add(w, text, n);
        text += n;
        if (*text) {
            int len = *text == '"' || *text == '\\'
                          ? snprintf(escape, sizeof escape, "\\%c", *text)
                          : snprintf(escape, sizeof escape, "\\u%04x", (unsigned char)*text);

            add(w, escape, (size_t)len);
            text++;
        }
    }
    add(w, "\"", 1);
}

void put_flag(struct writer *w, bool on)
{
    value(w, on ? "true" : "false", on ? 4 : 5);
}

/* Decimal digits before `end`; where they begin. */
static char *digits_before(char *end, uint64_t n)
{
    do {
        *--end = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    return end;
}

void put_u64(struct writer *w, uint64_t n)
{
    char text[24], *from = digits_before(text + sizeof text, n);

    value(w, from, (size_t)(text + sizeof text - from));
}

/* x = n / 10^places, places from 0 to 12 or so. */
static void put_places(struct writer *w, bool minus, uint64_t n, int places)
{
    char text[40], *end = text + sizeof text, *from = end;

    while (places > 0 && n % 10 == 0) {
        n /= 10;
        places--;
    }
    for (int i = 0; i < places; i++) {
        *--from = (char)('0' + n % 10);
        n /= 10;
    }
    if (places > 0)
        *--from = '.';
    from = digits_before(from, n);
    if (minus)
        *--from = '-';
    value(w, from, (size_t)(end - from));
}

void put_float(struct writer *w, float x)
{
    static const double tens[] = {1e0, 1e1, 1e2, 1e3,  1e4,  1e5, 1e6,
                                  1e7, 1e8, 1e9, 1e10, 1e11, 1e12};
    double size = fabs((double)x);
    char text[32];

    if (!isfinite(x)) {
        value(w, "null", 4);
        return;
    }
    /* From as few places as six digits take to as many as nine do. */
    if (size >= 1e-3 && size < 1e7) {
        int before = size < 1e-2 ? -2 : size < 1e-1 ? -1 : size < 1 ? 0 : (int)log10(size) + 1;
        int least = 6 - before > 0 ? 6 - before : 0;

        for (int places = least; places <= 9 - before && places <= 12; places++) {
            uint64_t n = (uint64_t)(size * tens[places] + 0.5);

            if ((float)((double)n / tens[places]) == (float)size) {
                put_places(w, x < 0, n, places);
                return;
            }
        }
    }
    value(w, text, (size_t)snprintf(text, sizeof text, "%.9g", (double)x));
}

void put_double(struct writer *w, double x)
{
    char text[40];

    if (isfinite(x))
        value(w, text, (size_t)snprintf(text, sizeof text, "%.6g", x));
    else
        value(w, "null", 4);
}
