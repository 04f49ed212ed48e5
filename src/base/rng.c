/* Random numbers keyed by position.
 *
 * The problem: a run must give the same bytes for any number of threads, and go on from any place
 * after a checkpoint. A generator with a state would have to be split among threads and saved. So
 * there is none: a number is a function of (seed, stream, index), where the stream says what it is
 * for (the first values, the noise, the windows of epoch 3, ...) and the index where (a row, a
 * position of the corpus). Whoever needs it computes it, in any order.
 *
 * The function: SplitMix64 (Steele, Lea and Flood 2014) is the sequence mix(seed + i RNG_STEP),
 * whose i-th number needs none before it. A stream is such a sequence; what it starts from mixes
 * seed and stream, each by itself, so that neighbouring ones give unrelated sequences. */
#include "base/base.h"

uint64_t rng_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint64_t key = rng_mix(seed + RNG_STEP) ^ rng_mix(stream * 0xd1342543de82ef95u + 1);

    return rng_mix(key + index * RNG_STEP);
}

uint64_t rng_next(struct rng *r)
{
    return rng_at(r->seed, r->stream, r->index++);
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)rng_next(r) * n) >> 64);
}

double rng_unit(struct rng *r)
{
    return (double)(rng_next(r) >> 11) * 0x1p-53;
}
