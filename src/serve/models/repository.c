/* Models by name alone: the repository extension of the Open Inference Protocol has neither files
 * nor workers in its requests. The files are those of the model store, and what is loaded so is
 * served as a model of the command line would be. */
#include "serve/models/registry.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LISTED_MAX = 10000 }; /* files of a store that are looked at */

/* ---- the store ---- */

static DIR *store_open(const struct registry *r)
{
    int fd = r->store < 0 ? -1 : fcntl(r->store, F_DUPFD_CLOEXEC, 0);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    if (!dir && fd >= 0)
        close(fd);
    if (dir)
        rewinddir(dir);
    return dir;
}

/* The next file that could be a model, and what it is called; NULL behind the last. */
static const char *store_next(DIR *dir, char name[NAME_MAX_LEN + 1])
{
    struct dirent *entry;

    while ((entry = readdir(dir)))
        if (model_file_fits(entry->d_name) && model_name_of_file(name, entry->d_name))
            return entry->d_name;
    return NULL;
}

/* The first by name of those that are called so: "" when there is none. */
static void store_find(const struct registry *r, const char *name, char file[FILE_MAX_LEN + 1])
{
    DIR *dir = store_open(r);
    char called[NAME_MAX_LEN + 1];
    const char *next;

    *file = '\0';
    for (size_t i = 0; dir && i < LISTED_MAX && (next = store_next(dir, called)); i++)
        if (strcmp(called, name) == 0 && (!*file || strcmp(next, file) < 0))
            snprintf(file, FILE_MAX_LEN + 1, "%s", next);
    if (dir)
        closedir(dir);
}

/* ---- loading ---- */

/* Of a model that is served already: its file is looked at now. */
static shoal_status load_again(struct registry *r, const char *name, enum registry_error *why)
{
    struct lease lease = {0};
    char trouble[TROUBLE_MAX] = "";
    shoal_status st;

    registry_reload(r);
    st = registry_lease(r, name, NULL, &lease, why);
    if (st == SHOAL_OK)
        registry_trouble(r, lease.version, trouble);
    if (st == SHOAL_OK && *trouble) {
        *why = REGISTRY_BAD;
        st = shoal_fail(SHOAL_EFORMAT, "%s", trouble);
    }
    lease_end(&lease);
    return st;
}

shoal_status repository_load(struct registry *r, const char *name, enum registry_error *why)
{
    struct lease lease = {0};
    char file[FILE_MAX_LEN + 1];
    shoal_status st = registry_lease(r, name, NULL, &lease, why);

    lease_end(&lease);
    if (st == SHOAL_OK)
        return load_again(r, name, why);
    store_find(r, name, file);
    *why = REGISTRY_NO_MODEL;
    if (!*file)
        return shoal_fail(SHOAL_ENOENT,
                          "failed to load '%.80s': found no file of that name in the "
                          "model store",
                          name);
    *why = REGISTRY_BAD;
    st = registry_add(r, file, name, "1.0", &r->defaults, &lease.version, why);
    lease_end(&lease);
    return st;
}

/* The default can go only when it is the last. */
shoal_status repository_unload(struct registry *r, const char *name, enum registry_error *why)
{
    struct lease lease = {0};
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && registry_next(r, name, &lease))
        if (!atomic_load(&lease.version->is_default))
            st = registry_remove(r, name, lease.version->version, why);
    lease_end(&lease);
    return st == SHOAL_OK ? registry_remove(r, name, NULL, why) : st;
}

/* ---- listing ---- */

static bool is_served(struct registry *r, const char *name)
{
    struct lease lease = {0};
    bool found = registry_next(r, name, &lease);

    lease_end(&lease);
    return found;
}

shoal_status repository_each(struct registry *r, bool ready,
                             void (*fn)(void *ctx, const struct repository_entry *e), void *ctx)
{
    DIR *dir = ready ? NULL : store_open(r);
    struct lease lease = {0};
    char name[NAME_MAX_LEN + 1];

    while (registry_next(r, NULL, &lease)) {
        char trouble[TROUBLE_MAX] = "";
        struct repository_entry e = {.name = lease.version->name,
                                     .version = lease.version->version,
                                     .ready =
                                         lease.generation && batcher_open(lease.version->batcher)};

        registry_trouble(r, lease.version, trouble);
        e.reason = e.ready ? "" : *trouble ? trouble : "it has no worker";
        if (e.ready || !ready)
            fn(ctx, &e);
    }
    for (size_t i = 0; dir && i < LISTED_MAX && store_next(dir, name); i++)
        if (!is_served(r, name))
            fn(ctx, &(struct repository_entry){name, "", false, "unloaded"});
    if (dir)
        closedir(dir);
    return SHOAL_OK;
}
