/* Rounds of rows, and the meeting where all come to the same rows. */
#include "store/shard.h"

#include <sched.h>
#include <stdlib.h>

/* ---- rounds ---- */

/* Rows may be the older the longer the run has lasted: steps are largest at first, and what is old
 * for a short run is young for a long one. */
static unsigned age_now(const struct store *s, unsigned most)
{
    uint64_t whole = STORE_EARLY * (uint64_t)s->opts.sweep[0];
    uint64_t lasted = s->policy.clock < whole ? s->policy.clock : whole;
    unsigned age = (unsigned)(most * lasted / whole), least = most / s->opts.early;

    return age > least ? age : least + (least == 0);
}

void store_ages_set(struct store *s)
{
    bool young = s->opts.early > 0 && s->opts.sweep[0] > 0;

    for (size_t t = 0; t < s->n; t++) {
        unsigned fresh = s->opts.fresh[t], sweep = s->opts.sweep[t];

        s->ages[t].fresh = young && fresh > 0 ? age_now(s, fresh) : fresh;
        s->ages[t].sweep = young ? age_now(s, sweep) : sweep;
    }
    s->due = young ? age_now(s, s->opts.due) : s->opts.due;
}

/* The slow sweep goes on: a part of the table each round, so that it is through after `sweep`
 * rounds and every row that was touched has travelled. */
static void sweep_on(struct store *s)
{
    for (size_t t = 0; t < s->n; t++) {
        struct shard *h = &s->shards[t];
        uint32_t rows = (uint32_t)h->table->rows, part = rows / s->ages[t].sweep + 1;

        if (h->slow >= rows)
            h->slow = h->goal = 0;
        h->goal = rows - h->goal < part ? rows : h->goal + part;
    }
}

static bool round_over(void *ctx)
{
    struct store *s = ctx;

    return policy_whole(&s->policy) && store_push_settled(s);
}

/* Everybody's pushes have gone: everybody's answers; of a block these are the next one's rows. */
static shoal_status answers(struct store *s)
{
    shoal_status st = policy_end(&s->policy);

    if (st != SHOAL_OK || (s->opts.blocks && s->next->asked))
        return st;
    return comm_until(s->comm, round_over, s);
}

static shoal_status sync_round(struct store *s)
{
    shoal_status st = s->opts.blocks ? SHOAL_OK : store_push_round(s);

    return st == SHOAL_OK ? answers(s) : st;
}

/* All that was touched, in as many rounds as it takes: every worker makes as many. */
static shoal_status sync_all(struct store *s)
{
    size_t t = 0;
    uint32_t at = 0;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && t < s->n) {
        st = store_push_some(s, &t, &at);
        if (st == SHOAL_OK)
            st = answers(s);
    }
    return st;
}

static shoal_status average(struct store *s)
{
    shoal_status st = SHOAL_OK;

    for (size_t t = 0; t < s->n && st == SHOAL_OK; t++) {
        struct table *table = s->shards[t].table;
        size_t n = table->rows * table->stride;

        st = comm_sum_floats(s->comm, table->at, n);
        s->kernel->scale(table->at, 1.0f / (float)s->policy.workers, n);
    }
    s->policy.met = s->policy.clock;
    return st;
}

static void stand_aside(struct store *s)
{
    double began = clock_now();

    sched_yield();
    s->times.yielded += clock_now() - began;
}

static shoal_status step(struct store *s)
{
    shoal_status st = comm_poll(s->comm, NULL);

    if (st == SHOAL_OK && !s->opts.blocks &&
        (s->opts.policy == SHOAL_ASYNC || s->opts.policy == SHOAL_BOUNDED))
        st = store_push_due(s);
    if (s->opts.oversubscribed)
        stand_aside(s);
    return st;
}

static shoal_status push_all(struct store *s);
static shoal_status meet(struct store *s);

/* Each rank has trained alone; whether it is time to fold what they learned. */
static shoal_status end_apart(struct store *s)
{
    shoal_status st;

    if (s->policy.clock - s->policy.met < s->opts.apart)
        return comm_poll(s->comm, NULL);
    st = meet(s);
    s->policy.met = s->policy.clock;
    return st;
}

static shoal_status end_round(struct store *s)
{
    shoal_status st;

    policy_tick(&s->policy);
    store_ages_set(s);
    if (s->opts.lanes)
        return comm_poll(s->comm, NULL);
    if (s->opts.apart)
        return end_apart(s);
    if (!s->opts.blocks)
        sweep_on(s);
    if (s->opts.policy == SHOAL_SYNC)
        return sync_round(s);
    if (s->opts.policy == SHOAL_AVERAGE)
        return policy_mean_due(&s->policy) ? average(s) : comm_poll(s->comm, NULL);
    st = policy_pace(&s->policy);
    if (st == SHOAL_OK && s->opts.whole)
        return push_all(s);
    return st == SHOAL_OK ? step(s) : st;
}

shoal_status store_step(struct store *s)
{
    struct comm_timer timer = comm_timer_begin(s->comm);
    shoal_status st = step(s);

    comm_timer_end(s->comm, &timer, &s->times.steps, &s->times.waited);
    return st;
}

shoal_status store_round(struct store *s)
{
    struct comm_timer timer = comm_timer_begin(s->comm);
    shoal_status st = end_round(s);

    comm_timer_end(s->comm, &timer, &s->times.steps, &s->times.waited);
    return st;
}

/* ---- meeting ---- */

enum { PIECE_BYTES = 1 << 20 }; /* of an owner's rows that are gathered at a time */

/* Of `most` rows of the rank from the place on, as many as there are. */
static size_t rows_from(const struct shard *h, unsigned rank, size_t place, size_t most)
{
    size_t owned = deal_count(&h->deal, rank);
    size_t left = place < owned ? owned - place : 0;

    return left < most ? left : most;
}

/* All owners' rows from the place on, in the order of the ranks. */
static shoal_status gather_piece(struct store *s, struct shard *h, size_t place, size_t most,
                                 char **data)
{
    size_t width = float_bytes(h), n = rows_from(h, s->rank, place, most), *lens = NULL;
    char *mine = mem_array(n ? n : 1, width);
    shoal_status st = comm_agree(s->comm, mine ? SHOAL_OK : SHOAL_ENOMEM);

    for (size_t i = 0; st == SHOAL_OK && i < n; i++)
        memcpy(mine + i * width, home_row(h, (uint32_t)(place + i)), width);
    if (st == SHOAL_OK)
        st = comm_gather(s->comm, mine, n * width, data, &lens);
    for (unsigned r = 0; st == SHOAL_OK && r < s->ranks; r++)
        if (lens[r] != rows_from(h, r, place, most) * width)
            st = shoal_fail(SHOAL_EFORMAT, "store: rank %u gave %zu bytes of table %s, want %zu", r,
                            lens[r], h->table->name, rows_from(h, r, place, most) * width);
    free(lens);
    free(mine);
    return st;
}

static void spread_piece(struct store *s, struct shard *h, size_t place, size_t most,
                         const char *data)
{
    size_t width = float_bytes(h);

    for (unsigned r = 0; r < s->ranks; r++)
        for (size_t i = 0; i < rows_from(h, r, place, most); i++, data += width) {
            uint32_t row = deal_row(&h->deal, r, (uint32_t)(place + i));

            memcpy(shard_row(h, h->table->at, row), data, width);
            if (h->base)
                memcpy(shard_row(h, h->base, row), data, width);
        }
}

/* Every rank gets the owners' rows, and what owners and ranks know of each other (base, seen) is
 * set to them. Piece by piece: the memory for a whole table would be fresh each time, and page
 * faults cost more than the copying. */
static shoal_status publish_table(struct store *s, struct shard *h)
{
    size_t most = PIECE_BYTES / float_bytes(h) + 1, longest = 0;
    shoal_status st = SHOAL_OK;

    for (unsigned r = 0; r < s->ranks; r++)
        longest = deal_count(&h->deal, r) > longest ? deal_count(&h->deal, r) : longest;
    for (size_t place = 0; st == SHOAL_OK && place < longest; place += most) {
        char *data = NULL;

        st = gather_piece(s, h, place, most, &data);
        if (st == SHOAL_OK)
            spread_piece(s, h, place, most, data);
        free(data);
    }
    for (unsigned r = 0; st == SHOAL_OK && r < s->policy.workers; r++)
        shard_note_seen(s, h, r);
    return st;
}

static shoal_status publish(struct store *s)
{
    shoal_status st = SHOAL_OK;

    for (size_t t = 0; t < s->n && st == SHOAL_OK; t++)
        st = publish_table(s, &s->shards[t]);
    return st;
}

/* All that was touched goes to its owners and is answered. */
static shoal_status push_all(struct store *s)
{
    shoal_status st = SHOAL_OK;

    if (policy_works(&s->policy) && s->opts.policy == SHOAL_SYNC)
        st = sync_all(s);
    else if (policy_works(&s->policy))
        st = store_push_all(s);
    return st == SHOAL_OK ? comm_until(s->comm, store_push_settled, s) : st;
}

/* Rounding has left behind what nobody touched since: it counts as touched. */
static void touch_rests(struct store *s, struct shard *h)
{
    size_t width = h->table->width;

    for (uint32_t row = 0; h->base && row < h->table->rows; row++)
        if (deal_owner(&h->deal, row) != s->rank && h->touches[row] == 0 &&
            memcmp(shard_row(h, h->table->at, row), shard_row(h, h->base, row),
                   width * sizeof(float)) != 0)
            h->touches[row] = 1;
}

/* Owners have all that was done: rows travel whole, so that nothing is left behind. */
static shoal_status bring_home(struct store *s)
{
    shoal_status st = batches_send(s, TAG_PUSH);

    if (st == SHOAL_OK && s->opts.policy != SHOAL_SYNC)
        st = comm_until(s->comm, store_push_settled, s);
    for (size_t t = 0; t < s->n && policy_works(&s->policy); t++)
        touch_rests(s, &s->shards[t]);
    s->form = FORM_WHOLE;
    if (st == SHOAL_OK)
        st = push_all(s);
    s->form = FORM_WIRE;
    return st == SHOAL_OK ? comm_barrier(s->comm) : st;
}

static shoal_status meet(struct store *s)
{
    shoal_status st;

    if (s->opts.lanes)
        return comm_barrier(s->comm);
    if (s->opts.blocks)
        return store_blocks_gather(s);
    if (s->opts.policy == SHOAL_AVERAGE)
        return average(s);
    st = bring_home(s);
    return st == SHOAL_OK ? publish(s) : st;
}

bool store_swept(const struct store *s)
{
    unsigned longest = 0;

    for (size_t t = 0; t < s->n; t++)
        longest = s->ages[t].sweep > longest ? s->ages[t].sweep : longest;
    return exchanges(&s->opts) && !s->opts.apart &&
           2 * (s->policy.clock - s->policy.met) >= longest;
}

shoal_status store_gather(struct store *s)
{
    struct comm_timer timer = comm_timer_begin(s->comm);
    shoal_status st = meet(s);

    s->policy.met = s->policy.clock;
    comm_timer_end(s->comm, &timer, &s->times.meets, &s->times.waited);
    return st;
}

/* ---- the end: rank 0 alone has all ---- */

shoal_status store_home_handle(void *ctx, unsigned from, const void *data, size_t len)
{
    struct store *s = ctx;
    const struct head *m = data;
    struct shard *h;

    if (len < sizeof *m || m->table >= s->n || m->count > len || !s->collects ||
        len != sizeof *m + m->count * float_bytes(&s->shards[m->table]))
        return shoal_fail(SHOAL_EFORMAT, "store: rank %u brings %zu bytes that are no rows", from,
                          len);
    h = &s->shards[m->table];
    if (rows_from(h, from, m->place, m->count) != m->count)
        return shoal_fail(SHOAL_EFORMAT,
                          "store: rank %u brings %u rows of table %s from place %u "
                          "on, which it does not own",
                          from, m->count, h->table->name, m->place);
    for (uint32_t i = 0; i < m->count; i++)
        memcpy(shard_row(h, h->table->at, deal_row(&h->deal, from, m->place + i)),
               message_rows(m) + i * float_bytes(h), float_bytes(h));
    return SHOAL_OK;
}

static shoal_status send_home(struct store *s, size_t t, uint32_t place, uint32_t n)
{
    struct shard *h = &s->shards[t];
    size_t len = sizeof(struct head) + n * float_bytes(h);
    struct outgoing *o;
    shoal_status st = outbox_take(&s->outbox, &o, len);

    if (st != SHOAL_OK)
        return st;
    *(struct head *)o->data = (struct head){.table = (uint32_t)t, .count = n, .place = place};
    for (uint32_t i = 0; i < n; i++)
        memcpy(message_rows(o->data) + i * float_bytes(h), home_row(h, place + i), float_bytes(h));
    st = outbox_send(&s->outbox, o, 0, TAG_HOME, len);
    if (st == SHOAL_OK) /* rank 0 takes them as fast as it can */
        st = comm_wait(s->comm, &o->tickets[0]);
    outbox_release(&s->outbox, o);
    return st;
}

/* What this rank owns is in its table too, where masters are kept apart. */
static shoal_status give_owned(struct store *s, size_t t)
{
    struct shard *h = &s->shards[t];
    shoal_status st = SHOAL_OK;

    for (uint32_t i = 0; h->master && i < h->owned; i++)
        memcpy(shard_row(h, h->table->at, deal_row(&h->deal, s->rank, i)), home_row(h, i),
               float_bytes(h));
    for (uint32_t i = 0, n; i < h->owned && s->rank != 0 && st == SHOAL_OK; i += n) {
        n = h->owned - i < rows_fit(h) ? h->owned - i : (uint32_t)rows_fit(h);
        st = send_home(s, t, i, n);
    }
    return st;
}

static shoal_status collect(struct store *s)
{
    shoal_status st;

    s->collects = s->rank == 0;
    st = comm_barrier(s->comm); /* nobody's rows come before */
    if (st == SHOAL_OK)
        st = bring_home(s);
    for (size_t t = 0; t < s->n && st == SHOAL_OK; t++)
        st = give_owned(s, t);
    if (st == SHOAL_OK)
        st = policy_barrier(&s->policy);
    s->collects = false;
    return st;
}

shoal_status store_collect(struct store *s)
{
    struct comm_timer timer;
    shoal_status st;

    if (!exchanges(&s->opts))
        return store_gather(s);
    timer = comm_timer_begin(s->comm);
    st = collect(s);
    s->policy.met = s->policy.clock;
    comm_timer_end(s->comm, &timer, &s->times.meets, &s->times.waited);
    return st;
}
