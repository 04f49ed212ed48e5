/* Hosts: a list, such as a,b or a:2,b:6, or a file of the launcher's, whose path has a
 * slash and which names one on each line: `a`, `a:2` (MPICH) or `a slots=2` (Open MPI). */
#include "launch.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS_MOST = 1024 };

bool hosts_in_file(const char *hosts)
{
    return strchr(hosts, '/') != NULL;
}

/* ---- How many ranks they take ----------------------------------------------------------- */

static unsigned hosts_count(const char *hosts)
{
    unsigned n = 1;

    for (; *hosts; hosts++)
        n += *hosts == ',';
    return n;
}

static unsigned list_room(const char *hosts)
{
    unsigned n = 0;

    for (; *hosts; hosts += strcspn(hosts, ",") + (strchr(hosts, ',') != NULL)) {
        unsigned slots;

        n += sscanf(hosts, "%*[^:,]:%u", &slots) == 1 ? slots : 1;
    }
    return n;
}

/* One, where it does not say how many. */
static unsigned line_room(const char *line)
{
    const char *slots = strstr(line, "slots=");
    unsigned n;

    line += strspn(line, " \t\r\n");
    if (!*line || *line == '#')
        return 0;
    if (slots && slots > line && isspace((unsigned char)slots[-1]) &&
        sscanf(slots, "slots=%u", &n) == 1)
        return n;
    return sscanf(line, "%*[^: \t]:%u", &n) == 1 ? n : 1;
}

/* A host name that begins with a dash would be read as an option by the launcher or by ssh. */
static bool is_option(const char *name)
{
    const char *at = strpbrk(name, "@ \t,");

    return *name == '-' || (at && *at == '@' && at[1] == '-');
}

/* False when it cannot be read. *bad: the number of the first line whose host is an option;
 * 0: there is none. */
static bool file_room(const char *path, unsigned *room, unsigned *bad)
{
    FILE *f = fopen(path, "re");
    char line[1024];

    *room = *bad = 0;
    for (unsigned i = 1; f && !*bad && fgets(line, sizeof line, f) && *room <= SLOTS_MOST; i++) {
        *room += line_room(line);
        if (is_option(line + strspn(line, " \t")))
            *bad = i;
    }
    if (f)
        fclose(f);
    return f != NULL;
}

unsigned hosts_slots(const char *hosts)
{
    unsigned n, bad;

    if (!hosts_in_file(hosts))
        return list_room(hosts);
    return file_room(hosts, &n, &bad) && n > 0 ? n : 1;
}

/* ---- What is wrong with them -------------------------------------------------------------- */

/* "a" or "a:2", `len` bytes of it. */
static bool is_host(const char *at, size_t len)
{
    size_t name = 0, digits;

    if (is_option(at))
        return false;
    while (name < len && at[name] != ':' && !isspace((unsigned char)at[name]))
        name++;
    if (name == len || name == 0 || at[name] != ':')
        return name == len && name > 0;
    digits = strspn(at + name + 1, "0123456789");
    return digits > 0 && digits <= 4 && name + 1 + digits == len && atoi(at + name + 1) > 0;
}

static bool check_list(const struct launch_opts *opts, char why[SHOAL_SENTENCE])
{
    const char *at = opts->hosts;
    bool said = strchr(at, ':') != NULL;

    for (;; at++) {
        size_t len = strcspn(at, ",");

        if (!is_host(at, len)) {
            snprintf(why, SHOAL_SENTENCE,
                     "--hosts is '%s', want hosts such as a,b or a:2,b:6, or a path "
                     "such as ./hosts",
                     opts->hosts);
            return false;
        }
        at += len;
        if (!*at)
            break;
    }
    if (said && opts->ranks > list_room(opts->hosts)) {
        snprintf(why, SHOAL_SENTENCE, "--ranks is %u, but --hosts '%s' takes %u", opts->ranks,
                 opts->hosts, list_room(opts->hosts));
        return false;
    }
    return true;
}

static bool check_file(const char *path, char why[SHOAL_SENTENCE])
{
    unsigned room, bad;

    if (!file_room(path, &room, &bad))
        snprintf(why, SHOAL_SENTENCE, "--hosts: %s: %s", path, strerror(errno));
    else if (bad)
        snprintf(why, SHOAL_SENTENCE,
                 "--hosts: %s: the host of line %u begins with '-', want a name", path, bad);
    else if (room == 0 || room > SLOTS_MOST)
        snprintf(why, SHOAL_SENTENCE, "--hosts: %s: found %s ranks to start, want 1 to %d", path,
                 room ? "too many" : "no", SLOTS_MOST);
    else
        return true;
    return false;
}

bool hosts_check(const struct launch_opts *opts, char why[SHOAL_SENTENCE])
{
    return hosts_in_file(opts->hosts) ? check_file(opts->hosts, why) : check_list(opts, why);
}

/* ---- For the launcher ----------------------------------------------------------------------- */

char *hosts_with_slots(const char *hosts, unsigned ranks)
{
    unsigned n = hosts_count(hosts), each = ranks / n, more = ranks % n;
    bool said = strchr(hosts, ':') != NULL;
    char *out = console_alloc(strlen(hosts) + 12 * (size_t)n + 1), *to = out;

    for (unsigned i = 0; *hosts; i++) {
        size_t len = strcspn(hosts, ",");
        unsigned slots = each + (i < more);

        to += sprintf(to, "%.*s", (int)len, hosts);
        if (!said)
            to += sprintf(to, ":%u", slots ? slots : 1);
        hosts += len;
        if (*hosts)
            *to++ = *hosts++;
    }
    return out;
}
