/* Training without replicas, where a rank has no memory for whole tables: a round is a block of
 * work. Which rows it will touch is known beforehand, since what a worker samples is keyed by the
 * position alone: listing a block draws the same random numbers as training it. So its rows are
 * asked for one round ahead, and the wait for them hides behind the work:
 *
 *     round k     list k+2 | train k   (each thread its part)
 *     before it   want k+1              its rows travel meanwhile
 *     after it    swap: k goes back, k+1 is here                                  */
#include "train/rows/rows.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLLECT_ROWS = 4096 }; /* at a time */

/* A slice, as a sequence of rounds. */
struct rounds {
    struct run *r;
    uint64_t n, at;
    bool trains; /* or only lists what comes first */
};

/* ---- beginning and end ---- */

static void set_views(struct run *r)
{
    for (size_t i = 0; i < r->rows->nworkers; i++)
        for (size_t t = 0; t < r->rows->ntables; t++)
            r->rows->workers[i].views[t] = store_view(r->rows->store, t);
}

shoal_status blocks_begin(struct run *r)
{
    for (size_t i = 0; i < r->rows->nworkers; i++)
        for (size_t t = 0; t < r->rows->ntables; t++) {
            uint64_t **bits = &r->rows->workers[i].bits[t];

            *bits = mem_array((r->rows->tables[t].rows + 63) / 64, sizeof **bits);
            if (!*bits)
                return SHOAL_ENOMEM;
        }
    set_views(r);
    return SHOAL_OK;
}

void blocks_end(struct run *r)
{
    for (size_t i = 0; i < r->rows->nworkers && r->rows->workers; i++)
        for (size_t t = 0; t < r->rows->ntables; t++) {
            free(r->rows->workers[i].bits[t]);
            r->rows->workers[i].views[t] = (struct view){0};
        }
}

/* ---- rounds ---- */

static shoal_status part_list(struct run *r, unsigned index, uint64_t i, size_t from, size_t to)
{
    (void)i;
    r->task->rows->list(r, &r->rows->workers[index], from, to);
    return SHOAL_OK;
}

/* The parts of a chunk follow each other, then comes the next group of chunks. */
static shoal_status round_parts(const struct rounds *b, unsigned index, uint64_t round,
                                rows_part_fn *fn)
{
    struct run *r = b->r;

    return rows_parts_each(r, index, r->at.place + round / r->rows->parts * r->group,
                           round % r->rows->parts, fn);
}

static shoal_status round_thread(void *ctx, unsigned index)
{
    const struct rounds *b = ctx;
    uint64_t lists = b->trains ? b->at + 2 : b->at;
    shoal_status st = lists < b->n ? round_parts(b, index, lists, part_list) : SHOAL_OK;

    return st == SHOAL_OK && b->trains ? round_parts(b, index, b->at, rows_part_train) : st;
}

static shoal_status want(struct run *r, bool reads)
{
    for (size_t t = 0; t < r->rows->ntables; t++)
        for (size_t i = 1; i < r->rows->nworkers; i++)
            for (size_t w = 0; w < (r->rows->tables[t].rows + 63) / 64; w++) {
                r->rows->workers[0].bits[t][w] |= r->rows->workers[i].bits[t][w];
                r->rows->workers[i].bits[t][w] = 0;
            }
    return store_want(r->rows->store, r->rows->workers[0].bits, reads);
}

static shoal_status swap(struct run *r)
{
    shoal_status st = store_swap(r->rows->store);

    set_views(r);
    return st;
}

/* The first block has nothing to hide behind: it is listed, asked for and waited for. */
static shoal_status first_rounds(struct rounds *b)
{
    struct run *r = b->r;
    unsigned threads = (unsigned)r->rows->nworkers;
    shoal_status st = pool_run(threads, round_thread, b);

    if (st == SHOAL_OK)
        st = want(r, false);
    if (st == SHOAL_OK)
        st = swap(r);
    b->at = 1;
    if (st == SHOAL_OK && b->n > 1)
        st = pool_run(threads, round_thread, b);
    b->at = 0;
    b->trains = true;
    return st;
}

shoal_status blocks_advance(struct run *r)
{
    uint64_t groups = (r->stop - r->at.place + r->group - 1) / r->group;
    struct rounds b = {.r = r, .n = groups * r->rows->parts};
    shoal_status st = first_rounds(&b);

    for (; b.at < b.n && st == SHOAL_OK; b.at++) {
        if (b.at + 1 < b.n)
            st = want(r, false);
        if (st == SHOAL_OK)
            st = pool_run((unsigned)r->rows->nworkers, round_thread, &b);
        if (st == SHOAL_OK)
            st = swap(r);
        run_timeline_mark(r);
    }
    r->at.place = r->stop;
    rows_count(r);
    return st;
}

/* ---- reading ---- */

shoal_status blocks_read(struct run *r)
{
    shoal_status st = want(r, true);

    return st == SHOAL_OK ? swap(r) : st;
}

shoal_status blocks_read_end(struct run *r)
{
    return swap(r);
}

/* ---- the result ---- */

/* The folder of the output; NULL when there is none. */
static const char *folder_of(char path[4096], const char *output)
{
    if (!output)
        return NULL;
    snprintf(path, 4096, "%s", output);
    return dirname(path);
}

static shoal_status collect_rows(struct run *r, size_t t, size_t from, size_t to)
{
    struct table *table = &r->rows->tables[t];
    struct worker *w = r->rows->workers;
    shoal_status st;

    for (size_t row = from; row < to; row++)
        w->bits[t][row / 64] |= 1ull << (row % 64);
    st = blocks_read(r);
    for (size_t row = from; row < to && st == SHOAL_OK; row++)
        memcpy(table->at + row * table->stride, view_row(&w->views[t], (uint32_t)row),
               table->stride * sizeof *table->at);
    mem_release(table->at + from * table->stride, (to - from) * table->stride * sizeof *table->at);
    return st;
}

static shoal_status collect_table(struct run *r, size_t t)
{
    struct table *table = &r->rows->tables[t];
    char folder[4096];
    shoal_status st = SHOAL_OK;

    table->at = mem_map_file(folder_of(folder, r->opts->output), table_size(table));
    if (!table->at)
        return SHOAL_EIO;
    for (size_t from = 0, to; from < table->rows && st == SHOAL_OK; from = to) {
        to = from + COLLECT_ROWS < table->rows ? from + COLLECT_ROWS : table->rows;
        st = collect_rows(r, t, from, to);
    }
    return st;
}

shoal_status blocks_collect(struct run *r)
{
    shoal_status st = SHOAL_OK;

    for (size_t t = 0; t < r->rows->ntables && r->leads && st == SHOAL_OK; t++)
        st = collect_table(r, t);
    if (r->leads && st == SHOAL_OK)
        st = blocks_read_end(r);
    return shoal_ranks_agree(r->opts->ranks, st);
}
