/* Many inputs as one sequence of blocks. Reading and cutting happen under a
 * lock and cost little beside what the threads then do with a block: checking,
 * lower-casing and finding its words.
 *
 *     input    the cat sat\non the mat\nand th:e end\n      read up to the colon
 *              '------- block 0 -------''----'
 *                                       carried to block 1
 *
 * A block ends behind the last line end read, else behind the last separator, else where a word
 * begins without one (segment.c), so no word is cut in two; what is read behind the cut is
 * carried to the next block. Without such a place in a whole block the word is too long to count
 * and is dropped.
 *
 * What is not UTF-8 becomes UTF-8 right behind the reading (decode.c); all places in an input
 * are those of its UTF-8 from there on. */
#include "text/text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct bad {
    bool found;
    uint64_t seq, offset; /* of the block; of the byte in its input */
    size_t input;
    unsigned char byte[3]; /* the first one; 0 behind the end */
    enum coding coding;
    const char *advice;
};

struct text {
    pthread_mutex_t lock;
    struct input_reader in;
    struct shoal_vocab_opts opts;
    struct rules rules;

    struct cut from, to; /* what is to be read */
    uint64_t left;       /* of the input being read, before its cut */
    bool reading;        /* an input is open, or its copy in the spool */
    bool fresh;          /* nothing of it was read */
    struct decoder decoder;
    struct bytes coded;  /* read, to be decoded */
    uint64_t offset;     /* in the input, of the first byte of carry */
    struct bytes carry;  /* read, but behind the last cut */
    bool inside;         /* the last cut was within a line */
    bool skipping;       /* within a word that is too long */
    bool pair;           /* the last cut was between two characters of a pair */

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
    t->opts = *opts;
    t->rules = rules_of(opts);
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
    input_reader_begin(&t->in, &t->opts.watch, phase, total_size(t));
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
    bytes_fini(&t->coded);
    free(t->spool_size);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

void block_fini(struct block *b)
{
    bytes_fini(&b->raw);
    bytes_fini(&b->words);
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
    input_reader_begin(&t->in, &t->opts.watch, phase, total_size(t));
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
    t->skipping = t->pair = false;
    t->fresh = true;
    t->decoder = (struct decoder){.coding = CODING_UTF8};
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

/* Appends up to a block of bytes as they are stored; *end when the input is through. */
static shoal_status read_stored(struct text *t, struct bytes *to, bool *end)
{
    size_t got = 0, cap = t->left < BLOCK_BYTES ? (size_t)t->left : BLOCK_BYTES;
    shoal_status st = bytes_reserve(to, BLOCK_BYTES + BLOCK_PAD);

    if (st != SHOAL_OK)
        return st;
    st = from_spool(t) ? read_spooled(t, to->at + to->len, cap, &got)
                       : stream_read(t->in.stream, to->at + to->len, cap, &got);
    if (st == SHOAL_OK && t->spool.fd >= 0 && !t->replay && !current(t)->regular)
        st = spool_input(t, to->at + to->len, got);
    if (st != SHOAL_OK)
        return st;
    t->left -= t->left == UINT64_MAX ? 0 : got;
    *end = got < cap || t->left == 0;
    t->stats.bytes += got;
    to->len += got;
    return SHOAL_OK;
}

/* The first bytes of an input say how it is encoded. Where only a part of it is read it was found
 * to be UTF-8 (cut.c). */
static shoal_status begin_decoding(struct text *t, struct bytes *raw)
{
    struct cut begin = begin_of(t);
    shoal_status st = SHOAL_OK;

    t->fresh = false;
    if (begin.offset > 0 || (is_cut(t) && t->opts.encoding == SHOAL_ENCODING_AUTO))
        return SHOAL_OK;
    st = decoder_begin(&t->decoder, &t->opts, input_name(current(t)), raw->at, raw->len);
    if (st != SHOAL_OK || t->decoder.coding == CODING_UTF8)
        return st;
    t->coded.len = 0;
    st = bytes_add(&t->coded, raw->at, raw->len);
    raw->len = 0;
    return st;
}

/* Appends new bytes of UTF-8, or what is taken for it, to raw. */
static shoal_status read_more(struct text *t, struct bytes *raw, bool *end)
{
    bool fresh = t->fresh;
    struct bytes *to = t->decoder.coding == CODING_UTF8 ? raw : &t->coded;
    shoal_status st;

    t->coded.len = 0;
    st = read_stored(t, to, end);
    if (st == SHOAL_OK && fresh)
        st = begin_decoding(t, raw);
    if (st == SHOAL_OK && t->decoder.coding != CODING_UTF8)
        st = decoder_add(&t->decoder, t->coded.at, t->coded.len, *end, raw);
    if (st == SHOAL_OK)
        st = bytes_reserve(raw, BLOCK_PAD);
    if (st == SHOAL_OK && fresh && begin_of(t).offset == 0) {
        t->offset = input_drop_mark(raw);
        if (t->in.at == 0)
            t->stats.unspaced = segment_unspaced(raw->at, raw->len, &t->rules);
    }
    return st;
}

/* ---- bytes that are not UTF-8 ---- */

/* Line ends of the next bytes; *before is the last one of those before. */
static uint64_t count_lines(const char *at, size_t len, char *before)
{
    uint64_t lines = 0;

    for (size_t i = 0; i < len; i++) {
        lines += at[i] == '\r' || (at[i] == '\n' && *before != '\r');
        *before = at[i];
    }
    return lines;
}

/* The next piece of an input that is read once more, in UTF-8. */
static shoal_status read_again(const struct text *t, const struct input *in, struct stream *s,
                               struct decoder *d, struct bytes *coded, struct bytes *out)
{
    bool first = !coded->at;
    shoal_status st = bytes_reserve(coded, BLOCK_BYTES);

    out->len = 0;
    if (st == SHOAL_OK)
        st = stream_read(s, coded->at, BLOCK_BYTES, &coded->len);
    if (st == SHOAL_OK && first)
        st = decoder_begin(d, &t->opts, input_name(in), coded->at, coded->len);
    if (st != SHOAL_OK)
        return st;
    if (d->coding == CODING_UTF8)
        return bytes_add(out, coded->at, coded->len);
    return decoder_add(d, coded->at, coded->len, coded->len < BLOCK_BYTES, out);
}

/* The line of a bad byte, and what its surroundings look like, found by reading the input once
 * more: nobody counts lines while all is well, and several readers part a text into other blocks
 * than one. 0 when it cannot be read again. */
static uint64_t line_of(const struct text *t, struct bad *bad)
{
    const struct input *in = &t->in.inputs->at[bad->input];
    struct bytes coded = {0}, out = {0};
    struct decoder d = {0};
    struct stream *s = NULL;
    uint64_t left = bad->offset, lines = 1;
    char before = '\0';
    shoal_status st = in->regular ? stream_open_input(&s, in) : SHOAL_EINVAL;

    if (st == SHOAL_OK)
        st = read_again(t, in, s, &d, &coded, &out);
    while (st == SHOAL_OK && left >= out.len && out.len > 0) {
        lines += count_lines(out.at, out.len, &before);
        left -= out.len;
        st = read_again(t, in, s, &d, &coded, &out);
    }
    if (st == SHOAL_OK && left < out.len) {
        lines += count_lines(out.at, (size_t)left, &before);
        bad->advice = decode_advice(out.at, out.len, coded.len < BLOCK_BYTES);
    } else {
        lines = 0;
    }
    stream_close(s);
    bytes_fini(&coded);
    bytes_fini(&out);
    return lines;
}

static void note_bad(struct text *t, const struct bad *bad)
{
    if (!t->bad.found || bad->seq < t->bad.seq)
        t->bad = *bad;
    t->stop = true;
}

/* "FILE:LINE", or "FILE" where the line is not known. */
static void print_place(char *place, size_t cap, const struct text *t, struct bad *bad)
{
    uint64_t line = line_of(t, bad);

    if (line > 0)
        snprintf(place, cap, "%s:%llu", text_input(t, bad->input), (unsigned long long)line);
    else
        snprintf(place, cap, "%s", text_input(t, bad->input));
}

static shoal_status fail_utf16(const char *place, const struct bad *bad)
{
    static const char advice[] = "--bad-bytes space reads it as a space";

    if (bad->byte[0] != 0xed)
        return shoal_fail(SHOAL_EFORMAT, "%s: ends with half of a unit of UTF-16: %s", place,
                          advice);
    return shoal_fail(SHOAL_EFORMAT, "%s: unit 0x%04x of UTF-16 is half of a pair without the "
                      "other: %s", place,
                      0xd000u | (bad->byte[1] & 0x3fu) << 6 | (bad->byte[2] & 0x3fu), advice);
}

static shoal_status fail_bad(const struct text *t, struct bad bad)
{
    char place[512];

    print_place(place, sizeof place, t, &bad);
    if (bad.coding != CODING_UTF8)
        return fail_utf16(place, &bad);
    return shoal_fail(SHOAL_EFORMAT, "%s: byte 0x%02x at offset %llu is not UTF-8: %s", place,
                      bad.byte[0], (unsigned long long)bad.offset, bad.advice);
}

/* Where a block ends, and where the next one begins: earlier where a pair goes over the cut. */
struct seam {
    size_t end, next;
};

/* Of a block whose end is not that of its input: behind the last line end, else behind the last
 * separator, else where a word begins, else nowhere (0). */
static struct seam find_seam(const struct text *t, const struct bytes *raw)
{
    size_t len = clean_whole(raw->at, raw->len), next;
    size_t end = clean_last_line(raw->at, raw->len);

    if (end == 0)
        end = clean_last_break(raw->at, len, &t->rules);
    next = end;
    if (end == 0 && segment_has_seams(&t->rules))
        end = segment_last_seam(raw->at, len, &t->rules, &next);
    return (struct seam){end, next};
}

/* Bytes of a word that is dropped that are not UTF-8. */
static uint64_t count_bad(const char *at, size_t len)
{
    uint64_t bad = 0;

    for (size_t i = 0; (i += clean_find(at + i, len - i)) < len; i++)
        bad++;
    return bad;
}

/* A whole block without a place to cut holds part of one over-long word: drop it, count the word
 * once, and go on behind it. Bytes that are refused separate, so there are none in it. */
static void pass_long_word(struct text *t, struct bytes *raw, bool last)
{
    size_t len = last ? raw->len : clean_whole(raw->at, raw->len);
    size_t end = segment_has_seams(&t->rules) ? segment_first_end(raw->at, len, &t->rules)
                                              : clean_first_break(raw->at, len, &t->rules);

    if (!t->skipping)
        t->stats.long_words++;
    t->skipping = end == len;
    t->stats.bad_bytes += count_bad(raw->at, end);
    t->offset += end;
    memmove(raw->at, raw->at + end, raw->len - end);
    raw->len -= end;
}

/* Reads until there is a place to end the block. */
static shoal_status read_block(struct text *t, struct bytes *raw, struct seam *seam, bool *end)
{
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && seam->end == 0 && !*end) {
        st = read_more(t, raw, end);
        if (st != SHOAL_OK)
            return st;
        *seam = *end ? (struct seam){raw->len, raw->len} : find_seam(t, raw);
        if (t->skipping || (seam->end == 0 && raw->len > SHOAL_WORD_MAX)) {
            pass_long_word(t, raw, *end);
            *seam = find_seam(t, raw);
        }
    }
    if (*end)
        *seam = (struct seam){raw->len, raw->len};
    return st;
}

static shoal_status fill_block(struct text *t, struct block *b, struct bad *where, bool *end)
{
    struct bytes *raw = &b->raw;
    struct seam seam = {0};
    shoal_status st;

    raw->len = 0;
    st = bytes_add(raw, t->carry.at, t->carry.len);
    t->carry.len = 0;
    if (st == SHOAL_OK)
        st = read_block(t, raw, &seam, end);
    if (st == SHOAL_OK)
        st = bytes_add(&t->carry, raw->at + seam.next, raw->len - seam.next);
    raw->len = seam.end;
    b->pair_before = t->pair;
    b->pair_after = t->pair = seam.next < seam.end;
    where->offset = t->offset;
    where->coding = t->decoder.coding;
    t->offset += seam.next;
    return st;
}

/* Makes the text of a block out of what was read, unless it is made. */
static shoal_status prepare_block(struct text *t, struct block *b, struct bad *where, uint64_t *bad)
{
    size_t first, left;
    shoal_status st = bytes_reserve(&b->raw, BLOCK_PAD);

    if (st != SHOAL_OK || b->made)
        return st;
    st = block_make(b, &t->rules, &first, bad);
    if (st != SHOAL_OK || b->made)
        return st;
    left = b->raw.len - first;
    where->found = true;
    where->offset += first;
    memcpy(where->byte, b->raw.at + first, left < 3 ? left : 3);
    where->advice = decode_advice(b->raw.at, b->raw.len, true);
    return shoal_fail(SHOAL_EFORMAT, "%s: byte 0x%02x is not UTF-8", text_input(t, where->input),
                      where->byte[0]);
}

/* Whether the next block begins within a sentence. A block that does not end a
 * line is part of one longer than a block, and without a newline: then all
 * depends on whether it holds a word, which the first 64 bytes mostly tell. */
static shoal_status follow_line(struct text *t, struct block *b, struct bad where)
{
    struct scanner scan = {0};
    struct span words[SPANS_MIN];
    shoal_status st;
    bool ends;

    if (b->last || b->raw.len == 0)
        return SHOAL_OK;
    ends = b->raw.at[b->raw.len - 1] == '\n' || b->raw.at[b->raw.len - 1] == '\r';
    if (ends || t->inside) {
        t->inside = !ends;
        return SHOAL_OK;
    }
    st = prepare_block(t, b, &where, &t->stats.bad_bytes);
    if (where.found)
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
    *where = (struct bad){.seq = t->seq, .input = t->in.at};
    if (st == SHOAL_OK)
        st = fill_block(t, b, where, &end);
    if (st != SHOAL_OK)
        return st;
    b->seq = t->seq++;
    b->made = false;
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
    uint64_t bad = 0;
    shoal_status st;

    pthread_mutex_lock(&t->lock);
    st = take_block(t, b, &where, more);
    if (st != SHOAL_OK)
        t->stop = true;
    pthread_mutex_unlock(&t->lock);
    if (st != SHOAL_OK || !*more)
        return st;

    st = prepare_block(t, b, &where, &bad);
    if (where.found || bad > 0) {
        pthread_mutex_lock(&t->lock);
        t->stats.bad_bytes += bad;
        if (where.found)
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
        return fail_bad(t, t->bad);
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
