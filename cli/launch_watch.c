/* One try of a job: the launcher in a process group of its own, its signals, and
 * the end of everything it started.
 *
 * A job ends by itself, or is ended by steps, each harder than the one before:
 *
 *     the user's first signal           SIGUSR1 to the launcher, which passes it on: ranks stop at
 *                                       the end of their slice and write a checkpoint
 *     ranks said why they fail, and     SIGTERM to the launcher
 *     FAILED_S later it still runs,
 *     or the user's second signal
 *     ASKED_S after that, or the third  SIGKILL to the launcher
 *     the launcher is gone              SIGTERM to all that is left, ASKED_S later SIGKILL
 *
 * All that is left: launchers start daemons, which start ranks, each in groups and sessions of
 * their own, so neither a group nor a session holds them all. But an orphan becomes the child of
 * its nearest ancestor that is a subreaper (prctl(2)), which we are: so all that a job started is
 * below us in the tree of processes, which /proc tells.
 *
 * SIGCHLD and the signals of the user are read from a signalfd, beside the pipes of the job, by
 * one poll: no handler runs, and nothing is missed between two looks. */
#include "launch.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    DRAW_MS = 50,     /* after so long an unfinished line goes on */
    CHECK_MS = 500,   /* how often deadlines are checked */
    FAILED_S = 8,     /* for a job to end after its ranks said why they fail */
    ASKED_S = 5,      /* for what was told to end */
    NAP_NS = 20000000 /* between looks at what is still there */
};

struct watch {
    pid_t launcher;
    bool ended;
    int status; /* of waitpid */
    int signals;
    struct launch_stream streams[2];
    size_t nstreams;
    int stopped;    /* the first signal that came */
    double asked;   /* when it was told to end; 0: it was not */
    double failing; /* when its ranks began to say why they fail; 0: they did not */
};

/* ---- What it started ------------------------------------------------------------------ */

struct process {
    pid_t pid, parent;
    bool ours, dead;
};

/* "123 (a name) S 122 ...": the name may hold anything */
static bool process_read(struct process *p, const char *name)
{
    char path[300], text[512];
    const char *after;
    FILE *file;
    size_t n;
    char state;
    int parent;

    snprintf(path, sizeof path, "/proc/%s/stat", name);
    file = fopen(path, "re");
    if (!file)
        return false;
    n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    after = strrchr(text, ')');
    if (!after || sscanf(after, ") %c %d", &state, &parent) != 2)
        return false;
    *p = (struct process){.pid = atoi(name), .parent = parent, .dead = state == 'Z'};
    return true;
}

static int is_process(const struct dirent *entry)
{
    return isdigit((unsigned char)entry->d_name[0]);
}

/* All processes there are, for free(). */
static struct process *processes(size_t *n)
{
    struct dirent **names = NULL;
    int found = scandir("/proc", &names, is_process, NULL);
    struct process *list = calloc((size_t)(found > 0 ? found : 1), sizeof *list);

    *n = 0;
    for (int i = 0; i < found; i++) {
        *n += list && process_read(&list[*n], names[i]->d_name);
        free(names[i]);
    }
    free(names);
    return list;
}

static bool has_our_parent(const struct process *p, const struct process *list, size_t n)
{
    if (p->parent == getpid())
        return true;
    for (size_t i = 0; i < n; i++)
        if (list[i].ours && list[i].pid == p->parent)
            return true;
    return false;
}

/* Children, and theirs; orphans come to us, for we are their subreaper. */
static void mark_ours(struct process *list, size_t n)
{
    bool more = true;

    while (more) {
        more = false;
        for (size_t i = 0; i < n; i++)
            if (!list[i].ours && has_our_parent(&list[i], list, n))
                list[i].ours = more = true;
    }
}

/* Sends a signal (0: none) to all that we started; how many still live. */
static size_t signal_all(int number)
{
    size_t n, living = 0;
    struct process *list = processes(&n);

    mark_ours(list, n);
    for (size_t i = 0; i < n; i++) {
        if (!list[i].ours || list[i].dead)
            continue;
        living++;
        if (number)
            kill(list[i].pid, number);
    }
    free(list);
    return living;
}

static void collect(struct watch *w)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != w->launcher)
            continue;
        w->ended = true;
        w->status = status;
    }
}

/* Nothing of a job outlives it: interrupted launchers leave daemons and ranks. */
static void reap(struct watch *w)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    const unsigned asked = (unsigned)(ASKED_S * 1000000000LL / NAP_NS);
    size_t living = signal_all(SIGTERM);

    /* Counts naps, not seconds: on a machine that stood still, they had no more time than we. */
    for (unsigned naps = 1; living > 0 && naps <= 2 * asked; naps++) {
        nanosleep(&nap, NULL);
        collect(w);
        living = signal_all(naps >= asked ? SIGKILL : 0);
    }
    collect(w);
}

/* ---- Starting ------------------------------------------------------------------------------ */

static void become(char *const *command, const int pipes[2], bool data_in, const sigset_t *mask)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* we may be killed too */
    sigprocmask(SIG_SETMASK, mask, NULL);
    /* Launchers read all there is, though ranks ask for nothing: it belongs to whoever comes after
     * us. A group in the background may not read from a terminal. */
    if (!data_in || isatty(STDIN_FILENO))
        dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    for (int i = 0; i < 2; i++)
        if (pipes[i] >= 0)
            dup2(pipes[i], STDOUT_FILENO + i);
    execvp(command[0], command);
    dprintf(STDERR_FILENO, "shoal: %s: cannot be started: %s\n", command[0], strerror(errno));
    _exit(EXIT_FAILED);
}

/* Makes the pipe of the launcher's stream `i`, 0 for stdout and 1 for stderr; gives its end. */
static int hear(struct watch *w, struct launch_output *out, int i)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    w->streams[w->nstreams++] =
        (struct launch_stream){.out = out, .from = ends[0], .to = STDOUT_FILENO + i};
    return ends[1];
}

static void start(struct watch *w, char *const *command, struct launch_output *out,
                  const struct launch *l)
{
    int pipes[2] = {l->data_out ? -1 : hear(w, out, 0), hear(w, out, 1)};
    sigset_t watched, old;

    sigemptyset(&watched);
    for (const int *s = (const int[]){SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD, 0}; *s; s++)
        sigaddset(&watched, *s);
    sigprocmask(SIG_BLOCK, &watched, &old);
    w->signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    fflush(NULL);
    w->launcher = fork();
    if (w->launcher == 0)
        become(command, pipes, l->data_in, &old);
    if (w->launcher < 0) {
        console_fail("%s: cannot be started: %s", command[0], strerror(errno));
        w->ended = true;
        w->status = EXIT_FAILED << 8;
    }
    for (int i = 0; i < 2; i++)
        if (pipes[i] >= 0)
            close(pipes[i]);
}

/* ---- Watching ------------------------------------------------------------------------------- */

/* The first asks the ranks to stop, through whatever launcher passes it on; the
 * launcher itself would give them a second at most. The next ends them. */
static void on_signal(struct watch *w, int number)
{
    if (number == SIGCHLD) {
        collect(w);
    } else if (!w->stopped) {
        w->stopped = number;
        kill(w->launcher, SIGUSR1);
    } else {
        kill(w->launcher, w->asked > 0 ? SIGKILL : SIGTERM);
        w->asked = clock_seconds();
    }
}

static void take_signals(struct watch *w)
{
    struct signalfd_siginfo info;

    while (read(w->signals, &info, sizeof info) == (ssize_t)sizeof info)
        on_signal(w, (int)info.ssi_signo);
}

/* The deadlines: of a job that failed, and of one that was told to end. */
static void take_time(struct watch *w, const struct launch_output *out)
{
    if (w->failing <= 0 && out->failures.len > 0)
        w->failing = clock_seconds();
    if (w->asked <= 0 && w->failing > 0 && clock_seconds() - w->failing > FAILED_S &&
        !w->stopped) {
        kill(w->launcher, SIGTERM);
        w->asked = clock_seconds();
    } else if (w->asked > 0 && clock_seconds() - w->asked > ASKED_S) {
        kill(w->launcher, SIGKILL);
    }
}

/* Waits for output or signals and takes them; whether there was output. */
static bool step(struct watch *w, int timeout)
{
    struct pollfd fds[3] = {{.fd = w->signals, .events = POLLIN}};
    bool heard = false;

    for (size_t i = 0; i < w->nstreams; i++)
        fds[i + 1] = (struct pollfd){.fd = w->streams[i].from, .events = POLLIN};
    if (poll(fds, w->nstreams + 1, timeout) < 0)
        return false;
    for (size_t i = 0; i < w->nstreams; i++) {
        if (!fds[i + 1].revents)
            continue;
        launch_stream_read(&w->streams[i]);
        heard = true;
    }
    if (fds[0].revents)
        take_signals(w);
    return heard;
}

static bool unfinished(const struct watch *w)
{
    for (size_t i = 0; i < w->nstreams; i++)
        if (w->streams[i].len > 0)
            return true;
    return false;
}

static void finish(struct watch *w)
{
    reap(w);
    while (step(w, 0))
        continue;
    for (size_t i = 0; i < w->nstreams; i++)
        launch_stream_close(&w->streams[i]);
    close(w->signals);
}

struct launch_end launch_watch(char *const *command, struct launch_output *out,
                               const struct launch *l)
{
    struct watch *w = console_alloc(sizeof *w);
    struct launch_end end;
    sigset_t mask;

    sigprocmask(SIG_SETMASK, NULL, &mask);
    start(w, command, out, l);
    while (!w->ended) {
        bool heard = step(w, unfinished(w) ? DRAW_MS : CHECK_MS);

        for (size_t i = 0; i < w->nstreams && !heard; i++)
            launch_stream_flush(&w->streams[i]);
        take_time(w, out);
    }
    finish(w);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    end.stopped = w->stopped;
    end.code = WIFSIGNALED(w->status) ? EXIT_SIGNAL + WTERMSIG(w->status) : WEXITSTATUS(w->status);
    free(w);
    return end;
}
