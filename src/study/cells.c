/* What the runs of a cell come to, alone and beside its base.
 *
 * A cell counts by the quickest of its runs: other work on the machine can only add time, so the
 * least of several is the best estimate, and the spread says how much was added.
 *
 * Its base is the cell with the fewest workers that is otherwise alike; cells with one base are a
 * series. With T the seconds of training and r = workers / workers of the base:
 *
 *                          strong (the same work)     weak (r times the work)
 *     speedup              T(base) / T                r T(base) / T
 *     efficiency           speedup / r                speedup / r = T(base) / T */
#include "study/study.h"

#include <math.h>

/* By its command alone: see grid.c. */
bool study_cells_twins(const struct cell *a, const struct cell *b)
{
    bool alone = a->workers == 1 && a->servers == 0;

    return a->workers == b->workers && a->servers == b->servers && a->batch == b->batch &&
           (a->sync == b->sync || alone) && (a->weak == b->weak || a->workers == 1);
}

size_t study_cell_base(const shoal_study *s, size_t cell)
{
    const struct cell *c = &s->cells[cell];
    size_t base = cell;

    for (size_t i = 0; i < s->ncells; i++) {
        const struct cell *x = &s->cells[i];

        if (x->sync == c->sync && x->batch == c->batch && x->weak == c->weak &&
            x->servers == c->servers && x->workers < s->cells[base].workers)
            base = i;
    }
    return base;
}

const struct study_run *study_cell_best(const shoal_study *s, size_t cell)
{
    const struct study_run *best = NULL;

    cell = s->cells[cell].twin;
    for (size_t r = 0; r < s->opts.repeat; r++) {
        const struct study_run *run = &s->runs[r * s->ncells + cell];

        if (run->state == RUN_DONE && (!best || run->m.seconds < best->m.seconds))
            best = run;
    }
    return best;
}

double study_cell_number(const struct shoal_study_cell *c, size_t of, size_t per)
{
    double x = *(const double *)(const void *)((const char *)c + of);

    return per ? x / *(const double *)(const void *)((const char *)c + per) : x;
}

const struct shoal_measures *study_example(const shoal_study *s)
{
    for (size_t i = 0; i < s->ncells; i++)
        if (study_cell_best(s, i))
            return &study_cell_best(s, i)->m;
    return NULL;
}

static void count_runs(const shoal_study *s, size_t i, struct shoal_study_cell *cell)
{
    double most = 0;

    i = cell->twin;
    for (size_t r = 0; r < s->opts.repeat; r++) {
        const struct study_run *run = &s->runs[r * s->ncells + i];

        cell->done += run->state == RUN_DONE;
        cell->failed += run->state == RUN_FAILED;
        if (run->state == RUN_FAILED)
            cell->failure = run->failure;
        if (run->state == RUN_DONE)
            most = fmax(most, run->m.seconds);
    }
    if (cell->done > 0 && cell->best.seconds > 0)
        cell->spread = (most - cell->best.seconds) / cell->best.seconds;
}

static void compare(const shoal_study *s, size_t i, struct shoal_study_cell *cell)
{
    size_t base = study_cell_base(s, i);
    const struct study_run *against = study_cell_best(s, base);
    double more = (double)cell->workers / s->cells[base].workers, faster;

    if (cell->done == 0 || !against || !(cell->best.seconds > 0))
        return;
    faster = against->m.seconds / cell->best.seconds;
    cell->speedup = cell->weak ? faster * more : faster;
    cell->efficiency = cell->speedup / more;
}

bool shoal_study_cell(const shoal_study *s, size_t i, struct shoal_study_cell *cell)
{
    const struct study_run *best;
    const struct cell *c;

    if (i >= s->ncells)
        return false;
    c = &s->cells[i];
    *cell = (struct shoal_study_cell){
        .workers = c->workers,
        .servers = c->servers,
        .twin = c->twin,
        .sync = s->opts.nsync > 0 ? s->opts.sync[c->sync] : NULL,
        .batch = s->opts.batch.n > 0 ? s->opts.batch.at[c->batch] : 0,
        .weak = c->weak,
        .spread = (double)NAN,
        .speedup = (double)NAN,
        .efficiency = (double)NAN,
    };
    best = study_cell_best(s, i);
    if (best)
        cell->best = best->m;
    count_runs(s, i, cell);
    compare(s, i, cell);
    return true;
}
