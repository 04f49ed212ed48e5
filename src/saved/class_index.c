/* Names of classes from a file, in TorchServe's form or as lines, in place of a model's own. */
#include "saved/class_index.h"

#include "file/file.h"
#include "saved/kind.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INDEX_MAX = 16 << 20 }; /* bytes of a file */

void class_index_free(struct class_index *x)
{
    if (!x)
        return;
    for (size_t i = 0; x->names && i < x->n; i++)
        free(x->names[i]);
    free(x->names);
    free(x->path);
    free(x);
}

static shoal_status index_new(struct class_index **out, const char *path)
{
    struct class_index *x = mem_array(1, sizeof *x);

    *out = x;
    if (!x)
        return SHOAL_ENOMEM;
    x->path = strdup(path);
    return x->path ? SHOAL_OK : shoal_fail(SHOAL_ENOMEM, "class index: no memory for a path");
}

/* Ends in answers of a server, in tables and in lines: nothing in it may end those. */
static shoal_status add_name(struct class_index *x, const char *name)
{
    size_t len = strlen(name);

    if (len == 0 || len >= CLASS_NAME)
        return shoal_fail(SHOAL_EFORMAT, "%s: class %zu has a name of %zu bytes, want 1 to %d",
                          x->path, x->n, len, CLASS_NAME - 1);
    for (const char *at = name; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            return shoal_fail(SHOAL_EFORMAT,
                              "%s: the name of class %zu holds the byte %d, want "
                              "text",
                              x->path, x->n, (unsigned char)*at);
    x->names[x->n] = strdup(name);
    if (!x->names[x->n])
        return shoal_fail(SHOAL_ENOMEM, "class index: no memory for a name");
    x->n++;
    return SHOAL_OK;
}

static shoal_status names_room(struct class_index *x, size_t n)
{
    x->names = mem_array(n + 1, sizeof *x->names);
    return x->names ? SHOAL_OK : SHOAL_ENOMEM;
}

/* ---- JSON ---- */

/* "tench", or the last of ["n01440764", "tench"], as TorchServe takes it. */
static shoal_status add_value(struct class_index *x, const json_t *value)
{
    if (json_is_array(value) && json_array_size(value) > 0)
        value = json_array_get(value, json_array_size(value) - 1);
    if (!json_is_string(value))
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: found no name of class %zu, want {\"0\": \"cat\", \"1\": \"dog\", "
                          "...}, a list, or a line for each class",
                          x->path, x->n);
    return add_name(x, json_string_value(value));
}

static shoal_status take_json(struct class_index *x, const json_t *all)
{
    size_t n = json_is_array(all) ? json_array_size(all) : json_object_size(all);
    shoal_status st = names_room(x, n);
    char key[24];

    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        snprintf(key, sizeof key, "%zu", i);
        st = add_value(x, json_is_array(all) ? json_array_get(all, i) : json_object_get(all, key));
    }
    return st;
}

static shoal_status read_json(struct class_index *x, const char *text, size_t len)
{
    json_error_t error;
    json_t *all = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    shoal_status st;

    if (!all)
        return shoal_fail(SHOAL_EFORMAT, "%s: JSON: line %d, column %d: %s", x->path, error.line,
                          error.column, error.text);
    st = take_json(x, all);
    json_decref(all);
    return st;
}

/* ---- lines ---- */

/* As classes.txt beside pictures: empty lines do not count. */
static shoal_status read_lines(struct class_index *x, char *text, size_t len)
{
    size_t most = 1;
    char *rest = NULL;
    shoal_status st;

    if (memchr(text, '\0', len))
        return shoal_fail(SHOAL_EFORMAT, "%s: found a byte 0, want JSON or lines of names",
                          x->path);
    for (size_t i = 0; i < len; i++)
        most += text[i] == '\n' || text[i] == '\r';
    st = names_room(x, most);
    for (char *line = strtok_r(text, "\r\n", &rest); line && st == SHOAL_OK;
         line = strtok_r(NULL, "\r\n", &rest))
        st = add_name(x, line);
    return st;
}

shoal_status class_index_parse(struct class_index **out, const char *path, char *text, size_t len)
{
    size_t blank = strspn(text, " \t\r\n");
    bool json = text[blank] == '{' || text[blank] == '[';
    struct class_index *x;
    shoal_status st = index_new(&x, path);

    if (st == SHOAL_OK)
        st = json ? read_json(x, text, len) : read_lines(x, text, len);
    if (st == SHOAL_OK && x->n == 0)
        st = shoal_fail(SHOAL_EFORMAT, "%s: found no name, want one for each class", path);
    if (st != SHOAL_OK) {
        class_index_free(x);
        x = NULL;
    }
    *out = x;
    return st;
}

shoal_status class_index_read(struct class_index **out, const char *path)
{
    char *text = NULL;
    size_t len;
    shoal_status st;

    *out = NULL;
    if (strcmp(path, "indices") == 0)
        return index_new(out, path);
    st = stream_slurp(&text, &len, path, INDEX_MAX);
    if (st == SHOAL_OK)
        st = class_index_parse(out, path, text, len);
    free(text);
    return st;
}

/* ---- models ---- */

shoal_status class_index_fits(const struct class_index *x, size_t classes)
{
    if (!x->names || x->n == classes)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL, "%s: names %zu class%s, want %zu as the model has", x->path,
                      x->n, x->n == 1 ? "" : "es", classes);
}

shoal_status shoal_model_name_classes(shoal_model *m, const char *path)
{
    struct class_index *x;
    shoal_status st = class_index_read(&x, path);

    if (st == SHOAL_OK)
        st = model_name_classes(m, x);
    class_index_free(x);
    return st;
}
