/* What this machine is, for the record of a study and its page. */
#include "study/study.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void processor_name(char name[96])
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "re");

    snprintf(name, 96, "unknown processor");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "model name : %95[^\n]", name) == 1)
            break;
    if (f)
        fclose(f);
}

void machine_describe(char text[256])
{
    char processor[96];
    double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    struct utsname name = {.sysname = "?"};

    processor_name(processor);
    uname(&name);
    snprintf(text, 256, "%.80s, %u cores for this process, %s of memory, %.30s %.40s", processor,
             pool_threads(0), number_bytes(bytes).text, name.sysname, name.release);
}
