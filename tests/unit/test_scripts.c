/* text: decode.c and segment.c, text of other encodings, scripts and emoji; and bytes that are not
 * UTF-8, each way. */
#include "text/text.h"

#include <setjmp.h>
#include <stdlib.h>

#include "scratch.h"

#define MIB ((size_t)1 << 20)

/* ---- what the tests read with ------------------------------------------------------- */

static struct shoal_vocab_opts reading(enum shoal_tokens tokens)
{
    struct shoal_vocab_opts opts = shoal_vocab_default();

    opts.min_count = 1;
    opts.memory = (uint64_t)1 << 24;
    opts.tokens = tokens;
    return opts;
}

/* Adds the words of each block in its order: every one with a space, sentence ends as "| ". */
static shoal_status gather(void *ctx, void *state, unsigned thread, struct scanner *scan,
                           const struct block *b)
{
    struct bytes *out = state;
    struct span words[100];
    size_t n;

    (void)ctx, (void)thread, (void)b;
    out->len = 0;
    while ((n = scanner_next(scan, words, 100)) > 0)
        for (size_t i = 0; i < n; i++) {
            bytes_add(out, words[i].len ? words[i].at : "|", words[i].len ? words[i].len : 1);
            bytes_add(out, " ", 1);
        }
    return SHOAL_OK;
}

static shoal_status append(void *ctx, void *state, unsigned thread)
{
    const struct bytes *block = state;

    (void)thread;
    return bytes_add(ctx, block->at, block->len);
}

static void words_fini(void *state)
{
    bytes_fini(state);
}

static shoal_status read_with(const char *path, const struct shoal_vocab_opts *opts,
                              unsigned threads, struct bytes *out, struct shoal_text_stats *stats)
{
    static const struct text_work work = {sizeof(struct bytes), gather, append, words_fini};
    struct inputs inputs = {0};
    struct text *t = NULL;
    shoal_status st = inputs_expand(&inputs, &path, 1);

    out->len = 0;
    *stats = (struct shoal_text_stats){0};
    if (st == SHOAL_OK)
        st = text_open(&t, &inputs, opts, false, "count");
    if (st == SHOAL_OK)
        st = text_run(t, threads, &work, out, stats);
    text_close(t);
    inputs_fini(&inputs);
    bytes_add(out, "", 1);
    return st;
}

/* The same for 1, 2 and 3 threads. */
static struct shoal_text_stats assert_reads(const char *data, size_t len,
                                            const struct shoal_vocab_opts *opts, const char *want)
{
    const char *path = scratch_put("text", data, len);
    struct shoal_text_stats stats, first = {0};
    struct bytes got = {0};

    for (unsigned threads = 1; threads <= 3; threads++) {
        if (read_with(path, opts, threads, &got, &stats) != SHOAL_OK)
            fail_msg("%s", shoal_error());
        if (strcmp(got.at, want) != 0) {
            size_t i = 0;

            while (got.at[i] == want[i])
                i++;
            i = i < 30 ? 0 : i - 30;
            fail_msg("%u threads: found ...%.80s, want ...%.80s", threads, got.at + i, want + i);
        }
        first = threads == 1 ? stats : first;
        assert_memory_equal(&stats, &first, sizeof stats);
    }
    bytes_fini(&got);
    return stats;
}

static struct shoal_text_stats assert_text_reads(const char *text, enum shoal_tokens tokens,
                                                 bool emoji, const char *want)
{
    struct shoal_vocab_opts opts = reading(tokens);

    opts.emoji = emoji;
    return assert_reads(text, strlen(text), &opts, want);
}

/* Fails with a sentence that begins with the path. */
static void assert_refused(const char *data, size_t len, const struct shoal_vocab_opts *opts,
                           const char *want)
{
    const char *path = scratch_put("text", data, len);
    struct shoal_text_stats stats;
    struct bytes got = {0};

    for (unsigned threads = 1; threads <= 3; threads++) {
        assert_int_equal(read_with(path, opts, threads, &got, &stats), SHOAL_EFORMAT);
        assert_memory_equal(shoal_error(), path, strlen(path));
        assert_string_equal(shoal_error() + strlen(path), want);
    }
    bytes_fini(&got);
}

/* ---- bytes that are not UTF-8 -------------------------------------------------------- */

static void bad_bytes_are_spaces_replaced_or_kept(void **state)
{
    /* 0xff; half of a euro sign; a euro sign's first byte; all of one */
    static const char text[] = "a\xff"
                               "b \xe2\x82"
                               "X\xe2 \xe2\x82\xac\n\xf0\x9f\x98\n";
    static const struct {
        enum shoal_tokens tokens;
        enum shoal_bad_bytes bad;
        const char *want;
    } ways[] = {
        {SHOAL_TOKENS_SPACE, SHOAL_BAD_SPACE, "a b X € | "},
        {SHOAL_TOKENS_SPACE, SHOAL_BAD_REPLACE, "a\ufffdb \ufffdX\ufffd € | \ufffd | "},
        {SHOAL_TOKENS_SPACE, SHOAL_BAD_KEEP,
         "a\xff"
         "b \xe2\x82X\xe2 € | \xf0\x9f\x98 | "},
        {SHOAL_TOKENS_WORDS, SHOAL_BAD_SPACE, "a b x | "},
        {SHOAL_TOKENS_WORDS, SHOAL_BAD_REPLACE, "a\ufffdb \ufffdx\ufffd | \ufffd | "},
        {SHOAL_TOKENS_WORDS, SHOAL_BAD_KEEP,
         "a\xff"
         "b \xe2\x82x\xe2 | \xf0\x9f\x98 | "},
        {SHOAL_TOKENS_CHARS, SHOAL_BAD_REPLACE, "a\ufffdb \ufffdx\ufffd | \ufffd | "},
        {SHOAL_TOKENS_BIGRAMS, SHOAL_BAD_KEEP,
         "a\xff"
         "b \xe2\x82x\xe2 | \xf0\x9f\x98 | "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct shoal_vocab_opts opts = reading(ways[i].tokens);
        struct shoal_text_stats stats;

        opts.bad_bytes = ways[i].bad;
        stats = assert_reads(text, sizeof text - 1, &opts, ways[i].want);
        assert_int_equal(stats.bad_bytes, 7);
    }
}

static void u_fffd_of_the_text_is_a_letter_only_where_bytes_are_replaced(void **state)
{
    struct shoal_vocab_opts opts = reading(SHOAL_TOKENS_WORDS);

    (void)state;
    assert_reads("a\ufffdb", 5, &opts, "a b | ");
    opts.bad_bytes = SHOAL_BAD_REPLACE;
    assert_reads("a\ufffdb", 5, &opts, "a\ufffdb | ");
}

/* Bytes for which a block ends within: each of the last bytes of a block is one of a broken or a
 * whole character, in a line without an end. */
static void bad_bytes_read_alike_at_every_edge_of_a_block(void **state)
{
    static const char tail[] = "\xe2\x82\xe2\x82\xac\xf0\x9f\x98\x80\xff\xc3";

    (void)state;
    for (int bad = 1; bad <= 3; bad++)
        for (size_t back = 0; back < sizeof tail; back++) {
            struct shoal_vocab_opts opts = reading(SHOAL_TOKENS_SPACE);
            struct bytes text = {0}, want = {0};
            struct shoal_text_stats stats;

            opts.bad_bytes = (enum shoal_bad_bytes)bad;
            text_add_many(&text, "12345678901234567890123456789 ", (MIB - back) / 30 - 1);
            text_add_many(&text, "w", MIB - back - text.len - 1);
            text_add_str(&text, " ");
            bytes_add(&want, text.at, text.len);
            bytes_add(&text, tail, sizeof tail - 1);
            text_add_str(&text, "z end");
            if (bad == SHOAL_BAD_KEEP)
                bytes_add(&want, tail, sizeof tail - 1);
            text_add_str(&want, bad == SHOAL_BAD_REPLACE ? "\ufffd€😀\ufffd\ufffdz end | "
                                : bad == SHOAL_BAD_KEEP  ? "z end | "
                                                         : "€😀 z end | ");
            bytes_add(&want, "", 1);
            stats = assert_reads(text.at, text.len, &opts, want.at);
            assert_int_equal(stats.bad_bytes, 4);
            bytes_fini(&text);
            bytes_fini(&want);
        }
}

static void bad_bytes_of_a_long_word_are_counted_once(void **state)
{
    (void)state;
    for (int bad = SHOAL_BAD_REPLACE; bad <= SHOAL_BAD_KEEP; bad++)
        for (int tokens = 0; tokens < 4; tokens++) {
            struct shoal_vocab_opts opts = reading((enum shoal_tokens)tokens);
            struct bytes text = {0};
            struct shoal_text_stats stats;

            opts.bad_bytes = (enum shoal_bad_bytes)bad;
            text_add_str(&text, "a ");
            text_add_many(&text, "wwwwwww\xff", MIB / 4);
            text_add_str(&text, " b\n");
            stats = assert_reads(text.at, text.len, &opts, "a b | ");
            assert_int_equal(stats.long_words, 1);
            assert_int_equal(stats.bad_bytes, MIB / 4);
            bytes_fini(&text);
        }
}

static void the_line_and_the_way_out_are_named(void **state)
{
    struct shoal_vocab_opts opts = reading(SHOAL_TOKENS_SPACE);

    (void)state;
    assert_refused("one\r\ntwo\rthree\n caf\xe9 d\xe9j\xe0\n", 26, &opts,
                   ":4: byte 0xe9 at offset 19 is not UTF-8: it looks like Windows-1252 (Latin-1), "
                   "which --encoding windows-1252 reads; --bad-bytes space reads such bytes as "
                   "spaces");
    assert_refused("\xcf\xf0\xe8\xe2\xe5\xf2 \xec\xe8\xf0\n", 11, &opts,
                   ":1: byte 0xcf at offset 0 is not UTF-8: convert it to UTF-8, or read such bytes "
                   "as spaces by --bad-bytes space");
    assert_refused("\u00e9t\u00e9 d\u00e9j\u00e0 vu\nbut \xff\n", 22, &opts,
                   ":2: byte 0xff at offset 20 is not UTF-8: --bad-bytes space reads such bytes as "
                   "spaces, replace as U+FFFD, keep as they are");
}

static void a_line_end_across_two_blocks_counts_once(void **state)
{
    struct shoal_vocab_opts opts = reading(SHOAL_TOKENS_SPACE);
    struct bytes text = {0};

    (void)state;
    text_add_many(&text, "w ", MIB / 2 - 1);
    text_add_str(&text, "w\r\nb\xff\n");
    assert_refused(text.at, text.len, &opts,
                   ":2: byte 0xff at offset 1048578 is not UTF-8: convert it to UTF-8, or read such "
                   "bytes as spaces by --bad-bytes space");
    bytes_fini(&text);
}

/* ---- other encodings ------------------------------------------------------------------- */

/* Text of codes below 0x10000 and pairs, as UTF-16 has it. */
static struct bytes utf16(const char *text, bool big, bool mark)
{
    struct bytes b = {0};
    const char *end = text + strlen(text);

    if (mark)
        bytes_add(&b, big ? "\xfe\xff" : "\xff\xfe", 2);
    while (text < end) {
        uint32_t code = clean_next(&text, end);
        uint32_t units[2] = {code, 0};

        if (code >= 0x10000) {
            units[0] = 0xd800 + ((code - 0x10000) >> 10);
            units[1] = 0xdc00 + (code & 0x3ff);
        }
        for (int i = 0; i < 1 + (code >= 0x10000); i++) {
            char pair[2] = {(char)(units[i] >> (big ? 8 : 0)), (char)(units[i] >> (big ? 0 : 8))};

            bytes_add(&b, pair, 2);
        }
    }
    return b;
}

static void utf_16_is_recognised_and_offered(void **state)
{
    static const char *const texts[] = {"the cat sat on the mat\n", "кот сидит на ковре\n"};

    (void)state;
    for (int k = 0; k < 8; k++) {
        struct shoal_vocab_opts opts = reading(SHOAL_TOKENS_SPACE);
        struct bytes b = utf16(texts[k / 4], k & 1, k & 2);
        char want[200], words[100];

        snprintf(want, sizeof want,
                 ": looks like UTF-16 (%s-endian) by its %s, not UTF-8: --encoding utf-16 reads it",
                 k & 1 ? "big" : "little", k & 2 ? "mark" : "zero bytes");
        assert_refused(b.at, b.len, &opts, want);
        snprintf(words, sizeof words, "%.*s | ", (int)strlen(texts[k / 4]) - 1, texts[k / 4]);
        opts.encoding = SHOAL_ENCODING_UTF16;
        assert_reads(b.at, b.len, &opts, words);
        opts.encoding = SHOAL_ENCODING_AUTO;
        assert_reads(b.at, b.len, &opts, words);
        bytes_fini(&b);
    }
}

static void utf_32_is_refused(void **state)
{
    struct shoal_vocab_opts opts = reading(SHOAL_TOKENS_SPACE);

    (void)state;
    for (int k = 0; k < 3; k++) {
        opts.encoding = k == 0   ? SHOAL_ENCODING_UTF8
                        : k == 1 ? SHOAL_ENCODING_AUTO
                                 : SHOAL_ENCODING_UTF16;
        assert_refused("\xff\xfe\0\0a\0\0\0", 8, &opts,
                       ": UTF-32 by its mark, which is not read: convert it to UTF-8");
    }
}

static void control_bytes_do_not_make_utf_16(void **state)
{
    struct shoal_vocab_opts opts = reading(SHOAL_TOKENS_SPACE);

    (void)state;
    assert_reads("one\0two\0six\0ten\0", 16, &opts, "one two six ten | ");
    assert_reads("a\0b\0c\n", 6, &opts, "a b c | ");
    opts.encoding = SHOAL_ENCODING_AUTO;
    assert_reads("one\0two\0six\0ten\0", 16, &opts, "one two six ten | ");
}

static void what_is_no_utf_16_is_refused_as_such(void **state)
{
    struct shoal_vocab_opts opts = reading(SHOAL_TOKENS_SPACE);

    (void)state;
    opts.encoding = SHOAL_ENCODING_UTF16;
    assert_refused("plain text\n", 11, &opts,
                   ": neither a mark nor its zero bytes say which UTF-16 it is, want text in "
                   "UTF-16");
    assert_reads("", 0, &opts, "");
}

static void half_a_character_of_utf_16_is_no_text(void **state)
{
    static const char lone[] = "\xff\xfe"
                               "a\0\n\0b\0\x3d\xd8"
                               "c\0";
    static const char cut[] = "\xff\xfe"
                              "a\0b";
    struct shoal_vocab_opts opts = reading(SHOAL_TOKENS_SPACE);

    (void)state;
    opts.encoding = SHOAL_ENCODING_UTF16;
    assert_refused(lone, sizeof lone - 1, &opts,
                   ":2: unit 0xd83d of UTF-16 is half of a pair without the other: --bad-bytes "
                   "space reads it as a space");
    assert_refused(cut, sizeof cut - 1, &opts,
                   ":1: ends with half of a unit of UTF-16: --bad-bytes space reads it as a space");
    opts.bad_bytes = SHOAL_BAD_SPACE;
    assert_reads(lone, sizeof lone - 1, &opts, "a | b c | ");
    assert_reads(cut, sizeof cut - 1, &opts, "a | ");
}

static void every_byte_of_windows_1252_is_its_character(void **state)
{
    struct shoal_vocab_opts opts = reading(SHOAL_TOKENS_SPACE);

    (void)state;
    opts.encoding = SHOAL_ENCODING_WINDOWS_1252;
    assert_reads("\x80\x82\x83\x84\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8e", 13, &opts,
                 "€‚ƒ„…†‡ˆ‰Š‹ŒŽ | ");
    assert_reads("\x91\x92\x93\x94\x95\x96\x97\x98\x99\x9a\x9b\x9c\x9e\x9f", 14, &opts,
                 "‘’“”•–—˜™š›œžŸ | ");
    assert_reads("a\x81"
                 "b\x8d"
                 "c\x8f"
                 "d\x90"
                 "e\x9d"
                 "f",
                 11, &opts, "a b c d e f | ");
    assert_reads("\xa1\xbf\xc0\xe9\xff", 5, &opts, "¡¿Àéÿ | ");
    opts.encoding = SHOAL_ENCODING_LATIN1;
    assert_reads("caf\xe9\x80"
                 "d\xe9j\xe0",
                 9, &opts, "café déjà | ");
    opts.tokens = SHOAL_TOKENS_WORDS;
    assert_reads("CAF\xc9!", 5, &opts, "café | ");
}

static void auto_tells_encodings_apart(void **state)
{
    struct shoal_vocab_opts opts = reading(SHOAL_TOKENS_SPACE);

    (void)state;
    opts.encoding = SHOAL_ENCODING_AUTO;
    assert_reads("caf\xe9 d\xe9j\xe0 \x93vu\x94\n", 15, &opts, "café déjà “vu” | ");
    assert_reads("café déjà\n", 12, &opts, "café déjà | ");
    assert_reads("\xef\xbb\xbf"
                 "café\n",
                 9, &opts, "café | ");
    assert_reads("plain\n", 6, &opts, "plain | ");
    /* no guess for what is neither */
    assert_refused("\xcf\xf0\xe8\xe2\xe5\xf2 \xec\xe8\xf0\n", 11, &opts,
                   ":1: byte 0xcf at offset 0 is not UTF-8: convert it to UTF-8, or read such bytes "
                   "as spaces by --bad-bytes space");
}

/* A character whose bytes the first megabyte cuts is no sign of another encoding. */
static void a_character_at_the_edge_of_the_look_is_no_other_encoding(void **state)
{
    struct shoal_vocab_opts opts = reading(SHOAL_TOKENS_SPACE);
    struct bytes text = {0}, want = {0};

    (void)state;
    opts.encoding = SHOAL_ENCODING_AUTO;
    text_add_many(&text, "a ", MIB / 2 - 1);
    text_add_str(&text, "x");
    bytes_add(&want, text.at, text.len);
    text_add_str(&text, "é\n");
    text_add_str(&want, "é | ");
    bytes_add(&want, "", 1);
    assert_reads(text.at, text.len, &opts, want.at);
    bytes_fini(&text);
    bytes_fini(&want);
}

static void decoded_text_equals_its_utf_8_over_every_block(void **state)
{
    struct bytes text = {0}, want = {0}, one = {0};
    struct shoal_vocab_opts opts = reading(SHOAL_TOKENS_WORDS);

    (void)state;
    for (size_t i = 0; text.len < 3 * MIB; i++) {
        bytes_print(&text, "Zeile %zu: Straße, déjà vu\r\n", i);
        bytes_print(&want, "zeile %zu straße déjà vu | ", i);
    }
    bytes_add(&text, "", 1);
    bytes_add(&want, "", 1);
    for (const char *at = text.at, *end = at + text.len - 1; at < end;)
        bytes_add(&one, &(char){(char)clean_next(&at, end)}, 1);
    opts.encoding = SHOAL_ENCODING_LATIN1;
    assert_reads(one.at, one.len, &opts, want.at);
    opts.encoding = SHOAL_ENCODING_AUTO;
    assert_reads(one.at, one.len, &opts, want.at);
    for (int k = 0; k < 4; k++) {
        struct bytes two = utf16(text.at, k & 1, k & 2);

        assert_reads(two.at, two.len, &opts, want.at);
        bytes_fini(&two);
    }
    bytes_fini(&text);
    bytes_fini(&want);
    bytes_fini(&one);
}

/* ---- characters and pairs --------------------------------------------------------------- */

static void chars_are_words_and_runs_of_letters_stay(void **state)
{
    (void)state;
    assert_text_reads("我爱北京。Go语言 2024年", SHOAL_TOKENS_CHARS, false,
                      "我 爱 北 京 go 语 言 2024 年 | ");
    assert_text_reads("私はTokyoタワー", SHOAL_TOKENS_CHARS, false, "私 は tokyo タ ワ ー | ");
    assert_text_reads("한국 사람", SHOAL_TOKENS_CHARS, false, "한 국 사 람 | ");
    assert_text_reads("ສະບາຍ", SHOAL_TOKENS_CHARS, false, "ສ ະ ບ າ ຍ | ");
    assert_text_reads("ខ្មែរ", SHOAL_TOKENS_CHARS, false, "ខ្ មែ រ | ");
    assert_text_reads("မြန်မာ", SHOAL_TOKENS_CHARS, false, "မြ န် မာ | ");
    assert_text_reads("Привет МИР", SHOAL_TOKENS_CHARS, false, "привет мир | ");
    assert_text_reads("々〇ｶﾞ𠀀", SHOAL_TOKENS_CHARS, false, "々 〇 ｶﾞ 𠀀 | ");
}

static void marks_and_digits_of_a_script_stay_together(void **state)
{
    (void)state;
    assert_text_reads("สวัสดี ๒๕๖๗ปี", SHOAL_TOKENS_CHARS, false, "ส วั ส ดี ๒๕๖๗ ปี | ");
    assert_text_reads("น้ำ", SHOAL_TOKENS_CHARS, false, "น้ำ | ");
    /* a syllable of Hangul in its letters is one character too */
    assert_text_reads("\u1112\u1161\u11ab\u1100\u116e\u11a8", SHOAL_TOKENS_CHARS, false,
                      "\u1112\u1161\u11ab \u1100\u116e\u11a8 | ");
}

static void bigrams_overlap_and_a_lone_character_is_a_word(void **state)
{
    (void)state;
    assert_text_reads("我爱北京", SHOAL_TOKENS_BIGRAMS, false, "我爱 爱北 北京 | ");
    assert_text_reads("我爱。我", SHOAL_TOKENS_BIGRAMS, false, "我爱 我 | ");
    assert_text_reads("学Go语言的人", SHOAL_TOKENS_BIGRAMS, false, "学 go 语言 言的 的人 | ");
    assert_text_reads("我\n爱", SHOAL_TOKENS_BIGRAMS, false, "我 | 爱 | ");
    assert_text_reads("a我b", SHOAL_TOKENS_BIGRAMS, false, "a 我 b | ");
    assert_text_reads("สวัส", SHOAL_TOKENS_BIGRAMS, false, "สวั วัส | ");
    assert_text_reads("Plain words, 12", SHOAL_TOKENS_BIGRAMS, false, "plain words 12 | ");
}

/* One line of nothing but characters, longer than a block. */
static void endless_text_without_spaces_is_cut_over_every_block(void **state)
{
    static const char *const chars[] = {"我", "爱", "北", "𠀀", "วั"};
    struct rng rng = {.seed = 3};
    struct bytes text = {0}, want[2] = {{0}, {0}};
    const char *before = NULL;
    uint64_t words[2] = {0};

    (void)state;
    while (text.len < 3 * MIB) {
        const char *c = chars[rng_below(&rng, 5)];
        bool latin = rng_below(&rng, 50000) == 0;

        text_add_str(&text, c);
        text_add_str(&want[0], c);
        text_add_str(&want[0], " ");
        words[0]++;
        if (before) {
            text_add_str(&want[1], before);
            text_add_str(&want[1], c);
            text_add_str(&want[1], " ");
            words[1]++;
        }
        before = c;
        if (latin && words[1] > 0 && text.len > 100) {
            text_add_str(&text, "x我爱");
            text_add_str(&want[0], "x 我 爱 ");
            text_add_str(&want[1], "x 我爱 ");
            words[0] += 3;
            words[1] += 2;
            before = "爱";
        }
    }
    for (int i = 0; i < 2; i++) {
        struct shoal_vocab_opts opts = reading(i ? SHOAL_TOKENS_BIGRAMS : SHOAL_TOKENS_CHARS);
        struct shoal_text_stats stats;

        text_add_str(&want[i], "| ");
        bytes_add(&want[i], "", 1);
        stats = assert_reads(text.at, text.len, &opts, want[i].at);
        assert_int_equal(stats.words, words[i]);
        assert_int_equal(stats.long_words, 0);
        bytes_fini(&want[i]);
    }
    bytes_fini(&text);
}

static void a_long_word_between_characters_is_left_out_alone(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct shoal_vocab_opts opts = reading(i ? SHOAL_TOKENS_BIGRAMS : SHOAL_TOKENS_CHARS);
        struct bytes text = {0};
        struct shoal_text_stats stats;

        text_add_str(&text, "我爱");
        text_add_many(&text, "w", 3 * MIB);
        text_add_str(&text, "北京\n");
        stats = assert_reads(text.at, text.len, &opts, i ? "我爱 北京 | " : "我 爱 北 京 | ");
        assert_int_equal(stats.long_words, 1);
        bytes_fini(&text);
    }
}

static void text_that_nobody_segmented_is_told(void **state)
{
    static const char *const told[] = {
        "今天的天气非常好我们去公园散步吧\n大家都很高兴因为终于放假了\n",
        "กรุงเทพมหานครเป็นเมืองหลวงและนครที่มีประชากรมากที่สุด\n",
        "吾輩は猫である名前はまだ無いどこで生れたかとんと見当がつかぬ\n",
    };
    static const char *const fine[] = {
        "今天 的 天气 非常 好 我们 去 公园 散步 吧\n大家 都 很 高兴 因为 终于 放假 了\n",
        "กรุงเทพ เป็น เมือง หลวง และ นคร ที่ มี ประชากร มาก ที่สุด\n",
        "한국어는 한국에서 쓰는 말이며 띄어쓰기를 합니다 대한민국임시정부수립기념일\n",
        "only a name: 中华人民共和国中央人民政府 among many words of English text, which say that "
        "it is a long one, and which are many more\n",
        "The cat sat on the mat and looked at all of the other cats\n",
        "我爱你\n",
    };

    (void)state;
    for (int tokens = 0; tokens < 4; tokens++) {
        struct rules r = {.tokens = (enum shoal_tokens)tokens};

        for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
            uint64_t found = segment_unspaced(told[i], strlen(told[i]), &r);

            if (tokens < 2)
                assert_in_range(found, 10, 60);
            else
                assert_int_equal(found, 0);
        }
        for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
            assert_int_equal(segment_unspaced(fine[i], strlen(fine[i]), &r), 0);
    }
}

static void the_first_input_says_whether_text_is_segmented(void **state)
{
    struct shoal_vocab_opts opts = reading(SHOAL_TOKENS_SPACE);
    struct shoal_text_stats stats;
    shoal_vocab *v = NULL;
    struct bytes text = {0}, lines = {0};
    const char *path;
    char want[300];

    (void)state;
    text_add_many(&text, "我爱北京天安门天安门上太阳升\n", 50);
    text_add_many(&lines, "我爱北京天安门天安门上太阳升 | ", 50);
    bytes_add(&lines, "", 1);
    stats = assert_reads(text.at, text.len, &opts, lines.at);
    assert_int_equal(stats.unspaced, 14);
    opts.tokens = SHOAL_TOKENS_BIGRAMS;
    path = scratch_put("text", text.at, text.len);
    assert_int_equal(shoal_vocab_build(&v, &path, 1, &opts, NULL), SHOAL_OK);
    assert_int_equal(shoal_vocab_count(v, shoal_vocab_find(v, "天安", 6)), 100);
    assert_int_equal(shoal_vocab_tokens(v), SHOAL_TOKENS_BIGRAMS);
    shoal_vocab_free(v);
    /* and where there is not one word, how to get some */
    text.len = 0;
    text_add_many(&text, "我爱北京", 100000);
    path = scratch_put("text", text.at, text.len);
    opts.tokens = SHOAL_TOKENS_SPACE;
    assert_int_equal(shoal_vocab_build(&v, &path, 1, &opts, NULL), SHOAL_EINVAL);
    snprintf(want, sizeof want,
             "%s: no word of 65535 bytes or less in 1200000 bytes without spaces: --tokens chars or "
             "--tokens bigrams cuts them",
             path);
    assert_string_equal(shoal_error(), want);
    bytes_fini(&text);
    bytes_fini(&lines);
}

/* ---- emoji -------------------------------------------------------------------------------- */

static void emoji_are_words_when_asked_for(void **state)
{
    static const char text[] = "Nice😀👍🏽job!❤️ ☀ ok";

    (void)state;
    assert_text_reads(text, SHOAL_TOKENS_WORDS, false, "nice job ok | ");
    assert_text_reads(text, SHOAL_TOKENS_WORDS, true, "nice 😀 👍🏽 job ❤️ ☀ ok | ");
    assert_text_reads(text, SHOAL_TOKENS_SPACE, true, "Nice😀👍🏽job!❤️ ☀ ok | ");
    assert_text_reads("好👍你", SHOAL_TOKENS_CHARS, true, "好 👍 你 | ");
    assert_text_reads("你好👍你", SHOAL_TOKENS_BIGRAMS, true, "你好 👍 你 | ");
}

static void a_sequence_of_emoji_is_one_word(void **state)
{
    (void)state;
    assert_text_reads("x👨‍👩‍👧‍👦y", SHOAL_TOKENS_WORDS, true, "x 👨‍👩‍👧‍👦 y | ");      /* family */
    assert_text_reads("👩🏽‍🚀👩🏽‍🚀", SHOAL_TOKENS_WORDS, true, "👩🏽‍🚀 👩🏽‍🚀 | "); /* skin tone, job */
    assert_text_reads("🏳️‍🌈🏴‍☠️", SHOAL_TOKENS_WORDS, true, "🏳️‍🌈 🏴‍☠️ | ");
    assert_text_reads("🇩🇪🇫🇷🇩", SHOAL_TOKENS_WORDS, true, "🇩🇪 🇫🇷 | "); /* flags; half of one */
    assert_text_reads("🏴󠁧󠁢󠁥󠁮󠁧󠁿", SHOAL_TOKENS_WORDS, true, "🏴󠁧󠁢󠁥󠁮󠁧󠁿 | ");      /* England */
    assert_text_reads("call 1️⃣2️⃣ #️⃣*️⃣ a1️⃣", SHOAL_TOKENS_WORDS, true, "call 1️⃣ 2️⃣ #️⃣ *️⃣ a 1️⃣ | ");
    assert_text_reads("#1 *2", SHOAL_TOKENS_WORDS, true, "1 2 | ");
}

static void signs_of_text_are_no_emoji_unless_asked_for(void **state)
{
    (void)state;
    assert_text_reads("a© b™ c↔d", SHOAL_TOKENS_WORDS, true, "a b c d | ");
    assert_text_reads("a©️ b™️ ↔️", SHOAL_TOKENS_WORDS, true, "a ©️ b ™️ ↔️ | ");
    assert_text_reads("☀\ufe0e x", SHOAL_TOKENS_WORDS, true, "x | "); /* asks for text */
    assert_text_reads("日〰本", SHOAL_TOKENS_WORDS, true, "日 本 | ");
}

static void emoji_are_whole_across_the_edges_of_blocks(void **state)
{
    static const char *const emoji[] = {"👨‍👩‍👧‍👦", "🇩🇪", "1️⃣", "👍🏽", "❤️"};

    (void)state;
    for (size_t k = 0; k < 5; k++)
        for (size_t back = 1; back < 26; back += 3) {
            struct shoal_vocab_opts opts = reading(SHOAL_TOKENS_WORDS);
            struct bytes text = {0}, want = {0};

            opts.emoji = true;
            text_add_many(&text, "abcdefghijklmnopqrstuvwxyz012 ", (MIB - back) / 30 - 1);
            text_add_many(&text, "y", MIB - back - text.len - 1);
            text_add_str(&text, k % 2 ? "z" : " ");
            bytes_add(&want, text.at, text.len);
            if (k % 2)
                text_add_str(&want, " ");
            for (int i = 0; i < 3; i++) {
                text_add_str(&text, emoji[k]);
                text_add_str(&want, emoji[k]);
                text_add_str(&want, " ");
            }
            text_add_str(&text, "end");
            text_add_str(&want, "end | ");
            bytes_add(&want, "", 1);
            assert_reads(text.at, text.len, &opts, want.at);
            bytes_fini(&text);
            bytes_fini(&want);
        }
}

static void endless_emoji_are_cut_over_every_block(void **state)
{
    struct shoal_vocab_opts opts = reading(SHOAL_TOKENS_WORDS);
    struct bytes text = {0}, want = {0};

    (void)state;
    opts.emoji = true;
    text_add_many(&text, "👩🏽‍🚀😀ok", 2 * MIB / 23);
    text_add_many(&want, "👩🏽‍🚀 😀 ok ", 2 * MIB / 23);
    text_add_str(&want, "| ");
    bytes_add(&want, "", 1);
    assert_reads(text.at, text.len, &opts, want.at);
    bytes_fini(&text);
    bytes_fini(&want);
}

/* ---- what files remember --------------------------------------------------------------------- */

static void a_corpus_remembers_how_its_text_became_words(void **state)
{
    const char *in = scratch_put("text", "我爱北京👍\n", 17), *out = scratch_path("corpus");

    (void)state;
    for (int tokens = 0; tokens < 4; tokens++) {
        struct shoal_encode_opts opts = shoal_encode_default();
        shoal_corpus *c = NULL;
        struct rules r;

        opts.vocab = reading((enum shoal_tokens)tokens);
        opts.vocab.emoji = true;
        opts.vocab.bad_bytes = SHOAL_BAD_KEEP;
        assert_int_equal(shoal_encode(out, &in, 1, &opts, NULL), SHOAL_OK);
        assert_int_equal(shoal_corpus_open(&c, out), SHOAL_OK);
        assert_int_equal(shoal_vocab_tokens(shoal_corpus_vocab(c)), tokens);
        r = vocab_rules(shoal_corpus_vocab(c));
        assert_int_equal(r.emoji, tokens > 0); /* without rules nothing is stored */
        assert_int_equal(r.bad, tokens > 0 ? SHOAL_BAD_KEEP : SHOAL_BAD_REFUSE);
        shoal_corpus_close(c);
    }
}

static void a_corpus_of_a_given_vocabulary_remembers_its_own_text(void **state)
{
    const char *in = scratch_put("text", "北京\n", 7), *out = scratch_path("corpus");
    struct shoal_encode_opts opts = shoal_encode_default();
    shoal_vocab *v = NULL;
    shoal_corpus *c = NULL;

    (void)state;
    assert_int_equal(shoal_vocab_read_memory(&v, &(struct shoal_memory){"v", "北 9\n", 6}),
                     SHOAL_OK);
    assert_int_equal(shoal_vocab_tokens(v), SHOAL_TOKENS_SPACE);
    opts.vocab = reading(SHOAL_TOKENS_CHARS);
    opts.given = v;
    assert_int_equal(shoal_encode(out, &in, 1, &opts, NULL), SHOAL_OK);
    assert_int_equal(shoal_corpus_open(&c, out), SHOAL_OK);
    assert_int_equal(shoal_vocab_tokens(shoal_corpus_vocab(c)), SHOAL_TOKENS_CHARS);
    shoal_corpus_close(c);
    shoal_vocab_free(v);
}

static void rules_that_are_not_known_are_refused(void **state)
{
    static const struct rules odd[] = {
        {.tokens = (enum shoal_tokens)4},
        {.tokens = SHOAL_TOKENS_WORDS, .bad = (enum shoal_bad_bytes)4}};
    const char *path = scratch_path("corpus");
    shoal_vocab *v = NULL, *back = NULL;
    char want[300];

    (void)state;
    assert_int_equal(shoal_vocab_read_memory(&v, &(struct shoal_memory){"v", "a 9\n", 4}),
                     SHOAL_OK);
    for (size_t i = 0; i < 2; i++) {
        struct container_writer *w = NULL;
        struct container *c = NULL;

        assert_int_equal(container_create(&w, path), SHOAL_OK);
        assert_int_equal(vocab_save_with(v, &odd[i], w), SHOAL_OK);
        assert_int_equal(container_commit(w), SHOAL_OK);
        assert_int_equal(container_map(&c, path), SHOAL_OK);
        assert_int_equal(vocab_load(&back, c), SHOAL_EFORMAT);
        assert_null(back);
        snprintf(want, sizeof want,
                 "%s: its text became words in a way that is not known, want `vocab.tokens` of 3 "
                 "numbers from 0 to 3",
                 path);
        assert_string_equal(shoal_error(), want);
        container_close(c);
    }
    shoal_vocab_free(v);
}

static void the_words_of_a_text_in_memory_are_those_of_a_file(void **state)
{
    static const struct rules r = {.tokens = SHOAL_TOKENS_BIGRAMS, .emoji = true};
    static const char *const want[] = {"你好", "世", "big", "👍", "a", "b"};
    struct span *words;
    struct block b;
    size_t n;

    (void)state;
    assert_int_equal(text_words("你好,世\nBig👍 a\xff" "b", 22, &r, &b, &words, &n), SHOAL_OK);
    assert_int_equal(n, 6);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(words[i].len, strlen(want[i]));
        assert_memory_equal(words[i].at, want[i], words[i].len);
    }
    free(words);
    block_fini(&b);
    assert_int_equal(text_words("", 0, &r, &b, &words, &n), SHOAL_OK);
    assert_int_equal(n, 0);
    free(words);
    block_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_bytes_are_spaces_replaced_or_kept),
        cmocka_unit_test(u_fffd_of_the_text_is_a_letter_only_where_bytes_are_replaced),
        cmocka_unit_test(bad_bytes_read_alike_at_every_edge_of_a_block),
        cmocka_unit_test(bad_bytes_of_a_long_word_are_counted_once),
        cmocka_unit_test(the_line_and_the_way_out_are_named),
        cmocka_unit_test(a_line_end_across_two_blocks_counts_once),
        cmocka_unit_test(utf_16_is_recognised_and_offered),
        cmocka_unit_test(utf_32_is_refused),
        cmocka_unit_test(control_bytes_do_not_make_utf_16),
        cmocka_unit_test(what_is_no_utf_16_is_refused_as_such),
        cmocka_unit_test(half_a_character_of_utf_16_is_no_text),
        cmocka_unit_test(every_byte_of_windows_1252_is_its_character),
        cmocka_unit_test(auto_tells_encodings_apart),
        cmocka_unit_test(a_character_at_the_edge_of_the_look_is_no_other_encoding),
        cmocka_unit_test(decoded_text_equals_its_utf_8_over_every_block),
        cmocka_unit_test(chars_are_words_and_runs_of_letters_stay),
        cmocka_unit_test(marks_and_digits_of_a_script_stay_together),
        cmocka_unit_test(bigrams_overlap_and_a_lone_character_is_a_word),
        cmocka_unit_test(endless_text_without_spaces_is_cut_over_every_block),
        cmocka_unit_test(a_long_word_between_characters_is_left_out_alone),
        cmocka_unit_test(text_that_nobody_segmented_is_told),
        cmocka_unit_test(the_first_input_says_whether_text_is_segmented),
        cmocka_unit_test(emoji_are_words_when_asked_for),
        cmocka_unit_test(a_sequence_of_emoji_is_one_word),
        cmocka_unit_test(signs_of_text_are_no_emoji_unless_asked_for),
        cmocka_unit_test(emoji_are_whole_across_the_edges_of_blocks),
        cmocka_unit_test(endless_emoji_are_cut_over_every_block),
        cmocka_unit_test(a_corpus_remembers_how_its_text_became_words),
        cmocka_unit_test(a_corpus_of_a_given_vocabulary_remembers_its_own_text),
        cmocka_unit_test(rules_that_are_not_known_are_refused),
        cmocka_unit_test(the_words_of_a_text_in_memory_are_those_of_a_file),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
