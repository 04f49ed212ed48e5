/* saved: vectors as other programs leave them: with byte-order marks, words twice, arrays of every
 * kind, and files that are something else. */
#include "vectors.h"
#include "zip.h"

#include <fcntl.h>
#include <unistd.h>

/* The words of vectors, each with a bar behind it. */
static void assert_words(const shoal_vectors *v, const char *want)
{
    struct bytes found = {0};

    for (uint32_t id = 0; id < shoal_vectors_size(v); id++) {
        bytes_add(&found, shoal_vectors_word(v, id), strlen(shoal_vectors_word(v, id)));
        bytes_add(&found, "|", 1);
    }
    bytes_add(&found, "", 1);
    assert_string_equal(found.at, want);
    bytes_fini(&found);
}

static void assert_rows(const shoal_vectors *v, const float *values)
{
    float row[16];

    for (uint32_t id = 0; id < shoal_vectors_size(v); id++) {
        ok(shoal_vectors_row(v, id, row));
        assert_memory_equal(row, values + id * shoal_vectors_dim(v),
                            shoal_vectors_dim(v) * sizeof *row);
    }
}

static void assert_file(const char *path, enum shoal_format format, const char *words,
                        const float *values)
{
    shoal_vectors *v = reopen(path);

    assert_int_equal(shoal_vectors_format(v), format);
    assert_words(v, words);
    assert_rows(v, values);
    shoal_vectors_close(v);
}

/* ---- byte-order marks -------------------------------------------------------------------- */

#define MARK "\xef\xbb\xbf"

static void a_byte_order_mark_before_text_is_skipped(void **state)
{
    static const float values[] = {1, -2.5f, 3, 4};

    (void)state;
    put_text("v", MARK "2 2\na 1 -2.5\nb 3 4\n");
    assert_file("v", SHOAL_FORMAT_TEXT, "a|b|", values);
    put_text("v", MARK "a 1 -2.5\nb 3 4\n");
    assert_file("v", SHOAL_FORMAT_GLOVE, "a|b|", values);
    put_text("v", MARK "a 1 -2.5\n" MARK "b 3 4\n"); /* elsewhere it is a part of the word */
    assert_file("v", SHOAL_FORMAT_GLOVE, "a|" MARK "b|", values);
    put_file("v", MARK "2 1\na \0\0\x80\x3f\nb \0\0\0\x40\n", 21);
    assert_file("v", SHOAL_FORMAT_WORD2VEC, "a|b|", (float[]){1, 2});
    put_text("v", MARK "2 2\na 1 2\nb 1 x\n");
    assert_refused("v", "v: line 3: `x` is no finite number");
    put_text("v", MARK);
    assert_refused("v", "v: 0 bytes that are no vectors");
}

/* ---- words twice, and none --------------------------------------------------------------- */

static void assert_left(const char *path, const char *words, const float *values, uint64_t twice,
                        uint64_t empty, const char *sentence)
{
    shoal_vectors *v = reopen(path);
    struct shoal_left_out left = shoal_vectors_left_out(v);

    assert_words(v, words);
    assert_rows(v, values);
    assert_int_equal(left.twice, twice);
    assert_int_equal(left.empty, empty);
    ok(shoal_vectors_verify(v));
    for (uint32_t id = 0; id < shoal_vectors_size(v); id++)
        assert_int_equal(
            shoal_vectors_find(v, shoal_vectors_word(v, id), strlen(shoal_vectors_word(v, id))),
            id);
    if (sentence) {
        assert_int_equal(shoal_vectors_strict(v), SHOAL_EFORMAT);
        assert_string_equal(shoal_error(), sentence);
    } else {
        ok(shoal_vectors_strict(v));
    }
    shoal_vectors_close(v);
}

static void of_words_that_stand_there_twice_the_first_is_kept(void **state)
{
    static const float kept[] = {1, 2, 3, 4, 9, 10};

    (void)state;
    put_text("v", "5 2\na 1 2\nb 3 4\na 5 6\nb 7 8\nc 9 10\n");
    assert_left("v", "a|b|c|", kept, 2, 0,
                "v: line 4: the word `a` stands there twice, first in line 2");
    put_text("v", "a 1 2\r\n\r\nb 3 4\r\nb 7 8\r\nc 9 10");
    assert_left("v", "a|b|c|", kept, 1, 0,
                "v: line 4: the word `b` stands there twice, first in line 3");
    put_file("v", "3 1\na \0\0\x80\x3f\na \0\0\0\x40\nb \0\0\0\x40\n", 25);
    assert_left("v", "a|b|", (float[]){1, 2}, 1, 0,
                "v: the word `a` stands there twice, as 1 and as 2");
    put_text("v", "a 1 2\nb 3 4\n");
    assert_left("v", "a|b|", kept, 0, 0, NULL);
}

static void rows_without_a_word_are_left_out(void **state)
{
    static const float kept[] = {1, 2, 5, 6};

    (void)state;
    put_text("v", "4 2\na 1 2\n 3 4\nb 5 6\na 7 8\n");
    assert_left("v", "a|b|", kept, 1, 1, "v: line 3 has no word");
    put_text("v", " 3 4\na 1 2\nb 5 6\n");
    assert_left("v", "a|b|", kept, 0, 1, "v: line 1 has no word");
    put_file("v", "3 1\na \0\0\x80\x3f\n \0\0\0\x40\nb \0\0\0\x40\n", 24);
    assert_left("v", "a|b|", (float[]){1, 2}, 0, 1, "v: word 2 is empty");
    put_text("v", " 1 2\n 3 4\n");
    assert_refused("v", "v: of 2 words all are empty, want 1 or more");
}

static void many_rows_that_are_left_out_leave_the_others_as_they_are(void **state)
{
    enum { N = 30000 };
    struct bytes b = {0};
    shoal_vectors *v;
    float row[8];

    (void)state;
    for (unsigned i = 0; i < N; i++)
        bytes_print(&b, "w%u %u 1 2 3 4 5 6 7\n", i % 3 == 2 ? i - 1 : i, i);
    put_file("v", b.at, b.len);
    bytes_fini(&b);
    v = reopen("v");
    assert_int_equal(shoal_vectors_size(v), N / 3 * 2);
    assert_int_equal(shoal_vectors_left_out(v).twice, N / 3);
    for (uint32_t id = 0; id < N / 3 * 2; id++) {
        char word[16];

        snprintf(word, sizeof word, "w%u", id / 2 * 3 + id % 2);
        assert_string_equal(shoal_vectors_word(v, id), word);
        ok(shoal_vectors_row(v, id, row));
        assert_true(row[0] == (float)(id / 2 * 3 + id % 2) && row[7] == 7);
    }
    shoal_vectors_close(v);
}

/* ---- NumPy ------------------------------------------------------------------------------- */

static struct bytes npy_of(const char *descr, bool by_columns, const char *shape, const void *data,
                           size_t len)
{
    struct bytes b = {0}, dict = {0};
    uint16_t n;

    bytes_print(&dict, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr,
                by_columns ? "True" : "False", shape);
    n = (uint16_t)dict.len;
    bytes_add(&b, "\x93NUMPY\1\0", 8);
    bytes_add(&b, &n, 2);
    bytes_add(&b, dict.at, dict.len);
    bytes_add(&b, data, len);
    bytes_fini(&dict);
    return b;
}

/* The numbers 1 .. 6 as NumPy has them: rows of (1, 2, 3) and (4, 5, 6). */
static struct bytes six(size_t size, bool big, bool by_columns)
{
    static const uint16_t half[] = {0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600};
    char descr[] = {big ? '>' : '<', 'f', (char)('0' + size), '\0'};
    struct bytes data = {0}, b;

    for (size_t i = 0; i < 6; i++) {
        size_t which = by_columns ? i % 2 * 3 + i / 2 : i;
        double d = (double)which + 1;
        float f = (float)d;
        char bits[8];

        memcpy(bits,
               size == 2   ? (const void *)&half[which]
               : size == 4 ? (void *)&f
                           : (void *)&d,
               size);
        for (size_t k = 0; k < size; k++)
            bytes_add(&data, &bits[big ? size - 1 - k : k], 1);
    }
    b = npy_of(descr, by_columns, "(2, 3)", data.at, data.len);
    bytes_fini(&data);
    return b;
}

static const float one_to_six[] = {1, 2, 3, 4, 5, 6};

static void floats_of_every_size_and_order_are_read(void **state)
{
    (void)state;
    put_text("v.npy.vocab", MARK "a\nb");
    for (size_t size = 2; size <= 8; size *= 2)
        for (unsigned how = 0; how < 4; how++) {
            struct bytes b = six(size, how & 1, how & 2);
            shoal_vectors *v;

            put_file("v.npy", b.at, b.len);
            v = reopen("v.npy");
            assert_int_equal(shoal_vectors_dtype(v), size == 2 ? SHOAL_F16 : SHOAL_F32);
            assert_words(v, "a|b|");
            assert_rows(v, one_to_six);
            shoal_vectors_close(v);
            bytes_fini(&b);
        }
}

static void doubles_are_rounded_to_floats_or_refused(void **state)
{
    double data[] = {1.0 / 3, 1e300};
    struct bytes b = npy_of("<f8", false, "(1, 1)", data, 8);
    float third = 1.0f / 3;

    (void)state;
    put_text("v.npy.vocab", "a\n");
    put_file("v.npy", b.at, b.len);
    assert_file("v.npy", SHOAL_FORMAT_NPY, "a|", &third);
    bytes_fini(&b);
    b = npy_of("<f8", false, "(1, 1)", data + 1, 8);
    put_file("v.npy", b.at, b.len);
    assert_refused("v.npy", "v.npy: vector 1, of `a`, holds a NaN or an infinity");
    bytes_fini(&b);
}

static void lines_beside_an_array_may_repeat_or_be_empty(void **state)
{
    struct bytes b = six(4, true, false);

    (void)state;
    put_file("v.npy", b.at, b.len);
    put_text("v.npy.vocab", "a\na\n");
    assert_left("v.npy", "a|", one_to_six, 1, 0,
                "v.npy.vocab: line 2: the word `a` stands there twice, first in line 1");
    put_text("v.npy.vocab", "\nb\n");
    assert_left("v.npy", "b|", one_to_six + 3, 0, 1, "v.npy.vocab: line 1 has no word");
    bytes_fini(&b);
}

/* ---- .npz ---------------------------------------------------------------------------------- */

/* "é" and "日本" in characters of 4 bytes. */
static const char wide[] = "\xe9\0\0\0\0\0\0\0\xe5\x65\0\0\x2c\x67\0\0";
static const char wide_big[] = "\0\0\0\xe9\0\0\0\0\0\0\x65\xe5\0\0\x67\x2c";

struct member {
    const char *name;
    struct bytes array;
};

static void put_npz(const char *path, const struct member *members, size_t n, bool deflated)
{
    struct zip_made z = {0};

    for (size_t i = 0; i < n; i++)
        zip_add(&z, members[i].name, members[i].array.at, members[i].array.len, deflated);
    zip_end(&z);
    put_file(path, z.file.at, z.file.len);
    zip_made_fini(&z);
}

/* Vectors 1 .. 6 and a list of words; the words are ended. */
static void put_pair(const char *vectors, const char *words, struct bytes list, bool deflated)
{
    struct member members[] = {{words, list}, {vectors, six(4, false, false)}};

    put_npz("v.npz", members, 2, deflated);
    bytes_fini(&members[0].array);
    bytes_fini(&members[1].array);
}

static void arrays_of_an_npz_are_vectors_and_words(void **state)
{
    (void)state;
    for (unsigned deflated = 0; deflated < 2; deflated++) {
        put_pair("vectors.npy", "words.npy", npy_of("<U2", false, "(2,)", wide, 16), deflated);
        assert_file("v.npz", SHOAL_FORMAT_NPZ, "é|日本|", one_to_six);
        put_pair("arr_0.npy", "arr_1.npy", npy_of(">U2", false, "(2,)", wide_big, 16), deflated);
        assert_file("v.npz", SHOAL_FORMAT_NPZ, "é|日本|", one_to_six);
        put_pair("W.npy", "vocab.npy", npy_of("|S3", true, "(2,)", "abcd\0\0", 6), deflated);
        assert_file("v.npz", SHOAL_FORMAT_NPZ, "abc|d|", one_to_six);
    }
}

static void an_npz_may_have_other_arrays_and_its_words_beside(void **state)
{
    struct member members[] = {{"counts.npy", npy_of("<i8", false, "(1,)", "12345678", 8)},
                               {"other.npy", six(8, false, false)},
                               {"vectors.npy", six(8, true, true)},
                               {"words.txt", npy_of("<i8", false, "(1,)", "12345678", 8)}};

    (void)state;
    put_npz("v.npz", members, 4, true);
    assert_refused("v.npz", "v.npz: has no words, want them as lines of v.npz.vocab");
    put_text("v.npz.vocab", "x\ny\n");
    assert_file("v.npz", SHOAL_FORMAT_NPZ, "x|y|", one_to_six);
    put_npz("v.npz", members, 2, false);
    assert_file("v.npz", SHOAL_FORMAT_NPZ, "x|y|", one_to_six);
    for (size_t i = 0; i < COUNT(members); i++)
        bytes_fini(&members[i].array);
}

static void an_npz_with_words_twice_keeps_the_first(void **state)
{
    (void)state;
    put_pair("vectors.npy", "words.npy", npy_of("|S1", false, "(2,)", "aa", 2), true);
    assert_left("v.npz", "a|", one_to_six, 1, 0,
                "v.npz: the word `a` stands there twice, as 1 and as 2");
    put_pair("vectors.npy", "words.npy", npy_of("|S1", false, "(2,)", "\0a", 2), true);
    assert_left("v.npz", "a|", one_to_six + 3, 0, 1, "v.npz: word 1 is empty");
}

static void assert_npz_refused(const char *vectors, const char *words, struct bytes list,
                               const char *sentence)
{
    put_pair(vectors, words, list, true);
    assert_refused("v.npz", sentence);
}

static void an_npz_that_is_no_vectors_is_refused(void **state)
{
    struct member members[] = {{"a.npy", six(4, false, false)},
                               {"b.npy", six(4, false, false)},
                               {"c.txt", six(4, false, false)}};

    (void)state;
    put_npz("v.npz", members, 2, true);
    assert_refused("v.npz", "v.npz: 2 matrices of floats, want one, or one named `vectors`");
    put_npz("v.npz", members + 2, 1, true);
    assert_refused("v.npz", "v.npz: is a zip archive without arrays of NumPy, want one");
    for (size_t i = 0; i < 3; i++)
        bytes_fini(&members[i].array);
    assert_npz_refused("x.npy", "vectors.npy",
                       npy_of("<i4", false, "(2, 2)", "0123456789abcdef", 16),
                       "v.npz: its numbers are <i4, want floats: f2, f4 or f8");
    assert_npz_refused("v.npy", "words.npy", npy_of("|O", false, "(2,)", "pickle", 6),
                       "v.npz: its words are objects of Python's, want texts: save them as "
                       "numpy.array(words, dtype=str)");
    assert_npz_refused("v.npy", "words.npy", npy_of("<f4", false, "(2,)", "01234567", 8),
                       "v.npz: its words are <f4 of 1 dimensions, want a list of texts: U or S");
    assert_npz_refused("v.npy", "words.npy", npy_of("|S1", false, "(3,)", "abc", 3),
                       "v.npz: holds 3 words, want one for each of 2 vectors");
    assert_npz_refused("v.npy", "words.npy", npy_of("|S1", false, "(2,)", "abc", 3),
                       "v.npz: 3 bytes of words, which are not 2 of |S1");
    assert_npz_refused("v.npy", "words.npy", npy_of("<U1", false, "(2,)", "\0\xd8\0\0a\0\0\0", 8),
                       "v.npz: word 1 of its words is no Unicode text");
    assert_npz_refused("v.npy", "words.npy", npy_of("|S3", false, "(2,)", "a\0bccc", 6),
                       "v.npz: word 1 holds a NUL byte");
    assert_npz_refused("v.npy", "words.npy", npy_of("|S99999999999999999999", false, "(2,)", "", 0),
                       "v.npz: its words are |S99999999999999999999 of 1 dimensions");
}

/* ---- files that are something else -------------------------------------------------------- */

static void what_is_no_vectors_is_said_by_its_name(void **state)
{
    static const char text[] = "want vectors: `shoal train skipgram` makes them of text";
    char want[200];

    (void)state;
    snprintf(want, sizeof want, "x: is a vocabulary, %s", text);
    put_text("x", "the 100\ncat 7\n");
    assert_refused("x", want);
    put_text("x", "</s> 3\nthe 100\ncat 7\n");
    assert_refused("x", want);
    put_text("x", "3 5\nthe 100\n");
    assert_refused("x", want);
    put_text("x", "7 1\nthe 1\ncat 1\n");
    assert_refused("x", want);
    put_file("x", "\xba\x16\x4f\x2f\x0c\0\0\0\x64\0\0\0", 12);
    assert_refused("x", "x: ends within its args: 4 bytes are left, want 1 times 48");
    put_file("x", "\x80\x04\x95\x10\0\0\0\0\0\0\0\x8c", 12);
    assert_refused("x", "x: is a pickle of Python's, want vectors: gensim's save_word2vec_format");
    put_text("x", "hello\n");
    assert_refused("x", "x: 6 bytes that are no vectors, want word2vec, fastText, GloVe, NumPy, "
                        "safetensors or our own");
}

/* Files of one number a word are vectors when they say so, or when it is no count. */
static void vectors_of_one_number_are_no_vocabulary(void **state)
{
    static const float values[] = {1, 2};

    (void)state;
    put_text("v", "2 1\nthe 1\ncat 2\n");
    assert_file("v", SHOAL_FORMAT_TEXT, "the|cat|", values);
    put_text("v", "the 1.0\ncat 2\n");
    assert_file("v", SHOAL_FORMAT_GLOVE, "the|cat|", values);
}

static void glove_refuses_to_write_what_would_be_a_vocabulary(void **state)
{
    shoal_vectors *v = make((const char *[]){"a", "b"}, 2, 1, (float[]){3, 2});
    struct shoal_save_opts opts = shoal_save_default();

    (void)state;
    assert_int_equal(shoal_vectors_save(v, "v.glove", &opts), SHOAL_EINVAL);
    assert_string_equal(shoal_error(),
                        "v.glove: words with one whole number each would be read as a vocabulary");
    shoal_vectors_close(v);
}

static void a_vocabulary_is_recognised_compressed_too(void **state)
{
    (void)state;
    put_text("vocab", "the 100\ncat 7\n");
    assert_true(shoal_vocab_recognise("vocab"));
    assert_int_equal(system("gzip -k vocab && bzip2 -k vocab && xz -k vocab"), 0);
    assert_true(shoal_vocab_recognise("vocab.gz"));
    assert_true(shoal_vocab_recognise("vocab.bz2"));
    assert_true(shoal_vocab_recognise("vocab.xz"));
    assert_refused("vocab.xz", "vocab.xz: is a vocabulary, want vectors: ");
    put_text("vectors", "2 2\na 1 2\nb 3 4\n");
    assert_false(shoal_vocab_recognise("vectors"));
    assert_false(shoal_vocab_recognise("nowhere"));
    assert_false(shoal_vocab_recognise("."));
}

static void every_format_is_read_compressed(void **state)
{
    static const char *const tools[] = {"gzip", "zstd -q --rm", "bzip2", "xz"};
    static const char *const ends[] = {"gz", "zst", "bz2", "xz"};
    shoal_vectors *v = make_small();

    (void)state;
    for (size_t i = 0; i < COUNT(all); i++)
        for (size_t k = 0; k < COUNT(tools); k++) {
            struct shoal_save_opts opts = shoal_save_default();
            char command[100], path[64];
            shoal_vectors *back;

            ok(shoal_vectors_save(v, all[i].file, &opts));
            snprintf(command, sizeof command, "%s %s", tools[k], all[i].file);
            assert_int_equal(system(command), 0);
            snprintf(path, sizeof path, "%s.%s", all[i].file, ends[k]);
            if (all[i].format == SHOAL_FORMAT_NPY) {
                snprintf(command, sizeof command, "%s.vocab", path);
                assert_int_equal(rename("v.npy.vocab", command), 0);
            }
            back = reopen(path);
            assert_int_equal(shoal_vectors_format(back), all[i].format);
            assert_same(v, back);
            shoal_vectors_close(back);
        }
    shoal_vectors_close(v);
}

#define HERE(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HERE(a_byte_order_mark_before_text_is_skipped),
        HERE(of_words_that_stand_there_twice_the_first_is_kept),
        HERE(rows_without_a_word_are_left_out),
        HERE(many_rows_that_are_left_out_leave_the_others_as_they_are),
        HERE(floats_of_every_size_and_order_are_read),
        HERE(doubles_are_rounded_to_floats_or_refused),
        HERE(lines_beside_an_array_may_repeat_or_be_empty),
        HERE(arrays_of_an_npz_are_vectors_and_words),
        HERE(an_npz_may_have_other_arrays_and_its_words_beside),
        HERE(an_npz_with_words_twice_keeps_the_first),
        HERE(an_npz_that_is_no_vectors_is_refused),
        HERE(what_is_no_vectors_is_said_by_its_name),
        HERE(vectors_of_one_number_are_no_vocabulary),
        HERE(glove_refuses_to_write_what_would_be_a_vocabulary),
        HERE(a_vocabulary_is_recognised_compressed_too),
        HERE(every_format_is_read_compressed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
