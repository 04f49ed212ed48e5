/* The inside of a store, for store.c, push.c, meet.c and lanes.c; not a door.
 *
 * Rows are dealt out to owners; an owner keeps those of table t one after the
 * other, at their `place`:
 *
 *     owner [rows]  the rank that keeps the row
 *     place [rows]  where, among that rank's rows of this table
 *     own   [owned] the rows this rank keeps, by place                         */
#ifndef SHOAL_SHARD_H
#define SHOAL_SHARD_H

#include "store/store.h"

#include <string.h>

enum {
    TAG_PUSH = 1, /* rows: what a worker made of them */
    TAG_FRESH,    /* rows: the answer, in the order of the push, without places */
    TAG_CLOCK,    /* nothing: the sender has ended a round, or sent all that changed */
    TAG_END,      /* nothing: all pushes of the sender's round came before */
    TAG_LANE,     /* rows: of one lane */
    TAG_CHANGED,  /* rows: what all lanes made of them */
};

enum {
    BATCH_BYTES = 1 << 17, /* of rows in a message, or one row if that is larger */
    CREDITS = 3,           /* pushes to an owner without an answer, but in SHOAL_SYNC */
};

/* A message of rows:
 *
 *     head | count rows of row_bytes | count places of the owner, uint32_t      */
struct head {
    uint32_t table, count, lane, unused;
};

struct shard {
    struct table *table; /* the replica */
    size_t row_bytes;    /* on the wire */
    uint32_t batch;      /* rows in a message */
    uint16_t *owner;
    uint32_t *place;
    uint8_t *touches, *flight;
    float *base; /* [rows][stride] */

    uint32_t *own, owned;
    float *master;    /* [owned][stride] */
    float *seen;      /* [ranks][owned][stride]; none for the rank itself */
    uint32_t *pushes; /* [owned] that the row has got */
    uint32_t *known;  /* [ranks][owned] of them when the rank last saw it */
    uint32_t fast, slow, goal; /* where the two sweeps stand, and where the slow one goes */
};

/* A push: being filled, on its way, or waiting for its answer. */
struct batch {
    struct batch *next;
    uint32_t *rows, *places; /* [batch] of the table and of the owner */
    struct head *message;
    size_t cap;
    comm_ticket ticket;
};

struct peer {
    struct batch *open;            /* being filled */
    struct batch *first, **behind; /* those without an answer, oldest first */
    unsigned out;                  /* of them */
    uint64_t clock;                /* rounds it has ended */
    uint64_t ends;                 /* rounds whose pushes are all here */
};

/* An answer on its way; the buffers are used again. */
struct letter {
    struct letter *next;
    comm_ticket ticket;
    size_t cap;
    struct head *message;
};

/* A push kept until all workers' pushes of the round are here. */
struct kept {
    struct kept *next;
    unsigned from;
    uint64_t round;
    size_t len;
    char data[];
};

struct store {
    struct comm *comm;
    const struct kernel *kernel;
    struct store_opts opts;
    unsigned rank, ranks, workers;
    struct shard *shards; /* [n] */
    size_t n;
    struct peer *peers; /* [ranks] */
    struct batch *spare;
    struct letter *letters, *idle;
    struct kept *kept, **behind; /* in the order they came */
    float *mine, *fresh; /* [scratch] a padded row each */
    size_t scratch;
    uint64_t clock, lead;
    uint64_t rounds; /* whose end this rank awaits: of SHOAL_SYNC, or merges of lanes */
    uint64_t merged;
    bool again; /* what is pushed now stays touched */
    struct shoal_rank_stats stats;
    struct store_times times; /* but held */
    bool held;                /* a row stayed behind in this step */
    uint64_t steps, held_steps;
};

static inline float *shard_row(const struct shard *h, float *rows, uint32_t i)
{
    return rows + (size_t)i * h->table->stride;
}

static inline float *shard_seen(const struct shard *h, unsigned rank, uint32_t place)
{
    return h->seen + ((size_t)rank * h->owned + place) * h->table->stride;
}

static inline size_t message_bytes(size_t row_bytes, size_t count)
{
    return sizeof(struct head) + count * (row_bytes + sizeof(uint32_t));
}

static inline char *message_rows(const struct head *h)
{
    return (char *)(h + 1);
}

static inline uint32_t message_place(const struct head *h, size_t row_bytes, size_t i)
{
    uint32_t place;

    memcpy(&place, message_rows(h) + h->count * row_bytes + i * sizeof place, sizeof place);
    return place;
}

/* ---- store.c ---- */

/* A buffer to send from; it comes back by itself when it was sent. */
shoal_status letter_take(struct store *s, struct letter **out, size_t bytes);
shoal_status letter_send(struct store *s, struct letter *l, unsigned to, unsigned tag, size_t len);
/* A message without content to all ranks, this one too, behind what was sent
 * before. */
shoal_status tell_all(struct store *s, unsigned tag);
/* A call of the store from its beginning to its end, which adds to *seconds. */
struct spell {
    double began, waited;
};

struct spell spell_begin(const struct store *s);
void spell_end(struct store *s, const struct spell *spell, double *seconds);
/* Takes a copy. */
shoal_status keep(struct store *s, unsigned from, uint64_t round, const void *data, size_t len);
/* Whether a message has the length that its head asks for. */
shoal_status message_check(const struct store *s, unsigned from, const void *data, size_t len,
                           bool float_rows);

/* ---- push.c ---- */

shoal_status push_handle(void *ctx, unsigned from, const void *data, size_t len);
shoal_status fresh_handle(void *ctx, unsigned from, const void *data, size_t len);
/* Sends what is due, as far as credit goes. */
shoal_status push_due(struct store *s);
/* Sends all that was touched, or of SHOAL_SYNC's rounds all that is due. */
shoal_status push_round(struct store *s, bool everything);
/* Nothing is waiting for an answer. */
bool push_settled(void *store);
/* SHOAL_SYNC: the pushes of a round are all here; in the order of the ranks. */
shoal_status push_answer(struct store *s, uint64_t round);
void batch_free(struct batch *b);

/* ---- meet.c ---- */

/* Rounds whose pushes are here from all workers. */
uint64_t least_ends(const struct store *s);
shoal_status clock_handle(void *ctx, unsigned from, const void *data, size_t len);
shoal_status end_handle(void *ctx, unsigned from, const void *data, size_t len);

/* ---- lanes.c ---- */

shoal_status lane_handle(void *ctx, unsigned from, const void *data, size_t len);
shoal_status changed_handle(void *ctx, unsigned from, const void *data, size_t len);

#endif
