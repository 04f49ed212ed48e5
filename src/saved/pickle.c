/* The pickle machine. Opcodes are those of Python's pickletools, protocols 2 to 5; their numbers
 * are the format's. */
#include "saved/pickle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct pickle_global pickle_globals[] = {
    {"collections.OrderedDict", PICKLE_DICT_OF, NULL, 0},
    {"torch._utils._rebuild_tensor_v2", PICKLE_TENSOR_OF, NULL, 0},
    {"torch._utils._rebuild_parameter", PICKLE_FIRST_OF, NULL, 0},
    {"torch.Size", PICKLE_FIRST_OF, NULL, 0},
    {"torch.FloatStorage", PICKLE_STORAGE_TYPE, "F32", 4},
    {"torch.HalfStorage", PICKLE_STORAGE_TYPE, "F16", 2},
    {"torch.BFloat16Storage", PICKLE_STORAGE_TYPE, "BF16", 2},
    {"torch.DoubleStorage", PICKLE_STORAGE_TYPE, "F64", 8},
    {"torch.LongStorage", PICKLE_STORAGE_TYPE, "I64", 8},
    {"torch.IntStorage", PICKLE_STORAGE_TYPE, "I32", 4},
    {"torch.ShortStorage", PICKLE_STORAGE_TYPE, "I16", 2},
    {"torch.CharStorage", PICKLE_STORAGE_TYPE, "I8", 1},
    {"torch.ByteStorage", PICKLE_STORAGE_TYPE, "U8", 1},
    {"torch.BoolStorage", PICKLE_STORAGE_TYPE, "BOOL", 1},
};

enum { GLOBALS = sizeof pickle_globals / sizeof *pickle_globals, NAME_SHOWN = 120 };

static shoal_status fail_pickle(const struct pickle *p, const char *what)
{
    return shoal_fail(SHOAL_EFORMAT, "%s: its pickle %s at byte %zu", p->path, what,
                      (size_t)(p->at - p->begin));
}

/* ---- bytes ---- */

static shoal_status take(struct pickle *p, uint64_t n, const char **at)
{
    *at = p->at;
    if (n > (uint64_t)(p->end - p->at))
        return p->end - p->begin == PICKLE_MAX
                   ? shoal_fail(SHOAL_ELIMIT, "%s: its pickle is over %d bytes, want less", p->path,
                                PICKLE_MAX)
                   : fail_pickle(p, "is cut off");
    p->at += n;
    return SHOAL_OK;
}

/* A whole number of `bytes`, little-endian. */
static shoal_status take_number(struct pickle *p, size_t bytes, uint64_t *x)
{
    const char *at;
    shoal_status st = take(p, bytes, &at);

    *x = 0;
    if (st == SHOAL_OK)
        memcpy(x, at, bytes);
    return st;
}

/* Up to the end of the line. */
static shoal_status take_line(struct pickle *p, struct span *line)
{
    const char *end = memchr(p->at, '\n', (size_t)(p->end - p->at));

    *line = (struct span){p->at, 0};
    if (!end)
        return take(p, UINT64_MAX, &line->at);
    line->len = (uint32_t)(end - p->at);
    p->at = end + 1;
    return SHOAL_OK;
}

/* ---- the stack ---- */

static shoal_status push(struct pickle *p, uint32_t value)
{
    shoal_status st = mem_grow(&p->stack, &p->stack_cap, p->depth + 1, sizeof *p->stack);

    if (st == SHOAL_OK)
        p->stack[p->depth++] = value;
    return st;
}

static shoal_status push_new(struct pickle *p, struct pickle_value v)
{
    shoal_status st = mem_grow(&p->values, &p->values_cap, p->nvalues + 1, sizeof v);

    if (st != SHOAL_OK)
        return st;
    p->values[p->nvalues] = v;
    return push(p, (uint32_t)p->nvalues++);
}

static shoal_status push_kind(struct pickle *p, enum pickle_kind kind)
{
    return push_new(p, (struct pickle_value){.kind = kind});
}

/* Where the values above the last mark begin: nothing below it may be taken. */
static size_t floor_of(const struct pickle *p)
{
    return p->nmarks > 0 ? p->marks[p->nmarks - 1] : 0;
}

static shoal_status need(const struct pickle *p, size_t n)
{
    return p->depth - floor_of(p) >= n ? SHOAL_OK : fail_pickle(p, "takes more than there is");
}

static shoal_status pop(struct pickle *p, uint32_t *value)
{
    shoal_status st = need(p, 1);

    *value = st == SHOAL_OK ? p->stack[--p->depth] : 0;
    return st;
}

/* ---- what holds others ---- */

static shoal_status hold(struct pickle *p, uint32_t in, uint32_t value)
{
    struct pickle_value *v;
    uint32_t cell = (uint32_t)p->ncells;
    shoal_status st = mem_grow(&p->cells, &p->cells_cap, p->ncells + 1, sizeof *p->cells);

    if (st != SHOAL_OK)
        return st;
    p->cells[p->ncells++] = (struct pickle_cell){value, 0};
    v = &p->values[in];
    if (v->head)
        p->cells[v->tail].next = cell;
    else
        v->head = cell;
    v->tail = cell;
    v->n++;
    return SHOAL_OK;
}

/* All above the mark go into the value, and the mark. */
static shoal_status hold_marked(struct pickle *p, uint32_t in)
{
    size_t from = floor_of(p);
    shoal_status st = SHOAL_OK;

    for (size_t i = from; i < p->depth && st == SHOAL_OK; i++)
        st = hold(p, in, p->stack[i]);
    p->depth = from;
    p->nmarks--;
    return st;
}

static shoal_status need_mark(const struct pickle *p)
{
    return p->nmarks > 0 ? SHOAL_OK : fail_pickle(p, "has no mark where one is wanted");
}

/* Pairs go into a dict, so that what it holds can be walked two by two. */
static shoal_status need_pairs(const struct pickle *p, enum pickle_kind kind, size_t n)
{
    return kind != PICKLE_DICT || n % 2 == 0 ? SHOAL_OK
                                              : fail_pickle(p, "has a key without a value");
}

static shoal_status op_mark(struct pickle *p, unsigned arg)
{
    shoal_status st = mem_grow(&p->marks, &p->marks_cap, p->nmarks + 1, sizeof *p->marks);

    if (st == SHOAL_OK)
        p->marks[p->nmarks++] = (uint32_t)p->depth;
    return st;
}

/* A new one of the last `arg` values. */
static shoal_status op_tuple(struct pickle *p, unsigned arg)
{
    shoal_status st = need(p, arg);
    size_t from = p->depth - arg;
    uint32_t tuple;

    if (st == SHOAL_OK)
        st = push_kind(p, PICKLE_TUPLE);
    if (st != SHOAL_OK)
        return st;
    tuple = p->stack[--p->depth];
    for (size_t i = from; i < p->depth && st == SHOAL_OK; i++)
        st = hold(p, tuple, p->stack[i]);
    p->depth = from;
    return st == SHOAL_OK ? push(p, tuple) : st;
}

static shoal_status op_empty(struct pickle *p, unsigned kind)
{
    return push_kind(p, kind);
}

/* A new one of all above the mark. */
static shoal_status op_marked(struct pickle *p, unsigned kind)
{
    shoal_status st = need_mark(p);
    uint32_t value;

    if (st == SHOAL_OK)
        st = need_pairs(p, kind, p->depth - floor_of(p));
    if (st == SHOAL_OK)
        st = push_kind(p, kind);
    if (st != SHOAL_OK)
        return st;
    value = p->stack[--p->depth];
    st = hold_marked(p, value);
    return st == SHOAL_OK ? push(p, value) : st;
}

static shoal_status need_kind(const struct pickle *p, uint32_t value, enum pickle_kind kind)
{
    return p->values[value].kind == kind ? SHOAL_OK
                                         : fail_pickle(p, "adds to what cannot hold it");
}

/* One value, or one pair, into the one below. */
static shoal_status op_add(struct pickle *p, unsigned kind)
{
    size_t n = kind == PICKLE_DICT ? 2 : 1;
    shoal_status st = need(p, n + 1);
    uint32_t in = st == SHOAL_OK ? p->stack[p->depth - n - 1] : 0;

    if (st == SHOAL_OK)
        st = need_kind(p, in, kind);
    for (size_t i = p->depth - n; i < p->depth && st == SHOAL_OK; i++)
        st = hold(p, in, p->stack[i]);
    if (st == SHOAL_OK)
        p->depth -= n;
    return st;
}

/* All above the mark into the one below it. */
static shoal_status op_add_marked(struct pickle *p, unsigned kind)
{
    shoal_status st = need_mark(p);
    size_t from = st == SHOAL_OK ? floor_of(p) : 0;
    uint32_t in;

    if (st == SHOAL_OK && (from == 0 || (p->nmarks > 1 && p->marks[p->nmarks - 2] >= from)))
        st = fail_pickle(p, "takes more than there is");
    if (st == SHOAL_OK)
        st = need_pairs(p, kind, p->depth - from);
    if (st != SHOAL_OK)
        return st;
    in = p->stack[from - 1];
    st = need_kind(p, in, kind);
    return st == SHOAL_OK ? hold_marked(p, in) : st;
}

/* ---- plain values ---- */

static shoal_status push_number(struct pickle *p, int64_t x)
{
    return push_new(p, (struct pickle_value){.kind = PICKLE_INT, .number = x});
}

static shoal_status op_bool(struct pickle *p, unsigned is)
{
    return push_number(p, is);
}

static shoal_status op_number(struct pickle *p, unsigned bytes)
{
    uint64_t x;
    shoal_status st = take_number(p, bytes, &x);

    return st == SHOAL_OK ? push_number(p, bytes == 4 ? (int32_t)x : (int64_t)x) : st;
}

/* Two's complement of any length; one beyond 64 bits is nothing that a tensor has. */
static shoal_status op_long(struct pickle *p, unsigned bytes)
{
    uint64_t len, x = 0;
    const char *at = NULL;
    shoal_status st = take_number(p, bytes, &len);

    if (st == SHOAL_OK)
        st = take(p, len, &at);
    if (st != SHOAL_OK)
        return st;
    if (len > 8)
        return push_kind(p, PICKLE_NONE);
    memcpy(&x, at, len);
    if (len > 0 && len < 8 && (at[len - 1] & 0x80))
        x |= UINT64_MAX << 8 * len;
    return push_number(p, (int64_t)x);
}

static shoal_status op_real(struct pickle *p, unsigned bytes)
{
    const char *at;
    shoal_status st = take(p, bytes, &at);

    return st == SHOAL_OK ? push_kind(p, PICKLE_NONE) : st;
}

/* Text or bytes, whose length takes `bytes`. */
static shoal_status op_text(struct pickle *p, unsigned bytes)
{
    struct pickle_value v = {.kind = PICKLE_TEXT};
    uint64_t len;
    shoal_status st = take_number(p, bytes, &len);

    if (st == SHOAL_OK)
        st = take(p, len, &v.text.at);
    v.text.len = (uint32_t)len;
    return st == SHOAL_OK ? push_new(p, v) : st;
}

/* Numbers of the protocol or of a frame are of no use here. */
static shoal_status op_skip(struct pickle *p, unsigned bytes)
{
    const char *at;

    return take(p, bytes, &at);
}

static shoal_status op_stop(struct pickle *p, unsigned arg)
{
    p->stopped = true;
    return p->depth == 1 && p->nmarks == 0 ? SHOAL_OK
                                           : fail_pickle(p, "leaves other than one value");
}

static shoal_status op_pop(struct pickle *p, unsigned arg)
{
    uint32_t value;

    return pop(p, &value);
}

static shoal_status op_pop_mark(struct pickle *p, unsigned arg)
{
    shoal_status st = need_mark(p);

    if (st == SHOAL_OK) {
        p->depth = floor_of(p);
        p->nmarks--;
    }
    return st;
}

static shoal_status op_dup(struct pickle *p, unsigned arg)
{
    shoal_status st = need(p, 1);

    return st == SHOAL_OK ? push(p, p->stack[p->depth - 1]) : st;
}

/* ---- the memo ---- */

/* Places are numbered as they come, so none can be beyond the bytes of the pickle. */
static shoal_status memo_put(struct pickle *p, uint64_t place)
{
    shoal_status st = need(p, 1);

    if (st == SHOAL_OK && place > (uint64_t)(p->at - p->begin))
        st = fail_pickle(p, "has a place of its memo beyond all that can be there");
    if (st == SHOAL_OK)
        st = mem_grow(&p->memo, &p->memo_cap, (size_t)place + 1, sizeof *p->memo);
    if (st != SHOAL_OK)
        return st;
    while (p->nmemo <= place)
        p->memo[p->nmemo++] = 0;
    p->memo[place] = p->stack[p->depth - 1];
    return SHOAL_OK;
}

static shoal_status op_put(struct pickle *p, unsigned bytes)
{
    uint64_t place;
    shoal_status st = take_number(p, bytes, &place);

    return st == SHOAL_OK ? memo_put(p, place) : st;
}

static shoal_status op_memoize(struct pickle *p, unsigned arg)
{
    return memo_put(p, p->nmemo);
}

static shoal_status op_get(struct pickle *p, unsigned bytes)
{
    uint64_t place;
    shoal_status st = take_number(p, bytes, &place);

    if (st == SHOAL_OK && (place >= p->nmemo || p->memo[place] == 0))
        st = fail_pickle(p, "asks its memo for what is not there");
    return st == SHOAL_OK ? push(p, p->memo[place]) : st;
}

/* ---- names, which are looked up and never run ---- */

static shoal_status push_global(struct pickle *p, struct span module, struct span name)
{
    char both[NAME_SHOWN];

    snprintf(both, sizeof both, "%.*s.%.*s", (int)(module.len < 60 ? module.len : 60), module.at,
             (int)(name.len < 58 ? name.len : 58), name.at);
    for (size_t i = 0; i < GLOBALS; i++)
        if (strcmp(both, pickle_globals[i].name) == 0)
            return push_new(p, (struct pickle_value){.kind = PICKLE_GLOBAL, .number = (int64_t)i});
    return shoal_fail(SHOAL_EFORMAT,
                      "%s: its pickle names %s, which is never run here, want tensors alone, "
                      "as torch.save(model.state_dict(), FILE) writes them",
                      p->path, both);
}

static shoal_status op_global(struct pickle *p, unsigned arg)
{
    struct span module, name;
    shoal_status st = take_line(p, &module);

    if (st == SHOAL_OK)
        st = take_line(p, &name);
    return st == SHOAL_OK ? push_global(p, module, name) : st;
}

static shoal_status op_stack_global(struct pickle *p, unsigned arg)
{
    uint32_t name, module;
    shoal_status st = need(p, 2);

    if (st != SHOAL_OK)
        return st;
    name = p->stack[--p->depth];
    module = p->stack[--p->depth];
    if (p->values[name].kind != PICKLE_TEXT || p->values[module].kind != PICKLE_TEXT)
        return fail_pickle(p, "has a name that is no text");
    return push_global(p, p->values[module].text, p->values[name].text);
}

/* What a call of an allowed name stands for. */
static shoal_status reduce(struct pickle *p, const struct pickle_global *g, uint32_t args)
{
    struct pickle_value v = p->values[args];

    switch (g->use) {
    case PICKLE_DICT_OF:
        if (v.n == 0)
            return push_kind(p, PICKLE_DICT);
        break;
    case PICKLE_TENSOR_OF:
        v.kind = PICKLE_TENSOR;
        if (v.n >= 4)
            return push_new(p, v);
        break;
    case PICKLE_FIRST_OF:
        if (v.n >= 1)
            return push(p, p->cells[v.head].value);
        break;
    case PICKLE_STORAGE_TYPE:
        break;
    }
    return shoal_fail(SHOAL_EFORMAT, "%s: its pickle has %s with %u values, which it does not take",
                      p->path, g->name, v.n);
}

static shoal_status op_reduce(struct pickle *p, unsigned arg)
{
    uint32_t args, what;
    shoal_status st = need(p, 2);

    if (st != SHOAL_OK)
        return st;
    args = p->stack[--p->depth];
    what = p->stack[--p->depth];
    if (p->values[what].kind != PICKLE_GLOBAL || p->values[args].kind != PICKLE_TUPLE)
        return fail_pickle(p, "calls what is no name");
    return reduce(p, &pickle_globals[p->values[what].number], args);
}

/* The state of a dict is its attributes: the versions of layers, of no use here. */
static shoal_status op_build(struct pickle *p, unsigned arg)
{
    shoal_status st = need(p, 2);

    if (st == SHOAL_OK)
        st = need_kind(p, p->stack[p->depth - 2], PICKLE_DICT);
    if (st == SHOAL_OK)
        p->depth--;
    return st;
}

/* Storages are the only thing that torch.save keeps outside. */
static shoal_status op_storage(struct pickle *p, unsigned arg)
{
    uint32_t id;
    shoal_status st = pop(p, &id);
    struct pickle_value v = p->values[id];
    const struct pickle_value *type;

    if (st != SHOAL_OK)
        return st;
    type = pickle_item(p, &v, 1, PICKLE_GLOBAL);
    if (v.kind != PICKLE_TUPLE || v.n < 5 || !type ||
        pickle_globals[type->number].use != PICKLE_STORAGE_TYPE)
        return fail_pickle(p, "refers to what is no storage");
    v.kind = PICKLE_STORAGE;
    return push_new(p, v);
}

/* ---- the machine ---- */

static const struct op {
    unsigned char code;
    shoal_status (*run)(struct pickle *p, unsigned arg);
    unsigned arg;
} ops[] = {
    {0x80, op_skip, 1}, /* PROTO */
    {0x95, op_skip, 8}, /* FRAME */
    {'.', op_stop, 0},
    {'(', op_mark, 0},
    {')', op_empty, PICKLE_TUPLE},
    {']', op_empty, PICKLE_LIST},
    {'}', op_empty, PICKLE_DICT},
    {0x8f, op_empty, PICKLE_LIST}, /* EMPTY_SET */
    {'t', op_marked, PICKLE_TUPLE},
    {'l', op_marked, PICKLE_LIST},
    {'d', op_marked, PICKLE_DICT},
    {0x85, op_tuple, 1},
    {0x86, op_tuple, 2},
    {0x87, op_tuple, 3},
    {'a', op_add, PICKLE_LIST},
    {'s', op_add, PICKLE_DICT},
    {'e', op_add_marked, PICKLE_LIST},
    {'u', op_add_marked, PICKLE_DICT},
    {0x90, op_add_marked, PICKLE_LIST}, /* ADDITEMS */
    {'N', op_empty, PICKLE_NONE},
    {0x88, op_bool, 1},
    {0x89, op_bool, 0},
    {'J', op_number, 4},
    {'K', op_number, 1},
    {'M', op_number, 2},
    {0x8a, op_long, 1},
    {0x8b, op_long, 4},
    {'G', op_real, 8},
    {'X', op_text, 4},
    {0x8c, op_text, 1},
    {0x8d, op_text, 8},
    {'U', op_text, 1},
    {'T', op_text, 4},
    {'C', op_text, 1},
    {'B', op_text, 4},
    {0x8e, op_text, 8}, /* BINBYTES8 */
    {'q', op_put, 1},
    {'r', op_put, 4},
    {0x94, op_memoize, 0},
    {'h', op_get, 1},
    {'j', op_get, 4},
    {'0', op_pop, 0},
    {'1', op_pop_mark, 0},
    {'2', op_dup, 0},
    {'c', op_global, 0},
    {0x93, op_stack_global, 0},
    {'R', op_reduce, 0},
    {'b', op_build, 0},
    {'Q', op_storage, 0},
};

static shoal_status step(struct pickle *p)
{
    const char *code;
    shoal_status st = take(p, 1, &code);

    if (st != SHOAL_OK)
        return st;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (ops[i].code == (unsigned char)*code)
            return ops[i].run(p, ops[i].arg);
    return shoal_fail(SHOAL_EFORMAT,
                      "%s: its pickle has the opcode 0x%02x at byte %zu, which dictionaries of "
                      "tensors do not need and which is not run here",
                      p->path, (unsigned char)*code, (size_t)(code - p->begin));
}

shoal_status pickle_read(struct pickle *p, const char *path, const char *at, size_t len,
                         uint32_t *root, size_t *used)
{
    shoal_status st = SHOAL_OK;

    *p = (struct pickle){.path = path, .begin = at, .at = at};
    p->end = at + (len < PICKLE_MAX ? len : PICKLE_MAX);
    p->nvalues = p->ncells = 1; /* 0 is none of either */
    st = mem_grow(&p->values, &p->values_cap, 1, sizeof *p->values);
    if (st == SHOAL_OK)
        p->values[0] = (struct pickle_value){.kind = PICKLE_NONE};
    while (st == SHOAL_OK && !p->stopped)
        st = step(p);
    *root = st == SHOAL_OK ? p->stack[0] : 0;
    *used = (size_t)(p->at - at);
    return st;
}

void pickle_fini(struct pickle *p)
{
    free(p->values);
    free(p->cells);
    free(p->stack);
    free(p->marks);
    free(p->memo);
    *p = (struct pickle){0};
}

/* ---- asking ---- */

const struct pickle_value *pickle_get(const struct pickle *p, uint32_t value)
{
    return &p->values[value];
}

const struct pickle_value *pickle_item(const struct pickle *p, const struct pickle_value *of,
                                       size_t i, enum pickle_kind kind)
{
    uint32_t cell = of->head;

    if (i >= of->n)
        return NULL;
    while (i-- > 0)
        cell = p->cells[cell].next;
    return p->values[p->cells[cell].value].kind == kind ? &p->values[p->cells[cell].value] : NULL;
}

static bool is_text(const struct pickle_value *v, const char *text)
{
    return v->kind == PICKLE_TEXT && v->text.len == strlen(text) &&
           memcmp(v->text.at, text, v->text.len) == 0;
}

const struct pickle_value *pickle_find(const struct pickle *p, const struct pickle_value *dict,
                                       const char *key)
{
    if (dict->kind != PICKLE_DICT)
        return NULL;
    for (uint32_t at = dict->head; at; at = p->cells[p->cells[at].next].next)
        if (is_text(&p->values[p->cells[at].value], key))
            return &p->values[p->cells[p->cells[at].next].value];
    return NULL;
}
