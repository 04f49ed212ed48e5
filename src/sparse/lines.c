/* Many inputs as one sequence of blocks of whole lines. Reading and cutting happen under
 * a lock; a failure is given out as a block, so that it is reported in the order of the
 * input, after whatever is wrong with the lines before it. */
#include "sparse/rows.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct click_text {
    pthread_mutex_t lock;
    struct input_reader in;
    struct click_format format;
    struct dialect dialect; /* of a table: where its records end */
    bool csv, live;

    bool ended;         /* the input has no more */
    bool first;         /* nothing of it was given out yet */
    struct bytes carry; /* read, but behind the last cut */

    uint64_t seq, bytes;
    bool stop; /* after a failure: hand out no more */
};

const char *click_text_input(const struct click_text *t, size_t i)
{
    return input_name(&t->in.inputs->at[i]);
}

const struct click_format *click_text_format(const struct click_text *t)
{
    return &t->format;
}

shoal_status click_text_number_labels(struct click_text *t)
{
    return t->format.known.n == 0 ? click_format_number_labels(&t->format) : SHOAL_OK;
}

/* ---- reading ---- */

/* Whether what comes is given out as it comes. */
static bool is_live(const struct click_text *t)
{
    return t->live && !t->in.inputs->at[t->in.at].regular;
}

/* Appends up to a block of new bytes. */
static shoal_status read_more(struct click_text *t, struct bytes *to)
{
    bool live = is_live(t);
    size_t got = 0, left = stream_left(t->in.stream),
           want = left < CLICK_BLOCK ? left : CLICK_BLOCK;
    shoal_status st = bytes_reserve(to, want + FIELD_PAD);

    if (st == SHOAL_OK)
        st = (live ? stream_some : stream_read)(t->in.stream, to->at + to->len, want, &got);
    to->len += got;
    t->bytes += got;
    t->ended = got < (live ? 1 : CLICK_BLOCK);
    return st;
}

static bool has_line(const struct click_text *t, const struct bytes *b)
{
    const char *end = b->at + b->len;
    bool inside = false;

    return t->csv ? record_end(&t->dialect, b->at, end, &inside) < end
                  : memchr(b->at, '\n', b->len) != NULL;
}

/* The head of an input, by which it is recognised: a line, and of one that is not live a block. */
static shoal_status read_head(struct click_text *t)
{
    size_t most = is_live(t) ? CLICK_BLOCK : SHOAL_CLICKS_LINE_MAX;
    shoal_status st = read_more(t, &t->carry);

    while (st == SHOAL_OK && !t->ended && t->carry.len < most && !has_line(t, &t->carry))
        st = read_more(t, &t->carry);
    return st;
}

static shoal_status open_input(struct click_text *t)
{
    shoal_status st = input_reader_open(&t->in);

    t->first = true;
    t->carry.len = 0;
    if (st == SHOAL_OK)
        st = read_head(t);
    if (st == SHOAL_OK)
        input_drop_mark(&t->carry);
    return st;
}

/* ---- cutting ---- */

/* Behind the last line that ends in text[from..]; 0 when none does. */
static size_t last_end(const struct click_text *t, const struct bytes *b, size_t from, bool *inside)
{
    const char *at = b->at + from, *end = b->at + b->len;
    const char *line =
        t->csv ? record_last_end(&t->dialect, at, end, inside) : memrchr(at, '\n', b->len - from);

    if (t->csv)
        return line > at ? (size_t)(line - b->at) : 0;
    return line ? (size_t)(line + 1 - b->at) : 0;
}

/* The first end of a line, or `end`. */
static const char *first_end(const struct click_text *t, const char *at, const char *end,
                             bool *inside)
{
    const char *line;

    if (t->csv)
        return record_end(&t->dialect, at, end, inside);
    line = memchr(at, '\n', (size_t)(end - at));
    return line ? line : end;
}

/* The block is one line that is too long and not yet at its end, which this finds;
 * what follows is carried. */
static shoal_status drop_line(struct click_text *t, struct click_block *b, bool inside)
{
    struct bytes *text = &b->text;
    const char *end = text->at + text->len;
    shoal_status st = SHOAL_OK;

    b->dropped = click_bytes_count(text->at, end, '\n');
    while (st == SHOAL_OK && !t->ended) {
        text->len = 0;
        st = read_more(t, text);
        if (st != SHOAL_OK)
            return st;
        end = first_end(t, text->at, text->at + text->len, &inside);
        b->dropped += click_bytes_count(text->at, end, '\n');
        if (end < text->at + text->len) {
            st = bytes_add(&t->carry, end + 1, (size_t)(text->at + text->len - end - 1));
            break;
        }
    }
    b->dropped++;
    text->len = 0;
    return st;
}

/* The input's last line may lack its newline. */
static shoal_status end_text(struct bytes *text)
{
    shoal_status st = SHOAL_OK;

    if (text->len > 0 && text->at[text->len - 1] != '\n')
        st = bytes_add(text, "\n", 1);
    return st;
}

static shoal_status fill_block(struct click_text *t, struct click_block *b)
{
    struct bytes *text = &b->text;
    size_t cut = 0, from = 0;
    bool inside = false;
    shoal_status st = bytes_reserve(text, t->carry.len + FIELD_PAD);

    if (st == SHOAL_OK)
        st = bytes_add(text, t->carry.at, t->carry.len);
    t->carry.len = 0;
    while (st == SHOAL_OK) {
        cut = text->len > from ? last_end(t, text, from, &inside) : 0;
        if (cut > 0 || t->ended)
            break;
        if (text->len > SHOAL_CLICKS_LINE_MAX)
            return drop_line(t, b, inside);
        from = text->len;
        st = read_more(t, text);
    }
    if (st == SHOAL_OK && t->ended)
        return end_text(text);
    if (st == SHOAL_OK)
        st = bytes_add(&t->carry, text->at + cut, text->len - cut);
    text->len = cut;
    return st;
}

static shoal_status take_block(struct click_text *t, struct click_block *b)
{
    shoal_status st = SHOAL_OK;

    if (!t->in.stream)
        st = open_input(t);
    if (st != SHOAL_OK)
        return st;
    b->first = t->first;
    t->first = false;
    st = fill_block(t, b);
    if (st == SHOAL_OK && t->ended && t->carry.len == 0)
        input_reader_next(&t->in);
    if (st == SHOAL_OK)
        st = bytes_reserve(&b->text, FIELD_PAD);
    return st == SHOAL_OK ? input_reader_pulse(&t->in) : st;
}

bool click_text_next(struct click_text *t, struct click_block *b)
{
    bool more;

    pthread_mutex_lock(&t->lock);
    more = !t->stop && t->in.at < t->in.inputs->len;
    if (more) {
        b->text.len = 0;
        b->dropped = 0;
        b->input = t->in.at;
        b->seq = t->seq++;
        b->status = take_block(t, b);
        t->stop = b->status != SHOAL_OK;
        if (t->stop)
            snprintf(b->sentence, sizeof b->sentence, "%s", shoal_error());
    }
    pthread_mutex_unlock(&t->lock);
    return more;
}

/* ---- opening ---- */

/* What columns are takes more than a block to say; of what can be read again, it is said by places
 * all over it. */
static shoal_status read_more_head(struct click_text *t, const struct shoal_clicks_opts *opts)
{
    bool table = opts->format == SHOAL_CLICKS_AUTO || opts->format == SHOAL_CLICKS_CSV;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && table && !opts->columns && !t->live && !t->ended &&
           t->carry.len < COLUMNS_PREVIEW)
        st = read_more(t, &t->carry);
    return st;
}

/* The first input that holds anything says how to read. */
static shoal_status find_format(struct click_text *t, const struct shoal_clicks_opts *opts,
                                bool unlabelled, bool once)
{
    struct click_head head;
    shoal_status st = t->in.inputs->len > 0
                          ? open_input(t)
                          : shoal_fail(SHOAL_EINVAL, "clicks: no input, want one");

    while (st == SHOAL_OK && t->carry.len == 0) {
        input_reader_next(&t->in);
        if (t->in.at == t->in.inputs->len)
            return shoal_fail(SHOAL_EINVAL, "clicks: found nothing in %zu inputs, want rows",
                              t->in.inputs->len);
        st = open_input(t);
    }
    if (st == SHOAL_OK && once)
        st = read_more_head(t, opts);
    if (st != SHOAL_OK)
        return st;
    head = (struct click_head){click_text_input(t, t->in.at), t->carry.at, t->carry.len, t->ended,
                               once ? NULL : t->in.inputs};
    st = click_format_init(&t->format, opts, unlabelled, &head);
    t->csv = t->format.format == SHOAL_CLICKS_CSV;
    if (st == SHOAL_OK && t->csv)
        t->dialect = *click_csv_dialect(&t->format);
    return st;
}

shoal_status click_text_open(struct click_text **out, const struct inputs *inputs,
                             const struct shoal_clicks_opts *opts, bool unlabelled, bool live)
{
    struct click_text *t = mem_array(1, sizeof *t);
    uint64_t bytes;
    shoal_status st;
    bool once;

    *out = NULL;
    if (!t)
        return SHOAL_ENOMEM;
    pthread_mutex_init(&t->lock, NULL);
    t->in.inputs = inputs;
    t->csv = opts->format == SHOAL_CLICKS_CSV;
    t->dialect = opts->columns ? opts->columns->dialect
                               : (struct dialect){.delimiter = ',', .quotes = true};
    /* How rows look may take more than a line to say. */
    t->live = live && opts->format != SHOAL_CLICKS_AUTO && (!t->csv || opts->columns);
    bytes = inputs_bytes(inputs, 0, inputs->len, &once);
    input_reader_begin(&t->in, &opts->watch, "read", once ? 0 : bytes);
    st = find_format(t, opts, unlabelled, once);
    if (st == SHOAL_OK)
        *out = t;
    else
        click_text_close(t);
    return st;
}

void click_text_stats(const struct click_text *t, struct shoal_clicks_stats *stats)
{
    stats->format = t->format.format;
    stats->bytes = t->bytes;
    stats->files = t->in.at;
}

shoal_status click_text_end(struct click_text *t)
{
    return pulse_end(&t->in.pulse, t->in.consumed);
}

void click_text_close(struct click_text *t)
{
    if (!t)
        return;
    stream_close(t->in.stream);
    bytes_fini(&t->carry);
    click_format_fini(&t->format);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

void click_block_fini(struct click_block *b)
{
    bytes_fini(&b->text);
}
