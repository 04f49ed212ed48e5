/* Floats as decimal text, both ways exact, where strtof and printf would take too long.
 *
 * Reading: the digits are a whole number m of up to 19 digits and a power of ten e. As doubles,
 * m 10^e has two roundings (of m, and of the product; 10^e is exact up to 22), so the result is
 * within 2 units of the double's last place. A double has 29 bits more than a float. Rounding it to
 * a float is right unless the true value could lie on the other side of the middle between two
 * floats, that is unless those 29 bits are within 2 of 10...0, as 5 of 2^29 are; then, and beyond
 * the powers that are exact, and near the ends of a float's range, strtof decides.
 *
 * Writing: nine digits always suffice for a float; the fewest of six to nine that read back as the
 * same float are taken, less the zeros at their end. */
#include "base/base.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_POWER 22 /* 10^22 is the last power of ten that is a double */

static const double powers[] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13,
    1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27,
    1e28, 1e29, 1e30, 1e31, 1e32, 1e33, 1e34, 1e35, 1e36, 1e37, 1e38, 1e39, 1e40, 1e41,
    1e42, 1e43, 1e44, 1e45, 1e46, 1e47, 1e48, 1e49, 1e50, 1e51, 1e52, 1e53,
};

static double times_power(double x, int exponent)
{
    return exponent < 0 ? x / powers[-exponent] : x * powers[exponent];
}

/* m * 10^exponent, when it is sure. */
static bool make_float(uint64_t m, int64_t exponent, float *out)
{
    uint64_t bits;
    double x;

    *out = 0;
    if (m == 0)
        return true;
    if (exponent < -EXACT_POWER || exponent > EXACT_POWER)
        return false;
    x = times_power((double)m, (int)exponent);
    memcpy(&bits, &x, sizeof bits);
    if (x < 2 * (double)FLT_MIN || x > (double)FLT_MAX / 2 ||
        (bits & 0x1fffffff) - (0x10000000 - 2) <= 4)
        return false;
    *out = (float)x;
    return true;
}

/* ---- reading ---- */

static bool is_digit(const char *at, const char *end)
{
    return at < end && (unsigned char)(*at - '0') < 10;
}

struct decimal {
    uint64_t m; /* of up to 19 digits; those behind do not matter here */
    int64_t exponent;
    bool any;
};

static const char *read_digits(const char *at, const char *end, struct decimal *d, int step)
{
    for (; is_digit(at, end); at++) {
        d->any = true;
        if (d->m < 1000000000000000000u) {
            d->m = d->m * 10 + (uint64_t)(*at - '0');
            d->exponent += step;
        } else {
            d->exponent += step + 1;
        }
    }
    return at;
}

static const char *read_exponent(const char *at, const char *end, struct decimal *d)
{
    const char *begin = at;
    bool minus;
    int value = 0;

    if (at == end || (*at != 'e' && *at != 'E'))
        return at;
    at++;
    minus = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    if (!is_digit(at, end))
        return begin;
    for (; is_digit(at, end); at++)
        value = value < 100000 ? value * 10 + (*at - '0') : value;
    d->exponent += minus ? -value : value;
    return at;
}

static bool parse_slowly(const char *at, size_t len, float *out)
{
    char text[512];

    if (len >= sizeof text)
        return false;
    memcpy(text, at, len);
    text[len] = '\0';
    *out = number_read_float(text, NULL);
    return true;
}

/* Up to where the number goes that begins at `at`; NULL: there is none. */
static const char *read_decimal(const char *at, const char *end, struct decimal *d)
{
    at += at < end && (*at == '-' || *at == '+');
    at = read_digits(at, end, d, 0);
    if (at < end && *at == '.')
        at = read_digits(at + 1, end, d, -1);
    if (d->any)
        at = read_exponent(at, end, d);
    return d->any && (at == end || is_blank(*at)) ? at : NULL;
}

const char *decimal_parse(const char *at, const char *end, float *out)
{
    struct decimal d = {0};
    const char *begin = at;

    at = read_decimal(at, end, &d);
    if (!at)
        return NULL;
    if (make_float(d.m, d.exponent, out))
        *out = *begin == '-' ? -*out : *out;
    else if (!parse_slowly(begin, (size_t)(at - begin), out))
        return NULL;
    return at;
}

const char *decimal_parse_double(const char *at, const char *end, double *out)
{
    struct decimal d = {0};
    const char *begin = at;
    char text[512];

    at = read_decimal(at, end, &d);
    if (!at)
        return NULL;
    if (d.m == 0 || (d.exponent >= -EXACT_POWER && d.exponent <= EXACT_POWER)) {
        *out = d.m == 0 ? 0 : times_power((double)d.m, (int)d.exponent);
        *out = *begin == '-' ? -*out : *out;
        return at;
    }
    if ((size_t)(at - begin) >= sizeof text)
        return NULL;
    memcpy(text, begin, (size_t)(at - begin));
    text[at - begin] = '\0';
    *out = number_read(text, NULL);
    return at;
}

/* ---- writing ---- */

#define NINE_DIGITS 1e8 /* the least of them */

/* x > 0 moved to where it has nine digits before its point, once rounded; and
 * the exponent of its first digit. */
static double nine_digits(float x, int *exponent)
{
    int e = (int)floor((ilogbf(x) + 0.5) * 0.30102999566398120); /* within 1 */
    double scaled = times_power((double)x, 8 - e);

    if (rint(scaled) >= 10 * NINE_DIGITS)
        scaled = times_power((double)x, 8 - ++e);
    else if (rint(scaled) < NINE_DIGITS)
        scaled = times_power((double)x, 8 - --e);
    *exponent = e;
    return scaled;
}

/* The shortest that reads back, as nine digits with zeros at their end. */
static uint64_t shorten(float x, double scaled, int exponent)
{
    static const uint64_t cuts[] = {1000, 100, 10};

    for (int i = 0; i < 3; i++) {
        uint64_t cut = (uint64_t)rint(scaled / (double)cuts[i]);
        float back;

        if (make_float(cut, exponent - 5 - i, &back) && back == x)
            return cut * cuts[i];
    }
    return (uint64_t)rint(scaled);
}

static size_t put_digits(char *out, const char *digits, int n)
{
    memcpy(out, digits, (size_t)n);
    return (size_t)n;
}

/* 0.00123 or 123.4 or 123000 */
static size_t put_fixed(char *out, const char *digits, int n, int exponent)
{
    char *at = out;

    if (exponent < 0) {
        *at++ = '0';
        *at++ = '.';
        for (int i = -1; i > exponent; i--)
            *at++ = '0';
        return (size_t)(at - out) + put_digits(at, digits, n);
    }
    for (int i = 0; i <= exponent; i++)
        *at++ = i < n ? digits[i] : '0';
    if (n > exponent + 1) {
        *at++ = '.';
        at += put_digits(at, digits + exponent + 1, n - exponent - 1);
    }
    return (size_t)(at - out);
}

/* 1.23e-07 */
static size_t put_scientific(char *out, const char *digits, int n, int exponent)
{
    char *at = out;
    int size = exponent < 0 ? -exponent : exponent;

    *at++ = digits[0];
    if (n > 1) {
        *at++ = '.';
        at += put_digits(at, digits + 1, n - 1);
    }
    *at++ = 'e';
    *at++ = exponent < 0 ? '-' : '+';
    *at++ = (char)('0' + size / 10);
    *at++ = (char)('0' + size % 10);
    return (size_t)(at - out);
}

size_t decimal_format(char out[DECIMAL_MAX], float value)
{
    char digits[9];
    int n = 9, exponent;
    double scaled;
    uint64_t m;
    bool minus = signbit(value);

    if (minus)
        *out++ = '-';
    if (value == 0) {
        *out = '0';
        return 1u + minus;
    }
    scaled = nine_digits(fabsf(value), &exponent);
    m = shorten(fabsf(value), scaled, exponent);
    if (m >= 1000000000) {
        m /= 10;
        exponent++;
    }
    for (int i = 8; i >= 0; i--, m /= 10)
        digits[i] = (char)('0' + m % 10);
    while (n > 1 && digits[n - 1] == '0')
        n--;
    return minus + (exponent < -4 || exponent > 8 ? put_scientific(out, digits, n, exponent)
                                                  : put_fixed(out, digits, n, exponent));
}
