/* Counting among several processes.
 *
 *     rank 0 counts its part --.    .--> owner 0: sums of its words --.
 *     rank 1 counts its part --+----+--> owner 1: sums of its words --+--> all of them, joined
 *     rank 2 counts its part --'    '--> owner 2: sums of its words --'    by every rank
 *
 * The hash of a word says who owns it, so all counts of a word come together at one rank,
 * which alone decides whether it is kept. Bytes that go from one to the other:
 *
 *     batch     | count u64 | len u32 | word | count u64 | len u32 | word | ...
 *     settled   | struct settled | the same records: sums, of the words one owns
 *
 * Why the vocabulary is that of a single process: the sums are the same, and so is the
 * floor. An owner's floor is the least that lets its own words fit (count.c); all of them
 * joined are fitted again, from the highest of these floors on, and what one owner cannot
 * hold, all together cannot. */
#include "text/vocab.h"

#include <stdlib.h>

struct vocab_part {
    struct shoal_vocab_opts opts;
    unsigned part, parts;
    const struct text *text;     /* for its name */
    struct shoal_text_stats read;
    struct cut from, to;
    size_t inputs;
    struct counter **counters; /* what this one counted */
    unsigned ncounters, packed; /* counters that are packed already */
    struct counter_walk *walk;
    struct span next; /* to be packed; len 0: none */
    uint64_t next_count;
    struct counter *own; /* what all have counted of this one's words */
    uint64_t own_words;
};

/* Numbers alone, so that any bytes are one. */
struct mark {
    uint64_t input, offset, inside; /* struct cut */
};

struct settled {
    struct mark from, to; /* of what it read, */
    uint64_t inputs;      /* of so many */
    struct shoal_text_stats read;
    uint64_t types, floor, spilled;
    uint64_t words; /* records that follow */
};

shoal_status vocab_part_open(struct vocab_part **out, const struct shoal_vocab_opts *opts,
                             unsigned part, unsigned parts)
{
    struct vocab_part *p = mem_array(1, sizeof *p);
    shoal_status st = p ? SHOAL_OK : SHOAL_ENOMEM;

    *out = NULL;
    if (st == SHOAL_OK) {
        *p = (struct vocab_part){.opts = *opts, .part = part, .parts = parts};
        st = counter_new(&p->own, opts->memory, opts->tmp_dir);
    }
    if (st != SHOAL_OK) {
        vocab_part_close(p);
        return st;
    }
    *out = p;
    return SHOAL_OK;
}

void vocab_part_close(struct vocab_part *p)
{
    if (!p)
        return;
    counter_walk_free(p->walk);
    counters_free(p->counters, p->ncounters);
    counter_free(p->own);
    free(p);
}

shoal_status vocab_part_count(struct vocab_part *p, struct text *text)
{
    p->text = text;
    text_range(text, &p->from, &p->to, &p->inputs);
    return counters_fill(&p->counters, &p->ncounters, text, &p->opts, &p->read);
}

/* ---- packing ---- */

/* Not by the low bits, which choose the slot in a table: the words of one owner would then
 * use a part of its slots only. */
static unsigned owner_of(const struct key *k, unsigned parts)
{
    return (unsigned)((k->hash >> 40) % parts);
}

/* The next word of any counter; p->next.len is 0 behind the last. */
static shoal_status next_word(struct vocab_part *p)
{
    shoal_status st = SHOAL_OK;

    p->next.len = 0;
    while (st == SHOAL_OK && p->next.len == 0 && p->packed < p->ncounters) {
        if (!p->walk)
            st = counter_walk_new(&p->walk, p->counters[p->packed]);
        if (st == SHOAL_OK)
            st = counter_walk_next(p->walk, &p->next, &p->next_count);
        if (st == SHOAL_OK && p->next.len == 0) {
            counter_walk_free(p->walk);
            p->walk = NULL;
            p->packed++;
        }
    }
    return st;
}

/* word_key_of may read behind a word, where what came from disk ends. */
static shoal_status next_owner(const struct vocab_part *p, struct bytes *padded, unsigned *owner)
{
    struct key k;
    shoal_status st;

    padded->len = 0;
    st = bytes_reserve(padded, p->next.len + KEY_PAD);
    if (st == SHOAL_OK)
        st = bytes_add(padded, p->next.at, p->next.len);
    if (st != SHOAL_OK)
        return st;
    k = word_key_of(padded->at, p->next.len);
    *owner = owner_of(&k, p->parts);
    return SHOAL_OK;
}

shoal_status vocab_part_pack(struct vocab_part *p, struct bytes *out, size_t room, bool *more)
{
    struct bytes padded = {0};
    unsigned owner = 0;
    shoal_status st = p->next.len > 0 ? SHOAL_OK : next_word(p);

    for (unsigned i = 0; i < p->parts; i++)
        out[i].len = 0;
    while (st == SHOAL_OK && p->next.len > 0) {
        st = next_owner(p, &padded, &owner);
        if (st != SHOAL_OK || out[owner].len + sizeof(struct count_record) + p->next.len > room)
            break; /* the word waits for the next batch */
        st = count_record_add(&out[owner], p->next, p->next_count);
        if (st == SHOAL_OK)
            st = next_word(p);
    }
    *more = p->next.len > 0;
    bytes_fini(&padded);
    return st;
}

/* ---- unpacking ---- */

struct reader {
    const char *at, *end;
};

/* The next record; len 0 at the end. */
static shoal_status read_record(struct reader *r, struct span *word, uint64_t *count)
{
    size_t left = (size_t)(r->end - r->at);
    struct count_record head;

    *word = (struct span){0};
    if (left == 0)
        return SHOAL_OK;
    if (left < sizeof head)
        return shoal_fail(SHOAL_EFORMAT, "vocab: counts of another rank end with %zu bytes, want "
                          "%zu more", left, sizeof head - left);
    memcpy(&head, r->at, sizeof head);
    left -= sizeof head;
    if (head.len == 0 || head.len > SHOAL_WORD_MAX || head.len > left || head.count == 0)
        return shoal_fail(SHOAL_EFORMAT, "vocab: another rank counts %llu of a word of %u bytes, "
                          "%zu follow", (unsigned long long)head.count, head.len, left);
    *word = (struct span){r->at + sizeof head, head.len};
    *count = head.count;
    r->at += sizeof head + head.len;
    return SHOAL_OK;
}

/* Words may hold any byte but white space. */
static shoal_status check_word(struct span word)
{
    for (uint32_t i = 0; i < word.len; i++)
        if ((unsigned char)word.at[i] <= ' ')
            return shoal_fail(SHOAL_EFORMAT, "vocab: a word of another rank has byte 0x%02x",
                              (unsigned char)word.at[i]);
    return SHOAL_OK;
}

static shoal_status add_words(uint64_t *sum, uint64_t count)
{
    if (__builtin_add_overflow(*sum, count, sum))
        return shoal_fail(SHOAL_EFORMAT, "vocab: the ranks' counts sum up to over 2^64");
    return SHOAL_OK;
}

shoal_status vocab_part_unpack(struct vocab_part *p, const char *data, size_t len)
{
    struct reader r = {data, data + len};
    struct span word;
    uint64_t count = 0;
    shoal_status st;

    while ((st = read_record(&r, &word, &count)) == SHOAL_OK && word.len > 0) {
        st = check_word(word);
        if (st == SHOAL_OK)
            st = add_words(&p->own_words, count);
        if (st == SHOAL_OK)
            st = counter_add_times(p->own, word, count);
        if (st != SHOAL_OK)
            return st;
    }
    return st;
}

/* ---- sums ---- */

static uint64_t spilled_of(struct counter **counters, unsigned n)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < n; i++)
        sum += counter_spilled(counters[i]);
    return sum;
}

static struct mark mark_of(const struct cut *c)
{
    return (struct mark){c->input, c->offset, c->inside};
}

shoal_status vocab_part_settle(struct vocab_part *p, struct bytes *out)
{
    uint64_t spilled = spilled_of(p->counters, p->ncounters);
    struct tallies t = {0};
    struct settled s;
    shoal_status st;

    counters_free(p->counters, p->ncounters); /* its memory is needed */
    p->counters = NULL;
    p->ncounters = p->packed = 0;
    st = counter_merge(&t, &p->own, 1, p->opts.min_count, p->opts.memory);
    out->len = 0;
    s = (struct settled){.from = mark_of(&p->from), .to = mark_of(&p->to), .inputs = p->inputs,
                         .read = p->read, .types = t.types, .floor = t.floor,
                         .spilled = t.spilled + spilled, .words = t.len};
    if (st == SHOAL_OK)
        st = bytes_add(out, &s, sizeof s);
    for (size_t i = 0; i < t.len && st == SHOAL_OK; i++)
        st = count_record_add(out, tally_span(&t, i), t.at[i].count);
    tallies_fini(&t);
    return st;
}

static void add_read(struct shoal_text_stats *all, const struct shoal_text_stats *one)
{
    all->bytes += one->bytes;
    all->words += one->words;
    all->sentences += one->sentences;
    all->files += one->files;
    all->bad_bytes += one->bad_bytes;
    all->long_words += one->long_words;
    all->unspaced += one->unspaced;
}

/* Those that read one text together each read on where the one before ends;
 * others read a whole text each. */
static bool reads_all(const struct settled *s)
{
    return s->from.input == 0 && s->from.offset == 0 && s->to.input == s->inputs;
}

static bool same_mark(const struct mark *a, const struct mark *b)
{
    return a->input == b->input && a->offset == b->offset && a->inside == b->inside;
}

static shoal_status check_cuts(const struct settled *before, const struct settled *s, size_t i)
{
    if ((reads_all(before) && reads_all(s)) || same_mark(&before->to, &s->from))
        return SHOAL_OK;
    return shoal_fail(SHOAL_EIO, "input: rank %zu reads up to byte %llu of file %llu, rank %zu "
                      "from byte %llu of file %llu on: they see different files", i - 1,
                      (unsigned long long)before->to.offset,
                      (unsigned long long)before->to.input + 1, i,
                      (unsigned long long)s->from.offset, (unsigned long long)s->from.input + 1);
}

/* The heads of all: what was read, and the highest floor. */
static shoal_status join_heads(struct tallies *t, const char *data, const size_t *lens, size_t n,
                               struct shoal_text_stats *read)
{
    struct settled s, before = {0};
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; data += lens[i++]) {
        if (lens[i] < sizeof s)
            return shoal_fail(SHOAL_EFORMAT, "vocab: rank %zu settles for %zu bytes, want %zu", i,
                              lens[i], sizeof s);
        memcpy(&s, data, sizeof s);
        if (i > 0)
            st = check_cuts(&before, &s, i);
        before = s;
        add_read(read, &s.read);
        t->types += s.types;
        t->spilled += s.spilled;
        t->floor = s.floor > t->floor ? s.floor : t->floor;
    }
    return st;
}

/* The words of one. */
static shoal_status join_words(struct tallies *t, const char *data, size_t len, uint64_t *words)
{
    struct settled s;
    struct reader r = {data + sizeof s, data + len};
    struct span word;
    uint64_t count = 0, n = 0;
    shoal_status st;

    memcpy(&s, data, sizeof s);
    while ((st = read_record(&r, &word, &count)) == SHOAL_OK && word.len > 0) {
        n++;
        st = check_word(word);
        if (st == SHOAL_OK)
            st = add_words(words, count);
        if (st == SHOAL_OK)
            st = tallies_add(t, word, count);
        if (st != SHOAL_OK)
            return st;
    }
    if (st == SHOAL_OK && n != s.words)
        st = shoal_fail(SHOAL_EFORMAT, "vocab: a rank settles for %llu words, %llu follow",
                        (unsigned long long)s.words, (unsigned long long)n);
    return st;
}

static shoal_status join_all(struct tallies *t, const char *data, const size_t *lens, size_t n,
                             struct shoal_text_stats *read)
{
    uint64_t words = 0, types;
    shoal_status st = join_heads(t, data, lens, n, read);

    types = t->types;
    for (size_t i = 0; i < n && st == SHOAL_OK; data += lens[i++])
        st = join_words(t, data, lens[i], &words);
    t->types = types; /* those below the floor among them */
    if (st == SHOAL_OK && words > read->words)
        st = shoal_fail(SHOAL_EFORMAT, "vocab: the ranks counted %llu words, want at most %llu",
                        (unsigned long long)words, (unsigned long long)read->words);
    return st;
}

shoal_status vocab_part_join(shoal_vocab **out, struct vocab_part *p, const char *data,
                             const size_t *lens, struct shoal_vocab_stats *stats)
{
    struct tallies t = {.floor = p->opts.min_count};
    shoal_status st;

    *out = NULL;
    *stats = (struct shoal_vocab_stats){0};
    st = join_all(&t, data, lens, p->parts, &stats->text);
    if (st == SHOAL_OK && stats->text.words == 0)
        st = vocab_fail_empty(text_input(p->text, 0), &stats->text);
    if (st == SHOAL_OK) {
        tallies_fit(&t, p->opts.memory);
        st = vocab_from_tallies(out, &t, &p->opts, stats);
    }
    tallies_fini(&t);
    return st;
}
