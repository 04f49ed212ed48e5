/* data: cut.c and vocab_parts.c, a vocabulary that several count together. */
#include "text/text.h"

#include <setjmp.h>
#include <zlib.h>

#include "scratch.h"

#define MIB ((size_t)1 << 20)

static const unsigned PARTS[] = {1, 2, 3, 7};
static const enum shoal_tokens BOTH[] = {SHOAL_TOKENS_SPACE, SHOAL_TOKENS_WORDS};

static struct shoal_vocab_opts small_opts(void)
{
    struct shoal_vocab_opts opts = shoal_vocab_default();

    opts.min_count = 1;
    opts.memory = (uint64_t)1 << 24;
    opts.threads = 2;
    opts.tmp_dir = scratch_dir;
    opts.bad_bytes = SHOAL_BAD_SPACE;
    return opts;
}

/* ---- several in one process -------------------------------------------------------- */

enum { MOST = 7 };

struct group {
    unsigned n;
    struct text *text[MOST];
    struct vocab_part *part[MOST];
    struct bytes batch[MOST][MOST]; /* from, to */
    struct shoal_text_stats read[MOST];
};

static shoal_status count_one(struct group *g, unsigned i, const struct inputs *inputs,
                              const struct shoal_vocab_opts *opts, bool local)
{
    struct cut from, to;
    struct text *text;
    shoal_status st = text_open(&g->text[i], inputs, opts, false, "count");

    text = g->text[i];
    if (st == SHOAL_OK && !local)
        st = text_cut(&from, inputs, opts, i, g->n);
    if (st == SHOAL_OK && !local)
        st = text_cut(&to, inputs, opts, i + 1, g->n);
    if (st == SHOAL_OK && !local)
        text_limit(text, &from, &to);
    if (st == SHOAL_OK)
        st = vocab_part_count(g->part[i], text);
    if (st == SHOAL_OK)
        text_end(text, SHOAL_OK, &g->read[i]);
    return st;
}

/* One batch from each to each; whether anybody has more. */
static bool round_of(struct group *g, size_t room)
{
    bool any = false, more;

    for (unsigned i = 0; i < g->n; i++) {
        assert_int_equal(vocab_part_pack(g->part[i], g->batch[i], room, &more), SHOAL_OK);
        any |= more;
    }
    for (unsigned to = 0; to < g->n; to++)
        for (unsigned from = 0; from < g->n; from++) {
            struct bytes *b = &g->batch[from][to];

            assert_true(b->len <= room);
            assert_int_equal(bytes_reserve(b, KEY_PAD), SHOAL_OK);
            assert_int_equal(vocab_part_unpack(g->part[to], b->at, b->len), SHOAL_OK);
        }
    return any;
}

/* Everybody's settled bytes, one after the other. */
static struct bytes settle_all(struct group *g, size_t *lens)
{
    struct bytes all = {0};

    for (unsigned i = 0; i < g->n; i++) {
        struct bytes one = {0};

        assert_int_equal(vocab_part_settle(g->part[i], &one), SHOAL_OK);
        lens[i] = one.len;
        assert_int_equal(bytes_add(&all, one.at, one.len), SHOAL_OK);
        bytes_fini(&one);
    }
    return all;
}

static void group_end(struct group *g)
{
    for (unsigned i = 0; i < g->n; i++) {
        vocab_part_close(g->part[i]);
        text_close(g->text[i]);
        for (unsigned k = 0; k < g->n; k++)
            bytes_fini(&g->batch[i][k]);
    }
}

/* inputs[i] is what member i reads, or inputs[0] is all that they share. */
static shoal_status count_together(struct group *g, shoal_vocab **out, const struct inputs *inputs,
                                   const struct shoal_vocab_opts *opts, bool local, size_t room,
                                   struct shoal_vocab_stats *stats)
{
    size_t lens[MOST];
    struct bytes all;
    shoal_status st = SHOAL_OK;

    *out = NULL;
    for (unsigned i = 0; i < g->n; i++)
        assert_int_equal(vocab_part_open(&g->part[i], opts, i, g->n), SHOAL_OK);
    for (unsigned i = 0; i < g->n && st == SHOAL_OK; i++)
        st = count_one(g, i, &inputs[local ? i : 0], opts, local);
    if (st != SHOAL_OK)
        return st;
    while (round_of(g, room))
        ;
    all = settle_all(g, lens);
    st = vocab_part_join(out, g->part[0], all.at, lens, stats);
    for (unsigned i = 1; i < g->n && st == SHOAL_OK; i++) {
        struct shoal_vocab_stats again;
        shoal_vocab *other;

        assert_int_equal(vocab_part_join(&other, g->part[i], all.at, lens, &again), SHOAL_OK);
        assert_memory_equal(&again, stats, sizeof again);
        shoal_vocab_free(other);
    }
    bytes_fini(&all);
    return st;
}

static void assert_same_vocab(const shoal_vocab *a, const shoal_vocab *b)
{
    assert_int_equal(shoal_vocab_size(a), shoal_vocab_size(b));
    assert_int_equal(shoal_vocab_total(a), shoal_vocab_total(b));
    assert_int_equal(shoal_vocab_unk(a), shoal_vocab_unk(b));
    assert_int_equal(shoal_vocab_sentences(a), shoal_vocab_sentences(b));
    for (uint32_t id = 0; id < shoal_vocab_size(a); id++) {
        assert_string_equal(shoal_vocab_word(a, id), shoal_vocab_word(b, id));
        assert_int_equal(shoal_vocab_count(a, id), shoal_vocab_count(b, id));
    }
}

static void assert_same_stats(struct shoal_vocab_stats a, struct shoal_vocab_stats b)
{
    a.spilled = b.spilled = 0;
    assert_memory_equal(&a, &b, sizeof a);
}

/* n of them count what one counts, to the last number, or fail as one does. */
static struct group assert_counts_as_one(const char *const *paths, size_t npaths,
                                         const struct shoal_vocab_opts *opts, unsigned n,
                                         size_t room)
{
    struct group g = {.n = n};
    struct shoal_vocab_stats stats, want_stats;
    shoal_vocab *v, *want;
    struct inputs inputs;
    shoal_status st = shoal_vocab_build(&want, paths, npaths, opts, &want_stats);
    char sentence[256];

    snprintf(sentence, sizeof sentence, "%s", shoal_error());
    assert_int_equal(inputs_expand(&inputs, paths, npaths), SHOAL_OK);
    assert_int_equal(count_together(&g, &v, &inputs, opts, false, room, &stats), st);
    if (st == SHOAL_OK) {
        assert_same_vocab(v, want);
        assert_same_stats(stats, want_stats);
    } else {
        assert_string_equal(shoal_error(), sentence);
    }
    shoal_vocab_free(v);
    shoal_vocab_free(want);
    group_end(&g);
    inputs_fini(&inputs);
    return g;
}

static void assert_text_counts_as_one(const char *text, size_t len,
                                      const struct shoal_vocab_opts *opts)
{
    const char *path = scratch_put("text", text, len);

    for (size_t i = 0; i < 4; i++)
        assert_counts_as_one(&path, 1, opts, PARTS[i], VOCAB_PACK_MIN);
}

/* ---- awkward texts ------------------------------------------------------------------ */

static void awkward_texts_are_counted_as_by_one(void **state)
{
    static const char *const texts[] = {
        "a", "a ", " a", "\na", "a\n", "ab", "a b", "a\nb", "a b\nc d",
        "\n\n\n\n\n\n\n\n", "a\n\n\n\n\n\n\nb", "a         \n         b",
        "          \n  a  \n         ", "word word word word word word word",
        "one line without an end and of several words",
        "longwordlongwordlongwordlongword\nx", "x longwordlongwordlongwordlongword",
        "h\xc3\xa9h\xc3\xa9h\xc3\xa9 h\xc3\xa9h\xc3\xa9 \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9",
        "\xe6\x97\xa5\xe6\x9c\xac\xe3\x80\x81\xe6\x97\xa5\xe6\x9c\xac\xe3\x80\x82\xe6\x97\xa5",
        "e\xcc\x81t e\xcc\x81t \xcc\x81t \xcc\x81\xcc\x81 e\xcc\x81",
        "a\342\200\211b\342\200\211\314\201c",
        "\xef\xbb\xbfone two three four", "\xef\xbb\xbf", "\xef\xbb\xbf \xef\xbb\xbf a",
        "\xef\xbb\xbf                        \n   a", "\xef\xbb\xbf\xef\xbb\xbf          \n   a",
        "\xf0\x9d\x94\xb8 \xf0\x9d\x94\xb8\xf0\x9d\x94\xb8 x \xf0\x9d\x94\xb8",
        "a\377b \xff\xff c\xe2\x82 d\xf0\x90 e \x01 f\x01g", "\xe2\x82\n\xac \xe2 \x82 \xac",
        "Don't STOP\r\nme NOW\r\n\r\n", "1.5 -2 x=3;y=4;z=5;x=6",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int kind = 0; kind < 2; kind++) {
            struct shoal_vocab_opts opts = small_opts();

            opts.tokens = BOTH[kind];
            assert_text_counts_as_one(texts[i], strlen(texts[i]), &opts);
            opts.bad_bytes = SHOAL_BAD_REFUSE;
            assert_text_counts_as_one(texts[i], strlen(texts[i]), &opts);
        }
}

/* Pieces of every kind, in any order. */
static struct bytes random_text(struct rng *r, size_t pieces)
{
    static const char *const kinds[] = {
        " ", " ", " ", "\n", "\r\n", "\t", "a", "B", "cd", "word", "\xc3\xa9", "\xc3\x89",
        "\xe6\x97\xa5", "\xe3\x80\x81", "\xcc\x81", "\xf0\x9d\x94\xb8", "\xe2\x80\x89", "7", "-",
        "\xff", "\xe2", "\x82", "\xf0\x90", "\x01", "\xef\xbb\xbf", "\r", "\x7f", "\xc2\x85",
        "中", "文", "ก", "ั", "한", "👩", "\u200d", "\ufe0f", "🇩", "🇪", "🏽", "1\u20e3", "#",
    };
    size_t n = sizeof kinds / sizeof *kinds;
    size_t some = 2 + (size_t)rng_below(r, n - 2), first = (size_t)rng_below(r, n);
    struct bytes b = {0};

    for (size_t i = 0; i < pieces; i++)
        text_add_str(&b, kinds[(first + (size_t)rng_below(r, some)) % n]);
    return b;
}

/* Every way to make words of text, but for refusing it. */
static void any_way(struct shoal_vocab_opts *opts, size_t i)
{
    static const enum shoal_encoding encodings[] = {SHOAL_ENCODING_UTF8, SHOAL_ENCODING_AUTO,
                                                    SHOAL_ENCODING_UTF8, SHOAL_ENCODING_LATIN1};

    opts->tokens = (enum shoal_tokens)(i % 4);
    opts->bad_bytes = (enum shoal_bad_bytes)(1 + i / 4 % 3);
    opts->emoji = i / 12 % 2;
    opts->encoding = encodings[i / 24 % 4];
}

static void any_text_is_counted_as_by_one(void **state)
{
    struct rng r = {.seed = 11};

    (void)state;
    for (size_t i = 0; i < 200; i++) {
        struct shoal_vocab_opts opts = small_opts();
        struct bytes b = random_text(&r, 1 + (size_t)rng_below(&r, 400));

        opts.threads = 1;
        any_way(&opts, i);
        assert_text_counts_as_one(b.at, b.len, &opts);
        bytes_fini(&b);
    }
}

/* Longer than a window, so that a cut is found without a look at the beginning. */
static void any_long_text_is_counted_as_by_one(void **state)
{
    struct rng r = {.seed = 21};

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        struct shoal_vocab_opts opts = small_opts();
        struct bytes b = random_text(&r, 1500000);

        opts.memory = (uint64_t)1 << 26;
        any_way(&opts, 7 * i);
        assert_text_counts_as_one(b.at, b.len, &opts);
        bytes_fini(&b);
    }
}

static const char *put_gz(const char *name, const char *text, size_t len)
{
    const char *path = scratch_path(name);
    gzFile f = gzopen(path, "wb");

    assert_int_equal(gzwrite(f, text, (unsigned)len), len);
    assert_int_equal(gzclose(f), Z_OK);
    return path;
}

static void several_files_are_counted_as_by_one(void **state)
{
    struct rng r = {.seed = 12};

    (void)state;
    for (size_t i = 0; i < 40; i++) {
        struct shoal_vocab_opts opts = small_opts();
        const char *paths[6];
        size_t n = 2 + (size_t)rng_below(&r, 5);

        opts.threads = 1;
        opts.tokens = BOTH[i % 2];
        for (size_t k = 0; k < n; k++) {
            struct bytes b = random_text(&r, (size_t)rng_below(&r, 200));
            char name[32];

            snprintf(name, sizeof name, "file%zu", k);
            paths[k] = b.len && rng_below(&r, 3) == 0 ? put_gz(name, b.at, b.len)
                                                      : scratch_put(name, b.at ? b.at : "", b.len);
            bytes_fini(&b);
        }
        for (size_t k = 0; k < 4; k++)
            assert_counts_as_one(paths, n, &opts, PARTS[k], VOCAB_PACK_MIN);
    }
}

/* ---- large texts ---------------------------------------------------------------------- */

/* `len` bytes of words, a newline each `line` words or so, never when 0; some
 * words have accents. */
static const char *put_large(const char *name, size_t len, size_t line)
{
    struct rng r = {.seed = 13};
    struct bytes b = {0};
    const char *path;
    char word[64];

    while (b.len < len) {
        uint64_t id = rng_below(&r, 1 + rng_below(&r, 20000));

        snprintf(word, sizeof word, "%s%llx%s", id % 5 ? "w" : "\xc3\x89t\xc3\xa9",
                 (unsigned long long)id, line && rng_below(&r, line) == 0 ? "\n" : " ");
        text_add_str(&b, word);
    }
    path = scratch_put(name, b.at, b.len);
    bytes_fini(&b);
    return path;
}

static void a_large_text_is_shared_evenly_with_lines_or_without(void **state)
{
    enum { SIZE = 8 * MIB };
    static const size_t lines[] = {0, 10, 1000000};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const char *path = put_large("large", SIZE, lines[i]);

        for (int kind = 0; kind < 2; kind++)
            for (size_t k = 1; k < 4; k++) {
                struct shoal_vocab_opts opts = small_opts();
                size_t slack = lines[i] > 1000 ? MIB : 1000;
                struct group g;

                opts.tokens = BOTH[kind];
                opts.memory = (uint64_t)1 << 26;
                g = assert_counts_as_one(&path, 1, &opts, PARTS[k], MIB);
                for (unsigned p = 0; p < g.n; p++)
                    assert_in_range(g.read[p].bytes, SIZE / g.n - slack, SIZE / g.n + slack);
            }
    }
}

static void what_cannot_be_cut_goes_to_one_of_them(void **state)
{
    struct shoal_vocab_opts opts = small_opts();
    struct bytes b = {0};

    (void)state;
    text_add_str(&b, "first ");
    text_add_many(&b, "x", 3 * MIB); /* one word, too long to count */
    text_add_str(&b, " last");
    assert_text_counts_as_one(b.at, b.len, &opts);
    b.len = 0;
    text_add_many(&b, " ", 3 * MIB); /* is there a word before? */
    text_add_str(&b, "\nlast");
    assert_text_counts_as_one(b.at, b.len, &opts);
    b.len = 0;
    text_add_str(&b, "word");
    text_add_many(&b, " ", 3 * MIB);
    text_add_str(&b, "\nlast");
    assert_text_counts_as_one(b.at, b.len, &opts);
    b.len = 0;
    text_add_str(&b, "x\n");
    text_add_many(&b, "y", 70000);
    text_add_many(&b, " ", MIB);
    text_add_many(&b, "y", 70000);
    text_add_str(&b, "\n\nx");
    assert_text_counts_as_one(b.at, b.len, &opts);
    bytes_fini(&b);
}

/* Half of the text is a window and 40,000 bytes: the window begins within a word
 * that is too long to count, and what it shows of it is not. */
static void the_end_of_a_word_too_long_is_no_word(void **state)
{
    struct shoal_vocab_opts opts = small_opts();
    struct bytes b = {0};

    (void)state;
    text_add_many(&b, "x", 70000);
    text_add_many(&b, " ", MIB);
    text_add_str(&b, "\n");
    text_add_many(&b, "y\n", (2 * (MIB + 40000) - b.len) / 2);
    assert_text_counts_as_one(b.at, b.len, &opts);
    bytes_fini(&b);
}

static void compressed_files_go_whole_and_are_spread(void **state)
{
    struct shoal_vocab_opts opts = small_opts();
    char text[4096];
    const char *paths[8];
    struct group g;

    (void)state;
    memset(text, 'a', sizeof text);
    for (size_t i = 4; i < sizeof text; i += 5)
        text[i] = i % 25 == 4 ? '\n' : ' ';
    for (size_t i = 0; i < 8; i++) {
        char name[16];

        snprintf(name, sizeof name, "gz%zu", i);
        paths[i] = put_gz(name, text, sizeof text);
    }
    g = assert_counts_as_one(paths, 8, &opts, 2, VOCAB_PACK_MIN);
    assert_int_equal(g.read[0].files, 4);
    assert_int_equal(g.read[1].files, 4);
    g = assert_counts_as_one(paths, 8, &opts, 3, VOCAB_PACK_MIN);
    assert_in_range(g.read[0].files, 2, 3);
    assert_in_range(g.read[2].files, 2, 3);
    g = assert_counts_as_one(paths, 1, &opts, 7, VOCAB_PACK_MIN);
}

static void what_can_be_read_only_once_is_read_by_the_first(void **state)
{
    struct input list[] = {{.path = (char *)"file", .size = 1000, .regular = true},
                           {.path = (char *)"-"}};
    struct shoal_vocab_opts opts = shoal_vocab_default();
    struct inputs in = {.at = list, .len = 2};
    struct cut c;

    (void)state;
    assert_int_equal(text_cut(&c, &in, &opts, 0, 3), SHOAL_OK);
    assert_true(c.input == 0 && c.offset == 0);
    for (unsigned i = 1; i < 4; i++) {
        assert_int_equal(text_cut(&c, &in, &opts, i, 3), SHOAL_OK);
        assert_true(c.input == 2 && c.offset == 0);
    }
}

/* ---- counts ----------------------------------------------------------------------------- */

/* As in test_vocab.c: word i of `types` is seen 1 + i % 7 times. */
static const char *put_many_types(size_t types)
{
    struct bytes b = {0};
    const char *path;
    char word[48];

    for (size_t round = 0; round < 7; round++)
        for (size_t i = 0; i < types; i++)
            if (i % 7 >= round) {
                snprintf(word, sizeof word, i % 3 ? "w%zx%c" : "a-much-longer-word-%zu%c", i,
                         i % 10 ? ' ' : '\n');
                text_add_str(&b, word);
            }
    path = scratch_put("many", b.at, b.len);
    bytes_fini(&b);
    return path;
}

static void rare_words_are_judged_by_their_sum(void **state)
{
    const char *path = put_many_types(5000);

    (void)state;
    for (uint64_t min = 1; min < 9; min++)
        for (int unk = 0; unk < 2; unk++) {
            struct shoal_vocab_opts opts = small_opts();

            opts.min_count = min;
            opts.unk = unk;
            opts.max_vocab = min == 3 ? 100 : 0;
            for (size_t i = 0; i < 4; i++)
                assert_counts_as_one(&path, 1, &opts, PARTS[i], VOCAB_PACK_MIN);
        }
}

static void counts_that_go_to_disk_are_the_same(void **state)
{
    struct shoal_vocab_opts opts = small_opts();
    const char *path = put_many_types(28000);

    (void)state;
    opts.memory = 1 << 20;
    for (size_t i = 0; i < 4; i++)
        assert_counts_as_one(&path, 1, &opts, PARTS[i], VOCAB_PACK_MIN);
}

static void the_floor_is_the_one_of_a_single_counter(void **state)
{
    struct shoal_vocab_opts opts = small_opts();
    const char *path = put_many_types(70000);

    (void)state;
    opts.memory = 1 << 20;
    for (size_t i = 0; i < 4; i++)
        assert_counts_as_one(&path, 1, &opts, PARTS[i], MIB);
}

static void texts_of_their_own_make_one_vocabulary(void **state)
{
    struct shoal_vocab_opts opts = small_opts();
    const char *paths[3] = {scratch_put("l0", "a b b\nc", 7), scratch_put("l1", "b c", 3),
                            scratch_put("l2", "c\n\nc c d d d d d", 16)};
    struct inputs inputs[3];
    struct shoal_vocab_stats stats, want_stats;
    shoal_vocab *v, *want;
    struct group g = {.n = 3};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(inputs_expand(&inputs[i], &paths[i], 1), SHOAL_OK);
    assert_int_equal(shoal_vocab_build(&want, paths, 3, &opts, &want_stats), SHOAL_OK);
    assert_int_equal(count_together(&g, &v, inputs, &opts, true, MIB, &stats), SHOAL_OK);
    assert_same_vocab(v, want);
    assert_same_stats(stats, want_stats);
    shoal_vocab_free(v);
    shoal_vocab_free(want);
    group_end(&g);
    for (size_t i = 0; i < 3; i++)
        inputs_fini(&inputs[i]);
}

/* ---- bytes from elsewhere ------------------------------------------------------------------ */

static void bad_batches_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } bad[] = {
        {"\1\0\0\0\0\0\0\0\1\0\0", 11},                      /* no whole head */
        {"\1\0\0\0\0\0\0\0\2\0\0\0a", 13},                   /* a word cut short */
        {"\1\0\0\0\0\0\0\0\0\0\0\0", 12},                    /* no word */
        {"\0\0\0\0\0\0\0\0\1\0\0\0a", 13},                   /* never seen */
        {"\1\0\0\0\0\0\0\0\377\377\377\377a", 13},        /* a length from nowhere */
        {"\1\0\0\0\0\0\0\0\3\0\0\0a b", 15},                 /* two words */
        {"\1\0\0\0\0\0\0\0\3\0\0\0a\0b", 15},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\1\0\0\0a\1\0\0\0\0\0\0\0\1\0\0\0a", 26}, /* 2^64 */
    };
    struct shoal_vocab_opts opts = small_opts();

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct vocab_part *p;
        char padded[64] = {0};

        memcpy(padded, bad[i].bytes, bad[i].len);
        assert_int_equal(vocab_part_open(&p, &opts, 0, 1), SHOAL_OK);
        assert_int_equal(vocab_part_unpack(p, padded, bad[i].len), SHOAL_EFORMAT);
        vocab_part_close(p);
    }
    vocab_part_close(NULL);
}

/* A flipped byte of what was settled is refused or changes a number; it never
 * reads beyond, which the sanitizers watch. */
static void bad_sums_are_refused(void **state)
{
    struct shoal_vocab_opts opts = small_opts();
    const char *path = scratch_put("text", "one two two three three three", 29);
    struct group g = {.n = 2};
    struct inputs inputs;
    struct shoal_vocab_stats stats;
    size_t lens[MOST], refused = 0;
    struct bytes all;
    shoal_vocab *v;

    (void)state;
    assert_int_equal(inputs_expand(&inputs, &path, 1), SHOAL_OK);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(vocab_part_open(&g.part[i], &opts, i, 2), SHOAL_OK);
        assert_int_equal(count_one(&g, i, &inputs, &opts, false), SHOAL_OK);
    }
    while (round_of(&g, MIB))
        ;
    all = settle_all(&g, lens);
    for (size_t i = 0; i < all.len; i++) {
        all.at[i] ^= 0x40;
        refused += vocab_part_join(&v, g.part[0], all.at, lens, &stats) != SHOAL_OK;
        shoal_vocab_free(v);
        all.at[i] ^= 0x40;
    }
    assert_true(refused > 20);
    assert_int_equal(vocab_part_join(&v, g.part[0], all.at, (size_t[]){8, 8}, &stats),
                     SHOAL_EFORMAT);
    lens[1]--;
    assert_int_equal(vocab_part_join(&v, g.part[0], all.at, lens, &stats), SHOAL_EFORMAT);
    bytes_fini(&all);
    group_end(&g);
    inputs_fini(&inputs);
}

static void those_who_see_different_files_are_told(void **state)
{
    struct shoal_vocab_opts opts = small_opts();
    const char *before = scratch_put("grows", "one two\nthree four\nfive six\n", 28), *after;
    struct group g = {.n = 2};
    struct inputs inputs, larger;
    struct shoal_vocab_stats stats;
    size_t lens[MOST];
    struct bytes all;
    shoal_vocab *v;

    (void)state;
    assert_int_equal(inputs_expand(&inputs, &before, 1), SHOAL_OK);
    after = scratch_put("grows", "one two\nthree four\nfive six\nseven eight\nnine ten\n", 49);
    assert_int_equal(inputs_expand(&larger, &after, 1), SHOAL_OK);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(vocab_part_open(&g.part[i], &opts, i, 2), SHOAL_OK);
        assert_int_equal(count_one(&g, i, i ? &larger : &inputs, &opts, false), SHOAL_OK);
    }
    while (round_of(&g, MIB))
        ;
    all = settle_all(&g, lens);
    assert_int_equal(vocab_part_join(&v, g.part[0], all.at, lens, &stats), SHOAL_EIO);
    assert_non_null(strstr(shoal_error(), "different files"));
    assert_null(v);
    bytes_fini(&all);
    group_end(&g);
    inputs_fini(&inputs);
    inputs_fini(&larger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(awkward_texts_are_counted_as_by_one),
        cmocka_unit_test(any_text_is_counted_as_by_one),
        cmocka_unit_test(any_long_text_is_counted_as_by_one),
        cmocka_unit_test(several_files_are_counted_as_by_one),
        cmocka_unit_test(a_large_text_is_shared_evenly_with_lines_or_without),
        cmocka_unit_test(what_cannot_be_cut_goes_to_one_of_them),
        cmocka_unit_test(the_end_of_a_word_too_long_is_no_word),
        cmocka_unit_test(compressed_files_go_whole_and_are_spread),
        cmocka_unit_test(what_can_be_read_only_once_is_read_by_the_first),
        cmocka_unit_test(rare_words_are_judged_by_their_sum),
        cmocka_unit_test(counts_that_go_to_disk_are_the_same),
        cmocka_unit_test(the_floor_is_the_one_of_a_single_counter),
        cmocka_unit_test(texts_of_their_own_make_one_vocabulary),
        cmocka_unit_test(bad_batches_are_refused),
        cmocka_unit_test(bad_sums_are_refused),
        cmocka_unit_test(those_who_see_different_files_are_told),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
