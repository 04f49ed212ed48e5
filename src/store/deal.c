#include "store/deal.h"

#include <stdlib.h>

enum { HEAD = 1 << 17 }; /* rows that are dealt by their traffic */

/* Owners as a heap, the one with the least to do on top. */
struct pile {
    double load;
    uint16_t owner;
};

static bool lighter(const struct pile *a, const struct pile *b)
{
    return a->load < b->load || (a->load == b->load && a->owner < b->owner);
}

static void sink(struct pile *heap, size_t n)
{
    for (size_t i = 0, child; (child = 2 * i + 1) < n; i = child) {
        struct pile swap = heap[i];

        if (child + 1 < n && lighter(&heap[child + 1], &heap[child]))
            child++;
        if (!lighter(&heap[child], &heap[i]))
            return;
        heap[i] = heap[child];
        heap[child] = swap;
    }
}

/* Each row goes to the owner that has the least to do so far, the top of the heap. Rows come
 * hottest first, so the cold ones even out what the hot ones left uneven (Graham 1969: longest
 * processing time first). */
static shoal_status deal_by_traffic(struct deal *d, const float *traffic)
{
    struct pile *heap = mem_array(d->owners, sizeof *heap);

    if (!heap)
        return SHOAL_ENOMEM;
    for (unsigned i = 0; i < d->owners; i++)
        heap[i].owner = (uint16_t)(d->first + i);
    for (size_t row = 0; row < d->head; row++) {
        d->owner[row] = heap[0].owner;
        heap[0].load += traffic ? (double)traffic[row] : 1;
        sink(heap, d->owners);
    }
    free(heap);
    return SHOAL_OK;
}

/* Places and lists, by the owners of the head. */
static void deal_places(struct deal *d)
{
    for (size_t row = 0; row < d->head; row++) {
        uint32_t *n = &d->begin[d->owner[row] - d->first + 1];

        d->place[row] = (*n)++;
    }
    for (unsigned i = 0; i < d->owners; i++)
        d->begin[i + 1] += d->begin[i];
    for (uint32_t row = 0; row < d->head; row++)
        d->of[d->begin[d->owner[row] - d->first] + d->place[row]] = row;
}

static shoal_status deal_new(struct deal *d, size_t rows, size_t head, unsigned first,
                             unsigned owners)
{
    *d = (struct deal){.rows = rows, .head = head, .first = first, .owners = owners};
    d->owner = mem_array(head, sizeof *d->owner);
    d->place = mem_array(head, sizeof *d->place);
    d->of = mem_array(head, sizeof *d->of);
    d->begin = mem_array(owners + 1, sizeof *d->begin);
    return d->owner && d->place && d->of && d->begin ? SHOAL_OK : SHOAL_ENOMEM;
}

shoal_status deal_init(struct deal *d, size_t rows, unsigned first, unsigned owners,
                       const float *traffic)
{
    shoal_status st = deal_new(d, rows, rows < HEAD ? rows : HEAD, first, owners);

    if (st == SHOAL_OK)
        st = deal_by_traffic(d, traffic);
    if (st == SHOAL_OK)
        deal_places(d);
    return st;
}

shoal_status deal_init_as(struct deal *d, size_t rows, unsigned first, unsigned owners,
                          const uint16_t *owner)
{
    shoal_status st = deal_new(d, rows, rows, first, owners);

    if (st != SHOAL_OK)
        return st;
    memcpy(d->owner, owner, rows * sizeof *owner);
    deal_places(d);
    return SHOAL_OK;
}

void deal_fini(struct deal *d)
{
    free(d->owner);
    free(d->place);
    free(d->of);
    free(d->begin);
    *d = (struct deal){0};
}

size_t deal_bytes(size_t rows)
{
    return (rows < HEAD ? rows : HEAD) * (sizeof(uint16_t) + 2 * sizeof(uint32_t));
}
