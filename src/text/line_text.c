/* Inputs as one sequence of blocks of whole lines, or of whole records of tables. Reading and
 * cutting happen under a lock. */
#include "text/text.h"

#include <stdlib.h>
#include <string.h>

struct line_text {
    pthread_mutex_t lock;
    struct input_reader in;
    const struct line_reading *reading;
    bool asked;

    struct line_table table; /* of the input */
    struct bytes carry;      /* read, but behind the last cut */
    bool ended;              /* the input has no more */
    uint64_t line;           /* that is next, of a table */
    uint64_t seq, bytes;
    bool stop;
};

shoal_status line_text_open(struct line_text **out, const struct inputs *inputs,
                            const struct line_reading *reading, bool asked,
                            const struct shoal_watch *watch)
{
    struct line_text *t = mem_array(1, sizeof *t);
    bool once;
    uint64_t bytes = inputs_bytes(inputs, 0, inputs->len, &once);

    *out = t;
    if (!t)
        return SHOAL_ENOMEM;
    pthread_mutex_init(&t->lock, NULL);
    t->in.inputs = inputs;
    t->reading = reading;
    t->asked = asked;
    input_reader_begin(&t->in, watch, "read", once ? 0 : bytes);
    return SHOAL_OK;
}

void line_text_close(struct line_text *t)
{
    if (!t)
        return;
    stream_close(t->in.stream);
    bytes_fini(&t->carry);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

uint64_t line_text_bytes(const struct line_text *t)
{
    return t->bytes;
}

shoal_status line_text_end(struct line_text *t)
{
    return pulse_end(&t->in.pulse, t->in.consumed);
}

void line_text_stop(struct line_text *t)
{
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_mutex_unlock(&t->lock);
}

/* ---- reading ---- */

/* Appends up to a block of new bytes. */
static shoal_status read_more(struct line_text *t, struct bytes *to)
{
    bool live = t->asked && !t->in.inputs->at[t->in.at].regular;
    size_t got = 0, left = stream_left(t->in.stream), want = left < LINES_BLOCK ? left : LINES_BLOCK;
    shoal_status st = bytes_reserve(to, want + FIELD_PAD);

    want = want > 0 ? want : 1;
    if (st == SHOAL_OK)
        st = (live ? stream_some : stream_read)(t->in.stream, to->at + to->len, want, &got);
    to->len += got;
    t->bytes += got;
    t->ended = got < (live ? 1 : want);
    return st;
}

static const char *input_now(const struct line_text *t)
{
    return input_name(&t->in.inputs->at[t->in.at]);
}

static shoal_status too_long(const struct line_text *t)
{
    return shoal_fail(SHOAL_ELIMIT, "%s: found a line of over %zu bytes, want at most that",
                      input_now(t), LINES_MOST);
}

static bool is_table(const struct line_text *t)
{
    return t->table.fields > 0;
}

/* The header of a table is taken off; what follows stays. */
static shoal_status take_header(struct line_text *t)
{
    const char *end = NULL;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && !t->ended && !(end = memchr(t->carry.at, '\n', t->carry.len)))
        st = t->carry.len > LINES_MOST ? too_long(t) : read_more(t, &t->carry);
    if (st == SHOAL_OK && t->carry.len == 0)
        return SHOAL_OK;
    if (!end)
        end = memchr(t->carry.at, '\n', t->carry.len);
    if (!end)
        end = t->carry.at + t->carry.len;
    if (st == SHOAL_OK)
        st = line_table_find(&t->table, t->reading, input_now(t), t->carry.at,
                             (size_t)(end - t->carry.at), t->asked);
    if (st != SHOAL_OK || !is_table(t))
        return st;
    end += end < t->carry.at + t->carry.len;
    t->carry.len -= (size_t)(end - t->carry.at);
    memmove(t->carry.at, end, t->carry.len);
    t->line++;
    return SHOAL_OK;
}

static shoal_status open_input(struct line_text *t)
{
    shoal_status st = input_reader_open(&t->in);

    t->carry.len = 0;
    t->line = 1;
    t->table = (struct line_table){0};
    if (st == SHOAL_OK)
        st = read_more(t, &t->carry);
    if (st == SHOAL_OK)
        input_drop_mark(&t->carry);
    return st == SHOAL_OK && t->reading->text ? take_header(t) : st;
}

/* ---- cutting ---- */

/* Behind the last line that ends in text[from..]; 0 when none does. */
static size_t last_end(const struct line_text *t, const struct bytes *b, size_t from, bool *inside)
{
    const char *at = b->at + from, *end = b->at + b->len, *line;

    if (is_table(t)) {
        line = record_last_end(&t->table.dialect, at, end, inside);
        return line > at ? (size_t)(line - b->at) : 0;
    }
    line = memrchr(at, '\n', b->len - from);
    return line ? (size_t)(line + 1 - b->at) : 0;
}

/* The input's last line may lack its newline. */
static shoal_status end_text(struct bytes *text)
{
    bool open = text->len > 0 && text->at[text->len - 1] != '\n';

    return open ? bytes_add(text, "\n", 1) : SHOAL_OK;
}

static shoal_status fill_block(struct line_text *t, struct bytes *text)
{
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
        if (text->len > LINES_MOST)
            return too_long(t);
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

static uint64_t count_lines(const struct bytes *text)
{
    uint64_t n = 0;

    for (const char *at = text->at, *end = at + text->len;
         at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++)
        n++;
    return n;
}

static shoal_status take_block(struct line_text *t, struct line_block *b)
{
    shoal_status st = t->in.stream ? SHOAL_OK : open_input(t);

    b->name = input_now(t);
    if (st == SHOAL_OK)
        st = fill_block(t, &b->text);
    b->table = t->table;
    b->line = t->line;
    if (st == SHOAL_OK && is_table(t))
        t->line += count_lines(&b->text);
    if (st == SHOAL_OK && t->ended && t->carry.len == 0)
        input_reader_next(&t->in);
    if (st == SHOAL_OK)
        st = bytes_reserve(&b->text, FIELD_PAD);
    return st == SHOAL_OK ? input_reader_pulse(&t->in) : st;
}

shoal_status line_text_next(struct line_text *t, struct line_block *b, bool *more)
{
    shoal_status st = SHOAL_OK;

    pthread_mutex_lock(&t->lock);
    *more = !t->stop && t->in.at < t->in.inputs->len;
    if (*more) {
        b->text.len = 0;
        b->seq = t->seq++;
        st = take_block(t, b);
        t->stop |= st != SHOAL_OK;
    }
    pthread_mutex_unlock(&t->lock);
    return st;
}
