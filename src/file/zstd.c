/* zstd; the only file that knows it. Frames may follow one another, with others between that are
 * skipped. */
#include "file/decoder.h"

#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* 128 MiB, what zstd itself accepts by default: a frame may not make us take more. */
#define WINDOW_LOG_MAX 27
_Static_assert(WINDOW_LOG_MAX == 27, "a sentence says 128 MiB");

struct zstd {
    ZSTD_DCtx *context;
    uint64_t promised, given; /* bytes that the frame's head says it holds; so far */
};

/* 0x184d2a5?: a zstd file may open with a frame to be skipped. Its first byte is text. */
static enum sniffed zstd_sniff(const unsigned char *at, size_t len)
{
    unsigned char skippable[4];
    size_t n = len < sizeof skippable ? len : sizeof skippable;

    if (len == 0 || at[0] == 0x28)
        return magic_sniff(at, len, "\x28\xb5\x2f\xfd", 4, 2);
    memcpy(skippable, at, n);
    skippable[0] &= 0xf0;
    return magic_sniff(skippable, n, "\x50\x2a\x4d\x18", 4, 4);
}

static void zstd_close(void *state)
{
    struct zstd *z = state;

    if (z)
        ZSTD_freeDCtx(z->context);
    free(z);
}

static void *zstd_open(void)
{
    struct zstd *z = mem_array(1, sizeof *z);

    if (z)
        z->context = ZSTD_createDCtx();
    if (z && z->context &&
        !ZSTD_isError(ZSTD_DCtx_setParameter(z->context, ZSTD_d_windowLogMax, WINDOW_LOG_MAX)))
        return z;
    zstd_close(z);
    return NULL;
}

static enum decoded zstd_failed(struct decoding *d, size_t rc)
{
    if (ZSTD_getErrorCode(rc) == ZSTD_error_memory_allocation)
        return DECODED_MEMORY;
    if (ZSTD_getErrorCode(rc) == ZSTD_error_frameParameter_windowTooLarge) {
        d->why = "its zstd window is over 128 MiB, want at most that";
        return DECODED_LIMIT;
    }
    d->why = ZSTD_getErrorName(rc);
    return DECODED_CORRUPT;
}

static enum decoded zstd_step(void *state, struct decoding *d)
{
    struct zstd *z = state;
    ZSTD_inBuffer in = {d->in, d->len, d->at};
    ZSTD_outBuffer out = {d->out, d->cap, 0};
    size_t rc;

    if (!d->inside) {
        z->promised = ZSTD_getFrameContentSize(d->in + d->at, d->len - d->at);
        z->given = 0;
    }
    rc = ZSTD_decompressStream(z->context, &out, &in);
    d->at = in.pos;
    d->got = out.pos;
    z->given += out.pos;
    if (ZSTD_isError(rc))
        return zstd_failed(d, rc);
    d->inside = rc != 0;
    /* zstd checks it too, but not where an empty last block comes in pieces. */
    if (!d->inside && z->promised < ZSTD_CONTENTSIZE_ERROR && z->given != z->promised) {
        d->why = "it holds less than its head says";
        return DECODED_CORRUPT;
    }
    return DECODED;
}

const struct decoder decoder_zstd = {"zstd", zstd_sniff, zstd_open, zstd_step, zstd_close};
