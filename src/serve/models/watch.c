/* A look at the folder now and then, by names and stat alone. A file becomes a model once two looks
 * in a row have found it the same, and it can be opened and verified:
 *
 *     first seen --> the same again --> opened: served, and from then on replaced by registry_reload
 *         ^               |                 |
 *         |  it grew      |                 '--> no model: said once, tried again when it changes
 *         '---------------'
 *
 * A model whose file two looks in a row have not found is ended; one look is not enough, as who
 * replaces a file may remove it first. What is being copied has a name with a dot before it, or
 * ends with .part, .tmp or .new, in many programs: such names wait until they are renamed. */
#include "serve/models/registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES_MAX = 4096 };

struct seen {
    char *name;
    struct stat last;     /* as the last look found it */
    struct stat tried;    /* as it was when it was opened, with or without success; zeros: never */
    bool here, gone_once; /* in this look; it was not in the last one */
};

struct watch {
    struct seen *at;
    size_t n, cap;
    bool told; /* that there are too many, or that the folder cannot be read */
};

shoal_status watch_open(struct watch **out)
{
    *out = mem_array(1, sizeof **out);
    return *out ? SHOAL_OK : SHOAL_ENOMEM;
}

void watch_close(struct watch *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->n; i++)
        free(w->at[i].name);
    free(w->at);
    free(w);
}

static bool ends_with(const char *name, const char *end)
{
    size_t len = strlen(name), n = strlen(end);

    return len > n && strcmp(name + len - n, end) == 0;
}

static bool is_unfinished(const char *name)
{
    static const char *const ends[] = {".part", ".tmp", ".new", ".filepart", ".crdownload", "~"};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(name, ends[i]))
            return true;
    return false;
}

static struct seen *find(struct watch *w, const char *name)
{
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->at[i].name, name) == 0)
            return &w->at[i];
    return NULL;
}

/* One that was not there before; NULL: no memory, and the next look tries again. */
static struct seen *add(struct watch *w, const char *name)
{
    void *at = w->at;
    shoal_status st = mem_grow(&at, &w->cap, w->n + 1, sizeof *w->at);
    char *copy = st == SHOAL_OK ? strdup(name) : NULL;

    w->at = at;
    if (!copy)
        return NULL;
    w->at[w->n] = (struct seen){.name = copy};
    return &w->at[w->n++];
}

static void tell_once(struct watch *w, struct registry *r, const char *sentence)
{
    if (!w->told)
        registry_log(r, "models: %s", sentence);
    w->told = true;
}

/* The file has not changed between two looks. Once it was tried only another file of that name is:
 * management may have ended this one. */
static void serve_file(struct registry *r, struct seen *f)
{
    struct model_settings settings = r->defaults;
    char name[NAME_MAX_LEN + 1];
    enum registry_error why;
    struct lease lease = {0};

    f->tried = f->last;
    if (model_name_of_file(name, f->name))
        settings = registry_settings(r, name);
    if (registry_add(r, f->name, NULL, "1.0", &settings, &lease.version, &why) == SHOAL_OK) {
        registry_log(r, "model %s, version %s: %s is served", lease.version->name,
                     lease.version->version, f->name);
        lease_end(&lease);
        return;
    }
    registry_log(r, "passed over: %s", shoal_error());
}

static void look_at(struct watch *w, struct registry *r, const char *name, bool first)
{
    struct stat st;
    struct seen *f = find(w, name);
    bool same;

    if (fstatat(r->store, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
        return;
    if (!f && w->n >= FILES_MAX) {
        tell_once(w, r, "there are more than 4096 files, want fewer");
        return;
    }
    if (!f)
        f = add(w, name);
    if (!f)
        return;
    same = first || file_is_same(&f->last, &st);
    f->last = st;
    f->here = true;
    if (same && !registry_has_file(r, name) && !file_is_same(&f->tried, &st))
        serve_file(r, f);
}

/* What was not here in this look, nor in the one before. */
static void forget_gone(struct watch *w, struct registry *r)
{
    size_t kept = 0;

    for (size_t i = 0; i < w->n; i++) {
        struct seen *f = &w->at[i];

        if (!f->here && f->gone_once) {
            registry_drop_file(r, f->name);
            free(f->name);
            continue;
        }
        f->gone_once = !f->here;
        f->here = false;
        w->at[kept++] = *f;
    }
    w->n = kept;
}

/* A folder that cannot be read just now says nothing about its files. */
void watch_look(struct watch *w, struct registry *r, bool first)
{
    int fd = openat(r->store, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;

    if (!dir) {
        if (fd >= 0)
            close(fd);
        tell_once(w, r, "the folder cannot be read");
        return;
    }
    while ((errno = 0, entry = readdir(dir)))
        if (model_file_fits(entry->d_name) && !is_unfinished(entry->d_name))
            look_at(w, r, entry->d_name, first);
    if (errno == 0)
        forget_gone(w, r);
    closedir(dir);
}
