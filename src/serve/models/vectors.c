/* Word vectors: words in, the nearest words or the vectors out. */
#include "serve/models/pca.h"
#include "serve/models/servable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUESSES = 3, NEAREST = 5, NEAREST_MAX = 1000, MAP = 40, MAP_MAX = 200, BATCH = 256 };

/* Bytes of an answer, about: a number; a word with its score, in detail, with a place. */
enum { FLOAT_TEXT = 14, HIT_TEXT = 32, DETAIL_TEXT = 48, PLACE_TEXT = 80 };

/* Numbers of a table that are searched in less time than to wake a thread. */
#define CHEAP 100000u

enum what { ASK_NEAREST, ASK_ANALOGY, ASK_VECTOR, ASK_MAP };

struct word_sample {
    enum what what;
    struct near_ask ask;
    bool detailed; /* the answer of an address: a list, best first */
    float *vector; /* [dim] */
    float *places; /* [1 + found][2], the word itself first */
    /* Of a word that is not known its text, and what its n-grams make of it, [dim]. */
    char *unseen[3];
    float *made[3];
};
_Static_assert(sizeof(struct word_sample) <= SAMPLE_MAX, "a sample fits");

static const char *const verbs[] = {"similar", "analogy", "vector", "map", NULL};

static shoal_status words_open(const void **out, const shoal_model *model)
{
    *out = shoal_model_vectors(model);
    return SHOAL_OK;
}

static void words_shapes(const void *model, struct tensor_shape *input, struct tensor_shape *output)
{
    *input = (struct tensor_shape){"words", "BYTES", {-1}, 1};
    *output = (struct tensor_shape){"vectors", "FP32", {-1, (int64_t)shoal_vectors_dim(model)}, 2};
}

/* ---- reading ---- */

/* "'kign' is not among the 14644 words; did you mean king, kin?" */
static shoal_status unknown(const shoal_vectors *v, struct request *q, const char *word)
{
    uint32_t near[GUESSES];
    char text[256] = "";
    size_t n = 0, len = 0;
    shoal_status st = request_leave_loop(q); /* all words are looked at */

    if (st != SHOAL_OK)
        return st;
    if (strlen(word) < 64)
        shoal_spellings(v, word, near, GUESSES, &n);
    for (size_t i = 0; i < n && len < sizeof text; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%.60s",
                                i > 0 ? ", " : "; did you mean ", shoal_vectors_word(v, near[i]));
    return shoal_fail(SHOAL_ENOENT, "'%.60s' is not among the %zu words%s%s", word,
                      shoal_vectors_size(v), text, n > 0 ? "?" : "");
}

/* Longer ones take more time than the loop should give. */
enum { WORD_USUAL = 64 };

/* Of a word that nobody has seen. */
static shoal_status compose_word(const shoal_vectors *v, struct request *q, const char *word,
                                 struct word_sample *s, size_t i)
{
    size_t dim = shoal_vectors_dim(v), len = strlen(word);
    shoal_status st = len > WORD_USUAL ? request_leave_loop(q) : SHOAL_OK;

    if (st == SHOAL_OK)
        st = request_charge_sample(q, dim * sizeof **s->made + len + 1, len + 1);
    if (st != SHOAL_OK)
        return st;
    s->made[i] = mem_array(dim, sizeof **s->made);
    s->unseen[i] = mem_text("%s", word);
    if (!s->made[i] || !s->unseen[i])
        return SHOAL_ENOMEM;
    s->ask.ids[i] = SHOAL_NO_ID;
    st = shoal_vectors_compose(v, word, len, s->made[i], NULL);
    return st == SHOAL_ENOENT ? unknown(v, q, word) : st;
}

/* Word i of a question. */
static shoal_status find_word(const shoal_vectors *v, struct request *q, const char *word,
                              struct word_sample *s, size_t i)
{
    if (!word || !*word)
        return shoal_fail(SHOAL_EINVAL, "found no word, want one");
    s->ask.ids[i] = shoal_vectors_find(v, word, strlen(word));
    if (s->ask.ids[i] != SHOAL_NO_ID)
        return SHOAL_OK;
    return shoal_vectors_subwords(v).maxn > 0 ? compose_word(v, q, word, s, i)
                                              : unknown(v, q, word);
}

/* A word as bytes: without the white space around. */
static shoal_status find_bytes(const shoal_vectors *v, struct request *q, const char *at,
                               size_t len, struct word_sample *s)
{
    char word[512];

    while (len > 0 && strchr(" \t\r\n", at[len - 1]))
        len--;
    while (len > 0 && strchr(" \t\r\n", *at))
        at++, len--;
    if (len >= sizeof word || memchr(at, '\0', len))
        return shoal_fail(SHOAL_EINVAL, "found %zu bytes, want a word", len);
    memcpy(word, at, len);
    word[len] = '\0';
    return find_word(v, q, word, s, 0);
}

static shoal_status read_analogy(const shoal_vectors *v, const struct instance *in,
                                 struct word_sample *s)
{
    static const char *const keys[] = {"a", "b", "c"};
    const char *method = instance_text(in, "method");
    shoal_status st = SHOAL_OK;

    s->what = ASK_ANALOGY;
    s->ask.n = 3;
    s->ask.how = method && strcmp(method, "mul") == 0 ? SHOAL_3COSMUL : SHOAL_3COSADD;
    for (size_t i = 0; i < 3 && st == SHOAL_OK; i++) {
        const char *word = instance_text(in, keys[i]);

        if (!word)
            return shoal_fail(SHOAL_EINVAL, "found no parameter %s, want a, b and c", keys[i]);
        st = find_word(v, in->request, word, s, i);
    }
    return st;
}

static shoal_status read_word(const shoal_vectors *v, const struct instance *in,
                              struct word_sample *s)
{
    if (in->bytes)
        return find_bytes(v, in->request, in->bytes, in->len, s);
    if (tree_kind(in->json) == TREE_TEXT)
        return find_word(v, in->request, tree_text(in->json), s, 0);
    if (in->json && tree_kind(in->json) != TREE_OBJECT)
        return shoal_fail(SHOAL_EINVAL, "found no text, want a word");
    return find_word(v, in->request, instance_text(in, "word"), s, 0);
}

/* What the answer takes, as it is computed and as text. */
static shoal_status charge_answer(const shoal_vectors *v, const struct word_sample *s,
                                  struct request *q)
{
    size_t dim = shoal_vectors_dim(v), k = s->ask.k;

    if (s->what == ASK_VECTOR)
        return request_charge_sample(q, dim * sizeof *s->vector, dim * FLOAT_TEXT);
    if (s->what == ASK_MAP)
        return request_charge_sample(q, k * (sizeof *s->ask.hits + 2 * sizeof *s->places),
                                     k * PLACE_TEXT);
    return request_charge_sample(q, k * sizeof *s->ask.hits,
                                 k * (s->detailed ? DETAIL_TEXT : HIT_TEXT));
}

static shoal_status room_for_answer(const shoal_vectors *v, struct word_sample *s)
{
    size_t dim = shoal_vectors_dim(v);

    if (s->what == ASK_VECTOR)
        return (s->vector = mem_array(dim, sizeof *s->vector)) ? SHOAL_OK : SHOAL_ENOMEM;
    s->ask.hits = mem_array(s->ask.k, sizeof *s->ask.hits);
    if (s->what == ASK_MAP && !(s->places = mem_array(2 * (s->ask.k + 1), sizeof *s->places)))
        return SHOAL_ENOMEM;
    return s->ask.hits ? SHOAL_OK : SHOAL_ENOMEM;
}

static shoal_status words_read(const void *model, const struct instance *in, void *sample)
{
    const shoal_vectors *v = model;
    struct word_sample *s = sample;
    bool map = strcmp(in->verb, "map") == 0;
    uint64_t k = map ? MAP : NEAREST;
    shoal_status st = instance_u64(in, "k", 1, map ? MAP_MAX : NEAREST_MAX, &k);

    s->detailed = strcmp(in->verb, "predict") != 0;
    s->ask.n = 1;
    s->what = map ? ASK_MAP : ASK_NEAREST;
    if (strcmp(in->verb, "vector") == 0 || in->tensor || instance_true(in, "vectors"))
        s->what = ASK_VECTOR;
    if (st != SHOAL_OK)
        return st;
    s->ask.k = k < shoal_vectors_size(v) ? (size_t)k : shoal_vectors_size(v);
    if (strcmp(in->verb, "analogy") == 0 || tree_get(in->json, "a"))
        st = read_analogy(v, in, s);
    else
        st = read_word(v, in, s);
    if (st == SHOAL_OK)
        st = charge_answer(v, s, in->request);
    return st == SHOAL_OK ? room_for_answer(v, s) : st;
}

static void words_forget(void *sample)
{
    struct word_sample *s = sample;

    free(s->ask.hits);
    free(s->vector);
    free(s->places);
    for (size_t i = 0; i < 3; i++) {
        free(s->unseen[i]);
        free(s->made[i]);
    }
}

/* ---- computing ---- */

static bool words_cheap(const void *model, const void *sample)
{
    const shoal_vectors *v = model;
    const struct word_sample *s = sample;

    return s->what == ASK_VECTOR || shoal_vectors_size(v) * shoal_vectors_dim(v) < CHEAP;
}

/* The vector of the one word that is asked about. */
static shoal_status word_row(const shoal_vectors *v, const struct word_sample *s, float *out)
{
    if (!s->made[0])
        return shoal_vectors_row(v, s->ask.ids[0], out);
    memcpy(out, s->made[0], shoal_vectors_dim(v) * sizeof *out);
    return SHOAL_OK;
}

static shoal_status answer_map(const shoal_vectors *v, struct word_sample *s)
{
    size_t dim = shoal_vectors_dim(v), n = s->ask.found + 1;
    float *rows = mem_array(n * dim, sizeof *rows);
    shoal_status st = rows ? word_row(v, s, rows) : SHOAL_ENOMEM;

    for (size_t i = 1; i < n && st == SHOAL_OK; i++)
        st = shoal_vectors_row(v, s->ask.hits[i - 1].id, rows + i * dim);
    if (st == SHOAL_OK)
        st = pca_places(rows, n, dim, s->places);
    free(rows);
    return st;
}

/* Vectors that were composed, as rows behind those of the table. */
static void put_made(struct rows *rows, struct table *made, const struct word_sample *s,
                     struct near_ask *ask)
{
    for (size_t i = 0; i < s->ask.n; i++) {
        if (!s->made[i])
            continue;
        memcpy(made->at + rows->nmade * made->stride, s->made[i], rows->dim * sizeof *made->at);
        ask->ids[i] = (uint32_t)(rows->n + rows->nmade++);
    }
}

static size_t count_made(struct word_sample *const *samples, size_t n)
{
    size_t made = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < samples[i]->ask.n; j++)
            made += samples[i]->made[j] != NULL;
    return made;
}

/* The questions about nearest rows, in one pass over the table; gives how many there are. */
static shoal_status ask_nearest(const shoal_vectors *v, struct word_sample *const *samples,
                                size_t n, struct near_ask *asks)
{
    struct table made = {0};
    struct rows rows;
    size_t nasks = 0, unseen = count_made(samples, n);
    shoal_status st = vectors_rows(&rows, v);

    if (st == SHOAL_OK && unseen > 0)
        st = table_init(&made, "words", unseen, rows.dim);
    rows.made = made.at;
    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        if (samples[i]->what == ASK_VECTOR)
            continue;
        asks[nasks] = samples[i]->ask;
        put_made(&rows, &made, samples[i], &asks[nasks++]);
    }
    if (st == SHOAL_OK && nasks > 0)
        st = nearest_many(&rows, asks, nasks, 1);
    table_fini(&made);
    return st;
}

/* All questions about nearest rows are answered in one pass over the table. */
static shoal_status run_some(const shoal_vectors *v, struct word_sample *const *samples, size_t n)
{
    struct near_ask asks[BATCH];
    shoal_status st = SHOAL_OK;
    size_t vectors = 0;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        if (samples[i]->what == ASK_VECTOR) {
            st = word_row(v, samples[i], samples[i]->vector);
            vectors++;
        }
    if (st == SHOAL_OK && vectors < n)
        st = ask_nearest(v, samples, n, asks);
    for (size_t i = 0, j = 0; i < n && st == SHOAL_OK; i++) {
        if (samples[i]->what == ASK_VECTOR)
            continue;
        samples[i]->ask = asks[j++];
        if (samples[i]->what == ASK_MAP)
            st = answer_map(v, samples[i]);
    }
    return st;
}

static shoal_status words_run(const void *model, void *const *samples, size_t n)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i += BATCH)
        st = run_some(model, (struct word_sample *const *)(samples + i),
                      n - i < BATCH ? n - i : BATCH);
    return st;
}

/* ---- writing ---- */

/* Word i of the question. */
static const char *asked_word(const shoal_vectors *v, const struct word_sample *s, size_t i)
{
    return s->unseen[i] ? s->unseen[i] : shoal_vectors_word(v, s->ask.ids[i]);
}

static void put_hit(struct writer *out, const char *word, float score)
{
    put_open(out, '{');
    member_text(out, "word", word);
    member_float(out, "score", score);
}

static void write_list(struct writer *out, const shoal_vectors *v, const struct word_sample *s)
{
    member_open(out, s->what == ASK_ANALOGY ? "answers" : "similar", '[');
    for (size_t i = 0; i < s->ask.found; i++) {
        put_hit(out, shoal_vectors_word(v, s->ask.hits[i].id), s->ask.hits[i].score);
        put_close(out, "}");
    }
    put_close(out, "]");
}

static void write_map(struct writer *out, const shoal_vectors *v, const struct word_sample *s)
{
    member_open(out, "map", '[');
    for (size_t i = 0; i <= s->ask.found; i++) {
        const struct shoal_hit *hit = i > 0 ? &s->ask.hits[i - 1] : NULL;

        put_hit(out, hit ? shoal_vectors_word(v, hit->id) : asked_word(v, s, 0),
                hit ? hit->score : 1);
        member_float(out, "x", s->places[2 * i]);
        member_float(out, "y", s->places[2 * i + 1]);
        put_close(out, "}");
    }
    put_close(out, "]");
}

static void write_vector(struct writer *out, const shoal_vectors *v, const struct word_sample *s)
{
    put_open(out, '[');
    for (size_t j = 0; j < shoal_vectors_dim(v); j++)
        put_float(out, s->vector[j]);
    put_close(out, "]");
}

/* The words with their scores, as TorchServe's classifiers answer. */
static void write_classes(struct writer *out, const shoal_vectors *v, const struct word_sample *s)
{
    put_open(out, '{');
    for (size_t i = 0; i < s->ask.found; i++)
        member_float(out, shoal_vectors_word(v, s->ask.hits[i].id), s->ask.hits[i].score);
    put_close(out, "}");
}

/* That a word is made of its n-grams; of an analogy which. */
static void write_unseen(struct writer *out, const struct word_sample *s)
{
    if (!s->unseen[0] && !s->unseen[1] && !s->unseen[2])
        return;
    member_flag(out, "known", false);
    if (s->ask.n == 1)
        return;
    member_open(out, "unknown", '[');
    for (size_t i = 0; i < 3; i++)
        if (s->unseen[i])
            put_text(out, s->unseen[i]);
    put_close(out, "]");
}

static void write_detailed(struct writer *out, const shoal_vectors *v, const struct word_sample *s)
{
    static const char *const names[] = {"a", "b", "c"};

    put_open(out, '{');
    for (size_t i = 0; i < s->ask.n; i++)
        member_text(out, s->ask.n == 3 ? names[i] : "word", asked_word(v, s, i));
    write_unseen(out, s);
    if (s->what == ASK_VECTOR) {
        put_key(out, "vector");
        write_vector(out, v, s);
    } else if (s->what == ASK_MAP) {
        write_map(out, v, s);
    } else {
        write_list(out, v, s);
    }
    put_close(out, "}");
}

static void words_write(const void *model, const void *sample, struct writer *out)
{
    const struct word_sample *s = sample;

    if (s->detailed)
        write_detailed(out, model, s);
    else if (s->what == ASK_VECTOR)
        write_vector(out, model, s);
    else
        write_classes(out, model, s);
}

static const float *words_floats(const void *model, const void *sample, size_t *n)
{
    const shoal_vectors *v = model;
    const struct word_sample *s = sample;

    *n = shoal_vectors_dim(v);
    return s->vector;
}

const struct servable_kind servable_vectors = {
    .name = "vectors",
    .list_key = "words",
    .verbs = verbs,
    .sample_size = sizeof(struct word_sample),
    .open = words_open,
    .shapes = words_shapes,
    .read = words_read,
    .cheap = words_cheap,
    .run = words_run,
    .write = words_write,
    .floats = words_floats,
    .forget = words_forget,
};
