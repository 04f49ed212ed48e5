/* file: bzip2.c, xz.c, and which files are decompressed; test_file.c has gzip and zstd. */
#include "file/file.h"

#include <bzlib.h>
#include <lzma.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "folder.h"

static struct bytes bz_of(const char *text, size_t len)
{
    struct bytes b = {0};
    unsigned room = (unsigned)(len + len / 50 + 1000);

    assert_int_equal(bytes_reserve(&b, room), SHOAL_OK);
    assert_int_equal(
        BZ2_bzBuffToBuffCompress(b.at, &room, (char *)(uintptr_t)text, (unsigned)len, 9, 0, 0),
        BZ_OK);
    b.len = room;
    return b;
}

static struct bytes xz_of(const char *text, size_t len)
{
    struct bytes b = {0};

    assert_int_equal(bytes_reserve(&b, lzma_stream_buffer_bound(len)), SHOAL_OK);
    assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, (const uint8_t *)text, len,
                                             (uint8_t *)b.at, &b.len, b.cap),
                     LZMA_OK);
    return b;
}

static const struct way {
    const char *name;
    struct bytes (*pack)(const char *text, size_t len);
    size_t least; /* bytes that tell it from text */
} ways[] = {{"bzip2", bz_of, 5}, {"xz", xz_of, 2}};

#define WAYS (sizeof ways / sizeof *ways)

static void bytes_join(struct bytes *a, struct bytes b)
{
    assert_int_equal(bytes_add(a, b.at, b.len), SHOAL_OK);
    bytes_fini(&b);
}

/* Reads a file in pieces of `step` and wants exactly text. */
static void assert_stream(const char *path, const char *text, size_t len, size_t step)
{
    char *buf = malloc(step);
    struct stream *s;
    size_t at = 0, got;

    assert_int_equal(stream_open(&s, path), SHOAL_OK);
    do {
        assert_int_equal(stream_read(s, buf, step, &got), SHOAL_OK);
        assert_true(got <= len - at);
        assert_memory_equal(buf, text + at, got);
        at += got;
    } while (got == step);
    assert_int_equal(at, len);
    stream_close(s);
    free(buf);
}

static shoal_status read_through(const char *path)
{
    char *all;
    size_t len;
    shoal_status st = stream_slurp(&all, &len, path, SIZE_MAX);

    free(all);
    return st;
}

static void bzip2_and_xz_are_recognised_whatever_their_name(void **state)
{
    const size_t lens[] = {0, 1, 1000, 2000000};
    char *text = make_text(2000000);

    (void)state;
    for (const struct way *w = ways; w < ways + WAYS; w++)
        for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
            struct bytes b = w->pack(text, lens[i]);

            put_file("x.txt", b.at, b.len);
            assert_stream("x.txt", text, lens[i], 1 << 20);
            assert_stream("x.txt", text, lens[i], 4099);
            if (lens[i] < 100000)
                assert_stream("x.txt", text, lens[i], 1);
            bytes_fini(&b);
        }
    free(text);
}

static void text_that_begins_like_bzip2_stays_text(void **state)
{
    static const char *const texts[] = {
        "B", "BZ",  "BZh", "BZh9", "BZh9\n", "BZh01AY&SY", "BZh91AY is no magic",
        "P", "P*M", "(",   "1\n"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put_text("x", texts[i]);
        assert_stream("x", texts[i], strlen(texts[i]), 100);
        assert_false(bytes_compressed(texts[i], strlen(texts[i])));
    }
}

static void joined_streams_are_one_text(void **state)
{
    (void)state;
    for (const struct way *w = ways; w < ways + WAYS; w++) {
        struct bytes b = w->pack("one ", 4);

        bytes_join(&b, w->pack("", 0));
        bytes_join(&b, w->pack("two", 3));
        put_file("x", b.at, b.len);
        assert_stream("x", "one two", 7, 100);
        assert_stream("x", "one two", 7, 1);
        bytes_fini(&b);
    }
}

static void zeros_in_fours_are_padding_between_and_behind_xz_streams(void **state)
{
    struct bytes b = xz_of("one ", 4);

    (void)state;
    assert_int_equal(bytes_add(&b, "\0\0\0\0", 4), SHOAL_OK);
    bytes_join(&b, xz_of("two", 3));
    assert_int_equal(bytes_add(&b, "\0\0\0\0\0\0\0\0", 8), SHOAL_OK);
    put_file("x", b.at, b.len);
    assert_stream("x", "one two", 7, 100);
    put_file("x", b.at, b.len - 1);
    assert_int_equal(read_through("x"), SHOAL_EFORMAT);
    bytes_fini(&b);
}

/* From the first bytes on that can be told from text. */
static void a_cut_is_found_at_every_byte(void **state)
{
    const size_t lens[] = {150, 100000};
    char *text = make_text(100000), want[100];

    (void)state;
    for (const struct way *w = ways; w < ways + WAYS; w++)
        for (size_t i = 0; i < 2; i++) {
            struct bytes b = w->pack(text, lens[i]);

            for (size_t len = w->least; len < b.len; len += i == 0 || len < 100 ? 1 : 977) {
                put_file("x", b.at, len);
                assert_int_equal(read_through("x"), SHOAL_EFORMAT);
                snprintf(want, sizeof want, "x: ends inside its %s data at byte %zu", w->name, len);
                assert_string_equal(shoal_error(), want);
            }
            bytes_fini(&b);
        }
    free(text);
}

static void corrupt_data_is_named_with_its_place(void **state)
{
    char *text = make_text(10000);
    struct bytes bz = bz_of(text, 10000), xz = xz_of(text, 10000);

    (void)state;
    bz.at[bz.len / 2] ^= 1;
    put_file("x.bz2", bz.at, bz.len);
    assert_int_equal(read_through("x.bz2"), SHOAL_EFORMAT);
    assert_error_has("x.bz2: corrupt bzip2 data at byte ");
    assert_error_has("(a block or its checksum is wrong)");
    bz.at[bz.len / 2] ^= 1;
    assert_int_equal(bytes_add(&bz, "garbage", 7), SHOAL_OK);
    put_file("x.bz2", bz.at, bz.len);
    assert_int_equal(read_through("x.bz2"), SHOAL_EFORMAT);
    assert_error_has("(no bzip2 stream begins here)");
    xz.at[xz.len / 2] ^= 1;
    put_file("x.xz", xz.at, xz.len);
    assert_int_equal(read_through("x.xz"), SHOAL_EFORMAT);
    assert_error_has("x.xz: corrupt xz data at byte ");
    assert_error_has("(a block or its checksum is wrong)");
    xz.at[xz.len / 2] ^= 1;
    assert_int_equal(bytes_add(&xz, "garbage of an end", 17), SHOAL_OK);
    put_file("x.xz", xz.at, xz.len);
    assert_int_equal(read_through("x.xz"), SHOAL_EFORMAT);
    assert_error_has("x.xz: corrupt xz data at byte ");
    bytes_fini(&bz);
    bytes_fini(&xz);
    free(text);
}

static struct bytes xz_with_dictionary(uint32_t size)
{
    lzma_options_lzma options;
    lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}};
    struct bytes b = {0};

    lzma_lzma_preset(&options, 0);
    options.dict_size = size;
    assert_int_equal(bytes_reserve(&b, lzma_stream_buffer_bound(3)), SHOAL_OK);
    assert_int_equal(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL,
                                               (const uint8_t *)"one", 3, (uint8_t *)b.at, &b.len,
                                               b.cap),
                     LZMA_OK);
    return b;
}

static void an_xz_dictionary_beyond_the_limit_is_refused(void **state)
{
    struct bytes b = xz_with_dictionary(128u << 20);

    (void)state;
    put_file("x", b.at, b.len);
    assert_stream("x", "one", 3, 100);
    bytes_fini(&b);
    b = xz_with_dictionary(192u << 20);
    put_file("x", b.at, b.len);
    assert_int_equal(read_through("x"), SHOAL_ELIMIT);
    assert_string_equal(shoal_error(), "x: its xz dictionary is over 128 MiB, want at most that");
    bytes_fini(&b);
}

static void what_is_read_whole_may_not_be_a_bomb(void **state)
{
    char *zeros = calloc(1, 4 << 20);

    (void)state;
    for (const struct way *w = ways; w < ways + WAYS; w++) {
        struct bytes one = w->pack(zeros, 4 << 20), all = {0};

        for (size_t i = 0; i < 64; i++)
            assert_int_equal(bytes_add(&all, one.at, one.len), SHOAL_OK);
        put_file("bomb", all.at, all.len);
        assert_int_equal(read_through("bomb"), SHOAL_ELIMIT);
        assert_error_has("bomb: ");
        assert_error_has("want at most 100 times as many");
        bytes_fini(&one);
        bytes_fini(&all);
    }
    free(zeros);
}

static void a_pipe_that_waits_for_an_answer_gives_its_first_line(void **state)
{
    char path[64], buf[64];
    struct stream *s;
    size_t got;
    int ends[2];

    (void)state;
    alarm(60);
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    assert_int_equal(write(ends[1], "q\n", 2), 2); /* and stays open */
    assert_int_equal(stream_open(&s, path), SHOAL_OK);
    assert_int_equal(stream_some(s, buf, sizeof buf, &got), SHOAL_OK);
    assert_int_equal(got, 2);
    stream_close(s);
    close(ends[0]);
    close(ends[1]);
    alarm(0);
}

#define HERE(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HERE(bzip2_and_xz_are_recognised_whatever_their_name),
        HERE(text_that_begins_like_bzip2_stays_text),
        HERE(joined_streams_are_one_text),
        HERE(zeros_in_fours_are_padding_between_and_behind_xz_streams),
        HERE(a_cut_is_found_at_every_byte),
        HERE(corrupt_data_is_named_with_its_place),
        HERE(an_xz_dictionary_beyond_the_limit_is_refused),
        HERE(what_is_read_whole_may_not_be_a_bomb),
        HERE(a_pipe_that_waits_for_an_answer_gives_its_first_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
