/* file: zip.c, archives of others, and what nobody should have written. */
#include "file/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "folder.h"
#include "zip.h"

static char text[100000];

static struct zip_made make(bool deflated, bool large)
{
    struct zip_made z = {.large = large};

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = "one two three "[i * i % 14];
    zip_add(&z, "empty", "", 0, false);
    zip_add(&z, "a/b.txt", text, sizeof text, deflated);
    zip_add(&z, "c", "see", 3, deflated);
    zip_end(&z);
    return z;
}

static void assert_member(const struct zip *z, size_t i, const char *name, const char *want,
                          size_t len)
{
    const struct zip_member *m = &z->at[i];
    char head[10];
    const char *at;
    size_t got;
    void *ours;

    assert_int_equal(m->name.len, strlen(name));
    assert_memory_equal(m->name.at, name, m->name.len);
    assert_int_equal(m->size, len);
    assert_int_equal(zip_read(z, m, &at, &ours), SHOAL_OK);
    assert_memory_equal(at, want, len);
    if (ours)
        mem_unmap(ours, m->size);
    assert_int_equal(zip_head(z, m, head, sizeof head, &got), SHOAL_OK);
    assert_int_equal(got, len < sizeof head ? len : sizeof head);
    assert_memory_equal(head, want, got);
}

static void stored_and_deflated_members_are_read_with_zip64_and_without(void **state)
{
    (void)state;
    for (unsigned how = 0; how < 4; how++) {
        struct zip_made made = make(how & 1, how & 2);
        struct zip z;

        assert_true(zip_sniff(made.file.at, made.file.len));
        assert_int_equal(zip_open(&z, "x", made.file.at, made.file.len), SHOAL_OK);
        assert_int_equal(z.n, 3);
        assert_member(&z, 0, "empty", "", 0);
        assert_member(&z, 1, "a/b.txt", text, sizeof text);
        assert_member(&z, 2, "c", "see", 3);
        zip_close(&z);
        zip_made_fini(&made);
    }
}

static void a_comment_behind_the_end_is_skipped(void **state)
{
    struct zip_made made = make(false, false);
    struct zip z;

    (void)state;
    made.file.at[made.file.len - 2] = 5;
    bytes_add(&made.file, "hello", 5);
    assert_int_equal(zip_open(&z, "x", made.file.at, made.file.len), SHOAL_OK);
    assert_int_equal(z.n, 3);
    zip_close(&z);
    assert_int_equal(zip_open(&z, "x", made.file.at, made.file.len - 1), SHOAL_EFORMAT);
    assert_error_has("x: has no end of a zip archive in its ");
    zip_made_fini(&made);
}

static void a_cut_is_found_at_every_byte(void **state)
{
    struct zip_made made = {0};
    struct zip z;

    (void)state;
    zip_add(&made, "a", "one", 3, true);
    zip_end(&made);
    for (size_t len = 0; len < made.file.len; len++) {
        assert_int_equal(zip_open(&z, "x", made.file.at, len), SHOAL_EFORMAT);
        assert_null(z.at);
    }
    zip_made_fini(&made);
}

/* Any byte of it wrong: the archive is refused, or its members are what they were. */
static void no_changed_byte_gives_other_bytes(void **state)
{
    struct zip_made made = {0};

    (void)state;
    zip_add(&made, "a", "one two", 7, true);
    zip_add(&made, "b", "three", 5, false);
    zip_end(&made);
    for (size_t i = 0; i < made.file.len * 8; i++) {
        struct zip z;

        made.file.at[i / 8] ^= (char)(1 << i % 8);
        if (zip_open(&z, "x", made.file.at, made.file.len) == SHOAL_OK)
            for (size_t m = 0; m < z.n; m++) {
                const char *at;
                void *ours;

                if (zip_read(&z, &z.at[m], &at, &ours) == SHOAL_OK) {
                    const char *want = z.at[m].size == 7 ? "one two" : "three";

                    assert_memory_equal(at, want, strlen(want));
                    mem_unmap(ours, z.at[m].size);
                }
            }
        zip_close(&z);
        made.file.at[i / 8] ^= (char)(1 << i % 8);
    }
    zip_made_fini(&made);
}

/* Changes a byte of the directory, at `offset` of its second entry, and wants the sentence. */
static void assert_wrong(size_t offset, char value, shoal_status code, const char *sentence)
{
    struct zip_made made = {0};
    const char *at;
    struct zip z;
    void *ours;
    shoal_status st;

    zip_add(&made, "a", "one", 3, true);
    zip_add(&made, "b", "two", 3, true);
    made.directory.at[47 + offset] = value;
    zip_end(&made);
    st = zip_open(&z, "x", made.file.at, made.file.len);
    if (st == SHOAL_OK)
        st = zip_read(&z, &z.at[1], &at, &ours);
    assert_int_equal(st, code);
    assert_string_equal(shoal_error(), sentence);
    zip_close(&z);
    zip_made_fini(&made);
}

static void what_is_wrong_with_a_member_is_said_by_its_name(void **state)
{
    (void)state;
    assert_wrong(8, 1, SHOAL_EFORMAT, "x: `b` in it is encrypted, want it plain");
    assert_wrong(10, 12, SHOAL_EFORMAT, "x: `b` in it is packed by another way than deflate");
    assert_wrong(16, 99, SHOAL_EFORMAT,
                 "x: `b` in it does not have the CRC-32 that the directory says");
    assert_wrong(24, 4, SHOAL_EFORMAT,
                 "x: `b` in it becomes another number of bytes than the directory says");
    assert_wrong(24, 2, SHOAL_EFORMAT,
                 "x: `b` in it becomes another number of bytes than the directory says");
    assert_wrong(27, 1, SHOAL_EFORMAT, "x: `b` in it says that it becomes more than deflate can");
    assert_wrong(20, 99, SHOAL_EFORMAT, "x: `b` in it is cut off");
    assert_wrong(42, 1, SHOAL_EFORMAT, "x: `b` in it does not begin where the directory says");
    assert_wrong(42, 0, SHOAL_EFORMAT, "x: `b` in it has another name there than in the directory");
    assert_wrong(46, 'a', SHOAL_EFORMAT,
                 "x: `a` in it has another name there than in the directory");
    assert_wrong(10, 0, SHOAL_EFORMAT, "x: `b` in it is stored, and has two sizes");
}

/* Two entries for the same bytes: so small archives become huge. */
static void members_that_overlap_and_names_that_repeat_are_refused(void **state)
{
    struct zip_made made = {0};
    struct zip z;

    (void)state;
    zip_add(&made, "a", "PK\3\4\24\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0b-", 32, false);
    zip_add(&made, "b", "-", 1, false);
    made.directory.at[47 + 42] = 31; /* within a */
    zip_end(&made);
    assert_int_equal(zip_open(&z, "x", made.file.at, made.file.len), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "x: `b` in it overlaps another");
    zip_made_fini(&made);
    made = (struct zip_made){0};
    zip_add(&made, "a", "1", 1, false);
    zip_add(&made, "a", "2", 1, false);
    zip_end(&made);
    assert_int_equal(zip_open(&z, "x", made.file.at, made.file.len), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "x: `a` in it stands there twice");
    zip_made_fini(&made);
}

static void a_member_that_is_a_bomb_is_refused_before_memory_is_taken(void **state)
{
    struct zip_made made = {0};
    size_t len = (size_t)256 << 20;
    char *zeros = mem_map(len);
    const char *at;
    struct zip z;
    void *ours;

    (void)state;
    zip_add(&made, "bomb", zeros, len, true);
    zip_end(&made);
    mem_unmap(zeros, len);
    assert_int_equal(zip_open(&z, "x", made.file.at, made.file.len), SHOAL_OK);
    assert_int_equal(zip_read(&z, &z.at[0], &at, &ours), SHOAL_ELIMIT);
    assert_error_has("x: `bomb` in it: ");
    assert_error_has(" compressed bytes become 268435456, want at most 100 times as many");
    assert_null(ours);
    zip_close(&z);
    zip_made_fini(&made);
}

#define HERE(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HERE(stored_and_deflated_members_are_read_with_zip64_and_without),
        HERE(a_comment_behind_the_end_is_skipped),
        HERE(a_cut_is_found_at_every_byte),
        HERE(no_changed_byte_gives_other_bytes),
        HERE(what_is_wrong_with_a_member_is_said_by_its_name),
        HERE(members_that_overlap_and_names_that_repeat_are_refused),
        HERE(a_member_that_is_a_bomb_is_refused_before_memory_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
