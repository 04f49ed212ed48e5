/* xz; the only file that knows liblzma. Streams may follow one another, with zeros between them in
 * fours: the library joins them, and only at the end of the file says whether it was whole. */
#include "file/decoder.h"

#include <lzma.h>
#include <stdlib.h>

/* A dictionary of 128 MiB, as much as zstd's window, and what the decoder needs beside it; xz -9
 * takes 64 MiB. */
#define MEMORY_MAX ((uint64_t)129 << 20)

static enum sniffed xz_sniff(const unsigned char *at, size_t len)
{
    static const char magic[] = {'\xfd', '7', 'z', 'X', 'Z', '\0'};

    return magic_sniff(at, len, magic, sizeof magic, 2);
}

static void xz_close(void *state)
{
    if (state)
        lzma_end(state);
    free(state);
}

static void *xz_open(void)
{
    lzma_stream *z = mem_array(1, sizeof *z);

    if (!z)
        return NULL;
    *z = (lzma_stream)LZMA_STREAM_INIT;
    if (lzma_stream_decoder(z, MEMORY_MAX, LZMA_CONCATENATED) == LZMA_OK)
        return z;
    xz_close(z);
    return NULL;
}

static enum decoded xz_failed(struct decoding *d, lzma_ret rc)
{
    if (rc == LZMA_MEM_ERROR)
        return DECODED_MEMORY;
    if (rc == LZMA_MEMLIMIT_ERROR) {
        d->why = "its xz dictionary is over 128 MiB, want at most that";
        return DECODED_LIMIT;
    }
    d->why = rc == LZMA_FORMAT_ERROR    ? "no xz stream begins here"
             : rc == LZMA_OPTIONS_ERROR ? "a filter that liblzma does not know"
                                        : "a block or its checksum is wrong";
    return DECODED_CORRUPT;
}

static enum decoded xz_step(void *state, struct decoding *d)
{
    lzma_stream *z = state;
    lzma_ret rc;

    z->next_in = d->in + d->at;
    z->avail_in = d->len - d->at;
    z->next_out = d->out;
    z->avail_out = d->cap;
    rc = lzma_code(z, d->last ? LZMA_FINISH : LZMA_RUN);
    d->at = d->len - z->avail_in;
    d->got = d->cap - z->avail_out;
    d->inside = rc != LZMA_STREAM_END;
    /* LZMA_BUF_ERROR: it wants more bytes. */
    return rc == LZMA_OK || rc == LZMA_STREAM_END || rc == LZMA_BUF_ERROR ? DECODED
                                                                          : xz_failed(d, rc);
}

const struct decoder decoder_xz = {"xz", xz_sniff, xz_open, xz_step, xz_close};
