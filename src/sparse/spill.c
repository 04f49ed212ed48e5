/* Columns that grow side by side: labels, starts, slots, values, weights. They share one
 * limit of memory. A buffer is mapped pages, which grow by mremap without a copy; from
 * where the limit is reached, its bytes go to an unnamed file:
 *
 *     | in memory, [0, len) | in the spool, from len on |
 *
 * so a part is found by its offset alone. */
#include "sparse/rows.h"

#define FIRST_ROOM ((size_t)1 << 16)

void spill_buffer_init(struct spill_buffer *c)
{
    *c = (struct spill_buffer){.spool = SPOOL_NONE};
}

void spill_buffer_fini(struct spill_buffer *c)
{
    mem_unmap(c->at, c->cap);
    spool_close(&c->spool);
    spill_buffer_init(c);
}

uint64_t spill_buffer_size(const struct spill_buffer *c)
{
    return c->len + c->spool.size;
}

static shoal_status add_in_memory(struct spill_buffer *c, const void *data, size_t len)
{
    if (len > c->cap - c->len) {
        size_t want = c->len + len + c->len / 2 + FIRST_ROOM;
        void *at = mem_remap(c->at, c->cap, want);

        if (!at)
            return SHOAL_ENOMEM;
        c->at = at;
        c->cap = want;
    }
    if (len > 0)
        memcpy(c->at + c->len, data, len);
    c->len += len;
    return SHOAL_OK;
}

/* Once a column has begun to go to disk, all that follows does. */
shoal_status spill_buffer_add(struct spill_limit *all, struct spill_buffer *c, const void *data,
                              size_t len)
{
    shoal_status st = SHOAL_OK;

    if (c->spool.fd < 0 && len <= all->left) {
        all->left -= len;
        return add_in_memory(c, data, len);
    }
    if (!all->tmp_dir)
        return shoal_fail(SHOAL_ELIMIT, "clicks: the rows take more memory than is free; encode "
                                        "them into a file, or raise the limit");
    if (c->spool.fd < 0)
        st = spool_open(&c->spool, all->tmp_dir);
    return st == SHOAL_OK ? spool_add(&c->spool, data, len, "rows") : st;
}

shoal_status spill_buffer_add_ones(struct spill_limit *all, struct spill_buffer *c, uint64_t n)
{
    float ones[1024];
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < 1024; i++)
        ones[i] = 1;
    while (n > 0 && st == SHOAL_OK) {
        size_t some = n < 1024 ? (size_t)n : 1024;

        st = spill_buffer_add(all, c, ones, some * sizeof *ones);
        n -= some;
    }
    return st;
}

const void *spill_buffer_part(const struct spill_buffer *c, uint64_t at, size_t len, void *room)
{
    size_t here = at < c->len ? c->len - (size_t)at : 0;
    shoal_status st;

    if (len <= here)
        return c->at + at;
    if (here > 0)
        memcpy(room, c->at + at, here);
    st = spool_read(&c->spool, at + here - c->len, (char *)room + here, len - here, "rows");
    return st == SHOAL_OK ? room : NULL;
}
