/* decoder: a way to decompress, as stream.c sees it; not a door.
 *
 * What this is: one table of functions for each compression, in a file of its own that alone knows
 * the library; stream.c walks the tables. zip.c, whose members are deflate without a wrapping, uses
 * what stands at the end.
 * Who owns what: a state is its decoder's, ended by `close`; the bytes are the caller's.
 * Threads: one at a time for each state. */
#ifndef SHOAL_FILE_DECODER_H
#define SHOAL_FILE_DECODER_H

#include "file/file.h"

/* What the first bytes of a file say: no; more of them are needed; they begin the magic, and text
 * does not begin so; all of it is there. */
enum sniffed { SNIFF_NO, SNIFF_SHORT, SNIFF_BEGINNING, SNIFF_YES };

/* How a step went. Of what failed `why` says more: the reason, or of a limit the sentence. */
enum decoded { DECODED, DECODED_CORRUPT, DECODED_MEMORY, DECODED_LIMIT };

struct decoding {
    const unsigned char *in; /* unread bytes: in[at..len) */
    size_t at, len;
    bool last; /* no more will come */
    void *out; /* [cap], of which a step fills the first `got` */
    size_t cap, got;
    bool inside; /* of a member, frame or stream: the data may not end here */
    const char *why;
};

struct decoder {
    const char *name;
    enum sniffed (*sniff)(const unsigned char *at, size_t len);
    void *(*open)(void); /* NULL: no memory */
    /* Decodes what is at hand, which may give nothing yet. */
    enum decoded (*step)(void *state, struct decoding *d);
    void (*close)(void *state); /* accepts NULL */
};

extern const struct decoder decoder_gzip, decoder_zstd, decoder_bzip2, decoder_xz;

/* The most bytes that a magic has. */
enum { MAGIC_MAX = 10 };

/* Compares the beginning with n bytes of a magic, the first `least` of which are no text. */
static inline enum sniffed magic_sniff(const unsigned char *at, size_t len, const char *magic,
                                       size_t n, size_t least)
{
    size_t both = len < n ? len : n;

    if (memcmp(at, magic, both) != 0)
        return SNIFF_NO;
    return len >= n ? SNIFF_YES : len >= least ? SNIFF_BEGINNING : SNIFF_SHORT;
}

/* What a compressed file or member that is held in memory may become: so many times its size (text
 * of numbers or words shrinks to a third, tables of zeros to a fiftieth; deflate goes to a 1,030th
 * at most), and some bytes more, for small ones. */
#define EXPAND_MOST 100
#define EXPAND_FREE ((size_t)64 << 20)

/* ---- gzip.c, for zip.c ---- */

/* Deflate without a wrapping: the first *got <= cap bytes that it becomes; *ended: there are no
 * more. */
enum decoded inflate_raw(const void *in, size_t len, void *out, size_t cap, size_t *got,
                         bool *ended);
uint32_t bytes_crc32(const void *data, size_t len);

#endif
