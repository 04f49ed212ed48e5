/* Counter-based: a strong mix of (seed, stream, index), after the finalizer of
 * SplitMix64 (Steele, Lea, Flood 2014), applied between the three words. */
#include "base/base.h"

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t rng_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint64_t key = mix(seed + 0x9e3779b97f4a7c15u) ^ mix(stream * 0xd1342543de82ef95u + 1);

    return mix(key + index * 0x9e3779b97f4a7c15u);
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
