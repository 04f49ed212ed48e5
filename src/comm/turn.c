/* What all ranks do together, built on messages alone: so the bits are the same
 * under any MPI library, handlers run while we wait, and a rank that is gone is
 * noticed.
 *
 * Each call is a turn. A turn is over for a rank only after all have begun it,
 * or it follows one for which that is so (a broadcast begins with a comparison
 * of lengths, a gather with theirs), so nobody is ever more than a few turns
 * ahead, and a turn's number modulo TURNS tells its messages from all others:
 *
 *     tag = TAG_TOGETHER + ((turn % TURNS) * PHASES + phase) * CALLS + call     */
#include "comm/together.h"

#include <assert.h>
#include <stdlib.h>

static const char *const call_names[] = {
#define X(name, text) text,
    CALL_MAP(X)
#undef X
};

enum {
    TURNS = 1024,
    TURNS_AHEAD = 4,
};

static_assert(TAG_TOGETHER + TURNS * PHASES * CALLS <= 32767, "more than MPI promises");

/* ---- turns --------------------------------------------------------------------- */

unsigned call_tag(const struct comm *c, enum call call, unsigned phase)
{
    unsigned turn = (unsigned)(c->turn % TURNS);

    return TAG_TOGETHER + (turn * PHASES + phase) * CALLS + (unsigned)call;
}

/* How many turns later than ours the message belongs; one of an earlier turn is
 * a great many later. */
static unsigned turns_ahead(const struct comm *c, const struct message *m)
{
    unsigned turn = (m->tag - TAG_TOGETHER) / (PHASES * CALLS);

    return (turn + TURNS - (unsigned)(c->turn % TURNS)) % TURNS;
}

static shoal_status offer(struct comm *c, const struct message *m, bool *taken)
{
    unsigned call = (m->tag - TAG_TOGETHER) % CALLS;

    *taken = false;
    if (call != c->now->call)
        return shoal_fail(SHOAL_EINVAL, "comm: rank %u is in a %s, this one in a %s", m->from,
                          call_names[call], call_names[c->now->call]);
    return c->now->take(c->now->ctx, m, (m->tag - TAG_TOGETHER) / CALLS % PHASES, taken);
}

/* After each one taken it begins anew, so that those of one rank and phase are
 * taken in order. */
static shoal_status offer_early(struct comm *c)
{
    struct parcel **at = &c->early.first;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && *at) {
        bool taken = false;

        if (turns_ahead(c, &(*at)->m) == 0)
            st = offer(c, &(*at)->m, &taken);
        if (taken) {
            free(parcels_take(&c->early, at));
            at = &c->early.first;
        } else {
            at = &(*at)->next;
        }
    }
    return st;
}

static bool waits_already(const struct comm *c, const struct message *m)
{
    for (const struct parcel *p = c->early.first; p; p = p->next)
        if (p->m.from == m->from && p->m.tag == m->tag)
            return true;
    return false;
}

shoal_status together_arrived(struct comm *c, const struct message *m)
{
    unsigned ahead = turns_ahead(c, m);
    bool taken = false;
    shoal_status st = SHOAL_OK;

    if (ahead > TURNS_AHEAD || (ahead == 0 && !c->now))
        return shoal_fail(SHOAL_EFORMAT, "comm: rank %u is out of step with this one", m->from);
    if (ahead == 0 && !waits_already(c, m))
        st = offer(c, m, &taken);
    if (st != SHOAL_OK)
        return st;
    return taken ? offer_early(c) : parcels_add(&c->early, m);
}

static shoal_status together_step(void *ctx, bool *done)
{
    struct comm *c = ctx;
    shoal_status st = offer_early(c);

    return st == SHOAL_OK ? c->now->step(c->now->ctx, done) : st;
}

void call_begin(struct comm *c)
{
    c->turn++;
}

/* What is left of a turn that is done, nobody will ever take. */
static shoal_status check_nothing_left(const struct comm *c)
{
    for (const struct parcel *p = c->early.first; p; p = p->next)
        if (turns_ahead(c, &p->m) == 0)
            return shoal_fail(SHOAL_EINVAL, "comm: rank %u gave more to a %s than this one",
                              p->m.from, call_names[c->now->call]);
    return SHOAL_OK;
}

shoal_status call_run(struct comm *c, const struct together *t)
{
    shoal_status st;

    assert(!c->handling && !c->now);
    c->now = t;
    st = comm_loop(c, together_step, c);
    if (st == SHOAL_OK)
        st = check_nothing_left(c);
    c->now = NULL;
    return st;
}

shoal_status call_check_len(const struct comm *c, const struct message *m, size_t want)
{
    if (m->len == want)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL, "comm: rank %u gave %zu bytes to a %s, want %zu", m->from,
                      m->len, call_names[c->now->call], want);
}

/* ---- tickets: sends that must be done before a call ends -------------------------- */

static shoal_status tickets_add(struct tickets *t, comm_ticket ticket)
{
    void *at = t->at;
    shoal_status st;

    if (ticket == 0)
        return SHOAL_OK;
    if (t->first == t->n)
        t->first = t->n = 0;
    st = mem_grow(&at, &t->cap, t->n + 1, sizeof *t->at);
    t->at = at;
    if (st == SHOAL_OK)
        t->at[t->n++] = ticket;
    return st;
}

shoal_status tickets_left(struct tickets *t, struct comm *c, size_t *left)
{
    bool done = true;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && done && t->first < t->n) {
        st = comm_test(c, &t->at[t->first], &done);
        if (done)
            t->first++;
    }
    *left = t->n - t->first;
    return st;
}

shoal_status tickets_send(struct tickets *t, struct comm *c, unsigned to, unsigned tag,
                          const void *data, size_t len)
{
    comm_ticket ticket;
    shoal_status st = comm_post(c, to, tag, data, len, &ticket);

    return st == SHOAL_OK ? tickets_add(t, ticket) : st;
}
