#include "text/vocab.h"

#include <stdlib.h>
#include <sys/stat.h>

#define VOCAB_FILE_MAX ((size_t)1 << 36)
/* So many bytes tell whether a file is a vocabulary. */
#define VOCAB_HEAD ((size_t)64 << 10)

struct shoal_vocab_opts shoal_vocab_default(void)
{
    return (struct shoal_vocab_opts){.min_count = 5, .memory = (uint64_t)1 << 30};
}

shoal_status shoal_vocab_check(const struct shoal_vocab_opts *opts)
{
    if (opts->min_count == 0)
        return shoal_fail(SHOAL_EINVAL, "vocab: --min-count is 0, want 1 or more");
    if (opts->max_vocab > VOCAB_MAX)
        return shoal_fail(SHOAL_EINVAL, "vocab: --max-vocab is %llu, want at most %u",
                          (unsigned long long)opts->max_vocab, VOCAB_MAX);
    if (opts->unk && opts->max_vocab == 1)
        return shoal_fail(SHOAL_EINVAL, "vocab: --max-vocab is 1, want 2 or more beside <UNK>");
    if (opts->memory < (uint64_t)1 << 20)
        return shoal_fail(SHOAL_EINVAL, "vocab: --memory is %llu bytes, want 1048576 or more",
                          (unsigned long long)opts->memory);
    if ((unsigned)opts->tokens > SHOAL_TOKENS_BIGRAMS)
        return shoal_fail(SHOAL_EINVAL, "vocab: --tokens is %d, want 0 to 3", (int)opts->tokens);
    if ((unsigned)opts->bad_bytes > SHOAL_BAD_KEEP)
        return shoal_fail(SHOAL_EINVAL, "vocab: --bad-bytes is %d, want 0 to 3",
                          (int)opts->bad_bytes);
    if ((unsigned)opts->encoding > SHOAL_ENCODING_UTF16)
        return shoal_fail(SHOAL_EINVAL, "vocab: --encoding is %d, want 0 to 4",
                          (int)opts->encoding);
    if (opts->threads > 1024)
        return shoal_fail(SHOAL_EINVAL, "vocab: --threads is %u, want at most 1024", opts->threads);
    return SHOAL_OK;
}

/* ---- the object ---- */

void shoal_vocab_free(shoal_vocab *v)
{
    if (!v)
        return;
    if (!v->slots) {
        bytes_fini(&v->arena);
        free(v->offsets);
        free(v->counts);
        free(v->index);
    }
    free(v);
}

size_t shoal_vocab_size(const shoal_vocab *v)
{
    return v->size;
}

const char *shoal_vocab_word(const shoal_vocab *v, uint32_t id)
{
    return id < v->size ? vocab_span(v, id).at : NULL;
}

uint64_t shoal_vocab_count(const shoal_vocab *v, uint32_t id)
{
    return id < v->size ? v->counts[id] : 0;
}

uint32_t shoal_vocab_unk(const shoal_vocab *v)
{
    return v->unk;
}

uint64_t shoal_vocab_total(const shoal_vocab *v)
{
    return v->total;
}

enum shoal_tokens shoal_vocab_tokens(const shoal_vocab *v)
{
    return v->rules.tokens;
}

uint64_t shoal_vocab_sentences(const shoal_vocab *v)
{
    return v->sentences;
}

/* Of a vocabulary of our own making, where offsets are right. */
static bool slot_is(const shoal_vocab *v, const struct index_slot *s, const struct key *k,
                    const char *at, size_t len)
{
    return s->head == k->head && s->rest == k->rest && s->len == len &&
           (len <= KEY_WHOLE || memcmp(v->arena.at + v->offsets[s->id], at, len) == 0);
}

static uint32_t find_key(const shoal_vocab *v, const struct key *k, const char *at, size_t len)
{
    size_t i = k->hash & (v->index_size - 1);

    while (v->index[i].id != SHOAL_NO_ID && !slot_is(v, &v->index[i], k, at, len))
        i = (i + 1) & (v->index_size - 1);
    return v->index[i].id;
}

uint32_t shoal_vocab_find(const shoal_vocab *v, const char *word, size_t len)
{
    char padded[64 + KEY_PAD] = {0};
    char *copy = padded;
    struct key k;
    uint32_t id;

    if (len == 0 || len > SHOAL_WORD_MAX)
        return SHOAL_NO_ID;
    if (v->slots)
        return vocab_find_mapped(v, word, len);
    /* word_key_of reads behind the word, where a caller's memory may end. */
    if (len > 64 && !(copy = mem_array(len + KEY_PAD, 1)))
        return SHOAL_NO_ID;
    memcpy(copy, word, len);
    k = word_key_of(copy, len);
    id = find_key(v, &k, copy, len);
    if (copy != padded)
        free(copy);
    return id;
}

void vocab_find_all(const shoal_vocab *v, const struct span *words, size_t n, uint32_t *ids)
{
    enum { BATCH = 64 };
    struct key keys[BATCH];

    if (v->slots) {
        for (size_t i = 0; i < n; i++)
            ids[i] = words[i].len ? vocab_find_mapped(v, words[i].at, words[i].len) : SHOAL_NO_ID;
        return;
    }
    for (size_t done = 0; done < n; done += BATCH) {
        size_t m = n - done < BATCH ? n - done : BATCH;
        const struct span *w = words + done;

        for (size_t i = 0; i < m; i++) {
            keys[i] = word_key_of(w[i].at, w[i].len);
            __builtin_prefetch(&v->index[keys[i].hash & (v->index_size - 1)]);
        }
        for (size_t i = 0; i < m; i++)
            ids[done + i] = w[i].len ? find_key(v, &keys[i], w[i].at, w[i].len) : SHOAL_NO_ID;
    }
}

/* ---- making one ---- */

shoal_status vocab_new(shoal_vocab **out, size_t size, size_t bytes)
{
    shoal_vocab *v = mem_array(1, sizeof *v);

    *out = NULL;
    if (!v)
        return SHOAL_ENOMEM;
    v->unk = SHOAL_NO_ID;
    v->index_size = 16;
    while (v->index_size < 2 * size)
        v->index_size *= 2;
    v->offsets = mem_array(size + 1, sizeof *v->offsets);
    v->counts = mem_array(size, sizeof *v->counts);
    v->index = mem_array(v->index_size, sizeof *v->index);
    if (!v->offsets || !v->counts || !v->index ||
        bytes_reserve(&v->arena, bytes + size + 1 + KEY_PAD) != SHOAL_OK) {
        shoal_vocab_free(v);
        return SHOAL_ENOMEM;
    }
    for (size_t i = 0; i < v->index_size; i++)
        v->index[i].id = SHOAL_NO_ID;
    *out = v;
    return SHOAL_OK;
}

bool vocab_append(shoal_vocab *v, const char *at, size_t len, uint64_t count)
{
    char *copy = v->arena.at + v->arena.len;
    struct key k;
    size_t i;

    memcpy(copy, at, len);
    copy[len] = '\0';
    k = word_key_of(copy, len);
    if (find_key(v, &k, copy, len) != SHOAL_NO_ID)
        return false;
    for (i = k.hash & (v->index_size - 1); v->index[i].id != SHOAL_NO_ID;)
        i = (i + 1) & (v->index_size - 1);
    v->index[i] = (struct index_slot){k.head, k.rest, (uint32_t)v->size, (uint32_t)len};
    if (len == sizeof SHOAL_UNK - 1 && memcmp(at, SHOAL_UNK, len) == 0)
        v->unk = (uint32_t)v->size;
    v->counts[v->size++] = count;
    v->arena.len += len + 1;
    v->offsets[v->size] = v->arena.len;
    v->total += count;
    return true;
}

static int by_count_then_bytes(const void *a, const void *b, void *arena)
{
    const struct tally *x = a, *y = b;

    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return span_compare((struct span){(const char *)arena + x->offset, x->len},
                        (struct span){(const char *)arena + y->offset, y->len});
}

static bool is_unk(const struct tallies *t, const struct tally *e)
{
    return e->len == sizeof SHOAL_UNK - 1 &&
           memcmp(t->arena.at + e->offset, SHOAL_UNK, e->len) == 0;
}

/* Puts <UNK>, with the count of all that is left out, where its count belongs
 * among the n kept entries; a word of the text that reads <UNK> is the same. */
static shoal_status place_unk(struct tallies *t, size_t *n, size_t room, uint64_t words)
{
    struct tally unk = {0, t->arena.len, sizeof SHOAL_UNK - 1};
    uint64_t kept = 0;
    size_t i;
    shoal_status st = bytes_add(&t->arena, SHOAL_UNK, unk.len);

    if (st == SHOAL_OK)
        st = mem_grow(&t->at, &t->cap, t->len + 1, sizeof *t->at);
    if (st != SHOAL_OK)
        return st;
    for (i = 0; i < *n && !is_unk(t, &t->at[i]); i++)
        ;
    if (i < *n)
        memmove(&t->at[i], &t->at[i + 1], (--*n - i) * sizeof *t->at);
    *n = *n < room ? *n : room;
    for (i = 0; i < *n; i++)
        kept += t->at[i].count;
    unk.count = words - kept;
    for (i = *n; i > 0 && by_count_then_bytes(&unk, &t->at[i - 1], t->arena.at) < 0; i--)
        t->at[i] = t->at[i - 1];
    t->at[i] = unk;
    ++*n;
    return SHOAL_OK;
}

shoal_status vocab_from_tallies(shoal_vocab **out, struct tallies *t,
                                const struct shoal_vocab_opts *opts,
                                struct shoal_vocab_stats *stats)
{
    size_t max = opts->max_vocab ? (size_t)opts->max_vocab : VOCAB_MAX;
    size_t n = t->len < max ? t->len : max;
    shoal_status st = SHOAL_OK;

    *out = NULL;
    stats->types = t->types;
    stats->floor = t->floor;
    stats->spilled = t->spilled;
    if (n > 0)
        qsort_r(t->at, t->len, sizeof *t->at, by_count_then_bytes, t->arena.at);
    if (opts->unk)
        st = place_unk(t, &n, max - 1, stats->text.words);
    if (st == SHOAL_OK && n == 0)
        st = shoal_fail(SHOAL_EINVAL,
                        "vocab: none of %llu words was seen %llu times; lower --min-count",
                        (unsigned long long)t->types, (unsigned long long)opts->min_count);
    if (st == SHOAL_OK)
        st = vocab_new(out, n, t->arena.len);
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        if (!vocab_append(*out, t->arena.at + t->at[i].offset, t->at[i].len, t->at[i].count))
            st = shoal_fail(SHOAL_EFORMAT, "vocab: word %zu was counted twice, want once", i);
    if (vocab_settle(out, st) != SHOAL_OK)
        return st;
    (*out)->sentences = stats->text.sentences;
    (*out)->rules = rules_of(opts);
    stats->size = shoal_vocab_size(*out);
    stats->kept_words = shoal_vocab_total(*out) - shoal_vocab_count(*out, (*out)->unk);
    return SHOAL_OK;
}

/* ---- counting ---- */

/* ctx: a counter for each thread. */
static shoal_status count_block(void *ctx, void *state, unsigned thread, struct scanner *scan,
                                const struct block *block)
{
    struct counter *const *counters = ctx;
    struct span words[512];
    shoal_status st = SHOAL_OK;
    size_t n;

    (void)state;
    (void)block;
    while (st == SHOAL_OK && (n = scanner_next(scan, words, 512)) > 0)
        st = counter_add(counters[thread], words, n);
    return st;
}

shoal_status vocab_fail_empty(const char *input, const struct shoal_text_stats *read)
{
    if (read->unspaced > 0)
        return shoal_fail(SHOAL_EINVAL, "%s: no word of %u bytes or less in %llu bytes without "
                          "spaces: --tokens chars or --tokens bigrams cuts them", input,
                          SHOAL_WORD_MAX, (unsigned long long)read->bytes);
    if (read->files == 1)
        return shoal_fail(SHOAL_EINVAL, "%s: no word in its %llu bytes", input,
                          (unsigned long long)read->bytes);
    return shoal_fail(SHOAL_EINVAL, "input: no word in the %llu bytes of %llu files",
                      (unsigned long long)read->bytes, (unsigned long long)read->files);
}

void counters_free(struct counter **counters, unsigned n)
{
    for (unsigned i = 0; counters && i < n; i++)
        counter_free(counters[i]);
    free(counters);
}

/* As many threads as asked for, while each has the memory that a counter needs. */
shoal_status counters_new(struct counter ***out, unsigned *n, const struct shoal_vocab_opts *opts)
{
    unsigned threads = pool_threads(opts->threads);
    uint64_t most = opts->memory / COUNTER_MIN;
    shoal_status st = SHOAL_OK;

    *n = threads < most ? threads : (unsigned)most;
    *out = mem_array(*n, sizeof **out);
    if (!*out)
        return SHOAL_ENOMEM;
    for (unsigned i = 0; i < *n && st == SHOAL_OK; i++)
        st = counter_new(&(*out)[i], opts->memory / *n, opts->tmp_dir);
    return st;
}

shoal_status counters_fill(struct counter ***out, unsigned *n, struct text *text,
                           const struct shoal_vocab_opts *opts, struct shoal_text_stats *stats)
{
    static const struct text_work work = {.block = count_block};
    shoal_status st = counters_new(out, n, opts);

    return st == SHOAL_OK ? text_run(text, *n, &work, *out, stats) : st;
}

shoal_status vocab_count(shoal_vocab **out, struct text *text, const struct shoal_vocab_opts *opts,
                         struct shoal_vocab_stats *stats)
{
    struct tallies tallies = {0};
    struct counter **counters;
    unsigned n;
    shoal_status st = counters_fill(&counters, &n, text, opts, &stats->text);

    *out = NULL;
    if (st == SHOAL_OK && stats->text.words == 0)
        st = vocab_fail_empty(text_input(text, 0), &stats->text);
    if (st == SHOAL_OK)
        st = counter_merge(&tallies, counters, n, opts->min_count, opts->memory);
    if (st == SHOAL_OK)
        st = vocab_from_tallies(out, &tallies, opts, stats);
    tallies_fini(&tallies);
    counters_free(counters, n);
    return st;
}

static shoal_status build(shoal_vocab **out, const struct sources *from,
                          const struct shoal_vocab_opts *opts, struct shoal_vocab_stats *stats)
{
    struct shoal_vocab_stats own = {0};
    struct inputs inputs = {0};
    struct text *text = NULL;
    shoal_status st = shoal_vocab_check(opts);

    *out = NULL;
    if (st == SHOAL_OK)
        st = inputs_open(&inputs, from);
    if (st == SHOAL_OK)
        st = text_open(&text, &inputs, opts, false, "count");
    if (st == SHOAL_OK)
        st = vocab_count(out, text, opts, &own);
    if (stats)
        *stats = own;
    text_close(text);
    inputs_fini(&inputs);
    return st;
}

shoal_status shoal_vocab_build(shoal_vocab **out, const char *const *paths, size_t npaths,
                               const struct shoal_vocab_opts *opts, struct shoal_vocab_stats *stats)
{
    return build(out, &(struct sources){.paths = paths, .n = npaths}, opts, stats);
}

shoal_status shoal_vocab_build_memory(shoal_vocab **out, const struct shoal_memory *blocks,
                                      size_t n, const struct shoal_vocab_opts *opts,
                                      struct shoal_vocab_stats *stats)
{
    return build(out, &(struct sources){.blocks = blocks, .n = n}, opts, stats);
}

/* ---- `word count` lines ---- */

struct line_reader {
    const char *path, *at, *end;
    size_t line;
};

/* The next `word count`; *word.at NULL at the end. Blank lines are passed over. */
static shoal_status next_entry(struct line_reader *r, struct span *word, uint64_t *count)
{
    const char *stop, *digits;

    word->at = NULL;
    while (r->at < r->end && (*r->at == '\n' || *r->at == '\r')) {
        r->line += *r->at == '\n';
        r->at++;
    }
    if (r->at == r->end)
        return SHOAL_OK;
    stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
    stop = stop ? stop : r->end;
    const char *tail = stop > r->at && stop[-1] == '\r' ? stop - 1 : stop;
    for (digits = tail; digits > r->at && digits[-1] >= '0' && digits[-1] <= '9';)
        digits--;
    if (digits == tail || tail - digits > 19 || digits - r->at < 2 ||
        (digits[-1] != ' ' && digits[-1] != '\t'))
        return shoal_fail(SHOAL_EFORMAT, "%s: line %zu is not `word count`", r->path, r->line);
    if (digits - 1 - r->at > SHOAL_WORD_MAX)
        return shoal_fail(SHOAL_EFORMAT, "%s: line %zu: the word has %zu bytes, want at most %u",
                          r->path, r->line, (size_t)(digits - 1 - r->at), SHOAL_WORD_MAX);
    *word = (struct span){r->at, (uint32_t)(digits - 1 - r->at)};
    for (*count = 0; digits < tail; digits++)
        *count = *count * 10 + (uint64_t)(*digits - '0');
    r->at = stop;
    return SHOAL_OK;
}

/* Words of other programs may hold any byte but white space. */
static shoal_status check_entry(const struct line_reader *r, struct span word)
{
    for (uint32_t i = 0; i < word.len; i++)
        if ((unsigned char)word.at[i] <= ' ')
            return shoal_fail(SHOAL_EFORMAT, "%s: line %zu: byte 0x%02x within the word", r->path,
                              r->line, (unsigned char)word.at[i]);
    return SHOAL_OK;
}

static shoal_status fail_twice(struct line_reader r, struct span word)
{
    struct span other;
    uint64_t count;
    size_t line = 0;

    while (next_entry(&r, &other, &count) == SHOAL_OK && other.at)
        if (other.len == word.len && memcmp(other.at, word.at, word.len) == 0)
            line = r.line;
    return shoal_fail(SHOAL_EFORMAT, "%s: line %zu: the word `%.*s` stands there twice", r.path,
                      line, (int)(word.len < 80 ? word.len : 80), word.at);
}

static shoal_status read_entries(struct tallies *t, struct line_reader *r, uint64_t *sentences)
{
    struct span word;
    uint64_t count, total = 0;
    bool eos = false;
    shoal_status st;

    while ((st = next_entry(r, &word, &count)) == SHOAL_OK && word.at) {
        st = check_entry(r, word);
        if (st == SHOAL_OK && t->len == 0 && !eos && word.len == sizeof SHOAL_EOS - 1 &&
            memcmp(word.at, SHOAL_EOS, word.len) == 0) {
            *sentences = count;
            eos = true; /* a second </s> is a word */
            continue;
        }
        if (st == SHOAL_OK && __builtin_add_overflow(total, count, &total))
            st = shoal_fail(SHOAL_EFORMAT, "%s: line %zu: the sum of the counts is over 2^64",
                            r->path, r->line);
        if (st == SHOAL_OK && t->len >= VOCAB_MAX)
            st = shoal_fail(SHOAL_ELIMIT, "%s: more than %u words", r->path, VOCAB_MAX);
        if (st == SHOAL_OK)
            st = tallies_add(t, word, count);
        if (st != SHOAL_OK)
            return st;
    }
    return st;
}

/* Whether the first line may be that of vectors, `V D`, and how many lines it promises. */
static bool is_shape(struct span word, uint64_t *lines)
{
    const char *end = word.at + word.len;

    return number_digits(word.at, end, lines) == end;
}

bool vocab_sniff(const char *at, size_t len, bool whole)
{
    const char *cut = whole || len == 0 ? at + len : memrchr(at, '\n', len);
    struct line_reader r = {"", at, cut ? cut : at, 1};
    uint64_t count, lines = 0, promised = 0;
    bool shape = false, one = false;
    struct span word;

    for (; next_entry(&r, &word, &count) == SHOAL_OK; lines++) {
        if (!word.at)
            return lines > shape && (!one || (whole && promised != lines - 1));
        if (check_entry(&r, word) != SHOAL_OK)
            return false;
        if (lines == 0) {
            shape = is_shape(word, &promised);
            one = shape && count == 1;
        }
    }
    return false;
}

shoal_status shoal_vocab_read_memory(shoal_vocab **out, const struct shoal_memory *lines)
{
    const char *path = lines->name, *at = lines->data;
    size_t len = lines->size;
    struct line_reader r = {path, at, at + len, 1};
    struct tallies t = {0};
    uint64_t sentences = 0;
    shoal_status st = read_entries(&t, &r, &sentences);

    *out = NULL;
    if (st == SHOAL_OK && t.len == 0)
        st = shoal_fail(SHOAL_EFORMAT, "%s: no `word count` line in %zu bytes", path, len);
    if (st == SHOAL_OK)
        qsort_r(t.at, t.len, sizeof *t.at, by_count_then_bytes, t.arena.at);
    if (st == SHOAL_OK)
        st = vocab_new(out, t.len, t.arena.len);
    for (size_t i = 0; i < t.len && st == SHOAL_OK; i++)
        if (!vocab_append(*out, t.arena.at + t.at[i].offset, t.at[i].len, t.at[i].count))
            st = fail_twice((struct line_reader){path, at, at + len, 1}, tally_span(&t, i));
    if (st == SHOAL_OK)
        (*out)->sentences = sentences;
    tallies_fini(&t);
    return vocab_settle(out, st);
}

bool shoal_vocab_recognise(const char *path)
{
    char head[VOCAB_HEAD];
    struct stream *s = NULL;
    struct stat file;
    size_t len = 0;
    bool is;

    /* A pipe would be read, and gone. */
    is = stat(path, &file) == 0 && S_ISREG(file.st_mode) && stream_open(&s, path) == SHOAL_OK &&
         stream_read(s, head, sizeof head, &len) == SHOAL_OK &&
         vocab_sniff(head, len, len < sizeof head);
    stream_close(s);
    return is;
}

shoal_status shoal_vocab_read(shoal_vocab **out, const char *path)
{
    char *data = NULL;
    size_t len = 0;
    shoal_status st = stream_slurp(&data, &len, path, VOCAB_FILE_MAX);

    *out = NULL;
    if (st == SHOAL_OK)
        st = shoal_vocab_read_memory(out, &(struct shoal_memory){path, data, len});
    free(data);
    return st;
}

static shoal_status add_line(struct bytes *b, const char *word, size_t len, uint64_t count)
{
    char digits[24];
    size_t n = sizeof digits;
    shoal_status st = bytes_add(b, word, len);

    digits[--n] = '\n';
    do
        digits[--n] = (char)('0' + count % 10);
    while ((count /= 10) > 0);
    digits[--n] = ' ';
    return st == SHOAL_OK ? bytes_add(b, digits + n, sizeof digits - n) : st;
}

shoal_status shoal_vocab_write(const shoal_vocab *v, const char *path, bool eos)
{
    struct output *o = NULL;
    struct bytes b = {0};
    shoal_status st = SHOAL_OK;

    /* A word of that name may not stand first: it would be read as the line. */
    if (eos || (v->size > 0 && strcmp(shoal_vocab_word(v, 0), SHOAL_EOS) == 0))
        st = add_line(&b, SHOAL_EOS, sizeof SHOAL_EOS - 1, v->sentences);
    for (uint32_t id = 0; id < v->size && st == SHOAL_OK; id++)
        st = add_line(&b, vocab_span(v, id).at, vocab_span(v, id).len, v->counts[id]);
    if (st == SHOAL_OK)
        st = output_open(&o, path);
    if (st == SHOAL_OK)
        st = output_write(o, b.at, b.len);
    st = output_end(o, st);
    bytes_fini(&b);
    return st;
}

uint64_t vocab_fingerprint(const shoal_vocab *vocab)
{
    uint64_t mark = shoal_vocab_size(vocab);

    for (uint32_t id = 0; id < shoal_vocab_size(vocab); id++) {
        for (const char *at = shoal_vocab_word(vocab, id); *at; at++)
            mark = rng_mix(mark ^ (unsigned char)*at);
        mark = rng_mix(mark + RNG_STEP);
    }
    return mark;
}
