/* Word vectors that go on from rows that were trained before. */
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

static void copy_rows(const struct dealt *to, const shoal_vectors *from, const shoal_vocab *vocab)
{
    for (size_t row = 0; row < to->rows.rows; row++) {
        const char *word = shoal_vocab_word(vocab, id_of(to, row));
        uint32_t known = shoal_vectors_find(from, word, strlen(word));

        if (known != SHOAL_NO_ID)
            shoal_vectors_row(from, known, to->rows.at + row * to->rows.stride);
    }
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

void words_start_from(const shoal_vectors *from, const shoal_vocab *vocab, bool tree,
                      const struct dealt *in, const struct dealt *out)
{
    copy_rows(in, from, vocab);
    if (tree ? same_tree(from, vocab)
             : shoal_vectors_hidden(from).rows == shoal_vectors_size(from))
        copy_hidden(out, from, vocab, tree);
}
