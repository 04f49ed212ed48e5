/* Where several readers part a text, so that each counts on its own and the sum
 * is what one would have counted.
 *
 *                                                     part i by bytes alone
 *     input     ... ------|---------- window ----------|------- ...
 *                                          ^ cut: behind the last line end, else
 *                                            behind the last separator
 *
 * A window without a place to cut joins two parts: part i then begins where part
 * i-1 does, which is therefore empty. Cuts follow each other in order, for a good
 * place that a later window finds before an earlier one's end, both find. */
#include "text/text.h"

struct window {
    struct bytes text;
    uint64_t at; /* of its first byte in the input */
    struct rules rules;
};

/* Whether text holds a word that counts; spoils the text. */
static shoal_status has_word(char *at, size_t len, const struct rules *r, bool *any)
{
    struct block b = {.raw = {at, len, len}}; /* borrowed: with the pad of the window */
    struct rules lax = *r;
    struct scanner scan = {0};
    struct span words[SPANS_MIN];
    uint64_t bad = 0;
    size_t first;
    shoal_status st;

    if (r->bad == SHOAL_BAD_REFUSE)
        lax.bad = SHOAL_BAD_SPACE; /* whoever reads it refuses it */
    st = block_make(&b, &lax, &first, &bad);
    scanner_begin(&scan, &b);
    while (st == SHOAL_OK && scan.words == 0 && scanner_next(&scan, words, SPANS_MIN) > 0)
        ;
    *any = scan.words > 0;
    bytes_fini(&b.words);
    return st;
}

/* The first byte of the window that surely is none of a word begun before. */
static size_t window_begin(const struct window *w)
{
    const struct bytes *b = &w->text;
    size_t i = 0;

    if (w->at == 0)
        return b->len >= 3 && memcmp(b->at, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (i < b->len && i < 3 && ((unsigned char)b->at[i] & 0xc0) == 0x80)
        i++; /* it may begin within a character */
    return i + clean_first_break(b->at + i, b->len - i, &w->rules);
}

/* The last good place in the window. Behind a separator it is good if the line
 * is seen to have a word before, or seen from the input's beginning. */
static shoal_status window_cut(struct window *w, struct cut *out, bool *found)
{
    struct bytes *b = &w->text;
    size_t line = clean_last_line(b->at, b->len), begin = window_begin(w), cut;
    shoal_status st;

    *found = line > 0;
    out->inside = false;
    if (line > 0) {
        out->offset = w->at + line;
        return SHOAL_OK;
    }
    cut = begin + clean_last_break(b->at + begin, clean_whole(b->at + begin, b->len - begin),
                                   &w->rules);
    if (cut == begin)
        return SHOAL_OK;
    out->offset = w->at + cut;
    st = has_word(b->at + begin, cut - begin, &w->rules, &out->inside);
    *found = out->inside || w->at == 0;
    return st;
}

static shoal_status window_read(struct window *w, struct stream *s, uint64_t end)
{
    size_t want = (size_t)(end - w->at);
    shoal_status st = bytes_reserve(&w->text, want + BLOCK_PAD);

    if (st == SHOAL_OK)
        st = stream_seek(s, w->at);
    return st == SHOAL_OK ? stream_read(s, w->text.at, want, &w->text.len) : st;
}

/* Whether the bytes of a file are its text: neither compressed nor to be decoded. */
static shoal_status is_as_stored(struct stream *s, const struct input *in,
                                 const struct shoal_vocab_opts *opts, bool *plain)
{
    struct shoal_vocab_opts lax = *opts;
    struct decoder d = {.coding = CODING_UTF8};
    struct bytes head = {0};
    shoal_status st = SHOAL_OK;

    *plain = stream_plain(s) && opts->encoding == SHOAL_ENCODING_UTF8;
    if (!stream_plain(s) || opts->encoding != SHOAL_ENCODING_AUTO)
        return SHOAL_OK;
    lax.bad_bytes = SHOAL_BAD_SPACE;
    st = bytes_reserve(&head, BLOCK_BYTES);
    if (st == SHOAL_OK)
        st = stream_read(s, head.at, BLOCK_BYTES, &head.len);
    /* What fails here fails again where it is read, and that is heard. */
    if (st == SHOAL_OK)
        *plain = decoder_begin(&d, &lax, input_name(in), head.at, head.len) == SHOAL_OK &&
                 d.coding == CODING_UTF8;
    bytes_fini(&head);
    return st;
}

/* The good place that is next before *out. What is not as stored lies where its middle is. */
static shoal_status cut_input(struct cut *out, const struct input *in,
                              const struct shoal_vocab_opts *opts, bool *found)
{
    struct window w = {.rules = rules_of(opts)};
    struct stream *s = NULL;
    bool plain = false;
    shoal_status st = stream_open_input(&s, in);

    *found = true;
    if (st == SHOAL_OK)
        st = is_as_stored(s, in, opts, &plain);
    if (st == SHOAL_OK && !plain) {
        *out = (struct cut){.input = out->input + (out->offset >= in->size / 2)};
    } else if (st == SHOAL_OK) {
        if (out->offset > BLOCK_BYTES)
            w.at = out->offset - BLOCK_BYTES;
        st = window_read(&w, s, out->offset);
        if (st == SHOAL_OK)
            st = window_cut(&w, out, found);
    }
    bytes_fini(&w.text);
    stream_close(s);
    return st;
}

/* Part i of n by bytes alone. */
static struct cut nominal(const struct inputs *in, uint64_t bytes, unsigned i, unsigned n)
{
    uint64_t at = (uint64_t)((unsigned __int128)bytes * i / n);
    size_t input = 0;

    while (input < in->len && at >= in->at[input].size)
        at -= in->at[input++].size;
    return (struct cut){.input = input, .offset = at};
}

shoal_status text_cut(struct cut *out, const struct inputs *in,
                      const struct shoal_vocab_opts *opts, unsigned i, unsigned n)
{
    bool found = false, once;
    uint64_t bytes = inputs_bytes(in, 0, in->len, &once);
    shoal_status st = SHOAL_OK;

    *out = (struct cut){.input = in->len};
    if (i > 0 && (i == n || once))
        return SHOAL_OK;
    for (; i > 0 && st == SHOAL_OK && !found; i--) {
        *out = nominal(in, bytes, i, n);
        found = out->offset == 0;
        if (!found)
            st = cut_input(out, &in->at[out->input], opts, &found);
    }
    if (!found)
        *out = (struct cut){0};
    return st;
}
