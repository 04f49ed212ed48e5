/* Bytes of a file, decompressed by content.
 *
 *     fd --stream_take--> room [IN_CAP] --step of a decoder--> the caller's buffer
 *                  in[at .. len) is unread
 *
 * A stream has one way to fill a buffer, chosen from its first bytes; stream_read repeats it until
 * the buffer is full or the data ends. Each compression is a decoder (decoder.h) in a file of its
 * own, which alone knows its library. Members, frames and streams may follow one another; the data
 * ends well only between two of them (`inside` is false), else it was cut.
 *
 * What compressed bytes may become is limited where it costs memory: a zstd frame may ask for a
 * window of 128 MiB at most, xz for a dictionary of as much, and a file that is read whole may
 * become 100 times its size and 64 MiB more (slurp_check), so that a small file cannot take all
 * memory. Streams that are read in pieces need no limit: nothing of them is kept. */
#include "file/decoder.h"
#include "file/file.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Compressed bytes held at a time. */
#define IN_CAP ((size_t)256 << 10)
/* The first read: a page, so that later reads of a plain file stay aligned. */
#define SNIFF_CAP ((size_t)4096)

static const struct decoder *const decoders[] = {
    &decoder_gzip, &decoder_zstd, &decoder_bzip2, &decoder_xz, NULL,
};

struct stream {
    char *name;    /* for sentences */
    int fd;        /* -1: the bytes are memory of others */
    bool standard; /* fd is standard input: not ours to close */
    /* Gives 1..cap bytes, or 0 at the end. */
    shoal_status (*fill)(struct stream *s, void *buf, size_t cap, size_t *got);
    uint64_t taken;                /* bytes read from fd */
    bool ended;                    /* fd has no more */
    struct decoding now;           /* the unread bytes; of a decoder where it is, too */
    unsigned char *room;           /* [IN_CAP] that now.in is, unless it is memory of others */
    const struct decoder *decoder; /* NULL: plain */
    void *state;
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
    if (s->now.at < s->now.len || s->ended)
        return SHOAL_OK;
    s->now.at = s->now.len = 0;
    return stream_take(s, s->room, IN_CAP, &s->now.len);
}

/* Where in the file the decoder stands. */
static uint64_t stream_offset(const struct stream *s)
{
    return s->taken - (s->now.len - s->now.at);
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
    size_t held = s->now.len - s->now.at;

    *got = 0;
    if (held == 0)
        return s->ended ? SHOAL_OK : stream_take(s, buf, cap, got);
    *got = held < cap ? held : cap;
    memcpy(buf, s->now.in + s->now.at, *got);
    s->now.at += *got;
    s->taken += s->fd < 0 ? *got : 0;
    return SHOAL_OK;
}

/* ---- Decoded ------------------------------------------------------------------ */

static shoal_status step_failed(const struct stream *s, enum decoded how)
{
    switch (how) {
    case DECODED:
        return SHOAL_OK;
    case DECODED_MEMORY:
        return shoal_fail(SHOAL_ENOMEM, "%s: no memory to decompress it", s->name);
    case DECODED_LIMIT:
        return shoal_fail(SHOAL_ELIMIT, "%s: %s", s->name, s->now.why);
    case DECODED_CORRUPT:
        break;
    }
    return fail_corrupt(s, s->decoder->name, s->now.why);
}

/* Steps until there is output. A decoder may hold back output when the file has ended, so it is
 * asked once more before what it is inside of counts as cut. */
static shoal_status decoded_fill(struct stream *s, void *buf, size_t cap, size_t *got)
{
    struct decoding *d = &s->now;
    shoal_status st = SHOAL_OK;

    *got = 0;
    while (*got == 0 && st == SHOAL_OK) {
        st = stream_refill(s);
        d->last = d->at == d->len && s->ended;
        if (st != SHOAL_OK || (d->last && !d->inside))
            break;
        d->out = buf;
        d->cap = cap;
        st = step_failed(s, s->decoder->step(s->state, d));
        *got = d->got;
        if (st == SHOAL_OK && d->last && *got == 0 && d->inside)
            st = fail_truncated(s, s->decoder->name);
    }
    return st;
}

/* ---- Recognition ----------------------------------------------------------------- */

/* Whose bytes these are; *more: too few of them are there to tell, or to be sure. */
static const struct decoder *decoder_of(const unsigned char *at, size_t len, bool *more)
{
    const struct decoder *found = NULL;

    *more = false;
    for (const struct decoder *const *d = decoders; *d; d++) {
        enum sniffed s = (*d)->sniff(at, len);

        *more |= s == SNIFF_SHORT || s == SNIFF_BEGINNING;
        if (!found && s >= SNIFF_BEGINNING)
            found = *d;
    }
    return found;
}

bool bytes_compressed(const void *at, size_t len)
{
    bool more;

    return decoder_of(at, len, &more) != NULL;
}

static shoal_status decoder_open(struct stream *s)
{
    s->fill = s->decoder ? decoded_fill : plain_fill;
    s->state = s->decoder ? s->decoder->open() : NULL;
    if (s->decoder && !s->state)
        return shoal_fail(SHOAL_ENOMEM, "%s: no memory to decompress it", s->name);
    return SHOAL_OK;
}

/* Waits for as many bytes as it takes to tell, and for no more: they may be typed. */
static shoal_status stream_sniff(struct stream *s)
{
    struct decoding *d = &s->now;
    shoal_status st = SHOAL_OK;
    bool more = true;
    size_t got;

    while (more && !s->ended && st == SHOAL_OK) {
        st = stream_take(s, s->room + d->len, SNIFF_CAP - d->len, &got);
        d->len += got;
        s->decoder = decoder_of(d->in, d->len, &more);
    }
    return st == SHOAL_OK ? decoder_open(s) : st;
}

/* ---- The door ---------------------------------------------------------------------- */

static shoal_status stream_init(struct stream *s, const char *path)
{
    s->fd = -1;
    s->standard = strcmp(path, "-") == 0;
    s->name = strdup(s->standard ? "standard input" : path);
    s->now.in = s->room = mem_array(IN_CAP, 1);
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
                         .now = {.in = in->data, .len = (size_t)in->size}};
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
    if (s->fd < 0 && offset <= s->now.len) {
        s->now.at = (size_t)offset;
        s->taken = 0;
        return SHOAL_OK;
    }
    if (!stream_plain(s) || lseek(s->fd, (off_t)offset, SEEK_SET) < 0)
        return shoal_fail(SHOAL_EIO, "%s: cannot be read from byte %llu on, want a plain file",
                          s->name, (unsigned long long)offset);
    s->now.at = s->now.len = 0;
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
    return s->fd < 0 ? s->now.len - s->now.at : SIZE_MAX;
}

void stream_close(struct stream *s)
{
    if (!s)
        return;
    if (s->decoder)
        s->decoder->close(s->state);
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
