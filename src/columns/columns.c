/* Columns as they are asked: names, values, numbers. */
#include "columns/columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- options ---- */

static const struct shoal_choice header_choices[] = {
    [SHOAL_HEADER_AUTO] = {"auto", "by what stands below the first line"},
    [SHOAL_HEADER_YES] = {"yes", "the first line has the names of the columns"},
    [SHOAL_HEADER_NO] = {"no", "the first line is a row; columns have numbers, from 1"},
    {0},
};

#define TABLE(member) SHOAL_FIELD(struct shoal_table_opts, member)

/* clang-format off */
#define HEADER_OPTION                                                                              \
    {"header", .type = SHOAL_TYPE_CHOICE, TABLE(header), .arg = "HOW", .choices = header_choices,  \
     .help = "whether the first line has the names of the columns"}
/* clang-format on */

const struct shoal_option shoal_table_options[] = {
    {"label", .type = SHOAL_TYPE_TEXT, TABLE(label), .arg = "COLUMN",
     .help = "the column of the label or target, by its name or its number from 1, else the one "
             "named label, class, target, y or click, else the last or the first"},
    {"numeric", .type = SHOAL_TYPE_TEXT, TABLE(numeric), .arg = "COLUMN,...",
     .help = "these columns are numbers, - for none, else by what they hold"},
    {"category", .type = SHOAL_TYPE_TEXT, TABLE(category), .arg = "COLUMN,...",
     .help = "these columns are categories, * for all that are not named otherwise"},
    {"ignore", .type = SHOAL_TYPE_TEXT, TABLE(ignore), .arg = "COLUMN,...",
     .help = "leave these columns out"},
    {"missing", .type = SHOAL_TYPE_TEXT, TABLE(missing), .arg = "TEXT,...",
     .help = "texts that stand for no value, beside the empty field, else NA, N/A, NaN, null, "
             "None, ? and the like"},
    HEADER_OPTION,
    {0},
};

const struct shoal_option shoal_table_again_options[] = {
    {"label", .type = SHOAL_TYPE_TEXT, TABLE(label), .arg = "COLUMN",
     .help = "the column of the label, by its name or its number from 1, else as it was learned"},
    HEADER_OPTION,
    {0},
};

/* ---- ending and copying ---- */

void columns_free(struct shoal_columns *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n; i++) {
        for (size_t k = 0; k < c->at[i].values; k++)
            free(c->at[i].value[k].text);
        free(c->at[i].value);
        free(c->at[i].place);
        free(c->at[i].edge);
        free(c->at[i].name);
    }
    free(c->at);
    free(c->named);
    bytes_fini(&c->missing);
    free(c);
}

shoal_status columns_copy(struct shoal_columns **out, const struct shoal_columns *c)
{
    struct bytes text = {0};
    shoal_status st = columns_write(c, &text);

    *out = NULL;
    if (st == SHOAL_OK)
        st = columns_read(out, "columns", text.at, text.len);
    bytes_fini(&text);
    return st;
}

/* ---- finding values ---- */

static size_t place_of(const char *text, size_t len)
{
    return (size_t)bytes_hash(2, text, len) & (COLUMN_PLACES - 1);
}

static shoal_status index_values(struct column *c)
{
    c->place = mem_array(COLUMN_PLACES, sizeof *c->place);
    for (size_t k = 0; c->place && k < c->values; k++) {
        size_t at = place_of(c->value[k].text, strlen(c->value[k].text));

        while (c->place[at])
            at = (at + 1) & (COLUMN_PLACES - 1);
        c->place[at] = (uint16_t)(k + 1);
    }
    return c->place ? SHOAL_OK : SHOAL_ENOMEM;
}

shoal_status columns_add_missing(struct shoal_columns *c, const char *text, size_t len)
{
    shoal_status st = bytes_add(&c->missing, text, len);

    if (len > 0)
        c->may_miss[(unsigned char)*text] = true;
    return st == SHOAL_OK ? bytes_add(&c->missing, "", 1) : st;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static bool is_alike(const struct column *c, const char *name, size_t len)
{
    size_t i = 0;

    while (c->len == len && i < len && lower(c->name[i]) == lower(name[i]))
        i++;
    return c->len == len && i == len;
}

/* Of names that differ by small and capital letters alone it is one. */
static size_t name_place(const struct shoal_columns *c, const char *name, size_t len)
{
    char part[64];
    uint64_t h = 4;

    for (size_t from = 0; from < len; from += sizeof part) {
        size_t n = len - from < sizeof part ? len - from : sizeof part;

        for (size_t i = 0; i < n; i++)
            part[i] = lower(name[from + i]);
        h = bytes_hash(h, part, n);
    }
    return (size_t)h & (c->names - 1);
}

/* Of two columns of one name the first is found. */
shoal_status columns_index(struct shoal_columns *c)
{
    for (c->names = 4; c->names < 2 * c->n;)
        c->names *= 2;
    c->named = mem_array(c->names, sizeof *c->named);
    for (size_t i = 0; c->named && i < c->n; i++) {
        size_t at = name_place(c, c->at[i].name, c->at[i].len);

        while (c->named[at])
            at = (at + 1) & (c->names - 1);
        c->named[at] = (uint32_t)i + 1;
    }
    return c->named ? SHOAL_OK : SHOAL_ENOMEM;
}

shoal_status columns_finish(struct shoal_columns *c)
{
    shoal_status st = c->named ? SHOAL_OK : columns_index(c);

    for (size_t i = 0; i < c->n && st == SHOAL_OK; i++)
        if (c->at[i].values > 0)
            st = index_values(&c->at[i]);
    return st;
}

size_t column_value_of(const struct column *c, struct span f)
{
    size_t at = place_of(f.at, f.len);

    for (; c->place && c->place[at]; at = (at + 1) & (COLUMN_PLACES - 1)) {
        const char *text = c->value[c->place[at] - 1].text;

        if (strncmp(text, f.at, f.len) == 0 && !text[f.len])
            return c->place[at] - 1u;
    }
    return SIZE_MAX;
}

/* ---- fields ---- */

bool column_is_listed_missing(const struct shoal_columns *c, struct span f)
{
    const char *at = c->missing.at, *end = at + c->missing.len;

    for (; at < end; at += strlen(at) + 1)
        if (*at == *f.at && strlen(at) == f.len && memcmp(at, f.at, f.len) == 0)
            return true;
    return false;
}

bool column_is_unlabelled(const struct shoal_columns *c, struct span f)
{
    bool class = f.len == 1 || (f.len == 4 && memcmp(f.at, "None", 4) == 0);

    return f.len == 0 || (!class && column_is_missing(c, f));
}

float column_scaled_log(const struct column *c, double x)
{
    x = x < c->min ? c->min : x > c->hi ? c->hi : x;
    return (float)((log(x + c->shift) - c->log_mean) / c->log_sd);
}

size_t column_bin(const struct column *c, double x)
{
    size_t low = 0, high = c->edges;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (c->edge[mid] <= x)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* ---- names ---- */

size_t columns_find_exactly(const struct shoal_columns *c, const char *name, size_t len)
{
    size_t at = name_place(c, name, len);

    for (; c->named[at]; at = (at + 1) & (c->names - 1)) {
        const struct column *col = &c->at[c->named[at] - 1];

        if (col->len == len && memcmp(col->name, name, len) == 0)
            return c->named[at] - 1;
    }
    return SIZE_MAX;
}

size_t columns_find_loosely(const struct shoal_columns *c, const char *name, size_t len)
{
    size_t at = name_place(c, name, len), found = SIZE_MAX;

    for (; c->named[at]; at = (at + 1) & (c->names - 1)) {
        size_t i = c->named[at] - 1;

        if (!is_alike(&c->at[i], name, len))
            continue;
        if (found != SIZE_MAX)
            return SIZE_MAX;
        found = i;
    }
    return found;
}

size_t columns_find(const struct shoal_columns *c, const char *name, size_t len)
{
    size_t i = columns_find_exactly(c, name, len);
    uint64_t number;

    if (i == SIZE_MAX)
        i = columns_find_loosely(c, name, len);
    if (i == SIZE_MAX && len > 0 && number_digits(name, name + len, &number) == name + len &&
        number <= c->n)
        i = number == 0 ? c->n - 1 : (size_t)number - 1;
    return i;
}

/* ---- for everybody ---- */

shoal_status shoal_columns_open(shoal_columns **out, const char *path)
{
    struct container *c = NULL;
    shoal_status st = container_map(&c, path);

    *out = NULL;
    if (st == SHOAL_OK)
        st = columns_load(out, c);
    container_close(c);
    return st;
}

void shoal_columns_free(shoal_columns *c)
{
    columns_free(c);
}

size_t shoal_columns_count(const shoal_columns *c)
{
    return c->n;
}

struct shoal_column_facts shoal_columns_facts(const shoal_columns *c, size_t i)
{
    const struct column *at = &c->at[i];

    return (struct shoal_column_facts){.name = at->name,
                                       .kind = at->kind,
                                       .why = at->why,
                                       .missing = at->missing,
                                       .different = at->different,
                                       .min = at->min,
                                       .max = at->max,
                                       .mean = at->mean,
                                       .sd = at->sd,
                                       .values = at->values};
}

const char *shoal_columns_value(const shoal_columns *c, size_t i, size_t k, uint64_t *count)
{
    const struct column *at = &c->at[i];

    if (k >= at->values)
        return NULL;
    if (count)
        *count = at->value[k].count;
    return at->value[k].text;
}

uint64_t shoal_columns_rows(const shoal_columns *c, bool *all)
{
    *all = c->all;
    return c->rows;
}

char shoal_columns_delimiter(const shoal_columns *c, bool *header)
{
    *header = c->dialect.header;
    return c->dialect.delimiter;
}

const char *shoal_column_kind_name(enum shoal_column_kind kind)
{
    static const char *const names[] = {"number", "category", "label", "id", "ignored"};

    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "?";
}
