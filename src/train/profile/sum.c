/* Ranks added up, and those at an extreme kept. */
#include "train/profile/profile.h"

#include <math.h>

static uint64_t sum_of(uint64_t a, uint64_t b)
{
    return a == SHOAL_UNKNOWN || b == SHOAL_UNKNOWN ? SHOAL_UNKNOWN : a + b;
}

/* Hosts have cores, ranks share them: they are not added here. */
void profile_add(struct shoal_profile_rank *sum, const struct shoal_profile_rank *r)
{
    sum->held =
        profile_part(sum->held * sum->seconds + r->held * r->seconds, sum->seconds + r->seconds);
    sum->threads += r->threads;
    sum->seconds += r->seconds;
    sum->computing += r->computing;
    sum->communicating += r->communicating;
    sum->waiting += r->waiting;
    sum->other += r->other;
    sum->thread_seconds += r->thread_seconds;
    sum->user += r->user;
    sum->system += r->system;
    sum->queued += r->queued;
    sum->bytes_out += r->bytes_out;
    sum->bytes_in += r->bytes_in;
    sum->far_out += r->far_out;
    sum->far_in += r->far_in;
    sum->disk_read = sum_of(sum->disk_read, r->disk_read);
    sum->disk_written = sum_of(sum->disk_written, r->disk_written);
    sum->faults += r->faults;
    sum->memory += r->memory;
    sum->waits += r->waits;
}

void profile_take(struct shoal_profile *p, const struct shoal_profile_rank *r)
{
    const struct shoal_profile_rank *slow = &p->slowest, *busy = &p->busiest;

    if (p->nrows < SHOAL_PROFILE_ROWS)
        p->rows[p->nrows++] = *r;
    profile_add(&p->all, r);
    if (busy->seconds <= 0 || profile_part(r->communicating, r->seconds) >
                                  profile_part(busy->communicating, busy->seconds))
        p->busiest = *r;
    if (!r->works)
        return;
    profile_add(&p->work, r);
    if (slow->seconds <= 0 ||
        profile_part(r->waiting, r->seconds) < profile_part(slow->waiting, slow->seconds))
        p->slowest = *r;
}

double profile_waiting(const struct shoal_profile *p)
{
    return profile_part(p->work.waiting, p->work.seconds);
}
