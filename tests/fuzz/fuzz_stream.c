/* Any bytes may be given as a stream: reading them must end, in pieces of any
 * length, and must give the same bytes whatever the pieces. The first byte
 * chooses the length of the pieces. */
#include "fuzz.h"

#include "base/base.h"
#include "file/file.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Few bytes may decompress to very many; so many are looked at. */
#define OUTPUT_MAX ((size_t)1 << 20)

/* Up to OUTPUT_MAX bytes into out, in pieces of `step`. */
static shoal_status read_pieces(const char *path, size_t step, char *out, size_t *len)
{
    struct stream *s;
    size_t got = step;
    shoal_status st = stream_open(&s, path);

    *len = 0;
    if (st != SHOAL_OK)
        return st;
    while (st == SHOAL_OK && got == step && *len + step <= OUTPUT_MAX) {
        st = stream_read(s, out + *len, step, &got);
        assert(got <= step);
        *len += got;
    }
    stream_close(s);
    return st;
}

static void compare(const char *path, size_t step)
{
    char *a = malloc(OUTPUT_MAX), *b = malloc(OUTPUT_MAX);
    size_t a_len, b_len;
    shoal_status whole = read_pieces(path, OUTPUT_MAX, a, &a_len);
    shoal_status pieces = read_pieces(path, step, b, &b_len);
    size_t both = a_len < b_len ? a_len : b_len;

    assert(memcmp(a, b, both) == 0);
    if (a_len < OUTPUT_MAX - step) {
        assert(whole == pieces);
        assert(whole != SHOAL_OK || a_len == b_len);
    }
    free(a);
    free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    fuzz_begin(size, 192 * MIB, 64);
    compare(fuzz_file(data + 1, size - 1), data[0] == 0 ? 1 : (size_t)data[0] * 37);
    fuzz_end();
    return 0;
}
