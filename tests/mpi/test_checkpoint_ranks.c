/* Checkpoints that ranks write and choose together: run.sh starts this program
 * several times over; rank 0 prints TAP. */
#include "train/run.h"

#include "../unit/defaults.h"
#include "folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS = 1000, DIM = 24 };

static struct comm *comm;
static shoal_corpus *corpus;

static void meet(void)
{
    CHECK_OK(comm_barrier(comm));
}

/* One of many buffers, used in turn. */
static const char *path_of(const char *fmt, const char *name)
{
    static char paths[64][256];
    static unsigned turn;
    char *path = paths[turn++ % 64];
    char last[128];

    snprintf(last, sizeof last, fmt, name);
    snprintf(path, sizeof paths[0], "%s/%s", folder, last);
    return path;
}

/* ---- a model ---------------------------------------------------------------------- */

static struct table table;
static struct deal deal;

/* The same on every rank, as after a meeting. */
static void fill(uint64_t seed)
{
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < DIM; k++)
            table.at[i * table.stride + k] = (float)(rng_at(seed, i, k) % 1000);
}

static bool holds(uint64_t seed)
{
    bool same = true;

    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < DIM; k++)
            same &= table.at[i * table.stride + k] == (float)(rng_at(seed, i, k) % 1000);
    return same;
}

static struct train_opts opts_in(const char *where)
{
    struct train_opts o = task_defaults("cbow");

    o.checkpoint = where;
    o.resume = true;
    o.ranks = ranks;
    return o;
}

static struct sections share(const struct deal *by)
{
    return (struct sections){.at = {{.table = &table, .deal = by}}, .n = 1, .comm = comm,
                             .rank = rank, .size = size};
}

/* Of one process that has nobody to agree with. */
static struct sections all(void)
{
    return (struct sections){.at = {{.table = &table}}, .n = 1, .size = 1};
}

static shoal_status open_as(struct checkpoints **out, const struct train_opts *o,
                            const shoal_corpus *with, struct sections s)
{
    struct identity from = {shoal_corpus_fingerprint(with), shoal_corpus_vocab(with)};

    return checkpoints_open(out, o, task_find("cbow"), &from, &s);
}

static shoal_status load_as(const struct train_opts *o, const shoal_corpus *with,
                            struct sections s, struct position *at)
{
    struct identity from = {shoal_corpus_fingerprint(with), shoal_corpus_vocab(with)};
    struct shoal_figures figures;

    return checkpoint_load(o, task_find("cbow"), &from, &s, at, &figures);
}

static shoal_status write_at(struct checkpoints *c, uint64_t place)
{
    struct position at = {.place = place, .best_loss = 1};

    return checkpoints_write(c, &at, &(struct shoal_figures){.n = 0});
}

static void write_some(const char *where, uint64_t from, uint64_t to)
{
    struct train_opts o = opts_in(where);
    struct checkpoints *c = NULL;

    CHECK_OK(comm_agree(comm, open_as(&c, &o, corpus, share(&deal))));
    for (uint64_t i = from; c && i < to; i++) {
        fill(i);
        CHECK_OK(write_at(c, i));
        fill(1000); /* training goes on */
    }
    if (c)
        CHECK_OK(checkpoints_finish(c));
    CHECK(checkpoints_written(c) == to - from);
    checkpoints_close(c);
}

static shoal_status load(const char *where, const shoal_corpus *with, bool local, uint64_t *place)
{
    struct train_opts o = opts_in(where);
    struct position at = {0};
    shoal_status st;

    o.local_input = local;
    fill(1001);
    st = load_as(&o, with, share(NULL), &at);
    *place = at.place;
    return st;
}

static void check_loads(const char *where, uint64_t place)
{
    uint64_t found;

    CHECK_OK(load(where, corpus, false, &found));
    CHECK(found == place && holds(place));
    meet();
}

static void spoil(const char *path)
{
    FILE *f = fopen(path, "r+b");

    CHECK(f && fseek(f, 70, SEEK_SET) == 0 && fputc(0x5a, f) == 0x5a);
    if (f)
        fclose(f);
}

static void copy_folder(const char *from, const char *to)
{
    char command[600];

    snprintf(command, sizeof command, "cp -r %s %s", from, to);
    CHECK(system(command) == 0);
}

/* ---- cases -------------------------------------------------------------------------- */

static void what_all_write_all_read(void)
{
    const char *where = path_of("%s", "plain");

    write_some(where, 1, 6);
    check_loads(where, 5);
}

static void one_process_goes_on_with_what_all_wrote(void)
{
    const char *where = path_of("%s", "alone");
    struct train_opts o = opts_in(where);
    struct checkpoints *c = NULL;
    struct position at = {.place = 7};

    write_some(where, 1, 3);
    if (rank == 0) {
        CHECK_OK(load_as(&o, corpus, all(), &at));
        CHECK(holds(2) && at.place == 2);
        fill(7);
        CHECK_OK(open_as(&c, &o, corpus, all()));
        CHECK_OK(write_at(c, 7));
        CHECK_OK(checkpoints_finish(c));
        checkpoints_close(c);
    }
    meet();
    check_loads(where, 7);
    write_some(where, 8, 9);
    check_loads(where, 8);
}

/* Rank 0 finds the newest whole, the last rank does not: it has other disks. */
static void what_one_rank_finds_spoiled_none_takes(void)
{
    const char *where = path_of("%s", "one-disk"), *elsewhere = path_of("%s", "other-disk");
    uint64_t found;
    shoal_status st;

    write_some(where, 1, 3);
    if (rank == 0) {
        copy_folder(where, elsewhere);
        spoil(path_of("%s/checkpoint-000002.shoal", "other-disk"));
    }
    meet();
    check_loads(rank == size - 1 ? elsewhere : where, 1);
    if (rank == 0)
        spoil(path_of("%s/checkpoint-000001.shoal", "other-disk"));
    meet();
    st = load(rank == size - 1 ? elsewhere : where, corpus, false, &found);
    CHECK(st == SHOAL_EFORMAT && strstr(shoal_error(), "other-disk/checkpoint-000001.shoal"));
    meet();
}

/* Each has a disk with the head, and no other parts than those it reads for all. */
static void each_part_is_read_by_one_rank_for_all(void)
{
    const char *where = path_of("%s", "once");
    char own[32], command[600];

    write_some(where, 1, 3);
    snprintf(own, sizeof own, "once-%u", rank);
    snprintf(command, sizeof command,
             "mkdir %s && cp %s/checkpoint-000002.shoal %s/*2.part-%02u-of-*.shoal %s",
             path_of("%s", own), where, where, rank, path_of("%s", own));
    if (size > 1)
        CHECK(system(command) == 0);
    meet();
    check_loads(size > 1 ? path_of("%s", own) : where, 2);
}

/* Waits for a file, ten seconds at most. */
static bool appears(const char *path)
{
    for (int i = 0; i < 1000 && access(path, F_OK) != 0; i++)
        usleep(10000);
    return access(path, F_OK) == 0;
}

/* The head needs all parts. The last rank begins with its own when rank 0 trains on: were rank 0 to
 * write before it returns, it would wait for a part that nobody has begun. */
static void training_goes_on_while_others_write(void)
{
    const char *where = path_of("%s", "aside"), *returned = path_of("%s", "returned");
    struct train_opts o = opts_in(where);
    struct checkpoints *c = NULL;

    CHECK_OK(comm_agree(comm, open_as(&c, &o, corpus, share(&deal))));
    CHECK_OK(write_at(c, 1)); /* all learn its number; later ones follow it */
    CHECK_OK(checkpoints_finish(c));
    fill(2);
    if (size > 1 && rank == size - 1)
        CHECK(appears(returned));
    CHECK_OK(write_at(c, 2));
    if (rank == 0)
        CHECK(mkdir(returned, 0700) == 0);
    CHECK_OK(checkpoints_finish(c));
    CHECK(checkpoints_written(c) == 2);
    checkpoints_close(c);
    check_loads(where, 2);
}

static void a_folder_without_a_checkpoint_is_told_to_all(void)
{
    uint64_t found;

    CHECK(load(path_of("%s", "nowhere"), corpus, false, &found) == SHOAL_ENOENT);
    CHECK(strstr(shoal_error(), "nowhere"));
    meet();
}

static void each_has_its_own_corpus_and_finds_it_again(void)
{
    const char *where = path_of("%s", "local");
    struct train_opts o = opts_in(where);
    struct shoal_encode_opts encode = shoal_encode_default();
    char name[32];
    const char *text;
    struct checkpoints *c = NULL;
    shoal_corpus *own = NULL;
    uint64_t found;
    FILE *f;

    snprintf(name, sizeof name, "text%u", rank);
    text = path_of("%s", name);
    f = fopen(text, "w");
    CHECK(f && fprintf(f, "a b c %s\n", name) > 0 && fclose(f) == 0);
    encode.vocab.min_count = 1;
    CHECK_OK(shoal_encode(path_of("%s.shoal", name), &text, 1, &encode, NULL));
    CHECK_OK(shoal_corpus_open(&own, path_of("%s.shoal", name)));
    o.local_input = true;
    CHECK_OK(comm_agree(comm, open_as(&c, &o, own, share(&deal))));
    fill(3);
    CHECK_OK(write_at(c, 3));
    CHECK_OK(checkpoints_finish(c));
    checkpoints_close(c);
    CHECK_OK(load(where, own, true, &found));
    CHECK(found == 3 && holds(3));
    if (size > 1) {
        CHECK(load(where, rank == 1 ? corpus : own, true, &found) == SHOAL_EINVAL);
        CHECK(strstr(shoal_error(), "made with other data"));
    }
    shoal_corpus_close(own);
    meet();
}

/* The others' disks may be full as well; here a folder has gone. */
static void no_rank_fails_alone(void)
{
    const char *where = path_of("%s", "full"), *gone = path_of("%s", "gone");
    struct train_opts o = opts_in(where);
    struct checkpoints *c = NULL;

    CHECK_OK(comm_agree(comm, open_as(&c, &o, corpus, share(&deal))));
    if (size > 1 && rank == size - 1)
        o.checkpoint = gone;
    CHECK_OK(write_at(c, 1));
    if (size > 1) {
        CHECK(checkpoints_finish(c) == SHOAL_EIO || strstr(shoal_error(), "gone"));
        CHECK(checkpoints_written(c) == 0);
    } else {
        CHECK_OK(checkpoints_finish(c));
    }
    checkpoints_close(c);
    meet();
    CHECK((access(path_of("%s/checkpoint-000001.shoal", "full"), F_OK) == 0) == (size == 1));
    meet();
}

/* ---- TAP ------------------------------------------------------------------------------ */

static void begin(void)
{
    uint16_t owner[ROWS];
    struct shoal_encode_opts encode = shoal_encode_default();
    const char *text;
    FILE *f;

    text = path_of("%s", "text");
    encode.vocab.min_count = 1;
    if (rank == 0) {
        f = fopen(text, "w");
        CHECK(f && fputs("one two three\n", f) >= 0 && fclose(f) == 0);
    }
    meet();
    CHECK_OK(shoal_ranks_encode(ranks, path_of("%s", "corpus.shoal"), &text, 1, &encode, false,
                                NULL));
    CHECK_OK(shoal_corpus_open(&corpus, path_of("%s", "corpus.shoal")));
    CHECK_OK(table_init(&table, "in", ROWS, DIM));
    for (size_t i = 0; i < ROWS; i++)
        owner[i] = (uint16_t)(rng_at(5, 5, i) % size);
    CHECK_OK(deal_init_as(&deal, ROWS, 0, size, owner));
}

int main(void)
{
    if (!begin_ranks())
        return 1;
    comm = ranks_comm(ranks);
    begin();
    PASSES(what_all_write_all_read);
    PASSES(one_process_goes_on_with_what_all_wrote);
    if (size > 1)
        PASSES(what_one_rank_finds_spoiled_none_takes);
    PASSES(each_part_is_read_by_one_rank_for_all);
    PASSES(training_goes_on_while_others_write);
    PASSES(a_folder_without_a_checkpoint_is_told_to_all);
    PASSES(each_has_its_own_corpus_and_finds_it_again);
    PASSES(no_rank_fails_alone);
    shoal_corpus_close(corpus);
    table_fini(&table);
    return end_ranks();
}
