#include "base/base.h"

#include <string.h>

size_t table_bytes(size_t rows, size_t width)
{
    return rows * table_stride(width) * sizeof(float);
}

shoal_status table_init(struct table *t, const char *name, size_t rows, size_t width)
{
    size_t row = table_stride(width) * sizeof(float), bytes;

    *t = (struct table){.name = name, .rows = rows, .width = width, .stride = table_stride(width)};
    if (__builtin_mul_overflow(rows, row, &bytes))
        return shoal_fail(SHOAL_ENOMEM, "memory: no room for %zu rows of %zu floats", rows, width);
    t->at = mem_map(bytes);
    return t->at ? SHOAL_OK : SHOAL_ENOMEM;
}

void table_fini(struct table *t)
{
    mem_unmap(t->at, table_bytes(t->rows, t->width));
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
