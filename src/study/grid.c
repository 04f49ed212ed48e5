/* A study: which runs there are, which is next, what became of them.
 *
 * A cell is a point of the grid; every cell runs `repeat` times:
 *
 *     cells [ncells]          scaling x batch x sync x servers x workers, workers varying fastest
 *     runs  [repeat][ncells]  number = (repeat - 1) * ncells + cell
 *
 * Cells whose training is the very same are twins: one worker without servers has nobody to wait
 * for, so no policy matters to it, and one worker has the same work in either scaling. The first
 * of twins is run, the others show what it came to.
 *
 * Runs are done in the order of their numbers, one round over all cells after the other and not
 * one cell after the other. What changes on a machine in the course of hours then falls on all
 * cells alike, and a study that is stopped early still has a table of whole rounds.
 *
 * The state of a study is study.json, which is written anew after each run. Opening the folder
 * again with the same grid takes over the runs that are done; those that failed, or were running
 * when the study was killed, are open again. More repeats only add rounds. While a study is open
 * it holds a lock (flock) on its folder, so no two of them can write there. */
#include "file/file.h"
#include "study/study.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- options ---- */

struct shoal_study_opts shoal_study_default(void)
{
    return (struct shoal_study_opts){
        .workers = {{1, 2, 4}, 3}, .repeat = 3, .target_loss = (double)NAN};
}

enum { WORKERS_MOST = 1 << 30, SERVERS_MOST = 1023 };

static size_t cells_of(const struct shoal_study_opts *o)
{
    return o->workers.n * (o->servers.n ? o->servers.n : 1) * (o->nsync ? o->nsync : 1) *
           (o->batch.n ? o->batch.n : 1) * (o->scaling == SHOAL_STRONG_AND_WEAK ? 2 : 1);
}

/* Refuses options that the grid sets itself. */
static shoal_status check_more(const struct shoal_study_opts *o)
{
    static const char *const taken[] = {"--ranks", "--metrics", "--output", "-o",        "--epochs",
                                        "--sync",  "--batch",   "--resume", "--servers", "--steps"};

    for (size_t i = 0; i < o->nmore; i++)
        for (size_t k = 0; k < sizeof taken / sizeof *taken; k++) {
            size_t len = strlen(taken[k]);

            if (strncmp(o->more[i], taken[k], len) == 0 &&
                (o->more[i][len] == '\0' || o->more[i][len] == '='))
                return shoal_fail(SHOAL_EINVAL,
                                  "study: found %s among the options for `shoal train`, want it to "
                                  "the study itself",
                                  taken[k]);
        }
    return SHOAL_OK;
}

/* The place of the first value that is not above the one before it, or out of range; n: there is
 * none. */
static size_t first_bad(const struct shoal_axis *axis, uint64_t least, uint64_t most)
{
    size_t i = 0;

    while (i < axis->n && axis->at[i] >= (i > 0 ? axis->at[i - 1] + 1 : least) &&
           axis->at[i] <= most)
        i++;
    return i;
}

static shoal_status check_servers(const struct shoal_study_opts *o)
{
    size_t bad = first_bad(&o->servers, 0, SERVERS_MOST);

    if (bad < o->servers.n)
        return shoal_fail(SHOAL_EINVAL, "study: --servers has %llu, want them to rise from 0 to %d",
                          (unsigned long long)o->servers.at[bad], SERVERS_MOST);
    if (o->worker == SHOAL_WORKER_THREAD && o->servers.n > 0 && o->servers.at[o->servers.n - 1] > 0)
        return shoal_fail(SHOAL_EINVAL, "study: --servers has %llu, want 0: threads share one model",
                          (unsigned long long)o->servers.at[o->servers.n - 1]);
    return SHOAL_OK;
}

/* How long a run is: by epochs or by steps. */
static shoal_status check_length(const struct shoal_study_opts *o)
{
    uint64_t most = o->workers.at[o->workers.n - 1];

    if (o->epochs > 0 && o->steps > 0)
        return shoal_fail(SHOAL_EINVAL,
                          "study: found --epochs %u and --steps %llu, want one of them", o->epochs,
                          (unsigned long long)o->steps);
    if (o->scaling != SHOAL_STRONG && o->epochs == 0 && o->steps == 0)
        return shoal_fail(SHOAL_EINVAL, "study: --epochs is 0, want a number that weak scaling can "
                                        "multiply");
    if (o->scaling != SHOAL_WEAK && o->steps > 0 && o->steps < most)
        return shoal_fail(SHOAL_EINVAL,
                          "study: --steps is %llu, want at least one for each of %llu workers",
                          (unsigned long long)o->steps, (unsigned long long)most);
    return SHOAL_OK;
}

static shoal_status check_axes(const struct shoal_study_opts *o)
{
    size_t bad;

    if (o->workers.n == 0 || o->workers.n > SHOAL_STUDY_AXIS || o->nsync > SHOAL_STUDY_AXIS ||
        o->batch.n > SHOAL_STUDY_AXIS || o->servers.n > SHOAL_STUDY_AXIS)
        return shoal_fail(
            SHOAL_EINVAL,
            "study: found %zu workers, %zu servers, %zu sync, %zu batch, want 1 to %d",
            o->workers.n, o->servers.n, o->nsync, o->batch.n, SHOAL_STUDY_AXIS);
    bad = first_bad(&o->workers, 1, WORKERS_MOST);
    if (bad < o->workers.n)
        return shoal_fail(SHOAL_EINVAL, "study: --workers has %llu, want them to rise from 1 or more",
                          (unsigned long long)o->workers.at[bad]);
    bad = first_bad(&o->batch, 1, UINT64_MAX - 1);
    if (bad < o->batch.n)
        return shoal_fail(SHOAL_EINVAL, "study: --batch is %llu, want it to rise from 1 or more",
                          (unsigned long long)o->batch.at[bad]);
    if (o->worker == SHOAL_WORKER_THREAD && o->nsync > 0)
        return shoal_fail(SHOAL_EINVAL, "study: --sync is '%s', want none: threads share one model",
                          o->sync[0]);
    return check_servers(o);
}

shoal_status shoal_study_check(const struct shoal_study_opts *o)
{
    shoal_status st = check_axes(o);

    if (st != SHOAL_OK)
        return st;
    if (!o->model || !*o->model || o->ndata == 0)
        return shoal_fail(SHOAL_EINVAL, "study: found no model or no data, want both");
    if (cells_of(o) > SHOAL_STUDY_CELLS)
        return shoal_fail(SHOAL_ELIMIT, "study: found %zu cells, want at most %d", cells_of(o),
                          SHOAL_STUDY_CELLS);
    if (o->repeat == 0 || o->repeat > SHOAL_STUDY_REPEATS)
        return shoal_fail(SHOAL_EINVAL, "study: --repeat is %u, want 1 to %d", o->repeat,
                          SHOAL_STUDY_REPEATS);
    st = check_length(o);
    return st == SHOAL_OK ? check_more(o) : st;
}

/* ---- making ---- */

static char *copy_word(const char *word, shoal_status *st)
{
    char *copy = *st == SHOAL_OK ? mem_text("%s", word) : NULL;

    if (!copy)
        *st = SHOAL_ENOMEM;
    return copy;
}

static void copy_list(const char *const **to, const char *const *from, size_t n, shoal_status *st)
{
    char **list = mem_array(n + 1, sizeof *list);

    if (!list)
        *st = SHOAL_ENOMEM;
    for (size_t i = 0; i < n && list; i++)
        list[i] = copy_word(from[i], st);
    *to = (const char *const *)list;
}

static shoal_status copy_opts(struct shoal_study_opts *to, const struct shoal_study_opts *from)
{
    shoal_status st = SHOAL_OK;

    *to = *from;
    memset(to->sync, 0, sizeof to->sync);
    to->model = copy_word(from->model, &st);
    copy_list(&to->data, from->data, from->ndata, &st);
    copy_list(&to->more, from->more, from->nmore, &st);
    for (size_t i = 0; i < from->nsync; i++)
        to->sync[i] = copy_word(from->sync[i], &st);
    return st;
}

static void plan_cells(shoal_study *s)
{
    const struct shoal_study_opts *o = &s->opts;

    for (int weak = o->scaling == SHOAL_WEAK; weak <= (o->scaling != SHOAL_STRONG); weak++)
        for (size_t b = 0; b < (o->batch.n ? o->batch.n : 1); b++)
            for (size_t y = 0; y < (o->nsync ? o->nsync : 1); y++)
                for (size_t v = 0; v < (o->servers.n ? o->servers.n : 1); v++)
                    for (size_t w = 0; w < o->workers.n; w++)
                        s->cells[s->ncells++] =
                            (struct cell){.workers = (unsigned)o->workers.at[w],
                                          .servers = o->servers.n ? (unsigned)o->servers.at[v] : 0,
                                          .sync = y,
                                          .batch = b,
                                          .weak = weak != 0};
    for (size_t i = 0; i < s->ncells; i++)
        while (!study_cells_twins(&s->cells[s->cells[i].twin], &s->cells[i]))
            s->cells[i].twin++;
}

shoal_status study_new(shoal_study **out, const char *folder, const struct shoal_study_opts *opts)
{
    shoal_study *s = mem_array(1, sizeof *s);
    shoal_status st = shoal_study_check(opts);

    *out = NULL;
    if (!s)
        return SHOAL_ENOMEM;
    s->lock = -1;
    if (st == SHOAL_OK)
        st = copy_opts(&s->opts, opts);
    s->folder = copy_word(folder, &st);
    if (st == SHOAL_OK) {
        s->cells = mem_array(cells_of(opts), sizeof *s->cells);
        s->runs = mem_array(cells_of(opts) * opts->repeat, sizeof *s->runs);
        st = s->cells && s->runs ? SHOAL_OK : SHOAL_ENOMEM;
    }
    if (st != SHOAL_OK) {
        shoal_study_close(s);
        return st;
    }
    plan_cells(s);
    machine_describe(s->machine);
    s->cores = pool_threads(0);
    *out = s;
    return SHOAL_OK;
}

static void free_list(const char *const *list, size_t n)
{
    for (size_t i = 0; list && i < n; i++)
        free((void *)(uintptr_t)list[i]);
    free((void *)(uintptr_t)list);
}

static void free_words(shoal_study *s)
{
    prose_fini(&s->command);
    free(s->words);
    free(s->run_folder);
    s->words = NULL;
    s->run_folder = NULL;
    s->nwords = 0;
}

void shoal_study_close(shoal_study *s)
{
    if (!s)
        return;
    if (s->lock >= 0)
        close(s->lock);
    free_words(s);
    free((void *)(uintptr_t)s->opts.model);
    free_list(s->opts.data, s->opts.ndata);
    free_list(s->opts.more, s->opts.nmore);
    for (size_t i = 0; i < SHOAL_STUDY_AXIS; i++)
        free((void *)(uintptr_t)s->opts.sync[i]);
    free(s->cells);
    free(s->simulated);
    free(s->runs);
    free(s->folder);
    free(s);
}

/* ---- going on ---- */

static bool same_list(const char *const *a, size_t na, const char *const *b, size_t nb)
{
    if (na != nb)
        return false;
    for (size_t i = 0; i < na; i++)
        if (strcmp(a[i], b[i]) != 0)
            return false;
    return true;
}

static bool same_axis(const struct shoal_axis *a, const struct shoal_axis *b)
{
    return a->n == b->n && memcmp(a->at, b->at, a->n * sizeof *a->at) == 0;
}

/* In what two grids differ; NULL: in nothing but the repeats. */
static const char *difference(const struct shoal_study_opts *a, const struct shoal_study_opts *b)
{
    if (strcmp(a->model, b->model) != 0)
        return "model";
    if (!same_list(a->data, a->ndata, b->data, b->ndata))
        return "data";
    if (!same_list(a->more, a->nmore, b->more, b->nmore))
        return "options for `shoal train`";
    if (a->worker != b->worker || !same_axis(&a->workers, &b->workers))
        return "workers";
    if (!same_axis(&a->servers, &b->servers))
        return "servers";
    if (!same_list(a->sync, a->nsync, b->sync, b->nsync))
        return "sync";
    if (!same_axis(&a->batch, &b->batch))
        return "batch";
    if (a->scaling != b->scaling || a->epochs != b->epochs || a->steps != b->steps)
        return "scaling, epochs or steps";
    if (isnan(a->target_loss) != isnan(b->target_loss) ||
        (!isnan(a->target_loss) &&
         (a->target_loss != b->target_loss || a->target_of != b->target_of)))
        return "target loss";
    return NULL;
}

/* What is done stays so; what failed is tried again. */
static void go_on(shoal_study *s, const shoal_study *before)
{
    size_t repeats = before->opts.repeat < s->opts.repeat ? before->opts.repeat : s->opts.repeat;

    for (size_t i = 0; i < repeats * s->ncells; i++)
        if (before->runs[i].state == RUN_DONE)
            s->runs[i] = before->runs[i];
    memcpy(s->machine, before->machine, sizeof s->machine);
    s->cores = before->cores;
}

/* The folder is this study's as long as it is open, or its process lives. */
static shoal_status lock_folder(shoal_study *s)
{
    s->lock = open(s->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->lock < 0)
        return shoal_fail_errno(SHOAL_EIO, "%s", s->folder);
    if (flock(s->lock, LOCK_EX | LOCK_NB) == 0)
        return SHOAL_OK;
    if (errno == EWOULDBLOCK)
        return shoal_fail(SHOAL_EINVAL,
                          "%s: found a study that runs there now, want its end or another folder",
                          s->folder);
    return shoal_fail_errno(SHOAL_EIO, "%s", s->folder);
}

shoal_status shoal_study_open(shoal_study **out, const char *folder,
                              const struct shoal_study_opts *opts)
{
    shoal_study *before = NULL;
    const char *differs = NULL;
    shoal_status st;

    st = study_new(out, folder, opts);
    if (st == SHOAL_OK && mkdir(folder, 0777) != 0 && errno != EEXIST)
        st = shoal_fail_errno(SHOAL_EIO, "%s", folder);
    if (st == SHOAL_OK)
        st = lock_folder(*out);
    if (st == SHOAL_OK)
        st = record_read(&before, folder);
    if (st == SHOAL_OK && before)
        differs = difference(&before->opts, &(*out)->opts);
    if (differs)
        st = shoal_fail(SHOAL_EINVAL,
                        "%s: found a study that differs in its %s, want the same or another folder",
                        folder, differs);
    if (st == SHOAL_OK && before)
        go_on(*out, before);
    if (st == SHOAL_OK)
        st = record_write(*out);
    if (st != SHOAL_OK) {
        shoal_study_close(*out);
        *out = NULL;
    }
    shoal_study_close(before);
    return st;
}

/* ---- runs ---- */

/* Whether run `i` is one, and not that of a twin. */
static bool own_run(const shoal_study *s, size_t i)
{
    return s->cells[i % s->ncells].twin == i % s->ncells;
}

static size_t count_runs(const shoal_study *s, bool finished)
{
    size_t n = 0;

    for (size_t i = 0; i < s->ncells * s->opts.repeat; i++)
        n += own_run(s, i) && (!finished || s->runs[i].state != RUN_OPEN);
    return n;
}

size_t shoal_study_runs(const shoal_study *s)
{
    return count_runs(s, false);
}

size_t shoal_study_finished(const shoal_study *s)
{
    return count_runs(s, true);
}

const char *study_worker_name(const shoal_study *s)
{
    if (s->opts.servers.n > 0)
        return "worker";
    return s->opts.worker == SHOAL_WORKER_THREAD ? "thread" : "rank";
}

bool study_any_sync(const shoal_study *s, const struct cell *cell)
{
    return s->opts.nsync > 1 && cell->workers == 1 && cell->servers == 0;
}

/* Names only what varies from cell to cell; `workers` and `batch` say whether these belong to it,
 * since one of them varies along a line. */
static struct name name_of(const shoal_study *s, const struct cell *cell, bool workers, bool batch)
{
    const struct shoal_study_opts *o = &s->opts;
    struct prose t = {0};
    struct name name;

    if (workers)
        prose_add(&t, ", %u %s%s", cell->workers, study_worker_name(s),
                  cell->workers == 1 ? "" : "s");
    if (o->servers.n > (workers ? 0 : 1))
        prose_add(&t, ", %u server%s", cell->servers, cell->servers == 1 ? "" : "s");
    if (o->nsync > 0 && !(workers && study_any_sync(s, cell)))
        prose_add(&t, ", %.40s", o->sync[cell->sync]);
    if (o->batch.n > 0 && batch)
        prose_add(&t, ", batch %llu", (unsigned long long)o->batch.at[cell->batch]);
    if (o->scaling == SHOAL_STRONG_AND_WEAK)
        prose_add(&t, ", %s", cell->weak ? "weak" : "strong");
    snprintf(name.text, sizeof name.text, "%s", t.bytes.len > 0 ? t.bytes.at + strlen(", ") : "");
    prose_fini(&t);
    return name;
}

struct name study_cell_name(const shoal_study *s, size_t cell)
{
    return name_of(s, &s->cells[cell], true, true);
}

void shoal_study_name(const shoal_study *s, size_t i, char name[96])
{
    name[0] = '\0';
    if (i < s->ncells)
        snprintf(name, 96, "%s", study_cell_name(s, i).text);
}

struct name study_line_name(const shoal_study *s, size_t cell, bool by_batch)
{
    return name_of(s, &s->cells[cell], by_batch, !by_batch);
}

char *study_run_folder(const shoal_study *s, size_t number)
{
    return mem_text("%s/runs/cell-%03zu-%03zu", s->folder, number % s->ncells + 1,
                    number / s->ncells + 1);
}

static shoal_status make_folder(const shoal_study *s, const char *folder)
{
    char *runs = mem_text("%s/runs", s->folder);
    shoal_status st = runs ? SHOAL_OK : SHOAL_ENOMEM;

    if (runs && ((mkdir(runs, 0777) != 0 && errno != EEXIST) ||
                 (mkdir(folder, 0777) != 0 && errno != EEXIST)))
        st = shoal_fail_errno(SHOAL_EIO, "%s", folder);
    free(runs);
    return st;
}

/* ---- the command of a run ---- */

void command_begin(shoal_study *s, char *folder)
{
    free_words(s);
    s->run_folder = folder;
    s->command.status = folder ? SHOAL_OK : SHOAL_ENOMEM;
}

void command_word(shoal_study *s, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    prose_vadd(&s->command, fmt, args);
    va_end(args);
    prose_add(&s->command, "%c", '\0');
    s->nwords++;
}

static void add_count(shoal_study *s, const char *option, uint64_t n)
{
    command_word(s, "%s", option);
    command_word(s, "%llu", (unsigned long long)n);
}

static void add_list(shoal_study *s, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        command_word(s, "%s", words[i]);
}

bool study_has_option(const struct shoal_study_opts *o, const char *option)
{
    for (size_t i = 0; i < o->nmore; i++)
        if (strncmp(o->more[i], option, strlen(option)) == 0)
            return true;
    return false;
}

/* `shoal train --steps` counts those of each rank, whose threads share them: strong scaling divides
 * them among ranks, to the nearest, and weak scaling multiplies them by threads. */
static uint64_t steps_of(const struct shoal_study_opts *o, const struct cell *cell)
{
    if (o->worker == SHOAL_WORKER_THREAD)
        return cell->weak ? o->steps * cell->workers : o->steps;
    return cell->weak ? o->steps : (o->steps + cell->workers / 2) / cell->workers;
}

/* A rank works with one thread unless somebody said otherwise: then n ranks are n
 * workers and no more. */
static void add_axes(shoal_study *s, const struct cell *cell, bool launched)
{
    const struct shoal_study_opts *o = &s->opts;

    if (o->worker == SHOAL_WORKER_THREAD) {
        add_count(s, "--threads", cell->workers);
    } else {
        if (!launched)
            add_count(s, "--ranks", (uint64_t)cell->workers + cell->servers);
        if (cell->servers > 0)
            add_count(s, "--servers", cell->servers);
        if (!study_has_option(o, "--threads"))
            add_count(s, "--threads", 1);
    }
    if (o->nsync > 0)
        add_list(s, (const char *const[]){"--sync", o->sync[cell->sync]}, 2);
    if (o->batch.n > 0)
        add_count(s, "--batch", o->batch.at[cell->batch]);
    if (o->epochs > 0)
        add_count(s, "--epochs", (uint64_t)o->epochs * (cell->weak ? cell->workers : 1));
    if (o->steps > 0)
        add_count(s, "--steps", steps_of(o, cell));
}

/* Pointers to the words, once they stay where they are. */
static shoal_status point_to_words(shoal_study *s)
{
    char *at = s->command.bytes.at;

    if (s->command.status != SHOAL_OK)
        return s->command.status;
    s->words = mem_array(s->nwords + 1, sizeof *s->words);
    for (size_t i = 0; s->words && i < s->nwords; i++, at += strlen(at) + 1)
        s->words[i] = at;
    return s->words ? SHOAL_OK : SHOAL_ENOMEM;
}

shoal_status command_train(shoal_study *s, const struct cell *cell)
{
    const struct shoal_study_opts *o = &s->opts;
    bool launched = s->nwords > 0;
    shoal_status st;

    add_list(s, (const char *const[]){"train", o->model}, 2);
    add_axes(s, cell, launched);
    add_list(s, o->more, o->nmore);
    command_word(s, "--metrics");
    command_word(s, "%s/metrics.jsonl", s->run_folder);
    command_word(s, "--output");
    command_word(s, "%s/model.shoal", s->run_folder);
    command_word(s, "--quiet");
    command_word(s, "--");
    add_list(s, o->data, o->ndata);
    st = point_to_words(s);
    return st == SHOAL_OK ? make_folder(s, s->run_folder) : st;
}

/* A run that was killed with its study may not have ended yet: what it still writes shall not
 * be among what the next one does. */
static void forget_metrics(const char *folder)
{
    char *path = mem_text("%s/metrics.jsonl", folder);

    if (path)
        unlink(path);
    free(path);
}

bool shoal_study_next(shoal_study *s, struct shoal_study_run *run, shoal_status *st)
{
    size_t n = 0, all = s->ncells * s->opts.repeat;

    *st = SHOAL_OK;
    while (n < all && (s->runs[n].state != RUN_OPEN || !own_run(s, n)))
        n++;
    if (n == all)
        return false;
    command_begin(s, study_run_folder(s, n));
    *st = command_train(s, &s->cells[n % s->ncells]);
    if (*st != SHOAL_OK)
        return false;
    forget_metrics(s->run_folder);
    *run = (struct shoal_study_run){.number = n,
                                    .repeat = (unsigned)(n / s->ncells) + 1,
                                    .words = s->words,
                                    .nwords = s->nwords,
                                    .folder = s->run_folder};
    snprintf(run->name, sizeof run->name, "%s", study_cell_name(s, n % s->ncells).text);
    return true;
}

/* ---- what became of it ---- */

void study_run_fail(struct study_run *run, const char *why)
{
    run->state = RUN_FAILED;
    snprintf(run->failure, sizeof run->failure, "%s", why);
}

/* The model is removed once its run is measured: models would fill the disk. */
void study_run_take(const shoal_study *s, struct study_run *run, const char *folder)
{
    char *path = mem_text("%s/metrics.jsonl", folder), *model = mem_text("%s/model.shoal", folder);
    shoal_run *read = NULL;

    if (!path || !model || shoal_run_read(&read, path) != SHOAL_OK) {
        study_run_fail(run, shoal_error());
    } else if (!read->end.done) {
        study_run_fail(run, "its metrics do not come to an end");
    } else {
        run->state = RUN_DONE;
        run->m = study_run_measures(read, s->opts.target_loss, s->opts.target_of);
        unlink(model);
    }
    shoal_run_free(read);
    free(path);
    free(model);
}

shoal_status shoal_study_ended(shoal_study *s, size_t number, double whole_seconds,
                               const char *failure)
{
    struct study_run *run;
    char *folder;

    if (number >= s->ncells * s->opts.repeat)
        return shoal_fail(SHOAL_EINVAL, "study: found run %zu, want one below %zu", number,
                          s->ncells * s->opts.repeat);
    run = &s->runs[number];
    *run = (struct study_run){0};
    folder = study_run_folder(s, number);
    if (!folder)
        return SHOAL_ENOMEM;
    if (failure)
        study_run_fail(run, failure);
    else
        study_run_take(s, run, folder);
    run->m.whole = whole_seconds;
    free(folder);
    return record_write(s);
}
