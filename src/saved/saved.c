/* The kinds of models there are, and the handle for any of them. */
#include "saved/kind.h"
#include "saved/fasttext.h"
#include "saved/source.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/stat.h>

/* The first that recognises a file has it. */
const struct kind *const saved_kinds[] = {
    &kind_logreg, &kind_multinomial, &kind_classify, &kind_nextword, &kind_net, &kind_vectors, NULL,
};

struct shoal_model {
    const struct kind *kind;
    void *is;       /* the kind's */
    char *path;     /* or name */
    uint64_t bytes; /* of the file; 0: not known */
};

/* ---- which kind ---- */

static shoal_status kind_of(const struct kind **out, const struct container *c)
{
    char word[32];
    shoal_status st = container_meta(c, "kind", word, sizeof word);

    for (const struct kind *const *k = saved_kinds; st == SHOAL_OK && *k; k++)
        if (strcmp(word, (*k)->word) == 0 && (!(*k)->section || container_has(c, (*k)->section))) {
            *out = *k;
            return SHOAL_OK;
        }
    return st == SHOAL_OK
               ? shoal_fail(SHOAL_EFORMAT, "%s: holds a %s, want a model", container_path(c), word)
               : st;
}

/* By the table of sections alone; a head that is damaged says so. What is no container of ours may
 * be vectors of another program: opening tells. */
static shoal_status kind_recognise(const struct kind **out, const char *path, bool *ours)
{
    struct container *c;
    shoal_status st;

    *out = &kind_vectors;
    *ours = container_sniff(path);
    if (!*ours)
        return SHOAL_OK;
    st = container_peek(&c, path);
    if (st == SHOAL_OK)
        st = kind_of(out, c);
    container_close(c);
    return st;
}

shoal_status saved_check(const struct kind *kind, const char *path,
                         const struct shoal_save_opts *opts, enum shoal_format *format)
{
    if (!kind->formats)
        return shoal_save_check(path, opts, format);
    if (opts->dtype != SHOAL_F32 || opts->normalize || opts->top > 0)
        return shoal_fail(SHOAL_EINVAL,
                          "%s: --dtype, --normalize and --top are for vectors, not for %s", path,
                          kind->what);
    return saved_format(format, kind->what, kind->formats, path, opts);
}

/* ---- the handle ---- */

static shoal_status model_new(shoal_model **out, const char *path)
{
    shoal_model *m = mem_array(1, sizeof *m);

    *out = m;
    if (m && !(m->path = strdup(path))) {
        shoal_model_close(m);
        *out = NULL;
        return shoal_fail(SHOAL_ENOMEM, "%s: no memory to open it", path);
    }
    return m ? SHOAL_OK : SHOAL_ENOMEM;
}

static shoal_status model_settle(shoal_model **out, shoal_model *m, shoal_status st)
{
    *out = st == SHOAL_OK ? m : NULL;
    if (st != SHOAL_OK)
        shoal_model_close(m);
    return st;
}

/* A container that was opened, with this status; takes it. */
static shoal_status model_read_container(shoal_model *m, struct container *c, shoal_status st)
{
    if (st != SHOAL_OK)
        return st;
    st = kind_of(&m->kind, c);
    if (st == SHOAL_OK)
        return m->kind->read(&m->is, c);
    container_close(c);
    return st;
}

static shoal_status model_read_classifier(shoal_model *m, struct source *src)
{
    shoal_classifier *classifier = NULL;
    shoal_status st = classifier_read_fasttext(&classifier, src);

    m->kind = &kind_classify;
    m->is = classifier;
    return st;
}

/* What is no container on disk: one that is compressed or comes from a pipe, weights of a net,
 * vectors. With `beside` a file may stand beside it that describes it. */
static shoal_status model_read_source(shoal_model *m, struct source *src, bool beside,
                                      const struct shoal_import_opts *opts)
{
    struct container *c;
    shoal_vectors *v = NULL;
    shoal_net *net = NULL;
    shoal_status st;

    if (container_sniff_memory(src->at, src->len)) {
        st = container_open_copy(&c, &(struct shoal_memory){src->path, src->at, src->len});
        return model_read_container(m, c, st);
    }
    if (net_weights_sniff(src->at, src->len)) {
        st = net_import_source(&net, src, beside, opts);
        m->kind = &kind_net;
        m->is = net;
        return st;
    }
    if (classifier_sniff(src->at, src->len))
        return model_read_classifier(m, src);
    st = vectors_read(&v, src);
    m->kind = &kind_vectors;
    m->is = v;
    return st;
}

static shoal_status model_read(shoal_model *m, const char *path, bool map,
                               const struct shoal_import_opts *opts)
{
    struct container *c;
    struct source src;
    struct stat file;
    shoal_status st;
    bool ours;

    if (stat(path, &file) == 0)
        m->bytes = (uint64_t)file.st_size;
    st = kind_recognise(&m->kind, path, &ours);
    if (st != SHOAL_OK)
        return st;
    if (ours) {
        st = map && m->kind->maps ? container_map(&c, path) : container_open(&c, path);
        return st == SHOAL_OK ? m->kind->read(&m->is, c) : st;
    }
    st = source_open(&src, path, map);
    if (st == SHOAL_OK)
        st = model_read_source(m, &src, true, opts);
    source_close(&src);
    return st;
}

static shoal_status model_open(shoal_model **out, const char *path, bool map,
                               const struct shoal_import_opts *opts)
{
    shoal_model *m;
    shoal_status st = model_new(&m, path);

    if (st == SHOAL_OK)
        st = model_read(m, path, map, opts);
    return model_settle(out, m, st);
}

shoal_status shoal_model_open(shoal_model **out, const char *path)
{
    return model_open(out, path, false, &(struct shoal_import_opts){0});
}

shoal_status shoal_model_map(shoal_model **out, const char *path)
{
    return model_open(out, path, true, &(struct shoal_import_opts){0});
}

shoal_status shoal_model_import(shoal_model **out, const char *path, unsigned size)
{
    return model_open(out, path, false, &(struct shoal_import_opts){.size = size});
}

shoal_status shoal_model_import_as(shoal_model **out, const char *path,
                                   const struct shoal_import_opts *opts)
{
    return model_open(out, path, false, opts);
}

/* fastText's models are used where they lie; nets of others are read as files are. */
static shoal_status model_read_copy(shoal_model *m, const void *data, size_t size)
{
    struct source src = {.path = m->path, .len = size, .slurped = mem_array(size, 1)};
    shoal_status st = SHOAL_ENOMEM;

    src.at = src.slurped;
    if (src.slurped) {
        memcpy(src.slurped, data, size);
        st = model_read_source(m, &src, false, &(struct shoal_import_opts){0});
    }
    source_close(&src);
    return st;
}

static shoal_status model_read_memory(shoal_model *m, const void *data, size_t size)
{
    struct container *c;
    shoal_vectors *v;
    shoal_status st;

    if (fasttext_sniff(data, size) || net_weights_sniff(data, size))
        return model_read_copy(m, data, size);
    if (!container_sniff_memory(data, size)) {
        st = vectors_open_memory(&v, m->path, data, size, NULL, 0);
        m->kind = &kind_vectors;
        m->is = v;
        return st;
    }
    st = container_open_copy(&c, &(struct shoal_memory){m->path, data, size});
    return model_read_container(m, c, st);
}

shoal_status shoal_model_open_memory(shoal_model **out, const char *name, const void *data,
                                     size_t size)
{
    shoal_model *m;
    shoal_status st = model_new(&m, name);

    if (st == SHOAL_OK) {
        m->bytes = size;
        st = model_read_memory(m, data, size);
    }
    return model_settle(out, m, st);
}

shoal_status model_take(shoal_model **out, const struct kind *kind, void *is)
{
    shoal_model *m;
    shoal_status st = model_new(&m, kind->name);

    *out = NULL;
    if (st != SHOAL_OK) {
        kind->close(is);
        return st;
    }
    m->kind = kind;
    m->is = is;
    *out = m;
    return SHOAL_OK;
}

void shoal_model_close(shoal_model *m)
{
    if (!m)
        return;
    if (m->is)
        m->kind->close(m->is);
    free(m->path);
    free(m);
}

shoal_status shoal_model_verify(const shoal_model *m)
{
    return m->kind->verify ? m->kind->verify(m->is) : SHOAL_OK;
}

shoal_status shoal_model_save(const shoal_model *m, const char *path,
                              const struct shoal_save_opts *opts)
{
    struct shoal_save_opts plain = shoal_save_default();

    return m->kind->save(m->is, path, opts ? opts : &plain);
}

shoal_status shoal_model_compress(shoal_model **out, const shoal_model *m,
                                  const struct shoal_compress_opts *opts)
{
    void *is = NULL;
    shoal_status st;

    *out = NULL;
    if (!m->kind->compress)
        return shoal_fail(SHOAL_EINVAL, "%s: a model of kind %s cannot be compressed", m->path,
                          m->kind->name);
    st = m->kind->compress(&is, m->is, opts);
    return st == SHOAL_OK ? model_take(out, m->kind, is) : st;
}

const char *shoal_model_kind(const shoal_model *m)
{
    return m->kind->name;
}

const shoal_vectors *shoal_model_vectors(const shoal_model *m)
{
    return m->kind == &kind_vectors ? m->is : NULL;
}

const shoal_logreg *shoal_model_linear(const shoal_model *m)
{
    return m->kind == &kind_logreg ? m->is : NULL;
}

const shoal_logreg *model_linear(const shoal_model *m)
{
    return m->kind->linear ? m->is : NULL;
}

const shoal_classifier *shoal_model_classifier(const shoal_model *m)
{
    return m->kind == &kind_classify ? m->is : NULL;
}

const shoal_net *shoal_model_net(const shoal_model *m)
{
    return m->kind == &kind_net || m->kind == &kind_nextword ? m->is : NULL;
}

/* ---- what it says ---- */

void report_begin(const struct shoal_reporter *to, const char *title)
{
    if (to->begin)
        to->begin(to->user, title);
}

void report_noted(const struct shoal_reporter *to, const char *key, const char *label,
                  struct shoal_value value, const char *note, struct shoal_value first,
                  struct shoal_value second)
{
    if (to->fact)
        to->fact(to->user, &(struct shoal_fact){key, label, value, note, {first, second}});
}

void report_value(const struct shoal_reporter *to, const char *key, const char *label,
                  struct shoal_value value)
{
    report_noted(to, key, label, value, NULL, NO_VALUE, NO_VALUE);
}

void report_row(const struct shoal_reporter *to, const struct shoal_grid *grid,
                const struct shoal_value *cells, unsigned marks)
{
    if (to->row)
        to->row(to->user, grid, cells, marks);
}

void report_warn(const struct shoal_reporter *to, const char *note, struct shoal_value first,
                 struct shoal_value second)
{
    if (to->warn)
        to->warn(to->user, &(struct shoal_fact){.note = note, .with = {first, second}});
}

shoal_status shoal_model_describe(const shoal_model *m, uint64_t top,
                                  const struct shoal_reporter *to)
{
    return m->kind->describe(m->is, m->bytes, top, to);
}

size_t model_classes(const shoal_model *m)
{
    return m->kind->classes ? m->kind->classes(m->is) : 0;
}

shoal_status model_name_classes(shoal_model *m, const struct class_index *index)
{
    size_t classes = model_classes(m);
    shoal_status st;

    if (classes == 0)
        return shoal_fail(SHOAL_EINVAL, "%s: this model of kind %s has no classes to be named",
                          index->path, m->kind->name);
    st = class_index_fits(index, classes);
    return st == SHOAL_OK ? m->kind->name_classes(m->is, index) : st;
}

/* ---- asking ---- */

struct shoal_ask_opts shoal_ask_default(void)
{
    return (struct shoal_ask_opts){.rows = shoal_clicks_default(),
                                   .samples = shoal_samples_default(),
                                   .words = shoal_eval_default(),
                                   .top = 10,
                                   .temperature = 0.8,
                                   .seed = 1};
}

/* Whether a file, compressed or not, is a classifier of fastText's. */
static bool is_foreign_classifier(const char *path)
{
    struct stream *s = NULL;
    char head[64];
    size_t got = 0;
    bool is = stream_open(&s, path) == SHOAL_OK &&
              stream_read(s, head, sizeof head, &got) == SHOAL_OK && classifier_sniff(head, got);

    stream_close(s);
    return is;
}

/* The kind of a container that is compressed, or NULL. */
static const struct kind *kind_inside(const char *path)
{
    const struct kind *kind = NULL;
    struct container *c = NULL;
    struct source src = {0};
    struct stream *s = NULL;

    if (stream_open(&s, path) == SHOAL_OK && !stream_plain(s) &&
        source_open(&src, path, false) == SHOAL_OK &&
        container_open_memory(&c, path, src.at, src.len) == SHOAL_OK)
        (void)kind_of(&kind, c);
    container_close(c);
    source_close(&src);
    stream_close(s);
    return kind;
}

bool shoal_model_predicts(const char *path)
{
    const struct kind *kind;
    struct stat file;
    bool ours;

    if (kind_recognise(&kind, path, &ours) != SHOAL_OK)
        return false;
    if (!ours && stat(path, &file) == 0 && S_ISREG(file.st_mode))
        kind = is_foreign_classifier(path) ? &kind_classify
               : shoal_net_weights(path)   ? &kind_net
                                           : kind_inside(path);
    return kind && kind->ask;
}

static void answer_add(struct answers *a, const char *text, size_t len)
{
    if (a->st == SHOAL_OK)
        a->st = bytes_add(&a->text, text, len);
}

void answer_print(struct answers *a, const char *fmt, ...)
{
    char text[ANSWER_PRINT];
    va_list args;
    int len;

    va_start(args, fmt);
    len = number_vprint(text, sizeof text, fmt, args);
    va_end(args);
    assert(len >= 0 && len < ANSWER_PRINT);
    answer_add(a, text, (size_t)len);
}

void answer_name(struct answers *a, const char *name)
{
    size_t from = a->text.len;

    answer_add(a, name, strlen(name));
    for (size_t i = from; i < a->text.len; i++)
        if (strchr("\t\n", a->text.at[i]))
            a->text.at[i] = '?';
}

shoal_status answer_flush(struct answers *a)
{
    bool any = a->text.len > 0;

    answer_add(a, "", 1);
    if (a->st == SHOAL_OK && any && !a->lines(a->user, a->text.at, a->text.len - 1))
        a->st = shoal_fail(SHOAL_ESTOP, "predict: stopped on request");
    a->text.len = 0;
    return a->st;
}

shoal_status shoal_model_predict(const shoal_model *m, const char *const *inputs, size_t ninputs,
                                 const struct shoal_ask_opts *opts,
                                 bool (*lines)(void *user, const char *text, size_t len),
                                 void *user, struct shoal_clicks_stats *stats)
{
    struct shoal_clicks_stats ignored;
    struct asked_of q = {inputs, ninputs, opts, stats ? stats : &ignored};
    struct answers a = {.lines = lines, .user = user};
    shoal_status st;

    *q.stats = (struct shoal_clicks_stats){0};
    if (!m->kind->ask)
        return shoal_fail(SHOAL_EINVAL, "%s: is a model of kind %s, which predicts nothing",
                          m->path, m->kind->name);
    if (opts->vector && m->kind != &kind_nextword)
        return shoal_fail(SHOAL_EINVAL, "%s: is a model of kind %s, and --vector is for nextword",
                          m->path, m->kind->name);
    st = m->kind->ask(m->is, &q, &a);
    if (st == SHOAL_OK)
        st = answer_flush(&a);
    bytes_fini(&a.text);
    return st;
}

shoal_status shoal_model_eval(const shoal_model *m, const char *const *inputs, size_t ninputs,
                              const struct shoal_ask_opts *opts, const struct shoal_reporter *to,
                              struct shoal_clicks_stats *stats)
{
    struct shoal_clicks_stats ignored;
    struct asked_of q = {inputs, ninputs, opts, stats ? stats : &ignored};

    *q.stats = (struct shoal_clicks_stats){0};
    return m->kind->score(m->is, m->path, &q, to);
}
