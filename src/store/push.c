/* The owner protocol: workers push what they made of a row, owners merge it and answer with
 * what the row is now (store.h has the drawing).
 *
 * The problem: every change of every worker must reach the row once, and nobody may wait for it.
 * What makes it right:
 *
 *   - The owner knows what each rank last saw of a row, seen[r], and the rank knows it too (its
 *     base, or the message it sent): the same bits on both sides. So mine - seen[r] is what the
 *     rank did since, and only that.
 *   - A row has at most one message in flight from a rank (flight), and messages between two
 *     ranks stay in order, so seen[r] cannot change between a push and its answer.
 *   - The rank goes on training meanwhile. The answer changes its replica by a difference,
 *     replica += fresh - mine: what was learned since the push stays, and goes with the next.
 *   - Merging folds (view.c) two changes of the base seen[r]: mine, and what all others made of
 *     the row since. `missed` counts the pushes of others in between; where it is 0 there is
 *     nothing to fold.
 *
 * A row that this rank owns is trained in place and never travels; it counts as pushed, so that
 * others' `missed` is right. In SHOAL_SYNC pushes are deferred until every worker has ended the
 * round, and merged in the order of the ranks: the result does not depend on who was quicker.
 *
 * Asking: who will need a row that it has not heard of for long (heard) asks its owner, who answers
 * as to a push that changed nothing. Where the row was changed here it is pushed instead. An answer
 * leaves out rows that moved by `least` or less since the asker last saw them; seen[r] stays as it
 * was then, so nothing is lost.
 *
 * Flow control: at most CREDITS messages to an owner are unanswered. Rows beyond that stay
 * touched, and the next step begins with the first of them, so that none waits for ever behind
 * hotter ones. In SHOAL_SYNC answers come only at the end of a round, so that the limit is what a
 * round may carry (round_bytes); when all that was touched must travel, it does so in as many
 * rounds as that takes, a range of the rows in each: all that any rank did to a row is merged in
 * the same round, as if there were one. */
#include "store/shard.h"

#include <stdlib.h>

enum {
    AHEAD = 2, /* rows of a message between the prefetch of one and its turn */
    LINE = 4,  /* the same of rows to be pushed, */
    SOON = 16, /* and of the rounds in which rows were heard of */
};

/* ---- numbers on the wire ---- */

static const struct kernel_wire *kernel_wire_of(const struct store *s, unsigned form)
{
    switch (form == FORM_WHOLE ? SHOAL_WIRE_F32 : s->opts.wire) {
    case SHOAL_WIRE_BF16:
        return &s->kernel->wires[KERNEL_BF16];
    case SHOAL_WIRE_INT8:
        return &s->kernel->wires[KERNEL_INT8];
    case SHOAL_WIRE_INT4:
        return &s->kernel->wires[KERNEL_INT4];
    default:
        return NULL;
    }
}

void wire_write(const struct store *s, const struct shard *h, unsigned form, char *wire, float *x,
                const float *known)
{
    const struct kernel_wire *k = kernel_wire_of(s, form);

    if (k)
        k->pack(wire, x, known, h->table->width);
    else
        memcpy(wire, x, float_bytes(h));
}

void wire_read(const struct store *s, const struct shard *h, unsigned form, float *x,
               const char *wire, const float *known)
{
    const struct kernel_wire *k = kernel_wire_of(s, form);
    size_t width = h->table->width;

    /* the last one read may have been longer */
    memset(x + width, 0, (h->table->stride - width) * sizeof *x);
    if (k)
        k->unpack(x, wire, known, width);
    else
        memcpy(x, wire, float_bytes(h));
}

/* ---- the owner ---- */

/* What a row is to get from elsewhere, from `was` to `is`, is told to the threads that have copies
 * of their own of it (view.c). */
static void tell_news(const struct store *s, const struct shard *h, uint32_t row, const float *was,
                      const float *is)
{
    if (row >= h->hot)
        return;
    s->kernel->axpy(shard_row(h, h->news, row), 1, is, h->table->width);
    s->kernel->axpy(shard_row(h, h->news, row), -1, was, h->table->width);
}

static float share_of(const struct store *s, const struct shard *h, uint32_t place)
{
    bool rare = s->opts.rare > 0 && deal_row(&h->deal, s->rank, place) >= s->opts.rare;

    return rare ? s->opts.share_rare : s->share;
}

/* Threads train on the row meanwhile: it is read once, and changed by a difference. */
static void merge_live(struct store *s, struct shard *h, uint32_t place, uint32_t missed,
                       const float *mine, const float *seen)
{
    float *home = home_row(h, place);
    size_t stride = h->table->stride, bytes = stride * sizeof *mine;

    if (missed == 0 || h->table->adds) {
        memcpy(s->was, seen, bytes);
        tell_news(s, h, deal_row(&h->deal, s->rank, place), s->was, mine);
        s->kernel->renew(home, s->was, mine, stride);
        return;
    }
    s->kernel->copy(s->was, home, stride);
    memcpy(s->fresh, s->was, bytes);
    s->kernel->fold(s->fresh, mine, seen, h->table->width, share_of(s, h, place));
    tell_news(s, h, deal_row(&h->deal, s->rank, place), s->was, s->fresh);
    s->kernel->renew(home, s->was, s->fresh, stride);
}

void shard_merge(struct store *s, struct shard *h, uint32_t place, uint32_t missed,
                 const float *mine, const float *seen)
{
    float *home = home_row(h, place);

    h->pushes[place]++;
    s->merged++;
    policy_count_stale(&s->stats, missed, 1);
    if (!h->master)
        merge_live(s, h, place, missed, mine, seen);
    else if (missed == 0 && s->opts.wire == SHOAL_WIRE_F32)
        memcpy(home, mine, h->table->width * sizeof *mine);
    else if (missed == 0) /* but for what rounding left behind, which stays */
        row_add(h->table, home, mine, seen);
    else
        row_merge(h->table, s->kernel, home, mine, seen, share_of(s, h, place));
}

static void merge(struct store *s, struct shard *h, unsigned from, uint32_t place,
                  const float *mine, const float *seen)
{
    uint32_t *known = &h->known[(size_t)from * h->owned + place];

    shard_merge(s, h, place, h->pushes[place] - *known, mine, seen);
    *known = h->pushes[place];
}

/* Rows come from anywhere in memory; the one after the next is fetched meanwhile. */
static void fetch_ahead(const float *row, size_t width)
{
    for (size_t j = 0; j < width; j += 16)
        __builtin_prefetch(row + j);
}

static void fetch_row(const struct shard *h, uint32_t row)
{
    fetch_ahead(shard_row(h, h->table->at, row), h->table->width);
    if (h->base)
        fetch_ahead(shard_row(h, h->base, row), h->table->width);
}

/* ---- answers ---- */

/* An answer that is written: bits and rows (shard.h). */
struct answer {
    struct outgoing *o;
    char *end;
};

static shoal_status answer_begin(struct store *s, struct answer *a, const struct head *m)
{
    const struct shard *h = &s->shards[m->table];
    size_t most = sizeof *m + bits_bytes(m->count) + m->count * wire_bytes(h);
    shoal_status st = outbox_take(&s->outbox, &a->o, most);

    if (st != SHOAL_OK)
        return st;
    *(struct head *)a->o->data = (struct head){.table = m->table, .count = m->count};
    a->end = message_rows(a->o->data) + bits_bytes(m->count);
    memset(message_rows(a->o->data), 0, bits_bytes(m->count));
    return SHOAL_OK;
}

/* What row i of the message has become goes to its sender, who knows `seen` of it, and is known to
 * have it then; unless it is hardly other. */
static void answer_row(struct store *s, struct shard *h, struct answer *a, uint32_t i,
                       uint32_t place, float *seen)
{
    char *word = message_rows(a->o->data) + i / 32 * sizeof(uint32_t);
    size_t width = h->table->width;
    uint32_t bits;

    /* the same bits for both, though threads may train on the row */
    if (s->kernel->take(s->fresh, home_row(h, place), seen, width) <= s->least)
        return;
    wire_write(s, h, FORM_WIRE, a->end, s->fresh, seen);
    a->end += wire_bytes(h);
    memcpy(seen, s->fresh, float_bytes(h));
    memcpy(&bits, word, sizeof bits);
    bits |= 1u << i % 32;
    memcpy(word, &bits, sizeof bits);
}

static shoal_status answer_send(struct store *s, const struct answer *a, unsigned to)
{
    return outbox_post(&s->outbox, a->o, to, TAG_FRESH, (size_t)(a->end - (char *)a->o->data));
}

static void fetch_place(const struct shard *h, unsigned from, uint32_t place)
{
    fetch_ahead(home_row(h, place), h->table->width);
    fetch_ahead(shard_seen(h, from, place), h->table->width);
}

/* Where all meet they are told everything afterwards: there is nothing to answer. */
static shoal_status merge_message(struct store *s, unsigned from, const struct head *m)
{
    struct shard *h = &s->shards[m->table];
    size_t bytes = h->forms[m->form].row_bytes;
    struct answer a;
    shoal_status st = answer_begin(s, &a, m);

    for (uint32_t i = 0; i < m->count && st == SHOAL_OK; i++) {
        uint32_t place = message_place(m, bytes, i);
        float *seen = shard_seen(h, from, place);

        if (i + AHEAD < m->count)
            fetch_place(h, from, message_place(m, bytes, i + AHEAD));
        wire_read(s, h, m->form, s->mine, message_rows(m) + i * bytes, seen);
        merge(s, h, from, place, s->mine, seen);
        memcpy(seen, s->mine, float_bytes(h));
        if (m->form != FORM_WHOLE)
            answer_row(s, h, &a, i, place, seen);
    }
    return st == SHOAL_OK ? answer_send(s, &a, from) : st;
}

static shoal_status answer_asked(struct store *s, unsigned from, const struct head *m)
{
    struct shard *h = &s->shards[m->table];
    struct answer a;
    shoal_status st = answer_begin(s, &a, m);

    for (uint32_t i = 0; i < m->count && st == SHOAL_OK; i++) {
        uint32_t place = message_place(m, 0, i);

        if (i + AHEAD < m->count)
            fetch_place(h, from, message_place(m, 0, i + AHEAD));
        answer_row(s, h, &a, i, place, shard_seen(h, from, place));
        h->known[(size_t)from * h->owned + place] = h->pushes[place];
    }
    return st == SHOAL_OK ? answer_send(s, &a, from) : st;
}

static shoal_status check_places(const struct store *s, unsigned from, const struct head *m)
{
    const struct shard *h = &s->shards[m->table];
    size_t bytes = h->forms[m->form].row_bytes;

    if (from >= s->policy.workers)
        return shoal_fail(SHOAL_EFORMAT, "store: rank %u pushes rows but does not work", from);
    for (uint32_t i = 0; i < m->count; i++)
        if (message_place(m, bytes, i) >= h->owned)
            return shoal_fail(SHOAL_EFORMAT,
                              "store: rank %u pushes row %u of table %s, here are %u", from,
                              message_place(m, bytes, i), h->table->name, h->owned);
    return SHOAL_OK;
}

shoal_status store_push_handle(void *ctx, unsigned from, const void *data, size_t len)
{
    struct store *s = ctx;
    shoal_status st = store_message_check(s, from, data, len);

    if (st == SHOAL_OK && ((const struct head *)data)->form == FORM_PLACES)
        st = shoal_fail(SHOAL_EFORMAT, "store: rank %u pushes places without rows", from);
    if (st == SHOAL_OK)
        st = check_places(s, from, data);
    if (st != SHOAL_OK)
        return st;
    if (s->opts.policy == SHOAL_SYNC)
        return deferred_add(&s->peers[from].pushed, from, s->policy.peers[from].ends + 1, data,
                            len);
    return merge_message(s, from, data);
}

shoal_status store_ask_handle(void *ctx, unsigned from, const void *data, size_t len)
{
    struct store *s = ctx;
    shoal_status st = store_message_check(s, from, data, len);

    if (st == SHOAL_OK && ((const struct head *)data)->form != FORM_PLACES)
        st = shoal_fail(SHOAL_EFORMAT, "store: rank %u asks by rows, want places", from);
    if (st == SHOAL_OK)
        st = check_places(s, from, data);
    return st == SHOAL_OK ? answer_asked(s, from, data) : st;
}

/* Each rank's in the order they came, which is that of the rounds. */
static shoal_status answer_rank(struct store *s, unsigned from, uint64_t round)
{
    struct deferrals *list = &s->peers[from].pushed;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && list->first && list->first->of == round) {
        struct deferred *d = deferred_take(list, &list->first);
        const struct head *m = (const struct head *)d->data;

        st = s->opts.blocks ? store_back_merge(s, from, m) : merge_message(s, from, m);
        free(d);
    }
    return st;
}

shoal_status store_push_answer(void *store, uint64_t round)
{
    struct store *s = store;
    shoal_status st = SHOAL_OK;

    for (unsigned from = 0; from < s->policy.workers && st == SHOAL_OK; from++)
        st = answer_rank(s, from, round);
    return st == SHOAL_OK && s->opts.blocks ? store_pulls_answer(s) : st;
}

/* ---- the worker ---- */

/* What others did to a row comes to the replica, which may have moved on since it was
 * sent. Without bases floats were sent as they were, and the message says what the owner knew. */
static void refresh(struct store *s, struct shard *h, uint32_t row, const char *sent,
                    const char *answer)
{
    float *at = shard_row(h, h->table->at, row);
    size_t width = h->table->width;

    if (h->base) {
        float *base = shard_row(h, h->base, row);

        wire_read(s, h, FORM_WIRE, s->fresh, answer, base);
        tell_news(s, h, row, base, s->fresh);
        s->kernel->renew(at, base, s->fresh, width);
    } else {
        memcpy(s->was, sent, float_bytes(h)); /* MPI may not have let go of the message yet */
        tell_news(s, h, row, s->was, (const float *)answer);
        s->kernel->renew(at, s->was, (const float *)answer, width);
    }
}

struct outgoing *peer_take_answered(struct peer *p)
{
    struct outgoing *o = p->first;

    if (!o)
        return NULL;
    p->first = o->next;
    if (!p->first)
        p->behind = &p->first;
    p->out--;
    p->answered++;
    p->owed -= ((const struct head *)o->data)->count;
    return o;
}

static uint32_t *batch_places(const struct shard *h, const struct outgoing *o)
{
    const struct form *f = &h->forms[((const struct head *)o->data)->form];

    return (uint32_t *)((char *)o->data + message_bytes(f->row_bytes, f->batch));
}

static uint32_t *batch_rows(const struct shard *h, const struct outgoing *o)
{
    return batch_places(h, o) + h->forms[((const struct head *)o->data)->form].batch;
}

static bool bit_of(const char *bits, uint32_t i)
{
    uint32_t word;

    memcpy(&word, bits + i / 32 * sizeof word, sizeof word);
    return word >> i % 32 & 1;
}

static void take_answer(struct store *s, const struct outgoing *asked, const struct head *m)
{
    struct shard *h = &s->shards[m->table];
    const uint32_t *rows = batch_rows(h, asked);
    size_t sent = h->forms[((const struct head *)asked->data)->form].row_bytes;
    const char *bits = message_rows(m), *answer = bits + bits_bytes(m->count);

    for (uint32_t i = 0; i < m->count; i++) {
        if (i + AHEAD < m->count)
            fetch_row(h, rows[i + AHEAD]);
        h->flight[rows[i]] = 0;
        if (h->heard)
            h->heard[rows[i]] = (uint16_t)s->policy.clock;
        if (!bit_of(bits, i))
            continue;
        refresh(s, h, rows[i], message_rows(asked->data) + i * sent, answer);
        answer += wire_bytes(h);
    }
}

/* The bytes that an answer has by its bits; beyond its count none are set. */
static size_t answer_bytes(const struct shard *h, const struct head *m, size_t len)
{
    size_t rows = 0, words = bits_bytes(m->count) / sizeof(uint32_t);

    for (size_t i = 0; i < words && sizeof *m + bits_bytes(m->count) <= len; i++) {
        uint32_t word;

        memcpy(&word, message_rows(m) + i * sizeof word, sizeof word);
        if (i + 1 == words && m->count % 32 && word >> m->count % 32)
            return 0;
        rows += (size_t)__builtin_popcount(word);
    }
    return sizeof *m + bits_bytes(m->count) + rows * wire_bytes(h);
}

shoal_status store_fresh_handle(void *ctx, unsigned from, const void *data, size_t len)
{
    struct store *s = ctx;
    const struct head *m = data, *was;
    struct outgoing *asked = peer_take_answered(&s->peers[from]);
    shoal_status st = SHOAL_OK;

    was = asked ? asked->data : NULL;
    if (!was || len < sizeof *m || m->table != was->table || m->count != was->count)
        st = shoal_fail(SHOAL_EFORMAT, "store: rank %u answers what was not asked", from);
    else if (len != answer_bytes(&s->shards[m->table], m, len))
        st = shoal_fail(SHOAL_EFORMAT, "store: rank %u answers %u rows in %zu bytes", from,
                        m->count, len);
    else
        take_answer(s, asked, m);
    outbox_release(&s->outbox, asked);
    return st;
}

/* ---- batches ---- */

static shoal_status batch_open(struct store *s, struct outgoing **o, size_t t, unsigned form)
{
    const struct form *f = &s->shards[t].forms[form];
    size_t bytes = message_bytes(f->row_bytes, f->batch) + 2 * f->batch * sizeof(uint32_t);
    shoal_status st = outbox_take(&s->outbox, o, bytes);

    if (st == SHOAL_OK)
        *(struct head *)(*o)->data = (struct head){.table = (uint32_t)t, .form = (uint16_t)form};
    return st;
}

/* Where the next row of a batch goes. */
static char *batch_next(const struct shard *h, const struct outgoing *o, uint32_t row,
                        uint32_t place)
{
    struct head *m = o->data;

    batch_places(h, o)[m->count] = place;
    batch_rows(h, o)[m->count] = row;
    return message_rows(m) + m->count++ * h->forms[m->form].row_bytes;
}

shoal_status batch_add(struct store *s, size_t t, unsigned to, uint32_t lane, uint32_t row,
                       uint32_t place, char **wire)
{
    struct peer *p = &s->peers[to];
    shoal_status st = SHOAL_OK;

    if (!p->open[t]) {
        st = batch_open(s, &p->open[t], t, s->form);
        p->opened[t] = s->steps;
        if (st == SHOAL_OK)
            ((struct head *)p->open[t]->data)->lane = lane;
    }
    if (st == SHOAL_OK)
        *wire = batch_next(&s->shards[t], p->open[t], row, place);
    return st;
}

/* Places go behind the rows there are; who asked waits for the answer, in its turn. */
static size_t batch_close(const struct shard *h, const struct outgoing *o)
{
    const struct head *m = o->data;
    size_t bytes = h->forms[m->form].row_bytes;

    memcpy(message_rows(m) + m->count * bytes, batch_places(h, o), m->count * sizeof(uint32_t));
    return message_bytes(bytes, m->count);
}

static shoal_status batch_await(struct store *s, struct outgoing *o, unsigned to, unsigned tag)
{
    struct peer *p = &s->peers[to];
    size_t len = batch_close(&s->shards[((const struct head *)o->data)->table], o);

    *p->behind = o;
    p->behind = &o->next;
    p->out++;
    p->sent++;
    p->owed += ((const struct head *)o->data)->count;
    return outbox_send(&s->outbox, o, to, tag, len);
}

shoal_status batch_send(struct store *s, size_t t, unsigned to, unsigned tag)
{
    struct outgoing *o = s->peers[to].open[t];

    if (!o)
        return SHOAL_OK;
    s->peers[to].open[t] = NULL;
    if (tag == TAG_PUSH)
        return batch_await(s, o, to, tag);
    return outbox_post(&s->outbox, o, to, tag, batch_close(&s->shards[t], o));
}

shoal_status batches_send(struct store *s, unsigned tag)
{
    shoal_status st = SHOAL_OK;

    for (unsigned r = 0; r < s->ranks; r++)
        for (size_t t = 0; t < s->n && st == SHOAL_OK; t++)
            st = batch_send(s, t, r, tag);
    return st;
}

/* Those that have waited for more rows for long enough. */
static shoal_status old_batches_send(struct store *s)
{
    shoal_status st = SHOAL_OK;

    for (unsigned r = 0; r < s->ranks; r++)
        for (size_t t = 0; t < s->n && st == SHOAL_OK; t++)
            if (s->steps - s->peers[r].opened[t] > s->opts.fill)
                st = batch_send(s, t, r, TAG_PUSH);
    return st;
}

/* The row as it is now, once: threads may train on it. Its change by what the owner knows. */
static float take_row(struct store *s, const struct shard *h, uint32_t row)
{
    return s->kernel->take(s->mine, shard_row(h, h->table->at, row), shard_row(h, h->base, row),
                           h->table->width);
}

/* The row as it was taken goes onto the wire; the owner will know it, but for rounding. Without
 * bases it goes as it is. */
static void write_row(struct store *s, struct shard *h, char *wire, uint32_t row)
{
    if (h->base) {
        float *base = shard_row(h, h->base, row);

        wire_write(s, h, s->form, wire, s->mine, base);
        memcpy(base, s->mine, h->table->width * sizeof *base);
    } else {
        s->kernel->copy((float *)wire, shard_row(h, h->table->at, row), h->table->width);
    }
}

/* With a base, what take_row took. */
static shoal_status push_row(struct store *s, size_t t, uint32_t row)
{
    struct shard *h = &s->shards[t];
    unsigned to = deal_owner(&h->deal, row);
    shoal_status st;
    char *wire;

    __atomic_store_n(&h->touches[row], 0, __ATOMIC_RELAXED);
    if (to == s->rank && !h->master) { /* it is home: others have missed that */
        h->pushes[deal_place(&h->deal, row)]++;
        return SHOAL_OK;
    }
    s->stats.rows_pushed++;
    st = batch_add(s, t, to, 0, row, deal_place(&h->deal, row), &wire);
    if (st != SHOAL_OK)
        return st;
    h->flight[row] = 1;
    write_row(s, h, wire, row);
    return batch_full(h, s->peers[to].open[t]) ? batch_send(s, t, to, TAG_PUSH) : SHOAL_OK;
}

/* Whether a row has moved so little that it need not travel; else it was taken. */
static bool hardly_moved(struct store *s, const struct shard *h, uint32_t row)
{
    if (!h->base || (deal_owner(&h->deal, row) == s->rank && !h->master))
        return false;
    return take_row(s, h, row) <= s->least && s->least > 0 && s->form != FORM_WHOLE &&
           deal_owner(&h->deal, row) != s->rank;
}

/* Whether an owner may be asked for more answers: of few messages, and of few rows. */
static bool has_credit(const struct store *s, const struct shard *h, unsigned to)
{
    const struct peer *p = &s->peers[to];

    return p->out < s->credits &&
           (s->opts.policy == SHOAL_SYNC || p->owed < CREDIT_BATCHES * h->forms[FORM_WIRE].batch);
}

/* Whether a row may travel now. */
static bool may_push(const struct store *s, const struct shard *h, uint32_t row)
{
    unsigned to = deal_owner(&h->deal, row);

    if (h->flight[row])
        return false;
    return (to == s->rank && !h->master) || has_credit(s, h, to);
}

/* Threads count while we look. */
typedef uint64_t __attribute__((may_alias)) eight_counts;

/* The largest power of two that is not above `due`, in its place. */
static unsigned highest_bit(unsigned due)
{
    return 1u << (31 - __builtin_clz(due));
}

/* The first row from `row` on that was touched at least `due` times; else `end`. Most rows are not
 * due, so counters are looked at eight at a time, a byte each: a count is at least 2^k exactly if
 * one of its bits from k up is set, and 0x100 - 2^k has just these. */
static uint32_t next_due(const struct shard *h, uint32_t row, uint32_t end, unsigned due)
{
    uint64_t mask = (0x100 - highest_bit(due)) * 0x0101010101010101u, eight;

    for (; row < end; row++) {
        while (row % 8 == 0 && row + 8 <= end) {
            eight = __atomic_load_n((const eight_counts *)(h->touches + row), __ATOMIC_RELAXED);
            if (eight & mask)
                break;
            row += 8;
        }
        if (row < end && __atomic_load_n(&h->touches[row], __ATOMIC_RELAXED) >= due)
            return row;
    }
    return end;
}

/* A row that was touched often but hardly moved is looked at again after half as many touches, not
 * in each step. */
static void look_later(const struct shard *h, uint32_t row, unsigned due)
{
    if (due > 1)
        __atomic_store_n(&h->touches[row], (uint8_t)(due / 2), __ATOMIC_RELAXED);
}

/* Pushes the rows from *at to `end` that were touched at least `due` times. Rows lie anywhere in
 * memory, so LINE of them are found and prefetched before the first is copied (`line` is a ring).
 * With `stop` it stops at the first that may not travel yet, and *at stays there. */
static shoal_status push_range(struct store *s, size_t t, uint32_t *at, uint32_t end, unsigned due,
                               bool stop)
{
    struct shard *h = &s->shards[t];
    uint32_t line[LINE], look = *at;
    size_t first = 0, n = 0;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK) {
        uint32_t row;

        for (; n < LINE && (look = next_due(h, look, end, due)) < end; look++) {
            if (deal_owner(&h->deal, look) != s->rank || h->master)
                fetch_row(h, look);
            line[(first + n++) % LINE] = look;
        }
        *at = n > 0 ? line[first % LINE] : end;
        if (n == 0)
            break;
        row = line[first++ % LINE];
        n--;
        if (may_push(s, h, row)) {
            if (hardly_moved(s, h, row))
                look_later(h, row, due);
            else
                st = push_row(s, t, row);
            continue;
        }
        if (!h->flight[row] && !s->held) {
            s->held = true;
            s->held_row = row;
        }
        if (stop)
            break;
    }
    return st;
}

enum {
    ALWAYS = 4096, /* rows at the front that every step looks at */
    SLICE = 8192,  /* of the others */
};

/* What a step does to each table. Tables are sorted, hottest rows first:
 *
 *     HOT    the first ALWAYS rows, those that are due
 *     WARM   a SLICE of the others, those that are due; the next step takes the next slice
 *     SWEPT  whatever was touched at all, as far as the sweep has to be by now (sweep_on)   */
enum { HOT, WARM, SWEPT, STAGES };

/* A slice of the rest. */
static shoal_status push_warm(struct store *s, size_t t)
{
    struct shard *h = &s->shards[t];
    uint32_t rows = (uint32_t)h->table->rows, end;

    if (h->fast < ALWAYS || h->fast >= rows)
        h->fast = ALWAYS;
    if (h->fast >= rows)
        return SHOAL_OK;
    end = rows - h->fast < SLICE ? rows : h->fast + SLICE;
    return push_range(s, t, &h->fast, end, s->due, false);
}

/* Of the hottest rows those from `at` to `end`. If a row stays behind and none did
 * before, the next step begins with it. */
static shoal_status push_stage(struct store *s, size_t stage, uint32_t at, uint32_t end)
{
    size_t t = stage / STAGES;
    struct shard *h = &s->shards[t];
    uint32_t rows = (uint32_t)h->table->rows;
    bool held = s->held;
    shoal_status st;

    if (stage % STAGES == HOT)
        st = push_range(s, t, &at, end < rows ? end : rows, s->due, false);
    else if (stage % STAGES == WARM)
        st = push_warm(s, t);
    else
        st = push_range(s, t, &h->slow, h->goal, 1, true);
    if (s->held && !held) {
        s->first = stage;
        s->first_row = stage % STAGES == HOT ? s->held_row : 0;
    }
    return st;
}

/* What is due among the hottest rows and a slice of the rest, and what the slow sweep
 * owes, of each table. A step begins where the one before it first left a row behind, or
 * the front of the first table would take all that owners can answer for. */
shoal_status store_push_due(struct store *s)
{
    size_t all = s->n * STAGES, first = s->first;
    uint32_t row = s->first_row;
    shoal_status st;

    s->held = false;
    s->first = 0;
    s->first_row = 0;
    st = push_stage(s, first, row, ALWAYS);
    for (size_t i = 1; i < all && st == SHOAL_OK; i++)
        st = push_stage(s, (first + i) % all, 0, ALWAYS);
    if (st == SHOAL_OK && row > 0)
        st = push_stage(s, first, 0, row);
    if (st == SHOAL_OK)
        st = old_batches_send(s);
    s->steps++;
    s->held_steps += s->held;
    return st;
}

/* ---- rows that will be needed ---- */

static shoal_status asks_send(struct store *s, size_t t, unsigned to)
{
    struct outgoing *o = s->peers[to].asking[t];

    s->peers[to].asking[t] = NULL;
    return o ? batch_await(s, o, to, TAG_ASK) : SHOAL_OK;
}

static shoal_status ask_row(struct store *s, size_t t, uint32_t row)
{
    struct shard *h = &s->shards[t];
    unsigned to = deal_owner(&h->deal, row);
    struct outgoing **o = &s->peers[to].asking[t];
    shoal_status st = *o ? SHOAL_OK : batch_open(s, o, t, FORM_PLACES);

    if (st != SHOAL_OK)
        return st;
    h->flight[row] = 1;
    batch_next(h, *o, row, deal_place(&h->deal, row));
    return batch_full(h, *o) ? asks_send(s, t, to) : SHOAL_OK;
}

/* Whether there may be news of a row. Of those that are at home there are none; they count as
 * heard of, so that the first test, which the processor foresees, is the last for most words. */
static bool is_old(const struct store *s, const struct shard *h, size_t t, uint32_t row)
{
    if ((uint16_t)(s->policy.clock - h->heard[row]) < s->ages[t].fresh)
        return false;
    if (deal_owner(&h->deal, row) != s->rank)
        return true;
    h->heard[row] = (uint16_t)s->policy.clock;
    return false;
}

static bool all_have_credit(void *store)
{
    const struct store *s = store;

    for (unsigned r = 0; r < s->ranks; r++)
        for (size_t t = 0; t < s->n; t++)
            if (!has_credit(s, &s->shards[t], r))
                return false;
    return true;
}

/* With what was done to it here, if that is worth it. Where the age of what is read is bounded, no
 * row that is old goes without. */
static shoal_status expect_row(struct store *s, size_t t, uint32_t row)
{
    struct shard *h = &s->shards[t];
    shoal_status st = SHOAL_OK;

    if (s->opts.policy == SHOAL_BOUNDED && !h->flight[row] && !may_push(s, h, row))
        st = comm_until(s->comm, all_have_credit, s);
    if (st != SHOAL_OK || !may_push(s, h, row))
        return st;
    if (__atomic_load_n(&h->touches[row], __ATOMIC_RELAXED) > 0 && !hardly_moved(s, h, row))
        return push_row(s, t, row);
    return ask_row(s, t, row);
}

shoal_status store_expect(struct store *s, size_t t, const uint32_t *rows, size_t n)
{
    struct shard *h = &s->shards[t];
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && h->heard && st == SHOAL_OK; i++) {
        if (i + SOON < n && rows[i + SOON] < h->table->rows)
            __builtin_prefetch(&h->heard[rows[i + SOON]]);
        if (rows[i] < h->table->rows && is_old(s, h, t, rows[i]))
            st = expect_row(s, t, rows[i]);
    }
    for (unsigned r = 0; r < s->ranks && st == SHOAL_OK; r++)
        st = asks_send(s, t, r);
    if (s->opts.policy != SHOAL_BOUNDED || st != SHOAL_OK)
        return st;
    st = batches_send(s, TAG_PUSH);
    for (unsigned r = 0; r < s->ranks; r++)
        s->peers[r].expected = s->peers[r].sent;
    return st;
}

static bool expected_here(void *store)
{
    const struct store *s = store;

    for (unsigned r = 0; r < s->ranks; r++)
        if (s->peers[r].answered < s->peers[r].expected)
            return false;
    return true;
}

shoal_status store_await(struct store *s)
{
    struct comm_timer timer = comm_timer_begin(s->comm);
    shoal_status st = comm_until(s->comm, expected_here, s);

    comm_timer_end(s->comm, &timer, &s->times.steps, &s->times.waited);
    return st;
}

void store_set_least(struct store *s, float move)
{
    s->least = move * move;
}

bool store_push_settled(void *store)
{
    const struct store *s = store;

    for (unsigned r = 0; r < s->ranks; r++)
        if (s->peers[r].out > 0)
            return false;
    return true;
}

shoal_status store_push_all(struct store *s)
{
    shoal_status st = SHOAL_OK;

    for (size_t t = 0; t < s->n && st == SHOAL_OK; t++) {
        uint32_t rows = (uint32_t)s->shards[t].table->rows, at = 0;

        st = batches_send(s, TAG_PUSH);
        if (st == SHOAL_OK) /* rows in flight may be touched too */
            st = comm_until(s->comm, store_push_settled, s);
        while (st == SHOAL_OK && at < rows) {
            st = push_range(s, t, &at, rows, 1, true);
            if (st == SHOAL_OK)
                st = batches_send(s, TAG_PUSH);
            if (st == SHOAL_OK && at < rows)
                st = comm_until(s->comm, all_have_credit, s);
        }
    }
    return st;
}

/* What is due of a table; who had to stay behind comes first the next time. */
static shoal_status push_due_of(struct store *s, size_t t)
{
    struct shard *h = &s->shards[t];
    uint32_t rows = (uint32_t)h->table->rows, first = h->fast < rows ? h->fast : 0, at = first;
    shoal_status st;

    s->held = false;
    st = push_range(s, t, &at, rows, s->due, false);
    at = 0;
    if (st == SHOAL_OK)
        st = push_range(s, t, &at, first, s->due, false);
    h->fast = s->held ? s->held_row : 0;
    return st;
}

/* So do its table and those behind it. */
shoal_status store_push_round(struct store *s)
{
    size_t first = s->first;
    shoal_status st = SHOAL_OK;

    s->first = s->n;
    for (size_t i = 0; i < s->n && st == SHOAL_OK; i++) {
        size_t t = (first + i) % s->n;

        st = push_due_of(s, t);
        if (st == SHOAL_OK)
            st = push_range(s, t, &s->shards[t].slow, s->shards[t].goal, 1, true);
        if (st == SHOAL_OK)
            st = batches_send(s, TAG_PUSH);
        if (s->held && s->first == s->n)
            s->first = t;
    }
    return st;
}

/* Of all owners together: how many of these rows each has is left to chance. */
shoal_status store_push_some(struct store *s, size_t *t, uint32_t *at)
{
    size_t left = s->opts.round_bytes > 0 ? s->opts.round_bytes : ROUND_BYTES;
    unsigned credits = s->credits;
    shoal_status st = SHOAL_OK;

    s->credits = UINT32_MAX;
    while (st == SHOAL_OK && *t < s->n && left > 0) {
        const struct shard *h = &s->shards[*t];
        size_t rows = h->table->rows, bytes = h->forms[s->form].row_bytes, fit = left / bytes;
        uint32_t end = (uint32_t)(rows - *at < fit + 1 ? rows : *at + fit + 1);

        left -= (end - *at) * bytes < left ? (end - *at) * bytes : left;
        st = push_range(s, *t, at, end, 1, true);
        if (st == SHOAL_OK)
            st = batches_send(s, TAG_PUSH);
        *t += *at == rows;
        *at = *at == rows ? 0 : *at;
    }
    s->credits = credits;
    return st;
}
