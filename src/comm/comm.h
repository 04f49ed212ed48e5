/* comm: ranks, and the messages between them.
 *
 * What this is: processes that run the same program, each with a rank, on one
 * machine or many. self.c is a world of one; mpi.c is the only file that knows
 * MPI. Nothing here knows rows, words or models.
 * Who owns what: a comm owns its buffers; data to be sent is borrowed until its
 * ticket is done; data received is borrowed for the length of the call.
 * Threads: one thread, the one that opened it, calls everything here. Where MPI
 * allows it (MPI_THREAD_SERIALIZED) another one, the heartbeat, sends signs of life.
 *
 * Messages are never lost, never doubled, and arrive in the order they were
 * sent between two ranks. A rank that stops answering is noticed: every call
 * below that may wait, and comm_poll, then fails with SHOAL_EPEER and a sentence
 * that names it, its host and its last round. So is one that left while others
 * wait for it. */
#ifndef SHOAL_COMM_H
#define SHOAL_COMM_H

#include "base/base.h"

enum {
    COMM_MAX_MESSAGE = 1 << 20, /* bytes of one message */
    COMM_TAGS = 24,             /* tags are 0 .. COMM_TAGS - 1 */
    COMM_MAX_RANKS = 1024,
};

struct comm;

/* Joins the world of whoever launched this process (mpirun, srun), or a world of
 * one when nobody did. Fails when it was launched among others that it cannot
 * reach: this build has no MPI, or not the launcher's. At most once in a process. */
shoal_status comm_open(struct comm **out);
/* A world of one, whatever launched this process; any number of times. */
shoal_status comm_open_self(struct comm **out);
/* Waits until all ranks close, when `ok`, living meanwhile; otherwise, or when one of
 * them falls silent, ends the whole world, this process and all ranks of it, with
 * exit status 1: nobody is left waiting for this one. Handlers are not called any
 * more, what still comes for them is dropped; so where ranks may still need each
 * other, a barrier goes before. */
void comm_close(struct comm *c, bool ok);

unsigned comm_rank(const struct comm *c);
unsigned comm_size(const struct comm *c);
const char *comm_host(const struct comm *c, unsigned rank);
/* On this host, this one among them. */
unsigned comm_ranks_here(const struct comm *c);
/* The same; above 1 the host is oversubscribed: others need the core while we wait. */
double comm_ranks_per_core(const struct comm *c);
/* Says what this rank is about to compute, in words, rows or samples. Where time is
 * simulated (docs/studies.md) that takes its time here; elsewhere it is nothing. */
void comm_charge(struct comm *c, double units);

/* ---- messages ------------------------------------------------------------------ */

/* Given for what was begun; 0 stands for what is done already. */
typedef uint64_t comm_ticket;

/* Begins to send; `data` stays as it is until the ticket is done. A rank may
 * send to itself: such a message is copied, and its ticket is 0. */
shoal_status comm_send(struct comm *c, unsigned to, unsigned tag, const void *data, size_t len,
                       comm_ticket *ticket);
/* Whether what the ticket stands for is done, without waiting: `data` is free,
 * which does not say that it was received. A ticket seen done is 0 from then on. */
shoal_status comm_test(struct comm *c, comm_ticket *ticket, bool *done);

/* Called by comm_poll, and by whatever waits, for each message that came. It may
 * send; it may neither poll nor wait. Its failure is that of the call it runs in. */
typedef shoal_status (*comm_handler)(void *ctx, unsigned from, const void *data, size_t len);
/* Messages of this tag go to `handle` from now on; those that came before there
 * was a handler wait for it, however many, and reach it in the next poll. NULL
 * takes it away. */
void comm_on(struct comm *c, unsigned tag, comm_handler handle, void *ctx);

/* Lets messages move: hands over those that came, looks who is silent. Cheap when
 * there is nothing to do. *any (may be NULL) tells whether something came. Who does
 * not poll for long lives on by its heartbeat, but answers nobody; where there is no
 * heartbeat (comm_has_heartbeat) signs of life leave here, and it is silent to the others. */
shoal_status comm_poll(struct comm *c, bool *any);
/* Polls until the ticket is done; sleeps a little, so that others may have the
 * core, when nothing comes. */
shoal_status comm_wait(struct comm *c, comm_ticket *ticket);
/* The same for a condition that handlers bring about. */
shoal_status comm_until(struct comm *c, bool (*reached)(void *ctx), void *ctx);

/* ---- deferred.c: messages that wait, first in, first out -------------------------- */

struct deferred {
    struct deferred *next;
    unsigned from;
    uint64_t of; /* a tag, a round, ...: as its list has it */
    size_t len;
    _Alignas(16) char data[]; /* [len] a copy */
};

struct deferrals {
    struct deferred *first, **end; /* NULL, NULL: none */
};

shoal_status deferred_add(struct deferrals *list, unsigned from, uint64_t of, const void *data,
                          size_t len);
/* Takes out the one that *at points to; free() it. */
struct deferred *deferred_take(struct deferrals *list, struct deferred **at);
/* The oldest of that rank and kind, or NULL. */
struct deferred *deferred_find(struct deferrals *list, unsigned from, uint64_t of);
void deferred_fini(struct deferrals *list);

/* ---- collectives -----------------------------------------------------------------
 * Every rank calls the same one in the same order; handlers run while waiting.
 * Results are the same bits on every rank, whatever the MPI library: sums are
 * added in the order of the ranks. When one of these fails otherwise than it says
 * below, ranks may be out of step: no other may follow, and its data stays
 * borrowed until comm_close. */

shoal_status comm_barrier(struct comm *c);
shoal_status comm_sum(struct comm *c, double *x, size_t n);
/* Over the first so many ranks, which alone call it, the same number each time; the others may be
 * in whatever else meanwhile. */
shoal_status comm_sum_first(struct comm *c, unsigned first, double *x, size_t n);
shoal_status comm_sum_u64(struct comm *c, uint64_t *x, size_t n);
shoal_status comm_max(struct comm *c, double *x, size_t n);
/* x becomes its sum over the ranks; n may be large. For averaging models. The
 * order of the sum is fixed by the ranks alone here too. */
shoal_status comm_sum_floats(struct comm *c, float *x, size_t n);
/* From `root`, which only reads, to all; root and len are the same everywhere, or all fail. */
shoal_status comm_broadcast(struct comm *c, unsigned root, void *data, size_t len);
/* Everybody's bytes, in the order of the ranks, on every rank: (*lens)[r] of them
 * are rank r's; free(*data) and free(*lens). Any length, different on each rank. */
shoal_status comm_gather(struct comm *c, const void *mine, size_t len, char **data, size_t **lens);

/* No rank leaves alone: gives SHOAL_OK when all ranks say so, else on every rank
 * the failure of the lowest one that failed, with its sentence (preceded by
 * "rank 2 on n1: " elsewhere than there). Who lost a rank can ask nobody: SHOAL_EPEER
 * comes back at once. */
shoal_status comm_agree(struct comm *c, shoal_status st);

/* ---- who is there --------------------------------------------------------------- */

/* A rank of which nothing was heard for so many seconds is silent; 0, as it is
 * at first: never. The same on every rank, since it says how often to give signs
 * of life: four times in that time, or every second. Only time spent polling
 * counts: after a pause of our own the others have a quarter of it more. A rank
 * once found silent stays so, until the timeout is set again. */
void comm_silence_timeout(struct comm *c, double seconds);
/* Whether ranks live by a heartbeat: then they may be watched from the beginning to the
 * end, however long they work without polling. */
bool comm_has_heartbeat(const struct comm *c);
/* What signs of life tell the others about this rank. */
void comm_round(struct comm *c, uint64_t round);

struct comm_stats {
    /* to and from other ranks, signs of life and collectives included */
    uint64_t messages_out, messages_in, bytes_out, bytes_in;
    double waited;  /* seconds in comm_wait, comm_until and collectives */
    double handled; /* of these, spent on messages that came */
    uint64_t waits; /* times that there was something to wait for */
};

struct comm_stats comm_stats(const struct comm *c);

/* Seconds from here on, and how many of them are waited; c may be NULL. */
struct comm_timer {
    double began, waited;
};

struct comm_timer comm_timer_begin(const struct comm *c);
/* Up to now: adds its seconds to *all, and those waited to *waited. */
void comm_timer_end(const struct comm *c, const struct comm_timer *timer, double *all,
                    double *waited);

/* As comm_stats, with one other rank. */
struct comm_peer_stats {
    uint64_t bytes_out, bytes_in;
    double awaited; /* seconds of waiting that a message of its ended; of collectives only
                       rank 0 knows who was late */
};

struct comm_peer_stats comm_peer_stats(const struct comm *c, unsigned rank);

#endif
