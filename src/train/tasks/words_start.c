/* Word vectors that go on from rows that were trained before. */
#include "saved/saved.h"
#include "train/tasks/words.h"

#include <string.h>

/* Whether the nodes of a tree over those words are the nodes of the one over these: it depends on
 * every count. */
static bool same_tree(const shoal_vectors *v, const shoal_vocab *vocab)
{
    size_t words = shoal_vocab_size(vocab);

    if (shoal_vectors_size(v) != words || shoal_vectors_hidden(v).rows != words - 1)
        return false;
    for (uint32_t i = 0; i < words; i++)
        if (shoal_vectors_count(v, i) != shoal_vocab_count(vocab, i) ||
            strcmp(shoal_vectors_word(v, i), shoal_vocab_word(vocab, i)) != 0)
            return false;
    return true;
}

static uint32_t id_of(const struct dealt *d, size_t row)
{
    return d->ids ? d->ids[row] : (uint32_t)row;
}

static bool same_subwords(const shoal_vectors *from, const struct subwords *how)
{
    struct shoal_subwords s = shoal_vectors_subwords(from);

    return how->maxn > 0 && s.minn == how->minn && s.maxn == how->maxn &&
           s.buckets == how->buckets && s.hashes == how->hashes;
}

/* Of a word that has its own row and n-grams that are zero. */
static void spread(float *row, size_t dim, const struct subwords *how, const char *word)
{
    size_t n = subwords_list(how, word, strlen(word), NULL, 0);

    for (size_t j = 0; j < dim; j++)
        row[j] *= (float)(n + 1);
}

static shoal_status copy_word(float *row, const shoal_vectors *from, const char *word,
                              const struct subwords *how)
{
    uint32_t known = shoal_vectors_find(from, word, strlen(word));
    shoal_status st;

    if (known == SHOAL_NO_ID || how->hashes > 0)
        return SHOAL_OK; /* unknown, or without a row of its own */
    if (same_subwords(from, how))
        return vectors_own_row(from, known, row);
    st = shoal_vectors_row(from, known, row);
    if (st == SHOAL_OK)
        spread(row, shoal_vectors_dim(from), how, word);
    return st;
}

static shoal_status copy_rows(const struct dealt *to, const shoal_vectors *from,
                              const shoal_vocab *vocab, const struct subwords *how)
{
    size_t words = shoal_vocab_size(vocab);
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < to->rows.rows && st == SHOAL_OK; i++) {
        float *row = to->rows.at + i * to->rows.stride;
        uint32_t id = id_of(to, i);

        if (id < words)
            st = copy_word(row, from, shoal_vocab_word(vocab, id), how);
        else if (same_subwords(from, how))
            vectors_gram_row(from, id - (uint32_t)words, row);
    }
    return st;
}

static void copy_hidden(const struct dealt *to, const shoal_vectors *from, const shoal_vocab *vocab,
                        bool nodes)
{
    struct shoal_matrix hidden = shoal_vectors_hidden(from);

    for (size_t row = 0; row < to->rows.rows; row++) {
        uint32_t known = id_of(to, row);

        if (!nodes) {
            const char *word = shoal_vocab_word(vocab, known);

            known = shoal_vectors_find(from, word, strlen(word));
        }
        if (known < hidden.rows)
            memcpy(to->rows.at + row * to->rows.stride, hidden.data + known * hidden.stride,
                   to->rows.width * sizeof *to->rows.at);
    }
}

shoal_status words_start_from(const shoal_vectors *from, const shoal_vocab *vocab,
                              const struct subwords *how, bool tree, const struct dealt *in,
                              const struct dealt *out)
{
    shoal_status st = copy_rows(in, from, vocab, how);

    if (tree ? same_tree(from, vocab)
             : shoal_vectors_hidden(from).rows == shoal_vectors_size(from))
        copy_hidden(out, from, vocab, tree);
    return st;
}
