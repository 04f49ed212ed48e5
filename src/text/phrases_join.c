/* The text anew, with its phrases joined.
 *
 * From left to right, a pair that is a phrase is joined unless its left word
 * just was: of a run of phrases a b c d every second joins, a_b c_d. */
#include "text/phrases.h"

#define BATCH 512u

struct joining {
    struct phrases *phrases;
    struct span joiner;
    struct sink *sink;
    struct bytes last; /* the last word written, within a sentence */
    bool last_joined;  /* to the word before it */
    uint64_t joined;
};

/* What one thread makes of a block. Whether the first word of a block that begins within a
 * sentence is joined to the block before is known only when that one was written. As long as
 * pair after pair is a phrase, every later choice depends on it: a word is joined exactly
 * if the one before was not. So this head of the block is made both ways, with every choice
 * the opposite, and part_write takes one of them:
 *
 *     block before   ... a         the words of this block:  b c d e f g, where ab, bc, cd
 *     head[0]        a b_c d       and fg are phrases, de is none
 *     head[1]        a_b c_d       body  e f_g ...
 *
 * The first pair that is no phrase, or the end of the sentence, ends the head: from there on
 * both are the same, and the body is written once. */
struct part {
    struct bytes head[2]; /* the first word apart; or joined to the block before */
    struct bytes body;
    bool forked;       /* still in the head */
    struct span first; /* word of the head; len 0: none */
    struct span prev;  /* len 0: a sentence begins */
    uint64_t prev_hash;
    bool joined; /* prev to the word before it; in the head, for head[0] */
    uint64_t head_joins[2], joins;
};

/* ---- one block ---- */

/* Room for a batch, so that words are put without asking again. */
static shoal_status part_reserve(struct part *p, const struct span *words, size_t n,
                                 struct span joiner)
{
    size_t more = 0;
    shoal_status st;

    for (size_t i = 0; i < n; i++)
        more += words[i].len + joiner.len;
    st = bytes_reserve(&p->body, more);
    for (int i = 0; i < 2 && p->forked && st == SHOAL_OK; i++)
        st = bytes_reserve(&p->head[i], more);
    return st;
}

static void put(struct bytes *b, const char *at, size_t len)
{
    memcpy(b->at + b->len, at, len);
    b->len += len;
}

static void put_word(struct bytes *b, bool join, struct span joiner, struct span word)
{
    if (join)
        put(b, joiner.at, joiner.len);
    else
        b->at[b->len++] = ' ';
    put(b, word.at, word.len);
}

/* A word with no word of the block before it in its sentence. */
static void part_begin_sentence(struct part *p, struct span word)
{
    p->joined = false;
    if (!p->forked) {
        put(&p->body, word.at, word.len);
        return;
    }
    p->first = word;
    put(&p->head[0], word.at, word.len);
    put(&p->head[1], word.at, word.len);
}

static void part_end_sentence(struct part *p)
{
    p->forked = false;
    p->prev.len = 0;
    p->body.at[p->body.len++] = '\n';
}

static void part_pair(struct part *p, bool phrase, struct span joiner, struct span word)
{
    p->joined = phrase && !p->joined;
    p->forked = p->forked && phrase;
    if (p->forked) {
        put_word(&p->head[0], p->joined, joiner, word);
        put_word(&p->head[1], !p->joined, joiner, word);
        p->head_joins[!p->joined]++;
    } else {
        put_word(&p->body, p->joined, joiner, word);
        p->joins += p->joined;
    }
}

static void part_word(struct part *p, struct phrases *phrases, struct span joiner, struct span word)
{
    uint64_t hash;

    if (word.len == 0) {
        part_end_sentence(p);
        return;
    }
    hash = word_key_of(word.at, word.len).hash;
    if (p->prev.len == 0)
        part_begin_sentence(p, word);
    else
        part_pair(p, phrases_have(phrases, p->prev, p->prev_hash, word, hash), joiner, word);
    p->prev = word;
    p->prev_hash = hash;
}

static void part_clear(struct part *p, bool inside)
{
    p->head[0].len = p->head[1].len = p->body.len = 0;
    p->first.len = p->prev.len = 0;
    p->forked = inside;
    p->joined = false;
    p->head_joins[0] = p->head_joins[1] = p->joins = 0;
}

/* state: struct part. */
static shoal_status part_make(void *ctx, void *state, unsigned thread, struct scanner *scan,
                              const struct block *block)
{
    struct joining *j = ctx;
    struct part *p = state;
    struct span words[BATCH];
    shoal_status st = SHOAL_OK;
    size_t n;

    (void)thread;
    part_clear(p, block->inside);
    while (st == SHOAL_OK && (n = scanner_next(scan, words, BATCH)) > 0) {
        st = part_reserve(p, words, n, j->joiner);
        for (size_t i = 0; i < n && st == SHOAL_OK; i++)
            part_word(p, j->phrases, j->joiner, words[i]);
    }
    return st;
}

/* ---- in the order of the input ---- */

static bool joins_last(struct joining *j, struct span word)
{
    struct span last = {j->last.at, (uint32_t)j->last.len};

    return !j->last_joined && phrases_have(j->phrases, last, word_key_of(last.at, last.len).hash,
                                           word, word_key_of(word.at, word.len).hash);
}

static shoal_status write_head(struct joining *j, const struct part *p, bool join)
{
    shoal_status st = join ? phrases_sink_write(j->sink, j->joiner.at, j->joiner.len)
                           : phrases_sink_write(j->sink, " ", 1);

    j->joined += join + p->head_joins[join];
    return st == SHOAL_OK ? phrases_sink_write(j->sink, p->head[join].at, p->head[join].len) : st;
}

static shoal_status keep_last(struct joining *j, const struct part *p, bool join)
{
    shoal_status st;

    j->last.len = 0;
    j->last_joined = p->joined ^ (p->forked && join);
    st = bytes_reserve(&j->last, p->prev.len + KEY_PAD);
    return st == SHOAL_OK ? bytes_add(&j->last, p->prev.at, p->prev.len) : st;
}

static shoal_status part_write(void *ctx, void *state, unsigned thread)
{
    struct joining *j = ctx;
    const struct part *p = state;
    bool join = p->first.len > 0 && joins_last(j, p->first);
    shoal_status st = p->first.len > 0 ? write_head(j, p, join) : SHOAL_OK;

    (void)thread;
    j->joined += p->joins;
    if (st == SHOAL_OK)
        st = phrases_sink_write(j->sink, p->body.at, p->body.len);
    if (st == SHOAL_OK && p->prev.len > 0)
        st = keep_last(j, p, join);
    return st;
}

static void part_fini(void *state)
{
    struct part *p = state;

    bytes_fini(&p->head[0]);
    bytes_fini(&p->head[1]);
    bytes_fini(&p->body);
}

shoal_status phrases_join(struct sink *sink, struct text *text, struct phrases *phrases,
                          const struct shoal_phrases_opts *opts, uint64_t *joined)
{
    static const struct text_work work = {sizeof(struct part), part_make, part_write, part_fini};
    struct joining j = {
        .phrases = phrases, .joiner = {opts->joiner, (uint32_t)strlen(opts->joiner)}, .sink = sink};
    shoal_status st = text_run(text, pool_threads(opts->vocab.threads), &work, &j, NULL);

    *joined = j.joined;
    bytes_fini(&j.last);
    return st;
}
