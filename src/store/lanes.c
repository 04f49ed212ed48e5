/* Deterministic lanes of several ranks come together as if they had run on one rank.
 *
 *     each rank   sends the rows that its lanes touched to their owners     TAG_LANE
 *                 ... until all ranks have said that they sent all          policy_end
 *     owner       folds each row's copies in the order of the lanes
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

/* Everything a lane touched goes to its owners, and the view is empty. */
static shoal_status send_lane(struct store *s, size_t t, struct view *v, uint32_t lane)
{
    struct shard *h = &s->shards[t];
    shoal_status st = SHOAL_OK;

    for (size_t w = 0; w < (h->table->rows + 63) / 64 && st == SHOAL_OK; w++) {
        for (uint64_t bits = v->touched[w]; bits && st == SHOAL_OK; bits &= bits - 1) {
            uint32_t row = (uint32_t)(w * 64 + (unsigned)__builtin_ctzll(bits));
            unsigned to = h->owner[row];

            st = add_row(s, t, to, TAG_LANE, lane, h->place[row],
                         v->mine + (v->slot[row] - 1) * v->stride);
            v->slot[row] = 0;
            s->stats.rows_pushed++;
        }
        v->touched[w] = 0;
    }
    v->used = 0;
    return st == SHOAL_OK ? batches_send(s, TAG_LANE) : st;
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

/* What all lanes made of the rows this rank owns: the first lane's row, then
 * each other folded into it. */
struct sums {
    uint32_t *slot; /* [owned] 0: nobody touched it, else 1 + its place in rows */
    uint32_t used;
    float *rows; /* [][stride] */
    size_t cap;  /* floats */
};

static void fold_message(struct store *s, struct sums *sums, const struct head *m)
{
    struct shard *h = &s->shards[m->table];
    size_t bytes = float_bytes(h), stride = h->table->stride;

    for (uint32_t i = 0; i < m->count; i++) {
        uint32_t place = message_place(m, bytes, i);
        const char *row = message_rows(m) + i * bytes;

        memcpy(s->mine, row, bytes);
        memset(s->mine + h->table->width, 0, (stride - h->table->width) * sizeof(float));
        if (sums->slot[place]) {
            row_merge(h->table, s->kernel, sums->rows + (sums->slot[place] - 1) * stride, s->mine,
                      shard_row(h, h->table->at, h->own[place]), STORE_MEAN);
            continue;
        }
        memcpy(sums->rows + sums->used * stride, s->mine, stride * sizeof(float));
        sums->slot[place] = ++sums->used;
    }
    s->merged += m->count;
}

/* In the order of the lanes; within a lane no row stands twice. */
static void fold_deferred(struct store *s, struct sums *sums)
{
    struct deferred *d;

    for (unsigned lane = 0; s->deferred.first; lane++)
        while ((d = deferred_find(&s->deferred, lane % s->policy.workers, lane))) {
            fold_message(s, sums, (const struct head *)d->data);
            free(d);
        }
}

static shoal_status send_sums(struct store *s, size_t t, const struct sums *sums)
{
    struct shard *h = &s->shards[t];
    shoal_status st = SHOAL_OK;

    for (uint32_t place = 0; place < h->owned && st == SHOAL_OK; place++) {
        float *row;

        if (sums->slot[place] == 0)
            continue;
        row = sums->rows + (sums->slot[place] - 1) * h->table->stride;
        memcpy(shard_row(h, h->table->at, h->own[place]), row, float_bytes(h));
        for (unsigned r = 0; r < s->ranks && st == SHOAL_OK; r++)
            if (r != s->rank)
                st = add_row(s, t, r, TAG_CHANGED, 0, h->own[place], row);
    }
    return st == SHOAL_OK ? batches_send(s, TAG_CHANGED) : st;
}

static shoal_status merge_here(struct store *s, size_t t)
{
    struct shard *h = &s->shards[t];
    size_t bytes = h->table->stride * sizeof(float) * (h->owned ? h->owned : 1);
    struct sums sums = {.slot = mem_array(h->owned ? h->owned : 1, sizeof *sums.slot),
                        .rows = mem_map(bytes)};
    shoal_status st = SHOAL_ENOMEM;

    if (sums.slot && sums.rows) {
        fold_deferred(s, &sums);
        st = send_sums(s, t, &sums);
    }
    mem_unmap(sums.rows, bytes);
    free(sums.slot);
    return st;
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

        if (row >= h->table->rows || h->owner[row] != from)
            return shoal_fail(SHOAL_EFORMAT, "store: rank %u changes row %u of table %s, not its "
                              "own", from, row, h->table->name);
        memcpy(shard_row(h, h->table->at, row), message_rows(m) + i * float_bytes(h),
               float_bytes(h));
    }
    return SHOAL_OK;
}

static shoal_status merge_lanes(struct store *s, size_t t, struct view *views, size_t n)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = send_lane(s, t, &views[i], (uint32_t)(i * s->policy.workers + s->rank));
    if (st == SHOAL_OK)
        st = policy_end(&s->policy);
    if (st == SHOAL_OK)
        st = comm_until(s->comm, policy_whole, &s->policy);
    if (st == SHOAL_OK)
        st = merge_here(s, t);
    return st == SHOAL_OK ? policy_barrier(&s->policy) : st;
}

shoal_status store_merge_lanes(struct store *s, size_t t, struct view *views, size_t n)
{
    struct comm_timer timer = comm_timer_begin(s->comm);
    shoal_status st = merge_lanes(s, t, views, n);

    comm_timer_end(s->comm, &timer, &s->times.steps, &s->times.waited);
    return st;
}
