/* map: many dimensions on a sheet of paper; not a door. */
#ifndef SHOAL_SERVE_MAP_H
#define SHOAL_SERVE_MAP_H

#include "base/base.h"

/* The places [n][2] of rows [n][dim], made of length 1, along the two directions
 * in which they differ most (principal components); the larger half of each axis
 * is positive, so that equal rows give equal maps. The rows are changed. */
shoal_status pca_places(float *rows, size_t n, size_t dim, float *places);

#endif
