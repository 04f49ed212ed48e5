/* Word vectors: words, texts or vectors in, the nearest words or the vectors out. */
#include "serve/models/servable.h"
#include "serve/models/word_filter.h"
#include "serve/models/word_map.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUESSES = 3, NEAREST = 5, NEAREST_MAX = 1000, MAP = 40, MAP_MAX = 200, BATCH = 256 };

/* Bytes of an answer, about: a number; a word with its score, in detail, with a place. */
enum { FLOAT_TEXT = 14, HIT_TEXT = 32, DETAIL_TEXT = 48, PLACE_TEXT = 80, MAKING_TEXT = 64 };

/* Numbers of a table that are searched in less time than to wake a thread. */
#define CHEAP 100000u
/* And bytes of a text likewise. */
#define CHEAP_TEXT 1024u

/* Bytes of a text whose vector is asked for; candidates of an index. */
enum { TEXT_MOST = 1 << 20, EF_MOST = 65536, IDS_MOST = 65536 };

enum what { ASK_NEAREST, ASK_ANALOGY, ASK_VECTOR, ASK_MAP, ASK_WHOLE_MAP, ASK_TEXT };

/* What is open: the vectors, perhaps an index of them, and their map once somebody wants it. */
struct words {
    const shoal_vectors *v;
    shoal_hnsw *index; /* or NULL */
    struct word_map *map;
};

struct word_sample {
    enum what what;
    struct near_ask ask;
    bool detailed; /* the answer of an address: a list, best first */
    float *vector; /* [dim] */
    float *places; /* [1 + found][2], the word itself first */
    /* Of a word that is not known its text, and what its n-grams make of it, [dim]. */
    char *unseen[3];
    float *made[3];
    const struct bytes *made_map; /* ASK_WHOLE_MAP; NULL: it is being made */
    bool given; /* the vector asked about is the request's own */
    bool exact; /* not by the index */
    uint32_t ef; /* candidates of the index; 0: as it says */
    struct word_filter *filter; /* or NULL */
    /* Of a text, which is kept until it is computed: bytes, or the ids of words. */
    char *text;
    uint32_t *ids;
    size_t len, words, known;
};
_Static_assert(sizeof(struct word_sample) <= SAMPLE_MAX, "a sample fits");

static const char *const verbs[] = {"similar", "analogy", "vector", "map", NULL};

static void words_close(const void *open)
{
    struct words *w = (struct words *)(uintptr_t)open; /* ours from words_open on */

    if (!w)
        return;
    word_map_free(w->map);
    shoal_hnsw_free(w->index);
    free(w);
}

static shoal_status words_open(const void **out, const shoal_model *model)
{
    struct words *w = mem_array(1, sizeof *w);
    shoal_status st = w ? SHOAL_OK : SHOAL_ENOMEM;

    *out = NULL;
    if (st == SHOAL_OK) {
        w->v = shoal_model_vectors(model);
        st = word_map_new(&w->map, w->v);
    }
    if (st == SHOAL_OK)
        *out = w;
    else
        words_close(w);
    return st;
}

static shoal_status words_take_index(const void *open, const char *path)
{
    struct words *w = (struct words *)(uintptr_t)open;

    return shoal_hnsw_open(&w->index, w->v, path);
}

static void words_facts(const void *open, struct writer *out)
{
    const struct words *w = open;
    char text[64];

    if (!w->index)
        return;
    snprintf(text, sizeof text, "hnsw, ef %u", shoal_hnsw_facts(w->index).ef);
    member_text(out, "index", text);
}

static void words_shapes(const void *model, struct tensor_shape *input, struct tensor_shape *output)
{
    const struct words *w = model;

    *input = (struct tensor_shape){"words", "BYTES", {-1}, 1};
    *output = (struct tensor_shape){"vectors", "FP32", {-1, (int64_t)shoal_vectors_dim(w->v)}, 2};
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

/* A vector of the request's own, from a list of JSON or from numbers. */
static shoal_status read_given(const shoal_vectors *v, const struct instance *in,
                               const struct tree *list, struct word_sample *s)
{
    size_t dim = shoal_vectors_dim(v), n = list ? tree_len(list) : in->count;
    double sum = 0;
    shoal_status st = SHOAL_OK;

    if ((list && tree_kind(list) != TREE_LIST) || n != dim)
        return shoal_fail(SHOAL_EINVAL, "vector: found %zu numbers, want %zu", n, dim);
    st = request_charge_sample(in->request, dim * sizeof **s->made, 0);
    if (st != SHOAL_OK)
        return st;
    if (!(s->made[0] = mem_array(dim, sizeof **s->made)))
        return SHOAL_ENOMEM;
    for (size_t j = 0; j < dim; j++) {
        s->made[0][j] = list ? (float)tree_number(tree_at(list, j)) : in->numbers[j];
        sum += (double)s->made[0][j] * s->made[0][j];
    }
    if (!(sum > 0) || !isfinite(sum))
        return shoal_fail(SHOAL_EINVAL, "vector: found zeros, or no numbers, want a direction");
    s->given = true;
    s->ask.ids[0] = SHOAL_NO_ID;
    return SHOAL_OK;
}

static shoal_status read_word(const shoal_vectors *v, const struct instance *in,
                              struct word_sample *s)
{
    const struct tree *vector = tree_get(in->json, "vector");

    if (vector || in->numbers)
        return read_given(v, in, vector, s);
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

/* How the search is to go. */
static shoal_status read_search(const shoal_vectors *v, const struct instance *in,
                                struct word_sample *s)
{
    uint64_t ef = 0;
    shoal_status st = instance_u64(in, "ef", 1, EF_MOST, &ef);

    s->ef = (uint32_t)ef;
    s->exact = instance_true(in, "exact");
    if (st == SHOAL_OK)
        st = word_filter_read(&s->filter, v, in);
    s->ask.filter = s->filter ? &s->filter->as : NULL;
    return st;
}

/* The ids of words, instead of a text. */
static shoal_status read_ids(const shoal_vectors *v, const struct instance *in,
                             struct word_sample *s)
{
    size_t n = tree_len(in->json);

    if (n == 0 || n > IDS_MOST)
        return shoal_fail(SHOAL_EINVAL, "input: found %zu token ids, want 1 to %d", n, IDS_MOST);
    if (!(s->ids = mem_array(n, sizeof *s->ids)))
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        double id = tree_number(tree_at(in->json, i));

        if (!(id >= 0 && id < (double)shoal_vectors_size(v)) || id != floor(id))
            return shoal_fail(SHOAL_EINVAL, "input: token id %zu is none of a word, want 0 to %zu",
                              i, shoal_vectors_size(v) - 1);
        s->ids[i] = (uint32_t)id;
    }
    s->len = n;
    return SHOAL_OK;
}

static shoal_status read_text(const shoal_vectors *v, const struct instance *in,
                              struct word_sample *s)
{
    size_t dim = shoal_vectors_dim(v), len = in->json ? 0 : in->len;
    shoal_status st;

    s->what = ASK_TEXT;
    if (len > TEXT_MOST)
        return shoal_fail(SHOAL_EINVAL, "input: found %zu bytes of text, want at most %d", len,
                          TEXT_MOST);
    st = request_charge_sample(in->request,
                               dim * sizeof *s->vector + len +
                                   tree_len(in->json) * sizeof *s->ids,
                               dim * FLOAT_TEXT);
    if (st != SHOAL_OK)
        return st;
    if (!(s->vector = mem_array(dim, sizeof *s->vector)))
        return SHOAL_ENOMEM;
    if (in->json)
        return read_ids(v, in, s);
    if (!(s->text = mem_array(len + 1, 1)))
        return SHOAL_ENOMEM;
    memcpy(s->text, in->bytes, len);
    s->len = len;
    return SHOAL_OK;
}

/* Without a word, the map of all. */
static shoal_status read_whole_map(const struct words *w, const struct instance *in,
                                   struct word_sample *s)
{
    const char *layout = instance_text(in, "layout");
    shoal_status st;

    if (layout && strcmp(layout, "pca") != 0)
        return shoal_fail(SHOAL_EINVAL, "map: layout is '%.40s', want pca", layout);
    st = word_map_ask(w->map, layout != NULL, &s->made_map);
    s->what = ASK_WHOLE_MAP;
    if (st != SHOAL_OK)
        return st;
    return request_charge_sample(in->request, 0,
                                 s->made_map ? s->made_map->len : MAKING_TEXT);
}

static shoal_status words_read(const void *model, const struct instance *in, void *sample)
{
    const shoal_vectors *v = ((const struct words *)model)->v;
    struct word_sample *s = sample;
    bool map = strcmp(in->verb, "map") == 0;
    uint64_t k = map ? MAP : NEAREST;
    shoal_status st = instance_u64(in, "k", 1, map ? MAP_MAX : NEAREST_MAX, &k);

    if (strcmp(in->verb, "embed") == 0)
        return read_text(v, in, s);
    if (st == SHOAL_OK && map && !instance_text(in, "word"))
        return read_whole_map(model, in, s);
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
    if (st == SHOAL_OK && s->what != ASK_VECTOR)
        st = read_search(v, in, s);
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
    free(s->text);
    free(s->ids);
    word_filter_free(s->filter);
    for (size_t i = 0; i < 3; i++) {
        free(s->unseen[i]);
        free(s->made[i]);
    }
}

/* ---- computing ---- */

static bool words_cheap(const void *model, const void *sample)
{
    const shoal_vectors *v = ((const struct words *)model)->v;
    const struct word_sample *s = sample;

    if (s->what == ASK_TEXT)
        return s->len <= CHEAP_TEXT;
    if (s->what == ASK_WHOLE_MAP)
        return !s->made_map;
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

/* ---- by the index ---- */

static bool by_index(const struct words *w, const struct word_sample *s)
{
    return w->index && !s->exact && (s->ask.n == 1 || s->ask.how == SHOAL_3COSADD);
}

static shoal_status ask_index(const struct words *w, struct rows *rows, struct table *made,
                              struct word_sample *s)
{
    struct near_ask ask = s->ask;
    float *room = aligned_alloc(64, table_bytes(3, rows->dim));
    shoal_status st = room ? SHOAL_OK : shoal_fail(SHOAL_ENOMEM, "memory: no room for rows");

    put_made(rows, made, s, &ask);
    if (st == SHOAL_OK)
        st = ask.st = nearest_direction(rows, ask.ids, ask.n, room);
    if (st == SHOAL_OK)
        st = graph_nearest(w->index, room, ask.ids, ask.n, ask.filter, s->ef, ask.hits, ask.k,
                           &s->ask.found);
    free(room);
    return st == SHOAL_EINVAL ? SHOAL_OK : st; /* a word without direction has no neighbours */
}

static bool searches(const struct word_sample *s)
{
    return s->what != ASK_VECTOR && s->what != ASK_TEXT && s->what != ASK_WHOLE_MAP;
}

/* The questions about nearest rows: by the index, or all in one pass over the table. */
static shoal_status ask_nearest(const struct words *w, struct word_sample *const *samples,
                                size_t n, struct near_ask *asks)
{
    struct table made = {0};
    struct rows rows;
    size_t nasks = 0, unseen = count_made(samples, n);
    shoal_status st = vectors_rows(&rows, w->v);

    if (st == SHOAL_OK && unseen > 0)
        st = table_init(&made, "words", unseen, rows.dim);
    rows.made = made.at;
    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        if (!searches(samples[i]))
            continue;
        if (by_index(w, samples[i])) {
            st = ask_index(w, &rows, &made, samples[i]);
            continue;
        }
        asks[nasks] = samples[i]->ask;
        put_made(&rows, &made, samples[i], &asks[nasks++]);
    }
    if (st == SHOAL_OK && nasks > 0)
        st = nearest_many(&rows, asks, nasks, 1);
    table_fini(&made);
    return st;
}

/* The mean of rows, each of length 1, and of length 1 itself. */
static shoal_status answer_ids(const shoal_vectors *v, struct word_sample *s)
{
    struct rows rows;
    float *unit = aligned_alloc(64, table_bytes(2, shoal_vectors_dim(v)));
    shoal_status st = vectors_rows(&rows, v);
    size_t stride = table_stride(shoal_vectors_dim(v));

    if (!unit)
        return shoal_fail(SHOAL_ENOMEM, "memory: no room for rows");
    memset(unit, 0, table_bytes(2, shoal_vectors_dim(v)));
    for (size_t i = 0; i < s->len && st == SHOAL_OK; i++) {
        s->known += rows_unit(&rows, s->ids[i], unit + stride);
        rows.kernel->axpy(unit, 1, unit + stride, rows.dim);
    }
    s->words = s->len;
    if (st == SHOAL_OK && !vector_normalize(unit, rows.dim))
        s->known = 0;
    memcpy(s->vector, unit, shoal_vectors_dim(v) * sizeof *unit);
    free(unit);
    return st;
}

static shoal_status answer_vector(const shoal_vectors *v, struct word_sample *s)
{
    if (s->what == ASK_WHOLE_MAP)
        return SHOAL_OK;
    if (s->what == ASK_VECTOR)
        return word_row(v, s, s->vector);
    if (s->ids)
        return answer_ids(v, s);
    return shoal_vectors_text(v, s->text, s->len, s->vector, &s->words, &s->known);
}

/* All questions about nearest rows that no index answers share passes over the table. */
static shoal_status run_some(const struct words *w, struct word_sample *const *samples, size_t n)
{
    struct near_ask asks[BATCH];
    shoal_status st = SHOAL_OK;
    size_t vectors = 0;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        if (!searches(samples[i])) {
            st = answer_vector(w->v, samples[i]);
            vectors++;
        }
    if (st == SHOAL_OK && vectors < n)
        st = ask_nearest(w, samples, n, asks);
    for (size_t i = 0, j = 0; i < n && st == SHOAL_OK; i++) {
        if (!searches(samples[i]))
            continue;
        if (!by_index(w, samples[i]))
            samples[i]->ask = asks[j++];
        if (samples[i]->what == ASK_MAP)
            st = answer_map(w->v, samples[i]);
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
    if (s->given)
        return "";
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
    if (s->given || (!s->unseen[0] && !s->unseen[1] && !s->unseen[2]))
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
    for (size_t i = 0; i < s->ask.n && !s->given; i++)
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
    const struct words *w = model;
    const struct word_sample *s = sample;

    if (s->what == ASK_WHOLE_MAP)
        word_map_write(w->map, s->made_map, out);
    else if (s->detailed)
        write_detailed(out, w->v, s);
    else if (s->what == ASK_VECTOR)
        write_vector(out, w->v, s);
    else
        write_classes(out, w->v, s);
}

static const float *words_floats(const void *model, const void *sample, size_t *n)
{
    const struct words *w = model;
    const struct word_sample *s = sample;

    *n = shoal_vectors_dim(w->v);
    return s->vector;
}

static const float *words_embedding(const void *model, const void *sample, size_t *n,
                                    size_t *tokens)
{
    const struct word_sample *s = sample;

    *tokens = s->words;
    *n = shoal_vectors_dim(((const struct words *)model)->v);
    return s->known > 0 ? s->vector : NULL;
}

const struct servable_kind servable_vectors = {
    .name = "vectors",
    .list_key = "words",
    .verbs = verbs,
    .sample_size = sizeof(struct word_sample),
    .open = words_open,
    .close = words_close,
    .shapes = words_shapes,
    .read = words_read,
    .cheap = words_cheap,
    .run = words_run,
    .write = words_write,
    .floats = words_floats,
    .forget = words_forget,
    .embedding = words_embedding,
    .take_index = words_take_index,
    .facts = words_facts,
};
