/* eval: nearest words, analogies, spellings and suites, against plain loops that
 * share no code with them. */
#include "saved/vectors/vectors.h"
#include "eval/suite.h"

#include <math.h>
#include <setjmp.h>

#include "scratch.h"

static const unsigned THREADS[] = {1, 2, 5};

/* ---- vectors to ask -------------------------------------------------------------- */

static double even(struct rng *r)
{
    return rng_unit(r) * 2 - 1;
}

static shoal_vocab *vocab_of(const char *const *words, size_t n)
{
    struct span *spans = mem_array(n, sizeof *spans);
    struct bytes arena = {0};
    shoal_vocab *v = NULL;

    for (size_t i = 0; i < n; i++) /* readable behind their ends */
        bytes_add(&arena, words[i], strlen(words[i]));
    bytes_reserve(&arena, 16);
    for (size_t i = 0, at = 0; i < n; at += strlen(words[i++]))
        spans[i] = (struct span){arena.at + at, (uint32_t)strlen(words[i])};
    if (vocab_from_words(&v, "test", spans, n) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    bytes_fini(&arena);
    free(spans);
    return v;
}

/* Rows from values [n][dim]. */
static shoal_vectors *vectors_of(const char *const *words, const float *values, size_t n,
                                 size_t dim)
{
    shoal_vocab *vocab = vocab_of(words, n);
    shoal_vectors *v = NULL;
    struct table rows;

    assert_int_equal(table_init(&rows, "in", n, dim), SHOAL_OK);
    for (size_t i = 0; i < n; i++)
        memcpy(rows.at + i * rows.stride, values + i * dim, dim * sizeof(float));
    if (vectors_take(&v, vocab, &rows, NULL, NULL) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    table_fini(&rows);
    shoal_vocab_free(vocab);
    return v;
}

/* w0, w1, ... with rows keyed by the seed; every 13th row is the one before. */
static shoal_vectors *random_vectors(size_t n, size_t dim, uint64_t seed)
{
    struct rng r = {seed, 7, 0};
    char (*names)[24] = mem_array(n, sizeof *names);
    const char **words = mem_array(n, sizeof *words);
    float *values = mem_array(n * dim, sizeof *values);
    shoal_vectors *v;

    for (size_t i = 0; i < n; i++) {
        snprintf(names[i], sizeof names[i], "w%zu", i);
        words[i] = names[i];
        for (size_t j = 0; j < dim; j++)
            values[i * dim + j] = (float)even(&r);
        if (i % 13 == 12)
            memcpy(values + i * dim, values + (i - 1) * dim, dim * sizeof *values);
    }
    v = vectors_of(words, values, n, dim);
    free(values);
    free(words);
    free(names);
    return v;
}

static double plain_cosine(const float *x, const float *y, size_t dim)
{
    double xx = 0, yy = 0, xy = 0;

    for (size_t j = 0; j < dim; j++) {
        xx += (double)x[j] * x[j];
        yy += (double)y[j] * y[j];
        xy += (double)x[j] * y[j];
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

static double cosine_with(const shoal_vectors *v, uint32_t id, const float *query)
{
    size_t dim = shoal_vectors_dim(v);
    float *row = mem_array(dim, sizeof *row);
    double cosine;

    assert_int_equal(shoal_vectors_row(v, id, row), SHOAL_OK);
    cosine = plain_cosine(row, query, dim);
    free(row);
    return cosine;
}

static void assert_close(double found, double want, double within)
{
    if (!(fabs(found - want) <= within))
        fail_msg("found %.9g, want %.9g", found, want);
}

/* ---- nearest --------------------------------------------------------------------- */

static bool listed(uint32_t id, const uint32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* Scores are what a plain loop finds, they fall, and nothing better was left
 * out: the only freedom is the rounding of floats. */
static void assert_nearest(const shoal_vectors *v, const double *scores, const uint32_t *skip,
                           size_t nskip, const struct shoal_hit *hits, size_t found)
{
    uint32_t *ids = mem_array(found + 1, sizeof *ids);

    for (size_t i = 0; i < found; i++) {
        ids[i] = hits[i].id;
        assert_false(listed(hits[i].id, skip, nskip));
        assert_close((double)hits[i].score, scores[hits[i].id], 2e-6);
        if (i > 0)
            assert_true(hits[i - 1].score > hits[i].score ||
                        (hits[i - 1].score == hits[i].score && hits[i - 1].id < hits[i].id));
    }
    for (uint32_t id = 0; id < shoal_vectors_size(v); id++)
        if (!listed(id, skip, nskip) && !listed(id, ids, found))
            assert_true(scores[id] <= (double)hits[found - 1].score + 2e-6);
    free(ids);
}

static double *all_cosines(const shoal_vectors *v, const float *query)
{
    double *scores = mem_array(shoal_vectors_size(v), sizeof *scores);

    for (uint32_t id = 0; id < shoal_vectors_size(v); id++)
        scores[id] = cosine_with(v, id, query);
    return scores;
}

static void check_nearest(const shoal_vectors *v, uint64_t seed, size_t k)
{
    struct rng r = {seed, 3, 0};
    size_t dim = shoal_vectors_dim(v), size = shoal_vectors_size(v), found;
    uint32_t skip[3] = {0, (uint32_t)size / 2, (uint32_t)size - 1};
    struct shoal_hit *first = mem_array(k, sizeof *first), *hits = mem_array(k, sizeof *hits);
    float *query = mem_array(dim, sizeof *query);
    double *scores;

    for (size_t j = 0; j < dim; j++)
        query[j] = (float)even(&r) * 10;
    scores = all_cosines(v, query);
    for (size_t t = 0; t < 3; t++) {
        assert_int_equal(shoal_nearest(v, query, skip, 3, THREADS[t], hits, k, &found), SHOAL_OK);
        assert_int_equal(found, k < size - 3 ? k : size - 3);
        if (t == 0)
            memcpy(first, hits, found * sizeof *hits);
        assert_memory_equal(hits, first, found * sizeof *hits);
    }
    assert_nearest(v, scores, skip, 3, hits, found);
    free(scores);
    free(query);
    free(hits);
    free(first);
}

static void nearest_words_are_those_of_a_plain_loop_for_any_threads(void **state)
{
    static const size_t dims[] = {1, 7, 16, 100, 301, 1500};

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        shoal_vectors *v = random_vectors(i < 4 ? 5000 : 300, dims[i], i);

        check_nearest(v, i, 1);
        check_nearest(v, i, 10);
        check_nearest(v, i, 6000);
        shoal_vectors_close(v);
    }
}

/* More than a pass takes, analogies of both kinds among them, and one that asks of a
 * row that is not there. */
static void questions_that_share_a_pass_are_answered_as_if_alone(void **state)
{
    enum { ASKS = 70, K = 5 };
    shoal_vectors *v = random_vectors(700, 20, 5);
    struct shoal_hit hits[ASKS][K], alone[K];
    struct near_ask asks[ASKS] = {0};
    struct rows rows;
    float query[20];
    size_t found;

    (void)state;
    for (uint32_t i = 0; i < ASKS; i++)
        asks[i] = (struct near_ask){.ids = {i * 9, i * 9 + 1, i * 5 + 2}, .n = i % 3 ? 1 : 3,
                                    .how = i % 2 ? SHOAL_3COSMUL : SHOAL_3COSADD,
                                    .hits = hits[i], .k = i % K + 1};
    asks[33].ids[0] = 700;
    assert_int_equal(vectors_rows(&rows, v), SHOAL_OK);
    assert_int_equal(nearest_many(&rows, asks, ASKS, 2), SHOAL_OK);
    for (uint32_t i = 0; i < ASKS; i++) {
        const uint32_t *ids = asks[i].ids;

        assert_int_equal(asks[i].st, i == 33 ? SHOAL_EINVAL : SHOAL_OK);
        if (i == 33)
            continue;
        assert_int_equal(shoal_vectors_row(v, ids[0], query), SHOAL_OK);
        if (asks[i].n == 1)
            assert_int_equal(shoal_nearest(v, query, ids, 1, 1, alone, asks[i].k, &found), SHOAL_OK);
        else
            assert_int_equal(shoal_analogy(v, ids[0], ids[1], ids[2], asks[i].how, 1, alone,
                                           asks[i].k, &found),
                             SHOAL_OK);
        assert_int_equal(asks[i].found, found);
        assert_memory_equal(asks[i].hits, alone, found * sizeof *alone);
    }
    shoal_vectors_close(v);
}

static void rows_of_any_type_are_compared_as_what_they_read(void **state)
{
    static const enum shoal_dtype types[] = {SHOAL_F16, SHOAL_BF16, SHOAL_INT8};
    shoal_vectors *wide = random_vectors(3000, 77, 5);

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct shoal_save_opts opts = shoal_save_default();
        const char *path = scratch_path("narrow.shoal");
        shoal_vectors *v = NULL;

        opts.format = SHOAL_FORMAT_SHOAL;
        opts.dtype = types[i];
        if (shoal_vectors_save(wide, path, &opts) != SHOAL_OK ||
            shoal_vectors_open(&v, path) != SHOAL_OK)
            fail_msg("%s", shoal_error());
        check_nearest(v, i, 20);
        shoal_vectors_close(v);
    }
    shoal_vectors_close(wide);
}

static void equal_rows_are_ordered_by_id(void **state)
{
    static const char *const words[] = {"a", "b", "c", "d", "e", "f", "g"};
    static const float values[] = {1, 2, 2, 1, 1, 2, 1, 2, 2, 4, 2, 1, 1, 2};
    static const uint32_t order[] = {0, 2, 3, 4, 6};
    shoal_vectors *v = vectors_of(words, values, 7, 2);
    struct shoal_hit hits[5];
    size_t found;

    (void)state;
    assert_int_equal(shoal_nearest(v, values, NULL, 0, 1, hits, 5, &found), SHOAL_OK);
    assert_int_equal(found, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(hits[i].id, order[i]);
    shoal_vectors_close(v);
}

static void a_row_of_zeros_is_near_to_nothing(void **state)
{
    static const char *const words[] = {"zero", "one", "far", "side"};
    static const float values[] = {0, 0, 1, 0, -3, 0, 0, 4};
    shoal_vectors *v = vectors_of(words, values, 4, 2);
    struct shoal_hit hits[4];
    size_t found;
    double cosine;

    (void)state;
    assert_int_equal(shoal_nearest(v, values + 2, NULL, 0, 1, hits, 4, &found), SHOAL_OK);
    assert_int_equal(found, 4);
    assert_int_equal(hits[0].id, 1);
    assert_int_equal(hits[1].id, 0);
    assert_true(hits[1].score == 0);
    assert_int_equal(hits[2].id, 3);
    assert_int_equal(hits[3].id, 2);
    assert_int_equal(shoal_cosine(v, 1, 2, &cosine), SHOAL_OK);
    assert_true(cosine == -1);
    assert_int_equal(shoal_cosine(v, 0, 2, &cosine), SHOAL_OK);
    assert_true(cosine == 0);
    shoal_vectors_close(v);
}

static void questions_without_direction_or_row_are_refused(void **state)
{
    static const char *const words[] = {"zero", "one", "minus"};
    static const float values[] = {0, 0, 1, 0, -1, 0};
    static const float bad[] = {NAN, 1, INFINITY, 1};
    shoal_vectors *v = vectors_of(words, values, 3, 2);
    struct shoal_hit hits[3];
    size_t found = 9, odd;
    double cosine;

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(shoal_nearest(v, bad + 2 * i, NULL, 0, 1, hits, 3, &found),
                         SHOAL_EINVAL);
    assert_int_equal(shoal_nearest(v, values, NULL, 0, 1, hits, 3, &found), SHOAL_EINVAL);
    assert_string_equal(shoal_error(),
                        "nearest: the query is zero or not finite, want a direction");
    assert_int_equal(found, 0);
    assert_int_equal(shoal_nearest(v, values + 2, NULL, 0, 5000, hits, 3, &found), SHOAL_EINVAL);
    assert_int_equal(shoal_nearest(v, values + 2, NULL, 0, 1, NULL, 0, &found), SHOAL_OK);
    assert_int_equal(shoal_analogy(v, 0, 1, 2, SHOAL_3COSMUL, 1, hits, 3, &found), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "analogy: the row of id 0 is zero, want a direction");
    assert_int_equal(shoal_analogy(v, 1, 3, 2, SHOAL_3COSADD, 1, hits, 3, &found), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "analogy: id is 3, want less than 3");
    assert_int_equal(shoal_analogy(v, 1, 1, 1, (enum shoal_analogy)2, 1, hits, 3, &found),
                     SHOAL_EINVAL);
    assert_int_equal(shoal_cosine(v, 7, 0, &cosine), SHOAL_EINVAL);
    assert_int_equal(shoal_odd(v, NULL, 0, &odd), SHOAL_EINVAL);
    shoal_vectors_close(v);
}

/* ---- analogies, one at a time ---------------------------------------------------- */

static double plain_analogy(const shoal_vectors *v, const uint32_t *abc, uint32_t id,
                            enum shoal_analogy how)
{
    size_t dim = shoal_vectors_dim(v);
    float *rows[3];
    double cos[3], length = 0;

    for (int i = 0; i < 3; i++) {
        rows[i] = mem_array(dim, sizeof(float));
        assert_int_equal(shoal_vectors_row(v, abc[i], rows[i]), SHOAL_OK);
        cos[i] = cosine_with(v, id, rows[i]);
    }
    /* |b - a + c| for unit vectors, by their cosines. */
    length = sqrt(3 - 2 * plain_cosine(rows[0], rows[1], dim) -
                  2 * plain_cosine(rows[0], rows[2], dim) +
                  2 * plain_cosine(rows[1], rows[2], dim));
    for (int i = 0; i < 3; i++)
        free(rows[i]);
    if (how == SHOAL_3COSADD)
        return (cos[1] - cos[0] + cos[2]) / length;
    return (cos[1] + 1) / 2 * (cos[2] + 1) / 2 / ((cos[0] + 1) / 2 + 0.001);
}

static void an_analogy_is_answered_as_its_formula_says(void **state)
{
    static const uint32_t abc[] = {3, 77, 150};
    shoal_vectors *v = random_vectors(400, 20, 11);

    (void)state;
    for (int how = 0; how < 2; how++) {
        struct shoal_hit first[8], hits[8];
        double scores[400];
        size_t found;

        for (uint32_t id = 0; id < 400; id++)
            scores[id] = plain_analogy(v, abc, id, (enum shoal_analogy)how);
        for (size_t t = 0; t < 3; t++) {
            assert_int_equal(shoal_analogy(v, 3, 77, 150, (enum shoal_analogy)how, THREADS[t],
                                           hits, 8, &found),
                             SHOAL_OK);
            assert_int_equal(found, 8);
            if (t == 0)
                memcpy(first, hits, sizeof hits);
            assert_memory_equal(hits, first, sizeof hits);
        }
        assert_nearest(v, scores, abc, 3, hits, 8);
    }
    shoal_vectors_close(v);
}

static void the_odd_one_fits_the_mean_least(void **state)
{
    static const char *const words[] = {"breakfast", "dinner", "car", "lunch"};
    static const float values[] = {1, 0.1f, 9, 1.2f, -0.1f, 1, 2, 0};
    shoal_vectors *v = vectors_of(words, values, 4, 2);
    size_t odd;

    (void)state;
    assert_int_equal(shoal_odd(v, (uint32_t[]){0, 1, 2, 3}, 4, &odd), SHOAL_OK);
    assert_int_equal(odd, 2);
    assert_int_equal(shoal_odd(v, (uint32_t[]){2, 0, 3}, 3, &odd), SHOAL_OK);
    assert_int_equal(odd, 0);
    assert_int_equal(shoal_odd(v, (uint32_t[]){1}, 1, &odd), SHOAL_OK);
    assert_int_equal(odd, 0);
    shoal_vectors_close(v);
}

/* ---- spellings ------------------------------------------------------------------- */

static void assert_spellings(const shoal_vectors *v, const char *word, const char *want)
{
    struct bytes b = {0};
    uint32_t ids[8];
    size_t found;

    assert_int_equal(shoal_spellings(v, word, ids, 8, &found), SHOAL_OK);
    for (size_t i = 0; i < found; i++) {
        text_add_str(&b, shoal_vectors_word(v, ids[i]));
        text_add_str(&b, " ");
    }
    bytes_add(&b, "", 1);
    assert_string_equal(b.at, want);
    bytes_fini(&b);
}

static void a_misspelt_word_finds_those_that_were_meant(void **state)
{
    static const char *const words[] = {"the",   "Paris", "parts", "Zürich", "paris",
                                        "kings", "king",  "KING",  "x"};
    float values[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    shoal_vectors *v = vectors_of(words, values, 9, 1);

    (void)state;
    assert_spellings(v, "pairs", "Paris paris parts ");
    assert_spellings(v, "PARIS", "Paris paris parts ");
    assert_spellings(v, "paris", "Paris parts ");
    assert_spellings(v, "zurich", "Zürich ");
    assert_spellings(v, "ZÜRICH", "Zürich ");
    assert_spellings(v, "King", "king KING kings ");
    assert_spellings(v, "teh", "the ");
    assert_spellings(v, "y", "");
    assert_spellings(v, "", "");
    assert_spellings(v, "\xff\xfe", "");
    shoal_vectors_close(v);
}

/* The whole table of distances, by its definition. */
static unsigned plain_slips(const char *x, const char *y)
{
    unsigned d[16][16], n = (unsigned)strlen(x), m = (unsigned)strlen(y);

    for (unsigned i = 0; i <= n; i++)
        for (unsigned j = 0; j <= m; j++) {
            d[i][j] = i == 0 ? j : j == 0 ? i : d[i - 1][j - 1] + (x[i - 1] != y[j - 1]);
            if (i > 0 && j > 0 && d[i - 1][j] + 1 < d[i][j])
                d[i][j] = d[i - 1][j] + 1;
            if (i > 0 && j > 0 && d[i][j - 1] + 1 < d[i][j])
                d[i][j] = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1] &&
                d[i - 2][j - 2] + 1 < d[i][j])
                d[i][j] = d[i - 2][j - 2] + 1;
        }
    return d[n][m];
}

static void random_word(struct rng *r, char *out)
{
    size_t n = 1 + rng_below(r, 12);

    for (size_t i = 0; i < n; i++)
        out[i] = (char)('a' + rng_below(r, 3));
    out[n] = '\0';
}

/* How many words of n are at most `most` slips away and share something. */
static size_t count_near(char (*words)[16], size_t n, const char *word, unsigned most)
{
    size_t near = 0;

    for (size_t i = 0; i < n; i++) {
        unsigned d = plain_slips(word, words[i]);

        near += d <= most && d > 0 && d < strlen(word) && d < strlen(words[i]);
    }
    return near;
}

static bool stands_before(char (*words)[16], size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (strcmp(words[i], words[j]) == 0)
            return true;
    return false;
}

static void spellings_are_those_of_the_whole_table_in_order(void **state)
{
    enum { N = 800 };
    static char words[N][16];
    const char *pointers[N];
    struct rng r = {4, 4, 0};
    float *values = mem_array(N, sizeof *values);
    shoal_vectors *v;
    uint32_t ids[N];
    size_t found;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        do { /* a word of its own, ended by a letter that questions lack */
            random_word(&r, words[i]);
            snprintf(words[i] + strlen(words[i]), 2, "%c", (char)('d' + i % 3));
            pointers[i] = words[i];
        } while (stands_before(words, i));
    }
    v = vectors_of(pointers, values, N, 1);
    for (int i = 0; i < 60; i++) {
        char word[16];
        unsigned most, before = 0;

        random_word(&r, word);
        most = 1 + (unsigned)strlen(word) / 4;
        most = most < 3 ? most : 3;
        assert_int_equal(shoal_spellings(v, word, ids, N, &found), SHOAL_OK);
        assert_int_equal(found, count_near(words, N, word, most));
        for (size_t j = 0; j < found; j++) {
            unsigned d = plain_slips(word, words[ids[j]]);

            assert_true(d > before || (d == before && (j == 0 || ids[j - 1] < ids[j])));
            before = d;
        }
    }
    shoal_vectors_close(v);
    free(values);
}

/* ---- reading suites -------------------------------------------------------------- */

static shoal_eval *suite_of(const char *text)
{
    shoal_eval *e = NULL;

    if (shoal_eval_open_memory(&e, &(struct shoal_memory){"file", text, strlen(text)}) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return e;
}

static void assert_refused(const char *text, size_t len, const char *sentence)
{
    shoal_eval *e = (shoal_eval *)1;

    assert_int_equal(shoal_eval_open_memory(&e, &(struct shoal_memory){"file", text, len}),
                     SHOAL_EFORMAT);
    assert_null(e);
    assert_string_equal(shoal_error(), sentence);
}

static void malformed_questions_are_told_by_line(void **state)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"", "file: found no question in 0 lines"},
        {"\n\n", "file: found no question in 2 lines"},
        {": empty\n", "file: found no question in 1 line"},
        {"# only\n# comments", "file: found no question in 2 lines"},
        {": a\nb c d e\n\nf g h\n", "file: line 4 has 3 words, want 4"},
        {": a\nb c d e\nf\n", "file: line 3 has 1 word, want 4"},
        {": a\nb c d e f\n", "file: line 2 has 5 words, want 4"},
        {":\nb c d e\n", "file: line 1: the section has no name"},
        {"a b\n",
         "file: line 1 is no `: section`, no four words and no pair with a number"},
        {"\n\na\tb\tc\n\n",
         "file: line 3 is no `: section`, no four words and no pair with a number"},
        {"a b 1\nc d\n", "file: line 2 is not two words and a number"},
        {"x,y,z\na,b,1\nc,,3\n", "file: line 3 is not two words and a number"},
        {"a b 1\nc d 2x\n", "file: line 2 is not two words and a number"},
        {"a b 1\nc d 1e\n", "file: line 2 is not two words and a number"},
        {"a b 1\nc d 1e999\n", "file: line 2 is not two words and a number"},
        {": a\nb c d \xff\n", "file: line 2: byte 0xff is no text, want UTF-8"},
        {": a\nb c d e\nb c \x01 e", "file: line 3: byte 0x01 is no text, want UTF-8"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(cases[i].text, strlen(cases[i].text), cases[i].sentence);
    assert_refused(": a\n\0b c d e", 12, "file: line 2: byte 0x00 is no text, want UTF-8");
}

static void a_line_without_end_is_refused(void **state)
{
    char text[5010] = ": a\n";

    (void)state;
    memset(text + 4, 'x', 5000);
    assert_refused(text, 5004, "file: line 2 has 5000 bytes, want at most 4096");
}

static void questions_are_recognised_by_shape(void **state)
{
    static const struct {
        const char *text;
        enum shoal_suite kind;
        size_t n;
    } cases[] = {
        {": s\na b c d\n", SHOAL_ANALOGIES, 1},
        {":s\r\na b c d\r\n\r\na b  c\td", SHOAL_ANALOGIES, 2},
        {"\xef\xbb\xbf: s\na b c d\n", SHOAL_ANALOGIES, 1},
        {"a b c d\nb c d e\n", SHOAL_ANALOGIES, 2},
        {"a b c d", SHOAL_ANALOGIES, 1},
        {"# said\n: s\n1 one 2 2\n", SHOAL_ANALOGIES, 1},
        {"a b 1\nc d -2.5e-1\n", SHOAL_PAIRS, 2},
        {"# comment\nWord 1\tWord 2\tHuman (mean)\ntiger\tcat\t7.35\n", SHOAL_PAIRS, 1},
        {"word1\tword2\tPOS\tSimLex999\nold\tnew\tA\t1.58\n", SHOAL_PAIRS, 1},
        {"w1 w2 pos score\na b N 3\n", SHOAL_PAIRS, 1},
        {"gem;jewel;3,94;4\nice cream, cold, .5", SHOAL_PAIRS, 2},
        {"a,b,+7.\r\n", SHOAL_PAIRS, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal_eval *e = suite_of(cases[i].text);

        assert_int_equal(shoal_eval_kind(e), cases[i].kind);
        assert_int_equal(e->nquestions + e->npairs, cases[i].n);
        shoal_eval_close(e);
    }
    shoal_eval_close(NULL);
}

static void what_people_said_is_read_to_the_digit(void **state)
{
    static const double want[] = {7.35, -0.25, 1.58, 0.5, 7, 1200};
    shoal_eval *e = suite_of("a b 7.35\nc d -2.5e-1\nold\tnew\tA\t1.58\t2\n"
                             "x,y,.5\nx;y;+7.\nx y 1.2E3\n");

    (void)state;
    for (size_t i = 0; i < 6; i++)
        assert_true(e->pairs[i].said == want[i]);
    shoal_eval_close(e);
}

static void a_suite_is_read_from_a_file_or_refused_by_its_name(void **state)
{
    const char *path = scratch_put("questions.txt", ": s\na b c d\n", 12);
    shoal_eval *e = NULL;

    (void)state;
    assert_int_equal(shoal_eval_open(&e, path), SHOAL_OK);
    assert_int_equal(shoal_eval_kind(e), SHOAL_ANALOGIES);
    shoal_eval_close(e);
    assert_int_equal(shoal_eval_open(&e, scratch_path("none")), SHOAL_ENOENT);
    assert_null(e);
}

/* ---- running analogies ----------------------------------------------------------- */

static struct shoal_score *run(const shoal_eval *e, const shoal_vectors *v,
                               const struct shoal_eval_opts *opts, size_t *n)
{
    struct shoal_score *scores = NULL;

    if (shoal_eval_run(e, v, opts, &scores, n) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return scores;
}

static void assert_score(const struct shoal_score *s, const char *name, uint64_t right,
                         uint64_t seen, uint64_t total)
{
    assert_string_equal(s->name, name);
    assert_int_equal(s->right, right);
    assert_int_equal(s->seen, seen);
    assert_int_equal(s->total, total);
    if (seen > 0)
        assert_close(s->accuracy, (double)right / (double)seen, 1e-12);
    else
        assert_true(isnan(s->accuracy));
    assert_true(isnan(s->spearman) && isnan(s->pearson));
}

/* Where man - woman + queen is king, and cases and missing words are in play. */
static const char *const ROYAL[] = {"man", "woman", "king", "Queen", "queen", "KING", "apple"};
static const float ROYAL_ROWS[] = {1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1.1f, 1, 0.9f, 0, 1,
                                   0, 0, -1};

static void sections_are_summed_by_their_names(void **state)
{
    shoal_vectors *v = vectors_of(ROYAL, ROYAL_ROWS, 7, 3);
    shoal_eval *e = suite_of(": royal\nman woman king queen\nman woman king apple\n"
                             "man woman king bishop\n: gram1-none\nno such words here\n"
                             ": gram2\nWOMAN Man QUEEN king\n");
    struct shoal_eval_opts opts = shoal_eval_default();
    struct shoal_score *s;
    size_t n;

    (void)state;
    s = run(e, v, &opts, &n);
    assert_int_equal(n, 6);
    assert_score(&s[0], "royal", 1, 2, 3);
    assert_score(&s[1], "gram1-none", 0, 0, 1);
    assert_score(&s[2], "gram2", 1, 1, 1);
    assert_score(&s[3], "semantic", 1, 2, 3);
    assert_score(&s[4], "syntactic", 1, 1, 2);
    assert_score(&s[5], "total", 2, 3, 5);
    shoal_scores_free(s);
    shoal_eval_close(e);
    shoal_vectors_close(v);
}

static void case_counts_only_when_kept(void **state)
{
    shoal_vectors *v = vectors_of(ROYAL, ROYAL_ROWS, 7, 3);
    shoal_eval *e = suite_of("Man Woman King Queen\nman woman king Queen\nwoman man Queen king\n");
    struct shoal_eval_opts opts = shoal_eval_default();
    struct shoal_score *s;
    size_t n;

    (void)state;
    s = run(e, v, &opts, &n);
    assert_score(&s[0], "questions", 3, 3, 3);
    shoal_scores_free(s);
    opts.keep_case = true;
    s = run(e, v, &opts, &n);
    assert_int_equal(n, 4);
    assert_score(&s[0], "questions", 1, 2, 3); /* queen is nearer than Queen */
    shoal_scores_free(s);
    opts.keep_case = false;
    opts.top_words = 3;
    s = run(e, v, &opts, &n);
    assert_score(&s[0], "questions", 0, 0, 3);
    shoal_scores_free(s);
    shoal_eval_close(e);
    shoal_vectors_close(v);
}

/* compute-accuracy.c in its own order: float sums, the first of equals. Gives
 * the right answers of a section; upper-cased words are compared. */
struct accuracy {
    size_t words, dim;
    float *rows;
    char (*names)[16];
};

static void accuracy_init(struct accuracy *a, const shoal_vectors *v, size_t top)
{
    a->words = top && top < shoal_vectors_size(v) ? top : shoal_vectors_size(v);
    a->dim = shoal_vectors_dim(v);
    a->rows = mem_array(a->words * a->dim, sizeof *a->rows);
    a->names = mem_array(a->words, sizeof *a->names);
    for (uint32_t i = 0; i < a->words; i++) {
        float *row = a->rows + i * a->dim, len = 0;

        assert_int_equal(shoal_vectors_row(v, i, row), SHOAL_OK);
        for (size_t j = 0; j < a->dim; j++)
            len += row[j] * row[j];
        for (size_t j = 0; j < a->dim; j++)
            row[j] /= sqrtf(len);
        snprintf(a->names[i], sizeof a->names[i], "%s", shoal_vectors_word(v, i));
        for (char *c = a->names[i]; *c; c++)
            *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 32 : *c);
    }
}

static size_t accuracy_find(const struct accuracy *a, const char *word)
{
    size_t b = 0;

    while (b < a->words && strcmp(a->names[b], word) != 0)
        b++;
    return b;
}

static float accuracy_score(const struct accuracy *a, const size_t *b, size_t c, bool mul)
{
    float cos[3] = {0}, all = 0;

    for (size_t j = 0; j < a->dim; j++) {
        const float *row = a->rows + j;

        for (int i = 0; i < 3; i++)
            cos[i] += row[b[i] * a->dim] * row[c * a->dim];
        all += ((row[b[1] * a->dim] - row[b[0] * a->dim]) + row[b[2] * a->dim]) * row[c * a->dim];
    }
    return mul ? (cos[1] + 1) / 2 * (cos[2] + 1) / 2 / ((cos[0] + 1) / 2 + 0.001f) : all;
}

/* -1: not seen. 0 and 1: wrong and right. 2: too near a tie to say. */
static int accuracy_ask(const struct accuracy *a, char (*word)[16], bool mul)
{
    float best = 0, second = 0;
    size_t at[4], answer = a->words;

    for (int i = 0; i < 4; i++)
        if ((at[i] = accuracy_find(a, word[i])) == a->words)
            return -1;
    for (size_t c = 0; c < a->words; c++) {
        float score = accuracy_score(a, at, c, mul);

        if (c == at[0] || c == at[1] || c == at[2])
            continue;
        if (score > best) {
            second = best;
            best = score;
            answer = c;
        } else if (score > second && score < best) {
            second = score;
        }
    }
    if (best - second < 1e-5f)
        return 2;
    return answer < a->words && strcmp(a->names[answer], word[3]) == 0;
}

/* A plane of 1 + words / 2 points and, in a part of a random direction, their
 * partners: neighbours that an analogy should find, sometimes. */
static shoal_vectors *partners(size_t n, size_t dim)
{
    struct rng r = {21, 1, 0};
    char (*names)[24] = mem_array(n, sizeof *names);
    const char **words = mem_array(n, sizeof *words);
    float *values = mem_array(n * dim, sizeof *values), *shift = mem_array(dim, sizeof *shift);
    shoal_vectors *v;

    for (size_t j = 0; j < dim; j++)
        shift[j] = (float)even(&r);
    for (size_t i = 0; i < n; i++) {
        snprintf(names[i], sizeof names[i], "%c%zu", i % 2 ? 'b' : 'a', i / 2);
        if (i % 50 == 48) /* equal to the word two before, but for case */
            snprintf(names[i], sizeof names[i], "A%zu", (i - 2) / 2);
        words[i] = names[i];
        for (size_t j = 0; j < dim; j++)
            values[i * dim + j] = (float)(i % 2 ? (double)(values[(i - 1) * dim + j] + shift[j]) +
                                                      0.8 * even(&r)
                                                : even(&r));
    }
    v = vectors_of(words, values, n, dim);
    free(values);
    free(shift);
    free(words);
    free(names);
    return v;
}

/* Questions `aI bI aJ bJ`, some of words that are not there. */
static struct bytes partner_questions(size_t n, size_t nquestions)
{
    struct rng r = {22, 1, 0};
    struct bytes b = {0};
    char line[96];

    for (size_t i = 0; i < nquestions; i++) {
        unsigned long long x = rng_below(&r, n / 2 + 3), y = rng_below(&r, n / 2 + 3);

        if (i % 100 == 0) {
            snprintf(line, sizeof line, ": %s%zu\n", i % 300 ? "gram" : "part", i / 100);
            text_add_str(&b, line);
        }
        snprintf(line, sizeof line, "a%llu %c%llu A%llu b%llu\n", x, i % 2 ? 'B' : 'b', x, y, y);
        text_add_str(&b, line);
    }
    bytes_add(&b, "", 1);
    return b;
}

static void upper_words(char *line, char (*word)[16])
{
    for (char *c = line; *c && *c != '\n'; c++)
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 32 : *c);
    assert_int_equal(sscanf(line, "%15s %15s %15s %15s", word[0], word[1], word[2], word[3]), 4);
}

/* The plain answers, section by section; ties apart. */
static size_t plain_scores(const struct accuracy *a, char *text, bool mul,
                           struct shoal_score *scores)
{
    size_t ties = 0, n = 0;

    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        char word[4][16];
        int answer;

        if (line[0] == ':') {
            n++;
            continue;
        }
        upper_words(line, word);
        answer = accuracy_ask(a, word, mul);
        scores[n - 1].total++;
        scores[n - 1].seen += answer >= 0;
        scores[n - 1].right += answer == 1;
        ties += answer == 2;
    }
    return ties;
}

static void check_accuracy(const shoal_vectors *v, const shoal_eval *e, const char *text,
                           uint64_t top, enum shoal_analogy how)
{
    struct shoal_eval_opts opts = {.top_words = top, .how = how};
    struct shoal_score want[64] = {0}, *first = NULL;
    struct accuracy a;
    char *copy = strdup(text);
    size_t n, ties, right = 0;

    accuracy_init(&a, v, top);
    ties = plain_scores(&a, copy, how == SHOAL_3COSMUL, want);
    assert_in_range(ties, 0, 3);
    for (size_t t = 0; t < 3; t++) {
        struct shoal_score *s;

        opts.threads = THREADS[t];
        s = run(e, v, &opts, &n);
        for (size_t i = 0; i < n - 3; i++) {
            assert_int_equal(s[i].total, want[i].total);
            assert_int_equal(s[i].seen, want[i].seen);
            assert_in_range(s[i].right, want[i].right, want[i].right + ties);
        }
        right = s[n - 1].right;
        assert_in_range(right, 20, s[n - 1].seen - 20); /* else it tells nothing */
        if (!first)
            first = s;
        else {
            assert_memory_equal(s, first, n * sizeof *s);
            shoal_scores_free(s);
        }
    }
    shoal_scores_free(first);
    free(copy);
    free(a.rows);
    free(a.names);
}

static void analogies_are_counted_as_compute_accuracy_does(void **state)
{
    shoal_vectors *v = partners(700, 24);
    struct bytes text = partner_questions(700, 900);
    shoal_eval *e = suite_of(text.at);

    (void)state;
    check_accuracy(v, e, text.at, 0, SHOAL_3COSADD);
    check_accuracy(v, e, text.at, 450, SHOAL_3COSADD);
    check_accuracy(v, e, text.at, 0, SHOAL_3COSMUL);
    shoal_eval_close(e);
    bytes_fini(&text);
    shoal_vectors_close(v);
}

static void a_suite_of_more_words_than_a_batch_is_answered_too(void **state)
{
    shoal_vectors *v = partners(3000, 24);
    struct bytes text = partner_questions(3000, 1000);
    shoal_eval *e = suite_of(text.at);

    (void)state;
    assert_true(e->upper.n > 1100);
    check_accuracy(v, e, text.at, 0, SHOAL_3COSADD);
    shoal_eval_close(e);
    bytes_fini(&text);
    shoal_vectors_close(v);
}

static void a_table_in_training_scores_as_its_vectors_do(void **state)
{
    shoal_vectors *v = partners(600, 24);
    struct bytes text = partner_questions(600, 300);
    shoal_eval *e = suite_of(text.at);
    struct shoal_eval_opts opts = shoal_eval_default();
    struct shoal_score *want, *s = NULL;
    struct table rows;
    size_t n, m;

    (void)state;
    assert_int_equal(table_init(&rows, "in", 600, 24), SHOAL_OK);
    for (uint32_t id = 0; id < 600; id++)
        assert_int_equal(shoal_vectors_row(v, id, rows.at + id * rows.stride), SHOAL_OK);
    want = run(e, v, &opts, &n);
    assert_int_equal(eval_run_table(e, v->vocab, &rows, &opts, &s, &m), SHOAL_OK);
    assert_int_equal(m, n);
    assert_memory_equal(s, want, n * sizeof *s);
    shoal_scores_free(s);
    shoal_scores_free(want);
    table_fini(&rows);
    assert_int_equal(table_init(&rows, "in", 5, 24), SHOAL_OK);
    assert_int_equal(eval_run_table(e, v->vocab, &rows, &opts, &s, &m), SHOAL_EINVAL);
    assert_null(s);
    table_fini(&rows);
    shoal_eval_close(e);
    bytes_fini(&text);
    shoal_vectors_close(v);
}

static void an_option_out_of_range_is_named(void **state)
{
    shoal_vectors *v = vectors_of(ROYAL, ROYAL_ROWS, 7, 3);
    shoal_eval *e = suite_of("a b c d");
    struct shoal_eval_opts opts = shoal_eval_default();
    struct shoal_score *s = NULL;
    size_t n;

    (void)state;
    opts.threads = 2000;
    assert_int_equal(shoal_eval_run(e, v, &opts, &s, &n), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "eval: threads is 2000, want at most 1024");
    opts = shoal_eval_default();
    opts.how = (enum shoal_analogy)5;
    assert_int_equal(shoal_eval_run(e, v, &opts, &s, &n), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "eval: how is 5, want 0 or 1");
    assert_null(s);
    shoal_eval_close(e);
    shoal_vectors_close(v);
}

/* ---- pairs ----------------------------------------------------------------------- */

/* A rank is one more than those below and half of the equals. */
static double plain_rank(const double *x, size_t n, size_t i)
{
    double rank = 0.5;

    for (size_t j = 0; j < n; j++)
        rank += x[j] < x[i] ? 1 : x[j] == x[i] ? 0.5 : 0;
    return rank;
}

/* By sums of products: another formula than the one tested. */
static double plain_pearson(const double *x, const double *y, size_t n)
{
    double sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0, m = (double)n;

    for (size_t i = 0; i < n; i++) {
        sx += x[i];
        sy += y[i];
        sxx += x[i] * x[i];
        syy += y[i] * y[i];
        sxy += x[i] * y[i];
    }
    return (m * sxy - sx * sy) / sqrt((m * sxx - sx * sx) * (m * syy - sy * sy));
}

static void correlations_are_those_of_plain_formulas_with_ties(void **state)
{
    struct rng r = {8, 8, 0};

    (void)state;
    for (size_t n = 3; n < 60; n++) {
        double x[60], y[60], rx[60], ry[60], spearman;

        for (size_t i = 0; i < n; i++) {
            x[i] = (double)rng_below(&r, 9);
            y[i] = x[i] + (double)rng_below(&r, 7) + (i == 0 ? 20 : 0);
        }
        x[0] = 3.5;
        for (size_t i = 0; i < n; i++) {
            rx[i] = plain_rank(x, n, i);
            ry[i] = plain_rank(y, n, i);
        }
        assert_close(pairs_pearson(x, y, n), plain_pearson(x, y, n), 1e-9);
        assert_int_equal(pairs_spearman(x, y, n, &spearman), SHOAL_OK);
        assert_close(spearman, plain_pearson(rx, ry, n), 1e-9);
    }
}

static void correlations_of_nothing_are_no_number(void **state)
{
    static const double same[] = {0.1, 0.1, 0.1}, other[] = {1, 2, 3};
    double spearman;

    (void)state;
    assert_true(isnan(pairs_pearson(same, other, 3)));
    assert_true(isnan(pairs_pearson(other, same, 1)));
    assert_true(isnan(pairs_pearson(other, same, 0)));
    assert_int_equal(pairs_spearman(other, same, 3, &spearman), SHOAL_OK);
    assert_true(isnan(spearman));
    assert_int_equal(pairs_spearman(other, same, 0, &spearman), SHOAL_OK);
    assert_true(isnan(spearman));
    assert_close(pairs_pearson(other, other, 3), 1, 1e-15);
}

static void pairs_are_compared_by_cosine_where_both_are_there(void **state)
{
    static const char *const words[] = {"north", "East", "northeast", "south", "EAST"};
    static const float values[] = {0, 1, 2, 0, 3, 3, 0, -1, -7, 0};
    shoal_vectors *v = vectors_of(words, values, 5, 2);
    shoal_eval *e = suite_of("a\tb\tscore\nNorth\tnortheast\t8\nnorth\teast\t5\n"
                             "north\tsouth\t0\nnorth\tnowhere\t9\n");
    struct shoal_eval_opts opts = shoal_eval_default();
    double said[] = {8, 5, 0}, cosines[] = {sqrt(0.5), 0, -1};
    struct shoal_score *s;
    size_t n;

    (void)state;
    s = run(e, v, &opts, &n);
    assert_int_equal(n, 1);
    assert_int_equal(shoal_eval_kind(e), SHOAL_PAIRS);
    assert_int_equal(s->seen, 3);
    assert_int_equal(s->total, 4);
    assert_close(s->spearman, 1, 1e-12);
    assert_close(s->pearson, plain_pearson(said, cosines, 3), 1e-7);
    assert_true(isnan(s->accuracy));
    shoal_scores_free(s);
    opts.keep_case = true;
    s = run(e, v, &opts, &n);
    assert_int_equal(s->seen, 1);
    assert_true(isnan(s->spearman));
    shoal_scores_free(s);
    shoal_eval_close(e);
    shoal_vectors_close(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_words_are_those_of_a_plain_loop_for_any_threads),
        cmocka_unit_test(questions_that_share_a_pass_are_answered_as_if_alone),
        cmocka_unit_test(rows_of_any_type_are_compared_as_what_they_read),
        cmocka_unit_test(equal_rows_are_ordered_by_id),
        cmocka_unit_test(a_row_of_zeros_is_near_to_nothing),
        cmocka_unit_test(questions_without_direction_or_row_are_refused),
        cmocka_unit_test(an_analogy_is_answered_as_its_formula_says),
        cmocka_unit_test(the_odd_one_fits_the_mean_least),
        cmocka_unit_test(a_misspelt_word_finds_those_that_were_meant),
        cmocka_unit_test(spellings_are_those_of_the_whole_table_in_order),
        cmocka_unit_test(malformed_questions_are_told_by_line),
        cmocka_unit_test(a_line_without_end_is_refused),
        cmocka_unit_test(questions_are_recognised_by_shape),
        cmocka_unit_test(what_people_said_is_read_to_the_digit),
        cmocka_unit_test(a_suite_is_read_from_a_file_or_refused_by_its_name),
        cmocka_unit_test(sections_are_summed_by_their_names),
        cmocka_unit_test(case_counts_only_when_kept),
        cmocka_unit_test(analogies_are_counted_as_compute_accuracy_does),
        cmocka_unit_test(a_suite_of_more_words_than_a_batch_is_answered_too),
        cmocka_unit_test(a_table_in_training_scores_as_its_vectors_do),
        cmocka_unit_test(an_option_out_of_range_is_named),
        cmocka_unit_test(correlations_are_those_of_plain_formulas_with_ties),
        cmocka_unit_test(correlations_of_nothing_are_no_number),
        cmocka_unit_test(pairs_are_compared_by_cosine_where_both_are_there),
    };

    return cmocka_run_group_tests_name("eval", tests, scratch_setup, scratch_teardown);
}
