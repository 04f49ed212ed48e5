/* fastText's files: models that fastText 0.9.2 wrote, tests/unit/fasttext, and what it said are the
 * vectors of words in them; the same written by us; quantisation; floret's tables. */
#include "vectors.h"

#include "saved/fasttext.h"

#include <pthread.h>

static const struct {
    const char *file;
    int model, loss;
    bool pruned, quantised;
} files[] = {
    {"cbow-ns.bin", FASTTEXT_CBOW, FASTTEXT_NS, false, false},
    {"skipgram-hs.bin", FASTTEXT_SKIPGRAM, FASTTEXT_HS, false, false},
    {"skipgram-softmax.bin", FASTTEXT_SKIPGRAM, FASTTEXT_SOFTMAX, false, false},
    {"whole.bin", FASTTEXT_SKIPGRAM, FASTTEXT_NS, false, false},
    {"supervised-ns.bin", FASTTEXT_SUPERVISED, FASTTEXT_NS, false, false},
    {"supervised-hs.bin", FASTTEXT_SUPERVISED, FASTTEXT_HS, false, false},
    {"supervised-softmax.bin", FASTTEXT_SUPERVISED, FASTTEXT_SOFTMAX, false, false},
    {"supervised-ova.bin", FASTTEXT_SUPERVISED, FASTTEXT_OVA, false, false},
    {"quantised.ftz", FASTTEXT_SUPERVISED, FASTTEXT_SOFTMAX, false, true},
    {"quantised-norms.ftz", FASTTEXT_SUPERVISED, FASTTEXT_SOFTMAX, false, true},
    {"pruned.ftz", FASTTEXT_SUPERVISED, FASTTEXT_SOFTMAX, true, true},
    {"pruned-output.ftz", FASTTEXT_SUPERVISED, FASTTEXT_SOFTMAX, true, true},
};

#define VECTORS 4 /* the first so many are word vectors */

static char *get_model(const char *name, size_t *len)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", FASTTEXT_FILES, name);
    return get_file(path, len);
}

/* A copy of the file in the folder of the test. */
static void bring(const char *name)
{
    size_t len;
    char *bytes = get_model(name, &len);

    put_file(name, bytes, len);
    free(bytes);
}

/* ---- what fastText says ---- */

/* One line of it: a word and its numbers, of five digits each. */
struct said {
    char word[64];
    float x[8];
    size_t n;
};

static bool said_next(const char **at, struct said *s)
{
    char *end;
    int used = 0;

    if (sscanf(*at, "%63s%n", s->word, &used) != 1)
        return false;
    *at += used;
    for (s->n = 0; **at == ' ' && (*at)[1] != '\n'; s->n++) {
        s->x[s->n] = strtof(*at, &end);
        *at = end;
    }
    *at += strcspn(*at, "\n") + 1;
    return true;
}

static void assert_said(const struct said *s, const float *x, const char *file)
{
    for (size_t k = 0; k < s->n; k++)
        if (!(fabsf(x[k] - s->x[k]) <= 1e-5f + 5.1e-5f * fabsf(s->x[k])))
            fail_msg("%s: number %zu of %s is %g, want %g", file, k, s->word, (double)x[k],
                     (double)s->x[k]);
}

static size_t id_of(const struct fasttext *f, const char *word)
{
    for (size_t i = 0; i < f->nwords; i++)
        if (strlen(word) == f->words[i].len && memcmp(f->words[i].at, word, f->words[i].len) == 0)
            return i;
    return SIZE_MAX;
}

static void compose(const struct fasttext *f, const char *word, float *out)
{
    uint32_t rows[256];
    size_t n = fasttext_ngrams(f, word, strlen(word), rows, 256), id = id_of(f, word);
    float sum[8] = {0};

    if (id != SIZE_MAX)
        fasttext_add(&f->input, id, sum);
    for (size_t i = 0; i < n; i++)
        fasttext_add(&f->input, rows[i], sum);
    n += id != SIZE_MAX;
    for (size_t k = 0; k < f->input.cols; k++)
        out[k] = n > 0 ? sum[k] / (float)n : 0;
}

static void words_have_the_vectors_that_fasttext_prints(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(files); i++) {
        char name[64], *text, *bytes;
        const char *at;
        struct fasttext f;
        struct said s;
        size_t len, n = 0;

        bytes = get_model(files[i].file, &len);
        ok(fasttext_read(&f, files[i].file, bytes, len));
        snprintf(name, sizeof name, "%s.txt", files[i].file);
        at = text = get_model(name, &len);
        for (; said_next(&at, &s); n++) {
            float x[8];

            assert_int_equal(s.n, f.input.cols);
            compose(&f, s.word, x);
            assert_said(&s, x, files[i].file);
        }
        assert_int_equal(n, 17);
        fasttext_fini(&f);
        free(text);
        free(bytes);
    }
}

static void a_file_says_what_it_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(files); i++) {
        struct fasttext f;
        size_t len;
        char *bytes = get_model(files[i].file, &len);

        assert_true(fasttext_sniff(bytes, len));
        ok(fasttext_read(&f, files[i].file, bytes, len));
        assert_int_equal(f.version, 12);
        assert_int_equal(f.args.model, files[i].model);
        assert_int_equal(f.args.loss, files[i].loss);
        assert_int_equal(f.pruned, files[i].pruned);
        assert_int_equal(!f.input.dense, files[i].quantised);
        assert_int_equal(f.input.rows,
                         f.nwords + (f.pruned ? f.nkept : (size_t)f.args.bucket));
        assert_int_equal(f.output.rows,
                         f.args.model == FASTTEXT_SUPERVISED ? f.nlabels : f.nwords);
        fasttext_fini(&f);
        free(bytes);
    }
}

static void an_old_classifier_has_no_ngrams_of_characters(void **state)
{
    struct fasttext f;
    uint32_t rows[64];
    size_t len;
    char *bytes = get_model("supervised-ns.bin", &len);

    (void)state;
    ok(fasttext_read(&f, "new", bytes, len));
    assert_true(fasttext_ngrams(&f, "fish", 4, rows, 64) > 0);
    fasttext_fini(&f);
    bytes[4] = 11;
    ok(fasttext_read(&f, "old", bytes, len));
    assert_int_equal(f.version, 11);
    assert_int_equal(f.args.maxn, 0);
    assert_int_equal(fasttext_ngrams(&f, "fish", 4, rows, 64), 0);
    fasttext_fini(&f);
    free(bytes);
}

static void dense_and_quantised_rows_are_multiplied_as_they_are_added(void **state)
{
    static const char *const two[] = {"supervised-ova.bin", "pruned-output.ftz"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const float x[] = {0.5f, -2, 3, 1};
        struct fasttext f;
        size_t len;
        char *bytes = get_model(two[i], &len);

        ok(fasttext_read(&f, two[i], bytes, len));
        for (size_t row = 0; row < f.output.rows; row++) {
            float y[8], want = 0;

            fasttext_row(&f.output, row, y);
            for (size_t k = 0; k < f.output.cols; k++)
                want += x[k] * y[k];
            assert_float_equal(fasttext_dot(&f.output, row, x), want, 1e-5);
        }
        fasttext_fini(&f);
        free(bytes);
    }
}

/* ---- what is refused ---- */

static void a_file_that_is_cut_anywhere_is_refused(void **state)
{
    static const char *const two[] = {"cbow-ns.bin", "pruned-output.ftz"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        size_t len;
        char *bytes = get_model(two[i], &len);

        for (size_t cut = 0; cut < len; cut += cut < 1200 ? 1 : 61) {
            struct fasttext f;
            char *copy = malloc(cut + 1); /* of its own size: the sanitizer sees what is read */

            memcpy(copy, bytes, cut);
            assert_int_equal(fasttext_read(&f, "cut", copy, cut), SHOAL_EFORMAT);
            assert_error_has("cut: ");
            fasttext_fini(&f);
            free(copy);
        }
        free(bytes);
    }
}

/* Where they stand in every file: magic 0, version 4, dim 8, loss 32, model 36, bucket 40, minn 44,
 * maxn 48, words 64, labels 68, tokens 76, kept 84. */
static void a_number_that_cannot_be_is_named(void **state)
{
    static const struct {
        size_t at;
        int32_t is;
        const char *sentence;
    } bad[] = {
        {4, 13, "x: its version is 13, want 11 to 12"},
        {4, 10, "x: its version is 10, want 11 to 12"},
        {8, 0, "x: its dim is 0, want 1 to 1048576"},
        {8, 5, "x: its input matrix has 61 rows of 4 numbers, want 61 of 5"},
        {32, 5, "x: its loss is 5, want 1 to 4"},
        {36, 0, "x: its model is 0, want 1 to 3"},
        {40, 0, "x: its bucket is 0, want 1 to 2147483647"},
        {40, 41, "x: its input matrix has 61 rows of 4 numbers, want 62 of 4"},
        {44, -1, "x: its minn is -1, want 0 to 2147483647"},
        {48, 33, "x: its maxn is 33, want 0 to 32"},
        {64, 1000000, "x: has 21 words and 0 labels, want 1000000 together"},
        {68, 20, "x: has 20 words and 0 labels, want 21 together"},
        {80, -1, "x: its number of tokens is -"},
        {84, 41, "x: its number of kept n-grams is -4294967255, want -1 to 40"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct fasttext f;
        size_t len;
        char *bytes = get_model("cbow-ns.bin", &len);

        memcpy(bytes + bad[i].at, &bad[i].is, 4);
        assert_int_equal(fasttext_read(&f, "x", bytes, len), SHOAL_EFORMAT);
        assert_error_has(bad[i].sentence);
        fasttext_fini(&f);
        free(bytes);
    }
}

static void bytes_behind_the_end_are_refused(void **state)
{
    struct fasttext f;
    size_t len;
    char *bytes = get_model("whole.bin", &len);

    (void)state;
    assert_int_equal(fasttext_read(&f, "x", bytes, len + 1), SHOAL_EFORMAT);
    assert_error_has("x: 1 bytes behind the output matrix, want none");
    fasttext_fini(&f);
    free(bytes);
}

/* Whatever becomes of a byte, what is read stays within the file. */
static void a_file_with_any_byte_flipped_is_read_or_refused(void **state)
{
    size_t len, refused = 0;
    char *bytes = get_model("pruned-output.ftz", &len);

    (void)state;
    for (size_t i = 0; i < len; i += i < 8000 ? 1 : 7) {
        struct fasttext f;
        float x[8];

        bytes[i] ^= (char)0xff;
        if (fasttext_read(&f, "flipped", bytes, len) == SHOAL_OK) {
            compose(&f, "fish", x);
        } else {
            refused++;
            assert_error_has("flipped: ");
        }
        fasttext_fini(&f);
        bytes[i] ^= (char)0xff;
    }
    assert_in_range(refused, 500, 8000);
    free(bytes);
}

static void a_nan_is_refused_where_it_is_met(void **state)
{
    shoal_vectors *v;
    struct shoal_matrix m;
    size_t len;
    char *bytes = get_model("cbow-ns.bin", &len);
    float nan = NAN, row[4];

    (void)state;
    memcpy(bytes + len - (21 * 4 + 3) * 4 - 17 - 60 * 16, &nan, 4); /* in the row of a word */
    put_file("x", bytes, len);
    v = reopen("x");
    assert_int_equal(shoal_vectors_verify(v), SHOAL_EFORMAT);
    assert_error_has("of its input matrix holds a NaN or an infinity, want finite numbers");
    assert_int_equal(shoal_vectors_matrix(v, &m), SHOAL_EFORMAT);
    assert_error_has("x: vector 1, of `fish`, holds a NaN or an infinity, want finite numbers");
    assert_int_equal(shoal_vectors_row(v, 0, row), SHOAL_EFORMAT);
    ok(shoal_vectors_row(v, 2, row));
    shoal_vectors_close(v);
    free(bytes);
}

/* ---- vectors of it ---- */

static void a_model_opens_as_vectors_with_its_counts(void **state)
{
    shoal_vectors *v;

    (void)state;
    bring("cbow-ns.bin");
    v = reopen("cbow-ns.bin");
    assert_int_equal(shoal_vectors_format(v), SHOAL_FORMAT_FASTTEXT);
    assert_int_equal(shoal_vectors_size(v), 21);
    assert_int_equal(shoal_vectors_dim(v), 4);
    assert_string_equal(shoal_vectors_word(v, 0), "fish");
    assert_true(shoal_vectors_count(v, 0) > 600 && shoal_vectors_count(v, 20) > 0);
    assert_int_equal(shoal_vectors_subwords(v).buckets, 40);
    assert_int_equal(shoal_vectors_hidden(v).rows, 21);
    ok(shoal_vectors_verify(v));
    shoal_vectors_close(v);
}

static void assert_vectors_said(const shoal_vectors *v, const char *file)
{
    char name[64], *text;
    const char *at;
    struct said s;
    size_t len;

    snprintf(name, sizeof name, "%s.txt", file);
    at = text = get_model(name, &len);
    while (said_next(&at, &s)) {
        float x[8] = {0};
        shoal_status st = shoal_vectors_compose(v, s.word, strlen(s.word), x, NULL);

        assert_true(st == SHOAL_OK || st == SHOAL_ENOENT);
        assert_said(&s, x, file);
    }
    free(text);
}

/* Saved through ours and back into fastText's, known and unknown words stay what they were. */
static void vectors_go_through_our_container_and_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < VECTORS; i++) {
        shoal_vectors *v, *ours, *back;

        bring(files[i].file);
        v = reopen(files[i].file);
        assert_vectors_said(v, files[i].file);
        ours = through(v, "v.shoal", shoal_save_default());
        assert_vectors_said(ours, files[i].file);
        back = through(ours, "back.bin",
                       (struct shoal_save_opts){.format = SHOAL_FORMAT_FASTTEXT});
        assert_int_equal(shoal_vectors_format(back), SHOAL_FORMAT_FASTTEXT);
        assert_vectors_said(back, files[i].file);
        shoal_vectors_close(back);
        shoal_vectors_close(ours);
        shoal_vectors_close(v);
    }
}

/* Also those of quantised and pruned ones, which keep their codes. */
static void words_of_a_classifier_have_its_vectors(void **state)
{
    (void)state;
    for (size_t i = VECTORS; i < COUNT(files); i++) {
        shoal_vectors *v, *ours, *back;

        bring(files[i].file);
        v = reopen(files[i].file);
        assert_vectors_said(v, files[i].file);
        assert_int_equal(shoal_vectors_hidden(v).rows, 0);
        ok(shoal_vectors_verify(v));
        ours = through(v, "v.shoal", shoal_save_default());
        assert_vectors_said(ours, files[i].file);
        back = through(v, "back.bin", (struct shoal_save_opts){.format = SHOAL_FORMAT_FASTTEXT});
        assert_vectors_said(back, files[i].file);
        shoal_vectors_close(back);
        shoal_vectors_close(ours);
        shoal_vectors_close(v);
    }
}

static void assert_same_bytes(const char *a, const char *b)
{
    size_t n, m;
    char *x = get_file(a, &n), *y = get_file(b, &m);

    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    free(x);
    free(y);
}

/* Its text had 7 words more, which were too rare to be kept. */
static void bring_with_rare_words(const char *name)
{
    size_t len;
    char *bytes = get_model(name, &len);

    bytes[76] = (char)(bytes[76] + 7);
    put_file(name, bytes, len);
    free(bytes);
}

/* But for those that were pruned: the order of their n-grams says nothing. */
static void a_model_written_again_is_the_same_file(void **state)
{
    struct shoal_save_opts opts = {.format = SHOAL_FORMAT_FASTTEXT};

    (void)state;
    for (size_t i = 0; i < COUNT(files); i++) {
        shoal_model *m;

        if (files[i].pruned)
            continue;
        bring_with_rare_words(files[i].file);
        ok(shoal_model_open(&m, files[i].file));
        ok(shoal_model_save(m, "again", &opts));
        assert_same_bytes(files[i].file, "again");
        shoal_model_close(m);
    }
}

static void rows_are_the_same_one_by_one_and_all_at_once(void **state)
{
    struct shoal_matrix m;
    shoal_vectors *v;
    float row[4];

    (void)state;
    bring("skipgram-softmax.bin");
    v = reopen("skipgram-softmax.bin");
    ok(shoal_vectors_row(v, 7, row));
    ok(shoal_vectors_matrix(v, &m));
    assert_memory_equal(row, m.data + 7 * m.stride, sizeof row);
    ok(shoal_vectors_row(v, 7, row));
    assert_memory_equal(row, m.data + 7 * m.stride, sizeof row);
    shoal_vectors_close(v);
}

static void *ask_for_all(void *v)
{
    struct shoal_matrix m;

    return shoal_vectors_matrix(v, &m) == SHOAL_OK ? (void *)(uintptr_t)m.data : NULL;
}

static void threads_that_ask_for_all_rows_get_the_same(void **state)
{
    pthread_t threads[4];
    shoal_vectors *v;
    void *got[4];

    (void)state;
    bring("cbow-ns.bin");
    v = reopen("cbow-ns.bin");
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_for_all, v), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], &got[i]);
    assert_non_null(got[0]);
    for (size_t i = 1; i < 4; i++)
        assert_ptr_equal(got[i], got[0]);
    shoal_vectors_close(v);
}

static void vectors_without_ngrams_or_counts_become_a_model(void **state)
{
    shoal_vectors *v = make_small();
    shoal_vectors *back =
        through(v, "v.bin", (struct shoal_save_opts){.format = SHOAL_FORMAT_FASTTEXT});

    (void)state;
    assert_same(v, back);
    assert_int_equal(shoal_vectors_count(back, 0), 1);
    assert_int_equal(shoal_vectors_subwords(back).maxn, 0);
    shoal_vectors_close(back);
    shoal_vectors_close(v);
}

static void a_model_of_the_first_words_is_normalised_if_asked_for(void **state)
{
    struct shoal_save_opts opts = {
        .format = SHOAL_FORMAT_FASTTEXT, .top = 5, .normalize = true};
    shoal_vectors *v, *top;

    (void)state;
    bring("cbow-ns.bin");
    v = reopen("cbow-ns.bin");
    top = through(v, "top.bin", opts);
    assert_int_equal(shoal_vectors_size(top), 5);
    for (uint32_t id = 0; id < 5; id++) {
        float row[4];

        ok(shoal_vectors_row(top, id, row));
        assert_float_equal(row[0] * row[0] + row[1] * row[1] + row[2] * row[2] + row[3] * row[3],
                           1, 1e-5);
    }
    shoal_vectors_close(top);
    shoal_vectors_close(v);
}

/* ---- quantisation ---- */

enum { ROWS = 700, COLS = 7 };

/* Rows in 20 groups, so that centroids mean something. */
static shoal_status group_row(const void *from, size_t row, float *out)
{
    struct rng place = {.seed = 11, .stream = row % 20}, around = {.seed = 12, .stream = row};

    (void)from;
    for (size_t k = 0; k < COLS; k++)
        out[k] = (float)(rng_unit(&place) - 0.5) + 0.01f * (float)(rng_unit(&around) - 0.5);
    return SHOAL_OK;
}

static struct pq quantise(struct pq_opts opts)
{
    struct pq p;

    ok(pq_make(&p, ROWS, COLS, group_row, NULL, &opts));
    return p;
}

static void quantised_rows_are_near_to_what_they_were(void **state)
{
    (void)state;
    for (unsigned dsub = 1; dsub <= 4; dsub++) {
        for (int norms = 0; norms < 2; norms++) {
            struct pq p = quantise((struct pq_opts){.dsub = dsub, .norms = norms, .seed = 3});

            assert_int_equal(p.parts, (COLS + dsub - 1) / dsub);
            for (size_t row = 0; row < ROWS; row++) {
                float x[COLS], y[COLS] = {0}, far = 0;

                group_row(NULL, row, x);
                pq_add(&p, row, 1, y);
                for (size_t k = 0; k < COLS; k++)
                    far += (x[k] - y[k]) * (x[k] - y[k]);
                assert_true(sqrtf(far) < 0.02f);
            }
            pq_fini(&p);
        }
    }
}

static void the_same_seed_gives_the_same_codes_on_any_number_of_threads(void **state)
{
    struct pq one = quantise((struct pq_opts){.dsub = 2, .norms = true, .seed = 3, .threads = 1});
    struct pq other = quantise((struct pq_opts){.dsub = 2, .norms = true, .seed = 4});

    (void)state;
    for (unsigned threads = 2; threads <= 5; threads++) {
        struct pq p =
            quantise((struct pq_opts){.dsub = 2, .norms = true, .seed = 3, .threads = threads});

        assert_memory_equal(p.codes, one.codes, ROWS * 4);
        assert_memory_equal(p.norm_codes, one.norm_codes, ROWS);
        assert_memory_equal(p.centroids, one.centroids, COLS * 256 * sizeof(float));
        pq_fini(&p);
    }
    assert_memory_not_equal(other.codes, one.codes, ROWS * 4);
    pq_fini(&other);
    pq_fini(&one);
}

static void fewer_than_256_rows_are_not_quantised(void **state)
{
    struct pq p;

    (void)state;
    assert_int_equal(
        pq_make(&p, 255, COLS, group_row, NULL, &(struct pq_opts){.dsub = 2}), SHOAL_EINVAL);
    assert_error_has("found 255 rows, want 256 or more");
    assert_int_equal(
        pq_make(&p, 256, COLS, group_row, NULL, &(struct pq_opts){.dsub = 8}), SHOAL_EINVAL);
    assert_error_has("dsub is 8, want 1 to 7");
}

/* Words w0, w1, ... and </s>, whose row i is (x, y + i * step). */
static shoal_vectors *make_line(float x, float y, float step)
{
    char text[300][8];
    const char *words[300];
    float values[300 * 2];

    for (size_t i = 0; i < 300; i++) {
        snprintf(text[i], sizeof text[i], "w%zu", i);
        words[i] = i == 7 ? "</s>" : text[i];
        values[2 * i] = x;
        values[2 * i + 1] = y + step * (float)i;
    }
    return make(words, 300, 2, values);
}

static void a_cutoff_keeps_the_longest_rows_and_the_end_of_sentences(void **state)
{
    shoal_vectors *v = make_line(0, 1, 1), *small;

    (void)state;
    ok(shoal_vectors_compress(&small, v,
                              &(struct shoal_compress_opts){.dsub = 1, .cutoff = 280}));
    assert_int_equal(shoal_vectors_size(small), 280);
    assert_string_equal(shoal_vectors_word(small, 0), "</s>");
    assert_string_equal(shoal_vectors_word(small, 1), "w21");
    assert_string_equal(shoal_vectors_word(small, 279), "w299");
    shoal_vectors_close(small);
    shoal_vectors_close(v);
}

static void rows_that_are_all_the_same_are_quantised_exactly(void **state)
{
    shoal_vectors *v = make_line(0.25f, -3, 0), *small;
    float row[2];

    (void)state;
    ok(shoal_vectors_compress(&small, v, &(struct shoal_compress_opts){.dsub = 2}));
    for (uint32_t id = 0; id < 300; id++) {
        ok(shoal_vectors_row(small, id, row));
        assert_float_equal(row[0], 0.25f, 1e-4);
        assert_float_equal(row[1], -3, 1e-3);
    }
    shoal_vectors_close(small);
    shoal_vectors_close(v);
}

static double cosine_of(const shoal_vectors *a, const shoal_vectors *b, const char *word)
{
    double ab = 0, aa = 0, bb = 0;
    float x[8], y[8];

    ok(shoal_vectors_compose(a, word, strlen(word), x, NULL));
    ok(shoal_vectors_compose(b, word, strlen(word), y, NULL));
    for (size_t k = 0; k < shoal_vectors_dim(a); k++) {
        ab += (double)x[k] * (double)y[k];
        aa += (double)x[k] * (double)x[k];
        bb += (double)y[k] * (double)y[k];
    }
    return ab / sqrt(aa * bb);
}

/* 400 words with n-grams in 500 buckets, as fastText's model and read back. */
static shoal_vectors *make_model(void)
{
    struct subwords how = {.minn = 3, .maxn = 4, .buckets = 500};
    char text[400][16];
    struct span words[400];
    struct rng r = {.seed = 21};
    struct table rows;
    shoal_vocab *vocab;
    shoal_vectors *v, *model;

    for (size_t i = 0; i < 400; i++) {
        snprintf(text[i], sizeof text[i], "wörd%zu", i * 7919);
        words[i] = (struct span){text[i], (uint32_t)strlen(text[i])};
    }
    ok(vocab_from_words(&vocab, "make", words, 400));
    ok(table_init(&rows, "rows", 900, 6));
    for (size_t i = 0; i < 900; i++)
        for (size_t k = 0; k < 6; k++)
            rows.at[i * rows.stride + k] =
                (float)((rng_unit(&r) - 0.5) * (i % 5 == 0 ? 0.01 : 1.0));
    ok(vectors_take(&v, vocab, &rows, NULL, &how));
    shoal_vocab_free(vocab);
    model = through(v, "model.bin", (struct shoal_save_opts){.format = SHOAL_FORMAT_FASTTEXT});
    shoal_vectors_close(v);
    return model;
}

static void compressed_vectors_point_where_they_did(void **state)
{
    shoal_vectors *v = make_model();

    (void)state;
    for (int norms = 0; norms < 2; norms++) {
        struct shoal_compress_opts opts = {.dsub = 2, .qnorm = norms};
        shoal_vectors *small, *back, *model;

        ok(shoal_vectors_compress(&small, v, &opts));
        assert_true(cosine_of(v, small, "wörd7919") > 0.98);
        assert_true(cosine_of(v, small, "never wörd") > 0.98);
        back = through(small, "small.shoal", shoal_save_default());
        assert_same(small, back);
        assert_float_equal(cosine_of(small, back, "never wörd"), 1, 1e-7);
        ok(shoal_vectors_verify(back));
        model = through(back, "small.ftz", shoal_save_default());
        assert_same(small, model);
        assert_float_equal(cosine_of(small, model, "never wörd"), 1, 1e-7);
        shoal_vectors_close(model);
        shoal_vectors_close(back);
        shoal_vectors_close(small);
    }
    shoal_vectors_close(v);
}

static void a_cutoff_keeps_the_longest_rows_of_ngrams(void **state)
{
    struct shoal_compress_opts opts = {.dsub = 1, .cutoff = 800}; /* all but those near 0 */
    shoal_vectors *v = make_model(), *small, *back;
    const struct fasttext *f;

    (void)state;
    ok(shoal_vectors_compress(&small, v, &opts));
    f = &small->late->model;
    assert_true(f->pruned);
    assert_int_equal(f->nkept, 400);
    assert_int_equal(shoal_vectors_size(small), 400);
    assert_int_equal(fasttext_bucket_row(f, 0), FASTTEXT_NO_ROW);
    assert_int_equal(fasttext_bucket_row(f, 1), 400);
    back = through(small, "cut.shoal", shoal_save_default());
    assert_same(small, back);
    shoal_vectors_close(back);
    back = through(small, "cut.ftz", shoal_save_default());
    assert_same(small, back);
    shoal_vectors_close(back);
    shoal_vectors_close(small);
    shoal_vectors_close(v);
}

static void quantised_vectors_are_neither_cut_nor_quantised_again(void **state)
{
    struct shoal_compress_opts opts = shoal_compress_default();
    shoal_vectors *v = make_model(), *small, *again;

    (void)state;
    ok(shoal_vectors_compress(&small, v, &opts));
    assert_int_equal(shoal_vectors_compress(&again, small, &opts), SHOAL_EINVAL);
    assert_error_has("are quantised already");
    assert_int_equal(shoal_vectors_save(small, "x.shoal", &(struct shoal_save_opts){.top = 3}),
                     SHOAL_EINVAL);
    assert_error_has("x.shoal: quantised vectors are kept all and as they are");
    shoal_vectors_close(small);
    shoal_vectors_close(v);
}

/* ---- floret ---- */

static void floret_hashes_are_those_of_murmurhash3(void **state)
{
    /* By the reference implementation of MurmurHash3_x64_128, seed 2166136261. */
    static const struct {
        const char *text;
        uint32_t h[SUBWORDS_HASHES];
    } known[] = {
#include "fasttext/murmur.inc"
    };

    (void)state;
    for (size_t i = 0; i < COUNT(known); i++) {
        uint32_t h[SUBWORDS_HASHES];

        subwords_murmur(known[i].text, strlen(known[i].text), h);
        assert_memory_equal(h, known[i].h, sizeof h);
    }
}

static void a_hashed_word_has_rows_for_itself_and_each_ngram(void **state)
{
    struct subwords how = {.minn = 3, .maxn = 3, .buckets = 1000, .hashes = 2};
    uint32_t rows[16], h[SUBWORDS_HASHES];

    (void)state;
    assert_int_equal(subwords_list(&how, "ab", 2, rows, 16), 6); /* <ab> <ab ab> */
    subwords_murmur("<ab>", 4, h);
    assert_int_equal(rows[0], h[0] % 1000);
    assert_int_equal(rows[1], h[1] % 1000);
    subwords_murmur("<ab", 3, h);
    assert_int_equal(rows[2], h[0] % 1000);
    assert_int_equal(subwords_list(&how, "ab", 2, rows, 1), 6);
}

static void put_floret(void)
{
    put_text("x.floret", "4 2 2 3 2 2166136261 < >\n0 1 0.5\n1 -1 2 \n2 0 0\n3 8 -0.25\n");
    put_text("x.floret.vocab", "fish\nморе\n");
}

static void a_table_of_floret_makes_vectors_of_any_word(void **state)
{
    static const float table[4][2] = {{1, 0.5f}, {-1, 2}, {0, 0}, {8, -0.25f}};
    struct subwords how = {.minn = 2, .maxn = 3, .buckets = 4, .hashes = 2};
    const char *words[] = {"fish", "unseen"};
    shoal_vectors *v, *ours, *back;
    uint32_t rows[64];
    bool known;

    (void)state;
    put_floret();
    v = reopen("x.floret");
    assert_int_equal(shoal_vectors_format(v), SHOAL_FORMAT_FLORET);
    for (size_t w = 0; w < 2; w++) {
        size_t n = subwords_list(&how, words[w], strlen(words[w]), rows, 64);
        float x[2], want[2] = {0};

        for (size_t i = 0; i < n; i++) {
            want[0] += table[rows[i]][0] / (float)n;
            want[1] += table[rows[i]][1] / (float)n;
        }
        ok(shoal_vectors_compose(v, words[w], strlen(words[w]), x, &known));
        assert_int_equal(known, w == 0);
        assert_float_equal(x[0], want[0], 1e-5);
        assert_float_equal(x[1], want[1], 1e-5);
    }
    ours = through(v, "v.shoal", shoal_save_default());
    assert_same(v, ours);
    back = through(ours, "y.floret", shoal_save_default());
    assert_same(v, back);
    assert_file_is("y.floret",
                   "4 2 2 3 2 2166136261 < >\n0 1 0.5\n1 -1 2\n2 0 0\n3 8 -0.25\n");
    shoal_vectors_close(back);
    shoal_vectors_close(ours);
    shoal_vectors_close(v);
}

static void a_malformed_table_of_floret_is_refused_by_line(void **state)
{
    static const struct {
        const char *text, *sentence;
    } bad[] = {
        {"4 2 2 3 5 2166136261 < >\n", "x.floret: its hashes is 5, want 1 to 4"},
        {"4 2 2 3 2 7 < >\n", "x.floret: its seed is 7, want 2166136261 to 2166136261"},
        {"4 2 4 3 2 2166136261 < >\n", "x.floret: its minn is 4, want 1 to 3"},
        {"4 2 2 3 2 2166136261 [ ]\n", "x.floret: its words stand between others than < and >"},
        {"4 2 2 3 2 2166136261 < >\n0 1 2\n", "x.floret: promises 4 rows of 2 numbers"},
        {"2 2 2 3 2 2166136261 < >\n0 1 2\n2 3 4\n", "x.floret:3: want row 1, of 2 finite"},
        {"2 2 2 3 2 2166136261 < >\n0 1 2\n1 3 nan\n", "x.floret:3: want row 1, of 2 finite"},
        {"2 2 2 3 2 2166136261 < >\n0 1 2 3 4\n", "x.floret:2: want row 0, of 2 finite"},
        {"1 2 2 3 2 2166136261 < >\n0 1 2\n1 3 4\n", "x.floret: found more rows than the 1"},
    };
    shoal_vectors *v;

    (void)state;
    put_floret();
    for (size_t i = 0; i < COUNT(bad); i++) {
        put_text("x.floret", bad[i].text);
        assert_int_equal(shoal_vectors_open(&v, "x.floret"), SHOAL_EFORMAT);
        assert_error_has(bad[i].sentence);
    }
}

static void words_with_rows_are_no_table_of_floret(void **state)
{
    struct shoal_save_opts floret = {.format = SHOAL_FORMAT_FLORET};
    struct shoal_save_opts fasttext = {.format = SHOAL_FORMAT_FASTTEXT};
    shoal_vectors *v = make_small(), *hashed;

    (void)state;
    assert_int_equal(shoal_vectors_save(v, "x", &floret), SHOAL_EINVAL);
    assert_error_has("x: floret's table holds words by hashes");
    put_floret();
    hashed = reopen("x.floret");
    assert_int_equal(shoal_vectors_save(hashed, "y", &fasttext), SHOAL_EINVAL);
    assert_error_has("y: words that are hashed have no rows of their own");
    shoal_vectors_close(hashed);
    shoal_vectors_close(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_have_the_vectors_that_fasttext_prints),
        cmocka_unit_test(a_file_says_what_it_is),
        cmocka_unit_test(an_old_classifier_has_no_ngrams_of_characters),
        cmocka_unit_test(dense_and_quantised_rows_are_multiplied_as_they_are_added),
        cmocka_unit_test(a_file_that_is_cut_anywhere_is_refused),
        cmocka_unit_test(a_number_that_cannot_be_is_named),
        cmocka_unit_test(bytes_behind_the_end_are_refused),
        cmocka_unit_test(a_file_with_any_byte_flipped_is_read_or_refused),
        HERE(a_nan_is_refused_where_it_is_met),
        HERE(a_model_opens_as_vectors_with_its_counts),
        HERE(vectors_go_through_our_container_and_back),
        HERE(words_of_a_classifier_have_its_vectors),
        HERE(a_model_written_again_is_the_same_file),
        HERE(rows_are_the_same_one_by_one_and_all_at_once),
        HERE(threads_that_ask_for_all_rows_get_the_same),
        HERE(vectors_without_ngrams_or_counts_become_a_model),
        HERE(a_model_of_the_first_words_is_normalised_if_asked_for),
        cmocka_unit_test(quantised_rows_are_near_to_what_they_were),
        cmocka_unit_test(the_same_seed_gives_the_same_codes_on_any_number_of_threads),
        cmocka_unit_test(fewer_than_256_rows_are_not_quantised),
        cmocka_unit_test(rows_that_are_all_the_same_are_quantised_exactly),
        HERE(compressed_vectors_point_where_they_did),
        HERE(a_cutoff_keeps_the_longest_rows_of_ngrams),
        cmocka_unit_test(a_cutoff_keeps_the_longest_rows_and_the_end_of_sentences),
        HERE(quantised_vectors_are_neither_cut_nor_quantised_again),
        cmocka_unit_test(floret_hashes_are_those_of_murmurhash3),
        cmocka_unit_test(a_hashed_word_has_rows_for_itself_and_each_ngram),
        HERE(a_table_of_floret_makes_vectors_of_any_word),
        HERE(a_malformed_table_of_floret_is_refused_by_line),
        HERE(words_with_rows_are_no_table_of_floret),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
