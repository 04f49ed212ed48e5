#include "file/file.h"

#include "base/base.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

/* What one thread asks the system for at once: large enough that the call costs nothing. */
#define BLOCK ((size_t)8 << 20)

struct whole {
    int fd;
    const char *path;
    char *at; /* [size] */
    size_t size;
    atomic_size_t next; /* the first block that nobody has taken */
};

size_t file_read_at(int fd, void *to, size_t len, uint64_t offset)
{
    size_t done = 0;
    ssize_t n = 1;

    errno = 0;
    while (done < len && n != 0) {
        n = pread(fd, (char *)to + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno != EINTR)
            return done;
        errno = 0;
        done += n > 0 ? (size_t)n : 0;
    }
    return done;
}

bool file_write_at(int fd, const void *data, size_t len, int64_t offset)
{
    size_t done = 0;

    while (done < len) {
        const char *at = (const char *)data + done;
        ssize_t n = offset < 0 ? write(fd, at, len - done)
                               : pwrite(fd, at, len - done, (off_t)offset + (off_t)done);

        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static shoal_status read_block(const struct whole *w, size_t begin, size_t end)
{
    size_t got = file_read_at(w->fd, w->at + begin, end - begin, begin);

    if (got == end - begin)
        return SHOAL_OK;
    if (errno)
        return shoal_fail_errno(SHOAL_EIO, "%s", w->path);
    return shoal_fail(SHOAL_EIO,
                      "%s: ends after %zu bytes and had %zu: it was shortened while it was read",
                      w->path, begin + got, w->size);
}

static shoal_status read_thread(void *ctx, unsigned index)
{
    struct whole *w = ctx;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK) {
        size_t begin = atomic_fetch_add(&w->next, 1) * BLOCK;

        if (begin >= w->size)
            break;
        st = read_block(w, begin, w->size - begin < BLOCK ? w->size : begin + BLOCK);
    }
    return st;
}

/* Who wrote between two of our reads has changed the size or the time of the last write. */
static shoal_status check_unchanged(const struct whole *w, const struct stat *before)
{
    struct stat now;

    if (fstat(w->fd, &now) != 0)
        return shoal_fail_errno(SHOAL_EIO, "%s", w->path);
    if (now.st_size == before->st_size && now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == before->st_mtim.tv_nsec)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EIO, "%s: was written to while it was read, want a file that is whole",
                      w->path);
}

shoal_status file_read_whole(void **out, const char *path, int fd, const struct stat *before)
{
    struct whole w = {.fd = fd, .path = path, .size = (size_t)before->st_size};
    size_t blocks = w.size / BLOCK + 1;
    unsigned threads = pool_threads(0);
    shoal_status st;

    *out = NULL;
    w.at = mem_map(w.size);
    if (!w.at)
        return shoal_fail(SHOAL_ENOMEM, "%s: no memory for its %zu bytes", path, w.size);
    st = pool_run(threads < blocks ? threads : (unsigned)blocks, read_thread, &w);
    if (st == SHOAL_OK)
        st = check_unchanged(&w, before);
    if (st != SHOAL_OK) {
        mem_unmap(w.at, w.size);
        return st;
    }
    *out = w.at;
    return SHOAL_OK;
}
