/* Vocabularies that come from elsewhere: copies, lists of words, sections of a
 * container. The index of a mapped one is a section of its own:
 *
 *     vocab.index   u32 [S], S a power of two, at least 2 V: ids, or SHOAL_NO_ID
 *
 * A word is looked for from slot hash & (S - 1) on, round the end, up to the
 * first empty slot. docs/formats.md has the hash. */
#include "text/vocab.h"

#include <stdlib.h>

#define RULES 3 /* numbers of `vocab.tokens`: tokens, bad bytes, emoji */

/* ---- words, whoever wrote the offsets ---- */

static bool is_sound(const shoal_vocab *v, uint64_t begin, uint64_t end)
{
    return begin < end && end <= v->arena.len && end - begin > 1 &&
           end - begin - 1 <= SHOAL_WORD_MAX && v->arena.at[end - 1] == '\0';
}

struct span vocab_span(const shoal_vocab *v, uint32_t id)
{
    uint64_t begin = v->offsets[id], end = v->offsets[id + 1];

    if (v->slots && !is_sound(v, begin, end))
        return (struct span){"", 0};
    return (struct span){v->arena.at + begin, (uint32_t)(end - begin - 1)};
}

static bool same_word(struct span a, struct span b)
{
    return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

static shoal_status fail_twice(const char *who, struct span word, size_t first, size_t second)
{
    return shoal_fail(SHOAL_EFORMAT, "%s: the word `%.*s` stands there twice, as %zu and as %zu",
                      who, (int)(word.len < 80 ? word.len : 80), word.at, first + 1, second + 1);
}

/* A word that any vocabulary may hold. */
static shoal_status check_word(const char *who, struct span word, size_t number)
{
    if (word.len == 0)
        return shoal_fail(SHOAL_EFORMAT, "%s: word %zu is empty or malformed", who, number + 1);
    if (word.len > SHOAL_WORD_MAX)
        return shoal_fail(SHOAL_EFORMAT, "%s: word %zu has %u bytes, want at most %u", who,
                          number + 1, word.len, SHOAL_WORD_MAX);
    if (memchr(word.at, '\0', word.len))
        return shoal_fail(SHOAL_EFORMAT, "%s: word %zu holds a NUL byte", who, number + 1);
    return SHOAL_OK;
}

/* ---- copies and lists ---- */

static shoal_status append_checked(shoal_vocab *v, const char *who, struct span word,
                                   uint64_t count)
{
    size_t number = v->size;
    shoal_status st = check_word(who, word, number);

    if (st == SHOAL_OK && !vocab_append(v, word.at, word.len, count))
        st = fail_twice(who, word, shoal_vocab_find(v, word.at, word.len), number);
    return st;
}

shoal_status vocab_settle(shoal_vocab **out, shoal_status st)
{
    if (st != SHOAL_OK) {
        shoal_vocab_free(*out);
        *out = NULL;
    }
    return st;
}

static shoal_status new_for(shoal_vocab **out, const char *who, const struct span *words, size_t n)
{
    size_t bytes = 0;

    *out = NULL;
    for (size_t i = 0; i < n; i++)
        bytes += words[i].len;
    if (n == 0)
        return shoal_fail(SHOAL_EFORMAT, "%s: holds no word, want 1 or more", who);
    if (n > VOCAB_MAX)
        return shoal_fail(SHOAL_ELIMIT, "%s: holds %zu words, want at most %u", who, n, VOCAB_MAX);
    return vocab_new(out, n, bytes);
}

shoal_status vocab_from_words(shoal_vocab **out, const char *who, const struct span *words,
                              size_t n)
{
    shoal_status st = new_for(out, who, words, n);

    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = append_checked(*out, who, words[i], 0);
    return vocab_settle(out, st);
}

/* ---- words in memory ---- */

static shoal_status append_all(shoal_vocab *v, const struct shoal_words *words)
{
    const char *at = words->text, *end = words->text + words->len;
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < words->n && st == SHOAL_OK; i++) {
        const char *stop = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;

        if (!stop)
            return shoal_fail(SHOAL_EINVAL, "vocab: the text ends within word %zu, want %zu words, "
                              "each ended by a NUL", i + 1, words->n);
        st = append_checked(v, "vocab", (struct span){at, (uint32_t)(stop - at)},
                            words->counts ? words->counts[i] : 0);
        at = stop + 1;
    }
    if (st == SHOAL_OK && at != end)
        st = shoal_fail(SHOAL_EINVAL, "vocab: found text behind word %zu, want no more", words->n);
    return st;
}

shoal_status shoal_vocab_new(shoal_vocab **out, const struct shoal_words *words)
{
    shoal_status st;

    *out = NULL;
    if (words->n == 0 || words->n > VOCAB_MAX)
        return shoal_fail(SHOAL_EINVAL, "vocab: found %zu words, want 1 to %u", words->n,
                          VOCAB_MAX);
    st = vocab_new(out, words->n, words->len);
    if (st == SHOAL_OK)
        st = append_all(*out, words);
    return vocab_settle(out, st);
}

struct shoal_words shoal_vocab_words(const shoal_vocab *v)
{
    return (struct shoal_words){.text = v->arena.at, .len = v->arena.len, .n = v->size,
                                .counts = v->counts};
}

static void leave_out(struct words_left *left, size_t *count, size_t i, size_t before)
{
    if (left->twice + left->empty == 0) {
        left->first = i;
        left->before = before;
    }
    ++*count;
}

/* Word i, if it is to be kept, as the next id. */
static shoal_status append_row(shoal_vocab *v, const char *who, struct span word, uint64_t count,
                               size_t i, uint32_t *rows, struct words_left *left)
{
    shoal_status st = word.len > 0 ? check_word(who, word, i) : SHOAL_OK;

    if (word.len == 0) {
        leave_out(left, &left->empty, i, i);
    } else if (st == SHOAL_OK) {
        rows[v->size] = (uint32_t)i;
        if (!vocab_append(v, word.at, word.len, count))
            leave_out(left, &left->twice, i, rows[shoal_vocab_find(v, word.at, word.len)]);
    }
    return st;
}

shoal_status vocab_from_rows(shoal_vocab **out, const char *who, const struct span *words,
                             const uint64_t *counts, size_t n, uint32_t *rows,
                             struct words_left *left)
{
    shoal_status st = new_for(out, who, words, n);

    *left = (struct words_left){0};
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = append_row(*out, who, words[i], counts ? counts[i] : 0, i, rows, left);
    if (st == SHOAL_OK && (*out)->size == 0)
        st = shoal_fail(SHOAL_EFORMAT, "%s: of %zu words all are empty, want 1 or more", who, n);
    return vocab_settle(out, st);
}

static shoal_status copy_checked(shoal_vocab **out, const char *who, const shoal_vocab *v)
{
    shoal_status st = vocab_new(out, v->size, v->arena.len);

    for (uint32_t id = 0; id < v->size && st == SHOAL_OK; id++)
        st = append_checked(*out, who, vocab_span(v, id), v->counts[id]);
    if (st == SHOAL_OK) {
        (*out)->sentences = v->sentences;
        (*out)->rules = v->rules;
    }
    return vocab_settle(out, st);
}

shoal_status vocab_copy(shoal_vocab **out, const shoal_vocab *v)
{
    return copy_checked(out, "vocab", v);
}

/* ---- an index that lies in a file ---- */

/* FNV-1a of 64 bits, its halves folded. */
static uint64_t slot_hash(struct span word)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (uint32_t i = 0; i < word.len; i++)
        h = (h ^ (unsigned char)word.at[i]) * 0x100000001b3u;
    return h ^ (h >> 32);
}

/* At most `size` steps: a file may have no empty slot. */
static uint32_t find_slot(const shoal_vocab *v, const uint32_t *slots, size_t size,
                          struct span word, size_t *slot)
{
    size_t at = slot_hash(word) & (size - 1);

    for (size_t i = 0; i < size; i++, at = (at + 1) & (size - 1)) {
        uint32_t id = slots[at];

        *slot = at;
        if (id == SHOAL_NO_ID)
            return SHOAL_NO_ID;
        if (id < v->size && same_word(vocab_span(v, id), word))
            return id;
    }
    return SHOAL_NO_ID;
}

uint32_t vocab_find_mapped(const shoal_vocab *v, const char *word, size_t len)
{
    size_t slot;

    return find_slot(v, v->slots, v->index_size, (struct span){word, (uint32_t)len}, &slot);
}

static size_t slots_for(size_t n)
{
    size_t size = 16;

    while (size < 2 * n)
        size *= 2;
    return size;
}

/* Fills empty slots [size] with the first n words. */
static shoal_status fill_slots(uint32_t *slots, size_t size, const shoal_vocab *v, size_t n,
                               const char *who)
{
    shoal_status st = SHOAL_OK;

    memset(slots, 0xff, size * sizeof *slots);
    for (uint32_t id = 0; id < n && st == SHOAL_OK; id++) {
        struct span word = vocab_span(v, id);
        uint32_t there;
        size_t slot = 0;

        st = check_word(who, word, id);
        there = st == SHOAL_OK ? find_slot(v, slots, size, word, &slot) : SHOAL_NO_ID;
        if (there != SHOAL_NO_ID)
            st = fail_twice(who, word, there, id);
        slots[slot] = id;
    }
    return st;
}

/* Makes an index, to save it or only to see that it can be made. */
static shoal_status make_slots(uint32_t **slots, size_t *size, const shoal_vocab *v, size_t n,
                               const char *who)
{
    shoal_status st;

    *size = slots_for(n);
    *slots = mem_array(*size, sizeof **slots);
    if (!*slots)
        return SHOAL_ENOMEM;
    st = fill_slots(*slots, *size, v, n, who);
    if (st == SHOAL_OK)
        return st;
    free(*slots);
    *slots = NULL;
    return st;
}

shoal_status vocab_check(const shoal_vocab *v, const char *who)
{
    uint32_t *slots;
    size_t size;
    shoal_status st = make_slots(&slots, &size, v, v->size, who);

    /* The index in the file must be the one that these words make. */
    if (st == SHOAL_OK && v->slots &&
        (size != v->index_size || memcmp(slots, v->slots, size * sizeof *slots) != 0))
        st = shoal_fail(SHOAL_EFORMAT, "%s: its index of %zu slots is not that of its words", who,
                        v->index_size);
    free(slots);
    return st;
}

/* ---- in our container ---- */

/* Nothing where words are what white space parts, as in files from before there were rules. */
static shoal_status save_rules(const struct rules *r, struct container_writer *w)
{
    const uint32_t numbers[RULES] = {r->tokens, r->bad, r->emoji};

    if (r->tokens == SHOAL_TOKENS_SPACE)
        return SHOAL_OK;
    return container_put(w, "vocab.tokens", numbers, sizeof numbers);
}

static shoal_status load_rules(struct rules *r, const struct container *c)
{
    struct section s = {0};
    const uint32_t *n;
    shoal_status st;

    *r = (struct rules){0};
    if (!container_has(c, "vocab.tokens"))
        return SHOAL_OK;
    st = container_find(c, "vocab.tokens", sizeof(uint32_t), &s);
    if (st != SHOAL_OK)
        return st;
    n = s.data;
    if (s.size != RULES * sizeof *n || n[0] > SHOAL_TOKENS_BIGRAMS || n[1] > SHOAL_BAD_KEEP ||
        n[2] > 1)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: its text became words in a way that is not known, want "
                          "`vocab.tokens` of %d numbers from 0 to 3", container_path(c), RULES);
    *r = (struct rules){(enum shoal_tokens)n[0], (enum shoal_bad_bytes)n[1], n[2]};
    return SHOAL_OK;
}

struct rules vocab_rules(const shoal_vocab *v)
{
    return v->rules;
}

void vocab_set_rules(shoal_vocab *v, struct rules rules)
{
    v->rules = rules;
}

/* The sections of the first n words, which are sound. */
static shoal_status save_words(const shoal_vocab *v, size_t n, const struct rules *r,
                               struct container_writer *w)
{
    shoal_status st = container_put(w, "vocab.words", v->arena.at, (size_t)v->offsets[n]);

    if (st == SHOAL_OK)
        st = container_put(w, "vocab.offsets", v->offsets, (n + 1) * sizeof *v->offsets);
    if (st == SHOAL_OK)
        st = container_put(w, "vocab.counts", v->counts, n * sizeof *v->counts);
    if (st == SHOAL_OK)
        st = container_put(w, "vocab.sentences", &v->sentences, sizeof v->sentences);
    return st == SHOAL_OK ? save_rules(r, w) : st;
}

shoal_status vocab_save(const shoal_vocab *v, struct container_writer *w)
{
    return save_words(v, v->size, &v->rules, w);
}

shoal_status vocab_save_with(const shoal_vocab *v, const struct rules *r,
                             struct container_writer *w)
{
    return save_words(v, v->size, r, w);
}

shoal_status vocab_save_mapped(const shoal_vocab *v, size_t n, struct container_writer *w)
{
    uint32_t *slots;
    size_t size;
    shoal_status st = make_slots(&slots, &size, v, n, "vectors");

    if (st == SHOAL_OK)
        st = save_words(v, n, &v->rules, w);
    if (st == SHOAL_OK)
        st = container_put(w, "vocab.index", slots, size * sizeof *slots);
    free(slots);
    return st;
}

struct sections {
    struct section words, offsets, counts, sentences;
    struct rules rules;
    size_t n;
};

/* Their sizes agree, the words begin at 0 and the last one ends with its NUL at
 * the end of its section. */
static shoal_status find_sections(struct sections *s, const struct container *c)
{
    const uint64_t *offsets;
    shoal_status st = container_find(c, "vocab.words", 1, &s->words);

    if (st == SHOAL_OK)
        st = container_find(c, "vocab.offsets", sizeof(uint64_t), &s->offsets);
    if (st == SHOAL_OK)
        st = container_find(c, "vocab.counts", sizeof(uint64_t), &s->counts);
    if (st == SHOAL_OK)
        st = container_find(c, "vocab.sentences", sizeof(uint64_t), &s->sentences);
    if (st == SHOAL_OK)
        st = load_rules(&s->rules, c);
    if (st != SHOAL_OK)
        return st;
    s->n = s->counts.size / sizeof(uint64_t);
    if (s->n == 0 || s->n > VOCAB_MAX || s->offsets.size != (s->n + 1) * sizeof(uint64_t) ||
        s->sentences.size != sizeof(uint64_t))
        return shoal_fail(SHOAL_EFORMAT, "%s: the vocabulary has %zu counts and %zu offsets",
                          container_path(c), s->n, s->offsets.size / sizeof(uint64_t));
    offsets = s->offsets.data;
    if (offsets[0] != 0 || offsets[s->n] != s->words.size || s->words.size == 0 ||
        ((const char *)s->words.data)[s->words.size - 1] != '\0')
        return shoal_fail(SHOAL_EFORMAT, "%s: word offsets span %llu to %llu, want 0 to %zu",
                          container_path(c), (unsigned long long)offsets[0],
                          (unsigned long long)offsets[s->n], s->words.size);
    return SHOAL_OK;
}

/* A vocabulary that borrows the sections. */
static shoal_vocab borrowed(const struct sections *s, const uint32_t *slots, size_t size)
{
    shoal_vocab v = {.size = s->n, .slots = slots, .index_size = size, .unk = SHOAL_NO_ID,
                     .rules = s->rules};

    v.arena = (struct bytes){(char *)(uintptr_t)s->words.data, s->words.size, 0};
    v.offsets = (uint64_t *)(uintptr_t)s->offsets.data;
    v.counts = (uint64_t *)(uintptr_t)s->counts.data;
    memcpy(&v.sentences, s->sentences.data, sizeof v.sentences);
    return v;
}

shoal_status vocab_load(shoal_vocab **out, const struct container *c)
{
    static const uint32_t none[] = {SHOAL_NO_ID};
    struct sections s;
    shoal_vocab there;
    shoal_status st = find_sections(&s, c);

    *out = NULL;
    if (st != SHOAL_OK)
        return st;
    there = borrowed(&s, none, 1);
    return copy_checked(out, container_path(c), &there);
}

shoal_status vocab_map(shoal_vocab **out, const struct container *c)
{
    struct section slots = {0};
    struct sections s;
    uint64_t total = 0;
    size_t size;
    shoal_status st = find_sections(&s, c);

    *out = NULL;
    if (st == SHOAL_OK)
        st = container_meta_u64(c, "total", &total);
    if (st == SHOAL_OK)
        st = container_find(c, "vocab.index", sizeof(uint32_t), &slots);
    if (st != SHOAL_OK)
        return st;
    size = slots.size / sizeof(uint32_t);
    if (size != slots_for(s.n))
        return shoal_fail(SHOAL_EFORMAT, "%s: its index has %zu slots, want %zu for %zu words",
                          container_path(c), size, slots_for(s.n), s.n);
    *out = mem_array(1, sizeof **out);
    if (!*out)
        return SHOAL_ENOMEM;
    **out = borrowed(&s, slots.data, size);
    (*out)->total = total;
    (*out)->unk = vocab_find_mapped(*out, SHOAL_UNK, sizeof SHOAL_UNK - 1);
    return SHOAL_OK;
}
