#include "store/outbox.h"

#include <stdlib.h>

static void outgoing_free(struct outgoing *o)
{
    free(o->data);
    free(o);
}

/* Those that have gone are idle again. */
static shoal_status collect(struct outbox *b)
{
    struct outgoing **at = &b->out;

    while (*at) {
        struct outgoing *o = *at;
        bool gone = true;

        for (unsigned i = 0; i < o->sent && gone; i++) {
            shoal_status st = comm_test(b->comm, &o->tickets[i], &gone);

            if (st != SHOAL_OK)
                return st;
        }
        if (!gone) {
            at = &o->next;
            continue;
        }
        *at = o->next;
        o->next = b->idle;
        b->idle = o;
    }
    return SHOAL_OK;
}

shoal_status outbox_take(struct outbox *b, struct outgoing **out, size_t bytes)
{
    shoal_status st = b->idle ? SHOAL_OK : collect(b);
    struct outgoing *o = b->idle;

    *out = NULL;
    if (st != SHOAL_OK)
        return st;
    if (o)
        b->idle = o->next;
    else if (!(o = mem_array(1, sizeof *o + comm_size(b->comm) * sizeof *o->tickets)))
        return SHOAL_ENOMEM;
    if (bytes > o->cap) {
        free(o->data);
        o->data = mem_array(bytes, 1);
        o->cap = bytes;
    }
    if (!o->data) {
        free(o);
        return SHOAL_ENOMEM;
    }
    o->next = NULL;
    o->sent = 0;
    *out = o;
    return SHOAL_OK;
}

shoal_status outbox_send(struct outbox *b, struct outgoing *o, unsigned to, unsigned tag,
                         size_t len)
{
    return comm_send(b->comm, to, tag, o->data, len, &o->tickets[o->sent++]);
}

void outbox_release(struct outbox *b, struct outgoing *o)
{
    if (!o)
        return;
    o->next = b->out;
    b->out = o;
}

shoal_status outbox_post(struct outbox *b, struct outgoing *o, unsigned to, unsigned tag,
                         size_t len)
{
    shoal_status st = outbox_send(b, o, to, tag, len);

    outbox_release(b, o);
    return st;
}

void outbox_fini(struct outbox *b)
{
    while (b->out) {
        struct outgoing *o = b->out;
        shoal_status st = SHOAL_OK;

        b->out = o->next;
        for (unsigned i = 0; i < o->sent && st == SHOAL_OK; i++)
            st = comm_wait(b->comm, &o->tickets[i]);
        if (st == SHOAL_OK)
            outgoing_free(o);
    }
    while (b->idle) {
        struct outgoing *o = b->idle;

        b->idle = o->next;
        outgoing_free(o);
    }
}
