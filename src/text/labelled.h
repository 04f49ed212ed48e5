/* labelled: lines of text with labels, and what a model sees of a line; a part of the door text.h.
 *
 * What this is: lines `__label__x text ...` as fastText reads them, or records of a table, become
 * ids of types (different words) and of labels, once for all epochs; and an id of a type becomes
 * rows of a model: its own, those of its n-grams of characters, those of n-grams of words.
 *
 *     inputs --line_text--> blocks of whole lines --tokens--> struct shoal_labelled
 *                                                              types, labels, lines
 *     shoal_labelled --line_types--> what each type is to a model --line_rows_line--> rows
 *     text of a request ----------------------------------------- features_text --> rows
 *
 * Who owns what: lines and types own what they point to; features borrow.
 * Threads: what is read is immutable. Blocks are taken under a lock. */
#ifndef SHOAL_LABELLED_H
#define SHOAL_LABELLED_H

#include "columns/columns.h"

/* ---- line_reading.c: how lines are read, as a model remembers it ------------------------- */

/* Texts are owned, labels are not. */
struct line_reading {
    char *prefix;       /* of tokens that are labels; "" where a table has them */
    char *text, *label; /* columns of a table; NULL: lines */
    bool clean;         /* letters and digits alone, lower-cased */
    const shoal_vocab *labels; /* tokens that are labels without the prefix; NULL: none is */
};

shoal_status line_reading_make(struct line_reading *r, const struct shoal_labelled_opts *opts);
shoal_status line_reading_copy(struct line_reading *r, const struct line_reading *from);
void line_reading_fini(struct line_reading *r);
/* Lines of a container's meta. */
shoal_status line_reading_put(const struct line_reading *r, struct bytes *meta);
shoal_status line_reading_load(struct line_reading *r, const struct container *c);

/* Where the columns of a table are. */
struct line_table {
    struct dialect dialect;
    size_t fields;      /* 0: it is no table, but lines */
    size_t text, label; /* label SIZE_MAX: there is none */
};

/* By the header, a line of `len` bytes, FIELD_PAD bytes behind which may be read; fails where the
 * columns are not there. Whoever is only `asked` needs no label, and may have plain lines. */
shoal_status line_table_find(struct line_table *t, const struct line_reading *r, const char *name,
                             const char *header, size_t len, bool asked);

/* ---- line_text.c: blocks of whole lines or records ----------------------------------------- */

enum { LINES_BLOCK = 1 << 20 };        /* bytes of a block, about; */
#define LINES_MOST ((size_t)256 << 20) /* and of a line at most */

struct line_text;

/* Lines of one input, without the header of a table. Each ends with \n. */
struct line_block {
    struct bytes text; /* FIELD_PAD bytes behind it may be read */
    uint64_t seq;      /* from 0 */
    const char *name;  /* of the input */
    uint64_t line;     /* of a table: the number of its first line in the input, from 1 */
    struct line_table table;
};

/* Borrows inputs and reading. `asked`: labels may lack, and what comes from a pipe is given out as
 * it comes. */
shoal_status line_text_open(struct line_text **out, const struct inputs *inputs,
                            const struct line_reading *reading, bool asked,
                            const struct shoal_watch *watch);
/* *more is false when there are none left, or another thread failed. */
shoal_status line_text_next(struct line_text *t, struct line_block *b, bool *more);
void line_text_stop(struct line_text *t); /* nobody gets another one */
uint64_t line_text_bytes(const struct line_text *t); /* read so far */
shoal_status line_text_end(struct line_text *t);
void line_text_close(struct line_text *t);

/* ---- tokens.c: lines of a block, and their tokens -------------------------------------------- */

#define LINE_END "</s>" /* the word at the end of each line */

/* The next of the tokens that fastText finds: between spaces, tabs, ends of lines, VT, FF and NUL.
 * False: there are no more. */
bool token_next(const char **at, const char *end, struct span *out);

/* Who is told the tokens of a line. */
struct token_sink {
    shoal_status (*word)(void *ctx, struct span token); /* KEY_PAD bytes behind may be read */
    shoal_status (*label)(void *ctx, struct span token); /* NULL: labels are left out */
    void *ctx;
};

struct line_walk {
    const struct line_reading *reading;
    const struct line_block *block; /* NULL: texts come from elsewhere */
    const char *at;
    uint64_t line;
    struct bytes room; /* of a field without its quotes */
    struct bytes raw;  /* what is to be cleaned */
};

void line_walk_begin(struct line_walk *w, const struct line_reading *r, const struct line_block *b);
/* Tells the tokens of the next line; *more is false when there is none. */
shoal_status line_walk_next(struct line_walk *w, const struct token_sink *to, bool *more);
/* The same of a text, FIELD_PAD bytes behind which may be read; ends of lines are spaces. */
shoal_status line_walk_text(struct line_walk *w, struct span text, const struct token_sink *to);
void line_walk_fini(struct line_walk *w);

/* ---- labelled.c, labelled_file.c ------------------------------------------------------------ */

struct shoal_labelled {
    shoal_vocab *types;  /* commonest first; those that are words of the model come first of all */
    size_t words;        /* so many */
    shoal_vocab *labels; /* commonest first */
    size_t lines;
    const uint64_t *start;       /* [lines + 1] where a line's types begin */
    const uint32_t *type;        /* [start[lines]] */
    const uint64_t *label_start; /* [lines + 1] */
    const uint32_t *label;       /* [label_start[lines]] each line has one at least */
    struct line_reading reading;
    struct container *file; /* that the four lie in; NULL: they are ours */
};

/* Lines that a model was not made of: its labels count, by their ids, and no other. */
struct labelled_like {
    const shoal_vocab *labels;
    const struct line_reading *reading;
};

/* shoal_labelled_read; with `like`, no type is a word. */
shoal_status labelled_read(shoal_labelled **out, const struct sources *from,
                           const struct shoal_labelled_opts *opts, const struct labelled_like *like,
                           struct shoal_labelled_stats *stats);
shoal_status labelled_save(const shoal_labelled *l, const char *path);
uint64_t labelled_fingerprint(const shoal_labelled *l);

/* Names in a container: the sections NAME and NAME.counts. */
shoal_status names_save(const shoal_vocab *names, const char *section, struct container_writer *w);
shoal_status names_load(shoal_vocab **out, const char *section, const struct container *c);

/* ---- line_rows.c: from types to rows of a model ------------------------------------------------ */

enum { FEATURES_NGRAMS = 10 }; /* of words, at most */

/* Rows 0 to words - 1 are those of words. Behind them come those of buckets: of all, or of those
 * that are used, in order. An n-gram that nobody has seen says nothing, but counts in the mean. */
struct line_rows {
    uint32_t words;
    unsigned ngrams;     /* of words; 1: none */
    struct subwords how; /* of characters; buckets are those of both */
    uint64_t *bits;      /* [(buckets + 63) / 64] which are used; NULL: all */
    uint32_t *rank;      /* as many: those used before */
    uint32_t used;
    bool skips; /* buckets without a row are left out; else they share one of zeros, the last */
};

/* None of the buckets is used yet. */
shoal_status line_rows_init(struct line_rows *f, size_t words, unsigned ngrams,
                           const struct subwords *how);
/* After the bits were set. */
void line_rows_rank(struct line_rows *f);
void line_rows_fini(struct line_rows *f);
static inline size_t line_rows_all(const struct line_rows *f)
{
    return (size_t)f->words + f->used + (f->bits && f->how.buckets > 0 && !f->skips);
}

/* What types are to a model. */
struct line_types {
    size_t n;
    uint32_t *row;        /* [n] SHOAL_NO_ID: it is no word */
    uint32_t *hash;       /* [n] of n-grams of words; or NULL */
    uint64_t *gram_start; /* [n + 1] n-grams of characters; or NULL */
    uint32_t *gram;       /* their buckets */
};

/* Words are those of `words`, by id, or where that is NULL the types below f->words. */
shoal_status line_types_make(struct line_types *t, const struct line_rows *f,
                             const shoal_vocab *types, const shoal_vocab *words);
void line_types_fini(struct line_types *t);
/* Sets the bits of the buckets that the lines use. */
shoal_status line_rows_use(struct line_rows *f, const struct line_types *t, const shoal_labelled *l,
                          unsigned threads);
/* Rows of the longest line. */
size_t line_rows_most(const struct line_rows *f, const struct line_types *t, const shoal_labelled *l);
/* out gets the rows of a line of n types; gives how many. */
size_t line_rows_line(const struct line_rows *f, const struct line_types *t, const uint32_t *type,
                     size_t n, uint32_t *out);

/* Words that were looked up, by their hash: text says the same few words again and again. */
enum { WORD_CACHE = 1 << 13 };
struct word_cache {
    struct {
        uint64_t head, rest; /* struct key; words of up to KEY_WHOLE bytes alone */
        uint32_t len, id;    /* len 0: free */
    } at[WORD_CACHE];
};

/* The rows of one line of text after the other, for whoever is asked. */
struct line_features {
    const struct line_rows *f;
    const shoal_vocab *words;
    struct word_cache *cache; /* NULL: of a few lines it would cost more than it saves */
    uint32_t *row, *hash;
    size_t n, cap, nhash, hash_cap;
};

void line_features_begin(struct line_features *l);
shoal_status line_features_word(void *line_features, struct span token);
/* Behind the last token: LINE_END and the n-grams of words. */
shoal_status line_features_end(struct line_features *l);
void line_features_fini(struct line_features *l);

#endif
