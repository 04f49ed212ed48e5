/* Lines with labels, read once by all threads and kept as ids.
 *
 * A thread takes blocks of lines and numbers words and labels as it meets them, in tables of its
 * own. What it makes of a block is a piece:
 *
 *     types, labels | the types ... | the labels ... | types, labels | ...      uint32_t
 *
 * At the end the tables become one, commonest first, and the pieces, in the order of their blocks,
 * become the arrays of struct shoal_labelled. So the result does not depend on the threads. */
#include "text/text.h"
#include "text/vocab.h"

#include <stdlib.h>
#include <string.h>

/* ---- words by number, as they are met ---- */

/* Slots are at most half full. */
struct number_table {
    struct index_slot *slot;
    size_t slots, n, cap;
    uint64_t *count;  /* [n] */
    uint64_t *offset; /* [n] into text */
    struct bytes text;
};

static void number_table_fini(struct number_table *t)
{
    free(t->slot);
    free(t->count);
    free(t->offset);
    bytes_fini(&t->text);
}

static bool slot_is(const struct number_table *t, const struct index_slot *s, const struct key *k,
                    struct span word)
{
    return s->head == k->head && s->rest == k->rest && s->len == word.len &&
           (word.len <= KEY_WHOLE || memcmp(t->text.at + t->offset[s->id], word.at, word.len) == 0);
}

static struct index_slot *find_slot(const struct number_table *t, const struct key *k,
                                    struct span word)
{
    size_t i = k->hash & (t->slots - 1);

    while (t->slot[i].id != SHOAL_NO_ID && !slot_is(t, &t->slot[i], k, word))
        i = (i + 1) & (t->slots - 1);
    return &t->slot[i];
}

static struct span number_word(const struct number_table *t, size_t id)
{
    uint64_t end = id + 1 < t->n ? t->offset[id + 1] : t->text.len;

    return (struct span){t->text.at + t->offset[id], (uint32_t)(end - t->offset[id])};
}

static shoal_status grow_slots(struct number_table *t)
{
    struct number_table old = *t;

    t->slots = old.slots > 0 ? 2 * old.slots : 1024;
    t->slot = mem_array(t->slots, sizeof *t->slot);
    if (!t->slot) {
        *t = old;
        return SHOAL_ENOMEM;
    }
    for (size_t i = 0; i < t->slots; i++)
        t->slot[i].id = SHOAL_NO_ID;
    for (size_t i = 0; i < old.slots; i++)
        if (old.slot[i].id != SHOAL_NO_ID) {
            struct span word = number_word(t, old.slot[i].id);
            struct key k = word_key_of(word.at, word.len);

            *find_slot(t, &k, word) = old.slot[i];
        }
    free(old.slot);
    return SHOAL_OK;
}

static shoal_status add_word(struct number_table *t, struct span word, const struct key *k,
                             struct index_slot *slot)
{
    size_t cap = t->cap;
    shoal_status st = bytes_reserve(&t->text, word.len + KEY_PAD);

    if (st == SHOAL_OK && t->n == VOCAB_MAX)
        st = shoal_fail(SHOAL_ELIMIT, "text: found over %u different words, want at most that",
                        VOCAB_MAX);
    if (st == SHOAL_OK)
        st = mem_grow(&t->count, &cap, t->n + 1, sizeof *t->count);
    if (st == SHOAL_OK)
        st = mem_grow(&t->offset, &t->cap, t->n + 1, sizeof *t->offset);
    if (st != SHOAL_OK)
        return st;
    *slot = (struct index_slot){k->head, k->rest, (uint32_t)t->n, word.len};
    t->offset[t->n] = t->text.len;
    t->count[t->n++] = 0;
    return bytes_add(&t->text, word.at, word.len);
}

/* The number of a word, which is a new one where it has none; KEY_PAD bytes behind it may be
 * read. */
static shoal_status number_of(struct number_table *t, struct span word, uint64_t times,
                              uint32_t *out)
{
    struct key k = word_key_of(word.at, word.len);
    shoal_status st = 2 * (t->n + 1) > t->slots ? grow_slots(t) : SHOAL_OK;
    struct index_slot *slot;

    if (st != SHOAL_OK)
        return st;
    slot = find_slot(t, &k, word);
    if (slot->id == SHOAL_NO_ID)
        st = add_word(t, word, &k, slot);
    if (st != SHOAL_OK)
        return st;
    *out = slot->id;
    t->count[*out] += times;
    return SHOAL_OK;
}

/* ---- blocks become pieces ---- */

struct piece {
    uint64_t seq;
    struct reader *by;
    uint32_t *at;
    size_t n, cap;
    uint64_t lines, types, labels; /* that are kept */
};

struct reader {
    struct reading *all;
    struct number_table words, labels;
    struct piece *piece;
    size_t pieces, cap;
    struct bytes labelled; /* the labels of the line, numbers */
    uint32_t line_words, line_labels;
    uint64_t lines, long_words;
    uint32_t *word_id, *label_id; /* [n] what the numbers become; SHOAL_NO_ID: nothing */
};

struct reading {
    struct line_text *text;
    const struct line_reading *how;
    struct reader *reader; /* [threads] */
    unsigned threads;
    struct piece **order; /* [pieces] by seq */
    size_t pieces;
    struct shoal_labelled *out;
};

static shoal_status put_number(struct piece *p, uint32_t number)
{
    shoal_status st = mem_grow(&p->at, &p->cap, p->n + 1, sizeof *p->at);

    if (st == SHOAL_OK)
        p->at[p->n++] = number;
    return st;
}

static shoal_status read_word(void *ctx, struct span token)
{
    struct reader *r = ctx;
    uint32_t number;
    shoal_status st;

    if (token.len > SHOAL_WORD_MAX) {
        r->long_words++;
        return SHOAL_OK;
    }
    st = number_of(&r->words, token, 1, &number);
    r->line_words++;
    return st == SHOAL_OK ? put_number(&r->piece[r->pieces - 1], number) : st;
}

static shoal_status read_label(void *ctx, struct span token)
{
    struct reader *r = ctx;
    uint32_t number;
    shoal_status st;

    if (token.len > SHOAL_WORD_MAX) {
        r->long_words++;
        return SHOAL_OK;
    }
    st = number_of(&r->labels, token, 1, &number);
    r->line_labels++;
    return st == SHOAL_OK ? bytes_add(&r->labelled, &number, sizeof number) : st;
}

static shoal_status read_line(struct reader *r, struct line_walk *walk, bool *more)
{
    static const char end[KEY_PAD + sizeof LINE_END] = LINE_END;
    struct token_sink sink = {read_word, read_label, r};
    struct piece *p = &r->piece[r->pieces - 1];
    size_t head = p->n;
    shoal_status st = put_number(p, 0);

    if (st == SHOAL_OK)
        st = put_number(p, 0);
    r->line_words = r->line_labels = 0;
    r->labelled.len = 0;
    if (st == SHOAL_OK)
        st = line_walk_next(walk, &sink, more);
    if (st != SHOAL_OK)
        return st;
    if (!*more) {
        p->n = head;
        return SHOAL_OK;
    }
    st = read_word(r, (struct span){end, sizeof LINE_END - 1});
    if (st == SHOAL_OK)
        st = mem_grow(&p->at, &p->cap, p->n + r->line_labels, sizeof *p->at);
    if (st != SHOAL_OK)
        return st;
    if (r->line_labels > 0)
        memcpy(p->at + p->n, r->labelled.at, r->labelled.len);
    p->n += r->line_labels;
    p->at[head] = r->line_words;
    p->at[head + 1] = r->line_labels;
    r->lines++;
    return SHOAL_OK;
}

static shoal_status read_block(struct reader *r, struct line_walk *walk, const struct line_block *b)
{
    shoal_status st = mem_grow(&r->piece, &r->cap, r->pieces + 1, sizeof *r->piece);
    bool more = true;

    if (st != SHOAL_OK)
        return st;
    r->piece[r->pieces++] = (struct piece){.seq = b->seq, .by = r};
    line_walk_begin(walk, r->all->how, b);
    while (st == SHOAL_OK && more)
        st = read_line(r, walk, &more);
    return st;
}

static shoal_status read_thread(void *ctx, unsigned index)
{
    struct reading *all = ctx;
    struct reader *r = &all->reader[index];
    struct line_walk walk = {0};
    struct line_block block = {0};
    bool more = true;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && more) {
        st = line_text_next(all->text, &block, &more);
        if (st == SHOAL_OK && more)
            st = read_block(r, &walk, &block);
    }
    if (st != SHOAL_OK)
        line_text_stop(all->text);
    line_walk_fini(&walk);
    bytes_fini(&block.text);
    return st;
}

/* ---- tables become one ---- */

static int by_count_then_bytes(const void *a, const void *b, void *table)
{
    const struct number_table *t = table;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    if (t->count[x] != t->count[y])
        return t->count[x] < t->count[y] ? 1 : -1;
    return span_compare(number_word(t, x), number_word(t, y));
}

/* The vocabulary of the first n of `order`. */
static shoal_status make_vocab(shoal_vocab **out, const struct number_table *t,
                               const uint32_t *order, size_t n)
{
    size_t bytes = 0;
    shoal_status st;

    for (size_t i = 0; i < n; i++)
        bytes += number_word(t, order[i]).len;
    st = vocab_new(out, n, bytes);
    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        struct span word = number_word(t, order[i]);

        vocab_append(*out, word.at, word.len, t->count[order[i]]);
    }
    return st;
}

/* Commonest first; those below `least` are not in it, unless they are `all` kept. *many: how many
 * are not below. number [t->n] gets the id of each. */
static shoal_status settle_table(shoal_vocab **out, const struct number_table *t, uint64_t least,
                                 bool all, size_t *many, uint32_t *number)
{
    uint32_t *order = mem_array(t->n + 1, sizeof *order);
    size_t kept;
    shoal_status st = order ? SHOAL_OK : SHOAL_ENOMEM;

    if (st != SHOAL_OK)
        return st;
    for (size_t i = 0; i < t->n; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, t->n, sizeof *order, by_count_then_bytes, (void *)(uintptr_t)t);
    for (*many = 0; *many < t->n && t->count[order[*many]] >= least;)
        ++*many;
    kept = all ? t->n : *many;
    for (size_t i = 0; i < t->n; i++)
        number[order[i]] = i < kept ? (uint32_t)i : SHOAL_NO_ID;
    st = make_vocab(out, t, order, kept);
    free(order);
    return st;
}

/* Those of another thread's table, added to this one: to [from->n] gets their numbers. */
static shoal_status join_table(struct number_table *into, const struct number_table *from,
                               uint32_t *to)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < from->n && st == SHOAL_OK; i++)
        st = number_of(into, number_word(from, i), from->count[i], &to[i]);
    return st;
}

/* The words, or the labels, of all threads: of each its numbers become ids. */
static shoal_status settle_all(struct reading *all, bool words, shoal_vocab **out, uint64_t least,
                               size_t *many)
{
    struct number_table sum = {0};
    uint32_t *id = NULL;
    shoal_status st = SHOAL_OK;

    for (unsigned i = 0; i < all->threads && st == SHOAL_OK; i++) {
        struct reader *r = &all->reader[i];
        struct number_table *t = words ? &r->words : &r->labels;
        uint32_t **to = words ? &r->word_id : &r->label_id;

        *to = mem_array(t->n + 1, sizeof **to);
        st = *to ? join_table(&sum, t, *to) : SHOAL_ENOMEM;
    }
    if (st == SHOAL_OK)
        st = (id = mem_array(sum.n + 1, sizeof *id)) ? SHOAL_OK : SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        st = settle_table(out, &sum, least, words, many, id);
    for (unsigned i = 0; i < all->threads && st == SHOAL_OK; i++) {
        struct reader *r = &all->reader[i];
        size_t n = words ? r->words.n : r->labels.n;
        uint32_t *to = words ? r->word_id : r->label_id;

        for (size_t k = 0; k < n; k++)
            to[k] = id[to[k]];
    }
    free(id);
    number_table_fini(&sum);
    return st;
}

/* Labels that a model has; others count as none. */
static shoal_status find_labels(struct reading *all, const shoal_vocab *labels)
{
    for (unsigned i = 0; i < all->threads; i++) {
        struct reader *r = &all->reader[i];

        r->label_id = mem_array(r->labels.n + 1, sizeof *r->label_id);
        if (!r->label_id)
            return SHOAL_ENOMEM;
        for (size_t k = 0; k < r->labels.n; k++) {
            struct span name = number_word(&r->labels, k);

            r->label_id[k] = shoal_vocab_find(labels, name.at, name.len);
        }
    }
    return SHOAL_OK;
}

/* ---- pieces become arrays ---- */

/* Labels of a line that count, moved to its front; gives how many. */
static uint32_t keep_labels(const struct reader *r, uint32_t *label, uint32_t n)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < n; i++)
        if (r->label_id[label[i]] != SHOAL_NO_ID)
            label[kept++] = r->label_id[label[i]];
    return kept;
}

static void settle_piece(struct piece *p)
{
    for (size_t i = 0; i < p->n;) {
        uint32_t types = p->at[i], labels = p->at[i + 1], *label = p->at + i + 2 + types;
        uint32_t kept = keep_labels(p->by, label, labels);

        if (kept > 0) {
            p->lines++;
            p->types += types;
            p->labels += kept;
        }
        for (uint32_t k = kept; k < labels; k++)
            label[k] = SHOAL_NO_ID;
        i += 2 + (size_t)types + labels;
    }
}

/* Where a piece's part of the arrays begins. */
struct place {
    uint64_t line, type, label;
};

static void write_piece(const struct piece *p, struct shoal_labelled *l, struct place at)
{
    uint64_t *start = (uint64_t *)(uintptr_t)l->start;
    uint64_t *label_start = (uint64_t *)(uintptr_t)l->label_start;
    uint32_t *type = (uint32_t *)(uintptr_t)l->type, *label = (uint32_t *)(uintptr_t)l->label;

    for (size_t i = 0; i < p->n;) {
        uint32_t types = p->at[i], labels = p->at[i + 1];
        const uint32_t *from = p->at + i + 2;

        i += 2 + (size_t)types + labels;
        if (labels == 0 || from[types] == SHOAL_NO_ID)
            continue;
        start[at.line] = at.type;
        label_start[at.line++] = at.label;
        for (uint32_t k = 0; k < types; k++)
            type[at.type++] = p->by->word_id[from[k]];
        for (uint32_t k = 0; k < labels && from[types + k] != SHOAL_NO_ID; k++)
            label[at.label++] = from[types + k];
    }
}

struct writing {
    const struct reading *all;
    const struct place *place; /* [pieces] */
    unsigned threads;
};

static shoal_status settle_thread(void *ctx, unsigned index)
{
    const struct reading *all = ctx;

    for (size_t i = index; i < all->pieces; i += all->threads)
        settle_piece(all->order[i]);
    return SHOAL_OK;
}

static shoal_status write_thread(void *ctx, unsigned index)
{
    const struct writing *w = ctx;

    for (size_t i = index; i < w->all->pieces; i += w->threads)
        write_piece(w->all->order[i], w->all->out, w->place[i]);
    return SHOAL_OK;
}

static int by_seq(const void *a, const void *b)
{
    const struct piece *x = *(struct piece *const *)a, *y = *(struct piece *const *)b;

    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static shoal_status order_pieces(struct reading *all)
{
    for (unsigned i = 0; i < all->threads; i++)
        all->pieces += all->reader[i].pieces;
    all->order = mem_array(all->pieces + 1, sizeof(struct piece *));
    if (!all->order)
        return SHOAL_ENOMEM;
    all->pieces = 0;
    for (unsigned i = 0; i < all->threads; i++)
        for (size_t k = 0; k < all->reader[i].pieces; k++)
            all->order[all->pieces++] = &all->reader[i].piece[k];
    qsort(all->order, all->pieces, sizeof(struct piece *), by_seq);
    return SHOAL_OK;
}

static shoal_status make_arrays(struct shoal_labelled *l, const struct place *sum)
{
    uint64_t *start, *label_start;

    l->lines = (size_t)sum->line;
    l->start = start = mem_array(l->lines + 1, sizeof *l->start);
    l->label_start = label_start = mem_array(l->lines + 1, sizeof *l->label_start);
    l->type = mem_array((size_t)sum->type + 1, sizeof *l->type);
    l->label = mem_array((size_t)sum->label + 1, sizeof *l->label);
    if (!start || !label_start || !l->type || !l->label)
        return SHOAL_ENOMEM;
    start[l->lines] = sum->type;
    label_start[l->lines] = sum->label;
    return SHOAL_OK;
}

static shoal_status write_all(struct reading *all)
{
    struct place *place, sum = {0};
    shoal_status st = order_pieces(all);

    if (st == SHOAL_OK)
        st = pool_run(all->threads, settle_thread, all);
    place = st == SHOAL_OK ? mem_array(all->pieces + 1, sizeof *place) : NULL;
    if (st == SHOAL_OK && !place)
        st = SHOAL_ENOMEM;
    for (size_t i = 0; i < all->pieces && st == SHOAL_OK; i++) {
        place[i] = sum;
        sum.line += all->order[i]->lines;
        sum.type += all->order[i]->types;
        sum.label += all->order[i]->labels;
    }
    if (st == SHOAL_OK)
        st = make_arrays(all->out, &sum);
    if (st == SHOAL_OK)
        st = pool_run(all->threads, write_thread, &(struct writing){all, place, all->threads});
    free(place);
    return st;
}

/* ---- all of it ---- */

static void reading_fini(struct reading *all)
{
    for (unsigned i = 0; all->reader && i < all->threads; i++) {
        struct reader *r = &all->reader[i];

        for (size_t k = 0; k < r->pieces; k++)
            free(r->piece[k].at);
        free(r->piece);
        number_table_fini(&r->words);
        number_table_fini(&r->labels);
        bytes_fini(&r->labelled);
        free(r->word_id);
        free(r->label_id);
    }
    free(all->reader);
    free(all->order);
    line_text_close(all->text);
}

static shoal_status read_all(struct reading *all, const struct inputs *in,
                             const struct shoal_labelled_opts *opts)
{
    shoal_status st;

    all->threads = pool_threads(opts->threads);
    all->reader = mem_array(all->threads, sizeof *all->reader);
    if (!all->reader)
        return SHOAL_ENOMEM;
    for (unsigned i = 0; i < all->threads; i++)
        all->reader[i].all = all;
    st = line_text_open(&all->text, in, all->how, false, &opts->watch);
    if (st == SHOAL_OK)
        st = pool_run(all->threads, read_thread, all);
    return st == SHOAL_OK ? line_text_end(all->text) : st;
}

static shoal_status settle(struct reading *all, const struct shoal_labelled_opts *opts,
                           const struct labelled_like *like, struct shoal_labelled_stats *stats)
{
    struct shoal_labelled *l = all->out;
    size_t labels = 0;
    shoal_status st;

    st = settle_all(all, true, &l->types, like ? UINT64_MAX : opts->min_count, &l->words);
    if (st == SHOAL_OK && like) {
        st = find_labels(all, like->labels);
        if (st == SHOAL_OK)
            st = vocab_copy(&l->labels, like->labels);
    } else if (st == SHOAL_OK) {
        st = settle_all(all, false, &l->labels, opts->min_count_label, &labels);
    }
    if (st == SHOAL_OK)
        st = write_all(all);
    for (unsigned i = 0; i < all->threads; i++) {
        stats->lines += all->reader[i].lines;
        stats->long_words += all->reader[i].long_words;
    }
    stats->bytes = line_text_bytes(all->text);
    return st;
}

static void count_stats(const struct shoal_labelled *l, struct shoal_labelled_stats *stats)
{
    stats->unlabelled = stats->lines - l->lines;
    stats->tokens = l->start[l->lines];
    stats->types = shoal_vocab_size(l->types);
    stats->words = l->words;
    stats->labels = shoal_vocab_size(l->labels);
}

static shoal_status check_found(const struct shoal_labelled *l, const char *name,
                                const struct shoal_labelled_stats *stats)
{
    if (l->lines > 0)
        return SHOAL_OK;
    if (stats->lines == 0)
        return shoal_fail(SHOAL_EINVAL, "%s: found no line, want lines with labels", name);
    if (l->reading.text)
        return shoal_fail(SHOAL_EINVAL, "%s: found no label in column %s of %llu rows, want one in "
                          "each", name, l->reading.label, (unsigned long long)stats->lines);
    return shoal_fail(SHOAL_EINVAL, "%s: found no label in %llu lines, want a word that begins with "
                      "%s in each", name, (unsigned long long)stats->lines, l->reading.prefix);
}

shoal_status labelled_read(shoal_labelled **out, const struct sources *from,
                           const struct shoal_labelled_opts *opts, const struct labelled_like *like,
                           struct shoal_labelled_stats *stats)
{
    struct shoal_labelled *l = mem_array(1, sizeof *l);
    struct reading all = {.out = l};
    struct inputs in = {0};
    struct shoal_labelled_stats found = {0};
    shoal_status st = l ? inputs_open(&in, from) : SHOAL_ENOMEM;

    *out = NULL;
    if (st == SHOAL_OK)
        st = like ? line_reading_copy(&l->reading, like->reading)
                  : line_reading_make(&l->reading, opts);
    all.how = l ? &l->reading : NULL;
    if (st == SHOAL_OK)
        st = read_all(&all, &in, opts);
    if (st == SHOAL_OK)
        st = settle(&all, opts, like, &found);
    if (st == SHOAL_OK)
        st = check_found(l, input_name(&in.at[0]), &found);
    if (st == SHOAL_OK)
        count_stats(l, &found);
    reading_fini(&all);
    inputs_fini(&in);
    if (st == SHOAL_OK && stats)
        *stats = found;
    if (st == SHOAL_OK)
        *out = l;
    else
        shoal_labelled_close(l);
    return st;
}

shoal_status shoal_labelled_read(shoal_labelled **out, const char *const *paths, size_t n,
                                 const struct shoal_labelled_opts *opts,
                                 struct shoal_labelled_stats *stats)
{
    return labelled_read(out, &(struct sources){.paths = paths, .n = n}, opts, NULL, stats);
}

shoal_status shoal_labelled_read_memory(shoal_labelled **out, const struct shoal_memory *blocks,
                                        size_t n, const struct shoal_labelled_opts *opts,
                                        struct shoal_labelled_stats *stats)
{
    return labelled_read(out, &(struct sources){.blocks = blocks, .n = n}, opts, NULL, stats);
}

struct shoal_labelled_opts shoal_labelled_default(void)
{
    return (struct shoal_labelled_opts){.label_prefix = "__label__", .min_count = 1};
}

size_t shoal_labelled_lines(const shoal_labelled *l)
{
    return l->lines;
}
