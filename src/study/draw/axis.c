/* Numbers along an axis: round ticks, a unit that keeps them short. */
#include "study/draw/draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TICKS_WANTED = 5, TICKS_MOST = 16 };

/* ---- units ---- */

struct unit {
    double from; /* what the most of an axis must come to */
    double by;
    const char *name;
};

/* The units of each axis, the smallest first. */
static const struct unit units[][5] = {
    [AXIS_PLAIN] = {{0, 1, ""}},
    [AXIS_SECONDS] = {{0, 1e-3, "ms"}, {0.5, 1, "s"}, {300, 60, "min"}, {7200, 3600, "h"}},
    [AXIS_COUNT] = {{0, 1, ""},
                    {1e4, 1e3, "thousand"},
                    {1e6, 1e6, "million"},
                    {1e9, 1e9, "billion"}},
    [AXIS_BYTES] = {{0, 1, "B"},
                    {1 << 10, 1 << 10, "KiB"},
                    {1 << 20, 1 << 20, "MiB"},
                    {1 << 30, 1 << 30, "GiB"}},
    [AXIS_SHARE] = {{0, 0.01, "%"}},
};

/* The largest unit that keeps the largest value of an axis above a few of it. */
static struct unit unit_for(enum axis axis, double most)
{
    const struct unit *u = units[axis];

    while (u[1].name && most >= u[1].from)
        u++;
    return *u;
}

/* ---- ticks ---- */

/* 1, 2 or 5 times a power of ten, at least x. */
static double round_step(double x)
{
    double power = pow(10, floor(log10(x))), digit = x / power;

    return power * (digit <= 1.0001 ? 1 : digit <= 2.0001 ? 2 : digit <= 5.0001 ? 5 : 10);
}

static void ticks_linear(struct scale *s)
{
    double step = round_step((s->to - s->from) / TICKS_WANTED / s->by) * s->by;

    s->from = floor(s->from / step + 1e-9) * step;
    s->to = ceil(s->to / step - 1e-9) * step;
    for (size_t i = 0; i < TICKS_MOST && s->from + (double)i * step <= s->to + step / 2; i++) {
        s->ticks[i] = s->from + (double)i * step;
        s->nticks = i + 1;
    }
    while (s->digits < 6 && pow(10, -(double)s->digits) > step / s->by * 1.0001)
        s->digits++;
}

/* Powers of two where they are few, else of ten. */
static void ticks_log(struct scale *s)
{
    double base = s->to / s->from <= 300 ? 2 : 10;
    double first = floor(log(s->from) / log(base) + 1e-9);
    double last = ceil(log(s->to) / log(base) - 1e-9);
    double stride = ceil((last - first + 1) / (double)TICKS_MOST);

    s->from = pow(base, first);
    s->to = pow(base, last);
    for (double e = first; e <= last && s->nticks < TICKS_MOST; e += stride)
        s->ticks[s->nticks++] = pow(base, e);
    while (s->digits < 6 && pow(10, -(double)s->digits) > s->from / s->by * 1.0001)
        s->digits++;
}

struct scale scale_of(double least, double most, enum axis axis, bool log, bool from_zero)
{
    struct unit unit = unit_for(axis, fmax(fabs(least), fabs(most)));
    struct scale s = {.from = least, .to = most, .by = unit.by, .unit = unit.name};

    s.log = log && least > 0;
    if (from_zero && !s.log)
        s.from = fmin(0, least), s.to = fmax(0, most);
    if (!(s.to - s.from > fmax(1e-9 * fmax(fabs(s.from), fabs(s.to)), 1e-290))) {
        double around = s.log ? s.to / 2 : fabs(s.to) > 1e-290 ? fabs(s.to) * 0.1 : 1;

        s.from -= around;
        s.to += around;
    }
    if (s.log)
        ticks_log(&s);
    else
        ticks_linear(&s);
    return s;
}

double scale_at(const struct scale *s, double x)
{
    if (s->log)
        return (log(x) - log(s->from)) / (log(s->to) - log(s->from));
    return (x - s->from) / (s->to - s->from);
}

struct short_number scale_tick(const struct scale *s, double x)
{
    double shown = x / s->by;

    if (fabs(shown) >= 1e6 || (shown != 0 && fabs(shown) < 1e-5))
        return number_as("%.3g", shown);
    if (s->log)
        return number_as("%.7g", shown);
    return number_as("%.*f", (int)s->digits, shown == 0 ? 0.0 : shown);
}

void scale_label(char label[96], const char *name, const struct scale *s)
{
    if (*s->unit)
        number_print(label, 96, "%.60s (%s)", name, s->unit);
    else
        number_print(label, 96, "%.60s", name);
}

static struct short_number share_value(double share)
{
    return number_as("%.4g %%", 100 * share);
}

struct short_number axis_value(enum axis axis, double x)
{
    static struct short_number (*const show[])(double x) = {[AXIS_PLAIN] = number_plain,
                                                            [AXIS_SECONDS] = number_time,
                                                            [AXIS_COUNT] = number_short,
                                                            [AXIS_BYTES] = number_bytes,
                                                            [AXIS_SHARE] = share_value};

    return show[axis](x);
}
