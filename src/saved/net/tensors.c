/* Nets and safetensors: weights from other programs, and for them. */
#include "saved/dtype.h"
#include "saved/net/outside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_MAX ((size_t)8 << 30)

/* ---- one tensor ---- */

enum { SOME = 4096 }; /* numbers at once */
#define SPARE ((size_t)4 << 20) /* so much at once is given back */

void weights_shape(char *text, size_t cap, const size_t *dims, size_t ndims)
{
    size_t len = 0;

    snprintf(text, cap, "no dimension");
    for (size_t i = 0; i < ndims && len < cap; i++)
        len += (size_t)snprintf(text + len, cap - len, "%s%zu", i > 0 ? " x " : "", dims[i]);
}

size_t weights_size(const struct file_tensor *f)
{
    size_t n = 1;

    for (size_t i = 0; i < f->ndims; i++)
        n *= f->dims[i];
    return n;
}

static size_t net_dims(const struct tensor *t)
{
    size_t n = 0;

    while (n < 4 && t->dims[n] > 0)
        n++;
    return n;
}

static shoal_status check_shape(const struct tensors *file, const struct tensor *t,
                                const struct file_tensor *f)
{
    char found[96], want[96];
    size_t n = net_dims(t);

    if (f->ndims == n && memcmp(f->dims, t->dims, n * sizeof *t->dims) == 0)
        return SHOAL_OK;
    weights_shape(found, sizeof found, f->dims, f->ndims);
    weights_shape(want, sizeof want, t->dims, n);
    return shoal_fail(SHOAL_EFORMAT, "%s: %s is %s, want %s as the net has it", file->path, t->name,
                      found, want);
}

/* Bytes of a number of ours to read; 0: none. */
static size_t number_bytes(const struct file_tensor *f, enum shoal_dtype *dtype)
{
    if (strcmp(f->dtype, "F64") == 0)
        return sizeof(double);
    return tensors_dtype(f, dtype) ? dtype_size(*dtype) : 0;
}

/* n numbers that may lie at any byte. */
static void decode(const struct file_tensor *f, const char *at, size_t n, float *out)
{
    enum shoal_dtype dtype = SHOAL_F32;
    double wide[SOME];

    if (number_bytes(f, &dtype) == sizeof(double)) {
        memcpy(wide, at, n * sizeof *wide);
        for (size_t i = 0; i < n; i++)
            out[i] = (float)wide[i];
        return;
    }
    memcpy(wide, at, n * dtype_size(dtype));
    dtype_decode(dtype, wide, 1, n, out);
}

/* Where number i of a tensor lies, counted in numbers from its first. */
static size_t place_of(const struct file_tensor *f, size_t i)
{
    size_t place = 0;

    for (size_t d = f->ndims; d-- > 0; i /= f->dims[d])
        place += i % f->dims[d] * f->strides[d];
    return place;
}

static shoal_status check_finite(const struct tensors *file, const struct file_tensor *f,
                                 const float *x, size_t from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return shoal_fail(SHOAL_EFORMAT, "%s: number %zu of %s is %g", file->path, from + i,
                              f->name, (double)x[i]);
    return SHOAL_OK;
}

shoal_status weights_floats(const struct tensors *file, const struct file_tensor *f, bool spare,
                            float *out)
{
    const char *at = file->data + f->begin, *used = at;
    enum shoal_dtype dtype = SHOAL_F32;
    size_t bytes = number_bytes(f, &dtype), n = weights_size(f), some;
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i += some) {
        some = n - i < SOME ? n - i : SOME;
        for (size_t k = 0; k < some && f->strided; k++)
            decode(f, at + place_of(f, i + k) * bytes, 1, out + i + k);
        if (!f->strided)
            decode(f, at + i * bytes, some, out + i);
        st = check_finite(file, f, out + i, i, some);
        if (spare && !f->strided && (size_t)(at + i * bytes - used) >= SPARE) {
            mem_release((void *)(uintptr_t)used, (size_t)(at + i * bytes - used));
            used = at + i * bytes;
        }
    }
    return st;
}

/* A layer may have been made without a bias: then it is 0. */
static bool may_lack(const struct tensors *file, const struct tensor *t)
{
    size_t len = strlen(t->name);
    char weight[NET_NAME + 8];

    if (len < 6 || strcmp(t->name + len - 5, ".bias") != 0)
        return false;
    snprintf(weight, sizeof weight, "%.*s.weight", (int)(len - 5), t->name);
    return tensors_find(file, weight) != NULL;
}

static shoal_status check_one(const struct tensors *file, const struct tensor *t)
{
    const struct file_tensor *f = tensors_find(file, t->name);
    enum shoal_dtype dtype;
    size_t bytes;
    shoal_status st;

    if (!f)
        return may_lack(file, t) ? SHOAL_OK
                                 : shoal_fail(SHOAL_EFORMAT, "%s: no tensor %s, which the net has",
                                              file->path, t->name);
    st = check_shape(file, t, f);
    if (st != SHOAL_OK)
        return st;
    bytes = number_bytes(f, &dtype);
    if (bytes == 0)
        return shoal_fail(SHOAL_EFORMAT, "%s: numbers of %s are \"%s\", want F32, F16, BF16 or F64",
                          file->path, t->name, f->dtype);
    if (f->begin > f->end || f->end > file->size ||
        (!f->strided && f->end - f->begin != t->size * bytes))
        return shoal_fail(SHOAL_EFORMAT, "%s: %s lies at bytes %zu to %zu of %zu, which do not fit",
                          file->path, t->name, f->begin, f->end, file->size);
    return SHOAL_OK;
}

/* ---- all of a net ---- */

shoal_status weights_check(const struct tensors *file, const struct net *net)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < net->ntensors && st == SHOAL_OK; i++)
        st = check_one(file, &net->tensors[i]);
    return st;
}

shoal_status weights_load(const struct tensors *file, const struct net *net, bool spare,
                          float *params)
{
    shoal_status st = weights_check(file, net);

    for (size_t i = 0; i < net->ntensors && st == SHOAL_OK; i++) {
        const struct tensor *t = &net->tensors[i];
        const struct file_tensor *f = tensors_find(file, t->name);

        if (f)
            st = weights_floats(file, f, spare, params + t->at);
        else
            memset(params + t->at, 0, t->size * sizeof *params);
    }
    return st;
}

static int by_place(const void *a, const void *b)
{
    const struct file_tensor *x = *(const struct file_tensor *const *)a;
    const struct file_tensor *y = *(const struct file_tensor *const *)b;

    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

bool weights_apart(const struct tensors *file)
{
    const struct file_tensor **list = mem_array(file->n + 1, sizeof *list);
    bool apart = list != NULL;

    for (size_t i = 0; i < file->n && apart; i++)
        list[i] = &file->at[i];
    if (apart)
        qsort(list, file->n, sizeof *list, by_place);
    for (size_t i = 1; i < file->n && apart; i++)
        apart = list[i - 1]->end <= list[i]->begin;
    free(list);
    return apart;
}

/* ---- a file ---- */

/* "module." of DataParallel, "_orig_mod." of torch.compile, "model." of wrappers: taken away when
 * all have it. */
static bool strip(struct tensors *t, const char *prefix)
{
    size_t len = strlen(prefix);

    for (size_t i = 0; i < t->n; i++)
        if (strncmp(t->at[i].name, prefix, len) != 0)
            return false;
    for (size_t i = 0; i < t->n; i++)
        memmove(t->at[i].name, t->at[i].name + len, strlen(t->at[i].name + len) + 1);
    return t->n > 0;
}

shoal_status weights_read(struct tensors *t, const char *path, const char *at, size_t len)
{
    static const char *const prefixes[] = {"module.", "_orig_mod.", "model."};
    shoal_status st =
        pth_sniff(at, len) ? pth_read(t, path, at, len) : tensors_read(t, path, at, len);

    for (size_t i = 0; i < 2 * sizeof prefixes / sizeof *prefixes && st == SHOAL_OK; i++)
        strip(t, prefixes[i % (sizeof prefixes / sizeof *prefixes)]);
    return st;
}

static shoal_status open_file(struct tensors *file, char **data, const char *path)
{
    size_t len;
    shoal_status st = stream_slurp(data, &len, path, FILE_MAX);

    *file = (struct tensors){0};
    if (st == SHOAL_OK && !tensors_sniff(*data, len) && !pth_sniff(*data, len))
        st = shoal_fail(SHOAL_EFORMAT,
                        "%s: neither a model of ours nor safetensors nor what torch.save writes",
                        path);
    return st == SHOAL_OK ? weights_read(file, path, *data, len) : st;
}

shoal_status net_load_tensors(const struct net *net, float *params, const char *path)
{
    struct tensors file;
    char *data = NULL;
    shoal_status st = open_file(&file, &data, path);

    if (st == SHOAL_OK)
        st = weights_load(&file, net, false, params);
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
