/* Options from a file: a JSON object, or lines `name value` and `name = value`. */
#include "train/task.h"

#include <jansson.h>

#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r"

/* ---- lines ---- */

/* The end of a line of other systems too. */
static bool is_gap(char c)
{
    return is_blank(c) || c == '\r';
}

/* Ends the line where a comment begins, or blanks do that nothing follows. */
static void cut_line(char *line)
{
    size_t len = 0;

    while (line[len] && !(line[len] == '#' && (len == 0 || is_gap(line[len - 1]))))
        len++;
    while (len > 0 && is_gap(line[len - 1]))
        len--;
    line[len] = '\0';
}

/* `name value` or `name = value` */
static shoal_status read_line(shoal_options *o, char *line)
{
    char *value;

    cut_line(line);
    line += strspn(line, BLANKS);
    if (!*line)
        return SHOAL_OK;
    value = line + strcspn(line, BLANKS "=");
    if (*value) {
        char *end = value;

        value += strspn(value, BLANKS);
        value += *value == '=';
        value += strspn(value, BLANKS);
        *end = '\0';
    }
    return shoal_options_set(o, line, value);
}

static shoal_status read_lines(shoal_options *o, const char *who, char *text)
{
    char *line;
    shoal_status st = SHOAL_OK;

    for (unsigned n = 1; st == SHOAL_OK && (line = strsep(&text, "\n")); n++) {
        st = read_line(o, line);
        if (st != SHOAL_OK)
            st = shoal_fail(st, "%s: line %u: %s", who, n, shoal_error());
    }
    return st;
}

/* ---- JSON ---- */

static shoal_status read_member(shoal_options *o, const char *name, const json_t *value)
{
    char text[SHOAL_VALUE];

    if (json_is_string(value))
        return shoal_options_set(o, name, json_string_value(value));
    if (json_is_boolean(value))
        return shoal_options_set(o, name, json_is_true(value) ? "true" : "false");
    if (json_is_integer(value))
        number_print(text, sizeof text, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        number_exact(text, sizeof text, json_real_value(value));
    else
        return shoal_fail(SHOAL_EINVAL, "'%s' is neither text, a number, true nor false", name);
    return shoal_options_set(o, name, text);
}

static shoal_status read_json(shoal_options *o, const char *who, const char *text, size_t len)
{
    json_error_t error;
    json_t *all = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    const char *name;
    json_t *value;
    shoal_status st = SHOAL_OK;

    if (!all)
        return shoal_fail(SHOAL_EFORMAT, "%s: line %d: %s", who, error.line, error.text);
    json_object_foreach (all, name, value) {
        st = read_member(o, name, value);
        if (st != SHOAL_OK) {
            st = shoal_fail(st, "%s: %s", who, shoal_error());
            break;
        }
    }
    json_decref(all);
    return st;
}

/* ---- both ---- */

shoal_status options_config_read(shoal_options *o, const char *who, char *text, size_t len)
{
    if (strlen(text) != len)
        return shoal_fail(SHOAL_EFORMAT, "%s: found a byte 0, want text", who);
    if (text[strspn(text, BLANKS "\n")] == '{')
        return read_json(o, who, text, len);
    return read_lines(o, who, text);
}

shoal_status shoal_options_read(shoal_options *o, const char *path)
{
    char *text = NULL;
    size_t len;
    shoal_status st = stream_slurp(&text, &len, path, OPTIONS_FILE);

    if (st == SHOAL_OK)
        st = options_config_read(o, path, text, len);
    free(text);
    return st;
}
