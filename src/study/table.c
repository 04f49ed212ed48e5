/* The table of a study: for a terminal, for programs, for the page. */
#include "study/study.h"

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

static struct short_number show_sync(const struct shoal_study_cell *c)
{
    return number_as("%s", c->sync ? c->sync : "-");
}

static struct short_number show_batch(const struct shoal_study_cell *c)
{
    return number_as(c->batch > 0 ? "%llu" : "-", (unsigned long long)c->batch);
}

static struct short_number show_scaling(const struct shoal_study_cell *c)
{
    return number_as("%s", c->weak ? "weak" : "strong");
}

static struct short_number show_limit(const struct shoal_study_cell *c)
{
    if (strcmp(c->best.limit, "short") == 0)
        return number_as("too short");
    return number_as("%s", *c->best.limit ? c->best.limit : "-");
}

static const struct column columns[] = {
    {"workers", .show = show_workers},
    {"sync", .word = true, .show = show_sync},
    {"batch", .show = show_batch},
    {"scaling", .word = true, .show = show_scaling},
    {"time", .number = number_time, .of = CELL(best.seconds)},
    {"spread", .show = show_spread},
    {"%s/s", .number = number_short, .of = CELL(best.rate)},
    {"each step", .number = number_time, .of = CELL(best.seconds), .per = CELL(best.steps)},
    {"speedup", .number = number_plain, .of = CELL(speedup)},
    {"efficiency", .number = number_share, .of = CELL(efficiency)},
    {"loss", .number = number_plain, .of = CELL(best.loss)},
    {"held out", .number = number_plain, .of = CELL(best.held)},
    {"%q", .number = number_plain, .of = CELL(best.quality)},
    {"to target", .number = number_time, .of = CELL(best.target)},
    {"sent/s", .number = number_bytes, .of = CELL(best.bytes), .per = CELL(best.seconds)},
    {"sent each", .number = number_bytes, .of = CELL(best.bytes), .per = CELL(best.units)},
    {"stale", .number = number_plain, .of = CELL(best.stale)},
    {"cpu", .number = number_share, .of = CELL(best.cpu)},
    {"compute", .number = number_share, .of = CELL(best.computing)},
    {"exchange", .number = number_share, .of = CELL(best.communicating)},
    {"wait", .number = number_share, .of = CELL(best.waiting)},
    {"read", .number = number_bytes, .of = CELL(best.read)},
    {"memory", .number = number_bytes, .of = CELL(best.memory)},
    {"gradient", .number = number_plain, .of = CELL(best.gradient)},
    {"limit", .word = true, .show = show_limit},
};

enum {
    COLUMNS = sizeof columns / sizeof *columns,
    KEYS = 4, /* the first say which cell it is; then its time */
};

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

/* A column that says nothing of any cell is left out; so is scaling where there is
 * one kind only. */
static bool column_seen(const shoal_study *s, const struct column *column)
{
    struct shoal_study_cell cell;

    if (column->show == show_scaling)
        return s->opts.scaling == SHOAL_STRONG_AND_WEAK;
    if (column->show == show_workers || column == &columns[KEYS])
        return true; /* of what failed, too */
    for (size_t i = 0; shoal_study_cell(s, i, &cell); i++)
        if ((cell.done > 0 || column->show == show_sync || column->show == show_batch) &&
            strcmp(show(column, &cell).text, "-") != 0)
            return true;
    return false;
}

/* What identifies a cell is shown of one that failed too. */
static struct short_number cell_field(const struct column *column,
                                      const struct shoal_study_cell *cell)
{
    if (cell->done > 0 || column < &columns[KEYS])
        return show(column, cell);
    return number_as("%s", cell->failed > 0 && column == &columns[KEYS] ? "failed" : "-");
}

/* ---- for a terminal ---- */

static size_t width_of(const shoal_study *s, const struct column *column,
                       const struct shoal_measures *m)
{
    size_t width = strlen(head_of(column, m).text);
    struct shoal_study_cell cell;

    for (size_t i = 0; shoal_study_cell(s, i, &cell); i++) {
        size_t len = strlen(cell_field(column, &cell).text);

        width = len > width ? len : width;
    }
    return width;
}

static void add_padded(struct prose *t, const char *word, size_t width, bool left)
{
    prose_add(t, left ? "%-*s  " : "%*s  ", (int)width, word);
}

/* A block of the table: what a cell is, and the columns that are as many as fit. */
struct part {
    size_t from, to;
};

static bool in_part(const shoal_study *s, const struct part *p, size_t k)
{
    return (k < KEYS || (k >= p->from && k < p->to)) && column_seen(s, &columns[k]);
}

/* One at least. */
static struct part part_from(const shoal_study *s, const struct shoal_measures *m, size_t from,
                             size_t room)
{
    struct part p = {.from = from, .to = from};
    size_t width = 0;

    for (size_t k = 0; k < KEYS; k++)
        width += in_part(s, &p, k) ? width_of(s, &columns[k], m) + 2 : 0;
    for (bool any = false; p.to < COLUMNS; p.to++) {
        size_t more = column_seen(s, &columns[p.to]) ? width_of(s, &columns[p.to], m) : 0;

        if (any && room > 0 && width + more > room)
            break;
        any |= more > 0;
        width += more > 0 ? more + 2 : 0;
    }
    return p;
}

/* cell NULL: the heads. */
static void text_row(struct prose *t, const shoal_study *s, const struct shoal_measures *m,
                     const struct part *p, const struct shoal_study_cell *cell)
{
    for (size_t k = 0; k < COLUMNS; k++)
        if (in_part(s, p, k))
            add_padded(t, (cell ? cell_field(&columns[k], cell) : head_of(&columns[k], m)).text,
                       width_of(s, &columns[k], m), columns[k].word);
    while (t->bytes.len > 0 && t->bytes.at[t->bytes.len - 1] == ' ')
        t->bytes.len--;
    prose_add(t, "\n");
}

static void text_rows(struct prose *t, const shoal_study *s, size_t room)
{
    const struct shoal_measures *m = example_of(s);
    struct shoal_study_cell cell;
    struct part p = {.to = KEYS};

    while (p.to < COLUMNS) {
        p = part_from(s, m, p.to, room);
        if (p.from > KEYS)
            prose_add(t, "\n");
        text_row(t, s, m, &p, NULL);
        for (size_t i = 0; shoal_study_cell(s, i, &cell); i++)
            text_row(t, s, m, &p, &cell);
    }
}

static void text_failures(struct prose *t, const shoal_study *s)
{
    struct shoal_study_cell cell;

    for (size_t i = 0; shoal_study_cell(s, i, &cell); i++)
        if (cell.failed > 0)
            prose_add(t, "failed: %s, %u of %u: %s\n", study_cell_name(s, i).text, cell.failed,
                      s->opts.repeat, cell.failure);
}

shoal_status shoal_study_table(char **text, const shoal_study *s, size_t width)
{
    struct prose t = {0};

    text_rows(&t, s, width);
    text_failures(&t, s);
    prose_add(&t, "\n");
    findings_text(&t, s);
    return prose_take(&t, text);
}

/* ---- for the page ---- */

static void html_row(struct prose *t, const shoal_study *s, const struct shoal_study_cell *cell)
{
    prose_add(t, cell->done == 0 && cell->failed > 0 ? "<tr class=\"bad\">" : "<tr>");
    for (size_t k = 0; k < COLUMNS; k++)
        if (column_seen(s, &columns[k]))
            prose_wrap(t, columns[k].word ? "<td class=\"w\">" : "<td>",
                       cell_field(&columns[k], cell).text, "</td>");
    prose_add(t, "</tr>\n");
}

void table_html(struct prose *t, const shoal_study *s)
{
    const struct shoal_measures *m = example_of(s);
    struct shoal_study_cell cell;

    prose_add(t, "<div class=\"wide\"><table>\n<tr>");
    for (size_t k = 0; k < COLUMNS; k++)
        if (column_seen(s, &columns[k]))
            prose_wrap(t, columns[k].word ? "<th class=\"w\">" : "<th>",
                       head_of(&columns[k], m).text, "</th>");
    prose_add(t, "</tr>\n");
    for (size_t i = 0; shoal_study_cell(s, i, &cell); i++)
        html_row(t, s, &cell);
    prose_add(t, "</table></div>\n");
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
};

enum { NUMBERS = sizeof numbers / sizeof *numbers };

static void csv_row(struct prose *t, const struct shoal_study_cell *c)
{
    const struct shoal_measures *m = &c->best;
    const char *const words[] = {m->unit, m->quality_name, m->limit, m->verdict,
                                 c->failure ? c->failure : ""};

    prose_add(t, "%u,", c->workers);
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

    prose_add(t, "workers,sync,batch,scaling,done,failed");
    for (size_t i = 0; i < NUMBERS; i++)
        prose_add(t, ",%s", numbers[i].name);
    prose_add(t, ",unit,quality_name,limit,verdict,failure\n");
    for (size_t i = 0; shoal_study_cell(s, i, &cell); i++)
        csv_row(t, &cell);
}
