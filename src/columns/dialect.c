/* Which dialect a table has: what stands between fields, quotes, a line of names. */
#include "columns/preview.h"

#include <stdlib.h>
#include <strings.h>

enum {
    RECORDS = 100, /* that are cut to tell */
    TITLE = 3,     /* lines that may stand before a table */
    YEAR_FIRST = 1900,
    YEAR_LAST = 2100,
};

/* ---- what stands between fields ---- */

struct trial {
    size_t fields;        /* of the first record */
    size_t records, same; /* and how many have as many, */
    size_t many;          /* or more than one */
};

static size_t count_fields(const struct dialect *d, struct bytes *room, const char *at,
                           const char *end)
{
    size_t n = 0;
    struct span f;

    room->len = 0;
    for (; at <= end; at++, n++) {
        at = field_next(d, room, at, end, &f);
        if (!at)
            return 0;
    }
    return n;
}

static struct trial try_dialect(const struct dialect *d, const struct preview_block *b,
                                const char *text, struct bytes *room)
{
    const char *at = text + b->at, *end = at + b->len;
    struct trial t = {0};

    while (at < end && t.records < RECORDS) {
        bool inside = false;
        const char *line = record_end(d, at, end, &inside), *stop = record_text_end(at, line);

        if (line == end && !b->ends)
            break;
        if (!record_is_blank(d, at, stop)) {
            size_t n = count_fields(d, room, at, stop);

            t.fields = t.records == 0 ? n : t.fields;
            t.same += n == t.fields && n > 0;
            t.many += n > 1;
            t.records++;
        }
        at = line + 1;
    }
    return t;
}

/* More records that agree, then more fields. */
static bool is_better(const struct trial *a, const struct trial *b)
{
    double x = a->records ? (double)a->same / (double)a->records : 0;
    double y = b->records ? (double)b->same / (double)b->records : 0;

    if ((a->fields > 1) != (b->fields > 1))
        return a->fields > 1;
    if (x < y || x > y)
        return x > y;
    return a->fields > b->fields;
}

static shoal_status check_text(const struct preview *l, const char *path)
{
    const unsigned char *at = (const unsigned char *)l->text.at;
    size_t len = l->blocks ? l->block[0].len : 0;

    if (len >= 2 && ((at[0] == 0xff && at[1] == 0xfe) || (at[0] == 0xfe && at[1] == 0xff)))
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: is UTF-16 text, want UTF-8: iconv -f utf-16 -t utf-8 "
                          "makes it",
                          path);
    if (len > 5 && strncasecmp((const char *)at, "sep=", 4) == 0 &&
        (at[5] == '\n' || at[5] == '\r'))
        return shoal_fail(SHOAL_EFORMAT,
                          "%s:1: found sep=%c, a line for Excel; want the table alone: "
                          "tail -n +2 leaves it out",
                          path, at[4]);
    if (len > 0 && !memchr(at, '\n', len) && memchr(at, '\r', len - 1))
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: its lines end in carriage returns alone, want "
                          "newlines: tr '\\r' '\\n' makes them",
                          path);
    return SHOAL_OK;
}

/* Quotes that are not around fields make records of different lengths: then they are bytes like
 * others. */
shoal_status dialect_find(struct dialect *out, const struct preview *l, const char *path)
{
    static const char delimiters[] = ",;\t|";
    struct bytes room = {0};
    struct trial best = {0};
    size_t many = 0;
    shoal_status st = check_text(l, path);

    *out = (struct dialect){.delimiter = ',', .quotes = true};
    if (st == SHOAL_OK)
        st = bytes_reserve(&room, l->text.len + FIELD_PAD);
    for (int quotes = 1; quotes >= 0 && st == SHOAL_OK && l->blocks > 0; quotes--)
        for (const char *c = delimiters; *c; c++) {
            struct dialect d = {.delimiter = *c, .quotes = quotes};
            struct trial t = try_dialect(&d, &l->block[0], l->text.at, &room);

            many = t.many > many ? t.many : many;
            if (is_better(&t, &best)) {
                best = t;
                *out = d;
            }
        }
    bytes_fini(&room);
    if (st == SHOAL_OK && best.fields == 1 && many > TITLE && many + TITLE >= best.records)
        st = shoal_fail(SHOAL_EFORMAT,
                        "%s:1: found one field, and more in the lines below; want "
                        "the names of the columns or a row in the first line",
                        path);
    return st;
}

/* ---- the line of names ---- */

static bool is_number(struct span f)
{
    double x;

    return f.len > 0 && decimal_parse_double(f.at, f.at + f.len, &x) == f.at + f.len;
}

/* 0, 1, 2, ... as pandas writes names that nobody gave, before which an index may stand; or years
 * one behind the other beside words. */
static bool is_count(const struct preview *l)
{
    size_t numbers = 0, words = 0;
    double first = 0, x;

    for (size_t i = 0; i < l->n; i++) {
        struct span f = l->name[i];

        if (!is_number(f)) {
            words += f.len > 0 || i > 0;
            continue;
        }
        decimal_parse_double(f.at, f.at + f.len, &x);
        first = numbers == 0 ? x : first;
        if (x < first + (double)numbers || x > first + (double)numbers)
            return false;
        numbers++;
    }
    if (first > 0)
        return numbers >= 2 && words > 0 && first >= YEAR_FIRST && first <= YEAR_LAST;
    return numbers >= 3 && words == 0 && !(first < 0);
}

/* Numbers below the first row of a column, and whether its first field stands there again; the
 * first row itself may, where other inputs begin. */
static size_t numbers_below(const struct preview *l, size_t column, size_t *below, bool *again)
{
    size_t n = 0;

    *again = false;
    *below = 0;
    for (size_t r = 1; r < l->rows && r < RECORDS; r++) {
        struct span f = l->field[r * l->n + column], first = l->name[column];

        if (preview_is_first(l, l->field + r * l->n))
            continue;
        ++*below;
        n += is_number(f);
        *again |= f.len == first.len && memcmp(f.at, first.at, f.len) == 0;
    }
    return n;
}

/* Whether a label is called so. */
static bool is_label_name(struct span f)
{
    static const char *const usual[] = {"label", "class", "target", "click", "clicked", "outcome"};

    for (size_t k = 0; k < sizeof usual / sizeof *usual; k++)
        if (strlen(usual[k]) == f.len && strncasecmp(usual[k], f.at, f.len) == 0)
            return true;
    return false;
}

/* Words above numbers are names; so is a line of words alone, of which some never come again, one
 * where a label is called so, and one that counts. */
bool dialect_has_header(const struct preview *l)
{
    size_t below = 0, numeric = 0, named = 0, numbers = 0;
    bool all_again = true, label = false, again;

    if (l->rows == 0)
        return true;
    for (size_t i = 0; i < l->n; i++) {
        bool number = is_number(l->name[i]);
        bool many = numbers_below(l, i, &below, &again) * 5 >= below * 4 && below > 0;

        numbers += number;
        numeric += many;
        named += many && !number && l->name[i].len > 0;
        all_again &= again;
        label |= !again && is_label_name(l->name[i]);
    }
    if (label || (is_count(l) && below > 0))
        return true;
    if (named > 0)
        return 2 * named >= numeric;
    return numbers == 0 && !all_again;
}
