/* The words of a block, found 64 bytes at a time:
 *
 *     text     the  cat\n sat      \n is one byte
 *     space    0001100011000       bit i: byte i separates
 *     edges    1001010010100       space ^ space << 1: a word begins or ends
 *
 * There is one step for each edge, not for each byte. A word or sentence that is open at the
 * end of a group goes on in the next one. */
#include "text/text.h"

#include <stdlib.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

struct masks {
    uint64_t space; /* bit i: byte i separates */
    uint64_t line;  /* bit i: byte i ends a line */
};

#ifdef __SSE2__
static struct masks masks_of(const char *at)
{
    const __m128i limit = _mm_set1_epi8(' ');
    const __m128i lf = _mm_set1_epi8('\n'), cr = _mm_set1_epi8('\r');
    struct masks m = {0, 0};

    for (int i = 0; i < 4; i++) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * i));
        __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(v, limit), v);
        __m128i line = _mm_or_si128(_mm_cmpeq_epi8(v, lf), _mm_cmpeq_epi8(v, cr));

        m.space |= (uint64_t)(unsigned)_mm_movemask_epi8(low) << (16 * i);
        m.line |= (uint64_t)(unsigned)_mm_movemask_epi8(line) << (16 * i);
    }
    return m;
}
#else
static struct masks masks_of(const char *at)
{
    struct masks m = {0, 0};

    for (int i = 0; i < 64; i++) {
        m.space |= (uint64_t)((unsigned char)at[i] <= ' ') << i;
        m.line |= (uint64_t)(at[i] == '\n' || at[i] == '\r') << i;
    }
    return m;
}
#endif

void scanner_begin(struct scanner *s, const struct block *b)
{
    s->block = b;
    s->pos = s->start = 0;
    s->in_word = false;
    s->open = b->inside;
}

/* Bits [from, to) of a word, to <= 64. */
static uint64_t bits_between(unsigned from, unsigned to)
{
    uint64_t below = to >= 64 ? ~0ull : (1ull << to) - 1;

    return below & ~((1ull << from) - 1);
}

static size_t end_word(struct scanner *s, size_t end, struct span *out)
{
    size_t len = end - s->start;

    s->in_word = false;
    if (len > SHOAL_WORD_MAX) {
        s->long_words++;
        return 0;
    }
    s->open = true;
    s->words++;
    *out = (struct span){s->block->text + s->start, (uint32_t)len};
    return 1;
}

static size_t end_line(struct scanner *s, struct span *out)
{
    if (!s->open)
        return 0;
    s->open = false;
    s->sentences++;
    *out = (struct span){s->block->text, 0};
    return 1;
}

/* The group at s->pos: at most 32 words and as many sentence ends. */
static size_t scan_group(struct scanner *s, struct span *out)
{
    struct masks m = masks_of(s->block->text + s->pos);
    size_t left = s->block->len - s->pos, n = 0;
    unsigned from = 0; /* where the current run of separators begins */
    uint64_t edges;

    if (left < 64) /* what lies behind the block separates, and ends no line */
        m.space |= ~0ull << left, m.line &= (1ull << left) - 1;
    edges = m.space ^ (m.space << 1 | !s->in_word);
    while (edges) {
        unsigned i = (unsigned)__builtin_ctzll(edges);

        edges &= edges - 1;
        if (m.space >> i & 1) {
            n += end_word(s, s->pos + i, out + n);
            from = i;
        } else {
            if (m.line & bits_between(from, i))
                n += end_line(s, out + n);
            s->in_word = true;
            s->start = s->pos + i;
        }
    }
    if (!s->in_word && m.line & bits_between(from, 64))
        n += end_line(s, out + n);
    s->pos += 64;
    return n;
}

size_t scanner_next(struct scanner *s, struct span *out, size_t cap)
{
    size_t n = 0;

    while (s->pos < s->block->len && n + SPANS_MIN - 4 <= cap)
        n += scan_group(s, out + n);
    if (s->pos < s->block->len)
        return n;
    /* The block is through, but a word may reach its very end. */
    if (s->in_word && n < cap)
        n += end_word(s, s->block->len, out + n);
    if (s->block->last && n < cap)
        n += end_line(s, out + n);
    return n;
}

/* ---- a text in memory ---- */

/* All words of a block. */
static shoal_status gather(const struct block *b, struct span **out, size_t *n)
{
    struct span words[SPANS_MIN];
    struct scanner scan = {0};
    size_t some, cap = 0;
    shoal_status st = SHOAL_OK;

    scanner_begin(&scan, b);
    while (st == SHOAL_OK && (some = scanner_next(&scan, words, SPANS_MIN)) > 0) {
        st = mem_grow((void **)out, &cap, *n + some, sizeof **out);
        for (size_t i = 0; i < some && st == SHOAL_OK; i++)
            if (words[i].len > 0)
                (*out)[(*n)++] = words[i];
    }
    return st;
}

shoal_status text_words(const char *text, size_t len, const struct rules *r, struct block *b,
                      struct span **out, size_t *n)
{
    struct rules lax = *r;
    uint64_t bad = 0;
    size_t first;
    shoal_status st;

    *b = (struct block){.last = true};
    *out = NULL;
    *n = 0;
    if (r->bad == SHOAL_BAD_REFUSE)
        lax.bad = SHOAL_BAD_SPACE;
    st = bytes_reserve(&b->raw, len + BLOCK_PAD);
    if (st == SHOAL_OK)
        st = bytes_add(&b->raw, text, len);
    if (st == SHOAL_OK)
        st = block_make(b, &lax, &first, &bad);
    return st == SHOAL_OK ? gather(b, out, n) : st;
}
