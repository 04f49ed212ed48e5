/* map: the object behind shoal_map; not a door.
 *
 * What this is: points, layouts, clusters and neighbours, made by map.c, written by map_page.c.
 * Who owns what: all but the vectors.
 * Threads: immutable once made. */
#ifndef SHOAL_SAVED_MAP_H
#define SHOAL_SAVED_MAP_H

#include "saved/vectors/vectors.h"

enum { MAP_LAYOUTS = 2 };

struct map_layout {
    const char *name;
    float *places; /* [n][2] */
    struct layout_score score;
    double loss;
};

struct shoal_map {
    const shoal_vectors *v;
    size_t n;
    uint32_t *ids;      /* [n] of the words among the vectors */
    struct table rows;  /* their rows, of length 1, and room */
    struct table units; /* [n] of them */
    struct map_layout layouts[MAP_LAYOUTS];
    size_t nlayouts;
    size_t clusters;
    uint8_t *of;            /* [n] */
    uint32_t *names;        /* [clusters][SHOAL_MAP_NAMES] points, or SHOAL_NO_ID */
    struct neighbours near; /* SHOAL_MAP_NEAR, or fewer where there are fewer words */
};

#endif
