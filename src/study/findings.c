/* What a study found, in words. */
#include "study/study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MANY = 4 }; /* series */

struct teller {
    struct prose *to;
    const shoal_study *study;
    bool html;
};

static void open_line(const struct teller *t)
{
    if (t->html)
        prose_add(t->to, "<p>");
}

static void close_line(const struct teller *t)
{
    prose_add(t->to, t->html ? "</p>\n" : "\n");
}

static void say(const struct teller *t, const char *words)
{
    if (t->html)
        prose_safe(t->to, words);
    else
        prose_add(t->to, "%s", words);
}

/* The cells that share a base are a series; its last that came to something. */
static bool last_of(const shoal_study *s, size_t base, size_t *last)
{
    bool found = false;

    for (size_t i = 0; i < s->ncells; i++)
        if (cell_base(s, i) == base && cell_best(s, i)) {
            *last = i;
            found = true;
        }
    return found;
}

static size_t quickest_of(const shoal_study *s, size_t base)
{
    size_t best = base;

    for (size_t i = 0; i < s->ncells; i++) {
        const struct study_run *run = cell_best(s, i), *against = cell_best(s, best);

        if (cell_base(s, i) == base && run && (!against || run->m.rate > against->m.rate))
            best = i;
    }
    return best;
}

static void say_speed(const struct teller *t, size_t base, size_t at)
{
    struct shoal_study_cell cell;
    char name[96], from[96];

    shoal_study_cell(t->study, at, &cell);
    cell_name(name, t->study, &t->study->cells[at]);
    cell_name(from, t->study, &t->study->cells[base]);
    open_line(t);
    say(t, name);
    if (cell.weak)
        prose_add(t->to, ": %s times the work a second of ", number_plain(cell.speedup).text);
    else
        prose_add(t->to, ": %s times as fast as ", number_plain(cell.speedup).text);
    say(t, from);
    prose_add(t->to, ", an efficiency of %s", number_share(cell.efficiency).text);
    prose_add(t->to, cell.weak ? " (weak scaling: the work grows with the workers)." : ".");
    close_line(t);
}

static void say_quality(const struct teller *t, size_t base, size_t at)
{
    const struct shoal_measures *a = &cell_best(t->study, base)->m;
    const struct shoal_measures *b = &cell_best(t->study, at)->m;
    bool quality = isfinite(a->quality) && isfinite(b->quality);
    double from = quality ? a->quality : isfinite(a->held) ? a->held : a->loss;
    double to = quality ? b->quality : isfinite(a->held) ? b->held : b->loss;

    if (!isfinite(from) || !isfinite(to))
        return;
    open_line(t);
    prose_add(t->to, "With it the ");
    say(t, quality ? "quality (" : isfinite(a->held) ? "held-out loss" : "training loss");
    if (quality) {
        say(t, a->quality_name);
        prose_add(t->to, ")");
    }
    prose_add(t->to, " goes from %s to %s.", number_plain(from).text, number_plain(to).text);
    close_line(t);
}

static void say_limit(const struct teller *t, size_t at)
{
    const struct shoal_measures *m = &cell_best(t->study, at)->m;

    if (!*m->verdict && !(m->waiting > 0.2))
        return;
    open_line(t);
    if (strcmp(m->limit, "short") == 0) {
        say(t, m->verdict);
        prose_add(t->to, " what limits it: give it more data or --epochs.");
        close_line(t);
        return;
    }
    prose_add(t->to, "What limits it: ");
    if (*m->verdict)
        say(t, m->verdict);
    else
        prose_add(t->to,
                  "its ranks wait %s of the time. Fewer ranks, larger batches, or a policy that "
                  "waits less (async, bounded:S) leave less of it.",
                  number_share(m->waiting).text);
    close_line(t);
}

/* The most workers of those that ran. */
static unsigned most_workers(const shoal_study *s)
{
    unsigned most = 0;

    for (size_t i = 0; i < s->ncells; i++)
        if (cell_best(s, i) && s->cells[i].workers > most)
            most = s->cells[i].workers;
    return most;
}

static void say_cores(const struct teller *t)
{
    unsigned most = most_workers(t->study), cores = t->study->cores;

    /* Several hosts have cores that are not counted here. */
    if (study_says(&t->study->opts, "--hosts") || most <= cores || cores == 0)
        return;
    open_line(t);
    prose_add(t->to,
              "%u workers shared %u cores: beyond %u workers no speedup can be seen on this "
              "machine, only what more workers cost.",
              most, cores, cores);
    close_line(t);
}

/* Of many series: what limits the one that gains the least by its workers. */
static void say_worst(const struct teller *t)
{
    struct shoal_study_cell cell;
    double least = INFINITY;
    size_t worst = 0;

    for (size_t i = 0; i < t->study->ncells; i++) {
        size_t last = i;

        if (cell_base(t->study, i) != i || !last_of(t->study, i, &last) || last == i ||
            !shoal_study_cell(t->study, last, &cell) || !(cell.efficiency < least))
            continue;
        least = cell.efficiency;
        worst = last;
    }
    if (isfinite(least))
        say_limit(t, worst);
}

/* All that is to be said of a series; of many series only how fast they are. */
static void say_series(const struct teller *t, size_t base, bool many)
{
    size_t last = base, best = quickest_of(t->study, base);

    if (!cell_best(t->study, base) || !last_of(t->study, base, &last))
        return;
    if (last != base)
        say_speed(t, base, last);
    if (last != base && !many)
        say_quality(t, base, last);
    if (best != last && best != base)
        say_speed(t, base, best);
    if (!many)
        say_limit(t, last);
}

void findings_say(struct prose *to, const shoal_study *s, bool html)
{
    struct teller t = {to, s, html};
    size_t series = 0;

    for (size_t i = 0; i < s->ncells; i++)
        series += cell_base(s, i) == i;
    for (size_t i = 0; i < s->ncells; i++)
        if (cell_base(s, i) == i)
            say_series(&t, i, series > MANY);
    if (series > MANY)
        say_worst(&t);
    say_cores(&t);
}
