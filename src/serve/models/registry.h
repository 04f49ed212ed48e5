/* registry: which models are served; not a door.
 *
 * What this is: versions of models by name, the files they come from, and what
 * survives a restart.
 *
 *     registry --> version "news" "1.0" (default) --> generation: the file, open
 *                  version "news" "2.0"           --> batcher, tally, settings
 *
 * Who owns what: a lease keeps a version and a generation until lease_end.
 * Threads: any may call anything; changes are made one at a time. */
#ifndef SHOAL_SERVE_REGISTRY_H
#define SHOAL_SERVE_REGISTRY_H

#include "serve/models/batcher.h"
#include "serve/models/class_rules.h"
#include "serve/models/gate.h"

#include <pthread.h>
#include <sys/stat.h>

enum { NAME_MAX_LEN = 80, FILE_MAX_LEN = 255, WORKERS_MAX = 64, TROUBLE_MAX = 200 };

/* Letters, digits, and . _ - but not first; 1 to 80 of them. A version's name is
 * none that the addresses need: "all", "set-default", "ready", "similar", ... */
bool model_name_fits(const char *name);
bool model_version_fits(const char *version);
/* Whether /models/NAME/WORD asks a model: "invoke", or a verb of some kind. */
bool model_verb_known(const char *word);
/* A name that stands in a folder itself: no separator, not hidden, printable. */
bool model_file_fits(const char *file);

/* "dir/news.shoal" is "news": what a model is called by itself; false: it cannot be called so. */
bool model_name_of_file(char name[NAME_MAX_LEN + 1], const char *file);

struct version {
    char name[NAME_MAX_LEN + 1], version[NAME_MAX_LEN + 1];
    char file[FILE_MAX_LEN + 1]; /* of the store; of a model of the command line its last part */
    char *path;                  /* of a model of the command line, else NULL */
    struct model_settings settings;
    atomic_bool is_default;
    struct batcher *batcher;
    struct gate gate;
    struct model_tally tally;
    struct generation *now;    /* NULL: the file is not there, or is no model */
    char trouble[TROUBLE_MAX]; /* why the file as it is now was not opened; "" else */
    struct stat seen;          /* the file that was opened last, with or without success */
    struct stat writing;       /* as the last look found it, when it differed from `seen` */
    bool gone;                 /* it is no longer in the list */
    time_t began;
    uint64_t shown[BUCKETS], shown_requests; /* at the last look of registry_update_rates */
    double idle;                             /* seconds since the last answer */
    _Atomic double rate, p50, p99;           /* p50, p99: of the last look that found answers */
    atomic_uint refs;
};

struct registry {
    const struct servable_kind *const *kinds;
    int store;   /* the folder; -1: none */
    char *state; /* the file; NULL: none */
    struct model_settings defaults;
    void (*log)(void *user, const char *sentence);
    void *user;
    bool map; /* files are mapped, not read */
    bool index; /* vectors are asked by the index beside their file, if there is one */
    struct class_rules classes; /* what the classes of models are called */
    char *limits;               /* of models by name: gate.h; or NULL */
    struct watch *watch;        /* of the store, whose files come and go; or NULL */

    pthread_rwlock_t lock; /* of the list and of what its versions point at */
    bool closed;           /* for good: no version enters any more */
    struct version **at;   /* by name, then by version */
    size_t len, cap;
    pthread_mutex_t change; /* held by whoever registers, scales, ends or reloads */
    unsigned leaving;       /* versions off the list whose workers have not ended; `change` */
    pthread_cond_t left;    /* one of them has */
    _Atomic uint64_t state_failures;
};

shoal_status registry_init(struct registry *r, const struct servable_kind *const *kinds,
                           const char *store, const char *state,
                           const struct model_settings *defaults);
void registry_fini(struct registry *r);

/* A model of the command line: "[NAME[:VERSION]=]FILE". */
shoal_status registry_add_path(struct registry *r, const char *spec);
/* A file of the store, under `name`, or its own name without ending when NULL. On
 * failure *why is the reason that the answer names. */
enum registry_error {
    REGISTRY_NO_ERROR,
    REGISTRY_BAD,
    REGISTRY_NO_MODEL,
    REGISTRY_NO_VERSION,
    REGISTRY_TAKEN,
    REGISTRY_IS_DEFAULT
};
shoal_status registry_add(struct registry *r, const char *file, const char *name,
                          const char *version, const struct model_settings *settings,
                          struct version **out, enum registry_error *why);
shoal_status registry_add_all(struct registry *r);
shoal_status registry_remove(struct registry *r, const char *name, const char *version,
                             enum registry_error *why);
shoal_status registry_set_default(struct registry *r, const char *name, const char *version,
                                  enum registry_error *why);
/* With `wait` returns when the workers who go are gone. */
shoal_status registry_scale(struct registry *r, const char *name, const char *version, unsigned min,
                            unsigned max, bool wait, enum registry_error *why);

/* What a model of that name begins with. */
struct model_settings registry_settings(const struct registry *r, const char *name);
/* Those of a version, as they are now. */
struct model_settings version_settings(struct registry *r, const struct version *v);
/* What the version may have and take from now on; of its workers registry_scale decides. */
shoal_status registry_limit(struct registry *r, const char *name, const char *version,
                            const struct model_settings *settings, enum registry_error *why);

/* ---- leases ---- */

struct lease {
    struct version *version;
    struct generation *generation; /* NULL when there is none now */
};

/* The version of that name, or the default of NULL. */
shoal_status registry_lease(struct registry *r, const char *name, const char *version,
                            struct lease *out, enum registry_error *why);
/* The next of all, or of one name, by name and version; the first for a lease of zeros.
 * Ends *l, also behind the last, where it is false. A walk meets every version that is
 * there all the while exactly once, whatever comes and goes. */
bool registry_next(struct registry *r, const char *name, struct lease *l);
void lease_end(struct lease *l);

/* Why the version's file, as it is now, is not served; "" when it is. */
void registry_trouble(struct registry *r, const struct version *v, char out[TROUBLE_MAX]);

/* Every default version that should have workers has its model open and `min` of them. */
bool registry_healthy(struct registry *r);

/* ---- now and then ---- */

/* Opens what was replaced. A file that is no model leaves the old one in place; one that
 * is written to in place is opened once two looks have found it the same. */
void registry_reload(struct registry *r);
/* The store is watched: its files are served as they come and go. Without `keep_state` nothing is
 * written into it, and what is registered does not survive a restart. */
shoal_status registry_begin_watch(struct registry *r, bool keep_state);
/* Files of a watched store that have come are served, those that are gone no longer. A file is
 * taken when two looks have found it the same; of the first look all are. */
void registry_watch(struct registry *r, bool first);
/* Rates and latencies since the call before. */
void registry_update_rates(struct registry *r, double seconds);
/* Ends all workers after their last jobs; from then on nothing is registered. */
void registry_close(struct registry *r);

/* ---- state.c ---- */

shoal_status state_save(struct registry *r);
/* Registers what the file names; what cannot be is told to the log. */
shoal_status state_load(struct registry *r);

/* ---- repository.c: models by name alone, as Triton's clients manage them ---- */

/* The file of the store that is called so, unless it is served; what was replaced is opened. */
shoal_status repository_load(struct registry *r, const char *name, enum registry_error *why);
/* All its versions. */
shoal_status repository_unload(struct registry *r, const char *name, enum registry_error *why);

struct repository_entry {
    const char *name, *version; /* "" of a file that is not served */
    bool ready;
    const char *reason; /* why it is not; "" else */
};
/* fn for every version, and for every file of the store that is not served, unless `ready`. */
shoal_status repository_each(struct registry *r, bool ready,
                             void (*fn)(void *ctx, const struct repository_entry *e), void *ctx);

/* ---- watch.c ---- */

/* What the watcher knows of the store. */
struct watch;
shoal_status watch_open(struct watch **out);
void watch_close(struct watch *w);
void watch_look(struct watch *w, struct registry *r, bool first);
/* Same name, size and time: nobody has written to it in between. */
bool file_is_same(const struct stat *a, const struct stat *b);

/* ---- registry.c, for state.c and watch.c ---- */

/* Whether some version comes from that file of the store. */
bool registry_has_file(struct registry *r, const char *file);
/* Ends the versions of a file of the store; how many. */
size_t registry_drop_file(struct registry *r, const char *file);

shoal_status registry_restore(struct registry *r, const char *file, const char *name,
                              const char *version, const struct model_settings *settings,
                              bool is_default);
void registry_log(struct registry *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
