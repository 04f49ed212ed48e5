/* bzip2; the only file that knows libbz2. Streams may follow one another, as bzip2(1) joins them
 * and parallel ones write them. A stream takes 4 MB at most, whatever it says. */
#include "file/decoder.h"

#include <bzlib.h>
#include <stdlib.h>

#define BZLIB_CAP ((size_t)1 << 30) /* it counts in unsigned int */

struct bzip2 {
    bz_stream at;
    bool open;
};

/* "BZh", the size of blocks from 1 to 9, and the first six bytes of a block, or of the end when
 * there is none. Text may begin with the first four of them, and hardly with five. */
static enum sniffed bzip2_sniff(const unsigned char *at, size_t len)
{
    unsigned char head[MAGIC_MAX];
    size_t n = len < sizeof head ? len : sizeof head;
    enum sniffed block;

    memcpy(head, at, n);
    if (n > 3)
        head[3] = head[3] >= '1' && head[3] <= '9' ? '?' : '\0';
    block = magic_sniff(head, n, "BZh?1AY&SY", 10, 5);
    return block == SNIFF_NO ? magic_sniff(head, n, "BZh?\x17rE8P\x90", 10, 5) : block;
}

static void *bzip2_open(void)
{
    return mem_array(1, sizeof(struct bzip2));
}

static void bzip2_leave(struct bzip2 *z)
{
    if (z->open)
        BZ2_bzDecompressEnd(&z->at);
    z->open = false;
}

static void bzip2_close(void *state)
{
    if (state)
        bzip2_leave(state);
    free(state);
}

static enum decoded bzip2_failed(struct decoding *d, int rc)
{
    if (rc == BZ_MEM_ERROR)
        return DECODED_MEMORY;
    d->why = rc == BZ_DATA_ERROR_MAGIC ? "no bzip2 stream begins here"
             : rc == BZ_DATA_ERROR     ? "a block or its checksum is wrong"
                                       : "the library refused it";
    return DECODED_CORRUPT;
}

static enum decoded bzip2_step(void *state, struct decoding *d)
{
    struct bzip2 *z = state;
    size_t cap = d->cap < BZLIB_CAP ? d->cap : BZLIB_CAP;
    int rc = BZ_OK;

    d->got = 0;
    if (!d->inside) {
        z->at = (bz_stream){0};
        rc = BZ2_bzDecompressInit(&z->at, 0, 0);
        z->open = d->inside = rc == BZ_OK;
    }
    if (rc != BZ_OK)
        return bzip2_failed(d, rc);
    z->at.next_in = (char *)(uintptr_t)(d->in + d->at); /* read only */
    z->at.avail_in = (unsigned)(d->len - d->at);
    z->at.next_out = d->out;
    z->at.avail_out = (unsigned)cap;
    rc = BZ2_bzDecompress(&z->at);
    d->at = d->len - z->at.avail_in;
    d->got = cap - z->at.avail_out;
    if (rc == BZ_STREAM_END) {
        bzip2_leave(z);
        d->inside = false;
        return DECODED;
    }
    return rc == BZ_OK ? DECODED : bzip2_failed(d, rc);
}

const struct decoder decoder_bzip2 = {"bzip2", bzip2_sniff, bzip2_open, bzip2_step, bzip2_close};
