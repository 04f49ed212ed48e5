/* Ranks as a caller sees them, and the vocabulary that they count together.
 *
 * Each word has an owner, by its hash. A rank counts its part of the text, then sends each count to
 * the word's owner in rounds of bounded size, so that no rank needs memory for the words of all:
 *
 *     each   count its part of the text
 *     all    rounds: what was counted goes to the words' owners
 *     each   sums of its own words
 *     all    everybody gets them, and makes the same vocabulary of them
 *     rank 0, or each its own when `local`: encode                              */
#include "train/train.h"

#include <stdlib.h>

struct shoal_ranks {
    struct comm *comm;
};

enum {
    TAG_COUNTS = 14,
    ROUND_BYTES = 64 << 20, /* what a rank packs in a round, at most or nearly so */
};

#define JOIN_SILENCE 60.0 /* seconds, until the options are known */

/* ---- joining and leaving ---- */

shoal_status shoal_ranks_join(shoal_ranks **out)
{
    struct shoal_ranks *r = mem_array(1, sizeof *r);
    shoal_status st = r ? comm_open(&r->comm) : SHOAL_ENOMEM;

    *out = st == SHOAL_OK ? r : NULL;
    if (st == SHOAL_OK)
        ranks_watch(r, JOIN_SILENCE);
    else
        free(r);
    return st;
}

/* Without a heartbeat a rank is silent while it works, and others may blame it only where all poll
 * (rendezvous.c). */
void ranks_watch(shoal_ranks *r, double silence)
{
    if (r && comm_size(r->comm) > 1 && comm_has_heartbeat(r->comm))
        comm_silence_timeout(r->comm, silence);
}

void shoal_ranks_leave(shoal_ranks *r, shoal_status st)
{
    if (!r)
        return;
    comm_close(r->comm, st == SHOAL_OK);
    free(r);
}

unsigned shoal_ranks_rank(const shoal_ranks *r)
{
    return r ? comm_rank(r->comm) : 0;
}

unsigned shoal_ranks_size(const shoal_ranks *r)
{
    return r ? comm_size(r->comm) : 1;
}

shoal_status shoal_ranks_agree(shoal_ranks *r, shoal_status st)
{
    return r ? comm_agree(r->comm, st) : st;
}

shoal_status shoal_ranks_share(shoal_ranks *r, void *data, size_t len)
{
    return r ? comm_broadcast(r->comm, 0, data, len) : SHOAL_OK;
}

struct comm *ranks_comm(shoal_ranks *r)
{
    return r ? r->comm : NULL;
}

unsigned ranks_here(const shoal_ranks *r)
{
    return r ? comm_ranks_here(r->comm) : 1;
}

unsigned ranks_threads(const shoal_ranks *r, unsigned asked)
{
    unsigned cores = pool_threads(0), here = ranks_here(r);

    if (asked > 0)
        return asked;
    return cores > here ? cores / here : 1;
}

shoal_status ranks_same(shoal_ranks *r, uint64_t mark, const char *what)
{
    uint64_t first = mark;
    shoal_status st;

    if (shoal_ranks_size(r) == 1)
        return SHOAL_OK;
    st = comm_broadcast(r->comm, 0, &first, sizeof first);
    if (st == SHOAL_OK && first != mark)
        st = shoal_fail(SHOAL_EINVAL, "train: found %s other than rank 0's, want the same for all",
                        what);
    return comm_agree(r->comm, st);
}

/* ---- a job all work on ---- */

struct job {
    struct comm *comm;
    unsigned rank, size;
    unsigned threads; /* when all ranks work at once */
    bool local;
    struct shoal_watch watch; /* the caller's */
    struct background work;
    struct encoding *encoding;
    const shoal_vocab *given;
    shoal_vocab *made;
    struct shoal_encode_stats stats;

    struct vocab_part *part;
    struct bytes *out;     /* [size] batches to be sent */
    comm_ticket *tickets;  /* [size] */
    struct bytes in;       /* a batch that came */
    unsigned arrived;      /* in this round */
    shoal_status unpacked; /* of all that arrived */
    struct bytes mine;     /* what this rank settles for */
    char *all;             /* what all do */
    size_t *lens;
};

/* Other threads call it; it ends the work when the ranks are no more. */
static bool job_watch(void *user, const struct shoal_progress *progress)
{
    struct job *j = user;

    if (atomic_load(&j->work.stop))
        return false;
    return j->rank != 0 || !j->watch.fn || j->watch.fn(j->watch.user, progress);
}

static shoal_status job_open(struct job *j, const char *path, const char *const *inputs, size_t n,
                             const struct shoal_encode_opts *opts)
{
    struct shoal_encode_opts own = *opts;
    shoal_status st;

    if (j->local)
        own.vocab.threads = j->threads;
    own.vocab.watch = (struct shoal_watch){job_watch, j};
    j->watch = opts->vocab.watch;
    j->given = opts->given;
    st = encoding_open(&j->encoding, path, &(struct sources){.paths = inputs, .n = n}, &own);
    return st == SHOAL_OK && !j->local && !j->given
               ? encoding_part(j->encoding, j->rank, j->size) : st;
}

static void job_close(struct job *j)
{
    vocab_part_close(j->part);
    encoding_close(j->encoding);
    shoal_vocab_free(j->made);
    for (unsigned r = 0; j->out && r < j->size; r++)
        bytes_fini(&j->out[r]);
    free(j->out);
    free(j->tickets);
    bytes_fini(&j->in);
    bytes_fini(&j->mine);
    free(j->all);
    free(j->lens);
}

/* Runs fn aside and agrees on its outcome. */
static shoal_status job_run(struct job *j, shoal_status (*fn)(void *ctx))
{
    background_begin(&j->work, fn, j);
    return comm_agree(j->comm, background_end(&j->work, j->comm));
}

/* ---- counting ---- */

static shoal_status count_part(void *ctx)
{
    struct job *j = ctx;
    struct shoal_vocab_opts opts = *encoding_opts(j->encoding);
    shoal_status st;

    opts.threads = j->threads;
    st = vocab_part_open(&j->part, &opts, j->rank, j->size);
    j->out = mem_array(j->size, sizeof *j->out);
    j->tickets = mem_array(j->size, sizeof *j->tickets);
    if (!j->out || !j->tickets)
        return SHOAL_ENOMEM;
    return st == SHOAL_OK ? vocab_part_count(j->part, encoding_text(j->encoding)) : st;
}

/* A failure waits until all agree on it: the round goes on. */
static shoal_status counts_handle(void *ctx, unsigned from, const void *data, size_t len)
{
    struct job *j = ctx;
    shoal_status st = j->unpacked;

    (void)from;
    j->arrived++;
    j->in.len = 0;
    if (st == SHOAL_OK)
        st = bytes_reserve(&j->in, len + KEY_PAD);
    if (st == SHOAL_OK)
        st = bytes_add(&j->in, data, len);
    if (st == SHOAL_OK)
        st = vocab_part_unpack(j->part, j->in.at, len);
    j->unpacked = st;
    return SHOAL_OK;
}

static bool all_arrived(void *ctx)
{
    const struct job *j = ctx;

    return j->arrived == j->size;
}

/* One batch from each to each, itself among them. Some may come before this rank
 * begins, but none of the next round before it has ended this one: all meet
 * between two rounds. */
static shoal_status exchange(struct job *j)
{
    shoal_status st = SHOAL_OK;

    for (unsigned i = 0; i < j->size && st == SHOAL_OK; i++) {
        unsigned to = (j->rank + i) % j->size;

        st = comm_send(j->comm, to, TAG_COUNTS, j->out[to].at, j->out[to].len, &j->tickets[to]);
    }
    if (st == SHOAL_OK)
        st = comm_until(j->comm, all_arrived, j);
    for (unsigned to = 0; to < j->size && st == SHOAL_OK; to++)
        st = comm_wait(j->comm, &j->tickets[to]);
    j->arrived = 0;
    return st;
}

static size_t round_room(const struct job *j)
{
    size_t room = ROUND_BYTES / j->size;

    room = room < COMM_MAX_MESSAGE ? room : COMM_MAX_MESSAGE;
    return room > VOCAB_PACK_MIN ? room : VOCAB_PACK_MIN;
}

static shoal_status exchange_all(struct job *j)
{
    uint64_t more = 1;
    shoal_status st = SHOAL_OK;

    comm_on(j->comm, TAG_COUNTS, counts_handle, j);
    while (st == SHOAL_OK && more > 0) {
        bool left = false;

        if (j->unpacked == SHOAL_OK)
            j->unpacked = vocab_part_pack(j->part, j->out, round_room(j), &left);
        st = comm_agree(j->comm, j->unpacked);
        more = left;
        if (st == SHOAL_OK)
            st = exchange(j);
        if (st == SHOAL_OK)
            st = comm_sum_u64(j->comm, &more, 1);
    }
    comm_on(j->comm, TAG_COUNTS, NULL, NULL);
    return st;
}

static shoal_status settle(void *ctx)
{
    struct job *j = ctx;

    return j->unpacked == SHOAL_OK ? vocab_part_settle(j->part, &j->mine) : j->unpacked;
}

static shoal_status join(void *ctx)
{
    struct job *j = ctx;
    shoal_status st = vocab_part_join(&j->made, j->part, j->all, j->lens, &j->stats.vocab);

    vocab_part_close(j->part);
    j->part = NULL;
    free(j->all);
    j->all = NULL;
    return st == SHOAL_OK
               ? encoding_rewind(j->encoding, j->local ? NULL : &j->stats.vocab.text) : st;
}

static shoal_status count_by_ranks(struct job *j)
{
    double began = clock_now();
    shoal_status st = job_run(j, count_part);

    if (st == SHOAL_OK)
        st = exchange_all(j);
    if (st == SHOAL_OK)
        st = job_run(j, settle);
    if (st == SHOAL_OK)
        st = comm_gather(j->comm, j->mine.at, j->mine.len, &j->all, &j->lens);
    if (st == SHOAL_OK)
        st = job_run(j, join);
    j->given = j->made;
    j->stats.count_seconds = clock_now() - began;
    return st;
}

/* ---- encoding ---- */

static shoal_status write_corpus(void *ctx)
{
    struct job *j = ctx;

    return j->rank == 0 || j->local ? encoding_write(j->encoding, j->given, &j->stats) : SHOAL_OK;
}

static shoal_status encode_by_ranks(struct job *j, const char *path, const char *const *inputs,
                                    size_t n, const struct shoal_encode_opts *opts)
{
    shoal_status st = comm_agree(j->comm, job_open(j, path, inputs, n, opts));

    if (st == SHOAL_OK && !j->given)
        st = count_by_ranks(j);
    if (st == SHOAL_OK)
        st = job_run(j, write_corpus);
    if (st == SHOAL_OK && !j->local)
        st = comm_broadcast(j->comm, 0, &j->stats, sizeof j->stats);
    return st;
}

shoal_status shoal_ranks_encode(shoal_ranks *r, const char *path, const char *const *inputs,
                                size_t n, const struct shoal_encode_opts *opts, bool local,
                                struct shoal_encode_stats *stats)
{
    struct job j = {.comm = ranks_comm(r), .rank = shoal_ranks_rank(r),
                    .size = shoal_ranks_size(r), .local = local,
                    .threads = ranks_threads(r, opts->vocab.threads)};
    shoal_status st;

    if (j.size == 1)
        return shoal_encode(path, inputs, n, opts, stats);
    st = encode_by_ranks(&j, path, inputs, n, opts);
    if (stats)
        *stats = j.stats;
    job_close(&j);
    return st;
}
