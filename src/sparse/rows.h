/* clicks: what the readers of click data share; not a door.
 *
 * What this is: lines of text in blocks, one parser for each format that turns a
 * block into a batch of rows, and the hash that gives a feature its slot.
 *
 *     inputs -> click_text -> struct click_block -> click_parse -> struct click_batch
 *               (locked)      whole lines                          rows of slots
 *
 * Who owns what: a block and a batch belong to the thread that works on them; a batch
 * borrows nothing from its block but what is said.
 * Threads: a click_text is shared (click_text_next locks), and so is a click_format, which
 * is constant once it was opened. */
#ifndef SHOAL_CLICKS_H
#define SHOAL_CLICKS_H

#include "columns/columns.h"
#include "sparse/sparse.h"

/* ---- hashing: docs/clicks.md is the specification ------------------------------------ */

#define CLICK_FACTOR 0xa0761d6478bd642fu

/* A feature has no entry in a dictionary: its slot is the highest `bits` bits of a hash of
 * its name (the hashing trick, Weinberger et al. 2009). The hash takes eight bytes a step and
 * is seeded by what the name is a name of, so that equal names in different columns differ:
 *
 *     seed -> ^ 8 bytes -> fold -> ^ 8 bytes -> fold -> ...  slot = hash >> (64 - bits)
 *
 * A fold is one multiplication of 64 x 64 bits, whose two halves are xored (as in wyhash):
 * every bit of the input reaches the high bits. */
static inline uint64_t click_hash_fold(uint64_t x)
{
    unsigned __int128 product = (unsigned __int128)x * CLICK_FACTOR;

    return (uint64_t)(product ^ product >> 64);
}

/* Up to 7 bytes behind the name are read, never used. */
static inline uint64_t click_hash(uint64_t seed, const char *at, size_t len)
{
    uint64_t h = click_hash_fold(seed ^ span_bytes8(at, len));

    for (size_t i = 8; i < len; i += 8)
        h = click_hash_fold(h ^ span_bytes8(at + i, len - i));
    return h;
}

/* What a name is a name of; a column's or a namespace's own seed is made of it. */
enum click_seed {
    CLICK_SEED_LIBSVM = 1,
    CLICK_SEED_VW,
    CLICK_SEED_CRITEO,
    CLICK_SEED_NUMBER,
    CLICK_SEED_CATEGORY,
    CLICK_SEED_BIN,
    CLICK_SEED_MISSING,
    CLICK_SEED_LOG
};

static inline uint64_t click_seed(enum click_seed kind)
{
    return rng_mix((uint64_t)kind * RNG_STEP);
}

/* The same of a name behind which nothing may be read: slot.c. */
uint64_t click_hash_name(uint64_t seed, const char *at, size_t len);

#define CLICK_INDEX_DIGITS 18 /* of libsvm, at most; more might not fit 64 bits */

/* ---- sixteen bytes at a time ----------------------------------------------------------- */

/* Bit i: byte i is at most c. */
static inline unsigned click_bytes_upto(const char *at, unsigned char c)
{
#if defined(__SSE2__)
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)at);

    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8((char)c)), x));
#else
    unsigned mask = 0;

    for (unsigned i = 0; i < 16; i++)
        mask |= (unsigned)((unsigned char)at[i] <= c) << i;
    return mask;
#endif
}

/* How often c stands between. */
static inline size_t click_bytes_count(const char *at, const char *end, char c)
{
    size_t n = 0;

    for (; (at = memchr(at, c, (size_t)(end - at))) != NULL; at++)
        n++;
    return n;
}

/* ---- labels.c: labels as they stand in the text --------------------------------------------- */

const char *click_labels_name(const struct click_labels *l, unsigned k);
/* Its number; CLICKS_NO_LABEL: it is none of them. */
unsigned click_labels_find(const struct click_labels *l, const char *name);
/* Another one, which gets the next number; there must be room for it. */
shoal_status click_labels_add(struct click_labels *l, const char *name);
/* Puts them into order, numbers by their size, texts by their bytes, and of two `positive` last
 * unless it is NULL; map[k] is the new number of k. Of one label of two the other is made up. */
shoal_status click_labels_order(struct click_labels *l, const char *positive,
                                uint8_t map[SHOAL_CLICKS_CLASSES]);
/* "no and yes", as far as a sentence goes */
struct click_labels_text {
    char text[128];
};
struct click_labels_text click_labels_text(const struct click_labels *l, const char *join);
void click_labels_fini(struct click_labels *l);

/* ---- clicks_format.c: how rows are read --------------------------------------------------- */

#define CRITEO_NUMBERS 13u
#define CRITEO_COLUMNS 39u /* without the label */

struct click_criteo_format;
struct click_csv;

struct click_format {
    enum shoal_clicks_format format; /* not AUTO */
    unsigned shift;                  /* slot = hash >> shift */
    bool unlabelled;                 /* a row may lack its label */
    bool classes;                    /* there may be many labels */
    bool plain;                      /* libsvm: index i is slot i */
    bool scale;                      /* each feature by the size of its values */
    char *positive;                  /* of two labels; or NULL */
    struct click_labels known;       /* those there may be, by class; none: whatever comes */
    struct click_criteo_format *criteo;
    struct click_csv *csv;
};

/* The beginning of the first input that has any, or where more of it is. */
struct click_head {
    const char *path;
    const char *at; /* [len], FIELD_PAD bytes behind which may be read */
    size_t len;
    bool whole;                  /* that is all of it */
    const struct inputs *inputs; /* all, to be looked into; NULL: they can be read only once */
};

shoal_status click_format_init(struct click_format *w, const struct shoal_clicks_opts *opts,
                               bool unlabelled, const struct click_head *head);
/* Its labels are numbers from 0. */
shoal_status click_format_number_labels(struct click_format *w);
void click_format_fini(struct click_format *w);

/* ---- clicks_text.c: whole lines from many inputs ------------------------------------------- */

#define CLICK_BLOCK ((size_t)256 << 10)

/* Whole lines of one input, each ended by a newline; of CSV, whole records. */
struct click_block {
    struct bytes text; /* FIELD_PAD bytes behind it may be read */
    uint64_t seq;
    size_t input;
    bool first;          /* its input begins here */
    uint64_t dropped;    /* the newlines of a line that is too long, instead of text; else 0 */
    shoal_status status; /* a failure to read, to be reported in the order of the blocks */
    char sentence[512];
};

struct click_text;

/* Borrows inputs until click_text_close. Looks into the first of them: *format is then
 * owned by the text. `live`: what a pipe has so far is a block, as soon as a line ends;
 * else blocks do not depend on how it came. */
shoal_status click_text_open(struct click_text **out, const struct inputs *inputs,
                             const struct shoal_clicks_opts *opts, bool unlabelled, bool live);
const struct click_format *click_text_format(const struct click_text *t);
/* Labels that are not known are numbers, from the beginning. */
shoal_status click_text_number_labels(struct click_text *t);
/* The next block; false when there is none left. */
bool click_text_next(struct click_text *t, struct click_block *b);
const char *click_text_input(const struct click_text *t, size_t i);
/* Adds bytes and files read so far. */
void click_text_stats(const struct click_text *t, struct shoal_clicks_stats *stats);
/* The last call of the watch. */
shoal_status click_text_end(struct click_text *t);
void click_text_close(struct click_text *t);
void click_block_fini(struct click_block *b);

/* ---- clicks_parse.c: a block becomes rows -------------------------------------------------- */

/* A feature's name, for those who collect names. */
struct click_name {
    const char *space, *at; /* the namespace or column, or NULL; the feature or value */
    uint32_t space_len, len;
    char join;         /* between the two */
    uint64_t from, to; /* instead of `at`, when it is NULL: integers, */
    bool bin;          /* or numbers between these; NULL: without an end */
    const double *low, *high;
};

struct click_batch {
    size_t rows, values;
    uint64_t lines;
    uint8_t *label;        /* [rows] of `labels`, or of those known; or CLICKS_NO_LABEL */
    float *weight;         /* [rows] */
    uint32_t *start;       /* [rows + 1] */
    uint32_t *slot;        /* [values] */
    float *value;          /* [values] unless the format has none */
    uint32_t *at;          /* [rows] where its text begins in the block */
    bool weighted, valued; /* some weight, some value is not 1 */
    struct click_labels labels; /* of this block, in the order of the text */
    struct {
        uint64_t first;    /* its bytes, of which it has up to eight */
        uint32_t len, number;
    } recent[8];           /* labels as they were spelled, to be found again at once */
    unsigned nrecent;

    uint64_t bad; /* lines left out */
    struct {
        uint64_t line; /* in the block */
        char why[SHOAL_CLICKS_SENTENCE - 64];
    } shown[SHOAL_CLICKS_SHOWN]; /* of the bad lines, from number `shown_from` on */
    uint64_t shown_from;
    bool fatal; /* not to be skipped: in shown[0] */

    struct click_name *names; /* [values of a row], while names are collected; else NULL */
    char why[SHOAL_CLICKS_SENTENCE - 64];
    struct bytes unquoted; /* a row's CSV fields without their quotes */
    size_t cap;            /* bytes of text there is room for */
};

/* Makes rows of all lines. Bad ones are counted; of those from number shown_from on the
 * first few are described. Fails for want of memory only. */
shoal_status click_parse(const struct click_format *w, const struct click_block *b,
                         struct click_batch *out, uint64_t shown_from);
/* Parses row r of a parsed block again, with its names into names[values]. */
void click_parse_names(const struct click_format *w, const struct click_block *b,
                       struct click_batch *batch, size_t r, struct click_name *names);
void click_batch_fini(struct click_batch *b);

/* For the parsers: a line is bad, and this is why. Always false. */
bool click_line_bad(struct click_batch *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Bytes of a file for a sentence: 24 at most, what cannot be printed as '?'. */
struct click_quote {
    char text[32];
};
struct click_quote click_quote(const char *at, size_t len);
/* A label's text; and that a row has none, as one of no bytes, which is bad unless it may. */
bool click_label(const struct click_format *w, struct click_batch *b, const char *at, size_t len);
bool click_label_missing(const struct click_format *w, struct click_batch *b, const char *where);
/* A number's text; `what` is for the sentence. */
bool click_number(struct click_batch *b, const char *what, const char *at, size_t len, float *out);

/* Where the name of the next feature goes; NULL when none is wanted. */
static inline struct click_name *click_name_next(const struct click_batch *b)
{
    return b->names ? &b->names[b->values - b->start[b->rows]] : NULL;
}

/* Another feature of the row; one of value 0 is none. */
static inline void click_feature_push(const struct click_format *w, struct click_batch *b,
                                      uint64_t hash, float value)
{
    b->slot[b->values] = (uint32_t)(hash >> w->shift);
    b->value[b->values] = value;
    b->valued |= (value != 1) & (value != 0);
    b->values += value != 0;
}

/* One row each: its label, weight and features behind what the batch has. `end` is
 * before the newline (and a carriage return there). False after click_line_bad; what was
 * pushed then is taken back by the caller. */
bool click_libsvm_row(const struct click_format *w, struct click_batch *b, const char *at,
                      const char *end);
bool click_vw_row(const struct click_format *w, struct click_batch *b, const char *at,
                  const char *end);
bool click_criteo_row(const struct click_format *w, struct click_batch *b, const char *at,
                      const char *end);
bool click_csv_row(const struct click_format *w, struct click_batch *b, const char *at,
                   const char *end);

/* ---- clicks_errors.c: which errors are tolerated ------------------------------------------------------ */

/* Blocks come here one after the other, in the order of the input, so that what is said
 * does not depend on who parsed them. */
struct click_errors {
    uint64_t skip_bad;
    struct shoal_clicks_stats stats; /* lines, rows, values and bad lines so far */
    struct click_labels labels;      /* in the order of the text; their counts */
    size_t input;
    uint64_t line;    /* lines of the input before the block */
    bool zero, minus; /* the input has a label 0, a label -1 */
};

/* Fails for what may not be skipped, else adds the batch to the stats, and its labels get the
 * numbers that they have in `labels`. Parses the block again if a sentence is wanted that was
 * not kept. */
shoal_status click_errors_add(struct click_errors *e, const struct click_text *t,
                              const struct click_block *b, struct click_batch *batch);

/* ---- clicks_census.c: which slots occur, how often, and as what ---------------------------- */

/* Slots become ids when all rows were seen. Only some blocks are counted, and fewer named:
 * the first ones, and of the others every so many. */
struct click_census {
    unsigned bits;
    uint64_t *seen;     /* [2^bits] bits, by every thread */
    uint32_t *count;    /* [2^bits] in the order of blocks; then the id of each slot */
    uint32_t *name;     /* [2^bits] 1 + its place in the arena, 0: none; as above */
    struct bytes arena; /* names, each ended by a NUL */
    bool full;          /* the arena is */

    uint32_t features;
    uint32_t *slot;   /* [features] by id */
    uint64_t *counts; /* [features] by id */
};

/* Names that a block has and the census had not, in the order of the text. */
struct click_names {
    struct bytes text; /* each ended by a NUL */
    uint32_t *slot;    /* [len] */
    size_t len, cap;
    struct click_name *row; /* [row_cap] */
    size_t row_cap;
    uint32_t recent[4096]; /* 1 + a slot that was named already in this block */
};

uint64_t census_bytes(unsigned bits);
shoal_status census_init(struct click_census *c, unsigned bits);
void census_fini(struct click_census *c);
bool census_samples_counts(uint64_t seq); /* whether a block is counted */
bool census_samples_names(uint64_t seq);  /* and named */
void census_mark_seen(struct click_census *c, const uint32_t *slot, size_t n);
/* Any thread, for a block to be named. */
shoal_status census_propose_names(const struct click_census *c, const struct click_format *w,
                                  const struct click_block *block, struct click_batch *b,
                                  struct click_names *names);
/* In the order of the blocks, one thread at a time. */
void census_add_counts(struct click_census *c, const struct click_batch *b);
shoal_status census_accept_names(struct click_census *c, const struct click_names *names);
/* After the last block: ids by count, the largest first, then by slot. */
shoal_status census_assign_ids(struct click_census *c);
void census_map_ids(const struct click_census *c, const uint32_t *slot, uint32_t *id, size_t n);
/* The names in the order of ids behind one NUL, and where each begins: [features], 0: none. */
shoal_status census_names(const struct click_census *c, struct bytes *text, uint32_t *begin);
void click_names_fini(struct click_names *n);

/* ---- sizes.c: how large values are ---------------------------------------------------------- */

enum { CLICK_POWERS = 64 };

/* Of blocks in their order. */
struct click_sizes {
    unsigned bits;
    double *squares; /* [2^bits] sums of each slot's; NULL: they stay as they are */
    uint32_t *n;     /* [2^bits] how many */
    uint64_t powers[2 * CLICK_POWERS + 1]; /* values below 2^(k - CLICK_POWERS), not half of it */
    float largest;
    uint32_t slot; /* of the largest one */
};

uint64_t click_sizes_bytes(unsigned bits, bool scale);
shoal_status click_sizes_init(struct click_sizes *s, unsigned bits, bool scale);
/* `look`: its values are among those by which a far larger one is noticed. */
void click_sizes_add(struct click_sizes *s, const struct click_batch *b, bool look);
void click_sizes_notice(const struct click_sizes *s, const struct click_census *c,
                        struct shoal_clicks_stats *stats);
/* What the values of a slot are to be multiplied by. */
float click_sizes_scale(const struct click_sizes *s, uint32_t slot);
void click_sizes_fini(struct click_sizes *s);

/* ---- examples.c: which rows are kept as text ---- */

/* So many rows, each as likely as another (Vitter 1985, algorithm R), by the number of the row
 * alone. Rows that are too long, or hold a NUL, are passed over. */
struct example_draw {
    unsigned want;
    uint64_t seen;     /* rows that might have been kept */
    struct bytes *row; /* [want] */
};

shoal_status example_draw_init(struct example_draw *d, unsigned want);
/* Blocks in their order, one thread at a time. */
shoal_status example_draw_add(struct example_draw *d, const struct click_format *w,
                              const struct click_block *block, struct click_batch *b);
shoal_status example_draw_result(const struct example_draw *d, struct row_examples *out);
void example_draw_fini(struct example_draw *d);

/* ---- clicks_spill.c: spill buffers ----------------------------------------- */

/* Bytes in their order, in memory as long as there is any left, then on disk. */
struct spill_buffer {
    char *at; /* [len] of cap, by mem_map */
    size_t len, cap;
    struct spool spool;
};

struct spill_limit {
    uint64_t left;       /* bytes that may still be kept */
    const char *tmp_dir; /* NULL: what is too much fails */
};

shoal_status spill_buffer_add(struct spill_limit *all, struct spill_buffer *c, const void *data,
                              size_t len);
/* n floats of 1. */
shoal_status spill_buffer_add_ones(struct spill_limit *all, struct spill_buffer *c, uint64_t n);
uint64_t spill_buffer_size(const struct spill_buffer *c);
/* len bytes from `at` on, where they lie or in `room` [len]; NULL after shoal_fail. */
const void *spill_buffer_part(const struct spill_buffer *c, uint64_t at, size_t len, void *room);
void spill_buffer_init(struct spill_buffer *c);
void spill_buffer_fini(struct spill_buffer *c);

/* ---- clicks.c: the object ---- */

enum {
    CLICK_COLUMN_LABEL,
    CLICK_COLUMN_START,
    CLICK_COLUMN_ID,
    CLICK_COLUMN_VALUE,
    CLICK_COLUMN_WEIGHT,
    CLICK_COLUMNS
};

struct shoal_clicks {
    struct clicks_view view;
    struct clicks_reading reading;
    uint64_t bad_lines;
    const char *names; /* each ended by a NUL, the first of them "" */
    size_t names_len;
    const uint32_t *begin; /* [features] into names; 0: unknown */

    struct row_examples examples;

    struct container *file; /* where all of these lie; NULL: ours, as follows */
    struct spill_buffer own[CLICK_COLUMNS];
    struct click_census census;
    struct bytes own_names;
    uint32_t *own_begin;
    float *own_scale;
};

/* What was read, all of which clicks_adopt takes: it is empty afterwards. */
struct clicks_parts {
    struct spill_buffer *columns; /* [CLICK_COLUMNS], by ids */
    struct click_census *census;
    struct click_labels *labels;
    float **scale; /* [features] by id, or NULL */
    struct row_examples *examples;
};
shoal_status clicks_adopt(shoal_clicks **out, const struct clicks_parts *parts,
                          const struct click_format *w, const struct shoal_clicks_stats *stats);

/* ---- clicks_criteo.c ---- */

shoal_status click_criteo_init(struct click_format *w);
/* Rows of the usual shape from `at` on, as many as there are one after the other;
 * gives where the first other line begins. */
const char *click_criteo_rows(const struct click_format *w, struct click_batch *b, const char *text,
                              const char *at, const char *end);

/* ---- csv.c ---- */

/* Finds what the columns are, unless opts have them, and where they stand. */
shoal_status click_csv_init(struct click_format *w, const struct shoal_clicks_opts *opts,
                            const struct click_head *head);
void click_csv_fini(struct click_format *w);
const struct dialect *click_csv_dialect(const struct click_format *w);
const struct shoal_columns *click_csv_columns(const struct click_format *w);
/* The record at `at` again, its fields in the order of the columns; those that nothing is learned
 * from are empty. False: it could not be written so. */
bool click_csv_rewrite(const struct click_format *w, struct bytes *room, const char *at,
                       const char *end, struct bytes *out);
/* The line of names that every input begins with; of length 0: none does. */
struct span click_csv_header(const struct click_format *w);

#endif
