/* Another order of positions each epoch, without a list of them.
 *
 * Positions are taken in runs that follow one another in memory, for that is what memory is quick
 * at; the order of the runs is a permutation that is computed: a Feistel network over the least
 * even number of bits that has room for them, walked again where it leads beyond the last run
 * (Black and Rogaway 2002). The positions behind the last whole run stay where they are. */
#include "base/base.h"

enum { ROUNDS = 4 };

struct shuffle shuffle_make(size_t n, size_t run, uint64_t seed, uint64_t epoch)
{
    struct shuffle s = {.run = run,
                        .runs = run > 0 ? n / run : 0,
                        .key = rng_mix(seed ^ rng_mix((epoch + 1) * RNG_STEP))};

    for (s.half = 1; s.runs > 0 && (s.runs - 1) >> (2 * s.half); s.half++)
        ;
    return s;
}

static uint64_t permute(const struct shuffle *s, uint64_t x)
{
    uint64_t mask = ((uint64_t)1 << s->half) - 1, left = x >> s->half, right = x & mask;

    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t next = left ^ (rng_mix(s->key + (right << 8 | i) * RNG_STEP) & mask);

        left = right;
        right = next;
    }
    return left << s->half | right;
}

size_t shuffle_run(const struct shuffle *s, size_t run)
{
    uint64_t x = run;

    do
        x = permute(s, x);
    while (x >= s->runs);
    return (size_t)x;
}

/* The positions [k, to) from *i on that follow one another. */
static void next_run(struct shuffle_walk *w)
{
    const struct shuffle *s = w->order;
    size_t run = s->run > 0 ? w->i / s->run : 0, within, left = w->end - w->i;

    if (run >= s->runs) { /* not shuffled, or behind the last whole run */
        w->k = w->i;
        w->to = w->end;
        w->i = w->end;
        return;
    }
    within = w->i - run * s->run;
    left = left < s->run - within ? left : s->run - within;
    w->k = shuffle_run(s, run) * s->run + within;
    w->to = w->k + left;
    w->i += left;
}

bool shuffle_next(struct shuffle_walk *w, size_t *from, size_t *to)
{
    if (w->k == w->to && w->i < w->end)
        next_run(w);
    return w->k < w->to && split_next(w->split, &w->k, w->to, from, to);
}
