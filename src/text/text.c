/* Many inputs as one sequence of blocks. Reading and cutting happen under a
 * lock and cost little beside what the threads then do with a block: checking,
 * lower-casing and finding its words.
 *
 *     input    the cat sat\non the mat\nand th:e end\n      read up to the colon
 *              '------- block 0 -------''----'
 *                                       carried to block 1
 *
 * A block ends behind the last newline read, else behind the last separator, so no word is
 * cut in two; what is read behind the cut is carried to the next block. Without a
 * separator in a whole block the word is too long to count and is dropped. */
#include "text/text.h"

#include <pthread.h>
#include <stdlib.h>

struct bad {
    bool found;
    uint64_t seq, offset; /* of the block; of the byte in its input */
    size_t input;
    unsigned char byte;
};

struct text {
    pthread_mutex_t lock;
    struct input_reader in;
    enum shoal_tokens tokens;
    enum shoal_bad_bytes bad_bytes;
    struct shoal_watch watch;

    struct cut from, to; /* what is to be read */
    uint64_t left;       /* of the input being read, before its cut */
    bool reading;        /* an input is open, or its copy in the spool */
    uint64_t offset;     /* in the input, of the first byte of carry */
    struct bytes carry;  /* read, but behind the last cut */
    bool inside;         /* the last cut was within a line */
    bool skipping;       /* within a word that is too long */

    struct spool spool;
    bool replay;          /* read the spool instead of what it holds */
    uint64_t *spool_size; /* [inputs] bytes in the spool */
    uint64_t spool_at;    /* where it is read */
    uint64_t spool_left;  /* of the input being replayed */

    uint64_t seq, first_bytes;
    struct shoal_text_stats stats;
    struct bad bad;
    bool stop; /* after any failure: hand out no more */
};

/* Bytes on disk to be read; 0 when unknown. */
static uint64_t total_size(const struct text *t)
{
    bool once;
    uint64_t whole = inputs_bytes(t->in.inputs, t->from.input, t->to.input, &once);

    return once ? 0 : whole + t->to.offset - t->from.offset;
}

static const struct input *current(const struct text *t)
{
    return &t->in.inputs->at[t->in.at];
}

const char *text_input(const struct text *t, size_t i)
{
    return input_name(&t->in.inputs->at[i]);
}

shoal_status text_open(struct text **out, const struct inputs *inputs,
                       const struct shoal_vocab_opts *opts, bool again, const char *phase)
{
    struct text *t = mem_array(1, sizeof *t);
    shoal_status st = SHOAL_OK;
    bool once;

    *out = NULL;
    if (!t)
        return SHOAL_ENOMEM;
    pthread_mutex_init(&t->lock, NULL);
    t->in.inputs = inputs;
    t->tokens = opts->tokens;
    t->bad_bytes = opts->bad_bytes;
    t->watch = opts->watch;
    t->spool = SPOOL_NONE;
    t->to.input = inputs->len;
    inputs_bytes(inputs, 0, inputs->len, &once);
    if (again && once) {
        t->spool_size = mem_array(inputs->len, sizeof *t->spool_size);
        st = t->spool_size ? spool_open(&t->spool, opts->tmp_dir) : SHOAL_ENOMEM;
    }
    if (st != SHOAL_OK) {
        text_close(t);
        return st;
    }
    input_reader_begin(&t->in, &t->watch, phase, total_size(t));
    *out = t;
    return SHOAL_OK;
}

void text_limit(struct text *t, const struct cut *from, const struct cut *to)
{
    t->from = *from;
    t->to = *to;
    t->in.at = from->input;
    t->in.pulse.total = total_size(t);
}

void text_close(struct text *t)
{
    if (!t)
        return;
    stream_close(t->in.stream);
    spool_close(&t->spool);
    bytes_fini(&t->carry);
    free(t->spool_size);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

void block_fini(struct block *b)
{
    bytes_fini(&b->raw);
    bytes_fini(&b->lower);
}

void text_range(const struct text *t, struct cut *from, struct cut *to, size_t *inputs)
{
    *from = t->from;
    *to = t->to;
    *inputs = t->in.inputs->len;
}

shoal_status text_rewind(struct text *t, const char *phase)
{
    t->reading = t->inside = t->skipping = t->stop = false;
    t->from = (struct cut){0};
    t->to = (struct cut){.input = t->in.inputs->len};
    t->carry.len = 0;
    t->replay = t->spool.fd >= 0;
    t->spool_at = t->seq = 0;
    t->first_bytes = t->stats.bytes;
    t->stats = (struct shoal_text_stats){0};
    input_reader_begin(&t->in, &t->watch, phase, total_size(t));
    return SHOAL_OK;
}

void text_expect_bytes(struct text *t, uint64_t bytes)
{
    t->first_bytes = bytes;
}

/* ---- reading, under the lock ---- */

static bool from_spool(const struct text *t)
{
    return t->replay && !current(t)->regular;
}

/* The first input may begin, and the last one end, within. */
static struct cut begin_of(const struct text *t)
{
    return t->in.at == t->from.input ? t->from : (struct cut){.input = t->in.at};
}

static bool is_cut(const struct text *t)
{
    return t->in.at == t->to.input;
}

static bool any_left(const struct text *t)
{
    return t->in.at < t->to.input || (is_cut(t) && begin_of(t).offset < t->to.offset);
}

static shoal_status open_input(struct text *t)
{
    struct cut begin = begin_of(t);
    shoal_status st = SHOAL_OK;

    if (from_spool(t))
        t->spool_left = t->spool_size[t->in.at];
    else
        st = input_reader_open(&t->in);
    if (st == SHOAL_OK && begin.offset > 0)
        st = stream_seek(t->in.stream, begin.offset);
    t->reading = st == SHOAL_OK;
    t->offset = begin.offset;
    t->left = is_cut(t) ? t->to.offset - begin.offset : UINT64_MAX;
    t->carry.len = 0;
    t->inside = begin.inside;
    t->skipping = false;
    return st;
}

static void close_input(struct text *t)
{
    t->reading = false;
    t->stats.files += !is_cut(t);
    input_reader_next(&t->in);
}

/* What can be read only once, for the second reading. */
static shoal_status spool_input(struct text *t, const char *at, size_t len)
{
    t->spool_size[t->in.at] += len;
    return spool_add(&t->spool, at, len, input_name(current(t)));
}

static shoal_status read_spooled(struct text *t, char *at, size_t cap, size_t *got)
{
    uint64_t from = t->spool_at;

    *got = t->spool_left < cap ? (size_t)t->spool_left : cap;
    t->spool_at += *got;
    t->spool_left -= *got;
    return spool_read(&t->spool, from, at, *got, input_name(current(t)));
}

/* Appends up to a block of new bytes to raw; *end when the input is through. */
static shoal_status read_more(struct text *t, struct bytes *raw, bool *end)
{
    size_t got = 0, cap = t->left < BLOCK_BYTES ? (size_t)t->left : BLOCK_BYTES;
    shoal_status st = bytes_reserve(raw, BLOCK_BYTES + BLOCK_PAD);

    if (st != SHOAL_OK)
        return st;
    st = from_spool(t) ? read_spooled(t, raw->at + raw->len, cap, &got)
                       : stream_read(t->in.stream, raw->at + raw->len, cap, &got);
    if (st == SHOAL_OK && t->spool.fd >= 0 && !t->replay && !current(t)->regular)
        st = spool_input(t, raw->at + raw->len, got);
    if (st != SHOAL_OK)
        return st;
    t->left -= t->left == UINT64_MAX ? 0 : got;
    *end = got < cap || t->left == 0;
    t->stats.bytes += got;
    raw->len += got;
    return SHOAL_OK;
}

static void note_bad(struct text *t, const struct bad *bad)
{
    if (!t->bad.found || bad->seq < t->bad.seq)
        t->bad = *bad;
    t->stop = true;
}

static shoal_status fail_bad(const struct text *t, const struct bad *bad)
{
    return shoal_fail(SHOAL_EFORMAT, "%s: byte 0x%02x at offset %llu is not UTF-8 text",
                      text_input(t, bad->input), bad->byte, (unsigned long long)bad->offset);
}

/* Where a block may end: behind the last newline, else behind the last
 * separator, else nowhere (0). */
static size_t find_cut(const struct text *t, const struct bytes *raw)
{
    const char *line = memrchr(raw->at, '\n', raw->len);

    return line ? (size_t)(line + 1 - raw->at) : clean_last_break(raw->at, raw->len, t->tokens);
}

/* Turns bad bytes into spaces, or fails at the first. */
static shoal_status clean_block(struct text *t, char *at, size_t len, struct bad *where,
                                uint64_t *replaced)
{
    uint64_t base = where->offset;
    size_t i = 0;

    while ((i += clean_find_bad(at + i, len - i)) < len) {
        where->found = true;
        where->offset = base + i;
        where->byte = (unsigned char)at[i];
        if (t->bad_bytes == SHOAL_BAD_REFUSE)
            return fail_bad(t, where);
        at[i++] = ' ';
        ++*replaced;
    }
    return SHOAL_OK;
}

/* The length without a character that the end cuts in two. */
static size_t whole_chars(const char *at, size_t len)
{
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        unsigned char c = (unsigned char)at[len - back];
        size_t size = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

        if ((c & 0xc0) != 0x80)
            return size > back ? len - back : len;
    }
    return len;
}

/* A whole block without a place to cut holds part of one over-long word: drop
 * it, count the word once, and go on behind it. What is dropped is made clean
 * here; bad bytes that became spaces may offer a place to cut after all. */
static shoal_status pass_long_word(struct text *t, struct bytes *raw, bool last)
{
    struct bad where = {.seq = t->seq, .offset = t->offset, .input = t->in.at};
    size_t len = last ? raw->len : whole_chars(raw->at, raw->len), end;
    shoal_status st = clean_block(t, raw->at, len, &where, &t->stats.bad_bytes);

    if (st != SHOAL_OK) {
        note_bad(t, &where);
        return st;
    }
    if (!t->skipping && find_cut(t, raw) > 0)
        return SHOAL_OK;
    end = clean_first_break(raw->at, len, t->tokens);
    if (!t->skipping)
        t->stats.long_words++;
    t->skipping = end == len;
    t->offset += end;
    memmove(raw->at, raw->at + end, raw->len - end);
    raw->len -= end;
    return SHOAL_OK;
}

static shoal_status fill_block(struct text *t, struct block *b, bool *end)
{
    struct bytes *raw = &b->raw;
    size_t cut = 0;
    shoal_status st;

    raw->len = 0;
    st = bytes_add(raw, t->carry.at, t->carry.len);
    t->carry.len = 0;
    while (st == SHOAL_OK && cut == 0 && !*end) {
        st = read_more(t, raw, end);
        if (st != SHOAL_OK)
            return st;
        if (t->offset == 0)
            t->offset = input_drop_mark(raw);
        cut = *end ? raw->len : find_cut(t, raw);
        if (t->skipping || (cut == 0 && raw->len > SHOAL_WORD_MAX)) {
            st = pass_long_word(t, raw, *end);
            cut = find_cut(t, raw);
        }
    }
    if (st == SHOAL_OK && *end)
        cut = raw->len;
    if (st == SHOAL_OK)
        st = bytes_add(&t->carry, raw->at + cut, raw->len - cut);
    raw->len = cut;
    return st;
}

/* Makes the text of a block out of what was read. */
static shoal_status prepare_block(struct text *t, struct block *b, struct bad *where,
                                  uint64_t *replaced)
{
    shoal_status st = clean_block(t, b->raw.at, b->raw.len, where, replaced);

    if (st == SHOAL_OK && t->tokens == SHOAL_TOKENS_WORDS)
        st = clean_words(b->raw.at, b->raw.len, &b->lower);
    if (st == SHOAL_OK)
        st = bytes_reserve(&b->raw, BLOCK_PAD);
    b->text = t->tokens == SHOAL_TOKENS_WORDS ? b->lower.at : b->raw.at;
    b->len = t->tokens == SHOAL_TOKENS_WORDS ? b->lower.len : b->raw.len;
    return st;
}

/* Whether the next block begins within a sentence. A block that does not end a
 * line is part of one longer than a block, and without a newline: then all
 * depends on whether it holds a word, which the first 64 bytes mostly tell. */
static shoal_status follow_line(struct text *t, struct block *b, struct bad where)
{
    struct scanner scan = {0};
    struct span words[SPANS_MIN];
    shoal_status st;

    if (b->last || b->raw.len == 0)
        return SHOAL_OK;
    if (b->raw.at[b->raw.len - 1] == '\n' || t->inside) {
        t->inside = b->raw.at[b->raw.len - 1] != '\n';
        return SHOAL_OK;
    }
    st = prepare_block(t, b, &where, &t->stats.bad_bytes);
    if (where.found && t->bad_bytes == SHOAL_BAD_REFUSE)
        note_bad(t, &where);
    if (st != SHOAL_OK)
        return st;
    scanner_begin(&scan, b);
    while (scan.words == 0 && scanner_next(&scan, words, SPANS_MIN) > 0)
        ;
    t->inside = scan.words > 0;
    return SHOAL_OK;
}

/* The next block of the input, with its number and its place for failures. */
static shoal_status take_block(struct text *t, struct block *b, struct bad *where, bool *more)
{
    bool end = false;
    shoal_status st = SHOAL_OK;

    *more = !t->stop && any_left(t);
    if (!*more)
        return SHOAL_OK;
    if (!t->reading)
        st = open_input(t);
    if (st == SHOAL_OK)
        st = fill_block(t, b, &end);
    if (st != SHOAL_OK)
        return st;
    *where = (struct bad){.seq = t->seq, .offset = t->offset, .input = t->in.at};
    t->offset += b->raw.len;
    b->seq = t->seq++;
    b->inside = t->inside;
    b->last = end && !is_cut(t);
    st = follow_line(t, b, *where);
    if (st != SHOAL_OK)
        return st;
    if (end)
        close_input(t);
    return input_reader_pulse(&t->in);
}

shoal_status text_next(struct text *t, struct block *b, bool *more)
{
    struct bad where = {0};
    uint64_t replaced = 0;
    shoal_status st;

    pthread_mutex_lock(&t->lock);
    st = take_block(t, b, &where, more);
    if (st != SHOAL_OK)
        t->stop = true;
    pthread_mutex_unlock(&t->lock);
    if (st != SHOAL_OK || !*more)
        return st;

    st = prepare_block(t, b, &where, &replaced);
    if (where.found) {
        pthread_mutex_lock(&t->lock);
        t->stats.bad_bytes += replaced;
        if (t->bad_bytes == SHOAL_BAD_REFUSE)
            note_bad(t, &where);
        pthread_mutex_unlock(&t->lock);
    }
    return st;
}

void text_add_scanned(struct text *t, const struct scanner *s)
{
    pthread_mutex_lock(&t->lock);
    t->stats.words += s->words;
    t->stats.sentences += s->sentences;
    t->stats.long_words += s->long_words;
    pthread_mutex_unlock(&t->lock);
}

shoal_status text_end(struct text *t, shoal_status st, struct shoal_text_stats *stats)
{
    if (t->bad.found)
        return fail_bad(t, &t->bad);
    if (st == SHOAL_OK && t->first_bytes > 0 && t->stats.bytes != t->first_bytes)
        st = shoal_fail(SHOAL_EIO, "input: %llu bytes when first read, %llu now: it changed",
                        (unsigned long long)t->first_bytes, (unsigned long long)t->stats.bytes);
    if (st == SHOAL_OK)
        st = pulse_end(&t->in.pulse, t->in.consumed);
    if (stats)
        *stats = t->stats;
    return st;
}

/* ---- all blocks, by many threads ---- */

struct text_job {
    struct text *text;
    const struct text_work *work;
    void *ctx;
    struct ordered ordered;
};

static shoal_status run_ordered(struct text_job *job, void *state, unsigned thread, uint64_t seq,
                                bool *more)
{
    shoal_status st = SHOAL_OK;

    *more = ordered_begin(&job->ordered, seq);
    if (*more) {
        st = job->work->ordered(job->ctx, state, thread);
        ordered_end(&job->ordered, st);
    }
    return st;
}

static shoal_status run_thread(void *arg, unsigned thread)
{
    struct text_job *job = arg;
    const struct text_work *work = job->work;
    struct scanner scan = {0};
    struct block block = {0};
    void *state = mem_array(1, work->state);
    shoal_status st = state ? SHOAL_OK : SHOAL_ENOMEM;
    bool more = true;

    while (st == SHOAL_OK && more) {
        st = text_next(job->text, &block, &more);
        if (st != SHOAL_OK || !more)
            break;
        scanner_begin(&scan, &block);
        st = work->block(job->ctx, state, thread, &scan, &block);
        if (st == SHOAL_OK && work->ordered)
            st = run_ordered(job, state, thread, block.seq, &more);
    }
    if (st != SHOAL_OK)
        ordered_stop(&job->ordered);
    text_add_scanned(job->text, &scan);
    block_fini(&block);
    if (state && work->fini)
        work->fini(state);
    free(state);
    return st;
}

shoal_status text_run(struct text *t, unsigned threads, const struct text_work *work, void *ctx,
                      struct shoal_text_stats *stats)
{
    struct text_job job = {.text = t, .work = work, .ctx = ctx};
    shoal_status st;

    ordered_init(&job.ordered);
    st = text_end(t, pool_run(threads, run_thread, &job), stats);
    ordered_fini(&job.ordered);
    return st;
}
