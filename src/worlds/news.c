/* Lines of news of four topics, for classifiers of text. Most words of a line are shared by all
 * topics and come as often as words do (Zipf); some belong to its topic, a few to another one, and a
 * share of the labels is drawn anew. So the best classifier is right about nine times of ten, and
 * the share of lines that nobody can know is planted. */
#include "base/base.h"
#include "file/file.h"

#include <math.h>
#include <string.h>

enum {
    STREAM = 0x4e35,
    TOPICS = 4,
    SHARED = 20000, /* words of all topics, */
    OWN = 400,      /* and of each */
    SHORTEST = 10,  /* words of a line, */
    LONGEST = 45,
    SYLLABLES = 32,
};

#define OWN_SHARE 0.20   /* of words that are the topic's */
#define OTHER_SHARE 0.04 /* and those of a topic that is drawn */
#define WRONG_SHARE 0.08 /* of labels that are drawn */

static const char *const topics[TOPICS] = {"World", "Sports", "Business", "SciTech"};

static const char syllables[SYLLABLES][4] = {
    "ba", "ko", "lin", "mu", "ser", "ta", "ven", "zi", "dor", "fe", "gan", "hu", "jo", "kar", "lo",
    "mi", "nel", "os", "pra", "ri", "sul", "tem", "ur", "va", "wen", "xa", "yo", "zen", "bri", "cla",
    "dra", "el"};

/* A word by its number, with a syllable more for each factor of 32. */
static shoal_status put_word(struct bytes *line, size_t number)
{
    shoal_status st = SHOAL_OK;

    number += SYLLABLES; /* two at least */
    do {
        const char *part = syllables[number % SYLLABLES];

        st = bytes_add(line, part, strlen(part));
        number /= SYLLABLES;
    } while (number > 0 && st == SHOAL_OK);
    return st;
}

/* The i-th of n with a probability that falls as 1 / (i + 1): by the inverse of the logarithm. */
static size_t draw_rank(struct rng *r, size_t n)
{
    size_t rank = (size_t)(exp(rng_unit(r) * log((double)n + 1)) - 1);

    return rank < n ? rank : n - 1;
}

static size_t draw_word(struct rng *r, unsigned topic)
{
    double kind = rng_unit(r);

    if (kind < OTHER_SHARE)
        topic = (unsigned)rng_below(r, TOPICS);
    if (kind < OTHER_SHARE + OWN_SHARE)
        return SHARED + topic * OWN + (size_t)rng_below(r, OWN);
    return draw_rank(r, SHARED);
}

static shoal_status put_line(struct bytes *line, struct rng *r, bool csv,
                             struct shoal_gen_news_stats *stats)
{
    unsigned topic = (unsigned)rng_below(r, TOPICS), said = topic;
    size_t words = SHORTEST + (size_t)rng_below(r, LONGEST - SHORTEST + 1);
    shoal_status st;

    if (rng_unit(r) < WRONG_SHARE)
        said = (unsigned)rng_below(r, TOPICS);
    stats->wrong += said != topic;
    line->len = 0;
    st = bytes_print(line, csv ? "%s," : "__label__%s ", topics[said]);
    for (size_t i = 0; i < words && st == SHOAL_OK; i++) {
        if (i > 0)
            st = bytes_add(line, " ", 1);
        if (st == SHOAL_OK)
            st = put_word(line, draw_word(r, topic));
    }
    return st == SHOAL_OK ? bytes_add(line, "\n", 1) : st;
}

static shoal_status write_news(struct output *out, const struct shoal_gen_news_opts *o,
                               struct shoal_gen_news_stats *stats)
{
    static const char head[] = "label,text\n";
    struct bytes line = {0};
    shoal_status st = o->csv ? output_write(out, head, sizeof head - 1) : SHOAL_OK;

    for (uint64_t i = o->first; i < o->first + o->lines && st == SHOAL_OK; i++) {
        struct rng r = {.seed = o->seed, .stream = STREAM + i};

        st = put_line(&line, &r, o->csv, stats);
        if (st == SHOAL_OK)
            st = output_write(out, line.at, line.len);
    }
    bytes_fini(&line);
    return st;
}

struct shoal_gen_news_opts shoal_gen_news_default(void)
{
    return (struct shoal_gen_news_opts){.lines = 20000, .seed = 1};
}

shoal_status shoal_gen_news(const char *path, const struct shoal_gen_news_opts *o,
                            struct shoal_gen_news_stats *stats)
{
    static const uint64_t most = (uint64_t)1 << 40;
    struct shoal_gen_news_stats all = {.lines = o->lines};
    struct output *out;
    shoal_status st;

    if (o->lines == 0 || o->lines > most || o->first > most)
        return shoal_fail(
            SHOAL_EINVAL, "news: --lines is %llu and --first %llu, want 1 and 0 to %llu",
            (unsigned long long)o->lines, (unsigned long long)o->first, (unsigned long long)most);
    st = output_open(&out, path);
    if (st != SHOAL_OK)
        return st;
    st = output_end(out, write_news(out, o, &all));
    if (stats)
        *stats = all;
    return st;
}
