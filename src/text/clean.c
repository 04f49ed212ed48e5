#include "text/text.h"

#include <utf8proc.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Whether 16 bytes are plain ASCII text without control bytes other than white
 * space: the common case, worth one comparison. */
static bool plain16(const char *at)
{
#ifdef __SSE2__
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)at);
    __m128i printable = _mm_cmpgt_epi8(v, _mm_set1_epi8(0x1f)); /* signed: not 0x80.. */
    __m128i white = _mm_and_si128(_mm_cmpgt_epi8(v, _mm_set1_epi8(0x08)),
                                  _mm_cmpgt_epi8(_mm_set1_epi8(0x0e), v));

    return _mm_movemask_epi8(_mm_or_si128(printable, white)) == 0xffff;
#else
    for (int i = 0; i < 16; i++)
        if ((unsigned char)at[i] >= 0x80 ||
            ((unsigned char)at[i] < 0x20 && !(at[i] >= 0x09 && at[i] <= 0x0d)))
            return false;
    return true;
#endif
}

static bool is_control(unsigned char c)
{
    return c < 0x20 && !(c >= 0x09 && c <= 0x0d);
}

size_t clean_find_bad(const char *at, size_t len)
{
    size_t i = 0;

    while (i < len) {
        utf8proc_int32_t code;
        utf8proc_ssize_t n;

        if (len - i >= 16 && plain16(at + i)) {
            i += 16;
            continue;
        }
        if ((unsigned char)at[i] < 0x80) {
            if (is_control((unsigned char)at[i]))
                return i;
            i++;
            continue;
        }
        n = utf8proc_iterate((const utf8proc_uint8_t *)at + i, (utf8proc_ssize_t)(len - i), &code);
        if (n <= 0)
            return i;
        i += (size_t)n;
    }
    return len;
}

/* Marks (accents, vowel signs) carry a word on but do not begin one, so that
 * decomposed and Indic text keeps its words. */
enum part { PART_BREAK, PART_MARK, PART_WORD };

static enum part part_of(utf8proc_int32_t code)
{
    switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return PART_WORD;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
        return PART_MARK;
    default:
        return PART_BREAK;
    }
}

static bool ascii_word(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* What an ASCII byte becomes: a space, a newline or its lower case. */
static char ascii_lower(unsigned char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c | 0x20);
    return ascii_word(c) || c == '\n' ? (char)c : ' ';
}

/* One character beyond ASCII from in to out; returns the bytes read. */
static size_t lower_one(const char *in, size_t len, char *out, size_t *wrote)
{
    utf8proc_int32_t code = 0;
    utf8proc_ssize_t n =
        utf8proc_iterate((const utf8proc_uint8_t *)in, (utf8proc_ssize_t)len, &code);
    enum part part = n > 0 ? part_of(code) : PART_BREAK;
    bool continues = *wrote > 0 && out[*wrote - 1] != ' ' && out[*wrote - 1] != '\n';

    if (part == PART_BREAK || (part == PART_MARK && !continues))
        out[(*wrote)++] = ' ';
    else
        *wrote += (size_t)utf8proc_encode_char(utf8proc_tolower(code),
                                               (utf8proc_uint8_t *)out + *wrote);
    return n > 0 ? (size_t)n : 1;
}

shoal_status clean_words(const char *in, size_t len, struct bytes *out)
{
    size_t i = 0, wrote = 0;
    shoal_status st;

    out->len = 0;
    /* A character may grow from two bytes to three, never more. */
    st = bytes_reserve(out, len + len / 2 + 4 + BLOCK_PAD);
    if (st != SHOAL_OK)
        return st;
    while (i < len) {
        if ((unsigned char)in[i] < 0x80)
            out->at[wrote++] = ascii_lower((unsigned char)in[i++]);
        else
            i += lower_one(in + i, len - i, out->at, &wrote);
    }
    out->len = wrote;
    return SHOAL_OK;
}

/* The size of the separator at at[0], 0 if there is a word's character. */
static size_t break_at(const char *at, size_t len, enum shoal_tokens tokens)
{
    unsigned char c = (unsigned char)at[0];
    utf8proc_int32_t code;
    utf8proc_ssize_t n;

    if (tokens == SHOAL_TOKENS_SPACE)
        return c <= ' ';
    if (c < 0x80)
        return !ascii_word(c);
    n = utf8proc_iterate((const utf8proc_uint8_t *)at, (utf8proc_ssize_t)len, &code);
    if (n <= 0)
        return (c & 0xc0) != 0x80 && len >= 4; /* a broken character separates */
    return part_of(code) == PART_BREAK ? (size_t)n : 0;
}

size_t clean_last_break(const char *at, size_t len, enum shoal_tokens tokens)
{
    for (size_t i = len; i-- > 0;) {
        size_t n = break_at(at + i, len - i, tokens);

        if (n > 0)
            return i + n;
    }
    return 0;
}

size_t clean_first_break(const char *at, size_t len, enum shoal_tokens tokens)
{
    for (size_t i = 0; i < len; i++)
        if (break_at(at + i, len - i, tokens) > 0)
            return i;
    return len;
}

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
