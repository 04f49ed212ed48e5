#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20)

void *mem_array(size_t n, size_t size)
{
    void *at = calloc(n ? n : 1, size ? size : 1);

    if (!at)
        shoal_fail(SHOAL_ENOMEM, "memory: no room for %zu elements of %zu bytes", n, size);
    return at;
}

char *mem_text(const char *fmt, ...)
{
    va_list args;
    char *text;
    int len;

    va_start(args, fmt);
    len = vasprintf(&text, fmt, args);
    va_end(args);
    if (len >= 0)
        return text;
    shoal_fail(SHOAL_ENOMEM, "memory: no room for a text");
    return NULL;
}

void shoal_free(void *memory)
{
    free(memory);
}

shoal_status mem_grow(void *ptr, size_t *cap, size_t need, size_t size)
{
    size_t want = *cap + *cap / 2;
    size_t bytes;
    void *at;

    if (need <= *cap)
        return SHOAL_OK;
    if (want < need)
        want = need < 16 ? 16 : need;
    memcpy(&at, ptr, sizeof at);
    if (__builtin_mul_overflow(want, size, &bytes) || !(at = realloc(at, bytes)))
        return shoal_fail(SHOAL_ENOMEM, "memory: no room for %zu elements of %zu bytes", want,
                          size);
    memcpy(ptr, &at, sizeof at);
    *cap = want;
    return SHOAL_OK;
}

shoal_status bytes_reserve(struct bytes *b, size_t more)
{
    shoal_status st;

    if (more > SIZE_MAX - b->len)
        return shoal_fail(SHOAL_ENOMEM, "memory: no room for %zu bytes more", more);
    st = mem_grow(&b->at, &b->cap, b->len + more, 1);
    return st;
}

shoal_status bytes_add(struct bytes *b, const void *data, size_t len)
{
    shoal_status st = bytes_reserve(b, len);

    if (st == SHOAL_OK && len > 0) {
        memcpy(b->at + b->len, data, len);
        b->len += len;
    }
    return st;
}

shoal_status bytes_print(struct bytes *b, const char *fmt, ...)
{
    va_list args, again;
    shoal_status st;
    int len;

    va_start(args, fmt);
    va_copy(again, args);
    len = number_vprint(NULL, 0, fmt, args);
    st = bytes_reserve(b, (size_t)len + 1);
    if (st == SHOAL_OK)
        b->len += (size_t)number_vprint(b->at + b->len, (size_t)len + 1, fmt, again);
    va_end(again);
    va_end(args);
    return st;
}

void bytes_fini(struct bytes *b)
{
    free(b->at);
    *b = (struct bytes){0};
}

void *mem_map(size_t bytes)
{
    void *at = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                    -1, 0);

    if (at == MAP_FAILED) {
        shoal_fail(SHOAL_ENOMEM, "memory: no room for %zu bytes", bytes);
        return NULL;
    }
    if (bytes >= HUGE_PAGE)
        madvise(at, bytes, MADV_HUGEPAGE); /* a wish: the kernel may decline */
    return at;
}

void *mem_remap(void *at, size_t bytes, size_t want)
{
    void *to;

    if (!at)
        return mem_map(want);
    to = mremap(at, bytes ? bytes : 1, want ? want : 1, MREMAP_MAYMOVE);
    if (to == MAP_FAILED) {
        shoal_fail(SHOAL_ENOMEM, "memory: no room for %zu bytes", want);
        return NULL;
    }
    if (want >= HUGE_PAGE)
        madvise(to, want, MADV_HUGEPAGE);
    return to;
}

/* Disk is taken beforehand: a full one would show as a fault at some later write. */
static int open_nameless(const char *folder, size_t bytes)
{
    char path[4096];
    int fd, full;

    if (!folder)
        folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    snprintf(path, sizeof path, "%s/shoal-XXXXXX", folder);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) {
        shoal_fail_errno(SHOAL_EIO, "%s: no temporary file", folder);
        return -1;
    }
    unlink(path);
    full = posix_fallocate(fd, 0, bytes ? (off_t)bytes : 1);
    if (full != 0) {
        close(fd);
        errno = full;
        shoal_fail_errno(SHOAL_EIO, "%s: no room for %zu bytes", folder, bytes);
        return -1;
    }
    return fd;
}

void *mem_map_file(const char *folder, size_t bytes)
{
    int fd = open_nameless(folder, bytes);
    void *at;

    if (fd < 0)
        return NULL;
    at = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at != MAP_FAILED)
        return at;
    shoal_fail(SHOAL_ENOMEM, "memory: no room for %zu bytes", bytes);
    return NULL;
}

void mem_release(void *at, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)at + page - 1) / page * page, end = (uintptr_t)at + bytes;

    if (begin + page <= end)
        madvise((void *)begin, (end - begin) / page * page, MADV_DONTNEED);
}

void mem_unmap(void *at, size_t bytes)
{
    if (at)
        munmap(at, bytes ? bytes : 1);
}

uint64_t system_number(const char *path, const char *key)
{
    char line[256];
    uint64_t value = UINT64_MAX;
    FILE *f = fopen(path, "re");

    if (!f)
        return value;
    while (fgets(line, sizeof line, f)) {
        unsigned long long n;

        if (strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%llu", &n) == 1) {
            value = n;
            break;
        }
    }
    fclose(f);
    return value;
}

uint64_t mem_available(void)
{
    uint64_t kib = system_number("/proc/meminfo", "MemAvailable:");
    uint64_t room = kib > UINT64_MAX / 1024 ? UINT64_MAX : kib * 1024;
    uint64_t limit = system_number("/sys/fs/cgroup/memory.max", "");
    uint64_t used = system_number("/sys/fs/cgroup/memory.current", "");

    if (limit != UINT64_MAX && used != UINT64_MAX) {
        uint64_t left = limit > used ? limit - used : 0;

        room = left < room ? left : room;
    }
    return room;
}

uint64_t mem_held(void)
{
    uint64_t kib = system_number("/proc/self/status", "VmRSS:");

    return kib > UINT64_MAX / 1024 ? 0 : kib * 1024;
}

uint64_t mem_peak(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024;
}
