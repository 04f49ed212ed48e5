/* What is tolerated in rows: so many malformed lines, and so many different labels. */
#include "sparse/rows.h"

#include <stdio.h>

/* ---- labels ---- */

/* One input may say 0 where another says -1; in one input both are two labels. */
static unsigned find_alias(struct click_errors *e, const char *name)
{
    bool zero = strcmp(name, "0") == 0, minus = strcmp(name, "-1") == 0;

    if ((zero && e->minus) || (minus && e->zero) || (!zero && !minus))
        return CLICKS_NO_LABEL;
    return click_labels_find(&e->labels, zero ? "-1" : "0");
}

static void note_label(struct click_errors *e, const char *name)
{
    e->zero |= strcmp(name, "0") == 0;
    e->minus |= strcmp(name, "-1") == 0;
}

/* map[k] is the number among all of label k of the block; *third is the line of the first that is
 * one too many, else UINT64_MAX. */
static shoal_status take_labels(struct click_errors *e, const struct click_format *w,
                                const struct click_batch *b, uint8_t map[SHOAL_CLICKS_CLASSES],
                                uint64_t *third)
{
    unsigned most = w->classes ? SHOAL_CLICKS_CLASSES : 2;
    shoal_status st = SHOAL_OK;

    *third = UINT64_MAX;
    for (unsigned k = 0; k < b->labels.n && st == SHOAL_OK; k++) {
        const char *name = click_labels_name(&b->labels, k);
        unsigned number = click_labels_find(&e->labels, name);
        bool again = !w->classes && number != CLICKS_NO_LABEL &&
                     ((strcmp(name, "0") == 0 && e->minus) || (strcmp(name, "-1") == 0 && e->zero));

        if (number == CLICKS_NO_LABEL && !w->classes)
            number = find_alias(e, name);
        if (again || (number == CLICKS_NO_LABEL && e->labels.n == most)) {
            *third = b->labels.line[k];
            return SHOAL_OK;
        }
        if (number == CLICKS_NO_LABEL) {
            number = e->labels.n;
            st = click_labels_add(&e->labels, name);
        }
        note_label(e, name);
        map[k] = (uint8_t)number;
    }
    return st;
}

static void count_labels(struct click_errors *e, struct click_batch *b,
                         const uint8_t map[SHOAL_CLICKS_CLASSES], bool known)
{
    for (size_t r = 0; r < b->rows; r++) {
        if (b->label[r] == CLICKS_NO_LABEL)
            continue;
        if (!known)
            b->label[r] = map[b->label[r]];
        e->labels.count[b->label[r]]++;
    }
}

/* ---- lines ---- */

static shoal_status fail_line(const struct click_errors *e, const struct click_text *t,
                              const struct click_block *block, uint64_t line, const char *why)
{
    return shoal_fail(SHOAL_EFORMAT, "%s:%llu: %s", click_text_input(t, block->input),
                      (unsigned long long)(e->line + line + 1), why);
}

static shoal_status fail_third(const struct click_errors *e, const struct click_text *t,
                               const struct click_block *block, const struct click_batch *b,
                               uint64_t line)
{
    const struct click_format *w = click_text_format(t);
    const char *other = w->format == SHOAL_CLICKS_CSV ? "; --label names another column" : "";
    char why[SHOAL_CLICKS_SENTENCE + 256];
    struct click_quote name;
    unsigned k = 0;

    while (k + 1 < b->labels.n && b->labels.line[k] != line)
        k++;
    name = click_quote(click_labels_name(&b->labels, k), strlen(click_labels_name(&b->labels, k)));
    if (w->classes)
        snprintf(why, sizeof why, "label \"%s\" is one of over %d, want at most that many%s", name.text,
                 SHOAL_CLICKS_CLASSES, other);
    else
        snprintf(why, sizeof why, "label \"%s\" is the third beside %s, want two%s; `shoal train "
                 "multinomial` takes many labels", name.text,
                 click_labels_text(&e->labels, " and ").text, other);
    return fail_line(e, t, block, line, why);
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
        return fail_third(e, t, block, b, third);
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
    const struct click_format *w = click_text_format(t);
    uint8_t map[SHOAL_CLICKS_CLASSES];
    uint64_t third;
    shoal_status st;

    begin_input(e, block);
    if (block->status != SHOAL_OK)
        return shoal_fail(block->status, "%s", block->sentence);
    if (b->fatal)
        return fail_line(e, t, block, b->shown[0].line, b->shown[0].why);
    st = take_labels(e, w, b, map, &third);
    if (st != SHOAL_OK)
        return st;
    if (b->bad > e->skip_bad - e->stats.bad_lines)
        return fail_bad(e, t, block, b, third);
    if (third != UINT64_MAX)
        return fail_third(e, t, block, b, third);
    note_bad(e, t, block, b);
    count_labels(e, b, map, w->known.n > 0);
    e->line += b->lines;
    e->stats.lines += b->lines;
    e->stats.rows += b->rows;
    e->stats.values += b->values;
    return SHOAL_OK;
}
