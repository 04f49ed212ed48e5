/* word2vec's binary: "V D\n", then for each word
 *
 *     word ' ' f32 [D] '\n'
 *
 * word2vec.c writes the newline, gensim does not; so newlines before a word
 * are passed over. The places of the words are found in one walk, the numbers
 * copied by all threads. */
#include "saved/vectors/vectors.h"

#include <stdio.h>
#include <stdlib.h>

struct walk {
    const char *at, *end;
    size_t row_bytes;
};

/* The next word, which may be empty; at NULL with what is wrong in *found. */
static struct span next_word(struct walk *w, const char **found)
{
    struct span word;
    const char *space;
    size_t left;

    while (w->at < w->end && *w->at == '\n')
        w->at++;
    left = (size_t)(w->end - w->at);
    space = memchr(w->at, ' ', left < SHOAL_WORD_MAX + 1 ? left : SHOAL_WORD_MAX + 1);
    if (!space || (size_t)(w->end - space) - 1 < w->row_bytes) {
        *found = left > SHOAL_WORD_MAX && !space ? "is too long" : "is cut off by the file's end";
        return (struct span){NULL, 0};
    }
    word = (struct span){w->at, (uint32_t)(space - w->at)};
    w->at = space + 1 + w->row_bytes;
    if (memchr(word.at, '\n', word.len)) {
        *found = "holds a newline";
        word.at = NULL;
    }
    return word;
}

/* How many bytes lie behind the last vector. */
static size_t behind(struct walk *w)
{
    while (w->at < w->end && *w->at == '\n')
        w->at++;
    return (size_t)(w->end - w->at);
}

struct shape {
    size_t size, dim, begin;
};

static struct walk walk_of(const struct source *src, const struct shape *s)
{
    return (struct walk){src->at + s->begin, src->at + src->len, s->dim * sizeof(float)};
}

/* The shape promises no more than the file can hold: a space behind each word, which may be
 * empty. */
static shoal_status read_shape(struct shape *s, const struct source *src)
{
    shoal_status st;

    if (!vectors_text_header(src, &s->size, &s->dim, &s->begin))
        return shoal_fail(SHOAL_EFORMAT, "%s: its first line is no `words numbers`", src->path);
    st = vectors_check_shape(src->path, s->size, s->dim);
    if (st == SHOAL_OK && (src->len - s->begin) / (s->dim * sizeof(float) + 1) < s->size)
        st = shoal_fail(SHOAL_EFORMAT,
                        "%s: promises %zu vectors of %zu numbers, which %zu bytes cannot hold",
                        src->path, s->size, s->dim, src->len - s->begin);
    return st;
}

bool word2vec_sniff(const struct source *src)
{
    const char *found;
    struct shape s;
    struct walk w;

    if (!vectors_text_header(src, &s.size, &s.dim, &s.begin) || s.size == 0 || s.dim == 0 ||
        s.dim > DIM_MAX || (src->len - s.begin) / (s.dim * sizeof(float) + 1) < s.size)
        return false;
    w = walk_of(src, &s);
    for (size_t i = 0; i < s.size; i++)
        if (!next_word(&w, &found).at)
            return false;
    return behind(&w) == 0;
}

static shoal_status walk_all(const struct source *src, const struct shape *s, struct span *words,
                             uint64_t *at)
{
    struct walk w = walk_of(src, s);
    const char *found = NULL;

    for (size_t i = 0; i < s->size; i++) {
        words[i] = next_word(&w, &found);
        if (!words[i].at)
            return shoal_fail(SHOAL_EFORMAT, "%s: word %zu of %zu %s", src->path, i + 1, s->size,
                              found);
        at[i] = (uint64_t)(w.at - src->at) - w.row_bytes;
    }
    if (behind(&w) > 0)
        return shoal_fail(SHOAL_EFORMAT, "%s: %zu bytes behind the last of %zu vectors, want none",
                          src->path, behind(&w), s->size);
    return SHOAL_OK;
}

static shoal_status read_rows(shoal_vectors **out, const struct source *src, const struct shape *s,
                              const struct span *words, const uint64_t *at)
{
    struct word_list list = {.path = src->path, .words = words, .n = s->size};
    struct naming names;
    shoal_status st = naming_make(&names, &list);

    if (st == SHOAL_OK)
        st = vectors_new_named(out, SHOAL_FORMAT_WORD2VEC, s->dim, SHOAL_F32, &names);
    naming_fini(&names);
    return st == SHOAL_OK ? vectors_fill(*out, src, src->at, at) : st;
}

shoal_status word2vec_read(shoal_vectors **out, const struct source *src)
{
    struct span *words = NULL;
    uint64_t *at = NULL;
    struct shape s;
    shoal_status st = read_shape(&s, src);

    if (st != SHOAL_OK)
        return st;
    words = mem_array(s.size, sizeof *words);
    at = mem_array(s.size, sizeof *at);
    st = words && at ? walk_all(src, &s, words, at) : SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        st = read_rows(out, src, &s, words, at);
    free(words);
    free(at);
    return st;
}

/* ---- writing ---- */

static shoal_status write_word(const struct saving *s, uint32_t id, float *row, struct output *o)
{
    const char *word = shoal_vectors_word(s->v, id);
    shoal_status st = saving_row(s, id, row);

    if (st == SHOAL_OK)
        st = output_write(o, word, strlen(word));
    if (st == SHOAL_OK)
        st = output_write(o, " ", 1);
    if (st == SHOAL_OK)
        st = output_write(o, row, s->v->dim * sizeof *row);
    return st == SHOAL_OK ? output_write(o, "\n", 1) : st;
}

static shoal_status write_all(const struct saving *s, struct output *o)
{
    float *row = mem_array(s->v->dim, sizeof *row);
    char head[64];
    int n = snprintf(head, sizeof head, "%zu %zu\n", s->n, s->v->dim);
    shoal_status st = row ? output_write(o, head, (size_t)n) : SHOAL_ENOMEM;

    for (uint32_t id = 0; id < s->n && st == SHOAL_OK; id++)
        st = write_word(s, id, row, o);
    free(row);
    return st;
}

shoal_status word2vec_save(const struct saving *s)
{
    struct output *o;
    shoal_status st = saving_check_words(s, " \n", "word2vec binary");

    if (st == SHOAL_OK)
        st = output_open(&o, s->path);
    return st == SHOAL_OK ? output_end(o, write_all(s, o)) : st;
}
