#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void before_value(struct json *j)
{
    if (j->comma)
        fputc(',', j->to);
    j->comma = true;
}

void out_open(struct json *j, char bracket)
{
    before_value(j);
    fputc(bracket, j->to);
    j->comma = false;
}

void out_close(struct json *j, char bracket)
{
    fputc(bracket, j->to);
    j->comma = true;
}

void out_key(struct json *j, const char *key)
{
    out_string(j, key);
    fputc(':', j->to);
    j->comma = false;
}

/* The length of the UTF-8 character at `at`, 1 to 4, or 0 when there is none:
 * no shorter form, no surrogate, nothing beyond U+10FFFF. */
static size_t character(const unsigned char *at)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = at[0] < 0x80 ? 1 : at[0] < 0xc0 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    uint32_t code;

    if (n < 2 || at[0] >= 0xf8)
        return n == 1;
    code = at[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3f);
    }
    return code < least[n] || code > 0x10ffff || (code & 0xfffff800) == 0xd800 ? 0 : n;
}

/* Control characters of two bytes too: they would reach a terminal. */
static bool is_control(const unsigned char *at, size_t n)
{
    return n == 1 ? at[0] < 0x20 || at[0] == 0x7f : at[0] == 0xc2 && at[1] < 0xa0;
}

void out_string(struct json *j, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    before_value(j);
    fputc('"', j->to);
    while (*at) {
        size_t n = character(at);

        if (n == 0)
            fputs("\\ufffd", j->to);
        else if (is_control(at, n))
            fprintf(j->to, "\\u%04x", at[n - 1]);
        else
            fprintf(j->to, "%s%.*s", *at == '"' || *at == '\\' ? "\\" : "", (int)n,
                    (const char *)at);
        at += n > 0 ? n : 1;
    }
    fputc('"', j->to);
}

void out_count(struct json *j, uint64_t n)
{
    before_value(j);
    fprintf(j->to, "%" PRIu64, n);
}

void out_real(struct json *j, double x)
{
    before_value(j);
    fprintf(j->to, isfinite(x) ? "%.6g" : "null", x);
}

void out_put_string(struct json *j, const char *key, const char *text)
{
    out_key(j, key);
    out_string(j, text);
}

void out_put_real(struct json *j, const char *key, double x)
{
    out_key(j, key);
    out_real(j, x);
}

void out_line(struct json *j)
{
    fputc('\n', j->to);
    j->comma = false;
}
