/* A world of one: what a rank sends to itself. Larger worlds have one beside
 * them, so that a message to oneself never waits for another rank. */
#include "comm/inner.h"

#include <stdio.h>
#include <stdlib.h>

struct self {
    struct deferrals sent;
    struct deferred *handed; /* the one received last */
};

static shoal_status self_open(void **at, unsigned *rank, unsigned *size, char library[64])
{
    *rank = 0;
    *size = 1;
    snprintf(library, 64, "self");
    *at = mem_array(1, sizeof(struct self));
    return *at ? SHOAL_OK : SHOAL_ENOMEM;
}

static void self_close(void *at, bool ok)
{
    struct self *self = at;

    (void)ok;
    deferred_fini(&self->sent);
    free(self->handed);
    free(self);
}

/* A copy, so that nobody waits: the message is done as soon as it is sent. */
static shoal_status self_send(void *at, unsigned to, unsigned tag, const void *data, size_t len,
                              comm_ticket *ticket)
{
    struct self *self = at;

    *ticket = 0;
    return deferred_add(&self->sent, to, tag, data, len);
}

static shoal_status self_test(void *at, comm_ticket ticket, bool *done)
{
    (void)at, (void)ticket;
    *done = true;
    return SHOAL_OK;
}

static shoal_status self_receive(void *at, struct message *m, bool *any)
{
    struct self *self = at;

    free(self->handed);
    self->handed = self->sent.first ? deferred_take(&self->sent, &self->sent.first) : NULL;
    *any = self->handed != NULL;
    if (*any)
        *m = message_of(self->handed);
    return SHOAL_OK;
}

const struct comm_world comm_world_self = {
    .open = self_open,
    .close = self_close,
    .send = self_send,
    .test = self_test,
    .receive = self_receive,
};
