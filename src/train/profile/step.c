/* One step of a net on several ranks, moment by moment: whether gradients travel behind the
 * backward pass or are waited for. Every rank keeps its last whole step; all are gathered once, at
 * the end. */
#include "train/profile/profile.h"

#include <math.h>
#include <stdlib.h>

/* Clocks of hosts differ: all count from where ranks met when the timeline began. */
static struct step_trace since(const struct step_trace *from, double zero)
{
    struct step_trace t = *from;

    t.began -= zero;
    t.backward -= zero;
    t.computed -= zero;
    t.ended -= zero;
    for (uint32_t i = 0; i < t.layers; i++)
        t.ready[i] -= zero;
    for (uint32_t i = 0; i < t.trips; i++) {
        t.trip[i].sent -= zero;
        t.trip[i].fresh -= zero;
    }
    return t;
}

/* Whatever came: there are as many moments as it says, and time goes on. NaN is in no order. */
static bool sane(const struct step_trace *t)
{
    double last = t->backward;

    if (t->layers > STEP_LAYERS || t->trips > STEP_TRIPS)
        return false;
    if (t->trips == 0)
        return true;
    if (!isfinite(t->began) || !isfinite(t->ended) || !(t->began <= t->backward) ||
        !(t->backward <= t->computed) || !(t->computed <= t->ended))
        return false;
    for (uint32_t i = 0; i < t->layers; last = t->ready[i++])
        if (!(t->ready[i] >= last && t->ready[i] <= t->ended))
            return false;
    for (uint32_t i = 0; i < t->trips; i++)
        if (!(t->trip[i].sent >= t->began && t->trip[i].sent <= t->trip[i].fresh &&
              t->trip[i].fresh <= t->ended))
            return false;
    return true;
}

static shoal_status check_steps(struct profile *p, const size_t *lens)
{
    for (unsigned r = 0; r < comm_size(p->comm) && r < SHOAL_PROFILE_ROWS; r++)
        if (lens[r] != sizeof *p->steps || !sane(&p->steps[r]))
            return shoal_fail(SHOAL_EFORMAT, "profile: rank %u gave %zu bytes that are no step", r,
                              lens[r]);
    return SHOAL_OK;
}

/* Servers have no steps: theirs stay as they are. */
static void begin_at_zero(struct step_trace *steps, size_t n)
{
    double first = INFINITY;

    for (size_t i = 0; i < n; i++)
        if (steps[i].trips > 0)
            first = fmin(first, steps[i].began);
    for (size_t i = 0; i < n; i++)
        if (steps[i].trips > 0)
            steps[i] = since(&steps[i], first);
}

shoal_status steps_gather(struct profile *p, const struct step_trace *mine)
{
    struct step_trace t = since(mine, p->timeline.began);
    bool shown = comm_rank(p->comm) < SHOAL_PROFILE_ROWS;
    char *data = NULL;
    size_t *lens = NULL;
    shoal_status st = comm_gather(p->comm, &t, shown ? sizeof t : 0, &data, &lens);

    p->steps = (struct step_trace *)(void *)data;
    if (st == SHOAL_OK)
        st = check_steps(p, lens);
    free(lens);
    if (st != SHOAL_OK)
        return st;
    p->nsteps = comm_size(p->comm) < SHOAL_PROFILE_ROWS ? comm_size(p->comm) : SHOAL_PROFILE_ROWS;
    begin_at_zero(p->steps, p->nsteps);
    return SHOAL_OK;
}
