/* What is tolerated in rows: so many malformed lines, and labels of one kind. */
#include "sparse/rows.h"

#include <stdio.h>

/* The line of the block whose label is 0 where others are -1, or the other way round;
 * UINT64_MAX when there is none. */
static uint64_t third_label(const struct click_errors *e, const struct click_batch *b)
{
    uint64_t zero = b->zero ? b->zero - 1 : UINT64_MAX,
             minus = b->minus ? b->minus - 1 : UINT64_MAX;

    if (e->zero)
        return minus;
    if (e->minus)
        return zero;
    return zero > minus ? zero : minus;
}

static shoal_status fail_line(const struct click_errors *e, const struct click_text *t,
                              const struct click_block *block, uint64_t line, const char *why)
{
    return shoal_fail(SHOAL_EFORMAT, "%s:%llu: %s", click_text_input(t, block->input),
                      (unsigned long long)(e->line + line + 1), why);
}

/* One line too many is bad: which, only the parser can tell. */
static shoal_status fail_bad(const struct click_errors *e, const struct click_text *t,
                             const struct click_block *block, struct click_batch *b, uint64_t third)
{
    uint64_t number = e->skip_bad - e->stats.bad_lines;
    shoal_status st = click_parse(click_text_format(t), block, b, number);
    char why[SHOAL_CLICKS_SENTENCE + 64];

    if (st != SHOAL_OK)
        return st;
    if (third < b->shown[0].line)
        return fail_line(e, t, block, third,
                         "its label is a third one, want two: 0 and 1, or -1 "
                         "and 1");
    if (e->skip_bad == 0)
        return fail_line(e, t, block, b->shown[0].line, b->shown[0].why);
    snprintf(why, sizeof why, "%s; it is bad line %llu, want at most %llu (--skip-bad)",
             b->shown[0].why, (unsigned long long)e->skip_bad + 1, (unsigned long long)e->skip_bad);
    return fail_line(e, t, block, b->shown[0].line, why);
}

static void note_bad(struct click_errors *e, const struct click_text *t,
                     const struct click_block *block, const struct click_batch *b)
{
    for (uint64_t i = 0; i < b->bad; i++, e->stats.bad_lines++) {
        if (e->stats.bad_lines >= SHOAL_CLICKS_SHOWN) {
            e->stats.bad_lines += b->bad - i;
            return;
        }
        snprintf(e->stats.bad[e->stats.bad_lines], SHOAL_CLICKS_SENTENCE, "%s:%llu: %s",
                 click_text_input(t, block->input),
                 (unsigned long long)(e->line + b->shown[i].line + 1), b->shown[i].why);
    }
}

/* A new input counts its lines anew, and may have labels of the other kind. */
static void begin_input(struct click_errors *e, const struct click_block *block)
{
    if (block->input == e->input)
        return;
    e->input = block->input;
    e->line = 0;
    e->zero = e->minus = false;
}

shoal_status click_errors_add(struct click_errors *e, const struct click_text *t,
                         const struct click_block *block, struct click_batch *b)
{
    uint64_t third;

    begin_input(e, block);
    if (block->status != SHOAL_OK)
        return shoal_fail(block->status, "%s", block->sentence);
    if (b->fatal)
        return fail_line(e, t, block, b->shown[0].line, b->shown[0].why);
    third = third_label(e, b);
    if (b->bad > e->skip_bad - e->stats.bad_lines)
        return fail_bad(e, t, block, b, third);
    if (third != UINT64_MAX)
        return fail_line(e, t, block, third,
                         "its label is a third one, want two: 0 and 1, or -1 "
                         "and 1");
    note_bad(e, t, block, b);
    e->zero |= b->zero > 0;
    e->minus |= b->minus > 0;
    e->line += b->lines;
    e->stats.lines += b->lines;
    e->stats.rows += b->rows;
    e->stats.positives += b->positives;
    e->stats.classes = b->classes > e->stats.classes ? b->classes : e->stats.classes;
    e->stats.values += b->values;
    return SHOAL_OK;
}
