/* What the links between hosts can carry: the first rank of each host sends to that
 * of the next one, until it takes long enough to be timed. Every other host sends
 * at a time, so that what comes back does not stand in line behind what goes. */
#include "train/profile/profile.h"

#include <stdlib.h>
#include <string.h>

enum {
    TAG_LINK = 15,
    CHUNK = 256 << 10,
    LEAST = 4, /* chunks */
    MOST = 64,
};

/* Beside it what an idle link lets pass at once, and what two sides need to find
 * out how fast they can be, is little. */
#define LONG_ENOUGH 0.15 /* seconds */

struct ring {
    struct comm *comm;
    bool first;             /* of its host */
    unsigned next;          /* the first of the next host */
    unsigned place, before; /* of this host and of the one before, in the ring */
    size_t got, want;       /* bytes */
    char *chunk;
    comm_ticket tickets[MOST];
};

static bool is_first(const struct comm *c, unsigned rank)
{
    for (unsigned r = 0; r < rank; r++)
        if (strcmp(comm_host(c, r), comm_host(c, rank)) == 0)
            return false;
    return true;
}

static void find_place(struct ring *ring)
{
    struct comm *c = ring->comm;
    unsigned rank = comm_rank(c), hosts = 0;

    ring->first = is_first(c, rank);
    for (unsigned r = 0; r < comm_size(c); r++) {
        if (r == rank)
            ring->place = hosts;
        hosts += is_first(c, r);
    }
    ring->before = (ring->place + hosts - 1) % hosts;
    ring->next = rank;
    do
        ring->next = (ring->next + 1) % comm_size(c);
    while (!is_first(c, ring->next));
}

static shoal_status link_handle(void *ctx, unsigned from, const void *data, size_t len)
{
    struct ring *ring = ctx;

    (void)from, (void)data;
    ring->got += len;
    return SHOAL_OK;
}

static bool all_here(void *ctx)
{
    const struct ring *ring = ctx;

    return ring->got >= ring->want;
}

static shoal_status pass_on(struct ring *ring, unsigned chunks)
{
    shoal_status st = SHOAL_OK;

    for (unsigned i = 0; i < chunks && st == SHOAL_OK; i++)
        st = comm_send(ring->comm, ring->next, TAG_LINK, ring->chunk, CHUNK, &ring->tickets[i]);
    for (unsigned i = 0; i < chunks && st == SHOAL_OK; i++)
        st = comm_wait(ring->comm, &ring->tickets[i]);
    return st;
}

/* Hosts at even places send, or those at odd ones. *seconds becomes how long it
 * took to come here, if it did. */
static shoal_status time_half(struct ring *ring, unsigned chunks, unsigned odd, double *seconds)
{
    double began;
    shoal_status st;

    ring->got = 0;
    ring->want = ring->first && ring->before % 2 == odd ? (size_t)chunks * CHUNK : 0;
    st = comm_barrier(ring->comm);
    began = clock_now();
    if (st == SHOAL_OK && ring->first && ring->place % 2 == odd)
        st = pass_on(ring, chunks);
    if (st == SHOAL_OK)
        st = comm_until(ring->comm, all_here, ring);
    if (ring->want > 0)
        *seconds = clock_now() - began;
    return st;
}

shoal_status profile_link_rate(struct comm *c, double *rate)
{
    struct ring ring = {.comm = c, .chunk = mem_array(CHUNK, 1)};
    shoal_status st = comm_agree(c, ring.chunk ? SHOAL_OK : SHOAL_ENOMEM);
    double longest = 0;

    *rate = 0;
    find_place(&ring);
    comm_on(c, TAG_LINK, link_handle, &ring);
    for (unsigned n = LEAST; st == SHOAL_OK && n <= MOST && longest < LONG_ENOUGH; n *= 2) {
        double seconds = 0;

        for (unsigned odd = 0; odd < 2 && st == SHOAL_OK; odd++)
            st = time_half(&ring, n, odd, &seconds);
        longest = seconds;
        if (st == SHOAL_OK)
            st = comm_max(c, &longest, 1);
        *rate = seconds > 0 ? (double)n * CHUNK / seconds : 0;
    }
    comm_on(c, TAG_LINK, NULL, NULL);
    if (st == SHOAL_OK)
        free(ring.chunk); /* else some of it may be on its way until all is closed */
    return st;
}
