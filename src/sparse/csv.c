/* Tables: each field of a record becomes the features that its column says.
 *
 *     number       `name` with its scaled value, and of a skewed column `log name` with that of its
 *                  logarithm; or, cut into bins, `name=5..6`
 *     category     `name=value`
 *     no value     of a column of numbers `name=`: the mean stands for the number itself
 *
 * What columns there are, their kinds and scales is the room columns'. */
#include "sparse/rows.h"

#include <stdio.h>
#include <stdlib.h>

/* What becomes of the field at one place of a record. */
struct field_rule {
    const struct column *column; /* NULL: the field is passed over */
    bool label, number;
    uint64_t number_hash; /* of the feature `name` */
    uint64_t seed;        /* of the features `name=value` */
    uint64_t bin_seed;    /* of the bins of numbers */
    uint64_t none;        /* of `name=` */
    uint64_t log_hash;    /* of `log name` */
};

struct click_csv {
    const struct shoal_columns *columns;
    struct shoal_columns *own; /* unless they are somebody else's */
    struct matching match;
    struct field_rule *rule; /* [match.n] */
};

/* ---- fields ---- */

static struct field_rule rule_of(const struct shoal_columns *columns, size_t k)
{
    const struct column *c = &columns->at[k];
    struct field_rule r = {.column = c, .label = k == columns->label};

    r.number = c->kind == SHOAL_COLUMN_NUMBER;
    r.number_hash = click_hash_name(click_seed(CLICK_SEED_NUMBER), c->name, c->len);
    r.seed = click_hash_name(click_seed(CLICK_SEED_CATEGORY), c->name, c->len);
    r.bin_seed = click_hash_name(click_seed(CLICK_SEED_BIN), c->name, c->len);
    r.log_hash = click_hash_name(click_seed(CLICK_SEED_LOG), c->name, c->len);
    r.none = click_hash_name(click_seed(CLICK_SEED_MISSING), c->name, c->len);
    return r;
}

/* What a field becomes: up to two features. */
struct field_feature {
    uint64_t hash;
    float value;
    size_t bin; /* 1 + its number; 0: it is none */
    enum { FIELD_NUMBER, FIELD_LOG, FIELD_VALUE, FIELD_NONE } what;
};
enum { FIELD_FEATURES = 2 };

static inline size_t number_features(const struct shoal_columns *columns,
                                     const struct field_rule *r, double x,
                                     struct field_feature *out)
{
    const struct column *c = r->column;
    size_t bin;

    if (c->edges > 0) {
        bin = 1 + column_bin(c, x);
        out[0] = (struct field_feature){click_hash_fold(r->bin_seed ^ bin), 1, bin, FIELD_NUMBER};
        return 1;
    }
    out[0] = (struct field_feature){r->number_hash, column_scaled(columns, c, x), 0, FIELD_NUMBER};
    if (!c->skewed || columns->raw)
        return out[0].value - out[0].value == 0; /* a float holds it */
    out[1] = (struct field_feature){r->log_hash, column_scaled_log(c, x), 0, FIELD_LOG};
    return 2;
}

/* Bytes behind the field are read, never used. */
static inline size_t field_features(const struct shoal_columns *columns,
                                    const struct field_rule *r, struct span f,
                                    struct field_feature *out)
{
    double x;
    size_t n;

    if (r->number && column_number(r->column, f, &x) &&
        (n = number_features(columns, r, x, out)) > 0)
        return n;
    if (column_is_missing(columns, f)) {
        out[0] = (struct field_feature){r->none, 1, 0, FIELD_NONE};
        return r->number && !columns->raw;
    }
    out[0] = (struct field_feature){click_hash(r->seed, f.at, f.len), 1, 0, FIELD_VALUE};
    return 1;
}

/* ---- rows ---- */

static struct click_name name_of(const struct field_rule *r, struct span f,
                                 const struct field_feature *e)
{
    const struct column *c = r->column;
    struct click_name name = {.space = c->name, .space_len = (uint32_t)c->len, .join = '='};

    if (e->bin > 0) {
        name.bin = true;
        name.low = e->bin > 1 ? &c->edge[e->bin - 2] : NULL;
        name.high = e->bin <= c->edges ? &c->edge[e->bin - 1] : NULL;
    } else if (e->what == FIELD_NUMBER) {
        name = (struct click_name){.at = c->name, .len = (uint32_t)c->len};
    } else if (e->what == FIELD_LOG) {
        name = (struct click_name){.space = "log", .space_len = 3, .join = ' ', .at = c->name,
                                   .len = (uint32_t)c->len};
    } else {
        name.at = e->what == FIELD_NONE ? "" : f.at;
        name.len = e->what == FIELD_NONE ? 0 : f.len;
    }
    return name;
}

static void take_field(const struct click_format *w, struct click_batch *b,
                       const struct field_rule *r, struct span f)
{
    struct field_feature e[FIELD_FEATURES];
    size_t n = field_features(w->csv->columns, r, f, e);

    for (size_t i = 0; i < n; i++) {
        if (b->names)
            *click_name_next(b) = name_of(r, f, &e[i]);
        click_feature_push(w, b, e[i].hash, e[i].value);
    }
}

static bool take_label(const struct click_format *w, struct click_batch *b,
                       const struct field_rule *r, struct span f)
{
    if (!column_is_unlabelled(w->csv->columns, f))
        return click_label(w, b, f.at, f.len);
    return w->unlabelled ||
           click_line_bad(b, "found no label in column \"%.40s\", want one; --skip-bad leaves such "
                          "rows out", r->column->name);
}

bool click_csv_row(const struct click_format *w, struct click_batch *b, const char *at,
                   const char *end)
{
    const struct click_csv *csv = w->csv;
    size_t n = csv->match.n;
    struct span f;

    b->unquoted.len = 0;
    for (size_t i = 0; i < n; i++) {
        const struct field_rule *r = &csv->rule[i];

        if (at > end)
            return click_line_bad(b, "found %zu columns, want %zu", i, n);
        at = field_next(&csv->match.dialect, &b->unquoted, at, end, &f);
        if (!at)
            return click_line_bad(b, "column %zu has a quote at a wrong place", i + 1);
        if (r->label && !take_label(w, b, r, f))
            return false;
        if (r->column && !r->label)
            take_field(w, b, r, f);
        at++;
    }
    return at > end || click_line_bad(b, "found more than %zu columns, want that many", n);
}

/* Whether a field may stand without quotes. */
static bool is_plain(const struct dialect *d, struct span f)
{
    for (uint32_t i = 0; i < f.len; i++)
        if (f.at[i] == d->delimiter || f.at[i] == '"' || f.at[i] == '\n' || f.at[i] == '\r')
            return false;
    return true;
}

static bool put_field(const struct dialect *d, struct span f, struct bytes *out)
{
    bool plain = is_plain(d, f);
    shoal_status st = plain ? bytes_add(out, f.at, f.len) : bytes_add(out, "\"", 1);

    if (plain || !d->quotes)
        return plain && st == SHOAL_OK;
    for (uint32_t i = 0; i < f.len && st == SHOAL_OK; i++)
        st = bytes_add(out, f.at[i] == '"' ? "\"\"" : f.at + i, f.at[i] == '"' ? 2 : 1);
    return st == SHOAL_OK && bytes_add(out, "\"", 1) == SHOAL_OK;
}

/* The fields of a record by the columns [columns->n], of length 0 where it has none. */
static bool find_fields(const struct click_csv *csv, struct bytes *room, const char *at,
                        const char *end, struct span *out)
{
    room->len = 0;
    for (size_t i = 0; i < csv->match.n && at <= end; i++) {
        struct span f;

        at = field_next(&csv->match.dialect, room, at, end, &f);
        if (!at)
            return false;
        if (csv->match.column[i] != MATCH_NONE)
            out[csv->match.column[i]] = f;
        at++;
    }
    return true;
}

bool click_csv_rewrite(const struct click_format *w, struct bytes *room, const char *at,
                       const char *end, struct bytes *out)
{
    const struct shoal_columns *columns = w->csv->columns;
    const struct dialect *d = &columns->dialect;
    struct span *field = mem_array(columns->n, sizeof *field);
    bool good = field && find_fields(w->csv, room, at, end, field);

    for (size_t k = 0; k < columns->n && good; k++) {
        enum shoal_column_kind kind = columns->at[k].kind;

        good = k == 0 || bytes_add(out, &d->delimiter, 1) == SHOAL_OK;
        if (kind != SHOAL_COLUMN_ID && kind != SHOAL_COLUMN_IGNORED && field[k].len > 0)
            good = good && put_field(d, field[k], out);
    }
    free(field);
    return good;
}

/* ---- rows that are fields already ---- */

size_t click_fields_features(const struct shoal_columns *columns, unsigned bits,
                             const struct span *field, uint32_t *slot, float *value)
{
    size_t n = 0;

    for (size_t k = 0; k < columns->n; k++) {
        struct field_rule r = rule_of(columns, k);
        char text[COLUMN_TEXT + FIELD_PAD] = "";
        struct span f = {text, field[k].len < COLUMN_TEXT ? field[k].len : COLUMN_TEXT};
        struct field_feature e[FIELD_FEATURES];
        size_t some;

        if (r.label || (!r.number && columns->at[k].kind != SHOAL_COLUMN_CATEGORY))
            continue;
        if (f.len > 0)
            memcpy(text, field[k].at, f.len);
        some = field_features(columns, &r, f, e);
        for (size_t i = 0; i < some; i++) {
            slot[n] = (uint32_t)(e[i].hash >> (64 - bits));
            value[n] = e[i].value;
            n += e[i].value > 0 || e[i].value < 0;
        }
    }
    return n;
}

/* ---- opening ---- */

static shoal_status make_rules(struct click_csv *csv)
{
    csv->rule = mem_array(csv->match.n, sizeof *csv->rule);
    if (!csv->rule)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < csv->match.n; i++)
        if (csv->match.column[i] != MATCH_NONE)
            csv->rule[i] = rule_of(csv->columns, csv->match.column[i]);
    return SHOAL_OK;
}

/* That rows are bad, or none, is said when they are read. */
static shoal_status check_columns(const struct shoal_columns *c, const char *path)
{
    bool used = c->rows == 0;

    for (size_t i = 0; i < c->n; i++)
        used |= c->at[i].kind == SHOAL_COLUMN_NUMBER || c->at[i].kind == SHOAL_COLUMN_CATEGORY;
    return used ? SHOAL_OK
                : shoal_fail(SHOAL_EFORMAT, "%s: found no column to learn from beside the label",
                             path);
}

static shoal_status learn_columns(struct click_csv *csv, const struct click_format *w,
                                  const struct shoal_clicks_opts *opts,
                                  const struct click_head *head)
{
    struct columns_ask ask = {.opts = &opts->table, .label = LABEL_FIRST,
                              .classes = w->classes ? SHOAL_CLICKS_CLASSES : 2,
                              .unlabelled = w->unlabelled, .bins = opts->bins, .path = head->path};
    shoal_status st =
        columns_learn(&csv->own, &ask, head->inputs, head->at, head->len, head->whole);

    csv->columns = csv->own;
    return st == SHOAL_OK ? check_columns(csv->own, head->path) : st;
}

shoal_status click_csv_init(struct click_format *w, const struct shoal_clicks_opts *opts,
                            const struct click_head *head)
{
    struct click_csv *csv = w->csv = mem_array(1, sizeof *csv);
    struct match_ask ask = {.path = head->path, .head = head->at, .len = head->len,
                            .whole = head->whole, .header = opts->table.header,
                            .label = opts->columns ? opts->table.label : NULL,
                            .unlabelled = w->unlabelled};
    shoal_status st = SHOAL_OK;

    if (!csv)
        return SHOAL_ENOMEM;
    csv->columns = opts->columns;
    if (!csv->columns) {
        st = learn_columns(csv, w, opts, head);
        if (st == SHOAL_OK)
            ask.header = csv->columns->dialect.header ? SHOAL_HEADER_YES : SHOAL_HEADER_NO;
    }
    if (st == SHOAL_OK)
        st = columns_match(&csv->match, csv->columns, &ask);
    return st == SHOAL_OK ? make_rules(csv) : st;
}

void click_csv_fini(struct click_format *w)
{
    struct click_csv *csv = w->csv;

    if (!csv)
        return;
    free(csv->rule);
    matching_fini(&csv->match);
    columns_free(csv->own);
    free(csv);
    w->csv = NULL;
}

const struct dialect *click_csv_dialect(const struct click_format *w)
{
    return &w->csv->match.dialect;
}

const struct shoal_columns *click_csv_columns(const struct click_format *w)
{
    return w->csv ? w->csv->columns : NULL;
}

struct span click_csv_header(const struct click_format *w)
{
    const struct bytes *header = &w->csv->match.header;

    return (struct span){header->at, (uint32_t)header->len};
}
