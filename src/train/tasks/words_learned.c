/* What word vectors learned: the neighbours of some words, a map, and analogies by section. */
#include "eval/eval.h"
#include "train/tasks/words.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ASKED = 36,      /* words whose neighbours are shown, */
    NEAR = 6,        /* so many of each */
    COMMON = 100,    /* words that come before, or a tenth of all: they are of no topic */
    LETTERS = 4,     /* that a word has at least */
    FARTHEST = 20000, /* rank of the rarest that is asked about */
    MAPPED = 320,    /* words of the map, */
    MAPPED_LEAST = 20,
    CLUSTERS = 8,
    ROUNDS = 300,    /* of t-SNE */
    PERPLEXITY = 15,
};

/* Words that say something by themselves: four letters and more, of whatever script. */
static bool is_content(const char *word)
{
    size_t len = strlen(word);

    for (size_t i = 0; i < len; i++)
        if (isascii((unsigned char)word[i]) && !isalpha((unsigned char)word[i]) &&
            !(word[i] == '_' && i > 0) && !(word[i] == '-' && i > 0))
            return len > 5 && strspn(word, "<>/|&;=") == 0 && isalpha((unsigned char)word[0]);
    return len >= LETTERS;
}

/* The next one from `id` on; SHOAL_NO_ID: there is none. */
static uint32_t next_content(const shoal_vocab *vocab, uint32_t id)
{
    size_t n = shoal_vocab_size(vocab);

    while (id < n && !is_content(shoal_vocab_word(vocab, id)))
        id++;
    return id < n ? id : SHOAL_NO_ID;
}

/* ---- neighbours ---- */

/* Ranks that grow by a factor: common words and rare ones; gives how many. */
static size_t choose_words(const shoal_vocab *vocab, struct near_ask *asks, struct shoal_hit *hits)
{
    double size = (double)shoal_vocab_size(vocab), from = fmin(COMMON, size / 10);
    double to = fmin(size * 0.5, FARTHEST), rank = from, by = pow(to / fmax(from, 1), 1.0 / ASKED);
    uint32_t last = SHOAL_NO_ID;
    size_t n = 0;

    while (n < ASKED && rank < size) {
        uint32_t id = next_content(vocab, (uint32_t)rank);

        if (id != SHOAL_NO_ID && last != SHOAL_NO_ID && id <= last)
            id = next_content(vocab, last + 1);
        if (id == SHOAL_NO_ID)
            break;
        asks[n] = (struct near_ask){.ids = {id}, .n = 1, .hits = hits + n * NEAR, .k = NEAR};
        last = id;
        n++;
        rank = fmax(rank * by, (double)last + 1);
    }
    return n;
}

static void add_neighbours(struct learned *l, const shoal_vocab *vocab, const struct near_ask *asks,
                           size_t n)
{
    struct exhibit *e = learned_exhibit(l, EXHIBIT_ANSWERS, "nearest", "Nearest words");

    exhibit_note(e, "Words from common to rare, and those with the most similar vectors, with "
                    "their cosine.");
    exhibit_column(e, "word", COLUMN_WORD);
    exhibit_column(e, "count", COLUMN_COUNT);
    exhibit_column(e, "nearest", COLUMN_WORD);
    exhibit_column(e, "cosine", COLUMN_REAL);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; asks[i].st == SHOAL_OK && k < asks[i].found; k++) {
            exhibit_row(l, e);
            exhibit_word(l, e, shoal_vocab_word(vocab, asks[i].ids[0]));
            exhibit_number(e, (double)shoal_vocab_count(vocab, asks[i].ids[0]));
            exhibit_word(l, e, shoal_vocab_word(vocab, asks[i].hits[k].id));
            exhibit_number(e, (double)asks[i].hits[k].score);
        }
}

static shoal_status show_neighbours(struct learned *l, const struct learned_words *w)
{
    struct shoal_hit *hits = mem_array(ASKED * NEAR, sizeof *hits);
    struct near_ask *asks = mem_array(ASKED, sizeof *asks);
    struct rows rows;
    size_t n = 0;
    shoal_status st = hits && asks ? rows_of_table(&rows, w->rows) : SHOAL_ENOMEM;

    if (st == SHOAL_OK) {
        rows.n = shoal_vocab_size(w->vocab);
        n = choose_words(w->vocab, asks, hits);
        st = n > 0 ? nearest_many(&rows, asks, n, w->threads) : SHOAL_OK;
    }
    if (st == SHOAL_OK)
        add_neighbours(l, w->vocab, asks, n);
    free(hits);
    free(asks);
    return st;
}

/* ---- a map ---- */

/* The commonest words with a direction, as rows of length 1 of `units`. */
static size_t map_words(const struct learned_words *w, struct table *units, uint32_t *ids)
{
    size_t n = 0;

    for (uint32_t id = next_content(w->vocab, 0); n < MAPPED && id != SHOAL_NO_ID;
         id = next_content(w->vocab, id + 1)) {
        float *row = units->at + n * units->stride;

        memcpy(row, w->rows->at + (size_t)id * w->rows->stride, units->width * sizeof *row);
        if (vector_normalize(row, units->width))
            ids[n++] = id;
    }
    return n;
}

/* t-SNE from where PCA puts them: nearness is kept better than by PCA alone. */
static shoal_status lay_out(const struct table *units, struct workers *w, float *places,
                            uint8_t *of)
{
    struct layout_how how = {.rounds = ROUNDS, .seed = 1};
    size_t k = 3 * PERPLEXITY < units->rows ? 3 * PERPLEXITY : units->rows - 1;
    size_t clusters = units->rows / 8 < CLUSTERS ? units->rows / 8 : CLUSTERS;
    struct neighbours near = {0};
    struct table centres = {0};
    struct pulse pulse;
    double shares[2], loss;
    shoal_status st = pca_table(units, w, places, shares);

    pulse_begin(&pulse, &(struct shoal_watch){0}, "map", "rounds", ROUNDS);
    if (st == SHOAL_OK)
        st = neighbours_make(&near, units, k, workers_count(w), &pulse);
    how.perplexity = fmin(PERPLEXITY, (double)k / 1.5);
    if (st == SHOAL_OK)
        st = tsne_layout(&near, &how, w, &pulse, places, &loss);
    if (st == SHOAL_OK)
        st = table_init(&centres, "centres", clusters, units->width);
    if (st == SHOAL_OK)
        st = kmeans(units, clusters, 1, w, of, centres.at);
    table_fini(&centres);
    neighbours_fini(&near);
    return st;
}

static void add_map(struct learned *l, const shoal_vocab *vocab, const uint32_t *ids,
                    const float *places, const uint8_t *of, size_t n)
{
    struct exhibit *e = learned_exhibit(l, EXHIBIT_MAP, "map", "A map of words");

    exhibit_note(e,
                 "The %zu commonest words, by t-SNE: words with similar vectors lie together. "
                 "Colours are clusters. The command shoal map makes a map of all.",
                 n);
    exhibit_column(e, "word", COLUMN_WORD);
    exhibit_column(e, "x", COLUMN_REAL);
    exhibit_column(e, "y", COLUMN_REAL);
    exhibit_column(e, "cluster", COLUMN_COUNT);
    for (size_t i = 0; i < n; i++) {
        exhibit_row(l, e);
        exhibit_word(l, e, shoal_vocab_word(vocab, ids[i]));
        exhibit_number(e, (double)places[2 * i]);
        exhibit_number(e, (double)places[2 * i + 1]);
        exhibit_number(e, of[i]);
    }
}

static shoal_status show_map(struct learned *l, const struct learned_words *w)
{
    struct table units = {0};
    struct workers *pool = NULL;
    uint32_t *ids = mem_array(MAPPED, sizeof *ids);
    float *places = mem_array(2 * MAPPED, sizeof *places);
    uint8_t *of = mem_array(MAPPED, sizeof *of);
    shoal_status st = ids && places && of ? table_init(&units, "map", MAPPED, w->rows->width)
                                          : SHOAL_ENOMEM;

    if (st == SHOAL_OK)
        st = workers_new(&pool, w->threads);
    if (st == SHOAL_OK) {
        struct table some = units;

        some.rows = map_words(w, &units, ids);
        if (some.rows >= MAPPED_LEAST)
            st = lay_out(&some, pool, places, of);
        if (st == SHOAL_OK && some.rows >= MAPPED_LEAST)
            add_map(l, w->vocab, ids, places, of, some.rows);
    }
    workers_free(pool);
    table_fini(&units);
    free(ids);
    free(places);
    free(of);
    return st;
}

/* ---- analogies ---- */

static void add_scores(struct learned *l, const char *name, const struct shoal_score *scores,
                       size_t n)
{
    struct exhibit *e = learned_exhibit(l, EXHIBIT_TABLE, "analogies", "Analogies");

    exhibit_note(e,
                 "From %.60s: a is to b as c is to which word? A question is seen where all its "
                 "words have vectors.",
                 name);
    exhibit_column(e, "section", COLUMN_WORD);
    exhibit_column(e, "accuracy", COLUMN_BAR);
    exhibit_column(e, "right", COLUMN_COUNT);
    exhibit_column(e, "seen", COLUMN_COUNT);
    exhibit_column(e, "questions", COLUMN_COUNT);
    for (size_t i = 0; i < n; i++) {
        exhibit_row(l, e);
        exhibit_word(l, e, scores[i].name);
        exhibit_number(e, scores[i].accuracy);
        exhibit_number(e, (double)scores[i].right);
        exhibit_number(e, (double)scores[i].seen);
        exhibit_number(e, (double)scores[i].total);
    }
}

static shoal_status show_analogies(struct learned *l, const struct learned_words *w,
                                   const shoal_eval *suite)
{
    struct shoal_eval_opts opts = shoal_eval_default();
    struct shoal_score *scores;
    size_t n;
    shoal_status st;

    if (shoal_eval_kind(suite) == SHOAL_PAIRS)
        return SHOAL_OK;
    opts.threads = w->threads;
    st = eval_run_table(suite, w->vocab, w->rows, w->others, &opts, &scores, &n);
    if (st != SHOAL_OK)
        return st;
    add_scores(l, shoal_eval_name(suite), scores, n);
    shoal_scores_free(scores);
    return SHOAL_OK;
}

shoal_status words_show(struct learned *l, const struct learned_words *w)
{
    shoal_status st = show_neighbours(l, w);

    for (size_t i = 0; i < w->nsuites && st == SHOAL_OK; i++)
        st = show_analogies(l, w, w->suites[i]);
    return st == SHOAL_OK ? show_map(l, w) : st;
}
