#include "base/base.h"

#include <time.h>

#define PULSE_SECONDS 0.1

double clock_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

void pulse_begin(struct pulse *p, const struct shoal_watch *watch, const char *phase,
                 const char *unit, uint64_t total)
{
    double now = clock_now();

    *p = (struct pulse){.watch = *watch, .phase = phase, .unit = unit, .total = total,
                        .began = now, .next = now};
}

static shoal_status pulse_call(struct pulse *p, uint64_t done, double now)
{
    struct shoal_progress progress = {.phase = p->phase, .done = done, .total = p->total,
                                      .unit = p->unit, .seconds = now - p->began};

    if (!p->watch.fn(p->watch.user, &progress))
        return shoal_fail(SHOAL_ESTOP, "%s: stopped on request", p->phase);
    return SHOAL_OK;
}

shoal_status pulse_at(struct pulse *p, uint64_t done)
{
    double now;

    if (!p->watch.fn || (now = clock_now()) < p->next)
        return SHOAL_OK;
    p->next = now + PULSE_SECONDS;
    return pulse_call(p, done, now);
}

shoal_status pulse_end(struct pulse *p, uint64_t done)
{
    return p->watch.fn ? pulse_call(p, done, clock_now()) : SHOAL_OK;
}
