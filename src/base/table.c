#include "base/base.h"

#include <string.h>

size_t table_bytes(size_t rows, size_t width)
{
    return rows * table_stride(width) * sizeof(float);
}

static shoal_status map_rows(struct table *t)
{
    size_t bytes;

    if (__builtin_mul_overflow(t->rows, t->stride * sizeof(float), &bytes))
        return shoal_fail(SHOAL_ENOMEM, "memory: no room for %zu rows of %zu floats", t->rows,
                          t->width);
    t->at = mem_map(bytes);
    return t->at ? SHOAL_OK : SHOAL_ENOMEM;
}

shoal_status table_init(struct table *t, const char *name, size_t rows, size_t width)
{
    *t = (struct table){.name = name, .rows = rows, .width = width, .stride = table_stride(width)};
    return map_rows(t);
}

shoal_status table_init_packed(struct table *t, const char *name, size_t rows, size_t width)
{
    *t = (struct table){.name = name, .rows = rows, .width = width, .stride = width, .adds = true};
    return map_rows(t);
}

shoal_status table_init_like(struct table *t, const struct table *like, size_t rows)
{
    *t = *like;
    t->rows = rows;
    return map_rows(t);
}

void table_fini(struct table *t)
{
    mem_unmap(t->at, table_size(t));
    t->at = NULL;
}

float *view_touch(struct view *v, uint32_t row)
{
    const struct table *t = v->table;
    float *copy = v->mine + v->used * t->stride;

    memcpy(copy, t->at + row * t->stride, t->stride * sizeof *copy);
    v->slot[row] = ++v->used;
    v->touched[row / 64] |= 1ull << (row % 64);
    return copy;
}
