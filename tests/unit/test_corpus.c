/* data: corpus.c, from text to a mapped file of ids and back. */
#include "text/text.h"

#include <pthread.h>
#include <setjmp.h>
#include <sys/stat.h>

#include "scratch.h"

static struct shoal_encode_opts small_opts(void)
{
    struct shoal_encode_opts opts = shoal_encode_default();

    opts.vocab.min_count = 1;
    opts.vocab.memory = (uint64_t)1 << 22;
    opts.vocab.threads = 2;
    return opts;
}

static shoal_corpus *open_corpus(const char *path)
{
    shoal_corpus *c = NULL;

    if (shoal_corpus_open(&c, path) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return c;
}

static void encode(const char *out, const char *const *inputs, size_t n,
                   const struct shoal_encode_opts *opts, struct shoal_encode_stats *stats)
{
    if (shoal_encode(out, inputs, n, opts, stats) != SHOAL_OK)
        fail_msg("%s", shoal_error());
}

/* Words by name, sentence ends as "|". */
static struct bytes spelled(const shoal_corpus *c)
{
    const uint32_t *ids;
    struct bytes b = {0};
    size_t n;

    assert_int_equal(shoal_corpus_part(c, 0, 1, &ids, &n), SHOAL_OK);
    assert_int_equal(n, shoal_corpus_words(c) + shoal_corpus_sentences(c));
    for (size_t i = 0; i < n; i++) {
        bool end = ids[i] == SHOAL_SENTENCE_END;

        text_add_str(&b, end ? "|" : shoal_vocab_word(shoal_corpus_vocab(c), ids[i]));
        text_add_str(&b, " ");
    }
    bytes_add(&b, "", 1);
    return b;
}

static void assert_encodes(const char *text, const struct shoal_encode_opts *opts, const char *want)
{
    const char *in = scratch_put("text", text, strlen(text)), *out = scratch_path("c");
    struct shoal_encode_stats stats;
    struct bytes b;
    shoal_corpus *c;

    encode(out, &in, 1, opts, &stats);
    c = open_corpus(out);
    b = spelled(c);
    assert_string_equal(b.at, want);
    assert_int_equal(stats.ids, shoal_corpus_words(c));
    assert_int_equal(stats.sentences, shoal_corpus_sentences(c));
    shoal_corpus_close(c);
    bytes_fini(&b);
}

/* About `bytes` of lines of words w0.. with a few common ones; with every line
 * feed a space when `endless`. */
static struct bytes make_text(size_t bytes, bool endless)
{
    struct rng rng = {.seed = 3};
    struct bytes b = {0};
    char word[32];

    while (b.len < bytes) {
        uint64_t i = rng_below(&rng, 4) ? rng_below(&rng, 50) : rng_below(&rng, 8000);

        snprintf(word, sizeof word, i % 9 ? "w%llu" : "a-rather-long-%llu", (unsigned long long)i);
        text_add_str(&b, word);
        text_add_str(&b, rng_below(&rng, 12) || endless ? " " : "\n");
    }
    b.at[b.len - 1] = '\n';
    return b;
}

/* ---- what is written ------------------------------------------------------------- */

static void a_corpus_holds_the_words_of_the_text_in_order(void **state)
{
    struct shoal_encode_opts opts = small_opts();

    (void)state;
    assert_encodes("the cat sat\non the mat\n", &opts, "the cat sat | on the mat | ");
    assert_encodes("a", &opts, "a | ");
    assert_encodes("\n\na\n\n\nb c\n \n", &opts, "a | b c | ");
    opts.vocab.tokens = SHOAL_TOKENS_WORDS;
    assert_encodes("The CAT.\nthe cat!", &opts, "the cat | the cat | ");
}

static void memory_is_encoded_as_files_are(void **state)
{
    const char *out[] = {scratch_path("a"), scratch_path("b")};
    struct bytes text = make_text((size_t)5 << 20, false), file, other; /* several blocks */
    struct shoal_memory blocks[] = {{"-", text.at, 1000},
                                    {"rest", text.at + 1000, text.len - 1000}};
    struct shoal_encode_opts opts = small_opts();
    const char *in[] = {scratch_put("one", text.at, 1000),
                        scratch_put("two", text.at + 1000, text.len - 1000)};
    shoal_corpus *a, *b;

    (void)state;
    encode(out[0], in, 2, &opts, NULL);
    assert_int_equal(shoal_encode_memory(out[1], blocks, 2, &opts, NULL), SHOAL_OK);
    file = scratch_get(out[0]);
    other = scratch_get(out[1]);
    assert_int_equal(file.len, other.len);
    assert_memory_equal(file.at, other.at, file.len);
    a = open_corpus(out[0]);
    assert_int_equal(shoal_corpus_open_memory(&b, &(struct shoal_memory){"m", file.at, file.len}),
                     SHOAL_OK);
    memset(file.at, 0, file.len); /* it was copied */
    assert_true(shoal_corpus_fingerprint(a) == shoal_corpus_fingerprint(b));
    assert_int_equal(shoal_corpus_words(a), shoal_corpus_words(b));
    shoal_corpus_close(a);
    shoal_corpus_close(b);
    assert_int_equal(shoal_corpus_open_memory(&b, &(struct shoal_memory){"m", file.at, file.len}),
                     SHOAL_EFORMAT);
    assert_null(b);
    assert_int_equal(shoal_corpus_open_memory(&b, &(struct shoal_memory){.name = "m"}),
                     SHOAL_EFORMAT);
    blocks[0] = (struct shoal_memory){"bad", "a b \xff c", 7};
    assert_int_equal(shoal_encode_memory(out[1], blocks, 1, &opts, NULL), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "bad:1: byte 0xff at offset 4 is not UTF-8: convert it to UTF-8, "
                        "or read such bytes as spaces by --bad-bytes space");
    bytes_fini(&text);
    bytes_fini(&file);
    bytes_fini(&other);
}

static void sentences_of_which_nothing_is_kept_have_no_end(void **state)
{
    struct shoal_encode_opts opts = small_opts();

    (void)state;
    opts.vocab.min_count = 2;
    assert_encodes("x\na a y\nz\nq\nb b\nr", &opts, "a a | b b | ");
    assert_encodes("x a y\na\nx\n", &opts, "x a | a | x | ");
    opts.vocab.unk = true;
    assert_encodes("x\na a y\nb", &opts, "<UNK> | a a <UNK> | <UNK> | ");
}

static void a_given_vocabulary_decides_what_is_kept(void **state)
{
    struct shoal_encode_opts opts = small_opts();
    shoal_vocab *v;
    const char *in = scratch_put("other", "nothing of it\n", 14);

    (void)state;
    assert_int_equal(shoal_vocab_read_memory(&v, &(struct shoal_memory){"v", "b 9\na 3\n", 8}),
                     SHOAL_OK);
    opts.given = v;
    assert_encodes("a b c\nc\nb", &opts, "a b | b | ");
    assert_int_equal(shoal_encode(scratch_path("none"), &in, 1, &opts, NULL), SHOAL_EINVAL);
    assert_int_equal(access(scratch_path("none"), F_OK), -1);
    shoal_vocab_free(v);
    assert_int_equal(shoal_vocab_read_memory(&v, &(struct shoal_memory){"v", "b 9\n<UNK> 3\n", 12}),
                     SHOAL_OK);
    opts.given = v;
    assert_encodes("a b c\nc\nb", &opts, "<UNK> b <UNK> | <UNK> | b | ");
    shoal_vocab_free(v);
}

static void the_numbers_told_are_those_of_the_file(void **state)
{
    struct shoal_encode_opts opts = small_opts();
    struct shoal_encode_stats stats;
    const char *in = scratch_put("text", "a b a c\nd\na b\n", 14), *out = scratch_path("c");
    struct stat info;
    shoal_corpus *c;

    (void)state;
    opts.vocab.min_count = 2;
    encode(out, &in, 1, &opts, &stats);
    c = open_corpus(out);
    assert_int_equal(stats.ids, 5);
    assert_int_equal(stats.sentences, 2);
    assert_int_equal(stats.vocab.text.words, 7);
    assert_int_equal(stats.vocab.text.sentences, 3);
    assert_int_equal(stats.vocab.kept_words, 5);
    assert_int_equal(stats.vocab.types, 4);
    assert_int_equal(shoal_corpus_words(c), 5);
    assert_int_equal(shoal_corpus_sentences(c), 2);
    assert_int_equal(shoal_vocab_total(shoal_corpus_vocab(c)), 5);
    assert_int_equal(shoal_vocab_sentences(shoal_corpus_vocab(c)), 3);
    assert_int_equal(stat(out, &info), 0);
    assert_int_equal(stats.file_bytes, info.st_size);
    shoal_corpus_close(c);
    shoal_corpus_close(NULL);
}

/* The ids of a plain reading: one word after the other, one thread. */
static void assert_ids_of(const shoal_corpus *c, const struct bytes *text)
{
    const shoal_vocab *v = shoal_corpus_vocab(c);
    const uint32_t *ids;
    size_t n, k = 0, start = 0;

    assert_int_equal(shoal_corpus_part(c, 0, 1, &ids, &n), SHOAL_OK);
    for (size_t i = 0; i < text->len; i++) {
        if ((unsigned char)text->at[i] > ' ')
            continue;
        if (i > start) {
            uint32_t id = shoal_vocab_find(v, text->at + start, i - start);

            if (id != SHOAL_NO_ID && (k >= n || ids[k++] != id))
                fail_msg("a wrong id for the word at byte %zu", start);
        }
        if (text->at[i] == '\n' && k > 0 && ids[k - 1] != SHOAL_SENTENCE_END)
            assert_int_equal(ids[k++], SHOAL_SENTENCE_END);
        start = i + 1;
    }
    assert_int_equal(k, n);
}

static void the_file_is_the_same_for_any_threads(void **state)
{
    static const unsigned threads[] = {1, 2, 5, 16};

    (void)state;
    for (int endless = 0; endless < 2; endless++) {
        struct bytes text = make_text((size_t)5 << 20, endless), first = {0};
        const char *in = scratch_put("text", text.at, text.len), *out = scratch_path("c");
        struct shoal_encode_opts opts = small_opts();

        opts.vocab.min_count = 40;
        for (size_t i = 0; i < 4; i++) {
            struct bytes file;
            shoal_corpus *c;

            opts.vocab.threads = threads[i];
            encode(out, &in, 1, &opts, NULL);
            file = scratch_get(out);
            if (i == 0) {
                c = open_corpus(out);
                assert_ids_of(c, &text);
                shoal_corpus_close(c);
                first = file;
                continue;
            }
            assert_int_equal(file.len, first.len);
            assert_memory_equal(file.at, first.at, file.len);
            bytes_fini(&file);
        }
        bytes_fini(&first);
        bytes_fini(&text);
    }
}

static void many_files_make_the_corpus_of_their_lines(void **state)
{
    struct shoal_encode_opts opts = small_opts();
    struct bytes a, b;
    const char *parts[] = {scratch_put("p1", "a b", 3), scratch_put("p2", "c\nd", 3),
                           scratch_put("p3", "", 0), scratch_put("p4", "a", 1)};
    const char *whole = scratch_put("whole", "a b\nc\nd\n\na\n", 11);

    (void)state;
    encode(scratch_path("c1"), parts, 4, &opts, NULL);
    encode(scratch_path("c2"), &whole, 1, &opts, NULL);
    a = scratch_get(scratch_path("c1"));
    b = scratch_get(scratch_path("c2"));
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.at, b.at, a.len);
    bytes_fini(&a);
    bytes_fini(&b);
}

struct feed {
    const char *path;
    const struct bytes *data;
};

static void *feed_fifo(void *arg)
{
    const struct feed *f = arg;
    FILE *out = fopen(f->path, "wb");

    if (out) {
        fwrite(f->data->at, 1, f->data->len, out);
        fclose(out);
    }
    return NULL;
}

static void a_pipe_makes_the_corpus_of_the_file(void **state)
{
    struct shoal_encode_opts opts = small_opts();
    struct shoal_encode_plan plan;
    struct bytes text = make_text((size_t)3 << 20, false), a, b;
    const char *file = scratch_put("text", text.at, text.len), *fifo = scratch_path("fifo");
    pthread_t writer;
    size_t files;

    (void)state;
    encode(scratch_path("c1"), &file, 1, &opts, NULL);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(shoal_encode_plan(&plan, scratch_path("piped"), &fifo, 1, &opts), SHOAL_OK);
    assert_true(plan.streamed);
    assert_int_equal(plan.disk_bytes, 0);
    files = scratch_count(scratch_dir);
    pthread_create(&writer, NULL, feed_fifo, &(struct feed){fifo, &text});
    encode(scratch_path("piped"), &fifo, 1, &opts, NULL);
    pthread_join(writer, NULL);
    assert_int_equal(scratch_count(scratch_dir), files + 1);
    a = scratch_get(scratch_path("c1"));
    b = scratch_get(scratch_path("piped"));
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.at, b.at, a.len);
    unlink(fifo);
    unlink(scratch_path("piped"));
    bytes_fini(&a);
    bytes_fini(&b);
    bytes_fini(&text);
}

/* ---- what is refused ---------------------------------------------------------------- */

static void a_run_that_does_not_fit_its_memory_is_refused(void **state)
{
    struct shoal_encode_opts opts = small_opts();
    struct shoal_encode_plan plan;
    const char *in = scratch_put("text", "a b\n", 4), *out = scratch_path("refused");
    size_t files = scratch_count(scratch_dir);

    (void)state;
    assert_int_equal(shoal_encode_plan(&plan, out, &in, 1, &opts), SHOAL_OK);
    assert_int_equal(plan.input_bytes, 4);
    assert_false(plan.streamed);
    assert_int_equal(plan.memory_bytes, plan.buffer_bytes + plan.vocab_bytes);
    assert_true(plan.memory_free > 0);
    opts.memory_limit = plan.memory_bytes - 1;
    assert_int_equal(shoal_encode(out, &in, 1, &opts, NULL), SHOAL_ELIMIT);
    assert_non_null(strstr(shoal_error(), "memory"));
    assert_int_equal(scratch_count(scratch_dir), files);
    opts.memory_limit = plan.memory_bytes;
    encode(out, &in, 1, &opts, NULL);
    unlink(out);
}

static bool stop_encoding(void *user, const struct shoal_progress *progress)
{
    return strcmp(progress->phase, user) != 0;
}

static void a_failure_leaves_nothing_in_the_folder(void **state)
{
    struct shoal_encode_opts opts = small_opts();
    struct bytes text = make_text((size_t)3 << 20, false);
    const char *out = scratch_path("failed"), *in, *absent = scratch_path("absent");
    size_t files;

    (void)state;
    in = scratch_put("text", text.at, text.len);
    files = scratch_count(scratch_dir);
    opts.vocab.watch.fn = stop_encoding;
    for (opts.vocab.threads = 1; opts.vocab.threads < 6; opts.vocab.threads += 2) {
        opts.vocab.watch.user = "count";
        assert_int_equal(shoal_encode(out, &in, 1, &opts, NULL), SHOAL_ESTOP);
        opts.vocab.watch.user = "encode";
        assert_int_equal(shoal_encode(out, &in, 1, &opts, NULL), SHOAL_ESTOP);
        assert_int_equal(scratch_count(scratch_dir), files);
    }
    opts.vocab.watch.fn = NULL;
    assert_int_equal(shoal_encode(out, &absent, 1, &opts, NULL), SHOAL_ENOENT);
    text.at[text.len - 2] = '\x81';
    in = scratch_put("text", text.at, text.len);
    assert_int_equal(shoal_encode(out, &in, 1, &opts, NULL), SHOAL_EFORMAT);
    assert_int_equal(scratch_count(scratch_dir), files);
    bytes_fini(&text);
}

static void with_a_given_vocabulary_the_first_bad_byte_is_named_too(void **state)
{
    struct shoal_encode_opts opts = small_opts();
    struct bytes text = make_text((size_t)6 << 20, false);
    const char *in, *out = scratch_path("failed");
    shoal_vocab *v;
    char want[256];

    (void)state;
    for (size_t at = 1500000; at < text.len; at += 700000)
        text.at[at] = '\xff';
    in = scratch_put("text", text.at, text.len);
    assert_int_equal(shoal_vocab_read_memory(&v, &(struct shoal_memory){"v", "w1 9\n", 5}),
                     SHOAL_OK);
    opts.given = v;
    snprintf(want, sizeof want, "%s:21317: byte 0xff at offset 1500000 is not UTF-8: convert it to "
             "UTF-8, or read such bytes as spaces by --bad-bytes space", in);
    for (opts.vocab.threads = 1; opts.vocab.threads < 9; opts.vocab.threads++) {
        assert_int_equal(shoal_encode(out, &in, 1, &opts, NULL), SHOAL_EFORMAT);
        assert_string_equal(shoal_error(), want);
    }
    assert_int_equal(access(out, F_OK), -1);
    shoal_vocab_free(v);
    bytes_fini(&text);
}

static void an_old_file_stays_until_the_new_one_is_whole(void **state)
{
    struct shoal_encode_opts opts = small_opts();
    const char *good = scratch_put("good", "a b\n", 4), *bad = scratch_put("bad", "a\x81", 2);
    const char *out = scratch_path("c");
    shoal_corpus *c;

    (void)state;
    encode(out, &good, 1, &opts, NULL);
    assert_int_equal(shoal_encode(out, &bad, 1, &opts, NULL), SHOAL_EFORMAT);
    c = open_corpus(out);
    assert_int_equal(shoal_corpus_words(c), 2);
    shoal_corpus_close(c);
}

static void assert_refused(const char *path, const char *what, size_t at)
{
    shoal_corpus *c = (shoal_corpus *)&at;
    shoal_status st = shoal_corpus_open(&c, path);

    if (st == SHOAL_OK || c || !strstr(shoal_error(), path))
        fail_msg("%s at %zu: %s, %s", what, at, shoal_status_name(st), shoal_error());
}

static struct bytes corpus_file(void)
{
    struct shoal_encode_opts opts = small_opts();
    const char *in = scratch_put("text", "the cat sat\non the mat\nthe end\n", 31);

    encode(scratch_path("c"), &in, 1, &opts, NULL);
    return scratch_get(scratch_path("c"));
}

static void a_file_cut_short_anywhere_is_refused(void **state)
{
    struct bytes file = corpus_file();

    (void)state;
    for (size_t len = 0; len < file.len; len++)
        assert_refused(scratch_put("cut", file.at, len), "cut", len);
    bytes_add(&file, "", 1);
    assert_refused(scratch_put("cut", file.at, file.len), "longer", file.len);
    bytes_fini(&file);
}

static void a_file_with_any_byte_changed_is_refused(void **state)
{
    struct bytes file = corpus_file();

    (void)state;
    for (size_t at = 0; at < file.len; at++) {
        file.at[at] ^= (char)(1 << at % 8);
        assert_refused(scratch_put("flip", file.at, file.len), "flip", at);
        file.at[at] ^= (char)(1 << at % 8);
    }
    bytes_fini(&file);
}

/* Whole containers, every checksum right, whose contents make no sense. */
static void a_file_of_sound_sections_without_sense_is_refused(void **state)
{
    static const char *const kinds[] = {"kind corpus\n", "kind corpus\n", "kind corpus\n",
                                        "kind corpus\n", "kind corpus\n", "kind model\n",
                                        "words 5\n",     "kind corpus\n", "kind corpus\n"};
    const char *path = scratch_path("odd");

    (void)state;
    for (size_t k = 0; k < 9; k++) {
        uint32_t ids[] = {0, k == 0 ? 2 : 1, SHOAL_SENTENCE_END};
        uint64_t offsets[] = {k == 1 ? 1 : 0, k == 2 ? 1000 : 2, k == 3 ? 5 : 4};
        uint64_t counts[] = {2, 1}, sentences = 1;
        struct container_writer *w;

        assert_int_equal(container_create(&w, path), SHOAL_OK);
        container_put(w, "ids", ids, k == 7 ? 7 : sizeof ids);
        container_put(w, "vocab.words", k == 4 ? "a\0a" : "a\0b", 4);
        container_put(w, "vocab.offsets", offsets, sizeof offsets);
        container_put(w, "vocab.counts", counts, k == 8 ? 0 : sizeof counts);
        container_put(w, "vocab.sentences", &sentences, sizeof sentences);
        container_put(w, "meta", kinds[k], strlen(kinds[k]));
        assert_int_equal(container_commit(w), SHOAL_OK);
        assert_refused(path, "case", k);
    }
}

static void what_is_no_corpus_is_refused(void **state)
{
    (void)state;
    assert_refused(scratch_put("plain", "just some text\n", 15), "text", 0);
    assert_refused(scratch_path("nowhere"), "absent", 0);
    assert_refused(scratch_dir, "folder", 0);
}

/* ---- parts ------------------------------------------------------------------------------ */

static void parts_are_disjoint_in_order_and_cover_the_corpus(void **state)
{
    static const size_t counts[] = {1, 2, 3, 7, 9, 10, 11, 100, 1000003};
    struct bytes file = corpus_file();
    shoal_corpus *c = open_corpus(scratch_path("c"));
    const uint32_t *all, *ids;
    size_t total, n;

    (void)state;
    assert_int_equal(shoal_corpus_part(c, 0, 1, &all, &total), SHOAL_OK);
    assert_int_equal(total, 11);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        size_t seen = 0;

        for (size_t i = 0; i < counts[k]; i++) {
            assert_int_equal(shoal_corpus_part(c, i, counts[k], &ids, &n), SHOAL_OK);
            assert_ptr_equal(ids, all + seen);
            assert_true(n <= total / counts[k] + 1);
            seen += n;
        }
        assert_int_equal(seen, total);
    }
    assert_int_equal(shoal_corpus_part(c, SIZE_MAX - 1, SIZE_MAX, &ids, &n), SHOAL_OK);
    assert_ptr_equal(ids + n, all + total);
    assert_int_equal(shoal_corpus_part(c, 1, 1, &ids, &n), SHOAL_EINVAL);
    assert_int_equal(shoal_corpus_part(c, 0, 0, &ids, &n), SHOAL_EINVAL);
    shoal_corpus_close(c);
    bytes_fini(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_corpus_holds_the_words_of_the_text_in_order),
        cmocka_unit_test(memory_is_encoded_as_files_are),
        cmocka_unit_test(sentences_of_which_nothing_is_kept_have_no_end),
        cmocka_unit_test(a_given_vocabulary_decides_what_is_kept),
        cmocka_unit_test(the_numbers_told_are_those_of_the_file),
        cmocka_unit_test(the_file_is_the_same_for_any_threads),
        cmocka_unit_test(many_files_make_the_corpus_of_their_lines),
        cmocka_unit_test(a_pipe_makes_the_corpus_of_the_file),
        cmocka_unit_test(a_run_that_does_not_fit_its_memory_is_refused),
        cmocka_unit_test(a_failure_leaves_nothing_in_the_folder),
        cmocka_unit_test(with_a_given_vocabulary_the_first_bad_byte_is_named_too),
        cmocka_unit_test(an_old_file_stays_until_the_new_one_is_whole),
        cmocka_unit_test(a_file_cut_short_anywhere_is_refused),
        cmocka_unit_test(a_file_with_any_byte_changed_is_refused),
        cmocka_unit_test(a_file_of_sound_sections_without_sense_is_refused),
        cmocka_unit_test(what_is_no_corpus_is_refused),
        cmocka_unit_test(parts_are_disjoint_in_order_and_cover_the_corpus),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
