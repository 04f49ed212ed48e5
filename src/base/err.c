#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The one thing the library keeps between calls, as errno is kept. */
static _Thread_local char sentence[1024];

const char *shoal_error(void)
{
    return sentence;
}

const char *shoal_status_name(shoal_status status)
{
    switch (status) {
#define X(name, value, text)                                                                       \
    case SHOAL_##name:                                                                             \
        return #name;
        SHOAL_STATUS_MAP(X)
#undef X
    }
    return "?";
}

const char *shoal_version(void)
{
    return SHOAL_VERSION;
}

/* Neither a control (U+0000 to 1F, 7F to 9F) nor one that turns the direction of
 * what follows (U+202A to 2E, U+2066 to 69). */
static bool shows(uint32_t c)
{
    return c >= 0x20 && !(c >= 0x7f && c < 0xa0) && !(c >= 0x202a && c <= 0x202e) &&
           !(c >= 0x2066 && c <= 0x2069);
}

/* The bytes of the character at `at`, 0 where it is no UTF-8; and whether it shows. */
static size_t character(const unsigned char *at, bool *good)
{
    size_t more = at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 1 : at[0] < 0xf0 ? 2 : 3;
    uint32_t c = more == 0 ? at[0] : at[0] & (0x3fu >> more);

    *good = at[0] < 0x80 || (at[0] >= 0xc2 && at[0] < 0xf5);
    for (size_t i = 1; i <= more && *good; i++) {
        *good = (at[i] & 0xc0) == 0x80; /* which the NUL at the end is not */
        c = c << 6 | (at[i] & 0x3f);
    }
    if (!*good)
        return 0;
    *good = shows(c);
    return more + 1;
}

/* Names and words in a sentence are a stranger's: what a terminal would obey becomes
 * question marks, what is no UTF-8 U+FFFD. Cut where it does not fit. */
static void disarm(char *out, size_t room, const char *text)
{
    static const char unknown[] = "\xef\xbf\xbd";
    size_t at = 0;

    while (*text) {
        bool good;
        size_t n = character((const unsigned char *)text, &good);
        const char *piece = good ? text : n > 0 ? "?" : unknown;
        size_t len = good ? n : strlen(piece);

        if (at + len >= room)
            break;
        memcpy(out + at, piece, len);
        at += len;
        text += n > 0 ? n : 1;
    }
    out[at] = '\0';
}

/* Callers may pass shoal_error() itself as an argument, so the sentence is
 * composed aside first. */
static void remember(const char *fmt, va_list args, const char *tail)
{
    char text[sizeof sentence];
    int n = number_vprint(text, sizeof text, fmt, args);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;

    text[len] = '\0';
    if (tail)
        snprintf(text + len, sizeof text - len, ": %s", tail);
    disarm(sentence, sizeof sentence, text);
}

shoal_status shoal_fail(shoal_status code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    remember(fmt, args, NULL);
    va_end(args);
    return code;
}

shoal_status shoal_fail_errno(shoal_status code, const char *fmt, ...)
{
    char words[128];
    va_list args;

    /* glibc's strerror_r returns the text, which may lie outside the buffer. */
    const char *tail = strerror_r(errno, words, sizeof words);
    va_start(args, fmt);
    remember(fmt, args, tail);
    va_end(args);
    return code;
}
