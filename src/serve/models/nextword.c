/* Nets that continue text: words in, the likeliest next words out. */
#include "serve/models/servable.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORDS = 10,
    WORDS_MAX = 1000,
    TEXT_MAX = 1 << 16,
    HIT_TEXT = 32, /* bytes of a word and its score in an answer, about */
    NUMBER_TEXT = 13, /* bytes of a number of a vector, about */
    SPARE_CONTINUERS = 8,
};

struct text_model {
    const shoal_net *net;
    struct spares continuers;
};

struct text_sample {
    char *text;
    struct continuation asked;
    bool tensor; /* the vector is asked for as a tensor */
};
_Static_assert(sizeof(struct text_sample) <= SAMPLE_MAX, "a sample fits");

static void nextword_close(const void *model)
{
    struct text_model *m = (struct text_model *)(uintptr_t)model;

    while (m->continuers.n > 0)
        continuer_free(spares_take(&m->continuers));
    pthread_mutex_destroy(&m->continuers.lock);
    free(m);
}

static shoal_status nextword_open(const void **out, const shoal_model *model)
{
    struct text_model *m = mem_array(1, sizeof *m);

    if (!m)
        return SHOAL_ENOMEM;
    pthread_mutex_init(&m->continuers.lock, NULL);
    m->continuers.most = SPARE_CONTINUERS;
    m->net = shoal_model_net(model);
    *out = m;
    return SHOAL_OK;
}

static int64_t outputs_of(const struct text_model *m)
{
    return (int64_t)shoal_net_outputs(m->net);
}

static void nextword_shapes(const void *model, struct tensor_shape *input,
                            struct tensor_shape *outputs)
{
    const struct text_model *m = model;

    *input = (struct tensor_shape){"text", "BYTES", {-1}, 1};
    outputs[0] = (struct tensor_shape){"words", "BYTES", {-1, -1}, 2};
    outputs[1] = (struct tensor_shape){"probabilities", "FP32", {-1, -1}, 2};
    outputs[2] = (struct tensor_shape){"vector", "FP32", {-1, outputs_of(m)}, 2};
}

static shoal_status keep_text(struct request *q, struct text_sample *s, const char *text,
                              size_t len, size_t numbers)
{
    if (len == 0 || len > TEXT_MAX || memchr(text, '\0', len))
        return shoal_fail(SHOAL_EINVAL, "found %zu bytes of text, want 1 to %d", len, TEXT_MAX);
    if (request_charge_sample(
            q, len + s->asked.k * sizeof *s->asked.hits + numbers * sizeof *s->asked.vector,
            s->asked.k * HIT_TEXT + numbers * NUMBER_TEXT) != SHOAL_OK)
        return SHOAL_ELIMIT;
    if (numbers > 0 && !(s->asked.vector = mem_array(numbers, sizeof *s->asked.vector)))
        return SHOAL_ENOMEM;
    s->text = mem_array(len + 1, 1);
    s->asked.hits = mem_array(s->asked.k, sizeof *s->asked.hits);
    if (!s->text || !s->asked.hits)
        return SHOAL_ENOMEM;
    memcpy(s->text, text, len);
    s->asked.text = s->text;
    return SHOAL_OK;
}

static shoal_status nextword_read(const void *model, const struct instance *in, void *sample)
{
    const struct text_model *m = model;
    struct text_sample *s = sample;
    const char *text =
        tree_kind(in->json) == TREE_TEXT ? tree_text(in->json) : instance_text(in, "text");
    uint64_t k = WORDS;
    shoal_status st = instance_u64(in, "k", 1, WORDS_MAX, &k);

    size_t numbers = instance_true(in, "vector") || in->third ? shoal_net_outputs(m->net) : 0;

    s->asked.k = (size_t)k;
    s->asked.nearest = numbers > 0;
    s->tensor = in->tensor;
    if (st != SHOAL_OK)
        return st;
    if (in->bytes)
        return keep_text(in->request, s, in->bytes, in->len, numbers);
    if (!text)
        return shoal_fail(SHOAL_EINVAL, "found no text, want some to go on from");
    return keep_text(in->request, s, text, strlen(text), numbers);
}

static void nextword_forget(void *sample)
{
    struct text_sample *s = sample;

    free(s->text);
    free(s->asked.hits);
    free(s->asked.vector);
}

/* All texts of a batch go through the net, and are compared to all words, together. */
static shoal_status nextword_run(const void *model, void *const *samples, size_t n)
{
    struct text_model *m = (struct text_model *)(uintptr_t)model; /* its scratch alone changes */
    struct continuer *c = spares_take(&m->continuers);
    shoal_status st = c ? SHOAL_OK : continuer_new(&c, m->net, CONTINUED);

    for (size_t i = 0; i < n && st == SHOAL_OK; i += CONTINUED) {
        size_t some = n - i < CONTINUED ? n - i : CONTINUED;
        struct continuation *asks[CONTINUED];

        for (size_t k = 0; k < some; k++)
            asks[k] = &((struct text_sample *)samples[i + k])->asked;
        st = continuer_ask(c, asks, some);
    }
    continuer_free(spares_give(&m->continuers, c));
    return st;
}

static void write_hits(const struct text_model *m, const struct continuation *a, struct writer *w)
{
    for (size_t i = 0; i < a->found; i++) {
        const char *word = shoal_nextword_word(m->net, a->hits[i].id);

        member_float(w, word ? word : "", a->hits[i].score);
    }
}

/* {"vector": [...], "nearest": {word: cosine}}, or {word: probability}. Behind a text of unknown
 * words there is neither. */
static void nextword_write(const void *model, const void *sample, struct writer *w)
{
    const struct text_model *m = model;
    const struct text_sample *s = sample;

    put_open(w, '{');
    if (s->asked.vector) {
        member_open(w, "vector", '[');
        for (size_t i = 0; s->asked.known && i < shoal_net_outputs(m->net); i++)
            put_float(w, s->asked.vector[i]);
        put_close(w, "]");
        member_open(w, "nearest", '{');
    }
    write_hits(m, &s->asked, w);
    put_close(w, s->asked.vector ? "}}" : "}");
}

/* Behind unknown words it is zeros, as they were taken. */
static const float *nextword_floats(const void *model, const void *sample, size_t *n)
{
    const struct text_sample *s = sample;

    *n = shoal_net_outputs(((const struct text_model *)model)->net);
    return s->tensor ? s->asked.vector : NULL;
}

static size_t nextword_ranked(const void *model, const void *sample, size_t i, const char **name,
                              float *score)
{
    const struct text_model *m = model;
    const struct continuation *a = &((const struct text_sample *)sample)->asked;
    const char *word = i < a->found ? shoal_nextword_word(m->net, a->hits[i].id) : NULL;

    *name = word ? word : "";
    *score = i < a->found ? a->hits[i].score : 0;
    return a->found;
}

const struct servable_kind servable_nextword = {
    .name = "nextword",
    .list_key = "texts",
    .sample_size = sizeof(struct text_sample),
    .open = nextword_open,
    .close = nextword_close,
    .shapes = nextword_shapes,
    .read = nextword_read,
    .run = nextword_run,
    .write = nextword_write,
    .floats = nextword_floats,
    .ranked = nextword_ranked,
    .forget = nextword_forget,
};
