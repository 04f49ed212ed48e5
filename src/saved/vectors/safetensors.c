/* safetensors of word vectors (tensors.c knows the format).
 *
 * Ours is the tensor "vectors", or the only one of two dimensions. The words
 * are lines of one string of the metadata or, where that cannot be (they are
 * no UTF-8 text, or over the 100 MB that readers allow a header), of
 * FILE.vocab. */
#include "saved/tensors.h"
#include "saved/vectors/vectors.h"

#include <stdio.h>
#include <stdlib.h>

#define HEADER_MAX ((size_t)100000000)

/* ---- reading ---- */

/* "vectors", else the only matrix; NULL when there are none or several. */
static const struct file_tensor *find_matrix(const struct tensors *t, size_t *matrices)
{
    const struct file_tensor *named = tensors_find(t, "vectors"), *only = NULL;

    *matrices = 0;
    for (size_t i = 0; i < t->n; i++)
        if (t->at[i].ndims == 2) {
            only = &t->at[i];
            ++*matrices;
        }
    if (named && named->ndims > 0)
        return named->ndims == 2 ? named : NULL;
    return *matrices == 1 ? only : NULL;
}

static shoal_status check_tensor(const struct source *src, const struct tensors *all,
                                 const struct file_tensor **out, enum shoal_dtype *dtype)
{
    size_t matrices;
    const struct file_tensor *t = *out = find_matrix(all, &matrices);
    shoal_status st;

    if (!t)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: %zu tensors of two dimensions, want one, or one named \"vectors\"",
                          src->path, matrices);
    if (!tensors_dtype(t, dtype))
        return shoal_fail(SHOAL_EFORMAT, "%s: its numbers are \"%s\", want F32, F16 or BF16",
                          src->path, t->dtype);
    st = vectors_check_shape(src->path, t->dims[0], t->dims[1]);
    if (st != SHOAL_OK)
        return st;
    if (t->begin > t->end || t->end > all->size ||
        t->end - t->begin != t->dims[0] * t->dims[1] * dtype_size(*dtype))
        st = shoal_fail(SHOAL_EFORMAT,
                        "%s: numbers of %zu x %zu at bytes %zu to %zu of %zu, which do not fit",
                        src->path, t->dims[0], t->dims[1], t->begin, t->end, all->size);
    return st;
}

static shoal_status name_rows(struct naming *out, const struct source *src, const struct tensors *t,
                              size_t rows)
{
    char *lines;
    size_t len;
    shoal_status st = tensors_text(t, "words", &lines, &len);

    *out = (struct naming){0};
    if (st == SHOAL_OK)
        st = lines ? naming_of_lines(out, src->path, lines, len, rows)
                   : naming_beside(out, src, rows);
    free(lines);
    return st;
}

shoal_status safetensors_read(shoal_vectors **out, const struct source *src)
{
    enum shoal_dtype dtype = SHOAL_F32;
    const struct file_tensor *t = NULL;
    struct naming names = {0};
    struct tensors all;
    shoal_status st = tensors_read(&all, src->path, src->at, src->len);

    if (st != SHOAL_OK)
        return st;
    st = net_weights_in(&all) ? vectors_fail_other(src) : check_tensor(src, &all, &t, &dtype);
    if (st == SHOAL_OK)
        st = name_rows(&names, src, &all, t->dims[0]);
    if (st == SHOAL_OK)
        st = vectors_new_named(out, SHOAL_FORMAT_SAFETENSORS, t->dims[1], dtype, &names);
    if (st == SHOAL_OK)
        st = vectors_fill(*out, src, all.data + t->begin, NULL);
    naming_fini(&names);
    tensors_fini(&all);
    return st;
}

/* ---- writing ---- */

/* The words as a member of the metadata. */
static shoal_status add_words(struct bytes *b, const struct saving *s)
{
    shoal_status st = bytes_add(b, "\"words\":\"", 9);

    for (uint32_t id = 0; id < s->n && st == SHOAL_OK; id++) {
        if (id > 0)
            st = bytes_add(b, "\\n", 2);
        if (st == SHOAL_OK)
            st = tensors_escape(b, shoal_vectors_word(s->v, id));
    }
    return st == SHOAL_OK ? bytes_add(b, "\"", 1) : st;
}

static bool is_text(const char *word)
{
    /* Control bytes, which clean_find_bad minds, JSON can escape. */
    size_t len = strlen(word), at = 0;

    while (at < len) {
        at += clean_find_bad(word + at, len - at);
        if (at < len && (unsigned char)word[at] >= 0x80)
            return false;
        at++;
    }
    return true;
}

/* Whether they may go into the header. */
static bool words_fit_header(const struct saving *s)
{
    size_t bytes = 1024; /* for all but the words */

    for (uint32_t id = 0; id < s->n; id++) {
        const char *word = shoal_vectors_word(s->v, id);

        bytes += 2 + strlen(word);
        for (const char *at = word; *at; at++)
            bytes += (unsigned char)*at < ' ' ? 5 : *at == '"' || *at == '\\';
        if (bytes > HEADER_MAX || !is_text(word))
            return false;
    }
    return true;
}

static shoal_status make_header(struct bytes *b, const struct saving *s, bool words)
{
    static const char *const names[] = {"F32", "F16", "BF16"};
    struct file_tensor t = {.name = "vectors", .ndims = 2, .dims = {s->n, s->v->dim}};
    struct bytes meta = {0};
    shoal_status st = words ? add_words(&meta, s) : SHOAL_OK;

    snprintf(t.dtype, sizeof t.dtype, "%s", names[s->dtype]);
    t.end = s->n * s->v->dim * dtype_size(s->dtype);
    if (st == SHOAL_OK)
        st = tensors_header(b, &meta, &t, 1);
    bytes_fini(&meta);
    return st;
}

static shoal_status write_all(const struct saving *s, const struct bytes *header)
{
    uint64_t len = header->len;
    struct output *o;
    shoal_status st = output_open(&o, s->path);

    if (st != SHOAL_OK)
        return st;
    st = output_write(o, &len, sizeof len);
    if (st == SHOAL_OK)
        st = output_write(o, header->at, header->len);
    if (st == SHOAL_OK)
        st = saving_rows(s, s->v->dim * dtype_size(s->dtype), NULL, saving_put_output, o);
    return output_end(o, st);
}

shoal_status safetensors_save(const struct saving *s)
{
    struct bytes header = {0};
    bool words = words_fit_header(s);
    shoal_status st = saving_check_words(s, "\n", "a line of words");

    if (st == SHOAL_OK)
        st = make_header(&header, s, words);
    if (st == SHOAL_OK && !words)
        st = saving_words_beside(s);
    if (st == SHOAL_OK)
        st = write_all(s, &header);
    bytes_fini(&header);
    return st;
}
