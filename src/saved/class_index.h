/* class_index: names of classes from a file; not a door.
 *
 * What this is: {"0": "cat", "1": ["n02084071", "dog"]} as TorchServe's index_to_name.json, a
 * JSON list, or a line for each class. Of a list within the last counts.
 * Who owns what: an index owns its names; a model copies them.
 * Threads: an index is immutable once read. */
#ifndef SHOAL_SAVED_CLASS_INDEX_H
#define SHOAL_SAVED_CLASS_INDEX_H

#include "base/base.h"

enum { CLASS_NAME = 256 }; /* bytes of a name, its end included */

struct class_index {
    char *path;   /* for sentences */
    size_t n;     /* classes */
    char **names; /* [n]; NULL: classes are to be called by their indices */
};

/* "indices" is no file: classes have no names then. */
shoal_status class_index_read(struct class_index **out, const char *path);
/* The text ends with a 0 behind its `len` bytes; it is spoilt. */
shoal_status class_index_parse(struct class_index **out, const char *path, char *text, size_t len);
void class_index_free(struct class_index *x);
/* Whether it names so many. */
shoal_status class_index_fits(const struct class_index *x, size_t classes);

#endif
