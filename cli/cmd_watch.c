/* shoal watch: the runs of a folder in a browser, while they run and after. */
#include "cmd.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define REFRESH_SECONDS 2
#define NAP_NS 100000000

struct watch_cmd {
    const char *listen;
    struct work_opts work;
};

/* A file of metrics, and when it was written to. */
struct found {
    char *path;
    struct timespec when;
};

struct folder {
    struct found at[SHOAL_REPORT_RUNS];
    size_t n;
};

static bool is_newer(const struct found *a, const struct found *b)
{
    if (a->when.tv_sec != b->when.tv_sec)
        return a->when.tv_sec > b->when.tv_sec;
    return a->when.tv_nsec > b->when.tv_nsec;
}

/* Of too many the newest are kept. The oldest is last. */
static void folder_add(struct folder *f, struct found new)
{
    size_t i;

    if (f->n == SHOAL_REPORT_RUNS && !is_newer(&new, &f->at[f->n - 1])) {
        free(new.path);
        return;
    }
    if (f->n == SHOAL_REPORT_RUNS)
        free(f->at[--f->n].path);
    for (i = f->n++; i > 0 && is_newer(&new, &f->at[i - 1]); i--)
        f->at[i] = f->at[i - 1];
    f->at[i] = new;
}

static void folder_fini(struct folder *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->at[i].path);
    f->n = 0;
}

static bool is_metrics(const char *name)
{
    size_t len = strlen(name);

    return name[0] != '.' && len > 6 && strcmp(name + len - 6, ".jsonl") == 0;
}

static shoal_status folder_list(struct folder *f, const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    if (!dir)
        return shoal_fail(errno == ENOENT ? SHOAL_ENOENT : SHOAL_EIO, "%s: %s", path,
                          strerror(errno));
    while ((entry = readdir(dir)) != NULL) {
        struct found new = {0};
        struct stat file;

        if (!is_metrics(entry->d_name) || asprintf(&new.path, "%s/%s", path, entry->d_name) < 0)
            continue;
        if (stat(new.path, &file) != 0 || !S_ISREG(file.st_mode)) {
            free(new.path);
            continue;
        }
        new.when = file.st_mtim;
        folder_add(f, new);
    }
    closedir(dir);
    return SHOAL_OK;
}

/* ---- runs, from look to look ------------------------------------------------------ */

/* Of a run that was seen before only what is new is read: files grow for days. */
struct watched {
    const char *folder;
    struct {
        char *path;
        shoal_run *run;
    } at[SHOAL_REPORT_RUNS];
    size_t n;
};

static void watched_drop(struct watched *w, size_t i)
{
    free(w->at[i].path);
    shoal_run_free(w->at[i].run);
    w->at[i] = w->at[--w->n];
}

static void watched_fini(struct watched *w)
{
    while (w->n > 0)
        watched_drop(w, w->n - 1);
}

/* w->n: it is a new one. */
static size_t watched_find(const struct watched *w, const char *path)
{
    size_t i = 0;

    while (i < w->n && strcmp(w->at[i].path, path) != 0)
        i++;
    return i;
}

/* Runs whose files are gone, or are not among the newest any more. */
static void drop_lost(struct watched *w, const struct folder *f)
{
    for (size_t i = w->n; i > 0; i--) {
        size_t k = 0;

        while (k < f->n && strcmp(f->at[k].path, w->at[i - 1].path) != 0)
            k++;
        if (k == f->n)
            watched_drop(w, i - 1);
    }
}

/* A file that is no metrics, or not yet, is left out: others write to the folder too. Takes the
 * path of a new one. */
static const shoal_run *watched_look(struct watched *w, struct found *found)
{
    size_t i = watched_find(w, found->path);
    bool fresh = i == w->n;
    shoal_status st =
        fresh ? shoal_run_read(&w->at[i].run, found->path) : shoal_run_update(w->at[i].run);

    if (fresh && st == SHOAL_OK) {
        w->at[w->n++].path = found->path;
        found->path = NULL;
    } else if (!fresh && st != SHOAL_OK) {
        watched_drop(w, i);
    }
    return st == SHOAL_OK ? w->at[i].run : NULL;
}

static size_t watched_all(const shoal_run **runs, struct watched *w, struct folder *f)
{
    size_t n = 0;

    drop_lost(w, f);
    for (size_t i = 0; i < f->n; i++) {
        runs[n] = watched_look(w, &f->at[i]);
        n += runs[n] != NULL;
    }
    return n;
}

/* Called by the server's thread for each look. */
static shoal_status watch_page(void *user, char **text, size_t *len)
{
    struct watched *w = user;
    struct shoal_report_opts opts = shoal_report_default();
    const shoal_run *runs[SHOAL_REPORT_RUNS];
    struct folder f = {.n = 0};
    shoal_status st = folder_list(&f, w->folder);
    size_t n = st == SHOAL_OK ? watched_all(runs, w, &f) : 0;

    opts.title = "Runs";
    opts.refresh = REFRESH_SECONDS;
    if (st == SHOAL_OK && n == 0)
        st = shoal_fail(SHOAL_ENOENT,
                        "%s: no metrics of a run yet, want files NAME.jsonl that "
                        "`shoal train --metrics` writes",
                        w->folder);
    if (st == SHOAL_OK)
        st = shoal_report_text(text, len, runs, n, &opts);
    folder_fini(&f);
    return st;
}

static int watch_run(const void *at, const char *const *args, size_t nargs)
{
    const struct watch_cmd *cmd = at;
    struct console console;
    struct watched w = {.folder = args[0]};
    struct folder f = {.n = 0};
    shoal_show *show = NULL;
    shoal_status st;

    (void)nargs;
    console_init(&console, cmd->work.quiet, NULL);
    st = folder_list(&f, args[0]); /* a folder that is not there is said at once */
    folder_fini(&f);
    if (st == SHOAL_OK)
        st = shoal_show_open(&show, cmd->listen, watch_page, &w);
    if (st == SHOAL_OK) {
        print_line(stdout, "%s\n", shoal_show_url(show));
        fflush(stdout);
        while (!signal_received())
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
    shoal_show_close(show);
    watched_fini(&w);
    return console_finish(&console, st);
}

#define ON(member) SHOAL_FIELD(struct watch_cmd, member)

static const struct shoal_option watch_opts[] = {
    {"listen", .type = SHOAL_TYPE_TEXT, ON(listen), .arg = "ADDR",
     .help = "where the page is: HOST:PORT, or :PORT of this machine alone; port 0 is any free one"},
    {0},
};

const struct verb cmd_watch = {
    .name = "shoal watch",
    .summary = "show the runs of a folder in a browser, as they go",
    .about = "Serves one page of all runs whose metrics lie in a folder: how far each is and how "
             "long it will take, what differs between them and what came of it, with charts. It "
             "follows runs that go on, and shows those that ended. It prints its address, and "
             "ends by Ctrl-C. Elsewhere than on this machine the address holds a token.",
    .operands =
        (const struct operand[]){
            {.name = "DIR", .help = "a folder of files NAME.jsonl that `shoal train --metrics` wrote"},
            {0},
        },
    .groups =
        (const struct shoal_option_group[]){
            {"Page", watch_opts, .at = 0},
            {"General", work_opts, .at = offsetof(struct watch_cmd, work)},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal watch runs", "all runs of a folder"},
            {"shoal watch runs --listen :8090", "at a port of one's choice"},
            {0},
        },
    .opts_size = sizeof(struct watch_cmd),
    .initial = &(const struct watch_cmd){.listen = ":0"},
    .run = watch_run,
};
