/* dense: one block of parameters that all ranks train; a part of the door store.h.
 *
 * What this is: gradients meet, an optimizer makes a step of them, and fresh
 * parameters come back, as the policy says. The block is cut into pieces; each
 * has an owner, and the optimizer's state of a piece lives where its owner is.
 *
 *     worker                                   owner of a piece
 *     params   what this rank computes with    params   the piece itself
 *     grads    -- piece, as soon as it is final -->  sum of what came
 *                                                    step: params, state
 *     params   <-- fresh piece ---------------------
 *
 *   sync       the owner adds one gradient of each worker, in their order, steps, and
 *              sends the piece to all: the bits do not depend on who was quicker
 *   async      the owner answers each gradient at once; it steps, by their mean, when
 *              `quorum` of them have come (Gupta et al. 2016: softsync). A worker waits for
 *              nobody: while DENSE_CREDITS messages of a piece are without an answer, its
 *              gradients are summed, and go as one with the next, or to the meeting.
 *              When `cautious`, the rate is lr / sqrt(1 + t), where t is how many steps
 *              old the parameters of its gradients were, in the mean. Of Adam's weight decay
 *              each gradient of a batch brings its part
 *   bounded:S  the same, and nobody is more than S steps ahead of the slowest
 *   average:K  every rank steps by itself, with state of its own; K steps after the last
 *              mean, and where all meet, the parameters and the state are averaged
 *
 * Who owns what: params and grads are borrowed; the state is the dense's own.
 * Threads: everything is called by the thread that opened the comm. */
#ifndef SHOAL_DENSE_H
#define SHOAL_DENSE_H

#include "base/base.h"
#include "comm/comm.h"
#include "kernel/kernel.h"
#include "store/deal.h"

enum {
    DENSE_PIECE = 1 << 15,    /* floats at most */
    DENSE_PIECE_LEAST = 4096, /* what is shorter costs as much to send; a block has one piece */
    DENSE_CREDITS = 2,
    DENSE_STATES = 2,      /* blocks of state that an optimizer may have */
};

/* ---- optim.c: one step over n floats ------------------------------------------------ */

enum optim_kind { OPTIM_SGD, OPTIM_MOMENTUM, OPTIM_ADAM };

/* As PyTorch has them; g is the gradient, t counts steps from 1:
 *
 *   sgd       p -= lr (g + decay p)
 *   momentum  m = momentum m + (g + decay p);  p -= lr m
 *             nesterov: p -= lr (g + decay p + momentum m)
 *   adam      m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g g
 *             p -= lr decay p + lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)
 *             (weight decay is decoupled: Loshchilov and Hutter 2019)                    */
struct optim {
    enum optim_kind kind;
    float momentum, beta1, beta2, epsilon, decay;
    bool nesterov;
};

unsigned optim_states(const struct optim *o); /* 0 .. DENSE_STATES */
void optim_step(const struct optim *o, const struct kernel *kernel, float lr, uint64_t t,
                bool decay, float *p, const float *g, float *const state[DENSE_STATES], size_t n);

/* ---- dense.c, dense_*.c --------------------------------------------------------------- */

/* What becomes of [from, to): the borders are multiples of 16 floats. */
enum dense_rule { DENSE_STEP, DENSE_BARE, DENSE_KEEP }; /* as enum tensor_rule has them */

struct dense_range {
    size_t from, to;
    enum dense_rule rule;
};

struct dense_opts {
    enum shoal_sync policy;
    unsigned staleness; /* of SHOAL_BOUNDED and SHOAL_AVERAGE */
    unsigned servers;   /* the last so many ranks own all pieces; 0: all ranks do */
    unsigned quorum;    /* async, bounded: gradients of a step; 0: one of each worker */
    unsigned gradients; /* the same: of a whole batch; 0: one of each worker */
    bool cautious;      /* the same: the staler the gradients, the smaller the step */
    struct optim optim;
};

struct dense;

/* Collective. comm NULL: one rank. params are the same on every rank; ranges
 * cover [0, n) in order. */
shoal_status dense_open(struct dense **out, struct comm *comm, float *params, size_t n,
                        const struct dense_range *ranges, size_t nranges,
                        const struct kernel *kernel, const struct dense_opts *opts);
void dense_close(struct dense *d);
/* What it will take at most beside the parameters. */
uint64_t dense_bytes(size_t n, unsigned ranks, const struct dense_opts *opts);

/* Steps take numbers below FLT_MIN for 0: moments of what no longer learns halve every
 * few steps, and would soon be such numbers all, each of them slow.
 *
 * A step of this worker, with gradients in grads [n]: begin, then ready for each
 * range as soon as it is final (each float once), then finish. Parameters of what
 * is ready may change from then on; between finish and begin they change only
 * within dense_poll. finish waits as the policy says. From a begin with `measure` to one
 * without, the lengths of gradients are measured (dense_norm2). */
void dense_begin(struct dense *d, float *grads, float lr, bool measure);
shoal_status dense_ready(struct dense *d, size_t from, size_t to);
shoal_status dense_finish(struct dense *d);
/* Instead of all three: a step in which this worker has no samples. Of SHOAL_SYNC each worker's
 * gradient is awaited, be it of none; else none is better than one that counts and says nothing. */
shoal_status dense_skip(struct dense *d);
/* Lets messages move while there is nothing else to do. */
shoal_status dense_poll(struct dense *d);
/* Collective, on servers too, which serve until all workers have come: every
 * gradient is applied, and the parameters are the same on every rank. */
shoal_status dense_gather(struct dense *d);

/* ---- checkpoints by owners, after a meeting: dense_gather.c
 *
 * The parameters and each block of state as tables of the same rows, whose width depends
 * on n alone: written by their owners, they can be read by any number of ranks. Every
 * rank has all rows of the parameters, but of the state only its own, at their places. */
size_t dense_tables(const struct dense *d, struct table out[1 + DENSE_STATES]);
const struct deal *dense_deal(const struct dense *d); /* who writes which row */
/* Of the state a rank has its own rows alone, at their places; else every rank has, and needs, all
 * of it. */
bool dense_shares(const struct dense *d);
uint64_t dense_steps(const struct dense *d);         /* made by all, at the last meeting */
void dense_set_steps(struct dense *d, uint64_t steps); /* before the first step */

/* SHOAL_SYNC: by the clock, when the gradient of a piece went to its owner in the last step, and
 * when its fresh parameters were here. */
struct dense_trip {
    double sent, fresh;
};

size_t dense_pieces(const struct dense *d); /* that travel; 0: none do */
struct dense_trip dense_trip(const struct dense *d, size_t piece);

/* Of this rank alone; ranks, servers, load_most and what comm counts are left 0; a gradient
 * of a piece counts as a row, its staleness is in gradients that the piece got since. *applied:
 * pieces that it stepped on. */
struct shoal_rank_stats dense_stats(const struct dense *d, uint64_t *applied);
/* The squares of the lengths of the gradients that this rank stepped on while it was
 * asked to measure, summed; collective sums give those of whole gradients. */
double dense_norm2(const struct dense *d);

#endif
