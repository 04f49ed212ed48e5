/* Word vectors as a kind of model. */
#include "saved/kind.h"
#include "saved/vectors/vectors.h"

#include <stdlib.h>
#include <sys/stat.h>

static shoal_status words_read(void **model, struct container *c)
{
    shoal_vectors *v;
    shoal_status st = mapped_read(&v, c);

    *model = v;
    return st;
}

static shoal_status words_foreign(void **model, const char *path, bool map)
{
    shoal_vectors *v;
    shoal_status st = vectors_open(&v, path, map);

    *model = v;
    return st;
}

static shoal_status words_foreign_memory(void **model, const char *name, const void *data,
                                         size_t size)
{
    shoal_vectors *v;
    shoal_status st = shoal_vectors_open_memory(&v, name, data, size);

    *model = v;
    return st;
}

static shoal_status words_verify(const void *model)
{
    return shoal_vectors_verify(model);
}

static shoal_status words_save(const void *model, const char *path,
                               const struct shoal_save_opts *opts)
{
    return shoal_vectors_save(model, path, opts);
}

static void words_close(void *model)
{
    shoal_vectors_close(model);
}

/* ---- what they are ---- */

static void describe_first(const shoal_vectors *v, uint64_t top, struct shoal_model_reports *out)
{
    bool counted = shoal_vectors_count(v, 0) > 0;
    struct shoal_column columns[] = {{NULL, counted ? "count" : "", 15}, {NULL, "word", 0}};

    report_grid(out, NULL, columns, 2);
    for (uint32_t id = 0; id < top && id < v->size; id++)
        report_row(out,
                   (struct shoal_value[]){counted ? VALUE_COUNT(shoal_vectors_count(v, id))
                                                  : VALUE_TEXT(""),
                                          VALUE_TEXT(shoal_vectors_word(v, id))},
                   0);
}

static void words_describe(const void *model, const char *path, uint64_t top,
                           struct shoal_model_reports *out)
{
    static const char *const dtypes[] = {"float32", "float16", "bfloat16", "int8"};
    static const char *const formats[] = {[SHOAL_FORMAT_AUTO] = "auto",
                                          [SHOAL_FORMAT_WORD2VEC] = "word2vec",
                                          [SHOAL_FORMAT_TEXT] = "text",
                                          [SHOAL_FORMAT_GLOVE] = "glove",
                                          [SHOAL_FORMAT_SHOAL] = "shoal",
                                          [SHOAL_FORMAT_NPY] = "npy",
                                          [SHOAL_FORMAT_SAFETENSORS] = "safetensors"};
    const shoal_vectors *v = model;
    struct stat file;

    report_begin(out, "word vectors");
    if (stat(path, &file) == 0)
        report_value(out, NULL, "size",
                     (struct shoal_value){.type = SHOAL_BYTES, .count = (uint64_t)file.st_size});
    report_text(out, NULL, "format", formats[v->format]);
    report_value(out, "words", "words", VALUE_COUNT(v->size));
    report_fact(
        out,
        (struct shoal_fact){
            "dimensions", "dimensions", VALUE_COUNT(v->dim), "%", {VALUE_TEXT(dtypes[v->dtype])}});
    describe_first(v, top, out);
}

/* ---- how well they answer ---- */

static void score_pairs(struct shoal_model_reports *out, const struct shoal_score *s)
{
    static const struct shoal_column columns[] = {{"name", NULL, 0},
                                                  {"seen", NULL, 0},
                                                  {"total", NULL, 0},
                                                  {"spearman", NULL, 0},
                                                  {"pearson", NULL, 0}};
    struct shoal_value cells[] = {VALUE_TEXT(s->name), VALUE_COUNT(s->seen), VALUE_COUNT(s->total),
                                  VALUE_REAL(s->spearman), VALUE_REAL(s->pearson)};

    report_value(out, NULL, "spearman", VALUE_REAL(s->spearman));
    report_value(out, NULL, "pearson", VALUE_REAL(s->pearson));
    report_fact(out,
                (struct shoal_fact){
                    NULL, "found", VALUE_COUNT(s->seen), "of % pairs", {VALUE_COUNT(s->total)}});
    report_grid(out, "scores", columns, 5);
    report_row(out, cells, 0);
}

/* The last three are sums; one without any section is for programs alone. */
static void score_sections(struct shoal_model_reports *out, const struct shoal_score *scores,
                           size_t n)
{
    static const struct shoal_column columns[] = {
        {"name", "section", -28}, {NULL, "right", 9}, {"seen", "seen", 9},
        {"total", "total", 9},    {"right", NULL, 0}, {"accuracy", "accuracy", 8}};

    report_grid(out, "scores", columns, 6);
    for (size_t i = 0; i < n; i++) {
        const struct shoal_score *s = &scores[i];
        struct shoal_value cells[] = {VALUE_TEXT(s->name),   VALUE_COUNT(s->right),
                                      VALUE_COUNT(s->seen),  VALUE_COUNT(s->total),
                                      VALUE_COUNT(s->right), VALUE_SHARE(s->accuracy)};

        report_row(out, cells,
                   (unsigned char)((i + 3 >= n ? SHOAL_ROW_SUM : 0) |
                                   (s->total == 0 ? SHOAL_ROW_HIDDEN : 0)));
    }
}

static shoal_status score_suite(const shoal_vectors *v, const char *path, const shoal_eval *suite,
                                const struct shoal_eval_opts *opts, struct shoal_model_reports *out)
{
    bool pairs = shoal_eval_kind(suite) == SHOAL_PAIRS;
    struct shoal_score *scores;
    size_t n;
    shoal_status st = shoal_eval_run(suite, v, opts, &scores, &n);

    if (st != SHOAL_OK)
        return st;
    report_begin(out, path);
    report_text(out, "file", NULL, path);
    report_text(out, "kind", NULL, pairs ? "pairs" : "analogies");
    if (pairs)
        score_pairs(out, scores);
    else
        score_sections(out, scores, n);
    if (scores[n - 1].seen == 0)
        report_warn(out,
                    pairs ? "%: of % pairs none has all its words among the vectors"
                          : "%: of % questions none has all its words among the vectors",
                    VALUE_TEXT(path), VALUE_COUNT(scores[n - 1].total));
    shoal_scores_free(scores);
    return SHOAL_OK;
}

/* All files are opened first: a name mistyped should not cost the work on those before. */
static shoal_status words_score(const void *model, const char *path, const struct asked_of *q,
                                struct shoal_model_reports *out)
{
    shoal_eval **suites = mem_array(q->n, sizeof *suites);
    shoal_status st = suites ? SHOAL_OK : SHOAL_ENOMEM;

    (void)path;
    reports_set_list(out, "vectors", "suites");
    for (size_t i = 0; i < q->n && st == SHOAL_OK; i++)
        st = shoal_eval_open(&suites[i], q->inputs[i]);
    for (size_t i = 0; i < q->n && st == SHOAL_OK; i++)
        st = score_suite(model, q->inputs[i], suites[i], &q->opts->words, out);
    for (size_t i = 0; suites && i < q->n; i++)
        shoal_eval_close(suites[i]);
    free(suites);
    return st;
}

const struct kind kind_vectors = {
    .name = "vectors",
    .word = "vectors",
    .maps = true,
    .read = words_read,
    .foreign = words_foreign,
    .foreign_memory = words_foreign_memory,
    .verify = words_verify,
    .save = words_save,
    .describe = words_describe,
    .score = words_score,
    .close = words_close,
};
