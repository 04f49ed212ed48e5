/* store: where views meet.
 *
 * What this is: the views workers compute on, and the rules by which what they
 * learned apart comes together: on one machine (view.c) and between ranks, over
 * rows that are sharded over their owners (store.c and its neighbours). It knows
 * rows, never what a row means.
 * Who owns what: a view borrows its table and owns its copies; a store borrows
 * the tables, which are its rank's replica, and owns the rest.
 * Threads: a view belongs to one worker. view_sync may run while others train
 * (rows race as Hogwild does); views_merge runs while nobody trains. A store is
 * called by the thread that opened its comm, while others may train. */
#ifndef SHOAL_STORE_H
#define SHOAL_STORE_H

#include "base/base.h"
#include "comm/comm.h"
#include "kernel/kernel.h"
#include "store/dense.h"

/* The s of fold (kernel.h, view.c): parallel changes are averaged. */
#define STORE_MEAN 0.5f
/* The same between ranks, where nobody says otherwise: rows that travel often have moved little, so
 * less than the half of what two changes have in common is left out. */
#define STORE_SHARE 0.375f

enum {
    STORE_LANES_MOST = 64, /* private views of a table on one rank */
    VIEW_HOT_TOUCHES = 128,
};

/* ---- view.c ------------------------------------------------------------------- */

/* The table itself, but for private copies of its first `hot` rows. */
shoal_status view_init_shared(struct view *v, struct table *t, uint32_t hot);
/* Private copies of whatever is touched, until views_merge. */
shoal_status view_init_private(struct view *v, struct table *t);
void view_fini(struct view *v);
/* What a private view may hold at most, in bytes. */
size_t view_bytes(const struct table *t, size_t touched);

/* *row gets the change from base to mine whole. */
void row_add(const struct table *t, float *row, const float *mine, const float *base);
/* Two changes of a row that began at base meet in *row: folded (kernel.h) with that
 * share of what they have in common left out, or added, as the table has it. */
void row_merge(const struct table *t, const struct kernel *kernel, float *row, const float *mine,
               const float *base, float share);

/* With other ranks: what they do to the hot rows is in `news` (store_news), borrowed. */
shoal_status view_hear(struct view *v, const float *news);
/* Folds or adds the private hot rows into the table's and reads them anew. Those that changed
 * count as touched VIEW_HOT_TOUCHES times: they are due. */
void view_sync(struct view *v, const struct kernel *kernel);

/* Brings n <= STORE_LANES_MOST private views of one table together, by all of the workers or,
 * where they are NULL, alone: each row's changes are folded
 * in the order of the views, so the result is the same for any number of
 * threads. Parallel changes are averaged, orthogonal ones added (kernel.h,
 * fold): plain addition overshoots the rows that all views move. The views are
 * empty afterwards. */
void views_merge(struct view *views, size_t n, const struct kernel *kernel,
                 struct workers *workers);

/* ---- store.c, push.c, rounds.c, lanes.c: rows between ranks -------------------------
 *
 *   worker                                     owner of the row
 *   replica   trained on by all threads        master   the row itself: that of its own
 *                                                       replica, but in SHOAL_SYNC
 *   base      what the owner knows of it;      seen[r]  what rank r knows of it,
 *             of floats the message says so             the same bits as its base
 *             -- mine (replica) -->  master = fold(master, mine, seen[r])
 *             <-- fresh (master) --  seen[r] = master
 *   replica += fresh - mine, base = fresh
 *
 * The owner folds as if what the sender and all others did since the sender last
 * saw the row were two changes of the same base: of parallel ones a part is left
 * out, orthogonal ones are added. Its own rows an owner trains in place; they count
 * as pushed when they would travel. Rows travel when they have been touched `due` times, so
 * hot rows often and cold ones seldom, and all that were touched at all once in
 * a while; but none that has moved by less than `least`. Rows that a worker will need and has
 * not heard of for long it asks for ahead of time (store_expect). On all wires but f32 what
 * travels is the difference to what the other side knows; what rounding leaves behind stays in
 * replica or master and goes with the next difference. */

enum {
    STORE_TABLES = 4, /* at most */
    STORE_EARLY = 16, /* see store_opts.early */
};

struct store_opts {
    enum shoal_sync policy;
    unsigned staleness; /* of SHOAL_BOUNDED and SHOAL_AVERAGE */
    enum shoal_wire wire;
    unsigned servers;             /* the last so many ranks own all rows; 0: all ranks do */
    unsigned due;                 /* touches after which a row travels: 1 to 255 */
    unsigned sweep[STORE_TABLES]; /* rounds in which every touched row travels at least once */
    unsigned fresh[STORE_TABLES]; /* store_expect asks for rows of which nothing was heard for so
                                     many rounds; 0: for none */
    unsigned early; /* not 0: `due`, `sweep` and `fresh` begin at this part of what they say, and
                     * grow with the run, until it has lasted STORE_EARLY times sweep[0] */
    unsigned fill;  /* steps, beside the first, that a message waits for more rows */
    float share;    /* of what the changes of two ranks have in common, left out of each when they
                     * are folded; 0: STORE_SHARE */
    uint32_t rare;  /* not 0: rows from this on are rare, and so much of theirs is left out: */
    float share_rare;
    unsigned apart; /* SHOAL_SYNC: so many rounds no row travels, then all meet, and all that
                     * was touched; 0: rows travel in each round */
    bool whole;  /* SHOAL_ASYNC, SHOAL_BOUNDED: every touched row travels in each round,
                  * and its worker waits for the answers, though for no other worker */
    bool blocks; /* no replicas: rows come for each block of work (below) */
    size_t needed[STORE_TABLES]; /* blocks: rows of each table that one needs at most, about */
    bool lanes;                  /* store_merge_lanes alone brings rows together */
    size_t round_bytes;          /* SHOAL_SYNC: of rows that a worker sends in a round; 0: 32 MiB */
    uint32_t hot;        /* the first so many rows of each table have copies in threads' views */
    bool oversubscribed; /* more threads than cores: let the owners of rows run in between */
};

struct store;

/* Collective. Every rank gives the same tables with the same rows in them.
 * traffic[t] [rows] says how often a row of table t is expected to travel, to
 * balance the shards by; NULL: all alike. */
shoal_status store_open(struct store **out, struct comm *comm, struct table *tables, size_t n,
                        const float *const *traffic, const struct kernel *kernel,
                        const struct store_opts *opts);
void store_close(struct store *s);
/* What store_open will take beside the tables, and messages later, on the rank that needs most:
 * with servers that is one of them, which keeps what each worker has seen of its rows. */
uint64_t store_bytes(const struct table *tables, size_t n, unsigned ranks,
                     const struct store_opts *opts);

/* Workers raise touches[row] when they change a row of table t, up to 255. */
uint8_t *store_touches(struct store *s, size_t t);
/* [opts.hot][stride] what other ranks did to the first rows of table t, all in all, for views that
 * have copies of them (view.news); NULL: opts.hot is 0, or rows wait for the end of a round. */
const float *store_news(const struct store *s, size_t t);
/* The rank that owns each row of table t, and which of its rows it is there. */
const struct deal *store_deal(const struct store *s, size_t t);

/* Lets rows travel, never waiting. Between pieces of work of about a
 * millisecond. */
shoal_status store_step(struct store *s);
/* These rows of table t will be needed before long. Those of which nothing was heard for
 * opts.fresh rounds are asked for, as far as credit goes; ids beyond the table are passed over. */
shoal_status store_expect(struct store *s, size_t t, const uint32_t *rows, size_t n);
/* SHOAL_BOUNDED: what store_expect asked for is here; it waits for credit there, too. Of the
 * other policies it asks nothing. */
shoal_status store_await(struct store *s);
/* From now on a row that moved by less than this stays where it is, on its way to the owner and
 * back, until it has moved further; 0 at first. At meetings all travel. */
void store_set_least(struct store *s, float move);
/* A round of this worker is over: waits as the policy says. All workers must end
 * the same number of rounds between two meetings when the policy is not
 * SHOAL_ASYNC. */
shoal_status store_round(struct store *s);
/* Collective, on servers too: everything that was touched has travelled, and
 * afterwards the tables are the same on every rank, until one goes on. */
shoal_status store_gather(struct store *s);
/* The same where nobody goes on: rank 0 has all rows, the others theirs alone. */
shoal_status store_collect(struct store *s);
/* Since the last meeting half of all that was touched has had its turn on this rank:
 * who only goes on needs none now. False where rows do not travel between meetings. */
bool store_swept(const struct store *s);
/* Collective: of each table views[t] [n] are this rank's share of a fixed sequence of
 * lanes (view i of worker w is lane i * workers + w); they are brought together as
 * views_merge would all of them on one rank, bit for bit, on every rank. */
shoal_status store_merge_lanes(struct store *s, struct view *const *views, size_t n);

/* ---- blocks.c: without replicas ----------------------------------------------------
 *
 * A model may be larger than a worker's memory. Owners then keep their rows and
 * nobody else anything: a worker says which rows its next block of work needs, they
 * come while it works on the one before, and go back, changed, at its end.
 *
 *   worker                                        owner of the row
 *   want    the next block's rows  -- places -->  lent = master, kept for each loan
 *   ... works on this one ...      <-- rows ----
 *   swap    mine, base = lent      -- mine ---->  master = fold(master, mine, lent)
 *           next += mine - base                   later loans of that rank likewise
 *
 * So a worker sees what it did itself at once and what others did at its next pull
 * but one. Loans are given back in the order they were made, message for message.
 * With SHOAL_SYNC the next rows are lent only when all blocks of a round are merged.
 * A round is a block. The tables given to store_open have no rows (at is NULL);
 * store_gather leaves each row with its owner. */

/* Of table t the rows this rank owns, by place, and which they are; zero at first. */
struct table store_owned(const struct store *s, size_t t, const uint32_t **rows);
/* The next block needs the rows whose bits are set in bits[t] [rows]; the bits are
 * cleared. With `reads` nothing of it goes back, and it is no round; only when no
 * block is worked on. */
shoal_status store_want(struct store *s, uint64_t *const *bits, bool reads);
/* The block swap: what was worked on goes back, a round ends as the policy says, and the
 * rows that were wanted, if any, are here. */
shoal_status store_swap(struct store *s);
/* A view of the block that store_swap brought, for this worker; borrowed until the
 * next swap, and not to be ended. Only rows that were wanted may be asked for. */
struct view store_view(const struct store *s, size_t t);

/* Of this rank alone; ranks, servers, load_most and what comm counts are left 0. *merged: rows
 * that it merged as their owner. */
struct shoal_rank_stats store_stats(const struct store *s, uint64_t *merged);
/* Where the time of this rank's calls went, in seconds. */
struct store_times {
    double steps;  /* store_step, store_round and store_merge_lanes: between pieces of work */
    double meets;  /* store_gather */
    double waited; /* of both, as comm_stats counts it */
    double yielded; /* of the steps: others had the core (store_opts.oversubscribed) */
    double held;   /* the share of steps that left rows behind, since their owners had not
                      answered for earlier ones */
};

struct store_times store_times(const struct store *s);

#endif
