/* Who waits for whom. A rank counts what others told it, and waits until the counts allow it to
 * go on. All of it rests on one property of comm: messages between two ranks stay in order. So a
 * message without content that is sent behind others says that these have come.
 *
 * Bounded staleness (SSP: Ho et al. 2013). Worker w has ended clock[w] rounds. It may begin the
 * next while clock[w] - min over all workers <= S. The slowest worker is never ahead of itself, so
 * somebody may always go on, and there is no deadlock. What is known of others can only be too
 * low: a worker may wait too long, never too short.
 *
 * Sync. A worker ends a round by telling all ranks (TAG_END), behind all that it sent in it. An
 * owner that has heard of every worker's k-th end has everything of round k, and merges it.
 *
 * Meetings. Everybody tells everybody (TAG_BARRIER) and waits for as many from each as it began
 * itself: what anybody sent before is here then. Clocks are set equal, since a rank may have ended
 * more rounds than another when all meet at the end of an epoch. */
#include "store/policy.h"

#include <stdlib.h>

/* ---- beginning and end ---- */

static shoal_status check(const struct policy *p, unsigned servers)
{
    if (servers > 0 && servers >= p->ranks)
        return shoal_fail(SHOAL_EINVAL, "store: %u of %u ranks are servers, want at least one that "
                          "works", servers, p->ranks);
    if (p->kind == SHOAL_AVERAGE && (servers > 0 || p->staleness == 0))
        return shoal_fail(SHOAL_EINVAL, "store: averaging every %u rounds with %u servers, want 1 "
                          "round or more and no servers", p->staleness, servers);
    return SHOAL_OK;
}

shoal_status policy_init(struct policy *p, struct outbox *outbox, enum shoal_sync kind,
                         unsigned staleness, unsigned servers)
{
    shoal_status st;

    *p = (struct policy){.kind = kind, .staleness = staleness, .outbox = outbox, .ranks = 1};
    if (outbox->comm) {
        p->rank = comm_rank(outbox->comm);
        p->ranks = comm_size(outbox->comm);
    }
    st = check(p, servers);
    if (st != SHOAL_OK)
        return st;
    p->workers = p->ranks - servers;
    p->owner = servers ? p->workers : 0;
    p->peers = mem_array(p->ranks, sizeof *p->peers);
    return p->peers ? SHOAL_OK : SHOAL_ENOMEM;
}

static void listen(struct policy *p, bool listens)
{
    struct comm *c = p->outbox->comm;

    comm_on(c, TAG_CLOCK, listens ? policy_clock_handle : NULL, p);
    comm_on(c, TAG_END, listens ? policy_end_handle : NULL, p);
    comm_on(c, TAG_BARRIER, listens ? policy_barrier_handle : NULL, p);
}

void policy_listen(struct policy *p)
{
    listen(p, true);
}

void policy_fini(struct policy *p)
{
    if (p->outbox && p->outbox->comm)
        listen(p, false);
    free(p->peers);
    p->peers = NULL;
}

/* ---- what others say ---- */

shoal_status policy_clock_handle(void *ctx, unsigned from, const void *data, size_t len)
{
    struct policy *p = ctx;

    (void)data;
    (void)len;
    p->peers[from].clock++;
    return SHOAL_OK;
}

shoal_status policy_end_handle(void *ctx, unsigned from, const void *data, size_t len)
{
    struct policy *p = ctx;
    uint64_t before = policy_ends(p);

    (void)data;
    (void)len;
    p->peers[from].ends++;
    return p->merge && policy_ends(p) > before ? p->merge(p->ctx, before + 1) : SHOAL_OK;
}

shoal_status policy_barrier_handle(void *ctx, unsigned from, const void *data, size_t len)
{
    struct policy *p = ctx;

    (void)data;
    (void)len;
    p->peers[from].met++;
    return SHOAL_OK;
}

/* To the first n ranks, this one too, behind what was sent before; the next ones first, so
 * that not all begin with rank 0. */
static shoal_status tell(struct policy *p, unsigned tag, unsigned n)
{
    struct outgoing *o;
    shoal_status st = outbox_take(p->outbox, &o, 1);

    for (unsigned i = 1; i <= p->ranks && st == SHOAL_OK; i++) {
        unsigned to = (p->rank + i) % p->ranks;

        if (to < n)
            st = outbox_send(p->outbox, o, to, tag, 0);
    }
    outbox_release(p->outbox, o);
    return st;
}

/* ---- rounds ---- */

void policy_tick(struct policy *p)
{
    p->clock++;
    if (p->outbox->comm)
        comm_round(p->outbox->comm, p->clock);
}

/* Rounds that every worker has ended, as far as is known here. */
static uint64_t slowest(const struct policy *p)
{
    uint64_t least = p->clock;

    for (unsigned r = 0; r < p->workers; r++)
        if (r != p->rank && p->peers[r].clock < least)
            least = p->peers[r].clock;
    return least;
}

static bool within_bound(void *ctx)
{
    const struct policy *p = ctx;

    return p->clock - slowest(p) <= p->staleness;
}

shoal_status policy_pace(struct policy *p)
{
    uint64_t lead;
    shoal_status st;

    if (p->kind != SHOAL_BOUNDED)
        return SHOAL_OK;
    st = tell(p, TAG_CLOCK, p->workers);
    if (st == SHOAL_OK)
        st = comm_until(p->outbox->comm, within_bound, p);
    lead = p->clock - slowest(p);
    p->lead = lead > p->lead ? lead : p->lead;
    return st;
}

bool policy_mean_due(const struct policy *p)
{
    return p->kind == SHOAL_AVERAGE && p->clock - p->met >= p->staleness;
}

shoal_status policy_end(struct policy *p)
{
    p->rounds++;
    return policy_works(p) ? tell(p, TAG_END, p->ranks) : SHOAL_OK;
}

uint64_t policy_ends(const struct policy *p)
{
    uint64_t least = UINT64_MAX;

    for (unsigned r = 0; r < p->workers; r++)
        least = p->peers[r].ends < least ? p->peers[r].ends : least;
    return least;
}

bool policy_whole(void *policy)
{
    const struct policy *p = policy;

    return policy_ends(p) >= p->rounds;
}

void policy_count_stale(struct shoal_rank_stats *stats, uint64_t missed, uint64_t changes)
{
    unsigned bin = missed < 2 ? (unsigned)missed : 65 - (unsigned)__builtin_clzll(missed - 1);

    stats->stale[bin < SHOAL_STALE_BINS ? bin : SHOAL_STALE_BINS - 1] += changes;
}

/* ---- meetings ---- */

static bool all_met(void *ctx)
{
    const struct policy *p = ctx;

    for (unsigned r = 0; r < p->ranks; r++)
        if (p->peers[r].met < p->meetings)
            return false;
    return true;
}

shoal_status policy_barrier(struct policy *p)
{
    shoal_status st = tell(p, TAG_BARRIER, p->ranks);

    p->meetings++;
    if (st == SHOAL_OK)
        st = comm_until(p->outbox->comm, all_met, p);
    for (unsigned r = 0; r < p->ranks; r++)
        p->peers[r].clock = p->clock;
    p->met = p->clock;
    return st;
}
