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

static shoal_status simulate_one(struct console *c, shoal_study *study,
                                 const struct shoal_cluster *cluster, size_t number,
                                 const char *module)
{
    struct shoal_study_run run;
    char text[192], why[CHILD_WHY];
    shoal_status st = shoal_study_simulate(study, cluster, number, module, &run);

    if (st != SHOAL_OK || run.nwords == 0)
        return st;
    snprintf(text, sizeof text, "%zu of %zu: %s", number + 1,
             shoal_study_simulations(study, cluster), run.name);
    console_progress(c, "simulate", text);
    st = child_run(&run, false, why);
    if (st != SHOAL_OK)
        return st;
    if (why[0])
        console_log(c, STYLE_YELLOW, "%s: failed: %s", text, why);
    return shoal_study_simulated(study, cluster, number, why[0] ? why : NULL);
}

shoal_status study_simulate(struct console *c, shoal_study *study,
                            const struct shoal_cluster *cluster)
{
    size_t n = shoal_study_simulations(study, cluster);
    char module[PATH_MAX];
    shoal_status st = SHOAL_OK;

    if (n > 0 && (!find_module(module) || !in_path("smpirun"))) {
        console_log(c, STYLE_DIM,
                    "simulate: found no SimGrid (smpirun, " MODULE "), so a formula predicts");
        return SHOAL_OK;
    }
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = simulate_one(c, study, cluster, i, module);
    return st;
}
