/* The tables of a study: for a terminal, for programs, for the page.
 *
 * There are two, what cells came to and what they used, each with columns of its own behind those
 * that say which cell it is. Strong and weak scaling are apart, since their times and speedups do
 * not compare; in either, cells that are one run have one row. */
#include "study/draw/draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns for people ---- */

struct column {
    const char *head;                                              /* "%s" stands for the unit */
    bool word;                                                     /* to the left */
    struct short_number (*show)(const struct shoal_study_cell *c); /* NULL: a number, */
    struct short_number (*number)(double x);
    size_t of, per; /* which of the cell, and by which it is divided; 0: by none */
};

static struct short_number show_spread(const struct shoal_study_cell *c)
{
    return number_share(c->done > 1 ? c->spread : (double)NAN);
}

static struct short_number show_workers(const struct shoal_study_cell *c)
{
    return number_as("%u", c->workers);
}

static struct short_number show_servers(const struct shoal_study_cell *c)
{
    return number_as("%u", c->servers);
}

static struct short_number show_sync(const struct shoal_study_cell *c)
{
    return number_as("%s", c->sync ? c->sync : "-");
}

/* How near it came, too. */
static struct short_number show_target(const struct shoal_study_cell *c)
{
    if (!isinf(c->best.target))
        return number_time(c->best.target);
    return isnan(c->best.reached)
               ? number_as("never: not measured")
               : number_as("never: %s at best", number_plain(c->best.reached).text);
}

static struct short_number show_batch(const struct shoal_study_cell *c)
{
    return number_as(c->batch > 0 ? "%llu" : "-", (unsigned long long)c->batch);
}

static struct short_number show_limit(const struct shoal_study_cell *c)
{
    if (strcmp(c->best.limit, "short") == 0)
        return number_as("too short");
    return number_as("%s", *c->best.limit ? c->best.limit : "-");
}

/* What says which cell it is. */
static const struct column keys[] = {
    {"workers", .show = show_workers},
    {"servers", .show = show_servers},
    {"sync", .word = true, .show = show_sync},
    {"batch", .show = show_batch},
};

enum { KEYS = sizeof keys / sizeof *keys };

static const struct column results[] = {
    {"time", .number = number_time, .of = CELL(best.seconds)},
    {"spread", .show = show_spread},
    {"%s/s", .number = number_short, .of = CELL(best.rate)},
    {"updates/s", .number = number_short, .of = CELL(best.updates), .per = CELL(best.seconds)},
    {"each step", .number = number_time, .of = CELL(best.seconds), .per = CELL(best.steps)},
    {"speedup", .number = number_plain, .of = CELL(speedup)},
    {"efficiency", .number = number_share, .of = CELL(efficiency)},
    {"loss", .number = number_plain, .of = CELL(best.loss)},
    {"held out", .number = number_plain, .of = CELL(best.held)},
    {"accuracy", .number = number_plain, .of = CELL(best.accuracy)},
    {"held-out accuracy", .number = number_plain, .of = CELL(best.held_accuracy)},
    {"%q", .number = number_plain, .of = CELL(best.quality)},
    {"to target", .show = show_target},
    {"sent/s", .number = number_bytes, .of = CELL(best.bytes), .per = CELL(best.seconds)},
    {"sent each", .number = number_bytes, .of = CELL(best.bytes), .per = CELL(best.units)},
    {"stale", .number = number_plain, .of = CELL(best.stale)},
    {"cpu", .number = number_share, .of = CELL(best.cpu)},
    {"compute", .number = number_share, .of = CELL(best.computing)},
    {"exchange", .number = number_share, .of = CELL(best.communicating)},
    {"wait", .number = number_share, .of = CELL(best.waiting)},
    {"memory", .number = number_bytes, .of = CELL(best.memory)},
    {"gradient", .number = number_plain, .of = CELL(best.gradient)},
    {"limit", .word = true, .show = show_limit},
};

/* Network: between ranks, on one host too. An update is a step of the optimizer or a batch. */
static const struct column resources[] = {
    {"cpu", .number = number_share, .of = CELL(best.cpu)},
    {"network read", .number = number_bytes, .of = CELL(best.received)},
    {"network written", .number = number_bytes, .of = CELL(best.bytes)},
    {"disk read", .number = number_bytes, .of = CELL(best.read)},
    {"disk written", .number = number_bytes, .of = CELL(best.written)},
    {"time/update", .number = number_time, .of = CELL(best.seconds), .per = CELL(best.updates)},
    {"network read/update", .number = number_bytes, .of = CELL(best.received),
     .per = CELL(best.updates)},
    {"network written/update", .number = number_bytes, .of = CELL(best.bytes),
     .per = CELL(best.updates)},
    {"disk read/update", .number = number_bytes, .of = CELL(best.read), .per = CELL(best.updates)},
    {"disk written/update", .number = number_bytes, .of = CELL(best.written),
     .per = CELL(best.updates)},
    {"limit", .word = true, .show = show_limit},
};

struct study_table {
    const struct column *at; /* [n] */
    size_t n;
};

static const struct study_table result_table = {results, sizeof results / sizeof *results};
static const struct study_table resource_table = {resources, sizeof resources / sizeof *resources};

/* Its columns, and before them the keys. */
static size_t column_count(const struct study_table *table)
{
    return KEYS + table->n;
}

static const struct column *column_of(const struct study_table *table, size_t k)
{
    return k < KEYS ? &keys[k] : &table->at[k - KEYS];
}

static struct short_number show(const struct column *column, const struct shoal_study_cell *c)
{
    return column->show ? column->show(c)
                        : column->number(study_cell_number(c, column->of, column->per));
}

/* Where no cell came to anything, of nothing. */
static const struct shoal_measures *example_of(const shoal_study *s)
{
    static const struct shoal_measures nothing = {.unit = "units", .quality_name = "quality"};

    return study_example(s) ? study_example(s) : &nothing;
}

static struct short_number head_of(const struct column *column, const struct shoal_measures *m)
{
    if (strcmp(column->head, "%s/s") == 0)
        return number_as("%.15s/s", m->unit);
    if (strcmp(column->head, "%q") == 0)
        return number_as("%s", *m->quality_name ? m->quality_name : "quality");
    return number_as("%s", column->head);
}

/* Shown whatever the cells came to. */
static bool column_always(const shoal_study *s, const struct column *column)
{
    return column->show == show_workers || column == &results[0] ||
           (column->show == show_servers && s->opts.servers.n > 0) ||
           (column->show == show_sync && s->opts.nsync > 0) ||
           (column->show == show_batch && s->opts.batch.n > 0);
}

/* A column that says nothing of any cell is left out, and so is a quality that has columns of its
 * own. */
static bool column_seen(const shoal_study *s, const struct column *column)
{
    struct shoal_study_cell cell;

    if (column_always(s, column))
        return true;
    if (column->of == CELL(best.quality) && strcmp(example_of(s)->quality_name, "accuracy") == 0)
        return false;
    for (size_t i = 0; column->show != show_servers && shoal_study_cell(s, i, &cell); i++)
        if (cell.done > 0 && strcmp(show(column, &cell).text, "-") != 0)
            return true;
    return false;
}

/* Whether a cell has a row in the table of its scaling: of those that are one run, the first. */
static bool row_seen(const shoal_study *s, size_t cell, bool weak)
{
    const struct cell *c = &s->cells[cell];

    for (size_t i = 0; i < cell; i++)
        if (s->cells[i].weak == c->weak && s->cells[i].twin == c->twin)
            return false;
    return c->weak == weak;
}

/* The cell of a row; one that stands for several policies says so. */
static bool row_cell(const shoal_study *s, size_t i, struct shoal_study_cell *cell)
{
    if (!shoal_study_cell(s, i, cell))
        return false;
    if (study_any_sync(s, &s->cells[i]))
        cell->sync = "any";
    return true;
}

static bool has_scaling(const shoal_study *s, bool weak)
{
    return s->opts.scaling == SHOAL_STRONG_AND_WEAK || (s->opts.scaling == SHOAL_WEAK) == weak;
}

/* NULL: there is nothing that scales. */
static const char *scaling_words(const shoal_study *s, bool weak)
{
    if (s->opts.workers.n == 1 && s->opts.scaling != SHOAL_STRONG_AND_WEAK)
        return NULL;
    return weak ? "weak scaling: n workers do n times the work"
                : "strong scaling: any number of workers does the same work";
}

bool table_has_resources(const shoal_study *s)
{
    for (size_t k = 0; k < resource_table.n; k++)
        if (!resources[k].word && column_seen(s, &resources[k]))
            return true;
    return false;
}

static bool is_key(const struct column *column)
{
    return column >= keys && column < keys + KEYS;
}

/* What identifies a cell is shown of one that failed too. */
static struct short_number cell_field(const struct column *column,
                                      const struct shoal_study_cell *cell)
{
    if (cell->done > 0 || is_key(column))
        return show(column, cell);
    return number_as("%s", cell->failed > 0 && column == &results[0] ? "failed" : "-");
}

/* ---- for a terminal ---- */

static size_t width_of(const shoal_study *s, const struct column *column,
                       const struct shoal_measures *m)
{
    size_t width = strlen(head_of(column, m).text);
    struct shoal_study_cell cell;

    for (size_t i = 0; row_cell(s, i, &cell); i++) {
        size_t len = strlen(cell_field(column, &cell).text);

        width = len > width ? len : width;
    }
    return width;
}

static void add_padded(struct prose *t, const char *word, size_t width, bool left)
{
    prose_add(t, left ? "%-*s  " : "%*s  ", (int)width, word);
}

/* A block of a table: what a cell is, and the columns that are as many as fit. */
struct part {
    const struct study_table *table;
    size_t from, to;
    bool weak;
};

static bool in_part(const shoal_study *s, const struct part *p, size_t k)
{
    return (k < KEYS || (k >= p->from && k < p->to)) && column_seen(s, column_of(p->table, k));
}

/* Goes on to the next block, of one column at least. */
static void part_next(struct part *p, const shoal_study *s, const struct shoal_measures *m,
                      size_t room)
{
    size_t width = 0;

    p->from = p->to;
    for (size_t k = 0; k < KEYS; k++)
        width += in_part(s, p, k) ? width_of(s, &keys[k], m) + 2 : 0;
    for (bool any = false; p->to < column_count(p->table); p->to++) {
        const struct column *column = column_of(p->table, p->to);
        size_t more = column_seen(s, column) ? width_of(s, column, m) : 0;

        if (any && room > 0 && width + more > room)
            break;
        any |= more > 0;
        width += more > 0 ? more + 2 : 0;
    }
}

/* cell NULL: the heads. */
static void text_row(struct prose *t, const shoal_study *s, const struct shoal_measures *m,
                     const struct part *p, const struct shoal_study_cell *cell)
{
    for (size_t k = 0; k < column_count(p->table); k++) {
        const struct column *column = column_of(p->table, k);

        if (in_part(s, p, k))
            add_padded(t, (cell ? cell_field(column, cell) : head_of(column, m)).text,
                       width_of(s, column, m), column->word);
    }
    while (t->bytes.len > 0 && t->bytes.at[t->bytes.len - 1] == ' ')
        t->bytes.len--;
    prose_add(t, "\n");
}

static void text_rows(struct prose *t, const shoal_study *s, const struct study_table *table,
                      bool weak, size_t room)
{
    const struct shoal_measures *m = example_of(s);
    struct part p = {.table = table, .to = KEYS, .weak = weak};
    struct shoal_study_cell cell;

    while (p.to < column_count(table)) {
        part_next(&p, s, m, room);
        if (p.from > KEYS)
            prose_add(t, "\n");
        text_row(t, s, m, &p, NULL);
        for (size_t i = 0; row_cell(s, i, &cell); i++)
            if (row_seen(s, i, weak))
                text_row(t, s, m, &p, &cell);
    }
}

/* Strong and weak apart, each under its name. */
static void text_table(struct prose *t, const shoal_study *s, const struct study_table *table,
                       const char *of, size_t room)
{
    bool any = false;

    for (int weak = 0; weak <= 1; weak++) {
        const char *words = scaling_words(s, weak);

        if (!has_scaling(s, weak))
            continue;
        if (any)
            prose_add(t, "\n");
        if (*of || words)
            prose_add(t, "%s%s%s\n", of, *of && words ? ", " : "", words ? words : "");
        text_rows(t, s, table, weak, room);
        any = true;
    }
}

static void text_failures(struct prose *t, const shoal_study *s)
{
    struct shoal_study_cell cell;

    for (size_t i = 0; shoal_study_cell(s, i, &cell); i++)
        if (cell.failed > 0 && cell.twin == i)
            prose_add(t, "failed: %s, %u of %u: %s\n", study_cell_name(s, i).text, cell.failed,
                      s->opts.repeat, cell.failure);
}

shoal_status shoal_study_table(char **text, const shoal_study *s, size_t width)
{
    struct prose t = {0};

    text_table(&t, s, &result_table, "", width);
    text_failures(&t, s);
    prose_add(&t, "\n");
    if (table_has_resources(s)) {
        text_table(&t, s, &resource_table, "resources", width);
        prose_add(&t, "\n");
    }
    findings_text(&t, s);
    return prose_take(&t, text);
}

/* ---- for the page ---- */

static void html_row(struct prose *t, const shoal_study *s, const struct study_table *table,
                     const struct shoal_study_cell *cell)
{
    prose_add(t, cell->done == 0 && cell->failed > 0 ? "<tr class=\"bad\">" : "<tr>");
    for (size_t k = 0; k < column_count(table); k++) {
        const struct column *column = column_of(table, k);

        if (column_seen(s, column))
            prose_wrap(t, column->word ? "<td class=\"w\">" : "<td>", cell_field(column, cell).text,
                       "</td>");
    }
    prose_add(t, "</tr>\n");
}

static void html_table(struct prose *t, const shoal_study *s, const struct study_table *table,
                       bool weak)
{
    const struct shoal_measures *m = example_of(s);
    struct shoal_study_cell cell;
    char title[64];

    if (!has_scaling(s, weak))
        return;
    if (scaling_words(s, weak))
        prose_wrap(t, "<p>", scaling_words(s, weak), "</p>\n");
    snprintf(title, sizeof title, "%s, %s scaling", table == &result_table ? "Runs" : "Resources",
             weak ? "weak" : "strong");
    page_wide(t, title);
    prose_add(t, "<table>\n<thead><tr>");
    for (size_t k = 0; k < column_count(table); k++)
        if (column_seen(s, column_of(table, k)))
            prose_wrap(t, column_of(table, k)->word ? "<th class=\"w\">" : "<th>",
                       head_of(column_of(table, k), m).text, "</th>");
    prose_add(t, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; row_cell(s, i, &cell); i++)
        if (row_seen(s, i, weak))
            html_row(t, s, table, &cell);
    prose_add(t, "</tbody></table></div>\n");
}

void table_html(struct prose *t, const shoal_study *s)
{
    html_table(t, s, &result_table, false);
    html_table(t, s, &result_table, true);
}

void table_html_resources(struct prose *t, const shoal_study *s)
{
    html_table(t, s, &resource_table, false);
    html_table(t, s, &resource_table, true);
}

/* ---- for programs ---- */

static void csv_word(struct prose *t, const char *word)
{
    prose_add(t, "\"");
    for (; *word; word++)
        prose_add(t, *word == '"' ? "\"\"" : "%c", *word == '\n' ? ' ' : *word);
    prose_add(t, "\"");
}

/* Empty for what was not measured. */
static void csv_number(struct prose *t, double x)
{
    if (isinf(x))
        prose_add(t, ",never");
    else if (isnan(x))
        prose_add(t, ",");
    else
        prose_add(t, ",%.9g", x);
}

/* The numbers of a cell, by the names of their columns. */
static const struct {
    const char *name;
    size_t of, per;
} numbers[] = {
    {"seconds", CELL(best.seconds), 0},
    {"spread", CELL(spread), 0},
    {"whole_seconds", CELL(best.whole), 0},
    {"units", CELL(best.units), 0},
    {"units_per_second", CELL(best.rate), 0},
    {"steps", CELL(best.steps), 0},
    {"speedup", CELL(speedup), 0},
    {"efficiency", CELL(efficiency), 0},
    {"loss", CELL(best.loss), 0},
    {"held_out_loss", CELL(best.held), 0},
    {"quality", CELL(best.quality), 0},
    {"target_seconds", CELL(best.target), 0},
    {"bytes", CELL(best.bytes), 0},
    {"bytes_per_second", CELL(best.bytes), CELL(best.seconds)},
    {"bytes_per_unit", CELL(best.bytes), CELL(best.units)},
    {"staleness", CELL(best.stale), 0},
    {"computing", CELL(best.computing), 0},
    {"communicating", CELL(best.communicating), 0},
    {"waiting", CELL(best.waiting), 0},
    {"other", CELL(best.other), 0},
    {"cpu", CELL(best.cpu), 0},
    {"disk_read", CELL(best.read), 0},
    {"memory", CELL(best.memory), 0},
    {"gradient", CELL(best.gradient), 0},
    {"lr", CELL(best.lr), 0},
    {"accuracy", CELL(best.accuracy), 0},
    {"held_out_accuracy", CELL(best.held_accuracy), 0},
    {"target_best_loss", CELL(best.reached), 0},
    {"updates", CELL(best.updates), 0},
    {"updates_per_second", CELL(best.updates), CELL(best.seconds)},
    {"network_read", CELL(best.received), 0},
    {"network_written", CELL(best.bytes), 0},
    {"disk_written", CELL(best.written), 0},
    {"seconds_per_update", CELL(best.seconds), CELL(best.updates)},
    {"network_read_per_update", CELL(best.received), CELL(best.updates)},
    {"network_written_per_update", CELL(best.bytes), CELL(best.updates)},
    {"disk_read_per_update", CELL(best.read), CELL(best.updates)},
    {"disk_written_per_update", CELL(best.written), CELL(best.updates)},
};

enum { NUMBERS = sizeof numbers / sizeof *numbers };

static void csv_row(struct prose *t, const struct shoal_study_cell *c)
{
    const struct shoal_measures *m = &c->best;
    const char *const words[] = {m->unit, m->quality_name, m->limit, m->verdict,
                                 c->failure ? c->failure : ""};

    prose_add(t, "%u,%u,", c->workers, c->servers);
    csv_word(t, c->sync ? c->sync : "");
    prose_add(t, ",%llu,%s,%u,%u", (unsigned long long)c->batch, c->weak ? "weak" : "strong",
              c->done, c->failed);
    for (size_t i = 0; i < NUMBERS; i++)
        csv_number(t,
                   c->done > 0 ? study_cell_number(c, numbers[i].of, numbers[i].per) : (double)NAN);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        prose_add(t, ",");
        csv_word(t, words[i]);
    }
    prose_add(t, "\n");
}

void table_csv(struct prose *t, const shoal_study *s)
{
    struct shoal_study_cell cell;

    prose_add(t, "workers,servers,sync,batch,scaling,done,failed");
    for (size_t i = 0; i < NUMBERS; i++)
        prose_add(t, ",%s", numbers[i].name);
    prose_add(t, ",unit,quality_name,limit,verdict,failure\n");
    for (size_t i = 0; shoal_study_cell(s, i, &cell); i++)
        csv_row(t, &cell);
}
