/* data: the readers of click data, format by format, and what they refuse. */
#include "sparse/rows.h"

#include <math.h>
#include <setjmp.h>

#include "scratch.h"

#include "clicks.h"

/* How the sentence about a third label goes on. */
#define THIRD                                                                                      \
    ", want two; `shoal train multinomial` takes many labels"
#define THIRD_COLUMN                                                                               \
    ", want two; --label names another column; `shoal train multinomial` takes many labels"

/* ---- libsvm ------------------------------------------------------------------------- */

static void libsvm_rows_have_a_label_and_features(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_LIBSVM);

    (void)state;
    assert_reads("1 3:1 11:1\n0 5:1\n", &opts, "1 3 11 | 0 5");
    assert_reads("+1 1:0.5 2:-2e3\n-1 0:1\n", &opts, "1 1:0.5 2:-2000 | 0 0");
    assert_reads("1.0 1:1\n0.0\n", &opts, "1 1 | 0");
    assert_reads("  1\t3:1  11:1 \t\n0", &opts, "1 3 11 | 0");
    assert_reads("1 12345678:1 123456789012345678:1\n", &opts, "1 12345678 123456789012345678");
    assert_reads("1 00000007:1 8:1.0\n", &opts, "1 00000007 8");
}

static void a_value_of_0_is_no_feature(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_LIBSVM);

    (void)state;
    assert_reads("1 1:0 2:1 3:0.0\n0 9:-0\n", &opts, "1 2 | 0");
}

static void comments_and_empty_lines_are_no_rows(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_LIBSVM);

    (void)state;
    assert_reads("# made by hand\n\n1 3:1 # why\n\r\n0 4:1 #5:1\n", &opts, "1 3 | 0 4");
}

static void libsvm_says_what_is_wrong(void **state)
{
    static const char *const cases[][2] = {
        {"1 3:1\n1 3:x\n", ":2: a value is \"x\", want a number"},
        {"1 3:1 2:1\n", ":1: index 2 follows 3, want them to increase"},
        {"1 3:1 3:1\n", ":1: index 3 follows 3, want them to increase"},
        {"1 -3:1\n", ":1: index \"-3:1\" is negative, want 0 or more"},
        {"1 3:1\n\n2 3:1\n3 3:1\n", ":4: label \"3\" is the third beside \"1\" and \"2\"" THIRD},
        {"3:1\n", ":1: found no label, want one"},
        {"x 3:1\n", ":1: its label is \"x\", want a number"},
        {"   \n", ":1: found no label, want one"},
        {"1 3\n", ":1: found \"3\", want index:value"},
        {"1 qid:3 4:1\n", ":1: found \"qid:3\", want index:value"},
        {"1 3:\n", ":1: a value is \"\", want a number"},
        {"1 3:1:1\n", ":1: a value is \"1:1\", want a number"},
        {"1 3:nan\n", ":1: a value is \"nan\", want a number"},
        {"1 3:inf\n", ":1: a value is \"inf\", want a number"},
        {"1 3:1e999\n", ":1: a value is \"1e999\", want a number that a float holds"},
        {"1 3:0x10\n", ":1: a value is \"0x10\", want a number"},
        {"1 1234567890123456789:1\n",
         ":1: index \"1234567890123456789:1\" has over 18 digits, want fewer"},
        {"1 3:1\x01 4:1\n", ":1: found \"?\", want index:value"},
        {"1 3:1 \x1b[31mlong-and-coloured-words\n",
         ":1: found \"?[31mlong-and-coloured-w...\", want index:value"},
    };
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_LIBSVM);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refuses(cases[i][0], &opts, cases[i][1]);
    assert_refuses_bytes("1 3:1\n1 4:1 \0 5:1\n", 18, &opts, ":2: byte 7 is NUL, want text");
}

/* ---- Vowpal Wabbit --------------------------------------------------------------------- */

static void vw_rows_have_spaces_of_features(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_VW);

    (void)state;
    assert_reads("1 |a x y:2 |b x\n-1 | x z:0.5\n", &opts, "1 a^x a^y:2 b^x | 0 x z:0.5");
    assert_reads("1 2.5 'tag|a x\n0 0 |a x\n", &opts, "1*2.5 a^x | 0*0 a^x");
    assert_reads("1 'a b|a x\n", &opts, "1 a^x");
    assert_reads("1 1 house|a:2 x y:3|b z\n", &opts, "1 a^x:2 a^y:6 b^z");
    assert_reads("1 |\n0 |a\n1 |a | |\n", &opts, "1 | 0 | 1");
    assert_reads("1 |a\tx  y\t\n", &opts, "1 a^x a^y");
    assert_reads("1 |a a-name-of-more-than-sixteen-bytes a-name-of-16-byte \xc3\xa4\n", &opts,
                 "1 a^a-name-of-more-than-sixteen-bytes a^a-name-of-16-byte a^\xc3\xa4");
}

static void the_same_name_in_two_spaces_is_two_features(void **state)
{
    const char *text = "1 |a x |b x | x |a x\n";
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_VW);
    shoal_clicks *c = read_clicks(scratch_put("rows", text, strlen(text)), &opts, NULL);

    (void)state;
    assert_int_equal(shoal_clicks_counts(c).values, 4);
    assert_int_equal(shoal_clicks_counts(c).features, 3);
    shoal_clicks_close(c);
}

static void vw_says_what_is_wrong(void **state)
{
    static const char *const cases[][2] = {
        {"1 x y\n", ":1: found no bar, want features behind one"},
        {"|a x\n", ":1: found no label before the bar, want one"},
        {"1|a x\n", ":1: found no label before the bar, want one"},
        {"5 |a x\n1 |a\n0 |\n", ":3: label \"0\" is the third beside \"5\" and \"1\"" THIRD},
        {"1 x |a x\n", ":1: its importance is \"x\", want a number"},
        {"1 -1 |a x\n", ":1: its importance is \"-1\", want 0 or more"},
        {"1 1e99 |a x\n", ":1: its importance is \"1e99\", want a number that a float holds"},
        {"1 1 0.5 |a x\n", ":1: found \"0.5\" behind label and importance, want a tag or a bar"},
        {"1 |a x:\n", ":1: a value is \"\", want a number"},
        {"1 |a x:1:2\n", ":1: a value is \"1:2\", want a number"},
        {"1 |a :2\n", ":1: found \":2\", want a feature's name"},
        {"1 |a:b x\n", ":1: a scale is \"b\", want a number"},
        {"1 |a:1e30 x:1e30\n", ":1: \"x\" times its scale is too large for a float"},
        {"1 |a x\x01y\n", ":1: found \"?y\", want a feature's name"},
    };
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_VW);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refuses(cases[i][0], &opts, cases[i][1]);
}

/* ---- Criteo ---------------------------------------------------------------------------- */

#define SIX "\taaaaaaaa\tbbbbbbbb\tcccccccc\tdddddddd\teeeeeeee\tffffffff"
#define TABS6 "\t\t\t\t\t\t"
#define TABS13 TABS6 TABS6 "\t"
#define TABS26 TABS13 TABS13

static void criteo_rows_have_integers_and_categories(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_CRITEO);

    (void)state;
    assert_reads("1\t0\t1\t2\t3\t-1" TABS6 "\t\t\t68fd1e64" TABS13 TABS6 TABS6 "\n", &opts,
                 "1 I1=0 I2=1 I3=2 I4=3..4 I5=-1 C1=68fd1e64");
    assert_reads("0" TABS13 TABS26 "\n", &opts, "0");
    assert_reads("1" TABS13 SIX SIX SIX SIX "\tx\tlonger-than-eight\n", &opts,
                 "1 C1=aaaaaaaa C2=bbbbbbbb C3=cccccccc C4=dddddddd C5=eeeeeeee C6=ffffffff "
                 "C7=aaaaaaaa C8=bbbbbbbb C9=cccccccc C10=dddddddd C11=eeeeeeee C12=ffffffff "
                 "C13=aaaaaaaa C14=bbbbbbbb C15=cccccccc C16=dddddddd C17=eeeeeeee C18=ffffffff "
                 "C19=aaaaaaaa C20=bbbbbbbb C21=cccccccc C22=dddddddd C23=eeeeeeee C24=ffffffff "
                 "C25=x C26=longer-than-eight");
}

static void an_integer_over_2_is_one_of_its_bucket(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_CRITEO);

    (void)state;
    /* log(3)^2 = 1.21, log(5)^2 = 2.59, log(1000)^2 = 47.7 */
    assert_reads("1\t3\t4\t5\t1000\t123456789012345" TABS6 "\t\t" TABS26 "\n"
                 "0\t4\t5\t4\t999\t" TABS6 "\t\t" TABS26 "\n",
                 &opts,
                 "1 I1=3..4 I2=3..4 I3=5 I4=950..1020 I5=121939907818942..123833802384877 | "
                 "0 I1=3..4 I2=5 I3=3..4 I4=950..1020");
}

/* The bucket of x by the slot it gets, and by the formula. */
static void buckets_are_the_squares_of_logarithms(void **state)
{
    struct click_format w = {.format = SHOAL_CLICKS_CRITEO, .shift = 34};
    struct click_block block = {0};
    struct click_batch b = {0};
    uint32_t slots[2000] = {0};
    uint64_t x = 3;

    (void)state;
    assert_int_equal(click_criteo_init(&w), SHOAL_OK);
    for (int i = 0; i < 20000; i++, x += 1 + (i > 3000) * (x / 1000)) {
        unsigned bucket = (unsigned)(log((double)x) * log((double)x));
        char text[128];

        if (x >= 1000000000000000u)
            break;
        snprintf(text, sizeof text, "1\t%llu" TABS6 TABS6 TABS26 "\n", (unsigned long long)x);
        block.text.len = 0;
        text_add_str(&block.text, text);
        assert_int_equal(bytes_reserve(&block.text, FIELD_PAD), SHOAL_OK);
        assert_int_equal(click_parse(&w, &block, &b, 0), SHOAL_OK);
        assert_int_equal(b.values, 1);
        if (slots[bucket] == 0)
            slots[bucket] = b.slot[0];
        assert_int_equal(slots[bucket], b.slot[0]);
    }
    for (unsigned i = 2; i < 2000; i++)
        assert_true(slots[i] == 0 || slots[i] != slots[i - 1]);
    click_format_fini(&w);
    click_batch_fini(&b);
    click_block_fini(&block);
}

/* A field of a column, mostly as it should be. */
static void add_field(struct bytes *b, struct rng *rng, unsigned column)
{
    static const char *const odd[] = {"-",    "12x",      "-12", "123456789",
                                      "1234", "\r",       "+1",  "1234567890123456",
                                      "a",    "\x80\xff", " 1",  "abcdefghi"};
    char text[32] = "";

    if (rng_below(rng, 200) == 0)
        snprintf(text, sizeof text, "%s", odd[rng_below(rng, sizeof odd / sizeof *odd)]);
    else if (rng_below(rng, 6) == 0)
        text[0] = '\0';
    else if (column < CRITEO_NUMBERS)
        snprintf(text, sizeof text, "%d",
                 (int)(rng_below(rng, 1u << rng_below(rng, 24)) - (rng_below(rng, 9) == 0)));
    else
        snprintf(text, sizeof text, "%.*x", 1 + (int)rng_below(rng, 8), (unsigned)rng_next(rng));
    text_add_str(b, text);
}

static struct bytes random_criteo(uint64_t seed, size_t lines)
{
    static const char *const labels[] = {"0", "1", "1", "0", "0", "1", "", "2", "-1", "01"};
    struct rng rng = {.seed = seed};
    struct bytes b = {0};

    for (size_t i = 0; i < lines; i++) {
        bool odd = rng_below(&rng, 20) == 0;
        unsigned columns = CRITEO_COLUMNS - (odd ? (unsigned)rng_below(&rng, 3) : 0);

        text_add_str(&b, labels[rng_below(&rng, odd ? 10 : 6)]);
        for (unsigned k = 0; k < columns; k++) {
            text_add_str(&b, "\t");
            add_field(&b, &rng, k);
        }
        text_add_str(&b, odd && rng_below(&rng, 3) == 0 ? "\r\n" : "\n");
    }
    assert_int_equal(bytes_reserve(&b, FIELD_PAD), SHOAL_OK);
    return b;
}

/* Lines of the usual shape take a way of their own: each line again, by the other one. */
static void the_fast_way_reads_what_the_slow_one_reads(void **state)
{
    struct click_format w = {.format = SHOAL_CLICKS_CRITEO, .shift = 44};
    struct click_batch fast = {0}, slow = {0};
    size_t r = 0, bad = 0;

    (void)state;
    assert_int_equal(click_criteo_init(&w), SHOAL_OK);
    for (uint64_t seed = 0; seed < 20; seed++, r = bad = 0) {
        struct click_block block = {.text = random_criteo(seed, 300)};
        const char *at = block.text.at, *end = at + block.text.len, *line;

        assert_int_equal(click_parse(&w, &block, &fast, 0), SHOAL_OK);
        assert_int_equal(click_parse(&w, &block, &slow, 0), SHOAL_OK); /* for its room */
        for (; at < end; at = line + 1) {
            line = memchr(at, '\n', (size_t)(end - at));
            slow.rows = slow.values = 0;
            slow.label[0] = CLICKS_NO_LABEL;
            if (!click_criteo_row(&w, &slow, at, line - (line[-1] == '\r'))) {
                bad++;
                continue;
            }
            assert_int_equal(fast.at[r], at - block.text.at);
            assert_int_equal(fast.label[r], slow.label[0]);
            assert_int_equal(fast.start[r + 1] - fast.start[r], slow.values);
            assert_memory_equal(fast.slot + fast.start[r], slow.slot,
                                slow.values * sizeof *slow.slot);
            r++;
        }
        assert_int_equal(r, fast.rows);
        assert_int_equal(bad, fast.bad);
        assert_int_equal(r + bad, 300);
        assert_true(bad > 0 && r > 200);
        click_block_fini(&block);
    }
    click_format_fini(&w);
    click_batch_fini(&fast);
    click_batch_fini(&slow);
}

static void criteo_says_what_is_wrong(void **state)
{
    static const char *const cases[][2] = {
        {"1\t2\n", ":1: found 2 columns, want 40"},
        {"1" TABS13 TABS26 "\t\n", ":1: found 41 columns, want 40"},
        {"1" TABS13 TABS13 TABS6 TABS6 "\n", ":1: found 39 columns, want 40"},
        {TABS13 TABS26 "\n", ":1: found no label, want one"},
        {"1\tx" TABS6 TABS6 TABS26 "\n", ":1: integer 1 is \"x\", want up to 15 digits"},
        {"1\t-" TABS6 TABS6 TABS26 "\n", ":1: integer 1 is \"-\", want up to 15 digits"},
        {"1" TABS13 "1.5" TABS26 "\n", ":1: integer 13 is \"1.5\", want up to 15 digits"},
        {"1\t1234567890123456" TABS6 TABS6 TABS26 "\n",
         ":1: integer 1 is \"1234567890123456\", want up to 15 digits"},
    };
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_CRITEO);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refuses(cases[i][0], &opts, cases[i][1]);
    assert_refuses_bytes("1" TABS13 TABS26 "\n1\t\0" TABS6 TABS6 TABS26 "\n", 83, &opts,
                         ":2: byte 3 is NUL, want text");
}

/* ---- CSV ------------------------------------------------------------------------------- */

static void csv_columns_are_numbers_or_categories(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_CSV);

    (void)state;
    /* Scaled to mean 0 and variance 1, or as they are. */
    assert_reads("label,price,city\n1,2.5,rome\n0,1,paris\n", &opts,
                 "1 price city=rome | 0 price:-1 city=paris");
    opts.table.raw = true;
    assert_reads("label,price,city\n1,2.5,rome\n0,1,paris\n", &opts,
                 "1 price:2.5 city=rome | 0 price city=paris");
    assert_reads("price,click,city\n2,1,\n,0,rome\n", &opts, "1 price:2 | 0 city=rome");
    assert_reads("a,b\n1,2\n0,3\n", &opts, "1 b:2 | 0 b:3");
    assert_reads("y,b\r\n1,2\r\n0,3", &opts, "1 b:2 | 0 b:3");
    assert_reads("y;b\n1;2,5\n0;3,25\n", &opts, "1 b:2.5 | 0 b:3.25");
    assert_reads("y\tb\n1\t2\n0\tx y\n", &opts, "1 b=2 | 0 b=x y");
    assert_reads("y, b , c\n 1 ,  2 , x y \n 0, 3, z\n", &opts, "1 b:2 c=x y | 0 b:3 c=z");
}

static void what_columns_are_is_found_or_said(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_CSV);

    (void)state;
    /* No number is what it is on average, and the feature `a=`. */
    assert_reads("y,a\n1,2\n1,3\n0,NA\n", &opts, "1 a:-1 | 1 a | 0 a=");
    opts.table.raw = true;
    assert_reads("y,a\n1,2\n1,3\n0,NA\n", &opts, "1 a:2 | 1 a:3 | 0");
    assert_reads("y,a\n1,2\n1,3e\n0,NA\n", &opts, "1 a=2 | 1 a=3e | 0");
    opts.table.numeric = "-";
    assert_reads("y,a\n1,2\n0,3\n", &opts, "1 a=2 | 0 a=3");
    opts.table.numeric = NULL;
    opts.table.category = "a";
    assert_reads("y,a,b\n1,2,2\n0,3,4\n", &opts, "1 a=2 b:2 | 0 a=3 b:4");
    opts.table.category = "*";
    opts.table.numeric = "b";
    assert_reads("y,a,b\n1,2,2\n0,3,4\n", &opts, "1 a=2 b:2 | 0 a=3 b:4");
    opts.table.ignore = "2";
    assert_reads("y,a,b\n1,2,2\n0,3,4\n", &opts, "1 b:2 | 0 b:4");
    opts.table.numeric = "c";
    assert_refuses("y,a,b\n1,2,2\n", &opts,
                   ": found no column \"c\" for --numeric, want one of y, a, b");
}

static void quotes_hold_commas_newlines_and_quotes(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_CSV);

    (void)state;
    assert_reads("y,\"b\"\n1,\"x,y\"\n0,\"x\ny\"\n1,\"a \"\"b\"\" c\"\n0,\"\"\n\"1\",\"\"\"\"\n",
                 &opts, "1 b=x,y | 0 b=x\ny | 1 b=a \"b\" c | 0 | 1 b=\"");
    assert_reads("y,b,c\n1, \"x\" ,\"y\"\r\n", &opts, "1 b=x c=y");
    /* Where they are not around fields, they are bytes like others. */
    assert_reads("y\tb\n1\t5\" pipe\n0\t3\" pipe\n", &opts, "1 b=5\" pipe | 0 b=3\" pipe");
    /* Lines are counted within quotes too. */
    assert_refuses("y,b\n1,\"a\n\n\"\n5,x\n6,x\n", &opts,
                   ":6: label \"6\" is the third beside \"1\" and \"5\"" THIRD_COLUMN);
}

static void the_label_is_a_column_by_name(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_CSV);

    (void)state;
    opts.table.raw = true;
    assert_reads("a,y,target,click,label\n7,7,7,7,1\n", &opts, "1 a:7 y:7 target:7 click:7");
    assert_reads("a,y,target\n7,8,1\n6,9,0\n", &opts, "1 a:7 y:8 | 0 a:6 y:9");
    opts.table.label = "b";
    assert_reads("a,b,label\n7,1,7\n", &opts, "1 a:7 label:7");
    opts.table.label = "B"; /* small or capital */
    assert_reads("a,b,label\n7,1,7\n", &opts, "1 a:7 label:7");
    opts.table.label = "2"; /* or by its number */
    assert_reads("a,b,label\n7,1,7\n", &opts, "1 a:7 label:7");
    opts.table.label = "b";
    assert_refuses("a,label\n7,1\n", &opts,
                   ": found no column \"b\" for --label, want one of a, label");
}

static void csv_says_what_is_wrong(void **state)
{
    static const char *const cases[][2] = {
        {"y,a\n1\n", ":2: found 1 columns, want 2"},
        {"y,a\n1,2,3\n", ":2: found more than 2 columns, want that many"},
        {"y,a\n,2\n", ":2: found no label in column \"y\", want one; --skip-bad leaves such rows "
                      "out"},
        {"y,a\nyes,2\nno,3\nmay be,4\n",
         ":4: label \"may be\" is the third beside \"yes\" and \"no\"" THIRD_COLUMN},
        {"y,a\n1,\"x,y\"\n0,\"p,q\"\n1,5\"\n0,\"r,s\"\n",
         ":4: column 2 has a quote at a wrong place"},
        {"y,a\n1,\"x,y\"\n0,\"p,q\"\n1,\"5\"x\n", ":4: column 2 has a quote at a wrong place"},
    };
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_CSV);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refuses(cases[i][0], &opts, cases[i][1]);
}

static void every_csv_input_begins_with_the_same_names(void **state)
{
    const char *inputs[] = {scratch_put("1.csv", "y,a\n1,2\n", 8),
                            scratch_put("2.csv", "y,a\n0,3\n", 8),
                            scratch_put("3.csv", "y,b\n0,3\n", 8)};
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_AUTO);
    shoal_clicks *c = NULL;
    struct bytes b;

    (void)state;
    assert_int_equal(shoal_clicks_read(&c, inputs, 2, &opts, NULL), SHOAL_OK);
    b = clicks_spelled(c);
    assert_string_equal(b.at, "1 a:-1 | 0 a");
    bytes_fini(&b);
    shoal_clicks_close(c);
    opts.skip_bad = 100;
    assert_int_equal(shoal_clicks_read(&c, inputs, 3, &opts, NULL), SHOAL_EFORMAT);
    assert_non_null(strstr(shoal_error(), "3.csv:1: its names begin \"y,b\", want those of the "
                                          "first input"));
}

/* ---- recognition ------------------------------------------------------------------------- */

static void the_first_line_says_which_format_it_is(void **state)
{
    static const struct {
        const char *text;
        enum shoal_clicks_format want;
    } cases[] = {
        {"1 3:1 4:1\n", SHOAL_CLICKS_LIBSVM},
        {"-1 3:0.5\r\n", SHOAL_CLICKS_LIBSVM},
        {"\n# words\n1\n0\n1 3:1\n", SHOAL_CLICKS_LIBSVM},
        {"1\n0\n", SHOAL_CLICKS_LIBSVM},
        {"\xef\xbb\xbf"
         "1 3:1\n",
         SHOAL_CLICKS_LIBSVM},
        {"1 |a x\n", SHOAL_CLICKS_VW},
        {"1 2 'tag|a x,y\n", SHOAL_CLICKS_VW},
        {"1 |a x:1\n", SHOAL_CLICKS_VW},
        {"1 tag|a x:1\n", SHOAL_CLICKS_VW},
        {"1" TABS13 TABS26 "\n", SHOAL_CLICKS_CRITEO},
        {"label,a|b\n1,2\n", SHOAL_CLICKS_CSV},
        {"label,a\n1,2\n", SHOAL_CLICKS_CSV},
        {"\"label\",\"a\"\n1,2\n", SHOAL_CLICKS_CSV},
    };
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_AUTO);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = scratch_put("rows", cases[i].text, strlen(cases[i].text));
        struct shoal_clicks_stats stats;
        shoal_clicks *c = read_clicks(path, &opts, &stats);

        if (stats.format != cases[i].want)
            fail_msg("case %zu is %s", i, shoal_clicks_format_name(stats.format));
        assert_int_equal(shoal_clicks_like(c).format, stats.format);
        shoal_clicks_close(c);
    }
}

/* Between semicolons, tabs or bars as well as between commas. */
static void tables_are_recognised_by_what_stands_between_fields(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_AUTO);

    (void)state;
    assert_reads("y;a;b\n1;x;z\n0;q;w\n", &opts, "1 a=x b=z | 0 a=q b=w");
    assert_reads("y\ta a\tb\n1\tx\tz\n0\tq\tw\n", &opts, "1 a a=x b=z | 0 a a=q b=w");
    assert_reads("y|a|b\n1|x|z\n0|q|w\n", &opts, "1 a=x b=z | 0 a=q b=w");
    assert_reads("y,a\n1,x\n  \n0,q\n \n", &opts, "1 a=x | 0 a=q");
}

static void a_table_of_labels_alone_is_refused(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_AUTO);

    (void)state;
    assert_refuses("y,a\n1,5\n0,5\n1,5\n", &opts, ": found no column to learn from beside the label");
}

static void what_is_no_click_data_is_refused(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_AUTO);
    const char *empty = scratch_put("empty", "", 0), *blank = scratch_put("blank", "y,a\n\n", 5);
    shoal_clicks *c;

    (void)state;
    assert_refuses("the cat sat\n", &opts,
                   ": its first line is none of libsvm, Vowpal Wabbit, Criteo or CSV; want one of "
                   "them, or --format");
    assert_int_equal(shoal_clicks_read(&c, &empty, 1, &opts, NULL), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "clicks: found nothing in 1 inputs, want rows");
    assert_int_equal(shoal_clicks_read(&c, &blank, 1, &opts, NULL), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "clicks: found no row in 2 lines, want one or more");
    assert_int_equal(shoal_clicks_read(&c, NULL, 0, &opts, NULL), SHOAL_EINVAL);
    opts.bits = 31;
    assert_int_equal(shoal_clicks_read(&c, &blank, 1, &opts, NULL), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "clicks: bits is 31, want 1 to 30");
}

/* ---- hashing: these numbers are the specification's ---------------------------------------- */

static uint32_t slot_by(const struct shoal_clicks_opts *opts, const char *text)
{
    shoal_clicks *c = read_clicks(scratch_put("rows", text, strlen(text)), opts, NULL);
    uint32_t slot = clicks_view(c)->slot[0];

    assert_int_equal(clicks_view(c)->values, 1);
    shoal_clicks_close(c);
    return slot;
}

static uint32_t first_slot(const char *text)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_AUTO);

    return slot_by(&opts, text);
}

static void slots_stay_what_they_are(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_AUTO);

    (void)state;
    assert_int_equal(first_slot("1 3:1\n"), 666251);
    assert_int_equal(first_slot("1 |a x\n"), 295819);
    assert_int_equal(first_slot("1 | a-name-of-more-than-sixteen-bytes\n"), 296431);
    assert_int_equal(first_slot("1\t2" TABS6 TABS6 TABS26 "\n"), 1029209);
    assert_int_equal(first_slot("1\t9" TABS6 TABS6 TABS26 "\n"), 223665);
    assert_int_equal(first_slot("1" TABS13 "\t68fd1e64" TABS13 TABS6 TABS6 "\n"), 842319);
    opts.table.raw = true;
    assert_int_equal(slot_by(&opts, "y,a\n1,2\n"), 248008);
    assert_int_equal(first_slot("y,a\n1,x\n"), 263982);
}

/* As many slots are hit as by chance, whatever the names look like. */
static void names_alike_fall_into_different_slots(void **state)
{
    static const char *const shapes[] = {"%u", "%08x", "user-%u", "%u-of-a-rather-long-list"};
    uint8_t *hit = malloc(1 << 16);

    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        unsigned hits = 0;

        memset(hit, 0, 1 << 16);
        for (unsigned i = 0; i < 1 << 16; i++) {
            char name[64] = "";
            int len = snprintf(name, sizeof name - 8, shapes[s], i * (s == 1 ? 40503u : 1));
            uint64_t slot = click_hash(click_seed(CLICK_SEED_VW), name, (size_t)len) >> 48;

            hits += !hit[slot];
            hit[slot] = 1;
        }
        /* 1 - 1/e of 65,536, give or take */
        assert_true(hits > 40500 && hits < 65537);
    }
    free(hit);
}

/* Names are read by the careful way, which must find the same features. */
static void a_row_read_for_its_names_is_the_same_row(void **state)
{
    struct shoal_gen_clicks_opts gen = shoal_gen_clicks_default();

    (void)state;
    gen.rows = 500;
    for (gen.format = SHOAL_CLICKS_LIBSVM; gen.format <= SHOAL_CLICKS_CSV; gen.format++) {
        struct shoal_clicks_opts opts = clicks_opts(gen.format);
        const char *path = scratch_path("made");
        struct click_block block = {.first = true};
        struct click_batch b = {0}, again = {0};
        struct click_name names[CRITEO_COLUMNS + 1];
        struct click_format w;

        assert_int_equal(shoal_gen_clicks(path, &gen, NULL), SHOAL_OK);
        block.text = scratch_get(path);
        assert_int_equal(bytes_reserve(&block.text, FIELD_PAD), SHOAL_OK);
        assert_int_equal(
            click_format_init(&w, &opts, false,
                              &(struct click_head){path, block.text.at, block.text.len, true, NULL}),
            SHOAL_OK);
        assert_int_equal(click_parse(&w, &block, &b, 0), SHOAL_OK);
        assert_int_equal(click_parse(&w, &block, &again, 0), SHOAL_OK);
        assert_int_equal(b.rows, 500);
        memset(again.slot, 0, b.values * sizeof *again.slot);
        for (size_t r = 0; r < b.rows; r++)
            click_parse_names(&w, &block, &again, r, names);
        assert_int_equal(again.values, b.values);
        assert_memory_equal(again.slot, b.slot, b.values * sizeof *b.slot);
        click_format_fini(&w);
        click_batch_fini(&b);
        click_batch_fini(&again);
        click_block_fini(&block);
    }
}

/* ---- bad lines -------------------------------------------------------------------------- */

static void so_many_bad_lines_are_left_out_and_no_more(void **state)
{
    const char *text = "1 1:1\nx\n0 2:1\n1 2:1 1:1\n1 3:1\n1 z:1\n";
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_LIBSVM);
    struct shoal_clicks_stats stats;
    const char *path = scratch_put("rows", text, strlen(text));
    char want[256];
    shoal_clicks *c;

    (void)state;
    opts.skip_bad = 3;
    assert_reads(text, &opts, "1 1 | 0 2 | 1 3");
    c = read_clicks(path, &opts, &stats);
    assert_int_equal(stats.bad_lines, 3);
    assert_int_equal(stats.lines, 6);
    assert_int_equal(stats.rows, 3);
    assert_int_equal(shoal_clicks_counts(c).bad_lines, 3);
    snprintf(want, sizeof want, "%s:4: index 1 follows 2, want them to increase", path);
    assert_string_equal(stats.bad[1], want);
    shoal_clicks_close(c);
    opts.skip_bad = 2;
    assert_refuses(text, &opts,
                   ":6: found \"z:1\", want index:value; it is bad line 3, want at most 2 "
                   "(--skip-bad)");
    opts.skip_bad = 1;
    assert_refuses(text, &opts,
                   ":4: index 1 follows 2, want them to increase; it is bad line 2, want at most 1 "
                   "(--skip-bad)");
}

/* A bad line leaves nothing behind: neither features nor the wish for values. */
static void a_bad_line_leaves_nothing_in_the_rows(void **state)
{
    const char *text = "1 1:1\n0 2:5 x\n1 0.5 |\n0 3:1\n";
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_LIBSVM);
    shoal_clicks *c;

    (void)state;
    opts.skip_bad = 9;
    c = read_clicks(scratch_put("rows", text, strlen(text)), &opts, NULL);
    assert_false(shoal_clicks_counts(c).valued);
    assert_int_equal(shoal_clicks_counts(c).features, 2);
    shoal_clicks_close(c);
}

static void labels_have_two_values_in_a_file(void **state)
{
    const char *inputs[] = {scratch_put("zero", "1 1:1\n0 1:1\n", 12),
                            scratch_put("minus", "1 1:1\n-1 1:1\n", 13)};
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_LIBSVM);
    shoal_clicks *c;

    (void)state;
    assert_refuses("1 1:1\n0 1:1\n1 1:1\n-1 1:1\n", &opts,
                   ":4: label \"-1\" is the third beside \"1\" and \"0\"" THIRD);
    assert_refuses("-1 1:1\n1 1:1\n0 1:1\n0 x\n", &opts,
                   ":3: label \"0\" is the third beside \"-1\" and \"1\"" THIRD);
    assert_refuses("-1 1:1\n1 x\n0 1:1\n", &opts, ":2: found \"x\", want index:value");
    assert_int_equal(shoal_clicks_read(&c, inputs, 2, &opts, NULL), SHOAL_OK);
    assert_int_equal(shoal_clicks_counts(c).positives, 2);
    shoal_clicks_close(c);
}

static void labels_are_any_two_texts_or_numbers(void **state)
{
    static const struct {
        const char *text, *classes[2];
    } cases[] = {
        {"1 1:1\n2 1:1\n", {"1", "2"}},       {"4 1:1\n2 1:1\n", {"2", "4"}},
        {"1 1:1\n-1 1:1\n", {"-1", "1"}},     {"10 1:1\n9 1:1\n", {"9", "10"}},
        {"+1.0 1:1\n0 1:1\n", {"0", "1"}},    {"yes,1\nno,2\n", {"no", "yes"}},
        {">50K,1\n<=50K,2\n", {"<=50K", ">50K"}},
    };
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_AUTO);
    shoal_clicks *c;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = scratch_put("rows", cases[i].text, strlen(cases[i].text));

        c = read_clicks(path, &opts, NULL);
        assert_string_equal(shoal_clicks_label(c, 0), cases[i].classes[0]);
        assert_string_equal(shoal_clicks_label(c, 1), cases[i].classes[1]);
        assert_null(shoal_clicks_label(c, 2));
        assert_int_equal(shoal_clicks_counts(c).positives, 1);
        shoal_clicks_close(c);
    }
    opts.positive = "no";
    opts.table.category = "*";
    assert_reads("yes,1\nno,2\n", &opts, "0 column2=1 | 1 column2=2");
    opts.positive = "maybe";
    assert_int_equal(shoal_clicks_read(&c, (const char *[]){scratch_path("rows")}, 1, &opts, NULL),
                     SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "--positive is 'maybe', found the labels \"yes\" and \"no\"; "
                                       "want one of them");
}

static void labels_are_classes_when_asked(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_LIBSVM);

    (void)state;
    opts.classes = true;
    /* Numbered by their size, texts behind numbers. */
    assert_reads("7 1:1\n0 2:1\n253\n+1 1:1\n2.0\n", &opts, "3 1 | 0 2 | 4 | 1 1 | 2");
    assert_refuses("1:1\n", &opts, ":1: found no label, want one");
    opts.format = SHOAL_CLICKS_VW;
    assert_reads("12 2 | a\n3 | b\n", &opts, "1*2 a | 0 b");
    assert_refuses("| a\n", &opts, ":1: found no label before the bar, want one");
    opts.format = SHOAL_CLICKS_CSV;
    assert_reads("y,a\n4,x\n0,z\n", &opts, "1 a=x | 0 a=z");
    assert_reads("y,a\nb,x\n-1,z\na,z\n", &opts, "2 a=x | 0 a=z | 1 a=z");
    assert_refuses("y,a\n,x\n", &opts, ":2: found no label in column \"y\", want one; --skip-bad "
                                        "leaves such rows out");
}

static void more_labels_than_there_may_be_are_refused(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_LIBSVM);
    struct bytes b = {0};
    char line[32];

    (void)state;
    opts.classes = true;
    for (int i = 0; i < 255; i++) {
        snprintf(line, sizeof line, "%d 1:1\n", i);
        text_add_str(&b, line);
    }
    assert_refuses_bytes(b.at, b.len, &opts,
                         ":255: label \"254\" is one of over 254, want at most that many");
    bytes_fini(&b);
}

static void criteo_may_have_classes(void **state)
{
    static const char text[] = "5" TABS13 TABS26 "\n1" TABS13 TABS26 "\n0" TABS13 TABS26 "\n";
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_CRITEO);

    (void)state;
    opts.classes = true;
    assert_reads(text, &opts, "2 | 1 | 0");
}

static void classes_are_the_different_labels(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_LIBSVM);
    const char *paths[] = {scratch_put("many", "7 1:1\n1 1:1\n9 1:1\n", 18),
                           scratch_put("few", "0 1:1\n0 1:1\n", 12)};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct shoal_clicks_stats stats;
        shoal_clicks *c;

        opts.classes = i < 2;
        c = read_clicks(paths[i > 0], &opts, &stats);
        assert_int_equal(shoal_clicks_counts(c).classes, i == 0 ? 3 : 2);
        assert_int_equal(stats.classes, i == 0 ? 3 : 2);
        assert_int_equal(shoal_clicks_counts(c).positives, i == 0);
        assert_int_equal(shoal_clicks_like(c).classes, i < 2);
        shoal_clicks_close(c);
    }
}

static void a_line_that_is_too_long_is_a_bad_one(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_LIBSVM);
    struct shoal_clicks_stats stats;
    struct bytes b = {0};
    shoal_clicks *c;
    const char *path;

    (void)state;
    text_add_str(&b, "1 1:1\n0");
    text_add_many(&b, " 2:1", 5 << 20);
    text_add_str(&b, "\n1 3:1\n");
    assert_refuses_bytes(b.at, b.len, &opts,
                         ":2: the line has over 4194304 bytes, want at most that");
    opts.skip_bad = 1;
    path = scratch_put("rows", b.at, b.len);
    c = read_clicks(path, &opts, &stats);
    assert_int_equal(stats.rows, 2);
    assert_int_equal(stats.lines, 3);
    assert_int_equal(stats.bad_lines, 1);
    shoal_clicks_close(c);
    /* Without an end, too. */
    b.len = 7 + (5 << 20);
    assert_int_equal(truncate(path, (off_t)b.len), 0);
    c = read_clicks(path, &opts, &stats);
    assert_int_equal(stats.rows, 1);
    assert_int_equal(stats.lines, 2);
    shoal_clicks_close(c);
    /* And before any other. */
    b.len = 0;
    text_add_many(&b, "12345678", 1 << 20);
    text_add_str(&b, "\n1 3:1\n");
    c = read_clicks(scratch_put("rows", b.at, b.len), &opts, &stats);
    assert_int_equal(stats.rows, 1);
    assert_int_equal(stats.lines, 2);
    shoal_clicks_close(c);
    bytes_fini(&b);
}

static void a_long_line_is_read_whole(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_VW);
    struct shoal_clicks_stats stats;
    struct bytes b = {0};

    (void)state;
    text_add_str(&b, "1 |");
    text_add_many(&b, " abc", 700000);
    text_add_str(&b, "\n0 | d\n");
    shoal_clicks_close(read_clicks(scratch_put("rows", b.at, b.len), &opts, &stats));
    assert_int_equal(stats.rows, 2);
    assert_int_equal(stats.values, 700001);
    assert_int_equal(stats.features, 2);
    bytes_fini(&b);
}

static void an_open_quote_is_bounded_too(void **state)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_CSV);
    struct shoal_clicks_stats stats;
    struct bytes b = {0};

    (void)state;
    text_add_str(&b, "y,a\n1,x\n0,\"");
    text_add_many(&b, "abcd\n", 1 << 20);
    text_add_str(&b, "\"\n1,y\n");
    opts.skip_bad = 1;
    shoal_clicks_close(read_clicks(scratch_put("rows", b.at, b.len), &opts, &stats));
    assert_int_equal(stats.rows, 2);
    assert_int_equal(stats.lines, 3 + (1 << 20) + 1);
    assert_non_null(strstr(stats.bad[0], "rows:3: the line has over 4194304 bytes"));
    bytes_fini(&b);
}

/* ---- streaming ---------------------------------------------------------------------------- */

static void a_stream_gives_rows_with_their_lines(void **state)
{
    const char *text = "1 1:1\n\nx\n0 2:2 3:1\n";
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_AUTO);
    const char *inputs[] = {scratch_put("a", text, strlen(text)), scratch_put("b", "1 4:1", 5)};
    struct shoal_clicks_stats stats;
    struct click_stream *s;
    struct click_rows rows;

    (void)state;
    opts.skip_bad = 1;
    assert_int_equal(
        click_stream_open(&s, &(struct sources){.paths = inputs, .n = 2}, &opts, false), SHOAL_OK);
    assert_int_equal(click_stream_next(s, &rows), SHOAL_OK);
    assert_int_equal(rows.rows, 2);
    assert_int_equal(rows.values, 3);
    assert_int_equal(rows.label[0], 1);
    assert_int_equal(rows.label[1], 0);
    assert_int_equal(rows.start[1], 1);
    assert_int_equal(rows.start[2], 3);
    assert_null(rows.weight);
    assert_true(rows.value[1] == 2 && rows.value[2] == 1);
    assert_int_equal(click_stream_next(s, &rows), SHOAL_OK);
    assert_int_equal(rows.rows, 1);
    assert_null(rows.value);
    assert_int_equal(click_stream_next(s, &rows), SHOAL_OK);
    assert_int_equal(rows.rows, 0);
    click_stream_stats(s, &stats);
    assert_int_equal(stats.rows, 3);
    assert_int_equal(stats.bad_lines, 1);
    assert_int_equal(stats.files, 2);
    click_stream_close(s);
}

static void assert_unlabelled(const char *text, size_t values)
{
    const char *path = scratch_put("rows", text, strlen(text));
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_AUTO);
    struct click_stream *s;
    struct click_rows rows;

    if (click_stream_open(&s, &(struct sources){.paths = &path, .n = 1}, &opts, true) != SHOAL_OK ||
        click_stream_next(s, &rows) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    assert_int_equal(rows.rows, 1);
    assert_int_equal(rows.label[0], CLICKS_NO_LABEL);
    assert_int_equal(rows.values, values);
    click_stream_close(s);
}

static void a_row_to_be_predicted_needs_no_label(void **state)
{
    (void)state;
    assert_unlabelled("|a x y\n", 2);
    assert_unlabelled("'tag|a x\n", 1);
    assert_unlabelled("5" TABS13 TABS13 TABS6 TABS6 "x\n", 2);
    assert_unlabelled("\t5" TABS13 TABS13 TABS6 TABS6 "x\n", 2);
    assert_unlabelled("label,a,b\n,x,y\n", 2);
    assert_unlabelled("a,b\nx,y\n", 2);
}

static void a_stream_and_a_file_agree_on_slots(void **state)
{
    struct shoal_gen_clicks_opts gen = shoal_gen_clicks_default();
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_AUTO);
    const char *path = scratch_path("made");
    const struct clicks_view *v;
    struct click_stream *s;
    struct click_rows rows;
    uint64_t row = 0;
    shoal_clicks *c;

    (void)state;
    gen.rows = 5000;
    assert_int_equal(shoal_gen_clicks(path, &gen, NULL), SHOAL_OK);
    c = read_clicks(path, &opts, NULL);
    v = clicks_view(c);
    assert_int_equal(click_stream_open(&s, &(struct sources){.paths = &path, .n = 1}, &opts, false),
                     SHOAL_OK);
    while (click_stream_next(s, &rows) == SHOAL_OK && rows.rows > 0) {
        for (size_t r = 0; r < rows.rows; r++, row++) {
            assert_int_equal(rows.label[r], v->label[row]);
            assert_int_equal(rows.start[r + 1] - rows.start[r], v->start[row + 1] - v->start[row]);
            for (uint32_t i = 0; i < rows.start[r + 1] - rows.start[r]; i++)
                assert_int_equal(rows.slot[rows.start[r] + i], v->slot[v->id[v->start[row] + i]]);
        }
    }
    assert_int_equal(row, 5000);
    click_stream_close(s);
    shoal_clicks_close(c);
}

static shoal_status stream_memory(struct click_stream **out, const char *name, const void *data,
                                  size_t size, const struct shoal_clicks_opts *opts,
                                  bool unlabelled)
{
    struct shoal_memory block = {name, data, size};

    return click_stream_open(out, &(struct sources){.blocks = &block, .n = 1}, opts, unlabelled);
}

static void memory_is_read_as_files_are(void **state)
{
    struct shoal_gen_clicks_opts gen = shoal_gen_clicks_default();
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_AUTO);
    const char *path = scratch_path("made");
    struct click_stream *s, *m;
    struct click_rows rows, same;
    struct bytes text;

    (void)state;
    gen.rows = 5000; /* several blocks */
    assert_int_equal(shoal_gen_clicks(path, &gen, NULL), SHOAL_OK);
    text = scratch_get(path);
    assert_int_equal(click_stream_open(&s, &(struct sources){.paths = &path, .n = 1}, &opts, false),
                     SHOAL_OK);
    assert_int_equal(stream_memory(&m, "body", text.at, text.len, &opts, false), SHOAL_OK);
    do {
        assert_int_equal(click_stream_next(s, &rows), SHOAL_OK);
        assert_int_equal(click_stream_next(m, &same), SHOAL_OK);
        assert_int_equal(same.rows, rows.rows);
        assert_int_equal(same.values, rows.values);
        if (rows.rows > 0) {
            assert_memory_equal(same.slot, rows.slot, rows.values * sizeof *rows.slot);
            assert_memory_equal(same.start, rows.start, (rows.rows + 1) * sizeof *rows.start);
        }
    } while (rows.rows > 0);
    click_stream_close(s);
    click_stream_close(m);
    bytes_fini(&text);
}

/* At every length, of a copy that ends where the text does: a sanitizer sees more. */
static void memory_is_read_to_its_end_and_no_further(void **state)
{
    static const char text[] = "1 2:1 3:0.5\n0 17:1 4:1\n1 4:1\n";
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_LIBSVM);

    (void)state;
    for (size_t len = 0; len < sizeof text; len++) {
        char *copy = malloc(len ? len : 1);
        struct click_stream *s;
        struct click_rows rows = {0};
        shoal_status st;

        memcpy(copy, text, len);
        st = stream_memory(&s, "body", copy, len, &opts, true);
        if (st == SHOAL_OK)
            st = click_stream_next(s, &rows);
        if (st != SHOAL_OK)
            assert_true(strncmp(shoal_error(), len ? "body:" : "clicks: found nothing", 5) == 0);
        if (len == 12)
            assert_int_equal(rows.rows, 1);
        click_stream_close(s);
        free(copy);
    }
}

static void compressed_memory_is_not_decompressed(void **state)
{
    static const char gzip[] = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x33\xb6\x32\x04\x00";
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_LIBSVM);
    struct click_stream *s;
    struct click_rows rows;

    (void)state;
    assert_int_equal(stream_memory(&s, "body", gzip, sizeof gzip - 1, &opts, true), SHOAL_OK);
    assert_int_equal(click_stream_next(s, &rows), SHOAL_EFORMAT);
    assert_non_null(strstr(shoal_error(), "body:1: byte 4 is NUL"));
    click_stream_close(s);
}

static void a_feature_by_name_has_the_slot_of_text(void **state)
{
    static const char *const names[] = {"0", "7",   "17",       "123456789012345678",
                                        "x", "a^b", "eight888", "a_longer_name_of_several_parts"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (int vw = i < 4 ? 0 : 1; vw <= 1; vw++) {
            struct shoal_clicks_opts opts = clicks_opts(vw ? SHOAL_CLICKS_VW : SHOAL_CLICKS_LIBSVM);
            char line[80];
            int len = snprintf(line, sizeof line, vw ? "| %s:2\n" : "%s:2\n", names[i]);
            struct click_stream *s;
            struct click_rows rows;
            uint32_t slot;

            assert_int_equal(stream_memory(&s, "body", line, (size_t)len, &opts, true), SHOAL_OK);
            assert_int_equal(click_stream_next(s, &rows), SHOAL_OK);
            assert_int_equal(click_slot(&slot, &opts, names[i], strlen(names[i])), SHOAL_OK);
            assert_int_equal(slot, rows.slot[0]);
            click_stream_close(s);
        }
    }
}

static void a_name_that_text_could_not_have_is_refused(void **state)
{
    static const char *const names[] = {"", "a b", "a:b", "a|b", "a\tb", "a\nb"};
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_VW);
    uint32_t slot;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(click_slot(&slot, &opts, names[i], strlen(names[i])), SHOAL_EINVAL);
    opts.format = SHOAL_CLICKS_LIBSVM;
    assert_int_equal(click_slot(&slot, &opts, "-1", 2), SHOAL_EINVAL);
    assert_int_equal(click_slot(&slot, &opts, "1234567890123456789", 19), SHOAL_EINVAL);
    opts.format = SHOAL_CLICKS_CSV;
    assert_int_equal(click_slot(&slot, &opts, "1", 1), SHOAL_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libsvm_rows_have_a_label_and_features),
        cmocka_unit_test(a_value_of_0_is_no_feature),
        cmocka_unit_test(comments_and_empty_lines_are_no_rows),
        cmocka_unit_test(libsvm_says_what_is_wrong),
        cmocka_unit_test(vw_rows_have_spaces_of_features),
        cmocka_unit_test(the_same_name_in_two_spaces_is_two_features),
        cmocka_unit_test(vw_says_what_is_wrong),
        cmocka_unit_test(criteo_rows_have_integers_and_categories),
        cmocka_unit_test(an_integer_over_2_is_one_of_its_bucket),
        cmocka_unit_test(buckets_are_the_squares_of_logarithms),
        cmocka_unit_test(the_fast_way_reads_what_the_slow_one_reads),
        cmocka_unit_test(criteo_says_what_is_wrong),
        cmocka_unit_test(csv_columns_are_numbers_or_categories),
        cmocka_unit_test(what_columns_are_is_found_or_said),
        cmocka_unit_test(quotes_hold_commas_newlines_and_quotes),
        cmocka_unit_test(the_label_is_a_column_by_name),
        cmocka_unit_test(csv_says_what_is_wrong),
        cmocka_unit_test(every_csv_input_begins_with_the_same_names),
        cmocka_unit_test(the_first_line_says_which_format_it_is),
        cmocka_unit_test(tables_are_recognised_by_what_stands_between_fields),
        cmocka_unit_test(a_table_of_labels_alone_is_refused),
        cmocka_unit_test(what_is_no_click_data_is_refused),
        cmocka_unit_test(slots_stay_what_they_are),
        cmocka_unit_test(names_alike_fall_into_different_slots),
        cmocka_unit_test(a_row_read_for_its_names_is_the_same_row),
        cmocka_unit_test(so_many_bad_lines_are_left_out_and_no_more),
        cmocka_unit_test(a_bad_line_leaves_nothing_in_the_rows),
        cmocka_unit_test(labels_have_two_values_in_a_file),
        cmocka_unit_test(labels_are_any_two_texts_or_numbers),
        cmocka_unit_test(labels_are_classes_when_asked),
        cmocka_unit_test(more_labels_than_there_may_be_are_refused),
        cmocka_unit_test(criteo_may_have_classes),
        cmocka_unit_test(classes_are_the_different_labels),
        cmocka_unit_test(a_line_that_is_too_long_is_a_bad_one),
        cmocka_unit_test(a_long_line_is_read_whole),
        cmocka_unit_test(an_open_quote_is_bounded_too),
        cmocka_unit_test(a_stream_gives_rows_with_their_lines),
        cmocka_unit_test(a_row_to_be_predicted_needs_no_label),
        cmocka_unit_test(a_stream_and_a_file_agree_on_slots),
        cmocka_unit_test(memory_is_read_as_files_are),
        cmocka_unit_test(memory_is_read_to_its_end_and_no_further),
        cmocka_unit_test(compressed_memory_is_not_decompressed),
        cmocka_unit_test(a_feature_by_name_has_the_slot_of_text),
        cmocka_unit_test(a_name_that_text_could_not_have_is_refused),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
