/* One option of a table: its value as text, and what is said of it. */
#include "base/base.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANGE_TEXT 80

bool shoal_option_takes_value(const struct shoal_option *option)
{
    return option->type != SHOAL_TYPE_FLAG && option->type != SHOAL_TYPE_HELP &&
           option->type != SHOAL_TYPE_VERSION;
}

/* ---- Showing a value ------------------------------------------------------------- */

/* 1536 is "1536", 2048 is "2K": exact, in the form that is read. */
static void show_size(char text[SHOAL_VALUE], uint64_t bytes)
{
    static const char suffix[] = "\0KMGT";
    size_t i = 0;

    while (suffix[i + 1] && bytes && bytes % 1024 == 0) {
        bytes /= 1024;
        i++;
    }
    snprintf(text, SHOAL_VALUE, "%" PRIu64 "%.1s", bytes, suffix + i);
}

static void show_count(char text[SHOAL_VALUE], const struct shoal_option *option, uint64_t n)
{
    if (option->type == SHOAL_TYPE_SIZE)
        show_size(text, n);
    else
        snprintf(text, SHOAL_VALUE, "%" PRIu64, n);
}

static uint64_t count_of(const struct shoal_option *option, const void *field)
{
    return option->size == sizeof(uint64_t) ? *(const uint64_t *)field : *(const unsigned *)field;
}

bool shoal_option_show(char text[SHOAL_VALUE], const struct shoal_option *option, const void *base)
{
    const void *field = (const char *)base + option->at;
    const char *string;

    switch (option->type) {
    case SHOAL_TYPE_FLAG:
        snprintf(text, SHOAL_VALUE, *(const bool *)field != option->inverse ? "true" : "false");
        return true;
    case SHOAL_TYPE_COUNT:
    case SHOAL_TYPE_SIZE:
        show_count(text, option, count_of(option, field));
        return true;
    case SHOAL_TYPE_REAL:
        number_exact(text, SHOAL_VALUE, *(const double *)field);
        return true;
    case SHOAL_TYPE_CHOICE:
        snprintf(text, SHOAL_VALUE, "%s",
                 option->choices[*(const unsigned *)field - option->u.min].name);
        return true;
    case SHOAL_TYPE_TEXT:
    case SHOAL_TYPE_PATH:
        string = *(const char *const *)field;
        snprintf(text, SHOAL_VALUE, "%s", string ? string : "");
        return string != NULL;
    case SHOAL_TYPE_OWN:
        option->own->show(text, field);
        return true;
    case SHOAL_TYPE_HELP:
    case SHOAL_TYPE_VERSION:
        break;
    }
    return false;
}

/* ---- What is said of it --------------------------------------------------------------- */

static bool is_number(const struct shoal_option *option)
{
    return option->type == SHOAL_TYPE_COUNT || option->type == SHOAL_TYPE_SIZE ||
           option->type == SHOAL_TYPE_REAL;
}

static bool has_range(const struct shoal_option *option)
{
    return is_number(option) || (option->type == SHOAL_TYPE_OWN && option->u.max > 0);
}

/* No upper limit. */
static bool is_open(const struct shoal_option *option)
{
    return option->type != SHOAL_TYPE_REAL && option->u.max == UINT64_MAX;
}

/* "0 to 1024", "1 or more" of a number */
static void range(char text[RANGE_TEXT], const struct shoal_option *option)
{
    char min[SHOAL_VALUE], max[SHOAL_VALUE];

    show_count(min, option, option->u.min);
    show_count(max, option, option->u.max);
    if (option->type == SHOAL_TYPE_REAL)
        number_print(text, RANGE_TEXT, "%g to %g", option->d.min, option->d.max);
    else if (is_open(option))
        snprintf(text, RANGE_TEXT, "%.30s or more", min);
    else
        snprintf(text, RANGE_TEXT, "%.30s to %.30s", min, max);
}

/* "space or words", "a, b or c" */
static void want_choice(char text[SHOAL_SENTENCE], const struct shoal_choice *choices)
{
    size_t len = 0;

    for (const struct shoal_choice *c = choices; c->name && len < SHOAL_SENTENCE; c++)
        len += (size_t)snprintf(text + len, SHOAL_SENTENCE - len, "%s%s",
                                c == choices ? ""
                                : c[1].name  ? ", "
                                             : " or ",
                                c->name);
}

void shoal_option_want(char text[SHOAL_SENTENCE], const struct shoal_option *option)
{
    static const char *const nouns[] = {
        [SHOAL_TYPE_FLAG] = "true or false", [SHOAL_TYPE_COUNT] = "a whole number",
        [SHOAL_TYPE_SIZE] = "a size",        [SHOAL_TYPE_REAL] = "a number",
        [SHOAL_TYPE_TEXT] = "some text",     [SHOAL_TYPE_PATH] = "a file name",
    };
    char limits[RANGE_TEXT];

    assert(option->type != SHOAL_TYPE_HELP && option->type != SHOAL_TYPE_VERSION);
    if (option->type == SHOAL_TYPE_CHOICE) {
        want_choice(text, option->choices);
    } else if (is_number(option)) {
        range(limits, option);
        snprintf(text, SHOAL_SENTENCE, "%s %s %s%s", nouns[option->type],
                 is_open(option) ? "of" : "from", limits,
                 option->type == SHOAL_TYPE_SIZE ? ", such as 512M or 2G" : "");
    } else {
        snprintf(text, SHOAL_SENTENCE, "%s",
                 option->type == SHOAL_TYPE_OWN ? option->own->want : nouns[option->type]);
    }
}

/* The default; false when there is none, or when it goes without saying. */
static bool show_default(char text[SHOAL_VALUE], const struct shoal_option *option,
                         const void *base)
{
    bool shown = shoal_option_show(text, option, base);

    if (option->type != SHOAL_TYPE_FLAG)
        return shown;
    shown = strcmp(text, "true") == 0;
    snprintf(text, SHOAL_VALUE, "on");
    return shown;
}

void shoal_option_facts(char text[SHOAL_SENTENCE], const struct shoal_option *option,
                        const void *base)
{
    char limits[RANGE_TEXT] = "", value[SHOAL_VALUE];
    const char *zero = option->zero ? option->zero : "";

    text[0] = '\0';
    if (option->required)
        snprintf(text, SHOAL_SENTENCE, "required");
    if (option->required || !show_default(value, option, base))
        return;
    /* "0 or more" limits nothing worth a word. */
    if (has_range(option) && !(is_open(option) && option->u.min == 0))
        range(limits, option);
    snprintf(text, SHOAL_SENTENCE, "%s%sdefault %s%s%s", limits, *limits ? ", " : "", value,
             !*zero                    ? ""
             : strcmp(value, "0") == 0 ? ": "
                                       : "; 0: ",
             zero);
}

/* ---- Reading a value: each gives false when the text is no such value ---------------- */

static bool read_flag(bool *field, const struct shoal_option *option, const char *text)
{
    bool on = strcmp(text, "true") == 0;

    assert(option->size == sizeof(bool));
    *field = on != option->inverse;
    return on || strcmp(text, "false") == 0;
}

static bool read_suffix(uint64_t *n, char suffix)
{
    static const char letters[] = "kKmMgGtT";
    const char *at = strchr(letters, suffix);
    unsigned shift;

    if (!at || !suffix)
        return false;
    shift = 10 * (unsigned)((at - letters) / 2 + 1);
    if (*n > UINT64_MAX >> shift)
        return false;
    *n <<= shift;
    return true;
}

static bool read_count(void *field, const struct shoal_option *option, const char *text)
{
    uint64_t n;

    text = number_digits(text, text + strlen(text), &n);
    if (!text)
        return false;
    if (option->type == SHOAL_TYPE_SIZE && *text && !read_suffix(&n, *text++))
        return false;
    if (*text || n < option->u.min || n > option->u.max)
        return false;

    if (option->size == sizeof(uint64_t)) {
        *(uint64_t *)field = n;
    } else {
        assert(option->size == sizeof(unsigned) && option->u.max <= UINT32_MAX);
        *(unsigned *)field = (unsigned)n;
    }
    return true;
}

static bool read_real(double *field, const struct shoal_option *option, const char *text)
{
    char *end;
    double x = number_read(text, &end);

    assert(option->size == sizeof x);
    /* A NaN is in no range. */
    if (end == text || *end || !(x >= option->d.min && x <= option->d.max))
        return false;
    *field = x;
    return true;
}

static bool read_choice(unsigned *field, const struct shoal_option *option, const char *text)
{
    assert(option->size == sizeof(unsigned));
    for (unsigned i = 0; option->choices[i].name; i++) {
        if (strcmp(option->choices[i].name, text) == 0) {
            *field = (unsigned)option->u.min + i;
            return true;
        }
    }
    return false;
}

static bool read_string(const char **field, const struct shoal_option *option, const char *text)
{
    assert(option->size == sizeof text);
    *field = text;
    return option->type != SHOAL_TYPE_PATH || *text;
}

bool shoal_option_read(const struct shoal_option *option, void *base, const char *text)
{
    void *field = (char *)base + option->at;

    switch (option->type) {
    case SHOAL_TYPE_FLAG:
        return read_flag(field, option, text);
    case SHOAL_TYPE_COUNT:
    case SHOAL_TYPE_SIZE:
        return read_count(field, option, text);
    case SHOAL_TYPE_REAL:
        return read_real(field, option, text);
    case SHOAL_TYPE_CHOICE:
        return read_choice(field, option, text);
    case SHOAL_TYPE_TEXT:
    case SHOAL_TYPE_PATH:
        return read_string(field, option, text);
    case SHOAL_TYPE_OWN:
        return option->own->read(field, text);
    case SHOAL_TYPE_HELP:
    case SHOAL_TYPE_VERSION:
        break;
    }
    return false;
}
