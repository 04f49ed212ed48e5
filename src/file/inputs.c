#include "file/file.h"

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Links may make a small tree endless: both its depth and the names looked at
 * are bounded. */
#define DEPTH_MAX 64u
#define NAMES_MAX ((size_t)1 << 24)

struct walk {
    struct inputs *out;
    size_t names; /* looked at so far */
};

/* The folders above the one being read, so that a link back up is seen. */
struct trail {
    const struct trail *up;
    dev_t dev;
    ino_t ino;
    unsigned depth;
};

static shoal_status input_add(struct inputs *in, const char *path, const struct stat *info)
{
    bool regular = info && S_ISREG(info->st_mode);
    void *at = in->at;
    shoal_status st = mem_grow(&at, &in->cap, in->len + 1, sizeof *in->at);
    char *copy;

    in->at = at;
    if (st != SHOAL_OK)
        return st;
    copy = strdup(path);
    if (!copy)
        return shoal_fail(SHOAL_ENOMEM, "%s: no memory for its name", path);
    in->at[in->len++] = (struct input){
        .path = copy, .size = regular ? (uint64_t)info->st_size : 0, .regular = regular};
    return SHOAL_OK;
}

static bool trail_has(const struct trail *t, const struct stat *info)
{
    for (; t; t = t->up)
        if (t->dev == info->st_dev && t->ino == info->st_ino)
            return true;
    return false;
}

static shoal_status walk_folder(struct walk *w, const char *path, const struct stat *info,
                                const struct trail *up);

/* Below a folder only files and folders count: opening a pipe that happens to
 * lie there would wait for ever. A link to a folder above is not followed. */
static shoal_status walk_name(struct walk *w, const char *folder, const char *name,
                              const struct trail *up)
{
    const char *slash = folder[strlen(folder) - 1] == '/' ? "" : "/";
    shoal_status st = SHOAL_OK;
    struct stat info;
    char *path;

    if (w->names++ >= NAMES_MAX)
        return shoal_fail(SHOAL_ELIMIT, "%s: over %zu names, want fewer", folder, NAMES_MAX);
    if (asprintf(&path, "%s%s%s", folder, slash, name) < 0)
        return shoal_fail(SHOAL_ENOMEM, "%s: no memory for the names below", folder);
    if (stat(path, &info) != 0)
        st = shoal_fail_errno(SHOAL_EIO, "%s", path);
    else if (S_ISREG(info.st_mode))
        st = input_add(w->out, path, &info);
    else if (S_ISDIR(info.st_mode) && !trail_has(up, &info))
        st = walk_folder(w, path, &info, up);
    free(path);
    return st;
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static shoal_status walk_folder(struct walk *w, const char *path, const struct stat *info,
                                const struct trail *up)
{
    struct trail here = {up, info->st_dev, info->st_ino, up ? up->depth + 1 : 1};
    struct dirent **names = NULL;
    shoal_status st = SHOAL_OK;
    int n;

    if (here.depth > DEPTH_MAX)
        return shoal_fail(SHOAL_ELIMIT, "%s: over %u folders deep, want fewer", path, DEPTH_MAX);
    n = scandir(path, &names, is_shown, NULL);
    if (n < 0)
        return shoal_fail_errno(SHOAL_EIO, "%s", path);
    for (int i = 0; i < n; i++) {
        if (st == SHOAL_OK)
            st = walk_name(w, path, names[i]->d_name, &here);
        free(names[i]);
    }
    free(names);
    return st;
}

/* A path that is there: what was asked for by name may also be a pipe. */
static shoal_status walk_path(struct walk *w, const char *path, const struct stat *info)
{
    if (S_ISDIR(info->st_mode))
        return walk_folder(w, path, info, NULL);
    return input_add(w->out, path, info);
}

static shoal_status walk_matches(struct walk *w, const glob_t *found)
{
    shoal_status st = SHOAL_OK;
    struct stat info;

    for (size_t i = 0; i < found->gl_pathc && st == SHOAL_OK; i++) {
        if (stat(found->gl_pathv[i], &info) != 0)
            return shoal_fail_errno(SHOAL_EIO, "%s", found->gl_pathv[i]);
        st = walk_path(w, found->gl_pathv[i], &info);
    }
    return st;
}

static shoal_status walk_glob(struct walk *w, const char *pattern)
{
    shoal_status st = SHOAL_OK;
    glob_t found = {0};

    switch (glob(pattern, GLOB_NOSORT | GLOB_ERR, NULL, &found)) {
    case 0:
        st = walk_matches(w, &found);
        break;
    case GLOB_NOMATCH:
        break;
    case GLOB_NOSPACE:
        st = shoal_fail(SHOAL_ENOMEM, "%s: no memory for its matches", pattern);
        break;
    default:
        st = shoal_fail_errno(SHOAL_EIO, "%s: a folder of this pattern", pattern);
    }
    globfree(&found);
    return st;
}

static int input_order(const void *a, const void *b)
{
    return strcmp(((const struct input *)a)->path, ((const struct input *)b)->path);
}

/* What one folder or pattern gave, put in order of bytes. */
static shoal_status matches_settle(struct inputs *in, size_t first, const char *path,
                                   const char *none)
{
    if (in->len == first)
        return shoal_fail(SHOAL_ENOENT, "%s: %s", path, none);
    qsort(in->at + first, in->len - first, sizeof *in->at, input_order);
    return SHOAL_OK;
}

static shoal_status expand_one(struct walk *w, const char *path)
{
    const char *none = "no files in this folder";
    size_t first = w->out->len;
    shoal_status st;
    struct stat info;

    if (strcmp(path, "-") == 0)
        return input_add(w->out, path, NULL);
    if (stat(path, &info) == 0) {
        st = walk_path(w, path, &info);
    } else if (errno != ENOENT && errno != ENOTDIR) {
        st = shoal_fail_errno(SHOAL_EIO, "%s", path);
    } else if (strpbrk(path, "*?[")) {
        none = "matches no file";
        st = walk_glob(w, path);
    } else {
        st = shoal_fail(SHOAL_ENOENT, "%s: no such file", *path ? path : "\"\"");
    }
    return st == SHOAL_OK ? matches_settle(w->out, first, path, none) : st;
}

shoal_status inputs_expand(struct inputs *out, const char *const *paths, size_t n)
{
    struct walk w = {.out = out};
    shoal_status st = SHOAL_OK;

    *out = (struct inputs){0};
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = expand_one(&w, paths[i]);
    if (st != SHOAL_OK)
        inputs_fini(out);
    return st;
}

shoal_status inputs_open(struct inputs *out, const struct sources *from)
{
    shoal_status st = SHOAL_OK;

    if (!from->blocks)
        return inputs_expand(out, from->paths, from->n);
    *out = (struct inputs){0};
    for (size_t i = 0; i < from->n && st == SHOAL_OK; i++) {
        const struct shoal_memory *m = &from->blocks[i];

        st = input_add(out, m->name, NULL);
        if (st == SHOAL_OK)
            out->at[i] = (struct input){out->at[i].path, m->size, true, m->data ? m->data : ""};
    }
    if (st != SHOAL_OK)
        inputs_fini(out);
    return st;
}

const char *input_name(const struct input *in)
{
    return !in->data && strcmp(in->path, "-") == 0 ? "standard input" : in->path;
}

uint64_t inputs_bytes(const struct inputs *in, size_t first, size_t last, bool *once)
{
    uint64_t bytes = 0;

    *once = false;
    for (size_t i = first; i < last; i++) {
        bytes += in->at[i].size;
        *once |= !in->at[i].regular;
    }
    return bytes;
}

void inputs_fini(struct inputs *in)
{
    if (!in)
        return;
    for (size_t i = 0; i < in->len; i++)
        free(in->at[i].path);
    free(in->at);
    *in = (struct inputs){0};
}
