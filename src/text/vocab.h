/* The inside of a vocabulary, for vocab*.c; not a door.
 *
 * All of it is indexed by id:
 *
 *     arena    word 0 \0 word 1 \0 ...      offsets [V+1]      counts [V]
 *     index    slots of 24 bytes: head, rest, id, len; at most half full
 *
 * Head, rest and len decide a word of up to 16 bytes without a look elsewhere.
 *
 * A mapped vocabulary has the first three in a container, borrowed and not
 * looked through at its opening, and `slots` of that container for an index:
 * whatever it points at is checked when it is used. */
#ifndef SHOAL_VOCAB_H
#define SHOAL_VOCAB_H

#include "text/text.h"

struct index_slot {
    uint64_t head, rest; /* struct key */
    uint32_t id;         /* SHOAL_NO_ID: empty */
    uint32_t len;
};

struct shoal_vocab {
    size_t size;
    struct bytes arena;
    uint64_t *offsets, *counts;
    struct index_slot *index;
    const uint32_t *slots; /* mapped, and NULL in memory */
    size_t index_size;     /* of either; a power of two */
    uint64_t total, sentences;
    uint32_t unk;
    struct rules rules; /* by which its text became words; zeros: not known */
};

#define VOCAB_MAX (UINT32_MAX - 1) /* ids; the last number is no id */

/* An empty one with room for `size` words of `bytes` bytes in all. */
shoal_status vocab_new(shoal_vocab **out, size_t size, size_t bytes);
/* Appends a word as the next id; the room was reserved by vocab_new. False when
 * it is there already. */
bool vocab_append(shoal_vocab *v, const char *at, size_t len, uint64_t count);

/* A counter for each thread, which share the memory; to be freed after a failure too. */
shoal_status counters_new(struct counter ***out, unsigned *n, const struct shoal_vocab_opts *opts);
/* The same with a text counted. */
shoal_status counters_fill(struct counter ***out, unsigned *n, struct text *text,
                           const struct shoal_vocab_opts *opts, struct shoal_text_stats *stats);
void counters_free(struct counter **counters, unsigned n);
/* Sorts t and makes its best entries a vocabulary; fails when there is none, or
 * a word stands there twice. */
shoal_status vocab_from_tallies(shoal_vocab **out, struct tallies *t,
                                const struct shoal_vocab_opts *opts,
                                struct shoal_vocab_stats *stats);
/* The sentence for a text of these stats without a word. */
shoal_status vocab_fail_empty(const char *input, const struct shoal_text_stats *read);

/* ---- vocab_file.c ---- */

/* Forwards the status; after a failure there is no vocabulary. */
shoal_status vocab_settle(shoal_vocab **out, shoal_status st);

/* The word of id < size, NUL-terminated; "" where a mapped one is malformed. */
struct span vocab_span(const shoal_vocab *v, uint32_t id);
uint32_t vocab_find_mapped(const shoal_vocab *v, const char *word, size_t len);

#endif
