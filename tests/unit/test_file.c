/* file: inputs.c, stream.c and output.c. */
#include "file/file.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>
#include <zstd.h>

#include "folder.h"

/* ---- inputs.c ------------------------------------------------------------------------- */

static void assert_expands(const char *arg, const char *const *want)
{
    struct inputs in;
    size_t n = 0;

    assert_int_equal(inputs_expand(&in, &arg, 1), SHOAL_OK);
    for (; want[n]; n++) {
        assert_true(n < in.len);
        assert_string_equal(in.at[n].path, want[n]);
    }
    assert_int_equal(in.len, n);
    inputs_fini(&in);
}

static void assert_expand_fails(const char *arg, shoal_status want, const char *sentence)
{
    struct inputs in;

    assert_int_equal(inputs_expand(&in, &arg, 1), want);
    assert_string_equal(shoal_error(), sentence);
    assert_null(in.at);
    assert_int_equal(in.len, 0);
}

static void make_tree(void)
{
    mkdir("d", 0777);
    mkdir("d/a", 0777);
    mkdir("d/.git", 0777);
    mkdir("d/empty", 0777);
    put_text("d/a/2", "two");
    put_text("d/a/10", "ten");
    put_text("d/a.txt", "x");
    put_text("d/B", "big");
    put_text("d/.hidden", "h");
    put_text("d/.git/config", "h");
}

static void a_folder_gives_its_files_in_order_of_bytes(void **state)
{
    (void)state;
    make_tree();
    assert_expands("d", (const char *[]){"d/B", "d/a.txt", "d/a/10", "d/a/2", NULL});
    assert_expands("d/", (const char *[]){"d/B", "d/a.txt", "d/a/10", "d/a/2", NULL});
}

static void a_glob_gives_its_matches_in_order_of_bytes(void **state)
{
    (void)state;
    make_tree();
    assert_expands("d/a*", (const char *[]){"d/a.txt", "d/a/10", "d/a/2", NULL});
    assert_expands("d/a/[12]*", (const char *[]){"d/a/10", "d/a/2", NULL});
    assert_expands("d/?", (const char *[]){"d/B", "d/a/10", "d/a/2", NULL});
}

static void arguments_keep_their_order_and_sizes_are_known(void **state)
{
    const char *args[] = {"z", "-", "a"};
    struct inputs in;

    (void)state;
    put_text("z", "12345");
    put_text("a", "1");
    assert_int_equal(inputs_expand(&in, args, 3), SHOAL_OK);
    assert_int_equal(in.len, 3);
    assert_string_equal(in.at[0].path, "z");
    assert_int_equal(in.at[0].size, 5);
    assert_true(in.at[0].regular);
    assert_string_equal(in.at[1].path, "-");
    assert_false(in.at[1].regular);
    assert_string_equal(in.at[2].path, "a");
    inputs_fini(&in);
    inputs_fini(NULL);
}

static void a_file_named_like_a_glob_is_a_file(void **state)
{
    (void)state;
    put_text("a[1]", "x");
    put_text("a1", "x");
    assert_expands("a[1]", (const char *[]){"a[1]", NULL});
}

static void a_pipe_is_an_input_only_when_named(void **state)
{
    struct inputs in;
    const char *arg = "d/pipe";

    (void)state;
    make_tree();
    assert_int_equal(mkfifo("d/pipe", 0666), 0);
    assert_expands("d", (const char *[]){"d/B", "d/a.txt", "d/a/10", "d/a/2", NULL});
    assert_int_equal(inputs_expand(&in, &arg, 1), SHOAL_OK);
    assert_int_equal(in.len, 1);
    assert_false(in.at[0].regular);
    inputs_fini(&in);
}

static void a_missing_input_is_named(void **state)
{
    (void)state;
    assert_expand_fails("nofile.txt", SHOAL_ENOENT, "nofile.txt: no such file");
    assert_expand_fails("no/file", SHOAL_ENOENT, "no/file: no such file");
    assert_expand_fails("no*", SHOAL_ENOENT, "no*: matches no file");
    assert_expand_fails("", SHOAL_ENOENT, "\"\": no such file");
}

static void a_folder_without_files_is_an_error(void **state)
{
    (void)state;
    make_tree();
    assert_expand_fails("d/empty", SHOAL_ENOENT, "d/empty: no files in this folder");
    assert_expand_fails("d/.gi[t]/x*", SHOAL_ENOENT, "d/.gi[t]/x*: matches no file");
}

static void links_are_followed_but_not_in_circles(void **state)
{
    (void)state;
    make_tree();
    assert_int_equal(symlink("..", "d/a/up"), 0);
    assert_int_equal(symlink("a", "d/c"), 0);
    assert_expands("d",
                   (const char *[]){"d/B", "d/a.txt", "d/a/10", "d/a/2", "d/c/10", "d/c/2", NULL});
}

static void a_link_to_nowhere_in_a_folder_is_an_error(void **state)
{
    (void)state;
    make_tree();
    assert_int_equal(symlink("me", "me"), 0);
    assert_expand_fails("me", SHOAL_EIO, "me: Too many levels of symbolic links");
    assert_int_equal(symlink("nowhere", "d/link"), 0);
    assert_expand_fails("d", SHOAL_EIO, "d/link: No such file or directory");
}

static void folders_too_deep_are_refused(void **state)
{
    char path[300] = "p";
    const char *arg = "p";
    struct inputs in;

    (void)state;
    for (size_t i = 0; i < 70; i++) {
        mkdir(path, 0777);
        memcpy(path + 2 * i + 1, "/p", 3);
    }
    put_text(path, "deep");
    assert_int_equal(inputs_expand(&in, &arg, 1), SHOAL_ELIMIT);
    assert_error_has("over 64 folders deep");
}

/* ---- stream.c --------------------------------------------------------------------------- */

static struct bytes gz_of(const char *text, size_t len)
{
    z_stream z = {0};
    struct bytes b = {0};

    deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    assert_int_equal(bytes_reserve(&b, deflateBound(&z, len)), SHOAL_OK);
    z.next_in = (Bytef *)(uintptr_t)text;
    z.avail_in = (uInt)len;
    z.next_out = (Bytef *)b.at;
    z.avail_out = (uInt)b.cap;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    b.len = z.total_out;
    deflateEnd(&z);
    return b;
}

static struct bytes zst_of(const char *text, size_t len)
{
    struct bytes b = {0};

    assert_int_equal(bytes_reserve(&b, ZSTD_compressBound(len)), SHOAL_OK);
    b.len = ZSTD_compress(b.at, b.cap, text, len, 3);
    assert_false(ZSTD_isError(b.len));
    return b;
}

static void bytes_join(struct bytes *a, struct bytes b)
{
    assert_int_equal(bytes_add(a, b.at, b.len), SHOAL_OK);
    bytes_fini(&b);
}

/* Reads a file in pieces of `step` and wants exactly text. */
static void assert_stream_step(const char *path, const char *text, size_t len, size_t step)
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
    assert_int_equal(stream_read(s, buf, step, &got), SHOAL_OK);
    assert_int_equal(got, 0);
    stream_close(s);
    free(buf);
}

static void assert_stream(const char *path, const char *text, size_t len)
{
    assert_stream_step(path, text, len, 1 << 20);
    assert_stream_step(path, text, len, 4099);
    if (len < 100000)
        assert_stream_step(path, text, len, 1);
}

/* Opens and reads to the end; the first failure's status. */
static shoal_status read_through(const char *path)
{
    static char buf[65536];
    struct stream *s;
    size_t got;
    shoal_status st = stream_open(&s, path);

    if (st != SHOAL_OK)
        return st;
    do
        st = stream_read(s, buf, sizeof buf, &got);
    while (st == SHOAL_OK && got == sizeof buf);
    stream_close(s);
    return st;
}

static void plain_files_of_any_length_are_read_whole(void **state)
{
    const size_t lens[] = {0, 1, 2, 3, 4, 5, 4095, 4096, 4097, 300000, 3000000};
    char *text = make_text(3000000);

    (void)state;
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        put_file("x", text, lens[i]);
        assert_stream("x", text, lens[i]);
    }
    free(text);
}

static void gzip_is_recognised_whatever_its_name(void **state)
{
    const size_t lens[] = {0, 1, 1000, 2000000};
    char *text = make_text(2000000);

    (void)state;
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        struct bytes b = gz_of(text, lens[i]);

        put_file("x.txt", b.at, b.len);
        assert_stream("x.txt", text, lens[i]);
        bytes_fini(&b);
    }
    put_text("plain.gz", "not compressed");
    assert_stream("plain.gz", "not compressed", 14);
    free(text);
}

static void zstd_is_recognised_whatever_its_name(void **state)
{
    const size_t lens[] = {0, 1, 1000, 2000000};
    char *text = make_text(2000000);

    (void)state;
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        struct bytes b = zst_of(text, lens[i]);

        put_file("x.txt", b.at, b.len);
        assert_stream("x.txt", text, lens[i]);
        bytes_fini(&b);
    }
    free(text);
}

static void joined_gzip_members_are_one_text(void **state)
{
    struct bytes b = gz_of("one ", 4);

    (void)state;
    bytes_join(&b, gz_of("", 0));
    bytes_join(&b, gz_of("two", 3));
    put_file("x", b.at, b.len);
    assert_stream("x", "one two", 7);
    assert_int_equal(bytes_add(&b, "\0\0\0\0", 4), SHOAL_OK);
    put_file("x", b.at, b.len);
    assert_stream("x", "one two", 7);
    bytes_fini(&b);
}

static void joined_zstd_frames_are_one_text_without_the_skippable(void **state)
{
    static const char skip[] = "\x53\x2a\x4d\x18\x05\0\0\0hello";
    struct bytes b = {0};

    (void)state;
    assert_int_equal(bytes_add(&b, skip, 13), SHOAL_OK);
    bytes_join(&b, zst_of("one ", 4));
    assert_int_equal(bytes_add(&b, skip, 13), SHOAL_OK);
    bytes_join(&b, zst_of("", 0));
    bytes_join(&b, zst_of("two", 3));
    put_file("x", b.at, b.len);
    assert_stream("x", "one two", 7);
    assert_int_equal(bytes_add(&b, skip, 12), SHOAL_OK);
    put_file("x", b.at, b.len);
    assert_int_equal(read_through("x"), SHOAL_EFORMAT);
    assert_error_has("x: ends inside its zstd data at byte");
    bytes_fini(&b);
}

/* From two bytes on, the first of them that can be told from text. */
static void assert_each_cut_is_found(const struct bytes *b, const char *kind, size_t step)
{
    char want[100];

    for (size_t len = 2; len < b->len; len += len < 100 ? 1 : step) {
        put_file("x", b->at, len);
        assert_int_equal(read_through("x"), SHOAL_EFORMAT);
        snprintf(want, sizeof want, "x: ends inside its %s data at byte %zu", kind, len);
        assert_string_equal(shoal_error(), want);
    }
}

static void truncated_gzip_is_found_at_every_byte(void **state)
{
    char *text = make_text(100000);
    struct bytes b = gz_of(text, 150);

    (void)state;
    assert_each_cut_is_found(&b, "gzip", 1);
    bytes_fini(&b);
    b = gz_of(text, 100000);
    assert_each_cut_is_found(&b, "gzip", 977);
    bytes_fini(&b);
    free(text);
}

static void truncated_zstd_is_found_at_every_byte(void **state)
{
    char *text = make_text(1000000);
    struct bytes b = zst_of(text, 150);

    (void)state;
    assert_each_cut_is_found(&b, "zstd", 1);
    bytes_fini(&b);
    b = zst_of(text, 1000000);
    assert_each_cut_is_found(&b, "zstd", 7919);
    bytes_fini(&b);
    free(text);
}

static void corrupt_data_is_named_with_its_place(void **state)
{
    char *text = make_text(10000);
    struct bytes gz = gz_of(text, 10000), zst = zst_of(text, 10000);

    (void)state;
    gz.at[gz.len - 7] ^= 1; /* its checksum */
    put_file("x.gz", gz.at, gz.len);
    assert_int_equal(read_through("x.gz"), SHOAL_EFORMAT);
    assert_error_has("x.gz: corrupt gzip data at byte ");
    assert_error_has("(incorrect data check)");
    assert_int_equal(bytes_add(&zst, "garbage!", 8), SHOAL_OK);
    put_file("x.zst", zst.at, zst.len);
    assert_int_equal(read_through("x.zst"), SHOAL_EFORMAT);
    assert_error_has("x.zst: corrupt zstd data at byte ");
    bytes_fini(&gz);
    bytes_fini(&zst);
    free(text);
}

static void a_zstd_window_beyond_the_limit_is_refused(void **state)
{
    /* magic; descriptor: no size, no checksum; window 2^(10+21) */
    static const char frame[] = "\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00";

    (void)state;
    put_file("x", frame, 9);
    assert_int_equal(read_through("x"), SHOAL_ELIMIT);
    assert_string_equal(shoal_error(), "x: its zstd window is over 128 MiB, want at most that");
}

static void what_cannot_be_read_is_named_in_errnos_words(void **state)
{
    struct stream *s = (struct stream *)1;

    (void)state;
    mkdir("folder", 0777);
    assert_int_equal(stream_open(&s, "folder"), SHOAL_EIO);
    assert_string_equal(shoal_error(), "folder: Is a directory");
    assert_null(s);
    assert_int_equal(stream_open(&s, "none"), SHOAL_ENOENT);
    assert_string_equal(shoal_error(), "none: No such file or directory");
    stream_close(NULL);
}

static void consumed_counts_the_files_bytes(void **state)
{
    char *text = make_text(1000000);
    struct bytes b = gz_of(text, 1000000);
    struct stream *s;
    size_t got;

    (void)state;
    put_file("x", b.at, b.len);
    assert_int_equal(stream_open(&s, "x"), SHOAL_OK);
    assert_int_equal(stream_read(s, text, 1000, &got), SHOAL_OK);
    assert_true(stream_consumed(s) < b.len);
    assert_int_equal(stream_read(s, text, 1000000, &got), SHOAL_OK);
    assert_int_equal(got, 999000);
    assert_int_equal(stream_consumed(s), b.len);
    stream_close(s);
    bytes_fini(&b);
    free(text);
}

static void a_pipe_that_trickles_is_read_whole(void **state)
{
    static const char data[] = "a slow text";
    char path[64], buf[64];
    struct stream *s;
    size_t got;
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    if (fork() == 0) {
        for (size_t i = 0; i < sizeof data - 1; i++) {
            usleep(1000);
            if (write(ends[1], data + i, 1) != 1)
                _exit(1);
        }
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(stream_open(&s, path), SHOAL_OK);
    assert_int_equal(stream_read(s, buf, sizeof buf, &got), SHOAL_OK);
    assert_int_equal(got, sizeof data - 1);
    assert_memory_equal(buf, data, got);
    stream_close(s);
    close(ends[0]);
}

static void slurp_gives_the_whole_text_or_says_its_limit(void **state)
{
    char *text = make_text(2000000);
    char *all;
    size_t len;

    (void)state;
    put_file("x", text, 2000000);
    assert_int_equal(stream_slurp(&all, &len, "x", 2000000), SHOAL_OK);
    assert_int_equal(len, 2000000);
    assert_string_equal(all, text);
    free(all);
    assert_int_equal(stream_slurp(&all, &len, "x", SIZE_MAX), SHOAL_OK);
    assert_int_equal(len, 2000000);
    free(all);
    assert_int_equal(stream_slurp(&all, &len, "x", 1999999), SHOAL_ELIMIT);
    assert_string_equal(shoal_error(), "x: over 1999999 bytes, want at most that");
    assert_null(all);
    put_text("empty", "");
    assert_int_equal(stream_slurp(&all, &len, "empty", 0), SHOAL_OK);
    assert_string_equal(all, "");
    free(all);
    free(text);
}

/* So many zeros as zstd, a frame for each MiB. */
static void put_bomb(const char *path, size_t mib)
{
    char *zeros = calloc(1, 1 << 20);
    struct bytes one = zst_of(zeros, 1 << 20), all = {0};

    for (size_t i = 0; i < mib; i++)
        bytes_add(&all, one.at, one.len);
    put_file(path, all.at, all.len);
    bytes_fini(&one);
    bytes_fini(&all);
    free(zeros);
}

static void what_is_read_whole_may_not_be_a_bomb(void **state)
{
    uint64_t before = mem_peak();
    char *all;
    size_t len;

    (void)state;
    put_bomb("large", 60);
    assert_int_equal(stream_slurp(&all, &len, "large", SIZE_MAX), SHOAL_OK);
    assert_int_equal(len, 60 << 20);
    free(all);
    put_bomb("bomb", 2048);
    assert_int_equal(stream_slurp(&all, &len, "bomb", SIZE_MAX), SHOAL_ELIMIT);
    assert_error_has("bomb: ");
    assert_error_has("want at most 100 times as many");
    assert_null(all);
    assert_true(mem_peak() - before < (uint64_t)1 << 30);
}

/* ---- output.c ------------------------------------------------------------------------------ */

static void an_output_appears_only_when_committed(void **state)
{
    struct output *o;

    (void)state;
    put_text("x", "old");
    assert_int_equal(output_open(&o, "x"), SHOAL_OK);
    assert_int_equal(output_write(o, "new ", 4), SHOAL_OK);
    assert_int_equal(output_write(o, "text", 4), SHOAL_OK);
    assert_int_equal(output_size(o), 8);
    assert_file_is("x", "old");
    assert_int_equal(files_here(), 2);
    assert_int_equal(output_commit(o), SHOAL_OK);
    assert_file_is("x", "new text");
    assert_int_equal(files_here(), 1);
}

static void an_abandoned_output_leaves_nothing(void **state)
{
    struct output *o;

    (void)state;
    assert_int_equal(output_open(&o, "x"), SHOAL_OK);
    assert_int_equal(output_write(o, "new", 3), SHOAL_OK);
    output_abandon(o);
    assert_int_equal(files_here(), 0);
    output_abandon(NULL);
}

static void a_reader_of_the_old_file_keeps_it(void **state)
{
    struct output *o;
    char buf[4] = "";
    int fd;

    (void)state;
    put_text("x", "old");
    fd = open("x", O_RDONLY);
    assert_int_equal(output_open(&o, "x"), SHOAL_OK);
    assert_int_equal(output_write(o, "new", 3), SHOAL_OK);
    assert_int_equal(output_commit(o), SHOAL_OK);
    assert_int_equal(read(fd, buf, 3), 3);
    assert_string_equal(buf, "old");
    close(fd);
}

static void large_and_small_writes_keep_their_order(void **state)
{
    size_t len = 3000000, at = 0, step = 1, found_len;
    char *text = make_text(len), *found;
    struct output *o;

    (void)state;
    assert_int_equal(output_open(&o, "x"), SHOAL_OK);
    while (at < len) {
        size_t n = step < len - at ? step : len - at;

        assert_int_equal(output_write(o, text + at, n), SHOAL_OK);
        at += n;
        step = step > 400000 ? 1 : step * 3;
        assert_int_equal(output_size(o), at);
    }
    assert_int_equal(output_patch(o, 1000000, "PATCH", 5), SHOAL_OK);
    memcpy(text + 1000000, "PATCH", 5);
    assert_int_equal(output_write(o, "end", 3), SHOAL_OK);
    assert_int_equal(output_commit(o), SHOAL_OK);
    found = get_file("x", &found_len);
    assert_int_equal(found_len, len + 3);
    assert_memory_equal(found, text, len);
    assert_string_equal(found + len, "end");
    free(found);
    free(text);
}

static void the_umask_decides_the_mode(void **state)
{
    struct output *o;
    struct stat info;
    mode_t old = umask(027);

    (void)state;
    assert_int_equal(output_open(&o, "x"), SHOAL_OK);
    assert_int_equal(output_commit(o), SHOAL_OK);
    umask(old);
    assert_int_equal(stat("x", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
}

static void a_file_that_is_replaced_keeps_its_mode(void **state)
{
    static const mode_t modes[] = {0600, 0640, 0666, 0755, 0400};
    mode_t old = umask(022);

    (void)state;
    put_text("x", "old");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct output *o;
        struct stat info;

        assert_int_equal(chmod("x", modes[i]), 0);
        assert_int_equal(output_open(&o, "x"), SHOAL_OK);
        assert_int_equal(output_commit(o), SHOAL_OK);
        assert_int_equal(stat("x", &info), 0);
        assert_int_equal(info.st_mode & 07777, modes[i]);
    }
    umask(old);
}

static void as_root_a_file_that_is_replaced_keeps_its_owner(void **state)
{
    struct output *o;
    struct stat info;

    (void)state;
    if (geteuid() != 0)
        skip();
    put_text("x", "old");
    assert_int_equal(chown("x", 12345, 54321), 0);
    assert_int_equal(output_open(&o, "x"), SHOAL_OK);
    assert_int_equal(output_commit(o), SHOAL_OK);
    assert_int_equal(stat("x", &info), 0);
    assert_int_equal(info.st_uid, 12345);
    assert_int_equal(info.st_gid, 54321);
}

static void a_link_is_kept_and_its_file_replaced(void **state)
{
    struct output *o;
    struct stat info;

    (void)state;
    mkdir("d", 0777);
    put_text("d/real", "old");
    assert_int_equal(symlink("d/real", "link"), 0);
    assert_int_equal(output_open(&o, "link"), SHOAL_OK);
    assert_int_equal(output_write(o, "new", 3), SHOAL_OK);
    assert_int_equal(output_commit(o), SHOAL_OK);
    assert_int_equal(lstat("link", &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_file_is("d/real", "new");
}

static void a_device_is_written_straight_and_not_replaced(void **state)
{
    struct output *o;
    struct stat info;

    (void)state;
    assert_int_equal(output_open(&o, "/dev/null"), SHOAL_OK);
    assert_int_equal(output_write(o, "gone", 4), SHOAL_OK);
    assert_int_equal(output_patch(o, 0, "x", 1), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "/dev/null: cannot be rewritten, want a regular file");
    assert_int_equal(output_commit(o), SHOAL_OK);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

static void a_full_disk_is_one_sentence(void **state)
{
    struct output *o;

    (void)state;
    assert_int_equal(output_open(&o, "/dev/full"), SHOAL_OK);
    assert_int_equal(output_write(o, "x", 1), SHOAL_OK);
    assert_int_equal(output_commit(o), SHOAL_EIO);
    assert_string_equal(shoal_error(), "/dev/full: cannot be written: No space left on device");
}

static void after_a_failed_write_nothing_can_be_committed(void **state)
{
    char *text = make_text(300000);
    struct output *o;

    (void)state;
    assert_int_equal(output_open(&o, "/dev/full"), SHOAL_OK);
    assert_int_equal(output_write(o, text, 300000), SHOAL_EIO);
    assert_int_equal(output_commit(o), SHOAL_EIO);
    assert_error_has("after a write that failed");
    free(text);
}

static void where_nothing_can_be_written_says_so_at_once(void **state)
{
    struct output *o = (struct output *)1;

    (void)state;
    assert_int_equal(output_open(&o, "no/such/x"), SHOAL_EIO);
    assert_null(o);
    assert_string_equal(shoal_error(), "no/such/x: cannot be written: No such file or directory");
    mkdir("d", 0777);
    assert_int_equal(output_open(&o, "d"), SHOAL_EIO);
    assert_string_equal(shoal_error(), "d: cannot be written: Is a directory");
    assert_int_equal(output_open(&o, ""), SHOAL_EINVAL);
    assert_int_equal(files_here(), 1);
}

static void a_very_long_name_can_be_written(void **state)
{
    char name[256];
    struct output *o;

    (void)state;
    memset(name, 'n', 255);
    name[255] = '\0';
    assert_int_equal(output_open(&o, name), SHOAL_OK);
    assert_int_equal(output_commit(o), SHOAL_OK);
    assert_file_is(name, "");
}

static void dash_writes_to_standard_output(void **state)
{
    struct output *o;
    int saved = dup(STDOUT_FILENO), fd;
    shoal_status st;

    (void)state;
    fflush(stdout);
    fd = open("out", O_WRONLY | O_CREAT, 0666);
    dup2(fd, STDOUT_FILENO);
    st = output_open(&o, "-");
    if (st == SHOAL_OK)
        st = output_write(o, "hello", 5);
    if (st == SHOAL_OK)
        st = output_commit(o);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(fd);
    assert_int_equal(st, SHOAL_OK);
    assert_file_is("out", "hello");
}

struct terminal {
    int fd;    /* the end that gets what is said */
    char *got; /* [len], with room for all that will come */
    size_t len;
};

/* Until nobody writes to it any more. */
static void *read_terminal(void *arg)
{
    struct terminal *t = arg;
    ssize_t n;

    while ((n = read(t->fd, t->got + t->len, 4096)) > 0)
        t->len += (size_t)n;
    return NULL;
}

/* `skip` times x and then the text, in pieces of `step` bytes. */
static shoal_status say(size_t skip, const char *text, size_t step)
{
    char *all = malloc(skip + strlen(text) + 1);
    size_t len = skip + strlen(text);
    struct output *o;
    shoal_status st = output_open(&o, "-");

    memset(all, 'x', skip);
    strcpy(all + skip, text);
    for (size_t at = 0; at < len && st == SHOAL_OK; at += step)
        st = output_write(o, all + at, len - at < step ? len - at : step);
    st = st == SHOAL_OK ? output_commit(o) : st;
    free(all);
    return st;
}

/* Of what was said, the text behind the x. */
static char *said_on_terminal(size_t skip, const char *text, size_t step)
{
    struct terminal t = {posix_openpt(O_RDWR | O_NOCTTY), calloc(1, skip + 8192), 0};
    int saved = dup(STDOUT_FILENO), fd;
    pthread_t reader;
    shoal_status st;

    assert_int_equal(grantpt(t.fd) | unlockpt(t.fd), 0);
    fd = open(ptsname(t.fd), O_RDWR | O_NOCTTY);
    assert_true(fd >= 0);
    pthread_create(&reader, NULL, read_terminal, &t);
    fflush(stdout);
    dup2(fd, STDOUT_FILENO);
    close(fd);
    st = say(skip, text, step);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    pthread_join(reader, NULL);
    close(t.fd);
    assert_int_equal(st, SHOAL_OK);
    assert_true(t.len >= skip);
    memmove(t.got, t.got + skip, t.len - skip + 1);
    return t.got;
}

static void a_terminal_is_told_nothing_it_would_obey(void **state)
{
    static const char text[] = "\033[2J\xc2\x9b \x9b"
                               "a \xe2\x80\xae\xe2\x81\xa6 "
                               "\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x9f\xc2\xa0 \xe4 \t\xe2\x80";
    static const char want[] = "?[2J?? ?"
                               "a ?????? "
                               "\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x9f\xc2\xa0 \xe4 \t\xe2?";
    enum { CAP = 256 << 10 }; /* wherever a piece of the buffer ends */

    (void)state;
    for (size_t skip = CAP - sizeof text - 4; skip <= CAP; skip++) {
        static const size_t steps[] = {1, 1000, CAP, 2 * CAP};

        for (size_t i = 0; i < 4; i++) {
            char *said = said_on_terminal(skip, text, steps[i]);

            assert_string_equal(said, want);
            free(said);
        }
    }
}

static void a_spool_has_no_name(void **state)
{
    struct spool s;
    char buf[3];

    (void)state;
    assert_int_equal(spool_open(&s, "."), SHOAL_OK);
    assert_int_equal(spool_add(&s, "abcd", 4, "letters"), SHOAL_OK);
    assert_int_equal(spool_read(&s, 1, buf, 3, "letters"), SHOAL_OK);
    assert_memory_equal(buf, "bcd", 3);
    assert_int_equal(spool_read(&s, 2, buf, 3, "letters"), SHOAL_EIO);
    assert_int_equal(files_here(), 0);
    spool_close(&s);
    assert_int_equal(spool_open(&s, "none"), SHOAL_EIO);
    assert_string_equal(shoal_error(),
                        "none: cannot hold temporary files: No such file or directory");
    assert_int_equal(spool_open(&s, NULL), SHOAL_OK);
    spool_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HERE(a_folder_gives_its_files_in_order_of_bytes),
        HERE(a_glob_gives_its_matches_in_order_of_bytes),
        HERE(arguments_keep_their_order_and_sizes_are_known),
        HERE(a_file_named_like_a_glob_is_a_file),
        HERE(a_pipe_is_an_input_only_when_named),
        HERE(a_missing_input_is_named),
        HERE(a_folder_without_files_is_an_error),
        HERE(links_are_followed_but_not_in_circles),
        HERE(a_link_to_nowhere_in_a_folder_is_an_error),
        HERE(folders_too_deep_are_refused),
        HERE(plain_files_of_any_length_are_read_whole),
        HERE(gzip_is_recognised_whatever_its_name),
        HERE(zstd_is_recognised_whatever_its_name),
        HERE(joined_gzip_members_are_one_text),
        HERE(joined_zstd_frames_are_one_text_without_the_skippable),
        HERE(truncated_gzip_is_found_at_every_byte),
        HERE(truncated_zstd_is_found_at_every_byte),
        HERE(corrupt_data_is_named_with_its_place),
        HERE(a_zstd_window_beyond_the_limit_is_refused),
        HERE(what_cannot_be_read_is_named_in_errnos_words),
        HERE(consumed_counts_the_files_bytes),
        HERE(a_pipe_that_trickles_is_read_whole),
        HERE(slurp_gives_the_whole_text_or_says_its_limit),
        HERE(what_is_read_whole_may_not_be_a_bomb),
        HERE(an_output_appears_only_when_committed),
        HERE(an_abandoned_output_leaves_nothing),
        HERE(a_reader_of_the_old_file_keeps_it),
        HERE(large_and_small_writes_keep_their_order),
        HERE(the_umask_decides_the_mode),
        HERE(a_file_that_is_replaced_keeps_its_mode),
        HERE(as_root_a_file_that_is_replaced_keeps_its_owner),
        HERE(a_link_is_kept_and_its_file_replaced),
        HERE(a_device_is_written_straight_and_not_replaced),
        HERE(a_full_disk_is_one_sentence),
        HERE(after_a_failed_write_nothing_can_be_committed),
        HERE(where_nothing_can_be_written_says_so_at_once),
        HERE(a_very_long_name_can_be_written),
        HERE(dash_writes_to_standard_output),
        HERE(a_terminal_is_told_nothing_it_would_obey),
        HERE(a_spool_has_no_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
