/* The n-grams of a word, by which words that were never seen have vectors (Bojanowski et al. 2017).
 *
 *     word   where, of n-grams of 3 to 6 characters
 *     text   <where>
 *     3      <wh whe her ere re>
 *     4      <whe wher here ere>
 *     5, 6   <wher where here> <where where>
 *
 * An n-gram is known by a number below `buckets` alone, its hash: many n-grams share a row. The
 * hash is fastText's to the bit, so that its files can be read and written. */
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

/* Bytes that go on with a character that began before. */
static bool goes_on(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* The text with its brackets, `<word>`, of len bytes. */
static size_t list_grams(const struct subwords *s, const char *text, size_t len, uint32_t *out,
                         size_t cap)
{
    size_t found = 0;

    for (size_t i = 0; i < len; i++) {
        if (goes_on(text[i]))
            continue;
        for (size_t j = i, n = 1; j < len && n <= s->maxn; n++) {
            for (j++; j < len && goes_on(text[j]);)
                j++;
            if (n < s->minn || (n == 1 && (i == 0 || j == len))) /* a bracket alone is none */
                continue;
            if (found < cap)
                out[found] = subwords_hash(text + i, j - i) % s->buckets;
            found++;
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
