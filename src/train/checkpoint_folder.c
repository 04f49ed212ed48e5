/* The names of a folder of checkpoints. A number is never used twice, so a part
 * that a crash left without its head is not taken for another's. */
#include "train/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENDING ".shoal"
#define NUMBER_MOST 999999999ul /* the next one never comes round to a name that is there */

void folder_path(char path[CHECKPOINT_PATH], const char *folder, unsigned long number)
{
    snprintf(path, CHECKPOINT_PATH, "%s/checkpoint-%06lu" ENDING, folder, number);
}

void folder_part_path(char path[CHECKPOINT_PATH], const char *head, unsigned part, unsigned parts)
{
    size_t len = strlen(head), ending = sizeof ENDING - 1;

    if (len > ending && strcmp(head + len - ending, ENDING) == 0)
        len -= ending;
    snprintf(path, CHECKPOINT_PATH, "%.*s.part-%02u-of-%02u" ENDING, (int)len, head, part, parts);
}

static bool is_head(const char *name, unsigned long *number)
{
    int used = 0;

    return sscanf(name, "checkpoint-%lu" ENDING "%n", number, &used) == 1 && used > 0 &&
           name[used] == '\0';
}

static bool is_part(const char *name, unsigned long *number)
{
    unsigned part, parts;
    int used = 0;

    return sscanf(name, "checkpoint-%lu.part-%u-of-%u" ENDING "%n", number, &part, &parts, &used) ==
               3 && used > 0 && name[used] == '\0';
}

/* What output.c was writing when its process was killed. */
static bool is_leftover(const char *name, unsigned long *number)
{
    return sscanf(name, ".checkpoint-%lu.", number) == 1 && strstr(name, ENDING ".tmp-");
}

static int newest_first(const void *a, const void *b)
{
    unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

    return (x < y) - (x > y);
}

void numbers_fini(struct numbers *n)
{
    free(n->at);
    *n = (struct numbers){0};
}

static shoal_status numbers_add(struct numbers *n, size_t *cap, unsigned long number)
{
    void *at = n->at;
    shoal_status st = mem_grow(&at, cap, n->len + 1, sizeof *n->at);

    n->at = at;
    if (st == SHOAL_OK)
        n->at[n->len++] = number;
    return st;
}

shoal_status folder_list(struct numbers *out, const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    size_t cap = 0;
    shoal_status st = SHOAL_OK;

    *out = (struct numbers){0};
    if (!dir)
        return shoal_fail_errno(errno == ENOENT ? SHOAL_ENOENT : SHOAL_EIO, "%s", folder);
    while (st == SHOAL_OK && (entry = readdir(dir))) {
        unsigned long number = 0;

        if (is_head(entry->d_name, &number))
            st = numbers_add(out, &cap, number);
        else if (!is_part(entry->d_name, &number))
            continue;
        if (st == SHOAL_OK && number >= NUMBER_MOST)
            st = shoal_fail(SHOAL_EFORMAT, "%s: found a checkpoint numbered %lu, want less than %lu",
                            folder, number, NUMBER_MOST);
        out->last = number > out->last ? number : out->last;
    }
    closedir(dir);
    if (out->len > 0)
        qsort(out->at, out->len, sizeof *out->at, newest_first);
    if (st != SHOAL_OK)
        numbers_fini(out);
    return st;
}

shoal_status folder_make(const char *folder, bool *made)
{
    *made = mkdir(folder, 0777) == 0;
    if (*made || errno == EEXIST)
        return SHOAL_OK;
    return shoal_fail_errno(SHOAL_EIO, "%s: cannot make this folder", folder);
}

shoal_status folder_open(const char *folder, bool resume, unsigned long *next)
{
    struct numbers found = {0};
    bool made;
    shoal_status st = folder_make(folder, &made);

    if (st == SHOAL_OK)
        st = folder_list(&found, folder);
    if (st == SHOAL_OK && !resume && found.len > 0)
        st = shoal_fail(SHOAL_EINVAL,
                        "%s: holds checkpoints of another run; resume it, or name another folder",
                        folder);
    *next = found.last + 1;
    numbers_fini(&found);
    return st;
}

/* Parts without a head that counts any more, and what never became one. Whatever
 * is being written has a higher number than the newest head. */
static void drop_parts(const char *folder, const struct numbers *n)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        unsigned long number;
        char path[CHECKPOINT_PATH];
        int len;

        if ((!is_part(entry->d_name, &number) && !is_leftover(entry->d_name, &number)) ||
            (n->len > 0 && number >= n->at[0]) || (n->len > 1 && number == n->at[1]))
            continue;
        len = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (len > 0 && (size_t)len < sizeof path)
            unlink(path);
    }
    if (dir)
        closedir(dir);
}

shoal_status folder_drop_all(const char *folder)
{
    struct numbers n;
    char path[CHECKPOINT_PATH];
    shoal_status st = folder_list(&n, folder);

    for (size_t i = 0; st == SHOAL_OK && i < n.len; i++) {
        folder_path(path, folder, n.at[i]);
        unlink(path);
    }
    n.len = 0;
    if (st == SHOAL_OK)
        drop_parts(folder, &n);
    numbers_fini(&n);
    return st;
}

/* A head goes before its parts: there is never one that lacks them. */
void folder_drop_old(const char *folder)
{
    struct numbers n;
    char path[CHECKPOINT_PATH];

    if (folder_list(&n, folder) != SHOAL_OK)
        return;
    for (size_t i = 2; i < n.len; i++) {
        folder_path(path, folder, n.at[i]);
        unlink(path);
    }
    if (n.len > 0)
        drop_parts(folder, &n);
    numbers_fini(&n);
}
