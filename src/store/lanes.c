/* The lanes of several ranks come together as if they had run on one: owners
 * fold each row's changes in the order of the lanes, and everybody gets the
 * result. */
#include "store/shard.h"

#include <stdlib.h>

/* ---- sending rows in full ---- */

struct parcel {
    struct letter *letter;
    uint32_t *places; /* [rows_fit] */
};

static shoal_status parcel_send(struct store *s, struct shard *h, struct parcel *p, unsigned to,
                                unsigned tag)
{
    struct letter *l = p->letter;
    size_t bytes = float_bytes(h);

    if (!l)
        return SHOAL_OK;
    p->letter = NULL;
    memcpy(message_rows(l->message) + l->message->count * bytes, p->places,
           l->message->count * sizeof *p->places);
    return letter_send(s, l, to, tag, message_bytes(bytes, l->message->count));
}

static shoal_status parcel_add(struct store *s, size_t t, struct parcel *p, unsigned to,
                               unsigned tag, uint32_t lane, uint32_t place, const float *row)
{
    struct shard *h = &s->shards[t];
    size_t bytes = float_bytes(h);
    shoal_status st = SHOAL_OK;
    struct head *m;

    if (!p->letter) {
        st = letter_take(s, &p->letter, message_bytes(bytes, rows_fit(h)));
        if (st != SHOAL_OK)
            return st;
        *p->letter->message = (struct head){.table = (uint32_t)t, .lane = lane};
    }
    m = p->letter->message;
    p->places[m->count] = place;
    memcpy(message_rows(m) + m->count++ * bytes, row, bytes);
    return m->count == rows_fit(h) ? parcel_send(s, h, p, to, tag) : SHOAL_OK;
}

static void parcels_free(struct parcel *p, unsigned n)
{
    for (unsigned r = 0; p && r < n; r++)
        free(p[r].places);
    free(p);
}

static struct parcel *parcels_new(const struct store *s, const struct shard *h)
{
    struct parcel *p = mem_array(s->ranks, sizeof *p);

    for (unsigned r = 0; p && r < s->ranks; r++) {
        p[r].places = mem_array(rows_fit(h), sizeof *p[r].places);
        if (!p[r].places) {
            parcels_free(p, s->ranks);
            return NULL;
        }
    }
    return p;
}

/* Everything a lane touched goes to its owners, and the view is empty. */
static shoal_status send_lane(struct store *s, size_t t, struct parcel *parcels, struct view *v,
                              uint32_t lane)
{
    struct shard *h = &s->shards[t];
    shoal_status st = SHOAL_OK;

    for (size_t w = 0; w < (h->table->rows + 63) / 64 && st == SHOAL_OK; w++) {
        for (uint64_t bits = v->touched[w]; bits && st == SHOAL_OK; bits &= bits - 1) {
            uint32_t row = (uint32_t)(w * 64 + (unsigned)__builtin_ctzll(bits));
            unsigned to = h->owner[row];

            st = parcel_add(s, t, &parcels[to], to, TAG_LANE, lane, h->place[row],
                            v->mine + (v->slot[row] - 1) * v->stride);
            v->slot[row] = 0;
            s->stats.rows_pushed++;
        }
        v->touched[w] = 0;
    }
    v->used = 0;
    for (unsigned r = 0; r < s->ranks && st == SHOAL_OK; r++)
        st = parcel_send(s, h, &parcels[r], r, TAG_LANE);
    return st;
}

/* ---- the owner ---- */

shoal_status lane_handle(void *ctx, unsigned from, const void *data, size_t len)
{
    struct store *s = ctx;
    const struct head *m = data;
    shoal_status st = message_check(s, from, data, len, true);

    if (st != SHOAL_OK)
        return st;
    for (uint32_t i = 0; i < m->count; i++)
        if (message_place(m, float_bytes(&s->shards[m->table]), i) >= s->shards[m->table].owned)
            return shoal_fail(SHOAL_EFORMAT, "store: rank %u sends a row of table %s that is not "
                              "here", from, s->shards[m->table].table->name);
    return keep(s, from, m->lane, data, len);
}

static int by_lane(const void *a, const void *b)
{
    const struct kept *x = *(struct kept *const *)a, *y = *(struct kept *const *)b;

    return (x->round > y->round) - (x->round < y->round);
}

/* The kept messages, in the order of the lanes; within a lane no row stands
 * twice. */
static shoal_status list_kept(struct store *s, struct kept ***out, size_t *n)
{
    struct kept **list;

    *n = 0;
    for (struct kept *k = s->kept; k; k = k->next)
        ++*n;
    *out = list = mem_array(*n + 1, sizeof *list);
    if (!list)
        return SHOAL_ENOMEM;
    for (struct kept *k = s->kept; k; k = k->next)
        *list++ = k;
    qsort(*out, *n, sizeof **out, by_lane);
    s->kept = NULL;
    s->behind = &s->kept;
    return SHOAL_OK;
}

/* What all lanes made of the rows this rank owns: the first lane's row, then
 * each other folded into it. */
struct sums {
    uint32_t *slot; /* [owned] 0: nobody touched it, else 1 + its place in rows */
    uint32_t used;
    float *rows; /* [][stride] */
    size_t cap;  /* floats */
};

static shoal_status fold_message(struct store *s, struct sums *sums, const struct head *m)
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
    return SHOAL_OK;
}

static shoal_status fold_kept(struct store *s, struct sums *sums)
{
    struct kept **list;
    size_t n;
    shoal_status st = list_kept(s, &list, &n);

    for (size_t i = 0; st == SHOAL_OK && i < n; i++) {
        st = fold_message(s, sums, (const struct head *)list[i]->data);
        free(list[i]);
    }
    free(list);
    return st;
}

static shoal_status send_sums(struct store *s, size_t t, struct parcel *parcels,
                              const struct sums *sums)
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
                st = parcel_add(s, t, &parcels[r], r, TAG_CHANGED, 0, h->own[place], row);
    }
    for (unsigned r = 0; r < s->ranks && st == SHOAL_OK; r++)
        st = parcel_send(s, h, &parcels[r], r, TAG_CHANGED);
    return st;
}

static shoal_status merge_here(struct store *s, size_t t, struct parcel *parcels)
{
    struct shard *h = &s->shards[t];
    size_t bytes = h->table->stride * sizeof(float) * (h->owned ? h->owned : 1);
    struct sums sums = {.slot = mem_array(h->owned ? h->owned : 1, sizeof *sums.slot),
                        .rows = mem_map(bytes)};
    shoal_status st = sums.slot && sums.rows ? fold_kept(s, &sums) : SHOAL_ENOMEM;

    if (st == SHOAL_OK)
        st = send_sums(s, t, parcels, &sums);
    mem_unmap(sums.rows, bytes);
    free(sums.slot);
    return st;
}

/* ---- everybody ---- */

shoal_status changed_handle(void *ctx, unsigned from, const void *data, size_t len)
{
    struct store *s = ctx;
    const struct head *m = data;
    shoal_status st = message_check(s, from, data, len, true);
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

static bool lanes_here(void *ctx)
{
    const struct store *s = ctx;

    return least_ends(s) >= s->rounds;
}

static bool changes_here(void *ctx)
{
    const struct store *s = ctx;

    for (unsigned r = 0; r < s->ranks; r++)
        if (s->peers[r].clock < s->rounds)
            return false;
    return true;
}

/* Two waits: for all lanes' rows, and for all that changed. In between an owner
 * reads its own rows alone, as they were: what others changed may arrive
 * meanwhile. */
static shoal_status merge_lanes(struct store *s, size_t t, struct view *views, size_t n)
{
    struct parcel *parcels = parcels_new(s, &s->shards[t]);
    shoal_status st = parcels ? SHOAL_OK : SHOAL_ENOMEM;

    s->rounds++;
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = send_lane(s, t, parcels, &views[i], (uint32_t)(i * s->workers + s->rank));
    if (st == SHOAL_OK && store_works(s))
        st = tell_all(s, TAG_END);
    if (st == SHOAL_OK)
        st = comm_until(s->comm, lanes_here, s);
    if (st == SHOAL_OK)
        st = merge_here(s, t, parcels);
    if (st == SHOAL_OK)
        st = tell_all(s, TAG_CLOCK);
    if (st == SHOAL_OK)
        st = comm_until(s->comm, changes_here, s);
    parcels_free(parcels, s->ranks);
    return st;
}

shoal_status store_merge_lanes(struct store *s, size_t t, struct view *views, size_t n)
{
    struct spell spell = spell_begin(s);
    shoal_status st = merge_lanes(s, t, views, n);

    spell_end(s, &spell, &s->times.steps);
    return st;
}
