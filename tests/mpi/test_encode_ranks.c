/* A corpus that ranks count together is, byte for byte, the one that one process
 * makes: run.sh starts this program several times over; rank 0 prints TAP. */
#include "train/train.h"

#include "folder.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>


/* All ranks are through with what was before. */
static void meet(void)
{
    CHECK_OK(shoal_ranks_agree(ranks, SHOAL_OK));
}

/* ---- files ---------------------------------------------------------------------- */

/* One of many buffers, used in turn. */
static const char *path_of(const char *name, unsigned number)
{
    static char paths[64][128];
    static unsigned turn;
    char *path = paths[turn++ % 64];

    snprintf(path, sizeof paths[0], "%s/%s-%u", folder, name, number);
    return path;
}

/* A text of about `len` bytes; a newline about every `line` words, 0: never. */
static char *make_text(size_t len, unsigned line, uint64_t seed)
{
    char *text = malloc(len + 64);
    size_t at = 0;

    while (at < len) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        unsigned id = (unsigned)(seed >> 33) % (1 + (unsigned)(seed >> 45) % 3000);

        at += (size_t)sprintf(text + at, "%s%x%s", id % 5 ? "Word" : "\xc3\x89t\xc3\xa9", id,
                              line && (seed >> 20) % line == 0 ? "\n" : " ");
    }
    text[at] = '\0';
    return text;
}

static void put(const char *path, const char *text, bool gzip)
{
    gzFile f = gzopen(path, gzip ? "wb" : "wbT");

    CHECK(f && gzwrite(f, text, (unsigned)strlen(text)) == (int)strlen(text));
    CHECK(gzclose(f) == Z_OK);
}

static char *get(const char *path, size_t *len)
{
    struct stat info = {0};
    FILE *f = fopen(path, "rb");
    char *data = NULL;

    if (f && fstat(fileno(f), &info) == 0 && (data = malloc((size_t)info.st_size + 1)))
        CHECK(fread(data, 1, (size_t)info.st_size, f) == (size_t)info.st_size);
    *len = (size_t)info.st_size;
    if (f)
        fclose(f);
    return data;
}

static void check_same_bytes(const char *a, const char *b)
{
    size_t alen, blen;
    char *x = get(a, &alen), *y = get(b, &blen);

    CHECK(x && y && alen == blen && memcmp(x, y, alen) == 0);
    free(x);
    free(y);
}

/* ---- together and alone ----------------------------------------------------------- */

static struct shoal_encode_opts small(void)
{
    struct shoal_encode_opts opts = shoal_encode_default();

    opts.vocab.min_count = 3;
    opts.vocab.memory = (uint64_t)1 << 24;
    opts.vocab.threads = 2;
    return opts;
}

static void check_same_stats(struct shoal_encode_stats a, struct shoal_encode_stats b)
{
    a.count_seconds = b.count_seconds = a.encode_seconds = b.encode_seconds = 0;
    a.vocab.spilled = b.vocab.spilled = 0;
    CHECK(memcmp(&a, &b, sizeof a) == 0);
}

/* Rank 0 knows the inputs; all encode them, and each again alone. */
static void check_as_one(const char *const *inputs, size_t n, const struct shoal_encode_opts *opts)
{
    const char *together = path_of("together", 0), *alone = path_of("alone", rank);
    struct shoal_encode_stats got, want;

    CHECK_OK(shoal_ranks_encode(ranks, together, inputs, n, opts, false, &got));
    CHECK_OK(shoal_encode(alone, inputs, n, opts, &want));
    check_same_bytes(together, alone);
    check_same_stats(got, want);
    meet();
}

static void put_inputs(const char **inputs, size_t n, size_t len, unsigned line, unsigned gzip)
{
    for (unsigned i = 0; i < n; i++) {
        char *text = make_text(len / (i + 1), line, i + 1);

        inputs[i] = path_of("input", i);
        if (rank == 0)
            put(inputs[i], text, gzip >> i & 1);
        free(text);
    }
    meet();
}

static void one_file_is_encoded_as_by_one(void)
{
    static const unsigned lines[] = {0, 12, 50000};

    for (int i = 0; i < 3; i++)
        for (int kind = 0; kind < 2; kind++) {
            struct shoal_encode_opts opts = small();
            const char *inputs[1];

            opts.vocab.tokens = kind ? SHOAL_TOKENS_WORDS : SHOAL_TOKENS_SPACE;
            opts.vocab.unk = kind;
            put_inputs(inputs, 1, 3000000, lines[i], 0);
            check_as_one(inputs, 1, &opts);
        }
}

static void several_files_are_encoded_as_by_one(void)
{
    for (unsigned gzip = 0; gzip < 32; gzip += 5) {
        struct shoal_encode_opts opts = small();
        const char *inputs[5];

        put_inputs(inputs, 5, 400000, 20, gzip);
        check_as_one(inputs, 5, &opts);
    }
}

/* One line without spaces of 1.7 MB, with few places to cut; and Latin-1, which is decoded. */
static void text_of_other_scripts_and_encodings_is_encoded_as_by_one(void)
{
    static const char *const pieces[] = {"我爱北京天安门", "，👩🏽‍🚀", "d\xe9j\xe0 vu caf\xe9 ",
                                         "na\xefve\r"};

    for (int way = 0; way < 4; way++) {
        const char *input = path_of("other", (unsigned)way), *often = pieces[way / 2 * 2];
        struct shoal_encode_opts opts = small();
        size_t len = 0;
        char *text = calloc(80001, 32);

        opts.vocab.tokens = way % 2 ? SHOAL_TOKENS_BIGRAMS : SHOAL_TOKENS_CHARS;
        opts.vocab.emoji = true;
        opts.vocab.encoding = SHOAL_ENCODING_AUTO;
        for (int i = 0; i < 80000; i++)
            len += (size_t)sprintf(text + len, "%s", i % 997 ? often : pieces[way / 2 * 2 + 1]);
        if (rank == 0)
            put(input, text, false);
        free(text);
        meet();
        check_as_one(&input, 1, &opts);
    }
}

static void a_few_bytes_are_encoded_as_by_one(void)
{
    struct shoal_encode_opts opts = small();
    const char *input = path_of("few", 0);

    opts.vocab.min_count = 1;
    if (rank == 0)
        put(input, "a b\na", false);
    meet();
    check_as_one(&input, 1, &opts);
}

static void counts_beyond_the_memory_are_the_same(void)
{
    struct shoal_encode_opts opts = small();
    const char *input = path_of("types", 0);
    char *text = malloc(200000 * 24), *at = text;

    for (unsigned i = 0; i < 200000; i++) /* a few thousand are seen often */
        at += sprintf(at, "type-%u-of-many%c", i % (i % 3 ? 45000 : 3001), i % 9 ? ' ' : '\n');
    if (rank == 0)
        put(input, text, false);
    free(text);
    meet();
    opts.vocab.min_count = 1;
    opts.vocab.memory = 1 << 20;
    check_as_one(&input, 1, &opts);
}

static void a_given_vocabulary_needs_no_counting(void)
{
    struct shoal_encode_opts opts = small();
    shoal_vocab *vocab;
    const char *inputs[2];

    put_inputs(inputs, 2, 200000, 20, 0);
    CHECK_OK(shoal_vocab_build(&vocab, inputs, 1, &opts.vocab, NULL));
    opts.given = vocab;
    check_as_one(inputs, 2, &opts);
    shoal_vocab_free(vocab);
}

/* ---- a pipe ------------------------------------------------------------------------- */

static void *feed(void *text)
{
    FILE *f = fopen(path_of("pipe", 0), "wb");

    if (f) {
        fwrite(text, 1, strlen(text), f);
        fclose(f);
    }
    return NULL;
}

static void a_pipe_is_read_once_by_rank_0(void)
{
    struct shoal_encode_opts opts = small();
    const char *inputs[2] = {path_of("pipe", 0), path_of("beside", 0)};
    const char *as_files[2] = {path_of("piped", 0), inputs[1]};
    char *piped = make_text(700000, 15, 8), *beside = make_text(300000, 15, 9);
    const char *together = path_of("together", 0), *alone = path_of("alone", rank);
    struct shoal_encode_stats got;
    pthread_t feeder;

    if (rank == 0) {
        CHECK(mkfifo(inputs[0], 0600) == 0);
        put(inputs[1], beside, false);
        put(as_files[0], piped, false);
        CHECK(pthread_create(&feeder, NULL, feed, piped) == 0);
    }
    meet();
    CHECK_OK(shoal_ranks_encode(ranks, together, inputs, 2, &opts, false, &got));
    CHECK_OK(shoal_encode(alone, as_files, 2, &opts, NULL));
    check_same_bytes(together, alone);
    CHECK(got.vocab.text.files == 2);
    if (rank == 0)
        CHECK(pthread_join(feeder, NULL) == 0);
    free(piped);
    free(beside);
    meet();
}

/* ---- texts of their own --------------------------------------------------------------- */

static void texts_of_their_own_share_the_vocabulary_of_all(void)
{
    struct shoal_encode_opts opts = small();
    const char **all = malloc(size * sizeof *all);
    char (*names)[128] = malloc(size * sizeof *names);
    const char *own = path_of("own", rank), *alone = path_of("alone", rank);
    char *text = make_text(300000 + 50000 * rank, 15, 100 + rank);
    struct shoal_vocab_stats want;
    struct shoal_encode_stats got;
    shoal_vocab *vocab;

    for (unsigned i = 0; i < size; i++) {
        snprintf(names[i], sizeof names[i], "%s", path_of("local", i));
        all[i] = names[i];
    }
    put(all[rank], text, rank % 2);
    meet();
    CHECK_OK(shoal_ranks_encode(ranks, own, &all[rank], 1, &opts, true, &got));
    CHECK_OK(shoal_vocab_build(&vocab, all, size, &opts.vocab, &want));
    opts.given = vocab;
    CHECK_OK(shoal_encode(alone, &all[rank], 1, &opts, NULL));
    check_same_bytes(own, alone);
    CHECK(got.vocab.text.words == want.text.words && got.vocab.types == want.types);
    CHECK(got.vocab.text.files == size && got.vocab.floor == want.floor);
    shoal_vocab_free(vocab);
    free(text);
    free(names);
    free(all);
    meet();
}

/* ---- failures --------------------------------------------------------------------------- */

static void no_rank_fails_alone(void)
{
    struct shoal_encode_opts opts = small();
    const char *inputs[1], *nowhere = path_of("nowhere", 0), *last;
    const char *to = path_of("failed", 0);

    put_inputs(inputs, 1, 100000, 10, 0);
    last = rank == size - 1 ? nowhere : inputs[0];
    CHECK(shoal_ranks_encode(ranks, to, &last, 1, &opts, false, NULL) == SHOAL_ENOENT);
    CHECK(strstr(shoal_error(), "nowhere"));
    opts.vocab.min_count = 1000000;
    CHECK(shoal_ranks_encode(ranks, to, inputs, 1, &opts, false, NULL) == SHOAL_EINVAL);
    CHECK(strstr(shoal_error(), "lower --min-count"));
    opts.vocab.min_count = 0;
    CHECK(shoal_ranks_encode(ranks, to, inputs, 1, &opts, false, NULL) == SHOAL_EINVAL);
    meet();
    CHECK(access(to, F_OK) != 0);
    opts = small();
    check_as_one(inputs, 1, &opts);
}

static void a_bad_byte_is_told_by_its_offset(void)
{
    struct shoal_encode_opts opts = small();
    char *text = make_text(2000000, 15, 5);
    const char *input = path_of("bad", 0);

    text[1900000] = '\xff';
    if (rank == 0)
        put(input, text, false);
    free(text);
    meet();
    CHECK(shoal_ranks_encode(ranks, path_of("failed", 0), &input, 1, &opts, false, NULL) ==
          SHOAL_EFORMAT);
    CHECK(strstr(shoal_error(), "byte 0xff at offset 1900000 is not UTF-8: "));
    opts.vocab.bad_bytes = SHOAL_BAD_SPACE;
    check_as_one(&input, 1, &opts);
}

struct seen {
    unsigned calls;
    bool stop;
};

static bool see(void *user, const struct shoal_progress *p)
{
    struct seen *seen = user;

    (void)p;
    seen->calls++;
    return !seen->stop;
}

static void the_watch_of_rank_0_stops_all(void)
{
    struct shoal_encode_opts opts = small();
    struct seen seen = {0};
    const char *inputs[1];

    put_inputs(inputs, 1, 1000000, 10, 0);
    opts.vocab.watch = (struct shoal_watch){see, &seen};
    check_as_one(inputs, 1, &opts);
    CHECK(seen.calls > 0);
    seen = (struct seen){.stop = true};
    CHECK(shoal_ranks_encode(ranks, path_of("failed", 0), inputs, 1, &opts, false, NULL) ==
          SHOAL_ESTOP);
    CHECK((seen.calls > 0) == (rank == 0));
    meet();
}

/* ---- TAP ---------------------------------------------------------------------------------- */

int main(void)
{
    if (!begin_ranks())
        return 1;
    PASSES(one_file_is_encoded_as_by_one);
    PASSES(several_files_are_encoded_as_by_one);
    PASSES(text_of_other_scripts_and_encodings_is_encoded_as_by_one);
    PASSES(a_few_bytes_are_encoded_as_by_one);
    PASSES(counts_beyond_the_memory_are_the_same);
    PASSES(a_given_vocabulary_needs_no_counting);
    PASSES(a_pipe_is_read_once_by_rank_0);
    PASSES(texts_of_their_own_share_the_vocabulary_of_all);
    PASSES(no_rank_fails_alone);
    PASSES(a_bad_byte_is_told_by_its_offset);
    PASSES(the_watch_of_rank_0_stops_all);
    return end_ranks();
}
