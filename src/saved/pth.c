/* What torch.save writes: tensors whose numbers lie in the file as they are, and a pickle that says
 * which.
 *
 *     zip      | NAME/data.pkl | NAME/data/0 | NAME/data/1 | ... | directory |     since 1.6
 *     older    | magic | protocol | system | pickle | keys | numbers, bytes of 0 | numbers, ... |
 *
 * A storage is a row of numbers; tensors are windows on storages, and may share one. The older
 * format, in which torchvision's own weights are, has four pickles before the one that counts and
 * the list of its storages behind it. */
#include "file/file.h"
#include "saved/pickle.h"
#include "saved/tensors.h"

#include <stdio.h>
#include <stdlib.h>

#define TENSORS_MAX ((size_t)1 << 16)

/* pickle.dumps(0x1950a86a20f9469cfc6c, 2) */
static const char magic[] = "\x80\2\x8a\nl\xfc\x9c"
                            "F\xf9 j\xa8P\x19.";
enum { MAGIC = sizeof magic - 1 };

struct storage {
    struct span key;
    const struct pickle_global *type;
    uint64_t numbers;
    size_t at; /* bytes from the file's beginning */
    bool placed;
};

struct pth {
    struct tensors *out;
    const char *path, *at;
    size_t len;
    struct pickle pickle;
    struct storage *storages; /* [n] by key */
    size_t n;
};

static shoal_status fail_pth(const struct pth *f, const char *what)
{
    return shoal_fail(SHOAL_EFORMAT, "%s: %s", f->path, what);
}

/* ---- storages ---- */

static int by_key(const void *a, const void *b)
{
    const struct storage *x = a, *y = b;
    size_t both = x->key.len < y->key.len ? x->key.len : y->key.len;
    int order = memcmp(x->key.at, y->key.at, both);

    return order ? order : (x->key.len > y->key.len) - (x->key.len < y->key.len);
}

static struct storage *find_storage(const struct pth *f, const char *key, size_t len)
{
    struct storage wanted = {.key = {key, (uint32_t)len}};

    return f->n > 0 ? bsearch(&wanted, f->storages, f->n, sizeof wanted, by_key) : NULL;
}

static shoal_status take_storage(struct pth *f, const struct pickle_value *v)
{
    const struct pickle_value *type = pickle_item(&f->pickle, v, 1, PICKLE_GLOBAL);
    const struct pickle_value *key = pickle_item(&f->pickle, v, 2, PICKLE_TEXT);
    const struct pickle_value *numbers = pickle_item(&f->pickle, v, 4, PICKLE_INT);

    if (!type || !key || !numbers || numbers->number < 0)
        return fail_pth(f, "found a storage without key and size, want both");
    f->storages[f->n++] = (struct storage){.key = key->text,
                                           .type = &pickle_globals[type->number],
                                           .numbers = (uint64_t)numbers->number};
    return SHOAL_OK;
}

/* A storage that several tensors share is named for each of them. */
static shoal_status merge_storages(struct pth *f)
{
    size_t kept = 0;

    qsort(f->storages, f->n, sizeof *f->storages, by_key);
    for (size_t i = 0; i < f->n; i++) {
        struct storage *last = kept > 0 ? &f->storages[kept - 1] : NULL, *s = &f->storages[i];

        if (!last || by_key(last, s) != 0)
            f->storages[kept++] = *s;
        else if (last->type != s->type || last->numbers != s->numbers)
            return fail_pth(f, "found two types or sizes of one storage, want one");
    }
    f->n = kept;
    return SHOAL_OK;
}

static shoal_status list_storages(struct pth *f)
{
    const struct pickle *p = &f->pickle;
    shoal_status st = SHOAL_OK;

    f->storages = mem_array(p->nvalues, sizeof *f->storages);
    if (!f->storages)
        return SHOAL_ENOMEM;
    for (uint32_t i = 1; i < p->nvalues && st == SHOAL_OK; i++)
        if (pickle_get(p, i)->kind == PICKLE_STORAGE)
            st = take_storage(f, pickle_get(p, i));
    return st == SHOAL_OK ? merge_storages(f) : st;
}

static shoal_status place_storage(struct pth *f, struct storage *s, size_t at, size_t size)
{
    if (size / s->type->size != s->numbers || size % s->type->size != 0)
        return shoal_fail(SHOAL_EFORMAT, "%s: storage %.*s has %zu bytes, want %llu numbers of %zu",
                          f->path, (int)(s->key.len < 40 ? s->key.len : 40), s->key.at, size,
                          (unsigned long long)s->numbers, s->type->size);
    s->at = at;
    s->placed = true;
    return SHOAL_OK;
}

/* ---- one tensor ---- */

static shoal_status fail_tensor(const struct pth *f, const char *name, const char *what)
{
    return shoal_fail(SHOAL_EFORMAT, "%s: tensor %s %s", f->path, name, what);
}

/* Whole numbers of a tuple into out; false: something else is there. */
static bool read_sizes(const struct pickle *p, const struct pickle_value *tuple, size_t *out)
{
    if (!tuple || tuple->n > FILE_TENSOR_DIMS)
        return false;
    for (size_t i = 0; i < tuple->n; i++) {
        const struct pickle_value *v = pickle_item(p, tuple, i, PICKLE_INT);

        if (!v || v->number < 0)
            return false;
        out[i] = (size_t)v->number;
    }
    return true;
}

/* Its numbers, and how far the last lies behind the first; false: beyond any memory. */
static bool measure(const struct file_tensor *t, size_t *numbers, size_t *reach)
{
    *numbers = 1;
    *reach = 0;
    for (size_t i = 0; i < t->ndims; i++) {
        size_t more;

        if (__builtin_mul_overflow(*numbers, t->dims[i], numbers))
            return false;
        if (t->dims[i] > 0 && (__builtin_mul_overflow(t->dims[i] - 1, t->strides[i], &more) ||
                               __builtin_add_overflow(*reach, more, reach)))
            return false;
    }
    return *reach < SIZE_MAX;
}

static bool lies_apart(const struct file_tensor *t)
{
    size_t step = 1;

    for (size_t i = t->ndims; i-- > 0; step *= t->dims[i])
        if (t->dims[i] != 1 && t->strides[i] != step)
            return true;
    return false;
}

/* A tensor has no more numbers than its storage: what is repeated by strides of 0 is a bomb. */
static shoal_status place_tensor(const struct pth *f, struct file_tensor *t,
                                 const struct storage *s, uint64_t offset)
{
    size_t numbers, reach;

    if (!s->placed)
        return fail_tensor(f, t->name, "has a storage that is not in the file");
    if (!measure(t, &numbers, &reach) || numbers > s->numbers || offset > s->numbers ||
        (numbers > 0 && reach >= s->numbers - offset))
        return fail_tensor(f, t->name, "is larger than its storage");
    snprintf(t->dtype, sizeof t->dtype, "%s", s->type->dtype);
    t->strided = numbers > 0 && lies_apart(t);
    t->begin = s->at + (size_t)offset * s->type->size;
    t->end = t->begin + (numbers > 0 ? reach + 1 : 0) * s->type->size;
    return SHOAL_OK;
}

static shoal_status read_tensor(const struct pth *f, struct file_tensor *t,
                                const struct pickle_value *v)
{
    const struct pickle *p = &f->pickle;
    const struct pickle_value *storage = pickle_item(p, v, 0, PICKLE_STORAGE);
    const struct pickle_value *offset = pickle_item(p, v, 1, PICKLE_INT);
    const struct pickle_value *size = pickle_item(p, v, 2, PICKLE_TUPLE);
    const struct pickle_value *stride = pickle_item(p, v, 3, PICKLE_TUPLE);
    const struct pickle_value *key;
    const struct storage *s;

    if (!storage || !offset || offset->number < 0 || !size || !stride || size->n != stride->n ||
        !read_sizes(p, size, t->dims) || !read_sizes(p, stride, t->strides))
        return fail_tensor(f, t->name, "has no storage, offset, size and stride, want all four");
    t->ndims = size->n;
    key = pickle_item(p, storage, 2, PICKLE_TEXT);
    s = find_storage(f, key->text.at, key->text.len);
    return place_tensor(f, t, s, (uint64_t)offset->number);
}

/* ---- the dictionary ---- */

static bool holds_tensors(const struct pickle *p, const struct pickle_value *dict)
{
    for (uint32_t at = dict->head; at; at = p->cells[p->cells[at].next].next)
        if (pickle_get(p, p->cells[p->cells[at].next].value)->kind == PICKLE_TENSOR)
            return true;
    return false;
}

/* The root, or what a checkpoint keeps under one of these names. */
static const struct pickle_value *find_state(const struct pickle *p, uint32_t root)
{
    static const char *const names[] = {"state_dict", "model_state_dict", "model", "net",
                                        "module",     "weights"};
    const struct pickle_value *dict = pickle_get(p, root), *within;

    if (dict->kind != PICKLE_DICT)
        return NULL;
    if (holds_tensors(p, dict))
        return dict;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        within = pickle_find(p, dict, names[i]);
        if (within && within->kind == PICKLE_DICT && holds_tensors(p, within))
            return within;
    }
    return NULL;
}

static shoal_status add_tensor(struct pth *f, const struct pickle_value *name,
                               const struct pickle_value *v)
{
    struct tensors *t = f->out;
    struct file_tensor one = {0};
    shoal_status st;

    if (name->kind != PICKLE_TEXT || memchr(name->text.at, '\0', name->text.len))
        return fail_pth(f, "found a tensor whose name is no text");
    if (t->n == TENSORS_MAX)
        return shoal_fail(SHOAL_ELIMIT, "%s: over %zu tensors, want at most that", t->path,
                          TENSORS_MAX);
    if (name->text.len < sizeof one.name)
        memcpy(one.name, name->text.at, name->text.len);
    st = read_tensor(f, &one, v);
    if (st == SHOAL_OK)
        st = mem_grow(&t->at, &t->cap, t->n + 1, sizeof one);
    if (st == SHOAL_OK)
        t->at[t->n++] = one;
    return st;
}

static shoal_status read_state(struct pth *f, uint32_t root)
{
    const struct pickle *p = &f->pickle;
    const struct pickle_value *dict = find_state(p, root);
    shoal_status st = SHOAL_OK;

    if (!dict)
        return fail_pth(f, "found no tensors by name, want a state_dict, or one as `state_dict` or "
                           "`model` of a dictionary");
    for (uint32_t at = dict->head; at && st == SHOAL_OK; at = p->cells[p->cells[at].next].next) {
        const struct pickle_value *v = pickle_get(p, p->cells[p->cells[at].next].value);

        if (v->kind == PICKLE_TENSOR)
            st = add_tensor(f, pickle_get(p, p->cells[at].value), v);
    }
    return st == SHOAL_OK ? tensors_unique(f->out) : st;
}

/* ---- the zip archive ---- */

static bool name_ends(const struct zip_member *m, const char *with)
{
    size_t len = strlen(with);

    return m->name.len >= len && memcmp(m->name.at + m->name.len - len, with, len) == 0;
}

/* The only member NAME/`what`; NULL: there is none. */
static const struct zip_member *find_member(const struct zip *z, const char *what)
{
    for (size_t i = 0; i < z->n; i++) {
        const char *slash = memchr(z->at[i].name.at, '/', z->at[i].name.len);

        if (slash && name_ends(&z->at[i], what) &&
            (size_t)(slash - z->at[i].name.at) + strlen(what) == z->at[i].name.len)
            return &z->at[i];
    }
    return NULL;
}

/* The storage that a member NAME/data/KEY holds, or NULL. */
static struct storage *storage_of(const struct pth *f, const struct zip_member *m, size_t folder)
{
    static const char data[] = "/data/";
    size_t before = folder + sizeof data - 1;

    return m->name.len > before && memcmp(m->name.at + folder, data, sizeof data - 1) == 0
               ? find_storage(f, m->name.at + before, m->name.len - before)
               : NULL;
}

static shoal_status read_member(const struct pth *f, const struct zip *z,
                                const struct zip_member *m, const char **at)
{
    void *ours;

    if (m->deflated)
        return shoal_fail(SHOAL_EFORMAT, "%s: `%.*s` in it is compressed, want it stored, as "
                          "torch.save does",
                          f->path, (int)(m->name.len < 80 ? m->name.len : 80), m->name.at);
    return zip_read(z, m, at, &ours);
}

static shoal_status place_members(struct pth *f, const struct zip *z, size_t folder)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < z->n && st == SHOAL_OK; i++) {
        struct storage *s = storage_of(f, &z->at[i], folder);
        const char *at = NULL;

        if (!s)
            continue;
        st = read_member(f, z, &z->at[i], &at);
        if (st == SHOAL_OK)
            st = place_storage(f, s, (size_t)(at - f->at), z->at[i].size);
    }
    return st;
}

static shoal_status check_order(const struct pth *f, const struct zip *z)
{
    const struct zip_member *m = find_member(z, "/byteorder");
    const char *at = NULL;
    shoal_status st = m ? read_member(f, z, m, &at) : SHOAL_OK;

    if (st == SHOAL_OK && m && !(m->size >= 6 && memcmp(at, "little", 6) == 0))
        st = fail_pth(f, "its numbers are big-endian, want little-endian ones");
    return st;
}

static shoal_status read_archive(struct pth *f, const struct zip *z)
{
    const struct zip_member *m = find_member(z, "/data.pkl");
    const char *at;
    uint32_t root;
    size_t used;
    shoal_status st;

    if (!m)
        return fail_pth(f, "is a zip archive without data.pkl, want one of torch.save");
    if (find_member(z, "/constants.pkl"))
        return fail_pth(f, "is TorchScript (torch.jit.save), want a state_dict: "
                           "torch.save(model.state_dict(), FILE)");
    st = check_order(f, z);
    if (st == SHOAL_OK)
        st = read_member(f, z, m, &at);
    if (st == SHOAL_OK)
        st = pickle_read(&f->pickle, f->path, at, m->size, &root, &used);
    if (st == SHOAL_OK)
        st = list_storages(f);
    if (st == SHOAL_OK)
        st = place_members(f, z, m->name.len - strlen("/data.pkl"));
    return st == SHOAL_OK ? read_state(f, root) : st;
}

static shoal_status read_zip(struct pth *f)
{
    struct zip z;
    shoal_status st = zip_open(&z, f->path, f->at, f->len);

    if (st == SHOAL_OK)
        st = read_archive(f, &z);
    zip_close(&z);
    return st;
}

/* ---- the older format ---- */

/* A pickle of no use, or the one that counts. */
static shoal_status next_pickle(struct pth *f, struct pickle *p, size_t *at, uint32_t *root)
{
    size_t used;
    shoal_status st = pickle_read(p, f->path, f->at + *at, f->len - *at, root, &used);

    *at += used;
    return st;
}

static shoal_status pass_pickles(struct pth *f, size_t *at, size_t n)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        struct pickle p;
        uint32_t root;

        st = next_pickle(f, &p, at, &root);
        pickle_fini(&p);
    }
    return st;
}

/* The count of a storage's numbers and they themselves. */
static shoal_status place_next(struct pth *f, const struct pickle_value *key, size_t *at)
{
    struct storage *s =
        key->kind == PICKLE_TEXT ? find_storage(f, key->text.at, key->text.len) : NULL;
    uint64_t numbers;
    size_t size;
    shoal_status st;

    if (!s || s->placed || f->len - *at < sizeof numbers)
        return fail_pth(f, !s ? "its list names a storage that no tensor has"
                           : s->placed ? "its list names a storage twice, want it once"
                                       : "is cut off before the numbers of a storage");
    memcpy(&numbers, f->at + *at, sizeof numbers);
    *at += sizeof numbers;
    if (numbers > (f->len - *at) / s->type->size)
        return fail_pth(f, "is cut off within the numbers of a storage");
    size = (size_t)numbers * s->type->size;
    st = place_storage(f, s, *at, size);
    *at += size;
    return st;
}

static shoal_status place_listed(struct pth *f, const struct pickle *p, uint32_t root, size_t *at)
{
    const struct pickle_value *list = pickle_get(p, root);
    shoal_status st = SHOAL_OK;

    if (list->kind != PICKLE_LIST)
        return fail_pth(f, "has no list of its storages behind its tensors");
    for (uint32_t cell = list->head; cell && st == SHOAL_OK; cell = p->cells[cell].next)
        st = place_next(f, pickle_get(p, p->cells[cell].value), at);
    return st;
}

static shoal_status read_older(struct pth *f)
{
    struct pickle keys = {0};
    size_t at = MAGIC;
    uint32_t root = 0, list;
    shoal_status st = pass_pickles(f, &at, 2); /* the protocol's number, and the system */

    if (st == SHOAL_OK)
        st = next_pickle(f, &f->pickle, &at, &root);
    if (st == SHOAL_OK)
        st = list_storages(f);
    if (st == SHOAL_OK)
        st = next_pickle(f, &keys, &at, &list);
    if (st == SHOAL_OK)
        st = place_listed(f, &keys, list, &at);
    pickle_fini(&keys);
    return st == SHOAL_OK ? read_state(f, root) : st;
}

/* ---- either ---- */

static bool is_older(const char *at, size_t len)
{
    return len >= MAGIC && memcmp(at, magic, MAGIC) == 0;
}

bool pth_sniff(const char *at, size_t len)
{
    struct zip z = {0};
    bool is = is_older(at, len) || (zip_sniff(at, len) && zip_open(&z, "", at, len) == SHOAL_OK &&
                                    find_member(&z, "/data.pkl"));

    zip_close(&z);
    return is;
}

shoal_status pth_read(struct tensors *t, const char *path, const char *at, size_t len)
{
    struct pth f = {.out = t, .path = path, .at = at, .len = len};
    shoal_status st;

    *t = (struct tensors){.path = path, .data = at, .size = len, .ordered = true};
    st = is_older(at, len) ? read_older(&f) : read_zip(&f);
    pickle_fini(&f.pickle);
    free(f.storages);
    if (st != SHOAL_OK)
        tensors_fini(t);
    return st;
}
