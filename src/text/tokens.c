/* Lines of a block, and their tokens, as fastText cuts them. */
#include "text/text.h"

#include <stdlib.h>
#include <string.h>

/* Space, \t, \n, \v, \f, \r and NUL. */
static bool separates(char c)
{
    return (unsigned char)c <= ' ' && (c == ' ' || (c >= '\t' && c <= '\r') || c == '\0');
}

bool token_next(const char **at, const char *end, struct span *out)
{
    const char *from = *at;

    while (from < end && separates(*from))
        from++;
    *at = from;
    while (*at < end && !separates(**at))
        (*at)++;
    *out = (struct span){from, (uint32_t)(*at - from)};
    return out->len > 0;
}

void line_walk_begin(struct line_walk *w, const struct line_reading *r, const struct line_block *b)
{
    w->reading = r;
    w->block = b;
    w->at = b->text.at;
    w->line = b->line;
}

void line_walk_fini(struct line_walk *w)
{
    bytes_fini(&w->room);
    bytes_fini(&w->raw);
    *w = (struct line_walk){0};
}

/* ---- tokens ---- */

static bool is_label(const struct line_reading *r, struct span token)
{
    size_t n = strlen(r->prefix);

    if (n > 0 && token.len >= n && memcmp(token.at, r->prefix, n) == 0)
        return true;
    return r->labels && shoal_vocab_find(r->labels, token.at, token.len) != SHOAL_NO_ID;
}

static bool is_end(struct span token)
{
    return token.len == sizeof LINE_END - 1 && memcmp(token.at, LINE_END, token.len) == 0;
}

/* The words of what is no label, cleaned all at once. */
static shoal_status tell_cleaned(struct line_walk *w, const struct token_sink *to)
{
    static const struct rules rules = {SHOAL_TOKENS_WORDS, SHOAL_BAD_SPACE, false};
    struct block cleaned = {.last = true};
    struct span *words = NULL;
    size_t n = 0;
    shoal_status st = text_words(w->raw.at, w->raw.len, &rules, &cleaned, &words, &n);

    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        if (words[i].len > 0)
            st = to->word(to->ctx, words[i]);
    free(words);
    block_fini(&cleaned);
    return st;
}

static shoal_status put_raw(struct line_walk *w, struct span token)
{
    shoal_status st = bytes_add(&w->raw, token.at, token.len);

    return st == SHOAL_OK ? bytes_add(&w->raw, " ", 1) : st;
}

/* Behind the word that ends lines nothing counts. */
shoal_status line_walk_text(struct line_walk *w, struct span text, const struct token_sink *to)
{
    const char *at = text.at, *end = text.at + text.len;
    shoal_status st = SHOAL_OK;
    struct span token;

    w->raw.len = 0;
    while (st == SHOAL_OK && token_next(&at, end, &token) && !is_end(token)) {
        if (is_label(w->reading, token))
            st = to->label ? to->label(to->ctx, token) : SHOAL_OK;
        else if (w->reading->clean)
            st = put_raw(w, token);
        else
            st = to->word(to->ctx, token);
    }
    return st == SHOAL_OK && w->raw.len > 0 ? tell_cleaned(w, to) : st;
}

/* ---- lines ---- */

static shoal_status bad_record(const struct line_walk *w, const char *found, size_t fields)
{
    return shoal_fail(SHOAL_EFORMAT, "%s:%llu: found %s, want %zu fields", w->block->name,
                      (unsigned long long)w->line, found, fields);
}

/* A quoted field lies in `room` until the next one: the label is told before the text is cut. */
static shoal_status tell_record(struct line_walk *w, const char *end, const struct token_sink *to)
{
    const struct line_table *t = &w->block->table;
    const char *at = w->at;
    struct span field;
    shoal_status st = SHOAL_OK;

    w->room.len = 0;
    for (size_t i = 0; i < t->fields && st == SHOAL_OK; i++) {
        at = field_next(&t->dialect, &w->room, at, end, &field);
        if (!at)
            return bad_record(w, "quotes within a field", t->fields);
        if (i == t->text)
            st = line_walk_text(w, field, to);
        if (i == t->label && field.len > 0 && to->label) {
            if (memchr(field.at, '\0', field.len)) /* names end with one */
                return shoal_fail(SHOAL_EFORMAT, "%s:%llu: found a NUL in the label, want text",
                                  w->block->name, (unsigned long long)w->line);
            st = to->label(to->ctx, field);
        }
        if (st == SHOAL_OK && at == end && i + 1 < t->fields)
            return bad_record(w, "fewer fields", t->fields);
        at += at < end;
    }
    return st;
}

static shoal_status next_record(struct line_walk *w, const struct token_sink *to, bool *more)
{
    const struct dialect *d = &w->block->table.dialect;
    const char *end = w->block->text.at + w->block->text.len, *stop = w->at, *last;
    bool inside = false;
    shoal_status st = SHOAL_OK;

    for (;;) {
        stop = record_end(d, w->at, end, &inside);
        last = record_text_end(w->at, stop);
        if (stop == end || !record_is_blank(d, w->at, last))
            break;
        w->at = stop + 1;
        w->line++;
    }
    *more = w->at < end;
    if (!*more)
        return SHOAL_OK;
    if (inside)
        return bad_record(w, "a quote that never ends", w->block->table.fields);
    st = bytes_reserve(&w->room, (size_t)(stop - w->at) + FIELD_PAD);
    if (st == SHOAL_OK)
        st = tell_record(w, last, to);
    for (const char *at = w->at; at < stop; at++)
        w->line += *at == '\n';
    w->line++;
    w->at = stop < end ? stop + 1 : end;
    return st;
}

shoal_status line_walk_next(struct line_walk *w, const struct token_sink *to, bool *more)
{
    const char *end = w->block->text.at + w->block->text.len, *line;

    if (w->block->table.fields > 0)
        return next_record(w, to, more);
    *more = w->at < end;
    if (!*more)
        return SHOAL_OK;
    line = w->at;
    w->at = memchr(line, '\n', (size_t)(end - line));
    w->at = w->at ? w->at + 1 : end;
    return line_walk_text(w, (struct span){line, (uint32_t)(w->at - line)}, to);
}
