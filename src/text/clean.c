#include "text/text.h"

#include <utf8proc.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* ---- what is text ---- */

/* Whether 16 bytes are ASCII without 0x7f: the common case, worth one comparison. */
static bool plain16(const char *at)
{
#ifdef __SSE2__
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)at);
    __m128i del = _mm_cmpeq_epi8(v, _mm_set1_epi8(0x7f));

    return _mm_movemask_epi8(_mm_or_si128(v, del)) == 0;
#else
    for (int i = 0; i < 16; i++)
        if ((unsigned char)at[i] >= 0x7f)
            return false;
    return true;
#endif
}

size_t clean_code(const char *at, size_t len, uint32_t *code)
{
    utf8proc_int32_t found = 0;
    utf8proc_ssize_t n =
        utf8proc_iterate((const utf8proc_uint8_t *)at, (utf8proc_ssize_t)len, &found);

    *code = (uint32_t)found;
    return n > 0 ? (size_t)n : 0;
}

/* Those below 0x20 the scanner knows. */
static bool is_high_control(uint32_t code)
{
    return code >= 0x7f && code < 0xa0;
}

size_t clean_find(const char *at, size_t len)
{
    size_t i = 0, n;
    uint32_t code;

    while (i < len) {
        if (len - i >= 16 && plain16(at + i)) {
            i += 16;
            continue;
        }
        if ((unsigned char)at[i] < 0x7f) {
            i++;
            continue;
        }
        n = clean_code(at + i, len - i, &code);
        if (n == 0 || is_high_control(code))
            return i;
        i += n;
    }
    return len;
}

size_t clean_find_bad(const char *at, size_t len)
{
    uint32_t code;

    for (size_t i = 0, n; i < len; i += n) {
        n = clean_code(at + i, len - i, &code);
        if (n == 0 || (code < 0x20 && !(code >= 0x09 && code <= 0x0d)))
            return i;
    }
    return len;
}

/* Unicode 3.9, table 3-7 and "maximal subparts". */
size_t clean_broken(const char *at, size_t len)
{
    const unsigned char *b = (const unsigned char *)at;
    unsigned char low = b[0] == 0xe0 ? 0xa0 : b[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = b[0] == 0xed ? 0x9f : b[0] == 0xf4 ? 0x8f : 0xbf;
    size_t want = b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : 4, n = 1;

    if (b[0] < 0xc2 || b[0] > 0xf4)
        return 1;
    while (n < want && n < len && b[n] >= low && b[n] <= high) {
        n++;
        low = 0x80;
        high = 0xbf;
    }
    return n;
}

/* ---- words ---- */

#define REPLACEMENT 0xfffdu

enum char_class clean_class(uint32_t code, const struct rules *r)
{
    switch (utf8proc_category((utf8proc_int32_t)code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return CHAR_WORD;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
        return CHAR_MARK;
    default:
        return code == REPLACEMENT && r->bad == SHOAL_BAD_REPLACE ? CHAR_WORD : CHAR_BREAK;
    }
}

/* What a byte that is not UTF-8 is to words. */
static enum char_class broken_class(const struct rules *r)
{
    return r->bad == SHOAL_BAD_KEEP || r->bad == SHOAL_BAD_REPLACE ? CHAR_WORD : CHAR_BREAK;
}

/* What an ASCII byte becomes: a space, a newline or its lower case. */
static char ascii_lower(unsigned char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c | 0x20);
    return ascii_word(c) ? (char)c : c == '\n' || c == '\r' ? '\n' : ' ';
}

static size_t put_lower(uint32_t code, char *out)
{
    return (size_t)utf8proc_encode_char(utf8proc_tolower((utf8proc_int32_t)code),
                                        (utf8proc_uint8_t *)out);
}

static size_t put_broken(char byte, const struct rules *r, char *out)
{
    if (r->bad == SHOAL_BAD_REPLACE)
        return put_lower(REPLACEMENT, out);
    out[0] = byte;
    return 1;
}

size_t clean_lower(const char *in, size_t len, const struct rules *r, char *out)
{
    uint32_t code;

    return clean_code(in, len, &code) > 0 ? put_lower(code, out) : put_broken(in[0], r, out);
}

/* One character beyond ASCII from in to out; returns the bytes read. */
static size_t lower_one(const char *in, size_t len, const struct rules *r, char *out, size_t *wrote)
{
    uint32_t code;
    size_t n = clean_code(in, len, &code);
    enum char_class class = n > 0 ? clean_class(code, r) : broken_class(r);
    bool continues = *wrote > 0 && out[*wrote - 1] != ' ' && out[*wrote - 1] != '\n';

    if (class == CHAR_BREAK || (class == CHAR_MARK && !continues))
        out[(*wrote)++] = ' ';
    else
        *wrote += n > 0 ? put_lower(code, out + *wrote) : put_broken(in[0], r, out + *wrote);
    return n > 0 ? n : r->bad == SHOAL_BAD_REPLACE ? clean_broken(in, len) : 1;
}

shoal_status clean_words(const char *in, size_t len, const struct rules *r, struct bytes *out)
{
    /* A character may grow from two bytes to three, never more; a byte to U+FFFD. */
    size_t room = r->bad == SHOAL_BAD_REPLACE ? 3 * len : len + len / 2;
    size_t i = 0, wrote = 0;
    shoal_status st;

    out->len = 0;
    st = bytes_reserve(out, room + 4 + BLOCK_PAD);
    if (st != SHOAL_OK)
        return st;
    while (i < len) {
        if ((unsigned char)in[i] < 0x80)
            out->at[wrote++] = ascii_lower((unsigned char)in[i++]);
        else
            i += lower_one(in + i, len - i, r, out->at, &wrote);
    }
    out->len = wrote;
    return SHOAL_OK;
}

/* All as it is, but U+FFFD for each broken character. */
static shoal_status replace_broken(const char *in, size_t len, struct bytes *out)
{
    static const struct rules replace = {.bad = SHOAL_BAD_REPLACE};
    shoal_status st;

    out->len = 0;
    st = bytes_reserve(out, 3 * len + BLOCK_PAD);
    for (size_t i = 0, good; i < len && st == SHOAL_OK; i += good) {
        good = clean_find(in + i, len - i);
        memcpy(out->at + out->len, in + i, good);
        out->len += good;
        i += good;
        good = i < len ? clean_broken(in + i, len - i) : 0;
        if (good > 0)
            out->len += clean_lower(in + i, good, &replace, out->at + out->len);
    }
    return st;
}

/* ---- a block ---- */

/* The control character at at[0], 0x7f or two bytes, became spaces; 0 when it is none. */
static size_t blank_control(char *at, size_t len)
{
    uint32_t code;
    size_t n = clean_code(at, len, &code);

    memset(at, ' ', n);
    return n;
}

/* The bytes as the rules want them, as far as that leaves their number as it is. */
static void clean_raw(struct bytes *raw, const struct rules *r, size_t *first, uint64_t *bad)
{
    *first = raw->len;
    for (size_t i = 0, n; (i += clean_find(raw->at + i, raw->len - i)) < raw->len; i += n) {
        n = blank_control(raw->at + i, raw->len - i);
        if (n > 0)
            continue;
        if (*first == raw->len)
            *first = i;
        if (r->bad == SHOAL_BAD_REFUSE)
            return;
        if (r->bad == SHOAL_BAD_SPACE)
            raw->at[i] = ' ';
        ++*bad;
        n = 1;
    }
}

shoal_status block_make(struct block *b, const struct rules *r, size_t *first, uint64_t *bad)
{
    const struct bytes *text = &b->words;
    shoal_status st = SHOAL_OK;

    clean_raw(&b->raw, r, first, bad);
    if (r->bad == SHOAL_BAD_REFUSE && *first < b->raw.len)
        return SHOAL_OK;
    if (segment_has_seams(r))
        st = segment_words(b->raw.at, b->raw.len, r, b->pair_before, b->pair_after, &b->words);
    else if (r->tokens != SHOAL_TOKENS_SPACE)
        st = clean_words(b->raw.at, b->raw.len, r, &b->words);
    else if (r->bad == SHOAL_BAD_REPLACE && *first < b->raw.len)
        st = replace_broken(b->raw.at, b->raw.len, &b->words);
    else
        text = &b->raw;
    b->text = text->at;
    b->len = text->len;
    b->made = st == SHOAL_OK;
    return st;
}

/* ---- where words end ---- */

/* Whether it may be a part of an emoji. */
static bool joins_emoji(uint32_t code)
{
    switch (utf8proc_get_property((utf8proc_int32_t)code)->boundclass) {
    case UTF8PROC_BOUNDCLASS_OTHER:
    case UTF8PROC_BOUNDCLASS_CONTROL:
        return false;
    default:
        return true;
    }
}

static bool ascii_breaks(unsigned char c, const struct rules *r)
{
    if (r->tokens == SHOAL_TOKENS_SPACE)
        return c <= ' ' || c == 0x7f;
    return !ascii_word(c) && !(r->emoji && (c == '#' || c == '*')); /* keycaps */
}

/* Whether the character of n bytes at at[0] separates. */
static bool breaks(const char *at, size_t n, const struct rules *r)
{
    uint32_t code;

    if ((unsigned char)at[0] < 0x80)
        return ascii_breaks((unsigned char)at[0], r);
    if (clean_code(at, n, &code) == 0)
        return broken_class(r) == CHAR_BREAK;
    if (r->tokens == SHOAL_TOKENS_SPACE)
        return is_high_control(code);
    return clean_class(code, r) == CHAR_BREAK && !(r->emoji && joins_emoji(code));
}

/* Bytes of the character that ends at at[i], i > 0; 1 of what is none. Reading forward finds the
 * same ones: no character of UTF-8 begins within another. */
static size_t size_before(const char *at, size_t i)
{
    uint32_t code;

    for (size_t n = 1; n <= 4 && n <= i; n++)
        if (((unsigned char)at[i - n] & 0xc0) != 0x80)
            return clean_code(at + i - n, n, &code) == n ? n : 1;
    return 1;
}

size_t clean_last_break(const char *at, size_t len, const struct rules *r)
{
    for (size_t i = len, n; i > 0; i -= n) {
        n = size_before(at, i);
        if (breaks(at + i - n, n, r))
            return i;
    }
    return 0;
}

size_t clean_first_break(const char *at, size_t len, const struct rules *r)
{
    uint32_t code;

    for (size_t i = 0, n; i < len; i += n) {
        n = clean_code(at + i, len - i, &code);
        n = n > 0 ? n : 1;
        if (breaks(at + i, n, r))
            return i;
    }
    return len;
}

size_t clean_whole(const char *at, size_t len)
{
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        unsigned char c = (unsigned char)at[len - back];
        size_t size = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

        if ((c & 0xc0) != 0x80)
            return size > back ? len - back : len;
    }
    return len;
}

size_t clean_last_line(const char *at, size_t len)
{
    const char *line = memrchr(at, '\n', len);
    size_t lf = line ? (size_t)(line + 1 - at) : 0;
    const char *cr = memrchr(at + lf, '\r', len - lf);

    return cr ? (size_t)(cr + 1 - at) : lf;
}

/* ---- for those who compare words ---- */

uint32_t clean_next(const char **at, const char *end)
{
    unsigned char c = (unsigned char)**at;
    utf8proc_int32_t code;
    utf8proc_ssize_t n;

    if (c < 0x80) {
        (*at)++;
        return c;
    }
    n = utf8proc_iterate((const utf8proc_uint8_t *)*at, end - *at, &code);
    *at += n > 0 ? n : 1;
    return n > 0 ? (uint32_t)code : CLEAN_NO_CODE + c;
}

uint32_t clean_upper_code(uint32_t code)
{
    utf8proc_int32_t upper;

    if (code < 0x80)
        return code >= 'a' && code <= 'z' ? code - 0x20 : code;
    if (code >= CLEAN_NO_CODE)
        return code;
    upper = utf8proc_toupper((utf8proc_int32_t)code);
    return upper < 0x80 ? code : (uint32_t)upper;
}

shoal_status clean_upper(const char *in, size_t len, struct bytes *out)
{
    const char *end = in + len;
    shoal_status st;

    out->len = 0;
    /* A character may grow from two bytes to three; KEY_PAD is for word_key_of. */
    st = bytes_reserve(out, len + len / 2 + 4 + KEY_PAD);
    if (st != SHOAL_OK)
        return st;
    while (in < end) {
        uint32_t code = clean_upper_code(clean_next(&in, end));

        if (code < 0x80)
            out->at[out->len++] = (char)code;
        else if (code >= CLEAN_NO_CODE)
            out->at[out->len++] = (char)(code - CLEAN_NO_CODE);
        else
            out->len += (size_t)utf8proc_encode_char((utf8proc_int32_t)code,
                                                     (utf8proc_uint8_t *)out->at + out->len);
    }
    return SHOAL_OK;
}
