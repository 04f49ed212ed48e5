/* Records and fields: quotes as RFC 4180 has them. A record ends at the first newline outside of
 * quotes, so a quote that stands alone takes the next lines with it, up to the next one. */
#include "columns/columns.h"

/* Bit i: an odd number of the bits 0 .. i is set. Of the mask of quotes these are the bytes
 * between an opening and a closing quote: a doubled quote leaves and enters again (a prefix
 * xor, as in simdjson). */
static unsigned odd_upto(unsigned bits)
{
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    return bits & 0xffff;
}

/* The newlines outside of quotes among the next 16 bytes, of which `left` count. */
static unsigned ends_in(const char *at, size_t left, bool *inside)
{
    unsigned count = left < 16 ? (1u << left) - 1 : 0xffff;
    unsigned lines = bytes16_equal(at, '\n') & count, quotes = bytes16_equal(at, '"') & count;
    unsigned within = odd_upto(quotes) ^ (*inside ? 0xffff : 0);

    *inside = within >> 15;
    return lines & ~within;
}

const char *record_end(const struct dialect *d, const char *at, const char *end, bool *inside)
{
    if (!d->quotes) {
        const char *line = memchr(at, '\n', (size_t)(end - at));

        return line ? line : end;
    }
    for (; at < end; at += 16) {
        unsigned ends = ends_in(at, (size_t)(end - at), inside);

        if (ends)
            return at + __builtin_ctz(ends);
    }
    return end;
}

const char *record_last_end(const struct dialect *d, const char *at, const char *end, bool *inside)
{
    const char *last = at;

    if (!d->quotes) {
        const char *line = memrchr(at, '\n', (size_t)(end - at));

        return line ? line + 1 : at;
    }
    for (; at < end; at += 16) {
        unsigned ends = ends_in(at, (size_t)(end - at), inside);

        if (ends)
            last = at + 32 - __builtin_clz(ends);
    }
    return last;
}

const char *field_quoted(const struct dialect *d, struct bytes *room, const char *at,
                         const char *end, struct span *out)
{
    const char *quote = memchr(at + 1, '"', (size_t)(end - at - 1));
    size_t from = room->len;

    at++;
    *out = (struct span){at, quote ? (uint32_t)(quote - at) : 0};
    while (quote && quote + 1 < end && quote[1] == '"') {
        memcpy(room->at + room->len, at, (size_t)(quote + 1 - at));
        room->len += (size_t)(quote + 1 - at);
        at = quote + 2;
        quote = memchr(at, '"', (size_t)(end - at));
    }
    if (!quote)
        return NULL;
    if (room->len > from) {
        memcpy(room->at + room->len, at, (size_t)(quote - at));
        room->len += (size_t)(quote - at);
        *out = (struct span){room->at + from, (uint32_t)(room->len - from)};
    }
    for (at = quote + 1; at < end && is_blank(*at) && *at != d->delimiter; at++)
        ;
    return at == end || *at == d->delimiter ? at : NULL;
}
