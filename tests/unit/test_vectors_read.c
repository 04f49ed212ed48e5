/* data: vectors_*.c, what other programs write, and what nobody should. */
#include "vectors.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading text --------------------------------------------------------------------- */

static void assert_holds(const char *text, enum shoal_format format, const char *words,
                         const float *values)
{
    struct bytes found = {0};
    shoal_vectors *v;
    float row[16];

    put_text("good", text);
    v = reopen("good");
    assert_int_equal(shoal_vectors_format(v), format);
    for (uint32_t id = 0; id < shoal_vectors_size(v); id++) {
        bytes_add(&found, shoal_vectors_word(v, id), strlen(shoal_vectors_word(v, id)));
        bytes_add(&found, "|", 1);
        ok(shoal_vectors_row(v, id, row));
        assert_memory_equal(row, values + id * shoal_vectors_dim(v),
                            shoal_vectors_dim(v) * sizeof *row);
        assert_int_equal(shoal_vectors_count(v, id), 0);
    }
    bytes_add(&found, "", 1);
    assert_string_equal(found.at, words);
    bytes_fini(&found);
    shoal_vectors_close(v);
}

static void text_of_other_programs_is_read(void **state)
{
    float abc[] = {1, -2.5f, 3, 4e-3f};

    (void)state;
    assert_holds("2 2\na 1 -2.5\nb 3 4e-3\n", SHOAL_FORMAT_TEXT, "a|b|", abc);
    assert_holds("2 2\na 1 -2.5 \nb 3 0.004 \n", SHOAL_FORMAT_TEXT, "a|b|", abc);
    assert_holds("2 2\r\na 1 -2.5\r\nb 3 4e-3\r\n\r\n", SHOAL_FORMAT_TEXT, "a|b|", abc);
    assert_holds("2\t2\na\t1\t-2.5\nb\t3  4e-3", SHOAL_FORMAT_TEXT, "a|b|", abc);
    assert_holds("a 1 -2.5\nb 3 4e-3\n", SHOAL_FORMAT_GLOVE, "a|b|", abc);
    assert_holds("7 1 -2.5\n1 3 4e-3\n", SHOAL_FORMAT_GLOVE, "7|1|", abc);
    assert_holds(". . . 1 -2.5\nat a@b.c 3 4e-3\n", SHOAL_FORMAT_GLOVE, ". . .|at a@b.c|", abc);
    assert_holds("a\xc2\xa0"
                 "b 1 -2.5\n\xe2\x80\xa8 3 4e-3",
                 SHOAL_FORMAT_GLOVE,
                 "a\xc2\xa0"
                 "b|\xe2\x80\xa8|",
                 abc);
}

static void *feed_pipe(void *path)
{
    int fd = open(path, O_WRONLY);
    ssize_t n = write(fd, "2 2\na 1 2\nb 3 4\n", 16);

    close(fd);
    return n == 16 ? path : NULL;
}

/* Who opens it twice may take from the writer its reader: then one of them waits for ever. */
static void a_pipe_is_opened_once(void **state)
{
    char events[sizeof(struct inotify_event)]; /* one at a time: a file's have no name */
    pthread_t writer;
    int watch = inotify_init1(IN_NONBLOCK);

    (void)state;
    alarm(120);
    assert_int_equal(mkfifo("p", 0600), 0);
    assert_true(inotify_add_watch(watch, "p", IN_CLOSE) >= 0);
    for (int i = 0; i < 10; i++) {
        size_t closed = 0;
        void *written;

        pthread_create(&writer, NULL, feed_pipe, "p");
        shoal_vectors_close(reopen("p"));
        pthread_join(writer, &written);
        assert_non_null(written);
        while (read(watch, events, sizeof events) > 0)
            closed++;
        assert_int_equal(closed, 2); /* by the writer and then by us */
    }
    alarm(0);
    close(watch);
}

static void malformed_text_is_told_by_its_line(void **state)
{
    (void)state;
    assert_text_refused("", "no vectors");
    assert_text_refused("hello\n", "no vectors");
    assert_text_refused("2 2\n", "holds 0 lines of vectors, its first line says 2");
    assert_text_refused("0 2\n", "holds 0 words, want 1 to");
    assert_text_refused("1 0\na\n", "have 0 numbers");
    assert_text_refused("2 2\na 1 2\n", "holds 1 lines of vectors, its first line says 2");
    assert_text_refused("1 2\na 1 2\nb 1 2\n", "holds 2 lines of vectors, its first line says 1");
    assert_text_refused("2 2\na 1 2\nb 1\n", "line 3 has 2 fields, want a word and 2 numbers");
    assert_text_refused("2 2\na 1 2\nb 1 2 3\n", "line 3 has more than 2 numbers");
    assert_text_refused("2 2\na 1 2\nb 1 x\n", "line 3: `x` is no finite number");
    assert_text_refused("a 1 2\nb nan 2\n", "line 2: `nan` is no finite number");
    assert_text_refused("a 1 2\nb inf 2\n", "line 2: `inf` is no finite number");
    assert_text_refused("a 1 2\nb 1e40 2\n", "line 2: `1e40` is no finite number");
    assert_text_refused("a 1 2\n\nb 1\n", "line 3 has 2 fields");
    assert_text_refused("4000000000 1000000\na 1.5\n", "holds 1 lines");
    assert_text_refused("1 4000000000\na 1.5\n", "have 4000000000 numbers, want 1 to 1048576");
}

/* Each of the short lines would take as many numbers as the first. */
static void a_long_first_line_does_not_take_memory_for_all(void **state)
{
    struct bytes b = {0};

    (void)state;
    bytes_add(&b, "a", 1);
    for (int i = 0; i < 1000000; i++)
        bytes_add(&b, " 1", 2);
    for (int i = 0; i < 1000000; i++)
        bytes_add(&b, "\nb 1", 4);
    put_file("bad", b.at, b.len);
    assert_refused("bad", "too few for 1000000 numbers in each");
    bytes_fini(&b);
}

static void compressed_text_is_read(void **state)
{
    shoal_vectors *v;

    (void)state;
    put_text("v.vec", "2 2\na 1 2\nb 3 4\n");
    assert_int_equal(system("gzip v.vec && mv v.vec.gz odd.name"), 0);
    v = reopen("odd.name");
    assert_int_equal(shoal_vectors_size(v), 2);
    shoal_vectors_close(v);
}

static void vectors_that_are_a_bomb_are_refused(void **state)
{
    (void)state;
    assert_int_equal(system("{ echo '9 9'; head -c 1G /dev/zero; } | zstd -q >v.vec.zst"), 0);
    assert_refused("v.vec.zst", "want at most 100 times as many");
    assert_int_equal(system("{ echo '9 9'; head -c 256M /dev/zero; } | gzip -1 >v.vec.gz"), 0);
    assert_refused("v.vec.gz", "want at most 100 times as many");
}

/* ---- reading binary ------------------------------------------------------------------- */

#define ONE "\0\0\x80\x3f"
#define TWO "\0\0\0\x40"

static void assert_bytes_refused(const char *data, size_t len, const char *sentence)
{
    put_file("bad", data, len);
    assert_refused("bad", sentence);
}

#define BYTES_REFUSED(text, sentence) assert_bytes_refused(text, sizeof(text) - 1, sentence)

static void word2vec_is_read_with_newlines_and_without(void **state)
{
    static const char with[] = "2 1\na " ONE "\nb " TWO "\n", without[] = "2 1\na " ONE "b " TWO;
    shoal_vectors *a, *b;
    float row;

    (void)state;
    put_file("with", with, sizeof with - 1);
    put_file("without", without, sizeof without - 1);
    a = reopen("with");
    b = reopen("without");
    assert_same(a, b);
    assert_int_equal(shoal_vectors_format(a), SHOAL_FORMAT_WORD2VEC);
    ok(shoal_vectors_row(a, 1, &row));
    assert_true(row == 2);
    shoal_vectors_close(a);
    shoal_vectors_close(b);
}

static void malformed_word2vec_is_told_by_its_word(void **state)
{
    (void)state;
    BYTES_REFUSED("3 1\na " ONE "\nb \0\0", "promises 3 vectors of 1 numbers");
    BYTES_REFUSED("2 1\na " ONE "\nb \0\0", "word 2 of 2 is cut off");
    BYTES_REFUSED("2 1\nabcdefgh " ONE "\nb \0\0", "word 2 of 2 is cut off");
    BYTES_REFUSED("1 1\na " ONE "\nb" ONE, "5 bytes behind the last of 1 vectors");
    BYTES_REFUSED("4000000000 1000\na " ONE, "promises 4000000000 vectors");
    BYTES_REFUSED("18446744073709551615 1\na " ONE, "holds 18446744073709551615 words");
    BYTES_REFUSED("1 1\na \0\0\x80\x7f", "vector 1, of `a`, holds a NaN or an infinity");
    BYTES_REFUSED("1 1\na \x01\0\xc0\xff", "vector 1, of `a`, holds a NaN or an infinity");
    BYTES_REFUSED("1 1\n " ONE, "of 1 words all are empty, want 1 or more");
    BYTES_REFUSED("1 1\na\1\nb " ONE, "word 1 of 1 holds a newline");
    BYTES_REFUSED("1 1\na\0b " ONE, "word 1 holds a NUL byte");
}

/* ---- NumPy ---------------------------------------------------------------------------- */

static void put_npy(unsigned version, const char *dict, const char *data, size_t len)
{
    struct bytes b = {0};
    size_t n = strlen(dict);
    char head[12] = "\x93NUMPY", size[] = {(char)(n & 0xff), (char)(n >> 8), 0, 0};

    head[6] = (char)version;
    memcpy(head + 8, size, 4);
    bytes_add(&b, head, version == 1 ? 10 : 12);
    bytes_add(&b, dict, n);
    bytes_add(&b, data, len);
    put_file("v.npy", b.at, b.len);
    bytes_fini(&b);
}

static void every_version_of_numpy_is_read(void **state)
{
    float row[2];

    (void)state;
    put_text("v.npy.vocab", "a b\n");
    for (unsigned version = 1; version <= 3; version++) {
        shoal_vectors *v;

        put_npy(version, "{'shape': (1, 2), 'descr': '<f4', 'fortran_order': False}  \n", ONE TWO,
                8);
        v = reopen("v.npy");
        ok(shoal_vectors_row(v, 0, row));
        assert_true(row[0] == 1 && row[1] == 2);
        assert_string_equal(shoal_vectors_word(v, 0), "a b");
        shoal_vectors_close(v);
    }
}

static void malformed_numpy_is_refused(void **state)
{
    static const struct {
        unsigned version;
        const char *dict, *sentence;
    } cases[] = {
        {4, "", "NumPy's version 4"},
        {1, "", "its header says no order of rows and columns"},
        {1, "{'fortran_order': False, 'shape': (1, 2)}", "its numbers are of a type unknown"},
        {1, "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2)}",
         "its numbers are <i4, want floats: f2, f4 or f8"},
        {1, "{'descr': '|O', 'fortran_order': False, 'shape': (1, 2)}", "its numbers are |O"},
        {1, "{'descr': '<f16', 'fortran_order': False, 'shape': (1, 2)}", "its numbers are <f16"},
        {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2)}", "want 16 for 1 x 2"},
        {1, "{'descr': '<f4', 'fortran_order': Yes, 'shape': (1, 2)}", "says no order"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "its shape"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 1)}", "its shape"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, ", "its shape"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 2)}", "holds 0 words"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (9, 2)}", "want 72 for 9 x 2"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4000000000, 1000000)}", "want 16"},
    };

    (void)state;
    put_text("v.npy.vocab", "a\n");
    for (size_t i = 0; i < COUNT(cases); i++) {
        put_npy(cases[i].version, cases[i].dict, ONE TWO, 8);
        assert_refused("v.npy", cases[i].sentence);
    }
    BYTES_REFUSED("\x93NUMPY\1\0\xff\xff{", "its header of 65535 bytes is cut off after 1");
    BYTES_REFUSED("\x93NUMPY", "NumPy's version 0");
}

static void words_beside_must_be_as_many_as_rows(void **state)
{
    static const char *const words[] = {"", "a\n", "a\nb\nc\n", "\n\n"};
    static const char *const sentences[] = {"fewer than 2 words",
                                            "holds 1 words, want one for each of 2",
                                            "holds 3 words", "of 2 words all are empty"};

    (void)state;
    put_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1)}", ONE TWO, 8);
    assert_refused("v.npy", "has no words, want them as lines of v.npy.vocab");
    for (size_t i = 0; i < COUNT(words); i++) {
        put_text("v.npy.vocab", words[i]);
        assert_refused("v.npy", sentences[i]);
    }
}

/* ---- safetensors ---------------------------------------------------------------------- */

static void put_safetensors(const char *json, const char *data, size_t len)
{
    struct bytes b = {0};
    uint64_t n = strlen(json);

    bytes_add(&b, &n, 8);
    bytes_add(&b, json, (size_t)n);
    bytes_add(&b, data, len);
    put_file("v.safetensors", b.at, b.len);
    bytes_fini(&b);
}

/* With so many bytes of data: 1, 2, 1, 2. */
static void assert_tensor(const char *json, size_t bytes, const char *word)
{
    float row[2];
    shoal_vectors *v;

    put_safetensors(json, ONE TWO ONE TWO, bytes);
    v = reopen("v.safetensors");
    ok(shoal_vectors_row(v, 0, row));
    assert_true(row[0] == 1 && row[1] == 2);
    assert_string_equal(shoal_vectors_word(v, 0), word);
    shoal_vectors_close(v);
}

#define TENSOR "{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}"
#define BEHIND "{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[8,16]}"
#define WORDS "\"__metadata__\":{\"format\":\"pt\",\"words\":\"w\"}"

static void safetensors_of_other_programs_are_read(void **state)
{
    (void)state;
    assert_tensor("{" WORDS ",\"vectors\":" TENSOR "}", 8, "w");
    assert_tensor("{\"embedding.weight\":" TENSOR "," WORDS "}  \n", 8, "w");
    assert_tensor("{ \"other\" : " BEHIND " , \"vectors\" : " TENSOR " , " WORDS " } ", 16, "w");
    assert_tensor("{\"other\":" TENSOR ",\"vectors\":" BEHIND "," WORDS "}", 16, "w");
    assert_tensor("{\"bias\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8],\"x\":[{\"y\":"
                  "[1,-2.5e3,null,\"]\"]}]},\"w\":" BEHIND "," WORDS "}",
                  16, "w");
    assert_tensor(
        "{\"__metadata__\":{\"words\":\"\\u00e9\\ud83d\\ude00\\\"\\\\\\/\\t\"},\"v\":" TENSOR "}",
        8, "é😀\"\\/\t");
    put_text("v.safetensors.vocab", "beside\n");
    assert_tensor("{\"v\":" TENSOR "}", 8, "beside");
}

static void safetensors_that_break_a_promise_of_the_format_are_refused(void **state)
{
#define AT(from, to) "{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[" #from "," #to "]}"
    static const struct {
        const char *json, *sentence;
    } cases[] = {
        {"{\"v\":" TENSOR ",\"u\":" BEHIND "," WORDS "}", "2 tensors of two dimensions"},
        {"{\"v\":" TENSOR ",\"v\":" BEHIND "," WORDS "}", "two tensors named v"},
        {"{\"v\":" TENSOR ",\"\\u0076\":" BEHIND "," WORDS "}", "two tensors named v"},
        {"{" WORDS ",\"v\":" TENSOR ",\"u\":" BEHIND "," WORDS "}", "two __metadata__"},
        {"{\"v\":" TENSOR ",\"u\":" TENSOR "," WORDS "}", "no overlaps"},
        {"{\"v\":" BEHIND ",\"u\":" AT(0, 4) ",\"w\":" AT(0, 4) "}", "no overlaps"},
        {"{\"v\":" BEHIND ",\"u\":" AT(6, 10) "}", "no gaps"},
        {"{\"v\":" TENSOR ",\"u\":" AT(12, 16) "," WORDS "}", "no gaps"},
        {"{\"v\":" BEHIND "," WORDS "}", "no gaps"},
        {"{\"v\":" TENSOR ",\"u\":" AT(8, 12) "," WORDS "}", "want the 12 of its tensors"},
        {"{\"v\":" TENSOR "," WORDS "}", "16 bytes of data, want the 8"},
        {"{\"v\":" TENSOR ",\"u\":" AT(8, 16) "}", "do not fit"},
        {"{\"v\":" TENSOR ",\"u\":" AT(16, 20) "}", "do not fit"},
        {"{\"v\":" TENSOR ",\"u\":" AT(8, 18446744073709551615) "}", "do not fit"},
        {"{\"v\":" TENSOR ",\"u\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[8,16]}}",
         "do not fit"},
        {"{\"v\":" TENSOR ",\"u\":{\"dtype\":\"I8\",\"shape\":[4294967296,4294967296,2],"
         "\"data_offsets\":[8,16]}}",
         "beyond any memory"},
        {"{\"v\":" TENSOR ",\"u\":{\"dtype\":\"I8\",\"shape\":[1,1,1,1,1,1,1,1,8],"
         "\"data_offsets\":[8,16]}}",
         "9 dimensions"},
        {"{\"v\":" TENSOR ",\"u\":{\"dtype\":\"F32\",\"shape\":[2]}}", "do not fit"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        put_safetensors(cases[i].json, ONE TWO ONE TWO, 16);
        assert_refused("v.safetensors", cases[i].sentence);
    }
}

static void a_header_of_safetensors_has_100_mb_at_most(void **state)
{
    enum { LEN = 100000001 };
    char *json = malloc(LEN + 1);

    (void)state;
    memset(json, ' ', LEN);
    json[LEN] = '\0';
    memcpy(json, "{" WORDS ",\"v\":" TENSOR, strlen("{" WORDS ",\"v\":" TENSOR));
    json[LEN - 1] = '}';
    put_safetensors(json, ONE TWO, 8);
    assert_refused("v.safetensors", "a header of 100000001 bytes, want at most 100000000");
    json[LEN - 2] = '}';
    json[LEN - 1] = '\0';
    assert_tensor(json, 8, "w");
    free(json);
}

static void malformed_safetensors_are_refused(void **state)
{
    static const struct {
        const char *json, *sentence;
    } cases[] = {
        {"{", "no JSON"},
        {"{}", "8 bytes of data, want the 0 of its tensors"},
        {"{}x", "no JSON"},
        {"{\"v\":" TENSOR "," WORDS, "no JSON"},
        {"{\"v\":" TENSOR " " WORDS "}", "no JSON"},
        {"{\"v\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}," WORDS "}",
         "0 tensors of two dimensions"},
        {"{\"v\":{\"dtype\":\"F64\",\"shape\":[1,1],\"data_offsets\":[0,8]}}", "\"F64\""},
        {"{\"v\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,7]}}", "do not fit"},
        {"{\"v\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[8,0]}}", "do not fit"},
        {"{\"v\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[4,12]}}", "do not fit"},
        {"{\"vectors\":{\"dtype\":\"F32\",\"shape\":[0,2],\"data_offsets\":[0,0]},\"u\":" TENSOR
         "}",
         "holds 0 words"},
        {"{\"v\":{\"dtype\":\"F32\",\"shape\":[4000000000,1000000],\"data_offsets\":[0,8]}}",
         "do not fit"},
        {"{\"v\":{\"dtype\":\"F32\",\"shape\":[99999999999999999999,1],\"data_offsets\":[0,8]}}",
         "no JSON"},
        {"{\"v\":" TENSOR ",\"__metadata__\":{\"words\":7}}", "are no string"},
        {"{\"v\":" TENSOR ",\"__metadata__\":{\"words\":\"\\ud83d\"}}", "no JSON"},
        {"{\"v\":" TENSOR ",\"__metadata__\":{\"words\":\"\\x\"}}", "no JSON"},
        {"{\"v\":" TENSOR ",\"__metadata__\":{\"words\":\"a\\u0000b\"}}", "holds a NUL"},
        {"{\"v\":" TENSOR ",\"__metadata__\":{\"words\":\"a\\nb\"}}", "holds 2 words"},
        {"{\"v\":" TENSOR "}", "has no words, want them as lines of v.safetensors.vocab"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        put_safetensors(cases[i].json, ONE TWO, 8);
        assert_refused("v.safetensors", cases[i].sentence);
    }
    BYTES_REFUSED("\xff\xff\xff\xff\0\0\0\0{\"a",
                  "its header of 4294967295 bytes is cut off after 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HERE(text_of_other_programs_is_read),
        HERE(a_pipe_is_opened_once),
        HERE(malformed_text_is_told_by_its_line),
        HERE(a_long_first_line_does_not_take_memory_for_all),
        HERE(compressed_text_is_read),
        HERE(vectors_that_are_a_bomb_are_refused),
        HERE(word2vec_is_read_with_newlines_and_without),
        HERE(malformed_word2vec_is_told_by_its_word),
        HERE(every_version_of_numpy_is_read),
        HERE(malformed_numpy_is_refused),
        HERE(words_beside_must_be_as_many_as_rows),
        HERE(safetensors_of_other_programs_are_read),
        HERE(malformed_safetensors_are_refused),
        HERE(safetensors_that_break_a_promise_of_the_format_are_refused),
        HERE(a_header_of_safetensors_has_100_mb_at_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
