/* fuzz: what the fuzz targets share.
 *
 * What this is: the demands of a target, memory that is accounted for, files and folders
 * made of an input's bytes, and containers whose checksums are right whatever is in them.
 * Who owns what: everything lives until the next input; fuzz_begin and fuzz_end stand
 * around each.
 * Threads: one calls; memory may be taken on any.
 *
 * An input may hold several things, each behind a line of its own:
 *
 *     %%meta                  a section of a container     ##NAME      another file
 *     kind net
 *     %%params
 *     ...any bytes...
 *
 * so that inserting a byte, which the fuzzer likes to do, moves no other thing. */
#ifndef SHOAL_FUZZ_H
#define SHOAL_FUZZ_H

#include "base/base.h"
#include "file/file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MIB ((size_t)1 << 20)

static inline void require(bool truth)
{
    if (!truth)
        abort();
}

/* ---- memory against input --------------------------------------------------------- */

/* From here until fuzz_end, whoever takes more than `base` and `times` the input's bytes
 * is ended at that call: what a few bytes blow up is a finding. Counted are malloc under the
 * address sanitizer, that of foreign libraries too, and what the library maps. With FUZZ_SAY in
 * the environment fuzz_end prints the last sentence, to see how far an input got. */
void fuzz_begin(size_t size, size_t base, size_t times);
void fuzz_end(void);
/* The same for what was put out. */
static inline void fuzz_output(size_t put, size_t size, size_t base, size_t times)
{
    require(put <= base + times * size);
}

/* ---- bytes ---------------------------------------------------------------------------- */

/* Copies of their own size, so that the sanitizer guards the byte behind them; ended by
 * fuzz_end. */
char *fuzz_copy(const void *data, size_t size); /* aligned to 64 */
char *fuzz_text(const void *data, size_t size); /* with a NUL */

/* The pieces of an input, each behind a line `MARK NAME` or `MARK NAME=SIZE`: then zeros follow
 * it, up to that size, so that a few bytes may stand for a large net. */
enum { FUZZ_NAME = 64, FUZZ_PADDED = 4 << 20 };

struct fuzz_piece {
    char name[FUZZ_NAME]; /* "" of what stands before the first mark */
    const uint8_t *at;
    size_t size, padded; /* padded >= size */
};

struct fuzz_cut {
    const char *mark; /* two bytes */
    const uint8_t *at;
    size_t size;
    bool more;
};

struct fuzz_cut fuzz_cut(const char *mark, const uint8_t *data, size_t size);
/* False behind the last. */
bool fuzz_next(struct fuzz_cut *cut, struct fuzz_piece *piece);
/* With its zeros; ended by fuzz_end. */
char *fuzz_whole(const struct fuzz_piece *piece);

/* ---- containers ---------------------------------------------------------------------------- */

/* The sections of an input as a container, sums and all; aligned, ended by fuzz_end. */
char *fuzz_container(const uint8_t *data, size_t size, size_t *len);
/* Makes the sums right again after its sections were changed. */
void fuzz_seal(char *file);

/* ---- files ------------------------------------------------------------------------------------
 */

/* A file of these bytes without a name on disk; its path, until fuzz_end; eight at most. */
const char *fuzz_file(const void *data, size_t size);
/* An empty folder of this program, the same each time, and a file in it, whose path stays until
 * the next; NULL when a folder stands there. */
const char *fuzz_folder(void);
const char *fuzz_put(const char *name, const void *data, size_t size);

#endif
