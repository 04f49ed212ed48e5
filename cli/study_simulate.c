/* Predictions of a study by the trainer itself, under SimGrid's smpirun. */
#include "study.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODULE_VARIABLE "SHOAL_SMPI" /* names another module than the build's */
#define MODULE "shoal-smpi.so"

/* Beside this program, as it was built, or where it is installed. */
static bool find_module(char path[PATH_MAX])
{
    const char *named = getenv(MODULE_VARIABLE);
    char *self = realpath("/proc/self/exe", NULL), *slash = self ? strrchr(self, '/') : NULL;

    snprintf(path, PATH_MAX, "%s", named ? named : "");
    if (!named && slash)
        snprintf(path, PATH_MAX, "%.*s/" MODULE, (int)(slash - self), self);
    if (!named && slash && access(path, R_OK) != 0)
        snprintf(path, PATH_MAX, SHOAL_MODULES "/" MODULE);
    free(self);
    return access(path, R_OK) == 0;
}

static bool in_path(const char *program)
{
    const char *path = getenv("PATH");
    char file[PATH_MAX];

    while (path && *path) {
        size_t len = strcspn(path, ":");

        snprintf(file, sizeof file, "%.*s/%s", (int)len, path, program);
        if (access(file, X_OK) == 0)
            return true;
        path += len + (path[len] == ':');
    }
    return false;
}

enum { JOBS_MOST = 64 };

struct job {
    bool runs;
    size_t number;
    double memory; /* bytes */
    char text[192];
    struct child child;
};

struct jobs {
    struct console *console;
    shoal_study *study;
    const struct shoal_cluster *cluster;
    const char *module;
    size_t next, all; /* of the simulations */
    size_t n;         /* at a time, */
    double memory;    /* as long as they need less together */
    struct job at[JOBS_MOST];
};

/* One may always run; others beside it in nine tenths of what was free before. */
static bool fits(struct jobs *j, const struct shoal_study_run *run)
{
    double used = 0;
    bool alone = true;

    for (size_t i = 0; i < j->n; i++)
        if (j->at[i].runs) {
            used += j->at[i].memory;
            alone = false;
        }
    if (alone)
        j->memory = 0.9 * run->memory_free;
    return alone || used + run->memory <= j->memory;
}

/* Starts the next that did not run before, or leaves it for later; j->next == j->all: there is
 * none. */
static shoal_status job_start(struct jobs *j, struct job *job)
{
    struct shoal_study_run run = {.nwords = 0};
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && run.nwords == 0 && j->next < j->all) {
        job->number = j->next++;
        st = shoal_study_simulate(j->study, j->cluster, job->number, j->module, &run);
    }
    if (st != SHOAL_OK || run.nwords == 0)
        return st;
    if (!fits(j, &run)) {
        j->next = job->number;
        return SHOAL_OK;
    }
    job->memory = run.memory;
    snprintf(job->text, sizeof job->text, "%zu of %zu: %s", job->number + 1, j->all, run.name);
    console_progress_text(j->console, "simulate", job->text);
    st = child_begin(&job->child, &run, false);
    job->runs = st == SHOAL_OK;
    return st;
}

static shoal_status job_ended(struct jobs *j, struct job *job)
{
    const char *why = job->child.why;
    shoal_status st = child_end(&job->child);

    job->runs = false;
    if (st != SHOAL_OK)
        return st;
    if (why[0])
        console_log(j->console, STYLE_YELLOW, "%s: failed: %s", job->text, why);
    return shoal_study_simulated(j->study, j->cluster, job->number, why[0] ? why : NULL);
}

/* After a failure nothing is started, and what runs is waited for. */
static shoal_status jobs_run(struct jobs *j)
{
    shoal_status st = SHOAL_OK, ended;
    size_t running;

    do {
        running = 0;
        for (size_t i = 0; i < j->n; i++) {
            struct job *job = &j->at[i];

            if (job->runs && child_poll(&job->child)) {
                ended = job_ended(j, job);
                st = st == SHOAL_OK ? ended : st;
            }
            if (!job->runs && st == SHOAL_OK && j->next < j->all)
                st = job_start(j, job);
            running += job->runs;
        }
        if (running > 0)
            child_nap();
    } while (running > 0 || (st == SHOAL_OK && j->next < j->all));
    return st;
}

shoal_status study_simulate(struct console *c, shoal_study *study,
                            const struct shoal_cluster *cluster, size_t jobs)
{
    size_t n = shoal_study_simulations(study, cluster);
    char module[PATH_MAX];
    struct jobs *j;
    shoal_status st;

    if (n > 0 && (!find_module(module) || !in_path("smpirun"))) {
        console_log(c, STYLE_DIM,
                    "simulate: found no SimGrid (smpirun, " MODULE "), so a formula predicts");
        return SHOAL_OK;
    }
    j = console_alloc(sizeof *j);
    *j = (struct jobs){.console = c,
                       .study = study,
                       .cluster = cluster,
                       .module = module,
                       .all = n,
                       .n = jobs < JOBS_MOST ? jobs : JOBS_MOST};
    st = jobs_run(j);
    free(j);
    return st;
}
