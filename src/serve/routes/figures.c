/* Arrays of numbers, the body of most requests, read in one pass: jansson would allocate a
 * value for each number. Whatever is not exactly such an array is left to jansson, which
 * then also finds the words for what is wrong with it. */
#include "serve/parse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 40 }; /* characters; longer ones are left to jansson */

struct scan {
    const char *at, *end;
};

static void skip(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\t' || *s->at == '\r'))
        s->at++;
}

/* Takes c, with the white space before it. */
static bool take(struct scan *s, char c)
{
    skip(s);
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

static bool is_digit(const struct scan *s)
{
    return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

/* Digits into a mantissa that stays exact, and how many there were. */
static unsigned digits(struct scan *s, uint64_t *mantissa)
{
    unsigned n = 0;

    for (; is_digit(s); s->at++, n++)
        *mantissa = *mantissa * 10 + (uint64_t)(*s->at - '0');
    return n;
}

/* e-12; false when it has no digit or too many. */
static bool exponent(struct scan *s, int *out)
{
    uint64_t e = 0;
    bool minus;
    unsigned n;

    if (s->at == s->end || (*s->at != 'e' && *s->at != 'E'))
        return true;
    s->at++;
    minus = s->at < s->end && *s->at == '-';
    s->at += s->at < s->end && (*s->at == '-' || *s->at == '+');
    n = digits(s, &e);
    if (n == 0 || n > 3)
        return false;
    *out += minus ? -(int)e : (int)e;
    return true;
}

/* A mantissa below 2^53 and a power of ten up to 10^22 are exact as doubles, so that one
 * multiplication or division of them rounds correctly (Clinger 1990, "How to read floating
 * point numbers accurately"). The rest is left to strtod. */
static bool scale(const char *from, const char *to, uint64_t mantissa, unsigned n, int power,
                  double *out)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    char text[NUMBER_MAX + 1];

    if (n <= 19 && mantissa < (uint64_t)1 << 53 && power >= -22 && power <= 22) {
        *out = power < 0 ? (double)mantissa / tens[-power] : (double)mantissa * tens[power];
        return true;
    }
    if (to - from > NUMBER_MAX)
        return false;
    memcpy(text, from, (size_t)(to - from));
    text[to - from] = '\0';
    *out = number_read(text, NULL);
    return true;
}

/* As JSON has them: no leading zeros or plus, digits on both sides of a point. */
static bool number(struct scan *s, float *out)
{
    bool minus = s->at < s->end && *s->at == '-';
    const char *from;
    uint64_t mantissa = 0;
    unsigned whole, fraction = 0;
    int power = 0;
    double x;

    s->at += minus;
    from = s->at;
    whole = digits(s, &mantissa);
    if (whole == 0 || (whole > 1 && *from == '0'))
        return false;
    if (s->at < s->end && *s->at == '.') {
        s->at++;
        fraction = digits(s, &mantissa);
        if (fraction == 0 || fraction > NUMBER_MAX)
            return false;
    }
    power = -(int)fraction;
    if (!exponent(s, &power) || !scale(from, s->at, mantissa, whole + fraction, power, &x))
        return false;
    *out = (float)(minus ? -x : x);
    return isfinite(*out);
}

/* [1, 2, 3] behind its bracket; *count of them. */
static bool row(struct scan *s, struct figures *n, size_t *count)
{
    void *at;

    *count = 0;
    do {
        float x;

        skip(s);
        if (!number(s, &x))
            return false;
        at = n->at;
        if (n->len == n->cap && mem_grow(&at, &n->cap, n->len + 1, sizeof *n->at) != SHOAL_OK)
            return false;
        n->at = at;
        n->at[n->len++] = x;
        ++*count;
    } while (take(s, ','));
    return take(s, ']');
}

static bool rows(struct scan *s, struct figures *n)
{
    size_t count;

    do {
        if (!take(s, '[') || !row(s, n, &count))
            return false;
        if (n->rows > 0 && count != n->width)
            return false;
        n->width = count;
        n->rows++;
    } while (take(s, ','));
    return take(s, ']');
}

static bool array(struct scan *s, struct figures *n)
{
    if (!take(s, '['))
        return false;
    skip(s);
    n->nested = s->at < s->end && *s->at == '[';
    if (n->nested)
        return rows(s, n);
    n->rows = 1;
    return row(s, n, &n->width);
}

bool figures_scan(struct figures *out, const char *at, size_t len)
{
    static const char key[] = "\"instances\"";
    struct scan s = {at, at + len};

    out->len = out->rows = out->width = 0;
    out->nested = false;
    out->instances = take(&s, '{');
    if (out->instances) {
        skip(&s);
        if ((size_t)(s.end - s.at) < sizeof key || memcmp(s.at, key, sizeof key - 1) != 0)
            return false;
        s.at += sizeof key - 1;
        if (!take(&s, ':') || !array(&s, out) || !out->nested || !take(&s, '}'))
            return false;
    } else if (!array(&s, out)) {
        return false;
    }
    skip(&s);
    return s.at == s.end;
}

void figures_fini(struct figures *n)
{
    free(n->at);
    *n = (struct figures){0};
}
