/* outbox: this rank's messages on their way, of rows or of pieces; not a door.
 *
 * What this is: buffers that are filled, sent to one rank or several, and filled again
 * once they have gone.
 *
 *     idle -- take --> the caller's -- send, send ... --> release --> on its way
 *      ^                                                                  |
 *      '------------------ when none is idle: those that have gone -------'
 *
 * A message that is answered is released with the answer, which speaks of what it said.
 * Who owns what: between take and release it is the caller's, else the outbox's.
 * Threads: the one that opened the comm. */
#ifndef SHOAL_OUTBOX_H
#define SHOAL_OUTBOX_H

#include "comm/comm.h"

struct outgoing {
    struct outgoing *next;
    void *data;
    size_t cap;    /* bytes */
    unsigned sent; /* times */
    comm_ticket tickets[]; /* [ranks] */
};

struct outbox {
    struct comm *comm;
    struct outgoing *out, *idle;
};

/* One of at least so many bytes. */
shoal_status outbox_take(struct outbox *b, struct outgoing **out, size_t bytes);
/* Its first len bytes; at most once to each rank. */
shoal_status outbox_send(struct outbox *b, struct outgoing *o, unsigned to, unsigned tag,
                         size_t len);
void outbox_release(struct outbox *b, struct outgoing *o);
/* Sends and releases it. */
shoal_status outbox_post(struct outbox *b, struct outgoing *o, unsigned to, unsigned tag,
                         size_t len);
/* Waits until all has gone; what cannot, because a rank is gone, may still be looked at
 * by whoever was to send it: it is left. */
void outbox_fini(struct outbox *b);

#endif
