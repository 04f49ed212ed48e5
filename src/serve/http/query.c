#include "serve/http/http1.h"
#include "serve/parse.h"

#include <stdlib.h>
#include <string.h>

/* In place. What is decoded is never longer. */
static bool decode(char *at, bool plus)
{
    char *to = at;

    for (; *at; at++) {
        int c = (unsigned char)*at;

        if (c == '%') {
            int high = hex_digit(at[1]), low = high >= 0 ? hex_digit(at[2]) : -1;

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

static shoal_status read_segments(struct query *q, char *rest)
{
    for (char *at; (at = strsep(&rest, "/"));) {
        if (!*at)
            continue;
        if (q->nsegments == QUERY_SEGMENTS)
            return shoal_fail(SHOAL_EINVAL, "address: found more than %d segments", QUERY_SEGMENTS);
        if (!decode(at, false))
            return bad_escape();
        q->segments[q->nsegments++] = at;
    }
    return SHOAL_OK;
}

static shoal_status read_fields(struct query *q, char *rest)
{
    for (char *key; (key = strsep(&rest, "&"));) {
        char *value = key;

        if (!*key)
            continue;
        if (q->nfields == QUERY_FIELDS)
            return shoal_fail(SHOAL_EINVAL, "address: found more than %d parameters", QUERY_FIELDS);
        strsep(&value, "=");
        if (!decode(key, true) || (value && !decode(value, true)))
            return bad_escape();
        q->fields[q->nfields++] = (struct field){key, value ? value : ""};
    }
    return SHOAL_OK;
}

/* A copy to be cut into parts. */
static shoal_status query_copy(struct query *q, const char *text, size_t len)
{
    *q = (struct query){.text = strndup(text, len)};
    return q->text ? SHOAL_OK : shoal_fail(SHOAL_ENOMEM, "memory: no room for %zu bytes", len);
}

shoal_status query_init(struct query *q, const char *address)
{
    shoal_status st = query_copy(q, address, strcspn(address, "#"));
    char *fields = q->text;

    if (st == SHOAL_OK)
        st = read_segments(q, strsep(&fields, "?"));
    return st == SHOAL_OK && fields ? read_fields(q, fields) : st;
}

shoal_status query_init_form(struct query *q, const char *body, size_t len)
{
    shoal_status st;

    *q = (struct query){0};
    if (memchr(body, '\0', len))
        return bad_escape();
    st = query_copy(q, body, len);
    return st == SHOAL_OK ? read_fields(q, q->text) : st;
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
