/* The inside of the phrases, for phrases.c, phrases_find.c and phrases_join.c;
 * not a door.
 *
 * A pass over the text: phrases_find counts words and pairs and keeps the pairs
 * above the threshold, phrases_join writes the text anew. */
#ifndef SHOAL_PHRASES_H
#define SHOAL_PHRASES_H

#include "text/text.h"

/* ---- phrases.c: what a pass writes ------------------------------------------------ */

/* Where a pass writes to: the output, or a spool that the next pass reads. */
struct sink {
    struct output *out; /* NULL: the spool */
    struct spool spool;
    uint64_t size; /* bytes written */
};

shoal_status phrases_sink_write(struct sink *s, const void *data, size_t len);

/* ---- phrases_find.c: the pairs to be joined ---------------------------------------- */

struct phrase {
    uint64_t offset;      /* into the arena: the left word, then the right one */
    uint32_t left, right; /* bytes */
    bool seen;            /* stood side by side in a sentence; set by any thread */
};

/* Where things lie, by their hash: open addressing. */
struct places {
    uint32_t *slots; /* [size], a power of two: 1 + a place; 0: empty */
    size_t size;
};

struct phrases {
    struct phrase *at;
    size_t len, cap;
    struct places places; /* in `at`, by the hash of both words */
    struct bytes arena;
};

/* Counts the text and leaves it at its end. */
shoal_status phrases_find(struct phrases *out, struct text *text,
                          const struct shoal_phrases_opts *opts, struct shoal_vocab_stats *stats);
void phrases_fini(struct phrases *p);

static inline uint64_t phrases_pair_hash(uint64_t left, uint64_t right)
{
    return rng_mix(left * RNG_STEP + right);
}

/* Whether the pair is to be joined. The hashes are word_key_of's. */
bool phrases_have(struct phrases *p, struct span left, uint64_t left_hash, struct span right,
                  uint64_t right_hash);

/* ---- phrases_join.c: the text anew --------------------------------------------------- */

/* Reads the text from where it is; *joined is how many pairs became one word. */
shoal_status phrases_join(struct sink *sink, struct text *text, struct phrases *phrases,
                          const struct shoal_phrases_opts *opts, uint64_t *joined);

#endif
