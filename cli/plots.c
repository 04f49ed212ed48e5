/* How many charts were drawn into a folder. */
#include "cmd.h"

#include <dirent.h>
#include <fnmatch.h>

void report_plots(struct console *c, const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    size_t drawn = 0;

    while (dir && (entry = readdir(dir)) != NULL)
        drawn += fnmatch("*.png", entry->d_name, FNM_PERIOD) == 0;
    if (dir)
        closedir(dir);
    console_row(c, "plots", number_count(drawn).text, "in %s, as SVG and PNG", folder);
}
