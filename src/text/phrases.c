/* Pairs of words that become one, as word2phrase (Mikolov et al. 2013) has it.
 *
 * The text that comes out is word2phrase's, but for these:
 *   - no space begins a line, and lines without a word are left out;
 *   - words and pairs are told apart by all their bytes, not by the first 59,
 *     and none is forgotten while counting;
 *   - a last word without white space behind it counts;
 *   - a carriage return ends a line, control bytes separate, and bytes that are not UTF-8 are
 *     refused unless asked for otherwise;
 *   - scores are compared in double precision, so that a pair exactly at the
 *     threshold is never joined; word2phrase's float may err by 1 in 10^7.
 * Like there, pairs are counted over the ends of sentences (its `start` is
 * cleared before it is looked at) and never joined over them; and a word of the
 * text that reads like a joined pair counts as that pair. */
#include "text/phrases.h"

#include <math.h>
#include <stdio.h>

#define JOINER_MAX 16u
#define PASSES_MAX 100u

struct shoal_phrases_opts shoal_phrases_default(void)
{
    return (struct shoal_phrases_opts){
        .vocab = shoal_vocab_default(), .threshold = 100, .passes = 1, .joiner = "_"};
}

static bool is_joiner(const char *s)
{
    size_t len = strlen(s);

    for (size_t i = 0; i < len; i++)
        if ((unsigned char)s[i] <= ' ')
            return false;
    return len > 0 && len <= JOINER_MAX && clean_find(s, len) == len;
}

shoal_status shoal_phrases_check(const struct shoal_phrases_opts *opts)
{
    shoal_status st = shoal_vocab_check(&opts->vocab);

    if (st != SHOAL_OK)
        return st;
    if (opts->vocab.max_vocab || opts->vocab.unk)
        return shoal_fail(SHOAL_EINVAL, "phrases: %s is set, want it unset: every word is kept",
                          opts->vocab.unk ? "--unk" : "--max-vocab");
    if (!(opts->threshold >= 0) || !isfinite(opts->threshold))
        return shoal_fail(SHOAL_EINVAL, "phrases: --threshold is %g, want 0 or more",
                          opts->threshold);
    if (opts->passes == 0 || opts->passes > PASSES_MAX)
        return shoal_fail(SHOAL_EINVAL, "phrases: --passes is %u, want 1 to %u", opts->passes,
                          PASSES_MAX);
    if (!opts->joiner || !is_joiner(opts->joiner))
        return shoal_fail(SHOAL_EINVAL,
                          "phrases: --joiner is '%s', want 1 to %u bytes of UTF-8 without spaces",
                          opts->joiner ? opts->joiner : "", JOINER_MAX);
    return SHOAL_OK;
}

/* ---- what a pass writes ---- */

shoal_status phrases_sink_write(struct sink *s, const void *data, size_t len)
{
    s->size += len;
    return s->out ? output_write(s->out, data, len) : spool_add(&s->spool, data, len, "text");
}

/* ---- the passes ---- */

static void add_pass(struct shoal_phrases_stats *all, const struct shoal_vocab_stats *pass,
                     const struct phrases *phrases, uint64_t joined)
{
    all->types = pass->types > all->types ? pass->types : all->types;
    all->floor = pass->floor > all->floor ? pass->floor : all->floor;
    all->spilled += pass->spilled;
    all->joined += joined;
    all->words = pass->text.words - joined;
    for (size_t i = 0; i < phrases->len; i++)
        all->phrases += phrases->at[i].seen;
}

static shoal_status run_pass(struct sink *sink, const struct inputs *inputs,
                             const struct shoal_phrases_opts *opts,
                             struct shoal_phrases_stats *stats)
{
    struct shoal_vocab_stats pass = {0};
    struct phrases phrases = {0};
    struct text *text = NULL;
    uint64_t joined = 0;
    shoal_status st = text_open(&text, inputs, &opts->vocab, true, "count");

    if (st == SHOAL_OK)
        st = phrases_find(&phrases, text, opts, &pass);
    if (st == SHOAL_OK)
        st = text_rewind(text, "join");
    if (st == SHOAL_OK)
        st = phrases_join(sink, text, &phrases, opts, &joined);
    if (stats->text.files == 0)
        stats->text = pass.text;
    add_pass(stats, &pass, &phrases, joined);
    phrases_fini(&phrases);
    text_close(text);
    return st;
}

/* The spool has no name of its own, but the system's for the open file. */
static shoal_status spool_inputs(struct inputs *inputs, const struct spool *spool)
{
    char name[48];
    const char *path = name;

    snprintf(name, sizeof name, "/proc/self/fd/%d", spool->fd);
    inputs_fini(inputs);
    return inputs_expand(inputs, &path, 1);
}

/* All passes but the last, each from what the one before wrote. On return
 * *inputs is what the last one reads, perhaps *from. */
static shoal_status early_passes(struct inputs *inputs, struct spool *from,
                                 struct shoal_phrases_opts *opts, struct shoal_phrases_stats *stats)
{
    shoal_status st = SHOAL_OK;

    for (unsigned i = 1; i < opts->passes && st == SHOAL_OK; i++) {
        struct sink to = {.spool = SPOOL_NONE};

        st = spool_open(&to.spool, opts->vocab.tmp_dir);
        if (st == SHOAL_OK)
            st = run_pass(&to, inputs, opts, stats);
        spool_close(from);
        *from = to.spool;
        if (st == SHOAL_OK)
            st = spool_inputs(inputs, from);
        /* What we wrote is words already, and UTF-8. */
        opts->vocab.tokens = SHOAL_TOKENS_SPACE;
        opts->vocab.encoding = SHOAL_ENCODING_UTF8;
    }
    return st;
}

shoal_status shoal_phrases(const char *path, const char *const *paths, size_t npaths,
                           const struct shoal_phrases_opts *opts, struct shoal_phrases_stats *stats)
{
    struct shoal_phrases_stats own = {0};
    struct shoal_phrases_opts now = *opts;
    struct spool spool = SPOOL_NONE;
    struct sink sink = {0};
    struct inputs inputs = {0};
    shoal_status st = shoal_phrases_check(opts);

    if (st == SHOAL_OK)
        st = inputs_expand(&inputs, paths, npaths);
    if (st == SHOAL_OK)
        st = output_open(&sink.out, path);
    if (st == SHOAL_OK)
        st = early_passes(&inputs, &spool, &now, &own);
    if (st == SHOAL_OK)
        st = run_pass(&sink, &inputs, &now, &own);
    st = output_end(sink.out, st);
    own.bytes = sink.size;
    if (stats)
        *stats = own;
    spool_close(&spool);
    inputs_fini(&inputs);
    return st;
}
