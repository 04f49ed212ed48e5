#include "base/base.h"

#include <string.h>

/* Neither a control (U+0000 to 1F, 7F to 9F) nor one that turns the direction of
 * what follows (U+202A to 2E, U+2066 to 69). */
static bool shows(uint32_t c)
{
    return c >= 0x20 && !(c >= 0x7f && c < 0xa0) && !(c >= 0x202a && c <= 0x202e) &&
           !(c >= 0x2066 && c <= 0x2069);
}

/* Bytes that follow a first byte; -1 where it is none. */
static int followers(unsigned char first)
{
    if (first < 0x80)
        return 0;
    if (first < 0xc2 || first >= 0xf5)
        return -1;
    return first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
}

size_t character_len(const void *text, size_t len, bool *good)
{
    const unsigned char *at = text;
    int more = followers(at[0]);
    uint32_t c = more <= 0 ? at[0] : at[0] & (0x3fu >> more);

    *good = false;
    if (more < 0 || (size_t)more >= len)
        return 0;
    for (int i = 1; i <= more; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (at[i] & 0x3f);
    }
    *good = shows(c);
    return (size_t)more + 1;
}

size_t character_cut(const void *text, size_t len)
{
    const unsigned char *end = (const unsigned char *)text + len;

    for (size_t n = 1; n <= 3 && n <= len; n++)
        if ((end[-(ptrdiff_t)n] & 0xc0) != 0x80)
            return followers(end[-(ptrdiff_t)n]) >= (int)n ? n : 0;
    return 0;
}

bool line_next(const char **at, const char *end, const char **line, size_t *len)
{
    const char *stop;

    if (*at >= end)
        return false;
    stop = memchr(*at, '\n', (size_t)(end - *at));
    *line = *at;
    *len = (size_t)((stop ? stop : end) - *at);
    *at = stop ? stop + 1 : end;
    return true;
}
