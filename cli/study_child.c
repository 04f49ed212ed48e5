/* A run of a study: a command that is started, waited for and judged. */
#include "study.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS_TO_HEED = 3 }; /* until a signal is sent again */

#define SECONDS_TO_LOOK 0.5 /* between two looks of who watches */

struct child {
    pid_t pid;
    char log[4096]; /* what it said */
    char *why;      /* [CHILD_WHY] why it failed; "" when it did not */
    bool stopped;   /* by a signal that came to this program */
    const struct child_watch *watch; /* or NULL */
};

/* In a group of its own, by which whatever it starts can be ended with it: a simulation
 * is a script whose trainer would go on without it. It is killed when we are, since the study
 * that goes on runs it again, in the same folder. */
static void child_become(const struct child *c, char **words, bool self, pid_t study)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int log = open(c->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != study || nothing < 0 || log < 0)
        _exit(127);
    dup2(nothing, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    close(nothing);
    close(log);
    execvp(self ? "/proc/self/exe" : words[0], words);
    dprintf(STDERR_FILENO, "it could not be started: %s\n", strerror(errno));
    _exit(127);
}

static bool child_start(struct child *c, const struct shoal_study_run *run, bool self)
{
    char **words = console_alloc((run->nwords + 2) * sizeof *words);
    pid_t study = getpid();

    if (self)
        words[0] = "shoal";
    memcpy(words + self, run->words, run->nwords * sizeof *words);
    fflush(NULL);
    c->pid = fork();
    if (c->pid == 0)
        child_become(c, words, self, study);
    if (c->pid > 0)
        setpgid(c->pid, c->pid);
    else
        snprintf(c->why, CHILD_WHY, "it could not be started: %s", strerror(errno));
    free(words);
    return c->pid > 0;
}

/* The last line that it said: the sentence of its failure. */
static void child_said(struct child *c)
{
    char line[256], last[256] = "";
    FILE *f = fopen(c->log, "re");

    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0])
            memcpy(last, line, sizeof last);
    }
    if (f)
        fclose(f);
    if (last[0])
        snprintf(c->why, CHILD_WHY, "%s", last);
}

static void child_judge(struct child *c, int status)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    if (WIFSIGNALED(status))
        snprintf(c->why, CHILD_WHY, "it was ended by signal %d", WTERMSIG(status));
    else
        snprintf(c->why, CHILD_WHY, "exit code %d", WEXITSTATUS(status));
    child_said(c);
}

/* Whether it has ended. It stays a zombie until child_wait collects it, so that no other process
 * can get its number, to which signals still go. */
static bool child_ended(const struct child *c)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0
               ? info.si_pid == c->pid
               : errno != EINTR;
}

/* A signal that comes meanwhile is passed on to the whole group, and again while the run
 * does not heed it: a second one ends it at once. What the run leaves behind is killed. */
static void child_wait(struct child *c)
{
    const struct timespec nap = {.tv_nsec = 10000000};
    double next = 0, look = clock_seconds() + SECONDS_TO_LOOK;
    int status = 0;

    while (!child_ended(c)) {
        if (signal_received() && clock_seconds() >= next) {
            kill(-c->pid, signal_received());
            c->stopped = true;
            next = clock_seconds() + SECONDS_TO_HEED;
        }
        if (c->watch && clock_seconds() >= look) {
            c->watch->look(c->watch->user);
            look = clock_seconds() + SECONDS_TO_LOOK;
        }
        nanosleep(&nap, NULL);
    }
    kill(-c->pid, SIGKILL);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        ;
    child_judge(c, status);
}

shoal_status child_run(const struct shoal_study_run *run, bool self, char why[CHILD_WHY])
{
    return child_run_watched(run, self, NULL, why);
}

shoal_status child_run_watched(const struct shoal_study_run *run, bool self,
                               const struct child_watch *watch, char why[CHILD_WHY])
{
    struct child c = {.why = why, .watch = watch};

    why[0] = '\0';
    if (snprintf(c.log, sizeof c.log, "%s/log.txt", run->folder) >= (int)sizeof c.log)
        return shoal_fail(SHOAL_EINVAL, "%s: the path is too long", run->folder);
    if (child_start(&c, run, self))
        child_wait(&c);
    return c.stopped ? shoal_fail(SHOAL_ESTOP, "study: stopped; the same command goes on")
                     : SHOAL_OK;
}
