/* Numbers in files are the same in any locale. A program that uses the library may
 * have set one that writes a comma for the point; the thread's own is then changed for
 * as long as a number is read or written. glibc's newlocale of "C" allocates nothing. */
#include "base/base.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* NULL where there is no memory: then the program's own has to do. */
static locale_t plain_locale(void)
{
    return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static void plain_end(locale_t c)
{
    if (c)
        freelocale(c);
}

double number_read(const char *text, char **end)
{
    locale_t c = plain_locale();
    double x = c ? strtod_l(text, end, c) : strtod(text, end);

    plain_end(c);
    return x;
}

float number_read_float(const char *text, char **end)
{
    locale_t c = plain_locale();
    float x = c ? strtof_l(text, end, c) : strtof(text, end);

    plain_end(c);
    return x;
}

int number_vprint(char *out, size_t cap, const char *fmt, va_list args)
{
    locale_t c = plain_locale(), was = c ? uselocale(c) : (locale_t)0;
    int len = vsnprintf(out, cap, fmt, args);

    if (c)
        uselocale(was);
    plain_end(c);
    return len;
}

int number_print(char *out, size_t cap, const char *fmt, ...)
{
    va_list args;
    int len;

    va_start(args, fmt);
    len = number_vprint(out, cap, fmt, args);
    va_end(args);
    return len;
}

const char *number_digits(const char *at, const char *end, uint64_t *out)
{
    const char *begin = at;

    for (*out = 0; at < end && *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(*out, 10u, out) ||
            __builtin_add_overflow(*out, (unsigned)(*at - '0'), out))
            return NULL;
    return at > begin ? at : NULL;
}

void number_exact(char *out, size_t cap, double x)
{
    /* 17 digits tell any two doubles apart. */
    for (int digits = 6; digits <= 17; digits++) {
        number_print(out, cap, "%.*g", digits, x);
        if (number_read(out, NULL) == x)
            break;
    }
}
