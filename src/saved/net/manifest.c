/* JSON beside weights: TorchServe's manifest, and a description of what tensors do not say.
 *
 *     {"model": {"serializedFile": "vgg16.pth", "handler": "image_classifier"}, ...}
 *
 *     {"activation": "tanh", "outputs": "values", "classes": ["cat", "dog"],
 *      "input": [3, 224, 224], "resize": 256, "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]} */
#include "saved/net/outside.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void net_hints_fini(struct net_hints *h)
{
    class_index_free(h->names);
    h->names = NULL;
}

static shoal_status parse(json_t **out, const char *path, const char *text, size_t len)
{
    json_error_t error;

    *out = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    if (json_is_object(*out))
        return SHOAL_OK;
    if (*out) {
        json_decref(*out);
        *out = NULL;
        return shoal_fail(SHOAL_EFORMAT, "%s: found other JSON, want an object", path);
    }
    return shoal_fail(SHOAL_EFORMAT, "%s: JSON: line %d, column %d: %s", path, error.line,
                      error.column, error.text);
}

/* ---- the description ---- */

struct reading {
    struct net_hints *h;
    const char *path;
};

static shoal_status fail_key(const struct reading *r, const char *key, const char *want)
{
    return shoal_fail(SHOAL_EFORMAT, "%s: `%s` is something else, want %s", r->path, key, want);
}

static shoal_status take_activation(struct reading *r, const char *key, const json_t *v)
{
    static const char *const names[] = {"relu", "tanh", "sigmoid", "gelu"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_is_string(v) && strcasecmp(json_string_value(v), names[i]) == 0) {
            if (!r->h->activation[0])
                snprintf(r->h->activation, sizeof r->h->activation, "%s", names[i]);
            return SHOAL_OK;
        }
    return fail_key(r, key, "relu, tanh, sigmoid or gelu");
}

static shoal_status take_outputs(struct reading *r, const char *key, const json_t *v)
{
    const char *text = json_is_string(v) ? json_string_value(v) : "";

    r->h->classes = strcmp(text, "classes") == 0;
    r->h->values = strcmp(text, "values") == 0;
    return r->h->classes || r->h->values ? SHOAL_OK : fail_key(r, key, "classes or values");
}

static shoal_status take_names(struct reading *r, const char *key, const json_t *v)
{
    char *text = json_is_array(v) || json_is_object(v) ? json_dumps(v, 0) : NULL;
    shoal_status st = text ? SHOAL_OK : fail_key(r, key, "a list of names");

    if (st == SHOAL_OK) {
        class_index_free(r->h->names);
        st = class_index_parse(&r->h->names, r->path, text, strlen(text));
    }
    free(text);
    return st;
}

static bool take_whole(unsigned *out, const json_t *v, long long most)
{
    long long x = json_is_integer(v) ? (long long)json_integer_value(v) : 0;

    *out = x >= 1 && x <= most ? (unsigned)x : 0;
    return *out > 0;
}

static shoal_status take_input(struct reading *r, const char *key, const json_t *v)
{
    bool good = json_array_size(v) == 3;

    for (size_t i = 0; i < 3 && good; i++)
        good = take_whole(&r->h->shape[i], json_array_get(v, i), IMAGES_MAX_SIDE);
    good = good && (r->h->shape[0] == 1 || r->h->shape[0] == 3);
    if (!r->h->size && good && r->h->shape[1] == r->h->shape[2])
        r->h->size = r->h->shape[1];
    return good ? SHOAL_OK : fail_key(r, key, "[1 or 3 channels, height, width]");
}

static shoal_status take_resize(struct reading *r, const char *key, const json_t *v)
{
    return take_whole(&r->h->resize, v, PICTURE_MAX_SIDE) ? SHOAL_OK
                                                          : fail_key(r, key, "a side in pixels");
}

/* mean, or std, of channels whose pixels go from 0 to 1. */
static shoal_status take_channels(struct reading *r, const char *key, const json_t *v)
{
    bool std = strcmp(key, "std") == 0;
    size_t n = json_array_size(v);
    float *to = std ? r->h->std : r->h->mean;
    bool good = (n == 1 || n == 3) && (r->h->channels == 0 || r->h->channels == n);

    for (size_t i = 0; i < n && good; i++) {
        double x = json_number_value(json_array_get(v, i));

        good = json_is_number(json_array_get(v, i)) && fabs(x) < 1e6 && (!std || x > 1e-6);
        to[i] = (float)x;
    }
    r->h->channels = good ? n : 0;
    return good ? SHOAL_OK : fail_key(r, key, "a number for each of 1 or 3 channels");
}

static const struct {
    const char *key;
    shoal_status (*take)(struct reading *r, const char *key, const json_t *v);
} fields[] = {
    {"activation", take_activation}, {"outputs", take_outputs}, {"classes", take_names},
    {"input", take_input},           {"resize", take_resize},   {"mean", take_channels},
    {"std", take_channels},
};

enum { FIELDS = sizeof fields / sizeof *fields };

static shoal_status take_all(struct reading *r, json_t *all)
{
    shoal_status st = SHOAL_OK;
    const char *key;
    json_t *v;

    json_object_foreach(all, key, v)
    {
        size_t i = 0;

        while (i < FIELDS && strcmp(key, fields[i].key) != 0)
            i++;
        st = i < FIELDS ? fields[i].take(r, key, v)
                        : shoal_fail(SHOAL_EFORMAT,
                                     "%s: found `%.40s`, want activation, outputs, classes, input, "
                                     "resize, mean or std",
                                     r->path, key);
        if (st != SHOAL_OK)
            return st;
    }
    if (!json_object_get(all, "mean") != !json_object_get(all, "std"))
        st = shoal_fail(SHOAL_EFORMAT, "%s: found one of `mean` and `std`, want both or none",
                        r->path);
    return st;
}

shoal_status net_hints_read(struct net_hints *h, const char *path, const char *text, size_t len)
{
    struct reading r = {h, path};
    json_t *all;
    shoal_status st = parse(&all, path, text, len);

    if (st == SHOAL_OK)
        st = take_all(&r, all);
    json_decref(all);
    return st;
}

/* ---- TorchServe's manifest ---- */

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static bool is_plain(const char *name)
{
    return *name && !strchr(name, '/') && !strchr(name, '\\') && strcmp(name, "..") != 0;
}

/* A handler that is a file is a program, which nobody runs here; those that TorchServe brings along
 * and that do something else than telling classes of pictures have no net here. */
static shoal_status check_handler(const struct manifest *m, const char *path)
{
    if (strcmp(m->handler, "image_classifier") == 0 || strcmp(m->handler, "base_handler") == 0)
        return SHOAL_OK;
    if (strchr(m->handler, '.') || strchr(m->handler, ':'))
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: its handler is %s, a program that is not run here, want "
                          "image_classifier or base_handler",
                          path, m->handler);
    return shoal_fail(SHOAL_EFORMAT,
                      "%s: its handler is `%s`, want image_classifier or base_handler", path,
                      m->handler);
}

static shoal_status take_manifest(struct manifest *m, const char *path, const json_t *all)
{
    const json_t *model = json_object_get(all, "model");
    const char *file = text_at(model, "serializedFile");

    snprintf(m->handler, sizeof m->handler, "%s", text_at(model, "handler"));
    if (!*file)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: its manifest names no serializedFile, want the weights of a net",
                          path);
    if (!is_plain(file) || strlen(file) >= sizeof m->weights)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: its manifest names `%.80s`, want a file of the archive", path, file);
    snprintf(m->weights, sizeof m->weights, "%s", file);
    return check_handler(m, path);
}

shoal_status manifest_read(struct manifest *m, const char *path, const char *text, size_t len)
{
    json_t *all;
    shoal_status st = parse(&all, path, text, len);

    *m = (struct manifest){0};
    if (st == SHOAL_OK)
        st = take_manifest(m, path, all);
    json_decref(all);
    return st;
}
