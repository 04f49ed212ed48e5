/* Messages between ranks, made of any bytes: what a store is sent must end in a
 * status. For the fuzz target and for the unit test, which draws bytes at random. */
#ifndef SHOAL_TEST_MESSAGES_H
#define SHOAL_TEST_MESSAGES_H

#include "store/shard.h"

#include <assert.h>
#include <stdlib.h>

enum { MESSAGES_ROWS = 9, MESSAGES_LONG = 20, MESSAGES_SHORT = 3 };

struct tape {
    const uint8_t *at;
    size_t left;
};

static inline unsigned tape_next(struct tape *t)
{
    if (t->left == 0)
        return 0;
    t->left--;
    return *t->at++;
}

/* One rank that lends to and merges from itself, in one of the ways that rows travel. */
struct messages {
    struct comm *comm;
    struct table tables[2];
    uint64_t bits[2];
    struct store *store;
};

static inline struct store_opts messages_way(unsigned way)
{
    static const enum shoal_sync policies[] = {SHOAL_ASYNC, SHOAL_BOUNDED, SHOAL_SYNC};
    static const enum shoal_wire wires[] = {SHOAL_WIRE_BF16, SHOAL_WIRE_INT8, SHOAL_WIRE_BF16,
                                            SHOAL_WIRE_INT4};
    struct store_opts o = {.policy = policies[way % 3],
                           .staleness = 1,
                           .due = 2,
                           .sweep = {2, 2},
                           .fresh = {way & 128 ? 2 : 0},
                           .hot = way / 128,
                           .wire = way & 64 ? wires[way % 4] : SHOAL_WIRE_F32};

    o.blocks = (way & 48) == 16;
    o.lanes = (way & 48) == 32;
    return o;
}

static inline shoal_status messages_open(struct messages *m, const struct store_opts *o)
{
    const struct kernel *kernel;
    shoal_status st = kernel_find(&kernel, "scalar");

    *m = (struct messages){0};
    if (st == SHOAL_OK)
        st = comm_open_self(&m->comm);
    for (size_t t = 0; t < 2 && st == SHOAL_OK; t++) {
        st = table_init(&m->tables[t], t ? "short" : "long", MESSAGES_ROWS,
                        t ? MESSAGES_SHORT : MESSAGES_LONG);
        if (o->blocks)
            table_fini(&m->tables[t]);
    }
    return st == SHOAL_OK ? store_open(&m->store, m->comm, m->tables, 2, NULL, kernel, o) : st;
}

static inline void messages_close(struct messages *m)
{
    store_close(m->store);
    for (size_t t = 0; t < 2; t++)
        table_fini(&m->tables[t]);
    if (m->comm)
        comm_close(m->comm, true);
}

/* The handlers of the way, as store.c listens to them. */
static inline comm_handler messages_handler(const struct store_opts *o, unsigned which)
{
    static const comm_handler block[] = {store_pull_handle, store_lent_handle, store_back_handle,
                                         policy_barrier_handle};
    static const comm_handler lane[] = {store_lane_handle, store_changed_handle, store_lane_handle,
                                        store_changed_handle};
    static const comm_handler push[] = {store_push_handle, store_fresh_handle, store_ask_handle,
                                        store_home_handle};

    if (which % 6 < 4)
        return (o->blocks ? block : o->lanes ? lane : push)[which % 6];
    return which % 6 == 4 ? policy_clock_handle : policy_end_handle;
}

static inline void *messages_context(struct messages *m, comm_handler handle)
{
    bool policy = handle == policy_clock_handle || handle == policy_end_handle ||
                  handle == policy_barrier_handle;

    return policy ? (void *)&m->store->policy : m->store;
}

/* Of the length that the head asks for, in one of the shapes messages have, or near it;
 * not rounded up: the sanitizer guards the byte behind the last. */
static inline shoal_status messages_give(struct messages *m, const struct store_opts *o,
                                         struct tape *t)
{
    comm_handler handle = messages_handler(o, tape_next(t));
    unsigned shape = tape_next(t);
    struct head head = {.table = tape_next(t) % 3, .count = tape_next(t) % 12};
    size_t width = head.table ? MESSAGES_SHORT : MESSAGES_LONG, len = sizeof head;
    char *data;
    shoal_status st;

    head.after = tape_next(t) % 3;
    head.reads = (uint16_t)(shape >> 7);
    head.form = (uint16_t)(tape_next(t) % 4); /* and one that there is not */
    len += shape & 1 ? head.count * width * (shape & 8 ? 2 : 4) : 0;
    len += shape & 2 ? head.count * sizeof(uint32_t) : 0;
    len += shape & 4 ? tape_next(t) : 0;
    len = (shape & 112) == 112 ? tape_next(t) % sizeof head : len;
    data = malloc(len ? len : 1);
    if (!data)
        return SHOAL_ENOMEM;
    memcpy(data, &head, len < sizeof head ? len : sizeof head);
    for (size_t i = sizeof head; i < len; i++) /* small numbers are places */
        data[i] = (char)(i % 4 == 0 || shape & 16 ? tape_next(t) % (shape & 32 ? 256 : 9) : 0);
    st = handle(messages_context(m, handle), 0, data, len);
    free(data);
    return st;
}

/* What a rank does of itself, in between. */
static inline shoal_status messages_work(struct messages *m, const struct store_opts *o,
                                         unsigned what)
{
    uint64_t *bits[] = {&m->bits[0], &m->bits[1]};

    if (o->lanes)
        return comm_poll(m->comm, NULL);
    if (!o->blocks) {
        store_touches(m->store, what % 2)[what / 2 % MESSAGES_ROWS] = 200;
        return what & 1 ? store_round(m->store) : store_step(m->store);
    }
    if (what & 1 && !m->store->next->asked) {
        m->bits[0] = what;
        m->bits[1] = what / 4;
        return store_want(m->store, bits, false);
    }
    return what & 2 ? store_swap(m->store) : store_step(m->store);
}

/* Until the bytes are used up or a message is refused; gives whether one was. */
static inline bool messages_try(const uint8_t *data, size_t size)
{
    struct tape t = {data, size};
    struct store_opts o = messages_way(tape_next(&t));
    struct messages m;
    shoal_status st = messages_open(&m, &o);

    assert(st == SHOAL_OK);
    while (t.left > 0 && st == SHOAL_OK) {
        unsigned what = tape_next(&t);

        st = what % 3 ? messages_give(&m, &o, &t) : messages_work(&m, &o, what / 3);
    }
    assert(st == SHOAL_OK || *shoal_error());
    messages_close(&m);
    return st != SHOAL_OK;
}

#endif
