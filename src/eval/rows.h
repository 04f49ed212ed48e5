/* rows: what eval computes on; a part of the door eval.h.
 *
 * What this is: the rows of vectors or of a table, read in blocks as floats
 * with the inverse of their lengths, whatever their numbers are stored as.
 * Who owns what: rows borrow; a reader owns its buffer.
 * Threads: rows are shared, a reader belongs to one thread. */
#ifndef SHOAL_ROWS_H
#define SHOAL_ROWS_H

#include "text/text.h"
#include "kernel/kernel.h"

struct rows {
    const char *at; /* [n], each `stride` bytes, a multiple of 64 */
    enum shoal_dtype dtype;
    size_t stride, n, dim;
    const struct kernel *kernel;
    /* Of words that are asked about and do not answer, as those that were never seen: row
     * n + i is made[i]. */
    const float *made; /* [nmade][table_stride(dim)], or NULL */
    size_t nmade;
};

shoal_status rows_of_table(struct rows *out, const struct table *t);

/* Row id as floats of length 1 into out [table_stride(dim)], padded; false, and
 * all zeros, when the row has no direction. */
bool rows_unit(const struct rows *r, uint32_t id, float *out);
/* The cosine of two rows; 0 when one has no direction. units is room for both,
 * [2][table_stride(dim)]. */
double rows_cosine(const struct rows *r, uint32_t a, uint32_t b, float *units);
/* Makes x [dim] of length 1 and pads it likewise. */
bool vector_normalize(float *x, size_t dim);
/* x . y, summed as doubles. */
double vector_dot(const float *x, const float *y, size_t dim);

/* Blocks of `most` rows, 1 to ROWS_BLOCK: their borders depend on the rows
 * alone. rows_fit gives how many rows have `floats` floats. */
enum { ROWS_BLOCK = 96 };

struct block_reader {
    const struct rows *rows;
    size_t most;
    float *wide;               /* [most][stride], unless rows are floats */
    const float *at;           /* [n][stride] */
    size_t first, n, stride;   /* of the block read last */
    float inverse[ROWS_BLOCK]; /* 1 / length; 0 where there is none */
};

size_t rows_fit(const struct rows *r, size_t floats);
size_t rows_blocks(const struct rows *r, size_t most);
shoal_status block_reader_init(struct block_reader *b, const struct rows *r, size_t most);
void block_reader_fini(struct block_reader *b);
/* Reads block i < rows_blocks. */
void block_reader_read(struct block_reader *b, size_t i);

#endif
