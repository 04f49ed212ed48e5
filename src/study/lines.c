/* The lines of a file of metrics, asked by name: what a table of a classic shows may be any
 * number that a run reports. */
#include "file/file.h"
#include "study/classic.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 256 << 20, LINE_MOST = 1 << 20, KEY_MOST = 64 };

struct lines {
    json_t **at; /* [n] objects */
    size_t n, cap;
};

void lines_free(struct lines *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n; i++)
        json_decref(l->at[i]);
    free(l->at);
    free(l);
}

static shoal_status add_line(struct lines *l, const char *path, const char *text, size_t len)
{
    json_t *line = len <= LINE_MOST ? json_loadb(text, len, 0, NULL) : NULL;
    shoal_status st = SHOAL_OK;

    if (!json_is_object(line))
        st = shoal_fail(SHOAL_EFORMAT, "%s:%zu: found no object, want a line that --metrics wrote",
                        path, l->n + 1);
    if (st == SHOAL_OK)
        st = mem_grow((void **)&l->at, &l->cap, l->n + 1, sizeof *l->at);
    if (st == SHOAL_OK)
        l->at[l->n++] = line;
    else
        json_decref(line);
    return st;
}

static shoal_status add_lines(struct lines *l, const char *path, const char *text, size_t len)
{
    const char *end;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && len > 0 && (end = memchr(text, '\n', len)) != NULL) {
        st = add_line(l, path, text, (size_t)(end - text));
        len -= (size_t)(end + 1 - text);
        text = end + 1;
    }
    return st;
}

shoal_status lines_parse(struct lines **out, const char *path, const char *text, size_t len)
{
    struct lines *l = mem_array(1, sizeof *l);
    shoal_status st = l ? add_lines(l, path, text, len) : SHOAL_ENOMEM;

    *out = NULL;
    if (st == SHOAL_OK)
        *out = l;
    else
        lines_free(l);
    return st;
}

shoal_status lines_read(struct lines **out, const char *path)
{
    char *text = NULL;
    size_t len = 0;
    shoal_status st = stream_slurp(&text, &len, path, FILE_MOST);

    *out = NULL;
    if (st == SHOAL_OK)
        st = lines_parse(out, path, text, len);
    free(text);
    return st;
}

static bool is_event(const json_t *line, const char *event)
{
    const char *word = json_string_value(json_object_get(line, "event"));

    return !event || (word && strcmp(word, event) == 0);
}

size_t lines_count(const struct lines *l, const char *event)
{
    size_t n = 0;

    for (size_t i = 0; l && i < l->n; i++)
        n += is_event(l->at[i], event);
    return n;
}

static const json_t *find_line(const struct lines *l, const char *event, size_t place)
{
    for (size_t i = 0; l && i < l->n; i++)
        if (is_event(l->at[i], event) && place-- == 0)
            return l->at[i];
    return NULL;
}

/* One step along the path: a member of an object, or an element of a list. */
static const json_t *go_in(const json_t *value, const char *key)
{
    return json_is_array(value) ? json_array_get(value, strtoul(key, NULL, 10))
                                : json_object_get(value, key);
}

static const json_t *find_value(const json_t *value, const char *path)
{
    while (value && *path) {
        size_t len = strcspn(path, ".");
        char key[KEY_MOST];

        if (len >= sizeof key)
            return NULL;
        memcpy(key, path, len);
        key[len] = '\0';
        value = go_in(value, key);
        path += len + (path[len] == '.');
    }
    return value;
}

double lines_number(const struct lines *l, const char *event, size_t i, const char *path)
{
    const json_t *value = find_value(find_line(l, event, i), path);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

double lines_last(const struct lines *l, const char *event, const char *path)
{
    size_t n = lines_count(l, event);

    return n > 0 ? lines_number(l, event, n - 1, path) : (double)NAN;
}

const char *lines_word(const struct lines *l, const char *event, size_t i, const char *path)
{
    const char *word = json_string_value(find_value(find_line(l, event, i), path));

    return word ? word : "";
}
