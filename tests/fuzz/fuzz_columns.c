/* Columns of a table: any bytes are refused with a sentence, or make columns that can be asked, come
 * back as they were kept, and are found in another table, or not. Of the first byte the lowest bit
 * says whether the rest is a table's text, or what a model keeps of it; the others are options. The
 * other table stands behind a line `##`. */
#include "fuzz.h"

#include "columns/columns.h"
#include "samples/samples.h"
#include "sparse/rows.h"

#include <math.h>

enum { INPUTS_MOST = 1 << 20, FEATURES = 2 };

/* ---- kept ---- */

static struct bytes written(const struct shoal_columns *c)
{
    struct bytes b = {0};

    require(columns_write(c, &b) == SHOAL_OK && b.len > 0);
    return b;
}

/* What is written is read, and written again the same. */
static void check_kept(const struct shoal_columns *c)
{
    struct bytes once = written(c), again;
    struct shoal_columns *back = NULL;

    require(columns_read(&back, "back", once.at, once.len) == SHOAL_OK);
    again = written(back);
    require(again.len == once.len && memcmp(again.at, once.at, once.len) == 0);
    require(back->n == c->n && back->label == c->label && back->rows == c->rows);
    columns_free(back);
    bytes_fini(&once);
    bytes_fini(&again);
}

/* ---- asked ---- */

static void ask_column(const struct shoal_columns *c, size_t i, struct span f, bool learned)
{
    const struct column *col = &c->at[i];
    size_t k = column_value_of(col, f);
    double x;

    require(k == SIZE_MAX || k < col->values);
    require(!(f.len == 0) || column_is_missing(c, f));
    if (!column_number(col, f, &x))
        return;
    require(isfinite(x) && column_bin(col, x) <= col->edges);
    if (!learned) /* a stranger's scales may be anything */
        return;
    require(c->raw || isfinite(column_scaled(c, col, x)));
    require(!col->skewed || isfinite(column_scaled_log(col, x)));
}

static void ask_values(const struct shoal_columns *c, size_t i)
{
    struct shoal_column_facts f = shoal_columns_facts(c, i);

    require(f.name && f.kind <= SHOAL_COLUMN_IGNORED && f.values <= COLUMN_VALUES);
    for (size_t k = 0; k < f.values; k++) {
        const char *text = shoal_columns_value(c, i, k, NULL);
        size_t found = column_value_of(&c->at[i], (struct span){text, (uint32_t)strlen(text)});

        require(found < f.values && strcmp(c->at[i].value[found].text, text) == 0);
    }
    require(columns_find(c, f.name, strlen(f.name)) < c->n);
}

/* The fields of a record as rows of both kinds. */
static void ask_row(const struct shoal_columns *c, const struct span *field, bool learned)
{
    size_t inputs = table_inputs(c);
    float *x = inputs <= INPUTS_MOST ? calloc(inputs + 1, sizeof *x) : NULL;
    float *value = malloc((FEATURES * c->n + 1) * sizeof *value);
    uint32_t *slot = malloc((FEATURES * c->n + 1) * sizeof *slot);

    require(value && slot);
    require(click_fields_features(c, 10, field, slot, value) <= FEATURES * c->n);
    if (x)
        table_row(c, field, x);
    for (size_t i = 0; x && learned && i < inputs; i++)
        require(isfinite(x[i]));
    free(x);
    free(slot);
    free(value);
}

/* ---- another table ---- */

static void check_match(const struct shoal_columns *c, const struct matching *m)
{
    require(m->n > 0);
    for (size_t i = 0; i < m->n; i++)
        require(m->column[i] == MATCH_NONE || m->column[i] < c->n);
}

/* Its records, as far as they are in order. */
static void read_rows(const struct shoal_columns *c, const struct matching *m, const char *at,
                      const char *end, bool learned)
{
    struct span *field = calloc(c->n, sizeof *field);
    struct bytes room = {0};

    require(field && bytes_reserve(&room, (size_t)(end - at) + FIELD_PAD) == SHOAL_OK);
    for (unsigned rows = 0; at < end && rows < 8; rows++) {
        bool inside = false;
        const char *line = record_end(&m->dialect, at, end, &inside);
        const char *stop = record_text_end(at, line), *next = at;

        memset(field, 0, c->n * sizeof *field);
        room.len = 0;
        for (size_t i = 0; i < m->n && next && next <= stop; i++, next = next ? next + 1 : NULL) {
            struct span f;

            next = field_next(&m->dialect, &room, next, stop, &f);
            if (next && m->column[i] != MATCH_NONE) {
                field[m->column[i]] = f;
                ask_column(c, m->column[i], f, learned);
            }
        }
        ask_row(c, field, learned);
        at = line + 1;
    }
    bytes_fini(&room);
    free(field);
}

static void match_text(const struct shoal_columns *c, const char *text, size_t len, uint8_t how,
                       bool learned)
{
    struct match_ask ask = {.path = "other", .head = text, .len = len, .whole = true,
                            .header = how / 64 % 3, .label = how & 32 ? "label" : NULL,
                            .unlabelled = how & 16};
    struct matching m;

    if (columns_match(&m, c, &ask) == SHOAL_OK) {
        check_match(c, &m);
        read_rows(c, &m, text, text + len, learned);
    } else {
        require(strncmp(shoal_error(), "other:", 6) == 0 && m.column == NULL);
    }
    matching_fini(&m);
}

/* ---- all of it ---- */

static shoal_status learn(struct shoal_columns **out, const char *text, size_t len, uint8_t how)
{
    struct shoal_table_opts opts = {.header = how / 64 % 3, .raw = how & 8,
                                    .category = how & 128 ? "1" : NULL,
                                    .ignore = how & 32 ? "2" : NULL,
                                    .missing = how & 16 ? "0,x" : NULL};
    struct columns_ask ask = {.opts = &opts, .label = how & 2 ? LABEL_FIRST : LABEL_LAST,
                              .classes = how & 4 ? 2 : how & 8 ? 0 : 99, .unlabelled = how & 16,
                              .bins = how & 32 ? 4 : 0, .path = "fuzz"};

    return columns_learn(out, &ask, NULL, text, len, true);
}

/* With room behind it that may be read, and is not used; for free(). */
static char *padded(const struct fuzz_piece *p)
{
    char *text = malloc(p->size + FIELD_PAD);

    require(text);
    memcpy(text, p->at, p->size);
    memset(text + p->size, '1', FIELD_PAD);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct shoal_columns *c = NULL;
    struct fuzz_piece first, other;
    struct fuzz_cut cut;
    char *text, *more = NULL;
    bool learned;
    shoal_status st;

    if (size == 0)
        return 0;
    fuzz_begin(size, 192 * MIB, 512);
    learned = data[0] & 1;
    cut = fuzz_cut("##", data + 1, size - 1);
    fuzz_next(&cut, &first);
    text = padded(&first);
    if (fuzz_next(&cut, &other))
        more = padded(&other);
    st = learned ? learn(&c, text, first.size, data[0])
                 : columns_read(&c, "fuzz", text, first.size);
    if (st == SHOAL_OK) {
        require(c->n > 0 && (c->label == SIZE_MAX || c->label < c->n));
        for (size_t i = 0; i < c->n; i++)
            ask_values(c, i);
        check_kept(c);
        match_text(c, more ? more : text, more ? other.size : first.size, data[0], learned);
    } else {
        require(c == NULL && strncmp(shoal_error(), "fuzz", 4) == 0);
    }
    columns_free(c);
    free(text);
    free(more);
    fuzz_end();
    return 0;
}
