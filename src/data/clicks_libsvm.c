/* libsvm: `label index:value ...`, indices from 0 and increasing; what follows a # is a
 * comment, as svmlight has it. */
#include "data/clicks.h"

#define INDEX_DIGITS 18 /* at most; more might not fit 64 bits */

static inline bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The length of what stands before the next space. */
static size_t word_len(const char *at, const char *end)
{
    size_t n = 0;

    while (at + n < end && !is_blank(at[n]))
        n++;
    return n;
}

/* Bytes that are digits at `at`, 8 at most, and their number. */
static inline size_t eight_digits(const char *at, uint64_t *number)
{
    uint64_t v, other;
    size_t n;

    memcpy(&v, at, 8);
    v ^= 0x3030303030303030u;
    other = ((v + 0x0606060606060606u) | v) & 0xf0f0f0f0f0f0f0f0u;
    n = other ? (size_t)__builtin_ctzll(other) / 8 : 8;
    if (n == 0)
        return 0;
    v <<= 8 * (8 - n); /* zeros before the first */
    v = v * 10 + (v >> 8);
    *number = ((v & 0x000000ff000000ffu) * 0x000f424000000064u +
               ((v >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >>
              32;
    return n;
}

/* Any number of digits, and whatever is wrong with them. */
static const char *long_index(struct click_batch *b, const char *at, const char *end,
                              uint64_t *index)
{
    const char *word = at;
    size_t len = word_len(at, end);

    if (*at == '-' && len > 1 && at[1] >= '0' && at[1] <= '9') {
        click_bad(b, "index \"%s\" is negative, want 0 or more", click_quote(word, len).text);
        return NULL;
    }
    for (*index = 0; at < end && *at >= '0' && *at <= '9' && at - word < INDEX_DIGITS; at++)
        *index = *index * 10 + (uint64_t)(*at - '0');
    if (at - word == INDEX_DIGITS && at < end && *at >= '0' && *at <= '9') {
        click_bad(b, "index \"%s\" has over %d digits, want fewer", click_quote(word, len).text,
                  INDEX_DIGITS);
        return NULL;
    }
    if (at == word || at == end || *at != ':') {
        click_bad(b, "found \"%s\", want index:value", click_quote(word, len).text);
        return NULL;
    }
    return at;
}

/* The feature at `at`; gives what follows it, or NULL. */
static inline const char *feature(const struct click_way *w, struct click_batch *b, const char *at,
                                  const char *end, uint64_t seed, uint64_t *least)
{
    const char *word = at;
    uint64_t index;
    size_t digits = eight_digits(at, &index), len;
    float value = 1;

    at += digits;
    if (digits == 0 || *at != ':') {
        at = long_index(b, word, end, &index);
        if (!at)
            return NULL;
    }
    if (index < *least) {
        click_bad(b, "index %llu follows %llu, want them to increase", (unsigned long long)index,
                  (unsigned long long)*least - 1);
        return NULL;
    }
    *least = index + 1;
    len = (size_t)(at - word);
    at++;
    if (at[0] == '1' && (unsigned char)at[1] <= ' ') {
        at++;
    } else {
        size_t n = word_len(at, end);

        if (!click_number(b, "a value", at, n, &value))
            return NULL;
        at += n;
    }
    click_push(w, b, click_fold(seed ^ index), value,
               (struct click_name){.at = word, .len = (uint32_t)len});
    return at;
}

bool libsvm_row(const struct click_way *w, struct click_batch *b, const char *at, const char *end)
{
    uint64_t seed = click_seed(CLICK_SEED_LIBSVM), least = 0;
    size_t len;

    while (at < end && is_blank(*at))
        at++;
    len = word_len(at, end);
    if (memchr(at, ':', len) || len == 0) {
        if (!w->unlabelled)
            return click_bad(b, "found no label, want 0 or 1, or -1 or 1");
        len = 0;
    }
    if (len > 0 && !click_label(b, at, len))
        return false;
    at += len;
    for (;;) {
        while (at < end && is_blank(*at))
            at++;
        if (at == end || *at == '#')
            return true;
        at = feature(w, b, at, end, seed, &least);
        if (!at)
            return false;
    }
}
