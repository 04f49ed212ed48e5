/* The JSON before a binary tensor, quickly: clients write it in the same few shapes, and a tree of
 * it takes longer than a small model. Whatever is not plainly one of them is left to the tree. */
#include "serve/routes/predict.h"

#include <string.h>

struct cursor {
    const char *at, *end;
    char *text; /* where the next string is copied to, with a NUL */
    char *text_end;
};

static void skip_space(struct cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\r' || *c->at == '\t'))
        c->at++;
}

static bool take(struct cursor *c, char want)
{
    skip_space(c);
    if (c->at == c->end || *c->at != want)
        return false;
    c->at++;
    return true;
}

/* Plain text only: no escapes, no bytes beyond ASCII. */
static bool take_string(struct cursor *c, const char **out)
{
    char *to = c->text;

    if (!take(c, '"'))
        return false;
    for (; c->at < c->end && *c->at != '"'; c->at++) {
        if (*c->at < ' ' || *c->at > '~' || *c->at == '\\' || to + 1 >= c->text_end)
            return false;
        *to++ = *c->at;
    }
    if (c->at == c->end)
        return false;
    c->at++;
    *out = c->text;
    *to++ = '\0';
    c->text = to;
    return true;
}

/* Digits alone, as JSON has them: no 0 before others. */
static bool take_count(struct cursor *c, int64_t *out)
{
    const char *from;

    skip_space(c);
    from = c->at;
    *out = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9' && c->at - from < 15; c->at++)
        *out = 10 * *out + (*c->at - '0');
    return c->at > from && (*from != '0' || c->at - from == 1) &&
           (c->at == c->end || !strchr("0123456789.eE", *c->at));
}

static bool take_flag(struct cursor *c, bool *out)
{
    size_t left;

    skip_space(c);
    left = (size_t)(c->end - c->at);
    *out = left >= 4 && memcmp(c->at, "true", 4) == 0;
    if (!*out && (left < 5 || memcmp(c->at, "false", 5) != 0))
        return false;
    c->at += *out ? 4 : 5;
    return true;
}

/* A value of each key, none of them twice, by `member`, which knows the key's place in the list. */
static bool take_object(struct cursor *c, const char *const *keys,
                        bool (*member)(struct cursor *c, size_t key, void *ctx), void *ctx)
{
    unsigned seen = 0;

    if (!take(c, '{'))
        return false;
    if (take(c, '}'))
        return true;
    do {
        const char *key;
        size_t k = 0;

        if (!take_string(c, &key) || !take(c, ':'))
            return false;
        while (keys[k] && strcmp(keys[k], key) != 0)
            k++;
        if (!keys[k] || seen & 1u << k || !member(c, k, ctx))
            return false;
        seen |= 1u << k;
    } while (take(c, ','));
    return take(c, '}');
}

static bool take_shape(struct cursor *c, struct tensor_input *in)
{
    if (!take(c, '['))
        return false;
    do
        if (in->dims == DIMS_MAX || !take_count(c, &in->shape[in->dims++]))
            return false;
    while (take(c, ','));
    return take(c, ']');
}

static bool size_member(struct cursor *c, size_t key, void *ctx)
{
    struct infer_head *h = ctx;
    int64_t n;

    (void)key;
    if (!take_count(c, &n))
        return false;
    h->sized = true;
    h->input.len = (size_t)n;
    return true;
}

static bool input_member(struct cursor *c, size_t key, void *ctx)
{
    static const char *const sizes[] = {"binary_data_size", NULL};
    struct infer_head *h = ctx;

    switch (key) {
    case 0:
        return take_string(c, &h->input.name);
    case 1:
        return take_shape(c, &h->input);
    case 2:
        return take_string(c, &h->input.datatype);
    default:
        return take_object(c, sizes, size_member, h);
    }
}

static bool wish_member(struct cursor *c, size_t key, void *ctx)
{
    struct infer_wish *wish = ctx;

    (void)key;
    wish->said = true;
    return take_flag(c, &wish->binary);
}

static bool output_member(struct cursor *c, size_t key, void *ctx)
{
    static const char *const wishes[] = {"binary_data", NULL};
    struct infer_wish *wish = ctx;

    return key == 0 ? take_string(c, &wish->name) : take_object(c, wishes, wish_member, wish);
}

static bool take_outputs(struct cursor *c, struct infer_head *h)
{
    static const char *const keys[] = {"name", "parameters", NULL};

    if (!take(c, '['))
        return false;
    do
        if (h->noutputs == OUTPUTS_MAX ||
            !take_object(c, keys, output_member, &h->outputs[h->noutputs]) ||
            !h->outputs[h->noutputs++].name)
            return false;
    while (take(c, ','));
    return take(c, ']');
}

static bool binary_member(struct cursor *c, size_t key, void *ctx)
{
    (void)key;
    return take_flag(c, &((struct infer_head *)ctx)->binary);
}

static bool head_member(struct cursor *c, size_t key, void *ctx)
{
    static const char *const inputs[] = {"name", "shape", "datatype", "parameters", NULL};
    static const char *const binary[] = {"binary_data_output", NULL};
    struct infer_head *h = ctx;

    switch (key) {
    case 0:
        return take_string(c, &h->id);
    case 1:
        return take(c, '[') && take_object(c, inputs, input_member, h) && take(c, ']');
    case 2:
        return take_outputs(c, h);
    default:
        return take_object(c, binary, binary_member, h);
    }
}

bool infer_scan(struct infer_head *h, const char *at, size_t len)
{
    static const char *const keys[] = {"id", "inputs", "outputs", "parameters", NULL};
    struct cursor c = {at, at + len, h->text, h->text + sizeof h->text};

    memset(h, 0, offsetof(struct infer_head, text));
    if (!take_object(&c, keys, head_member, h))
        return false;
    skip_space(&c);
    return c.at == c.end && h->sized && h->input.datatype && h->input.dims > 0;
}
