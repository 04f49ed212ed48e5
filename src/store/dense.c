/* A dense block: opening it, and its steps as a worker sees them. */
#include "store/piece.h"

#include <stdlib.h>

enum {
    PACKED_MOST = 1 << 18, /* floats: of more the line is what a mean costs, not its latency */
};

/* How long a step waits at most for owners that do not answer, times the square of the ranks on a
 * core. Where ranks share a core, an owner that has not answered had no time slice yet; gradients
 * that would be summed up for it meanwhile are stale before they leave. */
#define WAIT_SECONDS 1e-3

/* ---- pieces ---- */

/* The widest that fills the block, whoever owns it: a checkpoint's rows are the same for
 * any number of ranks. */
static size_t row_width(size_t n)
{
    size_t width = DENSE_PIECE_LEAST;

    if (n % 16 != 0)
        return n;
    while (n % width != 0)
        width -= 16;
    return width;
}

/* Some for each owner, so that the first travel while the last are computed. */
static size_t piece_len(size_t n, size_t width, unsigned owners)
{
    size_t len = n / (4 * (size_t)owners);

    len = len < DENSE_PIECE_LEAST ? DENSE_PIECE_LEAST : len > DENSE_PIECE ? DENSE_PIECE : len;
    return len < width ? width : len / width * width;
}

/* Rows follow their pieces. */
static void piece_deal(struct dense *d, struct piece *p, size_t *owned, uint16_t *owner)
{
    p->home = owned[p->owner];
    owned[p->owner] += p->len;
    for (size_t at = 0; at < p->len; at += d->width)
        owner[(p->from + at) / d->width] = (uint16_t)p->owner;
}

static shoal_status make_pieces(struct dense *d)
{
    unsigned first = d->policy.owner, owners = d->policy.ranks - first;
    size_t *owned = mem_array(d->policy.ranks, sizeof *owned);
    uint16_t *owner;
    shoal_status st = SHOAL_ENOMEM;

    d->width = row_width(d->n);
    d->piece_len = piece_len(d->n, d->width, owners);
    d->npieces = (d->n + d->piece_len - 1) / d->piece_len;
    d->pieces = mem_array(d->npieces, sizeof *d->pieces);
    owner = mem_array(d->n / d->width, sizeof *owner);
    for (size_t i = 0; owned && d->pieces && owner && i < d->npieces; i++) {
        struct piece *p = &d->pieces[i];

        p->from = i * d->piece_len;
        p->len = d->n - p->from < d->piece_len ? d->n - p->from : d->piece_len;
        p->owner = first + (unsigned)(i % owners);
        piece_deal(d, p, owned, owner);
    }
    if (owned && d->pieces && owner) {
        d->held = d->shares ? owned[d->policy.rank] : d->n;
        st = deal_init_as(&d->deal, d->n / d->width, first, owners, owner);
    }
    free(owned);
    free(owner);
    return st;
}

static size_t packed_floats(size_t n, unsigned ranks, const struct dense_opts *o)
{
    size_t floats = n * (1 + optim_states(&o->optim));

    return ranks > 1 && o->policy == SHOAL_AVERAGE && floats <= PACKED_MOST ? floats : 0;
}

static shoal_status make_blocks(struct dense *d)
{
    size_t bytes = d->held * sizeof(float), packed = packed_floats(d->n, d->policy.ranks, &d->opts);

    for (unsigned i = 0; i < optim_states(&d->opts.optim); i++) {
        d->state[i] = mem_map(bytes);
        if (!d->state[i])
            return SHOAL_ENOMEM;
    }
    d->packed = packed ? mem_array(packed, sizeof(float)) : NULL;
    if (packed && !d->packed)
        return SHOAL_ENOMEM;
    d->sum = d->shares ? mem_map(bytes) : NULL;
    return d->sum || !d->shares ? SHOAL_OK : SHOAL_ENOMEM;
}

/* ---- opening ---- */

static shoal_status make(struct dense *d, const struct dense_range *ranges, size_t nranges)
{
    const struct dense_opts *o = &d->opts;
    shoal_status st = policy_init(&d->policy, &d->outbox, o->policy, o->staleness, o->servers);

    if (st == SHOAL_OK && o->policy == SHOAL_BOUNDED && o->staleness == 0)
        st = shoal_fail(SHOAL_EINVAL, "store: staleness is 0, want 1 or more steps");
    if (st != SHOAL_OK)
        return st;
    d->quorum = o->quorum && o->quorum < d->policy.workers ? o->quorum : d->policy.workers;
    d->opts.gradients = o->gradients ? o->gradients : d->policy.workers;
    d->shares = d->policy.ranks > 1 && o->policy != SHOAL_AVERAGE;
    d->ranges = mem_array(nranges, sizeof *d->ranges);
    if (!d->ranges)
        return SHOAL_ENOMEM;
    memcpy(d->ranges, ranges, nranges * sizeof *ranges);
    d->nranges = nranges;
    st = make_pieces(d);
    return st == SHOAL_OK ? make_blocks(d) : st;
}

static shoal_status listen(struct dense *d)
{
    comm_on(d->comm, TAG_GRADIENT, piece_gradient_handle, d);
    comm_on(d->comm, TAG_PIECE, piece_handle, d);
    policy_listen(&d->policy);
    return comm_barrier(d->comm);
}

shoal_status dense_open(struct dense **out, struct comm *comm, float *params, size_t n,
                        const struct dense_range *ranges, size_t nranges,
                        const struct kernel *kernel, const struct dense_opts *opts)
{
    struct dense *d = mem_array(1, sizeof *d);
    bool alone = !comm || comm_size(comm) == 1;
    shoal_status st = SHOAL_ENOMEM;

    *out = NULL;
    if (d) {
        *d = (struct dense){.comm = alone ? NULL : comm,
                            .kernel = kernel,
                            .opts = *opts,
                            .params = params,
                            .n = n,
                            .outbox = {.comm = alone ? NULL : comm}};
        st = make(d, ranges, nranges);
    }
    if (!alone)
        st = comm_agree(comm, st);
    if (st == SHOAL_OK && d->comm)
        st = listen(d);
    if (st != SHOAL_OK) {
        dense_close(d);
        return st;
    }
    *out = d;
    return SHOAL_OK;
}

static void pieces_free(struct dense *d)
{
    for (size_t i = 0; d->pieces && i < d->npieces; i++)
        deferred_fini(&d->pieces[i].early);
    free(d->pieces);
}

void dense_close(struct dense *d)
{
    if (!d)
        return;
    if (d->comm) {
        comm_on(d->comm, TAG_GRADIENT, NULL, NULL);
        comm_on(d->comm, TAG_PIECE, NULL, NULL);
    }
    policy_fini(&d->policy);
    outbox_fini(&d->outbox);
    pieces_free(d);
    for (unsigned i = 0; i < DENSE_STATES; i++)
        mem_unmap(d->state[i], d->held * sizeof(float));
    mem_unmap(d->sum, d->held * sizeof(float));
    mem_unmap(d->backlog, d->n * sizeof(float));
    free(d->packed);
    free(d->ranges);
    deal_fini(&d->deal);
    free(d);
}

uint64_t dense_bytes(size_t n, unsigned ranks, const struct dense_opts *o)
{
    unsigned owners = o->servers ? o->servers : ranks;
    uint64_t whole = n * sizeof(float), states = optim_states(&o->optim);

    if (ranks == 1 || o->policy == SHOAL_AVERAGE)
        return whole * states + packed_floats(n, ranks, o) * sizeof(float);
    /* a block on its way, and where steps go on without answers one that waits */
    return whole * (states + 1) / owners + whole * (o->policy == SHOAL_SYNC ? 1 : 2);
}

/* ---- asking ---- */

struct shoal_rank_stats dense_stats(const struct dense *d, uint64_t *applied)
{
    *applied = d->applied;
    return d->stats;
}

double dense_norm2(const struct dense *d)
{
    return d->norm2;
}

size_t dense_pieces(const struct dense *d)
{
    return d->shares && d->opts.policy == SHOAL_SYNC ? d->npieces : 0;
}

struct dense_trip dense_trip(const struct dense *d, size_t piece)
{
    return d->pieces[piece].trip;
}

/* ---- steps ---- */

/* A piece may lie across ranges of several rules. */
void dense_step(struct dense *d, const struct optim *o, const float *g, size_t from, size_t to,
                size_t home, float lr, uint64_t t)
{
    unsigned mode = floats_flush();

    for (size_t i = 0; i < d->nranges; i++) {
        const struct dense_range *r = &d->ranges[i];
        size_t a = r->from > from ? r->from : from, b = r->to < to ? r->to : to;
        float *state[DENSE_STATES] = {0};

        if (a >= b)
            continue;
        for (unsigned k = 0; k < DENSE_STATES; k++)
            state[k] = d->state[k] ? d->state[k] + home + (a - from) : NULL;
        if (r->rule == DENSE_KEEP)
            memcpy(d->params + a, g + (a - from), (b - a) * sizeof *g);
        else
            optim_step(o, d->kernel, lr, t, r->rule == DENSE_STEP, d->params + a, g + (a - from),
                       state, b - a);
    }
    if (d->measure)
        d->norm2 += d->kernel->sumsq(g, to - from);
    d->applied++;
    floats_set(mode);
}

void dense_begin(struct dense *d, float *grads, float lr, bool measure)
{
    d->grads = grads;
    d->lr = lr;
    d->measure = measure;
    d->waiting = d->npieces;
    for (size_t i = 0; d->shares && i < d->npieces; i++)
        d->pieces[i].unready = d->pieces[i].len;
}

shoal_status dense_ready(struct dense *d, size_t from, size_t to)
{
    shoal_status st = SHOAL_OK;

    /* Else the others' steps would change parameters that are still read. */
    if (!d->shares || d->opts.policy != SHOAL_SYNC || from >= to)
        return SHOAL_OK;
    /* From behind, as the backward pass goes: the last layers' gradients are final first. */
    for (size_t i = to - 1; st == SHOAL_OK; i -= d->piece_len) {
        struct piece *p = &d->pieces[i / d->piece_len];
        size_t a = p->from > from ? p->from : from;
        size_t b = p->from + p->len < to ? p->from + p->len : to;

        p->unready -= b - a;
        if (p->unready == 0) {
            p->trip.sent = clock_now();
            st = piece_push(d, p);
        }
        i = p->from + d->piece_len - 1; /* so that the next is in the piece before */
        if (p->from <= from)
            break;
    }
    return st == SHOAL_OK ? comm_poll(d->comm, NULL) : st;
}

static bool all_fresh(void *ctx)
{
    const struct dense *d = ctx;

    return d->waiting == 0;
}

static shoal_status finish_alone(struct dense *d)
{
    dense_step(d, &d->opts.optim, d->grads, 0, d->n, 0, d->lr, ++d->steps);
    if (!d->comm)
        return SHOAL_OK;
    return policy_mean_due(&d->policy) ? dense_average(d) : comm_poll(d->comm, NULL);
}

shoal_status dense_finish(struct dense *d)
{
    double shared = d->comm ? comm_ranks_per_core(d->comm) : 1;
    shoal_status st = SHOAL_OK;

    policy_tick(&d->policy);
    if (!d->shares)
        return finish_alone(d);
    if (d->opts.policy == SHOAL_SYNC)
        return comm_until(d->comm, all_fresh, d);
    d->wait_until = clock_now() + WAIT_SECONDS * shared * shared;
    for (size_t i = 0; i < d->npieces && st == SHOAL_OK; i++)
        st = piece_push(d, &d->pieces[i]);
    if (st == SHOAL_OK)
        st = policy_pace(&d->policy);
    return st == SHOAL_OK ? comm_poll(d->comm, NULL) : st;
}

shoal_status dense_skip(struct dense *d)
{
    shoal_status st;

    policy_tick(&d->policy);
    if (!d->shares) {
        d->steps++; /* as all ranks count them */
        return policy_mean_due(&d->policy) ? dense_average(d) : dense_poll(d);
    }
    st = policy_pace(&d->policy);
    return st == SHOAL_OK ? comm_poll(d->comm, NULL) : st;
}

shoal_status dense_poll(struct dense *d)
{
    return d->comm ? comm_poll(d->comm, NULL) : SHOAL_OK;
}
