/* Arrays of numbers as NumPy (.npy) and MNIST (IDX) keep them: checked here, used
 * where they lie. */
#include "samples/samples.h"

#include <stdio.h>
#include <string.h>

static const struct {
    size_t size;
    char npy;          /* as NumPy names its kind; '\0': not read */
    unsigned char idx; /* as IDX numbers it; 0: not read */
} types[] = {
    [ARRAY_U8] = {1, 'u', 0x08},  [ARRAY_I8] = {1, 'i', 0x09},  [ARRAY_U16] = {2, 'u', 0},
    [ARRAY_I16] = {2, 'i', 0x0b}, [ARRAY_U32] = {4, 'u', 0},    [ARRAY_I32] = {4, 'i', 0x0c},
    [ARRAY_U64] = {8, 'u', 0},    [ARRAY_I64] = {8, 'i', 0},    [ARRAY_F16] = {2, 'f', 0},
    [ARRAY_F32] = {4, 'f', 0x0d}, [ARRAY_F64] = {8, 'f', 0x0e},
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

/* Which number of the file is number i of a row. Fortran's order has the first index run fastest:
 * with i = (j * s1 + k) * s2 + l that is row + n * (j + s0 * (k + s1 * l)). */
static size_t place_of(const struct array *a, size_t row, size_t i)
{
    size_t s0 = a->sides[0], s1 = a->sides[1] ? a->sides[1] : 1, s2 = a->sides[2] ? a->sides[2] : 1;

    if (!a->by_columns)
        return row * a->width + i;
    return row + a->n * (i / s2 / s1 + s0 * (i / s2 % s1 + s1 * (i % s2)));
}

uint64_t array_bits(const struct array *a, size_t row, size_t i)
{
    size_t size = types[a->type].size;
    const char *at = a->at + place_of(a, row, i) * size;
    uint64_t x = 0;

    memcpy(&x, at, size);
    return a->big ? __builtin_bswap64(x) >> (64 - 8 * size) : x;
}

/* binary16: 5 bits of exponent and 10 of fraction, whose value is that of a float moved into its
 * place and 2^112 times as large; so are denormals. */
static double half_number(uint64_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = (uint32_t)(bits & 0x7fff) << 13;
    float f;

    if (rest >= 0x7c00u << 13) { /* infinity, NaN */
        rest |= sign | 0x7f800000u;
        memcpy(&f, &rest, sizeof f);
        return (double)f;
    }
    rest |= sign;
    memcpy(&f, &rest, sizeof f);
    return (double)f * 0x1p112;
}

double array_number(const struct array *a, size_t row, size_t i)
{
    uint64_t bits = array_bits(a, row, i);
    uint32_t low = (uint32_t)bits;
    float f;
    double d;

    switch (a->type) {
    case ARRAY_U8:
    case ARRAY_U16:
    case ARRAY_U32:
    case ARRAY_U64:
        return (double)bits;
    case ARRAY_I8:
        return (int8_t)bits;
    case ARRAY_I16:
        return (int16_t)bits;
    case ARRAY_I32:
        return (int32_t)low;
    case ARRAY_I64:
        return (double)(int64_t)bits;
    case ARRAY_F16:
        return half_number(bits);
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

/* "'<f4'": the order of bytes, the kind, the size; what is none stays of kind '?'. */
static void read_type(struct npy *out, const struct dict *d)
{
    const char *at = dict_value(d, "'descr':"), *end;
    size_t len = at ? (size_t)(d->end - at) : 0;

    end = len > 1 ? memchr(at + 1, '\'', len - 1) : NULL;
    if (!at || *at != '\'' || !end || end - at < 3)
        return;
    snprintf(out->type, sizeof out->type, "%.*s", (int)(end - at) - 1, at + 1);
    if (!strchr("<>|=", at[1]) || read_size(d, at + 3, &out->size) != end)
        return;
    out->big = at[1] == '>';
    out->kind = at[2];
}

shoal_status npy_head(struct npy *out, const char *path, const char *at, size_t len)
{
    struct dict d = {0};
    const char *order;
    shoal_status st = find_dict(&d, path, at, len);

    *out = (struct npy){.type = "of a type unknown", .kind = '?'};
    if (st != SHOAL_OK)
        return st;
    read_type(out, &d);
    order = dict_value(&d, "'fortran_order':");
    out->by_columns = starts(&d, order, "True");
    if (!out->by_columns && !starts(&d, order, "False"))
        return shoal_fail(SHOAL_EFORMAT, "%s: its header says no order of rows and columns", path);
    out->ndims = read_dims(&d, out->dims);
    out->at = d.end;
    out->bytes = (size_t)(at + len - d.end);
    return SHOAL_OK;
}

static bool npy_type(const struct npy *head, enum array_type *type)
{
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].npy == head->kind && types[i].size == head->size) {
            *type = (enum array_type)i;
            return true;
        }
    return false;
}

shoal_status npy_open(struct array *a, const char *path, const char *at, size_t len)
{
    struct npy head;
    shoal_status st = npy_head(&head, path, at, len);

    *a =
        (struct array){.path = path, .at = head.at, .big = head.big, .by_columns = head.by_columns};
    if (st != SHOAL_OK)
        return st;
    if (!npy_type(&head, &a->type))
        return shoal_fail(
            SHOAL_EFORMAT,
            "%s: its numbers are %s, want floats (f2, f4, f8) or whole numbers (i1 to "
            "i8, u1 to u8)",
            path, head.type);
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
