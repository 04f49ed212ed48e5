/* Lines with labels in our container, for ranks that share them and for runs that go on:
 *
 *     meta          kind labelled, words, and how the text was read
 *     vocab.*       the types (vocab_file.c)
 *     labels        their names, each with its NUL
 *     labels.counts uint64_t
 *     lines         uint64_t [lines + 1]      types   uint32_t
 *     line.labels   uint64_t [lines + 1]      label   uint32_t                     */
#include "text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

enum { NAME_ROOM = 24 };

static void counts_name(char out[NAME_ROOM], const char *section)
{
    snprintf(out, NAME_ROOM, "%.14s.counts", section);
}

shoal_status names_save(const shoal_vocab *names, const char *section, struct container_writer *w)
{
    size_t n = shoal_vocab_size(names);
    char counts[NAME_ROOM];

    counts_name(counts, section);
    container_begin(w, section);
    for (uint32_t i = 0; i < n; i++)
        container_write(w, shoal_vocab_word(names, i), strlen(shoal_vocab_word(names, i)) + 1);
    container_begin(w, counts);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t count = shoal_vocab_count(names, i);

        container_write(w, &count, sizeof count);
    }
    return container_write(w, "", 0);
}

shoal_status names_load(shoal_vocab **out, const char *section, const struct container *c)
{
    char called[NAME_ROOM];
    struct section names, counts;
    shoal_status st = container_find(c, section, 1, &names);

    *out = NULL;
    counts_name(called, section);
    if (st == SHOAL_OK)
        st = container_find(c, called, sizeof(uint64_t), &counts);
    if (st == SHOAL_OK && counts.size == 0)
        st = shoal_fail(SHOAL_EFORMAT, "%s: has no %s, want one or more", container_path(c), section);
    if (st == SHOAL_OK)
        st = shoal_vocab_new(out, &(struct shoal_words){.text = names.data,
                                                        .len = names.size,
                                                        .counts = counts.data,
                                                        .n = counts.size / sizeof(uint64_t)});
    return st;
}

/* ---- lines ---- */

shoal_status labelled_save(const shoal_labelled *l, const char *path)
{
    struct container_writer *w = NULL;
    struct bytes meta = {0};
    shoal_status st = bytes_print(&meta, "kind labelled\nwords %zu\n", l->words);

    if (st == SHOAL_OK)
        st = line_reading_put(&l->reading, &meta);
    if (st == SHOAL_OK)
        st = container_create(&w, path);
    if (st == SHOAL_OK)
        st = container_put(w, "meta", meta.at, meta.len);
    if (st == SHOAL_OK)
        st = vocab_save(l->types, w);
    if (st == SHOAL_OK)
        st = names_save(l->labels, "labels", w);
    if (st == SHOAL_OK) {
        container_put(w, "lines", l->start, (l->lines + 1) * sizeof *l->start);
        container_put(w, "types", l->type, l->start[l->lines] * sizeof *l->type);
        container_put(w, "line.labels", l->label_start, (l->lines + 1) * sizeof *l->label_start);
        st = container_put(w, "label", l->label, l->label_start[l->lines] * sizeof *l->label);
    }
    bytes_fini(&meta);
    return container_end(w, st);
}

/* Numbers that go up from 0 to n, of which a line takes `least` or more. */
static shoal_status check_starts(const struct container *c, const char *what, const uint64_t *start,
                                 size_t lines, size_t n, uint64_t least)
{
    bool good = start[0] == 0 && start[lines] == n;

    for (size_t i = 0; i < lines && good; i++)
        good = start[i + 1] >= start[i] && start[i + 1] - start[i] >= least;
    if (good)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EFORMAT, "%s: section \"%s\" does not go up to %zu, want it to",
                      container_path(c), what, n);
}

static shoal_status check_ids(const struct container *c, const char *what, const uint32_t *id,
                              size_t n, size_t below)
{
    for (size_t i = 0; i < n; i++)
        if (id[i] >= below)
            return shoal_fail(SHOAL_EFORMAT, "%s: section \"%s\" has %u at %zu, want less than %zu",
                              container_path(c), what, id[i], i, below);
    return SHOAL_OK;
}

static shoal_status find_lines(struct shoal_labelled *l, const struct container *c)
{
    struct section start, type, label_start, label;
    shoal_status st = container_find(c, "lines", sizeof *l->start, &start);

    if (st == SHOAL_OK)
        st = container_find(c, "types", sizeof *l->type, &type);
    if (st == SHOAL_OK)
        st = container_find(c, "line.labels", sizeof *l->label_start, &label_start);
    if (st == SHOAL_OK)
        st = container_find(c, "label", sizeof *l->label, &label);
    if (st != SHOAL_OK)
        return st;
    if (start.size < 2 * sizeof *l->start || start.size != label_start.size)
        return shoal_fail(SHOAL_EFORMAT, "%s: has %zu and %zu starts of lines, want as many of both",
                          container_path(c), start.size / sizeof *l->start,
                          label_start.size / sizeof *l->label_start);
    l->lines = start.size / sizeof *l->start - 1;
    l->start = start.data;
    l->type = type.data;
    l->label_start = label_start.data;
    l->label = label.data;
    st = check_starts(c, "lines", l->start, l->lines, type.size / sizeof *l->type, 0);
    if (st == SHOAL_OK)
        st = check_starts(c, "line.labels", l->label_start, l->lines, label.size / sizeof *l->label,
                          1);
    if (st == SHOAL_OK)
        st = check_ids(c, "types", l->type, type.size / sizeof *l->type,
                       shoal_vocab_size(l->types));
    if (st == SHOAL_OK)
        st = check_ids(c, "label", l->label, label.size / sizeof *l->label,
                       shoal_vocab_size(l->labels));
    return st;
}

static shoal_status load(struct shoal_labelled *l, const struct container *c)
{
    uint64_t words = 0;
    shoal_status st = container_check_kind(c, "labelled", "lines with labels");

    if (st == SHOAL_OK)
        st = container_meta_u64(c, "words", &words);
    if (st == SHOAL_OK)
        st = line_reading_load(&l->reading, c);
    if (st == SHOAL_OK)
        st = vocab_load(&l->types, c);
    if (st == SHOAL_OK)
        st = names_load(&l->labels, "labels", c);
    if (st == SHOAL_OK && words > shoal_vocab_size(l->types))
        st = shoal_fail(SHOAL_EFORMAT, "%s: has %llu words of %zu types, want no more than those",
                        container_path(c), (unsigned long long)words, shoal_vocab_size(l->types));
    l->words = (size_t)words;
    return st == SHOAL_OK ? find_lines(l, c) : st;
}

shoal_status shoal_labelled_open(shoal_labelled **out, const char *path)
{
    struct shoal_labelled *l = mem_array(1, sizeof *l);
    shoal_status st = l ? SHOAL_OK : SHOAL_ENOMEM;

    *out = NULL;
    if (st == SHOAL_OK)
        st = container_map(&l->file, path);
    if (st == SHOAL_OK)
        st = container_verify(l->file, 0);
    if (st == SHOAL_OK)
        st = load(l, l->file);
    if (st == SHOAL_OK)
        *out = l;
    else
        shoal_labelled_close(l);
    return st;
}

void shoal_labelled_close(shoal_labelled *l)
{
    if (!l)
        return;
    if (!l->file) {
        free((void *)(uintptr_t)l->start);
        free((void *)(uintptr_t)l->type);
        free((void *)(uintptr_t)l->label_start);
        free((void *)(uintptr_t)l->label);
    }
    container_close(l->file);
    shoal_vocab_free(l->types);
    shoal_vocab_free(l->labels);
    line_reading_fini(&l->reading);
    free(l);
}

uint64_t labelled_fingerprint(const shoal_labelled *l)
{
    uint64_t h = vocab_fingerprint(l->types) ^ RNG_STEP * vocab_fingerprint(l->labels);

    h = bytes_hash(h, &l->words, sizeof l->words);
    h = bytes_hash(h, l->start, (l->lines + 1) * sizeof *l->start);
    h = bytes_hash(h, l->type, l->start[l->lines] * sizeof *l->type);
    return bytes_hash(h, l->label, l->label_start[l->lines] * sizeof *l->label);
}
