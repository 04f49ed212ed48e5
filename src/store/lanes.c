/* Deterministic lanes of several ranks come together as if they had run on one rank.
 *
 *     each rank   sends the rows that its lanes touched to their owners     TAG_LANE
 *                 ... until all ranks have said that they sent all          policy_end
 *     owner       folds each row's copies in the order of the lanes; those of its own lanes it
 *                 takes from their views
 *                 sends what became of it to all                            TAG_CHANGED
 *                 ... until all have                                        policy_barrier
 *
 * Lane l runs on rank l % workers. A row is folded exactly as views_merge does it on one rank,
 * the first lane's copy, then each other folded into it against the same base: the row as it was
 * before the round, which is the same on every rank. So the bits do not depend on how many ranks
 * share the lanes. An owner reads the base of its own rows alone, which nobody else changes: what
 * other owners changed may arrive while it folds. */
#include "store/shard.h"

#include <stdlib.h>

enum { LANES_MOST = 1 << 20 }; /* of all ranks together: far more than anybody has */

/* ---- sending rows in full ---- */

static shoal_status add_row(struct store *s, size_t t, unsigned to, unsigned tag, uint32_t lane,
                            uint32_t place, const float *row)
{
    const struct shard *h = &s->shards[t];
    char *wire;
    shoal_status st = batch_add(s, t, to, lane, place, place, &wire);

    if (st != SHOAL_OK)
        return st;
    memcpy(wire, row, float_bytes(h));
    return batch_full(h, s->peers[to].open[t]) ? batch_send(s, t, to, tag) : SHOAL_OK;
}

/* Rows that a lane touched, of others if `away`, else those that this rank owns. */
typedef shoal_status lane_row_fn(struct store *s, size_t t, uint32_t lane, uint32_t row,
                                 const float *mine);

static shoal_status rows_of_table(struct store *s, size_t t, struct view *v, uint32_t lane,
                                  bool away, lane_row_fn *fn)
{
    struct shard *h = &s->shards[t];
    shoal_status st = SHOAL_OK;

    for (size_t w = 0; w < (h->table->rows + 63) / 64 && st == SHOAL_OK; w++) {
        for (uint64_t bits = v->touched[w]; bits && st == SHOAL_OK; bits &= bits - 1) {
            uint32_t row = (uint32_t)(w * 64 + (unsigned)__builtin_ctzll(bits));

            if ((deal_owner(&h->deal, row) != s->rank) != away)
                continue;
            st = fn(s, t, lane, row, v->mine + (v->slot[row] - 1) * v->stride);
            v->slot[row] = 0;
            v->touched[w] &= ~(bits & -bits);
        }
    }
    return st;
}

/* Of all tables, of the i-th lane of this rank. */
static shoal_status each_row(struct store *s, struct view *const *views, size_t i, bool away,
                             lane_row_fn *fn)
{
    uint32_t lane = (uint32_t)(i * s->policy.workers + s->rank);
    shoal_status st = SHOAL_OK;

    for (size_t t = 0; t < s->n && st == SHOAL_OK; t++) {
        st = rows_of_table(s, t, &views[t][i], lane, away, fn);
        if (st == SHOAL_OK && away) /* a message is of one table and one lane */
            st = batches_send(s, TAG_LANE);
    }
    return st;
}

static shoal_status send_row(struct store *s, size_t t, uint32_t lane, uint32_t row,
                             const float *mine)
{
    const struct shard *h = &s->shards[t];

    s->stats.rows_pushed++;
    return add_row(s, t, deal_owner(&h->deal, row), TAG_LANE, lane, deal_place(&h->deal, row),
                   mine);
}

/* ---- the owner ---- */

shoal_status store_lane_handle(void *ctx, unsigned from, const void *data, size_t len)
{
    struct store *s = ctx;
    const struct head *m = data;
    shoal_status st = store_message_check(s, from, data, len);

    if (st == SHOAL_OK && (m->lane % s->policy.workers != from || m->lane >= LANES_MOST))
        st = shoal_fail(SHOAL_EFORMAT, "store: rank %u sends rows of lane %u, not its own", from,
                        m->lane);
    if (st != SHOAL_OK)
        return st;
    for (uint32_t i = 0; i < m->count; i++)
        if (message_place(m, float_bytes(&s->shards[m->table]), i) >= s->shards[m->table].owned)
            return shoal_fail(SHOAL_EFORMAT, "store: rank %u sends a row of table %s that is not "
                              "here", from, s->shards[m->table].table->name);
    return deferred_add(&s->deferred, from, m->lane, data, len);
}

/* The first lane's row is what there is of it; each other is folded into that. */
static void fold_row(struct store *s, struct shard *h, uint32_t place, const float *mine)
{
    struct lane_sums *sums = &h->sums;
    size_t stride = h->table->stride;

    s->merged++;
    if (sums->slot[place]) {
        row_merge(h->table, s->kernel, sums->rows + (sums->slot[place] - 1) * stride, mine,
                  shard_row(h, h->table->at, deal_row(&h->deal, s->rank, place)), STORE_MEAN);
        return;
    }
    memcpy(sums->rows + sums->used * stride, mine, stride * sizeof(float));
    sums->places[sums->used] = place;
    sums->slot[place] = ++sums->used;
}

static shoal_status fold_own(struct store *s, size_t t, uint32_t lane, uint32_t row,
                             const float *mine)
{
    struct shard *h = &s->shards[t];

    (void)lane;
    s->stats.rows_pushed++;
    fold_row(s, h, deal_place(&h->deal, row), mine);
    return SHOAL_OK;
}

static void fold_message(struct store *s, const struct head *m)
{
    struct shard *h = &s->shards[m->table];
    size_t bytes = float_bytes(h), width = h->table->width;

    memset(s->mine + width, 0, (h->table->stride - width) * sizeof(float));
    for (uint32_t i = 0; i < m->count; i++) {
        memcpy(s->mine, message_rows(m) + i * bytes, bytes);
        fold_row(s, h, message_place(m, bytes, i), s->mine);
    }
}

static void fold_deferred(struct store *s, uint32_t lane)
{
    struct deferred *d;

    while ((d = deferred_find(&s->deferred, lane % s->policy.workers, lane))) {
        fold_message(s, (const struct head *)d->data);
        free(d);
    }
}

/* In the order of the lanes, this rank's own and those of others; within a lane no row stands
 * twice. */
static shoal_status fold_lanes(struct store *s, struct view *const *views, size_t n)
{
    shoal_status st = SHOAL_OK;

    for (uint32_t lane = 0; st == SHOAL_OK; lane++) {
        size_t i = lane / s->policy.workers;

        if (i >= n && !s->deferred.first)
            break;
        if (lane % s->policy.workers != s->rank)
            fold_deferred(s, lane);
        else if (i < n)
            st = each_row(s, views, i, false, fold_own);
    }
    return st;
}

/* What became of the rows goes home and to all, and the sums are empty. */
static shoal_status send_sums(struct store *s, size_t t)
{
    struct shard *h = &s->shards[t];
    struct lane_sums *sums = &h->sums;
    shoal_status st = SHOAL_OK;

    for (uint32_t i = 0; i < sums->used && st == SHOAL_OK; i++) {
        uint32_t place = sums->places[i], row = deal_row(&h->deal, s->rank, place);
        const float *at = sums->rows + i * h->table->stride;

        sums->slot[place] = 0;
        memcpy(shard_row(h, h->table->at, row), at, float_bytes(h));
        for (unsigned r = 0; r < s->ranks && st == SHOAL_OK; r++)
            if (r != s->rank)
                st = add_row(s, t, r, TAG_CHANGED, 0, row, at);
    }
    sums->used = 0;
    return st == SHOAL_OK ? batches_send(s, TAG_CHANGED) : st;
}

/* ---- everybody ---- */

shoal_status store_changed_handle(void *ctx, unsigned from, const void *data, size_t len)
{
    struct store *s = ctx;
    const struct head *m = data;
    shoal_status st = store_message_check(s, from, data, len);
    struct shard *h;

    if (st != SHOAL_OK)
        return st;
    h = &s->shards[m->table];
    for (uint32_t i = 0; i < m->count; i++) {
        uint32_t row = message_place(m, float_bytes(h), i);

        if (row >= h->table->rows || deal_owner(&h->deal, row) != from)
            return shoal_fail(SHOAL_EFORMAT, "store: rank %u changes row %u of table %s, not its "
                              "own", from, row, h->table->name);
        memcpy(shard_row(h, h->table->at, row), message_rows(m) + i * float_bytes(h),
               float_bytes(h));
    }
    return SHOAL_OK;
}

static void empty(struct store *s, struct view *const *views, size_t n)
{
    for (size_t t = 0; t < s->n; t++)
        for (size_t i = 0; i < n; i++)
            views[t][i].used = 0;
}

static shoal_status merge_lanes(struct store *s, struct view *const *views, size_t n)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = each_row(s, views, i, true, send_row);
    if (st == SHOAL_OK)
        st = policy_end(&s->policy);
    if (st == SHOAL_OK)
        st = comm_until(s->comm, policy_whole, &s->policy);
    if (st == SHOAL_OK)
        st = fold_lanes(s, views, n);
    empty(s, views, n);
    for (size_t t = 0; t < s->n && st == SHOAL_OK; t++)
        st = send_sums(s, t);
    return st == SHOAL_OK ? policy_barrier(&s->policy) : st;
}

shoal_status store_merge_lanes(struct store *s, struct view *const *views, size_t n)
{
    struct comm_timer timer = comm_timer_begin(s->comm);
    shoal_status st = merge_lanes(s, views, n);

    comm_timer_end(s->comm, &timer, &s->times.steps, &s->times.waited);
    return st;
}
