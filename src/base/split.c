/* Which positions of the data are held out: blocks all over it.
 *
 * Part k of the data holds the positions from k n / blocks on, and a block of it is as long as
 * that many of `held` are. Both are whole numbers that add up to n and held, so how much was held
 * out before part k is known without a look at the parts before it. Between two blocks is a
 * segment: those learned in segment k are `before(k)` further on in the data. */
#include "base/base.h"

enum { BLOCKS_MOST = 1000, STREAM_SPLIT = 0x5b117 };

struct split split_make(size_t n, size_t held, size_t least, uint64_t seed)
{
    struct split s = {.n = n, .held = held < n ? held : n, .seed = seed};
    size_t most = n - s.held; /* each part must have room for its block */

    if (s.held == 0)
        return s;
    most = most < BLOCKS_MOST ? most : BLOCKS_MOST;
    s.blocks = s.held / least < most ? s.held / least : most;
    s.blocks = s.blocks > 0 ? s.blocks : 1;
    return s;
}

struct split split_make_end(size_t n, size_t held)
{
    struct split s = split_make(n, held, held + 1, 0);

    s.end = true;
    return s;
}

/* The k-th of `blocks` + 1 places that cut `all` evenly. */
static size_t cut_at(const struct split *s, size_t all, size_t k)
{
    return all * k / s->blocks; /* of 2^53 positions at most */
}

/* Held out before part k. */
static size_t before(const struct split *s, size_t k)
{
    return cut_at(s, s->held, k);
}

/* The first position of part k, or how many are learned before it. */
static size_t part_begin(const struct split *s, size_t k, bool learned)
{
    return cut_at(s, s->n, k) - (learned ? before(s, k) : 0);
}

/* The part that has this position, or the learned one of this number. Parts are equal but for
 * rounding, so the guess is at most one off. */
static size_t part_of(const struct split *s, size_t i, bool learned)
{
    size_t k = i * s->blocks / part_begin(s, s->blocks, learned);

    while (k > 0 && part_begin(s, k, learned) > i)
        k--;
    while (k + 1 < s->blocks && part_begin(s, k + 1, learned) <= i)
        k++;
    return k;
}

void split_block(const struct split *s, size_t k, size_t *from, size_t *to)
{
    size_t first = cut_at(s, s->n, k), len = before(s, k + 1) - before(s, k);
    size_t room = cut_at(s, s->n, k + 1) - first - len;
    struct rng rng = {.seed = s->seed, .stream = STREAM_SPLIT, .index = k};

    *from = first + (s->end ? room : (size_t)rng_below(&rng, room + 1));
    *to = *from + len;
}

/* The segment of the i-th learned position: before block k, or behind the last one. */
static size_t segment_of(const struct split *s, size_t i)
{
    size_t k = part_of(s, i, true), from, to;

    split_block(s, k, &from, &to);
    return i < from - before(s, k) ? k : k + 1;
}

static size_t segment_end(const struct split *s, size_t k)
{
    size_t from = s->n, to;

    if (k < s->blocks)
        split_block(s, k, &from, &to);
    return from;
}

bool split_next(const struct split *s, size_t *i, size_t end, size_t *from, size_t *to)
{
    size_t k, stop;

    if (*i >= end)
        return false;
    *from = *i;
    *to = end;
    if (s->held > 0) {
        k = segment_of(s, *i);
        *from = *i + before(s, k);
        stop = segment_end(s, k);
        *to = stop - *from < end - *i ? stop : *from + (end - *i);
    }
    *i += *to - *from;
    return true;
}

size_t split_learned(const struct split *s, size_t i)
{
    return s->held > 0 ? i + before(s, segment_of(s, i)) : i;
}

size_t split_held(const struct split *s, size_t i)
{
    size_t k = i * s->blocks / s->held, from, to;

    while (before(s, k) > i)
        k--;
    while (before(s, k + 1) <= i)
        k++;
    split_block(s, k, &from, &to);
    return from + (i - before(s, k));
}

void split_bounds(const struct split *s, size_t position, size_t *lo, size_t *hi)
{
    size_t k, from, to;

    if (s->held == 0)
        return;
    k = part_of(s, position, false);
    split_block(s, k, &from, &to);
    if (position >= from && position < to)
        return;
    k += position >= to;
    *hi = segment_end(s, k);
    *lo = 0;
    if (k > 0)
        split_block(s, k - 1, &from, lo);
}
