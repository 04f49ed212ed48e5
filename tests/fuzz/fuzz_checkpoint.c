/* Checkpoints of every task: any sections, in containers whose sums are right and whose parts
 * are those that the head names, are refused with a sentence, or can be gone on with: words and
 * clicks by whoever has such tables, a net by a run of the same samples. Parts stand behind lines
 * `##part`, after the head; a line `##checkpoint-...` is a name of its own. */
#include "../unit/defaults.h"
#include "fuzz.h"

#include "saved/saved.h"
#include "train/options.h"
#include "train/run.h"

#include <stdio.h>

/* As seeds.py makes them. */
enum { PARTS = 4, TABLES = 3, WORDS = 7, DIM = 4, WEIGHTS = 5 };
static const char samples[] = "0,0,0\n0,1,1\n1,0,1\n1,1,0\n";

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

/* ---- words and clicks ---- */

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

static void load(const char *path, const char *task, const struct train_opts *o)
{
    static const char *const names[][TABLES] = {{"in", "out", "bias"}, {"weights", "bias", NULL}};
    bool clicks = strcmp(task, "logreg") == 0;
    struct identity from = {.fingerprint = corpus_of(path)};
    struct sections s = {.n = clicks || o->loss != SHOAL_SOFTMAX ? 2 : TABLES, .size = 1};
    struct table tables[TABLES] = {0};
    struct shoal_figures figures;
    struct position at = {0};

    for (size_t i = 0; i < s.n; i++) {
        require(make_table(&tables[i], names[clicks][i], clicks, o->loss) == SHOAL_OK);
        s.at[i].table = &tables[i];
    }
    if (checkpoint_load(o, task_find(task), &from, &s, &at, &figures) != SHOAL_OK)
        require(*shoal_error() != '\0');
    for (size_t i = 0; i < s.n; i++)
        table_fini(&tables[i]);
}

/* ---- nets ---- */

static void go_on(const char *folder)
{
    struct train_opts o = task_defaults("mlp");
    struct shoal_samples_opts read = shoal_samples_default();
    struct shoal_sources data = {0};
    shoal_samples *s = NULL;
    shoal_model *model = NULL;

    require(shoal_samples_open(&s, fuzz_file(samples, sizeof samples - 1), &read) == SHOAL_OK);
    data.samples = s;
    o.layers = "3";
    o.epochs = 2;
    o.valid = 0;
    o.threads = 1;
    o.checkpoint = folder;
    o.resume = true;
    if (run_task(task_find("mlp"), &o, &data, &model, NULL) != SHOAL_OK)
        require(model == NULL && *shoal_error() != '\0');
    shoal_model_close(model);
    shoal_samples_close(s);
}

/* ---- any ---- */

static void take(const char *folder, const struct shoal_checkpoint *c, size_t size)
{
    shoal_options *o = NULL;

    if (shoal_options_resume(&o, folder) != SHOAL_OK) {
        require(o == NULL && *shoal_error() != '\0');
        return;
    }
    (void)shoal_options_check(o);
    if (strcmp(c->task, "mlp") == 0) {
        fuzz_begin(size, 64 * MIB, 64);
        go_on(folder);
    } else if (strcmp(c->task, "nextword") != 0 && strcmp(c->task, "vgg") != 0) {
        load(c->path, c->task, options_values(o));
    }
    shoal_options_free(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct shoal_checkpoint c = {0}, file = {0};
    const char *folder;
    char path[256];

    if (size == 0)
        return 0;
    folder = fuzz_folder();
    fuzz_begin(size, 16 * MIB + PARTS * FUZZ_PADDED, 64);
    put_all(data, size);
    snprintf(path, sizeof path, "%s/checkpoint-000001.shoal", folder);
    if (shoal_checkpoint_read(&c, folder) == SHOAL_OK) {
        require(shoal_checkpoint_read(&file, path) == SHOAL_OK);
        require(c.path[0] != '\0' && task_find(c.task));
        take(folder, &c, size);
    } else {
        require(c.path[0] == '\0' && *shoal_error() != '\0');
    }
    fuzz_end();
    return 0;
}
