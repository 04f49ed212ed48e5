/* samples: tables of numbers, each row with a class or with targets, and pictures; a part
 * of the door data.h. The public side is in shoal/nets.h and shoal/images.h.
 *
 * Who owns what: samples own their arrays; a scaling owns its two; a feed borrows the
 * pictures it prepares.
 * Threads: samples, scalings and sets of pictures are immutable once made; a feed has
 * threads of its own and one caller. */
#ifndef SHOAL_SAMPLES_H
#define SHOAL_SAMPLES_H

#include <shoal.h>

#include "base/base.h"
#include "columns/columns.h"
#include "file/file.h"

#include <string.h>

struct shoal_samples {
    size_t n, inputs;
    size_t sides[3]; /* of an image: height, width, 0; 0s when a row is no image */
    float *x;        /* [n][inputs]; NULL when there are bytes */
    uint8_t *bytes;  /* [n][inputs] */
    uint32_t *label; /* [n] or NULL */
    float *y;        /* [n][targets] or NULL */
    size_t classes, targets;
    char **names;                  /* [classes] what labels said; NULL: numbers from 0 */
    struct shoal_columns *columns; /* of a table; or NULL */
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

/* ---- table.c: tables of text ------------------------------------------------------ */

enum { TABLE_INPUT = 256 };

/* The inputs that columns give, all of them together; */
size_t table_inputs(const struct shoal_columns *c);
/* the name of input i, "age" or "city=Rome", and whether it is a number as it is; */
bool table_input(const struct shoal_columns *c, size_t i, char name[TABLE_INPUT]);
/* and those of a row, x [table_inputs], whose fields are field [columns]: of length 0 where there is
 * no value. */
void table_row(const struct shoal_columns *c, const struct span *field, float *x);

/* Sets columns, x, n and inputs, and labels unless they are elsewhere. FIELD_PAD bytes behind the
 * text may be read. */
shoal_status table_read(shoal_samples *s, const char *path, const char *text, size_t len,
                        const struct shoal_samples_opts *o, uint64_t limit);
/* Labels of s->n samples that stand in a table of their own. */
shoal_status table_read_labels(shoal_samples *s, const char *path, const char *text, size_t len,
                               const struct shoal_samples_opts *o);

/* ---- classes.c: labels become classes ------------------------------------------------ */

struct label_list {
    const char *path, *column; /* for sentences; column NULL: it has no name */
    const struct span *text;   /* [n] texts, */
    const double *number;      /* [n] or numbers */
    const size_t *lines;       /* [n] where each text stands */
    size_t n;
};

/* Sets label, classes and names: those that the options know, or those that are there. */
shoal_status samples_take_classes(shoal_samples *s, const struct label_list *l,
                                  const struct shoal_samples_opts *o);

/* ---- samples.c, csv.c, arrays.c ---------------------------------------------------- */

/* An array as it lies in a file: n rows of `width` numbers of one type. */
struct array {
    const char *path;
    size_t n, width;
    size_t sides[3]; /* behind the first dimension; 0 when there are none */
    enum array_type {
        ARRAY_U8,
        ARRAY_I8,
        ARRAY_U16,
        ARRAY_I16,
        ARRAY_U32,
        ARRAY_I32,
        ARRAY_U64,
        ARRAY_I64,
        ARRAY_F16,
        ARRAY_F32,
        ARRAY_F64
    } type;
    bool big;        /* endian */
    bool by_columns; /* Fortran's order */
    const char *at;
};

enum { ARRAY_DIMS = 4 };

/* What the head of a .npy file says of the numbers behind it. */
struct npy {
    char type[24];                  /* "<f4", for sentences */
    char kind;                      /* 'f', 'i', 'u' of numbers, 'U', 'S' of texts; '?': unknown */
    size_t size;                    /* of one: bytes, and of 'U' characters of 4 bytes */
    bool big, by_columns;           /* endian; Fortran's order, not C's */
    size_t dims[ARRAY_DIMS], ndims; /* 0: not of 1 to ARRAY_DIMS dimensions */
    const char *at;                 /* the numbers */
    size_t bytes;
};

bool npy_sniff(const char *at, size_t len);
shoal_status npy_head(struct npy *out, const char *path, const char *at, size_t len);
shoal_status npy_open(struct array *a, const char *path, const char *at, size_t len);
bool idx_sniff(const char *at, size_t len);
shoal_status idx_open(struct array *a, const char *path, const char *at, size_t len);
/* Number i of row `row` as it is, in the order of bytes that is ours; and as a double. */
uint64_t array_bits(const struct array *a, size_t row, size_t i);
double array_number(const struct array *a, size_t row, size_t i);

/* Lines of numbers with commas between; *rows [n][width] is for free(). *first is the
 * line of the first row, from 1. */
shoal_status samples_csv_read(float **rows, size_t *n, size_t *width, size_t *first,
                              const char *path, const char *at, size_t len,
                              enum shoal_header header);

/* ---- image.c: JPEG and PNG files ------------------------------------------------ */

#define PICTURE_MAX_SIDE 16384u
#define PICTURE_MAX_PIXELS ((uint64_t)1 << 25)
#define PICTURE_MAX_FILE ((size_t)64 << 20)

struct picture {
    unsigned width, height, channels;
    uint8_t *at; /* [height][width][channels] */
};

/* As grey (1 channel) or red, green and blue (3). Sides and pixels beyond the
 * limits are refused by the file's head, before memory is taken for them. */
shoal_status picture_decode(struct picture *out, const char *name, const void *data, size_t len,
                            unsigned channels);
/* What its head says, within the limits of decoding, without decoding it. */
shoal_status picture_size(const char *name, const void *data, size_t len, unsigned *width,
                          unsigned *height);
shoal_status picture_read(struct picture *out, const char *path, unsigned channels);
void picture_fini(struct picture *p);

/* ---- image_head.c ---- */

/* The bytes that picture_decode takes for a picture of that size, its pixels included. */
uint64_t picture_cost(const void *data, size_t len, unsigned width, unsigned height,
                      unsigned channels);

/* ---- image_fit.c: the size that a model sees --------------------------------------- */

/* Scales so that the picture just covers height x width, and takes its middle:
 * out [channels][height][width]. */
shoal_status picture_fit(uint8_t *out, const struct picture *p, unsigned height, unsigned width);

/* ---- image_preset.c: the same as torchvision does it -------------------------------- */

/* With `resize` 0 as picture_fit; else the shorter side is made that long first. */
shoal_status picture_prepare(uint8_t *out, const struct picture *p, unsigned resize,
                             unsigned height, unsigned width);

/* Planes [channels][height][width] as a PNG file into out, scaled down to at most `side` pixels a
 * side. */
shoal_status picture_thumbnail(struct bytes *out, const uint8_t *planes, unsigned channels,
                               unsigned height, unsigned width, unsigned side);

/* ---- images.c: many pictures of one size, and their classes (shoal/images.h) ----------- */

enum { IMAGES_MAX_SIDE = 1024, IMAGES_MAX_CLASSES = 65536 };

/* Immutable once opened, but for images_match_classes: threads share it without a lock. */
struct shoal_images {
    size_t count, classes;
    unsigned channels, height, width;
    unsigned resize;  /* of pictures in folders: see picture_prepare */
    uint8_t *pixels;  /* [count][channels][height][width]; NULL: decoded when asked for */
    uint32_t *labels; /* [count], each < classes */
    char **names;     /* [classes] */
    char **paths;     /* [count] of pictures in folders, or NULL */
    size_t room, label_room;
};

/* Picture i, out [channels][height][width]. */
shoal_status images_read_one(const shoal_images *set, size_t i, uint8_t *out);
size_t images_pixels(const shoal_images *set); /* channels x height x width */
/* Mean and standard deviation of each channel, of pixels from 0 to 1. */
shoal_status images_moments(const shoal_images *set, unsigned threads, float mean[3], float std[3]);
/* Gives the classes the numbers they have in `names`, to which all must belong. */
shoal_status images_match_classes(shoal_images *set, const char *path, char *const *names,
                                  size_t n);
/* A number that stands for pixels (or paths), labels and shape. */
uint64_t images_fingerprint(const shoal_images *set);

/* For images.c and the readers of its formats alone. */
shoal_status images_add(shoal_images *set, const uint8_t *pixels, uint32_t label);
/* Names a class, which may have had a name. */
shoal_status images_set_name(char **name, const char *text);
shoal_status images_read_cifar(shoal_images *set, const char *path);
shoal_status images_read_idx(shoal_images *set, const char *path);
shoal_status images_read_folder(shoal_images *set, const char *path,
                                const struct shoal_images_opts *opts);

/* ---- image_feed.c: batches of pictures, prepared ahead --------------------------------- */

struct image_feed_opts {
    size_t batch;     /* pictures asked for at once, at most */
    uint64_t seed;    /* of what is random, keyed by (seed, epoch, picture) */
    unsigned pad;     /* random crops of a picture with so many black pixels around */
    bool flip;        /* left and right, every other time */
    unsigned threads; /* that prepare; 1 .. IMAGE_FEED_MAX_THREADS */
    float mean[3], std[3];
};

enum { IMAGE_FEED_MAX_THREADS = 16 };

struct feed;

shoal_status image_feed_new(struct feed **out, const shoal_images *set,
                            const struct image_feed_opts *opts);
void image_feed_free(struct feed *f);
size_t image_feed_bytes(const shoal_images *set, const struct image_feed_opts *opts);
/* Begins to prepare what will be asked for; a wish, which a full ring declines. */
void image_feed_ahead(struct feed *f, const uint32_t *ids, size_t n, unsigned epoch);
/* x [n][channels][height][width], normalised, and labels [n]; quick where it was
 * announced, with the same result where not. labels may be ids. Several threads may
 * ask. */
shoal_status image_feed_fill(struct feed *f, const uint32_t *ids, size_t n, unsigned epoch,
                             float *x, uint32_t *labels);

#endif
