/* Classifiers of text: a text in, its likeliest labels with their probabilities out. */
#include "serve/models/servable.h"

#include <stdlib.h>
#include <string.h>

enum {
    LABELS = 5,
    LABELS_MOST = 1000,
    TEXT_MOST = 1 << 20,
    FLOAT_TEXT = 14,   /* of a number */
    ANSWER_TEXT = 48,  /* bytes of a label and its probability in an answer, about */
    CHEAP_TEXT = 4096, /* bytes that are classified where they were read, */
    CHEAP_LABELS = 256, /* of so many classes at most */
};

struct class_sample {
    char *text;
    size_t len;
    size_t k, found;
    double threshold;
    struct shoal_guess *guess; /* [k] */
    float *vector;             /* [dim] instead, where that is asked for */
    size_t features;
};
_Static_assert(sizeof(struct class_sample) <= SAMPLE_MAX, "a sample fits");

static shoal_status classify_open(const void **out, const shoal_model *model)
{
    *out = shoal_model_classifier(model);
    return SHOAL_OK;
}

static void classify_shapes(const void *model, struct tensor_shape *input,
                            struct tensor_shape *outputs)
{
    (void)model;
    *input = (struct tensor_shape){"text", "BYTES", {-1}, 1};
    outputs[0] = (struct tensor_shape){"labels", "BYTES", {-1, -1}, 2};
    outputs[1] = (struct tensor_shape){"probabilities", "FP32", {-1, -1}, 2};
}

static shoal_status keep_text(struct request *q, struct class_sample *s, const char *text,
                              size_t len)
{
    if (len > TEXT_MOST)
        return shoal_fail(SHOAL_EINVAL, "found %zu bytes of text, want at most %d", len, TEXT_MOST);
    if (request_charge_sample(q, len + s->k * sizeof *s->guess, s->k * ANSWER_TEXT) != SHOAL_OK)
        return SHOAL_ELIMIT;
    s->text = mem_array(len + 1, 1);
    s->guess = mem_array(s->k, sizeof *s->guess);
    if (!s->text || !s->guess)
        return SHOAL_ENOMEM;
    memcpy(s->text, text, len);
    s->len = len;
    return SHOAL_OK;
}

/* A number of the object, of the one around it, or of the address. */
static shoal_status read_threshold(const struct instance *in, double *out)
{
    const struct tree *own = tree_get(in->json, "threshold");
    const struct tree *at = own ? own : tree_get(in->object, "threshold");
    const char *text = query_get(in->query, "threshold");
    char *end = NULL;

    if (at)
        *out = tree_number(at);
    else if (text)
        *out = number_read(text, &end);
    if ((end && (end == text || *end)) || !(*out >= 0 && *out <= 1))
        return shoal_fail(SHOAL_EINVAL, "found another threshold, want a number from 0 to 1");
    return SHOAL_OK;
}

/* A text whose vector is asked for. */
static shoal_status read_embed(const shoal_classifier *m, const struct instance *in,
                               struct class_sample *s)
{
    size_t dim = shoal_classifier_dim(m);

    s->k = 1; /* of labels there is room for, which nobody asks for */
    if (in->json)
        return shoal_fail(SHOAL_EINVAL, "input: found token ids, want text: a classifier has none");
    if (request_charge_sample(in->request, dim * sizeof *s->vector, dim * FLOAT_TEXT) != SHOAL_OK)
        return SHOAL_ELIMIT;
    if (!(s->vector = mem_array(dim, sizeof *s->vector)))
        return SHOAL_ENOMEM;
    return keep_text(in->request, s, in->bytes, in->len);
}

static shoal_status classify_read(const void *model, const struct instance *in, void *sample)
{
    struct class_sample *s = sample;
    size_t labels = shoal_classifier_labels(model);
    const char *text =
        tree_kind(in->json) == TREE_TEXT ? tree_text(in->json) : instance_text(in, "text");
    uint64_t k = labels < LABELS ? labels : LABELS;
    shoal_status st;

    if (strcmp(in->verb, "embed") == 0)
        return read_embed(model, in, s);
    st = instance_u64(in, "k", 1, LABELS_MOST, &k);
    if (st == SHOAL_OK)
        st = read_threshold(in, &s->threshold);
    s->k = k < labels ? (size_t)k : labels;
    if (st != SHOAL_OK)
        return st;
    if (in->bytes)
        return keep_text(in->request, s, in->bytes, in->len);
    if (!text)
        return shoal_fail(SHOAL_EINVAL, "found no text, want some to classify");
    return keep_text(in->request, s, text, strlen(text));
}

static void classify_forget(void *sample)
{
    struct class_sample *s = sample;

    free(s->text);
    free(s->guess);
    free(s->vector);
}

static bool classify_cheap(const void *model, const void *sample)
{
    return ((const struct class_sample *)sample)->len <= CHEAP_TEXT &&
           shoal_classifier_labels(model) <= CHEAP_LABELS;
}

static shoal_status classify_run(const void *model, void *const *samples, size_t n)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        struct class_sample *s = samples[i];
        struct shoal_classify_opts opts = {s->k, s->threshold, 1};
        struct shoal_memory text = {"text", s->text, s->len};

        if (s->vector)
            st = shoal_classifier_text(model, s->text, s->len, s->vector, &s->features);
        else
            st = shoal_classify(model, &text, 1, &opts, s->guess, &s->found);
    }
    return st;
}

/* {"Sports": 0.98, "World": 0.01} */
static void classify_write(const void *model, const void *sample, struct writer *w)
{
    const struct class_sample *s = sample;

    put_open(w, '{');
    for (size_t i = 0; i < s->found; i++)
        member_float(w, shoal_classifier_label(model, s->guess[i].label), s->guess[i].p);
    put_close(w, "}");
}

static const float *classify_embedding(const void *model, const void *sample, size_t *n,
                                       size_t *tokens)
{
    const struct class_sample *s = sample;

    *n = shoal_classifier_dim(model);
    *tokens = s->features;
    return s->features > 0 ? s->vector : NULL;
}

static size_t classify_ranked(const void *model, const void *sample, size_t i, const char **name,
                              float *score)
{
    const struct class_sample *s = sample;

    *name = i < s->found ? shoal_classifier_label(model, s->guess[i].label) : "";
    *score = i < s->found ? (float)s->guess[i].p : 0;
    return s->found;
}

const struct servable_kind servable_classify = {
    .name = "classify",
    .list_key = "texts",
    .sample_size = sizeof(struct class_sample),
    .open = classify_open,
    .shapes = classify_shapes,
    .read = classify_read,
    .cheap = classify_cheap,
    .run = classify_run,
    .write = classify_write,
    .ranked = classify_ranked,
    .forget = classify_forget,
    .embedding = classify_embedding,
};
