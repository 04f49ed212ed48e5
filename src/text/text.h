/* text: from text to ids; a part of the door data.h. The public side is in shoal.h.
 *
 * What this is: blocks of clean text, their words, counts of words, vocabularies and the
 * encoded corpus.
 * Who owns what: a word (struct span) points into the block it came from.
 * Threads: a text is shared by all threads (text_next locks); a block, a scanner and a
 * counter belong to one thread. */
#ifndef SHOAL_TEXT_H
#define SHOAL_TEXT_H

#include <shoal.h>

#include "base/base.h"
#include "file/file.h"

#include <string.h>

/* ---- text.c: blocks of clean text -------------------------------------------- */

/* How text becomes words. */
struct rules {
    enum shoal_tokens tokens;
    enum shoal_bad_bytes bad;
    bool emoji;
};

static inline struct rules rules_of(const struct shoal_vocab_opts *opts)
{
    return (struct rules){opts->tokens, opts->bad_bytes, opts->emoji};
}

/* A piece of one input that ends at the end of a word, and at the end of a line if it holds
 * one. Its text is what the rules make of the bytes: words of UTF-8, or of bytes that are kept,
 * between bytes of 0x20 and less, of which LF and CR end lines. Blocks are numbered in the
 * order of the input. */
struct block {
    struct bytes raw;   /* as read */
    struct bytes words; /* what the rules made of it; unused where raw is that already */
    const char *text;   /* one of the two; BLOCK_PAD bytes behind it may be read */
    size_t len;
    uint64_t seq;
    bool inside; /* begins within a sentence that has a word in a block before */
    bool last;   /* its input ends here, and with it the sentence */
    bool made;   /* text is what raw became */
    /* SHOAL_TOKENS_BIGRAMS, where a block ends between two characters that are a pair: the first
     * of them ends this block and begins the next one, where the pair is. */
    bool pair_before, pair_after;
};

#define BLOCK_BYTES ((size_t)1 << 20)
#define BLOCK_PAD 64u

/* Makes the text of raw, which may change. *bad grows by the bytes that are not UTF-8, *first is
 * the first of them or raw.len; with SHOAL_BAD_REFUSE there is no text when there is one. */
shoal_status block_make(struct block *b, const struct rules *r, size_t *first, uint64_t *bad);

struct text;

/* Borrows inputs until text_close. With `again`, what can be read only once is
 * copied to a spool in opts->tmp_dir, so that text_rewind is possible. */
shoal_status text_open(struct text **out, const struct inputs *inputs,
                       const struct shoal_vocab_opts *opts, bool again, const char *phase);
/* A place in the inputs where a word may begin. */
struct cut {
    size_t input;
    uint64_t offset; /* in its bytes as they lie on disk */
    bool inside;     /* a sentence: it has a word before */
};

/* Reads only what lies between, before the first text_next and until
 * text_rewind; an input ends where it is cut, but not its sentence. */
void text_limit(struct text *t, const struct cut *from, const struct cut *to);
/* What it reads so; *inputs is how many there are in all. */
void text_range(const struct text *t, struct cut *from, struct cut *to, size_t *inputs);
/* Fills the next block; *more is false when there is none left. */
shoal_status text_next(struct text *t, struct block *b, bool *more);
/* Back to the first byte of all. */
shoal_status text_rewind(struct text *t, const char *phase);
/* What is read now must have so many bytes, or it has changed: as many as were
 * read before, unless others read some of them. */
void text_expect_bytes(struct text *t, uint64_t bytes);
/* After all threads have ended: forwards their status, with the sentence of the
 * first bad byte of the input if there was one, and gives what was read. */
shoal_status text_end(struct text *t, shoal_status st, struct shoal_text_stats *stats);
/* How a failure names an input: its path, or "standard input". */
const char *text_input(const struct text *t, size_t i);
void text_close(struct text *t);
void block_fini(struct block *b);

struct scanner;

/* What threads do with every block of a text. Blocks are numbered by who reads them, under a
 * lock; what is made of a block by itself is done by many threads at once, in any order; what
 * depends on the blocks before it (writing to a file, a pair over the seam of two blocks) is
 * done by the number of the block. So the result does not depend on the threads:
 *
 *     reader    0    1    2    3   ...
 *     block     [ 0 ]  [ 2  ]          thread A
 *                [   1   ]  [ 3 ]      thread B
 *     ordered        0    1 2  3
 */
struct text_work {
    size_t state; /* bytes that each thread has for itself, zeroed */
    /* What can be made of a block by itself; the scanner is at its beginning. */
    shoal_status (*block)(void *ctx, void *state, unsigned thread, struct scanner *scan,
                          const struct block *b);
    /* Then what keeps the order of the input, one block at a time; or NULL. */
    shoal_status (*ordered)(void *ctx, void *state, unsigned thread);
    void (*fini)(void *state); /* or NULL */
};

/* From where the text is to its end; forwards a failure as text_end does. */
shoal_status text_run(struct text *t, unsigned threads, const struct text_work *work, void *ctx,
                      struct shoal_text_stats *stats);

/* ---- cut.c: one text for several readers ------------------------------------------ */

/* Where part i of n of the inputs begins, 0 <= i <= n, part n being the end. The
 * parts are about equal in bytes on disk, and read one by one they have the same
 * words and sentences as all at once: a part begins behind a line, or behind a
 * word if it is known whether that line has a word before. What is compressed or
 * not UTF-8 goes whole into one part, and all into part 0 if some input can be read only
 * once. Whoever asks, the answer is the same. */
shoal_status text_cut(struct cut *out, const struct inputs *inputs,
                      const struct shoal_vocab_opts *opts, unsigned i, unsigned n);

/* ---- decode.c: text that is not UTF-8 ------------------------------------------------ */

enum coding { CODING_UTF8, CODING_LATIN1, CODING_WINDOWS_1252, CODING_UTF16LE, CODING_UTF16BE };

/* An input on its way to UTF-8, piece by piece. */
struct decoder {
    enum coding coding;
    bool half;          /* a byte waits for the other one of its unit */
    unsigned char byte; /* that one */
    uint32_t high;      /* the first half of a pair waits for the second; 0: none */
};

/* How an input is to be read of which `head` [len] is the beginning, a megabyte or all of it.
 * Fails where it is plainly something else than asked for. */
shoal_status decoder_begin(struct decoder *d, const struct shoal_vocab_opts *opts,
                           const char *name, const char *head, size_t len);
/* Appends what the bytes are in UTF-8; `end` when none follow. Half of a UTF-16 pair becomes
 * three bytes and half of a unit one byte, DECODE_HALF, that are not UTF-8. */
#define DECODE_HALF '\xff'
shoal_status decoder_add(struct decoder *d, const char *in, size_t len, bool end,
                         struct bytes *out);
/* What a failure may say about text that is not UTF-8 somewhere; `whole`: its end cuts no
 * character. */
const char *decode_advice(const char *at, size_t len, bool whole);

/* ---- clean.c: UTF-8 and what is not, lower case, where words end ----------------------- */

/* The first place that the scanner cannot take as it is: a byte that is not UTF-8, or a control
 * character of which it does not know that it separates (0x7f, U+0080 to U+009F); len when none. */
size_t clean_find(const char *at, size_t len);
/* The first byte that is neither UTF-8 nor printable nor ASCII white space; len when none. */
size_t clean_find_bad(const char *at, size_t len);
/* The character at at[0], len > 0: its bytes, 0 when it is broken. */
size_t clean_code(const char *at, size_t len, uint32_t *code);
/* Bytes of a broken one: those that could begin a character, as Python replaces them, or 1. */
size_t clean_broken(const char *at, size_t len);
/* Lower-cases letters and digits into out and turns all else, but ends of lines, into spaces. */
shoal_status clean_words(const char *in, size_t len, const struct rules *r, struct bytes *out);
/* One character, or a broken one that is kept or replaced, in lower case; gives the bytes written,
 * four at most. */
size_t clean_lower(const char *in, size_t len, const struct rules *r, char *out);
/* The end of the last separator, or the start of the first one; 0 or len when there is none.
 * No word and no emoji goes on over it. The text begins and ends with whole characters. */
size_t clean_last_break(const char *at, size_t len, const struct rules *r);
size_t clean_first_break(const char *at, size_t len, const struct rules *r);
/* The length without a character that the end cuts in two. */
size_t clean_whole(const char *at, size_t len);
/* Behind the last end of a line, LF or CR; 0 when there is none. */
size_t clean_last_line(const char *at, size_t len);

/* Marks (accents, vowel signs) carry a word on but do not begin one, so that
 * decomposed and Indic text keeps its words. */
enum char_class { CHAR_BREAK, CHAR_MARK, CHAR_WORD };

enum char_class clean_class(uint32_t code, const struct rules *r);

static inline bool ascii_word(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* ---- segment.c: words without separators between them --------------------------------- */

/* Whether the rules know such words: characters, pairs of them, emoji. */
bool segment_has_seams(const struct rules *r);
/* As clean_words; whether the text begins or ends between the two characters of a pair. */
shoal_status segment_words(const char *in, size_t len, const struct rules *r, bool pair_before,
                           bool pair_after, struct bytes *out);
/* The last place at which a word begins: text up to it is whole, and goes on at *next, which is
 * less where a pair goes over it; 0 when there is none. */
size_t segment_last_seam(const char *at, size_t len, const struct rules *r, size_t *next);
/* Where a word ends that began before. */
size_t segment_first_end(const char *at, size_t len, const struct rules *r);
/* struct shoal_text_stats.unspaced of these bytes. */
uint64_t segment_unspaced(const char *at, size_t len, const struct rules *r);

/* ---- clean.c, for those who compare words ---- */

/* The character at *at < end, which moves behind it; a byte that is no UTF-8 is
 * CLEAN_NO_CODE more than itself. */
#define CLEAN_NO_CODE 0x110000u
uint32_t clean_next(const char **at, const char *end);
/* Its upper case, as toupper has it in the C locale for ASCII; no character
 * beyond ASCII becomes one within. */
uint32_t clean_upper_code(uint32_t code);
/* The whole word so; KEY_PAD bytes behind it may be read. */
shoal_status clean_upper(const char *in, size_t len, struct bytes *out);

/* ---- words.c: the words of a block ------------------------------------------------ */

/* A word is a span of its block's text; a span of no bytes is the end of a sentence that
 * held a word. */
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
/* The words of a text in memory, by the rules but refusing nothing: out points into b, which
 * block_fini ends. *n of them, free(*out). */
shoal_status text_words(const char *text, size_t len, const struct rules *r, struct block *b,
                      struct span **out, size_t *n);
/* Adds what one thread's scanner has counted to the text's statistics. */
void text_add_scanned(struct text *t, const struct scanner *s);

/* ---- a word's key, made once and compared everywhere ---------------------------------- */

/* Head and rest are all of a word of up to 16 bytes, which is nearly every one,
 * so that such words are compared without a look elsewhere. */
struct key {
    uint64_t head; /* the first 8 bytes, zero-padded */
    uint64_t rest; /* the next 8; beyond 16 bytes mixed with all that follow */
    uint64_t hash;
};

#define KEY_WHOLE 16u /* bytes that head and rest hold */
#define KEY_PAD 15u

/* May read, never use, KEY_PAD bytes behind the word. */
static inline struct key word_key_of(const char *at, size_t len)
{
    struct key k = {.head = span_bytes8(at, len)};
    uint64_t h;

    k.rest = span_bytes8(at + 8, len > 8 ? len - 8 : 0);
    for (size_t i = 16; i < len; i += 8)
        k.rest = (k.rest ^ (k.rest >> 29)) * 0xd1342543de82ef95u + span_bytes8(at + i, len - i);
    h = (k.head ^ len) * 0x9e3779b97f4a7c15u;
    h = ((h ^ (h >> 29)) + k.rest) * 0xd1342543de82ef95u;
    k.hash = h ^ (h >> 32);
    return k;
}

/* ---- subwords.c: the n-grams of a word ---------------------------------------------- */

/* Of characters, those of `<word>`; each has a row among `buckets`. maxn 0: there are none. */
struct subwords {
    unsigned minn, maxn;
    uint32_t buckets;
    /* 0: fastText's hash, and a word has a row of its own besides. 1 to 4: floret's: the word too
     * is hashed, and it and each n-gram have so many rows among the buckets. */
    unsigned hashes;
};

enum { SUBWORDS_MAXN = 32, SUBWORDS_HASHES = 4 }; /* of maxn, of hashes */
#define SUBWORDS_BUCKETS ((uint32_t)1 << 30) /* of buckets */

uint32_t subwords_hash(const char *at, size_t len);
/* floret's: 128 bits of MurmurHash3 (x64) as four numbers, each of which gives a row. */
#define SUBWORDS_SEED 2166136261u
void subwords_murmur(const char *at, size_t len, uint32_t out[SUBWORDS_HASHES]);
/* The rows of a word's n-grams, and with hashes those of the word before them; those behind the
 * first cap are left out; gives how many there are. One may be there twice. `</s>`, which ends sentences in fastText's files, has none. Bytes that are no
 * UTF-8 are taken as fastText takes them. */
size_t subwords_list(const struct subwords *s, const char *word, size_t len, uint32_t *out,
                     size_t cap);

/* ---- count.c: how often each word was seen ----------------------------------------------- */

struct counter;

/* At most `memory` bytes; beyond that sorted counts go to a spool in tmp_dir.
 * With less than COUNTER_MIN, twice its first table, it would do little else. */
#define COUNTER_MIN ((uint64_t)1 << 18)
shoal_status counter_new(struct counter **out, uint64_t memory, const char *tmp_dir);
shoal_status counter_add(struct counter *c, const struct span *words, size_t n);
/* A word that was seen `count` times; KEY_PAD bytes behind it may be read. */
shoal_status counter_add_times(struct counter *c, struct span word, uint64_t count);
/* Bytes that went to disk. */
uint64_t counter_spilled(const struct counter *c);
void counter_free(struct counter *c);

/* All that a counter has counted, in no order; a word may come several times,
 * with parts of its count. Nothing may be added meanwhile. */
struct counter_walk;

shoal_status counter_walk_new(struct counter_walk **out, const struct counter *c);
/* The word's len is 0 at the end; it stays until the next call. */
shoal_status counter_walk_next(struct counter_walk *w, struct span *word, uint64_t *count);
void counter_walk_free(struct counter_walk *w);

/* How a word and its count go to disk and to other processes: this, then the word. */
struct count_record {
    uint64_t count;
    uint32_t len;
} __attribute__((packed));

shoal_status count_record_add(struct bytes *b, struct span word, uint64_t count);
/* By bytes; of a word and a longer one that begins with it the shorter is first. */
int span_compare(struct span a, struct span b);

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

static inline struct span tally_span(const struct tallies *t, size_t i)
{
    return (struct span){t->arena.at + t->at[i].offset, t->at[i].len};
}

/* The words seen at least min_count times over all counters, in no order, and
 * at most `memory` bytes of them: see shoal_vocab_stats.floor. */
shoal_status counter_merge(struct tallies *out, struct counter **counters, size_t n,
                           uint64_t min_count, uint64_t memory);
shoal_status tallies_add(struct tallies *t, struct span word, uint64_t count);
/* Leaves out the rarest words, one count after the other, until it fits. */
void tallies_fit(struct tallies *t, uint64_t memory);
void tallies_fini(struct tallies *t);

/* ---- vocab.c -------------------------------------------------------------------------------- */

/* Counts a text that stays open. */
shoal_status vocab_count(shoal_vocab **out, struct text *text, const struct shoal_vocab_opts *opts,
                         struct shoal_vocab_stats *stats);
/* Finds n words at once, SHOAL_NO_ID for sentence ends and what is not there;
 * 7 bytes behind each word may be read. */
void vocab_find_all(const shoal_vocab *v, const struct span *words, size_t n, uint32_t *ids);

/* ---- vocab_parts.c: a vocabulary that several processes count ---------------------------------
 *
 *     open                each of n
 *     count               its part of the text
 *     pack, unpack        rounds: what it counted goes to the words' owners, a batch for
 *                         each, until nobody has more
 *     settle              sums of its own words, those over the floor for all
 *     join                all of them: the vocabulary that one alone would have counted
 *
 * A word's hash says who owns it. Nothing is left out before its owner has the sum. */

struct vocab_part;

/* The memory of opts is for what it counted, and again for what it owns. */
shoal_status vocab_part_open(struct vocab_part **out, const struct shoal_vocab_opts *opts,
                             unsigned part, unsigned parts);
/* The text is borrowed, for its name, until vocab_part_join. */
shoal_status vocab_part_count(struct vocab_part *p, struct text *text);
/* The next batch for each owner into out[parts], emptied before, each of at most
 * `room` >= VOCAB_PACK_MIN bytes; *more is false after the last one. */
#define VOCAB_PACK_MIN ((size_t)SHOAL_WORD_MAX + 12)
shoal_status vocab_part_pack(struct vocab_part *p, struct bytes *out, size_t room, bool *more);
/* A batch that any of them packed for this one, which is checked; KEY_PAD bytes
 * behind it may be read. */
shoal_status vocab_part_unpack(struct vocab_part *p, const char *data, size_t len);
shoal_status vocab_part_settle(struct vocab_part *p, struct bytes *out);
/* data has the bytes that n parts settled for, in their order, which are checked. */
shoal_status vocab_part_join(shoal_vocab **out, struct vocab_part *p, const char *data,
                             const size_t *lens, struct shoal_vocab_stats *stats);
void vocab_part_close(struct vocab_part *p);

/* ---- vocab_file.c: in a container, and copies ------------------------------------------------ */

/* With the rules by which it was counted, or with others by which a text was encoded. */
shoal_status vocab_save(const shoal_vocab *vocab, struct container_writer *w);
shoal_status vocab_save_with(const shoal_vocab *vocab, const struct rules *r,
                             struct container_writer *w);
/* SHOAL_TOKENS_SPACE where they are not known. */
struct rules vocab_rules(const shoal_vocab *vocab);
/* Before it is shared, of one that was made of lines. */
void vocab_set_rules(shoal_vocab *vocab, struct rules rules);
shoal_status vocab_load(shoal_vocab **out, const struct container *c);
shoal_status vocab_copy(shoal_vocab **out, const shoal_vocab *vocab);
/* A number that stands for the words and their order. */
uint64_t vocab_fingerprint(const shoal_vocab *vocab);

/* The same sections for the first n words and one more, the index that finds
 * them where they lie; fails when one of them is malformed or stands there
 * twice. */
shoal_status vocab_save_mapped(const shoal_vocab *vocab, size_t n, struct container_writer *w);
/* Uses what vocab_save_mapped wrote in place, without reading through it: a
 * word that is malformed reads "" and is not found. The container must stay
 * open. */
shoal_status vocab_map(shoal_vocab **out, const struct container *c);
/* Looks at every word, which vocab_map does not; `who` is for the sentence. */
shoal_status vocab_check(const shoal_vocab *vocab, const char *who);

/* Words in the order given, of unknown count (0). None may be empty, hold a
 * NUL, have over SHOAL_WORD_MAX bytes or stand there twice. */
shoal_status vocab_from_words(shoal_vocab **out, const char *who, const struct span *words,
                              size_t n);

/* The same of words that may be empty or stand there twice: those are left out, all but the first
 * of equals. counts [n], or NULL: not known. rows [n]: of each id the place of its word among
 * all. */
struct words_left {
    size_t twice, empty;  /* how many */
    size_t first, before; /* the place of the first, and of the word that it repeats */
};
shoal_status vocab_from_rows(shoal_vocab **out, const char *who, const struct span *words,
                             const uint64_t *counts, size_t n, uint32_t *rows,
                             struct words_left *left);

/* Whether these first bytes of a text, or all of them, are lines `word count`. A line `V D` alone
 * is none, nor are vectors of one number, V lines behind a line `V 1`. */
bool vocab_sniff(const char *at, size_t len, bool whole);

/* ---- corpus.c: shoal_encode in steps, for those who count together ------------------------- */

struct encoding;

/* Makes the plan and refuses what cannot fit. Borrows what opts points at. */
shoal_status encoding_open(struct encoding **out, const char *path, const struct sources *from,
                           const struct shoal_encode_opts *opts);
/* Only part i of n is to be counted. */
shoal_status encoding_part(struct encoding *e, unsigned i, unsigned n);
/* To be counted; borrowed, as its options are, in which a folder for spools is chosen. */
struct text *encoding_text(struct encoding *e);
const struct shoal_vocab_opts *encoding_opts(const struct encoding *e);
/* After counting: back to the first byte of all inputs. `counted` is what all
 * have read of them together; NULL: this one read them alone. */
shoal_status encoding_rewind(struct encoding *e, const struct shoal_text_stats *counted);
shoal_status encoding_write(struct encoding *e, const shoal_vocab *vocab,
                            struct shoal_encode_stats *stats);
void encoding_close(struct encoding *e);

#include "text/labelled.h"

#endif
