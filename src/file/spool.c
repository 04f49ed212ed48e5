/* What does not fit into memory, or must be read twice: put aside on disk. */
#include "file/file.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* For file systems without O_TMPFILE: a named file, unnamed at once. */
static int open_named(const char *dir)
{
    char *path;
    int fd;

    if (asprintf(&path, "%s/shoal-XXXXXX", dir) < 0)
        return -1;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    free(path);
    return fd;
}

shoal_status spool_open(struct spool *s, const char *dir)
{
    const char *env = getenv("TMPDIR");

    if (!dir)
        dir = env && *env ? env : "/tmp";
    *s = (struct spool){.fd = open(dir, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600)};
    if (s->fd < 0)
        s->fd = open_named(dir);
    if (s->fd < 0)
        return shoal_fail_errno(SHOAL_EIO, "%s: cannot hold temporary files", dir);
    return SHOAL_OK;
}

shoal_status spool_add(struct spool *s, const void *data, size_t len, const char *what)
{
    if (!file_write_at(s->fd, data, len, (int64_t)s->size))
        return shoal_fail_errno(SHOAL_EIO, "spool: writing %zu bytes of %s", len, what);
    s->size += len;
    return SHOAL_OK;
}

shoal_status spool_read(const struct spool *s, uint64_t offset, void *to, size_t len,
                        const char *what)
{
    if (file_read_at(s->fd, to, len, offset) == len)
        return SHOAL_OK;
    errno = errno ? errno : EIO; /* it ends before */
    return shoal_fail_errno(SHOAL_EIO, "spool: reading back %zu bytes of %s", len, what);
}

void spool_close(struct spool *s)
{
    if (s->fd >= 0)
        close(s->fd);
    *s = SPOOL_NONE;
}
