/* A sample of a table. A large file is not read twice to say what its columns are: some 64 KiB of
 * each of 32 places all over it are enough, or where rows are long some 8 rows, and do not depend
 * on its order. */
#include "columns/preview.h"

#include <stdlib.h>

enum {
    ALIGN_TRIES = 64,
    ROWS_WANTED = 256, /* where rows are long */
    LINE_PART = 1 << 16,
};

void preview_fini(struct preview *l)
{
    bytes_fini(&l->text);
    bytes_fini(&l->room);
    free(l->block);
    free(l->field);
    free(l->name);
    *l = (struct preview){0};
}

/* ---- text ---- */

static shoal_status add_block(struct preview *l, size_t from, bool begins, bool ends)
{
    shoal_status st = mem_grow(&l->block, &l->cap, l->blocks + 1, sizeof *l->block);

    if (st == SHOAL_OK && begins) { /* a byte-order mark is no text */
        struct bytes head = {.at = l->text.at + from, .len = l->text.len - from};

        l->text.len -= input_drop_mark(&head);
    }
    if (st == SHOAL_OK)
        l->block[l->blocks++] = (struct preview_block){from, l->text.len - from, begins, ends};
    l->all &= ends;
    return st;
}

/* Up to `want` bytes of a stream. */
static shoal_status read_block(struct preview *l, struct stream *s, size_t want, bool begins)
{
    size_t from = l->text.len, got = 0, left = stream_left(s);
    char one;
    shoal_status st;

    want = left < want ? left : want;
    st = bytes_reserve(&l->text, want + FIELD_PAD);
    if (st == SHOAL_OK)
        st = stream_read(s, l->text.at + from, want, &got);
    l->text.len += got;
    if (st == SHOAL_OK && got == want) { /* is there more? */
        st = stream_read(s, &one, 1, &got);
        return st == SHOAL_OK ? add_block(l, from, begins, got == 0) : st;
    }
    return st == SHOAL_OK ? add_block(l, from, begins, true) : st;
}

/* `n` places of one input from the k-th of PREVIEW_PLACES on, if it can be read anywhere; else as
 * much of its beginning. */
static shoal_status read_places(struct preview *l, const struct input *in, uint64_t first,
                                uint64_t step, size_t n)
{
    struct stream *s = NULL;
    shoal_status st = stream_open_input(&s, in);
    size_t bytes = l->most / PREVIEW_PLACES;
    bool plain = st == SHOAL_OK && stream_plain(s);

    if (st == SHOAL_OK && !plain) {
        st = read_block(l, s, n * bytes, true);
        n = 0;
    }
    for (size_t k = 0; k < n && st == SHOAL_OK; k++) {
        uint64_t at = first + k * step;

        if (at > 0)
            st = stream_seek(s, at);
        if (st == SHOAL_OK)
            st = read_block(l, s, bytes, at == 0);
    }
    l->all = false;
    stream_close(s);
    return st;
}

static shoal_status read_whole(struct preview *l, const struct input *in)
{
    struct stream *s = NULL;
    shoal_status st = stream_open_input(&s, in);
    size_t left = l->text.len < l->most ? l->most - l->text.len : 0;

    if (st == SHOAL_OK)
        st = read_block(l, s, left, true);
    stream_close(s);
    return st;
}

/* How long the first line is, as far as that is of interest. */
static shoal_status measure_line(const struct input *in, size_t *len)
{
    char *part = mem_array(LINE_PART, 1);
    struct stream *s = NULL;
    shoal_status st = part ? stream_open_input(&s, in) : SHOAL_ENOMEM;
    bool more = true;

    *len = 0;
    while (st == SHOAL_OK && more && *len < COLUMNS_LOOK_WIDE / ROWS_WANTED) {
        size_t got = 0;
        const char *line;

        st = stream_read(s, part, LINE_PART, &got);
        line = st == SHOAL_OK ? memchr(part, '\n', got) : NULL;
        *len += line ? (size_t)(line - part) : got;
        more = got == LINE_PART && !line;
    }
    stream_close(s);
    free(part);
    return st;
}

static shoal_status choose_most(struct preview *l, const struct inputs *in)
{
    size_t i = 0, len = 0;
    shoal_status st = SHOAL_OK;

    while (i < in->len && (!in->at[i].regular || in->at[i].size == 0))
        i++;
    if (i < in->len)
        st = measure_line(&in->at[i], &len);
    l->most = ROWS_WANTED * len < COLUMNS_PREVIEW     ? COLUMNS_PREVIEW
              : ROWS_WANTED * len < COLUMNS_LOOK_WIDE ? ROWS_WANTED * len
                                                      : COLUMNS_LOOK_WIDE;
    return st;
}

shoal_status preview_inputs(struct preview *l, const struct inputs *in)
{
    bool once;
    uint64_t total = inputs_bytes(in, 0, in->len, &once), before = 0;
    uint64_t step = total / PREVIEW_PLACES;
    shoal_status st = choose_most(l, in);

    l->all = !once;
    for (size_t i = 0; i < in->len && st == SHOAL_OK; i++) {
        const struct input *one = &in->at[i];
        uint64_t first =
            step > 0 ? (before + step - 1) / step * step : 0; /* place behind `before` */
        uint64_t end = before + one->size;

        if (!one->regular || one->size == 0) {
            before = end;
            continue;
        }
        if (total <= l->most)
            st = read_whole(l, one);
        else if (l->blocks == 0 || first < end) {
            /* The first one's beginning has the names. */
            uint64_t from = l->blocks == 0 ? 0 : first - before;
            size_t n = (size_t)((one->size - from + step - 1) / step);

            st = read_places(l, one, from, step, n < PREVIEW_PLACES ? n : PREVIEW_PLACES);
        }
        before = end;
    }
    return st;
}

shoal_status preview_head(struct preview *l, const char *head, size_t len, bool whole)
{
    struct input one = {
        .path = (char *)(uintptr_t) "text", .data = head, .size = len, .regular = true};
    struct inputs in = {.at = &one, .len = 1};
    shoal_status st = preview_inputs(l, &in);

    for (size_t i = 0; i < l->blocks && !whole; i++)
        l->block[i].ends = false;
    l->all &= whole;
    return st;
}

/* ---- fields ---- */

/* The fields of a record, counted, and kept in `to` when there are `want` of them, where `to` is
 * not NULL; 0: its quotes are wrong. */
static size_t cut_record(struct preview *l, const struct dialect *d, const char *at,
                         const char *end, struct span *to, size_t want)
{
    size_t n = 0, room = l->room.len;

    for (; at && at <= end; at = at ? at + 1 : NULL) {
        struct span f;

        at = field_next(d, &l->room, at, end, &f);
        if (to && at && n < want)
            to[n] = f;
        n++;
    }
    n = at ? n : 0;
    if (!to || n != want) /* nobody keeps what points there */
        l->room.len = room;
    return n;
}

/* A record of as many fields as the first has; others are for who parses it all to judge. */
static shoal_status take_record(struct preview *l, const struct dialect *d, const char *at,
                                const char *end)
{
    size_t have = l->rows * l->n;
    shoal_status st = mem_grow(&l->field, &l->fields_cap, have + l->n, sizeof *l->field);

    if (st == SHOAL_OK && cut_record(l, d, at, end, l->field + have, l->n) == l->n)
        l->rows++;
    return st;
}

/* Where the first record begins in a block that may begin within one: behind a newline after
 * which a record of the right length stands. NULL: nowhere. */
static const char *align(struct preview *l, const struct dialect *d, const char *at,
                         const char *end)
{
    for (unsigned i = 0; i < ALIGN_TRIES; i++) {
        const char *line = memchr(at, '\n', (size_t)(end - at)), *stop;
        bool inside = false;

        if (!line || line + 1 >= end)
            return NULL;
        at = line + 1;
        stop = record_end(d, at, end, &inside);
        if (stop < end && cut_record(l, d, at, record_text_end(at, stop), NULL, 0) == l->n)
            return at;
    }
    return NULL;
}

bool preview_is_first(const struct preview *l, const struct span *f)
{
    for (size_t i = 0; i < l->n; i++)
        if (f[i].len != l->name[i].len || memcmp(f[i].at, l->name[i].at, f[i].len) != 0)
            return false;
    return true;
}

static shoal_status cut_block(struct preview *l, const struct dialect *d,
                              const struct preview_block *b, bool first)
{
    const char *at = l->text.at + b->at, *end = at + b->len;
    bool names = d->header && b->begins;
    shoal_status st = SHOAL_OK;

    if (!b->begins)
        at = align(l, d, at, end);
    while (st == SHOAL_OK && at && at < end) {
        bool inside = false;
        const char *line = record_end(d, at, end, &inside), *stop = record_text_end(at, line);
        size_t before = l->rows;

        if (line == end && (inside || !b->ends))
            break;
        if (!record_is_blank(d, at, stop))
            st = take_record(l, d, at, stop);
        if (st == SHOAL_OK && names && l->rows > before &&
            (first || preview_is_first(l, l->field + before * l->n)))
            l->rows = before;
        names &= l->rows == before && record_is_blank(d, at, stop);
        at = line + 1;
    }
    return st;
}

/* The first record that is not empty; its fields into `name`. */
static shoal_status cut_first(struct preview *l, const struct dialect *d, const char *path)
{
    const char *at = l->blocks ? l->text.at : "", *end = l->blocks ? at + l->block[0].len : at;
    const char *line, *stop;
    bool inside = false, ends = l->blocks && l->block[0].ends;

    for (; at < end && (*at == '\n' || *at == '\r'); at++)
        ;
    line = record_end(d, at, end, &inside);
    stop = record_text_end(at, line);
    if (at == end)
        return shoal_fail(SHOAL_EFORMAT, "%s: found no line, want rows", path);
    if (line == end && !ends)
        return shoal_fail(SHOAL_EFORMAT, "%s:1: its first line has over %zu bytes, want fewer",
                          path, (size_t)(end - at));
    l->n = cut_record(l, d, at, stop, NULL, 0);
    if (l->n == 0)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s:1: found a quote at a wrong place, want quotes around "
                          "whole fields",
                          path);
    if (l->n > COLUMNS_MAX)
        return shoal_fail(SHOAL_ELIMIT, "%s:1: has over %zu columns, want fewer", path,
                          COLUMNS_MAX);
    l->name = mem_array(l->n, sizeof *l->name);
    if (!l->name)
        return SHOAL_ENOMEM;
    cut_record(l, d, at, stop, l->name, l->n);
    return SHOAL_OK;
}

shoal_status preview_fields(struct preview *l, const struct dialect *d, const char *path)
{
    shoal_status st;

    free(l->name);
    l->name = NULL;
    l->rows = 0;
    l->room.len = 0;
    /* Fields point into it, so it may not move: the names are cut once more than the others. */
    st = bytes_reserve(&l->room, 2 * l->text.len + FIELD_PAD);
    if (st == SHOAL_OK)
        st = cut_first(l, d, path);
    for (size_t i = 0; i < l->blocks && st == SHOAL_OK; i++)
        st = cut_block(l, d, &l->block[i], i == 0);
    return st;
}
