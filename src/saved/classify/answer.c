/* What a classifier says of a line. */
#include "saved/classify/classify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

shoal_status class_asker_init(struct class_asker *a, const shoal_classifier *m)
{
    *a = (struct class_asker){.model = m, .line = {.f = &m->features, .words = m->words},
                        .walk = {.reading = &m->reading}};
    a->room = mem_array(m->stride + KERNEL_LANES, sizeof *a->room);
    a->hidden = a->room + (KERNEL_LANES - (uintptr_t)a->room / sizeof(float) % KERNEL_LANES);
    a->p = mem_array(m->classes.classes, sizeof *a->p);
    a->guess = mem_array(m->classes.classes, sizeof *a->guess);
    if (a->room && a->p && a->guess)
        return SHOAL_OK;
    class_asker_fini(a);
    return SHOAL_ENOMEM;
}

void class_asker_fini(struct class_asker *a)
{
    free(a->room);
    free(a->p);
    free(a->guess);
    free(a->at);
    line_features_fini(&a->line);
    line_walk_fini(&a->walk);
    *a = (struct class_asker){0};
}

static shoal_status mean_rows(struct class_asker *a, const uint32_t *row, size_t n)
{
    const shoal_classifier *m = a->model;
    shoal_status st = mem_grow(&a->at, &a->cap, n + 1, sizeof(float *));

    if (st != SHOAL_OK)
        return st;
    if (m->in) {
        for (size_t i = 0; i < n; i++)
            a->at[i] = m->in + row[i] * m->stride;
        m->classes.kernel->sum_rows(a->hidden, a->at, n, m->classes.dim);
    } else {
        memset(a->hidden, 0, m->stride * sizeof *a->hidden);
        classifier_add_fasttext(m, row, n, a->hidden);
    }
    m->classes.kernel->scale(a->hidden, 1 / (float)n, m->classes.dim);
    return SHOAL_OK;
}

shoal_status class_asker_rows(struct class_asker *a, const uint32_t *row, size_t n)
{
    const shoal_classifier *m = a->model;
    struct classify_answer answer = {&m->classes, m->out, m->stride,
                                     m->fasttext ? classifier_rough_sigmoid : NULL};
    shoal_status st = mean_rows(a, row, n);

    if (st == SHOAL_OK)
        classify_answer(&answer, a->hidden, a->p);
    return st;
}

shoal_status class_asker_line(struct class_asker *a, bool *more, size_t *n)
{
    struct token_sink sink = {line_features_word, NULL, &a->line};
    shoal_status st;

    line_features_begin(&a->line);
    st = line_walk_next(&a->walk, &sink, more);
    *n = 0;
    if (st != SHOAL_OK || !*more)
        return st;
    st = line_features_end(&a->line);
    *n = a->line.n;
    return st == SHOAL_OK && *n > 0 ? class_asker_rows(a, a->line.row, *n) : st;
}

/* ---- the likeliest ---- */

static bool is_better(const struct shoal_guess *a, const struct shoal_guess *b)
{
    return a->p > b->p || (a->p == b->p && a->label > b->label);
}

static int by_better(const void *a, const void *b)
{
    return is_better(a, b) ? -1 : 1;
}

/* Those better than the last of the k that are kept, one after the other. */
size_t class_asker_best(struct class_asker *a, size_t k, double threshold)
{
    uint32_t classes = a->model->classes.classes;
    size_t n = 0;

    k = k < classes ? k : classes;
    for (uint32_t c = 0; c < classes; c++) {
        struct shoal_guess guess = {c, a->p[c]};
        size_t at;

        if ((double)guess.p < threshold || k == 0)
            continue;
        if (n == k && k < classes && !is_better(&guess, &a->guess[n - 1]))
            continue;
        if (k == classes) { /* sorted at the end */
            a->guess[n++] = guess;
            continue;
        }
        at = n < k ? n++ : n - 1;
        for (; at > 0 && is_better(&guess, &a->guess[at - 1]); at--)
            a->guess[at] = a->guess[at - 1];
        a->guess[at] = guess;
    }
    if (k == classes)
        qsort(a->guess, n, sizeof *a->guess, by_better);
    return n;
}

/* ---- texts in memory ---- */

struct texts {
    const shoal_classifier *model;
    const struct shoal_memory *text;
    size_t n, k;
    double threshold;
    unsigned threads;
    struct shoal_guess *out;
    size_t *found;
};

/* The features of a text. The walk reads behind it, so it is copied. */
static shoal_status read_text(struct class_asker *a, struct bytes *room, const void *text,
                              size_t len)
{
    struct token_sink sink = {line_features_word, NULL, &a->line};
    shoal_status st = SHOAL_OK;

    room->len = 0;
    line_features_begin(&a->line);
    if (len > LINES_MOST)
        return shoal_fail(SHOAL_ELIMIT, "classify: found a text of %zu bytes, want at most %zu",
                          len, LINES_MOST);
    st = bytes_reserve(room, len + FIELD_PAD);
    if (st == SHOAL_OK)
        st = bytes_add(room, text, len);
    if (st == SHOAL_OK)
        st = line_walk_text(&a->walk, (struct span){room->at, (uint32_t)room->len}, &sink);
    return st == SHOAL_OK ? line_features_end(&a->line) : st;
}

static shoal_status answer_text(struct class_asker *a, struct bytes *room, const struct texts *t, size_t i)
{
    shoal_status st = read_text(a, room, t->text[i].data, t->text[i].size);

    t->found[i] = 0;
    if (st == SHOAL_OK && a->line.n > 0) {
        st = class_asker_rows(a, a->line.row, a->line.n);
        if (st == SHOAL_OK)
            t->found[i] = class_asker_best(a, t->k, t->threshold);
        memcpy(t->out + i * t->k, a->guess, t->found[i] * sizeof *t->out);
    }
    return st;
}

static shoal_status answer_thread(void *ctx, unsigned index)
{
    const struct texts *t = ctx;
    struct class_asker a;
    struct bytes room = {0};
    shoal_status st = class_asker_init(&a, t->model);

    if (st != SHOAL_OK)
        return st;
    for (size_t i = t->n * index / t->threads; i < t->n * (index + 1) / t->threads && st == SHOAL_OK;
         i++)
        st = answer_text(&a, &room, t, i);
    bytes_fini(&room);
    class_asker_fini(&a);
    return st;
}

shoal_status shoal_classify(const shoal_classifier *m, const struct shoal_memory *texts, size_t n,
                            const struct shoal_classify_opts *opts, struct shoal_guess *out,
                            size_t *found)
{
    struct texts t = {m, texts, n, opts->k, opts->threshold, pool_threads(opts->threads), out, found};

    if (t.threads > n)
        t.threads = n > 0 ? (unsigned)n : 1;
    return pool_run(t.threads, answer_thread, &t);
}

/* ---- the vector of a text ---- */

size_t shoal_classifier_dim(const shoal_classifier *m)
{
    return m->classes.dim;
}

shoal_status shoal_classifier_text(const shoal_classifier *m, const char *text, size_t len,
                                   float *out, size_t *features)
{
    struct class_asker a;
    struct bytes room = {0};
    size_t dim = m->classes.dim;
    double length = 0;
    shoal_status st = class_asker_init(&a, m);

    memset(out, 0, dim * sizeof *out);
    *features = 0;
    if (st != SHOAL_OK)
        return st;
    st = read_text(&a, &room, text, len);
    if (st == SHOAL_OK && a.line.n > 0)
        st = mean_rows(&a, a.line.row, a.line.n);
    if (st == SHOAL_OK && a.line.n > 0)
        length = sqrt(vector_dot(a.hidden, a.hidden, dim));
    if (length > 0) {
        *features = a.line.n;
        for (size_t j = 0; j < dim; j++)
            out[j] = (float)(a.hidden[j] / length);
    }
    bytes_fini(&room);
    class_asker_fini(&a);
    return st;
}
