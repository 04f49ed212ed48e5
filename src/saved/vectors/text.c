/* Vectors as lines `word number ... number`, of word2vec and fastText behind a
 * line `V D`, of GloVe without it.
 *
 * The text is cut at line ends into a part for each thread. A first pass counts
 * the lines, a second one parses each part into its rows. A word may hold
 * spaces (GloVe's 840B has some): the last D fields are the numbers, and what
 * stands before them the word, which may not itself end in a number: that is a
 * line with too many. */
#include "saved/vectors/vectors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the first line ---- */

static const char *skip(const char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    return at;
}

bool vectors_text_header(const struct source *src, size_t *size, size_t *dim, size_t *len)
{
    const char *at = src->at, *end = at + (src->len < 128 ? src->len : 128);

    at = number_digits(at, end, size);
    if (!at || at == end || !is_blank(*at))
        return false;
    at = number_digits(skip(at, end), end, dim);
    if (!at)
        return false;
    at = skip(at, end);
    at += at < end && *at == '\r';
    *len = (size_t)(at - src->at) + 1;
    return at < end && *at == '\n';
}

/* ---- a line ---- */

struct line {
    const char *at, *end; /* without its end, \n or \r\n */
};

/* The next line that is not empty; false at the end. *number counts all. */
static bool next_line(const char **at, const char *end, struct line *out, size_t *number)
{
    size_t len;

    while (line_next(at, end, &out->at, &len)) {
        ++*number;
        out->end = out->at + len;
        if (len > 0 && out->end[-1] == '\r')
            out->end--;
        if (out->end > out->at)
            return true;
    }
    return false;
}

/* Takes the last field off a piece of text; empty when there is none. */
static struct line last_field(struct line *text)
{
    struct line field;

    while (text->end > text->at && is_blank(text->end[-1]))
        text->end--;
    field.end = text->end;
    while (text->end > text->at && !is_blank(text->end[-1]))
        text->end--;
    field.at = text->end;
    return field;
}

static bool is_number(struct line field)
{
    float value;

    return decimal_parse(field.at, field.end, &value) == field.end && field.at < field.end;
}

/* The numbers at the end of a line that begins with a word. */
static size_t count_numbers(struct line line)
{
    bool blank = line.at < line.end && is_blank(*line.at);
    size_t n = 0;
    struct line field = last_field(&line);

    while (is_number(field)) {
        n++;
        field = last_field(&line);
    }
    /* All of them numbers: then the first is the word, unless a blank stands where it would. */
    return field.at < field.end || n == 0 || blank ? n : n - 1;
}

/* The usual line: a word without spaces and D finite numbers behind it. */
static bool parse_fast(struct line line, size_t dim, float *row, struct span *word)
{
    const char *at = line.at;

    while (at < line.end && !is_blank(*at))
        at++;
    if (at == line.at || at - line.at > SHOAL_WORD_MAX)
        return false;
    *word = (struct span){line.at, (uint32_t)(at - line.at)};
    for (size_t i = 0; i < dim; i++) {
        at = decimal_parse(skip(at, line.end), line.end, &row[i]);
        if (!at || !isfinite(row[i]))
            return false;
    }
    return skip(at, line.end) == line.end;
}

struct part {
    const char *at, *end;
    size_t lines, rows; /* in it */
    size_t line, row;   /* before it */
};

struct reading {
    const struct source *src;
    shoal_vectors *v;
    struct span *words; /* [size] */
    struct part *parts; /* [threads] */
    size_t dim;
};

static shoal_status fail_number(const char *path, size_t number, struct line field)
{
    int len = field.end - field.at < 40 ? (int)(field.end - field.at) : 40;

    return shoal_fail(SHOAL_EFORMAT, "%s: line %zu: `%.*s` is no finite number", path, number, len,
                      field.at);
}

/* Any other line, or what is wrong with it. One that begins with blanks and has numbers alone has
 * an empty word. */
static shoal_status parse_slow(const struct reading *r, struct line line, size_t number, float *row,
                               struct span *word)
{
    struct line rest = line, field;

    for (size_t i = r->dim; i > 0; i--) {
        field = last_field(&rest);
        if (field.at == field.end || field.at == line.at)
            return shoal_fail(SHOAL_EFORMAT,
                              "%s: line %zu has %zu fields, want a word and %zu numbers",
                              r->src->path, number, r->dim - i + (field.at < field.end), r->dim);
        if (decimal_parse(field.at, field.end, &row[i - 1]) != field.end || !isfinite(row[i - 1]))
            return fail_number(r->src->path, number, field);
    }
    rest.at = skip(rest.at, rest.end);
    line = rest;
    field = last_field(&rest);
    line.end = field.end > line.at ? field.end : line.at;
    if (field.at > line.at && is_number(field))
        return shoal_fail(SHOAL_EFORMAT, "%s: line %zu has more than %zu numbers", r->src->path,
                          number, r->dim);
    if (line.end - line.at > SHOAL_WORD_MAX)
        return shoal_fail(SHOAL_EFORMAT, "%s: line %zu: the word has %zu bytes, want at most %u",
                          r->src->path, number, (size_t)(line.end - line.at), SHOAL_WORD_MAX);
    *word = (struct span){line.at, (uint32_t)(line.end - line.at)};
    return SHOAL_OK;
}

/* ---- the threads ---- */

static shoal_status count_part(void *ctx, unsigned index)
{
    struct part *p = &((struct reading *)ctx)->parts[index];
    const char *at = p->at;
    struct line line;

    while (next_line(&at, p->end, &line, &p->lines))
        p->rows++;
    return SHOAL_OK;
}

static shoal_status parse_part(void *ctx, unsigned index)
{
    const struct reading *r = ctx;
    const struct part *p = &r->parts[index];
    const char *at = p->at;
    size_t i = p->row, number = p->line;
    struct line line;
    shoal_status st = SHOAL_OK;

    for (; st == SHOAL_OK && next_line(&at, p->end, &line, &number); i++) {
        float *row = (float *)(void *)(r->v->own_rows + i * r->v->stride);

        if (!parse_fast(line, r->dim, row, &r->words[i]))
            st = parse_slow(r, line, number, row, &r->words[i]);
    }
    return st;
}

/* Cuts [at, end) behind line ends. */
static void cut(struct part *parts, unsigned n, const char *at, const char *end)
{
    size_t len = (size_t)(end - at);
    const char *begin = at;

    for (unsigned i = 0; i < n; i++) {
        const char *stop = i + 1 < n ? at + len / n * (i + 1) : end;

        stop = stop < begin ? begin : stop;
        if (stop < end) {
            stop = memchr(stop, '\n', (size_t)(end - stop));
            stop = stop ? stop + 1 : end;
        }
        parts[i] = (struct part){.at = begin, .end = stop};
        begin = stop;
    }
}

/* ---- reading ---- */

#define CHEAP_BYTES ((size_t)1 << 24)

struct shape {
    size_t size, dim, begin; /* size 0: not promised */
};

/* Without a first line the dimension is what the first word has. */
static void guess_shape(struct shape *s, const struct source *src, size_t begin)
{
    const char *at = src->at + begin;
    struct line line = {at, at};
    size_t number = 0;

    next_line(&at, src->at + src->len, &line, &number);
    *s = (struct shape){0, count_numbers(line), begin};
}

bool vectors_text_sniff(const struct source *src, size_t begin, size_t dim)
{
    struct shape s;

    guess_shape(&s, src, begin);
    return dim ? s.dim == dim : s.dim > 0;
}

static shoal_status count_rows(struct reading *r, unsigned threads, const struct shape *s,
                               bool header, size_t *rows)
{
    shoal_status st = pool_run(threads, count_part, r);
    size_t lines = header, least;

    *rows = 0;
    for (unsigned i = 0; i < threads; i++) {
        r->parts[i].line = lines;
        r->parts[i].row = *rows;
        lines += r->parts[i].lines;
        *rows += r->parts[i].rows;
    }
    if (st == SHOAL_OK && header && *rows != s->size)
        return shoal_fail(SHOAL_EFORMAT, "%s: holds %zu lines of vectors, its first line says %zu",
                          r->src->path, *rows, s->size);
    if (st == SHOAL_OK)
        st = vectors_check_shape(r->src->path, *rows, s->dim);
    /* A line has a word and numbers of a byte each at least. While it costs
     * little, the sentence about the line that is too short is the better one. */
    least = *rows * (2 * s->dim + 2);
    if (st == SHOAL_OK && least > r->src->len - s->begin + 1 &&
        *rows > CHEAP_BYTES / dtype_stride(SHOAL_F32, s->dim))
        st =
            shoal_fail(SHOAL_EFORMAT, "%s: %zu bytes in %zu lines, too few for %zu numbers in each",
                       r->src->path, r->src->len - s->begin, *rows, s->dim);
    return st;
}

static shoal_status name_rows(struct reading *r, size_t rows)
{
    struct word_list list = {.path = r->src->path, .text = r->src->at, .words = r->words, .n = rows};
    struct naming names;
    shoal_status st = naming_make(&names, &list);

    if (st == SHOAL_OK)
        st = vectors_keep(r->v, &names);
    naming_fini(&names);
    return st;
}

static shoal_status read_parts(struct reading *r, const struct shape *s, bool header)
{
    unsigned threads = vectors_threads(r->src->len);
    size_t rows;
    shoal_status st;

    r->parts = mem_array(threads, sizeof *r->parts);
    if (!r->parts)
        return SHOAL_ENOMEM;
    cut(r->parts, threads, r->src->at + s->begin, r->src->at + r->src->len);
    st = count_rows(r, threads, s, header, &rows);
    if (st == SHOAL_OK)
        st = vectors_new(&r->v, header ? SHOAL_FORMAT_TEXT : SHOAL_FORMAT_GLOVE, rows, s->dim,
                         SHOAL_F32);
    if (st == SHOAL_OK && !(r->words = mem_array(rows, sizeof *r->words)))
        st = SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        st = pool_run(threads, parse_part, r);
    return st == SHOAL_OK ? name_rows(r, rows) : st;
}

shoal_status vectors_text_read(shoal_vectors **out, const struct source *src, bool header)
{
    struct reading r = {.src = src};
    struct shape s;
    shoal_status st;

    if (header)
        vectors_text_header(src, &s.size, &s.dim, &s.begin);
    else
        guess_shape(&s, src, 0);
    r.dim = s.dim;
    st = read_parts(&r, &s, header);
    free(r.parts);
    free(r.words);
    *out = r.v;
    return st;
}

/* ---- writing ---- */

#define ROUND_BYTES ((size_t)1 << 21) /* of text that a thread makes at a time */

struct round {
    const struct saving *s;
    struct bytes *text; /* [threads] */
    size_t first, each; /* rows */
};

static shoal_status format_row(const struct saving *s, uint32_t id, float *row, struct bytes *b)
{
    const char *word = shoal_vectors_word(s->v, id);
    size_t len = strlen(word);
    shoal_status st = saving_row(s, id, row);

    if (st == SHOAL_OK)
        st = bytes_reserve(b, len + s->v->dim * (DECIMAL_MAX + 1) + 1);
    if (st != SHOAL_OK)
        return st;
    memcpy(b->at + b->len, word, len);
    b->len += len;
    for (size_t i = 0; i < s->v->dim; i++) {
        b->at[b->len++] = ' ';
        b->len += decimal_format(b->at + b->len, row[i]);
    }
    b->at[b->len++] = '\n';
    return SHOAL_OK;
}

static shoal_status format_rows(void *ctx, unsigned index)
{
    const struct round *r = ctx;
    size_t id = r->first + r->each * index, end = id + r->each;
    float *row = mem_array(r->s->v->dim, sizeof *row);
    shoal_status st = row ? SHOAL_OK : SHOAL_ENOMEM;

    r->text[index].len = 0;
    for (; id < end && id < r->s->n && st == SHOAL_OK; id++)
        st = format_row(r->s, (uint32_t)id, row, &r->text[index]);
    free(row);
    return st;
}

static shoal_status write_rows(const struct saving *s, struct output *o)
{
    unsigned threads = vectors_threads(s->n * s->v->dim * sizeof(float));
    struct round r = {s, mem_array(threads, sizeof *r.text), 0, 0};
    shoal_status st = r.text ? SHOAL_OK : SHOAL_ENOMEM;

    r.each = ROUND_BYTES / (s->v->dim * DECIMAL_MAX) + 1;
    for (; r.first < s->n && st == SHOAL_OK; r.first += r.each * threads) {
        st = pool_run(threads, format_rows, &r);
        for (unsigned i = 0; i < threads && st == SHOAL_OK; i++)
            st = output_write(o, r.text[i].at, r.text[i].len);
    }
    for (unsigned i = 0; r.text && i < threads; i++)
        bytes_fini(&r.text[i]);
    free(r.text);
    return st;
}

/* Whether each line would be a word and a count. */
static bool are_counts(const struct saving *s)
{
    for (uint32_t id = 0; id < s->n; id++) {
        char text[DECIMAL_MAX];
        size_t len;
        float x;

        if (saving_row(s, id, &x) != SHOAL_OK)
            return false;
        len = decimal_format(text, x);
        for (size_t i = 0; i < len; i++)
            if (text[i] < '0' || text[i] > '9')
                return false;
    }
    return true;
}

/* GloVe's words may hold spaces, but not where the line would be read
 * otherwise: at their ends, or before a number. Nor may its first line look
 * like the first line of word2vec. */
static shoal_status check_glove(const struct saving *s)
{
    shoal_status st = saving_check_words(s, "\t\n\v\f\r", "GloVe text");

    for (uint32_t id = 0; id < s->n && st == SHOAL_OK; id++) {
        const char *word = shoal_vectors_word(s->v, id);
        struct line rest = {word, word + strlen(word)}, whole = rest, field = last_field(&rest);

        if (*word == ' ' || field.end != whole.end || (field.at > word && is_number(field)))
            st = shoal_fail(SHOAL_EINVAL,
                            "%s: word %u, `%.80s`, would not be read back as it is: GloVe text "
                            "cannot carry it",
                            s->path, id + 1, word);
    }
    if (st == SHOAL_OK && s->v->dim == 1 &&
        strspn(shoal_vectors_word(s->v, 0), "0123456789") == strlen(shoal_vectors_word(s->v, 0)))
        st = shoal_fail(SHOAL_EINVAL,
                        "%s: word 1, `%.80s`, and one number would be read as the first line of "
                        "word2vec text",
                        s->path, shoal_vectors_word(s->v, 0));
    if (st == SHOAL_OK && s->v->dim == 1 && are_counts(s))
        st = shoal_fail(SHOAL_EINVAL,
                        "%s: words with one whole number each would be read as a vocabulary",
                        s->path);
    return st;
}

shoal_status vectors_text_save(const struct saving *s)
{
    shoal_status st =
        s->header ? saving_check_words(s, " \t\n\v\f\r", "word2vec text") : check_glove(s);
    struct output *o;
    char head[64];

    if (st == SHOAL_OK)
        st = output_open(&o, s->path);
    if (st != SHOAL_OK)
        return st;
    if (s->header)
        st = output_write(o, head,
                          (size_t)snprintf(head, sizeof head, "%zu %zu\n", s->n, s->v->dim));
    if (st == SHOAL_OK)
        st = write_rows(s, o);
    return output_end(o, st);
}
