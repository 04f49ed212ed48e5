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

unsigned shoal_version_num(void)
{
    return SHOAL_VERSION_NUM;
}

/* Names and words in a sentence are a stranger's: what a terminal would obey becomes
 * question marks, what is no UTF-8 U+FFFD. Cut where it does not fit. */
static void disarm(char *out, size_t room, const char *text)
{
    static const char unknown[] = "\xef\xbf\xbd";
    const char *end = text + strlen(text);
    size_t at = 0;

    while (text < end) {
        bool good;
        size_t n = character_len(text, (size_t)(end - text), &good);
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
