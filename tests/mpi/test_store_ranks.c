/* Rows that travel between ranks: run.sh starts this program several times over.
 * Rank 0 prints TAP. */
#include "store/shard.h"

#include "check.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 700, WIDTH = 20, ROUNDS = 40, LANES = 6 };

static struct comm *c;
static const struct kernel *kernel;

static struct store_opts opts_of(enum shoal_sync policy, unsigned staleness)
{
    return (struct store_opts){
        .policy = policy, .staleness = staleness, .due = 4, .sweep = {8, 8, 8, 8}};
}

static uint64_t random_at(uint64_t seed, uint64_t index)
{
    return rng_at(seed * 1000 + rank, 7, index);
}

/* Whole numbers, so that sums are exact in any order. */
static void start(struct table *t)
{
    CHECK_OK(table_init_packed(t, "rows", ROWS, WIDTH));
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < WIDTH; j++)
            t->at[i * t->stride + j] = (float)(i % 50 + j);
}

/* ---- every delta once ---- */

static void change(struct store *s, struct table *t, double *sum, uint64_t seed, uint64_t n)
{
    uint8_t *touches = store_touches(s, 0);

    for (uint64_t k = 0; k < n; k++) {
        uint64_t random = random_at(seed, k);
        size_t row = random % 3 ? random / 8 % ROWS : random / 8 % 10; /* some are hot */

        for (size_t j = 0; j < WIDTH; j++) {
            t->at[row * t->stride + j] += (float)(j % 3);
            sum[row * WIDTH + j] += (double)(j % 3);
        }
        touches[row] = (uint8_t)(touches[row] + (touches[row] < 255));
    }
}

/* No change of this rank is left, here or on its way. */
static bool all_travelled(struct store *s)
{
    const uint8_t *touches = store_touches(s, 0);
    size_t left = 0;

    for (size_t row = 0; row < ROWS; row++)
        left += touches[row];
    return left == 0 && store_push_settled(s);
}

/* Some rows, as if they were needed next; one that there is not. */
static void expect(struct store *s, uint64_t seed)
{
    uint32_t rows[30];

    for (size_t i = 0; i < 30; i++)
        rows[i] = (uint32_t)(random_at(seed, i) % (ROWS + 1));
    CHECK_OK(store_expect(s, 0, rows, 30));
}

static void work(struct store *s, struct table *t, double *sum, uint64_t seed)
{
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t random = random_at(seed + 1, round);

        for (uint64_t step = 0; step < random % 5; step++) {
            expect(s, seed * 13 + round * 5 + step);
            change(s, t, sum, seed * 7919 + round * 31 + step, random / 16 % 60);
            if (random >> 40 & 1)
                CHECK_OK(store_step(s));
            if (random % 11 == 0)
                usleep((unsigned)(random >> 50));
        }
        CHECK_OK(store_round(s));
        CHECK(!s->opts.whole || all_travelled(s));
    }
}

/* Differences in so few bits are no whole numbers: they add up but for the rounding of floats. */
static void check_sums(const struct table *t, const double *sum, enum shoal_wire wire)
{
    double most = wire == SHOAL_WIRE_INT8 || wire == SHOAL_WIRE_INT4 ? 1e-3 : 0;
    size_t wrong = 0;

    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < WIDTH; j++) {
            double want = (double)(i % 50 + j) + sum[i * WIDTH + j];

            wrong += fabs((double)t->at[i * t->stride + j] - want) > most;
        }
    CHECK(wrong == 0);
}

static void try_sums(const struct store_opts *opts, const char *name)
{
    double *sum = calloc(ROWS * WIDTH, sizeof *sum), *all = calloc(ROWS * WIDTH, sizeof *all);
    struct table t;
    struct store *s;

    start(&t);
    CHECK_OK(store_open(&s, c, &t, 1, NULL, kernel, opts));
    for (uint64_t segment = 0; segment < 3; segment++) {
        if (policy_works(&s->policy))
            work(s, &t, sum, segment);
        CHECK_OK(store_gather(s));
        memcpy(all, sum, ROWS * WIDTH * sizeof *sum);
        CHECK_OK(comm_sum(c, all, ROWS * WIDTH));
        check_sums(&t, all, opts->wire);
        CHECK_OK(comm_barrier(c)); /* what the others push next changes the rows owned here */
    }
    store_close(s);
    table_fini(&t);
    free(sum);
    free(all);
    end_case(c, name);
}

static void sums_are_exact(void)
{
    struct store_opts o = opts_of(SHOAL_ASYNC, 0);

    try_sums(&o, "async: every delta is applied exactly once");
    o.fill = 6;
    o.due = 5;
    try_sums(&o, "async with messages that are filled: every delta is applied exactly once");
    o = opts_of(SHOAL_ASYNC, 0);
    o.wire = SHOAL_WIRE_BF16;
    try_sums(&o, "async over bf16: small whole numbers lose nothing");
    o.wire = SHOAL_WIRE_INT8;
    try_sums(&o, "async over int8: nothing is left behind at a meeting");
    o.wire = SHOAL_WIRE_INT4;
    try_sums(&o, "async over int4: nothing is left behind at a meeting");
    o.fresh[0] = 3;
    try_sums(&o, "async with rows that are asked for: every delta is applied exactly once");
    o.wire = SHOAL_WIRE_F32;
    try_sums(&o, "the same over f32: every delta is applied exactly once");
    o = opts_of(SHOAL_BOUNDED, 2);
    try_sums(&o, "bounded: every delta is applied exactly once");
    o = opts_of(SHOAL_SYNC, 0);
    try_sums(&o, "sync: every delta is applied exactly once");
    o.round_bytes = 4096;
    try_sums(&o, "sync in small rounds: every delta is applied exactly once");
    o = opts_of(SHOAL_SYNC, 0);
    o.apart = 3;
    try_sums(&o, "apart for three rounds: every delta is applied exactly once");
    if (size > 1) {
        o = opts_of(SHOAL_ASYNC, 0);
        o.servers = size / 2;
        try_sums(&o, "async with servers: every delta is applied exactly once");
        o.whole = true;
        try_sums(&o, "async with servers: a whole round leaves nothing behind");
        o.whole = false;
        o.policy = SHOAL_SYNC;
        try_sums(&o, "sync with servers: every delta is applied exactly once");
        o.round_bytes = 4096;
        try_sums(&o, "sync with servers in small rounds: every delta is applied exactly once");
    }
}

/* ---- the same without replicas ---- */

static void start_owned(struct store *s)
{
    const uint32_t *rows;
    struct table t = store_owned(s, 0, &rows);

    for (size_t i = 0; i < t.rows; i++)
        for (size_t j = 0; j < WIDTH; j++)
            t.at[i * t.stride + j] = (float)(rows[i] % 50 + j);
}

/* Some blocks are empty, some nearly everything; hot rows are in all others. */
static void want(struct store *s, uint64_t *bits, uint64_t seed)
{
    uint64_t n = random_at(seed, 0) % 400;

    for (uint64_t k = 1; k < n; k++) {
        uint64_t random = random_at(seed, k), row = k < 10 ? k : random % ROWS;

        bits[row / 64] |= 1ull << (row % 64);
    }
    CHECK_OK(store_want(s, &bits, false));
}

/* Every row of the block, some of them more than once, as its list is drawn again. */
static void change_block(struct store *s, double *sum, uint64_t seed)
{
    struct view v = store_view(s, 0);
    uint64_t n = random_at(seed, 0) % 400;

    for (uint64_t k = 1; k < n; k++) {
        uint64_t random = random_at(seed, k), row = k < 10 ? k : random % ROWS;
        float *at = view_row(&v, (uint32_t)row);

        for (size_t j = 0; j < WIDTH; j++) {
            at[j] += (float)(j % 3);
            sum[row * WIDTH + j] += (double)(j % 3);
        }
    }
}

static void work_blocks(struct store *s, uint64_t *bits, double *sum, uint64_t seed)
{
    want(s, bits, seed);
    CHECK_OK(store_swap(s));
    for (uint64_t k = 0; k < ROUNDS; k++) {
        uint64_t random = random_at(seed + 1, k);

        if (k + 1 < ROUNDS && random % 5) /* else nothing is asked for ahead */
            want(s, bits, seed + 10 + k);
        if (random % 11 == 0)
            usleep((unsigned)(random >> 50));
        if (random >> 40 & 1)
            CHECK_OK(store_step(s));
        change_block(s, sum, k ? seed + 9 + k : seed);
        CHECK_OK(store_swap(s));
        if (k + 1 < ROUNDS && random % 5 == 0) {
            want(s, bits, seed + 10 + k);
            CHECK_OK(store_swap(s));
        }
    }
}

static void check_owned(struct store *s, const double *sum)
{
    const uint32_t *rows;
    struct table t = store_owned(s, 0, &rows);
    size_t wrong = 0;

    for (size_t i = 0; i < t.rows; i++)
        for (size_t j = 0; j < WIDTH; j++)
            wrong += (double)t.at[i * t.stride + j] !=
                     (double)(rows[i] % 50 + j) + sum[rows[i] * WIDTH + j];
    CHECK(wrong == 0);
}

static void try_blocks(const struct store_opts *opts, const char *name)
{
    double *sum = calloc(ROWS * WIDTH, sizeof *sum), *all = calloc(ROWS * WIDTH, sizeof *all);
    struct table t = {
        .name = "rows", .rows = ROWS, .width = WIDTH, .stride = table_stride(WIDTH), .adds = true};
    uint64_t bits[(ROWS + 63) / 64] = {0};
    struct store_opts o = *opts;
    struct store *s;

    o.blocks = true;
    CHECK_OK(store_open(&s, c, &t, 1, NULL, kernel, &o));
    start_owned(s);
    CHECK_OK(comm_barrier(c));
    for (uint64_t segment = 0; segment < 3; segment++) {
        if (policy_works(&s->policy))
            work_blocks(s, bits, sum, segment * 1000);
        CHECK_OK(store_gather(s));
        memcpy(all, sum, ROWS * WIDTH * sizeof *sum);
        CHECK_OK(comm_sum(c, all, ROWS * WIDTH));
        check_owned(s, all);
        CHECK_OK(comm_barrier(c));
    }
    CHECK(s->policy.lead <= o.staleness);
    CHECK_OK(comm_barrier(c));
    store_close(s);
    free(sum);
    free(all);
    end_case(c, name);
}

static void blocks_are_exact(void)
{
    struct store_opts o = opts_of(SHOAL_ASYNC, 0);

    try_blocks(&o, "blocks, async: every delta is applied exactly once");
    o.wire = SHOAL_WIRE_BF16;
    try_blocks(&o, "blocks, async over bf16: small whole numbers lose nothing");
    o = opts_of(SHOAL_BOUNDED, 2);
    try_blocks(&o, "blocks, bounded: every delta is applied exactly once");
    o = opts_of(SHOAL_SYNC, 0);
    try_blocks(&o, "blocks, sync: every delta is applied exactly once");
    if (size > 1) {
        o = opts_of(SHOAL_ASYNC, 0);
        o.servers = size / 2;
        try_blocks(&o, "blocks, async with servers: every delta is applied exactly once");
        o.policy = SHOAL_SYNC;
        try_blocks(&o, "blocks, sync with servers: every delta is applied exactly once");
    }
}

/* Steps that 16 bits do not hold exactly, always rounded the same way: only what
 * rounding left behind, sent again and again, keeps the sum right. */
/* ---- what is planned is enough ---- */

static size_t outbox_bytes(const struct store *s)
{
    size_t bytes = 0;

    for (const struct outgoing *o = s->outbox.idle; o; o = o->next)
        bytes += o->cap;
    for (const struct outgoing *o = s->outbox.out; o; o = o->next)
        bytes += o->cap;
    return bytes;
}

/* Whole tables are touched, and gathered: buffers are kept, so they show what was needed. */
static void messages_are_as_few_as_a_round_takes(void)
{
    struct store_opts o = opts_of(SHOAL_SYNC, 0);
    struct table t;
    struct store *s;

    o.round_bytes = 4096;
    start(&t);
    CHECK_OK(store_open(&s, c, &t, 1, NULL, kernel, &o));
    for (unsigned i = 0; i < 3; i++) {
        memset(store_touches(s, 0), 200, ROWS);
        CHECK_OK(store_round(s));
        memset(store_touches(s, 0), 1, ROWS);
        CHECK_OK(store_gather(s));
        CHECK_OK(comm_barrier(c));
    }
    CHECK(outbox_bytes(s) < 4 * o.round_bytes); /* the table has 56,000 */
    store_close(s);
    table_fini(&t);
    end_case(c, "sync: what is on its way is bounded, however much was touched");
}

/* Each row that was held back comes to its turn: with credit for a few rows of seven hundred, all of
 * them have travelled after some rounds. */
static void held_rows_have_their_turn(void)
{
    struct store_opts o = opts_of(SHOAL_SYNC, 0);
    size_t rounds = 0, left = ROWS;
    struct table t;
    struct store *s;

    o.round_bytes = 4096;
    for (size_t k = 0; k < STORE_TABLES; k++)
        o.sweep[k] = 1 << 20;
    start(&t);
    CHECK_OK(store_open(&s, c, &t, 1, NULL, kernel, &o));
    memset(store_touches(s, 0), 200, ROWS);
    for (; left > 0 && rounds < 1000; rounds++) {
        double most;

        memset(store_touches(s, 0), 200, 10); /* the front is hot all the time */
        CHECK_OK(store_round(s));
        left = 0;
        for (size_t row = 10; row < ROWS; row++)
            left += store_touches(s, 0)[row] > 0;
        most = (double)left;
        CHECK_OK(comm_max(c, &most, 1));
        left = (size_t)most;
    }
    CHECK(left == 0 && rounds > 5 && rounds < 100);
    CHECK_OK(store_gather(s));
    store_close(s);
    table_fini(&t);
    end_case(c, "sync: rows that a round held back come to their turn");
}

static void plans_hold(void)
{
    struct store_opts o = opts_of(SHOAL_ASYNC, 0);
    struct table t = {.rows = 1 << 20, .width = 64, .stride = 64};
    uint64_t all = table_size(&t);

    CHECK(store_bytes(&t, 1, 8, &o) >= all && store_bytes(&t, 1, 8, &o) < 2 * all);
    o.servers = 2;
    CHECK(store_bytes(&t, 1, 8, &o) >= 3 * all); /* six workers' rows on two servers */
    CHECK(store_bytes(&t, 1, 8, &o) < 4 * all);
    o = opts_of(SHOAL_SYNC, 0);
    CHECK(store_bytes(&t, 1, 8, &o) >= all + all / 8 + 3 * (uint64_t)ROUND_BYTES);
    end_case(c, "the plan has what each worker has seen, and what a round holds");
}

static void rounding_does_not_add_up(void)
{
    enum { STEPS = 600 };
    struct store_opts o = opts_of(SHOAL_ASYNC, 0);
    double want = 1e-3 * STEPS * size * (size + 1) / 2;
    struct table t;
    struct store *s;

    o.wire = SHOAL_WIRE_BF16;
    CHECK_OK(table_init_packed(&t, "rows", ROWS, WIDTH));
    CHECK_OK(store_open(&s, c, &t, 1, NULL, kernel, &o));
    for (unsigned step = 0; step < STEPS; step++) {
        for (size_t row = 0; row < 4 * size; row++) {
            t.at[row * t.stride] += 1e-3f * (float)(rank + 1);
            store_touches(s, 0)[row] = UINT8_MAX;
        }
        CHECK_OK(store_step(s));
    }
    CHECK_OK(store_gather(s));
    for (size_t row = 0; row < 4 * size; row++)
        CHECK(fabs((double)t.at[row * t.stride] - want) < 2e-4 * want);
    store_close(s);
    table_fini(&t);
    end_case(c, "bf16: what rounding leaves behind is not lost");
}

/* ---- nobody runs away ---- */

/* Whether the fast ones went as far as they may, and waited. */
static bool fast_ones_waited(unsigned staleness)
{
    struct store_opts o = opts_of(SHOAL_BOUNDED, staleness);
    struct table t;
    struct store *s;
    double lead, hasty;

    start(&t);
    CHECK_OK(store_open(&s, c, &t, 1, NULL, kernel, &o));
    for (unsigned round = 0; round < 20; round++) {
        if (rank + 1 == size)
            usleep(5000);
        CHECK_OK(store_round(s));
        CHECK(s->policy.lead <= staleness);
    }
    lead = (double)s->policy.lead;
    hasty = rank + 1 != size && comm_stats(c).waited <= 0.02;
    CHECK_OK(store_gather(s));
    CHECK_OK(comm_max(c, &lead, 1));
    CHECK_OK(comm_max(c, &hasty, 1));
    store_close(s);
    table_fini(&t);
    return size == 1 || (lead == staleness && hasty <= 0);
}

/* Where a busy machine made the fast ones as slow, once more. */
static void bound_holds(unsigned staleness)
{
    bool waited = false;
    char name[80];

    for (unsigned i = 0; i < 20 && !waited; i++)
        waited = fast_ones_waited(staleness);
    CHECK(waited);
    snprintf(name, sizeof name, "bounded:%u is never exceeded beside a slow rank", staleness);
    end_case(c, name);
}

/* ---- lanes ---- */

static void fill(struct table *t)
{
    for (size_t i = 0; i < t->rows; i++)
        for (size_t j = 0; j < t->width; j++)
            t->at[i * t->stride + j] = (float)rng_at(1, i, j) * 0x1p-60f;
}

static void train_lane(struct view *v, unsigned lane, unsigned round)
{
    for (unsigned k = 0; k < 300; k++) {
        uint64_t random = rng_at(lane, round, k);
        float *row = view_row(v, (uint32_t)(random % 5 ? random / 8 % ROWS : random / 8 % 7));

        for (size_t j = 0; j < WIDTH; j++)
            row[j] += 0.01f * (float)((random >> (j % 40)) % 16) - 0.07f * row[j];
    }
}

enum { LANE_TABLES = 2, LANE_ROUNDS = 5 };

/* What one rank makes of all lanes; a round of theirs in each table. */
static void merge_alone(struct table *t, unsigned first)
{
    struct view views[LANES];

    CHECK_OK(table_init(t, "alone", ROWS, WIDTH));
    fill(t);
    for (unsigned i = 0; i < LANES; i++)
        CHECK_OK(view_init_private(&views[i], t));
    for (unsigned round = first; round < first + LANE_ROUNDS; round++) {
        for (unsigned i = 0; i < LANES; i++)
            train_lane(&views[i], i, round);
        views_merge(views, LANES, kernel, NULL);
    }
    for (unsigned i = 0; i < LANES; i++)
        view_fini(&views[i]);
}

/* Both tables merge at once, and nothing is left for the next round. */
static void lanes_are_the_same(void)
{
    struct store_opts o = {.policy = SHOAL_SYNC, .due = 4, .sweep = {8, 8, 8, 8}, .lanes = true};
    struct table alone[LANE_TABLES], t[LANE_TABLES];
    struct view views[LANE_TABLES][LANES], *tables[LANE_TABLES];
    struct store *s;
    unsigned n = 0;

    for (unsigned k = 0; k < LANE_TABLES; k++) {
        merge_alone(&alone[k], k * LANE_ROUNDS);
        CHECK_OK(table_init(&t[k], "rows", ROWS, WIDTH));
        fill(&t[k]);
        tables[k] = views[k];
    }
    CHECK_OK(store_open(&s, c, t, LANE_TABLES, NULL, kernel, &o));
    for (unsigned lane = rank; lane < LANES; lane += size, n++)
        for (unsigned k = 0; k < LANE_TABLES; k++)
            CHECK_OK(view_init_private(&views[k][n], &t[k]));
    for (unsigned round = 0; round < LANE_ROUNDS; round++) {
        for (unsigned k = 0; k < LANE_TABLES; k++)
            for (unsigned i = 0; i < n; i++)
                train_lane(&views[k][i], i * size + rank, k * LANE_ROUNDS + round);
        CHECK_OK(store_merge_lanes(s, tables, n));
        for (unsigned i = 0; i < n; i++)
            CHECK(views[0][i].used == 0 && views[1][i].used == 0);
    }
    for (unsigned k = 0; k < LANE_TABLES; k++)
        CHECK(memcmp(t[k].at, alone[k].at, table_bytes(ROWS, WIDTH)) == 0);
    store_close(s);
    for (unsigned k = 0; k < LANE_TABLES; k++) {
        for (unsigned i = 0; i < n; i++)
            view_fini(&views[k][i]);
        table_fini(&t[k]);
        table_fini(&alone[k]);
    }
    end_case(c, "lanes of several ranks give the bits that one rank gives");
}

/* ---- the rest ---- */

/* Sequential, so one rank alone never meets anybody: nothing may change. */
static void one_rank_is_untouched(void)
{
    static const enum shoal_sync policies[] = {SHOAL_ASYNC, SHOAL_SYNC};
    struct comm *self = NULL;

    CHECK_OK(comm_open_self(&self));
    for (size_t p = 0; p < 2; p++) {
        struct store_opts o = {.policy = policies[p], .due = 2, .sweep = {4, 4, 4, 4}};
        struct table t, plain;
        struct store *s;

        CHECK_OK(table_init(&t, "rows", ROWS, WIDTH));
        CHECK_OK(table_init(&plain, "plain", ROWS, WIDTH));
        fill(&t);
        CHECK_OK(store_open(&s, self, &t, 1, NULL, kernel, &o));
        for (uint32_t k = 0; k < 2000; k++) {
            uint32_t row = (uint32_t)(random_at(5, k) % ROWS);

            t.at[row * t.stride + k % WIDTH] *= 1.37f;
            store_touches(s, 0)[row] = 9;
            memcpy(plain.at, t.at, table_bytes(ROWS, WIDTH));
            CHECK_OK(k % 16 == 0 ? store_round(s) : store_step(s));
            CHECK(memcmp(plain.at, t.at, table_bytes(ROWS, WIDTH)) == 0);
        }
        CHECK_OK(store_gather(s));
        CHECK(memcmp(plain.at, t.at, table_bytes(ROWS, WIDTH)) == 0);
        store_close(s);
        table_fini(&t);
        table_fini(&plain);
    }
    comm_close(self, true);
    end_case(c, "one rank alone trains as if there were no store");
}

/* ---- rows that are asked for, rows that hardly moved, the end ---- */

static bool is_settled(void *store)
{
    return store_push_settled(store);
}

/* Rank 0 changes all rows, and they travel; another that asks for one sees the change though it
 * never touched the row, and one that does not ask does not. */
static void what_is_asked_for_is_fresh(void)
{
    struct store_opts o = opts_of(SHOAL_ASYNC, 0);
    uint32_t asked[] = {5, 6, 7, 8, 9};
    size_t fresh = 0, stale = 0;
    struct table t;
    struct store *s;

    o.fresh[0] = 1;
    start(&t);
    CHECK_OK(store_open(&s, c, &t, 1, NULL, kernel, &o));
    for (size_t row = 0; rank == 0 && row < 20; row++) {
        t.at[row * t.stride] += 1000;
        store_touches(s, 0)[row] = UINT8_MAX;
    }
    for (unsigned i = 0; i < 4; i++)
        CHECK_OK(store_round(s));
    CHECK_OK(comm_until(c, is_settled, s));
    CHECK_OK(comm_barrier(c));
    CHECK_OK(store_expect(s, 0, asked, 5));
    CHECK_OK(comm_until(c, is_settled, s));
    CHECK_OK(comm_barrier(c));
    for (uint32_t row = 0; row < 20; row++) {
        bool changed = t.at[row * t.stride] >= 1000;

        fresh += row >= 5 && row < 10 && changed;
        stale += (row < 5 || row >= 10) && !changed && deal_owner(store_deal(s, 0), row) != rank;
    }
    CHECK(fresh == 5);
    CHECK(rank == 0 || stale > 0);
    CHECK_OK(store_gather(s));
    store_close(s);
    table_fini(&t);
    end_case(c, "a row that is asked for is fresh, one that is not asked for is not");
}

/* The same with a bound: who has waited for what it asked for reads it, however many rows that are. */
static void what_is_awaited_is_here(void)
{
    struct store_opts o = opts_of(SHOAL_BOUNDED, 4);
    uint32_t asked[ROWS];
    size_t fresh = 0;
    struct table t;
    struct store *s;

    o.fresh[0] = 1;
    start(&t);
    CHECK_OK(store_open(&s, c, &t, 1, NULL, kernel, &o));
    for (uint32_t row = 0; row < ROWS; row++) {
        asked[row] = row;
        if (deal_owner(store_deal(s, 0), row) == rank)
            t.at[row * t.stride] += 1000;
    }
    for (unsigned i = 0; i < 4; i++)
        CHECK_OK(store_round(s));
    CHECK_OK(comm_barrier(c));
    CHECK_OK(store_expect(s, 0, asked, ROWS));
    CHECK_OK(store_await(s));
    for (uint32_t row = 0; row < ROWS; row++)
        fresh += t.at[row * t.stride] >= 1000;
    CHECK(fresh == ROWS);
    CHECK_OK(store_gather(s));
    store_close(s);
    table_fini(&t);
    end_case(c, "with bounded staleness a row that is read was heard of");
}

/* A change below the least stays where it is until the meeting, where all travels. */
static void what_hardly_moved_stays(void)
{
    struct store_opts o = opts_of(SHOAL_ASYNC, 0);
    uint64_t merged;
    struct table t;
    struct store *s;

    o.wire = SHOAL_WIRE_INT8;
    start(&t);
    CHECK_OK(store_open(&s, c, &t, 1, NULL, kernel, &o));
    store_set_least(s, 1);
    for (size_t row = 0; row < ROWS; row++) {
        t.at[row * t.stride] += 0.5f;
        store_touches(s, 0)[row] = UINT8_MAX;
    }
    for (unsigned i = 0; i < 20; i++)
        CHECK_OK(store_round(s));
    CHECK(store_stats(s, &merged).rows_pushed == 0);
    CHECK_OK(store_gather(s));
    for (size_t row = 0; row < ROWS; row++)
        CHECK(t.at[row * t.stride] == (float)(row % 50) + 0.5f * (float)size);
    store_close(s);
    table_fini(&t);
    end_case(c, "a row that hardly moved stays until all meet");
}

/* Who does not go on needs no more than its own rows. */
static void rank_0_collects(enum shoal_sync policy, const char *name)
{
    struct store_opts o = opts_of(policy, 0);
    size_t wrong = 0;
    struct table t;
    struct store *s;

    start(&t);
    CHECK_OK(store_open(&s, c, &t, 1, NULL, kernel, &o));
    for (size_t row = 0; row < ROWS; row++) {
        t.at[row * t.stride] += (float)(rank + 1);
        store_touches(s, 0)[row] = 1;
    }
    CHECK_OK(store_collect(s));
    for (size_t row = 0; row < ROWS; row++)
        wrong += (rank == 0 || deal_owner(store_deal(s, 0), row) == rank) &&
                 t.at[row * t.stride] != (float)(row % 50) + (float)(size * (size + 1) / 2);
    CHECK(wrong == 0);
    store_close(s);
    table_fini(&t);
    end_case(c, name);
}

/* ---- several threads ---- */

enum { HOGS = 3, HOG_STEPS = 20000 };

struct hogs {
    struct store *store;
    struct view views[HOGS];
    uint64_t done[HOGS];
    pthread_mutex_t lock;
};

static void hog_change(struct hogs *h, unsigned index, uint32_t row)
{
    pthread_mutex_lock(&h->lock);
    view_row(&h->views[index], row)[0] += 1;
    pthread_mutex_unlock(&h->lock);
    sched_yield(); /* rows travel in between */
    if (row >= h->views[index].hot)
        view_count(&h->views[index], row);
    h->done[index]++;
}

/* Each operation is alone, so that Hogwild loses nothing; in between all others may come. What is
 * not there in the end was left behind and overwritten at the meeting. */
static shoal_status hog(void *ctx, unsigned index)
{
    struct hogs *h = ctx;
    shoal_status st = SHOAL_OK;

    for (uint64_t k = 0; k < HOG_STEPS && st == SHOAL_OK; k++) {
        hog_change(h, index, (uint32_t)(random_at(index + 50, k) % 40));
        if (k % 64 && (index || k % 16))
            continue;
        pthread_mutex_lock(&h->lock);
        if (k % 64 == 0)
            view_sync(&h->views[index], kernel);
        if (index == 0)
            st = k % 512 == 0 ? store_round(h->store) : store_step(h->store);
        pthread_mutex_unlock(&h->lock);
    }
    pthread_mutex_lock(&h->lock);
    view_sync(&h->views[index], kernel);
    pthread_mutex_unlock(&h->lock);
    return st;
}

static void threads_lose_nothing(void)
{
    struct store_opts o = opts_of(SHOAL_ASYNC, 0);
    struct hogs h = {.lock = PTHREAD_MUTEX_INITIALIZER};
    double sum = 0, want = 0;
    struct table t;

    o.hot = 8;
    o.due = 1;
    start(&t);
    CHECK_OK(store_open(&h.store, c, &t, 1, NULL, kernel, &o));
    for (unsigned i = 0; i < HOGS; i++) {
        CHECK_OK(view_init_shared(&h.views[i], &t, o.hot));
        h.views[i].touches = store_touches(h.store, 0);
        CHECK_OK(view_hear(&h.views[i], store_news(h.store, 0)));
    }
    CHECK_OK(pool_run(HOGS, hog, &h));
    CHECK_OK(store_gather(h.store));
    for (size_t row = 0; row < 40; row++)
        sum += (double)t.at[row * t.stride] - (double)(row % 50);
    for (unsigned i = 0; i < HOGS; i++)
        want += (double)h.done[i];
    CHECK_OK(comm_sum(c, &want, 1));
    CHECK(sum == want);
    for (unsigned i = 0; i < HOGS; i++)
        view_fini(&h.views[i]);
    store_close(h.store);
    table_fini(&t);
    end_case(c, "several threads: every change is there after a meeting");
}

static void shards_are_even(void)
{
    struct store_opts o = opts_of(SHOAL_ASYNC, 0);
    float traffic[ROWS];
    const float *const all[] = {traffic};
    double load[64] = {0}, sum = 0, most = 0;
    struct table t;
    struct store *s;

    for (size_t i = 0; i < ROWS; i++)
        traffic[i] = 1.0f / (float)(i + 3); /* Zipf's law, its head cut off */
    start(&t);
    CHECK_OK(store_open(&s, c, &t, 1, all, kernel, &o));
    for (size_t i = 0; i < ROWS; i++) {
        load[deal_owner(store_deal(s, 0), i)] += (double)traffic[i];
        sum += (double)traffic[i];
    }
    for (unsigned r = 0; r < size; r++)
        most = fmax(most, load[r]);
    CHECK(most * size / sum < 1.01);
    CHECK_OK(store_gather(s));
    store_close(s);
    table_fini(&t);
    end_case(c, "shards are balanced by traffic");
}

static void own_rows_stay(void)
{
    struct store_opts o = opts_of(SHOAL_ASYNC, 0);
    struct table t;
    struct store *s;
    size_t wrong = 0;

    start(&t);
    CHECK_OK(store_open(&s, c, &t, 1, NULL, kernel, &o));
    for (unsigned round = 0; round < 20; round++) {
        for (size_t i = 0; i < ROWS; i++)
            if (deal_owner(store_deal(s, 0), i) == rank) {
                t.at[i * t.stride] += 1;
                store_touches(s, 0)[i] = UINT8_MAX;
            }
        CHECK_OK(store_round(s));
    }
    CHECK_OK(store_gather(s));
    CHECK(s->stats.rows_pushed == 0);
    for (size_t i = 0; i < ROWS; i++)
        wrong += t.at[i * t.stride] != (float)(i % 50 + 20);
    CHECK(wrong == 0);
    store_close(s);
    table_fini(&t);
    end_case(c, "what an owner does to its rows travels only when all meet");
}

/* Marks what has left since all was touched last, touches all again, and counts what
 * has never left. */
static uint64_t touch_all(struct store *s, size_t t, size_t rows, bool *left)
{
    uint8_t *touches = store_touches(s, t);
    uint64_t missing = 0;

    for (size_t i = 0; i < rows; i++) {
        left[i] |= touches[i] == 0;
        missing += !left[i];
        touches[i] = UINT8_MAX;
    }
    return missing;
}

/* More rows are due, always, than owners may owe answers for. */
static void no_row_waits_forever(void)
{
    enum { MANY = 4000, WIDE = 500, MOST_STEPS = 2000 };
    struct store_opts o = {.policy = SHOAL_ASYNC, .due = 4, .sweep = {1000, 1000, 1000, 1000}};
    bool *left = calloc(MANY + 2, sizeof *left);
    uint64_t missing = 1;
    struct table tables[2];
    struct store *s;

    CHECK_OK(table_init(&tables[0], "many", MANY, WIDE));
    CHECK_OK(table_init(&tables[1], "few", 2, WIDE));
    CHECK_OK(store_open(&s, c, tables, 2, NULL, kernel, &o));
    touch_all(s, 0, MANY, left);
    touch_all(s, 1, 2, left + MANY);
    memset(left, 0, MANY + 2);
    for (unsigned step = 0; step < MOST_STEPS && missing > 0; step++) {
        CHECK_OK(store_step(s));
        missing = touch_all(s, 0, MANY, left) + touch_all(s, 1, 2, left + MANY);
        CHECK_OK(comm_sum_u64(c, &missing, 1));
    }
    CHECK(missing == 0);
    CHECK_OK(store_gather(s));
    store_close(s);
    table_fini(&tables[0]);
    table_fini(&tables[1]);
    free(left);
    end_case(c, "no row waits forever, however many are due before it");
}

/* A row that came last leaves with the first: none waits longer than messages may. */
static void messages_are_filled(void)
{
    struct store_opts o = {.policy = SHOAL_ASYNC, .due = 1, .sweep = {1000, 1000, 1000, 1000},
                           .fill = 4};
    unsigned to = (rank + 1) % size;
    uint64_t merged, n = 0;
    uint32_t row = 0;
    struct table t;
    struct store *s;

    start(&t);
    CHECK_OK(store_open(&s, c, &t, 1, NULL, kernel, &o));
    for (unsigned step = 0; step < 6 && size > 1; step++) {
        while (deal_owner(store_deal(s, 0), row) != to)
            row++;
        t.at[row * t.stride] += 1;
        store_touches(s, 0)[row++] = 1;
        CHECK_OK(store_step(s));
        CHECK(store_stats(s, &merged).rows_pushed == ++n);
        CHECK((s->peers[to].sent == 1) == (step == 5));
    }
    CHECK_OK(store_gather(s));
    store_close(s);
    table_fini(&t);
    end_case(c, "messages wait for more rows, and no longer than they may");
}

/* At first rows travel sooner; when the run has lasted for long enough, as seldom as they may. */
static void ages_grow_with_the_run(void)
{
    struct store_opts o = {.policy = SHOAL_ASYNC, .due = 200, .sweep = {8, 32, 1, 1},
                           .fresh = {8}, .early = 4};
    struct table tables[2];
    struct store *s;

    CHECK_OK(table_init(&tables[0], "rows", ROWS, WIDTH));
    CHECK_OK(table_init(&tables[1], "others", ROWS, WIDTH));
    CHECK_OK(store_open(&s, c, tables, 2, NULL, kernel, &o));
    for (unsigned round = 0; round <= 2 * STORE_EARLY * 8; round++) {
        double grown = (double)round / (STORE_EARLY * 8);
        double part = grown < 0.25 ? 0.25 : grown < 1 ? grown : 1;

        CHECK(s->due == (unsigned)(200 * part));
        CHECK(s->ages[0].fresh == (unsigned)(8 * part));
        CHECK(s->ages[0].sweep == (unsigned)(8 * part));
        CHECK(s->ages[1].sweep == (unsigned)(32 * part));
        CHECK(s->ages[1].fresh == 0);
        CHECK_OK(store_round(s));
    }
    CHECK_OK(store_gather(s));
    store_close(s);
    table_fini(&tables[0]);
    table_fini(&tables[1]);
    end_case(c, "rows travel sooner at first, and seldom when the run has lasted");
}

/* The sweep takes eight rounds. */
static void half_a_sweep_is_enough(void)
{
    struct store_opts o = opts_of(SHOAL_ASYNC, 0), averages = opts_of(SHOAL_AVERAGE, 2);
    struct table t;
    struct store *s;

    start(&t);
    CHECK_OK(store_open(&s, c, &t, 1, NULL, kernel, &o));
    for (unsigned meeting = 0; meeting < 2; meeting++) {
        for (unsigned round = 0; round < 4; round++) {
            CHECK(!store_swept(s));
            CHECK_OK(store_round(s));
        }
        CHECK(store_swept(s));
        CHECK_OK(store_gather(s));
    }
    store_close(s);
    CHECK_OK(store_open(&s, c, &t, 1, NULL, kernel, &averages));
    for (unsigned round = 0; round < 8; round++)
        CHECK_OK(store_round(s));
    CHECK(!store_swept(s)); /* nothing has travelled */
    CHECK_OK(store_gather(s));
    store_close(s);
    table_fini(&t);
    end_case(c, "after half a sweep nobody has to meet");
}

static void average_is_the_mean(void)
{
    struct store_opts o = opts_of(SHOAL_AVERAGE, 2);
    struct table t;
    struct store *s;

    start(&t);
    CHECK_OK(store_open(&s, c, &t, 1, NULL, kernel, &o));
    t.at[3] += (float)(2 * rank);
    CHECK_OK(store_round(s));
    CHECK(t.at[3] == 3 + (float)(2 * rank));
    CHECK_OK(store_round(s));
    CHECK(t.at[3] == 3 + (float)(size - 1));
    CHECK_OK(store_gather(s));
    store_close(s);
    table_fini(&t);
    end_case(c, "average: every second round all have the mean");
}

/* The table adds, so that what is folded is the sum. Rows that only another rank touched come too. */
static void apart_ranks_meet_after_their_rounds(void)
{
    struct store_opts o = opts_of(SHOAL_SYNC, 0);
    struct table t;
    struct store *s;

    o.apart = 2;
    start(&t);
    CHECK_OK(store_open(&s, c, &t, 1, NULL, kernel, &o));
    for (unsigned meeting = 0; meeting < 3; meeting++) {
        float was = t.at[3];

        t.at[3] += (float)(2 * rank);
        if (rank > 0)
            store_touches(s, 0)[0] = 1;
        CHECK_OK(store_round(s));
        CHECK(t.at[3] == was + (float)(2 * rank));
        CHECK_OK(store_round(s));
        CHECK(t.at[3] == was + (float)(size * (size - 1)));
        CHECK(!store_swept(s));
    }
    store_close(s);
    table_fini(&t);
    end_case(c, "apart: every second round all have what all did");
}

/* Ranks that all move a row the same way shall not move it as often as they are
 * ranks; rows moved at right angles keep all of it. */
static void projection_protects(void)
{
    struct store_opts o = {.policy = SHOAL_ASYNC, .due = 1, .sweep = {4, 4, 4, 4}};
    struct table t;
    struct store *s;

    CHECK_OK(table_init(&t, "rows", 2, WIDTH));
    CHECK_OK(store_open(&s, c, &t, 1, NULL, kernel, &o));
    t.at[0] += 1;
    t.at[t.stride + rank] += 1;
    memset(store_touches(s, 0), 1, 2);
    CHECK_OK(store_gather(s));
    CHECK(t.at[0] > 1 - 1e-5f && t.at[0] < 1 + 0.5f * (float)(size - 1) + 1e-5f);
    for (unsigned r = 0; r < size; r++)
        CHECK(fabsf(t.at[t.stride + r] - 1) < 1e-5f);
    store_close(s);
    table_fini(&t);
    end_case(c, "parallel changes overlap, orthogonal ones are added");
}

/* Of what ranks agree in a half is left out of each, of rows from the third on nothing. In async
 * nothing is left out either of what came before the owner had changed the row. */
static void rare_rows_keep_more(enum shoal_sync policy, const char *name)
{
    struct store_opts o = {.policy = policy, .due = 1, .sweep = {4, 4, 4, 4}, .share = 0.5f,
                           .rare = 2, .share_rare = 0};
    struct table t;
    struct store *s;

    CHECK_OK(table_init(&t, "rows", 4, WIDTH));
    CHECK_OK(store_open(&s, c, &t, 1, NULL, kernel, &o));
    for (size_t i = 0; i < 4; i++)
        t.at[i * t.stride] += 1;
    memset(store_touches(s, 0), 1, 4);
    CHECK_OK(store_gather(s));
    for (size_t i = 0; i < 2; i++)
        CHECK(t.at[i * t.stride] > 1 - 1e-5f &&
              t.at[i * t.stride] < (policy == SHOAL_SYNC ? 1 : (float)size) + 1e-5f);
    for (size_t i = 2; i < 4; i++)
        CHECK(fabsf(t.at[i * t.stride] - (float)size) < 1e-5f);
    store_close(s);
    table_fini(&t);
    end_case(c, name);
}

int main(void)
{
    if (comm_open(&c) != SHOAL_OK) {
        fprintf(stderr, "# %s\n", shoal_error());
        return 1;
    }
    fragile = c;
    rank = comm_rank(c);
    size = comm_size(c);
    CHECK_OK(kernel_choose(&kernel));
    sums_are_exact();
    blocks_are_exact();
    messages_are_as_few_as_a_round_takes();
    held_rows_have_their_turn();
    plans_hold();
    rounding_does_not_add_up();
    bound_holds(0);
    bound_holds(3);
    lanes_are_the_same();
    one_rank_is_untouched();
    shards_are_even();
    own_rows_stay();
    no_row_waits_forever();
    messages_are_filled();
    ages_grow_with_the_run();
    half_a_sweep_is_enough();
    what_is_asked_for_is_fresh();
    what_is_awaited_is_here();
    what_hardly_moved_stays();
    rank_0_collects(SHOAL_ASYNC, "at the end rank 0 has all rows, the others theirs");
    rank_0_collects(SHOAL_SYNC, "sync: at the end rank 0 has all rows, the others theirs");
    threads_lose_nothing();
    average_is_the_mean();
    apart_ranks_meet_after_their_rounds();
    projection_protects();
    rare_rows_keep_more(SHOAL_ASYNC, "rare rows keep more of what ranks agree in");
    rare_rows_keep_more(SHOAL_SYNC, "sync: rare rows keep more of what ranks agree in");
    if (rank == 0)
        printf("1..%u\n", cases);
    comm_close(c, true);
    return all_passed ? 0 : 1;
}
