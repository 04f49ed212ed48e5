/* Text that is not UTF-8: how it is recognised, and how it becomes UTF-8.
 *
 * What is certain: a mark at the beginning (FF FE, FE FF); and bytes of 0 to 8 at every second
 * place, where UTF-16 has its high bytes and no text has so many control bytes. The rest is a
 * guess: text of one byte a character says nowhere which characters it means. Where most
 * bytes beyond ASCII are no UTF-8 and stand alone among ASCII, as accented letters do, it is
 * taken for Windows-1252, of which Latin-1 is a part. */
#include "text/text.h"

#define LOOK_BYTES ((size_t)1 << 16)

enum looks {
    LOOKS_UTF8,
    LOOKS_WESTERN, /* Windows-1252 or Latin-1 */
    LOOKS_UTF16LE,
    LOOKS_UTF16BE,
    LOOKS_UTF32,
    LOOKS_OTHER,
};

/* ---- what it looks like ---- */

static bool begins_with(const char *at, size_t len, const char *mark, size_t n)
{
    return len >= n && memcmp(at, mark, n) == 0;
}

static enum looks look_mark(const char *at, size_t len)
{
    if (begins_with(at, len, "\xff\xfe\0\0", 4) || begins_with(at, len, "\0\0\xfe\xff", 4))
        return LOOKS_UTF32;
    if (begins_with(at, len, "\xff\xfe", 2))
        return LOOKS_UTF16LE;
    return begins_with(at, len, "\xfe\xff", 2) ? LOOKS_UTF16BE : LOOKS_UTF8;
}

/* Bytes up to `most` at even and at odd places. */
static void count_low(const char *at, size_t len, unsigned most, size_t low[2])
{
    low[0] = low[1] = 0;
    for (size_t i = 0; i < len; i++)
        low[i % 2] += (unsigned char)at[i] <= most;
}

/* By its high bytes: of Latin letters 0, of Greek, Cyrillic, Hebrew, Arabic ones up to 8. */
static enum looks look_high_bytes(const char *at, size_t len)
{
    size_t units = (len < LOOK_BYTES ? len : LOOK_BYTES) / 2, low[2];

    count_low(at, 2 * units, 8, low);
    if (units < 8)
        return LOOKS_UTF8;
    if (10 * low[1] >= 7 * units && 50 * low[0] <= units)
        return LOOKS_UTF16LE;
    return 10 * low[0] >= 7 * units && 50 * low[1] <= units ? LOOKS_UTF16BE : LOOKS_UTF8;
}

struct high {
    size_t chars;   /* of UTF-8, beyond ASCII */
    size_t broken;  /* bytes that are none */
    size_t lone;    /* of them, one or two among ASCII */
    size_t unknown; /* of them, none of Windows-1252; and 0xff, which text hardly has */
};

static size_t high_run(const char *at, size_t len)
{
    size_t n = 0;

    while (n < len && (unsigned char)at[n] >= 0x80)
        n++;
    return n;
}

/* A run of n bytes beyond ASCII. */
static void count_high(struct high *h, const char *at, size_t n)
{
    size_t broken = 0, m;
    uint32_t code;

    for (size_t i = 0; i < n; i += m) {
        m = clean_code(at + i, n - i, &code);
        h->chars += m > 0;
        broken += m == 0;
        h->unknown += m == 0 && strchr("\x81\x8d\x8f\x90\x9d\xff", at[i]);
        m = m > 0 ? m : 1;
    }
    h->broken += broken;
    h->lone += n <= 2 ? broken : 0;
}

/* `whole`: the end of the bytes cuts no character. */
static enum looks look_bytes(const char *at, size_t len, bool whole)
{
    struct high h = {0};

    /* The beginning may be within a character. */
    for (int i = 0; i < 3 && len > 0 && ((unsigned char)at[0] & 0xc0) == 0x80; i++)
        at++, len--;
    for (size_t i = 0, n; i<len; i += n> 0 ? n : 1) {
        n = high_run(at + i, len - i);
        if (i + n < len || whole)
            count_high(&h, at + i, n);
    }
    if (h.broken <= h.chars)
        return LOOKS_UTF8;
    return h.unknown == 0 && 10 * h.lone >= 8 * h.broken ? LOOKS_WESTERN : LOOKS_OTHER;
}

/* ---- what is read how ---- */

static const char *name_of(enum looks looks)
{
    return looks == LOOKS_UTF16BE ? "UTF-16 (big-endian)" : "UTF-16 (little-endian)";
}

static shoal_status fail_utf32(const char *name)
{
    return shoal_fail(SHOAL_EFORMAT,
                      "%s: UTF-32 by its mark, which is not read: convert it to "
                      "UTF-8",
                      name);
}

/* For SHOAL_ENCODING_UTF8. */
static shoal_status refuse_utf16(const char *name, const char *head, size_t len)
{
    enum looks mark = look_mark(head, len);
    enum looks looks = mark != LOOKS_UTF8 ? mark : look_high_bytes(head, len);

    if (looks == LOOKS_UTF32)
        return fail_utf32(name);
    if (looks == LOOKS_UTF8)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EFORMAT,
                      "%s: looks like %s by its %s, not UTF-8: --encoding utf-16 "
                      "reads it",
                      name, name_of(looks), mark != LOOKS_UTF8 ? "mark" : "zero bytes");
}

static shoal_status choose_utf16(struct decoder *d, const char *name, const char *head, size_t len)
{
    enum looks mark = look_mark(head, len);
    size_t zeros[2];

    count_low(head, len, 0, zeros);
    if (mark == LOOKS_UTF32)
        return fail_utf32(name);
    if (mark == LOOKS_UTF8 && zeros[0] == zeros[1] && len > 0)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: neither a mark nor its zero bytes say which UTF-16 "
                          "it is, want text in UTF-16",
                          name);
    d->coding = mark == LOOKS_UTF16BE || (mark == LOOKS_UTF8 && zeros[0] > zeros[1])
                    ? CODING_UTF16BE
                    : CODING_UTF16LE;
    return SHOAL_OK;
}

static shoal_status choose_auto(struct decoder *d, const char *name, const char *head, size_t len)
{
    enum looks looks = look_mark(head, len);

    if (looks == LOOKS_UTF8)
        looks = look_high_bytes(head, len);
    if (looks == LOOKS_UTF8)
        looks = look_bytes(head, len, len < BLOCK_BYTES);
    if (looks == LOOKS_UTF32)
        return fail_utf32(name);
    d->coding = looks == LOOKS_WESTERN   ? CODING_WINDOWS_1252
                : looks == LOOKS_UTF16LE ? CODING_UTF16LE
                : looks == LOOKS_UTF16BE ? CODING_UTF16BE
                                         : CODING_UTF8;
    return SHOAL_OK;
}

shoal_status decoder_begin(struct decoder *d, const struct shoal_vocab_opts *opts, const char *name,
                           const char *head, size_t len)
{
    *d = (struct decoder){.coding = CODING_UTF8};
    switch (opts->encoding) {
    case SHOAL_ENCODING_AUTO:
        return choose_auto(d, name, head, len);
    case SHOAL_ENCODING_LATIN1:
        d->coding = CODING_LATIN1;
        return SHOAL_OK;
    case SHOAL_ENCODING_WINDOWS_1252:
        d->coding = CODING_WINDOWS_1252;
        return SHOAL_OK;
    case SHOAL_ENCODING_UTF16:
        return choose_utf16(d, name, head, len);
    default:
        return opts->bad_bytes == SHOAL_BAD_REFUSE ? refuse_utf16(name, head, len) : SHOAL_OK;
    }
}

const char *decode_advice(const char *at, size_t len, bool whole)
{
    switch (look_bytes(at, len, whole)) {
    case LOOKS_WESTERN:
        return "it looks like Windows-1252 (Latin-1), which --encoding windows-1252 reads; "
               "--bad-bytes space reads such bytes as spaces";
    case LOOKS_OTHER:
        return "convert it to UTF-8, or read such bytes as spaces by --bad-bytes space";
    default:
        return "--bad-bytes space reads such bytes as spaces, replace as U+FFFD, keep as they are";
    }
}

/* ---- to UTF-8 ---- */

/* As any number below 0x10000 may be written, halves of pairs among them. */
static void put_code(struct bytes *out, uint32_t code)
{
    char *to = out->at + out->len;

    if (code < 0x80) {
        to[0] = (char)code;
        out->len += 1;
        return;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        out->len += 2;
        return;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (char)(0x80 | (code & 0x3f));
        out->len += 3;
        return;
    }
    to[0] = (char)(0xf0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3f));
    to[2] = (char)(0x80 | (code >> 6 & 0x3f));
    to[3] = (char)(0x80 | (code & 0x3f));
    out->len += 4;
}

/* Its bytes from 0x80 to 0x9f; five of them are the controls of Latin-1, which separate. */
static const uint16_t windows_1252[] = {
    0x20ac, 0x0081, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x008d, 0x017d, 0x008f, 0x0090, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x009d, 0x017e, 0x0178,
};

static void add_byte(struct bytes *out, unsigned char c, bool windows)
{
    put_code(out, windows && c >= 0x80 && c < 0xa0 ? windows_1252[c - 0x80] : c);
}

/* Half of a pair that waits for the other half in vain is put as it is. */
static void add_unit(struct decoder *d, struct bytes *out, uint32_t unit)
{
    if (d->high && unit >= 0xdc00 && unit < 0xe000) {
        put_code(out, 0x10000 + ((d->high - 0xd800) << 10) + (unit - 0xdc00));
        d->high = 0;
        return;
    }
    if (d->high)
        put_code(out, d->high);
    d->high = unit >= 0xd800 && unit < 0xdc00 ? unit : 0;
    if (!d->high)
        put_code(out, unit);
}

static void add_half(struct decoder *d, struct bytes *out, unsigned char c)
{
    if (d->half)
        add_unit(d, out, d->coding == CODING_UTF16LE ? c * 256u + d->byte : d->byte * 256u + c);
    d->byte = c;
    d->half = !d->half;
}

static void end_utf16(struct decoder *d, struct bytes *out)
{
    if (d->high)
        put_code(out, d->high);
    if (d->half)
        out->at[out->len++] = DECODE_HALF;
    d->high = d->half = 0;
}

shoal_status decoder_add(struct decoder *d, const char *in, size_t len, bool end, struct bytes *out)
{
    bool utf16 = d->coding == CODING_UTF16LE || d->coding == CODING_UTF16BE;
    shoal_status st = bytes_reserve(out, (utf16 ? len + len / 2 : 3 * len) + 8);

    for (size_t i = 0; i < len && st == SHOAL_OK; i++) {
        if (utf16)
            add_half(d, out, (unsigned char)in[i]);
        else
            add_byte(out, (unsigned char)in[i], d->coding == CODING_WINDOWS_1252);
    }
    if (st == SHOAL_OK && utf16 && end)
        end_utf16(d, out);
    return st;
}
