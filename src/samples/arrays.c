/* Arrays of numbers as NumPy (.npy) and MNIST (IDX) keep them: checked here, used
 * where they lie. */
#include "samples/samples.h"

#include <stdio.h>
#include <string.h>

static const struct {
    size_t size;
    const char *npy;   /* as NumPy names it, in quotes; NULL: not read */
    unsigned char idx; /* as IDX numbers it; 0: not read */
} types[] = {
    [ARRAY_U8] = {1, "'|u1'", 0x08},  [ARRAY_I8] = {1, "'|i1'", 0x09},
    [ARRAY_I32] = {4, "'<i4'", 0x0c}, [ARRAY_U32] = {4, NULL, 0},
    [ARRAY_I64] = {8, "'<i8'", 0},    [ARRAY_F32] = {4, "'<f4'", 0x0d},
    [ARRAY_F64] = {8, "'<f8'", 0x0e},
};
enum { TYPES = sizeof types / sizeof *types };

/* ---- what both have ---- */

/* The dimensions as rows and their width, and whether the bytes are as many. */
static shoal_status set_shape(struct array *a, const size_t *dims, size_t ndims, size_t bytes)
{
    size_t want;

    a->n = dims[0];
    a->width = 1;
    for (size_t i = 1; i < ndims; i++) {
        a->sides[i - 1] = dims[i];
        if (__builtin_mul_overflow(a->width, dims[i], &a->width))
            a->width = SIZE_MAX;
    }
    if (a->n == 0 || a->width == 0 || a->width > SAMPLES_MAX_INPUTS)
        return shoal_fail(SHOAL_EFORMAT, "%s: %zu rows of %zu numbers, want 1 or more of 1 to %d",
                          a->path, a->n, a->width, SAMPLES_MAX_INPUTS);
    if (__builtin_mul_overflow(a->n, a->width * types[a->type].size, &want) || want != bytes)
        return shoal_fail(SHOAL_EFORMAT, "%s: %zu bytes of numbers, want %zu for %zu rows of %zu",
                          a->path, bytes, want, a->n, a->width);
    return SHOAL_OK;
}

static uint64_t bits_of(const struct array *a, const char *at)
{
    size_t size = types[a->type].size;
    uint64_t x = 0;

    for (size_t i = 0; i < size; i++) {
        uint64_t byte = (unsigned char)at[i];

        x |= byte << 8 * (a->big ? size - 1 - i : i);
    }
    return x;
}

double array_number(const struct array *a, size_t row, size_t i)
{
    uint64_t bits = bits_of(a, a->at + (row * a->width + i) * types[a->type].size);
    uint32_t low = (uint32_t)bits;
    float f;
    double d;

    switch (a->type) {
    case ARRAY_U8:
    case ARRAY_U32:
        return (double)bits;
    case ARRAY_I8:
        return (int8_t)bits;
    case ARRAY_I32:
        return (int32_t)low;
    case ARRAY_I64:
        return (double)(int64_t)bits;
    case ARRAY_F32:
        memcpy(&f, &low, sizeof f);
        return (double)f;
    case ARRAY_F64:
        break;
    }
    memcpy(&d, &bits, sizeof d);
    return d;
}

/* ---- .npy: "\x93NUMPY", version, length of a Python dict, the dict, the numbers ---- */

#define NPY_MAGIC "\x93NUMPY"
enum { NPY_MAGIC_LEN = 6 };

bool npy_sniff(const char *at, size_t len)
{
    return len >= NPY_MAGIC_LEN && memcmp(at, NPY_MAGIC, NPY_MAGIC_LEN) == 0;
}

struct dict {
    const char *at, *end;
};

/* Its length has 2 bytes in version 1, 4 in 2 and 3. */
static shoal_status find_dict(struct dict *d, const char *path, const char *at, size_t len)
{
    const unsigned char *u = (const unsigned char *)at;
    unsigned version = len > NPY_MAGIC_LEN ? u[NPY_MAGIC_LEN] : 0;
    size_t begin = version == 1 ? 10 : 12, size;

    if (version < 1 || version > 3)
        return shoal_fail(SHOAL_EFORMAT, "%s: NumPy's version %u, want 1 to 3", path, version);
    if (len < begin)
        return shoal_fail(SHOAL_EFORMAT, "%s: ends after %zu bytes, within its header", path, len);
    size = u[8] | (size_t)u[9] << 8;
    if (version > 1)
        size |= (size_t)u[10] << 16 | (size_t)u[11] << 24;
    if (size > len - begin)
        return shoal_fail(SHOAL_EFORMAT, "%s: its header of %zu bytes is cut off after %zu", path,
                          size, len - begin);
    *d = (struct dict){at + begin, at + begin + size};
    return SHOAL_OK;
}

static const char *skip_spaces(const struct dict *d, const char *at)
{
    while (at < d->end && *at == ' ')
        at++;
    return at;
}

/* What stands behind 'key': or NULL. */
static const char *dict_value(const struct dict *d, const char *key)
{
    const char *at = memmem(d->at, (size_t)(d->end - d->at), key, strlen(key));

    return at ? skip_spaces(d, at + strlen(key)) : NULL;
}

static bool starts(const struct dict *d, const char *at, const char *with)
{
    return at && (size_t)(d->end - at) >= strlen(with) && memcmp(at, with, strlen(with)) == 0;
}

static const char *read_size(const struct dict *d, const char *at, size_t *out)
{
    const char *begin = at;

    for (*out = 0; at < d->end && *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(*out, (size_t)10, out) ||
            __builtin_add_overflow(*out, (size_t)(*at - '0'), out))
            return NULL;
    return at > begin ? at : NULL;
}

/* "(3,)", "(3, 4)", ...; 0: none of these. */
static size_t read_dims(const struct dict *d, size_t dims[ARRAY_DIMS])
{
    const char *at = dict_value(d, "'shape':");
    size_t n = 0;

    if (!starts(d, at, "("))
        return 0;
    for (at = skip_spaces(d, at + 1); !starts(d, at, ")"); at = skip_spaces(d, at)) {
        if (n == ARRAY_DIMS || !(at = read_size(d, at, &dims[n++])))
            return 0;
        at = skip_spaces(d, at);
        if (starts(d, at, ","))
            at++;
        else if (!starts(d, at, ")"))
            return 0;
    }
    return n;
}

shoal_status npy_head(struct npy *out, const char *path, const char *at, size_t len)
{
    struct dict d = {0};
    const char *type;
    shoal_status st = find_dict(&d, path, at, len);

    *out = (struct npy){.type = "unknown"};
    if (st != SHOAL_OK)
        return st;
    type = dict_value(&d, "'descr':");
    if (type)
        snprintf(out->type, sizeof out->type, "%.*s", d.end - type < 5 ? (int)(d.end - type) : 5,
                 type);
    out->by_rows = starts(&d, dict_value(&d, "'fortran_order':"), "False");
    out->ndims = read_dims(&d, out->dims);
    out->at = d.end;
    out->bytes = (size_t)(at + len - d.end);
    return SHOAL_OK;
}

static bool npy_type(const char *name, enum array_type *type)
{
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].npy && strcmp(name, types[i].npy) == 0) {
            *type = (enum array_type)i;
            return true;
        }
    return false;
}

shoal_status npy_open(struct array *a, const char *path, const char *at, size_t len)
{
    struct npy head;
    shoal_status st = npy_head(&head, path, at, len);

    *a = (struct array){.path = path, .at = head.at};
    if (st != SHOAL_OK)
        return st;
    if (!npy_type(head.type, &a->type))
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: numbers of another type than f4, f8, i4, i8, i1 or u1", path);
    if (!head.by_rows)
        return shoal_fail(SHOAL_EFORMAT, "%s: its order is not C's, row by row", path);
    if (head.ndims == 0)
        return shoal_fail(SHOAL_EFORMAT, "%s: its shape is not that of 1 to %d dimensions", path,
                          ARRAY_DIMS);
    return set_shape(a, head.dims, head.ndims, head.bytes);
}

/* ---- IDX: 0 0 type dims, each dimension as 4 bytes, the numbers; big-endian ---- */

static bool idx_type(unsigned char code, enum array_type *type)
{
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].idx == code && code != 0) {
            *type = (enum array_type)i;
            return true;
        }
    return false;
}

bool idx_sniff(const char *at, size_t len)
{
    enum array_type type;

    return len >= 8 && at[0] == 0 && at[1] == 0 && idx_type((unsigned char)at[2], &type) &&
           at[3] >= 1 && at[3] <= ARRAY_DIMS;
}

shoal_status idx_open(struct array *a, const char *path, const char *at, size_t len)
{
    const unsigned char *u = (const unsigned char *)at;
    size_t ndims = u[3], head = 4 + 4 * ndims, dims[ARRAY_DIMS];

    *a = (struct array){.path = path, .big = true, .at = at + head};
    idx_type(u[2], &a->type);
    if (len < head)
        return shoal_fail(SHOAL_EFORMAT, "%s: ends after %zu bytes, within its header", path, len);
    for (size_t i = 0; i < ndims; i++) {
        const unsigned char *d = u + 4 + 4 * i;

        dims[i] = (size_t)d[0] << 24 | (size_t)d[1] << 16 | (size_t)d[2] << 8 | d[3];
    }
    return set_shape(a, dims, ndims, len - head);
}
