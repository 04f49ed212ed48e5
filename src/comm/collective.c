/* Collectives, built on messages alone: so the bits are the same under any MPI library, handlers
 * run while we wait, and a rank that is gone is noticed.
 *
 * Every rank calls the same collectives in the same order, so the n-th of one is the n-th of all,
 * and its messages carry that number, its name and its phase in their tag. One that comes before
 * we are in its collective is kept (early) and offered when we are. A message that belongs to
 * another call than ours under the same number shows a bug, and is named.
 *
 * The number may be short: a collective ends for a rank only after all have begun it, or it
 * follows one for which that is so (a broadcast begins with a comparison of lengths, a gather with
 * their sum). So nobody is ever more than a few ahead, and a number modulo NUMBERS tells its
 * messages from all others:
 *
 *     tag = TAG_COLLECTIVE + ((number % NUMBERS) * PHASES + phase) * CALLS + call  */
#include "comm/collective.h"

#include <assert.h>
#include <stdlib.h>

static const char *const call_names[] = {
#define X(name, text) text,
    CALL_MAP(X)
#undef X
};

enum {
    NUMBERS = 1024,
    MOST_AHEAD = 4,
};

static_assert(TAG_COLLECTIVE + NUMBERS * PHASES * CALLS <= 32767, "more than MPI promises");

/* ---- numbers ------------------------------------------------------------------- */

static unsigned number_of(const struct comm *c, unsigned call)
{
    return (unsigned)((call == CALL_SUM_FIRST ? c->begun_first : c->begun) % NUMBERS);
}

unsigned collective_tag(const struct comm *c, enum call call, unsigned phase)
{
    unsigned number = number_of(c, call);

    return TAG_COLLECTIVE + (number * PHASES + phase) * CALLS + (unsigned)call;
}

/* How many after ours the message belongs; one of an earlier collective is a great
 * many later. */
static unsigned numbers_ahead(const struct comm *c, const struct message *m)
{
    unsigned number = (m->tag - TAG_COLLECTIVE) / (PHASES * CALLS);
    unsigned call = (m->tag - TAG_COLLECTIVE) % CALLS;

    return (number + NUMBERS - number_of(c, call)) % NUMBERS;
}

static shoal_status offer(struct comm *c, const struct message *m, bool *taken)
{
    unsigned call = (m->tag - TAG_COLLECTIVE) % CALLS;

    *taken = false;
    if (call != c->now->call)
        return shoal_fail(SHOAL_EINVAL, "comm: rank %u is in a %s, this one in a %s", m->from,
                          call_names[call], call_names[c->now->call]);
    return c->now->take(c->now->ctx, m, (m->tag - TAG_COLLECTIVE) / CALLS % PHASES, taken);
}

/* After each one taken it begins anew, so that those of one rank and phase are
 * taken in order. */
static shoal_status offer_early(struct comm *c)
{
    struct deferred **at = &c->early.first;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && *at) {
        struct message m = message_of(*at);
        bool taken = false;

        if (numbers_ahead(c, &m) == 0)
            st = offer(c, &m, &taken);
        if (taken) {
            free(deferred_take(&c->early, at));
            at = &c->early.first;
        } else {
            at = &(*at)->next;
        }
    }
    return st;
}

static bool waits_already(const struct comm *c, const struct message *m)
{
    for (const struct deferred *d = c->early.first; d; d = d->next)
        if (d->from == m->from && d->of == m->tag)
            return true;
    return false;
}

shoal_status collective_arrived(struct comm *c, const struct message *m)
{
    unsigned ahead = numbers_ahead(c, m);
    bool taken = false;
    shoal_status st = SHOAL_OK;

    if (ahead > MOST_AHEAD || (ahead == 0 && !c->now))
        return shoal_fail(SHOAL_EFORMAT, "comm: rank %u is out of step with this one", m->from);
    if (ahead == 0 && !waits_already(c, m))
        st = offer(c, m, &taken);
    if (st != SHOAL_OK)
        return st;
    return taken ? offer_early(c) : deferred_add(&c->early, m->from, m->tag, m->data, m->len);
}

static shoal_status collective_step(void *ctx, bool *done)
{
    struct comm *c = ctx;
    shoal_status st = offer_early(c);

    return st == SHOAL_OK ? c->now->step(c->now->ctx, done) : st;
}

void collective_begin(struct comm *c, enum call call)
{
    if (call == CALL_SUM_FIRST)
        c->begun_first++;
    else
        c->begun++;
}

/* What is left of one that is done, nobody will ever take. */
static shoal_status check_nothing_left(const struct comm *c)
{
    for (const struct deferred *d = c->early.first; d; d = d->next) {
        struct message m = message_of(d);

        if (numbers_ahead(c, &m) == 0)
            return shoal_fail(SHOAL_EINVAL, "comm: rank %u gave more to a %s than this one",
                              m.from, call_names[c->now->call]);
    }
    return SHOAL_OK;
}

shoal_status collective_run(struct comm *c, const struct collective *t)
{
    shoal_status st;

    assert(!c->handling && !c->now);
    c->now = t;
    st = comm_loop(c, collective_step, c);
    if (st == SHOAL_OK)
        st = check_nothing_left(c);
    c->now = NULL;
    return st;
}

shoal_status collective_check_len(const struct comm *c, const struct message *m, size_t want)
{
    if (m->len == want)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL, "comm: rank %u gave %zu bytes to a %s, want %zu", m->from,
                      m->len, call_names[c->now->call], want);
}

/* ---- tickets: sends that must be done before a collective ends -------------------------- */

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
