/* The inside of a store, for store.c, push.c, rounds.c, blocks.c and lanes.c; not a door.
 *
 * Rows are dealt out to owners (deal.h); an owner keeps those of a table one after the other, at
 * their `place`. */
#ifndef SHOAL_SHARD_H
#define SHOAL_SHARD_H

#include "store/policy.h"
#include "store/store.h"

#include <string.h>

enum {
    TAG_PUSH = 1, /* rows: what a worker made of them */
    TAG_FRESH,    /* rows: the answer, in the order of the push, without places */
    TAG_LANE = 5, /* rows: of one lane; those between are policy.h's */
    TAG_CHANGED,  /* rows: what all lanes made of them */
};

/* Of rows that are asked for before they are needed, and of those that rank 0 collects; 19 is
 * policy.h's. */
enum {
    TAG_ASK = 20, /* places: of rows that a worker will need; the answer is a TAG_FRESH */
    TAG_HOME,     /* rows: an owner's, whole, from a place on */
};

/* Of blocks; those between are the train room's. */
enum {
    TAG_PULL = 16, /* places: of the rows that a block needs */
    TAG_LENT,      /* rows: the answer, as TAG_FRESH */
    TAG_BACK,      /* rows: what the block made of them, message for message as they were lent */
};

enum {
    BATCH_BYTES = 1 << 17, /* of rows in a message, or one row if that is larger */
    CREDITS = 16,          /* messages to an owner without an answer, but in SHOAL_SYNC; */
    CREDIT_BATCHES = 3,    /* their rows, in full messages */
    ROUND_BYTES = 1 << 25, /* of SHOAL_SYNC, in a round: see store_opts */
};

/* A message of rows:
 *
 *     head | count rows of row_bytes | count places of the owner, uint32_t
 *
 * Asking and pulling need no rows. A pull says after how many rounds they are wanted and whether
 * they are only read. An answer has no places, since these are known, but a bit for each row: those
 * that are hardly other than what the asker knows stay where they are.
 *
 *     head | count bits in words of 32 | rows of row_bytes, one for each bit that is set
 *
 * While a message is gathered, places and rows stand behind the longest that it can become:
 *
 *     head | batch rows, batch places | places [batch] | rows [batch], ids that do not travel */
struct head {
    uint32_t table, count;
    union {
        uint32_t lane, after, place;
    };
    uint16_t reads, form;
};

/* How rows stand in a message. */
enum {
    FORM_WIRE,   /* as --wire says; of lanes and answers to pulls whole */
    FORM_WHOLE,  /* floats as they are: where all meet nothing may be left behind */
    FORM_PLACES, /* not at all */
    FORMS,
};

struct form {
    size_t row_bytes;
    uint32_t batch; /* rows in a message */
};

/* What all lanes made of the rows this rank owns (lanes.c); empty between merges. */
struct lane_sums {
    uint32_t *slot;   /* [owned] 0: nobody touched it, else 1 + its place in rows */
    uint32_t *places; /* [used] which they are */
    uint32_t used;
    float *rows; /* [used][stride]; there is room for all, but only pages that were used are there */
};

struct shard {
    struct table *table; /* the replica */
    struct form forms[FORMS];
    struct deal deal;
    unsigned rank; /* this one */
    uint8_t *touches, *flight;
    float *base; /* [rows][stride] what the owner knows; NULL: it is in the messages */
    float *news; /* [hot][stride] what came from elsewhere to the first rows, all in all */
    uint32_t hot;
    uint16_t *heard; /* [rows] the round in which the owner last spoke of it; NULL: nobody asks */

    uint32_t owned;
    uint32_t *own;    /* [owned] the rows this rank keeps, by place; blocks alone */
    float *master;    /* [owned][stride]; NULL: the replica's rows are it */
    float *seen;      /* [workers][owned][stride]; none for the rank itself */
    uint32_t *pushes; /* [owned] that the row has got */
    uint32_t *known;  /* [workers][owned] of them when the rank last saw it */
    uint32_t fast, slow, goal; /* where the two sweeps stand, and where the slow one goes; in
                                  SHOAL_SYNC `fast` is the first row that the last round held back */

    struct lane_sums sums; /* of lanes alone */

    uint32_t *slot; /* [rows] 0: not in the block that is worked on, else 1 + where; blocks alone */
    size_t room;    /* rows that base holds: those of a block */
};

/* ---- blocks ---- */

/* What a worker asked an owner for, and has to give back. */
struct loan {
    struct loan *next;  /* of the block, in the order they were asked for */
    struct loan *later; /* of those that the same owner has not answered */
    struct block *block;
    unsigned owner;
    uint32_t table, count;
    uint32_t at[]; /* [count] which rows of the block */
};

/* Rows of one table, in their order. */
struct part {
    uint32_t *rows;
    float *mine; /* [n][stride] */
    size_t n, cap, room;
};

struct block {
    struct part parts[STORE_TABLES];
    struct loan *loans, **behind;
    size_t missing; /* loans not yet answered */
    bool asked, reads;
};

/* The owner's side of a loan: what the rows were, and how often they had changed. */
struct lent {
    struct lent *next;
    uint32_t table, count;
    uint32_t *places, *pushes; /* [count] */
    float *rows;               /* [count][width] */
};

struct peer {
    struct outgoing *open[STORE_TABLES];   /* batches that are being filled, */
    uint64_t opened[STORE_TABLES];         /* since that step */
    struct outgoing *asking[STORE_TABLES]; /* the same of rows that are asked for */
    struct outgoing *first, **behind;      /* those without an answer, oldest first */
    unsigned out;                          /* of them, */
    size_t owed;                           /* and of their rows */
    uint64_t sent, answered;               /* so far; */
    uint64_t expected;                     /* SHOAL_BOUNDED: of them, when rows were last asked for */
    struct deferrals pushed;       /* SHOAL_SYNC: what it pushed, until the round is whole */
    struct loan *asked, **later;   /* of blocks: not yet answered, oldest first */
    struct loan *filling;          /* the one to be sent next */
    struct lent *lent, **lent_end; /* not yet given back, oldest first */
};

struct store {
    struct comm *comm;
    const struct kernel *kernel;
    struct store_opts opts;
    unsigned rank, ranks;
    struct shard *shards; /* [n] */
    size_t n;
    struct peer *peers; /* [ranks] */
    struct outbox outbox;
    struct policy policy;
    struct {
        unsigned fresh, sweep;
    } ages[STORE_TABLES];      /* as opts has them, but less at first, */
    unsigned due;              /* and this */
    struct deferrals deferred; /* messages until all lanes are here */
    float *mine, *fresh, *was; /* [scratch] a padded row each, one behind the other */
    size_t scratch;
    uint64_t merged;
    unsigned form;             /* of what is pushed now */
    bool collects;             /* rank 0, while it takes all rows */
    float share;               /* the s of folding */
    float least;               /* the square of the smallest move of a row that travels */
    unsigned credits;          /* pushes to an owner without an answer, at most */
    struct block blocks[2];    /* of blocks alone, as is what follows: */
    struct block *now, *next;  /* worked on; asked for */
    struct deferrals pulls;    /* until their round is over */
    struct shoal_rank_stats stats;
    struct store_times times; /* but held */
    bool held;                /* rows stayed behind in this step, */
    uint32_t held_row;        /* this one first */
    size_t first;             /* the stage, in SHOAL_SYNC the table, that the next step begins with, */
    uint32_t first_row;       /* and the row */
    uint64_t steps, held_steps;
};

/* Rows travel between meetings. */
static inline bool exchanges(const struct store_opts *o)
{
    return o->policy != SHOAL_AVERAGE && !o->lanes && !o->blocks;
}

static inline size_t float_bytes(const struct shard *h)
{
    return h->table->width * sizeof(float);
}

/* Rows in full in a message. */
static inline size_t rows_fit(const struct shard *h)
{
    size_t fit = BATCH_BYTES / float_bytes(h);

    return fit ? fit : 1;
}

static inline float *shard_row(const struct shard *h, float *rows, uint32_t i)
{
    return rows + (size_t)i * h->table->stride;
}

/* A row this rank owns. */
static inline float *home_row(const struct shard *h, uint32_t place)
{
    return h->master ? shard_row(h, h->master, place)
                     : shard_row(h, h->table->at, deal_row(&h->deal, h->rank, place));
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

/* Whether it was gathered to the brim. */
static inline bool batch_full(const struct shard *h, const struct outgoing *o)
{
    const struct head *m = o->data;

    return m->count == h->forms[m->form].batch;
}

static inline size_t wire_bytes(const struct shard *h)
{
    return h->forms[FORM_WIRE].row_bytes;
}

static inline size_t bits_bytes(uint32_t count)
{
    return ((size_t)count + 31) / 32 * sizeof(uint32_t);
}

static inline uint32_t message_place(const struct head *h, size_t row_bytes, size_t i)
{
    uint32_t place;

    memcpy(&place, message_rows(h) + h->count * row_bytes + i * sizeof place, sizeof place);
    return place;
}

/* ---- store.c ---- */

/* Whether a message has the length that its head asks for. */
shoal_status store_message_check(const struct store *s, unsigned from, const void *data,
                                 size_t len);

/* The rank knows what this one owns as it is now. */
void shard_note_seen(struct store *s, struct shard *h, unsigned rank);

/* ---- push.c ---- */

/* Writes x to the wire in that form; the receiver knows `known`. *x becomes what it will read. */
void wire_write(const struct store *s, const struct shard *h, unsigned form, char *wire, float *x,
                const float *known);
void wire_read(const struct store *s, const struct shard *h, unsigned form, float *x,
               const char *wire, const float *known);
/* The row at `place` becomes what it was and `mine`, which began at `seen`, since when
 * others pushed it `missed` times. */
void shard_merge(struct store *s, struct shard *h, uint32_t place, uint32_t missed,
                 const float *mine, const float *seen);

/* Room for one more row of table t in what is gathered for the rank: *wire is where it
 * goes. The batch is of the lane, if it is new. */
shoal_status batch_add(struct store *s, size_t t, unsigned to, uint32_t lane, uint32_t row,
                       uint32_t place, char **wire);
/* Sends what was gathered of table t, if anything. */
shoal_status batch_send(struct store *s, size_t t, unsigned to, unsigned tag);
shoal_status batches_send(struct store *s, unsigned tag); /* of all tables to all */

shoal_status store_push_handle(void *ctx, unsigned from, const void *data, size_t len);
shoal_status store_ask_handle(void *ctx, unsigned from, const void *data, size_t len);
shoal_status store_home_handle(void *ctx, unsigned from, const void *data, size_t len);
shoal_status store_fresh_handle(void *ctx, unsigned from, const void *data, size_t len);
/* Sends what is due, as far as credit goes. */
shoal_status store_push_due(struct store *s);
void store_ages_set(struct store *s); /* for this round */
/* Sends all that was touched, as fast as owners answer; not of SHOAL_SYNC. */
shoal_status store_push_all(struct store *s);
/* SHOAL_SYNC: sends what is due in this round, as far as credit goes. */
shoal_status store_push_round(struct store *s);
/* The same of all rows from *at of table *t on that were touched, as many as a round may carry;
 * where it ended, *t is s->n after the last. The same on every rank, whatever it touched. */
shoal_status store_push_some(struct store *s, size_t *t, uint32_t *at);
/* Takes out the oldest batch without an answer, or gives NULL. */
struct outgoing *peer_take_answered(struct peer *p);
/* Nothing is waiting for an answer. */
bool store_push_settled(void *store);
/* SHOAL_SYNC: the pushes of a round are all here; in the order of the ranks. */
shoal_status store_push_answer(void *store, uint64_t round);

/* ---- blocks.c ---- */

shoal_status store_pull_handle(void *ctx, unsigned from, const void *data, size_t len);
shoal_status store_lent_handle(void *ctx, unsigned from, const void *data, size_t len);
shoal_status store_back_handle(void *ctx, unsigned from, const void *data, size_t len);
/* What a block gave back is merged. */
shoal_status store_back_merge(struct store *s, unsigned from, const struct head *m);
/* The pulls for which enough rounds are over. */
shoal_status store_pulls_answer(struct store *s);
shoal_status store_blocks_gather(struct store *s);
void store_blocks_init(struct store *s);
void store_blocks_fini(struct store *s);

/* ---- lanes.c ---- */

shoal_status store_lane_handle(void *ctx, unsigned from, const void *data, size_t len);
shoal_status store_changed_handle(void *ctx, unsigned from, const void *data, size_t len);

#endif
