#include "saved/source.h"
#include "saved/fasttext.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fd_compressed(int fd)
{
    char at[10];

    return bytes_compressed(at, file_read_at(fd, at, sizeof at, 0));
}

/* Its vectors are composed of a few rows here and there: it is never read whole. */
static bool fd_fasttext(int fd)
{
    char at[4];

    return fasttext_sniff(at, file_read_at(fd, at, sizeof at, 0));
}

/* By default the file is read into memory of our own, which is given back as its rows are
 * converted; a mapping is for who has no room for both. */
static shoal_status source_take(struct source *src, int fd, const struct stat *info, bool map)
{
    bool lies = fd_fasttext(fd);
    void *at;
    shoal_status st = SHOAL_OK;

    map = map || lies;
    if (map) {
        at = mmap(NULL, (size_t)info->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at == MAP_FAILED)
            return shoal_fail_errno(SHOAL_EIO, "%s", src->path);
        if (!lies)
            madvise(at, (size_t)info->st_size, MADV_WILLNEED);
    } else {
        st = file_read_whole(&at, src->path, fd, info);
    }
    if (st != SHOAL_OK)
        return st;
    src->at = src->ours = at;
    src->len = (size_t)info->st_size;
    src->spare = !map;
    return SHOAL_OK;
}

/* -1 for all else: a pipe that is opened and closed again would kill its writer. */
static int open_regular(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode)
               ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
               : -1;
}

shoal_status source_open(struct source *src, const char *path, bool map)
{
    int fd = open_regular(path);
    struct stat info;
    bool plain = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 &&
                 !fd_compressed(fd);
    shoal_status st = SHOAL_OK;

    *src = (struct source){.path = path};
    if (plain)
        st = source_take(src, fd, &info, map);
    if (fd >= 0)
        close(fd);
    if (plain)
        return st;
    st = stream_slurp(&src->slurped, &src->len, path, SOURCE_MAX);
    src->at = src->slurped;
    return st;
}

struct source source_move(struct source *src)
{
    struct source moved = *src;

    src->ours = NULL;
    src->slurped = NULL;
    return moved;
}

void source_close(struct source *src)
{
    mem_unmap(src->ours, src->len);
    free(src->slurped);
}
