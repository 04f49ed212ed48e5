/* Where ranks meet: calls, places, what each did, and why one gave up. */
#include "train/rendezvous.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAG_CALL = 8, /* nothing */
    TAG_LIMIT,    /* uint64_t place */
    TAG_PLACE,    /* uint64_t place */
    TAG_DONE,     /* struct progress */
    TAG_FAIL,     /* shoal_status, sentence */
};

enum { SENTENCE = 1024 };

#define TELL_SECONDS 0.5

struct progress {
    uint64_t meetings; /* before it was sent */
    struct sums since; /* the last of them */
};

struct failure {
    int32_t status;
    char sentence[SENTENCE];
};

struct rendezvous {
    struct comm *comm;
    unsigned rank, ranks, workers;
    uint64_t limit, place;
    bool called, placed;
    bool failed; /* another rank said so */
    uint64_t *limits; /* rank 0: [ranks] since the call; UINT64_MAX: not heard */
    struct sums *others; /* rank 0: [ranks] */
    double reported;     /* clock */
    /* What is being sent; each is sent again only after it was received. */
    uint64_t limit_out, place_out;
    struct progress progress_out;
    uint64_t meetings;
    struct failure failure_out;
    comm_ticket limit_ticket, done_ticket, *tickets;
};

/* ---- handlers ---- */

/* What came is `want` bytes long, into *to. */
static shoal_status receive(void *to, size_t want, unsigned from, const void *data, size_t len)
{
    if (len != want)
        return shoal_fail(SHOAL_EFORMAT, "train: rank %u sent %zu bytes, want %zu", from, len,
                          want);
    memcpy(to, data, len);
    return SHOAL_OK;
}

static shoal_status on_call(void *ctx, unsigned from, const void *data, size_t len)
{
    struct rendezvous *w = ctx;

    (void)data;
    (void)len;
    w->called = true;
    w->limit_out = w->limit;
    return comm_send(w->comm, from, TAG_LIMIT, &w->limit_out, sizeof w->limit_out,
                     &w->limit_ticket);
}

static shoal_status send_place(struct rendezvous *w)
{
    shoal_status st = SHOAL_OK;

    w->place_out = 0;
    for (unsigned r = 0; r < w->workers; r++) {
        if (w->limits[r] == UINT64_MAX)
            return SHOAL_OK;
        w->place_out = w->limits[r] > w->place_out ? w->limits[r] : w->place_out;
    }
    for (unsigned r = 0; r < w->workers && st == SHOAL_OK; r++)
        st = comm_send(w->comm, r, TAG_PLACE, &w->place_out, sizeof w->place_out, &w->tickets[r]);
    return st;
}

static shoal_status on_limit(void *ctx, unsigned from, const void *data, size_t len)
{
    struct rendezvous *w = ctx;
    shoal_status st = receive(&w->limits[from], sizeof *w->limits, from, data, len);

    return st == SHOAL_OK && w->rank == 0 ? send_place(w) : st;
}

static shoal_status on_place(void *ctx, unsigned from, const void *data, size_t len)
{
    struct rendezvous *w = ctx;
    shoal_status st = receive(&w->place, sizeof w->place, from, data, len);

    w->placed = w->placed || st == SHOAL_OK;
    return st;
}

static shoal_status on_done(void *ctx, unsigned from, const void *data, size_t len)
{
    struct rendezvous *w = ctx;
    struct progress p;
    shoal_status st = receive(&p, sizeof p, from, data, len);

    if (st == SHOAL_OK && p.meetings == w->meetings) /* else it has been summed up since */
        w->others[from] = p.since;
    return st;
}

static shoal_status on_fail(void *ctx, unsigned from, const void *data, size_t len)
{
    struct rendezvous *w = ctx;
    struct failure f;
    shoal_status st = receive(&f, sizeof f, from, data, len);

    if (st != SHOAL_OK)
        return st;
    w->failed = true;
    f.sentence[SENTENCE - 1] = '\0';
    return shoal_fail((shoal_status)f.status, "rank %u on %s: %s", from, comm_host(w->comm, from),
                      f.sentence);
}

static void listen(struct rendezvous *w)
{
    comm_on(w->comm, TAG_CALL, on_call, w);
    comm_on(w->comm, TAG_LIMIT, on_limit, w);
    comm_on(w->comm, TAG_PLACE, on_place, w);
    comm_on(w->comm, TAG_DONE, on_done, w);
    comm_on(w->comm, TAG_FAIL, on_fail, w);
}

/* ---- opening ---- */

shoal_status rendezvous_open(struct rendezvous **out, struct comm *comm, unsigned workers,
                             double silence)
{
    struct rendezvous *w = mem_array(1, sizeof *w);
    shoal_status st = SHOAL_ENOMEM;

    *out = w;
    if (w) {
        w->comm = comm;
        w->rank = comm_rank(comm);
        w->ranks = comm_size(comm);
        w->workers = workers;
        w->place = UINT64_MAX;
        w->limits = mem_array(w->ranks, sizeof *w->limits);
        w->others = mem_array(w->ranks, sizeof *w->others);
        w->tickets = mem_array(w->ranks, sizeof *w->tickets);
        st = w->limits && w->others && w->tickets ? SHOAL_OK : SHOAL_ENOMEM;
    }
    st = comm_agree(comm, st);
    if (st != SHOAL_OK)
        return st;
    comm_silence_timeout(comm, silence);
    listen(w);
    return comm_barrier(comm);
}

/* What is still being sent, because a rank is gone, stays where it is. */
static bool all_sent(struct rendezvous *w)
{
    bool sent = comm_wait(w->comm, &w->limit_ticket) == SHOAL_OK &&
                comm_wait(w->comm, &w->done_ticket) == SHOAL_OK;

    for (unsigned r = 0; sent && w->tickets && r < w->ranks; r++)
        sent = comm_wait(w->comm, &w->tickets[r]) == SHOAL_OK;
    return sent;
}

void rendezvous_close(struct rendezvous *w)
{
    bool sent;

    if (!w)
        return;
    sent = all_sent(w);
    if (!comm_has_heartbeat(w->comm))
        comm_silence_timeout(w->comm, 0); /* nobody polls while a result is written */
    for (unsigned tag = TAG_CALL; tag <= TAG_FAIL; tag++)
        comm_on(w->comm, tag, NULL, NULL);
    if (!sent)
        return;
    free(w->limits);
    free(w->others);
    free(w->tickets);
    free(w);
}

/* ---- where to meet ---- */

void rendezvous_limit(struct rendezvous *w, uint64_t place)
{
    w->limit = place;
}

/* By message to rank 0 too, so that there is one way only. */
shoal_status rendezvous_call(struct rendezvous *w)
{
    shoal_status st = SHOAL_OK;

    if (w->called)
        return SHOAL_OK;
    for (unsigned r = 0; r < w->workers; r++)
        w->limits[r] = UINT64_MAX;
    for (unsigned r = 0; r < w->workers && st == SHOAL_OK; r++)
        st = comm_send(w->comm, r, TAG_CALL, "", 0, &w->tickets[r]);
    w->called = true;
    return st;
}

static bool is_placed(void *ctx)
{
    const struct rendezvous *w = ctx;

    return w->placed;
}

shoal_status rendezvous_place(struct rendezvous *w, uint64_t *place)
{
    shoal_status st = w->called ? comm_until(w->comm, is_placed, w) : SHOAL_OK;

    *place = w->place;
    return st;
}

/* ---- telling ---- */

shoal_status rendezvous_report(struct rendezvous *w, const struct sums *since)
{
    double now = clock_now();
    bool sent = true;
    shoal_status st;

    if (w->rank == 0 || now - w->reported < TELL_SECONDS)
        return SHOAL_OK;
    st = comm_test(w->comm, &w->done_ticket, &sent);
    if (st != SHOAL_OK || !sent)
        return st;
    w->reported = now;
    w->progress_out = (struct progress){w->meetings, *since};
    return comm_send(w->comm, 0, TAG_DONE, &w->progress_out, sizeof w->progress_out,
                     &w->done_ticket);
}

struct sums rendezvous_others(const struct rendezvous *w)
{
    struct sums sum = {0};

    for (unsigned r = 1; r < w->ranks; r++)
        sums_add(&sum, &w->others[r]);
    return sum;
}

/* ---- meeting ---- */

/* In one go, since a rank that waits is idle. Counts below 2^53 are exact as doubles. */
shoal_status rendezvous_sum(struct rendezvous *w, struct sums *s)
{
    double x[] = {(double)s->examples, (double)s->rows,  (double)s->predictions,
                  (double)s->right,    (double)s->right5, s->loss,
                  s->squared,          s->absolute,       s->cosine};
    shoal_status st = comm_sum(w->comm, x, sizeof x / sizeof *x);

    *s = (struct sums){.examples = (uint64_t)x[0], .rows = (uint64_t)x[1],
                       .predictions = (uint64_t)x[2], .right = (uint64_t)x[3],
                       .right5 = (uint64_t)x[4], .loss = x[5], .squared = x[6],
                       .absolute = x[7], .cosine = x[8]};
    return st;
}

shoal_status rendezvous_end(struct rendezvous *w, uint64_t *place, struct sums *sums)
{
    shoal_status st = rendezvous_sum(w, sums);

    if (st == SHOAL_OK)
        st = comm_broadcast(w->comm, 0, place, sizeof *place);
    memset(w->others, 0, w->ranks * sizeof *w->others);
    w->meetings++;
    w->called = w->placed = false;
    w->place = UINT64_MAX;
    return st;
}

/* ---- failing ---- */

/* What another rank said, or that it is gone, the others know already. They hear
 * of ours at their next poll, so some time is given to it; what else comes is of
 * no interest any more. */
void rendezvous_fail(struct rendezvous *w, shoal_status st)
{
    double until = clock_now() + 1;

    if (st == SHOAL_EPEER || w->failed)
        return;
    w->failure_out.status = (int32_t)st;
    snprintf(w->failure_out.sentence, SENTENCE, "%s", shoal_error());
    for (unsigned r = 0; r < w->ranks; r++)
        if (r != w->rank)
            comm_send(w->comm, r, TAG_FAIL, &w->failure_out, sizeof w->failure_out,
                      &w->tickets[r]);
    for (bool all = false; !all && clock_now() < until;) {
        all = true;
        for (unsigned r = 0; r < w->ranks; r++) {
            bool sent = true;

            comm_test(w->comm, &w->tickets[r], &sent);
            all = all && sent;
        }
    }
    shoal_fail(st, "%s", w->failure_out.sentence);
}
