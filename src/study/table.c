/* The table of a study: for a terminal, for programs, for the page. */
#include "study/study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns for people ---- */

/* What of a cell a column shows. */
struct field {
    char text[40];
};

struct column {
    const char *head; /* "%s" stands for the unit */
    bool word;        /* to the left */
    struct field (*show)(const struct shoal_study_cell *c);
};

static struct field field_of(const char *text)
{
    struct field f;

    snprintf(f.text, sizeof f.text, "%.39s", text);
    return f;
}

#define SHOWS(name, call)                                                                          \
    static struct field name(const struct shoal_study_cell *c)                                     \
    {                                                                                              \
        return field_of(call.text);                                                                \
    }

SHOWS(show_time, number_time(c->best.seconds))
SHOWS(show_spread, number_share(c->done > 1 ? c->spread : (double)NAN))
SHOWS(show_rate, number_short(c->best.rate))
SHOWS(show_step, number_time(c->best.seconds / c->best.steps))
SHOWS(show_speedup, number_plain(c->speedup))
SHOWS(show_efficiency, number_share(c->efficiency))
SHOWS(show_loss, number_plain(c->best.loss))
SHOWS(show_held, number_plain(c->best.held))
SHOWS(show_quality, number_plain(c->best.quality))
SHOWS(show_target, number_time(c->best.target))
SHOWS(show_bytes_rate, number_bytes(c->best.bytes / c->best.seconds))
SHOWS(show_bytes_unit, number_bytes(c->best.bytes / c->best.units))
SHOWS(show_stale, number_plain(c->best.stale))
SHOWS(show_cpu, number_share(c->best.cpu))
SHOWS(show_computing, number_share(c->best.computing))
SHOWS(show_communicating, number_share(c->best.communicating))
SHOWS(show_waiting, number_share(c->best.waiting))
SHOWS(show_read, number_bytes(c->best.read))
SHOWS(show_memory, number_bytes(c->best.memory))
SHOWS(show_gradient, number_plain(c->best.gradient))

static struct field show_workers(const struct shoal_study_cell *c)
{
    struct field f;

    snprintf(f.text, sizeof f.text, "%u", c->workers);
    return f;
}

static struct field show_sync(const struct shoal_study_cell *c)
{
    return field_of(c->sync ? c->sync : "-");
}

static struct field show_batch(const struct shoal_study_cell *c)
{
    struct field f = field_of("-");

    if (c->batch > 0)
        snprintf(f.text, sizeof f.text, "%llu", (unsigned long long)c->batch);
    return f;
}

static struct field show_scaling(const struct shoal_study_cell *c)
{
    return field_of(c->weak ? "weak" : "strong");
}

static struct field show_limit(const struct shoal_study_cell *c)
{
    if (strcmp(c->best.limit, "short") == 0)
        return field_of("too short");
    return field_of(*c->best.limit ? c->best.limit : "-");
}

static const struct column columns[] = {
    {"workers", false, show_workers},   {"sync", true, show_sync},
    {"batch", false, show_batch},       {"scaling", true, show_scaling},
    {"time", false, show_time},         {"spread", false, show_spread},
    {"%s/s", false, show_rate},         {"each step", false, show_step},
    {"speedup", false, show_speedup},   {"efficiency", false, show_efficiency},
    {"loss", false, show_loss},         {"held out", false, show_held},
    {"%q", false, show_quality},        {"to target", false, show_target},
    {"sent/s", false, show_bytes_rate}, {"sent each", false, show_bytes_unit},
    {"stale", false, show_stale},       {"cpu", false, show_cpu},
    {"compute", false, show_computing}, {"exchange", false, show_communicating},
    {"wait", false, show_waiting},      {"read", false, show_read},
    {"memory", false, show_memory},     {"gradient", false, show_gradient},
    {"limit", true, show_limit},
};

enum {
    COLUMNS = sizeof columns / sizeof *columns,
    KEYS = 4, /* the first say which cell it is */
};

/* The first cell that came to something tells how things are called. */
static struct shoal_measures example_of(const shoal_study *s)
{
    struct shoal_study_cell cell;

    for (size_t i = 0; shoal_study_cell(s, i, &cell); i++)
        if (cell.done > 0)
            return cell.best;
    return (struct shoal_measures){.unit = "units", .quality_name = "quality"};
}

static struct field head_of(const struct column *column, const struct shoal_measures *m)
{
    struct field f = field_of(column->head);

    if (strcmp(column->head, "%s/s") == 0)
        snprintf(f.text, sizeof f.text, "%.15s/s", m->unit);
    else if (strcmp(column->head, "%q") == 0)
        snprintf(f.text, sizeof f.text, "%.31s", *m->quality_name ? m->quality_name : "quality");
    return f;
}

/* A column that says nothing of any cell is left out; so is scaling where there is
 * one kind only. */
static bool column_seen(const shoal_study *s, const struct column *column)
{
    struct shoal_study_cell cell;

    if (column->show == show_scaling)
        return s->opts.scaling == SHOAL_STRONG_AND_WEAK;
    if (column->show == show_workers || column->show == show_time)
        return true; /* of what failed, too */
    for (size_t i = 0; shoal_study_cell(s, i, &cell); i++)
        if ((cell.done > 0 || column->show == show_sync || column->show == show_batch) &&
            strcmp(column->show(&cell).text, "-") != 0)
            return true;
    return false;
}

/* What identifies a cell is shown of one that failed too. */
static struct field cell_field(const struct column *column, const struct shoal_study_cell *cell)
{
    if (cell->done > 0 || column < &columns[KEYS])
        return column->show(cell);
    return field_of(cell->failed > 0 && column == &columns[KEYS] ? "failed" : "-");
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
    struct shoal_measures m = example_of(s);
    struct shoal_study_cell cell;
    struct part p = {.to = KEYS};

    while (p.to < COLUMNS) {
        p = part_from(s, &m, p.to, room);
        if (p.from > KEYS)
            prose_add(t, "\n");
        text_row(t, s, &m, &p, NULL);
        for (size_t i = 0; shoal_study_cell(s, i, &cell); i++)
            text_row(t, s, &m, &p, &cell);
    }
}

static void text_failures(struct prose *t, const shoal_study *s)
{
    struct shoal_study_cell cell;

    for (size_t i = 0; shoal_study_cell(s, i, &cell); i++) {
        char name[96];

        if (cell.failed == 0)
            continue;
        cell_name(name, s, &s->cells[i]);
        prose_add(t, "failed: %s, %u of %u: %s\n", name, cell.failed, s->opts.repeat, cell.failure);
    }
}

shoal_status shoal_study_table(char **text, const shoal_study *s, size_t width)
{
    struct prose t = {0};

    *text = NULL;
    text_rows(&t, s, width);
    text_failures(&t, s);
    prose_add(&t, "\n");
    findings_say(&t, s, false);
    if (t.status == SHOAL_OK)
        *text = t.bytes.at;
    else
        prose_fini(&t);
    return t.status;
}

/* ---- for the page ---- */

static void html_row(struct prose *t, const shoal_study *s, const struct shoal_study_cell *cell)
{
    prose_add(t, cell->done == 0 && cell->failed > 0 ? "<tr class=\"bad\">" : "<tr>");
    for (size_t k = 0; k < COLUMNS; k++) {
        if (!column_seen(s, &columns[k]))
            continue;
        prose_add(t, columns[k].word ? "<td class=\"w\">" : "<td>");
        prose_safe(t, cell_field(&columns[k], cell).text);
        prose_add(t, "</td>");
    }
    prose_add(t, "</tr>\n");
}

void table_html(struct prose *t, const shoal_study *s)
{
    struct shoal_measures m = example_of(s);
    struct shoal_study_cell cell;

    prose_add(t, "<div class=\"wide\"><table>\n<tr>");
    for (size_t k = 0; k < COLUMNS; k++) {
        if (!column_seen(s, &columns[k]))
            continue;
        prose_add(t, columns[k].word ? "<th class=\"w\">" : "<th>");
        prose_safe(t, head_of(&columns[k], &m).text);
        prose_add(t, "</th>");
    }
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

static void csv_row(struct prose *t, const struct shoal_study_cell *c)
{
    const struct shoal_measures *m = &c->best;
    double numbers[] = {m->seconds,
                        c->spread,
                        m->whole,
                        m->units,
                        m->rate,
                        m->steps,
                        c->speedup,
                        c->efficiency,
                        m->loss,
                        m->held,
                        m->quality,
                        m->target,
                        m->bytes,
                        m->bytes / m->seconds,
                        m->bytes / m->units,
                        m->stale,
                        m->computing,
                        m->communicating,
                        m->waiting,
                        m->other,
                        m->cpu,
                        m->read,
                        m->memory,
                        m->gradient,
                        m->lr};

    prose_add(t, "%u,", c->workers);
    csv_word(t, c->sync ? c->sync : "");
    prose_add(t, ",%llu,%s,%u,%u", (unsigned long long)c->batch, c->weak ? "weak" : "strong",
              c->done, c->failed);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        csv_number(t, c->done > 0 ? numbers[i] : (double)NAN);
    prose_add(t, ",");
    csv_word(t, m->unit);
    prose_add(t, ",");
    csv_word(t, m->quality_name);
    prose_add(t, ",");
    csv_word(t, m->limit);
    prose_add(t, ",");
    csv_word(t, m->verdict);
    prose_add(t, ",");
    csv_word(t, c->failure ? c->failure : "");
    prose_add(t, "\n");
}

void table_csv(struct prose *t, const shoal_study *s)
{
    struct shoal_study_cell cell;

    prose_add(t,
              "workers,sync,batch,scaling,done,failed,seconds,spread,whole_seconds,units,"
              "units_per_second,steps,speedup,efficiency,loss,held_out_loss,quality,target_seconds,"
              "bytes,bytes_per_second,bytes_per_unit,staleness,computing,communicating,waiting,"
              "other,cpu,disk_read,memory,gradient,lr,unit,quality_name,limit,verdict,failure\n");
    for (size_t i = 0; shoal_study_cell(s, i, &cell); i++)
        csv_row(t, &cell);
}
