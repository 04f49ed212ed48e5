/* What a run learned: exhibits, as a line of its metrics and back. */
#include "train/train.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const shape_names[EXHIBIT_SHAPES] = {"figures", "table",  "answers", "curves",
                                                        "matrix",  "map",    "pictures", "points"};
static const char *const as_names[COLUMN_KINDS] = {"word", "count", "share", "bar",
                                              "real", "signed", "file"};

void learned_fini(struct learned *l)
{
    for (size_t i = 0; i <= LEARNED_EXHIBITS; i++) {
        free(l->at[i].cells);
        bytes_fini(&l->at[i].texts);
    }
    *l = (struct learned){0};
}

size_t learned_pick(size_t i, size_t n, size_t all)
{
    return (size_t)((unsigned __int128)i * all / n);
}

/* ---- filling ---- */

struct exhibit *learned_exhibit(struct learned *l, enum exhibit_shape shape, const char *name,
                                const char *title)
{
    struct exhibit *e = &l->at[l->n < LEARNED_EXHIBITS ? l->n++ : LEARNED_EXHIBITS];

    e->shape = shape;
    e->nrows = e->ncolumns = 0;
    snprintf(e->name, sizeof e->name, "%s", name);
    snprintf(e->title, sizeof e->title, "%s", title);
    return e;
}

void exhibit_note(struct exhibit *e, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    number_vprint(e->note, sizeof e->note, fmt, args);
    va_end(args);
}

void exhibit_column(struct exhibit *e, const char *head, enum column_as as)
{
    if (e->ncolumns == LEARNED_COLUMNS)
        return;
    snprintf(e->columns[e->ncolumns].head, sizeof e->columns[0].head, "%s", head);
    e->columns[e->ncolumns++].as = as;
}

void exhibit_row(struct learned *l, struct exhibit *e)
{
    size_t from = e->nrows * e->ncolumns;

    e->filled = e->ncolumns;
    if (e->nrows == LEARNED_ROWS || l->status != SHOAL_OK)
        return;
    l->status = mem_grow((void **)&e->cells, &e->cap, from + e->ncolumns, sizeof *e->cells);
    if (l->status != SHOAL_OK)
        return;
    for (size_t k = 0; k < e->ncolumns; k++)
        e->cells[from + k] = (struct exhibit_cell){(double)NAN, 0};
    e->nrows++;
    e->filled = 0;
}

/* NULL: there is none. */
static struct exhibit_cell *next_cell(struct exhibit *e)
{
    if (e->filled >= e->ncolumns)
        return NULL;
    return &e->cells[(e->nrows - 1) * e->ncolumns + e->filled++];
}

void exhibit_number(struct exhibit *e, double x)
{
    struct exhibit_cell *cell = next_cell(e);

    if (cell)
        cell->x = x;
}

static void keep_text(struct learned *l, struct exhibit *e, const char *text, size_t len)
{
    struct exhibit_cell *cell = next_cell(e);

    if (!cell || l->status != SHOAL_OK || l->bytes + len > LEARNED_LINE)
        return;
    l->bytes += len + 16; /* and what stands around it in a line */
    if (e->texts.len == 0)
        l->status = bytes_add(&e->texts, "", 1); /* that of cells without any */
    cell->text = e->texts.len;
    if (l->status == SHOAL_OK)
        l->status = bytes_add(&e->texts, text, len);
    if (l->status == SHOAL_OK)
        l->status = bytes_add(&e->texts, "", 1);
}

void exhibit_word(struct learned *l, struct exhibit *e, const char *word)
{
    char out[LEARNED_WORD + 8];
    size_t len = strlen(word), n = 0;

    for (size_t i = 0, step; i < len && n < LEARNED_WORD - 4; i += step) {
        bool good;

        step = character_len(word + i, len - i, &good);
        if (step == 0 || !good || (unsigned char)word[i] < ' ' || word[i] == 0x7f) {
            out[n++] = '?';
            step = step ? step : 1;
        } else {
            memcpy(out + n, word + i, step);
            n += step;
        }
    }
    keep_text(l, e, out, n);
}

void exhibit_file(struct learned *l, struct exhibit *e, const void *bytes, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = bytes;
    char out[LEARNED_FILE];
    size_t n = 0;

    for (size_t i = 0; i < len && n + 4 <= sizeof out; i += 3) {
        uint32_t three = (uint32_t)at[i] << 16 | (uint32_t)(i + 1 < len ? at[i + 1] : 0) << 8 |
                         (uint32_t)(i + 2 < len ? at[i + 2] : 0);

        for (unsigned k = 0; k < 4; k++)
            out[n++] = i + k <= len ? digits[three >> (18 - 6 * k) & 63] : '=';
    }
    keep_text(l, e, out, len / 3 * 4 + 4 <= sizeof out ? n : 0);
}

const char *exhibit_text(const struct exhibit *e, size_t row, size_t column)
{
    size_t at = e->cells[row * e->ncolumns + column].text;

    return at < e->texts.len ? e->texts.at + at : "";
}

double exhibit_real(const struct exhibit *e, size_t row, size_t column)
{
    return e->cells[row * e->ncolumns + column].x;
}

/* ---- as JSON ---- */

static bool is_text(enum column_as as)
{
    return as == COLUMN_WORD || as == COLUMN_FILE;
}

/* Four digits of what is drawn; counts are whole. */
static json_t *cell_json(const struct exhibit *e, size_t row, size_t column)
{
    double x = exhibit_real(e, row, column);
    struct short_real {
        char text[40];
    } said;

    if (is_text(e->columns[column].as))
        return json_string(exhibit_text(e, row, column));
    if (!isfinite(x))
        return json_null();
    if (e->columns[column].as == COLUMN_COUNT)
        return json_integer((json_int_t)x);
    number_print(said.text, sizeof said.text, "%.5g", x);
    return json_loads(said.text, JSON_DECODE_ANY, NULL);
}

static json_t *row_json(const struct exhibit *e, size_t row)
{
    json_t *list = json_array();

    for (size_t k = 0; k < e->ncolumns && list; k++)
        if (json_array_append_new(list, cell_json(e, row, k)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *exhibit_json(const struct exhibit *e)
{
    json_t *columns = json_array(), *rows = json_array();
    bool good = columns && rows;

    for (size_t k = 0; k < e->ncolumns && good; k++)
        good = json_array_append_new(columns, json_pack("[ss]", e->columns[k].head,
                                                        as_names[e->columns[k].as])) == 0;
    for (size_t i = 0; i < e->nrows && good; i++)
        good = json_array_append_new(rows, row_json(e, i)) == 0;
    if (good)
        return json_pack("{ss ss ss ss so so}", "name", e->name, "shape", shape_names[e->shape],
                         "title", e->title, "note", e->note, "columns", columns, "rows", rows);
    json_decref(columns);
    json_decref(rows);
    return NULL;
}

json_t *learned_json(const struct learned *l)
{
    json_t *list = json_array();

    for (size_t i = 0; i < l->n && list; i++)
        if (l->at[i].nrows > 0 && json_array_append_new(list, exhibit_json(&l->at[i])) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list ? json_pack("{ss sb sI sI so}", "event", "learned", "held_out", (int)l->held,
                            "examples", (json_int_t)l->examples, "of", (json_int_t)l->all,
                            "exhibits", list)
                : NULL;
}

/* ---- and back ---- */

static size_t name_number(const char *const *names, size_t n, const json_t *name)
{
    const char *text = json_string_value(name);
    size_t i = 0;

    while (i < n && !(text && strcmp(names[i], text) == 0))
        i++;
    return i;
}

/* What a shape asks of its columns: a letter each, w word, f file, n number, and * any more. */
static const char *const shape_columns[EXHIBIT_SHAPES] = {"n*", "w*",   "w.wn", "wnnn",
                                                          "wwn", "wnnn", "fwwn", "wnnn"};

static bool fits_shape(const struct exhibit *e)
{
    const char *want = shape_columns[e->shape];
    size_t k = 0;

    for (; want[k] && want[k] != '*'; k++) {
        enum column_as as = k < e->ncolumns ? e->columns[k].as : COLUMN_KINDS;
        char is = as == COLUMN_WORD ? 'w' : as == COLUMN_FILE ? 'f' : 'n';

        if (as == COLUMN_KINDS || (want[k] != '.' && want[k] != is) || (want[k] == '.' && is == 'f'))
            return false;
    }
    return want[k] == '*' || k == e->ncolumns;
}

static bool take_columns(struct exhibit *e, const json_t *list)
{
    size_t n = json_array_size(list);

    for (size_t k = 0; k < n; k++) {
        const json_t *column = json_array_get(list, k);
        const char *head = json_string_value(json_array_get(column, 0));
        size_t as = name_number(as_names, COLUMN_KINDS, json_array_get(column, 1));

        if (!head || as == COLUMN_KINDS || (as == COLUMN_FILE && e->shape != EXHIBIT_PICTURES))
            return false;
        exhibit_column(e, head, (enum column_as)as);
    }
    return n > 0 && n <= LEARNED_COLUMNS && fits_shape(e);
}

static bool is_base64(const char *text)
{
    size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");

    return n > 0 && n < LEARNED_FILE && strspn(text + n, "=") == strlen(text + n) &&
           strlen(text + n) < 3;
}

static bool take_cell(struct learned *l, struct exhibit *e, size_t column, const json_t *cell)
{
    const char *text = json_string_value(cell);

    if (!is_text(e->columns[column].as)) {
        double x = json_is_number(cell) ? json_number_value(cell) : (double)NAN;

        exhibit_number(e, fabs(x) < 1e15 ? x : (double)NAN);
        return json_is_number(cell) || json_is_null(cell);
    }
    if (!text || (e->columns[column].as == COLUMN_FILE && !is_base64(text)))
        return false;
    if (e->columns[column].as == COLUMN_FILE)
        keep_text(l, e, text, strlen(text));
    else
        exhibit_word(l, e, text);
    return true;
}

static bool take_row(struct learned *l, struct exhibit *e, const json_t *row)
{
    bool right = json_array_size(row) == e->ncolumns;

    exhibit_row(l, e);
    for (size_t k = 0; k < e->ncolumns && right && l->status == SHOAL_OK; k++)
        right = take_cell(l, e, k, json_array_get(row, k));
    return right;
}

static const char *take_exhibit(struct learned *l, const json_t *from)
{
    const char *name = json_string_value(json_object_get(from, "name"));
    const char *title = json_string_value(json_object_get(from, "title"));
    const char *note = json_string_value(json_object_get(from, "note"));
    size_t shape = name_number(shape_names, EXHIBIT_SHAPES, json_object_get(from, "shape"));
    const json_t *rows = json_object_get(from, "rows");
    struct exhibit *e;

    if (shape == EXHIBIT_SHAPES)
        return NULL; /* shapes to come */
    if (!name || !title || strspn(name, "abcdefghijklmnopqrstuvwxyz-") != strlen(name))
        return "a learned record whose exhibit has no name or title";
    e = learned_exhibit(l, (enum exhibit_shape)shape, name, title);
    snprintf(e->note, sizeof e->note, "%s", note ? note : "");
    if (!take_columns(e, json_object_get(from, "columns")))
        return "a learned record whose columns are not those of its shape";
    if (!json_is_array(rows) || json_array_size(rows) > LEARNED_ROWS)
        return "a learned record with too many rows, or none";
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (!take_row(l, e, json_array_get(rows, i)))
            return "a learned record with a cell that is not what its column says";
    return NULL;
}

static uint64_t count_at(const json_t *line, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(line, key));

    return n > 0 ? (uint64_t)n : 0;
}

const char *learned_take(struct learned *l, const json_t *line)
{
    const json_t *list = json_object_get(line, "exhibits");
    const char *wrong = NULL;

    if (!json_is_array(list) || json_array_size(list) > LEARNED_EXHIBITS)
        return "a learned record without exhibits, or with too many";
    l->held = json_is_true(json_object_get(line, "held_out"));
    l->examples = count_at(line, "examples");
    l->all = count_at(line, "of");
    for (size_t i = 0; i < json_array_size(list) && !wrong; i++)
        wrong = take_exhibit(l, json_array_get(list, i));
    return wrong;
}
