/* Checkpoints of word vectors and click models: any sections, in containers whose sums are
 * right and whose parts are those that the head names, are refused with a sentence, or can
 * be gone on with. Parts stand behind lines `##part`, after the head; a line `##checkpoint-...` is
 * a name of its own. */
#include "fuzz.h"

#include "train/checkpoint.h"

#include <stdio.h>

/* As seeds.py makes them. */
enum { PARTS = 4, TABLES = 3, WORDS = 7, DIM = 4, WEIGHTS = 5 };

/* Writes the parts beside the head and what they are into it. */
static size_t put_all(const uint8_t *data, size_t size)
{
    struct fuzz_cut cut = fuzz_cut("##", data, size);
    struct fuzz_piece head, pieces[PARTS];
    uint64_t seals[PARTS] = {0};
    struct container *c;
    struct section s;
    size_t n = 0, len, all;
    char *file;

    require(fuzz_next(&cut, &head));
    while (n < PARTS && fuzz_next(&cut, &pieces[n]))
        n++;
    for (size_t i = 0; i < n; i++) {
        char name[FUZZ_NAME];

        file = fuzz_container(pieces[i].at, pieces[i].size, &len);
        snprintf(name, sizeof name, "checkpoint-000001.part-%02zu-of-%02zu.shoal", i, n);
        if (strncmp(pieces[i].name, "checkpoint-", 11) == 0 && !strchr(pieces[i].name, '/'))
            memcpy(name, pieces[i].name, sizeof name);
        fuzz_put(name, file, len);
        if (container_open_memory(&c, "fuzz", file, len) == SHOAL_OK)
            seals[i] = container_fingerprint(c);
        container_close(c);
    }
    file = fuzz_container(head.at, head.size, &all);
    if (container_open_memory(&c, "fuzz", file, all) == SHOAL_OK &&
        container_find(c, "parts", sizeof *seals, &s) == SHOAL_OK)
        memcpy((void *)(uintptr_t)s.data, seals, s.size < sizeof seals ? s.size : sizeof seals);
    container_close(c);
    fuzz_seal(file);
    fuzz_put("checkpoint-000001.shoal", file, all);
    return all;
}

/* What a run would have that fits the checkpoint: the corpus that it names. */
static uint64_t corpus_of(const char *path)
{
    struct container *c = NULL;
    struct section s;
    uint64_t corpus = 0;

    if (container_open(&c, path) == SHOAL_OK &&
        container_find(c, "corpus", sizeof corpus, &s) == SHOAL_OK && s.size >= sizeof corpus)
        memcpy(&corpus, s.data, sizeof corpus);
    container_close(c);
    return corpus;
}

static shoal_status make_table(struct table *t, const char *name, bool clicks, enum shoal_loss loss)
{
    bool bias = strcmp(name, "bias") == 0;

    if (clicks)
        return table_init_packed(t, name, bias ? 1 : WEIGHTS, 2);
    if (bias)
        return table_init(t, name, 1, WORDS);
    if (loss == SHOAL_HS && strcmp(name, "out") == 0)
        return table_init(t, name, WORDS - 1, DIM);
    return table_init(t, name, WORDS, DIM);
}

static void load(const struct shoal_resume *r)
{
    static const char *const names[][TABLES] = {{"in", "out", "bias"}, {"weights", "bias", NULL}};
    bool clicks = r->opts.model == SHOAL_LOGREG;
    struct source from = {.fingerprint = corpus_of(r->path)};
    struct table tables[TABLES] = {0};
    struct position at = {0};
    size_t n = 0;

    for (; n < TABLES && names[clicks][n]; n++)
        require(make_table(&tables[n], names[clicks][n], clicks, r->opts.loss) == SHOAL_OK);
    if (checkpoint_load(&r->opts, from, tables, r->opts.loss == SHOAL_SOFTMAX ? n : 2, &at, NULL) !=
        SHOAL_OK)
        require(*shoal_error() != '\0');
    for (size_t i = 0; i < n; i++)
        table_fini(&tables[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct shoal_resume r = {0}, file = {0};
    const char *folder;
    char path[256];

    if (size == 0)
        return 0;
    folder = fuzz_folder();
    fuzz_begin(size, 16 * MIB + PARTS * FUZZ_PADDED, 64);
    put_all(data, size);
    snprintf(path, sizeof path, "%s/checkpoint-000001.shoal", folder);
    if (shoal_resume_read(&r, folder) == SHOAL_OK) {
        require(shoal_resume_read(&file, path) == SHOAL_OK);
        (void)shoal_train_check(&r.opts);
        load(&r);
    } else {
        require(r.strings == NULL && *shoal_error() != '\0');
    }
    shoal_resume_free(&r);
    shoal_resume_free(&file);
    fuzz_end();
    return 0;
}
