/* data: clean.c, text.c and words.c, from bytes on disk to words. */
#include "text/text.h"

#include <pthread.h>
#include <setjmp.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include "scratch.h"

#define MIB ((size_t)1 << 20)

static const enum shoal_tokens BOTH[] = {SHOAL_TOKENS_SPACE, SHOAL_TOKENS_WORDS};

/* ---- what the tests read with --------------------------------------------------- */

static struct shoal_vocab_opts reading_opts(enum shoal_tokens tokens)
{
    struct shoal_vocab_opts opts = shoal_vocab_default();

    opts.min_count = 1;
    opts.tokens = tokens;
    return opts;
}

/* Every word followed by a space, every sentence end as "| ". */
static shoal_status read_text(struct text *t, struct bytes *out, struct shoal_text_stats *stats)
{
    struct scanner scan = {0};
    struct block block = {0};
    struct span words[100];
    bool more = true;
    uint64_t seq = 0;
    shoal_status st;

    while ((st = text_next(t, &block, &more)) == SHOAL_OK && more) {
        size_t n;

        assert_int_equal(block.seq, seq++);
        scanner_begin(&scan, &block);
        while ((n = scanner_next(&scan, words, 100)) > 0)
            for (size_t i = 0; i < n; i++) {
                bytes_add(out, words[i].len ? words[i].at : "|", words[i].len ? words[i].len : 1);
                bytes_add(out, " ", 1);
            }
    }
    text_add_scanned(t, &scan);
    block_fini(&block);
    return text_end(t, st, stats);
}

static shoal_status read_paths(const char *const *paths, size_t n,
                               const struct shoal_vocab_opts *opts, struct bytes *out,
                               struct shoal_text_stats *stats)
{
    struct inputs inputs = {0};
    struct text *t = NULL;
    shoal_status st = inputs_expand(&inputs, paths, n);

    out->len = 0;
    *stats = (struct shoal_text_stats){0};
    if (st == SHOAL_OK)
        st = text_open(&t, &inputs, opts, false, "count");
    if (st == SHOAL_OK)
        st = read_text(t, out, stats);
    text_close(t);
    inputs_fini(&inputs);
    bytes_add(out, "", 1);
    return st;
}

static struct shoal_text_stats assert_reads_as(const char *data, size_t len,
                                               enum shoal_tokens tokens, const char *want)
{
    struct shoal_vocab_opts opts = reading_opts(tokens);
    struct shoal_text_stats stats;
    struct bytes got = {0};
    const char *path = scratch_put("text", data, len);

    if (read_paths(&path, 1, &opts, &got, &stats) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    if (strcmp(got.at, want) != 0) {
        size_t i = 0;

        while (got.at[i] == want[i])
            i++;
        i = i < 30 ? 0 : i - 30;
        fail_msg("found ...%.80s, want ...%.80s", got.at + i, want + i);
    }
    bytes_fini(&got);
    return stats;
}

static struct shoal_text_stats assert_bytes_read_as(struct bytes *text, enum shoal_tokens tokens,
                                                    const char *want)
{
    struct shoal_text_stats stats = assert_reads_as(text->at, text->len, tokens, want);

    bytes_fini(text);
    return stats;
}

static struct shoal_text_stats assert_string_reads_as(const char *text, enum shoal_tokens tokens,
                                                      const char *want)
{
    return assert_reads_as(text, strlen(text), tokens, want);
}

/* What a plain reading of the rules gives for text of a-z, spaces, CR and
 * newlines: no blocks, one byte after the other. */
static struct bytes plainly_read(const char *at, size_t len)
{
    struct bytes out = {0};
    bool open = false;
    size_t start = 0;

    for (size_t i = 0; i <= len; i++) {
        if (i < len && (unsigned char)at[i] > ' ')
            continue;
        if (i > start && i - start <= SHOAL_WORD_MAX) {
            bytes_add(&out, at + start, i - start);
            bytes_add(&out, " ", 1);
            open = true;
        }
        if (open && (i == len || at[i] == '\n' || at[i] == '\r')) {
            bytes_add(&out, "| ", 2);
            open = false;
        }
        start = i + 1;
    }
    bytes_add(&out, "", 1);
    return out;
}

static void assert_reads_plainly(const struct bytes *text)
{
    struct bytes want = plainly_read(text->at, text->len);

    for (int i = 0; i < 2; i++)
        assert_reads_as(text->at, text->len, BOTH[i], want.at);
    bytes_fini(&want);
}

/* ---- clean.c ---------------------------------------------------------------------- */

static const struct rules SPACES = {.tokens = SHOAL_TOKENS_SPACE};
static const struct rules WORDS = {.tokens = SHOAL_TOKENS_WORDS};

static size_t encode_utf8(uint32_t code, char *out)
{
    if (code < 0x80)
        return out[0] = (char)code, 1;
    if (code < 0x800)
        return out[0] = (char)(0xc0 | code >> 6), out[1] = (char)(0x80 | (code & 63)), 2;
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 63));
        out[2] = (char)(0x80 | (code & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 63));
    out[2] = (char)(0x80 | (code >> 6 & 63));
    out[3] = (char)(0x80 | (code & 63));
    return 4;
}

static void every_character_but_surrogates_is_utf_8(void **state)
{
    struct block b = {0};
    uint64_t bad = 0;
    size_t first;

    (void)state;
    bytes_reserve(&b.raw, 4 + BLOCK_PAD);
    for (uint32_t code = 0; code < 0x110000; code++) {
        bool surrogate = code >= 0xd800 && code < 0xe000;

        b.raw.len = encode_utf8(code, b.raw.at);
        assert_int_equal(block_make(&b, &SPACES, &first, &bad), SHOAL_OK);
        if (first != (surrogate ? 0 : b.raw.len))
            fail_msg("U+%04X", code);
    }
    assert_int_equal(bad, 0);
    block_fini(&b);
}

static void every_control_character_separates_words(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
        for (uint32_t code = 0; code < 0xa0; code++) {
            char text[16] = "a";
            size_t n = 1 + encode_utf8(code, text + 1);
            struct shoal_text_stats stats;

            if (code >= 0x20 && code < 0x7f)
                continue;
            memcpy(text + n, "b c\n", 4);
            stats = assert_reads_as(text, n + 4, BOTH[k],
                                    code == '\n' || code == '\r' ? "a | b c | " : "a b c | ");
            assert_int_equal(stats.bad_bytes, 0);
        }
}

static void a_bad_byte_is_found_at_every_place(void **state)
{
    static const char *const bad[] = {"\x80",
                                      "\xbf",
                                      "\xc0\xaf",
                                      "\xc1\xbf",
                                      "\xe0\x80\xaf",
                                      "\xed\xa0\x80",
                                      "\xf5",
                                      "\xff",
                                      "\xf4\x90\x80\x80",
                                      "\xf0\x80\x80\x80",
                                      "\xe2\x82",
                                      "\xf0\x9f\x98",
                                      "\x7f",        /* controls that are looked for */
                                      "\xc2\x80",
                                      "\xc2\x9f"};
    char at[128];

    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        for (size_t i = 0; i < 70; i++) {
            memset(at, 'x', sizeof at);
            memcpy(at + i, bad[k], strlen(bad[k]));
            assert_int_equal(clean_find(at, sizeof at), i);
            /* and when the text ends with it */
            assert_int_equal(clean_find(at, i + strlen(bad[k])), i);
            memcpy(at, "\xc3\xa9", 2);
            if (i >= 2)
                assert_int_equal(clean_find(at, sizeof at), i);
        }
    memset(at, 'x', sizeof at);
    assert_int_equal(clean_find(at, sizeof at), sizeof at);
    assert_int_equal(clean_find("", 0), 0);
    assert_int_equal(clean_find("\0\x1f", 2), 2);
    assert_int_equal(clean_find_bad("a\tb\x01", 4), 3);
}

static void assert_cleans_to(const char *in, const char *want)
{
    struct bytes out = {0};

    assert_int_equal(clean_words(in, strlen(in), &WORDS, &out), SHOAL_OK);
    assert_int_equal(out.len, strlen(want));
    assert_memory_equal(out.at, want, out.len);
    assert_true(out.cap >= out.len + BLOCK_PAD);
    bytes_fini(&out);
}

static void words_are_lower_case_letters_and_digits(void **state)
{
    (void)state;
    assert_cleans_to("Hello, World! 42x", "hello  world  42x");
    assert_cleans_to("ÄÖÜ ΑΒΓ ЖЩ", "äöü αβγ жщ");
    assert_cleans_to("don't snake_case e-mail", "don t snake case e mail");
    assert_cleans_to("a\tb\r\nc\vd\fe", "a b\n\nc d e");
    assert_cleans_to("٣٤ Ⅷ ½", "٣٤ ⅷ ½");
    assert_cleans_to("日本語。中文", "日本語 中文");
    assert_cleans_to("x—y…z €5", "x y z  5");
    assert_cleans_to("😀a😀", " a ");
    assert_cleans_to("\xc2\xa0"
                     "a\xe3\x80\x80"
                     "b\xe2\x80\xa8"
                     "c",
                     " a b c");
    assert_cleans_to("", "");
}

static void a_character_may_grow_when_lower_cased(void **state)
{
    struct bytes in = {0}, out = {0};

    (void)state;
    assert_cleans_to("Ⱥ", "ⱥ");            /* two bytes, three */
    assert_cleans_to("\xe2\x84\xaa", "k"); /* the Kelvin sign: three bytes, one */
    text_add_many(&in, "Ⱥ", 100000);
    assert_int_equal(clean_words(in.at, in.len, &WORDS, &out), SHOAL_OK);
    assert_int_equal(out.len, 300000);
    for (size_t i = 0; i < out.len; i += 3)
        assert_memory_equal(out.at + i, "ⱥ", 3);
    bytes_fini(&in);
    bytes_fini(&out);
}

static void no_character_outgrows_the_room_that_is_kept_for_it(void **state)
{
    struct bytes out = {0};

    (void)state;
    for (uint32_t code = 1; code < 0x110000; code++) {
        char at[4];
        size_t len = encode_utf8(code, at);

        if (code >= 0xd800 && code < 0xe000)
            continue;
        assert_int_equal(clean_words(at, len, &WORDS, &out), SHOAL_OK);
        if (out.len > len + len / 2 || clean_find(out.at, out.len) != out.len)
            fail_msg("U+%04X became %zu bytes", code, out.len);
    }
    bytes_fini(&out);
}

static void a_mark_carries_a_word_on_but_begins_none(void **state)
{
    (void)state;
    assert_cleans_to("E\xcc\x81"
                     "A",
                     "e\xcc\x81"
                     "a");
    assert_cleans_to("\xcc\x81"
                     "a",
                     " a");
    assert_cleans_to("a \xcc\x81\xcc\x81 b", "a    b");
    assert_cleans_to("a\n\xcc\x81", "a\n ");
    assert_cleans_to("हिन्दी", "हिन्दी");
}

static void breaks_are_where_words_end(void **state)
{
    (void)state;
    assert_int_equal(clean_last_break("ab cd", 5, &SPACES), 3);
    assert_int_equal(clean_last_break("ab cd ", 6, &SPACES), 6);
    assert_int_equal(clean_last_break("abcd", 4, &SPACES), 0);
    assert_int_equal(clean_last_break("ab-cd", 5, &SPACES), 0);
    assert_int_equal(clean_last_break("ab-cd", 5, &WORDS), 3);
    assert_int_equal(clean_last_break("ab—cd", 7, &WORDS), 5);
    assert_int_equal(clean_last_break("ab—cd", clean_whole("ab—cd", 4), &WORDS), 0); /* half a dash */
    assert_int_equal(clean_last_break("ab\x7f" "cd", 5, &SPACES), 3);
    assert_int_equal(clean_last_break("ab\xc2\x85" "cd", 6, &SPACES), 4);
    assert_int_equal(clean_last_break("ab\x80" "cd", 5, &SPACES), 3);
    assert_int_equal(clean_last_break("ab\x80" "cd", 5, &(struct rules){.bad = SHOAL_BAD_KEEP}), 0);
    assert_int_equal(clean_last_line("a\rb\nc", 5), 4);
    assert_int_equal(clean_last_line("a\nb\rc", 5), 4);
    assert_int_equal(clean_last_line("abc", 3), 0);
    assert_int_equal(clean_last_break("é", 2, &WORDS), 0);
    assert_int_equal(clean_first_break("ab cd ", 6, &SPACES), 2);
    assert_int_equal(clean_first_break("ab—cd", 7, &WORDS), 2);
    assert_int_equal(clean_first_break("abcd", 4, &WORDS), 4);
    assert_int_equal(clean_first_break("", 0, &WORDS), 0);
}

/* ---- short texts -------------------------------------------------------------------- */

static void white_space_separates_and_newlines_end_sentences(void **state)
{
    struct shoal_text_stats stats;

    (void)state;
    stats = assert_string_reads_as("the cat\tsat\non_the mat.\n", SHOAL_TOKENS_SPACE,
                                   "the cat sat | on_the mat. | ");
    assert_int_equal(stats.words, 5);
    assert_int_equal(stats.sentences, 2);
    assert_int_equal(stats.bytes, 24);
    assert_int_equal(stats.files, 1);
    assert_int_equal(stats.bad_bytes + stats.long_words, 0);
    assert_string_reads_as("The CAT sat\nOn_the mat.\n", SHOAL_TOKENS_WORDS,
                           "the cat sat | on the mat | ");
    assert_string_reads_as("Ünï ß日", SHOAL_TOKENS_SPACE, "Ünï ß日 | ");
}

static void a_carriage_return_ends_a_line_and_with_a_newline_one_line(void **state)
{
    struct shoal_text_stats stats;

    (void)state;
    for (int i = 0; i < 2; i++) {
        stats = assert_string_reads_as("a b\r\nc\r\n\r\nd\re\r\n", BOTH[i], "a b | c | d | e | ");
        assert_int_equal(stats.sentences, 4);
        stats = assert_string_reads_as("one two\rthree\r\rfour", BOTH[i],
                                       "one two | three | four | ");
        assert_int_equal(stats.sentences, 3);
    }
}

static void a_byte_order_mark_is_no_text(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_string_reads_as("\xef\xbb\xbf"
                               "a b\n",
                               BOTH[i], "a b | ");
        assert_string_reads_as("\xef\xbb\xbf", BOTH[i], "");
    }
    assert_string_reads_as("a \xef\xbb\xbf"
                           "b\n",
                           SHOAL_TOKENS_SPACE,
                           "a \xef\xbb\xbf"
                           "b | ");
}

static void the_last_line_needs_no_newline(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_string_reads_as("a\nb", BOTH[i], "a | b | ");
        assert_string_reads_as("a\nb ", BOTH[i], "a | b | ");
        assert_string_reads_as("a\nb\n ", BOTH[i], "a | b | ");
    }
}

static void empty_lines_are_no_sentences(void **state)
{
    struct shoal_text_stats stats;

    (void)state;
    for (int i = 0; i < 2; i++) {
        stats = assert_string_reads_as("\n\n  \na\n\n \t \n\nb\n\n", BOTH[i], "a | b | ");
        assert_int_equal(stats.sentences, 2);
        stats = assert_string_reads_as("\n \n", BOTH[i], "");
        assert_int_equal(stats.sentences + stats.words, 0);
        assert_string_reads_as("", BOTH[i], "");
    }
    assert_string_reads_as("--\na\n--\n", SHOAL_TOKENS_WORDS, "a | ");
}

/* ---- edges of groups and blocks ------------------------------------------------------- */

static void words_are_whole_across_every_group_of_64_bytes(void **state)
{
    struct bytes text = {0};

    (void)state;
    for (size_t lead = 0; lead < 66; lead++) {
        for (size_t i = 0; i < lead; i++)
            text_add_str(&text, i % 2 ? "\n" : "x");
        for (size_t len = 60; len < 68; len++) {
            text_add_many(&text, "w", len);
            text_add_str(&text, len % 3 ? " " : "\n");
        }
        text_add_many(&text, "w", 64);
        assert_reads_plainly(&text);
        text.len = 0;
    }
    bytes_fini(&text);
}

static void texts_of_every_length_up_to_130_are_read_whole(void **state)
{
    struct bytes text = {0};
    struct rng rng = {.seed = 7};

    (void)state;
    for (size_t len = 0; len < 130; len++) {
        text.len = 0;
        for (size_t i = 0; i < len; i++)
            bytes_add(&text, &"ab \nc"[rng_below(&rng, 5)], 1);
        if (len > 0)
            assert_reads_plainly(&text);
    }
    bytes_fini(&text);
}

static void many_words_pass_through_the_smallest_list_of_spans(void **state)
{
    struct block block = {.last = true};
    struct scanner scan = {0};
    struct span words[SPANS_MIN];
    struct bytes text = {0};
    size_t n, seen = 0;

    (void)state;
    text_add_many(&text, "a\n", 320);
    text_add_str(&text, "b");
    block.len = text.len;
    bytes_reserve(&text, BLOCK_PAD);
    block.text = text.at;
    scanner_begin(&scan, &block);
    while ((n = scanner_next(&scan, words, SPANS_MIN)) > 0) {
        assert_in_range(n, 1, SPANS_MIN);
        seen += n;
    }
    assert_int_equal(seen, 2 * 321);
    assert_int_equal(scan.words, 321);
    assert_int_equal(scan.sentences, 321);
    bytes_fini(&text);
}

/* `lead` bytes of short words, with or without newlines, up to the edge. */
static void add_lead(struct bytes *text, size_t lead, const char *word)
{
    text_add_many(text, word, (lead - text->len) / strlen(word));
    text_add_many(text, "y", lead - text->len);
}

static void words_are_whole_across_the_edges_of_blocks(void **state)
{
    static const char *const leads[] = {
        "manylongwordsmakethistestquick cd\n", "manylongwordsmakethistestquick cd ",
        "manylongwordsmakethistestquick cd\r", "manylongwordsmakethistestquick cd\r\n"};

    (void)state;
    for (int k = 0; k < 4; k++)
        for (size_t edge = MIB - 2; edge <= MIB + 2; edge++) {
            struct bytes text = {0};

            add_lead(&text, edge, leads[k]);
            text_add_str(&text, k == 2 ? " atthevery edge\rof it " : " atthevery edge\nof it ");
            add_lead(&text, MIB + 5000, leads[k]);
            text_add_str(&text, "here");
            if (edge % 2)
                text_add_str(&text, "\nand there");
            assert_reads_plainly(&text);
            bytes_fini(&text);
        }
}

static void a_text_of_exactly_one_block_is_read_whole(void **state)
{
    (void)state;
    for (size_t len = MIB - 1; len <= MIB + 1; len++) {
        struct bytes text = {0};

        add_lead(&text, len, "abc defdefdefdefdefdefdefdefdefdefdef\n");
        assert_reads_plainly(&text);
        bytes_fini(&text);
    }
}

static void characters_are_whole_across_the_edges_of_blocks(void **state)
{
    static const char *const chars[] = {"é", "日", "😀", "e\xcc\x81", "—"};

    (void)state;
    for (size_t k = 0; k < 5; k++)
        for (size_t back = 1; back < 4; back++) {
            struct bytes text = {0}, want = {0};
            const char *c = chars[k];
            bool splits = k >= 3 + 1 || k == 2;

            /* One line without an end before the edge. */
            add_lead(&text, MIB - back - 1, "abcdefghijklmnopqrstuvwxyzabcdefghijklm ");
            text.at[text.len - 1] = 'z';
            text_add_str(&text, " ");
            text_add_many(&text, c, 3);
            text_add_str(&text, "z end");
            bytes_add(&want, text.at, text.len);
            bytes_add(&want, " | ", 4);
            assert_reads_as(text.at, text.len, SHOAL_TOKENS_SPACE, want.at);
            if (splits) {
                want.len = MIB - back;
                text_add_str(&want, "z end | ");
                bytes_add(&want, "", 1);
            }
            assert_reads_as(text.at, text.len, SHOAL_TOKENS_WORDS, want.at);
            bytes_fini(&text);
            bytes_fini(&want);
        }
}

static void random_text_of_any_line_length_reads_plainly(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct rng rng = {.seed = seed};
        struct bytes text = {0};

        while (text.len < 3 * MIB + 12345) {
            text_add_many(&text, "w",
                          rng_below(&rng, 4) ? rng_below(&rng, 60)
                                             : rng_below(&rng, seed ? 80 : 140000));
            text_add_str(&text, rng_below(&rng, seed == 1 ? 1000000 : 20) ? " "
                                : rng_below(&rng, 3)                      ? "\n"
                                                                          : "\r");
        }
        assert_reads_plainly(&text);
        bytes_fini(&text);
    }
}

/* ---- long words ------------------------------------------------------------------------- */

static void a_word_of_65535_bytes_is_kept_and_a_longer_one_left_out(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
        for (size_t len = 65535; len <= 65537; len++) {
            struct bytes text = {0}, want = {0};
            struct shoal_text_stats stats;

            text_add_str(&text, "a ");
            text_add_many(&text, "w", len);
            text_add_str(&text, " b\n");
            text_add_many(&text, "w", len);
            text_add_str(&want, "a ");
            if (len == 65535)
                text_add_many(&want, "w", len), text_add_str(&want, " ");
            text_add_str(&want, "b | ");
            if (len == 65535)
                text_add_many(&want, "w", len), text_add_str(&want, " | ");
            bytes_add(&want, "", 1);
            stats = assert_bytes_read_as(&text, BOTH[k], want.at);
            assert_int_equal(stats.long_words, len == 65535 ? 0 : 2);
            assert_int_equal(stats.words, len == 65535 ? 4 : 2);
            assert_int_equal(stats.sentences, len == 65535 ? 2 : 1);
            bytes_fini(&want);
        }
}

static void a_word_of_5_million_bytes_is_counted_and_the_rest_kept(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct bytes text = {0};
        struct shoal_text_stats stats;

        text_add_str(&text, "before ");
        text_add_many(&text, "wwwwwwwwww", 500000);
        text_add_str(&text, " after\nnext ");
        text_add_many(&text, "xxxxxxxxxx", 500000);
        text_add_str(&text, "\nlast\n");
        text_add_many(&text, "yyyyyyyyyy", 500000);
        stats = assert_bytes_read_as(&text, BOTH[k], "before after | next | last | ");
        assert_int_equal(stats.long_words, 3);
        assert_int_equal(stats.words, 4);
        assert_int_equal(stats.sentences, 3);
    }
}

static void a_long_word_of_any_characters_is_text(void **state)
{
    static const char *const chars[] = {"é", "日", "e\xcc\x81", "\xf0\x90\x90\x80"};

    (void)state;
    for (int k = 0; k < 2; k++)
        for (size_t c = 0; c < 4; c++)
            for (size_t lead = 1; lead < 4; lead++) {
                struct bytes text = {0};
                struct shoal_text_stats stats;

                text_add_many(&text, "a", lead);
                text_add_many(&text, chars[c], (MIB + 9999) / strlen(chars[c]));
                text_add_str(&text, " b\n");
                stats = assert_bytes_read_as(&text, BOTH[k], "b | ");
                assert_int_equal(stats.long_words, 1);
            }
}

static void a_text_without_white_space_is_one_long_word(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
        for (size_t len = 3 * MIB - 1; len <= 3 * MIB + 1; len++) {
            struct bytes text = {0};
            struct shoal_text_stats stats;

            text_add_many(&text, "w", len);
            stats = assert_bytes_read_as(&text, BOTH[k], "");
            assert_int_equal(stats.long_words, 1);
            assert_int_equal(stats.words + stats.sentences, 0);
            assert_int_equal(stats.bytes, len);
        }
}

static void an_endless_line_without_a_word_is_no_sentence(void **state)
{
    static const char *const fillers[] = {" ", "-", "\t", "—"};

    (void)state;
    for (size_t f = 0; f < 4; f++)
        for (int k = 0; k < 2; k++) {
            struct bytes text = {0};
            struct shoal_text_stats stats;

            if (k == 0 && f % 2) /* to white space a dash is a word */
                continue;
            text_add_str(&text, "a\n");
            text_add_many(&text, fillers[f], 3 * MIB / strlen(fillers[f]));
            text_add_str(&text, "\nb\n");
            stats = assert_bytes_read_as(&text, BOTH[k], "a | b | ");
            assert_int_equal(stats.sentences, 2);
        }
}

static void a_line_of_only_a_long_word_is_no_sentence(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct bytes text = {0};
        struct shoal_text_stats stats;

        text_add_many(&text, "w", 70000);
        text_add_many(&text, " ", 2 * MIB);
        text_add_str(&text, "\nb\n");
        text_add_many(&text, "w", 2 * MIB);
        text_add_many(&text, " ", 2 * MIB);
        text_add_str(&text, "\nc");
        stats = assert_bytes_read_as(&text, BOTH[k], "b | c | ");
        assert_int_equal(stats.long_words, 2);
        assert_int_equal(stats.sentences, 2);
    }
}

/* ---- bad bytes ---------------------------------------------------------------------------- */

static void assert_refused_at(const char *const *paths, size_t n, enum shoal_tokens tokens,
                              unsigned threads, const char *path, unsigned byte, size_t offset)
{
    struct shoal_vocab_opts opts = reading_opts(tokens);
    shoal_vocab *vocab = (shoal_vocab *)&opts;
    char want[256];
    const char *found;

    opts.threads = threads;
    assert_int_equal(shoal_vocab_build(&vocab, paths, n, &opts, NULL), SHOAL_EFORMAT);
    assert_null(vocab);
    assert_memory_equal(shoal_error(), path, strlen(path));
    found = shoal_error() + strlen(path);
    assert_int_equal(*found, ':');
    found += 1 + strspn(found + 1, "0123456789"); /* the line */
    snprintf(want, sizeof want, ": byte 0x%02x at offset %zu is not UTF-8: ", byte, offset);
    assert_memory_equal(found, want, strlen(want));
    assert_non_null(strstr(found, "--bad-bytes space"));
}

static void the_first_bad_byte_is_refused_with_its_offset(void **state)
{
    static const size_t places[] = {0,       1,   15,      16,          63,      64,         1000,
                                    MIB - 1, MIB, MIB + 1, 2 * MIB - 1, 2 * MIB, 3 * MIB - 1};
    static const char bad[] = "\xc0\xc2\xf5\x80\xff\xc3\xe2";
    struct bytes text = {0};

    (void)state;
    add_lead(&text, 3 * MIB, "somewordsinlines that-are-not-many-lest-it-takes-long\n");
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (int k = 0; k < 2; k++) {
            char was = text.at[places[i]], c = bad[i % (sizeof bad - 1)];
            const char *path;

            text.at[places[i]] = c;
            path = scratch_put("bad", text.at, text.len);
            text.at[places[i]] = was;
            assert_refused_at(&path, 1, BOTH[k], k ? 4 : 1, path, (unsigned char)c, places[i]);
        }
    bytes_fini(&text);
}

static void of_many_bad_bytes_the_first_is_named_for_any_threads(void **state)
{
    struct bytes text = {0};
    const char *path;

    (void)state;
    add_lead(&text, 8 * MIB, "somewordsinlines that-are-not-many-lest-it-takes-long\n");
    for (size_t at = 100000 + MIB; at < text.len; at += 300001)
        text.at[at] = '\xfe';
    text.at[100000 + MIB] = '\x97';
    path = scratch_put("bad", text.at, text.len);
    for (unsigned threads = 1; threads <= 8; threads++)
        for (int again = 0; again < 3; again++)
            assert_refused_at(&path, 1, SHOAL_TOKENS_SPACE, threads, path, 0x97, 100000 + MIB);
    bytes_fini(&text);
}

static void a_bad_byte_of_the_second_file_is_told_with_its_name(void **state)
{
    const char *paths[3];
    struct bytes text = {0};

    (void)state;
    add_lead(&text, MIB + 500, "words\n");
    paths[0] = scratch_put("fine", text.at, text.len);
    text.at[MIB + 100] = '\x92';
    paths[1] = scratch_put("second", text.at, text.len);
    paths[2] = scratch_put("third", "\xff", 1);
    for (unsigned threads = 1; threads <= 5; threads++)
        assert_refused_at(paths, 3, SHOAL_TOKENS_SPACE, threads, paths[1], 0x92, MIB + 100);
    bytes_fini(&text);
}

static void a_byte_order_mark_counts_in_the_offset(void **state)
{
    const char *path = scratch_put("bad",
                                   "\xef\xbb\xbf"
                                   "ab\xff",
                                   6);

    (void)state;
    assert_refused_at(&path, 1, SHOAL_TOKENS_SPACE, 1, path, 0xff, 5);
}

static void a_bad_byte_within_a_long_word_is_refused_with_its_offset(void **state)
{
    static const size_t places[] = {0, MIB - 1, MIB, 2 * MIB};

    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (int k = 0; k < 2; k++) {
            struct bytes text = {0};
            const char *path;

            text_add_str(&text, "a ");
            text_add_many(&text, "w", 2 * MIB + 1);
            text.at[2 + places[i]] = '\x80';
            text_add_str(&text, " \xff b");
            path = scratch_put("bad", text.at, text.len);
            assert_refused_at(&path, 1, BOTH[k], 1, path, 0x80, 2 + places[i]);
            assert_refused_at(&path, 1, BOTH[k], 3, path, 0x80, 2 + places[i]);
            bytes_fini(&text);
        }
}

static void bad_bytes_may_be_read_as_spaces(void **state)
{
    static const char data[] = "a\0b \xff\xfe c\xc3\nd\xe2\x82\xc3\xa9\x1b"
                               "e";
    struct shoal_text_stats stats;
    struct bytes got = {0};
    const char *path = scratch_put("bad", data, sizeof data - 1);

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct shoal_vocab_opts opts = reading_opts(BOTH[k]);

        opts.bad_bytes = SHOAL_BAD_SPACE;
        assert_int_equal(read_paths(&path, 1, &opts, &got, &stats), SHOAL_OK);
        assert_string_equal(got.at, "a b c | d é e | ");
        assert_int_equal(stats.bad_bytes, 5); /* 0x00 and 0x1b are control bytes */
        assert_int_equal(stats.bytes, sizeof data - 1);
    }
    bytes_fini(&got);
}

static void bad_bytes_read_as_spaces_separate_the_words_of_an_endless_line(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
        for (size_t tail = MIB; tail < 3 * MIB; tail += MIB - 1) {
            struct shoal_vocab_opts opts = reading_opts(BOTH[k]);
            struct shoal_text_stats stats;
            struct bytes text = {0}, got = {0};
            const char *path;

            opts.bad_bytes = SHOAL_BAD_SPACE;
            text_add_str(&text, "short\xff");
            text_add_many(&text, "w", tail);
            text_add_str(&text, "\xff\x80tiny\xff");
            text_add_many(&text, "w", tail);
            text_add_str(&text, "\xfe\nz");
            path = scratch_put("bad", text.at, text.len);
            assert_int_equal(read_paths(&path, 1, &opts, &got, &stats), SHOAL_OK);
            assert_string_equal(got.at, "short tiny | z | ");
            assert_int_equal(stats.long_words, 2);
            assert_int_equal(stats.bad_bytes, 5);
            assert_int_equal(stats.words, 3);
            bytes_fini(&text);
            bytes_fini(&got);
        }
}

/* ---- inputs of many kinds -------------------------------------------------------------------- */

static void a_compressed_text_equals_the_plain_one(void **state)
{
    struct bytes text = {0}, packed = {0}, want, got = {0};
    struct shoal_vocab_opts opts = reading_opts(SHOAL_TOKENS_SPACE);
    struct shoal_text_stats stats;
    const char *path = scratch_path("text.any");
    gzFile gz;
    size_t n;

    (void)state;
    add_lead(&text, 2 * MIB + 17, "compress me-well-for-there-is-much-of-me-to-be-read\n");
    want = plainly_read(text.at, text.len);
    gz = gzopen(path, "wb1");
    assert_int_equal(gzwrite(gz, text.at, (unsigned)text.len), text.len);
    gzclose(gz);
    assert_int_equal(read_paths(&path, 1, &opts, &got, &stats), SHOAL_OK);
    assert_string_equal(got.at, want.at);
    assert_int_equal(stats.bytes, text.len);

    bytes_reserve(&packed, ZSTD_compressBound(text.len));
    n = ZSTD_compress(packed.at, packed.cap, text.at, text.len, 1);
    path = scratch_put("text.any", packed.at, n);
    assert_int_equal(read_paths(&path, 1, &opts, &got, &stats), SHOAL_OK);
    assert_string_equal(got.at, want.at);
    /* Cut short it is no text at all. */
    path = scratch_put("text.any", packed.at, n - 5);
    assert_int_equal(read_paths(&path, 1, &opts, &got, &stats), SHOAL_EFORMAT);
    bytes_fini(&text);
    bytes_fini(&packed);
    bytes_fini(&want);
    bytes_fini(&got);
}

static void a_byte_within_compressed_text_is_told_by_its_place_in_the_text(void **state)
{
    struct bytes text = {0};
    const char *path = scratch_path("bad.gz");
    gzFile gz = gzopen(path, "wb1");

    (void)state;
    add_lead(&text, 2 * MIB, "compress me-well-for-there-is-much-of-me-to-be-read\n");
    text.at[MIB + 77] = '\x85';
    gzwrite(gz, text.at, (unsigned)text.len);
    gzclose(gz);
    assert_refused_at(&path, 1, SHOAL_TOKENS_SPACE, 2, path, 0x85, MIB + 77);
    bytes_fini(&text);
}

static void many_files_equal_their_lines_joined(void **state)
{
    static const char *const parts[] = {"a b",
                                        "\xef\xbb\xbf\143\n", /* c */
                                        "",
                                        "\n\n",
                                        "d\ne ",
                                        " f"};
    struct shoal_vocab_opts opts = reading_opts(SHOAL_TOKENS_SPACE);
    struct shoal_text_stats stats;
    struct bytes got = {0};
    const char *paths[6];

    (void)state;
    for (size_t i = 0; i < 6; i++)
        paths[i] = scratch_put((char[]){'p', (char)('0' + i), 0}, parts[i], strlen(parts[i]));
    assert_int_equal(read_paths(paths, 6, &opts, &got, &stats), SHOAL_OK);
    assert_string_equal(got.at, "a b | c | d | e | f | ");
    assert_int_equal(stats.files, 6);
    assert_int_equal(stats.sentences, 5);
    bytes_fini(&got);
}

struct feed {
    const char *path, *data;
    size_t len;
};

static void *feed_fifo(void *arg)
{
    const struct feed *f = arg;
    FILE *out = fopen(f->path, "wb");

    if (out) {
        fwrite(f->data, 1, f->len, out);
        fclose(out);
    }
    return NULL;
}

static void a_pipe_among_files_can_be_read_again(void **state)
{
    struct shoal_vocab_opts opts = reading_opts(SHOAL_TOKENS_SPACE);
    const char *paths[] = {scratch_put("one", "a b", 3), scratch_path("pipe"),
                           scratch_put("two", "c d\n", 4)};
    struct bytes text = {0}, once = {0}, twice = {0};
    struct shoal_text_stats stats, again;
    struct inputs inputs;
    struct text *t;
    pthread_t writer;

    (void)state;
    add_lead(&text, 2 * MIB + 99, "through a pipe\n");
    opts.tmp_dir = scratch_dir;
    assert_int_equal(mkfifo(paths[1], 0600), 0);
    pthread_create(&writer, NULL, feed_fifo, &(struct feed){paths[1], text.at, text.len});
    assert_int_equal(inputs_expand(&inputs, paths, 3), SHOAL_OK);
    assert_int_equal(text_open(&t, &inputs, &opts, true, "count"), SHOAL_OK);
    assert_int_equal(read_text(t, &once, &stats), SHOAL_OK);
    pthread_join(writer, NULL);
    unlink(paths[1]);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(text_rewind(t, "encode"), SHOAL_OK);
        twice.len = 0;
        assert_int_equal(read_text(t, &twice, &again), SHOAL_OK);
        assert_int_equal(once.len, twice.len);
        assert_memory_equal(once.at, twice.at, once.len);
        assert_memory_equal(&stats, &again, sizeof stats);
    }
    text_close(t);
    inputs_fini(&inputs);
    bytes_fini(&text);
    bytes_fini(&once);
    bytes_fini(&twice);
}

static void a_file_that_changes_between_two_readings_fails(void **state)
{
    struct shoal_vocab_opts opts = reading_opts(SHOAL_TOKENS_SPACE);
    const char *path = scratch_put("changing", "a b\n", 4);
    struct shoal_text_stats stats;
    struct bytes got = {0};
    struct inputs inputs;
    struct text *t;

    (void)state;
    assert_int_equal(inputs_expand(&inputs, &path, 1), SHOAL_OK);
    assert_int_equal(text_open(&t, &inputs, &opts, true, "count"), SHOAL_OK);
    assert_int_equal(read_text(t, &got, &stats), SHOAL_OK);
    scratch_put("changing", "a b c\n", 6);
    assert_int_equal(text_rewind(t, "encode"), SHOAL_OK);
    assert_int_equal(read_text(t, &got, &stats), SHOAL_EIO);
    assert_non_null(strstr(shoal_error(), "4 bytes when first read, 6 now"));
    text_close(t);
    inputs_fini(&inputs);
    bytes_fini(&got);
}

static bool never(void *user, const struct shoal_progress *progress)
{
    ++*(int *)user;
    assert_string_equal(progress->unit, "bytes");
    return false;
}

static void a_watcher_may_stop_the_reading(void **state)
{
    struct shoal_vocab_opts opts = reading_opts(SHOAL_TOKENS_SPACE);
    const char *path = scratch_put("text", "a b\n", 4);
    shoal_vocab *vocab;
    int calls = 0;

    (void)state;
    opts.watch = (struct shoal_watch){never, &calls};
    for (opts.threads = 1; opts.threads < 4; opts.threads++)
        assert_int_equal(shoal_vocab_build(&vocab, &path, 1, &opts, NULL), SHOAL_ESTOP);
    assert_in_range(calls, 3, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character_but_surrogates_is_utf_8),
        cmocka_unit_test(every_control_character_separates_words),
        cmocka_unit_test(a_bad_byte_is_found_at_every_place),
        cmocka_unit_test(words_are_lower_case_letters_and_digits),
        cmocka_unit_test(a_character_may_grow_when_lower_cased),
        cmocka_unit_test(no_character_outgrows_the_room_that_is_kept_for_it),
        cmocka_unit_test(a_mark_carries_a_word_on_but_begins_none),
        cmocka_unit_test(breaks_are_where_words_end),
        cmocka_unit_test(white_space_separates_and_newlines_end_sentences),
        cmocka_unit_test(a_carriage_return_ends_a_line_and_with_a_newline_one_line),
        cmocka_unit_test(a_byte_order_mark_is_no_text),
        cmocka_unit_test(the_last_line_needs_no_newline),
        cmocka_unit_test(empty_lines_are_no_sentences),
        cmocka_unit_test(words_are_whole_across_every_group_of_64_bytes),
        cmocka_unit_test(texts_of_every_length_up_to_130_are_read_whole),
        cmocka_unit_test(many_words_pass_through_the_smallest_list_of_spans),
        cmocka_unit_test(words_are_whole_across_the_edges_of_blocks),
        cmocka_unit_test(a_text_of_exactly_one_block_is_read_whole),
        cmocka_unit_test(characters_are_whole_across_the_edges_of_blocks),
        cmocka_unit_test(random_text_of_any_line_length_reads_plainly),
        cmocka_unit_test(a_word_of_65535_bytes_is_kept_and_a_longer_one_left_out),
        cmocka_unit_test(a_word_of_5_million_bytes_is_counted_and_the_rest_kept),
        cmocka_unit_test(a_long_word_of_any_characters_is_text),
        cmocka_unit_test(a_text_without_white_space_is_one_long_word),
        cmocka_unit_test(an_endless_line_without_a_word_is_no_sentence),
        cmocka_unit_test(a_line_of_only_a_long_word_is_no_sentence),
        cmocka_unit_test(the_first_bad_byte_is_refused_with_its_offset),
        cmocka_unit_test(of_many_bad_bytes_the_first_is_named_for_any_threads),
        cmocka_unit_test(a_bad_byte_of_the_second_file_is_told_with_its_name),
        cmocka_unit_test(a_byte_order_mark_counts_in_the_offset),
        cmocka_unit_test(a_bad_byte_within_a_long_word_is_refused_with_its_offset),
        cmocka_unit_test(bad_bytes_may_be_read_as_spaces),
        cmocka_unit_test(bad_bytes_read_as_spaces_separate_the_words_of_an_endless_line),
        cmocka_unit_test(a_compressed_text_equals_the_plain_one),
        cmocka_unit_test(a_byte_within_compressed_text_is_told_by_its_place_in_the_text),
        cmocka_unit_test(many_files_equal_their_lines_joined),
        cmocka_unit_test(a_pipe_among_files_can_be_read_again),
        cmocka_unit_test(a_file_that_changes_between_two_readings_fails),
        cmocka_unit_test(a_watcher_may_stop_the_reading),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
