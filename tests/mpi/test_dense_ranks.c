/* A dense block that ranks train together: run.sh starts this program several times
 * over. Rank 0 prints TAP. */
#include "store/piece.h"

#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LENGTH = 16 * 2500, STEPS = 24 }; /* floats: some pieces for each of four owners */

static struct comm *c;
static const struct kernel *kernel;
static const struct dense_range whole[] = {{0, LENGTH, DENSE_STEP}};

static float *block(void)
{
    float *at = mem_map(LENGTH * sizeof *at);

    CHECK(at != NULL);
    return at;
}

static void unblock(float *at)
{
    mem_unmap(at, LENGTH * sizeof *at);
}

/* Whole numbers, so that sums are exact in any order. */
static float gradient(unsigned worker, unsigned step, size_t i)
{
    return (float)(rng_at(worker, step, i) % 17) - 8;
}

static void fill(float *grads, unsigned worker, unsigned step)
{
    for (size_t i = 0; i < LENGTH; i++)
        grads[i] = gradient(worker, step, i);
}

/* In ranges of odd places, from the end as a backward pass gives them. */
static void step(struct dense *d, float *grads, unsigned number, float lr)
{
    static const size_t cuts[] = {0, 16, 4080, 9 * 1600, 30000, LENGTH};

    fill(grads, d->policy.rank, number);
    dense_begin(d, grads, lr, false);
    for (size_t i = 5; i > 0; i--)
        CHECK_OK(dense_ready(d, cuts[i - 1], cuts[i]));
    CHECK_OK(dense_finish(d));
}

static void train(struct dense *d, float *grads, unsigned from, unsigned to, float lr)
{
    for (unsigned s = from; s < to && policy_works(&d->policy); s++) {
        if (rng_at(rank, s, 1) % 5 == 0)
            usleep((unsigned)(rng_at(rank, s, 2) % 2000));
        step(d, grads, s, lr);
    }
    CHECK_OK(dense_gather(d));
}

/* Every gradient of every worker once, times -lr / quorum. */
static size_t count_wrong(const float *params, unsigned workers, unsigned steps, double by)
{
    size_t wrong = 0;

    for (size_t i = 0; i < LENGTH; i += 7) {
        double want = 0;

        for (unsigned w = 0; w < workers; w++)
            for (unsigned s = 0; s < steps; s++)
                want -= by * (double)gradient(w, s, i);
        wrong += (double)params[i] != want;
    }
    return wrong;
}

/* Whether the block has the same bits on every rank. */
static void check_same(const float *params)
{
    uint64_t hash = 0, sum;

    for (size_t i = 0; i < LENGTH; i++) {
        uint32_t bits;

        memcpy(&bits, &params[i], sizeof bits);
        hash = rng_mix(hash ^ bits);
    }
    hash >>= 16;
    sum = hash;
    CHECK_OK(comm_sum_u64(c, &sum, 1));
    CHECK(sum == hash * size);
}

static void applied_once(enum shoal_sync policy, unsigned staleness, unsigned servers,
                         unsigned quorum, const char *name)
{
    struct dense_opts o = {.policy = policy, .staleness = staleness, .servers = servers,
                           .quorum = quorum};
    float *params = block(), *grads = block();
    struct dense *d;
    unsigned workers, of;

    CHECK_OK(dense_open(&d, c, params, LENGTH, whole, 1, kernel, &o));
    workers = d->policy.workers;
    of = policy == SHOAL_SYNC ? 1 : quorum && quorum < workers ? quorum : workers;
    train(d, grads, 0, STEPS / 2, (float)of);
    check_same(params);
    train(d, grads, STEPS / 2, STEPS, (float)of);
    check_same(params);
    CHECK(count_wrong(params, workers, STEPS, 1) == 0);
    if (policy == SHOAL_BOUNDED)
        CHECK(d->policy.lead <= staleness);
    dense_close(d);
    unblock(params);
    unblock(grads);
    end_case(c, name);
}

/* One rank that is given the sum of all gradients gets the same parameters. */
static void sync_is_one_rank(enum optim_kind kind, unsigned servers, const char *name)
{
    struct dense_opts o = {.policy = SHOAL_SYNC, .servers = servers,
                           .optim = {.kind = kind, .momentum = 0.9f, .beta1 = 0.9f, .beta2 = 0.99f,
                                     .epsilon = 1e-3f, .decay = 0.01f}};
    float *params = block(), *alone = block(), *grads = block(), *sum = block();
    struct dense *d, *one;
    size_t wrong = 0;

    CHECK_OK(dense_open(&d, c, params, LENGTH, whole, 1, kernel, &o));
    o.servers = 0;
    CHECK_OK(dense_open(&one, NULL, alone, LENGTH, whole, 1, kernel, &o));
    train(d, grads, 0, STEPS, 0.01f);
    for (unsigned s = 0; s < STEPS; s++) {
        memset(sum, 0, LENGTH * sizeof *sum);
        for (unsigned w = 0; w < d->policy.workers; w++) {
            fill(grads, w, s);
            kernel->axpy(sum, 1, grads, LENGTH);
        }
        dense_begin(one, sum, 0.01f, false);
        CHECK_OK(dense_finish(one));
    }
    for (size_t i = 0; i < LENGTH; i++)
        wrong += fabsf(params[i] - alone[i]) > 0;
    CHECK(wrong == 0);
    check_same(params);
    dense_close(d);
    dense_close(one);
    unblock(params);
    unblock(alone);
    unblock(grads);
    unblock(sum);
    end_case(c, name);
}

/* As a writer of checkpoints does that knows only tables, owners and places: each row by
 * its owner, here into a block that all ranks get. */
static size_t save_rows(struct dense *d, float *const blocks[1 + DENSE_STATES])
{
    const struct deal *deal = dense_deal(d);
    bool shares = dense_shares(d);
    struct table t[1 + DENSE_STATES];
    size_t n = dense_tables(d, t);

    for (size_t k = 0; k < n; k++) {
        size_t bytes = t[k].stride * sizeof(float);

        CHECK(t[k].rows * t[k].width == LENGTH && t[k].width == t[k].stride);
        memset(blocks[k], 0, LENGTH * sizeof(float));
        for (size_t row = 0; row < t[k].rows; row++)
            if (deal_owner(deal, row) == rank)
                memcpy(blocks[k] + row * t[k].width,
                       t[k].at + (k > 0 && shares ? deal_place(deal, row) : row) * t[k].stride,
                       bytes);
        CHECK_OK(comm_sum_floats(c, blocks[k], LENGTH));
    }
    return n;
}

/* All parameters, and of the state what this rank has a place for. */
static void load_rows(struct dense *d, float *const blocks[1 + DENSE_STATES])
{
    const struct deal *deal = dense_deal(d);
    bool shares = dense_shares(d);
    struct table t[1 + DENSE_STATES];
    size_t n = dense_tables(d, t);

    for (size_t k = 0; k < n; k++)
        for (size_t row = 0; row < t[k].rows; row++)
            if (k == 0 || !shares || deal_owner(deal, row) == rank)
                memcpy(t[k].at + (k > 0 && shares ? deal_place(deal, row) : row) * t[k].stride,
                       blocks[k] + row * t[k].width, t[k].stride * sizeof(float));
    CHECK_OK(comm_barrier(c));
}

static struct dense_opts adam_opts(enum shoal_sync policy)
{
    return (struct dense_opts){.policy = policy, .staleness = 3,
                               .optim = {.kind = OPTIM_ADAM, .beta1 = 0.9f, .beta2 = 0.99f,
                                         .epsilon = 1e-3f}};
}

/* Saved halfway and loaded into a new block, it goes on as if nothing had been. */
static void state_survives(enum shoal_sync policy, const char *name)
{
    struct dense_opts o = adam_opts(policy);
    float *a = block(), *b = block(), *grads = block();
    float *saved[] = {block(), block(), block()};
    struct dense *d;

    CHECK_OK(dense_open(&d, c, a, LENGTH, whole, 1, kernel, &o));
    train(d, grads, 0, STEPS / 2, 0.01f);
    CHECK(dense_steps(d) == STEPS / 2);
    CHECK(save_rows(d, saved) == 3);
    CHECK(memcmp(saved[0], a, LENGTH * sizeof *a) == 0);
    train(d, grads, STEPS / 2, STEPS, 0.01f);
    dense_close(d);
    CHECK_OK(dense_open(&d, c, b, LENGTH, whole, 1, kernel, &o));
    load_rows(d, saved);
    dense_set_steps(d, STEPS / 2);
    train(d, grads, STEPS / 2, STEPS, 0.01f);
    CHECK(memcmp(a, b, LENGTH * sizeof *a) == 0);
    dense_close(d);
    unblock(a);
    unblock(b);
    unblock(grads);
    for (size_t k = 0; k < 3; k++)
        unblock(saved[k]);
    end_case(c, name);
}

/* From all ranks to some of them, and to one alone. */
static void rows_fit_other_owners(void)
{
    struct dense_opts o = adam_opts(SHOAL_ASYNC);
    float *a = block(), *b = block(), *grads = block();
    float *saved[] = {block(), block(), block()}, *again[] = {block(), block(), block()};
    struct table t[1 + DENSE_STATES];
    struct dense *d;

    CHECK_OK(dense_open(&d, c, a, LENGTH, whole, 1, kernel, &o));
    train(d, grads, 0, STEPS, 0.01f);
    CHECK(save_rows(d, saved) == 3);
    CHECK_OK(comm_barrier(c));
    dense_close(d);
    o.servers = size / 2;
    CHECK_OK(dense_open(&d, c, b, LENGTH, whole, 1, kernel, &o));
    load_rows(d, saved);
    CHECK(save_rows(d, again) == 3);
    for (size_t k = 0; k < 3; k++)
        CHECK(memcmp(saved[k], again[k], LENGTH * sizeof(float)) == 0);
    dense_close(d);
    o.servers = 0;
    CHECK_OK(dense_open(&d, NULL, b, LENGTH, whole, 1, kernel, &o));
    load_rows(d, saved);
    CHECK(dense_tables(d, t) == 3 && !dense_shares(d));
    for (size_t k = 0; k < 3; k++)
        CHECK(memcmp(t[k].at, saved[k], LENGTH * sizeof(float)) == 0);
    dense_close(d);
    unblock(a);
    unblock(b);
    unblock(grads);
    for (size_t k = 0; k < 3; k++) {
        unblock(saved[k]);
        unblock(again[k]);
    }
    end_case(c, "what owners save row by row fits any number of owners");
}

enum { FAST = 500, SLOW = 40, SHORT = 16 * 1024 };

/* Steps without a meeting, each 64 floats alike. */
static void hurry(struct dense *d, float *grads, unsigned from, unsigned to)
{
    for (unsigned s = from; s < to; s++) {
        for (size_t i = 0; i < 64; i++)
            grads[i] = gradient(d->policy.rank, s, i);
        for (size_t i = 64; i < SHORT; i += 64)
            memcpy(grads + i, grads, 64 * sizeof *grads);
        dense_begin(d, grads, 1, false);
        CHECK_OK(dense_ready(d, 0, SHORT));
        CHECK_OK(dense_finish(d));
    }
}

/* A file says that a rank is through, so that one that answers nobody can see it. */
static void through_path(char path[64], unsigned who, int job)
{
    snprintf(path, 64, "/tmp/shoal-dense-%d-%u", job, who);
}

static void stand_still(unsigned others, int job)
{
    for (unsigned w = 0; w < others; w++) {
        char path[64];

        through_path(path, w, job);
        while (access(path, F_OK) != 0)
            usleep(1000);
        unlink(path);
    }
}

static void say_through(unsigned who, int job)
{
    char path[64];
    FILE *f;

    through_path(path, who, job);
    f = fopen(path, "w");
    CHECK(f && fclose(f) == 0);
}

/* One worker stands still within its run, and answers nobody, until all others have made all
 * their steps: were they to wait for it, this would never end. Nothing is lost. */
static void nobody_waits_for_a_slow_rank(unsigned servers, const char *name)
{
    const struct dense_range range = {0, SHORT, DENSE_STEP};
    struct dense_opts o = {.policy = SHOAL_ASYNC, .servers = servers, .quorum = 1};
    float *params = block(), *grads = block();
    int job = (int)getpid();
    struct dense *d;
    unsigned slow;

    CHECK_OK(comm_broadcast(c, 0, &job, sizeof job));
    CHECK_OK(dense_open(&d, c, params, SHORT, &range, 1, kernel, &o));
    slow = d->policy.workers - 1;
    if (policy_works(&d->policy) && rank == slow) {
        hurry(d, grads, 0, SLOW / 2);
        stand_still(slow, job);
        hurry(d, grads, SLOW / 2, SLOW);
    } else if (policy_works(&d->policy)) {
        hurry(d, grads, 0, FAST);
        say_through(rank, job);
    }
    CHECK_OK(dense_gather(d));
    for (size_t i = 0; i < SHORT; i += 97) {
        double want = 0;

        for (unsigned w = 0; w <= slow; w++)
            for (unsigned s = 0; s < (w == slow ? SLOW : FAST); s++)
                want -= (double)gradient(w, s, i % 64);
        CHECK((double)params[i] == want);
    }
    dense_close(d);
    unblock(params);
    unblock(grads);
    end_case(c, name);
}

static void average_is_the_mean(void)
{
    struct dense_opts o = {.policy = SHOAL_AVERAGE, .staleness = 4};
    float *params = block(), *grads = block();
    struct dense *d;

    CHECK_OK(dense_open(&d, c, params, LENGTH, whole, 1, kernel, &o));
    train(d, grads, 0, STEPS, (float)size);
    check_same(params);
    CHECK(count_wrong(params, size, STEPS, 1) == 0);
    dense_close(d);
    unblock(params);
    unblock(grads);
    end_case(c, "average: the mean of all ranks, each gradient once");
}

static bool same_everywhere(const float *params)
{
    double low = -(double)params[0], high = (double)params[0];

    CHECK_OK(comm_max(c, &low, 1));
    CHECK_OK(comm_max(c, &high, 1));
    return -low == high;
}

/* Gradients that differ, so that ranks are apart but right after a mean. */
static void a_meeting_counts_as_a_mean(void)
{
    struct dense_opts o = {.policy = SHOAL_AVERAGE, .staleness = 4};
    float *params = block(), *grads = block();
    struct dense *d;

    CHECK_OK(dense_open(&d, c, params, LENGTH, whole, 1, kernel, &o));
    for (unsigned s = 1; s <= 10; s++) {
        grads[0] = (float)(rank + 1);
        dense_begin(d, grads, 1, false);
        CHECK_OK(dense_ready(d, 0, LENGTH));
        CHECK_OK(dense_finish(d));
        CHECK(same_everywhere(params) == (size == 1 || s == 4 || s == 10));
        if (s == 6)
            CHECK_OK(dense_gather(d));
    }
    CHECK_OK(dense_gather(d));
    dense_close(d);
    unblock(params);
    unblock(grads);
    end_case(c, "average:4: a mean comes 4 steps after the last, be that a meeting's");
}

/* Adam on n floats, with the gradients that the first have in any block. */
static void average_adam(float *params, float *grads, size_t n)
{
    const struct dense_range range = {0, n, DENSE_STEP};
    struct dense_opts o = {.policy = SHOAL_AVERAGE, .staleness = 2,
                           .optim = {.kind = OPTIM_ADAM, .beta1 = 0.9f, .beta2 = 0.99f,
                                     .epsilon = 1e-8f}};
    struct dense *d;

    CHECK_OK(dense_open(&d, c, params, n, &range, 1, kernel, &o));
    for (unsigned s = 0; s < 7; s++) {
        for (size_t i = 0; i < n; i++)
            grads[i] = gradient(rank, s, i);
        dense_begin(d, grads, 0.01f, false);
        CHECK_OK(dense_ready(d, 0, n));
        CHECK_OK(dense_finish(d));
    }
    CHECK_OK(dense_gather(d));
    dense_close(d);
}

/* The small one and its state are averaged in one go, the large one by its blocks. */
static void a_mean_has_the_same_bits_in_a_larger_block(void)
{
    enum { LARGER = 16 * 6000 };
    float *small = block(), *large = mem_map(LARGER * sizeof *large);
    float *grads = mem_map(LARGER * sizeof *grads);

    CHECK(large && grads);
    average_adam(small, grads, LENGTH);
    average_adam(large, grads, LARGER);
    CHECK(memcmp(small, large, LENGTH * sizeof *small) == 0);
    unblock(small);
    mem_unmap(large, LARGER * sizeof *large);
    mem_unmap(grads, LARGER * sizeof *grads);
    end_case(c, "average: a mean has the same bits in a larger block");
}

/* Values that are kept become the mean over the workers. */
static void kept_values_are_means(enum shoal_sync policy, const char *name)
{
    const struct dense_range ranges[] = {{0, 8000, DENSE_STEP}, {8000, 8016, DENSE_KEEP},
                                         {8016, LENGTH, DENSE_BARE}};
    struct dense_opts o = {.policy = policy};
    float *params = block(), *grads = block();
    struct dense *d;

    CHECK_OK(dense_open(&d, c, params, LENGTH, ranges, 3, kernel, &o));
    for (size_t i = 0; i < LENGTH; i++)
        grads[i] = (float)(rank + 1);
    dense_begin(d, grads, 1, false);
    CHECK_OK(dense_ready(d, 0, LENGTH));
    CHECK_OK(dense_finish(d));
    CHECK_OK(dense_gather(d));
    CHECK(params[8003] == (float)(size + 1) / 2);
    CHECK(params[7999] < 0 && params[8016] == params[7999]);
    dense_close(d);
    unblock(params);
    unblock(grads);
    end_case(c, name);
}

/* Without gradients the decay alone moves the parameters, which begin at 1. The first `idle`
 * workers never have a sample. However many steps the gradients of a batch come in, they decay the
 * parameters as one step of the whole batch does: by lr decay in all. That is little, so that it is
 * the same whether gradients come one by one or summed. */
static void a_batch_decays_once(unsigned idle, unsigned quorum, const char *name)
{
    unsigned busy = size > idle ? size - idle : 1;
    struct dense_opts o = {.policy = SHOAL_ASYNC, .quorum = quorum, .gradients = busy,
                           .optim = {.kind = OPTIM_ADAM, .beta1 = 0.9f, .beta2 = 0.99f,
                                     .epsilon = 1e-3f, .decay = 0.5f}};
    float *params = block(), *grads = block();
    const float lr = 1e-4f;
    double want = 1 - (double)lr * 0.5 * STEPS;
    struct dense *d;

    for (size_t i = 0; i < LENGTH; i++)
        params[i] = 1;
    CHECK_OK(dense_open(&d, c, params, LENGTH, whole, 1, kernel, &o));
    for (unsigned s = 0; s < STEPS; s++) {
        if (rank < idle && size > idle) {
            CHECK_OK(dense_skip(d));
            continue;
        }
        dense_begin(d, grads, lr, false);
        CHECK_OK(dense_ready(d, 0, LENGTH));
        CHECK_OK(dense_finish(d));
    }
    CHECK_OK(dense_gather(d));
    check_same(params);
    CHECK(fabs((double)params[0] - want) < 1e-5 && fabs((double)params[LENGTH - 1] - want) < 1e-5);
    dense_close(d);
    unblock(params);
    unblock(grads);
    end_case(c, name);
}

static void nonsense_is_refused(void)
{
    struct dense_opts o = {.policy = SHOAL_ASYNC, .servers = size};
    float *params = block();
    struct dense *d = NULL;

    CHECK(dense_open(&d, c, params, LENGTH, whole, 1, kernel, &o) == SHOAL_EINVAL);
    CHECK(d == NULL);
    o = (struct dense_opts){.policy = SHOAL_BOUNDED};
    CHECK(dense_open(&d, c, params, LENGTH, whole, 1, kernel, &o) == SHOAL_EINVAL);
    unblock(params);
    end_case(c, "servers alone and a bound of 0 are refused");
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
    applied_once(SHOAL_SYNC, 0, 0, 0, "sync: every gradient is applied once");
    applied_once(SHOAL_ASYNC, 0, 0, 1, "async: every gradient is applied once, each as it comes");
    applied_once(SHOAL_ASYNC, 0, 0, 0, "async: every gradient is applied once, in means");
    applied_once(SHOAL_ASYNC, 0, size / 2, 2, "async: the same with servers");
    applied_once(SHOAL_BOUNDED, 1, 0, 0, "bounded:1: applied once, and the bound holds");
    applied_once(SHOAL_BOUNDED, 5, size / 4, 1, "bounded:5: the same with servers");
    sync_is_one_rank(OPTIM_SGD, 0, "sync with sgd is one rank with the sum, bit for bit");
    sync_is_one_rank(OPTIM_MOMENTUM, size / 2, "the same with momentum and servers");
    sync_is_one_rank(OPTIM_ADAM, 0, "the same with Adam");
    state_survives(SHOAL_SYNC, "sync goes on from its saved state bit for bit");
    state_survives(SHOAL_AVERAGE, "average goes on from its saved state bit for bit");
    rows_fit_other_owners();
    nobody_waits_for_a_slow_rank(0, "async: nobody waits for a slow rank, and nothing is lost");
    if (size > 1)
        nobody_waits_for_a_slow_rank(1, "the same with a server");
    average_is_the_mean();
    a_meeting_counts_as_a_mean();
    a_mean_has_the_same_bits_in_a_larger_block();
    kept_values_are_means(SHOAL_SYNC, "sync: kept values become means");
    kept_values_are_means(SHOAL_ASYNC, "async: kept values become means");
    a_batch_decays_once(0, 1, "async: a batch decays the parameters once, in whatever steps");
    a_batch_decays_once(1, 1, "async: a worker without samples gives no gradient");
    nonsense_is_refused();
    if (rank == 0)
        printf("1..%u\n", cases);
    comm_close(c, true);
    return all_passed ? 0 : 1;
}
