/* shoal/words.h: words, ids and rows that are in memory already, a part of shoal.h, which
 * includes it.
 *
 * What this is: vocabularies, corpora and vectors made of a program's own arrays, and what they
 * hold as such arrays again: for programs that have sentences and no files, and for those that
 * go on with rows that were trained before.
 * Who owns what: arrays that are given are copied, unless it says that they are borrowed; those
 * that are asked for live as long as the object.
 * Threads: as of the objects in shoal.h.
 *
 *     vocabulary + ids --> corpus --+--> shoal_data_new --> shoal_train --> vectors
 *     vocabulary + rows --> vectors-'                          rows, output rows <-'
 */
#ifndef SHOAL_WORDS_PART_H
#define SHOAL_WORDS_PART_H

#include <shoal.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Words ------------------------------------------------------------------ */

struct shoal_words {
    const char *text; /* [len]: n words one behind the other, each ended by a NUL */
    size_t len, n;
    const uint64_t *counts; /* [n]; NULL: not known, which is 0 */
};

/* A vocabulary of these words in this order. None may be empty, stand there twice or have over
 * SHOAL_WORD_MAX bytes. Who trains with it gives the commonest first: their rows change most. */
SHOAL_API shoal_status shoal_vocab_new(shoal_vocab **out, const struct shoal_words *words);
/* All of its words. Of a vocabulary that is mapped nothing was checked yet. */
SHOAL_API struct shoal_words shoal_vocab_words(const shoal_vocab *vocab);

/* ---- A corpus ---------------------------------------------------------------- */

/* ids [n] are those of words of the vocabulary, and SHOAL_SENTENCE_END behind each sentence. They
 * are borrowed, and must stay as they are; the vocabulary is copied. */
SHOAL_API shoal_status shoal_corpus_new(shoal_corpus **out, const shoal_vocab *vocab,
                                        const uint32_t *ids, size_t n);

/* ---- Vectors ----------------------------------------------------------------- */

/* Vectors of rows->words, all finite. `hidden` may be NULL, else it has the output rows of a
 * model that goes on: one for each word, or for each node of its Huffman tree; hidden->words is
 * not looked at. */
SHOAL_API shoal_status shoal_vectors_new(shoal_vectors **out, const struct shoal_matrix *rows,
                                         const struct shoal_matrix *hidden);
/* The output rows; none, and data NULL, where there are none. `words` is NULL for nodes. */
SHOAL_API struct shoal_matrix shoal_vectors_hidden(const shoal_vectors *v);
SHOAL_API const shoal_vocab *shoal_vectors_vocab(const shoal_vectors *v);

/* ---- Words that were never seen ------------------------------------------------
 * With subwords a word's vector is the mean of a row of its own and of those of its n-grams, of
 * minn to maxn characters of `<word>`; each n-gram has one of `buckets` rows, by its hash. So a
 * word that training never saw has a vector too: the mean of its n-grams' rows. */

struct shoal_subwords {
    unsigned minn, maxn; /* maxn 0: there are none */
    uint32_t buckets;
    unsigned hashes; /* 0: a word has a row of its own; else it and each n-gram have so many of the
                      * buckets, as in floret's tables */
};

SHOAL_API struct shoal_subwords shoal_vectors_subwords(const shoal_vectors *v);
/* The vector of any word into out [dim]: its row, or what its n-grams make. *known says which, and
 * may be NULL. SHOAL_ENOENT where neither is there, or training met none of its n-grams. */
SHOAL_API shoal_status shoal_vectors_compose(const shoal_vectors *v, const char *word, size_t len,
                                             float *out, bool *known);

/* The buckets of a word's n-grams, as fastText numbers them, into out, at most cap; gives how many
 * there are. The word `</s>` has none. */
SHOAL_API size_t shoal_subwords_list(const struct shoal_subwords *how, const char *word, size_t len,
                                     uint32_t *out, size_t cap);
/* As shoal_vectors_new, with rows of n-grams, one for each of how->buckets. Rows of words are their
 * vectors, the means. grams->words is not looked at. */
SHOAL_API shoal_status shoal_vectors_new_subwords(shoal_vectors **out,
                                                  const struct shoal_matrix *rows,
                                                  const struct shoal_matrix *grams,
                                                  const struct shoal_subwords *how,
                                                  const struct shoal_matrix *hidden);
/* The rows of n-grams where they lie; data NULL where there are none, or none that are floats. */
SHOAL_API struct shoal_matrix shoal_vectors_grams(const shoal_vectors *v);
/* Those of n buckets from `first` on, of any type, into out [n][dim]; zeros where one was pruned. */
SHOAL_API shoal_status shoal_vectors_gram_rows(const shoal_vectors *v, uint32_t first, uint32_t n,
                                               float *out);

/* The vector of a text into out [dim], of length 1: the mean of its words' vectors, each scaled to
 * length 1. A word that is not known as it stands in the text is looked for by its letters and
 * digits in lower case, then made of its n-grams. Of *words words *known had a vector; where none
 * had, out is zeros. */
SHOAL_API shoal_status shoal_vectors_text(const shoal_vectors *v, const char *text, size_t len,
                                          float *out, size_t *words, size_t *known);

/* The questions of shoal.h with words instead of ids, known ones or any that have a vector.
 * known [n], of each word asked with, may be NULL. Where a word has no vector they fail with
 * SHOAL_ENOENT. */

/* The words nearest to the mean of these, each counting the same; none of them answers. */
SHOAL_API shoal_status shoal_nearest_words(const shoal_vectors *v, const char *const *words,
                                           size_t n, bool *known, unsigned threads,
                                           struct shoal_hit *hits, size_t k, size_t *found);
SHOAL_API shoal_status shoal_analogy_words(const shoal_vectors *v, const char *const *abc,
                                           bool *known, enum shoal_analogy how, unsigned threads,
                                           struct shoal_hit *hits, size_t k, size_t *found);
SHOAL_API shoal_status shoal_cosine_words(const shoal_vectors *v, const char *const *ab,
                                          bool *known, double *out);
SHOAL_API shoal_status shoal_odd_words(const shoal_vectors *v, const char *const *words, size_t n,
                                       bool *known, size_t *odd);

/* ---- Vectors made small ---------------------------------------------------------
 * Product quantisation (Jegou et al. 2011), as fastText does it: of each row, of words and of
 * n-grams, so many numbers together become one byte, the number of one of 256 centroids. */

struct shoal_compress_opts {
    unsigned dsub;   /* numbers to a byte, 1 or more */
    bool qnorm;      /* the length of a row is one byte more, and the others say its direction */
    uint64_t cutoff; /* keep so many rows, the longest; 0: all */
    uint64_t seed;   /* the same seed gives the same bytes on any number of threads */
    unsigned threads; /* 0: one for each core */
};

SHOAL_API struct shoal_compress_opts shoal_compress_default(void); /* dsub 2 */
/* Needs 256 rows. Words that the cutoff leaves out are unknown then: what is left of their n-grams
 * makes their vectors. */
SHOAL_API shoal_status shoal_vectors_compress(shoal_vectors **out, const shoal_vectors *v,
                                              const struct shoal_compress_opts *opts);

/* ---- Searching --------------------------------------------------------------
 * Rows made ready for many questions: the direction of each in signed bytes, a quarter of its
 * floats. A question goes over the bytes, which give every cosine to within an error that is
 * known; of the rows that may then be among the best the floats are looked at. So the answer is
 * exact, and memory, which sets the pace, is asked for a quarter. */

typedef struct shoal_index shoal_index;

/* The rows, all finite, are borrowed: they must stay as they are. rows->words is not looked at.
 * threads is 0 for one for each core. */
SHOAL_API shoal_status shoal_index_new(shoal_index **out, const struct shoal_matrix *rows,
                                       unsigned threads);
SHOAL_API void shoal_index_free(shoal_index *x);
/* As shoal_nearest, of the rows from <= id < to. Any number of threads may ask at once. */
SHOAL_API shoal_status shoal_index_nearest(const shoal_index *x, const float *query,
                                           const uint32_t *skip, size_t nskip, size_t from,
                                           size_t to, unsigned threads, struct shoal_hit *hits,
                                           size_t k, size_t *found);

#ifdef __cplusplus
}
#endif
#endif
