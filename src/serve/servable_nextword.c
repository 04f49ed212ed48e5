/* Nets that continue text: words in, the likeliest next words out. */
#include "file/file.h"
#include "serve/servable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 10, WORDS_MAX = 1000, TEXT_MAX = 1 << 16 };

struct text_sample {
    char *text;
    struct shoal_hit *hits; /* [k] */
    size_t k, found;
};
_Static_assert(sizeof(struct text_sample) <= SAMPLE_MAX, "a sample fits");

/* A net whose file holds the vectors of words. */
static bool matches(const char *path, const char *kind)
{
    struct container *c = NULL;
    bool words;

    if (strcmp(kind, "net") != 0 || container_open(&c, path) != SHOAL_OK)
        return false;
    words = container_has(c, "vectors");
    container_close(c);
    return words;
}

static shoal_status text_open(void **model, const char *path)
{
    shoal_net *net = NULL;
    shoal_status st = shoal_net_open(&net, path);

    if (st == SHOAL_OK && !shoal_net_continues(net)) {
        shoal_net_close(net);
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: found a net without words, want one that continues "
                          "text",
                          path);
    }
    *model = net;
    return st;
}

static void text_close(void *model)
{
    shoal_net_close(model);
}

static void text_describe(const void *model, struct description *out)
{
    *out = (struct description){
        .platform = "shoal_nextword",
        .input = {"text", "BYTES", {-1}, 1},
        .output = {"words", "BYTES", {-1}, 1},
        .nfacts = 1,
    };
    out->facts[0].key = "parameters";
    snprintf(out->facts[0].value, sizeof out->facts[0].value, "%llu",
             (unsigned long long)shoal_net_parameters(model));
}

static shoal_status keep_text(struct text_sample *s, const char *text, size_t len)
{
    if (len == 0 || len > TEXT_MAX || memchr(text, '\0', len))
        return shoal_fail(SHOAL_EINVAL, "found %zu bytes of text, want 1 to %d", len, TEXT_MAX);
    s->text = mem_array(len + 1, 1);
    s->hits = mem_array(s->k, sizeof *s->hits);
    if (!s->text || !s->hits)
        return SHOAL_ENOMEM;
    memcpy(s->text, text, len);
    return SHOAL_OK;
}

static shoal_status text_read(const void *model, const struct instance *in, void *sample)
{
    struct text_sample *s = sample;
    const char *text =
        tree_kind(in->json) == TREE_TEXT ? tree_text(in->json) : instance_text(in, "text");
    uint64_t k = WORDS;
    shoal_status st = instance_u64(in, "k", 1, WORDS_MAX, &k);

    (void)model;
    s->k = (size_t)k;
    if (st != SHOAL_OK)
        return st;
    if (in->bytes)
        return keep_text(s, in->bytes, in->len);
    if (!text)
        return shoal_fail(SHOAL_EINVAL, "found no text, want some to go on from");
    return keep_text(s, text, strlen(text));
}

static void text_forget(void *sample)
{
    struct text_sample *s = sample;

    free(s->text);
    free(s->hits);
}

/* All words of the vocabulary are looked at. */
static bool text_cheap(const void *model, const void *sample)
{
    (void)model;
    (void)sample;
    return false;
}

static shoal_status text_run(const void *model, void *const *samples, size_t n)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        struct text_sample *s = samples[i];

        st = shoal_nextword_predict(model, s->text, s->hits, s->k, &s->found);
        if (st == SHOAL_ENOENT) /* no word of it is known: nobody else's failure */
            st = SHOAL_OK;
    }
    return st;
}

static void text_write(const void *model, const void *sample, struct writer *w)
{
    const struct text_sample *s = sample;

    put_open(w, '{');
    for (size_t i = 0; i < s->found; i++) {
        const char *word = shoal_nextword_word(model, s->hits[i].id);

        put_key(w, word ? word : "");
        put_float(w, s->hits[i].score);
    }
    put_close(w, '}');
}

static const float *text_floats(const void *model, const void *sample, size_t *n)
{
    (void)model;
    (void)sample;
    *n = 0;
    return NULL;
}

const struct servable_kind servable_nextword = {
    .name = "nextword",
    .list_key = "texts",
    .sample_size = sizeof(struct text_sample),
    .matches = matches,
    .open = text_open,
    .close = text_close,
    .describe = text_describe,
    .read = text_read,
    .cheap = text_cheap,
    .run = text_run,
    .write = text_write,
    .floats = text_floats,
    .forget = text_forget,
};
