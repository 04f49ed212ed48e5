/* How lines with labels are read, and where a table has its text and its labels. */
#include "text/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is remembered ---- */

static shoal_status copy_text(char **out, const char *text)
{
    *out = text ? strdup(text) : NULL;
    return !text || *out ? SHOAL_OK : shoal_fail(SHOAL_ENOMEM, "text: no memory for a name");
}

shoal_status line_reading_copy(struct line_reading *r, const struct line_reading *from)
{
    shoal_status st;

    *r = (struct line_reading){.clean = from->clean, .labels = from->labels};
    st = copy_text(&r->prefix, from->prefix);
    if (st == SHOAL_OK)
        st = copy_text(&r->text, from->text);
    if (st == SHOAL_OK)
        st = copy_text(&r->label, from->label);
    if (st != SHOAL_OK)
        line_reading_fini(r);
    return st;
}

static bool has_space(const char *text)
{
    struct span token;
    const char *at = text, *end = text + strlen(text);

    return token_next(&at, end, &token) && token.len < strlen(text);
}

/* A line of the meta cannot hold an end of a line. */
static shoal_status check_name(const char *option, const char *name)
{
    if (name && (!*name || strchr(name, '\n')))
        return shoal_fail(SHOAL_EINVAL, "%s is '%s', want a name in one line", option, name);
    return SHOAL_OK;
}

shoal_status line_reading_make(struct line_reading *r, const struct shoal_labelled_opts *o)
{
    bool table = o->text_column != NULL;
    struct line_reading from = {(char *)(uintptr_t)(table ? "" : o->label_prefix),
                                (char *)(uintptr_t)o->text_column,
                                (char *)(uintptr_t)o->label_column, o->clean, NULL};
    shoal_status st = check_name("--text-column", o->text_column);

    *r = (struct line_reading){0};
    if (st == SHOAL_OK)
        st = check_name("--label-column", o->label_column);
    if (st != SHOAL_OK)
        return st;
    if (table != (o->label_column != NULL))
        return shoal_fail(SHOAL_EINVAL, "--%s-column is missing, want it beside --%s-column",
                          table ? "label" : "text", table ? "text" : "label");
    if (!table && (!*o->label_prefix || has_space(o->label_prefix)))
        return shoal_fail(SHOAL_EINVAL, "--label-prefix is '%s', want a text without spaces",
                          o->label_prefix);
    return line_reading_copy(r, &from);
}

void line_reading_fini(struct line_reading *r)
{
    free(r->prefix);
    free(r->text);
    free(r->label);
    *r = (struct line_reading){0};
}

shoal_status line_reading_put(const struct line_reading *r, struct bytes *meta)
{
    shoal_status st = bytes_print(meta, "clean %d\n", r->clean);

    if (st == SHOAL_OK && !r->text)
        st = bytes_print(meta, "line.prefix %s\n", r->prefix);
    if (st == SHOAL_OK && r->text)
        st = bytes_print(meta, "line.text %s\nline.label %s\n", r->text, r->label);
    return st;
}

enum { NAME_MOST = 4096 };

static shoal_status load_text(char **out, const struct container *c, const char *key)
{
    char value[NAME_MOST];
    shoal_status st = container_meta(c, key, value, sizeof value);

    return st == SHOAL_OK ? copy_text(out, value) : st;
}

static bool has_meta(const struct container *c, const char *key)
{
    struct section meta;
    const char *at, *end, *line;
    size_t len, n = strlen(key);

    if (container_find(c, "meta", 1, &meta) != SHOAL_OK)
        return false;
    for (at = meta.data, end = at + meta.size; line_next(&at, end, &line, &len);)
        if (len > n && memcmp(line, key, n) == 0 && line[n] == ' ')
            return true;
    return false;
}

shoal_status line_reading_load(struct line_reading *r, const struct container *c)
{
    uint64_t clean = 0;
    shoal_status st = container_meta_u64(c, "clean", &clean);

    *r = (struct line_reading){.clean = clean != 0};
    if (st == SHOAL_OK && has_meta(c, "line.text")) {
        st = load_text(&r->text, c, "line.text");
        if (st == SHOAL_OK)
            st = load_text(&r->label, c, "line.label");
        if (st == SHOAL_OK)
            st = copy_text(&r->prefix, "");
    } else if (st == SHOAL_OK) {
        st = load_text(&r->prefix, c, "line.prefix");
    }
    if (st != SHOAL_OK)
        line_reading_fini(r);
    return st;
}

/* ---- a table's header ---- */

static bool is_name(struct span field, const char *name)
{
    return field.len == strlen(name) && memcmp(field.at, name, field.len) == 0;
}

/* The columns, where fields are cut so. */
static void find_columns(struct line_table *t, const struct line_reading *r, struct bytes *room,
                         const char *at, const char *end)
{
    struct span field;

    t->fields = 0;
    t->text = t->label = SIZE_MAX;
    for (;; at++) {
        at = field_next(&t->dialect, room, at, end, &field);
        if (!at)
            return;
        if (t->text == SIZE_MAX && is_name(field, r->text))
            t->text = t->fields;
        if (t->label == SIZE_MAX && is_name(field, r->label))
            t->label = t->fields;
        t->fields++;
        if (at == end)
            return;
    }
}

/* Tabs are taken for what they are: what stands between them has no quotes around it. */
static const struct dialect dialects[] = {
    {.delimiter = '\t'},
    {.delimiter = ',', .quotes = true},
    {.delimiter = ';', .quotes = true},
    {.delimiter = '|', .quotes = true},
};

shoal_status line_table_find(struct line_table *t, const struct line_reading *r, const char *name,
                             const char *header, size_t len, bool asked)
{
    const char *end = record_text_end(header, header + len);
    struct bytes room = {0};
    shoal_status st = bytes_reserve(&room, len + FIELD_PAD);
    bool found = false;

    for (size_t i = 0; st == SHOAL_OK && i < sizeof dialects / sizeof *dialects && !found; i++) {
        t->dialect = dialects[i];
        find_columns(t, r, &room, header, end);
        found = t->text != SIZE_MAX && (asked || t->label != SIZE_MAX);
    }
    bytes_fini(&room);
    if (st != SHOAL_OK || found)
        return st;
    *t = (struct line_table){0};
    if (asked)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL, "%s:1: found no columns %s and %s, want both in the first line",
                      name, r->text, r->label);
}
