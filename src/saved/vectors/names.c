/* Which rows of a file are kept: each word once, the first, and none that is empty. Files of other
 * programs have both: words that were made equal by cleaning, and a word that was white space. */
#include "saved/vectors/vectors.h"

#include <stdlib.h>

/* ---- which are kept ---- */

/* In which line a word stands, from 1. */
static size_t line_of(const struct word_list *l, size_t i)
{
    size_t line = 1;
    const char *at = l->text, *end = l->words[i].at;

    while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        line++;
        at++;
    }
    return line;
}

/* What is wrong with the first that was left out. */
static char *sentence_of(const struct word_list *l, const struct words_left *left)
{
    struct span word = l->words[left->first];
    int len = (int)(word.len < 80 ? word.len : 80);

    if (word.len == 0 && l->text)
        return mem_text("%s: line %zu has no word", l->path, line_of(l, left->first));
    if (word.len == 0)
        return mem_text("%s: word %zu is empty", l->path, left->first + 1);
    if (l->text)
        return mem_text("%s: line %zu: the word `%.*s` stands there twice, first in line %zu",
                        l->path, line_of(l, left->first), len, word.at, line_of(l, left->before));
    return mem_text("%s: the word `%.*s` stands there twice, as %zu and as %zu", l->path, len,
                    word.at, left->before + 1, left->first + 1);
}

shoal_status naming_make(struct naming *out, const struct word_list *list)
{
    struct words_left left;
    shoal_status st;

    *out = (struct naming){.rows = mem_array(list->n, sizeof *out->rows)};
    if (!out->rows)
        return SHOAL_ENOMEM;
    st = vocab_from_rows(&out->vocab, list->path, list->words, list->counts, list->n, out->rows,
                         &left);
    if (st != SHOAL_OK)
        return st;
    out->left = (struct shoal_left_out){left.twice, left.empty};
    if (left.twice + left.empty > 0) {
        out->first = sentence_of(list, &left);
        return out->first ? SHOAL_OK : SHOAL_ENOMEM;
    }
    free(out->rows);
    out->rows = NULL;
    return SHOAL_OK;
}

void naming_fini(struct naming *n)
{
    shoal_vocab_free(n->vocab);
    free(n->rows);
    free(n->first);
    *n = (struct naming){0};
}

/* ---- words in lines, one for each row ---- */

/* The lines, the last of which may lack its end; *n of them at most are put
 * into `words`, and *n becomes how many there are. */
static void split_lines(const char *at, size_t len, struct span *words, size_t *n)
{
    const char *end = at + len, *line;
    size_t found = 0;

    for (; line_next(&at, end, &line, &len); found++)
        if (found < *n)
            words[found] = (struct span){line, len < UINT32_MAX ? (uint32_t)len : UINT32_MAX};
    *n = found;
}

shoal_status naming_of_lines(struct naming *out, const char *path, const char *lines, size_t len,
                             size_t rows)
{
    struct word_list list = {.path = path, .text = lines, .n = rows};
    struct span *words;
    shoal_status st;

    *out = (struct naming){0};
    if (len + 1 < rows) /* before the allocation */
        return shoal_fail(SHOAL_EFORMAT, "%s: %zu bytes hold fewer than %zu words", path, len,
                          rows);
    words = mem_array(rows, sizeof *words);
    if (!words)
        return SHOAL_ENOMEM;
    split_lines(lines, len, words, &list.n);
    list.words = words;
    if (list.n != rows)
        st = shoal_fail(SHOAL_EFORMAT, "%s: holds %zu words, want one for each of %zu vectors",
                        path, list.n, rows);
    else
        st = naming_make(out, &list);
    free(words);
    return st;
}

/* As a text may begin with a byte-order mark, so may this. */
static shoal_status read_lines(struct naming *out, const char *path, const char *lines, size_t len,
                               size_t rows)
{
    size_t mark = len >= 3 && memcmp(lines, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    return naming_of_lines(out, path, lines + mark, len - mark, rows);
}

shoal_status naming_beside(struct naming *out, const struct source *src, size_t rows)
{
    char *path = mem_text("%s.vocab", src->path), *lines = NULL;
    size_t len = 0;
    shoal_status st = path ? SHOAL_OK : SHOAL_ENOMEM;

    *out = (struct naming){0};
    if (st == SHOAL_OK && src->words)
        st = read_lines(out, path, src->words, src->words_len, rows);
    else if (st == SHOAL_OK) {
        st = stream_slurp(&lines, &len, path, SOURCE_MAX);
        if (st == SHOAL_ENOENT)
            st = shoal_fail(SHOAL_ENOENT, "%s: has no words, want them as lines of %s", src->path,
                            path);
        if (st == SHOAL_OK)
            st = read_lines(out, path, lines, len, rows);
    }
    free(lines);
    free(path);
    return st;
}

/* ---- vectors of them ---- */

void names_take(shoal_vectors *v, struct naming *n)
{
    v->vocab = n->vocab;
    v->left = n->left;
    v->left_first = n->first;
    n->vocab = NULL;
    n->first = NULL;
}

shoal_status vectors_new_named(shoal_vectors **out, enum shoal_format format, size_t dim,
                               enum shoal_dtype dtype, struct naming *n)
{
    shoal_status st = vectors_new(out, format, shoal_vocab_size(n->vocab), dim, dtype);

    if (st != SHOAL_OK)
        return st;
    names_take(*out, n);
    (*out)->from = n->rows;
    n->rows = NULL;
    return SHOAL_OK;
}

shoal_status vectors_keep(shoal_vectors *v, struct naming *n)
{
    size_t size = shoal_vocab_size(n->vocab);
    char *rows;

    if (size < v->size) {
        for (size_t id = 0; id < size; id++)
            if (n->rows[id] != id)
                memcpy(v->own_rows + id * v->stride, v->own_rows + n->rows[id] * v->stride,
                       v->stride);
        rows = mem_remap(v->own_rows, v->own_bytes, size * v->stride);
        if (!rows)
            return SHOAL_ENOMEM;
        v->own_bytes = size * v->stride;
        v->rows = v->own_rows = rows;
        v->size = size;
    }
    names_take(v, n);
    return SHOAL_OK;
}
