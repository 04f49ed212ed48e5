/* Archives to read: made member by member, so that a test may make each wrong. */
#ifndef SHOAL_TEST_ZIP_H
#define SHOAL_TEST_ZIP_H

#include "base/base.h"

#include <stdbool.h>
#include <stdlib.h>
#include <zlib.h>

struct zip_made {
    struct bytes file, directory;
    size_t n;
    bool large; /* sizes as zip64 has them */
};

static inline void zip_number(struct bytes *b, uint64_t x, size_t bytes)
{
    bytes_add(b, &x, bytes);
}

static inline struct bytes zip_deflated(const void *data, size_t len)
{
    struct bytes b = {0};
    z_stream z = {0};

    deflateInit2(&z, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    bytes_reserve(&b, deflateBound(&z, len) + 1);
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)len;
    z.next_out = (Bytef *)b.at;
    z.avail_out = (uInt)b.cap;
    deflate(&z, Z_FINISH);
    b.len = z.total_out;
    deflateEnd(&z);
    return b;
}

/* method, times, crc, sizes, lengths: what a local head and an entry share. */
static inline void zip_middle(struct bytes *b, unsigned method, uint32_t crc, uint64_t packed,
                              uint64_t size, size_t name, size_t extra)
{
    zip_number(b, 0, 2); /* flags */
    zip_number(b, method, 2);
    zip_number(b, 0, 4);
    zip_number(b, crc, 4);
    zip_number(b, packed, 4);
    zip_number(b, size, 4);
    zip_number(b, name, 2);
    zip_number(b, extra, 2);
}

static inline void zip_add(struct zip_made *z, const char *name, const void *data, size_t len,
                           bool deflated)
{
    struct bytes packed = deflated ? zip_deflated(data, len) : (struct bytes){0};
    uint32_t crc = (uint32_t)crc32_z(0, data, len);
    size_t offset = z->file.len, size = deflated ? packed.len : len;
    unsigned method = deflated ? 8 : 0;

    bytes_add(&z->file, "PK\3\4\24\0", 6);
    zip_middle(&z->file, method, crc, size, len, strlen(name), 0);
    bytes_add(&z->file, name, strlen(name));
    bytes_add(&z->file, deflated ? packed.at : data, size);
    bytes_add(&z->directory, "PK\1\2\24\0\24\0", 8);
    zip_middle(&z->directory, method, crc, z->large ? UINT32_MAX : size,
               z->large ? UINT32_MAX : len, strlen(name), z->large ? 28 : 0);
    zip_number(&z->directory, 0, 8);
    zip_number(&z->directory, 0, 2);
    zip_number(&z->directory, z->large ? UINT32_MAX : offset, 4);
    bytes_add(&z->directory, name, strlen(name));
    if (z->large) {
        zip_number(&z->directory, 1 | 24 << 16, 4);
        zip_number(&z->directory, len, 8);
        zip_number(&z->directory, size, 8);
        zip_number(&z->directory, offset, 8);
    }
    bytes_fini(&packed);
    z->n++;
}

static inline void zip_end(struct zip_made *z)
{
    size_t begin = z->file.len, end;

    bytes_add(&z->file, z->directory.at, z->directory.len);
    end = z->file.len;
    if (z->large) {
        bytes_add(&z->file, "PK\6\6", 4);
        zip_number(&z->file, 44, 8);
        zip_number(&z->file, 45 | 45 << 16, 4);
        zip_number(&z->file, 0, 8);
        zip_number(&z->file, z->n, 8);
        zip_number(&z->file, z->n, 8);
        zip_number(&z->file, z->directory.len, 8);
        zip_number(&z->file, begin, 8);
        bytes_add(&z->file, "PK\6\7\0\0\0\0", 8);
        zip_number(&z->file, end, 8);
        zip_number(&z->file, 1, 4);
    }
    bytes_add(&z->file, "PK\5\6\0\0\0\0", 8);
    zip_number(&z->file, z->large ? 0xffff : z->n, 2);
    zip_number(&z->file, z->large ? 0xffff : z->n, 2);
    zip_number(&z->file, z->large ? UINT32_MAX : z->directory.len, 4);
    zip_number(&z->file, z->large ? UINT32_MAX : begin, 4);
    zip_number(&z->file, 0, 2);
}

static inline void zip_made_fini(struct zip_made *z)
{
    bytes_fini(&z->file);
    bytes_fini(&z->directory);
}

#endif
