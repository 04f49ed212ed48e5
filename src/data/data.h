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
#include "data/samples.h"
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
/* A place in the inputs where a word may begin. */
struct cut {
    size_t input;
    uint64_t offset; /* in its bytes as they lie on disk */
    bool inside;     /* a sentence: it has a word before */
};

/* Reads only what lies between, before the first text_next and until
 * text_rewind; an input ends where it is cut, but not its sentence. */
void text_between(struct text *t, const struct cut *from, const struct cut *to);
/* What it reads so; *inputs is how many there are in all. */
void text_range(const struct text *t, struct cut *from, struct cut *to, size_t *inputs);
/* Fills the next block; *more is false when there is none left. */
shoal_status text_next(struct text *t, struct block *b, bool *more);
/* Back to the first byte of all. */
shoal_status text_rewind(struct text *t, const char *phase);
/* What is read now must have so many bytes, or it has changed: as many as were
 * read before, unless others read some of them. */
void text_expect(struct text *t, uint64_t bytes);
/* After all threads have ended: forwards their status, with the sentence of the
 * first bad byte of the input if there was one, and gives what was read. */
shoal_status text_end(struct text *t, shoal_status st, struct shoal_text_stats *stats);
/* How a failure names an input: its path, or "standard input". */
const char *text_input(const struct text *t, size_t i);
void text_close(struct text *t);
void block_fini(struct block *b);

struct scanner;

/* What threads do with every block of a text. */
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
 * word if it is known whether that line has a word before. What is compressed
 * goes whole into one part, and all into part 0 if some input can be read only
 * once. Whoever asks, the answer is the same. */
shoal_status text_cut(struct cut *out, const struct inputs *inputs, enum shoal_tokens tokens,
                      unsigned i, unsigned n);

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
/* Adds what one thread's scanner has counted to the text's statistics. */
void text_add(struct text *t, const struct scanner *s);

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

/* The first n bytes at `at`, as far as 8 go, and zeros. */
static inline uint64_t key_part(const char *at, size_t n)
{
    uint64_t part;

    memcpy(&part, at, 8);
    return n >= 8 ? part : part & ((1ull << (8 * n)) - 1);
}

/* May read, never use, KEY_PAD bytes behind the word. */
static inline struct key key_of(const char *at, size_t len)
{
    struct key k = {.head = key_part(at, len)};
    uint64_t h;

    k.rest = key_part(at + 8, len > 8 ? len - 8 : 0);
    for (size_t i = 16; i < len; i += 8)
        k.rest = (k.rest ^ (k.rest >> 29)) * 0xd1342543de82ef95u + key_part(at + i, len - i);
    h = (k.head ^ len) * 0x9e3779b97f4a7c15u;
    h = ((h ^ (h >> 29)) + k.rest) * 0xd1342543de82ef95u;
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

shoal_status vocab_save(const shoal_vocab *vocab, struct container_writer *w);
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

/* ---- clicks.c: rows of clicks, as training sees them --------------------------------------- */

/* Row r has the features id[start[r]] .. id[start[r + 1] - 1], in the order of the text; an
 * id may stand in a row twice, where two features fell into one slot. Ids are numbered
 * hottest first: by count, the largest first, and equal ones by slot. All pointers lie in
 * the mapping (or in memory: shoal_clicks_read), were checked, and live until
 * shoal_clicks_close. */
struct clicks_view {
    uint64_t rows, positives, values; /* values: start[rows] */
    uint64_t counted;                 /* the sum of count */
    uint32_t features;                /* ids are below */
    unsigned bits;
    unsigned classes;      /* 2 at least */
    const uint8_t *label;  /* [rows] below classes */
    const uint64_t *start; /* [rows + 1] */
    const uint32_t *id;    /* [values] */
    const float *value;    /* [values] finite; NULL: all are 1 */
    const float *weight;   /* [rows] finite, >= 0; NULL: all are 1 */
    const uint32_t *slot;  /* [features] of id, below 2^bits */
    const uint64_t *count; /* [features] in the rows that were counted */
};

const struct clicks_view *clicks_view(const shoal_clicks *c);

/* How rows are read, so that a model may read others alike: lines of "meta". Strings
 * of *opts are then owned by *strings, for free(). */
shoal_status clicks_format_put(struct bytes *meta, const struct shoal_clicks_opts *opts);
shoal_status clicks_format_get(struct shoal_clicks_opts *opts, char **strings,
                            const struct container *c);

/* ---- clicks_stream.c: the same rows from text, block by block -------------------------------- */

#define CLICKS_NO_LABEL 255u

/* Rows in the order of the input, by slots, not ids. Borrowed until the next call. */
struct click_rows {
    size_t rows, values;
    const uint8_t *label;  /* [rows] the class, or CLICKS_NO_LABEL */
    const float *weight;   /* [rows]; NULL: all are 1 */
    const uint32_t *start; /* [rows + 1] into slot and value */
    const uint32_t *slot;  /* [values] */
    const float *value;    /* [values]; NULL: all are 1 */
};

struct click_stream;

/* Holds one block of text, whatever the inputs' size; pipes are read as they come.
 * With `unlabelled` a row may lack its label. */
shoal_status click_stream_open(struct click_stream **out, const struct sources *from,
                               const struct shoal_clicks_opts *opts, bool unlabelled);
/* rows->rows is 0 at the end. */
shoal_status click_stream_next(struct click_stream *s, struct click_rows *rows);
/* What was read so far; features, file_bytes and the seconds are 0. */
void click_stream_stats(const struct click_stream *s, struct shoal_clicks_stats *stats);
void click_stream_close(struct click_stream *s);

/* ---- clicks_slot.c: features by name -----------------------------------------------------------
 */

/* The slot that the reader of a format gives a feature without a namespace: of libsvm by
 * its index, of Vowpal Wabbit by its name. Fails for a name that could not stand in text
 * of that format, and for the other formats. */
shoal_status click_slot(uint32_t *slot, const struct shoal_clicks_opts *opts, const char *name,
                        size_t len);

/* ---- tensors.c: safetensors, named tensors in a file ------------------------------------ */

enum { FILE_TENSOR_NAME = 128, FILE_TENSOR_DIMS = 8 };

struct file_tensor {
    char name[FILE_TENSOR_NAME]; /* "" when it was longer */
    char dtype[8];               /* "F32", ... */
    size_t ndims, dims[FILE_TENSOR_DIMS];
    size_t begin, end; /* bytes of the data, as the header says: not checked */
};

struct tensors {
    const char *path;
    struct file_tensor *at; /* [n] in the order of the header */
    size_t n, cap;
    const char *data; /* [size] */
    size_t size;
    const char *meta, *meta_end; /* the metadata's JSON, or NULL */
};

bool tensors_sniff(const char *at, size_t len);
/* Borrows the bytes of a file, and its path for sentences. */
shoal_status tensors_read(struct tensors *t, const char *path, const char *at, size_t len);
void tensors_fini(struct tensors *t);
const struct file_tensor *tensors_find(const struct tensors *t, const char *name); /* or NULL */
/* Whether its numbers are floats that we read, and which. */
bool tensors_dtype(const struct file_tensor *t, enum shoal_dtype *out);
/* A string of the metadata, for free(); *text NULL when there is none. */
shoal_status tensors_text(const struct tensors *t, const char *name, char **text, size_t *len);
/* The header of a file with these tensors, padded to end at a multiple of 64; `meta`
 * is the inside of the metadata, or NULL. Its length goes before it as a u64. */
shoal_status tensors_header(struct bytes *b, const struct bytes *meta,
                            const struct file_tensor *list, size_t n);
/* Text as the inside of a JSON string. */
shoal_status tensors_escape(struct bytes *b, const char *text);

/* ---- image.c: JPEG and PNG files ------------------------------------------------ */

#define PICTURE_MAX_SIDE 16384u
#define PICTURE_MAX_PIXELS ((uint64_t)1 << 25)
#define PICTURE_MAX_FILE ((size_t)64 << 20)

struct picture {
    unsigned width, height, channels;
    uint8_t *at; /* [height][width][channels] */
};

/* As grey (1 channel) or red, green and blue (3). Sides and pixels beyond the
 * limits are refused by the file's head, before memory is taken for them. */
shoal_status picture_decode(struct picture *out, const char *name, const void *data, size_t len,
                            unsigned channels);
/* What its head says, within the limits of decoding, without decoding it. */
shoal_status picture_size(const char *name, const void *data, size_t len, unsigned *width,
                          unsigned *height);
shoal_status picture_read(struct picture *out, const char *path, unsigned channels);
void picture_fini(struct picture *p);

/* ---- image_head.c ---- */

/* The bytes that picture_decode takes for a picture of that size, its pixels included. */
uint64_t picture_cost(const void *data, size_t len, unsigned width, unsigned height,
                      unsigned channels);

/* ---- image_fit.c: the size that a model sees --------------------------------------- */

/* Scales so that the picture just covers height x width, and takes its middle:
 * out [channels][height][width]. */
shoal_status picture_fit(uint8_t *out, const struct picture *p, unsigned height, unsigned width);

/* ---- images.c: many pictures of one size, and their classes (shoal/images.h) ----------- */

enum { IMAGES_MAX_SIDE = 1024, IMAGES_MAX_CLASSES = 65536 };

/* Immutable once opened, but for images_match: threads share it without a lock. */
struct shoal_images {
    size_t count, classes;
    unsigned channels, height, width;
    uint8_t *pixels;  /* [count][channels][height][width]; NULL: decoded when asked for */
    uint32_t *labels; /* [count], each < classes */
    char **names;     /* [classes] */
    char **paths;     /* [count] of pictures in folders, or NULL */
    size_t room, label_room;
};

/* Picture i, out [channels][height][width]. */
shoal_status images_get(const shoal_images *set, size_t i, uint8_t *out);
size_t images_pixels(const shoal_images *set); /* channels x height x width */
/* Mean and standard deviation of each channel, of pixels from 0 to 1. */
shoal_status images_moments(const shoal_images *set, unsigned threads, float mean[3],
                            float std[3]);
/* Gives the classes the numbers they have in `names`, to which all must belong. */
shoal_status images_match(shoal_images *set, const char *path, char *const *names, size_t n);
/* A number that stands for pixels (or paths), labels and shape. */
uint64_t images_fingerprint(const shoal_images *set);

/* For images.c and the readers of its formats alone. */
shoal_status images_add(shoal_images *set, const uint8_t *pixels, uint32_t label);
/* Names a class, which may have had a name. */
shoal_status images_name(char **name, const char *text);
shoal_status images_read_cifar(shoal_images *set, const char *path);
shoal_status images_read_idx(shoal_images *set, const char *path);
shoal_status images_read_folder(shoal_images *set, const char *path,
                                const struct shoal_images_opts *opts);

/* ---- image_feed.c: batches of pictures, prepared ahead --------------------------------- */

struct feed_opts {
    size_t batch;     /* pictures asked for at once, at most */
    uint64_t seed;    /* of what is random, keyed by (seed, epoch, picture) */
    unsigned pad;     /* random crops of a picture with so many black pixels around */
    bool flip;        /* left and right, every other time */
    unsigned threads; /* that prepare; 1 .. FEED_MAX_THREADS */
    float mean[3], std[3];
};

enum { FEED_MAX_THREADS = 16 };

struct feed;

shoal_status feed_new(struct feed **out, const shoal_images *set, const struct feed_opts *opts);
void feed_free(struct feed *f);
size_t feed_bytes(const shoal_images *set, const struct feed_opts *opts);
/* Begins to prepare what will be asked for; a wish, which a full ring declines. */
void feed_ahead(struct feed *f, const uint32_t *ids, size_t n, unsigned epoch);
/* x [n][channels][height][width], normalised, and labels [n]; quick where it was
 * announced, with the same result where not. labels may be ids. Several threads may
 * ask. */
shoal_status feed_fill(struct feed *f, const uint32_t *ids, size_t n, unsigned epoch, float *x,
                       uint32_t *labels);

#endif
