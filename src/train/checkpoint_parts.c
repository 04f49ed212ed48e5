/* Parts of a checkpoint, and the whole of it put together again. */
#include "train/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the rows of a rank ---- */

shoal_status part_rows_init(struct part_rows *r, const struct table *t, const struct deal *deal,
                            unsigned rank)
{
    size_t n = deal ? deal_count(deal, rank) : t->rows;
    shoal_status st = table_init_like(&r->copy, t, n);

    if (st != SHOAL_OK || !deal)
        return st;
    r->ids = mem_array(n, sizeof *r->ids);
    if (!r->ids)
        return SHOAL_ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        r->ids[i] = deal_row(deal, rank, i);
    return SHOAL_OK;
}

void part_rows_copy(struct part_rows *r, const struct table *t, bool alone)
{
    struct table *c = &r->copy;

    if (!r->ids || alone) {
        memcpy(c->at, t->at, table_size(c));
        return;
    }
    for (size_t i = 0; i < c->rows; i++)
        memcpy(c->at + i * c->stride, t->at + r->ids[i] * t->stride, t->stride * sizeof *t->at);
}

void part_rows_fini(struct part_rows *r)
{
    table_fini(&r->copy);
    free(r->ids);
    r->ids = NULL;
}

/* ---- writing a part ---- */

static void rows_name(char name[32], const char *table)
{
    snprintf(name, 32, "%s.rows", table);
}

static shoal_status put_rows(struct container_writer *w, const struct part_rows *r)
{
    const struct table *c = &r->copy;
    char name[32];
    shoal_status st;

    rows_name(name, c->name);
    st = container_put(w, name, r->ids, c->rows * sizeof *r->ids);
    return st == SHOAL_OK ? container_put(w, c->name, c->at, table_size(c)) : st;
}

shoal_status part_write(const char *head, unsigned long number, const struct sections *s,
                        const struct part_rows *rows, uint64_t corpus)
{
    struct container_writer *w = NULL;
    struct bytes meta = {0};
    char path[CHECKPOINT_PATH];
    shoal_status st = bytes_print(&meta, "kind checkpoint-part\nnumber %lu\npart %u\nparts %u\n",
                                  number, s->rank, s->size);

    folder_part_path(path, head, s->rank, s->size);
    if (st == SHOAL_OK)
        st = container_create(&w, path);
    if (st == SHOAL_OK)
        st = container_put(w, "meta", meta.at, meta.len);
    if (st == SHOAL_OK)
        st = container_put(w, "corpus", &corpus, sizeof corpus);
    for (size_t i = 0; i < s->n && st == SHOAL_OK; i++)
        st = put_rows(w, &rows[i]);
    bytes_fini(&meta);
    return container_end(w, st);
}

/* ---- what a head says of its parts ---- */

void seals_fini(struct seals *s)
{
    free(s->parts);
    free(s->corpora);
    *s = (struct seals){0};
}

/* A part that is there already, in time and under its name. */
static shoal_status read_seal(struct seals *s, const struct container *c, unsigned long number,
                              unsigned part)
{
    uint64_t there = 0;
    struct section corpus;
    shoal_status st = container_check_kind(c, "checkpoint-part", "a checkpoint-part");

    if (st == SHOAL_OK)
        st = container_meta_u64(c, "number", &there);
    if (st == SHOAL_OK && there != number)
        st = shoal_fail(SHOAL_EFORMAT, "%s: is of checkpoint %llu, want %lu", container_path(c),
                        (unsigned long long)there, number);
    if (st == SHOAL_OK)
        st = container_find(c, "corpus", sizeof *s->corpora, &corpus);
    if (st == SHOAL_OK && corpus.size != sizeof *s->corpora)
        st = shoal_fail(SHOAL_EFORMAT, "%s: has %zu bytes for a corpus, want %zu",
                        container_path(c), corpus.size, sizeof *s->corpora);
    if (st != SHOAL_OK)
        return st;
    memcpy(&s->corpora[part], corpus.data, sizeof *s->corpora);
    s->parts[part] = container_fingerprint(c);
    return SHOAL_OK;
}

shoal_status seals_read(struct seals *s, const char *head, unsigned long number, unsigned parts)
{
    char path[CHECKPOINT_PATH];
    shoal_status st = SHOAL_OK;

    *s = (struct seals){.n = parts, .parts = mem_array(parts, sizeof *s->parts),
                        .corpora = mem_array(parts, sizeof *s->corpora)};
    if (!s->parts || !s->corpora)
        st = SHOAL_ENOMEM;
    for (unsigned i = 0; i < parts && st == SHOAL_OK; i++) {
        struct container *c = NULL;

        folder_part_path(path, head, i, parts);
        if (access(path, F_OK) != 0)
            st = shoal_fail(SHOAL_EIO, "%s: rank 0 does not see what rank %u wrote; want a folder "
                            "that all ranks share", path, i);
        if (st == SHOAL_OK)
            st = container_map(&c, path);
        if (st == SHOAL_OK)
            st = read_seal(s, c, number, i);
        container_close(c);
    }
    return st;
}

/* ---- the whole of it ---- */

static shoal_status open_checked(struct container **out, const char *path)
{
    shoal_status st = container_map(out, path);

    return st == SHOAL_OK ? container_verify(*out, 0) : st;
}

/* The rank that reads a part for all. */
static unsigned reader_of(const struct opened *o, unsigned part)
{
    return part % comm_size(o->comm);
}

static shoal_status open_part(struct opened *o, unsigned i, uint64_t seal)
{
    const char *head = container_path(o->head);
    char path[CHECKPOINT_PATH];
    shoal_status st;

    if (o->comm && reader_of(o, i) != comm_rank(o->comm))
        return SHOAL_OK;
    folder_part_path(path, head, i, o->n);
    if (access(path, F_OK) != 0)
        return shoal_fail(SHOAL_EFORMAT, "%s: its part %u of %u is not there, want %s", head, i + 1,
                          o->n, path);
    st = o->peeks ? container_peek(&o->parts[i], path) : open_checked(&o->parts[i], path);
    if (st == SHOAL_OK)
        st = container_check_kind(o->parts[i], "checkpoint-part", "a checkpoint-part");
    if (st == SHOAL_OK && container_fingerprint(o->parts[i]) != seal)
        st = shoal_fail(SHOAL_EFORMAT, "%s: is part of another checkpoint than %s", path, head);
    return st;
}

static shoal_status open_parts(struct opened *o)
{
    struct section seals;
    uint64_t seal;
    shoal_status st = container_find(o->head, "parts", sizeof seal, &seals);
    size_t n = seals.size / sizeof seal;

    if (st == SHOAL_OK && (n == 0 || n > COMM_MAX_RANKS))
        st = shoal_fail(SHOAL_EFORMAT, "%s: has %zu parts, want 1 to %d", container_path(o->head),
                        n, COMM_MAX_RANKS);
    if (st != SHOAL_OK)
        return st;
    o->parts = mem_array(n, sizeof(struct container *));
    if (!o->parts)
        return SHOAL_ENOMEM;
    o->n = (unsigned)n;
    for (unsigned i = 0; i < n && st == SHOAL_OK; i++) {
        memcpy(&seal, (const char *)seals.data + i * sizeof seal, sizeof seal);
        st = open_part(o, i, seal);
    }
    return st;
}

shoal_status checkpoint_open(struct opened *o, const char *path, struct comm *comm, bool peek)
{
    shoal_status st;

    *o = (struct opened){.comm = comm, .peeks = peek};
    st = open_checked(&o->head, path);
    if (st == SHOAL_OK)
        st = container_check_kind(o->head, "checkpoint", "a checkpoint");
    if (st == SHOAL_OK && container_has(o->head, "parts"))
        st = open_parts(o);
    if (st != SHOAL_OK)
        checkpoint_close(o);
    return st;
}

void checkpoint_close(struct opened *o)
{
    for (unsigned i = 0; i < o->n; i++)
        container_close(o->parts[i]);
    free(o->parts);
    container_close(o->head);
    *o = (struct opened){0};
}

/* ---- reading it ---- */

static void section_put_row(const struct checkpoint_section *of, unsigned rank, size_t id,
                            const float *row)
{
    struct table *t = of->table;

    if (of->owned && deal_owner(of->deal, id) != rank)
        return;
    memcpy(t->at + (of->owned ? deal_place(of->deal, id) : id) * t->stride, row,
           t->stride * sizeof *t->at);
}

static shoal_status read_whole(const struct container *c, const struct checkpoint_section *of,
                               unsigned rank)
{
    const struct table *t = of->table;
    size_t want = table_size(t);
    struct section s;
    shoal_status st = container_find(c, t->name, sizeof(float), &s);

    if (st == SHOAL_OK && s.size != want)
        st = shoal_fail(SHOAL_EFORMAT, "%s: table `%s` has %zu bytes, want %zu",
                        container_path(c), t->name, s.size, want);
    for (size_t id = 0; id < t->rows && st == SHOAL_OK; id++)
        section_put_row(of, rank, id, (const float *)s.data + id * t->stride);
    return st;
}

/* What a part has of a table. */
struct rows_found {
    const uint32_t *ids;
    const float *at; /* [n][stride] */
    uint64_t n;
};

static shoal_status find_rows(struct rows_found *found, const struct container *c,
                              const struct table *t)
{
    struct section ids = {0}, rows = {0};
    char name[32];
    size_t n, row = t->stride * sizeof(float);
    shoal_status st;

    rows_name(name, t->name);
    st = container_find(c, name, sizeof(uint32_t), &ids);
    if (st == SHOAL_OK)
        st = container_find(c, t->name, sizeof(float), &rows);
    n = ids.size / sizeof(uint32_t);
    if (st == SHOAL_OK && (n > t->rows || rows.size != n * row))
        st = shoal_fail(SHOAL_EFORMAT, "%s: table `%s` has %zu bytes for %zu rows, want %zu",
                        container_path(c), t->name, rows.size, n, n * row);
    *found = (struct rows_found){ids.data, rows.data, n};
    return st;
}

/* seen [rows] tells which rows are there already. */
static shoal_status check_ids(const struct opened *o, const struct table *t, const uint32_t *ids,
                              size_t n, bool *seen)
{
    for (size_t i = 0; i < n; i++) {
        if (ids[i] >= t->rows || seen[ids[i]])
            return shoal_fail(SHOAL_EFORMAT, "%s: row %u of table `%s`, want %s",
                              container_path(o->head), ids[i], t->name,
                              ids[i] < t->rows ? "it in one part only" : "a lower number");
        seen[ids[i]] = true;
    }
    return SHOAL_OK;
}

static void put_found(const struct checkpoint_section *of, unsigned rank, const uint32_t *ids,
                      const float *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        section_put_row(of, rank, ids[i], rows + i * of->table->stride);
}

static shoal_status read_part(const struct opened *o, unsigned part,
                              const struct checkpoint_section *of, unsigned rank, bool *seen)
{
    struct rows_found found;
    shoal_status st = find_rows(&found, o->parts[part], of->table);

    if (st == SHOAL_OK)
        st = check_ids(o, of->table, found.ids, found.n, seen);
    if (st == SHOAL_OK)
        put_found(of, rank, found.ids, found.at, found.n);
    return st;
}

enum { SHARED_BYTES = 1 << 22 }; /* of rows that are passed on at a time */

/* Rows go from the rank that reads to all. A rank that does not read has `ids` and `buffer`. */
static shoal_status share_rows(const struct opened *o, const struct checkpoint_section *of,
                               unsigned rank, unsigned reader, const struct rows_found *found,
                               uint32_t *ids, float *buffer, bool *seen)
{
    const struct table *t = of->table;
    size_t row = t->stride * sizeof(float), most = SHARED_BYTES / row + 1, n = (size_t)found->n;
    bool reads = rank == reader;
    void *all = reads ? (void *)found->ids : ids; /* a root only reads */
    shoal_status st = comm_broadcast(o->comm, reader, all, n * sizeof *ids);

    if (st == SHOAL_OK)
        st = check_ids(o, t, all, n, seen); /* the same everywhere */
    for (size_t i = 0; i < n && st == SHOAL_OK; i += most) {
        size_t some = n - i < most ? n - i : most;
        float *rows = reads ? (float *)found->at + i * t->stride : buffer;

        st = comm_broadcast(o->comm, reader, rows, some * row);
        if (st == SHOAL_OK)
            put_found(of, rank, (uint32_t *)all + i, rows, some);
    }
    return st;
}

/* Collective: the part is read by one rank, once, however many there are. */
static shoal_status share_part(const struct opened *o, unsigned part,
                               const struct checkpoint_section *of, unsigned rank, bool *seen)
{
    const struct table *t = of->table;
    unsigned reader = reader_of(o, part);
    struct rows_found found = {0};
    uint32_t *ids = NULL;
    float *buffer = NULL;
    shoal_status st = rank == reader ? find_rows(&found, o->parts[part], t) : SHOAL_OK;

    st = comm_agree(o->comm, st);
    if (st == SHOAL_OK)
        st = comm_broadcast(o->comm, reader, &found.n, sizeof found.n);
    if (st != SHOAL_OK)
        return st;
    if (rank != reader) {
        ids = mem_array(found.n ? found.n : 1, sizeof *ids);
        buffer = mem_array(SHARED_BYTES + t->stride * sizeof *buffer, 1);
    }
    st = comm_agree(o->comm, rank == reader || (ids && buffer) ? SHOAL_OK : SHOAL_ENOMEM);
    if (st == SHOAL_OK)
        st = share_rows(o, of, rank, reader, &found, ids, buffer, seen);
    free(ids);
    free(buffer);
    return st;
}

shoal_status checkpoint_read_table(const struct opened *o, const struct checkpoint_section *of,
                                   unsigned rank)
{
    const struct table *t = of->table;
    bool *seen;
    shoal_status st;

    if (o->n == 0)
        return read_whole(o->head, of, rank);
    seen = mem_array(t->rows, sizeof *seen);
    st = seen ? SHOAL_OK : SHOAL_ENOMEM;
    if (o->comm)
        st = comm_agree(o->comm, st);
    for (unsigned i = 0; i < o->n && st == SHOAL_OK; i++)
        st = o->comm ? share_part(o, i, of, rank, seen) : read_part(o, i, of, rank, seen);
    for (size_t i = 0; i < t->rows && st == SHOAL_OK; i++)
        if (!seen[i])
            st = shoal_fail(SHOAL_EFORMAT, "%s: row %zu of table `%s` is in none of its %u parts",
                            container_path(o->head), i, t->name, o->n);
    free(seen);
    return st;
}

/* One corpus for all is one number, whoever trained on which part of it. */
shoal_status checkpoint_check_corpus(const struct opened *o, uint64_t corpus, bool local,
                                     unsigned rank, unsigned ranks)
{
    uint64_t there;
    struct section s;
    const char *path = container_path(o->head);
    shoal_status st = container_find(o->head, "corpus", sizeof there, &s);
    size_t n = s.size / sizeof there;

    if (st != SHOAL_OK)
        return st;
    if (n > 1 && (!local || n != ranks))
        return shoal_fail(SHOAL_EINVAL, "%s: was made by %zu ranks with a corpus each, found %u%s; "
                          "want as many", path, n, ranks, local ? "" : " with one for all");
    if (n == 1 && local && ranks > 1)
        return shoal_fail(SHOAL_EINVAL, "%s: was made with one corpus for all ranks, found one for "
                          "each", path);
    if (n == 0 || (memcpy(&there, (const char *)s.data + (n > 1 ? rank : 0) * sizeof there,
                          sizeof there), there != corpus))
        return shoal_fail(SHOAL_EINVAL, "%s: was made with other data than this", path);
    return SHOAL_OK;
}
