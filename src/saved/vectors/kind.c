/* Word vectors as a kind of model. */
#include "saved/kind.h"
#include "saved/vectors/vectors.h"

#include <stdlib.h>

static shoal_status words_verify(const void *model)
{
    return shoal_vectors_verify(model);
}

static shoal_status words_save(const void *model, const char *path,
                               const struct shoal_save_opts *opts)
{
    return shoal_vectors_save(model, path, opts);
}

static shoal_status words_compress(void **out, const void *model,
                                   const struct shoal_compress_opts *opts)
{
    shoal_vectors *v;
    shoal_status st = shoal_vectors_compress(&v, model, opts);

    *out = v;
    return st;
}

static void words_close(void *model)
{
    shoal_vectors_close(model);
}

/* ---- what they are ---- */

static void describe_first(const shoal_vectors *v, uint64_t top, const struct shoal_reporter *to)
{
    bool counted = shoal_vectors_count(v, 0) > 0;
    struct shoal_column columns[] = {{NULL, counted ? "count" : "", 15}, {NULL, "word", 0}};
    struct shoal_grid grid = {NULL, columns, 2};

    for (uint32_t id = 0; id < top && id < v->size; id++) {
        struct shoal_value count = VALUE_COUNT(shoal_vectors_count(v, id));
        struct shoal_value word = VALUE_TEXT(shoal_vectors_word(v, id));

        report_row(to, &grid, (struct shoal_value[]){counted ? count : VALUE_TEXT(""), word}, 0);
    }
}

/* What the file had and the vectors have not; mostly nothing. */
static void describe_left(const struct shoal_left_out *left, const struct shoal_reporter *to)
{
    if (left->twice > 0)
        report_noted(to, "words_twice", "left out", VALUE_COUNT(left->twice),
                     "words that stood there before", NO_VALUE, NO_VALUE);
    if (left->empty > 0)
        report_noted(to, "words_empty", "left out", VALUE_COUNT(left->empty), "rows without a word",
                     NO_VALUE, NO_VALUE);
}

static void describe_subwords(const shoal_vectors *v, const struct shoal_reporter *to)
{
    const struct subwords *how = &v->grams.how;

    if (how->maxn == 0)
        return;
    report_value(to, "minn", NULL, VALUE_COUNT(how->minn));
    report_value(to, "maxn", NULL, VALUE_COUNT(how->maxn));
    report_noted(to, "buckets", "subwords", VALUE_COUNT(how->buckets),
                 "buckets of n-grams of % to % characters", VALUE_COUNT(how->minn),
                 VALUE_COUNT(how->maxn));
    if (how->hashes > 0)
        report_noted(to, "hashes", "hashed", VALUE_COUNT(how->hashes),
                     "rows of each word and n-gram; words have none of their own", NO_VALUE,
                     NO_VALUE);
}

static shoal_status words_describe(const void *model, uint64_t bytes, uint64_t top,
                                   const struct shoal_reporter *to)
{
    static const char *const dtypes[] = {"float32", "float16", "bfloat16", "int8"};
    const shoal_vectors *v = model;

    report_begin(to, "word vectors");
    if (bytes > 0)
        report_value(to, NULL, "size", (struct shoal_value){.type = SHOAL_BYTES, .count = bytes});
    report_value(to, NULL, "format", VALUE_TEXT(shoal_format_name(v->format)));
    report_value(to, "words", "words", VALUE_COUNT(v->size));
    report_noted(to, "dimensions", "dimensions", VALUE_COUNT(v->dim), "%",
                 VALUE_TEXT(vectors_packed(v) ? "quantised" : dtypes[v->dtype]), NO_VALUE);
    describe_subwords(v, to);
    describe_left(&v->left, to);
    describe_first(v, top, to);
    return SHOAL_OK;
}

/* ---- how well they answer ---- */

static void score_pairs(const struct shoal_reporter *to, const struct shoal_score *s)
{
    static const struct shoal_column columns[] = {
        {"name", NULL, 0}, {"seen", NULL, 0},    {"total", NULL, 0}, {"spearman", NULL, 0},
        {"pearson", NULL, 0}, {"composed", NULL, 0}};
    struct shoal_grid grid = {"scores", columns, s->composed > 0 ? 6 : 5};

    report_value(to, NULL, "spearman", VALUE_REAL(s->spearman));
    report_value(to, NULL, "pearson", VALUE_REAL(s->pearson));
    report_noted(to, NULL, "found", VALUE_COUNT(s->seen), "of % pairs", VALUE_COUNT(s->total),
                 NO_VALUE);
    report_row(to, &grid,
               (struct shoal_value[]){VALUE_TEXT(s->name), VALUE_COUNT(s->seen),
                                      VALUE_COUNT(s->total), VALUE_REAL(s->spearman),
                                      VALUE_REAL(s->pearson), VALUE_COUNT(s->composed)},
               0);
}

/* Of vectors with subwords: what was asked of words that were never seen. */
static void score_composed(const struct shoal_reporter *to, const struct shoal_score *s, bool pairs)
{
    if (s->composed > 0)
        report_noted(to, NULL, "composed", VALUE_COUNT(s->composed),
                     pairs ? "of them with a word never seen, made of its n-grams"
                           : "questions with a word never seen, made of its n-grams",
                     NO_VALUE, NO_VALUE);
}

/* The last three are sums; one without any section is for programs alone. */
static void score_sections(const struct shoal_reporter *to, const struct shoal_score *s, size_t n)
{
    static const struct shoal_column columns[] = {
        {"name", "section", -28}, {NULL, "right", 9}, {"seen", "seen", 9},
        {"total", "total", 9},    {"right", NULL, 0}, {"accuracy", "accuracy", 8},
        {"composed", NULL, 0}};
    struct shoal_grid grid = {"scores", columns, s[n - 1].composed > 0 ? 7 : 6};

    for (size_t i = 0; i < n; i++, s++)
        report_row(to, &grid,
                   (struct shoal_value[]){VALUE_TEXT(s->name), VALUE_COUNT(s->right),
                                          VALUE_COUNT(s->seen), VALUE_COUNT(s->total),
                                          VALUE_COUNT(s->right), VALUE_SHARE(s->accuracy),
                                          VALUE_COUNT(s->composed)},
                   (i + 3 >= n ? SHOAL_ROW_SUM : 0u) | (s->total == 0 ? SHOAL_ROW_HIDDEN : 0u));
}

static shoal_status score_suite(const shoal_vectors *v, const char *path, const shoal_eval *suite,
                                const struct shoal_eval_opts *opts, const struct shoal_reporter *to)
{
    bool pairs = shoal_eval_kind(suite) == SHOAL_PAIRS;
    struct shoal_score *scores;
    size_t n;
    shoal_status st = shoal_eval_run(suite, v, opts, &scores, &n);

    if (st != SHOAL_OK)
        return st;
    report_begin(to, path);
    report_value(to, "file", NULL, VALUE_TEXT(path));
    report_value(to, "kind", NULL, VALUE_TEXT(pairs ? "pairs" : "analogies"));
    if (pairs)
        score_pairs(to, scores);
    else
        score_sections(to, scores, n);
    score_composed(to, &scores[n - 1], pairs);
    if (scores[n - 1].seen == 0)
        report_warn(to,
                    pairs ? "%: of % pairs none has all its words among the vectors"
                          : "%: of % questions none has all its words among the vectors",
                    VALUE_TEXT(path), VALUE_COUNT(scores[n - 1].total));
    shoal_scores_free(scores);
    return SHOAL_OK;
}

static void warn_left(const char *path, const struct shoal_left_out *left,
                      const struct shoal_reporter *to)
{
    if (left->twice + left->empty > 0)
        report_warn(to, "%: left out % vectors of words that stood there before, or without a word",
                    VALUE_TEXT(path), VALUE_COUNT(left->twice + left->empty));
}

/* All files are opened first: a name mistyped should not cost the work on those before. */
static shoal_status words_score(const void *model, const char *path, const struct asked_of *q,
                                const struct shoal_reporter *to)
{
    shoal_eval **suites = mem_array(q->n, sizeof *suites);
    shoal_status st = suites ? SHOAL_OK : SHOAL_ENOMEM;

    warn_left(path, &((const shoal_vectors *)model)->left, to);
    if (to->list)
        to->list(to->user, "vectors", "suites");
    for (size_t i = 0; i < q->n && st == SHOAL_OK; i++)
        st = shoal_eval_open(&suites[i], q->inputs[i]);
    for (size_t i = 0; i < q->n && st == SHOAL_OK; i++)
        st = score_suite(model, q->inputs[i], suites[i], &q->opts->words, to);
    for (size_t i = 0; suites && i < q->n; i++)
        shoal_eval_close(suites[i]);
    free(suites);
    return st;
}

const struct kind kind_vectors = {
    .name = "vectors",
    .word = "vectors",
    .maps = true,
    .read = vectors_container_read,
    .verify = words_verify,
    .save = words_save,
    .compress = words_compress,
    .describe = words_describe,
    .score = words_score,
    .close = words_close,
};
