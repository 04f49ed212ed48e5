/* What all workers of a word2vec model share: the subsampling of common words (Mikolov et al.
 * 2013, as word2vec.c does it), how noise is drawn, and the Huffman tree. */
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

enum { STREAM_START = 1 }; /* of the random numbers; windows and lanes have others */

size_t w2v_out_rows(const struct train_opts *opts, size_t words)
{
    return opts->loss == SHOAL_HS && words > 1 ? words - 1 : words;
}

void w2v_fini(struct w2v *w)
{
    free(w->keep);
    free(w->alias);
    free(w->path);
    free(w->node);
    free(w->label);
    *w = (struct w2v){0};
}

void w2v_start(struct table *in, const uint32_t *ids, size_t n, uint64_t seed)
{
    for (size_t row = 0; row < in->rows; row++) {
        size_t id = ids ? ids[row] : row;

        for (size_t j = 0; id < n && j < in->width; j++) {
            uint64_t random = rng_at(seed, STREAM_START, id * in->width + j);

            in->at[row * in->stride + j] =
                (float)(((double)(random >> 11) * 0x1p-53 - 0.5) / (double)in->width);
        }
    }
}

/* Subsampling: a word of share f stays with probability (sqrt(f / t) + 1) t / f, t = `sample`. */
static shoal_status make_keep(struct w2v *w, const shoal_vocab *vocab, double sample)
{
    double total = (double)shoal_vocab_total(vocab);

    w->keep = mem_array((size_t)w->words + 1, sizeof *w->keep);
    if (!w->keep)
        return SHOAL_ENOMEM;
    for (uint32_t id = 0; id < w->words; id++) {
        double share = (double)shoal_vocab_count(vocab, id) / total;
        double p = sample > 0 && share > 0 ? (sqrt(share / sample) + 1) * sample / share : 1;

        w->keep[id] = p >= 1 ? UINT32_MAX : (uint32_t)(p * 0x1p32);
    }
    w->keep[w->words] = UINT32_MAX; /* sentence ends */
    return SHOAL_OK;
}

/* Walker's alias method: drawing a word by its share costs one random number and one cell of a
 * table. Each of n cells has room for 1, and share[i], whose mean is 1, is what word i is to get
 * in all. A cell is filled by its own word and by at most one other. To draw: take a cell evenly,
 * stay in it with probability `keep`, else take `other`. Of shares 0.5, 0.8 and 1.7:
 *
 *     cell 0           cell 1           cell 2
 *     | word 2: 0.5 |  | word 2: 0.2 |  |             |
 *     | word 0: 0.5 |  | word 1: 0.8 |  | word 2: 1.0 |
 *
 * Vose (1991) fills it in O(n): take a cell with too little (few) and one with too much (many).
 * The second gives what the first lacks, which is then done; the giver goes to the few when less
 * than 1 is left of it. Each round finishes one cell, and what is left always sums to the number
 * of cells left: so there is a giver as long as there is a taker, but for rounding. */
static void fill_alias(struct alias *alias, double *share, uint32_t *few, uint32_t *many,
                       uint32_t n)
{
    uint32_t nfew = 0, nmany = 0;

    for (uint32_t i = n; i-- > 0;)
        if (share[i] < 1)
            few[nfew++] = i;
        else
            many[nmany++] = i;
    while (nfew > 0 && nmany > 0) {
        uint32_t a = few[--nfew], b = many[nmany - 1];

        alias[a] = (struct alias){(uint32_t)(share[a] * 0x1p32), b};
        share[b] -= 1 - share[a];
        if (share[b] < 1) {
            nmany--;
            few[nfew++] = b;
        }
    }
    while (nmany > 0 || nfew > 0) { /* full but for rounding */
        uint32_t i = nmany > 0 ? many[--nmany] : few[--nfew];

        alias[i] = (struct alias){UINT32_MAX, i};
    }
}

/* count^exponent, by custom count^(3/4). A word that was never counted is no noise; where the rare
 * ones are the likelier, it counts as one that was seen once. */
double w2v_noise(uint64_t count, double exponent)
{
    if (count == 0 && exponent <= 0)
        count = 1;
    return pow((double)count, exponent);
}

static shoal_status make_alias(struct w2v *w, const shoal_vocab *vocab)
{
    double *share = mem_array(w->words, sizeof *share), sum = 0;
    uint32_t *lists = mem_array(w->words, 2 * sizeof *lists);

    w->alias = mem_array(w->words, sizeof *w->alias);
    if (share && lists && w->alias) {
        for (uint32_t i = 0; i < w->words; i++)
            sum += share[i] = w2v_noise(shoal_vocab_count(vocab, i), w->exponent);
        for (uint32_t i = 0; i < w->words; i++)
            share[i] = sum > 0 ? share[i] * w->words / sum : 1;
        fill_alias(w->alias, share, lists, lists + w->words, w->words);
    }
    free(lists);
    free(share);
    return w->alias && share && lists ? SHOAL_OK : SHOAL_ENOMEM;
}

/* ---- the Huffman tree ---- */

struct tree {
    uint64_t *count; /* [2n] leaves, commonest first, then inner nodes */
    uint32_t *parent;
    bool *bit;
};

/* The rarest of what is left. Leaves are sorted, commonest first, and inner nodes are made in
 * order of count; so two queues, leaves from their end and inner nodes from their front, do what
 * a heap would. */
static uint32_t take_rarest(const struct tree *t, int64_t *leaf, uint32_t *inner, uint32_t made)
{
    if (*leaf >= 0 && (*inner >= made || t->count[*leaf] < t->count[*inner]))
        return (uint32_t)(*leaf)--;
    return (*inner)++;
}

static void grow_tree(struct tree *t, uint32_t n)
{
    int64_t leaf = (int64_t)n - 1;
    uint32_t inner = n;

    for (uint32_t node = n; node < 2 * n - 1; node++) {
        uint32_t a = take_rarest(t, &leaf, &inner, node);
        uint32_t b = take_rarest(t, &leaf, &inner, node);

        t->count[node] = t->count[a] + t->count[b];
        t->parent[a] = t->parent[b] = node;
        t->bit[b] = true;
    }
}

static uint32_t depth_of(const struct tree *t, uint32_t leaf, uint32_t root)
{
    uint32_t depth = 0;

    for (uint32_t node = leaf; node != root; node = t->parent[node])
        depth++;
    return depth;
}

/* From the root down to the word: the nodes passed and the branch taken at each. Nodes were made
 * rarest first; numbered from the root, the rows that change most often come first, as they do for
 * words. */
static void write_path(struct w2v *w, const struct tree *t, uint32_t word, uint32_t root)
{
    uint32_t at = w->path[word + 1];

    for (uint32_t node = word; node != root; node = t->parent[node]) {
        at--;
        w->node[at] = root - t->parent[node];
        w->label[at] = t->bit[node] ? 0 : 1;
    }
}

static shoal_status write_paths(struct w2v *w, const struct tree *t)
{
    uint32_t root = 2 * w->words - 2;

    w->path = mem_array((size_t)w->words + 1, sizeof *w->path);
    if (!w->path)
        return SHOAL_ENOMEM;
    for (uint32_t word = 0; word < w->words; word++) {
        uint32_t depth = depth_of(t, word, root);

        if (depth > UINT32_MAX - w->path[word])
            return shoal_fail(SHOAL_ELIMIT, "train: the Huffman paths of %u words are too long",
                              w->words);
        w->path[word + 1] = w->path[word] + depth;
    }
    w->node = mem_array(w->path[w->words], sizeof *w->node);
    w->label = mem_array((size_t)w->path[w->words] + KERNEL_LANES, sizeof *w->label);
    if (!w->node || !w->label)
        return SHOAL_ENOMEM;
    for (uint32_t word = 0; word < w->words; word++)
        write_path(w, t, word, root);
    return SHOAL_OK;
}

static shoal_status make_tree(struct w2v *w, const shoal_vocab *vocab)
{
    size_t n = 2 * (size_t)w->words;
    struct tree t = {mem_array(n, sizeof *t.count), mem_array(n, sizeof *t.parent),
                     mem_array(n, sizeof *t.bit)};
    shoal_status st = t.count && t.parent && t.bit ? SHOAL_OK : SHOAL_ENOMEM;

    if (st == SHOAL_OK) {
        for (uint32_t i = 0; i < w->words; i++)
            t.count[i] = shoal_vocab_count(vocab, i);
        grow_tree(&t, w->words);
        st = write_paths(w, &t);
    }
    free(t.count);
    free(t.parent);
    free(t.bit);
    return st;
}

/* ---- all of it ---- */

size_t w2v_bytes(const struct train_opts *opts, const shoal_vocab *vocab)
{
    size_t words = shoal_vocab_size(vocab);
    size_t hs = opts->loss == SHOAL_HS ? words * (26 + 20 * 8) : 0; /* paths of about 20 nodes */

    return words * sizeof(uint32_t) + hs +
           (opts->loss == SHOAL_NS ? words * sizeof(struct alias) : 0);
}

/* Noise must find a word other than the target, and a tree has two leaves. */
static shoal_status check_words(size_t words)
{
    if (words >= 2)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL, "train: the vocabulary has %zu words, want at least 2", words);
}

shoal_status w2v_init(struct w2v *w, const struct train_opts *opts, const shoal_vocab *vocab,
                      const uint32_t *ids, size_t count, const struct kernel *kernel)
{
    shoal_status st = check_words(shoal_vocab_size(vocab));

    *w = (struct w2v){
        .kernel = kernel, .ids = ids, .count = count, .words = (uint32_t)shoal_vocab_size(vocab),
        .dim = opts->dim, .window = opts->window, .fixed = opts->window_fixed,
        .across = opts->across_lines,
        .negatives = opts->loss == SHOAL_NS ? opts->negative : 0,
        .exponent = opts->ns_exponent,
        .bag = opts->bag, .sum = opts->sum, .seed = opts->seed,
    };
    if (st == SHOAL_OK)
        st = make_keep(w, vocab, opts->sample);
    if (st == SHOAL_OK && opts->loss == SHOAL_NS)
        st = make_alias(w, vocab);
    if (st == SHOAL_OK && opts->loss == SHOAL_HS)
        st = make_tree(w, vocab);
    if (st != SHOAL_OK)
        w2v_fini(w);
    return st;
}

/* ---- traffic ---- */

static double noise_total(const struct w2v *w, const shoal_vocab *vocab)
{
    double sum = 0;

    for (uint32_t i = 0; i < w->words; i++)
        sum += w2v_noise(shoal_vocab_count(vocab, i), w->exponent);
    return sum > 0 ? sum : 1;
}

/* How likely a word of the corpus is this one, and is kept by subsampling. */
static double kept_share(const struct w2v *w, const shoal_vocab *vocab, uint32_t word)
{
    return (double)shoal_vocab_count(vocab, word) / (double)shoal_vocab_total(vocab) *
           w->keep[word] * 0x1p-32;
}

void w2v_traffic_in(const struct w2v *w, const shoal_vocab *vocab, float *in)
{
    for (uint32_t i = 0; i < w->words; i++)
        for (size_t k = 0; k < w2v_rows(w->grams, i); k++)
            in[w2v_row(w->grams, i, k)] += (float)kept_share(w, vocab, i);
}

void w2v_traffic_out(const struct w2v *w, const shoal_vocab *vocab, float *out)
{
    double noise = noise_total(w, vocab), kept = 0;

    for (uint32_t i = 0; i < w->words; i++)
        kept += kept_share(w, vocab, i);
    for (uint32_t i = 0; i < w->words; i++) {
        float own = (float)kept_share(w, vocab, i);

        if (!w->path)
            out[i] = own + (float)(kept * w->negatives *
                                   w2v_noise(shoal_vocab_count(vocab, i), w->exponent) / noise);
        else
            for (uint32_t n = w->path[i]; n < w->path[i + 1]; n++)
                out[w->node[n]] += own;
    }
}
