/* data: encoded clicks, in a file and in memory: what is in them, in which order, and what
 * is refused. */
#include "sparse/rows.h"

#include <math.h>
#include <setjmp.h>
#include <sys/stat.h>

#include "scratch.h"

#include "clicks.h"

static void encode(const char *out, const char *in, const struct shoal_clicks_opts *opts,
                   struct shoal_clicks_stats *stats)
{
    if (shoal_clicks_encode(out, &in, 1, opts, stats) != SHOAL_OK)
        fail_msg("%s", shoal_error());
}

static shoal_clicks *open_clicks(const char *path)
{
    shoal_clicks *c = NULL;

    if (shoal_clicks_open(&c, path) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return c;
}

/* Rows of some MiB, which are many blocks. */
static const char *made(uint64_t rows, enum shoal_clicks_format format)
{
    struct shoal_gen_clicks_opts gen = shoal_gen_clicks_default();
    const char *path = scratch_path("made");

    gen.rows = rows;
    gen.format = format;
    if (shoal_gen_clicks(path, &gen, NULL) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return path;
}

static void assert_same_bytes(const char *a, const char *b)
{
    struct bytes x = scratch_get(a), y = scratch_get(b);

    assert_int_equal(x.len, y.len);
    assert_memory_equal(x.at, y.at, x.len);
    bytes_fini(&x);
    bytes_fini(&y);
}

/* ---- what is in it ------------------------------------------------------------------- */

static void a_file_holds_the_rows_that_memory_holds(void **state)
{
    const char *text = "1 2 |a x y:2 |b z\n-1 |a x\n1 |b z:0.5\n", *path = scratch_path("c");
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_VW);
    const char *in = scratch_put("rows", text, strlen(text));
    shoal_clicks *memory = read_clicks(in, &opts, NULL), *file;
    struct shoal_clicks_stats stats;
    struct bytes b;
    struct stat info;

    (void)state;
    encode(path, in, &opts, &stats);
    file = open_clicks(path);
    b = clicks_spelled(file);
    assert_string_equal(b.at, "1*2 a^x a^y:2 b^z | 0 a^x | 1 b^z:0.5");
    assert_true(shoal_clicks_fingerprint(file) == shoal_clicks_fingerprint(memory));
    assert_int_equal(shoal_clicks_counts(file).rows, 3);
    assert_int_equal(shoal_clicks_counts(file).positives, 2);
    assert_int_equal(shoal_clicks_counts(file).values, 5);
    assert_int_equal(shoal_clicks_counts(file).features, 3);
    assert_true(shoal_clicks_counts(file).valued && shoal_clicks_counts(file).weighted);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(stats.file_bytes, info.st_size);
    bytes_fini(&b);
    shoal_clicks_close(file);
    shoal_clicks_close(memory);
}

static void bytes_are_read_and_opened_as_files_are(void **state)
{
    const char *text = "1 2 |a x y:2 |b z\n-1 |a x\n1 |b z:0.5\n", *path = scratch_path("c");
    struct shoal_memory blocks[] = {{"one", text, 18}, {"two", text + 18, strlen(text) - 18}},
                        bytes;
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_VW);
    const char *in = scratch_put("rows", text, strlen(text));
    shoal_clicks *rows, *copy, *file;
    struct bytes whole;

    (void)state;
    encode(path, in, &opts, NULL);
    file = open_clicks(path);
    whole = scratch_get(path);
    bytes = (struct shoal_memory){"bytes", whole.at, whole.len};
    assert_int_equal(shoal_clicks_read_memory(&rows, blocks, 2, &opts, NULL), SHOAL_OK);
    assert_int_equal(shoal_clicks_open_memory(&copy, &bytes), SHOAL_OK);
    memset(whole.at, 0, whole.len); /* it was copied */
    assert_true(shoal_clicks_fingerprint(rows) == shoal_clicks_fingerprint(file));
    assert_true(shoal_clicks_fingerprint(copy) == shoal_clicks_fingerprint(file));
    shoal_clicks_close(copy);
    assert_int_equal(shoal_clicks_open_memory(&copy, &bytes), SHOAL_EFORMAT);
    assert_null(copy);
    shoal_clicks_close(rows);
    blocks[1] = (struct shoal_memory){"two", "2 |a x\n3 |a x\n", 14};
    assert_int_equal(shoal_clicks_read_memory(&rows, blocks, 2, &opts, NULL), SHOAL_EFORMAT);
    assert_int_equal(strncmp(shoal_error(), "two:2: ", 7), 0);
    bytes_fini(&whole);
    shoal_clicks_close(file);
}

static void values_and_weights_are_kept_only_where_some_is_not_1(void **state)
{
    static const struct {
        const char *text;
        bool valued, weighted;
    } cases[] = {
        {"1 |a x\n", false, false},
        {"1 1 |a x:1\n0 1.0 |a y:1.0\n", false, false},
        {"1 |a x\n0 |a y:2\n", true, false},
        {"1 |a x\n0 2 |a y\n", false, true},
    };
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_VW);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *in = scratch_put("rows", cases[i].text, strlen(cases[i].text));
        const char *path = scratch_path("c");
        struct container *file;
        shoal_clicks *c;

        encode(path, in, &opts, NULL);
        c = open_clicks(path);
        assert_int_equal(shoal_clicks_counts(c).valued, cases[i].valued);
        assert_int_equal(shoal_clicks_counts(c).weighted, cases[i].weighted);
        shoal_clicks_close(c);
        assert_int_equal(container_open(&file, path), SHOAL_OK);
        assert_int_equal(container_has(file, "values"), cases[i].valued);
        assert_int_equal(container_has(file, "weights"), cases[i].weighted);
        container_close(file);
    }
}

/* The first that is not 1 comes blocks later: those before it get their ones. */
static void values_and_weights_may_begin_late(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_VW);
    const struct clicks_view *v;
    struct bytes b = {0};
    shoal_clicks *c;

    (void)state;
    text_add_many(&b, "1 |some names of-features\n", 40000);
    text_add_str(&b, "0 3 |some names:4\n");
    text_add_many(&b, "1 |some names of-features\n", 40000);
    opts.threads = 2;
    c = read_clicks(scratch_put("rows", b.at, b.len), &opts, NULL);
    v = clicks_view(c);
    assert_int_equal(v->rows, 80001);
    for (uint64_t r = 0; r < v->rows; r++)
        assert_true(v->weight[r] == (r == 40000 ? 3 : 1));
    for (uint64_t i = 0; i < v->values; i++)
        assert_true(v->value[i] == (i == 80000 ? 4 : 1));
    shoal_clicks_close(c);
    bytes_fini(&b);
}

static void ids_are_numbered_hottest_first(void **state)
{
    const char *text = "1 |x a b c\n1 |x b c\n0 |x c d e\n";
    static const char *const want[] = {"x^c", "x^b"};
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_VW);
    shoal_clicks *c = read_clicks(scratch_put("rows", text, strlen(text)), &opts, NULL);
    const struct clicks_view *v = clicks_view(c);
    uint64_t values;

    (void)state;
    assert_int_equal(v->features, 5);
    for (uint32_t id = 0; id < 2; id++) {
        assert_string_equal(shoal_clicks_name(c, id), want[id]);
        assert_int_equal(shoal_clicks_count(c, id, &values), 3 - id);
    }
    assert_int_equal(values, 8);
    assert_true(v->slot[2] < v->slot[3] && v->slot[3] < v->slot[4]);
    assert_null(shoal_clicks_name(c, 5));
    assert_int_equal(shoal_clicks_count(c, 5, NULL), 0);
    shoal_clicks_close(c);
}

/* Each id once, and no count larger than the one before, whatever was counted. */
static void every_slot_that_occurs_has_one_id(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_AUTO);
    shoal_clicks *c;
    const struct clicks_view *v;
    uint32_t *seen;
    uint64_t rare = 0;

    (void)state;
    opts.threads = 2;
    c = read_clicks(made(40000, SHOAL_CLICKS_CRITEO), &opts, NULL);
    v = clicks_view(c);
    seen = calloc(v->features, sizeof *seen);
    for (uint64_t i = 0; i < v->values; i++)
        seen[v->id[i]]++;
    for (uint32_t id = 0; id < v->features; id++) {
        assert_true(seen[id] > 0 && v->count[id] <= seen[id]);
        assert_true(id == 0 || v->count[id] <= v->count[id - 1]);
        rare += v->count[id] == 0;
    }
    /* There are more blocks than are counted, and what was not counted comes last. */
    assert_true(v->counted < v->values && rare > 0);
    assert_true(seen[0] > 100 * seen[v->features - 1]);
    free(seen);
    shoal_clicks_close(c);
}

static void long_names_are_cut_and_names_have_an_end(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_VW);
    struct bytes b = {0};
    shoal_clicks *c;

    (void)state;
    text_add_str(&b, "1 |space ");
    text_add_many(&b, "abcdefghij", 1000);
    text_add_str(&b, "\n");
    c = read_clicks(scratch_put("rows", b.at, b.len), &opts, NULL);
    assert_int_equal(strlen(shoal_clicks_name(c, 0)), 200);
    assert_memory_equal(shoal_clicks_name(c, 0), "space^abcdefghijabc", 19);
    shoal_clicks_close(c);
    bytes_fini(&b);
}

static void names_stop_when_their_room_is_full(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_VW);
    struct bytes b = {0};
    char name[256];
    uint32_t named = 0;
    shoal_clicks *c;

    (void)state;
    opts.bits = 24;
    for (unsigned i = 0; i < 100000; i++) {
        if (i % 1000 == 0)
            text_add_str(&b, i ? "\n1 |" : "1 |");
        snprintf(name, sizeof name, " %0200u", i);
        text_add_str(&b, name);
    }
    c = read_clicks(scratch_put("rows", b.at, b.len), &opts, NULL);
    for (uint32_t id = 0; id < shoal_clicks_counts(c).features; id++)
        named += shoal_clicks_name(c, id) != NULL;
    /* Of blocks that are not asked there are none either. */
    assert_true(named > 10000 && named < 90000);
    shoal_clicks_close(c);
    bytes_fini(&b);
}

static void other_rows_are_read_by_the_same_rules(void **state)
{
    const char *text = "city,out,price\nrome,1,2\nparis,0,3\n", *path = scratch_path("c");
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_AUTO), like;
    shoal_clicks *c;

    (void)state;
    opts.table.label = "out";
    opts.bits = 18;
    encode(path, scratch_put("rows", text, strlen(text)), &opts, NULL);
    c = open_clicks(path);
    like = shoal_clicks_like(c);
    assert_int_equal(like.format, SHOAL_CLICKS_CSV);
    assert_int_equal(like.bits, 18);
    assert_int_equal(shoal_columns_facts(like.columns, 1).kind, SHOAL_COLUMN_LABEL);
    assert_int_equal(shoal_columns_facts(like.columns, 2).kind, SHOAL_COLUMN_NUMBER);
    assert_int_equal(like.nlabels, 2);
    assert_string_equal(like.labels[1], "1");
    /* Here its fields would say otherwise. */
    assert_reads("city,price,out\n1,x,0\n2,3,1\n", &like, "0 city=1 price=x | 1 city=2 price");
    shoal_clicks_close(c);
}

/* ---- the same for everybody ------------------------------------------------------------- */

static void the_bytes_do_not_depend_on_threads_or_memory(void **state)
{
    static const enum shoal_clicks_format formats[] = {SHOAL_CLICKS_CRITEO, SHOAL_CLICKS_LIBSVM,
                                                       SHOAL_CLICKS_VW, SHOAL_CLICKS_CSV};
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_AUTO);

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const char *in = made(12000, formats[i]), *one = scratch_path("one");
        const char *many = scratch_path("many");
        struct shoal_clicks_stats first, stats;

        opts.threads = 1;
        opts.memory = (uint64_t)1 << 30;
        encode(one, in, &opts, &first);
        assert_int_equal(first.spilled, 0);
        opts.threads = 2 + (unsigned)i;
        encode(many, in, &opts, &stats);
        assert_same_bytes(one, many);
        assert_int_equal(stats.features, first.features);
        opts.memory = 100000;
        encode(many, in, &opts, &stats);
        assert_true(stats.spilled > 1000000);
        assert_same_bytes(one, many);
        opts.memory = 0;
        encode(many, in, &opts, &stats);
        assert_same_bytes(one, many);
    }
}

/* The sentence is that of the line which is one too many, however late its thread is. */
static void what_is_said_does_not_depend_on_threads(void **state)
{
    struct bytes b = {0};
    const char *path;
    char want[256];

    (void)state;
    for (unsigned i = 0; i < 30000; i++) {
        char line[128];

        snprintf(line, sizeof line, i % 1000 == 999 ? "1 bad%u\n" : "1 %u:1 900000:1 1000000:0.5\n",
                 i);
        text_add_str(&b, line);
    }
    path = scratch_put("rows", b.at, b.len);
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_LIBSVM);
        struct shoal_clicks_stats stats;
        shoal_clicks *c;

        opts.threads = threads;
        opts.skip_bad = 24;
        assert_int_equal(shoal_clicks_read(&c, &path, 1, &opts, NULL), SHOAL_EFORMAT);
        snprintf(want, sizeof want,
                 "%s:25000: found \"bad24999\", want index:value; it is bad line 25, want at most "
                 "24 (--skip-bad)",
                 path);
        assert_string_equal(shoal_error(), want);
        opts.skip_bad = 30;
        shoal_clicks_close(read_clicks(path, &opts, &stats));
        assert_int_equal(stats.bad_lines, 30);
        assert_int_equal(stats.rows, 29970);
        snprintf(want, sizeof want, "%s:5000: found \"bad4999\", want index:value", path);
        assert_string_equal(stats.bad[4], want);
    }
    bytes_fini(&b);
}

static void blocks_end_where_records_end(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_CSV);
    struct shoal_clicks_stats stats;
    struct bytes b = {0};

    (void)state;
    text_add_str(&b, "y,a,b\n");
    text_add_many(&b, "1,\"x\ny \"\"z\"\"\n\n,\n\",w\n0,plain,v\n", 60000);
    opts.threads = 3;
    shoal_clicks_close(read_clicks(scratch_put("rows", b.at, b.len), &opts, &stats));
    assert_int_equal(stats.rows, 120000);
    assert_int_equal(stats.features, 4);
    assert_int_equal(stats.lines, 1 + 60000 * 6);
    bytes_fini(&b);
}

/* ---- what is refused --------------------------------------------------------------------- */

static void what_cannot_fit_is_refused_beforehand(void **state)
{
    const char *in = scratch_put("rows", "1 1:1\n", 6), *path = scratch_path("refused");
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_AUTO);
    struct shoal_clicks_plan plan;
    shoal_clicks *c;

    (void)state;
    assert_int_equal(shoal_clicks_plan(&plan, path, &in, 1, &opts), SHOAL_OK);
    assert_int_equal(plan.input_bytes, 6);
    assert_int_equal(plan.memory_bytes, plan.buffer_bytes + plan.table_bytes + plan.row_bytes);
    opts.memory_limit = plan.memory_bytes - 1;
    assert_int_equal(shoal_clicks_encode(path, &in, 1, &opts, NULL), SHOAL_ELIMIT);
    assert_non_null(strstr(shoal_error(), "lower --bits, --row-memory or --threads"));
    assert_int_equal(access(path, F_OK), -1);
    opts.memory_limit = plan.memory_bytes;
    assert_int_equal(shoal_clicks_encode(path, &in, 1, &opts, NULL), SHOAL_OK);
    opts.bits = 30;
    assert_int_equal(shoal_clicks_read(&c, &in, 1, &opts, NULL), SHOAL_ELIMIT);
}

static void rows_that_do_not_fit_memory_are_refused(void **state)
{
    const char *in = made(12000, SHOAL_CLICKS_CRITEO);
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_AUTO);
    struct shoal_clicks_plan plan;
    shoal_clicks *c;

    (void)state;
    assert_int_equal(shoal_clicks_plan(&plan, "x", &in, 1, &opts), SHOAL_OK);
    opts.memory_limit = plan.buffer_bytes + plan.table_bytes + 1000000;
    assert_int_equal(shoal_clicks_read(&c, &in, 1, &opts, NULL), SHOAL_ELIMIT);
    assert_string_equal(shoal_error(), "clicks: the rows take more memory than is free; encode "
                                       "them into a file, or raise the limit");
    opts.memory_limit += 10000000;
    assert_int_equal(shoal_clicks_read(&c, &in, 1, &opts, NULL), SHOAL_OK);
    shoal_clicks_close(c);
}

static bool stop_at_once(void *user, const struct shoal_progress *progress)
{
    (void)user, (void)progress;
    return false;
}

static void work_that_fails_or_is_stopped_leaves_nothing(void **state)
{
    const char *in = made(12000, SHOAL_CLICKS_CRITEO), *bad = scratch_put("bad", "1 x\n", 4);
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_AUTO);
    size_t before = scratch_count(scratch_dir);

    (void)state;
    opts.watch.fn = stop_at_once;
    opts.threads = 2;
    assert_int_equal(shoal_clicks_encode(scratch_path("out"), &in, 1, &opts, NULL), SHOAL_ESTOP);
    opts.watch.fn = NULL;
    opts.format = SHOAL_CLICKS_LIBSVM;
    assert_int_equal(shoal_clicks_encode(scratch_path("out"), &bad, 1, &opts, NULL), SHOAL_EFORMAT);
    assert_int_equal(scratch_count(scratch_dir), before);
}

/* ---- damage ------------------------------------------------------------------------------ */

static void a_changed_byte_is_seen(void **state)
{
    const char *text = "1 2 |a x y:2\n-1 |a x z\n", *path = scratch_path("c");
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_VW);
    struct bytes b;

    (void)state;
    encode(path, scratch_put("rows", text, strlen(text)), &opts, NULL);
    b = scratch_get(path);
    for (size_t i = 0; i < b.len; i++) {
        shoal_clicks *c = NULL;

        b.at[i] ^= 1;
        assert_int_not_equal(shoal_clicks_open(&c, scratch_put("d", b.at, b.len)), SHOAL_OK);
        assert_null(c);
        b.at[i] ^= 1;
    }
    for (size_t len = 0; len < b.len; len += 17) {
        shoal_clicks *c = NULL;

        assert_int_not_equal(shoal_clicks_open(&c, scratch_put("d", b.at, len)), SHOAL_OK);
    }
    bytes_fini(&b);
}

/* A file of two rows and three features, of which tests change one thing. */
struct forged {
    uint8_t label[2];
    uint64_t start[3];
    uint32_t id[4];
    float value[4], weight[2];
    uint32_t slot[3];
    uint64_t count[3];
    char names[6];
    uint32_t begin[3];
    const char *meta;
};

static struct forged good_file(void)
{
    return (struct forged){
        .label = {1, 0},
        .start = {0, 2, 4},
        .id = {0, 1, 0, 2},
        .value = {1, 2, 1, 1},
        .weight = {1, 0.5f},
        .slot = {7, 3, 5},
        .count = {2, 1, 1},
        .names = "\0a\0bc",
        .begin = {1, 0, 3},
        .meta = "kind clicks\nrows 2\npositives 1\nvalues 4\nfeatures 3\nbad_lines 0\n"
                "way.format vw\nway.bits 3\n",
    };
}

static shoal_status open_forged(const struct forged *f)
{
    const char *path = scratch_path("forged");
    struct container_writer *w;
    shoal_clicks *c = NULL;
    shoal_status st;

    assert_int_equal(container_create(&w, path), SHOAL_OK);
    container_put(w, "ids", f->id, sizeof f->id);
    container_put(w, "labels", f->label, sizeof f->label);
    container_put(w, "starts", f->start, sizeof f->start);
    container_put(w, "values", f->value, sizeof f->value);
    container_put(w, "weights", f->weight, sizeof f->weight);
    container_put(w, "slots", f->slot, sizeof f->slot);
    container_put(w, "counts", f->count, sizeof f->count);
    container_put(w, "names", f->names, sizeof f->names);
    container_put(w, "names.begin", f->begin, sizeof f->begin);
    container_put(w, "meta", f->meta, strlen(f->meta));
    assert_int_equal(container_commit(w), SHOAL_OK);
    st = shoal_clicks_open(&c, path);
    shoal_clicks_close(c);
    return st;
}

static void assert_forged(const struct forged *f, const char *want)
{
    const char *path = scratch_path("forged");
    shoal_status st = open_forged(f);

    if (st != SHOAL_EFORMAT || strncmp(shoal_error(), path, strlen(path)) != 0 ||
        strcmp(shoal_error() + strlen(path), want) != 0)
        fail_msg("%s: \"%s\", want \"%s\"", shoal_status_name(st), shoal_error(), want);
}

#define FORGE(change, want)                                                                        \
    do {                                                                                           \
        struct forged f = good_file();                                                             \
        f.change;                                                                                  \
        assert_forged(&f, want);                                                                   \
    } while (0)

static void a_file_of_classes_says_so(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_LIBSVM);
    const char *text = scratch_put("many.svm", "9 1:1\n1 2:1\n0 1:1\n", 18);
    const char *path = scratch_path("many.shoal");
    shoal_clicks *file, *memory;
    struct forged f = good_file();

    (void)state;
    opts.classes = true;
    assert_int_equal(shoal_clicks_encode(path, &text, 1, &opts, NULL), SHOAL_OK);
    assert_int_equal(shoal_clicks_open(&file, path), SHOAL_OK);
    memory = read_clicks(text, &opts, NULL);
    assert_int_equal(shoal_clicks_counts(file).classes, 3);
    assert_string_equal(shoal_clicks_label(file, 2), "9");
    assert_int_equal(shoal_clicks_counts(file).positives, 1);
    assert_true(shoal_clicks_like(file).classes);
    assert_int_equal(shoal_clicks_fingerprint(file), shoal_clicks_fingerprint(memory));
    shoal_clicks_close(file);
    shoal_clicks_close(memory);
    f.meta = "kind clicks\nrows 2\npositives 1\nvalues 4\nfeatures 3\nbad_lines 0\n"
             "way.format vw\nway.bits 3\nway.classes many\n";
    f.label[1] = 253;
    assert_int_equal(open_forged(&f), SHOAL_OK);
    f.label[1] = 254;
    assert_forged(&f, ": a label is none of its classes at place 1");
}

static void rows_of_one_class_are_kept_and_opened(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_LIBSVM);
    const char *out = scratch_path("one_class.shoal");
    shoal_clicks *c;

    (void)state;
    opts.classes = true;
    encode(out, scratch_put("one_class", "5 1:1\n5 2:1\n", 12), &opts, NULL);
    assert_int_equal(shoal_clicks_open(&c, out), SHOAL_OK);
    assert_string_equal(shoal_clicks_label(c, 0), "5");
    assert_int_equal(shoal_clicks_counts(c).rows, 2);
    shoal_clicks_close(c);
}

static void what_a_file_says_is_checked(void **state)
{
    struct forged good = good_file();

    (void)state;
    assert_int_equal(open_forged(&good), SHOAL_OK);
    FORGE(id[3] = 3, ": an id is not below the features at place 0");
    FORGE(label[1] = 2, ": a label is neither 0 nor 1 at place 1");
    FORGE(label[1] = 1, ": has 2 positive labels, want 1");
    FORGE(start[0] = 1, ": its rows begin at 1 and end at 4, want 0 and 4");
    FORGE(start[2] = 5, ": its rows begin at 0 and end at 5, want 0 and 4");
    FORGE(start[1] = 5, ": a row begins behind the next at place 1");
    FORGE(value[2] = INFINITY, ": a value is no number at place 0");
    FORGE(value[2] = NAN, ": a value is no number at place 0");
    FORGE(weight[0] = -1, ": a weight is negative or no number at place 0");
    FORGE(weight[1] = NAN, ": a weight is negative or no number at place 1");
    FORGE(slot[0] = 8, ": a slot is not below 2^bits at place 0");
    FORGE(slot[2] = 2, ": a feature is out of order at place 2");
    FORGE(count[1] = 3, ": a feature is out of order at place 1");
    FORGE(begin[0] = 6, ": a name begins at a wrong place at place 0");
    FORGE(begin[0] = 2, ": a name begins at a wrong place at place 0");
    FORGE(names[5] = 'x', ": its names are not each ended by a NUL");
    FORGE(meta = "kind corpus\n", ": holds a corpus, want clicks");
    FORGE(meta = "kind clicks\nrows 3\npositives 1\nvalues 4\nfeatures 3\nbad_lines 0\n"
                 "way.format vw\nway.bits 3\n",
          ": section \"labels\" has 2 elements, want 3");
    FORGE(meta = "kind clicks\nrows 2\npositives 1\nvalues 4\nfeatures 9\nbad_lines 0\n"
                 "way.format vw\nway.bits 3\n",
          ": has 9 features and 2 rows, want fewer");
    FORGE(meta = "kind clicks\nrows 2\npositives 1\nvalues 4\nfeatures 3\nbad_lines 0\n"
                 "way.format vw\nway.bits 31\n",
          ": its meta \"way.bits\" is 31, want 1 to 30");
    FORGE(meta = "kind clicks\nrows 2\npositives 1\nvalues 4\nfeatures 3\nbad_lines 0\n"
                 "way.format word\nway.bits 3\n",
          ": its meta \"way.format\" is \"word\", want a format");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_holds_the_rows_that_memory_holds),
        cmocka_unit_test(bytes_are_read_and_opened_as_files_are),
        cmocka_unit_test(values_and_weights_are_kept_only_where_some_is_not_1),
        cmocka_unit_test(values_and_weights_may_begin_late),
        cmocka_unit_test(ids_are_numbered_hottest_first),
        cmocka_unit_test(every_slot_that_occurs_has_one_id),
        cmocka_unit_test(long_names_are_cut_and_names_have_an_end),
        cmocka_unit_test(names_stop_when_their_room_is_full),
        cmocka_unit_test(other_rows_are_read_by_the_same_rules),
        cmocka_unit_test(the_bytes_do_not_depend_on_threads_or_memory),
        cmocka_unit_test(what_is_said_does_not_depend_on_threads),
        cmocka_unit_test(blocks_end_where_records_end),
        cmocka_unit_test(what_cannot_fit_is_refused_beforehand),
        cmocka_unit_test(rows_that_do_not_fit_memory_are_refused),
        cmocka_unit_test(work_that_fails_or_is_stopped_leaves_nothing),
        cmocka_unit_test(a_changed_byte_is_seen),
        cmocka_unit_test(a_file_of_classes_says_so),
        cmocka_unit_test(rows_of_one_class_are_kept_and_opened),
        cmocka_unit_test(what_a_file_says_is_checked),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
