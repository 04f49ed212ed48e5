#include "serve/parse.h"

#include <stdlib.h>
#include <string.h>

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place, up to `end`, which becomes a NUL. What is decoded is never longer. */
static bool decode(char *at, char *end, bool plus)
{
    char *to = at;

    for (; at < end; at++) {
        int c = (unsigned char)*at;

        if (c == '%') {
            int high = end - at > 2 ? digit_of(at[1]) : -1;
            int low = high >= 0 ? digit_of(at[2]) : -1;

            if (low < 0)
                return false;
            c = high * 16 + low;
            at += 2;
        } else if (plus && c == '+') {
            c = ' ';
        }
        if (c < ' ' || c == 127)
            return false;
        *to++ = (char)c;
    }
    *to = '\0';
    return true;
}

static shoal_status bad_escape(void)
{
    return shoal_fail(SHOAL_EINVAL, "address: found a bad escape or a control character");
}

static shoal_status read_segments(struct query *q, char *at)
{
    while (*at) {
        char *end = at + strcspn(at, "/");
        bool last = *end == '\0';

        if (end > at) {
            if (q->nsegments == QUERY_SEGMENTS)
                return shoal_fail(SHOAL_EINVAL, "address: found more than %d segments",
                                  QUERY_SEGMENTS);
            if (!decode(at, end, false))
                return bad_escape();
            q->segments[q->nsegments++] = at;
        }
        at = last ? end : end + 1;
    }
    return SHOAL_OK;
}

static shoal_status read_fields(struct query *q, char *at)
{
    while (*at) {
        char *end = at + strcspn(at, "&");
        bool last = *end == '\0';
        char *equals = memchr(at, '=', (size_t)(end - at));
        char *value = equals ? equals + 1 : end;

        if (end > at) {
            if (q->nfields == QUERY_FIELDS)
                return shoal_fail(SHOAL_EINVAL, "address: found more than %d parameters",
                                  QUERY_FIELDS);
            if (!decode(value, end, true) || (equals && !decode(at, equals, true)))
                return bad_escape();
            q->fields[q->nfields++] = (struct field){at, value};
        }
        at = last ? end : end + 1;
    }
    return SHOAL_OK;
}

shoal_status query_init(struct query *q, const char *address)
{
    size_t len = strlen(address);
    char *fields;
    shoal_status st;

    *q = (struct query){0};
    q->text = malloc(len + 1);
    if (!q->text)
        return shoal_fail(SHOAL_ENOMEM, "memory: no room for %zu bytes", len);
    memcpy(q->text, address, len + 1);
    q->text[strcspn(q->text, "#")] = '\0';
    fields = q->text + strcspn(q->text, "?");
    if (*fields)
        *fields++ = '\0';
    st = read_segments(q, q->text);
    return st == SHOAL_OK ? read_fields(q, fields) : st;
}

shoal_status query_init_form(struct query *q, const char *body, size_t len)
{
    *q = (struct query){0};
    if (memchr(body, '\0', len))
        return bad_escape();
    q->text = malloc(len + 1);
    if (!q->text)
        return shoal_fail(SHOAL_ENOMEM, "memory: no room for %zu bytes", len);
    memcpy(q->text, body, len);
    q->text[len] = '\0';
    return read_fields(q, q->text);
}

void query_fini(struct query *q)
{
    free(q->text);
    *q = (struct query){0};
}

const char *query_get(const struct query *q, const char *key)
{
    for (size_t i = 0; i < q->nfields; i++)
        if (strcmp(q->fields[i].key, key) == 0)
            return q->fields[i].value;
    return NULL;
}

shoal_status query_u64(const struct query *q, const char *key, uint64_t min, uint64_t max,
                       uint64_t *out)
{
    const char *text = query_get(q, key);
    uint64_t n = 0;

    if (!text)
        return SHOAL_OK;
    for (const char *at = text; *at || at == text; at++) {
        if (*at < '0' || *at > '9' || at - text > 18)
            return shoal_fail(SHOAL_EINVAL, "%s is '%.32s', want a whole number", key, text);
        n = n * 10 + (uint64_t)(*at - '0');
    }
    if (n < min || n > max)
        return shoal_fail(SHOAL_EINVAL, "%s is %llu, want %llu to %llu", key, (unsigned long long)n,
                          (unsigned long long)min, (unsigned long long)max);
    *out = n;
    return SHOAL_OK;
}

bool query_true(const struct query *q, const char *key)
{
    const char *text = query_get(q, key);

    return text && (strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0);
}
