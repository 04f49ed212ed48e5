/* Words that somebody may have meant: a slip of the finger, or another case. */
#include "eval/eval.h"

#include <stdlib.h>

/* Characters; longer words have no suggestions. */
#define LETTERS_MAX 64u
#define SLIPS_MAX 3u
/* Words for which a thread is worth its start. */
#define WORDS_A_THREAD ((size_t)1 << 16)

struct letters {
    uint32_t at[LETTERS_MAX]; /* upper-cased code points */
    unsigned n;
    uint64_t set; /* a bit for each, several sharing one */
};

/* Upper-cased letters; false when there are too many. */
static bool letters_of(struct letters *out, const char *word, size_t len)
{
    const char *end = word + len;

    out->n = 0;
    out->set = 0;
    while (word < end) {
        if (out->n == LETTERS_MAX)
            return false;
        out->at[out->n] = clean_upper_code(clean_next(&word, end));
        out->set |= 1ull << (out->at[out->n++] & 63);
    }
    return true;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* One row of the table of distances, between the columns from and to; gives the
 * row's least entry. */
static unsigned distance_row(unsigned *const rows[3], const struct letters *x,
                             const struct letters *y, unsigned i, unsigned from, unsigned to)
{
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];
    unsigned best = row[from - 1];

    for (unsigned j = from; j <= to; j++) {
        row[j] = least(above[j - 1] + (x->at[i - 1] != y->at[j - 1]),
                       least(above[j], row[j - 1]) + 1);
        if (i > 1 && j > 1 && x->at[i - 1] == y->at[j - 2] && x->at[i - 2] == y->at[j - 1])
            row[j] = least(row[j], before[j - 2] + 1);
        best = least(best, row[j]);
    }
    return best;
}

/* Insertions, deletions, changes and swaps of neighbours (optimal string
 * alignment), or any number above `most` when more than that are needed. Only
 * the band of the table that can stay within `most` is computed. */
static unsigned distance(const struct letters *x, const struct letters *y, unsigned most)
{
    unsigned table[3][LETTERS_MAX + 2], *rows[3] = {table[0], table[1], table[2]};

    for (unsigned j = 0; j <= y->n; j++)
        rows[1][j] = j;
    for (unsigned i = 1; i <= x->n; i++) {
        unsigned from = i > most ? i - most : 1, to = least(i + most, y->n), *spare = rows[0];

        rows[2][from - 1] = from == 1 ? i : most + 1;
        if (distance_row(rows, x, y, i, from, to) > most)
            return most + 1;
        rows[2][to + 1] = most + 1;
        rows[0] = rows[1], rows[1] = rows[2], rows[2] = spare;
    }
    return rows[1][y->n];
}

/* ---- the search ------------------------------------------------------------------ */

/* Fewer slips first, then the commoner word. */
struct guess {
    unsigned slips;
    uint32_t id;
};

struct guesses {
    struct guess *at; /* [k], best first */
    size_t n, k;
};

static bool guess_before(struct guess x, struct guess y)
{
    return x.slips < y.slips || (x.slips == y.slips && x.id < y.id);
}

static void guesses_add(struct guesses *g, struct guess guess)
{
    size_t i;

    if (g->n == g->k && !guess_before(guess, g->at[g->n - 1]))
        return;
    g->n += g->n < g->k;
    for (i = g->n - 1; i > 0 && guess_before(guess, g->at[i - 1]); i--)
        g->at[i] = g->at[i - 1];
    g->at[i] = guess;
}

struct spelling {
    const shoal_vocab *vocab;
    const char *word;
    size_t len;
    struct letters letters;
    unsigned most;
    struct guesses *parts; /* [threads] */
    unsigned threads;
};

/* A slip changes at most one letter that the other word has not. */
static bool may_be_near(const struct letters *x, const struct letters *y, unsigned most)
{
    return x->n <= y->n + most && y->n <= x->n + most &&
           (unsigned)__builtin_popcountll(x->set & ~y->set) <= most &&
           (unsigned)__builtin_popcountll(y->set & ~x->set) <= most;
}

static void try_word(const struct spelling *s, uint32_t id, struct guesses *g)
{
    const char *word = shoal_vocab_word(s->vocab, id);
    size_t len = strlen(word);
    struct letters letters;
    struct guess guess = {.id = id};

    if (len > 4 * LETTERS_MAX || !letters_of(&letters, word, len) ||
        !may_be_near(&s->letters, &letters, s->most) ||
        (len == s->len && memcmp(word, s->word, len) == 0))
        return;
    guess.slips = distance(&s->letters, &letters, s->most);
    /* A guess that shares nothing with what was typed helps nobody. */
    if (guess.slips <= s->most && guess.slips < least(letters.n, s->letters.n))
        guesses_add(g, guess);
}

static shoal_status spelling_part(void *ctx, unsigned index)
{
    struct spelling *s = ctx;
    size_t size = shoal_vocab_size(s->vocab);
    size_t from = size * index / s->threads, end = size * (index + 1) / s->threads;

    for (size_t id = from; id < end; id++)
        try_word(s, (uint32_t)id, &s->parts[index]);
    return SHOAL_OK;
}

static shoal_status spelling_run(struct spelling *s, uint32_t *ids, size_t k, size_t *found)
{
    struct guess *room = mem_array(s->threads * k, sizeof *room);
    shoal_status st = SHOAL_ENOMEM;

    s->parts = mem_array(s->threads, sizeof *s->parts);
    if (room && s->parts) {
        for (unsigned t = 0; t < s->threads; t++)
            s->parts[t] = (struct guesses){.at = room + t * k, .k = k};
        st = pool_run(s->threads, spelling_part, s);
        for (unsigned t = 1; t < s->threads; t++)
            for (size_t i = 0; i < s->parts[t].n; i++)
                guesses_add(&s->parts[0], s->parts[t].at[i]);
        *found = s->parts[0].n;
        for (size_t i = 0; i < *found; i++)
            ids[i] = s->parts[0].at[i].id;
    }
    free(s->parts);
    free(room);
    return st;
}

shoal_status spelling_near(const shoal_vocab *vocab, const char *word, uint32_t *ids, size_t k,
                           size_t *found)
{
    struct spelling s = {.vocab = vocab, .word = word, .len = strlen(word)};
    size_t size = shoal_vocab_size(vocab), worth = size / WORDS_A_THREAD + 1;

    *found = 0;
    if (k == 0 || !letters_of(&s.letters, word, s.len))
        return SHOAL_OK;
    /* One slip in a short word, one more for every four letters. */
    s.most = least(1 + s.letters.n / 4, SLIPS_MAX);
    s.threads = pool_threads(0);
    s.threads = s.threads < worth ? s.threads : (unsigned)worth;
    return spelling_run(&s, ids, k < size ? k : size, found);
}
