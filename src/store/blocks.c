/* Blocks: rows are lent for a block of work and given back, so that no rank needs to hold them
 * all (store.h has the drawing). The first half of this file is the owner's, the second the
 * worker's.
 *
 * The rows of block k+1 are asked for while block k is worked on. A row that both need is lent
 * before the worker gives back what block k made of it, so the copy for k+1 lacks that change:
 *
 *     owner     lend k ......... lend k+1 .... back k: master = fold(master, mine, lent k)
 *                                              carry: lent k+1 += mine - lent k
 *     worker    work on k .................... swap: next += mine - base, then work on k+1
 *
 * Both sides add the same change to the same copy in the same way (carry), so what the owner
 * remembers as lent and what the worker takes for its base stay the same bits; when k+1 comes
 * back, mine - base is what k+1 did and nothing else. In SHOAL_SYNC k+1 is lent only after k was
 * merged, and nothing needs to be carried.
 *
 * Loans are given back in the order in which they were made, message for message, so none needs
 * a name. */
#include "store/shard.h"

#include <stdlib.h>

/* A change that was made meanwhile comes to a copy of the row that does not know of
 * it. Owner and worker do the same and so have the same bits. */
static void carry(const struct table *t, float *row, const float *mine, const float *base)
{
    if (memcmp(row, base, t->width * sizeof *row) == 0)
        memcpy(row, mine, t->width * sizeof *row);
    else
        row_add(t, row, mine, base);
}

/* ---- the owner: lending ---- */

static shoal_status lent_new(struct lent **out, const struct shard *h, const struct head *m)
{
    size_t row = h->table->stride * sizeof(float), align = 64;
    struct lent *l = mem_array(1, sizeof *l + align + m->count * (row + 2 * sizeof(uint32_t)));
    uintptr_t at = (uintptr_t)(l + 1);

    *out = l;
    if (!l)
        return SHOAL_ENOMEM;
    l->table = m->table;
    l->count = m->count;
    l->rows = (float *)((at + align - 1) / align * align);
    l->places = (uint32_t *)(l->rows + m->count * h->table->stride);
    l->pushes = l->places + m->count;
    return SHOAL_OK;
}

static void lent_fill(struct lent *l, const struct shard *h, const struct head *m)
{
    for (uint32_t i = 0; i < m->count; i++) {
        uint32_t place = message_place(m, 0, i);

        l->places[i] = place;
        l->pushes[i] = h->pushes[place];
        memcpy(shard_row(h, l->rows, i), shard_row(h, h->master, place), float_bytes(h));
    }
}

static shoal_status lend(struct store *s, unsigned from, const struct head *m)
{
    struct shard *h = &s->shards[m->table];
    struct lent *lent = NULL;
    struct outgoing *o;
    shoal_status st = m->reads ? SHOAL_OK : lent_new(&lent, h, m);

    if (st != SHOAL_OK)
        return st;
    if (lent) {
        lent_fill(lent, h, m);
        *s->peers[from].lent_end = lent;
        s->peers[from].lent_end = &lent->next;
    }
    st = outbox_take(&s->outbox, &o, sizeof *m + m->count * float_bytes(h));
    if (st != SHOAL_OK)
        return st;
    *(struct head *)o->data = (struct head){.table = m->table, .count = m->count};
    for (uint32_t i = 0; i < m->count; i++)
        memcpy(message_rows(o->data) + i * float_bytes(h),
               shard_row(h, h->master, message_place(m, 0, i)), float_bytes(h));
    return outbox_post(&s->outbox, o, from, TAG_LENT, sizeof *m + m->count * float_bytes(h));
}

/* Places increase, so that a row is found and none stands twice. */
static shoal_status check_pull(const struct store *s, unsigned from, const void *data, size_t len)
{
    const struct head *m = data;
    const struct shard *h;

    if (len < sizeof *m || m->table >= s->n || m->count == 0 ||
        len != message_bytes(0, m->count) || from >= s->policy.workers)
        return shoal_fail(SHOAL_EFORMAT, "store: rank %u asks for rows in %zu bytes that say "
                          "nothing", from, len);
    h = &s->shards[m->table];
    if (m->count > rows_fit(h))
        return shoal_fail(SHOAL_EFORMAT, "store: rank %u asks for %u rows of table %s at once, "
                          "want at most %zu", from, m->count, h->table->name, rows_fit(h));
    for (uint32_t i = 0; i < m->count; i++)
        if (message_place(m, 0, i) >= h->owned ||
            (i > 0 && message_place(m, 0, i) <= message_place(m, 0, i - 1)))
            return shoal_fail(SHOAL_EFORMAT, "store: rank %u asks for row %u of table %s, here are "
                              "%u, in their order", from, message_place(m, 0, i), h->table->name,
                              h->owned);
    return SHOAL_OK;
}

shoal_status store_pull_handle(void *ctx, unsigned from, const void *data, size_t len)
{
    struct store *s = ctx;
    const struct head *m = data;
    shoal_status st = check_pull(s, from, data, len);

    if (st != SHOAL_OK)
        return st;
    if (s->opts.policy == SHOAL_SYNC && policy_ends(&s->policy) < m->after)
        return deferred_add(&s->pulls, from, m->after, data, len);
    return lend(s, from, m);
}

shoal_status store_pulls_answer(struct store *s)
{
    struct deferred **at = &s->pulls.first;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && *at) {
        struct deferred *d;

        if ((*at)->of > policy_ends(&s->policy)) {
            at = &(*at)->next;
            continue;
        }
        d = deferred_take(&s->pulls, at);
        st = lend(s, d->from, (const struct head *)d->data);
        free(d);
    }
    return st;
}

/* ---- the owner: getting back ---- */

static float *lent_find(const struct shard *h, struct lent *l, uint32_t place, uint32_t **pushes)
{
    uint32_t low = 0, high = l->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (l->places[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == l->count || l->places[low] != place)
        return NULL;
    *pushes = &l->pushes[low];
    return shard_row(h, l->rows, low);
}

/* What was lent to that rank since, before it gave this back, it changes in the same
 * way: for a loan's own rank nothing was missed. */
static void carry_lent(const struct shard *h, struct lent *l, uint32_t table, uint32_t place,
                       const float *mine, const float *base)
{
    for (; l; l = l->next) {
        uint32_t *pushes;
        float *row = NULL;

        if (l->table == table && l->places[0] <= place && place <= l->places[l->count - 1])
            row = lent_find(h, l, place, &pushes);
        if (row) {
            carry(h->table, row, mine, base);
            ++*pushes;
        }
    }
}

shoal_status store_back_merge(struct store *s, unsigned from, const struct head *m)
{
    struct shard *h = &s->shards[m->table];
    struct peer *p = &s->peers[from];
    struct lent *l = p->lent;
    size_t pad = h->table->stride - h->table->width;

    if (!l || l->table != m->table || l->count != m->count)
        return shoal_fail(SHOAL_EFORMAT, "store: rank %u gives back %u rows of table %s that were "
                          "not lent", from, m->count, h->table->name);
    p->lent = l->next;
    if (!p->lent)
        p->lent_end = &p->lent;
    memset(s->mine + h->table->width, 0, pad * sizeof *s->mine);
    for (uint32_t i = 0; i < m->count; i++) {
        const float *base = shard_row(h, l->rows, i);
        uint32_t place = l->places[i];

        wire_read(s, h, FORM_WIRE, s->mine, message_rows(m) + i * wire_bytes(h), base);
        shard_merge(s, h, place, h->pushes[place] - l->pushes[i], s->mine, base);
        carry_lent(h, p->lent, m->table, place, s->mine, base);
    }
    free(l);
    return SHOAL_OK;
}

shoal_status store_back_handle(void *ctx, unsigned from, const void *data, size_t len)
{
    struct store *s = ctx;
    const struct head *m = data;

    if (len < sizeof *m || m->table >= s->n || m->count > len ||
        len != sizeof *m + m->count * wire_bytes(&s->shards[m->table]))
        return shoal_fail(SHOAL_EFORMAT,
                          "store: rank %u gives back rows in %zu bytes that are "
                          "none",
                          from, len);
    if (s->opts.policy == SHOAL_SYNC)
        return deferred_add(&s->peers[from].pushed, from, s->policy.peers[from].ends + 1, data,
                            len);
    return store_back_merge(s, from, m);
}

/* ---- the worker: asking ---- */

static shoal_status part_room(struct part *p, const struct shard *h, size_t n)
{
    size_t row = h->table->stride * sizeof(float);
    size_t room = n + n / 4 < h->table->rows ? n + n / 4 : h->table->rows;

    if (n <= p->room)
        return SHOAL_OK;
    mem_unmap(p->mine, p->room * row);
    p->mine = mem_map(room * row);
    p->room = p->mine ? room : 0;
    return p->mine ? SHOAL_OK : SHOAL_ENOMEM;
}

/* The set bits of a table, which are cleared. */
static shoal_status part_list(struct part *p, const struct shard *h, uint64_t *bits)
{
    size_t words = (h->table->rows + 63) / 64, n = 0;
    shoal_status st;

    for (size_t w = 0; w < words; w++)
        n += (size_t)__builtin_popcountll(bits[w]);
    p->n = 0;
    st = mem_grow((void **)&p->rows, &p->cap, n, sizeof *p->rows);
    for (size_t w = 0; w < words && st == SHOAL_OK; w++) {
        for (uint64_t left = bits[w]; left; left &= left - 1)
            p->rows[p->n++] = (uint32_t)(w * 64 + (unsigned)__builtin_ctzll(left));
        bits[w] = 0;
    }
    return st == SHOAL_OK ? part_room(p, h, p->n) : st;
}

/* Sends what has been gathered for an owner; its answer will be the next but those
 * asked for before. */
static shoal_status loan_send(struct store *s, struct block *b, unsigned to)
{
    struct peer *p = &s->peers[to];
    struct loan *loan = p->filling;
    const struct shard *h;
    struct outgoing *o;
    shoal_status st;

    if (!loan)
        return SHOAL_OK;
    p->filling = NULL;
    h = &s->shards[loan->table];
    *b->behind = loan;
    b->behind = &loan->next;
    *p->later = loan;
    p->later = &loan->later;
    b->missing++;
    st = outbox_take(&s->outbox, &o, message_bytes(0, loan->count));
    if (st != SHOAL_OK)
        return st;
    *(struct head *)o->data =
        (struct head){.table = loan->table,
                      .count = loan->count,
                      .reads = b->reads,
                      .form = FORM_PLACES,
                      .after = (uint32_t)s->policy.rounds + (s->now->asked && !s->now->reads)};
    for (uint32_t i = 0; i < loan->count; i++) {
        uint32_t place = deal_place(&h->deal, b->parts[loan->table].rows[loan->at[i]]);

        memcpy(message_rows(o->data) + i * sizeof place, &place, sizeof place);
    }
    return outbox_post(&s->outbox, o, to, TAG_PULL, message_bytes(0, loan->count));
}

static shoal_status loan_add(struct store *s, struct block *b, size_t t, uint32_t at)
{
    struct shard *h = &s->shards[t];
    unsigned to = deal_owner(&h->deal, b->parts[t].rows[at]);
    struct peer *p = &s->peers[to];

    if (!p->filling) {
        p->filling = mem_array(1, sizeof *p->filling + rows_fit(h) * sizeof(uint32_t));
        if (!p->filling)
            return SHOAL_ENOMEM;
        p->filling->block = b;
        p->filling->owner = to;
        p->filling->table = (uint32_t)t;
    }
    p->filling->at[p->filling->count++] = at;
    return p->filling->count == rows_fit(h) ? loan_send(s, b, to) : SHOAL_OK;
}

shoal_status store_want(struct store *s, uint64_t *const *bits, bool reads)
{
    struct block *b = s->next;
    shoal_status st = SHOAL_OK;

    b->asked = true;
    b->reads = reads;
    for (size_t t = 0; t < s->n && st == SHOAL_OK; t++) {
        st = part_list(&b->parts[t], &s->shards[t], bits[t]);
        for (uint32_t i = 0; i < b->parts[t].n && st == SHOAL_OK; i++)
            st = loan_add(s, b, t, i);
        for (unsigned r = 0; r < s->ranks && st == SHOAL_OK; r++)
            st = loan_send(s, b, r);
    }
    return st;
}

shoal_status store_lent_handle(void *ctx, unsigned from, const void *data, size_t len)
{
    struct store *s = ctx;
    const struct head *m = data;
    struct peer *p = &s->peers[from];
    struct loan *loan = p->asked;
    struct part *part;
    struct shard *h;

    if (!loan || len < sizeof *m || m->table != loan->table || m->count != loan->count ||
        len != sizeof *m + m->count * float_bytes(&s->shards[m->table]))
        return shoal_fail(SHOAL_EFORMAT, "store: rank %u lends what was not asked for", from);
    p->asked = loan->later;
    if (!p->asked)
        p->later = &p->asked;
    h = &s->shards[m->table];
    part = &loan->block->parts[m->table];
    for (uint32_t i = 0; i < m->count; i++)
        memcpy(shard_row(h, part->mine, loan->at[i]), message_rows(m) + i * float_bytes(h),
               float_bytes(h));
    loan->block->missing--;
    return SHOAL_OK;
}

/* ---- the worker: from one block to the next ---- */

static void loans_free(struct block *b)
{
    while (b->loans) {
        struct loan *next = b->loans->next;

        free(b->loans);
        b->loans = next;
    }
    b->behind = &b->loans;
}

static shoal_status give_back(struct store *s, const struct block *b, const struct loan *loan)
{
    struct shard *h = &s->shards[loan->table];
    struct outgoing *o;
    shoal_status st =
        outbox_take(&s->outbox, &o, sizeof(struct head) + loan->count * wire_bytes(h));

    if (st != SHOAL_OK)
        return st;
    *(struct head *)o->data = (struct head){.table = loan->table, .count = loan->count};
    for (uint32_t i = 0; i < loan->count; i++)
        wire_write(s, h, FORM_WIRE, message_rows(o->data) + i * wire_bytes(h),
                   shard_row(h, b->parts[loan->table].mine, loan->at[i]),
                   shard_row(h, h->base, loan->at[i]));
    s->stats.rows_pushed += loan->count;
    return outbox_post(&s->outbox, o, loan->owner, TAG_BACK,
                       sizeof(struct head) + loan->count * wire_bytes(h));
}

static bool is_here(void *ctx)
{
    const struct store *s = ctx;

    return s->next->missing == 0;
}

/* What this worker did since the rows were asked for comes to them, unless they were
 * lent after it was merged; then they are what their changes will be measured by. */
static shoal_status take_part(struct store *s, size_t t)
{
    struct shard *h = &s->shards[t];
    const struct part *now = &s->now->parts[t], *next = &s->next->parts[t];
    bool carries = s->now->asked && !s->now->reads && s->opts.policy != SHOAL_SYNC;
    size_t row = h->table->stride * sizeof(float);

    for (uint32_t i = 0; carries && i < next->n; i++) {
        uint32_t at = h->slot[next->rows[i]];

        if (at > 0)
            carry(h->table, shard_row(h, next->mine, i), shard_row(h, now->mine, at - 1),
                  shard_row(h, h->base, at - 1));
    }
    for (size_t i = 0; i < now->n; i++)
        h->slot[now->rows[i]] = 0;
    for (uint32_t i = 0; i < next->n; i++)
        h->slot[next->rows[i]] = i + 1;
    if (next->n > h->room) {
        mem_unmap(h->base, h->room * row);
        h->base = mem_map(next->room * row);
        h->room = h->base ? next->room : 0;
    }
    if (next->n > h->room)
        return SHOAL_ENOMEM;
    if (next->n > 0)
        memcpy(h->base, next->mine, next->n * row);
    return SHOAL_OK;
}

static void swap_blocks(struct store *s)
{
    struct block *done = s->now;

    loans_free(done);
    for (size_t t = 0; t < s->n; t++)
        done->parts[t].n = 0;
    done->asked = false;
    s->now = s->next;
    s->next = done;
}

shoal_status store_swap(struct store *s)
{
    bool gives = s->now->asked && !s->now->reads;
    shoal_status st = SHOAL_OK;

    for (const struct loan *l = s->now->loans; gives && l && st == SHOAL_OK; l = l->next)
        st = give_back(s, s->now, l);
    if (st == SHOAL_OK && gives)
        st = store_round(s);
    if (st == SHOAL_OK)
        st = comm_until(s->comm, is_here, s);
    for (size_t t = 0; t < s->n && st == SHOAL_OK; t++)
        st = take_part(s, t);
    swap_blocks(s);
    return st;
}

struct view store_view(const struct store *s, size_t t)
{
    const struct shard *h = &s->shards[t];

    return (struct view){.table = h->table, .stride = h->table->stride, .slot = h->slot,
                         .mine = s->now->parts[t].mine};
}

/* ---- meeting ---- */

/* Gone back is not merged yet: when all have come, all is. */
shoal_status store_blocks_gather(struct store *s)
{
    shoal_status st = policy_barrier(&s->policy);

    return st == SHOAL_OK ? comm_barrier(s->comm) : st;
}

/* ---- beginning and end ---- */

void store_blocks_init(struct store *s)
{
    for (unsigned r = 0; r < s->ranks; r++) {
        s->peers[r].later = &s->peers[r].asked;
        s->peers[r].lent_end = &s->peers[r].lent;
    }
    s->now = &s->blocks[0];
    s->next = &s->blocks[1];
    s->now->behind = &s->now->loans;
    s->next->behind = &s->next->loans;
}

static void block_fini(const struct store *s, struct block *b)
{
    loans_free(b);
    for (size_t t = 0; t < s->n && s->shards; t++) {
        free(b->parts[t].rows);
        if (b->parts[t].mine)
            mem_unmap(b->parts[t].mine,
                      b->parts[t].room * s->shards[t].table->stride * sizeof(float));
    }
}

void store_blocks_fini(struct store *s)
{
    for (unsigned r = 0; s->peers && r < s->ranks; r++) {
        struct peer *p = &s->peers[r];

        free(p->filling);
        while (p->lent) {
            struct lent *next = p->lent->next;

            free(p->lent);
            p->lent = next;
        }
    }
    deferred_fini(&s->pulls);
    block_fini(s, &s->blocks[0]);
    block_fini(s, &s->blocks[1]);
}
