#include "json.h"

#include "console.h"

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

/* Control characters of two bytes are escaped too: they would reach a terminal. */
void out_string(struct json *j, const char *text)
{
    before_value(j);
    fputc('"', j->to);
    for (size_t n; *text; text += n > 0 ? n : 1) {
        uint32_t c;

        n = utf8_read(text, &c);
        if (n == 0)
            fputs("\\ufffd", j->to);
        else if (c < 0x20 || (c >= 0x7f && c < 0xa0))
            fprintf(j->to, "\\u%04x", (unsigned)c);
        else
            fprintf(j->to, "%s%.*s", c == '"' || c == '\\' ? "\\" : "", (int)n, text);
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
