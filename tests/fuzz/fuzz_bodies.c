/* What strangers send: any bytes as an address, a form, a multipart body or JSON are
 * refused with a sentence or give parts that lie within them. The quick reader of
 * numbers agrees with jansson wherever it has an opinion. */
#include "fuzz.h"

#include "serve/parse.h"
#include "serve/models/registry.h"
#include "serve/routes/predict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_query(const struct query *q)
{
    for (size_t i = 0; i < q->nsegments; i++)
        require(q->segments[i][0] != '\0' || strlen(q->segments[i]) == 0);
    for (size_t i = 0; i < q->nfields; i++) {
        uint64_t n = 5;

        require(query_get(q, q->fields[i].key) != NULL);
        if (query_u64(q, q->fields[i].key, 1, 9, &n) == SHOAL_OK)
            require(n >= 1 && n <= 9);
    }
}

static void try_addresses(const char *text, const uint8_t *data, size_t size)
{
    struct query q;

    if (query_init(&q, text) == SHOAL_OK)
        check_query(&q);
    query_fini(&q);
    if (query_init_form(&q, (const char *)data, size) == SHOAL_OK)
        check_query(&q);
    query_fini(&q);
    if (model_name_fits(text) || model_file_fits(text))
        require(!strchr(text, '/') && text[0] != '.');
}

static void try_multipart(const char *body, size_t size)
{
    struct part parts[PARTS_MAX];
    size_t n;

    if (multipart_parse(parts, &n, "multipart/form-data; boundary=\"B\"", body, size) != SHOAL_OK)
        return;
    require(n > 0 && n <= PARTS_MAX);
    for (size_t i = 0; i < n; i++)
        require(parts[i].at >= body && parts[i].at + parts[i].len <= body + size);
}

static void same_row(const struct tree *row, const float *at, size_t width)
{
    require(tree_kind(row) == TREE_LIST && tree_len(row) == width);
    for (size_t i = 0; i < width; i++)
        require((float)tree_number(tree_at(row, i)) == at[i]);
}

static void try_json(const char *body, size_t size)
{
    struct figures f = {0};
    struct tree *t = NULL;
    bool read = tree_parse(&t, body, size) == SHOAL_OK;

    if (figures_scan(&f, body, size) && read) {
        const struct tree *list = f.instances ? tree_get(t, "instances") : t;

        require(f.len == f.rows * f.width);
        for (size_t i = 0; i < f.rows; i++)
            same_row(f.nested ? tree_at(list, i) : list, f.at + i * f.width, f.width);
    }
    figures_fini(&f);
    tree_free(t);
}

static void same_text(const struct tree *t, const char *text)
{
    require(!text || strcmp(tree_text(t), text) == 0);
}

/* The quick reader of what is before a binary tensor says what the tree says. */
static void try_infer(const char *body, size_t size)
{
    struct infer_head h;
    struct tree *t = NULL;
    const struct tree *input, *shape;

    if (!infer_scan(&h, body, size))
        return;
    require(tree_parse(&t, body, size) == SHOAL_OK);
    require(tree_len(tree_get(t, "inputs")) == 1);
    input = tree_at(tree_get(t, "inputs"), 0);
    shape = tree_get(input, "shape");
    same_text(tree_get(t, "id"), h.id);
    same_text(tree_get(input, "name"), h.input.name);
    same_text(tree_get(input, "datatype"), h.input.datatype);
    require(tree_len(shape) == h.input.dims && h.input.dims <= DIMS_MAX);
    for (size_t i = 0; i < h.input.dims; i++)
        require(tree_number(tree_at(shape, i)) == (double)h.input.shape[i]);
    require(tree_number(tree_get(tree_get(input, "parameters"), "binary_data_size")) ==
            (double)h.input.len);
    require(h.binary == tree_true(tree_get(tree_get(t, "parameters"), "binary_data_output")));
    require(tree_len(tree_get(t, "outputs")) == h.noutputs);
    for (size_t i = 0; i < h.noutputs; i++)
        same_text(tree_get(tree_at(tree_get(t, "outputs"), i), "name"), h.outputs[i].name);
    tree_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;

    fuzz_begin(size, 16 * MIB, 512);
    text = fuzz_text(data, size);
    try_addresses(text, data, size);
    try_multipart((const char *)data, size);
    try_json((const char *)data, size);
    try_infer((const char *)data, size);
    fuzz_end();
    return 0;
}
