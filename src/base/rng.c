/* Counter-based: a strong mix of (seed, stream, index), after the finalizer of
 * SplitMix64 (Steele, Lea, Flood 2014), applied between the three words. */
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
