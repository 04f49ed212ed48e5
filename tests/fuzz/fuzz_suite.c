/* Questions: any bytes are refused with a sentence that names the file, or make
 * a suite whose words are all there and whose run gives scores that add up. */
#include "fuzz.h"

#include "eval/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void check_names(const struct names *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        struct span name = names_at(t, i);

        require(name.len > 0 && name.at[name.len] == '\0');
        require(names_find(t, name.at, name.len) == i);
    }
}

static void check_suite(const shoal_eval *e)
{
    size_t from = 0;

    check_names(&e->plain);
    check_names(&e->upper);
    for (size_t i = 0; i < e->plain.n; i++)
        require(e->upper_of[i] < e->upper.n);
    for (size_t i = 0; i < e->ntopics; i++) {
        require(e->topics[i].end >= from && e->topics[i].name[0] != '\0');
        from = e->topics[i].end;
    }
    require(from == e->nquestions);
    require((e->npairs > 0) == (e->kind == SHOAL_PAIRS));
    require((e->nquestions > 0) == (e->kind == SHOAL_ANALOGIES));
    for (size_t i = 0; i < e->npairs; i++)
        require(isfinite(e->pairs[i].said));
}

/* A vocabulary of the suite's first words, and a row for each. */
static shoal_vocab *first_words(const shoal_eval *e, struct table *rows)
{
    struct span words[20];
    size_t n = e->plain.n < 20 ? e->plain.n : 20;
    shoal_vocab *vocab = NULL;

    for (uint32_t i = 0; i < n; i++)
        words[i] = names_at(&e->plain, i);
    require(vocab_from_words(&vocab, "fuzz", words, n) == SHOAL_OK);
    require(table_init(rows, "rows", n, 3) == SHOAL_OK);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < 3; j++)
            rows->at[i * rows->stride + j] = (float)((i * 7 + j * 5) % 11) - 5;
    return vocab;
}

/* A vector of every word that begins with an even byte; others have none. */
static shoal_status compose(const void *from, const char *word, size_t len, float *out)
{
    (void)from;
    require(len > 0);
    if (word[0] & 1)
        return shoal_fail(SHOAL_ENOENT, "fuzz: no vector");
    for (size_t j = 0; j < 3; j++)
        out[j] = (float)((unsigned char)word[len - 1] % (j + 3));
    return SHOAL_OK;
}

static void check_run(const shoal_eval *e, bool keep_case)
{
    struct composer others = {compose, NULL};
    struct shoal_eval_opts opts = {.threads = 1, .keep_case = keep_case};
    struct shoal_score *scores = NULL;
    struct table rows;
    shoal_vocab *vocab = first_words(e, &rows);
    size_t n, total = 0;

    require(eval_run_table(e, vocab, &rows, &others, &opts, &scores, &n) == SHOAL_OK);
    for (size_t i = 0; i < n; i++) {
        require(scores[i].right <= scores[i].seen && scores[i].seen <= scores[i].total);
        require(scores[i].composed <= scores[i].seen);
        total += scores[i].total;
    }
    require(e->kind == SHOAL_PAIRS ? total == e->npairs : total == 3 * e->nquestions);
    shoal_scores_free(scores);
    shoal_vocab_free(vocab);
    table_fini(&rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *copy;
    shoal_eval *e = NULL;

    fuzz_begin(size, 4 * MIB, 256);
    copy = fuzz_copy(data, size);
    if (shoal_eval_open_memory(&e, &(struct shoal_memory){"fuzz", copy, size}) == SHOAL_OK) {
        check_suite(e);
        check_run(e, size % 2 == 0);
    } else {
        require(e == NULL && strncmp(shoal_error(), "fuzz: ", 6) == 0);
    }
    shoal_eval_close(e);
    fuzz_end();
    return 0;
}
