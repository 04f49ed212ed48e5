/* dtype: how a number of a model is stored; not a door.
 *
 * What this is: floats of 32 and 16 bits and bytes with a factor, from and to float.
 * Who owns what: memory is the caller's.
 * Threads: nothing is shared. */
#ifndef SHOAL_SAVED_DTYPE_H
#define SHOAL_SAVED_DTYPE_H

#include <shoal.h>

size_t dtype_size(enum shoal_dtype dtype);
const char *dtype_name(enum shoal_dtype dtype);
size_t dtype_stride(enum shoal_dtype dtype, size_t dim);
/* n numbers as floats; `scale` is int8's. */
void dtype_decode(enum shoal_dtype dtype, const void *in, float scale, size_t n, float *out);
/* Finite floats, rounded to nearest, ties to even. False when one of them is
 * too large for it. */
bool dtype_encode(enum shoal_dtype dtype, const float *in, size_t n, void *out, float *scale);
bool dtype_all_finite(enum shoal_dtype dtype, const void *in, size_t n);

#endif
