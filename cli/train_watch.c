/* --watch: the report of a run, in a browser while it runs. */
#include "train.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REFRESH_SECONDS 2

struct watching {
    shoal_show *show;
    char *metrics;
    shoal_run *run; /* NULL: not read yet */
};

/* Called by the server's thread: it reads what the run has written since the last look. */
static shoal_status watch_page(void *user, char **text, size_t *len)
{
    struct watching *w = user;
    struct shoal_report_opts opts = shoal_report_default();
    shoal_status st;

    opts.title = "Training, as it goes";
    opts.refresh = REFRESH_SECONDS;
    st = w->run ? shoal_run_update(w->run) : shoal_run_read(&w->run, w->metrics);
    if (st == SHOAL_OK)
        return shoal_report_text(text, len, (const shoal_run *const *)&w->run, 1, &opts);
    shoal_run_free(w->run);
    w->run = NULL;
    return st;
}

/* Beside the output, where nobody named a file. */
static shoal_status metrics_beside(struct job *job)
{
    char *path;
    shoal_status st;

    if (strcmp(job->output, "-") == 0)
        return shoal_fail(SHOAL_EINVAL,
                          "watch: found no file of metrics, want --metrics FILE where "
                          "the output is '-'");
    if (asprintf(&path, "%s.metrics.jsonl", job->output) < 0)
        return shoal_fail(SHOAL_ENOMEM, "out of memory");
    st = shoal_options_set(job->options, "metrics", path);
    free(path);
    return st;
}

/* An empty file is read as a run without reports yet. A run that goes on appends. */
static shoal_status begin_metrics(const char *path)
{
    FILE *f = access(path, F_OK) == 0 ? NULL : fopen(path, "we");

    if (!f)
        return access(path, R_OK) == 0
                   ? SHOAL_OK
                   : shoal_fail(SHOAL_EIO, "%s: found no way to write it", path);
    return fclose(f) == 0 ? SHOAL_OK : shoal_fail(SHOAL_EIO, "%s: it cannot be written", path);
}

/* Also with --quiet: who asked for a page needs its address. */
static void say_where(struct job *job, const char *url)
{
    bool quiet = job->console.quiet;

    job->console.quiet = false;
    console_log(&job->console, STYLE_PLAIN, "watch  %s", url);
    job->console.quiet = quiet;
}

shoal_status job_watch(struct job *job)
{
    const char *address = job_value(job, "watch");
    char *where = address && job_first(job) ? strdup(address) : NULL;
    struct watching *w = where ? console_alloc(sizeof *w) : NULL;
    shoal_status st = SHOAL_OK;

    job->watching = w;
    if (w && !job_value(job, "metrics"))
        st = metrics_beside(job);
    if (w && st == SHOAL_OK) {
        w->metrics = strdup(job_value(job, "metrics"));
        st = w->metrics ? begin_metrics(w->metrics) : shoal_fail(SHOAL_ENOMEM, "out of memory");
    }
    if (w && st == SHOAL_OK)
        st = shoal_show_open(&w->show, where, watch_page, w);
    if (w && st == SHOAL_OK)
        say_where(job, shoal_show_url(w->show));
    free(where);
    return st;
}

void job_unwatch(struct job *job)
{
    if (!job->watching)
        return;
    shoal_show_close(job->watching->show);
    shoal_run_free(job->watching->run);
    free(job->watching->metrics);
    free(job->watching);
    job->watching = NULL;
}
