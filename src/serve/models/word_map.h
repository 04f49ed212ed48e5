/* word_map: the map of a served model's commonest words; not a door.
 *
 * What this is: made once, by a thread of its own, when somebody first asks; kept as the bytes of
 * its answer as long as the generation lives. Principal components are there within a second; the
 * whole, with t-SNE, takes as long as it takes.
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
/* Begins it, if nobody has. *out is the map; while that is made NULL or, with `first`, the map by
 * principal components once it is there. Fails as the making did. */
shoal_status word_map_ask(struct word_map *m, bool first, const struct bytes **out);
/* What was made, or of NULL how far it is: {"making":0.5,"first":true}. */
void word_map_write(struct word_map *m, const struct bytes *made, struct writer *out);

#endif
