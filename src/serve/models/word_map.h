/* word_map: the map of a served model's commonest words; not a door.
 *
 * What this is: made once, by a thread of its own, when somebody first asks; kept as the bytes of
 * its answer as long as the generation lives.
 * Who owns what: the vectors are borrowed.
 * Threads: any. Nobody waits for the map but word_map_free, which stops the making. */
#ifndef SHOAL_SERVE_WORD_MAP_H
#define SHOAL_SERVE_WORD_MAP_H

#include "saved/saved.h"
#include "serve/parse.h"

enum {
    WORD_MAP_WORDS = 3000,
    WORD_MAP_DIM = 1024, /* of vectors with more there is none: memory */
};

struct word_map;

shoal_status word_map_new(struct word_map **out, const shoal_vectors *v);
void word_map_free(struct word_map *m);
/* Begins it, if nobody has. *len is its bytes, 0 while it is made. Fails as the making did. */
shoal_status word_map_ask(struct word_map *m, size_t *len);
/* The map, or how far it is: {"making":0.5}. */
void word_map_write(struct word_map *m, bool whole, struct writer *out);

#endif
