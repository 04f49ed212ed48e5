/* Bytes of a file, decompressed by content; the only file that knows zlib and zstd.
 *
 *     fd --stream_take--> room [IN_CAP] --gzip_step, zstd_step--> the caller's buffer
 *                  in[at .. len) is unread
 *
 * A stream has one way to fill a buffer, chosen from its first bytes; stream_read repeats it until
 * the buffer is full or the data ends. gzip members and zstd frames may follow one another; the
 * data ends well only between two of them (`inside` is false), else it was cut.
 *
 * What compressed bytes may become is limited where it costs memory: a zstd frame may ask for a
 * window of 128 MiB at most, and a file that is read whole may become 100 times its size and 64
 * MiB more (slurp_check), so that a small file cannot take all memory. Streams that are read in
 * pieces need no limit: nothing of them is kept. */
#include "file/file.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* Compressed bytes held at a time. */
#define IN_CAP ((size_t)256 << 10)
/* The first read: a page, so that later reads of a plain file stay aligned. */
#define SNIFF_CAP ((size_t)4096)
/* zlib counts in unsigned int. */
#define ZLIB_CAP ((size_t)1 << 30)
/* 128 MiB, what zstd itself accepts by default: a frame may not make us take more. */
#define WINDOW_LOG_MAX 27
/* What a compressed file that is read whole may become: so many times its size (text of numbers
 * or words shrinks to a third, tables of zeros to a fiftieth; deflate goes to a 1,030th at most),
 * and some bytes more, for small ones. */
#define EXPAND_MOST 100
#define EXPAND_FREE ((size_t)64 << 20)

struct stream {
    char *name; /* for sentences */
    int fd;     /* -1: the bytes are memory of others */
    bool standard; /* fd is standard input: not ours to close */
    /* Gives 1..cap bytes, or 0 at the end. */
    shoal_status (*fill)(struct stream *s, void *buf, size_t cap, size_t *got);
    /* Of decoded_fill: decodes what is at hand, which may give nothing yet. */
    shoal_status (*step)(struct stream *s, void *buf, size_t cap, size_t *got);
    uint64_t taken;          /* bytes read from fd */
    bool ended;              /* fd has no more */
    bool inside;             /* within a gzip member or zstd frame */
    uint64_t promised, given; /* zstd: bytes that the frame's head says it holds; so far */
    const unsigned char *in; /* unread bytes: in[at..len) */
    size_t at, len;
    unsigned char *room; /* [IN_CAP] that `in` is, unless it is memory of others */
    z_stream *gzip;      /* NULL unless gzip */
    ZSTD_DCtx *zstd;     /* NULL unless zstd */
};

/* ---- The file below --------------------------------------------------------- */

static shoal_status stream_take(struct stream *s, void *buf, size_t cap, size_t *got)
{
    ssize_t n;

    do
        n = read(s->fd, buf, cap);
    while (n < 0 && errno == EINTR);
    *got = 0;
    if (n < 0)
        return shoal_fail_errno(SHOAL_EIO, "%s", s->name);
    *got = (size_t)n;
    s->taken += (uint64_t)n;
    s->ended = n == 0;
    return SHOAL_OK;
}

static shoal_status stream_refill(struct stream *s)
{
    if (s->at < s->len || s->ended)
        return SHOAL_OK;
    s->at = s->len = 0;
    return stream_take(s, s->room, IN_CAP, &s->len);
}

/* Where in the file the decoder stands. */
static uint64_t stream_offset(const struct stream *s)
{
    return s->taken - (s->len - s->at);
}

static shoal_status fail_corrupt(const struct stream *s, const char *kind, const char *why)
{
    return shoal_fail(SHOAL_EFORMAT, "%s: corrupt %s data at byte %llu (%s)", s->name, kind,
                      (unsigned long long)stream_offset(s), why ? why : "no reason given");
}

static shoal_status fail_truncated(const struct stream *s, const char *kind)
{
    return shoal_fail(SHOAL_EFORMAT, "%s: ends inside its %s data at byte %llu", s->name, kind,
                      (unsigned long long)s->taken);
}

/* ---- Plain ------------------------------------------------------------------- */

/* Of memory all bytes are held from the beginning, and taken as they are given. */
static shoal_status plain_fill(struct stream *s, void *buf, size_t cap, size_t *got)
{
    size_t held = s->len - s->at;

    *got = 0;
    if (held == 0)
        return s->ended ? SHOAL_OK : stream_take(s, buf, cap, got);
    *got = held < cap ? held : cap;
    memcpy(buf, s->in + s->at, *got);
    s->at += *got;
    s->taken += s->fd < 0 ? *got : 0;
    return SHOAL_OK;
}

/* ---- Decoded ------------------------------------------------------------------ */

/* Steps until there is output. A decoder may hold back output when the file has ended, so it is
 * asked once more before what it is inside of counts as cut. */
static shoal_status decoded_fill(struct stream *s, void *buf, size_t cap, size_t *got)
{
    shoal_status st = SHOAL_OK;

    *got = 0;
    while (*got == 0 && st == SHOAL_OK) {
        bool last;

        st = stream_refill(s);
        last = s->at == s->len && s->ended;
        if (st != SHOAL_OK || (last && !s->inside))
            break;
        st = s->step(s, buf, cap, got);
        if (st == SHOAL_OK && last && *got == 0 && s->inside)
            st = fail_truncated(s, s->gzip ? "gzip" : "zstd");
    }
    return st;
}

/* ---- gzip --------------------------------------------------------------------- */

/* Between members zeros are padding, as tapes leave it and gzip(1) forgives. */
static bool gzip_enter(struct stream *s)
{
    if (s->inside)
        return true;
    while (s->at < s->len && s->in[s->at] == 0)
        s->at++;
    if (s->at == s->len)
        return false;
    inflateReset(s->gzip);
    s->inside = true;
    return true;
}

static shoal_status gzip_step(struct stream *s, void *buf, size_t cap, size_t *got)
{
    z_stream *z = s->gzip;
    int rc;

    if (!gzip_enter(s))
        return SHOAL_OK;
    cap = cap < ZLIB_CAP ? cap : ZLIB_CAP;
    z->next_in = (unsigned char *)(uintptr_t)(s->in + s->at); /* read only */
    z->avail_in = (uInt)(s->len - s->at);
    z->next_out = buf;
    z->avail_out = (uInt)cap;
    rc = inflate(z, Z_NO_FLUSH);
    s->at = s->len - z->avail_in;
    *got = cap - z->avail_out;
    if (rc == Z_STREAM_END)
        s->inside = false;
    else if (rc == Z_MEM_ERROR)
        return shoal_fail(SHOAL_ENOMEM, "%s: no memory to decompress it", s->name);
    else if (rc != Z_OK && rc != Z_BUF_ERROR) /* that one: it wants more bytes */
        return fail_corrupt(s, "gzip", z->msg);
    return SHOAL_OK;
}

static shoal_status gzip_init(struct stream *s)
{
    z_stream *z = mem_array(1, sizeof *z);

    if (!z)
        return SHOAL_ENOMEM;
    if (inflateInit2(z, 16 + MAX_WBITS) != Z_OK) { /* 16: the gzip wrapping alone */
        free(z);
        return shoal_fail(SHOAL_ENOMEM, "%s: no memory to decompress it", s->name);
    }
    s->gzip = z;
    s->fill = decoded_fill;
    s->step = gzip_step;
    return SHOAL_OK;
}

/* ---- zstd ---------------------------------------------------------------------- */

static shoal_status zstd_fail(const struct stream *s, size_t rc)
{
    if (ZSTD_getErrorCode(rc) == ZSTD_error_frameParameter_windowTooLarge)
        return shoal_fail(SHOAL_ELIMIT, "%s: its zstd window is over %d MiB, want at most that",
                          s->name, (1 << WINDOW_LOG_MAX) >> 20);
    if (ZSTD_getErrorCode(rc) == ZSTD_error_memory_allocation)
        return shoal_fail(SHOAL_ENOMEM, "%s: no memory to decompress it", s->name);
    return fail_corrupt(s, "zstd", ZSTD_getErrorName(rc));
}

static shoal_status zstd_step(struct stream *s, void *buf, size_t cap, size_t *got)
{
    ZSTD_inBuffer in = {s->in, s->len, s->at};
    ZSTD_outBuffer out = {buf, cap, 0};
    size_t rc;

    if (!s->inside) {
        s->promised = ZSTD_getFrameContentSize(s->in + s->at, s->len - s->at);
        s->given = 0;
    }
    rc = ZSTD_decompressStream(s->zstd, &out, &in);
    s->at = in.pos;
    *got = out.pos;
    s->given += out.pos;
    if (ZSTD_isError(rc))
        return zstd_fail(s, rc);
    s->inside = rc != 0;
    /* zstd checks it too, but not where an empty last block comes in pieces. */
    if (!s->inside && s->promised < ZSTD_CONTENTSIZE_ERROR && s->given != s->promised)
        return fail_corrupt(s, "zstd", "it holds less than its head says");
    return SHOAL_OK;
}

static shoal_status zstd_init(struct stream *s)
{
    s->zstd = ZSTD_createDCtx();
    if (!s->zstd ||
        ZSTD_isError(ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX)))
        return shoal_fail(SHOAL_ENOMEM, "%s: no memory to decompress it", s->name);
    s->fill = decoded_fill;
    s->step = zstd_step;
    return SHOAL_OK;
}

/* ---- Recognition ----------------------------------------------------------------- */

/* Whether the file starts with the magic or, being shorter, is a beginning of
 * it. Two bytes decide enough: neither magic's second byte can follow its
 * first in UTF-8 text. */
static bool starts_like(const struct stream *s, const char *magic, size_t len)
{
    size_t n = s->len < len ? s->len : len;

    return n >= 2 && memcmp(s->in, magic, n) == 0;
}

/* 0x184d2a5?: a zstd file may open with a frame to be skipped. */
static bool starts_skippable(const struct stream *s)
{
    return s->len >= 4 && (s->in[0] & 0xf0) == 0x50 && memcmp(s->in + 1, "\x2a\x4d\x18", 3) == 0;
}

static shoal_status stream_sniff(struct stream *s)
{
    shoal_status st = SHOAL_OK;
    size_t got;

    while (s->len < 4 && !s->ended && st == SHOAL_OK) {
        st = stream_take(s, s->room + s->len, SNIFF_CAP - s->len, &got);
        s->len += got;
    }
    if (st != SHOAL_OK)
        return st;
    if (starts_like(s, "\x1f\x8b", 2))
        return gzip_init(s);
    if (starts_like(s, "\x28\xb5\x2f\xfd", 4) || starts_skippable(s))
        return zstd_init(s);
    s->fill = plain_fill;
    return SHOAL_OK;
}

/* ---- The door ---------------------------------------------------------------------- */

static shoal_status stream_init(struct stream *s, const char *path)
{
    s->fd = -1;
    s->standard = strcmp(path, "-") == 0;
    s->name = strdup(s->standard ? "standard input" : path);
    s->in = s->room = mem_array(IN_CAP, 1);
    if (!s->name || !s->room)
        return shoal_fail(SHOAL_ENOMEM, "%s: no memory to read it", path);
    s->fd = s->standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0)
        return shoal_fail_errno(errno == ENOENT ? SHOAL_ENOENT : SHOAL_EIO, "%s", path);
    posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* a wish: pipes decline */
    return stream_sniff(s);
}

shoal_status stream_open(struct stream **out, const char *path)
{
    struct stream *s;
    shoal_status st;

    *out = NULL;
    s = mem_array(1, sizeof *s);
    if (!s)
        return SHOAL_ENOMEM;
    st = stream_init(s, path);
    if (st == SHOAL_OK)
        *out = s;
    else
        stream_close(s);
    return st;
}

static shoal_status open_memory(struct stream **out, const struct input *in)
{
    struct stream *s = mem_array(1, sizeof *s);

    *out = NULL;
    if (!s)
        return SHOAL_ENOMEM;
    *s = (struct stream){.name = strdup(in->path),
                         .fd = -1,
                         .ended = true,
                         .fill = plain_fill,
                         .in = in->data,
                         .len = (size_t)in->size};
    if (!s->name) {
        stream_close(s);
        return shoal_fail(SHOAL_ENOMEM, "%s: no memory to read it", in->path);
    }
    *out = s;
    return SHOAL_OK;
}

shoal_status stream_open_input(struct stream **out, const struct input *in)
{
    return in->data ? open_memory(out, in) : stream_open(out, in->path);
}

shoal_status stream_read(struct stream *s, void *buf, size_t cap, size_t *got)
{
    shoal_status st = SHOAL_OK;
    size_t n = 1;

    *got = 0;
    while (*got < cap && n > 0 && st == SHOAL_OK) {
        st = s->fill(s, (char *)buf + *got, cap - *got, &n);
        *got += n;
    }
    return st;
}

shoal_status stream_some(struct stream *s, void *buf, size_t cap, size_t *got)
{
    *got = 0;
    return s->fill(s, buf, cap, got);
}

bool stream_plain(const struct stream *s)
{
    return s->fill == plain_fill;
}

shoal_status stream_seek(struct stream *s, uint64_t offset)
{
    if (s->fd < 0 && offset <= s->len) {
        s->at = (size_t)offset;
        s->taken = 0;
        return SHOAL_OK;
    }
    if (!stream_plain(s) || lseek(s->fd, (off_t)offset, SEEK_SET) < 0)
        return shoal_fail(SHOAL_EIO, "%s: cannot be read from byte %llu on, want a plain file",
                          s->name, (unsigned long long)offset);
    s->at = s->len = 0;
    s->ended = false;
    s->taken = 0;
    return SHOAL_OK;
}

uint64_t stream_consumed(const struct stream *s)
{
    return s->taken;
}

size_t stream_left(const struct stream *s)
{
    return s->fd < 0 ? s->len - s->at : SIZE_MAX;
}

void stream_close(struct stream *s)
{
    if (!s)
        return;
    if (s->gzip)
        inflateEnd(s->gzip);
    free(s->gzip);
    ZSTD_freeDCtx(s->zstd);
    if (s->fd >= 0 && !s->standard)
        close(s->fd);
    free(s->room);
    free(s->name);
    free(s);
}

/* ---- Inputs one after the other ------------------------------------------------------ */

void input_reader_begin(struct input_reader *r, const struct shoal_watch *watch, const char *phase,
                        uint64_t bytes)
{
    stream_close(r->stream);
    *r = (struct input_reader){.inputs = r->inputs};
    pulse_begin(&r->pulse, watch, phase, "bytes", bytes);
}

shoal_status input_reader_open(struct input_reader *r)
{
    return stream_open_input(&r->stream, &r->inputs->at[r->at]);
}

void input_reader_next(struct input_reader *r)
{
    if (r->stream)
        r->consumed += stream_consumed(r->stream);
    stream_close(r->stream);
    r->stream = NULL;
    r->at++;
}

shoal_status input_reader_pulse(struct input_reader *r)
{
    return pulse_at(&r->pulse, r->consumed + (r->stream ? stream_consumed(r->stream) : 0));
}

size_t input_drop_mark(struct bytes *head)
{
    if (head->len < 3 || memcmp(head->at, "\xef\xbb\xbf", 3) != 0)
        return 0;
    head->len -= 3;
    memmove(head->at, head->at + 3, head->len);
    return 3;
}

/* ---- A whole file at once ------------------------------------------------------------ */

/* What is held in memory may not be a decompression bomb: tables of numbers compress to a third,
 * and what becomes more than EXPAND_MOST times as much is none of ours. */
static shoal_status slurp_check(const struct stream *s, size_t len, size_t max)
{
    if (len > max)
        return shoal_fail(SHOAL_ELIMIT, "%s: over %zu bytes, want at most that", s->name, max);
    if (!stream_plain(s) && len > EXPAND_FREE && (len - EXPAND_FREE) / EXPAND_MOST > s->taken)
        return shoal_fail(
            SHOAL_ELIMIT,
            "%s: %llu compressed bytes became over %zu, want at most %d times as many", s->name,
            (unsigned long long)s->taken, len, EXPAND_MOST);
    return SHOAL_OK;
}

/* Reads on to the end, one byte beyond max at most. */
static shoal_status slurp_into(struct bytes *b, struct stream *s, size_t max)
{
    shoal_status st;
    size_t want, got;

    do {
        want = b->len < IN_CAP ? IN_CAP : b->len;
        if (want > max - b->len)
            want = max - b->len + 1;
        if (!stream_plain(s) && want > EXPAND_FREE && want > mem_available())
            return shoal_fail(SHOAL_ENOMEM, "%s: over %zu bytes, more than there is memory for",
                              s->name, b->len);
        st = bytes_reserve(b, want + 1);
        if (st != SHOAL_OK)
            return st;
        st = stream_read(s, b->at + b->len, want, &got);
        if (st != SHOAL_OK)
            return st;
        b->len += got;
        st = slurp_check(s, b->len, max);
        if (st != SHOAL_OK)
            return st;
    } while (got == want);
    b->at[b->len] = '\0';
    return SHOAL_OK;
}

shoal_status stream_slurp(char **out, size_t *len, const char *path, size_t max)
{
    struct bytes b = {0};
    struct stream *s;
    shoal_status st;

    *out = NULL;
    *len = 0;
    st = stream_open(&s, path);
    if (st != SHOAL_OK)
        return st;
    st = slurp_into(&b, s, max);
    stream_close(s);
    if (st != SHOAL_OK) {
        bytes_fini(&b);
        return st;
    }
    *out = b.at;
    *len = b.len;
    return SHOAL_OK;
}
