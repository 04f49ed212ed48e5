#include "file/file.h"

#include "base/base.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct journal {
    char *name;
    int fd;
    bool regular; /* a file, which can be cut */
    off_t len;    /* of it, as far as it is whole */
};

static shoal_status fail_journal(const struct journal *j)
{
    return shoal_fail_errno(SHOAL_EIO, "%s: cannot be written", j->name);
}

/* The bytes of a file up to its last end of a line, looking at no more than it takes. */
static shoal_status whole_lines(struct journal *j)
{
    int fd = open(j->name, O_RDONLY | O_CLOEXEC);
    char buf[4096];
    bool read = fd >= 0;

    while (read && j->len > 0) {
        size_t len = j->len < (off_t)sizeof buf ? (size_t)j->len : sizeof buf;
        const char *end;

        read = file_read_at(fd, buf, len, (uint64_t)j->len - len) == len;
        end = read ? memrchr(buf, '\n', len) : NULL;
        if (end) {
            j->len -= (off_t)len - (end + 1 - buf);
            break;
        }
        j->len -= (off_t)len;
    }
    if (fd >= 0)
        close(fd);
    return read ? SHOAL_OK : fail_journal(j);
}

/* What a writer that was killed, or had no room left, did not end is dropped. */
static shoal_status go_on(struct journal *j)
{
    off_t len = j->len;
    shoal_status st = whole_lines(j);

    return st == SHOAL_OK && j->len < len ? journal_cut(j, (uint64_t)j->len) : st;
}

static shoal_status journal_init(struct journal *j, const char *path, bool more)
{
    struct stat info;

    j->fd = -1;
    j->name = strdup(path);
    if (!j->name)
        return shoal_fail(SHOAL_ENOMEM, "%s: no memory for its name", path);
    j->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (more ? 0 : O_TRUNC), 0666);
    if (j->fd < 0 || fstat(j->fd, &info) != 0)
        return fail_journal(j);
    j->regular = S_ISREG(info.st_mode);
    j->len = j->regular ? info.st_size : 0;
    return j->len > 0 ? go_on(j) : SHOAL_OK;
}

shoal_status journal_open(struct journal **out, const char *path, bool more)
{
    struct journal *j = mem_array(1, sizeof *j);
    shoal_status st = j ? journal_init(j, path, more) : SHOAL_ENOMEM;

    *out = st == SHOAL_OK ? j : NULL;
    if (st != SHOAL_OK)
        journal_close(j);
    return st;
}

uint64_t journal_size(const struct journal *j)
{
    return (uint64_t)j->len;
}

shoal_status journal_cut(struct journal *j, uint64_t len)
{
    if (!j->regular)
        return SHOAL_OK;
    if (ftruncate(j->fd, (off_t)len) != 0)
        return fail_journal(j);
    j->len = (off_t)len;
    return SHOAL_OK;
}

shoal_status journal_add(struct journal *j, const char *text, size_t len)
{
    shoal_status st;

    if (file_write_at(j->fd, text, len, -1)) {
        j->len += (off_t)len;
        return SHOAL_OK;
    }
    st = fail_journal(j);
    if (j->regular && ftruncate(j->fd, j->len) != 0)
        return st; /* journal_open cuts off what stays there without a newline */
    return st;
}

void journal_close(struct journal *j)
{
    if (!j)
        return;
    if (j->fd >= 0)
        close(j->fd);
    free(j->name);
    free(j);
}
