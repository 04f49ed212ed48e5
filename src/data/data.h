/* data: what models learn from, as text, rows, samples and pictures, and the generated
 * worlds. Its parts do not know each other; each header says what it holds.
 *
 * The public types are described in shoal.h and its parts; here is what the rooms above
 * need besides. */
#ifndef SHOAL_DATA_H
#define SHOAL_DATA_H

#include "data/samples.h"
#include "data/sparse.h"
#include "data/tensors.h"
#include "data/text.h"

#endif
