/* Answering thousands of analogies at once.
 *
 * A question's score of a row r is cos(b,r) - cos(a,r) + cos(c,r), and suites
 * ask about few words in many ways (questions-words.txt: 905 words, 19,544
 * questions). So the cosines of each word with each row are computed once, as a
 * product of matrices, and a question costs three loads and two additions a
 * row:
 *
 *     rows     [V][D]   in blocks that stay in the cache
 *     words    [W][D]   of length 1, W <= BATCH_WORDS
 *     cosines  [W][n]   of one block of n rows
 *     best     [Q]      of each question so far
 *
 * Threads take the next block that nobody has, keep bests of their own, and the better of those
 * wins, the lower id among equals: who took which block does not show. */
#include "eval/suite.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Levy and Goldberg (2014), equation 4. */
#define COSMUL_SLACK 0.001f

/* A block of rows is to stay in the second cache. */
#define BLOCK_FLOATS ((size_t)1 << 16)

enum {
    BATCH_WORDS = 1024,       /* cosines of a block: 450 KB */
    WORDS_AT_ONCE = 16,       /* their rows share the first cache with a few of the block's */
    PITCH = ROWS_BLOCK + 16,  /* floats from word to word in cosines */
};

struct ask {
    uint32_t at[3];    /* places of a, b and c in the batch's words */
    uint32_t question; /* of the suite */
};

struct best {
    float score; /* 0: none yet; word2vec.c too wants a score above it */
    uint32_t id;
};

struct batch {
    const struct asked *asked;
    const float *words[BATCH_WORDS]; /* into units */
    uint32_t ids[BATCH_WORDS];       /* their rows */
    size_t nwords;
    struct ask *asks;
    size_t nasks;
    struct table units;
    struct best *best; /* [threads][nasks] */
    size_t most, blocks; /* rows of a block; blocks */
    atomic_size_t next;
};

/* ---- a block --------------------------------------------------------------------- */

/* Kernels take rows by KERNEL_LANES: the block's and some that are not there. */
static size_t padded(const struct block_reader *b)
{
    return (b->n + KERNEL_LANES - 1) / KERNEL_LANES * KERNEL_LANES;
}

/* cosines[w][r]; for 3CosMul (1 + cosine) / 2. Rows that are not there get 0,
 * which makes a score of 0, and that is no answer. */
static void block_cosines(const struct batch *t, const struct block_reader *b, float *cosines)
{
    const struct rows *rows = b->rows;
    bool mul = t->asked->opts.how == SHOAL_3COSMUL;
    float by = mul ? 0.5f : 1, plus = mul ? 0.5f : 0;

    for (size_t w = 0; w < t->nwords; w += WORDS_AT_ONCE) {
        size_t m = t->nwords - w < WORDS_AT_ONCE ? t->nwords - w : WORDS_AT_ONCE;

        rows->kernel->dots(cosines + w * PITCH, PITCH, t->words + w, m, b->at, b->stride, b->n,
                           rows->dim);
    }
    for (size_t w = 0; w < t->nwords; w++) {
        float *x = cosines + w * PITCH;

        for (size_t r = 0; r < b->n; r++)
            x[r] = x[r] * b->inverse[r] * by + plus;
        for (size_t r = b->n; r < padded(b); r++)
            x[r] = 0;
    }
}

static float score_of(enum shoal_analogy how, float a, float b, float c)
{
    return how == SHOAL_3COSADD ? (b - a) + c : b * c / (a + COSMUL_SLACK);
}

/* The block holds something above *best: which row, if it is no word of the
 * question itself? */
static void block_search(const struct batch *t, const struct ask *q, const struct block_reader *b,
                       const float *const *x, struct best *best)
{
    enum shoal_analogy how = t->asked->opts.how;

    for (size_t r = 0; r < b->n; r++) {
        float score = score_of(how, x[A][r], x[B][r], x[C][r]);
        uint32_t id = (uint32_t)(b->first + r);

        if (score > best->score && id != t->ids[q->at[A]] && id != t->ids[q->at[B]] &&
            id != t->ids[q->at[C]])
            *best = (struct best){score, id};
    }
}

static void block_answer(const struct batch *t, const struct block_reader *b,
                         const float *cosines, struct best *best)
{
    const struct kernel *k = b->rows->kernel;
    size_t n = padded(b);

    for (size_t i = 0; i < t->nasks; i++) {
        const struct ask *q = &t->asks[i];
        const float *x[3];
        float peak;

        for (int j = A; j <= C; j++)
            x[j] = cosines + q->at[j] * PITCH;
        if (t->asked->opts.how == SHOAL_3COSADD)
            peak = k->peak_add(x[A], x[B], x[C], n);
        else
            peak = k->peak_mul(x[A], x[B], x[C], COSMUL_SLACK, n);
        if (peak > best[i].score)
            block_search(t, q, b, x, &best[i]);
    }
}

static shoal_status batch_part(void *ctx, unsigned index)
{
    struct batch *t = ctx;
    struct best *best = t->best + index * t->nasks;
    size_t bytes = t->nwords * PITCH * sizeof(float), i;
    float *cosines = aligned_alloc(64, bytes);
    struct block_reader b = {0};
    shoal_status st;

    if (!cosines)
        return shoal_fail(SHOAL_ENOMEM, "memory: no room for %zu bytes", bytes);
    st = block_reader_init(&b, &t->asked->rows, t->most);
    while (st == SHOAL_OK && (i = atomic_fetch_add(&t->next, 1)) < t->blocks) {
        block_reader_read(&b, i);
        block_cosines(t, &b, cosines);
        block_answer(t, &b, cosines, best);
    }
    block_reader_fini(&b);
    free(cosines);
    return st;
}

/* ---- a batch --------------------------------------------------------------------- */

static void batch_merge(const struct batch *t, unsigned threads, uint32_t *answers)
{
    for (size_t i = 0; i < t->nasks; i++) {
        struct best best = {0, SHOAL_NO_ID};

        for (unsigned p = 0; p < threads; p++) {
            struct best other = t->best[p * t->nasks + i];

            if (other.score > best.score ||
                (other.score > 0 && other.score == best.score && other.id < best.id))
                best = other;
        }
        answers[t->asks[i].question] = best.id;
    }
}

static shoal_status batch_run(struct batch *t, uint32_t *answers)
{
    unsigned threads = pool_threads(t->asked->opts.threads);
    shoal_status st;

    for (size_t w = 0; w < t->nwords; w++)
        rows_unit(&t->asked->rows, t->ids[w], t->units.at + w * t->units.stride);
    t->most = rows_fit(&t->asked->rows, BLOCK_FLOATS);
    t->blocks = rows_blocks(&t->asked->rows, t->most);
    threads = threads < t->blocks ? threads : (unsigned)t->blocks;
    t->best = mem_array(threads * t->nasks, sizeof *t->best);
    if (!t->best)
        return SHOAL_ENOMEM;
    atomic_store(&t->next, 0);
    st = pool_run(threads, batch_part, t);
    if (st == SHOAL_OK)
        batch_merge(t, threads, answers);
    free(t->best);
    return st;
}

/* The place of a word of the suite among the batch's; place [plain.n] knows
 * those that have one. */
static uint32_t batch_place(struct batch *t, uint32_t *place, uint32_t word)
{
    if (place[word] == SHOAL_NO_ID) {
        t->ids[t->nwords] = t->asked->ids[word];
        place[word] = (uint32_t)t->nwords++;
    }
    return place[word];
}

/* Takes questions from *next on, until their words are as many as fit. */
static void batch_take(struct batch *t, uint32_t *place, size_t *next)
{
    const struct asked *a = t->asked;

    t->nwords = t->nasks = 0;
    memset(place, 0xff, a->suite->plain.n * sizeof *place);
    for (; *next < a->suite->nquestions && t->nwords + 3 <= BATCH_WORDS; ++*next) {
        const struct question *q = &a->suite->questions[*next];
        struct ask *ask = &t->asks[t->nasks];

        if (!asked_sees(a, q))
            continue;
        for (int j = A; j <= C; j++)
            ask->at[j] = batch_place(t, place, q->word[j]);
        ask->question = (uint32_t)*next;
        t->nasks++;
    }
}

static shoal_status answer_all(struct batch *t, uint32_t *place, uint32_t *answers)
{
    size_t n = t->asked->suite->nquestions, next = 0;
    shoal_status st = SHOAL_OK;

    while (next < n && st == SHOAL_OK) {
        batch_take(t, place, &next);
        if (t->nasks > 0)
            st = batch_run(t, answers);
    }
    return st;
}

shoal_status analogies_answer(const struct asked *a, uint32_t *best)
{
    const shoal_eval *e = a->suite;
    struct batch *t = mem_array(1, sizeof *t);
    uint32_t *place = mem_array(e->plain.n, sizeof *place);
    shoal_status st = SHOAL_ENOMEM;

    memset(best, 0xff, e->nquestions * sizeof *best);
    if (!t || !place)
        goto done;
    t->asked = a;
    t->asks = mem_array(e->nquestions, sizeof *t->asks);
    if (!t->asks)
        goto done;
    st = table_init(&t->units, "words", BATCH_WORDS, a->rows.dim);
    if (st != SHOAL_OK)
        goto done;
    for (size_t w = 0; w < BATCH_WORDS; w++)
        t->words[w] = t->units.at + w * t->units.stride;
    st = answer_all(t, place, best);
done:
    if (t) {
        table_fini(&t->units);
        free(t->asks);
    }
    free(place);
    free(t);
    return st;
}
