/* What collectives share: collective.c, reduce.c, gather.c. */
#ifndef SHOAL_COMM_COLLECTIVE_H
#define SHOAL_COMM_COLLECTIVE_H

#include "comm/inner.h"

#define CALL_MAP(X)                                                                                \
    X(BARRIER, "barrier")                                                                          \
    X(SUM, "sum")                                                                                  \
    X(SUM_U64, "sum_u64")                                                                          \
    X(MAX, "max")                                                                                  \
    X(SUM_FLOATS, "sum_floats")                                                                    \
    X(BROADCAST, "broadcast")                                                                      \
    X(GATHER, "gather")                                                                            \
    X(AGREE, "agree")                                                                              \
    X(SUM_FIRST, "sum_first")

enum call {
#define X(name, text) CALL_##name,
    CALL_MAP(X)
#undef X
        CALLS
};

enum {
    CHUNK = 256 << 10, /* bytes: long enough for the line, short enough for the cache */
    PHASES = 2,
    PHASE_GIVE = 0, /* also of what has one phase only */
    PHASE_RESULT = 1,
};

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- collective.c ----------------------------------------------------------------- */

/* One on its way. `take` is offered each message of it, in the order they were
 * sent; those it does not take yet are offered again later. */
struct collective {
    enum call call;
    shoal_status (*take)(void *ctx, const struct message *m, unsigned phase, bool *taken);
    shoal_status (*step)(void *ctx, bool *done);
    void *ctx;
};

/* Begins the next one: messages sent with collective_tag from now on belong to it. Those of the
 * first ranks alone have numbers of their own, since the others do not count them. */
void collective_begin(struct comm *c, enum call call);
unsigned collective_tag(const struct comm *c, enum call call, unsigned phase);
/* Goes on until `step` says done. */
shoal_status collective_run(struct comm *c, const struct collective *t);
/* Another length is the sign of other arguments there. */
shoal_status collective_check_len(const struct comm *c, const struct message *m, size_t want);

/* Sends that must be done before a collective ends. */
struct tickets {
    comm_ticket *at; /* free() it */
    size_t first, n, cap;
};

shoal_status tickets_send(struct tickets *t, struct comm *c, unsigned to, unsigned tag,
                          const void *data, size_t len);
/* How many are not done, those behind one that is not done unseen. */
shoal_status tickets_left(struct tickets *t, struct comm *c, size_t *left);

/* ---- reduce.c ---------------------------------------------------------------------- */

enum reduce_how { SUM_DOUBLES, SUM_U64, SUM_FLOATS, MAX_DOUBLES };

/* x[n] becomes its sum over the ranks, or over the first so many, in their order. Nobody leaves
 * it before all have come, unless n is 0. */
shoal_status reduce_run(struct comm *c, enum call call, enum reduce_how how, void *x, size_t n);
shoal_status reduce_run_first(struct comm *c, unsigned size, enum call call, enum reduce_how how,
                              void *x, size_t n);

#endif
