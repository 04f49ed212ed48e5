/* Numbers as people write them: with a comma for their point, separators of thousands, a currency
 * or a percent sign. What they are stays as it is written: 12 % is 12. */
#include "columns/columns.h"

#include <math.h>

enum { LONGEST = 64 }; /* bytes of such a number */

/* ---- signs around ---- */

static const char *const signs[] = {"$", "%", "\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5"}; /* € £ ¥ */

static bool drop_front(struct span *f, const char *text)
{
    size_t len = strlen(text);

    if (f->len <= len || memcmp(f->at, text, len) != 0)
        return false;
    *f = (struct span){f->at + len, f->len - (uint32_t)len};
    return true;
}

static bool drop_back(struct span *f, const char *text)
{
    size_t len = strlen(text);

    if (f->len <= len || memcmp(f->at + f->len - len, text, len) != 0)
        return false;
    f->len -= (uint32_t)len;
    return true;
}

/* One of them before or behind the number, with a blank between or not. */
static void drop_signs(struct span *f)
{
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if ((signs[i][0] != '%' && drop_front(f, signs[i])) || drop_back(f, signs[i]))
            break;
    while (f->len > 0 && is_blank(*f->at))
        *f = (struct span){f->at + 1, f->len - 1};
    while (f->len > 0 && is_blank(f->at[f->len - 1]))
        f->len--;
}

/* ---- separators of thousands ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits with a separator before each three of them, as 1,234,567: copied without, up to *to.
 * NULL: the separators stand elsewhere; else where it ended, whether there was one or not. */
static const char *copy_whole(const char *at, const char *end, char separator, char **to)
{
    const char *begin = at;
    size_t group = 0;
    bool grouped = false;

    for (; at < end && (is_digit(*at) || *at == separator); at++) {
        if (is_digit(*at)) {
            *(*to)++ = *at;
            group++;
            continue;
        }
        if (group == 0 || group > 3 || (grouped && group != 3) || (*begin == '0' && !grouped))
            return NULL;
        grouped = true;
        group = 0;
    }
    return grouped && group != 3 ? NULL : at;
}

/* The number with a plain point and nothing else between its digits; its length, or 0. */
static size_t plain_text(struct span f, bool comma, char out[LONGEST])
{
    char separator = comma ? '.' : ',', point = comma ? ',' : '.', *to = out;
    const char *at, *end;

    if (f.len >= LONGEST)
        return 0;
    if (*f.at == '-' || *f.at == '+') {
        *to++ = *f.at;
        f = (struct span){f.at + 1, f.len - 1};
    }
    drop_signs(&f);
    end = f.at + f.len;
    at = copy_whole(f.at, end, separator, &to);
    for (; at && at < end; at++)
        *to++ = *at == point ? '.' : *at == separator ? '?' : *at;
    return at ? (size_t)(to - out) : 0;
}

static bool decorated_number(const struct column *c, struct span f, double *x)
{
    char text[LONGEST];
    size_t len = plain_text(f, c->comma, text);

    return len > 0 && decimal_parse_double(text, text + len, x) == text + len;
}

/* ---- all of it ---- */

/* Where a comma is the point, 1.234 is a thousand. */
bool column_number(const struct column *c, struct span f, double *x)
{
    bool found = false;

    if (f.len == 0)
        return false;
    if (c->comma)
        found = decorated_number(c, f, x);
    if (!found)
        found = decimal_parse_double(f.at, f.at + f.len, x) == f.at + f.len;
    if (!found && !c->comma)
        found = decorated_number(c, f, x);
    return found && fabs(*x) <= 1e300;
}
