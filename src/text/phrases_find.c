/* Which pairs of words are phrases (Mikolov et al. 2013, equation 6).
 *
 * Words and pairs are counted by the same counters, a pair as its words with the joiner
 * between, so that pairs too may spill to disk. "a_b_c" may then be the pair (a, b_c), the
 * pair (a_b, c) or a word of the text: the sum does not tell. So each is split at every
 * joiner in it, and the two sides are scored if both are words that were counted.
 *
 * A pair may lie across two blocks, which are counted by different threads: its words meet
 * in count_seam, which goes through the blocks in their order. */
#include "text/phrases.h"
#include "text/vocab.h"

#include <stdlib.h>

#define BATCH 512u

/* ---- counting ---- */

struct counting {
    struct counter **counters; /* [threads] */
    unsigned threads;
    struct span joiner;
    struct bytes last; /* the last word of the blocks before, in the order of the input */
};

/* One thread's words side by side, so that a pair is a part of the line and needs no copy:
 *
 *     new_york_is_large          pairs: new_york  york_is  is_large
 *              '- last
 */
struct pairing {
    struct bytes line;
    size_t last;       /* where the last word begins */
    struct span first; /* of the block, in the block; len 0: no word yet */
    struct span pairs[BATCH];
    size_t npairs;
};

/* Begins a line with the last word of the one before, and with room for the
 * words, so that no pair moves, and for word_key_of behind them. */
static shoal_status line_begin(struct pairing *p, const struct span *words, size_t n,
                               struct span joiner)
{
    struct bytes *line = &p->line;
    size_t more = KEY_PAD;

    for (size_t i = 0; i < n; i++)
        more += words[i].len + joiner.len;
    line->len -= p->last;
    if (p->last > 0)
        memmove(line->at, line->at + p->last, line->len);
    p->last = 0;
    p->npairs = 0;
    return bytes_reserve(line, more);
}

static void line_put(struct bytes *line, struct span s)
{
    memcpy(line->at + line->len, s.at, s.len);
    line->len += s.len;
}

/* A pair that would be too long for a word is none. */
static void line_word(struct pairing *p, struct span word, struct span joiner)
{
    struct bytes *line = &p->line;
    size_t before = p->last, len;

    if (line->len == 0) {
        line_put(line, word);
        return;
    }
    line_put(line, joiner);
    p->last = line->len;
    line_put(line, word);
    len = line->len - before;
    if (len <= SHOAL_WORD_MAX)
        p->pairs[p->npairs++] = (struct span){line->at + before, (uint32_t)len};
}

/* Sentence ends are passed over: pairs are counted across them. */
static shoal_status count_batch(struct counter *c, struct pairing *p, const struct span *words,
                                size_t n, struct span joiner)
{
    shoal_status st = line_begin(p, words, n, joiner);

    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        if (words[i].len == 0)
            continue;
        line_word(p, words[i], joiner);
        if (p->first.len == 0)
            p->first = words[i];
    }
    if (st == SHOAL_OK)
        st = counter_add(c, words, n);
    return st == SHOAL_OK ? counter_add(c, p->pairs, p->npairs) : st;
}

/* state: struct pairing. */
static shoal_status count_block(void *ctx, void *state, unsigned thread, struct scanner *scan,
                                const struct block *block)
{
    struct counting *job = ctx;
    struct pairing *p = state;
    struct span words[BATCH];
    shoal_status st = SHOAL_OK;
    size_t n;

    (void)block;
    p->line.len = p->last = 0;
    p->first.len = 0;
    while (st == SHOAL_OK && (n = scanner_next(scan, words, BATCH)) > 0)
        st = count_batch(job->counters[thread], p, words, n, job->joiner);
    return st;
}

/* The pair that the first word of the block makes with the last one of the blocks before,
 * whose place this block's last word then takes. */
static shoal_status count_seam(void *ctx, void *state, unsigned thread)
{
    struct counting *job = ctx;
    struct pairing *p = state;
    struct bytes before = job->last;
    shoal_status st;

    if (p->first.len == 0)
        return SHOAL_OK;
    job->last = p->line;
    job->last.len -= p->last;
    memmove(job->last.at, job->last.at + p->last, job->last.len);
    p->line = before;
    p->last = 0;
    if (before.len == 0)
        return SHOAL_OK;
    st = line_begin(p, &p->first, 1, job->joiner);
    if (st != SHOAL_OK)
        return st;
    line_word(p, p->first, job->joiner);
    return counter_add(job->counters[thread], p->pairs, p->npairs);
}

static void pairing_fini(void *state)
{
    bytes_fini(&((struct pairing *)state)->line);
}

static shoal_status count_text(struct counting *job, struct text *text,
                               struct shoal_text_stats *stats)
{
    static const struct text_work work = {sizeof(struct pairing), count_block, count_seam,
                                          pairing_fini};
    shoal_status st = text_run(text, job->threads, &work, job, stats);

    if (st == SHOAL_OK && stats->words == 0)
        st = shoal_fail(SHOAL_EINVAL, "input: no word in %llu file%s of %llu bytes",
                        (unsigned long long)stats->files, stats->files == 1 ? "" : "s",
                        (unsigned long long)stats->bytes);
    return st;
}

/* The sums of words and pairs over all threads, which end here. */
static shoal_status count_pairs(struct tallies *out, struct text *text,
                                const struct shoal_phrases_opts *opts,
                                struct shoal_text_stats *stats)
{
    struct counting job = {.joiner = {opts->joiner, (uint32_t)strlen(opts->joiner)}};
    shoal_status st = counters_new(&job.counters, &job.threads, &opts->vocab);

    if (st == SHOAL_OK)
        st = count_text(&job, text, stats);
    if (st == SHOAL_OK)
        st = counter_merge(out, job.counters, job.threads, opts->vocab.min_count,
                           opts->vocab.memory);
    counters_free(job.counters, job.threads);
    bytes_fini(&job.last);
    return st;
}

/* ---- places ---- */

/* Room for n, of which `what` is the plural; at most one of `sparse` slots is taken. */
static shoal_status places_init(struct places *p, size_t n, size_t sparse, const char *what)
{
    if (n >= UINT32_MAX)
        return shoal_fail(SHOAL_ELIMIT, "phrases: more than %u %s", UINT32_MAX, what);
    for (p->size = 16; p->size < sparse * n;)
        p->size *= 2;
    p->slots = mem_array(p->size, sizeof *p->slots);
    return p->slots ? SHOAL_OK : SHOAL_ENOMEM;
}

static void places_put(struct places *p, uint64_t hash, size_t place)
{
    size_t i = hash & (p->size - 1);

    while (p->slots[i] != 0)
        i = (i + 1) & (p->size - 1);
    p->slots[i] = (uint32_t)place + 1;
}

/* ---- the sum of a word ---- */

struct sums {
    struct tallies tallies;
    struct places places; /* of tallies, by the hash of the word */
};

static shoal_status index_sums(struct sums *s)
{
    shoal_status st = bytes_reserve(&s->tallies.arena, KEY_PAD);

    if (st == SHOAL_OK)
        st = places_init(&s->places, s->tallies.len, 2, "words and pairs");
    for (size_t j = 0; j < s->tallies.len && st == SHOAL_OK; j++) {
        struct span word = tally_span(&s->tallies, j);

        places_put(&s->places, word_key_of(word.at, word.len).hash, j);
    }
    return st;
}

/* 0 for what was left out. */
static uint64_t sum_of(const struct sums *s, struct span word)
{
    const struct places *p = &s->places;
    size_t i = word_key_of(word.at, word.len).hash & (p->size - 1);

    for (; p->slots[i] != 0; i = (i + 1) & (p->size - 1))
        if (span_compare(tally_span(&s->tallies, p->slots[i] - 1), word) == 0)
            return s->tallies.at[p->slots[i] - 1].count;
    return 0;
}

static void sums_fini(struct sums *s)
{
    tallies_fini(&s->tallies);
    free(s->places.slots);
}

/* ---- scoring ---- */

/* (pair - min_count) / (left * right) * words > threshold, multiplied out: both
 * sides are whole numbers, and a tie is seen as one, up to 2^53. */
static bool scores(const struct shoal_phrases_opts *opts, uint64_t words, uint64_t pair,
                   uint64_t left, uint64_t right)
{
    return pair > opts->vocab.min_count && left > 0 && right > 0 &&
           (double)(pair - opts->vocab.min_count) * (double)words >
               opts->threshold * ((double)left * (double)right);
}

static shoal_status keep_phrase(struct phrases *p, struct span left, struct span right)
{
    uint64_t offset = p->arena.len;
    shoal_status st = mem_grow(&p->at, &p->cap, p->len + 1, sizeof *p->at);

    if (st == SHOAL_OK)
        st = bytes_add(&p->arena, left.at, left.len);
    if (st == SHOAL_OK)
        st = bytes_add(&p->arena, right.at, right.len);
    if (st == SHOAL_OK)
        p->at[p->len++] = (struct phrase){offset, left.len, right.len, false};
    return st;
}

/* Splits one sum at every joiner in it. */
static shoal_status keep_splits(struct phrases *p, const struct sums *sums, size_t tally,
                                const struct shoal_phrases_opts *opts, uint64_t words)
{
    struct span pair = tally_span(&sums->tallies, tally);
    size_t joiner = strlen(opts->joiner);
    const char *end = pair.at + pair.len, *at = pair.at;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && (at = memmem(at, (size_t)(end - at), opts->joiner, joiner))) {
        struct span left = {pair.at, (uint32_t)(at - pair.at)};
        struct span right = {at + joiner, (uint32_t)(end - at - (ptrdiff_t)joiner)};
        uint64_t count = left.len && right.len ? sum_of(sums, left) : 0;

        if (count > 0 &&
            scores(opts, words, sums->tallies.at[tally].count, count, sum_of(sums, right)))
            st = keep_phrase(p, left, right);
        at++;
    }
    return st;
}

/* ---- the table ---- */

/* Nearly all pairs that are asked for are none: mostly empty is fast. */
static shoal_status index_phrases(struct phrases *p)
{
    shoal_status st = bytes_reserve(&p->arena, KEY_PAD);

    if (st == SHOAL_OK)
        st = places_init(&p->places, p->len, 4, "pairs");
    for (size_t j = 0; j < p->len && st == SHOAL_OK; j++) {
        const struct phrase *f = &p->at[j];
        const char *left = p->arena.at + f->offset, *right = left + f->left;

        places_put(
            &p->places,
            phrases_pair_hash(word_key_of(left, f->left).hash, word_key_of(right, f->right).hash),
            j);
    }
    return st;
}

static bool phrase_is(const struct phrases *p, const struct phrase *f, struct span left,
                      struct span right)
{
    const char *at = p->arena.at + f->offset;

    return f->left == left.len && f->right == right.len && memcmp(at, left.at, left.len) == 0 &&
           memcmp(at + left.len, right.at, right.len) == 0;
}

bool phrases_have(struct phrases *p, struct span left, uint64_t left_hash, struct span right,
                  uint64_t right_hash)
{
    size_t mask = p->places.size - 1, i = phrases_pair_hash(left_hash, right_hash) & mask;

    for (; p->places.slots[i] != 0; i = (i + 1) & mask) {
        struct phrase *f = &p->at[p->places.slots[i] - 1];

        if (phrase_is(p, f, left, right)) {
            if (!__atomic_load_n(&f->seen, __ATOMIC_RELAXED))
                __atomic_store_n(&f->seen, true, __ATOMIC_RELAXED);
            return true;
        }
    }
    return false;
}

void phrases_fini(struct phrases *p)
{
    free(p->at);
    free(p->places.slots);
    bytes_fini(&p->arena);
    *p = (struct phrases){0};
}

shoal_status phrases_find(struct phrases *out, struct text *text,
                          const struct shoal_phrases_opts *opts, struct shoal_vocab_stats *stats)
{
    struct sums sums = {0};
    shoal_status st = count_pairs(&sums.tallies, text, opts, &stats->text);

    *out = (struct phrases){0};
    if (st == SHOAL_OK)
        st = index_sums(&sums);
    for (size_t i = 0; i < sums.tallies.len && st == SHOAL_OK; i++)
        st = keep_splits(out, &sums, i, opts, stats->text.words);
    if (st == SHOAL_OK)
        st = index_phrases(out);
    stats->types = sums.tallies.types;
    stats->floor = sums.tallies.floor;
    stats->spilled = sums.tallies.spilled;
    sums_fini(&sums);
    return st;
}
