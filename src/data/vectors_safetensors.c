/* safetensors: the length of a header as u64, the header as JSON, the data.
 *
 *     {"__metadata__": {"words": "the\ncat"},
 *      "vectors": {"dtype": "F32", "shape": [2, 100], "data_offsets": [0, 800]}}
 *
 * Ours is the tensor "vectors", or the only one of two dimensions. The words
 * are lines of one string of the metadata or, where that cannot be (they are
 * no UTF-8 text, or over the 100 MB that readers allow a header), of
 * FILE.vocab. The header is read with a small parser of its own: it knows
 * objects, strings and whole numbers, and passes over the rest. */
#include "data/vectors.h"

#include <stdio.h>
#include <stdlib.h>

#define HEADER_MAX ((size_t)100000000)
#define DEPTH_MAX 64

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

struct tensor {
    char dtype[8];
    size_t rank, shape[2], offsets[2];
};

struct header {
    struct tensor named, only; /* rank 0: not there */
    size_t matrices;
    struct json words; /* at the string, or at NULL */
};

/* An array of whole numbers, of which two are kept; gives how many. */
static size_t read_sizes(struct json *j, size_t out[2])
{
    bool first = true;
    size_t n = 0, ignored;

    json_take(j, '[');
    while (json_next(j, &first, ']')) {
        if (!json_size(j, n < 2 ? &out[n] : &ignored))
            return 0;
        n++;
    }
    return j->bad ? 0 : n;
}

static bool read_tensor(struct json *j, struct tensor *t)
{
    bool first = true;
    char key[16];

    *t = (struct tensor){0};
    json_take(j, '{');
    while (json_next(j, &first, '}')) {
        if (!json_key(j, key, sizeof key) || !json_take(j, ':'))
            return false;
        if (strcmp(key, "dtype") == 0)
            json_key(j, t->dtype, sizeof t->dtype);
        else if (strcmp(key, "shape") == 0)
            t->rank = read_sizes(j, t->shape);
        else if (strcmp(key, "data_offsets") == 0 && read_sizes(j, t->offsets) != 2)
            json_fail(j);
        else if (strcmp(key, "data_offsets") != 0)
            json_skip(j);
    }
    return !j->bad;
}

static bool read_metadata(struct json *j, struct header *h)
{
    bool first = true;
    char key[16];

    json_take(j, '{');
    while (json_next(j, &first, '}')) {
        if (!json_key(j, key, sizeof key) || !json_take(j, ':'))
            return false;
        json_peek(j);
        if (strcmp(key, "words") == 0)
            h->words = *j;
        json_skip(j);
    }
    return !j->bad;
}

static bool read_member(struct json *j, struct header *h)
{
    struct tensor t;
    char key[16];

    if (!json_key(j, key, sizeof key) || !json_take(j, ':'))
        return false;
    if (strcmp(key, "__metadata__") == 0)
        return read_metadata(j, h);
    if (!read_tensor(j, &t))
        return false;
    if (strcmp(key, "vectors") == 0)
        h->named = t;
    if (t.rank == 2) {
        h->only = t;
        h->matrices++;
    }
    return true;
}

static shoal_status read_header(struct header *h, const struct source *src, size_t len)
{
    struct json j = {src->at + 8, src->at + 8 + len, false};
    bool first = true;

    *h = (struct header){0};
    json_take(&j, '{');
    while (json_next(&j, &first, '}'))
        read_member(&j, h);
    json_peek(&j);
    if (j.bad || j.at != j.end)
        return shoal_fail(SHOAL_EFORMAT, "%s: its header is no JSON of safetensors at byte %zu",
                          src->path, (size_t)(j.at - src->at));
    return SHOAL_OK;
}

static bool read_dtype(const struct tensor *t, enum shoal_dtype *out)
{
    *out = strcmp(t->dtype, "F16") == 0    ? SHOAL_F16
           : strcmp(t->dtype, "BF16") == 0 ? SHOAL_BF16
                                           : SHOAL_F32;
    return *out != SHOAL_F32 || strcmp(t->dtype, "F32") == 0;
}

static shoal_status check_tensor(const struct source *src, const struct header *h,
                                 const struct tensor *t, size_t data, enum shoal_dtype *dtype)
{
    shoal_status st;

    if (t->rank != 2)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: %zu tensors of two dimensions, want one, or one named \"vectors\"",
                          src->path, h->matrices);
    if (!read_dtype(t, dtype))
        return shoal_fail(SHOAL_EFORMAT, "%s: its numbers are \"%s\", want F32, F16 or BF16",
                          src->path, t->dtype);
    st = vectors_check_shape(src->path, t->shape[0], t->shape[1]);
    if (st != SHOAL_OK)
        return st;
    if (t->offsets[0] > t->offsets[1] || t->offsets[1] > data ||
        t->offsets[1] - t->offsets[0] != t->shape[0] * t->shape[1] * dtype_size(*dtype))
        st = shoal_fail(SHOAL_EFORMAT,
                        "%s: numbers of %zu x %zu at bytes %zu to %zu of %zu, which do not fit",
                        src->path, t->shape[0], t->shape[1], t->offsets[0], t->offsets[1], data);
    return st;
}

static shoal_status name_rows(shoal_vectors *v, const struct source *src, const struct header *h)
{
    struct json j = h->words;
    char *lines;
    size_t len;
    shoal_status st;

    if (!j.at)
        return vectors_name_beside(v, src);
    lines = mem_array((size_t)(j.end - j.at), 1);
    if (!lines)
        return SHOAL_ENOMEM;
    if (json_string(&j, lines, &len))
        st = vectors_name(v, src->path, lines, len);
    else
        st = shoal_fail(SHOAL_EFORMAT, "%s: the words of its metadata are no string", src->path);
    free(lines);
    return st;
}

static size_t header_len(const struct source *src)
{
    uint64_t len;

    memcpy(&len, src->at, sizeof len);
    return len > SIZE_MAX ? SIZE_MAX : (size_t)len;
}

bool safetensors_sniff(const struct source *src)
{
    return src->len > 9 && src->at[8] == '{' && header_len(src) < (size_t)1 << 40;
}

shoal_status safetensors_read(shoal_vectors **out, const struct source *src)
{
    size_t len = header_len(src);
    enum shoal_dtype dtype = SHOAL_F32;
    struct header h;
    struct tensor t;
    shoal_status st;

    *out = NULL;
    if (len > src->len - 8)
        return shoal_fail(SHOAL_EFORMAT, "%s: its header of %zu bytes is cut off after %zu",
                          src->path, len, src->len - 8);
    st = read_header(&h, src, len);
    t = st == SHOAL_OK && h.named.rank == 0 && h.matrices == 1 ? h.only : h.named;
    if (st == SHOAL_OK)
        st = check_tensor(src, &h, &t, src->len - 8 - len, &dtype);
    if (st == SHOAL_OK)
        st = vectors_new(out, t.shape[0], t.shape[1], dtype);
    if (st == SHOAL_OK)
        st = name_rows(*out, src, &h);
    if (st == SHOAL_OK)
        st = vectors_fill(*out, src->path, src->at + 8 + len + t.offsets[0], NULL);
    if (st == SHOAL_OK) {
        (*out)->format = SHOAL_FORMAT_SAFETENSORS;
        return SHOAL_OK;
    }
    shoal_vectors_close(*out);
    *out = NULL;
    return st;
}

/* ---- writing ---- */

/* A byte of a string, and what it takes there. */
static size_t escape(char out[8], unsigned char c)
{
    if (c == '"' || c == '\\')
        return (size_t)snprintf(out, 8, "\\%c", c);
    return (size_t)snprintf(out, 8, c < ' ' ? "\\u%04x" : "%c", c);
}

static shoal_status add_escaped(struct bytes *b, const char *word)
{
    shoal_status st = SHOAL_OK;

    for (; *word && st == SHOAL_OK; word++) {
        char code[8];
        size_t len = escape(code, (unsigned char)*word);

        st = bytes_add(b, code, len);
    }
    return st;
}

static shoal_status add_words(struct bytes *b, const struct saving *s)
{
    shoal_status st = bytes_add(b, "\"__metadata__\":{\"words\":\"", 25);

    for (uint32_t id = 0; id < s->n && st == SHOAL_OK; id++) {
        if (id > 0)
            st = bytes_add(b, "\\n", 2);
        if (st == SHOAL_OK)
            st = add_escaped(b, shoal_vectors_word(s->v, id));
    }
    return st == SHOAL_OK ? bytes_add(b, "\"},", 3) : st;
}

static bool is_text(const char *word)
{
    /* Control bytes, which clean_find_bad minds, JSON can escape. */
    size_t len = strlen(word), at = 0;

    while (at < len) {
        at += clean_find_bad(word + at, len - at);
        if (at < len && (unsigned char)word[at] >= 0x80)
            return false;
        at++;
    }
    return true;
}

/* Whether they may go into the header. */
static bool words_fit(const struct saving *s)
{
    size_t bytes = 1024; /* for all but the words */

    for (uint32_t id = 0; id < s->n; id++) {
        const char *word = shoal_vectors_word(s->v, id);

        bytes += 2 + strlen(word);
        for (const char *at = word; *at; at++)
            bytes += (unsigned char)*at < ' ' ? 5 : *at == '"' || *at == '\\';
        if (bytes > HEADER_MAX || !is_text(word))
            return false;
    }
    return true;
}

static shoal_status make_header(struct bytes *b, const struct saving *s, bool words)
{
    static const char *const names[] = {"F32", "F16", "BF16"};
    char tensor[160];
    size_t n = s->n * s->v->dim * dtype_size(s->dtype);
    shoal_status st = bytes_add(b, "{", 1);

    snprintf(tensor, sizeof tensor,
             "\"vectors\":{\"dtype\":\"%s\",\"shape\":[%zu,%zu],\"data_offsets\":[0,%zu]}}",
             names[s->dtype], s->n, s->v->dim, n);
    if (st == SHOAL_OK && words)
        st = add_words(b, s);
    if (st == SHOAL_OK)
        st = bytes_add(b, tensor, strlen(tensor));
    while (st == SHOAL_OK && (b->len + 8) % 64 != 0)
        st = bytes_add(b, " ", 1);
    return st;
}

static shoal_status write_all(const struct saving *s, const struct bytes *header)
{
    uint64_t len = header->len;
    struct output *o;
    shoal_status st = output_open(&o, s->path);

    if (st != SHOAL_OK)
        return st;
    st = output_write(o, &len, sizeof len);
    if (st == SHOAL_OK)
        st = output_write(o, header->at, header->len);
    if (st == SHOAL_OK)
        st = saving_rows(s, s->v->dim * dtype_size(s->dtype), NULL, put_output, o);
    return saving_end(o, st);
}

shoal_status safetensors_save(const struct saving *s)
{
    struct bytes header = {0};
    bool words = words_fit(s);
    shoal_status st = saving_check_words(s, "\n", "a line of words");

    if (st == SHOAL_OK)
        st = make_header(&header, s, words);
    if (st == SHOAL_OK && !words)
        st = saving_words_beside(s);
    if (st == SHOAL_OK)
        st = write_all(s, &header);
    bytes_fini(&header);
    return st;
}
