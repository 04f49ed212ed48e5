/* Counting words in bounded memory.
 *
 * A counter is a hash table of 32-byte slots, open addressing with linear probing, at most
 * 5/8 full:
 *
 *     | head | rest (the first 16 bytes) | count | offset, len |
 *
 * A word of at most 16 bytes is all in its slot; a longer one lies in the arena.
 *
 * A table that may not grow any more is spilled, as in an external merge sort:
 *
 *     table --sorted by bytes--> | run 0 | run 1 | run 2 |    in one unnamed file (a spool);
 *                                    \       |       /        the table is then empty
 *                                     heap of cursors, the first word on top
 *                                            |
 *                                  word, the sum of its counts
 *
 * Why the sums are exact: a run is sorted and has a word at most once, so the merge meets
 * all parts of a word's count one after the other, whatever spilled when. When nothing was
 * spilled the tables are added up in memory instead.
 *
 * Why little memory is enough: only the words that are kept must fit. tallies_fit drops the
 * rarest by raising the floor, the least count that is kept. The floor it ends with is the
 * least that lets all words at or above it fit: those seen so far are a part of them, so
 * no step raises it further. It therefore depends on the sums alone, neither on the order
 * of the words nor on who counted them. */
#include "text/text.h"

#include <stdlib.h>

struct slot {
    uint64_t head, rest, count; /* struct key */
    uint32_t offset, len; /* len 0: empty */
};

struct run {
    uint64_t begin, end; /* in the counter's spool */
};

struct counter {
    struct slot *slots;
    size_t size, used; /* a power of two; words in it */
    struct bytes arena;
    uint64_t memory;
    const char *tmp_dir;
    struct spool spool;
    struct run *runs;
    size_t nruns, runs_cap;
};

#define SLOTS_FIRST ((size_t)1 << 12)

shoal_status counter_new(struct counter **out, uint64_t memory, const char *tmp_dir)
{
    struct counter *c = mem_array(1, sizeof *c);

    *out = NULL;
    if (!c)
        return SHOAL_ENOMEM;
    *c = (struct counter){.size = SLOTS_FIRST, .tmp_dir = tmp_dir, .spool = SPOOL_NONE};
    c->memory = memory < UINT32_MAX ? memory : UINT32_MAX; /* arena offsets are 32 bits */
    c->slots = mem_array(c->size, sizeof *c->slots);
    if (!c->slots) {
        free(c);
        return SHOAL_ENOMEM;
    }
    *out = c;
    return SHOAL_OK;
}

void counter_free(struct counter *c)
{
    if (!c)
        return;
    spool_close(&c->spool);
    free(c->slots);
    bytes_fini(&c->arena);
    free(c->runs);
    free(c);
}

uint64_t counter_spilled(const struct counter *c)
{
    return c->spool.size;
}

static const char *slot_word(const struct counter *c, const struct slot *s)
{
    return s->len <= KEY_WHOLE ? (const char *)s : c->arena.at + s->offset;
}

static struct span slot_span(const struct counter *c, const struct slot *s)
{
    return (struct span){slot_word(c, s), s->len};
}

static bool slot_is(const struct counter *c, const struct slot *s, const struct key *k,
                    const char *at, uint32_t len)
{
    return s->head == k->head && s->rest == k->rest && s->len == len &&
           (len <= KEY_WHOLE || memcmp(c->arena.at + s->offset, at, len) == 0);
}

/* The slot of the word, or the empty one where it belongs. */
static struct slot *find_slot(struct counter *c, const struct key *k, const char *at, uint32_t len)
{
    size_t i = k->hash & (c->size - 1);

    while (c->slots[i].len != 0 && !slot_is(c, &c->slots[i], k, at, len))
        i = (i + 1) & (c->size - 1);
    return &c->slots[i];
}

static shoal_status resize(struct counter *c, size_t size)
{
    struct slot *old = c->slots;
    size_t old_size = c->size;
    struct slot *slots = mem_array(size, sizeof *slots);

    if (!slots)
        return SHOAL_ENOMEM;
    c->slots = slots;
    c->size = size;
    for (size_t j = 0; j < old_size; j++) {
        size_t i;

        if (old[j].len == 0)
            continue;
        i = word_key_of(slot_word(c, &old[j]), old[j].len).hash & (size - 1);
        while (slots[i].len != 0)
            i = (i + 1) & (size - 1);
        slots[i] = old[j];
    }
    free(old);
    return SHOAL_OK;
}

/* ---- spilling ---- */

int span_compare(struct span a, struct span b)
{
    int order = memcmp(a.at, b.at, a.len < b.len ? a.len : b.len);

    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_slots(const void *a, const void *b, void *ctx)
{
    return span_compare(slot_span(ctx, a), slot_span(ctx, b));
}

shoal_status count_record_add(struct bytes *b, struct span word, uint64_t count)
{
    struct count_record r = {count, word.len};
    shoal_status st = bytes_add(b, &r, sizeof r);

    return st == SHOAL_OK ? bytes_add(b, word.at, word.len) : st;
}

static shoal_status spool_flush(struct counter *c, struct bytes *out)
{
    shoal_status st = spool_add(&c->spool, out->at, out->len, "counts");

    out->len = 0;
    return st;
}

static shoal_status write_run(struct counter *c, const struct slot *slots, size_t n)
{
    struct bytes out = {0};
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        st = count_record_add(&out, slot_span(c, &slots[i]), slots[i].count);
        if (st == SHOAL_OK && out.len >= ((size_t)1 << 16))
            st = spool_flush(c, &out);
    }
    if (st == SHOAL_OK)
        st = spool_flush(c, &out);
    bytes_fini(&out);
    return st;
}

/* Sorts the table in place, writes it and leaves it empty. */
static shoal_status spill(struct counter *c)
{
    uint64_t begin = c->spool.size;
    size_t n = 0;
    shoal_status st = mem_grow(&c->runs, &c->runs_cap, c->nruns + 1, sizeof *c->runs);

    if (st == SHOAL_OK && c->spool.fd < 0)
        st = spool_open(&c->spool, c->tmp_dir);
    if (st != SHOAL_OK)
        return st;
    for (size_t i = 0; i < c->size; i++)
        if (c->slots[i].len != 0)
            c->slots[n++] = c->slots[i];
    qsort_r(c->slots, n, sizeof *c->slots, compare_slots, c);
    st = write_run(c, c->slots, n);
    c->runs[c->nruns++] = (struct run){begin, c->spool.size};
    memset(c->slots, 0, c->size * sizeof *c->slots);
    c->used = 0;
    c->arena.len = 0;
    return st;
}

/* Room for one word more: a larger table if memory allows, else an empty one. While a table
 * grows, the old one and the new one, of twice its size, are both there. */
static shoal_status make_room(struct counter *c, uint32_t len)
{
    uint64_t grown = 3 * c->size * sizeof(struct slot) + c->arena.cap;
    uint64_t arena = c->arena.len + len + KEY_PAD > c->arena.cap ? c->arena.cap / 2 * 3 + len : 0;

    if (c->used > 0 && c->size * sizeof(struct slot) + arena > c->memory)
        return spill(c);
    if (c->used < c->size / 8 * 5)
        return SHOAL_OK;
    return grown <= c->memory ? resize(c, c->size * 2) : spill(c);
}

static shoal_status insert(struct counter *c, const struct key *k, const char *at, uint32_t len,
                           uint64_t count)
{
    struct slot *s;
    shoal_status st = make_room(c, len > KEY_WHOLE ? len : 0);

    if (st == SHOAL_OK && len > KEY_WHOLE)
        st = bytes_reserve(&c->arena, len + KEY_PAD);
    if (st != SHOAL_OK)
        return st;
    s = find_slot(c, k, at, len); /* the table may be another one now */
    *s = (struct slot){k->head, k->rest, count, (uint32_t)c->arena.len, len};
    c->used++;
    return len > KEY_WHOLE ? bytes_add(&c->arena, at, len) : SHOAL_OK;
}

static shoal_status count_one(struct counter *c, const struct key *k, const char *at, uint32_t len,
                              uint64_t count)
{
    struct slot *s = find_slot(c, k, at, len);

    if (s->len != 0) {
        s->count += count;
        return SHOAL_OK;
    }
    return insert(c, k, at, len, count);
}

/* The keys of a batch first, and their slots prefetched: else every word would wait for a
 * cache miss. */
shoal_status counter_add(struct counter *c, const struct span *words, size_t n)
{
    enum { BATCH = 64 };
    struct key keys[BATCH];
    shoal_status st = SHOAL_OK;

    for (size_t done = 0; done < n; done += BATCH) {
        size_t m = n - done < BATCH ? n - done : BATCH;

        for (size_t i = 0; i < m; i++) {
            keys[i] = word_key_of(words[done + i].at, words[done + i].len);
            __builtin_prefetch(&c->slots[keys[i].hash & (c->size - 1)]);
        }
        for (size_t i = 0; i < m && st == SHOAL_OK; i++)
            if (words[done + i].len > 0)
                st = count_one(c, &keys[i], words[done + i].at, words[done + i].len, 1);
    }
    return st;
}

shoal_status counter_add_times(struct counter *c, struct span word, uint64_t count)
{
    struct key k = word_key_of(word.at, word.len);

    return count_one(c, &k, word.at, word.len, count);
}

/* ---- merging ---- */

void tallies_fini(struct tallies *t)
{
    free(t->at);
    bytes_fini(&t->arena);
    *t = (struct tallies){0};
}

static uint64_t tallies_bytes(const struct tallies *t)
{
    return t->len * sizeof *t->at + t->arena.len;
}

void tallies_fit(struct tallies *t, uint64_t memory)
{
    while (tallies_bytes(t) > memory) {
        size_t n = 0, used = 0;

        t->floor++;
        for (size_t i = 0; i < t->len; i++) {
            struct tally e = t->at[i];

            if (e.count < t->floor)
                continue;
            memmove(t->arena.at + used, t->arena.at + e.offset, e.len);
            e.offset = used;
            used += e.len;
            t->at[n++] = e;
        }
        t->len = n;
        t->arena.len = used;
    }
}

shoal_status tallies_add(struct tallies *t, struct span word, uint64_t count)
{
    shoal_status st;

    t->types++;
    if (count < t->floor)
        return SHOAL_OK;
    st = mem_grow(&t->at, &t->cap, t->len + 1, sizeof *t->at);
    if (st != SHOAL_OK)
        return st;
    t->at[t->len++] = (struct tally){count, t->arena.len, word.len};
    return bytes_add(&t->arena, word.at, word.len);
}

/* Reads one run in order. */
struct cursor {
    const struct counter *counter;
    uint64_t at, end; /* of what is still in the file */
    struct bytes buf;
    size_t pos, chunk;
    struct count_record record;
};

static shoal_status cursor_need(struct cursor *u, size_t need)
{
    shoal_status st;

    if (u->buf.len - u->pos >= need)
        return SHOAL_OK;
    if (u->pos > 0)
        memmove(u->buf.at, u->buf.at + u->pos, u->buf.len - u->pos);
    u->buf.len -= u->pos;
    u->pos = 0;
    st = bytes_reserve(&u->buf, need > u->chunk ? need : u->chunk);
    if (st == SHOAL_OK) {
        uint64_t left = u->end - u->at, room = u->buf.cap - u->buf.len;
        size_t want = (size_t)(left < room ? left : room);

        st = spool_read(&u->counter->spool, u->at, u->buf.at + u->buf.len, want, "counts");
        u->at += want;
        u->buf.len += want;
    }
    if (st == SHOAL_OK && u->buf.len < need)
        st = shoal_fail(SHOAL_EIO, "spool: counts end within one");
    return st;
}

static bool cursor_done(const struct cursor *u)
{
    return u->record.len == 0;
}

static struct span cursor_word(const struct cursor *u)
{
    return (struct span){u->buf.at + u->pos - u->record.len, u->record.len};
}

static shoal_status cursor_next(struct cursor *u)
{
    shoal_status st;

    u->record.len = 0;
    if (u->at == u->end && u->pos == u->buf.len)
        return SHOAL_OK;
    st = cursor_need(u, sizeof u->record);
    if (st != SHOAL_OK)
        return st;
    memcpy(&u->record, u->buf.at + u->pos, sizeof u->record);
    u->pos += sizeof u->record;
    st = cursor_need(u, u->record.len);
    u->pos += u->record.len;
    return st;
}

static bool cursor_before(const struct cursor *a, const struct cursor *b)
{
    if (cursor_done(a) || cursor_done(b))
        return !cursor_done(a);
    return span_compare(cursor_word(a), cursor_word(b)) < 0;
}

/* A binary heap: heap[0] is the cursor with the first word by bytes. Moves heap[i] down to
 * where it belongs; cursors at their end sink to the bottom. */
static void sift(struct cursor **heap, size_t n, size_t i)
{
    for (;;) {
        size_t best = i;

        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
            if (cursor_before(heap[child], heap[best]))
                best = child;
        if (best == i)
            return;
        struct cursor *swap = heap[i];
        heap[i] = heap[best];
        heap[best] = swap;
        i = best;
    }
}

/* Takes the first word of all runs, and while it is the first its counts. The word is
 * copied, for cursor_next may move what it points at. */
static shoal_status merge_heap(struct tallies *out, struct cursor **heap, size_t n,
                               uint64_t memory)
{
    struct bytes word = {0};
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && !cursor_done(heap[0])) {
        struct span next = cursor_word(heap[0]);
        uint64_t sum = 0;

        word.len = 0;
        st = bytes_add(&word, next.at, next.len);
        next.at = word.at;
        while (st == SHOAL_OK && !cursor_done(heap[0]) &&
               span_compare(cursor_word(heap[0]), next) == 0) {
            sum += heap[0]->record.count;
            st = cursor_next(heap[0]);
            sift(heap, n, 0);
        }
        if (st == SHOAL_OK)
            st = tallies_add(out, next, sum);
        if (st == SHOAL_OK)
            tallies_fit(out, memory);
    }
    bytes_fini(&word);
    return st;
}

/* Opens a cursor for each run; their buffers together stay within `memory`. */
static shoal_status open_cursors(struct cursor *cursors, struct cursor **heap,
                                 struct counter **counters, size_t n, size_t runs, uint64_t memory)
{
    size_t k = 0;
    uint64_t chunk = memory / (runs ? runs : 1);
    shoal_status st = SHOAL_OK;

    chunk = chunk < 4096 ? 4096 : chunk > (1 << 18) ? 1 << 18 : chunk;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < counters[i]->nruns && st == SHOAL_OK; j++, k++) {
            const struct run *r = &counters[i]->runs[j];

            cursors[k] = (struct cursor){.counter = counters[i], .at = r->begin, .end = r->end,
                                         .chunk = (size_t)chunk};
            heap[k] = &cursors[k];
            st = cursor_next(&cursors[k]);
        }
    for (size_t i = k / 2; i-- > 0 && st == SHOAL_OK;)
        sift(heap, k, i);
    return st;
}

static shoal_status merge_runs(struct tallies *out, struct counter **counters, size_t n,
                               uint64_t memory)
{
    struct cursor *cursors = NULL, **heap = NULL;
    size_t runs = 0;
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        st = spill(counters[i]);
        runs += counters[i]->nruns;
        out->spilled += counters[i]->spool.size;
    }
    if (st == SHOAL_OK) {
        cursors = mem_array(runs, sizeof *cursors);
        heap = mem_array(runs, sizeof *heap);
        st = cursors && heap ? SHOAL_OK : SHOAL_ENOMEM;
    }
    if (st == SHOAL_OK)
        st = open_cursors(cursors, heap, counters, n, runs, memory / 4);
    if (st == SHOAL_OK)
        st = merge_heap(out, heap, runs, memory);
    for (size_t i = 0; cursors && i < runs; i++)
        bytes_fini(&cursors[i].buf);
    free(cursors);
    free(heap);
    return st;
}

/* Everything is in memory: adds the other tables into the first, which may outgrow the
 * memory of one counter. */
static shoal_status merge_tables(struct tallies *out, struct counter **counters, size_t n,
                                 uint64_t memory)
{
    struct counter *all = counters[0];
    shoal_status st = SHOAL_OK;

    all->memory = UINT32_MAX;
    for (size_t i = 1; i < n && st == SHOAL_OK; i++) {
        struct counter *c = counters[i];

        /* Room first: the words of a table come in the order of their hashes. Put into a
         * smaller table in that order they would form one long cluster, and linear probing
         * would take quadratic time. */
        while (st == SHOAL_OK && all->used + c->used > all->size / 8 * 5)
            st = resize(all, all->size * 2);
        for (size_t j = 0; j < c->size && st == SHOAL_OK; j++) {
            const struct slot *s = &c->slots[j];
            struct key k;

            if (s->len == 0)
                continue;
            k = word_key_of(slot_word(c, s), s->len);
            st = count_one(all, &k, slot_word(c, s), s->len, s->count);
        }
    }
    if (st == SHOAL_OK && all->nruns > 0) /* over 4 GiB of words after all */
        return merge_runs(out, counters, 1, memory);
    for (size_t j = 0; j < all->size && st == SHOAL_OK; j++)
        if (all->slots[j].len != 0)
            st = tallies_add(out, slot_span(all, &all->slots[j]), all->slots[j].count);
    return st;
}

shoal_status counter_merge(struct tallies *out, struct counter **counters, size_t n,
                           uint64_t min_count, uint64_t memory)
{
    bool spilled = false;

    *out = (struct tallies){.floor = min_count};
    for (size_t i = 0; i < n; i++)
        spilled |= counters[i]->nruns > 0;
    return spilled ? merge_runs(out, counters, n, memory) : merge_tables(out, counters, n, memory);
}

/* ---- walking ---- */

struct counter_walk {
    const struct counter *counter;
    size_t run;  /* the next one */
    size_t seen; /* slots */
    struct cursor cursor;
};

/* An odd number, so that every slot comes once. Slots in their own order would be words in
 * the order of their hashes, which cluster in the table of who receives them. */
#define WALK_STEP ((size_t)RNG_STEP)

shoal_status counter_walk_new(struct counter_walk **out, const struct counter *c)
{
    *out = mem_array(1, sizeof **out);
    if (!*out)
        return SHOAL_ENOMEM;
    (*out)->counter = c;
    return SHOAL_OK;
}

void counter_walk_free(struct counter_walk *w)
{
    if (!w)
        return;
    bytes_fini(&w->cursor.buf);
    free(w);
}

/* The next word on disk, if there is one. */
static shoal_status walk_runs(struct counter_walk *w)
{
    const struct counter *c = w->counter;
    struct cursor *u = &w->cursor;
    shoal_status st = u->counter ? cursor_next(u) : SHOAL_OK;

    while (st == SHOAL_OK && cursor_done(u) && w->run < c->nruns) {
        const struct run *r = &c->runs[w->run++];

        *u = (struct cursor){.counter = c, .at = r->begin, .end = r->end, .chunk = 1 << 18,
                             .buf = {u->buf.at, 0, u->buf.cap}};
        st = cursor_next(u);
    }
    return st;
}

shoal_status counter_walk_next(struct counter_walk *w, struct span *word, uint64_t *count)
{
    const struct counter *c = w->counter;
    shoal_status st = walk_runs(w);

    *word = (struct span){0};
    *count = 0;
    if (st == SHOAL_OK && !cursor_done(&w->cursor)) {
        *word = cursor_word(&w->cursor);
        *count = w->cursor.record.count;
    }
    while (st == SHOAL_OK && word->len == 0 && w->seen < c->size) {
        const struct slot *s = &c->slots[w->seen++ * WALK_STEP & (c->size - 1)];

        *word = slot_span(c, s);
        *count = s->count;
    }
    return st;
}
