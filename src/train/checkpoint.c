/* Checkpoints: the tables, the vocabulary, the options and the position, in our
 * container. Since randomness is keyed by position and the rate is a function
 * of it, this is all there is to a run.
 *
 * A checkpoint appears by rename, so a crash at any moment leaves the ones
 * before it whole; the last two are kept. */
#include "train/train.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The options that decide the result: X(field, kind). A run resumed with others
 * would be another run. */
#define RESULT_FIELDS(X)                                                                           \
    X(model, u64)                                                                                  \
    X(loss, u64)                                                                                   \
    X(dim, u64)                                                                                    \
    X(window, u64)                                                                                 \
    X(negative, u64)                                                                               \
    X(sample, real)                                                                                \
    X(epochs, u64)                                                                                 \
    X(lr, real)                                                                                    \
    X(schedule, u64)                                                                               \
    X(decay, real)                                                                                 \
    X(sum, u64)                                                                                    \
    X(batch, u64)                                                                                  \
    X(seed, u64)                                                                                   \
    X(valid, real)                                                                                 \
    X(deterministic, u64)                                                                          \
    X(lanes, u64)

/* And those that do not, but that a resumed run should go on with. */
#define HABIT_FIELDS(X)                                                                            \
    X(threads, u64)                                                                                \
    X(every, u64)                                                                                  \
    X(every_value, real)

#define POSITION_FIELDS(X)                                                                         \
    X(epoch, u64)                                                                                  \
    X(chunk, u64)                                                                                  \
    X(words, u64)                                                                                  \
    X(seconds, real)                                                                               \
    X(epoch_loss, real)                                                                            \
    X(epoch_predictions, u64)                                                                      \
    X(best_loss, real)                                                                             \
    X(progress, real)

struct checkpoints {
    const struct shoal_train_opts *opts;
    const shoal_corpus *corpus;
    const struct table *tables; /* [n] those of the run */
    struct table *copies;       /* [n] what is being written */
    size_t n;
    char *meta;
    unsigned long next; /* number of the next file */
    unsigned written;
    pthread_t writer;
    bool writing;  /* begun and not yet finished */
    bool threaded; /* by the writer */
    shoal_status status; /* of the writer */
    char sentence[1024];
};

/* ---- meta: lines `key value` ---- */

static shoal_status add_line(struct bytes *b, const char *key, const char *value)
{
    shoal_status st;

    if (strchr(value, '\n'))
        return shoal_fail(SHOAL_EINVAL, "checkpoint: %s holds a newline", key);
    st = bytes_add(b, key, strlen(key));
    if (st == SHOAL_OK)
        st = bytes_add(b, " ", 1);
    if (st == SHOAL_OK)
        st = bytes_add(b, value, strlen(value));
    return st == SHOAL_OK ? bytes_add(b, "\n", 1) : st;
}

static shoal_status add_u64(struct bytes *b, const char *key, uint64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return add_line(b, key, text);
}

/* Hexadecimal, so that not a bit is lost. */
static shoal_status add_real(struct bytes *b, const char *key, double value)
{
    char text[64];

    snprintf(text, sizeof text, "%a", value);
    return add_line(b, key, text);
}

static shoal_status write_options(struct bytes *b, const struct shoal_train_opts *o)
{
    shoal_status st = add_line(b, "kind", "checkpoint");

#define X(field, type)                                                                             \
    if (st == SHOAL_OK)                                                                            \
        st = add_##type(b, "opt." #field, o->field);
    RESULT_FIELDS(X)
    HABIT_FIELDS(X)
#undef X
    if (st == SHOAL_OK)
        st = add_line(b, "corpus", o->corpus ? o->corpus : "");
    if (st == SHOAL_OK)
        st = add_line(b, "output", o->output ? o->output : "");
    if (st == SHOAL_OK)
        st = add_line(b, "metrics", o->metrics ? o->metrics : "");
    return st;
}

static shoal_status write_position(struct bytes *b, const struct position *at)
{
    shoal_status st = SHOAL_OK;

#define X(field, type)                                                                             \
    if (st == SHOAL_OK)                                                                            \
        st = add_##type(b, "at." #field, at->field);
    POSITION_FIELDS(X)
#undef X
    return st;
}

static shoal_status get_real(const struct container *c, const char *key, double *value)
{
    char text[64], *end;
    shoal_status st = container_meta(c, key, text, sizeof text);

    if (st != SHOAL_OK)
        return st;
    *value = strtod(text, &end);
    if (end == text || *end)
        return shoal_fail(SHOAL_EFORMAT, "%s: %s is `%s`, want a number", container_path(c), key,
                          text);
    return SHOAL_OK;
}

static shoal_status get_u64(const struct container *c, const char *key, uint64_t *value)
{
    return container_meta_u64(c, key, value);
}

typedef uint64_t field_u64;
typedef double field_real;

static shoal_status read_options(const struct container *c, struct shoal_train_opts *o)
{
    shoal_status st = SHOAL_OK;

#define X(field, type)                                                                             \
    if (st == SHOAL_OK) {                                                                          \
        field_##type value;                                                                        \
                                                                                                   \
        st = get_##type(c, "opt." #field, &value);                                                 \
        if (st == SHOAL_OK)                                                                        \
            o->field = (__typeof__(o->field))value;                                                \
    }
    RESULT_FIELDS(X)
    HABIT_FIELDS(X)
#undef X
    return st == SHOAL_OK ? shoal_train_check(o) : st;
}

static shoal_status read_position(const struct container *c, struct position *at)
{
    shoal_status st = SHOAL_OK;

#define X(field, type)                                                                             \
    if (st == SHOAL_OK) {                                                                          \
        field_##type value;                                                                        \
                                                                                                   \
        st = get_##type(c, "at." #field, &value);                                                  \
        if (st == SHOAL_OK)                                                                        \
            at->field = (__typeof__(at->field))value;                                              \
    }
    POSITION_FIELDS(X)
#undef X
    return st;
}

/* ---- the folder ---- */

static void file_name(char *path, size_t cap, const char *folder, unsigned long number)
{
    snprintf(path, cap, "%s/checkpoint-%06lu.shoal", folder, number);
}

static bool number_of(const char *name, unsigned long *number)
{
    int used = 0;

    return sscanf(name, "checkpoint-%lu.shoal%n", number, &used) == 1 && name[used] == '\0' &&
           used > 0;
}

static int newest_first(const void *a, const void *b)
{
    unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

    return (x < y) - (x > y);
}

/* The numbers of the checkpoints in a folder, newest first; free(*out). */
static shoal_status list_folder(const char *folder, unsigned long **out, size_t *n)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    size_t cap = 0;
    shoal_status st = SHOAL_OK;

    *out = NULL;
    *n = 0;
    if (!dir)
        return shoal_fail_errno(errno == ENOENT ? SHOAL_ENOENT : SHOAL_EIO, "%s", folder);
    while (st == SHOAL_OK && (entry = readdir(dir))) {
        void *list = *out;
        unsigned long number;

        if (!number_of(entry->d_name, &number))
            continue;
        st = mem_grow(&list, &cap, *n + 1, sizeof **out);
        *out = list;
        if (st == SHOAL_OK)
            (*out)[(*n)++] = number;
    }
    closedir(dir);
    if (*n > 0)
        qsort(*out, *n, sizeof **out, newest_first);
    return st;
}

static shoal_status open_kind(struct container **out, const char *path)
{
    char kind[32];
    shoal_status st = container_open(out, path);

    if (st == SHOAL_OK)
        st = container_verify(*out, 0);
    if (st == SHOAL_OK)
        st = container_meta(*out, "kind", kind, sizeof kind);
    if (st == SHOAL_OK && strcmp(kind, "checkpoint") != 0)
        st = shoal_fail(SHOAL_EFORMAT, "%s: holds a %s, want a checkpoint", path, kind);
    if (st != SHOAL_OK) {
        container_close(*out);
        *out = NULL;
    }
    return st;
}

/* The newest checkpoint that is whole; an older one serves if a disk spoiled
 * the last. */
static shoal_status open_newest(struct container **out, const char *folder)
{
    unsigned long *numbers = NULL;
    size_t n = 0;
    char path[4096];
    shoal_status st = list_folder(folder, &numbers, &n);

    *out = NULL;
    if (st == SHOAL_OK && n == 0)
        st = shoal_fail(SHOAL_ENOENT, "%s: no checkpoint in this folder", folder);
    for (size_t i = 0; i < n; i++) {
        file_name(path, sizeof path, folder, numbers[i]);
        st = open_kind(out, path);
        if (st == SHOAL_OK)
            break;
    }
    free(numbers);
    return st;
}

static shoal_status make_folder(const char *folder)
{
    if (mkdir(folder, 0777) == 0 || errno == EEXIST)
        return SHOAL_OK;
    return shoal_fail_errno(SHOAL_EIO, "%s: cannot make this folder", folder);
}

/* A new run may not mix its checkpoints with those of another. */
static shoal_status check_empty(const struct shoal_train_opts *o, size_t found)
{
    if (o->resume || found == 0)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL,
                      "%s: holds checkpoints of another run; resume it, or name another folder",
                      o->checkpoint);
}

/* ---- writing ---- */

shoal_status checkpoints_open(struct checkpoints **out, const struct shoal_train_opts *opts,
                              const shoal_corpus *corpus, const struct table *tables, size_t n)
{
    struct checkpoints *c = mem_array(1, sizeof *c);
    unsigned long *numbers = NULL;
    size_t found = 0;
    shoal_status st = c ? make_folder(opts->checkpoint) : SHOAL_ENOMEM;

    *out = NULL;
    if (st == SHOAL_OK)
        st = list_folder(opts->checkpoint, &numbers, &found);
    if (st == SHOAL_OK)
        st = check_empty(opts, found);
    if (st == SHOAL_OK) {
        *c = (struct checkpoints){.opts = opts, .corpus = corpus, .tables = tables, .n = n,
                                  .next = found ? numbers[0] + 1 : 1};
        c->copies = mem_array(n, sizeof *c->copies);
        st = c->copies ? SHOAL_OK : SHOAL_ENOMEM;
    }
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = table_init(&c->copies[i], tables[i].name, tables[i].rows, tables[i].width);
    free(numbers);
    if (st != SHOAL_OK) {
        checkpoints_close(c);
        return st;
    }
    *out = c;
    return SHOAL_OK;
}

static void drop_old(const struct checkpoints *c)
{
    unsigned long *numbers = NULL;
    size_t n = 0;
    char path[4096];

    if (list_folder(c->opts->checkpoint, &numbers, &n) == SHOAL_OK)
        for (size_t i = 2; i < n; i++) {
            file_name(path, sizeof path, c->opts->checkpoint, numbers[i]);
            unlink(path);
        }
    free(numbers);
}

static shoal_status write_file(const struct checkpoints *c)
{
    struct container_writer *w = NULL;
    uint64_t fingerprint = shoal_corpus_fingerprint(c->corpus);
    char path[4096];
    shoal_status st;

    file_name(path, sizeof path, c->opts->checkpoint, c->next);
    st = container_create(&w, path);
    if (st == SHOAL_OK)
        st = container_put(w, "meta", c->meta, strlen(c->meta));
    if (st == SHOAL_OK)
        st = container_put(w, "corpus", &fingerprint, sizeof fingerprint);
    for (size_t i = 0; i < c->n && st == SHOAL_OK; i++)
        st = container_put(w, c->copies[i].name, c->copies[i].at,
                           table_bytes(c->copies[i].rows, c->copies[i].width));
    if (st == SHOAL_OK)
        st = vocab_save(shoal_corpus_vocab(c->corpus), w);
    if (st != SHOAL_OK) {
        container_abandon(w);
        return st;
    }
    return container_commit(w);
}

static void *writer_main(void *arg)
{
    struct checkpoints *c = arg;

    c->status = write_file(c);
    if (c->status == SHOAL_OK)
        drop_old(c);
    else
        snprintf(c->sentence, sizeof c->sentence, "%s", shoal_error());
    return NULL;
}

shoal_status checkpoints_finish(struct checkpoints *c)
{
    if (!c->writing)
        return SHOAL_OK;
    if (c->threaded)
        pthread_join(c->writer, NULL);
    c->writing = false;
    if (c->status != SHOAL_OK)
        return shoal_fail(c->status, "%s", c->sentence);
    c->next++;
    c->written++;
    return SHOAL_OK;
}

static shoal_status make_meta(struct checkpoints *c, const struct position *at)
{
    struct bytes b = {0};
    shoal_status st = write_options(&b, c->opts);

    if (st == SHOAL_OK)
        st = write_position(&b, at);
    if (st == SHOAL_OK)
        st = bytes_add(&b, "", 1);
    free(c->meta);
    c->meta = b.at;
    return st;
}

shoal_status checkpoints_write(struct checkpoints *c, const struct position *at)
{
    shoal_status st = checkpoints_finish(c);

    if (st == SHOAL_OK)
        st = make_meta(c, at);
    if (st != SHOAL_OK)
        return st;
    for (size_t i = 0; i < c->n; i++)
        memcpy(c->copies[i].at, c->tables[i].at,
               table_bytes(c->tables[i].rows, c->tables[i].width));
    c->writing = true;
    c->threaded = pthread_create(&c->writer, NULL, writer_main, c) == 0;
    if (!c->threaded)
        writer_main(c);
    return SHOAL_OK;
}

unsigned checkpoints_written(const struct checkpoints *c)
{
    return c ? c->written : 0;
}

void checkpoints_close(struct checkpoints *c)
{
    if (!c)
        return;
    if (c->writing && c->threaded)
        pthread_join(c->writer, NULL);
    for (size_t i = 0; c->copies && i < c->n; i++)
        table_fini(&c->copies[i]);
    free(c->copies);
    free(c->meta);
    free(c);
}

/* ---- reading ---- */

static shoal_status same_options(const struct container *c, const struct shoal_train_opts *a,
                                 const struct shoal_train_opts *b)
{
#define X(field, type)                                                                             \
    if (a->field != b->field)                                                                      \
        return shoal_fail(SHOAL_EINVAL, "%s: " #field " is %g there, %g here: that is another run", \
                          container_path(c), (double)a->field, (double)b->field);
    RESULT_FIELDS(X)
#undef X
    return SHOAL_OK;
}

static shoal_status same_corpus(const struct container *c, const shoal_corpus *corpus)
{
    uint64_t here = shoal_corpus_fingerprint(corpus), there;
    struct section s;
    shoal_status st = container_find(c, "corpus", sizeof there, &s);

    if (st != SHOAL_OK)
        return st;
    if (s.size != sizeof there || (memcpy(&there, s.data, sizeof there), there != here))
        return shoal_fail(SHOAL_EINVAL, "%s: was made with another corpus than this",
                          container_path(c));
    return SHOAL_OK;
}

static shoal_status read_table(const struct container *c, struct table *t)
{
    size_t want = table_bytes(t->rows, t->width);
    struct section s;
    shoal_status st = container_find(c, t->name, sizeof(float), &s);

    if (st == SHOAL_OK && s.size != want)
        st = shoal_fail(SHOAL_EFORMAT, "%s: table `%s` has %zu bytes, want %zu",
                        container_path(c), t->name, s.size, want);
    if (st == SHOAL_OK)
        memcpy(t->at, s.data, want);
    return st;
}

shoal_status checkpoint_load(const struct shoal_train_opts *opts, const shoal_corpus *corpus,
                             struct table *tables, size_t n, struct position *at)
{
    struct shoal_train_opts stored = *opts;
    struct container *c = NULL;
    shoal_status st = open_newest(&c, opts->checkpoint);

    if (st == SHOAL_OK)
        st = read_options(c, &stored);
    if (st == SHOAL_OK)
        st = same_options(c, &stored, opts);
    if (st == SHOAL_OK)
        st = same_corpus(c, corpus);
    if (st == SHOAL_OK)
        st = read_position(c, at);
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = read_table(c, &tables[i]);
    container_close(c);
    return st;
}

/* ---- for whoever resumes ---- */

enum { PATH_MAX_BYTES = 4096 };

static shoal_status read_string(const struct container *c, const char *key, char *at,
                                const char **out)
{
    shoal_status st = container_meta(c, key, at, PATH_MAX_BYTES);

    *out = st == SHOAL_OK && *at ? at : NULL;
    return st;
}

static shoal_status read_strings(const struct container *c, struct shoal_resume *out)
{
    char *at = out->strings = mem_array(4, PATH_MAX_BYTES);
    shoal_status st;

    if (!at)
        return SHOAL_ENOMEM;
    out->path = at;
    snprintf(at, PATH_MAX_BYTES, "%s", container_path(c));
    st = read_string(c, "corpus", at += PATH_MAX_BYTES, &out->opts.corpus);
    if (st == SHOAL_OK)
        st = read_string(c, "output", at += PATH_MAX_BYTES, &out->opts.output);
    if (st == SHOAL_OK)
        st = read_string(c, "metrics", at += PATH_MAX_BYTES, &out->opts.metrics);
    return st;
}

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

shoal_status shoal_resume_read(struct shoal_resume *out, const char *path)
{
    struct container *c = NULL;
    struct position at = {0};
    shoal_status st = is_folder(path) ? open_newest(&c, path) : open_kind(&c, path);

    *out = (struct shoal_resume){.opts = shoal_train_default(SHOAL_CBOW)};
    if (st == SHOAL_OK)
        st = read_options(c, &out->opts);
    if (st == SHOAL_OK)
        st = read_position(c, &at);
    if (st == SHOAL_OK)
        st = read_strings(c, out);
    out->opts.checkpoint = path;
    out->opts.resume = true;
    out->epoch = at.epoch;
    out->progress = at.progress;
    out->words = at.words;
    out->seconds = at.seconds;
    container_close(c);
    if (st != SHOAL_OK)
        shoal_resume_free(out);
    return st;
}

void shoal_resume_free(struct shoal_resume *r)
{
    free(r->strings);
    r->strings = NULL;
}
