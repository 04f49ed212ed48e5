/* Two locks, so that requests never wait for a disk:
 *
 *     change  a mutex, held for as long as a change takes, files that are opened included.
 *             Makes registering, scaling, ending and reloading happen one at a time.
 *     lock    a reader-writer lock on the list and on what its versions point at. Requests
 *             take it for reading for the few instructions of a lease; a change takes it for
 *             writing only to swap pointers.
 *
 * Always in that order. A lease counts a reference to a version and to its generation under
 * `lock`; from then on both stay alive without any lock, although the version may be taken
 * off the list and the generation be replaced.
 *
 * Ending a version: off the list first (no new leases), then its batcher is closed, which
 * computes what waits, then the list's reference is dropped. */
#include "serve/models/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <dirent.h>

/* ---- names ---- */

bool model_name_fits(const char *name)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

    return len > 0 && len <= NAME_MAX_LEN && !name[len] && !strchr("._-", name[0]);
}

bool model_verb_known(const char *word)
{
    for (size_t k = 0; servable_kinds[k]; k++)
        for (const char *const *verb = servable_kinds[k]->verbs; verb && *verb; verb++)
            if (strcmp(word, *verb) == 0)
                return true;
    return strcmp(word, "invoke") == 0 || strcmp(word, "form") == 0;
}

bool model_version_fits(const char *version)
{
    static const char *const taken[] = {"all", "set-default", "ready", "infer", "versions"};

    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(version, taken[i]) == 0)
            return false;
    return model_name_fits(version) && !model_verb_known(version);
}

bool model_file_fits(const char *file)
{
    size_t len = strlen(file);

    if (len == 0 || len > FILE_MAX_LEN || file[0] == '.')
        return false;
    for (const char *at = file; *at; at++)
        if (*at == '/' || *at == '\\' || (unsigned char)*at < ' ' || *at == 127)
            return false;
    return true;
}

bool model_name_of_file(char name[NAME_MAX_LEN + 1], const char *file)
{
    size_t len = strcspn(file, ".");

    snprintf(name, NAME_MAX_LEN + 1, "%.*s", len > NAME_MAX_LEN ? 0 : (int)len, file);
    for (char *at = name; *at; at++)
        if (*at == ' ')
            *at = '-';
    return model_name_fits(name);
}

void registry_log(struct registry *r, const char *fmt, ...)
{
    char text[512];
    va_list args;

    if (!r->log)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    r->log(r->user, text);
}

/* ---- files ---- */

static shoal_status open_code(int error)
{
    if (error == EMFILE || error == ENFILE || error == ENOMEM)
        return SHOAL_ELIMIT; /* not the file's fault */
    return error == ENOENT ? SHOAL_ENOENT : SHOAL_EIO;
}

/* The file of a version. Of the store only regular files that lie in the folder itself are
 * opened, and no links: management cannot make the server read any other file. */
static shoal_status version_file(const struct registry *r, const struct version *v, int *fd)
{
    struct stat st;

    *fd = v->path ? open(v->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
                  : openat(r->store, v->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (*fd < 0)
        return shoal_fail(open_code(errno), "%s: %s", v->file,
                          errno == ELOOP ? "found a link, want a file" : strerror(errno));
    if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode))
        return SHOAL_OK;
    close(*fd);
    *fd = -1;
    return shoal_fail(SHOAL_EFORMAT, "%s: found no regular file, want a model", v->file);
}

/* The sentence of a failure, in which the path, unless it is "", is the bare name. */
static void sentence_without(char *out, size_t cap, const char *path, const char *file)
{
    const char *said = shoal_error(), *at = *path ? strstr(said, path) : NULL;

    if (at)
        snprintf(out, cap, "%.*s%.60s%s", (int)(at - said), said, file, at + strlen(path));
    else if (strncmp(said, file, strlen(file)) == 0)
        snprintf(out, cap, "%.180s", said);
    else
        snprintf(out, cap, "%.60s: %.120s", file, said);
}

/* FILE.hnsw beside the model's file. One that is not its own is said, and does without. */
static void version_index(struct registry *r, const struct version *v, struct generation *g)
{
    char *path = v->path ? mem_text("%s.hnsw", v->path)
                         : mem_text("/proc/self/fd/%d/%s.hnsw", r->store, v->file);
    char said[TROUBLE_MAX];

    if (path && generation_take_index(g, path) == SHOAL_OK) {
        free(path);
        return;
    }
    sentence_without(said, sizeof said, path ? path : "", v->file);
    registry_log(r, "%s: searched without an index: %s", v->name, said);
    free(path);
}

/* Opens the model through the descriptor that was checked (/proc/self/fd/N), so that nobody
 * can swap the file between the check and the use. A path of the command line is opened as
 * it is, for formats that keep their words in a file beside. */
static shoal_status version_open(struct registry *r, const struct version *v,
                                 struct generation **out, struct stat *seen,
                                 char trouble[TROUBLE_MAX])
{
    char path[64] = "";
    const char *shown = v->path ? v->path : path;
    int fd;
    shoal_status st = version_file(r, v, &fd);

    *out = NULL;
    *seen = (struct stat){0};
    if (st == SHOAL_OK) {
        fstat(fd, seen);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        st = generation_open(out, r->kinds, shown, r->map, class_rules_find(&r->classes, v->name));
        close(fd);
    }
    if (st == SHOAL_OK && r->index)
        version_index(r, v, *out);
    trouble[0] = '\0';
    if (st != SHOAL_OK)
        sentence_without(trouble, TROUBLE_MAX, shown, v->file);
    return st;
}

/* ---- versions ---- */

static void version_drop(struct version *v)
{
    if (!v || atomic_fetch_sub(&v->refs, 1) != 1)
        return;
    generation_drop(v->now);
    batcher_free(v->batcher);
    gate_fini(&v->gate);
    free(v->path);
    free(v);
}

static struct version *version_new(const char *file, const char *name, const char *version,
                                   const struct model_settings *settings)
{
    struct version *v = mem_array(1, sizeof *v);

    if (!v)
        return NULL;
    atomic_init(&v->refs, 1);
    snprintf(v->file, sizeof v->file, "%s", file);
    snprintf(v->name, sizeof v->name, "%s", name);
    snprintf(v->version, sizeof v->version, "%s", version);
    v->settings = *settings;
    gate_init(&v->gate, settings);
    v->began = time(NULL);
    if (batcher_new(&v->batcher, settings, &v->tally) != SHOAL_OK) {
        gate_fini(&v->gate);
        free(v);
        return NULL;
    }
    return v;
}

static int version_order(const struct version *v, const char *name, const char *version)
{
    int by_name = strcmp(v->name, name);

    return by_name ? by_name : strcmp(v->version, version);
}

/* ---- the list: with the lock held ---- */

static struct version *find_default(const struct registry *r, const char *name)
{
    for (size_t i = 0; i < r->len; i++)
        if (r->at[i]->is_default && strcmp(r->at[i]->name, name) == 0)
            return r->at[i];
    return NULL;
}

static struct version *find_version(const struct registry *r, const char *name, const char *version,
                                    enum registry_error *why)
{
    struct version *v = find_default(r, name);

    *why = v ? REGISTRY_NO_ERROR : REGISTRY_NO_MODEL;
    if (!v || !version)
        return v;
    for (size_t i = 0; i < r->len; i++)
        if (version_order(r->at[i], name, version) == 0)
            return r->at[i];
    *why = REGISTRY_NO_VERSION;
    return NULL;
}

static shoal_status not_found(const char *name, const char *version, enum registry_error why)
{
    if (why == REGISTRY_NO_VERSION)
        return shoal_fail(SHOAL_ENOENT, "Model version: %s does not exist for model: %s", version,
                          name);
    return shoal_fail(SHOAL_ENOENT, "Model not found: %s", name);
}

static shoal_status list_insert(struct registry *r, struct version *v)
{
    void *at = r->at;
    shoal_status st = mem_grow(&at, &r->cap, r->len + 1, sizeof *r->at);
    size_t i;

    r->at = at;
    if (st != SHOAL_OK)
        return st;
    for (i = r->len++; i > 0 && version_order(r->at[i - 1], v->name, v->version) > 0; i--)
        r->at[i] = r->at[i - 1];
    r->at[i] = v;
    return SHOAL_OK;
}

static void list_remove(struct registry *r, const struct version *v)
{
    size_t i = 0;

    while (r->at[i] != v)
        i++;
    memmove(r->at + i, r->at + i + 1, (r->len - i - 1) * sizeof *r->at);
    r->len--;
}

/* ---- changes ---- */

static void changed(struct registry *r)
{
    if (state_save(r) == SHOAL_OK)
        return;
    atomic_fetch_add(&r->state_failures, 1);
    registry_log(r, "state: %s", shoal_error());
}

/* Puts v, which it takes, into the list, with its workers. */
static shoal_status enter(struct registry *r, struct version *v, enum registry_error *why)
{
    enum registry_error none;
    shoal_status st = batcher_scale(v->batcher, v->settings.min_workers, v->settings.max_workers);

    *why = REGISTRY_NO_ERROR;
    pthread_rwlock_wrlock(&r->lock);
    if (st == SHOAL_OK && r->closed) {
        st = shoal_fail(SHOAL_ESTOP, "the server is being stopped");
    } else if (st == SHOAL_OK && find_version(r, v->name, v->version, &none)) {
        *why = REGISTRY_TAKEN;
        st = shoal_fail(SHOAL_EINVAL, "Model version %s is already registered for model %s",
                        v->version, v->name);
    } else if (st == SHOAL_OK) {
        v->is_default = !find_default(r, v->name);
        st = list_insert(r, v);
    }
    pthread_rwlock_unlock(&r->lock);
    if (st != SHOAL_OK) {
        batcher_close(v->batcher); /* nobody else knows it: returns at once */
        version_drop(v);
    }
    return st;
}

/* Opens v, which it takes, and enters it. */
static shoal_status open_and_enter(struct registry *r, struct version *v, enum registry_error *why)
{
    double began = clock_now();
    shoal_status st = version_open(r, v, &v->now, &v->seen, v->trouble);

    if (st != SHOAL_OK) {
        st = shoal_fail(st, "%s", v->trouble);
        version_drop(v);
        return st;
    }
    atomic_store(&v->tally.load_ns, (uint64_t)((clock_now() - began) * 1e9));
    return enter(r, v, why);
}

shoal_status registry_add(struct registry *r, const char *file, const char *name,
                          const char *version, const struct model_settings *settings,
                          struct version **out, enum registry_error *why)
{
    char own[NAME_MAX_LEN + 1];
    struct version *v;
    shoal_status st;

    *out = NULL;
    *why = REGISTRY_BAD;
    if (r->store < 0)
        return shoal_fail(SHOAL_EINVAL, "there is no model store: start the server with one");
    if (!model_file_fits(file))
        return shoal_fail(SHOAL_EINVAL, "the url is not the name of a file in the model store");
    if (!name && model_name_of_file(own, file))
        name = own;
    if (!name || !model_name_fits(name) || !model_version_fits(version))
        return shoal_fail(SHOAL_EINVAL, "found a model name or version that cannot be one, want "
                                        "letters, digits and . _ - within");
    v = version_new(file, name, version, settings);
    if (!v)
        return SHOAL_ENOMEM;
    atomic_fetch_add(&v->refs, 1); /* the caller's */
    pthread_mutex_lock(&r->change);
    st = open_and_enter(r, v, why);
    if (st == SHOAL_OK)
        changed(r);
    pthread_mutex_unlock(&r->change);
    if (st == SHOAL_OK)
        *out = v;
    else
        version_drop(v);
    return st;
}

static shoal_status make_default(struct registry *r, const char *name, const char *version,
                                 enum registry_error *why)
{
    struct version *v;

    pthread_rwlock_wrlock(&r->lock);
    v = find_version(r, name, version, why);
    if (v) {
        find_default(r, name)->is_default = false;
        v->is_default = true;
    }
    pthread_rwlock_unlock(&r->lock);
    if (!v)
        return not_found(name, version, *why);
    return SHOAL_OK;
}

shoal_status registry_restore(struct registry *r, const char *file, const char *name,
                              const char *version, const struct model_settings *settings,
                              bool is_default)
{
    struct version *v = version_new(file, name, version, settings);
    enum registry_error why;
    shoal_status st;

    if (!v)
        return SHOAL_ENOMEM;
    if (version_open(r, v, &v->now, &v->seen, v->trouble) != SHOAL_OK)
        registry_log(r, "model %s: %s; it is served once the file is there", name, v->trouble);
    why = REGISTRY_NO_ERROR;
    st = enter(r, v, &why);
    if (why == REGISTRY_TAKEN)
        return SHOAL_OK; /* the command line goes before */
    return st == SHOAL_OK && is_default ? make_default(r, name, version, &why) : st;
}

/* "[NAME[:VERSION]=]FILE" in its parts; the = of a path that has one needs a name. */
static shoal_status split_spec(const char *spec, char name[NAME_MAX_LEN + 1],
                               char version[NAME_MAX_LEN + 1], const char **path)
{
    const char *equals = strchr(spec, '='), *slash = strchr(spec, '/');
    const char *file;
    size_t len;

    snprintf(version, NAME_MAX_LEN + 1, "1.0");
    *path = equals && (!slash || equals < slash) ? equals + 1 : spec;
    file = strrchr(*path, '/') ? strrchr(*path, '/') + 1 : *path;
    if (*path == spec) {
        if (model_name_of_file(name, file))
            return SHOAL_OK;
        return shoal_fail(SHOAL_EINVAL, "model '%s' has no name, want NAME=FILE", spec);
    }
    len = strcspn(spec, ":=");
    snprintf(name, NAME_MAX_LEN + 1, "%.*s", len > NAME_MAX_LEN ? 0 : (int)len, spec);
    if (spec[len] == ':') {
        spec += len + 1;
        len = (size_t)(equals - spec);
        snprintf(version, NAME_MAX_LEN + 1, "%.*s", len > NAME_MAX_LEN ? 0 : (int)len, spec);
    }
    if (!model_name_fits(name) || !model_version_fits(version))
        return shoal_fail(SHOAL_EINVAL,
                          "model '%s': want NAME[:VERSION]=FILE, of letters, digits and . _ -",
                          spec);
    return SHOAL_OK;
}

shoal_status registry_add_path(struct registry *r, const char *spec)
{
    char name[NAME_MAX_LEN + 1], version[NAME_MAX_LEN + 1];
    const char *path, *file;
    enum registry_error why;
    struct model_settings settings;
    struct version *v;
    shoal_status st = split_spec(spec, name, version, &path);

    if (st != SHOAL_OK)
        return st;
    file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    settings = registry_settings(r, name);
    v = version_new(file, name, version, &settings);
    if (!v)
        return SHOAL_ENOMEM;
    v->path = strdup(path);
    if (!v->path) {
        version_drop(v);
        return shoal_fail(SHOAL_ENOMEM, "memory: no room for a path");
    }
    pthread_mutex_lock(&r->change);
    st = open_and_enter(r, v, &why);
    pthread_mutex_unlock(&r->change);
    return st;
}

/* Files that are no model, or are served already, are passed over. */
shoal_status registry_add_all(struct registry *r)
{
    int fd = fcntl(r->store, F_DUPFD_CLOEXEC, 0);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct model_settings settings = r->defaults;
    char name[NAME_MAX_LEN + 1];
    struct dirent *entry;

    if (!dir) {
        if (fd >= 0)
            close(fd);
        return shoal_fail_errno(SHOAL_EIO, "model store");
    }
    rewinddir(dir);
    while ((entry = readdir(dir))) {
        enum registry_error why;
        struct version *v;

        if (!model_file_fits(entry->d_name))
            continue;
        if (model_name_of_file(name, entry->d_name))
            settings = registry_settings(r, name);
        if (registry_add(r, entry->d_name, NULL, "1.0", &settings, &v, &why) == SHOAL_OK)
            version_drop(v);
        else if (why != REGISTRY_TAKEN)
            registry_log(r, "passed over: %s", shoal_error());
    }
    closedir(dir);
    return SHOAL_OK;
}

/* The version that is to go, taken off the list. */
static struct version *take_off(struct registry *r, const char *name, const char *version,
                                enum registry_error *why)
{
    struct version *v;
    size_t siblings = 0;

    pthread_rwlock_wrlock(&r->lock);
    v = find_version(r, name, version, why);
    for (size_t i = 0; v && i < r->len; i++)
        siblings += strcmp(r->at[i]->name, name) == 0;
    if (v && v->is_default && siblings > 1) {
        *why = REGISTRY_IS_DEFAULT;
        v = NULL;
    }
    if (v) {
        list_remove(r, v);
        v->gone = true;
    }
    pthread_rwlock_unlock(&r->lock);
    return v;
}

shoal_status registry_remove(struct registry *r, const char *name, const char *version,
                             enum registry_error *why)
{
    struct version *v;

    pthread_mutex_lock(&r->change);
    v = take_off(r, name, version, why);
    if (v) {
        r->leaving++;
        changed(r);
    }
    pthread_mutex_unlock(&r->change);
    if (!v && *why == REGISTRY_IS_DEFAULT)
        return shoal_fail(SHOAL_EINVAL, "Cannot remove default version for model %s", name);
    if (!v)
        return not_found(name, version, *why);
    batcher_close(v->batcher);
    version_drop(v);
    pthread_mutex_lock(&r->change);
    r->leaving--;
    pthread_cond_broadcast(&r->left);
    pthread_mutex_unlock(&r->change);
    return SHOAL_OK;
}

shoal_status registry_set_default(struct registry *r, const char *name, const char *version,
                                  enum registry_error *why)
{
    shoal_status st;

    pthread_mutex_lock(&r->change);
    st = make_default(r, name, version, why);
    if (st == SHOAL_OK)
        changed(r);
    pthread_mutex_unlock(&r->change);
    return st;
}

shoal_status registry_scale(struct registry *r, const char *name, const char *version, unsigned min,
                            unsigned max, bool wait, enum registry_error *why)
{
    struct lease lease;
    shoal_status st;

    pthread_mutex_lock(&r->change); /* first: nobody ends the version in between */
    st = registry_lease(r, name, version, &lease, why);
    if (st == SHOAL_OK)
        st = batcher_scale(lease.version->batcher, min, max);
    if (st == SHOAL_OK) {
        pthread_rwlock_wrlock(&r->lock);
        lease.version->settings.min_workers = min;
        lease.version->settings.max_workers = max;
        pthread_rwlock_unlock(&r->lock);
        changed(r);
    }
    pthread_mutex_unlock(&r->change);
    if (st == SHOAL_OK && wait)
        batcher_settle(lease.version->batcher);
    lease_end(&lease);
    return st;
}

struct model_settings registry_settings(const struct registry *r, const char *name)
{
    struct model_settings settings = r->defaults;

    limit_rules_apply(r->limits, name, &settings);
    return settings;
}

struct model_settings version_settings(struct registry *r, const struct version *v)
{
    struct model_settings settings;

    pthread_rwlock_rdlock(&r->lock);
    settings = v->settings;
    pthread_rwlock_unlock(&r->lock);
    return settings;
}

shoal_status registry_limit(struct registry *r, const char *name, const char *version,
                            const struct model_settings *settings, enum registry_error *why)
{
    struct lease lease;
    shoal_status st;

    pthread_mutex_lock(&r->change);
    st = registry_lease(r, name, version, &lease, why);
    if (st == SHOAL_OK) {
        struct version *v = lease.version;
        struct model_settings fresh = *settings;

        pthread_rwlock_wrlock(&r->lock);
        fresh.min_workers = v->settings.min_workers;
        fresh.max_workers = v->settings.max_workers;
        v->settings = fresh;
        pthread_rwlock_unlock(&r->lock);
        gate_set(&v->gate, &fresh);
        batcher_limit(v->batcher, &fresh);
        changed(r);
    }
    pthread_mutex_unlock(&r->change);
    lease_end(&lease);
    return st;
}

static void lease_begin(struct lease *out, struct version *v)
{
    atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    *out = (struct lease){v, v->now};
    if (v->now)
        generation_keep(v->now);
}

/* ---- files of a watched store ---- */

bool registry_has_file(struct registry *r, const char *file)
{
    bool found = false;

    pthread_rwlock_rdlock(&r->lock);
    for (size_t i = 0; i < r->len && !found; i++)
        found = !r->at[i]->path && strcmp(r->at[i]->file, file) == 0;
    pthread_rwlock_unlock(&r->lock);
    return found;
}

/* One that is not its model's default while others are, if there is such a one. */
static bool find_file(struct registry *r, const char *file, struct lease *out)
{
    struct version *found = NULL;

    *out = (struct lease){0};
    pthread_rwlock_rdlock(&r->lock);
    for (size_t i = 0; i < r->len; i++) {
        struct version *v = r->at[i];

        if (!v->path && strcmp(v->file, file) == 0 && (!found || found->is_default))
            found = v;
    }
    if (found)
        lease_begin(out, found);
    pthread_rwlock_unlock(&r->lock);
    return found != NULL;
}

size_t registry_drop_file(struct registry *r, const char *file)
{
    struct lease lease;
    size_t n = 0;
    bool ended = true;

    while (ended && find_file(r, file, &lease)) {
        enum registry_error why;

        ended = registry_remove(r, lease.version->name, lease.version->version, &why) == SHOAL_OK;
        if (ended)
            registry_log(r, "model %s, version %s: its file is gone, it is served no longer",
                         lease.version->name, lease.version->version);
        else
            registry_log(r, "model %s, version %s: its file is gone, it is still served: %s",
                         lease.version->name, lease.version->version, shoal_error());
        n += ended;
        lease_end(&lease);
    }
    return n;
}

shoal_status registry_begin_watch(struct registry *r, bool keep_state)
{
    shoal_status st = watch_open(&r->watch);

    if (!keep_state) {
        free(r->state);
        r->state = NULL;
    }
    return st;
}

void registry_watch(struct registry *r, bool first)
{
    if (r->watch)
        watch_look(r->watch, r, first);
}

/* ---- leases ---- */

shoal_status registry_lease(struct registry *r, const char *name, const char *version,
                            struct lease *out, enum registry_error *why)
{
    struct version *v;

    *out = (struct lease){0};
    pthread_rwlock_rdlock(&r->lock);
    v = find_version(r, name, version, why);
    if (v)
        lease_begin(out, v);
    pthread_rwlock_unlock(&r->lock);
    return v ? SHOAL_OK : not_found(name, version, *why);
}

/* Goes on behind the name and version of the last one, not at an index, as the list may
 * change between two calls. */
bool registry_next(struct registry *r, const char *name, struct lease *l)
{
    struct lease last = *l;

    *l = (struct lease){0};
    pthread_rwlock_rdlock(&r->lock);
    for (size_t i = 0; i < r->len && !l->version; i++) {
        struct version *v = r->at[i];

        if ((!name || strcmp(v->name, name) == 0) &&
            (!last.version || version_order(v, last.version->name, last.version->version) > 0))
            lease_begin(l, v);
    }
    pthread_rwlock_unlock(&r->lock);
    lease_end(&last);
    return l->version != NULL;
}

void lease_end(struct lease *l)
{
    generation_drop(l->generation);
    version_drop(l->version);
    *l = (struct lease){0};
}

void registry_trouble(struct registry *r, const struct version *v, char out[TROUBLE_MAX])
{
    pthread_rwlock_rdlock(&r->lock);
    memcpy(out, v->trouble, TROUBLE_MAX);
    pthread_rwlock_unlock(&r->lock);
}

bool registry_healthy(struct registry *r)
{
    bool healthy = true;

    pthread_rwlock_rdlock(&r->lock);
    for (size_t i = 0; i < r->len; i++) {
        struct version *v = r->at[i];

        if (v->is_default && v->settings.min_workers > 0 &&
            (!v->now || batcher_snapshot(v->batcher).workers < v->settings.min_workers))
            healthy = false;
    }
    pthread_rwlock_unlock(&r->lock);
    return healthy;
}

/* ---- now and then ---- */

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool file_is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           same_time(a->st_mtim, b->st_mtim);
}

/* A file that could not be opened may become readable by chmod, which changes st_ctim and the
 * mode alone. Both are compared, as the clocks of file systems are coarse. */
static bool same_rights(const struct stat *a, const struct stat *b)
{
    return a->st_mode == b->st_mode && same_time(a->st_ctim, b->st_ctim);
}

/* Whether there is a new file to be opened. One that was renamed into place (another inode)
 * is whole. One that is written to in place is taken only once two looks in a row have found
 * it the same: before, it may still grow. */
static bool was_replaced(const struct registry *r, struct version *v)
{
    struct stat st, before = v->writing;
    int gone = v->path ? stat(v->path, &st) : fstatat(r->store, v->file, &st, AT_SYMLINK_NOFOLLOW);

    v->writing = (struct stat){0};
    /* A file that is gone is still served: it may be about to be replaced. */
    if (gone || !S_ISREG(st.st_mode))
        return false;
    if (file_is_same(&st, &v->seen) && (!v->trouble[0] || same_rights(&st, &v->seen)))
        return false;
    v->writing = st;
    return st.st_ino != v->seen.st_ino || st.st_dev != v->seen.st_dev || file_is_same(&st, &before);
}

static void reload(struct registry *r, struct version *v)
{
    struct generation *fresh, *old = NULL;
    struct stat seen;
    char trouble[TROUBLE_MAX];
    shoal_status st = version_open(r, v, &fresh, &seen, trouble);

    pthread_rwlock_wrlock(&r->lock);
    /* A file that is no model counts as seen too, else every look would open it and log the
     * failure again; but not where the system had no descriptor or memory just now. */
    v->seen = seen.st_ino || st == SHOAL_ELIMIT ? seen : v->writing;
    memcpy(v->trouble, trouble, sizeof trouble);
    if (st == SHOAL_OK) {
        old = v->now;
        v->now = fresh;
    }
    pthread_rwlock_unlock(&r->lock);
    generation_drop(old);
    if (st == SHOAL_OK) {
        atomic_fetch_add(&v->tally.reloads, 1);
        registry_log(r, "model %s, version %s: the new file is served", v->name, v->version);
    } else {
        registry_log(r, "model %s, version %s: the new file is not served: %s", v->name, v->version,
                     trouble);
    }
}

void registry_reload(struct registry *r)
{
    for (struct lease lease = {0}; registry_next(r, NULL, &lease);) {
        pthread_mutex_lock(&r->change); /* nobody ends the version in between */
        if (!lease.version->gone && was_replaced(r, lease.version))
            reload(r, lease.version);
        pthread_mutex_unlock(&r->change);
    }
}

#define LATELY 60.0 /* seconds that latencies are told for after the last request */

/* The latencies of the last interval with answers: who looks once a second sees those of each
 * request, also between two intervals, and who comes a little later those of the last. */
static void update_latencies(struct version *v, double seconds)
{
    const struct histogram *h = &v->tally.stages[STAGE_ALL];
    double p99 = histogram_quantile(h, 0.99, v->shown);

    v->idle = p99 > 0 ? 0 : v->idle + seconds;
    if (p99 > 0 || v->idle > LATELY) {
        v->p50 = histogram_quantile(h, 0.5, v->shown);
        v->p99 = p99;
    }
    for (size_t b = 0; b < BUCKETS; b++)
        v->shown[b] = atomic_load_explicit(&h->buckets[b], memory_order_relaxed);
}

void registry_update_rates(struct registry *r, double seconds)
{
    pthread_rwlock_wrlock(&r->lock);
    for (size_t i = 0; i < r->len; i++) {
        struct version *v = r->at[i];
        uint64_t requests = atomic_load(&v->tally.requests);

        v->rate = (double)(requests - v->shown_requests) / seconds;
        v->shown_requests = requests;
        update_latencies(v, seconds);
    }
    pthread_rwlock_unlock(&r->lock);
}

/* Writers go first: every request reads, so on a busy server a writer would starve under the
 * default, which prefers readers. It requires that no thread takes the lock twice. */
static void lock_init(pthread_rwlock_t *lock)
{
    pthread_rwlockattr_t attr;

    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(lock, &attr);
    pthread_rwlockattr_destroy(&attr);
}

shoal_status registry_init(struct registry *r, const struct servable_kind *const *kinds,
                           const char *store, const char *state,
                           const struct model_settings *defaults)
{
    int len;

    *r = (struct registry){.kinds = kinds, .store = -1, .defaults = *defaults};
    lock_init(&r->lock);
    pthread_mutex_init(&r->change, NULL);
    pthread_cond_init(&r->left, NULL);
    if (store) {
        r->store = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (r->store < 0)
            return shoal_fail_errno(SHOAL_ENOENT, "model store: %s", store);
    }
    if (state)
        len = asprintf(&r->state, "%s", state);
    else
        len = store ? asprintf(&r->state, "%s/.shoal-serve.state", store) : 0;
    return len < 0 ? shoal_fail(SHOAL_ENOMEM, "memory: no room for a path") : SHOAL_OK;
}

void registry_close(struct registry *r)
{
    pthread_rwlock_wrlock(&r->lock);
    r->closed = true;
    pthread_rwlock_unlock(&r->lock);
    for (struct lease lease = {0}; registry_next(r, NULL, &lease);)
        batcher_close(lease.version->batcher);
    /* Versions that registry_remove has taken off still have workers and clients. */
    pthread_mutex_lock(&r->change);
    while (r->leaving > 0)
        pthread_cond_wait(&r->left, &r->change);
    pthread_mutex_unlock(&r->change);
}

void registry_fini(struct registry *r)
{
    registry_close(r);
    for (size_t i = 0; i < r->len; i++)
        version_drop(r->at[i]);
    free(r->at);
    free(r->state);
    free(r->limits);
    watch_close(r->watch);
    class_rules_fini(&r->classes);
    if (r->store >= 0)
        close(r->store);
    pthread_rwlock_destroy(&r->lock);
    pthread_mutex_destroy(&r->change);
    pthread_cond_destroy(&r->left);
}
