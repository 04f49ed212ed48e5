/* What a study found, in words.
 *
 * Series by series (a series is the cells that share a base, see cells.c):
 *
 *     1  speedup and efficiency of the cell with the most workers, against the base
 *     2  what that did to quality, or else to the held-out or the training loss
 *     3  the speedup of the cell with the highest rate, when it is neither of these two
 *     4  what limits the cell with the most workers
 *
 * Nothing of this is said of runs below a second, whose times are those of starting; they are named
 * at the end. What limits a run is the verdict of its profile (train/profile); without a profile
 * only waiting is known, and counts above a fifth of the time. Of more than MANY series only 1 and
 * 3 are said, and 4 once, of the series with the lowest efficiency. At the end: whether more
 * workers ran than there are cores, since then the speedup says nothing about a larger machine. */
#include "study/study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MANY = 4 }; /* series, beyond which less is said of each */

/* The last cell of a series, that of the most workers, with a run that is done. */
static bool last_of(const shoal_study *s, size_t base, size_t *last)
{
    bool found = false;

    for (size_t i = 0; i < s->ncells; i++)
        if (study_cell_base(s, i) == base && study_cell_best(s, i)) {
            *last = i;
            found = true;
        }
    return found;
}

static size_t quickest_of(const shoal_study *s, size_t base)
{
    size_t best = base;

    for (size_t i = 0; i < s->ncells; i++) {
        const struct study_run *run = study_cell_best(s, i), *against = study_cell_best(s, best);

        if (study_cell_base(s, i) == base && run && (!against || run->m.rate > against->m.rate))
            best = i;
    }
    return best;
}

/* Too short to judge: the profile says so too. */
static bool is_short(const shoal_study *s, size_t cell)
{
    const struct shoal_measures *m = &study_cell_best(s, cell)->m;

    return m->seconds < 1 || strcmp(m->limit, "short") == 0;
}

static void say_speed(struct prose *t, const shoal_study *s, size_t base, size_t at)
{
    struct shoal_study_cell cell;

    shoal_study_cell(s, at, &cell);
    prose_add(t, "%s: %s times %s %s, an efficiency of %s%s.\n", study_cell_name(s, at).text,
              number_plain(cell.speedup).text, cell.weak ? "the work a second of" : "as fast as",
              study_cell_name(s, base).text, number_share(cell.efficiency).text,
              cell.weak ? " (weak scaling: the work grows with the workers)" : "");
}

static void say_quality(struct prose *t, const shoal_study *s, size_t base, size_t at)
{
    const struct shoal_measures *a = &study_cell_best(s, base)->m, *b = &study_cell_best(s, at)->m;
    bool quality = isfinite(a->quality) && isfinite(b->quality);
    double from = quality ? a->quality : isfinite(a->held) ? a->held : a->loss;
    double to = quality ? b->quality : isfinite(a->held) ? b->held : b->loss;

    if (!isfinite(from) || !isfinite(to))
        return;
    if (quality)
        prose_add(t, "With it the quality (%s)", a->quality_name);
    else
        prose_add(t, "With it the %s loss", isfinite(a->held) ? "held-out" : "training");
    prose_add(t, " goes from %s to %s.\n", number_plain(from).text, number_plain(to).text);
}

/* "sync, 4 ranks on 2 hosts: the link ..." without whose it is, which the cell's name says. */
static const char *without_ranks(const char *verdict)
{
    const char *colon = strstr(verdict, ": "), *rank = strstr(verdict, " rank");

    return colon && rank && rank < colon ? colon + 2 : verdict;
}

static void say_limit(struct prose *t, const shoal_study *s, size_t at)
{
    const struct shoal_measures *m = &study_cell_best(s, at)->m;

    if (*m->verdict)
        prose_add(t, "What limits %s: %s\n", study_cell_name(s, at).text,
                  without_ranks(m->verdict));
    else if (m->waiting > 0.2)
        prose_add(t,
                  "What limits %s: its ranks wait %s of the time. Fewer ranks, larger batches, or "
                  "a policy that waits less (async, bounded:S) leave less of it.\n",
                  study_cell_name(s, at).text, number_share(m->waiting).text);
}

/* Of those that ran, that with the most workers and servers; NULL: none did. */
static const struct cell *largest_cell(const shoal_study *s)
{
    const struct cell *most = NULL;

    for (size_t i = 0; i < s->ncells; i++) {
        const struct cell *c = &s->cells[i];

        if (study_cell_best(s, i) &&
            (!most || c->workers + c->servers > most->workers + most->servers))
            most = c;
    }
    return most;
}

static void say_cores(struct prose *t, const shoal_study *s)
{
    const struct cell *most = largest_cell(s);
    unsigned cores = s->cores;

    /* Several hosts have cores that are not counted here. */
    if (study_has_option(&s->opts, "--hosts") || cores == 0 || !most ||
        most->workers + most->servers <= cores)
        return;
    prose_add(t, "%u workers", most->workers);
    if (most->servers > 0)
        prose_add(t, " and %u server%s", most->servers, most->servers == 1 ? "" : "s");
    prose_add(t,
              " shared %u cores: beyond %u %s no speedup can be seen on this machine, only what "
              "more workers cost.\n",
              cores, cores, most->servers > 0 ? "of them" : "workers");
}

/* Once, of all of them; of many only how many they are. */
static void say_short(struct prose *t, const shoal_study *s)
{
    size_t cells = 0, found = 0;
    struct prose names = {0};

    for (size_t i = 0; i < s->ncells; i++) {
        bool own = s->cells[i].twin == i;

        cells += own;
        if (own && study_cell_best(s, i) && is_short(s, i))
            prose_add(&names, "%s%s", found++ ? "; " : "", study_cell_name(s, i).text);
    }
    if (found > MANY)
        prose_add(t, "Too short to judge, below a second: %zu of %zu cells", found, cells);
    else if (found > 0 && names.status == SHOAL_OK)
        prose_add(t, "Too short to judge, below a second: %s", names.bytes.at);
    if (found > 0)
        prose_add(t, ". More data, --epochs or --steps make %s longer.\n",
                  found > 1 ? "them" : "it");
    prose_fini(&names);
}

/* Of many series: what limits the one that gains the least by its workers. */
static void say_worst(struct prose *t, const shoal_study *s)
{
    struct shoal_study_cell cell;
    double least = INFINITY;
    size_t worst = 0;

    for (size_t i = 0; i < s->ncells; i++) {
        size_t last = i;

        if (study_cell_base(s, i) != i || !last_of(s, i, &last) || last == i ||
            !study_cell_best(s, i) || is_short(s, i) || is_short(s, last) ||
            !shoal_study_cell(s, last, &cell) || !(cell.efficiency < least))
            continue;
        least = cell.efficiency;
        worst = last;
    }
    if (isfinite(least))
        say_limit(t, s, worst);
}

/* All that is to be said of a series; of many series only how fast they are. */
static void say_series(struct prose *t, const shoal_study *s, size_t base, bool many)
{
    size_t last = base, best = quickest_of(s, base);

    if (!study_cell_best(s, base) || !last_of(s, base, &last))
        return;
    if (last != base && !is_short(s, base) && !is_short(s, last))
        say_speed(t, s, base, last);
    if (last != base && !is_short(s, base) && !is_short(s, last) && !many)
        say_quality(t, s, base, last);
    if (best != last && best != base && !is_short(s, base) && !is_short(s, best))
        say_speed(t, s, base, best);
    if (!many && !is_short(s, last))
        say_limit(t, s, last);
}

void findings_text(struct prose *t, const shoal_study *s)
{
    size_t series = 0;

    for (size_t i = 0; i < s->ncells; i++)
        series += study_cell_base(s, i) == i;
    for (size_t i = 0; i < s->ncells; i++)
        if (study_cell_base(s, i) == i)
            say_series(t, s, i, series > MANY);
    if (series > MANY)
        say_worst(t, s);
    say_short(t, s);
    say_cores(t, s);
}

void findings_html(struct prose *t, const shoal_study *s)
{
    struct prose lines = {0};
    char *rest;

    findings_text(&lines, s);
    rest = lines.bytes.at;
    for (const char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (*line)
            prose_wrap(t, "<p>", line, "</p>\n");
    if (t->status == SHOAL_OK)
        t->status = lines.status;
    prose_fini(&lines);
}
