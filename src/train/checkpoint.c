/* Checkpoints: the tables, the vocabulary, the options and the position, in our
 * container. Since randomness is keyed by position and the rate is a function
 * of it, this is all there is to a run.
 *
 * Every file appears by rename, when it is whole. Of several ranks each writes a part, the rows
 * it owns; a crash may come at any moment:
 *
 *     1  every rank copies its rows, and writes its part from the copy while training goes on
 *     2  rank 0's writer sees all parts, each of which appears when it is whole
 *     3  it reads their fingerprints, and writes the head with them
 *     4  it removes what is older than the last two: heads first, then their parts
 *
 * No message is needed for it: who could not write its part says so where all meet for the next
 * checkpoint or the end, and a part that rank 0 does not see by then is a failure.
 * Before 3 the parts are nothing: a reader begins with a head, and checks that its parts have the
 * fingerprints that it names. After 3 the checkpoint is whole. A head is removed before its parts,
 * so there is never one that lacks them. Numbers are never used twice: a part that a crash left
 * behind cannot be taken for that of a later checkpoint. The ranks that read need not be as many
 * as wrote: a part says which rows it has, and every row is in one of them. */
#include "train/checkpoint.h"

#include "train/options.h"
#include "train/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_NS = 20000000 }; /* between looks for the parts of others */

struct checkpoints {
    const struct train_opts *opts;
    const struct task *task;
    struct identity from;
    struct sections sections;
    struct part_rows rows[SECTIONS_MOST]; /* what is being written */
    struct position at;                   /* of it */
    struct shoal_figures figures;
    unsigned long next; /* number of the next file; 0: only rank 0 knows it yet */
    unsigned written;
    struct background writer;
    bool writing; /* begun and not yet finished */
    /* Of rank 0 among several: its own part is on disk, and so are all, as they said. */
    atomic_bool part_written, all_written;
};

/* ---- opening ---- */

static shoal_status open_rows(struct checkpoints *c)
{
    const struct sections *s = &c->sections;
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < s->n && st == SHOAL_OK; i++)
        st = part_rows_init(&c->rows[i], s->at[i].table, s->size > 1 ? s->at[i].deal : NULL,
                            s->rank);
    return st;
}

/* A new run may not mix its checkpoints with those of another. */
shoal_status checkpoints_open(struct checkpoints **out, const struct train_opts *opts,
                              const struct task *task, const struct identity *from,
                              const struct sections *sections)
{
    struct checkpoints *c = mem_array(1, sizeof *c);
    shoal_status st = SHOAL_OK;

    *out = NULL;
    if (!c)
        return SHOAL_ENOMEM;
    c->opts = opts;
    c->task = task;
    c->from = *from;
    c->sections = *sections;
    if (sections->rank == 0 || !sections->comm)
        st = folder_open(opts->checkpoint, opts->resume, &c->next);
    if (st == SHOAL_OK)
        st = open_rows(c);
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

shoal_status checkpoints_drop(const struct train_opts *opts)
{
    bool drops = opts->checkpoint && shoal_ranks_rank(opts->ranks) == 0;

    return drops ? folder_drop_all(opts->checkpoint) : SHOAL_OK;
}

void checkpoints_close(struct checkpoints *c)
{
    if (!c)
        return;
    atomic_store(&c->writer.stop, true); /* rank 0 need not wait for parts that never come */
    if (c->writing)
        background_end(&c->writer, NULL);
    for (size_t i = 0; i < c->sections.n; i++)
        part_rows_fini(&c->rows[i]);
    free(c);
}

/* ---- writing ---- */

static shoal_status put_tables(struct container_writer *w, const struct checkpoints *c)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < c->sections.n && st == SHOAL_OK; i++) {
        const struct table *t = &c->rows[i].copy;

        st = container_put(w, t->name, t->at, table_size(t));
    }
    return st;
}

static shoal_status put_figures(struct container_writer *w, const struct checkpoints *c)
{
    struct bytes text = {0};
    shoal_status st = meta_write_figures(&text, &c->figures);

    if (st == SHOAL_OK)
        st = container_put(w, "figures", text.at, text.len);
    bytes_fini(&text);
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
        st = put_figures(w, c);
    if (st == SHOAL_OK && c->opts->inputs)
        st = container_put(w, "inputs", c->opts->inputs, strlen(c->opts->inputs) + 1);
    if (st == SHOAL_OK)
        st = s ? container_put(w, "parts", s->parts, s->n * sizeof *s->parts) : put_tables(w, c);
    return st == SHOAL_OK && c->from.vocab ? vocab_save(c->from.vocab, w) : st;
}

static shoal_status write_file(const struct checkpoints *c, const char *path,
                               const struct seals *seals)
{
    struct container_writer *w = NULL;
    struct bytes meta = {0};
    shoal_status st = meta_write(&meta, c->task, c->opts, &c->at);

    if (st == SHOAL_OK)
        st = container_create(&w, path);
    if (st == SHOAL_OK)
        st = put_sections(w, c, &meta, seals);
    bytes_fini(&meta);
    return container_end(w, st);
}

/* When all parts are on disk. */
static shoal_status write_head(struct checkpoints *c, const char *path)
{
    struct seals seals = {0};
    shoal_status st = seals_read(&seals, path, c->next, c->sections.size);

    if (st == SHOAL_OK)
        st = write_file(c, path, &seals);
    if (st == SHOAL_OK)
        folder_drop_old(c->opts->checkpoint);
    seals_fini(&seals);
    return st;
}

/* Numbers are never used twice: a part of that name is of this checkpoint. */
static bool parts_are_there(const struct checkpoints *c, const char *head)
{
    char path[CHECKPOINT_PATH];

    for (unsigned i = 0; i < c->sections.size; i++) {
        folder_part_path(path, head, i, c->sections.size);
        if (access(path, F_OK) != 0)
            return false;
    }
    return true;
}

/* Rank 0, after its own part: seals it as soon as the others' are there. */
static shoal_status write_when_there(struct checkpoints *c, const char *head)
{
    const struct timespec nap = {.tv_nsec = LOOK_NS};

    atomic_store(&c->part_written, true);
    while (!parts_are_there(c, head) && !atomic_load(&c->all_written)) {
        if (atomic_load(&c->writer.stop))
            return SHOAL_OK; /* it is none */
        nanosleep(&nap, NULL);
    }
    return write_head(c, head);
}

/* Aside: the whole of it, or this rank's part. */
static shoal_status write_rows(void *ctx)
{
    struct checkpoints *c = ctx;
    char path[CHECKPOINT_PATH];
    shoal_status st;

    folder_path(path, c->opts->checkpoint, c->next);
    if (c->sections.size > 1) {
        st = part_write(path, c->next, &c->sections, c->rows, c->from.fingerprint);
        return st == SHOAL_OK && c->sections.rank == 0 ? write_when_there(c, path) : st;
    }
    st = write_file(c, path, NULL);
    if (st == SHOAL_OK)
        folder_drop_old(c->opts->checkpoint);
    return st;
}

static shoal_status agree(struct comm *comm, shoal_status st)
{
    return comm ? comm_agree(comm, st) : st;
}

/* Rank 0 among several: its writer ends only after the others' have. */
static shoal_status finish_head(struct checkpoints *c)
{
    struct comm *comm = c->sections.comm;
    shoal_status st = background_until(&c->writer, &c->part_written, comm), ended;

    if (st == SHOAL_OK && atomic_load(&c->writer.over))
        st = c->writer.status == SHOAL_OK ? SHOAL_OK
                                          : shoal_fail(c->writer.status, "%s", c->writer.sentence);
    st = agree(comm, st);
    atomic_store(st == SHOAL_OK ? &c->all_written : &c->writer.stop, true);
    ended = background_end(&c->writer, comm);
    return st == SHOAL_OK ? agree(comm, ended) : st;
}

static shoal_status finish_part(struct checkpoints *c)
{
    struct comm *comm = c->sections.comm;
    shoal_status st = agree(comm, background_end(&c->writer, comm));

    return st == SHOAL_OK && c->sections.size > 1 ? agree(comm, st) : st;
}

shoal_status checkpoints_finish(struct checkpoints *c)
{
    bool leads = c->sections.size > 1 && c->sections.rank == 0;
    shoal_status st;

    if (!c->writing)
        return SHOAL_OK;
    st = leads ? finish_head(c) : finish_part(c);
    c->writing = false;
    if (st != SHOAL_OK)
        return st;
    c->next++;
    c->written++;
    return SHOAL_OK;
}

/* Rank 0 has looked into the folder. */
static shoal_status learn_number(struct checkpoints *c)
{
    struct comm *comm = c->written == 0 ? c->sections.comm : NULL;
    uint64_t next = c->next;
    shoal_status st = comm ? comm_broadcast(comm, 0, &next, sizeof next) : SHOAL_OK;

    c->next = (unsigned long)next;
    return st;
}

shoal_status checkpoints_write(struct checkpoints *c, const struct position *at,
                               const struct shoal_figures *figures)
{
    const struct sections *s = &c->sections;
    shoal_status st = checkpoints_finish(c);

    if (st == SHOAL_OK)
        st = learn_number(c);
    if (st != SHOAL_OK)
        return st;
    c->at = *at;
    c->figures = *figures;
    for (size_t i = 0; i < s->n; i++)
        part_rows_copy(&c->rows[i], s->at[i].table, s->at[i].owned);
    atomic_store(&c->part_written, false);
    atomic_store(&c->all_written, false);
    c->writing = true;
    background_begin(&c->writer, write_rows, c);
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

/* Collective: all ranks open the same one, or none. */
static shoal_status open_same(struct opened *o, const char *folder, unsigned long number,
                              struct comm *comm, bool peek)
{
    char path[CHECKPOINT_PATH];
    uint64_t same = number;
    shoal_status st = comm ? comm_broadcast(comm, 0, &same, sizeof same) : SHOAL_OK;

    if (st != SHOAL_OK)
        return st;
    folder_path(path, folder, (unsigned long)same);
    st = agree(comm, checkpoint_open(o, path, comm, peek));
    if (st != SHOAL_OK)
        checkpoint_close(o); /* another one is tried */
    return st;
}

/* The newest that is whole for all ranks; an older one serves if a disk spoiled the last. Rank 0
 * knows which there are. */
static shoal_status open_agreed(struct opened *o, const char *folder, const struct sections *s,
                                bool peek)
{
    bool leads = s->rank == 0 || !s->comm;
    struct numbers n = {0};
    shoal_status st = agree(s->comm, leads ? list_some(&n, folder) : SHOAL_OK);
    uint64_t all = n.len;
    bool again;

    *o = (struct opened){0};
    if (st == SHOAL_OK && s->comm)
        st = comm_broadcast(s->comm, 0, &all, sizeof all);
    again = st == SHOAL_OK;
    for (uint64_t i = 0; again; i++) {
        st = open_same(o, folder, leads ? n.at[i] : 0, s->comm, peek);
        again = st != SHOAL_OK && st != SHOAL_EPEER && i + 1 < all;
    }
    numbers_fini(&n);
    return st;
}

static shoal_status read_head(const struct opened *o, const struct train_opts *opts,
                              const struct task *task, const struct identity *from,
                              const struct sections *s, struct position *at,
                              struct shoal_figures *figures)
{
    shoal_status st = options_check_same(task, o->head, opts);

    if (st == SHOAL_OK)
        st = checkpoint_check_corpus(o, from->fingerprint, opts->local_input, s->rank, s->size);
    if (st == SHOAL_OK)
        st = meta_position(o->head, at);
    return st == SHOAL_OK ? meta_read_figures(o->head, figures) : st;
}

static shoal_status read_tables(const struct opened *o, const struct sections *s,
                                const struct position *at)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < s->n && st == SHOAL_OK; i++)
        if (!s->at[i].best || at->kept > 0)
            st = checkpoint_read_table(o, &s->at[i], s->rank);
    return st;
}

shoal_status checkpoint_load(const struct train_opts *opts, const struct task *task,
                             const struct identity *from, const struct sections *sections,
                             struct position *at, struct shoal_figures *figures)
{
    struct opened o;
    shoal_status st = open_agreed(&o, opts->checkpoint, sections, false);

    if (st != SHOAL_OK)
        return st;
    st = agree(sections->comm, read_head(&o, opts, task, from, sections, at, figures));
    if (st == SHOAL_OK)
        st = agree(sections->comm, read_tables(&o, sections, at));
    checkpoint_close(&o);
    return st;
}

/* ---- for whoever looks ---- */

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

shoal_status checkpoint_open_newest(struct opened *o, const char *path, bool peek)
{
    static const struct sections alone = {.size = 1};

    return is_folder(path) ? open_agreed(o, path, &alone, peek)
                           : checkpoint_open(o, path, NULL, peek);
}

shoal_status shoal_checkpoint_read(struct shoal_checkpoint *out, const char *path)
{
    const struct task *task;
    struct position at = {0};
    struct opened o;
    shoal_status st;

    *out = (struct shoal_checkpoint){0};
    st = checkpoint_open_newest(&o, path, false);
    if (st != SHOAL_OK)
        return st;
    st = meta_task(o.head, &task);
    if (st == SHOAL_OK)
        st = meta_position(o.head, &at);
    if (st == SHOAL_OK) {
        *out = (struct shoal_checkpoint){.epoch = at.epoch, .progress = at.progress,
                                         .examples = at.examples, .seconds = at.seconds};
        snprintf(out->path, sizeof out->path, "%s", container_path(o.head));
        snprintf(out->task, sizeof out->task, "%s", task->is.name);
    }
    checkpoint_close(&o);
    return st;
}
