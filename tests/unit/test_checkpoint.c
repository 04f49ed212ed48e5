/* train: checkpoints in parts, as several ranks write them. One process plays all
 * ranks, one after the other. */
#include "train/run.h"

#include <setjmp.h>
#include <sys/stat.h>

#include "scratch.h"
#include "training.h"

enum { TABLES = 3, MOST = 7 };

static shoal_corpus *corpus, *other;
static const struct shoal_figures no_figures;

static shoal_corpus *make_corpus(const char *name, const char *line)
{
    struct shoal_encode_opts encode = shoal_encode_default();
    const char *text = scratch_put("text", line, strlen(line));
    shoal_corpus *c = NULL;

    encode.vocab.min_count = 1;
    if (shoal_encode(scratch_path(name), &text, 1, &encode, NULL) != SHOAL_OK ||
        shoal_corpus_open(&c, scratch_path(name)) != SHOAL_OK)
        return NULL;
    return c;
}

static int setup(void **state)
{
    if (scratch_setup(state) != 0)
        return -1;
    corpus = make_corpus("a.shoal", "one two three\nfour five");
    other = make_corpus("b.shoal", "one two three\nfour six");
    return corpus && other ? 0 : -1;
}

static int teardown(void **state)
{
    shoal_corpus_close(corpus);
    shoal_corpus_close(other);
    return scratch_teardown(state);
}

/* ---- tables and ranks ------------------------------------------------------------- */

struct model {
    struct table tables[TABLES];
    uint16_t *owner[TABLES];
    struct deal deals[TABLES]; /* by the owners */
};

/* Tables of all shapes; their padding stays 0. */
static struct model model_new(uint64_t seed)
{
    static const struct {
        const char *name;
        size_t rows, width;
    } shapes[TABLES] = {{"in", 101, 20}, {"out", 57, 33}, {"bias", 1, 101}};
    struct rng r = {.seed = seed};
    struct model m;

    for (size_t i = 0; i < TABLES; i++) {
        struct table *t = &m.tables[i];

        assert_int_equal(table_init(t, shapes[i].name, shapes[i].rows, shapes[i].width), SHOAL_OK);
        for (size_t row = 0; row < t->rows; row++)
            for (size_t k = 0; k < t->width; k++)
                t->at[row * t->stride + k] = (float)rng_unit(&r) - 0.5f;
        m.owner[i] = calloc(t->rows, sizeof(uint16_t));
        m.deals[i] = (struct deal){0};
    }
    return m;
}

static void model_free(struct model *m)
{
    for (size_t i = 0; i < TABLES; i++) {
        table_fini(&m->tables[i]);
        free(m->owner[i]);
        deal_fini(&m->deals[i]);
    }
}

/* Rows dealt out without a pattern; the last of several ranks gets none. */
static void deal_out(struct model *m, unsigned ranks)
{
    unsigned among = ranks > 2 ? ranks - 1 : ranks;

    for (size_t i = 0; i < TABLES; i++)
        for (size_t row = 0; row < m->tables[i].rows; row++)
            m->owner[i][row] = (uint16_t)(rng_at(i, 7, row) % among);
}

static void assert_same_tables(const struct model *a, const struct model *b)
{
    for (size_t i = 0; i < TABLES; i++)
        assert_memory_equal(a->tables[i].at, b->tables[i].at,
                            table_bytes(a->tables[i].rows, a->tables[i].width));
}

/* What a rank has of the model, of whose rows it owns a part. */
static struct sections sections_of(struct model *m, unsigned rank, unsigned ranks)
{
    struct sections s = {.n = TABLES, .rank = rank, .size = ranks};

    for (size_t i = 0; i < TABLES; i++) {
        deal_fini(&m->deals[i]);
        assert_int_equal(deal_init_as(&m->deals[i], m->tables[i].rows, 0, ranks, m->owner[i]),
                         SHOAL_OK);
        s.at[i] = (struct checkpoint_section){.table = &m->tables[i], .deal = &m->deals[i]};
    }
    return s;
}

/* The same of whoever wants all of it. */
static struct sections whole_of(struct model *m, unsigned rank, unsigned ranks)
{
    struct sections s = sections_of(m, rank, ranks);

    for (size_t i = 0; i < TABLES; i++)
        s.at[i].deal = NULL;
    return s;
}

static struct identity source_of(const shoal_corpus *c)
{
    return (struct identity){shoal_corpus_fingerprint(c), shoal_corpus_vocab(c)};
}

static shoal_status open_as(struct checkpoints **out, const struct train_opts *o,
                            const shoal_corpus *with, const struct sections *s)
{
    struct identity from = source_of(with);

    return checkpoints_open(out, o, task_find("cbow"), &from, s);
}

static shoal_status load_as(const struct train_opts *o, const shoal_corpus *with,
                            const struct sections *s, struct position *at)
{
    struct identity from = source_of(with);
    struct shoal_figures figures;

    return checkpoint_load(o, task_find("cbow"), &from, s, at, &figures);
}

static struct train_opts opts_in(const char *folder)
{
    struct train_opts o = task_defaults("cbow");

    o.checkpoint = folder;
    o.resume = true;
    return o;
}

static struct position position_of(uint64_t place)
{
    return (struct position){.epoch = 1, .place = place, .examples = 1000 + place, .seconds = 0.1,
                             .sums = {.predictions = 17, .loss = 1.0 / 3}, .best_loss = 2.5,
                             .progress = 0.25};
}

struct ranks {
    unsigned n;
    struct train_opts opts;
    struct checkpoints *at[MOST];
};

static void ranks_open(struct ranks *r, unsigned n, const char *folder, struct model *m)
{
    *r = (struct ranks){.n = n, .opts = opts_in(folder)};
    deal_out(m, n);
    for (unsigned i = 0; i < n; i++) {
        struct sections s = sections_of(m, i, n);

        assert_int_equal(open_as(&r->at[i], &r->opts, corpus, &s), SHOAL_OK);
    }
}

/* Every rank begins; rank 0 finishes last, when the others' parts are there. */
static void ranks_write(struct ranks *r, uint64_t place)
{
    struct position at = position_of(place);

    for (unsigned i = 0; i < r->n; i++)
        assert_int_equal(checkpoints_write(r->at[i], &at, &no_figures), SHOAL_OK);
    for (unsigned i = r->n; i-- > 0;)
        if (checkpoints_finish(r->at[i]) != SHOAL_OK)
            fail_msg("%s", shoal_error());
}

static void ranks_close(struct ranks *r)
{
    for (unsigned i = 0; i < r->n; i++)
        checkpoints_close(r->at[i]);
}

static void write_one(const char *folder, unsigned ranks, struct model *m, uint64_t place)
{
    struct ranks r;

    ranks_open(&r, ranks, folder, m);
    ranks_write(&r, place);
    ranks_close(&r);
}

static shoal_status load(const char *folder, struct model *m, struct position *at)
{
    struct train_opts o = opts_in(folder);
    struct sections s = whole_of(m, 0, 1);

    *at = (struct position){0};
    return load_as(&o, corpus, &s, at);
}

static void assert_loads(const char *folder, const struct model *want, uint64_t place)
{
    struct model got = model_new(99);
    struct position at, should = position_of(place);

    if (load(folder, &got, &at) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    assert_int_equal(at.epoch, should.epoch);
    assert_int_equal(at.place, should.place);
    assert_int_equal(at.examples, should.examples);
    assert_int_equal(at.sums.predictions, should.sums.predictions);
    assert_true(at.seconds == should.seconds && at.sums.loss == should.sums.loss);
    assert_true(at.best_loss == should.best_loss && at.progress == should.progress);
    assert_same_tables(&got, want);
    model_free(&got);
}

static void assert_refuses(const char *folder, const char *why)
{
    struct model got = model_new(99);
    struct position at;

    assert_int_equal(load(folder, &got, &at), SHOAL_EFORMAT);
    if (!strstr(shoal_error(), why))
        fail_msg("found %s, want %s", shoal_error(), why);
    model_free(&got);
}

static const char *in_folder(const char *folder, const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static bool is_there(const char *folder, const char *name)
{
    return access(in_folder(folder, name), F_OK) == 0;
}

/* ---- writing and reading ------------------------------------------------------------- */

static void any_number_of_ranks_reads_what_any_number_wrote(void **state)
{
    static const unsigned counts[] = {1, 2, 3, 7};
    struct model m = model_new(1);

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const char *folder;
        char name[32];

        snprintf(name, sizeof name, "any%zu", i);
        folder = scratch_path(name);
        write_one(folder, counts[i], &m, 5);
        assert_int_equal(scratch_count(folder), counts[i] > 1 ? counts[i] + 1 : 1);
        assert_loads(folder, &m, 5);
        for (unsigned rank = 0; rank < 3; rank++) {
            struct train_opts o = opts_in(folder);
            struct model got = model_new(2);
            struct sections s = whole_of(&got, rank, 3);
            struct position at;

            assert_int_equal(load_as(&o, corpus, &s, &at), SHOAL_OK);
            assert_same_tables(&got, &m);
            model_free(&got);
        }
    }
    model_free(&m);
}

static void a_run_goes_on_with_other_numbers_of_ranks(void **state)
{
    static const unsigned counts[] = {4, 2, 1, 3, 7, 1, 1};
    const char *folder = scratch_path("goes-on");

    (void)state;
    for (unsigned i = 0; i < 7; i++) {
        struct model m = model_new(i);

        write_one(folder, counts[i], &m, i);
        assert_loads(folder, &m, i);
        model_free(&m);
    }
    assert_int_equal(scratch_count(folder), 2); /* all parts are gone with their heads */
    assert_true(is_there(folder, "checkpoint-000007.shoal"));
}

static void the_last_two_are_kept_with_their_parts(void **state)
{
    const char *folder = scratch_path("two");
    struct model m = model_new(3);
    struct ranks r;

    (void)state;
    ranks_open(&r, 3, folder, &m);
    for (unsigned i = 0; i < 5; i++)
        ranks_write(&r, i);
    assert_int_equal(scratch_count(folder), 2 * 4);
    assert_true(is_there(folder, "checkpoint-000004.part-00-of-03.shoal"));
    assert_true(is_there(folder, "checkpoint-000005.part-02-of-03.shoal"));
    assert_int_equal(checkpoints_written(r.at[2]), 5);
    ranks_close(&r);
    model_free(&m);
}

static void what_is_written_is_the_copy_of_that_moment(void **state)
{
    const char *folder = scratch_path("moment");
    struct model m = model_new(4), then = model_new(4);
    struct position at = position_of(1);
    struct ranks r;

    (void)state;
    ranks_open(&r, 2, folder, &m);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(checkpoints_write(r.at[i], &at, &no_figures), SHOAL_OK);
    for (size_t i = 0; i < TABLES; i++)
        m.tables[i].at[0] += 1;
    for (unsigned i = 2; i-- > 0;)
        assert_int_equal(checkpoints_finish(r.at[i]), SHOAL_OK);
    assert_loads(folder, &then, 1);
    assert_int_equal(checkpoints_finish(r.at[0]), SHOAL_OK); /* nothing is under way */
    assert_int_equal(checkpoints_written(r.at[0]), 1);
    ranks_close(&r);
    model_free(&m);
    model_free(&then);
}

static void one_rank_writes_one_file_that_knows_no_ranks(void **state)
{
    static const char *const names[] = {"meta", "corpus", "figures", "in", "out", "bias",
                                        "vocab.words"};
    const char *folder = scratch_path("one");
    struct model m = model_new(5);
    struct container *c;
    struct section meta;
    char text[4096];

    (void)state;
    write_one(folder, 1, &m, 5);
    assert_int_equal(container_open(&c, in_folder(folder, "checkpoint-000001.shoal")), SHOAL_OK);
    for (size_t i = 0; i < 7; i++)
        assert_string_equal(container_at(c, i).name, names[i]);
    assert_int_equal(container_find(c, "meta", 1, &meta), SHOAL_OK);
    snprintf(text, sizeof text, "%.*s", (int)meta.size, (const char *)meta.data);
    assert_memory_equal(text, "kind checkpoint\nformat 2\ntask cbow\n", 35);
    assert_null(strstr(text, "parts"));
    container_close(c);
    model_free(&m);
}

static void a_head_tells_how_the_ranks_trained(void **state)
{
    const char *folder = scratch_path("habits");
    struct model m = model_new(6);
    struct shoal_checkpoint c;
    struct ranks r;

    (void)state;
    ranks_open(&r, 3, folder, &m);
    r.opts.sync.policy = SHOAL_BOUNDED;
    r.opts.sync.staleness = 4;
    r.opts.wire = SHOAL_WIRE_BF16;
    r.opts.servers = 1;
    r.opts.silence = 33.5;
    r.opts.output = "/there/text.bin";
    ranks_write(&r, 1);
    ranks_close(&r);
    assert_string_equal(option_kept(folder, "sync"), "bounded:4");
    assert_string_equal(option_kept(folder, "wire"), "bf16");
    assert_string_equal(option_kept(folder, "servers"), "1");
    assert_string_equal(option_kept(folder, "silent-after"), "33.5s");
    assert_string_equal(option_kept(folder, "local-input"), "false");
    assert_string_equal(option_kept(folder, "output"), "/there/text.bin");
    assert_int_equal(shoal_checkpoint_read(&c, folder), SHOAL_OK);
    assert_string_equal(c.path, in_folder(folder, "checkpoint-000001.shoal"));
    assert_int_equal(shoal_checkpoint_read(&c, in_folder(folder, "checkpoint-000001.shoal")),
                     SHOAL_OK);
    assert_int_equal(
        shoal_checkpoint_read(&c, in_folder(folder, "checkpoint-000001.part-01-of-03.shoal")),
        SHOAL_EFORMAT);
    assert_loads(folder, &m, 1); /* with habits of its own */
    model_free(&m);
}

/* ---- crashes and damage ------------------------------------------------------------------ */

static void put_leftover(const char *folder, const char *name)
{
    FILE *f = fopen(in_folder(folder, name), "wb");

    assert_non_null(f);
    fclose(f);
}

static void parts_without_a_head_are_nothing_and_go(void **state)
{
    const char *folder = scratch_path("headless");
    struct model m = model_new(7), newer = model_new(8);
    struct position at = position_of(2);
    struct ranks r;

    (void)state;
    write_one(folder, 3, &m, 1);
    ranks_open(&r, 3, folder, &newer);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(checkpoints_write(r.at[i], &at, &no_figures), SHOAL_OK);
    ranks_close(&r); /* as if the third had died before it began */
    put_leftover(folder, ".checkpoint-000002.shoal.tmp-123456");
    put_leftover(folder, ".checkpoint-000002.part-02-of-03.shoal.tmp-abcdef");
    put_leftover(folder, ".checkpoint-000009.part-02-of-03.shoal.tmp-abcdef"); /* under way */
    assert_true(is_there(folder, "checkpoint-000002.part-01-of-03.shoal"));
    assert_false(is_there(folder, "checkpoint-000002.shoal"));
    assert_loads(folder, &m, 1);
    write_one(folder, 2, &newer, 3);
    assert_true(is_there(folder, "checkpoint-000003.shoal")); /* no number is used twice */
    assert_false(is_there(folder, "checkpoint-000002.part-01-of-03.shoal"));
    assert_loads(folder, &newer, 3);
    assert_int_equal(scratch_count(folder), 4 + 3 + 1);
    model_free(&m);
    model_free(&newer);
}

/* All train on; nobody asks whether it is written. */
static void the_head_follows_the_last_part_by_itself(void **state)
{
    const char *folder = scratch_path("by-itself");
    struct model m = model_new(7);
    struct position at = position_of(2);
    struct ranks r;

    (void)state;
    ranks_open(&r, 3, folder, &m);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(checkpoints_write(r.at[i], &at, &no_figures), SHOAL_OK);
    for (unsigned naps = 0; !is_there(folder, "checkpoint-000001.shoal") && naps < 6000; naps++)
        usleep(10000);
    assert_true(is_there(folder, "checkpoint-000001.shoal"));
    assert_loads(folder, &m, 2);
    ranks_close(&r);
    model_free(&m);
}

static void a_part_that_rank_0_does_not_see_is_told(void **state)
{
    const char *folder = scratch_path("unshared");
    struct model m = model_new(9);
    struct position at = position_of(2);
    struct ranks r;

    (void)state;
    ranks_open(&r, 2, folder, &m);
    assert_int_equal(checkpoints_write(r.at[0], &at, &no_figures), SHOAL_OK);
    assert_int_equal(checkpoints_finish(r.at[0]), SHOAL_EIO);
    assert_non_null(strstr(shoal_error(), "that all ranks share"));
    assert_false(is_there(folder, "checkpoint-000001.shoal"));
    ranks_close(&r);
    model_free(&m);
}

/* Two checkpoints of three ranks: chunk 1, and m as it is at chunk 2. */
static const char *two_checkpoints(const char *name, struct model *old, struct model *m)
{
    const char *folder = scratch_path(name);

    write_one(folder, 3, old, 1);
    write_one(folder, 3, m, 2);
    assert_loads(folder, m, 2);
    return folder;
}

static void flip(const char *path, long at)
{
    FILE *f = fopen(path, "r+b");
    int c;

    assert_non_null(f);
    assert_int_equal(fseek(f, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    c = fgetc(f);
    assert_int_equal(fseek(f, -1, SEEK_CUR), 0);
    assert_int_equal(fputc(c ^ 0x10, f), c ^ 0x10);
    fclose(f);
}

static void copy_file(const char *from, const char *to)
{
    struct bytes b = scratch_get(from);
    FILE *f = fopen(to, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(b.at, 1, b.len, f), b.len);
    fclose(f);
    bytes_fini(&b);
}

/* What is done to the newest, which is then refused for that reason when it is
 * alone, and passed over when it is not. */
struct damage {
    const char *name, *why;
    void (*do_it)(const char *folder);
};

static void lose_part(const char *folder)
{
    assert_int_equal(unlink(in_folder(folder, "checkpoint-000002.part-01-of-03.shoal")), 0);
}

static void lose_all_parts(const char *folder)
{
    assert_int_equal(unlink(in_folder(folder, "checkpoint-000002.part-00-of-03.shoal")), 0);
    assert_int_equal(unlink(in_folder(folder, "checkpoint-000002.part-01-of-03.shoal")), 0);
    assert_int_equal(unlink(in_folder(folder, "checkpoint-000002.part-02-of-03.shoal")), 0);
}

static void flip_part(const char *folder)
{
    flip(in_folder(folder, "checkpoint-000002.part-01-of-03.shoal"), 1000);
}

static void flip_head(const char *folder)
{
    flip(in_folder(folder, "checkpoint-000002.shoal"), 70);
}

static void cut_part(const char *folder)
{
    assert_int_equal(truncate(in_folder(folder, "checkpoint-000002.part-02-of-03.shoal"), 100), 0);
}

/* Of the right shape and whole, but of another moment. */
static void mix_parts(const char *folder)
{
    char from[256];

    snprintf(from, sizeof from, "%s",
             in_folder(folder, "checkpoint-000001.part-00-of-03.shoal"));
    copy_file(from, in_folder(folder, "checkpoint-000002.part-00-of-03.shoal"));
}

static void swap_parts(const char *folder)
{
    char from[256];

    snprintf(from, sizeof from, "%s",
             in_folder(folder, "checkpoint-000002.part-00-of-03.shoal"));
    copy_file(from, in_folder(folder, "checkpoint-000002.part-01-of-03.shoal"));
}

static void head_for_part(const char *folder)
{
    char from[256];

    snprintf(from, sizeof from, "%s", in_folder(folder, "checkpoint-000002.shoal"));
    copy_file(from, in_folder(folder, "checkpoint-000002.part-01-of-03.shoal"));
}

static void a_damaged_checkpoint_is_refused_or_an_older_one_used(void **state)
{
    static const struct damage damages[] = {
        {"lost", "its part 2 of 3 is not there", lose_part},
        {"all-lost", "its part 1 of 3 is not there", lose_all_parts},
        {"flipped", "part-01-of-03", flip_part},
        {"flipped-head", "checkpoint-000002.shoal", flip_head},
        {"cut", "part-02-of-03", cut_part},
        {"mixed", "is part of another checkpoint", mix_parts},
        {"swapped", "is part of another checkpoint", swap_parts},
        {"disguised", "want a checkpoint-part", head_for_part},
    };
    struct model old = model_new(10), m = model_new(11);

    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        const char *folder = two_checkpoints(damages[i].name, &old, &m);
        struct shoal_checkpoint c;

        damages[i].do_it(folder);
        assert_loads(folder, &old, 1);
        assert_int_equal(shoal_checkpoint_read(&c, folder), SHOAL_OK);
        assert_string_equal(c.path, in_folder(folder, "checkpoint-000001.shoal"));
        assert_int_equal(unlink(in_folder(folder, "checkpoint-000001.shoal")), 0);
        assert_refuses(folder, damages[i].why);
        assert_int_equal(shoal_checkpoint_read(&c, folder), SHOAL_EFORMAT);
    }
    model_free(&old);
    model_free(&m);
}

/* Ranks that do not agree on who owns a row; a bug of ours, and seen as one. */
static void assert_rows_refused(const char *name, uint16_t owner_for_0, uint16_t owner_for_1,
                                const char *why)
{
    const char *folder = scratch_path(name);
    struct model m = model_new(12);
    struct ranks r;

    r = (struct ranks){.n = 2, .opts = opts_in(folder)};
    deal_out(&m, 2);
    for (unsigned i = 0; i < 2; i++) {
        struct sections s;

        m.owner[1][17] = i == 0 ? owner_for_0 : owner_for_1;
        s = sections_of(&m, i, 2);
        assert_int_equal(open_as(&r.at[i], &r.opts, corpus, &s), SHOAL_OK);
    }
    ranks_write(&r, 1);
    ranks_close(&r);
    assert_refuses(folder, why);
    model_free(&m);
}

static void every_row_must_be_there_once(void **state)
{
    (void)state;
    assert_rows_refused("twice", 0, 1, "row 17 of table `out`, want it in one part only");
    assert_rows_refused("never", 1, 0, "row 17 of table `out` is in none of its 2 parts");
}

static void tables_of_another_shape_are_refused(void **state)
{
    const char *folder = scratch_path("shape");
    struct train_opts o = opts_in(folder);
    struct model m = model_new(13);
    struct table narrow, few;
    struct position at;

    (void)state;
    write_one(folder, 2, &m, 1);
    assert_int_equal(table_init(&narrow, "in", 101, 10), SHOAL_OK);
    assert_int_equal(load_as(&o, corpus, &(struct sections){{{.table = &narrow}}, .n = 1,
                                                            .size = 1}, &at), SHOAL_EFORMAT);
    assert_int_equal(table_init(&few, "in", 100, 20), SHOAL_OK);
    assert_int_equal(load_as(&o, corpus, &(struct sections){{{.table = &few}}, .n = 1,
                                                            .size = 1}, &at), SHOAL_EFORMAT);
    assert_non_null(strstr(shoal_error(), "row 100 of table `in`, want a lower number"));
    table_fini(&narrow);
    table_fini(&few);
    model_free(&m);
}

/* ---- whose corpus ---------------------------------------------------------------------------- */

static shoal_status load_with(const char *folder, const shoal_corpus *with, bool local,
                              unsigned rank, unsigned ranks)
{
    struct train_opts o = opts_in(folder);
    struct model got = model_new(99);
    struct sections s = whole_of(&got, rank, ranks);
    struct position at;
    shoal_status st;

    o.local_input = local;
    st = load_as(&o, with, &s, &at);
    model_free(&got);
    return st;
}

static void ranks_with_a_corpus_each_must_be_as_many(void **state)
{
    const char *folder = scratch_path("local");
    struct model m = model_new(14);
    struct ranks r;

    (void)state;
    r = (struct ranks){.n = 2, .opts = opts_in(folder)};
    r.opts.local_input = true;
    deal_out(&m, 2);
    for (unsigned i = 0; i < 2; i++) {
        struct sections s = sections_of(&m, i, 2);

        assert_int_equal(open_as(&r.at[i], &r.opts, i ? other : corpus, &s), SHOAL_OK);
    }
    ranks_write(&r, 1);
    ranks_close(&r);
    assert_int_equal(load_with(folder, corpus, true, 0, 2), SHOAL_OK);
    assert_int_equal(load_with(folder, other, true, 1, 2), SHOAL_OK);
    assert_int_equal(load_with(folder, other, true, 0, 2), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "made with other data"));
    assert_int_equal(load_with(folder, corpus, true, 0, 3), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "made by 2 ranks with a corpus each, found 3; want"));
    assert_int_equal(load_with(folder, corpus, false, 0, 2), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "found 2 with one for all"));
    assert_int_equal(load_with(folder, corpus, false, 0, 1), SHOAL_EINVAL);
    model_free(&m);
}

static void one_corpus_for_all_is_the_same_for_any_number(void **state)
{
    const char *folder = scratch_path("global");
    struct model m = model_new(15);

    (void)state;
    write_one(folder, 3, &m, 1);
    assert_int_equal(load_with(folder, corpus, false, 4, 5), SHOAL_OK);
    assert_int_equal(load_with(folder, corpus, true, 0, 1), SHOAL_OK); /* alone, all is its own */
    assert_int_equal(load_with(folder, other, false, 0, 3), SHOAL_EINVAL);
    assert_int_equal(load_with(folder, corpus, true, 0, 3), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "one corpus for all ranks, found one for each"));
    model_free(&m);
}

static void other_options_are_refused_by_name(void **state)
{
    const char *folder = scratch_path("options");
    struct train_opts o = opts_in(folder);
    struct model m = model_new(16);
    struct sections s = whole_of(&m, 0, 1);
    struct position at;

    (void)state;
    write_one(folder, 2, &m, 1);
    o.window = 6;
    assert_int_equal(load_as(&o, corpus, &s, &at), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "window is 5 there, 6 here"));
    o = opts_in(folder);
    o.sync = (struct train_sync){SHOAL_SYNC, 9}, o.wire = SHOAL_WIRE_BF16, o.servers = 1, o.silence = 1;
    assert_int_equal(load_as(&o, corpus, &s, &at), SHOAL_OK);
    model_free(&m);
}

static void a_new_run_wants_a_folder_of_its_own(void **state)
{
    const char *folder = scratch_path("own");
    struct train_opts o = opts_in(folder);
    struct model m = model_new(17);
    struct sections s = sections_of(&m, 0, 2);
    struct checkpoints *c;

    (void)state;
    write_one(folder, 2, &m, 1);
    o.resume = false;
    assert_int_equal(open_as(&c, &o, corpus, &s), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "another run"));
    assert_null(c);
    model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_ranks_reads_what_any_number_wrote),
        cmocka_unit_test(a_run_goes_on_with_other_numbers_of_ranks),
        cmocka_unit_test(the_last_two_are_kept_with_their_parts),
        cmocka_unit_test(what_is_written_is_the_copy_of_that_moment),
        cmocka_unit_test(one_rank_writes_one_file_that_knows_no_ranks),
        cmocka_unit_test(a_head_tells_how_the_ranks_trained),
        cmocka_unit_test(parts_without_a_head_are_nothing_and_go),
        cmocka_unit_test(the_head_follows_the_last_part_by_itself),
        cmocka_unit_test(a_part_that_rank_0_does_not_see_is_told),
        cmocka_unit_test(a_damaged_checkpoint_is_refused_or_an_older_one_used),
        cmocka_unit_test(every_row_must_be_there_once),
        cmocka_unit_test(tables_of_another_shape_are_refused),
        cmocka_unit_test(ranks_with_a_corpus_each_must_be_as_many),
        cmocka_unit_test(one_corpus_for_all_is_the_same_for_any_number),
        cmocka_unit_test(other_options_are_refused_by_name),
        cmocka_unit_test(a_new_run_wants_a_folder_of_its_own),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
