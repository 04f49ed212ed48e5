/* Nets as kinds of models: those on numbers and pictures, and those on words. */
#include "saved/kind.h"
#include "saved/net/score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static shoal_status net_save(const void *model, const char *path,
                             const struct shoal_save_opts *opts)
{
    enum shoal_format format;
    shoal_status st = saved_check(&kind_net, path, opts, &format);

    if (st != SHOAL_OK)
        return st;
    if (format == SHOAL_FORMAT_ONNX)
        return net_export_onnx(model, path);
    return format == SHOAL_FORMAT_SHOAL ? shoal_net_save(model, path)
                                        : shoal_net_export(model, path);
}

static shoal_status nextword_save(const void *model, const char *path,
                                  const struct shoal_save_opts *opts)
{
    enum shoal_format format;
    shoal_status st = saved_check(&kind_nextword, path, opts, &format);

    return st == SHOAL_OK ? net_save(model, path, opts) : st;
}

static void net_close(void *model)
{
    shoal_net_close(model);
}

/* ---- what it is ---- */

/* Last, since a deep net has dozens. */
static void describe_tensors(const shoal_net *t, const struct shoal_reporter *to)
{
    static const struct shoal_column columns[] = {{NULL, "tensor", -24}, {NULL, "shape", 0}};
    static const struct shoal_grid grid = {NULL, columns, 2};

    for (size_t i = 0; i < t->net->ntensors; i++) {
        const struct tensor *e = &t->net->tensors[i];
        char shape[96];
        int len = snprintf(shape, sizeof shape, "%zu", e->dims[0]);

        for (size_t k = 1; k < 4 && e->dims[k] && len < (int)sizeof shape; k++)
            len += snprintf(shape + len, sizeof shape - (size_t)len, " x %zu", e->dims[k]);
        report_row(to, &grid,
                   (const struct shoal_value[]){VALUE_TEXT(e->name), VALUE_TEXT(shape)}, 0);
    }
}

static void describe_training(const shoal_net *t, const struct shoal_reporter *to)
{
    static const char *const facts[][2] = {{"samples", "samples"},
                                           {"pictures", "pictures"},
                                           {"label", "label"},
                                           {"augmented", "augmented"},
                                           {"held_out", "held out"},
                                           {"assumed", "assumed"},
                                           {"epochs", "epochs"},
                                           {"loss", "loss"},
                                           {"valid_loss", "valid loss"},
                                           {"valid_accuracy", "valid acc."},
                                           {"test_accuracy", "test acc."}};

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (shoal_net_fact(t, facts[i][0]))
            report_value(to, NULL, facts[i][1], VALUE_TEXT(shoal_net_fact(t, facts[i][0])));
}

/* Their names, as far as a line goes, if they have any. */
static void describe_classes(const shoal_net *t, const struct shoal_reporter *to)
{
    char name[256], text[512] = "";
    size_t len = 0;

    if (!shoal_net_fact(t, "class.0"))
        return;
    for (size_t i = 0; i < t->net->outputs && len < sizeof text; i++) {
        shoal_net_class(t, i, name, sizeof name);
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", i > 0 ? ", " : "", name);
    }
    report_noted(to, NULL, "classes", VALUE_COUNT(t->net->outputs), "%", VALUE_TEXT(text),
                 NO_VALUE);
}

static void describe_shape(const shoal_net *t, const struct shoal_reporter *to)
{
    char text[64];

    snprintf(text, sizeof text, "%.*s", (int)strcspn(t->net->spec, " "), t->net->spec);
    report_value(to, "net", NULL, VALUE_TEXT(text));
    report_value(to, "inputs", NULL, VALUE_COUNT(t->net->inputs));
    report_value(to, t->net->classes ? "classes" : "outputs", NULL, VALUE_COUNT(t->net->outputs));
}

static void describe_pictures(const shoal_net *t, const struct shoal_reporter *to)
{
    unsigned channels, height, width;
    char text[64];

    if (!shoal_net_pictures(t, &channels, &height, &width))
        return;
    snprintf(text, sizeof text, "%u x %u x %u", width, height, channels);
    report_value(to, "images", NULL, VALUE_TEXT(text));
    if (saved_net_resize(t) > 0)
        report_noted(to, "resize", "pictures", VALUE_TEXT(text), "from a shorter side of %",
                     VALUE_COUNT(saved_net_resize(t)), NO_VALUE);
}

/* Those on words have words for their shape. */
static shoal_status net_describe(const void *model, uint64_t bytes, uint64_t top,
                                 const struct shoal_reporter *to)
{
    const shoal_net *t = model;

    report_begin(to, "a net");
    report_value(to, NULL, "", VALUE_TEXT(t->net->spec));
    if (!t->words)
        describe_shape(t, to);
    report_value(to, "parameters", "parameters", VALUE_COUNT(shoal_net_parameters(t)));
    describe_training(t, to);
    describe_classes(t, to);
    describe_pictures(t, to);
    report_model_columns(to, t->columns);
    describe_tensors(t, to);
    return SHOAL_OK;
}

/* ---- names of its classes ---- */

static shoal_status keep_facts(shoal_net *t, const struct bytes *old)
{
    shoal_status st = SHOAL_OK;

    for (size_t at = 0; at < old->len && st == SHOAL_OK; at += strlen(old->at + at) + 1)
        if (strncmp(old->at + at, "class.", 6) != 0)
            st = bytes_add(&t->facts, old->at + at, strlen(old->at + at) + 1);
    return st;
}

static size_t net_classes(const void *model)
{
    const shoal_net *t = model;

    return t->net->classes ? t->net->outputs : 0;
}

static shoal_status net_name_classes(void *model, const struct class_index *index)
{
    shoal_net *t = model;
    struct bytes old = t->facts;
    char key[32];
    shoal_status st;

    t->facts = (struct bytes){0};
    st = keep_facts(t, &old);
    for (size_t i = 0; i < index->n && st == SHOAL_OK; i++) {
        snprintf(key, sizeof key, "class.%zu", i);
        st = saved_net_fact(t, key, "%s", index->names[i]);
    }
    bytes_fini(&old);
    return st;
}

/* ---- what it answers: samples ---- */

static void say_row(struct answers *a, const shoal_net *t, const float *y)
{
    size_t n = t->net->outputs;
    bool classes = t->net->classes;
    char name[CLASS_NAME];

    if (classes) {
        shoal_net_class(t, net_likeliest(y, n), name, sizeof name);
        answer_name(a, name);
    }
    for (size_t o = 0; o < n; o++)
        answer_print(a, "%s%.6g", classes || o > 0 ? "\t" : "", (double)y[o]);
    answer_print(a, "\n");
}

/* A file of samples that also holds the answers has columns too many. */
static shoal_status open_samples(shoal_samples **s, const shoal_net *t, const struct asked_of *q,
                                 const char *path, bool labels)
{
    struct saved_reading r;
    shoal_status st = saved_net_reading(&r, t, &q->opts->samples, labels);

    if (st == SHOAL_OK)
        st = shoal_samples_open(s, path, &r.opts);
    saved_reading_fini(&r);
    return st;
}

static shoal_status ask_samples(const shoal_net *t, const struct asked_of *q, const char *path,
                                struct answers *a)
{
    enum { SOME = 1024 };
    size_t outputs = t->net->outputs;
    float *y = mem_array(SOME * outputs, sizeof *y);
    shoal_samples *s = NULL;
    shoal_status st = y ? open_samples(&s, t, q, path, false) : SHOAL_ENOMEM;

    for (size_t i = 0; st == SHOAL_OK && i < s->n; i += SOME) {
        size_t some = s->n - i < SOME ? s->n - i : SOME;

        st = shoal_net_predict_samples(t, s, i, some, y);
        for (size_t k = 0; k < some && st == SHOAL_OK; k++)
            say_row(a, t, y + k * outputs);
        if (st == SHOAL_OK)
            st = answer_flush(a);
    }
    shoal_samples_close(s);
    free(y);
    return st;
}

/* ---- pictures ---- */

/* Lines of a probability and a class, likeliest first and with the file before them if
 * there are several; y [n] is spoilt. */
static void say_likeliest(struct answers *a, const shoal_net *t, const char *path, float *y)
{
    enum { LIKELIEST = 5 };
    size_t n = t->net->outputs;

    for (size_t i = 0; i < LIKELIEST && i < n; i++) {
        size_t best = net_likeliest(y, n);
        char name[256];

        shoal_net_class(t, best, name, sizeof name);
        if (path)
            answer_name(a, path);
        answer_print(a, "%s%.4f\t", path ? "\t" : "", (double)y[best]);
        answer_name(a, name);
        answer_print(a, "\n");
        y[best] = -1;
    }
}

/* Those before the first that cannot be read are answered. */
static shoal_status ask_pictures(const shoal_net *t, const char *const *paths, size_t n,
                                 bool several, struct answers *a)
{
    enum { SOME = 1024 };
    size_t outputs = t->net->outputs;
    float *y = mem_array((n < SOME ? n : SOME) * outputs, sizeof *y);
    shoal_status st = y ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = 0; i < n && st == SHOAL_OK; i += SOME) {
        size_t done;
        shoal_status said;

        st = shoal_net_predict_pictures(t, paths + i, n - i < SOME ? n - i : SOME, y, &done);
        for (size_t k = 0; k < done; k++)
            say_likeliest(a, t, several ? paths[i + k] : NULL, y + k * outputs);
        said = answer_flush(a);
        st = st == SHOAL_OK ? said : st;
    }
    free(y);
    return st;
}

static bool holds_picture(const char *path)
{
    unsigned char first[8];
    FILE *f = fopen(path, "rbe");
    size_t n = f ? fread(first, 1, sizeof first, f) : 0;

    if (f)
        fclose(f);
    return picture_sniff(first, n);
}

static shoal_status net_ask(const void *model, const struct asked_of *q, struct answers *a)
{
    const shoal_net *t = model;
    unsigned channels, height, width;
    bool sees = shoal_net_pictures(t, &channels, &height, &width);
    shoal_status st = SHOAL_OK;

    if (saved_net_only_pictures(t))
        return ask_pictures(t, q->inputs, q->n, q->n > 1, a);
    for (size_t i = 0; i < q->n && st == SHOAL_OK; i++)
        st = sees && holds_picture(q->inputs[i]) ? ask_pictures(t, q->inputs + i, 1, q->n > 1, a)
                                                 : ask_samples(t, q, q->inputs[i], a);
    return st;
}

/* ---- next words ---- */

enum { LIKELY = 40 }; /* words that a next one is drawn from */

static void say_hits(struct answers *a, const shoal_net *t, const struct shoal_hit *hits, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        answer_print(a, "%8.4f  ", (double)hits[i].score);
        answer_name(a, shoal_nextword_word(t, hits[i].id));
        answer_print(a, "\n");
    }
}

static shoal_status show_next(const shoal_net *t, const struct asked_of *q, const char *text,
                              struct answers *a)
{
    struct shoal_hit *hits = mem_array((size_t)q->opts->top + 1, sizeof *hits);
    size_t found = 0;
    shoal_status st =
        hits ? shoal_nextword_predict(t, text, hits, (size_t)q->opts->top, &found) : SHOAL_ENOMEM;

    if (st == SHOAL_OK)
        say_hits(a, t, hits, found);
    free(hits);
    return st;
}

/* Its numbers on a line, then the nearest words. */
static shoal_status show_vector(const shoal_net *t, const struct asked_of *q, const char *text,
                                struct answers *a)
{
    size_t k = (size_t)q->opts->nearest, n = t->net->outputs, found = 0;
    struct shoal_hit *hits = mem_array(k + 1, sizeof *hits);
    float *y = mem_array(n, sizeof *y);
    shoal_status st =
        hits && y ? shoal_nextword_vector(t, text, y, hits, k, &found) : SHOAL_ENOMEM;

    if (st == SHOAL_OK) {
        say_row(a, t, y);
        say_hits(a, t, hits, found);
    }
    free(y);
    free(hits);
    return st;
}

/* By seed and place. */
static uint32_t draw(const struct shoal_hit *hits, size_t n, double temperature, uint64_t seed,
                     uint64_t place)
{
    double unit = (double)(rng_mix(seed + (place + 1) * RNG_STEP) >> 11) * 0x1p-53;
    double weight[LIKELY], sum = 0;

    if (temperature <= 0)
        return hits[0].id;
    for (size_t i = 0; i < n; i++)
        sum += weight[i] = pow((double)hits[i].score, 1 / temperature);
    unit *= sum;
    for (size_t i = 0; i < n; i++)
        if ((unit -= weight[i]) < 0)
            return hits[i].id;
    return hits[0].id;
}

/* The text, each word drawn after all before it. */
static shoal_status generate(const shoal_net *t, const struct shoal_ask_opts *o, struct bytes *text)
{
    shoal_status st = SHOAL_OK;

    for (uint64_t i = 0; i < o->generate && st == SHOAL_OK; i++) {
        struct shoal_hit hits[LIKELY];
        const char *word;
        size_t found;

        st = shoal_nextword_predict(t, text->at, hits, LIKELY, &found);
        if (st != SHOAL_OK || found == 0)
            break;
        word = shoal_nextword_word(t, draw(hits, found, o->temperature, o->seed, i));
        text->at[text->len - 1] = ' ';
        st = bytes_add(text, word, strlen(word) + 1);
    }
    return st;
}

static shoal_status say_generated(const shoal_net *t, const struct asked_of *q, const char *text,
                                  struct answers *a)
{
    struct bytes all = {0};
    shoal_status st = bytes_add(&all, text, strlen(text) + 1);

    if (st == SHOAL_OK)
        st = generate(t, q->opts, &all);
    if (st == SHOAL_OK) {
        answer_name(a, all.at);
        answer_print(a, "\n");
    }
    bytes_fini(&all);
    return st;
}

static shoal_status nextword_ask(const void *model, const struct asked_of *q, struct answers *a)
{
    const struct shoal_ask_opts *o = q->opts;
    shoal_status st = SHOAL_OK;

    if (o->vector && o->generate > 0)
        return shoal_fail(SHOAL_EINVAL, "predict: found --vector and --generate, want one of them");
    if (o->nearest > 0 && !o->vector)
        return shoal_fail(SHOAL_EINVAL, "predict: -k is for --vector, want --top without it");
    for (size_t i = 0; i < q->n && st == SHOAL_OK; i++) {
        st = (o->vector ? show_vector : o->generate > 0 ? say_generated : show_next)(
            model, q, q->inputs[i], a);
        if (st == SHOAL_OK)
            st = answer_flush(a);
    }
    return st;
}

/* ---- how well ---- */

static void report_sums(const struct shoal_reporter *to, const struct net_score *s, size_t classes)
{
    double n = (double)s->n;

    report_noted(to, "loss", "loss", VALUE_REAL(s->loss / n),
                 classes ? "cross-entropy" : "squared error", NO_VALUE, NO_VALUE);
    if (classes) {
        report_value(to, "accuracy", "accuracy", VALUE_SHARE(s->right / n));
        if (classes > 5)
            report_value(to, "top5", "top-5", VALUE_SHARE(s->right5 / n));
    } else {
        report_value(to, "mae", "MAE", VALUE_REAL(s->absolute / n));
        report_value(to, "rmse", "RMSE", VALUE_REAL(sqrt(s->loss / n)));
    }
}

static void class_name(const void *net, size_t i, char *name, size_t cap)
{
    shoal_net_class(net, i, name, cap);
}

static shoal_status score_pictures(struct net_score *s, const shoal_net *t, const char *path)
{
    struct shoal_images_opts read = shoal_images_default();
    unsigned channels, height, width;
    shoal_images *set = NULL;
    shoal_status st;

    shoal_net_pictures(t, &channels, &height, &width);
    read.test = true;
    read.size = height;
    st = shoal_images_open(&set, path, &read);
    if (st == SHOAL_OK)
        st = net_score_images(s, t, set);
    shoal_images_close(set);
    return st;
}

static shoal_status score_samples(struct net_score *s, const shoal_net *t, const char *path,
                                  const struct asked_of *q)
{
    shoal_samples *data = NULL;
    shoal_status st = open_samples(&data, t, q, path, true);

    if (st == SHOAL_OK)
        st = net_score_samples(s, t, data);
    shoal_samples_close(data);
    return st;
}

static shoal_status score_file(const shoal_net *t, const char *path, const struct asked_of *q,
                               const struct shoal_reporter *to)
{
    size_t classes = t->net->classes ? t->net->outputs : 0;
    struct shoal_classes_score all;
    struct net_score s = {0};
    shoal_status st = classes > 1 ? classes_new(&s.classes, (unsigned)classes) : SHOAL_OK;

    if (st == SHOAL_OK)
        st = saved_net_only_pictures(t) ? score_pictures(&s, t, path)
                                        : score_samples(&s, t, path, q);
    if (st == SHOAL_OK) {
        report_begin(to, path);
        report_value(to, "file", NULL, VALUE_TEXT(path));
        report_value(to, "samples", "samples", VALUE_COUNT(s.n));
        report_sums(to, &s, classes);
    }
    if (st == SHOAL_OK && s.classes) {
        classes_score(s.classes, &all);
        report_value(to, "macro_f1", NULL, VALUE_SHARE(all.macro_f1));
        st = report_confusion(to, s.classes, classes, class_name, t);
    }
    classes_free(s.classes);
    return st;
}

static shoal_status net_score(const void *model, const char *path, const struct asked_of *q,
                              const struct shoal_reporter *to)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < q->n && st == SHOAL_OK; i++)
        st = score_file(model, q->inputs[i], q, to);
    return st;
}

/* Its windows are of text, and what they are worth was measured while it was trained. */
static shoal_status nextword_score(const void *model, const char *path, const struct asked_of *q,
                                   const struct shoal_reporter *to)
{
    (void)model, (void)q, (void)to;
    return shoal_fail(SHOAL_EINVAL,
                      "%s: a nextword model is not scored on files, want the validation figures "
                      "of its training (`shoal info`, or --statistics of `shoal train nextword`)",
                      path);
}

const struct kind kind_net = {
    .name = "net",
    .word = "net",
    .what = "a net",
    .formats = 1u << SHOAL_FORMAT_SHOAL | 1u << SHOAL_FORMAT_SAFETENSORS | 1u << SHOAL_FORMAT_ONNX,
    .read = saved_net_read,
    .save = net_save,
    .classes = net_classes,
    .name_classes = net_name_classes,
    .describe = net_describe,
    .ask = net_ask,
    .score = net_score,
    .close = net_close,
};

/* A net whose file holds the vectors of words. */
const struct kind kind_nextword = {
    .name = "nextword",
    .word = "net",
    .what = "a net",
    .formats = 1u << SHOAL_FORMAT_SHOAL | 1u << SHOAL_FORMAT_SAFETENSORS,
    .section = "vectors",
    .read = saved_net_read,
    .save = nextword_save,
    .describe = net_describe,
    .ask = nextword_ask,
    .score = nextword_score,
    .close = net_close,
};
