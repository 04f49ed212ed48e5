/* Classifiers of text as a kind of model. */
#include "saved/classify/classify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what it is ---- */

static void describe_labels(const shoal_classifier *m, uint64_t top, const struct shoal_reporter *to)
{
    static const struct shoal_column columns[] = {{"label", "label", -24}, {"lines", "lines", 12}};
    static const struct shoal_grid grid = {"labels", columns, 2};

    for (uint32_t k = 0; k < m->classes.classes; k++)
        report_row(to, &grid,
                   (struct shoal_value[]){VALUE_TEXT(classifier_name(m, k)),
                                          VALUE_COUNT(shoal_vocab_count(m->labels, k))},
                   k < top ? 0 : SHOAL_ROW_HIDDEN);
}

static shoal_status describe(const void *model, uint64_t bytes, uint64_t top,
                             const struct shoal_reporter *to)
{
    const shoal_classifier *m = model;
    const struct line_rows *f = &m->features;

    report_begin(to, "a classifier of text");
    report_value(to, "classes", "classes", VALUE_COUNT(m->classes.classes));
    report_value(to, "dim", "dimensions", VALUE_COUNT(m->classes.dim));
    report_value(to, "loss", "loss", VALUE_TEXT(classifier_loss(m)));
    report_value(to, "words", "words", VALUE_COUNT(f->words));
    if (f->ngrams > 1)
        report_value(to, "word_ngrams", "word n-grams", VALUE_COUNT(f->ngrams));
    if (f->how.maxn > 0)
        report_noted(to, NULL, "n-grams", VALUE_COUNT(f->how.maxn), "characters at most, % at least",
                     VALUE_COUNT(f->how.minn), NO_VALUE);
    if (f->how.buckets > 0)
        report_noted(to, "buckets", "buckets", VALUE_COUNT(f->used), "have a row, of %",
                     VALUE_COUNT(f->how.buckets), NO_VALUE);
    if (m->reading.text)
        report_noted(to, "text_column", "reads", VALUE_TEXT(m->reading.text),
                     "of a table, labels being in %", VALUE_TEXT(m->reading.label), NO_VALUE);
    else
        report_value(to, "label_prefix", "label prefix", VALUE_TEXT(m->reading.prefix));
    describe_labels(m, top, to);
    (void)bytes;
    return SHOAL_OK;
}

/* ---- names of its classes ---- */

static size_t count_classes(const void *model)
{
    return ((const shoal_classifier *)model)->classes.classes;
}

static void unname(shoal_classifier *m)
{
    for (size_t k = 0; m->names && k < m->classes.classes; k++)
        free(m->names[k]);
    free(m->names);
    m->names = NULL;
}

static shoal_status name_classes(void *model, const struct class_index *index)
{
    shoal_classifier *m = model;
    shoal_status st = SHOAL_OK;
    char number[16];

    unname(m);
    m->names = mem_array(m->classes.classes, sizeof *m->names);
    if (!m->names)
        return SHOAL_ENOMEM;
    for (size_t k = 0; k < m->classes.classes && st == SHOAL_OK; k++) {
        snprintf(number, sizeof number, "%zu", k);
        if (!(m->names[k] = strdup(index->names ? index->names[k] : number)))
            st = shoal_fail(SHOAL_ENOMEM, "class index: no memory for a name");
    }
    if (st != SHOAL_OK)
        unname(m);
    return st;
}

/* ---- what it answers ---- */

struct asking {
    const shoal_classifier *model;
    struct line_text *text;
    struct answers *answers;
    struct ordered order;
    size_t k;
    double threshold;
};

/* Labels as they stood in the text: with the prefix. */
static shoal_status put_label(const shoal_classifier *m, uint32_t k, struct bytes *out)
{
    const char *name = m->names ? m->names[k] : shoal_vocab_word(m->labels, k);
    size_t from = out->len;
    shoal_status st = bytes_add(out, name, strlen(name));

    for (size_t i = from; i < out->len && st == SHOAL_OK; i++)
        if (strchr("\t\n", out->at[i]))
            out->at[i] = '?';
    return st;
}

/* Six digits; printf would take longer than the answer did. */
static shoal_status put_probability(double p, struct bytes *out)
{
    char text[16];
    unsigned long digits = (unsigned long)lrint(p * 1e6);

    if (p < 1e-3)
        return bytes_print(out, "%.6g", p);
    text[0] = digits >= 1000000 ? '1' : '0';
    text[1] = '.';
    digits %= 1000000;
    for (int i = 7; i >= 2; i--, digits /= 10)
        text[i] = (char)('0' + digits % 10);
    return bytes_add(out, text, 8);
}

/* "__label__sport 0.987 __label__world 0.012": as fastText, or with tabs where labels may hold
 * spaces. */
static shoal_status say_line(const struct asking *q, struct class_asker *a, size_t n, struct bytes *out)
{
    const char *between = *q->model->reading.prefix ? " " : "\t";
    size_t found = n > 0 ? class_asker_best(a, q->k, q->threshold) : 0;
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < found && st == SHOAL_OK; i++) {
        if (i > 0)
            st = bytes_add(out, between, 1);
        if (st == SHOAL_OK)
            st = put_label(q->model, a->guess[i].label, out);
        if (st == SHOAL_OK)
            st = bytes_add(out, between, 1);
        if (st == SHOAL_OK)
            st = put_probability((double)a->guess[i].p, out);
    }
    return st == SHOAL_OK ? bytes_add(out, "\n", 1) : st;
}

static shoal_status say_block(struct asking *q, struct class_asker *a, const struct line_block *b,
                              struct bytes *out)
{
    bool more = true;
    shoal_status st = SHOAL_OK;
    size_t n;

    out->len = 0;
    line_walk_begin(&a->walk, &q->model->reading, b);
    while (st == SHOAL_OK) {
        st = class_asker_line(a, &more, &n);
        if (!more)
            break;
        if (st == SHOAL_OK)
            st = say_line(q, a, n, out);
    }
    return st == SHOAL_OK ? bytes_add(out, "", 1) : st;
}

/* What is said in the order of the blocks, one at a time. */
static shoal_status give_block(struct asking *q, const struct line_block *b, const struct bytes *out)
{
    shoal_status st = SHOAL_OK;

    if (!ordered_begin(&q->order, b->seq))
        return SHOAL_OK; /* who failed says so */
    if (out->len > 1 && !q->answers->lines(q->answers->user, out->at, out->len - 1))
        st = shoal_fail(SHOAL_ESTOP, "predict: stopped on request");
    ordered_end(&q->order, st);
    return st;
}

static shoal_status ask_thread(void *ctx, unsigned index)
{
    struct asking *q = ctx;
    struct class_asker a;
    struct line_block block = {0};
    struct bytes out = {0};
    bool more = true;
    shoal_status st = class_asker_init(&a, q->model);

    (void)index;
    if (st == SHOAL_OK && !(a.line.cache = mem_array(1, sizeof *a.line.cache)))
        st = SHOAL_ENOMEM;
    while (st == SHOAL_OK && more) {
        st = line_text_next(q->text, &block, &more);
        if (st == SHOAL_OK && more)
            st = say_block(q, &a, &block, &out);
        if (st == SHOAL_OK && more)
            st = give_block(q, &block, &out);
    }
    if (st != SHOAL_OK) {
        line_text_stop(q->text);
        ordered_stop(&q->order);
    }
    class_asker_fini(&a);
    bytes_fini(&out);
    bytes_fini(&block.text);
    return st;
}

static shoal_status ask(const void *model, const struct asked_of *of, struct answers *a)
{
    const struct shoal_watch nobody = {0};
    const shoal_classifier *m = model;
    struct asking q = {.model = m, .answers = a, .threshold = of->opts->threshold,
                       .k = of->opts->nearest > 0 ? (size_t)of->opts->nearest : 1};
    struct inputs in = {0};
    shoal_status st = inputs_expand(&in, of->inputs, of->n);

    ordered_init(&q.order);
    if (st == SHOAL_OK)
        st = line_text_open(&q.text, &in, &m->reading, true, &nobody);
    if (st == SHOAL_OK)
        st = pool_run(pool_threads(of->opts->words.threads), ask_thread, &q);
    line_text_close(q.text);
    ordered_fini(&q.order);
    inputs_fini(&in);
    return st;
}

const struct kind kind_classify = {
    .name = "classify",
    .word = "classify",
    .maps = true,
    .what = "a classifier of text",
    .formats = 1u << SHOAL_FORMAT_SHOAL | 1u << SHOAL_FORMAT_FASTTEXT,
    .read = classifier_read,
    .verify = classifier_verify,
    .save = classifier_save,
    .compress = classifier_compress,
    .classes = count_classes,
    .name_classes = name_classes,
    .describe = describe,
    .ask = ask,
    .score = classifier_score,
    .close = classifier_close,
};
