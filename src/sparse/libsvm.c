/* libsvm: `label index:value ...`, indices from 0 and increasing; what follows a # is a
 * comment, as svmlight has it. Most files have features of value 1 and one space between
 * them: usual_features finds the spaces of 64 bytes at once, so that no feature waits for
 * the length of the one before. */
#include "sparse/rows.h"

/* The length of what stands before the next space. */
static size_t word_len(const char *at, const char *end)
{
    size_t n = 0;

    while (at + n < end && !is_blank(at[n]))
        n++;
    return n;
}

/* The number of eight digits, each byte a digit's value, the first in the lowest byte and 0
 * before it; *wrong gets bits if a byte is above 9. Neighbours are joined three times, within
 * one word: digits to pairs (v * 10 + v >> 8), then pairs to fours and to eight by two
 * multiplications whose wanted sums meet in the upper half (Lemire's parse_eight_digits). */
static inline uint64_t number_of(uint64_t digits, uint64_t *wrong)
{
    uint64_t v = digits;

    *wrong |= ((v + 0x0606060606060606u) | v) & 0xf0f0f0f0f0f0f0f0u;
    v = v * 10 + (v >> 8);
    return ((v & 0x000000ff000000ffu) * 0x000f424000000064u +
            ((v >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >>
           32;
}

/* Bytes that are digits at `at`, 8 at most, and their number. */
static inline size_t eight_digits(const char *at, uint64_t *number)
{
    uint64_t v, other, wrong = 0;
    size_t n;

    memcpy(&v, at, 8);
    v ^= 0x3030303030303030u;
    other = ((v + 0x0606060606060606u) | v) & 0xf0f0f0f0f0f0f0f0u;
    n = other ? (size_t)__builtin_ctzll(other) / 8 : 8;
    if (n > 0)
        *number = number_of(v << 8 * (8 - n), &wrong);
    return n;
}

/* Bit i: byte i of 64 is a space, or the line's end, or no text. */
static inline uint64_t spaces_in(const char *at)
{
    return (uint64_t)click_bytes_upto(at, ' ') | (uint64_t)click_bytes_upto(at + 16, ' ') << 16 |
           (uint64_t)click_bytes_upto(at + 32, ' ') << 32 |
           (uint64_t)click_bytes_upto(at + 48, ' ') << 48;
}

/* Another feature; one without a slot is left out. */
static inline void push(const struct click_format *w, struct click_batch *b, uint64_t seed,
                        uint64_t index, float value)
{
    if (!w->plain)
        click_feature_push(w, b, click_hash_fold(seed ^ index), value);
    else if (index >> (64 - w->shift) == 0)
        click_feature_push(w, b, index << w->shift, value);
}

/* Features ` index:1` of up to 8 digits, from the space at `at` on, as long as there are
 * such; gives where it stopped. */
static const char *usual_features(const struct click_format *w, struct click_batch *b, const char *at,
                                  const char *end, uint64_t seed, uint64_t *least)
{
    const char *window = at, *stop;
    uint64_t spaces = at < end ? spaces_in(at) : 0;

    while (at < end && *at == ' ') {
        uint64_t v, index, wrong = 0;
        size_t n;

        spaces &= spaces - 1;
        if (!spaces) {
            if (at == window)
                break;
            window = at;
            spaces = spaces_in(at);
            continue;
        }
        stop = window + __builtin_ctzll(spaces);
        n = (size_t)(stop - at) - 3;
        memcpy(&v, at + 1, 8);
        index = number_of((v ^ 0x3030303030303030u) << (8 * (8 - n) & 63), &wrong);
        if (n - 1 > 7 || stop[-2] != ':' || stop[-1] != '1' || wrong || index < *least)
            break;
        *least = index + 1;
        push(w, b, seed, index, 1);
        at = stop;
    }
    return at;
}

/* Any number of digits, and whatever is wrong with them. */
static const char *long_index(struct click_batch *b, const char *at, const char *end,
                              uint64_t *index)
{
    const char *word = at;
    size_t len = word_len(at, end);

    if (*at == '-' && len > 1 && at[1] >= '0' && at[1] <= '9') {
        click_line_bad(b, "index \"%s\" is negative, want 0 or more", click_quote(word, len).text);
        return NULL;
    }
    for (*index = 0; at < end && *at >= '0' && *at <= '9' && at - word < CLICK_INDEX_DIGITS; at++)
        *index = *index * 10 + (uint64_t)(*at - '0');
    if (at - word == CLICK_INDEX_DIGITS && at < end && *at >= '0' && *at <= '9') {
        click_line_bad(b, "index \"%s\" has over %d digits, want fewer",
                       click_quote(word, len).text, CLICK_INDEX_DIGITS);
        return NULL;
    }
    if (at == word || at == end || *at != ':') {
        click_line_bad(b, "found \"%s\", want index:value", click_quote(word, len).text);
        return NULL;
    }
    return at;
}

/* The feature at `at`; gives what follows it, or NULL. */
static inline const char *feature(const struct click_format *w, struct click_batch *b, const char *at,
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
        click_line_bad(b, "index %llu follows %llu, want them to increase",
                       (unsigned long long)index, (unsigned long long)*least - 1);
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
    if (b->names)
        *click_name_next(b) = (struct click_name){.at = word, .len = (uint32_t)len};
    push(w, b, seed, index, value);
    return at;
}

bool click_libsvm_row(const struct click_format *w, struct click_batch *b, const char *at,
                      const char *end)
{
    uint64_t seed = click_seed(CLICK_SEED_LIBSVM), least = 0;
    size_t len;

    while (at < end && is_blank(*at))
        at++;
    len = word_len(at, end);
    if (memchr(at, ':', len))
        len = 0;
    if (!click_label(w, b, at, len))
        return false;
    at += len;
    if (!b->names)
        at = usual_features(w, b, at, end, seed, &least);
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
