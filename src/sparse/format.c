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
    [SHOAL_CLICKS_CSV] = {"csv", "a table: fields between commas, semicolons or tabs"},
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
    {"bits", .type = SHOAL_TYPE_COUNT, ROWS(bits), .arg = "N", .u = {1, 30},
     .help = "hash features into 2^N slots"},
    {"positive", .type = SHOAL_TYPE_TEXT, ROWS(positive), .arg = "LABEL",
     .help = "of two labels the one whose probability is predicted, else the greater one"},
    {"scale", .type = SHOAL_TYPE_FLAG, ROWS(scale),
     .help = "bring the values of each feature of libsvm and Vowpal Wabbit's to one size"},
    {"raw", .type = SHOAL_TYPE_FLAG, ROWS(table.raw),
     .help = "take the numbers of a table as they are, not scaled to mean 0 and variance 1"},
    {"bins", .type = SHOAL_TYPE_COUNT, ROWS(bins), .arg = "N", .u = {0, COLUMN_BINS + 1},
     .help = "cut the numbers of a table by quantiles into so many categories",
     .zero = "they are scaled to mean 0 and variance 1"},
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
    if (opts->examples > SHOAL_CLICKS_EXAMPLES)
        return shoal_fail(SHOAL_EINVAL, "clicks: examples is %u, want at most %d", opts->examples,
                          SHOAL_CLICKS_EXAMPLES);
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

/* Whether bars stand between fields: several, and none begins a word as those of namespaces do. */
static bool looks_barred(const char *at, const char *end)
{
    size_t bars = 0;

    for (const char *bar = at; (bar = memchr(bar, '|', (size_t)(end - bar))) != NULL; bar++) {
        if (bar == at || is_blank(bar[-1]))
            return false;
        bars++;
    }
    return bars > 1;
}

/* Numbers and a tag, if anything, before the first bar; but a name with commas would be the
 * names of CSV. */
static bool looks_vw(const char *at, const char *end)
{
    const char *bar = end > at ? memchr(at, '|', (size_t)(end - at)) : NULL, *word;

    if (!bar || looks_barred(at, end))
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
    else if (memchr(at, ',', (size_t)(end - at)) || memchr(at, ';', (size_t)(end - at)) || tabs > 0 ||
             looks_barred(at, end))
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
        stop = record_text_end(at, line);
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

static shoal_status take_known(struct click_format *w, const struct shoal_clicks_opts *opts)
{
    shoal_status st = SHOAL_OK;

    for (unsigned k = 0; k < opts->nlabels && k < SHOAL_CLICKS_CLASSES && st == SHOAL_OK; k++)
        st = click_labels_add(&w->known, opts->labels[k]);
    return st;
}

/* Of rows that come one after the other nobody knows all labels before the last: they are 0 and 1,
 * or the numbers of classes. */
shoal_status click_format_number_labels(struct click_format *w)
{
    shoal_status st = SHOAL_OK;
    char name[8];

    for (unsigned k = 0; k < (w->classes ? SHOAL_CLICKS_CLASSES : 2) && st == SHOAL_OK; k++) {
        snprintf(name, sizeof name, "%u", k);
        st = click_labels_add(&w->known, name);
    }
    return st;
}

shoal_status click_format_init(struct click_format *w, const struct shoal_clicks_opts *opts,
                               bool unlabelled, const struct click_head *head)
{
    shoal_status st;

    *w = (struct click_format){
        .format = opts->format, .shift = 64 - opts->bits, .unlabelled = unlabelled,
        .classes = opts->classes, .plain = opts->plain, .scale = opts->scale};
    st = take_known(w, opts);
    if (st == SHOAL_OK && opts->positive && !(w->positive = strdup(opts->positive)))
        st = shoal_fail(SHOAL_ENOMEM, "clicks: no memory for a label");
    if (st == SHOAL_OK && w->format == SHOAL_CLICKS_AUTO)
        st = recognise(&w->format, head->path, head->at, head->len);
    if (st == SHOAL_OK && w->format == SHOAL_CLICKS_CRITEO)
        st = click_criteo_init(w);
    if (st == SHOAL_OK && w->format == SHOAL_CLICKS_CSV)
        st = click_csv_init(w, opts, head);
    return st;
}

void click_format_fini(struct click_format *w)
{
    click_csv_fini(w);
    click_labels_fini(&w->known);
    free(w->positive);
    free(w->criteo);
    *w = (struct click_format){0};
}

/* ---- remembering ---- */

shoal_status clicks_reading_put(const struct shoal_clicks_opts *opts, struct bytes *meta)
{
    const struct shoal_table_opts *t = &opts->table;
    shoal_status st = bytes_print(meta, "way.format %s\nway.bits %u\n%s%s",
                                  shoal_clicks_format_name(opts->format), opts->bits,
                                  opts->classes ? "way.classes many\n" : "",
                                  opts->plain ? "way.index plain\n" : "");

    if (opts->columns || !t->category) /* else it is of a file from before */
        return st;
    if (st == SHOAL_OK && t->label)
        st = bytes_print(meta, "way.label %s\n", t->label);
    return st == SHOAL_OK ? bytes_print(meta, "way.numeric %s\n",
                                        strcmp(t->numeric, "-") == 0 ? "" : t->numeric)
                          : st;
}

shoal_status clicks_reading_save(const struct shoal_clicks_opts *opts, struct container_writer *w)
{
    shoal_status st = SHOAL_OK;

    if (opts->nlabels > 0)
        st = container_begin(w, "classes");
    for (unsigned k = 0; k < opts->nlabels && st == SHOAL_OK; k++)
        st = container_write(w, opts->labels[k], strlen(opts->labels[k]) + 1);
    return st == SHOAL_OK && opts->columns ? columns_save(opts->columns, w) : st;
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

/* ---- and reading it again ---- */

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

/* Files from before there were columns say which of them are numbers, as they are; all others are
 * categories. */
static shoal_status get_old_table(struct clicks_reading *r, const struct container *c)
{
    struct shoal_table_opts *t = &r->opts.table;
    struct section meta;
    shoal_status st = container_find(c, "meta", 1, &meta);
    size_t room = meta.size + 3;
    char *rest;

    if (st != SHOAL_OK || r->opts.format != SHOAL_CLICKS_CSV || r->columns)
        return st;
    r->strings = rest = mem_array(room, 1);
    if (!rest)
        return SHOAL_ENOMEM;
    t->label = get_string(c, "way.label", &rest, &room);
    t->numeric = get_string(c, "way.numeric", &rest, &room);
    t->numeric = t->numeric && *t->numeric ? t->numeric : "-";
    t->category = "*";
    t->missing = "";
    t->header = SHOAL_HEADER_YES;
    t->raw = true;
    return SHOAL_OK;
}

static shoal_status get_labels(struct clicks_reading *r, const struct container *c)
{
    struct section s;
    const char *at, *end;
    shoal_status st;

    if (!container_has(c, "classes"))
        return SHOAL_OK;
    st = container_find(c, "classes", 1, &s);
    at = s.data;
    end = at + s.size;
    if (st == SHOAL_OK && (s.size == 0 || end[-1]))
        return shoal_fail(SHOAL_EFORMAT, "%s: its labels are no strings", container_path(c));
    for (; at < end && st == SHOAL_OK; at += strlen(at) + 1) {
        if (r->labels.n == (r->opts.classes ? SHOAL_CLICKS_CLASSES : 2) ||
            strlen(at) >= LABEL_TEXT || click_labels_find(&r->labels, at) != CLICKS_NO_LABEL)
            return shoal_fail(SHOAL_EFORMAT, "%s: its labels are too many, too long or the same",
                              container_path(c));
        st = click_labels_add(&r->labels, at);
    }
    if (st == SHOAL_OK && r->labels.n < 2)
        st = shoal_fail(SHOAL_EFORMAT, "%s: has %u label, want two or more", container_path(c),
                        r->labels.n);
    return st;
}

void clicks_reading_point(struct clicks_reading *r)
{
    for (unsigned k = 0; k < r->labels.n; k++)
        r->label[k] = click_labels_name(&r->labels, k);
    r->opts.labels = r->labels.n > 0 ? r->label : NULL;
    r->opts.nlabels = r->labels.n;
    r->opts.columns = r->columns;
}

shoal_status clicks_reading_load(struct clicks_reading *r, const struct container *c)
{
    char word[8];
    shoal_status st;

    r->opts = shoal_clicks_default();
    st = get_format(&r->opts, c);
    if (st == SHOAL_OK)
        st = get_bits(&r->opts, c);
    if (st == SHOAL_OK)
        r->opts.classes = container_meta(c, "way.classes", word, sizeof word) == SHOAL_OK;
    if (st == SHOAL_OK)
        r->opts.plain = container_meta(c, "way.index", word, sizeof word) == SHOAL_OK;
    if (st == SHOAL_OK)
        st = columns_load(&r->columns, c);
    if (st == SHOAL_OK)
        st = get_labels(r, c);
    if (st == SHOAL_OK)
        st = get_old_table(r, c);
    if (st == SHOAL_OK)
        clicks_reading_point(r);
    return st;
}

shoal_status clicks_reading_copy(struct clicks_reading *to, const struct shoal_clicks_opts *from)
{
    shoal_status st = SHOAL_OK;

    to->opts = shoal_clicks_default();
    to->opts.format = from->format;
    to->opts.bits = from->bits;
    to->opts.classes = from->classes;
    to->opts.plain = from->plain;
    for (unsigned k = 0; k < from->nlabels && st == SHOAL_OK; k++)
        st = click_labels_add(&to->labels, from->labels[k]);
    if (st == SHOAL_OK && from->columns)
        st = columns_copy(&to->columns, from->columns);
    if (st == SHOAL_OK && from->table.category) { /* of a file from before */
        size_t label = from->table.label ? strlen(from->table.label) + 1 : 0;
        size_t numeric = strlen(from->table.numeric) + 1;

        to->opts.table = from->table;
        to->strings = mem_array(label + numeric, 1);
        if (!to->strings)
            return SHOAL_ENOMEM;
        if (label)
            to->opts.table.label = memcpy(to->strings, from->table.label, label);
        to->opts.table.numeric = memcpy(to->strings + label, from->table.numeric, numeric);
    }
    if (st == SHOAL_OK)
        clicks_reading_point(to);
    return st;
}

void clicks_reading_fini(struct clicks_reading *r)
{
    columns_free(r->columns);
    click_labels_fini(&r->labels);
    free(r->strings);
    *r = (struct clicks_reading){0};
}
