/* Rows that are kept as text: drawn while rows are read, then a section of the encoded rows and of
 * a model.
 *
 *     examples     strings, each with its 0; SHOAL_CLICKS_EXAMPLES at most, of 64 KiB in all */
#include "sparse/rows.h"

#include <stdlib.h>

/* ---- drawing ---- */

enum { EXAMPLES_STREAM = 0x65786d70 }; /* of random numbers */

shoal_status example_draw_init(struct example_draw *d, unsigned want)
{
    *d = (struct example_draw){.want = want};
    if (want == 0)
        return SHOAL_OK;
    d->row = mem_array(want, sizeof *d->row);
    return d->row ? SHOAL_OK : SHOAL_ENOMEM;
}

void example_draw_fini(struct example_draw *d)
{
    for (unsigned i = 0; d->row && i < d->want; i++)
        bytes_fini(&d->row[i]);
    free(d->row);
    *d = (struct example_draw){0};
}

/* The text of row r of a block, without its end. */
static struct span row_text(const struct click_format *w, const struct click_block *block,
                            const struct click_batch *b, size_t r)
{
    const char *at = block->text.at + b->at[r], *end = block->text.at + block->text.len, *stop;
    bool inside = false;

    stop = w->csv ? record_end(click_csv_dialect(w), at, end, &inside)
                  : memchr(at, '\n', (size_t)(end - at));
    stop = record_text_end(at, stop ? stop : end);
    return (struct span){at, (uint32_t)(stop - at)};
}

/* *fits: it may be kept. */
static shoal_status take_row(struct bytes *out, const struct click_format *w, struct span text,
                             struct bytes *room, size_t most, bool *fits)
{
    shoal_status st = SHOAL_OK;

    out->len = 0;
    *fits = text.len > 0 && text.len < most && !memchr(text.at, '\0', text.len);
    if (*fits && !w->csv)
        st = bytes_add(out, text.at, text.len);
    else if (*fits)
        *fits = click_csv_rewrite(w, room, text.at, text.at + text.len, out);
    *fits = *fits && out->len < most;
    return st;
}

/* Row number d->seen replaces each of those kept with equal chances, or none. */
static unsigned place_of(const struct example_draw *d)
{
    uint64_t n = d->seen + 1, x = rng_at(0, EXAMPLES_STREAM, d->seen);

    if (d->seen < d->want)
        return (unsigned)d->seen;
    x = (uint64_t)((unsigned __int128)x * n >> 64);
    return x < d->want ? (unsigned)x : d->want;
}

shoal_status example_draw_add(struct example_draw *d, const struct click_format *w,
                              const struct click_block *block, struct click_batch *b)
{
    struct bytes made = {0};
    shoal_status st = SHOAL_OK;

    for (size_t r = 0; d->want > 0 && r < b->rows && st == SHOAL_OK; r++) {
        unsigned place = place_of(d);
        bool fits = true;

        if (place < d->want) {
            st = take_row(&made, w, row_text(w, block, b, r), &b->unquoted,
                          EXAMPLES_BYTES / d->want, &fits);
            if (st == SHOAL_OK && fits) {
                struct bytes old = d->row[place];

                d->row[place] = made;
                made = old;
            }
        }
        d->seen += fits;
    }
    bytes_fini(&made);
    return st;
}

static shoal_status add_example(struct row_examples *e, const char *text, size_t len)
{
    shoal_status st = bytes_add(&e->text, text, len);

    if (st == SHOAL_OK)
        st = bytes_add(&e->text, "", 1);
    if (st == SHOAL_OK)
        e->at[e->n++] = (uint32_t)(e->text.len - len - 1);
    return st;
}

shoal_status example_draw_result(const struct example_draw *d, struct row_examples *out)
{
    shoal_status st = SHOAL_OK;

    for (unsigned i = 0; i < d->want && st == SHOAL_OK; i++)
        if (d->row[i].len > 0)
            st = add_example(out, d->row[i].at, d->row[i].len);
    return st;
}

/* ---- kept ---- */

shoal_status row_examples_copy(struct row_examples *to, const struct row_examples *from,
                               unsigned most)
{
    shoal_status st = SHOAL_OK;

    for (unsigned i = 0; i < from->n && i < most && st == SHOAL_OK; i++)
        st = add_example(to, row_example(from, i), strlen(row_example(from, i)));
    return st;
}

shoal_status row_examples_save(const struct row_examples *e, struct container_writer *w)
{
    return e->n > 0 ? container_put(w, "examples", e->text.at, e->text.len) : SHOAL_OK;
}

shoal_status row_examples_load(struct row_examples *e, const struct container *c)
{
    struct section s;
    shoal_status st = SHOAL_OK;

    if (!container_has(c, "examples"))
        return SHOAL_OK;
    st = container_find(c, "examples", 1, &s);
    if (st == SHOAL_OK && (s.size == 0 || s.size > EXAMPLES_BYTES))
        return shoal_fail(SHOAL_EFORMAT, "%s: its example rows have %zu bytes, want 1 to %u",
                          container_path(c), s.size, EXAMPLES_BYTES);
    if (st == SHOAL_OK && ((const char *)s.data)[s.size - 1] != '\0')
        return shoal_fail(SHOAL_EFORMAT, "%s: its example rows are no strings", container_path(c));
    for (size_t at = 0; st == SHOAL_OK && at < s.size;) {
        const char *text = (const char *)s.data + at;
        size_t len = strlen(text);

        if (len == 0 || e->n == SHOAL_CLICKS_EXAMPLES)
            return shoal_fail(SHOAL_EFORMAT, "%s: found %s, want up to %d example rows",
                              container_path(c), len == 0 ? "one that is empty" : "more",
                              SHOAL_CLICKS_EXAMPLES);
        st = add_example(e, text, len);
        at += len + 1;
    }
    return st;
}

void row_examples_fini(struct row_examples *e)
{
    bytes_fini(&e->text);
    *e = (struct row_examples){0};
}

const struct row_examples *clicks_examples(const shoal_clicks *c)
{
    return &c->examples;
}
