/* Criteo's: a label, 13 integers and 26 categories between tabs, any of which may be
 * missing. An integer x over 2 becomes the category floor(log(x)^2), as the winners of the
 * Kaggle contest of 2014 had it; 2 and less stand for themselves.
 *
 * Nearly all lines have one shape, and click_criteo_rows reads them fast:
 *
 *     0 \t 1 \t 12 \t ... \t 7 \t 68fd1e64 \t 80e26c9b \t ... \t 9727dd16 \n
 *     '--- within 64 bytes ---'  '- 8 bytes -'
 *     tabs found all at once     one load each, a tab behind
 *
 * Whatever does not fit is left to click_criteo_row, line by line. */
#include "sparse/rows.h"

#include <math.h>

/* ---- buckets ---- */

#define NUMBER_DIGITS 15u /* at most, so that doubles tell integers apart */
#define CELL_BITS 7u
#define CELLS (50u << CELL_BITS) /* 10^15 < 2^50 */
#define BUCKETS 1203u            /* floor(log(2^50)^2) = 1201 */
/* What an integer is hashed as: itself up to 2, else its bucket and this. */
#define BUCKET_KEY 16u
#define NO_KEY 0x8000u

/* floor(log(x)^2) by a table, for logarithms are slow. A cell is the integers that have the
 * same highest bit and the same CELL_BITS bits below it: so few of them that at most one
 * bucket begins inside. So the bucket of x is that of the first integer of its cell, or the
 * next one if x is at or above where that begins. */
struct click_criteo_format {
    uint64_t seed[CRITEO_COLUMNS];
    uint16_t key[1u << 12];  /* of an integer of 3 digits, 4 bits each; or NO_KEY */
    uint16_t cell[CELLS];    /* the bucket of the least integer in it */
    uint64_t above[BUCKETS]; /* the least integer of a bucket beyond */
};

static inline unsigned cell_of(uint64_t x)
{
    unsigned power = 63u - (unsigned)__builtin_clzll(x);

    return power << CELL_BITS |
           (unsigned)((x << (63 - power)) >> (63 - CELL_BITS) & ((1u << CELL_BITS) - 1));
}

static unsigned bucket_slowly(uint64_t x)
{
    double l = log((double)x);

    return (unsigned)(l * l);
}

/* The least integer of the bucket or one beyond. */
static uint64_t bucket_begin(unsigned bucket)
{
    uint64_t x = (uint64_t)exp(sqrt((double)bucket));

    while (x > 3 && bucket_slowly(x - 1) >= bucket)
        x--;
    while (bucket_slowly(x) < bucket)
        x++;
    return x;
}

static inline unsigned bucket_of(const struct click_criteo_format *c, uint64_t x)
{
    unsigned bucket = c->cell[cell_of(x)];

    return bucket + (x >= c->above[bucket]);
}

static uint64_t number_key(const struct click_criteo_format *c, int64_t x)
{
    return x > 2 ? BUCKET_KEY + bucket_of(c, (uint64_t)x) : (uint64_t)x;
}

static uint64_t cell_begin(unsigned cell)
{
    unsigned power = cell >> CELL_BITS, low = cell & ((1u << CELL_BITS) - 1);

    if (power < CELL_BITS)
        return (uint64_t)1 << power | low >> (CELL_BITS - power);
    return (uint64_t)1 << power | (uint64_t)low << (power - CELL_BITS);
}

shoal_status click_criteo_init(struct click_format *w)
{
    struct click_criteo_format *c = mem_array(1, sizeof *c);
    unsigned bucket = 0;

    if (!c)
        return SHOAL_ENOMEM;
    w->criteo = c;
    for (unsigned i = 0; i < CRITEO_COLUMNS; i++)
        c->seed[i] = rng_mix(click_seed(CLICK_SEED_CRITEO) + (i + 1) * RNG_STEP);
    for (unsigned i = 0; i < BUCKETS; i++)
        c->above[i] = bucket_begin(i + 1);
    for (unsigned i = 0; i < CELLS; i++) {
        while (cell_begin(i) >= c->above[bucket])
            bucket++;
        c->cell[i] = (uint16_t)bucket;
    }
    for (unsigned i = 0; i < 1u << 12; i++) {
        unsigned high = i >> 8, mid = i >> 4 & 15, low = i & 15;
        bool digits = high < 10 && mid < 10 && low < 10;

        c->key[i] = digits ? (uint16_t)number_key(c, high * 100 + mid * 10 + low) : NO_KEY;
    }
    return SHOAL_OK;
}

/* ---- any line ---- */

static bool read_number(struct click_batch *b, unsigned column, const char *at, size_t len,
                        int64_t *out)
{
    bool minus = len > 0 && *at == '-';
    size_t i = minus;

    *out = 0;
    for (; i < len && i < NUMBER_DIGITS + minus && at[i] >= '0' && at[i] <= '9'; i++)
        *out = *out * 10 + (at[i] - '0');
    if (i == minus || i < len)
        return click_line_bad(b, "integer %u is \"%s\", want up to %u digits", column + 1,
                              click_quote(at, len).text, NUMBER_DIGITS);
    *out = minus ? -*out : *out;
    return true;
}

static struct click_name name_of(unsigned column, const char *at, size_t len)
{
    static const char names[CRITEO_COLUMNS][4] = {
        "I1",  "I2",  "I3",  "I4",  "I5",  "I6",  "I7",  "I8",  "I9",  "I10", "I11", "I12", "I13",
        "C1",  "C2",  "C3",  "C4",  "C5",  "C6",  "C7",  "C8",  "C9",  "C10", "C11", "C12", "C13",
        "C14", "C15", "C16", "C17", "C18", "C19", "C20", "C21", "C22", "C23", "C24", "C25", "C26"};

    return (struct click_name){.space = names[column],
                               .space_len = (uint32_t)strlen(names[column]),
                               .join = '=',
                               .at = at,
                               .len = (uint32_t)len};
}

/* Of a bucket its range, unless that is one integer. */
static void name_range(const struct click_criteo_format *c, struct click_name *name, uint64_t x)
{
    unsigned bucket = bucket_of(c, x);

    name->from = c->above[bucket - 1];
    name->to = c->above[bucket] - 1;
    if (name->from < name->to)
        name->at = NULL;
}

static void push_number(const struct click_format *w, struct click_batch *b, unsigned column,
                        int64_t x, const char *at, size_t len)
{
    if (b->names) {
        *click_name_next(b) = name_of(column, at, len);
        if (x > 2)
            name_range(w->criteo, click_name_next(b), (uint64_t)x);
    }
    click_feature_push(w, b, click_hash_fold(w->criteo->seed[column] ^ number_key(w->criteo, x)),
                       1);
}

static void push_category(const struct click_format *w, struct click_batch *b, unsigned column,
                          const char *at, size_t len)
{
    if (b->names)
        *click_name_next(b) = name_of(column, at, len);
    click_feature_push(w, b, click_hash(w->criteo->seed[column], at, len), 1);
}

bool click_criteo_row(const struct click_format *w, struct click_batch *b, const char *at,
                      const char *end)
{
    size_t tabs = click_bytes_count(at, end, '\t');
    bool label = tabs == CRITEO_COLUMNS;

    if (!label && !(w->unlabelled && tabs == CRITEO_COLUMNS - 1))
        return click_line_bad(b, "found %zu columns, want %u", tabs + 1, CRITEO_COLUMNS + 1);
    for (unsigned i = 0; i < CRITEO_COLUMNS + label; i++) {
        const char *tab = memchr(at, '\t', (size_t)(end - at)), *stop = tab ? tab : end;
        size_t len = (size_t)(stop - at);
        unsigned column = i - label;
        int64_t x;

        if (label && i == 0) {
            if (!click_label(w, b, at, len))
                return false;
        } else if (len > 0 && column >= CRITEO_NUMBERS) {
            push_category(w, b, column, at, len);
        } else if (len > 0) {
            if (!read_number(b, column, at, len, &x))
                return false;
            push_number(w, b, column, x, at, len);
        }
        at = stop + 1;
    }
    return true;
}

/* ---- lines of the usual shape ---- */

/* The highest bit of each byte below 14, which is a tab, a newline or no text; exact for
 * the first of them. */
static inline uint64_t ends_in(uint64_t eight)
{
    return (eight - 0x0e0e0e0e0e0e0e0eu) & ~eight & 0x8080808080808080u;
}

static inline uint64_t tabs_in(const char *at)
{
    return (uint64_t)bytes16_equal(at, '\t') |
           (uint64_t)bytes16_equal(at + 16, '\t') << 16 |
           (uint64_t)bytes16_equal(at + 32, '\t') << 32 |
           (uint64_t)bytes16_equal(at + 48, '\t') << 48;
}

/* Up to 8 digits and a minus. */
static uint64_t long_key(const struct click_criteo_format *c, const char *at, size_t len,
                         uint64_t *wrong)
{
    int64_t x = 0, sign = *at == '-' ? -1 : 1;
    const char *end = at + len;

    at += *at == '-';
    *wrong |= at == end || end - at > 8;
    for (; at < end && end - at <= 8; at++) {
        *wrong |= (unsigned char)(*at - '0') > 9;
        x = x * 10 + (*at & 15);
    }
    return number_key(c, sign * x);
}

/* Up to 3 digits, or none: then the key is that of 0. */
static inline uint64_t short_key(const struct click_criteo_format *c, const char *at, size_t len,
                                 uint64_t *wrong)
{
    uint32_t four, digits;
    uint64_t key;

    memcpy(&four, at, 4);
    digits = (uint32_t)((uint64_t)(four ^ 0x30303030u) << (32 - 8 * len)); /* the last on top */
    key = c->key[(digits & 0xf00) | (digits >> 12 & 0xf0) | (digits >> 24 & 0xf)];
    *wrong |= (digits & 0xf0f0f0f0u) | (key & NO_KEY);
    return key;
}

/* The integers, all of them and the label within 64 bytes; gives what follows, or NULL. */
static inline const char *usual_numbers(const struct click_format *w, const char *at, uint32_t **slots)
{
    const struct click_criteo_format *c = w->criteo;
    uint64_t tabs = tabs_in(at), wrong = 0;
    uint32_t *slot = *slots;
    const char *field = at + 2, *tab;

    if ((*at & ~1) != '0' || (tabs & 3) != 2)
        return NULL;
    for (unsigned i = 0; i < CRITEO_NUMBERS; i++) {
        uint64_t key;
        size_t len;

        tabs &= tabs - 1;
        if (!tabs)
            return NULL;
        tab = at + __builtin_ctzll(tabs);
        len = (size_t)(tab - field);
        key = len > 3 || *field == '-' ? long_key(c, field, len, &wrong)
                                       : short_key(c, field, len, &wrong);
        *slot = (uint32_t)(click_hash_fold(c->seed[i] ^ key) >> w->shift);
        slot += len != 0;
        field = tab + 1;
    }
    *slots = slot;
    return wrong ? NULL : field;
}

/* The row at `at` if it has the usual shape: gives the end of its line, or NULL. Every
 * byte is looked at before the ones behind it are, so that the line's end stops it. */
static inline const char *usual_row(const struct click_format *w, struct click_batch *b,
                                    const char *at)
{
    const uint64_t *seed = w->criteo->seed;
    uint32_t *slot = b->slot + b->values;
    unsigned shift = w->shift;

    at = usual_numbers(w, at, &slot);
    if (!at)
        return NULL;
    for (unsigned i = CRITEO_NUMBERS; i < CRITEO_COLUMNS; i++) {
        uint64_t eight, ends;
        size_t len = 8;

        memcpy(&eight, at, 8);
        ends = ends_in(eight);
        if (ends) {
            len = (size_t)__builtin_ctzll(ends) / 8;
            eight &= ((uint64_t)1 << 8 * len) - 1;
        }
        *slot = (uint32_t)(click_hash_fold(seed[i] ^ eight) >> shift);
        slot += len != 0;
        at += len + 1;
        if (at[-1] != '\t' && i + 1 < CRITEO_COLUMNS)
            return NULL;
    }
    at--;
    at += *at == '\r';
    if (*at != '\n')
        return NULL;
    b->values = (size_t)(slot - b->slot);
    return at;
}

const char *click_criteo_rows(const struct click_format *w, struct click_batch *b, const char *text,
                              const char *at, const char *end)
{
    while (at < end) {
        uint32_t begin = (uint32_t)b->values;
        const char *line = usual_row(w, b, at);

        if (!line)
            break;
        if (!click_label(w, b, at, 1)) { /* which is 0 or 1 */
            b->values = begin;
            break;
        }
        b->start[b->rows] = begin;
        b->lines++;
        b->at[b->rows] = (uint32_t)(at - text);
        b->weight[b->rows] = 1;
        b->rows++;
        at = line + 1;
    }
    return at;
}
