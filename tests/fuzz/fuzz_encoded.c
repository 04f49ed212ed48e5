/* Encoded corpora and clicks: any sections, in a container whose sums are right, are refused
 * with a sentence, or can be walked through from end to end. */
#include "fuzz.h"

#include "sparse/rows.h"
#include "text/text.h"

#include <math.h>

static void walk_corpus(const shoal_corpus *c)
{
    const shoal_vocab *v = shoal_corpus_vocab(c);
    const uint32_t *ids;
    size_t n;

    for (uint32_t id = 0; id < shoal_vocab_size(v); id++) {
        const char *word = shoal_vocab_word(v, id);

        require(word[0] != '\0' && shoal_vocab_find(v, word, strlen(word)) == id);
    }
    for (unsigned part = 0; part < 3; part++) {
        require(shoal_corpus_part(c, part, 3, &ids, &n) == SHOAL_OK);
        for (size_t i = 0; i < n; i++)
            require(ids[i] < shoal_vocab_size(v) || ids[i] == SHOAL_SENTENCE_END);
    }
    (void)shoal_corpus_fingerprint(c);
}

static void walk_clicks(const shoal_clicks *c)
{
    struct shoal_clicks_opts like = shoal_clicks_like(c);
    uint64_t values;

    require(shoal_clicks_check(&like) == SHOAL_OK || *shoal_error() != '\0');
    for (uint32_t id = 0; id < shoal_clicks_counts(c).features; id++) {
        const char *name = shoal_clicks_name(c, id);

        require(!name || strlen(name) < SIZE_MAX);
        (void)shoal_clicks_count(c, id, &values);
    }
    require(shoal_clicks_counts(c).positives <= shoal_clicks_counts(c).rows);
    require(shoal_clicks_counts(c).classes >= 2 &&
            shoal_clicks_counts(c).classes <= SHOAL_CLICKS_CLASSES);
    for (uint64_t i = 0; i < c->view.rows; i++) {
        require(c->view.label[i] < shoal_clicks_counts(c).classes);
        for (uint64_t k = c->view.start[i]; k < c->view.start[i + 1]; k++)
            require(c->view.id[k] < c->view.features &&
                    (!c->view.value || isfinite(c->view.value[k])));
    }
}

/* The vocabulary where it lies, which is not looked through before. */
static void walk_mapped(const char *file, size_t len)
{
    struct container *c = NULL;
    shoal_vocab *v = NULL;

    if (container_open_memory(&c, "fuzz", file, len) == SHOAL_OK && vocab_map(&v, c) == SHOAL_OK) {
        for (uint32_t id = 0; id < shoal_vocab_size(v); id++)
            (void)shoal_vocab_find(v, shoal_vocab_word(v, id), strlen(shoal_vocab_word(v, id)));
        (void)vocab_check(v, "fuzz");
    }
    shoal_vocab_free(v);
    container_close(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    shoal_corpus *corpus = NULL;
    shoal_clicks *clicks = NULL;
    const char *file, *path;
    char kind[32];
    size_t len;

    fuzz_begin(size, 64 * MIB, 64);
    file = fuzz_container(data, size, &len);
    path = fuzz_file(file, len);
    fuzz_begin(len, 4 * MIB, 64);
    (void)shoal_kind(path, kind);
    if (shoal_corpus_open(&corpus, path) == SHOAL_OK)
        walk_corpus(corpus);
    else
        require(corpus == NULL && *shoal_error() != '\0');
    if (shoal_clicks_open(&clicks, path) == SHOAL_OK)
        walk_clicks(clicks);
    else
        require(clicks == NULL && *shoal_error() != '\0');
    walk_mapped(file, len);
    shoal_corpus_close(corpus);
    shoal_clicks_close(clicks);
    fuzz_end();
    return 0;
}
