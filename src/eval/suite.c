/* A suite from file to scores. */
#include "eval/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SUITE_BYTES_MAX ((size_t)256 << 20)

struct shoal_eval_opts shoal_eval_default(void)
{
    return (struct shoal_eval_opts){.top_words = 30000, .how = SHOAL_3COSADD};
}

shoal_status shoal_eval_check(const struct shoal_eval_opts *opts)
{
    if (opts->how != SHOAL_3COSADD && opts->how != SHOAL_3COSMUL)
        return shoal_fail(SHOAL_EINVAL, "eval: how is %d, want 0 or 1", (int)opts->how);
    if (opts->threads > 1024)
        return shoal_fail(SHOAL_EINVAL, "eval: threads is %u, want at most 1024", opts->threads);
    return SHOAL_OK;
}

/* ---- open and close -------------------------------------------------------------- */

static void name_of(char name[64], const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    size_t len = dot > base ? (size_t)(dot - base) : strlen(base);

    snprintf(name, 64, "%.*s", (int)(len < 63 ? len : 63), base);
}

shoal_status shoal_eval_open_memory(shoal_eval **out, const struct shoal_memory *file)
{
    shoal_eval *e = mem_array(1, sizeof *e);
    shoal_status st;

    *out = NULL;
    if (!e)
        return SHOAL_ENOMEM;
    name_of(e->name, file->name);
    st = questions_read(e, file->name, file->data, file->size);
    if (st != SHOAL_OK) {
        shoal_eval_close(e);
        return st;
    }
    *out = e;
    return SHOAL_OK;
}

shoal_status shoal_eval_open(shoal_eval **out, const char *path)
{
    char *data = NULL;
    size_t len = 0;
    shoal_status st = stream_slurp(&data, &len, path, SUITE_BYTES_MAX);

    *out = NULL;
    if (st == SHOAL_OK)
        st = shoal_eval_open_memory(out, &(struct shoal_memory){path, data, len});
    free(data);
    return st;
}

void shoal_eval_close(shoal_eval *e)
{
    if (!e)
        return;
    names_fini(&e->plain);
    names_fini(&e->upper);
    free(e->upper_of);
    free(e->questions);
    free(e->topics);
    free(e->pairs);
    free(e);
}

enum shoal_suite shoal_eval_kind(const shoal_eval *e)
{
    return e->kind;
}

const char *shoal_eval_name(const shoal_eval *e)
{
    return e->name;
}

void shoal_scores_free(struct shoal_score *scores)
{
    free(scores);
}

/* ---- which rows are the suite's words -------------------------------------------- */

/* A vocabulary's word as the names are compared. */
static shoal_status spelt(const struct asked *a, uint32_t id, struct bytes *out)
{
    const char *word = shoal_vocab_word(a->vocab, id);
    shoal_status st;

    if (!a->opts.keep_case)
        return clean_upper(word, strlen(word), out);
    out->len = 0;
    st = bytes_reserve(out, strlen(word) + KEY_PAD);
    return st == SHOAL_OK ? bytes_add(out, word, strlen(word)) : st;
}

shoal_status asked_is(const struct asked *a, uint32_t id, uint32_t w, struct bytes *room,
                      bool *is)
{
    const shoal_eval *e = a->suite;
    struct span want =
        a->opts.keep_case ? names_at(&e->plain, w) : names_at(&e->upper, e->upper_of[w]);
    shoal_status st = spelt(a, id, room);

    *is = st == SHOAL_OK && room->len == want.len && memcmp(room->at, want.at, want.len) == 0;
    return st;
}

bool asked_sees(const struct asked *a, const struct question *q)
{
    for (int i = A; i <= D; i++)
        if (a->ids[q->word[i]] == SHOAL_NO_ID)
            return false;
    return !asked_made(a, q->word[D]);
}

/* Whether a question that is seen has a word that is composed. */
static bool has_made(const struct asked *a, const struct question *q)
{
    return asked_made(a, q->word[A]) || asked_made(a, q->word[B]) || asked_made(a, q->word[C]);
}

/* first[i] is the first row whose word is name i: of several that differ only
 * in case the commonest, as in word2vec.c and gensim. */
static shoal_status find_first(const struct asked *a, const struct names *names, uint32_t *first)
{
    struct bytes word = {0};
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < names->n; i++)
        first[i] = SHOAL_NO_ID;
    for (uint32_t id = 0; id < a->rows.n && st == SHOAL_OK; id++) {
        uint32_t name;

        st = spelt(a, id, &word);
        if (st != SHOAL_OK)
            break;
        name = names_find(names, word.at, word.len);
        if (name != SHOAL_NO_ID && first[name] == SHOAL_NO_ID)
            first[name] = id;
    }
    bytes_fini(&word);
    return st;
}

static shoal_status find_words(struct asked *a)
{
    const shoal_eval *e = a->suite;
    uint32_t *first;
    shoal_status st;

    a->ids = mem_array(e->plain.n, sizeof *a->ids);
    if (!a->ids)
        return SHOAL_ENOMEM;
    if (a->opts.keep_case)
        return find_first(a, &e->plain, a->ids);
    first = mem_array(e->upper.n, sizeof *first);
    if (!first)
        return SHOAL_ENOMEM;
    st = find_first(a, &e->upper, first);
    for (size_t w = 0; w < e->plain.n; w++)
        a->ids[w] = first[e->upper_of[w]];
    free(first);
    return st;
}

/* ---- scores ---------------------------------------------------------------------- */

static void score_name(struct shoal_score *score, const char *name)
{
    *score = (struct shoal_score){.accuracy = NAN, .spearman = NAN, .pearson = NAN};
    memcpy(score->name, name, strnlen(name, sizeof score->name - 1));
}

static void score_add(struct shoal_score *to, const struct shoal_score *part)
{
    to->seen += part->seen;
    to->total += part->total;
    to->right += part->right;
    to->composed += part->composed;
}

/* Questions from `from` to the section's end. */
static shoal_status section_score(const struct asked *a, size_t from, size_t end,
                                  const uint32_t *best, struct shoal_score *score)
{
    struct bytes room = {0};
    shoal_status st = SHOAL_OK;

    for (size_t i = from; i < end && st == SHOAL_OK; i++) {
        const struct question *q = &a->suite->questions[i];
        bool right = false;

        if (best[i] != SHOAL_NO_ID)
            st = asked_is(a, best[i], q->word[D], &room, &right);
        score->total++;
        score->seen += asked_sees(a, q);
        score->composed += asked_sees(a, q) && has_made(a, q);
        score->right += right;
    }
    bytes_fini(&room);
    return st;
}

enum { SEMANTIC, SYNTACTIC, TOTAL, SUMS };

/* scores [ntopics + SUMS] */
static shoal_status sections_score(const struct asked *a, const uint32_t *best,
                                   struct shoal_score *scores)
{
    static const char *const names[SUMS] = {"semantic", "syntactic", "total"};
    const shoal_eval *e = a->suite;
    struct shoal_score *sums = scores + e->ntopics;
    size_t from = 0;

    for (int i = 0; i < SUMS; i++)
        score_name(&sums[i], names[i]);
    for (size_t i = 0; i < e->ntopics; i++) {
        const struct topic *s = &e->topics[i];
        bool syntactic = strncmp(s->name, "gram", 4) == 0;
        shoal_status st;

        score_name(&scores[i], s->name);
        st = section_score(a, from, s->end, best, &scores[i]);
        if (st != SHOAL_OK)
            return st;
        score_add(&sums[syntactic ? SYNTACTIC : SEMANTIC], &scores[i]);
        score_add(&sums[TOTAL], &scores[i]);
        from = s->end;
    }
    for (size_t i = 0; i < e->ntopics + SUMS; i++)
        if (scores[i].seen > 0)
            scores[i].accuracy = (double)scores[i].right / (double)scores[i].seen;
    return SHOAL_OK;
}

static shoal_status run_analogies(const struct asked *a, struct shoal_score *scores)
{
    uint32_t *best = mem_array(a->suite->nquestions, sizeof *best);
    shoal_status st = SHOAL_ENOMEM;

    if (best)
        st = analogies_answer(a, best);
    if (st == SHOAL_OK)
        st = sections_score(a, best, scores);
    free(best);
    return st;
}

static shoal_status run_pairs(const struct asked *a, struct shoal_score *score)
{
    score_name(score, "pairs");
    return pairs_score(a, score);
}

/* ---- a run ----------------------------------------------------------------------- */

shoal_status eval_run(const shoal_eval *e, const shoal_vocab *vocab, const struct rows *rows,
                      const struct composer *others, const struct shoal_eval_opts *opts,
                      struct shoal_score **scores, size_t *n)
{
    struct asked a = {.suite = e, .vocab = vocab, .rows = *rows, .opts = *opts};
    size_t count = e->kind == SHOAL_PAIRS ? 1 : e->ntopics + SUMS;
    struct shoal_score *out = NULL;
    shoal_status st = shoal_eval_check(opts);

    *scores = NULL;
    *n = 0;
    if (opts->top_words > 0 && opts->top_words < a.rows.n)
        a.rows.n = opts->top_words;
    if (st == SHOAL_OK)
        st = find_words(&a);
    if (st == SHOAL_OK && others)
        st = asked_compose(&a, others);
    if (st == SHOAL_OK && !(out = mem_array(count, sizeof *out)))
        st = SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        st = e->kind == SHOAL_PAIRS ? run_pairs(&a, out) : run_analogies(&a, out);
    free(a.ids);
    table_fini(&a.made);
    if (st != SHOAL_OK) {
        free(out);
        return st;
    }
    *scores = out;
    *n = count;
    return SHOAL_OK;
}

shoal_status eval_run_table(const shoal_eval *e, const shoal_vocab *vocab,
                            const struct table *table, const struct composer *others,
                            const struct shoal_eval_opts *opts, struct shoal_score **scores,
                            size_t *n)
{
    struct rows rows;
    shoal_status st = rows_of_table(&rows, table);

    *scores = NULL;
    *n = 0;
    if (st == SHOAL_OK && rows.n != shoal_vocab_size(vocab))
        return shoal_fail(SHOAL_EINVAL, "eval: found %zu rows, want one for each of %zu words",
                          rows.n, shoal_vocab_size(vocab));
    return st == SHOAL_OK ? eval_run(e, vocab, &rows, others, opts, scores, n) : st;
}
