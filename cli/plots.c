/* Charts as PNG files, by rsvg-convert where it is installed. */
#include "cmd.h"

#include <dirent.h>
#include <fnmatch.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

/* False when there is no such program, or it failed. */
static bool convert(const char *folder, const char *name)
{
    char from[4096], to[4096];
    char *const words[] = {"rsvg-convert", "--zoom=2", "--output", to, from, NULL};
    pid_t pid;
    int status = 0;

    if (snprintf(from, sizeof from, "%s/%s", folder, name) >= (int)sizeof from ||
        snprintf(to, sizeof to, "%s/%.*s.png", folder, (int)(strlen(name) - 4), name) >=
            (int)sizeof to)
        return false;
    if (posix_spawnp(&pid, words[0], NULL, NULL, words, environ) != 0)
        return false;
    while (waitpid(pid, &status, 0) < 0)
        if (signal_received())
            return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void report_plots(struct console *c, const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    size_t drawn = 0, pixels = 0;

    while (dir && (entry = readdir(dir)) != NULL) {
        if (fnmatch("*.svg", entry->d_name, FNM_PERIOD) != 0)
            continue;
        /* After one failure it is not tried again: the program is not there. */
        if (pixels == drawn)
            pixels += convert(folder, entry->d_name);
        drawn++;
    }
    if (dir)
        closedir(dir);
    console_row(c, "plots", number_count(drawn).text, "in %s%s", folder,
                pixels == drawn && drawn > 0 ? ", as SVG and PNG" : ", as SVG");
}
