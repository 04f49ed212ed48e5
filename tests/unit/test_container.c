/* file: container.c. docs/formats.md says what is tested here. */
#include "file/file.h"

#include "base/base.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <xxhash.h>

#include "folder.h"

#define META "kind corpus\nwords 12345\nbig 18446744073709551616\nempty \nbad 12x\nlast 7"

static void write_small(const char *path)
{
    static const uint32_t ids[5] = {1, 2, 3, 4, 5};
    struct container_writer *w;

    assert_int_equal(container_create(&w, path), SHOAL_OK);
    assert_int_equal(container_put(w, "meta", META, strlen(META)), SHOAL_OK);
    assert_int_equal(container_begin(w, "ids"), SHOAL_OK);
    assert_int_equal(container_write(w, ids, 8), SHOAL_OK);
    assert_int_equal(container_write(w, ids + 2, 12), SHOAL_OK);
    assert_int_equal(container_begin(w, "nothing"), SHOAL_OK);
    assert_int_equal(container_put(w, "x.y_2", META, 64), SHOAL_OK);
    assert_int_equal(container_commit(w), SHOAL_OK);
}

/* The status of opening and then verifying bytes. */
static shoal_status check_bytes(const void *data, size_t size)
{
    struct container *c;
    shoal_status st = container_open_memory(&c, "x", data, size);

    if (st == SHOAL_OK)
        st = container_verify(c, 2);
    container_close(c);
    return st;
}

static void a_container_gives_back_its_sections(void **state)
{
    static const uint32_t ids[5] = {1, 2, 3, 4, 5};
    struct container *c;
    struct section s;

    (void)state;
    write_small("x");
    assert_int_equal(files_here(), 1);
    assert_int_equal(container_open(&c, "x"), SHOAL_OK);
    assert_int_equal(container_verify(c, 0), SHOAL_OK);
    assert_string_equal(container_path(c), "x");
    assert_int_equal(container_count(c), 4);
    assert_string_equal(container_at(c, 0).name, "meta");
    assert_string_equal(container_at(c, 3).name, "x.y_2");
    assert_int_equal(container_find(c, "ids", 4, &s), SHOAL_OK);
    assert_int_equal(s.size, 20);
    assert_int_equal((uintptr_t)s.data % 64, 0);
    assert_memory_equal(s.data, ids, 20);
    assert_int_equal(container_find(c, "nothing", 8, &s), SHOAL_OK);
    assert_int_equal(s.size, 0);
    assert_true(container_has(c, "meta"));
    assert_false(container_has(c, "none"));
    container_close(c);
    container_close(NULL);
}

static void a_section_that_is_not_as_wanted_is_named(void **state)
{
    struct container *c;
    struct section s;

    (void)state;
    write_small("x");
    assert_int_equal(container_open(&c, "x"), SHOAL_OK);
    assert_int_equal(container_find(c, "none", 1, &s), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "x: has no section \"none\"");
    assert_null(s.data);
    assert_int_equal(container_find(c, "ids", 8, &s), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "x: section \"ids\" has 20 bytes, want a multiple of 8");
    container_close(c);
}

static void a_container_without_sections_is_a_header(void **state)
{
    struct container_writer *w;
    size_t len;
    char *data;

    (void)state;
    assert_int_equal(container_create(&w, "x"), SHOAL_OK);
    assert_int_equal(container_commit(w), SHOAL_OK);
    data = get_file("x", &len);
    assert_int_equal(len, 64);
    assert_int_equal(check_bytes(data, len), SHOAL_OK);
    free(data);
}

static void long_sections_are_the_same_however_written_and_verified(void **state)
{
    size_t len = ((size_t)5 << 20) + 12345, at = 0, a_len, b_len;
    char *text = make_text(len), *a, *b;
    struct container_writer *w;
    struct container *c;

    (void)state;
    assert_int_equal(container_create(&w, "a"), SHOAL_OK);
    assert_int_equal(container_put(w, "text", text, len), SHOAL_OK);
    assert_int_equal(container_put(w, "slice", text, (size_t)1 << 20), SHOAL_OK);
    assert_int_equal(container_commit(w), SHOAL_OK);
    assert_int_equal(container_create(&w, "b"), SHOAL_OK);
    assert_int_equal(container_begin(w, "text"), SHOAL_OK);
    for (size_t n; at < len; at += n) {
        n = len - at < 9999 ? len - at : 9999;
        assert_int_equal(container_write(w, text + at, n), SHOAL_OK);
    }
    assert_int_equal(container_put(w, "slice", text, (size_t)1 << 20), SHOAL_OK);
    assert_int_equal(container_commit(w), SHOAL_OK);
    a = get_file("a", &a_len);
    b = get_file("b", &b_len);
    assert_int_equal(a_len, b_len);
    assert_memory_equal(a, b, a_len);
    assert_int_equal(container_open(&c, "a"), SHOAL_OK);
    for (unsigned threads = 0; threads < 9; threads++)
        assert_int_equal(container_verify(c, threads), SHOAL_OK);
    container_close(c);
    free(a);
    free(b);
    free(text);
}

static void the_layout_is_the_one_specified(void **state)
{
    static const unsigned char start[16] = {0x89, 'S', 'H', 'L', '\r', '\n', 0x1a, '\n', 1};
    struct container_writer *w;
    uint64_t words[5];
    size_t len;
    char *data;

    (void)state;
    assert_int_equal(container_create(&w, "x"), SHOAL_OK);
    assert_int_equal(container_put(w, "abc", "abc", 3), SHOAL_OK);
    assert_int_equal(container_commit(w), SHOAL_OK);
    data = get_file("x", &len);
    assert_int_equal(len, 192);
    assert_memory_equal(data, start, 16);
    memcpy(words, data + 16, 24);
    assert_int_equal(words[0], 192);
    assert_int_equal(words[1], 128);
    assert_int_equal(words[2], 1);
    assert_memory_equal(data + 64, "abc\0\0\0\0", 8);
    assert_memory_equal(data + 128, "abc\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
    memcpy(words, data + 152, 40);
    assert_int_equal(words[0], 64);
    assert_int_equal(words[1], 3);
    /* XXH3 of one slice's sum, which is XXH3("abc") = 0x78af5f94892f3950. */
    assert_true(words[2] == 0xf267cda02014e7ebu);
    assert_int_equal(words[3] | words[4], 0);
    free(data);
}

static void every_truncation_is_found_by_open(void **state)
{
    struct container *c;
    size_t len;
    char *data;

    (void)state;
    write_small("x");
    data = get_file("x", &len);
    for (size_t n = 0; n < len; n++) {
        char want[80];
        char *cut = malloc(n + 1); /* its own block: reading beyond is found */

        memcpy(cut, data, n);
        assert_int_equal(container_open_memory(&c, "x", cut, n), SHOAL_EFORMAT);
        assert_null(c);
        snprintf(want, sizeof want,
                 n == 0   ? "x: not a shoal file"
                 : n < 64 ? "x: ends after %zu bytes, want 64 or more"
                          : "x: ends after %zu bytes, want %zu",
                 n, len);
        assert_string_equal(shoal_error(), want);
        free(cut);
    }
    assert_int_equal(truncate("x", 100), 0);
    assert_int_equal(container_open(&c, "x"), SHOAL_EFORMAT);
    assert_error_has("x: ends after 100 bytes, want ");
    assert_int_equal(truncate("x", 0), 0);
    assert_int_equal(container_open(&c, "x"), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "x: not a shoal file");
    free(data);
}

static void bytes_at_the_end_are_found_by_open(void **state)
{
    size_t len;
    char *data;

    (void)state;
    write_small("x");
    data = get_file("x", &len);
    assert_int_equal(check_bytes(data, len), SHOAL_OK);
    assert_int_equal(check_bytes(data, len + 1), SHOAL_EFORMAT);
    free(data);
}

static void every_changed_byte_is_found(void **state)
{
    size_t len;
    char *data;

    (void)state;
    write_small("x");
    data = get_file("x", &len);
    for (size_t i = 0; i < len; i++) {
        for (int bit = 0; bit < 8; bit++) {
            data[i] = (char)(data[i] ^ (1 << bit));
            assert_int_equal(check_bytes(data, len), SHOAL_EFORMAT);
            data[i] = (char)(data[i] ^ (1 << bit));
        }
        data[i] = (char)~data[i];
        assert_int_equal(check_bytes(data, len), SHOAL_EFORMAT);
        data[i] = (char)~data[i];
    }
    assert_int_equal(check_bytes(data, len), SHOAL_OK);
    free(data);
}

static void a_damaged_section_is_named_with_both_checksums(void **state)
{
    size_t len;
    char *data;

    (void)state;
    write_small("x");
    data = get_file("x", &len);
    data[64] ^= 1;
    assert_int_equal(check_bytes(data, len), SHOAL_EFORMAT);
    assert_error_has("x: section \"meta\" is damaged (checksum 0x");
    assert_error_has(", want 0x");
    data[64] ^= 1;
    data[64 + sizeof META - 1] ^= 1;
    assert_int_equal(check_bytes(data, len), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "x: the gap behind section \"meta\" is damaged, want zeros");
    free(data);
}

static void what_is_no_container_is_said_to_be_none(void **state)
{
    struct container *c;

    (void)state;
    put_text("t", "just some text, long enough to have held a header of 64 bytes or more");
    assert_int_equal(container_open(&c, "t"), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "t: not a shoal file");
    assert_int_equal(container_open(&c, "none"), SHOAL_ENOENT);
    assert_string_equal(shoal_error(), "none: No such file or directory");
    mkdir("d", 0777);
    assert_int_equal(container_open(&c, "d"), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "d: not a regular file");
    assert_int_equal(mkfifo("p", 0666), 0);
    assert_int_equal(container_open(&c, "p"), SHOAL_EFORMAT);
    assert_null(c);
}

static void a_meta_of_the_most_bytes_can_be_written_and_read(void **state)
{
    size_t most = (size_t)64 << 20;
    char *text = calloc(1, most + 1), kind[32];
    struct container_writer *w;

    (void)state;
    memcpy(text, "kind x\n", 7);
    assert_int_equal(container_create(&w, "x"), SHOAL_OK);
    assert_int_equal(container_put(w, "meta", text, most), SHOAL_OK);
    assert_int_equal(container_write(w, "x", 1), SHOAL_ELIMIT);
    assert_string_equal(shoal_error(), "section \"meta\": want at most 67108864 bytes");
    container_abandon(w);
    assert_int_equal(container_create(&w, "x"), SHOAL_OK);
    assert_int_equal(container_put(w, "meta", text, most), SHOAL_OK);
    assert_int_equal(container_put(w, "more", text, most + 1), SHOAL_OK);
    assert_int_equal(container_commit(w), SHOAL_OK);
    assert_true(shoal_kind("x", kind));
    assert_string_equal(kind, "x");
    free(text);
}

/* A container of a meta of so many bytes, with right sums of its header and table, but
 * without a byte of it on the disk. */
static void put_sparse(const char *path, uint64_t len)
{
    uint64_t toc = 64 + ((len + 63) & ~(uint64_t)63), head[8] = {0}, entry[8] = {0};
    FILE *to = fopen(path, "wb");

    memcpy(entry, "meta", 4);
    entry[3] = 64;
    entry[4] = len;
    memcpy(head, "\x89SHL\r\n\x1a\n\1", 9);
    head[2] = toc + sizeof entry;
    head[3] = toc;
    head[4] = 1;
    head[5] = XXH3_64bits(entry, sizeof entry);
    head[7] = XXH3_64bits(head, 56);
    fwrite(head, sizeof head, 1, to);
    fseek(to, (long)toc, SEEK_SET);
    fwrite(entry, sizeof entry, 1, to);
    assert_int_equal(fclose(to), 0);
}

static void a_meta_beyond_its_limit_is_refused_before_it_is_read(void **state)
{
    struct container *c;
    char kind[32];

    (void)state;
    put_sparse("x", (uint64_t)64 << 20);
    assert_int_equal(container_peek(&c, "x"), SHOAL_OK);
    container_close(c);
    put_sparse("x", ((uint64_t)64 << 20) + 1);
    assert_int_equal(container_peek(&c, "x"), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "x: its meta has 67108865 bytes, want at most 67108864");
    put_sparse("x", (uint64_t)100 << 30);
    assert_int_equal(container_peek(&c, "x"), SHOAL_EFORMAT);
    assert_error_has("x: its meta has 107374182400 bytes");
    assert_int_equal(container_open(&c, "x"), SHOAL_EFORMAT);
    assert_error_has("x: its meta has");
    assert_int_equal(container_map(&c, "x"), SHOAL_EFORMAT);
    assert_true(shoal_kind("x", kind));
    assert_string_equal(kind, "");
}

static void another_version_is_said_to_be_another(void **state)
{
    size_t len;
    char *data;

    (void)state;
    write_small("x");
    data = get_file("x", &len);
    data[8] = 2;
    assert_int_equal(check_bytes(data, len), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "x: is of format version 2, want 1");
    free(data);
}

static void sniffing_knows_containers_and_never_complains(void **state)
{
    (void)state;
    write_small("x");
    put_text("t", "\x89SHL but no");
    assert_int_equal(mkfifo("p", 0666), 0);
    assert_true(container_sniff("x"));
    assert_false(container_sniff("t"));
    assert_false(container_sniff("p"));
    assert_false(container_sniff("none"));
    assert_false(container_sniff("."));
}

static void meta_lines_are_read_by_key(void **state)
{
    struct container *c;
    char value[16];
    uint64_t n;

    (void)state;
    write_small("x");
    assert_int_equal(container_open(&c, "x"), SHOAL_OK);
    assert_int_equal(container_meta(c, "kind", value, sizeof value), SHOAL_OK);
    assert_string_equal(value, "corpus");
    assert_int_equal(container_meta(c, "empty", value, sizeof value), SHOAL_OK);
    assert_string_equal(value, "");
    assert_int_equal(container_meta_u64(c, "words", &n), SHOAL_OK);
    assert_int_equal(n, 12345);
    assert_int_equal(container_meta_u64(c, "last", &n), SHOAL_OK);
    assert_int_equal(n, 7);
    container_close(c);
}

static void meta_that_is_not_as_wanted_is_named(void **state)
{
    struct container *c;
    char value[6];
    uint64_t n;

    (void)state;
    write_small("x");
    assert_int_equal(container_open(&c, "x"), SHOAL_OK);
    assert_int_equal(container_meta(c, "word", value, sizeof value), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "x: its meta has no \"word\"");
    assert_int_equal(container_meta(c, "kind", value, sizeof value), SHOAL_EFORMAT);
    assert_string_equal(value, "");
    assert_int_equal(container_meta_u64(c, "bad", &n), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "x: its meta \"bad\" is \"12x\", want a whole number");
    assert_int_equal(container_meta_u64(c, "empty", &n), SHOAL_EFORMAT);
    assert_int_equal(container_meta_u64(c, "big", &n), SHOAL_EFORMAT);
    assert_int_equal(n, 0);
    container_close(c);
}

/* ---- files that others write to ------------------------------------------------------ */

static void a_container_stays_as_it_was_when_its_file_is_overwritten(void **state)
{
    static const uint32_t ids[5] = {1, 2, 3, 4, 5};
    struct container *c;
    struct section s;

    (void)state;
    write_small("x");
    assert_int_equal(container_open(&c, "x"), SHOAL_OK);
    assert_int_equal(truncate("x", 0), 0); /* a mapping would now fault */
    assert_int_equal(container_verify(c, 0), SHOAL_OK);
    assert_int_equal(container_find(c, "ids", 4, &s), SHOAL_OK);
    assert_memory_equal(s.data, ids, 20);
    container_close(c);
}

/* What file_read_whole says of "x" when fstat had said `before`. */
static shoal_status read_as(const struct stat *before)
{
    int fd = open("x", O_RDONLY);
    void *at;
    shoal_status st = file_read_whole(&at, "x", fd, before);

    mem_unmap(at, (size_t)before->st_size);
    close(fd);
    return st;
}

static void a_file_that_changes_while_it_is_read_is_refused(void **state)
{
    struct stat before;

    (void)state;
    write_small("x");
    assert_int_equal(stat("x", &before), 0);
    assert_int_equal(read_as(&before), SHOAL_OK);
    before.st_size += 10;
    assert_int_equal(read_as(&before), SHOAL_EIO);
    assert_non_null(strstr(shoal_error(), "x: ends after"));
    assert_non_null(strstr(shoal_error(), "it was shortened while it was read"));
    before.st_size -= 20; /* it has grown since */
    assert_int_equal(read_as(&before), SHOAL_EIO);
    assert_string_equal(shoal_error(),
                        "x: was written to while it was read, want a file that is whole");
    before.st_size += 10;
    before.st_mtim.tv_nsec ^= 1; /* as long, but not the same */
    assert_int_equal(read_as(&before), SHOAL_EIO);
}

static void a_container_whose_middle_was_overwritten_is_not_opened(void **state)
{
    struct container *c;
    FILE *f;

    (void)state;
    write_small("x");
    f = fopen("x", "r+");
    fseek(f, 64 + 8, SEEK_SET); /* in meta */
    fputc('?', f);
    fclose(f);
    assert_int_equal(container_open(&c, "x"), SHOAL_EFORMAT);
    assert_non_null(strstr(shoal_error(), "section \"meta\" is damaged"));
    assert_null(c);
    assert_int_equal(container_map(&c, "x"), SHOAL_OK); /* looks at the table alone */
    assert_int_equal(container_verify(c, 0), SHOAL_EFORMAT);
    container_close(c);
}

static void a_peek_knows_the_table_and_meta_alone(void **state)
{
    struct container *c;
    struct section s;
    char value[16];

    (void)state;
    write_small("x");
    assert_int_equal(container_peek(&c, "x"), SHOAL_OK);
    assert_int_equal(truncate("x", 0), 0);
    assert_int_equal(container_meta(c, "kind", value, sizeof value), SHOAL_OK);
    assert_string_equal(value, "corpus");
    assert_true(container_has(c, "ids"));
    assert_int_equal(container_find(c, "ids", 4, &s), SHOAL_OK);
    assert_int_equal(s.size, 20);
    assert_null(s.data);
    container_close(c);
}

/* By a writer of its own: it remembers the failure, and leaves nothing. */
static void assert_name_refused(const char *name)
{
    struct container_writer *w;

    assert_int_equal(container_create(&w, "x"), SHOAL_OK);
    assert_int_equal(container_put(w, "abcdefghijklmnopqrstuvw", "", 0), SHOAL_OK);
    assert_int_equal(container_begin(w, name), SHOAL_EINVAL);
    assert_int_equal(container_put(w, "good", "", 0), SHOAL_EINVAL);
    assert_int_equal(container_commit(w), SHOAL_EINVAL);
    assert_int_equal(files_here(), 0);
}

static void bad_section_names_are_refused(void **state)
{
    (void)state;
    assert_name_refused("abcdefghijklmnopqrstuvwx");
    assert_name_refused("");
    assert_name_refused("Ids");
    assert_name_refused("a b");
    assert_name_refused("abcdefghijklmnopqrstuvw");
    container_abandon(NULL);
}

static struct container_writer *with_sections(int n)
{
    struct container_writer *w;
    char name[16];

    assert_int_equal(container_create(&w, "x"), SHOAL_OK);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "s%d", i);
        assert_int_equal(container_put(w, name, name, 1), SHOAL_OK);
    }
    return w;
}

static void sections_are_bounded_in_number(void **state)
{
    struct container_writer *w = with_sections(1024);
    struct container *c;

    (void)state;
    assert_int_equal(container_begin(w, "more"), SHOAL_ELIMIT);
    assert_int_equal(container_commit(w), SHOAL_ELIMIT);
    assert_int_equal(files_here(), 0);
    assert_int_equal(container_commit(with_sections(1024)), SHOAL_OK);
    assert_int_equal(container_open(&c, "x"), SHOAL_OK);
    assert_int_equal(container_verify(c, 3), SHOAL_OK);
    assert_int_equal(container_count(c), 1024);
    container_close(c);
}

static void a_container_cannot_be_written_to_a_device(void **state)
{
    struct container_writer *w;

    (void)state;
    assert_int_equal(container_create(&w, "/dev/null"), SHOAL_EINVAL);
    assert_null(w);
    assert_string_equal(shoal_error(), "/dev/null: cannot be rewritten, want a regular file");
}

static void an_abandoned_container_leaves_the_old_one(void **state)
{
    struct container_writer *w;
    struct container *c;

    (void)state;
    write_small("x");
    assert_int_equal(container_create(&w, "x"), SHOAL_OK);
    assert_int_equal(container_put(w, "a", "b", 1), SHOAL_OK);
    container_abandon(w);
    assert_int_equal(files_here(), 1);
    assert_int_equal(container_open(&c, "x"), SHOAL_OK);
    assert_int_equal(container_verify(c, 1), SHOAL_OK);
    container_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HERE(a_container_gives_back_its_sections),
        HERE(a_section_that_is_not_as_wanted_is_named),
        HERE(a_container_without_sections_is_a_header),
        HERE(long_sections_are_the_same_however_written_and_verified),
        HERE(the_layout_is_the_one_specified),
        HERE(every_truncation_is_found_by_open),
        HERE(bytes_at_the_end_are_found_by_open),
        HERE(every_changed_byte_is_found),
        HERE(a_damaged_section_is_named_with_both_checksums),
        HERE(what_is_no_container_is_said_to_be_none),
        HERE(a_meta_of_the_most_bytes_can_be_written_and_read),
        HERE(a_meta_beyond_its_limit_is_refused_before_it_is_read),
        HERE(another_version_is_said_to_be_another),
        HERE(sniffing_knows_containers_and_never_complains),
        HERE(meta_lines_are_read_by_key),
        HERE(meta_that_is_not_as_wanted_is_named),
        HERE(a_container_stays_as_it_was_when_its_file_is_overwritten),
        HERE(a_file_that_changes_while_it_is_read_is_refused),
        HERE(a_container_whose_middle_was_overwritten_is_not_opened),
        HERE(a_peek_knows_the_table_and_meta_alone),
        HERE(bad_section_names_are_refused),
        HERE(sections_are_bounded_in_number),
        HERE(a_container_cannot_be_written_to_a_device),
        HERE(an_abandoned_container_leaves_the_old_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
