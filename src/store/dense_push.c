/* Gradients on their way to the owners of their pieces, and fresh pieces back.
 *
 * Sync: an owner adds one gradient of each worker, in the order of the workers; those that come
 * before their turn are deferred. The sum then has the same bits whoever was quicker, and all
 * workers get the same piece.
 *
 * Async: an owner answers each gradient at once with the piece as it is, and steps by the mean of
 * `quorum` of them (softsync: Gupta et al. 2016). The version of a piece is the number of
 * gradients it has got; a gradient says which version it was computed with, so the owner knows
 * how stale it is, and makes smaller steps with staler ones (rate_of).
 *
 * An owner computes too, and answers only between its own pieces of work. Its workers must not
 * wait for it, nor flood it: at most DENSE_CREDITS messages of a piece are unanswered. Gradients
 * beyond that are summed up in the backlog and go as one message, which says how many it is the
 * sum of, as soon as there is credit, at the latest at the next meeting. */
#include "store/piece.h"

#include <math.h>
#include <stdlib.h>

static size_t message_len(size_t floats)
{
    return sizeof(struct piece_head) + floats * sizeof(float);
}

/* ---- the owner ---- */

/* A message with the piece as it is now. */
static shoal_status write_piece(struct dense *d, const struct piece *p, struct outgoing **out)
{
    shoal_status st = outbox_take(&d->outbox, out, message_len(p->len));
    struct piece_head *h;

    if (st != SHOAL_OK)
        return st;
    h = (*out)->data;
    *h = (struct piece_head){
        .piece = (uint32_t)(p - d->pieces), .count = (uint32_t)p->len, .version = p->gradients};
    memcpy(h->at, d->params + p->from, p->len * sizeof(float));
    return SHOAL_OK;
}

/* Of SHOAL_SYNC gradients were scaled to be added; else their mean counts, though a
 * flush may have less than a quorum. State that is kept has a mean anyway. */
static void scale_sum(struct dense *d, const struct piece *p)
{
    bool sync = d->opts.policy == SHOAL_SYNC;

    for (size_t i = 0; i < d->nranges; i++) {
        const struct dense_range *r = &d->ranges[i];
        size_t a = r->from > p->from ? r->from : p->from;
        size_t b = r->to < p->from + p->len ? r->to : p->from + p->len;
        unsigned of = r->rule == DENSE_KEEP ? p->got : sync ? 1 : d->quorum;

        if (a < b && of > 1)
            d->kernel->scale(d->sum + p->home + (a - p->from), 1 / (float)of, b - a);
    }
}

static float rate_of(const struct dense *d, const struct piece *p, float lr)
{
    float steps = (float)p->behind / (float)p->got / (float)d->quorum;

    return d->opts.cautious ? lr / sqrtf(1 + steps) : lr;
}

/* Adam's decay does not pass through the gradient: it pulls as much in a step of few samples as in
 * one of many. A batch comes in several quorums, each a step, so each brings its part of the decay.
 * Else 8 workers, who make 4 steps of a batch, would learn what one does with a fourth of the batch
 * and the same decay: on the spiral 94 % where one has 99 (docs/notes/nets.md). */
static struct optim optim_of(const struct dense *d, const struct piece *p)
{
    struct optim o = d->opts.optim;

    if (d->opts.policy != SHOAL_SYNC && o.kind == OPTIM_ADAM)
        o.decay *= (float)p->got / (float)d->opts.gradients;
    return o;
}

static void step_piece(struct dense *d, struct piece *p, float lr)
{
    struct optim o = optim_of(d, p);

    scale_sum(d, p);
    dense_step(d, &o, d->sum + p->home, p->from, p->from + p->len, p->home, rate_of(d, p, lr),
               ++p->steps);
    p->got = 0;
    p->behind = 0;
}

static void add_gradient(struct dense *d, struct piece *p, const float *g, uint32_t sums)
{
    float *sum = d->sum + p->home;

    if (p->got == 0)
        memcpy(sum, g, p->len * sizeof *g);
    else
        d->kernel->axpy(sum, 1, g, p->len);
    p->got += sums;
    p->gradients += sums;
}

/* Its fresh parameters are here. */
static void end_trip(struct dense *d, struct piece *p)
{
    d->waiting--;
    p->trip.fresh = clock_now();
}

/* All workers', this rank's own piece included, which needs no message. */
static shoal_status send_stepped(struct dense *d, struct piece *p)
{
    struct outgoing *o;
    shoal_status st = SHOAL_OK;

    if (policy_works(&d->policy))
        end_trip(d, p);
    if (d->policy.workers == 1 && policy_works(&d->policy))
        return SHOAL_OK;
    st = write_piece(d, p, &o);
    for (unsigned i = 1; i <= d->policy.ranks && st == SHOAL_OK; i++) {
        unsigned to = (d->policy.rank + i) % d->policy.ranks;

        if (to != d->policy.rank && to < d->policy.workers)
            st = outbox_send(&d->outbox, o, to, TAG_PIECE, message_len(p->len));
    }
    outbox_release(&d->outbox, o);
    return st;
}

static shoal_status take_in_order(struct dense *d, struct piece *p, unsigned from, float lr,
                                  const float *g)
{
    struct deferred *e;

    if (from != p->got)
        return deferred_add(&p->early, from, 0, g, p->len * sizeof *g);
    if (from == 0)
        p->lr = lr;
    add_gradient(d, p, g, 1);
    while (p->got < d->policy.workers && (e = deferred_find(&p->early, p->got, 0)) != NULL) {
        add_gradient(d, p, (const float *)e->data, 1);
        free(e);
    }
    if (p->got < d->policy.workers)
        return SHOAL_OK;
    step_piece(d, p, p->lr);
    return send_stepped(d, p);
}

static shoal_status take_at_once(struct dense *d, struct piece *p, unsigned from,
                                 const struct piece_head *h, const float *g)
{
    struct outgoing *o;
    shoal_status st;

    policy_count_stale(&d->stats, p->gradients - h->version, h->sums);
    d->stats.rows_pushed += h->sums;
    p->behind += (p->gradients - h->version) * h->sums;
    add_gradient(d, p, g, h->sums);
    if (p->got >= d->quorum)
        step_piece(d, p, h->lr);
    d->last_lr = h->lr;
    if (from == d->policy.rank) {
        p->version = p->gradients;
        return SHOAL_OK;
    }
    st = write_piece(d, p, &o);
    return st == SHOAL_OK ? outbox_post(&d->outbox, o, from, TAG_PIECE, message_len(p->len)) : st;
}

void piece_flush(struct dense *d, struct piece *p)
{
    if (p->got > 0)
        step_piece(d, p, d->last_lr);
}

static shoal_status take(struct dense *d, struct piece *p, unsigned from,
                         const struct piece_head *h, const float *g)
{
    if (d->opts.policy == SHOAL_SYNC)
        return take_in_order(d, p, from, h->lr, g);
    return take_at_once(d, p, from, h, g);
}

static shoal_status check(const struct dense *d, unsigned from, const void *data, size_t len)
{
    const struct piece_head *h = data;

    if (len >= sizeof *h && h->piece < d->npieces && h->count == d->pieces[h->piece].len &&
        len == message_len(h->count))
        return SHOAL_OK;
    return shoal_fail(SHOAL_EFORMAT, "store: rank %u sent %zu bytes that are no piece", from, len);
}

shoal_status piece_gradient_handle(void *ctx, unsigned from, const void *data, size_t len)
{
    struct dense *d = ctx;
    const struct piece_head *h = data;
    shoal_status st = check(d, from, data, len);

    if (st == SHOAL_OK && (h->sums == 0 || from >= d->policy.workers))
        st = shoal_fail(SHOAL_EFORMAT, "store: rank %u sent %u gradients of a piece", from, h->sums);
    if (st == SHOAL_OK && !owns(d, &d->pieces[h->piece]))
        st = shoal_fail(SHOAL_EFORMAT,
                        "store: rank %u sent a gradient to rank %u that is not the "
                        "owner",
                        from, d->policy.rank);
    if (st != SHOAL_OK)
        return st;
    return take(d, &d->pieces[h->piece], from, h, h->at);
}

/* ---- the worker ---- */

shoal_status piece_handle(void *ctx, unsigned from, const void *data, size_t len)
{
    struct dense *d = ctx;
    const struct piece_head *h = data;
    shoal_status st = check(d, from, data, len);
    struct piece *p;

    if (st != SHOAL_OK)
        return st;
    p = &d->pieces[h->piece];
    memcpy(d->params + p->from, h->at, p->len * sizeof(float));
    p->version = h->version;
    p->out--;
    end_trip(d, p);
    return SHOAL_OK;
}

struct credit {
    const struct piece *piece;
    double until; /* by the clock */
};

static bool has_credit(const struct piece *p)
{
    return p->out < DENSE_CREDITS;
}

static bool has_credit_or_time_is_up(void *ctx)
{
    const struct credit *w = ctx;

    return has_credit(w->piece) || clock_now() >= w->until;
}

static shoal_status send_gradient(struct dense *d, struct piece *p, const float *g, uint32_t sums)
{
    struct outgoing *o;
    shoal_status st = outbox_take(&d->outbox, &o, message_len(p->len));
    struct piece_head *h;

    if (st != SHOAL_OK)
        return st;
    h = o->data;
    *h = (struct piece_head){.piece = (uint32_t)(p - d->pieces),
                             .lr = d->lr,
                             .sums = sums,
                             .count = (uint32_t)p->len,
                             .version = p->version};
    memcpy(h->at, g, p->len * sizeof *g);
    p->out++;
    return outbox_post(&d->outbox, o, p->owner, TAG_GRADIENT, message_len(p->len));
}

static shoal_status add_backlog(struct dense *d, struct piece *p, const float *g)
{
    if (!d->backlog && !(d->backlog = mem_map(d->n * sizeof *g)))
        return SHOAL_ENOMEM;
    if (p->backlog++ == 0)
        memcpy(d->backlog + p->from, g, p->len * sizeof *g);
    else
        d->kernel->axpy(d->backlog + p->from, 1, g, p->len);
    return SHOAL_OK;
}

shoal_status piece_push_backlog(struct dense *d, struct piece *p)
{
    struct credit w = {.piece = p, .until = INFINITY};
    uint32_t sums = p->backlog;
    shoal_status st;

    if (sums == 0)
        return SHOAL_OK;
    st = comm_until(d->comm, has_credit_or_time_is_up, &w);
    p->backlog = 0;
    return st == SHOAL_OK ? send_gradient(d, p, d->backlog + p->from, sums) : st;
}

/* An owner that computes does not answer. It is waited for no longer than a moment, since it
 * may lack the core that we have; what it cannot take yet goes with the next. */
shoal_status piece_push(struct dense *d, struct piece *p)
{
    const struct piece_head head = {.lr = d->lr, .sums = 1, .version = p->version};
    const float *g = d->grads + p->from;
    struct credit w = {.piece = p, .until = d->wait_until};
    shoal_status st = SHOAL_OK;

    if (owns(d, p))
        return take(d, p, d->policy.rank, &head, g);
    if (!has_credit(p))
        st = comm_until(d->comm, has_credit_or_time_is_up, &w);
    if (st == SHOAL_OK && p->backlog == 0 && has_credit(p))
        return send_gradient(d, p, g, 1);
    if (st == SHOAL_OK)
        st = add_backlog(d, p, g);
    return st == SHOAL_OK && has_credit(p) ? piece_push_backlog(d, p) : st;
}
