/* Subsampling and windows, as plain loops over arrays that stay in the first-level cache: first
 * which words remain, then each one's window among them.
 *
 *     position   100 101 102 103 104 105 ...      of the corpus
 *     kept        the     cat     on  mat          words that subsampling left, and sentence ends
 *                 |<--- halo --->|<- centres ->|<--- halo --->|
 *
 * Windows reach over what was dropped, as in word2vec.c: a window of 5 is 5 words that were kept.
 * Beside the span's own centres, neighbours before and behind it are needed (the halo), up to the
 * window's width or the sentence's end; whether they are kept is known by their position alone.
 * Windows that reach over line ends drop these as if they were subsampled words. What is learned
 * from sees no word that is held out; what is held out is predicted from all around it. */
#include "model/model.h"

enum { STREAM_WINDOWS = 2 };

/* The low half of a position's number decides whether its word is kept, the
 * high half how far its window reaches. */
static inline uint64_t random_at(uint64_t key, size_t position)
{
    return rng_mix(key + position * RNG_STEP);
}

static inline bool is_kept(const struct w2v *w, uint64_t key, size_t position)
{
    uint32_t id = w->ids[position];
    bool passed = id >= w->words && w->across; /* a line end that windows reach over */

    return ((uint32_t)random_at(key, position) <= w->keep[id < w->words ? id : w->words]) & !passed;
}

static inline uint32_t radius_at(const struct w2v *w, uint64_t key, size_t position)
{
    if (w->fixed)
        return w->window;
    return 1 + (uint32_t)(((random_at(key, position) >> 32) * w->window) >> 32);
}

/* Whether no window reaches over this position. */
static inline bool is_end(const struct w2v *w, size_t position)
{
    return w->ids[position] == SHOAL_SENTENCE_END && !w->across;
}

/* The position from which `window` kept words lie before begin, or where the
 * sentence begins, or at lo. */
static size_t halo_begin(const struct w2v *w, uint64_t key, size_t begin, size_t lo)
{
    unsigned found = 0;

    while (begin > lo && found < w->window && !is_end(w, begin - 1))
        found += is_kept(w, key, --begin);
    return begin;
}

/* The same behind end. */
static size_t halo_end(const struct w2v *w, uint64_t key, size_t end, size_t hi)
{
    unsigned found = 0;

    while (end < hi && found < w->window && !is_end(w, end))
        found += is_kept(w, key, end++);
    return end;
}

/* Widens [begin, end) by the halo. */
static void reach(const struct w2v *w, uint64_t key, size_t *begin, size_t *end)
{
    size_t lo = 0, hi = w->count;

    if (*begin < *end)
        split_bounds(&w->split, *begin, &lo, &hi);
    *begin = halo_begin(w, key, *begin, lo);
    *end = halo_end(w, key, *end, hi);
}

static inline uint32_t keep_range(struct windows *out, const struct w2v *w, uint64_t key,
                                  size_t begin, size_t end, size_t origin, uint32_t n)
{
    for (size_t p = begin; p < end; p++) {
        out->kept[n] = w->ids[p];
        out->place[n] = (uint32_t)(p - origin);
        n += is_kept(w, key, p);
    }
    return n;
}

static void keep_words(struct windows *out, const struct w2v *w, uint64_t key, size_t begin,
                       size_t end)
{
    size_t first = begin, last = end;
    uint32_t n;

    reach(w, key, &first, &last);
    n = keep_range(out, w, key, first, begin, begin, 0);
    out->first = n;
    n = keep_range(out, w, key, begin, end, begin, n);
    out->last = n;
    out->kept_count = keep_range(out, w, key, end, last, begin, n);
}

static void cut_sentence(struct windows *out, const struct w2v *w, uint64_t key, size_t begin,
                         uint32_t from, uint32_t to)
{
    uint32_t c = from > out->first ? from : out->first;
    uint32_t end = to < out->last ? to : out->last;

    for (; c < end; c++) {
        uint32_t r = radius_at(w, key, begin + out->place[c]);
        struct window *at = &out->at[out->len];

        at->centre = c;
        at->lo = c - from > r ? c - r : from;
        at->hi = to - c > r + 1 ? c + r + 1 : to;
        out->len += at->hi - at->lo > 1;
    }
}

void windows_reach(const struct w2v *w, unsigned epoch, size_t *begin, size_t *end)
{
    reach(w, rng_at(w->seed, STREAM_WINDOWS, epoch), begin, end);
}

void windows_cut(struct windows *out, const struct w2v *w, unsigned epoch, size_t begin,
                 size_t end)
{
    uint64_t key = rng_at(w->seed, STREAM_WINDOWS, epoch);
    uint32_t from = 0;

    keep_words(out, w, key, begin, end);
    out->len = 0;
    out->words = 0;
    for (size_t p = begin; p < end; p++)
        out->words += w->ids[p] != SHOAL_SENTENCE_END;
    for (uint32_t c = 0; c <= out->kept_count; c++) {
        if (c < out->kept_count && out->kept[c] != SHOAL_SENTENCE_END)
            continue;
        cut_sentence(out, w, key, begin, from, c);
        from = c + 1;
    }
}
