/* Classifiers of text: making them of what was trained, and their names. */
#include "saved/classify/classify.h"

#include <stdlib.h>
#include <string.h>

shoal_status classifier_make_classes(shoal_classifier *m, enum shoal_loss loss, size_t dim)
{
    struct train_opts o = {.loss = loss, .dim = (unsigned)dim, .negative = 1};
    const struct kernel *kernel = NULL;
    shoal_status st = kernel_choose(&kernel);

    m->stride = table_stride(dim);
    return st == SHOAL_OK ? classify_init(&m->classes, &o, m->labels, NULL, kernel) : st;
}

void classifier_know_labels(shoal_classifier *m)
{
    const char *prefix = m->reading.prefix;

    for (uint32_t k = 0; *prefix && k < shoal_vocab_size(m->labels); k++)
        if (strncmp(shoal_vocab_word(m->labels, k), prefix, strlen(prefix)) != 0)
            m->reading.labels = m->labels;
}

/* A copy of the first n words. */
static shoal_status copy_words(shoal_vocab **out, const shoal_vocab *types, size_t n)
{
    struct bytes text = {0};
    uint64_t *counts = mem_array(n, sizeof *counts);
    shoal_status st = counts ? SHOAL_OK : SHOAL_ENOMEM;

    for (uint32_t i = 0; i < n && st == SHOAL_OK; i++) {
        const char *word = shoal_vocab_word(types, i);

        counts[i] = shoal_vocab_count(types, i);
        st = bytes_add(&text, word, strlen(word) + 1);
    }
    if (st == SHOAL_OK)
        st = shoal_vocab_new(out, &(struct shoal_words){.text = text.at, .len = text.len,
                                                        .counts = counts, .n = n});
    bytes_fini(&text);
    free(counts);
    return st;
}

static shoal_status copy_features(struct line_rows *to, const struct line_rows *from)
{
    shoal_status st = line_rows_init(to, from->words, from->ngrams, &from->how);

    if (st == SHOAL_OK) {
        memcpy(to->bits, from->bits, ((size_t)to->how.buckets + 63) / 64 * sizeof *to->bits);
        line_rows_rank(to);
    }
    return st;
}

shoal_status classifier_take(shoal_classifier **out, const struct classifier_parts *p)
{
    shoal_classifier *m = mem_array(1, sizeof *m);
    shoal_status st = m ? SHOAL_OK : SHOAL_ENOMEM;

    *out = NULL;
    if (st == SHOAL_OK)
        st = line_reading_copy(&m->reading, &p->lines->reading);
    if (st == SHOAL_OK)
        st = copy_words(&m->words, p->lines->types, p->lines->words);
    if (st == SHOAL_OK)
        st = vocab_copy(&m->labels, p->lines->labels);
    if (st == SHOAL_OK)
        st = copy_features(&m->features, p->features);
    if (st == SHOAL_OK)
        st = classifier_make_classes(m, p->loss, p->in->width);
    if (st != SHOAL_OK) {
        classifier_close(m);
        return st;
    }
    m->in_table = *p->in;
    m->out_table = *p->out;
    *p->in = *p->out = (struct table){0};
    m->in = m->in_table.at;
    m->out = m->out_table.at;
    *out = m;
    return SHOAL_OK;
}

void classifier_close(void *model)
{
    shoal_classifier *m = model;

    if (!m)
        return;
    for (size_t k = 0; m->names && k < m->classes.classes; k++)
        free(m->names[k]);
    free(m->names);
    classify_fini(&m->classes);
    line_rows_fini(&m->features);
    shoal_vocab_free(m->words);
    shoal_vocab_free(m->labels);
    line_reading_fini(&m->reading);
    table_fini(&m->in_table);
    table_fini(&m->out_table);
    container_close(m->file);
    classifier_close_fasttext(m->fasttext);
    free(m);
}

const char *classifier_name(const shoal_classifier *m, size_t k)
{
    const char *label = shoal_vocab_word(m->labels, (uint32_t)k);
    size_t prefix = strlen(m->reading.prefix);

    if (m->names)
        return m->names[k];
    if (prefix > 0 && strncmp(label, m->reading.prefix, prefix) == 0 && label[prefix])
        return label + prefix;
    return label;
}

size_t shoal_classifier_labels(const shoal_classifier *m)
{
    return m->classes.classes;
}

const char *shoal_classifier_label(const shoal_classifier *m, size_t k)
{
    return k < m->classes.classes ? classifier_name(m, k) : NULL;
}
