/* safetensors: named tensors in a file. The length of a header as u64, the header as
 * JSON, the data.
 *
 *     {"__metadata__": {"words": "the\ncat"},
 *      "vectors": {"dtype": "F32", "shape": [2, 100], "data_offsets": [0, 800]}}
 *
 * The header is read with a small parser of its own: it knows objects, strings and
 * whole numbers, and passes over the rest. */
#include "saved/tensors.h"

#include <stdio.h>
#include <stdlib.h>

#define DEPTH_MAX 64
#define TENSORS_MAX ((size_t)1 << 16)
#define HEADER_MAX ((size_t)100000000) /* of the format */

/* ---- a little JSON ---- */

/* Every step gives false at the first thing that is not as it should be, and
 * then `bad` stays set. */
struct json {
    const char *at, *end;
    bool bad;
};

static bool json_fail(struct json *j)
{
    j->bad = true;
    return false;
}

static char json_peek(struct json *j)
{
    while (j->at < j->end && strchr(" \t\r\n", *j->at) && *j->at)
        j->at++;
    return !j->bad && j->at < j->end ? *j->at : '\0';
}

static bool json_take(struct json *j, char c)
{
    if (json_peek(j) != c)
        return json_fail(j);
    j->at++;
    return true;
}

/* The next member of an object or element of an array: true when there is one.
 * `first` is the opening bracket's own. */
static bool json_next(struct json *j, bool *first, char close)
{
    bool was_first = *first;

    *first = false;
    if (json_peek(j) == close) {
        j->at++;
        return false;
    }
    return was_first ? !j->bad : json_take(j, ',');
}

static bool json_hex(struct json *j, uint32_t *out)
{
    *out = 0;
    if (j->end - j->at < 4)
        return json_fail(j);
    for (int i = 0; i < 4; i++, j->at++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = *j->at ? strchr(digits, *j->at) : NULL;

        if (!digit)
            return json_fail(j);
        *out = *out * 16 + (uint32_t)(digit - digits) % 16;
    }
    return true;
}

/* The code point behind \u, of one or of two units. */
static bool json_code(struct json *j, uint32_t *code)
{
    uint32_t low;

    if (!json_hex(j, code) || (*code & 0xfc00) == 0xdc00)
        return json_fail(j);
    if ((*code & 0xfc00) != 0xd800)
        return true;
    if (j->end - j->at < 6 || j->at[0] != '\\' || j->at[1] != 'u')
        return json_fail(j);
    j->at += 2;
    if (!json_hex(j, &low) || (low & 0xfc00) != 0xdc00)
        return json_fail(j);
    *code = 0x10000 + ((*code & 0x3ff) << 10) + (low & 0x3ff);
    return true;
}

static size_t utf8_put(char *out, uint32_t code)
{
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (size_t i = n - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(first[n] | code);
    return n;
}

/* What a backslash and the byte behind it stand for, into out [4]. */
static size_t json_escape(struct json *j, char *out)
{
    static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    char c = j->at < j->end ? *j->at++ : '\0';
    const char *named = c ? strchr(names, c) : NULL;
    uint32_t code;

    if (named) {
        *out = bytes[named - names];
        return 1;
    }
    if (c != 'u' || !json_code(j, &code)) {
        json_fail(j);
        return 0;
    }
    return utf8_put(out, code);
}

/* A string into `out`, which has room for as many bytes as it takes in the
 * text; NULL: passed over. */
static bool json_string(struct json *j, char *out, size_t *len)
{
    char ignored[4];

    *len = 0;
    if (!json_take(j, '"'))
        return false;
    while (!j->bad && j->at < j->end && *j->at != '"') {
        const char *plain = j->at;

        while (j->at < j->end && *j->at != '"' && *j->at != '\\')
            j->at++;
        if (out)
            memcpy(out + *len, plain, (size_t)(j->at - plain));
        *len += (size_t)(j->at - plain);
        if (j->at < j->end && *j->at == '\\') {
            j->at++;
            *len += json_escape(j, out ? out + *len : ignored);
        }
    }
    return !j->bad && json_take(j, '"');
}

/* A short string; "" when it has cap bytes or more. */
static bool json_key(struct json *j, char *key, size_t cap)
{
    const char *begin = j->at;
    size_t len;

    if (!json_string(j, NULL, &len))
        return false;
    key[0] = '\0';
    if (len < cap) {
        j->at = begin;
        json_string(j, key, &len);
        key[len] = '\0';
    }
    return true;
}

static bool json_size(struct json *j, size_t *out)
{
    char c = json_peek(j);

    if (c < '0' || c > '9')
        return json_fail(j);
    for (*out = 0; j->at < j->end && *j->at >= '0' && *j->at <= '9'; j->at++)
        if (__builtin_mul_overflow(*out, (size_t)10, out) ||
            __builtin_add_overflow(*out, (size_t)(*j->at - '0'), out))
            return json_fail(j);
    return true;
}

/* Any value, without looking at it. Brackets are counted, not matched. */
static bool json_skip(struct json *j)
{
    size_t depth = 0, len;

    do {
        char c = json_peek(j);

        if (c == '"') {
            if (!json_string(j, NULL, &len))
                return false;
            continue;
        }
        if (c == '\0' || depth > DEPTH_MAX)
            return json_fail(j);
        if (depth == 0 && strchr("]},:", c))
            return json_fail(j);
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        j->at++;
        if (c != '{' && c != '[' && depth == 0 && c != '}' && c != ']')
            while (j->at < j->end && !strchr(" \t\r\n,]}\"", *j->at))
                j->at++;
    } while (depth > 0);
    return !j->bad;
}

/* ---- reading ---- */

/* An array of whole numbers, of which `most` are kept; gives how many. */
static size_t read_sizes(struct json *j, size_t *out, size_t most)
{
    bool first = true;
    size_t n = 0, ignored;

    json_take(j, '[');
    while (json_next(j, &first, ']')) {
        if (!json_size(j, n < most ? &out[n] : &ignored))
            return 0;
        n++;
    }
    return j->bad ? 0 : n;
}

static bool read_tensor(struct json *j, struct file_tensor *t)
{
    size_t offsets[2] = {0};
    bool first = true;
    char key[16];

    json_take(j, '{');
    while (json_next(j, &first, '}')) {
        if (!json_key(j, key, sizeof key) || !json_take(j, ':'))
            return false;
        if (strcmp(key, "dtype") == 0)
            json_key(j, t->dtype, sizeof t->dtype);
        else if (strcmp(key, "shape") == 0)
            t->ndims = read_sizes(j, t->dims, FILE_TENSOR_DIMS);
        else if (strcmp(key, "data_offsets") == 0 && read_sizes(j, offsets, 2) != 2)
            json_fail(j);
        else if (strcmp(key, "data_offsets") != 0)
            json_skip(j);
    }
    t->begin = offsets[0];
    t->end = offsets[1];
    return !j->bad;
}

static shoal_status read_member(struct tensors *t, struct json *j)
{
    struct file_tensor one = {0};
    shoal_status st;

    if (!json_key(j, one.name, sizeof one.name) || !json_take(j, ':'))
        return SHOAL_OK; /* the caller looks at j->bad */
    if (strcmp(one.name, "__metadata__") == 0) {
        if (t->meta)
            return shoal_fail(SHOAL_EFORMAT, "%s: has two __metadata__, want one", t->path);
        json_peek(j);
        t->meta = j->at;
        json_skip(j);
        return SHOAL_OK;
    }
    if (!read_tensor(j, &one))
        return SHOAL_OK;
    if (t->n == TENSORS_MAX)
        return shoal_fail(SHOAL_ELIMIT, "%s: over %zu tensors, want at most that", t->path,
                          TENSORS_MAX);
    st = mem_grow(&t->at, &t->cap, t->n + 1, sizeof one);
    if (st == SHOAL_OK)
        t->at[t->n++] = one;
    return st;
}

static shoal_status read_header(struct tensors *t, const char *at, size_t len)
{
    struct json j = {at + 8, at + 8 + len, false};
    bool first = true;
    shoal_status st = SHOAL_OK;

    t->meta_end = j.end;
    json_take(&j, '{');
    while (st == SHOAL_OK && json_next(&j, &first, '}'))
        st = read_member(t, &j);
    if (st != SHOAL_OK)
        return st;
    json_peek(&j);
    if (j.bad || j.at != j.end)
        return shoal_fail(SHOAL_EFORMAT, "%s: its header is no JSON of safetensors at byte %zu",
                          t->path, (size_t)(j.at - at));
    return SHOAL_OK;
}

/* ---- what the format promises ---- */

/* Bytes of a number; 0: a type that is not known here, or of less than a byte. */
static size_t number_size(const char *dtype)
{
    static const struct {
        const char *name;
        size_t size;
    } types[] = {{"F32", 4},  {"F16", 2},     {"BF16", 2},    {"F64", 8}, {"I64", 8}, {"U64", 8},
                 {"I32", 4},  {"U32", 4},     {"I16", 2},     {"U16", 2}, {"I8", 1},  {"U8", 1},
                 {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"C64", 8}};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(dtype, types[i].name) == 0)
            return types[i].size;
    return 0;
}

static shoal_status check_size(const struct tensors *all, const struct file_tensor *t)
{
    size_t bytes = number_size(t->dtype), known = bytes;

    if (t->ndims > FILE_TENSOR_DIMS)
        return shoal_fail(SHOAL_EFORMAT, "%s: %s has %zu dimensions, want at most %d", all->path,
                          t->name, t->ndims, FILE_TENSOR_DIMS);
    for (size_t i = 0; i < t->ndims; i++)
        if (__builtin_mul_overflow(bytes, t->dims[i], &bytes))
            return shoal_fail(SHOAL_EFORMAT, "%s: the shape of %s is beyond any memory", all->path,
                              t->name);
    if (t->begin > t->end || t->end > all->size || (known && t->end - t->begin != bytes))
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: %s, %zu bytes by its shape, lies at bytes %zu to %zu of %zu, which "
                          "do not fit",
                          all->path, t->name, bytes, t->begin, t->end, all->size);
    return SHOAL_OK;
}

static int by_name(const void *a, const void *b)
{
    const struct file_tensor *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static int by_place(const void *a, const void *b)
{
    const struct file_tensor *x = *(const struct file_tensor *const *)a;
    const struct file_tensor *y = *(const struct file_tensor *const *)b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* A name that was too long to keep is nobody's. */
static shoal_status check_names(const struct tensors *t, const struct file_tensor **list)
{
    qsort(list, t->n, sizeof *list, by_name);
    for (size_t i = 1; i < t->n; i++)
        if (list[i]->name[0] && strcmp(list[i]->name, list[i - 1]->name) == 0)
            return shoal_fail(SHOAL_EFORMAT, "%s: has two tensors named %s, want one", t->path,
                              list[i]->name);
    return SHOAL_OK;
}

/* One behind the other, from the first byte to the last. */
static shoal_status check_places(const struct tensors *t, const struct file_tensor **list)
{
    size_t at = 0;

    qsort(list, t->n, sizeof *list, by_place);
    for (size_t i = 0; i < t->n; at = list[i++]->end)
        if (list[i]->begin != at)
            return shoal_fail(SHOAL_EFORMAT,
                              "%s: %s begins at byte %zu of the data, want it at %zu: no %s",
                              t->path, list[i]->name, list[i]->begin, at,
                              list[i]->begin < at ? "overlaps" : "gaps");
    if (at != t->size)
        return shoal_fail(SHOAL_EFORMAT, "%s: %zu bytes of data, want the %zu of its tensors",
                          t->path, t->size, at);
    return SHOAL_OK;
}

static shoal_status check_all(const struct tensors *t)
{
    const struct file_tensor **list = mem_array(t->n + 1, sizeof *list);
    shoal_status st = list ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = 0; i < t->n && st == SHOAL_OK; i++) {
        list[i] = &t->at[i];
        st = check_size(t, list[i]);
    }
    if (st == SHOAL_OK)
        st = check_names(t, list);
    if (st == SHOAL_OK)
        st = check_places(t, list);
    free(list);
    return st;
}

shoal_status tensors_unique(const struct tensors *t)
{
    const struct file_tensor **list = mem_array(t->n + 1, sizeof *list);
    shoal_status st;

    if (!list)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < t->n; i++)
        list[i] = &t->at[i];
    st = check_names(t, list);
    free(list);
    return st;
}

/* ---- a file ---- */

static size_t header_len(const char *at)
{
    uint64_t len;

    memcpy(&len, at, sizeof len);
    return len > SIZE_MAX ? SIZE_MAX : (size_t)len;
}

bool tensors_sniff(const char *at, size_t len)
{
    return len > 9 && at[8] == '{' && header_len(at) < (size_t)1 << 40;
}

shoal_status tensors_read(struct tensors *t, const char *path, const char *at, size_t len)
{
    size_t header = len < 8 ? SIZE_MAX : header_len(at);
    shoal_status st;

    *t = (struct tensors){.path = path};
    if (len < 8 || header > len - 8)
        return shoal_fail(SHOAL_EFORMAT, "%s: its header of %zu bytes is cut off after %zu", path,
                          header, len < 8 ? 0 : len - 8);
    if (header > HEADER_MAX)
        return shoal_fail(SHOAL_ELIMIT, "%s: a header of %zu bytes, want at most %zu", path, header,
                          HEADER_MAX);
    t->data = at + 8 + header;
    t->size = len - 8 - header;
    st = read_header(t, at, header);
    if (st == SHOAL_OK)
        st = check_all(t);
    if (st != SHOAL_OK)
        tensors_fini(t);
    return st;
}

void tensors_fini(struct tensors *t)
{
    free(t->at);
    *t = (struct tensors){0};
}

const struct file_tensor *tensors_find(const struct tensors *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->at[i].name, name) == 0)
            return &t->at[i];
    return NULL;
}

bool tensors_dtype(const struct file_tensor *t, enum shoal_dtype *out)
{
    *out = strcmp(t->dtype, "F16") == 0    ? SHOAL_F16
           : strcmp(t->dtype, "BF16") == 0 ? SHOAL_BF16
                                           : SHOAL_F32;
    return *out != SHOAL_F32 || strcmp(t->dtype, "F32") == 0;
}

shoal_status tensors_text(const struct tensors *t, const char *name, char **text, size_t *len)
{
    struct json j = {t->meta, t->meta_end, false};
    bool first = true;
    char key[16];

    *text = NULL;
    *len = 0;
    if (!t->meta)
        return SHOAL_OK;
    json_take(&j, '{');
    while (json_next(&j, &first, '}')) {
        if (!json_key(&j, key, sizeof key) || !json_take(&j, ':'))
            break;
        json_peek(&j);
        if (strcmp(key, name) != 0) {
            json_skip(&j);
            continue;
        }
        *text = mem_array((size_t)(j.end - j.at) + 1, 1);
        if (!*text)
            return SHOAL_ENOMEM;
        if (json_string(&j, *text, len))
            return SHOAL_OK;
        break;
    }
    free(*text);
    *text = NULL;
    if (!j.bad)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EFORMAT, "%s: the %s of its metadata are no string", t->path, name);
}

/* ---- writing ---- */

/* A byte of a string, and what it takes there. */
static size_t escape(char out[8], unsigned char c)
{
    if (c == '"' || c == '\\')
        return (size_t)snprintf(out, 8, "\\%c", c);
    return (size_t)snprintf(out, 8, c < ' ' ? "\\u%04x" : "%c", c);
}

shoal_status tensors_escape(struct bytes *b, const char *word)
{
    shoal_status st = SHOAL_OK;

    for (; *word && st == SHOAL_OK; word++) {
        char code[8];
        size_t len = escape(code, (unsigned char)*word);

        st = bytes_add(b, code, len);
    }
    return st;
}

static shoal_status add_tensor(struct bytes *b, const struct file_tensor *t)
{
    char text[128];
    shoal_status st = bytes_add(b, "\"", 1);

    if (st == SHOAL_OK)
        st = tensors_escape(b, t->name);
    snprintf(text, sizeof text, "\":{\"dtype\":\"%s\",\"shape\":[", t->dtype);
    if (st == SHOAL_OK)
        st = bytes_add(b, text, strlen(text));
    for (size_t i = 0; i < t->ndims && st == SHOAL_OK; i++) {
        snprintf(text, sizeof text, "%s%zu", i > 0 ? "," : "", t->dims[i]);
        st = bytes_add(b, text, strlen(text));
    }
    snprintf(text, sizeof text, "],\"data_offsets\":[%zu,%zu]}", t->begin, t->end);
    return st == SHOAL_OK ? bytes_add(b, text, strlen(text)) : st;
}

shoal_status tensors_header(struct bytes *b, const struct bytes *meta,
                            const struct file_tensor *list, size_t n)
{
    size_t start = b->len;
    shoal_status st = bytes_add(b, "{", 1);

    if (st == SHOAL_OK && meta && meta->len > 0) {
        st = bytes_add(b, "\"__metadata__\":{", 16);
        if (st == SHOAL_OK)
            st = bytes_add(b, meta->at, meta->len);
        if (st == SHOAL_OK)
            st = bytes_add(b, n > 0 ? "}," : "}", n > 0 ? 2 : 1);
    }
    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        st = i > 0 ? bytes_add(b, ",", 1) : SHOAL_OK;
        if (st == SHOAL_OK)
            st = add_tensor(b, &list[i]);
    }
    if (st == SHOAL_OK)
        st = bytes_add(b, "}", 1);
    while (st == SHOAL_OK && (b->len - start + 8) % 64 != 0)
        st = bytes_add(b, " ", 1);
    return st;
}
