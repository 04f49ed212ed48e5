/* A block becomes rows: line by line through the parser of its format. A bad line leaves
 * nothing in the batch but its count, and a sentence if it is one of those wanted. */
#include "sparse/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- room ---- */

void click_batch_fini(struct click_batch *b)
{
    free(b->label);
    free(b->weight);
    free(b->start);
    free(b->slot);
    free(b->value);
    free(b->at);
    bytes_fini(&b->unquoted);
    click_labels_fini(&b->labels);
    *b = (struct click_batch){0};
}

/* A row takes two bytes of text, a feature one: a number and the delimiter behind it become up to
 * two, an empty field one. Pages that nobody writes cost nothing, so there is room for the worst. */
static shoal_status batch_reserve(struct click_batch *b, size_t bytes)
{
    size_t n = bytes / 2 + 64, values = bytes + 64;
    shoal_status st;

    if (b->label && bytes <= b->cap)
        return SHOAL_OK;
    click_batch_fini(b);
    b->label = malloc(n);
    b->weight = malloc(n * sizeof *b->weight);
    b->start = malloc(n * sizeof *b->start);
    b->slot = malloc(values * sizeof *b->slot);
    b->value = malloc(values * sizeof *b->value);
    b->at = malloc(n * sizeof *b->at);
    if (!b->label || !b->weight || !b->start || !b->slot || !b->value || !b->at)
        return shoal_fail(SHOAL_ENOMEM, "clicks: no memory for %zu rows", n);
    st = bytes_reserve(&b->unquoted, bytes + FIELD_PAD);
    if (st == SHOAL_OK) /* so that no line fails for want of memory */
        st = bytes_reserve(&b->labels.text, SHOAL_CLICKS_CLASSES * LABEL_TEXT);
    if (st == SHOAL_OK)
        b->cap = bytes;
    return st;
}

static void batch_clear(struct click_batch *b, uint64_t shown_from)
{
    b->rows = b->values = 0;
    b->lines = b->bad = 0;
    b->weighted = b->valued = b->fatal = false;
    b->labels.n = b->nrecent = 0;
    b->labels.text.len = 0;
    b->shown_from = shown_from;
    b->names = NULL;
}

/* ---- what the parsers share ---- */

bool click_line_bad(struct click_batch *b, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(b->why, sizeof b->why, fmt, args);
    va_end(args);
    return false;
}

struct click_quote click_quote(const char *at, size_t len)
{
    struct click_quote q;
    size_t n = len < 24 ? len : 24;

    for (size_t i = 0; i < n; i++)
        q.text[i] = at[i] >= ' ' && at[i] <= '~' ? at[i] : '?';
    memcpy(q.text + n, "...", 4);
    if (n == len)
        q.text[n] = '\0';
    return q;
}

bool click_number(struct click_batch *b, const char *what, const char *at, size_t len, float *out)
{
    if (decimal_parse(at, at + len, out) != at + len)
        return click_line_bad(b, "%s is \"%s\", want a number", what, click_quote(at, len).text);
    if (!isfinite(*out))
        return click_line_bad(b, "%s is \"%s\", want a number that a float holds", what,
                              click_quote(at, len).text);
    return true;
}

bool click_label_missing(const struct click_format *w, struct click_batch *b, const char *where)
{
    return w->unlabelled || click_line_bad(b, "found no label%s, want one", where);
}

/* Gives its number in k: of the labels that are known, or of this block's. */
static bool number_label(const struct click_format *w, struct click_batch *b, const char *name,
                         unsigned *k)
{
    if (w->known.n > 0) {
        *k = click_labels_known(&w->known, name);
        return *k != CLICKS_NO_LABEL || w->unlabelled || /* which needs none */
               click_line_bad(b, "its label is \"%s\", want %s",
                              click_quote(name, strlen(name)).text,
                              click_labels_text(&w->known, " or ").text);
    }
    *k = click_labels_find(&b->labels, name);
    if (*k != CLICKS_NO_LABEL)
        return true;
    if (b->labels.n == SHOAL_CLICKS_CLASSES)
        return click_line_bad(b, "label \"%s\" is one of over %d, want at most that many%s",
                              click_quote(name, strlen(name)).text, SHOAL_CLICKS_CLASSES,
                              w->format == SHOAL_CLICKS_CSV ? "; --label names another column" : "");
    *k = b->labels.n;
    b->labels.line[*k] = b->lines;
    click_labels_add(&b->labels, name); /* there is room */
    return true;
}

static bool label_slowly(const struct click_format *w, struct click_batch *b, const char *at,
                         size_t len)
{
    char name[LABEL_TEXT];
    unsigned k;

    if (len >= LABEL_TEXT)
        return click_line_bad(b, "its label is \"%s\" of %zu bytes, want at most %d",
                              click_quote(at, len).text, len, LABEL_TEXT - 1);
    if (isnan(label_spell(name, at, len)) && w->format != SHOAL_CLICKS_CSV)
        return click_line_bad(b, "its label is \"%s\", want a number", click_quote(at, len).text);
    if (!number_label(w, b, name, &k))
        return false;
    b->label[b->rows] = (uint8_t)k;
    if (len <= 8 && b->nrecent < sizeof b->recent / sizeof *b->recent) {
        b->recent[b->nrecent].first = span_bytes8(at, len);
        b->recent[b->nrecent].len = (uint32_t)len;
        b->recent[b->nrecent++].number = k;
    }
    return true;
}

/* Up to 7 bytes behind the label are read, never used. */
bool click_label(const struct click_format *w, struct click_batch *b, const char *at, size_t len)
{
    uint64_t first = span_bytes8(at, len);

    if (len == 0)
        return click_label_missing(w, b, "");
    for (unsigned i = 0; i < b->nrecent; i++)
        if (b->recent[i].first == first && b->recent[i].len == len) {
            b->label[b->rows] = (uint8_t)b->recent[i].number;
            return true;
        }
    return label_slowly(w, b, at, len);
}

/* ---- lines ---- */

/* What a bad line is to leave as it was. */
struct mark {
    size_t values, text;
    unsigned labels, recent;
    bool valued, weighted;
};

static void note_bad(struct click_batch *b)
{
    uint64_t i = b->bad++ - b->shown_from;

    if (i >= SHOAL_CLICKS_SHOWN)
        return;
    b->shown[i].line = b->lines;
    memcpy(b->shown[i].why, b->why, sizeof b->why);
}

static bool parse_row(const struct click_format *w, struct click_batch *b, const char *at,
                      const char *end)
{
    static bool (*const rows[])(const struct click_format *w, struct click_batch *b, const char *at,
                                const char *end) = {
        [SHOAL_CLICKS_LIBSVM] = click_libsvm_row,
        [SHOAL_CLICKS_VW] = click_vw_row,
        [SHOAL_CLICKS_CRITEO] = click_criteo_row,
        [SHOAL_CLICKS_CSV] = click_csv_row,
    };

    return rows[w->format](w, b, at, end);
}

static bool parse_line(const struct click_format *w, struct click_batch *b, const char *at,
                       const char *end)
{
    const char *nul = memchr(at, '\0', (size_t)(end - at));

    if ((size_t)(end - at) > SHOAL_CLICKS_LINE_MAX)
        return click_line_bad(b, "the line has over %zu bytes, want at most that",
                              SHOAL_CLICKS_LINE_MAX);
    if (nul)
        return click_line_bad(b, "byte %zu is NUL, want text", (size_t)(nul - at) + 1);
    b->label[b->rows] = CLICKS_NO_LABEL;
    b->weight[b->rows] = 1;
    return parse_row(w, b, at, end);
}

static void take_line(const struct click_format *w, struct click_batch *b, const char *text,
                      const char *at, const char *end)
{
    struct mark mark = {b->values, b->labels.text.len, b->labels.n, b->nrecent, b->valued,
                        b->weighted};

    if (!parse_line(w, b, at, end)) {
        b->values = mark.values;
        b->labels.text.len = mark.text;
        b->labels.n = mark.labels;
        b->nrecent = mark.recent;
        b->valued = mark.valued;
        b->weighted = mark.weighted;
        note_bad(b);
        return;
    }
    b->start[b->rows] = (uint32_t)mark.values;
    b->at[b->rows] = (uint32_t)(at - text);
    b->weighted |= b->weight[b->rows] != 1;
    b->rows++;
}

/* The end of a line or record; its newline is the block's last byte at the latest. */
static const char *line_end(const struct click_format *w, const char *at, const char *end)
{
    bool inside = false;
    const char *stop;

    if (w->format == SHOAL_CLICKS_CSV) {
        stop = record_end(click_csv_dialect(w), at, end, &inside);
        return stop < end ? stop : end - 1;
    }
    return memchr(at, '\n', (size_t)(end - at));
}

static uint64_t lines_within(const struct click_format *w, const char *at, const char *end)
{
    return 1 + (w->format == SHOAL_CLICKS_CSV ? click_bytes_count(at, end, '\n') : 0);
}

/* Every input of a table begins with the same names. */
static const char *pass_header(const struct click_format *w, struct click_batch *b, const char *at,
                               const char *end)
{
    const char *line = line_end(w, at, end), *stop = record_text_end(at, line);
    struct span header = click_csv_header(w);

    if (header.len == 0)
        return at;
    if ((size_t)(stop - at) != header.len || memcmp(at, header.at, header.len) != 0) {
        b->fatal = true;
        b->bad = 1;
        b->shown[0].line = 0;
        snprintf(b->shown[0].why, sizeof b->shown[0].why,
                 "its names begin \"%s\", want those of the first input",
                 click_quote(at, (size_t)(stop - at)).text);
        return end;
    }
    b->lines += lines_within(w, at, line);
    return line + 1;
}

/* Lines without anything, and comments. */
static bool is_passed_over(const struct click_format *w, const char *at, const char *end)
{
    if (w->format == SHOAL_CLICKS_CSV)
        return record_is_blank(click_csv_dialect(w), at, end);
    return end == at || (w->format == SHOAL_CLICKS_LIBSVM && *at == '#');
}

static void parse_text(const struct click_format *w, struct click_batch *b, const char *text,
                       const char *at, const char *end)
{
    while (at < end) {
        const char *line, *stop;

        if (w->format == SHOAL_CLICKS_CRITEO) {
            at = click_criteo_rows(w, b, text, at, end);
            if (at == end)
                return;
        }
        line = line_end(w, at, end);
        stop = record_text_end(at, line);
        if (!is_passed_over(w, at, stop))
            take_line(w, b, text, at, stop);
        b->lines += lines_within(w, at, line);
        at = line + 1;
    }
}

shoal_status click_parse(const struct click_format *w, const struct click_block *block,
                         struct click_batch *b, uint64_t shown_from)
{
    const char *at = block->text.at, *end = at + block->text.len;
    shoal_status st = batch_reserve(b, block->text.len);

    if (st != SHOAL_OK)
        return st;
    batch_clear(b, shown_from);
    if (block->dropped > 0) {
        click_line_bad(b, "the line has over %zu bytes, want at most that", SHOAL_CLICKS_LINE_MAX);
        note_bad(b);
        b->lines = block->dropped;
    }
    if (block->first && w->format == SHOAL_CLICKS_CSV && at < end)
        at = pass_header(w, b, at, end);
    parse_text(w, b, block->text.at, at, end);
    b->start[b->rows] = (uint32_t)b->values;
    return SHOAL_OK;
}

void click_parse_names(const struct click_format *w, const struct click_block *block,
                       struct click_batch *b, size_t r, struct click_name *names)
{
    const char *at = block->text.at + b->at[r], *end = block->text.at + block->text.len;
    size_t rows = b->rows, values = b->values;
    const char *line = line_end(w, at, end);

    /* Into its own place once more, where it writes what stands there already. */
    b->rows = r;
    b->values = b->start[r];
    b->names = names;
    parse_row(w, b, at, record_text_end(at, line));
    b->names = NULL;
    b->rows = rows;
    b->values = values;
}
