#include "file/file.h"

#include "base/base.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define BUFFER_CAP ((size_t)256 << 10)
/* At once to a terminal: beside what may stay in the buffer. */
#define SCREEN_CAP (BUFFER_CAP - 3)
#define TEMP_TRIES 100
/* Of NAME in .NAME.tmp-XXXXXX: file names end at 255 bytes. */
#define TEMP_NAME_MAX 200

struct output {
    char *name;   /* for sentences, as the caller wrote it */
    char *target; /* where it will stand, links resolved; NULL: written straight */
    char *temp;   /* where it grows; NULL: written straight, or renamed already */
    int fd;
    bool standard; /* fd is standard output: not ours to close */
    bool screen;   /* and that is a terminal, which obeys what it should show */
    bool broken;   /* a write failed: may only be abandoned */
    uint64_t size; /* bytes given to us, the last `fill` of them in buf */
    size_t fill;
    char *buf; /* [BUFFER_CAP] */
};

static shoal_status fail_output(const struct output *o)
{
    return shoal_fail_errno(SHOAL_EIO, "%s: cannot be written", o->name);
}

/* ---- Opening ------------------------------------------------------------------ */

/* The length of the folder part of a path, its slash included. */
static size_t folder_len(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* NULL after shoal_fail. */
static char *temp_name(const struct output *o)
{
    size_t folder = folder_len(o->target);
    uint32_t salt = 0;
    char *path;

    if (getrandom(&salt, sizeof salt, 0) != sizeof salt) {
        fail_output(o);
        return NULL;
    }
    if (asprintf(&path, "%.*s.%.*s.tmp-%06x", (int)folder, o->target, TEMP_NAME_MAX,
                 o->target + folder, salt & 0xffffffu) < 0) {
        shoal_fail(SHOAL_ENOMEM, "%s: no memory for its name", o->name);
        return NULL;
    }
    return path;
}

/* Not mkostemp: open(2) gives the mode that the umask allows, while mkostemp's
 * 0600 could be widened only by reading the umask, which no thread can do
 * without changing it for all. */
static shoal_status temp_open(struct output *o, mode_t mode)
{
    for (int i = 0; i < TEMP_TRIES; i++) {
        char *path = temp_name(o);

        if (!path)
            return SHOAL_EIO;
        o->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (o->fd >= 0) {
            o->temp = path;
            return SHOAL_OK;
        }
        free(path); /* keeps errno */
        if (errno != EEXIST)
            break;
    }
    return fail_output(o);
}

/* The new file is as open as the one it replaces, and as root its owner's; where
 * the group cannot be kept, ours gets what everyone gets. A file system without
 * modes keeps its own. */
static shoal_status temp_replace(struct output *o, const struct stat *old)
{
    mode_t mode = old->st_mode & 0777;
    shoal_status st = temp_open(o, 0600);

    if (st == SHOAL_OK && fchown(o->fd, geteuid() == 0 ? old->st_uid : (uid_t)-1, old->st_gid) != 0)
        mode &= 0707 | (mode & 07) << 3;
    if (st == SHOAL_OK)
        (void)fchmod(o->fd, mode);
    return st;
}

/* A link is followed, so that renaming replaces the file and not the link. */
static shoal_status target_resolve(struct output *o, const char *path)
{
    o->target = realpath(path, NULL);
    if (!o->target && errno != ENOENT)
        return fail_output(o);
    if (!o->target)
        o->target = strdup(path);
    return o->target ? SHOAL_OK : shoal_fail(SHOAL_ENOMEM, "%s: no memory for its name", path);
}

/* Pipes and devices cannot be renamed over; they are written as we go. */
static shoal_status straight_open(struct output *o, const char *path)
{
    o->fd = o->standard ? STDOUT_FILENO : open(path, O_WRONLY | O_CLOEXEC);
    return o->fd < 0 ? fail_output(o) : SHOAL_OK;
}

static shoal_status output_init(struct output *o, const char *path)
{
    shoal_status st;
    struct stat info;
    bool there;

    o->fd = -1;
    o->standard = strcmp(path, "-") == 0;
    o->name = strdup(o->standard ? "standard output" : path);
    o->buf = mem_array(BUFFER_CAP, 1);
    if (!o->name || !o->buf)
        return shoal_fail(SHOAL_ENOMEM, "%s: no memory to write it", path);
    if (!*path)
        return shoal_fail(SHOAL_EINVAL, "output: \"\" is no path");
    there = !o->standard && stat(path, &info) == 0;
    o->screen = o->standard && isatty(STDOUT_FILENO) == 1;
    if (o->standard || (there && !S_ISREG(info.st_mode)))
        return straight_open(o, path);
    st = target_resolve(o, path);
    if (st != SHOAL_OK)
        return st;
    return there ? temp_replace(o, &info) : temp_open(o, 0666);
}

shoal_status output_open(struct output **out, const char *path)
{
    struct output *o;
    shoal_status st;

    *out = NULL;
    o = mem_array(1, sizeof *o);
    if (!o)
        return SHOAL_ENOMEM;
    st = output_init(o, path);
    if (st == SHOAL_OK)
        *out = o;
    else
        output_abandon(o);
    return st;
}

/* ---- Writing -------------------------------------------------------------------- */

/* Everything or a failure: a full disk says so itself. */
static shoal_status put_all(struct output *o, const char *data, size_t len, uint64_t offset)
{
    if (file_write_at(o->fd, data, len, o->target ? (int64_t)offset : -1))
        return SHOAL_OK;
    o->broken = true;
    return fail_output(o);
}

/* What a terminal would obey becomes question marks, lone bytes that some take for
 * controls too. */
static void disarm(char *at, size_t len)
{
    bool good;

    for (size_t i = 0, n; i < len; i += n ? n : 1) {
        unsigned char c = (unsigned char)at[i];

        n = character_len(at + i, len - i, &good);
        if (n == 0 ? c < 0xa0 : !good && c != '\n' && c != '\t')
            memset(at + i, '?', n ? n : 1);
    }
}

/* All but the last `keep` bytes of the buffer, which stay. */
static shoal_status flush_but(struct output *o, size_t keep)
{
    size_t len = o->fill - keep;
    shoal_status st;

    if (o->screen)
        disarm(o->buf, len);
    if (o->broken)
        return shoal_fail(SHOAL_EIO, "%s: cannot be written after a write that failed", o->name);
    st = put_all(o, o->buf, len, o->size - o->fill);
    memmove(o->buf, o->buf + len, keep);
    o->fill = keep;
    return st;
}

shoal_status output_write(struct output *o, const void *data, size_t len)
{
    shoal_status st = SHOAL_OK;

    for (; o->screen && len > SCREEN_CAP && st == SHOAL_OK; len -= SCREEN_CAP) {
        st = output_write(o, data, SCREEN_CAP);
        data = (const char *)data + SCREEN_CAP;
    }
    /* To a terminal a character that is only begun waits for its end, for it is judged whole. */
    if (st == SHOAL_OK && len > BUFFER_CAP - o->fill)
        st = flush_but(o, o->screen ? character_cut(o->buf, o->fill) : 0);
    if (st != SHOAL_OK || len == 0)
        return st;
    if (len > BUFFER_CAP) {
        st = put_all(o, data, len, o->size);
    } else {
        memcpy(o->buf + o->fill, data, len);
        o->fill += len;
    }
    o->size += len;
    return st;
}

shoal_status output_patch(struct output *o, uint64_t offset, const void *data, size_t len)
{
    shoal_status st;

    assert(offset <= o->size && len <= o->size - offset);
    if (!o->target)
        return shoal_fail(SHOAL_EINVAL, "%s: cannot be rewritten, want a regular file", o->name);
    st = flush_but(o, 0);
    return st == SHOAL_OK ? put_all(o, data, len, offset) : st;
}

uint64_t output_size(const struct output *o)
{
    return o->size;
}

/* ---- Ending ----------------------------------------------------------------------- */

/* Flushes and closes; the disk may report only now that it was full. */
static shoal_status output_settle(struct output *o)
{
    shoal_status st = flush_but(o, 0);
    int fd = o->fd;

    if (st != SHOAL_OK)
        return st;
    if (o->target && fsync(fd) != 0)
        return fail_output(o);
    if (o->standard)
        return SHOAL_OK;
    o->fd = -1;
    return close(fd) == 0 ? SHOAL_OK : fail_output(o);
}

/* A rename outlives a power cut only when its folder was flushed too. Folders
 * that cannot be opened, or whose file system has no fsync for them, are passed over. */
static shoal_status folder_sync(const struct output *o)
{
    size_t len = folder_len(o->target);
    char *folder = len ? strndup(o->target, len) : strdup(".");
    shoal_status st = SHOAL_OK;
    int fd;

    if (!folder)
        return shoal_fail(SHOAL_ENOMEM, "%s: no memory for its folder's name", o->name);
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && fsync(fd) != 0 && errno != EINVAL)
        st =
            shoal_fail_errno(SHOAL_EIO, "%s: is in place, but its folder was not flushed", o->name);
    if (fd >= 0)
        close(fd);
    free(folder);
    return st;
}

static shoal_status output_rename(struct output *o)
{
    if (rename(o->temp, o->target) != 0)
        return fail_output(o);
    free(o->temp);
    o->temp = NULL;
    return folder_sync(o);
}

shoal_status output_commit(struct output *o)
{
    shoal_status st = output_settle(o);

    if (st == SHOAL_OK && o->temp)
        st = output_rename(o);
    output_abandon(o);
    return st;
}

void output_abandon(struct output *o)
{
    if (!o)
        return;
    if (o->fd >= 0 && !o->standard)
        close(o->fd);
    if (o->temp)
        unlink(o->temp);
    free(o->temp);
    free(o->target);
    free(o->name);
    free(o->buf);
    free(o);
}

shoal_status output_end(struct output *o, shoal_status st)
{
    if (st == SHOAL_OK)
        return output_commit(o);
    output_abandon(o);
    return st;
}

/* ---- For programs ------------------------------------------------------------------ */

shoal_status shoal_output_open(shoal_output **out, const char *path)
{
    return output_open(out, path);
}

/* Whoever reads a pipe gets at once what there is. */
shoal_status shoal_output_write(shoal_output *o, const void *data, size_t len)
{
    shoal_status st = output_write(o, data, len);

    return st == SHOAL_OK && !o->target ? flush_but(o, 0) : st;
}

shoal_status shoal_output_end(shoal_output *o, shoal_status st)
{
    return output_end(o, st);
}

/* ---- Where it goes ------------------------------------------------------------------ */

char *path_folder(const char *path)
{
    char *copy = strdup(path), *folder = copy ? strdup(dirname(copy)) : NULL;

    free(copy);
    if (!folder)
        shoal_fail(SHOAL_ENOMEM, "memory: no room for a path");
    return folder;
}

uint64_t folder_space(const char *folder)
{
    struct statvfs fs;

    return statvfs(folder, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize : UINT64_MAX;
}

uint64_t path_size(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}
