/* What the files of this room share: the two kinds of world, and a comm from inside. */
#ifndef SHOAL_COMM_INNER_H
#define SHOAL_COMM_INNER_H

#include "comm/comm.h"

/* ---- worlds: self.c and mpi.c ---------------------------------------------- */

struct message {
    unsigned from, tag;
    const void *data;
    size_t len;
};

/* One that waited, under its tag. */
static inline struct message message_of(const struct deferred *d)
{
    return (struct message){.from = d->from, .tag = (unsigned)d->of, .data = d->data,
                            .len = d->len};
}

struct comm_world {
    /* *at is the world, to be ended with close */
    shoal_status (*open)(void **at, unsigned *rank, unsigned *size, char library[64]);
    /* When `ok`, all that was sent has arrived; otherwise the world ends here. */
    void (*close)(void *at, bool ok);
    /* *ticket is 0 when `data` is free again at once. */
    shoal_status (*send)(void *at, unsigned to, unsigned tag, const void *data, size_t len,
                         comm_ticket *ticket);
    shoal_status (*test)(void *at, comm_ticket ticket, bool *done);
    /* The next message that came, if any; its bytes, 16-byte aligned, stay until
     * the next call. */
    shoal_status (*receive)(void *at, struct message *m, bool *any);

    /* Whether other threads than the one that opened it may call, one at a time; and lets what was
     * sent go on its way without taking anything in. NULL: they may not. */
    bool (*threads)(void *at);
    void (*progress)(void *at);

    /* Only of a world whose time is simulated, else NULL: what computing so many units
     * takes, what waiting takes after so many polls found nothing, and which host the
     * rank is on. */
    void (*charge)(void *at, double units);
    void (*rest)(void *at, unsigned empty);
    void (*host)(void *at, char *name, size_t cap);
};

extern const struct comm_world comm_world_self;
#ifdef SHOAL_MPI
extern const struct comm_world comm_world_mpi;
#endif

/* ---- a comm from inside --------------------------------------------------------- */

/* Tags of our own, behind those of the callers. MPI promises 32,767 of them. */
enum {
    TAG_LIFE = COMM_TAGS, /* u64 round: its sender lives */
    TAG_BYE,              /* its sender closes: nothing follows but signs of life, */
    TAG_LAST,             /* and behind this nothing at all */
    TAG_COLLECTIVE,       /* and beyond: collective.c */
};

struct side {
    const struct comm_world *kind; /* NULL: nobody is there */
    void *at;
};

struct inbox {
    comm_handler handle;
    void *ctx;
    struct deferrals waiting; /* came before there was a handler */
};

struct peer {
    double heard;   /* when, by the clock `attended` */
    uint64_t round; /* as it told last */
    uint64_t beat;  /* the round we tell it, on its way while `beating`; whoever beats has both */
    comm_ticket beating;
    bool left; /* said goodbye */
    bool gone; /* nothing follows at all */
    char host[64];
    struct comm_peer_stats stats;
};

struct comm {
    struct side self, others;
    unsigned rank, size;
    char library[64];
    struct peer *peers; /* [size] */
    struct inbox inbox[COMM_TAGS];
    bool handling; /* a handler runs */
    unsigned here; /* ranks of this host */
    double per_core; /* the same: above 1 it is oversubscribed */
    bool closing, last; /* we said goodbye; and that nothing follows */
    uint64_t came; /* messages so far, of any tag: whether a poll found some */
    unsigned sender; /* 1 + who sent the first one that ends a wait, of this poll */

    /* Signs of life. `attended` runs only while we poll: who computes for long
     * cannot blame others for what it did not listen to. */
    double polled, attended; /* seconds */
    double silence_timeout, judge_after, next_check, next_beat;
    double waits_since; /* by `attended`, while we wait; negative: we do not */
    uint64_t round;     /* read by the heartbeat too */
    unsigned lost;      /* 1 + the rank that fell silent, or left while we wait */
    struct comm_heartbeat *heartbeat; /* NULL: none */

    /* collective.c */
    const struct collective *now; /* the one we are in */
    uint64_t begun, begun_first;  /* so far, of all ranks and of the first ones alone */
    struct deferrals early;       /* for those we are not in yet, or parts not due */

    struct comm_stats stats;
};

/* comm_send for any tag. */
shoal_status comm_post(struct comm *c, unsigned to, unsigned tag, const void *data, size_t len,
                       comm_ticket *ticket);
/* Polls until `step`, called before each poll, says done. */
shoal_status comm_loop(struct comm *c, shoal_status (*step)(void *ctx, bool *done), void *ctx);
/* Tells all others that this rank lives; by the heartbeat, or where we poll if there is none. */
shoal_status comm_beat(struct comm *c);

/* ---- heartbeat.c ---- */

/* Begins one that beats every so many seconds, if the world allows it. */
void heartbeat_start(struct comm *c, double seconds);
void heartbeat_set(struct comm *c, double seconds);
/* Waits for its end. */
void heartbeat_stop(struct comm *c);
/* Around every call into the world of others, and what counts these. */
void heartbeat_enter(const struct comm *c);
void heartbeat_leave(const struct comm *c);

/* A message with a tag of TAG_COLLECTIVE or beyond. */
shoal_status collective_arrived(struct comm *c, const struct message *m);

#endif
