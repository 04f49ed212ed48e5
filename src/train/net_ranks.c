/* Ranks that train a net together: when one fails all hear why, and what it cost. */
#include "train/net_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_FAIL = 12, SENTENCE = 1024 };

#define TELL_SECONDS 1.0

struct failure {
    int32_t status;
    char sentence[SENTENCE];
};

struct net_ranks {
    struct comm *comm;
    bool failed; /* another rank said so */
    struct failure out;
    comm_ticket *tickets; /* [ranks] */
};

static shoal_status on_fail(void *ctx, unsigned from, const void *data, size_t len)
{
    struct net_ranks *w = ctx;
    struct failure f;

    if (len != sizeof f)
        return shoal_fail(SHOAL_EFORMAT, "train: rank %u sent %zu bytes, want %zu", from, len,
                          sizeof f);
    w->failed = true;
    memcpy(&f, data, sizeof f);
    f.sentence[SENTENCE - 1] = '\0';
    return shoal_fail((shoal_status)f.status, "rank %u on %s: %s", from, comm_host(w->comm, from),
                      f.sentence);
}

shoal_status net_ranks_open(struct net_ranks **out, struct comm *comm, double patience)
{
    struct net_ranks *w = mem_array(1, sizeof *w);
    shoal_status st = SHOAL_ENOMEM;

    *out = w;
    if (w) {
        w->comm = comm;
        w->tickets = mem_array(comm_size(comm), sizeof *w->tickets);
        st = w->tickets ? SHOAL_OK : SHOAL_ENOMEM;
    }
    st = comm_agree(comm, st);
    if (st != SHOAL_OK)
        return st;
    comm_silence_timeout(comm, patience);
    comm_on(comm, TAG_FAIL, on_fail, w);
    return SHOAL_OK;
}

/* What is still being sent, because a rank is gone, stays where it is. */
void net_ranks_close(struct net_ranks *w)
{
    bool sent = true;

    if (!w)
        return;
    for (unsigned r = 0; w->tickets && sent && r < comm_size(w->comm); r++)
        sent = comm_wait(w->comm, &w->tickets[r]) == SHOAL_OK;
    comm_silence_timeout(w->comm, 0); /* writing the result may take long */
    comm_on(w->comm, TAG_FAIL, NULL, NULL);
    if (!sent)
        return;
    free(w->tickets);
    free(w);
}

/* What another rank said, or that it is gone, the others know already. They hear of
 * ours at their next poll, so some time is given to it. */
void net_ranks_fail(struct net_ranks *w, shoal_status st)
{
    double until = clock_now() + TELL_SECONDS;

    if (st == SHOAL_EPEER || w->failed)
        return;
    w->out.status = (int32_t)st;
    snprintf(w->out.sentence, SENTENCE, "%s", shoal_error());
    for (unsigned r = 0; r < comm_size(w->comm); r++)
        if (r != comm_rank(w->comm))
            comm_send(w->comm, r, TAG_FAIL, &w->out, sizeof w->out, &w->tickets[r]);
    for (bool all = false; !all && clock_now() < until;) {
        all = true;
        for (unsigned r = 0; r < comm_size(w->comm); r++) {
            bool sent = true;

            comm_test(w->comm, &w->tickets[r], &sent);
            all = all && sent;
        }
    }
    shoal_fail(st, "%s", w->out.sentence);
}

shoal_status net_ranks_stats(struct comm *comm, unsigned servers, const struct dense *d,
                             double computed, struct shoal_rank_stats *stats)
{
    struct shoal_rank_stats s = dense_stats(d);
    uint64_t counts[4 + SHOAL_STALE_BINS] = {s.bytes_in, s.bytes_out, s.messages, s.rows_pushed};
    double times[] = {s.waited, computed}, most = (double)dense_applied(d), sum = most;
    unsigned ranks = comm_size(comm);
    shoal_status st;

    memcpy(counts + 4, s.stale, sizeof s.stale);
    st = comm_sum_u64(comm, counts, 4 + SHOAL_STALE_BINS);
    if (st == SHOAL_OK)
        st = comm_sum(comm, times, 2);
    if (st == SHOAL_OK)
        st = comm_sum(comm, &sum, 1);
    if (st == SHOAL_OK)
        st = comm_max(comm, &most, 1);
    *stats = (struct shoal_rank_stats){
        .ranks = ranks, .servers = servers, .bytes_in = counts[0], .bytes_out = counts[1],
        .messages = counts[2], .rows_pushed = counts[3], .waited = times[0], .computed = times[1],
        .load_most = sum > 0 ? most * (servers ? servers : ranks) / sum : 0,
    };
    memcpy(stats->stale, counts + 4, sizeof stats->stale);
    return st;
}
