/* Encoding: one pass to count (unless a vocabulary is given), one to look up.
 * Threads encode blocks as they come and write them in the order of the input,
 * so the file is the same for any number of threads. */
#include "text/text.h"

#include <stdio.h>
#include <stdlib.h>

struct shoal_corpus {
    struct container *file; /* NULL: the ids are the caller's */
    shoal_vocab *vocab;
    const uint32_t *ids;
    size_t len; /* sentence ends included */
    uint64_t words, sentences;
};

struct shoal_encode_opts shoal_encode_default(void)
{
    return (struct shoal_encode_opts){.vocab = shoal_vocab_default()};
}

/* ---- the plan ---- */

/* A thread's block, raw and as words, of which pairs are the longest, and its ids: one for each
 * two bytes at the most. What is decoded may be half as long again. */
static uint64_t thread_bytes(const struct shoal_vocab_opts *opts)
{
    uint64_t raw = opts->encoding == SHOAL_ENCODING_UTF8 ? 2 * BLOCK_BYTES : 3 * BLOCK_BYTES;
    uint64_t words = opts->tokens == SHOAL_TOKENS_BIGRAMS ? BLOCK_BYTES * 7 / 3
                                                          : BLOCK_BYTES * 3 / 2;

    return raw + words + BLOCK_BYTES * 2;
}

static void make_plan(struct shoal_encode_plan *plan, const char *folder,
                      const struct inputs *inputs, const struct shoal_encode_opts *opts)
{
    uint64_t vocab = opts->vocab.memory, words;

    *plan = (struct shoal_encode_plan){0};
    plan->input_bytes = inputs_bytes(inputs, 0, inputs->len, &plan->streamed);
    /* Text has at most one new word for each six bytes or so, of 64 bytes in
     * the tables; compressed text has four times its size. */
    words = plan->input_bytes * 4 / 6;
    if (!plan->streamed && words * 64 + ((uint64_t)1 << 20) < vocab)
        vocab = words * 64 + ((uint64_t)1 << 20);
    plan->buffer_bytes = pool_threads(opts->vocab.threads) * thread_bytes(&opts->vocab);
    plan->vocab_bytes = opts->given ? 0 : 2 * vocab; /* merging holds tables and totals */
    plan->memory_bytes = plan->buffer_bytes + plan->vocab_bytes;
    plan->memory_free = opts->memory_limit ? opts->memory_limit : mem_available();
    plan->disk_bytes = plan->streamed ? 0 : plan->input_bytes * 7 / 10;
    plan->disk_free = folder_space(folder);
}

static shoal_status check_plan(const struct shoal_encode_plan *plan)
{
    if (plan->memory_bytes > plan->memory_free)
        return shoal_fail(SHOAL_ELIMIT,
                          "encode: needs up to %llu bytes of memory (%llu for counting), "
                          "%llu are free; lower --vocab-memory or --threads",
                          (unsigned long long)plan->memory_bytes,
                          (unsigned long long)plan->vocab_bytes,
                          (unsigned long long)plan->memory_free);
    if (plan->disk_bytes > plan->disk_free)
        return shoal_fail(SHOAL_ELIMIT, "encode: needs about %llu bytes of disk, %llu are free",
                          (unsigned long long)plan->disk_bytes,
                          (unsigned long long)plan->disk_free);
    return SHOAL_OK;
}

shoal_status shoal_encode_plan(struct shoal_encode_plan *plan, const char *path,
                               const char *const *paths, size_t npaths,
                               const struct shoal_encode_opts *opts)
{
    char *folder = path_folder(path);
    struct inputs inputs = {0};
    shoal_status st = folder ? shoal_vocab_check(&opts->vocab) : SHOAL_ENOMEM;

    if (st == SHOAL_OK)
        st = inputs_expand(&inputs, paths, npaths);
    if (st == SHOAL_OK)
        make_plan(plan, folder, &inputs, opts);
    inputs_fini(&inputs);
    free(folder);
    return st;
}

/* ---- encoding ---- */

struct encoder {
    struct text *text;
    const shoal_vocab *vocab;
    struct container_writer *out;
    struct rules rules;
    bool open;                          /* the last id written is a word */
    uint64_t words, sentences, unknown; /* <UNK> among the words */
};

/* Ids of a batch, what is not in the vocabulary left out or <UNK>, and no two
 * sentence ends in a row within the block. */
static void encode_batch(const shoal_vocab *vocab, const struct span *words, size_t n,
                         struct bytes *out)
{
    uint32_t found[512], unk = shoal_vocab_unk(vocab);
    uint32_t *ids = (uint32_t *)(void *)out->at;
    size_t len = out->len / sizeof *ids;

    vocab_find_all(vocab, words, n, found);
    for (size_t i = 0; i < n; i++) {
        uint32_t id = found[i] == SHOAL_NO_ID ? unk : found[i];

        if (words[i].len == 0) {
            if (len == 0 || ids[len - 1] != SHOAL_SENTENCE_END)
                ids[len++] = SHOAL_SENTENCE_END;
        } else if (id != SHOAL_NO_ID) {
            ids[len++] = id;
        }
    }
    out->len = len * sizeof *ids;
}

/* state: the ids of the block, struct bytes. */
static shoal_status encode_block(void *ctx, void *state, unsigned thread, struct scanner *scan,
                                 const struct block *block)
{
    const struct encoder *e = ctx;
    struct bytes *out = state;
    struct span words[512];
    shoal_status st = SHOAL_OK;
    size_t n;

    (void)thread;
    (void)block;
    out->len = 0;
    while (st == SHOAL_OK && (n = scanner_next(scan, words, 512)) > 0) {
        st = bytes_reserve(out, n * sizeof(uint32_t));
        if (st == SHOAL_OK)
            encode_batch(e->vocab, words, n, out);
    }
    return st;
}

static shoal_status append(void *ctx, void *state, unsigned thread)
{
    struct encoder *e = ctx;
    const struct bytes *block = state;
    const uint32_t *ids = (const uint32_t *)(const void *)block->at;
    uint32_t unk = shoal_vocab_unk(e->vocab);
    size_t n = block->len / sizeof *ids, ends = 0, unknown = 0;

    (void)thread;
    if (n > 0 && ids[0] == SHOAL_SENTENCE_END && !e->open)
        ids++, n--; /* ends a sentence of which nothing was kept */
    if (n == 0)
        return SHOAL_OK;
    for (size_t i = 0; i < n; i++) {
        ends += ids[i] == SHOAL_SENTENCE_END;
        unknown += ids[i] == unk;
    }
    e->open = ids[n - 1] != SHOAL_SENTENCE_END;
    e->sentences += ends;
    e->words += n - ends;
    e->unknown += unk == SHOAL_NO_ID ? 0 : unknown;
    return container_write(e->out, ids, n * sizeof *ids);
}

static void ids_fini(void *state)
{
    bytes_fini(state);
}

static shoal_status write_meta(struct encoder *e)
{
    char meta[256];
    int n = snprintf(meta, sizeof meta, "kind corpus\nwords %llu\nsentences %llu\nvocab %zu\n",
                     (unsigned long long)e->words, (unsigned long long)e->sentences,
                     shoal_vocab_size(e->vocab));

    return container_put(e->out, "meta", meta, (size_t)n);
}

static shoal_status encode_to(struct encoder *e, unsigned threads, struct shoal_text_stats *text)
{
    static const struct text_work work = {sizeof(struct bytes), encode_block, append, ids_fini};
    shoal_status st = container_begin(e->out, "ids");

    if (st == SHOAL_OK)
        st = text_run(e->text, threads, &work, e, text);
    if (st == SHOAL_OK && e->words == 0)
        st = shoal_fail(SHOAL_EINVAL, "encode: none of %llu words is in the vocabulary of %zu",
                        (unsigned long long)text->words, shoal_vocab_size(e->vocab));
    if (st == SHOAL_OK)
        st = vocab_save_with(e->vocab, &e->rules, e->out);
    if (st == SHOAL_OK)
        st = write_meta(e);
    return st;
}

/* ---- the whole of it, in steps ---- */

struct encoding {
    struct shoal_encode_opts opts;
    char *path, *folder;
    struct inputs inputs;
    struct text *text;
};

void encoding_close(struct encoding *e)
{
    if (!e)
        return;
    text_close(e->text);
    inputs_fini(&e->inputs);
    free(e->folder);
    free(e->path);
    free(e);
}

/* Spools go to the folder of the output unless another is given: where the output fits,
 * they fit best. */
static shoal_status choose_folder(struct encoding *e, const char *path)
{
    e->path = strdup(path);
    e->folder = path_folder(path);
    if (!e->opts.vocab.tmp_dir)
        e->opts.vocab.tmp_dir = e->folder;
    return e->path && e->folder ? SHOAL_OK : shoal_fail(SHOAL_ENOMEM, "memory: no room for a path");
}

static shoal_status encoding_check(const struct encoding *e)
{
    struct shoal_encode_plan plan;

    make_plan(&plan, e->folder, &e->inputs, &e->opts);
    return check_plan(&plan);
}

shoal_status encoding_open(struct encoding **out, const char *path, const struct sources *from,
                           const struct shoal_encode_opts *opts)
{
    struct encoding *e = mem_array(1, sizeof *e);
    shoal_status st = e ? shoal_vocab_check(&opts->vocab) : SHOAL_ENOMEM;

    *out = NULL;
    if (st == SHOAL_OK) {
        e->opts = *opts;
        st = choose_folder(e, path);
    }
    if (st == SHOAL_OK)
        st = inputs_open(&e->inputs, from);
    if (st == SHOAL_OK)
        st = encoding_check(e);
    if (st == SHOAL_OK)
        st = text_open(&e->text, &e->inputs, &e->opts.vocab, !opts->given,
                       opts->given ? "encode" : "count");
    if (st != SHOAL_OK) {
        encoding_close(e);
        return st;
    }
    *out = e;
    return SHOAL_OK;
}

shoal_status encoding_part(struct encoding *e, unsigned i, unsigned n)
{
    struct cut from, to;
    shoal_status st = text_cut(&from, &e->inputs, &e->opts.vocab, i, n);

    if (st == SHOAL_OK)
        st = text_cut(&to, &e->inputs, &e->opts.vocab, i + 1, n);
    if (st == SHOAL_OK)
        text_limit(e->text, &from, &to);
    return st;
}

struct text *encoding_text(struct encoding *e)
{
    return e->text;
}

const struct shoal_vocab_opts *encoding_opts(const struct encoding *e)
{
    return &e->opts.vocab;
}

shoal_status encoding_write(struct encoding *e, const shoal_vocab *vocab,
                            struct shoal_encode_stats *stats)
{
    struct encoder to = {.text = e->text, .vocab = vocab, .rules = rules_of(&e->opts.vocab)};
    struct shoal_text_stats read = {0};
    double began = clock_now();
    shoal_status st = container_create(&to.out, e->path);

    if (st == SHOAL_OK)
        st = encode_to(&to, pool_threads(e->opts.vocab.threads), &read);
    if (e->opts.given) {
        stats->vocab.text = read;
        stats->vocab.size = shoal_vocab_size(vocab);
        stats->vocab.kept_words = to.words - to.unknown;
    }
    stats->ids = to.words;
    stats->sentences = to.sentences;
    st = container_end(to.out, st);
    if (st == SHOAL_OK)
        stats->file_bytes = path_size(e->path);
    stats->encode_seconds = clock_now() - began;
    return st;
}

shoal_status encoding_rewind(struct encoding *e, const struct shoal_text_stats *counted)
{
    shoal_status st = text_rewind(e->text, "encode");

    if (counted)
        text_expect_bytes(e->text, counted->bytes);
    return st;
}

/* Counts first, and then again from the first byte. */
static shoal_status count_first(struct encoding *e, shoal_vocab **made,
                                struct shoal_encode_stats *stats)
{
    double began = clock_now();
    shoal_status st = vocab_count(made, e->text, &e->opts.vocab, &stats->vocab);

    stats->count_seconds = clock_now() - began;
    return st == SHOAL_OK ? encoding_rewind(e, NULL) : st;
}

static shoal_status encode(const char *path, const struct sources *from,
                           const struct shoal_encode_opts *opts, struct shoal_encode_stats *stats)
{
    struct shoal_encode_stats own = {0};
    struct encoding *e = NULL;
    shoal_vocab *made = NULL;
    shoal_status st = encoding_open(&e, path, from, opts);

    if (st == SHOAL_OK && !opts->given)
        st = count_first(e, &made, &own);
    if (st == SHOAL_OK)
        st = encoding_write(e, opts->given ? opts->given : made, &own);
    if (stats)
        *stats = own;
    shoal_vocab_free(made);
    encoding_close(e);
    return st;
}

shoal_status shoal_encode(const char *path, const char *const *paths, size_t npaths,
                          const struct shoal_encode_opts *opts, struct shoal_encode_stats *stats)
{
    return encode(path, &(struct sources){.paths = paths, .n = npaths}, opts, stats);
}

shoal_status shoal_encode_memory(const char *path, const struct shoal_memory *blocks, size_t n,
                                 const struct shoal_encode_opts *opts,
                                 struct shoal_encode_stats *stats)
{
    return encode(path, &(struct sources){.blocks = blocks, .n = n}, opts, stats);
}

/* ---- reading it back ---- */

/* Every id below the vocabulary's size; counts words and sentence ends. */
static shoal_status check_ids(struct shoal_corpus *c, const char *who)
{
    uint32_t size = (uint32_t)shoal_vocab_size(c->vocab);

    for (size_t i = 0; i < c->len; i++) {
        uint32_t id = c->ids[i];

        c->sentences += id == SHOAL_SENTENCE_END;
        if (id >= size && id != SHOAL_SENTENCE_END)
            return shoal_fail(SHOAL_EFORMAT, "%s: id %u at place %zu, want less than %u",
                              who, id, i, size);
    }
    c->words = c->len - c->sentences;
    return SHOAL_OK;
}

static shoal_status check_corpus(struct shoal_corpus *c)
{
    struct section ids = {0};
    shoal_status st = container_verify(c->file, pool_threads(0));

    if (st == SHOAL_OK)
        st = container_check_kind(c->file, "corpus", "a corpus");
    if (st == SHOAL_OK)
        st = vocab_load(&c->vocab, c->file);
    if (st == SHOAL_OK)
        st = container_find(c->file, "ids", sizeof(uint32_t), &ids);
    c->ids = ids.data;
    c->len = ids.size / sizeof(uint32_t);
    return st == SHOAL_OK ? check_ids(c, container_path(c->file)) : st;
}

/* From the file at `path`, or from a copy of `bytes`. */
static shoal_status corpus_load(shoal_corpus **out, const char *path,
                                const struct shoal_memory *bytes)
{
    struct shoal_corpus *c = mem_array(1, sizeof *c);
    shoal_status st = SHOAL_ENOMEM;

    *out = NULL;
    if (c)
        st = path ? container_map(&c->file, path) : container_open_copy(&c->file, bytes);
    if (st == SHOAL_OK)
        st = check_corpus(c);
    if (st == SHOAL_OK)
        *out = c;
    else
        shoal_corpus_close(c);
    return st;
}

shoal_status shoal_corpus_open(shoal_corpus **out, const char *path)
{
    return corpus_load(out, path, NULL);
}

shoal_status shoal_corpus_open_memory(shoal_corpus **out, const struct shoal_memory *bytes)
{
    return corpus_load(out, NULL, bytes);
}

shoal_status shoal_corpus_new(shoal_corpus **out, const shoal_vocab *vocab, const uint32_t *ids,
                              size_t n)
{
    struct shoal_corpus *c = mem_array(1, sizeof *c);
    shoal_status st = c ? vocab_copy(&c->vocab, vocab) : SHOAL_ENOMEM;

    *out = NULL;
    if (st == SHOAL_OK) {
        c->ids = ids;
        c->len = n;
        st = check_ids(c, "corpus");
    }
    if (st == SHOAL_OK && c->words == 0)
        st = shoal_fail(SHOAL_EINVAL, "corpus: found no word among %zu ids, want 1 or more", n);
    if (st == SHOAL_OK)
        *out = c;
    else
        shoal_corpus_close(c);
    return st;
}

void shoal_corpus_close(shoal_corpus *c)
{
    if (!c)
        return;
    shoal_vocab_free(c->vocab);
    container_close(c->file);
    free(c);
}

const shoal_vocab *shoal_corpus_vocab(const shoal_corpus *c)
{
    return c->vocab;
}

uint64_t shoal_corpus_words(const shoal_corpus *c)
{
    return c->words;
}

uint64_t shoal_corpus_sentences(const shoal_corpus *c)
{
    return c->sentences;
}

uint64_t shoal_corpus_fingerprint(const shoal_corpus *c)
{
    if (c->file)
        return container_fingerprint(c->file);
    return bytes_hash(vocab_fingerprint(c->vocab), c->ids, c->len * sizeof *c->ids);
}

static size_t part_begin(size_t len, size_t i, size_t n)
{
    return (size_t)((unsigned __int128)len * i / n);
}

shoal_status shoal_corpus_part(const shoal_corpus *c, size_t i, size_t n, const uint32_t **ids,
                               size_t *count)
{
    size_t begin;

    if (i >= n)
        return shoal_fail(SHOAL_EINVAL, "corpus: part %zu of %zu, want 0 to %zu", i, n,
                          n ? n - 1 : 0);
    begin = part_begin(c->len, i, n);
    *ids = c->ids + begin;
    *count = part_begin(c->len, i + 1, n) - begin;
    return SHOAL_OK;
}
