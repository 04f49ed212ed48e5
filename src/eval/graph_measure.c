/* How much of the exact answers a graph finds, how fast, and with how many candidates. */
#include "eval/eval.h"

#include <math.h>
#include <stdlib.h>

enum {
    STREAM_TUNE = 0x74756e65, /* others than those that are measured */
    STREAM_MEASURE,
    TUNE_QUESTIONS = 2000,
    EXACT_TIMED = 20, /* questions that are asked one at a time for the clock */
};

/* Scores of equals differ by the order of a sum. */
#define SAME 1e-5f

/* Questions, rows themselves, and for each the score that the last of its exact answers has. */
struct sample {
    size_t n, k;
    uint32_t *ids; /* [n] */
    float *least;  /* [n] */
    struct table units; /* [n] */
};

static void sample_fini(struct sample *s)
{
    free(s->ids);
    free(s->least);
    table_fini(&s->units);
}

/* Rows without a direction cannot ask. */
static void sample_choose(struct sample *s, const struct rows *rows, size_t questions,
                          uint64_t stream)
{
    struct rng r = {1, stream, 0};

    for (size_t tries = 0; s->n < questions && tries < 4 * questions; tries++) {
        uint32_t id = (uint32_t)rng_below(&r, rows->n);

        if (rows_unit(rows, id, s->units.at + s->n * s->units.stride))
            s->ids[s->n++] = id;
    }
}

/* The exact answers, by passes that dozens of questions share. */
static shoal_status sample_answer(struct sample *s, const struct rows *rows, unsigned threads)
{
    struct near_ask *asks = mem_array(s->n, sizeof *asks);
    struct shoal_hit *hits = mem_array(s->n * s->k, sizeof *hits);
    shoal_status st = asks && hits ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = 0; i < s->n && st == SHOAL_OK; i++)
        asks[i] = (struct near_ask){
            .ids = {s->ids[i]}, .n = 1, .hits = hits + i * s->k, .k = s->k};
    if (st == SHOAL_OK)
        st = nearest_many(rows, asks, s->n, threads);
    for (size_t i = 0; i < s->n && st == SHOAL_OK; i++) {
        st = asks[i].st;
        s->least[i] = asks[i].found > 0 ? asks[i].hits[asks[i].found - 1].score : 2;
    }
    free(asks);
    free(hits);
    return st;
}

static shoal_status sample_make(struct sample *s, const struct rows *rows, size_t questions,
                                uint64_t stream, unsigned threads)
{
    shoal_status st;

    *s = (struct sample){.k = rows->n - 1 < GRAPH_K ? rows->n - 1 : GRAPH_K,
                         .ids = mem_array(questions, sizeof *s->ids),
                         .least = mem_array(questions, sizeof *s->least)};
    st = s->ids && s->least ? table_init(&s->units, "questions", questions, rows->dim)
                            : SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        sample_choose(s, rows, questions, stream);
    if (st == SHOAL_OK && s->k > 0 && s->n > 0)
        st = sample_answer(s, rows, threads);
    return st;
}

/* ---- recall ---- */

struct recalling {
    const shoal_hnsw *x;
    const struct sample *s;
    size_t ef;
    unsigned threads;
    struct {
        double sum, squares; /* of the right answers of each question */
    } right[1024];           /* of each thread */
};

/* The mean over all questions, and how far it may be from that of all rows. */
struct recall {
    double mean, error;
};

/* An answer is right that is no farther than the last of the exact ones. */
static shoal_status recall_part(void *ctx, unsigned index)
{
    struct recalling *r = ctx;
    const struct sample *s = r->s;
    struct shoal_hit hits[GRAPH_K];
    shoal_status st = SHOAL_OK;
    double right;
    size_t found;

    for (size_t i = index; i < s->n && st == SHOAL_OK; i += r->threads) {
        st = graph_nearest(r->x, s->units.at + i * s->units.stride, &s->ids[i], 1, NULL, r->ef,
                           hits, s->k, &found);
        right = 0;
        for (size_t j = 0; j < found && st == SHOAL_OK; j++)
            right += hits[j].score >= s->least[i] - SAME;
        r->right[index].sum += right;
        r->right[index].squares += right * right;
    }
    return st;
}

/* 1 where nothing can be asked. */
static shoal_status recall_of(const shoal_hnsw *x, const struct sample *s, size_t ef,
                              unsigned threads, struct recall *out)
{
    struct recalling *r = mem_array(1, sizeof *r);
    double n = (double)s->n, k = (double)s->k, sum = 0, squares = 0;
    shoal_status st;

    *out = (struct recall){1, 0};
    if (!r)
        return SHOAL_ENOMEM;
    *r = (struct recalling){.x = x, .s = s, .ef = ef, .threads = pool_threads(threads)};
    st = s->k > 0 ? pool_run(r->threads, recall_part, r) : SHOAL_OK;
    for (unsigned t = 0; t < r->threads; t++) {
        sum += r->right[t].sum;
        squares += r->right[t].squares;
    }
    if (n * k > 0)
        *out = (struct recall){sum / n / k, sqrt(fmax(squares / n - sum / n * (sum / n), 0) / n) / k};
    free(r);
    return st;
}

/* ---- the fewest candidates ---- */

/* Enough is what also the next questions will find: the mean less its error. */
static shoal_status try_ef(const shoal_hnsw *x, const struct sample *s, size_t ef, double want,
                           unsigned threads, bool *enough)
{
    struct recall is;
    shoal_status st = recall_of(x, s, ef, threads, &is);

    *enough = is.mean - is.error >= want || is.mean >= 1;
    if (st == SHOAL_OK && !*enough && ef == GRAPH_EF_MOST)
        st = shoal_fail(SHOAL_ELIMIT, "index: recall is %.4f with ef %zu, want %g: larger --m and "
                        "--ef-construction find more", is.mean, ef, want);
    return st;
}

/* Doubles until it is enough, then halves the way back: recall grows with ef. */
shoal_status graph_tune(shoal_hnsw *x, double recall, unsigned threads)
{
    size_t low = GRAPH_K, high = GRAPH_K;
    struct rows rows = graph_rows(x);
    struct sample s;
    bool enough = false;
    shoal_status st = sample_make(&s, &rows, TUNE_QUESTIONS, STREAM_TUNE, threads);

    if (st == SHOAL_OK)
        st = try_ef(x, &s, high, recall, threads, &enough);
    while (st == SHOAL_OK && !enough) {
        low = high;
        high = 2 * high < GRAPH_EF_MOST ? 2 * high : GRAPH_EF_MOST;
        st = try_ef(x, &s, high, recall, threads, &enough);
    }
    while (st == SHOAL_OK && high - low > 1 + low / 32) {
        size_t middle = (low + high) / 2;

        st = try_ef(x, &s, middle, recall, threads, &enough);
        *(enough ? &high : &low) = middle;
    }
    x->ef = (unsigned)high;
    sample_fini(&s);
    return st;
}

/* ---- the clock ---- */

static shoal_status time_exact(const struct sample *s, const struct rows *rows, unsigned threads,
                               double *seconds)
{
    struct shoal_hit hits[GRAPH_K];
    size_t n = s->n < EXACT_TIMED ? s->n : EXACT_TIMED, found;
    double began = clock_now();
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = nearest_to(rows, s->units.at + i * s->units.stride, &s->ids[i], 1, threads, hits, s->k,
                        &found);
    *seconds = n > 0 ? (clock_now() - began) / (double)n : 0;
    return st;
}

shoal_status graph_measure(const shoal_hnsw *x, const struct rows *rows, size_t ef,
                           size_t questions, unsigned threads, struct shoal_hnsw_recall *out)
{
    struct sample s;
    struct recall is = {0};
    double began;
    shoal_status st;

    *out = (struct shoal_hnsw_recall){.threads = pool_threads(threads)};
    if (rows->n != x->view.n || rows->dim != x->view.dim)
        return shoal_fail(SHOAL_EINVAL, "index: found %zu rows of %zu numbers, want %zu of %zu as "
                          "the index has", rows->n, rows->dim, x->view.n, x->view.dim);
    if (questions < 1 || questions > 1000000 || threads > 1024)
        return shoal_fail(SHOAL_EINVAL, "index: questions is %zu, want 1 to 1000000", questions);
    st = sample_make(&s, rows, questions, STREAM_MEASURE, threads);
    out->questions = s.n;
    if (st == SHOAL_OK)
        st = time_exact(&s, rows, threads, &out->exact_seconds);
    began = clock_now();
    if (st == SHOAL_OK)
        st = recall_of(x, &s, ef, 1, &is);
    out->recall = is.mean;
    if (s.n > 0)
        out->approx_seconds = (clock_now() - began) / (double)s.n;
    sample_fini(&s);
    return st;
}
