/* The n-grams of a word, by which words that were never seen have vectors (Bojanowski et al. 2017).
 *
 *     word   where, of n-grams of 3 to 6 characters
 *     text   <where>
 *     3      <wh whe her ere re>
 *     4      <whe wher here ere>
 *     5, 6   <wher where here> <where where>
 *
 * An n-gram is known by a number below `buckets` alone, its hash: many n-grams share a row. The
 * hashes are those of fastText and of floret to the bit, so that their files can be read and
 * written. */
#include "text/text.h"

/* FNV-1a of 32 bits over signed bytes: bytes above 127 are widened with their sign, a slip that the
 * files in the world now depend on. */
uint32_t subwords_hash(const char *at, size_t len)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < len; i++) {
        int32_t c = (signed char)at[i];

        h = (h ^ (uint32_t)c) * 16777619u;
    }
    return h;
}

static uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static uint64_t scramble(uint64_t x, uint64_t first, unsigned by, uint64_t second)
{
    return rotate(x * first, by) * second;
}

/* The end of MurmurHash3: every bit reaches every bit. */
static uint64_t finish(uint64_t x)
{
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

void subwords_murmur(const char *at, size_t len, uint32_t out[SUBWORDS_HASHES])
{
    const uint64_t c1 = 0x87c37b91114253d5u, c2 = 0x4cf5ad432745937fu;
    uint64_t a = SUBWORDS_SEED, b = SUBWORDS_SEED, block[2];
    size_t left = len;

    for (; left >= sizeof block; at += sizeof block, left -= sizeof block) {
        memcpy(block, at, sizeof block);
        a = (rotate(a ^ scramble(block[0], c1, 31, c2), 27) + b) * 5 + 0x52dce729;
        b = (rotate(b ^ scramble(block[1], c2, 33, c1), 31) + a) * 5 + 0x38495ab5;
    }
    block[0] = block[1] = 0; /* which changes nothing where there is no rest */
    memcpy(block, at, left);
    a = (a ^ scramble(block[0], c1, 31, c2)) ^ len;
    b = (b ^ scramble(block[1], c2, 33, c1)) ^ len;
    a += b;
    b += a;
    a = finish(a);
    b = finish(b);
    a += b;
    b += a;
    out[0] = (uint32_t)a;
    out[1] = (uint32_t)(a >> 32);
    out[2] = (uint32_t)b;
    out[3] = (uint32_t)(b >> 32);
}

/* Bytes that go on with a character that began before. */
static bool goes_on(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* The rows of one n-gram, behind `found` that are there; gives how many there are then. */
static size_t list_one(const struct subwords *s, const char *at, size_t len, uint32_t *out,
                       size_t cap, size_t found)
{
    uint32_t h[SUBWORDS_HASHES];
    size_t n = s->hashes > 0 ? s->hashes : 1;

    if (s->hashes > 0)
        subwords_murmur(at, len, h);
    else
        h[0] = subwords_hash(at, len);
    for (size_t i = 0; i < n && found + i < cap; i++)
        out[found + i] = h[i] % s->buckets;
    return found + n;
}

/* The text with its brackets, `<word>`, of len bytes. */
static size_t list_grams(const struct subwords *s, const char *text, size_t len, uint32_t *out,
                         size_t cap)
{
    size_t found = s->hashes > 0 ? list_one(s, text, len, out, cap, 0) : 0;

    for (size_t i = 0; i < len; i++) {
        if (goes_on(text[i]))
            continue;
        for (size_t j = i, n = 1; j < len && n <= s->maxn; n++) {
            for (j++; j < len && goes_on(text[j]);)
                j++;
            if (n < s->minn || (n == 1 && (i == 0 || j == len))) /* a bracket alone is none */
                continue;
            found = list_one(s, text + i, j - i, out, cap, found);
        }
    }
    return found;
}

/* fastText's word for the end of a sentence has none. */
static bool is_end(const char *word, size_t len)
{
    return len == 4 && memcmp(word, "</s>", 4) == 0;
}

size_t subwords_list(const struct subwords *s, const char *word, size_t len, uint32_t *out,
                     size_t cap)
{
    char text[SHOAL_WORD_MAX + 2];

    if (s->maxn == 0 || s->buckets == 0 || len > SHOAL_WORD_MAX || is_end(word, len))
        return 0;
    text[0] = '<';
    memcpy(text + 1, word, len);
    text[len + 1] = '>';
    return list_grams(s, text, len + 2, out, cap);
}
