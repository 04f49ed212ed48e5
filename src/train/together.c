#include "train/together.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAG_CALL = 8, /* nothing */
    TAG_LIMIT,    /* uint64_t chunk */
    TAG_PLACE,    /* uint64_t chunk */
    TAG_DONE,     /* struct told */
    TAG_FAIL,     /* shoal_status, sentence */
};

/* How often rows travel. Hot ones are seldom too late; what a replica misses of the
 * others is in all the rows it seldom touches, so the more replicas, the sooner
 * whatever was touched travels (docs/consistency.md). */
enum {
    DUE = 128,           /* touches, of at most 255 that are counted */
    FEW = 2,             /* ranks; beyond, rows are due after half of them or less */
    SWEEP = 6144,        /* over the cube of the workers: rounds in which all travels */
    SWEEP_CBOW = 3072,   /* the same beyond FEW: CBOW's rate is twice as high */
    SWEEP_LEAST = 2,
    DUE_LINEAR = 32,     /* of a linear model, over the rows of a batch */
    SWEEP_LINEAR = 2048, /* likewise, over the square of the workers */
    SWEEP_LINEAR_LEAST = 8,
    SHORTER = 4,         /* rounds are so much shorter where ranks wait for each other */
    FAR = 4,             /* so many more touches rows take between hosts, where it costs more */
    SENTENCE = 1024,
};

#define TELL_SECONDS 0.5

struct told {
    uint64_t meetings; /* before it was told */
    struct done done;  /* since the last */
};

struct failure {
    int32_t status;
    char sentence[SENTENCE];
};

struct together {
    struct comm *comm;
    struct store *store;
    unsigned rank, ranks, workers, threads;
    uint64_t limit, place;
    bool called, placed, crowded;
    bool apart;  /* the last meeting did not gather the tables */
    bool failed; /* another rank said so */
    uint64_t *limits; /* rank 0: [ranks] since the call; UINT64_MAX: not heard */
    struct done *others; /* rank 0: [ranks] */
    double told;
    /* What is being sent; each is sent again only after it was received. */
    uint64_t limit_out, place_out;
    struct told told_out;
    uint64_t meetings;
    struct failure failure_out;
    comm_ticket limit_ticket, done_ticket, *tickets;
};

/* ---- handlers ---- */

static shoal_status check_size(unsigned from, size_t len, size_t want)
{
    if (len == want)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EFORMAT, "train: rank %u sent %zu bytes, want %zu", from, len, want);
}

static shoal_status on_call(void *ctx, unsigned from, const void *data, size_t len)
{
    struct together *w = ctx;

    (void)data;
    (void)len;
    w->called = true;
    w->limit_out = w->limit;
    return comm_send(w->comm, from, TAG_LIMIT, &w->limit_out, sizeof w->limit_out,
                     &w->limit_ticket);
}

static shoal_status send_place(struct together *w)
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
    struct together *w = ctx;
    shoal_status st = check_size(from, len, sizeof *w->limits);

    if (st != SHOAL_OK || w->rank != 0)
        return st;
    memcpy(&w->limits[from], data, len);
    return send_place(w);
}

static shoal_status on_place(void *ctx, unsigned from, const void *data, size_t len)
{
    struct together *w = ctx;
    shoal_status st = check_size(from, len, sizeof w->place);

    if (st == SHOAL_OK) {
        memcpy(&w->place, data, len);
        w->placed = true;
    }
    return st;
}

static shoal_status on_done(void *ctx, unsigned from, const void *data, size_t len)
{
    struct together *w = ctx;
    struct told told;
    shoal_status st = check_size(from, len, sizeof told);

    if (st != SHOAL_OK)
        return st;
    memcpy(&told, data, len);
    if (told.meetings == w->meetings) /* else all of it has been summed up since */
        w->others[from] = told.done;
    return SHOAL_OK;
}

static shoal_status on_fail(void *ctx, unsigned from, const void *data, size_t len)
{
    struct together *w = ctx;
    struct failure f;
    shoal_status st = check_size(from, len, sizeof f);

    if (st != SHOAL_OK)
        return st;
    w->failed = true;
    memcpy(&f, data, sizeof f);
    f.sentence[SENTENCE - 1] = '\0';
    return shoal_fail((shoal_status)f.status, "rank %u on %s: %s", from, comm_host(w->comm, from),
                      f.sentence);
}

static void listen(struct together *w)
{
    comm_on(w->comm, TAG_CALL, on_call, w);
    comm_on(w->comm, TAG_LIMIT, on_limit, w);
    comm_on(w->comm, TAG_PLACE, on_place, w);
    comm_on(w->comm, TAG_DONE, on_done, w);
    comm_on(w->comm, TAG_FAIL, on_fail, w);
}

/* ---- opening ---- */

/* What linear models do to a weight adds up, so a row may be behind for longer;
 * in step, all that a batch touched travels after it. */
static unsigned linear_due(const struct shoal_train_opts *o)
{
    unsigned due = DUE_LINEAR;

    while (due > 1 && (o->sync == SHOAL_SYNC || due * o->batch > DUE_LINEAR))
        due /= 2;
    return due;
}

static unsigned due_of(const struct shoal_train_opts *o)
{
    unsigned sharing = shoal_ranks_size(o->ranks) - o->servers, due = DUE / 4;

    if (o->model == SHOAL_LOGREG)
        return linear_due(o);
    if (sharing <= FEW)
        return DUE;
    if (o->model != SHOAL_CBOW)
        return DUE / 2;
    while (o->sync != SHOAL_SYNC && due > 1 && due * sharing > DUE)
        due /= 2;
    return due;
}

static unsigned sweep_of(const struct shoal_train_opts *o)
{
    unsigned sharing = shoal_ranks_size(o->ranks) - o->servers;
    bool sooner = o->model == SHOAL_CBOW && o->sync != SHOAL_SYNC && sharing > FEW;
    unsigned sweep = (sooner ? SWEEP_CBOW : SWEEP) / sharing / sharing / sharing;
    unsigned linear = SWEEP_LINEAR / sharing / sharing;

    if (o->model == SHOAL_LOGREG)
        return linear > SWEEP_LINEAR_LEAST ? linear : SWEEP_LINEAR_LEAST;
    sweep = sweep > SWEEP_LEAST ? sweep : SWEEP_LEAST;
    /* in step owners do not train in place: what they know is older, and travels sooner */
    return o->sync == SHOAL_BOUNDED ? sweep * SHORTER : sweep;
}

struct store_opts together_store_opts(const struct shoal_train_opts *o, const size_t *needed,
                                      size_t n)
{
    struct store_opts so = {
        .policy = o->sync, .staleness = o->staleness, .wire = o->wire, .servers = o->servers,
        .due = due_of(o), .sweep = sweep_of(o),
        .lanes = o->deterministic, .blocks = needed != NULL,
    };

    for (size_t t = 0; needed && t < n; t++)
        so.needed[t] = needed[t];
    return so;
}

static shoal_status open_store(struct together *w, const struct shoal_train_opts *opts,
                               const struct together_plan *plan)
{
    struct store_opts so = together_store_opts(opts, plan->needed, plan->n);
    double most = plan->threads;
    shoal_status st;

    w->crowded = so.oversubscribed = ranks_here(opts->ranks) * plan->threads > pool_threads(0);
    if (ranks_here(opts->ranks) < w->ranks)
        so.due = so.due * FAR < DUE ? so.due * FAR : DUE;
    comm_silence_timeout(w->comm, opts->patience);
    st = store_open(&w->store, w->comm, plan->tables, plan->n, plan->traffic, plan->kernel, &so);
    if (st != SHOAL_OK)
        return st;
    w->workers = store_workers(w->store);
    st = comm_max(w->comm, &most, 1);
    w->threads = (unsigned)most;
    listen(w);
    return st == SHOAL_OK ? comm_barrier(w->comm) : st;
}

shoal_status together_open(struct together **out, const struct shoal_train_opts *opts,
                           const struct together_plan *plan)
{
    struct together *w = mem_array(1, sizeof *w);
    shoal_status st = SHOAL_ENOMEM;

    *out = w;
    if (w) {
        w->comm = ranks_comm(opts->ranks);
        w->rank = comm_rank(w->comm);
        w->ranks = comm_size(w->comm);
        w->place = UINT64_MAX;
        w->limits = mem_array(w->ranks, sizeof *w->limits);
        w->others = mem_array(w->ranks, sizeof *w->others);
        w->tickets = mem_array(w->ranks, sizeof *w->tickets);
        st = w->limits && w->others && w->tickets ? SHOAL_OK : SHOAL_ENOMEM;
    }
    st = comm_agree(ranks_comm(opts->ranks), st);
    return st == SHOAL_OK ? open_store(w, opts, plan) : st;
}

/* What is still being sent, because a rank is gone, stays where it is. */
static bool all_sent(struct together *w)
{
    bool sent = comm_wait(w->comm, &w->limit_ticket) == SHOAL_OK &&
                comm_wait(w->comm, &w->done_ticket) == SHOAL_OK;

    for (unsigned r = 0; sent && w->tickets && r < w->ranks; r++)
        sent = comm_wait(w->comm, &w->tickets[r]) == SHOAL_OK;
    return sent;
}

void together_close(struct together *w)
{
    bool sent;

    if (!w)
        return;
    store_close(w->store);
    sent = all_sent(w);
    comm_silence_timeout(w->comm, 0); /* writing the result may take long */
    for (unsigned tag = TAG_CALL; tag <= TAG_FAIL; tag++)
        comm_on(w->comm, tag, NULL, NULL);
    if (!sent)
        return;
    free(w->limits);
    free(w->others);
    free(w->tickets);
    free(w);
}

struct store *together_store(struct together *w)
{
    return w->store;
}

struct comm *together_comm(struct together *w)
{
    return w->comm;
}

bool together_crowded(const struct together *w)
{
    return w->crowded;
}

unsigned together_threads(const struct together *w)
{
    return w->threads;
}

/* ---- where to meet ---- */

void together_limit(struct together *w, uint64_t chunk)
{
    w->limit = chunk;
}

/* By message to rank 0 too, so that there is one way only. */
shoal_status together_call(struct together *w)
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
    const struct together *w = ctx;

    return w->placed;
}

shoal_status together_place(struct together *w, uint64_t *chunk)
{
    shoal_status st = w->called ? comm_until(w->comm, is_placed, w) : SHOAL_OK;

    *chunk = w->place;
    return st;
}

/* ---- telling ---- */

shoal_status together_tell(struct together *w, const struct done *done)
{
    double now = clock_now();
    bool sent = true;
    shoal_status st;

    if (w->rank == 0 || now - w->told < TELL_SECONDS)
        return SHOAL_OK;
    st = comm_test(w->comm, &w->done_ticket, &sent);
    if (st != SHOAL_OK || !sent)
        return st;
    w->told = now;
    w->told_out = (struct told){w->meetings, *done};
    return comm_send(w->comm, 0, TAG_DONE, &w->told_out, sizeof w->told_out, &w->done_ticket);
}

struct done together_others(const struct together *w)
{
    struct done sum = {0};

    for (unsigned r = 1; r < w->ranks; r++)
        done_add(&sum, &w->others[r]);
    return sum;
}

/* ---- meeting ---- */

static shoal_status sum_done(struct together *w, struct done *done)
{
    uint64_t counts[] = {done->words, done->rows, done->predictions};
    shoal_status st = comm_sum_u64(w->comm, counts, 3);

    if (st == SHOAL_OK)
        st = comm_sum(w->comm, &done->loss, 1);
    done->words = counts[0];
    done->rows = counts[1];
    done->predictions = counts[2];
    return st;
}

shoal_status together_meet(struct together *w, bool whole, uint64_t *chunk, struct done *done)
{
    shoal_status st = comm_broadcast(w->comm, 0, &whole, sizeof whole);

    w->apart = true;
    if (st == SHOAL_OK && whole)
        st = together_gather(w);
    if (st == SHOAL_OK)
        st = sum_done(w, done);
    if (st == SHOAL_OK)
        st = comm_broadcast(w->comm, 0, chunk, sizeof *chunk);
    memset(w->others, 0, w->ranks * sizeof *w->others);
    w->meetings++;
    w->called = w->placed = false;
    w->place = UINT64_MAX;
    return st;
}

shoal_status together_gather(struct together *w)
{
    shoal_status st = w->apart ? store_meet(w->store) : SHOAL_OK;

    w->apart = false;
    return st;
}

shoal_status together_decide(struct together *w, bool *yes)
{
    return comm_broadcast(w->comm, 0, yes, sizeof *yes);
}

/* ---- failing ---- */

/* What another rank said, or that it is gone, the others know already. They hear
 * of ours at their next poll, so some time is given to it; what else comes is of
 * no interest any more. */
void together_fail(struct together *w, shoal_status st)
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

/* ---- counting ---- */

static shoal_status sum_counts(struct together *w, struct shoal_rank_stats *s)
{
    uint64_t counts[5 + SHOAL_STALE_BINS] = {s->bytes_in, s->bytes_out, s->messages,
                                             s->rows_pushed, s->naive_bytes};
    double times[] = {s->waited, s->computed};
    shoal_status st;

    memcpy(counts + 5, s->stale, sizeof s->stale);
    st = comm_sum_u64(w->comm, counts, 5 + SHOAL_STALE_BINS);
    if (st == SHOAL_OK)
        st = comm_sum(w->comm, times, 2);
    s->bytes_in = counts[0];
    s->bytes_out = counts[1];
    s->messages = counts[2];
    s->rows_pushed = counts[3];
    s->naive_bytes = counts[4];
    s->waited = times[0];
    s->computed = times[1];
    memcpy(s->stale, counts + 5, sizeof s->stale);
    return st;
}

shoal_status together_stats(struct together *w, const struct shoal_train_opts *opts,
                            struct shoal_rank_stats *stats)
{
    struct shoal_rank_stats mine = store_stats(w->store);
    unsigned owners = opts->servers ? opts->servers : w->ranks;
    double most = (double)store_merged(w->store), all = most;
    shoal_status st;

    mine.computed = stats->computed;
    mine.naive_bytes = stats->naive_bytes;
    *stats = mine;
    st = sum_counts(w, stats);
    if (st == SHOAL_OK)
        st = comm_max(w->comm, &most, 1);
    if (st == SHOAL_OK)
        st = comm_sum(w->comm, &all, 1);
    stats->ranks = w->ranks;
    stats->servers = opts->servers;
    stats->load_most = all > 0 ? most / all * owners : 1;
    return st;
}
