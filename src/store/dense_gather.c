/* Where all ranks meet: at a mean, and when a slice of work is over; and what is saved
 * then. */
#include "store/piece.h"

#include <stdlib.h>

/* ---- means ---- */

static shoal_status mean_over_ranks(struct dense *d, float *x, size_t n)
{
    shoal_status st = comm_sum_floats(d->comm, x, n);
    unsigned mode = floats_flush();

    d->kernel->scale(x, 1 / (float)d->policy.ranks, n);
    floats_set(mode);
    return st;
}

static unsigned blocks_of(const struct dense *d, float *blocks[1 + DENSE_STATES])
{
    unsigned n = 0;

    blocks[n++] = d->params;
    for (unsigned i = 0; i < DENSE_STATES; i++)
        if (d->state[i])
            blocks[n++] = d->state[i];
    return n;
}

/* Of little, messages and their latency are what a mean costs: all goes in one. */
static shoal_status mean_packed(struct dense *d, float *const *blocks, unsigned count)
{
    shoal_status st;

    for (unsigned i = 0; i < count; i++)
        memcpy(d->packed + i * d->n, blocks[i], d->n * sizeof(float));
    st = mean_over_ranks(d, d->packed, count * d->n);
    for (unsigned i = 0; i < count; i++)
        memcpy(blocks[i], d->packed + i * d->n, d->n * sizeof(float));
    return st;
}

shoal_status dense_average(struct dense *d)
{
    float *blocks[1 + DENSE_STATES];
    unsigned count = blocks_of(d, blocks);
    shoal_status st = SHOAL_OK;

    if (d->policy.met == d->policy.clock) /* the mean of equal ones may differ in the last bit */
        return SHOAL_OK;
    d->policy.met = d->policy.clock;
    if (d->packed)
        return mean_packed(d, blocks, count);
    for (unsigned i = 0; i < count && st == SHOAL_OK; i++)
        st = mean_over_ranks(d, blocks[i], d->n);
    return st;
}

/* ---- meeting ---- */

static bool all_answered(void *ctx)
{
    const struct dense *d = ctx;

    for (size_t i = 0; i < d->npieces; i++)
        if (d->pieces[i].out > 0)
            return false;
    return true;
}

/* What others own is taken from them: 0 and their sum is theirs. */
static shoal_status collect(struct dense *d, float *x)
{
    for (size_t i = 0; i < d->npieces; i++)
        if (!owns(d, &d->pieces[i]))
            memset(x + d->pieces[i].from, 0, d->pieces[i].len * sizeof *x);
    return comm_sum_floats(d->comm, x, d->n);
}

static shoal_status agree_steps(struct dense *d)
{
    double most = (double)d->steps;
    shoal_status st;

    for (size_t i = 0; i < d->npieces; i++)
        most = (double)d->pieces[i].steps > most ? (double)d->pieces[i].steps : most;
    st = comm_max(d->comm, &most, 1);
    d->steps = (uint64_t)most;
    return st;
}

shoal_status dense_gather(struct dense *d)
{
    shoal_status st = SHOAL_OK;

    if (!d->comm)
        return SHOAL_OK;
    if (!d->shares)
        return dense_average(d);
    for (size_t i = 0; i < d->npieces && st == SHOAL_OK; i++)
        st = piece_push_backlog(d, &d->pieces[i]);
    if (st == SHOAL_OK)
        st = comm_until(d->comm, all_answered, d);
    if (st == SHOAL_OK)
        st = policy_barrier(&d->policy);
    if (st != SHOAL_OK)
        return st;
    for (size_t i = 0; i < d->npieces; i++)
        if (owns(d, &d->pieces[i]))
            piece_flush(d, &d->pieces[i]);
    /* Under SHOAL_SYNC workers have the same parameters already, bit for bit. */
    if (d->opts.policy != SHOAL_SYNC || d->opts.servers > 0) {
        st = collect(d, d->params);
        for (size_t i = 0; i < d->npieces; i++)
            d->pieces[i].version = d->pieces[i].gradients = 0;
    }
    /* Nobody may push while others still collect: all wait here. */
    return st == SHOAL_OK ? agree_steps(d) : st;
}

/* ---- what is saved ---- */

size_t dense_tables(const struct dense *d, struct table out[1 + DENSE_STATES])
{
    static const char *const names[] = {"params", "state.0", "state.1"};
    float *blocks[1 + DENSE_STATES];
    unsigned n = blocks_of(d, blocks);

    for (unsigned i = 0; i < n; i++)
        out[i] = (struct table){.name = names[i], .rows = d->n / d->width, .width = d->width,
                                .stride = d->width, .at = blocks[i]};
    return n;
}

const struct deal *dense_deal(const struct dense *d)
{
    return &d->deal;
}

bool dense_shares(const struct dense *d)
{
    return d->shares;
}

uint64_t dense_steps(const struct dense *d)
{
    return d->steps;
}

void dense_set_steps(struct dense *d, uint64_t steps)
{
    d->steps = steps;
    for (size_t i = 0; i < d->npieces; i++)
        d->pieces[i].steps = steps;
}
