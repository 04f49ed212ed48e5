/* How rows are read: which format the first line has, and what a model must remember to
 * read other rows alike. */
#include "sparse/rows.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- options ---- */

const struct shoal_choice shoal_rows_choices[] = {
    [SHOAL_CLICKS_AUTO] = {"auto", "by the first line"},
    [SHOAL_CLICKS_LIBSVM] = {"libsvm", "label index:value ..."},
    [SHOAL_CLICKS_VW] = {"vw", "Vowpal Wabbit's: label importance 'tag|space feature:value ..."},
    [SHOAL_CLICKS_CRITEO] = {"criteo", "label, 13 integers and 26 categories between tabs"},
    [SHOAL_CLICKS_CSV] = {"csv", "fields between commas below a line of names"},
    {0},
};

#define ROWS(member) SHOAL_FIELD(struct shoal_clicks_opts, member)

/* clang-format off */
#define ROWS_AGAIN                                                                                 \
    {"format", .type = SHOAL_TYPE_CHOICE, ROWS(format), .arg = "FORMAT",                           \
     .choices = shoal_rows_choices, .help = "how rows are written"},                               \
    {"skip-bad", .type = SHOAL_TYPE_COUNT, ROWS(skip_bad), .arg = "N", .u = {0, UINT64_MAX},       \
     .help = "leave out up to N malformed lines; one more fails"}
/* clang-format on */

const struct shoal_option shoal_rows_again_options[] = {ROWS_AGAIN, {0}};

const struct shoal_option shoal_rows_options[] = {
    ROWS_AGAIN,
    {"label", .type = SHOAL_TYPE_TEXT, ROWS(label), .arg = "COLUMN",
     .help = "CSV: the column of labels, else label, click, target, y or the first"},
    {"bits", .type = SHOAL_TYPE_COUNT, ROWS(bits), .arg = "N", .u = {1, 30},
     .help = "hash features into 2^N slots"},
    {"numeric", .type = SHOAL_TYPE_TEXT, ROWS(numeric), .arg = "COLUMN,...",
     .help = "CSV: the columns that are numbers, not categories, - for none, else by the first "
             "rows"},
    {0},
};

#define FORMATS ((size_t)SHOAL_CLICKS_CSV + 1)

const char *shoal_clicks_format_name(enum shoal_clicks_format format)
{
    return (size_t)format < FORMATS ? shoal_rows_choices[format].name : "?";
}

struct shoal_clicks_opts shoal_clicks_default(void)
{
    return (struct shoal_clicks_opts){.bits = 20, .memory = (uint64_t)1 << 30};
}

shoal_status shoal_clicks_check(const struct shoal_clicks_opts *opts)
{
    if ((size_t)opts->format >= FORMATS)
        return shoal_fail(SHOAL_EINVAL, "clicks: format is %d, want 0 to %zu", (int)opts->format,
                          FORMATS - 1);
    if (opts->bits < 1 || opts->bits > 30)
        return shoal_fail(SHOAL_EINVAL, "clicks: bits is %u, want 1 to 30", opts->bits);
    if (opts->threads > 1024)
        return shoal_fail(SHOAL_EINVAL, "clicks: threads is %u, want at most 1024", opts->threads);
    return SHOAL_OK;
}

/* ---- recognition ---- */

/* The next word of a line; empty at its end. */
static const char *next_word(const char **at, const char *end)
{
    const char *word;

    while (*at < end && is_blank(**at))
        ++*at;
    word = *at;
    while (*at < end && !is_blank(**at))
        ++*at;
    return word;
}

static bool is_digits(const char *at, const char *end)
{
    const char *begin = at;

    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at == end && at > begin;
}

static bool looks_number(const char *at, const char *end)
{
    return at < end && strspn(at, "+-.0123456789eE") >= (size_t)(end - at);
}

/* A label, then only index:value; *features says whether there was one. */
static bool looks_libsvm(const char *at, const char *end, bool *features)
{
    const char *word = next_word(&at, end), *colon;

    *features = false;
    if (!looks_number(word, at))
        return false;
    for (word = next_word(&at, end); word < at && *word != '#'; word = next_word(&at, end)) {
        colon = memchr(word, ':', (size_t)(at - word));
        if (!colon || !is_digits(word + (*word == '-'), colon))
            return false;
        *features = true;
    }
    return true;
}

/* Numbers and a tag, if anything, before the first bar; but a name with commas would be the
 * names of CSV. */
static bool looks_vw(const char *at, const char *end)
{
    const char *bar = memchr(at, '|', (size_t)(end - at)), *word;

    if (!bar)
        return false;
    for (word = next_word(&at, bar); word < at; word = next_word(&at, bar))
        if (*word != '\'' &&
            (at < bar ? !looks_number(word, at) : memchr(word, ',', (size_t)(at - word)) != NULL))
            return false;
    return true;
}

/* Whether the line tells; lines of labels alone do not. */
static bool recognise_line(const char *at, const char *end, enum shoal_clicks_format *out)
{
    size_t tabs = click_bytes_count(at, end, '\t');
    bool features;

    if (tabs == CRITEO_COLUMNS || tabs == CRITEO_COLUMNS - 1)
        *out = SHOAL_CLICKS_CRITEO;
    else if (looks_libsvm(at, end, &features))
        *out = features ? SHOAL_CLICKS_LIBSVM : SHOAL_CLICKS_AUTO;
    else if (looks_vw(at, end))
        *out = SHOAL_CLICKS_VW;
    else if (memchr(at, ',', (size_t)(end - at)))
        *out = SHOAL_CLICKS_CSV;
    else
        return true;
    return *out != SHOAL_CLICKS_AUTO;
}

static shoal_status recognise(enum shoal_clicks_format *out, const char *path, const char *at,
                              size_t len)
{
    const char *end = at + len, *line;
    bool any = false, known = false;

    *out = SHOAL_CLICKS_AUTO;
    for (; at < end && !known; at = line + 1) {
        const char *stop;

        line = memchr(at, '\n', (size_t)(end - at));
        line = line ? line : end;
        stop = click_line_end(at, line);
        if (stop == at || *at == '#')
            continue;
        known = recognise_line(at, stop, out);
        any |= !known;
    }
    if (*out == SHOAL_CLICKS_AUTO && any && !known)
        *out = SHOAL_CLICKS_LIBSVM; /* rows without a feature */
    if (*out == SHOAL_CLICKS_AUTO)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: its first line is none of libsvm, Vowpal Wabbit, Criteo or CSV; "
                          "want one of them, or --format",
                          path);
    return SHOAL_OK;
}

shoal_status click_format_init(struct click_format *w, const struct shoal_clicks_opts *opts,
                            bool unlabelled, const char *path, const char *head, size_t len,
                            bool whole)
{
    shoal_status st = SHOAL_OK;

    *w = (struct click_format){
        .format = opts->format, .shift = 64 - opts->bits, .unlabelled = unlabelled,
        .classes = opts->classes};
    if (w->format == SHOAL_CLICKS_AUTO)
        st = recognise(&w->format, path, head, len);
    if (st == SHOAL_OK && w->format == SHOAL_CLICKS_CRITEO)
        st = click_criteo_init(w);
    if (st == SHOAL_OK && w->format == SHOAL_CLICKS_CSV)
        st = click_csv_init(w, opts, path, head, len, whole);
    return st;
}

void click_format_fini(struct click_format *w)
{
    click_csv_fini(w);
    free(w->criteo);
    *w = (struct click_format){0};
}

/* ---- remembering ---- */

static shoal_status put_line(struct bytes *meta, const char *key, const char *value)
{
    shoal_status st = bytes_add(meta, key, strlen(key));

    if (st == SHOAL_OK)
        st = bytes_add(meta, value, strlen(value));
    return st == SHOAL_OK ? bytes_add(meta, "\n", 1) : st;
}

shoal_status clicks_opts_save(struct bytes *meta, const struct shoal_clicks_opts *opts)
{
    char bits[16];
    shoal_status st = put_line(meta, "way.format ", shoal_clicks_format_name(opts->format));

    snprintf(bits, sizeof bits, "%u", opts->bits);
    if (st == SHOAL_OK)
        st = put_line(meta, "way.bits ", bits);
    if (st == SHOAL_OK && opts->label)
        st = put_line(meta, "way.label ", opts->label);
    if (st == SHOAL_OK && opts->numeric)
        st = put_line(meta, "way.numeric ", opts->numeric);
    if (st == SHOAL_OK && opts->classes)
        st = put_line(meta, "way.classes ", "many");
    return st;
}

static shoal_status get_format(struct shoal_clicks_opts *opts, const struct container *c)
{
    char text[32];
    shoal_status st = container_meta(c, "way.format", text, sizeof text);

    for (size_t i = 1; i < FORMATS && st == SHOAL_OK; i++)
        if (strcmp(text, shoal_rows_choices[i].name) == 0)
            opts->format = (enum shoal_clicks_format)i;
    if (st == SHOAL_OK && opts->format == SHOAL_CLICKS_AUTO)
        st = shoal_fail(SHOAL_EFORMAT, "%s: its meta \"way.format\" is \"%s\", want a format",
                        container_path(c), text);
    return st;
}

static shoal_status get_bits(struct shoal_clicks_opts *opts, const struct container *c)
{
    uint64_t bits;
    shoal_status st = container_meta_u64(c, "way.bits", &bits);

    if (st == SHOAL_OK && (bits < 1 || bits > 30))
        return shoal_fail(SHOAL_EFORMAT, "%s: its meta \"way.bits\" is %llu, want 1 to 30",
                          container_path(c), (unsigned long long)bits);
    opts->bits = (unsigned)bits;
    return st;
}

/* Copies the value behind what was copied before; NULL when the key is absent. */
static char *get_string(const struct container *c, const char *key, char **rest, size_t *room)
{
    char *at = *rest;

    if (container_meta(c, key, at, *room) != SHOAL_OK)
        return NULL;
    *rest += strlen(at) + 1;
    *room -= strlen(at) + 1;
    return at;
}

shoal_status clicks_opts_load(struct shoal_clicks_opts *opts, char **strings,
                              const struct container *c)
{
    struct section meta;
    shoal_status st = container_find(c, "meta", 1, &meta);
    size_t room = meta.size + 3;
    char *rest;

    *strings = NULL;
    *opts = shoal_clicks_default();
    if (st == SHOAL_OK)
        st = get_format(opts, c);
    if (st == SHOAL_OK)
        st = get_bits(opts, c);
    if (st != SHOAL_OK)
        return st;
    *strings = rest = mem_array(room, 1);
    if (!rest)
        return SHOAL_ENOMEM;
    opts->label = get_string(c, "way.label", &rest, &room);
    opts->numeric = get_string(c, "way.numeric", &rest, &room);
    opts->classes = get_string(c, "way.classes", &rest, &room) != NULL;
    return SHOAL_OK;
}
