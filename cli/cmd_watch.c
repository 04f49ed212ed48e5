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

/* A file that is no metrics, or not yet, is left out: others write to the folder too. */
static size_t read_runs(shoal_run **runs, const struct folder *f)
{
    size_t n = 0;

    for (size_t i = 0; i < f->n; i++)
        n += shoal_run_read(&runs[n], f->at[i].path) == SHOAL_OK;
    return n;
}

/* Called by the server's thread for each look. */
static shoal_status watch_page(void *user, char **text, size_t *len)
{
    struct shoal_report_opts opts = shoal_report_default();
    shoal_run *runs[SHOAL_REPORT_RUNS] = {0};
    struct folder f = {.n = 0};
    shoal_status st = folder_list(&f, user);
    size_t n = st == SHOAL_OK ? read_runs(runs, &f) : 0;

    opts.title = "Runs";
    opts.refresh = REFRESH_SECONDS;
    if (st == SHOAL_OK && n == 0)
        st = shoal_fail(SHOAL_ENOENT, "%s: no metrics of a run yet, want files NAME.jsonl that "
                        "`shoal train --metrics` writes", (const char *)user);
    if (st == SHOAL_OK)
        st = shoal_report_text(text, len, (const shoal_run *const *)runs, n, &opts);
    for (size_t i = 0; i < SHOAL_REPORT_RUNS; i++)
        shoal_run_free(runs[i]);
    folder_fini(&f);
    return st;
}

static int watch_run(const void *at, const char *const *args, size_t nargs)
{
    const struct watch_cmd *cmd = at;
    struct console console;
    struct folder f = {.n = 0};
    shoal_show *show = NULL;
    shoal_status st;

    (void)nargs;
    console_init(&console, cmd->work.quiet, NULL);
    st = folder_list(&f, args[0]); /* a folder that is not there is said at once */
    folder_fini(&f);
    if (st == SHOAL_OK)
        st = shoal_show_open(&show, cmd->listen, watch_page, (void *)args[0]);
    if (st == SHOAL_OK) {
        print_line(stdout, "%s\n", shoal_show_url(show));
        fflush(stdout);
        while (!signal_received())
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
    shoal_show_close(show);
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
