/* A classifier in our container, used where it lies:
 *
 *     meta      kind classify, dim, loss, word_ngrams, minn, maxn, buckets, total, and how lines
 *               are read
 *     vocab.*   the words (vocab_file.c)
 *     labels    names, each with its NUL; labels.counts  uint64_t
 *     buckets   uint64_t [(buckets + 63) / 64] a bit for each bucket that has a row
 *     in        float [words + buckets that have a row][stride]
 *     out       float [labels, or nodes of the tree][stride]                                */
#include "saved/classify/classify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const losses[] = {
    [SHOAL_NS] = "ns", [SHOAL_HS] = "hs", [SHOAL_SOFTMAX] = "softmax", [SHOAL_OVA] = "ova"};

const char *classifier_loss(const shoal_classifier *m)
{
    return losses[m->classes.loss];
}

/* ---- writing ---- */

static shoal_status make_meta(const shoal_classifier *m, struct bytes *meta)
{
    const struct line_rows *f = &m->features;
    shoal_status st = bytes_print(
        meta, "kind classify\ndim %zu\nloss %s\nword_ngrams %u\nminn %u\nmaxn %u\nbuckets %u\n"
        "words %u\ntotal %llu\n", m->classes.dim, losses[m->classes.loss], f->ngrams, f->how.minn,
        f->how.maxn, f->how.buckets, f->words, (unsigned long long)shoal_vocab_total(m->words));

    return st == SHOAL_OK ? line_reading_put(&m->reading, meta) : st;
}

static shoal_status put_all(const shoal_classifier *m, const struct bytes *meta,
                            struct container_writer *w)
{
    const struct line_rows *f = &m->features;
    size_t row = m->stride * sizeof(float);
    shoal_status st = container_put(w, "meta", meta->at, meta->len);

    if (st == SHOAL_OK)
        st = vocab_save_mapped(m->words, f->words, w);
    if (st == SHOAL_OK)
        st = names_save(m->labels, "labels", w);
    container_put(w, "buckets", f->bits, ((size_t)f->how.buckets + 63) / 64 * sizeof *f->bits);
    container_put(w, "in", m->in, line_rows_all(f) * row);
    container_put(w, "out", m->out, classify_out_rows(m->classes.loss, m->classes.classes) * row);
    return st == SHOAL_OK ? container_write(w, "", 0) : st;
}

/* Of the names that are fastText's, .bin is taken for word2vec's elsewhere. */
static shoal_status choose_format(const char *path, const struct shoal_save_opts *opts,
                                  enum shoal_format *format)
{
    struct shoal_save_opts own = *opts;
    size_t len = strlen(path);

    if (own.format == SHOAL_FORMAT_AUTO && len > 4 && strcmp(path + len - 4, ".bin") == 0)
        own.format = SHOAL_FORMAT_FASTTEXT;
    return saved_check(&kind_classify, path, &own, format);
}

static shoal_status save_ours(const shoal_classifier *m, const char *path)
{
    struct container_writer *w = NULL;
    struct bytes meta = {0};
    shoal_status st = make_meta(m, &meta);

    if (st == SHOAL_OK)
        st = container_create(&w, path);
    if (st == SHOAL_OK)
        st = put_all(m, &meta, w);
    bytes_fini(&meta);
    return container_end(w, st);
}

/* Its rows are not aligned as ours, and have no bits. */
static shoal_status save_from_fasttext(const shoal_classifier *m, const char *path)
{
    shoal_classifier own = *m;
    struct table in;
    shoal_status st = classifier_rows_fasttext(m, path, &in, &own.features.bits);

    own.in = in.at;
    if (st == SHOAL_OK)
        st = save_ours(&own, path);
    free(own.features.bits);
    table_fini(&in);
    return st;
}

shoal_status classifier_save(const void *model, const char *path,
                             const struct shoal_save_opts *opts)
{
    const shoal_classifier *m = model;
    enum shoal_format format;
    shoal_status st = choose_format(path, opts, &format);

    if (st != SHOAL_OK)
        return st;
    if (format == SHOAL_FORMAT_FASTTEXT)
        return classifier_save_fasttext(m, path);
    return m->in ? save_ours(m, path) : save_from_fasttext(m, path);
}

/* ---- reading ---- */

/* A number of the meta, within bounds. */
static shoal_status read_count(const struct container *c, const char *key, uint64_t least,
                               uint64_t most, uint64_t *out)
{
    shoal_status st = container_meta_u64(c, key, out);

    if (st == SHOAL_OK && (*out < least || *out > most))
        st = shoal_fail(SHOAL_EFORMAT, "%s: its %s is %llu, want %llu to %llu", container_path(c),
                        key, (unsigned long long)*out, (unsigned long long)least,
                        (unsigned long long)most);
    return st;
}

static shoal_status read_loss(const struct container *c, enum shoal_loss *out)
{
    char name[16];
    shoal_status st = container_meta(c, "loss", name, sizeof name);

    for (size_t i = 0; st == SHOAL_OK && i < sizeof losses / sizeof *losses; i++)
        if (strcmp(losses[i], name) == 0) {
            *out = (enum shoal_loss)i;
            return SHOAL_OK;
        }
    return st == SHOAL_OK ? shoal_fail(SHOAL_EFORMAT, "%s: its loss is %s, want softmax, ns, hs or "
                                       "ova", container_path(c), name)
                          : st;
}

static shoal_status read_features(shoal_classifier *m, const struct container *c)
{
    uint64_t ngrams = 0, minn = 0, maxn = 0, buckets = 0;
    struct section bits;
    struct subwords how;
    shoal_status st = read_count(c, "word_ngrams", 1, FEATURES_NGRAMS, &ngrams);

    if (st == SHOAL_OK)
        st = read_count(c, "maxn", 0, SUBWORDS_MAXN, &maxn);
    if (st == SHOAL_OK)
        st = read_count(c, "minn", 0, maxn, &minn);
    if (st == SHOAL_OK)
        st = read_count(c, "buckets", 0, SUBWORDS_BUCKETS, &buckets);
    if (st == SHOAL_OK && (buckets > 0) != (ngrams > 1 || maxn > 0))
        st = shoal_fail(SHOAL_EFORMAT, "%s: has %llu buckets, want some where there are n-grams",
                        container_path(c), (unsigned long long)buckets);
    if (st == SHOAL_OK)
        st = container_find(c, "buckets", sizeof *m->features.bits, &bits);
    if (st == SHOAL_OK && bits.size / sizeof *m->features.bits != (buckets + 63) / 64)
        st = shoal_fail(SHOAL_EFORMAT, "%s: section \"buckets\" has %zu bytes, want a bit for each "
                        "of %llu", container_path(c), bits.size, (unsigned long long)buckets);
    how = (struct subwords){
        .minn = (unsigned)minn, .maxn = (unsigned)maxn, .buckets = (uint32_t)buckets};
    if (st == SHOAL_OK)
        st = line_rows_init(&m->features, shoal_vocab_size(m->words), (unsigned)ngrams, &how);
    if (st != SHOAL_OK)
        return st;
    if (bits.size > 0)
        memcpy(m->features.bits, bits.data, bits.size);
    if (buckets % 64 && m->features.bits[buckets / 64] >> (buckets % 64))
        return shoal_fail(SHOAL_EFORMAT, "%s: section \"buckets\" has bits behind bucket %llu",
                          container_path(c), (unsigned long long)buckets);
    line_rows_rank(&m->features);
    return SHOAL_OK;
}

static shoal_status find_rows(const shoal_classifier *m, const struct container *c, const char *name,
                              size_t rows, const float **out)
{
    size_t stride = m->stride * sizeof(float);
    struct section s;
    shoal_status st = container_find(c, name, stride, &s);

    if (st == SHOAL_OK && s.size / stride != rows)
        st = shoal_fail(SHOAL_EFORMAT, "%s: section \"%s\" has %zu rows, want %zu",
                        container_path(c), name, s.size / stride, rows);
    *out = s.data;
    return st;
}

static shoal_status read_all(shoal_classifier *m, const struct container *c)
{
    enum shoal_loss loss = SHOAL_SOFTMAX;
    uint64_t dim = 0;
    shoal_status st = container_check_kind(c, "classify", "a classifier of text");

    if (st == SHOAL_OK)
        st = line_reading_load(&m->reading, c);
    if (st == SHOAL_OK)
        st = read_loss(c, &loss);
    if (st == SHOAL_OK)
        st = read_count(c, "dim", 1, KERNEL_MAX_DIM, &dim);
    if (st == SHOAL_OK)
        st = vocab_map(&m->words, c);
    if (st == SHOAL_OK)
        st = names_load(&m->labels, "labels", c);
    if (st == SHOAL_OK) {
        classifier_know_labels(m);
        st = read_features(m, c);
    }
    if (st == SHOAL_OK)
        st = classifier_make_classes(m, loss, (size_t)dim);
    if (st == SHOAL_OK)
        st = find_rows(m, c, "in", line_rows_all(&m->features), &m->in);
    if (st == SHOAL_OK)
        st = find_rows(m, c, "out", classify_out_rows(loss, m->classes.classes), &m->out);
    return st;
}

shoal_status classifier_read(void **out, struct container *c)
{
    shoal_classifier *m = mem_array(1, sizeof *m);
    shoal_status st = m ? SHOAL_OK : SHOAL_ENOMEM;

    *out = NULL;
    if (m)
        m->file = c;
    else
        container_close(c);
    if (st == SHOAL_OK)
        st = read_all(m, c);
    if (st == SHOAL_OK)
        *out = m;
    else
        classifier_close(m);
    return st;
}

/* Every byte, and every number. */
shoal_status classifier_verify(const void *model)
{
    const shoal_classifier *m = model;
    size_t in = line_rows_all(&m->features);
    size_t out = classify_out_rows(m->classes.loss, m->classes.classes);
    shoal_status st = m->file ? container_verify(m->file, 0) : SHOAL_OK;

    if (st == SHOAL_OK && m->file)
        st = vocab_check(m->words, container_path(m->file));
    if (m->fasttext)
        return classifier_verify_fasttext(m);
    for (size_t i = 0; i < in + out && st == SHOAL_OK; i++) {
        const float *row = i < in ? m->in + i * m->stride : m->out + (i - in) * m->stride;

        if (!isfinite(m->classes.kernel->sumsq(row, m->stride)))
            st = shoal_fail(SHOAL_EFORMAT, "%s: row %zu is no numbers",
                            m->file ? container_path(m->file) : "classify", i);
    }
    return st;
}
