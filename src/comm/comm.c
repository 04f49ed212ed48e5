/* Messages between ranks, whoever carries them: handlers, tickets, waiting, and
 * signs of life. Collectives are in collective.c and on. */
#include "comm/inner.h"

#include <assert.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_AT_ONCE = 64, /* messages that one poll takes in */
    POLLS_SHARED = 20, /* empty ones before we sleep where ranks share cores */
};

#define BUSY_SECONDS 100e-6  /* of waiting before the core is offered to others */
#define YIELD_SECONDS 500e-6 /* and before we sleep, */
#define NAP_SHARE 0.125      /* for this share of what we have waited, */
#define NAP_MOST 100e-6      /* but for no longer; */
#define NAP_SHARED 50e-6     /* where ranks share cores for so long */

#define BEAT_SECONDS 1.0

/* ---- opening ------------------------------------------------------------------- */

/* How many ranks a launcher says it started: 1 when it does not say, 0 when
 * nobody launched us. */
static unsigned launched(void)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    static const char *const ranks[] = {"PMIX_RANK", "PMI_RANK", "PMI_ID", "PALS_RANKID"};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *text = getenv(sizes[i]);
        unsigned long size = text ? strtoul(text, NULL, 10) : 0;

        if (size > 0)
            return (unsigned)size;
    }
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        if (getenv(ranks[i]))
            return 1;
    return 0;
}

static void release(struct comm *c)
{
    if (c->self.at)
        c->self.kind->close(c->self.at, true);
    for (size_t tag = 0; tag < COMM_TAGS; tag++)
        deferred_fini(&c->inbox[tag].waiting);
    deferred_fini(&c->early);
    free(c->peers);
    free(c);
}

/* Everybody learns everybody's host. */
static shoal_status learn_hosts(struct comm *c)
{
    char host[sizeof c->peers->host] = "?", *hosts = NULL, *at;
    size_t *lens = NULL;
    shoal_status st;

    if (c->others.kind && c->others.kind->host)
        c->others.kind->host(c->others.at, host, sizeof host);
    else
        gethostname(host, sizeof host - 1);
    st = comm_gather(c, host, strlen(host), &hosts, &lens);
    at = hosts;
    for (unsigned r = 0; st == SHOAL_OK && r < c->size; at += lens[r++]) {
        snprintf(c->peers[r].host, sizeof host, "%.*s", (int)lens[r], at);
        c->here += strcmp(c->peers[r].host, host) == 0;
    }
    free(hosts);
    free(lens);
    c->per_core = (double)c->here / pool_threads(0);
    return st;
}

static shoal_status open_self(struct comm *c)
{
    c->self.kind = &comm_world_self;
    return c->self.kind->open(&c->self.at, &c->rank, &c->size, c->library);
}

/* A process that another MPI library's launcher started would be alone with
 * itself, and so would all the others, each doing the whole work. */
static shoal_status open_others(struct comm *c, const struct comm_world *kind)
{
    shoal_status st = kind->open(&c->others.at, &c->rank, &c->size, c->library);

    if (st != SHOAL_OK)
        return st;
    if (c->size == 1 && launched() > 1) {
        kind->close(c->others.at, true);
        return shoal_fail(SHOAL_EINVAL,
                          "comm: started as one of %u ranks, found 1 with %s; want the launcher "
                          "of this MPI library",
                          launched(), c->library);
    }
    c->others.kind = kind;
    return SHOAL_OK;
}

/* `kind` NULL is a world of one. */
static shoal_status open_world(struct comm **out, const struct comm_world *kind)
{
    struct comm *c = mem_array(1, sizeof *c);
    shoal_status st = c ? open_self(c) : SHOAL_ENOMEM;

    *out = NULL;
    if (st == SHOAL_OK && kind)
        st = open_others(c, kind);
    if (st == SHOAL_OK) {
        c->polled = clock_now();
        c->waits_since = -1;
        c->peers = mem_array(c->size, sizeof *c->peers);
        st = c->peers ? learn_hosts(c) : SHOAL_ENOMEM;
    }
    if (st != SHOAL_OK) {
        if (c && c->others.kind)
            c->others.kind->close(c->others.at, false);
        if (c)
            release(c);
        return st;
    }
    if (c->others.kind)
        heartbeat_start(c, BEAT_SECONDS);
    *out = c;
    return SHOAL_OK;
}

shoal_status comm_open_self(struct comm **out)
{
    return open_world(out, NULL);
}

shoal_status comm_open(struct comm **out)
{
    unsigned ranks = launched();

    *out = NULL;
#ifdef SHOAL_MPI
    return open_world(out, ranks > 0 ? &comm_world_mpi : NULL);
#else
    if (ranks > 1)
        return shoal_fail(SHOAL_EINVAL,
                          "comm: started as one of %u ranks, but this build has no MPI", ranks);
    return comm_open_self(out);
#endif
}

unsigned comm_rank(const struct comm *c)
{
    return c->rank;
}

unsigned comm_size(const struct comm *c)
{
    return c->size;
}

const char *comm_host(const struct comm *c, unsigned rank)
{
    assert(rank < c->size);
    return c->peers[rank].host;
}

unsigned comm_ranks_here(const struct comm *c)
{
    return c->here;
}

double comm_ranks_per_core(const struct comm *c)
{
    return c->per_core;
}

void comm_charge(struct comm *c, double units)
{
    if (c->others.kind && c->others.kind->charge)
        c->others.kind->charge(c->others.at, units);
}

struct comm_stats comm_stats(const struct comm *c)
{
    struct comm_stats stats;

    heartbeat_enter(c);
    stats = c->stats;
    heartbeat_leave(c);
    return stats;
}

struct comm_timer comm_timer_begin(const struct comm *c)
{
    return (struct comm_timer){clock_now(), c ? c->stats.waited : 0};
}

void comm_timer_end(const struct comm *c, const struct comm_timer *timer, double *all,
                    double *waited)
{
    *all += clock_now() - timer->began;
    *waited += c ? c->stats.waited - timer->waited : 0;
}

struct comm_peer_stats comm_peer_stats(const struct comm *c, unsigned rank)
{
    struct comm_peer_stats stats;

    assert(rank < c->size);
    heartbeat_enter(c);
    stats = c->peers[rank].stats;
    heartbeat_leave(c);
    return stats;
}

/* ---- sending ---------------------------------------------------------------------- */

shoal_status comm_post(struct comm *c, unsigned to, unsigned tag, const void *data, size_t len,
                       comm_ticket *ticket)
{
    const struct side *side = to == c->rank ? &c->self : &c->others;
    shoal_status st;

    assert(to < c->size && len <= COMM_MAX_MESSAGE);
    *ticket = 0;
    if (to == c->rank)
        return side->kind->send(side->at, to, tag, data, len, ticket);
    heartbeat_enter(c);
    c->stats.messages_out++;
    c->stats.bytes_out += len;
    c->peers[to].stats.bytes_out += len;
    st = side->kind->send(side->at, to, tag, data, len, ticket);
    heartbeat_leave(c);
    return st;
}

shoal_status comm_send(struct comm *c, unsigned to, unsigned tag, const void *data, size_t len,
                       comm_ticket *ticket)
{
    assert(tag < COMM_TAGS);
    return comm_post(c, to, tag, data, len, ticket);
}

/* What we send to ourselves is done at once, so a ticket is of the others. */
shoal_status comm_test(struct comm *c, comm_ticket *ticket, bool *done)
{
    shoal_status st = SHOAL_OK;

    *done = *ticket == 0;
    if (!*done) {
        heartbeat_enter(c);
        st = c->others.kind->test(c->others.at, *ticket, done);
        heartbeat_leave(c);
    }
    if (*done)
        *ticket = 0;
    return st;
}

/* ---- what comes --------------------------------------------------------------------- */

void comm_on(struct comm *c, unsigned tag, comm_handler handle, void *ctx)
{
    assert(tag < COMM_TAGS);
    c->inbox[tag].handle = handle;
    c->inbox[tag].ctx = ctx;
}

static shoal_status hand_over(struct comm *c, const struct message *m)
{
    struct inbox *box = &c->inbox[m->tag];
    shoal_status st;

    c->handling = true;
    st = box->handle(box->ctx, m->from, m->data, m->len);
    c->handling = false;
    return st;
}

/* A handler may have come since. */
static shoal_status hand_over_waiting(struct comm *c)
{
    shoal_status st = SHOAL_OK;

    for (size_t tag = 0; tag < COMM_TAGS; tag++) {
        struct inbox *box = &c->inbox[tag];

        while (st == SHOAL_OK && box->waiting.first && box->handle) {
            struct deferred *d = deferred_take(&box->waiting, &box->waiting.first);
            struct message m = message_of(d);

            c->came++;
            st = hand_over(c, &m);
            free(d);
        }
    }
    return st;
}

static shoal_status heard_life(struct comm *c, const struct message *m)
{
    if (m->len != sizeof c->round)
        return shoal_fail(SHOAL_EFORMAT, "comm: rank %u: a sign of life of %zu bytes, want %zu",
                          m->from, m->len, sizeof c->round);
    memcpy(&c->peers[m->from].round, m->data, m->len);
    return SHOAL_OK;
}

/* Those of one tag stay in order: behind a message that waits, others wait. */
static shoal_status arrived_for_handler(struct comm *c, const struct message *m)
{
    struct inbox *box = &c->inbox[m->tag];

    if (!box->handle || box->waiting.first)
        return deferred_add(&box->waiting, m->from, m->tag, m->data, m->len);
    return hand_over(c, m);
}

/* Signs of life end no wait. Collectives go through rank 0, which says
 * nothing about who was late; rank 0 itself sees it. */
static void note_sender(struct comm *c, const struct message *m)
{
    bool telling = m->tag < COMM_TAGS || (m->tag >= TAG_COLLECTIVE && c->rank == 0);

    if (telling && c->sender == 0)
        c->sender = 1 + m->from;
}

static void count_arrived(struct comm *c, const struct message *m)
{
    struct peer *p = &c->peers[m->from];

    p->heard = c->attended;
    p->stats.bytes_in += m->len;
    c->stats.messages_in++;
    c->stats.bytes_in += m->len;
    note_sender(c, m);
}

static shoal_status arrived(struct comm *c, const struct message *m)
{
    assert(m->from < c->size);
    c->came++;
    if (m->from != c->rank)
        count_arrived(c, m);
    if (m->tag == TAG_BYE)
        c->peers[m->from].left = true;
    else if (m->tag == TAG_LAST)
        c->peers[m->from].gone = true;
    else if (m->tag == TAG_LIFE)
        return heard_life(c, m);
    else if (!c->closing)
        return m->tag < COMM_TAGS ? arrived_for_handler(c, m) : collective_arrived(c, m);
    return SHOAL_OK;
}

static shoal_status take_in(struct comm *c, const struct side *side, bool *drained)
{
    bool any = side->kind != NULL;
    shoal_status st = SHOAL_OK;

    for (unsigned i = 0; any && st == SHOAL_OK && i < MOST_AT_ONCE; i++) {
        struct message m;

        if (side == &c->others)
            heartbeat_enter(c);
        st = side->kind->receive(side->at, &m, &any);
        if (side == &c->others)
            heartbeat_leave(c);
        if (st == SHOAL_OK && any)
            st = arrived(c, &m);
    }
    *drained = !any;
    return st;
}

/* ---- signs of life --------------------------------------------------------------------
 *
 * MPI does not say that a rank is gone. So every rank sends all others a short message now and
 * then (heartbeat.c), several times within the silence timeout, and gives up a rank of which
 * nothing, no message of any kind, was heard for that long.
 *
 * Who computes for long, or was stopped by a debugger, has not listened: messages wait in its
 * inbox, and the silence is its own. Therefore silence is not measured by the clock, but by the
 * time `attended`, which runs only while we poll: a gap between two polls counts as a quarter of
 * the timeout at most. After such a gap nobody is judged for another quarter, nor while a poll
 * left messages behind: what is on its way is taken in first.
 *
 * A rank that said goodbye lives on until all have, so it is watched as any other. But it takes
 * part in nothing any more: who has waited for as long as the timeout, with one that left, waits
 * in vain. */

/* Several fit into the timeout. */
static double beat_seconds(const struct comm *c)
{
    double seconds = c->silence_timeout / 4;

    return seconds > 0 && seconds < BEAT_SECONDS ? seconds : BEAT_SECONDS;
}

static void attend(struct comm *c)
{
    double now = clock_now(), gap = now - c->polled, most = c->silence_timeout / 4;

    c->polled = now;
    if (gap > most) {
        gap = most;
        c->judge_after = now + most;
    }
    c->attended += gap;
}

/* To everybody, whatever else was sent: it tells the round too. */
shoal_status comm_beat(struct comm *c)
{
    uint64_t round = __atomic_load_n(&c->round, __ATOMIC_RELAXED);
    shoal_status st = SHOAL_OK;

    for (unsigned r = 0; st == SHOAL_OK && r < c->size; r++) {
        struct peer *p = &c->peers[r];
        bool done = true;

        if (r == c->rank)
            continue;
        st = comm_test(c, &p->beating, &done);
        if (st != SHOAL_OK || !done)
            continue;
        p->beat = round;
        st = comm_post(c, r, TAG_LIFE, &p->beat, sizeof p->beat, &p->beating);
    }
    if (c->heartbeat) {
        heartbeat_enter(c);
        c->others.kind->progress(c->others.at);
        heartbeat_leave(c);
    }
    return st;
}

/* Sets c->lost to the one that is silent the longest, if for too long. */
static void check_silence(struct comm *c)
{
    double most = c->silence_timeout;

    for (unsigned r = 0; r < c->size; r++) {
        const struct peer *p = &c->peers[r];

        if (r != c->rank && !p->gone && c->attended - p->heard > most) {
            most = c->attended - p->heard;
            c->lost = 1 + r;
        }
    }
}

/* The same of one that left, if we have waited for too long. */
static void check_left(struct comm *c)
{
    bool waits = c->waits_since >= 0 && c->attended - c->waits_since > c->silence_timeout;

    for (unsigned r = 0; waits && !c->closing && r < c->size; r++)
        if (c->peers[r].left)
            c->lost = 1 + r;
}

static shoal_status fail_lost(const struct comm *c)
{
    const struct peer *p = &c->peers[c->lost - 1];

    if (p->left && !c->closing)
        return shoal_fail(SHOAL_EPEER, "rank %u on %s left before the others (its last round was "
                          "%llu)", c->lost - 1, p->host, (unsigned long long)p->round);
    return shoal_fail(SHOAL_EPEER, "rank %u on %s silent for %g s (its last round was %llu)",
                      c->lost - 1, p->host, c->silence_timeout, (unsigned long long)p->round);
}

static shoal_status live(struct comm *c, bool drained)
{
    shoal_status st = SHOAL_OK;

    if (!c->heartbeat && c->polled >= c->next_beat && !c->last) {
        c->next_beat = c->polled + beat_seconds(c);
        st = comm_beat(c);
    }
    if (st != SHOAL_OK || c->silence_timeout <= 0)
        return st;
    if (!c->lost && drained && c->polled >= c->next_check && c->polled >= c->judge_after) {
        c->next_check = c->polled + beat_seconds(c) / 8;
        check_silence(c);
        if (!c->lost)
            check_left(c);
    }
    return c->lost ? fail_lost(c) : SHOAL_OK;
}

void comm_silence_timeout(struct comm *c, double seconds)
{
    bool simulated = c->others.kind && c->others.kind->rest; /* nobody falls silent there */

    c->silence_timeout = simulated ? 0 : seconds;
    c->lost = 0;
    c->next_beat = c->next_check = 0;
    for (unsigned r = 0; r < c->size; r++)
        c->peers[r].heard = c->attended;
    if (c->others.kind)
        heartbeat_start(c, beat_seconds(c));
    heartbeat_set(c, beat_seconds(c));
}

bool comm_has_heartbeat(const struct comm *c)
{
    return c->heartbeat != NULL;
}

void comm_round(struct comm *c, uint64_t round)
{
    __atomic_store_n(&c->round, round, __ATOMIC_RELAXED);
    c->peers[c->rank].round = round;
}

/* ---- polling and waiting ----------------------------------------------------------------- */

shoal_status comm_poll(struct comm *c, bool *any)
{
    uint64_t before = c->came;
    bool drained;
    shoal_status st = SHOAL_OK;

    assert(!c->handling);
    c->sender = 0;
    if (c->others.kind)
        attend(c);
    if (!c->closing)
        st = hand_over_waiting(c);
    if (st == SHOAL_OK)
        st = take_in(c, &c->self, &drained);
    if (st == SHOAL_OK)
        st = take_in(c, &c->others, &drained);
    if (st == SHOAL_OK && c->others.kind)
        st = live(c, drained);
    if (any)
        *any = c->came != before;
    if (st == SHOAL_EPEER)
        heartbeat_stop(c); /* whoever fails so leaves without closing */
    return st;
}

static void nap(double seconds)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)(seconds * 1e9)}, NULL);
}

/* For as long as nothing has come, `empty` polls and so many seconds. The others may need this core
 * to send what we wait for: at once where ranks share cores, and else after a while, since we do
 * not see who else does. Then we sleep, the longer the longer we have waited: it is late by a small
 * part of that. */
static void rest(const struct comm *c, unsigned empty, double seconds)
{
    bool shared = c->per_core > 1;

    if (c->others.kind && c->others.kind->rest)
        c->others.kind->rest(c->others.at, empty);
    else if (shared ? empty > POLLS_SHARED : seconds > YIELD_SECONDS)
        nap(shared ? NAP_SHARED : fmin(seconds * NAP_SHARE, NAP_MOST));
    else if (shared ? empty > 0 : seconds > BUSY_SECONDS)
        sched_yield();
}

/* A poll that began at c->polled found messages, after nothing had come since
 * *idle. */
static void note_found(struct comm *c, double *idle)
{
    double now = clock_now();

    if (!c->others.kind)
        return;
    c->stats.handled += now - c->polled;
    if (c->sender > 0) {
        c->peers[c->sender - 1].stats.awaited += c->polled - *idle;
        *idle = now;
    }
}

shoal_status comm_loop(struct comm *c, shoal_status (*step)(void *ctx, bool *done), void *ctx)
{
    double began = clock_now(), idle = began, came = began;
    unsigned empty = 0, polls = 0;
    bool done = false, any;
    shoal_status st;

    c->waits_since = c->attended;
    while ((st = step(ctx, &done)) == SHOAL_OK && !done) {
        st = comm_poll(c, &any);
        if (st != SHOAL_OK)
            break;
        if (any) {
            came = c->polled;
            note_found(c, &idle);
        }
        polls++;
        empty = any ? 0 : empty + 1;
        rest(c, empty, c->polled - came);
    }
    c->waits_since = -1;
    if (st == SHOAL_EPEER)
        heartbeat_stop(c);
    c->stats.waits += polls > 0;
    c->stats.waited += clock_now() - began;
    return st;
}

struct ticket_wait {
    struct comm *c;
    comm_ticket *ticket;
};

static shoal_status ticket_step(void *ctx, bool *done)
{
    struct ticket_wait *w = ctx;

    return comm_test(w->c, w->ticket, done);
}

shoal_status comm_wait(struct comm *c, comm_ticket *ticket)
{
    struct ticket_wait w = {.c = c, .ticket = ticket};

    assert(!c->handling);
    return *ticket == 0 ? SHOAL_OK : comm_loop(c, ticket_step, &w);
}

struct condition {
    bool (*reached)(void *ctx);
    void *ctx;
};

static shoal_status condition_step(void *ctx, bool *done)
{
    struct condition *w = ctx;

    *done = w->reached(w->ctx);
    return SHOAL_OK;
}

shoal_status comm_until(struct comm *c, bool (*reached)(void *ctx), void *ctx)
{
    struct condition w = {.reached = reached, .ctx = ctx};

    assert(!c->handling);
    return comm_loop(c, condition_step, &w);
}

/* ---- closing -------------------------------------------------------------------------------- */

static bool all_left(void *ctx)
{
    const struct comm *c = ctx;

    for (unsigned r = 0; r < c->size; r++)
        if (r != c->rank && !c->peers[r].left)
            return false;
    return true;
}

static bool all_gone(void *ctx)
{
    const struct comm *c = ctx;

    for (unsigned r = 0; r < c->size; r++)
        if (r != c->rank && !c->peers[r].gone)
            return false;
    return true;
}

static shoal_status tell_all(struct comm *c, unsigned tag)
{
    shoal_status st = SHOAL_OK;

    for (unsigned r = 0; st == SHOAL_OK && r < c->size; r++) {
        comm_ticket ticket;

        if (r != c->rank)
            st = comm_post(c, r, tag, NULL, 0, &ticket);
    }
    return st;
}

/* Everybody tells everybody, since messages between two ranks stay in order. Others may come
 * much later: signs of life go on until all have come. Then they end, and what is told behind
 * the last of them says that nothing is on its way any more. */
static shoal_status say_goodbye(struct comm *c)
{
    shoal_status st;

    c->closing = true;
    st = tell_all(c, TAG_BYE);
    if (st == SHOAL_OK)
        st = comm_until(c, all_left, c);
    heartbeat_stop(c);
    c->last = true;
    if (st == SHOAL_OK)
        st = tell_all(c, TAG_LAST);
    return st == SHOAL_OK ? comm_until(c, all_gone, c) : st;
}

void comm_close(struct comm *c, bool ok)
{
    if (!c)
        return;
    if (c->others.kind) {
        ok = ok && say_goodbye(c) == SHOAL_OK;
        heartbeat_stop(c);
        c->others.kind->close(c->others.at, ok);
    }
    release(c);
}
