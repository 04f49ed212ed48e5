/* shoal: many small workers moving as one.
 *
 * What this is: the public interface of libshoal: what all of it shares, text and
 * vectors here, the rest in the parts that are included at the end. Text goes in, a
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
    X(ESTOP, -7, "stopped on request")                                                             \
    X(EPEER, -8, "another rank is gone")                                                           \
    X(EDIVERGE, -9, "training went astray")

typedef enum shoal_status {
#define X(name, value, text) SHOAL_##name = value,
    SHOAL_STATUS_MAP(X)
#undef X
} shoal_status;

/* The sentence of the calling thread's last failure; "" before the first.
 * Valid until the thread's next failure. */
SHOAL_API const char *shoal_error(void);
/* Makes that sentence and gives the status: for failures of the caller's own that
 * are to be forwarded, or agreed on, as the library's are. */
SHOAL_API shoal_status shoal_fail(shoal_status status, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* "EFORMAT" for SHOAL_EFORMAT; "?" for a number that is no status. */
SHOAL_API const char *shoal_status_name(shoal_status status);
/* The version: of this header as a number, 10,000 major + 100 minor + patch; of the library
 * that is loaded as text and as such a number, which may be higher. */
#define SHOAL_VERSION_NUM 200
SHOAL_API const char *shoal_version(void); /* "0.2.0" */
SHOAL_API unsigned shoal_version_num(void);
/* free() of what the library says is for free(), where the caller has another one. */
SHOAL_API void shoal_free(void *memory);

/* ---- Watching long work -------------------------------------------------- */

struct shoal_progress {
    const char *phase;     /* "count", "encode", ... */
    uint64_t done, total;  /* units finished; in all, or 0 when unknown (a pipe) */
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
 * "-" for standard input; gzip, zstd, bzip2 and xz are recognised by content. */

/* Bytes in memory, for the readers whose names end with _memory: borrowed for the
 * call, and read as they are, never decompressed. */
struct shoal_memory {
    const char *name; /* for sentences */
    const void *data; /* [size] */
    size_t size;
};

enum shoal_tokens {
    SHOAL_TOKENS_SPACE, /* split at white space, as word2vec.c and fastText do */
    SHOAL_TOKENS_WORDS, /* Unicode letters and digits, lower-cased */
    /* The same, but what is written without spaces (Chinese, Japanese, Korean, Thai, Lao,
     * Khmer, Burmese) is cut: each character a word, or each two side by side. */
    SHOAL_TOKENS_CHARS,
    SHOAL_TOKENS_BIGRAMS,
};

enum shoal_bad_bytes {    /* that are not UTF-8; control bytes are, and separate words */
    SHOAL_BAD_REFUSE,     /* the first one fails, with its place */
    SHOAL_BAD_SPACE,      /* each separates, as a space does */
    SHOAL_BAD_REPLACE,    /* each broken character becomes U+FFFD, a part of its word */
    SHOAL_BAD_KEEP,       /* they stay as they are, a part of their word */
};

enum shoal_encoding {
    SHOAL_ENCODING_UTF8,         /* what looks like UTF-16 is refused, unless bad bytes are not */
    SHOAL_ENCODING_AUTO,         /* UTF-16, UTF-8 or Windows-1252: by each input's first megabyte */
    SHOAL_ENCODING_LATIN1,       /* ISO 8859-1 */
    SHOAL_ENCODING_WINDOWS_1252, /* the same, with quotes, dashes and the euro from 0x80 on */
    SHOAL_ENCODING_UTF16,        /* by its mark, else by its zero bytes */
};

struct shoal_text_stats {
    uint64_t bytes;       /* after decompression */
    uint64_t words;       /* tokens, before any vocabulary */
    uint64_t sentences;   /* lines that hold a word; they end with LF, CR or both */
    uint64_t files;       /* inputs read */
    uint64_t bad_bytes;   /* that were not UTF-8, and not refused */
    uint64_t long_words;  /* over SHOAL_WORD_MAX bytes, left out */
    /* Characters a word, where the first megabyte is written without spaces (Chinese,
     * Japanese, Thai, ...) and was not cut into words; else 0. */
    uint64_t unspaced;
};

#define SHOAL_WORD_MAX 65535u /* bytes; longer words are left out, counted and reported */

/* ---- Vocabulary ----------------------------------------------------------
 * The words of a corpus, commonest first and equal counts by bytes, so that
 * id 0 is the hottest row. Immutable once made. */

typedef struct shoal_vocab shoal_vocab;
#define SHOAL_UNK "<UNK>"
#define SHOAL_EOS "</s>" /* word2vec.c's name for the end of a sentence */
#define SHOAL_NO_ID UINT32_MAX /* of a word that is not there */

struct shoal_vocab_opts {
    uint64_t min_count;         /* words seen less often are left out */
    uint64_t max_vocab;         /* at most so many entries, <UNK> among them; 0: all */
    bool unk;                   /* what is left out counts as <UNK> */
    uint64_t memory;            /* bytes for counting; beyond, counts go to disk */
    enum shoal_tokens tokens;
    enum shoal_bad_bytes bad_bytes;
    enum shoal_encoding encoding;
    bool emoji;                 /* are words; with SHOAL_TOKENS_SPACE they always are */
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
    /* min_count, or more when even those words did not fit `memory`: words seen
     * fewer times are left out, the counts of the others are exact. */
    uint64_t floor;
};

SHOAL_API struct shoal_vocab_opts shoal_vocab_default(void);
SHOAL_API shoal_status shoal_vocab_check(const struct shoal_vocab_opts *opts);
/* Counts the inputs with all threads. `stats` may be NULL. An input without a
 * single word is an error. The result does not depend on the threads. */
SHOAL_API shoal_status shoal_vocab_build(shoal_vocab **out, const char *const *inputs,
                                         size_t ninputs, const struct shoal_vocab_opts *opts,
                                         struct shoal_vocab_stats *stats);
SHOAL_API shoal_status shoal_vocab_build_memory(shoal_vocab **out,
                                                const struct shoal_memory *inputs, size_t ninputs,
                                                const struct shoal_vocab_opts *opts,
                                                struct shoal_vocab_stats *stats);
/* Lines `word count`, as word2vec.c's -save-vocab writes them; a first line of
 * </s> is its sentence end and no word of ours. */
SHOAL_API shoal_status shoal_vocab_read(shoal_vocab **out, const char *path);
SHOAL_API shoal_status shoal_vocab_read_memory(shoal_vocab **out, const struct shoal_memory *lines);
/* Whether a file looks like such lines, compressed or not; never of a pipe. */
SHOAL_API bool shoal_vocab_recognise(const char *path);
/* The same lines; with `eos`, or when </s> is itself the commonest word, a first
 * line `</s> SENTENCES`, as word2vec.c's -read-vocab expects. "-": standard output. */
SHOAL_API shoal_status shoal_vocab_write(const shoal_vocab *vocab, const char *path, bool eos);
SHOAL_API void shoal_vocab_free(shoal_vocab *vocab);
SHOAL_API size_t shoal_vocab_size(const shoal_vocab *vocab);
/* NUL-terminated; NULL when id >= size. */
SHOAL_API const char *shoal_vocab_word(const shoal_vocab *vocab, uint32_t id);
SHOAL_API uint64_t shoal_vocab_count(const shoal_vocab *vocab, uint32_t id);
SHOAL_API uint32_t shoal_vocab_find(const shoal_vocab *vocab, const char *word, size_t len);
SHOAL_API uint32_t shoal_vocab_unk(const shoal_vocab *vocab);   /* of <UNK>, or SHOAL_NO_ID */
SHOAL_API uint64_t shoal_vocab_total(const shoal_vocab *vocab); /* of all counts */
SHOAL_API uint64_t shoal_vocab_sentences(const shoal_vocab *vocab); /* counted; 0: unknown */
/* How its text became words; SHOAL_TOKENS_SPACE also when that is not known. */
SHOAL_API enum shoal_tokens shoal_vocab_tokens(const shoal_vocab *vocab);

/* ---- Phrases -------------------------------------------------------------
 * Two words that stand side by side more often than chance become one,
 * `new york` to `new_york`, as word2phrase does (Mikolov et al. 2013, eq. 6):
 *
 *     (count(a b) - min_count) / (count(a) * count(b)) * words > threshold
 *
 * from left to right and within a sentence. A word just joined to the one
 * before is not joined to the next; longer phrases grow in further passes. */

struct shoal_phrases_opts {
    struct shoal_vocab_opts vocab; /* how to read and to count; no max_vocab, no unk */
    double threshold;              /* higher: fewer phrases */
    unsigned passes;               /* each over the text that the one before wrote */
    const char *joiner;            /* 1-16 bytes; borrowed */
};

struct shoal_phrases_stats {
    struct shoal_text_stats text; /* as read */
    uint64_t phrases;             /* different pairs above the threshold, pass by pass */
    uint64_t joined;              /* places where two words became one */
    uint64_t words, bytes;        /* written */
    uint64_t types;               /* different words and pairs, at most in a pass */
    uint64_t spilled, floor;      /* of the counts: see shoal_vocab_stats */
};

SHOAL_API struct shoal_phrases_opts shoal_phrases_default(void);
SHOAL_API shoal_status shoal_phrases_check(const struct shoal_phrases_opts *opts);
/* Writes plain text, a sentence a line, in the order of the inputs; "-": standard
 * output. The bytes do not depend on the threads. Inputs that can be read only once
 * are spooled. On failure nothing is left at `path`. */
SHOAL_API shoal_status shoal_phrases(const char *path, const char *const *inputs, size_t ninputs,
                                     const struct shoal_phrases_opts *opts,
                                     struct shoal_phrases_stats *stats);

/* ---- Encoded corpus ------------------------------------------------------
 * Word ids, sentence ends and the vocabulary in one mapped file (docs/formats.md).
 * Words outside the vocabulary are <UNK>, or left out when there is none. */

typedef struct shoal_corpus shoal_corpus;
#define SHOAL_SENTENCE_END UINT32_MAX /* in the ids, after the last word of each */

struct shoal_encode_opts {
    struct shoal_vocab_opts vocab; /* how to read and to count */
    const shoal_vocab *given;      /* use this vocabulary instead; borrowed */
    uint64_t memory_limit;         /* refuse to need more; 0: what the machine has free */
};

struct shoal_encode_plan {   /* what a run will need, known before it starts */
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
SHOAL_API shoal_status shoal_encode_memory(const char *path, const struct shoal_memory *inputs,
                                           size_t ninputs, const struct shoal_encode_opts *opts,
                                           struct shoal_encode_stats *stats);

/* Maps the file and checks every byte of it. */
SHOAL_API shoal_status shoal_corpus_open(shoal_corpus **out, const char *path);
/* The same of a copy of the file's bytes. */
SHOAL_API shoal_status shoal_corpus_open_memory(shoal_corpus **out,
                                                const struct shoal_memory *file);
SHOAL_API void shoal_corpus_close(shoal_corpus *corpus);
SHOAL_API const shoal_vocab *shoal_corpus_vocab(const shoal_corpus *corpus);
SHOAL_API uint64_t shoal_corpus_words(const shoal_corpus *corpus);
SHOAL_API uint64_t shoal_corpus_sentences(const shoal_corpus *corpus);
/* A number that stands for the ids and the vocabulary: equal for equal ones. */
SHOAL_API uint64_t shoal_corpus_fingerprint(const shoal_corpus *corpus);

/* Part i of n in constant time: the parts are disjoint, in order and cover the
 * corpus; a part may begin within a sentence. *ids points into the mapping. */
SHOAL_API shoal_status shoal_corpus_part(const shoal_corpus *corpus, size_t i, size_t n,
                                         const uint32_t **ids, size_t *count);

/* ---- Files ------------------------------------------------------------------
 * Whether a file starts as one of ours. *kind then says what it holds: "corpus",
 * "vectors", "clicks", "checkpoint", or "" when its head is damaged: opening it says how. */
SHOAL_API bool shoal_kind(const char *path, char kind[32]);

/* A file that appears when all of it is written, or not at all; "-" (standard output), pipes and
 * devices are written as it goes. After a failed write it can only be ended. */
typedef struct output shoal_output;

SHOAL_API shoal_status shoal_output_open(shoal_output **out, const char *path);
SHOAL_API shoal_status shoal_output_write(shoal_output *o, const void *data, size_t len);
/* Ends it, which may be NULL: it appears only if `status` is SHOAL_OK; gives that, or how its end
 * failed. */
SHOAL_API shoal_status shoal_output_end(shoal_output *o, shoal_status status);

/* ---- Vectors -------------------------------------------------------------
 * Words and their rows, whatever file they came from. Immutable once made. */

typedef struct shoal_vectors shoal_vectors;

enum shoal_format {
    SHOAL_FORMAT_AUTO,        /* reading: by content; writing: by the file's ending */
    SHOAL_FORMAT_WORD2VEC,    /* binary: "V D\n", then word, space, D floats */
    SHOAL_FORMAT_TEXT,        /* the same as text; also fastText's .vec */
    SHOAL_FORMAT_GLOVE,       /* text without the first line */
    SHOAL_FORMAT_SHOAL,       /* our container */
    SHOAL_FORMAT_NPY,         /* NumPy .npy, with the words in FILE.vocab */
    SHOAL_FORMAT_SAFETENSORS, /* tensor "vectors", with the words in its metadata */
    SHOAL_FORMAT_FASTTEXT,    /* fastText's model, .bin or .ftz, with its n-grams */
    SHOAL_FORMAT_FLORET,      /* floret's table of hashed rows, with words in FILE.vocab */
    SHOAL_FORMAT_NPZ,         /* NumPy .npz, arrays "vectors" and "words"; read, never written */
};

/* "word2vec", ..., "npz". */
SHOAL_API const char *shoal_format_name(enum shoal_format format);

/* int8 has one float for each row, by which its numbers are multiplied. */
enum shoal_dtype { SHOAL_F32, SHOAL_F16, SHOAL_BF16, SHOAL_INT8 };

struct shoal_save_opts {
    enum shoal_format format;
    enum shoal_dtype dtype; /* where the format has it */
    bool normalize;         /* rows of length 1 */
    uint64_t top;           /* only the first so many, by custom the commonest; 0: all */
};

SHOAL_API struct shoal_save_opts shoal_save_default(void);
/* Whether there is such a format for such a file, before there is anything to
 * save. *format is what SHOAL_FORMAT_AUTO stands for: what the ending says, and else
 * SHOAL_FORMAT_SHOAL. A name that is taken for a format of others (.onnx, .npz, .csv) is refused. */
SHOAL_API shoal_status shoal_save_check(const char *path, const struct shoal_save_opts *opts,
                                        enum shoal_format *format);
/* Recognised by content, gzip, zstd, bzip2 and xz too. Every count and length is checked before
 * it is used; values that are no finite numbers are refused. Of words that stand there twice the
 * first is kept, and rows without a word are left out: see shoal_vectors_left_out. The file is read
 * into memory: what happens to it afterwards does not matter. Only a model of fastText's is always
 * mapped, as shoal_vectors_map does: of its rows those are read that are asked for. */
SHOAL_API shoal_status shoal_vectors_open(shoal_vectors **out, const char *path);
/* The same, but our own container is mapped and opens at once: what it holds is looked
 * at when it is used, and all of it by shoal_vectors_verify. Who writes into the file or
 * shortens it meanwhile ends this process (SIGBUS); replacing it by rename is safe. */
SHOAL_API shoal_status shoal_vectors_map(shoal_vectors **out, const char *path);
SHOAL_API shoal_status shoal_vectors_verify(const shoal_vectors *v); /* every byte */
/* What the file had that is not among the vectors. */
struct shoal_left_out {
    uint64_t twice; /* rows of words that stood there before */
    uint64_t empty; /* rows without a word */
};
SHOAL_API struct shoal_left_out shoal_vectors_left_out(const shoal_vectors *v);
/* Fails when there was any, naming the first: its word and its line. */
SHOAL_API shoal_status shoal_vectors_strict(const shoal_vectors *v);
/* float32 and the words are kept exactly; a word that the format cannot carry
 * (docs/formats.md) fails by name. On failure nothing is left at `path`. */
SHOAL_API shoal_status shoal_vectors_save(const shoal_vectors *v, const char *path,
                                          const struct shoal_save_opts *opts);
SHOAL_API void shoal_vectors_close(shoal_vectors *v);
SHOAL_API size_t shoal_vectors_size(const shoal_vectors *v);
SHOAL_API size_t shoal_vectors_dim(const shoal_vectors *v);
SHOAL_API enum shoal_dtype shoal_vectors_dtype(const shoal_vectors *v);
SHOAL_API enum shoal_format shoal_vectors_format(const shoal_vectors *v); /* AUTO: not read */
/* NULL when id >= size; "" where a mapped container is malformed. */
SHOAL_API const char *shoal_vectors_word(const shoal_vectors *v, uint32_t id);
SHOAL_API uint64_t shoal_vectors_count(const shoal_vectors *v, uint32_t id); /* 0: unknown */
SHOAL_API uint32_t shoal_vectors_find(const shoal_vectors *v, const char *word, size_t len);
/* Copies row id as floats into out [dim]. */
SHOAL_API shoal_status shoal_vectors_row(const shoal_vectors *v, uint32_t id, float *out);

struct shoal_matrix {
    const float *data;        /* [rows][stride], of which each row's first `dim` count */
    size_t rows, dim, stride; /* stride: floats from row to row */
    const shoal_vocab *words; /* of row i the word i */
};
/* All rows where they lie, as long as the vectors do; fails for other dtypes than
 * SHOAL_F32. */
SHOAL_API shoal_status shoal_vectors_matrix(const shoal_vectors *v, struct shoal_matrix *out);

/* ---- Asking vectors -------------------------------------------------------- */

struct shoal_hit {
    uint32_t id;
    float score; /* the cosine, or what the question maximises */
};

/* The k words whose rows lie nearest to `query` [dim] by cosine, best first and
 * equals by id, leaving out the ids of `skip`. Exact; all threads scan, and the
 * result does not depend on them. *found <= k. */
SHOAL_API shoal_status shoal_nearest(const shoal_vectors *v, const float *query,
                                     const uint32_t *skip, size_t nskip, unsigned threads,
                                     struct shoal_hit *hits, size_t k, size_t *found);

enum shoal_analogy { SHOAL_3COSADD, SHOAL_3COSMUL };

/* a is to b as c is to whom? None of the three answers. 3CosAdd: the cosine with
 * b - a + c of unit vectors (Mikolov et al. 2013); 3CosMul: cos(b) cos(c) / (cos(a) +
 * 0.001), each cosine shifted to 0 .. 1 (Levy and Goldberg 2014). */
SHOAL_API shoal_status shoal_analogy(const shoal_vectors *v, uint32_t a, uint32_t b, uint32_t c,
                                     enum shoal_analogy how, unsigned threads,
                                     struct shoal_hit *hits, size_t k, size_t *found);
SHOAL_API shoal_status shoal_cosine(const shoal_vectors *v, uint32_t a, uint32_t b, double *out);
/* The index of the word that fits the others least: the lowest cosine with the
 * mean of all, as unit vectors; the first of equals. */
SHOAL_API shoal_status shoal_odd(const shoal_vectors *v, const uint32_t *ids, size_t n,
                                 size_t *odd);
/* For words that are not there: those spelt nearly alike, other cases first, then by
 * letters left out, added, changed or swapped, the commoner of equals first. */
SHOAL_API shoal_status shoal_spellings(const shoal_vectors *v, const char *word, uint32_t *ids,
                                       size_t k, size_t *found);

/* ---- Evaluating vectors ------------------------------------------------------ */

struct shoal_eval_opts {
    uint64_t top_words; /* only the commonest so many answer, as word2vec.c restricts; 0: all */
    enum shoal_analogy how;
    bool keep_case;     /* words as they stand; else compared without case, as word2vec.c does */
    unsigned threads;
};

/* A part of a suite: a section of analogies, a sum of sections, or a list of pairs. */
struct shoal_score {
    char name[64];
    uint64_t seen, total; /* questions or pairs whose words all have vectors; in all */
    uint64_t right;       /* analogies */
    double accuracy;      /* right / seen; NaN when none was seen */
    double spearman, pearson; /* pairs */
    uint64_t composed; /* of those seen, with a word that was never seen, made of its n-grams */
};

enum shoal_suite { SHOAL_ANALOGIES, SHOAL_PAIRS };
typedef struct shoal_eval shoal_eval;

SHOAL_API struct shoal_eval_opts shoal_eval_default(void);
SHOAL_API shoal_status shoal_eval_check(const struct shoal_eval_opts *opts);
/* Reads the questions; their kind is recognised by shape. */
SHOAL_API shoal_status shoal_eval_open(shoal_eval **out, const char *path);
SHOAL_API shoal_status shoal_eval_open_memory(shoal_eval **out, const struct shoal_memory *file);
SHOAL_API enum shoal_suite shoal_eval_kind(const shoal_eval *e);
SHOAL_API const char *shoal_eval_name(const shoal_eval *e); /* of its file: "questions-words" */
/* Sections in the order of the file, then "semantic", "syntactic" (sections
 * named gram...) and "total"; a list of pairs has one entry. */
SHOAL_API shoal_status shoal_eval_run(const shoal_eval *e, const shoal_vectors *v,
                                      const struct shoal_eval_opts *opts,
                                      struct shoal_score **scores, size_t *n);
SHOAL_API void shoal_scores_free(struct shoal_score *scores);
SHOAL_API void shoal_eval_close(shoal_eval *e);

/* ---- Ranks -----------------------------------------------------------------
 * Processes that train together. The thread that joined makes all calls that are
 * given the ranks, and every rank makes the same ones in the same order. */

typedef struct shoal_ranks shoal_ranks;

/* Joins whoever was launched together (mpirun, srun), or stays alone. Once. */
SHOAL_API shoal_status shoal_ranks_join(shoal_ranks **out);
/* With SHOAL_OK waits for the others; with a failure it ends them all. */
SHOAL_API void shoal_ranks_leave(shoal_ranks *r, shoal_status st);
SHOAL_API unsigned shoal_ranks_rank(const shoal_ranks *r); /* 0 for NULL */
SHOAL_API unsigned shoal_ranks_size(const shoal_ranks *r); /* 1 for NULL */
/* SHOAL_OK when all ranks say so, else the first failure, on every rank. Who lost a rank can ask
 * nobody: SHOAL_EPEER comes back at once. */
SHOAL_API shoal_status shoal_ranks_agree(shoal_ranks *r, shoal_status st);
/* Everybody gets the `len` bytes that rank 0 has at `data`. */
SHOAL_API shoal_status shoal_ranks_share(shoal_ranks *r, void *data, size_t len);

enum shoal_sync {
    SHOAL_ASYNC,   /* nobody waits */
    SHOAL_BOUNDED, /* nobody is more than `staleness` rounds ahead */
    SHOAL_SYNC,    /* all meet after each round */
    SHOAL_AVERAGE, /* models are averaged every `staleness` rounds */
};
/* How a row travels between ranks: as it is, or its change in so many bits a number. AUTO: the
 * shortest that was measured to cost no accuracy. */
enum shoal_wire {
    SHOAL_WIRE_F32,
    SHOAL_WIRE_BF16,
    SHOAL_WIRE_INT8,
    SHOAL_WIRE_INT4,
    SHOAL_WIRE_AUTO,
};

#define SHOAL_STALE_BINS 16
/* What a run with several ranks cost, all ranks together. */
struct shoal_rank_stats {
    unsigned ranks, servers;
    uint64_t bytes_in, bytes_out, messages; /* sent to other ranks and received */
    uint64_t rows_pushed;
    double waited;         /* seconds waiting, summed over ranks */
    double computed;       /* seconds training, summed over ranks */
    double load_most;      /* the busiest shard's share of rows merged, times shards: 1 is even */
    uint64_t naive_bytes;  /* had every touched row been pulled and pushed every batch */
    /* Rows by how many pushes of others they got since the pusher last saw them:
     * none, 1, 2, 3 to 4, 5 to 8, ... */
    uint64_t stale[SHOAL_STALE_BINS];
};

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

/* The rest of the interface, part by part. */
#include <shoal/classic.h>
#include <shoal/classify.h>
#include <shoal/columns.h>
#include <shoal/clicks.h>
#include <shoal/eval.h>
#include <shoal/hnsw.h>
#include <shoal/options.h>
#include <shoal/profile.h>
#include <shoal/serve.h>
#include <shoal/study.h>
#include <shoal/logreg.h>
#include <shoal/nets.h>
#include <shoal/images.h>
#include <shoal/map.h>
#include <shoal/model.h>
#include <shoal/options.h>
#include <shoal/train.h>
#include <shoal/words.h>

#endif
