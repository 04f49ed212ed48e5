/* near: "did you mean". The nearest of several names to a mistyped word, by
 * Damerau-Levenshtein distance: letters added, lost, changed or swapped. */
#ifndef CLI_NEAR_H
#define CLI_NEAR_H

#include <stddef.h>

struct near {
    const char *word; /* as typed; borrowed */
    const char *best; /* NULL while nothing is near enough */
    size_t distance;  /* of best; before, the first distance that is too far */
};

struct near near_to(const char *word);
void near_try(struct near *near, const char *name);

#endif
