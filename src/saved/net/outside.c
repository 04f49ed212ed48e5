/* Nets from other programs: which net the tensors are, and all that it needs to answer.
 *
 *     safetensors ----------------+
 *     torch.save's (pth.c) -------+--> tensors by name --> a VGG, or linear layers --> shoal_net
 *     TorchServe's .mar: a zip ---+            ^
 *     archive of the former       FILE.json, MANIFEST.json: hints (manifest.c)              */
#include "file/file.h"
#include "saved/net/outside.h"
#include "saved/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define JSON_MAX ((size_t)16 << 20) /* bytes of what stands beside weights */

/* Of ImageNet's pictures, as torchvision's presets have them; of grey ones their mean. */
static const float imagenet_mean[] = {0.485f, 0.456f, 0.406f};
static const float imagenet_std[] = {0.229f, 0.224f, 0.225f};

/* ---- which VGG ---- */

static size_t head_number(const char *name)
{
    return strtoul(name + strlen("classifier."), NULL, 10);
}

static bool is_head(const struct file_tensor *f)
{
    return strncmp(f->name, "classifier.", 11) == 0 && f->ndims == 2 &&
           f->name[11] >= '0' && f->name[11] <= '9';
}

/* The weights of the linear layers, in their order; gives how many there are. */
static size_t find_head(const struct tensors *file, const struct file_tensor *head[3])
{
    size_t n = 0;

    for (size_t i = 0; i < file->n; i++) {
        size_t at = n < 3 ? n : 3;

        if (!is_head(&file->at[i]))
            continue;
        while (at > 0 && head_number(head[at - 1]->name) > head_number(file->at[i].name)) {
            if (at < 3)
                head[at] = head[at - 1];
            at--;
        }
        if (at < 3)
            head[at] = &file->at[i];
        n++;
    }
    return n;
}

/* Dropout before a layer, or none between, gives them other numbers than torchvision's 0, 3, 6. */
static void rename_head(struct tensors *file)
{
    const struct file_tensor *head[3];
    size_t n = find_head(file, head), number[3];

    if (n != 1 && n != 3)
        return;
    for (size_t k = 0; k < n; k++)
        number[k] = head_number(head[k]->name);
    for (size_t i = 0; i < file->n; i++) {
        char *name = file->at[i].name, what[FILE_TENSOR_NAME], layer[24] = "";
        size_t k = 0;

        if (strncmp(name, "classifier.", 11) != 0 || name[11] < '0' || name[11] > '9')
            continue;
        while (k < n && head_number(name) != number[k])
            k++;
        if (k == n)
            continue;
        snprintf(what, sizeof what, "%s", strrchr(name, '.'));
        if (n == 3)
            snprintf(layer, sizeof layer, ".%zu", 3 * k);
        snprintf(name, FILE_TENSOR_NAME, "classifier%s%.16s", layer, what);
    }
}

struct vgg_shape {
    size_t convs, norms, base, channels, features, hidden, outputs;
};

static shoal_status find_shape(const struct tensors *file, struct vgg_shape *s)
{
    const struct file_tensor *first = tensors_find(file, "features.0.weight");
    const struct file_tensor *hidden = tensors_find(file, "classifier.0.weight");
    const struct file_tensor *head = hidden ? hidden : tensors_find(file, "classifier.weight");
    const struct file_tensor *last = hidden ? tensors_find(file, "classifier.6.weight") : head;

    *s = (struct vgg_shape){0};
    for (size_t i = 0; i < file->n; i++) {
        s->convs += strncmp(file->at[i].name, "features.", 9) == 0 && file->at[i].ndims == 4;
        s->norms += strstr(file->at[i].name, ".running_mean") != NULL;
    }
    if (!first || !last || first->ndims != 4 || last->ndims != 2 || head->ndims != 2)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: its tensors are not those of a VGG (features.0.weight to "
                          "classifier.weight)",
                          file->path);
    s->base = first->dims[0];
    s->channels = first->dims[1];
    s->features = head->dims[1];
    s->hidden = hidden ? hidden->dims[0] : 0;
    s->outputs = last->dims[0];
    return SHOAL_OK;
}

/* The side of the maps that the head takes; 0: it is no square. */
static size_t side_of(const struct vgg_shape *s)
{
    size_t side = 0, area = s->base > 0 ? s->features / (8 * s->base) : 0;

    while (side < 64 && (side + 1) * (side + 1) <= area)
        side++;
    return side * side == area ? side : 0;
}

/* Five pools leave a thirty-second of a picture's side. torchvision's pool behind them makes 7 x 7
 * of whatever there is. */
static shoal_status guess_spec(const struct tensors *file, unsigned size, char *spec, size_t cap)
{
    struct vgg_shape s;
    size_t side, left;
    char pool[24] = "";
    shoal_status st = find_shape(file, &s);

    if (st != SHOAL_OK)
        return st;
    side = side_of(&s);
    size = size > 0 ? size : side > 0 ? (unsigned)(32 * side) : 32;
    left = size / 32 > 0 ? size / 32 : 1;
    if (side == 7 && left != 7)
        snprintf(pool, sizeof pool, " pool=%zu", side);
    snprintf(spec, cap,
             "vgg depth=%zu bn=%d base=%zu channels=%zu height=%u width=%u hidden=%zu dropout=%s "
             "outputs=%zu sync=0%s",
             s.convs + 3, s.norms > 0, s.base, s.channels, size, size, s.hidden,
             s.hidden ? "0.5" : "0", s.outputs, pool);
    return SHOAL_OK;
}

/* Tensors that a net has not would have done something. */
static shoal_status check_known(const struct tensors *file, const struct net *net)
{
    for (size_t i = 0; i < file->n; i++) {
        const char *name = file->at[i].name;
        size_t len = strlen(name), tail = strlen("num_batches_tracked");

        if (len >= tail && strcmp(name + len - tail, "num_batches_tracked") == 0)
            continue;
        if (!net_find(net, name))
            return shoal_fail(SHOAL_EFORMAT, "%s: found tensor %s, want none that '%s' has not",
                              file->path, *name ? name : "with a long name", net->spec);
    }
    return SHOAL_OK;
}

/* ---- memory ---- */

static shoal_status check_room(const struct tensors *file, const struct net *net)
{
    uint64_t need = (uint64_t)net->size * sizeof(float), have = mem_available();

    if (need <= have)
        return SHOAL_OK;
    return shoal_fail(SHOAL_ENOMEM, "%s: its parameters take %llu MB, and %llu MB are free",
                      file->path, (unsigned long long)(need >> 20),
                      (unsigned long long)(have >> 20));
}

static shoal_status load_net(shoal_net **out, const struct tensors *file, const char *spec,
                             bool ours, bool spare)
{
    struct net *net = NULL;
    float *params;
    shoal_status st = net_new(&net, spec);

    if (st == SHOAL_OK)
        st = weights_check(file, net);
    if (st == SHOAL_OK && !ours)
        st = check_known(file, net);
    if (st == SHOAL_OK)
        st = check_room(file, net);
    params = st == SHOAL_OK ? mem_map(net->size * sizeof *params) : NULL;
    if (!params) {
        net_free(net);
        return st == SHOAL_OK ? SHOAL_ENOMEM : st;
    }
    st = saved_net_new(out, net, params);
    return st == SHOAL_OK ? weights_load(file, net, spare && weights_apart(file), params) : st;
}

/* ---- what it sees ---- */

static void fill_scaling(shoal_net *t, const float *mean, const float *std, size_t channels)
{
    size_t area = t->net->inputs / channels;

    for (size_t i = 0; i < t->net->inputs; i++) {
        size_t c = i / area < channels ? i / area : 0;

        t->in.mean[i] = 255 * mean[c];
        t->in.inverse[i] = 1 / (255 * std[c]);
    }
}

/* As the hints say, or, for a VGG, as torchvision's presets do. */
static shoal_status hint_scaling(shoal_net *t, const struct net_hints *h, const char *path)
{
    static const float grey_mean = 0.449f, grey_std = 0.226f;
    unsigned channels, height, width;
    bool pictures = shoal_net_pictures(t, &channels, &height, &width);
    bool grey = pictures && channels == 1;
    shoal_status st;

    if (h->channels > 0 && (!pictures || h->channels != channels))
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: mean and std of %zu channels, want them for pictures of as many "
                          "(`input`)",
                          path, h->channels);
    if (!pictures || (h->channels == 0 && !saved_net_only_pictures(t)))
        return SHOAL_OK;
    st = scaling_init(&t->in, t->net->inputs);
    if (st == SHOAL_OK && h->channels > 0)
        fill_scaling(t, h->mean, h->std, channels);
    else if (st == SHOAL_OK)
        fill_scaling(t, grey ? &grey_mean : imagenet_mean, grey ? &grey_std : imagenet_std,
                     channels);
    return st;
}

/* torchvision's presets make the shorter side 256 where 224 are cut out. */
static unsigned resize_of(const shoal_net *t, const struct net_hints *h)
{
    unsigned channels, height, width;

    if (h->resize > 0)
        return h->resize;
    return saved_net_only_pictures(t) && shoal_net_pictures(t, &channels, &height, &width) &&
                   height >= 64
               ? (height * 8 + 3) / 7
               : 0;
}

static shoal_status hint_pictures(shoal_net *t, const struct net_hints *h, const char *path)
{
    static const char *const keys[] = {"channels", "height", "width"};
    unsigned resize, channels, height, width;
    shoal_status st = SHOAL_OK;

    if (h->shape[0] > 0 && !net_spec_has(t->net->spec, "channels")) {
        if ((size_t)h->shape[0] * h->shape[1] * h->shape[2] != t->net->inputs)
            return shoal_fail(SHOAL_EFORMAT, "%s: `input` has %zu numbers, want %zu as the net has",
                              path, (size_t)h->shape[0] * h->shape[1] * h->shape[2],
                              t->net->inputs);
        for (size_t i = 0; i < 3 && st == SHOAL_OK; i++)
            st = saved_net_fact(t, keys[i], "%u", h->shape[i]);
    }
    resize = resize_of(t, h);
    if (st == SHOAL_OK && resize > 0) {
        if (!shoal_net_pictures(t, &channels, &height, &width) || resize < height || resize < width)
            return shoal_fail(SHOAL_EFORMAT, "%s: `resize` is %u, want it for pictures of at most "
                              "that side", path, resize);
        st = saved_net_fact(t, "resize", "%u", resize);
    }
    return st == SHOAL_OK ? hint_scaling(t, h, path) : st;
}

static shoal_status hint_classes(shoal_net *t, const struct net_hints *h)
{
    char key[32];
    shoal_status st;

    if (!h->names)
        return SHOAL_OK;
    if (!t->net->classes)
        return shoal_fail(SHOAL_EFORMAT, "%s: names classes, want none for a net of values",
                          h->names->path);
    st = class_index_fits(h->names, t->net->outputs);
    for (size_t i = 0; i < h->names->n && st == SHOAL_OK; i++) {
        snprintf(key, sizeof key, "class.%zu", i);
        st = saved_net_fact(t, key, "%s", h->names->names[i]);
    }
    return st;
}

/* ---- files of ours say it all ---- */

static shoal_status read_scaling(const struct tensors *file, shoal_net *t)
{
    size_t len;
    char *text, *at;
    shoal_status st = tensors_text(file, "scaling", &text, &len);

    if (st == SHOAL_OK && !text)
        return hint_scaling(t, &(struct net_hints){0}, file->path);
    if (st == SHOAL_OK)
        st = scaling_init(&t->in, t->net->inputs);
    at = text;
    for (size_t i = 0; i < t->net->inputs && st == SHOAL_OK; i++) {
        t->in.mean[i] = number_read_float(at, &at);
        t->in.inverse[i] = number_read_float(at, &at);
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
        for (size_t i = 0; i < len; i++)
            text[i] = text[i] == '\n' ? '\0' : text[i];
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

/* The description in the metadata, into spec; false: there is none, or one too long to be ours. */
static shoal_status own_spec(const struct tensors *file, char *spec, size_t cap, bool *ours)
{
    char *text;
    size_t len;
    shoal_status st = tensors_text(file, "spec", &text, &len);

    *ours = st == SHOAL_OK && text && len < cap;
    if (*ours)
        snprintf(spec, cap, "%s", text);
    free(text);
    return st;
}

static shoal_status import_ours(shoal_net **out, const struct tensors *file, const char *spec,
                                bool spare)
{
    shoal_status st = load_net(out, file, spec, true, spare);

    if (st == SHOAL_OK)
        st = read_scaling(file, *out);
    if (st == SHOAL_OK)
        st = read_facts(file, *out);
    return st == SHOAL_OK ? read_columns(file, *out) : st;
}

static shoal_status import_foreign(shoal_net **out, struct tensors *file, const struct net_hints *h,
                                   bool spare)
{
    char spec[NET_SPEC], assumed[NET_ASSUMED] = "";
    shoal_status st;

    if (tensors_find(file, "features.0.weight")) {
        rename_head(file);
        st = guess_spec(file, h->size, spec, sizeof spec);
        if (st == SHOAL_OK)
            st = load_net(out, file, spec, false, spare);
    } else {
        st = sequential_import(out, file, h, assumed);
    }
    if (st == SHOAL_OK && assumed[0])
        st = saved_net_fact(*out, "assumed", "%s", assumed);
    if (st == SHOAL_OK)
        st = hint_pictures(*out, h, file->path);
    return st == SHOAL_OK ? hint_classes(*out, h) : st;
}

/* ---- bytes ---- */

static shoal_status import(shoal_net **out, struct tensors *file, const struct net_hints *h,
                           bool spare)
{
    char spec[NET_SPEC];
    bool ours = false;
    shoal_status st = own_spec(file, spec, sizeof spec, &ours);

    if (st == SHOAL_OK)
        st = ours ? import_ours(out, file, spec, spare) : import_foreign(out, file, h, spare);
    if (st == SHOAL_OK)
        st = saved_net_check_pictures(*out, file->path);
    if (st != SHOAL_OK) {
        shoal_net_close(*out);
        *out = NULL;
    }
    return st;
}

static shoal_status import_weights(shoal_net **out, const struct source *src,
                                   const struct net_hints *h)
{
    struct tensors file;
    shoal_status st = weights_read(&file, src->path, src->at, src->len);

    if (st != SHOAL_OK)
        return st;
    st = import(out, &file, h, src->spare);
    tensors_fini(&file);
    return st;
}

/* ---- TorchServe's archives ---- */

static const struct zip_member *find_member(const struct zip *z, const char *name)
{
    for (size_t i = 0; i < z->n; i++)
        if (z->at[i].name.len == strlen(name) &&
            memcmp(z->at[i].name.at, name, z->at[i].name.len) == 0)
            return &z->at[i];
    return NULL;
}

bool mar_sniff(const char *at, size_t len)
{
    struct zip z = {0};
    bool is = zip_sniff(at, len) && zip_open(&z, "", at, len) == SHOAL_OK &&
              find_member(&z, "MAR-INF/MANIFEST.json");

    zip_close(&z);
    return is;
}

/* A member as text that ends with a 0; *text NULL when there is none. */
static shoal_status read_text(const struct zip *z, const char *name, char **text, size_t *len)
{
    const struct zip_member *m = find_member(z, name);
    const char *at;
    void *ours = NULL;
    shoal_status st;

    *text = NULL;
    *len = 0;
    if (!m)
        return SHOAL_OK;
    if (m->size > JSON_MAX)
        return shoal_fail(SHOAL_ELIMIT, "%s: `%s` in it has %zu bytes, want at most %zu", z->path,
                          name, m->size, JSON_MAX);
    st = zip_read(z, m, &at, &ours);
    if (st == SHOAL_OK && !(*text = mem_array(m->size + 1, 1)))
        st = SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        memcpy(*text, at, *len = m->size);
    mem_unmap(ours, m->size);
    return st;
}

/* index_to_name.json, and a description in shoal.json. */
static shoal_status read_beside(const struct zip *z, struct net_hints *h)
{
    char *text = NULL;
    size_t len;
    shoal_status st = read_text(z, "shoal.json", &text, &len);

    if (st == SHOAL_OK && text)
        st = net_hints_read(h, z->path, text, len);
    free(text);
    text = NULL;
    if (st == SHOAL_OK && !h->names)
        st = read_text(z, "index_to_name.json", &text, &len);
    if (st == SHOAL_OK && text)
        st = class_index_parse(&h->names, z->path, text, len);
    free(text);
    return st;
}

static shoal_status read_manifest(const struct zip *z, struct manifest *m)
{
    char *text = NULL;
    size_t len;
    shoal_status st = read_text(z, "MAR-INF/MANIFEST.json", &text, &len);

    if (st == SHOAL_OK)
        st = manifest_read(m, z->path, text, len);
    free(text);
    return st;
}

static shoal_status check_weights(const char *path, const struct manifest *m,
                                  const struct source *in)
{
    if (tensors_sniff(in->at, in->len) || pth_sniff(in->at, in->len))
        return SHOAL_OK;
    return shoal_fail(SHOAL_EFORMAT,
                      "%s: `%s` in it is neither safetensors nor what torch.save writes", path,
                      m->weights);
}

/* What was inflated needs the archive no more. */
static shoal_status import_member(shoal_net **out, const struct source *src, const struct zip *z,
                                  const struct manifest *m, const struct net_hints *h)
{
    const struct zip_member *member = find_member(z, m->weights);
    struct source in = {.path = src->path};
    void *ours = NULL;
    shoal_status st;

    if (!member)
        return shoal_fail(SHOAL_EFORMAT, "%s: its manifest names `%s`, which is not in it",
                          src->path, m->weights);
    st = zip_read(z, member, &in.at, &ours);
    in.len = member->size;
    in.spare = ours || src->spare;
    if (st == SHOAL_OK)
        st = check_weights(src->path, m, &in);
    if (st == SHOAL_OK && ours && src->spare)
        mem_release((void *)(uintptr_t)src->at, src->len);
    if (st == SHOAL_OK)
        st = import_weights(out, &in, h);
    mem_unmap(ours, in.len);
    return st;
}

static shoal_status import_archive(shoal_net **out, const struct source *src, struct net_hints *h)
{
    struct manifest m;
    struct zip z;
    shoal_status st = zip_open(&z, src->path, src->at, src->len);

    if (st == SHOAL_OK)
        st = read_manifest(&z, &m);
    if (st == SHOAL_OK)
        st = read_beside(&z, h);
    if (st == SHOAL_OK)
        st = import_member(out, src, &z, &m, h);
    zip_close(&z);
    return st;
}

/* ---- any ---- */

bool net_weights_in(const struct tensors *file)
{
    char *spec = NULL;
    size_t len;
    bool found = tensors_find(file, "features.0.weight") || sequential_in(file) ||
                 (tensors_text(file, "spec", &spec, &len) == SHOAL_OK && spec);

    free(spec);
    return found;
}

bool net_weights_sniff(const char *at, size_t len)
{
    struct tensors file = {0};
    bool found;

    if (pth_sniff(at, len) || mar_sniff(at, len))
        return true;
    found = tensors_sniff(at, len) && weights_read(&file, "", at, len) == SHOAL_OK &&
            net_weights_in(&file);
    tensors_fini(&file);
    return found;
}

/* FILE.json, if there is one. */
static shoal_status read_description(const char *path, struct net_hints *h)
{
    char *name = mem_text("%s.json", path), *text = NULL;
    struct stat file;
    size_t len;
    shoal_status st = name ? SHOAL_OK : SHOAL_ENOMEM;

    if (st == SHOAL_OK && stat(name, &file) == 0 && S_ISREG(file.st_mode)) {
        st = stream_slurp(&text, &len, name, JSON_MAX);
        if (st == SHOAL_OK)
            st = net_hints_read(h, name, text, len);
    }
    free(text);
    free(name);
    return st;
}

shoal_status net_import_source(shoal_net **out, const struct source *src, bool beside,
                               const struct shoal_import_opts *opts)
{
    struct net_hints h = {.size = opts->size};
    shoal_status st = SHOAL_OK;

    *out = NULL;
    if (opts->activation)
        snprintf(h.activation, sizeof h.activation, "%s", opts->activation);
    if (beside)
        st = read_description(src->path, &h);
    if (st == SHOAL_OK)
        st = mar_sniff(src->at, src->len) ? import_archive(out, src, &h)
                                          : import_weights(out, src, &h);
    net_hints_fini(&h);
    return st;
}

shoal_status shoal_net_import(shoal_net **out, const char *path, unsigned size)
{
    struct source src;
    shoal_status st = source_open(&src, path, false);

    *out = NULL;
    if (st == SHOAL_OK && !net_weights_sniff(src.at, src.len) && !tensors_sniff(src.at, src.len))
        st = shoal_fail(SHOAL_EFORMAT,
                        "%s: neither a model of ours nor safetensors nor what torch.save writes",
                        path);
    if (st == SHOAL_OK)
        st = net_import_source(out, &src, true, &(struct shoal_import_opts){.size = size});
    source_close(&src);
    return st;
}

bool shoal_net_weights(const char *path)
{
    struct source src;
    bool found = source_open(&src, path, true) == SHOAL_OK && net_weights_sniff(src.at, src.len);

    source_close(&src);
    return found;
}
