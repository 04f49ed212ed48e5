/* Sums over the ranks, in their order: ((rank 0's + rank 1's) + rank 2's) + ...
 *
 * x is cut into parts; part k belongs to rank k % size. Everybody gives its own share of a part to
 * the owner, who adds them up and sends the result to all:
 *
 *     rank 0   give part 1 to 1, part 2 to 2, ...   add up part 0: own, 1's, 2's   send it to all
 *     rank 1   give part 0 to 0, part 2 to 2, ...   add up part 1: 0's, own, 2's   send it to all
 *
 * Every rank sends and receives about twice the bytes of x, however many there are. Floats do not
 * add up the same in another order: a share that comes before those of lower ranks is not taken
 * yet, and is offered again (collective.c). Two parts are under way to each owner at a time, so a
 * rank keeps at most two parts of each other rank. The result replaces the share in x, so it is
 * not taken before that share has been sent. */
#include "comm/collective.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    SMALL = 16 << 10,   /* bytes that one rank may as well add up for all */
    SHORTEST = 4 << 10, /* bytes of a part, else */
};

/* ---- elements ------------------------------------------------------------------ */

#define ADDER(name, type, expression)                                                              \
    static void name(void *into, const void *from, size_t n)                                       \
    {                                                                                              \
        type *restrict a = into;                                                                   \
        const type *restrict b = from;                                                             \
                                                                                                   \
        for (size_t i = 0; i < n; i++)                                                             \
            a[i] = (expression);                                                                   \
    }

ADDER(add_doubles, double, a[i] + b[i])
ADDER(add_u64, uint64_t, a[i] + b[i])
ADDER(add_floats, float, a[i] + b[i])
ADDER(max_doubles, double, b[i] > a[i] ? b[i] : a[i])

static const struct element {
    size_t size; /* bytes */
    void (*add)(void *into, const void *from, size_t n);
} elements[] = {
    [SUM_DOUBLES] = {sizeof(double), add_doubles},
    [SUM_U64] = {sizeof(uint64_t), add_u64},
    [SUM_FLOATS] = {sizeof(float), add_floats},
    [MAX_DOUBLES] = {sizeof(double), max_doubles},
};

/* ---- parts ------------------------------------------------------------------------ */

struct owner {
    size_t part; /* the one whose result comes next */
    comm_ticket given[2];
};

struct reduce {
    struct comm *c;
    unsigned size; /* ranks that take part, the first ones */
    enum call call;
    struct element element;
    char *x;
    size_t len, part_len; /* bytes */
    size_t parts;
    size_t mine;   /* the part being added up here, in `sum` */
    unsigned next; /* whose share of it comes next */
    char *sum;     /* [part_len] */
    size_t results;
    struct owner *owners; /* [size] */
    struct tickets sent;
};

static char *part_at(const struct reduce *r, size_t part)
{
    return r->x + part * r->part_len;
}

static size_t part_len(const struct reduce *r, size_t part)
{
    return least(r->part_len, r->len - part * r->part_len);
}

static comm_ticket *given(struct reduce *r, unsigned to, size_t part)
{
    return &r->owners[to].given[part / r->size % 2];
}

static shoal_status give(struct reduce *r, unsigned to, size_t part)
{
    if (part >= r->parts)
        return SHOAL_OK;
    return comm_post(r->c, to, collective_tag(r->c, r->call, PHASE_GIVE), part_at(r, part),
                     part_len(r, part), given(r, to, part));
}

/* The next ones first, so that not all begin with rank 0. */
static shoal_status give_first(struct reduce *r)
{
    unsigned size = r->size;
    shoal_status st = SHOAL_OK;

    for (size_t round = 0; round < 2; round++)
        for (unsigned i = 1; st == SHOAL_OK && i < size; i++) {
            unsigned to = (r->c->rank + i) % size;

            st = give(r, to, round * size + to);
        }
    return st;
}

static shoal_status send_result(struct reduce *r)
{
    struct comm *c = r->c;
    size_t len = part_len(r, r->mine);
    shoal_status st = SHOAL_OK;

    memcpy(part_at(r, r->mine), r->sum, len);
    for (unsigned i = 1; st == SHOAL_OK && i < r->size; i++)
        st = tickets_send(&r->sent, c, (c->rank + i) % r->size,
                          collective_tag(c, r->call, PHASE_RESULT), part_at(r, r->mine), len);
    r->results++;
    r->mine += r->size;
    r->next = 0;
    return st;
}

static void add_share(struct reduce *r, const void *share)
{
    size_t len = part_len(r, r->mine);

    if (r->next == 0)
        memcpy(r->sum, share, len);
    else
        r->element.add(r->sum, share, len / r->element.size);
    r->next++;
}

/* As far as it goes without the shares of others. */
static shoal_status add_own(struct reduce *r)
{
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && r->mine < r->parts) {
        if (r->next == r->size)
            st = send_result(r);
        else if (r->next == r->c->rank)
            add_share(r, part_at(r, r->mine));
        else
            break;
    }
    return st;
}

static shoal_status take_share(struct reduce *r, const struct message *m, bool *taken)
{
    shoal_status st;

    if (m->from != r->next || r->mine >= r->parts)
        return SHOAL_OK;
    st = collective_check_len(r->c, m, part_len(r, r->mine));
    if (st != SHOAL_OK)
        return st;
    *taken = true;
    add_share(r, m->data);
    return add_own(r);
}

/* The result replaces our share, which must have gone. */
static shoal_status take_result(struct reduce *r, const struct message *m, bool *taken)
{
    struct owner *o = &r->owners[m->from];
    size_t part = o->part, want = part < r->parts ? part_len(r, part) : 0;
    bool gone = false;
    shoal_status st = collective_check_len(r->c, m, want);

    if (st == SHOAL_OK)
        st = comm_test(r->c, given(r, m->from, part), &gone);
    if (st != SHOAL_OK || !gone)
        return st;
    *taken = true;
    memcpy(part_at(r, part), m->data, m->len);
    r->results++;
    o->part += r->size;
    return give(r, m->from, part + 2 * (size_t)r->size);
}

static shoal_status reduce_take(void *ctx, const struct message *m, unsigned phase, bool *taken)
{
    return (phase == PHASE_GIVE ? take_share : take_result)(ctx, m, taken);
}

static shoal_status reduce_step(void *ctx, bool *done)
{
    struct reduce *r = ctx;
    size_t left = 0;
    shoal_status st = SHOAL_OK;

    if (r->results == r->parts)
        st = tickets_left(&r->sent, r->c, &left);
    *done = r->results == r->parts && left == 0;
    return st;
}

/* Little is added up by rank 0; of more, everybody has an equal part, or several. */
static size_t choose_part(size_t len, size_t size)
{
    size_t part = (len / size + 64) / 64 * 64;

    if (len <= SMALL)
        return len;
    return part < SHORTEST ? SHORTEST : least(part, CHUNK);
}

static shoal_status reduce_init(struct reduce *r, struct comm *c, unsigned size, enum call call,
                                struct element element, void *x, size_t n)
{
    *r = (struct reduce){
        .c = c, .size = size, .call = call, .element = element, .x = x, .mine = c->rank};
    r->len = n * element.size;
    r->part_len = choose_part(r->len, size);
    r->parts = (r->len + r->part_len - 1) / r->part_len;
    r->sum = mem_array(r->part_len, 1);
    r->owners = mem_array(size, sizeof *r->owners);
    if (!r->sum || !r->owners)
        return SHOAL_ENOMEM;
    for (unsigned q = 0; q < size; q++)
        r->owners[q].part = q;
    return SHOAL_OK;
}

static void reduce_fini(struct reduce *r)
{
    free(r->sum);
    free(r->owners);
    free(r->sent.at);
}

shoal_status reduce_run_first(struct comm *c, unsigned size, enum call call, enum reduce_how how,
                              void *x, size_t n)
{
    struct reduce r;
    const struct collective t = {.call = call, .take = reduce_take, .step = reduce_step, .ctx = &r};
    shoal_status st;

    if (n == 0 || size == 1)
        return SHOAL_OK;
    st = reduce_init(&r, c, size, call, elements[how], x, n);
    if (st == SHOAL_OK) {
        collective_begin(c, call);
        st = give_first(&r);
    }
    if (st == SHOAL_OK)
        st = add_own(&r);
    if (st == SHOAL_OK)
        st = collective_run(c, &t);
    reduce_fini(&r);
    return st;
}

shoal_status reduce_run(struct comm *c, enum call call, enum reduce_how how, void *x, size_t n)
{
    return reduce_run_first(c, c->size, call, how, x, n);
}

shoal_status comm_barrier(struct comm *c)
{
    uint64_t nothing = 0;

    return reduce_run(c, CALL_BARRIER, SUM_U64, &nothing, 1);
}

shoal_status comm_sum(struct comm *c, double *x, size_t n)
{
    return reduce_run(c, CALL_SUM, SUM_DOUBLES, x, n);
}

shoal_status comm_sum_first(struct comm *c, unsigned first, double *x, size_t n)
{
    assert(c->rank < first && first <= c->size);
    return reduce_run_first(c, first, CALL_SUM_FIRST, SUM_DOUBLES, x, n);
}

shoal_status comm_sum_u64(struct comm *c, uint64_t *x, size_t n)
{
    return reduce_run(c, CALL_SUM_U64, SUM_U64, x, n);
}

shoal_status comm_max(struct comm *c, double *x, size_t n)
{
    return reduce_run(c, CALL_MAX, MAX_DOUBLES, x, n);
}

shoal_status comm_sum_floats(struct comm *c, float *x, size_t n)
{
    return reduce_run(c, CALL_SUM_FLOATS, SUM_FLOATS, x, n);
}
