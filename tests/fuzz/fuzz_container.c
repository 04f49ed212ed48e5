/* Any bytes may be given as a container: opening, verifying and reading them
 * must end in a status. Checksums would stop nearly all of it at the header, so
 * each input is tried as it is and then with the sums of header and table made
 * right. */
#include "fuzz.h"

#include "base/base.h"
#include "file/file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static void read_section(struct section s)
{
    const unsigned char *at = s.data;
    volatile unsigned char sum = 0;

    assert(strlen(s.name) < 24);
    assert((uintptr_t)s.data % 64 == 0);
    for (size_t i = 0; i < s.size; i++)
        sum = (unsigned char)(sum ^ at[i]);
}

static void read_all(const struct container *c)
{
    struct section s;
    uint64_t n;
    char value[8];

    for (size_t i = 0; i < container_count(c); i++) {
        read_section(container_at(c, i));
        assert(container_has(c, container_at(c, i).name));
        (void)container_find(c, container_at(c, i).name, 4, &s);
    }
    (void)container_meta(c, "kind", value, sizeof value);
    (void)container_meta(c, "", value, 1);
    (void)container_meta_u64(c, "words", &n);
}

static void try_bytes(const unsigned char *data, size_t size)
{
    struct container *c;

    if (container_open_memory(&c, "fuzz", data, size) == SHOAL_OK) {
        (void)container_verify(c, 1);
        read_all(c);
    } else {
        assert(!c && *shoal_error());
    }
    container_close(c);
}

/* Writes the sums that docs/formats.md asks for at 40 and 56. */
static void seal(unsigned char *data, size_t size)
{
    uint64_t toc, sum;

    if (size < 64)
        return;
    memcpy(data, "\x89SHL\r\n\x1a\n\x01\0\0\0\0\0\0\0", 16);
    sum = size;
    memcpy(data + 16, &sum, 8);
    memcpy(&toc, data + 24, 8);
    if (toc <= size) {
        sum = XXH3_64bits(data + toc, size - toc);
        memcpy(data + 40, &sum, 8);
    }
    memset(data + 48, 0, 8);
    sum = XXH3_64bits(data, 56);
    memcpy(data + 56, &sum, 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *copy;

    fuzz_begin(size, MIB, 64);
    copy = (unsigned char *)fuzz_copy(data, size);
    try_bytes(copy, size);
    seal(copy, size);
    try_bytes(copy, size);
    fuzz_end();
    return 0;
}
