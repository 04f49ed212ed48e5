/* gzip, and deflate as zip has it; the only file that knows zlib. Members may be joined. */
#include "file/decoder.h"

#include <stdlib.h>
#include <zlib.h>

/* zlib counts in unsigned int. */
#define ZLIB_CAP ((size_t)1 << 30)

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static enum sniffed gzip_sniff(const unsigned char *at, size_t len)
{
    return magic_sniff(at, len, "\x1f\x8b", 2, 2);
}

/* wrapping: what inflateInit2 calls the bits of the window. */
static void *inflate_open(int wrapping)
{
    z_stream *z = mem_array(1, sizeof *z);

    if (z && inflateInit2(z, wrapping) != Z_OK) {
        free(z);
        return NULL;
    }
    return z;
}

static void *gzip_open(void)
{
    return inflate_open(16 + MAX_WBITS); /* 16: the gzip wrapping alone */
}

static void gzip_close(void *state)
{
    if (state)
        inflateEnd(state);
    free(state);
}

/* Between members zeros are padding, as tapes leave it and gzip(1) forgives. */
static bool gzip_enter(z_stream *z, struct decoding *d)
{
    if (d->inside)
        return true;
    while (d->at < d->len && d->in[d->at] == 0)
        d->at++;
    if (d->at == d->len)
        return false;
    inflateReset(z);
    d->inside = true;
    return true;
}

/* Moves d on by what one call takes and gives. */
static enum decoded inflate_step(z_stream *z, struct decoding *d)
{
    size_t have = least(d->len - d->at, ZLIB_CAP), cap = least(d->cap, ZLIB_CAP);
    int rc;

    z->next_in = (unsigned char *)(uintptr_t)(d->in + d->at); /* read only */
    z->avail_in = (uInt)have;
    z->next_out = d->out;
    z->avail_out = (uInt)cap;
    rc = inflate(z, Z_NO_FLUSH);
    d->at += have - z->avail_in;
    d->got = cap - z->avail_out;
    d->why = z->msg;
    if (rc == Z_STREAM_END)
        d->inside = false;
    else if (rc == Z_MEM_ERROR)
        return DECODED_MEMORY;
    else if (rc != Z_OK && rc != Z_BUF_ERROR) /* that one: it wants more bytes */
        return DECODED_CORRUPT;
    return DECODED;
}

static enum decoded gzip_step(void *state, struct decoding *d)
{
    d->got = 0;
    return gzip_enter(state, d) ? inflate_step(state, d) : DECODED;
}

const struct decoder decoder_gzip = {"gzip", gzip_sniff, gzip_open, gzip_step, gzip_close};

/* ---- for zip ---- */

enum decoded inflate_raw(const void *in, size_t len, void *out, size_t cap, size_t *got,
                         bool *ended)
{
    z_stream *z = inflate_open(-MAX_WBITS);
    struct decoding d = {.in = in, .len = len, .inside = true};
    enum decoded how = z ? DECODED : DECODED_MEMORY;
    unsigned char spare; /* zlib says that the data ended only when it has room */
    size_t before;

    *got = 0;
    do {
        before = d.at;
        d.out = *got < cap ? (unsigned char *)out + *got : &spare;
        d.cap = *got < cap ? cap - *got : 1;
        d.got = 0;
        if (how == DECODED)
            how = inflate_step(z, &d);
        if (d.out == &spare)
            break;
        *got += d.got;
    } while (how == DECODED && d.inside && (d.got > 0 || d.at > before));
    *ended = !d.inside && d.at == len && (d.out != &spare || d.got == 0);
    gzip_close(z);
    return how;
}

uint32_t bytes_crc32(const void *data, size_t len)
{
    return (uint32_t)crc32_z(crc32(0, NULL, 0), data, len);
}
