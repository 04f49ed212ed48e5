/* CSV: fields between commas below a line of names; quotes as RFC 4180 has them. A record
 * ends at the first newline outside of quotes, so a quote that stands alone takes the next
 * lines with it, up to the next one. */
#include "sparse/rows.h"

#include <stdio.h>
#include <stdlib.h>

#define SAMPLE_ROWS 1000u /* whose fields say which columns are numbers */
#define COLUMNS_MAX ((size_t)1 << 20)

struct click_csv_column {
    char *name;
    size_t len;
    uint64_t number_hash;   /* of the feature `name` */
    uint64_t category_seed; /* of the features `name=value` */
    bool numeric, label;
};

/* ---- records ---- */

/* Bit i: an odd number of the bits 0 .. i is set. Of the mask of quotes these are the bytes
 * between an opening and a closing quote: a doubled quote leaves and enters again (a prefix
 * xor, as in simdjson). */
static unsigned odd_upto(unsigned bits)
{
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    return bits & 0xffff;
}

/* The newlines outside of quotes among the next 16 bytes, of which `left` count. */
static unsigned ends_in(const char *at, size_t left, bool *inside)
{
    unsigned count = left < 16 ? (1u << left) - 1 : 0xffff;
    unsigned lines = click_bytes_equal(at, '\n') & count,
             quotes = click_bytes_equal(at, '"') & count;
    unsigned within = odd_upto(quotes) ^ (*inside ? 0xffff : 0);

    *inside = within >> 15;
    return lines & ~within;
}

const char *click_csv_record_end(const char *at, const char *end, bool *inside)
{
    for (; at < end; at += 16) {
        unsigned ends = ends_in(at, (size_t)(end - at), inside);

        if (ends)
            return at + __builtin_ctz(ends);
    }
    return end;
}

const char *click_csv_last_end(const char *at, const char *end, bool *inside)
{
    const char *last = at;

    for (; at < end; at += 16) {
        unsigned ends = ends_in(at, (size_t)(end - at), inside);

        if (ends)
            last = at + 32 - __builtin_clz(ends);
    }
    return last;
}

/* ---- fields ---- */

/* The field between quotes that begins at `at`, without them; NULL when what follows it
 * is no comma. A doubled quote is one. */
static const char *quoted_field(struct bytes *room, const char *at, const char *end,
                                struct span *out)
{
    const char *quote = memchr(at + 1, '"', (size_t)(end - at - 1));
    size_t from = room->len;

    at++;
    *out = (struct span){at, quote ? (uint32_t)(quote - at) : 0};
    while (quote && quote + 1 < end && quote[1] == '"') {
        memcpy(room->at + room->len, at, (size_t)(quote + 1 - at));
        room->len += (size_t)(quote + 1 - at);
        at = quote + 2;
        quote = memchr(at, '"', (size_t)(end - at));
    }
    if (!quote)
        return NULL;
    if (room->len > from) {
        memcpy(room->at + room->len, at, (size_t)(quote - at));
        room->len += (size_t)(quote - at);
        *out = (struct span){room->at + from, (uint32_t)(room->len - from)};
    }
    for (at = quote + 1; at < end && is_blank(*at); at++)
        ;
    return at == end || *at == ',' ? at : NULL;
}

/* The end of a plain field: a comma or the record's end; NULL at a quote. */
static const char *plain_field(const char *at, const char *end, struct span *out)
{
    const char *begin = at;
    unsigned mask = 0;

    while (at < end && (mask = click_bytes_equal(at, ',') | click_bytes_equal(at, '"')) == 0)
        at += 16;
    at = at < end ? at + __builtin_ctz(mask) : end;
    at = at < end ? at : end;
    if (at < end && *at == '"')
        return NULL;
    *out = (struct span){begin, (uint32_t)(at - begin)};
    while (out->len > 0 && is_blank(out->at[out->len - 1]))
        out->len--;
    return at;
}

/* The field at `at`, without blanks around it, and where it ends; NULL when its quotes
 * are wrong. */
static inline const char *next_field(struct bytes *room, const char *at, const char *end,
                                     struct span *out)
{
    while (at < end && is_blank(*at))
        at++;
    return at < end && *at == '"' ? quoted_field(room, at, end, out) : plain_field(at, end, out);
}

/* ---- rows ---- */

static void take_field(const struct click_format *w, struct click_batch *b,
                       const struct click_csv_column *c, struct span f)
{
    float x;

    if (f.len == 0)
        return;
    if (c->numeric && decimal_parse(f.at, f.at + f.len, &x) == f.at + f.len && x - x == 0) {
        if (b->names)
            *click_name_next(b) = (struct click_name){.at = c->name, .len = (uint32_t)c->len};
        click_feature_push(w, b, c->number_hash, x);
        return;
    }
    if (b->names)
        *click_name_next(b) = (struct click_name){.space = c->name,
                                                  .space_len = (uint32_t)c->len,
                                                  .join = '=',
                                                  .at = f.at,
                                                  .len = (uint32_t)f.len};
    click_feature_push(w, b, click_hash(c->category_seed, f.at, f.len), 1);
}

bool click_csv_row(const struct click_format *w, struct click_batch *b, const char *at,
                   const char *end)
{
    struct span f;

    b->unquoted.len = 0;
    for (size_t i = 0; i < w->ncolumns; i++) {
        const struct click_csv_column *c = &w->columns[i];

        if (at > end)
            return click_line_bad(b, "found %zu columns, want %zu", i, w->ncolumns);
        at = next_field(&b->unquoted, at, end, &f);
        if (!at)
            return click_line_bad(b, "column %zu has a quote at a wrong place", i + 1);
        if (!c->label)
            take_field(w, b, c, f);
        else if (!click_label(w, b, f.at, f.len))
            return false;
        at++;
    }
    return at > end ||
           click_line_bad(b, "found more than %zu columns, want that many", w->ncolumns);
}

/* ---- the line of names ---- */

void click_csv_fini(struct click_format *w)
{
    for (size_t i = 0; i < w->ncolumns; i++)
        free(w->columns[i].name);
    free(w->columns);
    bytes_fini(&w->header);
    free(w->label);
    free(w->numeric);
}

static shoal_status add_column(struct click_format *w, size_t *cap, const char *path, struct span f)
{
    struct click_csv_column *c;
    shoal_status st;

    if (memchr(f.at, ',', f.len) || memchr(f.at, '\n', f.len) || memchr(f.at, '\0', f.len))
        return shoal_fail(SHOAL_EFORMAT,
                          "%s:1: the name of column %zu, \"%s\", has a comma, a newline or a NUL, "
                          "want none",
                          path, w->ncolumns + 1, click_quote(f.at, f.len).text);
    if (w->ncolumns == COLUMNS_MAX)
        return shoal_fail(SHOAL_ELIMIT, "%s:1: has over %zu columns, want fewer", path,
                          COLUMNS_MAX);
    st = mem_grow(&w->columns, cap, w->ncolumns + 1, sizeof *w->columns);
    if (st != SHOAL_OK)
        return st;
    c = &w->columns[w->ncolumns];
    *c = (struct click_csv_column){.name = strndup(f.at, f.len), .len = f.len};
    if (!c->name)
        return shoal_fail(SHOAL_ENOMEM, "memory: no room for %u bytes", f.len);
    c->number_hash = click_hash(click_seed(CLICK_SEED_NUMBER), f.at, f.len);
    c->category_seed = click_hash(click_seed(CLICK_SEED_CATEGORY), f.at, f.len);
    w->ncolumns++;
    return SHOAL_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct click_csv_column *const *)a)->name,
                  (*(const struct click_csv_column *const *)b)->name);
}

static shoal_status check_once(const struct click_format *w, const char *path)
{
    const struct click_csv_column **order = mem_array(w->ncolumns, sizeof *order);
    shoal_status st = order ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = 0; i < w->ncolumns && st == SHOAL_OK; i++)
        order[i] = &w->columns[i];
    if (st == SHOAL_OK)
        qsort(order, w->ncolumns, sizeof *order, by_name);
    for (size_t i = 1; i < w->ncolumns && st == SHOAL_OK; i++)
        if (strcmp(order[i - 1]->name, order[i]->name) == 0)
            st = shoal_fail(SHOAL_EFORMAT, "%s:1: column \"%s\" is there twice, want once", path,
                            click_quote(order[i]->name, order[i]->len).text);
    free(order);
    return st;
}

/* Looks at column `from` first and at those before it last: lists mostly have the order of
 * the columns. */
static struct click_csv_column *find_column(const struct click_format *w, size_t from,
                                            const char *name, size_t len)
{
    for (size_t i = 0; i < w->ncolumns; i++) {
        struct click_csv_column *c = &w->columns[(from + i) % w->ncolumns];

        if (c->len == len && memcmp(c->name, name, len) == 0)
            return c;
    }
    return NULL;
}

static shoal_status read_names(struct click_format *w, const char *path, const char *at,
                               const char *end)
{
    struct bytes room = {0};
    size_t cap = 0;
    struct span f;
    shoal_status st = bytes_reserve(&room, (size_t)(end - at) + CLICK_PAD);

    for (; at <= end && st == SHOAL_OK; at++) {
        at = next_field(&room, at, end, &f);
        if (!at)
            st = shoal_fail(SHOAL_EFORMAT,
                            "%s:1: the name of column %zu has a quote at a wrong place", path,
                            w->ncolumns + 1);
        else
            st = add_column(w, &cap, path, f);
        if (st != SHOAL_OK)
            break;
    }
    bytes_fini(&room);
    return st == SHOAL_OK ? check_once(w, path) : st;
}

/* ---- which column is what ---- */

static shoal_status choose_label(struct click_format *w, const char *given, const char *path)
{
    static const char *const usual[] = {"label", "click", "target", "y"};
    struct click_csv_column *c = NULL;

    if (given) {
        c = find_column(w, 0, given, strlen(given));
        if (!c && !w->unlabelled)
            return shoal_fail(SHOAL_EFORMAT, "%s:1: found no column \"%s\", want it for the label",
                              path, click_quote(given, strlen(given)).text);
    } else {
        for (size_t i = 0; i < sizeof usual / sizeof *usual && !c; i++)
            c = find_column(w, 0, usual[i], strlen(usual[i]));
        if (!c && !w->unlabelled)
            c = &w->columns[0];
    }
    if (!c)
        return SHOAL_OK;
    c->label = true;
    w->label = strdup(c->name);
    return w->label ? SHOAL_OK : shoal_fail(SHOAL_ENOMEM, "memory: no room for a name");
}

static shoal_status given_numeric(struct click_format *w, const char *names, const char *path)
{
    size_t from = 0;

    if (strcmp(names, "-") == 0)
        return SHOAL_OK;
    while (*names) {
        size_t len = strcspn(names, ",");
        struct click_csv_column *c = find_column(w, from, names, len);

        if (!c)
            return shoal_fail(SHOAL_EFORMAT, "%s:1: found no column \"%s\", want it for numbers",
                              path, click_quote(names, len).text);
        c->numeric = !c->label;
        from = (size_t)(c - w->columns) + 1;
        names += len + (names[len] == ',');
    }
    return SHOAL_OK;
}

struct tally_column {
    uint32_t fields, numbers;
};

static void count_numbers(const struct click_format *w, struct bytes *room, const char *at,
                          const char *end, struct tally_column *tally)
{
    struct span f;
    float x;

    room->len = 0;
    for (size_t i = 0; i < w->ncolumns && at && at <= end; i++) {
        at = next_field(room, at, end, &f);
        if (!at)
            return;
        tally[i].fields += f.len > 0;
        tally[i].numbers += decimal_parse(f.at, f.at + f.len, &x) == f.at + f.len && f.len > 0;
        at++;
    }
}

/* A column is of numbers when most of its fields in the first rows are; so a few words for
 * what is missing do not matter, nor a few categories that look like numbers. */
static shoal_status guess_numeric(struct click_format *w, const char *at, const char *end)
{
    struct tally_column *tally = mem_array(w->ncolumns, sizeof *tally);
    struct bytes room = {0};
    shoal_status st = tally ? bytes_reserve(&room, (size_t)(end - at) + CLICK_PAD) : SHOAL_ENOMEM;

    for (unsigned rows = 0; rows < SAMPLE_ROWS && st == SHOAL_OK && at < end; rows++) {
        bool inside = false;
        const char *line = click_csv_record_end(at, end, &inside);

        if (line < end || rows == 0)
            count_numbers(w, &room, at, click_line_end(at, line), tally);
        at = line + 1;
    }
    for (size_t i = 0; i < w->ncolumns && st == SHOAL_OK; i++)
        w->columns[i].numeric = !w->columns[i].label && 2 * tally[i].numbers > tally[i].fields;
    free(tally);
    bytes_fini(&room);
    return st;
}

static shoal_status join_numeric(struct click_format *w)
{
    struct bytes list = {0};
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < w->ncolumns && st == SHOAL_OK; i++) {
        if (!w->columns[i].numeric)
            continue;
        if (list.len > 0)
            st = bytes_add(&list, ",", 1);
        if (st == SHOAL_OK)
            st = bytes_add(&list, w->columns[i].name, w->columns[i].len);
    }
    if (st == SHOAL_OK)
        st = bytes_add(&list, "", 1);
    w->numeric = list.at;
    return st;
}

shoal_status click_csv_init(struct click_format *w, const struct shoal_clicks_opts *opts,
                            const char *path, const char *head, size_t len, bool whole)
{
    const char *end = head + len;
    bool inside = false;
    const char *line = click_csv_record_end(head, end, &inside);
    const char *stop = click_line_end(head, line);
    shoal_status st;

    if (line == end && !whole)
        return shoal_fail(SHOAL_EFORMAT, "%s:1: its line of names has over %zu bytes, want fewer",
                          path, len);
    if (stop == head)
        return shoal_fail(SHOAL_EFORMAT, "%s:1: found an empty line, want the columns' names",
                          path);
    st = bytes_add(&w->header, head, (size_t)(stop - head));
    if (st == SHOAL_OK)
        st = read_names(w, path, head, stop);
    if (st == SHOAL_OK)
        st = choose_label(w, opts->label, path);
    if (st == SHOAL_OK && opts->numeric)
        st = given_numeric(w, opts->numeric, path);
    else if (st == SHOAL_OK && line < end)
        st = guess_numeric(w, line + 1, end);
    return st == SHOAL_OK ? join_numeric(w) : st;
}
