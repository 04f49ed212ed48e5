/* Text that grows, and numbers for people. */
#include "file/file.h"
#include "study/study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void prose_vadd(struct prose *t, const char *fmt, va_list args)
{
    va_list again;
    int len;

    if (t->status != SHOAL_OK)
        return;
    va_copy(again, args);
    len = number_vprint(NULL, 0, fmt, again);
    va_end(again);
    if (len < 0)
        t->status = shoal_fail(SHOAL_EINVAL, "text: found a format that cannot be printed");
    else
        t->status = bytes_reserve(&t->bytes, (size_t)len + 1);
    if (t->status != SHOAL_OK)
        return;
    number_vprint(t->bytes.at + t->bytes.len, (size_t)len + 1, fmt, args);
    t->bytes.len += (size_t)len;
}

void prose_add(struct prose *t, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    prose_vadd(t, fmt, args);
    va_end(args);
}

void prose_escape(struct prose *t, const char *words)
{
    static const char *const entities[256] = {
        ['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;", ['\''] = "&#39;"};

    for (; *words; words++) {
        unsigned char c = (unsigned char)*words;

        if (entities[c])
            prose_add(t, "%s", entities[c]);
        else
            prose_add(t, "%c", c < 0x20 ? ' ' : c);
    }
}

void prose_json(struct prose *t, const char *words)
{
    prose_add(t, "\"");
    for (; *words; words++) {
        unsigned char c = (unsigned char)*words;

        if (c < 0x20 || strchr("\"\\<>&", c))
            prose_add(t, "\\u%04x", c);
        else
            prose_add(t, "%c", c);
    }
    prose_add(t, "\"");
}

void prose_wrap(struct prose *t, const char *before, const char *words, const char *after)
{
    prose_add(t, "%s", before);
    prose_escape(t, words);
    prose_add(t, "%s", after);
}

void prose_fini(struct prose *t)
{
    bytes_fini(&t->bytes);
}

shoal_status prose_take(struct prose *t, char **text)
{
    if (t->status != SHOAL_OK)
        prose_fini(t);
    *text = t->bytes.at;
    return t->status;
}

shoal_status prose_write(const struct prose *t, const char *path)
{
    struct output *o = NULL;
    shoal_status st = t->status;

    if (st == SHOAL_OK)
        st = output_open(&o, path);
    if (st == SHOAL_OK)
        st = output_write(o, t->bytes.at, t->bytes.len);
    return output_end(o, st);
}

shoal_status prose_write_in(const struct prose *t, const char *folder, const char *name)
{
    char *path = mem_text("%s/%s", folder, name);
    shoal_status st = path ? prose_write(t, path) : SHOAL_ENOMEM;

    free(path);
    return st;
}

/* ---- numbers ---- */

struct short_number number_as(const char *fmt, ...)
{
    struct short_number n;
    va_list args;

    va_start(args, fmt);
    number_vprint(n.text, sizeof n.text, fmt, args);
    va_end(args);
    return n;
}

/* Three digits that matter, and none behind the point that do not. */
static int digits_of(double x)
{
    x = fabs(x);
    return x >= 99.95 ? 0 : x >= 9.995 ? 1 : 2;
}

/* In the unit, each `by` times the one before, that leaves three digits before the point. */
static struct short_number scaled(double x, double by, const char *const units[5])
{
    size_t i = 0;

    if (!isfinite(x))
        return number_as("-");
    for (; fabs(x) >= 999.5 && i < 4; i++)
        x /= by;
    return number_as("%.*f%s", i == 0 && x == floor(x) ? 0 : digits_of(x), x, units[i]);
}

struct short_number number_short(double x)
{
    return scaled(x, 1000, (const char *const[]){"", " k", " M", " G", " T"});
}

struct short_number number_bytes(double bytes)
{
    return scaled(bytes, 1024, (const char *const[]){" B", " KiB", " MiB", " GiB", " TiB"});
}

struct short_number number_share(double share)
{
    if (!isfinite(share))
        return number_as("-");
    return number_as("%.*f %%", fabs(share) < 0.0995 && share != 0 ? 1 : 0, 100 * share);
}

struct short_number number_time(double seconds)
{
    static const struct {
        double from, by;
        int digits;
        const char *unit;
    } ways[] = {{3600, 3600, 2, "h"},  {600, 60, 1, "min"},       {99.95, 1, 1, "s"},
                {9.995, 1, 2, "s"},    {0.1, 1, 3, "s"},          {9.995e-3, 1e-3, 1, "ms"},
                {1e-3, 1e-3, 2, "ms"}, {-INFINITY, 1e-3, 4, "ms"}};
    size_t i = 0;

    if (isinf(seconds))
        return number_as("never");
    if (isnan(seconds))
        return number_as("-");
    if (seconds == 0)
        return number_as("0.000 s");
    while (seconds < ways[i].from)
        i++;
    return number_as("%.*f %s", ways[i].digits, seconds / ways[i].by, ways[i].unit);
}

struct short_number number_plain(double x)
{
    if (!isfinite(x))
        return number_as("-");
    return number_as(x == floor(x) && fabs(x) < 1e7 ? "%.0f" : "%.4g", x);
}
