/* Opening and closing: which rank owns which row, and the copies that are kept
 * of them. */
#include "store/shard.h"

#include <stdlib.h>

/* ---- the copies ---- */

/* kernel/wire.h has their layout. */
static size_t row_bytes(const struct table *t, enum shoal_wire wire)
{
    size_t bytes = t->width * sizeof(float);

    if (wire == SHOAL_WIRE_BF16)
        bytes = t->width * 2;
    if (wire == SHOAL_WIRE_INT8)
        bytes = 2 + t->width;
    if (wire == SHOAL_WIRE_INT4)
        bytes = 2 + (t->width + 1) / 2;
    return (bytes + 3) / 4 * 4;
}

static size_t bytes_of(const struct shard *h, size_t rows)
{
    return rows * h->table->stride * sizeof(float);
}

/* Floats travel as they are: a message holds what it said until it is answered. But who only asks
 * for a row has said nothing. */
static bool keeps_base(const struct store_opts *o, size_t t)
{
    return exchanges(o) && (o->wire != SHOAL_WIRE_F32 || o->fresh[t] > 0);
}

/* In step an owner's rows wait, as all others, for the end of the round, and without
 * replicas there are no others. */
static bool keeps_masters(const struct store_opts *o)
{
    return o->blocks || (o->policy == SHOAL_SYNC && !o->lanes);
}

void shard_note_seen(struct store *s, struct shard *h, unsigned rank)
{
    if (rank == s->rank && !h->master)
        return;
    for (uint32_t i = 0; i < h->owned; i++)
        memcpy(shard_seen(h, rank, i), home_row(h, i), bytes_of(h, 1));
    memcpy(h->known + (size_t)rank * h->owned, h->pushes, h->owned * sizeof *h->known);
}

static shoal_status fill_owned(struct store *s, struct shard *h)
{
    for (uint32_t i = 0; h->own && i < h->owned; i++)
        h->own[i] = deal_row(&h->deal, s->rank, i);
    if (!exchanges(&s->opts))
        return SHOAL_OK;
    if (h->base)
        memcpy(h->base, h->table->at, bytes_of(h, h->table->rows));
    for (uint32_t i = 0; h->master && i < h->owned; i++)
        memcpy(home_row(h, i), shard_row(h, h->table->at, deal_row(&h->deal, s->rank, i)), bytes_of(h, 1));
    for (unsigned r = 0; r < s->policy.workers; r++)
        shard_note_seen(s, h, r);
    return SHOAL_OK;
}

/* Kept from merge to merge: these are short, and fresh memory would cost more than they do. */
static shoal_status make_sums(struct shard *h, size_t owned)
{
    h->sums.slot = mem_array(owned, sizeof *h->sums.slot);
    h->sums.places = mem_array(owned, sizeof *h->sums.places);
    h->sums.rows = mem_map(bytes_of(h, owned));
    return h->sums.slot && h->sums.places && h->sums.rows ? SHOAL_OK : SHOAL_ENOMEM;
}

/* Pages of `seen` that nobody writes, those of this rank itself, are never there. */
static shoal_status make_copies(struct store *s, struct shard *h)
{
    size_t owned = h->owned ? h->owned : 1, t = (size_t)(h - s->shards);

    if (s->opts.blocks && !(h->own = mem_array(owned, sizeof *h->own)))
        return SHOAL_ENOMEM;
    h->pushes = mem_array(owned, sizeof *h->pushes);
    h->known = mem_array(s->opts.blocks ? 1 : owned * s->policy.workers, sizeof *h->known);
    if (!h->pushes || !h->known)
        return SHOAL_ENOMEM;
    if (keeps_masters(&s->opts) && !(h->master = mem_map(bytes_of(h, owned))))
        return SHOAL_ENOMEM;
    if (keeps_base(&s->opts, t) && !(h->base = mem_map(bytes_of(h, h->table->rows))))
        return SHOAL_ENOMEM;
    h->hot = s->opts.hot < h->table->rows ? s->opts.hot : (uint32_t)h->table->rows;
    if (!exchanges(&s->opts) || h->master)
        h->hot = 0;
    if (h->hot > 0 && !(h->news = mem_map(bytes_of(h, h->hot))))
        return SHOAL_ENOMEM;
    if (exchanges(&s->opts) && s->opts.fresh[t] > 0 &&
        !(h->heard = mem_array(h->table->rows, sizeof *h->heard)))
        return SHOAL_ENOMEM;
    if (exchanges(&s->opts) && !(h->seen = mem_map(bytes_of(h, owned * s->policy.workers))))
        return SHOAL_ENOMEM;
    if (s->opts.lanes && make_sums(h, owned) != SHOAL_OK)
        return SHOAL_ENOMEM;
    return fill_owned(s, h);
}

static size_t round_bytes(const struct store_opts *o)
{
    return o->round_bytes > 0 ? o->round_bytes : ROUND_BYTES;
}

/* What a worker may send to an owner in a round of SHOAL_SYNC: owners are sent alike. */
static size_t owner_bytes(const struct store_opts *o, unsigned ranks)
{
    size_t bytes = round_bytes(o) / (o->servers ? o->servers : ranks);

    return bytes ? bytes : 1;
}

static size_t batch_bytes(const struct store_opts *o, unsigned ranks)
{
    size_t most = owner_bytes(o, ranks);

    return exchanges(o) && o->policy == SHOAL_SYNC && most < BATCH_BYTES ? most : BATCH_BYTES;
}

/* A batch of places is as long as one of the rows that answer it. */
static void forms_init(const struct store *s, struct shard *h)
{
    enum shoal_wire wire = s->opts.lanes ? SHOAL_WIRE_F32 : s->opts.wire;

    for (unsigned f = 0; f < FORMS; f++) {
        size_t bytes = row_bytes(h->table, f == FORM_WHOLE ? SHOAL_WIRE_F32 : wire);
        size_t fit = batch_bytes(&s->opts, s->ranks) / bytes;

        h->forms[f] = (struct form){f == FORM_PLACES ? 0 : bytes, (uint32_t)(fit ? fit : 1)};
    }
}

static shoal_status shard_init(struct store *s, struct shard *h, struct table *t,
                               const float *traffic)
{
    shoal_status st;

    *h = (struct shard){.table = t, .rank = s->rank};
    forms_init(s, h);
    if (message_bytes(t->width * sizeof(float), 1) > COMM_MAX_MESSAGE)
        return shoal_fail(SHOAL_ELIMIT, "store: a row of table %s has %zu numbers, too many for a "
                          "message of %d bytes", t->name, t->width, COMM_MAX_MESSAGE);
    st = deal_init(&h->deal, t->rows, s->policy.owner, s->ranks - s->policy.owner, traffic);
    if (st != SHOAL_OK)
        return st;
    h->owned = deal_count(&h->deal, s->rank);
    if (s->opts.blocks) {
        h->slot = mem_array(t->rows, sizeof *h->slot);
    } else {
        h->touches = mem_array(t->rows + 8, 1);
        h->flight = mem_array(t->rows, 1);
    }
    if (!h->slot && (!h->touches || !h->flight))
        return SHOAL_ENOMEM;
    return make_copies(s, h);
}

static void shard_fini(struct store *s, struct shard *h)
{
    size_t owned = h->owned ? h->owned : 1;

    if (!h->table)
        return;
    mem_unmap(h->base, bytes_of(h, s->opts.blocks ? h->room : h->table->rows));
    mem_unmap(h->master, bytes_of(h, owned));
    mem_unmap(h->news, bytes_of(h, h->hot));
    mem_unmap(h->seen, bytes_of(h, owned * s->policy.workers));
    mem_unmap(h->sums.rows, bytes_of(h, owned));
    free(h->sums.slot);
    free(h->sums.places);
    deal_fini(&h->deal);
    free(h->touches);
    free(h->flight);
    free(h->heard);
    free(h->slot);
    free(h->own);
    free(h->pushes);
    free(h->known);
}

/* SHOAL_SYNC: a round's messages on their way from a worker; those that an owner keeps until the
 * round is whole, and its answers. */
static uint64_t round_most(uint64_t all, unsigned owners, unsigned workers,
                           const struct store_opts *o)
{
    uint64_t sent = all < round_bytes(o) ? all : round_bytes(o);

    return sent + 2 * sent * workers / owners;
}

/* What is owned; a block's rows on both sides of the pull and the push, those of the
 * next, what they were, and the same as lent to others. */
static uint64_t blocks_bytes(const struct table *t, unsigned owners, unsigned workers,
                             size_t needed)
{
    uint64_t row = t->stride * sizeof(float), rows = needed < t->rows ? needed : t->rows;

    return deal_bytes(t->rows) + t->rows * 4 + t->rows * 4 / owners + t->rows * row / owners + rows * row * 5 +
           2 * rows * row * workers / owners;
}

uint64_t store_bytes(const struct table *tables, size_t n, unsigned ranks,
                     const struct store_opts *o)
{
    unsigned owners = o->servers ? o->servers : ranks, workers = ranks - o->servers;
    uint64_t bytes = 0, every = 0;

    for (size_t t = 0; t < n && o->blocks; t++)
        bytes += blocks_bytes(&tables[t], owners, workers, o->needed[t]);
    if (o->blocks)
        return bytes;
    for (size_t t = 0; t < n; t++) {
        uint64_t all = table_size(&tables[t]);

        every += all;
        bytes += deal_bytes(tables[t].rows) + tables[t].rows * 2 +
                 tables[t].rows * 4 * (workers + 1) / owners;
        if (exchanges(o) && o->fresh[t] > 0)
            bytes += tables[t].rows * 2;
        if (o->lanes) /* of the sums; what a merge touches of their rows is little */
            bytes += tables[t].rows * 8 / owners;
        if (exchanges(o)) /* what is owned as each worker has seen it */
            bytes += all * workers / owners;
        if (keeps_base(o, t))
            bytes += all;
        if (keeps_masters(o))
            bytes += all / owners;
    }
    if (exchanges(o) && o->policy == SHOAL_SYNC)
        bytes += round_most(every, owners, workers, o);
    return bytes;
}

/* ---- opening ---- */

static shoal_status check(const struct store *s)
{
    const struct store_opts *o = &s->opts;

    if (s->ranks > COMM_MAX_RANKS)
        return shoal_fail(SHOAL_ELIMIT, "store: found %u ranks, want at most %d", s->ranks,
                          COMM_MAX_RANKS);
    if (o->blocks && (o->policy == SHOAL_AVERAGE || o->lanes))
        return shoal_fail(SHOAL_EINVAL, "store: blocks of rows where whole models are averaged or "
                          "lanes merged, want replicas");
    if (s->n > STORE_TABLES)
        return shoal_fail(SHOAL_EINVAL, "store: found %zu tables, want at most %d", s->n,
                          STORE_TABLES);
    return SHOAL_OK;
}

static shoal_status make_scratch(struct store *s, const struct table *tables)
{
    size_t most = 0;

    for (size_t t = 0; t < s->n; t++)
        most = tables[t].stride > most ? tables[t].stride : most;
    s->scratch = table_stride(most);
    s->mine = mem_map(3 * s->scratch * sizeof(float));
    s->credits = CREDITS;
    if (exchanges(&s->opts) && s->opts.policy == SHOAL_SYNC)
        s->credits = (unsigned)(owner_bytes(&s->opts, s->ranks) / batch_bytes(&s->opts, s->ranks));
    s->shards = mem_array(s->n, sizeof *s->shards);
    s->peers = mem_array(s->ranks, sizeof *s->peers);
    if (!s->mine || !s->shards || !s->peers)
        return SHOAL_ENOMEM;
    s->fresh = s->mine + s->scratch;
    s->was = s->fresh + s->scratch;
    return SHOAL_OK;
}

/* What does not belong to how rows travel here is not listened to. */
static void listen(struct store *s)
{
    policy_listen(&s->policy);
    if (s->opts.blocks) {
        comm_on(s->comm, TAG_PULL, store_pull_handle, s);
        comm_on(s->comm, TAG_LENT, store_lent_handle, s);
        comm_on(s->comm, TAG_BACK, store_back_handle, s);
    } else if (s->opts.lanes) {
        comm_on(s->comm, TAG_LANE, store_lane_handle, s);
        comm_on(s->comm, TAG_CHANGED, store_changed_handle, s);
    } else {
        comm_on(s->comm, TAG_PUSH, store_push_handle, s);
        comm_on(s->comm, TAG_FRESH, store_fresh_handle, s);
        comm_on(s->comm, TAG_ASK, store_ask_handle, s);
        comm_on(s->comm, TAG_HOME, store_home_handle, s);
    }
}

static shoal_status open_all(struct store *s, struct table *tables, const float *const *traffic)
{
    shoal_status st = check(s);

    if (st == SHOAL_OK)
        st = policy_init(&s->policy, &s->outbox, s->opts.policy, s->opts.staleness,
                         s->opts.servers);
    if (s->opts.policy == SHOAL_SYNC && !s->opts.lanes) {
        s->policy.merge = store_push_answer;
        s->policy.ctx = s;
    }
    if (st == SHOAL_OK)
        st = make_scratch(s, tables);
    for (size_t t = 0; t < s->n && st == SHOAL_OK; t++)
        st = shard_init(s, &s->shards[t], &tables[t], traffic ? traffic[t] : NULL);
    for (unsigned r = 0; r < s->ranks && st == SHOAL_OK; r++)
        s->peers[r].behind = &s->peers[r].first;
    if (st == SHOAL_OK && s->opts.blocks)
        store_blocks_init(s);
    store_ages_set(s);
    return st;
}

shoal_status store_open(struct store **out, struct comm *comm, struct table *tables, size_t n,
                        const float *const *traffic, const struct kernel *kernel,
                        const struct store_opts *opts)
{
    struct store *s = mem_array(1, sizeof *s);
    shoal_status st = SHOAL_ENOMEM;

    *out = NULL;
    if (s) {
        *s = (struct store){.comm = comm, .kernel = kernel, .opts = *opts, .n = n,
                            .outbox = {.comm = comm},
                            .share = opts->share > 0 ? opts->share : STORE_SHARE,
                            .rank = comm_rank(comm), .ranks = comm_size(comm)};
        st = open_all(s, tables, traffic);
    }
    st = comm_agree(comm, st);
    if (st != SHOAL_OK) {
        store_close(s);
        return st;
    }
    listen(s);
    *out = s;
    return comm_barrier(comm);
}

void store_close(struct store *s)
{
    static const unsigned tags[] = {TAG_PUSH, TAG_FRESH, TAG_LANE, TAG_CHANGED, TAG_PULL,
                                    TAG_LENT, TAG_BACK,  TAG_ASK,  TAG_HOME};

    if (!s)
        return;
    /* after a failure others still send; nobody may answer while what follows waits */
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        comm_on(s->comm, tags[i], NULL, NULL);
    policy_fini(&s->policy);
    for (unsigned r = 0; s->peers && r < s->ranks; r++) {
        for (size_t t = 0; t < s->n; t++) {
            outbox_release(&s->outbox, s->peers[r].open[t]);
            outbox_release(&s->outbox, s->peers[r].asking[t]);
        }
        while (s->peers[r].first)
            outbox_release(&s->outbox, peer_take_answered(&s->peers[r]));
        deferred_fini(&s->peers[r].pushed);
    }
    outbox_fini(&s->outbox);
    deferred_fini(&s->deferred);
    store_blocks_fini(s);
    for (size_t t = 0; s->shards && t < s->n; t++)
        shard_fini(s, &s->shards[t]);
    mem_unmap(s->mine, 3 * s->scratch * sizeof(float));
    free(s->shards);
    free(s->peers);
    free(s);
}

/* ---- asking ---- */

uint8_t *store_touches(struct store *s, size_t t)
{
    return s->shards[t].touches;
}

const float *store_news(const struct store *s, size_t t)
{
    return s->shards[t].news;
}

const struct deal *store_deal(const struct store *s, size_t t)
{
    return &s->shards[t].deal;
}

struct table store_owned(const struct store *s, size_t t, const uint32_t **rows)
{
    const struct shard *h = &s->shards[t];
    struct table owned = *h->table;

    owned.rows = h->owned;
    owned.at = h->master;
    *rows = h->own;
    return owned;
}

struct shoal_rank_stats store_stats(const struct store *s, uint64_t *merged)
{
    *merged = s->merged;
    return s->stats;
}

struct store_times store_times(const struct store *s)
{
    struct store_times times = s->times;

    times.held = s->steps ? (double)s->held_steps / (double)s->steps : 0;
    return times;
}

/* ---- messages ---- */

shoal_status store_message_check(const struct store *s, unsigned from, const void *data, size_t len)
{
    const struct head *h = data;
    const struct shard *shard;

    if (len < sizeof *h || h->table >= s->n || h->count > len || h->form >= FORMS ||
        (s->opts.lanes && h->form != FORM_WIRE))
        return shoal_fail(SHOAL_EFORMAT, "store: rank %u sent %zu bytes that are no rows", from,
                          len);
    shard = &s->shards[h->table];
    if (len != message_bytes(shard->forms[h->form].row_bytes, h->count))
        return shoal_fail(SHOAL_EFORMAT,
                          "store: rank %u sent %zu bytes for %u rows of table %s, "
                          "want %zu",
                          from, len, h->count, shard->table->name,
                          message_bytes(shard->forms[h->form].row_bytes, h->count));
    return SHOAL_OK;
}
