/* data: phrases.c, phrases_find.c and phrases_join.c, from text to text. */
#include "text/text.h"

#include <math.h>
#include <setjmp.h>

#include "scratch.h"

static struct shoal_phrases_opts small_opts(double threshold)
{
    struct shoal_phrases_opts opts = shoal_phrases_default();

    opts.vocab.min_count = 1;
    opts.vocab.memory = (uint64_t)1 << 24;
    opts.vocab.threads = 2;
    opts.vocab.tmp_dir = scratch_dir;
    opts.threshold = threshold;
    return opts;
}

/* NUL-terminated, for bytes_fini. */
static struct bytes joined(const char *const *paths, size_t n,
                           const struct shoal_phrases_opts *opts, struct shoal_phrases_stats *stats)
{
    const char *out = scratch_path("out");
    struct bytes b;

    if (shoal_phrases(out, paths, n, opts, stats) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    b = scratch_get(out);
    bytes_add(&b, "", 1);
    return b;
}

static void assert_joins(const char *text, const struct shoal_phrases_opts *opts, const char *want)
{
    const char *path = scratch_put("text", text, strlen(text));
    struct bytes b = joined(&path, 1, opts, NULL);

    assert_string_equal(b.at, want);
    bytes_fini(&b);
}

static void assert_refused(const struct shoal_phrases_opts *opts, const char *sentence)
{
    assert_int_equal(shoal_phrases_check(opts), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), sentence);
}

/* ---- the score ---------------------------------------------------------------------- */

/* 12 words: new 3, york 3, is 2, old 2. `new york`: (3 - 1) / (3 * 3) * 12 = 2.67;
 * `york is`: (2 - 1) / (3 * 2) * 12 = 2; every other pair is seen once: 0. */
static const char towns[] = "new york is big\nnew york is old\nthe old new york\n";

static void a_pair_above_the_threshold_becomes_a_word(void **state)
{
    struct shoal_phrases_opts opts = small_opts(2.6);

    (void)state;
    assert_joins(towns, &opts, "new_york is big\nnew_york is old\nthe old new_york\n");
    opts.threshold = 2.7;
    assert_joins(towns, &opts, towns);
}

static void a_pair_at_the_threshold_stays_apart(void **state)
{
    struct shoal_phrases_opts opts = small_opts(2);
    char text[256] = "", want[sizeof text + 1];

    (void)state;
    /* (2 - 1) / (2 * 2) * 8 */
    assert_joins("a b c a b d e f", &opts, "a b c a b d e f\n");
    opts.threshold = nextafter(2, 0);
    assert_joins("a b c a b d e f", &opts, "a_b c a_b d e f\n");

    /* (7 - 1) / (7 * 7) * 49, of which no quotient on the way is exact */
    for (int i = 0; i < 35; i++)
        sprintf(text + strlen(text), "%s%c%c",
                i % 5 ? " "
                : i   ? " a b "
                      : "a b ",
                'A' + i / 5, 'a' + i % 5);
    snprintf(want, sizeof want, "%s\n", text);
    opts.threshold = 6;
    assert_joins(text, &opts, want);
    opts.threshold = nextafter(6, 0);
    for (char *at = want; (at = strstr(at, "a b"));)
        at[1] = '_';
    assert_joins(text, &opts, want);
}

static void a_pair_seen_no_more_than_min_count_stays_apart(void **state)
{
    struct shoal_phrases_opts opts = small_opts(0);

    (void)state;
    opts.vocab.min_count = 2;
    assert_joins("a b x a b y", &opts, "a b x a b y\n");
    assert_joins("a b x a b y a b", &opts, "a_b x a_b y a_b\n");
}

static void a_word_seen_less_than_min_count_is_joined_to_none(void **state)
{
    struct shoal_phrases_opts opts = small_opts(0);

    (void)state;
    opts.vocab.min_count = 2;
    /* `a_b` is seen three times, but b only once. */
    assert_joins("a_b a_b a a b", &opts, "a_b a_b a a b\n");
    assert_joins("a_b a_b a b b", &opts, "a_b a_b a b b\n");
    assert_joins("a_b a_b a a b b", &opts, "a_b a_b a a_b b\n");
}

/* ---- from left to right ---------------------------------------------------------------- */

static void a_word_just_joined_is_not_joined_to_the_next(void **state)
{
    struct shoal_phrases_opts opts = small_opts(1.9);

    (void)state;
    assert_joins(towns, &opts, "new_york is big\nnew_york is old\nthe old new_york\n");
    opts.threshold = 0;
    assert_joins("a b c d x a b c d y a b c\n", &opts, "a_b c_d x a_b c_d y a_b c\n");
}

static void passes_make_longer_phrases(void **state)
{
    struct shoal_phrases_opts opts = small_opts(0);
    const char *text = "a b c d e x a b c d e y\n";

    (void)state;
    assert_joins(text, &opts, "a_b c_d e x a_b c_d e y\n");
    opts.passes = 2;
    assert_joins(text, &opts, "a_b_c_d e x a_b_c_d e y\n");
    opts.passes = 3;
    assert_joins(text, &opts, "a_b_c_d_e x a_b_c_d_e y\n");
    opts.passes = 5;
    assert_joins(text, &opts, "a_b_c_d_e x a_b_c_d_e y\n");
}

static void passes_equal_runs_one_after_the_other(void **state)
{
    struct shoal_phrases_opts opts = small_opts(1.4);
    struct bytes once, twice;
    const char *path = scratch_put("text", towns, strlen(towns));

    (void)state;
    once = joined(&path, 1, &opts, NULL);
    path = scratch_put("once", once.at, once.len - 1);
    twice = joined(&path, 1, &opts, NULL);
    assert_string_equal(twice.at, "new_york_is big\nnew_york_is old\nthe old new_york\n");
    opts.passes = 2;
    assert_joins(towns, &opts, twice.at);
    bytes_fini(&once);
    bytes_fini(&twice);
}

/* ---- sentences ---------------------------------------------------------------------------- */

static void pairs_are_never_joined_over_the_end_of_a_sentence(void **state)
{
    struct shoal_phrases_opts opts = small_opts(0);
    const char *paths[2];
    struct bytes b;

    (void)state;
    assert_joins("a\nb\na\nb\na\nb\n", &opts, "a\nb\na\nb\na\nb\n");
    paths[0] = scratch_put("one", "a b\na", 5);
    paths[1] = scratch_put("two", "b\na b", 5);
    b = joined(paths, 2, &opts, NULL);
    assert_string_equal(b.at, "a_b\na\nb\na_b\n");
    bytes_fini(&b);
}

static void pairs_are_counted_over_the_end_of_a_sentence_as_word2phrase_does(void **state)
{
    struct shoal_phrases_opts opts = small_opts(2);

    (void)state;
    /* (4 - 1) / (4 * 4) * 11 = 2.06, with the three at the ends of lines */
    assert_joins("a\nb\na\nb\na\nb\nx a b y z\n", &opts, "a\nb\na\nb\na\nb\nx a_b y z\n");
    assert_joins("a\nb\na\nc\na\nb\nx a b y z\n", &opts, "a\nb\na\nc\na\nb\nx a b y z\n");
}

static void the_text_comes_out_one_sentence_a_line(void **state)
{
    struct shoal_phrases_opts opts = small_opts(100);

    (void)state;
    assert_joins("  a \t b\r\n\n \nc\n\n\nd  e", &opts, "a b\nc\nd e\n");
}

/* ---- joiners ----------------------------------------------------------------------------------
 */

static void text_may_hold_the_joiner(void **state)
{
    struct shoal_phrases_opts opts = small_opts(0);

    (void)state;
    /* `a_b` as a word counts as the pair: a b alone would be seen once. */
    assert_joins("a b x y", &opts, "a b x y\n");
    assert_joins("a b x a_b y", &opts, "a_b x a_b y\n");
    /* a_b + c and a + b_c read alike and are scored apart. */
    opts.threshold = 5; /* (3 - 1) / (2 * 2) * 12 = 6, (3 - 1) / (5 * 1) * 12 = 4.8 */
    assert_joins("a_b c p a_b c q a b_c a a a a", &opts, "a_b_c p a_b_c q a b_c a a a a\n");
    opts.threshold = 4;
    assert_joins("a_b c p a_b c q a b_c a a a a", &opts, "a_b_c p a_b_c q a_b_c a a a a\n");
    opts.threshold = 0;
    assert_joins("_ __ ___ _ __ ___ _a a_ _a a_\n", &opts, "____ ___ ____ ___ _a_a_ _a_a_\n");
}

static void any_text_joins(void **state)
{
    struct shoal_phrases_opts opts = small_opts(2.6);

    (void)state;
    opts.joiner = "·";
    assert_joins(towns, &opts, "new·york is big\nnew·york is old\nthe old new·york\n");
    opts.joiner = "<then>";
    assert_joins(towns, &opts,
                 "new<then>york is big\nnew<then>york is old\nthe old new<then>york\n");
    opts.joiner = "n"; /* `new york` splits at the first n, which leaves nothing */
    assert_joins(towns, &opts, "newnyork is big\nnewnyork is old\nthe old newnyork\n");
    opts.joiner = "";
    assert_refused(&opts, "phrases: --joiner is '', want 1 to 16 bytes of UTF-8 without spaces");
    opts.joiner = "a b";
    assert_refused(&opts, "phrases: --joiner is 'a b', want 1 to 16 bytes of UTF-8 without spaces");
    opts.joiner = "12345678901234567";
    assert_int_equal(shoal_phrases_check(&opts), SHOAL_EINVAL);
    opts.joiner = "\xff";
    assert_int_equal(shoal_phrases_check(&opts), SHOAL_EINVAL);
    opts.joiner = NULL;
    assert_int_equal(shoal_phrases_check(&opts), SHOAL_EINVAL);
}

static void a_pair_too_long_for_a_word_stays_apart(void **state)
{
    struct shoal_phrases_opts opts = small_opts(0);
    size_t half = SHOAL_WORD_MAX / 2; /* two and a joiner are just short enough */

    (void)state;
    for (int more = 0; more < 2; more++) {
        struct bytes text = {0}, want = {0};

        for (int i = 0; i < 3; i++) {
            text_add_many(&text, "a", half + (size_t)more);
            text_add_str(&text, " ");
            text_add_many(&text, "b", half);
            text_add_str(&text, " c\n");
        }
        bytes_add(&text, "", 1);
        bytes_add(&want, text.at, text.len);
        for (char *at = want.at; !more && (at = strchr(at, 'b')); at += half)
            at[-1] = '_';
        if (more) /* then b waits for nobody */
            for (char *at = want.at; (at = strstr(at, " c"));)
                *at = '_';
        assert_joins(text.at, &opts, want.at);
        bytes_fini(&text);
        bytes_fini(&want);
    }
}

/* ---- reading
 * ------------------------------------------------------------------------------------- */

static void words_of_letters_keep_their_joiners_between_passes(void **state)
{
    struct shoal_phrases_opts opts = small_opts(0);

    (void)state;
    opts.vocab.tokens = SHOAL_TOKENS_WORDS;
    assert_joins("New, York! (City) x. NEW_YORK city y", &opts,
                 "new_york city x new_york city y\n");
    opts.passes = 2;
    assert_joins("New, York! (City) x. NEW_YORK city y", &opts,
                 "new_york_city x new_york_city y\n");
}

static void bad_bytes_fail_with_their_place_or_are_spaces(void **state)
{
    struct shoal_phrases_opts opts = small_opts(0);
    const char *path = scratch_put("bad", "a b\nc\xff", 6);
    struct shoal_phrases_stats stats;
    struct bytes b;

    (void)state;
    unlink(scratch_path("out"));
    assert_int_equal(shoal_phrases(scratch_path("out"), &path, 1, &opts, NULL), SHOAL_EFORMAT);
    assert_non_null(strstr(shoal_error(), "byte 0xff at offset 5 is not UTF-8: "));
    assert_int_not_equal(access(scratch_path("out"), F_OK), 0);
    opts.vocab.bad_bytes = SHOAL_BAD_SPACE;
    opts.passes = 2;
    b = joined(&path, 1, &opts, &stats);
    assert_string_equal(b.at, "a b\nc\n");
    assert_int_equal(stats.text.bad_bytes, 1);
    bytes_fini(&b);
}

static void input_without_a_word_fails(void **state)
{
    struct shoal_phrases_opts opts = small_opts(0);
    const char *path = scratch_put("text", " \n\n", 3);

    (void)state;
    unlink(scratch_path("out"));
    assert_int_equal(shoal_phrases(scratch_path("out"), &path, 1, &opts, NULL), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "input: no word in 1 file of 3 bytes");
    assert_int_not_equal(access(scratch_path("out"), F_OK), 0);
}

static void the_input_may_be_replaced(void **state)
{
    struct shoal_phrases_opts opts = small_opts(2.6);
    const char *path = scratch_put("text", towns, strlen(towns));
    struct bytes b;

    (void)state;
    assert_int_equal(shoal_phrases(path, &path, 1, &opts, NULL), SHOAL_OK);
    b = scratch_get(path);
    assert_memory_equal(b.at, "new_york is big\n", 16);
    bytes_fini(&b);
}

static void the_numbers_say_what_was_done(void **state)
{
    struct shoal_phrases_opts opts = small_opts(1.4);
    const char *path = scratch_put("text", towns, strlen(towns));
    struct shoal_phrases_stats stats;
    struct bytes b = joined(&path, 1, &opts, &stats);

    (void)state;
    assert_int_equal(stats.text.words, 12);
    assert_int_equal(stats.text.sentences, 3);
    assert_int_equal(stats.text.files, 1);
    assert_int_equal(stats.phrases, 2); /* york is, too, though it came too late */
    assert_int_equal(stats.joined, 3);
    assert_int_equal(stats.words, 9);
    assert_int_equal(stats.bytes, b.len - 1);
    assert_int_equal(stats.types, 6 + 8); /* pairs over ends of lines among them */
    assert_int_equal(stats.floor, 1);
    assert_int_equal(stats.spilled, 0);
    bytes_fini(&b);
    opts.passes = 2;
    b = joined(&path, 1, &opts, &stats);
    assert_string_equal(b.at, "new_york_is big\nnew_york_is old\nthe old new_york\n");
    assert_int_equal(stats.text.words, 12);
    assert_int_equal(stats.phrases, 3);
    assert_int_equal(stats.joined, 5);
    assert_int_equal(stats.words, 7);
    bytes_fini(&b);
}

static bool stop_at_once(void *user, const struct shoal_progress *progress)
{
    return strcmp(progress->phase, user) != 0;
}

static void a_watcher_stops_either_phase_and_nothing_is_left(void **state)
{
    struct shoal_phrases_opts opts = small_opts(0);
    char *phases[] = {"count", "join"};
    const char *path = scratch_put("text", towns, strlen(towns));
    size_t before;

    (void)state;
    unlink(scratch_path("out"));
    before = scratch_count(scratch_dir);
    for (int i = 0; i < 2; i++) {
        opts.vocab.watch = (struct shoal_watch){stop_at_once, phases[i]};
        assert_int_equal(shoal_phrases(scratch_path("out"), &path, 1, &opts, NULL), SHOAL_ESTOP);
        assert_int_equal(scratch_count(scratch_dir), before);
    }
}

static void a_bad_option_is_named(void **state)
{
    struct shoal_phrases_opts opts = shoal_phrases_default();

    (void)state;
    assert_int_equal(shoal_phrases_check(&opts), SHOAL_OK);
    opts.threshold = -1;
    assert_refused(&opts, "phrases: --threshold is -1, want 0 or more");
    opts.threshold = (double)NAN;
    assert_int_equal(shoal_phrases_check(&opts), SHOAL_EINVAL);
    opts = shoal_phrases_default();
    opts.passes = 0;
    assert_refused(&opts, "phrases: --passes is 0, want 1 to 100");
    opts = shoal_phrases_default();
    opts.vocab.min_count = 0;
    assert_refused(&opts, "vocab: --min-count is 0, want 1 or more");
    opts = shoal_phrases_default();
    opts.vocab.unk = true;
    assert_refused(&opts, "phrases: --unk is set, want it unset: every word is kept");
}

/* ---- blocks and threads: against a plain reference
 * ------------------------------------------------- */

enum { TYPES = 4000 };

struct reference {
    uint32_t *ids; /* [n] TYPES: the end of a sentence */
    size_t n;
    uint64_t ones[TYPES], words;
    uint32_t (*twos)[TYPES];
};

static void reference_count(struct reference *r)
{
    uint32_t last = TYPES;

    r->twos = calloc(TYPES, sizeof *r->twos);
    for (size_t i = 0; i < r->n; i++) {
        uint32_t id = r->ids[i];

        if (id == TYPES)
            continue;
        r->words++;
        r->ones[id]++;
        if (last != TYPES)
            r->twos[last][id]++;
        last = id;
    }
}

static bool reference_phrase(const struct reference *r, uint32_t a, uint32_t b,
                             const struct shoal_phrases_opts *o)
{
    return r->twos[a][b] > o->vocab.min_count && r->ones[a] >= o->vocab.min_count &&
           r->ones[b] >= o->vocab.min_count &&
           ((double)r->twos[a][b] - (double)o->vocab.min_count) * (double)r->words >
               o->threshold * (double)r->ones[a] * (double)r->ones[b];
}

/* What comes out, NUL-terminated; with `gap` between the words, what goes in. */
static struct bytes reference_text(const struct reference *r, const struct shoal_phrases_opts *o,
                                   const char *gap)
{
    struct bytes b = {0};
    bool was = false;
    char word[24];

    for (size_t i = 0; i < r->n; i++) {
        bool start = i == 0 || r->ids[i - 1] == TYPES;

        if (r->ids[i] == TYPES) {
            text_add_str(&b, "\n");
            continue;
        }
        was = !start && !was && reference_phrase(r, r->ids[i - 1], r->ids[i], o);
        text_add_str(&b, start ? "" : gap ? gap : was ? "_" : " ");
        snprintf(word, sizeof word, r->ids[i] % 3 ? "w%x" : "longer-%u", r->ids[i]);
        text_add_str(&b, word);
    }
    bytes_add(&b, "", 1);
    return b;
}

/* n words over `types`, often followed by a favourite; `ends` of 1000 words
 * end a sentence. */
static struct reference reference_make(size_t n, uint32_t types, unsigned ends, uint64_t seed)
{
    struct rng rng = {.seed = seed};
    struct reference r = {.ids = calloc(2 * n + 1, sizeof *r.ids)};
    uint32_t last = 0;

    for (size_t i = 0; i < n; i++) {
        last = rng_below(&rng, 2) ? (last * 7 + 1) % types : (uint32_t)rng_below(&rng, types);
        r.ids[r.n++] = last;
        if (rng_below(&rng, 1000) < ends && i + 1 < n)
            r.ids[r.n++] = TYPES;
    }
    r.ids[r.n++] = TYPES;
    reference_count(&r);
    return r;
}

static void reference_fini(struct reference *r)
{
    free(r->ids);
    free(r->twos);
}

/* For several numbers of threads, in plenty of memory and in little. */
static void assert_follows(const struct reference *r, struct shoal_phrases_opts opts,
                           const char *gap)
{
    static const struct {
        unsigned threads;
        uint64_t memory;
    } runs[] = {{1, 1 << 26}, {3, 1 << 26}, {4, 1 << 21}};
    struct bytes text = reference_text(r, &opts, gap), want = reference_text(r, &opts, NULL);
    const char *path = scratch_put("text", text.at, text.len - 1);

    for (size_t i = 0; i < 3; i++) {
        struct shoal_phrases_stats stats;
        struct bytes got;

        opts.vocab.threads = runs[i].threads;
        opts.vocab.memory = runs[i].memory;
        got = joined(&path, 1, &opts, &stats);
        assert_int_equal(got.len, want.len);
        assert_memory_equal(got.at, want.at, want.len);
        assert_int_equal(stats.text.words, r->words);
        bytes_fini(&got);
    }
    bytes_fini(&text);
    bytes_fini(&want);
}

static void the_result_does_not_depend_on_threads_or_memory(void **state)
{
    struct reference r = reference_make(400000, TYPES, 50, 1);
    struct shoal_phrases_opts opts = small_opts(100);

    (void)state;
    opts.vocab.min_count = 20;
    assert_follows(&r, opts, " ");
    opts.threshold = 1;
    assert_follows(&r, opts, "  \t");
    reference_fini(&r);
}

static void a_sentence_may_go_through_many_blocks(void **state)
{
    struct reference r = reference_make(400000, TYPES, 0, 2);
    struct shoal_phrases_opts opts = small_opts(10);

    (void)state;
    opts.vocab.min_count = 20;
    assert_follows(&r, opts, " ");
    reference_fini(&r);
}

/* Every pair is a phrase, so that all hangs on the first word. */
static void a_run_of_phrases_may_go_through_many_blocks(void **state)
{
    struct shoal_phrases_opts opts = small_opts(0.1);

    (void)state;
    for (uint32_t types = 2; types <= 4; types++) {
        struct reference r = {.ids = calloc(500001, sizeof *r.ids), .n = 500001};

        for (uint32_t i = 0; i < 500000; i++)
            r.ids[i] = i % types;
        r.ids[500000] = TYPES;
        reference_count(&r);
        assert_follows(&r, opts, " ");
        reference_fini(&r);
    }
}

static void a_pair_may_have_blocks_of_spaces_between_its_words(void **state)
{
    struct shoal_phrases_opts opts = small_opts(0);
    struct bytes text = {0};

    (void)state;
    for (int i = 0; i < 3; i++) {
        text_add_str(&text, "a");
        text_add_many(&text, " ", 5 * BLOCK_BYTES / 2);
        text_add_str(&text, "b");
        text_add_many(&text, i ? " " : "\n", 5 * BLOCK_BYTES / 2);
    }
    bytes_add(&text, "", 1);
    assert_joins(text.at, &opts, "a_b\na_b a_b\n");
    bytes_fini(&text);
}

static void counts_that_do_not_fit_go_through_the_disk(void **state)
{
    struct reference r = reference_make(200000, TYPES, 50, 3);
    struct shoal_phrases_opts opts = small_opts(100);
    struct bytes text = reference_text(&r, &opts, " "), got;
    const char *path = scratch_put("text", text.at, text.len - 1);
    struct shoal_phrases_stats stats;
    size_t before = scratch_count(scratch_dir);

    (void)state;
    opts.vocab.memory = (uint64_t)1 << 21;
    opts.vocab.min_count = 20;
    got = joined(&path, 1, &opts, &stats);
    assert_true(stats.spilled > 0);
    assert_int_equal(stats.floor, 20);
    assert_in_range(scratch_count(scratch_dir), before, before + 1);
    bytes_fini(&got);

    /* Too little even for the sums: the rarest go, and it is said. */
    opts.vocab.memory = (uint64_t)1 << 20;
    opts.vocab.min_count = 1;
    got = joined(&path, 1, &opts, &stats);
    assert_true(stats.floor > 1);
    bytes_fini(&got);
    bytes_fini(&text);
    reference_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pair_above_the_threshold_becomes_a_word),
        cmocka_unit_test(a_pair_at_the_threshold_stays_apart),
        cmocka_unit_test(a_pair_seen_no_more_than_min_count_stays_apart),
        cmocka_unit_test(a_word_seen_less_than_min_count_is_joined_to_none),
        cmocka_unit_test(a_word_just_joined_is_not_joined_to_the_next),
        cmocka_unit_test(passes_make_longer_phrases),
        cmocka_unit_test(passes_equal_runs_one_after_the_other),
        cmocka_unit_test(pairs_are_never_joined_over_the_end_of_a_sentence),
        cmocka_unit_test(pairs_are_counted_over_the_end_of_a_sentence_as_word2phrase_does),
        cmocka_unit_test(the_text_comes_out_one_sentence_a_line),
        cmocka_unit_test(text_may_hold_the_joiner),
        cmocka_unit_test(any_text_joins),
        cmocka_unit_test(a_pair_too_long_for_a_word_stays_apart),
        cmocka_unit_test(words_of_letters_keep_their_joiners_between_passes),
        cmocka_unit_test(bad_bytes_fail_with_their_place_or_are_spaces),
        cmocka_unit_test(input_without_a_word_fails),
        cmocka_unit_test(the_input_may_be_replaced),
        cmocka_unit_test(the_numbers_say_what_was_done),
        cmocka_unit_test(a_watcher_stops_either_phase_and_nothing_is_left),
        cmocka_unit_test(a_bad_option_is_named),
        cmocka_unit_test(the_result_does_not_depend_on_threads_or_memory),
        cmocka_unit_test(a_sentence_may_go_through_many_blocks),
        cmocka_unit_test(a_run_of_phrases_may_go_through_many_blocks),
        cmocka_unit_test(a_pair_may_have_blocks_of_spaces_between_its_words),
        cmocka_unit_test(counts_that_do_not_fit_go_through_the_disk),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
