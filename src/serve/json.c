/* JSON of any shape, read by jansson, which bounds its depth and checks UTF-8. */
#include "serve/parse.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>

/* struct tree is never defined: it is jansson's json_t under a name of ours. */
static const json_t *value_of(const struct tree *t)
{
    return (const json_t *)(const void *)t;
}

static const struct tree *tree_of(const json_t *value)
{
    return (const struct tree *)(const void *)value;
}

shoal_status tree_parse(struct tree **out, const char *at, size_t len)
{
    json_error_t error;
    json_t *value = json_loadb(at, len, JSON_DECODE_ANY, &error);

    *out = (struct tree *)(void *)value;
    if (!value)
        return shoal_fail(SHOAL_EFORMAT, "JSON: line %d, column %d: %s", error.line, error.column,
                          error.text);
    return SHOAL_OK;
}

/* An upper bound, in bytes, of what jansson allocates on a machine of 64 bits, with malloc's
 * rounding: its structures and the first tables of its lists and objects, tables that are
 * doubled and copied, and the buffer in which a string is put together. */
enum {
    COST_OBJECT = 256,
    COST_LIST = 144,
    COST_VALUE = 56,  /* a number, and its places in tables */
    COST_MEMBER = 48, /* besides its name, which costs what a string does */
    COST_TEXT = 80,
    COST_BYTE = 4, /* of a string */
};

/* Behind the string that begins at `at`. */
static const char *text_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\')
            at++;
    return at < end ? at + 1 : end;
}

size_t tree_cost(const char *at, size_t len)
{
    static const unsigned short costs[UCHAR_MAX + 1] = {
        ['{'] = COST_OBJECT + COST_VALUE,
        ['['] = COST_LIST + COST_VALUE,
        [','] = COST_VALUE,
        [':'] = COST_MEMBER,
        ['"'] = COST_TEXT,
    };
    const char *end = at + len;
    size_t cost = COST_VALUE;

    while (at < end) {
        const char *from = at++;

        cost += costs[(unsigned char)*from];
        if (*from == '"') {
            at = text_end(from, end);
            cost += COST_BYTE * (size_t)(at - from);
        }
    }
    return cost;
}

void tree_free(struct tree *t)
{
    json_decref((json_t *)(void *)t);
}

enum tree_kind tree_kind(const struct tree *t)
{
    static const enum tree_kind kinds[] = {
        [JSON_OBJECT] = TREE_OBJECT,  [JSON_ARRAY] = TREE_LIST,  [JSON_STRING] = TREE_TEXT,
        [JSON_INTEGER] = TREE_NUMBER, [JSON_REAL] = TREE_NUMBER, [JSON_TRUE] = TREE_FLAG,
        [JSON_FALSE] = TREE_FLAG,     [JSON_NULL] = TREE_NULL,
    };

    return t ? kinds[json_typeof(value_of(t))] : TREE_NULL;
}

const struct tree *tree_get(const struct tree *t, const char *key)
{
    return tree_of(json_object_get(value_of(t), key));
}

shoal_status tree_each(const struct tree *t,
                       shoal_status (*fn)(void *ctx, const char *key, const struct tree *value),
                       void *ctx)
{
    json_t *object = (json_t *)(uintptr_t)value_of(t), *value;
    const char *key;
    shoal_status st = SHOAL_OK;

    json_object_foreach(object, key, value)
    {
        st = fn(ctx, key, tree_of(value));
        if (st != SHOAL_OK)
            break;
    }
    return st;
}

/* It is one of the three at most; the others say 0. */
size_t tree_len(const struct tree *t)
{
    const json_t *value = value_of(t);

    return json_array_size(value) + json_string_length(value) + json_object_size(value);
}

const struct tree *tree_at(const struct tree *t, size_t i)
{
    return tree_of(json_array_get(value_of(t), i));
}

const char *tree_text(const struct tree *t)
{
    const char *text = json_string_value(value_of(t));

    return text ? text : "";
}

double tree_number(const struct tree *t)
{
    return tree_kind(t) == TREE_NUMBER ? json_number_value(value_of(t)) : NAN;
}

bool tree_true(const struct tree *t)
{
    return json_is_true(value_of(t));
}
