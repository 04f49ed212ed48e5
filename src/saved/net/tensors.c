/* Nets and safetensors: weights from other programs, and for them. */
#include "saved/dtype.h"
#include "saved/saved.h"
#include "saved/tensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_MAX ((size_t)8 << 30)

/* ---- one tensor ---- */

/* Which may lie at any byte. */
static float number_at(const char *at, enum shoal_dtype dtype, size_t i)
{
    float raw = 0, x;

    memcpy(&raw, at + dtype_size(dtype) * i, dtype_size(dtype));
    dtype_decode(dtype, &raw, 1, 1, &x);
    return x;
}

static bool same_shape(const struct tensor *t, const struct file_tensor *f)
{
    size_t n = 0;

    while (n < 4 && t->dims[n] > 0)
        n++;
    if (f->ndims != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (f->dims[i] != t->dims[i])
            return false;
    return true;
}

static shoal_status check_one(const struct tensors *file, const struct tensor *t)
{
    const struct file_tensor *f = tensors_find(file, t->name);
    enum shoal_dtype dtype;

    if (!f)
        return shoal_fail(SHOAL_EFORMAT, "%s: no tensor %s, which the net has", file->path,
                          t->name);
    if (!same_shape(t, f))
        return shoal_fail(SHOAL_EFORMAT, "%s: the shape of %s is not that of the net", file->path,
                          t->name);
    if (!tensors_dtype(f, &dtype))
        return shoal_fail(SHOAL_EFORMAT, "%s: numbers of %s are \"%s\", want F32, F16 or BF16",
                          file->path, t->name, f->dtype);
    if (f->begin > f->end || f->end > file->size ||
        f->end - f->begin != t->size * dtype_size(dtype))
        return shoal_fail(SHOAL_EFORMAT, "%s: %s lies at bytes %zu to %zu of %zu, which do not fit",
                          file->path, t->name, f->begin, f->end, file->size);
    return SHOAL_OK;
}

/* Of a tensor that was checked. */
static shoal_status load_one(const struct tensors *file, const struct tensor *t, float *params)
{
    const struct file_tensor *f = tensors_find(file, t->name);
    enum shoal_dtype dtype = SHOAL_F32;

    tensors_dtype(f, &dtype);
    for (size_t i = 0; i < t->size; i++) {
        params[t->at + i] = number_at(file->data + f->begin, dtype, i);
        if (!isfinite(params[t->at + i]))
            return shoal_fail(SHOAL_EFORMAT, "%s: number %zu of %s is %g", file->path, i, t->name,
                              (double)params[t->at + i]);
    }
    return SHOAL_OK;
}

/* That every tensor of the net is there: to be asked before memory is taken for them. */
static shoal_status check_all(const struct tensors *file, const struct net *net)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < net->ntensors && st == SHOAL_OK; i++)
        st = check_one(file, &net->tensors[i]);
    return st;
}

static shoal_status load_all(const struct tensors *file, const struct net *net, float *params)
{
    shoal_status st = check_all(file, net);

    for (size_t i = 0; i < net->ntensors && st == SHOAL_OK; i++)
        st = load_one(file, &net->tensors[i], params);
    return st;
}

/* ---- a file ---- */

static shoal_status open_file(struct tensors *file, char **data, const char *path)
{
    size_t len;
    shoal_status st = stream_slurp(data, &len, path, FILE_MAX);

    *file = (struct tensors){0};
    if (st == SHOAL_OK && !tensors_sniff(*data, len))
        st = shoal_fail(SHOAL_EFORMAT, "%s: neither a model of ours nor safetensors", path);
    return st == SHOAL_OK ? tensors_read(file, path, *data, len) : st;
}

shoal_status net_load_tensors(const struct net *net, float *params, const char *path)
{
    struct tensors file;
    char *data = NULL;
    shoal_status st = open_file(&file, &data, path);

    if (st == SHOAL_OK)
        st = load_all(&file, net, params);
    tensors_fini(&file);
    free(data);
    return st;
}

shoal_status net_copy_tensors(const struct net *net, float *params, const shoal_net *from,
                              const char *path)
{
    for (size_t i = 0; i < net->ntensors; i++) {
        const struct tensor *t = &net->tensors[i], *f = net_find(from->net, t->name);

        if (!f || memcmp(f->dims, t->dims, sizeof t->dims) != 0)
            return shoal_fail(SHOAL_EINVAL, "%s: is '%s', want '%s'", path, from->net->spec,
                              net->spec);
        memcpy(params + t->at, from->params + f->at, t->size * sizeof *params);
    }
    return SHOAL_OK;
}

/* ---- writing ---- */

static void describe(struct file_tensor *f, const struct tensor *t, size_t *at)
{
    *f = (struct file_tensor){.dtype = "F32", .begin = *at};
    snprintf(f->name, sizeof f->name, "%s", t->name);
    while (f->ndims < 4 && t->dims[f->ndims] > 0) {
        f->dims[f->ndims] = t->dims[f->ndims];
        f->ndims++;
    }
    *at += t->size * sizeof(float);
    f->end = *at;
}

static shoal_status add_meta(struct bytes *b, const char *key, const char *value, size_t len)
{
    char *text = strndup(value, len);
    shoal_status st;

    if (!text)
        return shoal_fail(SHOAL_ENOMEM, "net: no memory for its %s", key);
    st = bytes_add(b, b->len ? ",\"" : "\"", b->len ? 2 : 1);
    if (st == SHOAL_OK)
        st = tensors_escape(b, key);
    if (st == SHOAL_OK)
        st = bytes_add(b, "\":\"", 3);
    if (st == SHOAL_OK)
        st = tensors_escape(b, text);
    free(text);
    return st == SHOAL_OK ? bytes_add(b, "\"", 1) : st;
}

/* mean and inverse of each channel, or of each input, as decimal numbers. */
static shoal_status scaling_text(struct bytes *b, const struct scaling *s)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < 2 * s->n && st == SHOAL_OK; i++) {
        char number[32];
        int len = number_print(number, sizeof number, "%.9g ",
                               (double)(i % 2 ? s->inverse : s->mean)[i / 2]);

        st = bytes_add(b, number, (size_t)len);
    }
    return st;
}

static void swap_bytes(char *at, size_t len, char from, char to)
{
    for (size_t i = 0; i < len; i++)
        at[i] = at[i] == from ? to : at[i];
}

/* A line each. */
static shoal_status add_facts(struct bytes *b, const shoal_net *t)
{
    struct bytes lines = {0};
    shoal_status st = bytes_add(&lines, t->facts.at ? t->facts.at : "", t->facts.len);

    if (st == SHOAL_OK) {
        swap_bytes(lines.at, lines.len, '\0', '\n');
        st = add_meta(b, "facts", lines.at ? lines.at : "", lines.len);
    }
    bytes_fini(&lines);
    return st;
}

static shoal_status add_columns(struct bytes *b, const shoal_net *t)
{
    struct bytes text = {0};
    shoal_status st = t->columns ? columns_write(t->columns, &text) : SHOAL_OK;

    if (st == SHOAL_OK && t->columns)
        st = add_meta(b, "columns", text.at, text.len);
    bytes_fini(&text);
    return st;
}

static shoal_status make_meta(struct bytes *b, const shoal_net *t)
{
    struct bytes scaling = {0};
    shoal_status st = add_meta(b, "format", "pt", 2);

    if (st == SHOAL_OK)
        st = add_meta(b, "spec", t->net->spec, strlen(t->net->spec));
    if (st == SHOAL_OK)
        st = add_facts(b, t);
    if (st == SHOAL_OK)
        st = add_columns(b, t);
    if (st == SHOAL_OK)
        st = scaling_text(&scaling, &t->in);
    if (st == SHOAL_OK && scaling.len > 0)
        st = add_meta(b, "scaling", scaling.at, scaling.len);
    bytes_fini(&scaling);
    return st;
}

static shoal_status write_file(const char *path, const struct bytes *header, const shoal_net *t)
{
    uint64_t len = header->len;
    struct output *o;
    shoal_status st = output_open(&o, path);

    if (st != SHOAL_OK)
        return st;
    st = output_write(o, &len, sizeof len);
    if (st == SHOAL_OK)
        st = output_write(o, header->at, header->len);
    for (size_t i = 0; i < t->net->ntensors && st == SHOAL_OK; i++) {
        const struct tensor *e = &t->net->tensors[i];

        st = output_write(o, t->params + e->at, e->size * sizeof *t->params);
    }
    return output_end(o, st);
}

shoal_status shoal_net_export(const shoal_net *t, const char *path)
{
    struct file_tensor *list = mem_array(t->net->ntensors, sizeof *list);
    struct bytes header = {0}, meta = {0};
    size_t at = 0;
    shoal_status st = list ? make_meta(&meta, t) : SHOAL_ENOMEM;

    for (size_t i = 0; i < t->net->ntensors && st == SHOAL_OK; i++)
        describe(&list[i], &t->net->tensors[i], &at);
    if (st == SHOAL_OK)
        st = tensors_header(&header, &meta, list, t->net->ntensors);
    if (st == SHOAL_OK)
        st = write_file(path, &header, t);
    bytes_fini(&header);
    bytes_fini(&meta);
    free(list);
    return st;
}

/* ---- reading ---- */

/* Which VGG has such tensors. */
static shoal_status guess_spec(const struct tensors *file, unsigned size, char *spec, size_t cap)
{
    const struct file_tensor *first = tensors_find(file, "features.0.weight");
    const struct file_tensor *hidden = tensors_find(file, "classifier.0.weight");
    const struct file_tensor *last =
        tensors_find(file, hidden ? "classifier.6.weight" : "classifier.weight");
    size_t convs = 0, norms = 0;

    for (size_t i = 0; i < file->n; i++) {
        convs += strncmp(file->at[i].name, "features.", 9) == 0 && file->at[i].ndims == 4;
        norms += strstr(file->at[i].name, ".running_mean") != NULL;
    }
    if (!first || !last || first->ndims != 4 || last->ndims != 2 || (hidden && hidden->ndims != 2))
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: its tensors are not those of a VGG (features.0.weight to "
                          "classifier.weight)",
                          file->path);
    snprintf(spec, cap,
             "vgg depth=%zu bn=%d base=%zu channels=%zu height=%u width=%u hidden=%zu dropout=%s "
             "outputs=%zu sync=0",
             convs + 3, norms > 0, first->dims[0], first->dims[1], size, size,
             hidden ? hidden->dims[0] : 0, hidden ? "0.5" : "0", last->dims[0]);
    return SHOAL_OK;
}

/* Ours, or a guess; a text of the metadata that is too long is none of ours. */
static shoal_status find_spec(const struct tensors *file, unsigned size, char *spec, size_t cap)
{
    char *text;
    size_t len;
    shoal_status st = tensors_text(file, "spec", &text, &len);

    if (st == SHOAL_OK && (!text || len >= cap)) {
        free(text);
        return guess_spec(file, size, spec, cap);
    }
    if (st == SHOAL_OK)
        snprintf(spec, cap, "%s", text);
    free(text);
    return st;
}

static shoal_status read_scaling(const struct tensors *file, shoal_net *t)
{
    static const float mean[] = {0.485f, 0.456f, 0.406f}, std[] = {0.229f, 0.224f, 0.225f};
    size_t area = t->net->inputs / 3, len;
    char *text, *at;
    shoal_status st = tensors_text(file, "scaling", &text, &len);

    if (st == SHOAL_OK)
        st = scaling_init(&t->in, t->net->inputs);
    at = text;
    for (size_t i = 0; i < t->net->inputs && st == SHOAL_OK; i++) {
        size_t channel = area > 0 && i / area < 3 ? i / area : 0;

        t->in.mean[i] = text ? number_read_float(at, &at) : 255 * mean[channel];
        t->in.inverse[i] = text ? number_read_float(at, &at) : 1 / (255 * std[channel]);
        if (!isfinite(t->in.mean[i]) || !isfinite(t->in.inverse[i]))
            st = shoal_fail(SHOAL_EFORMAT, "%s: the scaling of its metadata is no numbers",
                            file->path);
    }
    free(text);
    return st;
}

static shoal_status read_facts(const struct tensors *file, shoal_net *t)
{
    char *text;
    size_t len;
    shoal_status st = tensors_text(file, "facts", &text, &len);

    if (st == SHOAL_OK && text && len > 0) {
        swap_bytes(text, len, '\n', '\0');
        st = bytes_add(&t->facts, text, len);
        if (st == SHOAL_OK && text[len - 1] != '\0')
            st = bytes_add(&t->facts, "", 1);
    }
    free(text);
    return st;
}

static shoal_status read_columns(const struct tensors *file, shoal_net *t)
{
    char *text;
    size_t len;
    shoal_status st = tensors_text(file, "columns", &text, &len);

    if (st == SHOAL_OK && text)
        st = columns_read(&t->columns, file->path, text, len);
    free(text);
    return st == SHOAL_OK ? saved_net_check_columns(t, file->path) : st;
}

static shoal_status import(shoal_net **out, const struct tensors *file, unsigned size)
{
    char spec[NET_SPEC];
    struct net *net = NULL;
    float *params;
    shoal_status st = find_spec(file, size, spec, sizeof spec);

    if (st == SHOAL_OK)
        st = net_new(&net, spec);
    if (st == SHOAL_OK)
        st = check_all(file, net);
    params = st == SHOAL_OK ? mem_map(net->size * sizeof *params) : NULL;
    if (!params) {
        net_free(net);
        return st == SHOAL_OK ? SHOAL_ENOMEM : st;
    }
    st = saved_net_new(out, net, params);
    if (st == SHOAL_OK)
        st = load_all(file, net, params);
    if (st == SHOAL_OK)
        st = read_scaling(file, *out);
    if (st == SHOAL_OK)
        st = read_facts(file, *out);
    if (st == SHOAL_OK)
        st = read_columns(file, *out);
    return st == SHOAL_OK ? saved_net_check_pictures(*out, file->path) : st;
}

bool net_weights_in(const struct tensors *file)
{
    char *spec = NULL;
    size_t len;
    bool found = tensors_find(file, "features.0.weight") ||
                 (tensors_text(file, "spec", &spec, &len) == SHOAL_OK && spec);

    free(spec);
    return found;
}

bool net_weights_sniff(const char *at, size_t len)
{
    struct tensors file = {0};
    bool found = tensors_sniff(at, len) && tensors_read(&file, "", at, len) == SHOAL_OK &&
                 net_weights_in(&file);

    tensors_fini(&file);
    return found;
}

static shoal_status settle(shoal_net **out, shoal_status st)
{
    if (st != SHOAL_OK) {
        shoal_net_close(*out);
        *out = NULL;
    }
    return st;
}

shoal_status net_import_bytes(shoal_net **out, const char *path, const char *at, size_t len,
                              unsigned size)
{
    struct tensors file;
    shoal_status st = tensors_read(&file, path, at, len);

    *out = NULL;
    if (st != SHOAL_OK)
        return st;
    st = settle(out, import(out, &file, size));
    tensors_fini(&file);
    return st;
}

shoal_status shoal_net_import(shoal_net **out, const char *path, unsigned size)
{
    struct tensors file;
    char *data = NULL;
    shoal_status st = open_file(&file, &data, path);

    *out = NULL;
    if (st == SHOAL_OK)
        st = settle(out, import(out, &file, size));
    tensors_fini(&file);
    free(data);
    return st;
}

bool shoal_net_weights(const char *path)
{
    struct tensors file;
    char *data = NULL;
    bool found = open_file(&file, &data, path) == SHOAL_OK && net_weights_in(&file);

    tensors_fini(&file);
    free(data);
    return found;
}
