/* deal: which rank keeps which row; a part of the door store.h.
 *
 * What this is: rows are dealt out to owners, who keep theirs one after the other, at their
 * `place`. The first rows of a table, the hottest, are dealt by the traffic that is expected of
 * them, so that no owner has much more to do than another; of the others, of which none is worth
 * a look, each next owner gets the next one. So a table of a billion rows costs no memory here:
 *
 *     row     0 1 2 3 ... head - 1 | head  head + 1  head + 2 ...
 *     owner   as in owner [head]   | first, first + 1, ..., first + owners - 1, first, ...
 *
 * Every rank computes the same.
 * Who owns what: a deal owns its lists.
 * Threads: constant once made. */
#ifndef SHOAL_STORE_DEAL_H
#define SHOAL_STORE_DEAL_H

#include "base/base.h"

struct deal {
    size_t rows, head;
    unsigned first, owners; /* ranks first .. first + owners - 1 */
    uint16_t *owner;        /* [head] */
    uint32_t *place;        /* [head] */
    uint32_t *of;           /* [head] rows by owner and place */
    uint32_t *begin;        /* [owners + 1] where in `of` they begin */
};

/* traffic [rows] is how often a row is expected to travel; NULL: all alike. */
shoal_status deal_init(struct deal *d, size_t rows, unsigned first, unsigned owners,
                       const float *traffic);
/* As others have dealt: owner [rows] and, among the rows of each, in their order. */
shoal_status deal_init_as(struct deal *d, size_t rows, unsigned first, unsigned owners,
                          const uint16_t *owner);
void deal_fini(struct deal *d);
/* What it takes. */
size_t deal_bytes(size_t rows);

static inline unsigned deal_owner(const struct deal *d, size_t row)
{
    return row < d->head ? d->owner[row] : d->first + (unsigned)((row - d->head) % d->owners);
}

static inline uint32_t deal_head(const struct deal *d, unsigned at)
{
    return d->begin[at + 1] - d->begin[at];
}

static inline uint32_t deal_place(const struct deal *d, size_t row)
{
    size_t beyond = row - d->head;

    if (row < d->head)
        return d->place[row];
    return deal_head(d, (unsigned)(beyond % d->owners)) + (uint32_t)(beyond / d->owners);
}

/* The row that a rank keeps at a place. */
static inline uint32_t deal_row(const struct deal *d, unsigned rank, uint32_t place)
{
    unsigned at = rank - d->first;
    uint32_t head = deal_head(d, at);

    if (place < head)
        return d->of[d->begin[at] + place];
    return (uint32_t)d->head + (place - head) * d->owners + at;
}

/* How many a rank keeps; 0: it owns none. */
static inline uint32_t deal_count(const struct deal *d, unsigned rank)
{
    size_t beyond = d->rows - d->head;
    unsigned at = rank - d->first;

    if (rank < d->first || at >= d->owners)
        return 0;
    return deal_head(d, at) + (uint32_t)(beyond / d->owners + (at < beyond % d->owners));
}

#endif
