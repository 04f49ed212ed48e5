/* data: from text to ids.
 *
 * What this is: blocks of clean text, their words, the vocabulary, the encoded
 * corpus, and a made-up world to learn from. The public types are described in
 * shoal.h; here is what this room and the rooms above need besides.
 * Who owns what: a word (struct span) points into the block it came from.
 * Threads: a text is shared by all threads (text_next locks); a block, a
 * scanner and a counter belong to one thread. */
#ifndef SHOAL_DATA_H
#define SHOAL_DATA_H

#include <shoal.h>

#include "base/base.h"
#include "file/file.h"

#include <string.h>

/* ---- text.c: blocks of clean text -------------------------------------------- */

/* A stretch of one input that ends at the end of a word, and at the end of a
 * line if it holds one. Checked as UTF-8 without control bytes; with
 * SHOAL_TOKENS_WORDS lower-cased, each separator a space. Blocks are numbered
 * in the order of the input. */
struct block {
    struct bytes raw;   /* as read */
    struct bytes lower; /* as words; unused with SHOAL_TOKENS_SPACE */
    const char *text;   /* one of the two; BLOCK_PAD bytes behind it may be read */
    size_t len;
    uint64_t seq;
    bool inside; /* begins within a sentence that has a word in a block before */
    bool last;   /* its input ends here, and with it the sentence */
};

#define BLOCK_BYTES ((size_t)1 << 20)
#define BLOCK_PAD 64u

struct text;

/* Borrows inputs until text_close. With `again`, what can be read only once is
 * copied to a spool in opts->tmp_dir, so that text_rewind is possible. */
shoal_status text_open(struct text **out, const struct inputs *inputs,
                       const struct shoal_vocab_opts *opts, bool again, const char *phase);
/* Fills the next block; *more is false when there is none left. */
shoal_status text_next(struct text *t, struct block *b, bool *more);
/* Back to the first byte. */
shoal_status text_rewind(struct text *t, const char *phase);
/* After all threads have ended: forwards their status, with the sentence of the
 * first bad byte of the input if there was one, and gives what was read. */
shoal_status text_end(struct text *t, shoal_status st, struct shoal_text_stats *stats);
/* Adds one thread's counts (words, sentences, long_words). */
void text_add(struct text *t, const struct shoal_text_stats *part);
void text_close(struct text *t);
void block_fini(struct block *b);

/* ---- clean.c: bytes that are no text, and lower case ---------------------------- */

/* The first byte that is neither UTF-8 text nor white space; len when none. */
size_t clean_find_bad(const char *at, size_t len);
/* Lower-cases letters and digits into out and turns all else, but newlines,
 * into spaces. `in` is valid UTF-8. */
shoal_status clean_words(const char *in, size_t len, struct bytes *out);
/* The end of the last separator, or the start of the first one; 0 or len when
 * there is none. */
size_t clean_last_break(const char *at, size_t len, enum shoal_tokens tokens);
size_t clean_first_break(const char *at, size_t len, enum shoal_tokens tokens);

/* ---- words.c: the words of a block ------------------------------------------------ */

struct span {
    const char *at;
    uint32_t len; /* 0: the end of a sentence that held a word */
};

struct scanner {
    const struct block *block;
    size_t pos;   /* the group of 64 bytes to look at next */
    size_t start; /* of the word we are in */
    bool in_word, open;
    uint64_t words, sentences, long_words;
};

/* Restarts the scanner on a block, keeping its counts. */
void scanner_begin(struct scanner *s, const struct block *b);
/* Fills out with the next words; 0 at the end of the block. */
#define SPANS_MIN 72u /* the least cap */
size_t scanner_next(struct scanner *s, struct span *out, size_t cap);

/* ---- a word's key, made once and compared everywhere ---------------------------------- */

struct key {
    uint64_t head; /* the first 8 bytes, zero-padded: all of a short word */
    uint64_t hash;
};

/* May read, never use, 7 bytes behind the word. */
static inline struct key key_of(const char *at, size_t len)
{
    struct key k;
    uint64_t h;

    memcpy(&k.head, at, 8);
    if (len < 8)
        k.head &= (1ull << (8 * len)) - 1;
    h = (k.head ^ len) * 0x9e3779b97f4a7c15u;
    for (size_t i = 8; i < len; i += 8) {
        uint64_t next;

        memcpy(&next, at + i, 8);
        if (len - i < 8)
            next &= (1ull << (8 * (len - i))) - 1;
        h = ((h ^ (h >> 29)) + next) * 0xd1342543de82ef95u;
    }
    k.hash = h ^ (h >> 32);
    return k;
}

/* ---- count.c: how often each word was seen ----------------------------------------------- */

struct counter;

/* At most `memory` bytes; beyond that sorted counts go to a spool in tmp_dir.
 * With less than COUNTER_MIN, twice its first table, it would do little else. */
#define COUNTER_MIN ((uint64_t)1 << 18)
shoal_status counter_new(struct counter **out, uint64_t memory, const char *tmp_dir);
shoal_status counter_add(struct counter *c, const struct span *words, size_t n);
void counter_free(struct counter *c);

/* One word and its total over all threads. */
struct tally {
    uint64_t count;
    uint64_t offset; /* into the arena */
    uint32_t len;
};

struct tallies {
    struct tally *at;
    size_t len, cap;
    struct bytes arena;
    uint64_t floor, types, spilled;
};

/* The words seen at least min_count times over all counters, in no order, and
 * at most `memory` bytes of them: see shoal_vocab_stats.floor. */
shoal_status counter_merge(struct tallies *out, struct counter **counters, size_t n,
                           uint64_t min_count, uint64_t memory);
void tallies_fini(struct tallies *t);

/* ---- vocab.c -------------------------------------------------------------------------------- */

/* Counts a text that stays open. */
shoal_status vocab_count(shoal_vocab **out, struct text *text, const struct shoal_vocab_opts *opts,
                         struct shoal_vocab_stats *stats);
/* Finds n words at once, SHOAL_NO_ID for sentence ends and what is not there;
 * 7 bytes behind each word may be read. */
void vocab_find_all(const shoal_vocab *v, const struct span *words, size_t n, uint32_t *ids);

/* The `word count` lines of shoal_vocab_read, already in memory; `path` names
 * them in a failure. */
shoal_status vocab_parse(shoal_vocab **out, const char *path, const char *at, size_t len);

shoal_status vocab_save(const shoal_vocab *vocab, struct container_writer *w);
shoal_status vocab_load(shoal_vocab **out, const struct container *c);

#endif
