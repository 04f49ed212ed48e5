/* Reading a suite. Analogies:             Pairs:
 *
 *     : capital-common-countries           # a comment
 *     Athens Greece Baghdad Iraq           Word 1,Word 2,Human (mean)
 *     Athens Greece Bangkok Thailand       tiger,cat,7.35
 *
 * The fields of a pair are separated by tabs, semicolons, commas or white
 * space, whichever comes first in this list and stands in the line; what people
 * said is the first number behind the two words. */
#include "eval/suite.h"

#include <math.h>
#include <stdlib.h>

#define LINE_MAX_BYTES 4096u

struct reader {
    shoal_eval *suite;
    const char *path;
    const char *at, *end;
    size_t number; /* of the line, from 1 */
    struct span line;
    bool headed; /* a list's line of titles is behind us */
    struct bytes word, upper;
};

/* ---- different strings ----------------------------------------------------------- */

struct span names_at(const struct names *t, uint32_t number)
{
    size_t from = t->offsets[number];

    return (struct span){t->arena.at + from, (uint32_t)(t->offsets[number + 1] - from - 1)};
}

/* The slot of a string, or the empty one where it belongs. */
static size_t slot_of(const struct names *t, const char *at, size_t len)
{
    size_t slot = word_key_of(at, len).hash & (t->index_size - 1);

    while (t->index[slot] != SHOAL_NO_ID) {
        struct span is = names_at(t, t->index[slot]);

        if (is.len == len && memcmp(is.at, at, len) == 0)
            break;
        slot = (slot + 1) & (t->index_size - 1);
    }
    return slot;
}

uint32_t names_find(const struct names *t, const char *at, size_t len)
{
    return t->n > 0 ? t->index[slot_of(t, at, len)] : SHOAL_NO_ID;
}

/* Room for one more with the index at most half full. */
static shoal_status names_reserve(struct names *t)
{
    size_t size = t->index_size ? 2 * t->index_size : 256;
    uint32_t *index;

    if (2 * (t->n + 1) <= t->index_size)
        return SHOAL_OK;
    index = mem_array(size, sizeof *index);
    if (!index)
        return SHOAL_ENOMEM;
    memset(index, 0xff, size * sizeof *index);
    free(t->index);
    t->index = index;
    t->index_size = size;
    for (uint32_t i = 0; i < t->n; i++) {
        struct span name = names_at(t, i);

        index[slot_of(t, name.at, name.len)] = i;
    }
    return SHOAL_OK;
}

/* The arena keeps KEY_PAD bytes in reserve for word_key_of. */
static shoal_status names_append(struct names *t, const char *at, size_t len)
{
    shoal_status st =
        mem_grow((void **)&t->offsets, &t->offsets_cap, t->n + 2, sizeof *t->offsets);

    if (st == SHOAL_OK)
        st = bytes_reserve(&t->arena, len + 1 + KEY_PAD);
    if (st == SHOAL_OK)
        st = bytes_add(&t->arena, at, len);
    if (st == SHOAL_OK)
        st = bytes_add(&t->arena, "", 1);
    if (st != SHOAL_OK)
        return st;
    t->offsets[0] = 0;
    t->offsets[++t->n] = t->arena.len;
    return SHOAL_OK;
}

shoal_status names_add(struct names *t, const char *at, size_t len, uint32_t *number)
{
    shoal_status st = names_reserve(t);
    size_t slot;

    if (st != SHOAL_OK)
        return st;
    slot = slot_of(t, at, len);
    if (t->index[slot] == SHOAL_NO_ID) {
        st = names_append(t, at, len);
        if (st != SHOAL_OK)
            return st;
        t->index[slot] = (uint32_t)(t->n - 1);
    }
    *number = t->index[slot];
    return SHOAL_OK;
}

void names_fini(struct names *t)
{
    bytes_fini(&t->arena);
    free(t->offsets);
    free(t->index);
    *t = (struct names){0};
}

/* ---- lines ----------------------------------------------------------------------- */

static bool is_white(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct span trimmed(struct span s)
{
    while (s.len > 0 && is_white(s.at[0]))
        s.at++, s.len--;
    while (s.len > 0 && is_white(s.at[s.len - 1]))
        s.len--;
    return s;
}

/* The next line that says something, without white space around it. */
static shoal_status next_line(struct reader *r, bool *more)
{
    const char *line;
    size_t len;

    *more = false;
    while (line_next(&r->at, r->end, &line, &len)) {
        r->number++;
        if (len > LINE_MAX_BYTES)
            return shoal_fail(SHOAL_EFORMAT, "%s: line %zu has %zu bytes, want at most %u",
                              r->path, r->number, len, LINE_MAX_BYTES);
        r->line = trimmed((struct span){line, (uint32_t)len});
        if (r->line.len > 0 && r->line.at[0] != '#') {
            *more = true;
            return SHOAL_OK;
        }
    }
    return SHOAL_OK;
}

/* Cuts s into at most cap fields and gives how many there are. A separator of
 * ' ' is any white space, however much of it. */
static size_t split(struct span s, char by, struct span *fields, size_t cap)
{
    const char *at = s.at, *end = s.at + s.len;
    size_t n = 0;

    while (at < end) {
        const char *from = at;

        while (at < end && (by == ' ' ? !is_white(*at) : *at != by))
            at++;
        if (n < cap)
            fields[n] = trimmed((struct span){from, (uint32_t)(at - from)});
        n++;
        at += at < end;
        while (by == ' ' && at < end && is_white(*at))
            at++;
    }
    return n;
}

/* Digits with a point and an exponent: no infinity, no hexadecimal. */
static bool number_of(struct span s, double *out)
{
    char text[LINE_MAX_BYTES + 1], *end;

    memcpy(text, s.at, s.len);
    text[s.len] = '\0';
    *out = number_read(text, &end);
    return s.len > 0 && !*end && isfinite(*out) && strspn(text, "0123456789.eE+-") == s.len;
}

/* ---- words ----------------------------------------------------------------------- */

static shoal_status add_word(struct reader *r, struct span word, uint32_t *number)
{
    shoal_eval *e = r->suite;
    size_t before = e->plain.n;
    shoal_status st;

    r->word.len = 0;
    st = bytes_reserve(&r->word, word.len + KEY_PAD);
    if (st == SHOAL_OK)
        st = bytes_add(&r->word, word.at, word.len);
    if (st == SHOAL_OK)
        st = names_add(&e->plain, r->word.at, word.len, number);
    if (st != SHOAL_OK || e->plain.n == before)
        return st;
    st = clean_upper(word.at, word.len, &r->upper);
    if (st == SHOAL_OK)
        st = mem_grow((void **)&e->upper_of, &e->upper_cap, before + 1, sizeof *e->upper_of);
    return st == SHOAL_OK ? names_add(&e->upper, r->upper.at, r->upper.len, &e->upper_of[before])
                          : st;
}

/* ---- pairs ----------------------------------------------------------------------- */

/* The field of the number; 0 when the line is no pair. */
static size_t pair_shape(struct span line, struct span *fields, size_t cap, double *said)
{
    static const char separators[] = "\t;, ";
    const char *by = separators;
    size_t n;

    while (*by != ' ' && !memchr(line.at, *by, line.len))
        by++;
    n = split(line, *by, fields, cap);
    if (n < 3 || fields[0].len == 0 || fields[1].len == 0)
        return 0;
    for (size_t i = 2; i < n && i < cap; i++)
        if (number_of(fields[i], said))
            return i;
    return 0;
}

static shoal_status read_pair(struct reader *r)
{
    shoal_eval *e = r->suite;
    struct pair pair;
    struct span fields[16];
    double first, second;
    shoal_status st;

    if (pair_shape(r->line, fields, 16, &pair.said) == 0) {
        if (e->npairs > 0 || r->headed)
            return shoal_fail(SHOAL_EFORMAT, "%s: line %zu is not two words and a number",
                              r->path, r->number);
        r->headed = true;
        return SHOAL_OK;
    }
    if (number_of(fields[0], &first) && number_of(fields[1], &second))
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: line %zu begins with two numbers, want two words and a number",
                          r->path, r->number);
    st = add_word(r, fields[0], &pair.word[0]);
    if (st == SHOAL_OK)
        st = add_word(r, fields[1], &pair.word[1]);
    if (st == SHOAL_OK)
        st = mem_grow((void **)&e->pairs, &e->pairs_cap, e->npairs + 1, sizeof *e->pairs);
    if (st == SHOAL_OK)
        e->pairs[e->npairs++] = pair;
    return st;
}

/* ---- analogies ------------------------------------------------------------------- */

static shoal_status begin_section(struct reader *r, struct span name)
{
    shoal_eval *e = r->suite;
    struct topic *s;
    shoal_status st;

    if (name.len == 0)
        return shoal_fail(SHOAL_EFORMAT, "%s: line %zu: the section has no name", r->path,
                          r->number);
    st = mem_grow((void **)&e->topics, &e->topics_cap, e->ntopics + 1, sizeof *e->topics);
    if (st != SHOAL_OK)
        return st;
    s = &e->topics[e->ntopics++];
    *s = (struct topic){.end = e->nquestions};
    /* Cut before a character, not within one. */
    if (name.len >= sizeof s->name)
        for (name.len = sizeof s->name - 1; (name.at[name.len] & 0xc0) == 0x80; name.len--)
            ;
    memcpy(s->name, name.at, name.len);
    return SHOAL_OK;
}

static shoal_status read_question(struct reader *r)
{
    shoal_eval *e = r->suite;
    struct span words[4];
    struct question q;
    size_t n;
    shoal_status st = SHOAL_OK;

    if (r->line.at[0] == ':')
        return begin_section(r, trimmed((struct span){r->line.at + 1, r->line.len - 1}));
    n = split(r->line, ' ', words, 4);
    if (n != 4)
        return shoal_fail(SHOAL_EFORMAT, "%s: line %zu has %zu word%s, want 4", r->path,
                          r->number, n, n == 1 ? "" : "s");
    if (e->ntopics == 0)
        st = begin_section(r, (struct span){"questions", 9});
    for (int i = 0; i < 4 && st == SHOAL_OK; i++)
        st = add_word(r, words[i], &q.word[i]);
    if (st == SHOAL_OK)
        st = mem_grow((void **)&e->questions, &e->questions_cap, e->nquestions + 1,
                      sizeof *e->questions);
    if (st != SHOAL_OK)
        return st;
    e->questions[e->nquestions++] = q;
    e->topics[e->ntopics - 1].end = e->nquestions;
    return SHOAL_OK;
}

/* ---- the file -------------------------------------------------------------------- */

/* By the first two lines, for a list may have titles. */
static shoal_status recognise(struct reader r, enum shoal_suite *kind)
{
    struct span fields[16], first;
    bool more;
    double said;
    shoal_status st = next_line(&r, &more);
    size_t number = r.number;

    *kind = SHOAL_ANALOGIES;
    if (st != SHOAL_OK || !more || r.line.at[0] == ':')
        return st;
    first = r.line;
    *kind = SHOAL_PAIRS;
    if (pair_shape(first, fields, 16, &said))
        return SHOAL_OK;
    st = next_line(&r, &more);
    if (st != SHOAL_OK || (more && pair_shape(r.line, fields, 16, &said)))
        return st;
    *kind = SHOAL_ANALOGIES;
    if (split(first, ' ', fields, 16) == 4)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EFORMAT,
                      "%s: line %zu is no `: section`, no four words and no pair with a number",
                      r.path, number);
}

static shoal_status check_text(const struct reader *r)
{
    size_t len = (size_t)(r->end - r->at), bad = clean_find_bad(r->at, len), line = 1;

    if (bad == len)
        return SHOAL_OK;
    for (size_t i = 0; i < bad; i++)
        line += r->at[i] == '\n';
    return shoal_fail(SHOAL_EFORMAT, "%s: line %zu: byte 0x%02x is no text, want UTF-8", r->path,
                      line, (unsigned char)r->at[bad]);
}

static shoal_status read_all(struct reader *r)
{
    shoal_eval *e = r->suite;
    bool more = true;
    shoal_status st = check_text(r);

    if (st == SHOAL_OK)
        st = recognise(*r, &e->kind);
    while (st == SHOAL_OK) {
        st = next_line(r, &more);
        if (st != SHOAL_OK || !more)
            break;
        st = e->kind == SHOAL_PAIRS ? read_pair(r) : read_question(r);
    }
    if (st == SHOAL_OK && e->nquestions == 0 && e->npairs == 0)
        return shoal_fail(SHOAL_EFORMAT, "%s: found no question in %zu line%s", r->path,
                          r->number, r->number == 1 ? "" : "s");
    return st;
}

shoal_status questions_read(shoal_eval *e, const char *path, const char *at, size_t len)
{
    static const char mark[] = "\xef\xbb\xbf"; /* some editors begin a file so */
    struct reader r = {.suite = e, .path = path, .at = at, .end = at + len};
    shoal_status st;

    if (len >= 3 && memcmp(at, mark, 3) == 0)
        r.at += 3;
    st = read_all(&r);
    bytes_fini(&r.word);
    bytes_fini(&r.upper);
    return st;
}
