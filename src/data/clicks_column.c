/* What grows beside each other: labels, slots, values. In memory, where growing moves no
 * byte, then on disk. */
#include "data/clicks.h"

#define FIRST_ROOM ((size_t)1 << 16)

void column_init(struct click_column *c)
{
    *c = (struct click_column){.spool = SPOOL_NONE};
}

void column_fini(struct click_column *c)
{
    mem_unmap(c->at, c->cap);
    spool_close(&c->spool);
    column_init(c);
}

uint64_t column_size(const struct click_column *c)
{
    return c->len + c->spool.size;
}

static shoal_status keep(struct click_column *c, const void *data, size_t len)
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
shoal_status column_add(struct click_columns *all, struct click_column *c, const void *data,
                        size_t len)
{
    shoal_status st = SHOAL_OK;

    if (c->spool.fd < 0 && len <= all->left) {
        all->left -= len;
        return keep(c, data, len);
    }
    if (!all->tmp_dir)
        return shoal_fail(SHOAL_ELIMIT, "clicks: the rows take more memory than is free; encode "
                                        "them into a file, or raise the limit");
    if (c->spool.fd < 0)
        st = spool_open(&c->spool, all->tmp_dir);
    return st == SHOAL_OK ? spool_add(&c->spool, data, len, "rows") : st;
}

shoal_status column_add_ones(struct click_columns *all, struct click_column *c, uint64_t n)
{
    float ones[1024];
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < 1024; i++)
        ones[i] = 1;
    while (n > 0 && st == SHOAL_OK) {
        size_t some = n < 1024 ? (size_t)n : 1024;

        st = column_add(all, c, ones, some * sizeof *ones);
        n -= some;
    }
    return st;
}

const void *column_part(const struct click_column *c, uint64_t at, size_t len, void *room)
{
    size_t kept = at < c->len ? c->len - (size_t)at : 0;
    shoal_status st;

    if (len <= kept)
        return c->at + at;
    if (kept > 0)
        memcpy(room, c->at + at, kept);
    st = spool_read(&c->spool, at + kept - c->len, (char *)room + kept, len - kept, "rows");
    return st == SHOAL_OK ? room : NULL;
}
