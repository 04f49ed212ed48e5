/* A world to learn: sentences over planted facts, and the questions whose
 * answers the sentences hold. The tables say what is told and why it can be
 * learned; this file draws and spells. All randomness is keyed by the number
 * of the sentence and all arithmetic is of integers, so that the same options
 * give the same bytes on every machine. */
#include "base/base.h"
#include "data/world_facts.h"
#include "data/world_filler.h"
#include "file/file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

#define WORDS_MAX 1000000000000u
#define FIELDS 10
/* The longest line of the tables with the longest words is below half of it. */
#define SENTENCE_MAX 1024
#define QUESTIONS_MAX 300 /* of a section */

/* Streams of random numbers: sentence i is stream i. */
#define STREAM_QUESTIONS UINT64_MAX

struct word {
    const char *at;
    size_t len; /* 0: there is none */
};

struct fact {
    struct word field[FIELDS];
};

struct facts {
    struct fact *at; /* [len] */
    size_t len;
};

/* Words of one part of speech; word r is drawn about as 1 / (r + ZIPF_SHIFT). */
struct pool {
    struct word *words; /* [len] */
    uint64_t *upto;     /* [len] the sum of the weights of words 0..i */
    size_t len;
    struct bytes letters; /* of the made-up words */
};

struct world {
    struct facts facts[KINDS];
    struct pool pools[POOLS];
};

/* One sentence on its way. */
struct speech {
    const struct world *world;
    const struct facts *facts; /* NULL in filler */
    const struct fact *fact;
    struct rng rng;
    size_t len, words;
    char text[SENTENCE_MAX];
};

/* ---- Tables into words ---------------------------------------------------- */

/* The next word of *rest, len 0 at the end. */
static struct word word_next(const char **rest)
{
    const char *at = *rest + strspn(*rest, " ");
    size_t len = strcspn(at, " ");

    *rest = at + len;
    return (struct word){at, len};
}

static struct fact fact_of(const char *row)
{
    struct fact fact = {0};

    for (size_t i = 0; i < FIELDS; i++) {
        struct word word = word_next(&row);

        if (word.len != 1 || word.at[0] != '-')
            fact.field[i] = word;
    }
    return fact;
}

static shoal_status facts_init(struct facts *facts, const struct kind *kind)
{
    facts->at = mem_array(kind->nfacts, sizeof *facts->at);
    if (!facts->at)
        return SHOAL_ENOMEM;
    facts->len = kind->nfacts;
    for (size_t i = 0; i < facts->len; i++)
        facts->at[i] = fact_of(kind->facts[i]);
    return SHOAL_OK;
}

/* ---- Pools of filler words -------------------------------------------------- */

#define ZIPF_SHIFT 16
#define MADE_UP_MAX 16

/* Different i below SPELLINGS give different words: i is spread over all
 * spellings by a step that has no divisor in common with their number, then
 * read as digits. */
#define SPELLINGS (LEN(onsets) * LEN(vowels) * LEN(middles) * LEN(vowels) * ENDINGS)
#define SPELLING_STEP 48271u
_Static_assert(SPELLINGS % SPELLING_STEP != 0,
               "the step is a prime; it may not divide the spellings");

static size_t made_up_spell(char *out, size_t i, const char *const *endings)
{
    size_t code = i * SPELLING_STEP % SPELLINGS;
    char *end = out;

    end = stpcpy(end, onsets[code % LEN(onsets)]);
    code /= LEN(onsets);
    end = stpcpy(end, vowels[code % LEN(vowels)]);
    code /= LEN(vowels);
    end = stpcpy(end, middles[code % LEN(middles)]);
    code /= LEN(middles);
    end = stpcpy(end, vowels[code % LEN(vowels)]);
    code /= LEN(vowels);
    end = stpcpy(end, endings[code]);
    assert(end < out + MADE_UP_MAX);
    return (size_t)(end - out);
}

static size_t words_in(const char *list)
{
    size_t n = 0;

    while (word_next(&list).len > 0)
        n++;
    return n;
}

static void pool_weigh(struct pool *pool)
{
    uint64_t sum = 0;

    for (size_t r = 0; r < pool->len; r++) {
        sum += ((uint64_t)1 << 32) / (r + ZIPF_SHIFT);
        pool->upto[r] = sum;
    }
}

static shoal_status pool_init(struct pool *pool, const struct pool_spec *spec)
{
    size_t given = words_in(spec->words);
    const char *rest = spec->words;

    pool->len = given + spec->made_up;
    pool->words = mem_array(pool->len, sizeof *pool->words);
    pool->upto = mem_array(pool->len, sizeof *pool->upto);
    if (!pool->words || !pool->upto ||
        bytes_reserve(&pool->letters, spec->made_up * MADE_UP_MAX) != SHOAL_OK)
        return SHOAL_ENOMEM;

    for (size_t i = 0; i < given; i++)
        pool->words[i] = word_next(&rest);
    for (size_t i = 0; i < spec->made_up; i++) {
        char *at = pool->letters.at + pool->letters.len;
        size_t len = made_up_spell(at, i, spec->endings);

        pool->words[given + i] = (struct word){at, len};
        pool->letters.len += len;
    }
    pool_weigh(pool);
    return SHOAL_OK;
}

static void pool_fini(struct pool *pool)
{
    free(pool->words);
    free(pool->upto);
    bytes_fini(&pool->letters);
}

static struct word pool_draw(const struct pool *pool, struct rng *rng)
{
    uint64_t x = rng_below(rng, pool->upto[pool->len - 1]);
    size_t low = 0, high = pool->len - 1;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (x < pool->upto[mid])
            high = mid;
        else
            low = mid + 1;
    }
    return pool->words[low];
}

static const struct pool *pool_of(const struct world *world, char hole)
{
    size_t i = 0;

    while (pool_specs[i].hole != hole) {
        i++;
        assert(i < POOLS);
    }
    return &world->pools[i];
}

static void world_fini(struct world *world)
{
    for (size_t i = 0; i < KINDS; i++)
        free(world->facts[i].at);
    for (size_t i = 0; i < POOLS; i++)
        pool_fini(&world->pools[i]);
}

static shoal_status world_init(struct world *world)
{
    shoal_status st = SHOAL_OK;

    *world = (struct world){0};
    for (size_t i = 0; i < KINDS && st == SHOAL_OK; i++)
        st = facts_init(&world->facts[i], &kinds[i]);
    for (size_t i = 0; i < POOLS && st == SHOAL_OK; i++)
        st = pool_init(&world->pools[i], &pool_specs[i]);
    if (st != SHOAL_OK)
        world_fini(world);
    return st;
}

/* ---- Lines into sentences ----------------------------------------------------- */

static bool sounds_open(const char *word)
{
    for (size_t i = 0; i < LEN(open_sounds); i++)
        if (strncmp(word, open_sounds[i], strlen(open_sounds[i])) == 0)
            return true;
    return false;
}

/* Whether the last word said is "a". */
static bool said_a(const struct speech *s)
{
    return s->len >= 2 && s->text[s->len - 2] == 'a' && (s->len == 2 || s->text[s->len - 3] == ' ');
}

static void say(struct speech *s, const char *at, size_t len)
{
    assert(s->len + len + 2 < SENTENCE_MAX);
    if (said_a(s) && sounds_open(at)) {
        s->text[s->len - 1] = 'n';
        s->text[s->len++] = ' ';
    }
    memcpy(s->text + s->len, at, len);
    s->len += len;
    s->text[s->len++] = ' ';
    s->words++;
}

/* Another fact of the kind that has the field. */
static const struct fact *fact_other(struct speech *s, size_t field)
{
    const struct fact *fact;

    do
        fact = &s->facts->at[rng_below(&s->rng, s->facts->len)];
    while (fact == s->fact || fact->field[field].len == 0);
    return fact;
}

/* hole: '%' or '&' and what follows it. */
static void say_hole(struct speech *s, const char *hole)
{
    size_t field = (size_t)(hole[1] - '0');
    const struct fact *fact;
    struct word word;

    if (field < FIELDS) {
        fact = hole[0] == '&' ? fact_other(s, field) : s->fact;
        word = fact->field[field];
    } else {
        word = pool_draw(pool_of(s->world, hole[1]), &s->rng);
    }
    say(s, word.at, word.len);
}

static void say_words(struct speech *s, const char *at, const char *end)
{
    while (at < end) {
        size_t len = strcspn(at, " |]");

        if (*at == '%' || *at == '&')
            say_hole(s, at);
        else if (len > 0)
            say(s, at, len);
        at += len > 0 ? len : 1;
    }
}

/* at: behind the '['. Says one of the choices. */
static void say_choice(struct speech *s, const char *at, const char *end)
{
    uint64_t choices = 1, chosen;

    for (const char *p = at; p < end; p++)
        choices += *p == '|';
    chosen = rng_below(&s->rng, choices);
    while (chosen-- > 0)
        at += strcspn(at, "|") + 1;
    say_words(s, at, at + strcspn(at, "|]"));
}

static void say_line(struct speech *s, const char *line)
{
    while (*line) {
        const char *open = line + strcspn(line, "[");
        const char *close;

        say_words(s, line, open);
        if (!*open)
            return;
        close = open + strcspn(open, "]");
        say_choice(s, open + 1, close);
        line = close + 1;
    }
}

static const char *line_draw(struct speech *s, const char *const *lines, size_t n)
{
    return lines[rng_below(&s->rng, n)];
}

/* Whether the fact has every field that the line asks of it. */
static bool line_fits(const char *line, const struct fact *fact)
{
    for (; (line = strchr(line, '%')) != NULL; line++) {
        size_t field = (size_t)(line[1] - '0');

        if (field < FIELDS && fact->field[field].len == 0)
            return false;
    }
    return true;
}

static bool chance(struct speech *s, unsigned percent)
{
    return rng_below(&s->rng, 100) < percent;
}

/* Rows that stand first in their table are told up to twice as often. */
static const struct fact *fact_draw(struct speech *s)
{
    size_t n = s->facts->len;
    size_t i = (size_t)rng_below(&s->rng, n + n / 2);

    return &s->facts->at[i < n ? i : i - n];
}

static void speak_of(struct speech *s, const struct kind *kind, const struct facts *facts)
{
    const char *line;

    s->facts = facts;
    s->fact = fact_draw(s);
    do
        line = line_draw(s, kind->talk, kind->ntalk);
    while (!line_fits(line, s->fact));

    if (chance(s, OPENING_SHARE))
        say_line(s, line_draw(s, openings, LEN(openings)));
    say_line(s, line);
    if (chance(s, CLOSING_SHARE))
        say_line(s, line_draw(s, closings, LEN(closings)));
}

/* Sentence number `index`, ended by a newline. */
static void speak(struct speech *s, const struct world *world, uint64_t seed, uint64_t index)
{
    uint64_t draw;

    s->world = world;
    s->facts = NULL;
    s->fact = NULL;
    s->rng = (struct rng){.seed = seed, .stream = index};
    s->len = s->words = 0;

    draw = rng_below(&s->rng, 100);
    for (size_t i = 0; i < KINDS && !s->facts; i++) {
        if (draw < kinds[i].share)
            speak_of(s, &kinds[i], &world->facts[i]);
        else
            draw -= kinds[i].share;
    }
    if (!s->facts)
        say_line(s, line_draw(s, filler_talk, LEN(filler_talk)));
    s->text[s->len - 1] = '\n';
}

static shoal_status text_write(struct output *out, const struct world *world,
                               const struct shoal_world_opts *opts, struct shoal_world_stats *stats)
{
    struct pulse pulse;
    struct speech s;
    shoal_status st = SHOAL_OK;

    pulse_begin(&pulse, &opts->watch, "world", "words", opts->words);
    while (stats->words < opts->words && st == SHOAL_OK) {
        speak(&s, world, opts->seed, stats->sentences);
        st = output_write(out, s.text, s.len);
        stats->sentences++;
        stats->words += s.words;
        stats->bytes += s.len;
        if (st == SHOAL_OK)
            st = pulse_at(&pulse, stats->words);
    }
    return st == SHOAL_OK ? pulse_end(&pulse, stats->words) : st;
}

/* ---- Questions ------------------------------------------------------------------- */

static shoal_status add_word(struct bytes *out, struct word word, char end)
{
    shoal_status st = bytes_add(out, word.at, word.len);

    return st == SHOAL_OK ? bytes_add(out, &end, 1) : st;
}

/* a is to b as c to d. */
static shoal_status question_add(struct bytes *out, const struct topic *topic,
                                 const struct fact *ab, const struct fact *cd)
{
    const struct word words[] = {ab->field[topic->from], ab->field[topic->to],
                                 cd->field[topic->from], cd->field[topic->to]};
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < LEN(words) && st == SHOAL_OK; i++)
        st = add_word(out, words[i], i + 1 < LEN(words) ? ' ' : '\n');
    return st;
}

/* The facts that have both fields, in random order; their number. */
static size_t topic_facts(struct fact *out, const struct facts *facts, const struct topic *topic,
                          struct rng *rng)
{
    size_t n = 0;

    for (size_t i = 0; i < facts->len; i++) {
        const struct fact *fact = &facts->at[i];
        size_t at;

        if (fact->field[topic->from].len == 0 || fact->field[topic->to].len == 0)
            continue;
        at = (size_t)rng_below(rng, n + 1);
        out[n++] = out[at];
        out[at] = *fact;
    }
    return n;
}

/* Each fact meets the one behind it, then the second behind it, and so on, so
 * that all are asked equally often. */
static shoal_status topic_add(struct bytes *out, const struct world *world,
                              const struct topic *topic, struct rng *rng, uint64_t *questions)
{
    const struct facts *facts = &world->facts[topic->kind];
    struct fact *order = mem_array(facts->len, sizeof *order);
    shoal_status st;
    size_t n, asked = 0;

    if (!order)
        return SHOAL_ENOMEM;
    n = topic_facts(order, facts, topic, rng);
    st = bytes_add(out, ": ", 2);
    if (st == SHOAL_OK)
        st = add_word(out, (struct word){topic->name, strlen(topic->name)}, '\n');
    for (size_t apart = 1; apart < n; apart++)
        for (size_t i = 0; i < n && asked < QUESTIONS_MAX && st == SHOAL_OK; i++, asked++)
            st = question_add(out, topic, &order[i], &order[(i + apart) % n]);
    *questions += asked;
    free(order);
    return st;
}

static shoal_status questions_write(struct output *out, const struct world *world, uint64_t seed,
                                    struct shoal_world_stats *stats)
{
    struct rng rng = {.seed = seed, .stream = STREAM_QUESTIONS};
    struct bytes lines = {0};
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < LEN(topics) && st == SHOAL_OK; i++)
        st = topic_add(&lines, world, &topics[i], &rng, &stats->questions);
    stats->sections = LEN(topics);
    if (st == SHOAL_OK)
        st = output_write(out, lines.at, lines.len);
    bytes_fini(&lines);
    return st;
}

/* ---- The door ------------------------------------------------------------------------ */

struct shoal_world_opts shoal_world_default(void)
{
    return (struct shoal_world_opts){.words = 1000000, .seed = 1};
}

static shoal_status world_check(const char *text, const char *questions,
                                const struct shoal_world_opts *opts)
{
    if (opts->words == 0 || opts->words > WORDS_MAX)
        return shoal_fail(SHOAL_EINVAL, "world: words is %llu, want 1 .. %llu",
                          (unsigned long long)opts->words, (unsigned long long)WORDS_MAX);
    if (questions && strcmp(text, questions) == 0)
        return shoal_fail(SHOAL_EINVAL, "world: text and questions both go to %s, want two places",
                          text);
    return SHOAL_OK;
}

/* Ends both. The text goes first: it is the one that may not fit the disk. */
static shoal_status commit_both(struct output *text, struct output *questions)
{
    shoal_status st = output_commit(text);

    if (st == SHOAL_OK && questions)
        return output_commit(questions);
    output_abandon(questions);
    return st;
}

shoal_status shoal_world_write(const char *text, const char *questions,
                               const struct shoal_world_opts *opts, struct shoal_world_stats *stats)
{
    struct shoal_world_stats count = {0};
    struct output *text_out = NULL, *questions_out = NULL;
    struct world world = {0};
    shoal_status st = world_check(text, questions, opts);

    if (stats)
        *stats = count;
    if (st != SHOAL_OK || (st = world_init(&world)) != SHOAL_OK)
        return st;

    if ((st = output_open(&text_out, text)) != SHOAL_OK ||
        (questions && (st = output_open(&questions_out, questions)) != SHOAL_OK) ||
        (st = text_write(text_out, &world, opts, &count)) != SHOAL_OK ||
        (questions && (st = questions_write(questions_out, &world, opts->seed, &count))))
        goto done;

    st = commit_both(text_out, questions_out);
    text_out = questions_out = NULL;
    if (st == SHOAL_OK && stats)
        *stats = count;
done:
    output_abandon(text_out);
    output_abandon(questions_out);
    world_fini(&world);
    return st;
}
