/* What each rank did over time. A rank marks its own sums of seconds now and then; all marks are
 * gathered once, when the run is over. There is room for TIMELINE_MARKS: when it is full every
 * second mark is dropped and the distance doubled, so a run of any length has between half of them
 * and all, evenly spread. */
#include "train/profile/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_APART 1e-3 /* seconds */

static struct mark mark_now(const struct profile *p, const struct profile_facts *f)
{
    struct comm_stats now = comm_stats(p->comm);
    struct shoal_profile_rank row = {0};

    profile_share(p, f, &now, &row);
    return (struct mark){.at = clock_now() - p->timeline.began,
                         .computing = row.computing,
                         .communicating = row.communicating,
                         .waiting = row.waiting};
}

/* The first stays, so that all of the time is told. */
static void thin_out(struct timeline *t)
{
    t->n /= 2;
    for (size_t i = 0; i < t->n; i++)
        t->marks[i] = t->marks[2 * i];
    t->apart *= 2;
}

void timeline_begin(struct profile *p, const struct profile_facts *f)
{
    struct timeline *t = &p->timeline;

    if (!p->comm)
        return;
    *t = (struct timeline){.began = clock_now(), .apart = FIRST_APART};
    timeline_mark(p, f);
}

bool timeline_due(const struct profile *p)
{
    return p->timeline.began > 0 && clock_now() >= p->timeline.next;
}

void timeline_mark(struct profile *p, const struct profile_facts *f)
{
    struct timeline *t = &p->timeline;

    if (t->n == TIMELINE_MARKS)
        thin_out(t);
    t->marks[t->n] = mark_now(p, f);
    t->next = t->began + t->marks[t->n].at + t->apart;
    t->n++;
}

/* ---- all ranks ---- */

/* Marks are numbers, and time goes on, whatever came. */
static bool track_sane(const struct mark *marks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(marks[i].at) || !isfinite(marks[i].computing) ||
            !isfinite(marks[i].communicating) || !isfinite(marks[i].waiting) ||
            (i > 0 && marks[i].at < marks[i - 1].at))
            return false;
    return true;
}

static shoal_status check_tracks(struct profile *p, const size_t *lens)
{
    size_t at = 0;

    for (unsigned r = 0; r < comm_size(p->comm); r++) {
        size_t n = lens[r] / sizeof *p->tracks;

        if (lens[r] % sizeof *p->tracks != 0 || n > TIMELINE_MARKS ||
            !track_sane(p->tracks + at, n))
            return shoal_fail(SHOAL_EFORMAT, "timeline: rank %u gave %zu bytes that are no marks",
                              r, lens[r]);
        at += n;
        if (r < SHOAL_PROFILE_ROWS)
            p->track_ends[r] = at;
    }
    return SHOAL_OK;
}

/* Ranks beyond those that are shown give nothing. */
shoal_status timeline_end(struct profile *p, const struct profile_facts *f)
{
    struct timeline *t = &p->timeline;
    char *data = NULL;
    size_t *lens = NULL;
    shoal_status st;

    if (t->began > 0)
        timeline_mark(p, f);
    if (comm_rank(p->comm) >= SHOAL_PROFILE_ROWS)
        t->n = 0;
    st = comm_gather(p->comm, t->marks, t->n * sizeof *t->marks, &data, &lens);
    p->tracks = (struct mark *)(void *)data;
    if (st == SHOAL_OK)
        st = check_tracks(p, lens);
    free(lens);
    return st;
}

const struct mark *timeline_of(const struct profile *p, unsigned rank, size_t *n)
{
    size_t from = rank > 0 ? p->track_ends[rank - 1] : 0;

    *n = p->track_ends[rank] - from;
    return *n > 0 ? p->tracks + from : NULL;
}
