/* Checkpoints: the tables, the vocabulary, the options and the position, in our
 * container. Since randomness is keyed by position and the rate is a function
 * of it, this is all there is to a run.
 *
 * A checkpoint appears by rename, so a crash at any moment leaves the ones
 * before it whole; the last two are kept. Several ranks write their parts at the
 * same time, each on a thread of its own; only when all have said that theirs is
 * on disk does rank 0 write the head, and only the head makes it a checkpoint. */
#include "train/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct checkpoints {
    const struct shoal_train_opts *opts;
    struct source from;
    const struct table *tables; /* [n] those of the run */
    struct rows *rows;          /* [n] what is being written */
    size_t n;
    struct comm *comm;   /* NULL: nobody to agree with */
    unsigned rank, size;
    struct position at;  /* of what is being written */
    unsigned long next;  /* number of the next file; 0: only rank 0 knows it yet */
    unsigned written;
    struct errand writer;
    bool writing; /* begun and not yet finished */
    bool alone;   /* tables have only the rows that are written */
};

/* ---- opening ---- */

/* A new run may not mix its checkpoints with those of another. */
static shoal_status open_rows(struct checkpoints *c, const uint16_t *const *owner)
{
    shoal_status st = SHOAL_OK;

    c->rows = mem_array(c->n, sizeof *c->rows);
    if (!c->rows)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < c->n && st == SHOAL_OK; i++)
        st = rows_init(&c->rows[i], &c->tables[i], c->size > 1 ? owner[i] : NULL, c->rank);
    return st;
}

shoal_status checkpoints_open(struct checkpoints **out, const struct shoal_train_opts *opts,
                              struct source from, const struct table *tables, size_t n,
                              const struct checkpoint_share *share)
{
    struct checkpoints *c = mem_array(1, sizeof *c);
    shoal_status st = SHOAL_OK;

    *out = NULL;
    if (!c)
        return SHOAL_ENOMEM;
    *c = (struct checkpoints){.opts = opts, .from = from, .tables = tables, .n = n, .size = 1};
    if (share) {
        c->comm = share->comm;
        c->rank = share->rank;
        c->size = share->size;
        c->alone = share->place != NULL;
    }
    if (c->rank == 0 || !c->comm)
        st = folder_open(c->opts->checkpoint, c->opts->resume, &c->next);
    if (st == SHOAL_OK)
        st = open_rows(c, share ? share->owner : NULL);
    if (st != SHOAL_OK) {
        checkpoints_close(c);
        return st;
    }
    *out = c;
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
    if (c->writing)
        errand_end(&c->writer, NULL);
    for (size_t i = 0; c->rows && i < c->n; i++)
        rows_fini(&c->rows[i]);
    free(c->rows);
    free(c);
}

/* ---- writing ---- */

static shoal_status put_tables(struct container_writer *w, const struct checkpoints *c)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < c->n && st == SHOAL_OK; i++) {
        const struct table *t = &c->rows[i].copy;

        st = container_put(w, t->name, t->at, table_size(t));
    }
    return st;
}

/* Of one rank the whole checkpoint; of several the head, with what it must say of
 * its parts. */
static shoal_status put_sections(struct container_writer *w, const struct checkpoints *c,
                                 const struct bytes *meta, const struct seals *s)
{
    bool each = s && c->opts->local_input;
    shoal_status st = container_put(w, "meta", meta->at, meta->len);

    if (st == SHOAL_OK)
        st = container_put(w, "corpus", each ? s->corpora : &c->from.fingerprint,
                           (each ? s->n : 1) * sizeof c->from.fingerprint);
    if (st == SHOAL_OK)
        st = s ? container_put(w, "parts", s->parts, s->n * sizeof *s->parts) : put_tables(w, c);
    return st == SHOAL_OK && c->from.vocab ? vocab_save(c->from.vocab, w) : st;
}

static shoal_status write_file(const struct checkpoints *c, const char *path,
                               const struct seals *seals)
{
    struct container_writer *w = NULL;
    struct bytes meta = {0};
    shoal_status st = meta_write(&meta, c->opts, &c->at, c->size);

    if (st == SHOAL_OK)
        st = container_create(&w, path);
    if (st == SHOAL_OK)
        st = put_sections(w, c, &meta, seals);
    if (st == SHOAL_OK)
        st = container_commit(w);
    else
        container_abandon(w);
    bytes_fini(&meta);
    return st;
}

/* Aside: the whole of it, or this rank's part. */
static shoal_status write_rows(void *ctx)
{
    struct checkpoints *c = ctx;
    char path[CHECKPOINT_PATH];
    shoal_status st;

    folder_path(path, c->opts->checkpoint, c->next);
    if (c->size > 1)
        return part_write(&(struct part){.head = path, .number = c->next, .part = c->rank,
                                         .parts = c->size, .rows = c->rows, .n = c->n,
                                         .corpus = c->from.fingerprint});
    st = write_file(c, path, NULL);
    if (st == SHOAL_OK)
        folder_drop_old(c->opts->checkpoint);
    return st;
}

/* Aside, on rank 0, after all parts are on disk. */
static shoal_status write_head(void *ctx)
{
    struct checkpoints *c = ctx;
    struct seals seals = {0};
    char path[CHECKPOINT_PATH];
    shoal_status st;

    folder_path(path, c->opts->checkpoint, c->next);
    st = seals_read(&seals, path, c->next, c->size);
    if (st == SHOAL_OK)
        st = write_file(c, path, &seals);
    if (st == SHOAL_OK)
        folder_drop_old(c->opts->checkpoint);
    seals_fini(&seals);
    return st;
}

/* Who lost a rank can ask nobody. */
static shoal_status agree(struct comm *comm, shoal_status st)
{
    return comm && st != SHOAL_EPEER ? comm_agree(comm, st) : st;
}

static shoal_status seal(struct checkpoints *c)
{
    if (c->rank > 0)
        return SHOAL_OK;
    errand_begin(&c->writer, write_head, c);
    return errand_end(&c->writer, c->comm);
}

shoal_status checkpoints_finish(struct checkpoints *c)
{
    shoal_status st;

    if (!c->writing)
        return SHOAL_OK;
    st = agree(c->comm, errand_end(&c->writer, c->comm));
    c->writing = false;
    if (st == SHOAL_OK && c->size > 1)
        st = agree(c->comm, seal(c));
    if (st != SHOAL_OK)
        return st;
    c->next++;
    c->written++;
    return SHOAL_OK;
}

/* Rank 0 has looked into the folder. */
static shoal_status learn_number(struct checkpoints *c)
{
    uint64_t next = c->next;
    shoal_status st = c->comm && c->written == 0 ? comm_broadcast(c->comm, 0, &next, sizeof next)
                                                 : SHOAL_OK;

    c->next = (unsigned long)next;
    return st;
}

shoal_status checkpoints_write(struct checkpoints *c, const struct position *at)
{
    shoal_status st = checkpoints_finish(c);

    if (st == SHOAL_OK)
        st = learn_number(c);
    if (st != SHOAL_OK)
        return st;
    c->at = *at;
    for (size_t i = 0; i < c->n; i++)
        rows_copy(&c->rows[i], &c->tables[i], c->alone);
    c->writing = true;
    errand_begin(&c->writer, write_rows, c);
    return SHOAL_OK;
}

/* ---- reading ---- */

static shoal_status list_some(struct numbers *n, const char *folder)
{
    shoal_status st = folder_list(n, folder);

    if (st == SHOAL_OK && n->len == 0)
        st = shoal_fail(SHOAL_ENOENT, "%s: no checkpoint in this folder", folder);
    return st;
}

/* The newest of n that is whole; an older one serves if a disk spoiled the last.
 * *next is the first to be tried, and afterwards the one behind what was found. */
static shoal_status open_newest(struct opened *o, const char *folder, const struct numbers *n,
                                size_t *next)
{
    char path[CHECKPOINT_PATH];
    shoal_status st = SHOAL_ENOENT;

    while (st != SHOAL_OK && *next < n->len) {
        folder_path(path, folder, n->at[(*next)++]);
        st = opened_open(o, path);
    }
    return st;
}

/* Rank 0's, and how many older ones there are. */
struct choice {
    uint64_t number, older;
};

static shoal_status open_choice(struct opened *o, const char *folder,
                                const struct checkpoint_share *s, const struct choice *choice)
{
    char path[CHECKPOINT_PATH];
    shoal_status st = SHOAL_OK;

    if (s->rank > 0 && s->comm) {
        folder_path(path, folder, (unsigned long)choice->number);
        st = opened_open(o, path);
    }
    st = agree(s->comm, st);
    if (st != SHOAL_OK)
        opened_close(o); /* another one is tried */
    return st;
}

/* The newest that is whole for all ranks: rank 0 chooses, and chooses again when
 * others find it wanting. */
static shoal_status open_agreed(struct opened *o, const char *folder,
                                const struct checkpoint_share *s)
{
    bool leads = s->rank == 0 || !s->comm;
    struct numbers n = {0};
    struct choice choice = {0};
    size_t next = 0;
    shoal_status st = agree(s->comm, leads ? list_some(&n, folder) : SHOAL_OK);
    bool again = st == SHOAL_OK;

    *o = (struct opened){0};
    while (again) {
        st = agree(s->comm, leads ? open_newest(o, folder, &n, &next) : SHOAL_OK);
        if (st == SHOAL_OK && leads)
            choice = (struct choice){n.at[next - 1], n.len - next};
        if (st == SHOAL_OK && s->comm)
            st = comm_broadcast(s->comm, 0, &choice, sizeof choice);
        if (st != SHOAL_OK)
            break;
        st = open_choice(o, folder, s, &choice);
        again = st != SHOAL_OK && st != SHOAL_EPEER && choice.older > 0;
    }
    if (st != SHOAL_OK)
        opened_close(o);
    numbers_fini(&n);
    return st;
}

static shoal_status read_all(const struct opened *o, const struct shoal_train_opts *opts,
                             struct source from, const struct checkpoint_share *s,
                             struct table *tables, size_t n, struct position *at)
{
    struct shoal_train_opts there = *opts;
    shoal_status st = meta_options(o->head, &there);

    if (st == SHOAL_OK)
        st = meta_same(o->head, &there, opts);
    if (st == SHOAL_OK)
        st = opened_corpus(o, from.fingerprint, opts->local_input, s->rank, s->size);
    if (st == SHOAL_OK)
        st = meta_position(o->head, at);
    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        struct seats seats = {.rank = s->rank};

        if (s->place) {
            seats.owner = s->owner[i];
            seats.place = s->place[i];
        }
        st = opened_table(o, &tables[i], &seats);
    }
    return st;
}

shoal_status checkpoint_load(const struct shoal_train_opts *opts, struct source from,
                             struct table *tables, size_t n, struct position *at,
                             const struct checkpoint_share *share)
{
    static const struct checkpoint_share alone = {.size = 1};
    const struct checkpoint_share *s = share ? share : &alone;
    struct opened o;
    shoal_status st = open_agreed(&o, opts->checkpoint, s);

    if (st != SHOAL_OK)
        return st;
    st = agree(s->comm, read_all(&o, opts, from, s, tables, n, at));
    opened_close(&o);
    return st;
}

/* ---- for whoever resumes ---- */

static shoal_status read_string(const struct container *c, const char *key, char *at,
                                const char **out)
{
    shoal_status st = container_meta(c, key, at, CHECKPOINT_PATH);

    *out = st == SHOAL_OK && *at ? at : NULL;
    return st;
}

static shoal_status read_strings(const struct container *c, struct shoal_resume *out)
{
    char *at = out->strings = mem_array(6, CHECKPOINT_PATH);
    const char *path;
    shoal_status st;

    if (!at)
        return SHOAL_ENOMEM;
    out->path = at;
    snprintf(at, CHECKPOINT_PATH, "%s", container_path(c));
    st = read_string(c, "corpus", at += CHECKPOINT_PATH, &out->opts.corpus);
    if (st == SHOAL_OK)
        st = read_string(c, "output", at += CHECKPOINT_PATH, &out->opts.output);
    if (st == SHOAL_OK)
        st = read_string(c, "metrics", at += CHECKPOINT_PATH, &out->opts.metrics);
    if (st == SHOAL_OK && out->opts.model == SHOAL_LOGREG)
        st = read_string(c, "valid", at += CHECKPOINT_PATH, &out->opts.logreg.valid_path);
    if (st == SHOAL_OK && read_string(c, "publish", at += CHECKPOINT_PATH, &path) == SHOAL_OK)
        out->opts.publish = path; /* of runs that do */
    return st;
}

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static shoal_status open_any(struct opened *o, const char *path)
{
    static const struct checkpoint_share alone = {.size = 1};

    return is_folder(path) ? open_agreed(o, path, &alone) : opened_open(o, path);
}

shoal_status shoal_resume_read(struct shoal_resume *out, const char *path)
{
    struct opened o;
    struct position at = {0};
    shoal_status st = open_any(&o, path);

    *out = (struct shoal_resume){.opts = shoal_train_default(SHOAL_CBOW)};
    if (st != SHOAL_OK)
        return st;
    st = meta_options(o.head, &out->opts);
    if (st == SHOAL_OK)
        st = meta_position(o.head, &at);
    if (st == SHOAL_OK)
        st = read_strings(o.head, out);
    out->opts.checkpoint = path;
    out->opts.resume = true;
    out->epoch = at.epoch;
    out->progress = at.progress;
    out->words = at.words;
    out->seconds = at.seconds;
    opened_close(&o);
    if (st != SHOAL_OK)
        shoal_resume_free(out);
    return st;
}

void shoal_resume_free(struct shoal_resume *r)
{
    free(r->strings);
    r->strings = NULL;
}
