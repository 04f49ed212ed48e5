/* samples: tables of numbers, each row with a class or with targets; a part of the
 * door data.h. The public side is in shoal/nets.h.
 *
 * Who owns what: samples own their arrays; a scaling owns its two.
 * Threads: both are immutable once made. */
#ifndef SHOAL_SAMPLES_H
#define SHOAL_SAMPLES_H

#include "base/base.h"

struct shoal_samples {
    size_t n, inputs;
    size_t sides[3]; /* of an image: height, width, 0; 0s when a row is no image */
    float *x;        /* [n][inputs]; NULL when there are bytes */
    uint8_t *bytes;  /* [n][inputs] */
    uint32_t *label; /* [n] or NULL */
    float *y;        /* [n][targets] or NULL */
    size_t classes, targets;
};

enum { SAMPLES_MAX_CLASSES = 1 << 20, SAMPLES_MAX_INPUTS = 1 << 24 };

/* A number that stands for what they hold. */
uint64_t samples_fingerprint(const shoal_samples *s);

/* The numbers below n, of which the last `held` are to be held out: drawn by (seed,
 * stream), both parts in order. free(*ids). */
shoal_status samples_split(uint32_t **ids, size_t n, size_t held, uint64_t seed, uint64_t stream);

/* What numbers are before a net sees them: (x - mean) inverse, for each column. */
struct scaling {
    size_t n;
    float *mean, *inverse; /* [n] */
};

/* Of the samples of `ids` [n]: to mean 0 and variance 1, each column by itself, or
 * all alike when samples are images. A column that never varies becomes 0. */
shoal_status scaling_of(struct scaling *out, const shoal_samples *s, const uint32_t *ids,
                        size_t n);
/* The same for targets. */
shoal_status scaling_of_targets(struct scaling *out, const shoal_samples *s, const uint32_t *ids,
                                size_t n);
shoal_status scaling_init(struct scaling *s, size_t n);
void scaling_fini(struct scaling *s);
/* Sample id as a net sees it, into out [inputs]. */
void samples_row(const shoal_samples *s, uint32_t id, const struct scaling *scaling, float *out);
/* x [n] in place. */
void scaling_apply(const struct scaling *s, float *x);

/* ---- samples.c, samples_csv.c, samples_arrays.c ---------------------------------- */

/* An array as it lies in a file: n rows of `width` numbers of one type. */
struct array {
    const char *path;
    size_t n, width;
    size_t sides[3]; /* behind the first dimension; 0 when there are none */
    enum array_type {
        ARRAY_U8,
        ARRAY_I8,
        ARRAY_I32,
        ARRAY_U32,
        ARRAY_I64,
        ARRAY_F32,
        ARRAY_F64
    } type;
    bool big;        /* endian */
    const char *at;
};

enum { ARRAY_DIMS = 4 };

/* What the head of a .npy file says of the numbers behind it. */
struct npy {
    char type[8];                   /* "'<f4'" */
    bool by_rows;                   /* C's order, not Fortran's */
    size_t dims[ARRAY_DIMS], ndims; /* 0: not of 1 to ARRAY_DIMS dimensions */
    const char *at;                 /* the numbers */
    size_t bytes;
};

bool npy_sniff(const char *at, size_t len);
shoal_status npy_head(struct npy *out, const char *path, const char *at, size_t len);
shoal_status npy_open(struct array *a, const char *path, const char *at, size_t len);
bool idx_sniff(const char *at, size_t len);
shoal_status idx_open(struct array *a, const char *path, const char *at, size_t len);
/* Number i of row `row`, as a double. */
double array_number(const struct array *a, size_t row, size_t i);

/* Lines of numbers with commas between; *rows [n][width] is for free(). *first is the
 * line of the first row, from 1. */
shoal_status csv_read(float **rows, size_t *n, size_t *width, size_t *first, const char *path,
                      const char *at, size_t len, enum shoal_header header);

#endif
