/* shoal: many small workers moving as one.
 *
 * What this is: the whole public interface of libshoal. Text goes in, a
 * vocabulary and an encoded corpus come out, and models are trained on them.
 * Who owns what: a function that gives you an object through `T **out` gives
 * it to you; end it with the matching _free or _close, which accept NULL.
 * `const` pointers returned by an object live as long as that object.
 * Threads: different objects are independent. An object may be read by many
 * threads at once after it was made. Errors are kept per thread.
 *
 * The opening example (compiled and run by the tests):
 *
 *     const char *inputs[] = {"text.txt"};
 *     struct shoal_encode_opts opts = shoal_encode_default();
 *     shoal_corpus *corpus = NULL;
 *
 *     opts.vocab.min_count = 1;
 *     if (shoal_encode("text.shoal", inputs, 1, &opts, NULL) != SHOAL_OK ||
 *         shoal_corpus_open(&corpus, "text.shoal") != SHOAL_OK) {
 *         fprintf(stderr, "%s\n", shoal_error());
 *         return 1;
 *     }
 *     const shoal_vocab *vocab = shoal_corpus_vocab(corpus);
 *     printf("%zu words, commonest: %s\n", shoal_vocab_size(vocab),
 *            shoal_vocab_word(vocab, 0));
 *     shoal_corpus_close(corpus);
 */
#ifndef SHOAL_H
#define SHOAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHOAL_API __attribute__((visibility("default")))

/* ---- Status -------------------------------------------------------------
 * Every function that can fail returns a status; 0 is success. The sentence
 * that says who failed, what was found and what was wanted is shoal_error(). */

#define SHOAL_STATUS_MAP(X)                                                                        \
    X(OK, 0, "success")                                                                            \
    X(EINVAL, -1, "invalid argument")                                                              \
    X(ENOMEM, -2, "out of memory")                                                                 \
    X(EIO, -3, "input or output failed")                                                           \
    X(EFORMAT, -4, "malformed data")                                                               \
    X(ENOENT, -5, "not found")                                                                     \
    X(ELIMIT, -6, "over a limit")                                                                  \
    X(ESTOP, -7, "stopped on request")

typedef enum shoal_status {
#define X(name, value, text) SHOAL_##name = value,
    SHOAL_STATUS_MAP(X)
#undef X
} shoal_status;

/* The sentence of the calling thread's last failure; "" before the first.
 * Valid until the thread's next failure. */
SHOAL_API const char *shoal_error(void);

/* "EFORMAT" for SHOAL_EFORMAT; "?" for a number that is no status. */
SHOAL_API const char *shoal_status_name(shoal_status status);

/* "0.1.0" */
SHOAL_API const char *shoal_version(void);

/* ---- Watching long work -------------------------------------------------- */

struct shoal_progress {
    const char *phase;     /* "count", "encode", ... */
    uint64_t done;         /* units finished */
    uint64_t total;        /* units in all; 0 when unknown (a pipe) */
    const char *unit;      /* "bytes", "words", ... */
    double seconds;        /* since the phase began */
};

/* Called from one thread at a time, at most some ten times a second. Returning
 * false stops the work, which then fails with SHOAL_ESTOP. */
struct shoal_watch {
    bool (*fn)(void *user, const struct shoal_progress *progress);
    void *user;
};

/* ---- Text in -------------------------------------------------------------
 * Inputs are files, folders (all files below them, by name), quoted globs and
 * "-" for standard input; gzip and zstd are recognised by content. */

enum shoal_tokens {
    SHOAL_TOKENS_SPACE, /* split at white space, as word2vec.c and fastText do */
    SHOAL_TOKENS_WORDS, /* Unicode letters and digits, lower-cased */
};

enum shoal_bad_bytes {
    SHOAL_BAD_REFUSE, /* a byte that is no UTF-8 text fails, with its offset */
    SHOAL_BAD_SPACE,  /* such a byte is counted and read as a space */
};

struct shoal_text_stats {
    uint64_t bytes;       /* after decompression */
    uint64_t words;       /* tokens, before any vocabulary */
    uint64_t sentences;   /* newline-ended stretches that hold a word */
    uint64_t files;       /* inputs read */
    uint64_t bad_bytes;   /* read as spaces (SHOAL_BAD_SPACE) */
    uint64_t long_words;  /* over SHOAL_WORD_MAX bytes, left out */
};

/* The longest word in bytes; longer ones are left out, counted and reported. */
#define SHOAL_WORD_MAX 65535u

/* ---- Vocabulary ----------------------------------------------------------
 * The words of a corpus, commonest first and equal counts by bytes, so that
 * id 0 is the hottest row. Immutable once made. */

typedef struct shoal_vocab shoal_vocab;

#define SHOAL_UNK "<UNK>"
#define SHOAL_EOS "</s>" /* word2vec.c's name for the end of a sentence */

/* No id: what shoal_vocab_find gives for a word that is not there. */
#define SHOAL_NO_ID UINT32_MAX

struct shoal_vocab_opts {
    uint64_t min_count;         /* words seen less often are left out */
    uint64_t max_vocab;         /* at most so many entries, <UNK> among them; 0: all */
    bool unk;                   /* what is left out counts as <UNK> */
    uint64_t memory;            /* bytes for counting; beyond, counts go to disk */
    enum shoal_tokens tokens;
    enum shoal_bad_bytes bad_bytes;
    unsigned threads;           /* 0: one for each core */
    const char *tmp_dir;        /* for what does not fit; NULL: TMPDIR or /tmp */
    struct shoal_watch watch;
};

struct shoal_vocab_stats {
    struct shoal_text_stats text;
    uint64_t types;             /* different words seen */
    uint64_t size;              /* entries of the vocabulary, <UNK> among them */
    uint64_t kept_words;        /* tokens whose word is in it, <UNK> not counted */
    uint64_t spilled;           /* bytes of counts that went through the disk */
    /* When even the words of min_count do not fit `memory`, the rarest go:
     * every word seen fewer than `floor` times is left out. The counts of the
     * others are exact. Equal to min_count when all fitted. */
    uint64_t floor;
};

SHOAL_API struct shoal_vocab_opts shoal_vocab_default(void);
SHOAL_API shoal_status shoal_vocab_check(const struct shoal_vocab_opts *opts);

/* Counts the inputs with all threads. `stats` may be NULL. An input without a
 * single word is an error. The result does not depend on the threads. */
SHOAL_API shoal_status shoal_vocab_build(shoal_vocab **out, const char *const *inputs,
                                         size_t ninputs, const struct shoal_vocab_opts *opts,
                                         struct shoal_vocab_stats *stats);

/* Lines `word count`, as word2vec.c's -save-vocab writes them; a first line of
 * </s> is its sentence end and no word of ours. */
SHOAL_API shoal_status shoal_vocab_read(shoal_vocab **out, const char *path);

/* The same lines; with `eos`, or when </s> is itself the commonest word, a first
 * line `</s> SENTENCES`, which word2vec.c's -read-vocab expects there. "-"
 * writes to standard output. */
SHOAL_API shoal_status shoal_vocab_write(const shoal_vocab *vocab, const char *path, bool eos);

SHOAL_API void shoal_vocab_free(shoal_vocab *vocab);

SHOAL_API size_t shoal_vocab_size(const shoal_vocab *vocab);
/* NUL-terminated; NULL when id >= size. */
SHOAL_API const char *shoal_vocab_word(const shoal_vocab *vocab, uint32_t id);
SHOAL_API uint64_t shoal_vocab_count(const shoal_vocab *vocab, uint32_t id);
SHOAL_API uint32_t shoal_vocab_find(const shoal_vocab *vocab, const char *word, size_t len);
/* The id of <UNK>, or SHOAL_NO_ID. */
SHOAL_API uint32_t shoal_vocab_unk(const shoal_vocab *vocab);
/* The sum of all counts. */
SHOAL_API uint64_t shoal_vocab_total(const shoal_vocab *vocab);
/* Sentences of the text it was counted on; 0 when unknown. */
SHOAL_API uint64_t shoal_vocab_sentences(const shoal_vocab *vocab);

/* ---- Encoded corpus ------------------------------------------------------
 * Word ids with sentence ends and the vocabulary, in one mapped file
 * (docs/formats.md). Words outside the vocabulary are <UNK>, or left out when
 * there is none. */

typedef struct shoal_corpus shoal_corpus;

/* Stands in the ids after the last word of each sentence. */
#define SHOAL_SENTENCE_END UINT32_MAX

struct shoal_encode_opts {
    struct shoal_vocab_opts vocab; /* how to read and to count */
    const shoal_vocab *given;      /* use this vocabulary instead; borrowed */
    uint64_t memory_limit;         /* refuse to need more; 0: what the machine has free */
};

/* What a run will need, known before it starts. */
struct shoal_encode_plan {
    uint64_t input_bytes;    /* on disk; of pipes nothing is known */
    bool streamed;           /* some input can be read only once: it is spooled */
    uint64_t buffer_bytes;   /* reading and encoding, all threads */
    uint64_t vocab_bytes;    /* the most that counting may take */
    uint64_t memory_bytes;   /* the sum */
    uint64_t memory_free;    /* what may be used */
    uint64_t disk_bytes;     /* about what the output takes; 0: unknown */
    uint64_t disk_free;      /* where the output goes */
};

struct shoal_encode_stats {
    struct shoal_vocab_stats vocab;
    uint64_t ids;            /* words written */
    uint64_t sentences;      /* sentence ends written */
    uint64_t file_bytes;
    double count_seconds, encode_seconds;
};

SHOAL_API struct shoal_encode_opts shoal_encode_default(void);
SHOAL_API shoal_status shoal_encode_plan(struct shoal_encode_plan *plan, const char *path,
                                         const char *const *inputs, size_t ninputs,
                                         const struct shoal_encode_opts *opts);
/* Makes the plan, refuses what cannot fit, then counts, encodes and renames
 * the finished file to `path`; on failure nothing is left there. */
SHOAL_API shoal_status shoal_encode(const char *path, const char *const *inputs, size_t ninputs,
                                    const struct shoal_encode_opts *opts,
                                    struct shoal_encode_stats *stats);

/* Maps the file and checks every byte of it. */
SHOAL_API shoal_status shoal_corpus_open(shoal_corpus **out, const char *path);
SHOAL_API void shoal_corpus_close(shoal_corpus *corpus);
SHOAL_API const shoal_vocab *shoal_corpus_vocab(const shoal_corpus *corpus);
SHOAL_API uint64_t shoal_corpus_words(const shoal_corpus *corpus);
SHOAL_API uint64_t shoal_corpus_sentences(const shoal_corpus *corpus);

/* Part i of n in constant time: the parts are disjoint, in order and cover the
 * corpus; a part may begin within a sentence. *ids points into the mapping. */
SHOAL_API shoal_status shoal_corpus_part(const shoal_corpus *corpus, size_t i, size_t n,
                                         const uint32_t **ids, size_t *count);

/* ---- A world to learn ----------------------------------------------------
 * English-like sentences over planted facts, and the analogy questions that
 * good vectors of them answer. */

struct shoal_world_opts {
    uint64_t words; /* about so many tokens */
    uint64_t seed;
    struct shoal_watch watch;
};

struct shoal_world_stats {
    uint64_t words, sentences, bytes;
    uint64_t questions, sections;
};

SHOAL_API struct shoal_world_opts shoal_world_default(void);
/* `questions` may be NULL. Same options, same bytes. "-" is standard output. */
SHOAL_API shoal_status shoal_world_write(const char *text, const char *questions,
                                         const struct shoal_world_opts *opts,
                                         struct shoal_world_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
