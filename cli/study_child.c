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

static void child_start(struct child *c, const struct shoal_study_run *run, bool self)
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
bool child_poll(struct child *c)
{
    int status = 0;

    if (c->pid <= 0)
        return true;
    if (!child_ended(c)) {
        if (signal_received() && clock_seconds() >= c->next) {
            kill(-c->pid, signal_received());
            c->stopped = true;
            c->next = clock_seconds() + SECONDS_TO_HEED;
        }
        return false;
    }
    kill(-c->pid, SIGKILL);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        ;
    c->pid = 0;
    child_judge(c, status);
    return true;
}

void child_nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

shoal_status child_begin(struct child *c, const struct shoal_study_run *run, bool self)
{
    *c = (struct child){.pid = 0};
    if (snprintf(c->log, sizeof c->log, "%s/log.txt", run->folder) >= (int)sizeof c->log)
        return shoal_fail(SHOAL_EINVAL, "%s: the path is too long", run->folder);
    child_start(c, run, self);
    return SHOAL_OK;
}

shoal_status child_end(const struct child *c)
{
    return c->stopped ? shoal_fail(SHOAL_ESTOP, "study: stopped; the same command goes on")
                      : SHOAL_OK;
}

shoal_status child_run(const struct shoal_study_run *run, bool self, char why[CHILD_WHY])
{
    return child_run_watched(run, self, NULL, why);
}

shoal_status child_run_watched(const struct shoal_study_run *run, bool self,
                               const struct child_watch *watch, char why[CHILD_WHY])
{
    double look = clock_seconds() + SECONDS_TO_LOOK;
    struct child c;
    shoal_status st = child_begin(&c, run, self);

    why[0] = '\0';
    if (st != SHOAL_OK)
        return st;
    for (; !child_poll(&c); child_nap())
        if (watch && clock_seconds() >= look) {
            watch->look(watch->user);
            look = clock_seconds() + SECONDS_TO_LOOK;
        }
    snprintf(why, CHILD_WHY, "%s", c.why);
    return child_end(&c);
}
