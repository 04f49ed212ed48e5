/* What grows beside each other: labels, slots, values. In memory, where growing moves no
 * byte, then on disk. */
#include "data/clicks.h"

#include <errno.h>
#include <unistd.h>

#define FIRST_ROOM ((size_t)1 << 16)

void column_init(struct click_column *c)
{
    *c = (struct click_column){.fd = -1};
}

void column_fini(struct click_column *c)
{
    mem_unmap(c->at, c->cap);
    if (c->fd >= 0)
        close(c->fd);
    column_init(c);
}

uint64_t column_size(const struct click_column *c)
{
    return c->len + c->spilled;
}

static shoal_status spill(struct click_column *c, const char *at, size_t len)
{
    while (len > 0) {
        ssize_t n = pwrite(c->fd, at, len, (off_t)c->spilled);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return shoal_fail_errno(SHOAL_EIO, "spool: writing %zu bytes of rows", len);
        c->spilled += (uint64_t)n;
        at += n;
        len -= (size_t)n;
    }
    return SHOAL_OK;
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

    if (c->fd < 0 && len <= all->left) {
        all->left -= len;
        return keep(c, data, len);
    }
    if (!all->tmp_dir)
        return shoal_fail(SHOAL_ELIMIT, "clicks: the rows take more memory than is free; encode "
                                        "them into a file, or raise the limit");
    if (c->fd < 0)
        st = spool_open(&c->fd, all->tmp_dir);
    return st == SHOAL_OK ? spill(c, data, len) : st;
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

static bool unspill(const struct click_column *c, uint64_t at, char *to, size_t len)
{
    while (len > 0) {
        ssize_t n = pread(c->fd, to, len, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            shoal_fail_errno(SHOAL_EIO, "spool: reading back %zu bytes of rows", len);
            return false;
        }
        at += (uint64_t)n;
        to += n;
        len -= (size_t)n;
    }
    return true;
}

const void *column_part(const struct click_column *c, uint64_t at, size_t len, void *room)
{
    size_t kept = at < c->len ? c->len - (size_t)at : 0;

    if (len <= kept)
        return c->at + at;
    if (kept > 0)
        memcpy(room, c->at + at, kept);
    return unspill(c, at + kept - c->len, (char *)room + kept, len - kept) ? room : NULL;
}
