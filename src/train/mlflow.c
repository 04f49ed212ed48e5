/* What is reported, in the layout of MLflow's file store: DIR is what `mlflow ui
 * --backend-store-uri DIR` opens.
 *
 *     DIR/0/meta.yaml                the experiment "Default"
 *     DIR/0/RUN/meta.yaml            when it began and ended, and how
 *     DIR/0/RUN/params/NAME          a setting
 *     DIR/0/RUN/metrics/NAME         a line for each report: milliseconds, value, step
 *     DIR/0/RUN/tags/NAME            who ran what
 *     DIR/0/RUN/artifacts/           empty
 */
#include "file/file.h"
#include "train/options.h"
#include "train/run.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RUN_ID = 32, STATUS_RUNNING = 1, STATUS_FINISHED = 3, STATUS_FAILED = 4, STATUS_KILLED = 5 };

struct mlflow {
    char *store;  /* the absolute path of DIR */
    char *folder; /* of the run */
    char id[RUN_ID + 1];
    const char *task;
    uint64_t began;
    bool begun, done;
};

static uint64_t milliseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- small files ---- */

static shoal_status write_text(const char *folder, const char *name, const char *text)
{
    char *path = mem_text("%s/%s", folder, name);
    struct output *out = NULL;
    shoal_status st = path ? output_open(&out, path) : SHOAL_ENOMEM;

    if (st == SHOAL_OK)
        st = output_write(out, text, strlen(text));
    st = output_end(out, st);
    free(path);
    return st;
}

static shoal_status make_folder(const char *folder, const char *name)
{
    char *path = mem_text("%s/%s", folder, name);
    shoal_status st = path ? tracker_folder(path) : SHOAL_ENOMEM;

    free(path);
    return st;
}

/* A text of YAML: between single quotes, of which those within are two. */
static shoal_status put_quoted(struct bytes *out, const char *key, const char *text)
{
    shoal_status st = bytes_print(out, "%s: '", key);

    for (; *text && st == SHOAL_OK; text++)
        st = *text == '\'' ? bytes_add(out, "''", 2) : bytes_add(out, text, 1);
    return st == SHOAL_OK ? bytes_add(out, "'\n", 2) : st;
}

static shoal_status write_bytes(const char *folder, const char *name, struct bytes *text,
                                shoal_status st)
{
    if (st == SHOAL_OK)
        st = bytes_add(text, "", 1);
    if (st == SHOAL_OK)
        st = write_text(folder, name, text->at);
    bytes_fini(text);
    return st;
}

static const char *user_name(void)
{
    const char *user = getenv("USER");

    return user && *user ? user : "unknown";
}

static shoal_status write_experiment(const char *store)
{
    char *folder = mem_text("%s/0", store),
         *meta = folder ? mem_text("%s/meta.yaml", folder) : NULL;
    uint64_t now = milliseconds();
    struct bytes text = {0};
    shoal_status st = meta ? tracker_folder(folder) : SHOAL_ENOMEM;

    if (st == SHOAL_OK && access(meta, F_OK) != 0) {
        st = put_quoted(&text, "artifact_location", folder);
        if (st == SHOAL_OK)
            st = bytes_print(&text,
                             "creation_time: %llu\nexperiment_id: '0'\nlast_update_time: %llu\n"
                             "lifecycle_stage: active\nname: Default\n",
                             (unsigned long long)now, (unsigned long long)now);
        st = write_bytes(folder, "meta.yaml", &text, st);
    }
    free(folder);
    free(meta);
    return st;
}

/* 0 as the end: it still runs. */
static shoal_status write_meta(const struct mlflow *m, int status, uint64_t end)
{
    char *artifacts = mem_text("%s/artifacts", m->folder);
    struct bytes text = {0};
    shoal_status st = artifacts ? put_quoted(&text, "artifact_uri", artifacts) : SHOAL_ENOMEM;

    free(artifacts);
    if (st == SHOAL_OK)
        st = end > 0 ? bytes_print(&text, "end_time: %llu\n", (unsigned long long)end)
                     : bytes_print(&text, "end_time: null\n");
    if (st == SHOAL_OK)
        st = bytes_print(&text,
                         "entry_point_name: ''\nexperiment_id: '0'\nlifecycle_stage: active\n"
                         "run_id: %s\nrun_name: '%s %.6s'\nrun_uuid: %s\nsource_name: ''\n"
                         "source_type: 4\nsource_version: ''\nstart_time: %llu\nstatus: %d\n"
                         "tags: []\n",
                         m->id, m->task, m->id, m->id, (unsigned long long)m->began, status);
    if (st == SHOAL_OK)
        st = put_quoted(&text, "user_id", user_name());
    return write_bytes(m->folder, "meta.yaml", &text, st);
}

/* ---- settings ---- */

static shoal_status add_param(void *ctx, const struct shoal_option *o, const char *value)
{
    const struct mlflow *m = ctx;
    char *folder = value ? mem_text("%s/params", m->folder) : NULL;
    shoal_status st = folder ? write_text(folder, o->name, value) : SHOAL_ENOMEM;

    free(folder);
    return value ? st : SHOAL_OK;
}

static shoal_status write_tags(const struct mlflow *m)
{
    char *folder = mem_text("%s/tags", m->folder), *name = mem_text("%s %.6s", m->task, m->id);
    shoal_status st = folder && name ? write_text(folder, "mlflow.runName", name) : SHOAL_ENOMEM;

    if (st == SHOAL_OK)
        st = write_text(folder, "mlflow.source.name", "shoal train");
    if (st == SHOAL_OK)
        st = write_text(folder, "mlflow.source.type", "LOCAL");
    if (st == SHOAL_OK)
        st = write_text(folder, "mlflow.user", user_name());
    if (st == SHOAL_OK)
        st = write_text(folder, "shoal.task", m->task);
    if (st == SHOAL_OK)
        st = write_text(folder, "shoal.version", shoal_version());
    free(folder);
    free(name);
    return st;
}

/* ---- a run ---- */

/* No two runs have the same: the time, to the nanosecond, and the process. */
static void choose_id(char id[RUN_ID + 1])
{
    struct timespec now;
    uint64_t a, b;

    clock_gettime(CLOCK_REALTIME, &now);
    a = rng_mix((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
    b = rng_mix(a ^ rng_mix((uint64_t)getpid() + RNG_STEP));
    snprintf(id, RUN_ID + 1, "%016llx%016llx", (unsigned long long)a, (unsigned long long)b);
}

static shoal_status begin_run(struct mlflow *m, const struct train_opts *opts,
                              const struct task *task)
{
    static const char *const folders[] = {"", "params", "metrics", "tags", "artifacts"};
    shoal_status st = tracker_folder(opts->mlflow);

    m->task = task->is.name;
    m->began = milliseconds();
    choose_id(m->id);
    if (st == SHOAL_OK && !(m->store = realpath(opts->mlflow, NULL)))
        st = shoal_fail_errno(SHOAL_EIO, "%s", opts->mlflow);
    if (st == SHOAL_OK)
        st = write_experiment(m->store);
    if (st == SHOAL_OK && !(m->folder = mem_text("%s/0/%s", m->store, m->id)))
        st = SHOAL_ENOMEM;
    for (size_t i = 0; i < sizeof folders / sizeof *folders && st == SHOAL_OK; i++)
        st = make_folder(m->folder, folders[i]);
    if (st == SHOAL_OK)
        st = write_tags(m);
    if (st == SHOAL_OK)
        st = options_each(task, opts, add_param, m);
    if (st == SHOAL_OK)
        st = write_meta(m, STATUS_RUNNING, 0);
    m->begun = st == SHOAL_OK;
    return st;
}

shoal_status mlflow_open(struct mlflow **out, const struct train_opts *opts,
                         const struct task *task)
{
    struct mlflow *m = mem_array(1, sizeof *m);

    *out = m;
    return m ? begin_run(m, opts, task) : SHOAL_ENOMEM;
}

struct measuring {
    const struct mlflow *m;
    uint64_t now, step;
    shoal_status st;
};

/* "train/loss" is a file of a folder; MLflow reads it so. */
static void add_metric(void *ctx, const char *name, double value)
{
    struct measuring *w = ctx;
    const char *slash = strchr(name, '/');
    char *path = mem_text("%s/metrics/%s", w->m->folder, name), line[96];
    struct journal *file = NULL;
    int len;

    if (w->st == SHOAL_OK && !path)
        w->st = SHOAL_ENOMEM;
    if (w->st == SHOAL_OK && slash) {
        char *folder = mem_text("%s/metrics/%.*s", w->m->folder, (int)(slash - name), name);

        w->st = folder ? tracker_folder(folder) : SHOAL_ENOMEM;
        free(folder);
    }
    if (w->st == SHOAL_OK)
        w->st = journal_open(&file, path, true);
    len = number_print(line, sizeof line, "%llu %.9g %llu\n", (unsigned long long)w->now, value,
                       (unsigned long long)w->step);
    if (w->st == SHOAL_OK)
        w->st = journal_add(file, line, (size_t)len);
    journal_close(file);
    free(path);
}

shoal_status mlflow_write(struct mlflow *m, const struct shoal_report *r)
{
    struct measuring w = {
        .m = m, .now = milliseconds(), .step = r->steps > 0 ? r->steps : r->examples};

    report_each(r, add_metric, &w);
    if (w.st == SHOAL_OK && r->event == SHOAL_EVENT_DONE) {
        w.st = write_meta(m, STATUS_FINISHED, w.now);
        m->done = w.st == SHOAL_OK;
    }
    return w.st;
}

/* If even that cannot be written, it is left as one that runs, and the sentence about why it ended
 * stays. */
void mlflow_ended(struct mlflow *m, shoal_status why)
{
    char *said = mem_text("%s", shoal_error());
    int status = why == SHOAL_ESTOP ? STATUS_KILLED : STATUS_FAILED;

    if (said && m->begun && !m->done && write_meta(m, status, milliseconds()) != SHOAL_OK)
        shoal_fail(SHOAL_EIO, "%s", said);
    m->done = true;
    free(said);
}

void mlflow_close(struct mlflow *m)
{
    if (!m)
        return;
    mlflow_ended(m, SHOAL_EIO); /* unless it was said before how it ended */
    free(m->store);
    free(m->folder);
    free(m);
}
